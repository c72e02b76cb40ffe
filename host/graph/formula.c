/* formula.c - the owning list behind formulas over nodes. */
#include "graph/formula.h"

#include <stdlib.h>
#include <string.h>

void gb_formula_init (gb_formula *e, gb_graph *g, gb_error *err) {
  e->g = g;
  e->err = err;
  e->status = GB_OK;
  e->n = 0;
  e->cap = GB_FORMULA_INLINE;
  e->held = e->first;
}

void gb_formula_clear (gb_formula *e) {
  for (int i = 0; i < e->n; i++) gb_node_unref(e->held[i]);
  if (e->held != e->first) free(e->held);
  e->held = e->first;
  e->n = 0;
  e->cap = GB_FORMULA_INLINE;
}

gb_status gb_formula_take (gb_formula *e, gb_node *n, gb_node **out) {
  *out = e->status == GB_OK && n ? gb_node_ref(n) : NULL;
  gb_formula_clear(e);
  return e->status;
}

gb_node *gb_formula_hold (gb_formula *e, gb_node *n) {
  if (e->n == e->cap) {
    gb_node **more = malloc(2 * (size_t)e->cap * sizeof *more);
    if (!more) {
      gb_node_unref(n);
      e->status = gb_fail(e->err, GB_ENOMEM, "no memory for a formula of %d nodes", e->n);
      return NULL;
    }
    memcpy(more, e->held, (size_t)e->n * sizeof *more);
    if (e->held != e->first) free(e->held);
    e->held = more;
    e->cap *= 2;
  }
  return e->held[e->n++] = n;
}

static gb_node *settle (gb_formula *e, gb_status st, gb_node *n) {
  if (st == GB_OK) return gb_formula_hold(e, n);
  e->status = st;
  return NULL;
}

static bool usable (const gb_formula *e, int nin, gb_node *const *in) {
  for (int i = 0; i < nin; i++)
    if (!in[i]) return false;
  return e->status == GB_OK;
}

gb_node *gb_ex_op (gb_formula *e, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                   const gb_shape *shape, gb_dtype dtype) {
  if (!usable(e, nin, in)) return NULL;
  gb_node *n = NULL;
  gb_status st = gb_node_build(e->g, op, nin, in, attr, shape, dtype, &n, e->err);
  return settle(e, st, n);
}

