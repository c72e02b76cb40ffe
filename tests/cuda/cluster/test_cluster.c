/* Passes over points on a GPU against the CPU's, bit for bit: shapes around the edges of tiles and blocks, types, strides, weights,
** rows as they are and divided by their lengths, ties, points that are not finite; whole fits on any devices; memory, interrupts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "cluster/kmeans.h"
#include "cuda/device/gpu.h"
#include "cuda/support/gpu_fixture.h"

static gb_device *gpu;
static uint64_t draws;

static double uniform (void) { return gb_rand_uniform(11, 9, draws++); }
static size_t draw (size_t below) { return (size_t)(uniform() * (double)below) % below; }

static gb_error error;
static void good (gb_status st) {
  if (st != GB_OK) fail_msg("%s", error.text);
}

/* -- the same bytes on both sides */

typedef struct twin {
  size_t bytes;
  void *near;
  gb_block *far; /* where the ledger knows it */
} twin;

static void send (twin *t) {
  gb_error err;
  assert_int_equal(gb_memory_upload(&gpu->memory, t->far->data, t->near, t->bytes, &err), GB_OK);
}

static twin twin_of (size_t bytes) {
  gb_error err;
  twin t = {.bytes = bytes, .near = calloc(1, bytes + 1), .far = calloc(1, sizeof(gb_block))};
  if (gb_ledger_alloc(&gpu->ledger, GB_MEM_WORKSPACE, bytes, "", "", t.far, &err) != GB_OK)
    fail_msg("%s", err.text);
  return t;
}

static void twin_free (twin *t) {
  gb_ledger_free(&gpu->ledger, t->far);
  free(t->far);
  free(t->near);
}

static void check_twin (const char *what, const twin *t) {
  gb_error err;
  unsigned char *back = malloc(t->bytes + 1);
  assert_int_equal(gb_memory_download(&gpu->memory, back, t->far->data, t->bytes, &err), GB_OK);
  for (size_t i = 0; i < t->bytes; i++)
    if (back[i] != ((unsigned char *)t->near)[i]) fail_msg("%s: byte %zu of %zu differs", what, i, t->bytes);
  free(back);
}

/* -- points */

enum layout { ROWS, COLUMNS, APART, BACKWARDS, LAYOUTS };
static const gb_dtype types[] = {GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64, GB_I32};
enum { TYPES = sizeof types / sizeof *types };

typedef struct scene {
  size_t n, d, k;
  gb_dtype dtype;
  bool unit;
  twin points, weight, label, sums, near, scratch;
  gb_points x[2]; /* of the CPU, of the GPU */
  double *shift, *centre;
} scene;

static const gb_cluster_ops *ops (int side) { return (side ? gpu : gpu_home())->ops->cluster; }
static gb_device *device (int side) { return side ? gpu : gpu_home(); }
static void *at (const twin *t, int side) { return side ? t->far->data : t->near; }

static double round_to (gb_dtype compute, double v) { return compute == GB_F64 ? v : (double)(float)v; }

/* Of few values, so that some are equal; the one half of the points are copies of others. */
static void fill_points (scene *s, size_t elements) {
  for (size_t i = 0; i < elements; i++) {
    const double u = draw(3) == 0 ? (double)draw(5) - 2 : 8 * uniform() - 3,
                 v = gb_dtype_is_whole(s->dtype) ? rint(1000 * u) : u;
    gb_element_set(s->points.near, i, s->dtype,
                   s->unit && v == 0 ? 1 : v); /* a row of zeros has no direction */
  }
}

static void copy_some (scene *s) {
  const gb_points *x = &s->x[0];
  for (size_t i = 0; i < s->n; i += 2) {
    const size_t from = draw(s->n);
    for (size_t t = 0; t < s->d; t++) {
      const char *row = (const char *)x->at + ((ptrdiff_t)from * x->row + (ptrdiff_t)t * x->column) *
                                                  (ptrdiff_t)gb_dtype_size(x->dtype);
      char *to = (char *)x->at +
                 ((ptrdiff_t)i * x->row + (ptrdiff_t)t * x->column) * (ptrdiff_t)gb_dtype_size(x->dtype);
      memmove(to, row, gb_dtype_size(x->dtype));
    }
  }
}

static void set_coordinate (const scene *s, size_t i, size_t t, double v) {
  const gb_points *x = &s->x[0];
  const ptrdiff_t e = (ptrdiff_t)i * x->row + (ptrdiff_t)t * x->column;
  gb_element_set((char *)x->at + e * (ptrdiff_t)gb_dtype_size(x->dtype), 0, x->dtype, v);
}

/* Points, some of them twice, and some numbers between. */
static void choose_centres (scene *s) {
  const gb_dtype compute = gb_points_compute(s->dtype);
  for (size_t j = 0; j < s->k; j++) {
    good(ops(0)->read(device(0), &s->x[0], s->shift, draw(s->n), s->centre + j * s->d, &error));
    for (size_t t = 0; t < s->d; t++) {
      double c = s->centre[j * s->d + t];
      if (j % 3 == 1) c += uniform() - 0.5;
      if (j % 5 == 4) c = s->centre[(j - 1) * s->d + t];
      s->centre[j * s->d + t] = round_to(compute, c);
    }
  }
}

