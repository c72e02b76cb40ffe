/* draw.cuh - random numbers of one element, with the bits of every device. */
#ifndef GB_CUDA_DRAW_CUH
#define GB_CUDA_DRAW_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cuda/launch.h"

static GB_DEVICE uint64_t gb_draw_bits (double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}
static GB_DEVICE double gb_draw_real (uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

#define GB_DRAW static GB_DEVICE
#define REAL double
#define BITS uint64_t
#define D(name) gb_draw_##name
#define AS_BITS(x) gb_draw_bits(x)
#define AS_REAL(x) gb_draw_real(x)
#define MUL32(a, b) ((a) * (b))
#define SQRT(x) sqrt(x)
#include "base/draw.inc"
#undef GB_DRAW
#undef REAL
#undef BITS
#undef D
#undef AS_BITS
#undef AS_REAL
#undef MUL32
#undef SQRT

#endif
