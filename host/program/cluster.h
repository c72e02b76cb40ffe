/* cluster.h - passes over points, of which clustering is made: a table of the device that has them.
**
** Sums are of whole numbers, multiples of a quantum that the caller chooses, and each point is compared by chains of its own:
** neither the division of points among passes, threads and devices nor their order decides a bit. Coordinates are taken to the
** type of computation T (gb_points_compute), less a shift; devices whose fused multiply-add rounds once agree in every bit. */
#ifndef GB_PROGRAM_CLUSTER_H
#define GB_PROGRAM_CLUSTER_H

#include "device/device.h"
#include "tensor/dtype.h"

#define GB_CLUSTER_MOST ((size_t)1 << 24) /* centres */
#define GB_CLUSTER_BLOCK 960              /* points whose potentials are added up together */
#define GB_CLUSTER_SEEDS 64               /* that are tried at once */

/* Rows of a matrix, in the device's memory; element (i, t) is number i * row + t * column from 'at'. */
typedef struct gb_points {
  const void *at;
  gb_dtype dtype;
  ptrdiff_t row, column;
  size_t n, d;
  const double *weight; /* (n), not negative; NULL: 1 each */
  bool unit;            /* each row is taken divided by its length, rounded to T */
} gb_points;

/* How points of the host are packed on their way to another memory: their columns side by side where these lie closer together
** than rows, else their rows; types are as they are. 'at' is where they begin there. */
static inline bool gb_points_by_columns (const gb_points *x) {
  const ptrdiff_t row = x->row < 0 ? -x->row : x->row, column = x->column < 0 ? -x->column : x->column;
  return x->d == 1 || (row < column && x->n > 1);
}

static inline gb_points gb_points_packed (const gb_points *x, const void *at) {
  const bool columns = gb_points_by_columns(x);
  gb_points p = *x;
  p.at = at;
  p.row = columns ? 1 : (ptrdiff_t)x->d;
  p.column = columns ? (ptrdiff_t)x->n : 1;
  return p;
}

static inline gb_dtype gb_points_compute (gb_dtype t) {
  return t == GB_F64 || gb_dtype_is_whole(t) ? GB_F64 : GB_F32;
}

/* Centres less the shift, on the host; all coordinates are numbers of T. */
typedef struct gb_centres {
  size_t k;
  const double *shift;  /* (d) */
  const double *centre; /* (k, d) */
} gb_centres;

/* A point counts 'point' times its coordinates and 'weight' times its weight, in whole numbers. */
typedef struct gb_quanta {
  double point, weight;
} gb_quanta;

/* Bounds of the distances of points, (n) each, in the device's memory: from the centre of its label a point is at most 'upper', from any
** other centre at least 'lower'. NaN: nothing is known. */
typedef struct gb_bounds {
  float *upper, *lower;
} gb_bounds;

/* How far centres moved since bounds were made, rounded up. */
typedef struct gb_drift {
  const float *move;    /* (k), on the host */
  const int32_t *order; /* (k): their numbers, that of the centre that moved farthest first */
  double reach;         /* the greatest |c|^2 of the centres where they are now */
} gb_drift;

/* high / scale + low / (scale 2^30), scale as the pass was given it. */
typedef struct gb_two_sums {
  int64_t high, low;
} gb_two_sums;

/* The first point with a coordinate or a weight that cannot be used; row: SIZE_MAX where there is none. */
typedef struct gb_bad_point {
  size_t row,
      column; /* column: d where it is the weight, d + 1 where a row to be divided by its length has none */
} gb_bad_point;

typedef struct gb_far_point {
  size_t row;
  double apart; /* |x - c|^2 */
} gb_far_point;

static inline bool gb_is_farther (gb_far_point a, gb_far_point b) {
  return a.apart > b.apart || (a.apart == b.apart && a.row < b.row);
}

/* A list of at most 'most' points, the farthest first, gets one more or leaves it out. */
static inline void gb_keep_far (gb_far_point p, size_t most, gb_far_point *far, size_t *have) {
  if (*have == most && !gb_is_farther(p, far[most - 1])) return;
  size_t at = *have < most ? (*have)++ : most - 1;
  for (; at > 0 && gb_is_farther(p, far[at - 1]); at--) far[at] = far[at - 1];
  far[at] = p;
}

typedef void gb_take_point (void *ud, gb_far_point p);

/* Numbers of points: those of x begin with 'base'. */
typedef struct gb_stream {
  uint64_t seed, stream;
  size_t base;
} gb_stream;

