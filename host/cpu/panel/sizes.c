/* sizes.c - powers of two, what a type holds, and what is not finite. */
#include <float.h>
#include <math.h>

#include "cpu/panel/panel.h"

#define WIDTH 32 /* columns whose largest entries are kept at hand */

void gb_cpu_exponents (gb_panel x, int *exponent) {
  for (size_t k0 = 0; k0 < x.r; k0 += WIDTH) {
    const size_t w = gb_extent(x.r, k0, WIDTH);
    double most[WIDTH] = {0};
    for (size_t i = 0; i < x.n; i++)
      for (size_t k = 0; k < w; k++) most[k] = fmax(most[k], fabs(*gb_panel_entry(&x, i, k0 + k)));
    for (size_t k = 0; k < w; k++) exponent[k0 + k] = most[k] > 0 && isfinite(most[k]) ? ilogb(most[k]) : 0;
  }
}

void gb_cpu_shift (gb_panel x, const int *exponent, int sign) {
  for (size_t i = 0; i < x.n; i++)
    for (size_t k = 0; k < x.r; k++) {
      double *v = gb_panel_entry(&x, i, k);
      if (exponent[k] != 0) *v = ldexp(*v, sign * exponent[k]);
    }
}

/* What is left of an entry that falls below the normal numbers, back at the size it had. */
static double kept (double v, int exponent, bool f32) {
  const double there = ldexp(v, exponent);
  if (fabs(there) >= (f32 ? (double)FLT_MIN : DBL_MIN)) return v;
  return ldexp(f32 ? (double)(float)there : there, -exponent);
}

double gb_cpu_lost (gb_panel x, const int *exponent, bool f32, size_t *column) {
  double worst = 0;
  for (size_t k = 0; k < x.r; k++) {
    double most = 0, lost = 0;
    for (size_t i = 0; i < x.n; i++) {
      const double v = *gb_panel_entry(&x, i, k);
      most = fmax(most, fabs(v));
      lost = fmax(lost, fabs(v - kept(v, exponent[k], f32)));
    }
    if (!(lost > worst * most)) continue;
    worst = lost / most;
    *column = k;
  }
  return worst;
}

void gb_cpu_keep (gb_panel x, const int *exponent, bool f32) {
  for (size_t i = 0; i < x.n; i++)
    for (size_t k = 0; k < x.r; k++) {
      double *v = gb_panel_entry(&x, i, k);
      *v = kept(*v, exponent[k], f32);
    }
}

bool gb_cpu_finite (gb_panel x, bool f32, size_t *column) {
  for (size_t i = 0; i < x.n; i++)
    for (size_t k = 0; k < x.r; k++) {
      const double v = *gb_panel_entry(&x, i, k);
      if (isfinite(f32 ? (float)v : v)) continue;
      *column = k;
      return false;
    }
  return true;
}

size_t gb_cpu_first_invalid (gb_panel x) {
  for (size_t i = 0; i < x.n; i++) {
    const double v = *gb_panel_entry(&x, i, 0);
    if (!(isfinite(v) && v >= 0)) return i;
  }
  return x.n;
}
