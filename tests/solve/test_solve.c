/* test_solve.c - conjugate gradients, preconditioners, Lanczos and the stochastic marginal likelihood,
** against dense elimination in doubles. */
#include "graph/grad/grad.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_cg_options *o, gb_cg_info *info) {
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
      const gb_cg_options o = {.tol = d == 0 ? 1e-10 : 1e-5, .max_iter = 500};
      gb_cg_info info;
      gb_node *x = solve(a, b, &o, &info);
      assert_true(info.converged && info.reason == GB_CG_CONVERGED && info.iterations > 5 &&
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
    const gb_cg_options o = {.tol = 1e-14, .max_iter = iterations};
    gb_cg_info info;
    gb_node *x = solve(a, b, &o, &info);
    assert_false(info.converged);
    assert_int_equal(info.reason, GB_CG_MAX_ITER);
    assert_int_equal(info.iterations, iterations);
    CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-6 * info.residual);
  }
}

static void a_residual_below_the_dtype_stagnates_instead_of_looping (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F32, 60, scalar(GB_F32, 0, 10)), 1e-2),
          *b = random_leaf(GB_F32, 0, 60, 1, 4);
  const gb_cg_options o = {.tol = 1e-12, .max_iter = 100000};
  gb_cg_info info;
  solve(a, b, &o, &info);
  if (info.reason != GB_CG_STAGNATED)
    fail_msg("%s %g %d", gb_cg_reason_text(info.reason), info.residual, info.iterations);
  assert_string_equal(gb_cg_reason_text(info.reason), "stagnated");
  assert_true(info.residual < 1e-3 && info.residual > 1e-12);
}

static void a_column_does_not_depend_on_its_neighbours (void **state) {
  (void)state;
  const size_t n = 70;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 0.1),
          *b = random_leaf(GB_F64, 0, n, 3, 5);
  const gb_cg_options o = {.tol = 1e-8, .max_iter = 500};
  gb_cg_info info;
  double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[70];
  for (size_t c = 0; c < 3; c++) {
    for (size_t i = 0; i < n; i++) alone[i] = vb[i * 3 + c];
    double *x = doubles(solve(a, leaf(GB_F64, 0, 1, &n, alone), &o, &info));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(all[i * 3 + c], x[i], 0);
    free(x);
  }
  free(all), free(vb);
}

static void every_column_is_measured_by_its_own_length (void **state) {
  (void)state;
  const size_t n = 40;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 0.1);
  double b[80];
  for (size_t i = 0; i < n; i++)
    b[2 * i] = 1e6 * gb_rand_normal(1, 0, i), b[2 * i + 1] = 1e-6 * gb_rand_normal(1, 1, i);
  gb_node *rhs = leaf(GB_F64, 0, 2, (size_t[]){n, 2}, b);
  const gb_cg_options o = {.tol = 1e-8, .max_iter = 500};
  gb_cg_info info;
  gb_node *x = solve(a, rhs, &o, &info);
  assert_true(info.converged && true_residual(a, rhs, x) <= 1.01e-8);
}

static void edge_cases_are_solved_at_once (void **state) {
  (void)state;
  const gb_cg_options o = GB_CG_DEFAULTS;
  gb_cg_info info;
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
  gb_cg_options o = {.tol = 1e-9, .max_iter = 500};
  gb_cg_info info;
  o.x0 = solve(a, b, &o, &info);
  solve(a, b, &o, &info);
  assert_true(info.converged && info.iterations == 0);
}

static void indefinite_and_broken_matrices_are_reported (void **state) {
  (void)state;
  const double indefinite[] = {1, 0, 0, -1}, broken[] = {1, NAN, NAN, 1}, b[] = {1, 2};
  const gb_cg_options o = GB_CG_DEFAULTS;
  gb_cg_info info;
  gb_node *rhs = leaf(GB_F64, 0, 1, (size_t[]){2}, b);
  solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, indefinite), rhs, &o, &info);
  assert_false(info.converged);
  assert_int_equal(info.reason, GB_CG_INDEFINITE);
  assert_true(info.residual > 0.1);
  solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, broken), rhs, &o, &info);
  assert_int_equal(info.reason, GB_CG_NAN);
  assert_true(isnan(info.residual));
}

static void a_broken_column_leaves_its_neighbours_alone (void **state) {
  (void)state;
  const double m[] = {2, 1, 1, 3}, b[] = {1, NAN, 2, 1};
  const gb_cg_options o = {.tol = 1e-12, .max_iter = 50};
  gb_cg_info info;
  double *x = doubles(
      solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 2, (size_t[]){2, 2}, b), &o, &info));
  assert_int_equal(info.reason, GB_CG_NAN);
  CHECK_NEAR(x[0], 0.2, 1e-14);
  CHECK_NEAR(x[2], 0.6, 1e-14);
  free(x);
}

