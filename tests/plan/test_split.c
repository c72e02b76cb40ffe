/* test_split.c - plans cut into windows of an axis: for every budget the bits of the whole, the bytes that
** the plan said, and the smallest budget runs while one byte less is refused. What couples the axis is
** never cut. */
#include "plan/choose/plan_internal.h"
#include "support/random/expression_random.h"

#ifndef ROUNDS
#define ROUNDS 9 /* of each structured graph; twice as many random ones */
#endif
#define BUDGETS 30
#define OUTPUTS 6
#define WATCHED 30000000 /* bytes that a run under watch may compare */

/* The expression: rows of the axis, whether the leaves name it, how data are stored. */
typedef struct scene {
  uint64_t seed;
  size_t rows;
  bool hint;
  gb_dtype t;
} scene;

typedef int builder (const scene *s, gb_node **out); /* number of outputs */

static gb_node *named_batch (const scene *s, gb_node *x, int axis) {
  if (s->hint) x->batch = 1 + axis;
  return x;
}
static gb_node *rows1 (const scene *s) { return named_batch(s, in1(s->rows, -1, 1), 0); }
static gb_node *rows2 (const scene *s, size_t d) { return named_batch(s, in2(s->rows, d, -1, 1), 0); }
static gb_node *positions (size_t n, size_t most) { return ints(1, &n, 1, (int64_t)most); }
static gb_node *cast (gb_node *x, gb_dtype t) {
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &x, NULL, NULL, t);
}
static gb_node *along (gb_op op, gb_node *x, int axis, int64_t b) {
  return attr_node(op, 1, &x, (gb_attr){.i = {axis, b}});
}
static gb_node *index_of (gb_node *x, gb_node *at, int axis) {
  return attr_node(GB_OP_INDEX, 2, (gb_node *[]){x, at}, (gb_attr){.i = {axis}});
}
static gb_node *mean_all (gb_node *x) { return BUILD(gb_mean, x, 0, false); }

static int with_gradients (gb_node *loss, int n, gb_node *const *xs, gb_node **out) {
  out[0] = loss;
  OK(gb_grad(loss, NULL, (size_t)n, xs, true, out + 1, &fx.err));
  for (int i = 1; i <= n; i++) hold(GB_OK, out[i]);
  return 1 + n;
}

/* -- graphs that can be cut */

/* A network of two layers under a mean, a sum or a weighted loss. */
static int network (const scene *s, gb_node **out) {
  inputs.flags = 0;
  gb_node *x = rows2(s, 5), *y = rows2(s, 3), *w = rows1(s);
  inputs.flags = GB_NODE_GRAD;
  gb_node *p[4] = {in2(5, 40, -0.5, 0.5), in1(40, -0.1, 0.1), in2(40, 3, -0.5, 0.5), in1(3, -0.1, 0.1)};
  gb_node *h = map1(s->seed % 2 ? GB_OP_TANH : GB_OP_RELU, add(mm(x, p[0]), unsq(p[1], 0)));
  gb_node *e = square(sub(add(mm(h, p[2]), unsq(p[3], 0)), y));
  switch (s->seed % 3) {
    case 0: return with_gradients(mean_all(e), 4, p, out);
    case 1: return with_gradients(sum_all(e), 4, p, out);
    default: return with_gradients(dvd(sum_all(mul(e, unsq(w, 1))), sum_all(square(w))), 4, p, out);
  }
}

/* Rows of a kernel block, a triangular solve with its columns, their squares summed. */
static int prediction (const scene *s, gb_node **out) {
  const size_t n = 30 + s->seed % 7;
  scene many = *s;
  many.rows += 260; /* solves are cut at canonical blocks */
  inputs.flags = 0;
  gb_node *x = in2(n, 3, -1, 1), *z = rows2(&many, 3), *a = in2(n, n, -0.1, 0.1), *v = in1(n, -1, 1);
  gb_node *l = add(a, mul(BUILD(gb_eye, fx.g, n, s->t), num(2)));
  gb_node *k = BUILD(gb_radial, GB_M32, dist(x, z, NULL), num(0.7), NULL);
  gb_node *u = attr_node(GB_OP_TRISOLVE, 2, (gb_node *[]){l, k}, (gb_attr){.i = {0, 0}});
  out[0] = sub(num(1), sum_axis(square(u), 0));
  out[1] = mm(tr(k), v);
  return 2;
}

