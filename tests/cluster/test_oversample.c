/* test_oversample.c - the passes of k-means|| against plain loops, and what it finds. */
#include "support/kmeans_fit.h"
#include "tensor/dtype.h"

enum { N = 2500, D = 3, K = 7 };

static double square_apart (const double *x, const double *c) {
  double s = 0;
  for (size_t t = 0; t < D; t++) s += (x[t] - c[t]) * (x[t] - c[t]);
  return s;
}

typedef struct seeds {
  gb_device *dev;
  double *x, weight[N], near[N], want[N], scale;
  int32_t label[N], number[N];
  int64_t block[N / GB_CLUSTER_BLOCK + 1];
  gb_points points;
  void *scratch;
} seeds;

/* Labels, distances and potentials with k more centres, and those by hand. */
static void come_nearer (seeds *s, const double *centre, size_t k, int32_t first) {
  static const double shift[D] = {0};
  gb_error err;
  const gb_centres c = {k, shift, centre};
  int64_t want[N / GB_CLUSTER_BLOCK + 1] = {0};
  assert_int_equal(s->dev->ops->cluster->nearer(s->dev, &s->points, &c, s->scale, first, first == 0, s->near,
                                                s->label, s->block, s->scratch, &err),
                   GB_OK);
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < k; j++) {
      const double apart = square_apart(s->x + i * D, centre + j * D);
      if ((j > 0 || first > 0) && apart >= s->want[i]) continue;
      s->want[i] = apart;
      s->number[i] = first + (int32_t)j;
    }
    assert_int_equal(s->label[i], s->number[i]);
    near(s->near[i], s->want[i], 1e-14 * (1 + s->want[i]));
    want[i / GB_CLUSTER_BLOCK] += llrint(s->weight[i] * s->near[i] * s->scale);
  }
  assert_memory_equal(s->block, want, sizeof want);
}

typedef struct drawn {
  size_t n;
  gb_far_point point[N];
} drawn;

static void take (void *ud, gb_far_point p) {
  drawn *d = ud;
  d->point[d->n++] = p;
}

static void check_lots (const seeds *s, double share) {
  gb_error err;
  static drawn d;
  size_t at = 0;
  const gb_stream stream = {11, 17, 1000};
  d.n = 0;
  assert_int_equal(
      s->dev->ops->cluster->lots(s->dev, &s->points, s->scale, s->near, &stream, share, take, &d, &err),
      GB_OK);
  for (size_t i = 0; i < N; i++) {
    const double q = (double)llrint(s->weight[i] * s->near[i] * s->scale);
    const double lot = gb_rand_uniform(11, 17, 1000 + i) / (share * q);
    if (!(q > 0 && lot < 1)) continue;
    assert_true(at < d.n && d.point[at].row == 1000 + i && d.point[at].apart == lot);
    at++;
  }
  assert_int_equal(at, d.n);
  assert_true(at > 10 && at < 90); /* about 40 */
}

static void passes_are_plain_loops (void **state) {
  (void)state;
  static seeds s;
  gb_error err;
  int64_t tally[K + 3] = {0}, want[K + 3] = {0}, total = 0;
  s.x = blobs(N, D, 5, 1, 0);
  s.scale = 0x1p40;
  assert_int_equal(gb_device_cpu_new(2, (size_t)1 << 30, &s.dev, &err), GB_OK);
  for (size_t i = 0; i < N; i++) s.weight[i] = (double)(i % 5) / 2;
  s.points =
      (gb_points){.at = s.x, .dtype = GB_F64, .row = D, .column = 1, .n = N, .d = D, .weight = s.weight};
  s.scratch = aligned_alloc(64, (s.dev->ops->cluster->scratch(s.dev, GB_F64, K, D) + 63) / 64 * 64);
  come_nearer(&s, s.x, K, 0);
  come_nearer(&s, s.x + 100 * D, 3, K);
  for (size_t b = 0; b <= N / GB_CLUSTER_BLOCK; b++) total += s.block[b];
  check_lots(&s, 40 / (double)total);
  assert_int_equal(s.dev->ops->cluster->tally(s.dev, &s.points, s.label, 2, K + 3, tally, &err), GB_OK);
  for (size_t i = 0; i < N; i++) want[s.label[i]] += (int64_t)(2 * s.weight[i]);
  assert_memory_equal(tally, want, sizeof want);
  free(s.scratch);
  gb_device_free(s.dev);
  free(s.x);
}

