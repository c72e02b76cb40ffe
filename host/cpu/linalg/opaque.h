/* opaque.h - what the files of opaque ops share: one call, matrices as tiles, triangular solves, and the
** check for finite input. */
#ifndef GB_CPU_LINALG_OPAQUE_H
#define GB_CPU_LINALG_OPAQUE_H

#include "base/tasks.h"
#include "cpu/linalg/blas.h"

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
/* Scratch of a run by the threads of 'pool'; NULL: by the caller alone. */
typedef size_t gb_scratch_fn (const gb_pool *pool, const gb_opaque *o);

gb_opaque_fn gb_cpu_gemm, gb_cpu_cholesky, gb_cpu_chol_inverse, gb_cpu_logdet, gb_cpu_inv_quad,
    gb_cpu_solve_chol, gb_cpu_trisolve, gb_cpu_lu_solve, gb_cpu_lu_logdet, gb_cpu_qr, gb_cpu_eigh, gb_cpu_svd,
    gb_cpu_sort, gb_cpu_topk, gb_cpu_cumsum, gb_cpu_index, gb_cpu_put, gb_cpu_index_add, gb_cpu_index_max,
    gb_cpu_index_min, gb_cpu_cat, gb_cpu_cast, gb_cpu_sobol, gb_cpu_randperm;
gb_scratch_fn gb_cpu_cholesky_scratch, gb_cpu_chol_inverse_scratch, gb_cpu_inv_quad_scratch,
    gb_cpu_solve_scratch, gb_cpu_lu_solve_scratch, gb_cpu_lu_logdet_scratch, gb_cpu_qr_scratch,
    gb_cpu_eigh_scratch, gb_cpu_svd_scratch, gb_cpu_sort_scratch, gb_cpu_topk_scratch;

static inline size_t gb_align64 (size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Right-hand sides of shape (n) or (n, r): r. */
static inline size_t gb_columns (const gb_shape *s) { return s->ndim == 1 ? 1 : s->dim[1]; }

/* A matrix with n rows, found by tiles of GB_BLOCK: row-major, or a triangle as program/packed.h says. */
typedef struct gb_tiles {
  gb_dtype dtype;
  bool packed, grown;
  size_t n, m; /* m: columns, so many elements between rows of a row-major matrix; else n */
  char *base;
} gb_tiles;

/* 'base' is written only through tiles of a result. */
static inline gb_tiles gb_tiles_of (gb_dtype t, bool packed, size_t n, size_t m, const void *base) {
  return (gb_tiles){t, packed, false, n, m, (char *)(uintptr_t)base};
}

/* The factor that is operand 0 of 'o', or a result in its layout. */
static inline gb_tiles gb_tiles_of_factor (const gb_opaque *o, const void *base) {
  const size_t n = o->in_shape[0].dim[0];
  return (gb_tiles){o->in_dtype[0], o->packed, o->grown, n, n, (char *)(uintptr_t)base};
}

/* Address of tile (i, j); elements between the rows of a tile of block column j. */
static inline void *gb_tile_at (const gb_tiles *a, size_t i, size_t j) {
  if (a->grown) {
    const gb_block_row row = ((const gb_block_row *)(const void *)a->base)[i];
    return (char *)gb_block_row_data(row) + j * gb_block_row_rows(row) * GB_BLOCK * gb_dtype_size(a->dtype);
  }
  const size_t at = a->packed ? gb_packed_tile(a->n, i, j) : (i * a->m + j) * GB_BLOCK;
  return a->base + at * gb_dtype_size(a->dtype);
}
static inline size_t gb_tile_ld (const gb_tiles *a, size_t j) {
  if (a->grown) return GB_BLOCK;
  return a->packed ? gb_block_extent(a->n, GB_BLOCK, j) : a->m;
}

/* Address of entry (i, j); '*run': how many entries of row i are adjacent from there on. */
static inline void *gb_tiles_entry (const gb_tiles *a, size_t i, size_t j, size_t *run) {
  const bool tiled = a->packed || a->grown;
  const size_t col = tiled ? j % GB_BLOCK : j, ld = gb_tile_ld(a, j / GB_BLOCK);
  *run = ld - col;
  char *tile = gb_tile_at(a, i / GB_BLOCK, tiled ? j / GB_BLOCK : 0);
  return tile + (i % GB_BLOCK * ld + col) * gb_dtype_size(a->dtype);
}

/* a (n, m), and the lower triangle of a (n, n) from row 'have' on. Errors: ENAN naming row and column,
** from 1, of the first entry that is not finite; EINTR. */
gb_status gb_check_finite (gb_pool *pool, gb_dtype t, size_t n, size_t m, const void *a, gb_error *err);
gb_status gb_check_lower (gb_pool *pool, const gb_tiles *a, size_t have, gb_error *err);

/* range.c: the exponent k of the largest |entry|, in [2^(k-1), 2^k), where sums of products of the entries
** could leave the type, else 0; every entry times 2^exponent. */
int gb_far_exponent (gb_dtype t, size_t count, const void *a);
void gb_scale_by_power (gb_dtype t, size_t count, int exponent, void *a);
/* ENAN "'what' overflows" where a result (n, m) of a finite matrix, operand 0, is not finite; of the
** right-hand sides, operand 1, that is asked before, since their memory may be that of the result. Errors:
** EINTR. */
gb_status gb_right_is_finite (const gb_opaque_call *c, bool *finite);
gb_status gb_check_result (const gb_opaque_call *c, const char *what, size_t n, size_t m, const void *result);

/* A triangular system, solved in place: x (n, r) = op(a)^-1 x, a (n, n). */
typedef struct gb_tri {
  gb_tiles a;
  gb_uplo uplo;
  bool trans, unit;
  size_t r;
  void *x;
  atomic_uint *progress; /* scratch: gb_tri_bytes(n, r) */
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
