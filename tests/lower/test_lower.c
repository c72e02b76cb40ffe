/* test_lower.c - lowering of expressions: stored and inlined values, depth and breadth. */
#include "base/hash.h"
#include "support/graph/reference.h"
#include "support/plan/lower_fixture.h"

/* Stored or inlined */

/* The steps of small graphs after lowering, a word a step: 'map' stores without reducing, 'sum' reduces,
** 'pairs' reduces values of two axes, other words are opaque ops; with the number of results where there
** are several. */
typedef int graph_of (gb_node **out);

static gb_node *rbf (gb_node *x, gb_node *y) { return radial(GB_RBF, dist(x, y, NULL), num(0.7), NULL); }
static int one (gb_node **out, gb_node *a) {
  out[0] = a;
  return 1;
}
static int two (gb_node **out, gb_node *a, gb_node *b) {
  out[0] = a;
  out[1] = b;
  return 2;
}

static gb_node *points (void) { return in2(90, 3, -1, 1); }
static gb_node *column (void) { return in2(90, 1, -1, 1); }

static int g_chain (gb_node **out) {
  return one(out, map1(GB_OP_SIN, add(mul(in2(40, 7, -1, 1), num(3)), in1(7, -1, 1))));
}
static int g_sum (gb_node **out) { return one(out, sum_all(map1(GB_OP_EXP, in2(40, 7, -1, 1)))); }
static int g_product (gb_node **out) { return one(out, mm(rbf(points(), points()), column())); }
static int g_dense (gb_node **out) { return one(out, rbf(points(), points())); }
static int g_both (gb_node **out) {
  gb_node *k = rbf(points(), points());
  return two(out, k, mm(k, column()));
}
static int g_two_sided (gb_node **out) {
  gb_node *k = rbf(points(), points());
  return two(out, mm(k, column()), mm(tr(k), in2(90, 4, -1, 1)));
}
static int g_twice (gb_node **out) {
  gb_node *x = points(), *k = rbf(x, x);
  return one(out, mm(k, mm(k, column())));
}
static int g_gemm (gb_node **out) { return one(out, mm(in2(50, 60, -1, 1), in2(60, 70, -1, 1))); }
static int g_gemm_sum (gb_node **out) {
  return one(out, sum_axis(map1(GB_OP_EXP, mm(in2(50, 60, -1, 1), in2(60, 70, -1, 1))), 1));
}
static int g_thin (gb_node **out) {
  return one(out, sum_axis(map1(GB_OP_EXP, mm(points(), tr(points()))), 1));
}
static int g_softmax (gb_node **out) { return one(out, BUILD(gb_softmax, in2(30, 40, -1, 1), 1)); }
static int g_softmax_product (gb_node **out) {
  return one(out, mm(BUILD(gb_softmax, rbf(points(), points()), 1), column()));
}
static int g_cholesky (gb_node **out) {
  gb_node *x = points();
  return one(out, BUILD(gb_cholesky, add(rbf(x, x), mul(identity_of(90), num(0.1))), 0));
}
static int g_row (gb_node **out) { return one(out, BUILD(gb_select, rbf(points(), points()), 0, 7)); }
static int g_corner (gb_node **out) {
  gb_node *rows = BUILD(gb_slice, rbf(points(), points()), 0, 0, 1, 5);
  return one(out, BUILD(gb_slice, rows, 1, 85, 1, 5));
}
static int g_trace (gb_node **out) {
  gb_node *x = points(), *k = rbf(x, x);
  return one(out, sum_all(attr_node(GB_OP_DIAGONAL, 1, &k, (gb_attr){0})));
}
static int g_hoisted (gb_node **out) { /* exp(u) is computed once, not once a pair */
  gb_node *u = map1(GB_OP_EXP, in1(90, -1, 1));
  return one(out, mm(map1(GB_OP_TANH, mul(rbf(points(), points()), unsq(u, 1))), column()));
}
static int g_affine (gb_node **out) { /* a split that every value allows */
  gb_node *a = map1(GB_OP_SIN, in2(12, 35, -1, 1));
  return one(out, sum_axis(reshape(a, 3, (size_t[]){4, 3, 35}), 1));
}
static int g_merged (gb_node **out) {
  gb_node *a = map1(GB_OP_SIN, in2(12, 35, -1, 1));
  return one(out, sum_all(mul(reshape(a, 1, (size_t[]){420}), in1(420, -1, 1))));
}
static int g_not_affine (gb_node **out) { /* 3 x 8 of 4 x 6, row by row */
  gb_node *a = map1(GB_OP_SIN, in2(6, 4, -1, 1));
  return one(out, sum_axis(reshape(map1(GB_OP_EXP, tr(a)), 2, (size_t[]){3, 8}), 0));
}
static int g_cast (gb_node **out) {
  gb_node *a = map1(GB_OP_EXP, in2(12, 35, -1, 1));
  return one(out,
             sum_all(map1(GB_OP_SIN, BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &a, NULL, NULL, GB_F32))));
}
static gb_node *positions (size_t n) {
  const gb_shape s = gb_shape_of(1, &n);
  return BUILD(gb_node_build, fx.g, GB_OP_RANGE, 0, NULL, &(gb_attr){.i = {1, 1}}, &s, GB_I64);
}
static int g_mixed (gb_node **out) { /* whole numbers are compared as such, then used as booleans */
  gb_node *odd = map2(GB_OP_EQ, map2(GB_OP_MOD, positions(35), BUILD(gb_node_const, fx.g, 2, GB_I64)),
                      BUILD(gb_node_const, fx.g, 1, GB_I64));
  gb_node *a = in2(12, 35, -1, 1);
  return one(out, sum_axis(BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_AND, odd, map2(GB_OP_LT, a, num(0.3))), a,
                                 num(-2)),
                           1));
}
static int g_detached (gb_node **out) {
  return one(out, sum_all(map1(GB_OP_DETACH, map1(GB_OP_DETACH, map1(GB_OP_SIN, in1(50, -1, 1))))));
}
static int g_mean (gb_node **out) {
  gb_node *a = in2(30, 40, -1, 1);
  return one(out, sub(a, BUILD(gb_mean, a, 2, true)));
}
static int g_one_index (gb_node **out) {
  return one(out, BUILD(gb_reduce, GB_OP_MAX, map1(GB_OP_SIN, in2(40, 1, -1, 1)), 2, false));
}
static int g_outer (gb_node **out) { /* one right-hand side from nothing but an outer product */
  return one(out, mm(mul(unsq(in1(90, -1, 1), 1), unsq(in1(80, -1, 1), 0)), in2(80, 2, -1, 1)));
}
static int g_vectors (gb_node **out) { /* more than the values; squared, as their signs are free */
  gb_node *a = in2(30, 30, -1, 1), *s = add(a, tr(a));
  gb_node *both = BUILD(gb_node_build, fx.g, GB_OP_EIGH, 1, &s, NULL, NULL, GB_F64),
          *v = square(BUILD(gb_pick, both, 1));
  return one(out, sum_all(map1(GB_OP_TANH, mm(v, map1(GB_OP_SIN, v)))));
}
static int g_leaf (gb_node **out) { return one(out, in1(5, -1, 1)); }

