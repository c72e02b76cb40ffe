/* cumsum.cu - running sums: a chain a lane. Lanes that lie side by side are a thread each; lanes that are
** contiguous are a thread block each, whose threads fetch and store what its first thread adds. */
#include "cuda/dense/launch.cuh"
#include "cuda/element.cuh"

extern "C" {
#include "cuda/move/kernels.h"
}

template <class A> struct sums_in { /* floats in f64, i64 modulo 2^64 */
  static GB_DEVICE double get (const void *from, size_t i, int dtype) {
    return gb_load<double>(from, dtype, (int64_t)i);
  }
  static GB_DEVICE void set (void *to, size_t i, int dtype, double v) { gb_put(to, dtype, (int64_t)i, v); }
};
template <> struct sums_in<uint64_t> {
  static GB_DEVICE uint64_t get (const void *from, size_t i, int) { return ((const uint64_t *)from)[i]; }
  static GB_DEVICE void set (void *to, size_t i, int, uint64_t v) { ((uint64_t *)to)[i] = v; }
};

template <class A>
static __global__ void beside (GB_PARAMETER gb_cuda_slabs x, bool backwards, const void *from, void *to) {
  GB_CUDA_EACH(lane, x.outer * x.inner) {
    const size_t first = lane / x.inner * x.n * x.inner + lane % x.inner;
    A sum = 0;
    for (size_t step = 0; step < x.n; step++) {
      const size_t i = first + (backwards ? x.n - 1 - step : step) * x.inner;
      sum += sums_in<A>::get(from, i, x.dtype);
      sums_in<A>::set(to, i, x.dtype, sum);
    }
  }
}

/* One contiguous lane. */
template <class A>
static GB_DEVICE void sum_lane (const gb_cuda_slabs &x, size_t first, bool backwards, const void *from,
                                void *to) {
  __shared__ A part[GB_CUDA_THREADS];
  A sum = 0;
  const size_t t = threadIdx.x;
  for (size_t step = 0; step < x.n; step += GB_CUDA_THREADS) {
    const size_t here = x.n - step < GB_CUDA_THREADS ? x.n - step : GB_CUDA_THREADS;
    const size_t i = first + (backwards ? x.n - 1 - step - t : step + t);
    if (t < here) part[t] = sums_in<A>::get(from, i, x.dtype);
    __syncthreads();
    for (size_t k = 0; t == 0 && k < here; k++) part[k] = sum += part[k];
    __syncthreads();
    if (t < here) sums_in<A>::set(to, i, x.dtype, part[t]);
    __syncthreads();
  }
}

template <class A>
static __global__ void along (GB_PARAMETER gb_cuda_slabs x, bool backwards, const void *from, void *to) {
  for (size_t lane = blockIdx.x; lane < x.outer; lane += gridDim.x)
    sum_lane<A>(x, lane * x.n, backwards, from, to);
}

template <class A>
static void start (const gb_cuda_slabs *x, bool backwards, const void *from, void *to, cudaStream_t s) {
  const size_t lanes = x->outer * x->inner;
  if (lanes * x->n == 0) return;
  if (x->inner == 1)
    GB_LAUNCH((along<A>), (unsigned)(lanes < GB_CUDA_MOST_GROUPS ? lanes : GB_CUDA_MOST_GROUPS),
              (unsigned)GB_CUDA_THREADS, 0, s, *x, backwards, from, to);
  else GB_CUDA_OVER((beside<A>), lanes, s, *x, backwards, from, to);
}

extern "C" cudaError_t gb_cuda_running_sums (const gb_cuda_slabs *x, bool backwards, const void *from,
                                             void *to, cudaStream_t s) {
  if (x->dtype == GB_I64) start<uint64_t>(x, backwards, from, to, s);
  else start<double>(x, backwards, from, to, s);
  return cudaGetLastError();
}
