/* test_ops.c - every op of ops.def: values against the oracle, gradients against finite differences, NaN,
** both float types. A row of ops.def without a row in op_rows.c fails. */
#include "support/plan/op_rows.h"

static int problems;

#define COMPLAIN(...) (problems++ < 40 ? print_message(__VA_ARGS__) : (void)0)

static const row *row_of (const char *id) {
  for (size_t i = 0; i < nrows; i++)
    if (strcmp(rows[i].id, id) == 0) return &rows[i];
  return NULL;
}

static void every_op_has_a_row (void **unused) {
  (void)unused;
  problems = 0;
  for (int op = 0; op < GB_NOPS; op++)
    if (row_of(gb_ops[op].id) == NULL) COMPLAIN("%s has no row\n", gb_ops[op].id);
  for (size_t i = 0; i < nrows; i++) {
    int found = 0;
    for (int op = 0; op < GB_NOPS; op++) found += strcmp(rows[i].id, gb_ops[op].id) == 0;
    if (found != 1 || row_of(rows[i].id) != &rows[i]) COMPLAIN("row %s names no op, or twice\n", rows[i].id);
  }
  assert_int_equal(problems, 0);
}

static uint64_t seed_of (const row *r, int v) { return (uint64_t)(r - rows) * 100 + (uint64_t)v + 1; }

static gb_node *case_of (const row *r, int v, gb_dtype t, unsigned flags) {
  inputs_begin(seed_of(r, v), t, flags);
  return r->build(v);
}

/* As case_of, with one element of one input moved. */
static gb_node *changed_case (const row *r, int v, gb_dtype t, unsigned flags, int k, size_t e, double by) {
  inputs_begin(seed_of(r, v), t, flags);
  inputs.changed = k;
  inputs.element = e;
  inputs.by = by;
  return r->build(v);
}

static bool holds_op (gb_node *y, const char *id) {
  gb_node **order;
  size_t count;
  bool found = false;
  OK(gb_graph_order(fx.g, 1, &y, GB_WALK_ALL, &order, &count, &fx.err));
  for (size_t i = 0; i < count; i++) found |= strcmp(gb_ops[order[i]->op].id, id) == 0;
  free(order);
  return found;
}

static bool is_f32 (gb_dtype t) { return t == GB_F32; }

static void check_values (const row *r, int v, gb_dtype t, gb_node *y, const double *want) {
  const double tolerance = (is_f32(t) ? 2e-5 : 2e-13) * (r->slack > 0 ? r->slack : 1);
  for (size_t e = 0; e < gb_shape_numel(gb_node_shape(y)); e++) {
    const double got = element(y, 0, e);
    if (isnan(want[e]) ? isnan(got)
                       : got == want[e] || fabs(got - want[e]) <= tolerance * (1 + fabs(want[e])))
      continue;
    COMPLAIN("%s case %d %s: element %zu is %.17g, want %.17g\n", r->id, v, gb_dtype_name(t), e, got,
             want[e]);
    return;
  }
}

static bool evaluates (const row *r, int v, gb_dtype t, size_t n, gb_node *const *y) {
  if (gb_eval(fx.g, n, y, &fx.err) == GB_OK) return true;
  COMPLAIN("%s case %d %s: %s\n", r->id, v, gb_dtype_name(t), fx.err.text);
  return false;
}

/* True: the case uses the op itself, and not what it was rewritten to. */
static bool check_case (const row *r, int v, gb_dtype t) {
  const int mark = fx.n;
  gb_node *y = case_of(r, v, t, 0);
  const bool uses = holds_op(y, r->id);
  if ((r->traits & CHECKED) != 0) {
    double *want = oracle_of(y, 0);
    if (evaluates(r, v, t, 1, &y)) check_values(r, v, t, y, want);
    free(want);
  }
  release_to(mark);
  return uses;
}

