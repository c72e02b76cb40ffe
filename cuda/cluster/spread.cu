/* spread.cu - squared distances of points to the centres of their labels, in f64: 16 threads share a point. */
#include "cuda/cluster/points.cuh"

enum { THREADS = 256, LANES = GB_CUDA_LANES };

/* To the centre of its label. */
template <class T> static GB_DEVICE double square_apart (const gb_cuda_pass &p, size_t i, bool there) {
  const T *c = (const T *)p.centres + (there ? (size_t)p.label[i] * p.d : 0);
  return gb_square_apart<T>(p, i, there, [c] (size_t t) { return (double)c[t]; });
}

/* Points of a thread block, one after the other; whole warps stay together. */
#define EACH_POINT(i, there)                                                                                 \
  for (size_t i0 = (size_t)blockIdx.x * (THREADS / LANES), i, there; i0 < p.n;                               \
       i0 += (size_t)gridDim.x * (THREADS / LANES))                                                          \
    if ((i = i0 + threadIdx.x / LANES, there = i < p.n, true))

template <class T> static __global__ void add_spread (GB_PARAMETER gb_cuda_pass p) {
  __shared__ int64_t high[THREADS / 32], low[THREADS / 32];
  int64_t sum = 0, rest = 0;
  EACH_POINT(i, there) {
    const double apart = square_apart<T>(p, i, there);
    if (!there || threadIdx.x % LANES != 0) continue;
    const double v = gb_weight(p, i) * apart, whole = rint(v * p.scale);
    sum += gb_quanta(whole);
    rest += gb_quanta(gb_fused(v, p.scale, -whole) * 0x1p30);
  }
  sum = gb_block_sum(sum, high);
  rest = gb_block_sum(rest, low);
  if (threadIdx.x > 0) return;
  gb_add_whole((int64_t *)&p.tally->high, sum);
  gb_add_whole((int64_t *)&p.tally->low, rest);
}

template <class T> static __global__ void find_apart (GB_PARAMETER gb_cuda_pass p) {
  EACH_POINT(i, there) {
    const double apart = square_apart<T>(p, i, there);
    if (there && threadIdx.x % LANES == 0) p.apart[i] = gb_weight(p, i) > 0 ? apart : -1;
  }
}

extern "C" cudaError_t gb_cuda_add_spread (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, THREADS / LANES, groups);
  if (p->f64) GB_LAUNCH((add_spread<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((add_spread<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}

extern "C" cudaError_t gb_cuda_find_apart (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, THREADS / LANES, groups);
  if (p->f64) GB_LAUNCH((find_apart<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((find_apart<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}
