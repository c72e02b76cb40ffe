/* test_inertia.c - the inertia of a fit against the same sum in 113 bits, from its labels and centres. */
#include "support/kmeans_fit.h"

static double exact_inertia (const fit *f) {
  __float128 sum = 0;
  for (size_t i = 0; i < f->n; i++) {
    __float128 square = 0;
    for (size_t t = 0; t < f->d; t++) {
      const __float128 gap = (__float128)f->x[i * f->d + t] -
                             (__float128)f->centre[(size_t)f->label[i] * f->d + t];
      square += gap * gap;
    }
    sum += (f->weight == NULL ? 1 : (__float128)f->weight[i]) * square;
  }
  return (double)sum;
}

static void check (size_t n, size_t d, size_t k, double spread, double offset, bool weighted,
                   gb_kmeans_options o) {
  double *x = blobs(n, d, k, spread, offset), *weight = malloc(n * sizeof *weight);
  for (size_t i = 0; i < n; i++) weight[i] = 0.1 + gb_rand_uniform(9, 1, i);
  fit *f = new_fit(n, d, x, k);
  o.k = k, o.seed = 7;
  f->o = o, f->threads = 2, f->npieces = 3, f->weight = weighted ? weight : NULL;
  run(f);
  assert_int_equal(f->st, GB_OK);
  const double want = exact_inertia(f);
  if (!(fabs(f->r.inertia - want) <= 1e-12 * want))
    fail_msg("n %zu d %zu k %zu: %.17g, not %.17g", n, d, k, f->r.inertia, want);
  free_fit(f);
  free(x);
  free(weight);
}

static void inertia_has_12_digits (void **state) {
  (void)state;
  static const size_t shape[][3] = {{500, 1, 3}, {4000, 3, 8}, {20000, 2, 50}, {900, 64, 20}, {300, 200, 5}};
  static const double offset[] = {0, 1, 1e3, 1e6}, spread[] = {1, 1e-3};
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    for (size_t f = 0; f < 4; f++)
      for (size_t s = 0; s < 2; s++) {
        const gb_kmeans_options o = {
            .start = (gb_kmeans_start)(f % 2), .max_iter = 300, .tol = 0, .bounded = s == 1};
        check(shape[i][0], shape[i][1], shape[i][2], spread[s], offset[f], s == 1, o);
      }
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inertia_has_12_digits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
