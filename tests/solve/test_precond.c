/* test_precond.c - preconditioners against dense matrices in doubles. */
#include "graph/grad/grad.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_cg(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static void pivoted_cholesky_approximates_the_kernel_ever_better (void **state) {
  (void)state;
  const size_t n = 60;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 20));
  double *vk = doubles(k), before = 1;
  for (size_t rank = 0; rank <= n; rank += 20) {
    gb_precond p;
    ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(1e-6), rank, 0, &err));
    double *m = dense_precond(&p), trace = 0;
    for (size_t i = 0; i < n; i++) trace += vk[i * n + i] - (m[i * n + i] - 1e-6);
    CHECK_NEAR(p.trace_left, trace / (double)n, 1e-9);
    assert_true(rank == 0 ? p.trace_left == 1 : p.trace_left < before);
    before = p.trace_left;
    if (rank == n)
      for (size_t i = 0; i < n * n; i++) CHECK_NEAR(m[i] - (i % (n + 1) == 0 ? 1e-6 : 0), vk[i], 1e-7);
    free(m);
    gb_precond_clear(&p);
  }
  free(vk);
}

static void pivoted_cholesky_stops_when_nothing_is_left (void **state) {
  (void)state;
  const size_t n = 30;
  gb_node *v = random_leaf(GB_F64, 0, n, 2, 3), *vt = BUILD(gb_transpose, v);
  gb_node *k = BUILD(gb_matmul, v, vt);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.5), 10, 1e-12, &err));
  assert_int_equal(p.form.rank, 2);
  gb_precond_clear(&p);
  assert_int_equal(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0), 10, 0, &err), GB_EOPTION);
  gb_node *negative = BUILD(gb_map1, GB_OP_NEG, k);
  assert_int_equal(gb_precond_pivoted_cholesky(&p, negative, gb_noise_level(1), 10, 0, &err), GB_ENOTPD);
}

/* With one noise, and with noises of the points. */
static void applying_a_preconditioner_solves_with_it (void **state) {
  (void)state;
  const size_t n = 50, r = 3;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 20)), *b = random_leaf(GB_F64, 0, n, r, 6);
  double each[50], *in = doubles(b);
  for (size_t i = 0; i < n; i++) each[i] = pow(10, -(double)(i % 4));
  for (int kind = 0; kind < 2; kind++) {
    gb_precond p;
    double *want = doubles(b), got[150];
    ok(gb_precond_pivoted_cholesky(&p, k, (gb_noise){0.01, kind == 0 ? NULL : each}, 12, 0, &err));
    double *m = dense_precond(&p);
    apply_precond(&p, n, r, in, got);
    CHECK_NEAR(eliminate(m, want, n, r), p.logdet, 1e-9 * fabs(p.logdet));
    for (size_t i = 0; i < n * r; i++) CHECK_NEAR(got[i], want[i], 1e-9 * (1 + fabs(want[i])));
    free(m), free(want);
    gb_precond_clear(&p);
  }
  free(in);
}

/* P = L L' + D + c I with the L of one noise, and c a part of what that leaves of the diagonal; of full
** rank K + D. */
static void noises_of_the_points_are_added_to_the_same_factor (void **state) {
  (void)state;
  const size_t n = 50;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 20));
  double each[50], *vk = doubles(k);
  for (size_t i = 0; i < n; i++) each[i] = pow(10, -(double)(i % 4));
  for (size_t rank = 10; rank <= n; rank += 40) {
    gb_precond one, p;
    ok(gb_precond_nystrom(&one, k, gb_noise_level(1), rank, 0, 5, &err));
    ok(gb_precond_nystrom(&p, k, (gb_noise){.each = each}, rank, 0, 5, &err));
    double *m = dense_precond(&one), *got = dense_precond(&p);
    const double c = fmax(0.03 * one.trace_left, 1e-12); /* the diagonal is 1 */
    CHECK_NEAR(p.least, 1e-3 + c, 1e-15);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        CHECK_NEAR(got[i * n + j], m[i * n + j] + (i == j ? each[i] + c - 1 : 0), 1e-12);
        if (rank == n) CHECK_NEAR(got[i * n + j], vk[i * n + j] + (i == j ? each[i] : 0), 1e-9);
      }
    free(m), free(got);
    gb_precond_clear(&one), gb_precond_clear(&p);
  }
  free(vk);
  const double bad[] = {0, -1, NAN, INFINITY};
  const gb_status want[] = {GB_OK, GB_EOPTION, GB_ENAN, GB_ENAN};
  for (int i = 0; i < 4; i++) {
    gb_precond p;
    each[7] = bad[i];
    assert_int_equal(gb_precond_nystrom(&p, k, (gb_noise){.each = each}, 5, 0, 5, &err), want[i]);
    assert_true((p.form.lt != NULL) == (want[i] == GB_OK) && (p.form.scale != NULL) == (want[i] == GB_OK));
    gb_precond_clear(&p);
  }
}

