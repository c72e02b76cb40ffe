/* dtype.c - sizes, names, conversions of elements. */
#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
  double below_one;
} types[GB_NDTYPES] = {
    [GB_F64] = {"f64", 8, 1 - 0x1p-53}, [GB_F32] = {"f32", 4, 1 - 0x1p-24},
    [GB_F16] = {"f16", 2, 1 - 0x1p-11}, [GB_BF16] = {"bf16", 2, 1 - 0x1p-8},
    [GB_I64] = {"i64", 8, 0},           [GB_BOOL] = {"bool", 1, 0},
    [GB_I32] = {"i32", 4, 0},
};

size_t gb_dtype_size (gb_dtype t) { return types[t].size; }
const char *gb_dtype_name (gb_dtype t) { return types[t].name; }
double gb_dtype_below_one (gb_dtype t) { return types[t].below_one; }

bool gb_dtype_parse (const char *name, gb_dtype *out) {
  for (int t = 0; t < GB_NDTYPES; t++)
    if (strcmp(types[t].name, name) == 0) {
      *out = (gb_dtype)t;
      return true;
    }
  return false;
}

#define GB_HALF static inline
#include "arith/half.inc"

float gb_f16_to_f32 (uint16_t h) { return half_f16_to_f32(h); }
uint16_t gb_f32_to_f16 (float f) { return half_f32_to_f16(f); }
float gb_bf16_to_f32 (uint16_t h) { return half_bf16_to_f32(h); }
uint16_t gb_f32_to_bf16 (float f) { return half_f32_to_bf16(f); }

double gb_element_get (const void *base, size_t i, gb_dtype t) {
  switch (t) {
    case GB_F64: return ((const double *)base)[i];
    case GB_F32: return (double)((const float *)base)[i];
    case GB_F16: return (double)gb_f16_to_f32(((const uint16_t *)base)[i]);
    case GB_BF16: return (double)gb_bf16_to_f32(((const uint16_t *)base)[i]);
    case GB_I64: return (double)((const int64_t *)base)[i];
    case GB_I32: return (double)((const int32_t *)base)[i];
    default: return ((const uint8_t *)base)[i] != 0;
  }
}

void gb_element_set (void *base, size_t i, gb_dtype t, double v) {
  switch (t) {
    case GB_F64: ((double *)base)[i] = v; break;
    case GB_F32: ((float *)base)[i] = (float)v; break;
    case GB_F16: ((uint16_t *)base)[i] = gb_f32_to_f16((float)v); break;
    case GB_BF16: ((uint16_t *)base)[i] = gb_f32_to_bf16((float)v); break;
    case GB_I64: ((int64_t *)base)[i] = gb_f64_to_i64(v); break;
    case GB_I32: ((int32_t *)base)[i] = gb_f64_to_i32(v); break;
    default: ((uint8_t *)base)[i] = v != 0; break;
  }
}
