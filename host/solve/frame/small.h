/* small.h - dense matrices of a few columns, on the host, row-major: what is left of a block of right-hand
** sides once its products are made. */
#ifndef GB_SOLVE_FRAME_SMALL_H
#define GB_SOLVE_FRAME_SMALL_H

#include <stdbool.h>
#include <stddef.h>

/* out (a, b) = x (a, k) y (k, b). */
void gb_small_product (size_t a, size_t k, size_t b, const double *x, const double *y, double *out);

/* out (b, a) = x (a, b) transposed. */
void gb_small_transpose (size_t a, size_t b, const double *x, double *out);

/* The lower Cholesky factor of the symmetric matrix a (p, p), of which the lower triangle is read, in its place. Returns
** false where a pivot is not positive; '*pivot' is that one. */
bool gb_small_cholesky (size_t p, double *a, double *pivot);

/* x (p, r) = l^-1 x for the lower triangle of l (p, p). */
void gb_small_solve_lower (size_t p, size_t r, const double *l, double *x);

/* out (p, p) = a^-1 for a symmetric positive definite a, which is overwritten by its factor. Returns false as
** gb_small_cholesky. */
bool gb_small_inverse (size_t p, double *a, double *out, double *pivot);

/* For the products g (s, s) of s vectors with each other: how many of them, p, are independent to 'tol' of
** their squares; c (p, s) and m (s, p) with vectors = basis c and basis = vectors m, the basis orthonormal.
** What dependent ones have beyond the others is left out. g is made symmetric; left, of (s): work. 0 if no
** square is positive. */
size_t gb_small_basis (size_t s, double *g, double tol, double *c, double *m, double *left, size_t *of);

#endif
