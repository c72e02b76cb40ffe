/* views.c - views of views, and ops that change nothing.
**
** Equal compositions of unsqueeze, squeeze, permute, expand, slice and reshape become one node, so that the
** rules for kernels see few forms. Rules rest on structure alone. The normal forms:
**  - of adjacent axes of size 1 the first is added or dropped;
**  - unsqueezes are outside squeezes; outwards, the axes of unsqueezes never descend and those of
**    squeezes never ascend;
**  - a reshape or permute that only moves axes of size 1 is squeezes, then unsqueezes;
**  - reshapes and expands absorb the views they make redundant; slices ascend outwards by axis, one per axis.
** Each rule moves towards its form, so the recursion ends within a few times GB_MAXDIM levels. */
#include <stddef.h>

#include "graph/simplify.h"

typedef struct view {
  gb_graph *g;
  gb_node *x; /* the input */
  const gb_attr *attr;
  const gb_shape *shape; /* of the result */
  gb_error *err;
} view;

static const gb_attr no_attr;

static gb_attr axis_attr (int64_t axis) { return (gb_attr){.i = {axis}}; }

/* The input of 'n' where n is op(input) and still has it, else NULL. */
static gb_node *under (const gb_node *n, gb_op op) { return n->op == op && n->nin == 1 ? n->in[0] : NULL; }

static gb_status unary (const view *v, gb_op op, gb_node *x, const gb_attr *attr, const gb_shape *shape,
                        gb_node **out) {
  return gb_node_build(v->g, op, 1, &x, attr, shape, gb_node_dtype(x), out, v->err);
}

/* outer(inner(x)), both taking one axis. */
static gb_status two (const view *v, gb_op outer, int64_t outer_axis, gb_op inner, int64_t inner_axis,
                      gb_node *x, gb_node **out) {
  const gb_attr ia = axis_attr(inner_axis), oa = axis_attr(outer_axis);
  gb_node *t;
  GB_TRY(unary(v, inner, x, &ia, NULL, &t));
  const gb_status st = unary(v, outer, t, &oa, NULL, out);
  gb_node_unref(t);
  return st;
}

static gb_status unsqueeze (const view *v, gb_node **out) {
  const int64_t b = v->attr->i[0];
  const gb_shape *s = gb_node_shape(v->x);
  if (b > 0 && s->dim[b - 1] == 1) {
    const gb_attr lower = axis_attr(b - 1);
    return unary(v, GB_OP_UNSQUEEZE, v->x, &lower, NULL, out);
  }
  gb_node *base = under(v->x, GB_OP_SQUEEZE);
  if (base != NULL && gb_shape_equal(gb_node_shape(base), v->shape)) {
    *out = gb_node_ref(base);
    return GB_OK;
  }
  base = under(v->x, GB_OP_UNSQUEEZE);
  if (base != NULL && b < v->x->attr.i[0])
    return two(v, GB_OP_UNSQUEEZE, v->x->attr.i[0] + 1, GB_OP_UNSQUEEZE, b, base, out);
  return GB_OK;
}

static gb_status squeeze (const view *v, gb_node **out) {
  const int64_t b = v->attr->i[0];
  const gb_shape *s = gb_node_shape(v->x);
  if (b > 0 && s->dim[b - 1] == 1) {
    const gb_attr lower = axis_attr(b - 1);
    return unary(v, GB_OP_SQUEEZE, v->x, &lower, NULL, out);
  }
  const int64_t a = v->x->attr.i[0];
  gb_node *base = under(v->x, GB_OP_UNSQUEEZE);
  if (base != NULL) {
    if (gb_shape_equal(gb_node_shape(base), v->shape)) {
      *out = gb_node_ref(base);
      return GB_OK;
    }
    return b < a ? two(v, GB_OP_UNSQUEEZE, a - 1, GB_OP_SQUEEZE, b, base, out)
                 : two(v, GB_OP_UNSQUEEZE, a, GB_OP_SQUEEZE, b - 1, base, out);
  }
  base = under(v->x, GB_OP_SQUEEZE);
  if (base != NULL && b > a) return two(v, GB_OP_SQUEEZE, a, GB_OP_SQUEEZE, b + 1, base, out);
  return GB_OK;
}

