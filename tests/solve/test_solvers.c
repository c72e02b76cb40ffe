/* test_solvers.c - minimal residuals, alternating projections, dual descent and rows of lazy matrices,
** against dense elimination in doubles. */
#include "iterate/rows.h"
#include "plan/plan.h"
#include "solve/alternating_projections.h"
#include "solve/cg.h"
#include "solve/lanczos.h"
#include "solve/minres.h"
#include "solve/precond/condition.h"
#include "solve/sdd.h"
#include "support/solve_fixture.h"

static gb_node *minres (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_minres(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static gb_node *projections (gb_node *a, gb_node *b, const gb_alternating_projections_options *o,
                             gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_alternating_projections(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

static gb_node *sdd (gb_node *a, gb_node *b, const gb_sdd_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  double step;
  const gb_status st = gb_solve_sdd(a, b, o, &x, &step, info, &err);
  return hold_node(st, x);
}

static gb_node *system_of (gb_dtype t, size_t n, double noise) {
  return plus_noise(kernel(t, n, scalar(t, 0, 30)), noise);
}

static void check_solution (gb_node *a, gb_node *b, gb_node *x, double tol) {
  double *va = doubles(a), *want = doubles(b), *got = doubles(x);
  const size_t n = gb_node_shape(a)->dim[0], r = gb_shape_numel(gb_node_shape(b)) / n;
  eliminate(va, want, n, r);
  for (size_t i = 0; i < n * r; i++) CHECK_NEAR(got[i], want[i], tol * (1 + fabs(want[i])));
  free(va), free(want), free(got);
}

static void minres_solves_definite_and_indefinite_systems (void **state) {
  (void)state;
  for (int shift = 0; shift < 2; shift++)
    for (size_t r = 1; r <= 3; r += 2) {
      gb_node *a = system_of(GB_F64, 90, shift == 0 ? 0.1 : -1.3), *b = random_leaf(GB_F64, 0, 90, r, 3);
      const gb_solve_options o = {.tol = 1e-11, .max_iter = 900};
      gb_solve_info info;
      gb_node *x = minres(a, b, &o, &info);
      assert_true(info.converged && info.reason == GB_SOLVE_CONVERGED && info.residual <= o.tol &&
                  info.iterations > 5);
      CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-13);
      check_solution(a, b, x, 1e-7);
      assert_true(info.condition > 2 && info.bytes >= 11 * 90 * r * sizeof(double));
    }
}

static void minres_reports_the_true_residual_of_what_it_returns (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F64, 80, -0.7), *b = random_leaf(GB_F64, 0, 80, 2, 4);
  for (int steps = 0; steps < 60; steps += 17) {
    const gb_solve_options o = {.tol = 1e-14, .max_iter = steps};
    gb_solve_info info;
    gb_node *x = minres(a, b, &o, &info);
    assert_true(!info.converged && info.reason == GB_SOLVE_MAX_ITER && info.iterations == steps);
    CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-14 + 1e-9 * info.residual);
  }
}

/* The residual of a matrix that is not far from singular never grows. */
static void residuals_of_minres_descend (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F64, 60, -0.4), *b = random_leaf(GB_F64, 0, 60, 1, 4);
  double before = 1;
  for (int steps = 1; steps < 40; steps++) {
    const gb_solve_options o = {.tol = 1e-14, .max_iter = steps};
    gb_solve_info info;
    minres(a, b, &o, &info);
    assert_true(info.residual <= before * (1 + 1e-10));
    before = info.residual;
  }
  assert_true(before < 0.5);
}

static void a_column_of_minres_is_alone (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F64, 70, -0.6), *b = random_leaf(GB_F64, 0, 70, 3, 5);
  const gb_solve_options o = {.tol = 1e-9, .max_iter = 700};
  gb_solve_info info;
  double *all = doubles(minres(a, b, &o, &info)), *vb = doubles(b), one[70];
  for (size_t c = 0; c < 3; c++) {
    for (size_t i = 0; i < 70; i++) one[i] = vb[i * 3 + c];
    double *x = doubles(minres(a, leaf(GB_F64, 0, 1, (size_t[]){70}, one), &o, &info));
    for (size_t i = 0; i < 70; i++) CHECK_NEAR(all[i * 3 + c], x[i], 0);
    free(x);
  }
  free(all), free(vb);
}

