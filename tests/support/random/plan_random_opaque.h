/* plan_random_opaque.h - steps with ops that are computed whole: moving, ordering, linear algebra, registered
** ops. */
#ifndef GB_TESTS_PLAN_RANDOM_OPAQUE_H
#define GB_TESTS_PLAN_RANDOM_OPAQUE_H

#include "graph/call.h"
#include "support/random/plan_random_lazy.h"

/* linear algebra */

/* Diagonally dominant, without symmetry. */
gb_node *dominant (void);
gb_node *side_of (const gb_node *a);

/* any of them */

void make_opaque (gb_op op);

#endif
