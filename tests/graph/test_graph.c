/* test_graph.c - nodes: consing, values and their inputs, the order of a graph, release, want of memory. */
#include <math.h>

#include "support/graph/graph_fixture.h"

#pragma GCC diagnostic ignored "-Wshadow" /* BUILD within BUILD */

/* -- consing */

static void equal_expressions_are_one_node (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *y = DATA(4, 3);
  gb_node *a = map1(GB_OP_TANH, add(x, y)), *b = map1(GB_OP_TANH, add(x, y));
  assert_ptr_equal(a, b);
  assert_ptr_not_equal(a, map1(GB_OP_TANH, sub(x, y)));
  assert_ptr_not_equal(BUILD(gb_cholesky, mm(x, tr(x)), 0.0), BUILD(gb_cholesky, mm(x, tr(x)), 1e-6));
  assert_true(a->serial > x->serial);
}

static void numbers_merge_by_their_bits_and_type (void **state) {
  (void)state;
  assert_ptr_equal(num(0.1), num(0.1));
  assert_ptr_not_equal(num(0.0), num(-0.0));
  assert_ptr_not_equal(num(1), BUILD(gb_node_const, fx.g, 1.0, GB_F32));
  assert_ptr_equal(BUILD(gb_node_const, fx.g, 0.1, GB_F32), BUILD(gb_node_const, fx.g, (double)0.1f, GB_F32));
  REFUSED(GB_EDTYPE, "2.5 is not an integer, expected i64", gb_node_const, fx.g, 2.5, GB_I64);
  REFUSED(GB_EDTYPE, "nan is not an integer, expected i64", gb_node_const, fx.g, NAN, GB_I64);
}

static void leaves_are_known_by_their_storage_never_their_contents (void **state) {
  (void)state;
  const double v[2] = {1, 2};
  gb_node *a = data_leaf_of(1, (size_t[]){2}, v), *b = data_leaf_of(1, (size_t[]){2}, v), *again;
  gb_tensor half = a->out[0].tensor;
  assert_ptr_not_equal(a, b);
  again = BUILD(gb_node_leaf, fx.g, &a->out[0].tensor, 0, "x");
  assert_ptr_equal(again, a);
  assert_string_equal(a->name, "x");
  gb_node_set_name(a, "y");
  assert_string_equal(a->name, "x");
  half.shape = SHAPE(1);
  half.offset = 1;
  assert_ptr_not_equal(BUILD(gb_node_leaf, fx.g, &half, 0, ""), a);
}

static void parameters_gradient_leaves_and_placeholders_never_merge (void **state) {
  (void)state;
  gb_node *x = DATA(3);
  const gb_shape s = SHAPE(3);
  const gb_tensor *t = &x->out[0].tensor;
  assert_ptr_not_equal(BUILD(gb_node_leaf, fx.g, t, GB_NODE_PARAM, "p"),
                       BUILD(gb_node_leaf, fx.g, t, GB_NODE_PARAM, "p"));
  assert_ptr_not_equal(BUILD(gb_node_leaf, fx.g, t, GB_NODE_GRAD, "p"),
                       BUILD(gb_node_leaf, fx.g, t, GB_NODE_GRAD, "p"));
  assert_ptr_not_equal(BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "s"),
                       BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "s"));
  assert_ptr_equal(BUILD(gb_node_leaf, fx.g, t, 0, ""), x);
  assert_int_equal(BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "")->flags, GB_NODE_PLACEHOLDER);
  const gb_tensor empty = {.dtype = GB_F64, .shape = s};
  assert_int_equal(BUILD(gb_node_leaf, fx.g, &empty, GB_NODE_TRACED, "")->flags, GB_NODE_TRACED);
  const gb_tensor positions = {.dtype = GB_I64, .shape = s};
  REFUSED(GB_EDTYPE, "gradients need a float tensor, got i64", gb_node_leaf, fx.g, &positions, GB_NODE_GRAD,
          "");
}

static gb_node *randn (int64_t seed, int64_t stream, size_t n) {
  const gb_attr a = {.i = {seed, stream}};
  const gb_shape s = SHAPE(n);
  return BUILD(gb_node_build, fx.g, GB_OP_RANDN, 0, NULL, &a, &s, GB_F64);
}

