/* product.h - the product A x of a lazy square matrix with dense columns, planned once and run many times.
** Cost: one traversal of A a run; A is stored only where its own nodes are. */
#ifndef GB_ITERATE_PRODUCT_H
#define GB_ITERATE_PRODUCT_H

#include "graph/build.h"
#include "plan/plan.h"

typedef struct gb_product {
  gb_graph *graph;
  gb_node *a;     /* counted */
  gb_dtype dtype; /* of A */
  size_t n, r;
  /* of x and y: r, or for a stored matrix the next multiple of 16, so that what BLAS does with a column
  ** depends neither on its place nor on the others */
  size_t width;
  gb_node *x, *y; /* placeholder (n, width), and A x */
  gb_plan *plan;
  gb_tensor in; /* (n, width), what x is bound to */
} gb_product;

/* What a detached matrix is made of, unless it has a value: products are not differentiated, and only a
** sum that is seen as one is split into a fold and a diagonal. Borrowed. */
gb_node *gb_attached (gb_node *a);

/* Errors: ESHAPE, EDTYPE, EREFUSED, ENOMEM. On failure '*p' is clear. */
gb_status gb_product_init (gb_product *p, gb_node *a, size_t r, gb_error *err);
void gb_product_clear (gb_product *p); /* idempotent */

/* Another number of columns. Errors: as above; then p is clear. */
gb_status gb_product_resize (gb_product *p, size_t r, gb_error *err);

/* Bytes that a product holds, and takes while it runs; 0 where it is clear. */
size_t gb_product_bytes (const gb_product *p);

/* y = A x, both (n, r) doubles; x is first rounded to A's dtype, in place. Errors: EINTR, ENOMEM. */
gb_status gb_product_run (gb_product *p, double *x, double *y, gb_error *err);

/* The values of a node as doubles, row-major, into 'out' (numel). Evaluates it. */
gb_status gb_node_doubles (gb_node *n, double *out, gb_error *err);

/* A leaf of dtype t and shape s with the given values. */
gb_status gb_leaf_doubles (gb_graph *g, const gb_shape *s, gb_dtype t, const double *values, const char *name,
                           gb_node **out, gb_error *err);

#endif
