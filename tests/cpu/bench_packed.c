/* bench_packed.c - what half the bytes cost: Cholesky, solves and inverse, square against packed; not a
** test. Each time is the best of a few runs, the two layouts in turns, so that the ratios of one run
** compare. Usage: bench_packed [threads] [order ...] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"
#include "program/packed.h"

#define RUNS 2
#define RHS 8

static gb_device *dev;

static void *room (size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (p == NULL) abort();
  memset(p, 0, bytes);
  return p;
}

/* I + 1 / (1 + |i - j|) of order n, tile by tile: diagonally dominant enough to be positive definite. */
static void fill (double *a, size_t n, bool packed) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      const size_t bj = j / GB_BLOCK, ld = packed ? gb_block_extent(n, GB_BLOCK, bj) : n;
      double *row = packed ? a + gb_packed_tile(n, i / GB_BLOCK, bj) + i % GB_BLOCK * ld : a + i * n;
      row[packed ? j % GB_BLOCK : j] = 1.0 / (double)(1 + i - j) + (i == j ? 8 : 0);
    }
}

/* Seconds of one run of 'op' on the (n, n) at 'a', with RHS right-hand sides at 'b' or none. */
static double seconds (gb_op op, size_t n, bool packed, const void *a, const void *b, void *out) {
  const gb_shape square = gb_shape_of(2, (size_t[]){n, n}), rhs = gb_shape_of(2, (size_t[]){n, RHS});
  gb_opaque o = {.op = op, .nin = b != NULL ? 2 : 1, .nout = 1, .packed = packed};
  o.packed_inverse = packed && op == GB_OP_CHOL_INVERSE;
  o.in_shape[0] = square, o.in_shape[1] = rhs, o.out_shape[0] = b != NULL ? rhs : square;
  void *scratch = room(dev->ops->opaque_scratch(dev, &o) + 64);
  gb_error err;
  const double start = gb_clock();
  if (dev->ops->opaque(dev, &o, (const void *[]){a, b}, (void *[]){out}, scratch, &err) != GB_OK) {
    fprintf(stderr, "%s\n", err.text);
    exit(1);
  }
  const double took = gb_clock() - start;
  free(scratch);
  return took;
}

static void report (size_t n) {
  static const char *const name[] = {"cholesky", "solve", "inverse"};
  double *a[2], *l[2], *b = room(n * RHS * sizeof *b), *x = room(n * RHS * sizeof *x);
  double best[3][2];
  for (int p = 0; p < 2; p++) {
    const size_t bytes = p ? gb_packed_bytes(n, GB_F64) : n * n * sizeof *b;
    a[p] = room(bytes), l[p] = room(bytes);
    for (int k = 0; k < 3; k++) best[k][p] = 1e30;
  }
  for (size_t i = 0; i < n * RHS; i++) b[i] = 1;
  for (int run = 0; run < RUNS; run++)
    for (int p = 0; p < 2; p++) {
      fill(a[p], n, p); /* the inverse of the run before was written there */
      const double took[] = {seconds(GB_OP_CHOLESKY, n, p, a[p], NULL, l[p]),
                             seconds(GB_OP_SOLVE_CHOL, n, p, l[p], b, x),
                             seconds(GB_OP_CHOL_INVERSE, n, p, l[p], NULL, a[p])};
      for (int k = 0; k < 3; k++)
        if (took[k] < best[k][p]) best[k][p] = took[k];
    }
  printf("n = %zu, f64: square %zu bytes, packed %zu (%.4f)\n", n, n * n * sizeof *b,
         gb_packed_bytes(n, GB_F64), (double)gb_packed_bytes(n, GB_F64) / (double)(n * n * sizeof *b));
  for (int k = 0; k < 3; k++)
    printf("  %-9s square %8.3f s  packed %8.3f s  ratio %.3f\n", name[k], best[k][0], best[k][1],
           best[k][1] / best[k][0]);
  for (int p = 0; p < 2; p++) free(a[p]), free(l[p]);
  free(b), free(x);
}

int main (int argc, char **argv) {
  gb_error err;
  if (gb_device_cpu_new(argc > 1 ? atoi(argv[1]) : 2, (size_t)1 << 34, &dev, &err) != GB_OK) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  for (int k = 2; k < argc; k++) report((size_t)atol(argv[k]));
  if (argc <= 2) report(4000), report(8000);
  gb_device_free(dev);
  return 0;
}
