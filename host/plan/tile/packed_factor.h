/* packed_factor.h - factors in half the bytes: which matrices a plan may keep as packed lower triangles
** (program/packed.h).
**
** A matrix K that one fold stores and only a Cholesky factorisation reads, and the factor L, where all
** that read it take it packed. The fold then stores K tile by tile, the lower ones only; the factorisation
** works on the same tiles in the same order as in a square. So no bit changes. */
#ifndef GB_PLAN_TILE_PACKED_FACTOR_H
#define GB_PLAN_TILE_PACKED_FACTOR_H

#include "lower/kernels.h"
#include "plan/tile/cut.h"

typedef struct gb_packed_factor {
  size_t side;        /* of its tiles */
  int store, factor;  /* steps: the fold, and CHOLESKY */
  int matrix, result; /* buffers: K and L */
  gb_cut rows, cols;  /* of the fold */
} gb_packed_factor;

/* The triangles of a lowered graph, as far as steps and buffers say (requests and existing values may
** forbid one later). Caller frees '*out'. Errors: ENOMEM. */
gb_status gb_find_triangles (const gb_lowered *low, gb_packed_factor **out, int *count, gb_error *err);

/* Tile (i, j) of the store: 'w' has room for two folds of its size. */
const gb_fold *gb_window_of_tile (gb_window_fold w[2], const gb_lowered *low, const gb_packed_factor *t,
                                  size_t i, size_t j);

/* The most bytes that a tile's fold takes, over all shapes of tiles. */
size_t gb_tile_scratch (gb_kernels *k, const gb_packed_factor *t);

#endif
