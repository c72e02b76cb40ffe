/* date.h - dates as ISO 8601 writes them, to seconds. */
#ifndef GB_IO_DATE_H
#define GB_IO_DATE_H

#include <stdbool.h>
#include <stddef.h>

/* Seconds since 1970-01-01T00:00:00Z of the n bytes at s: YYYY-MM-DD, and behind it 'T' or a blank, hh:mm[:ss[.digits]] and Z or
** an offset of hours and minutes (+hh:mm, +hhmm, +hh); without one the time is UTC. The Gregorian calendar holds for all years;
** there are no leap seconds. False for all other text and for days that no calendar has. */
bool gb_date_seconds (const char *s, size_t n, double *out);

#endif
