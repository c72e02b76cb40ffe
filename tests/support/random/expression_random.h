/* expression_random.h - random expressions: maps, outer forms, views, reductions, contractions and opaque ops
** over a pool that grows by one value per step. Shapes use a few extents, so that operands often match. */
#ifndef GB_TESTS_EXPRESSION_RANDOM_H
#define GB_TESTS_EXPRESSION_RANDOM_H

#include "support/plan/eval_fixture.h"

#define STEPS 14

extern uint64_t draw_seed, drawn;

size_t draw (size_t below);

typedef struct pool {
  gb_node *at[STEPS + 8];
  int n;
} pool;

/* Extents of leaves, and the most elements of a value. */
typedef struct expression_sizes {
  size_t extent[4], most;
} expression_sizes;

extern expression_sizes sizes;

gb_node *random_input (void);

/* Keeps values in (-1, 1), so that errors do not grow. */
gb_node *tame (gb_node *x);
void grow (pool *p);

#endif
