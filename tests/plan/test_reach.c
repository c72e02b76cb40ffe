/* test_reach.c - tiles out of reach: compactly supported covariances leave them out and nothing changes,
** not a bit, also where numbers are not finite or lie on the edge of the support. */
#include "cpu/fold/fold.h"
#include "support/plan/lower_fixture.h"

#define N 1500
#define M 1300

typedef enum shape_of { WENDLAND, CUTOFF, MASKED, TRIANGLE_AND_RBF, DOT_LIMITED, NSHAPES } shape_of;

static const char *const names[] = {"wendland", "cut off by max", "masked by where", "triangle times rbf",
                                    "limited product"};

/* Points along a line of length 'range', in order; d columns, the others small. */
static gb_node *points (size_t n, size_t d, double range, uint64_t seed, double odd) {
  double *v = malloc(n * d * sizeof *v);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++)
      v[i * d + k] = k == 0 ? range * ((double)i + gb_rand_uniform(seed, 0, i)) / (double)n
                            : gb_rand_uniform(seed, k, i);
  if (odd != 0) v[(n / 3) * d] = odd;
  if (inputs.dtype == GB_F32)
    for (size_t i = 0; i < n * d; i++) v[i] = (float)v[i];
  gb_node *x = leaf_of(inputs.dtype, GB_NODE_GRAD, 2, (size_t[]){n, d}, v, 0, 0);
  free(v);
  return x;
}

static gb_node *kernel (shape_of k, gb_node *x, gb_node *y, gb_node *l) {
  gb_node *d2 = dist(x, y, NULL), *r = dvd(map1(GB_OP_SQRT, d2), l), *u = sub(num(1), r);
  switch (k) {
    case WENDLAND: u = square(map1(GB_OP_RELU, u)); return mul(square(u), add(mul(r, num(4)), num(1)));
    case CUTOFF: return map2(GB_OP_MAXIMUM, u, num(0));
    case MASKED:
      return BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_LT, r, num(1)), map1(GB_OP_EXP, mul(r, num(-3))), num(0));
    case TRIANGLE_AND_RBF: return mul(map1(GB_OP_RELU, u), radial(GB_RBF, d2, num(0.3), NULL));
    default: return map1(GB_OP_RELU, sub(mm(x, tr(y)), mul(l, num(300))));
  }
}

typedef struct task {
  shape_of k;
  size_t d, r; /* r = 0: a vector */
  gb_dtype dtype;
  bool same;                /* y is x */
  double range, odd, odd_v; /* an entry of x, of v: 0 = none */
} task;

/* Product and gradients in out; their number. */
static size_t build (const task *a, gb_node **out) {
  inputs_begin(7, a->dtype, GB_NODE_GRAD);
  gb_node *l = in0(0.9, 1.1), *x = points(N, a->d, a->range, 3, a->odd),
          *y = a->same ? x : points(M, a->d, a->range, 4, 0);
  const size_t m = a->same ? N : M;
  inputs.changed = a->odd_v != 0 ? 1 : -1, inputs.element = m / 2, inputs.by = a->odd_v;
  gb_node *v = a->r ? in2(m, a->r, -1, 1) : in1(m, -1, 1), *w = a->r ? in2(N, a->r, -1, 1) : in1(N, -1, 1);
  out[0] = mm(kernel(a->k, x, y, l), v);
  gb_node *loss = sum_all(mul(w, out[0])), *xs[] = {l, x, v, y};
  const size_t n = a->same ? 3 : 4;
  grads(loss, n, xs, out + 1);
  return n + 1;
}

static uint64_t run (const task *a, bool all, size_t *bytes, unsigned char **values) {
  gb_node *out[8];
  uint64_t pairs;
  gb_cpu_fold_all_tiles = all;
  eval_begin(2, (size_t)1 << 28);
  const size_t n = build(a, out);
  eval1(out[0]);
  pairs = gb_last_eval(fx.g).pairs;
  eval_all(n, out);
  *bytes = 0;
  for (size_t i = 0; i < n; i++) *bytes += count_of(out[i]) * gb_dtype_size(a->dtype);
  unsigned char *to = *values = malloc(*bytes);
  for (size_t i = 0; i < n; i++) {
    const size_t size = count_of(out[i]) * gb_dtype_size(a->dtype);
    memcpy(to, elements(&out[i]->out[0].tensor), size);
    to += size;
  }
  eval_end();
  gb_cpu_fold_all_tiles = false;
  return pairs;
}

