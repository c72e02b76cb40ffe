/* reduce.c - cotangents through reductions and contractions; contractions stay contractions. */
#include <math.h>

#include "graph/grad/rules.h"

#define BEGIN                                                                                                \
  gb_formula e;                                                                                              \
  gb_formula_init(&e, y->graph, err);                                                                        \
  gb_node *x = y->in[0], *g = out_bar[0];                                                                    \
  (void)need, (void)x, (void)g

#define RULE(suffix)                                                                                         \
  gb_status gb_grad_##suffix(gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,        \
                             gb_error *err)

/* The reduced axes put back with extent 1. */
static gb_node *keep (gb_formula *e, gb_node *a, const gb_node *y) {
  const unsigned mask = (unsigned)y->attr.i[0];
  for (int i = 0; i < gb_node_shape(y->in[0])->ndim; i++)
    if (mask >> i & 1u) a = gb_ex_unsqueeze(e, a, i);
  return a;
}

static gb_node *ones_where (gb_formula *e, gb_node *test, const gb_node *like) {
  return gb_ex_where(e, test, gb_ex_like(e, 1, like), gb_ex_like(e, 0, like));
}

RULE(sum) {
  BEGIN;
  return gb_formula_take(&e, gb_ex_expand(&e, keep(&e, g, y), gb_node_shape(x)), in_bar);
}

/* The product of the other factors, by value: the total divided by x_i if no factor is 0; if one is 0, only
** its own is nonzero. */
static gb_node *others_by_division (gb_formula *e, gb_node *x, const gb_node *y) {
  gb_node *zero = gb_ex_like(e, 0, x), *one = gb_ex_like(e, 1, x);
  gb_node *is_zero = gb_ex_map2(e, GB_OP_EQ, x, zero), *safe = gb_ex_where(e, is_zero, one, x);
  const unsigned mask = (unsigned)y->attr.i[0];
  gb_node *zeros = keep(e, gb_ex_reduce(e, GB_OP_SUM, ones_where(e, is_zero, x), mask, false), y);
  gb_node *p = keep(e, gb_ex_reduce(e, GB_OP_PROD, safe, mask, false), y);
  gb_node *at_zero = gb_ex_where(e, gb_ex_map2(e, GB_OP_EQ, zeros, one), p, zero);
  gb_node *elsewhere = gb_ex_where(e, gb_ex_map2(e, GB_OP_EQ, zeros, zero), gb_ex_div(e, p, safe), zero);
  return gb_ex_where(e, is_zero, at_zero, elsewhere);
}

/* Indices 0 .. n-1 along 'axis' of 'ndim'. */
static gb_node *indices_along (gb_formula *e, size_t n, int axis, int ndim) {
  gb_node *r = gb_ex_range(e, 0, 1, n, GB_I64);
  for (int i = 0; i < ndim; i++)
    if (i != axis) r = gb_ex_unsqueeze(e, r, i);
  return r;
}

/* prod_k (k = i ? 1 : x_k): a polynomial, so its derivatives of every order are correct at zeros. n^2
** factors. */
static gb_node *others_in_full (gb_formula *e, gb_node *x, int axis) {
  const int r = gb_node_shape(x)->ndim + 1;
  const size_t n = gb_node_shape(x)->dim[axis];
  gb_node *own = gb_ex_map2(e, GB_OP_EQ, indices_along(e, n, axis, r), indices_along(e, n, axis + 1, r));
  gb_node *rest = gb_ex_where(e, own, gb_ex_like(e, 1, x), gb_ex_unsqueeze(e, x, axis));
  return gb_ex_reduce(e, GB_OP_PROD, rest, 1u << (axis + 1), false);
}

/* The factor of n next to its square root, from below. */
static size_t middle_factor (size_t n) {
  size_t f = 1;
  for (size_t k = 2; k <= n / k; k++)
    if (n % k == 0) f = k;
  return f;
}

static gb_node *others_along (gb_formula *e, gb_node *x, int axis);

/* The product of the others along two axes: those of the same row, times all other rows. */
static gb_node *others_in_rows (gb_formula *e, gb_node *x, int rows) {
  gb_node *row = gb_ex_reduce(e, GB_OP_PROD, x, 1u << (rows + 1), false);
  gb_node *other_rows = gb_ex_unsqueeze(e, others_along(e, row, rows), rows + 1);
  return gb_ex_mul(e, others_along(e, x, rows + 1), other_rows);
}

/* Extents above this, if they have factors, are taken as rows: n (rows + columns) factors instead of n^2. */
enum { FEW_FACTORS = 16 };

