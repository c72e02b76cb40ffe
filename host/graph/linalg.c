/* linalg.c - solves and determinants over one factorisation a matrix, which consing shares. */
#include "graph/build.h"

#include "graph/formula.h"

/* What is symmetric by structure is taken for positive definite. A matrix of order 1 is symmetric whatever it is. */
static bool takes_cholesky (const gb_node *a) {
  const gb_shape *s = gb_node_shape(a);
  return (a->flags & GB_NODE_SYMMETRIC) != 0 && s->dim[s->ndim - 1] > 1;
}

static gb_node *factor (gb_formula *e, gb_node *a) { return gb_ex_map1(e, GB_OP_CHOLESKY, a); }

gb_status gb_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err) {
  const gb_attr attr = {.f = {jitter}};
  return gb_node_build(a->graph, GB_OP_CHOLESKY, 1, &a, &attr, NULL, GB_F64, out, err);
}

/* -- systems. What b is, is read from the ranks: build.h */

static bool is_vectors (const gb_shape *a, const gb_shape *b) {
  return b->ndim == 1 || (a->ndim > 2 && b->ndim == a->ndim - 1);
}

static gb_shape leading (const gb_shape *s) { return gb_shape_of(s->ndim - 2, s->dim); }

/* What is wrong with right-hand sides of matrices (..., n, m), NULL: nothing. */
static const char *wrong_right (const gb_shape *a, const gb_shape *b) {
  const size_t n = a->dim[a->ndim - 2];
  gb_shape s = leading(a), t;
  if (b->ndim == 0) return "expected right-hand sides of one axis or more";
  if (b->ndim == 1) return b->dim[0] == n ? NULL : "numbers of rows differ";
  if (is_vectors(a, b)) {
    s.dim[s.ndim++] = n;
    if (gb_shape_equal(&s, b)) return NULL;
    return "right-hand sides with one axis fewer than the matrices are one vector each, (..., n); columns "
           "for "
           "all of them have as many axes, (1, n, r)";
  }
  if (b->dim[b->ndim - 2] != n) return "numbers of rows differ";
  const gb_shape own = leading(b);
  return gb_shape_broadcast(&s, &own, &t) ? NULL : "batch axes do not fit";
}

/* Shape errors name A and b, not a factor. */
static gb_status check_system (const char *what, gb_node *a, gb_node *b, gb_error *err) {
  const gb_shape *s = gb_node_shape(a);
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  const bool square = s->ndim >= 2 && s->dim[s->ndim - 2] == s->dim[s->ndim - 1];
  const char *wrong = square ? wrong_right(s, gb_node_shape(b))
                             : "expected a square matrix, or a batch of them";
  if (wrong == NULL) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "%s: %s: %s, %s", what, wrong, gb_node_text(a, ta), gb_node_text(b, tb));
}

/* b as matrices, for a batch of A. */
static gb_node *as_matrices (gb_formula *e, gb_node *a, gb_node *b) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  return s->ndim > 2 && is_vectors(s, t) ? gb_ex_unsqueeze(e, b, t->ndim) : b;
}

/* 'op' of A, or its factor, and checked b. */
static gb_node *systems (gb_formula *e, gb_op op, const gb_attr *attr, gb_node *a, gb_node *b) {
  if (!a || !b || e->status != GB_OK) return NULL;
  gb_node *in[2];
  if ((e->status = gb_adopt(2, (gb_node *[]){a, b}, in, e->err)) != GB_OK) return NULL;
  for (int i = 0; i < 2; i++) in[i] = gb_formula_hold(e, in[i]);
  if (e->status != GB_OK) return NULL;
  const gb_shape *s = gb_node_shape(in[0]), *t = gb_node_shape(in[1]);
  const bool columns = s->ndim == 2 && t->ndim > 2, vectors = s->ndim > 2 && is_vectors(s, t);
  in[1] = columns ? gb_ex_as_columns(e, in[1]) : as_matrices(e, in[0], in[1]);
  gb_node *x = gb_ex_op(e, op, 2, in, attr, NULL, gb_node_dtype(in[0]));
  if (!x) return NULL;
  const gb_shape lead = columns ? leading(t) : (gb_shape){0};
  if (columns) return gb_ex_from_columns(e, x, &lead, t->dim[t->ndim - 1]);
  return vectors ? gb_ex_squeeze(e, x, -1) : x;
}

