/* test_exec.c - the fold executor against the reference, on every instruction set of the machine: values,
** and bits that depend on neither threads nor templates. */
#include "support/random/fold_random.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "support/cpu/products.h"

static const char *const isas[] = {"portable", "avx2", "avx512"};
static gb_device devices[3]; /* of 1, 2 and 3 threads */
static gb_device *const dev = &devices[0];

static double tolerance (gb_dtype compute) { return compute == GB_F32 ? 4e-6 : 1e-12; }

/* Runs on all instruction sets: one thread, two without templates, three; the same bits each time, of a
** NaN that it is one where templates are left out. */
static bool agrees (fx *x) {
  fx_expect(x);
  for (size_t q = 0; q < 3; q++) {
    if (gb_isa_select(isas[q], NULL) != GB_OK) continue;
    void *first[MOST] = {0};
    bool ok = true;
    for (int run = 0; run < 3 && ok; run++) {
      gb_cpu_fold_no_templates = run == 1;
      ok = fx_run(x, &devices[run], 255 - run * 100, NULL) == GB_OK;
      if (run == 0) {
        ok = ok && fx_close(x, tolerance(x->f.compute));
        memcpy(first, x->got, sizeof first);
        memset(x->got, 0, sizeof x->got);
      } else if (ok && !(run == 1 ? fx_alike : fx_same)(x, first, x->got)) {
        print_message("bits differ: %d threads, templates %d\n", run + 1, run != 1);
        fx_print(x);
        ok = false;
      }
    }
    for (int s = 0; s < MOST; s++) free(first[s]);
    gb_cpu_fold_no_templates = false;
    if (!ok) {
      print_message("on %s\n", isas[q]);
      return false;
    }
  }
  gb_isa_select(NULL, NULL);
  return true;
}

/* -- random programs */

static void random_programs_agree_with_the_reference_and_with_themselves (void **state) {
  (void)state;
  const char *n = getenv("GB_TEST_PROGRAMS"), *from = getenv("GB_TEST_FROM");
  uint64_t first = from ? strtoull(from, NULL, 10) : 1, count = n ? strtoull(n, NULL, 10) : 120;
  for (uint64_t seed = first; seed < first + count; seed++) {
    gen g;
    random_program(&g, seed);
    bool ok = agrees(&g.x);
    if (!ok) print_message("seed %llu\n", (unsigned long long)seed);
    fx_free(&g.x);
    assert_true(ok);
  }
}

/* -- kernel products */

static void products_of_every_profile_and_dimension_agree (void **state) {
  static const size_t sizes[][2] = {{1, 1},     {64, 256}, {65, 257}, {513, 63},
                                    {200, 300}, {63, 0},   {0, 63},   {1030, 20}};
  static const size_t dims[] = {1, 2, 3, 4, 5, 8, 9, 33, 0}, columns[] = {1, 1, 2, 5, 16, 33};
  (void)state;
  for (int n = 0; n < 100; n++) {
    fx x;
    fx_init(&x, n % 3 ? GB_F32 : GB_F64, (uint64_t)n);
    const size_t *nm = sizes[fx_below(&x, 8)];
    size_t R = columns[fx_below(&x, 6)];
    gb_dtype stored = fx_below(&x, 3) ? x.f.compute : GB_BF16;
    product q =
        product_of(&x, (gb_profile)(n % GB_NPROFILES), nm[0], nm[1], dims[fx_below(&x, 9)], R, stored, false);
    if (fx_below(&x, 4) == 0)
      fx_emit(&x, q.k, GB_OUT_REDUCE, GB_SUM, fx_bit(q.tile), 0, x.f.compute, -1, true);
    else product_contraction(&x, &q, q.k, fx_below(&x, 2), fx_bit(q.tile));
    bool ok = agrees(&x);
    fx_free(&x);
    assert_true(ok);
  }
}

static size_t lanes_of (const fx *x) {
  for (int a = 0; a < x->f.naxes; a++)
    if (x->f.axis[a].role == GB_AXIS_LANE) return x->f.axis[a].extent;
  return 1;
}

static void symmetric_folds_agree_and_visit_half (void **state) {
  (void)state;
  for (int n = 0; n < 80; n++) {
    fx x;
    gb_fold_stats stats;
    const size_t pairs = symmetric_program(&x, n), m = lanes_of(&x);
    const size_t outer = pairs / (m * m);
    const bool ok = agrees(&x) && fx_run(&x, dev, 3, &stats) == GB_OK;
    fx_free(&x);
    assert_true(ok);
    assert_true(stats.pairs <= outer * (m * m + 64 * m) / 2 && stats.pairs >= outer * (m * m + m) / 2);
  }
}