static const struct {
  const char *name;
  graph_of *f;
  const char *steps;
} graphs[] = {
    {"a chain of maps", g_chain, "map"},
    {"a sum of maps", g_sum, "sum"},
    {"a kernel product", g_product, "pairs"},
    {"a dense kernel", g_dense, "map"},
    {"a kernel and its product", g_both, "pairs map"},
    {"both sides of a kernel", g_two_sided, "pairs/2"},
    {"a product of a product", g_twice, "pairs pairs"},
    {"a product of stored matrices", g_gemm, "gemm"},
    {"a sum of such a product", g_gemm_sum, "gemm pairs"},
    {"a sum over dots", g_thin, "pairs"},
    {"softmax", g_softmax, "pairs pairs map"},
    {"softmax of a kernel, times v", g_softmax_product, "pairs pairs pairs"},
    {"cholesky of a kernel", g_cholesky, "map cholesky"},
    {"a row of a kernel", g_row, "map"},
    {"a corner of a kernel", g_corner, "map"},
    {"a trace of a kernel", g_trace, "sum"},
    {"a vector's exponential under pairs", g_hoisted, "map pairs"},
    {"a splitting reshape", g_affine, "pairs"},
    {"a merging reshape", g_merged, "sum"},
    {"a reshape that is not affine", g_not_affine, "map pairs"},
    {"a cast inside", g_cast, "map cast sum"},
    {"positions and numbers", g_mixed, "map pairs"},
    {"detach", g_detached, "sum"},
    {"a mean taken off", g_mean, "pairs map map"},
    {"a maximum of one", g_one_index, "map"},
    {"an outer product, times v", g_outer, "pairs"},
    {"products of eigenvectors", g_vectors, "map eigh map map gemm sum"},
    {"nothing to do", g_leaf, ""},
};

