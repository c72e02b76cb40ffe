/* bounded.cu - points whose label their bounds leave a choice: found, measured, compared, settled. Lists of points are in any order,
** which decides no bit. As cpu/cluster/bounded.c and cpu/isa/cluster/bounds.inc, where the bounds and their roundings are explained. */
#include "cuda/cluster/moves.cuh"
#include "cuda/cluster/tiles.cuh"

enum { THREADS = 256, LANES = GB_CUDA_LANES, TOGETHER = THREADS / LANES };

static GB_DEVICE float lowered (float lower, float by) { return (lower - by) * (1 - 0x1p-22f) - 0x1p-100f; }

/* How far a centre moved at most that is not the point's own. */
static GB_DEVICE float others_moved (const gb_cuda_bounding &b, int32_t own) {
  return own == b.farthest ? b.next : b.most;
}

/* The bounds of a point get looser; the lower one where the label stays. */
static GB_DEVICE bool stays (const gb_cuda_bounding &b, size_t i, int32_t label) {
  const int32_t own = label < 0 ? 0 : label;
  const float upper = fmaf(b.upper[i] + b.move[own], 1 + 0x1p-22f, 0x1p-100f);
  const float lower = lowered(b.lower[i], others_moved(b, own)), far = fmaxf(0.0f, lower);
  const float most = fmaf(upper, upper + b.linear, b.constant);
  b.upper[i] = upper;
  if (!(most * (1 + 0x1p-19f) < far * far)) return false;
  b.lower[i] = lower;
  return true;
}

/* Those that do not stay, to b.open. */
static __global__ void screen (GB_PARAMETER gb_cuda_pass p, GB_PARAMETER gb_cuda_bounding b) {
  __shared__ int32_t list[THREADS];
  __shared__ unsigned count, base;
  for (size_t first = (size_t)blockIdx.x * THREADS; first < p.n; first += (size_t)gridDim.x * THREADS) {
    const size_t i = first + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (i < p.n && !stays(b, i, p.label[i])) list[atomicAdd(&count, 1u)] = (int32_t)i;
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(&b.count[0], count);
    __syncthreads();
    if (threadIdx.x < count) b.open[base + threadIdx.x] = list[threadIdx.x];
    __syncthreads(); /* the list is free */
  }
}

extern "C" cudaError_t gb_cuda_screen (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                                       cudaStream_t s) {
  GB_LAUNCH(screen, gb_cuda_blocks(p, THREADS, groups), THREADS, 0, s, *p, *b);
  return cudaGetLastError();
}

/* The label stays by the distance from its own centre. */
static GB_DEVICE bool is_told (const gb_cuda_bounding &b, size_t i, int32_t own, double square) {
  const double upper = sqrt(square) * (1 + 0x1p-20) + 0x1p-100;
  const double least = sqrt(upper * (upper + (double)b.linear) + (double)b.constant) * (1 + 0x1p-20) +
                       0x1p-60;
  const float lower = lowered(b.lower[i], others_moved(b, own));
  if (!((double)lower > least)) return false;
  b.upper[i] = (float)(upper * (1 + 0x1p-22));
  b.lower[i] = lower;
  return true;
}

/* Those that it does not tell, to b.left; 16 threads share a point. */
template <class T>
static __global__ void look_at (GB_PARAMETER gb_cuda_pass p, GB_PARAMETER gb_cuda_bounding b) {
  const size_t n = b.count[0];
  for (size_t e0 = (size_t)blockIdx.x * TOGETHER; e0 < n; e0 += (size_t)gridDim.x * TOGETHER) {
    const size_t e = e0 + threadIdx.x / LANES;
    const bool there = e < n;
    const size_t i = there ? (size_t)b.open[e] : 0;
    const int32_t own = there ? p.label[i] : -1;
    const double square = gb_square_apart<T>(p, i, own >= 0, gb_ranked<T>(p, own < 0 ? 0 : (size_t)own));
    if (!there || threadIdx.x % LANES != 0 || (own >= 0 && is_told(b, i, own, square))) continue;
    b.left[atomicAdd(&b.count[1], 1u)] = (int32_t)i;
  }
}

extern "C" cudaError_t gb_cuda_look_at (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                                        cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, TOGETHER, groups);
  if (p->f64) GB_LAUNCH((look_at<double>), blocks, THREADS, 0, s, *p, *b);
  else GB_LAUNCH((look_at<float>), blocks, THREADS, 0, s, *p, *b);
  return cudaGetLastError();
}

/* -- the nearest centre, and the least sum of another one */

template <class T> struct two_nearest {
  T apart[GB_TALL], second[GB_TALL];
  int32_t at[GB_TALL];
};

/* A sum that is not a number leaves no more than the least one for the second: bounds are never too tight. */
template <class T, class L>
static GB_DEVICE void find_two (const T (&sum)[GB_TALL][L::WIDTH], size_t first, two_nearest<T> *best) {
  const int across = (int)threadIdx.x % L::LANES;
  GB_UNROLL
  for (int m = 0; m < GB_TALL; m++) GB_UNROLL
  for (int n = 0; n < L::WIDTH; n++) {
    const T v = sum[m][n];
    best->second[m] = gb_lesser(best->second[m], gb_greater(v, best->apart[m]));
    best->at[m] = v < best->apart[m] ? (int32_t)first + gb_centre_of<L>(across, n) : best->at[m];
    best->apart[m] = gb_lesser(best->apart[m], v);
  }
}

