/* clock.c - monotonic seconds. */
#include "base/clock.h"

#include <time.h>

static double seconds_of (clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double gb_clock (void) { return seconds_of(CLOCK_MONOTONIC); }

double gb_clock_thread (void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
