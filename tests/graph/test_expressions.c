/* test_expressions.c - what expressions are: errors in words, dtypes, views, symmetry, composites by value. */
#include <math.h>

#include "support/graph/graph_dense.h"
#include "support/graph/graph_fixture.h"

#pragma GCC diagnostic ignored "-Wshadow" /* BUILD within BUILD */

/* A value-less leaf with a name and a line. */
static gb_node *named (const char *name, const char *where, gb_dtype t, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  fx.g->where = gb_graph_intern(fx.g, where);
  gb_node *n = BUILD(gb_node_placeholder, fx.g, &s, t, name);
  fx.g->where = "";
  return n;
}

#define IN(name, line, type, ...)                                                                            \
  named(name, "a.lua:" #line, type, (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),                 \
        (size_t[]){__VA_ARGS__})

static void has_shape (gb_node *n, const char *want) {
  char text[GB_SHAPE_TEXT];
  assert_string_equal(gb_shape_text(gb_node_shape(n), text), want);
}

static void near_all (gb_node *n, const double *want, double tol) {
  double *got = dense(n);
  for (size_t i = 0; i < gb_shape_numel(gb_node_shape(n)); i++)
    if (got[i] != want[i] && !(fabs(got[i] - want[i]) <= tol * (1 + fabs(want[i]))) &&
        !(isnan(got[i]) && isnan(want[i])))
      fail_msg("element %zu: got %.17g, want %.17g", i, got[i], want[i]);
  free(got);
}

#define NEAR(n, ...) near_all(n, (double[]){__VA_ARGS__}, 1e-12)

static void same_values (gb_node *a, gb_node *b) {
  assert_true(gb_shape_equal(gb_node_shape(a), gb_node_shape(b)));
  double *v = dense(b);
  near_all(a, v, 1e-12);
  free(v);
}

/* -- what errors say */

static void shape_errors_name_op_inputs_and_lines (void **state) {
  (void)state;
  gb_node *x = IN("X_train", 14, GB_F64, 500, 3), *w = IN("w", 20, GB_F64, 4, 1), *v = IN("v", 21, GB_F64, 4);
  gb_node *y = IN("y", 22, GB_F64, 5), *z = IN("", 23, GB_F64, 5, 1), *empty = IN("e", 24, GB_F64, 3, 0);
  REFUSED(GB_ESHAPE,
          "matmul: inner sizes differ (n x k by k x m; x:t() transposes): X_train 500x3 (a.lua:14), w 4x1 "
          "(a.lua:20)",
          gb_matmul, x, w);
  REFUSED(GB_ESHAPE,
          "matmul: inner sizes differ (n x k by k x m; x:t() transposes): X_train 500x3 (a.lua:14), v 4 "
          "(a.lua:21)",
          gb_matmul, x, v);
  REFUSED(GB_ESHAPE, "matmul: expected vectors or matrices: the number 1, v 4 (a.lua:21)", gb_matmul, num(1),
          v);
  REFUSED(GB_ESHAPE,
          "add: shapes do not fit (they align at the right, axes of size 1 grow; x:matmul(y) multiplies "
          "matrices): X_train 500x3 (a.lua:14), w 4x1 (a.lua:20)",
          gb_map2, GB_OP_ADD, x, w);
  REFUSED(GB_ESHAPE,
          "sub: shapes do not fit (of unequal ranks only one may grow; an outer form is written with "
          "unsqueeze): y 5 (a.lua:22), 5x1 (a.lua:23)",
          gb_map2, GB_OP_SUB, y, z);
  REFUSED(GB_ESHAPE, "max: nothing to choose from, an axis is empty: e 3x0 (a.lua:24)", gb_reduce, GB_OP_MAX,
          empty, 2u, false);
  has_shape(BUILD(gb_reduce, GB_OP_SUM, empty, 2u, false), "3");
  has_shape(BUILD(gb_reduce, GB_OP_MAX, empty, 1u, false), "0");
  REFUSED(GB_ESHAPE, "cholesky: expected a square matrix, or a batch of them: X_train 500x3 (a.lua:14)",
          gb_cholesky, x, 0.0);
  REFUSED(GB_ESHAPE, "solve: numbers of rows differ: 3x3, v 4 (a.lua:21)", gb_solve, mm(tr(x), x), v);
  REFUSED(GB_EINDEX, "unsqueeze: axis 4 is out of range: X_train 500x3 (a.lua:14)", gb_unsqueeze, x, 3);
  REFUSED(GB_EINDEX, "softmax: axis -3 is out of range: X_train 500x3 (a.lua:14)", gb_softmax, x, -3);
  REFUSED(GB_ESHAPE, "squeeze: axis 2 is not of size 1: X_train 500x3 (a.lua:14)", gb_squeeze, x, 1);
  REFUSED(GB_EINDEX, "slice: positions 3 to 7 are not all in axis 1: y 5 (a.lua:22)", gb_slice, y, 0, 2, 2,
          3);
  REFUSED(GB_EINDEX, "select: position 6 is out of range in axis 1: y 5 (a.lua:22)", gb_select, y, 0, 5);
  const gb_shape six = SHAPE(6), grown = SHAPE(500, 4);
  REFUSED(GB_ESHAPE, "reshape: the number of elements differs: y 5 (a.lua:22) to 6", gb_reshape, y, &six);
  REFUSED(GB_ESHAPE, "expand: only axes of size 1 grow: X_train 500x3 (a.lua:14) to 500x4", gb_expand, x,
          &grown);
  REFUSED(GB_ESHAPE,
          "cat: shapes differ in another axis than the joined one (only that one may differ): X_train 500x3 "
          "(a.lua:14), w 4x1 (a.lua:20)",
          gb_cat, 2, ((gb_node *[]){x, w}), 0);
  REFUSED(GB_ESHAPE,
          "stack: shapes differ, all must be the same (gb.cat joins along an axis there is): y 5 (a.lua:22), "
          "v 4 (a.lua:21)",
          gb_stack, 2, ((gb_node *[]){y, v}), 0);
  REFUSED(GB_ESHAPE, "sqdist: numbers of features differ: X_train 500x3 (a.lua:14), w 4x1 (a.lua:20)",
          gb_sqdist, x, w, NULL);
}