static void minres_meets_singular_matrices (void **state) {
  (void)state;
  const double m[] = {1, 0, 0, 0, 0, 0, 0, 0, 3}, in[] = {1, 0, 6}, out[] = {1, 1, 6}, zero[9] = {0};
  gb_node *a = leaf(GB_F64, 0, 2, (size_t[]){3, 3}, m);
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  double *x = doubles(minres(a, leaf(GB_F64, 0, 1, (size_t[]){3}, in), &o, &info));
  assert_true(info.converged);
  CHECK_NEAR(x[2], 2, 1e-12);
  free(x);
  x = doubles(minres(a, leaf(GB_F64, 0, 1, (size_t[]){3}, out), &o, &info));
  assert_int_equal(info.reason, GB_SOLVE_SINGULAR);
  CHECK_NEAR(x[0], 1, 1e-10);
  CHECK_NEAR(x[2], 2, 1e-10);
  CHECK_NEAR(info.residual, 1 / sqrt(38), 1e-10);
  free(x);
  minres(leaf(GB_F64, 0, 2, (size_t[]){3, 3}, zero), leaf(GB_F64, 0, 1, (size_t[]){3}, in), &o, &info);
  assert_true(info.reason == GB_SOLVE_SINGULAR && info.residual == 1);
}

static void minres_takes_a_preconditioner_and_a_guess (void **state) {
  (void)state;
  gb_node *k = kernel(GB_F64, 150, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.01),
          *b = random_leaf(GB_F64, 0, 150, 2, 7);
  gb_solve_options o = {.tol = 1e-9, .max_iter = 2000};
  gb_solve_info plain, info;
  minres(a, b, &o, &plain);
  gb_precond p;
  ok(gb_precond_nystrom(&p, k, gb_noise_level(0.01), 60, 0, 1, &err));
  o.precond = &p;
  gb_node *x = minres(a, b, &o, &info);
  assert_true(info.converged && 2 * info.iterations < plain.iterations);
  check_solution(a, b, x, 1e-6);
  gb_precond_clear(&p);
  o.precond = NULL, o.x0 = x;
  minres(a, b, &o, &info);
  assert_true(info.converged && info.iterations == 0);
}

static void a_tolerance_below_the_dtype_stagnates (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F32, 60, 0.05), *b = random_leaf(GB_F32, 0, 60, 1, 4);
  const gb_solve_options o = {.tol = 1e-12, .max_iter = 100000};
  gb_solve_info info;
  gb_node *x = minres(a, b, &o, &info);
  assert_int_equal(info.reason, GB_SOLVE_STAGNATED);
  assert_true(info.residual < 1e-3 && info.residual > 1e-12 && info.iterations < 5000);
  CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-5);
  const gb_alternating_projections_options p = {
      .solve = {.tol = 1e-12, .max_iter = 100000}, .block = 20, .keep = 1 << 20};
  projections(a, b, &p, &info);
  assert_int_equal(info.reason, GB_SOLVE_STAGNATED);
  assert_true(info.residual < 1e-3 && info.residual > 1e-12);
}

typedef gb_node *solver (gb_node *a, gb_node *b, gb_solve_options o, gb_solve_info *info);

static gb_node *by_minres (gb_node *a, gb_node *b, gb_solve_options o, gb_solve_info *info) {
  return minres(a, b, &o, info);
}
static gb_node *by_projections (gb_node *a, gb_node *b, gb_solve_options o, gb_solve_info *info) {
  return projections(a, b, &(gb_alternating_projections_options){.solve = o, .block = 2, .keep = 1000}, info);
}
static gb_node *by_sdd (gb_node *a, gb_node *b, gb_solve_options o, gb_solve_info *info) {
  return sdd(a, b, &(gb_sdd_options){.solve = o, .batch = 2, .momentum = 0.5}, info);
}
static solver *const solvers[] = {by_minres, by_projections, by_sdd};

