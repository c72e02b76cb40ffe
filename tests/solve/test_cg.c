/* test_cg.c - conjugate gradients against dense elimination in doubles: residuals, reasons, goals, precision. */
#include "graph/grad/grad.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_cg(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static void cg_agrees_with_elimination (void **state) {
  (void)state;
  const size_t columns[] = {1, 3};
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < 2; k++) {
      const gb_dtype t = d == 0 ? GB_F64 : GB_F32;
      const size_t n = 90, r = columns[k];
      gb_node *a = plus_noise(kernel(t, n, scalar(t, 0, 30)), 0.1), *b = random_leaf(t, 0, n, r, 3);
      const gb_solve_options o = {.tol = d == 0 ? 1e-10 : 1e-5, .max_iter = 500};
      gb_solve_info info;
      gb_node *x = solve(a, b, &o, &info);
      assert_true(info.converged && info.reason == GB_SOLVE_CONVERGED && info.iterations > 5 &&
                  info.residual <= o.tol);
      double *va = doubles(a), *want = doubles(b), *got = doubles(x);
      eliminate(va, want, n, r);
      for (size_t i = 0; i < n * r; i++)
        CHECK_NEAR(got[i], want[i], (d == 0 ? 1e-7 : 3e-2) * (1 + fabs(want[i])));
      free(va), free(want), free(got);
    }
}

static void the_reported_residual_is_the_true_one (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 80, scalar(GB_F64, 0, 10)), 1e-3),
          *b = random_leaf(GB_F64, 0, 80, 2, 4);
  for (int iterations = 0; iterations < 40; iterations += 13) {
    const gb_solve_options o = {.tol = 1e-14, .max_iter = iterations};
    gb_solve_info info;
    gb_node *x = solve(a, b, &o, &info);
    assert_false(info.converged);
    assert_int_equal(info.reason, GB_SOLVE_MAX_ITER);
    assert_int_equal(info.iterations, iterations);
    CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-6 * info.residual);
  }
}

static void a_residual_below_the_dtype_stagnates_instead_of_looping (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F32, 60, scalar(GB_F32, 0, 10)), 1e-2),
          *b = random_leaf(GB_F32, 0, 60, 1, 4);
  const gb_solve_options o = {.tol = 1e-12, .max_iter = 100000};
  gb_solve_info info;
  solve(a, b, &o, &info);
  if (info.reason != GB_SOLVE_STAGNATED)
    fail_msg("%s %g %d", gb_solve_reason_text(info.reason), info.residual, info.iterations);
  assert_string_equal(gb_solve_reason_text(info.reason), "stagnated");
  assert_true(info.residual < 1e-3 && info.residual > 1e-12);
}

static void every_column_is_measured_by_its_own_length (void **state) {
  (void)state;
  const size_t n = 40;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 0.1);
  double b[80];
  for (size_t i = 0; i < n; i++)
    b[2 * i] = 1e6 * gb_rand_normal(1, 0, i), b[2 * i + 1] = 1e-6 * gb_rand_normal(1, 1, i);
  gb_node *rhs = leaf(GB_F64, 0, 2, (size_t[]){n, 2}, b);
  const gb_solve_options o = {.tol = 1e-8, .max_iter = 500};
  gb_solve_info info;
  gb_node *x = solve(a, rhs, &o, &info);
  assert_true(info.converged && true_residual(a, rhs, x) <= 1.01e-8);
}

static void edge_cases_are_solved_at_once (void **state) {
  (void)state;
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  const double one[] = {4}, rhs[] = {2}, zeros[3] = {0}, unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  double *x = doubles(
      solve(leaf(GB_F64, 0, 2, (size_t[]){1, 1}, one), leaf(GB_F64, 0, 1, (size_t[]){1}, rhs), &o, &info));
  CHECK_NEAR(x[0], 0.5, 0);
  assert_int_equal(info.iterations, 1);
  free(x);
  gb_node *eye = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, unit);
  x = doubles(solve(eye, leaf(GB_F64, 0, 1, (size_t[]){3}, zeros), &o, &info));
  assert_true(info.converged && info.iterations == 0 && info.residual == 0 && x[0] == 0);
  free(x);
  solve(leaf(GB_F64, 0, 2, (size_t[]){0, 0}, one), leaf(GB_F64, 0, 1, (size_t[]){0}, rhs), &o, &info);
  assert_true(info.converged);
  solve(eye, leaf(GB_F64, 0, 2, (size_t[]){3, 0}, rhs), &o, &info);
  assert_true(info.converged);
}

