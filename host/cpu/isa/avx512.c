/* avx512.c - the kernel table for AVX-512 (F, DQ, BW, VL). */
#include "cpu/simd/avx512.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "cpu/isa/i64.h"
#include "cpu/simd/special.h"

#define GB_FLOAT
#include "cpu/isa/kernels.inc"
#undef GB_FLOAT
#include "cpu/isa/kernels.inc"
#include "cpu/isa/rates.inc"

const gb_isa gb_isa_avx512 = {.name = "avx512",
                              .f32 = vf_kernels,
                              .f64 = vd_kernels,
                              .i64 = GB_I64_KERNELS,
                              .flush_f32 = vf_flush,
                              .flush_f64 = vd_flush,
                              .fold_f32 = gb_fold_f32,
                              .screen = vf_screen,
                              .differing = gb_differing,
                              .add_twice = gb_add_twice,
                              .rate_fma = gb_rate_fma,
                              .rate_issue = gb_rate_issue,
                              .rate_exp2 = gb_rate_exp2};
