/* libraries.h - cuBLAS and cuSOLVER for one GPU: their handles, made when they are first needed, in the GPU's
** only stream; and their workspaces. That of cuBLAS is the GPU's room; those of cuSOLVER on the GPU are
** scratch of the op, and those on the host are one buffer, charged to the host's account when a plan is
** made. */
#ifndef GB_CUDA_DENSE_LIBRARIES_H
#define GB_CUDA_DENSE_LIBRARIES_H

#include "cuda/device/gpu.h"
#include "cuda/device/library.h"

/* Factorisations, of matrices as cuSOLVER sees them: (n, m), column after column. */
typedef enum gb_cuda_factor {
  GB_CUDA_POTRF,
  GB_CUDA_GETRF,
  GB_CUDA_GEQRF, /* and orgqr */
  GB_CUDA_SYEVD,
  GB_CUDA_GESVD
} gb_cuda_factor;

typedef struct gb_cuda_workspace {
  size_t far, near; /* bytes, of the GPU and of the host */
} gb_cuda_workspace;

enum { GB_CUDA_SHAPES = 256 };

typedef struct gb_cuda_libraries {
  const gb_cuda_blas *blas;
  const gb_cuda_solver *solver;
  cublasHandle_t blas_handle;
  cusolverDnHandle_t solver_handle;
  cusolverDnParams_t params;
  struct gb_cuda_shape { /* what was asked already, at a place that the shape gives */
    size_t n, m;         /* (0, 0): nothing */
    gb_cuda_factor factor;
    bool f32;
    gb_cuda_workspace workspace;
  } shape[GB_CUDA_SHAPES];
  void *near; /* workspace of the host */
  size_t near_bytes;
  bool open;
  gb_error why; /* they are not: text */
} gb_cuda_libraries;

/* Opens them unless they are open. Errors, with the reason: EINTERNAL, ENOMEM; EDEVICE where the GPU is lost. */
gb_status gb_cuda_libraries_use (gb_cuda *gpu, gb_cuda_libraries **out, gb_error *err);
void gb_cuda_libraries_close (gb_cuda *gpu);

/* Bytes of workspace, asked once a shape. */
gb_status gb_cuda_workspace_of (gb_cuda *gpu, gb_cuda_factor f, bool f32, size_t n, size_t m,
                                gb_cuda_workspace *out, gb_error *err);
/* For functions that return no status: bytes of the GPU. The host's are taken and a failure is noted. */
size_t gb_cuda_workspace_bytes (const gb_device *dev, gb_cuda_factor f, bool f32, size_t n, size_t m);
/* A buffer of the host of at least so many bytes, until the next call. Errors: ENOMEM. */
gb_status gb_cuda_near (gb_cuda *gpu, size_t bytes, void **out, gb_error *err);

/* What a call of a library returned; 'call' begins with the name of the function. */
gb_status gb_cuda_library_status (int status, bool no_room, const char *call, gb_error *err);
#define GB_CUDA_BLAS(call)                                                                                   \
  do {                                                                                                       \
    const cublasStatus_t gb_blas_ = (call);                                                                  \
    GB_TRY(gb_cuda_library_status((int)gb_blas_, gb_blas_ == CUBLAS_STATUS_ALLOC_FAILED,                     \
                                  gb_cuda_plain_name(#call), err));                                          \
  } while (0)
#define GB_CUDA_SOLVER(call)                                                                                 \
  do {                                                                                                       \
    const cusolverStatus_t gb_solver_ = (call);                                                              \
    GB_TRY(gb_cuda_library_status((int)gb_solver_, gb_solver_ == CUSOLVER_STATUS_ALLOC_FAILED,               \
                                  gb_cuda_plain_name(#call), err));                                          \
  } while (0)
/* "cublasX" of "c->lib->blas->cublasX(...)". */
const char *gb_cuda_plain_name (const char *call);

static inline cudaDataType gb_cuda_type (bool f32) { return f32 ? CUDA_R_32F : CUDA_R_64F; }

#endif