static void all_values_match_the_oracle (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(2, (size_t)1 << 28);
  for (size_t i = 0; i < nrows; i++) {
    int used = 0;
    for (int v = 0; v < rows[i].cases; v++)
      used += check_case(&rows[i], v, GB_F64) && check_case(&rows[i], v, GB_F32);
    if (used == 0 && (rows[i].traits & REWRITTEN) == 0) COMPLAIN("no case of %s uses it\n", rows[i].id);
  }
  eval_end();
  assert_int_equal(problems, 0);
}

/* gradients */

#define SMALL 16 /* elements of all inputs together */

/* sum of w y for fixed random w. */
static gb_node *loss_of (gb_node *y) {
  const gb_shape *s = gb_node_shape(y);
  const size_t n = gb_shape_numel(s);
  double *w = malloc((n + 1) * sizeof *w);
  for (size_t i = 0; i < n; i++) w[i] = gb_rand_uniform(5, 5, i) + 0.5;
  gb_node *leaf = leaf_of(gb_node_dtype(y), 0, s->ndim, s->dim, w, 0, 0);
  free(w);
  return sum_all(mul(y, leaf));
}

static double loss_at (const row *r, int v, int k, size_t e, double by) {
  const int mark = fx.n;
  gb_node *l = loss_of(changed_case(r, v, GB_F64, 0, k, e, by));
  double y = NAN;
  if (evaluates(r, v, GB_F64, 1, &l)) y = element(l, 0, 0);
  release_to(mark);
  return y;
}

static void check_gradient (const row *r, int v) {
  const int mark = fx.n;
  gb_node *l = case_of(r, v, GB_F64, GB_NODE_GRAD), *xs[8], *gradient[8];
  const int n = inputs.next;
  size_t elements = 0;
  memcpy(xs, inputs.leaf, sizeof xs);
  for (int k = 0; k < n; k++) elements += gb_shape_numel(gb_node_shape(xs[k]));
  if (n == 0 || elements == 0 || elements > SMALL || !gb_dtype_is_float(gb_node_dtype(l))) {
    release_to(mark);
    return;
  }
  l = loss_of(l);
  gb_status rc = gb_grad(l, NULL, (size_t)n, xs, true, gradient, &fx.err);
  if (rc != GB_OK) COMPLAIN("%s case %d: gradient: %s\n", r->id, v, fx.err.text);
  else {
    for (int k = 0; k < n; k++) hold(GB_OK, gradient[k]);
    if (evaluates(r, v, GB_F64, (size_t)n, gradient))
      for (int k = 0; k < n; k++)
        for (size_t e = 0; e < gb_shape_numel(gb_node_shape(xs[k])); e++) {
          const double h = 1e-5, got = element(gradient[k], 0, e);
          const double want = (loss_at(r, v, k, e, h) - loss_at(r, v, k, e, -h)) / (2 * h);
          if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
            COMPLAIN("%s case %d: gradient of input %d at %zu is %.10g, differences give %.10g\n", r->id, v,
                     k, e, got, want);
        }
  }
  release_to(mark);
}

static void all_gradients_match_finite_differences (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(1, (size_t)1 << 28);
  int checked = 0;
  for (size_t i = 0; i < nrows; i++)
    for (int v = 0; v < rows[i].cases && (rows[i].traits & GRAD) != 0; v++, checked++)
      check_gradient(&rows[i], v);
  eval_end();
  assert_true(checked > 200);
  assert_int_equal(problems, 0);
}

/* NaN */

static void check_nan (const row *r, int v, gb_dtype t) {
  const int mark = fx.n;
  gb_node *y = changed_case(r, v, t, 0, 0, 0, NAN);
  const size_t n = gb_shape_numel(gb_node_shape(y));
  if (inputs.next > 0 && gb_shape_numel(gb_node_shape(inputs.leaf[0])) > 0) {
    double *want = oracle_of(y, 0);
    bool any = false;
    if (evaluates(r, v, t, 1, &y)) {
      check_values(r, v, t, y, want);
      for (size_t e = 0; e < n; e++) any |= isnan(element(y, 0, e));
      if ((r->traits & NANS) != 0 && n > 0 && !any)
        COMPLAIN("%s case %d %s swallows NaN\n", r->id, v, gb_dtype_name(t));
    }
    free(want);
  }
  release_to(mark);
}

