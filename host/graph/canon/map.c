/* map.c - elementwise identities, constants, the order of commuting inputs, and views lifted out of maps. */
#include <math.h>

#include "graph/canon/canon.h"

static bool is_float (const gb_node *n) { return gb_dtype_is_float(gb_node_dtype(n)); }

/* Ops that are correctly rounded, so that folding two constants gives the bits of computing them. */
static bool fold (gb_op op, double a, double b, double *r) {
  switch (op) {
    case GB_OP_NEG: *r = -a; return true;
    case GB_OP_SQUARE: *r = a * a; return true;
    case GB_OP_SQRT: *r = sqrt(a); return true;
    case GB_OP_RECIP: *r = 1 / a; return true;
    case GB_OP_ADD: *r = a + b; return true;
    case GB_OP_SUB: *r = a - b; return true;
    case GB_OP_MUL: *r = a * b; return true;
    case GB_OP_DIV: *r = a / b; return true;
    default: return false;
  }
}

static gb_node *fold_constants (gb_formula *e, const gb_pending_op *d) {
  for (int i = 0; i < d->nin; i++)
    if (d->in[i]->op != GB_OP_CONST || !is_float(d->in[i])) return NULL;
  double r;
  const double b = d->nin > 1 ? d->in[1]->attr.f[0] : 0;
  return fold(d->op, d->in[0]->attr.f[0], b, &r) ? gb_ex_like(e, r, d->in[0]) : NULL;
}

static bool commutes (gb_op op) {
  return op == GB_OP_ADD || op == GB_OP_MUL || op == GB_OP_EQ || op == GB_OP_NE || op == GB_OP_AND ||
         op == GB_OP_OR;
}

/* x (c1 c2) for (x c1) c2, if the product of the numbers is finite and normal. */
static gb_node *join_constants (gb_formula *e, gb_node *a, double c) {
  if (!gb_is_op(a, GB_OP_MUL) || a->in[1]->op != GB_OP_CONST) return NULL;
  const double product = a->in[1]->attr.f[0] * c;
  return fabsf((float)product) <= 1e30f && fabsf((float)product) >= 1e-30f ? gb_ex_scale(e, a->in[0], product)
                                                                           : NULL;
}

static gb_node *negated (gb_formula *e, gb_node *a) {
  if (gb_is_op(a, GB_OP_NEG)) return a->in[0];
  return is_float(a) ? join_constants(e, a, -1) : NULL; /* a double cannot represent every i64 */
}

static gb_node *product (gb_formula *e, gb_node *a, gb_node *b) {
  if (a == b) return is_float(a) ? gb_ex_map1(e, GB_OP_SQUARE, a) : NULL;
  if (b->op != GB_OP_CONST) return NULL;
  const double c = b->attr.f[0];
  if (c == 1) return a;
  if (!is_float(a)) return NULL;
  if (gb_is_op(a, GB_OP_SQDIST)) return NULL; /* already in normal form */
  if (c == -1) return gb_ex_neg(e, a);
  if (gb_is_op(a, GB_OP_NEG)) return gb_ex_scale(e, a->in[0], -c);
  return join_constants(e, a, c);
}

static gb_node *power (gb_formula *e, gb_node *x, gb_node *p) {
  if (p->op != GB_OP_CONST || !is_float(x)) return NULL;
  const double c = p->attr.f[0];
  if (c == 1) return x;
  if (c == 2) return gb_ex_map1(e, GB_OP_SQUARE, x);
  if (c == 0.5) return gb_ex_map1(e, GB_OP_SQRT, x);
  if (c == -0.5) return gb_ex_map1(e, GB_OP_RSQRT, x);
  if (c == -1) return gb_ex_map1(e, GB_OP_RECIP, x);
  return c == -2 ? gb_ex_map1(e, GB_OP_RECIP, gb_ex_map1(e, GB_OP_SQUARE, x)) : NULL;
}