static void wrong_shapes_and_options_are_errors (void **state) {
  (void)state;
  gb_cg_options o = GB_CG_DEFAULTS;
  gb_cg_info info;
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
  const gb_cg_options o = GB_CG_DEFAULTS;
  gb_cg_info info;
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
  const gb_solver_options o = {.run = {.cg = GB_CG_DEFAULTS, .probes = 3},
                               .precond = {GB_PRECOND_PIVOTED_CHOLESKY, 5, 0}};
  const size_t nodes = g->nnodes, used = dev->ledger.used;
  gb_status st;
  long n = 0;
  do {
    gb_precond made;
    gb_node *x = NULL, *lazy = NULL, *noise = NULL;
    gb_cg_info info;
    dev->ledger.fail_after = (long)dev->ledger.allocations + n++;
    st = gb_precond_make(&made, &o.precond, a, k, gb_noise_level(0.1), &err);
    const gb_cg_options now = {.tol = 1e-6, .max_iter = 100, .precond = &made, .mixed = true};
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

/* -- columns of any size */

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
    gb_cg_options o = {.tol = exact ? 1e-10 : 1e-4,
                       .max_iter = 500,
                       .mixed = kind % 3 == 2,
                       .precond = conditioned ? &p : NULL};
    gb_cg_info one, all;
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
  const gb_cg_options o = {.tol = 1e-12, .max_iter = 50, .x0 = leaf(GB_F64, 0, 2, (size_t[]){2, 4}, guess)};
  gb_cg_info info;
  double *x = doubles(
      solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 2, (size_t[]){2, 4}, b), &o, &info));
  assert_true(info.reason == GB_CG_NAN && info.column == 3);
  const double want[] = {0, 0.2, 0.2, NAN, 0, 0.6, 0.6, NAN};
  for (int i = 0; i < 8; i++)
    if (i % 4 < 3) CHECK_NEAR(x[i], want[i], 1e-12);
  free(x);
}

/* The bits are those of columns that are not scaled, where these have squares. */
static void scaling_changes_no_bit_of_a_usual_column (void **state) {
  (void)state;
  enum { N = 90, R = 3 };
  const int exponent[R] = {0, 20, -30};
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.01),
          *b = random_leaf(GB_F64, 0, N, R, 3);
  double *vb = doubles(b), *rhs = doubles(times_powers(GB_F64, vb, N, R, exponent)), scratch[2 * R];
  for (int mixed = 0; mixed < 2; mixed++) {
    const gb_cg_options o = {.tol = 1e-9, .max_iter = 500, .mixed = mixed};
    gb_cg_matrix m;
    gb_cg_info plain, scaled;
    ok(gb_cg_matrix_init(&m, a, R, &o, &err));
    gb_work room[3];
    gb_panel column[3];
    double *got[2][3];
    for (int k = 0; k < 3; k++) column[k] = panel(&room[k], N, R, k == 0 ? rhs : NULL);
    ok(gb_cg_columns(&m, &o, column[0], false, column[1], column[2], NULL, &plain, &err));
    for (int k = 0; k < 3; k++) got[0][k] = entries_of(column[k].at, N * R);
    ok(gb_cg_scaled(&m, &o, column[0], false, column[1], column[2], NULL, scratch, &scaled, &err));
    assert_true(plain.converged && plain.iterations == scaled.iterations &&
                plain.residual == scaled.residual);
    for (int k = 0; k < 3; k++) {
      got[1][k] = entries_of(column[k].at, N * R);
      assert_memory_equal(got[0][k], got[1][k], N * R * sizeof(double));
      if (k == 0) assert_memory_equal(got[1][k], rhs, N * R * sizeof(double));
      free(got[0][k]), free(got[1][k]);
      gb_work_free(&room[k]);
    }
    gb_cg_matrix_clear(&m);
  }
  free(vb), free(rhs);
}

static void the_goal_of_variances_has_any_size (void **state) {
  (void)state;
  enum { N = 90, R = 3 };
  const int exponent[R] = {0, -450, 400};
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.01),
          *b = random_leaf(GB_F64, 0, N, R, 3);
  double *vb = doubles(b), prior[2][R] = {{1e4, 3e4, 2e4}}, form[2][R], missing[2][R];
  gb_cg_info info[2];
  for (int k = 0; k < 2; k++) {
    const gb_cg_options o = {.tol = 1e-3, .max_iter = 500, .goal = {prior[k], 0.01, form[k], missing[k]}};
    for (size_t c = 0; k == 1 && c < R; c++) prior[1][c] = ldexp(prior[0][c], 2 * exponent[c]);
    solve(a, k == 0 ? b : times_powers(GB_F64, vb, N, R, exponent), &o, &info[k]);
    assert_true(info[k].converged && info[k].iterations == info[0].iterations &&
                info[k].missing == info[0].missing);
  }
  assert_true(info[0].iterations > 3 && info[0].missing > 0);
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
  const gb_logdet_options o = {.cg = {.tol = 1e-8, .rest = 1e-4, .max_iter = 500}, .probes = 4, .seed = 9};
  const size_t r = gb_marginal_columns(&o, N);
  for (int s = 0; s < 3; s++) {
    gb_cg_matrix m;
    gb_logdet_info info;
    for (size_t i = 0; i < N; i++) sized[i] = ldexp(vb[i], exponent[s]);
    gb_work right, result;
    panel(&result, gb_marginal_size(N, r), 1, NULL);
    ok(gb_cg_matrix_init(&m, a, r, &o.cg, &err));
    ok(gb_marginal_run(&m, panel(&right, N, 1, sized), &o, result.at.entries, &info, &err));
    out[s] = entries_of(result.at.entries, gb_marginal_size(N, r));
    gb_cg_matrix_clear(&m);
    gb_work_free(&right), gb_work_free(&result);
    assert_true(info.cg.converged && info.cg.first <= 1e-8);
    CHECK_NEAR(out[s][GB_MARGINAL_INV_QUAD], ldexp(out[0][GB_MARGINAL_INV_QUAD], 2 * exponent[s]), 0);
    assert_true(out[s][GB_MARGINAL_LOGDET] == out[0][GB_MARGINAL_LOGDET]);
    for (size_t i = 0; i < N; i++)
      CHECK_NEAR(out[s][gb_marginal_alpha(r) + i], ldexp(out[0][gb_marginal_alpha(r) + i], exponent[s]), 0);
  }
  for (int s = 0; s < 3; s++) free(out[s]);
  free(vb);
}

