/* memcheck.c - a run under watch: the arena is poisoned, and after each step only its results and scratch
** may have changed. Memory of the watch itself comes from malloc and is outside every account. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/parts.h"

gb_memcheck_watch gb_plan_memcheck;

static unsigned char *before; /* the arena as it was before the step; runs under watch do not nest */
static size_t *spare; /* [steps] bytes at the end of the step's scratch that no window so far has touched */

static size_t padding (size_t bytes) { return gb_round_size(bytes) - bytes; }

static bool own_storage (const gb_plan *p, int b) {
  return p->place->write[b] == GB_HOME_OUTPUT || p->place->write[b] == GB_HOME_CACHE;
}

bool gb_memcheck_begin (const gb_plan *p, void *arena) {
  if (!gb_plan_memcheck.on || before != NULL) return false;
  before = malloc(p->place->arena + 1);
  spare = calloc((size_t)p->place->nsteps + 1, sizeof *spare);
  if (before == NULL || spare == NULL) {
    gb_memcheck_end();
    return false;
  }
  for (int s = 0; s < p->place->nsteps; s++) spare[s] = SIZE_MAX;
  memset(arena, gb_plan_memcheck.poison, p->place->arena);
  for (int b = 0; b < p->place->nbufs; b++)
    if (own_storage(p, b)) {
      const size_t bytes = p->prog->low->buf[b].bytes;
      memset(p->write[b], gb_plan_memcheck.poison, bytes + padding(bytes));
    }
  return true;
}

void gb_memcheck_before (const gb_plan *p, const void *arena) { memcpy(before, arena, p->place->arena); }

static void note (const gb_plan *p, int step, const char *what, size_t at, size_t bytes) {
  if (gb_plan_memcheck.first[0] == '\0')
    snprintf(gb_plan_memcheck.first, sizeof gb_plan_memcheck.first, "step %d (%.60s): %s at %zu, %zu bytes",
             step, p->prog->low->step[step].what, what, at, bytes);
}

static void stray (const gb_plan *p, int step, size_t at) {
  gb_plan_memcheck.strays++;
  note(p, step, "stray write", at, 1);
}

/* Bytes at the end of a fresh region that still hold the poison; all of them count as a whole line. */
static size_t untouched (const unsigned char *region, size_t bytes) {
  size_t n = 0;
  while (n < bytes && region[bytes - 1 - n] == gb_plan_memcheck.poison) n++;
  return n == bytes && n > 0 && n < GB_ARENA_ALIGN ? GB_ARENA_ALIGN : n;
}

static void check_region (const gb_plan *p, int step, const unsigned char *region, size_t bytes,
                          size_t *worst, const char *what) {
  const size_t n = untouched(region, bytes);
  if (n > *worst) *worst = n;
  if (n >= GB_ARENA_ALIGN) note(p, step, what, 0, n);
}

static bool inside (const gb_life *l, size_t at) { return at >= l->offset && at < l->offset + l->bytes; }

/* The end of what the step owns of the line at 'at', 'at' itself: nothing. Buffers begin at lines. */
static size_t owned_until (const gb_plan *p, int step, size_t at) {
  const gb_step *st = &p->prog->low->step[step];
  const gb_life *s = &p->place->scratch[step], *t = &p->place->state[step];
  if (inside(s, at)) return s->offset + s->bytes;
  if (inside(t, at)) return t->offset + t->bytes;
  for (int i = 0; i < st->nout; i++) {
    const gb_life *l = &p->place->life[st->out[i]];
    if (gb_placement_home(p->place, st->out[i]) == GB_HOME_ARENA && inside(l, at))
      return l->offset + l->bytes;
  }
  return at;
}

static bool is_in_room (const gb_nest_room *r, size_t at) {
  return r != NULL && (inside(&r->result, at) || inside(&r->scratch, at) || inside(&r->state, at));
}

/* 'room': of a node of the nest that ran, NULL: a step did. */
static void check_arena (const gb_plan *p, int step, const gb_nest_room *room, const unsigned char *arena) {
  for (size_t line = 0; line < p->place->arena; line += GB_ARENA_ALIGN) {
    if (memcmp(arena + line, before + line, GB_ARENA_ALIGN) == 0) continue;
    const size_t end = owned_until(p, step, line);
    for (size_t at = line; at < line + GB_ARENA_ALIGN; at++) {
      if (arena[at] == before[at]) continue;
      if (at >= end && !is_in_room(room, at)) stray(p, step, at);
      if (at + 1 > gb_plan_memcheck.high_water) gb_plan_memcheck.high_water = at + 1;
    }
  }
}

