/* test_block_cg.c - block conjugate gradients: solutions, right-hand sides that depend on each other, and the block
** Lanczos matrix of the steps. */
#include "solve/block_cg.h"
#include "solve/cg.h"
#include "solve/logdet/marginal.h"
#include "support/solve_fixture.h"

/* A solve of b (n, r), its solution and residual in plain memory, and its trace. */
typedef struct solved {
  double *x, *residual;
  gb_solve_info info;
  gb_block_trace trace;
  gb_work of_trace;
} solved;

static solved solve (gb_node *a, size_t n, size_t r, const double *b, const gb_solve_options *o) {
  solved s = {0};
  gb_solve_matrix m;
  gb_work room[3];
  gb_panel column[3];
  for (int k = 0; k < 3; k++) column[k] = panel(&room[k], n, r, k == 0 ? b : NULL);
  ok(gb_work_new(dev, 0, gb_block_trace_bytes(o->max_iter, r), "trace", &s.of_trace, &err));
  s.trace = gb_block_trace_bind(o->max_iter, r, s.of_trace.at.numbers);
  ok(gb_solve_matrix_init(&m, a, r, o->mixed, &err));
  ok(gb_block_cg_panels(&m, o, column[0], column[1], column[2], &s.trace, &s.info, &err));
  s.x = entries_of(column[1].at, n * r);
  s.residual = entries_of(column[2].at, n * r);
  gb_solve_matrix_clear(&m);
  for (int k = 0; k < 3; k++) gb_work_free(&room[k]);
  return s;
}

static void clear (solved *s) {
  free(s->x), free(s->residual);
  gb_work_free(&s->of_trace);
}

static double *normals (size_t count, uint64_t seed) {
  double *v = malloc(count * sizeof *v);
  for (size_t i = 0; i < count; i++) v[i] = gb_rand_normal(seed, 0, i);
  return v;
}

/* The largest |x - want| and |residual - (b - A x)| over columns, each over the column's largest entry. */
static void check_solution (gb_node *a, size_t n, size_t r, const double *b, const solved *s, double tol) {
  double *dense = doubles(a), *copy = doubles(a), *want = malloc(n * r * sizeof *want);
  memcpy(want, b, n * r * sizeof *want);
  eliminate(copy, want, n, r);
  for (size_t c = 0; c < r; c++) {
    double most = 0, length = 0, left = 0;
    for (size_t i = 0; i < n; i++) {
      most = fmax(most, fabs(want[i * r + c]));
      length += b[i * r + c] * b[i * r + c];
      double truth = b[i * r + c];
      for (size_t j = 0; j < n; j++) truth -= dense[i * n + j] * s->x[j * r + c];
      left += truth * truth;
      CHECK_NEAR(s->residual[i * r + c], truth, 1e-11 * (1 + fabs(b[i * r + c])));
    }
    for (size_t i = 0; i < n; i++) CHECK_NEAR(s->x[i * r + c], want[i * r + c], tol * most);
    assert_true(sqrt(left) <= s->info.tol * sqrt(length) * (1 + 1e-6));
  }
  free(dense), free(copy), free(want);
}

static void a_block_solves_each_column (void **state) {
  (void)state;
  enum { N = 150 };
  gb_node *k = kernel(GB_F64, N, scalar(GB_F64, 0, 30)), *a = plus_noise(k, 0.05);
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.05), 12, 0, &err));
  for (int kind = 0; kind < 12; kind++) {
    const size_t r = (const size_t[]){1, 3, 17}[kind % 3];
    const gb_solve_options o = {
        .tol = 1e-8, .max_iter = 300, .mixed = kind >= 6, .precond = kind / 3 % 2 == 1 ? &p : NULL};
    double *b = normals(N * r, 7);
    solved s = solve(a, N, r, b, &o);
    assert_true(s.info.converged && s.info.reason == GB_SOLVE_CONVERGED && s.info.iterations > 1);
    check_solution(a, N, r, b, &s, 1e-5);
    clear(&s);
    free(b);
  }
  gb_precond_clear(&p);
}

