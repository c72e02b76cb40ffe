/* build.c - one function a form of op: dtypes adopted, axes counted from either end, attributes filled in. */
#include "graph/build.h"

#include <stdlib.h>

#include "graph/formula.h"

/* -- dtypes */

static bool weak (const gb_node *n) { return (n->flags & GB_NODE_WEAK) != 0; }

/* A number of i64, which adopts i32 alone. */
static bool is_integer (const gb_node *n) { return n->op == GB_OP_CONST && gb_node_dtype(n) == GB_I64; }

/* The dtype that weak nodes adopt: that of the first node that is not weak, a number of i64 last; if all are weak, the
** widest parameter's, else the first number's. */
static gb_dtype common_dtype (int n, gb_node *const *in) {
  gb_dtype widest = GB_NDTYPES;
  for (int i = 0; i < n; i++)
    if (!weak(in[i]) && !is_integer(in[i])) return gb_node_dtype(in[i]);
  for (int i = 0; i < n; i++)
    if (!weak(in[i])) return gb_node_dtype(in[i]);
  for (int i = 0; i < n; i++)
    if (in[i]->op != GB_OP_CONST && gb_node_dtype(in[i]) < widest) widest = gb_node_dtype(in[i]);
  return widest != GB_NDTYPES ? widest : gb_node_dtype(in[0]);
}

static gb_status adopt_one (gb_node *a, gb_dtype t, gb_node **out, gb_error *err) {
  if (t == GB_I32 && is_integer(a)) return gb_node_const_as(a, t, out, err);
  if (weak(a) && gb_node_dtype(a) != t && t != GB_BOOL) {
    if (a->op == GB_OP_CONST) return gb_node_const_as(a, t, out, err);
    if (gb_dtype_is_float(t)) return gb_node_build(a->graph, GB_OP_CAST, 1, &a, NULL, NULL, t, out, err);
  }
  *out = gb_node_ref(a);
  return GB_OK;
}

static gb_status adopt (gb_dtype t, int n, gb_node *const *in, gb_node **out, gb_error *err) {
  for (int i = 0; i < n; i++) {
    const gb_status st = adopt_one(in[i], t, &out[i], err);
    if (st == GB_OK) continue;
    while (i > 0) gb_node_unref(out[--i]);
    return st;
  }
  return GB_OK;
}

gb_status gb_adopt (int n, gb_node *const *in, gb_node **out, gb_error *err) {
  return adopt(n > 0 ? common_dtype(n, in) : GB_F64, n, in, out, err);
}

/* op(in...) after dtype adoption among the inputs from 'from'. */
static gb_status build_adopted (gb_op op, int n, gb_node *const *in, int from, const gb_attr *attr,
                                gb_node **out, gb_error *err) {
  gb_node *few[4], **same = n <= 4 ? few : malloc((size_t)n * sizeof *same);
  if (same == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the inputs of %s", gb_ops[op].name);
  for (int i = 0; i < from; i++) same[i] = in[i];
  const gb_dtype t = common_dtype(n - from, in + from),
                 own = t == GB_I32 && gb_widens_input(op, from) ? GB_I64 : t;
  gb_status st = adopt(own, n - from, in + from, same + from, err);
  if (st == GB_OK) {
    st = gb_node_build(in[0]->graph, op, n, same, attr, NULL, GB_F64, out, err);
    for (int i = from; i < n; i++) gb_node_unref(same[i]);
  }
  if (same != few) free(same);
  return st;
}

/* -- elementwise */

gb_status gb_map1 (gb_op op, gb_node *a, gb_node **out, gb_error *err) {
  return gb_node_build(a->graph, op, 1, &a, NULL, NULL, GB_F64, out, err);
}

gb_status gb_map2 (gb_op op, gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  return build_adopted(op, 2, (gb_node *[]){a, b}, 0, NULL, out, err);
}

/* The first input is a condition. */
gb_status gb_map3 (gb_op op, gb_node *a, gb_node *b, gb_node *c, gb_node **out, gb_error *err) {
  return build_adopted(op, 3, (gb_node *[]){a, b, c}, 1, NULL, out, err);
}

gb_status gb_scale (gb_node *a, double factor, gb_node **out, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, gb_ex_scale(&e, a, factor), out);
}

