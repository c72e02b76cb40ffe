/* launch.cuh - how the kernels of dense algebra are started: one thread an item, or as many as are useful. */
#ifndef GB_CUDA_DENSE_LAUNCH_CUH
#define GB_CUDA_DENSE_LAUNCH_CUH

#include "cuda/launch.h"

#include <math.h>
#include <stdint.h>

extern "C" {
#include "cuda/dense/kernels.h"
}

#define GB_CUDA_THREADS ((size_t)256)
#define GB_CUDA_MOST_GROUPS ((size_t)4096)

/* Items of a loop over all threads of the grid. */
#define GB_CUDA_EACH(i, count)                                                                               \
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (count);                                \
       i += (size_t)gridDim.x * blockDim.x)

static inline unsigned gb_cuda_grid (size_t items) {
  const size_t groups = (items + GB_CUDA_THREADS - 1) / GB_CUDA_THREADS;
  return (unsigned)(groups < GB_CUDA_MOST_GROUPS ? groups : GB_CUDA_MOST_GROUPS);
}

/* Starts 'kernel'<T> over so many items; none: nothing to do. */
#define GB_CUDA_OVER(kernel, items, s, ...)                                                                  \
  do {                                                                                                       \
    if ((items) > 0)                                                                                         \
      GB_LAUNCH((kernel), gb_cuda_grid(items), (unsigned)GB_CUDA_THREADS, 0, (s), __VA_ARGS__);              \
  } while (0)

static GB_DEVICE void gb_cuda_note_first (gb_cuda_found *found, int place, size_t at) {
  atomicMin(&found->first[place], (unsigned long long)at);
}

static GB_DEVICE unsigned long long gb_cuda_bits (double v) {
  unsigned long long bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static GB_DEVICE double gb_cuda_of_bits (unsigned long long bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* The exponent e of the largest magnitude, in [2^(e-1), 2^e), where sums of products of the entries could leave
** the type, else 0: cpu/linalg/range.c. */
template <class T> static GB_DEVICE int gb_cuda_exponent (const gb_cuda_found *found) {
  const double most = gb_cuda_of_bits(found->largest);
  const bool f32 = sizeof(T) == sizeof(float);
  int exponent;
  if (most == 0 || !isfinite(most)) return 0;
  if (most >= (f32 ? 0x1p-76 : 0x1p-900) && most <= (f32 ? 0x1p84 : 0x1p980)) return 0;
  frexp(most, &exponent);
  return exponent;
}

#endif
