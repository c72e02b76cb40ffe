/* joined.c - joined values and puts that stream: their whole value is never stored.
**
** A sum, an extreme or a product of CAT, or of an elementwise expression of CAT, is computed for each part;
** the results are joined or combined. PUT becomes a WHERE between the values that are put, gathered to their
** positions, and the base. If that would gather too much, sums and products of PUT are computed for the two
** halves, each masked at the positions of the other. */
#include <math.h>

#include "graph/canon/gather.h"
#include "graph/simplify.h"

enum { MOST = 256 }; /* most nodes of an expression that is examined */

static bool is_made (const gb_node *n) {
  if (n->nin == 0 || (n->flags & GB_NODE_HELD) != 0) return true;
  return gb_ops[n->op].kind == GB_KIND_OPAQUE && n->op != GB_OP_CAT && n->op != GB_OP_PUT &&
         n->op != GB_OP_CAST;
}

static double numel (const gb_node *n) { return (double)gb_shape_numel(gb_node_shape(n)); }

/* True if n inputs are computed from fewer than half of 'elements' stored values. Random values count as 0,
** observed or not, unless only their value exists. */
static bool are_lazy (int nin, gb_node *const *in, double elements) {
  const gb_node *seen[MOST];
  int n = 0;
  double sources = 0;
  for (int i = -1; i < n; i++) {
    const gb_node *x = i < 0 ? NULL : seen[i];
    if (x && is_made(x)) {
      if (gb_ops[x->op].kind != GB_KIND_GEN || (x->flags & GB_NODE_ENDED) != 0) sources += numel(x);
      continue;
    }
    const int reads = x ? gb_node_reads(x) : nin;
    for (int k = 0; k < reads; k++) {
      const gb_node *from = x ? x->in[k] : in[k];
      bool known = false;
      for (int j = 0; j < n && !known; j++) known = seen[j] == from;
      if (!known && n == MOST) return false;
      if (!known) seen[n++] = from;
    }
  }
  return 2 * sources < elements;
}

/* With few entries per position a WHERE does not pay. */
static bool is_long (const gb_shape *s, int axis) {
  return !(6 * (double)s->dim[axis] < (double)gb_shape_numel(s));
}

bool gb_joined_infer (const gb_node *n) {
  const gb_kind kind = gb_ops[n->op].kind;
  if (n->op == GB_OP_CAT && n->nin > GB_CAT_PARTS) return false;
  if (n->op == GB_OP_PUT && gb_shape_numel(gb_node_shape(n->in[1])) == 0) return false;
  if (n->op == GB_OP_CAT || n->op == GB_OP_PUT)
    return !is_long(gb_node_shape(n), (int)n->attr.i[0]) && are_lazy(n->nin, n->in, numel(n));
  if (kind != GB_KIND_MAP && kind != GB_KIND_VIEW && n->op != GB_OP_CAST) return false;
  for (int i = 0; i < gb_node_reads(n); i++)
    if ((n->in[i]->flags & GB_NODE_JOINED) != 0) return true;
  return false;
}

/* PUT */

/* The positions of a PUT of k values along an axis of extent n. */
typedef struct places {
  int axis, ndim;
  gb_node *at;
  gb_node *filled; /* (n) bool: a value is put there */
  gb_node *last;   /* (n) i64: which of the k values remains there, 1 if none */
  gb_node *wins;   /* (k) bool: the value remains; of equal positions the last one does */
} places;

static gb_node *filled_with (gb_formula *e, gb_node *number, size_t n) {
  return gb_ex_expand(e, number, &(gb_shape){.ndim = 1, .dim = {n}});
}

static gb_node *put_into (gb_formula *e, double empty, gb_dtype t, size_t n, gb_node *at, gb_node *values) {
  gb_node *in[] = {filled_with(e, gb_ex_const(e, empty, t), n), at, values};
  return gb_ex_op(e, GB_OP_PUT, 3, in, &(gb_attr){0}, NULL, t);
}

