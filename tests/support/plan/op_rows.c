/* op_rows.c - builders of small cases, and the table of all ops. */
#include "support/plan/op_rows.h"

#include "graph/call.h"
#include "support/elements.h"

/* elementwise */

static gb_node *unary (gb_op op, int v, double lo, double hi) {
  switch (v) {
    case 0: return map1(op, in0(lo, hi));
    case 1: return map1(op, in1(0, lo, hi));
    case 2: return map1(op, in1(1, lo, hi));
    case 3: return map1(op, in1(7, lo, hi));
    case 4: return map1(op, in1(1037, lo, hi));
    case 5: return map1(op, tr(in2(33, 17, lo, hi)));
    default: return map1(op, in3(2, 1, 65, lo, hi));
  }
}

static gb_node *binary (gb_op op, int v, double lo, double hi, double lo2, double hi2) {
  switch (v) {
    case 0: return map2(op, in0(lo, hi), in0(lo2, hi2));
    case 1: return map2(op, in1(0, lo, hi), in0(lo2, hi2));
    case 2: return map2(op, in1(5, lo, hi), in1(5, lo2, hi2));
    case 3: return map2(op, in2(3, 1, lo, hi), in2(1, 4, lo2, hi2));
    case 4: return map2(op, in1(7, lo, hi), in2(3, 7, lo2, hi2));
    case 5: return map2(op, in2(129, 65, lo, hi), tr(in2(65, 129, lo2, hi2)));
    case 6: return map2(op, in3(2, 1, 31, lo, hi), in3(1, 9, 31, lo2, hi2));
    default: return map2(op, in2(1, 1, lo, hi), in1(1, lo2, hi2));
  }
}

/* clang-format off */
#define UNARY(X)                                                                                             \
  X(NEG, -2, 2, GRAD | NANS) X(ABS, -2, 2, GRAD | NANS) X(SIGN, -2, 2, NANS) X(FLOOR, -3, 3, NANS)           \
  X(CEIL, -3, 3, NANS) X(ROUND, -3, 3, NANS) X(SQUARE, -2, 2, GRAD | NANS) X(RECIP, 0.4, 2, GRAD | NANS)     \
  X(SQRT, 0.2, 4, GRAD | NANS) X(RSQRT, 0.3, 4, GRAD | NANS) X(EXP, -3, 3, GRAD | NANS)                      \
  X(EXPM1, -1, 1, GRAD | NANS) X(LOG, 0.2, 5, GRAD | NANS) X(LOG1P, -0.5, 3, GRAD | NANS)                    \
  X(SIN, -4, 4, GRAD | NANS) X(COS, -4, 4, GRAD | NANS) X(TAN, -1.2, 1.2, GRAD | NANS)                       \
  X(ASIN, -0.9, 0.9, GRAD | NANS) X(ACOS, -0.9, 0.9, GRAD | NANS) X(ATAN, -3, 3, GRAD | NANS)                \
  X(TANH, -3, 3, GRAD | NANS) X(SIGMOID, -9, 9, GRAD | NANS) X(SOFTPLUS, -9, 9, GRAD | NANS)                 \
  X(RELU, -2, 2, GRAD | NANS) X(ERF, -2, 2, GRAD | NANS) X(NDTR, -3, 3, GRAD | NANS)                         \
  X(LOG_NDTR, -9, 3, GRAD | NANS) X(NDTR_RATIO, -5, 3, GRAD | NANS)                                          \
  X(NDTR_GAP, -5, 3, GRAD | NANS) X(NDTR_SPREAD, -4, 3, GRAD | NANS) X(LGAMMA, 0.3, 6, GRAD | NANS)          \
  X(DIGAMMA, 0.3, 6, GRAD | NANS)                                                                            \
  X(TRIGAMMA, 0.3, 6, GRAD | NANS) X(ISNAN, -1, 1, 0) X(ISFINITE, -1, 1, 0) X(DETACH, -1, 1, NANS | REWRITTEN)
/* clang-format on */

#define X(id, lo, hi, traits)                                                                                \
  static gb_node *b_##id(int v) { return unary(GB_OP_##id, v, lo, hi); }
UNARY(X)
#undef X

