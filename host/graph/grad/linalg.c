/* linalg.c - cotangents through factorisations and solves.
**
** Sources: Murray (2016), Differentiation of the Cholesky decomposition; Liao, Liu, Wang & Xiang (2019),
** Differentiable programming tensor networks (QR); Giles (2008), Collected matrix derivative results;
** Townsend (2016), Differentiating the singular value decomposition. Equal eigenvalues or singular values get
** no coupling term, since their vectors are not determined: results must not depend on them. */
#include "graph/grad/rules.h"

#define RULE(suffix)                                                                                         \
  gb_status gb_grad_##suffix(gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,        \
                             gb_error *err)

#define BEGIN                                                                                                \
  gb_formula e;                                                                                              \
  gb_formula_init(&e, y->graph, err);                                                                        \
  gb_node *g = out_bar[0];                                                                                   \
  (void)need, (void)g

static size_t order_of (const gb_node *a) { return gb_node_shape(a)->dim[gb_node_shape(a)->ndim - 1]; }

/* The number of each matrix of a batch, against its entries. */
static gb_node *per_matrix (gb_formula *e, gb_node *g) {
  const int n = g ? gb_node_shape(g)->ndim : 0;
  return n == 0 ? g : gb_ex_unsqueeze(e, gb_ex_unsqueeze(e, g, n), n + 1);
}

/* Input i was broadcast along batch axes: their sum. */
static void put (gb_formula *e, const gb_node *y, gb_node *bar, gb_node **in_bar, int i) {
  gb_bar_put(e, gb_ex_unbroadcast(e, bar, gb_node_shape(y->in[i])), in_bar, i);
}

static gb_node *column (gb_formula *e, gb_node *v) {
  return v && gb_node_shape(v)->ndim == 1 ? gb_ex_unsqueeze(e, v, 1) : v;
}

/* a b' of vectors (n), or of blocks (n, r) summed over r. Not stored if a fold consumes it. */
static gb_node *outer (gb_formula *e, gb_node *a, gb_node *b) {
  return gb_ex_matmul(e, column(e, a), gb_ex_swap(e, column(e, b)));
}

static gb_node *trisolve (gb_formula *e, gb_node *l, gb_node *b, bool upper, bool transposed) {
  const gb_attr attr = {.i = {upper, transposed}};
  return b ? gb_ex_op(e, GB_OP_TRISOLVE, 2, (gb_node *[]){l, b}, &attr, NULL, gb_node_dtype(b)) : NULL;
}

/* -- reading a factor L of M = L L' */

/* Of right-hand sides with 'ndim' axes: rows are the last axis of vectors, else the one before it. */
static bool same_along_rows (const gb_node *w, int ndim) {
  const gb_shape *s = w->op == GB_OP_EXPAND && w->nin == 1 ? gb_node_shape(w->in[0]) : gb_node_shape(w);
  const int back = ndim == 1 ? 1 : 2;
  return s->ndim < back || s->dim[s->ndim - back] == 1;
}

gb_node *gb_column_weight (gb_node *g, const gb_node *b) {
  if (g->op != GB_OP_MUL || g->nin != 2) return NULL;
  for (int i = 0; i < 2; i++)
    if (g->in[i] == b && same_along_rows(g->in[1 - i], gb_node_shape(g)->ndim)) return g->in[1 - i];
  return NULL;
}

static gb_node *solve_chol (gb_formula *e, gb_node *l, gb_node *b) {
  return gb_ex_map2(e, GB_OP_SOLVE_CHOL, l, b);
}

/* The cotangent of M from that of y; also b's, if the op has b. */
static gb_node *matrix_bar (gb_formula *e, gb_node *y, gb_node *g, bool matrix, bool rhs, gb_node **b_bar) {
  gb_node *l = y->in[0], *x, *inverse;
  *b_bar = NULL;
  switch (y->op) {
    case GB_OP_LOGDET: return gb_ex_mul(e, gb_ex_map1(e, GB_OP_CHOL_INVERSE, l), per_matrix(e, g));
    case GB_OP_CHOL_INVERSE:
      inverse = y;
      return gb_ex_neg(e, gb_ex_matmul(e, gb_ex_matmul(e, inverse, g), inverse));
    case GB_OP_INV_QUAD:
      x = solve_chol(e, l, y->in[1]);
      g = per_matrix(e, g);
      if (rhs) *b_bar = gb_ex_mul(e, gb_ex_scale(e, x, 2), g);
      return matrix ? gb_ex_mul(e, outer(e, x, x), gb_ex_neg(e, g)) : NULL;
    default:
      x = gb_column_weight(g, y->in[1]);
      x = x != NULL ? gb_ex_mul(e, y, x) : g == y->in[1] ? y : solve_chol(e, l, g);
      if (rhs) *b_bar = x;
      return matrix ? gb_ex_neg(e, outer(e, x, y)) : NULL;
  }
}

RULE(through_factor) {
  BEGIN;
  gb_node *b_bar, *m_bar = matrix_bar(&e, y, g, need[0], y->nin == 2 && need[1], &b_bar);
  if (need[0]) put(&e, y, m_bar, in_bar, 0);
  if (y->nin == 2 && need[1]) put(&e, y, b_bar, in_bar, 1);
  return gb_bar_finish(&e, y->nin, in_bar);
}