static void templates_are_named_and_pairs_are_counted (void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    static const char *const names[] = {"rbf.d3.r1", "rbf.d3.r1.sym", "rbf.d3.tile", "vm"};
    fx x;
    gb_fold_stats stats;
    fx_init(&x, GB_F32, 5);
    product q = product_of(&x, GB_RBF, 300, n == 1 ? 300 : 200, 3, 4, GB_F32, n == 1);
    x.f.symmetric = n == 1;
    product_contraction(&x, &q, n == 3 ? fx_map(&x, GB_OP_TANH, q.k, -1, -1) : q.k, n < 2, fx_bit(q.tile));
    gb_cpu_fold_no_templates = n == 3;
    assert_int_equal(fx_run(&x, dev, 1, &stats), GB_OK);
    gb_cpu_fold_no_templates = false;
    assert_string_equal(stats.path, names[n]);
    if (n != 1) assert_int_equal(stats.pairs, 300 * 200);
    fx_free(&x);
  }
}

static void a_column_does_not_depend_on_its_neighbours (void **state) {
  (void)state;
  for (int sym = 0; sym < 2; sym++) {
    fx many, one;
    const size_t n = 333, R = 17, r = 11;
    fx_init(&many, GB_F32, 77);
    many.f.symmetric = sym;
    product q = product_of(&many, GB_M32, n, n, 3, R, GB_F32, true);
    gb_out *o = product_contraction(&many, &q, q.k, false, fx_bit(q.tile));
    assert_int_equal(fx_run(&many, dev, 1, NULL), GB_OK);
    fx_init(&one, GB_F32, 77);
    one.f.symmetric = sym;
    product p = product_of(&one, GB_M32, n, n, 3, R, GB_F32, true);
    gb_out *s = product_contraction(&one, &p, p.k, true, fx_bit(p.tile));
    for (size_t j = 0; j < n; j++) ((float *)one.in[s->x])[j] = ((float *)many.in[o->x])[j * R + r];
    assert_int_equal(fx_run(&one, dev, 1, NULL), GB_OK);
    const float *a = many.got[0], *b = one.got[0];
    for (size_t i = 0; i < n; i++) assert_memory_equal(&a[i * R + r], &b[i], sizeof *a);
    fx_free(&many);
    fx_free(&one);
  }
}

/* -- the order of additions, as fold.h lays it down */

enum { ROWS = 1100, COLS = 700 }; /* lanes; tile indices */

static float tree (float v[GB_LANES]) {
  for (int n = 8; n > 0; n /= 2)
    for (int l = 0; l < n; l++) v[l] += v[l + n];
  return v[0];
}

static float row_sum (const float *k, size_t i, bool multiply) {
  double total = multiply ? 1 : 0;
  for (size_t c = 0; c < COLS; c += GB_CANON) {
    float chain = multiply ? 1 : 0;
    for (size_t j = c; j < COLS && j < c + GB_CANON; j++) {
      if (multiply) chain *= k[i * COLS + j];
      else chain += k[i * COLS + j];
    }
    total = multiply ? (double)((float)total * chain) : total + (double)chain;
  }
  return (float)total;
}

static float column_sum (const float *k, size_t j) {
  double total = 0;
  for (size_t s = 0; s < ROWS; s += GB_SUPER) {
    float lanes[GB_LANES] = {0};
    for (size_t i = s; i < ROWS && i < s + GB_SUPER; i++) lanes[i % GB_LANES] += k[i * COLS + j];
    total += (double)tree(lanes);
  }
  return (float)total;
}

static float total_sum (const float *k) {
  double total = 0;
  for (size_t b = 0; b < ROWS; b += GB_TI) {
    double block = 0;
    for (size_t c = 0; c < COLS; c += GB_TJ) {
      float lanes[GB_LANES] = {0};
      for (size_t j = c; j < COLS && j < c + GB_TJ; j++)
        for (size_t i = b; i < ROWS && i < b + GB_TI; i++) lanes[i % GB_LANES] += k[i * COLS + j];
      block += (double)tree(lanes);
    }
    total += block;
  }
  return (float)total;
}

