/* move.cu - joining, taking, replacing and converting elements. */
#include "cuda/dense/launch.cuh"
#include "cuda/element.cuh"

extern "C" {
#include "cuda/move/kernels.h"
}

template <class T>
static __global__ void copy_runs (const T *from, T *to, size_t rows, size_t run, size_t stride) {
  GB_CUDA_EACH(e, rows * run) to[e / run * stride + e % run] = from[e];
}

template <class T>
static cudaError_t copy_as (const void *from, void *to, size_t rows, size_t bytes, size_t stride,
                            cudaStream_t s) {
  const size_t run = bytes / sizeof(T);
  GB_CUDA_OVER((copy_runs<T>), rows * run, s, (const T *)from, (T *)to, rows, run, stride / sizeof(T));
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_copy_runs (const void *from, void *to, size_t rows, size_t bytes,
                                          size_t stride, cudaStream_t s) {
  const size_t all = bytes | stride | (uintptr_t)from | (uintptr_t)to;
  if (all % 8 == 0) return copy_as<uint64_t>(from, to, rows, bytes, stride, s);
  if (all % 4 == 0) return copy_as<uint32_t>(from, to, rows, bytes, stride, s);
  if (all % 2 == 0) return copy_as<uint16_t>(from, to, rows, bytes, stride, s);
  return copy_as<uint8_t>(from, to, rows, bytes, stride, s);
}

/* From i64 to f32 not through f64, which would round twice. */
static __global__ void convert (int from, int to, size_t count, const void *src, void *dst) {
  GB_CUDA_EACH(i, count) {
    if (from == GB_I64 && to == GB_F32) ((float *)dst)[i] = (float)((const int64_t *)src)[i];
    else gb_put(dst, to, (int64_t)i, gb_load<double>(src, from, (int64_t)i));
  }
}

extern "C" cudaError_t gb_cuda_convert (int from, int to, size_t count, const void *src, void *dst,
                                        cudaStream_t s) {
  GB_CUDA_OVER(convert, count, s, from, to, count, src, dst);
  return cudaGetLastError();
}

/* -- positions */

static GB_DEVICE bool is_inside (int64_t position, size_t n) {
  return position >= 1 && (uint64_t)position <= n;
}

static GB_DEVICE int64_t position_at (const gb_cuda_slabs &x, size_t i) {
  return x.positions == GB_I32 ? ((const int32_t *)x.position)[i] : ((const int64_t *)x.position)[i];
}

static __global__ void check_positions (GB_PARAMETER gb_cuda_slabs x, gb_cuda_found *found) {
  GB_CUDA_EACH(i, x.count)
  if (!is_inside(position_at(x, i), x.n)) gb_cuda_note_first(found, GB_CUDA_PIVOT, i);
}

extern "C" cudaError_t gb_cuda_check_positions (const gb_cuda_slabs *x, gb_cuda_found *found,
                                                cudaStream_t s) {
  GB_CUDA_OVER(check_positions, x->count, s, *x, found);
  return cudaGetLastError();
}

template <class T> static __global__ void take (GB_PARAMETER gb_cuda_slabs x, const T *from, T *to) {
  GB_CUDA_EACH(e, x.outer * x.count * x.inner) {
    const size_t column = e % x.inner, row = e / x.inner, outer = row / x.count;
    const int64_t p = position_at(x, row % x.count);
    if (is_inside(p, x.n)) to[e] = from[(outer * x.n + (size_t)p - 1) * x.inner + column];
  }
}

extern "C" cudaError_t gb_cuda_take (const gb_cuda_slabs *x, const void *from, void *to, cudaStream_t s) {
  const size_t count = x->outer * x->count * x->inner;
  switch (x->size) {
    case 8: GB_CUDA_OVER((take<uint64_t>), count, s, *x, (const uint64_t *)from, (uint64_t *)to); break;
    case 4: GB_CUDA_OVER((take<uint32_t>), count, s, *x, (const uint32_t *)from, (uint32_t *)to); break;
    case 2: GB_CUDA_OVER((take<uint16_t>), count, s, *x, (const uint16_t *)from, (uint16_t *)to); break;
    default: GB_CUDA_OVER((take<uint8_t>), count, s, *x, (const uint8_t *)from, (uint8_t *)to);
  }
  return cudaGetLastError();
}

/* Whether b takes the place of a: the larger or the smaller, and a NaN. */
template <class T> static GB_DEVICE bool is_better (T a, T b, int join) {
  return (join == GB_CUDA_LARGEST ? b > a : b < a) || b != b;
}

/* What the types of 8 and 4 bytes share with the others. */
template <class T> struct joining {
  static GB_DEVICE T of (T a, T b, int join, int) {
    return join == GB_CUDA_ADD ? a + b : is_better(a, b, join) ? b : a;
  }
};
template <> struct joining<uint16_t> {
  static GB_DEVICE uint16_t of (uint16_t a, uint16_t b, int join, int dtype) {
    const bool is_f16 = dtype == GB_F16;
    const double v = (double)(is_f16 ? half_f16_to_f32(a) : half_bf16_to_f32(a));
    const double w = (double)(is_f16 ? half_f16_to_f32(b) : half_bf16_to_f32(b));
    if (join != GB_CUDA_ADD) return is_better(v, w, join) ? b : a;
    return is_f16 ? half_f32_to_f16((float)(v + w)) : half_f32_to_bf16((float)(v + w));
  }
};
template <> struct joining<uint8_t> { /* bool */
  static GB_DEVICE uint8_t of (uint8_t a, uint8_t b, int, int) { return a != 0 || b != 0; }
};

/* A thread an entry of the result, which meets all positions in ascending order; threads of a block fetch them
** together. No atomics: entries join in the order of their positions. */
template <class T>
static __global__ void put_at (GB_PARAMETER gb_cuda_slabs x, const T *from, const T *y, int join, T *to) {
  __shared__ int64_t some[GB_CUDA_THREADS];
  const size_t all = x.outer * x.n * x.inner;
  for (size_t first = (size_t)blockIdx.x * blockDim.x; first < all; first += (size_t)gridDim.x * blockDim.x) {
    const size_t e = first + threadIdx.x, column = e % x.inner, row = e / x.inner % x.n,
                 outer = e / x.inner / x.n;
    T v = e < all ? from[e] : T();
    for (size_t i0 = 0; i0 < x.count; i0 += GB_CUDA_THREADS) {
      const size_t rest = x.count - i0, here = rest < GB_CUDA_THREADS ? rest : GB_CUDA_THREADS;
      if (threadIdx.x < here) some[threadIdx.x] = position_at(x, i0 + threadIdx.x);
      __syncthreads();
      for (size_t i = 0; i < here && e < all; i++) {
        if (some[i] != (int64_t)row + 1) continue;
        const T w = y[(outer * x.count + i0 + i) * x.inner + column];
        v = join == GB_CUDA_REPLACE ? w : joining<T>::of(v, w, join, x.dtype);
      }
      __syncthreads();
    }
    if (e < all) to[e] = v;
  }
}

template <class T>
static void start_put (const gb_cuda_slabs *x, const void *from, const void *y, int join, void *to,
                       cudaStream_t s) {
  GB_CUDA_OVER((put_at<T>), x->outer * x->n * x->inner, s, *x, (const T *)from, (const T *)y, join, (T *)to);
}

/* Copies know sizes alone; sums and comparisons know types. Sums of i64 wrap around. */
extern "C" cudaError_t gb_cuda_put_at (const gb_cuda_slabs *x, const void *from, const void *y, int join,
                                       void *to, cudaStream_t s) {
  const bool joins = join != GB_CUDA_REPLACE;
  if (joins && x->dtype == GB_F64) start_put<double>(x, from, y, join, to, s);
  else if (joins && x->dtype == GB_F32) start_put<float>(x, from, y, join, to, s);
  else if (joins && x->dtype == GB_I64 && join != GB_CUDA_ADD) start_put<int64_t>(x, from, y, join, to, s);
  else if (joins && x->dtype == GB_I32 && join != GB_CUDA_ADD) start_put<int32_t>(x, from, y, join, to, s);
  else if (x->size == 8) start_put<uint64_t>(x, from, y, join, to, s);
  else if (x->size == 4) start_put<uint32_t>(x, from, y, join, to, s);
  else if (x->size == 2) start_put<uint16_t>(x, from, y, join, to, s);
  else start_put<uint8_t>(x, from, y, join, to, s);
  return cudaGetLastError();
}