/* Entries picked by positions that are rows of the axis, and beside it. */
static int gathers (const scene *s, gb_node **out) {
  gb_node *table = in2(50, 4, -1, 1), *x = rows2(s, 6);
  gb_node *at = named_batch(s, positions(s->rows, 50), 0), *beside = positions(9, 6);
  gb_node *picked = index_of(map1(GB_OP_SIN, table), at, 0);
  gb_node *wide = index_of(map1(GB_OP_TANH, x), beside, 1);
  gb_node *e = map1(GB_OP_EXP, mul(picked, unsq(sum_axis(square(wide), 1), 1)));
  out[0] = sum_axis(e, 0);
  out[1] = sum_axis(e, 1);
  out[2] = sum_axis(along(GB_OP_CUMSUM, wide, 1, 0), 0);
  return 3;
}

/* Joins, running sums, orders and conversions along the other axis; with one result that keeps the axis. */
static int joins (const scene *s, gb_node **out) {
  gb_node *x = rows2(s, 6), *y = rows2(s, 4);
  gb_node *z =
      BUILD(gb_cat, 3, ((gb_node *[]){map1(GB_OP_SIN, x), map1(GB_OP_COS, y), map1(GB_OP_TANH, x)}), 1);
  gb_node *c = along(GB_OP_CUMSUM, z, 1, (int64_t)(s->seed % 2)),
          *o = along(GB_OP_SORT, c, 1, s->seed / 2 % 2);
  gb_node *best = attr_node(GB_OP_TOPK, 1, &c, (gb_attr){.i = {1, 3, 1}});
  gb_node *f = cast(cast(map1(GB_OP_ATAN, o), GB_BF16), s->t);
  out[0] = sum_axis(mul(f, c), 0);
  out[1] = BUILD(gb_reduce, GB_OP_LOGSUMEXP, best, 1, false);
  out[2] = sum_axis(square(f), 1);
  out[3] = BUILD(gb_reduce, GB_OP_MAX, o, 1, false);
  return 4;
}

/* The axis as last and as middle dimension of what is stored; slices and joins of the others. */
static int shapes (const scene *s, gb_node **out) {
  static const int middle[] = {1, 0, 2};
  const gb_shape flat = gb_shape_of(2, (size_t[]){s->rows, 6});
  gb_node *x = rows2(s, 7), *y = named_batch(s, in3(s->rows, 2, 3, -1, 1), 0);
  gb_node *c = along(GB_OP_CUMSUM, map1(GB_OP_SIN, tr(x)), 0, 0), *z = map1(GB_OP_COS, y);
  gb_node *d = along(GB_OP_CUMSUM, BUILD(gb_permute, z, middle), 2, 0);
  gb_node *part = BUILD(gb_slice, d, 2, 2, -1, 2), *row = BUILD(gb_select, c, 0, 5);
  gb_node *e = mul(part, unsq(unsq(row, 1), 0));
  out[0] = BUILD(gb_reduce, GB_OP_SUM, e, 2, false);
  out[1] = BUILD(gb_reduce, GB_OP_MIN, e, 5, false);
  out[2] = sum_axis(map1(GB_OP_EXP, mul(tr(c), num(0.1))), s->seed % 2);
  out[3] = mm(c, along(GB_OP_SORT, BUILD(gb_reshape, z, &flat), 1, 0));
  return 4;
}

/* Blocks of products: rows, batches of matrices, and sums over the axis through a stored factor. */
static int products (const scene *s, gb_node **out) {
  gb_node *x = rows2(s, 20), *w = in2(20, 30, -1, 1), *b = named_batch(s, in3(s->rows, 4, 5, -1, 1), 0);
  gb_node *q = in2(5, 6, -1, 1), *h = along(GB_OP_CUMSUM, x, 1, 0), *k = along(GB_OP_CUMSUM, b, 2, 1);
  gb_node *z = along(GB_OP_CUMSUM, mm(mul(h, num(0.1)), w), 1, 0);
  out[0] = mm(tr(h), z);
  out[1] = BUILD(gb_reduce, GB_OP_SUM, mm(k, q), 1, false);
  out[2] = sum_axis(mm(unsq(x, 2), unsq(z, 1)), 0);
  return 2 + (int)(s->seed % 2 && s->rows < 600);
}

