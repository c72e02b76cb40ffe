/* walk.cuh - the walks of a fold as kernels, templates over the arithmetic A: each makes chains, or stores elements. A
** thread block takes units of work from a grid of any size; where a chain lies depends on its number alone. */
#ifndef GB_CUDA_FOLD_WALK_CUH
#define GB_CUDA_FOLD_WALK_CUH

#include "cuda/fold/chains.cuh"

/* Chains that a launch makes of the first so many units' elements. */
template <class A> GB_DEVICE gb_frame<A> gb_enter (const gb_cuda_program *p, char *shared) {
  gb_frame<A> f;
  typedef typename A::real T;
  const size_t bytes = (size_t)p->nregs * W * GB_CUDA_BLOCK * sizeof(T);
  f.p = p;
  f.registers = (T *)(p->registers == NULL ? shared : p->registers + blockIdx.x * bytes) + threadIdx.x;
  for (int a = 0; a < GB_FOLD_AXES; a++) f.idx[a] = 0;
  for (int w = 0; w < W; w++) f.lane[w] = f.tile[w] = 0;
  return f;
}

/* OUTER indices of a combination of kept axes; row-major. */
template <class A> GB_DEVICE void gb_locate (gb_frame<A> &f, size_t combination) {
  for (int a = f.p->naxes - 1; a >= 0; a--) {
    if (f.p->reduced >> a & 1) f.idx[a] = f.p->index[a];
    if (!(f.p->kept >> a & 1)) continue;
    f.idx[a] = combination % f.p->extent[a];
    combination /= f.p->extent[a];
  }
}

/* The index, or the last one before the end. */
GB_INLINE size_t gb_within (size_t i, size_t end) { return end == 0 ? 0 : gb_least(i, end - 1); }

struct gb_no_sink {
  template <class F> GB_DEVICE void take (F &, const gb_cuda_out &, int) {}
};

/* -- ROW: sums over TILE, a chunk at a time. A thread has four rows of a block of 64. */

template <class A> struct gb_row_sink {
  gb_chains<A> c;
  size_t j; /* TILE index within the chunk */

  GB_DEVICE void take (gb_frame<A> &f, const gb_cuda_out &o, int value) {
    const int slot = gb_slot(f, o);
    switch (o.how) {
      case GB_CUDA_CONTRACT: c.contract(f, o, slot, value, o.rows); break;
      case GB_CUDA_DIFF: c.diff(f, o, slot, value, o.lanes, o.rows); break;
      case GB_CUDA_PRODUCT: c.multiply(f, o, value, o.x); break;
      case GB_CUDA_LSE: c.hold(f, o, slot, value, (int)(j % GB_TJ)); break;
      case GB_CUDA_SELECT: c.select(f, o, slot, value); break;
      default: c.chain_value(f, o, slot, value);
    }
  }
};

template <class A> GB_DEVICE void gb_walk_rows (gb_frame<A> &f, size_t unit, size_t chunk) {
  const gb_cuda_program *p = f.p;
  const size_t rows = unit % p->per * GB_CUDA_ROWS, block = rows + (size_t)gb_half() * GB_TI;
  gb_no_sink none;
  gb_row_sink<A> sink;
  gb_locate(f, unit / p->per);
  sink.c.along_lane = false;
  sink.c.held = GB_TJ;
  sink.c.part = chunk;
  for (int w = 0; w < W; w++) {
    const size_t lane = block + (size_t)gb_virtual_lane() + (size_t)w * GB_LANES;
    sink.c.valid[w] = lane < p->nlane;
    sink.c.element[w] = (unit - p->unit) * GB_CUDA_ROWS + lane - rows;
    f.lane[w] = gb_within(lane, p->nlane);
  }
  size_t from = (gb_first_super(p) * (GB_SUPER / GB_CANON) + p->part + chunk) * GB_CANON;
  const size_t first = from, to = gb_least(from + GB_CANON, p->ntile);
  if (p->symmetric && from < block) from = block;
  for (int w = 0; w < W; w++) f.tile[w] = gb_within(from, p->ntile);
  gb_run(f, GB_CUDA_ONCE, none);
  gb_run(f, GB_CUDA_LANE, none);
  sink.c.begin(f);
  for (size_t j = from; j < to; j++) {
    for (int w = 0; w < W; w++) f.tile[w] = j;
    sink.j = j - first;
    gb_run(f, GB_CUDA_TILE, none);
    gb_run(f, GB_CUDA_FULL, sink);
    if (sink.j % GB_TJ == GB_TJ - 1 || j + 1 == to) sink.c.absorb_held(f, (int)(sink.j % GB_TJ) + 1);
  }
  for (int w = 0; w < W; w++) sink.c.write(f, w);
}

