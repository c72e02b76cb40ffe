/* test_blas.c - the calls of cpu/linalg/blas.h: small products against sums in long double, on every
** instruction set of the machine; and, on several threads at once, no memory taken by any of them and the
** bits of one thread alone. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "cpu/cpu.h"
#include "cpu/isa/isa.h"
#include "cpu/linalg/blas.h"
#include "cpu/linalg/lapack.h"
#include "support/plan/alloc_guard.h"

extern void *blas_memory_alloc (int position);
extern void blas_memory_free (void *buffer);

static gb_device *dev;
static gb_error err;

static int start_device (void **state) {
  (void)state;
  return gb_device_cpu_new(3, (size_t)1 << 30, &dev, &err) == GB_OK ? 0 : -1;
}

static int stop_device (void **state) {
  (void)state;
  gb_device_free(dev);
  return 0;
}

static void fill (gb_dtype t, void *p, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; i++) gb_element_set(p, i, t, gb_rand_normal(seed, 1, i));
}

/* products */

typedef struct product {
  size_t m, n, k;
  bool ta, tb;
  double alpha, beta;
} product;

#define PAD 3 /* between the rows of every matrix */

static size_t ld_a (const product *q) { return (q->ta ? q->m : q->k) + PAD; }
static size_t ld_b (const product *q) { return (q->tb ? q->k : q->n) + PAD; }
static size_t ld_c (const product *q) { return q->n + PAD; }

/* The initial c: it is read if beta is not 0, and must stay unchanged between the rows. */
static double before (const product *q, size_t i, size_t j) {
  return j < q->n && q->beta == 0 ? NAN : 1.0 + (double)((i * 7 + j) % 5);
}

static void check_product (gb_dtype t, const product *q, const void *a, const void *b, const void *c,
                           const char *who) {
  const double eps = t == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  for (size_t i = 0; i < q->m; i++)
    for (size_t j = 0; j < ld_c(q); j++) {
      const double got = gb_element_get(c, i * ld_c(q) + j, t), old = before(q, i, j);
      long double sum = 0, size = 0;
      for (size_t p = 0; j < q->n && p < q->k; p++) {
        const long double x = (long double)gb_element_get(a, q->ta ? p * ld_a(q) + i : i * ld_a(q) + p, t);
        const long double y = (long double)gb_element_get(b, q->tb ? j * ld_b(q) + p : p * ld_b(q) + j, t);
        sum += x * y, size += fabsl(x * y);
      }
      const double kept = q->beta == 0 ? 0 : q->beta * old;
      const double want = j < q->n ? (double)(q->alpha * sum) + kept : old;
      const double tol = j < q->n ? ((double)q->k + 4) * eps * (fabs(q->alpha) * (double)size + fabs(kept))
                                  : 0;
      if (!(fabs(got - want) <= tol))
        fail_msg("%s, %zu x %zu x %zu, %d %d, alpha %g beta %g: (%zu, %zu) is %.17g, want %.17g", who, q->m,
                 q->n, q->k, q->ta, q->tb, q->alpha, q->beta, i, j, got, want);
    }
}

typedef void product_fn (gb_dtype t, const product *q, const void *a, const void *b, void *c);

static void by_kernels (gb_dtype t, const product *q, const void *a, const void *b, void *c) {
  const gb_isa_kernels *k = t == GB_F64 ? &gb_isa_active->f64 : &gb_isa_active->f32;
  k->product(q->m, q->n, q->k, q->alpha, a, q->ta ? 1 : ld_a(q), q->ta ? ld_a(q) : 1, b, q->tb ? 1 : ld_b(q),
             q->tb ? ld_b(q) : 1, q->beta, c, ld_c(q));
}

static void by_blas (gb_dtype t, const product *q, const void *a, const void *b, void *c) {
  gb_blas_gemm(t, q->ta, q->tb, q->m, q->n, q->k, q->alpha, a, ld_a(q), b, ld_b(q), q->beta, c, ld_c(q));
}

/* As LAPACK calls it: column-major, so factors and their transposition trade places. */
static void by_fortran (gb_dtype t, const product *q, const void *a, const void *b, void *c) {
  const int m = (int)q->n, n = (int)q->m, k = (int)q->k, lda = (int)ld_b(q), ldb = (int)ld_a(q),
            ldc = (int)ld_c(q);
  const char *ta = q->tb ? "T" : "N", *tb = q->ta ? "c" : "n";
  const float alpha = (float)q->alpha, beta = (float)q->beta;
  if (t == GB_F64) dgemm_(ta, tb, &m, &n, &k, &q->alpha, b, &lda, a, &ldb, &q->beta, c, &ldc, 1, 1);
  else sgemm_(ta, tb, &m, &n, &k, &alpha, b, &lda, a, &ldb, &beta, c, &ldc, 1, 1);
}

