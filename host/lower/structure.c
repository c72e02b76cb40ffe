/* structure.c - the canonical order of a graph, and a hash of everything that lowering looks at. */
#include <stdlib.h>

#include "base/hash.h"
#include "lower/internal.h"

static uint64_t hash_shape (uint64_t h, const gb_value *v) {
  h = gb_hash_u64(h, (uint64_t)v->dtype << 8 | (uint64_t)v->shape.ndim);
  for (int i = 0; i < v->shape.ndim; i++) h = gb_hash_u64(h, v->shape.dim[i]);
  return h;
}

static uint64_t hash_node (uint64_t h, const gb_node *n) {
  const bool leaf = gb_is_leaf(n);
  h = gb_hash_u64(h, leaf ? (uint64_t)GB_OP_LEAF : (uint64_t)n->op);
  h = gb_hash_u64(h, (uint64_t)n->device << 32 | (n->flags & (GB_NODE_SYMMETRIC | GB_NODE_GROWN)));
  for (int k = 0; k < n->nout; k++) h = hash_shape(h, &n->out[k]);
  if (leaf) {
    const gb_tensor *t = &n->out[0].tensor;
    for (int i = 0; i < t->shape.ndim && t->storage != NULL; i++) h = gb_hash_u64(h, (uint64_t)t->stride[i]);
    return gb_hash_u64(gb_hash_u64(h, t->storage == NULL), (uint64_t)n->batch);
  }
  if (n->op == GB_OP_CONST) return h; /* its number is a binding */
  for (size_t i = 0; i < sizeof n->attr.i / sizeof n->attr.i[0]; i++)
    h = gb_hash_u64(h, (uint64_t)n->attr.i[i]);
  for (size_t i = 0; i < 2; i++) h = gb_hash_f64(h, n->attr.f[i]);
  for (int i = 0; i < gb_node_reads(n); i++) h = gb_hash_u64(h, n->in[i]->index); /* the sharing pattern */
  return h;
}

gb_status gb_structure (gb_graph *g, size_t nouts, gb_node *const *outs, gb_order *o, gb_error *err) {
  if (o->node == NULL) GB_TRY(gb_graph_order(g, nouts, outs, GB_WALK_READ, &o->node, &o->count, err));
  uint64_t h = gb_hash_u64(o->count, nouts);
  for (size_t i = 0; i < o->count; i++) h = hash_node(h, o->node[i]);
  for (size_t i = 0; i < nouts; i++) h = gb_hash_u64(h, outs[i]->index);
  o->structure = h;
  return GB_OK;
}
