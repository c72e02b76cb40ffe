/* test_cg_columns.c - columns of conjugate gradients: alone, dropped, and of any size. */
#include "graph/grad/grad.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_cg(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static void a_column_does_not_depend_on_its_neighbours (void **state) {
  (void)state;
  const size_t n = 70;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 0.1),
          *b = random_leaf(GB_F64, 0, n, 3, 5);
  const gb_solve_options o = {.tol = 1e-8, .max_iter = 500};
  gb_solve_info info;
  double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[70];
  for (size_t c = 0; c < 3; c++) {
    for (size_t i = 0; i < n; i++) alone[i] = vb[i * 3 + c];
    double *x = doubles(solve(a, leaf(GB_F64, 0, 1, &n, alone), &o, &info));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(all[i * 3 + c], x[i], 0);
    free(x);
  }
  free(all), free(vb);
}

static void a_broken_column_leaves_its_neighbours_alone (void **state) {
  (void)state;
  const double m[] = {2, 1, 1, 3}, b[] = {1, NAN, 2, 1};
  const gb_solve_options o = {.tol = 1e-12, .max_iter = 50};
  gb_solve_info info;
  double *x = doubles(
      solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 2, (size_t[]){2, 2}, b), &o, &info));
  assert_int_equal(info.reason, GB_SOLVE_NAN);
  CHECK_NEAR(x[0], 0.2, 1e-14);
  CHECK_NEAR(x[2], 0.6, 1e-14);
  free(x);
}

/* The columns of v (n, r), the c-th times 2^exponent[c]. */
static gb_node *times_powers (gb_dtype t, const double *v, size_t n, size_t r, const int *exponent) {
  double *w = malloc(n * r * sizeof *w);
  for (size_t i = 0; i < n * r; i++) w[i] = ldexp(v[i], exponent[i % r]);
  gb_node *x = leaf(t, 0, 2, (size_t[]){n, r}, w);
  free(w);
  return x;
}

/* Squares of such columns are 0 or infinite; in f32, what is left of them after some steps is lost. */
static void a_column_is_solved_as_well_at_any_size (void **state) {
  (void)state;
  enum { N = 90, R = 5 };
  const int wide[R] = {0, -664, 664, -1000, 900}, narrow[R] = {0, -100, 100, -80, 90};
  for (int kind = 0; kind < 6; kind++) { /* f64, f32, f64 in mixed precision; with a preconditioner */
    const gb_dtype t = kind % 3 == 1 ? GB_F32 : GB_F64;
    const bool exact = t == GB_F64, conditioned = kind >= 3;
    const int *exponent = exact ? wide : narrow;
    gb_node *k = kernel(t, N, scalar(t, 0, 30)), *a = plus_noise(k, 0.01), *b = random_leaf(t, 0, N, R, 3);
    gb_precond p = {0};
    if (conditioned) ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.01), 20, 0, &err));
    gb_solve_options o = {.tol = exact ? 1e-10 : 1e-4,
                          .max_iter = 500,
                          .mixed = kind % 3 == 2,
                          .precond = conditioned ? &p : NULL};
    gb_solve_info one, all;
    double *vb = doubles(b), *want = doubles(solve(a, b, &o, &one));
    gb_node *sized = times_powers(t, vb, N, R, exponent), *x = solve(a, sized, &o, &all);
    double *got = doubles(x), most = 0;
    assert_true(one.converged && all.converged && all.residual == one.residual &&
                all.iterations == one.iterations);
    for (size_t i = 0; i < N * R; i++) most = fmax(most, fabs(want[i]));
    for (size_t i = 0; i < N * R; i++)
      CHECK_NEAR(ldexp(got[i], -exponent[i % R]), want[i], exact ? 0 : 1e-7 * most);
    o.x0 = x;
    solve(a, sized, &o, &all);
    assert_true(all.converged && all.iterations <= 1);
    o.x0 = b; /* beyond all proportion to some columns, and nothing beside others */
    gb_node *again = solve(a, sized, &o, &all);
    assert_true(all.converged);
    free(got), got = doubles(again);
    for (size_t i = 0; i < N * R; i++)
      CHECK_NEAR(ldexp(got[i], -exponent[i % R]), want[i], 100 * o.tol * most);
    gb_precond_clear(&p);
    free(vb), free(want), free(got);
  }
}

