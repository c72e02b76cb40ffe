/* minres.h - minimal residuals for A X = B with a lazy symmetric A, definite or not, many columns at once.
** Source: Paige & Saunders (1975), Solution of sparse indefinite systems of linear equations; Choi, Paige &
** Saunders (2011), MINRES-QLP, for the residual of least squares. Cost: one product with A, 9 vector passes
** and one preconditioner a step; 12 n r doubles of workspace.
**
** Columns stop one by one; what a column does never depends on the others. Residuals are recomputed from A
** every 50 steps and whenever a column's recurrence says that it has converged; a column that has drifted
** from its true residual restarts from there. The preconditioner must be positive definite, A need not be. */
#ifndef GB_SOLVE_MINRES_H
#define GB_SOLVE_MINRES_H

#include "solve/frame/frame.h"

gb_status gb_solve_minres (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err);

#endif
