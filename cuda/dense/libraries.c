/* libraries.c - see libraries.h. */
#include "cuda/dense/libraries.h"

#include <stdlib.h>
#include <string.h>

/* The first bytes of the GPU's room are of others. */
#define OWN ((size_t)64 << 10)

const char *gb_cuda_plain_name (const char *call) {
  const size_t name = strcspn(call, "(");
  for (size_t i = name; i > 1; i--)
    if (call[i - 2] == '-' && call[i - 1] == '>') return call + i;
  return call;
}

/* Where CUDA itself has failed, that is the reason. */
gb_status gb_cuda_library_status (int status, bool no_room, const char *call, gb_error *err) {
  if (status == 0) return GB_OK;
  const int name = (int)strcspn(call, "(");
  const cudaError_t e = cudaGetLastError();
  if (gb_cuda_is_loss(e)) return gb_cuda_status(e, call, err);
  if (no_room) return gb_fail(err, GB_ENOMEM, "%.*s: the GPU has no room", name, call);
  return gb_fail(err, GB_EINTERNAL, "%.*s: status %d", name, call, status);
}

static gb_status open_blas (gb_cuda *gpu, gb_cuda_libraries *l, gb_error *err) {
  if (gb_cuda_blas_open(&l->blas, err) != GB_OK) return GB_EINTERNAL;
  GB_CUDA_BLAS(l->blas->cublasCreate_v2(&l->blas_handle));
  GB_CUDA_BLAS(l->blas->cublasSetStream_v2(l->blas_handle, gpu->stream));
  GB_CUDA_BLAS(l->blas->cublasSetWorkspace_v2(l->blas_handle, gpu->room + OWN, GB_CUDA_ROOM - OWN));
  GB_CUDA_BLAS(l->blas->cublasSetMathMode(l->blas_handle, CUBLAS_DEFAULT_MATH)); /* no TF32 */
  return GB_OK;
}

static gb_status open_solver (gb_cuda *gpu, gb_cuda_libraries *l, gb_error *err) {
  if (gb_cuda_solver_open(&l->solver, err) != GB_OK) return GB_EINTERNAL;
  GB_CUDA_SOLVER(l->solver->cusolverDnCreate(&l->solver_handle));
  GB_CUDA_SOLVER(l->solver->cusolverDnSetStream(l->solver_handle, gpu->stream));
  GB_CUDA_SOLVER(l->solver->cusolverDnSetDeterministicMode(l->solver_handle, CUSOLVER_DETERMINISTIC_RESULTS));
  GB_CUDA_SOLVER(l->solver->cusolverDnCreateParams(&l->params));
  return GB_OK;
}

static void close_handles (gb_cuda_libraries *l) {
  if (l->params != NULL) l->solver->cusolverDnDestroyParams(l->params);
  if (l->solver_handle != NULL) l->solver->cusolverDnDestroy(l->solver_handle);
  if (l->blas_handle != NULL) l->blas->cublasDestroy_v2(l->blas_handle);
  l->params = NULL, l->solver_handle = NULL, l->blas_handle = NULL;
}