template <class A> __global__ void gb_rows (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  GB_SHARED_ROOM(char, shared);
  gb_frame<A> f = gb_enter<A>(p, shared);
  for (size_t k = blockIdx.x; k < p->units * p->parts; k += gridDim.x)
    gb_walk_rows(f, p->unit + k / p->parts, k % p->parts);
}

/* -- COL: sums over LANE, a super-tile at a time. A half-warp is the 16 virtual lanes of four columns. */

template <class A> struct gb_column_sink {
  gb_chains<A> c;
  bool mirrored;
  int n; /* element of the group that LSE takes at once */

  GB_DEVICE void take (gb_frame<A> &f, const gb_cuda_out &o, int value) {
    const int slot = gb_slot(f, o);
    switch (o.how) {
      case GB_CUDA_CONTRACT: c.contract(f, o, slot, value, o.lanes); break;
      case GB_CUDA_DIFF: c.diff(f, o, slot, value, o.rows, o.lanes); break;
      case GB_CUDA_PRODUCT: c.multiply(f, o, value, o.x); break;
      case GB_CUDA_LSE: c.hold(f, o, slot, value, n); break;
      case GB_CUDA_SELECT: c.select(f, o, slot, value); break;
      default: c.chain_value(f, o, slot, value);
    }
  }
};

/* The chains of the virtual lanes as one, written by lane 0. */
template <class A> GB_CALLED void gb_join_columns (gb_frame<A> &f, const gb_chains<A> &c, int n) {
  for (int q = 0; q < f.p->nouts; q++) {
    const gb_cuda_out &o = gb_out_of(f.p, q);
    for (int k = 0; k < o.slots * o.cols; k++)
      for (int w = 0; w < W; w++) {
        double pair[2] = {0, 0};
        typename A::real v = 0;
        if (o.how != GB_CUDA_LSE) v = gb_tree<A>(gb_monoid_of(o), f.at(o.acc + k, w));
        else if (f.p->strip) gb_tree_of_held(f, o.held + k * c.held, n, 1, pair);
        else gb_tree_of_pairs<A>(f.at(o.acc + 2 * k, w), f.at(o.acc + 2 * k + 1, w), pair);
        if (gb_virtual_lane() != 0) continue;
        const gb_cuda_words to = gb_chain_words(f.p, o, k, c.part, c.element[w]);
        if (o.how != GB_CUDA_LSE) to[0] = gb_as_word(v);
        else to[0].f = pair[0], to[1].f = pair[1];
      }
  }
}

