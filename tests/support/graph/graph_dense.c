/* graph_dense.c - every op of the tests of graphs, on dense arrays of doubles. */
#include "support/graph/graph_dense.h"

#include "support/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cpu/fold_reference.h"

/* The multi-index of element 'at'. */
static void unravel (const gb_shape *s, size_t at, size_t *index) {
  for (int i = s->ndim - 1; i >= 0; i--) {
    index[i] = at % s->dim[i];
    at /= s->dim[i];
  }
}

/* The element of a value of shape 's' that broadcasts to 'index' of a shape with 'ndim' axes. */
static size_t ravel (const gb_shape *s, int ndim, const size_t *index) {
  size_t at = 0;
  for (int i = 0; i < s->ndim; i++) at = at * s->dim[i] + (s->dim[i] == 1 ? 0 : index[i + ndim - s->ndim]);
  return at;
}

/* The element of the input of view 'n' that is element 'index' of n. */
static size_t view_source (const gb_node *n, const size_t *index, size_t at) {
  const gb_shape *from = gb_node_shape(n->in[0]), *to = gb_node_shape(n);
  const int64_t *a = n->attr.i;
  size_t x[GB_MAXDIM] = {0};
  switch (n->op) {
    case GB_OP_RESHAPE:
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE: return at;
    case GB_OP_EXPAND: return ravel(from, to->ndim, index);
    case GB_OP_PERMUTE:
      for (int i = 0; i < to->ndim; i++) x[a[i]] = index[i];
      break;
    case GB_OP_SLICE:
      memcpy(x, index, sizeof x);
      x[a[0]] = (size_t)(a[1] + (int64_t)index[a[0]] * a[2]);
      break;
    case GB_OP_DIAGONAL:
      memcpy(x, index, (size_t)to->ndim * sizeof *x);
      x[to->ndim] = x[to->ndim - 1];
      break;
    default: abort();
  }
  return ravel(from, from->ndim, x);
}

static double combine (gb_op op, double acc, double v, size_t nth) {
  switch (op) {
    case GB_OP_SUM: return acc + v;
    case GB_OP_PROD: return acc * v;
    case GB_OP_MIN: return nth == 0 || v < acc || isnan(v) ? v : acc;
    case GB_OP_MAX: return nth == 0 || v > acc || isnan(v) ? v : acc;
    case GB_OP_LOGSUMEXP: return acc + exp(v);
    case GB_OP_ANY: return acc != 0 || v != 0;
    case GB_OP_ALL: return acc != 0 && v != 0;
    default: abort();
  }
}

static void dense_reduce (gb_node *n, double *y) {
  const gb_shape *from = gb_node_shape(n->in[0]), *to = gb_node_shape(n);
  const size_t count = gb_shape_numel(from), results = gb_shape_numel(to);
  double *x = dense(n->in[0]);
  size_t *seen = calloc(results + 1, sizeof *seen);
  for (size_t i = 0; i < results; i++) y[i] = n->op == GB_OP_PROD || n->op == GB_OP_ALL;
  for (size_t i = 0; i < count; i++) {
    size_t index[GB_MAXDIM], at = 0;
    unravel(from, i, index);
    for (int a = 0; a < from->ndim; a++)
      if ((n->attr.i[0] >> a & 1) == 0) at = at * from->dim[a] + index[a];
    y[at] = combine(n->op, y[at], x[i], seen[at]++);
  }
  for (size_t i = 0; i < results && n->op == GB_OP_LOGSUMEXP; i++) y[i] = log(y[i]);
  free(seen);
  free(x);
}

static void dense_map (gb_node *n, double *y) {
  double *x[3] = {0};
  for (int i = 0; i < n->nin; i++) x[i] = dense(n->in[i]);
  for (size_t e = 0; e < gb_shape_numel(gb_node_shape(n)); e++) {
    size_t index[GB_MAXDIM];
    double v[3] = {0};
    unravel(gb_node_shape(n), e, index);
    for (int i = 0; i < n->nin; i++)
      v[i] = x[i][ravel(gb_node_shape(n->in[i]), gb_node_shape(n)->ndim, index)];
    y[e] = n->op == GB_OP_RADIAL ? gb_reference_radial((gb_profile)n->attr.i[0], (int)n->attr.i[1],
                                                       (int)n->attr.i[2], v[0] * v[1], v[2])
                                 : gb_reference_map(n->op, v[0], v[1], v[2]);
  }
  for (int i = 0; i < n->nin; i++) free(x[i]);
}