/* Each step searches a space of r dimensions more: an eighth of the products here. */
static void a_block_needs_fewer_products_than_columns (void **state) {
  (void)state;
  enum { N = 600, R = 16 };
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 60)), 1e-3), *x = NULL;
  const gb_solve_options o = {.tol = 1e-4, .max_iter = 2000};
  double *b = normals(N * R, 3);
  solved s = solve(a, N, R, b, &o);
  gb_solve_info columns;
  ok(gb_solve_cg(a, leaf(GB_F64, 0, 2, (size_t[]){N, R}, b), &o, &x, &columns, &err));
  hold_node(GB_OK, x);
  assert_true(s.info.converged && columns.converged);
  if (4 * s.info.iterations > columns.iterations)
    fail_msg("%d steps of a block, %d of columns", s.info.iterations, columns.iterations);
  clear(&s);
  free(b);
}

/* Equal columns, multiples, sums, zeros, sizes far apart, and more columns than rows. */
static void right_hand_sides_may_depend_on_each_other (void **state) {
  (void)state;
  enum { N = 40, R = 7, MANY = 60 };
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.01);
  double *b = normals(N * R, 5), *many = normals(N * MANY, 6);
  for (size_t i = 0; i < N; i++) {
    double *row = b + i * R;
    row[1] = row[0], row[2] = -3e-5 * row[0], row[3] = 0, row[4] = row[0] + 1e-9 * row[5], row[6] *= 1e120;
  }
  for (int mixed = 0; mixed < 2; mixed++) {
    const gb_solve_options o = {.tol = 1e-9, .max_iter = 400, .mixed = mixed};
    solved s = solve(a, N, R, b, &o);
    assert_true(s.info.converged);
    for (size_t i = 0; i < N; i++)
      s.x[i * R + 6] *= 1e-120, s.residual[i * R + 6] *= 1e-120, b[i * R + 6] *= 1e-120;
    check_solution(a, N, R, b, &s, 1e-6);
    for (size_t i = 0; i < N; i++) {
      assert_true(s.x[i * R + 3] == 0);
      b[i * R + 6] *= 1e120;
    }
    clear(&s);
    s = solve(a, N, MANY, many, &o);
    assert_true(s.info.converged && s.info.iterations < 5);
    check_solution(a, N, MANY, many, &s, 1e-6);
    clear(&s);
  }
  free(b), free(many);
}

static void a_block_tells_what_it_could_not_solve (void **state) {
  (void)state;
  const double indefinite[] = {1, 2, 2, 1}, b[] = {1, 0.5, 1, -2}, bad[] = {1, NAN, 1, -2};
  const gb_solve_options o = {.tol = 1e-9, .max_iter = 20}, few = {.tol = 1e-12, .max_iter = 2};
  gb_node *a = leaf(GB_F64, 0, 2, (size_t[]){2, 2}, indefinite),
          *k = plus_noise(kernel(GB_F64, 90, scalar(GB_F64, 0, 30)), 1e-4);
  solved s = solve(a, 2, 2, b, &o);
  assert_true(!s.info.converged && s.info.reason == GB_SOLVE_INDEFINITE);
  clear(&s);
  const double sound[] = {2, 1, 1, 3};
  s = solve(leaf(GB_F64, 0, 2, (size_t[]){2, 2}, sound), 2, 2, bad, &o);
  assert_true(s.info.reason == GB_SOLVE_NAN && s.info.column == 1);
  CHECK_NEAR(s.x[0], 0.4, 1e-14);
  CHECK_NEAR(s.x[2], 0.2, 1e-14);
  clear(&s);
  double *c = normals(90 * 3, 2);
  s = solve(k, 90, 3, c, &few);
  assert_true(s.info.reason == GB_SOLVE_MAX_ITER && s.info.iterations == 2 && s.info.residual > 1e-12);
  clear(&s);
  free(c);
}

/* Forms of each column with log d, over its square. */
static void check_logarithms (size_t n, size_t r, const double *d, const double *b, const double *got,
                              double tol) {
  for (size_t c = 0; c < r; c++) {
    double sum = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
      sum += b[i * r + c] * b[i * r + c] * log(d[i]);
      length += b[i * r + c] * b[i * r + c];
    }
    CHECK_NEAR(got[c], length == 0 ? 0 : sum / length, tol);
  }
}