static places places_of (gb_formula *e, const gb_shape *shape, int axis, gb_node *at) {
  const size_t n = shape->dim[axis], k = gb_node_shape(at)->dim[0];
  gb_node *order = gb_ex_range(e, 1, 1, k, GB_I64);
  places p = {.axis = axis, .ndim = shape->ndim, .at = at};
  p.filled = put_into(e, 0, GB_BOOL, n, at, filled_with(e, gb_ex_const(e, 1, GB_BOOL), k));
  p.last = put_into(e, 1, GB_I64, n, at, order);
  p.wins = gb_ex_put_wins(e, at, n);
  return p;
}

gb_node *gb_ex_put_wins (gb_formula *e, gb_node *at, size_t n) {
  const size_t k = gb_node_shape(at)->dim[0];
  if (at->op == GB_OP_RANGE && at->attr.i[1] != 0) return filled_with(e, gb_ex_const(e, 1, GB_BOOL), k);
  gb_node *order = gb_ex_range(e, 1, 1, k, GB_I64), *last = put_into(e, 1, GB_I64, n, at, order);
  gb_node *there = gb_ex_op(e, GB_OP_INDEX, 2, (gb_node *[]){last, at}, &(gb_attr){0}, NULL, GB_I64);
  return gb_ex_map2(e, GB_OP_EQ, there, order);
}

static gb_node *along (gb_formula *e, const places *p, gb_node *v) {
  return gb_ex_along(e, v, p->axis, p->ndim);
}

gb_node *gb_canon_put (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0], *at = d->in[1], *y = d->in[2];
  const gb_shape *shape = gb_node_shape(x);
  const int axis = (int)d->attr->i[0];
  const double n = (double)shape->dim[axis], elements = numel(x);
  if (numel(at) == 0 || is_long(shape, axis) || !are_lazy(3, d->in, elements)) return NULL;
  const places p = places_of(e, shape, axis, at);
  if (!(2 * (3 * n + gb_gathered_elements(e, y, axis, p.last)) < elements)) return NULL;
  return gb_ex_where(e, along(e, &p, p.filled), gb_ex_take_at(e, y, axis, p.last), x);
}

/* An elementwise expression of a PUT along an axis, split into two halves: the expression of the base, and,
** at the positions, of the values that are put. Masked elements of either half hold the last value that is
** put, so that the expression is defined there. */
typedef struct halves {
  gb_node *into, *put;
} halves;

static halves halves_of (gb_formula *e, gb_node *x, int axis, gb_node *joint, places *p) {
  gb_node *y = joint->in[2];
  const int own = (int)joint->attr.i[0];
  const places of = places_of(e, gb_node_shape(joint), own, joint->in[1]);
  gb_node *last = gb_ex_map1(e, GB_OP_DETACH, gb_ex_slice(e, y, own, gb_node_shape(y)->dim[own] - 1, 1, 1));
  halves h = {NULL, NULL};
  h.into = gb_ex_instead(e, x, axis, joint, gb_ex_where(e, along(e, &of, of.filled), last, joint->in[0]));
  h.put = gb_ex_take_put(e, x, axis, joint, gb_ex_where(e, along(e, &of, of.wins), y, last));
  *p = of;
  p->axis = axis;
  p->ndim = gb_node_shape(x)->ndim;
  return h;
}

/* Products */

static gb_node *product (gb_formula *e, int side, gb_node *part, gb_node *other) {
  return side == 0 ? gb_ex_matmul(e, part, other) : gb_ex_matmul(e, other, part);
}

static gb_node *part_of (gb_formula *e, gb_node *x, int axis, const gb_node *cat, int part, size_t *start) {
  const size_t extent = gb_node_shape(cat->in[part])->dim[cat->attr.i[0]], from = *start;
  *start += extent;
  return gb_ex_take_run(e, x, axis, from, extent);
}

static gb_node *products_of_parts (gb_formula *e, int side, gb_node *x, int axis, gb_node *cat,
                                   gb_node *other) {
  gb_node *part[GB_CAT_PARTS], *sum = NULL;
  size_t at = 0, from = 0;
  for (int i = 0; i < cat->nin; i++, from = at) {
    gb_node *some = part_of(e, x, axis, cat, i, &at);
    if (axis == side) part[i] = product(e, side, some, other);
    else {
      gb_node *p = product(e, side, some, gb_ex_slice(e, other, side, from, 1, at - from));
      sum = sum == NULL ? p : gb_ex_add(e, sum, p);
    }
  }
  if (axis != side) return sum;
  return gb_ex_op(e, GB_OP_CAT, cat->nin, part, &(gb_attr){.i = {axis}}, NULL, gb_node_dtype(x));
}

