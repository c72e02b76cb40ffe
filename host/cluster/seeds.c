/* seeds.c - where k-means starts: given centres, points drawn at random, or k-means++. Draws depend on the seed and on the numbers of
** points alone. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cluster/kmeans_fit.h"

enum { DRAWS, LOTS }; /* streams of the seed */

static size_t blocks_of (const gb_points *x) { return (x->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK; }

size_t gb_kmeans_near_bytes (const gb_points *x) { return x->n * gb_dtype_size(gb_points_compute(x->dtype)); }

/* Candidates of a step of k-means++. */
static size_t tried (size_t k) {
  const size_t n = 2 + (size_t)floor(log((double)k));
  return n < GB_CLUSTER_SEEDS ? n : GB_CLUSTER_SEEDS;
}

size_t gb_kmeans_seed_bytes (const gb_kmeans_options *o, size_t d) {
  return gb_kmeans_has_potentials(o) ? tried(o->k) * d * sizeof(double) : 0;
}

/* Zeros where another rank has the point: gb_kmeans_exchange follows. */
static gb_status read_point (const gb_kmeans_run *r, size_t row, double *out, gb_error *err) {
  const gb_kmeans_part *p = gb_kmeans_part_of(r, row);
  memset(out, 0, r->d * sizeof *out);
  if (p == NULL) return GB_OK;
  return GB_KMEANS_ROW(p, row - p->first, gb_kmeans_ops(p)->read(p->device, &x, r->shift, 0, out, err));
}

/* -- given */

static gb_status take_given (gb_kmeans_run *r, gb_error *err) {
  if (gb_comm_rank(r->o->comm) == 0) memcpy(r->centre, r->o->given, r->k * r->d * sizeof *r->centre);
  GB_TRY(gb_comm_broadcast(r->o->comm, 0, r->centre, r->k * r->d * sizeof *r->centre, err));
  for (size_t i = 0; i < r->k * r->d; i++) {
    const double v = r->centre[i];
    if (!isfinite(v))
      return gb_fail(err, GB_EOPTION,
                     "k-means: the start has a value that is not finite in row %zu, column %zu", i / r->d + 1,
                     i % r->d + 1);
    r->centre[i] = v - r->shift[i % r->d];
  }
  for (size_t j = 0; r->part->x->unit && j < r->k; j++)
    if (!gb_kmeans_make_unit(r->d, r->shift, 0, r->centre + j * r->d))
      return gb_fail(err, GB_EOPTION, "k-means: row %zu of the start has length 0, and no direction", j + 1);
  for (size_t i = 0; i < r->k * r->d; i++) r->centre[i] = gb_kmeans_coordinate(r, i % r->d, r->centre[i]);
  return GB_OK;
}

/* -- random: the points whose exponential lots, divided by their weights, come first */

static bool comes_later (gb_far_point a, gb_far_point b) {
  return a.apart > b.apart || (a.apart == b.apart && a.row > b.row);
}

/* The latest of a heap is its first. */
static void sift (gb_far_point *heap, size_t n, size_t i) {
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && comes_later(heap[child + 1], heap[child])) child++;
    if (!comes_later(heap[child], heap[i])) return;
    const gb_far_point p = heap[i];
    heap[i] = heap[child];
    heap[child] = p;
  }
}

void gb_kmeans_keep_lot (gb_far_point p, size_t most, gb_far_point *heap, size_t *have) {
  if (*have < most) {
    heap[(*have)++] = p;
    if (*have == most)
      for (size_t h = most / 2; h-- > 0;) sift(heap, most, h);
  } else if (comes_later(heap[0], p)) {
    heap[0] = p;
    sift(heap, most, 0);
  }
}

static void draw_lots (const gb_kmeans_run *r, gb_far_point *heap, size_t *have) {
  for (size_t i = 0; i < r->nparts; i++)
    for (size_t n = 0; n < r->part[i].x->n; n++) {
      const double w = r->part[i].weight == NULL ? 1 : r->part[i].weight[n];
      const size_t row = r->part[i].first + n;
      const gb_far_point p = {row, -log(gb_rand_uniform(r->o->seed, LOTS, row)) / w};
      if (w > 0) gb_kmeans_keep_lot(p, r->k, heap, have);
    }
}

static gb_status draw_points (gb_kmeans_run *r, gb_error *err) {
  size_t have = 0;
  draw_lots(r, r->far, &have);
  GB_TRY(gb_kmeans_merge(r, r->k, gb_kmeans_keep_lot, &have, GB_OK, err));
  if (have < r->k)
    for (size_t h = have / 2; h-- > 0;) sift(r->far, have, h);
  for (size_t end = have; end > 1; end--) { /* the first lot first */
    const gb_far_point p = r->far[0];
    r->far[0] = r->far[end - 1];
    r->far[end - 1] = p;
    sift(r->far, end - 1, 0);
  }
  gb_status st = GB_OK;
  for (size_t j = 0; st == GB_OK && j < r->k;
       j++) /* points without weight are no seeds, unless there are no others */
    st = read_point(r, r->far[j % have].row, r->centre + j * r->d, err);
  return gb_kmeans_exchange(r, r->k, r->centre, st, err);
}

/* -- k-means++ */

typedef struct seeding {
  gb_kmeans_run *r;
  double scale;
  int64_t before, own, total; /* potentials of the ranks before this one, of this one, of all */
  uint64_t drawn;
  double *candidate; /* (tried, d) */
} seeding;

