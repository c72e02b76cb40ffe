/* trisolve.c - triangular systems with many right-hand sides, and systems in a Cholesky factor.
**
** A task is one block of rows of one block of columns: it subtracts the solved blocks in the order of the
** substitution, then solves with the diagonal block. Row blocks of one column are pipelined, so two threads
** can share even a single right-hand side. Cost: n^2 r flops; the solution overwrites the right-hand
** sides. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cpu/linalg/opaque.h"

#define B GB_BLOCK

size_t gb_tri_bytes (size_t n, size_t r) { return n == 0 ? 0 : gb_blocks(r, B) * sizeof(atomic_uint); }

static void solve_block (void *ud, gb_tasks *s, size_t task, int thread) {
  const gb_tri *q = ud;
  (void)thread;
  const gb_tiles *a = &q->a;
  const size_t nrow = gb_blocks(a->n, B), ncol = gb_blocks(q->r, B), size = gb_dtype_size(a->dtype);
  const size_t step = task / ncol, col = task % ncol;
  const bool forward = (q->uplo == GB_LOWER) != q->trans;
  const size_t i = forward ? step : nrow - 1 - step;
  const size_t ni = gb_block_extent(a->n, B, i), nc = gb_block_extent(q->r, B, col);
  char *x = (char *)q->x + col * B * size, *xi = x + i * B * q->r * size;
  atomic_uint *done = &q->progress[col]; /* blocks of rows solved */
  for (size_t before = 0; before < step; before++) {
    const size_t k = forward ? before : nrow - 1 - before;
    const size_t row = q->trans ? k : i, column = q->trans ? i : k;
    if (!gb_tasks_poll(s) || !gb_tasks_wait(s, done, before + 1)) return;
    gb_blas_gemm(a->dtype, q->trans, false, ni, nc, gb_block_extent(a->n, B, k), -1.0,
                 gb_tile_at(a, row, column), gb_tile_ld(a, column), x + k * B * q->r * size, q->r, 1.0, xi,
                 q->r);
  }
  if (!gb_tasks_wait(s, done, step)) return;
  gb_blas_trsm_left(a->dtype, q->uplo, q->trans, q->unit, ni, nc, gb_tile_at(a, i, i), gb_tile_ld(a, i), xi,
                    q->r);
  gb_tasks_done(done, step + 1);
}

gb_status gb_tri_solve (gb_pool *pool, const gb_tri *q, gb_error *err) {
  const double n = (double)q->a.n;
  memset(q->progress, 0, gb_tri_bytes(q->a.n, q->r));
  return gb_tasks_run(gb_pool_for(pool, n * n / 2 * (double)q->r), gb_blocks(q->a.n, B) * gb_blocks(q->r, B),
                      solve_block, (void *)(uintptr_t)q, err);
}

size_t gb_cpu_solve_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  return gb_tri_bytes(o->in_shape[0].dim[0], gb_columns(&o->in_shape[1]));
}

/* The system op(L) x = b with x a copy of b at 'x', and whether b is finite. */
static gb_status system_of (const gb_opaque_call *c, void *x, void *progress, gb_tri *s, bool *finite) {
  const gb_opaque *o = c->o;
  const size_t n = o->in_shape[0].dim[0], r = gb_columns(&o->in_shape[1]);
  const gb_tiles l = gb_tiles_of_factor(o, c->in[0]);
  *s = (gb_tri){.a = l, .r = r, .x = x, .progress = progress};
  GB_TRY(gb_right_is_finite(c, finite));
  return gb_copy_bytes(c->pool, n * r * gb_dtype_size(l.dtype), c->in[1], x, c->err);
}

static double entry (const gb_tiles *a, size_t i, size_t j) {
  size_t run;
  return gb_element_get(gb_tiles_entry(a, i, j, &run), 0, a->dtype);
}

