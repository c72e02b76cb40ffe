/* test_vmap.c - a function traced on one slice and mapped equals the function of every slice, stacked;
** substitution. */
#include <math.h>

#include "support/graph/graph_fixture.h"
#include "support/graph/reference.h"

static gb_node *leaf3 (size_t a, size_t b, size_t c) {
  return leaf_of(GB_F64, GB_NODE_GRAD, 3, (size_t[]){a, b, c}, NULL, -1, 1);
}

static gb_node *placeholder (const gb_node *full, int axis) {
  gb_tensor one = {.dtype = gb_node_dtype(full)};
  for (int i = 0; i < gb_node_shape(full)->ndim; i++)
    if (i != axis) one.shape.dim[one.shape.ndim++] = gb_node_shape(full)->dim[i];
  return BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, "");
}

static double *value_of (gb_node *n) {
  double *v;
  if (reference_eval(n, 0, NULL, &v, NULL, &fx.err) != GB_OK) fail_msg("reference: %s", fx.err.text);
  return v;
}

/* A function of one or two mapped arguments; axis -1: not mapped. */
typedef gb_node *function (gb_node *const *x);
typedef struct argument {
  gb_node *full;
  int axis;
} argument;

static gb_node *mapped (function *f, int n, const argument *arg) {
  gb_node *x[3], *slices[3], *full[3], *y;
  int axis[3], k = 0;
  for (int i = 0; i < n; i++) {
    x[i] = arg[i].full;
    if (arg[i].axis < 0) continue;
    x[i] = slices[k] = placeholder(arg[i].full, arg[i].axis);
    full[k] = arg[i].full;
    axis[k++] = arg[i].axis;
  }
  gb_node *one = f(x);
  const gb_status st = gb_vmap((size_t)k, slices, full, axis, false, 1, &one, &y, &fx.err);
  return hold(st, y);
}

/* f(slice i) for every i, one after another. */
static bool equals_loop (const char *what, function *f, int n, const argument *arg) {
  gb_node *y = mapped(f, n, arg), *x[3];
  size_t slices = 0;
  for (int i = 0; i < n; i++)
    if (arg[i].axis >= 0) slices = gb_node_shape(arg[i].full)->dim[arg[i].axis];
  assert_int_equal(gb_node_shape(y)->dim[0], slices);
  double *all = value_of(y);
  bool ok = true;
  for (size_t s = 0; s < slices && ok; s++) {
    for (int i = 0; i < n; i++)
      x[i] = arg[i].axis < 0 ? arg[i].full : BUILD(gb_select, arg[i].full, arg[i].axis, s);
    gb_node *one = f(x);
    const size_t each = gb_shape_numel(gb_node_shape(one));
    assert_int_equal(gb_node_shape(y)->ndim, gb_node_shape(one)->ndim + 1);
    double *want = value_of(one);
    ok = reference_all_close(all + s * each, want, each, 1e-12, 1e-13);
    free(want);
  }
  if (!ok) printf("%s\n", what);
  free(all);
  return ok;
}

/* -- functions of slices */

static gb_node *op_of (gb_op op, int nin, gb_node *const *in, gb_attr attr) {
  return BUILD(gb_node_build, fx.g, op, nin, in, &attr, NULL, GB_F64);
}
static gb_node *pick_ (gb_node *n, int output) { return BUILD(gb_pick, n, output); }
static gb_node *spd (gb_node *a) { return add(mm(a, tr(a)), eye(gb_node_shape(a)->dim[0])); }

static gb_node *factor_ (gb_node *a) { return BUILD(gb_cholesky, spd(a), 0); }

