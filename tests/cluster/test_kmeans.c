/* test_kmeans.c - fits against published cases and a plain Lloyd iteration in f64; the same bits for any number of threads, pieces
** and instruction sets; memory as predicted; errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpu/isa/isa.h"
#include "support/kmeans_fit.h"

static const gb_kmeans_start drawn[] = {GB_KMEANS_PLUS_PLUS, GB_KMEANS_RANDOM, GB_KMEANS_PARALLEL};

/* -- published cases */

static void four_weighted_points (void **state) {
  (void)state;
  static const double x[] = {0, 0, 0.5, 0, 0.5, 1, 1, 1}, weight[] = {3, 1, 1, 3}, start[] = {0, 0, 1, 1};
  static const gb_dtype types[] = {GB_F64, GB_F32, GB_F16, GB_BF16};
  for (size_t t = 0; t < 4; t++) {
    fit *f = new_fit(4, 2, x, 2);
    f->dtype = types[t], f->weight = weight;
    f->o.start = GB_KMEANS_GIVEN, f->o.given = start;
    run(f);
    assert_int_equal(f->st, GB_OK);
    static const int32_t labels[] = {0, 0, 1, 1};
    assert_memory_equal(f->label, labels, sizeof labels);
    near(f->r.inertia, 0.375, 1e-6);
    near(f->centre[0], 0.125, 1e-7);
    near(f->centre[1], 0, 1e-7);
    near(f->centre[2], 0.875, 1e-7);
    near(f->centre[3], 1, 1e-7);
    assert_int_equal(f->r.iterations, 2);
    assert_true(f->r.converged);
    free_fit(f);
  }
}

/* One iteration: two clusters without points take the farthest ones. */
static void empty_clusters_take_the_farthest_points (void **state) {
  (void)state;
  static const double x[] = {-10, -9.5, -9, -8.5, -8, -1, 1, 9, 9.5, 10}, start[] = {-1, 100, -200};
  fit *f = new_fit(10, 1, x, 3);
  f->o.start = GB_KMEANS_GIVEN, f->o.given = start, f->o.max_iter = 1;
  run(f);
  assert_int_equal(f->st, GB_OK);
  near(f->centre[0] * 8, -36, 1e-9);
  near(f->centre[1], 10, 1e-12);
  near(f->centre[2], 9.5, 1e-12);
  assert_int_equal(f->r.empty, 0);
  free_fit(f);
}

static void fewer_distinct_points_than_clusters_leave_some_empty (void **state) {
  (void)state;
  double x[40];
  for (int i = 0; i < 20; i++) x[2 * i] = i % 5, x[2 * i + 1] = 1;
  for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
    fit *f = new_fit(20, 2, x, 10);
    f->o.start = drawn[i];
    run(f);
    assert_int_equal(f->st, GB_OK);
    assert_true(f->r.inertia == 0);
    assert_int_equal(f->r.empty, 5);
    free_fit(f);
  }
}

/* -- a plain iteration */

typedef struct plain {
  int32_t *label;
  double *centre, inertia;
  size_t iterations;
} plain;

static plain lloyd (const fit *f, const double *start) {
  const size_t n = f->n, d = f->d, k = f->o.k;
  plain p = {.label = malloc(n * sizeof(int32_t)), .centre = malloc(k * d * sizeof(double))};
  double *sum = malloc(k * (d + 1) * sizeof *sum);
  memcpy(p.centre, start, k * d * sizeof *start);
  for (size_t i = 0; i < n; i++) p.label[i] = -1;
  for (size_t moved = 1; moved > 0; p.iterations++) {
    moved = 0, p.inertia = 0;
    memset(sum, 0, k * (d + 1) * sizeof *sum);
    for (size_t i = 0; i < n; i++) {
      double best = INFINITY;
      int32_t at = 0;
      for (size_t j = 0; j < k; j++) {
        double s = 0;
        for (size_t t = 0; t < d; t++) s += pow(f->x[i * d + t] - p.centre[j * d + t], 2);
        if (s < best) best = s, at = (int32_t)j;
      }
      const double w = f->weight == NULL ? 1 : f->weight[i];
      moved += p.label[i] != at;
      p.label[i] = at;
      p.inertia += w * best;
      for (size_t t = 0; t < d; t++) sum[(size_t)at * (d + 1) + t] += w * f->x[i * d + t];
      sum[(size_t)at * (d + 1) + d] += w;
    }
    for (size_t j = 0; j < k; j++)
      for (size_t t = 0; t < d && sum[j * (d + 1) + d] > 0; t++)
        p.centre[j * d + t] = sum[j * (d + 1) + t] / sum[j * (d + 1) + d];
  }
  free(sum);
  return p;
}

