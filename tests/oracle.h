/* oracle.h - the values of a graph the slow and obvious way: every node dense, in double, rounded to its type, opaque ops by
** textbook loops. The oracle of tests that evaluate. Aborts on CALL, GEMM, SOBOL and RANDPERM, which have tests of their own. */
#ifndef GB_TESTS_ORACLE_H
#define GB_TESTS_ORACLE_H

#include "base/rng.h"
#include "graph_dense.h"

typedef struct oracle {
  size_t n;
  gb_node **order;
  double **value;              /* [n * GB_MAX_OUTPUTS] */
} oracle;

static inline double *oracle_at (const oracle *o, const gb_node *n, int output) {
  return o->value[n->index * GB_MAX_OUTPUTS + (size_t)output];
}

static inline double rounded (double v, gb_dtype t) {
  uint64_t e = 0;
  if (t == GB_F64) return v;
  if (t == GB_I64 && isnan(v)) return 0;
  gb_element_set(&e, 0, t, v);
  return gb_element_get(&e, 0, t);
}

/* folds */

static inline void oracle_map (const oracle *o, const gb_node *n, double *y) {
  for (size_t e = 0; e < gb_shape_numel(gb_node_shape(n)); e++) {
    size_t index[GB_MAXDIM];
    double v[3] = {0};
    unravel(gb_node_shape(n), e, index);
    for (int i = 0; i < n->nin; i++)
      v[i] = oracle_at(o, n->in[i], 0)[ravel(gb_node_shape(n->in[i]), gb_node_shape(n)->ndim, index)];
    y[e] = n->op == GB_OP_RADIAL
               ? gb_reference_radial((gb_profile)n->attr.i[0], (int)n->attr.i[1], (int)n->attr.i[2], v[0] * v[1], v[2])
               : gb_reference_map(n->op, v[0], v[1], v[2]);
  }
}

static inline bool better (gb_op op, double v, double best) {
  if (isnan(best)) return false;
  return isnan(v) || (op == GB_OP_MIN || op == GB_OP_ARGMIN ? v < best : v > best);
}

static inline void oracle_reduce (const oracle *o, const gb_node *n, double *y) {
  const gb_shape *from = gb_node_shape(n->in[0]), *to = gb_node_shape(n);
  const size_t count = gb_shape_numel(from), results = gb_shape_numel(to);
  const double *x = oracle_at(o, n->in[0], 0);
  double *best = calloc(results + 1, sizeof *best);
  size_t *seen = calloc(results + 1, sizeof *seen);
  for (size_t i = 0; i < results; i++) y[i] = n->op == GB_OP_PROD || n->op == GB_OP_ALL;
  for (int pass = 0; pass < 2; pass++)                 /* LOGSUMEXP: the largest first */
    for (size_t i = 0; i < count; i++) {
      size_t index[GB_MAXDIM], at = 0;
      unravel(from, i, index);
      for (int a = 0; a < from->ndim; a++)
        if ((n->attr.i[0] >> a & 1) == 0) at = at * from->dim[a] + index[a];
      if (pass == 0) {
        if (seen[at]++ == 0 || better(n->op, x[i], best[at])) {
          best[at] = x[i];
          if (n->op == GB_OP_ARGMIN || n->op == GB_OP_ARGMAX) y[at] = (double)seen[at];
          if (n->op == GB_OP_MIN || n->op == GB_OP_MAX) y[at] = x[i];
        }
      } else if (n->op == GB_OP_SUM) y[at] += x[i];
      else if (n->op == GB_OP_PROD) y[at] *= x[i];
      else if (n->op == GB_OP_LOGSUMEXP) y[at] += x[i] == best[at] ? 1 : exp(x[i] - best[at]);
      else if (n->op == GB_OP_ANY) y[at] = y[at] != 0 || x[i] != 0;
      else if (n->op == GB_OP_ALL) y[at] = y[at] != 0 && x[i] != 0;
    }
  for (size_t i = 0; i < results && n->op == GB_OP_LOGSUMEXP; i++)
    y[i] = seen[i] == 0 ? -INFINITY : isinf(best[i]) ? best[i] : best[i] + log(y[i]);
  free(best);
  free(seen);
}

/* Element (row, column) of the matrix of input k that belongs to the batch of 'index'. */
static inline double cell_of (const oracle *o, const gb_node *n, int k, const size_t *index, size_t row, size_t column) {
  const int nd = gb_node_shape(n)->ndim;
  size_t at[GB_MAXDIM];
  memcpy(at, index, sizeof at);
  at[nd - 2] = row;
  at[nd - 1] = column;
  return oracle_at(o, n->in[k], 0)[ravel(gb_node_shape(n->in[k]), nd, at)];
}