static const char *word_of (const gb_step *st) {
  if (!st->is_fold) return gb_ops[st->opaque.op].name;
  for (int i = 0; i < st->fold.nouts; i++)
    if (st->fold.out[i].reduced != 0) return visits_pairs(st) ? "pairs" : "sum";
  return "map";
}

static void steps_text (const gb_lowered *low, char *text, size_t room) {
  *text = '\0';
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", s > 0 ? " " : "", word_of(st));
    if (st->is_fold && st->fold.nouts > 1)
      snprintf(text + strlen(text), room - strlen(text), "/%d", st->fold.nouts);
  }
}

static void what_is_stored_is_as_the_table_says (void **unused) {
  (void)unused;
  int different = 0;
  for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
    gb_node *out[4];
    char text[512];
    eval_begin(1, (size_t)1 << 28);
    inputs_begin(i + 1, GB_F64, 0);
    const int n = graphs[i].f(out);
    gb_lowered *low = lowered((size_t)n, out);
    steps_text(low, text, sizeof text);
    if (strcmp(text, graphs[i].steps) != 0) {
      print_message("%s: \"%s\", not \"%s\"\n", graphs[i].name, text, graphs[i].steps);
      print_steps(low);
      different++;
    }
    gb_lowered_free(low);
    double *want[4];
    for (int k = 0; k < n; k++) OK(reference_eval(out[k], 0, NULL, &want[k], NULL, &fx.err));
    eval_all((size_t)n, out);
    for (int k = 0; k < n; k++) {
      for (size_t e = 0; e < count_of(out[k]); e++)
        if (!reference_close(element(out[k], 0, e), want[k][e], 1e-5, 1e-5))
          fail_msg("%s: other values", graphs[i].name);
      free(want[k]);
    }
    eval_end();
  }
  assert_int_equal(different, 0);
}

static gb_node *as (gb_node *a, gb_dtype t) {
  return BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &a, NULL, NULL, t);
}

/* A parameter in f64 of a product in f32: a step for each type, none for a cast, and the product keeps its symmetry. */
static void a_number_is_read_in_another_type_without_a_step (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F32, 0);
  gb_node *x = points(), *variance = as(map1(GB_OP_EXP, as(in1(1, -1, 1), GB_F64)), GB_F32);
  gb_node *y = mm(map1(GB_OP_TANH, mul(rbf(x, x), variance)), column());
  gb_lowered *low = lowered(1, &y);
  bool symmetric = false;
  for (int s = 0; s < low->nsteps; s++) {
    assert_true(low->step[s].is_fold);
    symmetric |= low->step[s].fold.symmetric;
  }
  assert_int_equal(low->nsteps, 2);
  assert_true(symmetric);
  gb_lowered_free(low);
  eval_end();
}

