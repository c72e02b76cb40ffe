/* product.h - the product A x of a lazy square matrix with dense columns, planned once and run many times.
** Cost: one traversal of A a run; A is stored only where its own nodes are. */
#ifndef GB_ITERATE_PRODUCT_H
#define GB_ITERATE_PRODUCT_H

#include "graph/build.h"
#include "iterate/values.h"
#include "plan/plan.h"

typedef struct gb_product {
  gb_graph *graph;
  gb_node *a;     /* counted */
  gb_dtype dtype; /* of A */
  size_t n, r;
  /* columns of x and y: r, or for a stored matrix the next multiple of 16: what BLAS computes for a column
  ** then depends neither on its place nor on the other columns */
  size_t width;
  gb_node *x, *y; /* placeholder (n, width), and A x */
  gb_plan *plan;
  gb_tensor in; /* (n, width), what x is bound to */
} gb_product;

/* 'a' without the DETACH nodes above it that have no value, so that canonicalisation sees the sum K + D
** underneath: products are not differentiated. Borrowed. */
gb_node *gb_attached (gb_node *a);

/* Errors: ESHAPE, EDTYPE, EREFUSED, ENOMEM. On failure '*p' is clear. */
gb_status gb_product_init (gb_product *p, gb_node *a, size_t r, gb_error *err);
void gb_product_clear (gb_product *p); /* idempotent */

/* Plans for another number of columns. Errors: as above; then p is clear. */
gb_status gb_product_resize (gb_product *p, size_t r, gb_error *err);

/* Bytes that a product holds, and takes while it runs; 0 where it is clear. */
size_t gb_product_bytes (const gb_product *p);

/* y = A x, both (n, r), without lists of rows or columns; x is first rounded to A's dtype, in place. Errors:
** EINTR, ENOMEM. */
gb_status gb_product_run (gb_product *p, gb_panel x, gb_panel y, gb_error *err);

#endif
