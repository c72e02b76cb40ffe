/* sum.cu - sums in f64, in an order that the number of threads does not change. */
#include "cuda/dense/launch.cuh"

#include <string.h>

enum { BLOCK = 256 };

/* A thread block a matrix: a chain a thread, then a tree. */
template <class T>
static __global__ void sum_logs (const T *a, size_t n, double factor, bool magnitudes,
                                 const gb_cuda_found *found, T *out) {
  __shared__ double part[GB_CUDA_THREADS];
  const unsigned t = threadIdx.x;
  double sum = 0;
  a += blockIdx.x * n * n;
  for (size_t i = t; i < n; i += GB_CUDA_THREADS) {
    const double d = (double)a[i * n + i];
    sum += log(magnitudes ? fabs(d) : d);
  }
  part[t] = sum;
  __syncthreads();
  for (unsigned half = GB_CUDA_THREADS / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t != 0) return;
  const double divided = found == NULL ? 0 : (double)n * gb_cuda_exponent<T>(found) * 0.693147180559945309417;
  out[blockIdx.x] = (T)(factor * part[0] + divided);
}

/* A block a thread. */
template <class T> static __global__ void block_squares (const T *x, size_t count, double *sums) {
  GB_CUDA_EACH(b, (count + BLOCK - 1) / BLOCK) {
    const size_t last = (b + 1) * BLOCK < count ? (b + 1) * BLOCK : count;
    double sum = 0;
    for (size_t i = b * BLOCK; i < last; i++) sum += (double)x[i] * (double)x[i];
    sums[b] = sum;
  }
}

/* One thread block, whose first thread adds what all have fetched. */
template <class T> static __global__ void add_blocks (const double *sums, size_t blocks, T *out) {
  __shared__ double part[GB_CUDA_THREADS];
  double total = 0;
  for (size_t b0 = 0; b0 < blocks; b0 += GB_CUDA_THREADS) {
    if (b0 + threadIdx.x < blocks) part[threadIdx.x] = sums[b0 + threadIdx.x];
    __syncthreads();
    for (size_t b = b0; threadIdx.x == 0 && b < blocks && b < b0 + GB_CUDA_THREADS; b++)
      total += part[b - b0];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = (T)total;
}

extern "C" cudaError_t gb_cuda_sum_logs (bool f32, const void *a, size_t n, size_t count, double factor,
                                         bool magnitudes, const gb_cuda_found *found, void *out,
                                         cudaStream_t s) {
  if (count == 0) return cudaSuccess;
  if (f32)
    GB_LAUNCH((sum_logs<float>), (unsigned)count, (unsigned)GB_CUDA_THREADS, 0, s, (const float *)a, n,
              factor, magnitudes, found, (float *)out);
  else
    GB_LAUNCH((sum_logs<double>), (unsigned)count, (unsigned)GB_CUDA_THREADS, 0, s, (const double *)a, n,
              factor, magnitudes, found, (double *)out);
  return cudaGetLastError();
}

template <class T>
static cudaError_t sum_squares (const T *x, size_t count, double *sums, T *out, cudaStream_t s) {
  const size_t blocks = (count + BLOCK - 1) / BLOCK;
  GB_CUDA_OVER((block_squares<T>), blocks, s, x, count, sums);
  const cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess) return e;
  GB_LAUNCH((add_blocks<T>), 1, (unsigned)GB_CUDA_THREADS, 0, s, (const double *)sums, blocks, out);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_sum_squares (bool f32, const void *x, size_t count, double *sums, void *out,
                                            cudaStream_t s) {
  return f32 ? sum_squares((const float *)x, count, sums, (float *)out, s)
             : sum_squares((const double *)x, count, sums, (double *)out, s);
}
