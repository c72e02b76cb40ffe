/* condition.h - how far a factored system amplifies rounding. */
#ifndef GB_SOLVE_PRECOND_CONDITION_H
#define GB_SOLVE_PRECOND_CONDITION_H

#include "graph/build.h"

/* |A|_1 |A^-1|_1 for symmetric A (n, n) with lower Cholesky factor l, estimated from below, seldom by more
** than a factor of three. Evaluates |A|_1 as one pass over A, and l. Infinite where A is singular to the
** dtype; 1 for n = 0. Cost: O(n^2) beside A; 4 n values. Errors: ESHAPE, EDTYPE, ENOMEM, and those of
** evaluating. */
gb_status gb_factor_condition (gb_node *a, gb_node *l, double *out, gb_error *err);

#endif
