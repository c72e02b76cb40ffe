/* test_isa_profile.c - covariance profiles of every kernel table: accuracy against long double,
** derivatives, ends of the range, and the equality in bits of the compiled templates with their pieces. */
#include "support/cpu/isa_harness.h"

static const char *const profile_name[] = {"rbf", "m12", "m32", "m52", "rq"};

/* Profiles at u in long double, with order and derivative in alpha; op.h has the formulas. */
static long double exact (gb_profile p, int order, int dalpha, long double u, long double alpha) {
  const long double z = sqrtl((p == GB_M32   ? 3
                               : p == GB_M52 ? 5
                                             : 1) *
                              u),
                    e = expl(p == GB_RBF ? -u / 2 : -z);
  if (p == GB_RBF) return order == 0 ? e : order == 1 ? -e / 2 : e / 4;
  if (p == GB_M12)
    return order == 0 ? e : u == 0 ? 0 : order == 1 ? -e / (2 * z) : e * (1 + z) / (4 * z * z * z);
  if (p == GB_M32) return order == 0 ? (1 + z) * e : order == 1 ? -1.5L * e : u == 0 ? 0 : 2.25L * e / z;
  if (p == GB_M52)
    return order == 0 ? (1 + z + z * z / 3) * e : order == 1 ? -5 * (1 + z) * e / 6 : 25 * e / 12;
  const long double v = u / (2 * alpha), l = log1pl(v), w = v / (1 + v);
  const long double f = (order == 0   ? 1
                         : order == 1 ? -0.5L
                                      : 0.25L * (1 + 1 / alpha)) *
                        expl(-(alpha + order) * l);
  if (!dalpha) return f;
  if (order == 0 && w < 0.1L) { /* where w - log(1 + v) cancels */
    long double sum = 0.0L, power = w;
    for (int n = 2; n < 24; n++) sum += (power *= w) / n;
    return -f * sum;
  }
  return f * ((1 + order / alpha) * w - l - (order == 2 ? 1 / (alpha * (alpha + 1)) : 0));
}

/* The error due to the exponential's argument: each of its roundings is multiplied by it. */
static double exponent (gb_profile p, double u, double alpha) {
  switch (p) {
    case GB_RBF: return 1.5 * u / 2;
    case GB_M12: return 2 * sqrt(u);
    case GB_M32: return 2 * sqrt(3 * u);
    case GB_M52: return 2 * sqrt(5 * u);
    default: return 3 * alpha * log1p(u / (2 * alpha)); /* a logarithm of 2 ulp */
  }
}

static void profiles_are_within_4_ulp_of_their_argument_in (const table *t) {
  static const double scales[] = {1e-9, 1e-2, 0.7, 31.0, 1e8}, alphas[] = {0.1, 1.0, 2.5, 1e6};
  enum { N = 4096 };
  void *s = room(t, N), *got = room(t, N);
  for (int p = 0; p < GB_NPROFILES; p++)
    for (int n = 0; n < 5; n++)
      for (int a = 0; a < (p == GB_RQ ? 4 : 1); a++) {
        const double c = t->single ? (double)(float)scales[n] : scales[n];
        for (size_t i = 0; i < N; i++) put(t, s, i, exp2(uniform(-40, 9)) / c);
        put(t, s, 0, 0.0);
        t->k->radial((gb_profile)p, 0, 0, N, s, c, alphas[a], got);
        assert_true(get(t, got, 0) == 1.0);
        for (size_t i = 0; i < N; i++) {
          const double u = c * get(t, s, i), most = 4.0 + exponent((gb_profile)p, u, alphas[a]);
          const long double want = exact((gb_profile)p, 0, 0, (long double)c * get(t, s, i), alphas[a]);
          if (want >= (t->single ? 0x1p-126L : 0x1p-1022L)) /* smaller values may be 0 */
            check_ulps(t, get(t, got, i), want, most, profile_name[p], u);
          if (!(fabsl(get(t, got, i) - want) <= (t->single ? 0x1p-21L : 0x1p-50L)))
            fail_msg("%s at %g is more than 4 ulp of the variance off", profile_name[p], u);
        }
      }
  free(s);
  free(got);
}
EACH_TABLE(profiles_are_within_4_ulp_of_their_argument)