static inline void oracle_contract (const oracle *o, const gb_node *n, double *y) {
  const gb_shape *s = gb_node_shape(n), *a = gb_node_shape(n->in[0]);
  const size_t inner = a->dim[a->ndim - 1];
  for (size_t e = 0; e < gb_shape_numel(s); e++) {
    size_t index[GB_MAXDIM] = {0};
    unravel(s, e, index);
    const size_t i = index[s->ndim - 2], j = index[s->ndim - 1];
    for (size_t k = 0; k < inner; k++) {
      if (n->op == GB_OP_SQDIST) {
        const double d = cell_of(o, n, 0, index, i, k) - cell_of(o, n, 1, index, j, k);
        y[e] += (n->nin > 2 ? oracle_at(o, n->in[2], 0)[k] : 1) * d * d;
      } else if (n->op == GB_OP_DIFFMV)
        y[e] += cell_of(o, n, 0, index, i, k) * (cell_of(o, n, 1, index, i, j) - cell_of(o, n, 2, index, k, j));
      else y[e] += cell_of(o, n, 0, index, i, k) * cell_of(o, n, 1, index, k, j);
    }
  }
}

/* Sorting positions: NaN after everything, ties by position. */
static const double *sort_key;
static int sort_sign;
static inline int by_key (const void *a, const void *b) {
  const size_t i = *(const size_t *)a, j = *(const size_t *)b;
  const double x = sort_key[i], y = sort_key[j];
  if (isnan(x) != isnan(y)) return isnan(x) ? 1 : -1;
  if (x != y && !isnan(x)) return (x < y ? -1 : 1) * sort_sign;
  return i < j ? -1 : i > j;
}

/* SORT, TOPK, KMIN and CUMSUM: each line along the axis on its own; k = extent of the result. */
static inline void oracle_lines (const oracle *o, const gb_node *n, double *y, double *positions) {
  const gb_shape *s = gb_node_shape(n->in[0]);
  const int axis = n->op == GB_OP_KMIN ? s->ndim - 1 : (int)n->attr.i[0];
  const bool descending = n->op == GB_OP_TOPK ? n->attr.i[2] == 1 : n->op != GB_OP_KMIN && n->attr.i[1] == 1;
  const size_t len = s->dim[axis], k = gb_node_shape(n)->dim[axis];
  const double *x = oracle_at(o, n->in[0], 0);
  double *line = calloc(len + 1, sizeof *line);
  size_t *at = calloc(len + 1, sizeof *at), inner = 1, outer = 1;
  for (int i = 0; i < s->ndim; i++) *(i < axis ? &outer : i > axis ? &inner : &(size_t){1}) *= s->dim[i];
  for (size_t u = 0; u < outer * inner; u++) {
    const size_t hi = u / inner, lo = u % inner;
    for (size_t i = 0; i < len; i++) {
      line[i] = x[(hi * len + i) * inner + lo];
      at[i] = i;
    }
    sort_key = line;
    sort_sign = descending ? -1 : 1;
    double sum = 0;
    if (n->op != GB_OP_CUMSUM) qsort(at, len, sizeof *at, by_key);
    for (size_t i = 0; i < k; i++) {
      const size_t to = (hi * k + i) * inner + lo;
      if (n->op == GB_OP_CUMSUM) {
        const size_t from = descending ? len - 1 - i : i;
        y[(hi * k + from) * inner + lo] = sum += line[from];
      } else {
        y[to] = i < len ? line[at[i]] : INFINITY;
        positions[to] = i < len ? (double)at[i] + 1 : 0;
      }
    }
  }
  free(line);
  free(at);
}

/* INDEX, PUT, INDEX_ADD: slabs of one index along the axis. */
static inline void oracle_gather (const oracle *o, const gb_node *n, double *y) {
  const gb_shape *s = gb_node_shape(n->in[0]);
  const int axis = (int)n->attr.i[0];
  const size_t len = s->dim[axis], k = gb_node_shape(n->in[1])->dim[0];
  const double *x = oracle_at(o, n->in[0], 0), *at = oracle_at(o, n->in[1], 0);
  size_t inner = 1, outer = 1;
  for (int i = 0; i < s->ndim; i++) *(i < axis ? &outer : i > axis ? &inner : &(size_t){1}) *= s->dim[i];
  if (n->op != GB_OP_INDEX) memcpy(y, x, gb_shape_numel(s) * sizeof *y);
  for (size_t u = 0; u < outer; u++)
    for (size_t i = 0; i < k; i++)
      for (size_t v = 0; v < inner; v++) {
        const size_t there = (u * len + (size_t)at[i] - 1) * inner + v, here = (u * k + i) * inner + v;
        if (n->op == GB_OP_INDEX) y[here] = x[there];
        else if (n->op == GB_OP_PUT) y[there] = oracle_at(o, n->in[2], 0)[here];
        else y[there] += oracle_at(o, n->in[2], 0)[here];
      }
}

