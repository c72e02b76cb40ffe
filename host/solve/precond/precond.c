/* precond.c - low-rank factors (partial.c) with Woodbury's formula, noises of the points by scaling, and
** the diagonal. Blocks of rows, and rows of L', are tasks; an interrupt leaves garbage behind, and the
** solver that called polls for it. */
#include "solve/precond/precond.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/plain.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "cpu/linalg/blas.h"
#include "plan/plan.h"
#include "solve/precond/partial.h"

#define ROWS 256 /* rows of a block, and of one chain of a sum */
#define WIDTH GB_PRECOND_WIDTH
#define DEEP 8      /* rows of L', or of the result, that are computed together */
#define PART 32     /* rows of L' of a task */
#define LEAST 1e-12 /* of the mean of the diagonal: where a point has no noise */
#define MEASURE                                                                                              \
  0.03 /* of the mean of what a factor leaves of the diagonal: noise far below must not count by itself */

static size_t blocks (size_t n, size_t side) { return (n + side - 1) / side; }
static size_t extent (size_t n, size_t from, size_t side) { return n - from < side ? n - from : side; }

static gb_status take (gb_precond *p, size_t count, double **out, gb_error *err) {
  gb_block *b = &p->block[p->nblocks++];
  GB_TRY(gb_ledger_alloc(p->ledger, GB_MEM_WORKSPACE, count * sizeof **out, "", "preconditioner", b, err));
  *out = b->data;
  return GB_OK;
}

void gb_precond_clear (gb_precond *p) {
  for (int i = 0; i < p->nblocks; i++) gb_ledger_free(p->ledger, &p->block[i]);
  *p = (gb_precond){0};
}

static gb_status start (gb_precond *p, gb_node *a, gb_error *err) {
  const gb_shape *s = gb_node_shape(a);
  char text[GB_NODE_TEXT];
  *p = (gb_precond){.ledger = &a->graph->device->ledger, .pool = a->graph->device->pool, .n = s->dim[0]};
  if (s->ndim == 2 && s->dim[0] == s->dim[1]) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "expected a square matrix, got %s", gb_node_text(a, text));
}

/* -- low rank */

/* C = noise I + L' L, then its factor; log det P = (n - rank) log noise + log det C. */
static gb_status low_rank_end (gb_precond *p, gb_error *err) {
  const size_t k = p->rank;
  GB_TRY(gb_blas_ready(err));
  memset(p->c, 0, k * k * sizeof *p->c);
  for (size_t i = 0; i < p->n; i += GB_BLOCK)
    gb_blas_syrk_lower(GB_F64, false, k, extent(p->n, i, GB_BLOCK), 1, p->lt + i, p->n, p->c, k);
  for (size_t i = 0; i < k; i++) p->c[i * k + i] += p->noise;
  const size_t minor = k == 0 ? 0 : gb_lapack_potrf(GB_F64, k, p->c, k);
  if (minor != 0)
    return gb_fail(err, GB_ENOTPD, "preconditioner: noise %g is too small for rank %zu", gb_plain(p->least),
                   k);
  p->logdet = (double)(p->n - k) * log(p->noise);
  for (size_t i = 0; i < k; i++) p->logdet += 2 * log(p->c[i * k + i]);
  for (size_t i = 0; p->scale != NULL && i < p->n; i++) p->logdet -= 2 * log(p->scale[i]);
  return GB_OK;
}

static gb_status check_noise (double v, gb_error *err) {
  if (!isfinite(v)) return gb_fail(err, GB_ENAN, "noise: expected finite variances, got %g", gb_plain(v));
  return v >= 0 ? GB_OK
                : gb_fail(err, GB_EOPTION, "noise: expected variances of 0 or more, got %g", gb_plain(v));
}

static gb_status check_noises (const gb_precond *p, gb_noise noise, gb_error *err) {
  for (size_t i = 0; noise.each != NULL && i < p->n; i++) GB_TRY(check_noise(noise.each[i], err));
  if (noise.each != NULL) return GB_OK;
  GB_TRY(check_noise(noise.level, err));
  if (noise.level > 0) return GB_OK;
  return gb_fail(
      err, GB_EOPTION,
      "noise: a low-rank preconditioner needs more than 0, where there is none use gb.precond.jacobi{}");
}

static gb_status low_rank_begin (gb_precond *p, gb_node *k, gb_noise noise, size_t *rank, gb_error *err) {
  GB_TRY(start(p, k, err));
  GB_TRY(check_noises(p, noise, err));
  p->noise = p->least = noise.each == NULL ? noise.level : 1;
  if (*rank > p->n) *rank = p->n;
  if (noise.each != NULL) GB_TRY(take(p, p->n, &p->scale, err));
  GB_TRY(take(p, *rank * p->n, &p->lt, err));
  GB_TRY(take(p, *rank * *rank, &p->c, err));
  return take(p, *rank * WIDTH, &p->work, err);
}

