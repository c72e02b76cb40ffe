/* price.c - steps, and how often they are called. */
#include "plan/price.h"

#include "backend/packed.h"
#include "plan/split.h"

/* Calls of a step within the loop, and the part of the step that each does. */
static double price_within (const gb_rates *r, int threads, const gb_step *st, const gb_placement *p, int s) {
  const size_t extent = p->cutting->extent, piece = st->is_fold ? gb_piece_of(p, s) : p->chunk;
  const size_t whole = extent / piece, rest = extent % piece;
  double seconds = (double)whole * gb_cost_step(r, threads, st, (double)piece / (double)extent);
  if (rest > 0) seconds += gb_cost_step(r, threads, st, (double)rest / (double)extent);
  return seconds;
}

/* Lower tiles, each of the whole's work in proportion to its entries. */
static double price_tiles (const gb_rates *r, int threads, const gb_step *st, size_t n) {
  const double blocks = (double)gb_blocks(n, GB_BLOCK), tiles = blocks * (blocks + 1) / 2;
  const double part = (double)GB_BLOCK / (double)n;
  return tiles * gb_cost_step(r, threads, st, part >= 1 ? 1 : part * part);
}

static double price_step (const gb_rates *r, int threads, const gb_lowered *low, const gb_triangle *t, int n,
                          const gb_placement *p, int s) {
  const gb_step *st = &low->step[s];
  const gb_triangle *packed = gb_packed_store(p, t, n, s);
  if (p->cutting != NULL && p->cutting->when[s] == GB_WITHIN) return price_within(r, threads, st, p, s);
  if (packed != NULL) return price_tiles(r, threads, st, low->buf[packed->matrix].shape.dim[0]);
  return gb_cost_step(r, threads, st, 1);
}

double gb_place_seconds (const gb_rates *r, int threads, const gb_lowered *low, const gb_triangle *t, int ntriangles,
                         const gb_placement *p) {
  double seconds = 0;
  for (int s = 0; s < low->nsteps; s++)
    if (p->runs[s]) seconds += price_step(r, threads, low, t, ntriangles, p, s);
  return seconds;
}