/* Scratch is memory of the device, 'scratch' bytes of it; host arrays come from the caller. Errors: EINTR; those of the device. */
typedef struct gb_cluster_ops {
  bool unit_rows; /* points may be 'unit' */

  /* NULL where the device reads the host's memory. 'feed' begins to bring points of the host to 'to', packed; they stay as they are
  ** until 'fed', which is called before the next 'feed', and after which they are there for the passes that follow. What goes on
  ** beside: the passes that are called between the two. */
  gb_status (*feed)(gb_device *dev, const gb_points *x, void *to, gb_error *err);
  gb_status (*fed)(gb_device *dev, gb_error *err);

  size_t (*workers)(const gb_device *dev);
  size_t (*scratch)(const gb_device *dev, gb_dtype compute, size_t k, size_t d);

  /* The least and the greatest value of each column, to least and most (d), which hold those of earlier points; and the greatest weight.
  ** Where a point is bad, they are of no use. */
  gb_status (*range)(gb_device *dev, const gb_points *x, double *least, double *most, double *weight,
                     gb_bad_point *bad, void *scratch, gb_error *err);

  /* label[i], -1 for none, becomes the number of the nearest centre (the first of equally near ones). 'sums' are of points by
  ** label: (workers, k, d + 1) whole numbers, weights in the last column; points that change their label leave one sum for
  ** another. '*moved': how many did. sums NULL: labels alone are wanted. */
  gb_status (*assign)(gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, int32_t *label,
                      int64_t *sums, size_t *moved, void *scratch, gb_error *err);
  /* Optional: one assignment over several pieces, of which each is on its way when its call returns. 'begin' brings the centres to
  ** the device, x of any of the pieces; then 'assign' with moved NULL for each of them, with these centres and no other pass between;
  ** 'end' waits, and '*moved' += how many points did. */
  gb_status (*begin)(gb_device *dev, const gb_points *x, const gb_centres *c, void *scratch, gb_error *err);
  gb_status (*end)(gb_device *dev, void *scratch, size_t *moved, gb_error *err);
  /* As 'assign', label for label and sum for sum, but for points whose bounds, loosened by the drift, leave their label no choice,
  ** nothing else is computed. Bounds become those of the centres. NULL: the device has it not. */
  gb_status (*assign_bounded)(gb_device *dev, const gb_points *x, const gb_centres *c, const gb_drift *drift,
                              gb_quanta q, int32_t *label, gb_bounds bounds, int64_t *sums, size_t *moved,
                              void *scratch, gb_error *err);
  /* out (k, d + 1), on the host, += the sums of all workers. */
  gb_status (*gather)(gb_device *dev, size_t k, size_t d, const int64_t *sums, int64_t *out, gb_error *err);
  /* part(ud, i) for all i < n, on any threads of the host; work: their multiply-adds. NULL: the device has no such threads. */
  void (*each)(gb_device *dev, size_t n, double work, void (*part)(void *ud, size_t i), void *ud);

  /* out += w |x - c|^2 of each point and the centre of its label, times 'scale', which is a power of two. The squares are f64. */
  gb_status (*spread)(gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                      double scale, gb_two_sums *out, void *scratch, gb_error *err);

  /* out (d), on the host: the coordinates of a point less the shift. */
  gb_status (*read)(gb_device *dev, const gb_points *x, const double *shift, size_t row, double *out,
                    gb_error *err);
  /* The points of positive weight that are farthest from the centres of their labels, the farthest first and of equally far ones the
  ** earlier one: 'far' has '*have' of them, of earlier points, and at most 'most' afterwards. first: the number of x's first point. */
  gb_status (*farthest)(gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                        size_t first, size_t most, gb_far_point *far, size_t *have, void *scratch,
                        gb_error *err);
  /* A point gets another label, as 'assign' would give it. */
  gb_status (*relabel)(gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, size_t row,
                       int32_t to, int32_t *label, int64_t *sums, void *scratch, gb_error *err);

  /* Seeds. near (n): the squared distance, of T, to the nearest seed so far. 'closer' lowers it by one seed, c->k = 1, and gives
  ** the potentials w near, times 'scale', of each block of points, to block (ceil(n / GB_CLUSTER_BLOCK)) on the host; 'first': near is
  ** infinite before; c->k = 0: near becomes 1, the potentials are weights. 'potentials' gives what the total of them would be with each of c->k <= GB_CLUSTER_SEEDS seeds. 'pick' gives the first point of a
  ** block at which their sum exceeds 'target', or the last one with any. */
  gb_status (*closer)(gb_device *dev, const gb_points *x, const gb_centres *c, double scale, bool first,
                      void *near, int64_t *block, void *scratch, gb_error *err);
  gb_status (*potentials)(gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                          const void *near, int64_t *total, void *scratch, gb_error *err);
  gb_status (*pick)(gb_device *dev, const gb_points *x, size_t block, double scale, const void *near,
                    int64_t target, size_t *row, gb_error *err);

  /* Many seeds at once (k-means||); NULL: the device has them not. 'nearer' lowers 'near' by all centres, label[i] becoming the number,
  ** first + j, of that one, and gives the potentials of blocks as 'closer' does. 'lots' shows to 'take' the points that are drawn, each by
  ** a number u of its own (gb_rand_uniform of the stream, index base + i), in any order: those with u < share times their potential,
  ** apart = u / (share * potential). 'tally' adds the weight of each point, times 'scale', to out[label]; labels are less than 'count'.
  ** 'lots' and 'tally' read no rows. */
  gb_status (*nearer)(gb_device *dev, const gb_points *x, const gb_centres *c, double scale, int32_t first,
                      bool fresh, void *near, int32_t *label, int64_t *block, void *scratch, gb_error *err);
  gb_status (*lots)(gb_device *dev, const gb_points *x, double scale, const void *near, const gb_stream *s,
                    double share, gb_take_point *take, void *ud, gb_error *err);
  gb_status (*tally)(gb_device *dev, const gb_points *x, const int32_t *label, double scale, size_t count,
                     int64_t *out, gb_error *err);
} gb_cluster_ops;

#endif
