/* cluster.c - the table of a GPU's passes over points. It has one worker: sums are added to in any order. */
#include "cuda/cluster/cluster.h"

#include <math.h>
#include <string.h>

#include "cuda/cluster/feed.h"
#include "cuda/cluster/pass.h"

_Static_assert(GB_CUDA_BLOCK == GB_CLUSTER_BLOCK && GB_CUDA_SEEDS == GB_CLUSTER_SEEDS, "as cluster.h says");

static size_t workers (const gb_device *dev) {
  (void)dev;
  return 1;
}

static size_t scratch_bytes (const gb_device *dev, gb_dtype compute, size_t k, size_t d) {
  (void)dev;
  return gb_cuda_pass_bytes(compute, k, d);
}

static size_t least_of (size_t a, size_t b) { return a < b ? a : b; }

/* -- range */

typedef struct column_ends {
  double *least, *most;
  size_t d, at;
} column_ends;

static void take_ends (void *ud, const void *piece, size_t bytes) {
  column_ends *e = ud;
  const unsigned long long *key = piece;
  for (size_t i = 0; i < bytes / sizeof *key; i++, e->at++) {
    const size_t t = e->at % e->d;
    if (e->at < e->d) e->least[t] = fmin(e->least[t], gb_cuda_end_of(key[i]));
    else e->most[t] = fmax(e->most[t], gb_cuda_end_of(key[i]));
  }
}

static gb_status range (gb_device *dev, const gb_points *x, double *least, double *most, double *weight,
                        gb_bad_point *bad, void *scratch, gb_error *err) {
  gb_cuda_points s;
  gb_cuda_tally t;
  double heaviest = 1;
  column_ends e = {least, most, x->d, 0};
  GB_TRY(gb_cuda_pass_open(dev, x, 0, scratch, &s, err));
  GB_TRY(gb_cuda_pass_clear(&s, err));
  GB_CUDA_TRY(gb_cuda_clear_ends(&s.p, s.gpu->stream));
  GB_TRY(gb_cuda_pass_run(&s, 0, gb_cuda_find_ends, err));
  GB_TRY(gb_cuda_look(s.gpu, s.p.ends, 2 * x->d * sizeof *s.p.ends, take_ends, &e, err));
  GB_TRY(gb_cuda_pass_tally(&s, &t, err));
  if (x->weight != NULL) memcpy(&heaviest, &t.weight, sizeof heaviest);
  *weight = fmax(*weight, heaviest);
  *bad = (gb_bad_point){SIZE_MAX, 0};
  if (t.bad != UINT64_MAX) *bad = (gb_bad_point){t.bad / (x->d + 2), t.bad % (x->d + 2)};
  return GB_OK;
}

/* -- assign */

static void set_quanta (gb_cuda_points *s, gb_quanta q, int32_t *label, int64_t *sums) {
  s->p.point = q.point, s->p.weight = q.weight;
  s->p.label = label, s->p.sums = sums;
}

static gb_status begin (gb_device *dev, const gb_points *x, const gb_centres *c, void *scratch,
                        gb_error *err) {
  gb_cuda_points s;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  return gb_cuda_pass_bring_ranks(&s, c, err);
}

static gb_status assign (gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, int32_t *label,
                         int64_t *sums, size_t *moved, void *scratch, gb_error *err) {
  gb_cuda_points s;
  gb_cuda_tally t;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  set_quanta(&s, q, label, sums);
  if (moved != NULL) GB_TRY(gb_cuda_pass_bring_ranks(&s, c, err));
  GB_TRY(gb_cuda_pass_run(&s, c->k, gb_cuda_assign, err));
  if (moved == NULL) return GB_OK;
  GB_TRY(gb_cuda_pass_tally(&s, &t, err));
  *moved += t.moved;
  return GB_OK;
}

/* The tally is the first of the scratch. */
static gb_status end (gb_device *dev, void *scratch, size_t *moved, gb_error *err) {
  gb_cuda_tally t;
  GB_TRY(gb_cuda_download(gb_cuda_of(dev), &t, scratch, sizeof t, err));
  *moved += t.moved;
  return GB_OK;
}

