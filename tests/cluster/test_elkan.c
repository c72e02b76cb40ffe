/* test_elkan.c - fits by bounds have the bits of Lloyd's: for ties, duplicates, empty clusters, any scale, type and instruction set. */
#include "cpu/isa/isa.h"
#include "support/kmeans_fit.h"

typedef struct problem {
  size_t n, d, k;
  double *x;
} problem;

static uint64_t fit_bits (const problem *p, gb_kmeans_options o, gb_dtype t, const double *weight,
                          size_t threads, size_t npieces, bool bounded) {
  fit *f = new_fit(p->n, p->d, p->x, p->k);
  o.k = p->k, o.seed = 7, o.bounded = bounded;
  f->o = o, f->dtype = t, f->weight = weight, f->threads = threads, f->npieces = npieces;
  f->columns = npieces == 2;
  run(f);
  if (f->st != GB_OK) fail_msg("%s", f->err.text);
  assert_int_equal(f->predicted, f->measured);
  const uint64_t bits = bits_of(f);
  free_fit(f);
  return bits;
}

static void check (const problem *p, gb_kmeans_options o) {
  double *weight = malloc(p->n * sizeof *weight);
  for (size_t i = 0; i < p->n; i++) weight[i] = (double)(i % 4) + 0.5;
  for (int t = 0; t < 2; t++)
    for (int w = 0; w < 2; w++) {
      const gb_dtype type = t == 0 ? GB_F32 : GB_F64;
      const double *by = w == 0 ? NULL : weight;
      const uint64_t want = fit_bits(p, o, type, by, 1, 1, false);
      for (size_t threads = 1; threads <= 2; threads++)
        if (fit_bits(p, o, type, by, threads, threads + (size_t)w, true) != want)
          fail_msg("n %zu d %zu k %zu: other bits", p->n, p->d, p->k);
    }
  free(weight);
}

static void each_isa (void (*test)(void)) {
  static const char *const names[] = {"portable", "avx2", "avx512"};
  const gb_isa *active = gb_isa_active;
  gb_error err;
  for (int i = 0; i < 3; i++)
    if (setenv("GIBBOUS_ISA", names[i], 1) == 0 && gb_isa_select(names[i], &err) == GB_OK) test();
  unsetenv("GIBBOUS_ISA");
  gb_isa_active = active;
}

static const size_t shapes[][3] = {{700, 1, 2},    {900, 2, 1},    {3000, 2, 40}, {2500, 3, 9},
                                   {1500, 17, 12}, {700, 64, 130}, {6000, 3, 700}};

static void blobs_of_every_shape (void) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    problem p = {shapes[i][0], shapes[i][1], shapes[i][2], NULL};
    for (int start = 0; start < 3; start++) {
      p.x = blobs(p.n, p.d, p.k, 3, start);
      check(&p, (gb_kmeans_options){.start = (gb_kmeans_start)start, .given = p.x, .max_iter = 30, .tol = 0});
      free(p.x);
    }
  }
}

static void bits_are_those_of_lloyd (void **state) {
  (void)state;
  each_isa(blobs_of_every_shape);
}

/* Whole numbers: each point is equally near to many centres, and many points are the same. */
static void whole_numbers (void) {
  for (size_t d = 1; d <= 3; d++) {
    const problem p = {4000, d, 60, malloc(4000 * d * sizeof(double))};
    for (size_t i = 0; i < p.n * d; i++) p.x[i] = floor(9 * gb_rand_uniform(3, d, i));
    for (size_t most = 1; most < 30; most += 7)
      check(&p, (gb_kmeans_options){.start = GB_KMEANS_RANDOM, .max_iter = most, .tol = 0});
    free(p.x);
  }
}

static void the_first_of_equally_near_centres_stays (void **state) {
  (void)state;
  each_isa(whole_numbers);
}

/* Given centres no point is near to: their clusters take points, of whose bounds nothing holds any more. */
static void empty_clusters_take_points (void **state) {
  (void)state;
  enum { K = 700, FULL = 500 };
  problem p = {3000, 2, K, blobs(3000, 2, 20, 2, 0)};
  double start[2 * K];
  for (size_t j = 0; j < K; j++)
    for (size_t t = 0; t < 2; t++) start[j * 2 + t] = j < FULL ? p.x[j * 2 + t] : 1000 + (double)j;
  check(&p, (gb_kmeans_options){.start = GB_KMEANS_GIVEN, .given = start, .max_iter = 30, .tol = 0});
  free(p.x);
}

/* Two clouds that are far apart: within each, what compares centres is mostly rounding. */
static void rounding_decides_as_it_does_in_lloyds (void **state) {
  (void)state;
  problem p = {4000, 5, 40, blobs(4000, 5, 1, 0.02, 0)};
  for (size_t i = 0; i < p.n * p.d; i++) p.x[i] = (double)(float)(p.x[i] + (i / p.d % 2 == 0 ? 100 : -100));
  check(&p, (gb_kmeans_options){.start = GB_KMEANS_GIVEN, .given = p.x, .max_iter = 20, .tol = 0});
  p.k = 600;
  check(&p, (gb_kmeans_options){.start = GB_KMEANS_GIVEN, .given = p.x, .max_iter = 20, .tol = 0});
  free(p.x);
}

