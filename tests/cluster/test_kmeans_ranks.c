/* test_kmeans_ranks.c - fits of points of several ranks: the bits of one rank that has them all, whoever has which; what is sent;
** memory as predicted; an error of one rank is that of all, and nobody waits for ever. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "cluster/kmeans.h"
#include "cpu/isa/isa.h"
#include "support/thread_ranks.h"

enum { MOST_ITER = 100, MOST_CENTRES = 512, PIECES = 3, WHOLE = 1 << 20 };

/* What one rank has, and what it got. */
typedef struct rank_fit {
  gb_device *dev;
  size_t first, n, d; /* d: as a rule that of the problem */
  gb_dtype dtype;
  gb_kmeans_options o;
  bool weighted;
  size_t fail_at, opened; /* the pass over a piece that fails, from 1; 0: none */
  /* results */
  gb_status st;
  gb_error err;
  gb_kmeans_result r;
  double centre[MOST_CENTRES], history[MOST_ITER];
  size_t predicted, measured;
  uint64_t messages, sent;
} rank_fit;

typedef struct problem {
  size_t n, d, ranks, most;
  const double *x, *weight;
  int32_t *label; /* (n) */
  bool minibatch;
  rank_fit rank[MOST_RANKS];
} problem;

static problem *new_problem (size_t n, size_t d, const double *x, size_t k, size_t ranks) {
  problem *p = calloc(1, sizeof *p);
  gb_error err;
  p->n = n, p->d = d, p->x = x, p->ranks = ranks, p->most = WHOLE;
  p->label = calloc(n + 1, sizeof *p->label);
  for (size_t i = 0; i < ranks; i++) {
    rank_fit *f = &p->rank[i];
    assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &f->dev, &err), GB_OK);
    f->first = n * i / ranks;
    f->n = n * (i + 1) / ranks - f->first;
    f->d = d;
    f->dtype = GB_F64;
    f->o = (gb_kmeans_options){.k = k, .max_iter = MOST_ITER, .tol = 1e-4, .seed = 7};
  }
  return p;
}

static void free_problem (problem *p) {
  for (size_t i = 0; i < p->ranks; i++) gb_device_free(p->rank[i].dev);
  free(p->label);
  free(p);
}

/* Rank i has share[i] points. */
static void divide (problem *p, const size_t *share) {
  size_t first = 0;
  for (size_t i = 0; i < p->ranks; first += share[i++]) p->rank[i].first = first, p->rank[i].n = share[i];
  assert_int_equal(first, p->n);
}

static void for_all (problem *p, gb_dtype dtype, gb_kmeans_start start, const double *given) {
  for (size_t i = 0; i < p->ranks; i++) {
    p->rank[i].dtype = dtype;
    p->rank[i].o.start = start;
    p->rank[i].o.bounded = p->ranks % 2 == 0;   /* which changes no bit */
    p->rank[i].o.given = i == 0 ? given : NULL; /* that of rank 0 is every rank's */
    p->rank[i].weighted = p->weight != NULL;
  }
}

/* -- one rank's fit, whose points come and go by pieces */

typedef struct rows {
  const problem *p;
  rank_fit *f;
  char *value;
} rows;

static size_t cut (const rank_fit *f, size_t piece) { return f->n * piece / PIECES; }

static gb_status open_piece (void *ud, size_t number, const void **at, gb_error *err) {
  rows *r = ud;
  const rank_fit *f = r->f;
  if (++r->f->opened == f->fail_at) return gb_fail(err, GB_EINTR, "piece %zu", number + 1);
  const size_t from = f->first + cut(f, number), n = cut(f, number + 1) - cut(f, number);
  for (size_t i = 0; i < n * f->d; i++)
    gb_element_set(r->value, i, f->dtype, r->p->x[(from + i / f->d) * r->p->d + i % f->d]);
  *at = r->value;
  return GB_OK;
}

static void close_piece (void *ud, size_t number) { (void)ud, (void)number; }