/* Whatever is guessed for b = 0, and a guess that is not finite, is dropped; a NaN in b stays one. */
static void a_worthless_guess_is_dropped (void **state) {
  (void)state;
  const double m[] = {2, 1, 1, 3}, b[] = {0, 1, 1, NAN, 0, 2, 2, 1},
               guess[] = {5, NAN, 1e300, 0, -1, 1, 1, 0};
  const gb_solve_options o = {
      .tol = 1e-12, .max_iter = 50, .x0 = leaf(GB_F64, 0, 2, (size_t[]){2, 4}, guess)};
  gb_solve_info info;
  double *x = doubles(
      solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 2, (size_t[]){2, 4}, b), &o, &info));
  assert_true(info.reason == GB_SOLVE_NAN && info.column == 3);
  const double want[] = {0, 0.2, 0.2, NAN, 0, 0.6, 0.6, NAN};
  for (int i = 0; i < 8; i++)
    if (i % 4 < 3) CHECK_NEAR(x[i], want[i], 1e-12);
  free(x);
}

/* Powers of two change no bit of b, x and the residual: columns are solved at size 1, and all goes back. */
static void powers_of_two_change_no_bit_of_a_column (void **state) {
  (void)state;
  enum { N = 90, R = 3 };
  const int exponent[R] = {0, 20, -30};
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.01),
          *b = random_leaf(GB_F64, 0, N, R, 3);
  double *rhs[2] = {doubles(b), NULL}, *got[2][3];
  rhs[1] = doubles(times_powers(GB_F64, rhs[0], N, R, exponent));
  for (int mixed = 0; mixed < 2; mixed++) {
    const gb_solve_options o = {.tol = 1e-9, .max_iter = 500, .mixed = mixed};
    gb_solve_info info[2];
    for (int s = 0; s < 2; s++) {
      gb_solve_matrix m;
      gb_work room[3], of_trace;
      gb_panel column[3];
      ok(gb_work_new(dev, 0, gb_trace_bytes(o.max_iter, R), "trace", &of_trace, &err));
      gb_trace trace = gb_trace_bind(o.max_iter, R, of_trace.at.numbers);
      for (int k = 0; k < 3; k++) column[k] = panel(&room[k], N, R, k == 0 ? rhs[s] : NULL);
      ok(gb_solve_matrix_init(&m, a, R, mixed, &err));
      ok(gb_cg_panels(&m, &o, column[0], column[1], column[2], &trace, &info[s], &err));
      assert_true(trace.steps[0] > 3 && info[s].condition > 1);
      for (int k = 0; k < 3; k++) {
        got[s][k] = entries_of(column[k].at, N * R);
        gb_work_free(&room[k]);
      }
      assert_memory_equal(got[s][0], rhs[s], N * R * sizeof(double));
      gb_solve_matrix_clear(&m);
      gb_work_free(&of_trace);
    }
    assert_true(info[0].converged && info[0].iterations == info[1].iterations &&
                info[0].residual == info[1].residual);
    for (int k = 0; k < 3; k++) {
      for (size_t i = 0; i < N * R; i++) assert_true(got[1][k][i] == ldexp(got[0][k][i], exponent[i % R]));
      free(got[0][k]), free(got[1][k]);
    }
  }
  free(rhs[0]), free(rhs[1]);
}

