/* test_lanczos.c - Lanczos bases, quadrature from coefficients, and log determinants by probes. */
#include "graph/grad/grad.h"
#include "solve/lanczos.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_cg(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static void quadrature_is_that_of_gauss_and_legendre (void **state) {
  (void)state;
  double d[3] = {0}, e[3], w[3]; /* orthonormal Legendre polynomials: e_j = j / sqrt(4 j^2 - 1) */
  for (int j = 1; j < 3; j++) e[j - 1] = j / sqrt(4.0 * j * j - 1);
  assert_true(gb_tridiagonal_quadrature(3, d, e, w));
  double sum = 0, fourth = 0;
  for (int i = 0; i < 3; i++) {
    assert_true(fabs(d[i]) < 1e-15 || fabs(fabs(d[i]) - sqrt(0.6)) < 1e-14);
    CHECK_NEAR(w[i], fabs(d[i]) < 0.1 ? 4.0 / 9 : 5.0 / 18, 1e-14);
    sum += w[i];
    fourth += w[i] * pow(d[i], 4);
  }
  CHECK_NEAR(sum, 1, 1e-15);
  CHECK_NEAR(fourth, 0.2, 1e-15);
}

static void lanczos_gives_an_orthonormal_basis (void **state) {
  (void)state;
  const size_t n = 60; /* far beyond where one pass of orthogonalisation stays orthogonal */
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 5)), 1e-6),
          *start = random_leaf(GB_F64, 0, n, 1, 2);
  gb_node *q = NULL, *t = NULL;
  gb_lanczos_info info;
  ok(gb_lanczos(a, start, 40, &q, &t, &info, &err));
  hold_node(GB_OK, q), hold_node(GB_OK, t);
  const size_t steps = (size_t)info.steps;
  assert_int_equal(steps, 40);
  double *vq = doubles(q), *vt = doubles(t), *va = doubles(a);
  for (size_t i = 0; i < steps; i++)
    for (size_t j = 0; j < steps; j++) {
      double dot = 0, qaq = 0;
      for (size_t k = 0; k < n; k++) {
        double aq = 0;
        for (size_t l = 0; l < n; l++) aq += va[k * n + l] * vq[l * steps + j];
        dot += vq[k * steps + i] * vq[k * steps + j];
        qaq += vq[k * steps + i] * aq;
      }
      CHECK_NEAR(dot, i == j, 1e-14);
      CHECK_NEAR(vt[i * steps + j], qaq, 1e-12 * (double)n);
    }
  free(vq), free(vt), free(va);
}

static void lanczos_stops_in_an_invariant_subspace (void **state) {
  (void)state;
  double d[20], one[20];
  for (int i = 0; i < 20; i++) d[i] = 1 + i % 3, one[i] = 1;
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){20}, d)), *q = NULL, *t = NULL;
  gb_lanczos_info info;
  ok(gb_lanczos(a, leaf(GB_F64, 0, 1, (size_t[]){20}, one), 15, &q, &t, &info, &err));
  hold_node(GB_OK, q), hold_node(GB_OK, t);
  assert_int_equal(info.steps, 3);
}

static double exact_logdet (gb_node *a) {
  double *v = doubles(a), none;
  const double logdet = eliminate(v, &none, gb_node_shape(a)->dim[0], 0);
  free(v);
  return logdet;
}

static void logdet_by_probes_covers_the_truth_and_repeats (void **state) {
  (void)state;
  const size_t n = 100;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.05);
  gb_logdet_options o = {.solve = {.tol = 1e-8, .max_iter = 400}, .probes = 20, .seed = 1};
  gb_logdet_info plain, again, better;
  ok(gb_logdet_slq(a, &o, &plain, &err));
  ok(gb_logdet_slq(a, &o, &again, &err));
  assert_memory_equal(&plain.value, &again.value, sizeof(double));
  const double want = exact_logdet(a);
  CHECK_NEAR(plain.value, want, 4 * plain.standard_error);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.05), 30, 0, &err));
  o.solve.precond = &p;
  ok(gb_logdet_slq(a, &o, &better, &err));
  CHECK_NEAR(better.value, want, 4 * better.standard_error + 1e-9);
  assert_true(better.standard_error < plain.standard_error / 3);
  gb_precond_clear(&p);
}

static void quantiles_of_student_are_those_of_the_tables (void **state) {
  (void)state;
  const double degrees[] = {1, 2, 3, 4, 5, 9, 15, 30, 120},
               want[] = {12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.26216, 2.13145, 2.04227, 1.97993};
  for (int i = 0; i < 9; i++) CHECK_NEAR(gb_student_quantile(degrees[i], 0.95), want[i], 2e-5);
  CHECK_NEAR(gb_student_quantile(15, 0.99), 2.94671, 2e-5);
  CHECK_NEAR(gb_student_quantile(15, 0.5), 0.691197, 2e-5);
}

