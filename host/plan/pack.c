/* pack.c - greedy by size, greedy in program order, and an exact search for few intervals; the lowest
** arena wins. */
#include "plan/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Working copy: sizes are rounded, 'by_offset' lists the placed intervals with ascending offsets. */
typedef struct packing {
  size_t n;
  const gb_life *life;
  size_t *size;
  size_t *offset;
  size_t *by_offset;
  size_t placed;
  size_t height;
} packing;

static bool meet (const gb_life *a, const gb_life *b) { return a->first <= b->last && b->first <= a->last; }

/* The smallest gap among placed intervals alive together with 'k' that holds it ('best'), or the lowest. */
static size_t find_gap (const packing *p, size_t k, bool best) {
  size_t end = 0, at = SIZE_MAX, at_gap = SIZE_MAX;     /* 'end' of what is placed below the gap in view */
  for (size_t i = 0; i < p->placed; i++) {
    const size_t j = p->by_offset[i];
    if (!meet(&p->life[k], &p->life[j])) continue;
    if (p->offset[j] > end) {
      const size_t gap = p->offset[j] - end;
      if (gap >= p->size[k] && gap < at_gap) {
        at = end;
        at_gap = gap;
        if (!best) return at;
      }
    }
    const size_t top = gb_add_sizes(p->offset[j], p->size[j]);
    if (top > end) end = top;
  }
  return at == SIZE_MAX ? end : at;
}

static void put (packing *p, size_t k, size_t offset) {
  p->offset[k] = offset;
  size_t i = p->placed++;
  for (; i > 0 && p->offset[p->by_offset[i - 1]] > offset; i--) p->by_offset[i] = p->by_offset[i - 1];
  p->by_offset[i] = k;
  const size_t top = gb_add_sizes(offset, p->size[k]);
  if (top > p->height) p->height = top;
}

static void take_back (packing *p, size_t k, size_t height) {
  size_t i = 0;
  while (p->by_offset[i] != k) i++;
  memmove(p->by_offset + i, p->by_offset + i + 1, (p->placed - i - 1) * sizeof *p->by_offset);
  p->placed--;
  p->height = height;
}

static size_t greedy (packing *p, const size_t *order) {
  p->placed = p->height = 0;
  for (size_t i = 0; i < p->n; i++) put(p, order[i], find_gap(p, order[i], true));
  return p->height;
}

/* Orders are total: ties fall to the smaller index, so that a plan is a function of its input. */
static void sort_order (const packing *p, size_t *order, bool by_size) {
  for (size_t i = 0; i < p->n; i++) {
    size_t j = i;
    for (; j > 0; j--) {
      const size_t b = order[j - 1];
      const bool before = by_size ? p->size[i] > p->size[b] : p->life[i].first < p->life[b].first;
      if (!before) break;
      order[j] = b;
    }
    order[j] = i;
  }
}

typedef struct search {
  packing *p;
  size_t bound, best, tries;
  size_t *best_offset;
  bool *used;
} search;

/* Some optimal packing is reached by placing intervals, in the order of its offsets, each at the lowest
** free place. */
static void branch (search *s) {
  packing *p = s->p;
  if (p->placed == p->n) {
    s->best = p->height;
    memcpy(s->best_offset, p->offset, p->n * sizeof *p->offset);
    return;
  }
  for (size_t k = 0; k < p->n && s->best > s->bound; k++) {
    if (s->used[k] || s->tries == 0) continue;
    s->tries--;
    const size_t height = p->height;
    put(p, k, find_gap(p, k, false));
    s->used[k] = true;
    if (p->height < s->best) branch(s);
    s->used[k] = false;
    take_back(p, k, height);
  }
}

gb_status gb_pack_bound (size_t n, const gb_life *life, int nsteps, size_t *bound, gb_error *err) {
  size_t *live = calloc((size_t)nsteps + 1, sizeof *live);
  if (live == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", nsteps);
  *bound = 0;
  for (size_t i = 0; i < n; i++)
    for (int t = life[i].first; t <= life[i].last; t++)
      live[t] = gb_add_sizes(live[t], gb_round_size(life[i].bytes));
  for (int t = 0; t < nsteps; t++)
    if (live[t] > *bound) *bound = live[t];
  free(live);
  return GB_OK;
}

static size_t pack_best (packing *p, size_t bound, size_t *order, size_t *best_offset, bool *used) {
  size_t best = SIZE_MAX;
  for (int by_size = 1; by_size >= 0 && best > bound; by_size--) {
    sort_order(p, order, by_size != 0);
    const size_t height = greedy(p, order);
    if (by_size && height == SIZE_MAX) return SIZE_MAX;
    if (height < best) {
      best = height;
      memcpy(best_offset, p->offset, p->n * sizeof *p->offset);
    }
  }
  if (best > bound && p->n <= GB_PACK_EXACT) {
    search s = {.p = p,
                .bound = bound,
                .best = best,
                .tries = GB_PACK_TRIES,
                .best_offset = best_offset,
                .used = used};
    p->placed = p->height = 0;
    branch(&s);
    best = s.best;
  }
  return best;
}

gb_status gb_pack (size_t n, gb_life *life, int nsteps, size_t *arena, size_t *bound, gb_error *err) {
  *arena = *bound = 0;
  if (n == 0) return GB_OK;
  GB_TRY(gb_pack_bound(n, life, nsteps, bound, err));
  size_t *words = calloc(5 * n, sizeof *words);
  bool *used = calloc(n, sizeof *used);
  if (words == NULL || used == NULL) {
    free(words);
    free(used);
    return gb_fail(err, GB_ENOMEM, "no memory to place %zu buffers", n);
  }
  packing p = {.n = n, .life = life, .size = words, .offset = words + n, .by_offset = words + 2 * n};
  size_t *best_offset = words + 4 * n;
  for (size_t i = 0; i < n; i++) p.size[i] = gb_round_size(life[i].bytes);
  *arena = *bound == SIZE_MAX ? SIZE_MAX : pack_best(&p, *bound, words + 3 * n, best_offset, used);
  if (*arena != SIZE_MAX)
    for (size_t i = 0; i < n; i++) life[i].offset = best_offset[i];
  free(words);
  free(used);
  return GB_OK;
}
