/* call.h - one opaque op on a GPU: what its files share. */
#ifndef GB_CUDA_DENSE_CALL_H
#define GB_CUDA_DENSE_CALL_H

#include "cuda/dense/kernels.h"
#include "cuda/dense/libraries.h"
#include "program/slices.h"

typedef struct gb_cuda_call {
  const gb_device *device;
  gb_cuda *gpu;
  const gb_cuda_libraries *lib; /* of ops of dense algebra */
  const gb_opaque *o;
  const void *const *in;
  void *const *out;
  char *scratch;        /* so many bytes as the op declares */
  gb_cuda_found *found; /* in the GPU's room; nothing is found yet */
  gb_error *err;
} gb_cuda_call;

typedef gb_status gb_cuda_opaque_fn (const gb_cuda_call *c);
typedef size_t gb_cuda_scratch_fn (const gb_device *dev, const gb_opaque *o);

/* ../move/ */
gb_cuda_opaque_fn gb_cuda_cast, gb_cuda_cat, gb_cuda_cumsum, gb_cuda_index, gb_cuda_put, gb_cuda_index_add,
    gb_cuda_index_max, gb_cuda_index_min;
/* gemm.c, solve.c, cholesky.c, lu.c, spectral.c */
gb_cuda_opaque_fn gb_cuda_gemm, gb_cuda_trisolve, gb_cuda_solve_chol, gb_cuda_inv_quad, gb_cuda_cholesky,
    gb_cuda_chol_inverse, gb_cuda_lu_solve, gb_cuda_lu_logdet, gb_cuda_qr, gb_cuda_eigh, gb_cuda_svd;
/* The same of a batch, or of one matrix: all slices at once, if they are small enough; logdet: of any size. */
typedef gb_status gb_cuda_slices_fn (const gb_cuda_call *c, const gb_slices *s);
gb_cuda_slices_fn gb_cuda_small_trisolve, gb_cuda_small_solve_chol, gb_cuda_small_inv_quad, gb_cuda_logdets,
    gb_cuda_small_cholesky, gb_cuda_small_chol_inverse;
gb_cuda_scratch_fn gb_cuda_inv_quad_scratch, gb_cuda_cholesky_scratch, gb_cuda_chol_inverse_scratch,
    gb_cuda_lu_solve_scratch, gb_cuda_lu_logdet_scratch, gb_cuda_qr_scratch, gb_cuda_eigh_scratch,
    gb_cuda_svd_scratch;

/* small.c: whether all slices can be computed at once; what the kernels are told of them. */
bool gb_cuda_is_small (const gb_opaque *one);
gb_cuda_small gb_cuda_small_of (const gb_cuda_call *c, const gb_slices *s);

/* opaque.c: waits for the GPU and reads what was found. */
gb_status gb_cuda_read_found (const gb_cuda_call *c, gb_cuda_found *out);
/* ENAN: entry number 'at' of matrix 'a' with m columns is not finite. */
gb_status gb_cuda_not_finite (const gb_cuda_call *c, const void *a, size_t m, uint64_t at);
/* ENAN: a result of finite inputs is not finite. */
gb_status gb_cuda_overflows (const gb_cuda_call *c, const char *what);

static inline bool gb_cuda_is_f32 (const gb_cuda_call *c) { return c->o->in_dtype[0] == GB_F32; }
/* Right-hand sides of shape (n) or (n, r): r. */
static inline size_t gb_cuda_columns (const gb_shape *s) { return s->ndim == 1 ? 1 : s->dim[1]; }
/* Pieces of scratch lie one after the other. */
static inline size_t gb_cuda_piece (size_t bytes) { return (bytes + 255) / 256 * 256; }
static inline size_t gb_cuda_numbers (const gb_opaque *o, size_t count) {
  return gb_cuda_piece(count * gb_dtype_size(o->in_dtype[0]));
}

#endif
