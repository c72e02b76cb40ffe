/* lanes.c - lanes of other devices than the first: their memory, the copies between them, and their parts of
** the loop. */
#include <string.h>

#include "plan/run/run.h"

/* memory */

/* A device that was lost has no room, either, and that it is lost is the reason. */
gb_status gb_run_no_room (const gb_device *dev, size_t bytes, gb_error *err) {
  const gb_ledger *l = &dev->ledger;
  GB_TRY(gb_device_alive(dev, err));
  char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  gb_fail(err, GB_ENOMEM, "the %s that the plan counts on are not free on %s: %s in use, limit %s",
          gb_bytes_text(bytes, need), dev->name, gb_bytes_text(l->used, used),
          gb_bytes_text(l->limit, limit));
  if (err != NULL) err->need = bytes, err->have = gb_ledger_room(l);
  return GB_ENOMEM;
}

/* What is read lies as it does on the first device: element (0, ..., 0) may be above the lowest one. */
static void find_addresses (gb_lane *l, const gb_remote *remote, const gb_lowered *low) {
  for (int b = 0; b < low->nbufs; b++)
    if (l->place->write[b] == GB_HOME_ARENA)
      l->read[b] = l->write[b] = (char *)l->arena + l->place->life[b].offset;
  for (int i = 0; i < remote->ncopies; i++) {
    const gb_copy *c = &remote->copy[i];
    if (c->kind == GB_COPY_WHOLE)
      l->read[c->buf] = (char *)l->write[c->buf] - c->layout.low * (ptrdiff_t)c->layout.width;
  }
}

static const gb_remote *remote_of (const gb_run *r, int i) { return &r->choice.partition->part[i].remote; }

gb_status gb_lanes_begin (gb_run *r, gb_error *err) {
  for (int i = 1; i < r->nlanes; i++) {
    gb_lane *lane = &r->lane[i];
    gb_ledger *l = &lane->device->ledger;
    lane->measured = 0;
    if (lane->place == NULL) continue;
    lane->start = l->used;
    lane->peak = l->peak;
    l->peak = l->used;
    lane->begun = true;
    if (gb_ledger_alloc(l, GB_MEM_ARENA, lane->place->arena, "", "arena", &lane->own, NULL) != GB_OK)
      return gb_run_no_room(lane->device, lane->place->arena, err);
    lane->arena = lane->own.data;
    find_addresses(lane, remote_of(r, i), r->plan->prog->low);
  }
  return GB_OK;
}

void gb_lanes_end (gb_run *r) {
  for (int i = 1; i < r->nlanes; i++) {
    gb_lane *lane = &r->lane[i];
    gb_ledger *l = &lane->device->ledger;
    if (!lane->begun) continue;
    gb_ledger_free(l, &lane->own);
    lane->measured = l->peak - lane->start;
    if (l->peak < lane->peak) l->peak = lane->peak;
    lane->begun = false;
  }
}

/* copies */

/* One lane at work: what it copies from and to. */
typedef struct crossing {
  gb_run *r;
  gb_lane *here;
  const gb_lane *home, *before; /* before: it ran the part before; NULL: there is none */
  const gb_remote *remote;
} crossing;

static gb_memory *memory_of (const gb_lane *l) { return &l->device->memory; }

/* From an address of one lane to an address of another. */
static gb_status across (const gb_lane *to, void *p, const gb_lane *from, const void *q, size_t bytes,
                         gb_error *err) {
  return gb_memory_across(memory_of(to), p, memory_of(from), q, bytes, err);
}

static gb_status copy_total (const crossing *x, int s, gb_error *err) {
  const gb_life *to = &x->here->place->state[s], *from = &x->before->place->state[s];
  return across(x->here, (char *)x->here->arena + to->offset, x->before,
                (const char *)x->before->arena + from->offset, to->bytes, err);
}

