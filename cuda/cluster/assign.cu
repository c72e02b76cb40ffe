/* assign.cu - the nearest centres of points with many features. A thread block has a tile of points and goes through tiles of
** centres; both pass through shared memory, some features at a time, while the next ones are under way. A thread has TALL points and
** WIDE centres in registers: a chain of fused multiply-adds for each pair, features ascending. Of n k distances none is stored. */
#include "cuda/cluster/moves.cuh"
#include "cuda/cluster/tiles.cuh"

template <class T> struct nearest {
  T apart[GB_TALL];
  int32_t at[GB_TALL];
};

/* Of equally near ones the first stays. */
template <class T, class L>
static GB_DEVICE void find_nearest (const T (&sum)[GB_TALL][L::WIDTH], size_t first, nearest<T> *best) {
  const int across = (int)threadIdx.x % L::LANES;
  GB_UNROLL
  for (int m = 0; m < GB_TALL; m++) {
    T least = sum[m][0];
    GB_UNROLL
    for (int n = 1; n < L::WIDTH; n++) least = gb_lesser(least, sum[m][n]);
    if (!(least < best->apart[m])) continue;
    int at = 0;
    GB_UNROLL
    for (int n = L::WIDTH - 1; n >= 0; n--) at = sum[m][n] == least ? gb_centre_of<L>(across, n) : at;
    best->apart[m] = least;
    best->at[m] = (int32_t)first + at;
  }
}

/* Of all threads that share a point. */
template <class T, class L> static GB_DEVICE void share_nearest (nearest<T> *best) {
  GB_UNROLL
  for (int m = 0; m < GB_TALL; m++)
    for (int by = L::LANES / 2; by > 0; by /= 2) {
      const T apart = __shfl_xor_sync(~0u, best->apart[m], by);
      const int32_t at = __shfl_xor_sync(~0u, best->at[m], by);
      const bool nearer = apart < best->apart[m] || (apart == best->apart[m] && at < best->at[m]);
      best->apart[m] = nearer ? apart : best->apart[m];
      best->at[m] = nearer ? at : best->at[m];
    }
}

template <class T, class S, class L>
static __global__ void __launch_bounds__ (GB_TILE_THREADS, S::LEAST_BLOCKS)
    assign(GB_PARAMETER gb_cuda_pass p, unsigned near) {
  __shared__ typename L::slab slab[2];
  __shared__ int32_t from[L::ROWS], to[L::ROWS];
  __shared__ int moved;
  GB_SHARED_ROOM(int64_t, room);
  int64_t *sums = gb_open_sums(p, near, room);
  if (threadIdx.x == 0) moved = 0;
  __syncthreads();
  for (size_t first = (size_t)blockIdx.x * L::ROWS; first < p.n; first += (size_t)gridDim.x * L::ROWS) {
    const auto r = gb_feed_rows<S, L>(p, first);
    nearest<T> best;
    GB_UNROLL
    for (int m = 0; m < GB_TALL; m++) best.apart[m] = (T)INFINITY, best.at[m] = 0;
    for (size_t j = 0; j < p.k; j += L::CENTRES) {
      T sum[GB_TALL][L::WIDTH];
      gb_add_tile<T, S, L>(p, r, gb_feed_centres<T, L>(p, j), slab, sum);
      find_nearest<T, L>(sum, j, &best);
    }
    share_nearest<T, L>(&best);
    const int i0 = (int)threadIdx.x / L::LANES * GB_TALL;
    if (threadIdx.x % L::LANES == 0) GB_UNROLL
    for (int m = 0; m < GB_TALL; m++) {
      if (i0 + m >= r.left) continue;
      to[i0 + m] = best.at[m];
      if (gb_label_point(p, first + (size_t)(i0 + m), best.at[m], &from[i0 + m])) atomicAdd(&moved, 1);
    }
    __syncthreads();
    gb_move_points<gb_typed<T, S>, 32>(p, first, r.left, from, to, sums);
    __syncthreads();
  }
  gb_close_sums(p, near, room);
  if (threadIdx.x == 0 && moved > 0) atomicAdd(&p.tally->moved, (unsigned long long)moved);
}

template <class T, class S, class L> struct assignment {
  static void start (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
    const size_t near = gb_cuda_near_sums(p);
    GB_LAUNCH((assign<T, S, L>), gb_cuda_blocks(p, L::ROWS, groups), GB_TILE_THREADS, near * sizeof(int64_t),
              s, *p, (unsigned)near);
  }
};

extern "C" cudaError_t gb_cuda_assign_many (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  gb_start_tiles<assignment>(p, groups, s);
  return cudaGetLastError();
}
