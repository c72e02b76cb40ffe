/* sqdist.c - every spelling of a scaled squared distance as MUL(SQDIST(x, y[, w]), scale), and its
** exponential as RADIAL. Scalar scales leave the points; scales along the features become the weights w. */
#include "graph/canon/canon.h"

gb_node *gb_sqdist_of (gb_formula *e, gb_node *n, gb_factor *f) {
  if (gb_is_op(n, GB_OP_SQDIST)) return n;
  if (!gb_is_op(n, GB_OP_MUL) || !gb_is_op(n->in[0], GB_OP_SQDIST) || !gb_is_scalar(n->in[1])) return NULL;
  return gb_factor_mul(e, f, n->in[1], 1) ? n->in[0] : NULL;
}

static gb_node *times (gb_formula *e, gb_node *s, const gb_mono *m) {
  return s && !gb_mono_is_one(m) ? gb_ex_mul(e, s, gb_mono_build(e, m, gb_node_dtype(s))) : s;
}

gb_node *gb_sqdist_scaled (gb_formula *e, gb_node *x, gb_node *y, const gb_factor *squared) {
  if (!x || !y) return NULL;
  gb_node *in[3] = {x, y};
  int nin = 2;
  if (!gb_mono_is_one(&squared->vector)) in[nin++] = gb_mono_build(e, &squared->vector, gb_node_dtype(x));
  return times(e, gb_ex_op(e, GB_OP_SQDIST, nin, in, NULL, NULL, gb_node_dtype(x)), &squared->scalar);
}

/* Moves equal scales of both points into 'f', squared. Different scales stay in x and y. */
static void peel_pair (gb_formula *e, gb_node **x, gb_node **y, gb_factor *f) {
  gb_factor fx = gb_factor_one(), fy = fx, both = *f;
  gb_node *cx = gb_points_peel(e, *x, true, &fx), *cy = gb_points_peel(e, *y, true, &fy);
  if (!cx || !cy || !gb_factor_equal(&fx, &fy) || !gb_factor_join(&both, &fx, 2)) return;
  *x = cx;
  *y = cy;
  *f = both;
}

/* SQDIST(x, y[, w]): equal scales are taken out of x and y, scalars out of w; w is normalised. */
gb_node *gb_canon_sqdist (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0], *y = d->in[1];
  gb_factor f = gb_factor_one();
  if (d->nin == 3 && !gb_factor_mul(e, &f, d->in[2], 1)) return NULL;
  peel_pair(e, &x, &y, &f);
  bool same = x == d->in[0] && y == d->in[1] && gb_mono_is_one(&f.scalar);
  if (same && d->nin == 3 && !gb_mono_is_one(&f.vector))
    same = gb_mono_build(e, &f.vector, gb_node_dtype(x)) == d->in[2];
  else if (same) same = d->nin == 2;
  return same ? NULL : gb_sqdist_scaled(e, x, y, &f);
}

/* (P - Q)^2 summed over axis k, P and Q broadcast against each other, times f. */
static gb_node *from_difference (gb_formula *e, gb_node *p, gb_node *q, int k, gb_factor *f) {
  gb_pairing pair;
  const int r = gb_node_shape(p)->ndim > gb_node_shape(q)->ndim ? gb_node_shape(p)->ndim
                                                                : gb_node_shape(q)->ndim;
  const bool last = k == r - 1;
  gb_factor fp = gb_factor_one(), fq = fp, both = *f;
  gb_node *cp = gb_points_peel(e, p, last, &fp), *cq = gb_points_peel(e, q, last, &fq);
  if (cp && cq && gb_factor_equal(&fp, &fq) && gb_factor_join(&both, &fp, 2)) {
    p = cp;
    q = cq;
    *f = both;
  }
  if (!gb_points_pair(p, q, k, &pair) || (k < 0 && !pair.exact)) return NULL;
  gb_node *row = pair.swapped ? q : p, *col = pair.swapped ? p : q;
  gb_node *x = gb_points_of(e, row, &pair, pair.row, pair.col),
          *y = gb_points_of(e, col, &pair, pair.col, pair.row);
  if (!x || !y) return NULL;
  peel_pair(e, &x, &y, f);
  gb_mono scalar = f->scalar;
  f->scalar = gb_factor_one().scalar;
  return times(e, gb_points_restore(e, gb_sqdist_scaled(e, x, y, f), &pair), &scalar);
}

