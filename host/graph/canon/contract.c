/* contract.c - products: scalars and multiples of the identity leave MATMUL, sums of broadcast products
** become MATMUL, and transposes move inwards through the ops of kernels. */
#include "graph/canon/canon.h"

#define MAX_DIAGONALS 4

static bool same_shape (const gb_node *a, const gb_node *b) {
  return gb_shape_equal(gb_node_shape(a), gb_node_shape(b));
}

/* A diagonal matrix: EYE, or EYE * w with w a scalar, (n), (1, n) or (n, 1). '*w' NULL for EYE itself. */
static bool is_diagonal (gb_node *n, gb_node **w) {
  *w = NULL;
  if (n->op == GB_OP_EYE) return gb_node_shape(n)->ndim == 2;
  if (!gb_is_op(n, GB_OP_MUL)) return false;
  const int at = n->in[0]->op == GB_OP_EYE ? 0 : 1;
  if (n->in[at]->op != GB_OP_EYE || !same_shape(n->in[at], n) || gb_node_shape(n)->ndim != 2) return false;
  *w = n->in[1 - at];
  const gb_shape *s = gb_node_shape(*w);
  return s->ndim < 2 || s->dim[0] == 1 || s->dim[1] == 1;
}

static bool is_square (const gb_node *n) {
  const gb_shape *s = gb_node_shape(n);
  return s->dim[s->ndim - 1] == s->dim[s->ndim - 2];
}

/* diag(w) b with 'left', else b diag(w). */
static gb_node *times_diagonal (gb_formula *e, gb_node *w, gb_node *b, bool left) {
  if (!w) return b;
  const gb_shape *s = gb_node_shape(w);
  if (s->ndim == 1) w = gb_ex_unsqueeze(e, w, left);
  else if (s->ndim == 2 && s->dim[left] != 1) w = gb_ex_swap(e, w);
  return gb_ex_mul(e, b, w);
}

/* True if few diagonals are added to one matrix in a chain; longer chains are left unchanged. */
static bool chain_is_short (const gb_node *n) {
  gb_node *w;
  int level = 0;
  for (; level <= MAX_DIAGONALS && (gb_is_op(n, GB_OP_ADD) || gb_is_op(n, GB_OP_SUB)); level++)
    n = is_diagonal(n->in[0], &w) ? n->in[1] : n->in[0];
  return level <= MAX_DIAGONALS;
}

/* (K + D) b = K b + D b, and b (K + D); 'sum' is the operand taken apart. */
static gb_node *split_diagonal (gb_formula *e, gb_node *sum, gb_node *b, bool left) {
  if ((!gb_is_op(sum, GB_OP_ADD) && !gb_is_op(sum, GB_OP_SUB)) || !is_square(sum) || !chain_is_short(sum))
    return NULL;
  gb_node *w;
  for (int at = 1; at >= 0; at--) {
    gb_node *rest = sum->in[1 - at];
    if (!is_diagonal(sum->in[at], &w) || !same_shape(rest, sum) || !same_shape(sum->in[at], sum)) continue;
    gb_node *kb = left ? gb_ex_matmul(e, rest, b) : gb_ex_matmul(e, b, rest),
            *db = times_diagonal(e, w, b, left);
    if (sum->op == GB_OP_ADD) return gb_ex_add(e, kb, db);
    return at == 1 ? gb_ex_sub(e, kb, db) : gb_ex_sub(e, db, kb);
  }
  return NULL;
}

/* D b for an operand that is itself diagonal. */
static gb_node *whole_diagonal (gb_formula *e, gb_node *diagonal, gb_node *b, bool left) {
  gb_node *w;
  if (!is_diagonal(diagonal, &w) || !is_square(diagonal)) return NULL;
  return times_diagonal(e, w, b, left);
}

/* 'x' without its scalar factors. f16 keeps them: without its scale a value may leave the range of the
** type. */
static gb_node *peeled (gb_formula *e, gb_node *x, gb_factor *f) {
  return gb_node_dtype(x) == GB_F16 ? x : gb_points_peel(e, x, false, f);
}

gb_node *gb_canon_matmul (gb_formula *e, const gb_pending_op *d) {
  gb_factor f = gb_factor_one();
  gb_node *a = peeled(e, d->in[0], &f), *b = peeled(e, d->in[1], &f);
  if (!a || !b) return NULL;
  if (a != d->in[0] || b != d->in[1]) {
    gb_node *ab = gb_ex_matmul(e, a, b);
    return gb_mono_is_one(&f.scalar) || !ab
               ? ab
               : gb_ex_mul(e, ab, gb_mono_build(e, &f.scalar, gb_node_dtype(ab)));
  }
  gb_node *r = whole_diagonal(e, a, b, true);
  if (!r) r = whole_diagonal(e, b, a, false);
  if (!r) r = split_diagonal(e, a, b, true);
  return r ? r : split_diagonal(e, b, a, false);
}