/* clang-format off */
#define BINARY(X)                                                                                            \
  X(ADD, -2, 2, -2, 2, GRAD | NANS) X(SUB, -2, 2, -2, 2, GRAD | NANS) X(MUL, -2, 2, -2, 2, GRAD | NANS)      \
  X(DIV, -2, 2, 0.5, 2, GRAD | NANS) X(IDIV, -9, 9, 0.7, 2, NANS) X(MOD, -9, 9, 0.7, 2, GRAD | NANS)         \
  X(POW, 0.3, 2, -2, 2, GRAD | NANS) X(MAXIMUM, -2, 2, -2, 2, GRAD | NANS)                                   \
  X(MINIMUM, -2, 2, -2, 2, GRAD | NANS) X(LT, -2, 2, -2, 2, 0) X(LE, -2, 2, -2, 2, 0)                        \
  X(GT, -2, 2, -2, 2, 0) X(GE, -2, 2, -2, 2, 0) X(EQ, -2, 2, -2, 2, 0) X(NE, -2, 2, -2, 2, 0)
/* clang-format on */

#define X(id, lo, hi, lo2, hi2, traits)                                                                      \
  static gb_node *b_##id(int v) { return binary(GB_OP_##id, v, lo, hi, lo2, hi2); }
BINARY(X)
#undef X

static gb_node *bools (int v, int k) {
  inputs.seed += (uint64_t)k;
  gb_node *x = v == 0   ? ints(1, (size_t[]){0}, 0, 1)
               : v == 1 ? ints(1, (size_t[]){37}, 0, 1)
                        : ints(2, (size_t[]){5, 37}, 0, 1);
  inputs.seed -= (uint64_t)k;
  return x;
}
static gb_node *b_NOT (int v) { return map1(GB_OP_NOT, bools(v, 0)); }
static gb_node *b_AND (int v) { return map2(GB_OP_AND, bools(v, 0), bools(v == 1 ? 2 : v, 7)); }
static gb_node *b_OR (int v) { return map2(GB_OP_OR, bools(v, 0), bools(v == 1 ? 2 : v, 7)); }
static gb_node *b_WHERE (int v) {
  gb_node *c = v == 0 ? ints(1, (size_t[]){4}, 0, 1) : ints(2, (size_t[]){9, 1}, 0, 1);
  return BUILD(gb_map3, GB_OP_WHERE, c, v == 0 ? in1(4, -1, 1) : in2(1, 70, -1, 1),
               v == 0 ? in0(-1, 1) : in2(9, 70, -1, 1));
}

static gb_node *given (gb_op op, int ndim, const size_t *dim, gb_dtype t, gb_attr attr) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_node_build, fx.g, op, 0, NULL, &attr, &s, t);
}
static gb_node *b_POLYGAMMA (int v) {
  return map2(GB_OP_POLYGAMMA, num(v % 3),
              v == 1   ? in1(0, 0.3, 6)
              : v == 2 ? in2(5, 70, 0.3, 6)
                       : in1(9, 0.3, 6));
}
static gb_node *b_WITH_SLOPE (int v) {
  if (v == 3) {
    gb_node *x = in2(3, 4, -2, 2);
    gb_node *one = given(GB_OP_EYE, 2, (size_t[]){1, 1}, inputs.dtype, (gb_attr){0});
    return BUILD(gb_map3, GB_OP_WITH_SLOPE, one, x, mul(x, num(0)));
  }
  gb_node *x = v == 0 ? in1(9, -2, 2) : in2(3, 1, -2, 2);
  gb_node *t = v < 2 ? x : add(x, given(GB_OP_EYE, 2, (size_t[]){3, 4}, inputs.dtype, (gb_attr){0}));
  return BUILD(gb_map3, GB_OP_WITH_SLOPE, map1(GB_OP_SIN, t), x, map1(GB_OP_COS, t));
}

/* leaves and generators */

static gb_node *b_LEAF (int v) { return v == 0 ? in1(9, -1, 1) : map1(GB_OP_SIN, in2(3, 5, -1, 1)); }
static gb_node *b_CONST (int v) { return v == 0 ? num(2.5) : add(num(2.5), in1(3, -1, 1)); }
static gb_node *b_RANGE (int v) {
  return given(GB_OP_RANGE, 1, (size_t[]){v == 0 ? 0 : 301}, v == 2 ? GB_I64 : inputs.dtype,
               (gb_attr){.i = {3, 2}, .f = {3, v == 2 ? 2 : 0.25}});
}
static gb_node *b_EYE (int v) {
  if (v < 2)
    return given(GB_OP_EYE, 2, (size_t[]){v == 0 ? 1 : 70, v == 0 ? 1 : 70}, inputs.dtype, (gb_attr){0});
  return add(given(GB_OP_EYE, 2, (size_t[]){5, 8}, inputs.dtype, (gb_attr){0}), in2(5, 8, -1, 1));
}
static gb_node *b_RAND (int v) {
  return given(GB_OP_RAND, 2, (size_t[]){v == 0 ? 0 : 67, 5}, inputs.dtype, (gb_attr){.i = {3, 1}});
}
static gb_node *b_RANDN (int v) {
  return given(GB_OP_RANDN, 2, (size_t[]){v == 0 ? 0 : 67, 5}, inputs.dtype, (gb_attr){.i = {3, 2}});
}
static gb_node *b_SOBOL (int v) {
  return given(GB_OP_SOBOL, 2, (size_t[]){v == 0 ? 0 : 100, 3}, inputs.dtype, (gb_attr){.i = {3, 2}});
}
static gb_node *b_RANDPERM (int v) {
  return given(GB_OP_RANDPERM, 1, (size_t[]){v == 0 ? 0 : 50}, GB_I64, (gb_attr){.i = {3, 2}});
}

