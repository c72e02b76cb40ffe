/* test_cost.c - predicted seconds on the fixed sheet; the file of wisdom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "cpu/price/cost.h"
#include "cpu/price/probe.h"
#include "lower/lower.h"
#include "plan/price/profile.h"
#include "support/memory.h"

#define OK(call) assert_int_equal((call), GB_OK)
#define CLOSE(got, want)                                                                                     \
  do {                                                                                                       \
    double g_ = (got), w_ = (want);                                                                          \
    if (!(fabs(g_ - w_) <= 1e-6 * fabs(w_))) fail_msg("%s: %.9g, expected %.9g", #got, g_, w_);              \
  } while (0)

/* -- steps */

/* k(x, y) v with n lanes, m rows, d features and one column; kernel false: the sum over features of |x -
** y|, summed. */
static gb_step kernel_step (gb_probe *p, gb_dtype t, size_t n, size_t m, size_t d, bool kernel) {
  gb_probe_begin(p, t, n, m, d);
  const int x = gb_probe_operand(p, NULL, (ptrdiff_t)d, 0, 1),
            y = gb_probe_operand(p, NULL, 0, (ptrdiff_t)d, 1);
  const int v = gb_probe_operand(p, NULL, 0, 1, 0), c = gb_probe_const(p, 0.5);
  int s = gb_probe_ins(
      p,
      (gb_ins){
          .kind = GB_INS_SQDIST, .a = -1, .b = -1, .c = -1, .x = x, .y = y, .w = -1, .axis = GB_PROBE_INNER});
  s = kernel ? gb_probe_ins(p, (gb_ins){.kind = GB_INS_RADIAL,
                                        .profile = GB_RBF,
                                        .a = s,
                                        .b = c,
                                        .c = -1,
                                        .x = -1,
                                        .y = -1,
                                        .w = -1,
                                        .axis = -1})
             : gb_probe_map(p, GB_OP_TANH, s, -1, -1);
  gb_probe_emit(p, s,
                (gb_out){.kind = GB_OUT_CONTRACT,
                         .monoid = GB_SUM,
                         .reduced = 1u << GB_PROBE_TILE,
                         .x = v,
                         .y = -1,
                         .axis = -1,
                         .slot2 = -1,
                         .stride = {1}},
                NULL);
  return (gb_step){.is_fold = true, .fold = p->f};
}

static gb_step map_step (gb_probe *p, gb_op op, size_t n) {
  gb_probe_begin(p, GB_F64, n, 0, 1);
  const int v = gb_probe_map(p, op, gb_probe_load(p, NULL, 1, 0), -1, -1);
  gb_probe_emit(
      p, v, (gb_out){.kind = GB_OUT_STORE, .x = -1, .y = -1, .axis = -1, .slot2 = -1, .stride = {1}}, NULL);
  return (gb_step){.is_fold = true, .fold = p->f};
}

/* An op of one matrix (n, n), or of it and k columns. */
static gb_step opaque_step (gb_op op, gb_dtype t, size_t n, size_t k) {
  const gb_shape square = gb_shape_of(2, (size_t[]){n, n}), columns = gb_shape_of(2, (size_t[]){n, k});
  return (gb_step){.opaque = {.op = op,
                              .nin = k > 0 ? 2 : 1,
                              .nout = 1,
                              .in_dtype = {t, t},
                              .out_dtype = {t},
                              .in_shape = {square, columns},
                              .out_shape = {k > 0 ? columns : square}}};
}

static double step_seconds (const gb_cpu_profile *r, int threads, const gb_step *st, double fraction) {
  return st->is_fold ? gb_cpu_price_ops.fold(&r->taken, threads, &st->fold, fraction)
                     : gb_cpu_price_ops.opaque(&r->taken, threads, &st->opaque, fraction);
}

static double cost_of (const gb_step *st, int threads) {
  return step_seconds(gb_cpu_profile_fixed(), threads, st, 1);
}