static void check_plain (size_t n, size_t d, size_t k, gb_dtype t, double offset, bool weighted,
                         bool columns) {
  double *x = blobs(n, d, k, 1, offset), *weight = malloc(n * sizeof *weight),
         *start = malloc(k * d * sizeof *start);
  for (size_t i = 0; i < n; i++) weight[i] = 0.25 + (double)(i % 7);
  memcpy(start, x, k * d * sizeof *start);
  fit *f = new_fit(n, d, x, k);
  f->dtype = t, f->threads = 2, f->npieces = 3, f->columns = columns;
  f->weight = weighted ? weight : NULL;
  f->o.start = GB_KMEANS_GIVEN, f->o.given = start, f->o.tol = 0;
  run(f);
  assert_int_equal(f->st, GB_OK);
  const plain p = lloyd(f, start);
  assert_memory_equal(f->label, p.label, n * sizeof *p.label);
  assert_int_equal(f->r.iterations, p.iterations);
  near(f->r.inertia / p.inertia, 1, t == GB_F64 ? 1e-12 : 1e-6);
  for (size_t i = 0; i < k * d; i++)
    near(f->centre[i], p.centre[i], (t == GB_F64 ? 1e-11 : 1e-6) * (1 + fabs(offset)));
  near(f->history[f->r.iterations - 1] / p.inertia, 1, t == GB_F64 ? 1e-10 : 1e-5);
  for (size_t i = 1; i < f->r.iterations; i++) assert_true(f->history[i] <= f->history[i - 1] * (1 + 1e-6));
  free(p.label);
  free(p.centre);
  free(x);
  free(weight);
  free(start);
  free_fit(f);
}

static void fits_are_those_of_a_plain_iteration (void **state) {
  (void)state;
  static const size_t shape[][3] = {{300, 1, 3},    {1000, 2, 5},  {2500, 3, 8},
                                    {1500, 17, 12}, {700, 64, 33}, {2500, 9, 1001}};
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    for (int how = 0; how < 4; how++) {
      const bool weighted = how & 1, columns = how & 2;
      check_plain(shape[i][0], shape[i][1], shape[i][2], GB_F64, 0, weighted, columns);
      check_plain(shape[i][0], shape[i][1], shape[i][2], GB_F32, 0, weighted, columns);
    }
  check_plain(2000, 16, 8, GB_F64, 1e4, false, false); /* far off the origin */
  check_plain(2000, 16, 8, GB_F32, 1e4, false, false);
}

/* -- bits */

static uint64_t bits (const double *x, const double *weight, gb_dtype t, gb_kmeans_start start,
                      size_t threads, size_t pieces) {
  fit *f = new_fit(20000, 8, x, 7);
  f->dtype = t, f->weight = weight, f->threads = threads, f->npieces = pieces;
  f->o.start = start, f->o.given = x;
  run(f);
  assert_int_equal(f->st, GB_OK);
  const uint64_t h = bits_of(f);
  free_fit(f);
  return h;
}

