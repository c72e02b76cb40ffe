/* dtype.c - sizes, names, and the conversions of the two storage formats. */
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

static float from_bits (uint32_t b) {
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}

static uint32_t to_bits (float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return b;
}

float gb_f16_to_f32 (uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = (h >> 10) & 31, man = h & 1023;
  if (exp == 31) return from_bits(sign | 0x7f800000u | man << 13);
  if (exp == 0) return from_bits(sign | to_bits((float)man * 0x1p-24f));
  return from_bits(sign | (exp + 112) << 23 | man << 13);
}

uint16_t gb_f32_to_f16 (float f) {
  const uint32_t b = to_bits(f), sign = b >> 16 & 0x8000u, mag = b & 0x7fffffffu;
  if (mag > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (mag >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to inf */
  if (mag < 0x38800000u)                                     /* subnormal: round m * 2^24 to an integer */
    return (uint16_t)(sign | (uint32_t)rintf(from_bits(mag) * 0x1p24f));
  return (uint16_t)(sign | (mag - 0x38000000u + 0xfffu + (mag >> 13 & 1)) >> 13);
}

float gb_bf16_to_f32 (uint16_t h) { return from_bits((uint32_t)h << 16); }

uint16_t gb_f32_to_bf16 (float f) {
  const uint32_t b = to_bits(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(b >> 16 | 0x40u);
  return (uint16_t)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

double gb_element_get (const void *base, size_t i, gb_dtype t) {
  switch (t) {
    case GB_F64: return ((const double *)base)[i];
    case GB_F32: return (double)((const float *)base)[i];
    case GB_F16: return (double)gb_f16_to_f32(((const uint16_t *)base)[i]);
    case GB_BF16: return (double)gb_bf16_to_f32(((const uint16_t *)base)[i]);
    case GB_I64: return (double)((const int64_t *)base)[i];
    default: return ((const uint8_t *)base)[i] != 0;
  }
}

void gb_element_set (void *base, size_t i, gb_dtype t, double v) {
  switch (t) {
    case GB_F64: ((double *)base)[i] = v; break;
    case GB_F32: ((float *)base)[i] = (float)v; break;
    case GB_F16: ((uint16_t *)base)[i] = gb_f32_to_f16((float)v); break;
    case GB_BF16: ((uint16_t *)base)[i] = gb_f32_to_bf16((float)v); break;
    case GB_I64: ((int64_t *)base)[i] = (int64_t)v; break;
    default: ((uint8_t *)base)[i] = v != 0; break;
  }
}
