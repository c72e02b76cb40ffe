/* canon_cat.c - a product with parts that stream, joined, is the products of the parts, joined or summed: the joined matrix never
** exists. */
#include "graph/canon.h"

enum { MOST = 256 };               /* nodes of an expression that is looked at */

static bool is_made (const gb_node *n) {
  return n->nin == 0 || (n->flags & GB_NODE_HELD) != 0 || (gb_ops[n->op].kind == GB_KIND_OPAQUE && n->op != GB_OP_CAT && n->op != GB_OP_CAST);
}

/* Made of fewer than half its elements. Random values are made of nothing. */
static bool is_lazy (gb_node *x) {
  gb_node *seen[MOST];
  int n = 0;
  double sources = 0;
  seen[n++] = x;
  for (int i = 0; i < n; i++) {
    if (is_made(seen[i])) {
      if (gb_ops[seen[i]->op].kind != GB_KIND_GEN || gb_node_has_value(seen[i])) sources += (double)gb_shape_numel(gb_node_shape(seen[i]));
      continue;
    }
    for (int k = 0; k < gb_node_reads(seen[i]); k++) {
      bool known = false;
      for (int j = 0; j < n && !known; j++) known = seen[j] == seen[i]->in[k];
      if (!known && n == MOST) return false;
      if (!known) seen[n++] = seen[i]->in[k];
    }
  }
  return 2 * sources < (double)gb_shape_numel(gb_node_shape(x));
}

static gb_node *product (gb_formula *e, int side, gb_node *part, gb_node *other) {
  return side == 0 ? gb_ex_matmul(e, part, other) : gb_ex_matmul(e, other, part);
}

static gb_node *joined (gb_formula *e, int side, gb_node *cat, gb_node *other) {
  gb_node *part[GB_CAT_PARTS];
  for (int i = 0; i < cat->nin; i++) part[i] = product(e, side, cat->in[i], other);
  return e->status != GB_OK ? NULL : gb_ex_op(e, GB_OP_CAT, cat->nin, part, &cat->attr, NULL, gb_node_dtype(cat));
}

static gb_node *summed (gb_formula *e, int side, gb_node *cat, gb_node *other) {
  gb_node *sum = NULL;
  size_t at = 0;
  for (int i = 0; i < cat->nin; i++) {
    const size_t extent = gb_node_shape(cat->in[i])->dim[cat->attr.i[0]];
    gb_node *some = gb_ex_slice(e, other, side, at, 1, extent);
    gb_node *p = product(e, side, cat->in[i], some);
    sum = sum == NULL ? p : gb_ex_add(e, sum, p);
    at += extent;
  }
  return sum;
}

gb_node *gb_canon_cat (gb_formula *e, const gb_draft *d) {
  for (int side = 0; side < 2; side++) {
    gb_node *cat = d->in[side], *other = d->in[1 - side];
    if (cat->op != GB_OP_CAT || is_made(cat) || cat->nin > GB_CAT_PARTS) continue;
    if (gb_node_shape(cat)->ndim != 2 || gb_node_shape(other)->ndim != 2 || !is_lazy(cat)) continue;
    return (int)cat->attr.i[0] == side ? joined(e, side, cat, other) : summed(e, side, cat, other);
  }
  return NULL;
}