static void fit_rank (void *ud, gb_comm *c) {
  problem *p = ud;
  rank_fit *f = &p->rank[gb_comm_rank(c)];
  gb_kmeans_piece piece[PIECES];
  int32_t *label[PIECES];
  rows r = {.p = p, .f = f, .value = malloc((f->n / PIECES + 1) * f->d * sizeof(double))};
  const gb_kmeans_source source = {.open = open_piece, .close = close_piece, .ud = &r};
  for (size_t i = 0; i < PIECES; i++) {
    const size_t first = f->first + cut(f, i), n = cut(f, i + 1) - cut(f, i);
    piece[i] = (gb_kmeans_piece){.device = f->dev, .source = &source, .number = i};
    piece[i].x = (gb_points){.dtype = f->dtype, .row = (ptrdiff_t)f->d, .column = 1, .n = n, .d = f->d};
    if (f->weighted) piece[i].weight = piece[i].x.weight = p->weight + first;
    label[i] = p->label + first;
  }
  f->o.comm = c;
  f->r = (gb_kmeans_result){.centre = f->centre, .history = f->history, .label = label};
  const gb_kmeans_bytes b = gb_kmeans_bytes_of(&f->o, PIECES, piece);
  f->predicted = b.device + b.home;
  f->st = (p->minibatch ? gb_kmeans_minibatch : gb_kmeans_fit)(&f->o, PIECES, piece, &f->r, &f->err);
  f->measured = f->dev->ledger.peak;
  if (c != NULL) f->messages = c->messages, f->sent = c->sent;
  free(r.value);
}

static void run (problem *p) {
  thread_ranks_run(p->ranks, p->most, fit_rank, p);
  for (size_t i = 0; i < p->ranks; i++) assert_int_equal(p->rank[i].dev->ledger.used, 0);
}

/* -- bits */

static uint64_t mixed (uint64_t h, const void *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)at)[i]) * 1099511628211u;
  return h;
}

static uint64_t bits_of (const problem *p, size_t rank) {
  const rank_fit *f = &p->rank[rank];
  uint64_t h = mixed(1469598103934665603u, p->label, p->n * sizeof *p->label);
  h = mixed(h, f->centre, f->o.k * p->d * sizeof(double));
  h = mixed(h, f->history, f->r.iterations * sizeof(double));
  h = mixed(h, &f->r.inertia, sizeof f->r.inertia);
  h = mixed(h, &f->r.iterations, sizeof f->r.iterations);
  h = mixed(h, &f->r.empty, sizeof f->r.empty);
  h = mixed(h, &f->r.change, sizeof f->r.change);
  return h + f->r.converged;
}

/* The bits of the fit, which all ranks have; it is as predicted. */
static uint64_t bits (problem *p) {
  run(p);
  for (size_t i = 0; i < p->ranks; i++) {
    if (p->rank[i].st != GB_OK) fail_msg("rank %zu: %s", i, p->rank[i].err.text);
    assert_int_equal(p->rank[i].predicted, p->rank[i].measured);
    assert_true(bits_of(p, i) == bits_of(p, 0));
  }
  const uint64_t h = bits_of(p, 0);
  free_problem(p);
  return h;
}

/* The same without a communicator. */
static uint64_t bits_alone (problem *p) {
  fit_rank(p, NULL);
  assert_int_equal(p->rank[0].st, GB_OK);
  const uint64_t h = bits_of(p, 0);
  free_problem(p);
  return h;
}

static double *blobs (size_t n, size_t d, size_t k, double spread) {
  double *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n; i++)
    for (size_t t = 0; t < d; t++)
      x[i * d + t] = (double)(float)(10 + 4 * gb_rand_normal(5, 1, (i % k) * d + t) +
                                     spread * gb_rand_normal(5, 2, i * d + t));
  return x;
}

static double *some_weights (size_t n) {
  double *w = malloc(n * sizeof *w);
  for (size_t i = 0; i < n; i++) w[i] = gb_rand_uniform(3, 0, i) * (double)(i % 4);
  return w;
}

