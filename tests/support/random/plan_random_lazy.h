/* plan_random_lazy.h - steps of a random graph with ops that stream: a maker draws matching operands, or
** creates leaves, and adds finite values to the pool. */
#ifndef GB_TESTS_PLAN_RANDOM_LAZY_H
#define GB_TESTS_PLAN_RANDOM_LAZY_H

#include "support/random/plan_random.h"

/* what ops need of an operand */

gb_node *nonempty (gb_node *x);
gb_node *with_axes (gb_node *x);
int an_axis (const gb_node *x);
gb_node *op_node (gb_op op, int nin, gb_node *const *in, gb_attr attr);
gb_node *op1 (gb_op op, gb_node *x, gb_attr attr);
gb_node *op2 (gb_op op, gb_node *x, gb_node *y, gb_attr attr);
gb_node *picked (gb_node *x, int output);
gb_node *generated (gb_op op, int ndim, const size_t *dims, gb_dtype t, gb_attr attr);
gb_attr stream (void);
gb_node *square_eye (size_t n);

/* elementwise */

void make_map1 (gb_op op);
void make_map2 (gb_op op);
void make_pow (void);
void make_test (gb_op op);
void make_logic (gb_op op);
void make_where (void);
void make_with_slope (void);

/* The type and back: f16 and bf16 store, they do not compute. */
void make_cast (void);

/* generators */

void make_generator (gb_op op);

/* views */

void make_view (gb_op op);

/* reductions */

void make_reduce (gb_op op);
void make_kmin (void);

/* contractions */

void make_matmul (void);
void make_gemm (void);
void make_sqdist (void);
gb_node *covariance (gb_node *x, gb_node *y);
void make_radial (void);
void make_diffmv (void);

#endif
