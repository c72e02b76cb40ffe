/* test_partial.c - partial Cholesky factors: pivots taken in blocks are those that one at a time would be,
** drawn or largest. */
#include <stdio.h>

#include "support/solve_fixture.h"

#include "solve/precond/partial.h"

/* The factor as defined: after each pivot all of the diagonal and all lots are brought up to date. pivot:
** room for 'most'. */
typedef struct plain {
  size_t n, rank, *pivot;
  double *lt, *left, trace_left;
} plain;

#define OWN UINT64_C(0x9e3779b97f4a7c15) /* as in partial.c: the lots are part of what is compared */

static plain plain_factor (const double *k, size_t n, gb_pivoting how, size_t most, double tol) {
  plain f = {n, 0, malloc(most * sizeof(size_t)), calloc(most * n + 2 * n, sizeof(double)), NULL, 1};
  double *left = f.left = f.lt + most * n, *lot = left + n, trace = 0;
  for (size_t i = 0; i < n; i++) {
    trace += left[i] = k[i * n + i];
    lot[i] = -log(gb_rand_uniform(how.seed ^ OWN, 0, i));
  }
  while (f.rank < most && f.trace_left > tol) {
    size_t best = n;
    double first = INFINITY;
    for (size_t i = 0; i < n; i++) {
      const double turn = !(left[i] > 0) ? INFINITY : how.drawn ? lot[i] / left[i] : -left[i];
      if (turn < first) first = turn, best = i;
    }
    if (best == n) break;
    const double root = sqrt(left[best]);
    double *row = f.lt + f.rank * n, sum = 0;
    for (size_t i = 0; i < n; i++) {
      row[i] = k[best * n + i];
      for (size_t m = 0; m < f.rank; m++) row[i] -= f.lt[m * n + best] * f.lt[m * n + i];
      row[i] = i == best ? root : left[i] == 0 ? 0 : row[i] / root;
      if (how.drawn) lot[i] = fmax(lot[i] - left[i] * first, 0);
      left[i] = i == best ? 0 : fmax(left[i] - row[i] * row[i], 0);
    }
    for (size_t i = 0; i < n; i++) sum += left[i];
    f.pivot[f.rank++] = best;
    f.trace_left = sum / trace;
  }
  return f;
}

static void plain_clear (plain *f) { free(f->pivot), free(f->lt); }

enum { MOST = 300 }; /* rows of a factor in these tests */

typedef struct blocks {
  size_t rank, pivot[MOST];
  double *lt, trace_left;
} blocks;

static gb_status factor (gb_node *k, gb_pivoting how, size_t most, double tol, blocks *f) {
  const size_t n = gb_node_shape(k)->dim[0];
  gb_work w;
  panel(&w, most, n, NULL);
  const gb_status st =
      gb_partial_cholesky(k, how, most, tol, w.at.entries, f->pivot, &f->rank, &f->trace_left, &err);
  f->lt = entries_of(w.at.entries, most * n);
  gb_work_free(&w);
  return st;
}

/* The place of a pivot: nothing is left of its own entry, so its column ends there. */
static void same_factor (gb_node *k, gb_pivoting how, size_t most, double tol) {
  double *dense = doubles(k);
  const size_t n = gb_node_shape(k)->dim[0];
  plain want = plain_factor(dense, n, how, most, tol);
  blocks got;
  ok(factor(k, how, most, tol, &got));
  assert_int_equal(got.rank, want.rank);
  for (size_t j = 0; j < got.rank; j++)
    for (size_t m = 0; m < got.rank; m++) /* of later rows nothing is left at a pivot */
      if (m > j) assert_true(got.lt[m * n + want.pivot[j]] == 0);
  for (size_t i = 0; i < got.rank * n; i++) CHECK_NEAR(got.lt[i], want.lt[i], 1e-9);
  CHECK_NEAR(got.trace_left, want.trace_left, 1e-12);
  size_t rank, pivot[MOST];
  double trace_left;
  ok(gb_partial_pivots(k, how, most, tol, pivot, &rank, &trace_left, &err));
  assert_int_equal(rank, want.rank);
  assert_true(trace_left == got.trace_left);
  for (size_t j = 0; j < rank; j++) {
    assert_int_equal(got.pivot[j], want.pivot[j]);
    assert_int_equal(pivot[j], want.pivot[j]);
  }
  free(dense), free(got.lt);
  plain_clear(&want);
}

static gb_node *points_kernel (size_t n, size_t d, gb_profile profile, double c) {
  double *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n * d; i++) x[i] = gb_rand_uniform(12, 0, i);
  gb_node *points = leaf(GB_F64, 0, 2, (size_t[]){n, d}, x), *s = BUILD(gb_sqdist, points, points, NULL);
  free(x);
  return BUILD(gb_radial, profile, s, scalar(GB_F64, 0, c), NULL);
}

