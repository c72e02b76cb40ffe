/* step_cost.h - predicted seconds of a placement. */
#ifndef GB_PLAN_PRICE_STEP_COST_H
#define GB_PLAN_PRICE_STEP_COST_H

#include "plan/place/place.h"
#include "plan/price/profile.h"

/* What prices are made of: a device's table, its figures in force, its threads. */
typedef struct gb_prices {
  const gb_price_ops *ops;
  const gb_device_profile *profile;
  int threads;
} gb_prices;

/* x: by number of the device (gb_step). Of all steps that run, window by window where they do. Windows, grains of a sum and tiles of a packed
** matrix cost a call each. */
double gb_place_seconds (const gb_prices *x, const gb_lowered *low, const gb_packed_factor *t,
                         int npacked_factors, const gb_placement *p);

/* The same of step s, in one loop where it runs in several, with the steps that run inside it; 0 where it does not run, or runs inside another. */
double gb_step_seconds (const gb_prices *x, const gb_lowered *low, const gb_packed_factor *t,
                        int npacked_factors, const gb_placement *p, int s);

#endif