static void nothing_and_little_to_solve_is_solved (void **state) {
  (void)state;
  const double m[] = {4, 1, 1, 3}, b[] = {2, 1, 0, 0};
  for (int k = 0; k < 3; k++) {
    const gb_solve_options o = {.tol = 1e-8, .max_iter = 20000};
    gb_solve_info info;
    double *x = doubles(
        solvers[k](leaf(GB_F64, 0, 2, (size_t[]){1, 1}, m), leaf(GB_F64, 0, 1, (size_t[]){1}, b), o, &info));
    assert_true(info.converged);
    CHECK_NEAR(x[0], 0.5, 1e-7);
    free(x);
    x = doubles(
        solvers[k](leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 1, (size_t[]){2}, b), o, &info));
    assert_true(info.converged && info.residual <= 1e-8);
    CHECK_NEAR(x[0], 5.0 / 11, 1e-7);
    free(x);
    gb_node *a = leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m);
    x = doubles(solvers[k](a, leaf(GB_F64, 0, 1, (size_t[]){2}, b + 2), o, &info));
    assert_true(info.converged && info.iterations == 0 && info.residual == 0 && x[0] == 0 && x[1] == 0);
    free(x);
    solvers[k](leaf(GB_F64, 0, 2, (size_t[]){0, 0}, m), leaf(GB_F64, 0, 1, (size_t[]){0}, b), o, &info);
    assert_true(info.converged);
    solvers[k](a, leaf(GB_F64, 0, 2, (size_t[]){2, 0}, b), o, &info);
    assert_true(info.converged);
  }
}

/* Squares of such numbers are 0, or infinite. */
static void the_size_of_a_right_hand_side_does_not_matter (void **state) {
  (void)state;
  const double m[] = {4, 1, 1, 3}, sizes[] = {1, 1e-200, 1e200, 1e-300};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 4; i++) {
      const double b[] = {2 * sizes[i], sizes[i]};
      const gb_solve_options o = {.tol = 1e-8, .max_iter = 20000};
      gb_solve_info info;
      double *x = doubles(solvers[k](leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m),
                                     leaf(GB_F64, 0, 1, (size_t[]){2}, b), o, &info));
      assert_true(info.converged && info.residual <= 1e-8 && info.iterations > 0);
      CHECK_NEAR(x[0] / sizes[i], 5.0 / 11, 1e-7);
      free(x);
    }
}

static void a_NaN_is_reported (void **state) {
  (void)state;
  const double good[] = {2, 1, 1, 3}, bad[] = {1, NAN, NAN, 1}, b[] = {1, 2}, c[] = {1, NAN};
  for (int k = 0; k < 3; k++) {
    const gb_solve_options o = {.tol = 1e-8, .max_iter = 100};
    gb_solve_info info;
    solvers[k](leaf(GB_F64, 0, 2, (size_t[]){2, 2}, good), leaf(GB_F64, 0, 1, (size_t[]){2}, c), o, &info);
    assert_true(!info.converged && info.reason == GB_SOLVE_NAN && isnan(info.residual));
    solvers[k](leaf(GB_F64, 0, 2, (size_t[]){2, 2}, bad), leaf(GB_F64, 0, 1, (size_t[]){2}, b), o, &info);
    assert_false(info.converged);
    assert_true(info.reason == GB_SOLVE_NAN || info.reason == GB_SOLVE_INDEFINITE);
  }
}

static void a_broken_column_leaves_the_other_of_minres_alone (void **state) {
  (void)state;
  const double m[] = {2, 1, 1, 3}, b[] = {1, NAN, 2, 1};
  const gb_solve_options o = {.tol = 1e-12, .max_iter = 50};
  gb_solve_info info;
  double *x = doubles(
      minres(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 2, (size_t[]){2, 2}, b), &o, &info));
  assert_int_equal(info.reason, GB_SOLVE_NAN);
  CHECK_NEAR(x[0], 0.2, 1e-12);
  CHECK_NEAR(x[2], 0.6, 1e-12);
  free(x);
}

