/* chains.cuh - what becomes of an emitted value: the chains of one thread, in registers, and the tree over virtual lanes. */
#ifndef GB_CUDA_FOLD_CHAINS_CUH
#define GB_CUDA_FOLD_CHAINS_CUH

#include "cuda/fold/totals.cuh"

/* Place of thread, half-warp and virtual lane within the block; and the threads of this half-warp. */
GB_INLINE int gb_half (void) { return (int)threadIdx.x / GB_LANES; }
GB_INLINE int gb_virtual_lane (void) { return (int)threadIdx.x % GB_LANES; }
GB_INLINE unsigned gb_half_mask (void) { return 0xffffu << (gb_half() % 2 * GB_LANES); }

GB_INLINE size_t gb_least (size_t a, size_t b) { return a < b ? a : b; }

/* Of a symmetric walk over rows: the super-tile at which its panel begins, and words of mirrored chains. */
GB_INLINE size_t gb_first_super (const gb_cuda_program *p) { return p->mirrors > 0 ? p->unit % p->per : 0; }
GB_INLINE size_t gb_mirrored_words (const gb_cuda_program *p) {
  return p->mirrors * p->words * p->wide * p->each;
}

/* The words of an output's chain number k, of one part and element of the panel; mirrored ones are the walk's MIRROR. */
GB_INLINE gb_cuda_words gb_chain_words (const gb_cuda_program *p, bool mirror, const gb_cuda_out &o, int k,
                                        size_t part, size_t element) {
  const size_t count = (mirror ? p->wide : p->units) * p->each;
  gb_cuda_word *const chains = p->chains + (mirror ? 0 : gb_mirrored_words(p));
  return gb_cuda_words{chains + (part * p->words + o.first + (size_t)(k * o.words)) * count + element, count};
}
GB_INLINE gb_cuda_words gb_chain_words (const gb_cuda_program *p, const gb_cuda_out &o, int k, size_t part,
                                        size_t element) {
  return gb_chain_words(p, p->reach == GB_CUDA_MIRROR, o, k, part, element);
}

/* What an output of how PRODUCT multiplies a value with: an operand, or its difference from a second one. */
template <class A>
GB_DEVICE typename A::real gb_factor (const gb_frame<A> &f, const gb_cuda_out &o, int operand, int w) {
  const typename A::real v = gb_element(f, gb_operand_of(f.p, operand), w);
  return o.kind == GB_OUT_DIFF ? A::sub(v, gb_element(f, gb_operand_of(f.p, o.y), w)) : v;
}

