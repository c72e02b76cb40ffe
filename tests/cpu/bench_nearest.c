/* bench_nearest.c - rows turned into tiles and assigned to their nearest centres, beside the rate of multiply-adds; not a test.
**
** One thread, f32, rows of 64 MiB, which no cache holds; the least time of many calls, each after a measurement of the rate, whose
** greatest counts. The bound is rows d k / 16 vectors. Usage: bench_nearest [seconds a line] */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cpu/cluster/points.h"

#define ROWS_BYTES ((size_t)64 << 20)
#define ROWS 192 /* between two readings of the clock */

static float *room (size_t n) {
  float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
  if (p == NULL) abort();
  for (size_t i = 0; i < n; i++) p[i] = (float)rand() / (float)RAND_MAX;
  return p;
}

/* Rows of 'x' and their centres, as a fit has them. */
typedef struct bench {
  gb_points x;
  gb_point_reader reader;
  float *groups;
} bench;

/* The tiles from row 'first' on, until ROWS rows have gone by: how many that were. */
static size_t assign (const bench *b, size_t first) {
  int32_t label[GB_MOST_LANES * GB_NEAREST_TILES];
  gb_point_rows rows[GB_NEAREST_TILES];
  gb_next_bytes next;
  const gb_point_reader *r = &b->reader;
  size_t done = 0;
  while (done < ROWS) {
    const size_t tiles = gb_read_tiles(r, first + done, rows, &next);
    r->isa->nearest(r->k, r->x->d, tiles, r->tile, b->groups, next, label);
    done += tiles * r->lanes;
  }
  return done;
}

static void line (size_t d, size_t k, double seconds) {
  const size_t n = ROWS_BYTES / (d * sizeof(float));
  float *shift = room(d);
  bench b = {.x = {.at = room(n * d), .n = n, .d = d, .row = (ptrdiff_t)d, .column = 1, .dtype = GB_F32}};
  b.reader = gb_point_reader_in(&b.x, k, shift, room(gb_point_reader_bytes(GB_F32, d) / sizeof(float)));
  double *centre = malloc(k * d * sizeof *centre), rate = 0, best = 1e9;
  if (centre == NULL) abort();
  for (size_t i = 0; i < k * d; i++) centre[i] = rand() / (double)RAND_MAX;
  b.groups = room(k * (d + 1));
  b.reader.isa->group_centres(k, d, centre, b.groups);
  const size_t rows = assign(&b, 0);
  size_t i = rows;
  for (const double end = gb_clock() + seconds; gb_clock() < end; i = i + 2 * rows <= n ? i + rows : 0) {
    const double now = gb_isa_active->rate_fma(1e-5), from = gb_clock();
    assign(&b, i);
    const double took = gb_clock() - from;
    rate = now > rate ? now : rate;
    best = took < best ? took : best;
  }
  const double bound = (double)rows * (double)d * (double)k / 16 / rate;
  printf("d %4zu  k %5zu  %8.2f us for %zu rows  %3.0f %%\n", d, k, best * 1e6, rows, 100 * bound / best);
  free(centre), free((void *)b.x.at), free(b.reader.tile), free(shift), free(b.groups);
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
