/* test_fold_bits.c - the same bits with other outputs requested: other right-hand sides, the kernel itself;
** with more threads; after earlier observations. A stored kernel has the bits of a streamed one. */
#include "cpu/fold/fold.h"
#include "support/plan/lower_fixture.h"

#define N 333
#define M 270
#define R 17
#ifndef D
#define D 3 /* features; also built with more than any template unrolls */
#endif

typedef struct points {
  gb_node *x, *y, *l;
} points;
typedef gb_node *kernel_of (const points *p);

static gb_node *radial_of (const points *p, gb_profile which) {
  gb_node *c = map1(GB_OP_RECIP, square(p->l));
  return radial(which, dist(p->x, p->y, NULL), c, which == GB_RQ ? num(1.3) : NULL);
}
static gb_node *k_rbf (const points *p) { return radial_of(p, GB_RBF); }
static gb_node *k_m12 (const points *p) { return radial_of(p, GB_M12); }
static gb_node *k_m32 (const points *p) { return radial_of(p, GB_M32); }
static gb_node *k_m52 (const points *p) { return radial_of(p, GB_M52); }
static gb_node *k_rq (const points *p) { return radial_of(p, GB_RQ); }
static gb_node *k_variance (const points *p) { return mul(k_rbf(p), p->l); }
static gb_node *k_sum (const points *p) { return add(k_rbf(p), mul(k_m32(p), num(0.3))); }
static gb_node *k_product (const points *p) { return mul(k_m52(p), k_rq(p)); }
static gb_node *k_dot (const points *p) { return map1(GB_OP_TANH, mm(p->x, tr(p->y))); }
static gb_node *k_cauchy (const points *p) { return map1(GB_OP_RECIP, add(dist(p->x, p->y, NULL), num(1))); }
static gb_node *k_slope (const points *p) { /* what gradients contract with */
  gb_node *in[2] = {dist(p->x, p->y, NULL), map1(GB_OP_RECIP, square(p->l))};
  return attr_node(GB_OP_RADIAL, 2, in, (gb_attr){.i = {GB_M52, 1}});
}
static gb_node *k_ard (const points *p) {
  double weight[D];
  for (int k = 0; k < D; k++) weight[k] = 0.5 + 0.75 * ((k * 2) % 3);
  gb_node *w = leaf_of(inputs.dtype, 0, 1, (size_t[]){D}, weight, 0, 0);
  return radial(GB_M32, dist(p->x, p->y, w), num(1), NULL);
}
static gb_node *k_manhattan (const points *p) {
  return map1(GB_OP_EXP, map1(GB_OP_NEG, sum_axis(map1(GB_OP_ABS, sub(unsq(p->x, 1), unsq(p->y, 0))), 2)));
}

static const struct {
  const char *name;
  kernel_of *f;
} kernels[] = {
    {"rbf", k_rbf},
    {"matern 1/2", k_m12},
    {"matern 3/2", k_m32},
    {"matern 5/2", k_m52},
    {"rational quadratic", k_rq},
    {"with a variance", k_variance},
    {"sum", k_sum},
    {"product", k_product},
    {"of dots", k_dot},
    {"no profile", k_cauchy},
    {"a derivative", k_slope},
    {"with weights", k_ard},
    {"no front", k_manhattan},
};
#define NKERNELS ((int)(sizeof kernels / sizeof kernels[0]))

typedef struct scene {
  points p;
  gb_node *v;
  size_t n, m;
} scene;

static scene begin (int threads, gb_dtype t, bool square) {
  eval_begin(threads, (size_t)1 << 28);
  inputs_begin(11, t, 0);
  scene s = {.n = N, .m = square ? N : M};
  s.p.l = in0(0.6, 0.7);
  s.p.x = in2(N, D, -1, 1);
  s.p.y = square ? s.p.x : in2(M, D, -1, 1);
  s.v = in2(s.m, R, -1, 1);
  return s;
}

/* Every kernel, both float types, with different points and with the same points twice. */
typedef void scene_test (int k, gb_dtype t, bool square);

static void for_all_scenes (scene_test *f) {
  for (int k = 0; k < NKERNELS; k++)
    for (int c = 0; c < 4; c++) f(k, c & 1 ? GB_F32 : GB_F64, c & 2);
}

#define COMPLAIN(what)                                                                                       \
  fail_msg("%s, %s, %s points: %s", kernels[k].name, gb_dtype_name(t), square ? "the same" : "other", what)