/* of matrices (4, 3) */
static gb_node *f_sin (gb_node *const *x) { return map1(GB_OP_SIN, x[0]); }
static gb_node *f_row (gb_node *const *x) { return mul(x[0], sum_axis(x[0], 0)); }
static gb_node *f_column (gb_node *const *x) {
  return sub(x[0], BUILD(gb_reduce, GB_OP_MAX, x[0], 2u, true));
}
static gb_node *f_numbers (gb_node *const *x) { return add(mul(num(2), x[0]), num(1)); }
static gb_node *f_total (gb_node *const *x) { return dvd(x[0], sum_all(x[0])); }
static gb_node *f_gram (gb_node *const *x) { return mm(tr(x[0]), x[0]); }
static gb_node *f_views (gb_node *const *x) {
  const gb_shape flat = gb_shape_of(2, (size_t[]){2, 6}), wide = gb_shape_of(3, (size_t[]){2, 4, 3});
  gb_node *a = BUILD(gb_reshape, x[0], &flat), *b = BUILD(gb_slice, a, 1, 4, -2, 3),
          *c = BUILD(gb_flip, x[0], 0);
  return add(BUILD(gb_expand, c, &wide), unsq(unsq(sum_axis(mm(b, tr(b)), 1), 1), 2));
}
static gb_node *f_diagonal (gb_node *const *x) { return op_of(GB_OP_DIAGONAL, 1, x, (gb_attr){0}); }
static gb_node *f_where (gb_node *const *x) {
  return BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_GT, x[0], num(0)), x[0], num(-1));
}
static gb_node *f_reduce (gb_node *const *x) {
  gb_node *a = BUILD(gb_reduce, GB_OP_LOGSUMEXP, x[0], 1u, false),
          *b = BUILD(gb_reduce, GB_OP_PROD, x[0], 1u, false);
  return add(a, b);
}
static gb_node *f_arg (gb_node *const *x) { return BUILD(gb_reduce, GB_OP_ARGMAX, x[0], 2u, false); }
static gb_node *f_sort (gb_node *const *x) { return pick_(op_of(GB_OP_SORT, 1, x, (gb_attr){.i = {0}}), 0); }
static gb_node *f_sort_positions (gb_node *const *x) {
  return pick_(op_of(GB_OP_SORT, 1, x, (gb_attr){.i = {0}}), 1);
}
static gb_node *f_kmin (gb_node *const *x) {
  return pick_(op_of(GB_OP_KMIN, 1, x, (gb_attr){.i = {0, 2}}), 0);
}
static gb_node *f_cumsum (gb_node *const *x) { return op_of(GB_OP_CUMSUM, 1, x, (gb_attr){.i = {1, 1}}); }
static gb_node *f_cat (gb_node *const *x) {
  return BUILD(gb_cat, 3, ((gb_node *[]){x[0], square(x[0]), eye(3)}), 0);
}
static gb_node *f_cholesky (gb_node *const *x) { return BUILD(gb_cholesky, spd(x[0]), 0.5); }
static gb_node *f_logdet (gb_node *const *x) { return BUILD(gb_logdet, spd(x[0])); }
static gb_node *f_qr (gb_node *const *x) { return pick_(op_of(GB_OP_QR, 1, x, (gb_attr){0}), 1); }
static gb_node *f_svd (gb_node *const *x) {
  gb_node *s = op_of(GB_OP_SVD, 1, x, (gb_attr){0});
  return mul(pick_(s, 1), sum_axis(square(pick_(s, 2)), 0));
}
static gb_node *f_cast (gb_node *const *x) {
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, x, NULL, NULL, GB_F32);
}
static gb_node *f_unused (gb_node *const *x) {
  return sum_axis(mul(num(0.5), eye(gb_node_shape(x[0])->dim[0])), 0);
}
static gb_node *f_index (gb_node *const *x) {
  gb_node *at = leaf_of(GB_I64, 0, 1, (size_t[]){3}, (double[]){4, 1, 4}, 0, 0);
  return op_of(GB_OP_INDEX, 2, (gb_node *[]){x[0], at}, (gb_attr){0});
}
static gb_node *f_put (gb_node *const *x) {
  gb_node *at = leaf_of(GB_I64, 0, 1, (size_t[]){2}, (double[]){3, 1}, 0, 0);
  gb_node *y = leaf_of(GB_F64, 0, 2, (size_t[]){4, 2}, (double[]){1, 2, 3, 4, 5, 6, 7, 8}, 0, 0);
  return op_of(GB_OP_INDEX_ADD, 3, (gb_node *[]){x[0], at, y}, (gb_attr){.i = {1}});
}
static gb_node *f_index_max (gb_node *const *x) {
  gb_node *at = leaf_of(GB_I64, 0, 1, (size_t[]){2}, (double[]){3, 3}, 0, 0);
  gb_node *y = leaf_of(GB_F64, 0, 2, (size_t[]){4, 2}, (double[]){1, -2, -3, 4, 5, 6, -7, 8}, 0, 0);
  return op_of(GB_OP_INDEX_MAX, 3, (gb_node *[]){x[0], at, y}, (gb_attr){.i = {1}});
}