/* The factor itself is among the xs: L_bar = lower part of (M_bar + M_bar') L. */
static gb_status to_factor (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                            gb_error *err) {
  BEGIN;
  gb_node *b_bar, *m_bar = matrix_bar(&e, y, g, need[0], y->nin == 2 && need[1], &b_bar);
  if (need[0]) {
    gb_node *l_bar = gb_ex_matmul(&e, gb_ex_add(&e, m_bar, gb_ex_swap(&e, m_bar)), y->in[0]);
    put(&e, y, gb_ex_lower(&e, l_bar, l_bar), in_bar, 0);
  }
  if (y->nin == 2 && need[1]) put(&e, y, b_bar, in_bar, 1);
  return gb_bar_finish(&e, y->nin, in_bar);
}

RULE(logdet) { return to_factor(y, out_bar, need, in_bar, err); }
RULE(inv_quad) { return to_factor(y, out_bar, need, in_bar, err); }
RULE(solve_chol) { return to_factor(y, out_bar, need, in_bar, err); }
RULE(chol_inverse) { return to_factor(y, out_bar, need, in_bar, err); }

/* -- factorisations */

/* half of a + a' */
static gb_node *symmetrised (gb_formula *e, gb_node *a) {
  return gb_ex_scale(e, gb_ex_add(e, a, gb_ex_swap(e, a)), 0.5);
}

/* A_bar = sym(L^-T P L^-1), P the lower part of L' L_bar with half its diagonal */
RULE(cholesky) {
  BEGIN;
  gb_node *l = y;
  /* an array */
  if ((y->flags & GB_NODE_GROWN) != 0)
    l = gb_ex_op(&e, GB_OP_CHOLESKY, 1, y->in, &y->attr, NULL, gb_node_dtype(y));
  gb_node *p = gb_ex_matmul(&e, gb_ex_swap(&e, l), gb_ex_lower(&e, g, g));
  p = gb_ex_lower(&e, p, gb_ex_scale(&e, p, 0.5));
  gb_node *left = trisolve(&e, l, p, false, true);
  gb_node *both = trisolve(&e, l, gb_ex_swap(&e, left), false, true);
  return gb_formula_take(&e, symmetrised(&e, both), in_bar);
}

/* x = op(L)^-1 b: b_bar = op(L)^-T x_bar, L_bar = -b_bar x' (transposed where op is), restricted to the
** triangle that is read */
RULE(trisolve) {
  BEGIN;
  gb_node *l = y->in[0];
  const bool upper = y->attr.i[0], transposed = y->attr.i[1];
  gb_node *b_bar = trisolve(&e, l, g, upper, !transposed);
  if (need[0]) {
    /* for a lower L directly; for an upper one through its transpose, whose lower triangle is kept */
    gb_node *bar = gb_ex_neg(&e, upper == transposed ? outer(&e, b_bar, y) : outer(&e, y, b_bar));
    bar = gb_ex_lower(&e, bar, bar);
    if (upper) bar = gb_ex_swap(&e, bar);
    put(&e, y, bar, in_bar, 0);
  }
  if (need[1]) put(&e, y, b_bar, in_bar, 1);
  return gb_bar_finish(&e, 2, in_bar);
}

/* A_bar = (Q_bar + Q copy(M)) R^-T, M = R R_bar' - Q_bar' Q, copy(M) = the lower triangle mirrored upwards */
RULE(qr) {
  BEGIN;
  gb_node *q = gb_ex_pick(&e, y, 0), *r = gb_ex_pick(&e, y, 1), *r_bar = out_bar[1], *m = NULL;
  if (r_bar) m = gb_ex_matmul(&e, r, gb_ex_swap(&e, r_bar));
  if (g) {
    gb_node *qq = gb_ex_matmul(&e, gb_ex_swap(&e, g), q);
    m = m ? gb_ex_sub(&e, m, qq) : gb_ex_neg(&e, qq);
  }
  m = gb_ex_add(&e, gb_ex_lower(&e, m, m), gb_ex_swap(&e, gb_ex_lower(&e, m, NULL)));
  gb_node *sum = gb_ex_matmul(&e, q, m);
  if (g) sum = gb_ex_add(&e, sum, g);
  return gb_formula_take(&e, gb_ex_swap(&e, trisolve(&e, r, gb_ex_swap(&e, sum), true, false)), in_bar);
}

/* Values (..., k) of the columns of matrices, and of their rows. */
static gb_node *as_row (gb_formula *e, gb_node *v) {
  return v ? gb_ex_unsqueeze(e, v, gb_node_shape(v)->ndim - 1) : NULL;
}
static gb_node *as_column (gb_formula *e, gb_node *v) {
  return v ? gb_ex_unsqueeze(e, v, gb_node_shape(v)->ndim) : NULL;
}

