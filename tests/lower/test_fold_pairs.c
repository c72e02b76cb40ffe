/* test_fold_pairs.c - how often a pair of points is visited: a product and all its gradients once,
** symmetric products half as often; counted in the kernels. */
#include "support/plan/lower_fixture.h"

#define N 371
#define M 203
#define D 3

/* The inputs of a kernel product. */
typedef struct problem {
  gb_node *x, *y, *v, *w; /* points, right-hand sides, cotangent */
  gb_node *theta[8];      /* lengthscale, variance, ... */
  int ntheta;
} problem;

typedef gb_node *kernel_of (problem *p);

static gb_node *theta (problem *p, double lo, double hi) { return p->theta[p->ntheta++] = in0(lo, hi); }
static gb_node *inverse_square (gb_node *l) { return map1(GB_OP_RECIP, square(l)); }

static gb_node *plain (problem *p, gb_profile which) {
  gb_node *l = theta(p, 0.5, 1.5);
  return radial(which, dist(p->x, p->y, NULL), inverse_square(l), which == GB_RQ ? theta(p, 0.5, 2) : NULL);
}
static gb_node *with_variance (problem *p, gb_profile which) {
  gb_node *k = plain(p, which);
  return mul(k, theta(p, 0.5, 1.5));
}
static gb_node *k_rbf (problem *p) { return with_variance(p, GB_RBF); }
static gb_node *k_m12 (problem *p) { return with_variance(p, GB_M12); }
static gb_node *k_m32 (problem *p) { return with_variance(p, GB_M32); }
static gb_node *k_m52 (problem *p) { return with_variance(p, GB_M52); }
static gb_node *k_rq (problem *p) { return with_variance(p, GB_RQ); }
static gb_node *k_formula (problem *p) {
  gb_node *d = sub(unsq(p->x, 1), unsq(p->y, 0)), *l = theta(p, 0.5, 1.5);
  return mul(map1(GB_OP_EXP, mul(sum_axis(square(dvd(d, l)), 2), num(-0.5))), theta(p, 0.5, 1.5));
}
static gb_node *k_ard (problem *p) {
  gb_node *l = p->theta[p->ntheta++] = in1(D, 0.5, 1.5);
  return mul(radial(GB_RBF, dist(p->x, p->y, inverse_square(l)), num(1), NULL), theta(p, 0.5, 1.5));
}
static gb_node *k_sum (problem *p) { return add(with_variance(p, GB_RBF), with_variance(p, GB_M32)); }
static gb_node *k_product (problem *p) { return mul(with_variance(p, GB_M52), plain(p, GB_RBF)); }
static gb_node *k_linear (problem *p) {
  return add(with_variance(p, GB_RBF), mul(mm(p->x, tr(p->y)), theta(p, 0.5, 1.5)));
}
/* Periodic: RBF of points embedded on a circle. */
static gb_node *k_periodic (problem *p) {
  gb_node *period = theta(p, 1.5, 2.5), *at[2][2], *of[2] = {p->x, p->y}, *l = theta(p, 0.5, 1.5);
  for (int i = 0; i < 2; i++) {
    gb_node *angle = mul(dvd(of[i], period), num(6.283185307179586));
    at[i][0] = map1(GB_OP_SIN, angle);
    at[i][1] = map1(GB_OP_COS, angle);
  }
  gb_node *a = BUILD(gb_cat, 2, at[0], 1), *b = BUILD(gb_cat, 2, at[1], 1);
  return radial(GB_RBF, dist(a, b, NULL), inverse_square(l), NULL);
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
    {"rbf as a formula", k_formula},
    {"rbf, a lengthscale a feature", k_ard},
    {"sum", k_sum},
    {"product", k_product},
    {"sum with linear", k_linear},
    {"periodic", k_periodic},
};
#define NKERNELS (sizeof kernels / sizeof kernels[0])

static problem new_problem (uint64_t seed, gb_dtype t, size_t r) {
  inputs_begin(seed, t, GB_NODE_GRAD);
  problem p = {.x = in2(N, D, -1, 1), .y = in2(M, D, -1, 1)};
  p.v = r == 0 ? in1(M, -1, 1) : in2(M, r, -1, 1);
  p.w = r == 0 ? in1(N, -1, 1) : in2(N, r, -1, 1);
  return p;
}

/* The loss and its gradients with respect to everything. Returns their number. */
static size_t loss_and_gradients (const problem *p, gb_node *loss, gb_node **out) {
  gb_node *xs[8] = {p->x, p->y, p->v};
  size_t n = 3;
  for (int i = 0; i < p->ntheta; i++) xs[n++] = p->theta[i];
  out[0] = loss;
  grads(loss, n, xs, out + 1);
  return n + 1;
}

