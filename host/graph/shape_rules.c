/* shape_rules.c - the shape and dtype of every op's result, and the errors if its inputs do not fit.
**
** A rule also normalises the attributes: axes count from 0, unused entries are 0. Texts name the op, what is
** wrong, and each input by name, shape and line; axes are counted from 1 as users count. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/node.h"

typedef struct rule {
  gb_op op;
  int nin;
  gb_node *const *in;
  gb_attr *attr;
  const gb_shape *given;
  gb_dtype dtype; /* given */
  gb_value *out;
  gb_error *err;
} rule;

/* -- saying what is wrong */

#define LISTED 4 /* inputs named in a text */
#define LIST_TEXT ((LISTED + 1) * (GB_NODE_TEXT + 8))

/* "X 500x3 (a.lua:1), w 4 (a.lua:2)", with dtypes before the shapes if 'dtypes'. */
static char *list_inputs (const rule *r, bool dtypes, char buf[LIST_TEXT]) {
  char text[GB_NODE_TEXT];
  size_t used = 0;
  buf[0] = '\0';
  for (int i = 0; i < r->nin && i < LISTED; i++) {
    const char *type = dtypes ? gb_dtype_name(gb_node_dtype(r->in[i])) : "";
    used += (size_t)snprintf(buf + used, LIST_TEXT - used, "%s%s%s%s", i ? ", " : "", type, dtypes ? " " : "",
                             gb_node_text(r->in[i], text));
  }
  if (r->nin > LISTED) snprintf(buf + used, LIST_TEXT - used, ", and %d more", r->nin - LISTED);
  return buf;
}

static gb_status bad_shape (const rule *r, const char *what) {
  char list[LIST_TEXT];
  return gb_fail(r->err, GB_ESHAPE, "%s: %s: %s", gb_ops[r->op].name, what, list_inputs(r, false, list));
}

static gb_status bad_dtype (const rule *r, const char *what) {
  char list[LIST_TEXT];
  return gb_fail(r->err, GB_EDTYPE, "%s: %s: %s", gb_ops[r->op].name, what, list_inputs(r, true, list));
}

static gb_status bad_option (const rule *r, const char *what) {
  return gb_fail(r->err, GB_EOPTION, "%s: %s", gb_ops[r->op].name, what);
}

/* -- what rules share */

static const gb_shape *shape_at (const rule *r, int i) { return gb_node_shape(r->in[i]); }
static gb_dtype dtype_at (const rule *r, int i) { return gb_node_dtype(r->in[i]); }

static gb_status same_dtypes (const rule *r, int from, int to) {
  for (int i = from + 1; i < to; i++)
    if (dtype_at(r, i) != dtype_at(r, from))
      return bad_dtype(r, "dtypes differ, convert one with :to{dtype=...}");
  return GB_OK;
}

static gb_status need_floats (const rule *r, int n) {
  for (int i = 0; i < n; i++)
    if (!gb_dtype_is_float(dtype_at(r, i)))
      return bad_dtype(r, "expected float tensors, convert with :to{dtype=...}");
  return GB_OK;
}

static gb_status need_positions (const rule *r, int i) {
  if (!gb_dtype_is_whole(dtype_at(r, i))) return bad_dtype(r, "expected positions of i64 or i32");
  if (shape_at(r, i)->ndim != 1) return bad_shape(r, "expected a vector of positions");
  return GB_OK;
}

/* Factorisations are done in f64 and f32. */
static gb_status need_computing (const rule *r, int n) {
  for (int i = 0; i < n; i++)
    if (dtype_at(r, i) != GB_F64 && dtype_at(r, i) != GB_F32) return bad_dtype(r, "expected f64 or f32");
  return same_dtypes(r, 0, n);
}

static gb_status need_square (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  if (s->ndim < 2 || s->dim[s->ndim - 2] != s->dim[s->ndim - 1])
    return bad_shape(r, "expected a square matrix, or a batch of them");
  return GB_OK;
}

/* Brings the axis in attr.i[0] into 0 .. limit-1. */
static gb_status fix_axis (const rule *r, int limit) {
  int64_t *a = &r->attr->i[0];
  const int64_t said = *a;
  if (*a < 0) *a += limit;
  if (*a >= 0 && *a < limit) return GB_OK;
  char list[LIST_TEXT];
  return gb_fail(r->err, GB_EINDEX, "%s: axis %lld is out of range: %s", gb_ops[r->op].name,
                 (long long)(said < 0 ? said : said + 1), list_inputs(r, false, list));
}