/* How the elements of a walk enter chains. The batch lies along LANE (rows) or along TILE (columns). */
template <class A> struct gb_chains {
  typedef typename A::real T;
  bool along_lane; /* all elements of the batch enter one chain: of a walk that reduces both axes */
  int held;        /* elements that LSE holds of each slot and element of the batch, in 'held' registers */
  bool valid[W];
  size_t part, element[W]; /* of lists: the list of this thread and each element of the batch */

  GB_CALLED void begin (gb_frame<A> &f) const {
    for (int n = 0; n < f.p->nouts; n++) {
      const gb_cuda_out &o = gb_out_of(f.p, n);
      for (int k = 0; k < o.slots * o.cols; k++)
        for (int w = 0; w < W; w++) begin_one(f, o, k, w);
    }
  }

  GB_DEVICE void begin_one (gb_frame<A> &f, const gb_cuda_out &o, int k, int w) const {
    if (o.how == GB_CUDA_SELECT) gb_identity<A>(o, gb_chain_words(f.p, o, k, part, element[w]));
    else if (o.how == GB_CUDA_LSE) {
      f.at(o.acc + 2 * k, w) = A::identity(GB_MAXIMUM);
      f.at(o.acc + 2 * k + 1, w) = 0;
    } else f.at(o.acc + k, w) = A::identity(gb_monoid_of(o));
  }

  /* Register of the chain that element w enters. */
  GB_DEVICE T &chain (gb_frame<A> &f, const gb_cuda_out &o, int k, int w) const {
    return f.at(o.acc + k, along_lane ? 0 : w);
  }

  GB_CALLED void contract (gb_frame<A> &f, const gb_cuda_out &o, int slot, int value, int operand) const {
    for (int c = 0; c < o.cols; c++) {
      if (o.axis >= 0) f.idx[o.axis] = (size_t)c;
      for (int w = 0; w < W; w++) {
        T &acc = chain(f, o, slot * o.cols + c, w);
        if (valid[w]) acc = A::fma(f.at(value, w), gb_element(f, gb_operand_of(f.p, operand), w), acc);
      }
    }
    if (o.axis >= 0) f.idx[o.axis] = 0;
  }

  /* Times a difference of points: along the axis that the output keeps, less along the one that it reduces. */
  GB_CALLED void diff (gb_frame<A> &f, const gb_cuda_out &o, int slot, int value, int kept, int other) const {
    for (int c = 0; c < o.cols; c++) {
      if (o.axis >= 0) f.idx[o.axis] = (size_t)c;
      for (int w = 0; w < W; w++) {
        T &acc = chain(f, o, slot * o.cols + c, w);
        const T d =
            A::sub(gb_element(f, gb_operand_of(f.p, kept), w), gb_element(f, gb_operand_of(f.p, other), w));
        if (valid[w]) acc = A::fma(f.at(value, w), d, acc);
      }
    }
    if (o.axis >= 0) f.idx[o.axis] = 0;
  }

  /* The product is rounded before it is added. */
  GB_CALLED void multiply (gb_frame<A> &f, const gb_cuda_out &o, int value, int operand) const {
    const size_t n = o.axis < 0 ? 1 : f.p->extent[o.axis];
    for (size_t q = 0; q < n; q++) {
      if (o.axis >= 0) f.idx[o.axis] = q;
      for (int w = 0; w < W; w++) {
        T &acc = chain(f, o, gb_slot(f, o), w);
        if (valid[w]) acc = A::add(acc, A::mul(f.at(value, w), gb_factor(f, o, operand, w)));
      }
    }
    if (o.axis >= 0) f.idx[o.axis] = 0;
  }

  GB_CALLED void chain_value (gb_frame<A> &f, const gb_cuda_out &o, int slot, int value) const {
    for (int w = 0; w < W; w++) {
      T &acc = chain(f, o, slot, w);
      if (valid[w]) acc = A::combine(gb_monoid_of(o), acc, f.at(value, w));
    }
  }

  GB_CALLED void select (gb_frame<A> &f, const gb_cuda_out &o, int slot, int value) const {
    for (int w = 0; w < W; w++)
      if (valid[w])
        gb_insert(gb_chain_words(f.p, o, slot, part, element[w]), o.words, gb_key(f.at(value, w), o.monoid),
                  gb_position(f, o, w));
  }

  /* Element number n of a group that LSE takes at once. */
  GB_DEVICE void hold (gb_frame<A> &f, const gb_cuda_out &o, int slot, int value, int n) const {
    for (int w = 0; w < W; w++)
      f.at(o.held + slot * held + n, w) = valid[w] ? f.at(value, w) : A::identity(GB_MAXIMUM);
  }

  /* n held elements of each slot into the running maximum and the sum of exp(t - maximum). */
  GB_CALLED void absorb_held (gb_frame<A> &f, int n) const {
    for (int q = 0; q < f.p->nouts; q++) {
      const gb_cuda_out &o = gb_out_of(f.p, q);
      if (o.how != GB_CUDA_LSE) continue;
      for (int slot = 0; slot < o.slots; slot++)
        for (int w = 0; w < W; w++) absorb_held_of(f, o, slot, w, n);
    }
  }
  GB_CALLED void absorb_held_of (gb_frame<A> &f, const gb_cuda_out &o, int slot, int w, int n) const {
    T &top = f.at(o.acc + 2 * slot, w), &sum = f.at(o.acc + 2 * slot + 1, w), now = top;
    for (int g = 0; g < n; g++) now = A::combine(GB_MAXIMUM, now, f.at(o.held + slot * held + g, w));
    const T shift = A::finite_or_0(now);
    T s = A::mul(sum, A::exp(A::sub(top, shift)));
    for (int g = 0; g < n; g++) s = A::add(s, A::exp(A::sub(f.at(o.held + slot * held + g, w), shift)));
    top = now;
    sum = s;
  }

  /* The chains of element w to their places. */
  GB_CALLED void write (gb_frame<A> &f, int w) const {
    for (int n = 0; n < f.p->nouts; n++) {
      const gb_cuda_out &o = gb_out_of(f.p, n);
      if (o.how == GB_CUDA_SELECT) continue;
      for (int k = 0; k < o.slots * o.cols; k++) {
        const gb_cuda_words to = gb_chain_words(f.p, o, k, part, element[w]);
        for (int q = 0; q < o.words; q++) to[q] = gb_as_word(f.at(o.acc + k * o.words + q, w));
      }
    }
  }
};

/* -- the tree over the virtual lanes of a half-warp: l + (l + 8), then + 4, + 2, + 1; the result is lane 0's */

template <class A> GB_DEVICE typename A::real gb_tree (int m, typename A::real v) {
  for (int n = GB_LANES / 2; n > 0; n /= 2) {
    const typename A::real other = __shfl_down_sync(gb_half_mask(), v, (unsigned)n, GB_LANES);
    v = A::join(m, v, other);
  }
  return v;
}

template <class A> GB_DEVICE typename A::real gb_from_lane_0 (typename A::real v) {
  return __shfl_sync(gb_half_mask(), v, 0, GB_LANES);
}

/* The pairs of all virtual lanes as one: their maximum, and the tree of their sums by it. */
template <class A>
GB_CALLED void gb_tree_of_pairs (typename A::real top, typename A::real sum, double pair[2]) {
  double most = -INFINITY;
  for (int l = 0; l < GB_LANES; l++) {
    const double v = (double)__shfl_sync(gb_half_mask(), top, l, GB_LANES);
    if (v > most || v != v) most = v;
  }
  const double shift = isinf(most) ? 0 : most;
  pair[0] = most;
  pair[1] = gb_tree<gb_double>(GB_SUM, exp((double)top - shift) * (double)sum);
}

/* n held elements of a virtual lane, and those of the others, as one pair. 'batch': elements of the batch that count. */
template <class A>
GB_CALLED void gb_tree_of_held (gb_frame<A> &f, int held, int n, int batch, double pair[2]) {
  typedef typename A::real T;
  T most = A::identity(GB_MAXIMUM), sum = 0;
  for (int g = 0; g < n; g++)
    for (int w = 0; w < batch; w++) most = A::combine(GB_MAXIMUM, most, f.at(held + g, w));
  const T top = gb_from_lane_0<A>(gb_tree<A>(GB_MAXIMUM, most)), shift = A::finite_or_0(top);
  for (int g = 0; g < n; g++)
    for (int w = 0; w < batch; w++) sum = A::add(sum, A::exp(A::sub(f.at(held + g, w), shift)));
  pair[0] = (double)top;
  pair[1] = (double)gb_tree<A>(GB_SUM, sum);
}

#endif
