/* water_fill.h - how much of an axis each device takes. */
#ifndef GB_PLAN_CHOOSE_WATER_FILL_H
#define GB_PLAN_CHOOSE_WATER_FILL_H

#include <stdbool.h>
#include <stddef.h>

/* Shares 'units' among 'n' devices: share[i] <= cap[i], sum = units, and the time until the last one is
** done, max of share[i] / speed[i], is the least possible: the smallest T with sum of min(cap[i], speed[i]
** T) >= units, found by bisection. What is left over at that T goes to the devices that reach it, first
** ones first. speed[i] > 0. False: the caps do not hold 'units'. Cost O(n log(units)). */
bool gb_water_fill (size_t units, int n, const size_t *cap, const double *speed, size_t *share);

#endif