/* views; in some cases an elementwise op above or below, so that the view is not the whole expression */

static gb_node *b_RESHAPE (int v) {
  const gb_shape a = gb_shape_of(2, (size_t[]){3, 4}), b = gb_shape_of(3, (size_t[]){4, 1, 33}),
                 c = gb_shape_of(1, (size_t[]){0});
  if (v == 0) return BUILD(gb_reshape, in2(2, 6, -1, 1), &a);
  if (v == 1) return map1(GB_OP_SIN, BUILD(gb_reshape, tr(in2(12, 11, -1, 1)), &b));
  return BUILD(gb_reshape, in2(0, 3, -1, 1), &c);
}
static gb_node *b_UNSQUEEZE (int v) {
  return v == 0 ? unsq(in1(5, -1, 1), 0) : mul(unsq(in1(65, -1, 1), 1), in2(1, 9, -1, 1));
}
static gb_node *b_SQUEEZE (int v) {
  return v == 0 ? sq(in2(5, 1, -1, 1), 1) : map1(GB_OP_SIN, sq(in3(1, 7, 9, -1, 1), 0));
}
static gb_node *b_PERMUTE (int v) {
  if (v == 0) return tr(in2(3, 4, -1, 1));
  return map1(GB_OP_SIN, BUILD(gb_permute, in3(3, 70, 5, -1, 1), (int[]){2, 0, 1}));
}
static gb_node *b_EXPAND (int v) {
  const gb_shape a = gb_shape_of(2, (size_t[]){3, 4}), b = gb_shape_of(3, (size_t[]){5, 70, 9});
  return v == 0 ? BUILD(gb_expand, in1(4, -1, 1), &a)
                : map1(GB_OP_SIN, BUILD(gb_expand, in2(70, 1, -1, 1), &b));
}
static gb_node *b_SLICE (int v) {
  if (v == 0) return BUILD(gb_slice, in1(9, -1, 1), 0, 1, 3, 3);
  if (v == 1) return map1(GB_OP_SIN, BUILD(gb_slice, in2(7, 80, -1, 1), 1, 79, -2, 33));
  if (v == 2) return BUILD(gb_slice, in1(5, -1, 1), 0, 0, 1, 0);
  return add(BUILD(gb_flip, in2(4, 3, -1, 1), 0), in1(3, -1, 1));
}
static gb_node *b_DIAGONAL (int v) {
  gb_node *x = v == 0   ? in2(4, 4, -1, 1)
               : v == 1 ? in3(2, 70, 65, -1, 1)
                        : map2(GB_OP_MUL, in2(9, 1, -1, 1), in2(1, 9, -1, 1));
  return attr_node(GB_OP_DIAGONAL, 1, &x, (gb_attr){0});
}

/* reductions */

static gb_node *reduce (gb_op op, int v, double lo, double hi) {
  switch (v) {
    case 0: return BUILD(gb_reduce, op, in1(9, lo, hi), 0, false);
    case 1: return BUILD(gb_reduce, op, in2(3, 4, lo, hi), 1, false);
    case 2: return BUILD(gb_reduce, op, in2(3, 4, lo, hi), 2, true);
    case 3: return BUILD(gb_reduce, op, in2(70, 301, lo, hi), 2, false);
    case 4: return BUILD(gb_reduce, op, in2(301, 70, lo, hi), 1, false);
    case 5: return BUILD(gb_reduce, op, in3(3, 65, 5, lo, hi), 5, false);
    case 6: return BUILD(gb_reduce, op, in2(129, 65, lo, hi), 0, false);
    case 7: return BUILD(gb_reduce, op, in1(1, lo, hi), 0, false);
    case 8:
      return BUILD(gb_reduce, op, map2(GB_OP_ADD, in2(67, 1, lo / 2, hi / 2), in2(1, 33, lo / 2, hi / 2)), 1,
                   false);
    case 9: return BUILD(gb_reduce, op, in2(0, 3, lo, hi), 2, false);
    default: return BUILD(gb_reduce, op, in2(3, 0, lo, hi), 2, false);
  }
}
/* clang-format off */
#define REDUCE(X)                                                                                            \
  X(SUM, -1, 1, 11, GRAD | NANS) X(PROD, 0.9, 1.1, 11, GRAD | NANS) X(MIN, -1, 1, 10, GRAD | NANS)           \
  X(MAX, -1, 1, 10, GRAD | NANS) X(LOGSUMEXP, -3, 3, 11, GRAD | NANS) X(ARGMIN, -1, 1, 10, 0)                \
  X(ARGMAX, -1, 1, 10, 0)