static void functions_of_one_slice_map (void **state) {
  (void)state;
  const struct {
    const char *name;
    function *f;
  } fs[] = {{"sin", f_sin},
            {"row", f_row},
            {"column", f_column},
            {"numbers", f_numbers},
            {"total", f_total},
            {"gram", f_gram},
            {"views", f_views},
            {"diagonal", f_diagonal},
            {"where", f_where},
            {"reduce", f_reduce},
            {"arg", f_arg},
            {"sort", f_sort},
            {"sort positions", f_sort_positions},
            {"kmin", f_kmin},
            {"cumsum", f_cumsum},
            {"cat", f_cat},
            {"cholesky", f_cholesky},
            {"logdet", f_logdet},
            {"qr", f_qr},
            {"svd", f_svd},
            {"cast", f_cast},
            {"unused", f_unused},
            {"index", f_index},
            {"index_max", f_index_max},
            {"put", f_put}};
  gb_node *front = leaf3(5, 4, 3), *middle = leaf3(4, 5, 3), *back = leaf3(4, 3, 5);
  int wrong = 0;
  for (size_t i = 0; i < sizeof fs / sizeof *fs; i++) {
    wrong += !equals_loop(fs[i].name, fs[i].f, 1, (argument[]){{front, 0}});
    wrong += !equals_loop(fs[i].name, fs[i].f, 1, (argument[]){{middle, 1}});
    wrong += !equals_loop(fs[i].name, fs[i].f, 1, (argument[]){{back, 2}});
  }
  assert_int_equal(wrong, 0);
}

/* of two arguments */
static gb_node *g_product (gb_node *const *x) { return mm(x[0], x[1]); }
static gb_node *g_distance (gb_node *const *x) { return dist(x[0], x[1], NULL); }
static gb_node *g_outer (gb_node *const *x) { return mul(unsq(x[0], 1), unsq(x[1], 0)); }
static gb_node *g_vector (gb_node *const *x) { return add(x[0], x[1]); }
static gb_node *g_radial (gb_node *const *x) {
  return BUILD(gb_radial, GB_M32, dist(x[0], x[0], NULL), map1(GB_OP_EXP, sum_all(x[1])), NULL);
}
static gb_node *g_quadratic (gb_node *const *x) {
  return BUILD(gb_radial, GB_RQ, dist(x[0], x[0], NULL), num(2), map1(GB_OP_EXP, sum_all(x[1])));
}
static gb_node *g_weights (gb_node *const *x) { return dist(x[0], x[0], square(sum_axis(x[1], 0))); }
static gb_node *g_solve (gb_node *const *x) { return BUILD(gb_solve, spd(x[0]), x[1]); }
static gb_node *g_inv_quad (gb_node *const *x) { return BUILD(gb_inv_quad, spd(x[0]), x[1]); }
static gb_node *g_triangular (gb_node *const *x) {
  return BUILD(gb_triangular_solve, factor_(x[0]), x[1], false, true);
}
static gb_node *g_general (gb_node *const *x) {
  return BUILD(gb_solve, add(x[0], mul(num(4), eye(gb_node_shape(x[0])->dim[0]))), x[1]);
}
static gb_node *g_diffmv (gb_node *const *x) {
  return op_of(GB_OP_DIFFMV, 3, (gb_node *[]){mm(x[0], tr(x[1])), x[0], x[1]}, (gb_attr){0});
}

static gb_node *g_index (gb_node *const *x) { return op_of(GB_OP_INDEX, 2, x, (gb_attr){.i = {1}}); }

