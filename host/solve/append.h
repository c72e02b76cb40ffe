/* append.h - Cholesky factors that grow with their matrix: rows are appended, nothing is factored twice.
**
** With L L' = A, rows B and corner C of the larger matrix [[A, B'], [B, C]] give the rows L21 = B L^-T and
** L22 = chol(C - L21 L21'). Source: Golub & Van Loan (2013), Matrix Computations, 6.5.4 (there one row at
** a time). Cost of k rows to n: n^2 k multiply-adds; O(n k) bytes (program/appendable.h). Factors are
** versions: the one appended to stays as it was. Rows that complete block rows one by one, from an order
** that is a multiple of GB_BLOCK, have the bits of a factorisation from the start; others differ by the
** rounding of blocks of another size. */
#ifndef GB_SOLVE_APPEND_H
#define GB_SOLVE_APPEND_H

#include "plan/plan.h"
#include "program/appendable.h"

/* A version of order n + k: 'l' of order n (storage NULL: none), b (k, n), c (k, k), of which the lower
** triangle is read; without 'l' b is not looked at. Evaluates both. Errors: ENOTPD with the order of the
** minor, ENAN with row and column, ESHAPE, EDTYPE, ENOMEM, EINTR; 'l' is as it was. */
gb_status gb_factor_append (gb_graph *g, const gb_tensor *l, gb_node *b, gb_node *c, gb_tensor *out,
                            gb_error *err);

/* A version with the entries of the lower factor 'dense' (n, n), which is evaluated. */
gb_status gb_factor_of (gb_node *dense, gb_tensor *out, gb_error *err);

/* 'l' as an array (n, n) with zeros above its diagonal. Errors: ENOMEM. */
gb_status gb_factor_dense (gb_graph *g, const gb_tensor *l, gb_tensor *out, gb_error *err);

/* w = L^-1 r where the first entries of w (have) are known and r (n - have) is the rest of the right-hand
** side: 'out' (n) holds them and what follows. Evaluates both. n (n - have) multiply-adds, f64 sums.
** Errors: ESHAPE, EDTYPE, ENOMEM. */
gb_status gb_factor_extend (gb_graph *g, const gb_tensor *l, gb_node *w, gb_node *r, gb_tensor *out,
                            gb_error *err);

#endif