/* One expression over leaves with different strides has different programs. */
static void leaves_are_read_as_they_lie (void **unused) {
  (void)unused;
  static const struct {
    size_t offset;
    ptrdiff_t row, column;
  } lies[] = {{0, 6, 1}, {0, 1, 4}, {23, -6, -1}, {5, 0, 1}, {2, 6, 0}, {30, 12, 2}, {3, 7, 1}};
  eval_begin(1, (size_t)1 << 28);
  gb_tensor all, part;
  const gb_shape room = gb_shape_of(1, (size_t[]){100}), s = gb_shape_of(2, (size_t[]){4, 6});
  OK(gb_tensor_new(&device->ledger, GB_F64, &room, GB_MEM_TENSOR, "", "", &all, &fx.err));
  double *to = elements_to_write(&all);
  for (size_t i = 0; i < 100; i++) to[i] = sin((double)i);
  elements_written(&all);
  for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
    part = all;
    part.shape = s;
    part.offset = lies[k].offset;
    part.stride[0] = lies[k].row;
    part.stride[1] = lies[k].column;
    gb_node *x = BUILD(gb_node_leaf, fx.g, &part, 0, ""), *y = map1(GB_OP_EXP, x),
            *out[2] = {y, sum_axis(square(x), 0)};
    eval_all(2, out);
    for (size_t i = 0; i < 24; i++) {
      const double v = sin((double)((ptrdiff_t)part.offset + (ptrdiff_t)(i / 6) * lies[k].row +
                                    (ptrdiff_t)(i % 6) * lies[k].column));
      if (!(fabs(element(y, 0, i) - exp(v)) <= 1e-14))
        fail_msg("leaf %zu, element %zu: %.17g", k, i, element(y, 0, i));
    }
    for (size_t j = 0; j < 6; j++) {
      double want = 0;
      for (size_t i = 0; i < 4; i++) {
        const double v = sin(
            (double)((ptrdiff_t)part.offset + (ptrdiff_t)i * lies[k].row + (ptrdiff_t)j * lies[k].column));
        want += v * v;
      }
      if (!(fabs(element(out[1], 0, j) - want) <= 1e-14)) fail_msg("leaf %zu, column %zu", k, j);
    }
  }
  gb_tensor_clear(&all);
  eval_end();
}

/* DETACH of a stored value is that value; of a leaf, which may be set, a copy. */
static void what_is_detached_lies_where_it_was_stored (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  gb_node *x = empty_of(GB_F64, 2, (size_t[]){40, 3}), *s = BUILD(gb_sqdist, x, x, NULL),
          *eye = BUILD(gb_eye, fx.g, 40, GB_F64),
          *c = add(radial(GB_RBF, s, BUILD(gb_node_const, fx.g, 1, GB_F64), NULL), eye),
          *l = BUILD(gb_cholesky, c, 0), *of_leaf = map1(GB_OP_DETACH, x),
          *outs[] = {l, map1(GB_OP_DETACH, l), x, of_leaf, map1(GB_OP_DETACH, map1(GB_OP_EXP, x))};
  gb_lowered *low = lowered(5, outs);
  assert_int_equal(low->out[0], low->out[1]);
  assert_int_not_equal(low->out[2], low->out[3]);
  assert_int_not_equal(low->out[3], low->out[4]);
  gb_lowered_free(low);
  eval_end();
}

/* Depth and breadth */

static gb_node *grow (gb_node *x, gb_node *next) {
  gb_node_unref(x);
  return next;
}

static void a_hundred_thousand_maps_are_lowered_in_regions (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *x = in1(9, -1, 1), *y = gb_node_ref(x), *next;
  double want = element(x, 0, 4);
  for (int i = 0; i < 100000; i++) {
    OK(gb_map1(i % 2 ? GB_OP_SIN : GB_OP_ATAN, y, &next, &fx.err));
    y = grow(y, next);
    want = i % 2 ? sin(want) : atan(want);
  }
  hold(GB_OK, y);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  const int steps = gb_plan_lowered(p)->nsteps;
  assert_true(steps > 100 && steps < 1000);
  OK(gb_plan_run(p, &fx.err));
  gb_plan_free(p);
  if (!(fabs(element(y, 0, 4) - want) <= 1e-12)) fail_msg("%.17g, want %.17g", element(y, 0, 4), want);
  eval_end();
}