/* Columns from 'column' on, of the lanes of a super-tile. 'element': the number in the panel of the first of them; part:
** of their chains. */
template <class A>
GB_DEVICE void gb_walk_columns (gb_frame<A> &f, size_t unit, size_t column, size_t element, size_t super,
                                size_t part) {
  const gb_cuda_program *p = f.p;
  gb_no_sink none;
  gb_column_sink<A> sink;
  gb_locate(f, unit / p->per);
  const size_t first = column + (size_t)gb_half() * W, from = super * GB_SUPER;
  size_t to = gb_least(from + GB_SUPER, p->nlane);
  if (p->reach == GB_CUDA_MIRROR) to = gb_least(to, first / GB_TI * GB_TI);
  sink.c.along_lane = false;
  sink.c.held = p->strip ? GB_SUPER / GB_LANES : W;
  sink.c.part = p->lists ? part * GB_LANES + (size_t)gb_virtual_lane() : part;
  for (int w = 0; w < W; w++) {
    sink.c.valid[w] = first + (size_t)w < p->ntile;
    sink.c.element[w] = element + (size_t)gb_half() * W + (size_t)w;
    f.tile[w] = gb_within(first + (size_t)w, p->ntile);
    f.lane[w] = gb_within(from, p->nlane);
  }
  gb_run(f, GB_CUDA_ONCE, none);
  gb_run(f, GB_CUDA_TILE, none);
  sink.c.begin(f);
  sink.n = 0;
  for (size_t i = from + (size_t)gb_virtual_lane(); i < to; i += GB_LANES) {
    for (int w = 0; w < W; w++) f.lane[w] = i;
    gb_run(f, GB_CUDA_LANE, none);
    gb_run(f, GB_CUDA_FULL, sink);
    sink.n++;
    if (!p->strip && (sink.n == W || i + GB_LANES >= to)) {
      sink.c.absorb_held(f, sink.n);
      sink.n = 0;
    }
  }
  if (!p->lists) gb_join_columns(f, sink.c, sink.n);
}

template <class A> __global__ void gb_columns (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  GB_SHARED_ROOM(char, shared);
  gb_frame<A> f = gb_enter<A>(p, shared);
  const bool mirror = p->reach == GB_CUDA_MIRROR;
  const size_t supers = mirror ? p->mirrors : p->lists ? p->parts / GB_LANES : p->parts;
  const size_t groups = mirror ? GB_CUDA_ROWS / GB_CUDA_COLUMNS : 1; /* of columns in a unit */
  const size_t units = mirror ? p->wide : p->units, first = mirror ? gb_first_super(p) : 0;
  for (size_t k = blockIdx.x; k < units * groups * supers; k += gridDim.x) {
    const size_t n = k / supers, unit = p->unit + n / groups, group = n % groups * GB_CUDA_COLUMNS;
    if (mirror && first + k % supers > unit % p->per) continue;
    gb_walk_columns(f, unit, unit % p->per * p->each + group, (unit - p->unit) * p->each + group,
                    first + k % supers, k % supers);
  }
}

/* -- ALL: sums over tiles of 64 LANE and 16 TILE indices, one after another along TILE. A half-warp has a block of lanes. */

template <class A> struct gb_all_sink {
  gb_chains<A> c;
  bool second; /* a mirrored tile once more: products with the operand of the other side */
  int n;

  GB_DEVICE void take (gb_frame<A> &f, const gb_cuda_out &o, int value) {
    const int slot = gb_slot(f, o);
    const bool product = o.how == GB_CUDA_PRODUCT;
    if (product) c.multiply(f, o, value, second && o.y >= 0 ? o.y : o.x);
    else if (o.how == GB_CUDA_LSE) c.hold(f, o, slot, value, n);
    else if (o.how == GB_CUDA_SELECT) c.select(f, o, slot, value);
    else c.chain_value(f, o, slot, value);
  }
};