/* -- predictions */

static void fixed_sheet_gives_golden_seconds (void **unused) {
  (void)unused;
  gb_probe p;
  /* 1024 x 1000 pairs of 17 FMA in 8 lanes at 4e9/s, 1e-10 beyond, and the call */
  gb_step st = kernel_step(&p, GB_F64, 1000, 1000, 3, true);
  CLOSE(cost_of(&st, 1), 1024 * 1000 * (17 / 4e9 / 8 + 1e-10) + 1e-6);
  /* load, exp, pass, store; the threads share it and are called */
  st = map_step(&p, GB_OP_EXP, 65536);
  CLOSE(cost_of(&st, 1), 65536 * 2.3e-9 + 1e-6);
  CLOSE(cost_of(&st, 2), 65536 * 2.3e-9 / 2 + 1e-6 + 1e-5);
  /* 256^3 / 3 flops at 1e10, and 512 KiB read and written a fifth of the way from near to middle */
  st = opaque_step(GB_OP_CHOLESKY, GB_F64, 256, 0);
  CLOSE(cost_of(&st, 1), 256.0 * 256 * 256 / 3e10 + 2 * 524288 * (0.8 / 5e10 + 0.2 / 3e10) + 1e-6);
  /* the same bytes past every cache */
  CLOSE(gb_cost_bytes(gb_cpu_profile_fixed(), 1, 1e9), 0.1);
  CLOSE(gb_cost_bytes(gb_cpu_profile_fixed(), 2, 1e9), 0.05);
}

static const gb_op opaques[] = {GB_OP_CAST,       GB_OP_CHOLESKY, GB_OP_CHOL_INVERSE, GB_OP_LOGDET,
                                GB_OP_LU_LOGDET,  GB_OP_QR,       GB_OP_EIGH,         GB_OP_SVD,
                                GB_OP_SORT,       GB_OP_CUMSUM,   GB_OP_GEMM,         GB_OP_TRISOLVE,
                                GB_OP_SOLVE_CHOL, GB_OP_LU_SOLVE, GB_OP_INV_QUAD,     GB_OP_CALL};
enum { OPAQUES = sizeof opaques / sizeof *opaques, WITH_COLUMNS = 10 }; /* from here on: a right-hand side */

/* Step number 'which' at extent n; false if there is no such step. */
static bool step_at (int which, size_t n, gb_probe *p, gb_step *st) {
  if (which < OPAQUES) *st = opaque_step(opaques[which], GB_F64, n, which < WITH_COLUMNS ? 0 : 3);
  else if (which == OPAQUES) *st = kernel_step(p, GB_F32, n, 1000, 3, true);
  else if (which == OPAQUES + 1) *st = kernel_step(p, GB_F64, 1000, n, 3, false);
  else if (which == OPAQUES + 2) *st = kernel_step(p, GB_F64, 100, 100, n, true);
  else if (which == OPAQUES + 3) *st = map_step(p, GB_OP_NEG, n);
  else if (which == OPAQUES + 4) {
    *st = kernel_step(p, GB_F64, n, n, 3, true);
    p->out[0].y = gb_probe_operand(p, NULL, 1, 0, 0);
    st->fold = p->f;
    st->fold.symmetric = true;
  } else return false;
  return true;
}

static void costs_are_finite_and_grow_with_extents (void **unused) {
  (void)unused;
  gb_probe p;
  gb_step st;
  for (int threads = 1; threads <= 2; threads++)
    for (int which = 0; step_at(which, 1, &p, &st); which++) {
      double before = 0, first = 0;
      for (size_t n = 1; n <= (size_t)1 << 31; n = n * 3 / 2 + 1) {
        step_at(which, n, &p, &st);
        const double s = cost_of(&st, threads);
        if (!(isfinite(s) && s > 0)) fail_msg("step %d, n = %zu: %g s", which, n, s);
        /* waking the other threads is paid from some size on */
        if (!(s >= before - (threads > 1 ? 1e-4 : 0) - 1e-12))
          fail_msg("step %d, n = %zu, %d threads: %g s after %g", which, n, threads, s, before);
        before = s;
        if (n == 1) first = s;
      }
      step_at(which, (size_t)1 << 31, &p, &st);
      assert_true(cost_of(&st, threads) > 10 * first);
    }
}

