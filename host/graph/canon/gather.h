/* gather.h - a part of an expression along an axis, computed from parts of its inputs.
**
** A gather moves inwards through elementwise ops, distances, products, views and reductions to the points, so
** that some rows of a kernel matrix are the kernel of some points and the whole is never stored. An opaque op
** or a reshape does not separate; it is gathered from. Runs and scattered positions are taken in the same way
** through elementwise ops. */
#ifndef GB_GRAPH_CANON_GATHER_H
#define GB_GRAPH_CANON_GATHER_H

#include "graph/canon/canon.h"

/* x with the entries at positions (b) of an axis, position 1 the first; 'at' i64 (b). */
gb_status gb_take_along (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err);
gb_node *gb_ex_take_at (gb_formula *e, gb_node *x, int axis, gb_node *at);
/* The number of elements that would then be gathered from. */
double gb_gathered_elements (gb_formula *e, gb_node *x, int axis, gb_node *at);

/* True for a CAT or a PUT that the rules can separate. */
static inline bool gb_is_joined (const gb_node *n) {
  return (n->op == GB_OP_CAT || n->op == GB_OP_PUT) && n->nin > 0 && (n->flags & GB_NODE_HELD) == 0;
}
/* The first CAT or PUT along 'axis' of which x is an elementwise expression, or NULL. Borrowed. */
gb_node *gb_joint_along (gb_formula *e, gb_node *x, int axis);
/* 'extent' entries of an axis from 'start'; for a CAT along it, the part itself. */
gb_node *gb_ex_take_run (gb_formula *e, gb_node *x, int axis, size_t start, size_t extent);
/* x, an elementwise expression of 'put' along 'axis', at the positions of 'put', with 'instead' for the
** values that are put. */
gb_node *gb_ex_take_put (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead);
/* x with 'instead' for 'put'. */
gb_node *gb_ex_instead (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead);

/* An INDEX with no more positions than entries, if it would then read fewer than half of the elements. */
gb_node *gb_canon_gather (gb_formula *e, const gb_pending_op *d);

#endif
