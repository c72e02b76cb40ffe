/* widen.c - arithmetic of i32 is arithmetic of i64: ops that compute read their inputs of i32 as i64, ops that move
** elements keep them. */
#include "graph/node.h"

bool gb_widens_input (gb_op op, int input) {
  switch (op) {
    case GB_OP_LT:
    case GB_OP_LE:
    case GB_OP_GT:
    case GB_OP_GE:
    case GB_OP_EQ:
    case GB_OP_NE:
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_ARGMIN:
    case GB_OP_ARGMAX: return true;
    case GB_OP_INDEX_ADD:
    case GB_OP_INDEX_MAX:
    case GB_OP_INDEX_MIN: return input != 1; /* positions */
    case GB_OP_DETACH: return false;
    default: return gb_op_is_integral(op);
  }
}

static bool is_widened (gb_op op, int i, const gb_node *in) {
  return gb_node_dtype(in) == GB_I32 && gb_widens_input(op, i);
}

/* Beside another type than these two, and with too many inputs, the shape rule says what is wrong, of the inputs as
** they are. */
bool gb_is_widened (gb_op op, int nin, gb_node *const *in) {
  bool found = false;
  if (nin > GB_WIDENED) return false;
  for (int i = 0; i < nin; i++) {
    found |= is_widened(op, i, in[i]);
    if (!gb_dtype_is_whole(gb_node_dtype(in[i]))) return false;
  }
  return found;
}

gb_status gb_build_widened (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                            gb_node **out, gb_error *err) {
  gb_node *wide[GB_WIDENED] = {NULL};
  gb_status st = GB_OK;
  for (int i = 0; st == GB_OK && i < nin; i++) {
    if (is_widened(op, i, in[i]))
      st = gb_node_build(g, GB_OP_CAST, 1, &in[i], NULL, NULL, GB_I64, &wide[i], err);
    else wide[i] = gb_node_ref(in[i]);
  }
  if (st == GB_OK) st = gb_node_build(g, op, nin, wide, attr, NULL, GB_I64, out, err);
  for (int i = 0; i < nin; i++) gb_node_unref(wide[i]);
  return st;
}

gb_status gb_widen (gb_node *x, gb_node **out, gb_error *err) {
  *out = NULL;
  if (x->op == GB_OP_CONST) return gb_node_integer(x->graph, x->attr.i[0], out, err);
  if (x->op == GB_OP_RANGE)
    return gb_node_build(x->graph, GB_OP_RANGE, 0, NULL, &x->attr, gb_node_shape(x), GB_I64, out, err);
  return GB_OK;
}
