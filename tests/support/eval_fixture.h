/* eval_fixture.h - graphs on the CPU device: the names of graph_fixture.h, with values. Also random inputs
** that a test can reproduce with one element changed. */
#ifndef GB_TESTS_EVAL_FIXTURE_H
#define GB_TESTS_EVAL_FIXTURE_H

#include <math.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "support/graph_fixture.h"
#include "support/reference.h"

#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != GB_OK) fail_msg("%s: %s", #call, fx.err.text);                                             \
  } while (0)

static gb_device *device;

static inline void eval_begin (int threads, size_t limit) {
  fixture_begin();
  OK(gb_device_cpu_new(threads, limit, &device, &fx.err));
  fx.g->device = device;
}

static inline void release_to (int mark) {
  while (fx.n > mark) gb_node_unref(fx.held[--fx.n]);
}

static inline void eval_end (void) {
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  fixture_end();
  assert_int_equal(device->ledger.used, 0);
  assert_int_equal(device->ledger.books, 0); /* graphs and plans have released their bytes */
  gb_device_free(device);
}

/* Random inputs: number k of a case is a function of (seed, k) and the range. */
static struct {
  uint64_t seed;
  gb_dtype dtype;    /* of float inputs */
  unsigned flags;    /* of their leaves */
  int next;          /* number of the next input */
  int changed;       /* number of the input of which */
  size_t element;    /* this element */
  double by;         /* is moved by so much (NaN: becomes NaN); changed = -1: none */
  gb_node *leaf[16]; /* float inputs, in order of creation */
} inputs;

static inline void inputs_begin (uint64_t seed, gb_dtype dtype, unsigned flags) {
  inputs.seed = seed;
  inputs.dtype = dtype;
  inputs.flags = flags;
  inputs.next = 0;
  inputs.changed = -1;
}

static inline gb_node *input_of (int ndim, const size_t *dim, double lo, double hi) {
  const gb_shape s = gb_shape_of(ndim, dim);
  const size_t n = gb_shape_numel(&s);
  const int k = inputs.next++;
  double *v = malloc((n + 1) * sizeof *v);
  for (size_t i = 0; i < n; i++) {
    v[i] = lo + (hi - lo) * gb_rand_uniform(inputs.seed, (uint64_t)k, i);
    if (inputs.dtype == GB_F32) v[i] = (float)v[i];
  }
  if (inputs.changed == k && inputs.element < n) v[inputs.element] += inputs.by;
  gb_node *x = inputs.leaf[k] = leaf_of(inputs.dtype, inputs.flags, ndim, dim, v, 0, 0);
  free(v);
  return x;
}

static inline gb_node *in0 (double lo, double hi) { return input_of(0, NULL, lo, hi); }
static inline gb_node *in1 (size_t n, double lo, double hi) { return input_of(1, &n, lo, hi); }
static inline gb_node *in2 (size_t n, size_t m, double lo, double hi) {
  return input_of(2, (size_t[]){n, m}, lo, hi);
}
static inline gb_node *in3 (size_t b, size_t n, size_t m, double lo, double hi) {
  return input_of(3, (size_t[]){b, n, m}, lo, hi);
}

/* Inputs that are not differentiated: integers in lo .. hi, booleans. */
static inline gb_node *ints (int ndim, const size_t *dim, int64_t lo, int64_t hi) {
  const gb_shape s = gb_shape_of(ndim, dim);
  const size_t n = gb_shape_numel(&s);
  double *v = malloc((n + 1) * sizeof *v);
  for (size_t i = 0; i < n; i++)
    v[i] = (double)lo + floor(gb_rand_uniform(inputs.seed, 99, i) * (double)(hi - lo + 1));
  gb_node *x = leaf_of(lo == 0 && hi == 1 ? GB_BOOL : GB_I64, 0, ndim, dim, v, 0, 0);
  free(v);
  return x;
}

static inline gb_node *attr_node (gb_op op, int nin, gb_node *const *in, gb_attr attr) {
  return BUILD(gb_node_build, fx.g, op, nin, in, &attr, NULL, GB_F64);
}

/* The expected value of n's output, rounded to its type; malloc'ed. */
static inline double *oracle_of (gb_node *n, int output) {
  const gb_dtype t = n->out[output].dtype;
  double *v;
  OK(reference_eval(n, output, NULL, &v, NULL, &fx.err));
  for (size_t i = 0; i < gb_shape_numel(&n->out[output].shape) && t != GB_F64; i++) {
    uint64_t e = 0;
    if (t == GB_I64 && isnan(v[i])) v[i] = 0;
    gb_element_set(&e, 0, t, v[i]);
    v[i] = gb_element_get(&e, 0, t);
  }
  return v;
}

static inline double element (const gb_node *n, int output, size_t i) {
  const gb_tensor *t = &n->out[output].tensor;
  return gb_element_get(gb_tensor_data(t), i, t->dtype);
}

#endif
