/* rows.h - products with some rows or columns of a lazy square matrix, chosen before each run.
**
** Rows are taken where the matrix is made (graph/canon/gather.h), so that A[rows, :] x streams b n pairs and
** nothing of n b values exists. */
#ifndef GB_ITERATE_ROWS_H
#define GB_ITERATE_ROWS_H

#include "graph/build.h"
#include "iterate/values.h"
#include "plan/plan.h"

typedef struct gb_rows {
  gb_graph *graph;
  gb_dtype dtype;
  size_t n, r, b;
  gb_node *at, *x, *v;      /* placeholders: positions (b), columns (n, r) and (b, r) */
  gb_node *ax, *av, *block; /* A[at, :] x (b, r); A[:, at] v (n, r); A[at, at] (b, b) */
  gb_plan *by_row, *by_column, *by_block;
  gb_tensor positions, wide, narrow; /* what the placeholders are bound to */
} gb_rows;

/* A symmetric (n, n); 1 <= b <= n. Memory: (n + b) r values beside what A's own nodes take. Errors:
** ESHAPE, EDTYPE, EREFUSED, ENOMEM. On failure '*p' is clear. */
gb_status gb_rows_init (gb_rows *p, gb_node *a, size_t r, size_t b, gb_error *err);
void gb_rows_clear (gb_rows *p); /* idempotent */

/* Chooses b rows, from 0, each at most once. Errors: EDEVICE. */
gb_status gb_rows_choose (gb_rows *p, const size_t *rows, gb_error *err);

/* y (b, r) = A[at, :] x, x (n, r); x is rounded to A's dtype on the way. Panels lie side by side. Errors:
** EINTR, ENOMEM. */
gb_status gb_rows_times (gb_rows *p, gb_panel x, gb_panel y, gb_error *err);

/* y (n, r) = A[:, at] v, v (b, r) first rounded to A's dtype, in place. */
gb_status gb_rows_columns (gb_rows *p, gb_panel v, gb_panel y, gb_error *err);

/* A[at, at] (b, b). */
gb_status gb_rows_block (gb_rows *p, gb_panel out, gb_error *err);

#endif
