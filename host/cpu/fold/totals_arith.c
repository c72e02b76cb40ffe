/* totals_arith.c - arithmetic of totals: identities, combination, and the tree over the virtual lanes. */
#include <math.h>
#include <string.h>

#include "cpu/fold/fold.h"

static double combine_f64 (gb_monoid m, double a, double b) {
  switch (m) {
    case GB_PROD: return a * b;
    case GB_MINIMUM: return b < a || b != b ? b : a;
    case GB_MAXIMUM: return b > a || b != b ? b : a;
    case GB_ANYTRUE: return a != 0 || b != 0;
    case GB_ALLTRUE: return a != 0 && b != 0;
    default: return a + b;
  }
}

static int64_t combine_i64 (gb_monoid m, int64_t a, int64_t b) {
  switch (m) {
    case GB_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case GB_MINIMUM: return b < a ? b : a;
    case GB_MAXIMUM: return b > a ? b : a;
    case GB_ANYTRUE: return a != 0 || b != 0;
    case GB_ALLTRUE: return a != 0 && b != 0;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
  }
}

/* exp(v - top): one of two totals has the largest element, and the first total is combined with the
** identity. */
static double power (double v, double top) { return v == top ? 1 : v == -INFINITY ? 0 : exp(v - top); }

static void absorb_lse (gb_word *into, const gb_word *from) {
  double a = into[0].f, b = from[0].f, top = b > a || b != b ? b : a;
  if (top != top) into[1].f = NAN;
  else if (top == INFINITY) into[1].f = 1;
  else if (top == -INFINITY) into[1].f = 0;
  else into[1].f = into[1].f * power(a, top) + from[1].f * power(b, top);
  into[0].f = top;
}

void gb_exec_absorb (const gb_xprog *p, const gb_xout *x, gb_word *into, const gb_word *from) {
  gb_monoid m = gb_exec_monoid(x);
  if (x->how == GB_HOW_LSE) absorb_lse(into, from);
  else if (x->how == GB_HOW_SELECT) gb_exec_select_merge(into, from, x->words);
  else if (p->compute == GB_I64) into->i = combine_i64(m, into->i, from->i);
  else if (p->compute == GB_F32 && m == GB_PROD) into->f = (double)((float)into->f * (float)from->f);
  else into->f = combine_f64(m, into->f, from->f);
}

/* One value of the compute type, at a position. */
void gb_exec_absorb_value (const gb_xprog *p, const gb_xout *x, gb_word *into, const void *row, size_t i,
                           int64_t position) {
  gb_word w[2];
  if (x->how == GB_HOW_SELECT) {
    gb_exec_select_one(p, x, into, row, i, position);
    return;
  }
  if (p->compute == GB_I64) w[0].i = ((const int64_t *)row)[i];
  else w[0].f = p->compute == GB_F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
  w[1].f = 1;
  gb_exec_absorb(p, x, into, w);
}

#define EXTREMES(T, sign)                                                                                    \
  for (size_t i = 0; i < n; i++) {                                                                           \
    const double a = into[i].f, b = (double)((const T *)chain)[i];                                           \
    into[i].f = b sign a || b != b ? b : a;                                                                  \
  }

/* 'n' chains of one word each into as many totals. */
void gb_exec_absorb_chains (const gb_xprog *p, const gb_xout *x, gb_word *into, const void *chain, size_t n) {
  const gb_monoid m = gb_exec_monoid(x);
  if (m == GB_MAXIMUM && p->compute == GB_F32) {
    EXTREMES(float, >)
  } else if (m == GB_MINIMUM && p->compute == GB_F32) {
    EXTREMES(float, <)
  } else if (m == GB_MAXIMUM && p->compute == GB_F64) {
    EXTREMES(double, >)
  } else if (m == GB_MINIMUM && p->compute == GB_F64) {
    EXTREMES(double, <)
  } else
    for (size_t i = 0; i < n; i++) gb_exec_absorb_value(p, x, into + i, chain, i, 0);
}
#undef EXTREMES

static gb_word identity_of (const gb_xprog *p, const gb_xout *x) {
  gb_word w;
  gb_monoid m = gb_exec_monoid(x);
  if (p->compute == GB_I64)
    w.i = m == GB_PROD || m == GB_ALLTRUE ? 1 : m == GB_MINIMUM ? INT64_MAX : m == GB_MAXIMUM ? INT64_MIN : 0;
  else
    w.f = m == GB_PROD || m == GB_ALLTRUE ? 1 : m == GB_MINIMUM ? INFINITY : m == GB_MAXIMUM ? -INFINITY : 0;
  return w;
}

/* 'n' words: whole totals. */
void gb_exec_identity (const gb_xprog *p, const gb_xout *x, gb_word *w, size_t n) {
  if (x->how == GB_HOW_SELECT) memset(w, 0, n * sizeof *w);
  else if (x->how == GB_HOW_LSE)
    for (size_t i = 0; i < n; i += 2) w[i].f = -INFINITY, w[i + 1].f = 0;
  else {
    gb_word one = identity_of(p, x);
    for (size_t i = 0; i < n; i++) w[i] = one;
  }
}

/* The tree over the virtual lanes: l + (l + 8), then + 4, + 2, + 1, in the compute type. */
#define TREE(T, op)                                                                                          \
  do {                                                                                                       \
    T v[GB_LANES];                                                                                           \
    memcpy(v, lanes, sizeof v);                                                                              \
    for (int n = GB_LANES / 2; n > 0; n /= 2)                                                                \
      for (int l = 0; l < n; l++) v[l] = (T)(op);                                                            \
    result = v[0];                                                                                           \
  } while (0)

/* MAXIMUM and MINIMUM with the results of combine_f64, without a branch on the values. */
#define MOST(T, sign)                                                                                        \
  (__extension__({                                                                                           \
    const T a = v[l], b = v[l + n], r = b sign a ? b : a;                                                    \
    b != b ? b : r;                                                                                          \
  }))

gb_word gb_exec_fold_lanes (gb_dtype compute, gb_monoid m, const void *lanes) {
  gb_word w;
  if (compute == GB_I64) {
    int64_t result;
    TREE(int64_t, combine_i64(m, v[l], v[l + n]));
    w.i = result;
  } else if (compute == GB_F64) {
    double result;
    if (m == GB_SUM) TREE(double, v[l] + v[l + n]);
    else if (m == GB_MAXIMUM) TREE(double, MOST(double, >));
    else if (m == GB_MINIMUM) TREE(double, MOST(double, <));
    else TREE(double, combine_f64(m, v[l], v[l + n]));
    w.f = result;
  } else {
    float result;
    if (m == GB_SUM) TREE(float, v[l] + v[l + n]);
    else if (m == GB_PROD) TREE(float, v[l] * v[l + n]);
    else if (m == GB_MAXIMUM) TREE(float, MOST(float, >));
    else if (m == GB_MINIMUM) TREE(float, MOST(float, <));
    else TREE(float, combine_f64(m, (double)v[l], (double)v[l + n]));
    w.f = (double)result;
  }
  return w;
}