static void a_good_first_guess_saves_the_iterations (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 50, scalar(GB_F64, 0, 10)), 0.1),
          *b = random_leaf(GB_F64, 0, 50, 1, 8);
  gb_solve_options o = {.tol = 1e-9, .max_iter = 500};
  gb_solve_info info;
  o.x0 = solve(a, b, &o, &info);
  solve(a, b, &o, &info);
  assert_true(info.converged && info.iterations == 0);
}

static void indefinite_and_broken_matrices_are_reported (void **state) {
  (void)state;
  const double indefinite[] = {1, 0, 0, -1}, broken[] = {1, NAN, NAN, 1}, b[] = {1, 2};
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  gb_node *rhs = leaf(GB_F64, 0, 1, (size_t[]){2}, b);
  solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, indefinite), rhs, &o, &info);
  assert_false(info.converged);
  assert_int_equal(info.reason, GB_SOLVE_INDEFINITE);
  assert_true(info.residual > 0.1);
  solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, broken), rhs, &o, &info);
  assert_int_equal(info.reason, GB_SOLVE_NAN);
  assert_true(isnan(info.residual));
}

static void wrong_shapes_and_options_are_errors (void **state) {
  (void)state;
  gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  gb_node *x = NULL, *a = plus_noise(kernel(GB_F64, 5, scalar(GB_F64, 0, 1)), 0.1);
  assert_int_equal(gb_solve_cg(a, random_leaf(GB_F64, 0, 4, 1, 1), &o, &x, &info, &err), GB_ESHAPE);
  assert_int_equal(gb_solve_cg(a, random_leaf(GB_F32, 0, 5, 1, 1), &o, &x, &info, &err), GB_EDTYPE);
  gb_node *b = random_leaf(GB_F64, 0, 5, 1, 1);
  assert_int_equal(gb_solve_cg(random_leaf(GB_F64, 0, 5, 4, 1), b, &o, &x, &info, &err), GB_ESHAPE);
  o.tol = 0;
  assert_int_equal(gb_solve_cg(a, b, &o, &x, &info, &err), GB_EOPTION);
  assert_null(x);
}

static void an_interrupt_ends_the_iteration (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 20, scalar(GB_F64, 0, 10)), 0.1),
          *b = random_leaf(GB_F64, 0, 20, 1, 8);
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  gb_node *x = NULL;
  gb_interrupt_raise();
  const gb_status st = gb_solve_cg(a, b, &o, &x, &info, &err);
  gb_interrupt_clear();
  assert_int_equal(st, GB_EINTR);
}

static void a_failed_allocation_leaks_nothing (void **state) {
  (void)state;
  gb_node *k = kernel(GB_F64, 20, scalar(GB_F64, 0, 10)), *a = plus_noise(k, 0.1),
          *b = random_leaf(GB_F64, 0, 20, 1, 8);
  const gb_solver_options o = {.run = {.solve = GB_SOLVE_DEFAULTS, .probes = 3},
                               .precond = {GB_PRECOND_PIVOTED_CHOLESKY, 5, 0}};
  const size_t nodes = g->nnodes, used = dev->ledger.used;
  gb_status st;
  long n = 0;
  do {
    gb_precond made;
    gb_node *x = NULL, *lazy = NULL, *noise = NULL;
    gb_solve_info info;
    dev->ledger.fail_after = (long)dev->ledger.allocations + n++;
    st = gb_precond_make(&made, &o.precond, a, k, gb_noise_level(0.1), &err);
    const gb_solve_options now = {.tol = 1e-6, .max_iter = 100, .precond = &made, .mixed = true};
    if (st == GB_OK) st = gb_solve_cg(a, b, &now, &x, &info, &err);
    if (st == GB_OK) st = gb_node_const(g, 0.1, GB_F64, &noise, &err);
    if (st == GB_OK) st = gb_solver_solve(a, b, NULL, k, noise, &o, &lazy, &err);
    if (st == GB_OK) st = gb_eval(g, 1, &lazy, &err);
    dev->ledger.fail_after = -1;
    gb_node_unref(x), gb_node_unref(lazy), gb_node_unref(noise);
    gb_precond_clear(&made);
    assert_true(st == GB_OK || st == GB_ENOMEM);
    if (dev->ledger.used > used) gb_cache_drop(g, SIZE_MAX);
    assert_int_equal(g->nnodes, nodes);
    assert_int_equal(dev->ledger.used, used);
  } while (st != GB_OK);
  assert_true(n > 10);
}