static gb_status gather (gb_device *dev, size_t k, size_t d, const int64_t *sums, int64_t *out,
                         gb_error *err) {
  const gb_cuda_points s = {.gpu = gb_cuda_of(dev)};
  return gb_cuda_pass_add(&s, sums, k * (d + 1), out, err);
}

/* -- spread */

/* A pass that looks at points and the centres of their labels, or at seeds. */
static gb_status open_compared (gb_device *dev, const gb_points *x, const gb_centres *c, void *scratch,
                                gb_cuda_points *s, gb_error *err) {
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, s, err));
  return gb_cuda_pass_bring_centres(s, c, err);
}

static gb_status spread (gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                         double scale, gb_two_sums *out, void *scratch, gb_error *err) {
  gb_cuda_points s;
  gb_cuda_tally t;
  GB_TRY(open_compared(dev, x, c, scratch, &s, err));
  s.p.label = (int32_t *)label; /* which is only read */
  s.p.scale = scale;
  GB_TRY(gb_cuda_pass_run(&s, 1, gb_cuda_add_spread, err));
  GB_TRY(gb_cuda_pass_tally(&s, &t, err));
  out->high += t.high;
  out->low += t.low;
  return GB_OK;
}

/* -- single points */

static gb_status read_point (gb_device *dev, const gb_points *x, const double *shift, size_t row, double *out,
                             gb_error *err) {
  gb_cuda_points s;
  GB_TRY(gb_cuda_pass_open(dev, x, 0, NULL, &s, err));
  const gb_cuda_pass point = gb_cuda_pass_part(&s, row, 1);
  GB_TRY(gb_cuda_pass_measure(&s, &point, err));
  const size_t most = s.room_bytes / sizeof(double);
  for (size_t first = 0; first < x->d; first += most) {
    const size_t some = least_of(x->d - first, most);
    GB_CUDA_TRY(gb_cuda_features(&point, first, some, (double *)(void *)s.room, s.gpu->stream));
    GB_TRY(gb_cuda_download(s.gpu, out + first, s.room, some * sizeof *out, err));
  }
  for (size_t t = 0; t < x->d; t++) {
    if (s.p.f64) out[t] -= shift[t];
    else out[t] = (double)((float)out[t] - (float)shift[t]);
  }
  return GB_OK;
}

typedef struct far_list {
  size_t at, most, *have; /* at: number of the next point */
  gb_far_point *far;
} far_list;

static void keep_farthest (void *ud, const void *piece, size_t bytes) {
  far_list *l = ud;
  const double *apart = piece;
  for (size_t i = 0; i < bytes / sizeof *apart; i++, l->at++)
    if (apart[i] != -1) gb_keep_far((gb_far_point){l->at, apart[i]}, l->most, l->far, l->have);
}

static gb_status farthest (gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                           size_t first, size_t most, gb_far_point *far, size_t *have, void *scratch,
                           gb_error *err) {
  gb_cuda_points s;
  far_list l = {first, most, have, far};
  GB_TRY(open_compared(dev, x, c, scratch, &s, err));
  s.p.label = (int32_t *)label; /* which is only read */
  const size_t some = least_of(gb_cuda_pass_some(&s, 1), s.room_bytes / sizeof *s.p.apart);
  for (size_t i = 0; i < x->n; i += some) {
    const size_t n = least_of(x->n - i, some);
    gb_cuda_pass part = gb_cuda_pass_part(&s, i, n);
    part.apart = (double *)(void *)s.room;
    GB_TRY(gb_cuda_pass_turn(&s, &part, 1, err));
    GB_CUDA_TRY(gb_cuda_find_apart(&part, gb_cuda_pass_groups(&s), s.gpu->stream));
    GB_TRY(gb_cuda_feed_on(s.gpu, err));
    GB_TRY(gb_cuda_look(s.gpu, part.apart, n * sizeof *part.apart, keep_farthest, &l, err));
  }
  return GB_OK;
}

