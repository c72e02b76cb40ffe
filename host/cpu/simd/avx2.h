/* avx2.h - the inline vector primitives on 32-byte registers with FMA: vf_* over 8 floats, vd_* over 4
** doubles. The names and rules are those of avx512.h. */
#ifndef GB_CPU_SIMD_AVX2_H
#define GB_CPU_SIMD_AVX2_H

#include <immintrin.h>
#include <sleef.h>
#include "arith/coef.h"

#define GB_ISA_REGISTERS 16
#define GB_ISA_GROUP 4
#define GB_ISA_ROWS 2
#define GB_ISA_COLUMNS 2
#define GB_ISA_FUSED 1
#define GB_ISA_ALTERNATE
#define GB_ISA_EXP2_BOUNDED 0

typedef __m256 vf, mf;
typedef __m256d vd, md;
enum { vf_width = 8, vd_width = 4 };
typedef int32_t vf_word;
typedef int64_t vd_word;

/* Call before code without AVX instructions. */
#define GB_ISA_LEAVE() _mm256_zeroupper()
#define GB_INLINE static inline __attribute__((always_inline, unused))

GB_INLINE __m256i vf_first (int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
GB_INLINE __m256i vd_first (int n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

#define GB_SIMD(P, T, V, s)                                                                                  \
  GB_INLINE V P##_load(const T *p) { return _mm256_loadu_##s(p); }                                           \
  GB_INLINE void P##_store(T *p, V a) { _mm256_storeu_##s(p, a); }                                           \
  GB_INLINE V P##_load_some(const T *p, int n) { return _mm256_maskload_##s(p, P##_first(n)); }              \
  GB_INLINE void P##_store_some(T *p, V a, int n) { _mm256_maskstore_##s(p, P##_first(n), a); }              \
  GB_INLINE V P##_set1(T x) { return _mm256_set1_##s(x); }                                                   \
  GB_INLINE V P##_add(V a, V b) { return _mm256_add_##s(a, b); }                                             \
  GB_INLINE V P##_sub(V a, V b) { return _mm256_sub_##s(a, b); }                                             \
  GB_INLINE V P##_mul(V a, V b) { return _mm256_mul_##s(a, b); }                                             \
  GB_INLINE V P##_div(V a, V b) { return _mm256_div_##s(a, b); }                                             \
  GB_INLINE V P##_fma(V a, V b, V c) { return _mm256_fmadd_##s(a, b, c); }                                   \
  GB_INLINE V P##_fnma(V a, V b, V c) { return _mm256_fnmadd_##s(a, b, c); }                                 \
  GB_INLINE V P##_sqrt(V a) { return _mm256_sqrt_##s(a); }                                                   \
  GB_INLINE V P##_floor(V a) { return _mm256_round_##s(a, 9); }                                              \
  GB_INLINE V P##_ceil(V a) { return _mm256_round_##s(a, 10); }                                              \
  GB_INLINE V P##_round(V a) { return _mm256_round_##s(a, 8); }                                              \
  GB_INLINE V P##_neg(V a) { return _mm256_xor_##s(a, _mm256_set1_##s((T)-0.0)); }                           \
  GB_INLINE V P##_abs(V a) { return _mm256_andnot_##s(_mm256_set1_##s((T)-0.0), a); }                        \
  GB_INLINE V P##_min(V a, V b) { return _mm256_min_##s(a, b); }                                             \
  GB_INLINE V P##_max(V a, V b) { return _mm256_max_##s(a, b); }                                             \
  GB_INLINE V P##_lt(V a, V b) { return _mm256_cmp_##s(a, b, _CMP_LT_OQ); }                                  \
  GB_INLINE V P##_le(V a, V b) { return _mm256_cmp_##s(a, b, _CMP_LE_OQ); }                                  \
  GB_INLINE V P##_eq(V a, V b) { return _mm256_cmp_##s(a, b, _CMP_EQ_OQ); }                                  \
  GB_INLINE V P##_ne(V a, V b) { return _mm256_cmp_##s(a, b, _CMP_NEQ_UQ); }                                 \
  GB_INLINE V P##_isnan(V a) { return _mm256_cmp_##s(a, a, _CMP_UNORD_Q); }                                  \
  GB_INLINE V P##_and(V a, V b) { return _mm256_and_##s(a, b); }                                             \
  GB_INLINE V P##_or(V a, V b) { return _mm256_or_##s(a, b); }                                               \
  GB_INLINE int P##_any(V a) { return _mm256_movemask_##s(a) != 0; }                                         \
  GB_INLINE int P##_all(V a) { return _mm256_movemask_##s(a) == (1 << P##_width) - 1; }                      \
  GB_INLINE V P##_blend(V m, V a, V b) { return _mm256_blendv_##s(b, a, m); } /* m ? a : b */

GB_SIMD(vf, float, vf, ps)
GB_SIMD(vd, double, vd, pd)
#undef GB_SIMD

typedef uint64_t vd_words __attribute__((vector_size(32)));
GB_INLINE vd_words vd_mul32 (vd_words a, vd_words b) {
  return (vd_words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

enum { vf_columns = 4, vd_columns = 2 };
GB_INLINE vf vf_halves (const float *p, ptrdiff_t step) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * step), 1);
}
GB_INLINE void vf_take_columns (const float *p, ptrdiff_t step, vf out[4]) {
  const vf a = vf_halves(p, step), b = vf_halves(p + step, step);
  const vf c = vf_halves(p + 2 * step, step), d = vf_halves(p + 3 * step, step);
  const __m256d x = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)),
                y = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
  const __m256d z = _mm256_castps_pd(_mm256_unpacklo_ps(c, d)),
                w = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
  out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(x, z));
  out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(x, z));
  out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(y, w));
  out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(y, w));
}
GB_INLINE vd vd_halves (const double *p, ptrdiff_t step) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(p + 2 * step), 1);
}
GB_INLINE void vd_take_columns (const double *p, ptrdiff_t step, vd out[2]) {
  const vd a = vd_halves(p, step), b = vd_halves(p + step, step);
  out[0] = _mm256_unpacklo_pd(a, b);
  out[1] = _mm256_unpackhi_pd(a, b);
}

