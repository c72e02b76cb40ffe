/* solve_fixture.h - a device and a graph per test, test matrices, and dense elimination in doubles. */
#ifndef GB_TESTS_SOLVE_FIXTURE_H
#define GB_TESTS_SOLVE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/interrupt.h"
#include "base/rng.h"
#include "iterate/product.h"
#include "iterate/work.h"
#include "solve/precond/precond.h"

extern gb_device *dev;
extern gb_graph *g;
extern gb_error err;
extern gb_node *held[1024];
extern int nheld;

int solve_begin (void **state);
int solve_end (void **state);
void ok (gb_status st);
gb_node *hold_node (gb_status st, gb_node *n);

/* BUILD(gb_map1, GB_OP_EXP, x) calls gb_map1(GB_OP_EXP, x, &node, &err) and holds the node. */
#define BUILD(call, ...)                                                                                     \
  ({                                                                                                         \
    gb_node *built_ = NULL;                                                                                  \
    gb_status st_ = call(__VA_ARGS__, &built_, &err);                                                        \
    hold_node(st_, built_);                                                                                  \
  })

gb_node *leaf (gb_dtype t, unsigned flags, int ndim, const size_t *dim, const double *v);
gb_node *random_leaf (gb_dtype t, unsigned flags, size_t n, size_t r, uint64_t seed);

/* The kernel exp(-c |x - y|^2 / 2) on n points of the plane, and with noise on its diagonal. */
gb_node *kernel (gb_dtype t, size_t n, gb_node *c);
gb_node *scalar (gb_dtype t, unsigned flags, double v);
gb_node *plus_noise (gb_node *k, double noise);
double *doubles (gb_node *n);

/* -- panels: (n, r) in the device's memory, and in this one's */

gb_panel panel (gb_work *w, size_t n, size_t r, const double *values);
/* The first values of a vector that belongs to the device; freed by the caller. */
double *entries_of (void *at, size_t count);
/* out = P^-1 in, (n, r). */
void apply_precond (const gb_precond *p, size_t n, size_t r, const double *in, double *out);
/* Samples of P in columns 'first' .. of out (n, r); the others stay. */
void sample_precond (const gb_precond *p, uint64_t seed, size_t n, size_t r, size_t first, double *out);

/* P as a dense matrix (n, n): S^-1 (L L' + noise I) S^-1; freed by the caller. */
double *dense_precond (const gb_precond *p);

/* Gaussian elimination with pivoting: b (n, r) becomes the solution; returns log |det a|. Both are
** overwritten. */
double eliminate (double *a, double *b, size_t n, size_t r);

#define CHECK_NEAR(got, want, tol)                                                                           \
  do {                                                                                                       \
    const double got_ = (got), want_ = (want), tol_ = (tol);                                                 \
    if (!(fabs(got_ - want_) <= tol_)) fail_msg("%s = %.12g, want %.12g +- %.1g", #got, got_, want_, tol_);  \
  } while (0)

/* |b - A x| / |b| of the worst column, in doubles. */
double true_residual (gb_node *a, gb_node *b, gb_node *x);

#define TEST(name) cmocka_unit_test_setup_teardown(name, solve_begin, solve_end)

#endif
