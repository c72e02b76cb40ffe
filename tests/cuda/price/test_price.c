/* test_price.c - predicted seconds of a GPU: positive, and no smaller where there is more to do; its figures, measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/price/profile.h"
#include "cuda/support/gpu_fixture.h"
#include "support/cpu/products.h"
#include "support/random/fold_random.h"

enum { PROGRAMS = 300 };

static gb_axes axes_of (const gb_fold *f, int operand) {
  gb_axes axes = 0;
  for (int a = 0; operand >= 0 && a < f->naxes; a++)
    if (f->operand[operand].stride[a] != 0) axes |= 1u << a;
  return axes;
}

/* What lowering knows of a program, and the fixture leaves out: the dependence sets of its values. */
static void find_dependences (gb_fold *f) {
  gb_axes of[256] = {0};
  for (int n = 0; n < f->nins; n++) {
    gb_ins *i = &f->ins[n];
    const bool operands = i->kind == GB_INS_LOAD || i->kind == GB_INS_RAND || i->kind == GB_INS_SQDIST ||
                          i->kind == GB_INS_DOT || (i->kind == GB_INS_IOTA && i->axis < 0);
    const int value[] = {i->a, i->b, i->c};
    i->deps = i->kind == GB_INS_IOTA && i->axis >= 0 ? 1u << i->axis : 0;
    if (operands) i->deps |= axes_of(f, i->x) | axes_of(f, i->y) | axes_of(f, i->w);
    if (i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT) i->deps &= ~(1u << i->axis);
    for (int k = 0; k < 3; k++)
      if (value[k] >= 0) i->deps |= of[value[k]];
    if (i->dst >= 0) of[i->dst] = i->deps;
  }
}

static double seconds_of (const gb_fold *f, double fraction) {
  return gb_cuda_price_ops.fold(gb_cuda_price_ops.fixed(), 1, f, fraction);
}

static void more_work_is_never_faster (void **state) {
  (void)state;
  int axes = 0;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    gen g;
    random_program(&g, seed);
    gb_fold *f = &g.x.f;
    find_dependences(f);
    for (int a = 0; a < f->naxes; a++, axes++) {
      const size_t extent = f->axis[a].extent;
      double before = 0;
      for (size_t n = 1; n < 200000; n = n * 5 / 4 + 1) {
        f->axis[a].extent = n;
        const double s = seconds_of(f, 1);
        if (!(s > 0 && isfinite(s) && s >= before * (1 - 1e-12)))
          fail_msg("program %d, axis %d of %zu: %g after %g", (int)seed, a, n, s, before);
        before = s;
      }
      f->axis[a].extent = extent;
    }
    const double whole = seconds_of(f, 1), half = seconds_of(f, 0.5), none = seconds_of(f, 0);
    assert_true(none > 0 && half >= none && whole >= half);
    fx_free(&g.x);
  }
  assert_true(axes > 3 * PROGRAMS);
}

/* -- products of kernels */

/* The slots of a pair, as a disassembler counts them in the loops of nvcc 13.0 for sm_90; 0: not counted. */
static const struct {
  gb_profile profile;
  size_t d, columns;
  gb_dtype compute;
  double unit, exact;
} counted[] = {{GB_RBF, 3, 1, GB_F32, 9.28, 20.4},  {GB_RBF, 8, 1, GB_F32, 19.6, 30.7},
               {GB_RBF, 3, 16, GB_F32, 25.6, 36.8}, {GB_RBF, 8, 16, GB_F32, 36.0, 47.1},
               {GB_RBF, 32, 1, GB_F32, 70.3, 81.5}, {GB_RBF, 32, 16, GB_F32, 89.3, 100.5},
               {GB_M32, 3, 1, GB_F32, 14.3, 39.3},  {GB_RBF, 3, 1, GB_F64, 0, 32.2}};

static double slots_of (const gb_fold *f, double pairs, const char *arithmetic) {
  const gb_cuda_work w = gb_cuda_work_of(f, arithmetic);
  return (w.slots + w.f64) / pairs;
}

static void check_slots (double got, double want, size_t d, size_t columns) {
  if (want > 0 && !(fabs(got - want) <= 0.03 * want))
    fail_msg("d = %zu, %zu columns: %.2f slots a pair, %.2f counted", d, columns, got, want);
}