/* A triangular matrix is singular if a diagonal entry is 0. */
static gb_status check_diagonal (const gb_opaque_call *c, const gb_tiles *a) {
  for (size_t i = 0; i < a->n; i++)
    if (entry(a, i, i) == 0)
      return gb_fail(c->err, GB_ENOTPD,
                     "triangular_solve: the matrix is singular: row %zu of %zu has 0 on the diagonal", i + 1,
                     a->n);
  return GB_OK;
}

/* Column j of R, from the factorisation A = Q R of an (n, m) matrix, has the length of that of A; its
** diagonal entry is the part orthogonal to the earlier columns. */
static bool depends (const gb_tiles *r, size_t n, size_t j) {
  const double eps = r->dtype == GB_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
  double length = 0;
  for (size_t i = 0; i <= j; i++) length = hypot(length, entry(r, i, j));
  return fabs(entry(r, j, j)) <= (double)n * eps * length;
}

static gb_status check_rank (const gb_opaque_call *c, const gb_tiles *r, size_t n) {
  size_t first = 0, rank = 0;
  for (size_t j = 0; j < r->n; j++) {
    if (!depends(r, n, j)) rank++;
    else if (first == 0) first = j + 1;
  }
  if (first == 0) return GB_OK;
  return gb_fail(c->err, GB_ENOTPD,
                 "lstsq: the matrix has rank %zu, of %zu columns: column %zu is made of those before it; "
                 "leave it out, or add a ridge",
                 rank, r->n, first);
}

gb_status gb_cpu_trisolve (const gb_opaque_call *c) {
  gb_tri s;
  bool finite;
  GB_TRY(system_of(c, c->out[0], c->scratch, &s, &finite));
  GB_TRY(c->o->attr.i[2] != 0 ? check_rank(c, &s.a, (size_t)c->o->attr.i[2]) : check_diagonal(c, &s.a));
  s.uplo = c->o->attr.i[0] != 0 ? GB_UPPER : GB_LOWER;
  s.trans = c->o->attr.i[1] != 0;
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  const char *what = c->o->attr.i[2] != 0 ? "lstsq: the solution" : "triangular_solve: the solution";
  return !finite ? GB_OK : gb_check_result(c, what, s.a.n, s.r, s.x);
}

gb_status gb_cpu_solve_chol (const gb_opaque_call *c) {
  gb_tri s;
  bool finite;
  GB_TRY(system_of(c, c->out[0], c->scratch, &s, &finite));
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  s.trans = true;
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  return !finite ? GB_OK : gb_check_result(c, "solve: the solution", s.a.n, s.r, s.x);
}

size_t gb_cpu_inv_quad_scratch (const gb_pool *pool, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0], r = gb_columns(&o->in_shape[1]);
  return gb_align64(n * r * gb_dtype_size(o->in_dtype[0])) + gb_cpu_solve_scratch(pool, o);
}

/* |L^-1 b|^2: never negative, and half the work of a solve. */
gb_status gb_cpu_inv_quad (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  const size_t count = o->in_shape[0].dim[0] * gb_columns(&o->in_shape[1]);
  const gb_dtype t = o->in_dtype[0];
  gb_tri s;
  bool finite;
  GB_TRY(system_of(c, c->scratch, (char *)c->scratch + gb_align64(count * gb_dtype_size(t)), &s, &finite));
  GB_TRY(gb_tri_solve(c->pool, &s, c->err));
  double total = 0;
  for (size_t i0 = 0; i0 < count; i0 += B) { /* sums of squares in blocks stay accurate at any length */
    double sum = 0;
    for (size_t i = i0; i < count && i < i0 + B; i++) {
      const double v = gb_element_get(s.x, i, t);
      sum += v * v;
    }
    total += sum;
  }
  gb_element_set(c->out[0], 0, t, total);
  return !finite ? GB_OK : gb_check_result(c, "inv_quad: b' A^-1 b", 1, 1, c->out[0]);
}