static void sizes_may_be_lazy_but_not_overflow (void **state) {
  (void)state;
  const size_t big = (size_t)1 << 31;
  gb_node *x = IN("x", 1, GB_F64, big, 1), *y = IN("y", 2, GB_F64, 1, big);
  gb_node *xy = add(x, y);
  has_shape(xy, "2147483648x2147483648");
  REFUSED(GB_ESHAPE, "add: size overflows: 2x2147483648x2147483648", gb_map2, GB_OP_ADD, unsq(xy, 0),
          IN("z", 3, GB_F64, 2, 1, 1));
  const gb_shape over = SHAPE(big, big, 2);
  REFUSED(GB_ESHAPE, "size overflows: 2147483648x2147483648x2", gb_node_placeholder, fx.g, &over, GB_F64, "");
}

static void dtype_errors_name_the_types (void **state) {
  (void)state;
  gb_node *x = IN("x", 1, GB_F64, 3), *f = IN("f", 2, GB_F32, 3), *i = IN("i", 3, GB_I64, 3),
          *m = IN("m", 4, GB_BOOL, 3);
  REFUSED(GB_EDTYPE,
          "add: dtypes differ, convert one with :to{dtype=...}: f64 x 3 (a.lua:1), f32 f 3 (a.lua:2)",
          gb_map2, GB_OP_ADD, x, f);
  REFUSED(GB_EDTYPE,
          "mul: dtypes differ, convert one with :to{dtype=...}: f64 x 3 (a.lua:1), i64 i 3 (a.lua:3)",
          gb_map2, GB_OP_MUL, x, i);
  REFUSED(GB_EDTYPE,
          "add: no arithmetic on bool, use & | ~, gb.where or :to{dtype=...}: bool m 3 (a.lua:4), f64 the "
          "number 1",
          gb_map2, GB_OP_ADD, m, num(1));
  REFUSED(GB_EDTYPE, "exp: expected float tensors, convert with :to{dtype=...}: i64 i 3 (a.lua:3)", gb_map1,
          GB_OP_EXP, i);
  REFUSED(GB_EDTYPE, "and: expected bool: f64 x 3 (a.lua:1), bool m 3 (a.lua:4)", gb_map2, GB_OP_AND, x, m);
  REFUSED(GB_EDTYPE,
          "where: expected a bool condition: f64 x 3 (a.lua:1), f64 x 3 (a.lua:1), f64 x 3 (a.lua:1)",
          gb_map3, GB_OP_WHERE, x, x, x);
  REFUSED(GB_EDTYPE, "0.5 is not an integer, expected i64", gb_map2, GB_OP_ADD, i, num(0.5));
  REFUSED(GB_EDTYPE, "cholesky: expected f64 or f32: f16 h 3x3 (a.lua:9)", gb_cholesky,
          IN("h", 9, GB_F16, 3, 3), 0.0);
  REFUSED(GB_EDTYPE, "max: no arithmetic on bool, use any, all or :to{dtype=...}: bool m 3 (a.lua:4)",
          gb_reduce, GB_OP_MAX, m, 0u, false);
}

/* -- dtypes */

static gb_node *param (gb_dtype t, int ndim, const size_t *dim) {
  return leaf_of(t, GB_NODE_PARAM, ndim, dim, NULL, 0.5, 1);
}