/* -- preconditioners */

/* Dense L L' + noise I. */
static double *dense_precond (const gb_precond *p) {
  const size_t n = p->form.n, rank = p->form.rank;
  double *m = calloc(n * n + 1, sizeof *m), *lt = entries_of(p->form.lt, rank * n),
         *scale = p->form.scale != NULL ? entries_of(p->form.scale, n) : NULL;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      m[i * n + j] = i == j ? p->form.noise : 0;
      for (size_t k = 0; k < rank; k++) m[i * n + j] += lt[k * n + i] * lt[k * n + j];
      if (scale != NULL) m[i * n + j] /= scale[i] * scale[j];
    }
  free(lt), free(scale);
  return m;
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
  gb_cg_options o = {.tol = 1e-8, .max_iter = 2000};
  gb_cg_info plain, preconditioned;
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
  gb_cg_options o = {.tol = 1e-10, .max_iter = 300};
  gb_cg_info plain, scaled;
  solve(a, b, &o, &plain);
  gb_precond p;
  ok(gb_precond_jacobi(&p, a, &err));
  o.precond = &p;
  solve(a, b, &o, &scaled);
  assert_true(scaled.converged && scaled.iterations < 60 &&
              (!plain.converged || plain.iterations > scaled.iterations));
  gb_precond_clear(&p);
}

/* -- Lanczos and quadrature */

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
  gb_logdet_options o = {.cg = {.tol = 1e-8, .max_iter = 400}, .probes = 20, .seed = 1};
  gb_logdet_info plain, again, better;
  ok(gb_logdet_slq(a, &o, &plain, &err));
  ok(gb_logdet_slq(a, &o, &again, &err));
  assert_memory_equal(&plain.value, &again.value, sizeof(double));
  const double want = exact_logdet(a);
  CHECK_NEAR(plain.value, want, 4 * plain.standard_error);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.05), 30, 0, &err));
  o.cg.precond = &p;
  ok(gb_logdet_slq(a, &o, &better, &err));
  CHECK_NEAR(better.value, want, 4 * better.standard_error + 1e-9);
  assert_true(better.standard_error < plain.standard_error / 3);
  gb_precond_clear(&p);
}

/* -- gradients */

static double item (gb_node *n) {
  double v;
  ok(gb_node_doubles(n, &v, &err));
  return v;
}

static gb_node *lazily (gb_node *a, gb_node *b, gb_node *x0, const gb_solver_options *o) {
  return BUILD(gb_solver_solve, a, b, x0, NULL, NULL, o);
}

static void the_gradient_of_a_solution_is_the_implicit_one (void **state) {
  (void)state;
  const size_t n = 40;
  const gb_solver_options o = {.run.cg = {.tol = 1e-12, .max_iter = 500}};
  gb_node *c = scalar(GB_F64, GB_NODE_GRAD, 20), *b = random_leaf(GB_F64, GB_NODE_GRAD, n, 1, 5);
  gb_node *a = plus_noise(kernel(GB_F64, n, c), 0.1), *cotangent = random_leaf(GB_F64, 0, n, 1, 6);
  gb_node *x = lazily(a, b, NULL, &o);
  gb_node *grads[2] = {NULL}, *const xs[] = {c, b};
  ok(gb_grad(x, cotangent, 2, xs, false, grads, &err));
  hold_node(GB_OK, grads[0]), hold_node(GB_OK, grads[1]);
  double *vg = doubles(cotangent), *vb = doubles(b), moved[2];
  for (int side = 0; side < 2; side++) { /* <g, x> at c -+ h, by elimination */
    double *m = doubles(plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 20 + (side ? 1e-4 : -1e-4))), 0.1)),
           *v = doubles(b);
    eliminate(m, v, n, 1);
    moved[side] = 0;
    for (size_t i = 0; i < n; i++) moved[side] += vg[i] * v[i];
    free(m), free(v);
  }
  const double want = (moved[1] - moved[0]) / 2e-4;
  CHECK_NEAR(item(grads[0]), want, 1e-5 * fabs(want));
  double *m = doubles(a), *u = doubles(cotangent), *got = doubles(grads[1]);
  eliminate(m, u, n, 1); /* A is symmetric: b_bar = A^-1 g */
  for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], u[i], 1e-8 * (1 + fabs(u[i])));
  free(vg), free(vb), free(m), free(u), free(got);
}

