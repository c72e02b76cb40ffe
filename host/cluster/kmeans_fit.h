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
  size_t first;         /* number of its first point */
  int32_t *label;
  int64_t *sums; /* (workers, k, d + 1) */
  void *scratch;
  void *near;       /* (n) of T, while seeds are chosen; their memory is that of the bounds */
  gb_bounds bounds; /* where they are wanted */
  int64_t *block;   /* on the host: potentials of its blocks, while seeds are chosen */
} gb_kmeans_part;

typedef struct gb_kmeans_run {
  const gb_kmeans_options *o;
  gb_kmeans_result *out;
  size_t k, d, n;
  gb_dtype compute;
  size_t nparts;
  gb_kmeans_part *part;
  double *shift;         /* (d) */
  double *centre, *next; /* (k, d), less the shift, numbers of T */
  int64_t *sum;          /* (k, d + 1), of all workers */
  gb_far_point *far;     /* (k) */
  double *candidate;     /* of seeds */
  double *least, *most;  /* (d) */
  double heaviest;       /* weight */
  float *move;           /* (k): how far each centre moved */
  int32_t *order;        /* (k): of centres, by that */
  gb_quanta q;
  double apart;    /* sum of w |x - shift|^2, which 'sum' of one centre at the shift has */
  double variance; /* mean over the columns */
} gb_kmeans_run;

/* The status of 'call', a pass over the points of a piece, which it finds in 'x'. */
#define GB_KMEANS_OPENED(piece, call)                                                                        \
  ({                                                                                                         \
    gb_points x;                                                                                             \
    gb_status pass_st_ = gb_kmeans_open(piece, &x, err);                                                     \
    if (pass_st_ == GB_OK) {                                                                                 \
      pass_st_ = gb_device_checked((piece)->device, (call), err);                                            \
      gb_kmeans_close(piece);                                                                                \
    }                                                                                                        \
    pass_st_;                                                                                                \
  })
#define GB_KMEANS_PASS(part, call) GB_KMEANS_OPENED((part)->piece, call)

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

/* The value as a number of T. */
static inline double gb_kmeans_round (const gb_kmeans_run *r, double v) {
  return r->compute == GB_F64 ? v : (double)(float)v;
}

/* 2^e, the largest with count * most * 2^e below 2^61. */
double gb_kmeans_scale (double count, double most);
/* What is wrong with a point of which 'first' are before. */
gb_status gb_kmeans_refuse (const gb_bad_point *bad, size_t first, size_t d, gb_error *err);
/* The square of the longest difference that two points can have. */
double gb_kmeans_diameter (const gb_kmeans_run *r);
/* The sum of w |x - c|^2 by labels. */
gb_status gb_kmeans_spread (const gb_kmeans_run *r, const double *centre, size_t k, double *out,
                            gb_error *err);

/* -- memory.c */

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

/* lloyd.c: iterations from r->centre. */
gb_status gb_kmeans_iterate (gb_kmeans_run *r, gb_error *err);

/* elkan.c: 'assign' by bounds. before: the centres of the assignment before, r->centre where it is the first one. */
gb_status gb_kmeans_assign_bounded (gb_kmeans_run *r, const double *before, size_t *moved, gb_error *err);
/* Nothing is known of any point; of one. */
gb_status gb_kmeans_forget_bounds (gb_kmeans_run *r, gb_error *err);
gb_status gb_kmeans_forget_point (const gb_kmeans_part *p, size_t row, gb_error *err);
size_t gb_kmeans_bounds_bytes (const gb_kmeans_options *o, const gb_points *x);

#endif
