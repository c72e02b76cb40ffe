/* partition.c - the devices of a plan, as text and as data: those that share its work, and those that its
** values lie on. */
#include <stdlib.h>

#include "plan/choose/text.h"

/* the record */

static const char *name_of (const gb_plan *p, const gb_copy *c) {
  if (c->buf < 0) return "running totals";
  const char *name = gb_plan_name(p, c->buf);
  return *name ? name : gb_ops[p->request.node[p->prog->low->buf[c->buf].source]->op].name;
}

static size_t bytes_of (const gb_partition_part *s, const gb_copy *c, size_t *times) {
  const gb_placement *pl = s->remote.place;
  size_t bytes = 0;
  *times = 1;
  if (c->kind == GB_COPY_TOTAL) return pl->state[c->step].bytes;
  if (c->kind != GB_COPY_WINDOW && c->kind != GB_COPY_BACK) return c->layout.span * c->layout.width;
  *times = 0;
  for (size_t lo = pl->lo; lo < pl->hi; lo += pl->chunk, ++*times)
    bytes += gb_window_layout_bytes(&c->layout, gb_window_at(pl, lo).n);
  return bytes;
}

static const char *device_of (const gb_plan *p, int i) { return p->request.team->member[i].device->name; }

/* The device that ran the part before. */
static const char *before (const gb_plan *p, int i) {
  const gb_partition_part *part = p->choice.partition->part;
  for (i--; i > 0 && part[i].hi == part[i].lo;) i--;
  return device_of(p, i);
}

static gb_plan_copy row_of (const gb_plan *p, int i, const gb_copy *c) {
  const char *home = device_of(p, 0), *here = device_of(p, i);
  const bool back = c->kind == GB_COPY_BACK || c->kind == GB_COPY_RESULT;
  const bool passed = c->kind == GB_COPY_TOTAL || c->kind == GB_COPY_RUNNING;
  const int b = c->buf >= 0 ? c->buf : p->prog->low->step[c->step].out[0];
  gb_plan_copy row = {.what = name_of(p, c),
                      .where = gb_plan_where(p, b),
                      .to = back ? home : here,
                      .from = back     ? here
                              : passed ? before(p, i)
                                       : home};
  row.bytes = bytes_of(&p->choice.partition->part[i], c, &row.times);
  return row;
}

