/* assign.cu - the nearest centres of points with many features. A thread block has a tile of points and goes through tiles of
** centres; both pass through shared memory, some features at a time, while the next ones are under way. A thread has TALL points and
** WIDE centres in registers: a chain of fused multiply-adds for each pair, features ascending. Of n k distances none is stored. */
#include "cuda/cluster/moves.cuh"

enum { THREADS = 256, TALL = 8, SLAB = 8 };

template <class T> struct pack_of {
  enum { N = 16 / (int)sizeof(T) }; /* elements that are read together */
  struct alignas(16) type {
    T v[N];
  };
};

/* ACROSS threads share a point. */
template <class T, int WIDE, int ACROSS> struct shape_of {
  enum {
    PACK = pack_of<T>::N,
    WIDTH = WIDE,
    LANES = ACROSS,
    ROWS = THREADS / ACROSS * TALL,
    CENTRES = ACROSS * WIDE,
    PITCH = ROWS + PACK,    /* features of a point meet all banks */
    APART = THREADS / SLAB, /* points that a thread fetches */
    ROW_LOADS = ROWS / APART,
    PACKS = CENTRES * SLAB / PACK /* of a slab: one a thread, or none */
  };
  static_assert((int)PACKS <= (int)THREADS, "a slab of centres is one turn");
  /* Some features of a tile, in shared memory. */
  struct slab {
    T row[SLAB][PITCH];
    alignas(16) T centre[SLAB][CENTRES];
  };
  /* On its way there, in the registers of a thread. */
  struct load {
    T row[ROW_LOADS];
    typename pack_of<T>::type centre;
  };
};

/* What a thread fetches of points: one feature of a slab, of each APARTth. Threads go along what lies closer together. */
struct row_feed {
  size_t first;        /* point */
  const char *at;      /* in the first slab */
  int64_t apart, slab; /* bytes between points, and between slabs */
  int row, feature, left;
};

template <class S, class L> static GB_DEVICE row_feed feed_rows (const gb_cuda_pass &p, size_t first) {
  const int t = (int)threadIdx.x, size = S::size(p.dtype);
  const bool along = llabs(p.column) <= llabs(p.row);
  row_feed f;
  f.row = along ? t / SLAB : t % L::APART;
  f.feature = along ? t % SLAB : t / L::APART;
  f.first = first;
  f.left = p.n - first < L::ROWS ? (int)(p.n - first) : (int)L::ROWS;
  f.at = (const char *)p.at + ((int64_t)(first + (size_t)f.row) * p.row + f.feature * p.column) * size;
  f.apart = L::APART * p.row * size;
  f.slab = SLAB * p.column * size;
  return f;
}

/* Centres of a tile; 'square': their squared lengths. */
template <class T> struct centre_feed {
  const T *square, *at;
  int stride, left, feature, pack;
};

template <class T, class L>
static GB_DEVICE centre_feed<T> feed_centres (const gb_cuda_pass &p, size_t first) {
  const size_t count = (p.k + 3) / 4 * 4, before = first / GB_CUDA_PHALANX * GB_CUDA_PHALANX;
  const int e = (int)threadIdx.x * L::PACK;
  centre_feed<T> f;
  f.stride = count - before < GB_CUDA_PHALANX ? (int)(count - before) : (int)GB_CUDA_PHALANX;
  f.left = f.stride - (int)(first - before);
  f.feature = e / L::CENTRES;
  f.pack = e % L::CENTRES;
  f.square = (const T *)p.centres + before * (p.d + 1) + (first - before);
  f.at = f.square + (1 + f.feature) * f.stride + f.pack;
  return f;
}

