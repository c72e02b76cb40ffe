/* draw.cuh - random numbers of one element, with the bits of every device. */
#ifndef GB_CUDA_FOLD_DRAW_CUH
#define GB_CUDA_FOLD_DRAW_CUH

#include "cuda/fold/value.cuh"

#define GB_DRAW GB_INLINE
#define REAL double
#define BITS uint64_t
#define D(name) gb_draw_##name
#define AS_BITS(x) gb_bits_as<uint64_t>(x)
#define AS_REAL(x) gb_bits_as<double>(x)
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

/* Uniform in (0, 1), or standard normal. */
static GB_CALLED double gb_draw (bool normal, const uint64_t seed[2], uint64_t number) {
  return normal ? gb_draw_normal(seed[0], seed[1], number) : gb_draw_uniform(seed[0], seed[1], number);
}

#endif
