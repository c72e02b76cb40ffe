/* i64.c - the kernels over int64_t, in plain C: for positions and counts, which are never critical for speed.
** Arithmetic: arith/integer.inc. */
#include "cpu/isa/i64.h"
#include <assert.h>

typedef int64_t i64;

#define GB_INTEGER static inline
#include "arith/integer.inc"

/* Element (j, i) of an argument. */
static i64 at (gb_arg a, size_t j, size_t i) {
  const i64 *p = a.p;
  switch (a.form) {
    case GB_FORM_ONE: return p[0];
    case GB_FORM_LANE: return p[i];
    case GB_FORM_TILE: return p[j];
    default: return p[j * GB_TI + i];
  }
}

void gb_i64_map (gb_op op, gb_form form, int nj, void *dst, gb_arg a, gb_arg b, gb_arg c) {
  i64 *out = dst;
  const int nargs = gb_ops[op].inputs;
  const size_t rows = form == GB_FORM_TILE || form == GB_FORM_FULL ? (size_t)nj : 1;
  const size_t lanes = form == GB_FORM_LANE || form == GB_FORM_FULL ? GB_TI : 1;
  for (size_t j = 0; j < rows; j++)
    for (size_t i = 0; i < lanes; i++)
      out[j * lanes + i] =
          integer_map(op, at(a, j, i), nargs > 1 ? at(b, j, i) : 0, nargs > 2 ? at(c, j, i) : 0);
}

void gb_i64_sqdist (int nj, size_t d, const void *xs, const void *ys, size_t ystride, const void *ws,
                    void *dst) {
  const i64 *x = xs, *y = ys, *w = ws;
  i64 *out = dst;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t i = 0; i < GB_TI; i++) {
      i64 s = 0;
      for (size_t k = 0; k < d; k++) {
        const i64 t = integer_sub(x[k * GB_TI + i], y[j * ystride + k]);
        s = integer_add(s, integer_mul(w != NULL ? integer_mul(w[k], t) : t, t));
      }
      out[j * GB_TI + i] = s;
    }
}

void gb_i64_dot (int nj, size_t d, const void *xs, const void *ys, size_t ystride, void *dst) {
  const i64 *x = xs, *y = ys;
  i64 *out = dst;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t i = 0; i < GB_TI; i++) {
      i64 s = 0;
      for (size_t k = 0; k < d; k++) s = integer_add(s, integer_mul(x[k * GB_TI + i], y[j * ystride + k]));
      out[j * GB_TI + i] = s;
    }
}

void gb_i64_contract_row (int nj, size_t R, const void *tp, const void *vp, size_t vstride, void *accp) {
  const i64 *t = tp, *v = vp;
  i64 *acc = accp;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t r = 0; r < R; r++)
      for (size_t i = 0; i < GB_TI; i++)
        acc[r * GB_TI + i] =
            integer_add(acc[r * GB_TI + i], integer_mul(t[j * GB_TI + i], v[j * vstride + r]));
}

void gb_i64_contract_col (int nj, size_t R, const void *tp, const void *gp, void *bufp) {
  const i64 *t = tp, *g = gp;
  i64 *buf = bufp;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t r = 0; r < R; r++)
      for (size_t i = 0; i < GB_TI; i++) {
        i64 *b = buf + (j * R + r) * GB_LANES + i % GB_LANES;
        *b = integer_add(*b, integer_mul(t[j * GB_TI + i], g[r * GB_TI + i]));
      }
}

/* Chains of 'width' lanes, those of row j at dst + j * step. */
static void reduce (gb_monoid m, int nj, size_t width, size_t step, const i64 *t, i64 *dst) {
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t i = 0; i < GB_TI; i++) {
      i64 *a = dst + j * step + i % width;
      *a = integer_combine(m, *a, t[j * GB_TI + i]);
    }
}

void gb_i64_reduce_row (gb_monoid m, int nj, const void *t, void *acc) { reduce(m, nj, GB_TI, 0, t, acc); }
void gb_i64_reduce_col (gb_monoid m, int nj, const void *t, void *buf) {
  reduce(m, nj, GB_LANES, GB_LANES, t, buf);
}
void gb_i64_reduce_all (gb_monoid m, int nj, const void *t, void *lanes) {
  reduce(m, nj, GB_LANES, 0, t, lanes);
}