/* clang-format on */
#define X(id, lo, hi, cases, traits)                                                                         \
  static gb_node *b_##id(int v) { return reduce(GB_OP_##id, v, lo, hi); }
REDUCE(X)
#undef X
static gb_node *b_ANY (int v) {
  return BUILD(gb_reduce, GB_OP_ANY, v < 2 ? bools(v, 0) : map2(GB_OP_LT, in2(70, 9, -1, 1), num(-0.9)),
               v < 2 ? 0 : 2, false);
}
static gb_node *b_ALL (int v) {
  return BUILD(gb_reduce, GB_OP_ALL, v < 2 ? bools(v, 0) : map2(GB_OP_LT, in2(70, 9, -1, 1), num(0.9)),
               v < 2 ? 0 : 2, false);
}

/* contractions */

static gb_node *b_MATMUL (int v) {
  switch (v) {
    case 0: return mm(in2(2, 3, -1, 1), in2(3, 4, -1, 1));
    case 1: return mm(in2(65, 300, -1, 1), in2(300, 33, -1, 1));
    case 2: return mm(in3(2, 5, 7, -1, 1), in2(7, 3, -1, 1));
    case 3: return mm(in2(7, 9, -1, 1), in1(9, -1, 1));
    case 4: return mm(in1(9, -1, 1), in2(9, 70, -1, 1));
    case 5: return mm(tr(in2(70, 31, -1, 1)), in2(70, 1, -1, 1));
    case 6: return mm(in2(3, 0, -1, 1), in2(0, 2, -1, 1));
    case 7: return mm(in2(0, 4, -1, 1), in2(4, 2, -1, 1));
    case 8:
      return mm(map1(GB_OP_EXP, map2(GB_OP_MUL, in2(77, 1, -1, 1), in2(1, 300, -1, 1))), in2(300, 3, -1, 1));
    default: return mm(in3(3, 1, 4, -1, 1), in3(1, 4, 5, -1, 1));
  }
}
static gb_node *b_GEMM (int v) { return mm(in2(v == 0 ? 70 : 200, 90, -1, 1), in2(90, 130, -1, 1)); }
static gb_node *b_SQDIST (int v) {
  switch (v) {
    case 0: return BUILD(gb_sqdist, in2(3, 2, -1, 1), in2(4, 2, -1, 1), NULL);
    case 1: return BUILD(gb_sqdist, in2(3, 2, -1, 1), in2(2, 2, -1, 1), in1(2, 0.5, 2));
    case 2: return BUILD(gb_sqdist, in2(130, 3, -1, 1), in2(70, 3, -1, 1), NULL);
    case 3: return BUILD(gb_sqdist, in2(65, 11, -1, 1), in2(33, 11, -1, 1), in1(11, 0.5, 2));
    case 4: return BUILD(gb_sqdist, in3(2, 9, 3, -1, 1), in2(5, 3, -1, 1), NULL);
    default: return BUILD(gb_sqdist, in2(0, 3, -1, 1), in2(5, 3, -1, 1), NULL);
  }
}
static gb_node *kernel (gb_profile p, size_t n, size_t m, size_t d) {
  gb_node *s = BUILD(gb_sqdist, in2(n, d, -1, 1), in2(m, d, -1, 1), NULL), *c = in0(0.5, 2);
  return BUILD(gb_radial, p, s, c, p == GB_RQ ? in0(0.5, 2) : NULL);
}
static gb_node *b_RADIAL (int v) {
  if (v < 5) return kernel((gb_profile)v, 3, 2, 2);
  if (v < 10) return mm(kernel((gb_profile)(v - 5), 70, 300, 3), in2(300, v % 2 ? 1 : 9, -1, 1));
  if (v == 10) return mm(mul(kernel(GB_RBF, 40, 90, 2), kernel(GB_M32, 40, 90, 2)), in1(90, -1, 1));
  return sum_all(kernel(GB_RBF, 129, 65, 9));
}
static gb_node *b_DIFFMV (int v) {
  const size_t n = v == 0 ? 3 : 131, m = v == 0 ? 2 : 300, d = v == 0 ? 2 : 5;
  gb_node *in[3] = {in2(n, m, -1, 1), in2(n, d, -1, 1), in2(m, d, -1, 1)};
  return attr_node(GB_OP_DIFFMV, 3, in, (gb_attr){0});
}
static gb_node *b_KMIN (int v) {
  gb_node *x = v < 2 ? in2(3, 8, -1, 1) : v == 2 ? in2(70, 301, -1, 1) : in1(2, -1, 1);
  gb_node *k = attr_node(GB_OP_KMIN, 1, &x, (gb_attr){.i = {0, v == 3 ? 4 : 3}});
  return BUILD(gb_pick, k, v % 2);
}

