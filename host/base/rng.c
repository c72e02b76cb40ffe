/* rng.c - Philox4x32-10 and the two distributions drawn from it, one element at a time. */
#include "base/rng.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of (double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

static double real_of (uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

#define GB_DRAW static inline
#define REAL double
#define BITS uint64_t
#define D(name) draw_##name
#define AS_BITS(x) bits_of(x)
#define AS_REAL(x) real_of(x)
#define MUL32(a, b) ((a) * (b))
#define SQRT(x) sqrt(x)
#include "base/draw.inc"

void gb_philox (uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]) {
  uint64_t w[4];
  draw_philox(seed, stream, index, w);
  for (int k = 0; k < 4; k++) out[k] = (uint32_t)w[k];
}

double gb_rand_uniform (uint64_t seed, uint64_t stream, uint64_t index) {
  return draw_uniform(seed, stream, index);
}

double gb_rand_normal (uint64_t seed, uint64_t stream, uint64_t index) {
  return draw_normal(seed, stream, index);
}
