/* placed_random.h - an expression again, with each of its nodes on a device that the seed draws. */
#ifndef GB_TESTS_PLACED_RANDOM_H
#define GB_TESTS_PLACED_RANDOM_H

#include "support/plan/eval_fixture.h"

/* Over the devices 0 .. devices-1 of the graph. Outputs of one op lie together. */
gb_node *placed_randomly (gb_node *root, uint64_t seed, int devices);

/* A leaf with values of x on device number 'where'. */
gb_node *moved_input (gb_node *x, int where);

#endif