static gb_node *others_along (gb_formula *e, gb_node *x, int axis) {
  if (!x) return NULL;
  const gb_shape *s = gb_node_shape(x);
  const size_t n = s->dim[axis], rows = middle_factor(n);
  if (s->ndim > 3 && s->ndim + 2 > GB_MAXDIM) { /* room for another axis or two */
    gb_shape flat = {.ndim = 3, .dim = {1, n, 1}};
    for (int i = 0; i < s->ndim; i++)
      if (i != axis) flat.dim[i < axis ? 0 : 2] *= s->dim[i];
    return gb_ex_reshape(e, others_along(e, gb_ex_reshape(e, x, &flat), 1), s);
  }
  if (n <= FEW_FACTORS || rows == 1) return others_in_full(e, x, axis);
  gb_shape split = {.ndim = s->ndim + 1};
  for (int i = 0; i < split.ndim; i++) split.dim[i] = s->dim[i <= axis ? i : i - 1];
  split.dim[axis] = rows;
  split.dim[axis + 1] = n / rows;
  return gb_ex_reshape(e, others_in_rows(e, gb_ex_reshape(e, x, &split), axis), s);
}

/* Equals others_by_division if no factor is 0, and is correct with all derivatives at zeros. Works along each
** axis in turn, on the products over the axes behind it. */
static gb_node *others_by_products (gb_formula *e, gb_node *x, const gb_node *y) {
  const unsigned mask = (unsigned)y->attr.i[0];
  gb_node *out = NULL;
  for (int i = gb_node_shape(x)->ndim - 1; i >= 0; i--) {
    if (!(mask >> i & 1u)) continue;
    gb_node *along = others_along(e, x, i);
    out = out ? gb_ex_mul(e, out, along) : along;
    x = gb_ex_reduce(e, GB_OP_PROD, x, 1u << i, true);
  }
  return out;
}

/* The value by division, O(n); its derivatives by products, which only a further gradient evaluates. */
RULE(prod) {
  BEGIN;
  gb_node *in[] = {others_by_division(&e, x, y), others_by_products(&e, x, y), gb_ex_like(&e, 1, x)};
  gb_node *others = gb_ex_op(&e, GB_OP_WITH_SLOPE, 3, in, NULL, NULL, gb_node_dtype(x));
  return gb_formula_take(&e, gb_ex_mul(&e, keep(&e, g, y), others), in_bar);
}

RULE(minmax) {
  BEGIN;
  gb_node *is_it = gb_ex_map2(&e, GB_OP_EQ, x, keep(&e, y, y)), *zero = gb_ex_like(&e, 0, x);
  gb_node *ties = gb_ex_reduce(&e, GB_OP_SUM, ones_where(&e, is_it, x), (unsigned)y->attr.i[0], false);
  gb_node *share = keep(&e, gb_ex_div(&e, g, ties), y);
  return gb_formula_take(&e, gb_ex_where(&e, is_it, share, zero), in_bar);
}

/* exp(x - y); a row of -inf has weights 0 */
RULE(logsumexp) {
  BEGIN;
  gb_node *empty = gb_ex_map2(&e, GB_OP_EQ, y, gb_ex_like(&e, -INFINITY, y));
  gb_node *level = gb_ex_where(&e, empty, gb_ex_like(&e, 0, y), y);
  gb_node *w = gb_ex_map1(&e, GB_OP_EXP, gb_ex_sub(&e, x, keep(&e, level, y)));
  return gb_formula_take(&e, gb_ex_mul(&e, w, keep(&e, g, y)), in_bar);
}

/* -- contractions */

RULE(matmul) {
  BEGIN;
  gb_node *b = y->in[1];
  gb_node *of_a = need[0] ? gb_ex_matmul(&e, g, gb_ex_swap(&e, b)) : NULL;
  gb_node *of_b = need[1] ? gb_ex_matmul(&e, gb_ex_swap(&e, x), g) : NULL;
  if (need[0]) gb_bar_put(&e, gb_ex_unbroadcast(&e, of_a, gb_node_shape(x)), in_bar, 0);
  if (need[1]) gb_bar_put(&e, gb_ex_unbroadcast(&e, of_b, gb_node_shape(b)), in_bar, 1);
  return gb_bar_finish(&e, 2, in_bar);
}

static gb_node *diffmv (gb_formula *e, gb_node *w, gb_node *x, gb_node *y) {
  gb_node *r = x ? gb_ex_op(e, GB_OP_DIFFMV, 3, (gb_node *[]){w, x, y}, NULL, NULL, gb_node_dtype(x)) : NULL;
  return r ? gb_ex_unbroadcast(e, r, gb_node_shape(x)) : NULL;
}

