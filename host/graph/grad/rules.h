/* rules.h - one gradient rule a suffix of ops.def; private to graph/. */
#ifndef GB_GRAPH_GRAD_RULES_H
#define GB_GRAPH_GRAD_RULES_H

#include "graph/formula.h"
#include "graph/grad/grad.h"

#define X(id, name, nin, kind, shape, grad, ...) gb_grad_rule gb_grad_##grad;
#include "program/ops.def"
#undef X

/* Ops with the trait FACTOR, which read a factor L of M = L L' as their first input, in terms of M: in_bar[0] is the cotangent of M. If L = CHOLESKY(M) it goes to M directly, and the pullback of
** the factorisation, two triangular solves with n right-hand sides, is not needed. */
gb_grad_rule gb_grad_through_factor;

/* Ends the formula of in_bar[i]: sums to the input's shape after broadcasting; NULL if not needed. */
gb_node *gb_ex_unbroadcast (gb_formula *e, gb_node *bar, const gb_shape *shape);
/* Stores 'bar' for input i, counted; for rules that fill several. */
void gb_bar_put (gb_formula *e, gb_node *bar, gb_node **in_bar, int i);
/* Clears the formula; where it failed, releases in_bar[0 .. n-1]. */
gb_status gb_bar_finish (gb_formula *e, int n, gb_node **in_bar);

gb_node *gb_ex_eye (gb_formula *e, size_t n, size_t m, gb_dtype t);
/* 'a' where row > column ('diagonal' NULL) or with 'diagonal' on the diagonal; zero above. */
gb_node *gb_ex_lower (gb_formula *e, gb_node *a, gb_node *diagonal);

#endif
