/* columns.h - dense columns (n, r), row-major doubles: the vector operations of the solvers. Sums are over
** blocks of 256 rows in order, one chain a column, so a column's result never depends on the others. */
#ifndef GB_SOLVE_COLUMNS_H
#define GB_SOLVE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/dtype.h"

#define GB_WORTHLESS 1e3 /* a guess that leaves more than this times |b| is a worse one than 0 */

/* out[c] = sum over rows of x[., c] y[., c] */
void gb_columns_dot (size_t n, size_t r, const double *x, const double *y, double *out);

/* y[., c] += f[c] x[., c] */
void gb_columns_axpy (size_t n, size_t r, const double *f, const double *x, double *y);

/* y[., c] = x[., c] + f[c] y[., c] */
void gb_columns_xpay (size_t n, size_t r, const double *f, const double *x, double *y);

/* For each column of v the exponent e with its largest entry in 2^e [1, 2); 0 where that is 0 or not
** finite. */
void gb_columns_exponents (size_t n, size_t r, const double *v, int *exponent);

/* v[., c] *= 2^(sign exponent[c]): exact but at the ends of the range. */
void gb_columns_scale (size_t n, size_t r, const int *exponent, int sign, double *v);

/* The largest share of a column of v, of its largest entry, that v[., c] 2^exponent[c] in this dtype has
** lost beyond rounding: 1 where the column is 0 there; '*column' is the one that lost most. */
double gb_columns_lost (size_t n, size_t r, const int *exponent, const double *v, gb_dtype dtype,
                        size_t *column);

/* v[., c] as v[., c] 2^exponent[c] in this dtype holds it: nothing changes but what falls below the normal
** numbers. */
void gb_columns_keep (size_t n, size_t r, const int *exponent, gb_dtype dtype, double *v);

/* Are all entries finite in this dtype, f32 or f64? Else 'column' is that of the first that is not, from
** 0. */
bool gb_columns_finite (size_t n, size_t r, const double *v, gb_dtype dtype, size_t *column);

#endif