/* 1 / (v_j - v_i) off the diagonal, 0 for equal values */
static gb_node *gaps (gb_formula *e, gb_node *v) {
  gb_node *gap = gb_ex_sub(e, as_row(e, v), as_column(e, v));
  gb_node *zero = gb_ex_like(e, 0, v), *equal = gb_ex_map2(e, GB_OP_EQ, gap, zero);
  return gb_ex_where(e, equal, zero,
                     gb_ex_map1(e, GB_OP_RECIP, gb_ex_where(e, equal, gb_ex_like(e, 1, v), gap)));
}

static gb_node *diagonal_of (gb_formula *e, gb_node *v) {
  if (!v) return NULL;
  gb_node *eye = gb_ex_eye(e, order_of(v), order_of(v), gb_node_dtype(v));
  for (int i = 1; i < gb_node_shape(v)->ndim; i++) eye = gb_ex_unsqueeze(e, eye, 0);
  return gb_ex_mul(e, eye, as_row(e, v));
}

static gb_node *plus (gb_formula *e, gb_node *a, gb_node *b) {
  return a && b ? gb_ex_add(e, a, b) : a ? a : b;
}

/* A_bar = V (diag(w_bar) + F o (V' V_bar)) V', F_ij = 1 / (w_j - w_i) */
RULE(eigh) {
  BEGIN;
  gb_node *w = gb_ex_pick(&e, y, 0), *v = gb_ex_pick(&e, y, 1), *inner = g ? diagonal_of(&e, g) : NULL;
  if (out_bar[1]) {
    gb_node *turn = gb_ex_mul(&e, gb_ex_matmul(&e, gb_ex_swap(&e, v), out_bar[1]), gaps(&e, w));
    inner = plus(&e, inner, turn);
  }
  gb_node *a_bar = gb_ex_matmul(&e, gb_ex_matmul(&e, v, inner), gb_ex_swap(&e, v));
  return gb_formula_take(&e, symmetrised(&e, a_bar), in_bar);
}

/* b minus its part in the span of the orthonormal columns of q */
static gb_node *rejected (gb_formula *e, gb_node *q, gb_node *b) {
  return gb_ex_sub(e, b, gb_ex_matmul(e, q, gb_ex_matmul(e, gb_ex_swap(e, q), b)));
}

/* F o (q' q_bar - q_bar' q) */
static gb_node *turning (gb_formula *e, gb_node *q, gb_node *q_bar, gb_node *f) {
  gb_node *m = gb_ex_matmul(e, gb_ex_swap(e, q), q_bar);
  return gb_ex_mul(e, gb_ex_sub(e, m, gb_ex_swap(e, m)), f);
}

/* A_bar = (U J S + (I - U U') U_bar S^-1) V' + U (S K V' + S^-1 V_bar' (I - V V')) + U diag(s_bar) V',
** J = F o (U' U_bar - U_bar' U), K the same of V, F_ij = 1 / (s_j^2 - s_i^2) */
RULE(svd) {
  BEGIN;
  gb_node *u = gb_ex_pick(&e, y, 0), *s = gb_ex_pick(&e, y, 1), *v = gb_ex_pick(&e, y, 2);
  gb_node *row = as_row(&e, s), *col = as_column(&e, s), *f = gaps(&e, gb_ex_square(&e, s));
  gb_node *inner = out_bar[1] ? diagonal_of(&e, out_bar[1]) : NULL, *outside = NULL;
  if (g) {
    inner = plus(&e, inner, gb_ex_mul(&e, turning(&e, u, g, f), row));
    outside = gb_ex_matmul(&e, gb_ex_div(&e, rejected(&e, u, g), row), gb_ex_swap(&e, v));
  }
  if (out_bar[2]) {
    inner = plus(&e, inner, gb_ex_mul(&e, turning(&e, v, out_bar[2], f), col));
    gb_node *side = gb_ex_div(&e, rejected(&e, v, out_bar[2]), row);
    outside = plus(&e, outside, gb_ex_matmul(&e, u, gb_ex_swap(&e, side)));
  }
  gb_node *a_bar = gb_ex_matmul(&e, gb_ex_matmul(&e, u, inner), gb_ex_swap(&e, v));
  return gb_formula_take(&e, plus(&e, a_bar, outside), in_bar);
}

/* -- general square matrices */

RULE(lusolve) {
  BEGIN;
  gb_node *b_bar = gb_ex_map2(&e, GB_OP_LU_SOLVE, gb_ex_swap(&e, y->in[0]), g);
  if (need[0]) put(&e, y, gb_ex_neg(&e, outer(&e, b_bar, y)), in_bar, 0);
  if (need[1]) put(&e, y, b_bar, in_bar, 1);
  return gb_bar_finish(&e, 2, in_bar);
}

RULE(lulogdet) {
  BEGIN;
  gb_node *a = y->in[0], *eye = gb_ex_eye(&e, order_of(a), order_of(a), gb_node_dtype(a));
  gb_node *inverse = gb_ex_map2(&e, GB_OP_LU_SOLVE, gb_ex_swap(&e, a), eye);
  return gb_formula_take(&e, gb_ex_mul(&e, inverse, per_matrix(&e, g)), in_bar);
}
