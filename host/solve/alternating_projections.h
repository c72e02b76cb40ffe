/* alternating_projections.h - alternating projections for A X = B, A lazy, symmetric positive definite: block
** coordinate descent on the dual quadratic. Each step solves exactly with one diagonal block, the one whose
** residual is largest. Source: Wu, Wenger, Jones, Pleiss & Gardner (2024), Large-scale Gaussian processes via
** alternating projection. Cost of an epoch (every row once): n^2 pairs and n / block factors of a block each,
** kept where they fit. The bound of the condition takes one more epoch of pairs at the end: power steps with
** the last block and its inverse, and one with A where there are several blocks. Memory: (n + block) r values
** beside the frame's, block^2, and n block more where factors are kept.
**
** Block i of m has the rows i, i + m, i + 2 m, ..., so that neighbours are in different blocks; the last
** ones are filled up with rows of other blocks. The next block is chosen by the residuals of all columns. */
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
