/* pack.c - greedy by size, greedy in program order, and an exact search for few intervals; the lowest
** arena wins. */
#include "plan/place/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 64 }; /* up to so many that meet an interval are looked up, more are found among all */

/* Working copy: sizes are rounded, 'by_offset' lists the placed intervals with ascending offsets. */
typedef struct packing {
  size_t n;
  const gb_life *life;
  size_t *size;
  size_t *offset;
  size_t *by_offset;
  size_t placed;
  size_t height;
  size_t *by_first; /* intervals with ascending first steps */
  size_t *rank;     /* where each is in by_first */
  int *last; /* [2 leaves] tree over by_first: the last step of what is placed below a node, -1 = nothing */
  size_t leaves;
  size_t met[FEW];
} packing;

static bool meet (const gb_life *a, const gb_life *b) { return a->first <= b->last && b->first <= a->last; }

static void set_last (packing *p, size_t k, int last) {
  size_t at = p->leaves + p->rank[k];
  p->last[at] = last;
  for (at /= 2; at > 0; at /= 2)
    p->last[at] = p->last[2 * at] > p->last[2 * at + 1] ? p->last[2 * at] : p->last[2 * at + 1];
}

/* How many intervals begin at 'step' or before. */
static size_t begin_by (const packing *p, int step) {
  size_t low = 0, high = p->n;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (p->life[p->by_first[mid]].first <= step) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* Placed intervals below node 'at' of the tree, of leaves from .. from + width - 1, that meet k: into
** 'met', after n. */
static size_t find_met (packing *p, size_t k, size_t at, size_t from, size_t width, size_t end, size_t n) {
  if (from >= end || n == FEW || p->last[at] < p->life[k].first) return n;
  if (width == 1) {
    p->met[n] = p->by_first[from];
    return n + 1;
  }
  n = find_met(p, k, 2 * at, from, width / 2, end, n);
  return find_met(p, k, 2 * at + 1, from + width / 2, width / 2, end, n);
}

static void sort_by_offset (const packing *p, size_t *list, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const size_t k = list[i];
    size_t j = i;
    for (; j > 0 && p->offset[list[j - 1]] > p->offset[k]; j--) list[j] = list[j - 1];
    list[j] = k;
  }
}

/* The smallest gap among placed intervals alive together with 'k' that holds it ('best'), or the lowest. */
static size_t find_gap (packing *p, size_t k, bool best) {
  size_t end = 0, at = SIZE_MAX, at_gap = SIZE_MAX; /* 'end' of what is placed below the gap in view */
  const size_t *list = p->by_offset;
  size_t n = find_met(p, k, 1, 0, p->leaves, begin_by(p, p->life[k].last), 0);
  if (n == FEW) n = p->placed;
  else {
    sort_by_offset(p, p->met, n);
    list = p->met;
  }
  for (size_t i = 0; i < n; i++) {
    const size_t j = list[i];
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
  size_t low = 0, high = p->placed;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (p->offset[p->by_offset[mid]] <= offset) low = mid + 1;
    else high = mid;
  }
  memmove(p->by_offset + low + 1, p->by_offset + low, (p->placed++ - low) * sizeof *p->by_offset);
  p->by_offset[low] = k;
  set_last(p, k, p->life[k].last);
  const size_t top = gb_add_sizes(offset, p->size[k]);
  if (top > p->height) p->height = top;
}

static void take_back (packing *p, size_t k, size_t height) {
  size_t i = 0;
  while (p->by_offset[i] != k) i++;
  memmove(p->by_offset + i, p->by_offset + i + 1, (p->placed - i - 1) * sizeof *p->by_offset);
  p->placed--;
  p->height = height;
  set_last(p, k, -1);
}

static void clear (packing *p) {
  p->placed = p->height = 0;
  memset(p->last, 0xff, 2 * p->leaves * sizeof *p->last);
}

static size_t greedy (packing *p, const size_t *order) {
  clear(p);
  for (size_t i = 0; i < p->n; i++) put(p, order[i], find_gap(p, order[i], true));
  return p->height;
}

/* Orders are total: ties fall to the smaller index, so that a plan is a function of its input. */