static void random_nodes_differ_by_stream_and_seed (void **state) {
  (void)state;
  assert_ptr_not_equal(randn(1, 0, 4), randn(1, 1, 4));
  assert_ptr_not_equal(randn(1, 0, 4), randn(2, 0, 4));
  assert_ptr_not_equal(randn(1, 0, 4), randn(1, 0, 5));
}

static void gone_nodes_leave_the_table_and_serials_are_not_reused (void **state) {
  (void)state;
  gb_node *x = DATA(3), *n;
  assert_int_equal(gb_map1(GB_OP_SIN, x, &n, &fx.err), GB_OK);
  const uint64_t serial = n->serial;
  const size_t nodes = fx.g->nnodes;
  gb_node_unref(n);
  assert_int_equal(fx.g->nnodes, nodes - 1);
  assert_int_equal(x->refs, 1);
  assert_true(map1(GB_OP_SIN, x)->serial > serial);
}

static void the_table_grows_and_still_finds (void **state) {
  (void)state;
  for (int i = 0; i < 5000; i++) num(i);
  const size_t nodes = fx.g->nnodes;
  for (int i = 0; i < 5000; i++) num(i);
  assert_int_equal(fx.g->nnodes, nodes);
  assert_true(fx.g->nbuckets >= nodes);
}

static void strings_are_kept_once (void **state) {
  (void)state;
  char text[32];
  const char *first = gb_graph_intern(fx.g, "script.lua:12");
  for (int i = 0; i < 1000; i++) {
    snprintf(text, sizeof text, "script.lua:%d", i);
    gb_graph_intern(fx.g, text);
  }
  assert_ptr_equal(gb_graph_intern(fx.g, "script.lua:12"), first);
  assert_string_equal(gb_graph_intern(fx.g, NULL), "");
}

static void a_node_keeps_its_first_line (void **state) {
  (void)state;
  gb_node *x = DATA(3);
  char text[GB_NODE_TEXT];
  fx.g->where = gb_graph_intern(fx.g, "a.lua:1");
  gb_node *y = map1(GB_OP_EXP, x);
  fx.g->where = gb_graph_intern(fx.g, "a.lua:2");
  assert_string_equal(map1(GB_OP_EXP, x)->where, "a.lua:1");
  fx.g->where = "";
  assert_string_equal(gb_node_text(y, text), "3 (a.lua:1)");
  gb_node_set_name(y, "y");
  assert_string_equal(gb_node_text(y, text), "y 3 (a.lua:1)");
  assert_string_equal(gb_node_text(x, text), "3");
}

/* -- values and their inputs */

static void observe (gb_node *n) {
  assert_int_equal(gb_tensor_new(&fx.device.ledger, gb_node_dtype(n), gb_node_shape(n), GB_MEM_TENSOR, "", "",
                                 &n->out[0].tensor, &fx.err),
                   GB_OK);
}

static void dropped_inputs_are_released_and_the_value_is_still_found (void **state) {
  (void)state;
  gb_node *x = DATA(3), *y = map1(GB_OP_SIN, x), *inner, *z;
  assert_int_equal(gb_map1(GB_OP_COS, y, &inner, &fx.err), GB_OK);
  z = map1(GB_OP_EXP, inner);
  gb_node_drop_inputs(z);
  assert_int_equal(z->nin, 1); /* no value yet */
  observe(z);
  const size_t nodes = fx.g->nnodes;
  gb_node_drop_inputs(z);
  assert_int_equal(z->nin, 0);
  assert_int_equal(z->depth, 0);
  gb_node *again, *found; /* inner is still held here: the same value, with the inputs */
  assert_int_equal(gb_map1(GB_OP_EXP, inner, &again, &fx.err), GB_OK);
  assert_ptr_not_equal(again, z);
  assert_int_equal(again->nin, 1);
  assert_int_equal(again->depth, 0);
  assert_ptr_equal(again->out[0].tensor.storage, z->out[0].tensor.storage);
  assert_int_equal(gb_map1(GB_OP_EXP, inner, &found, &fx.err), GB_OK);
  assert_ptr_equal(found, again);
  gb_node_unref(found);
  gb_node_unref(again);
  gb_node_unref(inner);
  assert_int_equal(fx.g->nnodes, nodes - 1);
  assert_ptr_not_equal(map1(GB_OP_EXP, map1(GB_OP_COS, y)), z);
  assert_int_equal(map1(GB_OP_NEG, z)->depth, 1);
}

static void history_below_a_parameter_is_kept (void **state) {
  (void)state;
  gb_node *y = map1(GB_OP_SIN, leaf1(3));
  observe(y);
  gb_node_drop_inputs(y);
  assert_int_equal(y->nin, 1);
}

