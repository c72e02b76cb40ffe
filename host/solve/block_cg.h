/* block_cg.h - block conjugate gradients for A X = B: all columns search the Krylov space of all, which needs several
** times fewer products with A than a space for each column (solve/cg.h).
** Source: O'Leary (1980), The block conjugate gradient algorithm and related methods; Dubrulle (2001), Retooling the
** method of block conjugate gradients. Cost: one product with A, one preconditioner and 11 n r^2 multiply-adds a step; 4 n r
** doubles of workspace beside the frame's.
**
** Columns stay until all have converged, and what a column becomes depends on the others: this is for right-hand sides
** that are one quantity, such as the terms of a likelihood. */
#ifndef GB_SOLVE_BLOCK_CG_H
#define GB_SOLVE_BLOCK_CG_H

#include "solve/frame/block_trace.h"
#include "solve/frame/matrix.h"
#include "solve/frame/solve.h"

/* Are r columns of n rows few enough that work with (r, r) matrices is little beside a product with a dense A? */
bool gb_block_cg_pays (size_t n, size_t r);

/* On panels (n, r) without lists: x becomes the solution from x = 0, 'residual' gets b - A x, recomputed; b is scaled
** meanwhile. m is planned for r columns. 'trace' gets the coefficients of the steps that solved it, of the first cycle, where
** f32 was insufficient those of a second run in full precision. 'o' has no goal by variances. Errors: as gb_solve_cg. */
gb_status gb_block_cg_panels (gb_solve_matrix *m, const gb_solve_options *o, gb_panel b, gb_panel x,
                              gb_panel residual, gb_block_trace *trace, gb_solve_info *info, gb_error *err);

/* Are columns one by one to solve what a block has not, and to say why? Not where it has stagnated: they would with more left. */
bool gb_block_cg_failed (const gb_solve_info *info);

/* b (n) alone: its parts, so many ranges of rows, are a block whose spaces are searched for the sum of their solutions. A
** step costs about two of conjugate gradients (solve/cg.h), and several times fewer are needed; other right-hand sides, and
** what a block cannot solve, go by those. Options, results and errors as of gb_solve_cg. Source: Grigori, Moufawad & Nataf
** (2016), Enlarged Krylov subspace conjugate gradient methods for reducing communication. */
size_t gb_spread_parts (size_t n); /* 16, or 1 where these do not pay */
gb_status gb_solve_spread (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err);

/* Bytes of its workspace, without the trace. */
gb_work_bytes gb_block_cg_bytes (size_t n, size_t r);

#endif
