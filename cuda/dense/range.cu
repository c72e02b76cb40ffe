/* range.cu - entries near the limits of a type. The exponent stays on the GPU: nothing waits for it. */
#include "cuda/dense/launch.cuh"

#include <string.h>

template <class T> static __global__ void largest (const T *a, size_t count, gb_cuda_found *found) {
  double most = 0;
  GB_CUDA_EACH(e, count) most = fmax(most, fabs((double)a[e]));
  atomicMax(&found->largest, gb_cuda_bits(most)); /* bits of numbers from 0 on have their order */
}

template <class T> static __global__ void scale (T *a, size_t count, int power, const gb_cuda_found *found) {
  const int e = gb_cuda_exponent<T>(found), half = e / 2;
  const int by = power == GB_CUDA_DOWN         ? -e
                 : power == GB_CUDA_UP         ? e
                 : power == GB_CUDA_FIRST_HALF ? -half
                                               : half - e;
  if (by != 0) GB_CUDA_EACH(i, count) a[i] = (T)ldexp((double)a[i], by);
}

extern "C" cudaError_t gb_cuda_largest (bool f32, const void *a, size_t count, gb_cuda_found *found,
                                        cudaStream_t s) {
  if (f32) GB_CUDA_OVER((largest<float>), count, s, (const float *)a, count, found);
  else GB_CUDA_OVER((largest<double>), count, s, (const double *)a, count, found);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_scale (bool f32, void *a, size_t count, enum gb_cuda_power power,
                                      const gb_cuda_found *found, cudaStream_t s) {
  if (f32) GB_CUDA_OVER((scale<float>), count, s, (float *)a, count, (int)power, found);
  else GB_CUDA_OVER((scale<double>), count, s, (double *)a, count, (int)power, found);
  return cudaGetLastError();
}