static void blocks_take_the_pivots_of_one_at_a_time (void **state) {
  (void)state;
  const struct {
    size_t n, d, most;
    gb_profile profile;
    double c;
  } cases[] = {{1, 1, 1, GB_RBF, 1},     {7, 2, 7, GB_M12, 1},     {33, 2, 33, GB_M32, 2},
               {300, 2, 120, GB_M12, 3}, {300, 3, 200, GB_M32, 5}, {200, 1, 40, GB_M32, 0.5},
               {500, 4, 90, GB_RBF, 4},  {2100, 3, 60, GB_M52, 4}, {2900, 2, 40, GB_M12, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gb_node *k = points_kernel(cases[i].n, cases[i].d, cases[i].profile, cases[i].c);
    same_factor(k, (gb_pivoting){0}, cases[i].most, 0);
    for (uint64_t seed = 0; seed < 3; seed++) same_factor(k, (gb_pivoting){true, seed}, cases[i].most, 0);
  }
}

/* Within a block too. */
static void the_rank_is_the_least_that_leaves_so_little (void **state) {
  (void)state;
  gb_node *k = points_kernel(400, 2, GB_M32, 3);
  for (int drawn = 0; drawn < 2; drawn++)
    for (double tol = 0.5; tol > 1e-3; tol /= 3) same_factor(k, (gb_pivoting){drawn, 5}, MOST, tol);
}

static void rows_are_those_of_the_matrix_and_never_more_than_its_rank (void **state) {
  (void)state;
  const double points[] = {1, 2, 1, 4, 2, 1, 4, 2}, zero[9] = {0};
  gb_node *x = leaf(GB_F64, 0, 2, (size_t[]){8, 1}, points), *s = BUILD(gb_sqdist, x, x, NULL),
          *twins = BUILD(gb_radial, GB_RBF, s, scalar(GB_F64, 0, 1), NULL),
          *none = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, zero);
  for (int drawn = 0; drawn < 2; drawn++) {
    blocks f;
    ok(factor(twins, (gb_pivoting){drawn, 3}, 8, 1e-14, &f));
    assert_int_equal(f.rank, 3);
    free(f.lt);
    ok(factor(none, (gb_pivoting){drawn, 3}, 3, 0, &f));
    assert_true(f.rank == 0 && f.trace_left == 0);
    free(f.lt);
    ok(factor(twins, (gb_pivoting){drawn, 3}, 0, 0, &f));
    assert_true(f.rank == 0 && f.trace_left == 1);
    free(f.lt);
  }
}

/* Of three points, two are near each other. Whichever is first, the probability of the second is proportional
** to its remaining diagonal entry. */
static void draws_are_in_proportion_to_what_is_left (void **state) {
  (void)state;
  const double k[] = {1, 0.9, 0, 0.9, 1, 0, 0, 0, 2};
  gb_node *m = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, k);
  enum { SEEDS = 4000 };
  const double rest = 1 - 0.81, want[3][3] = {{0, 0.25 * rest / (rest + 2), 0.25 * 2 / (rest + 2)},
                                              {0.25 * rest / (rest + 2), 0, 0.25 * 2 / (rest + 2)},
                                              {0.25, 0.25, 0}};
  double seen[3][3] = {{0}};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    plain one = plain_factor(k, 3, (gb_pivoting){true, seed}, 2, 0);
    blocks f;
    ok(factor(m, (gb_pivoting){true, seed}, 2, 0, &f));
    for (size_t i = 0; i < 6; i++) CHECK_NEAR(f.lt[i], one.lt[i], 1e-14);
    seen[one.pivot[0]][one.pivot[1]] += 1.0 / SEEDS;
    free(f.lt);
    plain_clear(&one);
  }
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      CHECK_NEAR(seen[a][b], want[a][b], 4 * sqrt(want[a][b] * (1 - want[a][b]) / SEEDS));
}

static void an_entry_that_is_not_finite_is_told_with_its_row (void **state) {
  (void)state;
  enum { N = 90 };
  double *k = calloc(N * N, sizeof *k);
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < N; i++) k[i * N + i] = (double)(N - i); /* the largest first */
  for (int i = 0; i < 3; i++)
    for (size_t row = 2; row < N - 1; row += 41) {
      blocks f;
      k[row * N + N - 1] = bad[i];
      assert_int_equal(factor(leaf(GB_F64, 0, 2, (size_t[]){N, N}, k), (gb_pivoting){0}, N, 0, &f), GB_ENAN);
      char text[64];
      snprintf(text, sizeof text, "row %zu of", row + 1);
      assert_non_null(strstr(err.text, text));
      k[row * N + N - 1] = 0;
      free(f.lt);
    }
  free(k);
  assert_int_equal(dev->ledger.by_purpose[GB_MEM_WORKSPACE], 0);
}

static void pivots_are_of_square_matrices (void **state) {
  (void)state;
  const double k[6] = {0};
  size_t rank, pivot[3];
  double left;
  assert_int_equal(gb_partial_pivots(leaf(GB_F64, 0, 2, (size_t[]){2, 3}, k), (gb_pivoting){0}, 2, 0, pivot,
                                     &rank, &left, &err),
                   GB_ESHAPE);
  assert_int_equal(dev->ledger.by_purpose[GB_MEM_WORKSPACE], 0);
}

int main (void) {
  const struct CMUnitTest tests[] = {TEST(blocks_take_the_pivots_of_one_at_a_time),
                                     TEST(the_rank_is_the_least_that_leaves_so_little),
                                     TEST(rows_are_those_of_the_matrix_and_never_more_than_its_rank),
                                     TEST(draws_are_in_proportion_to_what_is_left),
                                     TEST(an_entry_that_is_not_finite_is_told_with_its_row),
                                     TEST(pivots_are_of_square_matrices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
