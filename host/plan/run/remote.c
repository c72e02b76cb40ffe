/* remote.c - a run on several devices: their memory, the copies between them, and their part of the loop. */
#include <string.h>

#include "plan/parts.h"

static bool has_part (const gb_partition_part *s) { return s->remote.place != NULL; }

/* memory */

static gb_status no_room (const gb_partition_part *s, gb_error *err) {
  const gb_ledger *l = &s->device->ledger;
  const size_t bytes = s->remote.place->arena;
  char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  gb_fail(err, GB_ENOMEM, "the %s that the plan counts on are not free on %s: %s in use, limit %s",
          gb_bytes_text(bytes, need), s->device->name, gb_bytes_text(l->used, used),
          gb_bytes_text(l->limit, limit));
  if (err != NULL) err->need = bytes, err->have = gb_ledger_room(l);
  return GB_ENOMEM;
}

/* What is read lies as it does at home: element (0, ..., 0) may be above the lowest one. */
static void bind_addresses (gb_partition_part *s, const gb_lowered *low) {
  const gb_placement *pl = s->remote.place;
  for (int b = 0; b < low->nbufs; b++)
    if (pl->write[b] == GB_HOME_ARENA) s->read[b] = s->write[b] = (char *)s->arena.data + pl->life[b].offset;
  for (int i = 0; i < s->remote.ncopies; i++) {
    const gb_copy *c = &s->remote.copy[i];
    if (c->kind == GB_COPY_WHOLE)
      s->read[c->buf] = (char *)s->write[c->buf] - c->layout.low * (ptrdiff_t)c->layout.width;
  }
}

gb_status gb_partition_begin (gb_plan *p, gb_error *err) {
  for (int i = 1; p->partition != NULL && i < p->partition->n; i++) {
    gb_partition_part *s = &p->partition->share[i];
    gb_ledger *l = &s->device->ledger;
    if (!has_part(s)) continue;
    s->start = l->used;
    s->peak = l->peak;
    l->peak = l->used;
    s->runs = true;
    if (gb_ledger_alloc(l, GB_MEM_ARENA, s->remote.place->arena, "", "arena", &s->arena, NULL) != GB_OK)
      return no_room(s, err);
    bind_addresses(s, p->prog->low);
  }
  return GB_OK;
}

void gb_partition_end (gb_plan *p) {
  for (int i = 1; p->partition != NULL && i < p->partition->n; i++) {
    gb_partition_part *s = &p->partition->share[i];
    gb_ledger *l = &s->device->ledger;
    if (!s->runs) continue;
    gb_ledger_free(l, &s->arena);
    s->measured = l->peak - s->start;
    if (l->peak < s->peak) l->peak = s->peak;
    s->runs = false;
  }
}

/* copies */

/* One device at work: p looks at its placement and addresses, and these are those of the first. */
typedef struct crossing {
  gb_plan *p;
  gb_partition_part *s;
  const gb_placement *home_place;
  const void **home_read;
  void **home_write;
  const gb_placement *from; /* the part before: NULL, there is none */
  const char *from_arena;
  void *const *from_write;
} crossing;

static void copy_total (const crossing *x, int s) {
  const gb_placement *pl = x->s->remote.place;
  memcpy((char *)x->s->arena.data + pl->state[s].offset, x->from_arena + x->from->state[s].offset,
         pl->state[s].bytes);
}

/* What is copied once: before the first window, or after the last one. */
static void copy_once (const crossing *x, gb_copy_kind kind) {
  for (int i = 0; i < x->s->remote.ncopies; i++) {
    const gb_copy *c = &x->s->remote.copy[i];
    if (c->kind != kind) continue;
    const size_t bytes = c->layout.span * c->layout.width;
    if (kind == GB_COPY_WHOLE)
      memcpy(x->s->write[c->buf],
             (const char *)x->home_read[c->buf] + c->layout.low * (ptrdiff_t)c->layout.width, bytes);
    if (kind == GB_COPY_WHOLE && x->p->watched) gb_memcheck_copied(x->p, c->buf);
    if (kind == GB_COPY_TOTAL) copy_total(x, c->step);
    if (kind == GB_COPY_RUNNING) memcpy(x->s->write[c->buf], x->from_write[c->buf], bytes);
    if (kind == GB_COPY_RESULT) memcpy(x->home_write[c->buf], x->s->write[c->buf], bytes);
  }
}

