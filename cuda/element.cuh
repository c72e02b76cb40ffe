/* element.cuh - elements of any dtype to and from a type that is computed in, with the roundings of the CPU. */
#ifndef GB_CUDA_ELEMENT_CUH
#define GB_CUDA_ELEMENT_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cuda/launch.h"

extern "C" {
#include "program/op.h"
}

#define GB_HALF static GB_DEVICE
#include "arith/half.inc"
#undef GB_HALF

/* Towards 0; what an integer cannot hold becomes the nearest one, NaN becomes 0. */
static GB_DEVICE int64_t gb_whole (double v) {
  if (!(v > -0x1p63)) return v != v ? 0 : INT64_MIN;
  return v < 0x1p63 ? (int64_t)v : INT64_MAX;
}

template <class T> struct gb_convert {
  static GB_DEVICE T from (double v) { return (T)v; }
  static GB_DEVICE T from (float v) { return (T)v; }
  static GB_DEVICE T from (int64_t v) { return (T)v; }
  static GB_DEVICE T from (int32_t v) { return (T)v; }
};
template <> struct gb_convert<int64_t> {
  static GB_DEVICE int64_t from (double v) { return gb_whole(v); }
  static GB_DEVICE int64_t from (float v) { return gb_whole((double)v); }
  static GB_DEVICE int64_t from (int64_t v) { return v; }
  static GB_DEVICE int64_t from (int32_t v) { return v; }
};
template <> struct gb_convert<int32_t> {
  static GB_DEVICE int32_t from (int64_t v) {
    if (v > INT32_MAX) return INT32_MAX;
    return v < INT32_MIN ? INT32_MIN : (int32_t)v;
  }
  static GB_DEVICE int32_t from (double v) { return from(gb_whole(v)); }
  static GB_DEVICE int32_t from (float v) { return from(gb_whole((double)v)); }
};

template <class T> static GB_CALLED T gb_load (const void *base, int dtype, int64_t at) {
  switch (dtype) {
    case GB_F64: return gb_convert<T>::from(((const double *)base)[at]);
    case GB_F32: return gb_convert<T>::from(((const float *)base)[at]);
    case GB_F16: return gb_convert<T>::from(half_f16_to_f32(((const uint16_t *)base)[at]));
    case GB_BF16: return gb_convert<T>::from(half_bf16_to_f32(((const uint16_t *)base)[at]));
    case GB_I64: return gb_convert<T>::from(((const int64_t *)base)[at]);
    case GB_I32: return gb_convert<T>::from(((const int32_t *)base)[at]);
    default: return (T)(((const uint8_t *)base)[at] != 0);
  }
}

template <class T> static GB_CALLED void gb_put (void *base, int dtype, int64_t at, T v) {
  switch (dtype) {
    case GB_F64: ((double *)base)[at] = (double)v; break;
    case GB_F32: ((float *)base)[at] = (float)v; break;
    case GB_F16: ((uint16_t *)base)[at] = half_f32_to_f16((float)v); break;
    case GB_BF16: ((uint16_t *)base)[at] = half_f32_to_bf16((float)v); break;
    case GB_I64: ((int64_t *)base)[at] = gb_convert<int64_t>::from(v); break;
    case GB_I32: ((int32_t *)base)[at] = gb_convert<int32_t>::from(v); break;
    default: ((uint8_t *)base)[at] = v != 0; /* NaN is true */
  }
}

#endif