/* Each of 1,000 means needs the one before. */
static void a_thousand_stored_values_may_stand_on_each_other (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *y = gb_node_ref(in1(5, -1, 1)), *mean, *next;
  for (int i = 0; i < 1000; i++) {
    OK(gb_mean(y, 1, true, &mean, &fx.err));
    OK(gb_map2(GB_OP_SUB, y, mean, &next, &fx.err));
    gb_node_unref(mean);
    y = grow(y, next);
  }
  hold(GB_OK, y);
  gb_lowered *low = lowered(1, &y);
  assert_true(low->nsteps >= 1000);
  gb_lowered_free(low);
  eval1(y);
  double sum = 0;
  for (size_t i = 0; i < 5; i++) sum += element(y, 0, i);
  assert_true(fabs(sum) <= 1e-14);
  eval_end();
}

static void a_thousand_tensors_are_added_in_one_step (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  double want = 0;
  gb_node *part[1000];
  for (int i = 0; i < 1000; i++) {
    const double v[] = {i, sin(i)};
    part[i] = leaf_of(GB_F64, 0, 1, (size_t[]){2}, v, 0, 0);
    want += sin(i);
  }
  for (int n = 1000; n > 1; n = (n + 1) / 2)
    for (int i = 0; i < n / 2; i++) part[i] = add(part[i], part[n - 1 - i]);
  gb_lowered *low = lowered(1, part);
  assert_int_equal(low->nsteps, 1);
  gb_lowered_free(low);
  eval1(part[0]);
  assert_true(element(part[0], 0, 0) == 999 * 500);
  assert_true(fabs(element(part[0], 0, 1) - want) <= 1e-12);
  eval_end();
}

/* Of two reduced axes the tiles run along the one whose elements lie side by side, unless it is short. */
static void reductions_over_several_axes_run_along_memory (void **unused) {
  static const struct {
    size_t dim[3], tile;
  } cases[] = {{{100, 200, 100}, 100}, {{150, 200, 100}, 100}, {{100, 200, 150}, 150}, {{150, 200, 10}, 150}};
  (void)unused;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    eval_begin(1, (size_t)1 << 28);
    inputs_begin(1, GB_F64, 0);
    gb_node *y = BUILD(gb_reduce, GB_OP_SUM, empty_of(GB_F64, 3, cases[k].dim), 1u << 0 | 1u << 2, false);
    gb_lowered *low = lowered(1, &y);
    assert_int_equal(low->nsteps, 1);
    const gb_fold *f = &low->step[0].fold;
    size_t tile = 0;
    ptrdiff_t stride = 0;
    for (int a = 0; a < f->naxes; a++)
      if (f->axis[a].role == GB_AXIS_TILE) tile = f->axis[a].extent, stride = f->operand[0].stride[a];
    assert_int_equal(tile, cases[k].tile);
    assert_true((stride == 1) == (cases[k].tile == cases[k].dim[2]));
    gb_lowered_free(low);
    eval_end();
  }
}

/* A sum of maxima over separate axes: beyond the most axes of a domain, the expression is named. */
static void more_axes_than_a_domain_has_are_refused_in_words (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 40);
  inputs_begin(1, GB_F64, 0);
  fx.g->where = gb_graph_intern(fx.g, "script.lua:7");
  gb_node *k = NULL;
  for (size_t i = 0; i < 14; i++) {
    gb_node *a = empty_of(GB_F64, 1, (size_t[]){1000}), *b = empty_of(GB_F64, 1, (size_t[]){1001});
    gb_node *c = empty_of(GB_F64, 1, (size_t[]){2000 + i});
    gb_node *t = map1(GB_OP_SIN, mul(unsq(unsq(a, 1), 2), mul(unsq(unsq(b, 1), 0), unsq(unsq(c, 0), 0))));
    gb_node *m = BUILD(gb_reduce, GB_OP_MAX, t, 1u << 2, false);
    k = k == NULL ? m : map1(GB_OP_SIN, add(k, m));
  }
  gb_node *z = sum_axis(k, 1);
  gb_lowered *low;
  assert_int_equal(gb_lower(fx.g, 1, &z, &low, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "script.lua:7 has more than 12 axes at once"));
  eval_end();
}