static void bits_depend_on_no_number_of_ranks (void **state) {
  (void)state;
  enum { N = 5000, D = 8, K = 7 };
  double *x = blobs(N, D, 9, 3), *weight = some_weights(N);
  static const size_t ranks[] = {1, 2, 3, 4, 8};
  for (int t = 0; t < 2; t++)
    for (int start = 0; start < 4; start++)
      for (int w = 0; w < 2; w++) {
        uint64_t want = 0;
        for (size_t i = 0; i <= sizeof ranks / sizeof *ranks; i++) {
          problem *p = new_problem(N, D, x, K, i == 0 ? 1 : ranks[i - 1]);
          p->weight = w == 0 ? NULL : weight;
          if (i == 5) p->most = 5; /* numbers or bytes of a message */
          for_all(p, t == 0 ? GB_F32 : GB_F64, (gb_kmeans_start)start, x);
          if (i == 0) want = bits_alone(p);
          else assert_true(bits(p) == want);
        }
      }
  free(x), free(weight);
}

/* Clusters that overlap, in uneven shares: 97 and 3 of 100; nothing at some ranks; everything at one. */
static void bits_depend_on_no_division (void **state) {
  (void)state;
  enum { N = 3000, D = 5, K = 6 };
  static const size_t share[][4] = {{2910, 90, 0, 0}, {90, 2910, 0, 0}, {0, 3000, 0, 0},   {0, 0, 0, 3000},
                                    {3000, 0, 0, 0},  {1, 0, 2998, 1},  {0, 1500, 1500, 0}};
  double *x = blobs(N, D, 20, 4);
  for (int start = 0; start < 4; start++) {
    problem *one = new_problem(N, D, x, K, 1);
    for_all(one, GB_F32, (gb_kmeans_start)start, x);
    const uint64_t want = bits_alone(one);
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
      problem *p = new_problem(N, D, x, K, i < 2 ? 2 : 4);
      divide(p, share[i]);
      for_all(p, GB_F32, (gb_kmeans_start)start, x);
      assert_true(bits(p) == want);
    }
  }
  free(x);
}

static void a_rank_may_have_fewer_points_than_clusters (void **state) {
  (void)state;
  enum { N = 40, D = 3, K = 20 };
  static const size_t few[] = {3, 37}, eight[] = {5, 5, 5, 5, 5, 5, 5, 5};
  double *x = blobs(N, D, 20, 1);
  for (int start = 0; start < 4; start++) {
    problem *one = new_problem(N, D, x, K, 1), *two = new_problem(N, D, x, K, 2),
            *all = new_problem(N, D, x, K, 8);
    for_all(one, GB_F64, (gb_kmeans_start)start, x);
    for_all(two, GB_F64, (gb_kmeans_start)start, x);
    for_all(all, GB_F64, (gb_kmeans_start)start, x);
    divide(two, few);
    divide(all, eight);
    const uint64_t want = bits_alone(one);
    assert_true(bits(two) == want);
    assert_true(bits(all) == want);
  }
  free(x);
}

/* Weights at the last rank alone: the others count 1 each. */
static void weights_of_one_rank (void **state) {
  (void)state;
  enum { N = 900, D = 4, K = 5 };
  double *x = blobs(N, D, 5, 2), *weight = some_weights(N);
  for (size_t i = 0; i < 600; i++) weight[i] = 1;
  for (int start = 0; start < 4; start++) {
    problem *one = new_problem(N, D, x, K, 1), *p = new_problem(N, D, x, K, 3);
    one->weight = p->weight = weight;
    for_all(one, GB_F64, (gb_kmeans_start)start, x);
    for_all(p, GB_F64, (gb_kmeans_start)start, x);
    p->rank[0].weighted = p->rank[1].weighted = false;
    const uint64_t want = bits_alone(one);
    assert_true(bits(p) == want);
  }
  free(x), free(weight);
}

