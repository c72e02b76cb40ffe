/* opaque.h - what the files of opaque ops share: one call, blocks, triangular solves, and the check for
** finite input. */
#ifndef GB_CPU_OPAQUE_H
#define GB_CPU_OPAQUE_H

#include "cpu/blas.h"
#include "cpu/tasks.h"

/* One run of an opaque op. All tensors are contiguous; 'scratch' has the bytes its contract declares. */
typedef struct gb_opaque_call {
  gb_pool *pool;
  const gb_opaque *o;
  const void *const *in;
  void *const *out;
  void *scratch;
  gb_error *err;
} gb_opaque_call;

typedef gb_status gb_opaque_fn (const gb_opaque_call *c);
typedef size_t gb_scratch_fn (const gb_backend *be, const gb_opaque *o);

gb_opaque_fn gb_cpu_gemm, gb_cpu_cholesky, gb_cpu_chol_inverse, gb_cpu_logdet, gb_cpu_inv_quad,
    gb_cpu_solve_chol, gb_cpu_trisolve, gb_cpu_lu_solve, gb_cpu_lu_logdet, gb_cpu_qr, gb_cpu_eigh, gb_cpu_svd,
    gb_cpu_sort, gb_cpu_topk, gb_cpu_cumsum, gb_cpu_index, gb_cpu_put, gb_cpu_index_add, gb_cpu_cat,
    gb_cpu_cast, gb_cpu_sobol, gb_cpu_randperm;
gb_scratch_fn gb_cpu_cholesky_scratch, gb_cpu_chol_inverse_scratch, gb_cpu_inv_quad_scratch,
    gb_cpu_solve_scratch, gb_cpu_lu_solve_scratch, gb_cpu_lu_logdet_scratch, gb_cpu_qr_scratch,
    gb_cpu_eigh_scratch, gb_cpu_svd_scratch, gb_cpu_sort_scratch;

static inline size_t gb_align64 (size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Right-hand sides of shape (n) or (n, r): r. */
static inline size_t gb_columns (const gb_shape *s) { return s->ndim == 1 ? 1 : s->dim[1]; }

typedef enum gb_part { GB_ALL, GB_LOWER_PART } gb_part;

/* a (n, m). Errors: ENAN naming row and column, from 1, of the first entry that is not finite; EINTR. */
gb_status gb_check_finite (gb_pool *pool, gb_dtype t, size_t n, size_t m, const void *a, gb_part part,
                           gb_error *err);

/* A triangular system, solved in place: x (n, r) = op(a)^-1 x, a (n, n) with rows 'lda' apart. */
typedef struct gb_tri {
  gb_dtype dtype;
  gb_uplo uplo;
  bool trans, unit;
  size_t n, r, lda;
  const void *a;
  void *x;
  atomic_uint *progress;           /* scratch: gb_tri_bytes(n, r) */
} gb_tri;

size_t gb_tri_bytes (size_t n, size_t r);
gb_status gb_tri_solve (gb_pool *pool, const gb_tri *s, gb_error *err);

/* memcpy and memset to 0 by all threads. Errors: EINTR. */
gb_status gb_copy_bytes (gb_pool *pool, size_t bytes, const void *src, void *dst, gb_error *err);
gb_status gb_zero_bytes (gb_pool *pool, size_t bytes, void *dst, gb_error *err);

/* dst (m, n) = src (n, m) transposed, rows 'ldd' and 'lds' apart. Errors: EINTR. */
gb_status gb_transpose_copy (gb_pool *pool, gb_dtype t, size_t n, size_t m, const void *src, size_t lds,
                             void *dst, size_t ldd, gb_error *err);

/* a (n, n) transposed in place; and its lower triangle copied over the upper one. Errors: EINTR. */
gb_status gb_transpose_square (gb_pool *pool, gb_dtype t, size_t n, void *a, gb_error *err);
gb_status gb_mirror_lower (gb_pool *pool, gb_dtype t, size_t n, void *a, gb_error *err);

#endif
