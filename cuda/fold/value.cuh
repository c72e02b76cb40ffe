/* value.cuh - the arithmetic of one value on the device, the same text under nvcc and g++. Profiles and elementwise
** functions are those of host/arith, over vectors of one lane; the rest of the library is the device's own.
**
** ef_ float and ed_ double have the bits of the instruction set avx2 wherever only IEEE operations and profiles are
** involved. */
#ifndef GB_CUDA_FOLD_VALUE_CUH
#define GB_CUDA_FOLD_VALUE_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "arith/coef.h"
#include "cuda/launch.h"
#include "program/fold.h"

#define GB_INLINE static GB_DEVICE
#define GB_ISA_EXP2_BOUNDED 0

/* The same bits as another type. */
template <class A, class B> GB_INLINE A gb_bits_as (B b) {
  A a;
  static_assert(sizeof a == sizeof b, "types of one size");
  memcpy(&a, &b, sizeof a);
  return a;
}

/* -- primitives of one lane: the operations of simd/avx2.h, with what they do to NaN */

#define GB_LANE(P, T, fma_, sqrt_, floor_, ceil_, rint_, abs_)                                               \
  GB_INLINE T P##_set1(T x) { return x; }                                                                    \
  GB_INLINE T P##_add(T a, T b) { return a + b; }                                                            \
  GB_INLINE T P##_sub(T a, T b) { return a - b; }                                                            \
  GB_INLINE T P##_mul(T a, T b) { return a * b; }                                                            \
  GB_INLINE T P##_div(T a, T b) { return a / b; }                                                            \
  GB_INLINE T P##_fma(T a, T b, T c) { return fma_(a, b, c); }                                               \
  GB_INLINE T P##_sqrt(T a) { return sqrt_(a); }                                                             \
  GB_INLINE T P##_floor(T a) { return floor_(a); }                                                           \
  GB_INLINE T P##_ceil(T a) { return ceil_(a); }                                                             \
  GB_INLINE T P##_round(T a) { return rint_(a); }                                                            \
  GB_INLINE T P##_neg(T a) { return -a; }                                                                    \
  GB_INLINE T P##_abs(T a) { return abs_(a); }                                                               \
  GB_INLINE T P##_min(T a, T b) { return a < b ? a : b; }                                                    \
  GB_INLINE T P##_max(T a, T b) { return a > b ? a : b; }                                                    \
  GB_INLINE bool P##_lt(T a, T b) { return a < b; }                                                          \
  GB_INLINE bool P##_le(T a, T b) { return a <= b; }                                                         \
  GB_INLINE bool P##_eq(T a, T b) { return a == b; }                                                         \
  GB_INLINE bool P##_ne(T a, T b) { return a != b; }                                                         \
  GB_INLINE bool P##_isnan(T a) { return a != a; }                                                           \
  GB_INLINE bool P##_and(bool a, bool b) { return a && b; }                                                  \
  GB_INLINE bool P##_or(bool a, bool b) { return a || b; }                                                   \
  GB_INLINE T P##_blend(bool m, T a, T b) { return m ? a : b; }

GB_LANE(ef, float, fmaf, sqrtf, floorf, ceilf, rintf, fabsf)
GB_LANE(ed, double, fma, sqrt, floor, ceil, rint, fabs)
#undef GB_LANE

/* 2^n for a whole n in [-127, 128] or [-1023, 1024], 0 and inf at the ends. */
GB_INLINE float gb_pow2 (float n) {
  return gb_bits_as<float>(gb_bits_as<uint32_t>(n + (0x1.8p23f + 127.0f)) << 23);
}
GB_INLINE double gb_pow2 (double n) {
  return gb_bits_as<double>(gb_bits_as<uint64_t>(n + (0x1.8p52 + 1023.0)) << 52);
}

/* 2^(s c); NaN passes both clamps. */
GB_INLINE float ef_exp2_mul (float s, float c) {
  const float x = ef_min(128.0f, ef_max(-127.0f, s * c)), n = rintf(x), f = x - n;
  float p = fmaf(f, GB_F32_C5, GB_F32_C4);
  p = fmaf(f, p, GB_F32_C3);
  p = fmaf(f, p, GB_F32_C2);
  p = fmaf(f, p, GB_F32_C1);
  p = fmaf(f, p, 1.0f);
  return p * gb_pow2(n);
}