/* MATMUL and SQDIST: the last axis of the first input against an axis of the second. */
static void dense_contract (gb_node *n, double *y) {
  const gb_shape *s = gb_node_shape(n->in[0]), *t = gb_node_shape(n->in[1]), *o = gb_node_shape(n);
  double *a = dense(n->in[0]), *b = dense(n->in[1]), *w = n->nin > 2 ? dense(n->in[2]) : NULL;
  const bool product = n->op == GB_OP_MATMUL;
  for (size_t e = 0; e < gb_shape_numel(o); e++) {
    size_t index[GB_MAXDIM], i, j;
    unravel(o, e, index);
    i = index[o->ndim - 2];
    j = index[o->ndim - 1];
    y[e] = 0;
    for (size_t k = 0; k < s->dim[s->ndim - 1]; k++) {
      index[o->ndim - 2] = i;
      index[o->ndim - 1] = k;
      const double u = a[ravel(s, o->ndim, index)];
      index[o->ndim - 2] = product ? k : j;
      index[o->ndim - 1] = product ? j : k;
      const double v = b[ravel(t, o->ndim, index)];
      y[e] += product ? u * v : (w != NULL ? w[k] : 1) * (u - v) * (u - v);
    }
  }
  free(a);
  free(b);
  free(w);
}

static void dense_cat (gb_node *n, double *y) {
  const gb_shape *o = gb_node_shape(n);
  const int axis = (int)n->attr.i[0];
  size_t start = 0;
  for (int i = 0; i < n->nin; i++) {
    const gb_shape *s = gb_node_shape(n->in[i]);
    double *x = dense(n->in[i]);
    for (size_t e = 0; e < gb_shape_numel(s); e++) {
      size_t index[GB_MAXDIM];
      unravel(s, e, index);
      index[axis] += start;
      y[ravel(o, o->ndim, index)] = x[e];
    }
    start += s->dim[axis];
    free(x);
  }
}

static double range_at (const gb_node *n, size_t k) {
  return gb_dtype_is_whole(gb_node_dtype(n)) ? (double)(n->attr.i[0] + n->attr.i[1] * (int64_t)k)
                                             : n->attr.f[0] + n->attr.f[1] * (double)k;
}

static double generated (const gb_node *n, const size_t *index) {
  const int ndim = gb_node_shape(n)->ndim;
  switch (n->op) {
    case GB_OP_LEAF: return element_at(&n->out[0].tensor, index);
    case GB_OP_CONST: return n->attr.f[0];
    case GB_OP_RANGE: return range_at(n, index[0]);
    case GB_OP_EYE: return index[ndim - 1] == index[ndim - 2];
    default: abort();
  }
}

double *dense (gb_node *n) {
  const size_t count = gb_shape_numel(gb_node_shape(n));
  double *y = calloc(count + 1, sizeof *y);
  const gb_kind kind = gb_ops[n->op].kind;
  if (kind == GB_KIND_MAP) dense_map(n, y);
  else if (kind == GB_KIND_REDUCE) dense_reduce(n, y);
  else if (n->op == GB_OP_MATMUL || n->op == GB_OP_SQDIST) dense_contract(n, y);
  else if (n->op == GB_OP_CAT) dense_cat(n, y);
  else {
    double *x = n->nin > 0 ? dense(n->in[0]) : NULL;
    for (size_t e = 0; e < count; e++) {
      size_t index[GB_MAXDIM] = {0};
      unravel(gb_node_shape(n), e, index);
      y[e] = x == NULL                                    ? generated(n, index)
             : n->op == GB_OP_CAST || n->op == GB_OP_MOVE ? x[e]
                                                          : x[view_source(n, index, e)];
    }
    free(x);
  }
  return y;
}
