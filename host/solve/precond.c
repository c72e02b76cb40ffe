/* precond.c - partial pivoted Cholesky with Woodbury's formula, and the diagonal. */
#include "solve/precond.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "solve/product.h"

#define ROWS 256                   /* rows of a block */

static gb_status take (gb_precond *p, size_t count, double **out, gb_error *err) {
  return gb_ledger_alloc(p->ledger, GB_MEM_WORKSPACE, count * sizeof **out, "", "preconditioner", (void **)out, err);
}

void gb_precond_clear (gb_precond *p) {
  if (p->ledger != NULL) {
    gb_ledger_free(p->ledger, p->lt);
    gb_ledger_free(p->ledger, p->c);
    gb_ledger_free(p->ledger, p->d);
    gb_ledger_free(p->ledger, p->work);
  }
  *p = (gb_precond){0};
}

/* The diagonal of a lazy matrix, and one of its rows. */
static gb_status read_diagonal (gb_node *k, double *out, gb_error *err) {
  gb_node *d;
  const gb_attr attr = {0};
  GB_TRY(gb_node_build(k->graph, GB_OP_DIAGONAL, 1, &k, &attr, NULL, gb_node_dtype(k), &d, err));
  const gb_status st = gb_node_doubles(d, out, err);
  gb_node_unref(d);
  return st;
}

static gb_status read_row (gb_node *k, size_t i, double *out, gb_error *err) {
  gb_node *row;
  GB_TRY(gb_select(k, 0, i, &row, err));
  const gb_status st = gb_node_doubles(row, out, err);
  gb_node_unref(row);
  return st;
}

static gb_status start (gb_precond *p, gb_node *a, gb_error *err) {
  const gb_shape *s = gb_node_shape(a);
  char text[GB_NODE_TEXT];
  *p = (gb_precond){.ledger = &a->graph->backend->ledger, .n = s->dim[0]};
  if (s->ndim == 2 && s->dim[0] == s->dim[1]) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "expected a square matrix, got %s", gb_node_text(a, text));
}

/* ---- pivoted Cholesky ---- */

/* The largest of the diagonal left, the first of equals. */
static size_t pivot_of (const double *d, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (d[i] > d[best]) best = i;
  return best;
}

/* Row 'at' of K, in place, becomes row j of L'; d loses its squares. */
static void eliminate (gb_precond *p, size_t j, size_t at, double *d) {
  const size_t n = p->n;
  double *row = p->lt + j * n;
  for (size_t m = 0; m < j; m++) {
    const double *earlier = p->lt + m * n, f = earlier[at];
    for (size_t i = 0; i < n; i++) row[i] -= f * earlier[i];
  }
  const double root = sqrt(d[at]);
  for (size_t i = 0; i < n; i++) {
    row[i] = d[i] == 0 ? 0 : row[i] / root;      /* 0 marks the pivots before */
    d[i] = d[i] > row[i] * row[i] ? d[i] - row[i] * row[i] : 0;
  }
  row[at] = root;
  d[at] = 0;
}

static double sum_of (const double *d, size_t n) {
  double total = 0;
  for (size_t i0 = 0; i0 < n; i0 += ROWS) {
    double sum = 0;
    for (size_t i = i0; i < n && i < i0 + ROWS; i++) sum += d[i];
    total += sum;
  }
  return total;
}

static gb_status factor_rows (gb_precond *p, gb_node *k, size_t rank, double tol, double *d, gb_error *err) {
  GB_TRY(read_diagonal(k, d, err));
  for (size_t i = 0; i < p->n; i++) {
    if (!isfinite(d[i])) return gb_fail(err, GB_ENAN, "diagonal entry %zu of the kernel matrix is %g", i + 1, d[i]);
    if (d[i] < 0) return gb_fail(err, GB_ENOTPD, "diagonal entry %zu of the kernel matrix is %g", i + 1, d[i]);
  }
  const double trace = sum_of(d, p->n);
  p->trace_left = trace > 0 ? 1 : 0;
  for (p->rank = 0; p->rank < rank && p->trace_left > tol; p->rank++) {
    const size_t at = pivot_of(d, p->n);
    if (d[at] == 0) break;
    GB_TRY(read_row(k, at, p->lt + p->rank * p->n, err));
    eliminate(p, p->rank, at, d);
    p->trace_left = sum_of(d, p->n) / trace;
  }
  return GB_OK;
}

/* x (rank, r) = L' in: rows in blocks, one chain a coefficient and block. */
static void project (const gb_precond *p, size_t r, size_t c, const double *in, double *x) {
  for (size_t m = 0; m < p->rank; m++) {
    const double *l = p->lt + m * p->n;
    double total = 0;
    for (size_t i0 = 0; i0 < p->n; i0 += ROWS) {
      const size_t i1 = p->n - i0 < ROWS ? p->n : i0 + ROWS;
      double lane[4] = {0};                      /* four chains, by row number */
      for (size_t i = i0; i < i1; i++) lane[i % 4] += l[i] * in[i * r + c];
      total += (lane[0] + lane[2]) + (lane[1] + lane[3]);
    }
    x[m] = total;
  }
}