static void numbers_and_parameters_adopt_the_other_side (void **state) {
  (void)state;
  gb_node *f = IN("f", 1, GB_F32, 4, 3), *i = IN("i", 2, GB_I64, 3), *x = IN("x", 3, GB_F64, 3);
  gb_node *p = param(GB_F64, 0, NULL), *ard = param(GB_F64, 1, (size_t[]){3});
  assert_int_equal(gb_node_dtype(mul(f, num(0.1))), GB_F32);
  assert_int_equal(gb_node_dtype(mul(num(2), i)), GB_I64);
  assert_int_equal(gb_node_dtype(mul(f, p)), GB_F32);
  assert_int_equal(gb_node_dtype(dvd(f, ard)), GB_F32);
  assert_int_equal(gb_node_dtype(mul(f, map1(GB_OP_SOFTPLUS, add(p, num(1))))), GB_F32);
  assert_int_equal(gb_node_dtype(mm(f, ard)), GB_F32);
  assert_int_equal(gb_node_dtype(mul(p, num(2))), GB_F64);
  assert_int_equal(gb_node_dtype(map2(GB_OP_LT, f, num(0.5))), GB_BOOL);
  assert_int_equal(gb_node_dtype(add(param(GB_F32, 0, NULL), p)), GB_F64);
  gb_node *c = BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_GT, f, num(0)), f, num(0));
  assert_int_equal(gb_node_dtype(c), GB_F32);
  REFUSED(GB_EDTYPE, "add: dtypes differ, convert one with :to{dtype=...}: f32 f 4x3 (a.lua:1), f64 3",
          gb_map2, GB_OP_ADD, f, mul(x, ard));
  const gb_shape three = SHAPE(3); /* gb.ones(3) has its own dtype */
  REFUSED(GB_EDTYPE, "add: dtypes differ, convert one with :to{dtype=...}: f32 f 4x3 (a.lua:1), f64 3",
          gb_map2, GB_OP_ADD, f, BUILD(gb_expand, num(1), &three));
}

static gb_node *cast_to (gb_dtype t, gb_node *x) {
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &x, NULL, NULL, t);
}

static gb_node *range_of (gb_dtype t, size_t n) {
  const gb_shape s = SHAPE(n);
  return BUILD(gb_node_build, fx.g, GB_OP_RANGE, 0, NULL, &(gb_attr){.i = {1, 1}}, &s, t);
}

static void i32_computes_as_i64_and_moves_as_it_is (void **state) {
  (void)state;
  gb_node *i = IN("i", 1, GB_I32, 3), *w = IN("w", 2, GB_I64, 3), *m = IN("m", 3, GB_BOOL, 3),
          *x = IN("x", 4, GB_F64, 3);
  gb_node *large = BUILD(gb_node_integer, fx.g, (int64_t)1 << 40);
  assert_int_equal(gb_node_dtype(add(i, i)), GB_I64);
  assert_ptr_equal(add(i, w), add(cast_to(GB_I64, i), w));
  assert_int_equal(gb_node_dtype(add(i, large)), GB_I64);
  assert_int_equal(gb_node_dtype(sum_all(i)), GB_I64);
  assert_int_equal(gb_node_dtype(map2(GB_OP_EQ, i, w)), GB_BOOL);
  assert_int_equal(gb_node_dtype(BUILD(gb_mean, i, 0u, false)), GB_F64);
  assert_ptr_equal(map1(GB_OP_DETACH, i), i);
  gb_node *kept = BUILD(gb_map3, GB_OP_WHERE, m, BUILD(gb_node_integer, fx.g, 7), i);
  assert_int_equal(gb_node_dtype(kept), GB_I32);
  assert_int_equal(gb_node_dtype(BUILD(gb_cat, 2, ((gb_node *[]){i, kept}), 0)), GB_I32);
  REFUSED(GB_EDTYPE, "1099511627776 is out of range, expected an i32 of -2^31 .. 2^31 - 1", gb_map3,
          GB_OP_WHERE, m, i, large);
  REFUSED(GB_EDTYPE,
          "where: dtypes differ, convert one with :to{dtype=...}: bool m 3 (a.lua:3), i32 i 3 (a.lua:1), i64 "
          "w 3 (a.lua:2)",
          gb_map3, GB_OP_WHERE, m, i, w);
  REFUSED(GB_EDTYPE,
          "add: dtypes differ, convert one with :to{dtype=...}: i32 i 3 (a.lua:1), f64 x 3 (a.lua:4)",
          gb_map2, GB_OP_ADD, i, x);
  REFUSED(GB_EDTYPE, "exp: expected float tensors, convert with :to{dtype=...}: i32 i 3 (a.lua:1)", gb_map1,
          GB_OP_EXP, i);
}

static void too_many_inputs_are_refused (void **state) {
  (void)state;
  gb_node *i = IN("i", 1, GB_I32, 3), *many[] = {i, i, i, i, i};
  REFUSED(GB_EINTERNAL, "add: expected 2 inputs, got 5", gb_node_build, fx.g, GB_OP_ADD, 5, many, NULL, NULL,
          GB_I64);
}

static void casts_of_whole_numbers_are_canonical (void **state) {
  (void)state;
  gb_node *i = IN("i", 1, GB_I32, 3), *five = BUILD(gb_node_const, fx.g, 5, GB_I32);
  assert_ptr_equal(cast_to(GB_I32, cast_to(GB_I64, i)), i);
  assert_ptr_equal(cast_to(GB_I64, five), BUILD(gb_node_integer, fx.g, 5));
  assert_ptr_equal(cast_to(GB_I64, range_of(GB_I32, 3)), range_of(GB_I64, 3));
}