static void samples_have_the_covariance_of_the_preconditioner (void **state) {
  (void)state;
  const size_t n = 40, r = 400;
  double each[40];
  for (size_t i = 0; i < n; i++) each[i] = pow(10, -(double)(i % 4));
  for (int kind = 0; kind < 2; kind++) {
    gb_precond p;
    ok(gb_precond_pivoted_cholesky(&p, kernel(GB_F64, n, scalar(GB_F64, 0, 20)),
                                   (gb_noise){0.05, kind == 0 ? NULL : each}, 10, 0, &err));
    double *z = malloc(n * r * sizeof *z), *w = malloc(n * r * sizeof *w), *m = dense_precond(&p), sum = 0;
    memset(z, 0, n * r * sizeof *z);
    sample_precond(&p, 3, n, r, 0, z);
    apply_precond(&p, n, r, z, w);
    for (size_t i = 0; i < n * r; i++) sum += z[i] * w[i];
    /* chi squared, n degrees */
    CHECK_NEAR(sum / (double)r, (double)n, 5 * sqrt(2.0 * (double)n / (double)r));
    for (size_t i = 0; i < n; i += 13) {
      double square = 0;
      for (size_t c = 0; c < r; c++) square += z[i * r + c] * z[i * r + c] / (double)r;
      CHECK_NEAR(square, m[i * n + i], 5 * sqrt(2.0 / (double)r) * m[i * n + i]);
    }
    free(z), free(w), free(m);
    gb_precond_clear(&p);
  }
}

static void preconditioners_save_iterations (void **state) {
  (void)state;
  const size_t n = 120;
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 5)), *a = plus_noise(k, 1e-3),
          *b = random_leaf(GB_F64, 0, n, 1, 3);
  gb_solve_options o = {.tol = 1e-8, .max_iter = 2000};
  gb_solve_info plain, preconditioned;
  solve(a, b, &o, &plain);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(1e-3), 40, 0, &err));
  o.precond = &p;
  gb_node *x = solve(a, b, &o, &preconditioned);
  assert_true(plain.converged && preconditioned.converged);
  assert_true(preconditioned.iterations * 4 < plain.iterations);
  assert_true(preconditioned.condition < plain.condition / 10);
  CHECK_NEAR(true_residual(a, b, x), preconditioned.residual, 1e-10);
  gb_precond_clear(&p);
}

static void jacobi_undoes_bad_scaling (void **state) {
  (void)state;
  double d[40];
  for (int i = 0; i < 40; i++) d[i] = pow(10, i % 8);
  gb_node *k = plus_noise(kernel(GB_F64, 40, scalar(GB_F64, 0, 50)), 0.5),
          *v = leaf(GB_F64, 0, 1, (size_t[]){40}, d);
  gb_node *column = BUILD(gb_unsqueeze, v, 1), *scaled_columns = BUILD(gb_map2, GB_OP_MUL, k, v);
  gb_node *a = BUILD(gb_map2, GB_OP_MUL, scaled_columns, column);
  gb_node *b = random_leaf(GB_F64, 0, 40, 1, 3);
  gb_solve_options o = {.tol = 1e-10, .max_iter = 300};
  gb_solve_info plain, scaled;
  solve(a, b, &o, &plain);
  gb_precond p;
  ok(gb_precond_jacobi(&p, a, &err));
  o.precond = &p;
  solve(a, b, &o, &scaled);
  assert_true(scaled.converged && scaled.iterations < 60 &&
              (!plain.converged || plain.iterations > scaled.iterations));
  gb_precond_clear(&p);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(pivoted_cholesky_approximates_the_kernel_ever_better),
      TEST(pivoted_cholesky_stops_when_nothing_is_left),
      TEST(applying_a_preconditioner_solves_with_it),
      TEST(noises_of_the_points_are_added_to_the_same_factor),
      TEST(samples_have_the_covariance_of_the_preconditioner),
      TEST(preconditioners_save_iterations),
      TEST(jacobi_undoes_bad_scaling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
