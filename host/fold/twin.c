/* twin.c - two nodes that are each other's transpose. K' is built as the kernel of (y, x), which would otherwise be computed
** beside the kernel of (x, y) in a traversal that needs both. */
#include <string.h>

#include "fold/internal.h"

static bool swaps_last_two (const gb_node *n) {
  const int nd = gb_node_shape(n)->ndim;
  if (n->op != GB_OP_PERMUTE || gb_is_leaf(n)) return false;
  for (int i = 0; i < nd - 2; i++)
    if (n->attr.i[i] != i) return false;
  return nd >= 2 && n->attr.i[nd - 2] == nd - 1;
}

static bool are_transposes (const gb_node *a, const gb_node *b) {
  return (swaps_last_two(a) && a->in[0] == b) || (swaps_last_two(b) && b->in[0] == a);
}

static bool same_rest (const gb_node *a, const gb_node *b, int from) {
  for (int i = from; i < a->nin; i++)
    if (a->in[i] != b->in[i]) return false;
  return true;
}

bool gb_is_twin (const gb_node *a, const gb_node *b) {
  for (;;) {
    if (a == b || a->op != b->op || a->nin != b->nin || a->nin < 2 || memcmp(&a->attr, &b->attr, sizeof a->attr) != 0) return false;
    switch (a->op) {
      case GB_OP_SQDIST: return a->in[0] == b->in[1] && a->in[1] == b->in[0] && same_rest(a, b, 2);
      case GB_OP_MATMUL: return are_transposes(a->in[0], b->in[1]) && are_transposes(a->in[1], b->in[0]);
      case GB_OP_RADIAL: case GB_OP_MUL:
        if (!same_rest(a, b, 1) || gb_shape_numel(gb_node_shape(a->in[1])) != 1) return false;
        a = a->in[0];
        b = b->in[0];
        break;
      default: return false;
    }
  }
}

gb_map gb_map_transposed (const gb_map *m, int ndim) {
  gb_map out = *m;
  out.dim[ndim - 1] = m->dim[ndim - 2];
  out.dim[ndim - 2] = m->dim[ndim - 1];
  return out;
}
