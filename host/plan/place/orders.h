/* orders.h - orders of steps that need less memory than the program's own. */
#ifndef GB_PLAN_PLACE_ORDERS_H
#define GB_PLAN_PLACE_ORDERS_H

#include "plan/place/place.h"

#define GB_ORDER_EXACT 9    /* up to so many running steps every order is considered */
#define GB_ORDER_DYNAMIC 16 /* up to so many the one of least live bytes is found */
#define GB_ORDER_TRIES 5000 /* placements tried at most */

/* Every order is considered, whichever steps run. */
static inline bool gb_is_short (const gb_lowered *low) { return low->nsteps <= GB_ORDER_EXACT; }

/* The placement of least peak over orders of the steps, given one in program order ('from', whose demand
** and form these are). The order of least live bytes, by dynamic programming over sets of steps or, above
** GB_ORDER_DYNAMIC, greedily; where few steps run and that order is not known to be the best, all
** topological orders as well (as far as GB_ORDER_TRIES placements reach). *out: counted, 'from' itself
** where nothing is better. Cost: independent of budgets. Errors: ENOMEM. */
gb_status gb_place_in_order (const gb_lowered *low, gb_demand d, const gb_form_of_run *form,
                             gb_placement *from, gb_placement **out, gb_error *err);

#endif
