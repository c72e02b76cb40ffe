/* cholesky.c - tiled Cholesky factors, and what is computed from a factor.
**
** Left-looking over tiles of GB_BLOCK: tile (i, j) collects its updates in ascending k, then meets the
** diagonal tile. Column by column, so that the next column starts while a diagonal tile is factored.
** Source: Buttari, Langou, Kurzak & Dongarra (2009), A class of parallel tiled linear algebra algorithms.
** Cost: n^3 / 3 flops for the factor, 2 n^3 / 3 for the inverse; no copy of the matrix. */
#include <math.h>
#include <string.h>

#include "cpu/opaque.h"

#define B GB_BLOCK

typedef struct square {
  gb_dtype dtype;
  size_t n, nb, size;              /* order, blocks, bytes an element */
  double jitter;
  const char *in;
  char *out;
  atomic_uint *progress;           /* (nb) */
  size_t minor;                    /* order of the first leading minor that is not positive; 0 = none */
} square;

static size_t counters_bytes (const gb_opaque *o) {
  return gb_blocks(o->in_shape[0].dim[0], B) * sizeof(atomic_uint);
}

static square square_of (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  const size_t n = o->in_shape[0].dim[0];
  return (square){.dtype = o->in_dtype[0],
                  .n = n,
                  .nb = gb_blocks(n, B),
                  .size = gb_dtype_size(o->in_dtype[0]),
                  .jitter = o->attr.f[0],
                  .in = c->in[0],
                  .out = c->out[0],
                  .progress = c->scratch};
}

size_t gb_cpu_cholesky_scratch (const gb_backend *be, const gb_opaque *o) {
  (void)be;
  return counters_bytes(o);
}

size_t gb_cpu_chol_inverse_scratch (const gb_backend *be, const gb_opaque *o) {
  (void)be;
  return counters_bytes(o);
}

/* Address of tile (i, j), and the extent of a block. */
static void *tile (const square *q, const void *base, size_t i, size_t j) {
  return (char *)(uintptr_t)base + (i * q->n + j) * B * q->size;
}

static size_t extent (const square *q, size_t i) { return gb_block_extent(q->n, B, i); }

static size_t ntiles (const square *q) { return q->nb * (q->nb + 1) / 2; }

/* Tile t of a lower triangle, numbered column by column, and row by row. */
static void tile_by_column (const square *q, size_t t, size_t *i, size_t *j) {
  size_t col = 0;
  for (; t >= q->nb - col; col++) t -= q->nb - col;
  *i = col + t;
  *j = col;
}

static void tile_by_row (size_t t, size_t *i, size_t *j) {
  size_t row = 0;
  for (; t > row; row++) t -= row + 1;
  *i = row;
  *j = t;
}

/* Lower triangle of A + jitter I, zeros above; a block of rows a task. */
static void copy_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  (void)s, (void)thread;
  const size_t n = q->n;
  for (size_t i = task * B; i < task * B + extent(q, task); i++) {
    char *row = q->out + i * n * q->size;
    memcpy(row, q->in + i * n * q->size, (i + 1) * q->size);
    memset(row + (i + 1) * q->size, 0, (n - i - 1) * q->size);
    if (q->dtype == GB_F64) ((double *)(void *)row)[i] += q->jitter;
    else ((float *)(void *)row)[i] += (float)q->jitter;
  }
}

/* Factors diagonal tile j. A pivot that overflow made NaN counts as not positive. */
static void factor_diagonal (square *q, gb_tasks *s, size_t j) {
  void *a = tile(q, q->out, j, j);
  size_t bad = gb_lapack_potrf(q->dtype, extent(q, j), a, q->n);
  for (size_t i = 0; bad == 0 && i < extent(q, j); i++)
    if (!(gb_element_get(a, i * q->n + i, q->dtype) > 0)) bad = i + 1;
  if (bad == 0) return;
  q->minor = j * B + bad;
  atomic_store(&s->stopped, true);
}

static void factor_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  square *q = ud;
  (void)thread;
  size_t i, j;
  tile_by_column(q, task, &i, &j);
  atomic_uint *done = q->progress;           /* done[i]: tiles of row i finished, from the left */
  void *c = tile(q, q->out, i, j);
  const size_t ni = extent(q, i), nj = extent(q, j), n = q->n;
  for (size_t k = 0; k < j; k++) {
    if (!gb_tasks_poll(s) || !gb_tasks_wait(s, &done[i], k + 1) || !gb_tasks_wait(s, &done[j], k + 1)) return;
    const void *lik = tile(q, q->out, i, k), *ljk = tile(q, q->out, j, k);
    if (i == j) gb_blas_syrk_lower(q->dtype, false, ni, B, -1.0, lik, n, c, n);
    else gb_blas_gemm(q->dtype, false, true, ni, nj, B, -1.0, lik, n, ljk, n, 1.0, c, n);
  }
  if (i == j) {
    factor_diagonal(q, s, j);
    if (atomic_load(&s->stopped)) return;
  } else {
    if (!gb_tasks_wait(s, &done[j], j + 1)) return;
    gb_blas_trsm_right(q->dtype, GB_LOWER, true, false, ni, nj, tile(q, q->out, j, j), n, c, n);
  }
  gb_tasks_done(&done[i], j + 1);
}