static void truths_are_counted_as_f64 (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(1, (size_t[]){4}, (double[]){1, -1, 3, 0}), *m = map2(GB_OP_GT, x, num(0));
  NEAR(sum_all(m), 2);
  NEAR(BUILD(gb_mean, m, 0u, false), 0.5);
  assert_int_equal(gb_node_dtype(BUILD(gb_mean, IN("i", 1, GB_I64, 3), 0u, false)), GB_F64);
}

/* -- views */

static void views_that_change_nothing_are_their_input (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3);
  const gb_shape same = SHAPE(4, 3), flat = SHAPE(12);
  assert_ptr_equal(BUILD(gb_reshape, x, &same), x);
  assert_ptr_equal(BUILD(gb_reshape, BUILD(gb_reshape, x, &flat), &same), x);
  assert_ptr_equal(BUILD(gb_expand, x, &same), x);
  assert_ptr_equal(BUILD(gb_permute, x, ((int[]){0, 1})), x);
  assert_ptr_equal(tr(tr(x)), x);
  assert_ptr_equal(BUILD(gb_slice, x, 0, 0, 1, 4), x);
  assert_ptr_equal(BUILD(gb_flip, BUILD(gb_flip, x, 1), 1), x);
  assert_ptr_equal(sq(unsq(x, 1), 1), x);
  assert_ptr_equal(BUILD(gb_pick, x, 0), x);
  assert_ptr_equal(BUILD(gb_reduce, GB_OP_SUM, sum_all(x), 0u, false), sum_all(x));
}

static void ways_to_write_a_view_are_one_node (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *v = DATA(5);
  const gb_shape mid = SHAPE(4, 1, 3), front = SHAPE(1, 4, 3), column = SHAPE(5, 1), grid = SHAPE(2, 5);
  assert_ptr_equal(BUILD(gb_reshape, x, &mid), unsq(x, 1));
  assert_ptr_equal(BUILD(gb_permute, unsq(x, 1), ((int[]){1, 0, 2})), unsq(x, 0));
  assert_ptr_equal(BUILD(gb_reshape, unsq(x, 1), &front), unsq(x, 0));
  assert_ptr_equal(tr(unsq(v, 1)), unsq(v, 0));
  assert_ptr_equal(BUILD(gb_reshape, v, &column), unsq(v, -1));
  assert_ptr_equal(unsq(unsq(v, 1), 0), unsq(unsq(v, 0), 2));
  assert_ptr_equal(unsq(unsq(v, 0), 0), unsq(unsq(v, 0), 1));
  assert_ptr_equal(BUILD(gb_expand, unsq(v, 0), &grid), BUILD(gb_expand, v, &grid));
  assert_ptr_equal(BUILD(gb_slice, BUILD(gb_slice, v, 0, 1, 1, 4), 0, 1, 2, 2),
                   BUILD(gb_slice, v, 0, 2, 2, 2));
  assert_ptr_equal(BUILD(gb_slice, BUILD(gb_slice, x, 0, 1, 1, 2), 1, 0, 1, 2),
                   BUILD(gb_slice, BUILD(gb_slice, x, 1, 0, 1, 2), 0, 1, 1, 2));
  assert_ptr_equal(BUILD(gb_permute, x, ((int[]){-1, -2})), tr(x));
}

/* Random chains of views, built step by step, against the same steps on dense arrays. */
static void simplified_views_have_the_values_of_the_chain (void **state) {
  (void)state;
  uint32_t rng = 7;
  for (int trial = 0; trial < 400; trial++) {
    gb_node *x = DATA(3, 1, 2);
    double *want = dense(x);
    for (int step = 0; step < 8; step++) {
      const gb_shape s = *gb_node_shape(x);
      const int kind = (int)((rng = rng * 1664525u + 1013904223u) >> 24) % 6,
                axis = (int)(rng >> 8 & 0xff) % (s.ndim + 1);
      gb_node raw = {.op = GB_OP_RESHAPE, .nin = 1, .nout = 1}, *leaf = NULL;
      int axes[GB_MAXDIM];
      gb_node *y = x;
      for (int i = 0; i < s.ndim; i++) axes[i] = (i + axis) % s.ndim;
      if (s.ndim > 1 && (rng & 16) != 0) {
        const int first = axes[0];
        axes[0] = axes[1];
        axes[1] = first;
      }
      if (kind == 0 && s.ndim < 6) y = unsq(x, axis), raw.op = GB_OP_UNSQUEEZE;
      if (kind == 1 && axis < s.ndim && s.dim[axis] == 1) y = sq(x, axis), raw.op = GB_OP_SQUEEZE;
      if (kind == 2 && s.ndim > 0) {
        y = BUILD(gb_permute, x, axes), raw.op = GB_OP_PERMUTE;
        for (int i = 0; i < s.ndim; i++) raw.attr.i[i] = axes[i];
      }
      if (kind == 3 && axis < s.ndim && s.dim[axis] > 0) {
        const gb_attr a = {.i = {axis, (int64_t)s.dim[axis] - 1, -1, (int64_t)s.dim[axis]}};
        y = BUILD(gb_flip, x, axis), raw.op = GB_OP_SLICE, raw.attr = a;
      }
      if (kind == 4 && s.ndim < 6) {
        gb_shape wide = s;
        for (int i = 0; i < s.ndim; i++) wide.dim[i + 1] = s.dim[i];
        wide.dim[0] = 2, wide.ndim++;
        if (gb_shape_numel(&wide) <= 200) y = BUILD(gb_expand, x, &wide), raw.op = GB_OP_EXPAND;
      }
      if (kind == 5) {
        const gb_shape flat = SHAPE(gb_shape_numel(&s));
        y = BUILD(gb_reshape, x, &flat);
      }
      leaf = leaf_of(GB_F64, 0, s.ndim, s.dim, want, 0, 0); /* the step alone, on the dense value so far */
      gb_value out = {.dtype = GB_F64, .shape = *gb_node_shape(y)};
      raw.out = &out;
      raw.in = &leaf;
      double *next = y == x && raw.op == GB_OP_RESHAPE ? dense(leaf) : dense(&raw);
      free(want);
      want = next;
      near_all(y, want, 0);
      x = y;
    }
    free(want);
  }
}

