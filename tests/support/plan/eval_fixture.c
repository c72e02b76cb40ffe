/* eval_fixture.c - a CPU device for the graph fixture, reproducible inputs and the oracle. */
#include "support/plan/eval_fixture.h"

#include "support/device.h"

gb_device *device;

void eval_begin (int threads, size_t limit) {
  fixture_begin();
  OK(test_device_new(threads, limit, &device, &fx.err));
  fx.g->device = device;
}

void release_to (int mark) {
  while (fx.n > mark) gb_node_unref(fx.held[--fx.n]);
}

void eval_end (void) {
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  fixture_end();
  assert_int_equal(device->ledger.used, 0);
  assert_int_equal(device->ledger.books, 0); /* graphs and plans have released their bytes */
  assert_int_equal(test_device_free(device), 0);
}

random_inputs inputs;

void inputs_begin (uint64_t seed, gb_dtype dtype, unsigned flags) {
  inputs.seed = seed;
  inputs.dtype = dtype;
  inputs.flags = flags;
  inputs.next = 0;
  inputs.changed = -1;
}

gb_node *input_of (int ndim, const size_t *dim, double lo, double hi) {
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

gb_node *in0 (double lo, double hi) { return input_of(0, NULL, lo, hi); }
gb_node *in1 (size_t n, double lo, double hi) { return input_of(1, &n, lo, hi); }
gb_node *in2 (size_t n, size_t m, double lo, double hi) { return input_of(2, (size_t[]){n, m}, lo, hi); }
gb_node *in3 (size_t b, size_t n, size_t m, double lo, double hi) {
  return input_of(3, (size_t[]){b, n, m}, lo, hi);
}

gb_node *ints (int ndim, const size_t *dim, int64_t lo, int64_t hi) {
  const gb_shape s = gb_shape_of(ndim, dim);
  const size_t n = gb_shape_numel(&s);
  double *v = malloc((n + 1) * sizeof *v);
  for (size_t i = 0; i < n; i++)
    v[i] = (double)lo + floor(gb_rand_uniform(inputs.seed, 99, i) * (double)(hi - lo + 1));
  gb_node *x = leaf_of(lo == 0 && hi == 1 ? GB_BOOL : GB_I64, 0, ndim, dim, v, 0, 0);
  free(v);
  return x;
}

gb_node *attr_node (gb_op op, int nin, gb_node *const *in, gb_attr attr) {
  return BUILD(gb_node_build, fx.g, op, nin, in, &attr, NULL, GB_F64);
}

double *oracle_of (gb_node *n, int output) {
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

double element (const gb_node *n, int output, size_t i) {
  const gb_tensor *t = &n->out[output].tensor;
  return gb_element_get(elements(t), i, t->dtype);
}