/* sum over all but the last axis of a * b */
static gb_node *feature_sums (gb_formula *e, gb_node *a, gb_node *b) {
  gb_node *ab = gb_ex_mul(e, a, b);
  return ab ? gb_ex_reduce(e, GB_OP_SUM, ab, (1u << (gb_node_shape(ab)->ndim - 1)) - 1, false) : NULL;
}

/* Weights' cotangent sum_ij g_ij (x_ik - y_jk)^2 = sum_i x_ik a_ik + sum_j y_jk b_jk, the same for points
** shifted by any constant; shifting by the mean of x avoids cancellation. */
static gb_node *weights_bar (gb_formula *e, gb_node *x, gb_node *y, gb_node *a, gb_node *b) {
  const gb_shape *s = gb_node_shape(x);
  const size_t d = s->dim[s->ndim - 1], n = d ? gb_shape_numel(s) / d : 0;
  gb_node *sum = gb_ex_reduce(e, GB_OP_SUM, x, (1u << (s->ndim - 1)) - 1, false);
  gb_node *mean = gb_ex_map1(e, GB_OP_DETACH, gb_ex_scale(e, sum, n ? 1 / (double)n : 0));
  return gb_ex_add(e, feature_sums(e, gb_ex_sub(e, x, mean), a), feature_sums(e, gb_ex_sub(e, y, mean), b));
}

/* s_ij = sum_k w_k (x_ik - y_jk)^2: x_bar_ik = 2 w_k a_ik with a_ik = sum_j g_ij (x_ik - y_jk), and the
** mirror for y. */
RULE(sqdist) {
  BEGIN;
  gb_node *z = y->in[1], *w = y->nin == 3 ? y->in[2] : NULL;
  const bool weights = w && need[2], same = x == z && !weights;
  gb_node *gt = (need[1] || weights) ? gb_ex_swap(&e, g) : NULL;
  gb_node *a = NULL, *b = NULL;
  if (same) {
    if (need[0]) a = diffmv(&e, gb_ex_add(&e, g, gb_ex_swap(&e, g)), x, x);
  } else {
    if (need[0] || weights) a = diffmv(&e, g, x, z);
    if (need[1] || weights) b = diffmv(&e, gt, z, x);
  }
  gb_node *bar[2] = {need[0] ? a : NULL, need[1] ? b : NULL};
  for (int i = 0; i < 2; i++) {
    if (!bar[i]) continue;
    gb_node *twice = gb_ex_scale(&e, bar[i], 2);
    gb_bar_put(&e, w ? gb_ex_mul(&e, twice, w) : twice, in_bar, i);
  }
  if (weights) gb_bar_put(&e, weights_bar(&e, x, z, a, b), in_bar, 2);
  return gb_bar_finish(&e, y->nin, in_bar);
}

/* o_ik = sum_j w_ij (x_ik - z_jk): w_bar_ij = sum_k g_ik (x_ik - z_jk), x_bar_ik = g_ik sum_j w_ij, z_bar
** = -w' g */
RULE(diffmv) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  gb_node *w = y->in[0], *x = y->in[1], *z = y->in[2], *g = out_bar[0];
  if (need[0]) {
    const int r = gb_node_shape(g)->ndim;
    gb_node *left = gb_ex_unsqueeze(&e, x, gb_node_shape(x)->ndim - 1);
    gb_node *right = gb_ex_unsqueeze(&e, z, gb_node_shape(z)->ndim - 2);
    gb_node *terms = gb_ex_mul(&e, gb_ex_sub(&e, left, right), gb_ex_unsqueeze(&e, g, r - 1));
    gb_node *bar = gb_ex_reduce(&e, GB_OP_SUM, terms, 1u << r, false);
    gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(w)), in_bar, 0);
  }
  if (need[1]) {
    gb_node *rows = gb_ex_reduce(&e, GB_OP_SUM, w, 1u << (gb_node_shape(w)->ndim - 1), true);
    gb_bar_put(&e, gb_ex_unbroadcast(&e, gb_ex_mul(&e, g, rows), gb_node_shape(x)), in_bar, 1);
  }
  if (need[2]) {
    gb_node *bar = gb_ex_neg(&e, gb_ex_matmul(&e, gb_ex_swap(&e, w), g));
    gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(z)), in_bar, 2);
  }
  return gb_bar_finish(&e, 3, in_bar);
}
