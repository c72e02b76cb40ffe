/* plan.c - opening a structure, and planning it. */
#include "plan/plan.h"

#include <stdlib.h>

#include "plan/choose/plan_internal.h"
#include "plan/run/run.h"
#include "plan/structure/cache.h"
#include "plan/structure/supports.h"

/* requests */

/* What the values of lent leaves were made of ends first, by a walk of its own. */
static gb_status open_request (gb_request *q, size_t nouts, gb_node *const *outs, gb_order *o,
                               gb_error *err) {
  if (q->graph->nlent > 0) {
    free(o->node);
    *o = (gb_order){0};
    GB_TRY(gb_graph_end_lent(q->graph, nouts, outs, err));
  }
  GB_TRY(gb_structure(q->graph, nouts, outs, o, err));
  q->node = o->node;
  for (; q->nnodes < o->count; q->nnodes++) gb_node_ref(q->node[q->nnodes]);
  q->out = calloc(nouts + 1, sizeof *q->out);
  if (q->out == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  for (; q->nouts < nouts; q->nouts++) q->out[q->nouts] = gb_node_ref(outs[q->nouts]);
  return GB_OK;
}

static void clear_request (gb_request *q) {
  for (size_t i = 0; i < q->nouts; i++) gb_node_unref(q->out[i]);
  for (size_t i = 0; i < q->nnodes; i++) gb_node_unref(q->node[i]);
  free(q->node);
  free(q->out);
  free(q->team);
}

/* plans */

static gb_status find_program (const gb_request *q, const gb_order *o, gb_lowered_plan **out, gb_error *err) {
  gb_device *dev = q->graph->device;
  gb_plan_context *c = gb_context(q->graph, err);
  if (c == NULL) return GB_ENOMEM;
  gb_lowered_plan *p = gb_lowered_plan_find(c, o->structure, q->nnodes, q->nouts, q->graph);
  if (p != NULL) p->refs++;
  else {
    GB_TRY(gb_lowered_plan_new(q->graph, o, q->nouts, q->out, &p, err));
    gb_lowered_plan_add(c, p);
  }
  *out = p;
  return gb_lowered_plan_book(p, &dev->ledger, err);
}

/* The tables of a plan and of one run. */
static gb_status book_tables (gb_plan *p, gb_error *err) {
  const size_t nb = (size_t)p->prog->low->nbufs;
  const size_t bytes = sizeof *p + sizeof(gb_run) + sizeof(gb_lane) + p->request.nnodes * sizeof(gb_node *) +
                       nb * (4 * sizeof(bool) + sizeof(gb_tensor) + 2 * sizeof(void *));
  GB_TRY(gb_ledger_book(&gb_plan_home(p)->ledger, bytes, "a plan", err));
  p->booked = bytes;
  return GB_OK;
}

gb_status gb_plan_open_ordered (gb_graph *g, gb_order *known, size_t nouts, gb_node *const *outs,
                                gb_plan **out, gb_error *err) {
  gb_plan *p = calloc(1, sizeof *p);
  gb_order o = *known;
  *known = (gb_order){0};
  if (p == NULL) {
    free(o.node);
    return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  }
  p->request.graph = g;
  p->home = g->device;
  p->changes = g->changes;
  gb_status rc = open_request(&p->request, nouts, outs, &o, err);
  if (rc == GB_OK) rc = find_program(&p->request, &o, &p->prog, err);
  if (rc == GB_OK) rc = book_tables(p, err);
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

gb_status gb_plan_open (gb_graph *g, size_t nouts, gb_node *const *outs, gb_plan **out, gb_error *err) {
  return gb_plan_open_ordered(g, &(gb_order){0}, nouts, outs, out, err);
}

void gb_plan_free (gb_plan *p) {
  if (p == NULL) return;
  gb_run_free(p->runs.spare);
  gb_ledger_unbook(&gb_plan_home(p)->ledger, p->booked);
  gb_choice_clear(&p->choice);
  for (int i = 0; i < p->ndevices; i++) free(p->device[i].copy);
  free(p->device);
  clear_request(&p->request);
  gb_lowered_plan_unref(p->prog);
  free(p->row);
  free(p->number);
  free(p->what);
  free(p->candidate);
  free(p);
}

const gb_device *gb_plan_outdated (const gb_plan *p) {
  return p->changes == p->request.graph->changes ? NULL : p->home;
}

/* What the choice means to drop is still there to be weighed when the minimum is sought. */
static gb_status check_home (const gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  int b = 0;
  while (b < low->nbufs && (low->buf[b].device == 0 || low->buf[b].elsewhere)) b++;
  if (b == low->nbufs) return GB_OK;
  return gb_node_at_home(gb_plan_node(p, b), "a solver or another registered op", err);
}

static gb_status refuse_team (const gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  const char *home = gb_plan_home(p)->name;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    char what[GB_LACK_TEXT];
    if (gb_step_is_home(st))
      return gb_fail(err, GB_EDEVICE,
                     "option 'device' lets devices share work on values of %s, and %s does not run there: "
                     "%.200s; leave it out",
                     home, gb_lack_text(st, st->lack, what), st->lack.why);
  }
  return gb_fail(
      err, GB_EOPTION,
      "option 'device' lets devices share work on values of %s, and these lie on further devices: leave "
      "it out; gb.memory.limit(size, {device = name}) bounds what a plan takes there",
      home);
}

static void note_home_peak (const gb_plan *p) {
  gb_graph *g = p->request.graph;
  const gb_device *home = gb_graph_device(g, 0)->home;
  for (int i = 1; home != NULL && i < p->prog->low->ndevices; i++) {
    const size_t arena = p->choice.place->abroad[i].arena;
    if (gb_graph_device(g, i) == home && arena > g->plans->home_peak) g->plans->home_peak = arena;
  }
}

size_t gb_plan_swap_home_peak (gb_graph *g, size_t now) {
  if (g->plans == NULL) return 0;
  const size_t peak = g->plans->home_peak;
  g->plans->home_peak = now;
  return peak;
}

static gb_status make_plan (gb_plan *p, const gb_plan_options *o, gb_error *err) {
  if (o != NULL) p->request.options = *o;
  p->request.options.on = NULL; /* the caller's */
  if (p->request.options.at_home) GB_TRY(check_home(p, err));
  GB_TRY(gb_choice_init(&p->choice, p, err));
  gb_choice_look_up(&p->choice);
  if (o != NULL) GB_TRY(gb_team_new(p, o->ndevices, o->on, err));
  if (p->request.team != NULL && p->prog->low->ndevices > 1) return refuse_team(p, err);
  GB_TRY(gb_choose(&p->choice, err));
  note_home_peak(p);
  gb_choice_look_up(&p->choice);
  GB_TRY(gb_plan_find_minimum(p, &p->report.minimum, err));
  GB_TRY(gb_plan_fill_report(p, err));
  return gb_plan_fill_devices(p, err);
}

gb_status gb_plan_new (gb_graph *g, size_t nouts, gb_node *const *outs, const gb_plan_options *o,
                       gb_plan **out, gb_error *err) {
  gb_plan *p;
  gb_cache_sweep(g);
  GB_TRY(gb_plan_open(g, nouts, outs, &p, err));
  const gb_status rc = make_plan(p, o, err);
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

const gb_node *gb_plan_out (const gb_plan *p, size_t i) { return p->request.out[i]; }
void gb_plan_report_get (const gb_plan *p, gb_plan_report *r) { *r = p->report; }
const gb_lowered *gb_plan_lowered (const gb_plan *p) { return p->prog->low; }
void gb_plan_stats (const gb_plan *p, gb_run_stats *s) { *s = p->runs.stats; }