/* The scale for the error of a derivative. The derivative in alpha is a difference, except for order 0 near
** 0. */
static long double size_of (gb_profile p, int order, int dalpha, long double u, long double alpha) {
  const long double v = u / (2 * alpha), w = v / (1 + v);
  if (!dalpha || (order == 0 && w < 0.12L)) return fabsl(exact(p, order, dalpha, u, alpha));
  return fabsl(exact(p, order, 0, u, alpha)) *
         (log1pl(v) + (1 + order / alpha) * w + (order == 2 ? 1 / (alpha * (alpha + 1)) : 0));
}

static void derivatives_agree_with_their_formulas_in (const table *t) {
  enum { N = 2048 };
  const double c = 0.75, alpha = 1.5, unit = t->single ? 0x1p-23 : 0x1p-52;
  void *s = room(t, N), *got = room(t, N);
  for (int p = 0; p < GB_NPROFILES; p++)
    for (int order = 0; order < 3; order++)
      for (int dalpha = 0; dalpha < (p == GB_RQ ? 2 : 1); dalpha++) {
        for (size_t i = 0; i < N; i++) put(t, s, i, exp2(uniform(-20, 7)));
        put(t, s, 0, 0.0);
        t->k->radial((gb_profile)p, order, dalpha, N, s, c, alpha, got);
        for (size_t i = 0; i < N; i++) {
          const long double u = c * (long double)get(t, s, i);
          const long double want = exact((gb_profile)p, order, dalpha, u, alpha);
          const long double most = (12 + 2 * exponent((gb_profile)p, (double)u, alpha)) * unit *
                                       size_of((gb_profile)p, order, dalpha, u, alpha) +
                                   (t->single ? 1e-44L : 1e-322L);
          if (!(fabsl(get(t, got, i) - want) <= most))
            fail_msg("%s f%zu %s order %d dalpha %d at %Lg: %.17g, expected %.17Lg", t->isa->name,
                     8 * t->width, profile_name[p], order, dalpha, u, get(t, got, i), want);
        }
      }
  free(s);
  free(got);
}
EACH_TABLE(derivatives_agree_with_their_formulas)

static void at_the_ends_profiles_are_1_0_or_nan_in (const table *t) {
  void *s = zeros(t, GB_LANES), *got = room(t, GB_LANES);
  put(t, s, 1, (double)INFINITY);
  put(t, s, 2, (double)NAN);
  put(t, s, 3, t->single ? 3e38 : 1e308);
  put(t, s, 4, 1e-30);
  for (int p = 0; p < GB_NPROFILES; p++) {
    t->k->radial((gb_profile)p, 0, 0, GB_LANES, s, 2.0, 1.5, got);
    assert_true(get(t, got, 0) == 1.0);
    assert_true(get(t, got, 1) == 0.0);
    assert_true(isnan(get(t, got, 2)));
    assert_true(get(t, got, 3) < (p == GB_RQ ? 1e-50 : 1e-300));
    assert_true(fabs(get(t, got, 4) - 1.0) < 1e-6);
    for (int order = 1; order < 3; order++) {
      t->k->radial((gb_profile)p, order, 0, GB_LANES, s, 2.0, 1.5, got);
      assert_true(isfinite(get(t, got, 0)));
      assert_true(get(t, got, 1) == 0.0);
      assert_true(isnan(get(t, got, 2)));
    }
    t->k->radial((gb_profile)p, 0, 0, GB_LANES, s, 1e300, 1.5, got); /* past f32: held at its largest */
    assert_true(get(t, got, 0) == 1.0);
    t->k->radial((gb_profile)p, 0, 0, GB_LANES, s, (double)NAN, 1.5, got);
    assert_true(isnan(get(t, got, 0)));
  }
  t->k->radial(GB_RQ, 0, 1, GB_LANES, s, 2.0, 1.5, got);
  assert_true(get(t, got, 0) == 0.0);
  assert_true(get(t, got, 1) == 0.0);
  assert_true(isnan(get(t, got, 2)));
  free(s);
  free(got);
}
EACH_TABLE(at_the_ends_profiles_are_1_0_or_nan)

