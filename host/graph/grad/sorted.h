/* sorted.h - the nodes below some roots in ascending order of serial, hence inputs before users; private
** to graph/. Positions are found by serial, so building nodes while going through the list is safe: no
** scratch of a node is used. */
#ifndef GB_GRAPH_SORTED_H
#define GB_GRAPH_SORTED_H

#include "graph/node.h"

typedef struct gb_sorted {
  gb_node **node; /* borrowed; malloc'ed list */
  size_t count;
} gb_sorted;

gb_status gb_sorted_below (gb_graph *g, size_t nroots, gb_node *const *roots, gb_sorted *out, gb_error *err);
void gb_sorted_clear (gb_sorted *s);
size_t gb_sorted_find (const gb_sorted *s, const gb_node *n); /* 'count' where n is not below the roots */

#endif