/* Rows of L' of a factor of K become those of S K S, S = diag(noise + what L leaves of K, by MEASURE, but
** not nothing)^-1/2. */
static gb_status scale_rows (gb_precond *p, gb_node *k, const double *noise, gb_error *err) {
  double sum = 0;
  GB_TRY(gb_partial_diagonal(k, p->scale, err));
  for (size_t i = 0; i < p->n; i++) sum += p->scale[i];
  const double left = fmax(fmax(MEASURE * p->trace_left, LEAST) * sum / (double)p->n, DBL_MIN);
  p->least = INFINITY;
  for (size_t i = 0; i < p->n; i++) {
    p->least = fmin(p->least, noise[i] + left);
    p->scale[i] = 1 / sqrt(noise[i] + left);
  }
  for (size_t m = 0; m < p->rank; m++)
    for (size_t i = 0; i < p->n; i++) p->lt[m * p->n + i] *= p->scale[i];
  return GB_OK;
}

static gb_status low_rank (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                           gb_pivoting how, gb_error *err) {
  gb_status st = low_rank_begin(p, k, noise, &rank, err);
  if (st == GB_OK) st = gb_partial_cholesky(k, how, rank, tol, p->lt, &p->rank, &p->trace_left, err);
  if (st == GB_OK && p->scale != NULL) st = scale_rows(p, k, noise.each, err);
  if (st == GB_OK) st = low_rank_end(p, err);
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                                       gb_error *err) {
  return low_rank(p, k, noise, rank, tol, (gb_pivoting){0}, err);
}

gb_status gb_precond_nystrom (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                              uint64_t seed, gb_error *err) {
  return low_rank(p, k, noise, rank, tol, (gb_pivoting){.drawn = true, .seed = seed}, err);
}

gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err) {
  GB_TRY(start(p, a, err));
  gb_status st = take(p, p->n, &p->d, err);
  if (st == GB_OK) st = gb_partial_diagonal(a, p->d, err);
  for (size_t i = 0; st == GB_OK && i < p->n; i++) {
    const double size = fabs(p->d[i]);
    p->d[i] = size > 0 && isfinite(size) ? size : 1;
    p->logdet += log(p->d[i]);
  }
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

/* -- by description */

gb_status gb_precond_make (gb_precond *p, const gb_precond_spec *spec, gb_node *a, gb_node *k, gb_noise noise,
                           gb_error *err) {
  *p = (gb_precond){0};
  switch (spec->kind) {
    case GB_PRECOND_NONE: return GB_OK;
    case GB_PRECOND_JACOBI: return gb_precond_jacobi(p, a, err);
    case GB_PRECOND_PIVOTED_CHOLESKY:
      return gb_precond_pivoted_cholesky(p, k, noise, spec->rank, spec->tol, err);
    case GB_PRECOND_NYSTROM: return gb_precond_nystrom(p, k, noise, spec->rank, spec->tol, spec->seed, err);
  }
  return gb_fail(err, GB_EINTERNAL, "unknown preconditioner %d", (int)spec->kind);
}

/* The most that evaluating a node takes, its value as doubles included. Takes over its count. */
static gb_status peak_of (gb_node *n, size_t *most, gb_error *err) {
  gb_plan *plan;
  gb_plan_report r;
  const gb_status st = gb_plan_new(n->graph, 1, &n, NULL, &plan, err);
  if (st == GB_OK) {
    gb_plan_report_get(plan, &r);
    gb_plan_free(plan);
    const size_t bytes = r.peak + gb_shape_numel(gb_node_shape(n)) * sizeof(double);
    if (bytes > *most) *most = bytes;
  }
  gb_node_unref(n);
  return st;
}

gb_status gb_precond_bytes (const gb_precond_spec *spec, gb_node *a, gb_node *k, bool each, size_t *held,
                            size_t *more, gb_error *err) {
  const size_t n = gb_node_shape(a)->dim[0], rank = spec->rank < n ? spec->rank : n;
  *held = *more = 0;
  if (spec->kind == GB_PRECOND_NONE || n == 0) return GB_OK;
  const bool low_rank = gb_precond_low_rank(spec);
  gb_node *m = low_rank ? k : a, *part;
  GB_TRY(gb_node_build(m->graph, GB_OP_DIAGONAL, 1, &m, &(gb_attr){0}, NULL, gb_node_dtype(m), &part, err));
  GB_TRY(peak_of(part, more, err));
  *held = n * sizeof(double);
  if (!low_rank) return GB_OK;
  GB_TRY(gb_select(m, 0, 0, &part, err));
  GB_TRY(peak_of(part, more, err));
  *more += gb_partial_bytes(n, rank);
  *held = ((each ? n : 0) + rank * n + rank * rank + rank * WIDTH) * sizeof(double);
  return GB_OK;
}

/* -- applying */

/* Loops over WIDTH columns at once, vectorised for the machine at hand; products and sums are rounded
** apart, so that the bits are the same on all. */
#if defined(__x86_64__) && defined(__linux__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

/* Columns k0 .. k0 + w - 1 of 'in' and 'out'. */
typedef struct application {
  const gb_precond *p;
  size_t k0, w;
  gb_panel in, out;
} application;

static size_t column (const gb_panel *m, size_t k) { return m->at != NULL ? m->at[k] : k; }

static double entry (const application *q, size_t i, size_t c) {
  return q->in.v[i * q->in.stride + column(&q->in, q->k0 + c)];
}

static double scale_of (const gb_precond *p, size_t i) { return p->scale != NULL ? p->scale[i] : 1; }

/* x (DEEP, WIDTH) += DEEP rows of L' (., n) times v (rows, WIDTH). */
VECTORISED
static void project_tile (size_t n, size_t rows, const double *restrict l, const double *restrict v,
                          double *restrict x) {
  double sum[DEEP][WIDTH] = {{0}};
  for (size_t i = 0; i < rows; i++)
    for (size_t m = 0; m < DEEP; m++)
      for (size_t c = 0; c < WIDTH; c++) sum[m][c] += l[m * n + i] * v[i * WIDTH + c];
  for (size_t m = 0; m < DEEP; m++)
    for (size_t c = 0; c < WIDTH; c++) x[m * WIDTH + c] += sum[m][c];
}

static void project_row (size_t rows, const double *restrict l, const double *restrict v,
                         double *restrict x) {
  double sum[WIDTH] = {0};
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) sum[c] += l[i] * v[i * WIDTH + c];
  for (size_t c = 0; c < WIDTH; c++) x[c] += sum[c];
}

