/* matrix.h - the matrix of a solve as it is multiplied: in one precision, or in two. */
#ifndef GB_SOLVE_FRAME_MATRIX_H
#define GB_SOLVE_FRAME_MATRIX_H

#include "iterate/product.h"

/* Mixed precision: 'a' is A in f64 and 'low' A in f32, whichever of them A is; else 'low' is clear. */
typedef struct gb_solve_matrix {
  gb_product a, low;
} gb_solve_matrix;

/* A (n, n) for r columns. Errors: ESHAPE, EDTYPE, EREFUSED, ENOMEM. On failure '*m' is clear. */
gb_status gb_solve_matrix_init (gb_solve_matrix *m, gb_node *a, size_t r, bool mixed, gb_error *err);
void gb_solve_matrix_clear (gb_solve_matrix *m); /* idempotent */

/* The most bytes that the products hold at any width of the ladder r, r / 2, r / 4, ... (solve/frame/active.h):
** fewer columns may need more. Leaves the smallest width. Errors: as init. */
gb_status gb_solve_matrix_peak (gb_solve_matrix *m, size_t *bytes, gb_error *err);

#endif
