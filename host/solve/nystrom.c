/* nystrom.c - K Omega (Omega' K Omega)^-1 Omega' K for random Omega, as its eigenvectors and values.
**
** Tall matrices are held as their transposes (rank, n), whose blocks of columns are tasks. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/rng.h"
#include "cpu/blas.h"
#include "cpu/tasks.h"
#include "solve/precond_parts.h"
#include "solve/product.h"

#define ROWS 256                   /* points of a block */
#define COLUMNS 32                 /* directions of one product */
#define OWN UINT64_C(0x9e3779b97f4a7c15)   /* keeps directions apart from probes of the same seed, which must not know them */
#define SHIFTS 4                   /* how often the shift is raised a hundredfold before K is called indefinite */

typedef struct sketch {
  gb_precond *p;
  size_t n, k;
  double *q, *y;                   /* (k, n): Omega', and (K Omega)' */
  double *small, *turn;            /* (k, k): a triangle; eigenvectors in rows */
  double *values, *work, *tile;    /* (k); LAPACK's; (k, ROWS) a thread */
  double shift;                    /* of K, so that rounding cannot make it indefinite */
} sketch;

static size_t extent (const sketch *s, size_t i0) { return s->n - i0 < ROWS ? s->n - i0 : ROWS; }

static gb_status over_blocks (sketch *s, gb_task *task, gb_error *err) {
  return gb_tasks_run(s->p->pool, (s->n + ROWS - 1) / ROWS, task, s, err);
}

/* Lower triangle of 'small' = a a' for a (k, n). */
static void gram (sketch *s, const double *a) {
  memset(s->small, 0, s->k * s->k * sizeof *s->small);
  for (size_t i0 = 0; i0 < s->n; i0 += ROWS)
    gb_blas_syrk_lower(GB_F64, false, s->k, extent(s, i0), 1, a + i0, s->n, s->small, s->k);
}

static void divide_block (sketch *s, double *a, size_t task) {
  const size_t i0 = task * ROWS;
  gb_blas_trsm_left(GB_F64, GB_LOWER, false, false, s->k, extent(s, i0), s->small, s->k, a + i0, s->n);
}
static void divide_q (void *ud, gb_tasks *t, size_t task, int thread) {
  (void)t, (void)thread;
  divide_block(ud, ((sketch *)ud)->q, task);
}
static void divide_y (void *ud, gb_tasks *t, size_t task, int thread) {
  (void)t, (void)thread;
  divide_block(ud, ((sketch *)ud)->y, task);
}

/* Orthonormal random directions. */
static gb_status draw (sketch *s, uint64_t seed, gb_error *err) {
  for (size_t c = 0; c < s->k; c++)
    for (size_t i = 0; i < s->n; i++) s->q[c * s->n + i] = gb_rand_normal(seed ^ OWN, c, i);
  gram(s, s->q);
  if (gb_lapack_potrf(GB_F64, s->k, s->small, s->k) != 0)
    return gb_fail(err, GB_EINTERNAL, "nystrom: %zu random directions of %zu points are dependent", s->k, s->n);
  return over_blocks(s, divide_q, err);
}

/* y = (K Omega)', some directions at a time. */
static gb_status multiply (sketch *s, gb_node *kernel, gb_error *err) {
  gb_product product;
  const size_t r = s->k < COLUMNS ? s->k : COLUMNS;
  double *x = NULL;
  GB_TRY(gb_product_init(&product, kernel, r, err));
  gb_status st = gb_precond_take(s->p, 2 * s->n * r, &x, err);
  for (size_t c0 = 0; st == GB_OK && c0 < s->k; c0 += r) {
    const size_t w = s->k - c0 < r ? s->k - c0 : r;
    for (size_t i = 0; i < s->n; i++)
      for (size_t c = 0; c < r; c++) x[i * r + c] = c < w ? s->q[(c0 + c) * s->n + i] : 0;
    st = gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : gb_product_run(&product, x, x + s->n * r, err);
    if (st != GB_OK) break;
    for (size_t i = 0; i < s->n; i++)
      for (size_t c = 0; c < w; c++) {
        s->q[(c0 + c) * s->n + i] = x[i * r + c];        /* as the product rounded it */
        s->y[(c0 + c) * s->n + i] = x[(s->n + i) * r + c];
      }
  }
  gb_ledger_free(s->p->ledger, x);
  gb_product_clear(&product);
  return st;
}

static void add_shift (void *ud, gb_tasks *t, size_t task, int thread) {
  sketch *s = ud;
  (void)t, (void)thread;
  const size_t i0 = task * ROWS, n = extent(s, i0);
  for (size_t c = 0; c < s->k; c++)
    for (size_t i = c * s->n + i0; i < c * s->n + i0 + n; i++) s->y[i] += s->shift * s->q[i];
}

/* small = chol(Omega' (K + shift I) Omega); y has the shift already. */
static size_t core (sketch *s) {
  memset(s->small, 0, s->k * s->k * sizeof *s->small);
  for (size_t i0 = 0; i0 < s->n; i0 += ROWS)
    gb_blas_gemm(GB_F64, false, true, s->k, s->k, extent(s, i0), 1, s->q + i0, s->n, s->y + i0, s->n, 1, s->small, s->k);
  for (size_t i = 0; i < s->k; i++)
    for (size_t j = 0; j < i; j++) s->small[i * s->k + j] = (s->small[i * s->k + j] + s->small[j * s->k + i]) / 2;
  return gb_lapack_potrf(GB_F64, s->k, s->small, s->k);
}