/* With A = c M the exact derivatives in c are -inv_quad / c and n / c, and the normalised probes give just
** these. */
static void the_marginal_likelihood_has_the_gradient_of_both_terms (void **state) {
  (void)state;
  const size_t n = 60;
  gb_node *c = scalar(GB_F64, GB_NODE_GRAD, 1.7), *b = random_leaf(GB_F64, GB_NODE_GRAD, n, 1, 5);
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *fixed = plus_noise(k, 0.1),
          *noise = scalar(GB_F64, 0, 0.1);
  gb_node *a = BUILD(gb_map2, GB_OP_MUL, fixed, c);
  for (int way = 0; way < 3; way++) { /* without and with a preconditioner, and with all unit vectors */
    const gb_solver_options o = {
        .run = {.cg = {.tol = 1e-11, .max_iter = 500}, .probes = 4, .seed = 9, .exact = way == 2},
        .precond = {way == 1 ? GB_PRECOND_PIVOTED_CHOLESKY : GB_PRECOND_NONE, 20, 0}};
    gb_node *head = NULL, *all = NULL;
    ok(gb_solver_marginal(a, b, k, noise, &o, &head, &all, &err));
    hold_node(GB_OK, head), hold_node(GB_OK, all);
    assert_null(gb_solver_report_of(all));
    double *va = doubles(a), *vx = doubles(b), *vb = doubles(b), quad = 0, *h = doubles(head);
    const double logdet = eliminate(va, vx, n, 1);
    for (size_t i = 0; i < n; i++) quad += vb[i] * vx[i];
    const gb_solver_report *report = gb_solver_report_of(all);
    assert_non_null(report);
    assert_true(report->info.cg.converged && report->info.standard_error == h[GB_MARGINAL_ERROR]);
    CHECK_NEAR(h[GB_MARGINAL_INV_QUAD], quad, 1e-9 * quad);
    CHECK_NEAR(h[GB_MARGINAL_LOGDET], logdet, way == 2 ? 1e-8 : 5 * report->info.standard_error + 1e-6);
    assert_true((way == 2) == (report->info.standard_error == 0));
    gb_node *inv_quad = BUILD(gb_select, head, 0, GB_MARGINAL_INV_QUAD),
            *log = BUILD(gb_select, head, 0, GB_MARGINAL_LOGDET),
            *sum = BUILD(gb_map2, GB_OP_ADD, inv_quad, log), *grads[2] = {NULL}, *const xs[] = {c, b};
    ok(gb_grad(sum, NULL, 2, xs, false, grads, &err));
    hold_node(GB_OK, grads[0]), hold_node(GB_OK, grads[1]);
    CHECK_NEAR(item(grads[0]), (-quad + (double)n) / 1.7, 1e-7 * quad);
    double *got = doubles(grads[1]);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], 2 * vx[i], 1e-8 * (1 + fabs(vx[i])));
    gb_node *twice = NULL, *const again[] = {c};
    assert_int_equal(gb_grad(grads[0], NULL, 1, again, false, &twice, &err), GB_EOPTION);
    assert_non_null(strstr(err.text, "no second derivatives"));
    free(va), free(vx), free(vb), free(got), free(h);
  }
}

/* The same estimator, its probes drawn and normalised here, over dense matrices: sum u' (dA / dc) w /
** probes - alpha' (dA / dc) alpha with dA / dc = -s K / 2, s the squared distances. */
static void the_gradient_is_that_of_the_dense_estimator (void **state) {
  (void)state;
  enum { N = 60, PROBES = 5, R = PROBES + 1 };
  gb_node *c = scalar(GB_F64, GB_NODE_GRAD, 30), *k = kernel(GB_F64, N, c), *a = plus_noise(k, 0.1),
          *b = random_leaf(GB_F64, 0, N, 1, 5), *noise = scalar(GB_F64, 0, 0.1), *head = NULL, *all = NULL,
          *slope = NULL;
  const gb_solver_options o = {.run = {.cg = {.tol = 1e-10, .max_iter = 500}, .probes = PROBES, .seed = 4},
                               .precond = {GB_PRECOND_PIVOTED_CHOLESKY, 8, 0}};
  ok(gb_solver_marginal(a, b, k, noise, &o, &head, &all, &err));
  hold_node(GB_OK, head), hold_node(GB_OK, all);
  gb_node *quad = BUILD(gb_select, head, 0, GB_MARGINAL_INV_QUAD),
          *logdet = BUILD(gb_select, head, 0, GB_MARGINAL_LOGDET),
          *both = BUILD(gb_map2, GB_OP_ADD, quad, logdet);
  ok(gb_grad(both, NULL, 1, &c, false, &slope, &err));
  hold_node(GB_OK, slope);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.1), 8, 0, &err));
  double *va = doubles(a), *vb = doubles(b), *vk = doubles(k), rhs[N * R] = {0}, x[N * R], w[N * R], want = 0;
  sample_precond(&p, 4, N, R, 1, rhs);
  for (size_t i = 0; i < N; i++) rhs[i * R] = vb[i];
  double *m = dense_precond(&p);
  memcpy(w, rhs, sizeof w);
  eliminate(m, w, N, R);
  for (size_t q = 1; q < R; q++) {
    double zz = 0;
    for (size_t i = 0; i < N; i++) zz += rhs[i * R + q] * w[i * R + q];
    for (size_t i = 0; i < N; i++) rhs[i * R + q] *= sqrt(N / zz), w[i * R + q] *= sqrt(N / zz);
  }
  memcpy(x, rhs, sizeof x);
  eliminate(va, x, N, R);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      const double slope_ij = vk[i * N + j] > 0 && i != j ? vk[i * N + j] * log(vk[i * N + j]) / 30 : 0;
      want -= x[i * R] * slope_ij * x[j * R];
      for (size_t q = 1; q < R; q++) want += x[i * R + q] * slope_ij * w[j * R + q] / PROBES;
    }
  CHECK_NEAR(item(slope), want, 1e-7 * fabs(want));
  free(m), free(va), free(vb), free(vk);
  gb_precond_clear(&p);
}

