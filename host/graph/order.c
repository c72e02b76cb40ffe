/* order.c - the iterative topological walk. */
#include <stdlib.h>

#include "base/grow.h"
#include "graph/node.h"

/* A growable array of borrowed nodes. */
typedef struct list {
  gb_node **at;
  size_t n, room;
} list;

static bool push (list *l, gb_node *n) {
  if (!gb_grow(&l->at, l->n, &l->room, sizeof *l->at)) return false;
  l->at[l->n++] = n;
  return true;
}

static int inputs_below (const gb_node *n, gb_walk walk) {
  if (walk == GB_WALK_ALL) return n->nin;
  return walk == GB_WALK_UNKNOWN && gb_node_has_value(n) ? 0 : gb_node_reads(n);
}

/* While a node is on the stack its 'index' counts the inputs already visited. */
static bool visit (gb_graph *g, gb_node *root, gb_walk walk, list *stack, list *order) {
  if (root->mark == g->walk) return true;
  root->mark = g->walk;
  root->index = 0;
  if (!push(stack, root)) return false;
  while (stack->n > 0) {
    gb_node *n = stack->at[stack->n - 1];
    if (n->index < (size_t)inputs_below(n, walk)) {
      gb_node *in = n->in[n->index++];
      if (in->mark == g->walk) continue;
      in->mark = g->walk;
      in->index = 0;
      if (!push(stack, in)) return false;
    } else {
      stack->n--;
      n->index = order->n;
      if (!push(order, n)) return false;
    }
  }
  return true;
}

gb_status gb_graph_order (gb_graph *g, size_t nroots, gb_node *const *roots, gb_walk walk, gb_node ***order,
                          size_t *count, gb_error *err) {
  list stack = {0}, sorted = {0};
  bool ok = true;
  g->walk++;
  for (size_t i = 0; i < nroots && ok; i++) ok = visit(g, roots[i], walk, &stack, &sorted);
  if (ok && sorted.at == NULL)
    ok = (sorted.at = malloc(sizeof *sorted.at)) != NULL; /* allocate an array also without roots */
  free(stack.at);
  if (!ok) {
    free(sorted.at);
    return gb_fail(err, GB_ENOMEM, "no memory to walk the graph");
  }
  *order = sorted.at;
  *count = sorted.n;
  return GB_OK;
}
