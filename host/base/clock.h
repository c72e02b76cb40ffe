/* clock.h - monotonic seconds. */
#ifndef GB_BASE_CLOCK_H
#define GB_BASE_CLOCK_H

double gb_clock (void);        /* seconds since an arbitrary origin, monotonic */
double gb_clock_thread (void); /* processor seconds of the calling thread alone */

#endif
