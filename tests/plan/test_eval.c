/* test_eval.c - whole expressions on the CPU device: streaming, caches and sharing, refusals. */
#include "support/plan/eval_fixture.h"

#include "base/interrupt.h"
#include "graph/call.h"
#include "tensor/host.h"

static gb_node *kernel_of (gb_node *x, gb_node *y, double c) {
  gb_node *s = BUILD(gb_sqdist, x, y, NULL);
  return BUILD(gb_radial, GB_RBF, s, num(c), NULL);
}

static gb_node *points (size_t n, size_t d) { return in2(n, d, -1, 1); }

static gb_node *empty (const char *name, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_node_placeholder, fx.g, &s, GB_F64, name);
}

/* K + 0.1 I */
static gb_node *covariance (gb_node *x) {
  const size_t n = gb_node_shape(x)->dim[0];
  return add(kernel_of(x, x, 2), mul(eye(n), num(0.1)));
}

static gb_plan_report report_of (gb_node *y) {
  gb_plan *p;
  gb_plan_report r;
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  r.row = NULL;
  gb_plan_free(p);
  return r;
}

static void a_product_with_a_kernel_needs_memory_for_its_vectors_only (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(1, GB_F64, GB_NODE_GRAD);
  const size_t n = 6000;
  gb_node *x = points(n, 3), *v = in1(n, -1, 1), *z = mm(kernel_of(x, x, 2), v),
          *loss = sum_all(mul(z, in1(n, 0, 1)));
  gb_node *gradient[2];
  OK(gb_grad(loss, NULL, 2, (gb_node *[]){x, v}, false, gradient, &fx.err));
  hold(GB_OK, gradient[0]);
  hold(GB_OK, gradient[1]);
  assert_true(report_of(z).peak < n * n); /* dense: 8 n n */
  assert_true(report_of(gradient[0]).peak < n * n);
  OK(gb_eval(fx.g, 3, (gb_node *[]){loss, gradient[0], gradient[1]}, &fx.err));
  assert_true(gb_last_eval(fx.g).measured < n * n);
  assert_true(gb_last_eval(fx.g).pairs <= 3 * n * n);
  eval_end();
}

static void threads_change_no_bit_of_a_streamed_product (void **unused) {
  (void)unused;
  double *first = NULL;
  for (int threads = 1; threads <= 3; threads++) {
    eval_begin(threads, (size_t)1 << 28);
    inputs_begin(2, GB_F32, 0);
    gb_node *x = points(1500, 3), *z = mm(kernel_of(x, points(2100, 3), 2), in2(2100, 3, -1, 1));
    OK(gb_eval(fx.g, 1, &z, &fx.err));
    const void *got = elements(&z->out[0].tensor);
    const size_t bytes = 1500 * 3 * sizeof(float);
    if (first == NULL) memcpy(first = malloc(bytes), got, bytes);
    else assert_memory_equal(first, got, bytes);
    eval_end();
  }
  free(first);
}

static void one_factorisation_serves_solve_and_determinant (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(3, GB_F64, 0);
  gb_node *a = covariance(points(100, 2)), *b = in1(100, -1, 1), *s = BUILD(gb_solve, a, b),
          *l = BUILD(gb_logdet, a);
  OK(gb_eval(fx.g, 1, &s, &fx.err));
  const int first = gb_last_eval(fx.g).opaques;
  const size_t cached = device->ledger.by_purpose[GB_MEM_CACHE];
  assert_true(cached >= 100 * 100 * 8);
  OK(gb_eval(fx.g, 1, &l, &fx.err));
  assert_true(gb_last_eval(fx.g).opaques < first + 1 && gb_last_eval(fx.g).opaques >= 1);
  assert_int_equal(gb_last_eval(fx.g).folds, 0); /* the factor was there */
  gb_cache_drop(fx.g, SIZE_MAX);
  assert_int_equal(device->ledger.by_purpose[GB_MEM_CACHE], 0);
  gb_node *again = mul(BUILD(gb_logdet, a), num(1)); /* has its value: nothing to factor */
  OK(gb_eval(fx.g, 1, &again, &fx.err));
  assert_true(fabs(element(again, 0, 0) - element(l, 0, 0)) <= 1e-12);
  eval_end();
}