gb_status gb_cpu_cholesky (const gb_opaque_call *c) {
  square q = square_of(c);
  GB_TRY(gb_check_finite(c->pool, q.dtype, q.n, q.n, q.in, GB_LOWER_PART, c->err));
  GB_TRY(gb_tasks_run(c->pool, q.nb, copy_rows, &q, c->err));
  memset(q.progress, 0, counters_bytes(c->o));
  GB_TRY(gb_tasks_run(c->pool, ntiles(&q), factor_tile, &q, c->err));
  if (q.minor == 0) return GB_OK;
  return gb_fail(c->err, GB_ENOTPD, "the leading minor of order %zu of %zu is not positive (jitter %g)",
                 q.minor, q.n, q.jitter);
}

/* Tile (i, j) of X = L^-1: X_jj = L_jj^-1, X_ij = -L_ii^-1 sum over k in j .. i-1 of L_ik X_kj.
** progress[j]: tiles of column j finished, counted from its diagonal. */
static void invert_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  (void)thread;
  size_t i, j;
  tile_by_row(task, &i, &j);
  char *x = tile(q, q->out, i, j);
  const char *l = tile(q, q->in, i, i);
  const size_t ni = extent(q, i), nj = extent(q, j), n = q->n;
  if (i == j) {
    for (size_t r = 0; r < ni; r++) {
      memcpy(x + r * n * q->size, l + r * n * q->size, (r + 1) * q->size);
      memset(x + (r * n + r + 1) * q->size, 0, (ni - r - 1) * q->size);
    }
    gb_lapack_trtri(q->dtype, ni, x, n);
  } else {
    for (size_t k = j; k < i; k++) {
      if (!gb_tasks_poll(s) || !gb_tasks_wait(s, &q->progress[j], k - j + 1)) return;
      gb_blas_gemm(q->dtype, false, false, ni, nj, B, -1.0, tile(q, q->in, i, k), n, tile(q, q->out, k, j), n,
                   k == j ? 0.0 : 1.0, x, n);
    }
    gb_blas_trsm_left(q->dtype, GB_LOWER, false, false, ni, nj, l, n, x, n);
  }
  gb_tasks_done(&q->progress[j], i - j + 1);
}

/* Tile (i, j) of X' X over X's own lower triangle: sum over k >= i of X_ki' X_kj. A row of tiles
** overwrites what only rows above and its own other tiles read, its diagonal tile last. progress[0] counts
** finished tiles. */
static void multiply_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  (void)thread;
  size_t i, j;
  tile_by_row(task, &i, &j);
  const size_t before = i * (i + 1) / 2 + (i == j ? i : 0), ni = extent(q, i), nj = extent(q, j), n = q->n;
  if (!gb_tasks_wait(s, q->progress, before)) return;
  char *x = tile(q, q->out, i, j);
  if (i == j) gb_lapack_lauum(q->dtype, ni, x, n);
  else gb_blas_trmm_left_trans(q->dtype, ni, nj, tile(q, q->out, i, i), n, x, n);
  for (size_t k = i + 1; k < q->nb; k++) {
    if (!gb_tasks_poll(s)) return;
    const void *xki = tile(q, q->out, k, i), *xkj = tile(q, q->out, k, j);
    if (i == j) gb_blas_syrk_lower(q->dtype, true, ni, extent(q, k), 1.0, xki, n, x, n);
    else gb_blas_gemm(q->dtype, true, false, ni, nj, extent(q, k), 1.0, xki, n, xkj, n, 1.0, x, n);
  }
  atomic_fetch_add_explicit(q->progress, 1, memory_order_release);
}

gb_status gb_cpu_chol_inverse (const gb_opaque_call *c) {
  square q = square_of(c);
  memset(q.progress, 0, counters_bytes(c->o));
  GB_TRY(gb_tasks_run(c->pool, ntiles(&q), invert_tile, &q, c->err));
  memset(q.progress, 0, counters_bytes(c->o));
  GB_TRY(gb_tasks_run(c->pool, ntiles(&q), multiply_tile, &q, c->err));
  return gb_mirror_lower(c->pool, q.dtype, q.n, q.out, c->err);
}

gb_status gb_cpu_logdet (const gb_opaque_call *c) {
  const size_t n = c->o->in_shape[0].dim[0];
  const gb_dtype t = c->o->in_dtype[0];
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += log(gb_element_get(c->in[0], i * n + i, t));
  gb_element_set(c->out[0], 0, t, 2 * sum);
  return GB_OK;
}
