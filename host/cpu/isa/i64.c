/* i64.c - the kernels over int64_t, in plain C: for positions and counts, which are never critical for speed.
** Arithmetic wraps (through uint64_t), so every input is defined. */
#include "cpu/isa/i64.h"
#include <assert.h>

typedef int64_t i64;

static i64 add (i64 a, i64 b) { return (i64)((uint64_t)a + (uint64_t)b); }
static i64 sub (i64 a, i64 b) { return (i64)((uint64_t)a - (uint64_t)b); }
static i64 mul (i64 a, i64 b) { return (i64)((uint64_t)a * (uint64_t)b); }

/* Rounded down; -1 is separate because INT64_MIN / -1 traps. */
static i64 idiv (i64 a, i64 b) {
  if (b == 0) return 0;
  if (b == -1) return sub(0, a);
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
static i64 mod (i64 a, i64 b) { return sub(a, mul(idiv(a, b), b)); }

static i64 value (gb_op op, i64 x, i64 y, i64 z) {
  switch (op) {
    case GB_OP_NEG: return sub(0, x);
    case GB_OP_ABS: return x < 0 ? sub(0, x) : x;
    case GB_OP_SIGN: return (x > 0) - (x < 0);
    case GB_OP_FLOOR:
    case GB_OP_CEIL:
    case GB_OP_ROUND:
    case GB_OP_DETACH: return x;
    case GB_OP_SQUARE: return mul(x, x);
    case GB_OP_RELU: return x > 0 ? x : 0;
    case GB_OP_ISNAN: return 0;
    case GB_OP_ISFINITE: return 1;
    case GB_OP_NOT: return x == 0;
    case GB_OP_ADD: return add(x, y);
    case GB_OP_SUB: return sub(x, y);
    case GB_OP_MUL: return mul(x, y);
    case GB_OP_IDIV: return idiv(x, y);
    case GB_OP_MOD: return mod(x, y);
    case GB_OP_MAXIMUM: return x > y ? x : y;
    case GB_OP_MINIMUM: return x < y ? x : y;
    case GB_OP_LT: return x < y;
    case GB_OP_LE: return x <= y;
    case GB_OP_GT: return x > y;
    case GB_OP_GE: return x >= y;
    case GB_OP_EQ: return x == y;
    case GB_OP_NE: return x != y;
    case GB_OP_AND: return x != 0 && y != 0;
    case GB_OP_OR: return x != 0 || y != 0;
    case GB_OP_WHERE: return x != 0 ? y : z;
    default: assert(!"an op without an integer value"); return 0;
  }
}

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
      out[j * lanes + i] = value(op, at(a, j, i), nargs > 1 ? at(b, j, i) : 0, nargs > 2 ? at(c, j, i) : 0);
}

void gb_i64_sqdist (int nj, size_t d, const void *xs, const void *ys, size_t ystride, const void *ws,
                    void *dst) {
  const i64 *x = xs, *y = ys, *w = ws;
  i64 *out = dst;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t i = 0; i < GB_TI; i++) {
      i64 s = 0;
      for (size_t k = 0; k < d; k++) {
        const i64 t = sub(x[k * GB_TI + i], y[j * ystride + k]);
        s = add(s, mul(w != NULL ? mul(w[k], t) : t, t));
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
      for (size_t k = 0; k < d; k++) s = add(s, mul(x[k * GB_TI + i], y[j * ystride + k]));
      out[j * GB_TI + i] = s;
    }
}

void gb_i64_contract_row (int nj, size_t R, const void *tp, const void *vp, size_t vstride, void *accp) {
  const i64 *t = tp, *v = vp;
  i64 *acc = accp;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t r = 0; r < R; r++)
      for (size_t i = 0; i < GB_TI; i++)
        acc[r * GB_TI + i] = add(acc[r * GB_TI + i], mul(t[j * GB_TI + i], v[j * vstride + r]));
}

void gb_i64_contract_col (int nj, size_t R, const void *tp, const void *gp, void *bufp) {
  const i64 *t = tp, *g = gp;
  i64 *buf = bufp;
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t r = 0; r < R; r++)
      for (size_t i = 0; i < GB_TI; i++) {
        i64 *b = buf + (j * R + r) * GB_LANES + i % GB_LANES;
        *b = add(*b, mul(t[j * GB_TI + i], g[r * GB_TI + i]));
      }
}

static i64 combine (gb_monoid m, i64 a, i64 t) {
  switch (m) {
    case GB_SUM: return add(a, t);
    case GB_PROD: return mul(a, t);
    case GB_MINIMUM: return t < a ? t : a;
    case GB_MAXIMUM: return t > a ? t : a;
    case GB_ANYTRUE: return a != 0 || t != 0;
    case GB_ALLTRUE: return a != 0 && t != 0;
    default: assert(!"a monoid without a vector form"); return a;
  }
}

/* Chains of 'width' lanes, those of row j at dst + j * step. */
static void reduce (gb_monoid m, int nj, size_t width, size_t step, const i64 *t, i64 *dst) {
  for (size_t j = 0; j < (size_t)nj; j++)
    for (size_t i = 0; i < GB_TI; i++) {
      i64 *a = dst + j * step + i % width;
      *a = combine(m, *a, t[j * GB_TI + i]);
    }
}

void gb_i64_reduce_row (gb_monoid m, int nj, const void *t, void *acc) { reduce(m, nj, GB_TI, 0, t, acc); }
void gb_i64_reduce_col (gb_monoid m, int nj, const void *t, void *buf) {
  reduce(m, nj, GB_LANES, GB_LANES, t, buf);
}
void gb_i64_reduce_all (gb_monoid m, int nj, const void *t, void *lanes) {
  reduce(m, nj, GB_LANES, 0, t, lanes);
}