static bool both_ways (const char *what, function *f, gb_node *a, gb_node *a_one, gb_node *b,
                       gb_node *b_one) {
  bool ok = equals_loop(what, f, 2, (argument[]){{a, 0}, {b, 0}});
  ok = equals_loop(what, f, 2, (argument[]){{a, 0}, {b_one, -1}}) && ok;
  return equals_loop(what, f, 2, (argument[]){{a_one, -1}, {b, 0}}) && ok;
}

static void functions_of_two_arguments_map_over_either (void **state) {
  (void)state;
  gb_node *a = leaf3(5, 4, 3), *a1 = leaf2(4, 3), *b = leaf3(5, 3, 2), *b1 = leaf2(3, 2), *c = leaf3(5, 6, 3),
          *c1 = leaf2(6, 3);
  gb_node *v = leaf2(5, 4), *v1 = leaf1(4), *w = leaf2(5, 3), *w1 = leaf1(3), *p = leaf3(5, 1, 3),
          *p1 = leaf2(1, 3);
  gb_node *s = leaf3(5, 4, 4), *s1 = leaf2(4, 4), *r = leaf3(5, 4, 2), *r1 = leaf2(4, 2), *k = leaf3(5, 3, 1),
          *k1 = leaf2(3, 1);
  int wrong = 0;
  wrong += !both_ways("product", g_product, a, a1, b, b1);
  wrong += !both_ways("product with vectors", g_product, a, a1, k, k1);
  wrong += !both_ways("distance", g_distance, a, a1, c, c1);
  wrong += !both_ways("distance to one point", g_distance, p, p1, c, c1);
  wrong += !both_ways("distance from one point", g_distance, c, c1, p, p1);
  wrong += !both_ways("outer", g_outer, v, v1, w, w1);
  wrong += !both_ways("vector", g_vector, a, a1, w, w1);
  wrong += !both_ways("profile", g_radial, a, a1, w, w1);
  wrong += !both_ways("rational quadratic", g_quadratic, a, a1, w, w1);
  wrong += !both_ways("weights", g_weights, a, a1, c, c1);
  wrong += !both_ways("solve", g_solve, s, s1, v, v1);
  wrong += !both_ways("solve, several", g_solve, s, s1, r, r1);
  wrong += !both_ways("inv_quad", g_inv_quad, s, s1, v, v1);
  wrong += !both_ways("inv_quad, several", g_inv_quad, s, s1, r, r1);
  wrong += !both_ways("triangular", g_triangular, s, s1, r, r1);
  wrong += !both_ways("general", g_general, s, s1, r, r1);
  wrong += !both_ways("diffmv", g_diffmv, a, a1, c, c1);
  assert_int_equal(wrong, 0);
}

static void positions_a_slice_map (void **state) {
  (void)state;
  double at[10];
  for (int i = 0; i < 10; i++) at[i] = 1 + i * 7 % 4;
  gb_node *x = leaf3(3, 4, 2), *many = leaf_of(GB_F64, 0, 4, (size_t[]){5, 3, 4, 2}, NULL, -1, 1);
  gb_node *positions = leaf_of(GB_I64, 0, 2, (size_t[]){5, 2}, at, 0, 0);
  assert_true(equals_loop("positions", g_index, 2, (argument[]){{x, -1}, {positions, 0}}));
  assert_true(equals_loop("both", g_index, 2, (argument[]){{many, 0}, {positions, 0}}));
}

static int count_of (gb_node *y, gb_op op) {
  gb_node **order;
  size_t count;
  int n = 0;
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) n += order[i]->op == op;
  free(order);
  return n;
}

/* Factorisations of slices are one op of the batch, nothing is joined; also where vmap is nested. */
static gb_node *inner_system (gb_node *const *x) {
  const argument arg[] = {{x[0], 0}, {x[1], -1}};
  return mapped(g_solve, 2, arg);
}