static void convergence_is_that_of_the_worst_column_on_both_sides_of_the_boundary (void **state) {
  (void)state;
  const size_t n = 60;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 5), *b = random_leaf(GB_F64, 0, n, 3, 4);
  for (int steps = 1; steps <= 10; steps += 3) {
    gb_solve_options o = {.tol = 1e-13, .max_iter = steps};
    gb_solve_info info;
    solve(a, b, &o, &info);
    assert_int_equal(info.reason, GB_SOLVE_MAX_ITER);
    const double reached = info.residual;
    assert_true(reached == fmax(info.residual_first, info.residual_rest) && reached < 1);
    o.tol = reached * 1.0000001;
    solve(a, b, &o, &info);
    assert_true(info.converged && info.reason == GB_SOLVE_CONVERGED && info.residual <= o.tol);
    o.tol = reached * 0.9999;
    solve(a, b, &o, &info);
    assert_true(!info.converged && info.reason == GB_SOLVE_MAX_ITER && info.residual > o.tol);
  }
}

static void a_tolerance_of_one_is_refused (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 5, scalar(GB_F64, 0, 1)), 0.1), *b = random_leaf(GB_F64, 0, 5, 1, 1),
          *x = NULL;
  const double bad[] = {1, 2, 0, -1, NAN, INFINITY};
  gb_solve_info info;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const gb_solve_options o = {.tol = bad[i], .max_iter = 10};
    assert_int_equal(gb_solve_cg(a, b, &o, &x, &info, &err), GB_EOPTION);
    const gb_solver_options lazy = {.run.solve = o};
    assert_int_equal(gb_solver_solve(a, b, NULL, NULL, NULL, &lazy, &x, &err), GB_EOPTION);
  }
}

static void an_indefinite_column_is_named_with_its_curvature (void **state) {
  (void)state;
  double d[50], v[100];
  for (int i = 0; i < 50; i++) d[i] = i == 7 ? -0.25 : 1 + i % 3, v[2 * i] = i != 7, v[2 * i + 1] = i == 7;
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){50}, d)),
          *b = leaf(GB_F64, 0, 2, (size_t[]){50, 2}, v);
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  char text[GB_CG_MESSAGE];
  double *x = doubles(solve(a, b, &o, &info));
  assert_int_equal(info.reason, GB_SOLVE_INDEFINITE);
  assert_int_equal(info.column, 1);
  CHECK_NEAR(info.curvature, -0.25, 1e-15);
  assert_true(info.residual_first <= 1e-6 && info.residual_rest == 1);
  assert_non_null(strstr(gb_cg_message(&info, &o, text), "column 2 met the curvature -0.25"));
  /* its neighbour is solved */
  for (int i = 0; i < 50; i++) CHECK_NEAR(x[2 * i], i == 7 ? 0 : 1 / d[i], 1e-6);
  free(x);
}

static void mixed_products_reach_the_residual_of_f64 (void **state) {
  (void)state;
  const size_t n = 200;
  /* of the third f32 solves nothing: f64 takes over */
  const double noise[] = {1e-1, 1e-3, 1e-5}, tol[] = {1e-10, 1e-10, 1e-8};
  for (int d = 0; d < 2; d++)
    for (int i = 0; i < 3; i++) {
      const gb_dtype t = d == 0 ? GB_F64 : GB_F32;
      gb_node *k = kernel(t, n, scalar(t, 0, 30)), *a = plus_noise(k, noise[i]),
              *b = random_leaf(t, 0, n, 3, 3);
      gb_precond p;
      ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(noise[i]), i < 2 ? 40 : 70, 0, &err));
      const gb_solve_options o = {.tol = tol[i], .max_iter = 5000, .mixed = true, .precond = &p};
      gb_solve_info info;
      gb_node *x = solve(a, b, &o, &info);
      assert_int_equal(gb_node_dtype(x), GB_F64);
      if (!info.converged)
        fail_msg("noise %g: %s, %g after %d", noise[i], gb_solve_reason_text(info.reason), info.residual,
                 info.iterations);
      assert_true(info.residual <= tol[i]);
      if (d == 0) assert_true(true_residual(a, b, x) <= 1.1 * tol[i]);
      gb_precond_clear(&p);
    }
}

