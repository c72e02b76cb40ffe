/* spectral.c - QR, eigenvalues and singular values by cuSOLVER, which reads columns. Signs are fixed, so that
** they are no matter of the library: R has a positive diagonal; the largest entry of an eigenvector, and of a
** vector of the longer side of an SVD, is positive. Matrices near the limits of their type are scaled first. */
#include "cuda/dense/call.h"
#include "cuda/dense/kernels.h"

static gb_status not_converged (const gb_cuda_call *c, const char *what, int info) {
  return gb_fail(c->err, GB_ENOTCONV, "%s: did not converge (%d)", what, info);
}

/* What every op here ends with: 'result' of finite input is finite. */
static gb_status finish (const gb_cuda_call *c, const void *result, size_t n, size_t m, size_t columns,
                         const char *name, const char *what) {
  gb_cuda_found found;
  gb_error *err = c->err;
  GB_CUDA_TRY(
      gb_cuda_check(gb_cuda_is_f32(c), result, n, m, false, GB_CUDA_RESULT, c->found, c->gpu->stream));
  GB_TRY(gb_cuda_read_found(c, &found));
  if (found.first[GB_CUDA_MATRIX] != GB_CUDA_NONE)
    return gb_cuda_not_finite(c, c->in[0], columns, found.first[GB_CUDA_MATRIX]);
  if (found.info != 0 || found.info_q != 0)
    return not_converged(c, name, found.info != 0 ? found.info : found.info_q);
  return found.first[GB_CUDA_RESULT] != GB_CUDA_NONE ? gb_cuda_overflows(c, what) : GB_OK;
}

/* -- QR. Scratch: the matrix column by column, the reflections, signs, workspace */

typedef struct qr_pieces {
  size_t tau, sign, work, bytes;
} qr_pieces;

static qr_pieces qr_pieces_of (const gb_device *dev, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0], m = o->in_shape[0].dim[1];
  qr_pieces p = {.tau = gb_cuda_numbers(o, n * m)};
  if (m == 0) return p;
  p.sign = p.tau + gb_cuda_numbers(o, m);
  p.work = p.sign + gb_cuda_numbers(o, m);
  p.bytes = p.work + gb_cuda_workspace_bytes(dev, GB_CUDA_GEQRF, o->in_dtype[0] == GB_F32, n, m);
  return p;
}

size_t gb_cuda_qr_scratch (const gb_device *dev, const gb_opaque *o) { return qr_pieces_of(dev, o).bytes; }

static gb_status factor_qr (const gb_cuda_call *c, int64_t n, int64_t m, const qr_pieces *p,
                            gb_cuda_workspace w, void *near) {
  const gb_cuda_libraries *l = c->lib;
  const cudaDataType t = gb_cuda_type(gb_cuda_is_f32(c));
  gb_error *err = c->err;
  GB_CUDA_SOLVER(l->solver->cusolverDnXgeqrf(l->solver_handle, l->params, n, m, t, c->scratch, n, t,
                                             c->scratch + p->tau, t, c->scratch + p->work, w.far, near,
                                             w.near, &c->found->info));
  return GB_OK;
}

static gb_status form_q (const gb_cuda_call *c, int n, int m, const qr_pieces *p, gb_cuda_workspace w) {
  const gb_cuda_libraries *l = c->lib;
  void *q = c->scratch, *tau = c->scratch + p->tau, *work = c->scratch + p->work;
  int *info = &c->found->info_q;
  gb_error *err = c->err;
  if (gb_cuda_is_f32(c))
    GB_CUDA_SOLVER(l->solver->cusolverDnSorgqr(l->solver_handle, n, m, m, q, n, tau, work,
                                               (int)(w.far / sizeof(float)), info));
  else
    GB_CUDA_SOLVER(l->solver->cusolverDnDorgqr(l->solver_handle, n, m, m, q, n, tau, work,
                                               (int)(w.far / sizeof(double)), info));
  return GB_OK;
}