/* Near the ends of what f32 can square; and points far off the origin. */
static void any_scale (void) {
  static const double scales[] = {1e-14, 1e-12, 1e12, 1e15, 1e16}, offsets[] = {1e2, 1e4, 1e6};
  for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
    problem p = {2000, 5, 24, blobs(2000, 5, 8, 1, 0)};
    for (size_t i = 0; i < p.n * p.d; i++) p.x[i] *= scales[s];
    check(&p, (gb_kmeans_options){.start = GB_KMEANS_GIVEN, .given = p.x, .max_iter = 20, .tol = 0});
    free(p.x);
  }
  for (size_t s = 0; s < sizeof offsets / sizeof *offsets; s++) {
    problem p = {2000, 5, 24, blobs(2000, 5, 8, 1, offsets[s])};
    check(&p, (gb_kmeans_options){.start = GB_KMEANS_PLUS_PLUS, .max_iter = 20, .tol = 0});
    free(p.x);
  }
}

static void scale_and_place_are_nothing (void **state) {
  (void)state;
  each_isa(any_scale);
}

/* A device that says what a fit does with bounds. */
static const gb_cluster_ops *real;
static size_t relabelled[4], times, seen;
static const int32_t *all_labels; /* of all points */

static gb_status relabel (gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, size_t row,
                          int32_t to, int32_t *label, int64_t *sums, void *scratch, gb_error *err) {
  relabelled[times++] = (size_t)(label - all_labels) + row;
  return real->relabel(dev, x, c, q, row, to, label, sums, scratch, err);
}

static gb_status assign_bounded (gb_device *dev, const gb_points *x, const gb_centres *c,
                                 const gb_drift *drift, gb_quanta q, int32_t *label, gb_bounds bounds,
                                 int64_t *sums, size_t *moved, void *scratch, gb_error *err) {
  for (size_t i = 0; i < x->n; i++) {
    bool was = times == 0;
    for (size_t r = 0; r < times; r++) was |= relabelled[r] == i;
    assert_true(isnan(bounds.lower[i]) == was); /* at first of all points, later of those alone */
    seen += was && times > 0;
  }
  all_labels = label;
  times = 0;
  return real->assign_bounded(dev, x, c, drift, q, label, bounds, sums, moved, scratch, err);
}

static void of_points_that_get_another_label_nothing_is_known (void **state) {
  (void)state;
  static const double x[] = {-10, -9.5, -9, -8.5, -8, -1, 1, 9, 9.5, 10}, start[] = {-1, 100, -200};
  gb_device *dev;
  gb_error err;
  double centre[3], history[1];
  int32_t label[10], *labels[] = {label};
  assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &dev, &err), GB_OK);
  const gb_device_ops *ops = dev->ops;
  gb_device_ops watched = *ops;
  gb_cluster_ops cluster = *ops->cluster;
  real = ops->cluster;
  cluster.relabel = relabel;
  cluster.assign_bounded = assign_bounded;
  watched.cluster = &cluster;
  dev->ops = &watched;
  const gb_kmeans_piece piece = {.device = dev,
                                 .x = {.at = x, .dtype = GB_F64, .row = 1, .column = 1, .n = 10, .d = 1}};
  const gb_kmeans_options o = {
      .k = 3, .max_iter = 1, .bounded = true, .start = GB_KMEANS_GIVEN, .given = start};
  gb_kmeans_result r = {.centre = centre, .history = history, .label = labels};
  assert_int_equal(gb_kmeans_fit(&o, 1, &piece, &r, &err), GB_OK);
  assert_int_equal(seen, 2);
  dev->ops = ops;
  gb_device_free(dev);
}

static void a_device_without_bounds_is_named (void **state) {
  (void)state;
  gb_device *dev;
  gb_error err;
  double x[4] = {1, 2, 3, 4}, centre[2], history[1];
  int32_t label[4], *labels[] = {label};
  assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &dev, &err), GB_OK);
  const gb_device_ops *ops = dev->ops;
  gb_device_ops without = *ops;
  gb_cluster_ops cluster = *ops->cluster;
  cluster.assign_bounded = NULL;
  without.cluster = &cluster;
  dev->ops = &without;
  const gb_kmeans_piece piece = {
      dev, {.at = x, .dtype = GB_F64, .row = 1, .column = 1, .n = 4, .d = 1}, NULL, NULL, 0, 0};
  const gb_kmeans_options o = {.k = 2, .max_iter = 1, .bounded = true};
  gb_kmeans_result r = {.centre = centre, .history = history, .label = labels};
  assert_int_equal(gb_kmeans_fit(&o, 1, &piece, &r, &err), GB_EOPTION);
  assert_string_equal(
      err.text,
      "k-means: device cpu keeps no bounds of distances: algorithm = 'lloyd' gives the same result");
  dev->ops = ops;
  gb_device_free(dev);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_are_those_of_lloyd),
      cmocka_unit_test(the_first_of_equally_near_centres_stays),
      cmocka_unit_test(empty_clusters_take_points),
      cmocka_unit_test(of_points_that_get_another_label_nothing_is_known),
      cmocka_unit_test(rounding_decides_as_it_does_in_lloyds),
      cmocka_unit_test(scale_and_place_are_nothing),
      cmocka_unit_test(a_device_without_bounds_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
