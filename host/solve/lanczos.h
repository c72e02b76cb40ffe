/* lanczos.h - Lanczos tridiagonalisation of a lazy symmetric matrix.
** Source: Golub & Meurant (2010), Matrices, Moments and Quadrature with Applications. */
#ifndef GB_SOLVE_LANCZOS_H
#define GB_SOLVE_LANCZOS_H

#include "graph/build.h"

typedef struct gb_lanczos_info {
  int steps;       /* fewer than asked where an invariant subspace was found */
  double residual; /* the last off-diagonal entry: |A Q - Q T| */
} gb_lanczos_info;

/* Q (n, t) with orthonormal columns, the first along q (n), and T (t, t) = Q' A Q tridiagonal; t <= steps.
** Orthogonal to rounding: each vector is orthogonalised twice against all before. Cost: t products with A,
** 4 n t^2 flops, n (t + 3) doubles. Errors: ESHAPE, EOPTION (q = 0), ENAN, EINTR, ENOMEM. */
gb_status gb_lanczos (gb_node *a, gb_node *q, size_t steps, gb_node **basis, gb_node **t,
                      gb_lanczos_info *info, gb_error *err);

#endif