/* y becomes the shifted approximation's root B', K + shift I ~ B B'. */
static gb_status root (sketch *s, double u, gb_error *err) {
  double squares = 0;
  for (size_t c = 0; c < s->k; c++) {
    double row = 0;
    for (size_t i = c * s->n; i < (c + 1) * s->n; i++) row += s->y[i] * s->y[i];
    squares += row;
  }
  if (!isfinite(squares)) return gb_fail(err, GB_ENAN, "a product with the kernel matrix is not finite");
  if (squares == 0) {
    s->k = 0;
    return GB_OK;
  }
  double total = 0, step = u * sqrt((double)s->n * squares);
  for (int tries = 0; tries < SHIFTS; tries++, step *= 100) {
    s->shift = step - total;
    total = step;
    GB_TRY(over_blocks(s, add_shift, err));
    if (core(s) != 0) continue;
    s->shift = total;
    return over_blocks(s, divide_y, err);
  }
  return gb_fail(err, GB_ENOTPD, "nystrom: the kernel matrix is not positive semidefinite: not with %.2g added to its diagonal",
                 total);
}

/* q = diag(values) turn y: rows of L', largest first. */
static void turn_block (void *ud, gb_tasks *t, size_t task, int thread) {
  sketch *s = ud;
  (void)t;
  const size_t i0 = task * ROWS, w = extent(s, i0), rank = s->p->rank;
  double *tile = s->tile + (size_t)thread * s->k * ROWS;
  gb_blas_gemm(GB_F64, false, false, s->k, w, s->k, 1, s->turn, s->k, s->y + i0, s->n, 0, tile, ROWS);
  for (size_t m = 0; m < rank; m++)
    for (size_t i = 0; i < w; i++) s->q[m * s->n + i0 + i] = s->values[s->k - 1 - m] * tile[(s->k - 1 - m) * ROWS + i];
}

/* B B' = U S U' and L = U (S - shift)^(1/2): U S^(1/2) = B V, scaled by (1 - shift / S)^(1/2). */
static gb_status diagonalise (sketch *s, double *kept, gb_error *err) {
  gram(s, s->y);
  memcpy(s->turn, s->small, s->k * s->k * sizeof *s->turn);
  if (gb_lapack_eigh(GB_F64, s->k, s->turn, s->values, s->work) != 0)
    return gb_fail(err, GB_ENOTCONV, "nystrom: the eigenvalues of a %zu x %zu matrix did not converge", s->k, s->k);
  for (size_t m = 0; m < s->k; m++) {
    const double value = s->values[m] - s->shift;
    if (value > 0) s->p->rank++, *kept += value;
    s->values[m] = value > 0 ? sqrt(value / s->values[m]) : 0;
  }
  return over_blocks(s, turn_block, err);
}

static size_t sketch_doubles (size_t n, size_t k, const gb_pool *pool) {
  const size_t threads = (size_t)gb_pool_threads(pool), work = gb_lapack_eigh_bytes(GB_F64, k) / sizeof(double) + 1;
  return k * n + 2 * k * k + n + k + work + threads * k * ROWS;
}

gb_status gb_nystrom_bytes (gb_node *k, size_t rank, size_t *more, gb_error *err) {
  const size_t n = gb_node_shape(k)->dim[0], r = rank < COLUMNS ? rank : COLUMNS;
  gb_product product;
  gb_plan_report report;
  GB_TRY(gb_product_init(&product, k, r, err));
  gb_plan_report_get(product.plan, &report);
  gb_product_clear(&product);
  *more = report.peak + (sketch_doubles(n, rank, k->graph->backend->pool) + 3 * n * r) * sizeof(double);
  return GB_OK;
}

static gb_status take_all (sketch *s, gb_error *err) {
  const size_t n = s->n, k = s->k, work = gb_lapack_eigh_bytes(GB_F64, k) / sizeof(double) + 1;
  GB_TRY(gb_precond_take(s->p, sketch_doubles(n, k, s->p->pool), &s->y, err));
  s->small = s->y + k * n;
  s->turn = s->small + k * k;
  s->values = s->turn + k * k;
  s->work = s->values + n + k;     /* values also hold the diagonal of K */
  s->tile = s->work + work;
  return GB_OK;
}

static gb_status build (sketch *s, gb_node *kernel, uint64_t seed, gb_error *err) {
  double trace, kept = 0;
  GB_TRY(take_all(s, err));
  GB_TRY(gb_precond_kernel_diagonal(s->p, kernel, s->values, &trace, err));
  GB_TRY(draw(s, seed, err));
  GB_TRY(multiply(s, kernel, err));
  GB_TRY(root(s, gb_node_dtype(kernel) == GB_F64 ? DBL_EPSILON : FLT_EPSILON, err));
  if (s->k == 0) return GB_OK;
  GB_TRY(diagonalise(s, &kept, err));
  s->p->trace_left = trace > 0 ? fmax(1 - kept / trace, 0) : 0;
  return GB_OK;
}

gb_status gb_precond_nystrom (gb_precond *p, gb_node *k, double noise, size_t rank, uint64_t seed, gb_error *err) {
  gb_status st = gb_precond_low_rank_begin(p, k, noise, &rank, err);
  sketch s = {.p = p, .n = p->n, .k = rank, .q = p->lt};
  if (st == GB_OK && rank > 0) st = build(&s, k, seed, err);
  if (p->ledger != NULL) gb_ledger_free(p->ledger, s.y);
  if (st == GB_OK) st = gb_precond_low_rank_end(p, err);
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}
