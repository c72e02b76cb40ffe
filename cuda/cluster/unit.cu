/* unit.cu - how long rows are that are taken as unit vectors: four threads share one. As cpu/cluster/points.c: of f64 the greatest value
** gives a power of two, with which no square overflows or vanishes; four sums, of each fourth square, and what is left goes to the
** first. */
#include "cuda/cluster/points.cuh"

enum { THREADS = 256, LANES = 4 };

static GB_DEVICE double scale_of (double most) {
  int e;
  frexp(most, &e);
  return ldexp(1.0, e < -1000 ? 1000 : -e);
}

/* 'lane' of the threads that share the row; NaN is left out. */
template <class T>
static GB_DEVICE double greatest (const gb_cuda_pass &p, size_t i, size_t lane, bool there) {
  double most = 0;
  for (size_t t = lane; there && t < p.d; t += LANES) most = fmax(most, fabs((double)gb_element<T>(p, i, t)));
  for (int by = LANES / 2; by > 0; by /= 2) most = fmax(most, __shfl_xor_sync(~0u, most, by));
  return most;
}

template <class T> static __global__ void measure (GB_PARAMETER gb_cuda_pass p) {
  const size_t lane = threadIdx.x % LANES, whole = p.d / LANES * LANES;
  const size_t n = p.some == NULL ? p.n : *p.have;
  for (size_t e0 = (size_t)blockIdx.x * (THREADS / LANES); e0 < n;
       e0 += (size_t)gridDim.x * (THREADS / LANES)) {
    const size_t e = e0 + threadIdx.x / LANES;
    const bool there = e < n;
    const size_t i = there && p.some != NULL ? (size_t)p.some[e] : e;
    double scale = 1, sum = 0;
    if (sizeof(T) == sizeof(double)) scale = scale_of(greatest<T>(p, i, lane, there));
    for (size_t t = lane; there && (t < whole || (lane == 0 && t < p.d)); t += t < whole ? LANES : 1) {
      const double v = (double)gb_element<T>(p, i, t) * scale;
      sum += v * v;
    }
    sum += __shfl_down_sync(~0u, sum, LANES / 2, LANES);
    sum += __shfl_down_sync(~0u, sum, LANES / 4, LANES);
    if (there && lane == 0) p.unit[i] = {scale, 1 / sqrt(sum)};
  }
}

extern "C" cudaError_t gb_cuda_find_lengths (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, THREADS / LANES, groups);
  if (p->f64) GB_LAUNCH((measure<double>), blocks, THREADS, 0, s, *p);
  else GB_LAUNCH((measure<float>), blocks, THREADS, 0, s, *p);
  return cudaGetLastError();
}
