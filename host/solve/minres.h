/* minres.h - minimal residuals for A X = B with a lazy symmetric A, definite or not, many columns at once.
** Source: Paige & Saunders (1975), Solution of sparse indefinite systems of linear equations; Choi, Paige
** & Saunders (2011), MINRES-QLP, for the residual of least squares. Cost: one product with A, 9 vector
** passes and one preconditioner a step; 12 n r doubles of workspace.
**
** Columns stop one by one, also where one breaks down; what a column does never depends on the others.
** Every 50 steps and whenever a column says that it has converged its residual is computed anew from A;
** where that is another, the column starts again from there. A preconditioner must be positive definite, A
** need not be. */
#ifndef GB_SOLVE_MINRES_H
#define GB_SOLVE_MINRES_H

#include "solve/frame/frame.h"

gb_status gb_solve_minres (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err);

#endif