static void the_goal_of_variances_has_any_size (void **state) {
  (void)state;
  enum { N = 90, R = 3 };
  const int exponent[R] = {0, -450, 400};
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.01),
          *b = random_leaf(GB_F64, 0, N, R, 3);
  double *vb = doubles(b), prior[2][R] = {{1e4, 3e4, 2e4}}, form[2][R], missing[2][R];
  gb_solve_info info[2];
  for (int k = 0; k < 2; k++) {
    const gb_solve_options o = {.tol = 1e-3, .max_iter = 500, .goal = {prior[k], 0.01, form[k], missing[k]}};
    for (size_t c = 0; k == 1 && c < R; c++) prior[1][c] = ldexp(prior[0][c], 2 * exponent[c]);
    solve(a, k == 0 ? b : times_powers(GB_F64, vb, N, R, exponent), &o, &info[k]);
    assert_true(info[k].converged && info[k].iterations == info[0].iterations &&
                info[k].variance_error == info[0].variance_error);
  }
  assert_true(info[0].iterations > 3 && info[0].variance_error > 0);
  for (size_t c = 0; c < R; c++) {
    assert_true(form[0][c] > 0 && missing[0][c] > 0);
    CHECK_NEAR(form[1][c], ldexp(form[0][c], 2 * exponent[c]), 0);
    CHECK_NEAR(missing[1][c], ldexp(missing[0][c], 2 * exponent[c]), 0);
  }
  free(vb);
}

static void a_marginal_likelihood_has_weights_of_any_size (void **state) {
  (void)state;
  enum { N = 60 };
  gb_node *k = kernel(GB_F64, N, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.1),
          *b = random_leaf(GB_F64, 0, N, 1, 5);
  double *vb = doubles(b), sized[N], *out[3];
  const int exponent[] = {0, -664, 500};
  const gb_logdet_options o = {.solve = {.tol = 1e-8, .max_iter = 500}, .probes = 4, .seed = 9};
  const size_t r = gb_marginal_columns(&o, N);
  for (int s = 0; s < 3; s++) {
    gb_solve_matrix m;
    gb_logdet_info info;
    for (size_t i = 0; i < N; i++) sized[i] = ldexp(vb[i], exponent[s]);
    gb_work right, result;
    panel(&result, gb_marginal_size(N, r), 1, NULL);
    ok(gb_solve_matrix_init(&m, a, r, o.solve.mixed, &err));
    ok(gb_marginal_run(&m, panel(&right, N, 1, sized), &o, result.at.entries, &info, &err));
    out[s] = entries_of(result.at.entries, gb_marginal_size(N, r));
    gb_solve_matrix_clear(&m);
    gb_work_free(&right), gb_work_free(&result);
    assert_true(info.solve.converged && info.solve.residual_first <= 1e-8);
    CHECK_NEAR(out[s][GB_MARGINAL_INV_QUAD], ldexp(out[0][GB_MARGINAL_INV_QUAD], 2 * exponent[s]), 0);
    assert_true(out[s][GB_MARGINAL_LOGDET] == out[0][GB_MARGINAL_LOGDET]);
    for (size_t i = 0; i < N; i++)
      CHECK_NEAR(out[s][gb_marginal_alpha(r) + i], ldexp(out[0][gb_marginal_alpha(r) + i], exponent[s]), 0);
  }
  for (int s = 0; s < 3; s++) free(out[s]);
  free(vb);
}

/* r right-hand sides, half of them easy: a combination of two eigenvectors needs two steps. */
static gb_node *uneven_columns (size_t n, size_t r, size_t easy) {
  double *v = malloc(n * r * sizeof *v);
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++)
      v[i * r + c] = c % 3 < easy ? (i == c || i == c + 1) : gb_rand_normal(2, c, i);
  gb_node *b = leaf(GB_F64, 0, 2, (size_t[]){n, r}, v);
  free(v);
  return b;
}

static gb_node *spread_diagonal (size_t n, double step) {
  double *d = malloc(n * sizeof *d);
  for (size_t i = 0; i < n; i++) d[i] = 1 + step * (double)i;
  gb_node *v = leaf(GB_F64, 0, 1, (size_t[]){n}, d);
  free(d);
  return BUILD(gb_diag, v);
}

static int products[18]; /* run with so many columns */
static void count_products (const char *what) {
  const char *r = what != NULL ? strstr(what, " r=") : NULL;
  if (what != NULL) products[r != NULL ? atoi(r + 3) : 1]++;
}

