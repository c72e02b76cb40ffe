/* products.h - fold programs of kernels: a profile of distances, its products with right-hand sides, symmetric ones. */
#ifndef GB_PRODUCTS_H
#define GB_PRODUCTS_H

#include "support/cpu/fold_fixture.h"

typedef struct product {
  int lane, tile, feature, column, xl, xt, k;
} product;

/* A profile of n x m distances in d dimensions, with an axis of R columns. 'same': of the points with themselves. */
product product_of (fx *x, gb_profile p, size_t n, size_t m, size_t d, size_t R, gb_dtype stored, bool same);
/* Its contraction with right-hand sides, or with one. */
gb_out *product_contraction (fx *x, const product *q, int value, bool one, gb_axes reduced);

/* Sums of sums over TILE. Instructions do not fit into the argument of a GPU's kernel, which has 4 KiB; 'wide': nor do
** operands and outputs. */
void long_program (fx *x, bool wide);

/* Symmetric program number n: up to three outputs of one value. Returns its pairs. */
size_t symmetric_program (fx *x, int n);

#endif