static inline void oracle_cat (const oracle *o, const gb_node *n, double *y) {
  const gb_shape *s = gb_node_shape(n);
  size_t start = 0;
  for (int i = 0; i < n->nin; i++) {
    const gb_shape *t = gb_node_shape(n->in[i]);
    for (size_t e = 0; e < gb_shape_numel(t); e++) {
      size_t index[GB_MAXDIM] = {0};
      unravel(t, e, index);
      index[n->attr.i[0]] += start;
      y[ravel(s, s->ndim, index)] = oracle_at(o, n->in[i], 0)[e];
    }
    start += t->dim[n->attr.i[0]];
  }
}

/* linear algebra, n x n row-major */

static inline void naive_cholesky (size_t n, const double *a, double jitter, double *l) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double s = a[i * n + j] + (i == j ? jitter : 0);
      for (size_t k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
    }
}

/* x = op(T)^-1 b in place; b (n, r). */
static inline void naive_trisolve (size_t n, size_t r, const double *t, bool upper, bool transposed, double *b) {
  for (size_t step = 0; step < n; step++) {
    const size_t i = upper != transposed ? n - 1 - step : step;
    for (size_t c = 0; c < r; c++) {
      double s = b[i * r + c];
      for (size_t k = 0; k < n; k++) {
        const bool done = upper != transposed ? k > i : k < i;
        if (done) s -= (transposed ? t[k * n + i] : t[i * n + k]) * b[k * r + c];
      }
      b[i * r + c] = s / t[i * n + i];
    }
  }
}

/* Gauss with partial pivoting; returns log |det|. */
static inline double naive_lu (size_t n, size_t r, const double *a, double *b) {
  double *m = malloc((n * n + 1) * sizeof *m), logdet = 0;
  memcpy(m, a, n * n * sizeof *m);
  for (size_t k = 0; k < n; k++) {
    size_t p = k;
    for (size_t i = k + 1; i < n; i++)
      if (fabs(m[i * n + k]) > fabs(m[p * n + k])) p = i;
    for (size_t j = 0; j < n; j++) { const double t = m[k * n + j]; m[k * n + j] = m[p * n + j]; m[p * n + j] = t; }
    for (size_t j = 0; j < r; j++) { const double t = b[k * r + j]; b[k * r + j] = b[p * r + j]; b[p * r + j] = t; }
    logdet += log(fabs(m[k * n + k]));
    for (size_t i = k + 1; i < n; i++) {
      const double f = m[i * n + k] / m[k * n + k];
      for (size_t j = k; j < n; j++) m[i * n + j] -= f * m[k * n + j];
      for (size_t j = 0; j < r; j++) b[i * r + j] -= f * b[k * r + j];
    }
  }
  naive_trisolve(n, r, m, true, false, b);
  free(m);
  return logdet;
}

/* Modified Gram-Schmidt, twice. */
static inline void naive_qr (size_t n, size_t m, const double *a, double *q, double *r) {
  memcpy(q, a, n * m * sizeof *q);
  for (size_t j = 0; j < m; j++) {
    for (int again = 0; again < 2; again++)
      for (size_t k = 0; k < j; k++) {
        double dot = 0;
        for (size_t i = 0; i < n; i++) dot += q[i * m + k] * q[i * m + j];
        for (size_t i = 0; i < n; i++) q[i * m + j] -= dot * q[i * m + k];
        r[k * m + j] += dot;
      }
    double norm = 0;
    for (size_t i = 0; i < n; i++) norm += q[i * m + j] * q[i * m + j];
    r[j * m + j] = norm = sqrt(norm);
    for (size_t i = 0; i < n; i++) q[i * m + j] /= norm;
  }
}

