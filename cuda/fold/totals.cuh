/* totals.cuh - arithmetic of totals: identities, absorption of chains, lists of the least elements. */
#ifndef GB_CUDA_FOLD_TOTALS_CUH
#define GB_CUDA_FOLD_TOTALS_CUH

#include "cuda/fold/run.cuh"

/* Words of one total, 'step' apart. */
struct gb_cuda_words {
  gb_cuda_word *at;
  size_t step;
  GB_DEVICE gb_cuda_word &operator[](int k) const { return at[(size_t)k * step]; }
};

GB_INLINE gb_cuda_word gb_as_word (int64_t v) {
  gb_cuda_word w;
  w.i = v;
  return w;
}
GB_INLINE gb_cuda_word gb_as_word (double v) {
  gb_cuda_word w;
  w.f = v;
  return w;
}
GB_INLINE gb_cuda_word gb_as_word (float v) { return gb_as_word((double)v); }

GB_INLINE int gb_monoid_of (const gb_cuda_out &o) { return o.kind == GB_OUT_REDUCE ? o.monoid : GB_SUM; }

GB_INLINE bool gb_is_number (const gb_cuda_out &o) { return o.how != GB_CUDA_LSE && o.how != GB_CUDA_SELECT; }

/* -- lists: pairs of key and position, ascending; position 0 is an empty place. Keys are integers ordered as values are to
** be: NaN first for ARG*, last for KSMALLEST. The k least pairs do not depend on the order in which they are found. */

GB_INLINE int64_t gb_key (int64_t v, int monoid) { return monoid == GB_ARGMAXIMUM ? ~v : v; }
GB_INLINE int64_t gb_key (double v, int monoid) {
  if (v != v) return monoid == GB_KSMALLEST ? INT64_MAX - 1 : INT64_MIN;
  int64_t bits = gb_bits_as<int64_t>(v + 0.0); /* -0 and 0 are equal */
  if (bits < 0) bits ^= INT64_MAX;
  return monoid == GB_ARGMAXIMUM ? ~bits : bits;
}
GB_INLINE int64_t gb_key (float v, int monoid) { return gb_key((double)v, monoid); }

GB_INLINE double gb_key_value (int64_t key) {
  if (key == INT64_MAX - 1) return gb_bits_as<double>((int64_t)0x7ff8000000000000);
  return gb_bits_as<double>(key < 0 ? key ^ INT64_MAX : key);
}

GB_INLINE bool gb_before (int64_t key, int64_t position, gb_cuda_words list, int at) {
  if (list[at + 1].i == 0) return true;
  return key < list[at].i || (key == list[at].i && position < list[at + 1].i);
}

static GB_CALLED void gb_insert (gb_cuda_words list, int words, int64_t key, int64_t position) {
  if (words == 0 || !gb_before(key, position, list, words - 2)) return;
  int at = words - 2;
  for (; at > 0 && gb_before(key, position, list, at - 2); at -= 2) {
    list[at].i = list[at - 2].i;
    list[at + 1].i = list[at - 1].i;
  }
  list[at].i = key;
  list[at + 1].i = position;
}

/* -- absorption */

/* exp(v - top), where one of two totals has the largest element. */
GB_INLINE double gb_lse_power (double v, double top) {
  return v == top ? 1 : v == -INFINITY ? 0 : exp(v - top);
}

static GB_CALLED void gb_absorb_lse (gb_cuda_words into, double b, double sum) {
  const double a = into[0].f, top = b > a || b != b ? b : a;
  if (top != top) into[1].f = top;
  else if (top == INFINITY) into[1].f = 1;
  else if (top == -INFINITY) into[1].f = 0;
  else into[1].f = into[1].f * gb_lse_power(a, top) + sum * gb_lse_power(b, top);
  into[0].f = top;
}

GB_INLINE void gb_absorb_number (int m, gb_cuda_word &into, gb_cuda_word from, int64_t) {
  into.i = gb_integer::combine(m, into.i, from.i);
}
GB_INLINE void gb_absorb_number (int m, gb_cuda_word &into, gb_cuda_word from, double) {
  into.f = gb_double::join(m, into.f, from.f);
}
GB_INLINE void gb_absorb_number (int m, gb_cuda_word &into, gb_cuda_word from, float) {
  if (m == GB_PROD) into.f = (double)((float)into.f * (float)from.f);
  else into.f = gb_double::join(m, into.f, from.f);
}

template <class A> GB_CALLED void gb_absorb (const gb_cuda_out &o, gb_cuda_words into, gb_cuda_words from) {
  if (o.how == GB_CUDA_LSE) gb_absorb_lse(into, from[0].f, from[1].f);
  else if (o.how == GB_CUDA_SELECT)
    for (int q = 0; q < o.words && from[q + 1].i != 0; q += 2)
      gb_insert(into, o.words, from[q].i, from[q + 1].i);
  else gb_absorb_number(gb_monoid_of(o), into[0], from[0], (typename A::real)0);
}

template <class A> GB_DEVICE void gb_identity (const gb_cuda_out &o, gb_cuda_words w) {
  if (o.how == GB_CUDA_SELECT)
    for (int k = 0; k < o.words; k++) w[k].i = 0;
  else if (o.how == GB_CUDA_LSE) {
    w[0].f = -INFINITY;
    w[1].f = 0;
  } else w[0] = gb_as_word(A::identity(gb_monoid_of(o)));
}

/* One element into a total at once. */
template <class A>
GB_DEVICE void gb_absorb_value (const gb_cuda_out &o, gb_cuda_words into, typename A::real v,
                                int64_t position) {
  if (o.how == GB_CUDA_SELECT) gb_insert(into, o.words, gb_key(v, o.monoid), position);
  else if (o.how == GB_CUDA_LSE) gb_absorb_lse(into, (double)v, 1);
  else gb_absorb_number(gb_monoid_of(o), into[0], gb_as_word(v), (typename A::real)0);
}

#endif
