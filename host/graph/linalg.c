/* linalg.c - solves and determinants over one factorisation a matrix, which consing shares. */
#include "graph/build.h"

#include "graph/expr.h"

static bool is_symmetric (const gb_node *a) { return (a->flags & GB_NODE_SYMMETRIC) != 0; }

static gb_node *factor (gb_expr *e, gb_node *a) { return gb_expr_map1(e, GB_OP_CHOLESKY, a); }

gb_status gb_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err) {
  const gb_attr attr = {.f = {jitter}};
  return gb_node_build(a->graph, GB_OP_CHOLESKY, 1, &a, &attr, NULL, GB_F64, out, err);
}

gb_status gb_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed, gb_node **out, gb_error *err) {
  const gb_attr attr = {.i = {upper, transposed}};
  gb_node *in[2];
  GB_TRY(gb_adopt(2, (gb_node *[]){l, b}, in, err));
  const gb_status st = gb_node_build(l->graph, GB_OP_TRISOLVE, 2, in, &attr, NULL, GB_F64, out, err);
  gb_node_unref(in[0]);
  gb_node_unref(in[1]);
  return st;
}

/* What does not fit is said of A and b, not of a factor. */
static gb_status check_solve (const char *what, gb_node *a, gb_node *b, gb_error *err) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  const char *wrong = NULL;
  if (s->ndim != 2 || s->dim[0] != s->dim[1]) wrong = "expected a square matrix";
  else if (t->ndim != 1 && t->ndim != 2) wrong = "expected a right-hand side of one or two axes";
  else if (t->dim[0] != s->dim[0]) wrong = "numbers of rows differ";
  if (wrong == NULL) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "%s: %s: %s, %s", what, wrong, gb_node_text(a, ta), gb_node_text(b, tb));
}

gb_status gb_solve (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  GB_TRY(check_solve("solve", a, b, err));
  gb_expr e = gb_expr_begin(a->graph, err);
  gb_node *x = is_symmetric(a) ? gb_expr_map2(&e, GB_OP_SOLVE_CHOL, factor(&e, a), b)
                                       : gb_expr_map2(&e, GB_OP_LU_SOLVE, a, b);
  return gb_expr_end(&e, x, out);
}

gb_status gb_logdet (gb_node *a, gb_node **out, gb_error *err) {
  gb_expr e = gb_expr_begin(a->graph, err);
  gb_node *x = is_symmetric(a) ? gb_expr_map1(&e, GB_OP_LOGDET, factor(&e, a))
                                       : gb_expr_map1(&e, GB_OP_LU_LOGDET, a);
  return gb_expr_end(&e, x, out);
}

gb_status gb_inv_quad (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  GB_TRY(check_solve("inv_quad", a, b, err));
  gb_expr e = gb_expr_begin(a->graph, err);
  gb_node *x;
  if (is_symmetric(a)) {
    x = gb_expr_map2(&e, GB_OP_INV_QUAD, factor(&e, a), b);
  } else {
    gb_node *s = gb_expr_map2(&e, GB_OP_LU_SOLVE, a, b);
    x = gb_expr_reduce(&e, GB_OP_SUM, gb_expr_map2(&e, GB_OP_MUL, b, s), 0, false);
  }
  return gb_expr_end(&e, x, out);
}

/* min |A x - b| for A (n, m) of full column rank, n >= m: x = R^-1 Q' b. A column that depends on others makes R singular. */
gb_status gb_lstsq (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  if (s->ndim != 2 || s->dim[0] < s->dim[1])
    return gb_fail(err, GB_ESHAPE, "lstsq: expected a matrix with no fewer rows than columns: %s", gb_node_text(a, ta));
  if ((t->ndim != 1 && t->ndim != 2) || t->dim[0] != s->dim[0])
    return gb_fail(err, GB_ESHAPE, "lstsq: numbers of rows differ: %s, %s", gb_node_text(a, ta), gb_node_text(b, tb));
  gb_expr e = gb_expr_begin(a->graph, err);
  gb_node *qr = gb_expr_map1(&e, GB_OP_QR, a), *q = NULL, *r = NULL, *qt = NULL, *y = NULL, *x = NULL;
  if (e.status == GB_OK) q = gb_expr_keep(&e, gb_pick(qr, 0, &q, err), &q);
  if (e.status == GB_OK) r = gb_expr_keep(&e, gb_pick(qr, 1, &r, err), &r);
  if (e.status == GB_OK) qt = gb_expr_keep(&e, gb_transpose(q, &qt, err), &qt);
  if (e.status == GB_OK) y = gb_expr_keep(&e, gb_matmul(qt, b, &y, err), &y);
  if (e.status == GB_OK) x = gb_expr_keep(&e, gb_triangular_solve(r, y, true, false, &x, err), &x);
  return gb_expr_end(&e, x, out);
}