static void set (const rule *r, int i, gb_dtype t, int ndim, const size_t *dim) {
  r->out[i].dtype = t;
  r->out[i].shape = gb_shape_of(ndim, dim);
}

static void set_shape (const rule *r, int i, gb_dtype t, const gb_shape *s) {
  r->out[i].dtype = t;
  r->out[i].shape = *s;
}

static gb_shape with_dim (const gb_shape *s, int64_t axis, size_t extent) {
  gb_shape t = *s;
  t.dim[axis] = extent;
  return t;
}

static gb_shape without_axis (const gb_shape *s, int64_t axis) {
  gb_shape t = {.ndim = s->ndim - 1};
  for (int i = 0; i < t.ndim; i++) t.dim[i] = s->dim[i + (i >= axis)];
  return t;
}

/* Broadcasts the shapes of all inputs into '*out'. */
static gb_status broadcast_all (const rule *r, gb_shape *out) {
  *out = *shape_at(r, 0);
  bool ranks_differ = false;
  for (int i = 1; i < r->nin; i++) {
    const gb_shape so_far = *out;
    ranks_differ |= shape_at(r, i)->ndim != shape_at(r, 0)->ndim;
    if (!gb_shape_broadcast(&so_far, shape_at(r, i), out))
      return bad_shape(r, ranks_differ ? "shapes do not fit (of unequal ranks only one may grow; "
                                         "an outer form is written with unsqueeze)"
                                       : "shapes do not fit (they align at the right, axes of size 1 grow; "
                                         "x:matmul(y) multiplies matrices)");
  }
  return GB_OK;
}

/* Broadcasts what precedes the last two axes of inputs 0 .. n-1 and appends 'rows' x 'cols'. */
static gb_status batched (const rule *r, int n, size_t rows, size_t cols, gb_shape *out) {
  gb_shape batch = gb_shape_of(shape_at(r, 0)->ndim - 2, shape_at(r, 0)->dim);
  for (int i = 1; i < n; i++) {
    const gb_shape so_far = batch, lead = gb_shape_of(shape_at(r, i)->ndim - 2, shape_at(r, i)->dim);
    if (!gb_shape_broadcast(&so_far, &lead, &batch)) return bad_shape(r, "batch axes do not fit");
  }
  batch.dim[batch.ndim++] = rows;
  batch.dim[batch.ndim++] = cols;
  *out = batch;
  return GB_OK;
}

static size_t from_end (const gb_shape *s, int i) { return s->dim[s->ndim - i]; }

/* -- leaves and generators */

static gb_status shape_leaf (const rule *r) { return bad_option(r, "made by gb_node_leaf only"); }

static gb_status shape_scalar (const rule *r) {
  set(r, 0, r->dtype, 0, NULL);
  return GB_OK;
}

static gb_status shape_given (const rule *r) {
  if (r->given == NULL) return bad_option(r, "expected a shape");
  const int ndim = r->given->ndim;
  if (r->op == GB_OP_EYE && ndim < 2) return bad_option(r, "expected two axes or more");
  if ((r->op == GB_OP_RANGE || r->op == GB_OP_RANDPERM) && ndim != 1)
    return bad_option(r, "expected one axis");
  if (r->op == GB_OP_SOBOL && ndim != 2) return bad_option(r, "expected two axes");
  if (r->op == GB_OP_RANDPERM && r->dtype != GB_I64) return bad_option(r, "positions are i64");
  if ((r->op == GB_OP_RAND || r->op == GB_OP_RANDN || r->op == GB_OP_SOBOL) && !gb_dtype_is_float(r->dtype))
    return bad_option(r, "expected a float dtype");
  set_shape(r, 0, r->dtype, r->given);
  return GB_OK;
}

/* -- elementwise */

