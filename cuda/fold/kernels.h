/* kernels.h - the kernels of a fold as functions of C: one walk of a program in device memory. */
#ifndef GB_CUDA_FOLD_KERNELS_H
#define GB_CUDA_FOLD_KERNELS_H

#include <cuda_runtime_api.h>

#include "cuda/fold/program.h"

/* The arithmetic of a program. */
typedef enum gb_cuda_type {
  GB_CUDA_F32,
  GB_CUDA_F32_UNIT,
  GB_CUDA_F64,
  GB_CUDA_I64,
  GB_CUDA_TYPES
} gb_cuda_type;
/* ROWS, COLUMNS, ALL and ELEMENTS make chains; ABSORB adds them to totals and stores those that are complete; STORE does
** so for totals that ELEMENTS makes without chains. */
typedef enum gb_cuda_pass {
  GB_CUDA_ROWS_PASS,
  GB_CUDA_COLUMNS_PASS,
  GB_CUDA_ALL_PASS,
  GB_CUDA_ELEMENTS_PASS,
  GB_CUDA_ABSORB_PASS,
  GB_CUDA_STORE_PASS
} gb_cuda_pass;

/* Starts one kernel on a grid of so many thread blocks, 'shared' bytes each. */
void gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared, cudaStream_t stream,
                    const gb_cuda_argument *p);
/* The same of GB_CUDA_F32_UNIT. */
void gb_cuda_start_unit (gb_cuda_pass pass, unsigned blocks, size_t shared, cudaStream_t stream,
                         const gb_cuda_argument *p);

#endif
