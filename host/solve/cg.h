/* cg.h - conjugate gradients for A X = B with a lazy symmetric positive definite A, many columns at once.
** Source: Saad (2003), Iterative Methods for Sparse Linear Systems, algorithm 9.1. Cost: one product with A, 4
** vector passes and one preconditioner a step; 3 n r doubles of workspace beside the frame's.
**
** Columns leave one by one when they converge or break down, and then cost nothing more (solve/frame/active.h); what
** a column does never depends on the others. Residuals are recomputed from A every 50 steps and at the end;
** where they have drifted from the recursion's, or where f32 was too narrow, the iteration restarts from them
** (solve/frame/refine.h). Rules of convergence: solve/frame/stopping.h. */
#ifndef GB_SOLVE_CG_H
#define GB_SOLVE_CG_H

#include "solve/frame/matrix.h"
#include "solve/frame/solve.h"
#include "solve/frame/trace.h"

/* x: counted, a leaf of b's shape and dtype, but f64 where o->mixed; b (n) or (n, r). Errors: ESHAPE, EDTYPE,
** EOPTION, EREFUSED, ENOMEM, EINTR. */
gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x, gb_solve_info *info,
                       gb_error *err);

/* Do b (n) or (n, r) and 'o' fit A? Errors: ESHAPE, EDTYPE, EOPTION. */
gb_status gb_cg_check (gb_node *a, gb_node *b, const gb_solve_options *o, gb_error *err);

/* One sentence on a solve that did not converge: what happened, to which column, and what would help; empty
** for one that did. Returns 'buf'. */
#define GB_CG_MESSAGE 240
char *gb_cg_message (const gb_solve_info *info, const gb_solve_options *o, char buf[GB_CG_MESSAGE]);

/* The same on panels (n, r) without lists: x becomes the solution from x = 0, 'residual' gets b - A x,
** recomputed; b is scaled meanwhile. m is planned for r columns. 'trace' gets the coefficients of the steps
** that solved it: where f32 was insufficient, those of a second run in full precision. Errors: as above. */
gb_status gb_cg_panels (gb_solve_matrix *m, const gb_solve_options *o, gb_panel b, gb_panel x,
                        gb_panel residual, gb_trace *trace, gb_solve_info *info, gb_error *err);

/* Bytes of workspace of gb_cg_panels, and of gb_solve_cg beside the matrix and the result. */
gb_work_bytes gb_cg_panels_bytes (size_t n, size_t r);
gb_work_bytes gb_cg_bytes (const gb_solve_options *o, size_t n, size_t r);

#endif