static gb_node *columns (gb_node *v, size_t from, size_t n) { return BUILD(gb_slice, v, 1, from, 1, n); }

static void one_column (int k, gb_dtype t, bool square) {
  const scene s = begin(1, t, square);
  gb_node *kernel = kernels[k].f(&s.p), *all = mm(kernel, s.v);
  eval1(all);
  static const struct {
    size_t from, n;
  } parts[] = {{0, 1}, {3, 1}, {16, 1}, {0, 4}, {5, 8}, {2, 15}, {0, 16}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    gb_node *v = columns(s.v, parts[i].from, parts[i].n),
            *z = mm(kernel, parts[i].n == 1 && i % 2 ? sq(v, 1) : v);
    eval1(z);
    for (size_t e = 0; e < s.n * parts[i].n; e++)
      if (element(z, 0, e) != element(all, 0, e / parts[i].n * R + parts[i].from + e % parts[i].n))
        COMPLAIN("a column has other bits among others");
  }
  eval_end();
}

static void a_column_has_the_bits_it_has_alone (void **unused) {
  (void)unused;
  for_all_scenes(one_column);
}

/* An identity as right-hand side picks out the numbers that the product is made of. */
static void dense_and_streamed (int k, gb_dtype t, bool square) {
  const scene s = begin(1, t, square);
  double *unit = calloc(s.m * s.m, sizeof *unit);
  for (size_t j = 0; j < s.m; j++) unit[j * s.m + j] = 1;
  gb_node *i = leaf_of(t, 0, 2, (size_t[]){s.m, s.m}, unit, 0, 0), *kernel = kernels[k].f(&s.p),
          *all = mm(kernel, i);
  gb_node *one = mm(kernel, BUILD(gb_select, i, 1, s.m - 2));
  free(unit);
  eval1(all);
  eval1(one);
  gb_node *whole = add(kernel, num(0));
  eval1(whole);
  if (!same_bits(all, whole)) COMPLAIN("the dense kernel differs from the streamed one");
  for (size_t e = 0; e < s.n; e++)
    if (element(one, 0, e) != element(whole, 0, e * s.m + s.m - 2))
      COMPLAIN("a column differs from the dense kernel's");
  eval_end();
}

static void a_dense_kernel_is_the_streamed_one (void **unused) {
  (void)unused;
  for_all_scenes(dense_and_streamed);
}

/* The product after the kernel was observed, with it, and without it. */
static void observed (int k, gb_dtype t, bool square) {
  kept_bits want = {0}, dense = {0};
  for (int how = 0; how < 4; how++) {
    const scene s = begin(1, t, square);
    gb_node *kernel = kernels[k].f(&s.p), *z = mm(kernel, s.v);
    if (how == 1) eval1(kernel);
    if (how == 2) eval_all(2, (gb_node *[]){kernel, z});
    if (how == 3) eval_all(2, (gb_node *[]){z, kernel});
    eval1(z);
    if (how == 0) want = keep_bits(z);
    else if (!has_bits(z, &want))
      COMPLAIN(how == 1 ? "observing the kernel changes the product" : "asking for both changes the product");
    if (how == 1) dense = keep_bits(kernel);
    if (how > 1 && !has_bits(kernel, &dense)) COMPLAIN("asking for both changes the kernel");
    eval_end();
  }
  free(want.at);
  free(dense.at);
}

static void observing_a_kernel_changes_no_product (void **unused) {
  (void)unused;
  for_all_scenes(observed);
}

/* A product, its row and column sums, and gradients: for 1, 2 and 3 threads, however small. */
#define RESULTS 6

static void with_threads (int k, gb_dtype t, bool square) {
  kept_bits want[RESULTS];
  for (int threads = 1; threads <= 3; threads++) {
    const scene s = begin(threads, t, square);
    gb_node *kernel = kernels[k].f(&s.p), *z = mm(kernel, s.v), *w = in2(s.n, R, -1, 1), *out[RESULTS];
    out[0] = z;
    out[1] = mm(tr(kernel), w);
    out[2] = BUILD(gb_reduce, GB_OP_LOGSUMEXP, kernel, 2, false);
    out[3] = sum_all(mul(w, z));
    out[4] = BUILD(gb_reduce, GB_OP_MAX, kernel, 1, false);
    out[5] = rows_sum(kernel, 0);
    eval_all(RESULTS, out);
    for (int i = 0; i < RESULTS; i++) {
      if (threads == 1) want[i] = keep_bits(out[i]);
      else if (!has_bits(out[i], &want[i])) COMPLAIN("the number of threads changes bits");
    }
    eval_end();
  }
  for (int i = 0; i < RESULTS; i++) free(want[i].at);
}