/* Steps of n x d elements, such as sums over points, count their elements too. */
#define SMALL (10 * (N + M) * 2 * D)

static void expect_visits (const char *name, const char *what, size_t n, gb_node *const *out,
                           uint64_t visits) {
  gb_lowered *low = lowered(n, out);
  eval_all(n, out);
  const uint64_t pairs = gb_last_eval(fx.g).pairs;
  if (pairs < visits * N * M || pairs > visits * N * M + SMALL) {
    print_steps(low);
    fail_msg("%s: %s visits %llu pairs, not %llu times %d", name, what, (unsigned long long)pairs,
             (unsigned long long)visits, N * M);
  }
  gb_lowered_free(low);
}

/* Central differences of the loss along one element of one input. */
static void check_against_differences (gb_node *loss, gb_node *x, gb_node *gradient, size_t e) {
  const double h = 1e-5;
  double at[2];
  for (int side = 0; side < 2; side++) {
    double *values = malloc(count_of(x) * sizeof *values);
    for (size_t i = 0; i < count_of(x); i++) values[i] = element(x, 0, i) + (i == e ? (side ? h : -h) : 0);
    const gb_shape *s = gb_node_shape(x);
    gb_node *moved = leaf_of(GB_F64, GB_NODE_GRAD, s->ndim, s->dim, values, 0, 0),
            *l = BUILD(gb_substitute, loss, 1, &x, &moved);
    eval1(l);
    at[side] = element(l, 0, 0);
    free(values);
  }
  const double want = (at[1] - at[0]) / (2 * h), got = element(gradient, 0, e);
  if (!(fabs(got - want) <= 2e-5 * (1 + fabs(want))))
    fail_msg("gradient %.10g, differences %.10g", got, want);
}

static void a_product_and_all_its_gradients_visit_each_pair_once (void **unused) {
  (void)unused;
  for (size_t k = 0; k < NKERNELS; k++)
    for (size_t r = 0; r <= 4; r += 4)
      for (int f32 = 0; f32 < 2; f32++) {
        gb_node *out[16];
        eval_begin(1, (size_t)1 << 28);
        problem p = new_problem(k + 1, f32 ? GB_F32 : GB_F64, r);
        gb_node *z = mm(kernels[k].f(&p), p.v), *loss = sum_all(mul(p.w, z));
        const size_t n = loss_and_gradients(&p, loss, out);
        expect_visits(kernels[k].name, "product and gradients", n, out, 1);
        if (!f32) {
          gb_node *xs[8] = {p.x, p.y, p.v, p.theta[0], p.theta[1], p.theta[2], p.theta[3]};
          for (size_t i = 0; i + 1 < n; i++)
            check_against_differences(loss, xs[i], out[i + 1], count_of(xs[i]) / 2);
        }
        eval_end();
      }
}

static void gradients_that_need_the_product_visit_each_pair_twice (void **unused) {
  (void)unused;
  for (size_t k = 0; k < NKERNELS; k++) {
    gb_node *out[16];
    eval_begin(1, (size_t)1 << 28);
    problem p = new_problem(k + 1, GB_F64, 0);
    gb_node *z = mm(kernels[k].f(&p), p.v);
    const size_t n = loss_and_gradients(&p, sum_all(square(sub(z, p.w))), out);
    expect_visits(kernels[k].name, "product, square and gradients", n, out, 2);
    eval_end();
  }
}

/* The same points on both sides: their gradient gathers what rows and columns say of them. */
static void gradients_of_one_set_of_points_visit_each_pair_once (void **unused) {
  (void)unused;
  for (size_t k = 0; k < NKERNELS; k++) {
    gb_node *out[16];
    eval_begin(2, (size_t)1 << 28);
    inputs_begin(k + 3, GB_F64, GB_NODE_GRAD);
    problem p = {.x = in2(M, D, -1, 1), .v = in1(M, -1, 1), .w = in1(M, -1, 1)};
    p.y = p.x;
    gb_node *loss = sum_all(mul(p.w, mm(kernels[k].f(&p), p.v)));
    gb_node *xs[8] = {p.x, p.v, p.theta[0], p.theta[1]};
    const size_t n = p.ntheta > 1 ? 4 : 3;
    out[0] = loss;
    grads(loss, n, xs, out + 1);
    eval_all(n + 1, out);
    if (gb_last_eval(fx.g).pairs < M * M || gb_last_eval(fx.g).pairs > M * M + SMALL)
      fail_msg("%s: %llu pairs of %d points", kernels[k].name, (unsigned long long)gb_last_eval(fx.g).pairs,
               M);
    for (size_t i = 0; i < n; i++) check_against_differences(loss, xs[i], out[i + 1], count_of(xs[i]) / 2);
    eval_end();
  }
}

/* Batches of points: B times as many pairs, each once. */
#define B 5

