/* expr.c - the sticky-status builder. */
#include "graph/expr.h"

gb_node *gb_expr_keep (gb_expr *e, gb_status st, gb_node *const *n) {
  if (st == GB_OK && e->status == GB_OK && e->n < GB_EXPR_MAX) return e->held[e->n++] = *n;
  if (st == GB_OK) gb_node_unref(*n);
  if (e->status == GB_OK)
    e->status = st != GB_OK ? st : gb_fail(e->err, GB_EINTERNAL, "an expression of more than %d nodes", GB_EXPR_MAX);
  return NULL;
}

gb_node *gb_expr_number (gb_expr *e, double v, gb_dtype t) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_node_const(e->g, v, t, &n, e->err), &n);
}

gb_node *gb_expr_map1 (gb_expr *e, gb_op op, gb_node *a) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_map1(op, a, &n, e->err), &n);
}

gb_node *gb_expr_map2 (gb_expr *e, gb_op op, gb_node *a, gb_node *b) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_map2(op, a, b, &n, e->err), &n);
}

gb_node *gb_expr_with (gb_expr *e, gb_op op, gb_node *a, double number) {
  if (e->status != GB_OK) return NULL;
  return gb_expr_map2(e, op, a, gb_expr_number(e, number, gb_node_dtype(a)));
}

gb_node *gb_expr_reduce (gb_expr *e, gb_op op, gb_node *a, unsigned axes, bool keepdim) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_reduce(op, a, axes, keepdim, &n, e->err), &n);
}

gb_node *gb_expr_unsqueeze (gb_expr *e, gb_node *a, int axis) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_unsqueeze(a, axis, &n, e->err), &n);
}

gb_node *gb_expr_squeeze (gb_expr *e, gb_node *a, int axis) {
  gb_node *n = NULL;
  if (e->status != GB_OK) return NULL;
  return gb_expr_keep(e, gb_squeeze(a, axis, &n, e->err), &n);
}

gb_status gb_expr_end (gb_expr *e, gb_node *result, gb_node **out) {
  if (e->status == GB_OK) *out = gb_node_ref(result);
  while (e->n > 0) gb_node_unref(e->held[--e->n]);
  return e->status;
}