/* A few rows of work (rank, WIDTH) = L' in: one chain a block of rows. */
static void project_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const application *q = ud;
  const gb_precond *p = q->p;
  const size_t m0 = task * PART, m1 = m0 + extent(p->rank, m0, PART);
  double v[ROWS * WIDTH];
  (void)s, (void)thread;
  memset(p->work + m0 * WIDTH, 0, (m1 - m0) * WIDTH * sizeof *v);
  memset(v, 0, sizeof v);
  for (size_t i0 = 0; i0 < p->n; i0 += ROWS) {
    const size_t rows = extent(p->n, i0, ROWS);
    for (size_t i = 0; i < rows; i++)
      for (size_t c = 0; c < q->w; c++) v[i * WIDTH + c] = scale_of(p, i0 + i) * entry(q, i0 + i, c);
    size_t m = m0;
    for (; m + DEEP <= m1; m += DEEP) project_tile(p->n, rows, p->lt + m * p->n + i0, v, p->work + m * WIDTH);
    for (; m < m1; m++) project_row(rows, p->lt + m * p->n + i0, v, p->work + m * WIDTH);
  }
}

/* sum (rows, WIDTH) += DEEP rows of L' (., n), transposed, times x (DEEP, WIDTH). */
VECTORISED
static void expand_tile (size_t n, size_t rows, const double *restrict l, const double *restrict x,
                         double *restrict sum) {
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) {
      double s = sum[i * WIDTH + c];
      for (size_t m = 0; m < DEEP; m++) s += l[m * n + i] * x[m * WIDTH + c];
      sum[i * WIDTH + c] = s;
    }
}

static void expand_row (size_t rows, const double *restrict l, const double *restrict x,
                        double *restrict sum) {
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) sum[i * WIDTH + c] += l[i] * x[c];
}

/* A block of rows of L work, (ROWS, WIDTH): one chain an element. */
static void expand_block (const gb_precond *p, size_t i0, const double *work, double *sum) {
  const size_t rows = extent(p->n, i0, ROWS);
  size_t m = 0;
  memset(sum, 0, rows * WIDTH * sizeof *sum);
  for (; m + DEEP <= p->rank; m += DEEP)
    expand_tile(p->n, rows, p->lt + m * p->n + i0, work + m * WIDTH, sum);
  for (; m < p->rank; m++) expand_row(rows, p->lt + m * p->n + i0, work + m * WIDTH, sum);
}

