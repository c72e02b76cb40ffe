/* twin.c - two nodes that are each other's transpose. K' is built as the kernel of (y, x), which would
** otherwise be computed beside the kernel of (x, y) in a traversal that needs both. */
#include <string.h>

#include "lower/internal.h"

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
    if (a == b || a->op != b->op || a->nin != b->nin || a->nin < 2 ||
        memcmp(&a->attr, &b->attr, sizeof a->attr) != 0)
      return false;
    switch (a->op) {
      case GB_OP_SQDIST: return a->in[0] == b->in[1] && a->in[1] == b->in[0] && same_rest(a, b, 2);
      case GB_OP_MATMUL: return are_transposes(a->in[0], b->in[1]) && are_transposes(a->in[1], b->in[0]);
      case GB_OP_RADIAL:
      case GB_OP_MUL:
        if (!same_rest(a, b, 1) || gb_shape_numel(gb_node_shape(a->in[1])) != 1) return false;
        a = a->in[0];
        b = b->in[0];
        break;
      default: return false;
    }
  }
}

static uintptr_t untransposed (const gb_node *n) { return (uintptr_t)(swaps_last_two(n) ? n->in[0] : n); }

/* Follows the chains of gb_is_twin down to where the two differ by the order of their operands. */
uintptr_t gb_twin_key (const gb_node *n) {
  for (const gb_node *base = n;; base = base->in[0]) {
    if (base->nin < 2) return (uintptr_t)n;
    switch (base->op) {
      case GB_OP_SQDIST: return (uintptr_t)base->in[0] + (uintptr_t)base->in[1];
      case GB_OP_MATMUL: return untransposed(base->in[0]) + untransposed(base->in[1]);
      case GB_OP_RADIAL:
      case GB_OP_MUL:
        if (gb_shape_numel(gb_node_shape(base->in[1])) != 1) return (uintptr_t)n;
        break;
      default: return (uintptr_t)n;
    }
  }
}

gb_map gb_map_transposed (const gb_map *m, int ndim) {
  gb_map out = *m;
  out.dim[ndim - 1] = m->dim[ndim - 2];
  out.dim[ndim - 2] = m->dim[ndim - 1];
  return out;
}