/* Features of one slab: 'some' of them are there. The feeds go on to the next. */
template <class T, class S, class L>
static GB_DEVICE void fetch (const gb_cuda_pass &p, row_feed *r, centre_feed<T> *c, size_t feature, int some,
                             typename L::load *to) {
  const T shift = r->feature < some ? ((const T *)p.shift)[feature + (size_t)r->feature] : (T)0;
  const char *at = r->at;
  GB_UNROLL
  for (int i = 0; i < L::ROW_LOADS; i++, at += r->apart) {
    to->row[i] = 0;
    const int row = r->row + i * L::APART;
    if (r->feature < some && row < r->left)
      to->row[i] = S::take(p, r->first + (size_t)row, S::get(at, p.dtype)) - shift;
  }
  to->centre = {};
  if (c->feature < some && c->pack < c->left) to->centre = *(const typename pack_of<T>::type *)c->at;
  r->at += r->slab;
  c->at += SLAB * c->stride;
}

template <class T, class L>
static GB_DEVICE void put (const row_feed &r, const centre_feed<T> &c, const typename L::load &from,
                           typename L::slab *to) {
  GB_UNROLL
  for (int i = 0; i < L::ROW_LOADS; i++) to->row[r.feature][r.row + i * L::APART] = from.row[i];
  if (threadIdx.x < L::PACKS) *(typename pack_of<T>::type *)&to->centre[c.feature][c.pack] = from.centre;
}

/* Number of a thread's n-th centre in a tile: ascending. */
template <class L> static GB_DEVICE int centre_of (int across, int n) {
  return n / L::PACK * (L::CENTRES / (L::WIDTH / L::PACK)) + across * L::PACK + n % L::PACK;
}

/* One feature of all pairs of a thread. */
template <class T, class L>
static GB_DEVICE void add_feature (const typename L::slab &s, int t, int down, int across,
                                   T (&sum)[TALL][L::WIDTH]) {
  typedef typename pack_of<T>::type pack;
  pack x[TALL / L::PACK], c[L::WIDTH / L::PACK];
  GB_UNROLL
  for (int i = 0; i < TALL / L::PACK; i++) x[i] = *(const pack *)&s.row[t][down * TALL + i * L::PACK];
  GB_UNROLL
  for (int i = 0; i < L::WIDTH / L::PACK; i++)
    c[i] = *(const pack *)&s.centre[t][centre_of<L>(across, i * L::PACK)];
  GB_UNROLL
  for (int m = 0; m < TALL; m++) GB_UNROLL
  for (int n = 0; n < L::WIDTH; n++)
    sum[m][n] = gb_fused(x[m / L::PACK].v[m % L::PACK], c[n / L::PACK].v[n % L::PACK], sum[m][n]);
}

/* All features of a tile of centres; at the end nobody reads the slabs any more. */
template <class T, class S, class L>
static GB_DEVICE void add_tile (const gb_cuda_pass &p, row_feed r, centre_feed<T> c,
                                typename L::slab (&slab)[2], T (&sum)[TALL][L::WIDTH]) {
  const int across = (int)threadIdx.x % L::LANES, down = (int)threadIdx.x / L::LANES;
  typename L::load next;
  GB_UNROLL
  for (int n = 0; n < L::WIDTH; n++) {
    const int j = centre_of<L>(across, n);
    const T square = j < c.left ? c.square[j] : (T)INFINITY;
    GB_UNROLL
    for (int m = 0; m < TALL; m++) sum[m][n] = square;
  }
  size_t feature = 0;
  int some = p.d < SLAB ? (int)p.d : (int)SLAB, turn = 0;
  fetch<T, S, L>(p, &r, &c, 0, some, &next);
  put<T, L>(r, c, next, &slab[0]);
  __syncthreads();
  for (; feature + SLAB < p.d; turn ^= 1) {
    feature += SLAB;
    some = p.d - feature < SLAB ? (int)(p.d - feature) : (int)SLAB;
    fetch<T, S, L>(p, &r, &c, feature, some, &next);
    GB_UNROLL
    for (int t = 0; t < SLAB; t++) add_feature<T, L>(slab[turn], t, down, across, sum);
    put<T, L>(r, c, next, &slab[turn ^ 1]);
    __syncthreads();
  }
  GB_ROLLED
  for (int t = 0; t < some; t++) add_feature<T, L>(slab[turn], t, down, across, sum);
  __syncthreads();
}

template <class T> struct nearest {
  T apart[TALL];
  int32_t at[TALL];
};