/* -- nodes */

static void a_lazy_solve_is_the_solve (void **state) {
  (void)state;
  const size_t n = 70;
  for (int r = 1; r <= 3; r += 2) {
    gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.1),
            *b = random_leaf(GB_F64, 0, n, (size_t)r, 3);
    const gb_solver_options o = {.run.cg = {.tol = 1e-9, .max_iter = 500},
                                 .precond = {GB_PRECOND_PIVOTED_CHOLESKY, 10, 0}};
    gb_precond p;
    ok(gb_precond_make(&p, &o.precond, a, k, gb_noise_level(0.1), &err));
    gb_cg_options now = o.run.cg;
    now.precond = &p;
    gb_cg_info info;
    double *want = doubles(solve(a, b, &now, &info));
    gb_node *noise = BUILD(gb_node_const, g, 0.1, GB_F64),
            *x = BUILD(gb_solver_solve, a, b, NULL, k, noise, &o);
    assert_false(gb_node_has_value(x));
    double *got = doubles(x);
    assert_memory_equal(got, want, n * (size_t)r * sizeof *got);
    const gb_solver_report *report = gb_solver_report_of(x);
    assert_int_equal(report->info.cg.iterations, info.iterations);
    assert_true(report->info.cg.residual == info.residual && report->info.cg.converged);
    gb_node *from_x = BUILD(gb_solver_solve, a, b, x, k, noise, &o);
    free(got);
    got = doubles(from_x);
    assert_int_equal(gb_solver_report_of(from_x)->info.cg.iterations, 0);
    assert_memory_equal(got, want, n * (size_t)r * sizeof *got);
    free(got), free(want);
    gb_precond_clear(&p);
  }
}

/* Peak as planned and as measured, arenas poisoned, for every kind of solve; and one byte less is refused. */
static void a_solve_takes_what_its_plan_says (void **state) {
  (void)state;
  const size_t n = 300;
  for (int d = 0; d < 2; d++)
    for (int way = 0; way < 6; way++) {
      const gb_dtype t = d == 0 ? GB_F64 : GB_F32;
      gb_node *c = scalar(t, GB_NODE_GRAD, 30), *k = kernel(t, n, c), *a = plus_noise(k, 0.1),
              *b = random_leaf(t, GB_NODE_GRAD, n, way % 2 == 0 ? 1 : 5, 3),
              *noise = BUILD(gb_node_const, g, 0.1, GB_F64);
      const gb_solver_options o = {
          .run = {.cg = {.tol = 1e-3, .max_iter = 500, .mixed = way == 4}, .probes = 6},
          .precond = {way == 1  ? GB_PRECOND_JACOBI
                      : way > 1 ? GB_PRECOND_PIVOTED_CHOLESKY
                                : GB_PRECOND_NONE,
                      40, 0}};
      gb_node *y = NULL, *all = NULL, *outs[3];
      if (way == 2) {
        ok(gb_solver_marginal(a, b, k, noise, &o, &y, &all, &err));
        hold_node(GB_OK, all);
      } else ok(gb_solver_solve(a, b, NULL, k, noise, &o, &y, &err));
      hold_node(GB_OK, y);
      gb_node *sum = BUILD(gb_reduce, GB_OP_SUM, y, 0, false), *const xs[] = {c, b};
      outs[0] = sum;
      ok(gb_grad(sum, NULL, 2, xs, false, outs + 1, &err));
      hold_node(GB_OK, outs[1]), hold_node(GB_OK, outs[2]);
      for (int poison = 0x55; poison <= 0xaa; poison += 0x55) {
        gb_plan *p;
        gb_plan_report report;
        gb_run_stats s;
        ok(gb_plan_new(g, 3, outs, NULL, &p, &err));
        *gb_plan_memcheck(g) = (gb_memcheck_watch){.on = true, .poison = (unsigned char)poison};
        ok(gb_plan_run(p, &err));
        gb_plan_memcheck(g)->on = false;
        if (gb_plan_memcheck(g)->strays > 0 || gb_plan_memcheck(g)->unwritten >= 64)
          fail_msg("%s", gb_plan_memcheck(g)->first);
        gb_plan_report_get(p, &report);
        gb_plan_stats(p, &s);
        if (poison == 0x55) assert_int_equal(s.measured, report.peak);
        gb_plan_free(p);
      }
    }
}