static gb_node *sum (gb_formula *e, gb_op op, gb_node *a, gb_node *b) {
  if (gb_is_const(b, 0)) return a;
  if (a == b && op == GB_OP_ADD && is_float(a)) return gb_ex_scale(e, a, 2);
  if (gb_is_op(b, GB_OP_NEG)) return gb_ex_map2(e, op == GB_OP_ADD ? GB_OP_SUB : GB_OP_ADD, a, b->in[0]);
  if (op == GB_OP_SUB) return gb_is_const(a, 0) ? gb_ex_neg(e, b) : NULL;
  return gb_is_op(a, GB_OP_NEG) ? gb_ex_sub(e, b, a->in[0]) : NULL;
}

static gb_node *unary (gb_formula *e, gb_op op, gb_node *x) {
  switch (op) {
    case GB_OP_NEG: return negated(e, x);
    case GB_OP_SQUARE:
      return gb_is_op(x, GB_OP_NEG) || gb_is_op(x, GB_OP_ABS) ? gb_ex_map1(e, GB_OP_SQUARE, x->in[0]) : NULL;
    case GB_OP_RECIP: return gb_is_op(x, GB_OP_SQRT) ? gb_ex_map1(e, GB_OP_RSQRT, x->in[0]) : NULL;
    case GB_OP_DETACH: return x->op == GB_OP_DETACH ? x : NULL;
    default: return NULL;
  }
}

gb_node *gb_canon_algebra (gb_formula *e, const gb_pending_op *d) {
  gb_node *r = fold_constants(e, d);
  if (r || e->status != GB_OK) return r;
  if (d->nin == 1) return unary(e, d->op, d->in[0]);
  if (d->nin != 2) return NULL;
  gb_node *a = d->in[0], *b = d->in[1];
  if (commutes(d->op) && !gb_node_precedes(a, b)) return gb_ex_map2(e, d->op, b, a);
  switch (d->op) {
    case GB_OP_ADD:
    case GB_OP_SUB: return sum(e, d->op, a, b);
    case GB_OP_MUL: return product(e, a, b);
    case GB_OP_DIV:
      if (gb_is_const(b, 1)) return a;
      return gb_is_const(a, 1) && is_float(a) ? gb_ex_map1(e, GB_OP_RECIP, b) : NULL;
    case GB_OP_POW: return power(e, a, b);
    default: return NULL;
  }
}

static bool broadcast_inputs (int nin, gb_node *const *in, gb_shape *out) {
  *out = *gb_node_shape(in[0]);
  for (int i = 1; i < nin; i++)
    if (!gb_shape_broadcast(out, gb_node_shape(in[i]), out)) return false;
  return true;
}

/* op(expand(u), b) = expand(op(u, b)); u keeps its rank if broadcasting allows it */
static gb_node *lift_expand (gb_formula *e, const gb_pending_op *d, int at) {
  gb_node *in[3];
  gb_shape before, after;
  for (int i = 0; i < d->nin; i++) in[i] = d->in[i];
  in[at] = in[at]->in[0];
  if (!broadcast_inputs(d->nin, d->in, &before)) return NULL;
  if (!broadcast_inputs(d->nin, in, &after)) {
    while (in[at] && gb_node_shape(in[at])->ndim < before.ndim) in[at] = gb_ex_unsqueeze(e, in[at], 0);
    if (!in[at] || !broadcast_inputs(d->nin, in, &after)) return NULL;
  }
  return gb_ex_expand(e, gb_ex_op(e, d->op, d->nin, in, d->attr, NULL, gb_node_dtype(in[0])), &before);
}

