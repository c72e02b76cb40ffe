/* kernels.h - elements that a GPU moves, converts and adds up. A tensor is seen as (outer, n, inner), n the
** extent of an axis. Each call returns what the launch returned. */
#ifndef GB_CUDA_MOVE_KERNELS_H
#define GB_CUDA_MOVE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/dense/found.h"

/* move.cu: 'rows' runs of 'bytes', which lie 'bytes' apart and then 'stride' apart. */
cudaError_t gb_cuda_copy_runs (const void *from, void *to, size_t rows, size_t bytes, size_t stride,
                               cudaStream_t s);
cudaError_t gb_cuda_convert (int from, int to, size_t count, const void *src, void *dst, cudaStream_t s);

typedef struct gb_cuda_slabs {
  size_t outer, n, inner; /* inner: elements */
  int dtype;
  size_t size, count;   /* bytes an element; positions */
  const void *position; /* whole numbers from 1 of 'positions', i64 or i32 */
  int positions;
} gb_cuda_slabs;
/* The first position that is outside 1 .. n is found; others of these kernels pass it over. */
cudaError_t gb_cuda_check_positions (const gb_cuda_slabs *x, gb_cuda_found *found, cudaStream_t s);
cudaError_t gb_cuda_take (const gb_cuda_slabs *x, const void *from, void *to, cudaStream_t s);
typedef enum gb_cuda_join { GB_CUDA_REPLACE, GB_CUDA_ADD, GB_CUDA_LARGEST, GB_CUDA_SMALLEST } gb_cuda_join;
/* to = x with the entries of y at their positions, in ascending order: the last of equal positions stays, or
** all are joined. */
cudaError_t gb_cuda_put_at (const gb_cuda_slabs *x, const void *from, const void *y, int join, void *to,
                            cudaStream_t s);

/* cumsum.cu: a chain a lane, of floats in f64. */
cudaError_t gb_cuda_running_sums (const gb_cuda_slabs *x, bool backwards, const void *from, void *to,
                                  cudaStream_t s);

#endif