static gb_node *products_of_halves (gb_formula *e, int side, gb_node *x, int axis, gb_node *put,
                                    gb_node *other) {
  places p;
  const halves h = halves_of(e, x, axis, put, &p);
  if (axis == side) {
    gb_node *in[] = {product(e, side, h.into, other), p.at, product(e, side, h.put, other)};
    return gb_ex_op(e, GB_OP_PUT, 3, in, &(gb_attr){.i = {axis}}, NULL, gb_node_dtype(x));
  }
  gb_node *zero = gb_ex_like(e, 0, x), *filled = along(e, &p, p.filled), *wins = along(e, &p, p.wins);
  places q = p; /* of the other factor, along the same sum */
  q.axis = side;
  gb_node *some = gb_ex_where(e, along(e, &q, q.filled), zero, other);
  gb_node *rest = gb_ex_where(e, along(e, &q, q.wins), gb_ex_take_at(e, other, side, p.at), zero);
  return gb_ex_add(e, product(e, side, gb_ex_where(e, filled, zero, h.into), some),
                   product(e, side, gb_ex_where(e, wins, h.put, zero), rest));
}

gb_node *gb_canon_joined_product (gb_formula *e, const gb_pending_op *d) {
  for (int i = 0; i < 4; i++) {
    const int side = i / 2, axis = i % 2 == 0 ? side : 1 - side;
    gb_node *x = d->in[side], *other = d->in[1 - side];
    if ((x->flags & GB_NODE_JOINED) == 0 || gb_node_shape(x)->ndim != 2 || gb_node_shape(other)->ndim != 2)
      continue;
    gb_node *joint = gb_joint_along(e, x, axis);
    if (!joint || (joint->flags & GB_NODE_JOINED) == 0) continue;
    return joint->op == GB_OP_CAT ? products_of_parts(e, side, x, axis, joint, other)
                                  : products_of_halves(e, side, x, axis, joint, other);
  }
  return NULL;
}

/* Reductions */

typedef struct reduction {
  gb_op op;
  unsigned mask;
  bool reduces;   /* reduces the joined axis */
  int axis, left; /* that axis, of the value and of the result */
} reduction;

static bool is_position (gb_op op) { return op == GB_OP_ARGMIN || op == GB_OP_ARGMAX; }

static gb_node *reduce (gb_formula *e, const reduction *r, gb_node *x) {
  return gb_ex_reduce(e, r->op, x, r->mask, false);
}

static gb_node *fold_pairs (gb_formula *e, gb_op op, int n, gb_node *const *part) {
  gb_node *all = part[0];
  for (int i = 1; i < n; i++) all = gb_ex_map2(e, op, all, part[i]);
  return all;
}

/* log sum_i exp(part_i); if all parts are -inf the result is -inf with gradient 0. */
static gb_node *log_of_sum (gb_formula *e, int n, gb_node *const *part) {
  gb_node *exps[GB_CAT_PARTS] = {NULL},
          *top = gb_ex_map1(e, GB_OP_DETACH, fold_pairs(e, GB_OP_MAXIMUM, n, part));
  if (!top) return NULL;
  gb_node *zero = gb_ex_like(e, 0, top),
          *level = gb_ex_where(e, gb_ex_map1(e, GB_OP_ISFINITE, top), top, zero);
  for (int i = 0; i < n; i++) exps[i] = gb_ex_map1(e, GB_OP_EXP, gb_ex_sub(e, part[i], level));
  gb_node *sum = fold_pairs(e, GB_OP_ADD, n, exps), *empty = gb_ex_map2(e, GB_OP_EQ, sum, zero);
  gb_node *log = gb_ex_map1(e, GB_OP_LOG, gb_ex_where(e, empty, gb_ex_like(e, 1, top), sum));
  return gb_ex_where(e, empty, gb_ex_like(e, -INFINITY, top), gb_ex_add(e, log, level));
}

