/* places.c - the places of the order in which steps run: phase by phase, with a place in each loop for a step that runs in it. */
#include <stdlib.h>

#include "plan/place/place.h"

int gb_placement_again (const gb_placement *p) {
  int again = 0;
  for (int s = 0; s < p->nsteps; s++) again += p->runs[s] ? gb_loops_again(p, s) : 0;
  return again;
}

int gb_loop_at (const gb_placement *p, int place) {
  for (int k = 0; k < p->nloops; k++)
    if (place >= p->loop[k].first && place <= p->loop[k].last) return k;
  return -1;
}

bool gb_same_part (const gb_placement *p, int place, int other) {
  const int s = p->order[place], o = p->order[other], in = gb_loop_at(p, place);
  if (in >= 0 || gb_loop_at(p, other) >= 0) return in == gb_loop_at(p, other);
  return p->tiling == NULL || gb_loops_before(p->tiling, s) == gb_loops_before(p->tiling, o);
}

/* In phase 2 k the steps that run once after k loops, in phase 2 k + 1 those of loop k. */
static bool has_place (const gb_placement *p, int s, int phase) {
  return p->loops[s] != 0 ? (phase & 1) != 0 && (p->loops[s] >> phase / 2 & 1)
                          : gb_first_phase(p, s) == phase;
}

/* Phase by phase, the steps of each in the given order. */
static void fill_order (gb_placement *p, const int *order) {
  int t = 0;
  p->nrun = 0;
  for (int s = 0; s < p->nsteps; s++) p->place[s] = -1;
  for (int phase = 0; phase <= 2 * p->nloops; phase++) {
    if (phase & 1) p->loop[phase / 2].first = t;
    for (int k = 0; k < p->nsteps; k++) {
      const int s = order == NULL ? k : order[k];
      if (!has_place(p, s, phase)) continue;
      if (p->place[s] < 0) p->place[s] = t;
      p->nrun += p->runs[s];
      p->order[t++] = s;
    }
    if (phase & 1) p->loop[phase / 2].last = t - 1;
  }
}

bool gb_placement_order (gb_placement *p, const int *order) {
  p->nplaces = 0;
  for (int s = 0; s < p->nsteps; s++) {
    const int loops = __builtin_popcount(p->loops[s]);
    p->nplaces += loops > 0 ? loops : 1;
  }
  p->order = calloc((size_t)p->nplaces + 1, sizeof *p->order);
  p->scratch = calloc((size_t)p->nplaces + 1, sizeof *p->scratch);
  if (p->order == NULL || p->scratch == NULL) return false;
  fill_order(p, order);
  return true;
}