static void slices_are_factored_by_one_op (void **state) {
  (void)state;
  gb_node *s = leaf3(5, 4, 4), *v = leaf2(5, 4), *w = leaf1(4);
  const struct {
    gb_node *y;
    gb_op op;
  } made[] = {{mapped(g_solve, 2, (argument[]){{s, 0}, {v, 0}}), GB_OP_SOLVE_CHOL},
              {mapped(g_solve, 2, (argument[]){{s, 0}, {w, -1}}), GB_OP_SOLVE_CHOL},
              {mapped(g_general, 2, (argument[]){{s, 0}, {v, 0}}), GB_OP_LU_SOLVE},
              {mapped(g_inv_quad, 2, (argument[]){{s, 0}, {v, 0}}), GB_OP_INV_QUAD},
              {mapped(g_triangular, 2, (argument[]){{s, 0}, {v, 0}}), GB_OP_TRISOLVE},
              {mapped(f_cholesky, 1, (argument[]){{s, 0}}), GB_OP_CHOLESKY},
              {mapped(f_logdet, 1, (argument[]){{s, 0}}), GB_OP_LOGDET},
              {mapped(f_qr, 1, (argument[]){{s, 0}}), GB_OP_QR},
              {mapped(f_svd, 1, (argument[]){{s, 0}}), GB_OP_SVD}};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    assert_int_equal(count_of(made[i].y, made[i].op), 1);
    assert_int_equal(count_of(made[i].y, GB_OP_CAT), 0);
  }
  gb_node *many = leaf_of(GB_F64, 0, 4, (size_t[]){3, 2, 4, 4}, NULL, -1, 1), *vs = leaf2(3, 4);
  gb_node *nested = mapped(inner_system, 2, (argument[]){{many, 0}, {vs, 0}});
  assert_int_equal(count_of(nested, GB_OP_SOLVE_CHOL), 1);
  assert_true(equals_loop("nested", inner_system, 2, (argument[]){{many, 0}, {vs, 0}}));
  assert_true(equals_loop("nested, one right-hand side", inner_system, 2, (argument[]){{many, 0}, {w, -1}}));
  assert_true(equals_loop("nested, one batch", inner_system, 2, (argument[]){{s, -1}, {vs, 0}}));
  gb_node *none = leaf3(0, 4, 4);
  assert_int_equal(gb_node_shape(mapped(g_solve, 2, (argument[]){{none, 0}, {w, -1}}))->dim[0], 0);
}

static void one_matrix_is_factored_once_for_all_slices (void **state) {
  (void)state;
  gb_node *s = leaf2(4, 4), *v = leaf2(5, 4), *y = mapped(g_solve, 2, (argument[]){{s, -1}, {v, 0}});
  assert_int_equal(count_of(y, GB_OP_CHOLESKY), 1);
  assert_int_equal(count_of(y, GB_OP_SOLVE_CHOL), 1);
}

/* -- gradients */

static gb_node *h_kernel (gb_node *const *x) {
  gb_node *k = map1(GB_OP_EXP, mul(dist(x[0], x[1], NULL), num(-0.5)));
  return sum_all(map1(GB_OP_LOG1P, mm(k, map1(GB_OP_TANH, x[1]))));
}

static gb_node *h_model (gb_node *const *x) {
  gb_node *a = add(map1(GB_OP_EXP, mul(dist(x[0], x[0], NULL), num(-0.5))),
                   mul(num(0.3), eye(gb_node_shape(x[0])->dim[0])));
  return add(BUILD(gb_inv_quad, a, sum_axis(x[0], 1)), BUILD(gb_logdet, a));
}

static gb_node *gradient (gb_node *y, gb_node *x) {
  gb_node *bar;
  const gb_status st = gb_grad(y, NULL, 1, &x, false, &bar, &fx.err);
  return hold(st, bar);
}

static function *differentiated;
static gb_node *gradient_of (gb_node *const *x) { return gradient(differentiated(x), x[0]); }