/* A leading axis of extent 1 that broadcasting would add. */
static gb_node *drop_front (gb_formula *e, const gb_pending_op *d, int at) {
  gb_node *in[3];
  gb_shape before, after;
  for (int i = 0; i < d->nin; i++) in[i] = d->in[i];
  in[at] = in[at]->in[0];
  if (!broadcast_inputs(d->nin, d->in, &before) || !broadcast_inputs(d->nin, in, &after)) return NULL;
  if (!gb_shape_equal(&before, &after)) return NULL;
  return gb_ex_op(e, d->op, d->nin, in, d->attr, NULL, gb_node_dtype(in[0]));
}

/* op(unsqueeze(u), scalars) = unsqueeze(op(u, scalars)) */
static gb_node *lift_unsqueeze (gb_formula *e, const gb_pending_op *d, int at) {
  gb_node *in[3], *dropped = d->in[at]->attr.i[0] == 0 ? drop_front(e, d, at) : NULL;
  if (dropped) return dropped;
  for (int i = 0; i < d->nin; i++) {
    if (i != at && gb_node_shape(d->in[i])->ndim > 0) return NULL;
    in[i] = d->in[i];
  }
  const int axis = (int)in[at]->attr.i[0];
  in[at] = in[at]->in[0];
  return gb_ex_unsqueeze(e, gb_ex_op(e, d->op, d->nin, in, d->attr, NULL, gb_node_dtype(in[0])), axis);
}

gb_node *gb_canon_lift (gb_formula *e, const gb_pending_op *d) {
  if (d->nin > 3) return NULL;
  for (int i = 0; i < d->nin; i++) {
    gb_node *r = NULL;
    if (gb_is_op(d->in[i], GB_OP_EXPAND)) r = lift_expand(e, d, i);
    else if (gb_is_op(d->in[i], GB_OP_UNSQUEEZE)) r = lift_unsqueeze(e, d, i);
    if (r || e->status != GB_OK) return r;
  }
  return NULL;
}

/* A sum over expanded axes is a product with their extents; the sum over the other axes remains. */
gb_node *gb_canon_sum_expanded (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0];
  if (!gb_is_op(x, GB_OP_EXPAND)) return NULL;
  gb_node *u = x->in[0];
  const gb_shape *s = gb_node_shape(x);
  const unsigned mask = (unsigned)d->attr->i[0];
  const int extra = s->ndim - gb_node_shape(u)->ndim;
  double count = 1;
  unsigned left = 0, dropped = 0;
  gb_shape kept = {0};
  for (int i = 0; i < s->ndim; i++) {
    const bool grown = i < extra || gb_node_shape(u)->dim[i - extra] != s->dim[i];
    if (!grown || !(mask >> i & 1u)) {
      if (mask >> i & 1u) left |= 1u << kept.ndim;
      kept.dim[kept.ndim++] = s->dim[i];
      continue;
    }
    count *= (double)s->dim[i];
    if (i >= extra) dropped |= 1u << (i - extra);
  }
  if (kept.ndim == s->ndim || count == 0) return NULL;
  for (int i = GB_MAXDIM - 1; i >= 0; i--)
    if (dropped >> i & 1u) u = gb_ex_squeeze(e, u, i);
  return gb_ex_scale(e, gb_ex_reduce(e, GB_OP_SUM, gb_ex_expand(e, u, &kept), left, false), count);
}

/* Reducing an axis of extent 1 drops it. Sums keep it, since a sum over one feature may be a distance. */
gb_node *gb_canon_reduce_units (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0];
  unsigned left = 0, units = 0;
  int n = 0;
  for (int i = 0; i < gb_node_shape(x)->ndim; i++) {
    const bool reduced = (unsigned)d->attr->i[0] >> i & 1u;
    if (reduced && gb_node_shape(x)->dim[i] == 1) units |= 1u << i;
    else left |= (unsigned)reduced << n++;
  }
  if (!units) return NULL;
  for (int i = GB_MAXDIM - 1; i >= 0; i--)
    if (units >> i & 1u) x = gb_ex_squeeze(e, x, i);
  return gb_ex_reduce(e, d->op, x, left, false);
}
