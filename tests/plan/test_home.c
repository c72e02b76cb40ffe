/* test_home.c - a device that lacks ops: what it lacks is computed at home, with the bits of a device that lacks
** nothing, and the bytes of both are those that were promised. */
#include "graph/build.h"
#include "plan/choose/plan_internal.h"
#include "support/plan/lower_fixture.h"
#include "support/plan/run_fixture.h"
#include "support/random/expression_random.h"

static gb_node *some_input (void *unused) {
  (void)unused;
  return random_input();
}

static gb_node *random_expression (uint64_t seed) { return random_expression_of(seed, some_input, NULL); }

typedef struct values {
  void *at;
  size_t bytes;
} values;

static values take (gb_tensor *t) {
  const values v = {elements_copied(t), gb_shape_bytes(&t->shape, t->dtype)};
  assert_true(t->storage->ledger != &home->ledger); /* it lies where the graph has it */
  gb_tensor_clear(t);
  return v;
}

static void check_bits (const values *want, gb_tensor *t, uint64_t seed) {
  values got = take(t);
  if (got.bytes != want->bytes || memcmp(got.at, want->at, got.bytes) != 0)
    fail_msg("expression %d has other bits", (int)seed);
  free(got.at);
}

static values run_once (gb_node *y, tally *t) {
  gb_tensor out;
  OK(run(y, 0, &out, t));
  return take(&out);
}

typedef struct wanted {
  const values *bits;
  uint64_t seed;
} wanted;

static void check_wanted (void *ud, gb_tensor *got) {
  const wanted *w = ud;
  check_bits(w->bits, got, w->seed);
}

/* With less and less memory, on the device and then at home, the bits stay until the plan is refused. */
static void shrink (gb_node *y, const values *want, uint64_t seed, tally *t) {
  wanted w = {want, seed};
  shrink_on(device, y, check_wanted, &w, t);
  shrink_on(home, y, check_wanted, &w, t);
}

static void expressions_have_the_bits_of_a_device_that_lacks_nothing (void **unused) {
  (void)unused;
  tally t = {0};
  for (uint64_t seed = 1; seed <= 120; seed++) {
    tally none = {0};
    picky_begin(1 + (int)(seed % 2), seed % 3 == 0 ? GB_F32 : GB_F64);
    values want = run_once(random_expression(seed), &none);
    assert_int_equal(none.devices + none.at_home, 0);
    picky_end();
    picky_begin(1 + (int)(seed % 2), seed % 3 == 0 ? GB_F32 : GB_F64);
    picky_draw_lacks(seed);
    gb_node *y = random_expression(seed);
    values got = run_once(y, &t);
    assert_int_equal(got.bytes, want.bytes);
    assert_memory_equal(got.at, want.at, want.bytes);
    shrink(y, &want, seed, &t);
    free(got.at);
    free(want.at);
    picky_end();
  }
  print_message("%d runs, %d on both devices, %d steps at home, %d in windows, %d refused, %d bytes moved\n",
                t.runs, t.devices, t.at_home, t.windows, t.refused, (int)t.moved);
  assert_true(t.devices > 600 && t.at_home > 2000 && t.windows > 20 && t.refused > 100);
}

/* leaves that are views */

static gb_node *view_leaf (const gb_node *x, int kind) {
  gb_tensor t = x->out[0].tensor;
  const size_t rows = t.shape.dim[0], columns = t.shape.dim[1];
  if (kind == 1 || kind == 4) {
    t.shape.dim[0] = columns, t.shape.dim[1] = rows;
    const ptrdiff_t s = t.stride[0];
    t.stride[0] = t.stride[1], t.stride[1] = s;
  }
  if (kind == 2 || kind == 4) {
    t.offset += (size_t)(t.stride[0] * (ptrdiff_t)(t.shape.dim[0] - 1));
    t.stride[0] = -t.stride[0];
  }
  if (kind == 3) t.offset += 1, t.stride[1] *= 2, t.shape.dim[1] = (columns - 1) / 2;
  if (kind == 5) t.stride[0] = 0;
  return BUILD(gb_node_leaf, fx.g, &t, 0, "view");
}

static gb_node *of_view (int kind, int form) {
  gb_node *x = view_leaf(in2(30, 11, -1, 1), kind);
  if (form == 0) return BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {0}}), 0);
  if (form == 1) return map1(GB_OP_ERF, x);
  if (form == 2) return sum_axis(mul(map1(GB_OP_ERF, x), x), 0);
  return add(sum_axis(map1(GB_OP_ERF, mm(x, tr(x))), 1), sum_axis(square(x), 1));
}

static void leaves_of_any_layout_go_home (void **unused) {
  (void)unused;
  for (int kind = 0; kind < 6; kind++)
    for (int form = 0; form < 4; form++) {
      tally t = {0};
      picky_begin(1, GB_F64);
      values want = run_once(of_view(kind, form), &t);
      picky_end();
      picky_begin(1, GB_F64);
      picky_lacks(GB_OP_SORT);
      picky_lacks(GB_OP_ERF);
      values got = run_once(of_view(kind, form), &t);
      assert_true(t.at_home == 1 && t.moved > 0);
      assert_int_equal(got.bytes, want.bytes);
      assert_memory_equal(got.at, want.at, want.bytes);
      free(got.at);
      free(want.at);
      picky_end();
    }
}