GB_INLINE double ed_exp2_mul (double s, double c) {
  const double x = ed_min(1024.0, ed_max(-1023.0, s * c)), n = rint(x), f = x - n;
  double p = fma(f, GB_F64_C11, GB_F64_C10);
  p = fma(f, p, GB_F64_C9);
  p = fma(f, p, GB_F64_C8);
  p = fma(f, p, GB_F64_C7);
  p = fma(f, p, GB_F64_C6);
  p = fma(f, p, GB_F64_C5);
  p = fma(f, p, GB_F64_C4);
  p = fma(f, p, GB_F64_C3);
  p = fma(f, p, GB_F64_C2);
  p = fma(f, p, GB_F64_C1);
  p = fma(f, p, 1.0);
  return p * gb_pow2(n);
}

/* Exponent e and mantissa *m in [1/sqrt 2, sqrt 2) of a positive normal y = m 2^e. */
GB_INLINE float ef_split (float y, float *m) {
  const uint32_t i = gb_bits_as<uint32_t>(y) + (GB_F32_ONE_BITS - GB_F32_RSQRT2_BITS);
  *m = gb_bits_as<float>((i & 0x007fffffu) + (uint32_t)GB_F32_RSQRT2_BITS);
  return (float)((int32_t)(i >> 23) - 127);
}
GB_INLINE double ed_split (double y, double *m) {
  const uint64_t i = gb_bits_as<uint64_t>(y) + (uint64_t)(GB_F64_ONE_BITS - GB_F64_RSQRT2_BITS);
  *m = gb_bits_as<double>((i & 0x000fffffffffffffu) + (uint64_t)GB_F64_RSQRT2_BITS);
  return (double)((int64_t)(i >> 52) - 1023);
}

/* -- functions of the device's library */

#define GB_FLOAT_LIBRARY1(fn, u, x) ::fn##f(x)
#define GB_DOUBLE_LIBRARY1(fn, u, x) ::fn(x)
#define GB_FLOAT_LIBRARY2(fn, u, x, y) ::fn##f(x, y)
#define GB_DOUBLE_LIBRARY2(fn, u, x, y) ::fn(x, y)
#define ef_sleef1 GB_FLOAT_LIBRARY1
#define ed_sleef1 GB_DOUBLE_LIBRARY1
#define ef_sleef2 GB_FLOAT_LIBRARY2
#define ed_sleef2 GB_DOUBLE_LIBRARY2

#define GB_FLOAT
#define V(name) ef_##name
#define GB_VALUES gb_exact_float
#include "cuda/fold/value.inc"
#undef GB_FLOAT
#define V(name) ed_##name
#define GB_VALUES gb_double
#include "cuda/fold/value.inc"

/* -- integers; arithmetic wraps around */

#define GB_INTEGER GB_INLINE
#include "arith/integer.inc"
#undef GB_INTEGER

struct gb_integer {
  typedef int64_t real;
  static GB_DEVICE int64_t add (int64_t a, int64_t b) { return integer_add(a, b); }
  static GB_DEVICE int64_t sub (int64_t a, int64_t b) { return integer_sub(a, b); }
  static GB_DEVICE int64_t mul (int64_t a, int64_t b) { return integer_mul(a, b); }
  static GB_DEVICE int64_t fma (int64_t a, int64_t b, int64_t c) { return add(mul(a, b), c); }
  static GB_CALLED int64_t map (int op, int64_t x, int64_t y, int64_t z) {
    return integer_map((gb_op)op, x, y, z);
  }
  static GB_DEVICE int64_t radial (int, int, int, int64_t, double, double) { return 0; } /* never asked */
  static GB_DEVICE int64_t exp (int64_t) { return 0; }
  static GB_DEVICE int64_t lse2 (int64_t, int64_t) { return 0; }
  static GB_DEVICE int64_t combine (int m, int64_t a, int64_t t) {
    return integer_combine((gb_monoid)m, a, t);
  }
  static GB_DEVICE int64_t join (int m, int64_t a, int64_t b) { return combine(m, a, b); }
  static GB_DEVICE int64_t finite_or_0 (int64_t x) { return x; }
  static GB_DEVICE int64_t identity (int m) {
    return m == GB_PROD || m == GB_ALLTRUE ? 1
           : m == GB_MINIMUM               ? INT64_MAX
           : m == GB_MAXIMUM               ? INT64_MIN
                                           : 0;
  }
};

#endif
