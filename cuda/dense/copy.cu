/* copy.cu - copies that change the layout of a matrix, and signs of vectors. */
#include "cuda/dense/launch.cuh"

#include <string.h>

enum { SIDE = 16 };

template <class T> static __global__ void lower (const T *a, T *to, size_t n, T jitter) {
  GB_CUDA_EACH(e, n * n) {
    const size_t i = e / n, j = e % n;
    to[e] = j < i ? a[e] : j == i ? a[e] + jitter : 0;
  }
}

template <class T> static __global__ void identity (T *a, size_t n) {
  GB_CUDA_EACH(e, n * n) a[e] = e / n == e % n;
}

template <class T> static __global__ void mirror (T *a, size_t n) {
  GB_CUDA_EACH(e, n * n) {
    const size_t i = e / n, j = e % n;
    if (j > i) a[e] = a[j * n + i];
  }
}

/* Through a tile of shared memory, so that both sides are read and written along rows. */
template <class T> static __global__ void transpose (const T *a, T *to, size_t n, size_t m, const T *sign) {
  __shared__ T tile[SIDE][SIDE + 1];
  const size_t across = (m + SIDE - 1) / SIDE, i0 = blockIdx.x / across * SIDE,
               j0 = blockIdx.x % across * SIDE;
  const size_t tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  if (i0 + ty < n && j0 + tx < m) tile[ty][tx] = a[(i0 + ty) * m + j0 + tx];
  __syncthreads();
  if (i0 + tx < n && j0 + ty < m) {
    const T v = tile[tx][ty];
    to[(j0 + ty) * n + i0 + tx] = sign == NULL ? v : v * sign[i0 + tx];
  }
}

template <class T> static __global__ void transpose_square (T *a, size_t n, const T *sign) {
  GB_CUDA_EACH(e, n * n) {
    const size_t i = e / n, j = e % n;
    if (j < i) continue;
    const T upper = a[e], below = a[j * n + i];
    a[e] = below * sign[j];
    if (j > i) a[j * n + i] = upper * sign[i];
  }
}

template <class T> static __global__ void turn (T *a, size_t count, size_t k, const T *sign) {
  GB_CUDA_EACH(e, count) a[e] *= sign[e % k];
}

/* A thread block a vector; of equal magnitudes the first counts. */
template <class T> static __global__ void signs (const T *a, size_t n, T *sign) {
  __shared__ double size[GB_CUDA_THREADS];
  __shared__ size_t at[GB_CUDA_THREADS];
  const T *v = a + blockIdx.x * n;
  const unsigned t = threadIdx.x;
  size[t] = -1;
  at[t] = n;
  for (size_t i = t; i < n; i += GB_CUDA_THREADS)
    if (fabs((double)v[i]) > size[t]) size[t] = fabs((double)v[i]), at[t] = i;
  __syncthreads();
  for (unsigned half = GB_CUDA_THREADS / 2; half > 0; half /= 2) {
    if (t < half && (size[t + half] > size[t] || (size[t + half] == size[t] && at[t + half] < at[t])))
      size[t] = size[t + half], at[t] = at[t + half];
    __syncthreads();
  }
  if (t == 0) sign[blockIdx.x] = at[0] < n && v[at[0]] < 0 ? (T)-1 : (T)1;
}

template <class T> static __global__ void take_r (const T *a, size_t n, size_t m, T *r, T *sign) {
  GB_CUDA_EACH(e, m * m) {
    const size_t i = e / m, j = e % m;
    const T s = a[i + i * n] < 0 ? (T)-1 : (T)1;
    r[e] = j < i ? 0 : s * a[i + j * n];
    if (i == j) sign[i] = s;
  }
}

extern "C" cudaError_t gb_cuda_lower (bool f32, const void *a, void *to, size_t n, double jitter,
                                      cudaStream_t s) {
  if (f32) GB_CUDA_OVER((lower<float>), n * n, s, (const float *)a, (float *)to, n, (float)jitter);
  else GB_CUDA_OVER((lower<double>), n * n, s, (const double *)a, (double *)to, n, jitter);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_identity (bool f32, void *a, size_t n, cudaStream_t s) {
  if (f32) GB_CUDA_OVER((identity<float>), n * n, s, (float *)a, n);
  else GB_CUDA_OVER((identity<double>), n * n, s, (double *)a, n);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_mirror (bool f32, void *a, size_t n, cudaStream_t s) {
  if (f32) GB_CUDA_OVER((mirror<float>), n * n, s, (float *)a, n);
  else GB_CUDA_OVER((mirror<double>), n * n, s, (double *)a, n);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_transpose (bool f32, const void *a, void *to, size_t n, size_t m,
                                          const void *sign, cudaStream_t s) {
  const unsigned tiles = (unsigned)(((n + SIDE - 1) / SIDE) * ((m + SIDE - 1) / SIDE));
  if (tiles == 0) return cudaSuccess;
  if (f32)
    GB_LAUNCH((transpose<float>), tiles, SIDE * SIDE, 0, s, (const float *)a, (float *)to, n, m,
              (const float *)sign);
  else
    GB_LAUNCH((transpose<double>), tiles, SIDE * SIDE, 0, s, (const double *)a, (double *)to, n, m,
              (const double *)sign);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_transpose_square (bool f32, void *a, size_t n, const void *sign,
                                                 cudaStream_t s) {
  if (f32) GB_CUDA_OVER((transpose_square<float>), n * n, s, (float *)a, n, (const float *)sign);
  else GB_CUDA_OVER((transpose_square<double>), n * n, s, (double *)a, n, (const double *)sign);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_turn (bool f32, void *a, size_t count, size_t k, const void *sign,
                                     cudaStream_t s) {
  if (f32) GB_CUDA_OVER((turn<float>), count, s, (float *)a, count, k, (const float *)sign);
  else GB_CUDA_OVER((turn<double>), count, s, (double *)a, count, k, (const double *)sign);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_signs (bool f32, const void *a, size_t n, size_t k, void *sign,
                                      cudaStream_t s) {
  if (k == 0) return cudaSuccess;
  if (f32)
    GB_LAUNCH((signs<float>), (unsigned)k, (unsigned)GB_CUDA_THREADS, 0, s, (const float *)a, n,
              (float *)sign);
  else
    GB_LAUNCH((signs<double>), (unsigned)k, (unsigned)GB_CUDA_THREADS, 0, s, (const double *)a, n,
              (double *)sign);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_take_r (bool f32, const void *a, size_t n, size_t m, void *r, void *sign,
                                       cudaStream_t s) {
  if (f32) GB_CUDA_OVER((take_r<float>), m * m, s, (const float *)a, n, m, (float *)r, (float *)sign);
  else GB_CUDA_OVER((take_r<double>), m * m, s, (const double *)a, n, m, (double *)r, (double *)sign);
  return cudaGetLastError();
}