/* Random numbers and ranges along the axis. */
static int indices (const scene *s, gb_node **out) {
  const gb_shape one = gb_shape_of(1, &s->rows), two = gb_shape_of(2, (size_t[]){s->rows, 4});
  gb_node *x = rows2(s, 4);
  gb_node *r = BUILD(gb_node_build, fx.g, GB_OP_RANGE, 0, NULL, &(gb_attr){.f = {3, s->seed % 2 ? 2 : 0.125}},
                     &one, s->t);
  gb_node *e = BUILD(gb_node_build, fx.g, GB_OP_RANDN, 0, NULL, &(gb_attr){.i = {7, 11}}, &two, s->t);
  gb_node *y = along(GB_OP_CUMSUM, mul(add(x, e), unsq(map1(GB_OP_SIN, r), 1)), 1, 0);
  out[0] = sum_axis(y, 0);
  out[1] = sum_axis(y, 1);
  return 2;
}

/* -- graphs that several loops cut */

static gb_node *normalised (gb_node *x, gb_node *gain) {
  gb_node *centred = sub(x, BUILD(gb_mean, x, 1, true));
  gb_node *spread = map1(GB_OP_SQRT, add(BUILD(gb_mean, square(centred), 1, true), num(1e-5)));
  return mul(dvd(centred, spread), unsq(gain, 0));
}

/* Layers normalised over the batch: a product is computed again for each mean, variance and sum of the gradient. */
static int batch_norms (const scene *s, gb_node **out) {
  inputs.flags = 0;
  gb_node *x = rows2(s, 5), *y = rows2(s, 6);
  inputs.flags = GB_NODE_GRAD;
  gb_node *p[4] = {in2(5, 6, -1, 1), in1(6, 0.5, 1), in2(6, 6, -1, 1), in1(6, 0.5, 1)};
  gb_node *h = normalised(mm(x, p[0]), p[1]);
  if (s->seed % 2) h = normalised(mm(map1(GB_OP_TANH, h), p[2]), p[3]);
  return with_gradients(mean_all(square(sub(h, y))), s->seed % 2 ? 4 : 2, p, out);
}

/* Statistics in two passes, over values that have to be made. */
static int statistics (const scene *s, gb_node **out) {
  gb_node *x = rows2(s, 4), *h = mm(map1(GB_OP_SIN, x), in2(4, 6, -1, 1)), *z = normalised(h, in1(6, 1, 2));
  out[0] = mm(tr(z), z);
  out[1] = BUILD(gb_std, h, 1, false, 0.0);
  out[2] = BUILD(gb_reduce, GB_OP_MAX, z, 1, false);
  return 3;
}

/* -- graphs in which an op couples the axis */

static gb_node *head (gb_node *x) { return along(GB_OP_CUMSUM, map1(GB_OP_SIN, x), 1, 0); }

static int softmax_along (const scene *s, gb_node **out) {
  gb_node *y = BUILD(gb_softmax, head(rows2(s, 4)), 0);
  out[0] = sum_axis(mul(y, y), 0);
  out[1] = along(GB_OP_CUMSUM, y, 1, 0);
  return 2;
}

static int norm_along (const scene *s, gb_node **out) {
  gb_node *x = head(rows2(s, 4));
  out[0] = dvd(x, BUILD(gb_norm, x, 1, true, 2.0));
  out[1] = dvd(x, BUILD(gb_reduce, GB_OP_SUM, square(x), 1, true));
  return 2;
}

static int batch_normalised (const scene *s, gb_node **out) {
  inputs.flags = 0;
  gb_node *x = head(rows2(s, 4));
  inputs.flags = GB_NODE_GRAD;
  gb_node *w = in2(4, 3, -1, 1);
  gb_node *y = dvd(sub(x, BUILD(gb_mean, x, 1, true)), add(BUILD(gb_std, x, 1, true, 0.0), num(1e-3)));
  return with_gradients(mean_all(square(map1(GB_OP_TANH, mm(y, w)))), 1, &w, out);
}