static void batched_products_and_gradients_visit_each_pair_once (void **unused) {
  (void)unused;
  for (int shared = 0; shared < 2; shared++)
    for (size_t r = 1; r <= 4; r += 3) {
      gb_node *out[16];
      eval_begin(1, (size_t)1 << 28);
      inputs_begin(7, GB_F64, GB_NODE_GRAD);
      problem p = {.x = in3(B, N, D, -1, 1),
                   .y = shared ? in2(M, D, -1, 1) : in3(B, M, D, -1, 1),
                   .v = in3(B, M, r, -1, 1),
                   .w = in3(B, N, r, -1, 1)};
      gb_node *loss = sum_all(mul(p.w, mm(k_rbf(&p), p.v)));
      const size_t n = loss_and_gradients(&p, loss, out);
      expect_visits(shared ? "rbf of shared points" : "rbf of batches", "product and gradients", n, out, B);
      gb_node *xs[8] = {p.x, p.y, p.v, p.theta[0], p.theta[1]};
      for (size_t i = 0; i + 1 < n; i++)
        check_against_differences(loss, xs[i], out[i + 1], count_of(xs[i]) / 2);
      eval_end();
    }
}

/* Symmetric products */

static gb_node *k_noisy (problem *p) {
  return add(with_variance(p, GB_RBF), mul(identity_of(gb_node_shape(p->x)->dim[0]), theta(p, 0.1, 0.2)));
}
static gb_node *k_noisy_sum (problem *p) {
  return add(k_sum(p), mul(identity_of(gb_node_shape(p->x)->dim[0]), theta(p, 0.1, 0.2)));
}

static const struct {
  const char *name;
  kernel_of *f;
} symmetric[] = {
    {"rbf", k_rbf},
    {"matern 1/2", k_m12},
    {"matern 3/2", k_m32},
    {"matern 5/2", k_m52},
    {"rational quadratic", k_rq},
    {"rbf as a formula", k_formula},
    {"rbf, a lengthscale a feature", k_ard},
    {"sum", k_sum},
    {"product", k_product},
    {"sum with linear", k_linear},
    {"rbf with noise", k_noisy},
    {"sum with noise", k_noisy_sum},
    {"periodic", k_periodic},
};

/* K(x, y) v where y is x, or a tensor of the same numbers; out takes the product. */
static uint64_t product_of (size_t k, gb_dtype t, size_t n, size_t r, bool same, double *out) {
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(k + 20, t, 0);
  problem p = {.x = in2(n, D, -1, 1)};
  inputs.next = 0;
  p.y = same ? p.x : in2(n, D, -1, 1);
  inputs.next = 1;
  p.v = r == 1 ? in1(n, -1, 1) : in2(n, r, -1, 1);
  gb_node *z = mm(symmetric[k].f(&p), p.v);
  eval1(z);
  for (size_t i = 0; i < n * r; i++) out[i] = element(z, 0, i);
  const uint64_t pairs = gb_last_eval(fx.g).pairs;
  eval_end();
  return pairs;
}

static void symmetric_products_visit_half_the_pairs (void **unused) {
  (void)unused;
  static const size_t sizes[] = {1, 5, 64, 65, 333, 700}, columns[] = {1, 4, 17};
  for (size_t k = 0; k < sizeof symmetric / sizeof symmetric[0]; k++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      for (size_t c = 0; c < 3; c++)
        for (int f32 = 0; f32 < 2; f32++) {
          const size_t n = sizes[i], r = columns[c];
          double *half = malloc(n * r * sizeof *half), *full = malloc(n * r * sizeof *full);
          const uint64_t pairs = product_of(k, f32 ? GB_F32 : GB_F64, n, r, true, half);
          product_of(k, f32 ? GB_F32 : GB_F64, n, r, false, full);
          if (n > 300 && pairs > (n * n + GB_TI * n) / 2 + 4 * n * D)
            fail_msg("%s, n = %zu, r = %zu: %llu pairs", symmetric[k].name, n, r, (unsigned long long)pairs);
          for (size_t e = 0; e < n * r; e++)
            if (!(fabs(half[e] - full[e]) <= (f32 ? 2e-6 : 4e-15) * 3 * sqrt((double)n)))
              fail_msg("%s, n = %zu, r = %zu: element %zu is %.17g, unsymmetrically %.17g", symmetric[k].name,
                       n, r, e, half[e], full[e]);
          free(half);
          free(full);
        }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_and_all_its_gradients_visit_each_pair_once),
      cmocka_unit_test(gradients_that_need_the_product_visit_each_pair_twice),
      cmocka_unit_test(gradients_of_one_set_of_points_visit_each_pair_once),
      cmocka_unit_test(batched_products_and_gradients_visit_each_pair_once),
      cmocka_unit_test(symmetric_products_visit_half_the_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