static void wrong_shapes_and_options_are_errors (void **state) {
  (void)state;
  gb_solve_info info;
  gb_node *x = NULL, *a = system_of(GB_F64, 5, 0.1), *b = random_leaf(GB_F64, 0, 5, 1, 1);
  gb_solve_options o = GB_SOLVE_DEFAULTS;
  assert_int_equal(gb_solve_minres(a, random_leaf(GB_F64, 0, 4, 1, 1), &o, &x, &info, &err), GB_ESHAPE);
  assert_int_equal(gb_solve_minres(a, random_leaf(GB_F32, 0, 5, 1, 1), &o, &x, &info, &err), GB_EDTYPE);
  assert_int_equal(gb_solve_minres(random_leaf(GB_F64, 0, 5, 4, 1), b, &o, &x, &info, &err), GB_ESHAPE);
  const double bad[] = {0, 1, -1, NAN};
  for (int i = 0; i < 4; i++) {
    o.tol = bad[i];
    assert_int_equal(gb_solve_minres(a, b, &o, &x, &info, &err), GB_EOPTION);
  }
  const gb_alternating_projections_options p = {.solve = GB_SOLVE_DEFAULTS};
  assert_int_equal(gb_solve_alternating_projections(a, b, &p, &x, &info, &err), GB_EOPTION);
  double step;
  gb_sdd_options s = {.solve = GB_SOLVE_DEFAULTS, .batch = 2, .momentum = 1};
  assert_int_equal(gb_solve_sdd(a, b, &s, &x, &step, &info, &err), GB_EOPTION);
  s.momentum = 0, s.step = -1;
  assert_int_equal(gb_solve_sdd(a, b, &s, &x, &step, &info, &err), GB_EOPTION);
  assert_null(x);
}

/* x = b / 1e6 is below the normal numbers of f32: what it loses there is in the record of every solver. */
static void solvers_count_what_a_tiny_solution_loses (void **state) {
  (void)state;
  const double scale[] = {0x1p-125, 0x1p-140};
  double diagonal[9] = {1e6, 0, 0, 0, 1e6, 0, 0, 0, 1e6}, v[3], step;
  gb_node *a = leaf(GB_F32, 0, 2, (size_t[]){3, 3}, diagonal);
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 3; i++) v[i] = scale[k] * (1 + i / 7.0);
    gb_node *b = leaf(GB_F32, 0, 1, (size_t[]){3}, v), *x[4] = {NULL};
    gb_solve_info info[4];
    const gb_solve_options o = {.tol = 0.1, .max_iter = 100};
    ok(gb_solve_cg(a, b, &o, &x[0], &info[0], &err));
    ok(gb_solve_minres(a, b, &o, &x[1], &info[1], &err));
    const gb_alternating_projections_options ap = {.solve = o, .block = 2};
    ok(gb_solve_alternating_projections(a, b, &ap, &x[2], &info[2], &err));
    const gb_sdd_options sdd = {.solve = {.tol = 1e-3, .max_iter = 100}, .batch = 3};
    ok(gb_solve_sdd(a, b, &sdd, &x[3], &step, &info[3], &err));
    for (int m = 0; m < 4; m++) {
      hold_node(GB_OK, x[m]);
      assert_true(info[m].residual > (k == 0 ? 5e-3 : 0.99) && info[m].residual <= (k == 0 ? 0.1 : 1));
      assert_int_equal(info[m].reason, k == 0 && m < 3 ? GB_SOLVE_CONVERGED : GB_SOLVE_UNDERFLOW);
      assert_true(info[m].converged == (k == 0 && m < 3));
    }
  }
}