static scene make (size_t n, size_t d, size_t k, gb_dtype dtype, enum layout layout, bool weighted,
                   bool unit) {
  scene s = {.n = n, .d = d, .k = k, .dtype = dtype, .unit = unit};
  const gb_dtype compute = gb_points_compute(dtype);
  const size_t apart = layout == APART ? 3 : 0, size = gb_dtype_size(dtype),
               elements = (n + 1) * (d + apart) * 2;
  const size_t most = k > GB_CLUSTER_SEEDS ? k : GB_CLUSTER_SEEDS;
  s.points = twin_of(elements * size), s.weight = twin_of(n * sizeof(double));
  s.label = twin_of(n * sizeof(int32_t)),
  s.sums = twin_of(ops(0)->workers(gpu_home()) * k * (d + 1) * sizeof(int64_t));
  s.near = twin_of(n * gb_dtype_size(compute));
  s.scratch = twin_of(ops(1)->scratch(gpu, compute, most, d));
  free(s.scratch.near);
  s.scratch.near = aligned_alloc(GB_ALIGN, (ops(0)->scratch(gpu_home(), compute, most, d) + 63) / 64 * 64);
  for (int side = 0; side < 2; side++) {
    gb_points *x = &s.x[side];
    *x = (gb_points){.at = at(&s.points, side),
                     .dtype = dtype,
                     .row = (ptrdiff_t)(d + apart),
                     .column = 1,
                     .n = n,
                     .d = d,
                     .unit = unit};
    if (layout == COLUMNS) x->row = 1, x->column = (ptrdiff_t)n;
    if (layout == BACKWARDS) {
      x->row = -2 * (ptrdiff_t)d, x->column = 2;
      x->at = (const char *)x->at + (n - 1) * 2 * d * size;
    }
    if (weighted) x->weight = at(&s.weight, side);
  }
  fill_points(&s, elements);
  copy_some(&s);
  for (size_t i = 0; i < n; i++) ((double *)s.weight.near)[i] = draw(4) == 0 ? 0 : 3 * uniform();
  send(&s.points), send(&s.weight);
  memset(s.label.near, 0xff, s.label.bytes), send(&s.label), send(&s.sums);
  s.shift = malloc(d * sizeof(double)), s.centre = malloc(k * d * sizeof(double));
  for (size_t t = 0; t < d; t++) s.shift[t] = round_to(compute, gb_dtype_is_whole(dtype) ? 17 : uniform());
  choose_centres(&s);
  return s;
}

static void unmake (scene *s) {
  twin *const all[] = {&s->points, &s->weight, &s->label, &s->sums, &s->near, &s->scratch};
  for (int i = 0; i < 6; i++) twin_free(all[i]);
  free(s->shift);
  free(s->centre);
}

static gb_centres centres (const scene *s, size_t first, size_t k) {
  return (gb_centres){.k = k, .shift = s->shift, .centre = s->centre + first * s->d};
}

/* -- passes */

static void check_range (const scene *s) {
  double end[2][3][130], heaviest[2] = {0.25, 0.25};
  gb_bad_point bad[2] = {{7, 7}, {8, 8}};
  for (int side = 0; side < 2; side++) {
    for (size_t t = 0; t < s->d; t++) end[side][0][t] = t % 2 ? INFINITY : -100, end[side][1][t] = -INFINITY;
    good(ops(side)->range(device(side), &s->x[side], end[side][0], end[side][1], &heaviest[side], &bad[side],
                          at(&s->scratch, side), &error));
  }
  assert_true(bad[0].row == bad[1].row && bad[0].column == bad[1].column);
  if (bad[0].row != SIZE_MAX) return;
  assert_true(heaviest[0] == heaviest[1]);
  for (size_t t = 0; t < s->d; t++) assert_true(end[0][0][t] == end[1][0][t] && end[0][1][t] == end[1][1][t]);
}

static const gb_quanta quanta = {.point = 0x1p30, .weight = 0x1p40};

static void check_sums (const char *what, const scene *s) {
  const size_t count = s->k * (s->d + 1);
  int64_t *sum[2];
  for (int side = 0; side < 2; side++) {
    sum[side] = malloc(count * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) sum[side][i] = (int64_t)i;
    good(ops(side)->gather(device(side), s->k, s->d, at(&s->sums, side), sum[side], &error));
  }
  for (size_t i = 0; i < count; i++)
    if (sum[0][i] != sum[1][i]) fail_msg("%s: sum %zu of %zu differs", what, i, count);
  free(sum[0]), free(sum[1]);
}

static void check_assign (const scene *s) {
  const gb_centres c = centres(s, 0, s->k);
  size_t moved[2] = {5, 5};
  for (int side = 0; side < 2; side++)
    good(ops(side)->assign(device(side), &s->x[side], &c, quanta, at(&s->label, side), at(&s->sums, side),
                           &moved[side], at(&s->scratch, side), &error));
  assert_int_equal(moved[0], moved[1]);
  check_twin("labels", &s->label);
  check_sums("sums", s);
}

