/* plan_random_lazy.c - steps that become folds. */
#include "support/random/plan_random_lazy.h"

/* what ops need of an operand */

gb_node *nonempty (gb_node *x) { return numel(x) > 0 && rank(x) > 0 ? x : vector_leaf(some_extent() + 1); }
gb_node *with_axes (gb_node *x) { return rank(x) > 0 ? x : vector_leaf(some_extent()); }
int an_axis (const gb_node *x) { return (int)choice((size_t)rank(x)); }

gb_node *op_node (gb_op op, int nin, gb_node *const *in, gb_attr attr) {
  return attr_node(op, nin, in, attr);
}
gb_node *op1 (gb_op op, gb_node *x, gb_attr attr) { return op_node(op, 1, &x, attr); }
gb_node *op2 (gb_op op, gb_node *x, gb_node *y, gb_attr attr) {
  return op_node(op, 2, ((gb_node *[]){x, y}), attr);
}
gb_node *picked (gb_node *x, int output) { return BUILD(gb_pick, x, output); }

gb_node *generated (gb_op op, int ndim, const size_t *dims, gb_dtype t, gb_attr attr) {
  const gb_shape s = gb_shape_of(ndim, dims);
  return BUILD(gb_node_build, fx.g, op, 0, NULL, &attr, &s, t);
}
gb_attr stream (void) { return (gb_attr){.i = {7, made.made++}}; }
gb_node *square_eye (size_t n) { return BUILD(gb_eye, fx.g, n, made.dtype); }
static gb_node *converted (gb_node *x, gb_dtype t) {
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &x, NULL, NULL, t);
}

/* elementwise */

/* lo < hi: the op's domain. */
typedef struct domain {
  gb_op op;
  double lo, hi;
  bool grows;
} domain;