/* -- views */

static gb_status with_axis (gb_op op, gb_node *a, int axis, gb_node **out, gb_error *err) {
  const gb_attr attr = {.i = {axis}};
  return gb_node_build(a->graph, op, 1, &a, &attr, NULL, GB_F64, out, err);
}

static gb_status with_shape (gb_op op, gb_node *a, const gb_shape *s, gb_node **out, gb_error *err) {
  return gb_node_build(a->graph, op, 1, &a, NULL, s, GB_F64, out, err);
}

/* 0 .. ndim-1 from an axis counted from either end. */
static gb_status fix_axis (const char *what, gb_node *a, int *axis, gb_error *err) {
  const int ndim = gb_node_shape(a)->ndim, said = *axis;
  char text[GB_NODE_TEXT];
  if (*axis < 0) *axis += ndim;
  if (*axis >= 0 && *axis < ndim) return GB_OK;
  return gb_fail(err, GB_EINDEX, "%s: axis %d is out of range: %s", what, said < 0 ? said : said + 1,
                 gb_node_text(a, text));
}

gb_status gb_reshape (gb_node *a, const gb_shape *s, gb_node **out, gb_error *err) {
  return with_shape(GB_OP_RESHAPE, a, s, out, err);
}

gb_status gb_expand (gb_node *a, const gb_shape *s, gb_node **out, gb_error *err) {
  return with_shape(GB_OP_EXPAND, a, s, out, err);
}

gb_status gb_unsqueeze (gb_node *a, int axis, gb_node **out, gb_error *err) {
  return with_axis(GB_OP_UNSQUEEZE, a, axis, out, err);
}

gb_status gb_squeeze (gb_node *a, int axis, gb_node **out, gb_error *err) {
  return with_axis(GB_OP_SQUEEZE, a, axis, out, err);
}

gb_status gb_permute (gb_node *a, const int *axes, gb_node **out, gb_error *err) {
  gb_attr attr = {0};
  for (int i = 0; i < gb_node_shape(a)->ndim; i++) {
    int axis = axes[i];
    GB_TRY(fix_axis("permute", a, &axis, err));
    attr.i[i] = axis;
  }
  return gb_node_build(a->graph, GB_OP_PERMUTE, 1, &a, &attr, NULL, GB_F64, out, err);
}

gb_status gb_transpose (gb_node *a, gb_node **out, gb_error *err) {
  const int n = gb_node_shape(a)->ndim;
  char text[GB_NODE_TEXT];
  if (n < 2) return gb_fail(err, GB_ESHAPE, "t: expected two axes or more: %s", gb_node_text(a, text));
  int axes[GB_MAXDIM];
  for (int i = 0; i < n; i++) axes[i] = i;
  axes[n - 1] = n - 2;
  axes[n - 2] = n - 1;
  return gb_permute(a, axes, out, err);
}

gb_status gb_slice (gb_node *a, int axis, size_t start, ptrdiff_t step, size_t extent, gb_node **out,
                    gb_error *err) {
  GB_TRY(fix_axis("slice", a, &axis, err));
  const gb_attr attr = {.i = {axis, (int64_t)start, step, (int64_t)extent}};
  return gb_node_build(a->graph, GB_OP_SLICE, 1, &a, &attr, NULL, GB_F64, out, err);
}

gb_status gb_select (gb_node *a, int axis, size_t at, gb_node **out, gb_error *err) {
  char text[GB_NODE_TEXT];
  GB_TRY(fix_axis("select", a, &axis, err));
  if (at >= gb_node_shape(a)->dim[axis])
    return gb_fail(err, GB_EINDEX, "select: position %zu is out of range in axis %d: %s", at + 1, axis + 1,
                   gb_node_text(a, text));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  return gb_formula_take(&e, gb_ex_squeeze(&e, gb_ex_slice(&e, a, axis, at, 1, 1), axis), out);
}