/* C = noise I + L' L, then its factor; log det P = (n - rank) log noise + log det C. */
static void factor_small (gb_precond *p) {
  const size_t k = p->rank;
  p->logdet = (double)(p->n - k) * log(p->noise);
  for (size_t i = 0; i < k; i++) project(p, 1, 0, p->lt + i * p->n, p->c + i * k);
  for (size_t i = 0; i < k; i++) p->c[i * k + i] += p->noise;
  for (size_t j = 0; j < k; j++) {
    double *row = p->c + j * k;
    for (size_t m = 0; m < j; m++) {
      for (size_t i = 0; i < m; i++) row[m] -= row[i] * p->c[m * k + i];
      row[m] /= p->c[m * k + m];
    }
    for (size_t m = 0; m < j; m++) row[j] -= row[m] * row[m];
    row[j] = sqrt(row[j]);
    p->logdet += 2 * log(row[j]);
  }
}

/* x = C^-1 x */
static void solve_small (const gb_precond *p, double *x) {
  const size_t k = p->rank;
  for (size_t i = 0; i < k; i++) {
    for (size_t m = 0; m < i; m++) x[i] -= p->c[i * k + m] * x[m];
    x[i] /= p->c[i * k + i];
  }
  for (size_t i = k; i-- > 0;) {
    x[i] /= p->c[i * k + i];
    for (size_t m = 0; m < i; m++) x[m] -= p->c[i * k + m] * x[i];
  }
}

gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, double noise, size_t rank, double tol, gb_error *err) {
  GB_TRY(start(p, k, err));
  if (!(noise > 0)) return gb_fail(err, GB_EOPTION, "noise: expected a positive number, got %g", noise);
  p->noise = noise;
  if (rank > p->n) rank = p->n;
  double *d = NULL;
  gb_status st = take(p, rank * p->n, &p->lt, err);
  if (st == GB_OK) st = take(p, rank * rank, &p->c, err);
  if (st == GB_OK) st = take(p, rank, &p->work, err);
  if (st == GB_OK) st = take(p, p->n, &d, err);
  if (st == GB_OK) st = factor_rows(p, k, rank, tol, d, err);
  gb_ledger_free(p->ledger, d);
  if (st == GB_OK) factor_small(p);
  else gb_precond_clear(p);
  return st;
}

gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err) {
  GB_TRY(start(p, a, err));
  gb_status st = take(p, p->n, &p->d, err);
  if (st == GB_OK) st = read_diagonal(a, p->d, err);
  for (size_t i = 0; st == GB_OK && i < p->n; i++) {
    if (!(p->d[i] > 0)) st = gb_fail(err, GB_ENOTPD, "diagonal entry %zu is %g, expected above 0", i + 1, p->d[i]);
    else p->logdet += log(p->d[i]);
  }
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

/* P^-1 = (I - L C^-1 L') / noise */
static void apply_low_rank (const gb_precond *p, size_t r, const double *in, double *out) {
  const double scale = 1 / p->noise;
  for (size_t c = 0; c < r; c++) {
    project(p, r, c, in, p->work);
    solve_small(p, p->work);
    for (size_t i0 = 0; i0 < p->n; i0 += ROWS) {
      const size_t w = p->n - i0 < ROWS ? p->n - i0 : ROWS;
      double sum[ROWS] = {0};
      for (size_t m = 0; m < p->rank; m++)
        for (size_t i = 0; i < w; i++) sum[i] += p->work[m] * p->lt[m * p->n + i0 + i];
      for (size_t i = 0; i < w; i++) out[(i0 + i) * r + c] = (in[(i0 + i) * r + c] - sum[i]) * scale;
    }
  }
}

void gb_precond_apply (const gb_precond *p, size_t n, size_t r, const double *in, double *out) {
  if (p != NULL && p->lt != NULL) apply_low_rank(p, r, in, out);
  else if (p != NULL && p->d != NULL)
    for (size_t i = 0; i < n * r; i++) out[i] = in[i] / p->d[i / r];
  else memcpy(out, in, n * r * sizeof *out);
}

/* The normals of column c: element 'index' of stream c. */
void gb_precond_sample (const gb_precond *p, uint64_t seed, size_t n, size_t r, size_t c, double *out) {
  const double root = p != NULL && p->lt != NULL ? sqrt(p->noise) : 1;
  for (size_t i = 0; i < n; i++) {
    out[i * r + c] = root * gb_rand_normal(seed, c, i);
    if (p != NULL && p->d != NULL) out[i * r + c] *= sqrt(p->d[i]);
  }
  if (p == NULL || p->lt == NULL) return;
  for (size_t m = 0; m < p->rank; m++) {
    const double f = gb_rand_normal(seed, c, n + m);
    for (size_t i = 0; i < n; i++) out[i * r + c] += f * p->lt[m * n + i];
  }
}
