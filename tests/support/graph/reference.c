/* reference.c - the walk, and every op that is not linear algebra. */
#include "support/graph/reference.h"

#include "support/elements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cpu/fold_reference.h"

typedef struct site { /* a node being evaluated */
  const gb_node *n;
  double *const *in; /* values of its inputs' first outputs; PICK: of the picked output */
  double **out;      /* malloc'ed buffers to fill */
  gb_error *err;
} site;

static const gb_shape *shape_in (const site *s, int i) { return gb_node_shape(s->n->in[i]); }
static size_t numel (const gb_shape *s) { return gb_shape_numel(s); }

/* -- indices */

static void unravel (size_t at, const gb_shape *s, size_t *index) {
  for (int i = s->ndim - 1; i >= 0; i--) {
    index[i] = at % s->dim[i];
    at /= s->dim[i];
  }
}

static size_t ravel (const size_t *index, const gb_shape *s) {
  size_t at = 0;
  for (int i = 0; i < s->ndim; i++) at = at * s->dim[i] + index[i];
  return at;
}

/* Element of 'from' that broadcasts to 'index' of a value of 'ndim' axes. */
static size_t broadcast (const size_t *index, int ndim, const gb_shape *from) {
  size_t own[GB_MAXDIM];
  for (int i = 0; i < from->ndim; i++) own[i] = from->dim[i] == 1 ? 0 : index[i + ndim - from->ndim];
  return ravel(own, from);
}

/* Offset of the matrix (last two axes) of 'from' that belongs to batch 'index' of 'out'. */
static size_t batch_offset (const size_t *index, const gb_shape *out, const gb_shape *from) {
  gb_shape lead = *from;
  lead.ndim -= 2;
  return broadcast(index, out->ndim - 2, &lead) * from->dim[from->ndim - 1] * from->dim[from->ndim - 2];
}

/* -- elementwise and generators */

static gb_status eval_map (const site *s) {
  const gb_node *n = s->n;
  const gb_shape *o = gb_node_shape(n);
  size_t x[GB_MAXDIM];
  for (size_t e = 0; e < numel(o); e++) {
    double v[3] = {0};
    unravel(e, o, x);
    for (int i = 0; i < n->nin; i++) v[i] = s->in[i][broadcast(x, o->ndim, shape_in(s, i))];
    s->out[0][e] = n->op == GB_OP_RADIAL ? gb_reference_radial((gb_profile)n->attr.i[0], (int)n->attr.i[1],
                                                               (int)n->attr.i[2], v[1] * v[0], v[2])
                                         : gb_reference_map(n->op, v[0], v[1], v[2]);
  }
  return GB_OK;
}

static double range_at (const gb_node *n, size_t k) {
  return gb_dtype_is_whole(gb_node_dtype(n)) ? (double)(n->attr.i[0] + n->attr.i[1] * (int64_t)k)
                                             : n->attr.f[0] + n->attr.f[1] * (double)k;
}

static gb_status eval_gen (const site *s) {
  const gb_node *n = s->n;
  const gb_shape *o = gb_node_shape(n);
  const uint64_t seed = (uint64_t)n->attr.i[0], stream = (uint64_t)n->attr.i[1];
  size_t x[GB_MAXDIM];
  for (size_t e = 0; e < numel(o); e++) {
    unravel(e, o, x);
    switch (n->op) {
      case GB_OP_CONST: s->out[0][e] = n->attr.f[0]; break;
      case GB_OP_RANGE: s->out[0][e] = range_at(n, e); break;
      case GB_OP_EYE: s->out[0][e] = x[o->ndim - 1] == x[o->ndim - 2]; break;
      case GB_OP_RAND: s->out[0][e] = gb_rand_uniform(seed, stream, e); break;
      default: s->out[0][e] = gb_rand_normal(seed, stream, e); break;
    }
  }
  return GB_OK;
}

/* -- views */

