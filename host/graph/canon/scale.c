/* scale.c - scalars leave sums over tiles: sum_j s t_ij v_j = s sum_j t_ij v_j, so that the factor multiplies
** the result once, not every tile value. */
#include "graph/canon/canon.h"

enum { DEEPEST = 12 }; /* most factors examined */

typedef struct stripped {
  gb_formula *e;
  gb_node *scalar; /* product of the extracted scalars, NULL = none */
  bool tile;       /* the product has a factor that fills tiles */
  int left;
} stripped;

static void take_out (stripped *s, gb_node *factor) {
  s->scalar = s->scalar == NULL ? factor : gb_ex_mul(s->e, s->scalar, factor);
}

static bool same_shape (const gb_node *a, const gb_node *b) {
  return gb_shape_equal(gb_node_shape(a), gb_node_shape(b));
}

static gb_node *strip (stripped *s, gb_node *n) {
  if (s->left-- <= 0 || n == NULL) return n;
  s->tile |= gb_is_op(n, GB_OP_RADIAL) || gb_is_op(n, GB_OP_SQDIST);
  if (gb_is_op(n, GB_OP_NEG)) {
    take_out(s, gb_ex_like(s->e, -1, n));
    return strip(s, n->in[0]);
  }
  if (gb_is_op(n, GB_OP_PERMUTE)) {
    gb_node *inner = strip(s, n->in[0]);
    return inner == n->in[0] ? n : gb_ex_op(s->e, GB_OP_PERMUTE, 1, &inner, &n->attr, NULL, gb_node_dtype(n));
  }
  if (!gb_is_op(n, GB_OP_MUL)) return n;
  for (int k = 0; k < 2; k++)
    if (gb_is_scalar(n->in[1 - k]) && same_shape(n->in[k], n)) {
      take_out(s, n->in[1 - k]);
      return strip(s, n->in[k]);
    }
  gb_node *a = strip(s, n->in[0]), *b = strip(s, n->in[1]);
  return a == n->in[0] && b == n->in[1] ? n : gb_ex_mul(s->e, a, b);
}

gb_node *gb_canon_scale_out (gb_formula *e, const gb_pending_op *d) {
  if (gb_node_dtype(d->in[0]) == GB_F16) return NULL; /* without the scalars the sum may leave its range */
  stripped s = {.e = e, .left = DEEPEST};
  gb_node *in[3] = {strip(&s, d->in[0]), d->nin > 1 ? d->in[1] : NULL, d->nin > 2 ? d->in[2] : NULL};
  if (s.scalar == NULL || !s.tile) return NULL;
  const gb_dtype t = gb_node_dtype(d->in[0]);
  gb_node *rest = gb_ex_op(e, d->op, d->nin, in, d->attr, NULL, t);
  return gb_ex_mul(e, rest, s.scalar);
}