static gb_status solve_with (const char *what, gb_op op, const gb_attr *attr, gb_node *a, gb_node *b,
                             gb_node **out, gb_error *err) {
  GB_TRY(check_system(what, a, b, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, systems(&e, op, attr, a, b), out);
}

gb_status gb_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed, gb_node **out,
                               gb_error *err) {
  const gb_attr attr = {.i = {upper, transposed}};
  return solve_with("triangular_solve", GB_OP_TRISOLVE, &attr, l, b, out, err);
}

gb_status gb_solve_factored (gb_node *l, gb_node *b, gb_node **out, gb_error *err) {
  return solve_with("solve", GB_OP_SOLVE_CHOL, NULL, l, b, out, err);
}

gb_status gb_solve (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  GB_TRY(check_system("solve", a, b, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = takes_cholesky(a) ? systems(&e, GB_OP_SOLVE_CHOL, NULL, factor(&e, a), b)
                                 : systems(&e, GB_OP_LU_SOLVE, NULL, a, b);
  return gb_formula_take(&e, x, out);
}

gb_status gb_logdet (gb_node *a, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = takes_cholesky(a) ? gb_ex_map1(&e, GB_OP_LOGDET, factor(&e, a))
                                 : gb_ex_map1(&e, GB_OP_LU_LOGDET, a);
  return gb_formula_take(&e, x, out);
}

/* sum b' x of each matrix of the batch of x. */
static gb_node *sum_of_products (gb_formula *e, gb_node *b, gb_node *x, bool vectors) {
  gb_node *products = gb_ex_meet(e, GB_OP_MUL, b, x);
  if (!products) return NULL;
  const int last = gb_node_shape(products)->ndim - 1;
  return gb_ex_reduce(e, GB_OP_SUM, products, vectors ? 1u << last : 3u << (last - 1), false);
}

gb_status gb_inv_quad (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  GB_TRY(check_system("inv_quad", a, b, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  const bool vectors = is_vectors(gb_node_shape(a), gb_node_shape(b));
  gb_node *x;
  if (!takes_cholesky(a)) {
    x = sum_of_products(&e, b, systems(&e, GB_OP_LU_SOLVE, NULL, a, b), vectors);
  } else if (gb_node_shape(a)->ndim == 2 && gb_node_shape(b)->ndim > 2) {
    x = sum_of_products(&e, b, systems(&e, GB_OP_SOLVE_CHOL, NULL, factor(&e, a), b), vectors);
  } else {
    x = gb_ex_meet(&e, GB_OP_INV_QUAD, factor(&e, a), as_matrices(&e, a, b));
  }
  return gb_formula_take(&e, x, out);
}

/* min |A x - b| for A (..., n, m) of full column rank, n >= m: x = R^-1 Q' b. A matrix of lower rank is an error
** when it is evaluated. */
gb_status gb_lstsq (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  if (s->ndim < 2 || s->dim[s->ndim - 2] < s->dim[s->ndim - 1])
    return gb_fail(err, GB_ESHAPE,
                   "lstsq: expected a matrix with no fewer rows than columns, or a batch of them: %s",
                   gb_node_text(a, ta));
  const char *wrong = wrong_right(s, t);
  if (wrong != NULL)
    return gb_fail(err, GB_ESHAPE, "lstsq: %s: %s, %s", wrong, gb_node_text(a, ta), gb_node_text(b, tb));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  const bool vectors = is_vectors(s, t);
  const gb_attr attr = {.i = {1, 0, (int64_t)s->dim[s->ndim - 2]}};
  gb_node *qr = gb_ex_map1(&e, GB_OP_QR, a);
  gb_node *q = gb_ex_pick(&e, qr, 0), *r = gb_ex_pick(&e, qr, 1);
  gb_node *x = gb_ex_meet(&e, GB_OP_MATMUL, gb_ex_swap(&e, q), vectors ? gb_ex_unsqueeze(&e, b, t->ndim) : b);
  if (vectors) x = gb_ex_squeeze(&e, x, -1);
  return gb_formula_take(&e, systems(&e, GB_OP_TRISOLVE, &attr, r, x), out);
}