/* vd_width elements as doubles. */
GB_INLINE vd vf_wide (const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
GB_INLINE vd vd_wide (const double *p) { return vd_load(p); }

/* By halves: l + l+2, + 1. */
GB_INLINE double vd_tree (vd a) {
  const __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(b) + _mm_cvtsd_f64(_mm_unpackhi_pd(b, b));
}

/* p[at[l]]. */
GB_INLINE vd vd_gather (const double *p, const int32_t *at) {
  return _mm256_i32gather_pd(p, _mm_loadu_si128((const __m128i *)at), 8);
}

/* The numbers, from 'first' on, of those of GB_DIFFER elements that differ, to 'at'. */
enum { GB_DIFFER = 8 };
GB_INLINE size_t gb_differ (const int32_t *a, const int32_t *b, int32_t first, int32_t *at) {
  const __m256i v = _mm256_loadu_si256((const __m256i *)a), w = _mm256_loadu_si256((const __m256i *)b);
  const int same = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, w)));
  size_t found = 0;
  for (int bits = same ^ 0xff; bits != 0; bits &= bits - 1)
    at[found++] = first + __builtin_ctz((unsigned)bits);
  return found;
}

/* As 64-bit words: of integers, and of the whole number nearest to each element, ties to even; |a| < 2^62. */
GB_INLINE vd_words vd_load_words (const int64_t *p) {
  return (vd_words)_mm256_loadu_si256((const __m256i *)p);
}
GB_INLINE void vd_store_words (int64_t *p, vd_words a) { _mm256_storeu_si256((__m256i *)p, (__m256i)a); }
/* In two halves: adding 1.5 * 2^52 leaves a whole number in the low bits. */
GB_INLINE vd_words vd_whole (vd a) {
  const vd magic = vd_set1(0x1.8p52), high = vd_add(vd_mul(a, vd_set1(0x1p-32)), magic);
  const vd low = vd_add(vd_fnma(vd_sub(high, magic), vd_set1(0x1p32), a), magic);
  const vd_words zero = (vd_words)_mm256_castpd_si256(magic);
  return (((vd_words)_mm256_castpd_si256(high) - zero) << 32) + ((vd_words)_mm256_castpd_si256(low) - zero);
}

