/* step_cost.c - steps, and how often they are called. */
#include "plan/price/step_cost.h"

#include <math.h>

#include "plan/place/split.h"
#include "program/packed.h"

static double step_seconds (const gb_prices *prices, const gb_step *st, double fraction) {
  const gb_prices *x = &prices[st->device];
  return st->is_fold ? x->ops->fold(x->profile, x->threads, &st->fold, fraction)
                     : x->ops->opaque(x->profile, x->threads, &st->opaque, fraction);
}

/* The calls of a step in all its parts, each the part of the step that it does. */
static double price_parts (const gb_prices *x, const gb_step *st, const gb_placement *p, int s) {
  const gb_pieces windows = gb_loop_pieces(p, st, s), grains = gb_grain_pieces(p, s);
  const double all = gb_is_within(p->tiling, s) ? (double)p->tiling->extent : 1;
  double seconds = 0;
  for (int i = 0; i < windows.n; i++)
    for (int k = 0; k < grains.n; k++)
      seconds +=
          (double)windows.count[i] * (double)grains.count[k] *
          step_seconds(x, st, (double)windows.size[i] / all * (double)grains.size[k] / (double)grains.extent);
  return seconds;
}

/* Lower tiles, each of the whole's work in proportion to its entries. */
static double price_tiles (const gb_prices *x, const gb_step *st, size_t n, size_t side) {
  const double blocks = (double)gb_blocks(n, side), tiles = blocks * (blocks + 1) / 2;
  const double part = (double)side / (double)n;
  return tiles * step_seconds(x, st, part >= 1 ? 1 : part * part);
}

static double price_step (const gb_prices *x, const gb_lowered *low, const gb_packed_factor *t, int n,
                          const gb_placement *p, int s) {
  const gb_step *st = &low->step[s];
  const gb_packed_factor *packed = gb_packed_store(p, t, n, s);
  if (packed != NULL) return price_tiles(x, st, low->buf[packed->matrix].shape.dim[0], packed->side);
  return price_parts(x, st, p, s);
}

/* Calls of node k and of all that is inside it, for 'asked' indices of its result, 'times' over. */
static double price_node (const gb_prices *x, const gb_lowered *low, const gb_placement *p, int k,
                          double asked, double times) {
  const gb_nest_node *n = &p->nest->node[k];
  const gb_step *st = &low->step[n->step];
  const size_t window = gb_nest_window(n, p->rows);
  const double windows = n->own.cut ? ceil((double)n->extent / (double)window) * (double)n->nturns : 1;
  const double part = n->made.cut ? asked / (double)low->buf[st->out[0]].shape.dim[n->dim] : 1;
  double seconds = times * windows * step_seconds(x, st, part / windows);
  for (int i = 0; i < n->nreads; i++) {
    const gb_nest_read *read = &n->read[i];
    const bool before = i < n->nbefore;
    if (!p->compact[read->buf]) continue;
    const double each = before ? asked : (double)window, spread = (double)(read->high - read->low);
    seconds += price_node(x, low, p, read->node, fabs((double)read->step) * (each - 1) + spread + 1,
                          before ? times : times * windows);
  }
  return seconds;
}

double gb_step_seconds (const gb_prices *x, const gb_lowered *low, const gb_packed_factor *t,
                        int npacked_factors, const gb_placement *p, int s) {
  if (!p->runs[s]) return 0;
  if (gb_nest_at(p, s) >= 0) return price_node(x, low, p, gb_nest_at(p, s), 0, 1);
  return gb_runs_inside(low, p, s) ? 0 : price_step(x, low, t, npacked_factors, p, s);
}

double gb_place_seconds (const gb_prices *x, const gb_lowered *low, const gb_packed_factor *t,
                         int npacked_factors, const gb_placement *p) {
  double seconds = 0;
  for (int s = 0; s < low->nsteps; s++) {
    const int loops = __builtin_popcount(p->loops[s]);
    seconds += (loops > 1 ? loops : 1) * gb_step_seconds(x, low, t, npacked_factors, p, s);
  }
  return seconds;
}
