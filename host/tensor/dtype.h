/* dtype.h - element types. f64, f32 and i64 compute; f16, bf16 and i32 are storage; bool is one byte. Numbers are
** part of the borders of libraries: a new type goes to the end. */
#ifndef GB_TENSOR_DTYPE_H
#define GB_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gb_dtype { GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_I32, GB_NDTYPES } gb_dtype;

size_t gb_dtype_size (gb_dtype t);                     /* bytes an element */
const char *gb_dtype_name (gb_dtype t);                /* "f64", ... */
bool gb_dtype_parse (const char *name, gb_dtype *out); /* false: unknown name */
static inline bool gb_dtype_is_float (gb_dtype t) { return t <= GB_BF16; }
static inline bool gb_dtype_is_half (gb_dtype t) { return t == GB_F16 || t == GB_BF16; }
static inline bool gb_dtype_is_whole (gb_dtype t) { return t == GB_I64 || t == GB_I32; }
/* A number that is computed may have to be rounded, or brought into range, to be stored. */
static inline bool gb_dtype_is_storage (gb_dtype t) { return gb_dtype_is_half(t) || t == GB_I32; }

/* The largest number below 1 of a float type: what draws in [0, 1) that round up to 1 are instead. */
double gb_dtype_below_one (gb_dtype t);

/* The type arithmetic on 't' is done in: f16 and bf16 in f32, i32 in i64, bool in f32 as 0 and 1. */
static inline gb_dtype gb_dtype_compute (gb_dtype t) {
  if (gb_dtype_is_whole(t)) return GB_I64;
  return t == GB_F64 ? GB_F64 : GB_F32;
}

/* Round to nearest even, NaN stays NaN. */
float gb_f16_to_f32 (uint16_t h);
uint16_t gb_f32_to_f16 (float f);
float gb_bf16_to_f32 (uint16_t h);
uint16_t gb_f32_to_bf16 (float f);

/* Towards 0; what the type cannot hold becomes the nearest number that it holds, NaN becomes 0. */
static inline int64_t gb_f64_to_i64 (double v) {
  if (!(v > -0x1p63)) return v != v ? 0 : INT64_MIN;
  return v < 0x1p63 ? (int64_t)v : INT64_MAX;
}
static inline int32_t gb_i64_to_i32 (int64_t v) {
  if (v > INT32_MAX) return INT32_MAX;
  return v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
static inline int32_t gb_f64_to_i32 (double v) { return gb_i64_to_i32(gb_f64_to_i64(v)); }

/* One element as a double (i64 beyond 2^53 rounds), and back with the type's rounding. */
double gb_element_get (const void *base, size_t index, gb_dtype t);
void gb_element_set (void *base, size_t index, gb_dtype t, double v);

#endif