/* True if the extents other than 1 form the same sequence. */
static bool same_but_ones (const gb_shape *a, const gb_shape *b) {
  int i = 0, j = 0;
  for (;;) {
    while (i < a->ndim && a->dim[i] == 1) i++;
    while (j < b->ndim && b->dim[j] == 1) j++;
    if (i == a->ndim || j == b->ndim) return i == a->ndim && j == b->ndim;
    if (a->dim[i++] != b->dim[j++]) return false;
  }
}

/* 'op' along 'axis' applied to t, whose count is released. */
static gb_status step (const view *v, gb_op op, int axis, gb_node **t) {
  const gb_attr a = axis_attr(axis);
  gb_node *next = NULL;
  const gb_status st = unary(v, op, *t, &a, NULL, &next);
  gb_node_unref(*t);
  *t = next;
  return st;
}

/* x to v->shape, which differ in axes of size 1 only. */
static gb_status move_ones (const view *v, gb_node *x, gb_node **out) {
  const gb_shape *s = gb_node_shape(x), *want = v->shape;
  int drop[GB_MAXDIM], add[GB_MAXDIM], ndrop = 0, nadd = 0;
  for (int i = 0, j = 0; i < s->ndim || j < want->ndim;) {
    if (i < s->ndim && j < want->ndim && s->dim[i] == want->dim[j]) i++, j++;
    else if (i < s->ndim && s->dim[i] == 1) drop[ndrop++] = i++;
    else add[nadd++] = j++;
  }
  gb_node *t = gb_node_ref(x);
  gb_status st = GB_OK;
  for (int i = ndrop - 1; i >= 0 && st == GB_OK; i--) st = step(v, GB_OP_SQUEEZE, drop[i], &t);
  for (int i = 0; i < nadd && st == GB_OK; i++) st = step(v, GB_OP_UNSQUEEZE, add[i], &t);
  if (st == GB_OK) *out = t;
  return st;
}

static gb_status reshape (const view *v, gb_node **out) {
  gb_node *base = v->x, *t;
  while ((t = under(base, GB_OP_RESHAPE)) != NULL || (t = under(base, GB_OP_UNSQUEEZE)) != NULL ||
         (t = under(base, GB_OP_SQUEEZE)) != NULL)
    base = t;
  if (same_but_ones(gb_node_shape(base), v->shape)) return move_ones(v, base, out);
  return base == v->x ? GB_OK : unary(v, GB_OP_RESHAPE, base, &no_attr, v->shape, out);
}

static gb_status permute (const view *v, gb_node **out) {
  const gb_shape *s = gb_node_shape(v->x);
  const int64_t *axis = v->attr->i;
  const int n = s->ndim;
  int64_t last = -1;
  bool keeps_order = true; /* of the axes of extent other than 1 */
  for (int i = 0; i < n; i++) {
    if (s->dim[axis[i]] == 1) continue;
    keeps_order &= axis[i] > last;
    last = axis[i];
  }
  if (keeps_order) return move_ones(v, v->x, out);
  gb_node *base = under(v->x, GB_OP_PERMUTE);
  if (base != NULL) {
    gb_attr both = {0};
    for (int i = 0; i < n; i++) both.i[i] = v->x->attr.i[axis[i]];
    return unary(v, GB_OP_PERMUTE, base, &both, NULL, out);
  }
  bool swaps_last = n >= 2 && axis[n - 1] == n - 2 && axis[n - 2] == n - 1;
  if (!swaps_last || (v->x->flags & GB_NODE_SYMMETRIC) == 0) return GB_OK;
  gb_attr rest = *v->attr; /* transposing a symmetric matrix changes nothing */
  rest.i[n - 1] = n - 1;
  rest.i[n - 2] = n - 2;
  return unary(v, GB_OP_PERMUTE, v->x, &rest, NULL, out);
}

static gb_status expand (const view *v, gb_node **out) {
  if (gb_shape_equal(gb_node_shape(v->x), v->shape)) {
    *out = gb_node_ref(v->x);
    return GB_OK;
  }
  gb_node *base = under(v->x, GB_OP_EXPAND);
  if (base == NULL && v->x->op == GB_OP_UNSQUEEZE && v->x->attr.i[0] == 0)
    base = under(v->x, GB_OP_UNSQUEEZE);
  return base == NULL ? GB_OK : unary(v, GB_OP_EXPAND, base, &no_attr, v->shape, out);
}