static void a_solve_is_refused_below_its_minimum (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 200, scalar(GB_F64, 0, 30)), 0.1),
          *b = random_leaf(GB_F64, 0, 200, 4, 3);
  const gb_solver_options o = {.run.cg = GB_CG_DEFAULTS};
  gb_node *x = lazily(a, b, NULL, &o);
  gb_plan *p;
  gb_plan_report report;
  ok(gb_plan_new(g, 1, &x, NULL, &p, &err));
  gb_plan_report_get(p, &report);
  gb_plan_free(p);
  assert_true(report.minimum > 0 && report.minimum <= report.peak);
  assert_int_equal(gb_plan_new(g, 1, &x, &(gb_plan_options){.budget = report.minimum - 1}, &p, &err),
                   GB_EREFUSED);
  assert_int_equal(err.need > report.minimum - 1, 1);
  ok(gb_plan_new(g, 1, &x, &(gb_plan_options){.budget = report.minimum}, &p, &err));
  ok(gb_plan_run(p, &err));
  gb_plan_free(p);
  assert_true(gb_solver_report_of(x)->info.cg.converged);
}

static void steps_of_an_optimiser_share_their_op (void **state) {
  (void)state;
  const gb_solver_options o = {.run.cg = GB_CG_DEFAULTS}, other = {.run.cg = {.tol = 1e-7, .max_iter = 1000}};
  gb_node *b = random_leaf(GB_F64, 0, 30, 1, 3), *first = NULL;
  for (int i = 0; i < 3; i++) {
    gb_node *x =
        lazily(plus_noise(kernel(GB_F64, 30, scalar(GB_F64, GB_NODE_PARAM, 10 + i)), 0.1), b, NULL, &o);
    if (first == NULL) first = x;
    assert_int_equal(x->attr.i[0], first->attr.i[0]);
    assert_true(i == 0 || x != first);
  }
  gb_node *a = plus_noise(kernel(GB_F64, 30, scalar(GB_F64, 0, 10)), 0.1);
  assert_true(lazily(a, b, NULL, &other)->attr.i[0] != first->attr.i[0]);
  assert_ptr_equal(lazily(a, b, NULL, &o), lazily(a, b, NULL, &o));
}

/* A's boundary holds both x and what is made of x: no path of the gradient is taken twice. */
static void gradients_reach_values_that_are_made_of_each_other (void **state) {
  (void)state;
  const size_t n = 30;
  const gb_solver_options o = {.run.cg = {.tol = 1e-12, .max_iter = 500}};
  gb_node *b = random_leaf(GB_F64, 0, n, 1, 5), *points = random_leaf(GB_F64, 0, n, 2, 7),
          *unit = scalar(GB_F64, 0, 1);
  double value[3], slope = 0;
  for (int i = 0; i < 3; i++) { /* A = (s + exp(-|s x - s y|^2 / 2)) ^ 2 + I, at s - h, s + h, s */
    gb_node *s = scalar(GB_F64, i == 2 ? GB_NODE_GRAD : 0,
                        0.7 + (i == 0   ? -1e-5
                               : i == 1 ? 1e-5
                                        : 0)),
            *scaled = BUILD(gb_map2, GB_OP_MUL, points, s), *dist = BUILD(gb_sqdist, scaled, scaled, NULL),
            *k = BUILD(gb_radial, GB_RBF, dist, unit, NULL), *more = BUILD(gb_map2, GB_OP_MUL, k, s),
            *a = plus_noise(more, 1), *x = lazily(a, b, NULL, &o), *squares = BUILD(gb_map2, GB_OP_MUL, x, b),
            *y = BUILD(gb_reduce, GB_OP_SUM, squares, 0, false), *bar = NULL;
    value[i] = item(y);
    if (i < 2) continue;
    ok(gb_grad(y, NULL, 1, &s, false, &bar, &err));
    slope = item(hold_node(GB_OK, bar));
  }
  CHECK_NEAR(slope, (value[1] - value[0]) / 2e-5, 1e-6 * fabs(slope));
}

/* -- columns */

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
  const gb_cg_options o = {.tol = 1e-6, .max_iter = 500};
  gb_cg_info info;
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
        const gb_cg_options o = {.tol = 1e-10, .max_iter = 500};
        gb_cg_info info;
        double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[90];
        if (!info.converged || (r > 2 && info.iterations <= 3))
          fail_msg("%s %g %d", gb_cg_reason_text(info.reason), info.residual, info.iterations);
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

static void convergence_is_that_of_the_worst_column_on_both_sides_of_the_boundary (void **state) {
  (void)state;
  const size_t n = 60;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 5), *b = random_leaf(GB_F64, 0, n, 3, 4);
  for (int steps = 1; steps <= 10; steps += 3) {
    gb_cg_options o = {.tol = 1e-13, .max_iter = steps};
    gb_cg_info info;
    solve(a, b, &o, &info);
    assert_int_equal(info.reason, GB_CG_MAX_ITER);
    const double reached = info.residual;
    assert_true(reached == fmax(info.first, info.others) && reached < 1);
    o.tol = reached * 1.0000001;
    solve(a, b, &o, &info);
    assert_true(info.converged && info.reason == GB_CG_CONVERGED && info.residual <= o.tol);
    o.tol = reached * 0.9999;
    solve(a, b, &o, &info);
    assert_true(!info.converged && info.reason == GB_CG_MAX_ITER && info.residual > o.tol);
  }
}

