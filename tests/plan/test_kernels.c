/* test_kernels.c - what a device decides: a plan compiles each fold once a device, whatever windows, threads and
** runs follow; schedules and prices are the device's; a device that cannot compile a fold fails the planning. */
#include "cpu/price/profile.h"
#include "plan/choose/plan_internal.h"
#include "program/schedule.h"
#include "support/plan/eval_fixture.h"
#include "support/plan/lower_fixture.h"

enum { N = 600, M = 700 };

/* rbf(x, y) v in one fold */
static gb_node *product (size_t columns) {
  inputs_begin(3, GB_F64, 0);
  gb_node *x = in2(N, 3, -1, 1), *y = in2(M, 3, -1, 1), *v = in2(M, columns, -1, 1);
  return mm(map1(GB_OP_EXP, mul(dist(x, y, NULL), num(-0.5))), v);
}

static int folds_of (const gb_plan *p) {
  const gb_lowered *low = gb_plan_lowered(p);
  int n = 0;
  for (int s = 0; s < low->nsteps; s++) n += low->step[s].is_fold;
  return n;
}

static void each_fold_is_compiled_once (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  gb_node *z = product(3);
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  assert_int_equal(device->compiled, 1);
  gb_node *same = product(3);
  OK(gb_eval(fx.g, 1, &same, &fx.err));
  assert_int_equal(device->compiled, 1);
  eval_end();
}

/* Rows in windows of any size, and any number of threads. */
static void windows_share_a_kernel (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  gb_node *z = product(1);
  gb_plan *p;
  gb_plan_report r;
  OK(gb_plan_new(fx.g, 1, &z, &(gb_plan_options){.least = true}, &p, &fx.err));
  gb_plan_report_get(p, &r);
  assert_true(r.ncandidates > 5); /* windows of many sizes were weighed */
  assert_int_equal(folds_of(p), 1);
  for (int threads = 1; threads <= 3; threads++) {
    OK(gb_device_set_threads(device, threads, &fx.err));
    OK(gb_plan_run(p, &fx.err));
  }
  assert_int_equal(device->compiled, 1);
  gb_plan_free(p);
  eval_end();
}

/* One more for each number of columns that a window can have. */
static void columns_have_kernels_of_their_own (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  gb_node *z = product(5);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &z, NULL, &p, &fx.err));
  gb_kernels *k = p->prog->kernels[0];
  gb_fold part = p->prog->low->step[0].fold;
  int axis = -1;
  for (int a = 0; a < part.naxes; a++)
    if (part.axis[a].role == GB_AXIS_INNER && part.axis[a].extent == 5) axis = a;
  assert_true(axis >= 0);
  const gb_kernel *whole = gb_kernels_find(k, 0, &part);
  assert_non_null(whole);
  assert_int_equal(device->compiled, 4); /* windows of 4, 2 and 1 columns were weighed */
  for (size_t columns = 3; columns <= 4; columns++) {
    part.axis[axis].extent = columns;
    assert_true((gb_kernels_find(k, 0, &part) == NULL) == (columns == 3));
    OK(gb_kernels_compile(k, 0, &part, &fx.err));
    assert_true(gb_kernels_find(k, 0, &part) != whole);
  }
  assert_int_equal(device->compiled, 5);
  gb_plan_free(p);
  eval_end();
}

/* Layers of two sizes: the program of tanh is one, that of exp another. */
static void steps_of_one_program_share_a_kernel (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  inputs_begin(3, GB_F64, 0);
  gb_node *w = in2(20, 20, -1, 1), *z = in2(50, 20, -1, 1);
  for (int layer = 0; layer < 6; layer++) z = map1(GB_OP_TANH, mm(z, w));
  gb_node *y = in2(70, 20, -1, 1);
  for (int layer = 0; layer < 3; layer++) y = map1(layer == 1 ? GB_OP_EXP : GB_OP_TANH, mm(y, w));
  gb_node *both[] = {z, y};
  gb_plan *p;
  OK(gb_plan_new(fx.g, 2, both, NULL, &p, &fx.err));
  assert_int_equal(folds_of(p), 9);
  assert_int_equal(device->compiled, 2);
  const gb_kernels *k = p->prog->kernels[0];
  const gb_lowered *low = gb_plan_lowered(p);
  for (int s = 0; s < low->nsteps; s++)
    if (low->step[s].is_fold) assert_non_null(gb_kernels_find(k, s, &low->step[s].fold));
  OK(gb_plan_run(p, &fx.err));
  gb_plan_free(p); /* each kernel is released once */
  eval_end();
}

/* What one field of a fold decides. */
static void a_change_of_the_program_shows (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  gb_node *z = product(2);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &z, NULL, &p, &fx.err));
  const gb_fold *f = &p->prog->low->step[0].fold;
  assert_true(f->nins <= 64 && f->noperands <= 8 && f->nouts == 1);
  gb_ins ins[64];
  gb_operand operand[8];
  gb_out out[1];
  gb_fold g;