gb_status gb_cuda_libraries_use (gb_cuda *gpu, gb_cuda_libraries **out, gb_error *err) {
  GB_TRY(gb_cuda_enter(gpu, err));
  gb_cuda_libraries *l = gpu->libraries;
  if (l == NULL) l = gpu->libraries = calloc(1, sizeof *l);
  if (l == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the libraries of a GPU");
  *out = l;
  if (l->open) return GB_OK;
  gb_status st = open_blas(gpu, l, &l->why);
  if (st == GB_OK) st = open_solver(gpu, l, &l->why);
  l->open = st == GB_OK;
  if (l->open) return GB_OK;
  close_handles(l);
  return gb_fail(err, st, "%s", l->why.text);
}

void gb_cuda_libraries_close (gb_cuda *gpu) {
  gb_cuda_libraries *l = gpu->libraries;
  if (l == NULL) return;
  close_handles(l);
  if (l->near_bytes > 0) gb_ledger_unbook(&gpu->home->ledger, l->near_bytes);
  free(l->near);
  free(l);
  gpu->libraries = NULL;
}

gb_status gb_cuda_near (gb_cuda *gpu, size_t bytes, void **out, gb_error *err) {
  gb_cuda_libraries *l = gpu->libraries;
  if (bytes > l->near_bytes) {
    GB_TRY(gb_ledger_book(&gpu->home->ledger, bytes - l->near_bytes, "workspace of cuSOLVER", err));
    void *near = realloc(l->near, bytes);
    if (near == NULL) {
      gb_ledger_unbook(&gpu->home->ledger, bytes - l->near_bytes);
      return gb_fail(err, GB_ENOMEM, "no memory for a workspace of cuSOLVER");
    }
    l->near = near;
    l->near_bytes = bytes;
  }
  *out = l->near;
  return GB_OK;
}

/* -- bytes of workspace */

static gb_status ask_qr (const gb_cuda_libraries *l, bool f32, int64_t n, int64_t m, gb_cuda_workspace *w,
                         gb_error *err) {
  const cudaDataType t = gb_cuda_type(f32);
  int form = 0;
  GB_CUDA_SOLVER(l->solver->cusolverDnXgeqrf_bufferSize(l->solver_handle, l->params, n, m, t, NULL, n, t,
                                                        NULL, t, &w->far, &w->near));
  if (f32)
    GB_CUDA_SOLVER(l->solver->cusolverDnSorgqr_bufferSize(l->solver_handle, (int)n, (int)m, (int)m, NULL,
                                                          (int)n, NULL, &form));
  else
    GB_CUDA_SOLVER(l->solver->cusolverDnDorgqr_bufferSize(l->solver_handle, (int)n, (int)m, (int)m, NULL,
                                                          (int)n, NULL, &form));
  const size_t bytes = (size_t)form * (f32 ? sizeof(float) : sizeof(double));
  if (bytes > w->far) w->far = bytes;
  return GB_OK;
}

static gb_status ask (const gb_cuda_libraries *l, gb_cuda_factor f, bool f32, size_t rows, size_t columns,
                      gb_cuda_workspace *w, gb_error *err) {
  const cudaDataType t = gb_cuda_type(f32);
  const int64_t n = (int64_t)rows, m = (int64_t)columns;
  const gb_cuda_solver *s = l->solver;
  switch (f) {
    case GB_CUDA_POTRF:
      GB_CUDA_SOLVER(s->cusolverDnXpotrf_bufferSize(l->solver_handle, l->params, CUBLAS_FILL_MODE_UPPER, n, t,
                                                    NULL, n, t, &w->far, &w->near));
      return GB_OK;
    case GB_CUDA_GETRF:
      GB_CUDA_SOLVER(s->cusolverDnXgetrf_bufferSize(l->solver_handle, l->params, n, m, t, NULL, n, t, &w->far,
                                                    &w->near));
      return GB_OK;
    case GB_CUDA_GEQRF: return ask_qr(l, f32, n, m, w, err);
    case GB_CUDA_SYEVD:
      GB_CUDA_SOLVER(s->cusolverDnXsyevd_bufferSize(l->solver_handle, l->params, CUSOLVER_EIG_MODE_VECTOR,
                                                    CUBLAS_FILL_MODE_UPPER, n, t, NULL, n, t, NULL, t,
                                                    &w->far, &w->near));
      return GB_OK;
    default:
      GB_CUDA_SOLVER(s->cusolverDnXgesvd_bufferSize(l->solver_handle, l->params, 'S', 'S', n, m, t, NULL, n,
                                                    t, NULL, t, NULL, n, t, NULL, m, t, &w->far, &w->near));
      return GB_OK;
  }
}

gb_status gb_cuda_workspace_of (gb_cuda *gpu, gb_cuda_factor f, bool f32, size_t n, size_t m,
                                gb_cuda_workspace *out, gb_error *err) {
  gb_cuda_libraries *l;
  GB_TRY(gb_cuda_libraries_use(gpu, &l, err));
  const size_t place = (n * 31 + m * 7 + (size_t)f * 2 + f32) % GB_CUDA_SHAPES;
  struct gb_cuda_shape *s = &l->shape[place];
  if (s->n != n || s->m != m || s->factor != f || s->f32 != f32) {
    gb_cuda_workspace w = {0, 0};
    GB_TRY(ask(l, f, f32, n, m, &w, err));
    *s = (struct gb_cuda_shape){n, m, f, f32, w};
  }
  *out = s->workspace;
  return GB_OK;
}

size_t gb_cuda_workspace_bytes (const gb_device *dev, gb_cuda_factor f, bool f32, size_t n, size_t m) {
  gb_cuda *gpu = gb_cuda_of(dev);
  gb_cuda_workspace w = {0, 0};
  void *near;
  if (n == 0 || m == 0) return 0;
  if (gb_cuda_workspace_of(gpu, f, f32, n, m, &w, NULL) != GB_OK) {
    gb_cuda_note(gpu, cudaErrorUnknown, "asking for bytes of workspace");
    return 0;
  }
  gb_cuda_near(gpu, w.near, &near, NULL); /* the run tries again and says why not */
  return w.far;
}