static void bits_depend_on_no_thread_and_no_piece (void **state) {
  (void)state;
  double *x = blobs(20000, 8, 9, 3, 1), *weight = malloc(20000 * sizeof *weight);
  for (size_t i = 0; i < 20000; i++) weight[i] = gb_rand_uniform(3, 0, i);
  static const size_t threads[] = {1, 2, 4}, pieces[] = {1, 2, 3, 8};
  for (int t = 0; t < 2; t++)
    for (int start = 0; start < 4; start++)
      for (int w = 0; w < 2; w++) {
        const gb_dtype type = t == 0 ? GB_F32 : GB_F64;
        const uint64_t want = bits(x, w == 0 ? NULL : weight, type, (gb_kmeans_start)start, 1, 1);
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 4; b++)
            assert_true(want ==
                        bits(x, w == 0 ? NULL : weight, type, (gb_kmeans_start)start, threads[a], pieces[b]));
      }
  free(x);
  free(weight);
}

static void bits_are_those_of_all_fused_instruction_sets (void **state) {
  (void)state;
  double *x = blobs(20000, 8, 9, 3, 1);
  gb_error err;
  const gb_isa *active = gb_isa_active;
  for (int t = 0; t < 2; t++) {
    uint64_t want = 0;
    static const char *const names[] = {"avx2", "avx512"};
    for (int i = 0; i < 2; i++) {
      if (setenv("GIBBOUS_ISA", names[i], 1) != 0 || gb_isa_select(names[i], &err) != GB_OK) continue;
      const uint64_t got = bits(x, NULL, t == 0 ? GB_F32 : GB_F64, GB_KMEANS_PLUS_PLUS, 2, 1);
      if (want != 0) assert_true(got == want);
      want = got;
    }
  }
  unsetenv("GIBBOUS_ISA");
  gb_isa_active = active;
  free(x);
}

/* -- starts */

static void seeding_finds_blobs_that_are_apart (void **state) {
  (void)state;
  double *x = blobs(3000, 5, 10, 0.05, 0);
  static const gb_kmeans_start starts[] = {GB_KMEANS_PLUS_PLUS, GB_KMEANS_PARALLEL};
  for (size_t s = 0; s < 2; s++) {
    fit *f = new_fit(3000, 5, x, 10);
    f->o.start = starts[s];
    run(f);
    assert_int_equal(f->st, GB_OK);
    for (size_t i = 10; i < 3000; i++) assert_int_equal(f->label[i], f->label[i % 10]);
    near(f->r.inertia / (3000 * 5 * 0.05 * 0.05), 1, 0.05);
    free_fit(f);
  }
  free(x);
}

/* Points of weight 0 start nothing, and a point of weight w is w points. */
static void weights_are_repetitions (void **state) {
  (void)state;
  double *x = blobs(400, 3, 4, 1, 0), *many = malloc(400 * 4 * 3 * sizeof *many), weight[400];
  size_t n = 0;
  for (size_t i = 0; i < 400; i++) {
    weight[i] = (double)(i % 5);
    for (size_t c = 0; c < i % 5; c++, n++) memcpy(many + n * 3, x + i * 3, 3 * sizeof *x);
  }
  fit *a = new_fit(400, 3, x, 4), *b = new_fit(n, 3, many, 4);
  a->weight = weight;
  a->o.start = b->o.start = GB_KMEANS_GIVEN;
  a->o.given = b->o.given = x;
  run(a);
  run(b);
  assert_int_equal(a->st, GB_OK);
  assert_int_equal(b->st, GB_OK);
  near(a->r.inertia / b->r.inertia, 1, 1e-12);
  for (int i = 0; i < 12; i++) near(a->centre[i], b->centre[i], 1e-9);
  free_fit(a);
  free_fit(b);
  for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
    double only[400] = {0};
    only[17] = only[100] = only[333] = only[5] = 1e-8;
    fit *f = new_fit(400, 3, x, 4);
    f->weight = only, f->o.start = drawn[i], f->o.max_iter = 1;
    run(f);
    assert_int_equal(f->st, GB_OK);
    near(f->r.inertia, 0, 1e-20);
    free_fit(f);
  }
  free(x);
  free(many);
}

