/* test_solver_op.c - solves and marginal likelihoods as nodes: gradients, bytes, sharing. */
#include "graph/grad/grad.h"
#include "solve/op/solver.h"
#include "support/solve_fixture.h"

static gb_node *solve (gb_node *a, gb_node *b, const gb_solve_options *o, gb_solve_info *info) {
  gb_node *x = NULL;
  const gb_status st = gb_solve_cg(a, b, o, &x, info, &err);
  return hold_node(st, x);
}

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
  const gb_solver_options o = {.run.solve = {.tol = 1e-12, .max_iter = 500}};
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
        .run = {.solve = {.tol = 1e-11, .max_iter = 500}, .probes = 4, .seed = 9, .exact = way == 2},
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
    assert_true(report->info.solve.converged && report->info.standard_error == h[GB_MARGINAL_ERROR]);
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
  const gb_solver_options o = {.run = {.solve = {.tol = 1e-10, .max_iter = 500}, .probes = PROBES, .seed = 4},
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

static void a_lazy_solve_is_the_solve (void **state) {
  (void)state;
  const size_t n = 70;
  for (int r = 1; r <= 3; r += 2) {
    gb_node *k = kernel(GB_F64, n, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.1),
            *b = random_leaf(GB_F64, 0, n, (size_t)r, 3);
    const gb_solver_options o = {.run.solve = {.tol = 1e-9, .max_iter = 500},
                                 .precond = {GB_PRECOND_PIVOTED_CHOLESKY, 10, 0}};
    gb_precond p;
    ok(gb_precond_make(&p, &o.precond, a, k, gb_noise_level(0.1), &err));
    gb_solve_options now = o.run.solve;
    now.precond = &p;
    gb_solve_info info;
    double *want = doubles(solve(a, b, &now, &info));
    gb_node *noise = BUILD(gb_node_const, g, 0.1, GB_F64),
            *x = BUILD(gb_solver_solve, a, b, NULL, k, noise, &o);
    assert_false(gb_node_has_value(x));
    double *got = doubles(x);
    assert_memory_equal(got, want, n * (size_t)r * sizeof *got);
    const gb_solver_report *report = gb_solver_report_of(x);
    assert_int_equal(report->info.solve.iterations, info.iterations);
    assert_true(report->info.solve.residual == info.residual && report->info.solve.converged);
    gb_node *from_x = BUILD(gb_solver_solve, a, b, x, k, noise, &o);
    free(got);
    got = doubles(from_x);
    assert_int_equal(gb_solver_report_of(from_x)->info.solve.iterations, 0);
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
          .run = {.solve = {.tol = 1e-3, .max_iter = 500, .mixed = way == 4}, .probes = 6},
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
  const gb_solver_options o = {.run.solve = GB_SOLVE_DEFAULTS};
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
  assert_true(gb_solver_report_of(x)->info.solve.converged);
}

static void steps_of_an_optimiser_share_their_op (void **state) {
  (void)state;
  const gb_solver_options o = {.run.solve = GB_SOLVE_DEFAULTS},
                          other = {.run.solve = {.tol = 1e-7, .max_iter = 1000}};
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
  const gb_solver_options o = {.run.solve = {.tol = 1e-12, .max_iter = 500}};
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

typedef struct heard {
  int solves;
  double residual;
} heard;

static void hear (void *ud, const char *where, const gb_solver_report *report) {
  heard *h = ud;
  assert_non_null(where);
  h->solves++;
  h->residual = fmax(h->residual, report->info.solve.residual);
}

/* A solve that misses its tolerance, and that of its gradient, call the function of their own options. */
static void solves_that_miss_their_tolerance_say_so (void **state) {
  (void)state;
  const size_t n = 40;
  gb_node *b = random_leaf(GB_F64, GB_NODE_GRAD, n, 1, 5), *cotangent = random_leaf(GB_F64, 0, n, 1, 6),
          *grad, *a = plus_noise(kernel(GB_F64, n, scalar(GB_F64, 0, 20)), 0.1);
  heard few = {0}, many = {0};
  const gb_solver_options o = {.run.solve = {.tol = 1e-9, .max_iter = 2}, .missed = hear, .ud = &few},
                          p = {.run.solve = {.tol = 1e-9, .max_iter = 500}, .missed = hear, .ud = &many};
  gb_node *x = lazily(a, b, NULL, &o);
  free(doubles(x));
  assert_int_equal(few.solves, 1);
  assert_true(few.residual > 1e-9 && few.residual == gb_solver_report_of(x)->info.solve.residual);
  ok(gb_grad(x, cotangent, 1, &b, false, &grad, &err));
  free(doubles(hold_node(GB_OK, grad)));
  assert_int_equal(few.solves, 2);
  free(doubles(lazily(a, b, NULL, &p)));
  assert_true(many.solves == 0 && few.solves == 2);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(the_gradient_of_a_solution_is_the_implicit_one),
      TEST(the_marginal_likelihood_has_the_gradient_of_both_terms),
      TEST(the_gradient_is_that_of_the_dense_estimator),
      TEST(a_lazy_solve_is_the_solve),
      TEST(solves_that_miss_their_tolerance_say_so),
      TEST(a_solve_takes_what_its_plan_says),
      TEST(a_solve_is_refused_below_its_minimum),
      TEST(steps_of_an_optimiser_share_their_op),
      TEST(gradients_reach_values_that_are_made_of_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
