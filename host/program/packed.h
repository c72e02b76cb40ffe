/* packed.h - lower triangles in half the bytes of their square: tiles, block row by block row.
**
** The triangle of order n is the tiles (i, j), j <= i, of GB_BLOCK x GB_BLOCK, cut off at the lower and the
** right edge. A tile is row-major and contiguous, its row stride is its number of columns; the tiles are
** stored in the order (0, 0); (1, 0), (1, 1); ... without gaps. Diagonal tiles are stored whole: zeros above
** the diagonal of a factor, mirrored entries in a symmetric result. A result from a packed matrix has the
** bits of the result from the square one if the library's bits do not depend on the row stride: OpenBLAS on
** Haswell, Zen and newer cores. On older cores the factor and the inverse of one tile depend on it at odd
** orders. */
#ifndef GB_PROGRAM_PACKED_H
#define GB_PROGRAM_PACKED_H

#include "tensor/dtype.h"

/* Side of a canonical block, of a tile, and inner dimension of one BLAS call. */
#define GB_BLOCK 256

/* Number of blocks of 'side' in n, and the extent of block i. */
static inline size_t gb_blocks (size_t n, size_t side) { return (n + side - 1) / side; }
static inline size_t gb_block_extent (size_t n, size_t side, size_t i) {
  return n - i * side < side ? n - i * side : side;
}

/* Dense ops that work in blocks of another side know nothing of this layout. */
static inline bool gb_packs_blocks (size_t side) { return side == GB_BLOCK; }

/* s (n^2 + sum of r_i^2) / 2 for elements of s bytes and blocks of r_i rows; SIZE_MAX if that overflows. */
size_t gb_packed_bytes (size_t n, gb_dtype t);

/* Element offset of tile (i, j), j <= i < gb_blocks(n, GB_BLOCK). */
size_t gb_packed_tile (size_t n, size_t i, size_t j);

/* A growing triangle has the same tiles, but each has GB_BLOCK columns whatever the order, and each block row
** i has separate memory: i + 1 consecutive tiles of 'rows' x GB_BLOCK, rows = GB_FEWEST_ROWS 2^k <= GB_BLOCK.
** Appending never moves existing rows. The address of such a matrix is an array, in the device's memory, of
** its block rows: the address of each, which is a multiple of 64, plus k. Entries above the diagonal are not
** read. */
#define GB_FEWEST_ROWS 16
typedef uint64_t gb_block_row;
static inline gb_block_row gb_block_row_of (const void *data, size_t rows) {
  gb_block_row r = (uintptr_t)data;
  for (size_t n = GB_FEWEST_ROWS; n < rows; n *= 2) r++;
  return r;
}
static inline void *gb_block_row_data (gb_block_row r) { return (void *)(uintptr_t)(r & ~(uint64_t)63); }
static inline size_t gb_block_row_rows (gb_block_row r) { return (size_t)GB_FEWEST_ROWS << (r & 63); }

#endif