static void fraction_scales_work_alone (void **unused) {
  (void)unused;
  gb_probe p;
  const gb_cpu_profile *r = gb_cpu_profile_fixed();
  const gb_step st = kernel_step(&p, GB_F64, 5000, 5000, 8, true),
                chol = opaque_step(GB_OP_CHOLESKY, GB_F64, 2000, 0);
  CLOSE(step_seconds(r, 2, &st, 0.25) - r->fold_s, (step_seconds(r, 2, &st, 1) - r->fold_s) / 4);
  CLOSE(step_seconds(r, 2, &chol, 0.25) - r->opaque_s, (step_seconds(r, 2, &chol, 1) - r->opaque_s) / 4);
  CLOSE(step_seconds(r, 1, &st, 0), r->fold_s);
}

static void threads_help_where_there_is_work (void **unused) {
  (void)unused;
  gb_probe p;
  const gb_step large = kernel_step(&p, GB_F64, 16384, 16384, 8, true);
  const double one = cost_of(&large, 1), two = cost_of(&large, 2);
  assert_true(two < 0.51 * one && two > 0.49 * one);
  gb_probe q;
  const gb_step small = kernel_step(&q, GB_F64, 64, 64, 3, true);
  CLOSE(cost_of(&small, 2), cost_of(&small, 1));
}

static void symmetry_halves_pairs (void **unused) {
  (void)unused;
  gb_probe p;
  gb_step st = kernel_step(&p, GB_F64, 6400, 6400, 3, true);
  const double plain = cost_of(&st, 1);
  p.out[0].y = gb_probe_operand(&p, NULL, 1, 0, 0);
  st.fold = p.f;
  st.fold.symmetric = true;
  CLOSE((cost_of(&st, 1) - 1e-6) / (plain - 1e-6), 1.2 * (6400 + 64) / 2 / 6400);
}

/* -- wisdom */

static char folder[64], file[96], name[64]; /* name: of the device */
static int measured;                        /* times the device was asked for its rates */
static gb_device device;

static void stub_identity (const gb_device *dev, char *text, size_t size) {
  (void)dev, snprintf(text, size, "%s", name);
}
/* The figures of a CPU, measured in no time. */
static const gb_device_profile *stub_fixed (void) { return &gb_cpu_profile_fixed()->taken; }
static void stub_walk (gb_device_profile *p, gb_figure_visitor *visit, void *ud) {
  gb_cpu_profile_walk((gb_cpu_profile *)p, visit, ud);
}
static gb_status stub_measure (gb_device *dev, gb_device_profile *out, gb_error *err) {
  gb_cpu_profile *r = (gb_cpu_profile *)out;
  if (dev->ledger.limit < GB_RATES_ROOM) return gb_fail(err, GB_ENOMEM, "no room");
  *r = *gb_cpu_profile_fixed();
  r->device = (gb_cpu_rates){.fma = 1e9 + measured, .issue = 2e9, .scaling = 1};
  r->taken.when = (double)time(NULL);
  measured++;
  return GB_OK;
}
static const gb_price_ops stub_prices = {.bytes = sizeof(gb_cpu_profile),
                                         .fixed = stub_fixed,
                                         .walk = stub_walk,
                                         .identity = stub_identity,
                                         .room = GB_RATES_ROOM,
                                         .measure = stub_measure};
static const gb_device_ops stub_ops = {.name = "stub", .price = &stub_prices};

