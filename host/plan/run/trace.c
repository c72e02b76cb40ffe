/* trace.c - traces: what steps took, added up by script line and op, and one by one. */
#include "plan/run/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

#define MOST_EVENTS ((size_t)1 << 20) /* that a trace keeps one by one */

struct gb_trace {
  gb_trace *next; /* of those that are open */
  gb_trace_row *row;
  size_t nrows, row_room;
  gb_trace_event *event;
  size_t nevents, event_room, dropped, missed;
  double began;
};

gb_status gb_trace_begin (gb_graph *g, gb_trace **out, gb_error *err) {
  gb_plan_context *c = gb_context(g, err);
  if (c == NULL) return GB_ENOMEM;
  gb_trace *t = calloc(1, sizeof *t);
  if (t == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a trace");
  gb_context_lock(g);
  t->next = c->traces;
  c->traces = t;
  gb_context_unlock(g);
  t->began = gb_clock();
  *out = t;
  return GB_OK;
}

void gb_trace_end (gb_graph *g, gb_trace *t) {
  if (t == NULL) return;
  gb_context_lock(g);
  gb_trace **at = &g->plans->traces;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  gb_context_unlock(g);
  for (size_t i = 0; i < t->nrows; i++) free(t->row[i].text);
  free(t->row);
  free(t->event);
  free(t);
}

gb_trace_view gb_trace_read (const gb_trace *t) {
  return (gb_trace_view){t->row, t->nrows, t->event, t->nevents, t->dropped, t->missed, t->began};
}

/* -- adding */

static bool is_of (const gb_trace_row *r, const gb_timed_step *s) {
  return strcmp(r->where, s->where) == 0 && strcmp(r->op, s->op) == 0 && strcmp(r->device, s->device) == 0 &&
         strcmp(r->carrier, s->carrier) == 0 && strcmp(r->kernel, s->kernel) == 0;
}

/* A row of its own copies of the texts, one after the other. */
static gb_trace_row *add_row (gb_trace *t, const gb_timed_step *s) {
  const char *from[] = {s->where, s->op, s->device, s->carrier, s->kernel};
  size_t at[6] = {0};
  for (int i = 0; i < 5; i++) at[i + 1] = at[i] + strlen(from[i]) + 1;
  char *text = malloc(at[5]);
  if (text == NULL || !gb_grow(&t->row, t->nrows, &t->row_room, sizeof *t->row)) {
    free(text);
    return NULL;
  }
  for (int i = 0; i < 5; i++) memcpy(text + at[i], from[i], at[i + 1] - at[i]);
  gb_trace_row *r = &t->row[t->nrows++];
  *r = (gb_trace_row){.text = text,
                      .where = text,
                      .op = text + at[1],
                      .device = text + at[2],
                      .carrier = text + at[3],
                      .kernel = text + at[4]};
  return r;
}

static gb_trace_row *row_of (gb_trace *t, const gb_timed_step *s) {
  for (size_t i = 0; i < t->nrows; i++)
    if (is_of(&t->row[i], s)) return &t->row[i];
  return add_row(t, s);
}

static void add_event (gb_trace *t, const gb_timed_step *s, size_t row) {
  if (t->nevents >= MOST_EVENTS || !gb_grow(&t->event, t->nevents, &t->event_room, sizeof *t->event)) {
    t->dropped++;
    return;
  }
  t->event[t->nevents++] = (gb_trace_event){row, s->from, s->to, s->step, s->held, s->depth};
}

static void add (gb_trace *t, const gb_timed_step *s) {
  gb_trace_row *r = row_of(t, s);
  if (r == NULL) {
    t->dropped++;
    return;
  }
  r->calls++;
  r->seconds += s->self;
  r->total += s->to - s->from;
  r->bytes += s->bytes;
  r->flops += s->flops;
  r->predicted += s->predicted;
  r->bound += s->bound;
  add_event(t, s, (size_t)(r - t->row));
}

void gb_trace_add (gb_plan_context *c, const gb_timed_step *step) {
  c->traced += step->self;
  for (gb_trace *t = c->traces; t != NULL; t = t->next) add(t, step);
}

void gb_trace_miss (gb_plan_context *c) {
  for (gb_trace *t = c->traces; t != NULL; t = t->next) t->missed++;
}
