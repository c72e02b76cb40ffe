/* cholesky.c - tiled Cholesky factors, and the ops that read a factor.
**
** Left-looking over tiles of GB_BLOCK: tile (i, j) accumulates its updates in ascending k, then is solved
** with the diagonal tile. Column by column, so that the next column starts while a diagonal tile is factored.
** The same calls on the same tiles serve the square, the packed and the growing layout. Of a growing triangle
** only the new rows are processed: n^2 k multiply-adds for k rows; complete block rows get the bits of a
** factorisation from the start. Source: Buttari, Langou, Kurzak & Dongarra (2009), A class of parallel tiled
** linear algebra algorithms. Cost: n^3 / 3 flops for the factor, 2 n^3 / 3 for the inverse; no copy of the
** matrix. */
#include <math.h>
#include <string.h>

#include "base/plain.h"
#include "cpu/linalg/opaque.h"

#define B GB_BLOCK

typedef struct square {
  gb_dtype dtype;
  size_t n, nb, size; /* order, blocks, bytes an element */
  size_t have, first; /* rows factored already; the block row of the first new row */
  double jitter;
  gb_tiles in, out;
  char *spare;           /* CHOL_INVERSE, packed result: a tile a thread; else NULL */
  atomic_uint *progress; /* (nb) */
  size_t minor;          /* order of the first leading minor that is not positive; 0 = none */
} square;

static size_t counters_bytes (const gb_opaque *o) {
  return gb_blocks(o->in_shape[0].dim[0], B) * sizeof(atomic_uint);
}

/* A single tile is inverted without a spare tile. */
static size_t spare_bytes (const gb_opaque *o, const gb_pool *pool) {
  if (!o->packed_inverse || o->in_shape[0].dim[0] <= B) return 0;
  return (size_t)gb_pool_threads(pool) * B * B * gb_dtype_size(o->in_dtype[0]);
}

static square square_of (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  const gb_dtype t = o->in_dtype[0];
  const size_t n = o->in_shape[0].dim[0], spare = spare_bytes(o, c->pool);
  const bool inverse = o->op == GB_OP_CHOL_INVERSE;
  return (square){.dtype = t,
                  .have = o->have,
                  .first = o->have / B,
                  .n = n,
                  .nb = gb_blocks(n, B),
                  .size = gb_dtype_size(t),
                  .jitter = o->attr.f[0],
                  .in = gb_tiles_of_factor(o, c->in[0]),
                  .out = inverse ? gb_tiles_of(t, o->packed_inverse, n, n, c->out[0])
                                 : gb_tiles_of_factor(o, c->out[0]),
                  .spare = spare > 0 ? c->scratch : NULL,
                  .progress = (atomic_uint *)(void *)((char *)c->scratch + spare)};
}

size_t gb_cpu_cholesky_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  return counters_bytes(o);
}

size_t gb_cpu_chol_inverse_scratch (const gb_pool *pool, const gb_opaque *o) {
  return spare_bytes(o, pool) + counters_bytes(o);
}

static size_t extent (const square *q, size_t i) { return gb_block_extent(q->n, B, i); }

/* Number of tiles in the processed block rows. */
static size_t ntiles (const square *q) { return (q->nb * (q->nb + 1) - q->first * (q->first + 1)) / 2; }

/* Tile t of these, numbered column by column; tile t of all, numbered row by row. */
static void tile_by_column (const square *q, size_t t, size_t *i, size_t *j) {
  size_t col = 0, top = q->first;
  for (; t >= q->nb - top; top = col > top ? col : top) {
    t -= q->nb - top;
    col++;
  }
  *i = top + t;
  *j = col;
}

static void tile_by_row (size_t t, size_t *i, size_t *j) {
  size_t row = 0;
  for (; t > row; row++) t -= row + 1;
  *i = row;
  *j = t;
}

/* Copies the entries of row i up to the diagonal, the last entry of the last run, and zeros the rest. */
static void *copy_row (const square *q, size_t i) {
  size_t run, rest;
  for (size_t j = 0; j <= i; j += run) {
    const void *from = gb_tiles_entry(&q->in, i, j, &run);
    void *to = gb_tiles_entry(&q->out, i, j, &run);
    if (run > i + 1 - j) run = i + 1 - j;
    if (from != to) memcpy(to, from, run * q->size);
  }
  char *diagonal = gb_tiles_entry(&q->out, i, i, &rest);
  memset(diagonal + q->size, 0, (rest - 1) * q->size);
  return diagonal;
}

/* Rows of block row i that are factored already; i >= first. */
static size_t old_rows (const square *q, size_t i) { return i == q->first ? q->have % B : 0; }

/* Tile (i, j) from the first new row. */
static char *new_rows (const square *q, size_t i, size_t j) {
  return (char *)gb_tile_at(&q->out, i, j) + old_rows(q, i) * gb_tile_ld(&q->out, j) * q->size;
}

