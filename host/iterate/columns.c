/* columns.c - loops over rows, a few columns at a time. */
#include "iterate/columns.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 256
#define WIDTH 32

void gb_columns_dot (size_t n, size_t r, const double *x, const double *y, double *out) {
  memset(out, 0, r * sizeof *out);
  for (size_t i0 = 0; i0 < n; i0 += BLOCK) {
    const size_t i1 = n - i0 < BLOCK ? n : i0 + BLOCK;
    for (size_t c0 = 0; c0 < r; c0 += WIDTH) {
      const size_t w = r - c0 < WIDTH ? r - c0 : WIDTH;
      double sum[WIDTH] = {0};
      for (size_t i = i0; i < i1; i++)
        for (size_t c = 0; c < w; c++) sum[c] += x[i * r + c0 + c] * y[i * r + c0 + c];
      for (size_t c = 0; c < w; c++) out[c0 + c] += sum[c];
    }
  }
}

void gb_columns_axpy (size_t n, size_t r, const double *f, const double *x, double *y) {
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) y[i * r + c] += f[c] * x[i * r + c];
}

void gb_columns_xpay (size_t n, size_t r, const double *f, const double *x, double *y) {
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) y[i * r + c] = x[i * r + c] + f[c] * y[i * r + c];
}

void gb_columns_exponents (size_t n, size_t r, const double *v, int *exponent) {
  for (size_t c0 = 0; c0 < r; c0 += WIDTH) {
    const size_t w = r - c0 < WIDTH ? r - c0 : WIDTH;
    double most[WIDTH] = {0};
    for (size_t i = 0; i < n; i++)
      for (size_t c = 0; c < w; c++) most[c] = fmax(most[c], fabs(v[i * r + c0 + c]));
    for (size_t c = 0; c < w; c++) exponent[c0 + c] = most[c] > 0 && isfinite(most[c]) ? ilogb(most[c]) : 0;
  }
}

void gb_columns_scale (size_t n, size_t r, const int *exponent, int sign, double *v) {
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++)
      if (exponent[c] != 0) v[i * r + c] = ldexp(v[i * r + c], sign * exponent[c]);
}

/* What is left of an entry that falls below the normal numbers, back at the size it had. */
static double kept (double v, int exponent, gb_dtype dtype) {
  const double there = ldexp(v, exponent);
  if (fabs(there) >= (dtype == GB_F32 ? (double)FLT_MIN : DBL_MIN)) return v;
  return ldexp(dtype == GB_F32 ? (double)(float)there : there, -exponent);
}

double gb_columns_lost (size_t n, size_t r, const int *exponent, const double *v, gb_dtype dtype,
                        size_t *column) {
  double worst = 0;
  for (size_t c = 0; c < r; c++) {
    double most = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
      most = fmax(most, fabs(v[i * r + c]));
      lost = fmax(lost, fabs(v[i * r + c] - kept(v[i * r + c], exponent[c], dtype)));
    }
    if (!(lost > worst * most)) continue;
    worst = lost / most;
    *column = c;
  }
  return worst;
}

void gb_columns_keep (size_t n, size_t r, const int *exponent, gb_dtype dtype, double *v) {
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) v[i * r + c] = kept(v[i * r + c], exponent[c], dtype);
}

bool gb_columns_finite (size_t n, size_t r, const double *v, gb_dtype dtype, size_t *column) {
  for (size_t i = 0; i < n * r; i++) {
    if (isfinite(dtype == GB_F32 ? (float)v[i] : v[i])) continue;
    *column = i % r;
    return false;
  }
  return true;
}
