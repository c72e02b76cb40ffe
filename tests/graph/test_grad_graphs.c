/* test_grad_graphs.c - gradients as graphs: their shape, what can be asked for, what is refused, registered
** ops. */
#include <math.h>

#include "graph/call.h"
#include "support/graph/grad_check.h"

/* -- the shape of gradient graphs */

static size_t largest (gb_node *y, gb_op skip) {
  gb_node **order;
  size_t count, most = 0;
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) {
    const size_t n = gb_shape_numel(gb_node_shape(order[i]));
    if (order[i]->op != skip && n > most) most = n;
  }
  free(order);
  return most;
}

static int count_ops (size_t n, gb_node *const *roots, gb_op op) {
  gb_node **order;
  size_t count;
  int found = 0;
  assert_int_equal(gb_graph_order(fx.g, n, roots, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) found += order[i]->op == op;
  free(order);
  return found;
}

static void kernel_gradients_stay_contractions (void **state) {
  (void)state;
  gb_node *x = mat_in(7, 3, -1, 1), *y = mat_in(6, 3, -1, 1), *v = mat_in(6, 2, -1, 1), *l = leaf1(3),
          *s = leaf0(0.8);
  gb_node *diff = dvd(sub(unsq(x, 1), unsq(y, 0)), l);
  gb_node *k = mul(map1(GB_OP_EXP, mul(sum_axis(square(diff), 2), num(-0.5))), s), *z = mm(k, v);
  gb_node *xs[] = {x, y, l, s}, *bar[5];
  take_gradient(z, like_leaf(z), 4, xs, bar);
  for (int i = 0; i < 4; i++) assert_true(largest(bar[i], GB_OP_LEAF) <= 7 * 6); /* never n * m * d */
  assert_int_equal(count_ops(4, bar, GB_OP_RADIAL), 1);                          /* one exponential, shared */
  assert_true(gradient_is_right("kernel", z, 4, xs, 1e-7));
}

static void marginal_likelihood_needs_no_pullback_of_the_factor (void **state) {
  (void)state;
  gb_node *x = mat_in(6, 2, -1, 1), *y = leaf1(6), *l = leaf0(0.8), *noise = leaf0(0.1);
  gb_node *c = map1(GB_OP_RECIP, square(l)), *d2 = dist(x, x, NULL);
  gb_node *a = add(BUILD(gb_radial, GB_RBF, d2, c, NULL), mul(eye(6), noise));
  gb_node *nlml = add(BUILD(gb_inv_quad, a, y), BUILD(gb_logdet, a)), *xs[] = {x, l, noise, y}, *bar[4];
  take_gradient(nlml, NULL, 4, xs, bar);
  assert_int_equal(count_ops(4, bar, GB_OP_CHOLESKY), 1);
  assert_int_equal(count_ops(4, bar, GB_OP_CHOL_INVERSE), 1);
  assert_int_equal(count_ops(4, bar, GB_OP_SOLVE_CHOL), 1);
  assert_int_equal(count_ops(4, bar, GB_OP_TRISOLVE), 0);
  assert_true(gradient_is_right("nlml", nlml, 4, xs, 1e-7));
  gb_node *solved = BUILD(gb_solve, a, y);
  assert_true(gradient_is_right("solve", solved, 4, xs, 1e-7));
}

static void the_factor_itself_can_be_asked_for (void **state) {
  (void)state;
  gb_node *x = mat_in(4, 4, -1, 1), *a = spd(x), *f = BUILD(gb_cholesky, a, 0), *y = leaf1(4);
  gb_node *in[] = {f, y};
  gb_node *q = add(op_of(GB_OP_INV_QUAD, 2, in, (gb_attr){0}), op_of(GB_OP_LOGDET, 1, &f, (gb_attr){0}));
  assert_true(gradient_is_right("factor", q, 1, &f, 1e-7));
  gb_node *both[2];
  take_gradient(q, NULL, 2, (gb_node *[]){f, x}, both); /* through the factor, to what it is a factor of */
  double *got = value_of(both[1], NULL), *at = value_of(x, NULL);
  for (size_t i = 0; i < 16; i++)
    assert_true(reference_close(got[i], slope_at(q, (double[]){1}, x, at, i), 1e-7, 1e-7));
  free(got);
  free(at);
}

static void interior_nodes_can_be_asked_for (void **state) {
  (void)state;
  gb_node *x = leaf1(4), *mid = map1(GB_OP_SIN, x), *y = sum_all(mul(map1(GB_OP_EXP, mid), x));
  assert_true(gradient_is_right("interior", y, 1, &mid, 1e-8));
  assert_true(gradient_is_right("leaf", y, 1, &x, 1e-8));
}

/* -- what is refused */

static void a_result_that_does_not_depend_is_refused_by_name (void **state) {
  (void)state;
  gb_node *x = leaf1(4), *z = leaf1(4), *y = sum_all(x), *bar = NULL;
  gb_node_set_name(z, "speed");
  assert_int_equal(gb_grad(y, NULL, 1, &z, false, &bar, &fx.err), GB_EOPTION);
  assert_non_null(strstr(fx.err.text, "speed"));
  expect_gradient(y, z, (double[]){0, 0, 0, 0});
  assert_int_equal(gb_grad(sum_all(map1(GB_OP_FLOOR, x)), NULL, 1, &x, false, &bar, &fx.err), GB_EOPTION);
  assert_int_equal(gb_grad(sum_all(map1(GB_OP_DETACH, x)), NULL, 1, &x, false, &bar, &fx.err), GB_EOPTION);
}

static void cotangents_must_fit (void **state) {
  (void)state;
  gb_node *x = leaf1(4), *bar = NULL;
  assert_int_equal(gb_grad(square(x), NULL, 1, &x, false, &bar, &fx.err), GB_ESHAPE);
  assert_int_equal(gb_grad(square(x), leaf1(3), 1, &x, false, &bar, &fx.err), GB_ESHAPE);
  assert_int_equal(
      gb_grad(square(x), leaf_of(GB_F32, 0, 1, (size_t[]){4}, NULL, 0, 1), 1, &x, false, &bar, &fx.err),
      GB_EDTYPE);
  assert_int_equal(gb_grad(map2(GB_OP_LT, x, x), NULL, 1, &x, false, &bar, &fx.err), GB_EDTYPE);
}

/* -- registered ops */

static gb_status double_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need,
                              gb_node **in_bar, gb_error *err) {
  (void)ud, (void)y;
  return need[0] ? gb_scale(out_bar[0], 2, &in_bar[0], err) : GB_OK;
}

