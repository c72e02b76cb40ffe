/* store.cuh - totals as kernels: chains absorbed in the order of their parts, and results stored. A thread has one total. */
#ifndef GB_CUDA_FOLD_STORE_CUH
#define GB_CUDA_FOLD_STORE_CUH

#include "cuda/fold/chains.cuh"

/* The output that word 'word' of an element belongs to, at the first word of a total; NULL: in the middle of one. */
GB_INLINE const gb_cuda_out *gb_total_at (const gb_cuda_program *p, size_t word, int *number) {
  for (int q = 0; q < p->nouts; q++) {
    const gb_cuda_out *o = &gb_out_of(p, q);
    const size_t n = (size_t)(o->slots * o->cols * o->words);
    if (word < o->first || word >= o->first + n) continue;
    *number = (int)((word - o->first) / (size_t)o->words);
    return (word - o->first) % (size_t)o->words == 0 ? o : NULL;
  }
  return NULL;
}

/* Where a word of an element of the panel lies between launches. */
GB_INLINE gb_cuda_words gb_kept_total (const gb_cuda_program *p, size_t word, size_t element) {
  const size_t number = p->unit * p->each + element - p->totals_first;
  return gb_cuda_words{p->totals + word * p->totals_count + number, p->totals_count};
}

/* -- stores */

GB_INLINE void gb_store_list (const gb_cuda_out &o, int64_t at, gb_cuda_words total, bool whole) {
  const bool many = o.monoid == GB_KSMALLEST;
  for (int k = 0; k < o.words; k += 2) {
    const bool empty = total[k + 1].i == 0;
    const int64_t to = at + (many ? k / 2 * o.kstride : 0);
    if (!many) gb_put(o.at, o.dtype, to, total[k + 1].i);
    else if (whole) gb_put(o.at, o.dtype, to, empty ? INT64_MAX : total[k].i);
    else gb_put(o.at, o.dtype, to, empty ? (double)INFINITY : gb_key_value(total[k].i));
    if (many && o.positions != NULL) o.positions[to] = total[k + 1].i;
  }
}

static GB_CALLED void gb_store_total (const gb_cuda_out &o, int64_t at, gb_cuda_words total, bool whole) {
  if (o.how == GB_CUDA_SELECT) gb_store_list(o, at, total, whole);
  else if (o.how == GB_CUDA_LSE)
    gb_put(o.at, o.dtype, at,
           total[1].f == 0 || isinf(total[0].f) ? total[0].f : total[0].f + log(total[1].f));
  else if (whole) gb_put(o.at, o.dtype, at, total[0].i);
  else gb_put(o.at, o.dtype, at, total[0].f);
}

/* Where a total of a unit's element goes; false: the element is past an edge. */
GB_INLINE bool gb_total_index (const gb_cuda_program *p, const gb_cuda_out &o, int k, size_t unit, size_t e,
                               int64_t *at) {
  const size_t slot = (size_t)(k / o.cols), col = (size_t)(k % o.cols), n = unit % p->per;
  size_t combination = unit / p->per, lane = 0, tile = 0;
  const size_t wide = (p->nlane + GB_CUDA_ROWS - 1) / GB_CUDA_ROWS;
  if (p->reach == GB_CUDA_ROW) lane = n * p->each + e;
  if (p->reach == GB_CUDA_COL) tile = n * p->each + e;
  if (p->reach == GB_CUDA_KEEP) lane = n % wide * GB_CUDA_ROWS + e, tile = n / wide;
  if (p->reach != GB_CUDA_ALL && p->reach != GB_CUDA_COL && lane >= p->nlane) return false;
  if (p->reach == GB_CUDA_COL && tile >= p->ntile) return false;
  *at = o.offset;
  for (int a = p->naxes - 1; a >= 0; a--) {
    size_t i = 0;
    if (p->kept >> a & 1) {
      i = combination % p->extent[a];
      combination /= p->extent[a];
    } else if (o.slotted >> a & 1) i = slot / (size_t)o.mul[a] % p->extent[a];
    else if (a == o.axis) i = col;
    else if (a == p->lane) i = lane;
    else if (a == p->tile) i = tile;
    *at += (int64_t)i * o.stride[a];
  }
  return true;
}

template <class A>
GB_DEVICE void gb_store_element (const gb_cuda_program *p, const gb_cuda_out &o, int k, size_t element,
                                 gb_cuda_words total) {
  const bool whole = sizeof(typename A::real) == 8 && (typename A::real)0.5 == 0;
  int64_t to;
  if (gb_total_index(p, o, k, p->unit + element / p->each, element % p->each, &to))
    gb_store_total(o, to, total, whole);
}

/* -- absorption */

/* As many groups of N numbers as there are up to 'to', 'step' words apart; each group is read at once. The first part that is left. */
template <class A, int N>
GB_DEVICE size_t gb_absorb_groups (int monoid, gb_cuda_word *sum, const gb_cuda_word *chains, size_t step,
                                   size_t from, size_t to) {
  for (; from + N <= to; from += N) {
    gb_cuda_word some[N];
    for (int n = 0; n < N; n++) some[n] = chains[(from + (size_t)n) * step];
    for (int n = 0; n < N; n++) gb_absorb_number(monoid, *sum, some[n], (typename A::real)0);
  }
  return from;
}