/* moving and ordering */

static gb_node *b_CAST (int v) {
  static const gb_dtype to[] = {GB_F32, GB_F64, GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_F64, GB_F32, GB_I32};
  gb_node *x = v == 6 ? ints(1, (size_t[]){9}, -50, 50) : v == 7 ? bools(1, 0) : in1(v == 0 ? 5 : 70, -9, 9);
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &x, NULL, NULL, to[v]);
}
/* Another device of the graph, with memory of its own. What is computed there comes back. */
static int second_device (void) {
  int number = 1;
  if (fx.g->nmore > 0) return number;
  OK(gb_device_add_simulated(fx.g->device, (size_t)1 << 28, &fx.err));
  OK(gb_graph_add_device(fx.g, fx.g->device->next, &number, &fx.err));
  return number;
}
static gb_node *b_MOVE (int v) {
  gb_node *x = v == 1 ? bools(1, 0) : v == 2 ? in2(70, 33, -9, 9) : v == 3 ? in1(0, -1, 1) : in1(5, -9, 9);
  gb_node *there = BUILD(gb_move, x, second_device());
  gb_node *y = BUILD(gb_map1, v == 1 ? GB_OP_NOT : GB_OP_NEG, there);
  return BUILD(gb_move, y, 0);
}
static gb_node *b_CAT (int v) {
  if (v == 0) return BUILD(gb_cat, 2, ((gb_node *[]){in2(2, 3, -1, 1), in2(1, 3, -1, 1)}), 0);
  gb_node *many[6];
  for (int i = 0; i < 6; i++) many[i] = in2(5, (size_t)(i == 2 ? 0 : 30 + i), -1, 1);
  return BUILD(gb_cat, 6, many, 1);
}
static gb_node *b_CUMSUM (int v) {
  gb_node *x = v < 2 ? in2(3, 4, -1, 1) : v == 2 ? in2(70, 33, -1, 1) : in1(0, -1, 1);
  return attr_node(GB_OP_CUMSUM, 1, &x, (gb_attr){.i = {v == 0 || v == 3 ? 0 : 1, v == 1}});
}
static gb_node *b_SORT (int v) {
  gb_node *x = v < 2 ? in2(3, 5, -1, 1) : in2(40, 33, -1, 1);
  return BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {v == 1 ? 0 : 1, v == 1, v == 4}}),
               v >= 3);
}
static gb_node *b_TOPK (int v) {
  gb_node *x = v < 2 ? in2(3, 5, -1, 1) : in2(40, 33, -1, 1);
  return BUILD(gb_pick, attr_node(GB_OP_TOPK, 1, &x, (gb_attr){.i = {1, 3, v != 1, v == 4}}), v >= 3);
}
static gb_node *b_INDEX (int v) {
  gb_node *in[2] = {v == 0 ? in2(5, 3, -1, 1) : in2(70, 9, -1, 1), ints(1, (size_t[]){v == 2 ? 0 : 7}, 1, 5)};
  return attr_node(GB_OP_INDEX, 2, in, (gb_attr){0});
}
static gb_node *put (gb_op op, int v) {
  gb_node *at = v == 0 ? leaf_of(GB_I64, 0, 1, (size_t[]){2}, (double[]){4, 2}, 0, 0)
                       : ints(1, (size_t[]){6}, 1, 9);
  gb_node *in[3] = {v == 0 ? in2(5, 2, -1, 1) : in2(9, 20, -1, 1), at,
                    v == 0 ? in2(2, 2, -1, 1) : in2(6, 20, -1, 1)};
  return attr_node(op, 3, in, (gb_attr){0});
}
static gb_node *b_PUT (int v) { return put(GB_OP_PUT, v == 1 ? 0 : v); }
static gb_node *b_INDEX_ADD (int v) { return put(GB_OP_INDEX_ADD, v); }
static gb_node *b_INDEX_MAX (int v) { return put(GB_OP_INDEX_MAX, v); }
static gb_node *b_INDEX_MIN (int v) { return put(GB_OP_INDEX_MIN, v); }

