/* avx512.h - the inline vector primitives on 64-byte registers: vf_* over 16 floats, vd_* over 8
** doubles.
**
** Every simd_*.h defines the same names. min and max return the second argument when either is NaN (as the
** machine does); ne is true for NaN, the other comparisons are false. load_some and store_some touch the
** first n elements, the others are read as 0. */
#ifndef GB_CPU_SIMD_AVX512_H
#define GB_CPU_SIMD_AVX512_H

#include <immintrin.h>
#include <sleef.h>
#include "arith/coef.h"

#define GB_ISA_REGISTERS 32
#define GB_ISA_GROUP 4   /* vectors of lanes a micro-tile holds */
#define GB_ISA_ROWS 4    /* and its rows, where the dimension is not small */
#define GB_ISA_COLUMNS 4 /* right-hand sides of one */
#define GB_ISA_FUSED 1   /* fma rounds once */
/* For long independent chains that fit in 32 registers: scheduled before register allocation, their steps
** alternate. */
#ifdef __clang__
#define GB_ISA_ALTERNATE
#else
#define GB_ISA_ALTERNATE __attribute__((optimize("schedule-insns", "sched-pressure")))
#endif
#define GB_ISA_EXP2_BOUNDED 1 /* exp2_mul needs |s c| small relative to the type's range, or inf or NaN */

typedef __m512 vf;
typedef __m512d vd;
typedef __mmask16 mf;
typedef __mmask8 md;
enum { vf_width = 16, vd_width = 8 };
typedef int32_t vf_word;
typedef int64_t vd_word;

/* Call before code without AVX instructions. */
#define GB_ISA_LEAVE() _mm256_zeroupper()
#define GB_INLINE static inline __attribute__((always_inline, unused))

#define GB_SIMD(P, T, V, M, s, W, B)                                                                         \
  GB_INLINE V P##_load(const T *p) { return _mm512_loadu_##s(p); }                                           \
  GB_INLINE void P##_store(T *p, V a) { _mm512_storeu_##s(p, a); }                                           \
  GB_INLINE V P##_load_some(const T *p, int n) { return _mm512_maskz_loadu_##s((M)((1u << n) - 1), p); }     \
  GB_INLINE void P##_store_some(T *p, V a, int n) { _mm512_mask_storeu_##s(p, (M)((1u << n) - 1), a); }      \
  GB_INLINE V P##_set1(T x) { return _mm512_set1_##s(x); }                                                   \
  GB_INLINE V P##_add(V a, V b) { return _mm512_add_##s(a, b); }                                             \
  GB_INLINE V P##_sub(V a, V b) { return _mm512_sub_##s(a, b); }                                             \
  GB_INLINE V P##_mul(V a, V b) { return _mm512_mul_##s(a, b); }                                             \
  GB_INLINE V P##_div(V a, V b) { return _mm512_div_##s(a, b); }                                             \
  GB_INLINE V P##_fma(V a, V b, V c) { return _mm512_fmadd_##s(a, b, c); }                                   \
  GB_INLINE V P##_fnma(V a, V b, V c) { return _mm512_fnmadd_##s(a, b, c); }                                 \
  GB_INLINE V P##_sqrt(V a) { return _mm512_sqrt_##s(a); }                                                   \
  GB_INLINE V P##_floor(V a) { return _mm512_roundscale_##s(a, 9); }                                         \
  GB_INLINE V P##_ceil(V a) { return _mm512_roundscale_##s(a, 10); }                                         \
  GB_INLINE V P##_round(V a) { return _mm512_roundscale_##s(a, 8); }                                         \
  GB_INLINE V P##_neg(V a) { return _mm512_xor_##s(a, _mm512_set1_##s((T)-0.0)); }                           \
  GB_INLINE V P##_abs(V a) { return _mm512_abs_##s(a); }                                                     \
  GB_INLINE V P##_min(V a, V b) { return _mm512_min_##s(a, b); }                                             \
  GB_INLINE V P##_max(V a, V b) { return _mm512_max_##s(a, b); }                                             \
  GB_INLINE M P##_lt(V a, V b) { return _mm512_cmp_##s##_mask(a, b, _CMP_LT_OQ); }                           \
  GB_INLINE M P##_le(V a, V b) { return _mm512_cmp_##s##_mask(a, b, _CMP_LE_OQ); }                           \
  GB_INLINE M P##_eq(V a, V b) { return _mm512_cmp_##s##_mask(a, b, _CMP_EQ_OQ); }                           \
  GB_INLINE M P##_ne(V a, V b) { return _mm512_cmp_##s##_mask(a, b, _CMP_NEQ_UQ); }                          \
  GB_INLINE M P##_isnan(V a) { return _mm512_cmp_##s##_mask(a, a, _CMP_UNORD_Q); }                           \
  GB_INLINE M P##_and(M a, M b) { return (M)(a & b); }                                                       \
  GB_INLINE M P##_or(M a, M b) { return (M)(a | b); }                                                        \
  GB_INLINE int P##_any(M a) { return a != 0; }                                                              \
  GB_INLINE int P##_all(M a) { return a == (M)((1u << W) - 1); }                                             \
  GB_INLINE V P##_blend(M m, V a, V b) { return _mm512_mask_blend_##s(m, b, a); } /* m ? a : b */