/* Bytes of b that the step has written by now: of a compact buffer its window; of any other, all after the
** last. */
static size_t written_bytes (const gb_plan *p, int b, const gb_window *at) {
  const size_t bytes = p->place->packed[b] ? p->place->life[b].bytes : p->prog->low->buf[b].bytes;
  if (at == NULL) return bytes;
  if (p->place->compact[b]) return bytes / at->extent * at->n;
  return at->lo + at->n == at->extent ? bytes : 0;
}

static void check_results (const gb_plan *p, int step, const gb_window *at) {
  const gb_step *st = &p->prog->low->step[step];
  for (int i = 0; i < st->nout; i++) {
    const int b = st->out[i];
    const size_t bytes = p->prog->low->buf[b].bytes;
    check_region(p, step, p->write[b], written_bytes(p, b, at), &gb_plan_memcheck.unwritten,
                 "unwritten end of a result");
    const unsigned char *end = (const unsigned char *)p->write[b] + bytes;
    for (size_t k = 0; own_storage(p, b) && k < padding(bytes); k++)
      if (end[k] != gb_plan_memcheck.poison) stray(p, step, bytes + k);
  }
}

/* Scratch and totals are as large as some window needs them. */
static void check_workspace (const gb_plan *p, int step, const gb_window *at, const unsigned char *arena) {
  const gb_life *s = &p->place->scratch[step], *t = &p->place->state[step];
  const size_t rest = untouched(arena + s->offset, s->bytes);
  if (rest < spare[step]) spare[step] = rest;
  if (at != NULL && at->lo + at->n < p->place->hi) return;
  if (spare[step] > gb_plan_memcheck.unused_scratch) gb_plan_memcheck.unused_scratch = spare[step];
  if (spare[step] >= GB_ARENA_ALIGN) note(p, step, "unused scratch", 0, spare[step]);
  check_region(p, step, arena + t->offset, t->bytes, &gb_plan_memcheck.unused_scratch, "unused totals");
}

/* What died is poisoned again, so that a stale read shows and the next owner starts fresh. */
void gb_memcheck_after (const gb_plan *p, int place, const gb_window *at, void *arena) {
  const int step = p->place->order[place];
  const gb_life *s = &p->place->scratch[step];
  check_arena(p, step, NULL, arena);
  check_results(p, step, at);
  check_workspace(p, step, at, arena);
  memset((char *)arena + s->offset, gb_plan_memcheck.poison, s->bytes);
  for (int b = 0; b < p->place->nbufs; b++) {
    const gb_life *l = &p->place->life[b];
    const bool dead = l->last == place &&
                      (at == NULL || p->place->compact[b] || at->lo + at->n == at->extent);
    if (p->place->write[b] == GB_HOME_ARENA && dead && !p->place->sent[b])
      memset((char *)arena + l->offset, gb_plan_memcheck.poison, l->bytes);
  }
}

static void poison (void *arena, const gb_life *l) {
  memset((char *)arena + l->offset, gb_plan_memcheck.poison, l->bytes);
}

void gb_memcheck_node (const gb_plan *p, int step, const gb_nest_room *room, void *arena) {
  check_arena(p, step, room, arena);
  poison(arena, &room->scratch);
}

void gb_memcheck_consumed (const gb_plan *p, int k, void *arena) {
  poison(arena, &p->place->room[k].result);
  poison(arena, &p->place->room[k].state);
}

void gb_memcheck_nest (const gb_plan *p, int step, int place, void *arena) {
  check_results(p, step, NULL);
  for (int k = 0; k < p->place->nest->nnodes; k++)
    if (p->place->room[k].result.first == place) gb_memcheck_consumed(p, k, arena);
  for (int b = 0; b < p->place->nbufs; b++)
    if (p->place->write[b] == GB_HOME_ARENA && p->place->life[b].last == place)
      poison(arena, &p->place->life[b]);
}

void gb_memcheck_copied (const gb_plan *p, int b) {
  const gb_life *l = &p->place->life[b];
  check_region(p, p->place->order[l->first], p->write[b], l->bytes, &gb_plan_memcheck.unwritten,
               "unwritten end of a copy");
}

void gb_memcheck_exchange (gb_memcheck_memory *m) {
  const gb_memcheck_memory other = *m;
  *m = (gb_memcheck_memory){before, spare};
  before = other.before;
  spare = other.spare;
}

void gb_memcheck_end (void) {
  free(before);
  free(spare);
  before = NULL;
  spare = NULL;
}
