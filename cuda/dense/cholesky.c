/* cholesky.c - Cholesky factors by cuSOLVER, and the inverse that one gives. A row-major lower triangle is the
** upper one of the same memory to a library that reads columns. */
#include "base/plain.h"
#include "cuda/dense/kernels.h"
#include "cuda/dense/opaque.h"
#include "cuda/dense/triangle.h"

size_t gb_cuda_cholesky_scratch (const gb_device *dev, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0];
  return gb_cuda_workspace_bytes(dev, GB_CUDA_POTRF, o->in_dtype[0] == GB_F32, n, n);
}

static gb_status factor (const gb_cuda_call *c, size_t n, void *a) {
  const gb_cuda_libraries *l = c->lib;
  const cudaDataType t = gb_cuda_type(gb_cuda_is_f32(c));
  gb_cuda_workspace w;
  void *near;
  gb_error *err = c->err;
  GB_TRY(gb_cuda_workspace_of(c->gpu, GB_CUDA_POTRF, gb_cuda_is_f32(c), n, n, &w, err));
  GB_TRY(gb_cuda_near(c->gpu, w.near, &near, err));
  GB_CUDA_SOLVER(l->solver->cusolverDnXpotrf(l->solver_handle, l->params, CUBLAS_FILL_MODE_UPPER, (int64_t)n,
                                             t, a, (int64_t)n, t, c->scratch, w.far, near, w.near,
                                             &c->found->info));
  return GB_OK;
}

/* A pivot that is NaN is no failure to the library, and none of a finite matrix is right. */
static size_t minor_of (const gb_cuda_found *found) {
  if (found->info > 0) return (size_t)found->info;
  return found->first[GB_CUDA_PIVOT] == GB_CUDA_NONE ? 0 : (size_t)found->first[GB_CUDA_PIVOT] + 1;
}

static gb_status not_positive (const gb_cuda_call *c, size_t minor, size_t n) {
  gb_fail(c->err, GB_ENOTPD, "the leading minor of order %zu of %zu is not positive (jitter %g)", minor, n,
          gb_plain(c->o->attr.f[0]));
  if (c->err != NULL) c->err->order = minor;
  return GB_ENOTPD;
}

gb_status gb_cuda_cholesky (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0];
  cudaStream_t s = c->gpu->stream;
  gb_cuda_found found;
  gb_error *err = c->err;
  if (n == 0) return GB_OK;
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[0], n, n, true, GB_CUDA_MATRIX, c->found, s));
  if (c->in[0] == c->out[0]) { /* an entry that is not finite is named before it may be overwritten */
    GB_TRY(gb_cuda_read_found(c, &found));
    if (found.first[GB_CUDA_MATRIX] != GB_CUDA_NONE)
      return gb_cuda_not_finite(c, c->in[0], n, found.first[GB_CUDA_MATRIX]);
  }
  GB_CUDA_TRY(gb_cuda_lower(f32, c->in[0], c->out[0], n, c->o->attr.f[0], s));
  GB_TRY(factor(c, n, c->out[0]));
  GB_CUDA_TRY(gb_cuda_check_diagonal(f32, c->out[0], n, true, c->found, s));
  GB_TRY(gb_cuda_read_found(c, &found));
  if (found.first[GB_CUDA_MATRIX] != GB_CUDA_NONE)
    return gb_cuda_not_finite(c, c->in[0], n, found.first[GB_CUDA_MATRIX]);
  return minor_of(&found) != 0 ? not_positive(c, minor_of(&found), n) : GB_OK;
}

gb_status gb_cuda_small_cholesky (const gb_cuda_call *c, const gb_slices *s) {
  gb_cuda_small p = gb_cuda_small_of(c, s);
  gb_cuda_found found;
  gb_error *err = c->err;
  p.jitter = c->o->attr.f[0];
  GB_CUDA_TRY(gb_cuda_small_factors(gb_cuda_is_f32(c), &p, c->gpu->stream));
  GB_TRY(gb_cuda_read_found(c, &found));
  const uint64_t entry = found.first[GB_CUDA_MATRIX], pivot = found.first[GB_CUDA_PIVOT];
  if (entry == GB_CUDA_NONE && pivot == GB_CUDA_NONE) return GB_OK;
  const size_t of_entry = (size_t)(entry / (p.n * p.n)), of_pivot = (size_t)(pivot / p.n);
  if (pivot == GB_CUDA_NONE || (entry != GB_CUDA_NONE && of_entry < of_pivot)) {
    const void *a = (const char *)c->in[0] + gb_slice_of_input(s, 0, of_entry);
    return gb_slice_failed(s, of_entry, gb_cuda_not_finite(c, a, p.n, entry % (p.n * p.n)), err);
  }
  return gb_slice_failed(s, of_pivot, not_positive(c, (size_t)(pivot % p.n) + 1, p.n), err);
}

gb_status gb_cuda_small_chol_inverse (const gb_cuda_call *c, const gb_slices *s) {
  const gb_cuda_small p = gb_cuda_small_of(c, s);
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_small_inverses(gb_cuda_is_f32(c), &p, c->gpu->stream));
  return GB_OK;
}

size_t gb_cuda_chol_inverse_scratch (const gb_device *dev, const gb_opaque *o) {
  (void)dev;
  const size_t n = o->in_shape[0].dim[0];
  return n * n * gb_dtype_size(o->in_dtype[0]);
}

/* X = L^-1 by panels of columns, each of which begins at its diagonal entry. */
static gb_status invert (const gb_cuda_call *c, size_t n, char *x) {
  const size_t size = gb_dtype_size(c->o->in_dtype[0]);
  for (size_t j0 = 0; j0 < n; j0 += GB_CUDA_DENSE_BLOCK) {
    const size_t corner = (j0 * n + j0) * size;
    const gb_cuda_triangle rest = {.a = (const char *)c->in[0] + corner, .n = n - j0, .lda = n};
    const size_t columns = n - j0 < GB_CUDA_DENSE_BLOCK ? n - j0 : GB_CUDA_DENSE_BLOCK;
    GB_TRY(gb_cuda_solve_triangle(c, &rest, x + corner, columns, n));
  }
  return GB_OK;
}

/* X' X, whose row-major lower triangle is the upper one of V V', V = X' as the library reads it. */
static gb_status square (const gb_cuda_call *c, size_t n, const void *x, void *to) {
  const gb_cuda_libraries *l = c->lib;
  const double one = 1, none = 0;
  const float one_f = 1, none_f = 0;
  gb_error *err = c->err;
  if (gb_cuda_is_f32(c))
    GB_CUDA_BLAS(l->blas->cublasSsyrk_v2(l->blas_handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, (int)n, (int)n,
                                         &one_f, x, (int)n, &none_f, to, (int)n));
  else
    GB_CUDA_BLAS(l->blas->cublasDsyrk_v2(l->blas_handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, (int)n, (int)n,
                                         &one, x, (int)n, &none, to, (int)n));
  return GB_OK;
}

gb_status gb_cuda_chol_inverse (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0];
  gb_error *err = c->err;
  if (n == 0) return GB_OK;
  GB_CUDA_TRY(gb_cuda_identity(f32, c->scratch, n, c->gpu->stream));
  GB_TRY(invert(c, n, c->scratch));
  GB_TRY(square(c, n, c->scratch, c->out[0]));
  GB_CUDA_TRY(gb_cuda_mirror(f32, c->out[0], n, c->gpu->stream));
  return GB_OK;
}