/* SUM over one axis of scale * (P - Q)^2 */
gb_node *gb_canon_sum_squares (gb_formula *e, const gb_pending_op *d) {
  const unsigned mask = (unsigned)d->attr->i[0];
  const int r = gb_node_shape(d->in[0])->ndim;
  if (mask & (mask - 1) || r < 3) return NULL;
  const int k = __builtin_ctz(mask);
  gb_factor f = gb_factor_one(), inner = f;
  gb_node *square = gb_points_peel(e, d->in[0], k == r - 1, &f);
  if (!square || !gb_is_op(square, GB_OP_SQUARE)) return NULL;
  gb_node *diff = gb_points_peel(e, square->in[0], k == r - 1, &inner);
  if (!diff || !gb_is_op(diff, GB_OP_SUB) || !gb_factor_join(&f, &inner, 2)) return NULL;
  return from_difference(e, diff->in[0], diff->in[1], k, &f);
}

/* (scale * sqrt(b))^2 = scale^2 * b for nonnegative b */
static gb_node *square_of_root (gb_formula *e, gb_node *x) {
  gb_factor f = gb_factor_one(), squared = f;
  gb_node *root = gb_points_peel(e, x, false, &f);
  if (!root || !gb_is_op(root, GB_OP_SQRT) || !gb_is_nonnegative(root->in[0])) return NULL;
  return gb_factor_join(&squared, &f, 2) ? times(e, root->in[0], &squared.scalar) : NULL;
}

gb_node *gb_canon_square (gb_formula *e, const gb_pending_op *d) {
  gb_node *r = square_of_root(e, d->in[0]);
  if (r || gb_node_shape(d->in[0])->ndim != 2) return r;
  gb_factor f = gb_factor_one(), squared = f;
  gb_node *diff = gb_points_peel(e, d->in[0], false, &f);
  if (!diff || !gb_is_op(diff, GB_OP_SUB) || !gb_factor_join(&squared, &f, 2)) return NULL;
  return from_difference(e, diff->in[0], diff->in[1], -1, &squared);
}

/* True for one element whose rank adds no axis to n. */
static bool scales (const gb_node *by, const gb_node *n) {
  return gb_shape_numel(gb_node_shape(by)) == 1 && gb_node_shape(by)->ndim <= gb_node_shape(n)->ndim;
}

/* MUL, DIV and NEG of a scaled SQDIST by scalars: one MUL by the normal form of the product. */
gb_node *gb_canon_rescale (gb_formula *e, const gb_pending_op *d) {
  gb_factor f = gb_factor_one();
  gb_node *s = gb_sqdist_of(e, d->in[0], &f);
  if (d->nin == 1) {
    f.scalar.c = -f.scalar.c;
    return times(e, s, &f.scalar);
  }
  gb_node *by = d->in[1];
  if (!s && d->op == GB_OP_MUL) {
    s = gb_sqdist_of(e, d->in[1], &f);
    by = d->in[0];
  }
  if (!s || !scales(by, s) || !gb_factor_mul(e, &f, by, d->op == GB_OP_DIV ? -1 : 1)) return NULL;
  if (s == d->in[0] && d->op == GB_OP_MUL && gb_mono_build(e, &f.scalar, gb_node_dtype(s)) == by) return NULL;
  return times(e, s, &f.scalar);
}

/* The derivatives of exp(-u / 2) are multiples of itself. */
static gb_node *rbf_derivative (gb_formula *e, const gb_pending_op *d) {
  const gb_attr value = {.i = {GB_RBF}};
  double factor = 1;
  for (int64_t i = 0; i < d->attr->i[1]; i++) factor *= -0.5;
  return gb_ex_scale(e, gb_ex_op(e, GB_OP_RADIAL, 2, d->in, &value, NULL, gb_node_dtype(d->in[0])), factor);
}

/* exp(k s) = RBF at c = -2 k; RADIAL(k s, c) = RADIAL(s, k c) */
gb_node *gb_canon_radial (gb_formula *e, const gb_pending_op *d) {
  if (d->op == GB_OP_RADIAL && d->attr->i[0] == GB_RBF && d->attr->i[1] > 0) return rbf_derivative(e, d);
  gb_factor f = gb_factor_one();
  gb_node *s = gb_sqdist_of(e, d->in[0], &f);
  if (!s) return NULL;
  gb_attr attr = *d->attr;
  if (d->op == GB_OP_EXP) {
    f.scalar.c *= -2;
    attr.i[0] = GB_RBF;
  } else if (!gb_is_scalar(d->in[1]) || !gb_factor_mul(e, &f, d->in[1], 1)) {
    return NULL;
  }
  gb_node *in[3] = {s, gb_mono_build(e, &f.scalar, gb_node_dtype(s)), d->nin == 3 ? d->in[2] : NULL};
  if (d->op == GB_OP_RADIAL && s == d->in[0] && in[1] == d->in[1]) return NULL;
  return gb_ex_op(e, GB_OP_RADIAL, d->nin == 3 ? 3 : 2, in, &attr, NULL, gb_node_dtype(s));
}