static int begin (void **unused) {
  (void)unused;
  gb_error err;
  strcpy(folder, "/tmp/gibbous-cost-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(file, sizeof file, "%s/deep/er/wisdom", folder);
  setenv("GIBBOUS_WISDOM", file, 1);
  unsetenv("GIBBOUS_RATES");
  device = (gb_device){.ops = &stub_ops};
  gb_ledger_init(&device.ledger, host_memory(), (size_t)1 << 30);
  measured = 0;
  return gb_pool_new(1, &device.pool, &err) == GB_OK ? 0 : -1;
}

static void remove_part (const char *part) {
  char path[96];
  snprintf(path, sizeof path, "%s%s", folder, part);
  remove(path);
}

static int end (void **unused) {
  (void)unused;
  static const char *const parts[] = {"/deep/er/wisdom", "/deep/er", "/deep", "/plain", ""};
  gb_pool_free(device.pool);
  if (device.free_profiles != NULL) device.free_profiles(device.profiles);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) remove_part(parts[i]);
  return device.ledger.used == 0 && access(folder, F_OK) != 0 ? 0 : -1;
}

/* A sheet without two equal figures, some with no short decimal form. */
static void number_figure (void *ud, const char *figure, double *value) {
  (void)figure;
  *value = 1 / (3.0 + (*(int *)ud)++);
}

static void other_sheet (gb_cpu_profile *r, int from) { gb_cpu_profile_walk(r, number_figure, &from); }

static void wisdom_comes_back_bit_for_bit (void **unused) {
  (void)unused;
  gb_cpu_profile a = {0}, b = {0}, got;
  other_sheet(&a, 0);
  other_sheet(&b, 7);
  assert_false(gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken));
  assert_true(gb_profile_store_write(file, "one", &gb_cpu_price_ops, &a.taken));
  assert_true(gb_profile_store_write(file, "two", &gb_cpu_price_ops, &b.taken));
  assert_true(gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken));
  assert_memory_equal(&got, &a, sizeof a);
  assert_true(gb_profile_store_read(file, "two", &gb_cpu_price_ops, &got.taken));
  assert_memory_equal(&got, &b, sizeof b);
  assert_false(gb_profile_store_read(file, "three", &gb_cpu_price_ops, &got.taken));
  assert_true(
      gb_profile_store_write(file, "one", &gb_cpu_price_ops, &b.taken)); /* replaces its own section alone */
  assert_true(gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken));
  assert_memory_equal(&got, &b, sizeof b);
  assert_true(gb_profile_store_read(file, "two", &gb_cpu_price_ops, &got.taken));
}

static size_t file_text (char *text, size_t room) {
  FILE *f = fopen(file, "r");
  assert_non_null(f);
  const size_t n = fread(text, 1, room, f);
  fclose(f);
  return n;
}

static void set_text (const char *text, size_t n) {
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, n, f), n);
  fclose(f);
}

static void a_damaged_file_is_no_wisdom (void **unused) {
  (void)unused;
  static char text[1 << 16];
  gb_cpu_profile a = {0}, got;
  other_sheet(&a, 0);
  assert_true(gb_profile_store_write(file, "one", &gb_cpu_price_ops, &a.taken));
  const size_t n = file_text(text, sizeof text);
  assert_true(n > 1000 && n < sizeof text);
  for (size_t i = 0; i < n; i += 37) { /* one character changed; cut there */
    const char was = text[i];
    text[i] = was == '7' ? '8' : '7';
    set_text(text, n);
    if (gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken))
      fail_msg("character %zu changed, still read", i);
    text[i] = was;
    set_text(text, i);
    if (gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken))
      fail_msg("cut at %zu, still read", i);
  }
  set_text(text, n);
  assert_true(gb_profile_store_read(file, "one", &gb_cpu_price_ops, &got.taken));
}

static const gb_cpu_profile *get (const char *device_name) {
  const gb_device_profile *r = NULL;
  gb_error err;
  snprintf(name, sizeof name, "%s", device_name);
  OK(gb_device_profile_get(&device, &r, &err));
  assert_non_null(r);
  return (const gb_cpu_profile *)r;
}