gb_status gb_flip (gb_node *a, int axis, gb_node **out, gb_error *err) {
  GB_TRY(fix_axis("flip", a, &axis, err));
  const size_t n = gb_node_shape(a)->dim[axis];
  return gb_slice(a, axis, n > 0 ? n - 1 : 0, -1, n, out, err);
}

gb_status gb_cat (int n, gb_node *const *a, int axis, gb_node **out, gb_error *err) {
  const gb_attr attr = {.i = {axis}};
  if (n < 1) return gb_fail(err, GB_EOPTION, "cat: expected one tensor or more");
  return build_adopted(GB_OP_CAT, n, a, 0, &attr, out, err);
}

gb_status gb_pick (gb_node *a, int output, gb_node **out, gb_error *err) {
  return with_axis(GB_OP_PICK, a, output, out, err);
}

/* -- a few along an axis */

/* Few least numbers of many lines are a reduction, which streams what it reads. The choice is of shapes alone: a reduction
** returns -0 as 0. */
static bool is_reduction (const gb_node *a, int axis, size_t k, bool largest) {
  enum { FEW = 16, LINES = 64, SHARE = 4 };
  const size_t n = gb_node_shape(a)->dim[axis];
  return !largest && gb_dtype_is_float(gb_node_dtype(a)) && k >= 1 && k <= FEW && k <= n / SHARE &&
         gb_shape_numel(gb_node_shape(a)) / n >= LINES;
}

static gb_node *few_least (gb_formula *e, gb_node *x, size_t k, gb_dtype positions, int output) {
  const gb_attr attr = {.i = {0, (int64_t)k}};
  gb_node *r = gb_ex_pick(e, gb_ex_op(e, GB_OP_KMIN, 1, &x, &attr, NULL, GB_F64), output);
  return output == 1 && positions == GB_I32 ? gb_ex_cast(e, r, positions) : r;
}

/* The input of a reduction, and a lazy one, is permuted so that the axis comes last: its windows are then whole rows. */
gb_status gb_topk (gb_node *a, int axis, size_t k, bool largest, gb_dtype positions, int output,
                   gb_node **out, gb_error *err) {
  const int last = gb_node_shape(a)->ndim - 1;
  const bool reduces = is_reduction(a, axis, k, largest);
  const bool turned = axis != last && (reduces || (a->nin > 0 && !gb_node_has_value(a)));
  const gb_attr attr = {.i = {turned ? last : axis, (int64_t)k, largest, positions == GB_I32}};
  int swapped[GB_MAXDIM];
  for (int i = 0; i <= last; i++) swapped[i] = i == axis ? last : i == last ? axis : i;
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = turned ? gb_ex_permute(&e, a, swapped) : a;
  gb_node *r = reduces
                   ? few_least(&e, x, k, positions, output)
                   : gb_ex_pick(&e, gb_ex_op(&e, GB_OP_TOPK, 1, &x, &attr, NULL, gb_node_dtype(a)), output);
  return gb_formula_take(&e, turned ? gb_ex_permute(&e, r, swapped) : r, out);
}

/* -- reductions */

/* A count of true elements is a sum of f64 ones, which streams. */
static gb_node *ones_where (gb_formula *e, gb_node *a) {
  return gb_ex_where(e, a, gb_ex_const(e, 1, GB_F64), gb_ex_const(e, 0, GB_F64));
}

gb_status gb_reduce (gb_op op, gb_node *a, unsigned axes, bool keepdim, gb_node **out, gb_error *err) {
  const int ndim = gb_node_shape(a)->ndim;
  const bool counts = gb_node_dtype(a) == GB_BOOL && (op == GB_OP_SUM || op == GB_OP_PROD);
  if (ndim == 0 && axes == 0 && (op == GB_OP_ARGMIN || op == GB_OP_ARGMAX))
    return gb_node_const(a->graph, 1, GB_I64, out, err);
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  gb_node *x = counts ? ones_where(&e, a) : a;
  const unsigned mask = axes != 0 ? axes : (1u << ndim) - 1;
  x = gb_ex_op(&e, op, 1, &x, &(gb_attr){.i = {mask}}, NULL, GB_F64);
  for (int i = 0; keepdim && i < ndim; i++)
    if ((mask >> i & 1) != 0) x = gb_ex_unsqueeze(&e, x, i);
  return gb_formula_take(&e, x, out);
}