static int results_of (const gb_lowered *low, int s) { return low->step[s].fold.nouts; }

/* Three parameters are one step, and what depends on one of them another; a number that is summed from points is none of
** these. */
static void numbers_of_leaves_are_one_step (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *x = points(), *v = column(), *y[3], *p[3];
  for (int i = 0; i < 3; i++) p[i] = map1(GB_OP_EXP, in1(1, -1, 1));
  gb_node *mean = map1(GB_OP_TANH, sum_all(v));
  for (int i = 0; i < 3; i++) y[i] = mm(map1(GB_OP_TANH, mul(rbf(mul(x, p[i]), x), mean)), v);
  gb_lowered *low = lowered(3, y);
  int numbers = 0, most = 0;
  for (int s = 0; s < low->nsteps; s++) {
    if (gb_shape_numel(&low->buf[low->step[s].out[0]].shape) != 1) continue;
    numbers++;
    if (results_of(low, s) > most) most = results_of(low, s);
  }
  assert_int_equal(most, 3);
  assert_true(numbers <= 3); /* the parameters, the sum, its tanh */
  gb_lowered_free(low);
  eval_end();
}

/* A number of f64 that is made of one of f32, which is made of one of f64: three steps, though two are of one type. */
static void numbers_of_numbers_are_later_steps (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *y[3];
  y[0] = map1(GB_OP_EXP, in1(1, -1, 1));
  y[1] = map1(GB_OP_SIN, as(y[0], GB_F32));
  y[2] = map1(GB_OP_TANH, as(y[1], GB_F64));
  gb_lowered *low = lowered(3, y);
  assert_int_equal(low->nsteps, 3);
  for (int s = 0; s < low->nsteps; s++) assert_int_equal(results_of(low, s), 1);
  gb_lowered_free(low);
  eval_end();
}

/* A mask that becomes numbers is never stored, by however many points. */
static void masks_as_numbers_stream (void **unused) {
  (void)unused;
  enum { N = 100000 };
  for (int wide = 0; wide < 2; wide++) {
    eval_begin(1, (size_t)1 << 60);
    const gb_dtype t = wide ? GB_F64 : GB_F32;
    inputs_begin(1, t, 0);
    gb_node *x = empty_of(t, 2, (size_t[]){N, 3}), *v = empty_of(t, 2, (size_t[]){N, 1});
    gb_node *mask = map2(GB_OP_LT, BUILD(gb_sqdist, x, x, NULL), num(0.5));
    gb_node *numbers = BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &mask, NULL, NULL, t);
    gb_node *out[] = {rows_sum(numbers, 1), mm(numbers, v), sum_all(numbers)};
    gb_lowered *low = lowered(3, out);
    for (int b = 0; b < low->nbufs; b++) assert_true(low->buf[b].bytes <= (size_t)N * 8);
    gb_lowered_free(low);
    eval_end();
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_stored_is_as_the_table_says),
      cmocka_unit_test(a_number_is_read_in_another_type_without_a_step),
      cmocka_unit_test(numbers_of_leaves_are_one_step),
      cmocka_unit_test(numbers_of_numbers_are_later_steps),
      cmocka_unit_test(leaves_are_read_as_they_lie),
      cmocka_unit_test(what_is_detached_lies_where_it_was_stored),
      cmocka_unit_test(a_hundred_thousand_maps_are_lowered_in_regions),
      cmocka_unit_test(a_thousand_stored_values_may_stand_on_each_other),
      cmocka_unit_test(a_thousand_tensors_are_added_in_one_step),
      cmocka_unit_test(masks_as_numbers_stream),
      cmocka_unit_test(reductions_over_several_axes_run_along_memory),
      cmocka_unit_test(more_axes_than_a_domain_has_are_refused_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
