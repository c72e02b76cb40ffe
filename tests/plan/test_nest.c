/* test_nest.c - products of what streams: each element of their operands is computed once a block of
** columns, whatever the product is part of; and it is stored, or made a window at a time inside what reads
** it, in the bytes that were said and with the same bits. */
#define MOST_BUDGETS 3 /* of an expression */

#include "support/plan/lower_fixture.h"
#include "support/plan/plan_watch.h"

static gb_node *randn_of (size_t n, size_t m, int64_t seed) {
  const gb_shape s = gb_shape_of(2, (size_t[]){n, m});
  const gb_attr attr = {.i = {seed, 1}};
  return BUILD(gb_node_build, fx.g, GB_OP_RANDN, 0, NULL, &attr, &s, inputs.dtype);
}

static gb_node *kernel_of (gb_node *x, gb_node *y) {
  return radial(GB_RBF, BUILD(gb_sqdist, x, y, NULL), num(0.7), NULL);
}
static gb_node *points_of (size_t n) { return in2(n, 2, -1, 1); }
static gb_node *k_of (size_t n) {
  gb_node *x = points_of(n);
  return kernel_of(x, x);
}

/* Work: what the programs of a lowered graph compute, counted by their instructions */

static double extent_of (const gb_fold *f, gb_axes axes) {
  double n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (axes >> a & 1) n *= (double)f->axis[a].extent;
  return n;
}

static bool computes (gb_ins_kind k) {
  return k == GB_INS_RAND || k == GB_INS_MAP || k == GB_INS_SQDIST || k == GB_INS_DOT || k == GB_INS_RADIAL;
}

/* Elementwise values that are computed; right-hand sides share theirs. */
static double evaluations (const gb_lowered *low) {
  double all = 0;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_fold *f = &low->step[s].fold;
    gb_axes loops = 0;
    for (int i = 0; low->step[s].is_fold && i < f->nins; i++) {
      if (f->ins[i].kind == GB_INS_LOOP) loops |= (gb_axes)1 << f->ins[i].axis;
      if (f->ins[i].kind == GB_INS_ENDLOOP) loops &= ~((gb_axes)1 << f->ins[i].axis);
      if (computes(f->ins[i].kind)) all += extent_of(f, f->ins[i].deps | loops);
    }
  }
  return all;
}

static double evaluations_of (gb_node *y) {
  gb_lowered *low = lowered(1, &y);
  const double all = evaluations(low);
  gb_lowered_free(low);
  return all;
}

static void expect_work (const char *what, gb_node *y, double most) {
  const double work = evaluations_of(y);
  if (!(work <= most)) fail_msg("%s: %g evaluations, more than %g", what, work, most);
}

/* A chain of products of generated matrices grows with its length, not with a power of it. */
static void chains_of_generated_operands_compute_each_element_once (void **unused) {
  (void)unused;
  enum { ROWS = 8, WIDE = 16 };
  eval_begin(1, (size_t)1 << 30);
  inputs_begin(1, GB_F64, 0);
  gb_node *x = randn_of(ROWS, WIDE, 99);
  for (int layer = 1; layer <= 14; layer++) {
    x = map1(GB_OP_TANH, mm(x, randn_of(WIDE, WIDE, layer)));
    expect_work("a layer", sum_all(x), layer * (WIDE * WIDE + 2 * ROWS * WIDE) + ROWS * WIDE);
  }
  gb_node *a = mul(randn_of(20, 20, 1), num(0.05)), *v = randn_of(20, 1, 2);
  for (int step = 1; step <= 30; step++) v = mm(a, v);
  expect_work("power iteration", sum_all(v), 30 * 3 * 20 * 20);
  expect_work("generated factors", mm(randn_of(600, 600, 1), tr(randn_of(600, 600, 2))), 3 * 600 * 600);
  eval_end();
}