/* -- symmetry */

static bool is_symmetric (gb_node *n) { return (n->flags & GB_NODE_SYMMETRIC) != 0; }

static void symmetry_follows_from_structure (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *z = DATA(4, 3), *a = DATA(4, 4), *v = DATA(4);
  gb_node *s = BUILD(gb_sqdist, x, x, NULL), *k = BUILD(gb_radial, GB_M32, s, num(0.5), NULL);
  assert_true(is_symmetric(eye(4)));
  assert_true(is_symmetric(s));
  assert_false(is_symmetric(BUILD(gb_sqdist, x, z, NULL)));
  assert_true(is_symmetric(k));
  assert_true(is_symmetric(add(mul(k, num(2)), mul(eye(4), num(0.1)))));
  assert_true(is_symmetric(BUILD(gb_diag, v)));
  assert_true(is_symmetric(add(k, BUILD(gb_diag, v))));
  assert_false(is_symmetric(mul(k, v)));
  assert_false(is_symmetric(add(k, a)));
  assert_true(is_symmetric(add(a, tr(a))));
  assert_false(is_symmetric(sub(a, tr(a))));
  assert_true(is_symmetric(mm(x, tr(x))));
  assert_false(is_symmetric(mm(x, tr(z))));
  assert_true(is_symmetric(mul(unsq(v, 0), unsq(v, 1))));
  assert_false(is_symmetric(sub(unsq(v, 0), unsq(v, 1))));
  assert_true(is_symmetric(map1(GB_OP_ABS, sub(unsq(v, 0), unsq(v, 1)))));
  assert_ptr_equal(tr(k), k);
  assert_true(is_symmetric(add(mm(x, tr(z)), mm(z, tr(x)))));
  assert_true(is_symmetric(sub(mul(mm(x, tr(z)), mm(z, tr(x))), mm(x, tr(x)))));
  assert_true(is_symmetric(mm(sub(x, z), tr(sub(x, z)))));
  assert_false(is_symmetric(a));
  gb_node *vi = unsq(v, 1), *vj = unsq(v, 0), *ui = unsq(DATA(4), 1), *uj = tr(ui);
  assert_true(is_symmetric(map2(GB_OP_MAXIMUM, dvd(vi, uj), dvd(vj, ui))));
  assert_false(is_symmetric(map2(GB_OP_MAXIMUM, dvd(map1(GB_OP_NEG, vi), uj), dvd(vj, ui))));
  assert_false(is_symmetric(map2(GB_OP_MAXIMUM, dvd(vi, uj), dvd(ui, vj))));
  gb_node *pairs[2] = {BUILD(gb_sqdist, DATA(2, 4, 3), DATA(2, 4, 3), NULL), DATA(2, 4, 3)};
  assert_false(is_symmetric(pairs[0]));
  pairs[0] = BUILD(gb_sqdist, pairs[1], pairs[1], NULL);
  assert_true(is_symmetric(BUILD(gb_reduce, GB_OP_SUM, map1(GB_OP_SQRT, pairs[0]), 1u, false)));
  assert_false(is_symmetric(BUILD(gb_reduce, GB_OP_SUM, unsq(pairs[0], 0), 1u << 3, false)));
  assert_true(is_symmetric(BUILD(gb_select, map1(GB_OP_SQRT, pairs[0]), 0, 1)));
}

/* A covariance written by hand, lengthscale varying with the input. */
static void covariances_written_by_hand_are_seen_to_be_symmetric (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *xi = unsq(x, 1), *xj = unsq(x, 0), *y = DATA(4, 3);
  gb_node *li = add(num(0.5), mul(num(0.3), map1(GB_OP_ABS, xi))),
          *lj = add(num(0.5), mul(num(0.3), map1(GB_OP_ABS, xj)));
  gb_node *s = add(square(li), square(lj)), *root = map1(GB_OP_SQRT, dvd(mul(mul(num(2), li), lj), s));
  gb_node *e = map1(GB_OP_EXP, dvd(map1(GB_OP_NEG, square(sub(xi, xj))), s));
  assert_true(is_symmetric(BUILD(gb_reduce, GB_OP_PROD, mul(root, e), 1u << 2, false)));
  gb_node *other = unsq(y, 0), *cross = map1(GB_OP_EXP, dvd(map1(GB_OP_NEG, square(sub(xi, other))), s));
  assert_false(is_symmetric(BUILD(gb_reduce, GB_OP_PROD, mul(root, cross), 1u << 2, false)));
  gb_node *lop = BUILD(gb_reduce, GB_OP_PROD, mul(li, e), 1u << 2, false);
  assert_false(is_symmetric(lop));
}

