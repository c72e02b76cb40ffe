/* points.cuh - coordinates and weights of points in a kernel, and sums over a thread block. */
#ifndef GB_CUDA_CLUSTER_POINTS_CUH
#define GB_CUDA_CLUSTER_POINTS_CUH

#include "cuda/element.cuh"

extern "C" {
#include "cuda/cluster/kernels.h"
}

#ifdef __CUDACC__
#define GB_UNROLL _Pragma("unroll")
#define GB_ROLLED _Pragma("unroll 1")
#else
#define GB_UNROLL
#define GB_ROLLED
#endif

static GB_DEVICE float gb_fused (float a, float b, float c) { return __fmaf_rn(a, b, c); }
static GB_DEVICE double gb_fused (double a, double b, double c) { return __fma_rn(a, b, c); }
static GB_DEVICE float gb_lesser (float a, float b) { return fminf(a, b); }
static GB_DEVICE double gb_lesser (double a, double b) { return fmin(a, b); }
static GB_DEVICE float gb_greater (float a, float b) { return fmaxf(a, b); }
static GB_DEVICE double gb_greater (double a, double b) { return fmax(a, b); }

/* An element of a row that is taken divided by its length. As cpu/cluster/points.c, make_unit_f32 and make_unit_f64. */
static GB_DEVICE float gb_directed (float v, gb_cuda_unit u) { return (float)((double)v * u.by); }
static GB_DEVICE double gb_directed (double v, gb_cuda_unit u) { return v * u.scale * u.by; }

/* How elements become numbers of T: those of T itself, all others that do, and any of rows divided by their lengths. 'take': what an
** element of point i counts. */
template <class T> struct gb_as_they_are {
  static GB_DEVICE T take (const gb_cuda_pass &, size_t, T v) { return v; }
};
template <class T> struct gb_plain : gb_as_they_are<T> {
  enum { LEAST_BLOCKS = sizeof(T) == 4 ? 2 : 1 }; /* of threads, for which a multiprocessor has registers */
  static GB_DEVICE int size (int) { return (int)sizeof(T); }
  static GB_DEVICE T get (const void *at, int) { return *(const T *)at; }
};
template <class T> struct gb_other;
template <> struct gb_other<double> : gb_as_they_are<double> {
  enum { LEAST_BLOCKS = 1 };
  static GB_DEVICE int size (int dtype) { return dtype == GB_I32 ? 4 : 8; }
  static GB_DEVICE double get (const void *at, int dtype) {
    return dtype == GB_I32 ? (double)*(const int32_t *)at : (double)*(const int64_t *)at;
  }
};
template <> struct gb_other<float> : gb_as_they_are<float> {
  enum { LEAST_BLOCKS = 1 };
  static GB_DEVICE int size (int dtype) { return dtype == GB_F16 || dtype == GB_BF16 ? 2 : 1; }
  static GB_DEVICE float get (const void *at, int dtype) {
    if (dtype == GB_F16) return half_f16_to_f32(*(const uint16_t *)at);
    if (dtype == GB_BF16) return half_bf16_to_f32(*(const uint16_t *)at);
    return (float)*(const uint8_t *)at;
  }
};

template <class T> struct gb_divided {
  enum { LEAST_BLOCKS = 1 };
  static GB_DEVICE bool plain (int dtype) { return dtype == (sizeof(T) == 8 ? GB_F64 : GB_F32); }
  static GB_DEVICE int size (int dtype) { return plain(dtype) ? (int)sizeof(T) : gb_other<T>::size(dtype); }
  static GB_DEVICE T get (const void *at, int dtype) {
    return plain(dtype) ? *(const T *)at : gb_other<T>::get(at, dtype);
  }
  static GB_DEVICE T take (const gb_cuda_pass &p, size_t i, T v) { return gb_directed(v, p.unit[i]); }
};

static inline bool gb_is_plain (const gb_cuda_pass *p) { return p->dtype == (p->f64 ? GB_F64 : GB_F32); }