gb_status gb_cuda_qr (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0], m = c->o->in_shape[0].dim[1];
  const qr_pieces p = qr_pieces_of(c->device, c->o);
  cudaStream_t s = c->gpu->stream;
  gb_cuda_workspace w;
  void *near;
  gb_error *err = c->err;
  if (m == 0) return GB_OK;
  GB_TRY(gb_cuda_workspace_of(c->gpu, GB_CUDA_GEQRF, f32, n, m, &w, err));
  GB_TRY(gb_cuda_near(c->gpu, w.near, &near, err));
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[0], n, m, false, GB_CUDA_MATRIX, c->found, s));
  GB_CUDA_TRY(gb_cuda_transpose(f32, c->in[0], c->scratch, n, m, NULL, s));
  GB_CUDA_TRY(gb_cuda_largest(f32, c->scratch, n * m, c->found, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->scratch, n * m, GB_CUDA_DOWN, c->found, s));
  GB_TRY(factor_qr(c, (int64_t)n, (int64_t)m, &p, w, near));
  GB_CUDA_TRY(gb_cuda_take_r(f32, c->scratch, n, m, c->out[1], c->scratch + p.sign, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->out[1], m * m, GB_CUDA_UP, c->found, s));
  GB_TRY(form_q(c, (int)n, (int)m, &p, w));
  GB_CUDA_TRY(gb_cuda_transpose(f32, c->scratch, c->out[0], m, n, c->scratch + p.sign, s));
  return finish(c, c->out[1], m, m, m, "qr", "qr: R");
}

/* -- eigenvalues. Scratch: signs, workspace */

size_t gb_cuda_eigh_scratch (const gb_device *dev, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0];
  return gb_cuda_numbers(o, n) + gb_cuda_workspace_bytes(dev, GB_CUDA_SYEVD, o->in_dtype[0] == GB_F32, n, n);
}

/* Eigenvectors take the place of the matrix, one after the other: rows of what becomes columns. */
static gb_status eigenvectors (const gb_cuda_call *c, size_t n, void *a, void *values) {
  const gb_cuda_libraries *l = c->lib;
  const cudaDataType t = gb_cuda_type(gb_cuda_is_f32(c));
  gb_cuda_workspace w;
  void *near, *far = c->scratch + gb_cuda_numbers(c->o, n);
  gb_error *err = c->err;
  GB_TRY(gb_cuda_workspace_of(c->gpu, GB_CUDA_SYEVD, gb_cuda_is_f32(c), n, n, &w, err));
  GB_TRY(gb_cuda_near(c->gpu, w.near, &near, err));
  GB_CUDA_SOLVER(l->solver->cusolverDnXsyevd(l->solver_handle, l->params, CUSOLVER_EIG_MODE_VECTOR,
                                             CUBLAS_FILL_MODE_UPPER, (int64_t)n, t, a, (int64_t)n, t, values,
                                             t, far, w.far, near, w.near, &c->found->info));
  return GB_OK;
}

gb_status gb_cuda_eigh (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0];
  cudaStream_t s = c->gpu->stream;
  void *v = c->out[1];
  gb_error *err = c->err;
  if (n == 0) return GB_OK;
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[0], n, n, true, GB_CUDA_MATRIX, c->found, s));
  GB_CUDA_TRY(gb_cuda_lower(f32, c->in[0], v, n, 0, s));
  GB_CUDA_TRY(gb_cuda_largest(f32, v, n * n, c->found, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, v, n * n, GB_CUDA_DOWN, c->found, s));
  GB_TRY(eigenvectors(c, n, v, c->out[0]));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->out[0], n, GB_CUDA_UP, c->found, s));
  GB_CUDA_TRY(gb_cuda_signs(f32, v, n, n, c->scratch, s));
  GB_CUDA_TRY(gb_cuda_transpose_square(f32, v, n, c->scratch, s));
  return finish(c, c->out[0], n, 1, n, "eigh", "eigh: an eigenvalue");
}

/* -- singular values. Of A and A' the one with more rows than columns is factored: T (p, k). Scratch: T, its
** left vectors, signs, workspace */

typedef struct svd_pieces {
  size_t p, k, left, sign, work, bytes;
} svd_pieces;