static void flags_flow_with_the_gradient (void **state) {
  (void)state;
  gb_node *p = leaf1(3), *x = DATA(3);
  assert_true(map1(GB_OP_EXP, p)->flags & GB_NODE_NEEDS_GRAD);
  assert_false(map1(GB_OP_EXP, x)->flags & GB_NODE_NEEDS_GRAD);
  assert_true(add(x, p)->flags & GB_NODE_NEEDS_GRAD);
  assert_false(map1(GB_OP_DETACH, p)->flags & GB_NODE_NEEDS_GRAD);
  assert_false(map2(GB_OP_LT, p, x)->flags & GB_NODE_NEEDS_GRAD);
  assert_ptr_equal(map1(GB_OP_DETACH, x), x);
}

static void depth_counts_unevaluated_levels (void **state) {
  (void)state;
  gb_node *x = DATA(3), *a = map1(GB_OP_SIN, x), *b = map1(GB_OP_COS, a);
  assert_int_equal(x->depth, 0);
  assert_int_equal(a->depth, 1);
  assert_int_equal(b->depth, 2);
  observe(b);
  assert_int_equal(map1(GB_OP_EXP, b)->depth, 1);
}

static void the_order_lists_inputs_first_and_stops_at_values (void **state) {
  (void)state;
  gb_node *x = DATA(3), *a = map1(GB_OP_SIN, x), *b = map1(GB_OP_COS, x), *y = map2(GB_OP_MAXIMUM, a, b),
          **order;
  size_t n;
  assert_int_equal(gb_graph_order(fx.g, 2, (gb_node *[]){y, a}, GB_WALK_UNKNOWN, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, 4);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(order[i]->index, i);
    for (int k = 0; k < order[i]->nin; k++) assert_true(order[i]->in[k]->index < i);
  }
  free(order);
  assert_int_equal(gb_graph_order(fx.g, 2, (gb_node *[]){b, y}, GB_WALK_UNKNOWN, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, 4);
  assert_ptr_equal(order[0], x);
  assert_ptr_equal(order[1], b);
  assert_ptr_equal(order[3], y);
  free(order);
  gb_node *z = map1(GB_OP_TANH, map1(GB_OP_EXP, map1(GB_OP_ERF, DATA(2))));
  for (int walk = 0; walk < 2; walk++) { /* what a walk leaves in the nodes is nothing to the next */
    assert_int_equal(gb_graph_order(fx.g, 2, walk ? (gb_node *[]){z, y} : (gb_node *[]){y, z},
                                    GB_WALK_UNKNOWN, &order, &n, &fx.err),
                     GB_OK);
    assert_int_equal(n, 8);
    free(order);
  }
  observe(a);
  observe(b);
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_UNKNOWN, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, 3);
  free(order);
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_ALL, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, 4);
  free(order);
  assert_int_equal(gb_graph_order(fx.g, 0, NULL, GB_WALK_ALL, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, 0);
  free(order);
}

static void a_million_nodes_deep_is_walked_and_released_iteratively (void **state) {
  (void)state;
  enum { DEEP = 1000000 };
  gb_node *x = DATA(2), *y = gb_node_ref(x), **order;
  size_t n;
  for (int i = 0; i < DEEP; i++) {
    gb_node *next;
    assert_int_equal(gb_map1(i % 2 ? GB_OP_SIN : GB_OP_COS, y, &next, &fx.err), GB_OK);
    gb_node_unref(y);
    y = next;
  }
  assert_int_equal(y->depth, DEEP);
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_UNKNOWN, &order, &n, &fx.err), GB_OK);
  assert_int_equal(n, DEEP + 1);
  free(order);
  gb_node_unref(y);
  assert_int_equal(fx.g->nnodes, 1);
}

/* -- want of memory */

static long allocations_left = -1; /* -1: no limit */
void *__real_malloc (size_t n);
void *__real_calloc (size_t n, size_t m);
void *__real_realloc (void *p, size_t n);
void *__wrap_malloc (size_t n);
void *__wrap_calloc (size_t n, size_t m);
void *__wrap_realloc (void *p, size_t n);