template <class T, class L> static GB_DEVICE void share_two (two_nearest<T> *best) {
  GB_UNROLL
  for (int m = 0; m < GB_TALL; m++)
    for (int by = L::LANES / 2; by > 0; by /= 2) {
      const T apart = __shfl_xor_sync(~0u, best->apart[m], by);
      const T second = __shfl_xor_sync(~0u, best->second[m], by);
      const int32_t at = __shfl_xor_sync(~0u, best->at[m], by);
      const bool nearer = apart < best->apart[m] || (apart == best->apart[m] && at < best->at[m]);
      best->second[m] = gb_lesser(gb_lesser(best->second[m], second), gb_greater(best->apart[m], apart));
      best->apart[m] = nearer ? apart : best->apart[m];
      best->at[m] = nearer ? at : best->at[m];
    }
}

template <class T, class S, class L>
static __global__ void __launch_bounds__ (GB_TILE_THREADS, 1)
    compare(GB_PARAMETER gb_cuda_pass p, GB_PARAMETER gb_cuda_bounding b) {
  __shared__ typename L::slab slab[2];
  __shared__ int32_t list[L::ROWS];
  const size_t count = b.count[1];
  for (size_t first = (size_t)blockIdx.x * L::ROWS; first < count; first += (size_t)gridDim.x * L::ROWS) {
    const int left = count - first < L::ROWS ? (int)(count - first) : (int)L::ROWS;
    for (int e = (int)threadIdx.x; e < L::ROWS; e += GB_TILE_THREADS)
      list[e] = b.left[first + (size_t)(e < left ? e : 0)];
    __syncthreads();
    const auto r = gb_feed_listed<S, L>(p, list, left);
    two_nearest<T> best;
    GB_UNROLL
    for (int m = 0; m < GB_TALL; m++) best.apart[m] = best.second[m] = (T)INFINITY, best.at[m] = 0;
    for (size_t j = 0; j < p.k; j += L::CENTRES) {
      T sum[GB_TALL][L::WIDTH];
      gb_add_tile<T, S, L>(p, r, gb_feed_centres<T, L>(p, j), slab, sum);
      find_two<T, L>(sum, j, &best);
    }
    share_two<T, L>(&best);
    const int i0 = (int)threadIdx.x / L::LANES * GB_TALL;
    if (threadIdx.x % L::LANES == 0) GB_UNROLL
    for (int m = 0; m < GB_TALL; m++) {
      if (i0 + m >= left) continue;
      b.found[first + (size_t)(i0 + m)] = best.at[m];
      ((T *)b.second)[first + (size_t)(i0 + m)] = best.second[m];
    }
    __syncthreads(); /* the list is free */
  }
}

template <class T, class S, class L> struct comparison {
  static void start (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups, cudaStream_t s) {
    GB_LAUNCH((compare<T, S, L>), gb_cuda_blocks(p, L::ROWS, groups), GB_TILE_THREADS, 0, s, *p, *b);
  }
};

extern "C" cudaError_t gb_cuda_compare (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                                        cudaStream_t s) {
  gb_start_tiles<comparison>(p, b, groups, s);
  return cudaGetLastError();
}

/* -- their bounds, labels and sums; 16 threads share a point */

/* own: |x - c|^2 of the nearest centre; square: |x|^2. */
static GB_DEVICE void set_bounds (const gb_cuda_bounding &b, size_t i, double own, double square,
                                  double second) {
  const double gap = b.spare * (b.reach + square) + b.tiny, root = sqrt(fmax(0.0, second + square - gap));
  b.upper[i] = (float)((sqrt(own) * (1 + 0x1p-20) + 0x1p-100) * (1 + 0x1p-22));
  b.lower[i] = (float)fmin(0x1p60, root * (1 - 0x1p-20) - 0x1p-100);
}

template <class T>
static __global__ void settle (GB_PARAMETER gb_cuda_pass p, GB_PARAMETER gb_cuda_bounding b, unsigned near) {
  __shared__ int moved;
  GB_SHARED_ROOM(int64_t, room);
  int64_t *sums = gb_open_sums(p, near, room);
  const size_t n = b.count[1];
  if (threadIdx.x == 0) moved = 0;
  __syncthreads();
  for (size_t e0 = (size_t)blockIdx.x * TOGETHER; e0 < n; e0 += (size_t)gridDim.x * TOGETHER) {
    const size_t e = e0 + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const bool there = e < n;
    const size_t i = there ? (size_t)b.left[e] : 0;
    const int32_t to = there ? b.found[e] : 0;
    const double own = gb_square_apart<T>(p, i, there, gb_ranked<T>(p, (size_t)to));
    const double square = gb_square_apart<T>(p, i, there, [] (size_t) { return 0.0; });
    const int32_t from = __shfl_sync(~0u, there && lane == 0 ? p.label[i] : 0, 0, LANES);
    if (!there) continue;
    for (size_t t = lane; from != to && t <= p.d; t += LANES)
      gb_move_feature<gb_any<T>>(p, i, t, from, to, sums);
    if (lane != 0) continue;
    set_bounds(b, i, own, square, (double)((const T *)b.second)[e]);
    if (from != to) p.label[i] = to, atomicAdd(&moved, 1);
  }
  gb_close_sums(p, near, room);
  if (threadIdx.x == 0 && moved > 0) atomicAdd(&p.tally->moved, (unsigned long long)moved);
}

extern "C" cudaError_t gb_cuda_settle (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                                       cudaStream_t s) {
  const unsigned blocks = gb_cuda_blocks(p, TOGETHER, groups);
  const size_t near = gb_cuda_near_sums(p), bytes = near * sizeof(int64_t);
  if (p->f64) GB_LAUNCH((settle<double>), blocks, THREADS, bytes, s, *p, *b, (unsigned)near);
  else GB_LAUNCH((settle<float>), blocks, THREADS, bytes, s, *p, *b, (unsigned)near);
  return cudaGetLastError();
}