static int ordered_along (const scene *s, gb_node **out) {
  gb_node *x = head(rows2(s, 4));
  out[0] = sum_axis(mul(along(GB_OP_CUMSUM, x, 0, 0), x), 1);
  out[1] = sum_axis(square(along(GB_OP_SORT, x, 0, 1)), 1);
  out[2] = BUILD(gb_reduce, GB_OP_ARGMAX, x, 1, false);
  out[3] = BUILD(gb_flip, map1(GB_OP_COS, x), 0);
  return 4;
}

static int factored (const scene *s, gb_node **out) {
  scene few = *s;
  few.rows = s->rows % 97 + 40;
  gb_node *x = head(rows2(&few, 4)), *a = add(mm(x, tr(x)), mul(BUILD(gb_eye, fx.g, few.rows, s->t), num(3)));
  out[0] = BUILD(gb_solve, a, x);
  out[1] = BUILD(gb_logdet, a);
  out[2] = sum_axis(x, 1);
  return 3;
}

/* Pairs of rows: the axis moves two dimensions, or one operand along two axes. */
static int paired (const scene *s, gb_node **out) {
  scene few = *s;
  few.rows = s->rows % 197 + 60;
  gb_node *x = head(rows2(&few, 3)), *k = BUILD(gb_radial, GB_RBF, dist(x, x, NULL), num(0.5), NULL);
  gb_node *c = along(GB_OP_CUMSUM, k, 1, 0);
  out[0] = sum_axis(k, 1);
  out[1] = BUILD(gb_node_build, fx.g, GB_OP_DIAGONAL, 1, &c, NULL, NULL, s->t);
  out[2] = sum_axis(mul(c, tr(c)), 0);
  return 3;
}

/* -- random graphs */

static gb_node *stored (gb_node *x) { return along(GB_OP_CUMSUM, tame(x), gb_node_shape(x)->ndim - 1, 0); }

static int anything (const scene *s, gb_node **out) {
  pool p = {.n = 0};
  draw_seed = s->seed * 977 + 5;
  drawn = 0;
  sizes.extent[0] = 3;
  sizes.extent[1] = sizes.extent[2] = 8;
  sizes.extent[3] = s->rows;
  sizes.most = 60000;
  inputs.flags = 0;
  p.at[p.n++] = stored(rows2(s, 1 + draw(8)));
  p.at[p.n++] = stored(rows2(s, 1 + draw(8)));
  inputs.flags = GB_NODE_GRAD;
  gb_node *w = in2(gb_node_shape(p.at[0])->dim[1], 8, -1, 1);
  p.at[p.n++] = tame(mm(p.at[0], w));
  p.at[p.n++] = tame(map2(GB_OP_MUL, p.at[1], rows2(s, 1)));
  grow(&p);
  gb_node *y = p.at[p.n - 1], *z = p.at[p.n - 2];
  out[0] = mean_all(mul(y, y));
  out[1] = gb_node_shape(z)->ndim > 0 ? sum_axis(z, 0) : z;
  out[2] = BUILD(gb_grad, out[0], NULL, 1, &w, true);
  return 3;
}

/* -- running */

typedef struct result {
  void *at[OUTPUTS];
  size_t bytes[OUTPUTS];
  gb_dtype t[OUTPUTS];
  int n;
} result;

static void keep_result (result *r, const gb_node *n) {
  r->at[r->n] = elements_copied(&n->out[0].tensor); /* leaves may be views */
  r->t[r->n] = gb_node_dtype(n);
  r->bytes[r->n++] = gb_shape_bytes(gb_node_shape(n), gb_node_dtype(n));
}

static void free_result (result *r) {
  while (r->n > 0) free(r->at[--r->n]);
}

static int build (builder *f, const scene *s, gb_node **out) {
  inputs_begin(s->seed, s->t, 0);
  return f(s, out);
}

static const char *text_of (const scene *s) {
  static char text[96];
  snprintf(text, sizeof text, "seed %llu, %zu rows, %s, %s", (unsigned long long)s->seed, s->rows,
           s->hint ? "named" : "found", gb_dtype_name(s->t));
  return text;
}

typedef struct bounds {
  size_t minimum, whole;
} bounds;

