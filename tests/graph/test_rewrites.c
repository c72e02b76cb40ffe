/* test_rewrites.c - rewriting never changes the value of an expression, its NaN, or the time to build it. */
#include <math.h>
#include <pthread.h>

#include "support/graph/graph_fixture.h"
#include "support/graph/reference.h"

static gb_node *pow_ (gb_node *a, double p) { return map2(GB_OP_POW, a, num(p)); }

static void sums_of_products_are_matrix_products (void **state) {
  (void)state;
  gb_node *x = leaf2(5, 3), *y = leaf2(4, 3), *w = leaf1(3);
  assert_ptr_equal(sum_axis(mul(unsq(x, 1), unsq(y, 0)), 2), mm(x, tr(y)));
  assert_ptr_equal(sum_axis(mul(unsq(y, 0), unsq(x, 1)), 2), mm(x, tr(y)));
  assert_ptr_equal(sum_axis(mul(unsq(y, 1), unsq(x, 0)), 2), mm(y, tr(x)));
  assert_ptr_equal(sum_axis(mul(mul(unsq(x, 1), unsq(y, 0)), w), 2), mm(mul(x, w), tr(y)));
  assert_ptr_equal(sum_axis(mul(unsq(tr(x), 2), unsq(tr(y), 1)), 0), mm(x, tr(y)));
}

static void scalars_and_identities_leave_products (void **state) {
  (void)state;
  gb_node *k = leaf2(5, 5), *v = leaf2(5, 2), *s = leaf0(0.3), *d = leaf1(5);
  gb_node *kv = mm(k, v);
  assert_ptr_equal(mm(mul(k, s), v), mul(kv, s));
  assert_ptr_equal(mm(k, eye(5)), k);
  assert_ptr_equal(mm(eye(5), v), v);
  assert_ptr_equal(mm(add(k, eye(5)), v), add(kv, v));
  assert_ptr_equal(mm(add(k, mul(s, eye(5))), v), add(kv, mul(v, s)));
  assert_ptr_equal(mm(sub(k, mul(s, eye(5))), v), sub(kv, mul(v, s)));
  assert_ptr_equal(mm(add(BUILD(gb_diag, d), k), v), add(kv, mul(v, unsq(d, 1))));
  assert_ptr_equal(mm(tr(v), add(k, BUILD(gb_diag, d))), add(mm(tr(v), k), mul(tr(v), d)));
}

static void small_identities_hold (void **state) {
  (void)state;
  gb_node *x = leaf2(3, 4), *y = leaf2(3, 4), *s = leaf0(2);
  assert_ptr_equal(add(x, num(0)), x);
  assert_ptr_equal(sub(x, num(0)), x);
  assert_ptr_equal(mul(x, num(1)), x);
  assert_ptr_equal(mul(num(1), x), x);
  assert_ptr_equal(dvd(x, num(1)), x);
  assert_ptr_equal(map1(GB_OP_NEG, map1(GB_OP_NEG, x)), x);
  assert_ptr_equal(tr(tr(x)), x);
  assert_ptr_equal(mul(x, y), mul(y, x));
  assert_ptr_equal(add(x, y), add(y, x));
  assert_ptr_equal(pow_(x, 2), square(x));
  assert_ptr_equal(mul(x, x), square(x));
  assert_ptr_equal(pow_(x, 0.5), map1(GB_OP_SQRT, x));
  assert_ptr_equal(pow_(x, -1), map1(GB_OP_RECIP, x));
  assert_ptr_equal(dvd(num(1), x), map1(GB_OP_RECIP, x));
  assert_ptr_equal(mul(mul(x, num(2)), num(4)), mul(x, num(8)));
  assert_ptr_equal(mul(num(2), num(4)), num(8));
  gb_node *cut = map1(GB_OP_DETACH, x);
  assert_ptr_equal(map1(GB_OP_DETACH, cut), cut);
  assert_int_equal(dvd(x, num(3))->op, GB_OP_DIV);
  assert_int_equal(dvd(s, leaf0(3))->op, GB_OP_DIV);
}

/* Times zero is not zero, a number over itself is not one, nor is a squared root its argument. */
static void rewriting_keeps_nan (void **state) {
  (void)state;
  const double bad[] = {0, INFINITY, -1};
  gb_node *x = leaf_of(GB_F64, GB_NODE_GRAD, 1, (size_t[]){3}, bad, 0, 0);
  gb_node *each[] = {mul(x, num(0)), dvd(x, x), square(map1(GB_OP_SQRT, x)), sub(x, x)};
  const double want[][3] = {{0, NAN, 0}, {NAN, NAN, 1}, {0, INFINITY, NAN}, {0, NAN, 0}};
  for (size_t i = 0; i < 4; i++) {
    double *v;
    assert_int_equal(reference_eval(each[i], 0, NULL, &v, NULL, &fx.err), GB_OK);
    assert_true(reference_all_close(v, want[i], 3, 0, 1e-300));
    free(v);
  }
}

static void a_scale_does_not_cancel_its_reciprocal (void **state) {
  (void)state;
  gb_node *d = dist(leaf2(2, 2), leaf2(2, 2), NULL), *zero = leaf0(0), *y = mul(dvd(d, zero), zero);
  double *v;
  assert_int_equal(reference_eval(y, 0, NULL, &v, NULL, &fx.err), GB_OK);
  for (int i = 0; i < 4; i++) assert_true(isnan(v[i]));
  free(v);
}

