/* kmeans_fit.h - what the parts of a fit share. */
#ifndef GB_CLUSTER_KMEANS_FIT_H
#define GB_CLUSTER_KMEANS_FIT_H

#include "cluster/kmeans.h"

/* A piece at work. Sums and scratch are of its device: pieces of one device share them. */
typedef struct gb_kmeans_part {
  gb_device *device;
  const gb_kmeans_piece *piece;
  const gb_points *x;   /* of the piece: its extents; 'at' is of no use where it has a source */
  const double *weight; /* on the host; NULL: 1 each */
  size_t first;         /* number of its first point, of those of all ranks */
  int32_t *label;
  int64_t *sums; /* (workers, k, d + 1) */
  void *scratch;
  void *near;       /* (n) of T, while seeds are chosen; their memory is that of the bounds */
  gb_bounds bounds; /* where they are wanted */
  int64_t *block;   /* on the host: potentials of its blocks, while seeds are chosen */
} gb_kmeans_part;

/* What k-means|| collects. */
typedef struct gb_kmeans_candidates {
  size_t most, have;
  void *row;        /* (most, d) of T, less the shift */
  double *weight;   /* (most): of the points that are nearest to each */
  int64_t *tally;   /* (most) and room for one: the same in quanta */
  void *near;       /* (most) of T */
  int64_t *block;   /* of them as points */
  double *no_shift; /* (d) zeros */
  void *scratch;    /* of the home; NULL: that of the first part, which lies there */
} gb_kmeans_candidates;

typedef struct gb_kmeans_run {
  const gb_kmeans_options *o;
  gb_kmeans_result *out;
  size_t k, d;
  size_t n;           /* points of all ranks */
  size_t first, mine; /* those of this rank */
  gb_dtype compute;
  size_t nparts;
  gb_kmeans_part *part;
  double *shift;             /* (d) */
  double *centre, *next;     /* (k, d), less the shift, numbers of T */
  int64_t *sum;              /* (k, d + 1), of all workers; and room for two numbers */
  gb_far_point *far;         /* (gb_kmeans_lots); and room for one before them */
  gb_far_point *all;         /* the same again, where there are several ranks */
  double *candidate;         /* of seeds */
  gb_kmeans_candidates many; /* of k-means|| */
  double *least, *most;      /* (d), one after the other; and room for two numbers */
  double heaviest;           /* weight */
  float *move;               /* (k): how far each centre moved */
  int32_t *order;            /* (k): of centres, by that */
  bool weighted;             /* some points have weights */
  gb_quanta q;
  double apart;    /* sum of w |x - shift|^2, which 'sum' of one centre at the shift has */
  double variance; /* mean over the columns */
} gb_kmeans_run;

/* The status of 'call', a pass over the points of a piece, which it finds in 'x' when 'open' has brought them there. */
#define GB_KMEANS_BROUGHT(piece, open, call)                                                                 \
  ({                                                                                                         \
    gb_points x;                                                                                             \
    gb_status pass_st_ = (open);                                                                             \
    if (pass_st_ == GB_OK) {                                                                                 \
      pass_st_ = gb_device_checked((piece)->device, (call), err);                                            \
      gb_kmeans_close(piece);                                                                                \
    }                                                                                                        \
    pass_st_;                                                                                                \
  })
/* The pass is left out, with status OK, where the piece has no points. */
#define GB_KMEANS_OPENED(piece, call)                                                                        \
  ((piece)->x.n == 0 ? GB_OK : GB_KMEANS_BROUGHT(piece, gb_kmeans_open(piece, &x, err), call))
#define GB_KMEANS_PASS(part, call) GB_KMEANS_OPENED((part)->piece, call)
/* The same of one point of a part. */
#define GB_KMEANS_ROW(part, row, call)                                                                       \
  GB_KMEANS_BROUGHT((part)->piece, gb_kmeans_open_row((part)->piece, row, &x, err), call)

/* The address of a point. */
static inline const void *gb_kmeans_row (const gb_points *x, size_t row) {
  return (const char *)x->at + (ptrdiff_t)row * x->row * (ptrdiff_t)gb_dtype_size(x->dtype);
}