/* An option that a method does not take is named with it: silence would promise what is not done. */
static void options_that_a_method_does_not_take_are_refused (void **state) {
  (void)state;
  gb_node *a = plus_noise(kernel(GB_F64, 8, scalar(GB_F64, 0, 10)), 0.1),
          *b = random_leaf(GB_F64, 0, 8, 1, 3), *x = NULL;
  gb_precond p;
  gb_solve_info info;
  double step, prior = 1;
  ok(gb_precond_jacobi(&p, a, &err));
  const gb_sdd_options sdd = {.solve = {.tol = 0.1, .max_iter = 5, .precond = &p}, .batch = 2};
  assert_int_equal(gb_solve_sdd(a, b, &sdd, &x, &step, &info, &err), GB_EOPTION);
  assert_string_equal(err.text, "precond: stochastic dual descent cannot use it");
  const gb_alternating_projections_options ap = {.solve = sdd.solve, .block = 2};
  assert_int_equal(gb_solve_alternating_projections(a, b, &ap, &x, &info, &err), GB_EOPTION);
  const gb_solve_options mixed = {.tol = 0.1, .max_iter = 5, .mixed = true},
                         goal = {.tol = 0.1, .max_iter = 5, .goal = {.prior = &prior, .least = 1}};
  assert_int_equal(gb_solve_minres(a, b, &mixed, &x, &info, &err), GB_EOPTION);
  assert_string_equal(err.text, "mixed: minimal residuals cannot use it");
  assert_int_equal(gb_solve_minres(a, b, &goal, &x, &info, &err), GB_EOPTION);
  assert_null(x);
  const gb_solve_options both = {.tol = 0.1, .max_iter = 5, .mixed = true, .precond = &p};
  ok(gb_solve_cg(a, b, &both, &x, &info, &err));
  hold_node(GB_OK, x);
  gb_precond_clear(&p);
}

static void an_interrupt_ends_every_loop (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F64, 20, 0.1), *b = random_leaf(GB_F64, 0, 20, 1, 8), *x = NULL;
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  const gb_alternating_projections_options p = {.solve = GB_SOLVE_DEFAULTS, .block = 5};
  const gb_sdd_options d = {.solve = GB_SOLVE_DEFAULTS, .batch = 5, .step = 1e-3};
  gb_solve_info info;
  gb_precond q;
  double step;
  gb_interrupt_raise();
  const gb_status st[] = {gb_solve_minres(a, b, &o, &x, &info, &err),
                          gb_solve_alternating_projections(a, b, &p, &x, &info, &err),
                          gb_solve_sdd(a, b, &d, &x, &step, &info, &err),
                          gb_precond_nystrom(&q, a, gb_noise_level(0.1), 5, 0, 0, &err)};
  gb_interrupt_clear();
  for (int i = 0; i < 4; i++) assert_int_equal(st[i], GB_EINTR);
}

/* One of the workings, and what it leaves released. */
static gb_status work (int kind, gb_node *k, gb_node *a, gb_node *b) {
  const gb_solve_options o = {.tol = 1e-3, .max_iter = 60};
  gb_solve_info info;
  gb_node *x = NULL;
  gb_precond p = {0};
  double number;
  gb_status st = GB_OK;
  switch (kind) {
    case 0: st = gb_solve_minres(a, b, &o, &x, &info, &err); break;
    case 1:
      st = gb_solve_alternating_projections(
          a, b, &(gb_alternating_projections_options){.solve = o, .block = 7, .keep = 1 << 20}, &x, &info,
          &err);
      break;
    case 2:
      st = gb_solve_sdd(a, b, &(gb_sdd_options){.solve = o, .batch = 7, .momentum = 0.5}, &x, &number, &info,
                        &err);
      break;
    case 3: st = gb_precond_nystrom(&p, k, gb_noise_level(0.1), 5, 0, 0, &err); break;
    default: {
      gb_node *l = NULL;
      st = gb_cholesky(a, 0, &l, &err);
      if (st == GB_OK) st = gb_factor_condition(a, l, &number, &err);
      gb_node_unref(l);
    }
  }
  gb_node_unref(x);
  gb_precond_clear(&p);
  return st;
}