/* Labels alone: those of 'assign', without sums. */
static void check_labels (const scene *s) {
  const gb_centres c = centres(s, 0, s->k);
  for (int side = 0; side < 2; side++) {
    size_t moved = 0;
    good(ops(side)->assign(device(side), &s->x[side], &c, quanta, at(&s->label, side), NULL, &moved,
                           at(&s->scratch, side), &error));
    assert_int_equal(moved, 0);
    good(gb_memory_fill(&device(side)->memory, at(&s->label, side), 0xff, s->n * sizeof(int32_t), &error));
    good(ops(side)->assign(device(side), &s->x[side], &c, quanta, at(&s->label, side), NULL, &moved,
                           at(&s->scratch, side), &error));
    assert_int_equal(moved, s->n);
  }
  check_twin("labels alone", &s->label);
  check_sums("sums", s);
}

static void check_spread (const scene *s) {
  const gb_centres c = centres(s, 0, s->k);
  gb_two_sums sum[2] = {{1, 2}, {1, 2}};
  for (int side = 0; side < 2; side++)
    good(ops(side)->spread(device(side), &s->x[side], &c, at(&s->label, side), 0x1p20, &sum[side],
                           at(&s->scratch, side), &error));
  assert_int_equal(sum[0].high, sum[1].high);
  assert_int_equal(sum[0].low, sum[1].low);
}

static void check_points (const scene *s) {
  double out[2][130];
  gb_far_point far[2][20];
  size_t have[2] = {0, 0};
  const gb_centres c = centres(s, 0, s->k);
  for (int turn = 0; turn < (s->n < 900 ? 3 : 1); turn++) {
    const size_t row = turn == 0 ? 0 : turn == 1 ? s->n - 1 : draw(s->n), most = 1 + draw(20);
    const int32_t to = (int32_t)draw(s->k);
    for (int side = 0; side < 2; side++) {
      good(ops(side)->read(device(side), &s->x[side], s->shift, row, out[side], &error));
      if (have[side] > most) have[side] = most;
      good(ops(side)->farthest(device(side), &s->x[side], &c, at(&s->label, side), (size_t)turn * s->n, most,
                               far[side], &have[side], at(&s->scratch, side), &error));
      good(ops(side)->relabel(device(side), &s->x[side], &c, quanta, row, to, at(&s->label, side),
                              at(&s->sums, side), at(&s->scratch, side), &error));
    }
    assert_memory_equal(out[0], out[1], s->d * sizeof(double));
    assert_int_equal(have[0], have[1]);
    for (size_t i = 0; i < have[0]; i++)
      assert_true(far[0][i].row == far[1][i].row && far[0][i].apart == far[1][i].apart);
    check_twin("labels", &s->label);
    check_sums("relabelled", s);
  }
}

