/* cost.h - predicted seconds of lowered steps, from their programs and shapes alone.
**
** All counting is in doubles: extents of 2^31 and beyond neither wrap nor overflow. Costs are finite,
** positive, and do not fall as an extent grows. */
#ifndef GB_CPU_PRICE_COST_H
#define GB_CPU_PRICE_COST_H

#include "cpu/price/profile.h"

/* Seconds on so many threads, without what it takes to call them. A registered op (CALL) is priced as reading its
** inputs and writing its outputs once: a lower bound. */
double gb_cost_fold (const gb_cpu_profile *r, int threads, const gb_fold *f);
double gb_cost_opaque (const gb_cpu_profile *r, int threads, const gb_opaque *o); /* cost_opaque.c */

/* Seconds to read so many bytes that are stored already. */
double gb_cost_bytes (const gb_cpu_profile *r, int threads, double bytes);

/* -- parts, shared by the two files */

/* How many times faster 'threads' threads are than one, on 'tasks' equal parts. */
double gb_cost_speed (const gb_cpu_profile *r, int threads, double tasks);

/* Seconds to write so many bytes; and before that, to have the system map those of a large result. */
double gb_cost_write (const gb_cpu_profile *r, int threads, double bytes);
double gb_cost_map (const gb_cpu_profile *r, int threads, double bytes);

static inline const gb_type_profile *gb_cost_type (const gb_cpu_profile *r, gb_dtype compute) {
  return &r->type[compute == GB_F64 || compute == GB_I64 ? 0 : 1];
}

#endif