static bool permit (void) { return allocations_left < 0 || (allocations_left > 0 && allocations_left-- > 0); }
void *__wrap_malloc (size_t n) { return permit() ? __real_malloc(n) : NULL; }
void *__wrap_calloc (size_t n, size_t m) { return permit() ? __real_calloc(n, m) : NULL; }
void *__wrap_realloc (void *p, size_t n) { return permit() ? __real_realloc(p, n) : NULL; }

/* Builds a bit of everything; on failure everything made is released again. */
static gb_status build_much (gb_node *x, gb_node *y, gb_error *err) {
  gb_node *made[16] = {0}, **order = NULL;
  size_t count;
  int n = 0;
  gb_status st = GB_OK;
#define STEP(call, ...)                                                                                      \
  if (st == GB_OK && (st = call(__VA_ARGS__, &made[n], err)) == GB_OK) n++
  STEP(gb_var, x, 1u, false, 1.0);
  STEP(gb_einsum, x->graph, "ij,kj->ik", 2, ((gb_node *[]){x, x}));
  STEP(gb_tile, x, 2, ((size_t[]){2, 2}));
  STEP(gb_stack, 5, ((gb_node *[]){y, y, y, y, y}), 0);
  STEP(gb_sqdist, x, x, NULL);
  STEP(gb_radial, GB_M52, made[n - 1], made[0]->in[0], NULL);
  st = st == GB_ESHAPE ? GB_OK : st; /* a vector for a scalar: a refusal on the way */
  STEP(gb_logdet, made[n - 1]);
  STEP(gb_inv_quad, made[n - 2], y);
  STEP(gb_lstsq, x, y);
  STEP(gb_softmax, x, 0);
  if (st == GB_OK &&
      (st = gb_graph_order(x->graph, (size_t)n, made, GB_WALK_UNKNOWN, &order, &count, err)) == GB_OK)
    free(order);
  while (n > 0) gb_node_unref(made[--n]);
  return st;
}

static void every_allocation_may_fail_and_nothing_leaks (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *y = DATA(4);
  const size_t nodes = fx.g->nnodes;
  gb_status st = GB_ENOMEM;
  long n = 0;
  for (; st != GB_OK; n++) {
    allocations_left = n;
    fx.err.text[0] = '\0';
    st = build_much(x, y, &fx.err);
    allocations_left = -1;
    assert_int_equal(fx.g->nnodes, nodes);
    if (st != GB_OK) {
      assert_int_equal(st, GB_ENOMEM);
      assert_true(strncmp(fx.err.text, "no memory", 9) == 0);
    }
    assert_true(n < 10000);
  }
  assert_true(n > 40);
}

static void a_graph_that_cannot_be_made_leaves_nothing (void **state) {
  (void)state;
  gb_graph *g = NULL;
  for (long n = 0; n < 4; n++) {
    allocations_left = n;
    assert_int_equal(gb_graph_new(&fx.device, &g, &fx.err), GB_ENOMEM);
    allocations_left = -1;
  }
  assert_int_equal(gb_graph_new(&fx.device, &g, &fx.err), GB_OK);
  allocations_left = 0;
  assert_string_equal(gb_graph_intern(g, "lost"), "");
  allocations_left = -1;
  assert_string_equal(gb_graph_intern(g, "kept"), "kept");
  gb_graph_free(g);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(equal_expressions_are_one_node),
      FIXTURE_TEST(numbers_merge_by_their_bits_and_type),
      FIXTURE_TEST(leaves_are_known_by_their_storage_never_their_contents),
      FIXTURE_TEST(parameters_gradient_leaves_and_placeholders_never_merge),
      FIXTURE_TEST(random_nodes_differ_by_stream_and_seed),
      FIXTURE_TEST(gone_nodes_leave_the_table_and_serials_are_not_reused),
      FIXTURE_TEST(the_table_grows_and_still_finds),
      FIXTURE_TEST(strings_are_kept_once),
      FIXTURE_TEST(a_node_keeps_its_first_line),
      FIXTURE_TEST(dropped_inputs_are_released_and_the_value_is_still_found),
      FIXTURE_TEST(history_below_a_parameter_is_kept),
      FIXTURE_TEST(flags_flow_with_the_gradient),
      FIXTURE_TEST(depth_counts_unevaluated_levels),
      FIXTURE_TEST(the_order_lists_inputs_first_and_stops_at_values),
      FIXTURE_TEST(a_million_nodes_deep_is_walked_and_released_iteratively),
      FIXTURE_TEST(every_allocation_may_fail_and_nothing_leaks),
      FIXTURE_TEST(a_graph_that_cannot_be_made_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
