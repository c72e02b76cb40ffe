/* linalg.c - solves and determinants over one factorisation a matrix, which consing shares. */
#include "graph/build.h"

#include "graph/formula.h"

static bool is_symmetric (const gb_node *a) { return (a->flags & GB_NODE_SYMMETRIC) != 0; }

static gb_node *factor (gb_formula *e, gb_node *a) { return gb_ex_map1(e, GB_OP_CHOLESKY, a); }

gb_status gb_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err) {
  const gb_attr attr = {.f = {jitter}};
  return gb_node_build(a->graph, GB_OP_CHOLESKY, 1, &a, &attr, NULL, GB_F64, out, err);
}

gb_status gb_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed, gb_node **out,
                               gb_error *err) {
  const gb_attr attr = {.i = {upper, transposed}};
  gb_node *in[2];
  GB_TRY(gb_adopt(2, (gb_node *[]){l, b}, in, err));
  const gb_status st = gb_node_build(l->graph, GB_OP_TRISOLVE, 2, in, &attr, NULL, GB_F64, out, err);
  gb_node_unref(in[0]);
  gb_node_unref(in[1]);
  return st;
}

/* Shape errors name A and b, not a factor. */
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
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = is_symmetric(a) ? gb_ex_meet(&e, GB_OP_SOLVE_CHOL, factor(&e, a), b)
                               : gb_ex_meet(&e, GB_OP_LU_SOLVE, a, b);
  return gb_formula_take(&e, x, out);
}

gb_status gb_logdet (gb_node *a, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = is_symmetric(a) ? gb_ex_map1(&e, GB_OP_LOGDET, factor(&e, a))
                               : gb_ex_map1(&e, GB_OP_LU_LOGDET, a);
  return gb_formula_take(&e, x, out);
}

gb_status gb_inv_quad (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  GB_TRY(check_solve("inv_quad", a, b, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x;
  if (is_symmetric(a)) {
    x = gb_ex_meet(&e, GB_OP_INV_QUAD, factor(&e, a), b);
  } else {
    gb_node *s = gb_ex_meet(&e, GB_OP_LU_SOLVE, a, b);
    x = gb_ex_meet(&e, GB_OP_MUL, b, s);
    if (x != NULL) x = gb_ex_reduce(&e, GB_OP_SUM, x, (1u << gb_node_shape(x)->ndim) - 1, false);
  }
  return gb_formula_take(&e, x, out);
}

/* min |A x - b| for A (n, m) of full column rank, n >= m: x = R^-1 Q' b. A matrix of lower rank is an error
** when it is evaluated. */
gb_status gb_lstsq (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  if (s->ndim != 2 || s->dim[0] < s->dim[1])
    return gb_fail(err, GB_ESHAPE, "lstsq: expected a matrix with no fewer rows than columns: %s",
                   gb_node_text(a, ta));
  if ((t->ndim != 1 && t->ndim != 2) || t->dim[0] != s->dim[0])
    return gb_fail(err, GB_ESHAPE, "lstsq: numbers of rows differ: %s, %s", gb_node_text(a, ta),
                   gb_node_text(b, tb));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *qr = gb_ex_map1(&e, GB_OP_QR, a), *x = NULL;
  gb_node *q = gb_ex_pick(&e, qr, 0), *r = gb_ex_pick(&e, qr, 1), *qt = gb_ex_swap(&e, q), *column = b;
  if (t->ndim == 1) column = gb_ex_unsqueeze(&e, b, 1);
  x = gb_ex_meet(&e, GB_OP_MATMUL, qt, column);
  if (t->ndim == 1) x = gb_ex_squeeze(&e, x, 1);
  x = gb_ex_op(&e, GB_OP_TRISOLVE, 2, (gb_node *[]){r, x}, &(gb_attr){.i = {1, 0, (int64_t)s->dim[0]}}, NULL,
               GB_F64);
  return gb_formula_take(&e, x, out);
}