static void a_model_fits_in_its_smallest_budget_with_the_same_bits (void **unused) {
  (void)unused;
  double value[2][2];
  size_t minimum = 0;
  for (int round = 0; round < 2; round++) {
    eval_begin(2, (size_t)1 << 28);
    inputs_begin(4, GB_F64, GB_NODE_GRAD);
    gb_node *x = points(150, 2), *b = in1(150, -1, 1), *c = in0(1, 2);
    gb_node *s = BUILD(gb_sqdist, x, x, NULL), *k = BUILD(gb_radial, GB_M52, s, c, NULL);
    gb_node *a = add(k, mul(eye(150), num(0.1)));
    gb_node *loss = add(BUILD(gb_inv_quad, a, b), BUILD(gb_logdet, a)),
            *gradient = BUILD(gb_grad, loss, NULL, 1, &c, false);
    gb_node *outs[2] = {loss, gradient};
    gb_plan *p;
    gb_plan_report r;
    OK(gb_plan_new(fx.g, 2, outs, NULL, &p, &fx.err));
    gb_plan_report_get(p, &r);
    gb_plan_free(p);
    if (round == 0) minimum = r.minimum;
    assert_int_equal(r.minimum, minimum);
    if (round == 1) {
      device->ledger.limit = device->ledger.used + minimum - 1;
      assert_int_equal(gb_eval(fx.g, 2, outs, &fx.err), GB_EREFUSED);
      assert_int_equal(fx.err.minimum, minimum);
      device->ledger.limit++;
    }
    OK(gb_eval(fx.g, 2, outs, &fx.err));
    for (int i = 0; i < 2; i++) value[round][i] = element(outs[i], 0, 0);
    eval_end();
  }
  assert_memory_equal(value[0], value[1], sizeof value[0]);
}

static void a_likelihood_needs_one_matrix (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(9, GB_F64, 0);
  const size_t n = 300;
  gb_node *x = points(n, 2), *b = in1(n, -1, 1), *a = covariance(x);
  gb_node *loss = add(BUILD(gb_inv_quad, a, b), BUILD(gb_logdet, a));
  double *want = oracle_of(loss, 0);
  assert_true(report_of(loss).peak < n * n * 8 + 300000); /* the factor takes the place of the matrix */
  OK(gb_eval(fx.g, 1, &loss, &fx.err));
  assert_true(fabs(element(loss, 0, 0) - want[0]) <= 1e-9 * fabs(want[0]));
  free(want);
  eval_end();
}

static void what_cannot_fit_is_refused_with_the_way_out (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  const size_t n = 200000;
  gb_node *x = empty("x", 2, (size_t[]){n, 3}), *b = empty("b", 1, &n), *k = kernel_of(x, x, 2);
  gb_plan *p;
  gb_node_set_name(k, "K");
  assert_int_equal(gb_plan_new(fx.g, 1, &k, NULL, &p, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "K 200000x200000 f64 298 GiB"));
  assert_non_null(strstr(fx.err.text, "asked for whole"));
  gb_node *s = BUILD(gb_solve, covariance(x), b);
  assert_int_equal(gb_plan_new(fx.g, 1, &s, NULL, &p, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "gb.solvers.cg"));
  assert_true(fx.err.minimum >= n * n * 4 && fx.err.need >= fx.err.minimum);
  eval_end();
}

static void sizes_past_memory_are_planned_and_not_allocated (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 40);
  const size_t n = (size_t)1 << 31;
  gb_node *x = empty("x", 2, (size_t[]){n, 3}), *v = empty("v", 1, &n), *z = mm(kernel_of(x, x, 2), v);
  gb_plan_report r = report_of(z);
  assert_true(r.outputs == n * 8 && r.peak < n * 100);
  gb_plan *p;
  gb_node *k = kernel_of(x, x, 2);
  assert_int_equal(gb_plan_new(fx.g, 1, &k, NULL, &p, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "more than 16 EiB"));
  assert_int_equal(device->ledger.used, 0);
  eval_end();
}

static void an_interrupt_leaves_nothing_behind (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(5, GB_F64, 0);
  gb_node *x = points(2000, 3), *z = mm(kernel_of(x, x, 2), in1(2000, -1, 1));
  const size_t used = device->ledger.used;
  gb_interrupt_raise();
  assert_int_equal(gb_eval(fx.g, 1, &z, &fx.err), GB_EINTR);
  gb_interrupt_clear();
  assert_false(gb_node_has_value(z));
  assert_int_equal(device->ledger.used, used);
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  eval_end();
}

