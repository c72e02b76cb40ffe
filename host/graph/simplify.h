/* simplify.h - simplifications that gb_node_build makes before the canonicaliser; private to graph/. */
#ifndef GB_GRAPH_SIMPLIFY_H
#define GB_GRAPH_SIMPLIFY_H

#include "graph/node.h"

/* views.c: compositions of views, and ops that change nothing. '*out' = a counted, equal node, or NULL:
** build it as it is. 'result' is the inferred first output. */
gb_status gb_simplify (gb_graph *g, gb_op op, gb_node *const *in, const gb_attr *attr, const gb_value *result,
                       gb_node **out, gb_error *err);

/* symmetry.c: true if the new node, which has its inputs, is GB_NODE_SYMMETRIC. */
bool gb_symmetric_infer (const gb_node *n);

/* joined.c: true if it is GB_NODE_JOINED. */
bool gb_joined_infer (const gb_node *n);

#endif
