/* tiles.cuh - points and centres with many features, compared in tiles: see assign.cu. */
#ifndef GB_CUDA_CLUSTER_TILES_CUH
#define GB_CUDA_CLUSTER_TILES_CUH

#include "cuda/cluster/points.cuh"

enum { GB_TILE_THREADS = 256, GB_TALL = 8 /* points of a thread */, GB_SLAB = 8 /* features at a time */ };

template <class T> struct gb_pack_of {
  enum { N = 16 / (int)sizeof(T) }; /* elements that are read together */
  struct alignas(16) type {
    T v[N];
  };
};

/* ACROSS threads share a point. */
template <class T, int WIDE, int ACROSS> struct gb_tile_shape {
  enum {
    PACK = gb_pack_of<T>::N,
    WIDTH = WIDE,
    LANES = ACROSS,
    ROWS = GB_TILE_THREADS / ACROSS * GB_TALL,
    CENTRES = ACROSS * WIDE,
    PITCH = ROWS + PACK,               /* features of a point meet all banks */
    APART = GB_TILE_THREADS / GB_SLAB, /* points that a thread fetches */
    ROW_LOADS = ROWS / APART,
    PACKS = CENTRES * GB_SLAB / PACK /* of a slab: one a thread, or none */
  };
  static_assert((int)PACKS <= (int)GB_TILE_THREADS, "a slab of centres is one turn");
  /* Some features of a tile, in shared memory. */
  struct slab {
    T row[GB_SLAB][PITCH];
    alignas(16) T centre[GB_SLAB][CENTRES];
  };
  /* On its way there, in the registers of a thread. */
  struct load {
    T row[ROW_LOADS];
    typename gb_pack_of<T>::type centre;
  };
};

/* What a thread fetches of points: one feature of a slab, of each APARTth from 'row' on. Threads go along what lies closer together. */
struct gb_row_feed {
  const char *at; /* in the first slab */
  int64_t slab;   /* bytes between slabs */
  int row, feature, left;
};

template <class S, class L>
static GB_DEVICE gb_row_feed gb_feed_features (const gb_cuda_pass &p, size_t left) {
  const int t = (int)threadIdx.x, size = S::size(p.dtype);
  const bool along = llabs(p.column) <= llabs(p.row);
  gb_row_feed f;
  f.row = along ? t / GB_SLAB : t % L::APART;
  f.feature = along ? t % GB_SLAB : t / L::APART;
  f.left = left < L::ROWS ? (int)left : (int)L::ROWS;
  f.at = (const char *)p.at + f.feature * p.column * size;
  f.slab = GB_SLAB * p.column * size;
  return f;
}

/* Points in order, from 'first' on. */
template <class L> struct gb_feed_in_order : gb_row_feed {
  size_t first;
  int64_t apart; /* bytes between the points that a thread fetches */
  GB_DEVICE const char *place (int i, const char *before) const { return i == 0 ? at : before + apart; }
  GB_DEVICE size_t point (int i) const { return first + (size_t)(row + i * L::APART); }
};

template <class S, class L>
static GB_DEVICE gb_feed_in_order<L> gb_feed_rows (const gb_cuda_pass &p, size_t first) {
  gb_feed_in_order<L> f;
  static_cast<gb_row_feed &>(f) = gb_feed_features<S, L>(p, p.n - first);
  f.first = first;
  f.at += (int64_t)(first + (size_t)f.row) * p.row * S::size(p.dtype);
  f.apart = L::APART * p.row * S::size(p.dtype);
  return f;
}

/* Points of a list in shared memory, which is full. */
template <class L> struct gb_feed_of_list : gb_row_feed {
  const int32_t *list;
  int64_t step; /* bytes between points */
  GB_DEVICE const char *place (int i, const char *) const { return at + list[row + i * L::APART] * step; }
  GB_DEVICE size_t point (int i) const { return (size_t)list[row + i * L::APART]; }
};

template <class S, class L>
static GB_DEVICE gb_feed_of_list<L> gb_feed_listed (const gb_cuda_pass &p, const int32_t *list, int left) {
  gb_feed_of_list<L> f;
  static_cast<gb_row_feed &>(f) = gb_feed_features<S, L>(p, (size_t)left);
  f.list = list;
  f.step = p.row * S::size(p.dtype);
  return f;
}

/* Centres of a tile; 'square': their squared lengths. */
template <class T> struct gb_centre_feed {
  const T *square, *at;
  int stride, left, feature, pack;
};

template <class T, class L>
static GB_DEVICE gb_centre_feed<T> gb_feed_centres (const gb_cuda_pass &p, size_t first) {
  const size_t count = (p.k + 3) / 4 * 4, before = first / GB_CUDA_PHALANX * GB_CUDA_PHALANX;
  const int e = (int)threadIdx.x * L::PACK;
  gb_centre_feed<T> f;
  f.stride = count - before < GB_CUDA_PHALANX ? (int)(count - before) : (int)GB_CUDA_PHALANX;
  f.left = f.stride - (int)(first - before);
  f.feature = e / L::CENTRES;
  f.pack = e % L::CENTRES;
  f.square = (const T *)p.centres + before * (p.d + 1) + (first - before);
  f.at = f.square + (1 + f.feature) * f.stride + f.pack;
  return f;
}