static void a_failed_allocation_leaks_nothing (void **state) {
  (void)state;
  gb_node *k = kernel(GB_F64, 20, scalar(GB_F64, 0, 10)), *a = plus_noise(k, 0.1),
          *b = random_leaf(GB_F64, 0, 20, 1, 8);
  for (int kind = 0; kind < 5; kind++) {
    const size_t nodes = g->nnodes, used = dev->ledger.used;
    gb_status st;
    long n = 0;
    do {
      dev->ledger.fail_after = (long)dev->ledger.allocations + n++;
      st = work(kind, k, a, b);
      dev->ledger.fail_after = -1;
      assert_true(st == GB_OK || st == GB_ENOMEM);
      assert_int_equal(g->nnodes, nodes);
      if (dev->ledger.used > used) gb_cache_drop(g, SIZE_MAX);
      assert_int_equal(dev->ledger.used, used);
    } while (st != GB_OK);
    assert_true(n > 3);
  }
}

/* Rows and columns of an expression, and a product with each, against the dense values, which are computed
** last: what has a value is not taken apart. */
static void check_rows (gb_node *a) {
  const size_t n = gb_node_shape(a)->dim[0], r = 2, at[] = {n - 1, 0, n / 2};
  double x[200], v[6], y[6], z[200], block[9];
  gb_rows rows;
  gb_work room[5];
  assert_true(n <= 100);
  for (size_t i = 0; i < n * r; i++) x[i] = gb_rand_normal(5, 0, i);
  for (size_t i = 0; i < 6; i++) v[i] = gb_rand_normal(5, 1, i);
  const gb_panel py = panel(&room[0], 3, r, NULL), pz = panel(&room[1], n, r, NULL),
                 pb = panel(&room[2], 3, 3, NULL);
  ok(gb_rows_init(&rows, a, r, 3, &err));
  ok(gb_rows_choose(&rows, at, &err));
  ok(gb_rows_times(&rows, panel(&room[3], n, r, x), py, &err));
  ok(gb_rows_columns(&rows, panel(&room[4], 3, r, v), pz, &err));
  ok(gb_rows_block(&rows, pb, &err));
  gb_rows_clear(&rows);
  gb_panel_read(py, y), gb_panel_read(pz, z), gb_panel_read(pb, block);
  for (int i = 0; i < 5; i++) gb_work_free(&room[i]);
  double *dense = doubles(a);
  for (size_t i = 0; i < 3; i++)
    for (size_t c = 0; c < r; c++) {
      double want = 0;
      for (size_t j = 0; j < n; j++) want += dense[at[i] * n + j] * x[j * r + c];
      CHECK_NEAR(y[i * r + c], want, 1e-11 * (1 + fabs(want)));
    }
  for (size_t j = 0; j < n; j++)
    for (size_t c = 0; c < r; c++) {
      double want = 0;
      for (size_t i = 0; i < 3; i++) want += dense[at[i] * n + j] * v[i * r + c];
      CHECK_NEAR(z[j * r + c], want, 1e-11 * (1 + fabs(want)));
    }
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 3; j++) CHECK_NEAR(block[i * 3 + j], dense[at[i] * n + at[j]], 1e-12);
  free(dense);
}