/* A = diag(d): forms with log A are sums. Column 4 nearly depends on another, and what column 3 has beyond another is left
** to a second cycle, whose steps are not those of b. */
static void the_trace_has_the_logarithm_of_the_matrix (void **state) {
  (void)state;
  enum { N = 400, R = 5 };
  double d[N], *b = normals(N * R, 11), got[R];
  for (size_t i = 0; i < N; i++) d[i] = exp(8.0 * (double)i / (N - 1) - 5);
  for (size_t i = 0; i < N; i++) {
    double *row = b + i * R;
    row[2] = 0, row[3] = row[1] + 3e-8 * row[3], row[4] = row[0] + 1e-6 * row[4];
  }
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){N}, d));
  const gb_solve_options o = {.tol = 1e-10, .max_iter = 1000};
  solved s = solve(a, N, R, b, &o);
  assert_true(s.info.converged && s.trace.steps > 10 && s.trace.steps < s.info.iterations);
  assert_true(s.trace.rank[0] == 3);
  gb_block_trace_log(&s.trace, s.trace.steps, got);
  check_logarithms(N, R, d, b, got, 1e-7);
  assert_true(s.info.smallest >= d[0] * (1 - 1e-9) && s.info.smallest < 1.2 * d[0]);
  assert_true(s.info.largest <= d[N - 1] * (1 + 1e-9) && s.info.largest > 0.8 * d[N - 1]);
  clear(&s);
  free(b);
}

/* As many steps as a solve takes to a tenth: the logarithm of the first 4096 columns of T is 2e-3 off. */
static void the_trace_keeps_the_steps_that_a_logarithm_needs (void **state) {
  (void)state;
  enum { N = 4400, R = 16 };
  double *d = malloc(N * sizeof *d), *b = normals(N * R, 11), got[R];
  for (size_t i = 0; i < N; i++) d[i] = exp(log(1e5) * (double)i / (N - 1));
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){N}, d));
  const gb_solve_options o = {.tol = 0.3, .max_iter = 1000};
  solved s = solve(a, N, R, b, &o);
  assert_true(s.info.converged && s.trace.steps * R > 4096);
  gb_block_trace_log(&s.trace, s.trace.steps, got);
  check_logarithms(N, R, d, b, got, 3e-4);
  clear(&s);
  free(b), free(d);
}

/* The largest sum of a row: no eigenvalue is larger. */
static double bound_of (gb_node *a, size_t n) {
  double *dense = doubles(a), most = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += fabs(dense[i * n + j]);
    most = fmax(most, sum);
  }
  free(dense);
  return most;
}

/* Steps from a true residual, and those of a second cycle, belong to other right-hand sides. */
static void the_trace_ends_where_the_block_begins_again (void **state) {
  (void)state;
  enum { N = 200, R = 4 };
  double *b = normals(N * R, 3);
  int restarted = 0;
  for (int e = 2; e <= 6; e++)
    for (int mixed = 0; mixed < 2; mixed++) {
      const double noise = pow(10, -e);
      gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), noise);
      const gb_solve_options o = {.tol = 1e-8, .max_iter = 1000, .mixed = mixed};
      solved s = solve(a, N, R, b, &o);
      assert_true(s.info.converged && s.trace.steps > 0 && s.trace.steps <= s.info.iterations);
      restarted += mixed && s.trace.steps < s.info.iterations;
      assert_true(s.info.smallest >= 0.9 * noise && s.info.largest <= bound_of(a, N) * (1 + 1e-6));
      clear(&s);
    }
  assert_true(restarted >= 2); /* products in f32 drift from the true residual */
  free(b);
}

/* Where points have noises of their own, R' P^-1 R is small, too. */
static void points_of_little_noise_are_solved (void **state) {
  (void)state;
  enum { N = 200, R = 4 };
  double each[N], shifts[N * N] = {0}, *b = normals(N * R, 8);
  for (size_t i = 0; i < N; i++) each[i] = shifts[i * N + i] = i % 3 == 0 ? 1e-7 : 10;
  gb_node *k = kernel(GB_F64, N, scalar(GB_F64, 0, 30)),
          *a = BUILD(gb_map2, GB_OP_ADD, k, leaf(GB_F64, 0, 2, (size_t[]){N, N}, shifts));
  gb_precond p;
  ok(gb_precond_nystrom(&p, k, (gb_noise){.each = each}, 10, 0, 1, &err));
  const gb_solve_options o = {.tol = 1e-2, .max_iter = 1000, .precond = &p};
  solved s = solve(a, N, R, b, &o);
  assert_true(s.info.converged && s.info.iterations < 100);
  double *left = malloc(N * R * sizeof *left), *right = malloc(N * R * sizeof *right);
  apply_precond(&p, N, R, s.residual, left);
  apply_precond(&p, N, R, b, right);
  for (size_t c = 0; c < R; c++) {
    double of_residual = 0, of_b = 0;
    for (size_t i = c; i < N * R; i += R) of_residual += s.residual[i] * left[i], of_b += b[i] * right[i];
    assert_true(of_residual <= 1e-4 * of_b * (1 + 1e-6));
  }
  free(left), free(right);
  clear(&s);
  gb_precond_clear(&p);
  free(b);
}