/* The same for other reductions whose result is spread along the next, one matrix or a batch of them. */
static void chains_of_reductions_compute_each_element_once (void **unused) {
  (void)unused;
  static const gb_op ops[] = {GB_OP_MAX, GB_OP_MIN, GB_OP_PROD, GB_OP_LOGSUMEXP};
  enum { WIDE = 16, BATCH = 5 };
  eval_begin(1, (size_t)1 << 30);
  inputs_begin(1, GB_F64, 0);
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
    gb_node *x = randn_of(1, WIDE, 99), *many = randn_of(BATCH, WIDE, 98);
    for (int layer = 1; layer <= 14; layer++) {
      x = BUILD(gb_reduce, ops[o], add(randn_of(WIDE, WIDE, layer), x), 1u << 1, false);
      x = unsq(x, 0);
      expect_work("a layer", sum_all(x), layer * 2 * WIDE * WIDE + WIDE);
      gb_node *t = unsq(many, 1);
      many = BUILD(gb_reduce, ops[o], add(unsq(randn_of(WIDE, WIDE, layer), 0), t), 1u << 2, false);
      expect_work("a layer of a batch", sum_all(many), layer * (BATCH + 1) * WIDE * WIDE * 2 + BATCH * WIDE);
    }
  }
  gb_node *x = BUILD(gb_reduce, GB_OP_MAX, randn_of(600, 600, 1), 1u << 1, false);
  expect_work("two levels",
              sum_all(BUILD(gb_reduce, GB_OP_MAX, add(randn_of(600, 600, 2), unsq(x, 0)), 1u << 1, false)),
              3 * 600 * 600);
  eval_end();
}

static void products_of_kernels_compute_each_element_twice (void **unused) {
  (void)unused;
  enum { N = 2000 };
  eval_begin(1, (size_t)1 << 40);
  inputs_begin(1, GB_F64, 0);
  gb_node *k = k_of(N), *v = in2(N, 1, -1, 1);
  expect_work("(K K) v", mm(mm(k, k), v), 5.0 * N * N);
  expect_work("((K K) K) v", mm(mm(mm(k, k), k), v), 8.0 * N * N);
  gb_node *t = mm(k, k);
  expect_work("the diagonal of K K", BUILD(gb_node_build, fx.g, GB_OP_DIAGONAL, 1, &t, NULL, NULL, GB_F64),
              6.0 * N * N);
  eval_end();
}

/* A result that is asked for row by row needs little memory at any size. */
static void a_product_of_large_kernels_is_planned_in_a_few_rows (void **unused) {
  (void)unused;
  enum { N = 217437 };
  for (int wide = 0; wide < 2; wide++) {
    eval_begin(1, (size_t)1 << 60);
    inputs_begin(1, wide ? GB_F64 : GB_F32, 0);
    gb_node *x = empty_of(inputs.dtype, 2, (size_t[]){N, 3}),
            *v = empty_of(inputs.dtype, 2, (size_t[]){N, 1});
    gb_node *k = kernel_of(x, x), *y = mm(mm(k, k), v);
    gb_plan *p;
    gb_plan_report r;
    OK(gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = (size_t)6 << 20}, &p, &fx.err));
    gb_plan_report_get(p, &r);
    assert_true(r.minimum <= (size_t)(wide ? 5327592 : 2704884));
    gb_plan_free(p);
    eval_end();
  }
}

/* Bits */

static size_t size;
typedef int expression (gb_node **out);

static gb_node *vector_of (size_t n) { return in2(n, 1, -1, 1); }

static int a_product_times_a_vector (gb_node **out) {
  gb_node *k = k_of(size);
  out[0] = mm(mm(k, k), vector_of(size));
  return 1;
}
static int two_products_one_after_the_other (gb_node **out) {
  gb_node *k = k_of(size), *l = k_of(size - 30);
  gb_node *w = mm(mm(l, kernel_of(points_of(size - 30), points_of(size))), vector_of(size));
  out[0] = add(mm(mm(k, k), vector_of(size)), sum_all(w));
  return 1;
}
static int a_sum_of_all (gb_node **out) {
  gb_node *k = k_of(size);
  out[0] = sum_all(map1(GB_OP_TANH, mm(k, k)));
  return 1;
}
static int products_of_products (gb_node **out) {
  gb_node *k = k_of(size), *l = k_of(size);
  out[0] = mm(mm(mm(k, l), mm(l, k)), vector_of(size));
  return 1;
}
static int generated_layers (gb_node **out) {
  gb_node *x = randn_of(size, 40, 1);
  for (int i = 0; i < 3; i++) x = map1(GB_OP_TANH, mm(x, randn_of(40, 40, 2 + i)));
  out[0] = rows_sum(x, 0);
  out[1] = rows_sum(x, 1);
  return 2;
}
static int sums_around_windows (gb_node **out) {
  gb_node *k = k_of(size), *t = mm(k, map1(GB_OP_SIN, k)), *w = in3(2, 1, 1, 0.5, 1.5);
  out[0] = sum_all(map1(GB_OP_SIN, mul(w, unsq(t, 0))));
  return 1;
}
static int the_smallest_of_rows (gb_node **out) {
  gb_node *k = k_of(size), *t = mm(k, k);
  const gb_attr three = {.i = {0, 3}};
  gb_node *s = BUILD(gb_node_build, fx.g, GB_OP_KMIN, 1, &t, &three, NULL, inputs.dtype);
  out[0] = s;
  return 1;
}
static int every_second_row (gb_node **out) {
  gb_node *k = k_of(size), *t = mm(k, k);
  out[0] = mm(BUILD(gb_slice, t, 0, 1, 2, (ptrdiff_t)(size / 2)), vector_of(size));
  return 1;
}
static int gradients (gb_node **out) {
  gb_node *x = points_of(size), *v = vector_of(size), *k = kernel_of(x, x);
  gb_node *loss = sum_all(square(mm(mm(k, k), v)));
  gb_node *xs[] = {x, v};
  grads(loss, 2, xs, out);
  return 2;
}
static int one_product_read_both_ways (gb_node **out) {
  gb_node *k = k_of(size), *t = mm(k, map1(GB_OP_TANH, k));
  out[0] = mm(t, vector_of(size));
  out[1] = mm(tr(t), vector_of(size));
  out[2] = mm(k, vector_of(size));
  return 3;
}
static int batches (gb_node **out) {
  gb_node *x = in3(3, size / 4, 2, -1, 1), *k = kernel_of(x, x);
  out[0] = mm(mm(k, k), in3(3, size / 4, 1, -1, 1));
  return 1;
}