/* One-sided Jacobi on the columns of w (n, m): w becomes U diag(s), v (m, m) accumulates the rotations. */
static inline void naive_jacobi (size_t n, size_t m, double *w, double *v) {
  for (size_t i = 0; i < m * m; i++) v[i] = i % (m + 1) == 0;
  for (int sweep = 0; sweep < 60; sweep++)
    for (size_t p = 0; p < m; p++)
      for (size_t q = p + 1; q < m; q++) {
        double a = 0, b = 0, c = 0;
        for (size_t i = 0; i < n; i++) {
          a += w[i * m + p] * w[i * m + p];
          b += w[i * m + q] * w[i * m + q];
          c += w[i * m + p] * w[i * m + q];
        }
        if (fabs(c) <= 1e-17 * sqrt(a * b)) continue;
        const double z = (b - a) / (2 * c), t = (z >= 0 ? 1 : -1) / (fabs(z) + sqrt(1 + z * z));
        const double cs = 1 / sqrt(1 + t * t), sn = cs * t;
        for (size_t i = 0; i < n + m; i++) {
          double *row = i < n ? w + i * m : v + (i - n) * m;
          const double x = row[p], y = row[q];
          row[p] = cs * x - sn * y;
          row[q] = sn * x + cs * y;
        }
      }
}

/* U (n, k), s (k) descending, V (m, k) of a (n, m), k = min(n, m). */
static inline void naive_svd (size_t n, size_t m, const double *a, double *u, double *s, double *v) {
  if (n < m) {
    double *t = malloc(n * m * sizeof *t);
    for (size_t i = 0; i < n * m; i++) t[i] = a[i % n * m + i / n];
    naive_svd(m, n, t, v, s, u);
    free(t);
    return;
  }
  double *w = malloc((n * m + 1) * sizeof *w), *r = malloc((m * m + 1) * sizeof *r);
  memcpy(w, a, n * m * sizeof *w);
  naive_jacobi(n, m, w, r);
  for (size_t k = 0; k < m; k++) {
    size_t best = 0;
    double most = -1;
    for (size_t j = 0; j < m; j++) {
      double norm = 0;
      for (size_t i = 0; i < n; i++) norm += w[i * m + j] * w[i * m + j];
      if (norm > most) most = norm, best = j;
    }
    s[k] = sqrt(most);
    for (size_t i = 0; i < n; i++) u[i * m + k] = w[i * m + best] / s[k], w[i * m + best] = 0;
    for (size_t i = 0; i < m; i++) v[i * m + k] = r[i * m + best];
  }
  free(w);
  free(r);
}

/* Of a positive definite matrix the singular values are the eigenvalues; ascending here. */
static inline void naive_eigh (size_t n, const double *a, double *values, double *vectors) {
  double *u = malloc(3 * n * n * sizeof *u), *s = u + n * n, *v = u + 2 * n * n;
  naive_svd(n, n, a, u, s, v);
  for (size_t k = 0; k < n; k++) {
    values[k] = s[n - 1 - k];
    for (size_t i = 0; i < n; i++) vectors[i * n + k] = v[i * n + n - 1 - k];
  }
  free(u);
}

static inline void oracle_linalg (const oracle *o, const gb_node *n, double *const *y) {
  const gb_shape *s = gb_node_shape(n->in[0]);
  const size_t rows = s->dim[0], cols = s->dim[1], count = gb_shape_numel(gb_node_shape(n->in[n->nin - 1]));
  const double *a = oracle_at(o, n->in[0], 0), *b = oracle_at(o, n->in[n->nin - 1], 0);
  const size_t r = rows == 0 ? 0 : count / rows;
  double *x = malloc((count + 1) * sizeof *x);
  memcpy(x, b, count * sizeof *x);
  switch (n->op) {
    case GB_OP_CHOLESKY: naive_cholesky(rows, a, n->attr.f[0], y[0]); break;
    case GB_OP_TRISOLVE: naive_trisolve(rows, r, a, n->attr.i[0] != 0, n->attr.i[1] != 0, x); break;
    case GB_OP_CHOL_INVERSE: for (size_t i = 0; i < count; i++) x[i] = i % (rows + 1) == 0; /* fall through */
    case GB_OP_SOLVE_CHOL:
      naive_trisolve(rows, r, a, false, false, x);
      naive_trisolve(rows, r, a, false, true, x);
      break;
    case GB_OP_INV_QUAD:
      naive_trisolve(rows, r, a, false, false, x);
      for (size_t i = 0; i < count; i++) y[0][0] += x[i] * x[i];
      break;
    case GB_OP_LOGDET: for (size_t i = 0; i < rows; i++) y[0][0] += 2 * log(a[i * rows + i]); break;
    case GB_OP_LU_SOLVE: naive_lu(rows, r, a, x); break;
    case GB_OP_LU_LOGDET: y[0][0] = naive_lu(rows, 0, a, x); break;
    case GB_OP_QR: naive_qr(rows, cols, a, y[0], y[1]); break;
    case GB_OP_EIGH: naive_eigh(rows, a, y[0], y[1]); break;
    case GB_OP_SVD: naive_svd(rows, cols, a, y[0], y[1], y[2]); break;
    default: abort();
  }
  if (n->op == GB_OP_TRISOLVE || n->op == GB_OP_CHOL_INVERSE || n->op == GB_OP_SOLVE_CHOL || n->op == GB_OP_LU_SOLVE)
    memcpy(y[0], x, count * sizeof *x);
  free(x);
}

