/* bench_cost.c - predicted against measured seconds of the usual steps; not a test.
**
** Usage: bench_cost [threads [word]]: only cases whose name holds the word. Measured: the fastest of some
** runs of one plan, the allocation of its results included; one thread by the processor time it took,
** several by the clock. */
#include <time.h>

#include "base/clock.h"
#include "cpu/price/cost.h"
#include "plan/price/profile.h"
#include "support/plan/lower_fixture.h"

static const gb_cpu_profile *rates;
static int threads;
static const char *only;
static double worst = 1, log_sum;
static int cases, far_off;

static gb_node *data (size_t n, size_t m) {
  return leaf_of(inputs.dtype, 0, m ? 2 : 1, (size_t[]){n, m}, NULL, 0.2, 0.9);
}

static double seconds_of (const gb_step *st) {
  return st->is_fold ? gb_cpu_price_ops.fold(&rates->taken, threads, &st->fold, 1)
                     : gb_cpu_price_ops.opaque(&rates->taken, threads, &st->opaque, 1);
}

static double predicted_of (const gb_lowered *low) {
  double sum = 0;
  for (int s = 0; s < low->nsteps; s++) sum += seconds_of(&low->step[s]);
  return sum;
}

static double now (void) {
  struct timespec t;
  if (threads > 1) return gb_clock();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs 'y' with the leaf bound to its own value, so that everything above it is computed again. */
static void compare (const char *what, gb_node *y, gb_node *leaf) {
  gb_plan *p;
  double best = INFINITY;
  const double begun = gb_clock();
  gb_tensor out = {0};
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  const double predicted = predicted_of(gb_plan_lowered(p));
  for (int n = 0; n < 3 || (n < 50 && gb_clock() - begun < 0.3); n++) {
    const double start = now();
    OK(gb_plan_run_with(p, 1, &leaf, &leaf->out[0].tensor, &out, &fx.err));
    best = fmin(best, now() - start);
    gb_tensor_clear(&out);
  }
  gb_plan_free(p);
  const double ratio = predicted / best, off = fmax(ratio, 1 / ratio);
  printf("%-44s %11.3f ms %11.3f ms   %5.2f%s\n", what, 1e3 * predicted, 1e3 * best, ratio,
         off > 1.5 ? "  !" : "");
  fflush(stdout);
  worst = fmax(worst, off);
  log_sum += fabs(log(ratio));
  far_off += off > 1.5;
  cases++;
}

static bool wanted (const char *what) { return only == NULL || strstr(what, only) != NULL; }

/* Names a case; the block after it builds and compares, if it is wanted. */
static char what[96];
#define CASE(...)                                                                                            \
  for (bool run = (snprintf(what, sizeof what, __VA_ARGS__), wanted(what)); run; run = false, release_to(0))

static const char *type_name (void) { return gb_dtype_name(inputs.dtype); }
static gb_node *constant (double v) { return BUILD(gb_node_const, fx.g, v, inputs.dtype); }

static gb_node *kernel (gb_profile p, gb_node *x, gb_node *y) {
  return radial(p, dist(x, y, NULL), constant(1.7), p == GB_RQ ? constant(1.3) : NULL);
}

static void products_of_kernels (size_t n, size_t d, size_t columns, bool symmetric) {
  static const char *const name[] = {"rbf", "m12", "m32", "m52", "rq"};
  for (int p = 0; p < GB_NPROFILES; p++) {
    if (p == GB_M12 || p == GB_M52 || (n > 4000 && p != GB_RBF)) continue;
    CASE("%s%s d=%zu R=%zu n=%zu %s", name[p], symmetric ? " symmetric" : "", d, columns, n, type_name()) {
      gb_node *x = data(n, d), *y = symmetric ? x : data(n, d), *v = data(n, columns == 1 ? 0 : columns);
      compare(what, mm(kernel((gb_profile)p, x, y), v), x);
    }
  }
}

static void kernels (void) {
  static const size_t dims[] = {3, 8, 32};
  for (size_t i = 0; i < 3; i++)
    for (size_t r = 1; r <= 16; r += 15) {
      products_of_kernels(2000, dims[i], r, false);
      if (i == 0 || r == 1) products_of_kernels(20000, dims[i], r, false);
    }
  products_of_kernels(2000, 3, 1, true);
  products_of_kernels(2000, 3, 16, true);
  CASE("rbf + m32 d=3 R=1 n=2000 %s", type_name()) {
    gb_node *x = data(2000, 3), *y = data(2000, 3), *v = data(2000, 0);
    compare(what, mm(add(kernel(GB_RBF, x, y), kernel(GB_M32, x, y)), v), x);
  }
  CASE("1 / (1 + d2), d=3 R=1 n=2000 %s", type_name()) {
    gb_node *x = data(2000, 3), *y = data(2000, 3), *v = data(2000, 0);
    compare(what, mm(map1(GB_OP_RECIP, add(dist(x, y, NULL), constant(1))), v), x);
  }
  CASE("exp(-|x - y|_1) d=3 R=1 n=2000 %s", type_name()) {
    gb_node *x = data(2000, 3), *y = data(2000, 3), *v = data(2000, 0);
    gb_node *gap = map1(GB_OP_ABS, sub(unsq(x, 1), unsq(y, 0)));
    compare(what, mm(map1(GB_OP_EXP, map1(GB_OP_NEG, sum_axis(gap, 2))), v), x);
  }
  CASE("gradient of w' K v in x, d=3 n=2000 %s", type_name()) {
    gb_node *x = leaf_of(inputs.dtype, GB_NODE_GRAD, 2, (size_t[]){2000, 3}, NULL, 0.2, 0.9),
            *y = data(2000, 3);
    gb_node *v = data(2000, 0), *w = data(2000, 0);
    compare(what, grad1(sum_all(mul(w, mm(kernel(GB_RBF, x, y), v))), x), x);
  }
  for (size_t d = 3; d <= 32; d += 29) CASE("dense rbf d=%zu n=4000 %s", d, type_name()) {
      gb_node *x = data(4000, d), *y = data(4000, d);
      compare(what, kernel(GB_RBF, x, y), x);
    }
}

static void algebra (void) {
  for (size_t r = 1; r <= 16; r += 15) CASE("stored K (4000) times %zu columns %s", r, type_name()) {
      gb_node *k = data(4000, 4000), *v = data(4000, r == 1 ? 0 : r);
      compare(what, mm(k, v), v);
    }
  for (size_t n = 500; n <= 2000; n *= 2) CASE("gemm %zu %s", n, type_name()) {
      gb_node *a = data(n, n), *b = data(n, n);
      compare(what, mm(a, b), a);
    }
  static const size_t orders[] = {250, 1000, 4000};
  for (int i = 0; i < 3; i++) CASE("cholesky %zu %s", orders[i], type_name()) {
      gb_node *a = data(orders[i], orders[i]);
      for (size_t j = 0; j < orders[i]; j++)
        gb_element_set(a->out[0].tensor.storage->block.data, j * (orders[i] + 1), inputs.dtype,
                       2.0 * (double)orders[i]);
      compare(what, BUILD(gb_cholesky, a, 0.0), a);
    }
  for (size_t r = 1; r <= 512; r = r == 1 ? 16 : r * 32)
    CASE("triangular solve 2000, %zu columns %s", r, type_name()) {
      gb_node *a = data(2000, 2000), *b = data(2000, r);
      for (size_t j = 0; j < 2000; j++)
        gb_element_set(a->out[0].tensor.storage->block.data, j * 2001, inputs.dtype, 4000);
      compare(what, BUILD(gb_triangular_solve, a, b, false, false), b);
    }
  CASE("lu solve 1000, 1 column %s", type_name()) {
    gb_node *a = data(1000, 1000), *b = data(1000, 1);
    compare(what, BUILD(gb_solve, a, b), a);
  }
  CASE("qr 1000 x 200 %s", type_name()) {
    gb_node *a = data(1000, 200);
    compare(what, attr_node(GB_OP_QR, 1, &a, (gb_attr){.i = {0}}), a);
  }
  for (size_t n = 300; n <= 900; n *= 3) CASE("eigh %zu %s", n, type_name()) {
      gb_node *a = data(n, n);
      compare(what, attr_node(GB_OP_EIGH, 1, &a, (gb_attr){.i = {0}}), a);
    }
  CASE("svd 300 x 200 %s", type_name()) {
    gb_node *a = data(300, 200);
    compare(what, attr_node(GB_OP_SVD, 1, &a, (gb_attr){.i = {0}}), a);
  }
  CASE("sort 1e6 %s", type_name()) {
    gb_node *a = data(1000000, 0);
    compare(what, attr_node(GB_OP_SORT, 1, &a, (gb_attr){.i = {0}}), a);
  }
}

static void maps (void) {
  static const gb_op ops[] = {GB_OP_NEG, GB_OP_SQRT, GB_OP_EXP,   GB_OP_LOG,
                              GB_OP_SIN, GB_OP_TANH, GB_OP_LGAMMA};
  for (size_t n = 1000000; n <= 10000000; n *= 10) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
      CASE("%s of %.0e %s", gb_ops[ops[i]].name, (double)n, type_name()) {
        gb_node *x = data(n, 0);
        compare(what, map1(ops[i], x), x);
      }
    CASE("x y + z of %.0e %s", (double)n, type_name()) {
      gb_node *x = data(n, 0), *y = data(n, 0), *z = data(n, 0);
      compare(what, add(mul(x, y), z), x);
    }
    CASE("sum of %.0e %s", (double)n, type_name()) {
      gb_node *x = data(n, 0);
      compare(what, sum_all(x), x);
    }
  }
  CASE("row sums of 3000 x 3000 %s", type_name()) {
    gb_node *x = data(3000, 3000);
    compare(what, sum_axis(x, 1), x);
  }
  CASE("column sums of 3000 x 3000 %s", type_name()) {
    gb_node *x = data(3000, 3000);
    compare(what, sum_axis(x, 0), x);
  }
  CASE("softmax of 3000 x 3000 %s", type_name()) {
    gb_node *x = data(3000, 3000);
    compare(what, BUILD(gb_softmax, x, 1), x);
  }
}

int main (int argc, char **argv) {
  threads = argc > 1 ? atoi(argv[1]) : 1;
  only = argc > 2 ? argv[2] : NULL;
  eval_begin(threads, (size_t)4 << 30);
  const double start = gb_clock();
  const gb_device_profile *figures;
  OK(gb_device_profile_get(device, &figures, &fx.err));
  rates = (const gb_cpu_profile *)figures;
  printf("sheet in %.2f s: %.2e fma/s, %.2e issued/s, threads scale %.2f, read %.1f GB/s, write %.1f, fresh "
         "%.1f, near %.1f\n",
         gb_clock() - start, rates->device.fma, rates->device.issue, rates->device.scaling,
         rates->read * 1e-9, rates->write * 1e-9, rates->fresh * 1e-9, rates->near * 1e-9);
  printf("%-44s %14s %14s   %s\n", "", "predicted", "measured", "ratio");
  for (int single = 0; single < 2; single++) {
    inputs_begin(7, single ? GB_F32 : GB_F64, 0);
    kernels();
    algebra();
    maps();
  }
  printf("%d cases, mean factor %.2f, worst %.2f, %d past 1.5\n", cases, exp(log_sum / cases), worst,
         far_off);
  eval_end();
  return 0;
}
