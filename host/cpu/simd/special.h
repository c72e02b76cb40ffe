/* special.h - scalar special functions that the libraries in use lack. */
#ifndef GB_CPU_SIMD_SPECIAL_H
#define GB_CPU_SIMD_SPECIAL_H

/* d/dx log |Gamma(x)|; infinite at 0 with the sign of the side, NaN at -1, -2, ... and at -inf */
double gb_digamma (double x);
double gb_trigamma (double x); /* its derivative; inf at the poles */
/* the derivative of order n of digamma; NaN if n is not in 0 .. 100 */
double gb_polygamma (double n, double x);

double gb_ndtr_ratio (double x);  /* r = phi(x) / Phi(x), the derivative of log Phi */
double gb_ndtr_gap (double x);    /* x + r, > 0; that of r is -r (x + r) */
double gb_ndtr_spread (double x); /* 1 - r (x + r), in (0, 1), the derivative of x + r */

#endif
