/* compose.c - ops made of other ops: moments, norms, softmax, clamp, stack, tile. */
#include <math.h>
#include <stdlib.h>

#include "base/plain.h"
#include "graph/formula.h"

/* The axes of a mask; 0 means all. */
static unsigned all_axes (const gb_node *a, unsigned axes) {
  return axes != 0 ? axes : (1u << gb_node_shape(a)->ndim) - 1;
}

static double count_over (const gb_shape *s, unsigned axes) {
  double n = 1;
  for (int i = 0; i < s->ndim; i++)
    if ((axes >> i & 1) != 0) n *= (double)s->dim[i];
  return n;
}

/* The mean of integers and bools is f64. */
static gb_node *as_float (gb_formula *e, gb_node *a) {
  if (gb_node_dtype(a) == GB_BOOL)
    return gb_ex_where(e, a, gb_ex_const(e, 1, GB_F64), gb_ex_const(e, 0, GB_F64));
  return gb_dtype_is_whole(gb_node_dtype(a)) ? gb_ex_cast(e, a, GB_F64) : a;
}

/* Sums of f16 and bf16 inside a moment or a norm are f32: a sum may leave the range of f16 although the
** result does not. */
static gb_node *wide (gb_formula *e, gb_node *a) {
  return gb_dtype_is_half(gb_node_dtype(a)) ? gb_ex_cast(e, a, GB_F32) : a;
}

/* 'y' in the type of 'a', if wide() chose another. */
static gb_node *narrow (gb_formula *e, gb_node *y, const gb_node *a) {
  return gb_dtype_is_half(gb_node_dtype(a)) ? gb_ex_cast(e, y, gb_node_dtype(a)) : y;
}

static gb_node *over (gb_formula *e, gb_node *a, double n) { return gb_ex_div(e, a, gb_ex_like(e, n, a)); }

static gb_node *mean (gb_formula *e, gb_node *a, unsigned axes, bool keepdim) {
  const double n = count_over(gb_node_shape(a), axes);
  return over(e, gb_ex_reduce(e, GB_OP_SUM, as_float(e, a), axes, keepdim), n);
}

gb_status gb_mean (gb_node *a, unsigned axes, bool keepdim, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, narrow(&e, mean(&e, wide(&e, a), all_axes(a, axes), keepdim), a), out);
}

/* Two passes: squares of differences from the mean, so a large mean costs no digits. */
static gb_node *variance (gb_formula *e, gb_node *a, unsigned axes, bool keepdim, double ddof) {
  const double n = count_over(gb_node_shape(a), axes) - ddof;
  gb_node *x = as_float(e, a);
  gb_node *d = x != NULL ? gb_ex_sub(e, x, mean(e, x, axes, true)) : NULL;
  return over(e, gb_ex_reduce(e, GB_OP_SUM, gb_ex_square(e, d), axes, keepdim), n > 0 ? n : 0);
}

gb_status gb_var (gb_node *a, unsigned axes, bool keepdim, double ddof, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, narrow(&e, variance(&e, wide(&e, a), all_axes(a, axes), keepdim, ddof), a), out);
}

gb_status gb_std (gb_node *a, unsigned axes, bool keepdim, double ddof, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *v = variance(&e, wide(&e, a), all_axes(a, axes), keepdim, ddof);
  return gb_formula_take(&e, narrow(&e, gb_ex_map1(&e, GB_OP_SQRT, v), a), out);
}

static gb_node *power (gb_formula *e, gb_node *a, double p) {
  return gb_ex_map2(e, GB_OP_POW, a, gb_ex_like(e, p, a));
}

/* x^p for x >= 0; at x = 0 the gradient is 0, also for p < 1. */
static gb_node *power_from_zero (gb_formula *e, gb_node *x, double p) {
  if (p >= 1) return power(e, x, p);
  gb_node *is_zero = gb_ex_map2(e, GB_OP_EQ, x, gb_ex_like(e, 0, x));
  gb_node *safe = gb_ex_where(e, is_zero, gb_ex_like(e, 1, x), x);
  return gb_ex_where(e, is_zero, gb_ex_like(e, p > 0 ? 0 : INFINITY, x), power(e, safe, p));
}

static gb_node *norm (gb_formula *e, gb_node *a, unsigned axes, bool keepdim, double p) {
  if (p == 2) return gb_ex_map1(e, GB_OP_SQRT, gb_ex_reduce(e, GB_OP_SUM, gb_ex_square(e, a), axes, keepdim));
  gb_node *x = gb_ex_map1(e, GB_OP_ABS, a);
  if (isinf(p)) return gb_ex_reduce(e, p > 0 ? GB_OP_MAX : GB_OP_MIN, x, axes, keepdim);
  if (p == 1) return gb_ex_reduce(e, GB_OP_SUM, x, axes, keepdim);
  return power_from_zero(e, gb_ex_reduce(e, GB_OP_SUM, power_from_zero(e, x, p), axes, keepdim), 1 / p);
}

/* (sum |x|^p)^(1/p); p = inf and -inf are the largest and smallest |x|. */
gb_status gb_norm (gb_node *a, unsigned axes, bool keepdim, double p, gb_node **out, gb_error *err) {
  if (isnan(p) || p == 0)
    return gb_fail(err, GB_EOPTION, "norm: p must be a number other than 0, got %g", gb_plain(p));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, narrow(&e, norm(&e, wide(&e, a), all_axes(a, axes), keepdim, p), a), out);
}