/* Ranks change points: centres and inertia stay. */
static void centres_depend_on_no_order_of_ranks (void **state) {
  (void)state;
  enum { N = 1200, D = 4, K = 5 };
  double *x = blobs(N, D, 12, 2), *moved = malloc(N * D * sizeof *moved);
  for (size_t i = 0; i < N; i++) memcpy(moved + i * D, x + (i * 7 + 501) % N * D, D * sizeof *x);
  problem *a = new_problem(N, D, x, K, 3), *b = new_problem(N, D, moved, K, 4);
  for_all(a, GB_F32, GB_KMEANS_GIVEN, x);
  for_all(b, GB_F32, GB_KMEANS_GIVEN, x);
  run(a);
  run(b);
  assert_int_equal(a->rank[0].st, GB_OK);
  assert_int_equal(b->rank[0].st, GB_OK);
  assert_memory_equal(a->rank[0].centre, b->rank[0].centre, K * D * sizeof(double));
  assert_true(a->rank[0].r.inertia == b->rank[0].r.inertia);
  assert_int_equal(a->rank[0].r.iterations, b->rank[0].r.iterations);
  free_problem(a), free_problem(b);
  free(x), free(moved);
}

/* -- clusters without points */

static void empty_clusters_take_the_farthest_points_of_all_ranks (void **state) {
  (void)state;
  static const double x[] = {-10, -9.5, -9, -8.5, -8, -1, 1, 9, 9.5, 10}, start[] = {-1, 100, -200};
  static const size_t share[][4] = {{10, 0, 0, 0}, {5, 5, 0, 0}, {9, 0, 0, 1}, {0, 1, 8, 1}, {8, 1, 1, 0}};
  for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
    problem *p = new_problem(10, 1, x, 3, 4);
    divide(p, share[i]);
    for_all(p, GB_F64, GB_KMEANS_GIVEN, start);
    for (size_t r = 0; r < 4; r++) p->rank[r].o.max_iter = 1;
    run(p);
    for (size_t r = 0; r < 4; r++) {
      assert_int_equal(p->rank[r].st, GB_OK);
      assert_true(p->rank[r].centre[0] == -36.0 / 8 && p->rank[r].centre[1] == 10 &&
                  p->rank[r].centre[2] == 9.5);
      assert_int_equal(p->rank[r].r.empty, 0);
    }
    free_problem(p);
  }
}

static void fewer_distinct_points_than_clusters (void **state) {
  (void)state;
  double x[40];
  for (int i = 0; i < 20; i++) x[2 * i] = i % 5, x[2 * i + 1] = 1;
  for (int start = 0; start < 2; start++) {
    problem *one = new_problem(20, 2, x, 10, 1), *p = new_problem(20, 2, x, 10, 8);
    for_all(one, GB_F64, (gb_kmeans_start)start, NULL);
    for_all(p, GB_F64, (gb_kmeans_start)start, NULL);
    const uint64_t want = bits_alone(one);
    assert_true(bits(p) == want);
  }
}

/* -- what is sent */

/* Messages and bytes of so many iterations of a fit that goes on. */
static void count (const double *x, size_t k, size_t d, size_t share, size_t iterations, uint64_t *messages,
                   uint64_t *sent) {
  const size_t two[] = {share, 2000 - share};
  problem *p = new_problem(2000, d, x, k, 2);
  divide(p, two);
  for_all(p, GB_F32, GB_KMEANS_GIVEN, x);
  for (size_t i = 0; i < 2; i++) p->rank[i].o.max_iter = iterations, p->rank[i].o.tol = 0;
  run(p);
  assert_int_equal(p->rank[0].st, GB_OK);
  assert_int_equal(p->rank[0].r.iterations, iterations);
  *messages = p->rank[1].messages, *sent = p->rank[1].sent;
  free_problem(p);
}

