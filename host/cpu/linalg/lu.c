/* lu.c - LU factors with partial pivoting, for square systems without structure.
**
** LAPACK's column-major view of a row-major A is A', so the factorisation is A' = P L U, that is A = U' L'
** P': in row-major memory a lower triangle U' with its diagonal, and above it the unit triangle L'. Columns
** of A are pivoted, which is as stable as pivoting rows. Panels of PANEL columns of A' (rows of A) are
** factored, then the other rows are updated, one tile a task. Cost: 2 n^3 / 3 flops and a copy of A. */
#include <math.h>
#include <string.h>

#include "cpu/linalg/opaque.h"

#define PANEL 128
#define ROWS 64

typedef struct factors {
  gb_dtype dtype;
  size_t n, size;
  char *a;       /* (n, n) */
  int *pivot;    /* (n), relative to the first column of their panel */
  size_t p0, np; /* the panel in progress */
  int exponent;  /* of 2, by which A was divided */
  size_t zero;   /* 1 + the first column with a zero pivot; 0 = none */
} factors;

static size_t pivot_bytes (size_t n) { return gb_align64(n * sizeof(int)); }

static size_t factors_bytes (const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0];
  return gb_align64(n * n * gb_dtype_size(o->in_dtype[0])) + pivot_bytes(n);
}

static char *entry (const factors *q, size_t i, size_t j) { return q->a + (i * q->n + j) * q->size; }

static void swap_entries (char *x, char *y, size_t bytes) {
  char t[sizeof(double)];
  memcpy(t, x, bytes);
  memcpy(x, y, bytes);
  memcpy(y, t, bytes);
}

/* Updates a tile of rows of A with the panel; rows above the panel only exchange columns. */
static void update_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const factors *q = ud;
  (void)thread;
  const size_t i0 = task * ROWS, ni = gb_block_extent(q->n, ROWS, task), p1 = q->p0 + q->np;
  if (i0 >= q->p0 && i0 < p1) return; /* PANEL is a multiple of ROWS */
  for (size_t i = i0; i < i0 + ni; i++)
    for (size_t j = 0; j < q->np; j++)
      if ((size_t)q->pivot[q->p0 + j] != j)
        swap_entries(entry(q, i, q->p0 + j), entry(q, i, q->p0 + (size_t)q->pivot[q->p0 + j]), q->size);
  if (i0 < q->p0) return;
  gb_blas_trsm_right(q->dtype, GB_UPPER, false, true, ni, q->np, entry(q, q->p0, q->p0), q->n,
                     entry(q, i0, q->p0), q->n);
  for (size_t j = p1; j < q->n && gb_tasks_poll(s); j += GB_BLOCK)
    gb_blas_gemm(q->dtype, false, false, ni, q->n - j < GB_BLOCK ? q->n - j : GB_BLOCK, q->np, -1.0,
                 entry(q, i0, q->p0), q->n, entry(q, q->p0, j), q->n, 1.0, entry(q, i0, j), q->n);
}

static gb_status factor (const gb_opaque_call *c, factors *q) {
  const size_t n = c->o->in_shape[0].dim[0];
  *q = (factors){
      .dtype = c->o->in_dtype[0], .n = n, .size = gb_dtype_size(c->o->in_dtype[0]), .a = c->scratch};
  q->pivot = (int *)(void *)((char *)c->scratch + gb_align64(n * n * q->size));
  GB_TRY(gb_check_finite(c->pool, q->dtype, n, n, c->in[0], c->err));
  GB_TRY(gb_copy_bytes(c->pool, n * n * q->size, c->in[0], q->a, c->err));
  q->exponent = gb_far_exponent(q->dtype, n * n, q->a);
  gb_scale_by_power(q->dtype, n * n, -q->exponent, q->a);
  for (q->p0 = 0; q->p0 < n; q->p0 += PANEL) {
    q->np = n - q->p0 < PANEL ? n - q->p0 : PANEL;
    const size_t zero =
        gb_lapack_getrf(q->dtype, n - q->p0, q->np, entry(q, q->p0, q->p0), n, q->pivot + q->p0);
    if (zero != 0 && q->zero == 0) q->zero = q->p0 + zero;
    GB_TRY(gb_tasks_run(n <= PANEL ? NULL : c->pool, gb_blocks(n, ROWS), update_rows, q, c->err));
  }
  return GB_OK;
}

size_t gb_cpu_lu_solve_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  return factors_bytes(o) + gb_tri_bytes(o->in_shape[0].dim[0], gb_columns(&o->in_shape[1]));
}

size_t gb_cpu_lu_logdet_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  return factors_bytes(o);
}

/* x = P z: the exchanges in reverse order. */
static void exchange_rows (const factors *q, size_t r, char *x) {
  const size_t bytes = r * q->size;
  for (size_t i = q->n; i-- > 0;) {
    const size_t j = i / PANEL * PANEL + (size_t)q->pivot[i];
    for (size_t k = 0; j != i && k < bytes; k += q->size)
      swap_entries(x + i * bytes + k, x + j * bytes + k, q->size);
  }
}

gb_status gb_cpu_lu_solve (const gb_opaque_call *c) {
  factors q;
  GB_TRY(factor(c, &q));
  if (q.zero != 0)
    return gb_fail(c->err, GB_ENOTPD, "the matrix is singular: pivot %zu of %zu is zero", q.zero, q.n);
  const size_t r = gb_columns(&c->o->in_shape[1]);
  bool finite;
  GB_TRY(gb_right_is_finite(c, &finite));
  GB_TRY(gb_copy_bytes(c->pool, q.n * r * q.size, c->in[1], c->out[0], c->err));
  /* half of the scaling before, half after: neither b nor an intermediate value overflows */
  const int before = q.exponent / 2;
  gb_scale_by_power(q.dtype, q.n * r, -before, c->out[0]);
  gb_tri s = {.a = gb_tiles_of(q.dtype, false, q.n, q.n, q.a), .uplo = GB_LOWER, .r = r, .x = c->out[0]};
  s.progress = (atomic_uint *)(void *)((char *)c->scratch + factors_bytes(c->o));
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  s.uplo = GB_UPPER;
  s.unit = true;
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  gb_scale_by_power(q.dtype, q.n * r, before - q.exponent, c->out[0]);
  exchange_rows(&q, r, c->out[0]);
  return !finite ? GB_OK : gb_check_result(c, "solve: the solution", q.n, r, c->out[0]);
}

/* A singular matrix has log |det| = -inf. */
gb_status gb_cpu_lu_logdet (const gb_opaque_call *c) {
  factors q;
  GB_TRY(factor(c, &q));
  double sum = (double)q.n * q.exponent * log(2);
  for (size_t i = 0; i < q.n; i++) sum += log(fabs(gb_element_get(q.a, i * q.n + i, q.dtype)));
  gb_element_set(c->out[0], 0, q.dtype, sum);
  return GB_OK;
}
