/* timed.c - the steps of a run by the clocks of their devices. A device with a clock of its own is asked when its work
** is over; of the others calls return when they are complete, so that the host's clock around a step is theirs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "device/clock.h"
#include "plan/run/run.h"
#include "plan/run/trace.h"

#define MOST_PENDING 512 /* steps whose spans are not read yet */

typedef struct pending {
  int step, span; /* -1: the host's clock */
  gb_device *device;
  const gb_placement *place;
  double from, to; /* of the host */
  double inner;    /* seconds of the steps of runs within it */
  double part;     /* of the step that it is */
  bool first;      /* of the parts of its step */
  size_t held;     /* bytes that the run has of the lane's ledger */
  const char *path;
} pending;

struct gb_timed {
  pending *at;
  size_t n, room;
  int depth;
  gb_prices price[GB_GRAPH_DEVICES]; /* profile NULL: not known */
};

static gb_graph *graph_of (const gb_run *r) { return r->plan->request.graph; }

static double traced (const gb_run *r) {
  gb_context_lock(graph_of(r));
  const double seconds = graph_of(r)->plans->traced;
  gb_context_unlock(graph_of(r));
  return seconds;
}

void gb_timed_open (gb_run *r) {
  gb_graph *g = graph_of(r);
  const gb_lowered_plan *prog = r->plan->prog;
  if (g->plans->traces == NULL) return;
  gb_timed *t = r->timed = calloc(1, sizeof *t);
  if (t == NULL) return;
  t->depth = g->plans->calls;
  for (int i = 0; i < prog->low->ndevices; i++) {
    gb_device *dev = gb_graph_device(g, i);
    t->price[i] = (gb_prices){dev->ops->price, gb_device_profile_known(dev), prog->threads[i]};
  }
}

/* -- around a step */

static void name_span (const gb_run *r, int s, char *name, size_t size) {
  const gb_step *st = &r->plan->prog->low->step[s];
  const char *where = gb_plan_where(r->plan, st->out[0]);
  snprintf(name, size, "%s%s%s", where, *where != '\0' ? ": " : "", st->what);
}

/* A MOVE waits for the device that it takes values from: that time belongs to the steps there. */
static gb_status settle_source (const gb_run *r, const gb_step *st, gb_error *err) {
  if (st->is_fold || st->opaque.op != GB_OP_MOVE) return GB_OK;
  const int from = r->plan->prog->low->buf[st->in[0]].device;
  return gb_device_wait(gb_graph_device(graph_of(r), from), err);
}

static void flush (gb_run *r);

gb_status gb_timed_begin (gb_run *r, const gb_lane *l, int s, gb_error *err) {
  gb_timed *t = r->timed;
  if (t->n >= MOST_PENDING) {
    gb_context_lock(graph_of(r));
    flush(r);
    gb_context_unlock(graph_of(r));
  }
  if (!gb_grow(&t->at, t->n, &t->room, sizeof *t->at))
    return gb_fail(err, GB_ENOMEM, "no memory to time a step");
  GB_TRY(settle_source(r, &r->plan->prog->low->step[s], err));
  pending *p = &t->at[t->n];
  *p = (pending){.step = s, .span = -1, .device = gb_kernels_step_device(l->kernels, s), .place = l->place};
  if (p->device->ops->clock != NULL) {
    char name[256];
    name_span(r, s, name, sizeof name);
    GB_TRY(gb_device_begin_span(p->device, name, &p->span, err));
  }
  r->path = NULL;
  p->inner = traced(r);
  p->from = gb_clock();
  t->n++;
  return GB_OK;
}

/* With the arena of the run before, where this one has it. Another thread may take of the ledger meanwhile, under the
** lock. */
static size_t held_by (const gb_run *r, const gb_lane *l) {
  gb_context_lock(graph_of(r));
  const size_t used = l->device->ledger.used;
  gb_context_unlock(graph_of(r));
  return (l == &r->lane[0] ? r->choice.arena : 0) + (l->begun && used > l->start ? used - l->start : 0);
}

