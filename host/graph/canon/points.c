/* points.c - broadcast operands of an outer form as rows of points. */
#include "graph/canon/canon.h"

#define MAX_PEEL 8
#define MAX_VIEWS 3

static size_t extent_at (const gb_node *n, int axis, int ndim) {
  const gb_shape *s = gb_node_shape(n);
  const int own = axis - (ndim - s->ndim);
  return own < 0 ? 1 : s->dim[own];
}

/* A scalar, or (with 'features') a vector along the last axis of x. */
static bool is_factor (const gb_node *f, const gb_node *x, bool features) {
  const gb_shape *s = gb_node_shape(f), *xs = gb_node_shape(x);
  if (s->ndim > xs->ndim || !gb_dtype_is_float(gb_node_dtype(f))) return false;
  for (int i = 0; i < s->ndim - 1; i++)
    if (s->dim[i] != 1) return false;
  return s->ndim == 0 || s->dim[s->ndim - 1] == 1 || (features && gb_shape_numel(xs) > gb_shape_numel(s));
}

/* One MUL, DIV or NEG taken off the top of x, or NULL. The core keeps x's shape. */
static gb_node *peel_map (gb_formula *e, gb_node *x, bool features, gb_factor *f) {
  if (gb_is_op(x, GB_OP_NEG)) {
    f->scalar.c = -f->scalar.c;
    return x->in[0];
  }
  if (!gb_is_op(x, GB_OP_MUL) && !gb_is_op(x, GB_OP_DIV)) return NULL;
  gb_node *a = x->in[0], *b = x->in[1];
  const int power = x->op == GB_OP_MUL ? 1 : -1;
  if (gb_shape_equal(gb_node_shape(a), gb_node_shape(x)) && is_factor(b, a, features))
    return gb_factor_mul(e, f, b, power) ? a : NULL;
  if (power == 1 && gb_shape_equal(gb_node_shape(b), gb_node_shape(x)) && is_factor(a, b, features))
    return gb_factor_mul(e, f, a, 1) ? b : NULL;
  return NULL;
}

static gb_node *peel (gb_formula *e, gb_node *x, bool features, gb_factor *f, int views);

/* view(u * s) with a scalar s is view(u) * s: the view rebuilt over the core, or NULL. */
static gb_node *peel_view (gb_formula *e, gb_node *x, gb_factor *f, int views) {
  gb_node *u, *in;
  switch (x->nin == 1 && views > 0 ? x->op : GB_OP_LEAF) {
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE:
    case GB_OP_PERMUTE:
    case GB_OP_SLICE:
    case GB_OP_RESHAPE:
      in = x->in[0];
      u = peel(e, in, false, f, views - 1);
      return u && u != in ? gb_ex_op(e, x->op, 1, &u, &x->attr, gb_node_shape(x), gb_node_dtype(x)) : NULL;
    default: return NULL;
  }
}

static gb_node *peel (gb_formula *e, gb_node *x, bool features, gb_factor *f, int views) {
  for (int level = 0; level < MAX_PEEL; level++) {
    gb_node *core = peel_map(e, x, features, f);
    if (!core) break;
    x = core;
  }
  gb_node *core = peel_view(e, x, f, views);
  return core ? core : x;
}

/* All or nothing: rules that rebuild a peeled value are applied to the result again, so a chain of factors
** that is too long for one step would recurse to its end. */
gb_node *gb_points_peel (gb_formula *e, gb_node *x, bool features, gb_factor *f) {
  gb_factor taken = *f, more = gb_factor_one();
  gb_node *core = peel(e, x, features, &taken, MAX_VIEWS);
  if (core == x || peel(e, core, features, &more, MAX_VIEWS) != core) return x;
  *f = taken;
  return core;
}

/* The axis for a role that no operand fills: the first free one of extent 1. */
static int unit_axis (const gb_shape *s, int k, int taken) {
  for (int a = 0; a < s->ndim; a++)
    if (s->dim[a] == 1 && a != k && a != taken) return a;
  return -1;
}

/* An operand that varies along several axes the other lacks has its points along the last of them; the
** others are batch axes of extent 1 to the other. */
bool gb_points_pair (const gb_node *p, const gb_node *q, int k, gb_pairing *pair) {
  gb_shape s;
  if (!gb_shape_broadcast(gb_node_shape(p), gb_node_shape(q), &s)) return false;
  int of_p = -1, of_q = -1;
  for (int a = 0; a < s.ndim; a++) {
    const bool in_p = extent_at(p, a, s.ndim) == s.dim[a], in_q = extent_at(q, a, s.ndim) == s.dim[a];
    if (a == k && !(in_p && in_q)) return false;
    if (in_p && !in_q) of_p = a;
    if (in_q && !in_p) of_q = a;
  }
  if (of_p < 0 && of_q < 0) return false;
  const bool exact = of_p >= 0 && of_q >= 0;
  if (of_p < 0) of_p = unit_axis(&s, k, of_q);
  if (of_q < 0) of_q = unit_axis(&s, k, of_p);
  if (of_p < 0 || of_q < 0) return false;
  *pair = (gb_pairing){s.ndim, of_p < of_q ? of_p : of_q, of_p < of_q ? of_q : of_p, k, of_q < of_p, exact};
  return true;
}

gb_node *gb_points_of (gb_formula *e, gb_node *p, const gb_pairing *pair, int has, int lacks) {
  while (p && gb_node_shape(p)->ndim < pair->ndim) p = gb_ex_unsqueeze(e, p, 0);
  p = p ? gb_ex_squeeze(e, p, lacks) : NULL;
  int axes[GB_MAXDIM], n = 0;
  for (int a = 0; a < pair->ndim; a++)
    if (a != has && a != lacks && a != pair->k) axes[n++] = a - (a > lacks);
  axes[n++] = has - (has > lacks);
  if (pair->k >= 0) axes[n++] = pair->k - (pair->k > lacks);
  p = gb_ex_permute(e, p, axes);
  if (pair->k < 0) p = gb_ex_unsqueeze(e, p, n);
  while (p && gb_node_shape(p)->ndim > 2 && gb_node_shape(p)->dim[0] == 1) p = gb_ex_squeeze(e, p, 0);
  return p;
}

gb_node *gb_points_restore (gb_formula *e, gb_node *value, const gb_pairing *pair) {
  int axes[GB_MAXDIM], batch = 0, n = 0;
  const int r = pair->k < 0 ? pair->ndim : pair->ndim - 1;
  for (int a = 0; a < pair->ndim; a++) {
    if (a == pair->k) continue;
    axes[n++] = a == pair->row ? r - 2 : a == pair->col ? r - 1 : batch++;
  }
  while (value && gb_node_shape(value)->ndim < r) value = gb_ex_unsqueeze(e, value, 0);
  return gb_ex_permute(e, value, axes);
}
