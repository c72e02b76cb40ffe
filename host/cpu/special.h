/* special.h - scalar special functions that no library at hand has. */
#ifndef GB_CPU_SPECIAL_H
#define GB_CPU_SPECIAL_H

double gb_digamma (double x);    /* d/dx log |Gamma(x)|; NaN at 0, -1, -2, ... and at -inf */
double gb_trigamma (double x);   /* its derivative; inf at the poles */

#endif
