/* seeds.cu - distances to seeds and potentials: a thread a point, whose features pass through shared memory. */
#include "cuda/cluster/points.cuh"

enum { THREADS = 192, SLAB = 16, TRIED = 8 /* seeds at a time */ };
static_assert(GB_CUDA_BLOCK % THREADS == 0, "a block of points is a number of turns");

/* Some features of THREADS points from 'first' on; threads go along what lies closer together. */
template <class T>
static GB_DEVICE void fetch (const gb_cuda_pass &p, size_t first, size_t feature, T (*to)[THREADS + 1]) {
  const bool along = llabs(p.column) <= llabs(p.row);
  for (int e = (int)threadIdx.x; e < SLAB * THREADS; e += THREADS) {
    const int i = along ? e / SLAB : e % THREADS, t = along ? e % SLAB : e / THREADS;
    if (first + (size_t)i < p.n && feature + (size_t)t < p.d)
      to[t][i] = gb_shifted<T>(p, first + (size_t)i, feature + (size_t)t);
  }
}

/* |x - c|^2 of the thread's point and SEEDS seeds from 'seed' on, the last one again where there are no more. */
template <class T, int SEEDS>
static GB_DEVICE void squares_apart (const gb_cuda_pass &p, size_t first, size_t seed, T *sum) {
  __shared__ T x[SLAB][THREADS + 1];
  const T *c[SEEDS];
  GB_UNROLL
  for (int s = 0; s < SEEDS; s++) {
    const size_t j = seed + (size_t)s < p.k ? seed + (size_t)s : p.k - 1;
    sum[s] = 0, c[s] = (const T *)p.centres + j * p.d;
  }
  for (size_t feature = 0; feature < p.d; feature += SLAB) {
    const int some = p.d - feature < SLAB ? (int)(p.d - feature) : (int)SLAB;
    __syncthreads();
    fetch<T>(p, first, feature, x);
    __syncthreads();
    for (int t = 0; t < some && first + threadIdx.x < p.n; t++) GB_UNROLL
    for (int s = 0; s < SEEDS; s++) {
      const T gap = x[t][threadIdx.x] - c[s][feature + (size_t)t];
      sum[s] = gb_fused(gap, gap, sum[s]);
    }
  }
}

/* A thread block a block of points. */
template <class T> static __global__ void come_closer (GB_PARAMETER gb_cuda_pass p) {
  __shared__ int64_t room[THREADS / 32];
  T *near = (T *)p.near, got = 1;
  int64_t sum = 0;
  for (int turn = 0; turn < GB_CUDA_BLOCK / THREADS; turn++) {
    const size_t first = (size_t)blockIdx.x * GB_CUDA_BLOCK + (size_t)turn * THREADS, i = first + threadIdx.x;
    if (first >= p.n) continue;
    if (p.k > 0) squares_apart<T, 1>(p, first, 0, &got);
    if (i >= p.n) continue;
    if (p.fresh || got < near[i]) near[i] = got;
    sum += gb_potential(p, i, (double)near[i]);
  }
  sum = gb_block_sum(sum, room);
  if (threadIdx.x == 0) p.block[blockIdx.x] = sum;
}

extern "C" cudaError_t gb_cuda_come_closer (const gb_cuda_pass *p, cudaStream_t s) {
  const unsigned blocks = (unsigned)((p->n + GB_CUDA_BLOCK - 1) / GB_CUDA_BLOCK);
  if (p->f64) GB_LAUNCH((come_closer<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((come_closer<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}

template <class T> static __global__ void add_potentials (GB_PARAMETER gb_cuda_pass p) {
  __shared__ int64_t room[THREADS / 32];
  const T *near = (const T *)p.near;
  for (size_t seed = 0; seed < p.k; seed += TRIED) {
    int64_t total[TRIED] = {0};
    for (size_t first = (size_t)blockIdx.x * THREADS; first < p.n; first += (size_t)gridDim.x * THREADS) {
      const size_t i = first + threadIdx.x;
      T apart[TRIED];
      squares_apart<T, TRIED>(p, first, seed, apart);
      if (i >= p.n) continue;
      GB_UNROLL
      for (int s = 0; s < TRIED; s++) total[s] += gb_potential(p, i, fmin((double)apart[s], (double)near[i]));
    }
    GB_UNROLL
    for (int s = 0; s < TRIED; s++) {
      if (seed + (size_t)s >= p.k) continue;
      const int64_t sum = gb_block_sum(total[s], room);
      if (threadIdx.x == 0) gb_add_whole((int64_t *)&p.tally->total[seed + (size_t)s], sum);
      __syncthreads();
    }
  }
}

extern "C" cudaError_t gb_cuda_add_potentials (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, THREADS, groups);
  if (p->f64) GB_LAUNCH((add_potentials<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((add_potentials<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}

template <class T> static __global__ void list_potentials (GB_PARAMETER gb_cuda_pass p) {
  for (size_t i = threadIdx.x; i < p.n; i += THREADS)
    p.block[i] = gb_potential(p, i, (double)((const T *)p.near)[i]);
}

extern "C" cudaError_t gb_cuda_list_potentials (const gb_cuda_pass *p, cudaStream_t s) {
  if (p->f64) GB_LAUNCH((list_potentials<double>), 1, THREADS, 0, s, *p);
  else GB_LAUNCH((list_potentials<float>), 1, THREADS, 0, s, *p);
  return cudaGetLastError();
}