/* Variances 1 - b' A^-1 b of points beside the data are known to the tolerance of themselves, from above,
** and by the bound that is stated: with and without preconditioners, also of another noise than the least
** of A's, and of the noises of its points. The last column is a point far away. */
static void variances_are_known_to_a_share_of_themselves (void **state) {
  (void)state;
  enum { N = 150, R = 7 };
  double *all = doubles(kernel(GB_F64, N + R - 1, scalar(GB_F64, 0, 10))), *a = calloc(N * N, sizeof *a),
         *b = calloc(N * R, sizeof *b), *solution = malloc(N * R * sizeof *b), prior[R], q[R] = {0}, form[R],
         missing[R];
  const double noise = 1e-3;
  double each[N], shifts[N * N] = {0};
  for (size_t i = 0; i < N; i++) {
    each[i] = shifts[i * N + i] = i % 3 == 0 ? 100 * noise : noise;
    for (size_t j = 0; j < N; j++) a[i * N + j] = all[i * (N + R - 1) + j] + shifts[i * N + j];
    for (size_t c = 0; c < R - 1; c++) b[i * R + c] = all[i * (N + R - 1) + N + c];
  }
  gb_node *an = leaf(GB_F64, 0, 2, (size_t[]){N, N}, a), *bn = leaf(GB_F64, 0, 2, (size_t[]){N, R}, b),
          *shift = leaf(GB_F64, 0, 2, (size_t[]){N, N}, shifts), *kn = BUILD(gb_map2, GB_OP_SUB, an, shift);
  memcpy(solution, b, N * R * sizeof *b);
  eliminate(a, solution, N, R);
  for (size_t c = 0; c < R; c++) {
    prior[c] = 1;
    for (size_t i = 0; i < N; i++) q[c] += b[i * R + c] * solution[i * R + c];
  }
  for (int kind = 0; kind < 12; kind++) {
    gb_precond p = {0};
    if (kind >= 10) ok(gb_precond_nystrom(&p, kn, (gb_noise){.each = each}, 20, 0, 1, &err));
    else if (kind % 5 == 1) ok(gb_precond_jacobi(&p, an, &err));
    else if (kind % 5 == 2) ok(gb_precond_pivoted_cholesky(&p, kn, gb_noise_level(noise), 20, 0, &err));
    else if (kind % 5 == 3) ok(gb_precond_nystrom(&p, kn, gb_noise_level(5 * noise), 20, 0, 1, &err));
    else if (kind % 5 == 4) ok(gb_precond_nystrom(&p, kn, gb_noise_level(noise / 5), 20, 0, 1, &err));
    int before = 0;
    for (double tol = 1e-1; tol > 1e-10; tol *= 1e-3) {
      const gb_solve_options o = {.tol = tol,
                                  .max_iter = 1000,
                                  .mixed = kind % 2 == 1,
                                  .precond = p.form.n > 0 ? &p : NULL,
                                  .goal = {prior, noise, form, missing}};
      gb_solve_info info;
      solve(an, bn, &o, &info);
      assert_true(info.converged && info.iterations > before && info.variance_error <= tol);
      before = info.iterations;
      for (size_t c = 0; c < R; c++) {
        const double left = 1 - q[c], over = q[c] - form[c];
        assert_true(left > 0 && over >= -1e-12 && over <= missing[c] + 1e-12 && over <= tol * left + 1e-12);
        assert_true(missing[c] <= 1.2 * tol * left + 1e-14);
      }
    }
    gb_precond_clear(&p);
  }
  assert_true(form[R - 1] == 0 && missing[R - 1] == 0);
  const gb_solve_options few = {.tol = 1e-6, .max_iter = 2, .goal = {prior, noise, form, missing}};
  gb_solve_info info;
  char text[GB_CG_MESSAGE];
  solve(an, bn, &few, &info);
  assert_true(!info.converged && info.reason == GB_SOLVE_MAX_ITER && info.variance_error > 1e-6);
  for (size_t c = 0; c < R; c++) assert_true(q[c] - form[c] <= missing[c] + 1e-12);
  assert_non_null(strstr(gb_cg_message(&info, &few, text), "after 2 steps, expected 1e-06"));
  free(all), free(a), free(b), free(solution);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(cg_agrees_with_elimination),
      TEST(the_reported_residual_is_the_true_one),
      TEST(a_residual_below_the_dtype_stagnates_instead_of_looping),
      TEST(every_column_is_measured_by_its_own_length),
      TEST(edge_cases_are_solved_at_once),
      TEST(a_good_first_guess_saves_the_iterations),
      TEST(indefinite_and_broken_matrices_are_reported),
      TEST(wrong_shapes_and_options_are_errors),
      TEST(an_interrupt_ends_the_iteration),
      TEST(a_failed_allocation_leaks_nothing),
      TEST(convergence_is_that_of_the_worst_column_on_both_sides_of_the_boundary),
      TEST(a_tolerance_of_one_is_refused),
      TEST(an_indefinite_column_is_named_with_its_curvature),
      TEST(mixed_products_reach_the_residual_of_f64),
      TEST(variances_are_known_to_a_share_of_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
