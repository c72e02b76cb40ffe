/* grad_check.h - gradients of expressions against differences of the reference. */
#ifndef GB_TESTS_GRAD_CHECK_H
#define GB_TESTS_GRAD_CHECK_H

#include "support/graph/graph_fixture.h"
#include "support/graph/reference.h"

gb_node *leaf_in (int ndim, const size_t *dim, double lo, double hi);
gb_node *mat_in (size_t n, size_t m, double lo, double hi);
gb_node *op_of (gb_op op, int nin, gb_node *const *in, gb_attr attr);
gb_node *pick_ (gb_node *n, int output);
/* A positive definite matrix made of the leaf x. */
gb_node *spd (gb_node *x);
/* The gradient of <random cotangent, y> at each x; returns it in 'bar', held. */
void take_gradient (gb_node *y, gb_node *cotangent, size_t n, gb_node *const *xs, gb_node **bar);
double *value_of (gb_node *n, const reference_bindings *with); /* by the reference; malloc'ed */
double slope_at (gb_node *y, const double *w, gb_node *x, const double *at, size_t i);
gb_node *like_leaf (const gb_node *y); /* a new leaf of its shape and dtype */
bool gradient_is_right (const char *what, gb_node *y, size_t n, gb_node *const *xs, double tol);
void expect_gradient (gb_node *y, gb_node *x, const double *want);

#endif