/* Of equally near ones the first stays. */
template <class T, class L>
static GB_DEVICE void find_nearest (const T (&sum)[TALL][L::WIDTH], size_t first, nearest<T> *best) {
  const int across = (int)threadIdx.x % L::LANES;
  GB_UNROLL
  for (int m = 0; m < TALL; m++) {
    T least = sum[m][0];
    GB_UNROLL
    for (int n = 1; n < L::WIDTH; n++) least = gb_lesser(least, sum[m][n]);
    if (!(least < best->apart[m])) continue;
    int at = 0;
    GB_UNROLL
    for (int n = L::WIDTH - 1; n >= 0; n--) at = sum[m][n] == least ? centre_of<L>(across, n) : at;
    best->apart[m] = least;
    best->at[m] = (int32_t)first + at;
  }
}

/* Of all threads that share a point. */
template <class T, class L> static GB_DEVICE void share_nearest (nearest<T> *best) {
  GB_UNROLL
  for (int m = 0; m < TALL; m++)
    for (int by = L::LANES / 2; by > 0; by /= 2) {
      const T apart = __shfl_xor_sync(~0u, best->apart[m], by);
      const int32_t at = __shfl_xor_sync(~0u, best->at[m], by);
      const bool nearer = apart < best->apart[m] || (apart == best->apart[m] && at < best->at[m]);
      best->apart[m] = nearer ? apart : best->apart[m];
      best->at[m] = nearer ? at : best->at[m];
    }
}

template <class T, class S, class L>
static __global__ void __launch_bounds__ (THREADS, S::LEAST_BLOCKS)
    assign(GB_PARAMETER gb_cuda_pass p, unsigned near) {
  __shared__ typename L::slab slab[2];
  __shared__ int32_t from[L::ROWS], to[L::ROWS];
  __shared__ int moved;
  GB_SHARED_ROOM(int64_t, room);
  int64_t *sums = gb_open_sums(p, near, room);
  if (threadIdx.x == 0) moved = 0;
  __syncthreads();
  for (size_t first = (size_t)blockIdx.x * L::ROWS; first < p.n; first += (size_t)gridDim.x * L::ROWS) {
    const row_feed r = feed_rows<S, L>(p, first);
    nearest<T> best;
    GB_UNROLL
    for (int m = 0; m < TALL; m++) best.apart[m] = (T)INFINITY, best.at[m] = 0;
    for (size_t j = 0; j < p.k; j += L::CENTRES) {
      T sum[TALL][L::WIDTH];
      add_tile<T, S, L>(p, r, feed_centres<T, L>(p, j), slab, sum);
      find_nearest<T, L>(sum, j, &best);
    }
    share_nearest<T, L>(&best);
    const int i0 = (int)threadIdx.x / L::LANES * TALL;
    if (threadIdx.x % L::LANES == 0) GB_UNROLL
    for (int m = 0; m < TALL; m++) {
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

template <class T, class S, class L>
static void start (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const size_t near = gb_cuda_near_sums(p);
  GB_LAUNCH((assign<T, S, L>), gb_cuda_blocks(p, L::ROWS, groups), THREADS, near * sizeof(int64_t), s, *p,
            (unsigned)near);
}

template <class T, class L> static void start_as (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  if (p->unit != NULL) start<T, gb_divided<T>, L>(p, groups, s);
  else if (gb_is_plain(p)) start<T, gb_plain<T>, L>(p, groups, s);
  else start<T, gb_other<T>, L>(p, groups, s);
}

extern "C" cudaError_t gb_cuda_assign_many (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  const bool few = p->k <= 32;
  if (p->f64 && few) start_as<double, shape_of<double, 4, 8>>(p, groups, s);
  else if (p->f64) start_as<double, shape_of<double, 4, 16>>(p, groups, s);
  else if (few) start_as<float, shape_of<float, 4, 8>>(p, groups, s);
  else if (p->k <= 64) start_as<float, shape_of<float, 8, 8>>(p, groups, s);
  else start_as<float, shape_of<float, 8, 16>>(p, groups, s);
  return cudaGetLastError();
}
