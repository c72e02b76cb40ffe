/* placed_random.c - the same expression, node by node, with a MOVE on each edge between two devices. */
#include "support/random/placed_random.h"

#include "graph/build.h"

#define NODES 400

typedef struct placing {
  gb_node *from[NODES], *to[NODES];
  int n;
  uint64_t seed;
  int devices;
} placing;

static gb_node *found (const placing *p, const gb_node *n) {
  for (int i = 0; i < p->n; i++)
    if (p->from[i] == n) return p->to[i];
  fail_msg("an input comes after its reader");
  return NULL;
}

static int device_for (const placing *p, const gb_node *n) {
  if (n->op == GB_OP_PICK) return found(p, n->in[0])->device;
  return (int)(gb_rand_uniform(p->seed, n->serial, 3) * p->devices);
}

static gb_node *place_node (const placing *p, gb_node *n) {
  if (n->op == GB_OP_LEAF) return n;
  gb_node *in[8], *made;
  const int where = device_for(p, n);
  assert_true(n->nin <= 8);
  for (int i = 0; i < n->nin; i++) in[i] = BUILD(gb_move, found(p, n->in[i]), where);
  fx.g->generators_on = where;
  OK(gb_node_build(fx.g, n->op, n->nin, in, &n->attr, gb_node_shape(n), gb_node_dtype(n), &made, &fx.err));
  fx.g->generators_on = 0;
  assert_int_equal(made->device, where);
  return hold(GB_OK, made);
}

gb_node *placed_randomly (gb_node *root, uint64_t seed, int devices) {
  static placing p;
  gb_node **order;
  size_t n;
  OK(gb_graph_order(fx.g, 1, &root, GB_WALK_ALL, &order, &n, &fx.err));
  assert_true(n <= NODES);
  p.n = 0;
  p.seed = seed;
  p.devices = devices;
  for (size_t i = 0; i < n; i++) {
    p.to[p.n] = place_node(&p, order[i]);
    p.from[p.n++] = order[i];
  }
  free(order);
  return p.to[p.n - 1];
}

gb_node *moved_input (gb_node *x, int where) {
  gb_node *there = BUILD(gb_move, x, where);
  OK(gb_eval(fx.g, 1, &there, &fx.err));
  gb_node_drop_inputs(there);
  return there;
}
