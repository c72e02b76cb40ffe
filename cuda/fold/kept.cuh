/* kept.cuh - what a thread of a generated kernel keeps of the elements of one chain beside numbers: groups that LSE takes at
** once, the extreme of ARG*, and the least k. Results have the bits of chains.cuh and totals.cuh, whose lists lie in memory. A
** thread meets the elements of a chain in ascending order of their positions, so one that is equal to a kept one comes after it. */
#ifndef GB_CUDA_FOLD_KEPT_CUH
#define GB_CUDA_FOLD_KEPT_CUH

#include "cuda/fold/chains.cuh"
#include "cuda/fold/profile.cuh"

/* The greater one, or NaN. Which zero of two it is, no result of LSE shows. */
GB_INLINE float gb_greater (float a, float b) { return gb_greatest_or_nan(a, b); }
GB_INLINE double gb_greater (double a, double b) { return gb_double::combine(GB_MAXIMUM, a, b); }

/* A group of 'held' into the running maximum and the sum of exp(t - maximum); of element q of a batch of B. */
template <class A, int G, int B>
GB_DEVICE void gb_take_group (const typename A::real (*held)[B], int q, typename A::real &top,
                              typename A::real &sum) {
  typedef typename A::real T;
  T now = top;
#pragma unroll
  for (int g = 0; g < G; g++) now = gb_greater(now, held[g][q]);
  const T shift = A::finite_or_0(now);
  T s = A::mul(sum, A::exp_inline(A::sub(top, shift)));
#pragma unroll
  for (int g = 0; g < G; g++) s = A::add(s, A::exp_inline(A::sub(held[g][q], shift)));
  top = now;
  sum = s;
}

/* The first of the least elements, or of the greatest; NaN is before all numbers. 'at' counts elements of the chain. */
template <class T, int M> struct gb_extreme {
  T v;
  int at;

  GB_DEVICE void begin (int first) {
    v = M == GB_ARGMINIMUM ? (T)INFINITY : (T)-INFINITY;
    at = first;
  }
  GB_DEVICE void take (T x, int n) {
    const bool before = M == GB_ARGMINIMUM ? !(x >= v) : !(x <= v);
    if (before && v == v) v = x, at = n;
  }
  /* Element 'at' has the position base + weight * at; any: there is one. */
  GB_DEVICE void write (gb_cuda_words to, bool any, int64_t base, int64_t weight) const {
    to[0].i = any ? gb_key(v, M) : 0;
    to[1].i = any ? base + weight * at : 0;
  }
};

/* Integers in the order of values: -0 and 0 are equal, NaN is behind the numbers, and what is empty behind NaN. As values, the last
** two are NaN. */
GB_INLINE int32_t gb_ordered (float v) {
  const int32_t bits = gb_bits_as<int32_t>(v + 0.0f);
  return v != v ? 0x7ffffffe : bits < 0 ? bits ^ 0x7fffffff : bits;
}
GB_INLINE int64_t gb_ordered (double v) { return gb_key(v, GB_KSMALLEST); }
GB_INLINE float gb_ordered_value (int32_t key) { return gb_bits_as<float>(key < 0 ? key ^ 0x7fffffff : key); }
GB_INLINE double gb_ordered_value (int64_t key) {
  return gb_bits_as<double>(key < 0 ? key ^ INT64_MAX : key);
}

/* The K least elements, ascending. */
template <class T, int K> struct gb_least_few {
  typedef decltype(gb_ordered((T)0)) ordered;
  ordered key[K];
  int at[K];
  T last; /* the value of the last key */

  static GB_DEVICE ordered empty (void) { return sizeof(T) == 4 ? (ordered)0x7fffffff : (ordered)INT64_MAX; }

  GB_DEVICE void begin (int) {
#pragma unroll
    for (int k = 0; k < K; k++) key[k] = empty(), at[k] = 0;
    last = gb_ordered_value(empty());
  }
  GB_DEVICE void insert (ordered x, int n) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      const int less = k > 0 ? k - 1 : 0;
      const bool before = k > 0 && x < key[less];
      const bool here = x < key[k];
      key[k] = before ? key[less] : here ? x : key[k];
      at[k] = before ? at[less] : here ? n : at[k];
    }
    last = gb_ordered_value(key[K - 1]);
  }
  GB_DEVICE void take (T x, int n) {
    if (!(x >= last)) insert(gb_ordered(x), n);
  }
  GB_DEVICE void write (gb_cuda_words to, bool, int64_t base, int64_t weight) const {
#pragma unroll
    for (int k = 0; k < K; k++) {
      const bool any = key[k] != empty();
      to[2 * k].i = any ? gb_key(gb_ordered_value(key[k]), GB_KSMALLEST) : 0;
      to[2 * k + 1].i = any ? base + weight * at[k] : 0;
    }
  }
};

#endif
