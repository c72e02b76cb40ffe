/* little.cu - the nearest centres of points with few features: a thread holds some points, and four centres at a time pass in
** shared memory. It remembers the nearest four, of which the first of the nearest is found in the end, by the same chains. */
#include "cuda/cluster/moves.cuh"

enum { THREADS = 256, FOUR = GB_CUDA_QUARTET, ROOM = 256 /* centres in shared memory */ };

template <class T> struct alignas(16) four { T v[FOUR]; };

/* Chains of a point and four centres, which begin with the squared length. */
template <class T, int D> static GB_DEVICE four<T> chains (const T *x, const four<T> *c) {
  four<T> sum = c[0];
  GB_UNROLL
  for (int t = 0; t < D; t++) {
    const four<T> w = c[1 + t];
    GB_UNROLL
    for (int i = 0; i < FOUR; i++) sum.v[i] = gb_fused(x[t], w.v[i], sum.v[i]);
  }
  return sum;
}

template <class T> static GB_DEVICE T least_of (const four<T> &s) {
  return gb_lesser(gb_lesser(s.v[0], s.v[1]), gb_lesser(s.v[2], s.v[3]));
}

/* Some points and the nearest four of their centres. */
template <class T, int D, int POINTS> struct held {
  T x[POINTS][D], apart[POINTS];
  int32_t at[POINTS];
};

template <class T, int D, int POINTS>
static GB_DEVICE void compare (held<T, D, POINTS> *h, const four<T> *centre, int first, int count) {
  for (int q = 0; q < count; q++, centre += D + 1) GB_UNROLL
  for (int r = 0; r < POINTS; r++) {
    const T least = least_of(chains<T, D>(h->x[r], centre));
    h->at[r] = least < h->apart[r] ? first + q : h->at[r];
    h->apart[r] = least < h->apart[r] ? least : h->apart[r];
  }
}

template <class T, int D>
static GB_DEVICE int32_t nearest_of (const T *x, const four<T> *centres, T apart, int32_t at) {
  if (!(apart < (T)INFINITY)) return 0;
  const four<T> sum = chains<T, D>(x, centres + (size_t)at * (D + 1));
  int i = 0;
  while (i < FOUR - 1 && !(sum.v[i] == apart)) i++;
  return at * FOUR + i;
}

template <class T, int D, int POINTS>
static __global__ void __launch_bounds__ (THREADS, 1)
    assign_little(GB_PARAMETER gb_cuda_pass p, unsigned near) {
  enum { ROWS = THREADS * POINTS, QUARTETS = ROOM / FOUR };
  __shared__ four<T> some[QUARTETS * (D + 1)];
  __shared__ int32_t from[ROWS], to[ROWS];
  __shared__ int moved;
  GB_SHARED_ROOM(int64_t, room);
  int64_t *sums = gb_open_sums(p, near, room);
  const four<T> *centres = (const four<T> *)p.centres;
  const int quartets = (int)((p.k + FOUR - 1) / FOUR);
  int there = -1; /* the first of the quartets in shared memory */
  if (threadIdx.x == 0) moved = 0;
  for (size_t first = (size_t)blockIdx.x * ROWS; first < p.n; first += (size_t)gridDim.x * ROWS) {
    const int left = p.n - first < ROWS ? (int)(p.n - first) : (int)ROWS;
    held<T, D, POINTS> h;
    GB_UNROLL
    for (int r = 0; r < POINTS; r++) {
      const int i = r * THREADS + (int)threadIdx.x;
      h.apart[r] = (T)INFINITY, h.at[r] = 0;
      GB_UNROLL
      for (int t = 0; t < D; t++)
        h.x[r][t] = i < left && (size_t)t < p.d ? gb_shifted<T>(p, first + (size_t)i, (size_t)t) : (T)0;
    }
    for (int q = 0; q < quartets; q += QUARTETS) {
      const int count = quartets - q < QUARTETS ? quartets - q : (int)QUARTETS;
      __syncthreads();
      if (q != there)
        for (int e = (int)threadIdx.x; e < count * (D + 1); e += THREADS)
          some[e] = centres[(size_t)q * (D + 1) + e];
      there = q;
      __syncthreads();
      compare<T, D, POINTS>(&h, some, q, count);
    }
    GB_UNROLL
    for (int r = 0; r < POINTS; r++) {
      const int i = r * THREADS + (int)threadIdx.x;
      if (i >= left) continue;
      to[i] = nearest_of<T, D>(h.x[r], centres, h.apart[r], h.at[r]);
      if (gb_label_point(p, first + (size_t)i, to[i], &from[i])) atomicAdd(&moved, 1);
    }
    __syncthreads();
    gb_move_points<gb_any<T>, 1>(p, first, left, from, to, sums);
  }
  gb_close_sums(p, near, room);
  if (threadIdx.x == 0 && moved > 0) atomicAdd(&p.tally->moved, (unsigned long long)moved);
}

template <class T, int D> static void start (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  enum { POINTS = (D <= 4 ? 8 : 4) * (int)sizeof(float) / (int)sizeof(T), ROWS = THREADS * POINTS };
  const size_t near = gb_cuda_near_sums(p);
  GB_LAUNCH((assign_little<T, D, POINTS>), gb_cuda_blocks(p, ROWS, groups), THREADS, near * sizeof(int64_t),
            s, *p, (unsigned)near);
}

template <class T> static void start_as (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  switch (p->d) {
    case 1: start<T, 1>(p, groups, s); break;
    case 2: start<T, 2>(p, groups, s); break;
    case 3: start<T, 3>(p, groups, s); break;
    case 4: start<T, 4>(p, groups, s); break;
    case 5:
    case 6: start<T, 6>(p, groups, s); break;
    default: start<T, 8>(p, groups, s);
  }
}

extern "C" cudaError_t gb_cuda_assign_little (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  if (p->f64) start_as<double>(p, groups, s);
  else start_as<float>(p, groups, s);
  return cudaGetLastError();
}