/* Features of one slab: 'some' of them are there. The feeds go on to the next. */
template <class T, class S, class L, class R>
static GB_DEVICE void gb_fetch_slab (const gb_cuda_pass &p, R *r, gb_centre_feed<T> *c, size_t feature,
                                     int some, typename L::load *to) {
  const T shift = r->feature < some ? ((const T *)p.shift)[feature + (size_t)r->feature] : (T)0;
  const char *at = NULL;
  GB_UNROLL
  for (int i = 0; i < L::ROW_LOADS; i++) {
    at = r->place(i, at);
    to->row[i] = 0;
    if (r->feature < some && r->row + i * L::APART < r->left)
      to->row[i] = S::take(p, r->point(i), S::get(at, p.dtype)) - shift;
  }
  to->centre = {};
  if (c->feature < some && c->pack < c->left) to->centre = *(const typename gb_pack_of<T>::type *)c->at;
  r->at += r->slab;
  c->at += GB_SLAB * c->stride;
}

template <class T, class L>
static GB_DEVICE void gb_put_slab (const gb_row_feed &r, const gb_centre_feed<T> &c,
                                   const typename L::load &from, typename L::slab *to) {
  GB_UNROLL
  for (int i = 0; i < L::ROW_LOADS; i++) to->row[r.feature][r.row + i * L::APART] = from.row[i];
  if (threadIdx.x < L::PACKS) *(typename gb_pack_of<T>::type *)&to->centre[c.feature][c.pack] = from.centre;
}

/* Number of a thread's n-th centre in a tile: ascending. */
template <class L> static GB_DEVICE int gb_centre_of (int across, int n) {
  return n / L::PACK * (L::CENTRES / (L::WIDTH / L::PACK)) + across * L::PACK + n % L::PACK;
}

/* One feature of all pairs of a thread. */
template <class T, class L>
static GB_DEVICE void gb_add_feature (const typename L::slab &s, int t, int down, int across,
                                      T (&sum)[GB_TALL][L::WIDTH]) {
  typedef typename gb_pack_of<T>::type pack;
  pack x[GB_TALL / L::PACK], c[L::WIDTH / L::PACK];
  GB_UNROLL
  for (int i = 0; i < GB_TALL / L::PACK; i++) x[i] = *(const pack *)&s.row[t][down * GB_TALL + i * L::PACK];
  GB_UNROLL
  for (int i = 0; i < L::WIDTH / L::PACK; i++)
    c[i] = *(const pack *)&s.centre[t][gb_centre_of<L>(across, i * L::PACK)];
  GB_UNROLL
  for (int m = 0; m < GB_TALL; m++) GB_UNROLL
  for (int n = 0; n < L::WIDTH; n++)
    sum[m][n] = gb_fused(x[m / L::PACK].v[m % L::PACK], c[n / L::PACK].v[n % L::PACK], sum[m][n]);
}

/* All features of a tile of centres; at the end nobody reads the slabs any more. */
template <class T, class S, class L, class R>
static GB_DEVICE void gb_add_tile (const gb_cuda_pass &p, R r, gb_centre_feed<T> c,
                                   typename L::slab (&slab)[2], T (&sum)[GB_TALL][L::WIDTH]) {
  const int across = (int)threadIdx.x % L::LANES, down = (int)threadIdx.x / L::LANES;
  typename L::load next;
  GB_UNROLL
  for (int n = 0; n < L::WIDTH; n++) {
    const int j = gb_centre_of<L>(across, n);
    const T square = j < c.left ? c.square[j] : (T)INFINITY;
    GB_UNROLL
    for (int m = 0; m < GB_TALL; m++) sum[m][n] = square;
  }
  size_t feature = 0;
  int some = p.d < GB_SLAB ? (int)p.d : (int)GB_SLAB, turn = 0;
  gb_fetch_slab<T, S, L>(p, &r, &c, 0, some, &next);
  gb_put_slab<T, L>(r, c, next, &slab[0]);
  __syncthreads();
  for (; feature + GB_SLAB < p.d; turn ^= 1) {
    feature += GB_SLAB;
    some = p.d - feature < GB_SLAB ? (int)(p.d - feature) : (int)GB_SLAB;
    gb_fetch_slab<T, S, L>(p, &r, &c, feature, some, &next);
    GB_UNROLL
    for (int t = 0; t < GB_SLAB; t++) gb_add_feature<T, L>(slab[turn], t, down, across, sum);
    gb_put_slab<T, L>(r, c, next, &slab[turn ^ 1]);
    __syncthreads();
  }
  GB_ROLLED
  for (int t = 0; t < some; t++) gb_add_feature<T, L>(slab[turn], t, down, across, sum);
  __syncthreads();
}

/* K<T, S, L>::start(p, ...) for the type, the rows and the number of centres of a pass. */
template <template <class, class, class> class K, class T, class L, class... A>
static void gb_start_for (const gb_cuda_pass *p, A... a) {
  if (p->unit != NULL) K<T, gb_divided<T>, L>::start(p, a...);
  else if (gb_is_plain(p)) K<T, gb_plain<T>, L>::start(p, a...);
  else K<T, gb_other<T>, L>::start(p, a...);
}

template <template <class, class, class> class K, class... A>
static void gb_start_tiles (const gb_cuda_pass *p, A... a) {
  const bool few = p->k <= 32;
  if (p->f64 && few) gb_start_for<K, double, gb_tile_shape<double, 4, 8>>(p, a...);
  else if (p->f64) gb_start_for<K, double, gb_tile_shape<double, 4, 16>>(p, a...);
  else if (few) gb_start_for<K, float, gb_tile_shape<float, 4, 8>>(p, a...);
  else if (p->k <= 64) gb_start_for<K, float, gb_tile_shape<float, 8, 8>>(p, a...);
  else gb_start_for<K, float, gb_tile_shape<float, 8, 16>>(p, a...);
}

#endif