/* Whatever is flagged is symmetric in value: random expressions of row and column forms. */
static void what_is_flagged_symmetric_is_symmetric (void **state) {
  (void)state;
  uint32_t rng = 99;
  int flagged = 0;
  gb_node *x = DATA(3), *a = DATA(3, 3), *y = DATA(3);
  for (int trial = 0; trial < 300; trial++) {
    gb_node *pool[24] = {unsq(x, 0), unsq(x, 1), a, tr(a), eye(3), unsq(y, 0), unsq(y, 1), num(0.7)};
    int n = 8;
    while (n < 20) {
      static const gb_op ops[] = {GB_OP_ADD,    GB_OP_SUB, GB_OP_MUL,   GB_OP_MAXIMUM,
                                  GB_OP_SQUARE, GB_OP_SIN, GB_OP_MATMUL};
      rng = rng * 1664525u + 1013904223u;
      const gb_op op = ops[(rng >> 8) % 7];
      gb_node *p = pool[(rng >> 12) % (uint32_t)n], *q = pool[(rng >> 20) % (uint32_t)n];
      if (op == GB_OP_MATMUL && (gb_node_shape(p)->ndim < 2 || gb_node_shape(q)->ndim < 2 ||
                                 gb_node_shape(p)->dim[1] != gb_node_shape(q)->dim[0]))
        continue;
      gb_node *r = gb_ops[op].inputs == 1 ? map1(op, p) : map2(op, p, q);
      const gb_shape *s = gb_node_shape(r);
      pool[n++] = r;
      if (!is_symmetric(r) || s->ndim != 2) continue;
      assert_int_equal(s->dim[0], s->dim[1]);
      flagged += s->dim[0] == 3;
      double *v = dense(r);
      for (size_t i = 0; i < s->dim[0]; i++)
        for (size_t j = 0; j < i; j++)
          if (!(fabs(v[i * 3 + j] - v[j * 3 + i]) <= 1e-9 * (1 + fabs(v[i * 3 + j]))) &&
              isfinite(v[i * 3 + j]))
            fail_msg("flagged, but %g and %g", v[i * 3 + j], v[j * 3 + i]);
      free(v);
    }
  }
  assert_true(flagged > 100);
}

/* -- composites */

static void moments_are_what_they_say (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(2, (size_t[]){2, 3}, (double[]){1, 2, 6, -1, 0, 4});
  NEAR(BUILD(gb_mean, x, 2u, false), 3, 1);
  NEAR(BUILD(gb_mean, x, 0u, false), 2);
  NEAR(BUILD(gb_var, x, 2u, false, 1.0), 7, 7);
  NEAR(BUILD(gb_var, x, 2u, true, 0.0), 14.0 / 3, 14.0 / 3);
  NEAR(BUILD(gb_std, x, 2u, false, 1.0), sqrt(7), sqrt(7));
  NEAR(BUILD(gb_norm, x, 2u, false, 2.0), sqrt(41), sqrt(17));
  NEAR(BUILD(gb_norm, x, 2u, false, 1.0), 9, 5);
  NEAR(BUILD(gb_norm, x, 2u, false, INFINITY), 6, 4);
  NEAR(BUILD(gb_norm, x, 2u, false, -INFINITY), 1, 0);
  NEAR(BUILD(gb_norm, x, 2u, false, 3.0), cbrt(225), cbrt(65));
  has_shape(BUILD(gb_var, x, 2u, true, 1.0), "2x1");
  has_shape(BUILD(gb_mean, x, 3u, true), "1x1");
  REFUSED(GB_EOPTION, "norm: p must be a number other than 0, got 0", gb_norm, x, 0u, false, 0.0);
  gb_node *one = data_leaf_of(1, (size_t[]){1}, (double[]){5});
  NEAR(BUILD(gb_var, one, 0u, false, 1.0), NAN);
  NEAR(BUILD(gb_var, one, 0u, false, 2.0), NAN);
  NEAR(BUILD(gb_var, x, 1u << 1, false, 4.0), INFINITY, INFINITY);
  NEAR(BUILD(gb_reduce, GB_OP_ARGMAX, num(3), 0u, false), 1);
}