GB_SIMD(vf, float, vf, mf, ps, 16, 32)
GB_SIMD(vd, double, vd, md, pd, 8, 64)
#undef GB_SIMD

/* Products of the low halves of 64-bit words. */
typedef uint64_t vd_words __attribute__((vector_size(64)));
GB_INLINE vd_words vd_mul32 (vd_words a, vd_words b) {
  return (vd_words)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

/* out[k] = element k of every row, rows 'step' apart: quarters of four rows in one register, then each
** transposed. */
enum { vf_columns = 4, vd_columns = 2 };
GB_INLINE vf vf_quarters (const float *p, ptrdiff_t step) {
  vf a = _mm512_castps128_ps512(_mm_loadu_ps(p));
  a = _mm512_insertf32x4(a, _mm_loadu_ps(p + 4 * step), 1);
  a = _mm512_insertf32x4(a, _mm_loadu_ps(p + 8 * step), 2);
  return _mm512_insertf32x4(a, _mm_loadu_ps(p + 12 * step), 3);
}
GB_INLINE void vf_take_columns (const float *p, ptrdiff_t step, vf out[4]) {
  const vf a = vf_quarters(p, step), b = vf_quarters(p + step, step);
  const vf c = vf_quarters(p + 2 * step, step), d = vf_quarters(p + 3 * step, step);
  const __m512d x = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                y = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
  const __m512d z = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                w = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
  out[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, z));
  out[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, z));
  out[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(y, w));
  out[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(y, w));
}
GB_INLINE vd vd_quarters (const double *p, ptrdiff_t step) {
  vd a = _mm512_castpd128_pd512(_mm_loadu_pd(p));
  a = _mm512_insertf64x2(a, _mm_loadu_pd(p + 2 * step), 1);
  a = _mm512_insertf64x2(a, _mm_loadu_pd(p + 4 * step), 2);
  return _mm512_insertf64x2(a, _mm_loadu_pd(p + 6 * step), 3);
}
GB_INLINE void vd_take_columns (const double *p, ptrdiff_t step, vd out[2]) {
  const vd a = vd_quarters(p, step), b = vd_quarters(p + step, step);
  out[0] = _mm512_unpacklo_pd(a, b);
  out[1] = _mm512_unpackhi_pd(a, b);
}

/* vd_width elements as doubles. */
GB_INLINE vd vf_wide (const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
GB_INLINE vd vd_wide (const double *p) { return vd_load(p); }

/* By halves: l + l+4, + 2, + 1. */
GB_INLINE double vd_tree (vd a) {
  const __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
  const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
  return _mm_cvtsd_f64(c) + _mm_cvtsd_f64(_mm_unpackhi_pd(c, c));
}

/* p[at[l]]. */
GB_INLINE vd vd_gather (const double *p, const int32_t *at) {
  return _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)at), p, 8);
}

/* The numbers, from 'first' on, of those of GB_DIFFER elements that differ, to 'at', all of whose GB_DIFFER elements are written. */
enum { GB_DIFFER = 16 };
GB_INLINE size_t gb_differ (const int32_t *a, const int32_t *b, int32_t first, int32_t *at) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __mmask16 differ = _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
  const __m512i number = _mm512_add_epi32(lane, _mm512_set1_epi32(first));
  _mm512_storeu_si512(at, _mm512_maskz_compress_epi32(differ, number));
  return (size_t)_mm_popcnt_u32(differ);
}

/* As 64-bit words: of integers, and of the whole number nearest to each element, ties to even; |a| < 2^62. */
GB_INLINE vd_words vd_load_words (const int64_t *p) { return (vd_words)_mm512_loadu_si512(p); }
GB_INLINE void vd_store_words (int64_t *p, vd_words a) { _mm512_storeu_si512(p, (__m512i)a); }
GB_INLINE vd_words vd_whole (vd a) { return (vd_words)_mm512_cvtpd_epi64(a); }