/* What was sent and is not read again is poisoned, as the watch does with what dies. */
static void bury (const crossing *x, int b, int place) {
  const gb_life *l = &x->s->remote.place->life[b];
  if (x->p->watched && l->last == place) memset(x->s->write[b], gb_plan_memcheck.poison, l->bytes);
}

/* What crosses with each window, at the step that first reads it or that made it. */
static void copy_window (const crossing *x, gb_copy_kind kind, int place, const gb_window *at) {
  for (int i = 0; i < x->s->remote.ncopies; i++) {
    const gb_copy *c = &x->s->remote.copy[i];
    if (c->kind != kind || c->place != place) continue;
    if (kind == GB_COPY_WINDOW)
      gb_window_layout_take(&c->layout, x->home_read[c->buf], x->s->write[c->buf], at->lo, at->n);
    else gb_window_layout_give(&c->layout, x->home_write[c->buf], x->s->write[c->buf], at->lo, at->n);
    if (kind == GB_COPY_WINDOW && x->p->watched && at->n == x->s->remote.place->chunk)
      gb_memcheck_copied(x->p, c->buf);
    if (kind == GB_COPY_BACK) bury(x, c->buf, place);
  }
}

/* running */

static gb_status run_windows (const crossing *x, gb_error *err) {
  const gb_placement *pl = x->s->remote.place;
  for (size_t lo = pl->lo; lo < pl->hi; lo += pl->chunk) {
    const gb_window at = gb_window_at(pl, lo);
    for (int t = pl->loop_first; t <= pl->loop_last; t++) {
      copy_window(x, GB_COPY_WINDOW, t, &at);
      GB_TRY(gb_plan_run_place(x->p, t, &at, x->s->arena.data, err));
      copy_window(x, GB_COPY_BACK, t, &at);
    }
    x->p->stats.windows++;
  }
  return GB_OK;
}

/* p is the device's for the time of its part. */
static void enter (crossing *x) {
  gb_plan *p = x->p;
  x->home_place = p->place;
  x->home_read = p->read;
  x->home_write = p->write;
  p->on = x->s->device;
  p->place = x->s->remote.place;
  p->read = x->s->read;
  p->write = x->s->write;
}

static void leave (const crossing *x) {
  gb_plan *p = x->p;
  p->on = p->graph->device;
  p->place = (gb_placement *)(uintptr_t)x->home_place;
  p->read = x->home_read;
  p->write = x->home_write;
}

/* The watch looks at this device's arena meanwhile. */
static gb_status run_part (crossing *x, gb_error *err) {
  gb_plan *p = x->p;
  const bool watched = p->watched;
  gb_memcheck_memory home = {0};
  enter(x);
  if (watched) {
    gb_memcheck_exchange(&home);
    p->watched = gb_memcheck_begin(p, x->s->arena.data);
  }
  copy_once(x, GB_COPY_WHOLE);
  copy_once(x, GB_COPY_TOTAL);
  copy_once(x, GB_COPY_RUNNING);
  const gb_status rc = run_windows(x, err);
  if (rc == GB_OK) copy_once(x, GB_COPY_RESULT);
  if (watched) {
    gb_memcheck_end();
    gb_memcheck_exchange(&home);
    p->watched = true;
  }
  leave(x);
  return rc;
}

gb_status gb_partition_run (gb_plan *p, void *arena, gb_error *err) {
  if (p->partition == NULL) return GB_OK;
  crossing x = {.p = p};
  if (p->place->chunk > 0) x.from = p->place, x.from_arena = arena, x.from_write = p->write;
  for (int i = 1; i < p->partition->n; i++) {
    x.s = &p->partition->share[i];
    if (!has_part(x.s)) continue;
    GB_TRY(run_part(&x, err));
    x.from = x.s->remote.place;
    x.from_arena = x.s->arena.data;
    x.from_write = x.s->write;
  }
  return GB_OK;
}