gb_node *gb_ex_map1 (gb_formula *e, gb_op op, gb_node *a) {
  return a ? gb_ex_op(e, op, 1, &a, NULL, NULL, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_map2 (gb_formula *e, gb_op op, gb_node *a, gb_node *b) {
  return a ? gb_ex_op(e, op, 2, (gb_node *[]){a, b}, NULL, NULL, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_meet (gb_formula *e, gb_op op, gb_node *a, gb_node *b) {
  if (!a || !b || e->status != GB_OK) return NULL;
  gb_node *n = NULL;
  gb_status st = gb_map2(op, a, b, &n, e->err);
  return settle(e, st, n);
}

gb_node *gb_ex_where (gb_formula *e, gb_node *c, gb_node *a, gb_node *b) {
  return a ? gb_ex_op(e, GB_OP_WHERE, 3, (gb_node *[]){c, a, b}, NULL, NULL, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_const (gb_formula *e, double v, gb_dtype t) {
  if (e->status != GB_OK) return NULL;
  gb_node *n = NULL;
  gb_status st = gb_node_const(e->g, v, t, &n, e->err);
  return settle(e, st, n);
}

gb_node *gb_ex_like (gb_formula *e, double v, const gb_node *a) {
  return a ? gb_ex_const(e, v, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_fill (gb_formula *e, double v, const gb_node *a) {
  return a ? gb_ex_expand(e, gb_ex_like(e, v, a), gb_node_shape(a)) : NULL;
}

gb_node *gb_ex_scale (gb_formula *e, gb_node *a, double factor) {
  return gb_ex_mul(e, a, gb_ex_like(e, factor, a));
}

gb_node *gb_ex_shift (gb_formula *e, gb_node *a, double by) { return gb_ex_add(e, a, gb_ex_like(e, by, a)); }

static gb_node *view (gb_formula *e, gb_op op, gb_node *a, const gb_attr *attr, const gb_shape *s) {
  return a ? gb_ex_op(e, op, 1, &a, attr, s, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_unsqueeze (gb_formula *e, gb_node *a, int axis) {
  return view(e, GB_OP_UNSQUEEZE, a, &(gb_attr){.i = {axis}}, NULL);
}

gb_node *gb_ex_squeeze (gb_formula *e, gb_node *a, int axis) {
  return view(e, GB_OP_SQUEEZE, a, &(gb_attr){.i = {axis}}, NULL);
}

gb_node *gb_ex_expand (gb_formula *e, gb_node *a, const gb_shape *s) {
  return a && gb_shape_equal(gb_node_shape(a), s) ? a : view(e, GB_OP_EXPAND, a, NULL, s);
}

gb_node *gb_ex_reshape (gb_formula *e, gb_node *a, const gb_shape *s) {
  return a && gb_shape_equal(gb_node_shape(a), s) ? a : view(e, GB_OP_RESHAPE, a, NULL, s);
}

gb_node *gb_ex_permute (gb_formula *e, gb_node *a, const int *axes) {
  if (!a) return NULL;
  gb_attr attr = {0};
  for (int i = 0; i < gb_node_shape(a)->ndim; i++) attr.i[i] = axes[i];
  return view(e, GB_OP_PERMUTE, a, &attr, NULL);
}

gb_node *gb_ex_swap (gb_formula *e, gb_node *a) {
  if (!a) return NULL;
  int axes[GB_MAXDIM], r = gb_node_shape(a)->ndim;
  for (int i = 0; i < r; i++) axes[i] = i < r - 2 ? i : 2 * r - 3 - i;
  return gb_ex_permute(e, a, axes);
}

gb_node *gb_ex_as_columns (gb_formula *e, gb_node *b) {
  if (!b) return NULL;
  const gb_shape *s = gb_node_shape(b);
  const int last = s->ndim - 1;
  gb_shape flat = gb_shape_of(2, (size_t[]){s->dim[last - 1], s->dim[last]});
  int axes[GB_MAXDIM] = {last - 1};
  for (int i = 0; i < last - 1; i++) {
    flat.dim[1] *= s->dim[i];
    axes[i + 1] = i;
  }
  axes[last] = last;
  return gb_ex_reshape(e, gb_ex_permute(e, b, axes), &flat);
}

gb_node *gb_ex_from_columns (gb_formula *e, gb_node *c, const gb_shape *lead, size_t r) {
  if (!c) return NULL;
  gb_shape split = {.ndim = lead->ndim + 2, .dim = {gb_node_shape(c)->dim[0]}};
  int axes[GB_MAXDIM];
  for (int i = 0; i < lead->ndim; i++) {
    split.dim[i + 1] = lead->dim[i];
    axes[i] = i + 1;
  }
  split.dim[lead->ndim + 1] = r;
  axes[lead->ndim] = 0;
  axes[lead->ndim + 1] = lead->ndim + 1;
  return gb_ex_permute(e, gb_ex_reshape(e, c, &split), axes);
}

gb_node *gb_ex_slice (gb_formula *e, gb_node *a, int axis, size_t start, ptrdiff_t step, size_t extent) {
  return view(e, GB_OP_SLICE, a, &(gb_attr){.i = {axis, (int64_t)start, step, (int64_t)extent}}, NULL);
}

gb_node *gb_ex_reduce (gb_formula *e, gb_op op, gb_node *a, unsigned mask, bool keepdim) {
  if (!a || !mask) return a;
  gb_node *r = view(e, op, a, &(gb_attr){.i = {mask}}, NULL);
  for (int i = 0; keepdim && i < gb_node_shape(a)->ndim; i++)
    if (mask >> i & 1u) r = gb_ex_unsqueeze(e, r, i);
  return r;
}

gb_node *gb_ex_matmul (gb_formula *e, gb_node *a, gb_node *b) {
  return a ? gb_ex_op(e, GB_OP_MATMUL, 2, (gb_node *[]){a, b}, NULL, NULL, gb_node_dtype(a)) : NULL;
}

gb_node *gb_ex_pick (gb_formula *e, gb_node *a, int output) {
  return view(e, GB_OP_PICK, a, &(gb_attr){.i = {output}}, NULL);
}

gb_node *gb_ex_cast (gb_formula *e, gb_node *a, gb_dtype t) {
  if (!a || gb_node_dtype(a) == t) return a;
  return gb_ex_op(e, GB_OP_CAST, 1, &a, NULL, NULL, t);
}

gb_node *gb_ex_move (gb_formula *e, gb_node *a, int device) {
  gb_node *n;
  if (!a || a->device == device) return a;
  const gb_status st = gb_move(a, device, &n, e->err);
  if (st == GB_OK) return gb_formula_hold(e, n);
  e->status = st;
  return NULL;
}

gb_node *gb_ex_range (gb_formula *e, int64_t start, int64_t step, size_t n, gb_dtype t) {
  const gb_attr attr = {.i = {start, step}, .f = {(double)start, (double)step}};
  const gb_shape s = gb_shape_of(1, &n);
  return gb_ex_op(e, GB_OP_RANGE, 0, NULL, &attr, &s, t);
}

gb_node *gb_ex_along (gb_formula *e, gb_node *v, int axis, int ndim) {
  for (int i = 0; i < axis; i++) v = gb_ex_unsqueeze(e, v, 0);
  for (int i = axis + 1; i < ndim; i++) v = gb_ex_unsqueeze(e, v, i);
  return v;
}