static void check_closer (const scene *s, const gb_centres *c, bool first, int64_t *block) {
  const size_t blocks = (s->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK;
  int64_t other[8];
  for (int side = 0; side < 2; side++)
    good(ops(side)->closer(device(side), &s->x[side], c, 0x1p25, first, at(&s->near, side),
                           side ? other : block, at(&s->scratch, side), &error));
  check_twin("near", &s->near);
  assert_memory_equal(block, other, blocks * sizeof *block);
}

static void check_seeds (const scene *s) {
  int64_t block[8], total[2][GB_CLUSTER_SEEDS];
  const gb_centres none = centres(s, 0, 0), one = centres(s, 0, 1), last = centres(s, s->k - 1, 1);
  const gb_centres many = centres(s, 0, s->k < GB_CLUSTER_SEEDS ? s->k : GB_CLUSTER_SEEDS);
  check_closer(s, &none, true, block);
  check_closer(s, &one, true, block);
  check_closer(s, &last, false, block);
  for (int side = 0; side < 2; side++) {
    for (size_t j = 0; j < GB_CLUSTER_SEEDS; j++) total[side][j] = (int64_t)j;
    good(ops(side)->potentials(device(side), &s->x[side], &many, 0x1p25, at(&s->near, side), total[side],
                               at(&s->scratch, side), &error));
  }
  assert_memory_equal(total[0], total[1], sizeof total[0]);
  check_twin("near", &s->near);
  for (size_t b = 0; b * GB_CLUSTER_BLOCK < s->n; b++)
    for (int turn = 0; turn < 4; turn++) {
      const int64_t target = turn == 3 ? block[b] + 1 : (int64_t)(0.49 * turn * (double)block[b]);
      size_t row[2] = {0, 0};
      for (int side = 0; side < 2; side++)
        good(ops(side)->pick(device(side), &s->x[side], b, 0x1p25, at(&s->near, side), target, &row[side],
                             &error));
      assert_int_equal(row[0], row[1]);
    }
}

/* -- seeds by the thousand */

static void check_nearer (const scene *s, const gb_centres *c, int32_t first) {
  const size_t blocks = (s->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK;
  int64_t block[2][8];
  for (int side = 0; side < 2; side++)
    good(ops(side)->nearer(device(side), &s->x[side], c, 0x1p25, first, first == 0, at(&s->near, side),
                           at(&s->label, side), block[side], at(&s->scratch, side), &error));
  check_twin("near", &s->near);
  check_twin("labels of the nearest", &s->label);
  assert_memory_equal(block[0], block[1], blocks * sizeof *block[0]);
}

typedef struct drawn {
  size_t n;
  gb_far_point point[5000];
} drawn;

static void take (void *ud, gb_far_point p) {
  drawn *d = ud;
  d->point[d->n++] = p;
}

static int by_row (const void *a, const void *b) {
  const size_t i = ((const gb_far_point *)a)->row, j = ((const gb_far_point *)b)->row;
  return (i > j) - (i < j);
}

static void check_lots (const scene *s, double share) {
  static drawn d[2];
  const gb_stream stream = {11, 17, ((size_t)1 << 33) + 5};
  for (int side = 0; side < 2; side++) {
    d[side].n = 0;
    good(ops(side)->lots(device(side), &s->x[side], 0x1p25, at(&s->near, side), &stream, share, take,
                         &d[side], &error));
    qsort(d[side].point, d[side].n, sizeof *d[side].point, by_row);
  }
  assert_int_equal(d[0].n, d[1].n);
  for (size_t i = 0; i < d[0].n; i++)
    assert_true(d[0].point[i].row == d[1].point[i].row && d[0].point[i].apart == d[1].point[i].apart);
}

static void check_many (const scene *s) {
  const size_t half = (s->k + 1) / 2;
  const gb_centres some = centres(s, 0, half), others = centres(s, half, s->k - half);
  int64_t tally[2][200];
  check_nearer(s, &some, 0);
  if (s->k > half) check_nearer(s, &others, (int32_t)half);
  for (int turn = 0; turn < 3; turn++) check_lots(s, turn == 0 ? 1 : 0x1p-29 * uniform() / (double)s->d);
  for (int side = 0; side < 2; side++) {
    for (size_t j = 0; j < s->k && j < 200; j++) tally[side][j] = (int64_t)j;
    if (s->k <= 200)
      good(ops(side)->tally(device(side), &s->x[side], at(&s->label, side), 0x1p20, s->k, tally[side],
                            &error));
  }
  if (s->k <= 200) assert_memory_equal(tally[0], tally[1], s->k * sizeof *tally[0]);
}

/* -- an assignment by bounds */

/* Moves of centres, and their order. */
typedef struct drift {
  gb_drift d;
  float move[300];
  int32_t order[300];
} drift;

static void set_drift (const scene *s, const double *before, drift *f) {
  f->d = (gb_drift){.move = f->move, .order = f->order};
  for (size_t j = 0; j < s->k; j++) {
    double moved = 0, square = 0;
    for (size_t t = j * s->d; t < (j + 1) * s->d; t++) {
      moved += (s->centre[t] - before[t]) * (s->centre[t] - before[t]);
      square += s->centre[t] * s->centre[t];
    }
    f->move[j] = (float)(sqrt(moved) * (1 + 1e-6));
    f->d.reach = fmax(f->d.reach, square * (1 + 1e-12));
    size_t at = j;
    for (; at > 0 && f->move[f->order[at - 1]] < f->move[j]; at--) f->order[at] = f->order[at - 1];
    f->order[at] = (int32_t)j;
  }
}

/* Each point is at most 'upper' from its centre, and at least 'lower' from any other. */
static void check_bounds (const scene *s, const twin *bounds) {
  float *b = malloc(2 * s->n * sizeof *b);
  double *x = malloc(s->d * sizeof *x);
  good(gb_memory_download(&gpu->memory, b, bounds->far->data, 2 * s->n * sizeof *b, &error));
  for (size_t i = 0; i < s->n; i++) {
    good(ops(0)->read(device(0), &s->x[0], s->shift, i, x, &error));
    for (size_t j = 0; j < s->k; j++) {
      long double square = 0;
      for (size_t t = 0; t < s->d; t++)
        square += ((long double)x[t] - s->centre[j * s->d + t]) *
                  ((long double)x[t] - s->centre[j * s->d + t]);
      if ((int32_t)j == ((int32_t *)s->label.near)[i]) assert_true(sqrtl(square) <= (long double)b[i]);
      else assert_true(sqrtl(square) >= (long double)b[s->n + i]);
    }
  }
  free(b), free(x);
}

/* Labels, sums and moves of 'assign', while centres move by less and less. */
static void check_bounded (const scene *s) {
  static drift f;
  twin bounds = twin_of(2 * s->n * sizeof(float));
  float *upper = bounds.far->data;
  double *before = malloc(s->k * s->d * sizeof *before);
  memset(bounds.near, 0xff, bounds.bytes), send(&bounds);
  for (int turn = 0; turn < 6; turn++) {
    const double by = turn == 0 || turn == 4 ? 0 : pow(10, -turn) * 2;
    size_t moved[2] = {3, 3};
    memcpy(before, s->centre, s->k * s->d * sizeof *before);
    for (size_t i = 0; i < s->k * s->d; i++)
      if (draw(3) != 0)
        s->centre[i] = round_to(gb_points_compute(s->dtype), s->centre[i] * (1 + by * (uniform() - 0.5)));
    set_drift(s, before, &f);
    const gb_centres c = centres(s, 0, s->k);
    good(ops(0)->assign(device(0), &s->x[0], &c, quanta, at(&s->label, 0), at(&s->sums, 0), &moved[0],
                        at(&s->scratch, 0), &error));
    good(ops(1)->assign_bounded(device(1), &s->x[1], &c, &f.d, quanta, at(&s->label, 1),
                                (gb_bounds){upper, upper + s->n}, at(&s->sums, 1), &moved[1],
                                at(&s->scratch, 1), &error));
    assert_int_equal(moved[0], moved[1]);
    check_twin("labels by bounds", &s->label);
    check_sums("sums by bounds", s);
    if (s->n < 300 && s->k < 50) check_bounds(s, &bounds);
  }
  twin_free(&bounds);
  free(before);
}

static void check_scene (size_t n, size_t d, size_t k, gb_dtype dtype, enum layout layout, bool weighted,
                         bool unit) {
  scene s = make(n, d, k, dtype, layout, weighted, unit);
  check_range(&s);
  check_assign(&s);
  choose_centres(&s);
  check_assign(&s); /* some points keep their labels */
  check_labels(&s);
  check_spread(&s);
  check_points(&s);
  check_seeds(&s);
  check_many(&s);
  if (k <= 300 && draw(4) == 0) check_bounded(&s);
  unmake(&s);
}

/* Each 'every'th shape; types, layouts and weights in turns. */
static void run_grid (const char *order, size_t turn, size_t every) {
  static const size_t ns[] = {1, 2, 63, 64, 65, 959, 960, 961, 3000}, ds[] = {1, 2, 3, 8, 16, 33, 64, 130},
                      ks[] = {1, 2, 7, 64, 200};
  emu_set("ORDER", order);
  for (size_t a = 0; a < sizeof ns / sizeof *ns; a++)
    for (size_t b = 0; b < sizeof ds / sizeof *ds; b++)
      for (size_t c = 0; c < sizeof ks / sizeof *ks; c++, turn++)
        if (turn % every == 0)
          check_scene(ns[a], ds[b], ks[c], types[draw(TYPES)], (enum layout)draw(LAYOUTS), draw(3) != 0,
                      draw(3) == 0);
  emu_set("ORDER", NULL);
}

static void test_grid (void **state) {
  (void)state;
  run_grid("fwd", 0, 1);
  run_grid("rev", 1, 4);
  run_grid("7", 2, 4);
}

/* Every type with every layout; features and centres at the edges of tiles; launches of few points. */
static void test_types (void **state) {
  static const size_t shape[][3] = {{200, 1, 5},   {130, 3, 9},   {515, 4, 300},  {70, 5, 3},
                                    {70, 6, 40},   {300, 7, 33},  {129, 9, 4},    {257, 15, 32},
                                    {257, 17, 33}, {130, 24, 65}, {129, 40, 129}, {2100, 12, 260}};
  (void)state;
  for (int panel = 0; panel < 2; panel++) {
    emu_set("ORDER", panel ? "rev" : "7");
    gb_cuda_of(gpu)->panel = panel ? 16 : 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
      for (int t = 0; t < TYPES; t++)
        for (int l = 0; l < LAYOUTS; l++)
          check_scene(shape[i][0], shape[i][1], shape[i][2], types[t], (enum layout)l, l % 2,
                      (t + l + (int)i) % 2);
  }
  emu_set("ORDER", NULL);
  gb_cuda_of(gpu)->panel = 0;
}

/* Where bounds tell a label, neither its point nor a centre is read. */
static void test_told (void **state) {
  static drift f;
  (void)state;
  scene s = make(5000, 12, 4, GB_F32, ROWS, false, false);
  twin bounds = twin_of(2 * s.n * sizeof(float));
  float *upper = bounds.far->data;
  size_t moved = 0;
  for (size_t i = 0; i < s.n; i++)
    for (size_t t = 0; t < s.d; t++) set_coordinate(&s, i, t, (double)(100 * (i % 4)) + uniform());
  for (size_t j = 0; j < s.k * s.d; j++) s.centre[j] = round_to(GB_F32, 100 * (double)(j / s.d));
  set_drift(&s, s.centre, &f);
  send(&s.points), memset(bounds.near, 0xff, bounds.bytes), send(&bounds);
  const gb_centres c = centres(&s, 0, s.k);
  for (int turn = 0; turn < 3; turn++) {
    good(ops(1)->assign_bounded(gpu, &s.x[1], &c, &f.d, quanta, at(&s.label, 1),
                                (gb_bounds){upper, upper + s.n}, at(&s.sums, 1), &moved, at(&s.scratch, 1),
                                &error));
    assert_int_equal(moved, s.n);
    for (size_t i = 0; i < s.n; i++) ((int32_t *)s.label.near)[i] = (int32_t)(i % 4);
    check_twin("labels that are told", &s.label);
    for (size_t j = 0; j < s.k; j++) f.move[j] = 0.5f;
    for (size_t i = 0; i < s.n; i++)
      for (size_t t = 0; t < s.d; t++) set_coordinate(&s, i, t, NAN);
    send(&s.points);
  }
  twin_free(&bounds);
  unmake(&s);
}

/* More labels than the GPU's room has counts for. */
static void test_many_labels (void **state) {
  const size_t labels = 2 * gb_cuda_of(gpu)->room_bytes / sizeof(int64_t) + 5;
  int64_t *tally[2] = {calloc(labels, sizeof(int64_t)), calloc(labels, sizeof(int64_t))};
  (void)state;
  scene s = make(4000, 1, 1, GB_F64, ROWS, true, false);
  for (size_t i = 0; i < s.n; i++)
    ((int32_t *)s.label.near)[i] = (int32_t)(i < 100 ? labels - 1 - i : draw(labels));
  send(&s.label);
  for (int side = 0; side < 2; side++)
    good(ops(side)->tally(device(side), &s.x[side], at(&s.label, side), 0x1p20, labels, tally[side], &error));
  assert_memory_equal(tally[0], tally[1], labels * sizeof *tally[0]);
  unmake(&s);
  free(tally[0]), free(tally[1]);
}

/* Of equally near centres the first one, in all lanes and tiles. */
static void test_ties (void **state) {
  (void)state;
  for (size_t d = 2; d <= 18; d += 16)
    for (size_t k = 1; k <= 300; k += 23) {
      scene s = make(300, d, k, d == 2 ? GB_F32 : GB_F64, ROWS, false, false);
      for (size_t j = 0; j < k; j++)
        for (size_t t = 0; t < d; t++) s.centre[j * d + t] = j >= k / 2 ? 0.5 : 1e6 + (double)j;
      check_assign(&s);
      for (size_t i = 0; i < s.n; i++) assert_int_equal(((int32_t *)s.label.near)[i], k / 2);
      for (size_t j = 0; j < k * d; j++) s.centre[j] = d == 2 ? INFINITY : NAN; /* none is near */
      check_assign(&s);
      unmake(&s);
    }
}

/* -- what cannot be used */

static void test_bad (void **state) {
  static const double odd[] = {NAN, INFINITY, -INFINITY};
  (void)state;
  for (int t = 0; t < 4; t++)
    for (int turn = 0; turn < 40; turn++) {
      const size_t n = turn % 2 ? 2500 : 70, d = 1 + draw(40);
      const bool unit = turn % 5 > 2;
      scene s = make(n, d, 2, types[t], (enum layout)(turn % LAYOUTS), turn % 3 != 0, unit);
      for (int i = 0; i < 1 + turn % 3; i++)
        if (unit && draw(3) == 0) {
          const size_t row = draw(n);
          for (size_t c = 0; c < d; c++) set_coordinate(&s, row, c, 0);
        } else if (draw(4) == 0) ((double *)s.weight.near)[draw(n)] = draw(2) ? -1 : odd[draw(3)];
        else set_coordinate(&s, draw(n), draw(d), odd[draw(3)]);
      send(&s.points), send(&s.weight);
      gb_cuda_of(gpu)->panel = turn % 7 == 0 ? 16 : 0;
      check_range(&s);
      unmake(&s);
    }
  gb_cuda_of(gpu)->panel = 0;
}

/* -- fits */

enum { MOST = 60, PIECES = 5 };

typedef struct fit {
  double centre[20 * 40], history[MOST];
  int32_t label[3000];
  gb_kmeans_result r;
} fit;

typedef struct problem {
  size_t n, d;
  gb_dtype dtype;
  const double *x, *weight;
  bool unit;
  gb_kmeans_options o;
} problem;

/* The device's copy of host bytes. */
static void put_on (gb_device *dev, const void *from, size_t bytes, gb_block *b) {
  good(gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, bytes, "", "", b, &error));
  if (gb_memory_is_host(&dev->memory)) memcpy(b->data, from, bytes);
  else good(gb_memory_upload(&dev->memory, b->data, from, bytes, &error));
}

static void solve (const problem *q, size_t npieces, gb_device *const *device_of, fit *out) {
  gb_kmeans_piece piece[PIECES];
  gb_block x[PIECES], w[PIECES], l[PIECES];
  int32_t *label[PIECES];
  size_t first[PIECES + 1];
  const size_t size = gb_dtype_size(q->dtype);
  char *all = malloc(q->n * q->d * size);
  for (size_t i = 0; i < q->n * q->d; i++) gb_element_set(all, i, q->dtype, q->x[i]);
  for (size_t i = 0; i <= npieces; i++)
    first[i] = i == npieces ? q->n : i == 0 ? 0 : 1 + (q->n - 1) * (i - 1) * i / (npieces * npieces);
  for (size_t i = 0; i < npieces; i++) {
    gb_device *dev = device_of[i];
    const size_t n = first[i + 1] - first[i];
    put_on(dev, all + first[i] * q->d * size, n * q->d * size, &x[i]);
    if (q->weight != NULL) put_on(dev, q->weight + first[i], n * sizeof(double), &w[i]);
    put_on(dev, out->label, n * sizeof(int32_t), &l[i]); /* whatever */
    piece[i] = (gb_kmeans_piece){.device = dev,
                                 .x = {.at = x[i].data,
                                       .dtype = q->dtype,
                                       .row = (ptrdiff_t)q->d,
                                       .column = 1,
                                       .n = n,
                                       .d = q->d,
                                       .unit = q->unit}};
    if (q->weight != NULL) piece[i].x.weight = w[i].data, piece[i].weight = q->weight + first[i];
    label[i] = l[i].data;
  }
  out->r = (gb_kmeans_result){.centre = out->centre, .history = out->history, .label = label};
  const gb_kmeans_bytes b = gb_kmeans_bytes_of(&q->o, npieces, piece);
  const size_t used = device_of[0]->ledger.used;
  good(gb_kmeans_fit(&q->o, npieces, piece, &out->r, &error));
  assert_int_equal(device_of[0]->ledger.used, used);
  if (device_of[0] != gpu_home()) assert_int_equal(device_of[0]->ledger.peak, used + b.device);
  for (size_t i = 0; i < npieces; i++) {
    gb_device *dev = device_of[i];
    if (gb_memory_is_host(&dev->memory))
      memcpy(out->label + first[i], label[i], piece[i].x.n * sizeof(int32_t));
    else
      good(gb_memory_download(&dev->memory, out->label + first[i], label[i], piece[i].x.n * sizeof(int32_t),
                              &error));
    gb_ledger_free(&dev->ledger, &x[i]);
    if (q->weight != NULL) gb_ledger_free(&dev->ledger, &w[i]);
    gb_ledger_free(&dev->ledger, &l[i]);
  }
  free(all);
}

static void assert_same_fit (const problem *q, const fit *a, const fit *b) {
  assert_int_equal(a->r.iterations, b->r.iterations);
  assert_memory_equal(a->centre, b->centre, q->o.k * q->d * sizeof(double));
  assert_memory_equal(a->label, b->label, q->n * sizeof(int32_t));
  assert_memory_equal(&a->r.inertia, &b->r.inertia, sizeof(double));
  assert_memory_equal(&a->r.change, &b->r.change, sizeof(double));
  assert_memory_equal(a->history, b->history, a->r.iterations * sizeof(double));
  assert_true(a->r.converged == b->r.converged && a->r.empty == b->r.empty);
}

static void compare_fits (const problem *q) {
  static fit fits[4];
  gb_device *one, *cpu[] = {gpu_home()};
  memset(fits, 0, sizeof fits);
  solve(q, 1, cpu, &fits[0]);
  for (int turn = 1; turn < 4; turn++) {
    gb_device *zero;
    assert_int_equal(gpu_open(0, (size_t)1 << 28, &zero, &error), GB_OK);
    if (gpu_open(1, (size_t)1 << 28, &one, &error) != GB_OK) one = zero; /* a machine with one GPU */
    zero->home = one->home = gpu_home();                                 /* as the registry does */
    gb_device *const whole[] = {zero}, *const two[] = {zero, one, zero},
                     *const mixed[] = {one, zero, gpu_home(), zero, one};
    const long before = emu_calls("cudaMalloc");
    solve(q, turn == 1 ? 1 : turn == 2 ? 3 : 5, turn == 1 ? whole : turn == 2 ? two : mixed, &fits[turn]);
    assert_int_equal(emu_calls("cudaMalloc"), before);
    assert_same_fit(q, &fits[0], &fits[turn]);
    gb_device_free(zero);
    if (one != zero) gb_device_free(one);
  }
}

static void test_fits (void **state) {
  static double x[3000 * 40], weight[3000];
  int fitted = 0;
  (void)state;
  for (int dim = 0; dim < 3; dim++)
    for (int start = 0; start < 4; start++)
      for (int t = 0; t < TYPES; t++) {
        const size_t d = dim == 0 ? 2 : dim == 1 ? 7 : 40, n = dim == 0 ? 2500 : 1200, k = 20;
        for (size_t i = 0; i < n; i++) {
          weight[i] = i % 5 == 0 ? 0 : uniform();
          for (size_t c = 0; c < d; c++)
            x[i * d + c] = rint(40 * gb_rand_normal(5, 1, (i % 9) * d + c) + 30 * uniform());
          if (x[i * d] == 0) x[i * d] = 1; /* every row has a direction */
        }
        problem q = {n,
                     d,
                     types[t],
                     x,
                     (start + t) % 2 ? weight : NULL,
                     (dim + start + t / 2) % 2,
                     {.k = k, .max_iter = MOST, .tol = 1e-4, .seed = 3}};
        q.o.start = (gb_kmeans_start)start, q.o.given = x, q.o.bounded = (dim + t) % 2;
        compare_fits(&q), fitted++;
      }
  /* Far centres are empty, and 30 points are 15 distinct ones. */
  for (size_t i = 0; i < 60; i++) x[i] = i < 30 ? (double)i : x[i - 30];
  double far[20];
  for (int i = 0; i < 20; i++) far[i] = i < 4 ? i : 1000 + 50 * i;
  problem q = {60,
               1,
               GB_F32,
               x,
               NULL,
               false,
               {.k = 20, .start = GB_KMEANS_GIVEN, .given = far, .max_iter = MOST, .tol = 0}};
  compare_fits(&q), fitted++;
  q.n = 30, q.d = 2, q.o.k = 20, q.o.start = GB_KMEANS_PLUS_PLUS;
  for (size_t i = 0; i < 60; i++) x[i] = (double)(i / 2 % 15);
  compare_fits(&q), fitted++;
  q.o.start = GB_KMEANS_PARALLEL, q.o.bounded = true;
  compare_fits(&q), fitted++;
  print_message("%d problems: fits on the CPU, one GPU, two GPUs, and all of them\n", fitted);
}

/* -- interrupts: between launches */

static int asked;
static bool at_third (void) { return ++asked == 3; }

static void test_interrupts (void **state) {
  bool (*before)(void) = gpu_home()->interrupted;
  (void)state;
  gb_cuda_of(gpu)->panel = 16;
  gpu_home()->interrupted = at_third;
  scene s = make(5000, 3, 2, GB_F32, ROWS, false, false);
  const gb_centres c = centres(&s, 0, 2);
  size_t moved = 0;
  int64_t total[GB_CLUSTER_SEEDS], block[8];
  gb_two_sums sum;
  asked = 0;
  assert_int_equal(ops(1)->assign(gpu, &s.x[1], &c, quanta, at(&s.label, 1), at(&s.sums, 1), &moved,
                                  at(&s.scratch, 1), &error),
                   GB_EINTR);
  asked = 0;
  assert_int_equal(
      ops(1)->closer(gpu, &s.x[1], &c, 1, true, at(&s.near, 1), block, at(&s.scratch, 1), &error), GB_EINTR);
  asked = 0;
  assert_int_equal(ops(1)->potentials(gpu, &s.x[1], &c, 1, at(&s.near, 1), total, at(&s.scratch, 1), &error),
                   GB_EINTR);
  asked = 0;
  assert_int_equal(ops(1)->nearer(gpu, &s.x[1], &c, 1, 0, true, at(&s.near, 1), at(&s.label, 1), block,
                                  at(&s.scratch, 1), &error),
                   GB_EINTR);
  asked = 0;
  static drift f;
  twin bounds = twin_of(2 * s.n * sizeof(float));
  set_drift(&s, s.centre, &f);
  send(&bounds);
  assert_int_equal(ops(1)->assign_bounded(gpu, &s.x[1], &c, &f.d, quanta, at(&s.label, 1),
                                          (gb_bounds){bounds.far->data, (float *)bounds.far->data + s.n},
                                          at(&s.sums, 1), &moved, at(&s.scratch, 1), &error),
                   GB_EINTR);
  twin_free(&bounds);
  asked = 0;
  const gb_stream stream = {1, 2, 0};
  assert_int_equal(ops(1)->lots(gpu, &s.x[1], 1, at(&s.near, 1), &stream, 1, take, &(drawn){0}, &error),
                   GB_EINTR);
  asked = 0;
  assert_int_equal(ops(1)->tally(gpu, &s.x[1], at(&s.label, 1), 1, 2, total, &error), GB_EINTR);
  asked = 0;
  send(&s.label), memset(s.label.near, 0, s.label.bytes), send(&s.label);
  assert_int_equal(ops(1)->spread(gpu, &s.x[1], &c, at(&s.label, 1), 1, &sum, at(&s.scratch, 1), &error),
                   GB_EINTR);
  gpu_home()->interrupted = before;
  gb_cuda_of(gpu)->panel = 0;
  unmake(&s);
}

static int open_gpu (void **state) {
  (void)state;
  return gpu_open_group(&gpu);
}
static int close_gpu (void **state) {
  (void)state;
  return gpu_close_group(gpu);
}

/* "grid": the shapes alone. */
int main (int argc, char **argv) {
  const struct CMUnitTest grid[] = {cmocka_unit_test(test_grid)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),       cmocka_unit_test(test_ties),       cmocka_unit_test(test_bad),
      cmocka_unit_test(test_fits),        cmocka_unit_test(test_interrupts), cmocka_unit_test(test_told),
      cmocka_unit_test(test_many_labels),
  };
  if (argc > 1 && strcmp(argv[1], "grid") == 0) return cmocka_run_group_tests(grid, open_gpu, close_gpu);
  return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
