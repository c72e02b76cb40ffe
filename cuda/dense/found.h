/* found.h - what kernels find in data while they run, read by the host when an op is complete. */
#ifndef GB_CUDA_DENSE_FOUND_H
#define GB_CUDA_DENSE_FOUND_H

#include <stdint.h>

/* Places of 'first': entries of the matrix, the right-hand sides and the result that are not finite; pivots
** that are not positive, or zero; columns that depend on those before; positions outside their axis. */
enum gb_cuda_place { GB_CUDA_MATRIX, GB_CUDA_RIGHT, GB_CUDA_RESULT, GB_CUDA_PIVOT, GB_CUDA_PLACES };
#define GB_CUDA_NONE UINT64_MAX

typedef struct gb_cuda_found {
  unsigned long long first[GB_CUDA_PLACES]; /* number of the first one, or GB_CUDA_NONE */
  unsigned long long count;                 /* of columns that depend on those before */
  unsigned long long largest;               /* bits of the largest magnitude of the matrix, as f64 */
  int info, info_q;                         /* of the library */
} gb_cuda_found;

#endif
