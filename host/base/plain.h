/* plain.h - numbers as texts show them. */
#ifndef GB_BASE_PLAIN_H
#define GB_BASE_PLAIN_H

/* The sign of a NaN says nothing. */
static inline double gb_plain (double v) { return v != v ? __builtin_fabs(v) : v; }

#endif
