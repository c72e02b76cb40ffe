/* lower_fixture.h - helpers of the lowering tests: kernels and their products, lowered programs, comparison
** of bits. */
#ifndef GB_TESTS_LOWER_FIXTURE_H
#define GB_TESTS_LOWER_FIXTURE_H

#include "support/plan/eval_fixture.h"

/* A leaf without a value, differentiable: an expression over such leaves can be planned at any size. */
gb_node *empty_of (gb_dtype t, int ndim, const size_t *dim);
gb_node *radial (gb_profile p, gb_node *s, gb_node *c, gb_node *alpha);
gb_node *grad1 (gb_node *y, gb_node *x);
gb_node *rows_sum (gb_node *a, int axis);
gb_node *identity_of (size_t n);
void grads (gb_node *y, size_t n, gb_node *const *xs, gb_node **out);
void eval_all (size_t n, gb_node *const *nodes);
void eval1 (gb_node *n);
gb_lowered *lowered (size_t n, gb_node *const *outs);

/* True if a step visits pairs: some value varies along two axes outside its inner loops. */
bool visits_pairs (const gb_step *st);
void print_steps (const gb_lowered *low);

/* The elements of a contiguous value; true if two values have the same bits. */
size_t count_of (const gb_node *n);
bool same_bits (const gb_node *a, const gb_node *b);

/* A copy of a value's bits, to compare with those of another graph. */
typedef struct kept_bits {
  void *at;
  size_t bytes;
} kept_bits;

kept_bits keep_bits (const gb_node *n);
bool has_bits (const gb_node *n, const kept_bits *k);

gb_node *reshape (gb_node *a, int ndim, const size_t *dim);

#endif
