/* element.cuh - one element of any dtype as f64, and back with the type's rounding: tensor/dtype.c. */
#ifndef GB_CUDA_MOVE_ELEMENT_CUH
#define GB_CUDA_MOVE_ELEMENT_CUH

#include "cuda/launch.h"

#include <stdint.h>
#include <string.h>

extern "C" {
#include "program/op.h"
}

#define GB_HALF static GB_DEVICE
#include "arith/half.inc"
#undef GB_HALF

static GB_DEVICE double gb_cuda_element (const void *base, size_t i, int dtype) {
  switch (dtype) {
    case GB_F64: return ((const double *)base)[i];
    case GB_F32: return (double)((const float *)base)[i];
    case GB_F16: return (double)half_f16_to_f32(((const uint16_t *)base)[i]);
    case GB_BF16: return (double)half_bf16_to_f32(((const uint16_t *)base)[i]);
    case GB_I64: return (double)((const int64_t *)base)[i];
    default: return ((const uint8_t *)base)[i] != 0;
  }
}

/* Towards 0; what an integer cannot hold becomes the nearest one, NaN becomes 0. */
static GB_DEVICE int64_t gb_cuda_whole (double v) {
  if (v != v) return 0;
  if (v >= 0x1p63) return INT64_MAX;
  return v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

static GB_DEVICE void gb_cuda_set_element (void *base, size_t i, int dtype, double v) {
  switch (dtype) {
    case GB_F64: ((double *)base)[i] = v; break;
    case GB_F32: ((float *)base)[i] = (float)v; break;
    case GB_F16: ((uint16_t *)base)[i] = half_f32_to_f16((float)v); break;
    case GB_BF16: ((uint16_t *)base)[i] = half_f32_to_bf16((float)v); break;
    case GB_I64: ((int64_t *)base)[i] = gb_cuda_whole(v); break;
    default: ((uint8_t *)base)[i] = v != 0; break;
  }
}

#endif