/* Lower triangle of A + jitter I, zeros above; a block of rows a task. Both have the same layout. */
static void copy_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  const size_t row = q->first + task;
  (void)s, (void)thread;
  for (size_t i = row * B + old_rows(q, row); i < row * B + extent(q, row); i++) {
    void *diagonal = copy_row(q, i);
    if (q->dtype == GB_F64) *(double *)diagonal += q->jitter;
    else *(float *)diagonal += (float)q->jitter;
  }
}

/* Factors 'a', the new rows and columns of diagonal tile j. A pivot that is NaN by overflow counts as not
** positive. */
static void factor_diagonal (square *q, gb_tasks *s, size_t j, void *a) {
  const size_t ld = gb_tile_ld(&q->out, j), old = old_rows(q, j), n = extent(q, j) - old;
  size_t bad = gb_lapack_potrf(q->dtype, n, a, ld);
  for (size_t i = 0; bad == 0 && i < n; i++)
    if (!(gb_element_get(a, i * ld + i, q->dtype) > 0)) bad = i + 1;
  if (bad == 0) return;
  q->minor = j * B + old + bad;
  atomic_store(&s->stopped, true);
}

static void factor_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  square *q = ud;
  (void)thread;
  size_t i, j;
  tile_by_column(q, task, &i, &j);
  atomic_uint *done = q->progress; /* done[i]: tiles of row i finished, from the left */
  const size_t old = old_rows(q, i), ni = extent(q, i) - old, ld = gb_tile_ld(&q->out, j);
  const size_t nj = i == j ? old : extent(q, j); /* columns of the tile whose diagonal entries are known */
  char *c = new_rows(q, i, j), *corner = c + old * q->size;
  for (size_t k = 0; k < j; k++) {
    if (!gb_tasks_poll(s) || !gb_tasks_wait(s, &done[i], k + 1) || !gb_tasks_wait(s, &done[j], k + 1)) return;
    const void *lik = new_rows(q, i, k), *ljk = gb_tile_at(&q->out, j, k);
    const size_t ldk = gb_tile_ld(&q->out, k);
    if (nj > 0) gb_blas_gemm(q->dtype, false, true, ni, nj, B, -1.0, lik, ldk, ljk, ldk, 1.0, c, ld);
    if (i == j) gb_blas_syrk_lower(q->dtype, false, ni, B, -1.0, lik, ldk, corner, ld);
  }
  if (i != j && !gb_tasks_wait(s, &done[j], j + 1)) return;
  if (nj > 0)
    gb_blas_trsm_right(q->dtype, GB_LOWER, true, false, ni, nj, gb_tile_at(&q->out, j, j), ld, c, ld);
  if (i == j) {
    if (old > 0) gb_blas_syrk_lower(q->dtype, false, ni, old, -1.0, c, ld, corner, ld);
    factor_diagonal(q, s, j, corner);
    if (atomic_load(&s->stopped)) return;
  }
  gb_tasks_done(&done[i], j + 1);
}

/* Restricted to the new rows. */
static double multiply_adds (const square *q) {
  const double n = (double)q->n, have = (double)q->have;
  return (n * n * n - have * have * have) / 6;
}

gb_status gb_cpu_cholesky (const gb_opaque_call *c) {
  square q = square_of(c);
  GB_TRY(gb_check_lower(c->pool, &q.in, q.have, c->err));
  GB_TRY(gb_tasks_run(c->pool, q.nb - q.first, copy_rows, &q, c->err));
  for (size_t i = 0; i < q.nb; i++) atomic_init(&q.progress[i], i < q.first ? (unsigned)i + 1 : 0);
  GB_TRY(gb_tasks_run(gb_pool_for(c->pool, multiply_adds(&q)), ntiles(&q), factor_tile, &q, c->err));
  if (q.minor == 0) return GB_OK;
  gb_fail(c->err, GB_ENOTPD, "the leading minor of order %zu of %zu is not positive (jitter %g)", q.minor,
          q.n, gb_plain(q.jitter));
  if (c->err != NULL) c->err->order = q.minor;
  return GB_ENOTPD;
}

/* X_jj = L_jj^-1 with zeros above its diagonal. */
static void invert_diagonal (const square *q, size_t j) {
  char *x = gb_tile_at(&q->out, j, j);
  const char *l = gb_tile_at(&q->in, j, j);
  const size_t nj = extent(q, j), ld = gb_tile_ld(&q->out, j), from = gb_tile_ld(&q->in, j);
  for (size_t r = 0; r < nj; r++) {
    if (x != l) memcpy(x + r * ld * q->size, l + r * from * q->size, (r + 1) * q->size);
    memset(x + (r * ld + r + 1) * q->size, 0, (nj - r - 1) * q->size);
  }
  gb_lapack_trtri(q->dtype, nj, x, ld);
}

/* Writes 'x' into tile (i, j), which may hold L_ij: waits until the tiles of its row that read L_ij, and all
** earlier ones, are done. */
static bool replace_tile (const square *q, gb_tasks *s, size_t i, size_t j, const char *x) {
  if (j > 0 && !gb_tasks_wait(s, &q->progress[j - 1], i - j + 2)) return false;
  if (x != NULL) memcpy(gb_tile_at(&q->out, i, j), x, extent(q, i) * B * q->size);
  return true;
}