static const struct {
  const char *name;
  expression *f;
  size_t n;
} expressions[] = {
    {"(K K) v", a_product_times_a_vector, 150},
    {"two products", two_products_one_after_the_other, 150},
    {"sum of tanh(K K)", a_sum_of_all, 530},
    {"((K L) (L K)) v", products_of_products, 40},
    {"generated layers", generated_layers, 1500},
    {"sums of a batch", sums_around_windows, 530},
    {"smallest", the_smallest_of_rows, 100},
    {"every second row", every_second_row, 100},
    {"gradients", gradients, 100},
    {"both ways", one_product_read_both_ways, 100},
    {"batches", batches, 240},
};

/* Budgets of candidates that were weighed, few and far apart, the least among them. */
static int budgets_of (const asked *q, size_t *budget, size_t *minimum, bool *nested) {
  gb_plan *p;
  gb_plan_report r;
  size_t need[256];
  int n = 0, used = 0;
  OK(gb_plan_new(fx.g, q->n, q->out, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  *minimum = r.minimum;
  *nested = false;
  for (int i = 0; i < r.ncandidates && n < 256; i++) {
    *nested |= r.candidate[i].rows > 0 && r.candidate[i].need < r.candidate[0].need;
    if (r.candidate[i].rows > 0) need[n++] = r.candidate[i].need;
  }
  for (int i = 0; i < n && used + 1 < MOST_BUDGETS; i += 1 + n / MOST_BUDGETS)
    if (need[i] > r.minimum && (used == 0 || need[i] < budget[used - 1])) budget[used++] = need[i];
  budget[used++] = r.minimum;
  gb_plan_free(p);
  return used;
}

static void check_expression (const char *name, expression *f, size_t n, gb_dtype t) {
  gb_node *out[MOST_RESULTS];
  size_t budget[MOST_BUDGETS], minimum;
  bits want = {0};
  bool nested;
  eval_begin(2, (size_t)1 << 32);
  inputs_begin(7, t, GB_NODE_GRAD);
  size = n;
  trouble[0] = '\0';
  const asked q = ask((size_t)f(out), out);
  const int budgets = budgets_of(&q, budget, &minimum, &nested);
  if (!nested) TROUBLE("nothing is made by windows");
  check_case(&q, 0, &want);
  for (int i = 0; i < budgets; i++) check_case(&q, budget[i], &want);
  check_closed(&q, &want);
  check_rebound(&q, &want);
  check_refusal(&q, minimum);
  bits_free(&want);
  if (trouble[0] != '\0') fail_msg("%s, %s: %s", name, t == GB_F32 ? "f32" : "f64", trouble);
  eval_end();
}

static void windows_give_the_bits_of_the_whole (void **unused) {
  (void)unused;
  for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++)
    check_expression(expressions[e].name, expressions[e].f, expressions[e].n, e % 2 ? GB_F32 : GB_F64);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_of_generated_operands_compute_each_element_once),
      cmocka_unit_test(chains_of_reductions_compute_each_element_once),
      cmocka_unit_test(products_of_kernels_compute_each_element_twice),
      cmocka_unit_test(a_product_of_large_kernels_is_planned_in_a_few_rows),
      cmocka_unit_test(windows_give_the_bits_of_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