/* The gradient of an extreme is divided equally among all elements that attain it, in any part. The gradient
** of MAXIMUM of two equal values is halved, hence the powers of two. */
static gb_node *shared_extreme (gb_formula *e, const reduction *r, int n, gb_node *const *x,
                                gb_node *const *part) {
  const gb_op of_two = r->op == GB_OP_MIN ? GB_OP_MINIMUM : GB_OP_MAXIMUM;
  gb_node *all = fold_pairs(e, of_two, n, part), *level = gb_ex_map1(e, GB_OP_DETACH, all), *wide = level;
  gb_node *ties[GB_CAT_PARTS], *equal[GB_CAT_PARTS], *sum = NULL;
  for (int i = 0; wide && i < gb_node_shape(x[0])->ndim; i++)
    if (r->mask >> i & 1u) wide = gb_ex_unsqueeze(e, wide, i);
  if (!wide) return NULL;
  gb_node *one = gb_ex_like(e, 1, wide), *zero = gb_ex_like(e, 0, wide);
  for (int i = 0; i < n; i++) {
    ties[i] = gb_ex_reduce(e, GB_OP_SUM, gb_ex_where(e, gb_ex_map2(e, GB_OP_EQ, x[i], wide), one, zero),
                           r->mask, false);
    sum = sum == NULL ? ties[i] : gb_ex_add(e, sum, ties[i]);
  }
  for (int i = 0; sum && i < n; i++) {
    gb_node *share = gb_ex_scale(e, gb_ex_div(e, ties[i], sum), ldexp(1, i == 0 ? n - 1 : n - i));
    gb_node *slope = gb_ex_where(e, gb_ex_map2(e, GB_OP_GT, sum, zero), share, zero);
    gb_node *in[] = {level, part[i], slope};
    equal[i] = slope ? gb_ex_op(e, GB_OP_WITH_SLOPE, 3, in, NULL, NULL, gb_node_dtype(level)) : NULL;
  }
  return sum ? fold_pairs(e, of_two, n, equal) : NULL;
}

/* Combines the reductions x of all parts. */
static gb_node *combine (gb_formula *e, const reduction *r, int n, gb_node *const *x, gb_node *const *part) {
  const bool shared = e->status == GB_OK && (part[0]->flags | part[n - 1]->flags) & GB_NODE_NEEDS_GRAD;
  switch (r->op) {
    case GB_OP_SUM: return fold_pairs(e, GB_OP_ADD, n, part);
    case GB_OP_PROD: return fold_pairs(e, GB_OP_MUL, n, part);
    case GB_OP_ANY: return fold_pairs(e, GB_OP_OR, n, part);
    case GB_OP_ALL: return fold_pairs(e, GB_OP_AND, n, part);
    case GB_OP_LOGSUMEXP: return log_of_sum(e, n, part);
    default: break;
  }
  if (shared && n > 1) return shared_extreme(e, r, n, x, part);
  return fold_pairs(e, r->op == GB_OP_MIN ? GB_OP_MINIMUM : GB_OP_MAXIMUM, n, part);
}

/* Positions in the parts' own order: the first part that attains the extreme, or has a NaN. */
static gb_node *position (gb_formula *e, const reduction *r, int n, gb_node *const *x, gb_node *const *part) {
  const bool least = r->op == GB_OP_ARGMIN;
  gb_node *extreme[GB_CAT_PARTS], *at = NULL;
  int64_t before[GB_CAT_PARTS + 1] = {0};
  for (int i = 0; i < n; i++) {
    extreme[i] =
        gb_ex_reduce(e, least ? GB_OP_MIN : GB_OP_MAX, gb_ex_map1(e, GB_OP_DETACH, x[i]), r->mask, false);
    before[i + 1] = before[i] +
                    (int64_t)(gb_shape_numel(gb_node_shape(x[i])) / gb_shape_numel(gb_node_shape(part[i])));
  }
  gb_node *all = fold_pairs(e, least ? GB_OP_MINIMUM : GB_OP_MAXIMUM, n, extreme);
  for (int i = n; i-- > 0;) {
    gb_node *own = gb_ex_shift(e, part[i], (double)before[i]);
    gb_node *is_it = gb_ex_map2(e, GB_OP_EQ, extreme[i], all);
    if (all && gb_dtype_is_float(gb_node_dtype(all)))
      is_it = gb_ex_map2(e, GB_OP_OR, is_it, gb_ex_map1(e, GB_OP_ISNAN, extreme[i]));
    at = at == NULL ? own : gb_ex_where(e, is_it, own, at);
  }
  return at;
}