/* Of products of points with themselves: of an evaluated pair, in a wave that evaluates each one once. */
static const struct {
  gb_profile profile;
  size_t d, columns;
  gb_dtype compute;
  double unit, exact;
} once[] = {
    {GB_RBF, 1, 1, GB_F32, 6.59, 0},  {GB_RBF, 3, 1, GB_F32, 10.59, 21.8}, {GB_RBF, 3, 2, GB_F32, 12.97, 0},
    {GB_RBF, 3, 4, GB_F32, 17.6, 0},  {GB_RBF, 8, 1, GB_F32, 20.8, 0},     {GB_RBF, 8, 4, GB_F32, 29.2, 0},
    {GB_RBF, 32, 1, GB_F32, 72.5, 0}, {GB_M32, 3, 1, GB_F32, 15.6, 0},     {GB_RBF, 3, 1, GB_F64, 0, 33.5}};

static void slots_of_a_wave_are_those_counted (void **state) {
  (void)state;
  const size_t n = 512 * 4;
  const double pairs = 10 * 512.0 * 512; /* squares on the diagonal and above it */
  for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
    fx x;
    fx_init(&x, once[i].compute, 1);
    x.f.symmetric = true;
    const product q =
        product_of(&x, once[i].profile, n, n, once[i].d, once[i].columns, once[i].compute, true);
    product_contraction(&x, &q, q.k, once[i].columns == 1, fx_bit(q.tile));
    find_dependences(&x.f);
    check_slots(slots_of(&x.f, pairs, "unit"), once[i].unit, once[i].d, once[i].columns);
    check_slots(slots_of(&x.f, pairs, "exact"), once[i].exact, once[i].d, once[i].columns);
    assert_true(gb_cuda_work_of(&x.f, "unit").launches == 2);
    fx_free(&x);
  }
}

/* Sixteen columns are no wave: rows right of the diagonal and columns left of it are a kernel each, of all pairs. */
static void many_columns_take_two_passes (void **state) {
  (void)state;
  const size_t n = 512 * 4;
  fx x;
  fx_init(&x, GB_F32, 1);
  x.f.symmetric = true;
  const product q = product_of(&x, GB_RBF, n, n, 3, 16, GB_F32, true);
  product_contraction(&x, &q, q.k, false, fx_bit(q.tile));
  find_dependences(&x.f);
  check_slots(slots_of(&x.f, (double)n * (double)n, "unit"), 25.6, 3, 16);
  assert_true(gb_cuda_work_of(&x.f, "unit").launches == 3);
  fx_free(&x);
}

/* What is predicted is what was counted, within 3 %. */
static void slots_are_those_counted (void **state) {
  (void)state;
  const size_t n = 512 * 4, m = 256 * 4;
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
    fx x;
    fx_init(&x, counted[i].compute, 1);
    const product q =
        product_of(&x, counted[i].profile, n, m, counted[i].d, counted[i].columns, counted[i].compute, false);
    product_contraction(&x, &q, q.k, counted[i].columns == 1, fx_bit(q.tile));
    find_dependences(&x.f);
    const double pairs = (double)n * (double)m;
    check_slots(slots_of(&x.f, pairs, "unit"), counted[i].unit, counted[i].d, counted[i].columns);
    check_slots(slots_of(&x.f, pairs, "exact"), counted[i].exact, counted[i].d, counted[i].columns);
    fx_free(&x);
  }
}

/* LSE of a kernel, or the position of the least distance. */
static double slots_of_reduction (gb_monoid m, size_t d, const char *arithmetic) {
  const size_t n = 512 * 4;
  fx x;
  fx_init(&x, GB_F32, 1);
  const int lane = fx_axis(&x, GB_AXIS_LANE, n), tile = fx_axis(&x, GB_AXIS_TILE, n);
  const int feature = fx_axis(&x, GB_AXIS_INNER, d);
  const int xl = fx_operand(&x, GB_F32, fx_bit(lane) | fx_bit(feature), true);
  const int xt = fx_operand(&x, GB_F32, fx_bit(tile) | fx_bit(feature), true);
  int v = fx_along(&x, GB_INS_SQDIST, xl, xt, -1, feature);
  if (m == GB_LSE) v = fx_radial(&x, GB_RBF, 0, 0, v, fx_bind(&x, 0.8), -1);
  fx_emit(&x, v, GB_OUT_REDUCE, m, fx_bit(tile), 0, m == GB_LSE ? GB_F32 : GB_I64, -1, true);
  find_dependences(&x.f);
  const double slots = slots_of(&x.f, (double)n * (double)n, arithmetic);
  fx_free(&x);
  return slots;
}

