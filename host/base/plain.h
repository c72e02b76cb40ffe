/* plain.h - numbers prepared for printing. */
#ifndef GB_BASE_PLAIN_H
#define GB_BASE_PLAIN_H

/* Drops the sign of a NaN, which has no meaning. */
static inline double gb_plain (double v) { return v != v ? __builtin_fabs(v) : v; }

#endif
