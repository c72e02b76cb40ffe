/* test_steps.c - the steps that lowering writes: their names; views of one value share it; which products are
** symmetric; products of types without BLAS are folds; no step is added after counting. */
#include "lower/internal.h"
#include "support/plan/lower_fixture.h"

#define N 60
#define M 45
#define D 3
#define R 2

static const gb_step *step_called (const gb_lowered *low, const char *text) {
  for (int s = 0; s < low->nsteps; s++)
    if (strstr(low->step[s].what, text) != NULL) return &low->step[s];
  return NULL;
}

static void a_merged_traversal_is_named_after_its_kernel (void **unused) {
  (void)unused;
  for (size_t r = R; r >= 1; r--) {
    eval_begin(1, (size_t)1 << 28);
    inputs_begin(r, GB_F64, GB_NODE_GRAD);
    gb_node *x = in2(N, D, -1, 1), *y = in2(M, D, -1, 1), *v = in2(M, r, -1, 1), *l = in0(0.5, 1.5), *out[5];
    gb_node *k = radial(GB_RBF, dist(x, y, NULL), map1(GB_OP_RECIP, square(l)), NULL);
    out[0] = sum_all(mul(mm(k, v), in2(N, r, -1, 1)));
    grads(out[0], 4, (gb_node *[]){x, y, v, l}, out + 1);
    gb_lowered *low = lowered(5, out);
    const char *want = r == R ? "fold rbf d=3 r=2, 5 results" : "fold rbf d=3, 5 results";
    if (step_called(low, want) == NULL) {
      print_steps(low);
      fail_msg("no step is called \"%s\"", want);
    }
    gb_lowered_free(low);
    eval_end();
  }
}

static void views_of_one_value_share_it (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(3, GB_F64, 0);
  gb_node *u = map1(GB_OP_SIN, in1(N, -1, 1)), *a = in2(N, N, -1, 1);
  gb_node *row = unsq(u, 0), *column = unsq(u, 1),
          *wide = BUILD(gb_reshape, u, &(gb_shape){.ndim = 2, .dim = {N, 1}});
  gb_node *mixed = map1(GB_OP_TANH, add(mul(map1(GB_OP_EXP, mul(a, column)), row), mul(add(a, wide), u)));
  gb_node *out[] = {sum_all(mixed), rows_sum(mul(mixed, tr(add(a, column))), 0)};
  gb_lowered *low = lowered(2, out);
  int sines = 0;
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; low->step[s].is_fold && i < low->step[s].fold.nins; i++) {
      const gb_ins *ins = &low->step[s].fold.ins[i];
      sines += ins->kind == GB_INS_MAP && ins->op == GB_OP_SIN;
    }
  if (sines != 1 || low->nsteps > 3) {
    print_steps(low);
    fail_msg("%d steps with %d sines", low->nsteps, sines);
  }
  eval_all(2, out);
  for (int k = 0; k < 2; k++) {
    double *want = oracle_of(out[k], 0);
    for (size_t i = 0; i < count_of(out[k]); i++)
      if (!(fabs(element(out[k], 0, i) - want[i]) <= 1e-12 * N * (1 + fabs(want[i]))))
        fail_msg("result %d differs", k);
    free(want);
  }
  gb_lowered_free(low);
  eval_end();
}

/* A corner is smaller than its source, which is not computed whole for it. */
static void a_slice_of_a_value_does_not_store_all_of_it (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(4, GB_F64, 0);
  gb_node *u = map1(GB_OP_SIN, in1(1000 * N, -1, 1));
  gb_node *cut = BUILD(gb_slice, u, 0, 5, 3, N);
  gb_node *out = sum_all(map1(GB_OP_EXP, mul(in2(N, N, -1, 1), unsq(cut, 0))));
  gb_lowered *low = lowered(1, &out);
  for (int b = 0; b < low->nbufs; b++)
    if (low->buf[b].cls != GB_BUF_LEAF) assert_true(gb_shape_numel(&low->buf[b].shape) <= N);
  gb_lowered_free(low);
  eval_end();
}

static gb_node *kernel (gb_node *x, gb_node *y) { return radial(GB_RBF, dist(x, y, NULL), num(1), NULL); }