static void a_device_is_measured_once (void **unused) {
  (void)unused;
  static char text[1 << 16];
  assert_true(get("first")->device.fma == 1e9);
  assert_true(get("first")->device.fma == 1e9);
  assert_int_equal(measured, 1);
  assert_true(get("second")->device.fma == 1e9 + 1); /* another key */
  assert_true(get("first")->device.fma == 1e9);      /* from the file */
  assert_int_equal(measured, 2);
  const size_t n = file_text(text, sizeof text);
  set_text(text, n / 4); /* second is forgotten with the rest of the file */
  get("second");
  assert_int_equal(measured, 3);
  assert_int_equal(device.ledger.used, 0);
}

static int announced, announced_again;
static void count_announcement (bool again) {
  announced++;
  announced_again += again;
}

/* A profile measured on a busy machine is used, and measured again by a later process. */
static void a_sheet_of_a_busy_machine_is_measured_again_later (void **unused) {
  (void)unused;
  char key[GB_WISDOM_KEY];
  gb_cpu_profile r = *gb_cpu_profile_fixed();
  gb_device_profile_announce(&device, count_announcement);
  snprintf(name, sizeof name, "busy");
  gb_profile_store_key(&device, key);
  r.device.fma = 7;
  r.taken.calm = 0;
  r.taken.share = 0;
  r.taken.when = (double)time(NULL) - 60;
  assert_true(gb_profile_store_write(file, key, &gb_cpu_price_ops, &r.taken));
  assert_true(get("busy")->device.fma == 7); /* it may be busy still */
  assert_int_equal(measured, 0);
  get("another"); /* so that the file is read again */
  assert_int_equal(announced, 1);
  assert_int_equal(announced_again, 0);
  r.taken.when -= 3600;
  r.taken.spread = 1e18; /* busier than any */
  assert_true(gb_profile_store_write(file, key, &gb_cpu_price_ops, &r.taken));
  assert_true(get("busy")->device.fma == 1e9 + 1);
  assert_int_equal(announced_again, 1);
  get("another");
  assert_true(get("busy")->device.fma == 1e9 + 1); /* from the file; once a process */
  assert_int_equal(measured, 2);
  r.taken.share = 1e18; /* calmer than any: kept, and tried again later */
  r.taken.spread = 0;
  snprintf(name, sizeof name, "calmer");
  gb_profile_store_key(&device, key);
  assert_true(gb_profile_store_write(file, key, &gb_cpu_price_ops, &r.taken));
  assert_true(get("calmer")->device.fma == 7);
  assert_int_equal(measured, 3);
  assert_true(gb_profile_store_read(file, key, &gb_cpu_price_ops, &r.taken));
  assert_true(r.taken.calm == 0 && fabs(r.taken.when - (double)time(NULL)) < 600);
  r.taken.calm = 1;
  r.taken.when = 0;
  snprintf(name, sizeof name, "calm");
  gb_profile_store_key(&device, key);
  assert_true(gb_profile_store_write(file, key, &gb_cpu_price_ops, &r.taken));
  assert_true(get("calm")->device.fma == 7); /* however old */
  assert_int_equal(measured, 3);
  gb_device_profile_announce(&device, NULL);
}

static void a_file_of_wisdom_keeps_the_youngest_sheets (void **unused) {
  (void)unused;
  gb_cpu_profile a = {0}, got;
  other_sheet(&a, 0);
  char key[32];
  for (int i = 0; i < 40; i++) {
    snprintf(key, sizeof key, "machine %d", i);
    assert_true(gb_profile_store_write(file, key, &gb_cpu_price_ops, &a.taken));
  }
  for (int i = 0; i < 40; i++) {
    snprintf(key, sizeof key, "machine %d", i);
    assert_int_equal(gb_profile_store_read(file, key, &gb_cpu_price_ops, &got.taken),
                     i >= 40 - GB_WISDOM_SHEETS);
  }
  assert_true(gb_profile_store_write(file, "machine 30", &gb_cpu_price_ops,
                                     &a.taken)); /* one that is there pushes none out */
  assert_true(gb_profile_store_read(file, "machine 24", &gb_cpu_price_ops, &got.taken));
}