/* Pairs visited, of those there are, after the bits were found to be the same. */
static double share (const task *a) {
  unsigned char *v[2];
  size_t bytes[2];
  const uint64_t some = run(a, false, &bytes[0], &v[0]), all = run(a, true, &bytes[1], &v[1]);
  assert_int_equal(bytes[0], bytes[1]);
  if (memcmp(v[0], v[1], bytes[0]) != 0) fail_msg("%s d=%zu r=%zu: bits differ", names[a->k], a->d, a->r);
  free(v[0]);
  free(v[1]);
  return (double)some / (double)all;
}

static void far_tiles_are_left_out_and_no_bit_changes (void **unused) {
  (void)unused;
  for (int k = 0; k < NSHAPES - 1; k++)
    for (size_t d = 1; d <= 3; d += 2)
      for (size_t r = 0; r <= 3; r += 3)
        for (int f32 = 0; f32 < 2; f32++)
          for (int same = 0; same < 2; same++) {
            const task a = {k, d, r, f32 ? GB_F32 : GB_F64, same, 60, 0, 0};
            const double s = share(&a);
            if (!(s <= 0.25))
              fail_msg("%s d=%zu r=%zu %s: %.2f of the pairs visited", names[k], d, r, same ? "same" : "two",
                       s);
          }
}

static void products_of_points_are_bounded_too (void **unused) {
  (void)unused;
  const task a = {DOT_LIMITED, 1, 0, GB_F64, false, 30, 0, 0};
  const double s = share(&a);
  assert_true(s > 0.2 && s <= 0.8); /* x y > 300 in about a third */
}

static void all_within_reach_are_visited (void **unused) {
  (void)unused;
  for (int k = 0; k < NSHAPES - 1; k++) {
    const task a = {k, 2, 0, GB_F64, false, 0.5, 0, 0};
    assert_true(share(&a) == 1);
  }
}

/* Bits, NaN among them, are those of the whole. */
static void numbers_that_are_not_finite_reach_everywhere (void **unused) {
  (void)unused;
  const double odd[] = {NAN, INFINITY, -INFINITY, 1e300};
  for (int k = 0; k < NSHAPES - 1; k++)
    for (size_t q = 0; q < 4; q++) {
      const task plain = {k, 2, 3, GB_F64, true, 60, 0, 0};
      const task point = {k, 2, 0, GB_F64, false, 60, odd[q], 0},
                 side = {k, 2, 3, GB_F64, true, 60, 0, odd[q]};
      share(&point);
      if (isfinite(odd[q])) continue;
      assert_true(share(&side) > 1.2 * share(&plain)); /* 0 times infinity must be seen */
    }
}

/* Points on a grid whose steps divide the support: distances are exactly 1. */
static void the_edge_of_the_support_belongs_to_it (void **unused) {
  (void)unused;
  for (int q = 0; q < 2; q++) {
    gb_node *out[2];
    double v[2][N];
    for (int all = 0; all < 2; all++) {
      gb_cpu_fold_all_tiles = all;
      eval_begin(1, (size_t)1 << 28);
      inputs_begin(1, GB_F64, 0);
      double x[N];
      for (size_t i = 0; i < N; i++) x[i] = (double)i / 64;
      gb_node *p = leaf_of(GB_F64, 0, 2, (size_t[]){N, 1}, x, 0, 0), *r = map1(GB_OP_SQRT, dist(p, p, NULL));
      gb_node *k = q ? BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_LE, r, num(1)), num(1), num(0))
                     : map1(GB_OP_RELU, sub(num(1), r));
      out[0] = mm(k, in1(N, 1, 2));
      eval1(out[0]);
      for (size_t i = 0; i < N; i++) v[all][i] = element(out[0], 0, i);
      if (q && !all) assert_true(v[0][700] > 128); /* both ends count: 129 ones */
      eval_end();
    }
    gb_cpu_fold_all_tiles = false;
    assert_memory_equal(v[0], v[1], sizeof v[0]);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(far_tiles_are_left_out_and_no_bit_changes),
      cmocka_unit_test(products_of_points_are_bounded_too),
      cmocka_unit_test(all_within_reach_are_visited),
      cmocka_unit_test(numbers_that_are_not_finite_reach_everywhere),
      cmocka_unit_test(the_edge_of_the_support_belongs_to_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
