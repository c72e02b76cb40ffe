/* gather.h - entries along an axis of an expression, taken where it is made.
**
** A gather goes inwards through everything elementwise, distances, products, views and reductions to the points, so that some rows
** of a kernel matrix are the kernel of some points and nothing of the whole exists. What cannot be taken apart, an opaque op or a
** reshape, is gathered from. */
#ifndef GB_GRAPH_GATHER_H
#define GB_GRAPH_GATHER_H

#include "graph/canon.h"

/* x with the entries at positions (b) of an axis, position 1 the first; 'at' i64 (b). */
gb_status gb_take_along (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err);

/* INDEX with no more positions than there are, where it would then be from fewer than half the elements. */
gb_node *gb_canon_gather (gb_formula *e, const gb_draft *d);

#endif
