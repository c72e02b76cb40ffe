/* test_fold_proofs.c - random legal expressions over two or three long axes: at 200,000 indices an axis
** each is planned and streams, no buffer larger than a few numbers an index; the same expressions over
** short axes have the oracle's values. */
#include "support/graph/reference.h"
#include "support/plan/lower_fixture.h"

#define EXPRESSIONS 1000
#define LONG_P 400 /* a long axis has LONG_P * LONG_Q indices */
#define LONG_Q 500
#define WIDE 96 /* most numbers an index of a long axis that a value may have */
#define ROOM                                                                                                 \
  (20 * GB_SUPER) /* and all memory: windows of staged values, as long as the chains of sums, and scratch */
#define LEAST 15  /* times that every op must have been used */
#define LEAST_TWO 900  /* expressions that must visit pairs of indices of long axes, */
#define LEAST_THREE 50 /* and triples */

static uint64_t draw_seed, drawn;
static int used[GB_NOPS], failures;

#define COMPLAIN(...) (failures++ < 20 ? print_message(__VA_ARGS__) : (void)0)

/* GIBBOUS_FIRST_SEED tries others. */
static uint64_t first_seed (void) {
  const char *text = getenv("GIBBOUS_FIRST_SEED");
  return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static size_t draw (size_t below) {
  uint32_t w[4];
  gb_philox(draw_seed, 23, drawn++, w);
  return w[0] % below;
}
static bool chance (size_t one_in) { return draw(one_in) == 0; }

/* Values and their axes */

/* A long axis is 0, 1 or 2; 3, 4, 5 are every second index of these, backwards. A short one is minus its
** extent. */
typedef struct val {
  gb_node *n;
  int nd, axis[6];
} val;

#define AXES 6
#define SAVED 8

static struct {
  bool planned; /* long axes, nothing has a value */
  bool smooth;  /* no steps: values are compared loosely */
  /* so parts of pairs are cut out as numbers: the gradient of a cut is as large as the pairs */
  bool differentiated;
  gb_dtype dtype;
  size_t p[3], q[3];
  int d, r; /* features, right-hand sides */
  gb_node *vector[3], *points[3], *columns[3], *scalar, *weights, *leaf[11];
  int nleaves;
  val saved[AXES][SAVED]; /* results over one axis, to build on */
  int nsaved[AXES];
} now;

static size_t extent_of (int axis) {
  if (axis < 0) return (size_t)-axis;
  const size_t n = now.p[axis % 3] * now.q[axis % 3];
  return axis < 3 ? n : (n + 1) / 2;
}

static val value (gb_node *n, int nd, int a, int b, int c) { return (val){n, nd, {a, b, c}}; }

static gb_node *leaf (int nd, size_t n, size_t m, double lo, double hi) {
  const size_t dim[] = {n, m};
  return now.leaf[now.nleaves++] = now.planned ? empty_of(now.dtype, nd, dim) : input_of(nd, dim, lo, hi);
}

static void make_leaves (void) {
  now.nleaves = 0;
  memset(now.nsaved, 0, sizeof now.nsaved);
  for (int a = 0; a < 3; a++) {
    now.vector[a] = leaf(1, extent_of(a), 0, -1, 1);
    now.points[a] = leaf(2, extent_of(a), (size_t)now.d, -1, 1);
    now.columns[a] = leaf(2, extent_of(a), (size_t)now.r, -1, 1);
  }
  now.scalar = leaf(0, 0, 0, 0.5, 1.5);
  now.weights = leaf(1, (size_t)now.d, 0, 0.5, 1.5);
}

/* Every second row, backwards, for axes 3 to 5. */
static gb_node *along (gb_node *n, int dim, int axis) {
  return axis < 3 ? n : BUILD(gb_slice, n, dim, extent_of(axis % 3) - 1, -2, extent_of(axis));
}

/* Numbers */

static gb_node *plus (gb_node *x, double c) { return add(x, num(c)); }
static gb_node *times (gb_node *x, double c) { return mul(x, num(c)); }
static gb_node *tame (gb_node *x) {
  switch (draw(4)) {
    case 0: return map1(GB_OP_SIN, x);
    case 1: return map1(GB_OP_TANH, x);
    case 2: return map1(GB_OP_ATAN, x);
    default: return map1(GB_OP_COS, x);
  }
}

/* Any op of one input, on values of about -1.5 to 1.5. */
static gb_node *unary (gb_node *x) {
  static const gb_op any[] = {
      GB_OP_NEG,      GB_OP_ABS,    GB_OP_SQUARE,     GB_OP_EXP,      GB_OP_EXPM1,      GB_OP_SIN, GB_OP_COS,
      GB_OP_ATAN,     GB_OP_TANH,   GB_OP_SIGMOID,    GB_OP_SOFTPLUS, GB_OP_RELU,       GB_OP_ERF, GB_OP_NDTR,
      GB_OP_LOG_NDTR, GB_OP_DETACH, GB_OP_NDTR_RATIO, GB_OP_NDTR_GAP, GB_OP_NDTR_SPREAD};
  static const gb_op positive[] = {GB_OP_LOG,    GB_OP_SQRT,    GB_OP_RSQRT, GB_OP_RECIP,
                                   GB_OP_LGAMMA, GB_OP_DIGAMMA, GB_OP_LOG1P};
  static const gb_op inside[] = {GB_OP_ASIN, GB_OP_ACOS, GB_OP_TAN};
  static const gb_op steps[] = {GB_OP_SIGN, GB_OP_FLOOR, GB_OP_CEIL, GB_OP_ROUND};
  if (chance(20)) return BUILD(gb_map3, GB_OP_WITH_SLOPE, map1(GB_OP_SIN, x), x, map1(GB_OP_COS, x));
  switch (draw(now.smooth ? 5 : 6)) {
    case 0:
    case 1: return map1(any[draw(sizeof any / sizeof any[0])], x);
    case 2:
    case 3: return map1(positive[draw(7)], plus(map1(GB_OP_SQUARE, x), 0.7));
    case 4:
      return chance(12)  ? map2(GB_OP_POLYGAMMA, num(2), map1(GB_OP_DETACH, plus(square(x), 0.9)))
             : chance(8) ? map1(GB_OP_TRIGAMMA, map1(GB_OP_DETACH, plus(square(x), 0.9)))
                         : map1(inside[draw(3)], times(map1(GB_OP_SIN, x), 0.8));
    default: return map1(steps[draw(4)], plus(times(x, 2.7), 0.1381));
  }
}

static gb_node *compare (gb_node *x, gb_node *y) {
  static const gb_op ops[] = {GB_OP_LT, GB_OP_LE, GB_OP_GT, GB_OP_GE, GB_OP_EQ, GB_OP_NE};
  gb_node *c = map2(ops[draw(6)], x, plus(y, 0.0173));
  switch (draw(6)) {
    case 0: return map1(GB_OP_NOT, c);
    case 1: return map2(GB_OP_AND, c, map1(GB_OP_ISFINITE, x));
    case 2: return map2(GB_OP_OR, map1(GB_OP_ISNAN, y), c);
    default: return c;
  }
}

static gb_node *binary (gb_node *x, gb_node *y) {
  static const gb_op ops[] = {GB_OP_ADD, GB_OP_SUB, GB_OP_MUL, GB_OP_MAXIMUM, GB_OP_MINIMUM};
  switch (draw(now.smooth ? 7 : 9)) {
    case 5: return map2(GB_OP_DIV, x, plus(square(y), 0.8));
    case 6: return map2(GB_OP_POW, plus(square(x), 0.6), y);
    case 7:
      return chance(2) ? map2(GB_OP_IDIV, plus(x, 0.0119), plus(square(y), 0.7))
                       : map2(GB_OP_MOD, plus(x, 0.0119), plus(square(y), 0.7));
    case 8: return BUILD(gb_map3, GB_OP_WHERE, compare(x, y), x, times(y, 0.7));
    default: return map2(ops[draw(5)], x, y);
  }
}

/* One axis */

static gb_node *range_of (int axis) {
  const gb_shape s = gb_shape_of(1, (size_t[]){extent_of(axis)});
  const gb_attr attr = {.f = {0.5, 1.0 / (double)extent_of(axis)}};
  return BUILD(gb_node_build, fx.g, GB_OP_RANGE, 0, NULL, &attr, &s, now.dtype);
}

static gb_node *random_of (int nd, const int *axis) {
  size_t dim[3];
  for (int i = 0; i < nd; i++) dim[i] = extent_of(axis[i]);
  const gb_shape s = gb_shape_of(nd, dim);
  const gb_attr attr = {.i = {5, (int64_t)draw(9)}};
  return BUILD(gb_node_build, fx.g, chance(2) ? GB_OP_RAND : GB_OP_RANDN, 0, NULL, &attr, &s, now.dtype);
}

static gb_node *vector_of (int axis) {
  if (now.nsaved[axis] > 0 && chance(3)) return now.saved[axis][draw((size_t)now.nsaved[axis])].n;
  switch (draw(6)) {
    case 0: return range_of(axis);
    case 1: return BUILD(gb_select, along(now.points[axis % 3], 0, axis), 1, draw((size_t)now.d));
    case 2: return BUILD(gb_flip, along(now.vector[axis % 3], 0, axis), 0);
    case 3: return random_of(1, &axis);
    default: return along(now.vector[axis % 3], 0, axis);
  }
}

/* (axis, features) */
static gb_node *points_of (int axis) {
  gb_node *x = along(now.points[axis % 3], 0, axis);
  switch (draw(5)) {
    case 0: return mul(x, now.weights);
    case 1: return dvd(x, now.scalar);
    case 2: return BUILD(gb_flip, x, 1);
    case 3: return unary(x);
    default: return x;
  }
}

/* Two axes */

static gb_node *profile_of (gb_node *s) {
  const gb_profile p = (gb_profile)draw(GB_NPROFILES);
  return radial(p, s, chance(2) ? now.scalar : num(0.8), p == GB_RQ ? now.scalar : NULL);
}

static gb_node *distance_of (int a, int b) {
  gb_node *s = dist(points_of(a), points_of(b), chance(3) ? now.weights : NULL);
  switch (draw(4)) {
    case 0: return map1(GB_OP_SQRT, plus(s, 0.1));
    case 1: return map1(GB_OP_RECIP, plus(s, 1));
    default: return profile_of(s);
  }
}

/* A reduction over the features of all pairs, written out. */
static gb_node *over_features (int a, int b) {
  static const gb_op ops[] = {GB_OP_SUM,       GB_OP_MAX, GB_OP_MIN, GB_OP_PROD,
                              GB_OP_LOGSUMEXP, GB_OP_ANY, GB_OP_ALL};
  gb_node *t = binary(unsq(points_of(a), 1), unsq(points_of(b), 0));
  const gb_op op = ops[draw(now.smooth ? 5 : 7)];
  if (op == GB_OP_ANY || op == GB_OP_ALL) {
    gb_node *c = BUILD(gb_reduce, op, compare(t, num(op == GB_OP_ANY ? 0.5 : -0.5)), 1u << 2, false);
    return BUILD(gb_map3, GB_OP_WHERE, c, unsq(vector_of(a), 1), unsq(vector_of(b), 0));
  }
  if (op == GB_OP_PROD) t = plus(times(tame(t), 0.3), 1);
  return BUILD(gb_reduce, op, t, 1u << 2, chance(2));
}

static gb_node *drop_ones (gb_node *n, int nd) {
  while (gb_node_shape(n)->ndim > nd) n = sq(n, gb_node_shape(n)->ndim - 1);
  return n;
}

static gb_node *identity (int a) { return BUILD(gb_eye, fx.g, extent_of(a), now.dtype); }

/* A batch of two kernels of moved points, summed over the batch. */
static gb_node *batched (int a, int b) {
  gb_node *shift = leaf_of(now.dtype, 0, 3, (size_t[]){2, 1, 1}, (double[]){0.1, -0.2}, 0, 0);
  gb_node *x = add(unsq(points_of(a), 0), shift),
          *y = chance(2) ? points_of(b) : mul(unsq(points_of(b), 0), shift);
  return sum_axis(profile_of(dist(x, y, NULL)), 0);
}

static val tile (int a, int b) {
  gb_node *n;
  switch (draw(8)) {
    case 0:
    case 1: n = distance_of(a, b); break;
    case 2: n = times(mm(points_of(a), tr(points_of(b))), 0.4); break;
    case 3: n = binary(unsq(vector_of(a), 1), unsq(vector_of(b), 0)); break;
    case 4: n = drop_ones(over_features(a, b), 2); break;
    case 5: n = batched(a, b); break;
    case 6: n = mul(random_of(2, (int[]){a, b}), unsq(vector_of(b), 0)); break;
    default:
      n = a == b ? add(times(identity(a), 0.5), distance_of(a, b))
                 : sub(unsq(range_of(a), 1), unsq(range_of(b), 0));
  }
  return value(tame(n), 2, a, b, 0);
}

/* Three axes at once: a product of two tiles, or a sum over the middle one. */
static val through (int a, int b, int c) {
  if (chance(2)) {
    const val s = tile(a, b), t = tile(b, c);
    return value(tame(times(mm(s.n, t.n), 0.2)), 2, a, c, 0);
  }
  gb_node *u = binary(unsq(unsq(vector_of(a), 1), 2), unsq(unsq(vector_of(b), 0), 2));
  gb_node *t = binary(tame(u), unsq(unsq(vector_of(c), 0), 0));
  return value(tame(times(BUILD(gb_reduce, chance(2) ? GB_OP_SUM : GB_OP_MAX, t, 2, false), 0.2)), 2, a, c,
               0);
}

/* Another tile over the same axes, or over them exchanged. */
static val vary (val t) {
  const int a = t.axis[0], b = t.axis[1];
  switch (draw(7)) {
    case 0: t.n = tame(unary(t.n)); break;
    case 1: t.n = tame(binary(t.n, tile(a, b).n)); break;
    case 2: t.n = tame(binary(t.n, chance(2) ? unsq(vector_of(a), 1) : unsq(vector_of(b), 0))); break;
    case 3: t.n = tame(binary(t.n, now.scalar)); break;
    case 4: t = value(tr(t.n), 2, b, a, 0); break;
    case 5:
      if (now.differentiated) t.n = map1(GB_OP_DETACH, t.n);
      if (a < 3) t = value(BUILD(gb_slice, t.n, 0, extent_of(a) - 1, -2, extent_of(a + 3)), 2, a + 3, b, 0);
      break;
    default: t.n = BUILD(gb_flip, t.n, 1); break;
  }
  return t;
}

/* From two axes to one */

static gb_node *reduced (gb_node *t, int dim) {
  static const gb_op ops[] = {GB_OP_SUM, GB_OP_SUM, GB_OP_MAX, GB_OP_MIN, GB_OP_LOGSUMEXP};
  const unsigned mask = 1u << dim;
  switch (draw(now.smooth ? 8 : 10)) {
    case 0: return BUILD(gb_mean, t, mask, false);
    case 1: return BUILD(gb_var, t, mask, false, 1);
    case 2: return BUILD(gb_norm, t, mask, false, 2);
    case 3: return BUILD(gb_reduce, GB_OP_PROD, plus(times(t, 0.05), 1), mask, false);
    case 8: {
      gb_node *c = BUILD(gb_reduce, chance(2) ? GB_OP_ANY : GB_OP_ALL, compare(t, num(0.9)), mask, true);
      return sum_axis(BUILD(gb_map3, GB_OP_WHERE, c, t, times(t, 0.5)), dim);
    }
    default: return BUILD(gb_reduce, ops[draw(5)], t, mask, false);
  }
}

static gb_node *difference_product (const val *t) {
  gb_node *in[3] = {t->n, points_of(t->axis[0]), points_of(t->axis[1])};
  return sum_axis(attr_node(GB_OP_DIFFMV, 3, in, (gb_attr){0}), 1);
}

/* Its long axes as two each, some of which are summed before the rest. */
static gb_node *split (const val *t) {
  const int a = t->axis[0] % 3;
  const gb_shape s = gb_shape_of(3, (size_t[]){now.p[a], now.q[a], extent_of(t->axis[1])});
  gb_node *u = BUILD(gb_reshape, t->n, &s);
  gb_node *w = sum_axis(mul(u, unsq(unsq(vector_of(t->axis[1]), 0), 0)), 2);
  const gb_shape flat = gb_shape_of(1, (size_t[]){now.p[a] * now.q[a]});
  if (chance(2)) return BUILD(gb_reshape, w, &flat);
  gb_node *part = unsq(BUILD(gb_reduce, GB_OP_MAX, u, 1u << 1 | 1u << 2, false), 1);
  return BUILD(gb_reshape, tame(binary(w, part)), &flat);
}

/* The whole tile as one long axis, and back: as many pairs, read in row-major order. */
static gb_node *flattened (const val *t) {
  const size_t n = extent_of(t->axis[0]), m = extent_of(t->axis[1]);
  const gb_shape flat = gb_shape_of(1, (size_t[]){n * m}), square = gb_shape_of(2, (size_t[]){n, m});
  gb_node *f = tame(unary(BUILD(gb_reshape, t->n, &flat)));
  if (chance(2)) return add(vector_of(t->axis[0]), times(sum_all(f), 1e-3));
  return sum_axis(BUILD(gb_reshape, f, &square), 1);
}

/* Positions and lists of the smallest: made of values without ties; not differentiated. */
static gb_node *selected (const val *t) {
  gb_node *noise = random_of(2, t->axis), *u = map1(GB_OP_DETACH, add(t->n, times(noise, 0.1)));
  if (chance(2)) {
    gb_node *k = attr_node(GB_OP_KMIN, 1, &u, (gb_attr){.i = {0, 3}});
    return sum_axis(map1(GB_OP_DETACH, BUILD(gb_pick, k, 0)), 1);
  }
  return BUILD(gb_reduce, chance(2) ? GB_OP_ARGMIN : GB_OP_ARGMAX, u, 2, false);
}

/* Over the first axis of the tile. */
static gb_node *collapse (const val *t) {
  const int a = t->axis[0], b = t->axis[1];
  gb_node *v = vector_of(b), *w = along(now.columns[b % 3], 0, b);
  switch (draw(12)) {
    case 0:
    case 1: return mm(t->n, v);
    case 2: return sum_axis(mm(t->n, w), 1);
    case 3: return BUILD(gb_reduce, GB_OP_MAX, mm(tr(w), tr(t->n)), 1, false);
    case 4: return sum_axis(mul(t->n, unsq(v, 0)), 1);
    case 5: return difference_product(t);
    case 6: return a < 3 ? split(t) : reduced(t->n, 1);
    case 7: return flattened(t);
    case 8: return now.smooth ? reduced(t->n, 1) : selected(t);
    case 9: return mm(BUILD(gb_softmax, t->n, 1), v);
    case 10:
      if (a == b) return attr_node(GB_OP_DIAGONAL, 1, (gb_node *[]){t->n}, (gb_attr){0});
      return BUILD(gb_einsum, fx.g, "ij,j->i", 2, ((gb_node *const[]){t->n, v}));
    default: return reduced(t->n, 1);
  }
}

/* The whole */

#define MOST_OUTPUTS 8

static void keep (gb_node *n, int axis, gb_node **out, int *nout) {
  out[(*nout)++] = n;
  if (!gb_dtype_is_float(gb_node_dtype(n)) || now.nsaved[axis] == SAVED) return;
  now.saved[axis][now.nsaved[axis]++] = value(tame(n), 1, axis, 0, 0);
}

static void differentiate (gb_node **out, int *nout) {
  gb_node *loss = NULL, *xs[3], *gradient[3];
  for (int i = 0; i < *nout; i++) {
    if (!gb_dtype_is_float(gb_node_dtype(out[i]))) continue;
    gb_node *part = sum_all(tame(out[i]));
    loss = loss == NULL ? part : add(loss, part);
  }
  if (loss == NULL) return;
  const size_t first = draw((size_t)now.nleaves), n = 1 + draw(3);
  for (size_t i = 0; i < n; i++) xs[i] = now.leaf[(first + 4 * i) % (size_t)now.nleaves];
  OK(gb_grad(loss, NULL, n, xs, true, gradient, &fx.err));
  for (size_t i = 0; i < n; i++) out[(*nout)++] = hold(GB_OK, gradient[i]);
  if (chance(2)) out[(*nout)++] = loss;
}

/* Builds expression 'seed'; the same choices for all sizes. Returns the number of outputs. */
static int build (uint64_t seed, gb_node **out) {
  int nout = 0;
  draw_seed = seed;
  drawn = 0;
  now.d = (int[]){1, 2, 3, 5}[draw(4)];
  now.r = (int[]){1, 2, 4}[draw(3)];
  now.smooth = seed % 4 == 0;
  now.differentiated = !chance(3);
  make_leaves();
  for (size_t results = 1 + draw(3); results > 0; results--) {
    const int a = (int)draw(3), b = chance(4) ? a : (a + 1) % 3;
    val t = chance(5) ? through(a, (a + 1) % 3, (a + 2) % 3) : tile(a, b);
    for (size_t more = draw(5); more > 0; more--) t = vary(t);
    keep(collapse(&t), t.axis[0], out, &nout);
  }
  if (now.differentiated) differentiate(out, &nout);
  return nout;
}

static void count_ops (int nout, gb_node *const *out) {
  gb_node **order;
  size_t n;
  OK(gb_graph_order(fx.g, (size_t)nout, out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++) used[order[i]->op]++;
  free(order);
}

/* Values that are stored whole; staged values exist one window at a time. */
static void check_rows (uint64_t seed, const gb_plan *p) {
  gb_plan_report r;
  const size_t index = (size_t)LONG_P * LONG_Q * 8;
  const gb_lowered *low = gb_plan_lowered(p);
  gb_plan_report_get(p, &r);
  if (r.peak > index * ROOM) COMPLAIN("expression %llu takes %zu bytes\n", (unsigned long long)seed, r.peak);
  for (int b = 0; b < low->nbufs; b++)
    if (!low->buf[b].staged && low->buf[b].bytes > index * WIDE) {
      COMPLAIN("expression %llu: a value of %zu bytes\n", (unsigned long long)seed, low->buf[b].bytes);
      return;
    }
}

/* How many of the long axes, at least half of one each, the largest domain of a traversal is made of. */
static int long_axes (const gb_lowered *low) {
  const double half = (double)LONG_P * LONG_Q / 2;
  double most = 1;
  int n = 0;
  for (int s = 0; s < low->nsteps; s++) {
    if (!low->step[s].is_fold) continue;
    const gb_fold *f = &low->step[s].fold;
    double domain = 1;
    for (int a = 0; a < f->naxes; a++) domain *= f->axis[a].extent >= LONG_P ? (double)f->axis[a].extent : 1;
    if (domain > most) most = domain;
  }
  while (most >= half) most /= half, n++;
  return n;
}

static void long_expressions_stream (void **unused) {
  (void)unused;
  int two = 0, three = 0;
  failures = 0;
  print_message("seeds from %llu\n", (unsigned long long)first_seed());
  memset(used, 0, sizeof used);
  eval_begin(1, (size_t)1 << 60);
  now.planned = true;
  for (int a = 0; a < 3; a++) now.p[a] = LONG_P, now.q[a] = LONG_Q;
  for (uint64_t seed = first_seed(); seed < first_seed() + EXPRESSIONS; seed++) {
    gb_node *out[MOST_OUTPUTS];
    gb_plan *p;
    now.dtype = seed % 4 == 0 ? GB_F32 : GB_F64;
    inputs_begin(seed, now.dtype, GB_NODE_GRAD);
    const int nout = build(seed, out);
    count_ops(nout, out);
    const gb_plan_options few = {.least = true};
    if (gb_plan_new(fx.g, (size_t)nout, out, &few, &p, &fx.err) != GB_OK)
      COMPLAIN("expression %llu: %s\n", (unsigned long long)seed, fx.err.text);
    else {
      check_rows(seed, p);
      const int n = long_axes(gb_plan_lowered(p));
      two += n >= 2;
      three += n >= 3;
      gb_plan_free(p);
    }
    release_to(0);
  }
  eval_end();
  print_message("%d visit pairs, %d of them triples\n", two, three);
  assert_int_equal(failures, 0);
  assert_true(two >= LEAST_TWO && three >= LEAST_THREE);
}

static void every_op_was_used (void **unused) {
  (void)unused;
  int missing = 0;
  for (int op = 0; op < GB_NOPS; op++) {
    if (used[op] > 0) print_message("%s %d  ", gb_ops[op].name, used[op]);
    if (gb_ops[op].kind == GB_KIND_OPAQUE || used[op] >= LEAST) continue;
    print_message("\n%s was used only %d times\n", gb_ops[op].name, used[op]);
    missing++;
  }
  print_message("\n");
  assert_int_equal(missing, 0);
}

static void check_values (uint64_t seed, int which, const gb_node *n, const double *want) {
  double most = 1;
  const size_t count = count_of(n);
  for (size_t e = 0; e < count; e++)
    if (fabs(want[e]) > most && isfinite(want[e])) most = fabs(want[e]);
  for (size_t e = 0; e < count; e++) {
    const double got = element(n, 0, e);
    if (reference_close(got, want[e], 0, (now.dtype == GB_F32 ? 2e-3 : 1e-9) * most)) continue;
    COMPLAIN("expression %llu, %zu x %zu x %zu: element %zu of result %d is %.15g, want %.15g\n",
             (unsigned long long)seed, extent_of(0), extent_of(1), extent_of(2), e, which, got, want[e]);
    return;
  }
}

static void short_sizes (uint64_t seed) {
  static const size_t few[] = {1, 3, 5, 7}; /* sometimes one index only */
  draw_seed = seed;
  drawn = 1000000;
  for (int a = 0; a < 3; a++) {
    now.p[a] = few[chance(12) ? 0 : 1 + draw(2)];
    now.q[a] = few[draw(4)];
  }
  if (seed % 16 == 5) now.p[0] = 13, now.q[0] = 21; /* more than one tile, chain and lane block */
}

static void short_expressions_have_the_values_of_dense_evaluation (void **unused) {
  (void)unused;
  failures = 0;
  eval_begin(2, (size_t)1 << 30);
  now.planned = false;
  *gb_plan_memcheck(fx.g) =
      (gb_memcheck_watch){.on = true, .poison = 0xff}; /* what is read unwritten is NaN */
  for (uint64_t seed = first_seed(); seed < first_seed() + EXPRESSIONS; seed++) {
    gb_node *out[MOST_OUTPUTS];
    double *want[MOST_OUTPUTS];
    now.dtype = seed % 4 == 0 ? GB_F32 : GB_F64;
    short_sizes(seed);
    inputs_begin(seed, now.dtype, GB_NODE_GRAD);
    const int nout = build(seed, out);
    for (int i = 0; i < nout; i++) OK(reference_eval(out[i], 0, NULL, &want[i], NULL, &fx.err));
    const bool done = gb_eval(fx.g, (size_t)nout, out, &fx.err) == GB_OK;
    if (!done) COMPLAIN("expression %llu: %s\n", (unsigned long long)seed, fx.err.text);
    for (int i = 0; i < nout; i++) {
      if (done) check_values(seed, i, out[i], want[i]);
      free(want[i]);
    }
    release_to(0);
    gb_cache_drop(fx.g, SIZE_MAX);
  }
  const gb_memcheck_watch seen = *gb_plan_memcheck(fx.g);
  eval_end();
  if (seen.strays > 0 || seen.unwritten >= 64)
    COMPLAIN("%zu stray bytes, %zu unwritten: %s\n", seen.strays, seen.unwritten, seen.first);
  assert_int_equal(failures, 0);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_expressions_stream),
      cmocka_unit_test(every_op_was_used),
      cmocka_unit_test(short_expressions_have_the_values_of_dense_evaluation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