static gb_status relabel (gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, size_t row,
                          int32_t to, int32_t *label, int64_t *sums, void *scratch, gb_error *err) {
  gb_cuda_points s;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  set_quanta(&s, q, label, sums);
  GB_TRY(gb_cuda_pass_send_shift(&s, c->shift, err));
  const gb_cuda_pass point = gb_cuda_pass_part(&s, row, 1);
  GB_TRY(gb_cuda_pass_measure(&s, &point, err));
  GB_CUDA_TRY(gb_cuda_relabel(&point, to, s.gpu->stream));
  return GB_OK;
}

/* -- seeds */

static gb_status closer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale, bool first,
                         void *near, int64_t *block, void *scratch, gb_error *err) {
  gb_cuda_points s;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  if (c->k > 0) GB_TRY(open_compared(dev, x, c, scratch, &s, err));
  s.p.scale = scale, s.p.fresh = first, s.p.near = near;
  s.p.block = (int64_t *)(void *)s.room;
  const size_t room = s.room_bytes / sizeof *block * GB_CLUSTER_BLOCK;
  const size_t some = least_of(gb_cuda_pass_some(&s, c->k), room);
  for (size_t i = 0; i < x->n; i += some) {
    const size_t n = least_of(x->n - i, some);
    const gb_cuda_pass part = gb_cuda_pass_part(&s, i, n);
    GB_TRY(gb_cuda_pass_turn(&s, &part, c->k, err));
    GB_CUDA_TRY(gb_cuda_come_closer(&part, s.gpu->stream));
    GB_TRY(gb_cuda_feed_on(s.gpu, err));
    GB_TRY(gb_cuda_download(s.gpu, block + i / GB_CLUSTER_BLOCK, part.block,
                            (n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK * sizeof *block, err));
  }
  return GB_OK;
}

static gb_status potentials (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                             const void *near, int64_t *total, void *scratch, gb_error *err) {
  gb_cuda_points s;
  gb_cuda_tally t;
  GB_TRY(open_compared(dev, x, c, scratch, &s, err));
  s.p.scale = scale;
  s.p.near = (void *)near; /* which is only read */
  GB_TRY(gb_cuda_pass_run(&s, c->k, gb_cuda_add_potentials, err));
  GB_TRY(gb_cuda_pass_tally(&s, &t, err));
  for (size_t j = 0; j < c->k; j++) total[j] += t.total[j];
  return GB_OK;
}

static gb_status pick (gb_device *dev, const gb_points *x, size_t block, double scale, const void *near,
                       int64_t target, size_t *row, gb_error *err) {
  gb_cuda_points s;
  int64_t q[GB_CLUSTER_BLOCK], sum = 0;
  const size_t first = block * GB_CLUSTER_BLOCK, n = least_of(x->n - first, GB_CLUSTER_BLOCK);
  GB_TRY(gb_cuda_pass_open(dev, x, 0, NULL, &s, err));
  s.p.scale = scale;
  s.p.near = (void *)near; /* which is only read */
  gb_cuda_pass part = gb_cuda_pass_part(&s, first, n);
  part.block = (int64_t *)(void *)s.room;
  GB_CUDA_TRY(gb_cuda_list_potentials(&part, s.gpu->stream));
  GB_TRY(gb_cuda_download(s.gpu, q, part.block, n * sizeof *q, err));
  for (size_t i = 0; i < n; i++) {
    if (q[i] > 0) *row = first + i;
    if ((sum += q[i]) > target) break;
  }
  return GB_OK;
}

const gb_cluster_ops gb_cuda_cluster_ops = {.unit_rows = true,
                                            .feed = gb_cuda_feed,
                                            .fed = gb_cuda_fed,
                                            .workers = workers,
                                            .scratch = scratch_bytes,
                                            .range = range,
                                            .begin = begin,
                                            .assign = assign,
                                            .assign_bounded = gb_cuda_assign_bounded,
                                            .end = end,
                                            .gather = gather,
                                            .spread = spread,
                                            .read = read_point,
                                            .farthest = farthest,
                                            .relabel = relabel,
                                            .closer = closer,
                                            .potentials = potentials,
                                            .pick = pick,
                                            .nearer = gb_cuda_nearer,
                                            .lots = gb_cuda_lots,
                                            .tally = gb_cuda_tally_weights};
