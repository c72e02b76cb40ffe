/* graph_fixture.c - builders of nodes that the fixture owns. */
#include "support/graph/graph_fixture.h"

#include "support/memory.h"

#define FIXTURE_MAX 262144

fixture fx;

void fixture_begin (void) {
  memset(&fx, 0, sizeof fx);
  gb_ledger_init(&fx.device.ledger, test_memory(), (size_t)1 << 30);
  fx.held = malloc(FIXTURE_MAX * sizeof *fx.held);
  assert_int_equal(gb_graph_new(&fx.device, &fx.g, &fx.err), GB_OK);
}

void fixture_end (void) {
  while (fx.n > 0) gb_node_unref(fx.held[--fx.n]);
  assert_int_equal(fx.g->nnodes, 0);
  gb_graph_free(fx.g);
  assert_int_equal(fx.device.ledger.used, 0);
  assert_int_equal(mirror_bytes(fx.device.ledger.memory), 0);
  free(fx.held);
}

gb_node *hold (gb_status st, gb_node *n) {
  if (st != GB_OK) fail_msg("%s: %s", gb_status_code(st), fx.err.text);
  assert_true(fx.n < FIXTURE_MAX);
  return fx.held[fx.n++] = n;
}

gb_node *num (double v) { return BUILD(gb_node_const, fx.g, v, GB_F64); }
gb_node *map1 (gb_op op, gb_node *a) { return BUILD(gb_map1, op, a); }
gb_node *map2 (gb_op op, gb_node *a, gb_node *b) { return BUILD(gb_map2, op, a, b); }
gb_node *add (gb_node *a, gb_node *b) { return map2(GB_OP_ADD, a, b); }
gb_node *sub (gb_node *a, gb_node *b) { return map2(GB_OP_SUB, a, b); }
gb_node *mul (gb_node *a, gb_node *b) { return map2(GB_OP_MUL, a, b); }
gb_node *dvd (gb_node *a, gb_node *b) { return map2(GB_OP_DIV, a, b); }
gb_node *square (gb_node *a) { return map1(GB_OP_SQUARE, a); }
gb_node *sum_axis (gb_node *a, int axis) { return BUILD(gb_reduce, GB_OP_SUM, a, 1u << axis, false); }
gb_node *sum_all (gb_node *a) { return BUILD(gb_reduce, GB_OP_SUM, a, 0, false); }
gb_node *unsq (gb_node *a, int axis) { return BUILD(gb_unsqueeze, a, axis); }
gb_node *sq (gb_node *a, int axis) { return BUILD(gb_squeeze, a, axis); }
gb_node *tr (gb_node *a) { return BUILD(gb_transpose, a); }
gb_node *mm (gb_node *a, gb_node *b) { return BUILD(gb_matmul, a, b); }
gb_node *dist (gb_node *x, gb_node *y, gb_node *w) { return BUILD(gb_sqdist, x, y, w); }
gb_node *eye (size_t n) { return BUILD(gb_eye, fx.g, n, GB_F64); }

gb_node *leaf_of (gb_dtype t, unsigned flags, int ndim, const size_t *dim, const double *data, double lo,
                  double hi) {
  static uint32_t state = 12345;
  gb_tensor v = {0};
  const gb_shape s = gb_shape_of(ndim, dim);
  gb_status st = gb_tensor_new(&fx.device.ledger, t, &s, GB_MEM_TENSOR, "", "", &v, &fx.err);
  if (st != GB_OK) fail_msg("%s", fx.err.text);
  void *to = elements_to_write(&v);
  for (size_t i = 0; i < gb_shape_numel(&s); i++) {
    state = state * 1664525u + 1013904223u;
    gb_element_set(to, i, t, data ? data[i] : lo + (hi - lo) * ((double)(state >> 8) + 0.5) / 16777216.0);
  }
  elements_written(&v);
  gb_node *n = NULL;
  st = gb_node_leaf(fx.g, &v, flags, "", &n, &fx.err);
  gb_tensor_clear(&v);
  return hold(st, n);
}

gb_node *leaf0 (double v) { return leaf_of(GB_F64, GB_NODE_GRAD, 0, NULL, &v, 0, 0); }
gb_node *leaf1 (size_t n) { return leaf_of(GB_F64, GB_NODE_GRAD, 1, (size_t[]){n}, NULL, 0.3, 1.7); }
gb_node *leaf2 (size_t n, size_t m) {
  return leaf_of(GB_F64, GB_NODE_GRAD, 2, (size_t[]){n, m}, NULL, -1, 1);
}

int fixture_setup (void **state) {
  (void)state;
  fixture_begin();
  return 0;
}

int fixture_teardown (void **state) {
  (void)state;
  fixture_end();
  return 0;
}

void refuse (gb_status st, gb_status want, const char *text) {
  if (st != want || strcmp(fx.err.text, text) != 0)
    fail_msg("got %s: %s\nwant %s: %s", gb_status_code(st), fx.err.text, gb_status_code(want), text);
}

gb_node *data_leaf_of (int ndim, const size_t *dim, const double *v) {
  return leaf_of(GB_F64, 0, ndim, dim, v, -2, 2);
}

uint32_t fixture_seed;

unsigned pick (unsigned n) {
  fixture_seed = fixture_seed * 1664525u + 1013904223u;
  return (fixture_seed >> 16) % n;
}