/* linear algebra; A = B B' + 2 I depends on one input and stays symmetric */

static gb_node *spd_of (gb_node *b) {
  const size_t n = gb_node_shape(b)->dim[0];
  return add(mm(b, tr(b)), mul(BUILD(gb_eye, fx.g, n, gb_node_dtype(b)), num(2)));
}
static const size_t sizes[] = {3, 1, 70, 0, 260};
static gb_node *spd (int v) { return spd_of(in2(sizes[v], sizes[v] < 9 ? sizes[v] + 1 : 5, -1, 1)); }
static gb_node *any_square (int v) {
  gb_node *a = in2(sizes[v], sizes[v], -1, 1);
  return add(a, mul(BUILD(gb_eye, fx.g, sizes[v], inputs.dtype), num(3 + (double)sizes[v] / 10)));
}
static gb_node *chol (int v) { return BUILD(gb_cholesky, spd(v), 0); }
static gb_node *rhs (int v) {
  return v == 0 ? in2(sizes[v], 2, -1, 1) : v == 2 ? in2(sizes[v], 33, -1, 1) : in1(sizes[v], -1, 1);
}
static gb_node *both (gb_op op, gb_node *a, gb_node *b, gb_attr attr) {
  return attr_node(op, 2, ((gb_node *[]){a, b}), attr);
}
/* Batches: of few matrices, of many small ones, small enough for differences, and of none; axes of 1 broadcast against right-hand sides. */
static gb_node *in_axes (int ndim, const size_t *dim) { return input_of(ndim, dim, -1, 1); }
static const size_t batches[][4] = {{3, 4, 4, 5}, {40, 1, 3, 4}, {2, 1, 2, 2}, {0, 1, 3, 3}};
enum { BATCHES = 4 };
static gb_node *batch_of (int v) { return in_axes(4, batches[v]); }
static gb_node *many_spd (int v) {
  gb_node *b = batch_of(v), *gram = mm(b, BUILD(gb_transpose, b));
  return add(gram, mul(BUILD(gb_eye, fx.g, batches[v][2], gb_node_dtype(b)), num(2)));
}
static gb_node *many_chol (int v) { return BUILD(gb_cholesky, many_spd(v), 0); }
static gb_node *many_general (int v) {
  const size_t *d = batches[v], n = d[2];
  return add(in_axes(4, (size_t[]){d[0], d[1], n, n}), mul(BUILD(gb_eye, fx.g, n, inputs.dtype), num(4)));
}
/* Fewer axes, more, and axes of 1. */
static gb_node *many_rhs (int v) {
  const size_t *d = batches[v], n = d[2];
  return v == 0   ? in_axes(2, (size_t[]){n, 2})
         : v == 1 ? in_axes(4, (size_t[]){1, 2, n, 1})
                  : in_axes(3, (size_t[]){d[1], n, 3});
}
static gb_node *tall_batch (int v) {
  gb_node *b = batch_of(v);
  return batches[v][2] < batches[v][3] ? BUILD(gb_transpose, b) : b;
}