/* The chains of a tile into the total of the block, which lane 0 keeps where the chain of the block lies. */
template <class A> GB_CALLED void gb_absorb_tile (gb_frame<A> &f, const gb_all_sink<A> &sink, bool mirrored) {
  const gb_chains<A> &c = sink.c;
  const int n = sink.n;
  for (int q = 0; q < f.p->nouts; q++) {
    const gb_cuda_out &o = gb_out_of(f.p, q);
    if (sink.second && o.how != GB_CUDA_PRODUCT) continue;
    for (int k = 0; k < o.slots; k++) {
      double pair[2] = {0, 0};
      typename A::real v = 0;
      if (o.how == GB_CUDA_LSE) gb_tree_of_held(f, o.held + k * c.held, n, W, pair);
      else v = gb_tree<A>(gb_monoid_of(o), f.at(o.acc + k, 0));
      if (gb_virtual_lane() != 0) continue;
      gb_cuda_word from[2] = {gb_as_word(v), gb_as_word(0.0)};
      if (o.how == GB_CUDA_LSE) from[0].f = pair[0], from[1].f = pair[1];
      const gb_cuda_words total = gb_chain_words(f.p, o, k, c.part, c.element[0]);
      gb_absorb<A>(o, total, gb_cuda_words{from, 1});
      if (mirrored && o.how == GB_CUDA_CHAIN) gb_absorb<A>(o, total, gb_cuda_words{from, 1});
    }
  }
}

template <class A>
GB_DEVICE void gb_walk_tile (gb_frame<A> &f, gb_all_sink<A> &sink, size_t from, size_t to) {
  gb_no_sink none;
  if (!f.p->lists) sink.c.begin(f);
  sink.n = 0;
  for (size_t j = from; j < to; j++, sink.n++) {
    for (int w = 0; w < W; w++) f.tile[w] = j;
    gb_run(f, GB_CUDA_TILE, none);
    gb_run(f, GB_CUDA_FULL, sink);
  }
}

GB_INLINE bool gb_has_products (const gb_cuda_program *p) {
  for (int q = 0; q < p->nouts; q++)
    if (gb_out_of(p, q).how == GB_CUDA_PRODUCT) return true;
  return false;
}

template <class A> GB_DEVICE void gb_walk_block (gb_frame<A> &f, size_t unit, size_t block) {
  const gb_cuda_program *p = f.p;
  const size_t lanes = block * GB_TI;
  gb_no_sink none;
  gb_all_sink<A> sink;
  gb_locate(f, unit);
  sink.c.along_lane = true;
  sink.c.held = GB_TJ;
  sink.c.part = p->lists ? block * GB_LANES + (size_t)gb_virtual_lane() : block;
  for (int w = 0; w < W; w++) {
    const size_t lane = lanes + (size_t)gb_virtual_lane() + (size_t)w * GB_LANES;
    sink.c.valid[w] = lane < p->nlane;
    sink.c.element[w] = unit - p->unit;
    f.lane[w] = gb_within(lane, p->nlane);
    f.tile[w] = 0;
  }
  gb_run(f, GB_CUDA_ONCE, none);
  gb_run(f, GB_CUDA_LANE, none);
  for (int q = 0; q < p->nouts; q++)
    for (int k = 0; k < gb_out_of(p, q).slots && (p->lists || gb_virtual_lane() == 0); k++)
      gb_identity<A>(gb_out_of(p, q), gb_chain_words(p, gb_out_of(p, q), k, sink.c.part, unit - p->unit));
  for (size_t j = p->symmetric ? lanes : 0; j < p->ntile; j += GB_TJ) {
    const bool mirrored = p->symmetric && j >= lanes + GB_TI;
    for (int side = 0; side < (mirrored && gb_has_products(p) ? 2 : 1); side++) {
      sink.second = side == 1;
      gb_walk_tile(f, sink, j, gb_least(j + GB_TJ, p->ntile));
      if (!p->lists) gb_absorb_tile(f, sink, mirrored);
    }
  }
}

template <class A> __global__ void gb_all (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  GB_SHARED_ROOM(char, shared);
  gb_frame<A> f = gb_enter<A>(p, shared);
  const size_t blocks = p->lists ? p->parts / GB_LANES : p->parts,
               groups = (blocks + GB_CUDA_HALVES - 1) / GB_CUDA_HALVES;
  for (size_t k = blockIdx.x; k < p->units * groups; k += gridDim.x) {
    const size_t block = k % groups * GB_CUDA_HALVES + (size_t)gb_half();
    if (block < blocks) gb_walk_block(f, p->unit + k / groups, block);
  }
}

