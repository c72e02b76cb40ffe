/* coef.h - constants of the elementary functions that kernels inline; the simd_*.h headers share them.
**
** exp2 polynomials approximate 2^f = 1 + f (C1 + f (C2 + ..)) with the least maximal relative error for a
** constant term of exactly 1, so that 2^0 is 1; the error is given beside each. Fitted by the Remez
** exchange in 60 digits. LOG_Pk approximate (2 atanh s - 2 s) / s^3 as a polynomial in s^2, for m = (1 +
** s) / (1 - s) in [1/sqrt 2, sqrt 2]. */
#ifndef GB_ARITH_COEF_H
#define GB_ARITH_COEF_H

/* f32, |f| <= 1/64, after a table of 2^(i/32): 8.2e-8 */
#define GB_F32_TAB_C1 0.6931607127f
#define GB_F32_TAB_C2 0.2402288616f

/* f32, |f| <= 1/2: 9.2e-8 */
#define GB_F32_C1 0.6931470037f
#define GB_F32_C2 0.2402224243f
#define GB_F32_C3 0.05550733581f
#define GB_F32_C4 0.009671512991f
#define GB_F32_C5 0.001326472731f

/* f64, |f| <= 1/32, after a table of 2^(i/16): 1.3e-17 */
#define GB_F64_TAB_C1 0x1.62e42fefa3a07p-1
#define GB_F64_TAB_C2 0x1.ebfbdff82c597p-3
#define GB_F64_TAB_C3 0x1.c6b08d6dea47ep-5
#define GB_F64_TAB_C4 0x1.3b2ab6fad244ep-7
#define GB_F64_TAB_C5 0x1.5d89fe45d62a3p-10
#define GB_F64_TAB_C6 0x1.430a75b93923ep-13

/* f64, |f| <= 1/2: 3.4e-18 */
#define GB_F64_C1 0x1.62e42fefa39efp-1
#define GB_F64_C2 0x1.ebfbdff82c5a4p-3
#define GB_F64_C3 0x1.c6b08d7049fe8p-5
#define GB_F64_C4 0x1.3b2ab6fba011ap-7
#define GB_F64_C5 0x1.5d87fe78cd6e2p-10
#define GB_F64_C6 0x1.4309130ed8d3ep-13
#define GB_F64_C7 0x1.ffcbfba97c26dp-17
#define GB_F64_C8 0x1.62bfc79d3b5f1p-20
#define GB_F64_C9 0x1.b5267ce8a8b58p-24
#define GB_F64_C10 0x1.e61b4fb44c964p-28
#define GB_F64_C11 0x1.e79bab1a0c76bp-32

/* (e^g - 1 - g) / g^2, |g| <= ln(2) / 2: e^g to 3.8e-9 */
#define GB_F32_EXP_P0 0.49999994f
#define GB_F32_EXP_P1 0.16666521f
#define GB_F32_EXP_P2 0.04166839f
#define GB_F32_EXP_P3 0.00836872f
#define GB_F32_EXP_P4 0.00138146f

/* The same for |g| <= ln(2) / 32, after a table of 2^(i/16): e^g to 2.8e-17 */
#define GB_F64_EXP_P1 0x1.55555554dcc9bp-3
#define GB_F64_EXP_P2 0x1.55555555190f9p-5
#define GB_F64_EXP_P3 0x1.11120b77051e7p-7
#define GB_F64_EXP_P4 0x1.6c17bbd1f560ap-10

/* (sin r - r) / r^3 in r^2, |r| <= pi / 2: sin r to 1.4e-8. pi in three parts, all of one sign: what is
** subtracted from -0 for the 0th multiple is +0, and leaves -0. */
#define GB_F32_SIN_P0 -0.1666666f
#define GB_F32_SIN_P1 0.008333065f
#define GB_F32_SIN_P2 -0.00019809476f
#define GB_F32_SIN_P3 2.6054815e-06f
#define GB_PI 3.14159265358979323846
#define GB_F32_PI_HI 0x1.921fb4p+1f
#define GB_F32_PI_MID 0x1.4442dp-23f
#define GB_F32_PI_LO 0x1.84698ap-47f

/* (atan t - t) / t^3 in t^2, lowest power first, |t| <= 0.6: atan t to 2.3e-9 and 1.8e-17. Quarters of pi
** in two parts. */
#define GB_F32_ATAN -0.333332926f, 0.199976757f, -0.142416373f, 0.107191175f, -0.0725077987f, 0.0296949632f
#define GB_F64_ATAN                                                                                          \
  -0x1.5555555555473p-2, 0x1.9999999980cb7p-3, -0x1.2492491cf5766p-3, 0x1.c71c6f6b57c15p-4,                  \
      -0x1.745cdfed53336p-4, 0x1.3b106aaaed926p-4, -0x1.10ef4e42113a1p-4, 0x1.dff9419b04106p-5,              \
      -0x1.a54920bd782dcp-5, 0x1.6152b09b53691p-5, -0x1.01880676ae4e2p-5, 0x1.134317cd8c7c9p-6,              \
      -0x1.32870043d7465p-8
#define GB_F32_PI_4_LO -0x1.777a5cp-26f
#define GB_F64_PI_4_LO 0x1.1a62633145c07p-55

/* 1.7e-11 and 4.5e-18 */
#define GB_F32_LOG_P0 0.6666666865f
#define GB_F32_LOG_P1 0.4000012279f
#define GB_F32_LOG_P2 0.2855074108f
#define GB_F32_LOG_P3 0.23332268f
#define GB_F64_LOG_P0 0x1.5555555555558p-1
#define GB_F64_LOG_P1 0x1.999999999522ep-2
#define GB_F64_LOG_P2 0x1.2492492e02b0bp-2
#define GB_F64_LOG_P3 0x1.c71c62d1c701bp-3
#define GB_F64_LOG_P4 0x1.7462b9b7f9ab0p-3
#define GB_F64_LOG_P5 0x1.39fdc7d8183ddp-3
#define GB_F64_LOG_P6 0x1.2b5f0aae9e340p-3

/* ln 2 in two parts; an exponent times the first is exact */
#define GB_F32_LN2_HI 0x1.62e4p-1f
#define GB_F32_LN2_LO 0x1.7f7d1cp-20f
#define GB_F64_LN2_HI 0x1.62e42fee00000p-1
#define GB_F64_LN2_LO 0x1.a39ef35793c76p-33

/* Bit patterns of 1 and of 1/sqrt 2, between which and sqrt 2 a logarithm's mantissa lies. */
#define GB_F32_ONE_BITS 0x3f800000
#define GB_F32_RSQRT2_BITS 0x3f3504f3
#define GB_F64_ONE_BITS 0x3ff0000000000000
#define GB_F64_RSQRT2_BITS 0x3fe6a09e667f3bcd

#define GB_LOG2E 1.4426950408889634074

#endif