#define COPY()                                                                                               \
  (memcpy(ins, f->ins, (size_t)f->nins * sizeof *ins),                                                       \
   memcpy(operand, f->operand, (size_t)f->noperands * sizeof *operand), out[0] = f->out[0], g = *f,          \
   g.ins = ins, g.operand = operand, g.out = out)
#define OTHER(CHANGE)                                                                                        \
  (COPY(), assert_true(gb_fold_same_program(f, &g)), CHANGE, assert_false(gb_fold_same_program(f, &g)))
#define ALIKE(CHANGE) (COPY(), CHANGE, assert_true(gb_fold_same_program(f, &g)))
  OTHER(g.compute = GB_F32);
  OTHER(g.nins--);
  OTHER(g.nvalues++);
  OTHER(g.nconstants++);
  OTHER(g.symmetric = !g.symmetric);
  OTHER(g.axis[1].role = GB_AXIS_OUTER);
  for (int i = 0; i < f->nins; i++) {
    OTHER(ins[i].kind++);
    OTHER(ins[i].op++);
    OTHER(ins[i].profile++);
    OTHER(ins[i].order++);
    OTHER(ins[i].dalpha++);
    OTHER(ins[i].monoid++);
    OTHER(ins[i].dst++);
    OTHER(ins[i].a++);
    OTHER(ins[i].b++);
    OTHER(ins[i].c++);
    OTHER(ins[i].x++);
    OTHER(ins[i].y++);
    OTHER(ins[i].w++);
    OTHER(ins[i].axis++);
    OTHER(ins[i].f = ins[i].f == 0 ? -ins[i].f : 0); /* -0 is another number than 0 */
    OTHER(ins[i].g = NAN);
    OTHER(ins[i].step++);
    OTHER(ins[i].start++);
    OTHER(ins[i].seed[1]++);
    OTHER(ins[i].deps ^= 1);
  }
  for (int i = 0; i < f->noperands; i++) {
    OTHER(operand[i].slot++);
    OTHER(operand[i].dtype = GB_BF16);
    OTHER(operand[i].deps ^= 1);
    OTHER(operand[i].stride[0] = operand[i].stride[0] == 1 ? 0 : 1);
    ALIKE(operand[i].offset += 10);
  }
  OTHER(out[0].kind++);
  OTHER(out[0].monoid++);
  OTHER(out[0].reduced ^= 1);
  OTHER(out[0].x++);
  OTHER(out[0].y++);
  OTHER(out[0].axis++);
  OTHER(out[0].k++);
  OTHER(out[0].slot++);
  OTHER(out[0].slot2++);
  OTHER(out[0].dtype = GB_BF16);
  OTHER(out[0].stride[0] = out[0].stride[0] == 1 ? 0 : 1);
  OTHER(out[0].kstride = out[0].kstride == 1 ? 0 : 1);
  ALIKE(out[0].offset += 10);
  ALIKE(g.axis[0].extent += 10);
  ALIKE(g.carried = 1);
#undef COPY
#undef OTHER
#undef ALIKE
  gb_plan_free(p);
  eval_end();
}

static void each_device_compiles_what_it_runs (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  OK(gb_device_add_simulated(device, (size_t)1 << 28, &fx.err));
  gb_node *z = product(1);
  const gb_plan_on on[] = {{.device = device}, {.device = device->next}};
  for (int round = 0; round < 2; round++) {
    gb_plan *p;
    OK(gb_plan_new(fx.g, 1, &z, &(gb_plan_options){.ndevices = 2, .on = on}, &p, &fx.err));
    OK(gb_plan_run(p, &fx.err));
    gb_plan_free(p);
  }
  assert_int_equal(device->compiled, 1);
  assert_int_equal(device->next->compiled, 1);
  eval_end();
}

/* -- schedules */

/* Longer chains, and every tile of a symmetric fold. */
static void own_schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  (void)dev;
  gb_schedule_default(f, out);
  if (out->tile >= 0) out->chain[out->tile] *= 4;
  out->symmetric = false;
}

static gb_node *covariance (gb_node *x) { return map1(GB_OP_EXP, mul(dist(x, x, NULL), num(-0.5))); }