static void sums_are_added_in_the_order_of_the_contract (void **state) {
  (void)state;
  fx x;
  fx_init(&x, GB_F32, 3);
  int lane = fx_axis(&x, GB_AXIS_LANE, ROWS), tile = fx_axis(&x, GB_AXIS_TILE, COLS);
  int o = fx_operand(&x, GB_F32, fx_bit(lane) | fx_bit(tile), true), v = fx_load(&x, o);
  float *k = x.in[o];
  for (size_t e = 0; e < ROWS * COLS; e++) k[e] = 1 + (float)fx_below(&x, 1 << 20) * 0x1p-24f;
  fx_emit(&x, v, GB_OUT_REDUCE, GB_SUM, fx_bit(tile), 0, GB_F32, -1, true);
  fx_emit(&x, v, GB_OUT_REDUCE, GB_SUM, fx_bit(lane), 0, GB_F32, -1, true);
  fx_emit(&x, v, GB_OUT_REDUCE, GB_SUM, fx_bit(lane) | fx_bit(tile), 0, GB_F32, -1, true);
  fx_emit(&x, v, GB_OUT_REDUCE, GB_PROD, fx_bit(tile), 0, GB_F32, -1, true);
  assert_int_equal(fx_run(&x, &devices[1], 1, NULL), GB_OK);
  const float *rows = x.got[0], *cols = x.got[1], *all = x.got[2], *products = x.got[3];
  for (size_t i = 0; i < ROWS; i++) {
    assert_true(rows[i] == row_sum(k, i, false));
    assert_true(products[i] == row_sum(k, i, true));
  }
  for (size_t j = 0; j < COLS; j++) assert_true(cols[j] == column_sum(k, j));
  assert_true(all[0] == total_sum(k));
  fx_free(&x);
}

/* Without a TILE axis the lanes are cut into the same super-tiles. */
static void long_sums_follow_super_tiles (void **state) {
  (void)state;
  const size_t n = 123457;
  fx x;
  fx_init(&x, GB_F32, 4);
  int lane = fx_axis(&x, GB_AXIS_LANE, n), o = fx_operand(&x, GB_F32, fx_bit(lane), true);
  float *k = x.in[o];
  for (size_t e = 0; e < n; e++) k[e] = 1 + (float)fx_below(&x, 1 << 20) * 0x1p-24f;
  fx_emit(&x, fx_load(&x, o), GB_OUT_REDUCE, GB_SUM, fx_bit(lane), 0, GB_F64, -1, true);
  assert_int_equal(fx_run(&x, &devices[2], 1, NULL), GB_OK);
  double total = 0;
  for (size_t s = 0; s < n; s += GB_SUPER) {
    float lanes[GB_LANES] = {0};
    for (size_t i = s; i < n && i < s + GB_SUPER; i++) lanes[i % GB_LANES] += k[i];
    total += (double)tree(lanes);
  }
  assert_true(*(double *)x.got[0] == total);
  fx_free(&x);
}

/* -- special values */

static void a_nan_poisons_its_own_row_or_column_only (void **state) {
  (void)state;
  for (int n = 0; n < 6; n++) {
    const size_t rows = 130, cols = 300, bad = n / 2 == 0 ? 0 : n / 2 == 1 ? 64 : 129;
    fx x;
    fx_init(&x, GB_F32, (uint64_t)n);
    product q = product_of(&x, GB_RBF, rows, cols, 3, 1, GB_F32, false);
    fx_emit(&x, q.k, GB_OUT_REDUCE, GB_SUM, fx_bit(q.tile), 0, GB_F32, -1, true);
    fx_emit(&x, q.k, GB_OUT_REDUCE, GB_SUM, fx_bit(q.lane), 0, GB_F32, -1, true);
    fx_emit(&x, q.k, GB_OUT_REDUCE, GB_MAXIMUM, fx_bit(q.tile), 0, GB_F32, -1, true);
    fx_emit(&x, q.k, GB_OUT_REDUCE, GB_LSE, fx_bit(q.lane), 0, GB_F32, -1, true);
    bool in_row = n % 2 == 0;
    ((float *)x.in[in_row ? q.xl : q.xt])[bad * 3 + 1] = NAN;
    assert_int_equal(fx_run(&x, dev, 1, NULL), GB_OK);
    const float *by_row = x.got[0], *by_col = x.got[1], *top = x.got[2], *lse = x.got[3];
    for (size_t i = 0; i < rows; i++) {
      assert_int_equal(isnan(by_row[i]) != 0, !in_row || i == bad);
      assert_int_equal(isnan(top[i]) != 0, !in_row || i == bad);
    }
    for (size_t j = 0; j < cols; j++) {
      assert_int_equal(isnan(by_col[j]) != 0, in_row || j == bad);
      assert_int_equal(isnan(lse[j]) != 0, in_row || j == bad);
    }
    fx_free(&x);
  }
}