/* Matrices of n points, made of new leaves each time. */
static gb_node *matrix_of_kind (int kind, size_t n) {
  gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *x = random_leaf(GB_F64, 0, n, 3, 9),
          *w = random_leaf(GB_F64, 0, n, 1, 2);
  gb_node *turned = BUILD(gb_transpose, x), *linear = BUILD(gb_matmul, x, turned);
  gb_node *down = BUILD(gb_unsqueeze, w, 1), *across = BUILD(gb_unsqueeze, w, 0),
          *outer = BUILD(gb_map2, GB_OP_MUL, down, across);
  gb_node *first = BUILD(gb_unsqueeze, turned, 2), *second = BUILD(gb_unsqueeze, turned, 1);
  /* (3, n, n) */
  gb_node *cube = BUILD(gb_map2, GB_OP_SUB, first, second), *cosines = BUILD(gb_map1, GB_OP_COS, cube);
  gb_node *periodic = BUILD(gb_reduce, GB_OP_SUM, cosines, 1u << 0, false), *wide = plus_noise(linear, 0.5);
  gb_node *squares = BUILD(gb_map1, GB_OP_SQUARE, w), *diagonal = BUILD(gb_diag, squares);
  switch (kind) {
    case 0: return k;
    case 1: return plus_noise(k, 0.1);
    case 2: return linear;
    case 3: return outer;
    case 4: return periodic;
    case 5: return BUILD(gb_map2, GB_OP_MUL, k, wide); /* the unit matrix inside a product */
    case 6: return BUILD(gb_map2, GB_OP_ADD, k, diagonal);
    case 7: return BUILD(gb_eye, g, n, GB_F64);
    case 8: return plus_noise(BUILD(gb_transpose, outer), 0.2);
    default: return NULL;
  }
}

static void rows_of_every_kind_of_matrix_are_those_of_the_dense_one (void **state) {
  (void)state;
  const size_t n = 37;
  gb_node *a;
  for (int kind = 0; (a = matrix_of_kind(kind, n)) != NULL; kind++) check_rows(a);
  for (int kind = 0; (a = matrix_of_kind(kind, 3)) != NULL; kind++) check_rows(a);
  double *dense = doubles(matrix_of_kind(0, n));
  check_rows(leaf(GB_F64, 0, 2, (size_t[]){n, n}, dense));
  free(dense);
}

/* 3,000 points: the matrix would take 72 MB, the limit is far below. */
static void rows_are_streamed (void **state) {
  (void)state;
  const size_t n = 3000;
  gb_node *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 30)), 1), *b = random_leaf(GB_F64, 0, n, 1, 2);
  dev->ledger.peak = dev->ledger.used;
  const size_t before = dev->ledger.used;
  const gb_alternating_projections_options o = {.solve = {.tol = 1e-2, .max_iter = 1}, .block = 300};
  gb_solve_info info;
  projections(a, b, &o, &info);
  const gb_sdd_options d = {.solve = {.tol = 1e-2, .max_iter = 3}, .batch = 300, .momentum = 0.9};
  sdd(a, b, &d, &info);
  assert_true(dev->ledger.peak - before < 8u << 20);
}

static void projections_solve_whatever_the_block (void **state) {
  (void)state;
  const size_t n = 83, sizes[] = {1, 7, 30, 42, 83, 500};
  gb_node *a = system_of(GB_F64, n, 0.3), *b = random_leaf(GB_F64, 0, n, 2, 3);
  for (int keep = 0; keep < 2; keep++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      const gb_alternating_projections_options o = {
          .solve = {.tol = 1e-9, .max_iter = 2000}, .block = sizes[i], .keep = keep ? 1 << 20 : 0};
      gb_solve_info info;
      gb_node *x = projections(a, b, &o, &info);
      assert_true(info.converged && info.residual <= 1e-9);
      CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-12);
      check_solution(a, b, x, 1e-6);
      if (sizes[i] >= n) assert_int_equal(info.iterations, 1);
    }
}

static void projections_see_an_indefinite_block (void **state) {
  (void)state;
  const double m[] = {1, 0, 0, -1}, b[] = {1, 2};
  const gb_alternating_projections_options o = {.solve = GB_SOLVE_DEFAULTS, .block = 1};
  gb_solve_info info;
  projections(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, m), leaf(GB_F64, 0, 1, (size_t[]){2}, b), &o, &info);
  assert_int_equal(info.reason, GB_SOLVE_INDEFINITE);
  assert_true(info.residual > 0.1);
}

