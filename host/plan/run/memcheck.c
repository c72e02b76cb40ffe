/* memcheck.c - a run under watch: the arena is poisoned, and after each step only its results and scratch
** may have changed. The watch fills and reads a device's bytes through its memory. Memory of the watch itself
** comes from malloc and is outside every account. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/run/run.h"
#include "plan/structure/cache.h"

static gb_memcheck_watch *watch_of (const gb_run *r) { return &r->plan->request.graph->plans->memcheck; }

static size_t padding (size_t bytes) { return gb_round_size(bytes) - bytes; }

static const gb_step *step_of (const gb_run *r, int s) { return &r->plan->prog->low->step[s]; }
static size_t bytes_of (const gb_run *r, int b) { return r->plan->prog->low->buf[b].bytes; }

/* Buffers of other devices of the graph lie in other arenas, which are not watched. */
static bool is_watched (const gb_run *r, int b) { return r->plan->prog->low->buf[b].device == 0; }

static bool has_storage (const gb_run *r, const gb_placement *pl, int b) {
  return is_watched(r, b) && (pl->write[b] == GB_HOME_OUTPUT || pl->write[b] == GB_HOME_CACHE);
}

static gb_memory *memory_of (const gb_lane *l) { return l->device->ledger.memory; }

/* A device that fails says so in the run itself. */
static void fill (const gb_lane *l, void *at, size_t bytes) {
  (void)gb_memory_fill(memory_of(l), at, l->watch->poison, bytes, NULL);
}

static void poison (const gb_lane *l, const gb_life *life) {
  fill(l, (char *)l->arena + life->offset, life->bytes);
}

/* The bytes at an address of the device, where the host reads them, until the next look; poison where the
** device does not give them. */
static const unsigned char *look (const gb_lane *l, const void *at, size_t bytes) {
  if (gb_memory_is_host(memory_of(l))) return at;
  if (gb_memory_download(memory_of(l), l->watch->seen, at, bytes, NULL) != GB_OK)
    memset(l->watch->seen, l->watch->poison, bytes);
  return l->watch->seen;
}

/* The most bytes of one look: the arena, or a result with storage and what follows it. */
static size_t widest_look (const gb_run *r, const gb_placement *pl) {
  size_t most = pl->arena;
  for (int b = 0; b < pl->nbufs; b++)
    if (has_storage(r, pl, b) && gb_round_size(bytes_of(r, b)) > most) most = gb_round_size(bytes_of(r, b));
  return most;
}

/* Runs under watch do not nest: the first lane of a run that another one's step began is not watched. */
bool gb_memcheck_begin (gb_run *r, gb_lane *l) {
  const gb_placement *pl = l->place;
  const bool first = l == &r->lane[0];
  gb_watch *w = &r->watch[first ? 0 : 1];
  if (!watch_of(r)->on || (first && watch_of(r)->busy)) return false;
  const bool near = gb_memory_is_host(memory_of(l));
  w->before = malloc(pl->arena + 1);
  w->seen = near ? NULL : malloc(widest_look(r, pl) + 1);
  w->spare = calloc((size_t)pl->nsteps + 1, sizeof *w->spare);
  w->poison = watch_of(r)->poison;
  l->watch = w;
  if (first) watch_of(r)->busy = true;
  if (w->before == NULL || w->spare == NULL || (!near && w->seen == NULL)) {
    gb_memcheck_end(r, l);
    return false;
  }
  for (int s = 0; s < pl->nsteps; s++) w->spare[s] = SIZE_MAX;
  fill(l, l->arena, pl->arena);
  for (int b = 0; b < pl->nbufs; b++)
    if (has_storage(r, pl, b)) fill(l, l->write[b], gb_round_size(bytes_of(r, b)));
  return true;
}

void gb_memcheck_end (gb_run *r, gb_lane *l) {
  if (l->watch == NULL) return;
  free(l->watch->before);
  free(l->watch->seen);
  free(l->watch->spare);
  l->watch = NULL;
  if (l == &r->lane[0]) watch_of(r)->busy = false;
}

void gb_memcheck_before (const gb_lane *l) {
  (void)gb_memory_download(memory_of(l), l->watch->before, l->arena, l->place->arena, NULL);
}

static void note (const gb_run *r, int step, const char *what, size_t at, size_t bytes) {
  if (watch_of(r)->first[0] == '\0')
    snprintf(watch_of(r)->first, sizeof watch_of(r)->first, "step %d (%.60s): %s at %zu, %zu bytes", step,
             step_of(r, step)->what, what, at, bytes);
}

static void stray (const gb_run *r, int step, size_t at) {
  watch_of(r)->strays++;
  note(r, step, "stray write", at, 1);
}

/* Bytes at the end of a fresh region that still hold the poison; all of them count as a whole line. */
static size_t untouched (const unsigned char *region, size_t bytes, unsigned char poisoned) {
  size_t n = 0;
  while (n < bytes && region[bytes - 1 - n] == poisoned) n++;
  return n == bytes && n > 0 && n < GB_ARENA_ALIGN ? GB_ARENA_ALIGN : n;
}

static void check_region (const gb_run *r, const gb_lane *l, int step, const void *region, size_t bytes,
                          size_t *worst, const char *what) {
  const size_t n = untouched(look(l, region, bytes), bytes, watch_of(r)->poison);
  if (n > *worst) *worst = n;
  if (n >= GB_ARENA_ALIGN) note(r, step, what, 0, n);
}

static bool inside (const gb_life *l, size_t at) { return at >= l->offset && at < l->offset + l->bytes; }