static void registered_ops_bring_their_own_rule (void **state) {
  (void)state;
  const gb_call call = {.name = "double", .grad = double_grad};
  const gb_attr attr = {.i = {gb_call_register(&call)}};
  gb_node *x = leaf1(3);
  gb_node *y = sum_all(BUILD(gb_node_build, fx.g, GB_OP_CALL, 1, &x, &attr, gb_node_shape(x), GB_F64));
  expect_gradient(y, x, (double[]){2, 2, 2});
}

static bool is_below (gb_node *root, const gb_node *n) {
  gb_node **order;
  size_t count;
  bool found = false;
  assert_int_equal(gb_graph_order(fx.g, 1, &root, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) found |= order[i] == n;
  free(order);
  return found;
}

/* Held values that differ from the true values show which node is read. */
static void a_held_value_is_a_leaf_with_a_history (void **state) {
  (void)state;
  const double twice[] = {2, 0, 0, 2};
  gb_node *a = leaf_of(GB_F64, GB_NODE_GRAD, 2, (size_t[]){2, 2}, (double[]){9, 0, 0, 9}, 0, 0),
          *b = leaf1(2), *l = BUILD(gb_cholesky, a, 0.0),
          *value = leaf_of(GB_F64, 0, 2, (size_t[]){2, 2}, twice, 0, 0),
          *h = BUILD(gb_node_hold, l, &value->out[0].tensor, 0u), **order;
  size_t count;
  assert_ptr_not_equal(h, l);
  assert_ptr_equal(BUILD(gb_cholesky, a, 0.0), l); /* nobody finds it by its key */
  assert_ptr_equal(h->out[0].tensor.storage, value->out[0].tensor.storage);
  gb_node *neg = map1(GB_OP_NEG, h);
  assert_int_equal(gb_graph_order(fx.g, 1, &neg, GB_WALK_READ, &order, &count, &fx.err), GB_OK);
  assert_int_equal(count, 2);
  free(order);
  /* sum b' A^-1 b: its gradient solves with the value that is held */
  gb_node *y = BUILD(gb_node_build, fx.g, GB_OP_INV_QUAD, 2, ((gb_node *[]){h, b}), NULL, NULL, GB_F64), *bar;
  take_gradient(y, NULL, 1, &a, &bar);
  assert_true(is_below(bar, h) && !is_below(bar, l));
  gb_node *wrong;
  assert_int_equal(gb_node_hold(l, &b->out[0].tensor, 0, &wrong, &fx.err), GB_ESHAPE);
  gb_node *plain = BUILD(gb_cholesky, value, 0.0),
          *leaf = BUILD(gb_node_hold, plain, &value->out[0].tensor, 0u);
  assert_int_equal(leaf->op, GB_OP_LEAF); /* no gradient can ask for it */
  gb_node *map = map1(GB_OP_SIN, b), *held = BUILD(gb_node_hold, map, &b->out[0].tensor, 0u);
  assert_int_equal(gb_node_reads(held), 0);
  expect_gradient(sum_all(held), b,
                  (double[]){cos(element_at(&b->out[0].tensor, (size_t[]){0})),
                             cos(element_at(&b->out[0].tensor, (size_t[]){1}))});
}

static void deep_chains_do_not_recurse (void **state) {
  (void)state;
  gb_node *x = leaf0(0.5), *y = gb_node_ref(x), *next, *bar;
  for (int i = 0; i < 100000; i++) {
    assert_int_equal(gb_map1(GB_OP_SIN, y, &next, &fx.err), GB_OK);
    gb_node_unref(y);
    y = next;
  }
  take_gradient(y, NULL, 1, &x, &bar);
  assert_true(isfinite(reference_scalar(bar, NULL)));
  gb_node_unref(y);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(kernel_gradients_stay_contractions),
      FIXTURE_TEST(marginal_likelihood_needs_no_pullback_of_the_factor),
      FIXTURE_TEST(the_factor_itself_can_be_asked_for),
      FIXTURE_TEST(interior_nodes_can_be_asked_for),
      FIXTURE_TEST(a_result_that_does_not_depend_is_refused_by_name),
      FIXTURE_TEST(cotangents_must_fit),
      FIXTURE_TEST(registered_ops_bring_their_own_rule),
      FIXTURE_TEST(a_held_value_is_a_leaf_with_a_history),
      FIXTURE_TEST(deep_chains_do_not_recurse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
