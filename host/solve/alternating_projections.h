/* alternating_projections.h - alternating projections for A X = B, A lazy, symmetric positive definite:
** block coordinate descent on the dual quadratic, one exact solve with a diagonal block at a time, on the
** block whose residual is largest. Source: Wu, Wenger, Jones, Pleiss & Gardner (2024), Large-scale
** Gaussian processes via alternating projection. Cost of an epoch (every row once): n^2 pairs and n /
** block factors of a block each, kept where they fit. One epoch's pairs more, at the end, for the
** condition, from below: power steps with the last block and its inverse, and where there are others one
** with A from there. Memory: (n + block) r values beside the frame's, block^2, and n block more where
** factors are kept.
**
** Blocks are the rows i, i + m, i + 2 m, ... for m blocks, so that neighbours are spread; the last is
** filled up with rows of others. All columns go together: which block is next depends on all of them. */
#ifndef GB_SOLVE_ALTERNATING_PROJECTIONS_H
#define GB_SOLVE_ALTERNATING_PROJECTIONS_H

#include "solve/frame/frame.h"

typedef struct gb_alternating_projections_options {
  gb_solve_options solve; /* max_iter: epochs */
  size_t block;           /* rows solved together, at least 1 */
  size_t keep;            /* bytes that factors of blocks may take: all are kept, or none */
} gb_alternating_projections_options;

/* 'iterations' of the info are epochs. */
gb_status gb_solve_alternating_projections (gb_node *a, gb_node *b,
                                            const gb_alternating_projections_options *o, gb_node **x,
                                            gb_solve_info *info, gb_error *err);

#endif