/* 12 columns of which one needs many steps: after few it runs alone. */
static void columns_that_are_done_cost_nothing (void **state) {
  (void)state;
  const size_t n = 80, r = 12;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 40)), 1e-3),
          *hard = random_leaf(GB_F64, 0, n, 1, 4);
  double *vh = doubles(hard), *va = doubles(a), *v = malloc(n * r * sizeof *v);
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) {
      v[i * r + c] = c == 5 ? vh[i] : 0;
      /* A times ones: smooth, few steps */
      for (size_t j = 0; c != 5 && j < n; j++) v[i * r + c] += va[i * n + j];
    }
  gb_node *b = leaf(GB_F64, 0, 2, (size_t[]){n, r}, v);
  const gb_solve_options o = {.tol = 1e-6, .max_iter = 500};
  gb_solve_info info;
  memset(products, 0, sizeof products);
  gb_plan_memcheck(g)->at_step = count_products;
  gb_node *x = solve(a, b, &o, &info);
  gb_plan_memcheck(g)->at_step = NULL;
  assert_true(info.converged && true_residual(a, b, x) <= 1.01e-6);
  assert_true(products[12] > 0 && products[12] < info.iterations / 2);
  assert_true(products[1] > info.iterations / 3);
  free(vh), free(va), free(v);
}

#define SAME_BITS 0.0

static void dropping_columns_changes_no_bit (void **state) {
  (void)state;
  const size_t n = 90;
  for (int dense = 0; dense < 2; dense++)
    for (size_t r = 2; r <= 17; r += 5)
      for (size_t easy = 1; easy < 3; easy++) {
        gb_node *a = spread_diagonal(n, 0.5), *b = uneven_columns(n, r, easy);
        if (dense) {
          double *v = doubles(plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 0.1));
          a = leaf(GB_F64, 0, 2, (size_t[]){n, n}, v);
          free(v);
        }
        const gb_solve_options o = {.tol = 1e-10, .max_iter = 500};
        gb_solve_info info;
        double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[90];
        if (!info.converged || (r > 2 && info.iterations <= 3))
          fail_msg("%s %g %d", gb_solve_reason_text(info.reason), info.residual, info.iterations);
        for (size_t c = 0; c < r; c++) {
          for (size_t i = 0; i < n; i++) alone[i] = vb[i * r + c];
          double *x = doubles(solve(a, leaf(GB_F64, 0, 1, &n, alone), &o, &info));
          for (size_t i = 0; i < n; i++) CHECK_NEAR(all[i * r + c], x[i], SAME_BITS);
          free(x);
        }
        free(all), free(vb);
        while (nheld > 40) gb_node_unref(held[--nheld]);
      }
}

static void mixed_solutions_do_not_depend_on_neighbours (void **state) {
  (void)state;
  const size_t n = 100;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 1e-3), *b = uneven_columns(n, 5, 1);
  const gb_solve_options o = {.tol = 1e-10, .max_iter = 5000, .mixed = true};
  gb_solve_info info;
  double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[100];
  for (size_t c = 0; c < 5; c++) {
    for (size_t i = 0; i < n; i++) alone[i] = vb[i * 5 + c];
    double *x = doubles(solve(a, leaf(GB_F64, 0, 1, &n, alone), &o, &info));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(all[i * 5 + c], x[i], SAME_BITS);
    free(x);
  }
  free(all), free(vb);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(a_column_does_not_depend_on_its_neighbours),
      TEST(a_broken_column_leaves_its_neighbours_alone),
      TEST(columns_that_are_done_cost_nothing),
      TEST(dropping_columns_changes_no_bit),
      TEST(mixed_solutions_do_not_depend_on_neighbours),
      TEST(a_column_is_solved_as_well_at_any_size),
      TEST(a_worthless_guess_is_dropped),
      TEST(powers_of_two_change_no_bit_of_a_column),
      TEST(the_goal_of_variances_has_any_size),
      TEST(a_marginal_likelihood_has_weights_of_any_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