void gb_timed_end (gb_run *r, const gb_lane *l, int s, const gb_window *at, gb_status st) {
  gb_timed *t = r->timed;
  pending *p = &t->at[t->n - 1];
  p->to = gb_clock();
  gb_error err;
  const bool ended = p->span < 0 || gb_device_end_span(p->device, p->span, &err) == GB_OK;
  if (st != GB_OK || !ended || gb_step_is_idle(r->plan->prog->low, &r->plan->prog->low->step[s])) {
    if (p->span >= 0) gb_device_drop_spans(p->device, p->span);
    t->n--;
    return;
  }
  p->inner = traced(r) - p->inner;
  p->path = r->path;
  p->held = held_by(r, l);
  p->part = at == NULL || at->extent == 0 ? 1 : (double)at->n / (double)at->extent;
  p->first = at == NULL || at->lo == l->place->lo;
}

/* -- after the run */

static const char *carrier_of (const pending *p, const gb_step *st) {
  if (!st->is_fold && st->opaque.op == GB_OP_CALL) return "host";
  if (!st->is_fold && st->opaque.op == GB_OP_MOVE) return "copy";
  if (p->device->ops->clock == NULL) return gb_device_isa(p->device);
  if (!st->is_fold) return gb_op_has(st->opaque.op, GB_TRAIT_DENSE) ? "library" : "template";
  if (p->path == NULL || strcmp(p->path, "vm") == 0) return "interpreter";
  return strncmp(p->path, "vm, ", 4) == 0 ? "interpreter and compiled" : p->path;
}

/* Of the step and of those that run inside it, each once. */
static void count_work (const gb_run *r, const pending *p, gb_timed_step *out) {
  const gb_lowered *low = r->plan->prog->low;
  const gb_prices *price = &r->timed->price[low->step[p->step].device];
  const gb_nest *nest = p->place->nest;
  const bool root = gb_nest_at(p->place, p->step) >= 0;
  out->bound = 0;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    if (s != p->step && !(root && nest->inside[s])) continue;
    const gb_work all = st->is_fold ? gb_fold_work(&st->fold) : gb_opaque_work(&st->opaque);
    const gb_work w = {all.flops * p->part, all.bytes * p->part, all.compute};
    out->flops += w.flops;
    out->bytes += w.bytes;
    out->bound += price->profile != NULL && price->ops->bound != NULL
                      ? price->ops->bound(price->profile, price->threads, &w)
                      : NAN;
  }
}

/* Of all parts of the step together, with the first one. */
static double predict (const gb_run *r, const pending *p) {
  const gb_lowered_plan *prog = r->plan->prog;
  if (r->timed->price[prog->low->step[p->step].device].profile == NULL) return NAN;
  return !p->first ? 0
                   : gb_step_seconds(r->timed->price, prog->low, prog->packed_factor, prog->npacked_factors,
                                     p->place, p->step);
}

/* 'err' of a device that is lost meanwhile says why, to all who come later. */
static void hand_over (gb_run *r, const pending *p) {
  gb_error err;
  const gb_step *st = &r->plan->prog->low->step[p->step];
  gb_timed_step step = {.op = st->what,
                        .where = gb_plan_where(r->plan, st->out[0]),
                        .device = p->device->name,
                        .carrier = carrier_of(p, st),
                        .kernel = st->is_fold && p->path != NULL ? p->path : "",
                        .from = p->from,
                        .to = p->to,
                        .step = p->step,
                        .held = p->held,
                        .depth = r->timed->depth};
  if (p->span >= 0 && (gb_device_wait(p->device, &err) != GB_OK ||
                       gb_device_read_span(p->device, p->span, &step.from, &step.to, &err) != GB_OK)) {
    gb_trace_miss(graph_of(r)->plans);
    return;
  }
  step.self = fmax(0, step.to - step.from - p->inner);
  step.predicted = predict(r, p);
  count_work(r, p, &step);
  gb_trace_add(graph_of(r)->plans, &step);
}

static void flush (gb_run *r) {
  gb_timed *t = r->timed;
  for (size_t i = 0; i < t->n; i++) hand_over(r, &t->at[i]);
  for (size_t i = t->n; i-- > 0;)
    if (t->at[i].span >= 0) gb_device_drop_spans(t->at[i].device, t->at[i].span);
  t->n = 0;
}

void gb_timed_close (gb_run *r) {
  if (r->timed == NULL) return;
  flush(r);
  free(r->timed->at);
  free(r->timed);
  r->timed = NULL;
}