#define vf_sleef1(fn, u, x) Sleef_##fn##f16_##u##avx512f(x)
#define vd_sleef1(fn, u, x) Sleef_##fn##d8_##u##avx512f(x)
#define vf_sleef2(fn, u, x, y) Sleef_##fn##f16_##u##avx512f(x, y)
#define vd_sleef2(fn, u, x, y) Sleef_##fn##d8_##u##avx512f(x, y)

/* 2^(i/32) and 2^(i/16) */
static const float gb_exp2_table_f[32] __attribute__((aligned(64))) = {
    0x1.000000p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f,
    0x1.2387a6p+0f, 0x1.29e9e0p+0f, 0x1.306fe0p+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f,
    0x1.4bfdaep+0f, 0x1.5342b6p+0f, 0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f,
    0x1.7a1148p+0f, 0x1.82589ap+0f, 0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f,
    0x1.ae89fap+0f, 0x1.b7f770p+0f, 0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f,
    0x1.ea4afap+0f, 0x1.f50766p+0f};
static const double gb_exp2_table_d[16] __attribute__((aligned(64))) = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};

/* 2^(s c). Adding 1.5 * 2^18 leaves 32 s c, rounded, in the low bits: they choose the table entry T, and
** scalef's floor takes the whole part. Then 2^f on the rest |f| <= 1/64 as T + T f (C1 + C2 f). The
** product s c is rounded only in the choice of the entry. For s c = -inf, f is NaN and scalef(NaN, -inf)
** is 0; NaN stays NaN. A finite s c so large that the square of its rounding error overflows would be
** inf. */
GB_INLINE vf vf_exp2_mul (vf s, vf c) {
  const vf magic = _mm512_set1_ps(0x1.8p18f);
  const vf t = _mm512_fmadd_ps(s, c, magic);
  const vf r = _mm512_sub_ps(t, magic);
  const vf f = _mm512_fmsub_ps(s, c, r);
  const vf e = _mm512_permutex2var_ps(_mm512_load_ps(gb_exp2_table_f), _mm512_castps_si512(t),
                                      _mm512_load_ps(gb_exp2_table_f + 16));
  const vf q = _mm512_fmadd_ps(f, _mm512_set1_ps(GB_F32_TAB_C2), _mm512_set1_ps(GB_F32_TAB_C1));
  return _mm512_scalef_ps(_mm512_fmadd_ps(_mm512_mul_ps(e, f), q, e), r);
}

/* The same with 16 entries and degree 6. */
GB_INLINE vd vd_exp2_mul (vd s, vd c) {
  const vd magic = _mm512_set1_pd(0x1.8p48);
  const vd t = _mm512_fmadd_pd(s, c, magic);
  const vd r = _mm512_sub_pd(t, magic);
  const vd f = _mm512_fmsub_pd(s, c, r);
  const vd e = _mm512_permutex2var_pd(_mm512_load_pd(gb_exp2_table_d), _mm512_castpd_si512(t),
                                      _mm512_load_pd(gb_exp2_table_d + 8));
  vd q = _mm512_fmadd_pd(f, _mm512_set1_pd(GB_F64_TAB_C6), _mm512_set1_pd(GB_F64_TAB_C5));
  q = _mm512_fmadd_pd(f, q, _mm512_set1_pd(GB_F64_TAB_C4));
  q = _mm512_fmadd_pd(f, q, _mm512_set1_pd(GB_F64_TAB_C3));
  q = _mm512_fmadd_pd(f, q, _mm512_set1_pd(GB_F64_TAB_C2));
  q = _mm512_fmadd_pd(f, q, _mm512_set1_pd(GB_F64_TAB_C1));
  return _mm512_scalef_pd(_mm512_fmadd_pd(_mm512_mul_pd(e, f), q, e), r);
}