static gb_status eval_view (const site *s) {
  const gb_node *n = s->n;
  const gb_shape *o = gb_node_shape(n), *f = shape_in(s, 0);
  const int64_t *a = n->attr.i;
  for (size_t e = 0; e < numel(o); e++) {
    size_t x[GB_MAXDIM], y[GB_MAXDIM], from = e; /* reshape, unsqueeze, squeeze, pick: same order */
    unravel(e, o, x);
    memcpy(y, x, sizeof y);
    switch (n->op) {
      case GB_OP_PERMUTE:
        for (int i = 0; i < o->ndim; i++) y[a[i]] = x[i];
        from = ravel(y, f);
        break;
      case GB_OP_EXPAND: from = broadcast(x, o->ndim, f); break;
      case GB_OP_SLICE:
        y[a[0]] = (size_t)(a[1] + a[2] * (int64_t)x[a[0]]);
        from = ravel(y, f);
        break;
      case GB_OP_DIAGONAL:
        y[f->ndim - 1] = x[o->ndim - 1];
        from = ravel(y, f);
        break;
      default: break;
    }
    s->out[0][e] = s->in[0][from];
  }
  return GB_OK;
}

/* -- reductions */

typedef struct cell {
  double v, sum;
  size_t best, seen;
} cell;

/* True if t replaces the best so far: NaN beats all, the first of equals stays. */
static bool beats (double t, double best, bool smallest) {
  if (isnan(best)) return false;
  return isnan(t) || (smallest ? t < best : t > best);
}

static void reduce_one (gb_op op, cell *c, double t, size_t position) {
  const bool smallest = op == GB_OP_MIN || op == GB_OP_ARGMIN;
  switch (op) {
    case GB_OP_SUM: c->v += t; break;
    case GB_OP_PROD: c->v = c->seen ? c->v * t : t; break;
    case GB_OP_ANY: c->v = c->v != 0 || t != 0; break;
    case GB_OP_ALL: c->v = c->seen ? c->v != 0 && t != 0 : t != 0; break;
    default:
      if (c->seen && !beats(t, c->v, smallest)) break;
      c->v = t;
      c->best = position;
  }
  c->seen++;
}

static double reduced (gb_op op, const cell *c) {
  switch (op) {
    case GB_OP_PROD:
    case GB_OP_ALL: return c->seen ? c->v : 1;
    case GB_OP_ARGMIN:
    case GB_OP_ARGMAX: return (double)(c->best + 1);
    case GB_OP_LOGSUMEXP: return !c->seen ? -INFINITY : isinf(c->v) ? c->v : c->v + log(c->sum);
    default: return c->v;
  }
}

static gb_status eval_reduce (const site *s) {
  const gb_node *n = s->n;
  const gb_shape *f = shape_in(s, 0), *o = gb_node_shape(n);
  const unsigned mask = (unsigned)n->attr.i[0];
  cell *cells = calloc(numel(o) + 1, sizeof *cells);
  for (int pass = 0; pass < 2; pass++) /* LOGSUMEXP: maxima first, then sums */
    for (size_t e = 0; e < numel(f); e++) {
      size_t x[GB_MAXDIM], kept = 0, position = 0;
      unravel(e, f, x);
      for (int i = 0; i < f->ndim; i++) {
        if (mask >> i & 1u) position = position * f->dim[i] + x[i];
        else kept = kept * f->dim[i] + x[i];
      }
      if (pass == 0) reduce_one(n->op, &cells[kept], s->in[0][e], position);
      else cells[kept].sum += exp(s->in[0][e] - cells[kept].v);
    }
  for (size_t e = 0; e < numel(o); e++) s->out[0][e] = reduced(n->op, &cells[e]);
  free(cells);
  return GB_OK;
}

/* -- contractions */

/* out[i, j] for one pair of rows of the last axes. */
static double contract_one (const site *s, const size_t *x, size_t i, size_t j) {
  const gb_node *n = s->n;
  const gb_shape *o = gb_node_shape(n), *fa = shape_in(s, 0), *fb = shape_in(s, 1);
  const double *a = s->in[0] + batch_offset(x, o, fa), *b = s->in[1] + batch_offset(x, o, fb);
  const size_t da = fa->dim[fa->ndim - 1], db = fb->dim[fb->ndim - 1];
  double t = 0;
  for (size_t k = 0; k < da; k++) {
    if (n->op == GB_OP_SQDIST) {
      const double d = a[i * da + k] - b[j * db + k];
      t += (n->nin == 3 ? s->in[2][k] : 1) * d * d;
    } else if (n->op == GB_OP_DIFFMV) { /* a is w (n, m), b is x (n, d); i row, j feature */
      const gb_shape *fy = shape_in(s, 2);
      t += a[i * da + k] * (b[i * db + j] - s->in[2][batch_offset(x, o, fy) + k * db + j]);
    } else {
      t += a[i * da + k] * b[k * db + j];
    }
  }
  return t;
}