static svd_pieces svd_pieces_of (const gb_device *dev, const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0], m = o->in_shape[0].dim[1];
  svd_pieces q = {.p = n > m ? n : m, .k = n > m ? m : n};
  if (q.k == 0) return q;
  q.left = gb_cuda_numbers(o, q.p * q.k);
  q.sign = q.left + gb_cuda_numbers(o, q.p * q.k);
  q.work = q.sign + gb_cuda_numbers(o, q.k);
  q.bytes = q.work + gb_cuda_workspace_bytes(dev, GB_CUDA_GESVD, o->in_dtype[0] == GB_F32, q.p, q.k);
  return q;
}

size_t gb_cuda_svd_scratch (const gb_device *dev, const gb_opaque *o) { return svd_pieces_of(dev, o).bytes; }

/* T = left diag(values) right', left column by column, right row by row. */
static gb_status decompose (const gb_cuda_call *c, const svd_pieces *q, void *values, void *right) {
  const gb_cuda_libraries *l = c->lib;
  const cudaDataType t = gb_cuda_type(gb_cuda_is_f32(c));
  const int64_t p = (int64_t)q->p, k = (int64_t)q->k;
  gb_cuda_workspace w;
  void *near, *left = c->scratch + q->left;
  gb_error *err = c->err;
  GB_TRY(gb_cuda_workspace_of(c->gpu, GB_CUDA_GESVD, gb_cuda_is_f32(c), q->p, q->k, &w, err));
  GB_TRY(gb_cuda_near(c->gpu, w.near, &near, err));
  GB_CUDA_SOLVER(l->solver->cusolverDnXgesvd(l->solver_handle, l->params, 'S', 'S', p, k, t, c->scratch, p, t,
                                             values, t, left, p, t, right, k, t, c->scratch + q->work, w.far,
                                             near, w.near, &c->found->info));
  return GB_OK;
}

/* A row-major A (n, m) is A' to the library, which it factors where n <= m. */
static gb_status take_tall (const gb_cuda_call *c, size_t n, size_t m) {
  gb_error *err = c->err;
  if (n > m) {
    GB_CUDA_TRY(gb_cuda_transpose(gb_cuda_is_f32(c), c->in[0], c->scratch, n, m, NULL, c->gpu->stream));
  } else {
    GB_CUDA_TRY(cudaMemcpyAsync(c->scratch, c->in[0], n * m * gb_dtype_size(c->o->in_dtype[0]),
                                cudaMemcpyDeviceToDevice, c->gpu->stream));
  }
  return GB_OK;
}

gb_status gb_cuda_svd (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t n = c->o->in_shape[0].dim[0], m = c->o->in_shape[0].dim[1];
  const svd_pieces q = svd_pieces_of(c->device, c->o);
  void *left = c->out[n > m ? 0 : 2], *right = c->out[n > m ? 2 : 0], *sign = c->scratch + q.sign;
  cudaStream_t s = c->gpu->stream;
  gb_error *err = c->err;
  if (q.k == 0) return GB_OK;
  GB_CUDA_TRY(gb_cuda_check(f32, c->in[0], n, m, false, GB_CUDA_MATRIX, c->found, s));
  GB_TRY(take_tall(c, n, m));
  GB_CUDA_TRY(gb_cuda_largest(f32, c->scratch, n * m, c->found, s));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->scratch, n * m, GB_CUDA_DOWN, c->found, s));
  GB_TRY(decompose(c, &q, c->out[1], right));
  GB_CUDA_TRY(gb_cuda_scale(f32, c->out[1], q.k, GB_CUDA_UP, c->found, s));
  GB_CUDA_TRY(gb_cuda_signs(f32, c->scratch + q.left, q.p, q.k, sign, s));
  GB_CUDA_TRY(gb_cuda_turn(f32, right, q.k * q.k, q.k, sign, s));
  GB_CUDA_TRY(gb_cuda_transpose(f32, c->scratch + q.left, left, q.k, q.p, sign, s));
  return finish(c, c->out[1], q.k, 1, m, "svd", "svd: a singular value");
}