/* 2^24 and more of one point: no sum stops there. */
static void counts_do_not_saturate (void **state) {
  (void)state;
  static const double x[] = {0.9, 0, 0.5, 0.25}, weight[] = {4e7, 1, 1, 1}, start[] = {0.9, 0};
  fit *f = new_fit(4, 1, x, 2);
  f->dtype = GB_F32, f->weight = weight;
  f->o.start = GB_KMEANS_GIVEN, f->o.given = start;
  run(f);
  assert_int_equal(f->st, GB_OK);
  near(f->centre[0], (double)0.9f, 1e-7);
  near(f->centre[1], 0.25, 1e-7);
  free_fit(f);
}

/* -- memory */

static void memory_is_what_was_predicted (void **state) {
  (void)state;
  double *x = blobs(5000, 6, 4, 1, 0);
  for (int start = 0; start < 4; start++)
    for (size_t pieces = 1; pieces <= 8; pieces *= 2)
      for (size_t threads = 1; threads <= 4; threads *= 2) {
        fit *f = new_fit(5000, 6, x, 9);
        f->o.start = (gb_kmeans_start)start, f->o.given = x, f->npieces = pieces, f->threads = threads;
        f->dtype = pieces > 2 ? GB_F32 : GB_F64;
        run(f);
        assert_int_equal(f->st, GB_OK);
        assert_int_equal(f->predicted, f->measured);
        free_fit(f);
      }
  free(x);
}

/* -- points that come and go */

typedef struct tiles {
  const fit *f;
  char *value; /* of the tile that is open */
  size_t opened, fail_at;
} tiles;

static gb_status open_tile (void *ud, size_t number, const void **at, gb_error *err) {
  tiles *t = ud;
  const fit *f = t->f;
  assert_null(t->value); /* one at a time */
  if (++t->opened == t->fail_at) return gb_fail(err, GB_EINTR, "tile");
  const size_t first = first_of(f, number), end = first_of(f, number + 1);
  t->value = malloc((end - first) * f->d * gb_dtype_size(f->dtype));
  for (size_t i = 0; i < (end - first) * f->d; i++)
    gb_element_set(t->value, i, f->dtype, f->x[first * f->d + i]);
  *at = t->value;
  return GB_OK;
}

static void close_tile (void *ud, size_t number) {
  tiles *t = ud;
  (void)number;
  assert_non_null(t->value);
  free(t->value);
  t->value = NULL;
}

/* The fit of f's points with one tile of them at a time. */
static void run_tiles (fit *f, tiles *t) {
  gb_device *dev;
  assert_int_equal(gb_device_cpu_new(2, (size_t)1 << 30, &dev, &f->err), GB_OK);
  const gb_kmeans_source source = {.open = open_tile, .close = close_tile, .ud = t};
  gb_kmeans_piece piece[MOST_PIECES];
  int32_t *label[MOST_PIECES];
  f->label = malloc(f->n * sizeof *f->label);
  for (size_t i = 0; i < f->npieces; i++) {
    const size_t first = first_of(f, i), n = first_of(f, i + 1) - first;
    piece[i] = (gb_kmeans_piece){.device = dev, .source = &source, .number = i};
    piece[i].x = (gb_points){.dtype = f->dtype, .row = (ptrdiff_t)f->d, .column = 1, .n = n, .d = f->d};
    label[i] = f->label + first;
  }
  f->r = (gb_kmeans_result){.centre = f->centre, .history = f->history, .label = label};
  f->st = gb_kmeans_fit(&f->o, f->npieces, piece, &f->r, &f->err);
  assert_null(t->value);
  assert_int_equal(dev->ledger.used, 0);
  gb_device_free(dev);
}

static void tiles_give_the_bits_of_points_that_stay (void **state) {
  (void)state;
  double *x = blobs(20000, 8, 9, 3, 1);
  for (int start = 0; start < 4; start++)
    for (size_t fail_at = 0; fail_at < 40; fail_at += 13) {
      fit *f = new_fit(20000, 8, x, 7);
      f->o.start = (gb_kmeans_start)start, f->o.given = x, f->npieces = 5, f->dtype = GB_F32;
      tiles t = {.f = f, .fail_at = fail_at};
      run_tiles(f, &t);
      assert_int_equal(f->st, fail_at > 0 ? GB_EINTR : GB_OK);
      if (fail_at == 0) assert_true(bits_of(f) == bits(x, NULL, GB_F32, (gb_kmeans_start)start, 2, 1));
      free_fit(f);
    }
  free(x);
}

