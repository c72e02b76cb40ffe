/* kmeans_fit.h - a fit of k-means in C tests: what it is given, run on a CPU of its own, and all that it gave. */
#ifndef GB_TESTS_KMEANS_FIT_H
#define GB_TESTS_KMEANS_FIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "cluster/kmeans.h"
#include "device/registry.h"

#define GB_FIXTURE static __attribute__((unused))

enum { MOST_PIECES = 8, MOST_ITER = 300 };

/* One fit and all that it gave. */
typedef struct fit {
  gb_kmeans_options o;
  gb_dtype dtype;
  size_t n, d, npieces, threads;
  const double *x, *weight;
  bool columns; /* column-major */
  /* results */
  gb_status st;
  gb_error err;
  gb_kmeans_result r;
  double centre[1 << 14], history[MOST_ITER];
  int32_t *label;
  size_t predicted, measured;
} fit;

GB_FIXTURE gb_points points_of (const fit *f, void *at, size_t first, size_t n) {
  gb_points p = {.at = at, .dtype = f->dtype, .row = (ptrdiff_t)f->d, .column = 1, .n = n, .d = f->d};
  if (f->columns) p.row = 1, p.column = (ptrdiff_t)f->n;
  const size_t skip = f->columns ? first : first * f->d;
  p.at = (char *)at + skip * gb_dtype_size(f->dtype);
  p.weight = f->weight == NULL ? NULL : f->weight + first;
  return p;
}

/* Pieces of uneven sizes: the first has one point, if there are several. */
GB_FIXTURE size_t first_of (const fit *f, size_t piece) {
  if (piece == 0) return 0;
  if (piece == f->npieces) return f->n;
  return 1 + (f->n - 1) * (piece - 1) * piece / (f->npieces * f->npieces);
}

GB_FIXTURE void run (fit *f) {
  gb_device *dev;
  assert_int_equal(gb_device_cpu_new((int)(f->threads == 0 ? 1 : f->threads), (size_t)1 << 30, &dev, &f->err),
                   GB_OK);
  if (f->npieces == 0) f->npieces = 1;
  void *at = malloc(f->n * f->d * gb_dtype_size(f->dtype));
  for (size_t i = 0; i < f->n; i++)
    for (size_t t = 0; t < f->d; t++)
      gb_element_set(at, f->columns ? t * f->n + i : i * f->d + t, f->dtype, f->x[i * f->d + t]);
  gb_kmeans_piece piece[MOST_PIECES];
  int32_t *label[MOST_PIECES];
  f->label = malloc(f->n * sizeof *f->label);
  for (size_t i = 0; i < f->npieces; i++) {
    const size_t first = first_of(f, i);
    piece[i] = (gb_kmeans_piece){.device = dev, .x = points_of(f, at, first, first_of(f, i + 1) - first)};
    piece[i].weight = piece[i].x.weight;
    label[i] = f->label + first;
  }
  f->r = (gb_kmeans_result){.centre = f->centre, .history = f->history, .label = label};
  const gb_kmeans_bytes b = gb_kmeans_bytes_of(&f->o, f->npieces, piece);
  f->predicted = b.device + b.home;
  f->st = gb_kmeans_fit(&f->o, f->npieces, piece, &f->r, &f->err);
  f->measured = dev->ledger.peak;
  assert_int_equal(dev->ledger.used, 0);
  free(at);
  gb_device_free(dev);
}

GB_FIXTURE fit *new_fit (size_t n, size_t d, const double *x, size_t k) {
  fit *f = calloc(1, sizeof *f);
  f->n = n, f->d = d, f->x = x, f->dtype = GB_F64;
  f->o = (gb_kmeans_options){.k = k, .max_iter = MOST_ITER, .tol = 1e-4, .seed = 7};
  return f;
}

GB_FIXTURE void free_fit (fit *f) {
  free(f->label);
  free(f);
}

GB_FIXTURE void near (double got, double want, double most) {
  if (!(fabs(got - want) <= most)) fail_msg("%.17g, not %.17g", got, want);
}

GB_FIXTURE double *blobs (size_t n, size_t d, size_t k, double spread, double offset) {
  double *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n; i++)
    for (size_t t = 0; t < d; t++)
      x[i * d + t] = (double)(float)(offset + 4 * gb_rand_normal(5, 1, (i % k) * d + t) +
                                     spread * gb_rand_normal(5, 2, i * d + t));
  return x;
}

GB_FIXTURE uint64_t bits_of (const fit *f) {
  uint64_t h = 1469598103934665603u;
  const unsigned char *parts[] = {(const unsigned char *)f->label, (const unsigned char *)f->centre,
                                  (const unsigned char *)&f->r.inertia,
                                  (const unsigned char *)&f->r.iterations, (const unsigned char *)f->history};
  const size_t bytes[] = {f->n * sizeof *f->label, f->o.k * f->d * sizeof(double), sizeof(double),
                          sizeof(size_t), f->r.iterations * sizeof(double)};
  for (int p = 0; p < 5; p++)
    for (size_t i = 0; i < bytes[p]; i++) h = (h ^ parts[p][i]) * 1099511628211u;
  return h;
}

#endif