/* The first 7 points of 2000 are the start: a rank that has none of some clusters' points fills nothing. */
static void an_iteration_has_one_message (void **state) {
  (void)state;
  enum { D = 6, K = 7 };
  double *x = blobs(2000, D, 20, 5);
  for (size_t share = 2; share <= 1000; share += 998) {
    uint64_t before, sent_before;
    count(x, K, D, share, 1, &before, &sent_before);
    for (size_t i = 2; i <= 6; i++) {
      uint64_t messages, sent;
      count(x, K, D, share, i, &messages, &sent);
      assert_int_equal(messages, before + i - 1);
      assert_int_equal(sent, sent_before + (i - 1) * (K * (D + 1) + 2) * sizeof(int64_t));
    }
  }
  free(x);
}

/* -- errors */

/* All ranks have that error, in the same words. */
static void expect (problem *p, gb_status st, const char *text) {
  run(p);
  for (size_t i = 0; i < p->ranks; i++) {
    assert_int_equal(p->rank[i].st, st);
    assert_string_equal(p->rank[i].err.text, p->rank[0].err.text);
  }
  if (strstr(p->rank[0].err.text, text) == NULL) fail_msg("'%s' not in '%s'", text, p->rank[0].err.text);
  free_problem(p);
}

static void bad_points_are_named_by_rank_and_row (void **state) {
  (void)state;
  double *x = blobs(900, 4, 3, 1), *weight = malloc(900 * sizeof *weight), start[12] = {0};
  for (int i = 0; i < 900; i++) weight[i] = 0;
  problem *p = new_problem(900, 4, x, 3, 3);
  p->weight = weight;
  for_all(p, GB_F64, GB_KMEANS_RANDOM, NULL);
  expect(p, GB_EOPTION, "all weights are 0");
  weight[650] = -1;
  p = new_problem(900, 4, x, 3, 3);
  p->weight = weight;
  for_all(p, GB_F64, GB_KMEANS_RANDOM, NULL);
  expect(p, GB_ENAN, "the weight of point 651 is negative or not finite (rank 2 of 3)");
  start[7] = NAN;
  p = new_problem(900, 4, x, 3, 3);
  for_all(p, GB_F64, GB_KMEANS_GIVEN, start);
  expect(p, GB_EOPTION, "the start has a value that is not finite in row 2, column 4");
  x[800 * 4 + 1] = INFINITY;
  x[500 * 4 + 2] = NAN;
  for (int t = 0; t < 2; t++) {
    p = new_problem(900, 4, x, 3, 3);
    for_all(p, t == 0 ? GB_F64 : GB_F32, GB_KMEANS_PLUS_PLUS, NULL);
    expect(p, GB_ENAN, "the point in row 501 is not finite in column 3 (rank 1 of 3)");
  }
  free(x), free(weight);
}

static void ranks_have_one_problem (void **state) {
  (void)state;
  double *x = blobs(100, 4, 3, 1);
  static const size_t none[] = {0, 0, 0, 0};
  problem *p = new_problem(5, 4, x, 6, 4);
  expect(p, GB_ESHAPE, "5 points cannot be 6 clusters");
  p = new_problem(0, 4, x, 1, 4);
  divide(p, none);
  expect(p, GB_ESHAPE, "0 points cannot be 1 clusters");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[2].d = 3;
  expect(p, GB_ESHAPE, "points of 3 columns, those of rank 0 have 4 (rank 2 of 4)");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[0].dtype = GB_F32, p->rank[3].dtype = GB_F16;
  expect(p, GB_EDTYPE, "points that are computed in f64, those of rank 0 in f32 (rank 1 of 4)");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[1].o.k = 4;
  expect(p, GB_EOPTION, "option 'k' differs from that of rank 0 (rank 1 of 4)");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[3].o.k = 0;
  expect(p, GB_EOPTION, "k must be in 1..16777216, got 0 (rank 3 of 4)");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[3].o.seed = 8;
  expect(p, GB_EOPTION, "option 'seed' differs");
  p = new_problem(100, 4, x, 3, 4);
  p->rank[2].o.tol = 0;
  expect(p, GB_EOPTION, "option 'tol' differs");
  p = new_problem(100, 4, x, 3, 4);
  p->minibatch = true;
  expect(p, GB_EOPTION, "mini-batches are of one rank");
  free(x);
}