typedef struct ranked {
  size_t key, index;
} ranked;

static int by_key (const void *x, const void *y) {
  const ranked *a = x, *b = y;
  return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                          : (a->index > b->index) - (a->index < b->index);
}

static void sort_order (const packing *p, ranked *room, size_t *order, bool by_size) {
  for (size_t i = 0; i < p->n; i++) room[i] = (ranked){by_size ? ~p->size[i] : (size_t)p->life[i].first, i};
  qsort(room, p->n, sizeof *room, by_key);
  for (size_t i = 0; i < p->n; i++) order[i] = room[i].index;
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

/* The same where the sum of all sizes overflows. */
static size_t most_of_huge (size_t n, const gb_life *life, int nsteps, size_t *live) {
  size_t most = 0;
  memset(live, 0, (size_t)nsteps * sizeof *live);
  for (size_t i = 0; i < n; i++)
    for (int t = life[i].first; t <= life[i].last; t++)
      live[t] = gb_add_sizes(live[t], gb_round_size(life[i].bytes));
  for (int t = 0; t < nsteps; t++)
    if (live[t] > most) most = live[t];
  return most;
}

gb_status gb_pack_bound (size_t n, const gb_life *life, int nsteps, size_t *bound, gb_error *err) {
  size_t *live = calloc((size_t)nsteps + 1, sizeof *live);
  if (live == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", nsteps);
  size_t all = 0, now = 0;
  *bound = 0;
  for (size_t i = 0; i < n; i++) {
    if (life[i].last < life[i].first) continue;
    all = gb_add_sizes(all, gb_round_size(life[i].bytes));
    live[life[i].first] += gb_round_size(life[i].bytes); /* changes from step to step, modulo 2^64 */
    live[life[i].last + 1] -= gb_round_size(life[i].bytes);
  }
  for (int t = 0; t < nsteps; t++) {
    now += live[t];
    if (now > *bound) *bound = now;
  }
  if (all == SIZE_MAX) *bound = most_of_huge(n, life, nsteps, live);
  free(live);
  return GB_OK;
}

static size_t pack_best (packing *p, size_t bound, ranked *room, size_t *order, size_t *best_offset,
                         bool *used) {
  size_t best = SIZE_MAX;
  for (int by_size = 1; by_size >= 0 && best > bound; by_size--) {
    sort_order(p, room, order, by_size != 0);
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
    clear(p);
    branch(&s);
    best = s.best;
  }
  return best;
}

gb_status gb_pack (size_t n, gb_life *life, int nsteps, size_t *arena, size_t *bound, gb_error *err) {
  *arena = *bound = 0;
  if (n == 0) return GB_OK;
  GB_TRY(gb_pack_bound(n, life, nsteps, bound, err));
  packing p = {.n = n, .life = life, .leaves = 1};
  while (p.leaves < n) p.leaves *= 2;
  size_t *words = calloc(7 * n, sizeof *words);
  bool *used = calloc(n, sizeof *used);
  ranked *room = malloc(n * sizeof *room);
  p.last = malloc(2 * p.leaves * sizeof *p.last);
  gb_status rc = GB_OK;
  if (words == NULL || used == NULL || room == NULL || p.last == NULL)
    rc = gb_fail(err, GB_ENOMEM, "no memory to place %zu buffers", n);
  else {
    size_t *best_offset = words + 4 * n;
    p.size = words;
    p.offset = words + n;
    p.by_offset = words + 2 * n;
    p.by_first = words + 5 * n;
    p.rank = words + 6 * n;
    for (size_t i = 0; i < n; i++) p.size[i] = gb_round_size(life[i].bytes);
    sort_order(&p, room, p.by_first, false);
    for (size_t i = 0; i < n; i++) p.rank[p.by_first[i]] = i;
    *arena = *bound == SIZE_MAX ? SIZE_MAX : pack_best(&p, *bound, room, words + 3 * n, best_offset, used);
    if (*arena != SIZE_MAX)
      for (size_t i = 0; i < n; i++) life[i].offset = best_offset[i];
  }
  free(words);
  free(used);
  free(room);
  free(p.last);
  return rc;
}
