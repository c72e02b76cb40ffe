/* grad.h - reverse-mode gradients, graph to graph, and vmap. Both only build nodes. */
#ifndef GB_GRAPH_GRAD_GRAD_H
#define GB_GRAPH_GRAD_GRAD_H

#include "graph/build.h"

/* d<cotangent, y>/dxs. cotangent NULL: y must have one element, cotangent 1. out[i] is counted, of the shape
** of xs[i]; an x that y does not depend on gives zeros where 'unused_zero', else EOPTION naming it. Gradients
** that reach a contraction stay contractions: no n*m*d value ever exists. xs are leaves, or interior nodes
** that the canonicaliser kept (the difference under a recognised squared distance is no longer below it). */
gb_status gb_grad (gb_node *y, gb_node *cotangent, size_t n, gb_node *const *xs, bool unused_zero,
                   gb_node **out, gb_error *err);

/* A gradient rule: given y = op(in...), the node itself and the cotangents of its outputs (NULL = zero),
** fills in_bar[i] (counted; NULL = zero) for the inputs whose need[i] is set. One function per suffix in
** ops.def, rules.c. */
typedef gb_status gb_grad_rule (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                                gb_error *err);

/* Sums a cotangent back to 'shape' after broadcasting. */
gb_status gb_unbroadcast (gb_node *bar, const gb_shape *shape, gb_node **out, gb_error *err);

/* If 'g' is b times w with w constant along the first axis: w, so that A^-1 g is A^-1 b times w. Else NULL.
** The cotangent of x in the forms b_j' x_j is such a product. */
gb_node *gb_column_weight (gb_node *g, const gb_node *b);

/* Rebuilds y with from[i] -> to[i], of the same shape and dtype. */
gb_status gb_substitute (gb_node *y, size_t n, gb_node *const *from, gb_node *const *to, gb_node **out,
                         gb_error *err);
/* Rebuilds y with kept promises replaced by their expressions. Nodes keep their values. */
gb_status gb_redeem (gb_node *y, gb_node **out, gb_error *err);

/* vmap: outs were traced from 'slices' (TRACED placeholders, one slice each along axis[i] of full[i]).
** Each out gets a new leading axis. OPAQUE ops without a batched rule become one op per slice, stacked.
** same_random: RAND nodes are not given the mapped axis. */
gb_status gb_vmap (size_t n, gb_node *const *slices, gb_node *const *full, const int *axis, bool same_random,
                   size_t nouts, gb_node *const *outs, gb_node **mapped, gb_error *err);

#endif