static inline const gb_cluster_ops *gb_kmeans_ops (const gb_kmeans_part *p) {
  return p->device->ops->cluster;
}
static inline gb_centres gb_kmeans_centres (const gb_kmeans_run *r, const double *centre, size_t k) {
  return (gb_centres){.k = k, .shift = r->shift, .centre = centre};
}

/* Where a device's host arrays are booked. A device that is not the host's has a home. */
static inline gb_device *gb_kmeans_home (gb_device *dev) { return dev->home == NULL ? dev : dev->home; }

/* The value as a number of T. */
static inline double gb_kmeans_round (const gb_kmeans_run *r, double v) {
  return r->compute == GB_F64 ? v : (double)(float)v;
}

/* The same of coordinate t of a centre, less the shift, such that (v + shift) - shift is v: what a fit publishes loses nothing. */
static inline double gb_kmeans_coordinate (const gb_kmeans_run *r, size_t t, double v) {
  return gb_kmeans_round(r, gb_kmeans_round(r, v) + r->shift[t] - r->shift[t]);
}

/* -- ranges */

/* 2^e, the largest with count * most * 2^e below 2^61. */
double gb_kmeans_scale (double count, double most);
/* ENAN: squares of coordinates that lie 'reach' from their middle leave T, or sums with weights leave f64. */
gb_status gb_kmeans_check_range (gb_dtype compute, size_t d, double reach, double heaviest, gb_error *err);
/* A sum of n terms in quanta of 1 / scale. */
double gb_kmeans_sum_of (const gb_two_sums *sum, double scale);
/* Whether the sum is so small beside what its terms might have been that rounding to quanta shows: then a finer scale. */
bool gb_kmeans_finer (const gb_two_sums *sum, size_t n, double *scale);
enum { GB_KMEANS_FINER = 2 }; /* times, at most */

/* -- unit.c: points that are unit vectors, whose centres are, too */

/* v (d) plus the shift becomes its direction, a unit vector, less the shift. False: it is no longer than 'least', and stays. */
bool gb_kmeans_make_unit (size_t d, const double *shift, double least, double *v);
/* EOPTION: a device has no passes over unit vectors. */
gb_status gb_kmeans_check_unit (size_t npieces, const gb_kmeans_piece *piece, gb_error *err);
/* What rounding may make of a mean of length 0: rows are rounded to T, and, times their weights, to 1 / scale; 'weight' is their sum. */
double gb_kmeans_no_length (size_t d, gb_dtype compute, double scale, double weight, double heaviest);

/* What is wrong with a point of which 'first' are before. */
gb_status gb_kmeans_refuse (const gb_bad_point *bad, size_t first, size_t d, gb_error *err);
/* The square of the longest difference that two points can have. */
double gb_kmeans_diameter (const gb_kmeans_run *r);
/* The sum of w |x - c|^2 by labels. */
gb_status gb_kmeans_spread (const gb_kmeans_run *r, const double *centre, size_t k, double *out,
                            gb_error *err);

/* -- memory.c */

/* What a fit takes of a piece on its device beside labels: for seeds, then for bounds. */
size_t gb_kmeans_row_bytes (const gb_kmeans_options *o, const gb_points *x);
size_t gb_kmeans_scratch_bytes (const gb_kmeans_options *o, const gb_device *dev, gb_dtype compute, size_t d);

/* Blocks of a fit: of the host, and for each device. */
typedef struct gb_kmeans_store {
  gb_block host, of[GB_DEVICES];
  gb_device *device[GB_DEVICES];
  size_t ndevices;
} gb_kmeans_store;

/* Arrays and parts of the run. Where it fails, what it took is released by the caller, too. */
gb_status gb_kmeans_furnish (gb_kmeans_run *r, gb_kmeans_store *s, const gb_kmeans_piece *piece,
                             gb_error *err);
void gb_kmeans_release (gb_kmeans_store *s, gb_device *first);

/* seeds.c: r->centre becomes the start. */
gb_status gb_kmeans_seed (gb_kmeans_run *r, gb_error *err);
/* Bytes of seeding: of a piece on its device, and on the host. */
size_t gb_kmeans_near_bytes (const gb_points *x);
size_t gb_kmeans_seed_bytes (const gb_kmeans_options *o, size_t d);