static bool is_linear_algebra (const row *r) {
  for (int op = 0; op < GB_NOPS; op++)
    if (strcmp(gb_ops[op].id, r->id) == 0) return gb_op_has((gb_op)op, GB_TRAIT_DENSE) && op != GB_OP_GEMM;
  return false;
}

static void nan_goes_through (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(2, (size_t)1 << 28);
  for (size_t i = 0; i < nrows; i++)
    for (int v = 0; v < rows[i].cases && (rows[i].traits & CHECKED) != 0 && !is_linear_algebra(&rows[i]);
         v++) {
      check_nan(&rows[i], v, GB_F64);
      check_nan(&rows[i], v, GB_F32);
    }
  eval_end();
  assert_int_equal(problems, 0);
}

/* A factorisation either refuses NaN or hands it on; it never makes numbers of it. */
static void factorisations_never_swallow_nan (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(1, (size_t)1 << 28);
  for (size_t i = 0; i < nrows; i++)
    for (int v = 0; v < rows[i].cases && is_linear_algebra(&rows[i]); v++) {
      const int mark = fx.n;
      gb_node *y = changed_case(&rows[i], v, GB_F64, 0, 0, 0, NAN);
      if (gb_shape_numel(gb_node_shape(inputs.leaf[0])) > 0 && gb_shape_numel(gb_node_shape(y)) > 0) {
        const gb_status rc = gb_eval(fx.g, 1, &y, &fx.err);
        bool any = false;
        for (size_t e = 0; rc == GB_OK && e < gb_shape_numel(gb_node_shape(y)); e++)
          any |= isnan(element(y, 0, e));
        if (rc == GB_OK ? !any : rc != GB_ENAN && rc != GB_ENOTPD)
          COMPLAIN("%s case %d: %s\n", rows[i].id, v, rc == GB_OK ? "NaN became numbers" : fx.err.text);
      }
      release_to(mark);
    }
  eval_end();
  assert_int_equal(problems, 0);
}

/* ops without an oracle */

static void registered_ops_run (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  for (int v = 0; v < 2; v++) {
    gb_node *y = case_of(row_of("CALL"), v, GB_F64, 0);
    double *x = oracle_of(inputs.leaf[0], 0);
    OK(gb_eval(fx.g, 1, &y, &fx.err));
    for (size_t e = 0; e < gb_shape_numel(gb_node_shape(y)); e++)
      assert_true(fabs(element(y, 0, e) - 2 * sin(x[e])) <= 1e-14);
    free(x);
  }
  eval_end();
}

static void sobol_points_and_permutations_are_what_they_are_called (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  gb_node *y[2] = {case_of(row_of("SOBOL"), 1, GB_F64, 0), case_of(row_of("RANDPERM"), 1, GB_F64, 0)};
  OK(gb_eval(fx.g, 2, y, &fx.err));
  for (size_t d = 0; d < 3; d++) {
    double mean = 0;
    for (size_t i = 0; i < 100; i++) {
      const double x = element(y[0], 0, i * 3 + d);
      assert_true(x > 0 && x < 1);
      mean += x / 100;
    }
    assert_true(fabs(mean - 0.5) < 0.02);
  }
  bool seen[51] = {false};
  for (size_t i = 0; i < 50; i++) {
    const int p = (int)element(y[1], 0, i);
    assert_true(p >= 1 && p <= 50 && !seen[p]);
    seen[p] = true;
  }
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_has_a_row),
      cmocka_unit_test(all_values_match_the_oracle),
      cmocka_unit_test(all_gradients_match_finite_differences),
      cmocka_unit_test(nan_goes_through),
      cmocka_unit_test(factorisations_never_swallow_nan),
      cmocka_unit_test(registered_ops_run),
      cmocka_unit_test(sobol_points_and_permutations_are_what_they_are_called),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
