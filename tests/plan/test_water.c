/* test_water.c - shares of an axis against every possible sharing of small axes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/choose/water_fill.h"

#define MOST 5

static double time_of (int n, const size_t *share, const double *speed) {
  double t = 0;
  for (int i = 0; i < n; i++) t = fmax(t, (double)share[i] / speed[i]);
  return t;
}

/* The least time over all ways to share 'units' among devices i .. n-1; INFINITY if there is no way. */
static double least (size_t units, int i, int n, const size_t *cap, const double *speed) {
  if (i == n) return units == 0 ? 0 : INFINITY;
  double best = INFINITY;
  for (size_t k = 0; k <= units && k <= cap[i]; k++)
    best = fmin(best, fmax((double)k / speed[i], least(units - k, i + 1, n, cap, speed)));
  return best;
}

static void sharing_is_the_best_there_is (void **unused) {
  (void)unused;
  int held = 0, refused = 0, uneven = 0;
  for (uint64_t k = 0; k < 3000; k++) {
    const int n = 1 + (int)(gb_rand_uniform(1, k, 0) * MOST);
    const size_t units = (size_t)(gb_rand_uniform(1, k, 1) * 14);
    size_t cap[MOST + 1] = {0}, share[MOST], sum = 0;
    double speed[MOST + 1] = {0};
    for (int i = 0; i < n; i++) {
      cap[i] = (size_t)(gb_rand_uniform(2, k, (uint64_t)i) * 12);
      if (k % 5 == 0 && i == 0) cap[i] = SIZE_MAX;
      speed[i] = k % 3 == 0 ? 1 : 0.1 + 3 * gb_rand_uniform(3, k, (uint64_t)i);
    }
    const double want = least(units, 0, n, cap, speed);
    const bool ok = gb_water_fill(units, n, cap, speed, share);
    assert_int_equal(ok, isfinite(want));
    refused += !ok;
    if (!ok) continue;
    held++;
    for (int i = 0; i < n; i++) {
      assert_true(share[i] <= cap[i]);
      sum += share[i];
    }
    assert_int_equal(sum, units);
    assert_true(time_of(n, share, speed) <= want * (1 + 1e-12));
    for (int i = 1; i < n; i++) uneven += share[i] != share[0];
  }
  assert_true(held > 1000 && refused > 100 && uneven > 1000);
}

static void large_axes_are_shared_in_proportion (void **unused) {
  (void)unused;
  const size_t cap[4] = {SIZE_MAX, (size_t)1 << 40, 1000, 0};
  const double speed[4] = {1, 2, 5, 9};
  size_t share[4];
  assert_true(gb_water_fill((size_t)3000000001, 4, cap, speed, share));
  assert_int_equal(share[0] + share[1] + share[2] + share[3], (size_t)3000000001);
  assert_int_equal(share[2], 1000);
  assert_int_equal(share[3], 0);
  assert_true(share[1] <= 2 * share[0] + 2 && share[1] + 2 >= 2 * share[0]);
}

static void equal_devices_differ_by_one_at_most (void **unused) {
  (void)unused;
  for (size_t units = 0; units < 100; units++)
    for (int n = 1; n <= 8; n++) {
      const size_t cap[8] = {100, 100, 100, 100, 100, 100, 100, 100};
      const double speed[8] = {1, 1, 1, 1, 1, 1, 1, 1};
      size_t share[8];
      assert_true(gb_water_fill(units, n, cap, speed, share));
      for (int i = 0; i < n; i++)
        assert_true(share[i] >= units / (size_t)n && share[i] <= units / (size_t)n + 1);
    }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sharing_is_the_best_there_is),
      cmocka_unit_test(large_axes_are_shared_in_proportion),
      cmocka_unit_test(equal_devices_differ_by_one_at_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