/* Thread blocks for points of which each has some at a time. */
static inline unsigned gb_cuda_blocks (const gb_cuda_pass *p, size_t some, unsigned groups) {
  const size_t blocks = (p->n + some - 1) / some;
  return blocks < groups ? (unsigned)blocks : groups;
}

/* As it lies; as it is taken. */
template <class T> static GB_DEVICE T gb_element (const gb_cuda_pass &p, size_t i, size_t t) {
  return gb_load<T>(p.at, p.dtype, (int64_t)i * p.row + (int64_t)t * p.column);
}
template <class T> static GB_DEVICE T gb_feature (const gb_cuda_pass &p, size_t i, size_t t) {
  const T v = gb_element<T>(p, i, t);
  return p.unit == NULL ? v : gb_directed(v, p.unit[i]);
}
template <class T> static GB_DEVICE T gb_shifted (const gb_cuda_pass &p, size_t i, size_t t) {
  return gb_feature<T>(p, i, t) - ((const T *)p.shift)[t];
}
/* The same where the kernel is one for its type. */
template <class T, class S> struct gb_typed {
  static GB_DEVICE T shifted (const gb_cuda_pass &p, size_t i, size_t t) {
    const int64_t e = (int64_t)i * p.row + (int64_t)t * p.column;
    const T v = S::get((const char *)p.at + e * S::size(p.dtype), p.dtype);
    return S::take(p, i, v) - ((const T *)p.shift)[t];
  }
};
template <class T> struct gb_any {
  static GB_DEVICE T shifted (const gb_cuda_pass &p, size_t i, size_t t) { return gb_shifted<T>(p, i, t); }
};
static GB_DEVICE double gb_weight (const gb_cuda_pass &p, size_t i) {
  return p.given == NULL ? 1 : p.given[i];
}
static GB_DEVICE int64_t gb_quanta (double v) { return (int64_t)llrint(v); }

static GB_DEVICE int64_t gb_potential (const gb_cuda_pass &p, size_t i, double near) {
  return gb_quanta(gb_weight(p, i) * near * p.scale);
}

/* |x - c|^2 of point i in f64, by 16 threads (GB_LANES), in the first of them. As cpu/isa/cluster/points.inc, square_apart.
** c: gives a coordinate. */
#define GB_CUDA_LANES 16
template <class T, class C>
static GB_DEVICE double gb_square_apart (const gb_cuda_pass &p, size_t i, bool there, C c) {
  double sum = 0;
  for (size_t t = threadIdx.x % GB_CUDA_LANES; there && t < p.d; t += GB_CUDA_LANES) {
    const double gap = (double)gb_shifted<T>(p, i, t) - c(t);
    sum = gb_fused(gap, gap, sum);
  }
  for (int by = GB_CUDA_LANES / 2; by > 0; by /= 2)
    sum += __shfl_down_sync(~0u, sum, (unsigned)by, GB_CUDA_LANES);
  return sum;
}

/* Coordinates of centre j, of which ranks have -2 times each: exact, but where squares are infinite. */
template <class T> struct gb_ranked {
  const T *at;
  size_t stride;
  GB_DEVICE gb_ranked (const gb_cuda_pass &p, size_t j) {
    const gb_cuda_ranks r = p.ranks;
    const size_t before = j / r.width * r.width;
    stride = r.count - before < r.width ? r.count - before : r.width;
    at = (const T *)p.centres + before * r.height + stride + (j - before);
  }
  GB_DEVICE double operator()(size_t t) const { return -0.5 * (double)at[t * stride]; }
};

/* Whole numbers: in any order. */
static GB_DEVICE void gb_add_whole (int64_t *to, int64_t v) {
  atomicAdd((unsigned long long *)to, (unsigned long long)v);
}

/* The sum of all threads of a block of whole warps, in thread 0. room: of a number a warp; it may be used again behind a barrier. */
static GB_DEVICE int64_t gb_block_sum (int64_t v, int64_t *room) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(~0u, v, (unsigned)by);
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
  __syncthreads();
  for (unsigned w = 1; threadIdx.x == 0 && w < blockDim.x / 32; w++) v += room[w];
  return v;
}

#endif
