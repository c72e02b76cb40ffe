/* opaque_fixture.h - runs one opaque op on the CPU device between guard bytes, and constructs matrices for
** it. */
#ifndef OPAQUE_FIXTURE_H
#define OPAQUE_FIXTURE_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/interrupt.h"
#include "base/rng.h"
#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"

extern gb_device *op_device;
extern gb_error op_error;

int start_device (void **state);
int stop_device (void **state);

/* A 64-byte aligned buffer of poison between guards of poison. */
void *guarded_new (size_t bytes);
void guarded_free (void *p, size_t bytes);

/* An op with up to three inputs, and its outputs between guards. */
typedef struct op_case {
  gb_opaque o;
  const void *in[3];
  void *out[GB_MAX_OUTPUTS];
  size_t bytes[GB_MAX_OUTPUTS];
} op_case;

op_case op_new (gb_op op);
gb_shape shape1 (size_t n);
gb_shape shape2 (size_t n, size_t m);
gb_shape shape3 (size_t b, size_t n, size_t m);
void op_in (op_case *c, gb_dtype t, gb_shape s, const void *data);
void op_out (op_case *c, int i, gb_dtype t, gb_shape s);

/* Scratch is exactly what the op declares: no less (guards) and no more (its last 64 bytes are used). */
gb_status op_run (op_case *c);
void op_free (op_case *c);

/* Runs with 1, 2 and 3 threads and asserts equal bytes; keeps the outputs of the last run. */
void op_run_same_bits (op_case *c);
double *random_normal (size_t n, uint64_t seed);

/* A copy of 'x' (n) in dtype t. */
void *converted (const double *x, size_t n, gb_dtype t);
double *widened (const void *x, size_t n, gb_dtype t);
double unit_of (gb_dtype t);

/* Largest column sum of |a|, a (n, m); NaN wins. */
double norm1 (const double *a, size_t n, size_t m);

/* c (n, m) -= a b with a (n, k) or, transposed, (k, n), b (k, m) or (m, k). */
void subtract_product (double *c, const double *a, bool ta, const double *b, bool tb, size_t n, size_t k,
                       size_t m);

/* Asserts error / (n scale unit) < 30, the measure of backward stability that LAPACK's own tests use. */
#define ASSERT_STABLE(what, n, scale, unit)                                                                  \
  do {                                                                                                       \
    const double what_ = (what), bound_ = 30 * (double)((n) + 1) * (scale) * (unit);                         \
    if (!(what_ <= bound_)) fail_msg("%s = %g exceeds %g at n = %zu", #what, what_, bound_, (size_t)(n));    \
  } while (0)

/* Q D Q' with Q a product of three reflections and the eigenvalues falling geometrically from 1 to 1 /
** condition. */
double *spd_matrix (size_t n, double condition, uint64_t seed);

#endif