/* gradients */

static void run_slopes (values out[3]) {
  tally t = {0};
  inputs.flags = GB_NODE_GRAD;
  gb_node *w = in2(12, 3, -1, 1);
  inputs.flags = 0;
  gb_node *k = add(map1(GB_OP_EXP, map1(GB_OP_NEG, dist(w, w, NULL))), identity_of(12)), *g[1], *gg[1];
  gb_node *y = add(BUILD(gb_logdet, k), sum_all(map1(GB_OP_DIGAMMA, add(square(w), num(1)))));
  y = add(y, sum_all(square(BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &w, (gb_attr){.i = {0}}), 0))));
  grads(y, 1, &w, g);
  grads(sum_all(square(g[0])), 1, &w, gg);
  out[0] = run_once(y, &t);
  out[1] = run_once(g[0], &t);
  out[2] = run_once(gg[0], &t);
}

static void gradients_are_those_of_a_device_that_lacks_nothing (void **unused) {
  (void)unused;
  values want[3], got[3];
  picky_begin(2, GB_F64);
  run_slopes(want);
  picky_end();
  for (uint64_t seed = 0; seed < 8; seed++) {
    picky_begin(2, GB_F64);
    picky_draw_lacks(seed);
    run_slopes(got);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(got[i].bytes, want[i].bytes);
      assert_memory_equal(got[i].at, want[i].at, want[i].bytes);
      free(got[i].at);
    }
    picky_end();
  }
  for (int i = 0; i < 3; i++) free(want[i].at);
}

/* what is told, and what nobody pays for */

static gb_node *sorted_sum (gb_node *x) {
  gb_node *s = BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {0}}), 0);
  return sum_axis(map1(GB_OP_DIGAMMA, add(square(s), num(1))), 1);
}

static void the_plan_says_what_runs_where_and_why (void **unused) {
  (void)unused;
  gb_plan *p;
  char want[256];
  picky_begin(1, GB_F64);
  picky_lacks(GB_OP_SORT);
  picky_lacks(GB_OP_DIGAMMA);
  gb_node *y = sorted_sum(in2(50, 4, -1, 1));
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  char *text = gb_plan_explain(p);
  snprintf(want, sizeof want, "sort runs on %s, not on %s: " PICKY_REASON, home->name, device->name);
  assert_non_null(strstr(text, want));
  assert_non_null(strstr(text, "digamma in fold elementwise runs on "));
  snprintf(want, sizeof want, "    %s to %s", device->name, home->name);
  assert_non_null(strstr(text, want));
  /* What is sorted stays at home for the fold: there and back is all that is moved. */
  OK(gb_plan_run(p, &fx.err));
  gb_run_stats s;
  gb_plan_stats(p, &s);
  assert_int_equal(s.moved, 50 * 4 * 8 + 50 * 8);
  free(text);
  gb_plan_free(p);
  picky_end();
}

static void what_the_device_has_costs_nothing (void **unused) {
  (void)unused;
  gb_plan *p;
  picky_begin(1, GB_F64);
  picky_lacks(GB_OP_TOPK);
  gb_node *y = sorted_sum(in2(50, 4, -1, 1));
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  assert_int_equal(p->prog->low->nsteps, 2);
  assert_int_equal(p->prog->low->ndevices, 1);
  assert_int_equal(fx.g->nmore, 0);
  gb_plan_free(p);
  picky_end();
}

/* A value that exists lies on the device; what stands for it at home is made from it or again. */
static void values_that_exist_are_found (void **unused) {
  (void)unused;
  picky_begin(1, GB_F64);
  picky_lacks(GB_OP_SORT);
  picky_lacks(GB_OP_CUMSUM);
  inputs.flags = GB_NODE_GRAD; /* so that nodes keep their inputs */
  gb_node *x = in2(50, 4, -1, 1);
  inputs.flags = 0;
  gb_node *s = BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {0}}), 0);
  gb_node *c = attr_node(GB_OP_CUMSUM, 1, &s, (gb_attr){.i = {0}});
  OK(gb_eval(fx.g, 1, &s, &fx.err));
  OK(gb_eval(fx.g, 1, &c, &fx.err));
  assert_ptr_equal(c->out[0].tensor.storage->ledger, &device->ledger);
  double sum = 0;
  for (size_t i = 0; i < 50; i++) {
    sum += element(s, 0, i * 4);
    assert_true(fabs(element(c, 0, i * 4) - sum) <= 1e-12);
  }
  picky_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_have_the_bits_of_a_device_that_lacks_nothing),
      cmocka_unit_test(leaves_of_any_layout_go_home),
      cmocka_unit_test(gradients_are_those_of_a_device_that_lacks_nothing),
      cmocka_unit_test(the_plan_says_what_runs_where_and_why),
      cmocka_unit_test(what_the_device_has_costs_nothing),
      cmocka_unit_test(values_that_exist_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