/* -- centres that are known */

/* Labels, inertia and sums of n points by the first k of them, in pieces, and by a plain loop. */
static void apply (size_t n, size_t d, size_t k, gb_dtype type, size_t npieces, int threads, bool weighted) {
  double *x = blobs(n, d, k, 1, 10), *weight = malloc(n * sizeof *weight), shift[8], inertia, want = 0;
  int32_t *label = malloc(n * sizeof *label);
  double *sum = malloc(k * (d + 1) * sizeof *sum), *by_hand = calloc(k * (d + 1), sizeof *by_hand);
  fit f = {.n = n, .d = d, .npieces = npieces, .dtype = type, .x = x, .weight = weighted ? weight : NULL};
  void *at = malloc(n * d * gb_dtype_size(type));
  gb_kmeans_piece piece[MOST_PIECES];
  gb_device *dev;
  assert_int_equal(gb_device_cpu_new(threads, (size_t)1 << 30, &dev, &f.err), GB_OK);
  for (size_t i = 0; i < n; i++) weight[i] = 0.5 + (double)(i % 7);
  for (size_t i = 0; i < n * d; i++) gb_element_set(at, i, type, x[i]);
  for (size_t t = 0; t < d; t++) shift[t] = 9 + (double)t;
  for (size_t i = 0; i < npieces; i++) {
    const size_t first = first_of(&f, i);
    piece[i] = (gb_kmeans_piece){.device = dev, .x = points_of(&f, at, first, first_of(&f, i + 1) - first)};
  }
  const gb_kmeans_model m = {.k = k, .shift = shift, .centre = x};
  const gb_kmeans_use use = {.label = label, .inertia = &inertia, .sum = sum};
  assert_int_equal(gb_kmeans_apply(&m, npieces, piece, &use, &f.err), GB_OK);
  assert_int_equal(dev->ledger.peak, gb_kmeans_use_bytes(&m, true, npieces, piece));
  assert_int_equal(dev->ledger.used, 0);
  for (size_t i = 0; i < n; i++) {
    const double w = weighted ? weight[i] : 1;
    double best = INFINITY;
    size_t to = 0;
    for (size_t j = 0; j < k; j++) {
      double s = 0;
      for (size_t t = 0; t < d; t++) s += pow(x[i * d + t] - x[j * d + t], 2);
      if (s < best) best = s, to = j;
    }
    assert_int_equal(label[i], to + 1);
    want += w * best;
    for (size_t t = 0; t < d; t++) by_hand[to * (d + 1) + t] += w * (x[i * d + t] - shift[t]);
    by_hand[to * (d + 1) + d] += w;
  }
  near(inertia / want, 1, type == GB_F64 ? 1e-12 : 1e-6);
  for (size_t i = 0; i < k * (d + 1); i++)
    near(sum[i], by_hand[i], (type == GB_F64 ? 1e-9 : 1e-2) * (1 + fabs(by_hand[i])));
  gb_device_free(dev);
  free(x), free(weight), free(label), free(sum), free(by_hand), free(at);
}

static void known_centres_label_and_sum_points (void **state) {
  (void)state;
  for (size_t npieces = 1; npieces <= 8; npieces *= 8)
    for (int threads = 1; threads <= 2; threads++) {
      apply(150000, 3, 4, GB_F64, npieces, threads, true); /* more than are assigned at once */
      apply(3000, 8, 17, GB_F64, npieces, threads, false);
      apply(70000, 2, 5, GB_F32, npieces, threads, true);
    }
}

/* -- errors */

static void expect (fit *f, gb_status st, const char *text) {
  run(f);
  assert_int_equal(f->st, st);
  if (strstr(f->err.text, text) == NULL) fail_msg("'%s' not in '%s'", text, f->err.text);
  free_fit(f);
}