/* The end of what the step owns of the line at 'at', 'at' itself: nothing. Buffers begin at lines. */
static size_t owned_until (const gb_run *r, const gb_lane *l, int step, size_t at) {
  const gb_step *st = step_of(r, step);
  const gb_life *s = &l->place->scratch[l->now], *t = &l->place->state[step];
  if (inside(s, at)) return s->offset + s->bytes;
  if (inside(t, at)) return t->offset + t->bytes;
  for (int i = 0; i < st->nout; i++) {
    const gb_life *life = &l->place->life[st->out[i]];
    if (gb_placement_home(l->place, st->out[i]) == GB_HOME_ARENA && inside(life, at))
      return life->offset + life->bytes;
  }
  return at;
}

static bool is_in_room (const gb_nest_room *room, size_t at) {
  return room != NULL &&
         (inside(&room->result, at) || inside(&room->scratch, at) || inside(&room->state, at));
}

/* 'room': of a node of the nest that ran, NULL: a step did. */
static void check_arena (const gb_run *r, const gb_lane *l, int step, const gb_nest_room *room) {
  const unsigned char *arena = look(l, l->arena, l->place->arena), *before = l->watch->before;
  for (size_t line = 0; line < l->place->arena; line += GB_ARENA_ALIGN) {
    if (memcmp(arena + line, before + line, GB_ARENA_ALIGN) == 0) continue;
    const size_t end = owned_until(r, l, step, line);
    for (size_t at = line; at < line + GB_ARENA_ALIGN; at++) {
      if (arena[at] == before[at]) continue;
      if (at >= end && !is_in_room(room, at)) stray(r, step, at);
      if (at + 1 > watch_of(r)->high_water) watch_of(r)->high_water = at + 1;
    }
  }
}

/* Bytes of b that the step has written by now: of a compact buffer its window; of any other, all after the
** last. */
static size_t written_bytes (const gb_run *r, const gb_lane *l, int b, const gb_window *at) {
  const size_t bytes = l->place->packed[b] ? l->place->life[b].bytes : bytes_of(r, b);
  if (at == NULL) return bytes;
  if (l->place->compact[b]) return bytes / at->extent * at->n;
  return at->lo + at->n == at->extent ? bytes : 0;
}

static void check_results (const gb_run *r, const gb_lane *l, int step, const gb_window *at) {
  const gb_step *st = step_of(r, step);
  for (int i = 0; i < st->nout; i++) {
    const int b = st->out[i];
    const size_t bytes = bytes_of(r, b);
    check_region(r, l, step, l->write[b], written_bytes(r, l, b, at), &watch_of(r)->unwritten,
                 "unwritten end of a result");
    if (!has_storage(r, l->place, b)) continue;
    const unsigned char *end = look(l, (const char *)l->write[b] + bytes, padding(bytes));
    for (size_t k = 0; k < padding(bytes); k++)
      if (end[k] != watch_of(r)->poison) stray(r, step, bytes + k);
  }
}

/* Scratch and totals are as large as some window needs them. */
static void check_workspace (const gb_run *r, const gb_lane *l, int step, const gb_window *at) {
  const gb_life *s = &l->place->scratch[l->now], *t = &l->place->state[step];
  char *arena = l->arena;
  size_t *spare = &l->watch->spare[step];
  const size_t rest = untouched(look(l, arena + s->offset, s->bytes), s->bytes, l->watch->poison);
  if (rest < *spare) *spare = rest;
  if (at != NULL && at->lo + at->n < l->place->hi) return;
  if (*spare > watch_of(r)->unused_scratch) watch_of(r)->unused_scratch = *spare;
  if (*spare >= GB_ARENA_ALIGN) note(r, step, "unused scratch", 0, *spare);
  check_region(r, l, step, arena + t->offset, t->bytes, &watch_of(r)->unused_scratch, "unused totals");
}

/* What died is poisoned again, so that a stale read shows and the next owner starts fresh. */
void gb_memcheck_after (const gb_run *r, const gb_lane *l, int place, const gb_window *at) {
  const gb_placement *pl = l->place;
  const int step = pl->order[place];
  check_arena(r, l, step, NULL);
  check_results(r, l, step, at);
  check_workspace(r, l, step, at);
  poison(l, &pl->scratch[place]);
  for (int b = 0; b < pl->nbufs; b++) {
    const bool dead = pl->life[b].last == place &&
                      (at == NULL || pl->compact[b] || at->lo + at->n == at->extent);
    if (is_watched(r, b) && pl->write[b] == GB_HOME_ARENA && dead && !pl->sent[b]) poison(l, &pl->life[b]);
  }
}

void gb_memcheck_node (const gb_run *r, const gb_lane *l, int step, const gb_nest_room *room) {
  check_arena(r, l, step, room);
  poison(l, &room->scratch);
}

void gb_memcheck_consumed (const gb_lane *l, int k) {
  poison(l, &l->place->room[k].result);
  poison(l, &l->place->room[k].state);
}

void gb_memcheck_nest (const gb_run *r, const gb_lane *l, int step, int place) {
  const gb_placement *pl = l->place;
  check_results(r, l, step, NULL);
  for (int k = 0; k < pl->nest->nnodes; k++)
    if (pl->room[k].result.first == place) gb_memcheck_consumed(l, k);
  for (int b = 0; b < pl->nbufs; b++)
    if (is_watched(r, b) && pl->write[b] == GB_HOME_ARENA && pl->life[b].last == place)
      poison(l, &pl->life[b]);
}

void gb_memcheck_copied (const gb_run *r, const gb_lane *l, int b) {
  const gb_life *life = &l->place->life[b];
  if (l->watch == NULL) return;
  check_region(r, l, l->place->order[life->first], l->write[b], life->bytes, &watch_of(r)->unwritten,
               "unwritten end of a copy");
}

void gb_memcheck_sent (const gb_lane *l, int b) {
  if (l->watch != NULL) poison(l, &l->place->life[b]);
}
