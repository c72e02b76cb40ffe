/* sobol.c - the Sobol sequence in Gray code order, and random permutations.
** Source: Joe & Kuo (2008), Constructing Sobol sequences with better two-dimensional projections. */
#include <math.h>

#include "base/interrupt.h"
#include "base/rng.h"
#include "cpu/linalg/opaque.h"

#define DIMENSIONS 21
#define BITS 32
#define POINTS 1024 /* of a task */

/* Dimension d > 1: the primitive polynomial x^degree + (inner coefficients as the bits of 'inner') + 1,
** and the first 'degree' odd numbers m of its recurrence. Dimension 1 is van der Corput's sequence. */
static const struct {
  int degree;
  unsigned inner, m[7];
} joe_kuo[DIMENSIONS - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

/* Direction numbers of dimension d (from 0), scaled by 2^32. */
static void directions (size_t d, uint32_t v[BITS]) {
  if (d == 0) {
    for (int k = 0; k < BITS; k++) v[k] = 1u << (BITS - 1 - k);
    return;
  }
  const int s = joe_kuo[d - 1].degree;
  for (int k = 0; k < s; k++) v[k] = joe_kuo[d - 1].m[k] << (BITS - 1 - k);
  for (int k = s; k < BITS; k++) {
    v[k] = v[k - s] ^ v[k - s] >> s;
    for (int i = 1; i < s; i++)
      if (joe_kuo[d - 1].inner >> (s - 1 - i) & 1) v[k] ^= v[k - i];
  }
}

typedef struct sobol_job {
  gb_dtype dtype;
  size_t n, d;
  uint64_t seed, stream;
  double most; /* the largest number below 1 of dtype */
  void *out;
} sobol_job;

/* Never 0 or 1: a zero word becomes half a step, and f32 keeps the leading 24 bits. */
static void store (const sobol_job *q, size_t index, uint32_t bits) {
  if (q->dtype == GB_F64) ((double *)q->out)[index] = bits == 0 ? 0x1p-33 : (double)bits * 0x1p-32;
  else
    gb_element_set(q->out, index, q->dtype,
                   fmin(bits >> 8 == 0 ? 0x1p-25 : (double)(bits >> 8) * 0x1p-24, q->most));
}

static void some_points (void *ud, gb_tasks *s, size_t task, int thread) {
  const sobol_job *q = ud;
  (void)s, (void)thread;
  const size_t first = task * POINTS, last = first + gb_block_extent(q->n, POINTS, task);
  for (size_t d = 0; d < q->d; d++) {
    uint32_t v[BITS], shift[4];
    directions(d, v);
    gb_philox(q->seed, q->stream, d, shift);
    uint32_t x = shift[0];
    for (int k = 0; k < BITS; k++)
      if ((first ^ first >> 1) >> k & 1) x ^= v[k];
    for (size_t i = first; i < last; i++) {
      store(q, i * q->d + d, x);
      x ^= v[__builtin_ctzll(i + 1)]; /* i + 1 < 2^32 */
    }
  }
}

gb_status gb_cpu_sobol (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  const gb_shape *s = &o->out_shape[0];
  sobol_job q = {.dtype = o->out_dtype[0],
                 .n = s->dim[0],
                 .d = s->ndim > 1 ? s->dim[1] : 1,
                 .seed = (uint64_t)o->attr.i[0],
                 .stream = (uint64_t)o->attr.i[1],
                 .most = gb_dtype_below_one(o->out_dtype[0]),
                 .out = c->out[0]};
  if (q.d > DIMENSIONS)
    return gb_fail(c->err, GB_EOPTION, "sobol: expected at most %d dimensions, got %zu", DIMENSIONS, q.d);
  if (q.n >= (size_t)1 << BITS)
    return gb_fail(c->err, GB_EOPTION, "sobol: expected fewer than 2^32 points, got %zu", q.n);
  return gb_tasks_run(c->pool, gb_blocks(q.n, POINTS), some_points, &q, c->err);
}

/* Fisher and Yates' shuffle; counter i draws the partner of entry i. */
gb_status gb_cpu_randperm (const gb_opaque_call *c) {
  const size_t n = c->o->out_shape[0].dim[0];
  int64_t *p = c->out[0];
  for (size_t i = 0; i < n; i++) p[i] = (int64_t)i + 1;
  for (size_t i = n; i-- > 1;) {
    if (i % 65536 == 0 && gb_interrupted()) return gb_fail(c->err, GB_EINTR, "interrupted");
    uint32_t w[4];
    gb_philox((uint64_t)c->o->attr.i[0], (uint64_t)c->o->attr.i[1], i, w);
    const uint64_t word = (uint64_t)w[0] << 32 | w[1];
    const size_t j = (size_t)((unsigned __int128)word * (i + 1) >> 64);
    const int64_t t = p[i];
    p[i] = p[j];
    p[j] = t;
  }
  return GB_OK;
}
