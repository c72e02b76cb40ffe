/* opaque_fixture.c - one opaque op between guard bytes, and matrices for it. */
#include "support/cpu/opaque_fixture.h"

#define GUARD 64
#define POISON 0xcb

gb_device *op_device;
gb_error op_error;

int start_device (void **state) {
  (void)state;
  return gb_device_cpu_new(2, (size_t)1 << 30, &op_device, &op_error) == GB_OK ? 0 : -1;
}

int stop_device (void **state) {
  (void)state;
  gb_device_free(op_device);
  return 0;
}

void *guarded_new (size_t bytes) {
  char *p = aligned_alloc(64, GUARD + (bytes + GUARD + 63) / 64 * 64);
  assert_non_null(p);
  memset(p, POISON, GUARD + bytes + GUARD);
  return p + GUARD;
}

void guarded_free (void *p, size_t bytes) {
  const unsigned char *before = (unsigned char *)p - GUARD, *after = (unsigned char *)p + bytes;
  for (int i = 0; i < GUARD; i++)
    if (before[i] != POISON || after[i] != POISON)
      fail_msg("guard byte %d of a buffer of %zu was overwritten", i, bytes);
  free((char *)p - GUARD);
}

op_case op_new (gb_op op) {
  op_case c = {.o = {.op = op, .nout = gb_ops[op].outputs}};
  return c;
}

gb_shape shape1 (size_t n) { return gb_shape_of(1, &n); }
gb_shape shape2 (size_t n, size_t m) { return gb_shape_of(2, (size_t[]){n, m}); }
gb_shape shape3 (size_t b, size_t n, size_t m) { return gb_shape_of(3, (size_t[]){b, n, m}); }

void op_in (op_case *c, gb_dtype t, gb_shape s, const void *data) {
  c->o.in_dtype[c->o.nin] = t;
  c->o.in_shape[c->o.nin] = s;
  c->in[c->o.nin++] = data;
}

void op_out (op_case *c, int i, gb_dtype t, gb_shape s) {
  c->o.out_dtype[i] = t;
  c->o.out_shape[i] = s;
  c->bytes[i] = gb_shape_bytes(&s, t);
  c->out[i] = guarded_new(c->bytes[i]);
}

gb_status op_run (op_case *c) {
  const size_t bytes = op_device->ops->opaque_scratch(op_device, &c->o);
  unsigned char *scratch = guarded_new(bytes);
  const gb_status st = op_device->ops->opaque(op_device, &c->o, c->in, c->out, scratch, &op_error);
  size_t idle = 0;
  while (st == GB_OK && idle < bytes && scratch[bytes - 1 - idle] == POISON) idle++;
  if (idle >= 64) fail_msg("%s: %zu of %zu bytes of scratch stay unused", gb_ops[c->o.op].name, idle, bytes);
  guarded_free(scratch, bytes);
  return st;
}

void op_free (op_case *c) {
  for (int i = 0; i < c->o.nout; i++)
    if (c->out[i] != NULL) guarded_free(c->out[i], c->bytes[i]);
}

void op_run_same_bits (op_case *c) {
  void *first[GB_MAX_OUTPUTS];
  for (int threads = 1; threads <= 3; threads++) {
    assert_int_equal(gb_device_set_threads(op_device, threads, &op_error), GB_OK);
    for (int i = 0; i < c->o.nout; i++) memset(c->out[i], POISON, c->bytes[i]);
    if (op_run(c) != GB_OK) fail_msg("%s: %s", gb_ops[c->o.op].name, op_error.text);
    for (int i = 0; i < c->o.nout; i++) {
      if (threads == 1) {
        first[i] = malloc(c->bytes[i] + 1);
        memcpy(first[i], c->out[i], c->bytes[i]);
      } else assert_memory_equal(first[i], c->out[i], c->bytes[i]);
    }
  }
  for (int i = 0; i < c->o.nout; i++) free(first[i]);
  assert_int_equal(gb_device_set_threads(op_device, 2, &op_error), GB_OK);
}

double *random_normal (size_t n, uint64_t seed) {
  double *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = gb_rand_normal(seed, 0, i);
  return x;
}

void *converted (const double *x, size_t n, gb_dtype t) {
  void *y = malloc((n + 1) * gb_dtype_size(t));
  for (size_t i = 0; i < n; i++) gb_element_set(y, i, t, x[i]);
  return y;
}

double *widened (const void *x, size_t n, gb_dtype t) {
  double *y = malloc((n + 1) * sizeof *y);
  for (size_t i = 0; i < n; i++) y[i] = gb_element_get(x, i, t);
  return y;
}

double unit_of (gb_dtype t) { return t == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

double norm1 (const double *a, size_t n, size_t m) {
  double *sum = calloc(m + 1, sizeof *sum), largest = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++) sum[j] += fabs(a[i * m + j]);
  for (size_t j = 0; j < m; j++)
    if (!(sum[j] <= largest)) largest = sum[j];
  free(sum);
  return largest;
}

void subtract_product (double *c, const double *a, bool ta, const double *b, bool tb, size_t n, size_t k,
                       size_t m) {
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

double *spd_matrix (size_t n, double condition, uint64_t seed) {
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
