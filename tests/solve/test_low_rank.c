/* test_low_rank.c - low-rank preconditioners by draws and by pivots, and condition estimates, against dense
** elimination in doubles. */
#include "iterate/rows.h"
#include "plan/plan.h"
#include "solve/alternating_projections.h"
#include "solve/logdet/logdet.h"
#include "solve/minres.h"
#include "solve/precond/condition.h"
#include "solve/sdd.h"
#include "support/solve_fixture.h"

/* P^-1 of the unit matrix, inverted: P itself. */
static void a_low_rank_preconditioner_inverts_itself (void **state) {
  (void)state;
  const size_t n = 70, ranks[] = {1, 10, 70, 200};
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30));
  for (int i = 0; i < 4; i++)
    for (int kind = 0; kind < 2; kind++) {
      gb_precond p;
      ok(kind == 0 ? gb_precond_nystrom(&p, k, gb_noise_level(0.1), ranks[i], 0, 3, &err)
                   : gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.1), ranks[i], 0, &err));
      double *unit = calloc(2 * n * n, sizeof *unit), *inverse = unit + n * n, *l = calloc(n * n, sizeof *l),
             *lt = entries_of(p.form.lt, p.form.rank * n);
      for (size_t j = 0; j < n; j++) unit[j * n + j] = l[j * n + j] = 0.1;
      apply_precond(&p, n, n, unit, inverse); /* 0.1 P^-1 */
      for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
          l[a * n + b] = a == b ? 0.1 : 0;
          for (size_t m = 0; m < p.form.rank; m++) l[a * n + b] += lt[m * n + a] * lt[m * n + b];
        }
      for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
          double sum = 0;
          for (size_t j = 0; j < n; j++) sum += l[a * n + j] * inverse[j * n + b];
          CHECK_NEAR(sum, a == b ? 0.1 : 0, 1e-10);
        }
      memset(unit, 0, n * n * sizeof *unit);
      CHECK_NEAR(p.logdet, eliminate(l, unit, n, 1), 1e-8);
      free(unit), free(l), free(lt);
      gb_precond_clear(&p);
    }
  assert_int_equal(dev->ledger.by_purpose[GB_MEM_WORKSPACE], 0);
}

static void a_preconditioned_column_is_alone (void **state) {
  (void)state;
  const size_t n = 600, r = 45;
  gb_precond p;
  ok(gb_precond_nystrom(&p, kernel(GB_F64, n, scalar(GB_F64, 0, 30)), gb_noise_level(0.1), 33, 0, 3, &err));
  double *in = malloc(2 * n * r * sizeof *in), *out = in + n * r, one[600], alone[600];
  for (size_t i = 0; i < n * r; i++) in[i] = gb_rand_normal(8, 0, i);
  apply_precond(&p, n, r, in, out);
  for (size_t c = 0; c < 8; c++) { /* in the first panel: the place in a panel goes with the column */
    double panel[8 * 600];
    for (size_t i = 0; i < n; i++) one[i] = in[i * r + c];
    for (size_t i = 0; i < n; i++)
      for (size_t q = 0; q <= c; q++) panel[i * (c + 1) + q] = in[i * r + q];
    double *some = malloc(n * (c + 1) * sizeof *some);
    apply_precond(&p, n, c + 1, panel, some);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(some[i * (c + 1) + c], out[i * r + c], 0);
    apply_precond(&p, n, 1, one, alone);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(alone[i], out[i * r + c], 0);
    free(some);
  }
  free(in);
  gb_precond_clear(&p);
}

/* The share of the trace that 'rank' points leave. */
static double trace_left (gb_node *k, bool drawn, size_t rank, uint64_t seed) {
  gb_precond p;
  const gb_noise noise = gb_noise_level(1e-3);
  ok(drawn ? gb_precond_nystrom(&p, k, noise, rank, 0, seed, &err)
           : gb_precond_pivoted_cholesky(&p, k, noise, rank, 0, &err));
  const double left = p.trace_left;
  gb_precond_clear(&p);
  return left;
}

/* Points that lie together are worth more than as many outliers, which the largest diagonal entries left
** belong to. */
static void nystrom_is_not_led_astray_by_outliers (void **state) {
  (void)state;
  const size_t n = 300, outliers = 30;
  double *points = malloc(n * sizeof *points), drawn = 0;
  for (size_t i = 0; i < n; i++)
    points[i] = i < outliers ? 100.0 * (double)(i + 1) : gb_rand_uniform(4, 0, i);
  gb_node *x = leaf(GB_F64, 0, 2, (size_t[]){n, 1}, points), *s = BUILD(gb_sqdist, x, x, NULL),
          *k = BUILD(gb_radial, GB_RBF, s, scalar(GB_F64, 0, 30), NULL);
  for (uint64_t seed = 0; seed < 5; seed++) drawn += trace_left(k, true, 20, seed) / 5;
  const double greedy = trace_left(k, false, 20, 0);
  assert_true(greedy > 0.5 && drawn < greedy / 4);
  free(points);
}