static void run_product (gb_dtype t, const product *q, product_fn *run, const char *who) {
  const size_t size = gb_dtype_size(t), na = (q->ta ? q->k : q->m) * ld_a(q),
               nb = (q->tb ? q->n : q->k) * ld_b(q);
  void *a = malloc(na * size + 1), *b = malloc(nb * size + 1), *c = malloc(q->m * ld_c(q) * size + 1);
  fill(t, a, na, 1);
  fill(t, b, nb, 2);
  for (size_t i = 0; i < q->m; i++)
    for (size_t j = 0; j < ld_c(q); j++) gb_element_set(c, i * ld_c(q) + j, t, before(q, i, j));
  run(t, q, a, b, c);
  check_product(t, q, a, b, c, who);
  free(a), free(b), free(c);
}

/* Every remainder of rows, columns and inner indices, and each way that a kernel may take. */
static void run_products (product_fn *run, const char *who) {
  static const size_t few[] = {1, 2, 3, 5, 8, 9, 15, 26, 49}, deep[] = {0, 1, 7, 33, 257, 300};
  static const double scale[][2] = {{1, 0}, {-1, 1}, {0.5, -2}};
  size_t nth = 0;
  for (size_t i = 0; i < sizeof few / sizeof *few; i++)
    for (size_t j = 0; j < sizeof few / sizeof *few; j++)
      for (size_t p = 0; p < sizeof deep / sizeof *deep; p++)
        for (int how = 0; how < 4; how++, nth++) {
          const double *s = scale[nth % 3];
          const product q = {few[i], few[j], deep[p], how & 1, how & 2, s[0], s[1]};
          run_product(nth / 3 % 2 ? GB_F32 : GB_F64, &q, run, who);
        }
}

static void small_products_are_right_on_every_instruction_set (void **unused) {
  (void)unused;
  static const char *const names[] = {"portable", "avx2", "avx512"};
  const gb_isa *chosen = gb_isa_active;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (gb_isa_select(names[i], &err) == GB_OK) run_products(by_kernels, names[i]);
  gb_isa_active = chosen;
}

static void products_by_blas_and_by_lapack_are_right (void **unused) {
  (void)unused;
  run_products(by_blas, "blas");
  run_products(by_fortran, "fortran");
  for (int how = 0; how < 8; how++) { /* on both sides of what counts as small */
    const product q = {100, how < 4 ? 100 : 101, 100, how & 1, how & 2, -1, 1};
    run_product(GB_F64, &q, by_blas, "blas");
    run_product(GB_F32, &q, by_fortran, "fortran");
  }
}

/* threads */

#define MOST 330 /* largest order */
#define ELEMENTS (MOST * MOST)
#define JOBS 240

enum { A, B, C, L, U, VT, WORK, MATRICES };

typedef struct lane { /* of one thread */
  double *matrix[MATRICES];
  int pivot[MOST];
  size_t n, m, k;
  uint64_t digest[JOBS];
} lane;

static lane lanes[3];
static void *source[2][2]; /* by type: numbers, and a positive definite matrix of order MOST */

static uint64_t digest_of (const void *p, size_t bytes) {
  uint64_t h = 14695981039346656037u, word;
  for (size_t i = 0; i < bytes; i += sizeof word) {
    memcpy(&word, (const char *)p + i, sizeof word);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 29;
  }
  return h;
}

static void make_sources (void) {
  for (int f = 0; f < 2; f++) {
    const gb_dtype t = f ? GB_F32 : GB_F64;
    for (int s = 0; s < 2; s++) source[f][s] = calloc(ELEMENTS + 32, gb_dtype_size(t));
    fill(t, source[f][0], ELEMENTS + 32, 3);
    for (size_t i = 0; i < MOST; i++)
      for (size_t j = 0; j < MOST; j++) {
        const size_t lower = i > j ? i * MOST + j : j * MOST + i;
        gb_element_set(source[f][1], i * MOST + j, t, i == j ? MOST : gb_element_get(source[f][0], lower, t));
      }
  }
}