/* T = H diag(1, 4, 9) H of a block of two columns and one of one, H a reflection. */
static void forms_of_a_small_trace (void **state) {
  (void)state;
  const double w[] = {1, 4, 9}, v[] = {1, 2, 2}, c[] = {1, -1, 1, 1};
  double t[3][3], h[3][3], out[2];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) h[i][j] = (i == j) - 2 * v[i] * v[j] / 9;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      t[i][j] = h[i][0] * h[j][0] * w[0] + h[i][1] * h[j][1] * w[1] + h[i][2] * h[j][2] * w[2];
  const double det = t[0][0] * t[1][1] - t[0][1] * t[1][0],
               inverse[] = {t[1][1] / det, -t[0][1] / det, -t[0][1] / det, t[0][0] / det},
               first[] = {t[0][0], t[0][1], t[1][0], t[1][1]};
  gb_work room;
  ok(gb_work_new(dev, 0, gb_block_trace_bytes(4, 2), "trace", &room, &err));
  gb_block_trace trace = gb_block_trace_bind(4, 2, room.at.numbers);
  trace.steps = 2, trace.rank[0] = 2, trace.rank[1] = 1;
  memcpy(trace.first, c, sizeof c), memcpy(trace.step, inverse, sizeof inverse);
  memcpy(trace.diagonal, first, sizeof first);
  trace.below[4] = t[2][0], trace.below[5] = t[2][1], trace.diagonal[4] = t[2][2];
  trace.step[4] = det / (w[0] * w[1] * w[2]); /* the inverse of Schur's complement */
  double smallest, largest;
  gb_block_trace_extremes(&trace, &smallest, &largest);
  CHECK_NEAR(smallest, w[0], 1e-9);
  CHECK_NEAR(largest, w[2], 1e-9);
  gb_block_trace_log(&trace, 2, out);
  for (int k = 0; k < 2; k++) {
    double want = 0;
    for (int i = 0; i < 3; i++) {
      const double along = h[0][i] * c[k] + h[1][i] * c[2 + k];
      want += along * along * log(w[i]) / 2;
    }
    CHECK_NEAR(out[k], want, 1e-9);
  }
  gb_block_trace_log(&trace, 1,
                     out); /* of two columns at right angles: the trace of the first block's logarithm */
  CHECK_NEAR(out[0] + out[1], log(det), 2e-9);
  gb_work_free(&room);
}

/* A = diag(d), which the parts of b search together; from a guess, in f32 and f64, and where A is not positive definite. */
static void one_right_hand_side_is_solved_by_its_parts (void **state) {
  (void)state;
  enum { N = 2100 };
  double *d = malloc(N * sizeof *d), *b = normals(N, 5), *guess = malloc(N * sizeof *guess);
  assert_true(gb_spread_parts(2047) == 1 && gb_spread_parts(2048) == 16);
  for (size_t i = 0; i < N; i++)
    d[i] = exp(6.0 * (double)i / N), guess[i] = b[i] / d[i] * (1 + 1e-3 * (i % 3 == 0));
  gb_node *bn = leaf(GB_F64, 0, 1, (size_t[]){N}, b);
  for (int kind = 0; kind < 5; kind++) {
    if (kind == 4) d[N / 2] = -1;
    gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){N}, d)), *x = NULL, *alone = NULL;
    gb_solve_options o = {.tol = 1e-9, .max_iter = 500, .mixed = kind % 2 == 1};
    if (kind == 2 || kind == 3) o.x0 = leaf(GB_F64, 0, 1, (size_t[]){N}, guess);
    gb_solve_info info, columns;
    ok(gb_solve_spread(a, bn, &o, &x, &info, &err));
    hold_node(GB_OK, x);
    ok(gb_solve_cg(a, bn, &o, &alone, &columns, &err));
    hold_node(GB_OK, alone);
    if (kind == 4) {
      assert_true(info.reason == GB_SOLVE_INDEFINITE && info.iterations == columns.iterations &&
                  info.curvature < 0);
      break;
    }
    double *got = doubles(x);
    assert_true(info.converged && info.residual <= 1e-9 && info.iterations < columns.iterations);
    for (size_t i = 0; i < N; i++) CHECK_NEAR(got[i], b[i] / d[i], 1e-6);
    free(got);
  }
  free(d), free(b), free(guess);
}

