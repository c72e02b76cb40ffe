/* bench_isa.c - how close the compiled templates come to the machine's bound; not a test.
**
** The bound on vectors a second is 1 / max(FMA ops / FMA rate, all ops / issue rate), rates measured in
** the run, with FMA ops = d + 5 (f32) or d + 13 (f64) + R, and all ops = FMA ops + d differences + 3
** (round, rest, scale). Usage: bench_isa [avx512|avx2|portable] [seconds a line] */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "cpu/isa/isa.h"

#define ROWS GB_CANON
#define BLOCK GB_TJ /* rows between front and contraction, for several right-hand sides */

static const char *const profile_name[] = {"rbf", "m12", "m32", "m52", "rq"};

typedef struct bench {
  const gb_isa_kernels *k;
  size_t width; /* bytes an element */
  gb_profile p;
  size_t d, R;
  void *xs, *y, *v, *g, *t, *acc, *buf;
} bench;

static void fill (void *p, size_t width, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const double r = rand() / (double)RAND_MAX;
    if (width == 4) ((float *)p)[i] = (float)r;
    else ((double *)p)[i] = r;
  }
}

static void *room (size_t width, size_t n) {
  void *p = aligned_alloc(64, (n * width + 63) / 64 * 64);
  if (p == NULL) abort();
  fill(p, width, n);
  return p;
}

static void run_row (const bench *b) {
  b->k->fused_row(b->p, ROWS, b->d, b->xs, b->y, b->d, 0.7, 1.5, b->v, 1, b->acc);
}
static void run_sym (const bench *b) {
  b->k->fused_sym(b->p, ROWS, b->d, b->xs, b->y, b->d, 0.7, 1.5, b->v, 1, b->g, b->acc, b->buf);
}
static void run_many (const bench *b) {
  for (size_t j = 0; j < ROWS; j += BLOCK) {
    const char *y = (const char *)b->y + j * b->d * b->width, *v = (const char *)b->v + j * b->R * b->width;
    b->k->sqdist_radial(b->p, BLOCK, b->d, b->xs, y, b->d, 0.7, 1.5, b->t);
    b->k->contract_row(BLOCK, b->R, b->t, v, b->R, b->acc);
  }
}

/* Pairs a second: the best of many runs. */
static double measure (const bench *b, void (*run)(const bench *), double seconds) {
  const double end = gb_clock() + seconds;
  double best = 0.0;
  do {
    const double start = gb_clock();
    for (int n = 0; n < 8; n++) run(b);
    const double rate = 8.0 * ROWS * GB_TI / (gb_clock() - start);
    if (rate > best) best = rate;
  } while (gb_clock() < end);
  return best;
}

/* One line: rates, their shares of the bound, and what symmetry gains. */
static void report (const gb_isa *isa, bool single, gb_profile p, size_t d, double fma, double issue,
                    double seconds) {
  enum { R = 16 };
  const size_t width = single ? 4 : 8;
  bench b = {single ? &isa->f32 : &isa->f64,
             width,
             p,
             d,
             R,
             .xs = room(width, d * GB_TI),
             .y = room(width, d * ROWS),
             .v = room(width, ROWS * R),
             .g = room(width, GB_TI),
             .t = room(width, BLOCK * GB_TI),
             .acc = room(width, R * GB_TI),
             .buf = room(width, ROWS * GB_LANES)};
  const double row = measure(&b, run_row, seconds), sym = measure(&b, run_sym, seconds);
  const double many = measure(&b, run_many, seconds);
  const double lanes = 64.0 / (double)width, other = (double)d + 3;
  double most[2];
  for (int r = 0; r < 2; r++) {
    const double ops = (double)d + (single ? 5 : 13) + (r == 0 ? 1 : R);
    most[r] = lanes * fmin(fma / ops, issue / (ops + other));
  }
  printf("f%zu %-3s d=%-2zu  R=1 %6.2f Gpair/s %5.1f%%   R=16 %6.2f %5.1f%%   symmetric %.2fx\n", 8 * width,
         profile_name[p], d, row * 1e-9, 100 * row / most[0], many * 1e-9, 100 * many / most[1],
         2 * sym / row);
  free(b.xs);
  free(b.y);
  free(b.v);
  free(b.g);
  free(b.t);
  free(b.acc);
  free(b.buf);
}

int main (int argc, char **argv) {
  static const size_t dims[] = {1, 2, 3, 4, 5, 8, 32};
  const double seconds = argc > 2 ? atof(argv[2]) : 0.05;
  gb_error err;
  if (gb_isa_select(argc > 1 ? argv[1] : NULL, &err) != GB_OK) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  const gb_isa *isa = gb_isa_active;
  const double fma = isa->rate_fma(0.2), issue = isa->rate_issue(0.2), exp2s = isa->rate_exp2(0.1);
  printf("%s: %.2f G fma/s, %.2f G mixed/s (64-byte vectors), %.2f G exp2/s\n", isa->name, fma * 1e-9,
         issue * 1e-9, exp2s * 1e-9);
  for (int single = 1; single >= 0; single--)
    for (int p = 0; p < GB_NPROFILES; p++)
      for (size_t n = 0; n < sizeof dims / sizeof *dims; n++)
        if (p == GB_RBF || dims[n] == 3) report(isa, single, (gb_profile)p, dims[n], fma, issue, seconds);
  return 0;
}