static void a_tolerance_of_one_is_refused (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 5, scalar(GB_F64, 0, 1)), 0.1), *b = random_leaf(GB_F64, 0, 5, 1, 1),
          *x = NULL;
  const double bad[] = {1, 2, 0, -1, NAN, INFINITY};
  gb_cg_info info;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const gb_cg_options o = {.tol = bad[i], .max_iter = 10};
    assert_int_equal(gb_solve_cg(a, b, &o, &x, &info, &err), GB_EOPTION);
    const gb_solver_options lazy = {.run.cg = o};
    assert_int_equal(gb_solver_solve(a, b, NULL, NULL, NULL, &lazy, &x, &err), GB_EOPTION);
  }
}

static void the_first_column_may_be_held_to_more_than_the_others (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 80, scalar(GB_F64, 0, 30)), 0.05),
          *b = random_leaf(GB_F64, 0, 80, 4, 4);
  const gb_cg_options o = {.tol = 1e-9, .rest = 1e-2, .max_iter = 500};
  gb_cg_info info;
  solve(a, b, &o, &info);
  assert_true(info.converged && info.first <= 1e-9 && info.others <= 1e-2 && info.others > 1e-6);
}

static void an_indefinite_column_is_named_with_its_curvature (void **state) {
  (void)state;
  double d[50], v[100];
  for (int i = 0; i < 50; i++) d[i] = i == 7 ? -0.25 : 1 + i % 3, v[2 * i] = i != 7, v[2 * i + 1] = i == 7;
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){50}, d)),
          *b = leaf(GB_F64, 0, 2, (size_t[]){50, 2}, v);
  const gb_cg_options o = GB_CG_DEFAULTS;
  gb_cg_info info;
  char text[GB_CG_TEXT];
  double *x = doubles(solve(a, b, &o, &info));
  assert_int_equal(info.reason, GB_CG_INDEFINITE);
  assert_int_equal(info.column, 1);
  CHECK_NEAR(info.curvature, -0.25, 1e-15);
  assert_true(info.first <= 1e-6 && info.others == 1);
  assert_non_null(strstr(gb_cg_text(&info, &o, text), "column 2 met the curvature -0.25"));
  /* its neighbour is solved */
  for (int i = 0; i < 50; i++) CHECK_NEAR(x[2 * i], i == 7 ? 0 : 1 / d[i], 1e-6);
  free(x);
}

/* -- precision */

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
      const gb_cg_options o = {.tol = tol[i], .max_iter = 5000, .mixed = true, .precond = &p};
      gb_cg_info info;
      gb_node *x = solve(a, b, &o, &info);
      assert_int_equal(gb_node_dtype(x), GB_F64);
      if (!info.converged)
        fail_msg("noise %g: %s, %g after %d", noise[i], gb_cg_reason_text(info.reason), info.residual,
                 info.iterations);
      assert_true(info.residual <= tol[i]);
      if (d == 0) assert_true(true_residual(a, b, x) <= 1.1 * tol[i]);
      gb_precond_clear(&p);
    }
}

static void mixed_solutions_do_not_depend_on_neighbours (void **state) {
  (void)state;
  const size_t n = 100;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 1e-3), *b = uneven_columns(n, 5, 1);
  const gb_cg_options o = {.tol = 1e-10, .max_iter = 5000, .mixed = true};
  gb_cg_info info;
  double *all = doubles(solve(a, b, &o, &info)), *vb = doubles(b), alone[100];
  for (size_t c = 0; c < 5; c++) {
    for (size_t i = 0; i < n; i++) alone[i] = vb[i * 5 + c];
    double *x = doubles(solve(a, leaf(GB_F64, 0, 1, &n, alone), &o, &info));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(all[i * 5 + c], x[i], SAME_BITS);
    free(x);
  }
  free(all), free(vb);
}