#define vf_sleef1(fn, u, x) Sleef_##fn##f8_##u##avx2(x)
#define vd_sleef1(fn, u, x) Sleef_##fn##d4_##u##avx2(x)
#define vf_sleef2(fn, u, x, y) Sleef_##fn##f8_##u##avx2(x, y)
#define vd_sleef2(fn, u, x, y) Sleef_##fn##d4_##u##avx2(x, y)

/* 2^n for a whole n in [-127, 128] or [-1023, 1024], 0 and inf at the ends: adding 1.5 * 2^23 + 127 leaves
** the biased exponent in the low bits. */
GB_INLINE vf vf_pow2 (vf n) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_castps_si256(vf_add(n, vf_set1(0x1.8p23f + 127.0f))), 23));
}
GB_INLINE vd vd_pow2 (vd n) {
  return _mm256_castsi256_pd(
      _mm256_slli_epi64(_mm256_castpd_si256(vd_add(n, vd_set1(0x1.8p52 + 1023.0))), 52));
}

/* 2^(s c): s c is clamped to the range of finite powers and their limits; NaN passes both clamps. */
GB_INLINE vf vf_exp2_mul (vf s, vf c) {
  const vf x = vf_min(vf_set1(128.0f), vf_max(vf_set1(-127.0f), vf_mul(s, c)));
  const vf n = vf_round(x), f = vf_sub(x, n);
  vf p = vf_fma(f, vf_set1(GB_F32_C5), vf_set1(GB_F32_C4));
  p = vf_fma(f, p, vf_set1(GB_F32_C3));
  p = vf_fma(f, p, vf_set1(GB_F32_C2));
  p = vf_fma(f, p, vf_set1(GB_F32_C1));
  p = vf_fma(f, p, vf_set1(1.0f));
  return vf_mul(p, vf_pow2(n));
}

GB_INLINE vd vd_exp2_mul (vd s, vd c) {
  const vd x = vd_min(vd_set1(1024.0), vd_max(vd_set1(-1023.0), vd_mul(s, c)));
  const vd n = vd_round(x), f = vd_sub(x, n);
  vd p = vd_fma(f, vd_set1(GB_F64_C11), vd_set1(GB_F64_C10));
  p = vd_fma(f, p, vd_set1(GB_F64_C9));
  p = vd_fma(f, p, vd_set1(GB_F64_C8));
  p = vd_fma(f, p, vd_set1(GB_F64_C7));
  p = vd_fma(f, p, vd_set1(GB_F64_C6));
  p = vd_fma(f, p, vd_set1(GB_F64_C5));
  p = vd_fma(f, p, vd_set1(GB_F64_C4));
  p = vd_fma(f, p, vd_set1(GB_F64_C3));
  p = vd_fma(f, p, vd_set1(GB_F64_C2));
  p = vd_fma(f, p, vd_set1(GB_F64_C1));
  p = vd_fma(f, p, vd_set1(1.0));
  return vd_mul(p, vd_pow2(n));
}

/* Exponent e and mantissa *m in [1/sqrt 2, sqrt 2) of a positive normal y = m 2^e. */
GB_INLINE vf vf_split (vf y, vf *m) {
  const __m256i low = _mm256_set1_epi32(GB_F32_RSQRT2_BITS);
  const __m256i i =
      _mm256_add_epi32(_mm256_castps_si256(y), _mm256_set1_epi32(GB_F32_ONE_BITS - GB_F32_RSQRT2_BITS));
  *m = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_and_si256(i, _mm256_set1_epi32(0x007fffff)), low));
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(i, 23), _mm256_set1_epi32(127)));
}

/* The exponent becomes a double as the low bits of 2^52. */
GB_INLINE vd vd_split (vd y, vd *m) {
  const __m256i low = _mm256_set1_epi64x(GB_F64_RSQRT2_BITS);
  const __m256i i =
      _mm256_add_epi64(_mm256_castpd_si256(y), _mm256_set1_epi64x(GB_F64_ONE_BITS - GB_F64_RSQRT2_BITS));
  *m =
      _mm256_castsi256_pd(_mm256_add_epi64(_mm256_and_si256(i, _mm256_set1_epi64x(0x000fffffffffffff)), low));
  const __m256i e = _mm256_or_si256(_mm256_srli_epi64(i, 52), _mm256_castpd_si256(vd_set1(0x1p52)));
  return vd_sub(_mm256_castsi256_pd(e), vd_set1(0x1p52 + 1023.0));
}

#include "cpu/simd/plain.h"

#endif