/* Not even a first step is taken. */
static void an_interrupt_ends_the_steps_of_a_block (void **state) {
  (void)state;
  enum { N = 30, R = 2 };
  gb_node *a = plus_noise(kernel(GB_F64, N, scalar(GB_F64, 0, 30)), 0.1);
  const gb_solve_options o = {.tol = 1e-6, .max_iter = 9};
  double *b = normals(N * R, 3);
  gb_solve_matrix m;
  gb_solve_info info;
  gb_work room[3], of_trace;
  gb_panel column[3];
  for (int k = 0; k < 3; k++) column[k] = panel(&room[k], N, R, b);
  ok(gb_work_new(dev, 0, gb_block_trace_bytes(o.max_iter, R), "trace", &of_trace, &err));
  gb_block_trace trace = gb_block_trace_bind(o.max_iter, R, of_trace.at.numbers);
  ok(gb_solve_matrix_init(&m, a, R, false, &err));
  gb_interrupt_raise();
  const gb_status st = gb_block_cg_panels(&m, &o, column[0], column[1], column[2], &trace, &info, &err);
  gb_interrupt_clear();
  assert_int_equal(st, GB_EINTR);
  assert_int_equal(info.iterations, 0);
  gb_solve_matrix_clear(&m);
  for (int k = 0; k < 3; k++) gb_work_free(&room[k]);
  gb_work_free(&of_trace);
  free(b);
}

/* One step: T is one block, and its logarithm that of 1 / a, of whatever size. */
static void the_logarithm_of_one_block_is_to_nine_digits (void **state) {
  (void)state;
  for (int e = -300; e <= 280; e += abs(e) >= 20 ? 20 : 4) {
    const double value = pow(10, e), c[2] = {3, -1};
    double out[2];
    gb_work w;
    ok(gb_work_new(dev, 0, gb_block_trace_bytes(4, 2), "trace", &w, &err));
    gb_block_trace t = gb_block_trace_bind(4, 2, w.at.numbers);
    t.steps = 1, t.rank[0] = 1, t.step[0] = 1 / value, t.diagonal[0] = value;
    memcpy(t.first, c, sizeof c);
    gb_block_trace_log(&t, 1, out);
    for (int k = 0; k < 2; k++) CHECK_NEAR(out[k], log(value), 1e-9 * (1 + fabs(log(value))));
    gb_block_trace_log(&t, 0, out);
    assert_true(out[0] == 0 && out[1] == 0);
    gb_work_free(&w);
  }
}

/* The terms of a likelihood by a block, with and without a preconditioner. */
static void a_marginal_likelihood_by_a_block (void **state) {
  (void)state;
  enum { N = 640, PROBES = 4 };
  gb_node *k = kernel(GB_F64, N, scalar(GB_F64, 0, 60)), *a = plus_noise(k, 0.05);
  double *b = normals(N, 4), *dense = doubles(a), *x = malloc(N * sizeof *x), quad = 0;
  memcpy(x, b, N * sizeof *x);
  const double logdet = eliminate(dense, x, N, 1);
  for (size_t i = 0; i < N; i++) quad += b[i] * x[i];
  gb_precond p;
  ok(gb_precond_pivoted_cholesky(&p, k, gb_noise_level(0.05), 40, 0, &err));
  assert_true(gb_block_cg_pays(N, 1 + PROBES) && !gb_block_cg_pays(N - 1, 1 + PROBES));
  for (int kind = 0; kind < 4; kind++) {
    const gb_logdet_options o = {
        .solve = {.tol = 1e-6, .max_iter = 500, .mixed = kind / 2 == 1, .precond = kind % 2 == 1 ? &p : NULL},
        .probes = PROBES,
        .seed = 9};
    gb_solve_matrix m;
    gb_logdet_info info;
    gb_work right, result;
    panel(&result, gb_marginal_size(N, 1 + PROBES), 1, NULL);
    ok(gb_solve_matrix_init(&m, a, 1 + PROBES, o.solve.mixed, &err));
    ok(gb_marginal_run(&m, panel(&right, N, 1, b), &o, result.at.entries, &info, &err));
    double *out = entries_of(result.at.entries, gb_marginal_size(N, 1 + PROBES));
    assert_true(info.solve.converged && info.solve.residual <= 1e-6 && info.truncation > 0 &&
                info.truncation < 1e-2);
    CHECK_NEAR(out[GB_MARGINAL_INV_QUAD], quad, 1e-9 * quad);
    CHECK_NEAR(out[GB_MARGINAL_LOGDET], logdet, 6 * info.standard_error);
    assert_true(info.standard_error < 40);
    for (size_t i = 0; i < N; i++) CHECK_NEAR(out[gb_marginal_alpha(1 + PROBES) + i], x[i], 1e-3);
    free(out);
    gb_solve_matrix_clear(&m);
    gb_work_free(&right), gb_work_free(&result);
  }
  gb_precond_clear(&p);
  free(b), free(dense), free(x);
}

