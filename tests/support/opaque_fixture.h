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

#define GUARD 64
#define POISON 0xcb

static gb_device *dev;
static gb_error err;

static inline int start_device (void **state) {
  (void)state;
  return gb_device_cpu_new(2, (size_t)1 << 30, &dev, &err) == GB_OK ? 0 : -1;
}

static inline int stop_device (void **state) {
  (void)state;
  gb_device_free(dev);
  return 0;
}

/* A 64-byte aligned buffer of poison between guards of poison. */
static inline void *guarded_new (size_t bytes) {
  char *p = aligned_alloc(64, GUARD + (bytes + GUARD + 63) / 64 * 64);
  assert_non_null(p);
  memset(p, POISON, GUARD + bytes + GUARD);
  return p + GUARD;
}

static inline void guarded_free (void *p, size_t bytes) {
  const unsigned char *before = (unsigned char *)p - GUARD, *after = (unsigned char *)p + bytes;
  for (int i = 0; i < GUARD; i++)
    if (before[i] != POISON || after[i] != POISON)
      fail_msg("guard byte %d of a buffer of %zu was overwritten", i, bytes);
  free((char *)p - GUARD);
}

/* An op with up to three inputs, and its outputs between guards. */
typedef struct op_case {
  gb_opaque o;
  const void *in[3];
  void *out[GB_MAX_OUTPUTS];
  size_t bytes[GB_MAX_OUTPUTS];
} op_case;

static inline op_case op_new (gb_op op) {
  op_case c = {.o = {.op = op, .nout = gb_ops[op].outputs}};
  return c;
}

static inline gb_shape shape1 (size_t n) { return gb_shape_of(1, &n); }
static inline gb_shape shape2 (size_t n, size_t m) { return gb_shape_of(2, (size_t[]){n, m}); }
static inline gb_shape shape3 (size_t b, size_t n, size_t m) { return gb_shape_of(3, (size_t[]){b, n, m}); }

static inline void op_in (op_case *c, gb_dtype t, gb_shape s, const void *data) {
  c->o.in_dtype[c->o.nin] = t;
  c->o.in_shape[c->o.nin] = s;
  c->in[c->o.nin++] = data;
}

static inline void op_out (op_case *c, int i, gb_dtype t, gb_shape s) {
  c->o.out_dtype[i] = t;
  c->o.out_shape[i] = s;
  c->bytes[i] = gb_shape_bytes(&s, t);
  c->out[i] = guarded_new(c->bytes[i]);
}

/* Scratch is exactly what the op declares: no less (guards) and no more (its last 64 bytes are used). */
static inline gb_status op_run (op_case *c) {
  const size_t bytes = dev->ops->opaque_scratch(dev, &c->o);
  unsigned char *scratch = guarded_new(bytes);
  const gb_status st = dev->ops->opaque(dev, &c->o, c->in, c->out, scratch, &err);
  size_t idle = 0;
  while (st == GB_OK && idle < bytes && scratch[bytes - 1 - idle] == POISON) idle++;
  if (idle >= 64) fail_msg("%s: %zu of %zu bytes of scratch stay unused", gb_ops[c->o.op].name, idle, bytes);
  guarded_free(scratch, bytes);
  return st;
}

static inline void op_free (op_case *c) {
  for (int i = 0; i < c->o.nout; i++)
    if (c->out[i] != NULL) guarded_free(c->out[i], c->bytes[i]);
}

/* Runs with 1, 2 and 3 threads and asserts equal bytes; keeps the outputs of the last run. */
static inline void op_run_same_bits (op_case *c) {
  void *first[GB_MAX_OUTPUTS];
  for (int threads = 1; threads <= 3; threads++) {
    assert_int_equal(gb_device_set_threads(dev, threads, &err), GB_OK);
    for (int i = 0; i < c->o.nout; i++) memset(c->out[i], POISON, c->bytes[i]);
    if (op_run(c) != GB_OK) fail_msg("%s: %s", gb_ops[c->o.op].name, err.text);
    for (int i = 0; i < c->o.nout; i++) {
      if (threads == 1) {
        first[i] = malloc(c->bytes[i] + 1);
        memcpy(first[i], c->out[i], c->bytes[i]);
      } else assert_memory_equal(first[i], c->out[i], c->bytes[i]);
    }
  }
  for (int i = 0; i < c->o.nout; i++) free(first[i]);
  assert_int_equal(gb_device_set_threads(dev, 2, &err), GB_OK);
}

