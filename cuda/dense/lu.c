/* lu.c - LU factors with partial pivoting, by cuSOLVER. It reads a row-major A as A', so columns of A are
** pivoted, as on the CPU: the same pivot is the first that is zero. */
#include "cuda/dense/call.h"
#include "cuda/dense/kernels.h"

/* Pieces of scratch. */
typedef struct pieces {
  size_t pivots, right, work, bytes;
} pieces;

static pieces pieces_of (const gb_device *dev, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0];
  const size_t r = o->op == GB_OP_LU_SOLVE ? gb_cuda_columns(&o->in_shape[1]) : 0;
  pieces p = {.pivots = gb_cuda_numbers(o, n * n)};
  p.right = p.pivots + gb_cuda_piece(n * sizeof(int64_t));
  p.work = p.right + gb_cuda_numbers(o, r > 1 ? n * r : 0);
  p.bytes = p.work + gb_cuda_workspace_bytes(dev, GB_CUDA_GETRF, o->in_dtype[0] == GB_F32, n, n);
  return p;
}

size_t gb_cuda_lu_solve_scratch (const gb_device *dev, const gb_opaque *o) { return pieces_of(dev, o).bytes; }
size_t gb_cuda_lu_logdet_scratch (const gb_device *dev, const gb_opaque *o) {
  return pieces_of(dev, o).bytes;
}

/* The factors of A / 2^e, e = 0 but for entries near the limits of the type. */
static gb_status factor (const gb_cuda_call *c, size_t n, const pieces *p) {
  const gb_cuda_libraries *l = c->lib;
  const bool f32 = gb_cuda_is_f32(c);
  const cudaDataType t = gb_cuda_type(f32);
  const size_t bytes = n * n * gb_dtype_size(c->o->in_dtype[0]);
  cudaStream_t s = c->gpu->stream;
  gb_cuda_workspace w;
  void *near;
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[0], n, n, false, GB_CUDA_MATRIX, c->found, s));
  GB_CUDA_TRY(cudaMemcpyAsync(c->scratch, c->in[0], bytes, cudaMemcpyDeviceToDevice, s));
  GB_CUDA_TRY(gb_cuda_largest(f32, c->scratch, n * n, c->found, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->scratch, n * n, GB_CUDA_DOWN, c->found, s));
  GB_TRY(gb_cuda_workspace_of(c->gpu, GB_CUDA_GETRF, f32, n, n, &w, err));
  GB_TRY(gb_cuda_near(c->gpu, w.near, &near, err));
  GB_CUDA_SOLVER(l->solver->cusolverDnXgetrf(l->solver_handle, l->params, (int64_t)n, (int64_t)n, t,
                                             c->scratch, (int64_t)n,
                                             (int64_t *)(void *)(c->scratch + p->pivots), t,
                                             c->scratch + p->work, w.far, near, w.near, &c->found->info));
  return GB_OK;
}

/* A = V' of the factors of V. The library wants right-hand sides column after column. */
static gb_status solve (const gb_cuda_call *c, size_t n, size_t r, const pieces *p) {
  const gb_cuda_libraries *l = c->lib;
  const bool f32 = gb_cuda_is_f32(c);
  const cudaDataType t = gb_cuda_type(f32);
  cudaStream_t s = c->gpu->stream;
  void *x = r > 1 ? (void *)(c->scratch + p->right) : c->out[0];
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_transpose(f32, c->in[1], x, n, r, NULL, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, x, n * r, GB_CUDA_FIRST_HALF, c->found, s));
  GB_CUDA_SOLVER(l->solver->cusolverDnXgetrs(
      l->solver_handle, l->params, CUBLAS_OP_T, (int64_t)n, (int64_t)r, t, c->scratch, (int64_t)n,
      (const int64_t *)(const void *)(c->scratch + p->pivots), t, x, (int64_t)n, &c->found->info_q));
  GB_CUDA_TRY(gb_cuda_scale(f32, x, n * r, GB_CUDA_SECOND_HALF, c->found, s));
  if (x != c->out[0]) GB_CUDA_TRY(gb_cuda_transpose(f32, x, c->out[0], r, n, NULL, s));
  return GB_OK;
}

gb_status gb_cuda_lu_solve (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0], r = gb_cuda_columns(&c->o->in_shape[1]);
  const pieces p = pieces_of(c->device, c->o);
  cudaStream_t s = c->gpu->stream;
  gb_cuda_found found;
  gb_error *err = c->err;
  if (n == 0) return GB_OK;
  GB_TRY(factor(c, n, &p));
  GB_TRY(gb_cuda_read_found(c, &found));
  if (found.first[GB_CUDA_MATRIX] != GB_CUDA_NONE)
    return gb_cuda_not_finite(c, c->in[0], n, found.first[GB_CUDA_MATRIX]);
  if (found.info > 0)
    return gb_fail(c->err, GB_ENOTPD, "the matrix is singular: pivot %d of %zu is zero", found.info, n);
  if (r == 0) return GB_OK;
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[1], n, r, false, GB_CUDA_RIGHT, c->found, s));
  GB_TRY(solve(c, n, r, &p));
  GB_CUDA_TRY(gb_cuda_check(f32, c->out[0], n, r, false, GB_CUDA_RESULT, c->found, s));
  GB_TRY(gb_cuda_read_found(c, &found));
  const bool overflow = found.first[GB_CUDA_RIGHT] == GB_CUDA_NONE &&
                        found.first[GB_CUDA_RESULT] != GB_CUDA_NONE;
  return overflow ? gb_cuda_overflows(c, "solve: the solution") : GB_OK;
}

/* A singular matrix has log |det| = -inf. */
gb_status gb_cuda_lu_logdet (const gb_cuda_call *c) {
  const size_t n = c->o->in_shape[0].dim[0];
  const pieces p = pieces_of(c->device, c->o);
  gb_cuda_found found;
  gb_error *err = c->err;
  if (n > 0) GB_TRY(factor(c, n, &p));
  GB_CUDA_TRY(gb_cuda_sum_logs(gb_cuda_is_f32(c), n > 0 ? c->scratch : c->in[0], n, 1, 1, true, c->found,
                               c->out[0], c->gpu->stream));
  GB_TRY(gb_cuda_read_found(c, &found));
  if (found.first[GB_CUDA_MATRIX] == GB_CUDA_NONE) return GB_OK;
  return gb_cuda_not_finite(c, c->in[0], n, found.first[GB_CUDA_MATRIX]);
}
