/* test_fold.c - folds on an emulated GPU: random programs have the bits of the CPU's instruction set avx2 wherever only
** IEEE operations and profiles are involved, and are close to the reference elsewhere; whole and in parts, in any order of
** threads, and in panels of any size. Built twice, the second time with programs that look like those of kernels (CHAINS). */
#ifdef CHAINS
#include "support/random/chain_random.h"
#else
#include "support/random/fold_random.h"
#endif
#include "cuda/support/far_fold.h"
#include "device/registry.h"
#include "plan/tile/cut.h"
#include "program/schedule.h"
#include "support/cpu/products.h"

/* Random programs, and how far apart the symmetric ones are that run; where PTX does (tests/ptx), which takes its time. */
enum { MANY = 400, FEW = 25 };
#ifdef CHAINS
enum { APART = 2 };
#else
enum { APART = 16 };
#endif
static bool has_little_time (void) { return getenv("EMU_PTX") != NULL && getenv("GB_TEST_PROGRAMS") == NULL; }

static gb_device *home, *gpu;
static int cuts;

static double tolerance (gb_dtype compute) { return compute == GB_F32 ? 4e-6 : 1e-12; }

static bool is_right (fx *x, void **want, bool exact) {
  return exact ? fx_alike(x, want, x->got) : fx_close(x, tolerance(x->f.compute));
}

/* Along each axis that it may be cut along, in parts of one unit to seven. */
static bool agrees_in_parts (fx *x, void **want, bool exact, uint64_t seed) {
  for (int a = 0; a < x->f.naxes; a++) {
    gb_cut c = {.axis = a, .factor = 1};
    gb_schedule_chains(&x->f, true);
    c.cut = x->f.axis[a].role != GB_AXIS_INNER && x->f.axis[a].extent > 1 && gb_cut_fold_unit(&x->f, &c, 0);
    if (!c.cut || c.unit >= x->f.axis[a].extent) continue;
    const size_t units = (x->f.axis[a].extent + c.unit - 1) / c.unit, many = (units + 29) / 30;
    far_run_parts(gpu, x, &c, c.unit * many * (1 + (seed + (uint64_t)a) % 7));
    cuts++;
    if (is_right(x, want, exact)) continue;
    print_message("cut along axis %d at multiples of %zu\n", a, c.unit);
    return false;
  }
  return true;
}

/* The program on the CPU, then on the device, whole and in parts. */
static bool agrees (fx *x, bool exact, uint64_t seed) {
  void *want[MOST];
  if (!exact) fx_expect(x);
  if (fx_run(x, home, 255, NULL) != GB_OK) return false;
  memcpy(want, x->got, sizeof want);
  memset(x->got, 0, sizeof x->got);
  far_run(gpu, x);
  const bool ok = is_right(x, want, exact) && agrees_in_parts(x, want, exact, seed);
  for (int s = 0; s < MOST; s++) free(want[s]);
  return ok;
}

static uint64_t number (const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* True if its values are finite and small. */
static bool program_of (gen *g, uint64_t seed) {
#ifdef CHAINS
  chain_program(g, seed);
  return is_cheap_and_tame(g);
#else
  random_program(g, seed);
  return true;
#endif
}

static void random_programs_have_the_bits_of_avx2 (void **state) {
  (void)state;
  const uint64_t first = number("GB_TEST_FROM", 1),
                 count = number("GB_TEST_PROGRAMS", has_little_time() ? FEW : MANY);
  uint64_t exact = 0, wrong = 0, skipped = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    gen g;
    gb_lack lack;
    const bool tame = program_of(&g, seed), bits = far_has_exact_bits(&g.x.f);
    const bool runs = gb_device_supports(gpu, &g.x.f, NULL, &lack);
    bool ok = !runs || (!bits && !tame) || agrees(&g.x, bits, seed);
    if (runs && bits) far_make_rough(&g.x);
    ok = ok && (!runs || !bits || agrees(&g.x, true, seed));
    if (!ok) print_message("seed %llu, %s\n", (unsigned long long)seed, bits ? "bits" : "close");
    if (!ok && number("GB_TEST_PRINT", 0)) fx_print(&g.x);
    exact += runs && bits;
    skipped += !runs;
    wrong += !ok;
    fx_free(&g.x);
  }
  print_message("%llu programs, %llu of them bit for bit, %llu at home, %llu wrong\n",
                (unsigned long long)count, (unsigned long long)exact, (unsigned long long)skipped,
                (unsigned long long)wrong);
  print_message("%d of them cut, into %d parts\n", cuts, far_parts);
  assert_true(wrong == 0 && cuts > 0);
  assert_true(exact * (has_little_time() ? 4 : 3) > count);
}

/* Kernels of points with themselves, whose rows take what lies left of the diagonal from its mirror. */
static void symmetric_programs_have_the_bits_of_avx2 (void **state) {
  (void)state;
  int exact = 0;
  const int apart = has_little_time() ? APART : 1;
  for (int n = 80 - 1; n >= 0; n -= apart) {
    fx x;
    symmetric_program(&x, n);
    const bool bits = far_has_exact_bits(&x.f);
    bool ok = agrees(&x, bits, (uint64_t)n);
    if (bits) far_make_rough(&x);
    ok = ok && (!bits || agrees(&x, true, (uint64_t)n));
    if (!ok) fx_print(&x);
    exact += bits;
    fx_free(&x);
    assert_true(ok);
  }
  print_message("%d symmetric programs, %d of them bit for bit\n", 80 / apart, exact);
  assert_true(exact > 25 / apart);
}

/* What does not fit into the argument of a kernel lies elsewhere. */
static void long_programs_have_the_bits_of_avx2 (void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    fx x;
    long_program(&x, wide == 1);
    assert_true(agrees(&x, true, 1));
    far_make_rough(&x);
    assert_true(agrees(&x, true, 2));
    fx_free(&x);
  }
}

int main (void) {
  gb_error err;
  if (gb_isa_select("avx2", NULL) != GB_OK) {
    print_message("skipped: this processor has no AVX2\n");
    return 77;
  }
  if (gb_device_cpu_new(1, (size_t)1 << 30, &home, &err) != GB_OK || gb_isa_select("avx2", &err) != GB_OK ||
      gb_device_open("cuda", home, (size_t)1 << 30, &gpu, &err) != GB_OK) {
    print_message("%s\n", err.text);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_have_the_bits_of_avx2),
      cmocka_unit_test(symmetric_programs_have_the_bits_of_avx2),
      cmocka_unit_test(long_programs_have_the_bits_of_avx2),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gb_device_free(gpu);
  gb_device_free(home);
  return failed;
}