static gb_status eval_contract (const site *s) {
  const gb_shape *o = gb_node_shape(s->n);
  for (size_t e = 0; e < numel(o); e++) {
    size_t x[GB_MAXDIM];
    unravel(e, o, x);
    s->out[0][e] = contract_one(s, x, x[o->ndim - 2], x[o->ndim - 1]);
  }
  return GB_OK;
}

/* -- along one axis: sorting, running sums, positions */

typedef struct line {
  size_t before, n, after;
} line; /* extents around and of an axis */

static line line_of (const gb_shape *s, int64_t axis) {
  line l = {1, s->dim[axis], 1};
  for (int i = 0; i < axis; i++) l.before *= s->dim[i];
  for (int i = (int)axis + 1; i < s->ndim; i++) l.after *= s->dim[i];
  return l;
}

static size_t at (const line *l, size_t b, size_t i, size_t a) { return (b * l->n + i) * l->after + a; }

/* Position order of a row: stable, NaN last. */
static void sort_row (const double *v, size_t n, bool descending, size_t *order) {
  for (size_t i = 0; i < n; i++) {
    size_t j = i;
    for (; j > 0; j--) {
      const double p = v[order[j - 1]], q = v[i];
      const bool later = isnan(p) ? !isnan(q) : descending ? q > p : q < p;
      if (!later) break;
      order[j] = order[j - 1];
    }
    order[j] = i;
  }
}

/* SORT, TOPK and KMIN: the first of each sorted row. */
static gb_status eval_sort (const site *s) {
  const gb_node *n = s->n;
  const int64_t axis = n->op == GB_OP_KMIN ? shape_in(s, 0)->ndim - 1 : n->attr.i[0];
  const line f = line_of(shape_in(s, 0), axis), o = line_of(gb_node_shape(n), axis);
  const bool descending = n->op == GB_OP_SORT ? n->attr.i[1] : n->op == GB_OP_TOPK && n->attr.i[2];
  double *row = malloc((f.n + 1) * sizeof *row);
  size_t *order = malloc((f.n + 1) * sizeof *order);
  for (size_t b = 0; b < f.before; b++)
    for (size_t a = 0; a < f.after; a++) {
      for (size_t i = 0; i < f.n; i++) row[i] = s->in[0][at(&f, b, i, a)];
      sort_row(row, f.n, descending, order);
      for (size_t i = 0; i < o.n; i++) {
        s->out[0][at(&o, b, i, a)] = i < f.n ? row[order[i]] : INFINITY;
        s->out[1][at(&o, b, i, a)] = i < f.n ? (double)(order[i] + 1) : 0;
      }
    }
  free(row);
  free(order);
  return GB_OK;
}

static gb_status eval_cumsum (const site *s) {
  const line l = line_of(gb_node_shape(s->n), s->n->attr.i[0]);
  for (size_t b = 0; b < l.before; b++)
    for (size_t a = 0; a < l.after; a++) {
      double sum = 0;
      for (size_t step = 0; step < l.n; step++) {
        const size_t i = s->n->attr.i[1] ? l.n - 1 - step : step;
        s->out[0][at(&l, b, i, a)] = sum += s->in[0][at(&l, b, i, a)];
      }
    }
  return GB_OK;
}

static double joined (gb_op op, double a, double b) {
  switch (op) {
    case GB_OP_PUT: return b;
    case GB_OP_INDEX_ADD: return a + b;
    default: return isnan(a) || isnan(b) ? NAN : op == GB_OP_INDEX_MAX ? fmax(a, b) : fmin(a, b);
  }
}