static gb_node *b_CHOLESKY (int v) {
  if (v >= 6) return many_chol(v - 6);
  return v < 5 ? chol(v) : BUILD(gb_cholesky, spd(0), 0.5);
}
static gb_node *b_TRISOLVE (int v) {
  if (v >= 8 + BATCHES)
    return both(GB_OP_TRISOLVE, BUILD(gb_transpose, many_chol(v - 8 - BATCHES)), many_rhs(v - 8 - BATCHES),
                (gb_attr){.i = {1}});
  if (v >= 8) return both(GB_OP_TRISOLVE, many_chol(v - 8), many_rhs(v - 8), (gb_attr){0});
  gb_node *l = chol(v % 5);
  return both(GB_OP_TRISOLVE, v == 6 || v == 7 ? tr(l) : l, rhs(v % 5),
              (gb_attr){.i = {v == 6 || v == 7, v == 5 || v == 7}});
}
static gb_node *b_CHOL_INVERSE (int v) {
  return map1(GB_OP_CHOL_INVERSE, v < 5 ? chol(v) : many_chol(v - 5));
}
static gb_node *b_LOGDET (int v) { return map1(GB_OP_LOGDET, v < 5 ? chol(v) : many_chol(v - 5)); }
static gb_node *b_INV_QUAD (int v) {
  if (v == 5 + BATCHES)
    return both(GB_OP_INV_QUAD, chol(0), in_axes(4, (size_t[]){2, 1, 3, 2}), (gb_attr){0});
  return both(GB_OP_INV_QUAD, v < 5 ? chol(v) : many_chol(v - 5), v < 5 ? rhs(v) : many_rhs(v - 5),
              (gb_attr){0});
}
static gb_node *b_SOLVE_CHOL (int v) {
  if (v == 5 + BATCHES)
    return both(GB_OP_SOLVE_CHOL, chol(0), in_axes(4, (size_t[]){2, 1, 3, 2}), (gb_attr){0});
  return both(GB_OP_SOLVE_CHOL, v < 5 ? chol(v) : many_chol(v - 5), v < 5 ? rhs(v) : many_rhs(v - 5),
              (gb_attr){0});
}
static gb_node *b_LU_SOLVE (int v) {
  return both(GB_OP_LU_SOLVE, v < 5 ? any_square(v) : many_general(v - 5), v < 5 ? rhs(v) : many_rhs(v - 5),
              (gb_attr){0});
}
static gb_node *b_LU_LOGDET (int v) {
  return map1(GB_OP_LU_LOGDET, v < 5 ? any_square(v) : many_general(v - 5));
}
static gb_node *b_QR (int v) {
  if (v >= 4) return BUILD(gb_pick, map1(GB_OP_QR, tall_batch(v - 4)), v % 2);
  return BUILD(gb_pick, map1(GB_OP_QR, v < 2 ? in2(4, 3, -1, 1) : in2(130, 33, -1, 1)), v % 2);
}
static gb_node *b_EIGH (int v) {
  gb_node *a = v >= 4  ? many_spd(v - 4)
               : v < 2 ? spd(0)
                       : spd_of(in2(40, 40, -1, 1)),
          *e = map1(GB_OP_EIGH, a), *w = BUILD(gb_pick, e, 1);
  return v % 2 == 0 ? BUILD(gb_pick, e, 0) : map1(GB_OP_SQUARE, w); /* squares do not depend on the signs */
}
static gb_node *b_SVD (int v) {
  gb_node *a = v >= 6  ? batch_of(v - 6)
               : v < 3 ? in2(4, 3, -1, 1)
                       : in2(33, 50, -1, 1),
          *s = map1(GB_OP_SVD, a), *w = BUILD(gb_pick, s, v % 3);
  return v % 3 == 1 ? w : map1(GB_OP_SQUARE, w);
}

/* a registered op: y = 2 x, and its gradient */

static gb_status twice_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                            void *scratch, gb_error *err) {
  (void)ud;
  const size_t n = gb_shape_numel(&o->in_shape[0]);
  GB_TRY(gb_memory_fill(&g->device->memory, scratch, 1, 96, err));
  for (size_t i = 0; i < n; i++) set_handed_element(&out[0], i, 2 * handed_element(&in[0], i));
  return GB_OK;
}
static size_t twice_scratch (void *ud, const gb_opaque *o) {
  (void)ud, (void)o;
  return 96;
}
static gb_status twice_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need,
                             gb_node **in_bar, gb_error *err) {
  (void)ud, (void)y;
  return need[0] ? gb_scale(out_bar[0], 2, &in_bar[0], err) : GB_OK;
}
static gb_node *b_CALL (int v) {
  static const gb_call twice = {
      .name = "twice", .scratch_bytes = twice_scratch, .run = twice_run, .grad = twice_grad};
  gb_node *x = map1(GB_OP_SIN, v == 0 ? in1(5, -1, 1) : in2(9, 20, -1, 1));
  const gb_attr attr = {.i = {gb_call_register(&twice)}};
  return BUILD(gb_node_build, fx.g, GB_OP_CALL, 1, &x, &attr, gb_node_shape(x), inputs.dtype);
}
static gb_node *b_PICK (int v) { return b_SORT(v); }

