/* water_fill.c - water-filling by bisection of the time. */
#include "plan/choose/water_fill.h"

#define HALVINGS 200 /* a double has no more distinct halves between 0 and the end */

/* What device i has done at time t. */
static size_t done_at (double t, size_t cap, double speed) {
  const double units = speed * t;
  return units >= (double)cap ? cap : (size_t)units;
}

static bool enough (double t, size_t units, int n, const size_t *cap, const double *speed) {
  size_t sum = 0;
  for (int i = 0; i < n; i++) {
    const size_t done = done_at(t, cap[i], speed[i]);
    if (done >= units - sum) return true;
    sum += done;
  }
  return units == 0;
}

/* The time at which every device is done with all that it can hold. */
static double latest (size_t units, int n, const size_t *cap, const double *speed) {
  double t = 0;
  for (int i = 0; i < n; i++) {
    const double all = (double)(cap[i] < units ? cap[i] : units) / speed[i];
    if (all > t) t = all;
  }
  return t * (1 + 1e-12); /* speed * (cap / speed) may round below cap */
}

bool gb_water_fill (size_t units, int n, const size_t *cap, const double *speed, size_t *share) {
  double low = 0, high = latest(units, n, cap, speed);
  if (!enough(high, units, n, cap, speed)) return false;
  for (int k = 0; k < HALVINGS; k++) {
    const double mid = low + (high - low) / 2;
    if (mid <= low || mid >= high) break;
    if (enough(mid, units, n, cap, speed)) high = mid;
    else low = mid;
  }
  size_t left = units;
  for (int i = 0; i < n; i++) left -= share[i] = done_at(low, cap[i], speed[i]);
  for (int i = 0; i < n && left > 0; i++) {
    const size_t more = done_at(high, cap[i], speed[i]) - share[i], given = more < left ? more : left;
    share[i] += given;
    left -= given;
  }
  return true;
}
