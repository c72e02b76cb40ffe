/* cost.h - predicted seconds of lowered steps, from their programs and shapes alone.
**
** All counting is in doubles: extents of 2^31 and beyond neither wrap nor overflow. Costs are finite,
** positive, and do not fall as an extent grows. */
#ifndef GB_PLAN_PRICE_COST_H
#define GB_PLAN_PRICE_COST_H

#include "lower/lower.h"
#include "plan/price/profile.h"

/* Seconds of step 'st' on so many threads; 'fraction' in [0, 1] scales what it does, not what it takes to
** call it. A registered op (CALL) is priced as reading its inputs and writing its outputs once: a lower
** bound. */
double gb_cost_step (const gb_device_profile *r, int threads, const gb_step *st, const double fraction);

/* Seconds to read so many bytes that are stored already. */
double gb_cost_bytes (const gb_device_profile *r, int threads, double bytes);

/* -- parts, shared by the two files */

/* How many times faster 'threads' threads are than one, on 'tasks' equal parts. */
double gb_cost_speed (const gb_device_profile *r, int threads, double tasks);

/* Seconds to write so many bytes; and before that, to have the system map those of a large result. */
double gb_cost_write (const gb_device_profile *r, int threads, double bytes);
double gb_cost_map (const gb_device_profile *r, int threads, double bytes);

/* cost_opaque.c. Without the overhead of the call. */
double gb_cost_opaque (const gb_device_profile *r, int threads, const gb_opaque *o);

static inline const gb_type_profile *gb_cost_type (const gb_device_profile *r, gb_dtype compute) {
  return &r->type[compute == GB_F64 || compute == GB_I64 ? 0 : 1];
}

#endif