/* A scalar factor of the weights leaves DIFFMV. */
gb_node *gb_canon_diffmv (gb_formula *e, const gb_pending_op *d) {
  gb_factor f = gb_factor_one();
  gb_node *w = peeled(e, d->in[0], &f);
  if (!w || w == d->in[0]) return NULL;
  gb_node *r =
      gb_ex_op(e, GB_OP_DIFFMV, 3, (gb_node *[]){w, d->in[1], d->in[2]}, NULL, NULL, gb_node_dtype(w));
  return gb_mono_is_one(&f.scalar) || !r ? r : gb_ex_mul(e, r, gb_mono_build(e, &f.scalar, gb_node_dtype(r)));
}

/* sum_k P Q of an outer form is x y', with weights along k given to x. */
gb_node *gb_canon_sum_products (gb_formula *e, const gb_pending_op *d) {
  const unsigned mask = (unsigned)d->attr->i[0];
  const int r = gb_node_shape(d->in[0])->ndim;
  if (mask & (mask - 1) || r < 3) return NULL;
  const int k = __builtin_ctz(mask);
  gb_factor f = gb_factor_one();
  gb_pairing pair;
  gb_node *m = gb_points_peel(e, d->in[0], k == r - 1, &f);
  if (!m || !gb_is_op(m, GB_OP_MUL) || !gb_points_pair(m->in[0], m->in[1], k, &pair)) return NULL;
  gb_node *row = m->in[pair.swapped], *col = m->in[!pair.swapped];
  gb_node *x = gb_points_of(e, row, &pair, pair.row, pair.col),
          *y = gb_points_of(e, col, &pair, pair.col, pair.row);
  if (!x || !y) return NULL;
  const gb_dtype t = gb_node_dtype(x);
  if (!gb_mono_is_one(&f.vector)) x = gb_ex_mul(e, x, gb_mono_build(e, &f.vector, t));
  if (t == GB_F16 && !gb_mono_is_one(&f.scalar)) {
    x = gb_ex_mul(e, x, gb_mono_build(e, &f.scalar, t));
    f = gb_factor_one();
  }
  gb_node *xy = gb_points_restore(e, gb_ex_matmul(e, x, gb_ex_swap(e, y)), &pair);
  return gb_mono_is_one(&f.scalar) ? xy : gb_ex_mul(e, xy, gb_mono_build(e, &f.scalar, t));
}

static bool swaps_last_two (const gb_attr *attr, int r) {
  for (int i = 0; i < r - 2; i++)
    if (attr->i[i] != i) return false;
  return r >= 2 && attr->i[r - 2] == r - 1;
}

static bool is_product (const gb_node *n) {
  return gb_is_op(n, GB_OP_MATMUL) || (gb_is_op(n, GB_OP_MUL) && gb_is_op(n->in[0], GB_OP_MATMUL));
}

static bool is_tile (const gb_node *n) {
  return gb_is_op(n, GB_OP_SQDIST) || gb_is_op(n, GB_OP_RADIAL) || gb_is_op(n, GB_OP_MATMUL);
}

gb_node *gb_canon_permute (gb_formula *e, const gb_pending_op *d) {
  gb_node *n = d->in[0];
  if (!n->nin || !swaps_last_two(d->attr, gb_node_shape(n)->ndim)) return NULL;
  gb_node *in[3] = {n->in[0], n->nin > 1 ? n->in[1] : NULL, n->nin > 2 ? n->in[2] : NULL};
  switch (n->op) {
    case GB_OP_SQDIST:
      in[0] = n->in[1];
      in[1] = n->in[0];
      break;
    case GB_OP_MATMUL: /* not along a chain of products */
      if (is_product(n->in[0]) || is_product(n->in[1])) return NULL;
      in[0] = gb_ex_swap(e, n->in[1]);
      in[1] = gb_ex_swap(e, n->in[0]);
      break;
    case GB_OP_RADIAL:
      if (!is_tile(n->in[0])) return NULL;
      in[0] = gb_ex_swap(e, n->in[0]);
      break;
    case GB_OP_MUL:
      if (!is_tile(n->in[0]) || !gb_is_scalar(n->in[1])) return NULL;
      in[0] = gb_ex_swap(e, n->in[0]);
      break;
    default: return NULL;
  }
  return gb_ex_op(e, n->op, n->nin, in, &n->attr, NULL, gb_node_dtype(n));
}