static double start_of (const double *x, const double *weight, gb_kmeans_start start, uint64_t seed) {
  fit *f = new_fit(4000, 4, x, 25);
  f->o.start = start, f->o.seed = seed, f->o.max_iter = 0, f->weight = weight;
  run(f);
  assert_int_equal(f->st, GB_OK);
  const double inertia = f->r.inertia;
  for (size_t j = 0; j < 25; j++) {
    bool is_point = false; /* up to the rounding of the shift */
    for (size_t i = 0; i < 4000 && !is_point; i++) {
      is_point = weight == NULL || weight[i] > 0;
      for (size_t t = 0; t < 4; t++) is_point &= fabs(f->centre[j * 4 + t] - x[i * 4 + t]) < 1e-12;
    }
    assert_true(is_point);
  }
  free_fit(f);
  return inertia;
}

/* Seeds are points of positive weight, and as good as those of k-means++. */
static void seeds_are_points_and_as_good_as_those_of_plus_plus (void **state) {
  (void)state;
  double *x = blobs(4000, 4, 25, 0.3, 0), *weight = malloc(4000 * sizeof *weight);
  for (size_t i = 0; i < 4000; i++) weight[i] = i % 3 == 0 ? 0 : 1 + (double)(i % 5);
  for (int w = 0; w < 2; w++) {
    const double *by = w == 0 ? NULL : weight;
    double parallel = 0, plus_plus = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
      parallel += start_of(x, by, GB_KMEANS_PARALLEL, seed);
      plus_plus += start_of(x, by, GB_KMEANS_PLUS_PLUS, seed);
    }
    assert_true(parallel < 1.1 * plus_plus);
    assert_true(start_of(x, by, GB_KMEANS_PARALLEL, 1) != start_of(x, by, GB_KMEANS_PARALLEL, 2));
  }
  free(x);
  free(weight);
}

/* One point has nearly all the potential: fewer distinct ones are drawn than there are clusters, and k-means++ adds the others. */
static void too_few_candidates_are_added_to (void **state) {
  (void)state;
  double x[64];
  for (size_t i = 0; i < 64; i++) x[i] = (double)(i % 8) * pow(10, (double)(i % 8));
  for (uint64_t seed = 1; seed <= 10; seed++) {
    fit *f = new_fit(64, 1, x, 8);
    f->o.start = GB_KMEANS_PARALLEL, f->o.seed = seed, f->npieces = 3;
    run(f);
    assert_int_equal(f->st, GB_OK);
    assert_int_equal(f->predicted, f->measured);
    assert_int_equal(f->r.empty, 0);
    near(f->r.inertia, 0, 1e-6);
    free_fit(f);
  }
}

static void a_device_without_the_passes_is_named (void **state) {
  (void)state;
  gb_device *dev;
  gb_error err;
  double x[4] = {1, 2, 3, 4}, centre[2], history[1];
  int32_t label[4], *labels[] = {label};
  assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &dev, &err), GB_OK);
  const gb_device_ops *ops = dev->ops;
  gb_device_ops without = *ops;
  gb_cluster_ops cluster = *ops->cluster;
  cluster.nearer = NULL;
  cluster.unit_rows = false;
  without.cluster = &cluster;
  dev->ops = &without;
  gb_kmeans_piece piece = {.device = dev,
                           .x = {.at = x, .dtype = GB_F64, .row = 1, .column = 1, .n = 4, .d = 1}};
  gb_kmeans_options o = {.k = 2, .max_iter = 1, .start = GB_KMEANS_PARALLEL};
  gb_kmeans_result r = {.centre = centre, .history = history, .label = labels};
  assert_int_equal(gb_kmeans_fit(&o, 1, &piece, &r, &err), GB_EOPTION);
  assert_string_equal(err.text,
                      "k-means: device cpu draws no many seeds at once: init = 'k-means++' takes its place");
  piece.x.unit = true;
  o.start = GB_KMEANS_RANDOM;
  assert_int_equal(gb_kmeans_fit(&o, 1, &piece, &r, &err), GB_EOPTION);
  assert_non_null(strstr(err.text, "device cpu does not divide rows by their lengths"));
  const gb_kmeans_model m = {.k = 1, .shift = x, .centre = x};
  const gb_kmeans_use use = {.inertia = x};
  assert_int_equal(gb_kmeans_apply(&m, 1, &piece, &use, &err), GB_EOPTION);
  dev->ops = ops;
  gb_device_free(dev);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_are_plain_loops),
      cmocka_unit_test(seeds_are_points_and_as_good_as_those_of_plus_plus),
      cmocka_unit_test(too_few_candidates_are_added_to),
      cmocka_unit_test(a_device_without_the_passes_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