/* Draws follow the diagonal: of two points apart, the one of diagonal 3 comes first in 3 of 4 seeds; and a
** rank is a prefix. */
static void nystrom_draws_in_proportion (void **state) {
  (void)state;
  const double diagonal[] = {1, 0, 0, 3};
  gb_node *k = leaf(GB_F64, 0, 2, (size_t[]){2, 2}, diagonal);
  int second = 0;
  for (uint64_t seed = 0; seed < 400; seed++) second += fabs(trace_left(k, true, 1, seed) - 0.25) < 1e-12;
  assert_true(second > 270 && second < 330); /* 300, 3.5 standard errors of 8.7 */
  gb_precond few, many;
  gb_node *wide = kernel(GB_F64, 120, scalar(GB_F64, 0, 10));
  ok(gb_precond_nystrom(&few, wide, gb_noise_level(1e-3), 10, 0, 3, &err));
  ok(gb_precond_nystrom(&many, wide, gb_noise_level(1e-3), 40, 0, 3, &err));
  double *first = entries_of(few.form.lt, 10 * 120), *all = entries_of(many.form.lt, 10 * 120);
  assert_memory_equal(first, all, 10 * 120 * sizeof *first);
  free(first), free(all);
  assert_true(few.form.rank == 10 && many.form.rank == 40 && many.trace_left < few.trace_left &&
              many.trace_left < 1e-3);
  gb_precond_clear(&few);
  gb_precond_clear(&many);
}

static void low_rank_refuses_what_is_no_kernel_matrix (void **state) {
  (void)state;
  const double negative[] = {-1, 2, 2, 1}, broken[] = {1, NAN, NAN, 1}, zero[4] = {0};
  for (int drawn = 0; drawn < 2; drawn++) {
    gb_precond p;
    gb_node *given[] = {leaf(GB_F64, 0, 2, (size_t[]){2, 2}, negative),
                        leaf(GB_F64, 0, 2, (size_t[]){2, 2}, broken),
                        leaf(GB_F64, 0, 2, (size_t[]){2, 2}, zero)};
    const gb_status want[] = {GB_ENOTPD, GB_ENAN, GB_OK};
    for (int i = 0; i < 3; i++) {
      const gb_status st = drawn ? gb_precond_nystrom(&p, given[i], gb_noise_level(0.5), 2, 0, 0, &err)
                                 : gb_precond_pivoted_cholesky(&p, given[i], gb_noise_level(0.5), 2, 0, &err);
      assert_int_equal(st, want[i]);
    }
    const double in[] = {1, 3};
    double out[2];
    apply_precond(&p, 2, 1, in, out);
    assert_true(p.form.rank == 0 && out[0] == 2 && out[1] == 6);
    CHECK_NEAR(p.logdet, 2 * log(0.5), 1e-15);
    gb_precond_clear(&p);
    assert_int_equal(gb_precond_nystrom(&p, given[2], gb_noise_level(0), 2, 0, 0, &err), GB_EOPTION);
  }
}

/* Draws of points and probes of one seed are different numbers. */
static void probes_do_not_know_the_draws (void **state) {
  (void)state;
  const size_t n = 100;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.05);
  double *dense = doubles(a), *none = calloc(n, sizeof *none), sum = 0;
  const double want = eliminate(dense, none, n, 1);
  double variance = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    gb_precond p;
    ok(gb_precond_nystrom(&p, k, gb_noise_level(0.05), 25, 0, seed, &err));
    const gb_logdet_options o = {
        .solve = {.tol = 1e-10, .max_iter = 200, .precond = &p}, .probes = 16, .seed = seed};
    gb_logdet_info info;
    ok(gb_logdet_slq(a, &o, &info, &err));
    sum += info.value - want;
    variance += info.standard_error * info.standard_error;
    gb_precond_clear(&p);
  }
  assert_true(fabs(sum) <= 3 * sqrt(variance));
  free(dense), free(none);
}

static void the_condition_is_estimated_within_a_factor_of_three (void **state) {
  (void)state;
  for (int t = 0; t < 2; t++)
    for (double noise = 1; noise > (t == 0 ? 1e-9 : 1e-3); noise /= 30) {
      const size_t n = 60;
      gb_node *a =
          plus_noise(kernel(t == 0 ? GB_F64 : GB_F32, n, scalar(t == 0 ? GB_F64 : GB_F32, 0, 30)), noise);
      gb_node *l = BUILD(gb_cholesky, a, 0);
      double got, *dense = doubles(a), *inverse = calloc(n * n, sizeof *inverse), norm = 0, other = 0;
      ok(gb_factor_condition(a, l, &got, &err));
      for (size_t j = 0; j < n; j++) inverse[j * n + j] = 1;
      for (size_t j = 0; j < n; j++) {
        double column = 0;
        for (size_t i = 0; i < n; i++) column += fabs(dense[i * n + j]);
        norm = fmax(norm, column);
      }
      eliminate(dense, inverse, n, n);
      for (size_t j = 0; j < n; j++) {
        double column = 0;
        for (size_t i = 0; i < n; i++) column += fabs(inverse[i * n + j]);
        other = fmax(other, column);
      }
      assert_true(got <= 1.01 * norm * other && got >= norm * other / 3);
      free(dense), free(inverse);
    }
}

static void a_failed_factor_names_its_minor (void **state) {
  (void)state;
  const double m[] = {1, 0, 0, 0, 1, 2, 0, 2, 1};
  gb_node *l = BUILD(gb_cholesky, leaf(GB_F64, 0, 2, (size_t[]){3, 3}, m), 0);
  assert_int_equal(gb_eval(g, 1, &l, &err), GB_ENOTPD);
  assert_int_equal(err.order, 3);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(a_low_rank_preconditioner_inverts_itself),
      TEST(a_preconditioned_column_is_alone),
      TEST(nystrom_is_not_led_astray_by_outliers),
      TEST(nystrom_draws_in_proportion),
      TEST(low_rank_refuses_what_is_no_kernel_matrix),
      TEST(probes_do_not_know_the_draws),
      TEST(the_condition_is_estimated_within_a_factor_of_three),
      TEST(a_failed_factor_names_its_minor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