/* 1,000 seeds: the stated interval covers the truth as often as it says. */
static void the_interval_of_log_det_covers_the_truth (void **state) {
  (void)state;
  const size_t n = 64;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 60)), *a = plus_noise(k, 0.05);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.05), 10, 0, &err));
  double *m = doubles(a);
  gb_node *stored = leaf(GB_F64, 0, 2, (size_t[]){n, n}, m);
  const double want = exact_logdet(a), t = gb_student_quantile(15, 0.95);
  int covered = 0;
  for (uint64_t seed = 0; seed < 1000; seed++) {
    const gb_logdet_options o = {
        .solve = {.tol = 1e-2, .max_iter = 400, .precond = &p}, .probes = 16, .seed = seed};
    gb_logdet_info info;
    ok(gb_logdet_slq(stored, &o, &info, &err));
    covered += fabs(info.value - want) <= t * info.standard_error;
  }
  free(m);
  gb_precond_clear(&p);
  if (covered < 930 || covered > 970) fail_msg("%d of 1000 intervals cover the log determinant", covered);
}

/* A trace of one step a column: the quadratures are log(1 / alpha), here v. */
static void a_log_determinant_tells_the_standard_error_of_its_probes (void **state) {
  (void)state;
  const double v[4] = {-9, 1, 2, 6}; /* the first column is no probe */
  double alpha[4], beta[4] = {0};
  int steps[4] = {1, 1, 1, 1};
  for (int c = 0; c < 4; c++) alpha[c] = exp(-v[c]);
  const gb_trace trace = {.r = 4, .max_steps = 1, .steps = steps, .alpha = alpha, .beta = beta};
  gb_logdet_info info;
  ok(gb_probes_logdet(NULL, &trace, 5, 1, 3, &info, &err));
  CHECK_NEAR(info.value, 5 * 3.0, 1e-12);
  CHECK_NEAR(info.standard_error, 5 * sqrt((4 + 1 + 9) / 2.0 / 3), 1e-12);
  CHECK_NEAR(info.truncation, 15, 1e-12); /* four fifths of one step are none */
  ok(gb_probes_logdet(NULL, &trace, 5, 1, 2, &info, &err));
  CHECK_NEAR(info.standard_error, 5 * sqrt(0.5 / 2), 1e-12);
  ok(gb_probes_logdet(NULL, &trace, 5, 1, 1, &info, &err));
  assert_true(info.standard_error == INFINITY);
}

/* Where f32 cannot solve the probes, the quadrature is that of the steps in f64, bit for bit. */
static void a_log_determinant_in_mixed_precision_is_of_the_steps_that_solved_it (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 60, scalar(GB_F64, 0, 30)), 1e-5);
  gb_logdet_info info[2];
  for (int mixed = 0; mixed < 2; mixed++) {
    const gb_logdet_options o = {
        .solve = {.tol = 1e-9, .max_iter = 900, .mixed = mixed}, .probes = 3, .seed = 2};
    ok(gb_logdet_slq(a, &o, &info[mixed], &err));
    assert_true(info[mixed].solve.converged);
  }
  assert_true(info[1].value == info[0].value && info[1].standard_error == info[0].standard_error);
}

/* Without coupling the Ritz values are 1 / alpha: each of them in each place. */
static void a_condition_is_of_all_ritz_values (void **state) {
  (void)state;
  const double values[3] = {1e-6, 1, 2};
  static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int i = 0; i < 6; i++) {
    double alpha[3], beta[3] = {0};
    int steps[1] = {3};
    for (int j = 0; j < 3; j++) alpha[j] = 1 / values[order[i][j]];
    const gb_trace trace = {.r = 1, .max_steps = 3, .steps = steps, .alpha = alpha, .beta = beta};
    double smallest, condition;
    gb_trace_extremes(&trace, 0, &smallest, &condition);
    condition /= smallest;
    CHECK_NEAR(condition / 2e6, 1, 1e-12);
  }
}

/* From a run: a lower bound that has seen every eigenvalue. */
static void the_condition_of_a_solve_sees_the_least_eigenvalue (void **state) {
  (void)state;
  double diagonal[9] = {1e-6, 0, 0, 0, 1, 0, 0, 0, 2}, one[3] = {1, 1, 1};
  gb_node *a = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, diagonal), *b = leaf(GB_F64, 0, 1, (size_t[]){3}, one);
  const gb_solve_options o = {.tol = 1e-12, .max_iter = 50};
  gb_solve_info info;
  solve(a, b, &o, &info);
  assert_true(info.converged && info.condition >= 1e6 / 4 && info.condition <= 2.0001e6);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(a_log_determinant_tells_the_standard_error_of_its_probes),
      TEST(a_log_determinant_in_mixed_precision_is_of_the_steps_that_solved_it),
      TEST(a_condition_is_of_all_ritz_values),
      TEST(the_condition_of_a_solve_sees_the_least_eigenvalue),
      TEST(quadrature_is_that_of_gauss_and_legendre),
      TEST(lanczos_gives_an_orthonormal_basis),
      TEST(lanczos_stops_in_an_invariant_subspace),
      TEST(logdet_by_probes_covers_the_truth_and_repeats),
      TEST(quantiles_of_student_are_those_of_the_tables),
      TEST(the_interval_of_log_det_covers_the_truth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
