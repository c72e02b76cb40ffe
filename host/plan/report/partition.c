/* partition.c - a plan over several devices, as text and as data. */
#include <stdlib.h>

#include "plan/report/text.h"

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

gb_status gb_partition_report (gb_plan *p, gb_error *err) {
  const gb_team *team = p->request.team;
  if (team == NULL) return GB_OK;
  p->device = calloc((size_t)team->n, sizeof *p->device);
  if (p->device == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  for (int i = 0; i < team->n; i++) GB_TRY(report_device(p, i, &p->device[i], err));
  return GB_OK;
}

int gb_plan_devices (const gb_plan *p, const gb_plan_device **out) {
  *out = p->device;
  return p->request.team == NULL ? 0 : p->request.team->n;
}

size_t gb_plan_measured_on (const gb_plan *p, int device) { return p->runs.measured[device]; }

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
  fputs("devices, simulated: one after the other\n", f);
  for (int i = 0; i < n; i++) {
    say_device(&d[i], f);
    for (int k = 0; k < d[i].ncopies; k++) say_copy(&d[i].copy[k], f);
  }
}