static void slots_of_reductions_are_those_counted (void **state) {
  (void)state;
  check_slots(slots_of_reduction(GB_LSE, 3, "unit"), 23.1, 3, 0);
  check_slots(slots_of_reduction(GB_LSE, 3, "exact"), 34.2, 3, 0);
  check_slots(slots_of_reduction(GB_ARGMINIMUM, 2, "unit"), 8.5, 2, 0);
  check_slots(slots_of_reduction(GB_ARGMINIMUM, 3, "unit"), 10.5, 3, 0);
}

/* An op of two square matrices. */
static gb_opaque square (gb_op op, size_t n) {
  const gb_shape s = gb_shape_of(2, (size_t[]){n, n});
  gb_opaque o = {.op = op, .nin = 2, .nout = 1, .unit = 1};
  for (int i = 0; i < 2; i++) o.in_dtype[i] = GB_F64, o.in_shape[i] = s;
  o.out_dtype[0] = GB_F64, o.out_shape[0] = s;
  return o;
}

static void larger_matrices_are_never_faster (void **state) {
  (void)state;
  for (int op = 0; op < GB_NOPS; op++) {
    if (gb_ops[op].kind != GB_KIND_OPAQUE) continue;
    double before = 0;
    for (size_t n = 1; n < 20000; n = n * 4 / 3 + 1) {
      const gb_opaque o = square((gb_op)op, n);
      const double s = gb_cuda_price_ops.opaque(gb_cuda_price_ops.fixed(), 1, &o, 1);
      if (!(s > 0 && isfinite(s) && s >= before * (1 - 1e-12)))
        fail_msg("%s of order %zu: %g after %g", gb_ops[op].name, n, s, before);
      before = s;
    }
  }
}

typedef struct seen {
  char name[400][64];
  int n, bad;
} seen;

static void check_figure (void *ud, const char *name, double *value) {
  seen *s = ud;
  for (int i = 0; i < s->n; i++)
    if (strcmp(s->name[i], name) == 0) fail_msg("two figures are named %s", name);
  assert_true(s->n < 400 && strchr(name, ' ') == NULL);
  snprintf(s->name[s->n++], sizeof *s->name, "%s", name);
  if (strcmp(name, "calm") != 0 && strcmp(name, "spread") != 0 && !(*value > 0 && isfinite(*value))) {
    print_message("%s = %g\n", name, *value);
    s->bad++;
  }
}

/* All of them, on a device that comes back with nothing held. */
static void figures_are_measured (void **state) {
  (void)state;
  static seen s;
  gb_device *dev;
  gb_error err;
  gb_cuda_profile p;
  gpu_begin();
  if (gpu_open(0, (size_t)1 << 28, &dev, &err) != GB_OK) fail_msg("%s", err.text);
  if (gb_cuda_price_ops.measure(dev, &p.taken, &err) != GB_OK) fail_msg("%s", err.text);
  assert_int_equal(dev->ledger.used, 0);
  gb_cuda_price_ops.walk(&p.taken, check_figure, &s);
  assert_int_equal(s.bad, 0);
  assert_true(s.n > 120);
  assert_true(p.dense[0][GB_CUDA_TIME_GEMM][GB_CUDA_ORDERS - 1] > p.dense[0][GB_CUDA_TIME_GEMM][0]);
  gpu_close(dev);
}

/* A device without the room is not measured, and says so. */
static void measuring_needs_its_room (void **state) {
  (void)state;
  gb_device *dev;
  gb_error err;
  gb_cuda_profile p;
  gpu_begin();
  if (gpu_open(0, (size_t)32 << 20, &dev, &err) != GB_OK) fail_msg("%s", err.text);
  assert_int_equal(gb_cuda_price_ops.measure(dev, &p.taken, &err), GB_ENOMEM);
  assert_int_equal(dev->ledger.used, 0);
  gpu_close(dev);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(more_work_is_never_faster),
                                     cmocka_unit_test(slots_are_those_counted),
                                     cmocka_unit_test(slots_of_a_wave_are_those_counted),
                                     cmocka_unit_test(slots_of_reductions_are_those_counted),
                                     cmocka_unit_test(many_columns_take_two_passes),
                                     cmocka_unit_test(larger_matrices_are_never_faster),
                                     cmocka_unit_test(figures_are_measured),
                                     cmocka_unit_test(measuring_needs_its_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
