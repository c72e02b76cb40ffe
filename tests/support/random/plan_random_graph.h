/* plan_random_graph.h - random graphs: one step after the other, then the outputs, then gradients. */
#ifndef GB_TESTS_PLAN_RANDOM_GRAPH_H
#define GB_TESTS_PLAN_RANDOM_GRAPH_H

#include "support/random/plan_random_opaque.h"

/* the whole graph */

/* Builds the graph of a tape in fx.g; returns the number of outputs, 1 .. MOST_OUTPUTS. */
size_t make_graph (const tape *t, gb_node *out[MOST_OUTPUTS]);

#endif
