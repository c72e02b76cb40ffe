/* batch_cases.h - every op of dense algebra on a batch of matrices, and on one matrix of it. */
#ifndef BATCH_CASES_H
#define BATCH_CASES_H

#include "support/cpu/opaque_fixture.h"

enum { BATCH_OPS = 11 };
extern const gb_op batch_ops[BATCH_OPS];

/* Matrices (n, m), square unless the op is QR or SVD, and r right-hand sides for each. */
typedef struct batch_case {
  gb_op op;
  gb_dtype dtype;
  size_t n, m, r;
  gb_shape a, b, lead; /* leading axes of both inputs and of the results */
} batch_case;

bool batch_has_right (gb_op op);
/* Positive definite with a dominant diagonal, each its own: every op takes them, as a factor too. */
double *batch_matrices (size_t count, size_t n, size_t m);
/* The op of all, and that of slice k alone; a and b are in the case's dtype. */
op_case batch_new (const batch_case *q, const void *a, const void *b);
op_case slice_new (const batch_case *q, const void *a, const void *b, size_t k);
/* Runs 'check' with numbers for the case. */
void batch_with_numbers (const batch_case *q,
                         void (*check)(const batch_case *q, const void *a, const void *b));

#endif