/* INDEX, PUT, INDEX_ADD, INDEX_MAX, INDEX_MIN */
static gb_status eval_positions (const site *s) {
  const gb_node *n = s->n;
  const line f = line_of(shape_in(s, 0), n->attr.i[0]), o = line_of(gb_node_shape(n), n->attr.i[0]);
  const size_t k = shape_in(s, 1)->dim[0];
  const line y = {f.before, k, f.after};
  if (n->op != GB_OP_INDEX) memcpy(s->out[0], s->in[0], numel(gb_node_shape(n)) * sizeof(double));
  for (size_t i = 0; i < k; i++) {
    const double p = s->in[1][i];
    if (!(p >= 1 && p <= (double)f.n))
      return gb_fail(s->err, GB_EINDEX, "position %g is not in 1 .. %zu", p, f.n);
    for (size_t b = 0; b < f.before; b++)
      for (size_t a = 0; a < f.after; a++) {
        const size_t there = at(&f, b, (size_t)p - 1, a);
        if (n->op == GB_OP_INDEX) s->out[0][at(&o, b, i, a)] = s->in[0][there];
        else s->out[0][there] = joined(n->op, s->out[0][there], s->in[2][at(&y, b, i, a)]);
      }
  }
  return GB_OK;
}

static gb_status eval_cat (const site *s) {
  const line o = line_of(gb_node_shape(s->n), s->n->attr.i[0]);
  size_t start = 0;
  for (int p = 0; p < s->n->nin; p++) {
    const line f = line_of(shape_in(s, p), s->n->attr.i[0]);
    for (size_t b = 0; b < f.before; b++)
      for (size_t i = 0; i < f.n; i++)
        for (size_t a = 0; a < f.after; a++) s->out[0][at(&o, b, start + i, a)] = s->in[p][at(&f, b, i, a)];
    start += f.n;
  }
  return GB_OK;
}

static double nearest_i32 (double v) { return isnan(v) ? 0 : fmin(fmax(trunc(v), -0x1p31), 0x1p31 - 1); }

static gb_status eval_cast (const site *s) {
  const gb_dtype t = gb_node_dtype(s->n);
  for (size_t e = 0; e < numel(gb_node_shape(s->n)); e++) {
    const double v = s->in[0][e];
    s->out[0][e] = t == GB_BOOL ? v != 0 : t == GB_I64 ? trunc(v) : t == GB_I32 ? nearest_i32(v) : v;
  }
  return GB_OK;
}

/* -- linear algebra */

/* One slice: x are its inputs, y its results. */
typedef struct slice {
  size_t rows, cols, r; /* of the matrix; right-hand sides */
  const double *x[2];
  double *y[GB_MAX_OUTPUTS];
} slice;

static gb_status eval_slice (const site *s, const slice *l) {
  const gb_node *n = s->n;
  const size_t rows = l->rows, cols = l->cols, r = l->r;
  const double *a = l->x[0];
  double det = 0, *b = malloc((rows * (r > rows ? r : rows) + 1) * sizeof *b);
  bool regular = true;
  if (n->nin == 2) memcpy(b, l->x[1], rows * r * sizeof *b);
  gb_status st = GB_OK;
  size_t results = 1; /* numbers in b */
  switch (n->op) {
    case GB_OP_CHOLESKY: {
      const size_t minor = reference_cholesky(a, n->attr.f[0], rows, l->y[0]);
      if (minor) st = gb_fail(s->err, GB_ENOTPD, "the leading minor of order %zu is not positive", minor);
      results = 0;
      break;
    }
    case GB_OP_TRISOLVE:
      reference_trisolve(a, rows, n->attr.i[0], n->attr.i[1], r, b);
      results = rows * r;
      break;
    case GB_OP_SOLVE_CHOL:
      reference_solve_chol(a, rows, r, b);
      results = rows * r;
      break;
    case GB_OP_CHOL_INVERSE:
      for (size_t i = 0; i < rows * rows; i++) b[i] = i % (rows + 1) == 0;
      reference_solve_chol(a, rows, rows, b);
      results = rows * rows;
      break;
    case GB_OP_LOGDET:
      for (size_t i = 0; i < rows; i++) det += 2 * log(a[i * rows + i]);
      b[0] = det;
      break;
    case GB_OP_INV_QUAD:
      reference_solve_chol(a, rows, r, b);
      for (size_t i = 0; i < rows * r; i++) det += b[i] * l->x[1][i];
      b[0] = det;
      break;
    case GB_OP_LU_SOLVE:
      regular = reference_lu_solve(a, rows, r, b, &det);
      results = rows * r;
      break;
    case GB_OP_LU_LOGDET:
      regular = reference_lu_solve(a, rows, 0, b, &det);
      b[0] = det;
      break;
    case GB_OP_QR: reference_qr(a, rows, cols, l->y[0], l->y[1]); break;
    case GB_OP_EIGH: reference_eigh(a, rows, l->y[0], l->y[1]); break;
    default: reference_svd(a, rows, cols, l->y[0], l->y[1], l->y[2]); break;
  }
  if (!regular) st = gb_fail(s->err, GB_ENAN, "the matrix is singular");
  if (gb_ops[n->op].outputs == 1) memcpy(l->y[0], b, results * sizeof *b);
  free(b);
  return st;
}