/* -- KEEP: elements that are stored, or enter totals of their own. A unit is 512 lanes of one TILE index. */

template <class A> struct gb_keep_sink {
  gb_chains<A> c;

  GB_DEVICE gb_cuda_words total (gb_frame<A> &f, const gb_cuda_out &o, int slot, int w) const {
    const size_t count = f.p->totals_count;
    return gb_cuda_words{f.p->totals + (o.first + (size_t)(slot * o.words)) * count + c.element[w], count};
  }
  GB_DEVICE void enter (gb_frame<A> &f, const gb_cuda_out &o, int slot, int w, typename A::real v) const {
    const gb_cuda_words to = total(f, o, slot, w);
    if (f.p->first) gb_identity<A>(o, to);
    gb_absorb_value<A>(o, to, v, gb_position(f, o, w));
  }
  GB_DEVICE void store (gb_frame<A> &f, const gb_cuda_out &o, int value) const {
    const int64_t at = gb_shared_index(f, o.offset, o.stride);
    for (int w = 0; w < W; w++)
      if (c.valid[w]) gb_put(o.at, o.dtype, at + gb_own_index(f, o.stride, w), f.at(value, w));
  }
  GB_DEVICE void multiply (gb_frame<A> &f, const gb_cuda_out &o, int value) const {
    const size_t n = o.axis < 0 ? 1 : f.p->extent[o.axis];
    for (size_t q = 0; q < n; q++) {
      if (o.axis >= 0) f.idx[o.axis] = q;
      for (int w = 0; w < W; w++)
        if (c.valid[w]) enter(f, o, gb_slot(f, o), w, A::mul(f.at(value, w), gb_factor(f, o, o.x, w)));
    }
    if (o.axis >= 0) f.idx[o.axis] = 0;
  }
  GB_DEVICE void take (gb_frame<A> &f, const gb_cuda_out &o, int value) {
    if (o.how == GB_CUDA_STORE) store(f, o, value);
    else if (o.how == GB_CUDA_PRODUCT) multiply(f, o, value);
    else
      for (int w = 0; w < W; w++)
        if (c.valid[w]) enter(f, o, gb_slot(f, o), w, f.at(value, w));
  }
};

template <class A> GB_DEVICE void gb_walk_elements (gb_frame<A> &f, size_t unit) {
  const gb_cuda_program *p = f.p;
  const size_t n = unit % p->per, wide = (p->nlane + GB_CUDA_ROWS - 1) / GB_CUDA_ROWS;
  const size_t lanes = n % wide * GB_CUDA_ROWS, block = lanes + (size_t)gb_half() * GB_TI;
  gb_no_sink none;
  gb_keep_sink<A> sink;
  gb_locate(f, unit / p->per);
  for (int w = 0; w < W; w++) {
    const size_t lane = block + (size_t)gb_virtual_lane() + (size_t)w * GB_LANES;
    sink.c.valid[w] = lane < p->nlane;
    sink.c.element[w] = unit * p->each + lane - lanes - p->totals_first;
    f.lane[w] = gb_within(lane, p->nlane);
    f.tile[w] = n / wide;
  }
  gb_run(f, GB_CUDA_ONCE, none);
  gb_run(f, GB_CUDA_LANE, none);
  gb_run(f, GB_CUDA_TILE, none);
  gb_run(f, GB_CUDA_FULL, sink);
}

template <class A> __global__ void gb_elements (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  GB_SHARED_ROOM(char, shared);
  gb_frame<A> f = gb_enter<A>(p, shared);
  for (size_t k = blockIdx.x; k < p->units; k += gridDim.x) gb_walk_elements(f, p->unit + k);
}

#endif