/* The others need floats. */
bool gb_op_is_integral (gb_op op) {
  switch (op) {
    case GB_OP_NEG:
    case GB_OP_ABS:
    case GB_OP_SIGN:
    case GB_OP_FLOOR:
    case GB_OP_CEIL:
    case GB_OP_ROUND:
    case GB_OP_SQUARE:
    case GB_OP_RELU:
    case GB_OP_DETACH:
    case GB_OP_ADD:
    case GB_OP_SUB:
    case GB_OP_MUL:
    case GB_OP_IDIV:
    case GB_OP_MOD:
    case GB_OP_MAXIMUM:
    case GB_OP_MINIMUM:
    case GB_OP_CUMSUM: return true;
    default: return false;
  }
}

static gb_status shape_map (const rule *r) {
  gb_shape s;
  for (int i = 0; i < r->nin; i++)
    if (dtype_at(r, i) == GB_BOOL && r->op != GB_OP_DETACH)
      return bad_dtype(r, "no arithmetic on bool, use & | ~, gb.where or :to{dtype=...}");
  GB_TRY(same_dtypes(r, 0, r->nin));
  if (!gb_op_is_integral(r->op)) GB_TRY(need_floats(r, 1));
  if (r->op == GB_OP_CUMSUM) {
    GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
    r->attr->i[1] = r->attr->i[1] != 0;
  }
  GB_TRY(broadcast_all(r, &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_test (const rule *r) {
  gb_shape s;
  GB_TRY(same_dtypes(r, 0, r->nin));
  if (r->nin == 1) GB_TRY(need_floats(r, 1));
  else if (dtype_at(r, 0) == GB_BOOL && r->op != GB_OP_EQ && r->op != GB_OP_NE)
    return bad_dtype(r, "bool has no order");
  GB_TRY(broadcast_all(r, &s));
  set_shape(r, 0, GB_BOOL, &s);
  return GB_OK;
}

static gb_status shape_logic (const rule *r) {
  gb_shape s;
  for (int i = 0; i < r->nin; i++)
    if (dtype_at(r, i) != GB_BOOL) return bad_dtype(r, "expected bool");
  GB_TRY(broadcast_all(r, &s));
  set_shape(r, 0, GB_BOOL, &s);
  return GB_OK;
}

static gb_status shape_where (const rule *r) {
  gb_shape s;
  if (dtype_at(r, 0) != GB_BOOL) return bad_dtype(r, "expected a bool condition");
  GB_TRY(same_dtypes(r, 1, 3));
  GB_TRY(broadcast_all(r, &s));
  set_shape(r, 0, dtype_at(r, 1), &s);
  return GB_OK;
}

static gb_status shape_radial (const rule *r) {
  const int64_t *a = r->attr->i;
  if (a[0] < 0 || a[0] >= GB_NPROFILES || a[1] < 0 || a[1] > 2)
    return bad_option(r, "unknown profile or order");
  if (r->nin != (a[0] == GB_RQ ? 3 : 2))
    return bad_option(r, "alpha is for rational_quadratic, and it needs one");
  if (a[2] != 0 && a[0] != GB_RQ) return bad_option(r, "only rational_quadratic has a derivative in alpha");
  GB_TRY(need_floats(r, r->nin));
  GB_TRY(same_dtypes(r, 0, r->nin));
  for (int i = 1; i < r->nin; i++)
    if (shape_at(r, i)->ndim != 0) return bad_shape(r, "expected scalar parameters");
  set_shape(r, 0, dtype_at(r, 0), shape_at(r, 0));
  return GB_OK;
}

static gb_status shape_cast (const rule *r) {
  set_shape(r, 0, r->dtype, shape_at(r, 0));
  return GB_OK;
}

/* gb_move looks after the number of the device. */
static gb_status shape_move (const rule *r) {
  set_shape(r, 0, dtype_at(r, 0), shape_at(r, 0));
  return GB_OK;
}

/* -- views */

static gb_status shape_reshape (const rule *r) {
  size_t have, want;
  char text[GB_SHAPE_TEXT], list[LIST_TEXT];
  if (r->given == NULL) return bad_option(r, "expected a shape");
  gb_shape_numel_checked(shape_at(r, 0), &have);
  if (!gb_shape_numel_checked(r->given, &want) || have != want)
    return gb_fail(r->err, GB_ESHAPE, "reshape: the number of elements differs: %s to %s",
                   list_inputs(r, false, list), gb_shape_text(r->given, text));
  set_shape(r, 0, dtype_at(r, 0), r->given);
  return GB_OK;
}

static gb_status shape_unsqueeze (const rule *r) {
  gb_shape s = *shape_at(r, 0);
  if (s.ndim == GB_MAXDIM) return bad_shape(r, "more than 8 axes");
  GB_TRY(fix_axis(r, s.ndim + 1));
  const int at = (int)r->attr->i[0];
  for (int i = s.ndim++; i > at; i--) s.dim[i] = s.dim[i - 1];
  s.dim[at] = 1;
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_squeeze (const rule *r) {
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  if (shape_at(r, 0)->dim[r->attr->i[0]] != 1) {
    char list[LIST_TEXT];
    return gb_fail(r->err, GB_ESHAPE, "squeeze: axis %d is not of size 1: %s", (int)r->attr->i[0] + 1,
                   list_inputs(r, false, list));
  }
  const gb_shape s = without_axis(shape_at(r, 0), r->attr->i[0]);
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_permute (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  gb_shape t = {.ndim = s->ndim};
  unsigned seen = 0;
  for (int i = 0; i < s->ndim; i++) {
    const int64_t a = r->attr->i[i];
    if (a < 0 || a >= s->ndim || (seen >> a & 1) != 0) return bad_shape(r, "expected each axis once");
    seen |= 1u << a;
    t.dim[i] = s->dim[a];
  }
  set_shape(r, 0, dtype_at(r, 0), &t);
  return GB_OK;
}

static gb_status shape_expand (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  if (r->given == NULL) return bad_option(r, "expected a shape");
  bool fits = s->ndim <= r->given->ndim;
  for (int i = 1; fits && i <= s->ndim; i++)
    fits = from_end(s, i) == 1 || from_end(s, i) == from_end(r->given, i);
  if (!fits) {
    char text[GB_SHAPE_TEXT], list[LIST_TEXT];
    return gb_fail(r->err, GB_ESHAPE, "expand: only axes of size 1 grow: %s to %s",
                   list_inputs(r, false, list), gb_shape_text(r->given, text));
  }
  set_shape(r, 0, dtype_at(r, 0), r->given);
  return GB_OK;
}

static gb_status shape_slice (const rule *r) {
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  int64_t *a = r->attr->i;
  const int64_t have = (int64_t)shape_at(r, 0)->dim[a[0]];
  if (a[2] == 0 || a[3] < 0) return bad_option(r, "expected a step other than 0");
  if (a[3] == 0) a[1] = 0;
  if (a[3] <= 1) a[2] = 1;
  int64_t span = 0, last = 0;
  const bool overflow = a[3] > 0 && (__builtin_mul_overflow(a[3] - 1, a[2], &span) ||
                                     __builtin_add_overflow(a[1], span, &last));
  if (a[3] > 0 && (overflow || a[1] < 0 || a[1] >= have || last < 0 || last >= have)) {
    char list[LIST_TEXT];
    return gb_fail(r->err, GB_EINDEX, "slice: positions %lld to %lld are not all in axis %d: %s",
                   (long long)a[1] + 1, (long long)last + 1, (int)a[0] + 1, list_inputs(r, false, list));
  }
  const gb_shape s = with_dim(shape_at(r, 0), a[0], (size_t)a[3]);
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_diagonal (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  if (s->ndim < 2) return bad_shape(r, "expected two axes or more");
  gb_shape t = without_axis(s, s->ndim - 1);
  if (from_end(s, 1) < t.dim[t.ndim - 1]) t.dim[t.ndim - 1] = from_end(s, 1);
  set_shape(r, 0, dtype_at(r, 0), &t);
  return GB_OK;
}

static gb_status shape_pick (const rule *r) {
  const int64_t o = r->attr->i[0];
  if (o < 0 || o >= r->in[0]->nout) return bad_option(r, "no such output");
  set_shape(r, 0, r->in[0]->out[o].dtype, &r->in[0]->out[o].shape);
  return GB_OK;
}

/* -- reductions */

/* The input's shape without the axes in attr.i[0]. */
static gb_status drop_axes (const rule *r, bool needs_elements, gb_shape *out) {
  const gb_shape *s = shape_at(r, 0);
  const int64_t mask = r->attr->i[0];
  if (mask < 0 || mask >> s->ndim != 0) return bad_shape(r, "no such axis");
  *out = (gb_shape){0};
  for (int i = 0; i < s->ndim; i++) {
    if ((mask >> i & 1) == 0) out->dim[out->ndim++] = s->dim[i];
    else if (needs_elements && s->dim[i] == 0)
      return bad_shape(r, "nothing to choose from, an axis is empty");
  }
  return GB_OK;
}

static gb_status shape_reduce (const rule *r) {
  gb_shape s;
  if (dtype_at(r, 0) == GB_BOOL) return bad_dtype(r, "no arithmetic on bool, use any, all or :to{dtype=...}");
  if (r->op == GB_OP_LOGSUMEXP) GB_TRY(need_floats(r, 1));
  GB_TRY(drop_axes(r, r->op == GB_OP_MIN || r->op == GB_OP_MAX, &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_argreduce (const rule *r) {
  gb_shape s;
  if (dtype_at(r, 0) == GB_BOOL) return bad_dtype(r, "bool has no order");
  GB_TRY(drop_axes(r, true, &s));
  set_shape(r, 0, GB_I64, &s);
  return GB_OK;
}

static gb_status shape_anyall (const rule *r) {
  gb_shape s;
  if (dtype_at(r, 0) != GB_BOOL) return bad_dtype(r, "expected bool");
  GB_TRY(drop_axes(r, false, &s));
  set_shape(r, 0, GB_BOOL, &s);
  return GB_OK;
}

static gb_status shape_kmin (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  GB_TRY(need_floats(r, 1));
  if (s->ndim < 1) return bad_shape(r, "expected one axis or more");
  if (r->attr->i[1] < 1) return bad_option(r, "expected k of 1 or more");
  r->attr->i[0] = (int64_t)1 << (s->ndim - 1);
  const gb_shape t = with_dim(s, s->ndim - 1, (size_t)r->attr->i[1]);
  set_shape(r, 0, dtype_at(r, 0), &t);
  set_shape(r, 1, GB_I64, &t);
  return GB_OK;
}

/* -- contractions */

static gb_status shape_matmul (const rule *r) {
  const gb_shape *a = shape_at(r, 0), *b = shape_at(r, 1);
  gb_shape s;
  GB_TRY(need_floats(r, 2));
  GB_TRY(same_dtypes(r, 0, 2));
  if (a->ndim < 2 || b->ndim < 2) return bad_shape(r, "expected matrices");
  if (from_end(a, 1) != from_end(b, 2))
    return bad_shape(r, "inner sizes differ (n x k by k x m; x:t() transposes)");
  GB_TRY(batched(r, 2, from_end(a, 2), from_end(b, 1), &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_sqdist (const rule *r) {
  if (r->nin != 2 && r->nin != 3) return bad_option(r, "expected x, y and perhaps weights");
  const gb_shape *x = shape_at(r, 0), *y = shape_at(r, 1);
  gb_shape s;
  GB_TRY(need_floats(r, r->nin));
  GB_TRY(same_dtypes(r, 0, r->nin));
  if (x->ndim < 2 || y->ndim < 2) return bad_shape(r, "expected matrices of points");
  if (from_end(x, 1) != from_end(y, 1)) return bad_shape(r, "numbers of features differ");
  if (r->nin == 3 && (shape_at(r, 2)->ndim != 1 || shape_at(r, 2)->dim[0] != from_end(x, 1)))
    return bad_shape(r, "expected one weight a feature");
  GB_TRY(batched(r, 2, from_end(x, 2), from_end(y, 2), &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_diffmv (const rule *r) {
  const gb_shape *w = shape_at(r, 0), *x = shape_at(r, 1), *y = shape_at(r, 2);
  gb_shape s;
  GB_TRY(need_floats(r, 3));
  GB_TRY(same_dtypes(r, 0, 3));
  if (w->ndim < 2 || x->ndim < 2 || y->ndim < 2) return bad_shape(r, "expected matrices");
  if (from_end(w, 2) != from_end(x, 2) || from_end(w, 1) != from_end(y, 2) ||
      from_end(x, 1) != from_end(y, 1))
    return bad_shape(r, "sizes differ");
  GB_TRY(batched(r, 3, from_end(x, 2), from_end(x, 1), &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

/* -- joining, ordering, indexing */

static gb_status shape_cat (const rule *r) {
  if (r->nin < 1) return bad_option(r, "expected one tensor or more");
  gb_shape s = *shape_at(r, 0);
  GB_TRY(same_dtypes(r, 0, r->nin));
  GB_TRY(fix_axis(r, s.ndim));
  const int64_t axis = r->attr->i[0];
  for (int i = 1; i < r->nin; i++) {
    const gb_shape *t = shape_at(r, i), level = t->ndim == s.ndim ? with_dim(t, axis, s.dim[axis]) : *t;
    if (!gb_shape_equal(&level, &s)) {
      const rule pair = {.op = r->op, .nin = 2, .in = (gb_node *const[]){r->in[0], r->in[i]}, .err = r->err};
      return bad_shape(&pair,
                       t->ndim == s.ndim
                           ? "shapes differ in another axis than the joined one (only that one may differ)"
                           : "numbers of dimensions differ (unsqueeze adds one)");
    }
    if (__builtin_add_overflow(s.dim[axis], t->dim[axis], &s.dim[axis]))
      return bad_shape(r, "size overflows");
  }
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

/* Attribute i: positions are stored as i32. */
static gb_dtype dtype_of_positions (const rule *r, int i) {
  r->attr->i[i] = r->attr->i[i] != 0;
  return r->attr->i[i] ? GB_I32 : GB_I64;
}

static gb_status shape_sort (const rule *r) {
  if (dtype_at(r, 0) == GB_BOOL) return bad_dtype(r, "bool has no order");
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  r->attr->i[1] = r->attr->i[1] != 0;
  set_shape(r, 0, dtype_at(r, 0), shape_at(r, 0));
  set_shape(r, 1, dtype_of_positions(r, 2), shape_at(r, 0));
  return GB_OK;
}

static gb_status shape_topk (const rule *r) {
  if (dtype_at(r, 0) == GB_BOOL) return bad_dtype(r, "bool has no order");
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  int64_t *a = r->attr->i;
  a[2] = a[2] != 0;
  if (a[1] < 0 || (uint64_t)a[1] > shape_at(r, 0)->dim[a[0]]) return bad_shape(r, "k exceeds the axis");
  const gb_shape s = with_dim(shape_at(r, 0), a[0], (size_t)a[1]);
  set_shape(r, 0, dtype_at(r, 0), &s);
  set_shape(r, 1, dtype_of_positions(r, 3), &s);
  return GB_OK;
}

static gb_status shape_index (const rule *r) {
  GB_TRY(need_positions(r, 1));
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  const gb_shape s = with_dim(shape_at(r, 0), r->attr->i[0], shape_at(r, 1)->dim[0]);
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

/* x, positions, y */
static gb_status shape_put (const rule *r) {
  GB_TRY(need_positions(r, 1));
  GB_TRY(fix_axis(r, shape_at(r, 0)->ndim));
  if (dtype_at(r, 2) != dtype_at(r, 0)) return bad_dtype(r, "dtypes differ, convert one with :to{dtype=...}");
  if (gb_op_joins_entries(r->op) && dtype_at(r, 0) == GB_BOOL) return bad_dtype(r, "no arithmetic on bool");
  const gb_shape s = with_dim(shape_at(r, 0), r->attr->i[0], shape_at(r, 1)->dim[0]);
  if (!gb_shape_equal(&s, shape_at(r, 2))) return bad_shape(r, "the new entries do not fit the positions");
  set_shape(r, 0, dtype_at(r, 0), shape_at(r, 0));
  return GB_OK;
}

/* -- linear algebra */

static gb_status shape_square (const rule *r) {
  GB_TRY(need_computing(r, 1));
  GB_TRY(need_square(r));
  if (isnan(r->attr->f[0])) return bad_option(r, "jitter is not a number");
  set_shape(r, 0, dtype_at(r, 0), shape_at(r, 0));
  return GB_OK;
}

/* A (..., n, n) and b (..., n, r), or one A and b (n). */
static gb_status shape_lusolve (const rule *r) {
  const gb_shape *a = shape_at(r, 0), *b = shape_at(r, 1);
  gb_shape s;
  GB_TRY(need_computing(r, 2));
  GB_TRY(need_square(r));
  if (b->ndim == 0 || (b->ndim == 1 && a->ndim > 2))
    return bad_shape(r, "expected right-hand sides in the columns of matrices");
  if (b->dim[b->ndim == 1 ? 0 : b->ndim - 2] != from_end(a, 1)) return bad_shape(r, "numbers of rows differ");
  if (b->ndim == 1) s = *b;
  else GB_TRY(batched(r, 2, from_end(b, 2), from_end(b, 1), &s));
  set_shape(r, 0, dtype_at(r, 0), &s);
  return GB_OK;
}

static gb_status shape_trisolve (const rule *r) {
  r->attr->i[0] = r->attr->i[0] != 0;
  r->attr->i[1] = r->attr->i[1] != 0;
  return shape_lusolve(r);
}

/* Result i has the axes in front of the last two of 's', then these. */
static void set_matrices (const rule *r, int i, const gb_shape *s, int ndim, const size_t *dim) {
  gb_shape t = gb_shape_of(s->ndim - 2, s->dim);
  for (int k = 0; k < ndim; k++) t.dim[t.ndim++] = dim[k];
  set_shape(r, i, dtype_at(r, 0), &t);
}

static gb_status shape_inv_quad (const rule *r) {
  GB_TRY(shape_lusolve(r));
  const gb_shape s = r->out[0].shape;
  if (s.ndim == 1) set(r, 0, dtype_at(r, 0), 0, NULL);
  else set_matrices(r, 0, &s, 0, NULL);
  return GB_OK;
}

static gb_status shape_lulogdet (const rule *r) {
  GB_TRY(need_computing(r, 1));
  GB_TRY(need_square(r));
  set_matrices(r, 0, shape_at(r, 0), 0, NULL);
  return GB_OK;
}

static gb_status shape_qr (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  GB_TRY(need_computing(r, 1));
  if (s->ndim < 2 || from_end(s, 2) < from_end(s, 1))
    return bad_shape(r, "expected a matrix with no fewer rows than columns, or a batch of them");
  set_shape(r, 0, dtype_at(r, 0), s);
  set_matrices(r, 1, s, 2, (size_t[]){from_end(s, 1), from_end(s, 1)});
  return GB_OK;
}

static gb_status shape_eigh (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  GB_TRY(need_computing(r, 1));
  GB_TRY(need_square(r));
  set_matrices(r, 0, s, 1, (size_t[]){from_end(s, 1)});
  set_shape(r, 1, dtype_at(r, 0), s);
  return GB_OK;
}

static gb_status shape_svd (const rule *r) {
  const gb_shape *s = shape_at(r, 0);
  GB_TRY(need_computing(r, 1));
  if (s->ndim < 2) return bad_shape(r, "expected a matrix, or a batch of them");
  const size_t n = from_end(s, 2), m = from_end(s, 1), k = n < m ? n : m;
  set_matrices(r, 0, s, 2, (size_t[]){n, k});
  set_matrices(r, 1, s, 1, &k);
  set_matrices(r, 2, s, 2, (size_t[]){m, k});
  return GB_OK;
}

/* -- the table */

gb_status gb_shape_infer (gb_op op, int nin, gb_node *const *in, gb_attr *attr, const gb_shape *given,
                          gb_dtype dtype, gb_value out[GB_MAX_OUTPUTS], gb_error *err) {
  static gb_status (*const rules[GB_NOPS])(const rule *) = {
#define X(id, name, inputs, kind, shape, ...) shape_##shape,
#include "program/ops.def"
#undef X
  };
  const rule r = {op, nin, in, attr, given, dtype, out, err};
  if (gb_ops[op].inputs >= 0 && gb_ops[op].inputs != nin)
    return gb_fail(err, GB_EINTERNAL, "%s: expected %d inputs, got %d", gb_ops[op].name, gb_ops[op].inputs,
                   nin);
  GB_TRY(rules[op](&r));
  for (int i = 0; i < gb_ops[op].outputs; i++) {
    size_t numel;
    char text[GB_SHAPE_TEXT];
    if (!gb_shape_numel_checked(&out[i].shape, &numel))
      return gb_fail(err, GB_ESHAPE, "%s: size overflows: %s", gb_ops[op].name,
                     gb_shape_text(&out[i].shape, text));
  }
  return GB_OK;
}