/* A registered op that keeps a count on its input, evaluates an expression of it, and plans it with its
** own memory. */
static gb_tensor kept;

static gb_status keep_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                           void *scratch, gb_error *err) {
  (void)ud, (void)o, (void)scratch;
  gb_node *x = NULL, *y = NULL;
  kept = gb_tensor_ref(&in[0]);
  GB_TRY(gb_node_leaf(g, &in[0], 0, "inner", &x, err));
  gb_status rc = gb_map1(GB_OP_EXP, x, &y, err);
  if (rc == GB_OK) rc = gb_eval(g, 1, &y, err);
  if (rc == GB_OK) rc = gb_tensor_copy(&out[0], &y->out[0].tensor, err);
  gb_node_unref(y);
  gb_node_unref(x);
  return rc;
}

static size_t no_scratch (void *ud, const gb_opaque *o) {
  (void)ud, (void)o;
  return 0;
}

static void a_registered_op_may_evaluate_and_keep_its_inputs (void **unused) {
  (void)unused;
  static const gb_call call = {.name = "keep", .scratch_bytes = no_scratch, .run = keep_run};
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(6, GB_F64, 0);
  gb_node *x = in1(300, -1, 1), *s = map1(GB_OP_SIN, x);
  const gb_attr attr = {.i = {gb_call_register(&call)}};
  gb_node *y = BUILD(gb_node_build, fx.g, GB_OP_CALL, 1, &s, &attr, gb_node_shape(x), GB_F64);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  OK(gb_eval(fx.g, 1, &x, &fx.err));
  for (size_t i = 0; i < 300; i++) {
    assert_true(fabs(element(y, 0, i) - exp(sin(element(x, 0, i)))) <= 1e-14);
    assert_true(fabs(element_at(&kept, &i) - sin(element(x, 0, i))) <= 1e-15);
  }
  gb_tensor_clear(&kept);
  eval_end();
}

static void a_view_of_a_leaf_and_two_results_of_one_op_are_values (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(7, GB_F64, 0);
  gb_node *x = in2(5, 3, -1, 1), *t = tr(x), *s = attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {1, 0}});
  gb_node *out[5] = {t, BUILD(gb_pick, s, 0), BUILD(gb_pick, s, 1), x, t};
  OK(gb_eval(fx.g, 5, out, &fx.err));
  for (size_t i = 0; i < 5; i++)
    for (size_t j = 0; j < 3; j++)
      assert_true(element_at(&t->out[0].tensor, (size_t[]){j, i}) == element(x, 0, i * 3 + j));
  for (size_t i = 0; i < 5; i++) {
    const size_t at = (size_t)element(out[2], 0, i * 3);
    assert_true(element(out[1], 0, i * 3) == element(x, 0, i * 3 + at - 1));
  }
  eval_end();
}

/* A positive definite matrix that is not: the order of the minor and the line are told, and nothing is
** kept. */
static void a_failed_factorisation_names_its_line (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(8, GB_F64, 0);
  gb_node *b = in2(6, 2, -1, 1);
  fx.g->where = gb_graph_intern(fx.g, "fit.lua:9");
  gb_node *l = BUILD(gb_cholesky, sub(mm(b, tr(b)), eye(6)), 0);
  fx.g->where = "";
  const size_t used = device->ledger.used;
  assert_int_equal(gb_eval(fx.g, 1, &l, &fx.err), GB_ENOTPD);
  assert_non_null(strstr(fx.err.text, "fit.lua:9"));
  assert_int_equal(device->ledger.used, used);
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_with_a_kernel_needs_memory_for_its_vectors_only),
      cmocka_unit_test(threads_change_no_bit_of_a_streamed_product),
      cmocka_unit_test(one_factorisation_serves_solve_and_determinant),
      cmocka_unit_test(a_model_fits_in_its_smallest_budget_with_the_same_bits),
      cmocka_unit_test(a_likelihood_needs_one_matrix),
      cmocka_unit_test(what_cannot_fit_is_refused_with_the_way_out),
      cmocka_unit_test(sizes_past_memory_are_planned_and_not_allocated),
      cmocka_unit_test(an_interrupt_leaves_nothing_behind),
      cmocka_unit_test(a_registered_op_may_evaluate_and_keep_its_inputs),
      cmocka_unit_test(a_view_of_a_leaf_and_two_results_of_one_op_are_values),
      cmocka_unit_test(a_failed_factorisation_names_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
