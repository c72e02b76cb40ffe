/* portable.h - the inline vector primitives in C for any machine: four lanes, no fused multiply-add (fma
** rounds twice). The names and rules are those of avx512.h. */
#ifndef GB_CPU_SIMD_PORTABLE_H
#define GB_CPU_SIMD_PORTABLE_H

#include <math.h>
#include <sleef.h>
#include <stdint.h>
#include <string.h>
#include "arith/coef.h"

#define GB_ISA_REGISTERS 16
#define GB_ISA_GROUP 4
#define GB_ISA_ROWS 2
#define GB_ISA_COLUMNS 2
#define GB_ISA_FUSED 0
#define GB_ISA_ALTERNATE
#define GB_ISA_EXP2_BOUNDED 0

typedef float vf __attribute__((vector_size(16)));
typedef double vd __attribute__((vector_size(32)));
typedef int32_t mf __attribute__((vector_size(16)));
typedef int64_t md __attribute__((vector_size(32)));
typedef uint32_t uf __attribute__((vector_size(16)));
typedef uint64_t ud __attribute__((vector_size(32)));
enum { vf_width = 4, vd_width = 4 };
typedef int32_t vf_word;
typedef int64_t vd_word;

#define GB_ISA_LEAVE() ((void)0)
#define GB_INLINE static inline __attribute__((always_inline, unused))

#define GB_EACH(V, expr)                                                                                     \
  ({                                                                                                         \
    V r_;                                                                                                    \
    for (int l_ = 0; l_ < 4; l_++) r_[l_] = (expr);                                                          \
    r_;                                                                                                      \
  })

#define GB_SIMD(P, T, V, M, U, sqrt_, floor_, ceil_, rint_)                                                  \
  GB_INLINE V P##_load(const T *p) {                                                                         \
    V a;                                                                                                     \
    memcpy(&a, p, sizeof a);                                                                                 \
    return a;                                                                                                \
  }                                                                                                          \
  GB_INLINE void P##_store(T *p, V a) { memcpy(p, &a, sizeof a); }                                           \
  GB_INLINE V P##_load_some(const T *p, int n) { return GB_EACH(V, l_ < n ? p[l_] : 0); }                    \
  GB_INLINE void P##_store_some(T *p, V a, int n) {                                                          \
    for (int l = 0; l < n; l++) p[l] = a[l];                                                                 \
  }                                                                                                          \
  GB_INLINE V P##_set1(T x) { return (V){x, x, x, x}; }                                                      \
  GB_INLINE V P##_add(V a, V b) { return a + b; }                                                            \
  GB_INLINE V P##_sub(V a, V b) { return a - b; }                                                            \
  GB_INLINE V P##_mul(V a, V b) { return a * b; }                                                            \
  GB_INLINE V P##_div(V a, V b) { return a / b; }                                                            \
  GB_INLINE V P##_fma(V a, V b, V c) { return a * b + c; }                                                   \
  GB_INLINE V P##_fnma(V a, V b, V c) { return c - a * b; }                                                  \
  GB_INLINE V P##_sqrt(V a) { return GB_EACH(V, sqrt_(a[l_])); }                                             \
  GB_INLINE V P##_floor(V a) { return GB_EACH(V, floor_(a[l_])); }                                           \
  GB_INLINE V P##_ceil(V a) { return GB_EACH(V, ceil_(a[l_])); }                                             \
  GB_INLINE V P##_round(V a) { return GB_EACH(V, rint_(a[l_])); }                                            \
  GB_INLINE V P##_blend(M m, V a, V b) { return (V)(((M)a & m) | ((M)b & ~m)); } /* m ? a : b */             \
  GB_INLINE V P##_neg(V a) { return -a; }                                                                    \
  GB_INLINE V P##_abs(V a) { return (V)((M)a & ~(M)P##_set1((T)-0.0)); }                                     \
  GB_INLINE V P##_min(V a, V b) { return P##_blend(a < b, a, b); }                                           \
  GB_INLINE V P##_max(V a, V b) { return P##_blend(a > b, a, b); }                                           \
  GB_INLINE M P##_lt(V a, V b) { return a < b; }                                                             \
  GB_INLINE M P##_le(V a, V b) { return a <= b; }                                                            \
  GB_INLINE M P##_eq(V a, V b) { return a == b; }                                                            \
  GB_INLINE M P##_ne(V a, V b) { return a != b; }                                                            \
  GB_INLINE M P##_isnan(V a) { return a != a; }                                                              \
  GB_INLINE M P##_and(M a, M b) { return a & b; }                                                            \
  GB_INLINE M P##_or(M a, M b) { return a | b; }                                                             \
  GB_INLINE int P##_any(M a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }                                    \
  GB_INLINE int P##_all(M a) { return (a[0] & a[1] & a[2] & a[3]) != 0; }

GB_SIMD(vf, float, vf, mf, uf, sqrtf, floorf, ceilf, rintf)
GB_SIMD(vd, double, vd, md, ud, sqrt, floor, ceil, rint)
#undef GB_SIMD

typedef ud vd_words;
GB_INLINE vd_words vd_mul32 (vd_words a, vd_words b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }

enum { vf_columns = 4, vd_columns = 4 };
GB_INLINE void vf_take_columns (const float *p, ptrdiff_t step, vf out[4]) {
  for (int k = 0; k < 4; k++) out[k] = GB_EACH(vf, p[l_ * step + k]);
}
GB_INLINE void vd_take_columns (const double *p, ptrdiff_t step, vd out[4]) {
  for (int k = 0; k < 4; k++) out[k] = GB_EACH(vd, p[l_ * step + k]);
}

/* vd_width elements as doubles. */
GB_INLINE vd vf_wide (const float *p) { return (vd){(double)p[0], (double)p[1], (double)p[2], (double)p[3]}; }
GB_INLINE vd vd_wide (const double *p) { return vd_load(p); }

/* By halves: l + l+2, + 1. */
GB_INLINE double vd_tree (vd a) { return (a[0] + a[2]) + (a[1] + a[3]); }

/* p[at[l]]. */
GB_INLINE vd vd_gather (const double *p, const int32_t *at) { return GB_EACH(vd, p[at[l_]]); }

/* The numbers, from 'first' on, of those of GB_DIFFER elements that differ, to 'at', all of whose GB_DIFFER elements may be written. */
enum { GB_DIFFER = 8 };
GB_INLINE size_t gb_differ (const int32_t *a, const int32_t *b, int32_t first, int32_t *at) {
  size_t found = 0;
  for (int l = 0; l < GB_DIFFER; l++) {
    at[found] = first + l;
    found += a[l] != b[l];
  }
  return found;
}

/* As 64-bit words: of integers, and of the whole number nearest to each element, ties to even; |a| < 2^62. */
GB_INLINE vd_words vd_load_words (const int64_t *p) {
  vd_words a;
  memcpy(&a, p, sizeof a);
  return a;
}
GB_INLINE void vd_store_words (int64_t *p, vd_words a) { memcpy(p, &a, sizeof a); }
GB_INLINE vd_words vd_whole (vd a) { return GB_EACH(vd_words, (uint64_t)llrint(a[l_])); }

static vf vf_each1 (float (*fn)(float), vf x) { return GB_EACH(vf, fn(x[l_])); }
static vd vd_each1 (double (*fn)(double), vd x) { return GB_EACH(vd, fn(x[l_])); }
static vf vf_each2 (float (*fn)(float, float), vf x, vf y) { return GB_EACH(vf, fn(x[l_], y[l_])); }
static vd vd_each2 (double (*fn)(double, double), vd x, vd y) { return GB_EACH(vd, fn(x[l_], y[l_])); }
#define vf_sleef1(fn, u, x) vf_each1(Sleef_##fn##f1_##u##purec, x)
#define vd_sleef1(fn, u, x) vd_each1(Sleef_##fn##d1_##u##purec, x)
#define vf_sleef2(fn, u, x, y) vf_each2(Sleef_##fn##f1_##u##purec, x, y)
#define vd_sleef2(fn, u, x, y) vd_each2(Sleef_##fn##d1_##u##purec, x, y)

/* 2^n for a whole n and 2^(s c), as in avx2.h; rounding is by adding a large number. */
GB_INLINE vf vf_pow2 (vf n) { return (vf)((uf)(n + (0x1.8p23f + 127.0f)) << 23); }
GB_INLINE vd vd_pow2 (vd n) { return (vd)((ud)(n + (0x1.8p52 + 1023.0)) << 52); }

GB_INLINE vf vf_exp2_mul (vf s, vf c) {
  const vf x = vf_min(vf_set1(128.0f), vf_max(vf_set1(-127.0f), s * c));
  const vf n = (x + 0x1.8p23f) - 0x1.8p23f, f = x - n;
  const vf p = GB_F32_C1 + f * (GB_F32_C2 + f * (GB_F32_C3 + f * (GB_F32_C4 + f * GB_F32_C5)));
  return (f * p + 1.0f) * vf_pow2(n);
}

GB_INLINE vd vd_exp2_mul (vd s, vd c) {
  const vd x = vd_min(vd_set1(1024.0), vd_max(vd_set1(-1023.0), s * c));
  const vd n = (x + 0x1.8p52) - 0x1.8p52, f = x - n;
  const vd high = GB_F64_C7 + f * (GB_F64_C8 + f * (GB_F64_C9 + f * (GB_F64_C10 + f * GB_F64_C11)));
  const vd p =
      GB_F64_C1 +
      f * (GB_F64_C2 + f * (GB_F64_C3 + f * (GB_F64_C4 + f * (GB_F64_C5 + f * (GB_F64_C6 + f * high)))));
  return (f * p + 1.0) * vd_pow2(n);
}

/* Exponent e and mantissa *m in [1/sqrt 2, sqrt 2) of a positive normal y = m 2^e. */
GB_INLINE vf vf_split (vf y, vf *m) {
  const uf i = (uf)y + (GB_F32_ONE_BITS - GB_F32_RSQRT2_BITS);
  *m = (vf)((i & 0x007fffff) + GB_F32_RSQRT2_BITS);
  return __builtin_convertvector((mf)(i >> 23) - 127, vf);
}

GB_INLINE vd vd_split (vd y, vd *m) {
  const ud i = (ud)y + (GB_F64_ONE_BITS - GB_F64_RSQRT2_BITS);
  *m = (vd)((i & 0x000fffffffffffff) + GB_F64_RSQRT2_BITS);
  return __builtin_convertvector((md)(i >> 52) - 1023, vd);
}

#include "cpu/simd/plain.h"

#endif
