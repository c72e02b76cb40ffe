/* packed.c - sizes and offsets of a packed lower triangle. */
#include "program/packed.h"

#define B GB_BLOCK

size_t gb_packed_bytes (size_t n, gb_dtype t) {
  const size_t rest = n % B;
  size_t twice, bytes;
  if (__builtin_mul_overflow(n, n, &twice) ||
      __builtin_add_overflow(twice, n / B * B * B + rest * rest, &twice) ||
      __builtin_mul_overflow(twice / 2, gb_dtype_size(t), &bytes))
    return SIZE_MAX;
  return bytes;
}

/* All block rows above the last have B rows, and all tiles left of the diagonal B columns. */
size_t gb_packed_tile (size_t n, size_t i, size_t j) {
  return i * (i + 1) / 2 * B * B + gb_block_extent(n, B, i) * j * B;
}