static gb_status slice (const view *v, gb_node **out) {
  const int64_t *b = v->attr->i;
  if (b[2] == 1 && (size_t)b[3] == gb_node_shape(v->x)->dim[b[0]]) {
    *out = gb_node_ref(v->x);
    return GB_OK;
  }
  gb_node *base = under(v->x, GB_OP_SLICE);
  if (base == NULL) return GB_OK;
  const int64_t *a = v->x->attr.i;
  if (a[0] == b[0]) {
    int64_t step;
    if (__builtin_mul_overflow(a[2], b[2], &step)) return GB_OK;
    const gb_attr both = {.i = {a[0], a[1] + a[2] * b[1], step, b[3]}};
    return unary(v, GB_OP_SLICE, base, &both, NULL, out);
  }
  if (b[0] > a[0]) return GB_OK;
  gb_node *t;
  GB_TRY(unary(v, GB_OP_SLICE, base, v->attr, NULL, &t));
  const gb_status st = unary(v, GB_OP_SLICE, t, &v->x->attr, NULL, out);
  gb_node_unref(t);
  return st;
}

/* The diagonal of a transpose is the diagonal of the matrix. */
static gb_status diagonal (const view *v, gb_node **out) {
  gb_node *base = under(v->x, GB_OP_PERMUTE);
  const int n = gb_node_shape(v->x)->ndim;
  if (base == NULL || v->x->attr.i[n - 1] != n - 2 || v->x->attr.i[n - 2] != n - 1) return GB_OK;
  for (int i = 0; i < n - 2; i++)
    if (v->x->attr.i[i] != i) return GB_OK;
  return unary(v, GB_OP_DIAGONAL, base, &no_attr, NULL, out);
}

/* True if op(x) is x. */
static bool changes_nothing (gb_op op, const gb_node *x, const gb_attr *attr, const gb_value *result) {
  switch (op) {
    case GB_OP_CAST: return gb_node_dtype(x) == result->dtype;
    case GB_OP_PICK: return x->nout == 1;
    case GB_OP_DETACH: return (x->flags & GB_NODE_NEEDS_GRAD) == 0;
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP:
    case GB_OP_ANY:
    case GB_OP_ALL: return attr->i[0] == 0;
    default: return false;
  }
}

/* A mask as numbers: where(x, 1, 0), which streams like the mask. */
static gb_status number_of_mask (const view *v, gb_dtype t, gb_node **out) {
  gb_node *in[3] = {v->x, NULL, NULL};
  gb_status rc = gb_node_const(v->g, 1, t, &in[1], v->err);
  if (rc == GB_OK) rc = gb_node_const(v->g, 0, t, &in[2], v->err);
  if (rc == GB_OK) rc = gb_node_build(v->g, GB_OP_WHERE, 3, in, NULL, NULL, t, out, v->err);
  gb_node_unref(in[1]);
  gb_node_unref(in[2]);
  return rc;
}

static gb_status cast (const view *v, gb_dtype to, gb_node **out) {
  const gb_dtype from = gb_node_dtype(v->x);
  gb_node *base = under(v->x, GB_OP_CAST);
  if (from == GB_BOOL && (to == GB_F32 || to == GB_F64)) return number_of_mask(v, to, out);
  if (from == GB_I32 && to == GB_I64) return gb_widen(v->x, out, v->err);
  if (to == GB_I32 && from == GB_I64 && base != NULL && gb_node_dtype(base) == GB_I32)
    *out = gb_node_ref(base);
  return GB_OK;
}

gb_status gb_simplify (gb_graph *g, gb_op op, gb_node *const *in, const gb_attr *attr, const gb_value *result,
                       gb_node **out, gb_error *err) {
  if (gb_ops[op].inputs != 1) return GB_OK;
  if (changes_nothing(op, in[0], attr, result)) {
    *out = gb_node_ref(in[0]);
    return GB_OK;
  }
  const view v = {g, in[0], attr, &result->shape, err};
  switch (op) {
    case GB_OP_CAST: return cast(&v, result->dtype, out);
    case GB_OP_RESHAPE: return reshape(&v, out);
    case GB_OP_UNSQUEEZE: return unsqueeze(&v, out);
    case GB_OP_SQUEEZE: return squeeze(&v, out);
    case GB_OP_PERMUTE: return permute(&v, out);
    case GB_OP_EXPAND: return expand(&v, out);
    case GB_OP_SLICE: return slice(&v, out);
    case GB_OP_DIAGONAL: return diagonal(&v, out);
    default: return GB_OK;
  }
}