static inline double *random_normal (size_t n, uint64_t seed) {
  double *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = gb_rand_normal(seed, 0, i);
  return x;
}

/* A copy of 'x' (n) in dtype t. */
static inline void *converted (const double *x, size_t n, gb_dtype t) {
  void *y = malloc((n + 1) * gb_dtype_size(t));
  for (size_t i = 0; i < n; i++) gb_element_set(y, i, t, x[i]);
  return y;
}

static inline double *widened (const void *x, size_t n, gb_dtype t) {
  double *y = malloc((n + 1) * sizeof *y);
  for (size_t i = 0; i < n; i++) y[i] = gb_element_get(x, i, t);
  return y;
}

static inline double unit_of (gb_dtype t) { return t == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

/* Largest column sum of |a|, a (n, m); NaN wins. */
static inline double norm1 (const double *a, size_t n, size_t m) {
  double *sum = calloc(m + 1, sizeof *sum), largest = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++) sum[j] += fabs(a[i * m + j]);
  for (size_t j = 0; j < m; j++)
    if (!(sum[j] <= largest)) largest = sum[j];
  free(sum);
  return largest;
}

/* c (n, m) -= a b with a (n, k) or, transposed, (k, n), b (k, m) or (m, k). */
static inline void subtract_product (double *c, const double *a, bool ta, const double *b, bool tb, size_t n,
                                     size_t k, size_t m) {
  double *row = malloc((m + 1) * sizeof *row);
  for (size_t i = 0; i < n; i++) {
    memset(row, 0, m * sizeof *row);
    for (size_t l = 0; l < k; l++) {
      const double f = ta ? a[l * n + i] : a[i * k + l];
      if (f == 0) continue;
      if (tb)
        for (size_t j = 0; j < m; j++) row[j] += f * b[j * k + l];
      else
        for (size_t j = 0; j < m; j++) row[j] += f * b[l * m + j];
    }
    for (size_t j = 0; j < m; j++) c[i * m + j] -= row[j];
  }
  free(row);
}

/* Asserts error / (n scale unit) < 30, the measure of backward stability that LAPACK's own tests use. */
#define ASSERT_STABLE(what, n, scale, unit)                                                                  \
  do {                                                                                                       \
    const double what_ = (what), bound_ = 30 * (double)((n) + 1) * (scale) * (unit);                         \
    if (!(what_ <= bound_)) fail_msg("%s = %g exceeds %g at n = %zu", #what, what_, bound_, (size_t)(n));    \
  } while (0)

/* Q D Q' with Q a product of three reflections and the eigenvalues falling geometrically from 1 to 1 /
** condition. */
static inline double *spd_matrix (size_t n, double condition, uint64_t seed) {
  double *a = calloc(n * n + 1, sizeof *a);
  for (size_t i = 0; i < n; i++) a[i * n + i] = n < 2 ? 1 : pow(condition, -(double)i / (double)(n - 1));
  for (uint64_t k = 0; k < 3; k++) {
    double *v = random_normal(n, seed + k), vv = 0;
    for (size_t i = 0; i < n; i++) vv += v[i] * v[i];
    for (int side = 0; side < 2; side++) /* rows, then columns */
      for (size_t i = 0; i < n; i++) {
        const size_t step = side ? n : 1, at = side ? i : i * n;
        double dot = 0;
        for (size_t j = 0; j < n; j++) dot += a[at + j * step] * v[j];
        for (size_t j = 0; j < n; j++) a[at + j * step] -= 2 * dot / vv * v[j];
      }
    free(v);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
  return a;
}

#endif
