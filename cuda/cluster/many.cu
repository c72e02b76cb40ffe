/* many.cu - seeds by the thousand: how near the nearest of some is, points drawn in proportion to their potentials, the weight that
** seeds stand for. */
#include "cuda/cluster/points.cuh"
#include "cuda/draw.cuh"

enum { THREADS = 256, LANES = GB_CUDA_LANES, TOGETHER = THREADS / LANES };
static_assert(GB_CUDA_BLOCK % TOGETHER == 0, "a block of points is a number of turns");

/* A thread block a block of points; 16 threads share one. */
template <class T> static __global__ void come_nearer (GB_PARAMETER gb_cuda_pass p) {
  __shared__ int64_t room[THREADS / 32];
  T *near = (T *)p.near;
  int64_t sum = 0;
  for (int turn = 0; turn < GB_CUDA_BLOCK / TOGETHER; turn++) {
    const size_t i = (size_t)blockIdx.x * GB_CUDA_BLOCK + (size_t)turn * TOGETHER + threadIdx.x / LANES;
    const bool there = i < p.n;
    const int32_t at = there ? p.found[i] : 0;
    const T got = (T)gb_square_apart<T>(p, i, there, gb_ranked<T>(p, (size_t)at));
    if (!there || threadIdx.x % LANES != 0) continue;
    if (p.fresh || got < near[i]) near[i] = got, p.label[i] = p.number + at;
    sum += gb_potential(p, i, (double)near[i]);
  }
  sum = gb_block_sum(sum, room);
  if (threadIdx.x == 0) p.block[blockIdx.x] = sum;
}

extern "C" cudaError_t gb_cuda_come_nearer (const gb_cuda_pass *p, cudaStream_t s) {
  const unsigned blocks = (unsigned)((p->n + GB_CUDA_BLOCK - 1) / GB_CUDA_BLOCK);
  if (p->f64) GB_LAUNCH((come_nearer<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((come_nearer<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}

template <class T>
static __global__ void draw_lots (GB_PARAMETER gb_cuda_pass p, GB_PARAMETER gb_cuda_drawing d) {
  const T *near = (const T *)p.near;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < p.n; i += (size_t)gridDim.x * THREADS) {
    const int64_t q = gb_potential(p, i, (double)near[i]);
    if (q <= 0) continue;
    const uint64_t row = d.base + p.first + i;
    const double lot = gb_draw_uniform(d.seed, d.stream, row) / (d.share * (double)q);
    if (lot < 1) d.lot[atomicAdd(d.count, 1ull)] = {row, lot};
  }
}

extern "C" cudaError_t gb_cuda_draw_lots (const gb_cuda_pass *p, const gb_cuda_drawing *d, unsigned groups,
                                          cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, THREADS, groups);
  if (p->f64) GB_LAUNCH((draw_lots<double>), blocks, THREADS, 0, s, *p, *d);
  else GB_LAUNCH((draw_lots<float>), blocks, THREADS, 0, s, *p, *d);
  return cudaGetLastError();
}

static __global__ void tally_labels (GB_PARAMETER gb_cuda_pass p) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < p.n; i += (size_t)gridDim.x * THREADS) {
    const int32_t at = p.label[i] - p.number;
    if (at >= 0 && (size_t)at < p.k) gb_add_whole(p.block + at, gb_quanta(gb_weight(p, i) * p.weight));
  }
}

extern "C" cudaError_t gb_cuda_tally_labels (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  GB_LAUNCH(tally_labels, gb_cuda_blocks(p, THREADS, groups), THREADS, 0, s, *p);
  return cudaGetLastError();
}