/* A block of rows of out = S (S in - L work) / noise. */
static void subtract_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const application *q = ud;
  const gb_precond *p = q->p;
  const size_t i0 = task * ROWS, rows = extent(p->n, i0, ROWS);
  double sum[ROWS * WIDTH];
  (void)s, (void)thread;
  expand_block(p, i0, p->work, sum);
  for (size_t i = 0; i < rows; i++) {
    const double scale = scale_of(p, i0 + i);
    for (size_t c = 0; c < q->w; c++)
      q->out.v[(i0 + i) * q->out.stride + column(&q->out, q->k0 + c)] =
          scale * ((scale * entry(q, i0 + i, c) - sum[i * WIDTH + c]) / p->noise);
  }
}

/* work = C^-1 work, column by column in step. */
VECTORISED
static void solve_small (size_t k, const double *restrict l, double *restrict x) {
  for (size_t i = 0; i < k; i++) {
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] -= l[i * k + m] * x[m * WIDTH + c];
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= l[i * k + i];
  }
  for (size_t i = k; i-- > 0;) {
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= l[i * k + i];
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[m * WIDTH + c] -= l[i * k + m] * x[i * WIDTH + c];
  }
}

/* P^-1 = S (I - L C^-1 L') S / noise */
static void apply_low_rank (const gb_precond *p, size_t w, gb_panel in, gb_panel out) {
  for (size_t k0 = 0; k0 < w; k0 += WIDTH) {
    application q = {p, k0, extent(w, k0, WIDTH), in, out};
    gb_tasks_run(p->pool, blocks(p->rank, PART), project_rows, &q, NULL);
    solve_small(p->rank, p->c, p->work);
    gb_tasks_run(p->pool, blocks(p->n, ROWS), subtract_rows, &q, NULL);
  }
}

void gb_precond_apply_panel (const gb_precond *p, size_t n, size_t w, gb_panel in, gb_panel out) {
  if (p != NULL && p->lt != NULL) {
    apply_low_rank(p, w, in, out);
    return;
  }
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < w; k++) {
      const double x = in.v[i * in.stride + column(&in, k)];
      out.v[i * out.stride + column(&out, k)] = p != NULL && p->d != NULL ? x / p->d[i] : x;
    }
}

void gb_precond_apply (const gb_precond *p, size_t n, size_t r, const double *in, double *out) {
  const gb_panel from = {.v = (double *)(uintptr_t)in, .stride = r}, to = {.v = out, .stride = r};
  gb_precond_apply_panel(p, n, r, from, to);
}

/* -- sampling */

typedef struct sampling {
  const gb_precond *p;
  uint64_t seed;
  size_t n, r, first;
  double *out;
} sampling;

/* A block of rows: the normals of column c are elements 0 .. n - 1 of stream c, its factors what follows. */
static void sample_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const sampling *q = ud;
  const gb_precond *p = q->p;
  const size_t i0 = task * ROWS, rows = extent(q->n, i0, ROWS), rank = p != NULL ? p->rank : 0;
  const bool low_rank = p != NULL && p->lt != NULL;
  const double root = low_rank ? sqrt(p->noise) : 1;
  (void)s, (void)thread;
  for (size_t c0 = q->first; c0 < q->r; c0 += WIDTH) {
    const size_t w = extent(q->r, c0, WIDTH);
    double sum[ROWS * WIDTH] = {0};
    for (size_t m = 0; m < rank; m++)
      for (size_t c = 0; c < w; c++) {
        const double f = gb_rand_normal(q->seed, c0 + c, q->n + m);
        for (size_t i = 0; i < rows; i++) sum[i * WIDTH + c] += f * p->lt[m * q->n + i0 + i];
      }
    for (size_t i = 0; i < rows; i++)
      for (size_t c = 0; c < w; c++) {
        double z = root * gb_rand_normal(q->seed, c0 + c, i0 + i);
        if (p != NULL && p->d != NULL) z *= sqrt(p->d[i0 + i]);
        q->out[(i0 + i) * q->r + c0 + c] = (z + sum[i * WIDTH + c]) / (low_rank ? scale_of(p, i0 + i) : 1);
      }
  }
}

void gb_precond_sample (const gb_precond *p, gb_pool *pool, uint64_t seed, size_t n, size_t r, size_t first,
                        double *out) {
  sampling q = {p, seed, n, r, first, out};
  gb_tasks_run(pool, blocks(n, ROWS), sample_rows, &q, NULL);
}
