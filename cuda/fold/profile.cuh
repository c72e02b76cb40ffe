/* profile.cuh - kernel profiles in f32 for generated kernels and class UNIT: the text of arith/profile.inc over primitives of few
** instructions. eg_ has the bits of ef_ (fold/value.cuh), class EXACT; eu_ is class UNIT, whose 2^x and square roots are the
** special function unit's. Least and greatest of a number and NaN are NaN, as on the CPU where profiles ask for them. */
#ifndef GB_CUDA_FOLD_PROFILE_CUH
#define GB_CUDA_FOLD_PROFILE_CUH

#include "cuda/fold/value.cuh"

GB_INLINE float gb_least_or_nan (float a, float b) {
#ifdef __CUDA_ARCH__
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a < b ? a : b != b || a == a ? b : a;
#endif
}
GB_INLINE float gb_greatest_or_nan (float a, float b) {
#ifdef __CUDA_ARCH__
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a > b ? a : b != b || a == a ? b : a;
#endif
}

/* 2^x, within 2 ulp. */
GB_INLINE float gb_unit_exp2 (float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return exp2f(x);
#endif
}
GB_INLINE float gb_unit_sqrt (float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return sqrtf(x);
#endif
}

#define GB_PRIMITIVES(P)                                                                                     \
  GB_INLINE float P##_set1(float x) { return x; }                                                            \
  GB_INLINE float P##_add(float a, float b) { return a + b; }                                                \
  GB_INLINE float P##_sub(float a, float b) { return a - b; }                                                \
  GB_INLINE float P##_mul(float a, float b) { return a * b; }                                                \
  GB_INLINE float P##_div(float a, float b) { return a / b; }                                                \
  GB_INLINE float P##_fma(float a, float b, float c) { return fmaf(a, b, c); }                               \
  GB_INLINE float P##_neg(float a) { return -a; }                                                            \
  GB_INLINE float P##_min(float a, float b) { return gb_least_or_nan(a, b); }                                \
  GB_INLINE float P##_max(float a, float b) { return gb_greatest_or_nan(a, b); }                             \
  GB_INLINE bool P##_lt(float a, float b) { return a < b; }                                                  \
  GB_INLINE bool P##_le(float a, float b) { return a <= b; }                                                 \
  GB_INLINE bool P##_eq(float a, float b) { return a == b; }                                                 \
  GB_INLINE bool P##_ne(float a, float b) { return a != b; }                                                 \
  GB_INLINE bool P##_isnan(float a) { return a != a; }                                                       \
  GB_INLINE float P##_blend(bool m, float a, float b) { return m ? a : b; }                                  \
  GB_INLINE float P##_split(float y, float *m) { return ef_split(y, m); }

GB_PRIMITIVES(eg)
GB_PRIMITIVES(eu)
#undef GB_PRIMITIVES

GB_INLINE float eg_sqrt (float a) { return sqrtf(a); }
GB_INLINE float eu_sqrt (float a) { return gb_unit_sqrt(a); }

/* As ef_exp2_mul: x + 1.5 2^23 has the nearest whole number in its low bits. */
GB_INLINE float eg_exp2_mul (float s, float c) {
  const float x = gb_least_or_nan(128.0f, gb_greatest_or_nan(-127.0f, s * c));
  const float t = x + 0x1.8p23f, f = x - (t - 0x1.8p23f);
  float p = fmaf(f, GB_F32_C5, GB_F32_C4);
  p = fmaf(f, p, GB_F32_C3);
  p = fmaf(f, p, GB_F32_C2);
  p = fmaf(f, p, GB_F32_C1);
  p = fmaf(f, p, 1.0f);
  return p * gb_bits_as<float>((gb_bits_as<uint32_t>(t) + 127u) << 23);
}
GB_INLINE float eu_exp2_mul (float s, float c) { return gb_unit_exp2(s * c); }

#define GB_FLOAT
#define VEC float
#define MASK bool
#include "arith/constants.inc"
#define V(name) eg_##name
#include "arith/profile.inc"
#undef V
#undef ONE
#define V(name) eu_##name
#include "arith/profile.inc"
#undef V
#undef ONE
#undef VEC
#undef MASK
#define GB_ARITH_END
#include "arith/constants.inc"
#undef GB_FLOAT

#endif
