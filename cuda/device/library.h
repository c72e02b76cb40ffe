/* library.h - libraries of the toolkit, opened when they are first needed: the program starts without them,
** and a machine that lacks one lacks what needs it. A table has a field for each function, of its name and
** type. */
#ifndef GB_CUDA_DEVICE_LIBRARY_H
#define GB_CUDA_DEVICE_LIBRARY_H

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <nvrtc.h>
#include <nvtx3/nvToolsExt.h>

#include "base/status.h"

#define GB_CUDA_BLAS_FUNCTIONS(X)                                                                            \
  X(cublasCreate_v2)                                                                                         \
  X(cublasDestroy_v2)                                                                                        \
  X(cublasSetStream_v2)                                                                                      \
  X(cublasSetWorkspace_v2)                                                                                   \
  X(cublasSetMathMode)                                                                                       \
  X(cublasGetVersion_v2)                                                                                     \
  X(cublasGemmEx)                                                                                            \
  X(cublasGemmStridedBatchedEx)                                                                              \
  X(cublasStrsm_v2)                                                                                          \
  X(cublasDtrsm_v2)                                                                                          \
  X(cublasSsyrk_v2)                                                                                          \
  X(cublasDsyrk_v2)

#define GB_CUDA_SOLVER_FUNCTIONS(X)                                                                          \
  X(cusolverDnCreate)                                                                                        \
  X(cusolverDnDestroy)                                                                                       \
  X(cusolverDnSetStream)                                                                                     \
  X(cusolverDnSetDeterministicMode)                                                                          \
  X(cusolverDnCreateParams)                                                                                  \
  X(cusolverDnDestroyParams)                                                                                 \
  X(cusolverDnXpotrf_bufferSize)                                                                             \
  X(cusolverDnXpotrf)                                                                                        \
  X(cusolverDnXgetrf_bufferSize)                                                                             \
  X(cusolverDnXgetrf)                                                                                        \
  X(cusolverDnXgetrs)                                                                                        \
  X(cusolverDnXgeqrf_bufferSize)                                                                             \
  X(cusolverDnXgeqrf)                                                                                        \
  X(cusolverDnSorgqr_bufferSize)                                                                             \
  X(cusolverDnSorgqr)                                                                                        \
  X(cusolverDnDorgqr_bufferSize)                                                                             \
  X(cusolverDnDorgqr)                                                                                        \
  X(cusolverDnXsyevd_bufferSize)                                                                             \
  X(cusolverDnXsyevd)                                                                                        \
  X(cusolverDnXgesvd_bufferSize)                                                                             \
  X(cusolverDnXgesvd)

#define GB_CUDA_COMPILER_FUNCTIONS(X)                                                                        \
  X(nvrtcVersion)                                                                                            \
  X(nvrtcGetErrorString)                                                                                     \
  X(nvrtcCreateProgram)                                                                                      \
  X(nvrtcDestroyProgram)                                                                                     \
  X(nvrtcCompileProgram)                                                                                     \
  X(nvrtcGetCUBINSize)                                                                                       \
  X(nvrtcGetCUBIN)                                                                                           \
  X(nvrtcGetPTXSize)                                                                                         \
  X(nvrtcGetPTX)                                                                                             \
  X(nvrtcGetProgramLogSize)                                                                                  \
  X(nvrtcGetProgramLog)

#define GB_CUDA_RANGES_FUNCTIONS(X)                                                                          \
  X(nvtxRangePushA)                                                                                          \
  X(nvtxRangePop)

#define GB_CUDA_FIELD(name) __typeof__(name) *name;
typedef struct gb_cuda_blas {
  GB_CUDA_BLAS_FUNCTIONS(GB_CUDA_FIELD)
} gb_cuda_blas;
typedef struct gb_cuda_solver {
  GB_CUDA_SOLVER_FUNCTIONS(GB_CUDA_FIELD)
} gb_cuda_solver;
typedef struct gb_cuda_compiler {
  GB_CUDA_COMPILER_FUNCTIONS(GB_CUDA_FIELD)
} gb_cuda_compiler;
typedef struct gb_cuda_ranges {
  GB_CUDA_RANGES_FUNCTIONS(GB_CUDA_FIELD)
} gb_cuda_ranges;
#undef GB_CUDA_FIELD

/* From any thread. The first call opens the library, later ones repeat its outcome. Errors: EDEVICE, with the
** reason why it cannot be used. */
gb_status gb_cuda_blas_open (const gb_cuda_blas **out, gb_error *err);
gb_status gb_cuda_solver_open (const gb_cuda_solver **out, gb_error *err);
gb_status gb_cuda_compiler_open (const gb_cuda_compiler **out, gb_error *err);
gb_status gb_cuda_ranges_open (const gb_cuda_ranges **out, gb_error *err);

#endif