/* In f32 no residual gets to 1e-6, and that of columns, which lose their conjugacy, ends above 1e-2. */
static void what_rounding_leaves_of_a_block_counts (void **state) {
  (void)state;
  enum { N = 512 };
  double *b = normals(N, 4);
  const gb_logdet_options o = {.solve = {.tol = 1e-6, .max_iter = 1000}, .probes = 3, .seed = 9};
  gb_node *a = plus_noise(kernel(GB_F32, N, scalar(GB_F32, 0, 30)), 1e-2);
  gb_solve_matrix m;
  gb_logdet_info info;
  gb_work right, result;
  panel(&result, gb_marginal_size(N, 4), 1, NULL);
  ok(gb_solve_matrix_init(&m, a, 4, false, &err));
  ok(gb_marginal_run(&m, panel(&right, N, 1, b), &o, result.at.entries, &info, &err));
  assert_int_equal(info.solve.reason, GB_SOLVE_STAGNATED);
  assert_true(info.solve.residual < 1e-2);
  gb_solve_matrix_clear(&m);
  gb_work_free(&right), gb_work_free(&result);
  free(b);
}

/* A matrix that is not positive definite is told as its columns find it. */
static void a_block_that_fails_is_followed_by_its_columns (void **state) {
  (void)state;
  enum { N = 512 };
  double d[N], b[N];
  for (size_t i = 0; i < N; i++) d[i] = i == 77 ? -1 : 1 + (double)i / N, b[i] = 1;
  const gb_logdet_options o = {.solve = {.tol = 1e-6, .max_iter = 500}, .probes = 3, .seed = 9};
  gb_solve_matrix m;
  gb_logdet_info info;
  gb_work right, result;
  gb_node *a = BUILD(gb_diag, leaf(GB_F64, 0, 1, (size_t[]){N}, d));
  panel(&result, gb_marginal_size(N, 4), 1, NULL);
  ok(gb_solve_matrix_init(&m, a, 4, false, &err));
  const gb_status st = gb_marginal_run(&m, panel(&right, N, 1, b), &o, result.at.entries, &info, &err);
  assert_true(st == GB_ENOTPD ||
              (st == GB_OK && info.solve.reason == GB_SOLVE_INDEFINITE && info.solve.curvature < 0));
  gb_solve_matrix_clear(&m);
  gb_work_free(&right), gb_work_free(&result);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(a_block_solves_each_column),
      TEST(a_block_needs_fewer_products_than_columns),
      TEST(right_hand_sides_may_depend_on_each_other),
      TEST(a_block_tells_what_it_could_not_solve),
      TEST(the_trace_has_the_logarithm_of_the_matrix),
      TEST(the_trace_keeps_the_steps_that_a_logarithm_needs),
      TEST(the_trace_ends_where_the_block_begins_again),
      TEST(points_of_little_noise_are_solved),
      TEST(forms_of_a_small_trace),
      TEST(the_logarithm_of_one_block_is_to_nine_digits),
      TEST(one_right_hand_side_is_solved_by_its_parts),
      TEST(an_interrupt_ends_the_steps_of_a_block),
      TEST(a_marginal_likelihood_by_a_block),
      TEST(what_rounding_leaves_of_a_block_counts),
      TEST(a_block_that_fails_is_followed_by_its_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
