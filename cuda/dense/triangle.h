/* triangle.h - triangular systems by cuBLAS. */
#ifndef GB_CUDA_DENSE_TRIANGLE_H
#define GB_CUDA_DENSE_TRIANGLE_H

#include "cuda/dense/call.h"

/* x (n, r) = op(a)^-1 x, in canonical panels of columns; rows of a are 'lda' apart, those of x 'ldx'. */
typedef struct gb_cuda_triangle {
  const void *a;
  size_t n, lda;
  bool upper, trans;
} gb_cuda_triangle;
gb_status gb_cuda_solve_triangle (const gb_cuda_call *c, const gb_cuda_triangle *t, void *x, size_t r,
                                  size_t ldx);

#endif