static gb_status report_device (const gb_plan *p, int i, gb_plan_device *d, gb_error *err) {
  const gb_member *m = &p->request.team->member[i];
  const gb_partition_part *s = &p->choice.partition->part[i];
  const gb_placement *pl = i == 0 ? p->choice.place : s->remote.place;
  *d = (gb_plan_device){.name = m->device->name,
                        .number = i,
                        .budget = i == 0 ? gb_choice_budget(&p->choice) : m->budget,
                        .lo = s->lo,
                        .hi = s->hi,
                        .chunk = s->chunk,
                        .extent = p->choice.place->tiling->extent};
  if (d->budget == 0) d->budget = m->device->ledger.limit;
  if (pl == NULL) return GB_OK;
  d->peak = pl->peak;
  d->arena = pl->arena;
  if (s->remote.ncopies == 0) return GB_OK;
  d->copy = calloc((size_t)s->remote.ncopies, sizeof *d->copy);
  if (d->copy == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  for (; d->ncopies < s->remote.ncopies; d->ncopies++)
    d->copy[d->ncopies] = row_of(p, i, &s->remote.copy[d->ncopies]);
  return GB_OK;
}

static gb_status report_partition (gb_plan *p, gb_error *err) {
  const gb_team *team = p->request.team;
  p->device = calloc((size_t)team->n, sizeof *p->device);
  if (p->device == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  for (; p->ndevices < team->n; p->ndevices++)
    GB_TRY(report_device(p, p->ndevices, &p->device[p->ndevices], err));
  return GB_OK;
}

/* A MOVE that runs, to device 'to'. */
static bool arrives (const gb_plan *p, int s, int to) {
  const gb_step *st = &p->prog->low->step[s];
  return p->choice.place->runs[s] && !st->is_fold && st->opaque.op == GB_OP_MOVE && st->device == to;
}

static gb_plan_copy row_of_move (const gb_plan *p, int s) {
  const gb_step *st = &p->prog->low->step[s];
  const int b = st->out[0], from = p->prog->low->buf[st->in[0]].device;
  const size_t windows = gb_is_within(p->choice.place->tiling, s) ? gb_window_count(p) : 0;
  return (gb_plan_copy){.what = gb_what(p, b),
                        .where = gb_plan_where(p, b),
                        .from = gb_graph_device(p->request.graph, from)->name,
                        .to = gb_graph_device(p->request.graph, st->device)->name,
                        .bytes = p->prog->low->buf[b].bytes,
                        .times = windows > 0 ? windows : 1};
}

static gb_status report_number (const gb_plan *p, int number, gb_plan_device *d, gb_error *err) {
  const gb_placement *pl = p->choice.place;
  const gb_device *dev = gb_graph_device(p->request.graph, number);
  const gb_abroad *a = &pl->abroad[number];
  *d = (gb_plan_device){.name = dev->name,
                        .number = number,
                        .budget = number == 0 ? gb_choice_budget(&p->choice) : gb_ledger_room(&dev->ledger),
                        .peak = number == 0 ? pl->peak : a->peak,
                        .arena = number == 0 ? pl->arena : a->arena};
  d->copy = calloc((size_t)pl->nplaces + 1, sizeof *d->copy);
  if (d->copy == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  for (int t = 0; t < pl->nplaces; t++)
    if (arrives(p, pl->order[t], number)) d->copy[d->ncopies++] = row_of_move(p, pl->order[t]);
  return GB_OK;
}

static gb_status report_moves (gb_plan *p, gb_error *err) {
  const int n = p->prog->low->ndevices;
  if (n == 1) return GB_OK;
  p->device = calloc((size_t)n, sizeof *p->device);
  if (p->device == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  for (int i = 0; i < n; i++)
    if (i == 0 || gb_plan_is_on(p, i)) GB_TRY(report_number(p, i, &p->device[p->ndevices++], err));
  return GB_OK;
}

gb_status gb_plan_fill_devices (gb_plan *p, gb_error *err) {
  return p->request.team != NULL ? report_partition(p, err) : report_moves(p, err);
}

int gb_plan_devices (const gb_plan *p, const gb_plan_device **out) {
  *out = p->device;
  return p->ndevices;
}

size_t gb_plan_measured_on (const gb_plan *p, int i) { return p->runs.measured[p->device[i].number]; }

/* text */

static size_t windows_of (const gb_plan_device *d) {
  return d->chunk == 0 ? 0 : (d->hi - d->lo + d->chunk - 1) / d->chunk;
}

static void say_device (const gb_plan_device *d, FILE *f) {
  char peak[GB_BYTES_TEXT], budget[GB_BYTES_TEXT];
  fprintf(f, "  %-8s", d->name);
  if (d->hi == d->lo) fprintf(f, " nothing of %zu", d->extent);
  else
    fprintf(f, " %zu to %zu of %zu in %zu window%s", d->lo + 1, d->hi, d->extent, windows_of(d),
            windows_of(d) == 1 ? "" : "s");
  fprintf(f, ", peak %s, budget %s\n", gb_size_text(d->peak, peak), gb_size_text(d->budget, budget));
}

static void say_copy (const gb_plan_copy *c, FILE *f) {
  char bytes[GB_BYTES_TEXT];
  fprintf(f, "    %s to %s %12s  %s", c->from, c->to, gb_size_text(c->bytes, bytes), c->what);
  if (c->times > 1) fprintf(f, " in %zu parts", c->times);
  fprintf(f, "%s%s\n", *c->where ? "  " : "", c->where);
}

void gb_partition_explain (const gb_plan *p, FILE *f) {
  const gb_plan_device *d;
  const int n = gb_plan_devices(p, &d);
  if (n == 0 || d == NULL) return;
  fputs(p->request.team != NULL ? "devices share an axis, one after the other\n" : "moved between devices\n",
        f);
  for (int i = 0; i < n; i++) {
    if (p->request.team != NULL) say_device(&d[i], f);
    for (int k = 0; k < d[i].ncopies; k++) say_copy(&d[i].copy[k], f);
  }
}