/* An allocation, then a pass, fails at rank 1, wherever that is. */
static void a_failure_of_one_rank_is_that_of_all (void **state) {
  (void)state;
  enum { N = 300, D = 3, K = 9 };
  double *x = blobs(N, D, 3, 1);
  for (long at = 0; at < 2; at++) {
    problem *p = new_problem(N, D, x, K, 3);
    p->rank[1].dev->ledger.fail_after = at;
    expect(p, GB_ENOMEM, "(rank 1 of 3)");
  }
  for (int start = 0; start < 4; start++) {
    problem *whole = new_problem(N, D, x, K, 3);
    for_all(whole, GB_F64, (gb_kmeans_start)start, x);
    run(whole);
    assert_int_equal(whole->rank[1].st, GB_OK);
    const size_t passes = whole->rank[1].opened;
    free_problem(whole);
    assert_true(passes > 20);
    for (size_t at = 1; at <= passes; at++) {
      problem *p = new_problem(N, D, x, K, 3);
      for_all(p, GB_F64, (gb_kmeans_start)start, x);
      p->rank[1].fail_at = at;
      expect(p, GB_EINTR, "(rank 1 of 3)");
    }
  }
  free(x);
}

/* The same where clusters without points take others: rank 2 has the farthest. */
static void failures_while_clusters_are_filled (void **state) {
  (void)state;
  static const double x[] = {-10, -9.5, -9, -8.5, -8, -1, 1, 9, 9.5, 10}, start[] = {-1, 100, -200};
  for (size_t rank = 0; rank < 3; rank++) {
    problem *whole = new_problem(10, 1, x, 3, 3);
    for_all(whole, GB_F64, GB_KMEANS_GIVEN, start);
    run(whole);
    assert_int_equal(whole->rank[0].st, GB_OK);
    const size_t passes = whole->rank[rank].opened;
    free_problem(whole);
    for (size_t at = 1; at <= passes; at++) {
      problem *p = new_problem(10, 1, x, 3, 3);
      for_all(p, GB_F64, GB_KMEANS_GIVEN, start);
      p->rank[rank].fail_at = at;
      expect(p, GB_EINTR, " of 3)");
    }
  }
}

/* -- centres that are known */

typedef struct use_of {
  const double *x, *weight;
  size_t n, d, k, first[MOST_RANKS + 1];
  gb_device *dev[MOST_RANKS];
  gb_status st[MOST_RANKS];
  gb_error err[MOST_RANKS];
  double inertia[MOST_RANKS], sum[MOST_RANKS][MOST_CENTRES];
  size_t predicted[MOST_RANKS];
} use_of;

static void use_rank (void *ud, gb_comm *c) {
  use_of *u = ud;
  const size_t rank = gb_comm_rank(c), first = u->first[rank], n = u->first[rank + 1] - first;
  static const double shift[8] = {9, 10, 11};
  gb_kmeans_piece piece = {.device = u->dev[rank], .weight = u->weight + first};
  piece.x = (gb_points){.at = u->x + first * u->d,
                        .dtype = GB_F64,
                        .row = (ptrdiff_t)u->d,
                        .column = 1,
                        .n = n,
                        .d = u->d,
                        .weight = piece.weight};
  const gb_kmeans_model m = {.k = u->k, .shift = shift, .centre = u->x};
  const gb_kmeans_use use = {.inertia = &u->inertia[rank], .sum = u->sum[rank], .comm = c};
  u->st[rank] = gb_kmeans_apply(&m, 1, &piece, &use, &u->err[rank]);
  u->predicted[rank] = gb_kmeans_use_bytes(&m, true, 1, &piece);
}