static bounds bounds_of (builder *f, const scene *s) {
  gb_node *out[OUTPUTS];
  gb_plan *p;
  gb_plan_report r;
  const int n = build(f, s, out);
  OK(gb_plan_new(fx.g, (size_t)n, out, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  gb_plan_free(p);
  release_to(0);
  return (bounds){r.minimum, r.peak};
}

/* A run under watch compares the arena once a step and window. */
static bool is_cheap_to_watch (const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  const size_t windows = pl->tiling == NULL ? 1 : (pl->tiling->extent + pl->chunk - 1) / pl->chunk;
  return windows * (size_t)pl->nrun * pl->arena < WATCHED;
}

static void check_bytes (const scene *s, size_t budget, const gb_plan_report *r, const gb_run_stats *stats) {
  if (r->peak > budget || stats->measured != r->peak || gb_plan_memcheck(fx.g)->strays > 0 ||
      gb_plan_memcheck(fx.g)->unwritten >= 64 || gb_plan_memcheck(fx.g)->high_water > r->arena)
    fail_msg("%s, budget %zu: peak %zu, measured %zu, %zu stray bytes, %zu unwritten, arena %zu of %zu: %s",
             text_of(s), budget, r->peak, stats->measured, gb_plan_memcheck(fx.g)->strays,
             gb_plan_memcheck(fx.g)->unwritten, gb_plan_memcheck(fx.g)->high_water, r->arena,
             gb_plan_memcheck(fx.g)->first);
}

static int most_loops; /* that have run, over one axis */

static void count_loops (const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  if (pl->tiling != NULL && pl->chunk < pl->tiling->extent && pl->nloops > most_loops)
    most_loops = pl->nloops;
}

/* Evaluates a fresh copy of the graph within a budget (0: ample). Windows that ran. */
static int run_within (builder *f, const scene *s, size_t budget, result *r) {
  gb_node *out[OUTPUTS];
  gb_plan *p;
  gb_plan_report report;
  gb_run_stats stats;
  const int n = build(f, s, out);
  const gb_plan_options o = {.budget = budget};
  if (gb_plan_new(fx.g, (size_t)n, out, &o, &p, &fx.err) != GB_OK)
    fail_msg("%s, budget %zu: %s", text_of(s), budget, fx.err.text);
  gb_plan_report_get(p, &report);
  count_loops(p);
  if (is_cheap_to_watch(p))
    *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = s->seed % 2 ? 0x5a : 0xa7};
  if (gb_plan_run(p, &fx.err) != GB_OK) fail_msg("%s, budget %zu: %s", text_of(s), budget, fx.err.text);
  gb_plan_stats(p, &stats);
  if (budget != 0) check_bytes(s, budget, &report, &stats);
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
  gb_plan_free(p);
  *r = (result){.n = 0};
  for (int i = 0; i < n; i++) keep_result(r, out[i]);
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  return stats.windows;
}

static void same_bits (const scene *s, size_t budget, const result *a, const result *b) {
  assert_int_equal(a->n, b->n);
  for (int i = 0; i < a->n; i++)
    if (a->bytes[i] != b->bytes[i] || memcmp(a->at[i], b->at[i], a->bytes[i]) != 0)
      fail_msg("%s: output %d has other bits within %zu bytes", text_of(s), i, budget);
}

static void refused_below (builder *f, const scene *s, size_t minimum) {
  gb_node *out[OUTPUTS];
  gb_plan *p;
  const int n = build(f, s, out);
  const gb_plan_options o = {.budget = minimum - 1};
  const gb_status rc = gb_plan_new(fx.g, (size_t)n, out, &o, &p, &fx.err);
  if (rc != GB_EREFUSED) fail_msg("%s: %zu bytes are %s", text_of(s), minimum - 1, gb_status_code(rc));
  assert_int_equal(fx.err.minimum, minimum);
  release_to(0);
}

/* The most windows in which some budget runs. */
static int run_budgets (builder *f, const scene *s, int budgets) {
  result whole, part;
  int most = 0;
  eval_begin(1 + (int)(s->seed % 2), (size_t)1 << 28);
  run_within(f, s, 0, &whole);
  const bounds b = bounds_of(f, s);
  for (int i = 0; i < budgets && b.minimum > 0; i++) {
    const double at = (double)i / (budgets - 1), ratio = (double)b.whole / (double)b.minimum;
    const size_t budget = i == 0 ? b.minimum : (size_t)((double)b.minimum * pow(ratio, at)) + 1;
    const int windows = run_within(f, s, budget, &part);
    same_bits(s, budget, &whole, &part);
    free_result(&part);
    if (windows > most) most = windows;
  }
  if (b.minimum > 1) refused_below(f, s, b.minimum);
  free_result(&whole);
  eval_end();
  return most;
}

/* Evaluates every third inner value, as a debugging print would, and holds it. */
static void observe_inside (const scene *s, size_t n, gb_node *const *out) {
  gb_node **order;
  size_t count;
  OK(gb_graph_order(fx.g, n, out, GB_WALK_ALL, &order, &count, &fx.err));
  for (size_t i = 0; i < count; i++) hold(GB_OK, gb_node_ref(order[i]));
  for (size_t i = s->seed % 3; i < count; i += 3) {
    bool asked = false;
    for (size_t k = 0; k < n; k++) asked |= order[i] == out[k];
    if (!asked) OK(gb_eval(fx.g, 1, &order[i], &fx.err));
  }
  free(order);
}

/* In the least memory where some inner values exist and stay. Windows that ran. */
static int run_observed (builder *f, const scene *s) {
  gb_node *out[OUTPUTS];
  result whole, part = {.n = 0};
  gb_plan *p;
  gb_plan_report r;
  gb_run_stats stats;
  eval_begin(1, (size_t)1 << 28);
  run_within(f, s, 0, &whole);
  const int n = build(f, s, out);
  observe_inside(s, (size_t)n, out);
  OK(gb_plan_new(fx.g, (size_t)n, out, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  gb_plan_free(p);
  const gb_plan_options o = {.budget = r.minimum > 0 ? r.minimum : 1};
  OK(gb_plan_new(fx.g, (size_t)n, out, &o, &p, &fx.err));
  OK(gb_plan_run(p, &fx.err));
  gb_plan_stats(p, &stats);
  gb_plan_free(p);
  for (int i = 0; i < n; i++) keep_result(&part, out[i]);
  same_bits(s, o.budget, &whole, &part);
  free_result(&whole);
  free_result(&part);
  eval_end();
  return stats.windows;
}

static scene scene_of (uint64_t seed, bool hint) {
  static const size_t found[] = {1200, 1025, 700, 2048, 1300, 4000, 513, 1537};
  static const size_t named[] = {9, 20, 100, 1000, 5, 1200, 64, 257, 33, 17};
  return (scene){seed, hint ? named[seed % 10] : found[seed % 8], hint, seed / 2 % 2 ? GB_F32 : GB_F64};
}

typedef struct tally {
  int cases, split;
} tally;

static tally try_all (builder *f, int rounds, int budgets) {
  tally t = {0};
  for (uint64_t seed = 1; seed <= (uint64_t)rounds; seed++) {
    const scene s = scene_of(seed, seed % 3 != 0);
    t.cases++;
    t.split += run_budgets(f, &s, budgets) > 1;
  }
  print_message("%d of %d graphs ran in several windows\n", t.split, t.cases);
  return t;
}

/* Of small batches another order takes as little as windows do. */
static void is_split (builder *f) {
  const tally t = try_all(f, ROUNDS, BUDGETS);
  assert_true(2 * t.split >= t.cases);
}

/* Sums in grains are other sums, of the same value. */
static void same_values (const scene *s, const result *a, const result *b) {
  const double tolerance = s->t == GB_F64 ? 1e-10 : 1e-4;
  for (int i = 0; i < a->n; i++)
    for (size_t e = 0; e < a->bytes[i] / gb_dtype_size(a->t[i]); e++) {
      const double x = gb_element_get(a->at[i], e, a->t[i]), y = gb_element_get(b->at[i], e, b->t[i]);
      if (!(fabs(x - y) <= tolerance * (1 + fabs(x))))
        fail_msg("%s: element %zu of output %d is %.15g, without a batch %.15g", text_of(s), e, i, x, y);
    }
}

static void a_batch_changes_no_value (void **unused) {
  (void)unused;
  static builder *const all[] = {network, prediction, gathers, shapes, products, indices};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
      const scene named = scene_of(seed, true);
      scene plain = named;
      result a, b;
      plain.hint = false;
      eval_begin(1, (size_t)1 << 28);
      run_within(all[i], &named, 0, &a);
      run_within(all[i], &plain, 0, &b);
      same_values(&named, &a, &b);
      free_result(&a);
      free_result(&b);
      eval_end();
    }
}

/* A loss and its gradients in every number of windows that its batch can be cut into. */
static void every_chunking_gives_the_full_gradient (void **unused) {
  (void)unused;
  static const size_t batches[] = {9, 20, 100, 1000};
  for (int i = 0; i < 4; i++)
    for (uint64_t seed = 3; seed < 9; seed++) { /* mean, sum and weighted losses, both layers */
      const scene s = {seed, batches[i], true, seed % 2 ? GB_F32 : GB_F64};
      result whole, part;
      int seen = 0, before = -1;
      eval_begin(1, (size_t)1 << 28);
      run_within(network, &s, 0, &whole);
      const bounds b = bounds_of(network, &s);
      for (size_t budget = b.minimum; budget < b.whole; budget += (b.whole - b.minimum) / 60 + 1) {
        const int windows = run_within(network, &s, budget, &part);
        same_bits(&s, budget, &whole, &part);
        free_result(&part);
        seen += windows != before;
        before = windows;
      }
      if (seen < 3 && batches[i] >= 100) fail_msg("%s: cut in only %d ways", text_of(&s), seen);
      free_result(&whole);
      eval_end();
    }
}

static void networks_split (void **unused) {
  (void)unused;
  is_split(network);
}
static void predictions_split (void **unused) {
  (void)unused;
  is_split(prediction);
}
static void gathers_split (void **unused) {
  (void)unused;
  is_split(gathers);
}
static void joins_split (void **unused) {
  (void)unused;
  is_split(joins);
}
static void shapes_split (void **unused) {
  (void)unused;
  is_split(shapes);
}
static void products_split (void **unused) {
  (void)unused;
  is_split(products);
}
static void indices_split (void **unused) {
  (void)unused;
  is_split(indices);
}

static void batch_norms_split (void **unused) {
  (void)unused;
  most_loops = 0;
  is_split(batch_norms);
  assert_true(most_loops > 8);
}
static void statistics_split (void **unused) {
  (void)unused;
  most_loops = 0;
  is_split(statistics);
  assert_true(most_loops > 2);
}

/* One window of what is made again takes the place of all of it. */
static void loops_leave_no_activation (void **unused) {
  (void)unused;
  const scene s = {4, 20000, false, GB_F64};
  eval_begin(1, (size_t)1 << 28);
  const bounds b = bounds_of(batch_norms, &s);
  assert_true(b.minimum < s.rows * 6 * sizeof(double) / 4);
  eval_end();
}

static void observed_values_change_no_bits (void **unused) {
  (void)unused;
  static builder *const all[] = {network, prediction, gathers,  joins,       shapes,    products,
                                 indices, paired,     anything, batch_norms, statistics};
  int cases = 0, split = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    for (uint64_t seed = 1; seed <= ROUNDS; seed++, cases++) {
      const scene s = scene_of(seed, seed % 3 != 0);
      split += run_observed(all[i], &s) > 1;
    }
  print_message("%d of %d graphs ran in several windows\n", split, cases);
  assert_true(2 * split > cases);
}

static void coupled_graphs_keep_their_bits (void **unused) {
  (void)unused;
  static builder *const all[] = {softmax_along, norm_along, batch_normalised,
                                 ordered_along, factored,   paired};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) try_all(all[i], ROUNDS / 2, BUDGETS / 3);
}

static void random_graphs_keep_their_bits (void **unused) {
  (void)unused;
  const tally t = try_all(anything, 2 * ROUNDS, BUDGETS / 3);
  assert_true(2 * t.split > t.cases);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_batch_changes_no_value),
      cmocka_unit_test(every_chunking_gives_the_full_gradient),
      cmocka_unit_test(networks_split),
      cmocka_unit_test(predictions_split),
      cmocka_unit_test(gathers_split),
      cmocka_unit_test(joins_split),
      cmocka_unit_test(shapes_split),
      cmocka_unit_test(products_split),
      cmocka_unit_test(indices_split),
      cmocka_unit_test(batch_norms_split),
      cmocka_unit_test(statistics_split),
      cmocka_unit_test(loops_leave_no_activation),
      cmocka_unit_test(observed_values_change_no_bits),
      cmocka_unit_test(coupled_graphs_keep_their_bits),
      cmocka_unit_test(random_graphs_keep_their_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
