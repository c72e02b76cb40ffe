/* bench_nearest.c - rows turned into tiles and assigned to their nearest centres, beside the rate of multiply-adds; not a test.
**
** One thread, f32, rows of 64 MiB, which no cache holds; the least time of many calls, each after a measurement of the rate, whose
** greatest counts. The bound is rows d k / 16 vectors. Usage: bench_nearest [seconds a line] */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cpu/isa/isa.h"

#define ROWS_BYTES ((size_t)64 << 20)

static float *room (size_t n) {
  float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
  if (p == NULL) abort();
  for (size_t i = 0; i < n; i++) p[i] = (float)rand() / (float)RAND_MAX;
  return p;
}

typedef struct bench {
  const gb_isa_kernels *isa;
  size_t d, k, lanes, tiles; /* tiles of lanes points, that are assigned together */
  float *x, *tile, *shift, *groups;
} bench;

/* The tiles from row 'first' on, and the next ones asked for. */
static void assign (const bench *b, size_t first) {
  int32_t label[64 * GB_NEAREST_TILES];
  const size_t rows = b->tiles * b->lanes;
  for (size_t t = 0; t < b->tiles; t++)
    b->isa->cluster_tile(b->d, b->x + (first + t * b->lanes) * b->d, (ptrdiff_t)b->d, b->shift,
                         b->tile + t * b->lanes * b->d);
  const gb_next_bytes next = {b->x + (first + rows) * b->d, rows * b->d * sizeof(float)};
  b->isa->nearest(b->k, b->d, b->tiles, b->tile, b->groups, next, label);
}

static void line (size_t d, size_t k, double seconds) {
  const gb_isa_kernels *isa = &gb_isa_active->f32;
  const size_t n = ROWS_BYTES / (d * sizeof(float)), lanes = isa->cluster_lanes;
  bench b = {.isa = isa, .d = d, .k = k, .lanes = lanes, .tiles = GB_NEAREST_TILES};
  while (b.tiles > 1 && b.tiles * lanes * d * sizeof(float) > (size_t)256 << 10) b.tiles--; /* as points.c */
  const size_t rows = b.tiles * lanes;
  double *centre = malloc(k * d * sizeof *centre), rate = 0, best = 1e9;
  if (centre == NULL) abort();
  for (size_t i = 0; i < k * d; i++) centre[i] = rand() / (double)RAND_MAX;
  b.x = room((n + 2 * rows) * d), b.tile = room(rows * d), b.shift = room(d), b.groups = room(k * (d + 1));
  isa->group_centres(k, d, centre, b.groups);
  size_t i = 0;
  for (const double end = gb_clock() + seconds; gb_clock() < end; i = i + rows < n ? i + rows : 0) {
    const double now = gb_isa_active->rate_fma(1e-5), from = gb_clock();
    assign(&b, i);
    const double took = gb_clock() - from;
    rate = now > rate ? now : rate;
    best = took < best ? took : best;
  }
  const double bound = (double)rows * (double)d * (double)k / 16 / rate;
  printf("d %4zu  k %5zu  %8.2f us for %zu rows  %3.0f %%\n", d, k, best * 1e6, rows, 100 * bound / best);
  free(centre), free(b.x), free(b.tile), free(b.shift), free(b.groups);
}

int main (int argc, char **argv) {
  static const size_t d[] = {16, 64, 256, 768}, k[] = {32, 128, 2048};
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  gb_error err;
  if (gb_isa_select(NULL, &err) != GB_OK) return fprintf(stderr, "%s\n", err.text), 1;
  for (size_t i = 0; i < sizeof d / sizeof *d; i++)
    for (size_t j = 0; j < sizeof k / sizeof *k; j++) line(d[i], k[j], seconds);
  return 0;
}