/* the whole */

static inline double oracle_generated (const gb_node *n, const size_t *index, size_t e) {
  if (n->op == GB_OP_RAND) return gb_rand_uniform((uint64_t)n->attr.i[0], (uint64_t)n->attr.i[1], e);
  if (n->op == GB_OP_RANDN) return gb_rand_normal((uint64_t)n->attr.i[0], (uint64_t)n->attr.i[1], e);
  return generated(n, index);
}

static inline void oracle_element_wise (const oracle *o, const gb_node *n, double *y) {
  const double *x = n->nin > 0 ? oracle_at(o, n->in[0], n->op == GB_OP_PICK ? (int)n->attr.i[0] : 0) : NULL;
  for (size_t e = 0; e < gb_shape_numel(gb_node_shape(n)); e++) {
    size_t index[GB_MAXDIM] = {0};
    unravel(gb_node_shape(n), e, index);
    if (x == NULL) y[e] = oracle_generated(n, index, e);
    else y[e] = n->op == GB_OP_CAST || n->op == GB_OP_PICK ? x[e] : x[view_source(n, index, e)];
  }
}

static inline void oracle_node (const oracle *o, const gb_node *n, double *const *y) {
  switch (gb_ops[n->op].kind) {
    case GB_KIND_MAP: oracle_map(o, n, y[0]); return;
    case GB_KIND_REDUCE:
      if (n->op == GB_OP_KMIN) oracle_lines(o, n, y[0], y[1]);
      else oracle_reduce(o, n, y[0]);
      return;
    case GB_KIND_FOLD: oracle_contract(o, n, y[0]); return;
    case GB_KIND_OPAQUE: break;
    default: oracle_element_wise(o, n, y[0]); return;
  }
  switch (n->op) {
    case GB_OP_CAST: oracle_element_wise(o, n, y[0]); return;
    case GB_OP_CAT: oracle_cat(o, n, y[0]); return;
    case GB_OP_CUMSUM: case GB_OP_SORT: case GB_OP_TOPK: oracle_lines(o, n, y[0], y[1]); return;
    case GB_OP_INDEX: case GB_OP_PUT: case GB_OP_INDEX_ADD: oracle_gather(o, n, y[0]); return;
    default: oracle_linalg(o, n, y); return;
  }
}

/* The value of n's output in row-major order, malloc'ed. Nodes with values are computed again, if they have inputs. */
static inline double *oracle_of (gb_node *n, int output) {
  oracle o = {0};
  gb_error err;
  if (gb_graph_order(n->graph, 1, &n, true, &o.order, &o.n, &err) != GB_OK) abort();
  o.value = calloc(o.n * GB_MAX_OUTPUTS, sizeof *o.value);
  for (size_t i = 0; i < o.n; i++) {
    const gb_node *x = o.order[i];
    double **y = &o.value[i * GB_MAX_OUTPUTS];
    for (int k = 0; k < x->nout; k++) y[k] = calloc(gb_shape_numel(&x->out[k].shape) + 1, sizeof **y);
    if (x->nin == 0 && gb_node_has_value(x)) {
      for (int k = 0; k < x->nout; k++)
        for (size_t e = 0; e < gb_shape_numel(&x->out[k].shape); e++) {
          size_t index[GB_MAXDIM] = {0};
          unravel(&x->out[k].shape, e, index);
          y[k][e] = gb_tensor_at(&x->out[k].tensor, index);
        }
    } else oracle_node(&o, x, y);
    for (int k = 0; k < x->nout; k++)
      for (size_t e = 0; e < gb_shape_numel(&x->out[k].shape); e++) y[k][e] = rounded(y[k][e], x->out[k].dtype);
  }
  double *result = oracle_at(&o, n, output);
  o.value[n->index * GB_MAX_OUTPUTS + (size_t)output] = NULL;
  for (size_t i = 0; i < o.n * GB_MAX_OUTPUTS; i++) free(o.value[i]);
  free(o.value);
  free(o.order);
  return result;
}

#endif