static void softmax_does_not_overflow (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(2, (size_t[]){2, 2}, (double[]){1000, 1000 + log(3), -5, -5});
  NEAR(BUILD(gb_softmax, x, -1), 0.25, 0.75, 0.5, 0.5);
  gb_node *y = data_leaf_of(2, (size_t[]){2, 2}, (double[]){1, 1 + log(3), -5, -5});
  NEAR(BUILD(gb_log_softmax, y, 1), log(0.25), log(0.75), log(0.5), log(0.5));
  NEAR(BUILD(gb_softmax, y, 0), 1 / (1 + exp(-6)), 1 / (1 + exp(-6 - log(3))), 1 / (1 + exp(6)),
       1 / (1 + exp(6 + log(3))));
  has_shape(BUILD(gb_softmax, IN("e", 1, GB_F64, 2, 0), 1), "2x0");
}

static void clamp_lets_nan_through (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(1, (size_t[]){4}, (double[]){-3, 0.5, 7, NAN});
  NEAR(BUILD(gb_clamp, x, num(0), num(1)), 0, 0.5, 1, NAN);
  NEAR(BUILD(gb_clamp, x, NULL, num(1)), -3, 0.5, 1, NAN);
  assert_ptr_equal(BUILD(gb_clamp, x, NULL, NULL), x);
}

static void tile_stack_flip_and_select_move_elements (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(2, (size_t[]){2, 2}, (double[]){1, 2, 3, 4});
  NEAR(BUILD(gb_tile, x, 2, ((size_t[]){1, 2})), 1, 2, 1, 2, 3, 4, 3, 4);
  NEAR(BUILD(gb_tile, x, 3, ((size_t[]){2, 1, 1})), 1, 2, 3, 4, 1, 2, 3, 4);
  NEAR(BUILD(gb_tile, x, 1, ((size_t[]){2})), 1, 2, 1, 2, 3, 4, 3, 4);
  has_shape(BUILD(gb_tile, x, 2, ((size_t[]){0, 1})), "0x2");
  gb_node *row = BUILD(gb_select, x, 0, 1);
  NEAR(row, 3, 4);
  NEAR(BUILD(gb_flip, x, -1), 2, 1, 4, 3);
  NEAR(BUILD(gb_stack, 2, ((gb_node *[]){row, BUILD(gb_select, x, 0, 0)}), 1), 3, 1, 4, 2);
  NEAR(BUILD(gb_cat, 2, ((gb_node *[]){row, unsq(num(9), 0)}), 0), 3, 4, 9);
  NEAR(BUILD(gb_diag, row), 3, 0, 0, 4);
}

static void matmul_takes_vectors_on_either_side (void **state) {
  (void)state;
  gb_node *x = data_leaf_of(2, (size_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, 6}),
          *v = data_leaf_of(1, (size_t[]){3}, (double[]){1, 0, -1});
  gb_node *u = data_leaf_of(1, (size_t[]){2}, (double[]){1, 2});
  NEAR(mm(x, v), -2, -2);
  NEAR(mm(u, x), 9, 12, 15);
  NEAR(mm(v, v), 2);
  has_shape(mm(DATA(5, 2, 3), v), "5x2");
  has_shape(mm(u, DATA(5, 2, 3)), "5x3");
  has_shape(mm(DATA(5, 2, 3), DATA(3, 4)), "5x2x4");
}

static gb_node *einsum (const char *spec, int n, gb_node *const *in) {
  return BUILD(gb_einsum, fx.g, spec, n, in);
}

