/* special.c - digamma and trigamma: reflection to x > 0, recurrence to x >= 10, the asymptotic series there.
** Source: Abramowitz & Stegun (1964), 6.3.5, 6.3.7, 6.3.18 and 6.4.6, 6.4.7, 6.4.12. The first term left out
** is below 1e-17 at x = 10. */
#include <math.h>
#include "cpu/special.h"

#define PI 3.14159265358979323846

/* sum_k c[k] z^(k + 1), from the highest power */
static double series (const double *c, int n, double z) {
  double s = 0.0;
  for (int k = n - 1; k >= 0; k--) s = (s + c[k]) * z;
  return s;
}

double gb_digamma (double x) {
  static const double c[] = { 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760,
                              1.0 / 12, -3617.0 / 8160 };
  if (x <= 0.0) {
    if (x == floor(x)) return (double)NAN;
    return gb_digamma(1.0 - x) - PI / tan(PI * (x - rint(x)));
  }
  if (isinf(x)) return x;
  double below = 0.0;
  for (; x < 10.0; x += 1.0) below += 1.0 / x;
  const double z = 1.0 / (x * x);
  return log(x) - 0.5 / x - series(c, 8, z) - below;
}

double gb_trigamma (double x) {
  static const double b[] = { 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6,
                              -3617.0 / 510 };
  if (x <= 0.0) {
    if (x == floor(x)) return isinf(x) ? (double)NAN : (double)INFINITY;
    const double s = sin(PI * (x - rint(x)));
    return PI * PI / (s * s) - gb_trigamma(1.0 - x);
  }
  if (isinf(x)) return 0.0;
  double below = 0.0;
  for (; x < 10.0; x += 1.0) below += 1.0 / (x * x);
  const double z = 1.0 / (x * x);
  return below + 1.0 / x + 0.5 * z + series(b, 8, z) / x;
}