static domain domain_of (gb_op op) {
  static const domain known[] = {
      {GB_OP_SQUARE, 0, 0, true},     {GB_OP_RECIP, 0.4, 2, false},   {GB_OP_SQRT, 0.2, 4, false},
      {GB_OP_RSQRT, 0.3, 4, false},   {GB_OP_EXP, 0, 0, true},        {GB_OP_EXPM1, 0, 0, true},
      {GB_OP_LOG, 0.2, 5, false},     {GB_OP_LOG1P, -0.5, 3, false},  {GB_OP_TAN, -1.2, 1.2, false},
      {GB_OP_ASIN, -0.9, 0.9, false}, {GB_OP_ACOS, -0.9, 0.9, false}, {GB_OP_LOG_NDTR, 0, 0, true},
      {GB_OP_LGAMMA, 0.3, 6, false},  {GB_OP_DIGAMMA, 0.3, 6, false}, {GB_OP_TRIGAMMA, 0.3, 6, false},
      {GB_OP_ADD, 0, 0, true},        {GB_OP_SUB, 0, 0, true},        {GB_OP_MUL, 0, 0, true},
      {GB_OP_DIV, 0.5, 2, true},      {GB_OP_IDIV, 0.7, 2, true},     {GB_OP_MOD, 0.7, 2, false}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (known[i].op == op) return known[i];
  return (domain){op, 0, 0, false};
}

static bool whole_too (gb_op op) {
  switch (op) {
    case GB_OP_NEG:
    case GB_OP_ABS:
    case GB_OP_SIGN:
    case GB_OP_FLOOR:
    case GB_OP_SQUARE:
    case GB_OP_RELU:
    case GB_OP_ADD:
    case GB_OP_SUB:
    case GB_OP_MUL:
    case GB_OP_MAXIMUM:
    case GB_OP_MINIMUM: return true;
    default: return false;
  }
}

/* Integers stay below 41 in magnitude. */
static void make_whole (gb_op op, int inputs_of_op) {
  gb_node *x = any_whole(), *modulus = BUILD(gb_node_const, fx.g, 41, GB_I64);
  gb_node *y = inputs_of_op == 2 ? partner_of(x, made.whole, made.nwhole, modulus) : NULL;
  gb_node *z = y != NULL ? map2(op, x, y) : map1(op, x);
  keep(map2(GB_OP_MOD, z, modulus), false);
}

void make_map1 (gb_op op) {
  if (whole_too(op) && choice(5) == 4) {
    make_whole(op, 1);
    return;
  }
  const domain d = domain_of(op);
  gb_node *x = any_float();
  if (d.lo < d.hi) x = within(x, d.lo, d.hi);
  keep(map1(op, x), d.grows);
}

void make_map2 (gb_op op) {
  if (op == GB_OP_POLYGAMMA) {
    keep(map2(op, number_node(1), within(any_float(), 0.3, 6)), false);
    return;
  }
  if (whole_too(op) && choice(5) == 4) {
    make_whole(op, 2);
    return;
  }
  const domain d = domain_of(op);
  gb_node *x = any_float(), *y = partner(x);
  if (d.lo < d.hi) y = within(y, d.lo, d.hi);
  keep(map2(op, x, y), d.grows);
}

void make_pow (void) {
  gb_node *x = any_float(), *y = partner(x);
  keep(map2(GB_OP_POW, within(x, 0.3, 2), y), true);
}

void make_test (gb_op op) {
  gb_node *x = choice(4) == 3 ? any_whole() : any_float();
  const bool whole = gb_dtype_is_whole(gb_node_dtype(x));
  gb_node *y = whole ? partner_of(x, made.whole, made.nwhole, x) : partner(x);
  keep(map2(op, x, y), false);
}

void make_logic (gb_op op) {
  gb_node *x = any_truth(), *y = partner_of(x, made.truth, made.ntruth, x);
  keep(op == GB_OP_NOT ? map1(op, x) : map2(op, x, y), false);
}

void make_where (void) {
  gb_node *c = any_truth(), *a = partner(c), *b = map1(GB_OP_SIN, a);
  keep(BUILD(gb_map3, GB_OP_WHERE, c, a, choice(2) ? b : number_node(0.25)), false);
}

void make_with_slope (void) {
  gb_node *x = any_float();
  keep(BUILD(gb_map3, GB_OP_WITH_SLOPE, map1(GB_OP_SIN, x), x, map1(GB_OP_COS, x)), false);
}

void make_cast (void) {
  static const gb_dtype types[] = {GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_F32, GB_F64, GB_I32};
  gb_node *x = any_float(), *y = converted(x, types[choice(7)]);
  keep(y, false);
  if (gb_node_dtype(y) != made.dtype) keep(converted(y, made.dtype), false);
}

/* generators */

void make_generator (gb_op op) {
  const size_t n = some_extent(), dims[2] = {n, some_extent()};
  switch (op) {
    case GB_OP_LEAF: {
      gb_node *x = leaf_like(made.dtype, 2, dims, 0);
      keep(x, false);
      if (choice(2)) keep(alias_of(x), false);
      return;
    }
    case GB_OP_CONST: keep(add(any_float(), number_node(0.5)), true); return;
    case GB_OP_RANGE:
      keep(generated(op, 1, &n, GB_I64, (gb_attr){.i = {1, 1}}), false);
      keep(generated(op, 1, &n, made.dtype, (gb_attr){.f = {-1, 1.0 / 512}}), false);
      return;
    case GB_OP_EYE: keep(generated(op, 2, dims, made.dtype, (gb_attr){0}), false); return;
    case GB_OP_RANDN: keep(generated(op, 2, dims, made.dtype, stream()), false); return;
    case GB_OP_RANDPERM: keep(generated(op, 1, &n, GB_I64, stream()), false); return;
    case GB_OP_SOBOL:
      keep(generated(op, 2, (size_t[]){n, 1 + choice(4)}, made.dtype, stream()), false);
      return;
    default: keep(generated(op, 2, dims, made.dtype, stream()), false); return;
  }
}

/* views */

static gb_node *any_value (void) {
  const size_t which = choice(8);
  return which == 6 ? any_whole() : which == 7 ? any_truth() : any_float();
}

static void make_reshape (void) {
  gb_node *x = any_value();
  const size_t n = numel(x), a = n % 2 == 0 && n > 0 ? 2 : 1;
  const gb_shape flat_shape = gb_shape_of(1, &n), split = gb_shape_of(3, (size_t[]){a, n / a, 1});
  keep(BUILD(gb_reshape, x, choice(2) ? &split : &flat_shape), false);
}

static void make_squeeze (void) {
  gb_node *x = any_value();
  for (int a = 0; a < rank(x); a++)
    if (dim(x, a) == 1) {
      keep(sq(x, a), false);
      return;
    }
  keep(sq(leaf_like(made.dtype, 3, (size_t[]){some_extent(), 1, some_extent()}, 0), 1), false);
}

static void make_permute (void) {
  gb_node *x = any_value();
  int axes[GB_MAXDIM];
  for (int a = 0; a < rank(x); a++) axes[a] = a;
  for (int a = rank(x) - 1; a > 0; a--) {
    const int b = (int)choice((size_t)a + 1), t = axes[a];
    axes[a] = axes[b];
    axes[b] = t;
  }
  if (rank(x) == 2 && choice(2)) axes[0] = 1, axes[1] = 0;
  keep(BUILD(gb_permute, x, axes), false);
}

static void make_expand (void) {
  gb_node *x = any_value();
  gb_shape s = *gb_node_shape(x);
  if (s.ndim > 3 || numel(x) == 0) x = leaf_like(made.dtype, 1, (size_t[]){3}, 0), s = *gb_node_shape(x);
  gb_shape to = {.ndim = s.ndim + 1};
  to.dim[0] = least(some_extent(), LARGE / numel(x));
  memcpy(to.dim + 1, s.dim, (size_t)s.ndim * sizeof *s.dim);
  keep(BUILD(gb_expand, x, &to), false);
}

static void make_slice (void) {
  gb_node *x = any_value();
  if (rank(x) == 0 || numel(x) == 0) x = vector_leaf(1 + some_extent());
  const int axis = an_axis(x);
  const size_t n = dim(x, axis), k = 1 + choice(n), start = choice(n - k + 1);
  switch (choice(6)) {
    case 1: keep(BUILD(gb_flip, x, axis), false); return;
    case 2: keep(BUILD(gb_slice, x, axis, n - 1, -2, (n + 1) / 2), false); return;
    case 3: keep(BUILD(gb_slice, x, axis, 0, 2, (n + 1) / 2), false); return;
    case 4: keep(BUILD(gb_select, x, axis, start), false); return;
    default: keep(BUILD(gb_slice, x, axis, start, 1, choice(30) == 29 ? 0 : k), false); return;
  }
}

void make_view (gb_op op) {
  switch (op) {
    case GB_OP_RESHAPE: make_reshape(); return;
    case GB_OP_UNSQUEEZE: {
      gb_node *x = any_value();
      keep(rank(x) < 5 ? unsq(x, (int)choice((size_t)rank(x) + 1)) : x, false);
      return;
    }
    case GB_OP_SQUEEZE: make_squeeze(); return;
    case GB_OP_PERMUTE: make_permute(); return;
    case GB_OP_EXPAND: make_expand(); return;
    case GB_OP_SLICE: make_slice(); return;
    case GB_OP_DIAGONAL: keep(op1(op, matrix(0, 300), (gb_attr){0}), false); return;
    default:
      keep(picked(op1(GB_OP_SORT, with_axes(any_float()), (gb_attr){0}), (int)choice(2)), false);
      return;
  }
}

/* reductions */

void make_reduce (gb_op op) {
  const bool logic = op == GB_OP_ANY || op == GB_OP_ALL;
  gb_node *x = logic                                                         ? any_truth()
               : choice(9) == 8 && op != GB_OP_LOGSUMEXP && op != GB_OP_PROD ? any_whole()
                                                                             : any_float();
  if (!logic) x = nonempty(x);
  if (op == GB_OP_PROD) x = within(x, 0.9, 1.1);
  const unsigned mask = (unsigned)choice((size_t)1 << rank(x)); /* 0: all */
  gb_node *y = BUILD(gb_reduce, op, x, mask, choice(2) == 1);
  if (gb_node_dtype(y) == GB_I64) y = map2(GB_OP_MOD, y, BUILD(gb_node_const, fx.g, 41, GB_I64));
  keep(y, true);
}

void make_kmin (void) {
  gb_node *x = nonempty(any_float());
  gb_node *y = op1(GB_OP_KMIN, x, (gb_attr){.i = {0, 1 + (int64_t)choice(5)}});
  keep(picked(y, 0), true);
  keep(picked(y, 1), false);
}

/* contractions */

void make_matmul (void) {
  gb_node *x = matrix(0, 300), *y = matrix_with(0, dim(x, 1), 130);
  switch (choice(6)) {
    case 1: keep(mm(x, float_of(1, dim(x, 1), dim(x, 1))), true); return;
    case 2: keep(mm(x, tr(x)), true); return;
    case 3: keep(mm(unsq(x, 0), y), true); return;
    case 4: keep(BUILD(gb_einsum, fx.g, "ij,jk->ki", 2, ((gb_node *[]){x, y})), true); return;
    default: keep(mm(x, y), true); return;
  }
}

void make_gemm (void) {
  const size_t n = some_extent(), k = some_extent(), m = some_extent();
  keep(mm(matrix_leaf(n, k), matrix_leaf(k, m)), true);
}

/* A squared distance as the op or as users write it. */
static gb_node *distance (gb_node *x, gb_node *y) {
  if (dim(x, 1) > 65 || choice(3) < 2)
    return dist(x, y, choice(4) == 3 ? within(vector_leaf(dim(x, 1)), 0.5, 2) : NULL);
  return sum_axis(square(sub(unsq(x, 1), unsq(y, 0))), 2);
}

static gb_node *points (void) { return matrix(0, 130); }

void make_sqdist (void) {
  gb_node *x = points();
  keep(distance(x, choice(3) == 2 ? x : matrix_with(1, dim(x, 1), 130)), true);
}

/* A scalar in (0.4, 2). */
static gb_node *scale_leaf (void) { return within(leaf_like(made.dtype, 0, NULL, 0), 0.4, 2); }

gb_node *covariance (gb_node *x, gb_node *y) {
  const gb_profile p = (gb_profile)choice(GB_NPROFILES);
  gb_node *s = distance(x, y), *c = choice(2) ? scale_leaf() : number_node(0.7);
  return BUILD(gb_radial, p, s, c, p == GB_RQ ? scale_leaf() : NULL);
}

void make_radial (void) {
  gb_node *x = points(), *k = covariance(x, choice(3) == 2 ? x : matrix_with(1, dim(x, 1), 130));
  keep(k, false);
  if (choice(2)) keep(mm(k, matrix_with(0, dim(k, 1), 17)), true);
}

void make_diffmv (void) {
  gb_node *x = points(), *y = matrix_with(1, dim(x, 1), 130);
  gb_node *w = choice(2) ? covariance(x, y) : matrix_leaf(dim(x, 0), dim(y, 0));
  keep(op_node(GB_OP_DIFFMV, 3, ((gb_node *[]){w, x, y}), (gb_attr){0}), true);
}