static size_t numbers_of_matrix (const gb_shape *s) {
  return s->ndim == 1 ? s->dim[0] : s->dim[s->ndim - 1] * s->dim[s->ndim - 2];
}

/* Which matrix of 's' belongs to index k of the leading axes 'lead': axis by axis from the right, extent 1 stays. */
static size_t broadcast_to (const gb_shape *lead, const gb_shape *s, size_t k) {
  size_t index[GB_MAXDIM] = {0}, at = 0;
  for (int a = lead->ndim - 1; a >= 0; a--) {
    index[a] = k % lead->dim[a];
    k /= lead->dim[a];
  }
  const int own = s->ndim > 2 ? s->ndim - 2 : 0;
  for (int a = 0; a < own; a++) at = at * s->dim[a] + (s->dim[a] == 1 ? 0 : index[lead->ndim - own + a]);
  return at;
}

static gb_status eval_linalg (const site *s) {
  const gb_node *n = s->n;
  const gb_shape *a = shape_in(s, 0), *rhs = n->nin == 2 ? shape_in(s, 1) : a;
  const int own = a->ndim > rhs->ndim ? a->ndim : rhs->ndim, axes = own > 2 ? own - 2 : 0;
  const gb_shape lead = gb_shape_of(axes, n->out[0].shape.dim);
  for (size_t k = 0; k < numel(&lead); k++) {
    slice l = {.rows = a->dim[a->ndim - 2],
               .cols = a->dim[a->ndim - 1],
               .r = n->nin < 2 || rhs->ndim == 1 ? 1 : rhs->dim[rhs->ndim - 1]};
    for (int i = 0; i < n->nin; i++)
      l.x[i] = s->in[i] + broadcast_to(&lead, shape_in(s, i), k) * numbers_of_matrix(shape_in(s, i));
    for (int o = 0; o < n->nout; o++) l.y[o] = s->out[o] + k * (numel(&n->out[o].shape) / numel(&lead));
    GB_TRY(eval_slice(s, &l));
  }
  return GB_OK;
}

/* -- the walk */

static gb_status eval_opaque (const site *s) {
  switch (s->n->op) {
    case GB_OP_MOVE:
    case GB_OP_CAST: return eval_cast(s);
    case GB_OP_CAT: return eval_cat(s);
    case GB_OP_CUMSUM: return eval_cumsum(s);
    case GB_OP_SORT:
    case GB_OP_TOPK: return eval_sort(s);
    case GB_OP_INDEX:
    case GB_OP_PUT:
    case GB_OP_INDEX_ADD:
    case GB_OP_INDEX_MAX:
    case GB_OP_INDEX_MIN: return eval_positions(s);
    case GB_OP_GEMM: return eval_contract(s);
    case GB_OP_SOBOL:
    case GB_OP_RANDPERM:
    case GB_OP_CALL: return gb_fail(s->err, GB_EOPTION, "no reference for %s", gb_ops[s->n->op].name);
    default: return eval_linalg(s);
  }
}