/* Call 'job' of this lane: sizes and routine are of its number alone. */
static void run_job (lane *q, size_t job) {
  const gb_dtype t = job % 2 ? GB_F32 : GB_F64;
  static const size_t sizes[] = {2, 3, 5, 8, 13, 20, 33, 50, 64, 90, 100, 128, 160, 256, 300};
  const size_t routine = job / 2 % 12, count = sizeof sizes / sizeof *sizes;
  const size_t m = sizes[job * 7 % count], n = sizes[job * 11 / 3 % count],
               k = sizes[job * 13 / 5 % count] % 257;
  const bool heavy = routine >= 10, ta = job / 3 % 2, tb = job / 5 % 2;
  const size_t order = heavy ? m % 161 : m;
  double **x = q->matrix;
  const size_t size = gb_dtype_size(t), bytes = ELEMENTS * size;
  const char *numbers = source[job % 2][0];
  memcpy(x[A], numbers, bytes), memcpy(x[B], numbers + 17 * size, bytes),
      memcpy(x[C], numbers + 5 * size, bytes);
  memcpy(x[L], source[job % 2][1], bytes);
  switch (routine) {
    case 0:
    case 1:
    case 2: gb_blas_gemm(t, ta, tb, m, n, k, -1, x[A], MOST, x[B], MOST, (double)routine, x[C], MOST); break;
    case 3: gb_blas_syrk_lower(t, ta, m, k, -1, x[A], MOST, x[C], MOST); break;
    case 4: gb_blas_trsm_left(t, ta ? GB_LOWER : GB_UPPER, tb, false, m, n, x[L], MOST, x[C], MOST); break;
    case 5: gb_blas_trsm_right(t, ta ? GB_LOWER : GB_UPPER, tb, true, n, m, x[L], MOST, x[C], MOST); break;
    case 6: gb_blas_trmm_left_trans(t, m, n, x[L], MOST, x[C], MOST); break;
    case 7: gb_lapack_potrf(t, m, x[L], MOST); break;
    case 8: gb_lapack_trtri(t, m, x[L], MOST), gb_lapack_lauum(t, m, x[L], MOST); break;
    case 9: gb_lapack_getrf(t, m > n ? m : n, n, x[C], MOST, q->pivot); break;
    case 10: gb_lapack_eigh(t, order, x[L], x[C], x[WORK]); break;
    default: gb_lapack_svd(t, order, n % 161 + 1, x[A], x[U], x[C], x[VT], x[WORK]); break;
  }
  q->digest[job] = digest_of(x[C], bytes) ^ digest_of(x[L], bytes);
}

static void run_jobs (void *ud, int thread) {
  (void)ud;
  for (size_t job = 0; job < JOBS; job++) run_job(&lanes[thread], (job + (size_t)thread * 131) % JOBS);
}

static void concurrent_calls_take_no_memory_and_have_the_bits_of_one_alone (void **unused) {
  (void)unused;
  if (!ALLOC_GUARDED) skip();
  make_sources();
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < MATRICES; i++) lanes[t].matrix[i] = calloc(4 * ELEMENTS, sizeof(double));
  static uint64_t alone[JOBS];
  for (size_t job = 0; job < JOBS; job++) run_job(&lanes[0], job), alone[job] = lanes[0].digest[job];
  assert_int_equal(gb_blas_ready(&err), GB_OK);
  const long calls = atomic_load(&guarded_calls);
  guard_step("blas");
  gb_pool_run(dev->pool, run_jobs, NULL);
  guard_step(NULL);
  assert_true(calls > 0);
  assert_int_equal(atomic_load(&guarded_calls), calls);
  for (int t = 0; t < 3; t++)
    for (size_t job = 0; job < JOBS; job++)
      if (lanes[t].digest[job] != alone[job]) fail_msg("thread %d, job %zu: other bits", t, job);
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < MATRICES; i++) free(lanes[t].matrix[i]);
  for (int s = 0; s < 4; s++) free(source[s / 2][s % 2]);
}

/* Buffers of the library: two callers never have the same. */

static atomic_int strangers;

static void borrow (void *ud, int thread) {
  (void)ud;
  for (int i = 0; i < 100000; i++) {
    volatile int *p = blas_memory_alloc(0);
    *p = thread;
    for (int k = 0; k < 20; k++)
      if (*p != thread) atomic_fetch_add(&strangers, 1);
    blas_memory_free((void *)(uintptr_t)p);
  }
}

static void a_packing_buffer_is_lent_to_one_caller (void **unused) {
  (void)unused;
  gb_pool_run(dev->pool, borrow, NULL);
  assert_int_equal(atomic_load(&strangers), 0);
}

/* One line for scripts: what this process runs on. */
static int print_cores (void) {
  if (start_device(NULL) != 0) return 2;
  printf("%s; %s\n", gb_device_isa(dev), gb_blas_identity());
  return stop_device(NULL);
}

int main (int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--cores") == 0) return print_cores();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_products_are_right_on_every_instruction_set),
      cmocka_unit_test(products_by_blas_and_by_lapack_are_right),
      cmocka_unit_test(a_packing_buffer_is_lent_to_one_caller),
      cmocka_unit_test(concurrent_calls_take_no_memory_and_have_the_bits_of_one_alone),
  };
  return cmocka_run_group_tests(tests, start_device, stop_device);
}
