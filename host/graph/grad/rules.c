/* rules.c - helpers that gradient rules share, and the rules without formulas. */
#include "graph/grad/rules.h"

#include "graph/call.h"

/* Axes of 'bar' that 'shape', aligned at the right, lacks or has with extent 1. */
static unsigned broadcast_axes (const gb_shape *bar, const gb_shape *shape) {
  const int extra = bar->ndim - shape->ndim;
  unsigned mask = (1u << extra) - 1;
  for (int i = extra; i < bar->ndim; i++)
    if (shape->dim[i - extra] == 1 && bar->dim[i] != 1) mask |= 1u << i;
  return mask;
}

gb_node *gb_ex_unbroadcast (gb_formula *e, gb_node *bar, const gb_shape *shape) {
  if (!bar) return NULL;
  const unsigned mask = broadcast_axes(gb_node_shape(bar), shape);
  gb_node *sum = gb_ex_reduce(e, GB_OP_SUM, bar, mask, false);
  for (int i = 0; sum && i < shape->ndim && gb_node_shape(sum)->ndim < shape->ndim; i++)
    if (gb_node_shape(sum)->ndim <= i || gb_node_shape(sum)->dim[i] != shape->dim[i])
      sum = gb_ex_unsqueeze(e, sum, i);
  return sum;
}

gb_status gb_unbroadcast (gb_node *bar, const gb_shape *shape, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, bar->graph, err);
  return gb_formula_take(&e, gb_ex_unbroadcast(&e, bar, shape), out);
}

void gb_bar_put (gb_formula *e, gb_node *bar, gb_node **in_bar, int i) {
  if (e->status == GB_OK && bar) in_bar[i] = gb_node_ref(bar);
}

gb_status gb_bar_finish (gb_formula *e, int n, gb_node **in_bar) {
  for (int i = 0; e->status != GB_OK && i < n; i++) {
    gb_node_unref(in_bar[i]);
    in_bar[i] = NULL;
  }
  gb_formula_clear(e);
  return e->status;
}

gb_node *gb_ex_eye (gb_formula *e, size_t n, size_t m, gb_dtype t) {
  const gb_shape s = gb_shape_of(2, (size_t[]){n, m});
  return gb_ex_op(e, GB_OP_EYE, 0, NULL, NULL, &s, t);
}

gb_node *gb_ex_lower (gb_formula *e, gb_node *a, gb_node *diagonal) {
  if (!a) return NULL;
  const gb_shape *s = gb_node_shape(a);
  gb_node *zero = gb_ex_like(e, 0, a);
  gb_node *row = gb_ex_unsqueeze(e, gb_ex_range(e, 0, 1, s->dim[s->ndim - 2], GB_I64), 1);
  gb_node *col = gb_ex_unsqueeze(e, gb_ex_range(e, 0, 1, s->dim[s->ndim - 1], GB_I64), 0);
  if (!diagonal) return gb_ex_where(e, gb_ex_map2(e, GB_OP_GT, row, col), a, zero);
  gb_node *rest = gb_ex_where(e, gb_ex_map2(e, GB_OP_EQ, row, col), diagonal, zero);
  return gb_ex_where(e, gb_ex_map2(e, GB_OP_GT, row, col), a, rest);
}

gb_status gb_grad_none (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                        gb_error *err) {
  (void)y, (void)out_bar, (void)need, (void)in_bar, (void)err;
  return GB_OK;
}

/* PICK passes its cotangent to one output of its input; the sweep does that itself. */
gb_status gb_grad_pick (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                        gb_error *err) {
  return gb_grad_none(y, out_bar, need, in_bar, err);
}

gb_status gb_grad_call (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                        gb_error *err) {
  const gb_call *c = gb_call_get((int)y->attr.i[0]);
  if (!c || !c->grad) {
    char text[GB_NODE_TEXT];
    return gb_fail(err, GB_EOPTION, "grad: %s has no backward: %s", c ? c->name : "an unknown op",
                   gb_node_text(y, text));
  }
  return c->grad(c->ud, y, out_bar, need, in_bar, err);
}