static void einsum_is_its_formula (void **state) {
  (void)state;
  gb_node *a = DATA(2, 3), *b = DATA(3, 4), *v = DATA(3), *s = DATA(3, 3), *t = DATA(5, 2, 3),
          *c = DATA(4, 2);
  const gb_shape merged = SHAPE(5, 6);
#define E(spec, ...)                                                                                         \
  einsum(spec, (int)(sizeof((gb_node *[]){__VA_ARGS__}) / sizeof(gb_node *)), (gb_node *[]){__VA_ARGS__})
  same_values(E("ij,jk->ik", a, b), mm(a, b));
  same_values(E("ij,jk", a, b), mm(a, b));
  same_values(E("ij , jk -> ki", a, b), tr(mm(a, b)));
  same_values(E("ij->ji", a), tr(a));
  same_values(E("ba", a), tr(a));
  same_values(E("ij->", a), sum_all(a));
  same_values(E("ij->j", a), sum_axis(a, 0));
  same_values(E("ii->i", s), BUILD(gb_map1, GB_OP_DIAGONAL, s));
  same_values(E("ii", s), sum_all(BUILD(gb_map1, GB_OP_DIAGONAL, s)));
  same_values(E("i,i->", v, v), mm(v, v));
  same_values(E("i,j->ij", v, v), mul(unsq(v, 1), unsq(v, 0)));
  same_values(E("ij,ij->ij", a, a), square(a));
  same_values(E("ij,ij->i", a, a), sum_axis(square(a), 1));
  same_values(E("ij,jk,kl->il", a, b, c), mm(mm(a, b), c));
  same_values(E("bij,jk->bik", t, b), mm(t, b));
  same_values(E("bij,bkj->bik", t, t), mm(t, tr(t)));
  same_values(E("bij,bij->", t, t), sum_all(square(t)));
  same_values(E("bij,ij->b", t, a), sum_axis(sum_axis(mul(t, a), 2), 1));
  same_values(E("bij,jj->bi", t, s), mm(t, BUILD(gb_map1, GB_OP_DIAGONAL, s)));
  gb_node *rows = BUILD(gb_reshape, t, &merged);
  same_values(E("bij,cij->bc", t, t), mm(rows, tr(rows)));
  REFUSED(GB_ESHAPE, "einsum: j is 3, but axis 1 of term 2 is 4: 4x2", gb_einsum, fx.g, "ij,jk", 2,
          ((gb_node *[]){a, c}));
  REFUSED(GB_ESHAPE, "einsum: term 1 of 'i->i' has 1 axes, got 2x3", gb_einsum, fx.g, "i->i", 1, &a);
  REFUSED(GB_EOPTION, "einsum: 'ij' has 1 terms, got 2 tensors", gb_einsum, fx.g, "ij", 2,
          ((gb_node *[]){a, c}));
  REFUSED(GB_EOPTION, "einsum: 'ij,jk' has 2 terms, got 1 tensors", gb_einsum, fx.g, "ij,jk", 1, &a);
  REFUSED(GB_EOPTION, "einsum: a letter of the result is in no term: 'ij->ik'", gb_einsum, fx.g, "ij->ik", 1,
          &a);
  REFUSED(GB_EOPTION, "einsum: a letter occurs twice in the result: 'ij->ii'", gb_einsum, fx.g, "ij->ii", 1,
          &a);
  REFUSED(GB_EOPTION, "einsum: expected letters, commas and at most one '->': 'i1->i'", gb_einsum, fx.g,
          "i1->i", 1, &a);
  REFUSED(GB_EOPTION, "einsum: expected letters, commas and at most one '->': '...i'", gb_einsum, fx.g,
          "...i", 1, &a);
  REFUSED(GB_EOPTION, "einsum: more than 8 axes: 'abcdefghi'", gb_einsum, fx.g, "abcdefghi", 1, &a);
#undef E
}

static size_t count_ops (gb_op op, size_t n, gb_node *const *roots) {
  gb_node **order;
  size_t count, found = 0;
  assert_int_equal(gb_graph_order(fx.g, n, roots, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) found += order[i]->op == op;
  free(order);
  return found;
}

static void one_matrix_is_factored_once (void **state) {
  (void)state;
  gb_node *x = DATA(4, 3), *y = DATA(4), *a = DATA(4, 4);
  gb_node *k = add(BUILD(gb_radial, GB_RBF, BUILD(gb_sqdist, x, x, NULL), num(1), NULL), eye(4));
  gb_node *roots[3] = {BUILD(gb_solve, k, y), BUILD(gb_logdet, k), BUILD(gb_inv_quad, k, y)};
  assert_int_equal(count_ops(GB_OP_CHOLESKY, 3, roots), 1);
  gb_node *general[3] = {BUILD(gb_solve, a, y), BUILD(gb_logdet, a), BUILD(gb_inv_quad, a, y)};
  assert_int_equal(count_ops(GB_OP_CHOLESKY, 3, general), 0);
  assert_int_equal(count_ops(GB_OP_LU_SOLVE, 3, general), 1);
  has_shape(roots[0], "4");
  has_shape(roots[1], "()");
  has_shape(roots[2], "()");
  has_shape(BUILD(gb_lstsq, x, y), "3");
  has_shape(BUILD(gb_lstsq, x, DATA(4, 2)), "3x2");
  REFUSED(GB_ESHAPE, "lstsq: expected a matrix with no fewer rows than columns, or a batch of them: 3x4",
          gb_lstsq, tr(x), DATA(3));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(shape_errors_name_op_inputs_and_lines),
      FIXTURE_TEST(sizes_may_be_lazy_but_not_overflow),
      FIXTURE_TEST(dtype_errors_name_the_types),
      FIXTURE_TEST(numbers_and_parameters_adopt_the_other_side),
      FIXTURE_TEST(i32_computes_as_i64_and_moves_as_it_is),
      FIXTURE_TEST(too_many_inputs_are_refused),
      FIXTURE_TEST(casts_of_whole_numbers_are_canonical),
      FIXTURE_TEST(truths_are_counted_as_f64),
      FIXTURE_TEST(views_that_change_nothing_are_their_input),
      FIXTURE_TEST(ways_to_write_a_view_are_one_node),
      FIXTURE_TEST(simplified_views_have_the_values_of_the_chain),
      FIXTURE_TEST(symmetry_follows_from_structure),
      FIXTURE_TEST(covariances_written_by_hand_are_seen_to_be_symmetric),
      FIXTURE_TEST(what_is_flagged_symmetric_is_symmetric),
      FIXTURE_TEST(moments_are_what_they_say),
      FIXTURE_TEST(softmax_does_not_overflow),
      FIXTURE_TEST(clamp_lets_nan_through),
      FIXTURE_TEST(tile_stack_flip_and_select_move_elements),
      FIXTURE_TEST(matmul_takes_vectors_on_either_side),
      FIXTURE_TEST(einsum_is_its_formula),
      FIXTURE_TEST(one_matrix_is_factored_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
