/* check.cu - what is wrong with a matrix: the first place by number, which no order of threads changes. */
#include "cuda/dense/launch.cuh"

#include <float.h>
#include <string.h>

template <class T>
static __global__ void check (const T *a, size_t n, size_t m, bool lower, int place, gb_cuda_found *found) {
  GB_CUDA_EACH(e, n * m)
  if (!isfinite(a[e]) && !(lower && e % m > e / m)) gb_cuda_note_first(found, place, e);
}

template <class T>
static __global__ void check_diagonal (const T *a, size_t n, bool positive, gb_cuda_found *found) {
  GB_CUDA_EACH(i, n) {
    const T d = a[i * n + i];
    if (positive ? !(d > 0) : d == 0) gb_cuda_note_first(found, GB_CUDA_PIVOT, i);
  }
}

/* Column j of R has the length of that of the matrix; its diagonal entry is the part orthogonal to the earlier
** columns. */
template <class T>
static __global__ void check_rank (const T *r, size_t m, double least, gb_cuda_found *found) {
  GB_CUDA_EACH(j, m) {
    double length = 0;
    for (size_t i = 0; i <= j; i++) length = hypot(length, (double)r[i * m + j]);
    if (!(fabs((double)r[j * m + j]) <= least * length)) continue;
    gb_cuda_note_first(found, GB_CUDA_PIVOT, j);
    atomicAdd(&found->count, 1ull);
  }
}

extern "C" cudaError_t gb_cuda_check (bool f32, const void *a, size_t n, size_t m, bool lower,
                                      enum gb_cuda_place place, gb_cuda_found *found, cudaStream_t s) {
  if (f32) GB_CUDA_OVER((check<float>), n * m, s, (const float *)a, n, m, lower, (int)place, found);
  else GB_CUDA_OVER((check<double>), n * m, s, (const double *)a, n, m, lower, (int)place, found);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_check_diagonal (bool f32, const void *a, size_t n, bool positive,
                                               gb_cuda_found *found, cudaStream_t s) {
  if (f32) GB_CUDA_OVER((check_diagonal<float>), n, s, (const float *)a, n, positive, found);
  else GB_CUDA_OVER((check_diagonal<double>), n, s, (const double *)a, n, positive, found);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_check_rank (bool f32, const void *r, size_t m, size_t n, gb_cuda_found *found,
                                           cudaStream_t s) {
  const double least = (double)n * (f32 ? (double)FLT_EPSILON : DBL_EPSILON);
  if (f32) GB_CUDA_OVER((check_rank<float>), m, s, (const float *)r, m, least, found);
  else GB_CUDA_OVER((check_rank<double>), m, s, (const double *)r, m, least, found);
  return cudaGetLastError();
}
