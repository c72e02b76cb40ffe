/* plan_shrink.h - the smallest graph that still fails, as a list of nodes. Every attempt runs in a separate
** process, so that a crash or an abort counts as a failure. */
#ifndef GB_TESTS_PLAN_SHRINK_H
#define GB_TESTS_PLAN_SHRINK_H

#include "support/random/plan_random_graph.h"

/* Checks the graph of a tape; true: it violates an invariant, which is printed if 'aloud'. */
typedef bool examine (const tape *t, bool aloud);

/* Runs 'job' in a child; true: it succeeded. */
bool child_ends_well (bool (*job)(const void *ud), const void *ud, bool quiet);

/* saying it */

void print_graph (size_t n, gb_node **out);

/* Prints the smallest failing graph found from the tape of 'seed'. */
void shrink_and_print (uint64_t seed, examine *wrong);

#endif