/* K(x, x) is symmetric, each of the products summed by K(x, x) K(y, y) is not. */
static void products_of_two_lazy_kernels_have_the_values_of_dense_ones (void **unused) {
  (void)unused;
  for (int which = 0; which < 4; which++)
    for (int batched = 0; batched < 2; batched++) {
      eval_begin(2, (size_t)1 << 28);
      inputs_begin((uint64_t)which + 7, GB_F64, 0);
      const size_t n = 3 * GB_TI - 7; /* several tiles on either side of the diagonal */
      gb_node *x = batched ? in3(2, n, D, -1, 1) : in2(n, D, -1, 1),
              *y = batched ? in3(2, n, D, -1, 1) : in2(n, D, -1, 1);
      gb_node *a = which == 3 ? kernel(x, y) : kernel(x, x);
      gb_node *b = which == 0 ? a : which == 1 || which == 3 ? kernel(y, y) : kernel(x, y), *out = mm(a, b);
      double *want = oracle_of(out, 0);
      eval1(out);
      for (size_t i = 0; i < count_of(out); i++)
        if (!(fabs(element(out, 0, i) - want[i]) <= 1e-14 * (double)n))
          fail_msg("product %d: %g, not %g", which, element(out, 0, i), want[i]);
      free(want);
      eval_end();
    }
}

static double unit_of (gb_dtype t) { return t == GB_F16 ? 0x1p-11 : 0x1p-8; }

static void products_of_half_precision_are_rounded_once (void **unused) {
  (void)unused;
  const gb_dtype types[] = {GB_F16, GB_BF16};
  const size_t sizes[][3] = {{1, 1, 1}, {5, 3, 1}, {33, 70, 17}, {64, 300, 65}, {1, 0, 4}};
  for (int t = 0; t < 2; t++)
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
      const size_t n = sizes[c][0], k = sizes[c][1], m = sizes[c][2];
      eval_begin(2, (size_t)1 << 28);
      inputs_begin(c + 1, types[t], 0);
      gb_node *a = in2(n, k, -1, 1), *b = in2(k, m, -1, 1), *y = mm(a, b);
      eval1(y);
      assert_int_equal(gb_node_dtype(y), types[t]);
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
          double want = 0, size = 0;
          for (size_t s = 0; s < k; s++) {
            const double term = element(a, 0, i * k + s) * element(b, 0, s * m + j);
            want += term;
            size += fabs(term);
          }
          const double bound = unit_of(types[t]) * fabs(want) + 0x1p-24 * (double)k * size + 0x1p-25;
          const double got = element(y, 0, i * m + j);
          if (!(fabs(got - want) <= bound)) fail_msg("%zu x %zu x %zu: %g, not %g", n, k, m, got, want);
        }
      eval_end();
    }
}

static void nothing_is_added_once_steps_are_counted (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(5, GB_F64, 0);
  gb_node *a = in2(N, D, -1, 1), *leaf = in1(N, -1, 1),
          *out[] = {map1(GB_OP_SIN, a), leaf, BUILD(gb_cholesky, mm(a, tr(a)), 0)};
  for (int i = 0; i < 3; i++) {
    gb_order o = {0};
    OK(gb_structure(fx.g, 3, out, &o, &fx.err));
    gb_lower_state s = {.graph = fx.g, .order = o.node, .count = o.count, .err = &fx.err};
    OK(gb_decide(&s, 3, out));
    s.buf_of = malloc(s.count * GB_MAX_OUTPUTS * sizeof *s.buf_of);
    for (size_t k = 0; k < s.count * GB_MAX_OUTPUTS; k++) s.buf_of[k] = -1;
    gb_status rc = GB_OK;
    const int first = gb_need(&s, a, 0, &rc);
    assert_true(first >= 0 && rc == GB_OK);
    s.sealed = true;
    assert_int_equal(gb_need(&s, a, 0, &rc), first);
    assert_int_equal(rc, GB_OK);
    assert_int_equal(gb_need(&s, out[i], 0, &rc), -1);
    assert_int_equal(rc, GB_EINTERNAL);
    assert_non_null(strstr(fx.err.text, "after the steps were counted"));
    assert_int_equal(s.nbufs, 1);
    assert_int_equal(s.ndrafts, 0);
    free(s.buf);
    free(s.draft);
    free(s.decision);
    free(s.buf_of);
    free(o.node);
  }
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_merged_traversal_is_named_after_its_kernel),
      cmocka_unit_test(views_of_one_value_share_it),
      cmocka_unit_test(a_slice_of_a_value_does_not_store_all_of_it),
      cmocka_unit_test(products_of_two_lazy_kernels_have_the_values_of_dense_ones),
      cmocka_unit_test(products_of_half_precision_are_rounded_once),
      cmocka_unit_test(nothing_is_added_once_steps_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
