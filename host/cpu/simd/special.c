/* special.c - digamma and its derivatives: reflection to x > 0, recurrence to large x, the asymptotic series
** there. Source: Abramowitz & Stegun (1964), 6.3.5, 6.3.7, 6.3.18 and 6.4.6, 6.4.7, 6.4.11, 6.4.12. The first
** omitted term is below 1e-17 of the value. The lower tail of the normal distribution: the continued fraction
** 26.2.14. */
#include "cpu/simd/special.h"
#include <math.h>

#define PI 3.14159265358979323846

/* sum_k c[k] z^(k + 1), from the highest power */
static double series (const double *c, int n, double z) {
  double s = 0.0;
  for (int k = n - 1; k >= 0; k--) s = (s + c[k]) * z;
  return s;
}

double gb_digamma (double x) {
  static const double c[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                             1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  if (x <= 0.0) {
    if (x == 0.0) return -1.0 / x;
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
  static const double b[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                             5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
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

/* -- polygamma */

#define MOST_ORDER 100
#define FEW_STEPS 20.0 /* below 0: recurrence, further out reflection */

static double factorial (int n) {
  double f = 1.0;
  for (int i = 2; i <= n; i++) f *= i;
  return f;
}

/* d^n/dx^n of pi cot(pi x): each derivative of a polynomial in c = cot is -pi (1 + c^2) times that in c. */
static double cotangent (int n, double x) {
  double p[MOST_ORDER + 2] = {0.0, PI}, q[MOST_ORDER + 2];
  const double c = 1.0 / tan(PI * (x - rint(x)));
  for (int k = 0; k < n; k++) {
    for (int i = 0; i <= k + 2; i++) {
      const double up = i + 1 <= k + 1 ? (i + 1) * p[i + 1] : 0.0,
                   down = i > 0 && i - 1 <= k + 1 ? (i - 1) * p[i - 1] : 0.0;
      q[i] = -PI * (up + down);
    }
    for (int i = 0; i <= k + 2; i++) p[i] = q[i];
  }
  double s = 0.0;
  for (int i = n + 1; i >= 0; i--) s = s * c + p[i];
  return s;
}

/* n! sum_k 1 / (x + k)^(n + 1), which is (-1)^(n + 1) times the polygamma function. */
static double hurwitz (int n, double x) {
  static const double b[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                             5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  double below = 0.0;
  for (; x < 15.0 + 2.0 * n; x += 1.0) below += pow(x, -n - 1);
  double term = 1.0, tail = 0.0; /* (n + 2k - 1)! / ((2k)! n!) x^(-2k), in units of 1 / x^n */
  for (int k = 0; k < 8; k++) {
    const double m = 2.0 * k;
    term *= k == 0 ? (n + 1.0) / 2.0 : (n + m) * (n + m + 1.0) / ((m + 1.0) * (m + 2.0));
    term /= x * x;
    tail += b[k] * term;
  }
  return factorial(n) * (below + pow(x, -n) * (1.0 / n + 0.5 / x + tail));
}

double gb_polygamma (double order, double x) {
  if (!(order >= 0.0 && order <= MOST_ORDER) || order != floor(order) || isnan(x)) return (double)NAN;
  const int n = (int)order;
  if (n == 0) return gb_digamma(x);
  const double sign = n % 2 == 0 ? -1.0 : 1.0;
  if (x == 0.0) return sign < 0.0 ? -1.0 / x : (double)INFINITY;
  if (x < 0.0 && x == floor(x)) return sign < 0.0 || isinf(x) ? (double)NAN : (double)INFINITY;
  if (isinf(x)) return 0.0;
  return x < -FEW_STEPS ? -cotangent(n, x) - hurwitz(n, 1.0 - x) : sign * hurwitz(n, x);
}

/* -- the lower tail of the normal distribution */

#define TAIL -1.5

/* k / (t + (k + 1) / (t + (k + 2) / (t + ...))), up to negligible terms. */
static double fraction (int k, double t) {
  double f = 0.0;
  for (int m = k + 10 + (int)(400.0 / (t * t)); m >= k; m--) f = m / (t + f);
  return f;
}

/* The density over the distribution function; x^2 is split into two parts, since its rounding error would be
** multiplied by its size. */
static double ratio (double x) {
  const double q = x * x, rest = isinf(q) ? 0.0 : fma(x, x, -q);
  return 0.79788456080286535588 * exp(-0.5 * q) * (1.0 - 0.5 * rest) / erfc(-x * 0.70710678118654752440);
}

double gb_ndtr_ratio (double x) { return x < TAIL ? fraction(1, -x) - x : ratio(x); }

double gb_ndtr_gap (double x) { return x < TAIL ? fraction(1, -x) : x + ratio(x); }

double gb_ndtr_spread (double x) {
  if (!(x < TAIL)) {
    const double r = ratio(x);
    return isinf(x) ? 1.0 : 1.0 - r * (x + r);
  }
  const double next = fraction(2, -x), gap = 1.0 / (next - x);
  return gap * (next - gap);
}