/* Tile (i, j) of X = L^-1: X_jj = L_jj^-1, X_ij = -L_ii^-1 sum over k in j .. i-1 of L_ik X_kj. With spare
** tiles X may overwrite L. progress[j]: tiles of column j finished, counted from its diagonal. */
static void invert_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  size_t i, j;
  tile_by_row(task, &i, &j);
  const size_t ni = extent(q, i), nj = extent(q, j), ld = gb_tile_ld(&q->out, j);
  if (i == j) {
    if (q->spare != NULL && !replace_tile(q, s, i, i, NULL)) return;
    invert_diagonal(q, i);
    gb_tasks_done(&q->progress[i], 1);
    return;
  }
  char *spare = q->spare == NULL ? NULL : q->spare + (size_t)thread * B * B * q->size;
  char *x = spare == NULL ? gb_tile_at(&q->out, i, j) : spare;
  for (size_t k = j; k < i; k++) {
    if (!gb_tasks_poll(s) || !gb_tasks_wait(s, &q->progress[j], k - j + 1)) return;
    gb_blas_gemm(q->dtype, false, false, ni, nj, B, -1.0, gb_tile_at(&q->in, i, k), gb_tile_ld(&q->in, k),
                 gb_tile_at(&q->out, k, j), ld, k == j ? 0.0 : 1.0, x, ld);
  }
  gb_blas_trsm_left(q->dtype, GB_LOWER, false, false, ni, nj, gb_tile_at(&q->in, i, i), gb_tile_ld(&q->in, i),
                    x, ld);
  if (spare != NULL && !replace_tile(q, s, i, j, spare)) return;
  gb_tasks_done(&q->progress[j], i - j + 1);
}

/* Tile (i, j) of X' X over X's own lower triangle: sum over k >= i of X_ki' X_kj. A row of tiles overwrites
** tiles that only rows above and the same row read; its diagonal tile is last. progress[0] counts finished
** tiles. */
static void multiply_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  const square *q = ud;
  (void)thread;
  size_t i, j;
  tile_by_row(task, &i, &j);
  const size_t before = i * (i + 1) / 2 + (i == j ? i : 0), ni = extent(q, i), nj = extent(q, j);
  const size_t ldi = gb_tile_ld(&q->out, i), ld = gb_tile_ld(&q->out, j);
  if (!gb_tasks_wait(s, q->progress, before)) return;
  char *x = gb_tile_at(&q->out, i, j);
  if (i == j) gb_lapack_lauum(q->dtype, ni, x, ld);
  else gb_blas_trmm_left_trans(q->dtype, ni, nj, gb_tile_at(&q->out, i, i), ldi, x, ld);
  for (size_t k = i + 1; k < q->nb; k++) {
    if (!gb_tasks_poll(s)) return;
    const void *xki = gb_tile_at(&q->out, k, i), *xkj = gb_tile_at(&q->out, k, j);
    if (i == j) gb_blas_syrk_lower(q->dtype, true, ni, extent(q, k), 1.0, xki, ldi, x, ld);
    else gb_blas_gemm(q->dtype, true, false, ni, nj, extent(q, k), 1.0, xki, ldi, xkj, ld, 1.0, x, ld);
  }
  atomic_fetch_add_explicit(q->progress, 1, memory_order_release);
}

/* Entries above the diagonal; for a packed matrix only those inside diagonal tiles. */
static gb_status mirror (const gb_opaque_call *c, const square *q) {
  if (!q->out.packed) return gb_mirror_lower(c->pool, q->dtype, q->n, q->out.base, c->err);
  for (size_t j = 0; j < q->nb; j++)
    GB_TRY(gb_mirror_lower(c->pool, q->dtype, extent(q, j), gb_tile_at(&q->out, j, j), c->err));
  return GB_OK;
}

gb_status gb_cpu_chol_inverse (const gb_opaque_call *c) {
  square q = square_of(c);
  memset(q.progress, 0, counters_bytes(c->o));
  GB_TRY(gb_tasks_run(c->pool, ntiles(&q), invert_tile, &q, c->err));
  memset(q.progress, 0, counters_bytes(c->o));
  GB_TRY(gb_tasks_run(c->pool, ntiles(&q), multiply_tile, &q, c->err));
  return mirror(c, &q);
}

gb_status gb_cpu_logdet (const gb_opaque_call *c) {
  const size_t n = c->o->in_shape[0].dim[0];
  const gb_dtype t = c->o->in_dtype[0];
  const gb_tiles l = gb_tiles_of_factor(c->o, c->in[0]);
  double sum = 0;
  for (size_t i = 0, run; i < n; i++) sum += log(gb_element_get(gb_tiles_entry(&l, i, i, &run), 0, t));
  gb_element_set(c->out[0], 0, t, 2 * sum);
  return GB_OK;
}
