/* point.cu - one point: its features, and another label. */
#include "cuda/cluster/moves.cuh"

enum { THREADS = 256 };

/* Numbers of T as doubles. */
template <class T>
static __global__ void features (GB_PARAMETER gb_cuda_pass p, size_t first, size_t count, double *out) {
  for (size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x; t < count; t += (size_t)gridDim.x * THREADS)
    out[t] = (double)gb_feature<T>(p, 0, first + t);
}

extern "C" cudaError_t gb_cuda_features (const gb_cuda_pass *p, size_t first, size_t count, double *out,
                                         cudaStream_t s) {
  const unsigned blocks = (unsigned)((count + THREADS - 1) / THREADS);
  if (p->f64) GB_LAUNCH((features<double>), blocks, THREADS, 0, s, *p, first, count, out);
  else GB_LAUNCH((features<float>), blocks, THREADS, 0, s, *p, first, count, out);
  return cudaGetLastError();
}

template <class T> static __global__ void relabel (GB_PARAMETER gb_cuda_pass p, int32_t to) {
  __shared__ int32_t from;
  if (threadIdx.x == 0) from = *p.label;
  __syncthreads();
  for (size_t t = threadIdx.x; t <= p.d; t += THREADS) gb_move_feature<gb_any<T>>(p, 0, t, from, to, p.sums);
  if (threadIdx.x == 0) *p.label = to;
}

extern "C" cudaError_t gb_cuda_relabel (const gb_cuda_pass *p, int32_t to, cudaStream_t s) {
  if (p->f64) GB_LAUNCH((relabel<double>), 1, THREADS, 0, s, *p, to);
  else GB_LAUNCH((relabel<float>), 1, THREADS, 0, s, *p, to);
  return cudaGetLastError();
}