static void mapping_a_gradient_is_the_gradient_of_the_mapped (void **state) {
  (void)state;
  gb_node *x = leaf3(3, 4, 2), *z = leaf2(5, 2);
  function *const fs[] = {h_kernel, h_model};
  for (int i = 0; i < 2; i++) {
    differentiated = fs[i];
    const argument arg[] = {{x, 0}, {z, -1}};
    gb_node *inside = mapped(gradient_of, 2, arg), *outside = gradient(sum_all(mapped(fs[i], 2, arg)), x);
    assert_true(gb_shape_equal(gb_node_shape(inside), gb_node_shape(outside)));
    double *a = value_of(inside), *b = value_of(outside);
    assert_true(reference_all_close(a, b, 24, 1e-10, 1e-12));
    free(a);
    free(b);
    assert_true(equals_loop("gradient", gradient_of, 2, arg));
  }
}

/* -- random numbers */

static gb_node *draw (void) {
  const gb_shape s = gb_shape_of(1, (size_t[]){4});
  const gb_attr attr = {.i = {7, (int64_t)fx.g->next_stream++}};
  return BUILD(gb_node_build, fx.g, GB_OP_RANDN, 0, NULL, &attr, &s, GB_F64);
}

static void slices_draw_independently_unless_told (void **state) {
  (void)state;
  gb_node *x = leaf2(3, 4), *outer = draw(), *slice = placeholder(x, 0), *full = x, *y, *z;
  gb_node *noisy = add(mul(slice, num(0)), add(draw(), outer));
  const int axis = 0;
  assert_int_equal(gb_vmap(1, &slice, &full, &axis, false, 1, &noisy, &y, &fx.err), GB_OK);
  hold(GB_OK, y);
  assert_int_equal(gb_vmap(1, &slice, &full, &axis, true, 1, &noisy, &z, &fx.err), GB_OK);
  hold(GB_OK, z);
  double *v = value_of(y), *w = value_of(z);
  assert_true(v[0] != v[4] && v[4] != v[8]);
  assert_true(w[0] == w[4] && w[4] == w[8]);
  free(v);
  free(w);
}

/* -- refusals and substitution */

static void slices_must_agree (void **state) {
  (void)state;
  gb_node *x = leaf2(3, 4), *z = leaf2(2, 4), *s[] = {placeholder(x, 0), placeholder(z, 0)}, *full[] = {x, z},
          *y;
  gb_node *sum = add(s[0], s[1]);
  assert_int_equal(gb_vmap(2, s, full, (int[]){0, 0}, false, 1, &sum, &y, &fx.err), GB_ESHAPE);
  assert_int_equal(gb_vmap(1, s, full, (int[]){2}, false, 1, &sum, &y, &fx.err), GB_EINDEX);
}

static void substitution_rebuilds_over_other_leaves (void **state) {
  (void)state;
  gb_node *x = leaf2(3, 4), *z = leaf2(3, 4), *l = leaf0(0.5), *m = leaf0(2), *out;
  gb_node *y = mm(map1(GB_OP_SIN, mul(x, l)), tr(x));
  assert_int_equal(gb_substitute(y, 2, (gb_node *[]){x, l}, (gb_node *[]){z, m}, &out, &fx.err), GB_OK);
  assert_ptr_equal(hold(GB_OK, out), mm(map1(GB_OP_SIN, mul(z, m)), tr(z)));
  gb_node *other = leaf1(3);
  assert_int_equal(gb_substitute(y, 1, &other, &other, &out, &fx.err), GB_OK);
  assert_ptr_equal(hold(GB_OK, out), y);
  assert_int_equal(gb_substitute(y, 1, &x, &other, &out, &fx.err), GB_ESHAPE);
}

int main (void) {
  const struct CMUnitTest tests[] = {FIXTURE_TEST(functions_of_one_slice_map),
                                     FIXTURE_TEST(functions_of_two_arguments_map_over_either),
                                     FIXTURE_TEST(positions_a_slice_map),
                                     FIXTURE_TEST(slices_are_factored_by_one_op),
                                     FIXTURE_TEST(one_matrix_is_factored_once_for_all_slices),
                                     FIXTURE_TEST(mapping_a_gradient_is_the_gradient_of_the_mapped),
                                     FIXTURE_TEST(slices_draw_independently_unless_told),
                                     FIXTURE_TEST(slices_must_agree),
                                     FIXTURE_TEST(substitution_rebuilds_over_other_leaves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
