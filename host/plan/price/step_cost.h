/* step_cost.h - predicted seconds of a placement. */
#ifndef GB_PLAN_PRICE_STEP_COST_H
#define GB_PLAN_PRICE_STEP_COST_H

#include "plan/place/place.h"
#include "plan/price/cost.h"

/* Of all steps that run, window by window where they do. Windows, grains of a sum and tiles of a packed
** matrix cost a call each. */
double gb_place_seconds (const gb_device_profile *r, int threads, const gb_lowered *low,
                         const gb_packed_factor *t, int npacked_factors, const gb_placement *p);

#endif