static void lowered_by (const gb_device_ops *ops, size_t chain, bool symmetric, size_t unit, int packed) {
  eval_begin(1, (size_t)1 << 28);
  const gb_device_ops *own = device->ops;
  device->ops = ops != NULL ? ops : own;
  inputs_begin(3, GB_F64, 0);
  gb_node *x = in2(300, 3, -1, 1), *v = in1(300, -1, 1);
  gb_node *k = map2(GB_OP_ADD, covariance(x), BUILD(gb_eye, fx.g, 300, GB_F64));
  gb_node *out[] = {mm(covariance(x), v), BUILD(gb_logdet, k)};
  gb_plan *p;
  int folds = 0, factors = 0;
  OK(gb_plan_new(fx.g, 2, out, NULL, &p, &fx.err));
  for (int s = 0; s < p->prog->low->nsteps; s++) {
    const gb_step *st = &p->prog->low->step[s];
    const gb_fold *f = &st->fold;
    factors += !st->is_fold && st->opaque.op == GB_OP_CHOLESKY;
    if (!st->is_fold) assert_int_equal(st->opaque.unit, unit);
    if (!st->is_fold || f->out[0].kind != GB_OUT_CONTRACT) continue;
    folds++;
    assert_int_equal(f->symmetric, symmetric);
    for (int a = 0; a < f->naxes; a++)
      if (f->axis[a].role == GB_AXIS_TILE) assert_int_equal(f->axis[a].chain, chain);
  }
  assert_int_equal(folds, 1);
  assert_int_equal(factors, 1);
  assert_int_equal(p->prog->npacked_factors, packed);
  gb_plan_free(p);
  device->ops = own;
  eval_end();
}

static void a_device_schedules_its_folds (void **unused) {
  (void)unused;
  lowered_by(NULL, GB_CANON, true, GB_BLOCK, 1);
  eval_begin(1, (size_t)1 << 28);
  gb_device_ops ops = *device->ops;
  eval_end();
  ops.schedule = own_schedule;
  ops.block = 512;
  lowered_by(&ops, 4 * GB_CANON, false, 512, 0);
}

/* -- prices */

static double slow_fold (const gb_device_profile *p, int threads, const gb_fold *f, double fraction) {
  return 1000 * gb_cpu_price_ops.fold(p, threads, f, fraction);
}

/* Seconds of the first candidate; -1: the plan knows none. */
static double predicted (const gb_price_ops *price) {
  eval_begin(1, (size_t)1 << 28);
  gb_device_ops ops = *device->ops;
  ops.price = price;
  device->ops = &ops;
  gb_node *z = product(1);
  gb_plan *p;
  gb_plan_report r;
  OK(gb_plan_new(fx.g, 1, &z, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  const double seconds = r.timed ? r.candidate[0].seconds : -1;
  if (!r.timed) assert_true(r.candidate[0].seconds == 0);
  OK(gb_plan_run(p, &fx.err));
  gb_plan_free(p);
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  eval_end(); /* plans are released by the table that compiled them */
  return seconds;
}

static void prices_are_those_of_the_device (void **unused) {
  (void)unused;
  gb_price_ops slow = gb_cpu_price_ops;
  slow.fold = slow_fold;
  slow.measure = NULL; /* its fixed figures are in force */
  const double seconds = predicted(&gb_cpu_price_ops), slower = predicted(&slow);
  assert_true(seconds > 0);
  assert_true(fabs(slower - 1000 * seconds) <= 1e-9 * slower);
  assert_true(predicted(NULL) == -1);
}

/* -- failures */

static const gb_device_ops *plain;

static gb_status no_compiler (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  (void)dev, (void)f, (void)out;
  return gb_fail(err, GB_EDTYPE, "the compiler knows no f64");
}

static void a_failure_to_compile_is_one_of_planning (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  plain = device->ops;
  gb_device_ops broken = *plain;
  broken.compile = no_compiler;
  device->ops = &broken;
  gb_node *z = product(2);
  gb_plan *p = NULL;
  assert_int_equal(gb_plan_new(fx.g, 1, &z, NULL, &p, &fx.err), GB_EDTYPE);
  assert_string_equal(fx.err.text, "the compiler knows no f64");
  assert_null(p);
  device->ops = plain;
  OK(gb_eval(fx.g, 1, &z, &fx.err)); /* nothing of the failure is remembered */
  eval_end();
}

static void a_kernel_runs_on_its_own_device (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  gb_node *z = product(2);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &z, NULL, &p, &fx.err));
  const gb_fold *f = &p->prog->low->step[0].fold;
  const gb_kernel *k = gb_kernels_find(p->prog->kernels[0], 0, f);
  gb_device_ops others = *device->ops;
  gb_device other = {.ops = &others, .name = "other"};
  assert_int_equal(gb_device_launch(&other, k, &(gb_fold_args){.part = f}, &fx.err), GB_EINTERNAL);
  assert_true(gb_device_kernel_scratch(&other, k, f) == SIZE_MAX);
  assert_int_equal(gb_device_launch(device, NULL, &(gb_fold_args){.part = f}, &fx.err), GB_EINTERNAL);
  gb_plan_free(p);
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_fold_is_compiled_once),
      cmocka_unit_test(windows_share_a_kernel),
      cmocka_unit_test(columns_have_kernels_of_their_own),
      cmocka_unit_test(steps_of_one_program_share_a_kernel),
      cmocka_unit_test(a_change_of_the_program_shows),
      cmocka_unit_test(each_device_compiles_what_it_runs),
      cmocka_unit_test(a_device_schedules_its_folds),
      cmocka_unit_test(prices_are_those_of_the_device),
      cmocka_unit_test(a_failure_to_compile_is_one_of_planning),
      cmocka_unit_test(a_kernel_runs_on_its_own_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
