/* precond.c - partial pivoted Cholesky with Woodbury's formula, and the diagonal. Blocks of rows, and rows
** of L', are tasks; an interrupt leaves garbage behind, and the solver that called polls for it. */
#include "solve/precond.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/blas.h"
#include "cpu/tasks.h"
#include "solve/product.h"

#define ROWS 256                   /* rows of a block, and of one chain of a sum */
#define LONG 2048                  /* entries of a task that updates a row of L' */
#define WIDTH 16                   /* columns that are applied together */

static size_t blocks (size_t n, size_t side) { return (n + side - 1) / side; }
static size_t extent (size_t n, size_t from, size_t side) { return n - from < side ? n - from : side; }

static gb_status take (gb_precond *p, size_t count, double **out, gb_error *err) {
  return gb_ledger_alloc(p->ledger, GB_MEM_WORKSPACE, count * sizeof **out, "", "preconditioner",
                         (void **)out, err);
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
  *p = (gb_precond){.ledger = &a->graph->backend->ledger, .pool = a->graph->backend->pool, .n = s->dim[0]};
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

typedef struct elimination {
  gb_precond *p;
  double *d, root;                 /* the diagonal left; the square root of its pivot */
  size_t j, at;                    /* row of L' in the making, and its pivot */
} elimination;

/* A piece of row 'at' of K, in place, becomes one of row j of L'; d loses its squares, and is 0 at pivots. */
static void eliminate_piece (void *ud, gb_tasks *s, size_t task, int thread) {
  const elimination *e = ud;
  (void)s, (void)thread;
  const size_t i0 = task * LONG, n = e->p->n, len = extent(n, i0, LONG);
  double *row = e->p->lt + e->j * n + i0, *d = e->d + i0;
  for (size_t m = 0; m < e->j; m++) {
    const double *earlier = e->p->lt + m * n + i0, f = e->p->lt[m * n + e->at];
    for (size_t i = 0; i < len; i++) row[i] -= f * earlier[i];
  }
  for (size_t i = 0; i < len; i++) {
    row[i] = d[i] == 0 ? 0 : row[i] / e->root;
    d[i] = d[i] > row[i] * row[i] ? d[i] - row[i] * row[i] : 0;
  }
}

static gb_status eliminate (gb_precond *p, size_t j, size_t at, double *d, gb_error *err) {
  elimination e = {p, d, sqrt(d[at]), j, at};
  GB_TRY(gb_tasks_run(p->pool, blocks(p->n, LONG), eliminate_piece, &e, err));
  p->lt[j * p->n + at] = e.root;
  d[at] = 0;
  return GB_OK;
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
    if (!isfinite(d[i]))
      return gb_fail(err, GB_ENAN, "diagonal entry %zu of the kernel matrix is %g", i + 1, d[i]);
    if (d[i] < 0)
      return gb_fail(err, GB_ENOTPD, "diagonal entry %zu of the kernel matrix is %g", i + 1, d[i]);
  }
  const double trace = sum_of(d, p->n);
  p->trace_left = trace > 0 ? 1 : 0;
  for (p->rank = 0; p->rank < rank && p->trace_left > tol; p->rank++) {
    const size_t at = pivot_of(d, p->n);
    if (d[at] == 0) break;
    GB_TRY(read_row(k, at, p->lt + p->rank * p->n, err));
    GB_TRY(eliminate(p, p->rank, at, d, err));
    p->trace_left = sum_of(d, p->n) / trace;
  }
  return GB_OK;
}

/* C = noise I + L' L, then its factor; log det P = (n - rank) log noise + log det C. */
static gb_status factor_small (gb_precond *p, gb_error *err) {
  const size_t k = p->rank;
  memset(p->c, 0, k * k * sizeof *p->c);
  for (size_t i = 0; i < p->n; i += GB_BLOCK)
    gb_blas_syrk_lower(GB_F64, false, k, extent(p->n, i, GB_BLOCK), 1, p->lt + i, p->n, p->c, k);
  for (size_t i = 0; i < k; i++) p->c[i * k + i] += p->noise;
  const size_t minor = k == 0 ? 0 : gb_lapack_potrf(GB_F64, k, p->c, k);
  if (minor != 0)
    return gb_fail(err, GB_ENOTPD, "preconditioner: noise %g is too small for rank %zu", p->noise, k);
  p->logdet = (double)(p->n - k) * log(p->noise);
  for (size_t i = 0; i < k; i++) p->logdet += 2 * log(p->c[i * k + i]);
  return GB_OK;
}

gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, double noise, size_t rank, double tol,
                                       gb_error *err) {
  GB_TRY(start(p, k, err));
  if (!(noise > 0)) return gb_fail(err, GB_EOPTION, "noise: expected a positive number, got %g", noise);
  p->noise = noise;
  if (rank > p->n) rank = p->n;
  double *d = NULL;
  gb_status st = take(p, rank * p->n, &p->lt, err);
  if (st == GB_OK) st = take(p, rank * rank, &p->c, err);
  if (st == GB_OK) st = take(p, rank * WIDTH, &p->work, err);
  if (st == GB_OK) st = take(p, p->n, &d, err);
  if (st == GB_OK) st = factor_rows(p, k, rank, tol, d, err);
  gb_ledger_free(p->ledger, d);
  if (st == GB_OK) st = factor_small(p, err);
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err) {
  GB_TRY(start(p, a, err));
  gb_status st = take(p, p->n, &p->d, err);
  if (st == GB_OK) st = read_diagonal(a, p->d, err);
  for (size_t i = 0; st == GB_OK && i < p->n; i++) {
    if (!(p->d[i] > 0))
      st = gb_fail(err, GB_ENOTPD, "diagonal entry %zu is %g, expected above 0", i + 1, p->d[i]);
    else p->logdet += log(p->d[i]);
  }
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

/* ---- applying ---- */

/* Columns c0 .. c0 + w - 1 of 'in' and 'out' (n, r). */
typedef struct application {
  const gb_precond *p;
  size_t r, c0, w;
  const double *in;
  double *out;
} application;

/* Row m of work (rank, WIDTH) = L' in: four chains by row number in each block, whatever the columns. */
static void project_row (void *ud, gb_tasks *s, size_t m, int thread) {
  const application *q = ud;
  (void)s, (void)thread;
  const double *l = q->p->lt + m * q->p->n;
  double *x = q->p->work + m * WIDTH;
  memset(x, 0, WIDTH * sizeof *x);
  for (size_t i0 = 0; i0 < q->p->n; i0 += ROWS) {
    double lane[4][WIDTH] = {{0}};
    for (size_t i = i0; i < i0 + extent(q->p->n, i0, ROWS); i++)
      for (size_t c = 0; c < q->w; c++) lane[i % 4][c] += l[i] * q->in[i * q->r + q->c0 + c];
    for (size_t c = 0; c < q->w; c++) x[c] += (lane[0][c] + lane[2][c]) + (lane[1][c] + lane[3][c]);
  }
}

/* A block of rows of out = (in - L work) / noise. */
static void subtract_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const application *q = ud;
  const gb_precond *p = q->p;
  (void)s, (void)thread;
  const size_t i0 = task * ROWS, rows = extent(p->n, i0, ROWS);
  double sum[ROWS * WIDTH];
  memset(sum, 0, sizeof sum);
  for (size_t m = 0; m < p->rank; m++)
    for (size_t i = 0; i < rows; i++)
      for (size_t c = 0; c < q->w; c++)
        sum[i * WIDTH + c] += p->work[m * WIDTH + c] * p->lt[m * p->n + i0 + i];
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < q->w; c++) {
      const size_t at = (i0 + i) * q->r + q->c0 + c;
      q->out[at] = (q->in[at] - sum[i * WIDTH + c]) / p->noise;
    }
}

/* work = C^-1 work, column by column in step. */
static void solve_small (const gb_precond *p) {
  const size_t k = p->rank;
  double *x = p->work;
  for (size_t i = 0; i < k; i++) {
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] -= p->c[i * k + m] * x[m * WIDTH + c];
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= p->c[i * k + i];
  }
  for (size_t i = k; i-- > 0;) {
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= p->c[i * k + i];
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[m * WIDTH + c] -= p->c[i * k + m] * x[i * WIDTH + c];
  }
}

/* P^-1 = (I - L C^-1 L') / noise */
static void apply_low_rank (const gb_precond *p, size_t r, const double *in, double *out) {
  for (size_t c0 = 0; c0 < r; c0 += WIDTH) {
    application q = {p, r, c0, extent(r, c0, WIDTH), in, out};
    gb_tasks_run(p->pool, p->rank, project_row, &q, NULL);
    solve_small(p);
    gb_tasks_run(p->pool, blocks(p->n, ROWS), subtract_rows, &q, NULL);
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