/* Parts [from, to) into one total. A panel has too few totals to hide the latency of memory, so numbers are read many at a time. */
template <class A>
GB_DEVICE void gb_absorb_parts (const gb_cuda_program *p, bool mirror, const gb_cuda_out &o, int k,
                                size_t element, size_t from, size_t to, gb_cuda_words into) {
  size_t part = from;
  if (gb_is_number(o)) {
    const size_t step = p->words * (mirror ? p->wide : p->units) * p->each;
    const gb_cuda_word *const chains = gb_chain_words(p, mirror, o, k, 0, element).at;
    gb_cuda_word sum = into[0];
    part = gb_absorb_groups<A, 32>(gb_monoid_of(o), &sum, chains, step, part, to);
    part = gb_absorb_groups<A, 8>(gb_monoid_of(o), &sum, chains, step, part, to);
    into[0] = sum;
  }
  for (; part < to; part++) gb_absorb<A>(o, into, gb_chain_words(p, mirror, o, k, part, element));
}

/* What an element of a symmetric walk has left of the diagonal. It grows from panel to panel, and is complete with the
** panel that has the element; what earlier panels have mirrored is 'kept'. */
template <class A>
GB_DEVICE gb_cuda_word gb_absorb_mirrored (const gb_cuda_program *p, const gb_cuda_out &o, int k,
                                           size_t element, const gb_cuda_word *kept) {
  const size_t super = (p->unit + element / p->each) % p->per, first = gb_first_super(p);
  gb_cuda_word sum[2];
  gb_identity<A>(o, gb_cuda_words{sum, 1});
  if (first > 0) sum[0] = *kept;
  gb_absorb_parts<A>(p, true, o, k, element, 0, gb_least(super - first + 1, p->mirrors),
                     gb_cuda_words{sum, 1});
  return sum[0];
}
/* Its place, of a combination that is divided into panels. */
GB_INLINE gb_cuda_word *gb_kept_mirrored (const gb_cuda_program *p, size_t word, size_t element) {
  const size_t super = (p->unit + element / p->each) % p->per;
  return p->mirrored + (word * p->per + super) * p->each + element % p->each;
}

/* The chains of one element's output into its total. */
template <class A>
GB_DEVICE void gb_absorb_all (const gb_cuda_program *p, const gb_cuda_out &o, int k, size_t word,
                              size_t element, gb_cuda_words total) {
  if (p->mirrors == 0) {
    gb_absorb_parts<A>(p, false, o, k, element, 0, p->parts, total);
    return;
  }
  const size_t super = (p->unit + element / p->each) % p->per;
  gb_cuda_word mirrored[2], own[2];
  mirrored[0] = gb_absorb_mirrored<A>(p, o, k, element, gb_kept_mirrored(p, word, element));
  gb_identity<A>(o, gb_cuda_words{own, 1});
  gb_absorb_parts<A>(p, false, o, k, element, (super - gb_first_super(p)) * (GB_SUPER / GB_CANON), p->parts,
                     gb_cuda_words{own, 1});
  gb_absorb<A>(o, gb_cuda_words{mirrored, 1}, gb_cuda_words{own, 1});
  gb_absorb<A>(o, total, gb_cuda_words{mirrored, 1});
}

/* Absorbs, and stores what is complete. A total that this launch both begins and completes is nowhere but here; lists of
** any length lie in memory. Rows behind a symmetric panel have what it has mirrored. */
template <class A> __global__ void gb_absorb_chains (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  const size_t count = (p->mirrors > 0 ? p->wide : p->units) * p->each, n = count * p->words;
  for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < n;
       at += (size_t)gridDim.x * blockDim.x) {
    const size_t word = at / count, element = at % count;
    int k;
    const gb_cuda_out *o = gb_total_at(p, word, &k);
    if (o == NULL) continue;
    if (element >= p->units * p->each) {
      gb_cuda_word *const kept = gb_kept_mirrored(p, word, element);
      *kept = gb_absorb_mirrored<A>(p, *o, k, element, kept);
      continue;
    }
    gb_cuda_word own[2];
    gb_cuda_words total = gb_kept_total(p, word, element);
    if (p->first && p->last && o->how != GB_CUDA_SELECT) total = gb_cuda_words{own, 1};
    if (p->first) gb_identity<A>(*o, total);
    gb_absorb_all<A>(p, *o, k, word, element, total);
    if (p->last) gb_store_element<A>(p, *o, k, element, total);
  }
}

/* Totals that no launch absorbed last. */
template <class A> __global__ void gb_store_totals (GB_PARAMETER gb_cuda_argument argument) {
  const gb_cuda_program *p = &argument.program;
  const size_t count = p->units * p->each, n = count * p->words;
  for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < n;
       at += (size_t)gridDim.x * blockDim.x) {
    int k;
    const gb_cuda_out *o = gb_total_at(p, at / count, &k);
    if (o != NULL) gb_store_element<A>(p, *o, k, at % count, gb_kept_total(p, at / count, at % count));
  }
}

#endif