/* -- contractions */

gb_status gb_sqdist (gb_node *x, gb_node *y, gb_node *w, gb_node **out, gb_error *err) {
  return build_adopted(GB_OP_SQDIST, w != NULL ? 3 : 2, (gb_node *[]){x, y, w}, 0, NULL, out, err);
}

gb_status gb_radial (gb_profile p, gb_node *s, gb_node *c, gb_node *alpha, gb_node **out, gb_error *err) {
  const gb_attr attr = {.i = {p}};
  return build_adopted(GB_OP_RADIAL, alpha != NULL ? 3 : 2, (gb_node *[]){s, c, alpha}, 0, &attr, out, err);
}

gb_status gb_matmul (gb_node *a, gb_node *b, gb_node **out, gb_error *err) {
  const gb_shape *s = gb_node_shape(a), *t = gb_node_shape(b);
  const bool row = s->ndim == 1, column = t->ndim == 1;
  char ta[GB_NODE_TEXT], tb[GB_NODE_TEXT];
  if (s->ndim == 0 || t->ndim == 0)
    return gb_fail(err, GB_ESHAPE, "matmul: expected vectors or matrices: %s, %s", gb_node_text(a, ta),
                   gb_node_text(b, tb));
  if (s->dim[s->ndim - 1] != t->dim[column ? 0 : t->ndim - 2])
    return gb_fail(err, GB_ESHAPE, "matmul: inner sizes differ (n x k by k x m; x:t() transposes): %s, %s",
                   gb_node_text(a, ta), gb_node_text(b, tb));
  gb_formula e;
  gb_formula_init(&e, a->graph, err);
  if (row && column)
    return gb_formula_take(&e, gb_ex_reduce(&e, GB_OP_SUM, gb_ex_meet(&e, GB_OP_MUL, a, b), 1, false), out);
  if (row) a = gb_ex_unsqueeze(&e, a, 0);
  if (column) b = gb_ex_unsqueeze(&e, b, 1);
  gb_node *y = gb_ex_meet(&e, GB_OP_MATMUL, a, b);
  if (row || column) y = gb_ex_squeeze(&e, y, row ? -2 : -1);
  return gb_formula_take(&e, y, out);
}

/* -- generators */

gb_status gb_eye (gb_graph *g, size_t n, gb_dtype t, gb_node **out, gb_error *err) {
  const gb_shape s = gb_shape_of(2, (size_t[]){n, n});
  return gb_node_build(g, GB_OP_EYE, 0, NULL, NULL, &s, t, out, err);
}

gb_status gb_diag (gb_node *v, gb_node **out, gb_error *err) {
  char text[GB_NODE_TEXT];
  const int lead = gb_node_shape(v)->ndim - 1;
  if (lead < 0)
    return gb_fail(err, GB_ESHAPE, "diag: expected a vector, or a batch of them: %s", gb_node_text(v, text));
  if (lead > GB_MAXDIM - 2)
    return gb_fail(err, GB_ESHAPE, "diag: more than %d axes: %s", GB_MAXDIM, gb_node_text(v, text));
  const size_t n = gb_node_shape(v)->dim[lead];
  const gb_shape square = gb_shape_of(2, (size_t[]){n, n});
  gb_formula e;
  gb_formula_init(&e, v->graph, err);
  gb_node *eye = gb_ex_op(&e, GB_OP_EYE, 0, NULL, NULL, &square, gb_node_dtype(v));
  for (int i = 0; i < lead; i++) eye = gb_ex_unsqueeze(&e, eye, 0);
  return gb_formula_take(&e, gb_ex_mul(&e, eye, gb_ex_unsqueeze(&e, v, lead)), out);
}