/* turns.c: every point gets the label of its nearest centre; '*moved': how many got another one. */
gb_status gb_kmeans_assign_all (gb_kmeans_run *r, size_t *moved, gb_error *err);
/* k-means++ from the first draw on, of which so many were made; from centre 'from' on, where points know how near those before are. */
gb_status gb_kmeans_plus_plus (gb_kmeans_run *r, uint64_t drawn, gb_error *err);
gb_status gb_kmeans_plus_plus_from (gb_kmeans_run *r, size_t from, gb_error *err);
/* A point, drawn by weight. */
gb_status gb_kmeans_draw_first (gb_kmeans_run *r, double *out, gb_error *err);
/* A heap of the 'most' least lots, once it has so many. */
void gb_kmeans_keep_lot (gb_far_point p, size_t most, gb_far_point *heap, size_t *have);
/* Whether seeds are chosen by potentials of points. */
static inline bool gb_kmeans_has_potentials (const gb_kmeans_options *o) {
  return o->start == GB_KMEANS_PLUS_PLUS || o->start == GB_KMEANS_PARALLEL;
}

/* oversample.c: k-means||. Points that a round draws at most, and lots that a fit keeps of points. */
size_t gb_kmeans_drawn_at_most (const gb_kmeans_options *o);
size_t gb_kmeans_lots (const gb_kmeans_options *o);
size_t gb_kmeans_candidates_bytes (const gb_kmeans_options *o, const gb_kmeans_piece *first);
gb_kmeans_candidates gb_kmeans_candidates_in (const gb_kmeans_options *o, const gb_kmeans_piece *first,
                                              void *room);
gb_status gb_kmeans_oversample (gb_kmeans_run *r, gb_error *err);

/* -- ranks.c: what several ranks do together. 'st' is what happened at this rank so far; what is returned is alike at all. */

/* What must be alike at all ranks. */
typedef struct gb_kmeans_problem {
  uint64_t d, compute, k, start, unit, max_iter, seed, runs;
  double tol;
} gb_kmeans_problem;
/* OK, or how the problem of this rank differs from that of rank 0. */
gb_status gb_kmeans_compare (gb_comm *c, const gb_kmeans_problem *mine, gb_error *err);

/* The bounds of all points, their greatest weight, and whether any have weights. reach (2 d + 2): least, most, and room. */
gb_status gb_kmeans_reach (gb_comm *c, size_t d, double *reach, double *heaviest, bool *weighted,
                           gb_status st, gb_error *err);
/* The part of a point; NULL: another rank has it. */
const gb_kmeans_part *gb_kmeans_part_of (const gb_kmeans_run *r, size_t row);
/* The first k sums, and '*moved'. */
gb_status gb_kmeans_total (gb_kmeans_run *r, size_t k, size_t *moved, gb_status st, gb_error *err);
gb_status gb_kmeans_total_spread (gb_comm *c, gb_two_sums *sum, gb_status st, gb_error *err);
/* rows (n, d), n <= k, each of which one rank has and the others have as zeros. r->sum is scratch. */
gb_status gb_kmeans_exchange (gb_kmeans_run *r, size_t n, double *rows, gb_status st, gb_error *err);
/* r->far becomes the list that 'keep' makes of the lists of all ranks, of '*have' points. */
typedef void gb_kmeans_keep (gb_far_point p, size_t most, gb_far_point *list, size_t *have);
gb_status gb_kmeans_merge (gb_kmeans_run *r, size_t most, gb_kmeans_keep *keep, size_t *have, gb_status st,
                           gb_error *err);

/* lloyd.c: iterations from r->centre. */
gb_status gb_kmeans_iterate (gb_kmeans_run *r, gb_error *err);

/* elkan.c: 'assign' by bounds. before: the centres of the assignment before, r->centre where it is the first one. */
gb_status gb_kmeans_assign_bounded (gb_kmeans_run *r, const double *before, size_t *moved, gb_error *err);
/* Nothing is known of any point; of one that got another label than its nearest centre's. */
gb_status gb_kmeans_forget_bounds (gb_kmeans_run *r, gb_error *err);
gb_status gb_kmeans_forget_point (const gb_kmeans_part *p, size_t row, gb_error *err);
size_t gb_kmeans_bounds_bytes (const gb_kmeans_options *o, const gb_points *x);

#endif
