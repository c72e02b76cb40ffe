/* range.cu - the ends of columns, and the first bad point. Ends and rows are the least of whole numbers: in any order. */
#include "cuda/cluster/points.cuh"

enum { THREADS = 256 };

/* A whole number with the order of the numbers. */
static GB_DEVICE unsigned long long key_of (double v) {
  unsigned long long bits;
  memcpy(&bits, &v, sizeof bits);
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}

extern "C" double gb_cuda_end_of (unsigned long long key) {
  const unsigned long long bits = key >> 63 ? key & ~(1ull << 63) : ~key;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static __global__ void clear_ends (GB_PARAMETER gb_cuda_pass p) {
  for (size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x; t < p.d; t += (size_t)gridDim.x * THREADS)
    p.ends[t] = key_of((double)INFINITY), p.ends[p.d + t] = key_of(-(double)INFINITY);
}

extern "C" cudaError_t gb_cuda_clear_ends (const gb_cuda_pass *p, cudaStream_t s) {
  GB_LAUNCH(clear_ends, 1, THREADS, 0, s, *p);
  return cudaGetLastError();
}

static GB_DEVICE void note_bad (const gb_cuda_pass &p, size_t row, size_t column) {
  atomicMin(&p.tally->bad, (unsigned long long)((p.first + row) * (p.d + 2) + column));
}

/* 'across' threads, a power of two, go along columns; those of other rows in a thread block are brought together. */
template <class T> static __global__ void find_ends (GB_PARAMETER gb_cuda_pass p, unsigned across) {
  __shared__ T low[THREADS], high[THREADS];
  const unsigned down = THREADS / across, c = threadIdx.x % across, r = threadIdx.x / across;
  for (size_t t0 = 0; t0 < p.d; t0 += across) {
    const size_t t = t0 + c;
    T least = (T)INFINITY, most = -(T)INFINITY;
    for (size_t i = (size_t)blockIdx.x * down + r; t < p.d && i < p.n; i += (size_t)gridDim.x * down) {
      const T raw = gb_element<T>(p, i, t), v = p.unit == NULL ? raw : gb_directed(raw, p.unit[i]);
      if (!(v - v == 0))
        note_bad(p, i, raw - raw == 0 ? p.d + 1 : t); /* of a length of 0, or of what another column has */
      least = v < least ? v : least;
      most = v > most ? v : most;
    }
    low[threadIdx.x] = least, high[threadIdx.x] = most;
    __syncthreads();
    for (unsigned by = THREADS / 2; by >= across; by /= 2) {
      if (threadIdx.x < by) {
        low[threadIdx.x] = gb_lesser(low[threadIdx.x], low[threadIdx.x + by]);
        high[threadIdx.x] = -gb_lesser(-high[threadIdx.x], -high[threadIdx.x + by]);
      }
      __syncthreads();
    }
    if (threadIdx.x < across && t < p.d) {
      atomicMin(p.ends + t, key_of((double)low[c]));
      atomicMax(p.ends + p.d + t, key_of((double)high[c]));
    }
    __syncthreads();
  }
}

static __global__ void find_heaviest (GB_PARAMETER gb_cuda_pass p) {
  double most = 0;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < p.n; i += (size_t)gridDim.x * THREADS) {
    const double w = p.given[i];
    if (!(w >= 0 && w < (double)INFINITY)) note_bad(p, i, p.d);
    else most = w > most ? w : most;
  }
  unsigned long long bits;
  memcpy(&bits, &most, sizeof bits);
  if (most > 0) atomicMax(&p.tally->weight, bits);
}

extern "C" cudaError_t gb_cuda_find_ends (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  unsigned across = 1;
  while (across < 32 && across < p->d) across *= 2;
  if (p->row == 1 && p->column != 1) across = 1; /* rows lie side by side */
  const unsigned blocks = gb_cuda_blocks(p, THREADS / across, groups);
  if (p->f64) GB_LAUNCH((find_ends<double>), blocks, THREADS, 0, s, *p, across);
  else GB_LAUNCH((find_ends<float>), blocks, THREADS, 0, s, *p, across);
  const cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess || p->given == NULL) return e;
  GB_LAUNCH(find_heaviest, gb_cuda_blocks(p, THREADS, groups), THREADS, 0, s, *p);
  return cudaGetLastError();
}