/* The bit of an axis counted from either end. */
static gb_status axis_bit (const char *what, gb_node *a, int axis, unsigned *bit, gb_error *err) {
  const int ndim = gb_node_shape(a)->ndim, at = axis < 0 ? axis + ndim : axis;
  char text[GB_NODE_TEXT];
  if (at < 0 || at >= ndim)
    return gb_fail(err, GB_EINDEX, "%s: axis %d is out of range: %s", what, axis < 0 ? axis : axis + 1,
                   gb_node_text(a, text));
  *bit = 1u << at;
  return GB_OK;
}

/* Subtracts the largest of each row, so that nothing overflows; it is a constant to the gradient. */
gb_status gb_softmax (gb_node *a, int axis, gb_node **out, gb_error *err) {
  unsigned bit = 0;
  GB_TRY(axis_bit("softmax", a, axis, &bit, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  if (gb_shape_numel(gb_node_shape(a)) == 0) return gb_formula_take(&e, gb_ex_map1(&e, GB_OP_EXP, a), out);
  gb_node *top = gb_ex_map1(&e, GB_OP_DETACH, gb_ex_reduce(&e, GB_OP_MAX, a, bit, true));
  gb_node *x = gb_ex_map1(&e, GB_OP_EXP, gb_ex_sub(&e, a, top));
  return gb_formula_take(&e, gb_ex_div(&e, x, gb_ex_reduce(&e, GB_OP_SUM, x, bit, true)), out);
}

/* Subtracts the largest of each row, so that a large common part does not round away the differences; an
** infinite one is not subtracted. */
gb_status gb_log_softmax (gb_node *a, int axis, gb_node **out, gb_error *err) {
  unsigned bit = 0;
  GB_TRY(axis_bit("log_softmax", a, axis, &bit, err));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  if (gb_shape_numel(gb_node_shape(a)) == 0) return gb_formula_take(&e, gb_ex_map1(&e, GB_OP_LOG, a), out);
  gb_node *x = wide(&e, a), *top = gb_ex_map1(&e, GB_OP_DETACH, gb_ex_reduce(&e, GB_OP_MAX, x, bit, true));
  top = top ? gb_ex_where(&e, gb_ex_map1(&e, GB_OP_ISFINITE, top), top, gb_ex_like(&e, 0, top)) : NULL;
  x = gb_ex_sub(&e, x, top);
  return gb_formula_take(&e, narrow(&e, gb_ex_sub(&e, x, gb_ex_reduce(&e, GB_OP_LOGSUMEXP, x, bit, true)), a),
                         out);
}

/* NaN stays NaN: maximum and minimum pass it through. */
gb_status gb_clamp (gb_node *a, gb_node *lo, gb_node *hi, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  if (lo != NULL) a = gb_ex_meet(&e, GB_OP_MAXIMUM, a, lo);
  if (hi != NULL) a = gb_ex_meet(&e, GB_OP_MINIMUM, a, hi);
  return gb_formula_take(&e, a, out);
}

/* -- joining */

gb_status gb_stack (int n, gb_node *const *a, int axis, gb_node **out, gb_error *err) {
  if (n < 1) return gb_fail(err, GB_EOPTION, "stack: expected one tensor or more");
  char t0[GB_NODE_TEXT], t1[GB_NODE_TEXT];
  for (int i = 1; i < n; i++)
    if (!gb_shape_equal(gb_node_shape(a[0]), gb_node_shape(a[i])))
      return gb_fail(
          err, GB_ESHAPE,
          "stack: shapes differ, all must be the same (gb.cat joins along an axis there is): %s, %s",
          gb_node_text(a[0], t0), gb_node_text(a[i], t1));
  gb_node **layer = malloc((size_t)n * sizeof *layer);
  if (layer == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the inputs of stack");
  gb_status st = GB_OK;
  int made = 0;
  for (; made < n && st == GB_OK; made += st == GB_OK) st = gb_unsqueeze(a[made], axis, &layer[made], err);
  if (st == GB_OK) st = gb_cat(n, layer, axis, out, err);
  while (made > 0) gb_node_unref(layer[--made]);
  free(layer);
  return st;
}

/* x with axis 'axis' repeated 'times': a new axis in front of it grows and is merged with it. */
static gb_node *repeat (gb_formula *e, gb_node *x, int axis, size_t times) {
  gb_shape wide, merged = *gb_node_shape(x);
  if (__builtin_mul_overflow(merged.dim[axis], times, &merged.dim[axis])) {
    char text[GB_NODE_TEXT];
    e->status = gb_fail(e->err, GB_ESHAPE, "tile: size overflows: %s", gb_node_text(x, text));
    return NULL;
  }
  gb_node *t = gb_ex_unsqueeze(e, x, axis);
  if (t == NULL) return NULL;
  wide = *gb_node_shape(t);
  wide.dim[axis] = times;
  return gb_ex_reshape(e, gb_ex_expand(e, t, &wide), &merged);
}

gb_status gb_tile (gb_node *a, int ndim, const size_t *times, gb_node **out, gb_error *err) {
  if (ndim > GB_MAXDIM) return gb_fail(err, GB_ESHAPE, "tile: more than %d axes", GB_MAXDIM);
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = a;
  while (x != NULL && gb_node_shape(x)->ndim < ndim) x = gb_ex_unsqueeze(&e, x, 0);
  for (int i = 1; i <= ndim && x != NULL; i++)
    if (times[ndim - i] != 1) x = repeat(&e, x, gb_node_shape(x)->ndim - i, times[ndim - i]);
  return gb_formula_take(&e, x, out);
}
