/* gather.h - a part of an expression along an axis, taken where it is made.
**
** A gather goes inwards through everything elementwise, distances, products, views and reductions to the
** points, so that some rows of a kernel matrix are the kernel of some points and nothing of the whole
** exists. What cannot be taken apart, an opaque op or a reshape, is gathered from. Runs, and what some
** positions hold, are taken in the same way, through what is elementwise. */
#ifndef GB_GRAPH_GATHER_H
#define GB_GRAPH_GATHER_H

#include "graph/canon/canon.h"

/* x with the entries at positions (b) of an axis, position 1 the first; 'at' i64 (b). */
gb_status gb_take_along (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err);
gb_node *gb_ex_take_at (gb_formula *e, gb_node *x, int axis, gb_node *at);
/* Elements of what would then be gathered. */
double gb_gathered_elements (gb_formula *e, gb_node *x, int axis, gb_node *at);

/* Is it a CAT or a PUT that can be looked through? */
static inline bool gb_is_joined (const gb_node *n) {
  return (n->op == GB_OP_CAT || n->op == GB_OP_PUT) && n->nin > 0 && (n->flags & GB_NODE_HELD) == 0;
}
/* The first CAT or PUT along 'axis' that x is made of elementwise, or NULL if x is made of no such op.
** Borrowed. */
gb_node *gb_joint_along (gb_formula *e, gb_node *x, int axis);
/* 'extent' entries of an axis from 'start' on; of what is joined there, the part itself. */
gb_node *gb_ex_take_run (gb_formula *e, gb_node *x, int axis, size_t start, size_t extent);
/* x at the positions of 'put', which x is made of elementwise along 'axis', with 'instead' for what is
** put. */
gb_node *gb_ex_take_put (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead);
/* x with 'instead' for 'put'. */
gb_node *gb_ex_instead (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead);

/* INDEX with no more positions than there are, where it would then be from fewer than half the elements. */
gb_node *gb_canon_gather (gb_formula *e, const gb_pending_op *d);

#endif