static void an_unwritable_file_is_no_error (void **unused) {
  (void)unused;
  char path[96];
  snprintf(path, sizeof path, "%s/plain", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
  snprintf(path, sizeof path, "%s/plain/wisdom", folder); /* its folder is a file */
  setenv("GIBBOUS_WISDOM", path, 1);
  assert_false(gb_profile_store_write(path, "one", &gb_cpu_price_ops, &gb_cpu_profile_fixed()->taken));
  assert_true(get("unwritable")->device.fma == 1e9);
  assert_true(get("unwritable")->device.fma == 1e9); /* kept in memory */
  assert_int_equal(measured, 1);
}

static void the_fixed_sheet_is_chosen (void **unused) {
  (void)unused;
  gb_device_profile_choose_fixed(&device, true);
  assert_ptr_equal(get("fixed"), gb_cpu_profile_fixed());
  gb_device_profile_choose_fixed(&device, false);
  setenv("GIBBOUS_RATES", "fixed", 1);
  assert_ptr_equal(get("fixed"), gb_cpu_profile_fixed());
  unsetenv("GIBBOUS_RATES");
  device.ledger.limit = GB_RATES_ROOM / 2; /* no room to measure */
  assert_ptr_equal(get("no room"), gb_cpu_profile_fixed());
  assert_int_equal(measured, 0);
  assert_int_equal(access(file, F_OK), -1);
}

static void check_figure (void *ud, const char *figure, double *value) {
  const bool may_be_zero = strstr(figure, ".fused.") != NULL || strcmp(figure, "spread") == 0 ||
                           strcmp(figure, "calm") == 0;
  (*(int *)ud)++;
  if (!(isfinite(*value) && (*value > 0 || (may_be_zero && *value == 0))))
    fail_msg("%s is %g", figure, *value);
}

static void the_cpu_measures_every_figure (void **unused) {
  (void)unused;
  gb_device *cpu;
  gb_error err;
  gb_cpu_profile r;
  int count = 0;
  char key[GB_WISDOM_KEY];
  OK(gb_device_cpu_new(2, (size_t)1 << 30, &cpu, &err));
  OK(gb_cpu_profile_measure(cpu, &r, &err));
  gb_cpu_profile_walk(&r, check_figure, &count);
  assert_true(count > 200);
  assert_true(r.taken.share <= 1 && fabs(r.taken.when - (double)time(NULL)) < 600);
  gb_profile_store_key(cpu, key);
  assert_non_null(strstr(key, gb_device_isa(cpu)));
  assert_non_null(strstr(key, "2 threads"));
  assert_int_equal(cpu->ledger.used, 0);
  gb_device_free(cpu);
}

int main (void) {
#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_sheet_gives_golden_seconds),
                                     cmocka_unit_test(costs_are_finite_and_grow_with_extents),
                                     cmocka_unit_test(fraction_scales_work_alone),
                                     cmocka_unit_test(threads_help_where_there_is_work),
                                     cmocka_unit_test(symmetry_halves_pairs),
                                     FILE_TEST(wisdom_comes_back_bit_for_bit),
                                     FILE_TEST(a_damaged_file_is_no_wisdom),
                                     FILE_TEST(a_device_is_measured_once),
                                     FILE_TEST(a_sheet_of_a_busy_machine_is_measured_again_later),
                                     FILE_TEST(a_file_of_wisdom_keeps_the_youngest_sheets),
                                     FILE_TEST(an_unwritable_file_is_no_error),
                                     FILE_TEST(the_fixed_sheet_is_chosen),
                                     cmocka_unit_test(the_cpu_measures_every_figure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