/* Monoids over data with infinities, NaN, ties and both zeros, in every reach. */
static void special_values_agree (void **state) {
  static const gb_monoid monoids[] = {GB_LSE,     GB_ARGMINIMUM, GB_ARGMAXIMUM, GB_KSMALLEST,
                                      GB_MINIMUM, GB_MAXIMUM,    GB_SUM};
  static const double odd[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 1, 1, -2};
  (void)state;
  for (int n = 0; n < 7 * 4 * 8; n++) {
    fx x;
    fx_init(&x, n % 2 ? GB_F32 : GB_F64, (uint64_t)n);
    int tile = n / 28 % 2 ? fx_axis(&x, GB_AXIS_TILE, 70) : -1, outer = fx_axis(&x, GB_AXIS_OUTER, 2);
    int lane = fx_axis(&x, GB_AXIS_LANE, 67);
    int o = fx_operand(&x, x.f.compute, fx_bit(lane) | fx_bit(tile) | fx_bit(outer), true);
    int kinds = n / 56; /* 0: only -inf, 1: no NaN, 2: anything, 3: mostly -inf */
    for (size_t e = 0; e < x.in_n[o]; e++) {
      double v = kinds == 0 ? -INFINITY : odd[fx_below(&x, 8)];
      if (kinds == 1 && isnan(v)) v = 3;
      if (kinds == 2 && isnan(v) && fx_below(&x, 20)) v = -3;
      if (kinds == 3) v = fx_below(&x, 40) ? -INFINITY : 2;
      gb_element_set(x.in[o], e, x.f.compute, v);
    }
    gb_monoid m = monoids[n % 7];
    gb_axes reduced = (n / 7 & 1 ? fx_bit(lane) : 0) | (n / 7 & 2 ? fx_bit(tile) : 0) |
                      (fx_below(&x, 2) ? fx_bit(outer) : 0);
    gb_dtype to = m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM ? GB_I64 : x.f.compute;
    gb_out *q = fx_emit(&x, fx_load(&x, o), GB_OUT_REDUCE, m, reduced, 0, to, -1, true);
    if (m == GB_KSMALLEST) fx_select(&x, q, 5);
    x.exact[0] = m != GB_LSE;
    bool ok = agrees(&x);
    fx_free(&x);
    assert_true(ok);
  }
}

/* -- interrupts */

static void *raise_soon (void *ud) {
  (void)ud;
  struct timespec ms = {0, 15 * 1000 * 1000};
  nanosleep(&ms, NULL);
  gb_interrupt_raise();
  return NULL;
}

static void an_interrupt_ends_a_long_fold (void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    fx x;
    fx_init(&x, GB_F64, 1);
    product q = product_of(&x, GB_M52, 20000, 20000, 200, 3, GB_F64, true);
    x.f.symmetric = n > 1;
    if (n == 1) fx_emit(&x, q.k, GB_OUT_REDUCE, GB_SUM, fx_bit(q.lane), 0, GB_F64, -1, true);
    product_contraction(&x, &q, q.k, n % 2 == 0, fx_bit(q.tile));
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, raise_soon, NULL), 0);
    double start = gb_clock();
    assert_int_equal(fx_run(&x, &devices[n % 3], 1, NULL), GB_EINTR);
    double took = gb_clock() - start;
    pthread_join(id, NULL);
    gb_interrupt_clear();
    fx_free(&x);
    if (!(took < 0.5)) print_message("took %g s\n", took);
    assert_true(took < 0.5);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_agree_with_the_reference_and_with_themselves),
      cmocka_unit_test(products_of_every_profile_and_dimension_agree),
      cmocka_unit_test(symmetric_folds_agree_and_visit_half),
      cmocka_unit_test(templates_are_named_and_pairs_are_counted),
      cmocka_unit_test(a_column_does_not_depend_on_its_neighbours),
      cmocka_unit_test(sums_are_added_in_the_order_of_the_contract),
      cmocka_unit_test(long_sums_follow_super_tiles),
      cmocka_unit_test(a_nan_poisons_its_own_row_or_column_only),
      cmocka_unit_test(special_values_agree),
      cmocka_unit_test(an_interrupt_ends_a_long_fold),
  };
  for (int q = 0; q < 3; q++)
    if (gb_pool_new(q + 1, &devices[q].pool, NULL) != GB_OK) return 1;
  gb_cpu_fold_alone = 0;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int q = 0; q < 3; q++) gb_pool_free(devices[q].pool);
  return failed;
}