/* A chain of 2000 ops of one kind, then a transpose and a product of it. */
static void *build_chain (void *kind) {
  gb_node *a = leaf2(3, 3), *s = leaf0(0.5), *ridge = mul(eye(3), s), *y = gb_node_ref(a), *next;
  for (int i = 0; i < 2000; i++) {
    gb_status st;
    switch (*(int *)kind) {
      case 0: st = gb_matmul(a, y, &next, &fx.err); break;
      case 1: st = gb_map2(GB_OP_MUL, y, s, &next, &fx.err); break;
      case 2: st = gb_map2(GB_OP_ADD, y, ridge, &next, &fx.err); break;
      default: st = i & 1 ? gb_transpose(y, &next, &fx.err) : gb_map2(GB_OP_MUL, y, s, &next, &fx.err); break;
    }
    assert_int_equal(st, GB_OK);
    gb_node_unref(y);
    y = next;
  }
  mm(tr(y), a);
  dist(y, a, NULL);
  gb_node_unref(y);
  return NULL;
}

/* Chains that a rule could follow to their end are followed a bounded way: a small stack is enough. */
static void long_chains_are_followed_a_little (void **state) {
  (void)state;
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  assert_int_equal(pthread_attr_setstacksize(&small, 1 << 19), 0);
  for (int kind = 0; kind < 4; kind++) {
    assert_int_equal(pthread_create(&thread, &small, build_chain, &kind), 0);
    pthread_join(thread, NULL);
  }
  pthread_attr_destroy(&small);
}

/* -- a fuzz of rewrites */

/* Random expressions over small tensors: the rewritten graph has the value of the formula computed beside
** it. */
typedef struct pair {
  gb_node *n;
  double v[12];
} pair; /* 3 x 4 */

static pair random_pair (const pair *leaves, int depth) {
  if (depth == 0) return leaves[pick(3)];
  const pair a = random_pair(leaves, depth - 1), b = random_pair(leaves, (int)pick((unsigned)depth));
  const unsigned which = pick(9);
  const double c = (double[]){-2, -1, 0, 0.5, 1, 2, 3}[pick(7)];
  pair r = a;
  switch (which) {
    case 0: r.n = add(a.n, b.n); break;
    case 1: r.n = sub(a.n, b.n); break;
    case 2: r.n = mul(a.n, b.n); break;
    case 3: r.n = mul(a.n, num(c)); break;
    case 4: r.n = add(num(c), a.n); break;
    case 5: r.n = map1(GB_OP_NEG, a.n); break;
    case 6: r.n = square(a.n); break;
    case 7: r.n = sub(num(c), a.n); break;
    default: r.n = dvd(a.n, num(c == 0 ? 4 : c)); break;
  }
  for (int i = 0; i < 12; i++) {
    const double x = a.v[i], y = b.v[i];
    r.v[i] = which == 0   ? x + y
             : which == 1 ? x - y
             : which == 2 ? x * y
             : which == 3 ? x * c
             : which == 4 ? c + x
             : which == 5 ? -x
             : which == 6 ? x * x
             : which == 7 ? c - x
                          : x / (c == 0 ? 4 : c);
  }
  return r;
}

static void rewriting_keeps_values (void **state) {
  (void)state;
  pair leaves[3];
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 12; i++) leaves[k].v[i] = sin(1.3 * i + k) + 0.1;
    leaves[k].n = leaf_of(GB_F64, 0, 2, (size_t[]){3, 4}, leaves[k].v, 0, 0);
  }
  for (unsigned seed = 0; seed < 500; seed++) {
    fixture_seed = seed * 2654435761u + 7;
    const pair p = random_pair(leaves, 1 + (int)pick(6));
    double *v;
    gb_shape s;
    assert_int_equal(reference_eval(p.n, 0, NULL, &v, &s, &fx.err), GB_OK);
    const bool scalar = s.ndim == 0;
    for (int i = 0; i < 12; i++)
      if (!reference_close(v[scalar ? 0 : i], p.v[i], 1e-11, 1e-11)) fail_msg("seed %u element %d", seed, i);
    free(v);
  }
}

/* An axis in front stays where the operands would not fit without it. */
static void an_axis_in_front_that_is_needed_stays (void **state) {
  (void)state;
  gb_node *x = leaf1(6), *c = map2(GB_OP_LT, unsq(x, 0), num(1)), *a = leaf2(1, 1);
  gb_node *y = BUILD(gb_map3, GB_OP_WHERE, c, a, map1(GB_OP_SIN, unsq(x, 0)));
  const gb_shape want = {.ndim = 2, .dim = {1, 6}};
  assert_true(gb_shape_equal(gb_node_shape(y), &want));
}

static void a_long_sum_is_built_in_linear_time (void **state) {
  (void)state;
  gb_node *x = leaf2(3, 3), *y = gb_node_ref(x), *next;
  for (int i = 0; i < 100000; i++) {
    assert_int_equal(gb_map2(GB_OP_ADD, y, x, &next, &fx.err), GB_OK);
    gb_node_unref(y);
    y = next;
  }
  gb_node_unref(y);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(sums_of_products_are_matrix_products),
      FIXTURE_TEST(scalars_and_identities_leave_products),
      FIXTURE_TEST(small_identities_hold),
      FIXTURE_TEST(rewriting_keeps_nan),
      FIXTURE_TEST(a_scale_does_not_cancel_its_reciprocal),
      FIXTURE_TEST(long_chains_are_followed_a_little),
      FIXTURE_TEST(rewriting_keeps_values),
      FIXTURE_TEST(an_axis_in_front_that_is_needed_stays),
      FIXTURE_TEST(a_long_sum_is_built_in_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