static gb_status copy_one (const crossing *x, const gb_copy *c, gb_error *err) {
  const size_t bytes = c->layout.span * c->layout.width;
  if (c->kind == GB_COPY_TOTAL) return copy_total(x, c->step, err);
  void *here = x->here->write[c->buf];
  if (c->kind == GB_COPY_RUNNING)
    return across(x->here, here, x->before, x->before->write[c->buf], bytes, err);
  if (c->kind == GB_COPY_RESULT) return across(x->home, x->home->write[c->buf], x->here, here, bytes, err);
  const char *whole = (const char *)x->home->read[c->buf] + c->layout.low * (ptrdiff_t)c->layout.width;
  GB_TRY(across(x->here, here, x->home, whole, bytes, err));
  gb_memcheck_copied(x->r, x->here, c->buf);
  return GB_OK;
}

/* Values that are copied once: before the first window, or after the last one. */
static gb_status copy_once (const crossing *x, gb_copy_kind kind, gb_error *err) {
  for (int i = 0; i < x->remote->ncopies; i++)
    if (x->remote->copy[i].kind == kind) GB_TRY(copy_one(x, &x->remote->copy[i], err));
  return GB_OK;
}

/* Windows that are copied at the step that first reads them or that made them. */
static gb_status copy_window (const crossing *x, gb_copy_kind kind, int place, const gb_window *at,
                              gb_error *err) {
  gb_memory *here = memory_of(x->here), *home = memory_of(x->home);
  for (int i = 0; i < x->remote->ncopies; i++) {
    const gb_copy *c = &x->remote->copy[i];
    if (c->kind != kind || c->place != place) continue;
    if (kind == GB_COPY_WINDOW)
      GB_TRY(gb_window_layout_take(&c->layout, home, x->home->read[c->buf], here, x->here->write[c->buf],
                                   at->lo, at->n, err));
    else
      GB_TRY(gb_window_layout_give(&c->layout, home, x->home->write[c->buf], here, x->here->write[c->buf],
                                   at->lo, at->n, err));
    if (kind == GB_COPY_WINDOW && at->n == x->here->place->chunk) gb_memcheck_copied(x->r, x->here, c->buf);
    if (kind == GB_COPY_BACK && x->here->place->life[c->buf].last == place) gb_memcheck_sent(x->here, c->buf);
  }
  return GB_OK;
}

/* running */

static gb_status run_windows (const crossing *x, gb_error *err) {
  const gb_placement *pl = x->here->place;
  for (size_t lo = pl->lo; lo < pl->hi; lo += pl->chunk) {
    const gb_window at = gb_window_at(pl, lo);
    for (int t = pl->loop->first; t <= pl->loop->last; t++) {
      GB_TRY(copy_window(x, GB_COPY_WINDOW, t, &at, err));
      GB_TRY(gb_run_step(x->r, x->here, t, &at, err));
      GB_TRY(copy_window(x, GB_COPY_BACK, t, &at, err));
    }
    x->r->stats.windows++;
  }
  return GB_OK;
}

static gb_status run_part (const crossing *x, gb_error *err) {
  if (x->home->watch != NULL) gb_memcheck_begin(x->r, x->here);
  gb_status rc = copy_once(x, GB_COPY_WHOLE, err);
  if (rc == GB_OK) rc = copy_once(x, GB_COPY_TOTAL, err);
  if (rc == GB_OK) rc = copy_once(x, GB_COPY_RUNNING, err);
  if (rc == GB_OK) rc = run_windows(x, err);
  if (rc == GB_OK) rc = copy_once(x, GB_COPY_RESULT, err);
  gb_memcheck_end(x->r, x->here);
  return rc;
}

gb_status gb_lanes_run (gb_run *r, gb_error *err) {
  const gb_lane *home = &r->lane[0];
  crossing x = {.r = r, .home = home, .before = home->place->chunk > 0 ? home : NULL};
  for (int i = 1; i < r->nlanes; i++) {
    x.here = &r->lane[i];
    if (x.here->place == NULL) continue;
    x.remote = remote_of(r, i);
    GB_TRY(run_part(&x, err));
    x.before = x.here;
  }
  return GB_OK;
}