/* e^x to 1 ulp: x = n ln 2 + g, |g| <= ln(2) / 2, e^g = 1 + (g + g^2 P(g)). From -150 down 0, from 150 up
** inf. */
GB_INLINE vf vf_exp (vf x) {
  const vf magic = _mm512_set1_ps(0x1.8p23f);
  const vf y = _mm512_min_ps(_mm512_set1_ps(150), _mm512_max_ps(_mm512_set1_ps(-150), x));
  const vf n = _mm512_sub_ps(_mm512_fmadd_ps(y, _mm512_set1_ps((float)GB_LOG2E), magic), magic);
  const vf h = _mm512_fnmadd_ps(n, _mm512_set1_ps(GB_F32_LN2_HI), y);
  const vf g = _mm512_fnmadd_ps(n, _mm512_set1_ps(GB_F32_LN2_LO), h);
  vf p = _mm512_fmadd_ps(g, _mm512_set1_ps(GB_F32_EXP_P4), _mm512_set1_ps(GB_F32_EXP_P3));
  p = _mm512_fmadd_ps(g, p, _mm512_set1_ps(GB_F32_EXP_P2));
  p = _mm512_fmadd_ps(g, p, _mm512_set1_ps(GB_F32_EXP_P1));
  p = _mm512_fmadd_ps(g, p, _mm512_set1_ps(GB_F32_EXP_P0));
  const vf e = _mm512_add_ps(_mm512_set1_ps(1), _mm512_fmadd_ps(_mm512_mul_ps(g, g), p, g));
  return _mm512_scalef_ps(e, n);
}

/* The rounding errors of the entries of gb_exp2_table_d. */
static const double gb_exp2_rest_d[16] __attribute__((aligned(64))) = {0x0.0p+0,
                                                                       0x1.8a62e4adc610bp-54,
                                                                       -0x1.19041b9d78a76p-55,
                                                                       0x1.9b07eb6c70573p-54,
                                                                       0x1.6f46ad23182e4p-55,
                                                                       0x1.ada0911f09ebcp-55,
                                                                       0x1.d4397afec42e2p-56,
                                                                       0x1.6324c054647adp-54,
                                                                       -0x1.bdd3413b26456p-54,
                                                                       -0x1.41577ee04992fp-55,
                                                                       0x1.6e9f156864b27p-54,
                                                                       0x1.c7c46b071f2bep-56,
                                                                       0x1.7a1cd345dcc81p-54,
                                                                       0x1.11065895048ddp-55,
                                                                       0x1.2ed02d75b3707p-55,
                                                                       -0x1.e9c23179c2893p-54};

/* The same to 1 ulp: x = (n / 16) ln 2 + g, |g| <= ln(2) / 32, and a table of 2^(i/16) as in vd_exp2_mul. */
GB_INLINE vd vd_exp (vd x) {
  const vd magic = _mm512_set1_pd(0x1.8p48);
  const vd y = _mm512_min_pd(_mm512_set1_pd(1200), _mm512_max_pd(_mm512_set1_pd(-1200), x));
  const vd t = _mm512_fmadd_pd(y, _mm512_set1_pd(GB_LOG2E), magic), n = _mm512_sub_pd(t, magic);
  const vd g = _mm512_fnmadd_pd(n, _mm512_set1_pd(GB_F64_LN2_LO),
                                _mm512_fnmadd_pd(n, _mm512_set1_pd(GB_F64_LN2_HI), y));
  const __m512i i = _mm512_castpd_si512(t);
  const vd e =
      _mm512_permutex2var_pd(_mm512_load_pd(gb_exp2_table_d), i, _mm512_load_pd(gb_exp2_table_d + 8));
  const vd rest =
      _mm512_permutex2var_pd(_mm512_load_pd(gb_exp2_rest_d), i, _mm512_load_pd(gb_exp2_rest_d + 8));
  vd p = _mm512_fmadd_pd(g, _mm512_set1_pd(GB_F64_EXP_P4), _mm512_set1_pd(GB_F64_EXP_P3));
  p = _mm512_fmadd_pd(g, p, _mm512_set1_pd(GB_F64_EXP_P2));
  p = _mm512_fmadd_pd(g, p, _mm512_set1_pd(GB_F64_EXP_P1));
  p = _mm512_fmadd_pd(g, p, _mm512_set1_pd(0.5));
  p = _mm512_fmadd_pd(_mm512_mul_pd(g, g), p, g);
  return _mm512_scalef_pd(_mm512_add_pd(e, _mm512_fmadd_pd(e, p, rest)), n);
}