static void templates_equal_their_pieces_in (const table *t) {
  static const size_t dims[] = {1, 2, 3, 4, 5, 8, 17};
  static const int rows[] = {1, 3, 16, 17};
  const double c = 0.6, alpha = 1.3;
  for (int p = 0; p < GB_NPROFILES; p++)
    for (int n = 0; n < 7; n++)
      for (int m = 0; m < 4; m++) {
        const size_t d = dims[n], nj = (size_t)rows[m], full = nj * GB_TI, stride = d + 1;
        void *xs = random_values(t, d * GB_TI, -1, 1), *y = random_values(t, nj * stride, -1, 1);
        void *v = random_values(t, 2 * nj, -1, 1), *g = random_values(t, GB_TI, -1, 1);
        void *tile = room(t, full), *fused = room(t, full);
        void *acc = random_values(t, GB_TI, -1, 1), *buf = random_values(t, nj * GB_LANES, -1, 1);
        void *row = room(t, GB_TI), *sym = room(t, GB_TI), *lanes = room(t, nj * GB_LANES);
        memcpy(row, acc, GB_TI * t->width);
        memcpy(sym, acc, GB_TI * t->width);
        memcpy(lanes, buf, nj * GB_LANES * t->width);
        t->k->sqdist((int)nj, d, xs, y, stride, NULL, tile);
        t->k->radial((gb_profile)p, 0, 0, full, tile, c, alpha, tile);
        t->k->contract_row((int)nj, 1, tile, v, 2, acc);
        t->k->contract_col((int)nj, 1, tile, g, buf);
        t->k->sqdist_radial((gb_profile)p, (int)nj, d, xs, y, stride, c, alpha, fused);
        check_same(t, fused, tile, full, "sqdist_radial");
        if (t->k->fused_row((gb_profile)p, (int)nj, d, xs, y, stride, c, alpha, v, 2, row))
          check_same(t, row, acc, GB_TI, "fused_row");
        if (t->k->fused_sym((gb_profile)p, (int)nj, d, xs, y, stride, c, alpha, v, 2, g, sym, lanes)) {
          check_same(t, sym, acc, GB_TI, "fused_sym, rows");
          check_same(t, lanes, buf, nj * GB_LANES, "fused_sym, columns");
        }
        free(xs);
        free(y);
        free(v);
        free(g);
        free(tile);
        free(fused);
        free(acc);
        free(buf);
        free(row);
        free(sym);
        free(lanes);
      }
}
EACH_TABLE(templates_equal_their_pieces)

static void a_nan_point_poisons_its_own_lanes_and_no_others_in (const table *t) {
  void *xs = random_values(t, 3 * GB_TI, -1, 1), *y = random_values(t, 4 * 3, -1, 1),
       *v = random_values(t, 4, -1, 1);
  void *acc = zeros(t, GB_TI);
  put(t, xs, GB_TI + 9, (double)NAN);
  t->k->fused_row(GB_RBF, 4, 3, xs, y, 3, 1.0, 0.0, v, 1, acc);
  for (size_t i = 0; i < GB_TI; i++) assert_int_equal(isnan(get(t, acc, i)) != 0, i == 9);
  free(xs);
  free(y);
  free(v);
  free(acc);
}
EACH_TABLE(a_nan_point_poisons_its_own_lanes_and_no_others)

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(profiles_are_within_4_ulp_of_their_argument),
                                     cmocka_unit_test(derivatives_agree_with_their_formulas),
                                     cmocka_unit_test(at_the_ends_profiles_are_1_0_or_nan),
                                     cmocka_unit_test(templates_equal_their_pieces),
                                     cmocka_unit_test(a_nan_point_poisons_its_own_lanes_and_no_others)};
  return cmocka_run_group_tests_name("isa_profile", tests, NULL, NULL);
}