const row rows[] = {
#define X(id, lo, hi, traits) {#id, b_##id, 7, (traits) | CHECKED, 0},
    UNARY(X)
#undef X
#define X(id, lo, hi, lo2, hi2, traits) {#id, b_##id, 8, (traits) | CHECKED, 0},
        BINARY(X)
#undef X
#define X(id, lo, hi, cases, traits) {#id, b_##id, cases, (traits) | CHECKED, 0},
            REDUCE(X)
#undef X
                {"NOT", b_NOT, 3, CHECKED, 0},
    {"AND", b_AND, 3, CHECKED, 0},
    {"OR", b_OR, 3, CHECKED, 0},
    {"WHERE", b_WHERE, 2, GRAD | CHECKED, 0},
    {"WITH_SLOPE", b_WITH_SLOPE, 4, GRAD | CHECKED, 0},
    {"POLYGAMMA", b_POLYGAMMA, 4, GRAD | CHECKED, 0},
    {"LEAF", b_LEAF, 2, GRAD | NANS | CHECKED, 0},
    {"CONST", b_CONST, 2, CHECKED, 0},
    {"RANGE", b_RANGE, 3, CHECKED, 0},
    {"EYE", b_EYE, 3, CHECKED, 0},
    {"RAND", b_RAND, 2, CHECKED, 0},
    {"RANDN", b_RANDN, 2, CHECKED, 0},
    {"SOBOL", b_SOBOL, 2, 0, 0},
    {"RANDPERM", b_RANDPERM, 2, 0, 0},
    {"RESHAPE", b_RESHAPE, 3, GRAD | NANS | CHECKED, 0},
    {"UNSQUEEZE", b_UNSQUEEZE, 2, GRAD | NANS | CHECKED, 0},
    {"SQUEEZE", b_SQUEEZE, 2, GRAD | NANS | CHECKED, 0},
    {"PERMUTE", b_PERMUTE, 2, GRAD | NANS | CHECKED, 0},
    {"EXPAND", b_EXPAND, 2, GRAD | NANS | CHECKED, 0},
    {"SLICE", b_SLICE, 4, GRAD | CHECKED, 0},
    {"DIAGONAL", b_DIAGONAL, 3, GRAD | NANS | CHECKED, 0},
    {"ANY", b_ANY, 3, CHECKED, 0},
    {"ALL", b_ALL, 3, CHECKED, 0},
    {"MATMUL", b_MATMUL, 10, GRAD | NANS | CHECKED, 0},
    {"GEMM", b_GEMM, 2, NANS | CHECKED | REWRITTEN, 0},
    {"SQDIST", b_SQDIST, 6, GRAD | NANS | CHECKED, 0},
    {"RADIAL", b_RADIAL, 12, GRAD | NANS | CHECKED, 0},
    {"DIFFMV", b_DIFFMV, 2, GRAD | NANS | CHECKED, 0},
    {"KMIN", b_KMIN, 4, GRAD | CHECKED, 0},
    {"CAST", b_CAST, 9, CHECKED | REWRITTEN, 0},
    {"MOVE", b_MOVE, 4, GRAD | CHECKED, 0},
    {"CAT", b_CAT, 2, GRAD | NANS | CHECKED, 0},
    {"CUMSUM", b_CUMSUM, 4, GRAD | NANS | CHECKED, 0},
    {"SORT", b_SORT, 5, GRAD | CHECKED, 0},
    {"TOPK", b_TOPK, 5, GRAD | CHECKED, 0},
    {"INDEX", b_INDEX, 3, GRAD | CHECKED, 0},
    {"PUT", b_PUT, 1, GRAD | CHECKED, 0},
    {"INDEX_ADD", b_INDEX_ADD, 2, GRAD | CHECKED, 0},
    {"INDEX_MAX", b_INDEX_MAX, 2, GRAD | CHECKED, 0},
    {"INDEX_MIN", b_INDEX_MIN, 2, GRAD | CHECKED, 0},
    {"CHOLESKY", b_CHOLESKY, 10, GRAD | CHECKED, 20},
    {"TRISOLVE", b_TRISOLVE, 16, GRAD | CHECKED, 20},
    {"CHOL_INVERSE", b_CHOL_INVERSE, 9, GRAD | CHECKED, 20},
    {"LOGDET", b_LOGDET, 9, GRAD | CHECKED, 20},
    {"INV_QUAD", b_INV_QUAD, 10, GRAD | CHECKED, 50},
    {"SOLVE_CHOL", b_SOLVE_CHOL, 10, GRAD | CHECKED, 50},
    {"LU_SOLVE", b_LU_SOLVE, 9, GRAD | CHECKED, 50},
    {"LU_LOGDET", b_LU_LOGDET, 9, GRAD | CHECKED, 20},
    {"QR", b_QR, 8, GRAD | CHECKED, 50},
    {"EIGH", b_EIGH, 8, GRAD | CHECKED, 100},
    {"SVD", b_SVD, 10, GRAD | CHECKED, 100},
    {"CALL", b_CALL, 2, GRAD, 0},
    {"PICK", b_PICK, 4, GRAD | CHECKED, 0},
};
const size_t nrows = sizeof rows / sizeof rows[0];