/* The neutral element of a reduction of floats or bools; NAN: this type has none. */
static double neutral (gb_op op, gb_dtype t) {
  switch (op) {
    case GB_OP_SUM:
    case GB_OP_ANY: return 0;
    case GB_OP_PROD:
    case GB_OP_ALL: return 1;
    case GB_OP_MIN: return gb_dtype_is_float(t) ? INFINITY : NAN;
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP: return gb_dtype_is_float(t) ? -INFINITY : NAN;
    default: return NAN;
  }
}

static gb_node *of_parts (gb_formula *e, const reduction *r, gb_node *x, const gb_node *cat) {
  gb_node *some[GB_CAT_PARTS], *part[GB_CAT_PARTS];
  size_t at = 0;
  int n = 0;
  for (int i = 0; i < cat->nin; i++) {
    if (gb_shape_numel(gb_node_shape(cat->in[i])) == 0) continue;
    some[n] = part_of(e, x, r->axis, cat, i, &at);
    part[n] = reduce(e, r, some[n]);
    if (part[n++] == NULL) return NULL;
  }
  if (r->reduces && is_position(r->op)) return position(e, r, n, some, part);
  if (r->reduces) return combine(e, r, n, some, part);
  return gb_ex_op(e, GB_OP_CAT, n, part, &(gb_attr){.i = {r->left}}, NULL, gb_node_dtype(part[0]));
}

static gb_node *of_halves (gb_formula *e, const reduction *r, gb_node *x, gb_node *put) {
  places p;
  halves h = halves_of(e, x, r->axis, put, &p);
  if (r->reduces) {
    gb_node *none = gb_ex_like(e, neutral(r->op, gb_node_dtype(x)), x);
    gb_node *some[] = {gb_ex_where(e, along(e, &p, p.filled), none, h.into),
                       gb_ex_where(e, along(e, &p, p.wins), h.put, none)};
    gb_node *part[] = {reduce(e, r, some[0]), reduce(e, r, some[1])};
    return part[1] ? combine(e, r, 2, some, part) : NULL;
  }
  gb_node *in[] = {reduce(e, r, h.into), p.at, reduce(e, r, h.put)};
  return in[2] ? gb_ex_op(e, GB_OP_PUT, 3, in, &(gb_attr){.i = {r->left}}, NULL, gb_node_dtype(in[0])) : NULL;
}

/* Positions are in row-major order of the reduced axes, so parts of the first axis are consecutive. */
static bool can_be_parted (const reduction *r, const gb_node *x, const gb_node *joint) {
  if (!r->reduces) return true;
  if (joint->op == GB_OP_PUT) return !isnan(neutral(r->op, gb_node_dtype(x)));
  return !is_position(r->op) || (r->mask & ((1u << r->axis) - 1)) == 0;
}

gb_node *gb_canon_joined_reduction (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0];
  if ((x->flags & GB_NODE_JOINED) == 0 || numel(x) == 0) return NULL;
  reduction r = {.op = d->op, .mask = (unsigned)d->attr->i[0]};
  for (int axis = 0; axis < gb_node_shape(x)->ndim; axis++) {
    r.axis = axis;
    r.reduces = r.mask >> axis & 1u;
    gb_node *joint = gb_joint_along(e, x, axis);
    if (joint && (joint->flags & GB_NODE_JOINED) != 0 && can_be_parted(&r, x, joint))
      return joint->op == GB_OP_CAT ? of_parts(e, &r, x, joint) : of_halves(e, &r, x, joint);
    r.left += !r.reduces;
  }
  return NULL;
}