static void gradients_with_threads (int k, gb_dtype t, bool square) {
  kept_bits want[5];
  for (int threads = 1; threads <= 3; threads++) {
    eval_begin(threads, (size_t)1 << 28);
    inputs_begin(11, t, GB_NODE_GRAD);
    points p = {.l = in0(0.6, 0.7), .x = in2(1100, D, -1, 1)};
    p.y = square ? p.x : in2(700, D, -1, 1);
    gb_node *v = in1(square ? 1100 : 700, -1, 1), *w = in1(1100, -1, 1), *kernel = kernels[k].f(&p), *out[5];
    gb_node *xs[4] = {p.x, v, p.l, p.y}, *loss = sum_all(mul(w, mm(kernel, v)));
    const size_t n = square ? 3 : 4;
    OK(gb_grad(loss, NULL, n, xs, true, out, &fx.err));
    for (size_t i = 0; i < n; i++) hold(GB_OK, out[i]);
    out[n] = loss;
    eval_all(n + 1, out);
    for (size_t i = 0; i <= n; i++) {
      if (threads == 1) want[i] = keep_bits(out[i]);
      else if (!has_bits(out[i], &want[i])) COMPLAIN("the number of threads changes bits of a gradient");
    }
    if (threads == 3)
      for (size_t i = 0; i <= n; i++) free(want[i].at);
    eval_end();
  }
}

static void threads_change_no_bits (void **unused) {
  (void)unused;
  const double alone = gb_cpu_fold_alone;
  gb_cpu_fold_alone = 0;
  for_all_scenes(with_threads);
  gradients_with_threads(0, GB_F32, false);
  gradients_with_threads(6, GB_F64, false);
  gradients_with_threads(3, GB_F32, true);
  gradients_with_threads(12, GB_F64, true);
  gb_cpu_fold_alone = alone;
}

/* The compiled forms and the interpreter. */
static void interpreted (int k, gb_dtype t, bool square) {
  kept_bits want = {0}, one = {0};
  for (int vm = 0; vm < 2; vm++) {
    gb_cpu_fold_no_templates = vm;
    const scene s = begin(2, t, square);
    gb_node *kernel = kernels[k].f(&s.p), *z = mm(kernel, s.v), *c = mm(kernel, BUILD(gb_select, s.v, 1, 4));
    eval_all(2, (gb_node *[]){z, c});
    if (!vm) want = keep_bits(z), one = keep_bits(c);
    else if (!has_bits(z, &want) || !has_bits(c, &one)) COMPLAIN("the interpreter gives other bits");
    eval_end();
  }
  gb_cpu_fold_no_templates = false;
  free(want.at);
  free(one.at);
}

static void the_interpreter_gives_the_bits_of_the_templates (void **unused) {
  (void)unused;
  for_all_scenes(interpreted);
}

/* Rows: chains of GB_CANON elements, ascending, one after the other into the total. */
static void rows_are_added_in_ascending_chains (void **unused) {
  (void)unused;
  const size_t n = 70, m = 2001;
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(5, GB_F64, 0);
  gb_node *x = in2(n, m, -1, 1), *y = sum_axis(x, 1);
  eval1(y);
  for (size_t i = 0; i < n; i++) {
    double total = 0;
    for (size_t c = 0; c < m; c += GB_CANON) {
      double chain = 0;
      for (size_t j = c; j < m && j < c + GB_CANON; j++) chain += element(x, 0, i * m + j);
      total += chain;
    }
    if (element(y, 0, i) != total) fail_msg("row %zu is %.17g, want %.17g", i, element(y, 0, i), total);
  }
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_column_has_the_bits_it_has_alone),
      cmocka_unit_test(a_dense_kernel_is_the_streamed_one),
      cmocka_unit_test(observing_a_kernel_changes_no_product),
      cmocka_unit_test(threads_change_no_bits),
      cmocka_unit_test(the_interpreter_gives_the_bits_of_the_templates),
      cmocka_unit_test(rows_are_added_in_ascending_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