/* -- statistics */

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
      const gb_cg_options o = {.tol = tol,
                               .max_iter = 1000,
                               .mixed = kind % 2 == 1,
                               .precond = p.form.n > 0 ? &p : NULL,
                               .goal = {prior, noise, form, missing}};
      gb_cg_info info;
      solve(an, bn, &o, &info);
      assert_true(info.converged && info.iterations > before && info.missing <= tol);
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
  const gb_cg_options few = {.tol = 1e-6, .max_iter = 2, .goal = {prior, noise, form, missing}};
  gb_cg_info info;
  char text[GB_CG_TEXT];
  solve(an, bn, &few, &info);
  assert_true(!info.converged && info.reason == GB_CG_MAX_ITER && info.missing > 1e-6);
  for (size_t c = 0; c < R; c++) assert_true(q[c] - form[c] <= missing[c] + 1e-12);
  assert_non_null(strstr(gb_cg_text(&info, &few, text), "of itself after 2 steps, expected 1e-06"));
  free(all), free(a), free(b), free(solution);
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
        .cg = {.tol = 1e-2, .max_iter = 400, .precond = &p}, .probes = 16, .seed = seed};
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
  const gb_cg_trace trace = {.max_steps = 1, .steps = steps, .alpha = alpha, .beta = beta};
  gb_logdet_info info;
  ok(gb_probes_logdet(NULL, &trace, 5, 4, 1, 3, &info, &err));
  CHECK_NEAR(info.value, 5 * 3.0, 1e-12);
  CHECK_NEAR(info.standard_error, 5 * sqrt((4 + 1 + 9) / 2.0 / 3), 1e-12);
  CHECK_NEAR(info.truncation, 15, 1e-12); /* four fifths of one step are none */
  ok(gb_probes_logdet(NULL, &trace, 5, 4, 1, 2, &info, &err));
  CHECK_NEAR(info.standard_error, 5 * sqrt(0.5 / 2), 1e-12);
  ok(gb_probes_logdet(NULL, &trace, 5, 4, 1, 1, &info, &err));
  assert_true(info.standard_error == INFINITY);
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
    const gb_cg_trace trace = {.max_steps = 3, .steps = steps, .alpha = alpha, .beta = beta};
    const double condition = gb_trace_condition(&trace, 1, 0);
    CHECK_NEAR(condition / 2e6, 1, 1e-12);
  }
}

/* From a run: a lower bound that has seen every eigenvalue. */
static void the_condition_of_a_solve_sees_the_least_eigenvalue (void **state) {
  (void)state;
  double diagonal[9] = {1e-6, 0, 0, 0, 1, 0, 0, 0, 2}, one[3] = {1, 1, 1};
  gb_node *a = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, diagonal), *b = leaf(GB_F64, 0, 1, (size_t[]){3}, one);
  const gb_cg_options o = {.tol = 1e-12, .max_iter = 50};
  gb_cg_info info;
  solve(a, b, &o, &info);
  assert_true(info.converged && info.condition >= 1e6 / 4 && info.condition <= 2.0001e6);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(a_log_determinant_tells_the_standard_error_of_its_probes),
      TEST(a_condition_is_of_all_ritz_values),
      TEST(the_condition_of_a_solve_sees_the_least_eigenvalue),
      TEST(cg_agrees_with_elimination),
      TEST(the_reported_residual_is_the_true_one),
      TEST(a_residual_below_the_dtype_stagnates_instead_of_looping),
      TEST(a_column_does_not_depend_on_its_neighbours),
      TEST(every_column_is_measured_by_its_own_length),
      TEST(edge_cases_are_solved_at_once),
      TEST(a_good_first_guess_saves_the_iterations),
      TEST(indefinite_and_broken_matrices_are_reported),
      TEST(a_broken_column_leaves_its_neighbours_alone),
      TEST(wrong_shapes_and_options_are_errors),
      TEST(an_interrupt_ends_the_iteration),
      TEST(a_failed_allocation_leaks_nothing),
      TEST(pivoted_cholesky_approximates_the_kernel_ever_better),
      TEST(pivoted_cholesky_stops_when_nothing_is_left),
      TEST(applying_a_preconditioner_solves_with_it),
      TEST(noises_of_the_points_are_added_to_the_same_factor),
      TEST(samples_have_the_covariance_of_the_preconditioner),
      TEST(preconditioners_save_iterations),
      TEST(jacobi_undoes_bad_scaling),
      TEST(quadrature_is_that_of_gauss_and_legendre),
      TEST(lanczos_gives_an_orthonormal_basis),
      TEST(lanczos_stops_in_an_invariant_subspace),
      TEST(logdet_by_probes_covers_the_truth_and_repeats),
      TEST(the_gradient_of_a_solution_is_the_implicit_one),
      TEST(the_marginal_likelihood_has_the_gradient_of_both_terms),
      TEST(the_gradient_is_that_of_the_dense_estimator),
      TEST(a_lazy_solve_is_the_solve),
      TEST(a_solve_takes_what_its_plan_says),
      TEST(a_solve_is_refused_below_its_minimum),
      TEST(steps_of_an_optimiser_share_their_op),
      TEST(gradients_reach_values_that_are_made_of_each_other),
      TEST(columns_that_are_done_cost_nothing),
      TEST(dropping_columns_changes_no_bit),
      TEST(convergence_is_that_of_the_worst_column_on_both_sides_of_the_boundary),
      TEST(a_tolerance_of_one_is_refused),
      TEST(the_first_column_may_be_held_to_more_than_the_others),
      TEST(an_indefinite_column_is_named_with_its_curvature),
      TEST(mixed_products_reach_the_residual_of_f64),
      TEST(mixed_solutions_do_not_depend_on_neighbours),
      TEST(variances_are_known_to_a_share_of_themselves),
      TEST(a_column_is_solved_as_well_at_any_size),
      TEST(a_worthless_guess_is_dropped),
      TEST(scaling_changes_no_bit_of_a_usual_column),
      TEST(the_goal_of_variances_has_any_size),
      TEST(a_marginal_likelihood_has_weights_of_any_size),
      TEST(quantiles_of_student_are_those_of_the_tables),
      TEST(the_interval_of_log_det_covers_the_truth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