static use_of *use (const double *x, const double *weight, size_t n, size_t ranks, const size_t *share) {
  use_of *u = calloc(1, sizeof *u);
  gb_error err;
  *u = (use_of){.x = x, .weight = weight, .n = n, .d = 3, .k = 5};
  for (size_t i = 0; i < ranks; i++) {
    u->first[i + 1] = u->first[i] + share[i];
    assert_int_equal(gb_device_cpu_new(1, (size_t)1 << 30, &u->dev[i], &err), GB_OK);
  }
  if (ranks == 1) use_rank(u, NULL);
  else thread_ranks_run(ranks, WHOLE, use_rank, u);
  for (size_t i = 0; i < ranks; i++) {
    assert_int_equal(u->dev[i]->ledger.used, 0);
    assert_int_equal(u->dev[i]->ledger.peak, u->predicted[i]);
    gb_device_free(u->dev[i]);
  }
  return u;
}

static void known_centres_sum_points_of_all_ranks (void **state) {
  (void)state;
  enum { N = 2000 };
  static const size_t one[] = {N}, four[] = {7, 0, 1900, 93};
  double *x = blobs(N, 3, 5, 1), *weight = some_weights(N);
  use_of *want = use(x, weight, N, 1, one), *got = use(x, weight, N, 4, four);
  assert_int_equal(want->st[0], GB_OK);
  assert_true(want->inertia[0] > 0);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(got->st[i], GB_OK);
    assert_true(got->inertia[i] == want->inertia[0]);
    assert_memory_equal(got->sum[i], want->sum[0], 5 * 4 * sizeof(double));
  }
  free(got);
  x[1950 * 3 + 1] = NAN;
  got = use(x, weight, N, 4, four);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(got->st[i], GB_ENAN);
    assert_string_equal(got->err[i].text,
                        "k-means: the point in row 1951 is not finite in column 2 (rank 3 of 4)");
  }
  free(want), free(got), free(x), free(weight);
}

/* -- ranks alone */

typedef struct place_of {
  int64_t before, total;
  gb_status st;
  gb_error err;
} place_of;

/* Rank i has i + 1, and all ranks but the first fail. */
static void place_rank (void *ud, gb_comm *c) {
  place_of *p = (place_of *)ud + c->rank;
  p->st = gb_comm_place(c, (int64_t)c->rank + 1, &p->before, &p->total, GB_OK, &p->err);
  if (p->st != GB_OK) return;
  const gb_status st = c->rank == 0 ? GB_OK
                                    : gb_fail(&p->err, GB_EIO, "%*s", (int)sizeof p->err.text, "long");
  p->st = gb_comm_agree(c, st, &p->err);
}

static void ranks_know_their_place_and_their_error (void **state) {
  (void)state;
  for (size_t ranks = 1; ranks <= MOST_RANKS; ranks++) {
    place_of place[MOST_RANKS];
    char end[64];
    thread_ranks_run(ranks, WHOLE, place_rank, place);
    snprintf(end, sizeof end, " (rank 1 of %zu)", ranks);
    for (size_t i = 0; i < ranks; i++) {
      const place_of *p = &place[i];
      assert_int_equal(p->before, i * (i + 1) / 2);
      assert_int_equal(p->total, ranks * (ranks + 1) / 2);
      assert_int_equal(p->st, ranks == 1 ? GB_OK : GB_EIO);
      if (ranks > 1) assert_string_equal(p->err.text + strlen(p->err.text) - strlen(end), end);
    }
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_depend_on_no_number_of_ranks),
      cmocka_unit_test(bits_depend_on_no_division),
      cmocka_unit_test(a_rank_may_have_fewer_points_than_clusters),
      cmocka_unit_test(weights_of_one_rank),
      cmocka_unit_test(centres_depend_on_no_order_of_ranks),
      cmocka_unit_test(empty_clusters_take_the_farthest_points_of_all_ranks),
      cmocka_unit_test(fewer_distinct_points_than_clusters),
      cmocka_unit_test(an_iteration_has_one_message),
      cmocka_unit_test(bad_points_are_named_by_rank_and_row),
      cmocka_unit_test(ranks_have_one_problem),
      cmocka_unit_test(a_failure_of_one_rank_is_that_of_all),
      cmocka_unit_test(failures_while_clusters_are_filled),
      cmocka_unit_test(known_centres_sum_points_of_all_ranks),
      cmocka_unit_test(ranks_know_their_place_and_their_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