/* Sine of r less the rest of m pi, negated where bit 31 of 'flip' is set: r + r (r^2 P(r^2)), |r| <= pi /
** 2. That of -0 is -0: r^2 P + 0 is +0 there, where the product alone is -0. */
GB_INLINE vf vf_sin_rest (vf r, vf m, __m512i flip) {
  r = _mm512_fnmadd_ps(m, _mm512_set1_ps(GB_F32_PI_LO),
                       _mm512_fnmadd_ps(m, _mm512_set1_ps(GB_F32_PI_MID), r));
  const vf s = _mm512_castsi512_ps(_mm512_xor_epi32(_mm512_castps_si512(r), flip));
  const vf z = _mm512_mul_ps(s, s);
  vf p = _mm512_fmadd_ps(z, _mm512_set1_ps(GB_F32_SIN_P3), _mm512_set1_ps(GB_F32_SIN_P2));
  p = _mm512_fmadd_ps(z, p, _mm512_set1_ps(GB_F32_SIN_P1));
  p = _mm512_fmadd_ps(z, p, _mm512_set1_ps(GB_F32_SIN_P0));
  return _mm512_fmadd_ps(_mm512_fmadd_ps(z, p, _mm512_setzero_ps()), s, s);
}

/* sin and cos of |x| < 125 to 2 ulp. n pi, and (n + 1/2) pi for the cosine, leave x by three parts of pi,
** the first difference exact; the sign is n's last bit. */
GB_INLINE vf vf_sin_near (vf x) {
  const vf magic = _mm512_set1_ps(0x1.8p23f);
  const vf t = _mm512_fmadd_ps(x, _mm512_set1_ps((float)(1 / GB_PI)), magic), n = _mm512_sub_ps(t, magic);
  return vf_sin_rest(_mm512_fnmadd_ps(n, _mm512_set1_ps(GB_F32_PI_HI), x), n,
                     _mm512_slli_epi32(_mm512_castps_si512(t), 31));
}
GB_INLINE vf vf_cos_near (vf x) {
  const vf magic = _mm512_set1_ps(0x1.8p23f), half = _mm512_set1_ps(0.5f);
  const vf t = _mm512_add_ps(_mm512_fmsub_ps(x, _mm512_set1_ps((float)(1 / GB_PI)), half), magic);
  const vf m = _mm512_add_ps(_mm512_sub_ps(t, magic), half);
  const __m512i odd = _mm512_slli_epi32(_mm512_castps_si512(t), 31);
  return vf_sin_rest(_mm512_fnmadd_ps(m, _mm512_set1_ps(GB_F32_PI_HI), x), m,
                     _mm512_xor_epi32(odd, _mm512_set1_epi32((int)0x80000000)));
}
#define vd_sin_near(x) vd_sleef1(sin, u10, x)
#define vd_cos_near(x) vd_sleef1(cos, u10, x)

/* Exponent e and mantissa *m in [1/sqrt 2, sqrt 2) of a positive normal y = m 2^e. */
GB_INLINE vf vf_split (vf y, vf *m) {
  const __m512i low = _mm512_set1_epi32(GB_F32_RSQRT2_BITS);
  const __m512i i =
      _mm512_add_epi32(_mm512_castps_si512(y), _mm512_set1_epi32(GB_F32_ONE_BITS - GB_F32_RSQRT2_BITS));
  *m = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_and_epi32(i, _mm512_set1_epi32(0x007fffff)), low));
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_srli_epi32(i, 23), _mm512_set1_epi32(127)));
}

GB_INLINE vd vd_split (vd y, vd *m) {
  const __m512i low = _mm512_set1_epi64(GB_F64_RSQRT2_BITS);
  const __m512i i =
      _mm512_add_epi64(_mm512_castpd_si512(y), _mm512_set1_epi64(GB_F64_ONE_BITS - GB_F64_RSQRT2_BITS));
  *m = _mm512_castsi512_pd(_mm512_add_epi64(_mm512_and_epi64(i, _mm512_set1_epi64(0x000fffffffffffff)), low));
  return _mm512_cvtepi64_pd(_mm512_sub_epi64(_mm512_srli_epi64(i, 52), _mm512_set1_epi64(1023)));
}

/* The tree over 16 lanes, of four groups at once: a zmm each, then halves of two, then quarters of four. */
GB_INLINE void vf_fold4 (const float *lanes, double sum[4]) {
  const vf a = vf_load(lanes), b = vf_load(lanes + 16), c = vf_load(lanes + 32), d = vf_load(lanes + 48);
  const vf x = vf_add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  const vf y = vf_add(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
  vf z = vf_add(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd));
  z = vf_add(z, _mm512_permute_ps(z, 0x4e));
  z = vf_add(z, _mm512_permute_ps(z, 0xb1));
  for (int g = 0; g < 4; g++) sum[g] = (double)z[4 * g];
}

#endif