static void descent_solves_and_depends_on_its_seed_alone (void **state) {
  (void)state;
  const size_t n = 80;
  gb_node *a = system_of(GB_F64, n, 0.5), *b = random_leaf(GB_F64, 0, n, 2, 3);
  double *first = NULL;
  for (uint64_t seed = 0; seed < 3; seed++) {
    const gb_sdd_options o = {
        .solve = {.tol = 1e-4, .max_iter = 40000}, .batch = 16, .momentum = 0.9, .seed = seed % 2};
    gb_solve_info info;
    gb_node *x = sdd(a, b, &o, &info);
    assert_true(info.converged && info.residual <= 1e-4);
    CHECK_NEAR(info.residual, true_residual(a, b, x), 1e-10);
    check_solution(a, b, x, 1e-2);
    double *v = doubles(x);
    if (seed == 0) first = v;
    if (seed == 2) assert_memory_equal(first, v, n * 2 * sizeof *v);
    if (seed == 1) assert_memory_not_equal(first, v, n * 2 * sizeof *v);
    if (seed > 0) free(v);
  }
  free(first);
}

/* Batches of all rows: the algorithm is plain, and 5 steps are averaged with weight 1. */
static void descent_takes_the_steps_of_its_source (void **state) {
  (void)state;
  const size_t n = 12;
  gb_node *a = system_of(GB_F64, n, 0.5), *b = random_leaf(GB_F64, 0, n, 1, 3);
  const gb_sdd_options o = {.solve = {.tol = 1e-9, .max_iter = 5}, .batch = n, .momentum = 0.7, .step = 0.05};
  gb_solve_info info;
  double *got = doubles(sdd(a, b, &o, &info)), *va = doubles(a), *vb = doubles(b), x[12] = {0}, v[12] = {0},
         at[12];
  for (int k = 0; k < 5; k++) {
    for (size_t i = 0; i < n; i++) at[i] = x[i] + o.momentum * v[i];
    for (size_t i = 0; i < n; i++) {
      double slope = -vb[i];
      for (size_t j = 0; j < n; j++) slope += va[i * n + j] * at[j];
      v[i] = o.momentum * v[i] - o.step * slope;
      x[i] += v[i];
    }
  }
  assert_int_equal(info.iterations, 5);
  for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], x[i], 1e-12);
  free(got), free(va), free(vb);
}

static void descent_with_too_long_steps_says_so (void **state) {
  (void)state;
  gb_node *a = system_of(GB_F64, 60, 0.1), *b = random_leaf(GB_F64, 0, 60, 1, 3);
  const gb_sdd_options o = {
      .solve = {.tol = 1e-4, .max_iter = 5000}, .batch = 20, .momentum = 0.9, .step = 10};
  gb_solve_info info;
  sdd(a, b, &o, &info);
  assert_true(info.reason == GB_SOLVE_DIVERGED || info.reason == GB_SOLVE_NAN);
  assert_false(info.converged);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(minres_solves_definite_and_indefinite_systems),
      TEST(minres_reports_the_true_residual_of_what_it_returns),
      TEST(residuals_of_minres_descend),
      TEST(a_column_of_minres_is_alone),
      TEST(minres_meets_singular_matrices),
      TEST(minres_takes_a_preconditioner_and_a_guess),
      TEST(a_tolerance_below_the_dtype_stagnates),
      TEST(nothing_and_little_to_solve_is_solved),
      TEST(the_size_of_a_right_hand_side_does_not_matter),
      TEST(a_NaN_is_reported),
      TEST(a_broken_column_leaves_the_other_of_minres_alone),
      TEST(wrong_shapes_and_options_are_errors),
      TEST(an_interrupt_ends_every_loop),
      TEST(a_failed_allocation_leaks_nothing),
      TEST(options_that_a_method_does_not_take_are_refused),
      TEST(solvers_count_what_a_tiny_solution_loses),
      TEST(rows_of_every_kind_of_matrix_are_those_of_the_dense_one),
      TEST(rows_are_streamed),
      TEST(projections_solve_whatever_the_block),
      TEST(projections_see_an_indefinite_block),
      TEST(descent_solves_and_depends_on_its_seed_alone),
      TEST(descent_takes_the_steps_of_its_source),
      TEST(descent_with_too_long_steps_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