static gb_status eval_node (const site *s) {
  switch (gb_ops[s->n->op].kind) {
    case GB_KIND_MAP: return eval_map(s);
    case GB_KIND_GEN: return eval_gen(s);
    case GB_KIND_VIEW: return eval_view(s);
    case GB_KIND_REDUCE: return s->n->op == GB_OP_KMIN ? eval_sort(s) : eval_reduce(s);
    case GB_KIND_FOLD: return eval_contract(s);
    default: return eval_opaque(s);
  }
}

/* The node's own values: bound, stored in a leaf, or stored where the inputs are gone. */
static gb_status stored (gb_node *n, const reference_bindings *with, double **out, gb_error *err) {
  for (size_t i = 0; with && i < with->n; i++)
    if (with->leaf[i] == n) {
      memcpy(out[0], with->value[i], numel(gb_node_shape(n)) * sizeof(double));
      return GB_OK;
    }
  for (int o = 0; o < n->nout; o++) {
    const gb_value *v = &n->out[o];
    if (!v->tensor.storage) return gb_fail(err, GB_EOPTION, "a leaf has no value");
    for (size_t e = 0; e < numel(&v->shape); e++) {
      size_t x[GB_MAXDIM];
      unravel(e, &v->shape, x);
      out[o][e] = element_at(&v->tensor, x);
    }
  }
  return GB_OK;
}

static bool is_bound (const gb_node *n, const reference_bindings *with) {
  for (size_t i = 0; with && i < with->n; i++)
    if (with->leaf[i] == n) return true;
  return false;
}

/* values[position][output] of every node; positions are n->index, set by the walk and constant here. */
static gb_status eval_all (gb_node **order, size_t count, const reference_bindings *with,
                           double *(*values)[GB_MAX_OUTPUTS], gb_error *err) {
  for (size_t p = 0; p < count; p++) {
    gb_node *n = order[p];
    for (int o = 0; o < n->nout; o++) values[p][o] = malloc((numel(&n->out[o].shape) + 1) * sizeof(double));
    const bool leaf = n->op == GB_OP_LEAF || (n->nin == 0 && gb_node_has_value(n)) || is_bound(n, with);
    if (leaf) {
      GB_TRY(stored(n, with, values[p], err));
      continue;
    }
    double **in = malloc(((size_t)n->nin + 1) * sizeof *in);
    for (int i = 0; i < n->nin; i++) in[i] = values[n->in[i]->index][n->op == GB_OP_PICK ? n->attr.i[0] : 0];
    const site s = {n, in, values[p], err};
    const gb_status st = eval_node(&s);
    free(in);
    if (st != GB_OK) return st;
  }
  return GB_OK;
}

gb_status reference_eval (gb_node *n, int output, const reference_bindings *with, double **out,
                          gb_shape *shape, gb_error *err) {
  gb_node **order;
  size_t count;
  GB_TRY(gb_graph_order(n->graph, 1, &n, GB_WALK_ALL, &order, &count, err));
  double *(*values)[GB_MAX_OUTPUTS] = calloc(count, sizeof *values);
  const gb_status st = eval_all(order, count, with, values, err);
  *out = NULL;
  if (st == GB_OK) {
    *out = values[count - 1][output];
    values[count - 1][output] = NULL;
    if (shape) *shape = n->out[output].shape;
  }
  for (size_t p = 0; p < count; p++)
    for (int o = 0; o < GB_MAX_OUTPUTS; o++) free(values[p][o]);
  free(values);
  free(order);
  return st;
}

double reference_scalar (gb_node *n, const reference_bindings *with) {
  double *v, r;
  if (numel(gb_node_shape(n)) != 1 || reference_eval(n, 0, with, &v, NULL, NULL) != GB_OK) return NAN;
  r = v[0];
  free(v);
  return r;
}

bool reference_close (double got, double want, double rtol, double atol) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= atol + rtol * fabs(want);
}

bool reference_all_close (const double *got, const double *want, size_t n, double rtol, double atol) {
  for (size_t i = 0; i < n; i++)
    if (!reference_close(got[i], want[i], rtol, atol)) {
      printf("element %zu: got %.17g, want %.17g\n", i, got[i], want[i]);
      return false;
    }
  return true;
}