static void bad_input_is_named (void **state) {
  (void)state;
  double *x = blobs(3000, 4, 3, 1, 0), weight[3000], start[12] = {0};
  for (int i = 0; i < 3000; i++) weight[i] = 0;
  expect(new_fit(2, 4, x, 3), GB_ESHAPE, "2 points cannot be 3 clusters");
  expect(new_fit(10, 4, x, 0), GB_EOPTION, "k must be in 1..16777216, got 0");
  fit *f = new_fit(3000, 4, x, 3);
  f->weight = weight;
  expect(f, GB_EOPTION, "all weights are 0");
  weight[1234] = -1;
  f = new_fit(3000, 4, x, 3);
  f->weight = weight, f->threads = 2, f->npieces = 3;
  expect(f, GB_ENAN, "the weight of point 1235");
  start[7] = NAN;
  f = new_fit(3000, 4, x, 3);
  f->o.start = GB_KMEANS_GIVEN, f->o.given = start;
  expect(f, GB_EOPTION, "the start has a value that is not finite in row 2, column 4");
  x[2500 * 4 + 2] = NAN;
  x[2600 * 4 + 1] = INFINITY;
  for (size_t pieces = 1; pieces <= 8; pieces *= 2) {
    f = new_fit(3000, 4, x, 3);
    f->npieces = pieces, f->threads = 2;
    expect(f, GB_ENAN, "row 2501 is not finite in column 3");
  }
  free(x);
}

static void a_device_without_passes_is_named (void **state) {
  (void)state;
  gb_device *dev;
  gb_error err;
  double x[4] = {1, 2, 3, 4}, centre[2], history[1];
  int32_t label[4], *labels[] = {label};
  assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &dev, &err), GB_OK);
  const gb_device_ops *ops = dev->ops;
  gb_device_ops without = *ops;
  without.cluster = NULL;
  dev->ops = &without;
  const gb_kmeans_piece piece = {.device = dev,
                                 .x = {.at = x, .dtype = GB_F64, .row = 1, .column = 1, .n = 4, .d = 1}};
  const gb_kmeans_options o = {.k = 2, .max_iter = 1};
  gb_kmeans_result r = {.centre = centre, .history = history, .label = labels};
  assert_int_equal(gb_kmeans_fit(&o, 1, &piece, &r, &err), GB_EOPTION);
  assert_string_equal(err.text, "k-means: device cpu has no passes over points");
  dev->ops = ops;
  gb_device_free(dev);
}

static void one_point_and_one_cluster (void **state) {
  (void)state;
  static const double x[] = {3, 4};
  for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
    fit *f = new_fit(1, 2, x, 1);
    f->o.start = drawn[i];
    run(f);
    assert_int_equal(f->st, GB_OK);
    assert_true(f->centre[0] == 3 && f->centre[1] == 4 && f->r.inertia == 0 && f->label[0] == 0);
    free_fit(f);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(four_weighted_points),
      cmocka_unit_test(empty_clusters_take_the_farthest_points),
      cmocka_unit_test(fewer_distinct_points_than_clusters_leave_some_empty),
      cmocka_unit_test(fits_are_those_of_a_plain_iteration),
      cmocka_unit_test(bits_depend_on_no_thread_and_no_piece),
      cmocka_unit_test(bits_are_those_of_all_fused_instruction_sets),
      cmocka_unit_test(seeding_finds_blobs_that_are_apart),
      cmocka_unit_test(weights_are_repetitions),
      cmocka_unit_test(counts_do_not_saturate),
      cmocka_unit_test(memory_is_what_was_predicted),
      cmocka_unit_test(tiles_give_the_bits_of_points_that_stay),
      cmocka_unit_test(known_centres_label_and_sum_points),
      cmocka_unit_test(bad_input_is_named),
      cmocka_unit_test(a_device_without_passes_is_named),
      cmocka_unit_test(one_point_and_one_cluster),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