static gb_status come_closer (seeding *s, const double *centre, bool first, gb_error *err) {
  gb_kmeans_run *r = s->r;
  const gb_centres c = gb_kmeans_centres(r, centre, centre == NULL ? 0 : 1);
  gb_status st = GB_OK;
  s->own = 0;
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->closer(p->device, &x, &c, s->scale, first, p->near, p->block, p->scratch, err));
    for (size_t b = 0; st == GB_OK && b < blocks_of(p->x); b++) s->own += p->block[b];
  }
  return gb_comm_place(r->o->comm, s->own, &s->before, &s->total, st, err);
}

/* A point, drawn in proportion to its potential; where all are 0, one of all points. Zeros where another rank has it. */
static gb_status draw (seeding *s, double *out, gb_error *err) {
  const gb_kmeans_run *r = s->r;
  const double u = gb_rand_uniform(r->o->seed, DRAWS, s->drawn++);
  if (s->total <= 0) return read_point(r, (size_t)(u * (double)r->n), out, err);
  int64_t target = (int64_t)(u * (double)s->total);
  target = (target < s->total ? target : s->total - 1) - s->before;
  memset(out, 0, r->d * sizeof *out);
  if (target < 0 || target >= s->own) return GB_OK;
  const gb_kmeans_part *last = NULL;
  size_t last_block = 0, row = 0;
  for (size_t i = 0; i < r->nparts; i++)
    for (size_t b = 0; b < blocks_of(r->part[i].x); b++) {
      if (r->part[i].block[b] <= 0) continue;
      last = &r->part[i], last_block = b;
      if (target < r->part[i].block[b]) goto found;
      target -= r->part[i].block[b];
    }
found:
  GB_TRY(gb_device_checked(
      last->device,
      gb_kmeans_ops(last)->pick(last->device, last->x, last_block, s->scale, last->near, target, &row, err),
      err));
  return GB_KMEANS_ROW(last, row, gb_kmeans_ops(last)->read(last->device, &x, r->shift, 0, out, err));
}

/* The candidate that would leave the least. */
static gb_status choose (seeding *s, size_t n, size_t *best, gb_error *err) {
  gb_kmeans_run *r = s->r;
  const gb_centres c = gb_kmeans_centres(r, s->candidate, n);
  int64_t total[GB_CLUSTER_SEEDS + 1] = {0};
  gb_status st = GB_OK;
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->potentials(p->device, &x, &c, s->scale, p->near, total, p->scratch, err));
  }
  GB_TRY(gb_comm_sum(r->o->comm, total, n, st, err));
  *best = 0;
  for (size_t j = 1; j < n; j++)
    if (total[j] < total[*best]) *best = j;
  return GB_OK;
}

/* n points at every rank. */
static gb_status draw_all (seeding *s, size_t n, double *out, gb_error *err) {
  gb_status st = GB_OK;
  for (size_t c = 0; st == GB_OK && c < n; c++) st = draw(s, out + c * s->r->d, err);
  return gb_kmeans_exchange(s->r, n, out, st, err);
}

static gb_status grow (seeding *s, size_t from, gb_error *err) {
  gb_kmeans_run *r = s->r;
  const size_t n = tried(r->k), d = r->d;
  for (size_t j = from; j < r->k; j++) {
    size_t best;
    GB_TRY(draw_all(s, n, s->candidate, err));
    GB_TRY(choose(s, n, &best, err));
    memcpy(r->centre + j * d, s->candidate + best * d, d * sizeof(double));
    if (j + 1 < r->k) GB_TRY(come_closer(s, r->centre + j * d, false, err));
  }
  return GB_OK;
}

static gb_status draw_first (seeding *s, double *out, gb_error *err) {
  s->scale = gb_kmeans_scale((double)s->r->n, s->r->heaviest);
  GB_TRY(come_closer(s, NULL, true, err));
  return draw_all(s, 1, out, err);
}

gb_status gb_kmeans_draw_first (gb_kmeans_run *r, double *out, gb_error *err) {
  return draw_first(&(seeding){.r = r, .candidate = r->candidate}, out, err);
}

static double scale_of (const gb_kmeans_run *r) {
  return gb_kmeans_scale((double)r->n, r->heaviest * gb_kmeans_diameter(r));
}

gb_status gb_kmeans_plus_plus (gb_kmeans_run *r, uint64_t drawn, gb_error *err) {
  seeding s = {.r = r, .candidate = r->candidate, .drawn = drawn};
  GB_TRY(draw_first(&s, r->centre, err));
  s.scale = scale_of(r);
  GB_TRY(come_closer(&s, r->centre, true, err));
  return grow(&s, 1, err);
}

gb_status gb_kmeans_plus_plus_from (gb_kmeans_run *r, size_t from, gb_error *err) {
  seeding s = {.r = r, .candidate = r->candidate, .scale = scale_of(r), .drawn = 1};
  GB_TRY(come_closer(&s, r->centre, false,
                     err)); /* for the potentials: a centre that is known brings no point closer */
  return grow(&s, from, err);
}

gb_status gb_kmeans_seed (gb_kmeans_run *r, gb_error *err) {
  switch (r->o->start) {
    case GB_KMEANS_GIVEN: return take_given(r, err);
    case GB_KMEANS_RANDOM: return draw_points(r, err);
    case GB_KMEANS_PARALLEL: return gb_kmeans_oversample(r, err);
    default: return gb_kmeans_plus_plus(r, 0, err);
  }
}
