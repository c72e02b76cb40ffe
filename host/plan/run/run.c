/* run.c - the life of a run: opened, given its memory, executed step by step, its values handed over. */
#include "plan/run/run.h"

#include <stdlib.h>

#include "base/clock.h"
#include "plan/run/busy.h"
#include "plan/structure/cache.h"

/* opening */

static bool alloc_lane (const gb_plan *p, gb_lane *l) {
  const size_t nb = (size_t)p->prog->low->nbufs + 1;
  l->read = calloc(nb, sizeof *l->read);
  l->write = calloc(nb, sizeof *l->write);
  l->in = calloc((size_t)p->prog->widest_in + 1, sizeof *l->in);
  l->to = calloc((size_t)p->prog->widest_out + 1, sizeof *l->to);
  l->constant = calloc((size_t)p->prog->most_constants + 1, sizeof *l->constant);
  return l->read != NULL && l->write != NULL && l->in != NULL && l->to != NULL && l->constant != NULL;
}

static bool alloc_tables (gb_run *r) {
  const gb_plan *p = r->plan;
  const size_t nb = (size_t)p->prog->low->nbufs + 1;
  const size_t widest = (size_t)(p->prog->widest_in + p->prog->widest_out) + 1;
  r->depends = calloc(nb, sizeof *r->depends);
  r->value = calloc(nb, sizeof *r->value);
  r->handed = calloc(widest, sizeof *r->handed);
  r->lent = calloc(widest, sizeof *r->lent);
  bool ok = r->depends != NULL && r->value != NULL && r->handed != NULL && r->lent != NULL;
  for (int i = 0; i < r->nlanes; i++) ok = ok && alloc_lane(p, &r->lane[i]);
  return ok;
}

static gb_status new_run (gb_plan *p, gb_run **out, gb_error *err) {
  const gb_team *team = p->request.team;
  const int n = team == NULL ? 1 : team->n;
  gb_run *r = calloc(1, sizeof *r + (size_t)n * sizeof r->lane[0]);
  if (r == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a run");
  r->plan = p;
  r->nlanes = n;
  for (int i = 0; i < n; i++) r->lane[i].device = i == 0 ? gb_plan_home(p) : team->member[i].device;
  gb_status rc = gb_choice_init(&r->choice, p, err);
  if (rc == GB_OK && !alloc_tables(r)) rc = gb_fail(err, GB_ENOMEM, "no memory for a run");
  if (rc == GB_OK) *out = r;
  else gb_run_free(r);
  return rc;
}

static gb_status take_spare (gb_plan *p, gb_run **out, gb_error *err) {
  *out = p->runs.spare;
  p->runs.spare = NULL;
  return *out != NULL ? GB_OK : new_run(p, out, err);
}

/* The lock of the context is held from here to gb_run_close, but while steps run. The arena of the run before
** serves this run too. */
gb_status gb_run_open (gb_plan *p, gb_run **out, gb_error *err) {
  gb_graph *g = p->request.graph;
  gb_context_lock(g);
  const gb_status rc = take_spare(p, out, err);
  if (rc != GB_OK) {
    gb_context_unlock(g);
    return rc;
  }
  gb_run *r = *out;
  const gb_block *own = &r->lane[0].own;
  r->choice.arena = own->data != NULL && gb_ledger_owns(&g->device->ledger, own) ? own->bytes : 0;
  r->stats = (gb_run_stats){0};
  r->within = g->plans->calls > 0;
  return GB_OK;
}

void gb_run_close (gb_run *r) {
  gb_plan *p = r->plan;
  for (int b = 0; b < p->prog->low->nbufs; b++) gb_tensor_clear(&r->value[b]);
  if (p->runs.spare == NULL) p->runs.spare = r;
  else gb_run_free(r);
  gb_context_unlock(p->request.graph);
}

static void free_lane (const gb_plan *p, gb_lane *l) {
  for (int s = 0; l->window != NULL && s < p->prog->low->nsteps; s++) {
    gb_window_free(&l->window[s][0]);
    gb_window_free(&l->window[s][1]);
  }
  free(l->window);
  free(l->read);
  free(l->write);
  free(l->in);
  free(l->to);
  free(l->constant);
}

void gb_run_free (gb_run *r) {
  if (r == NULL) return;
  const gb_lowered_plan *prog = r->plan->prog;
  gb_run_free_arena(r);
  gb_choice_clear(&r->choice);
  for (int i = 0; r->lent != NULL && i < prog->widest_in + prog->widest_out; i++) free(r->lent[i]);
  for (int i = 0; i < r->nlanes; i++) free_lane(r->plan, &r->lane[i]);
  free(r->bound);
  free(r->binding);
  free(r->depends);
  free(r->value);
  free(r->handed);
  free(r->lent);
  free(r);
}

/* executing */

/* Says what the outermost run is at. */
static void tell (const gb_run *r, int place, size_t done, size_t total) {
  const gb_step *st = &r->plan->prog->low->step[r->lane[0].place->order[place]];
  gb_busy_step(st->what, gb_plan_where(r->plan, st->out[0]), done, total);
}

static bool is_idle (const gb_placement *pl, const gb_loop *loop) {
  for (int t = loop->first; t <= loop->last; t++)
    if (pl->runs[pl->order[t]]) return false;
  return true;
}

static gb_status run_loop (gb_run *r, gb_lane *l, const gb_loop *loop, bool outermost, gb_error *err) {
  const gb_placement *pl = l->place;
  const size_t span = pl->hi - pl->lo;
  if (is_idle(pl, loop)) return GB_OK;
  for (size_t lo = pl->lo; pl->chunk > 0 && lo < pl->hi; lo += pl->chunk) {
    const gb_window at = gb_window_at(pl, lo);
    for (int t = loop->first; t <= loop->last; t++) {
      if (outermost) tell(r, t, (lo - pl->lo) / pl->chunk, (span + pl->chunk - 1) / pl->chunk);
      GB_TRY(gb_run_step(r, l, t, &at, err));
    }
    r->stats.windows++;
  }
  return GB_OK;
}

static bool works (const gb_run *r, int device) {
  const gb_placement *pl = r->lane[0].place;
  for (int s = 0; s < pl->nsteps; s++)
    if (pl->runs[s] && r->plan->prog->low->step[s].device == device) return true;
  return false;
}

/* For all that a step was started on. Other devices have no part in the result, whatever has become of them. */
static gb_status wait_for_steps (const gb_run *r, gb_error *err) {
  for (int i = 1; i < r->plan->prog->low->ndevices; i++)
    if (works(r, i)) GB_TRY(gb_device_wait(gb_graph_device(r->plan->request.graph, i), err));
  return r->nlanes > 1 || works(r, 0) ? gb_device_wait(r->lane[0].device, err) : GB_OK;
}

static gb_status run_steps (gb_run *r, bool outermost, gb_error *err) {
  gb_lane *l = &r->lane[0];
  const gb_placement *pl = l->place;
  for (int t = 0; t < pl->nplaces; t++) {
    const int k = gb_loop_at(pl, t);
    if (k >= 0) {
      GB_TRY(run_loop(r, l, &pl->loop[k], outermost, err));
      GB_TRY(gb_lanes_run(r, err)); /* their tilings have one loop */
      t = pl->loop[k].last;
    } else {
      if (outermost) tell(r, t, (size_t)t, (size_t)pl->nplaces);
      GB_TRY(gb_run_step(r, l, t, NULL, err));
    }
  }
  return wait_for_steps(r, err);
}

/* A requested node that is not the source of its buffer (an output picked from several, a view of a leaf)
** shares it. What had a value keeps it, and is no longer droppable; a cache that was computed again is
** replaced. */
static void store_values (gb_run *r) {
  const gb_plan *p = r->plan;
  const gb_lowered *low = p->prog->low;
  gb_graph *g = p->request.graph;
  for (int i = 0; i < low->nouts; i++) {
    const int b = low->out[i];
    gb_node *out = p->request.out[i];
    gb_value *v = gb_plan_value(p, b);
    if (r->choice.place->write[b] == GB_HOME_OUTPUT && (v->tensor.storage == NULL || gb_cache_holds(v))) {
      gb_tensor_clear(&v->tensor);
      gb_run_set_value(r, b);
    }
    gb_cache_pin(g, gb_plan_node(p, b), low->buf[b].output);
    if (gb_node_has_value(out)) continue;
    gb_measure_note(g, out, 0);
    out->out[0].tensor = gb_tensor_ref(&r->value[b]);
    out->out[0].arithmetic = gb_run_signature(r, b);
    out->depth = 0;
  }
}

/* What the ledgers of all lanes gave at most, and the peaks that they had before. */
static void measure (gb_run *r) {
  gb_lane *home = &r->lane[0];
  gb_ledger *l = &home->device->ledger;
  if (!home->begun) return;
  home->measured = r->stats.measured = l->peak - home->start;
  if (l->peak < home->peak) l->peak = home->peak;
  home->begun = false;
}

/* Steps run without the lock of the context: a run of another thread may begin or end meanwhile. */
static gb_status run_unlocked (gb_run *r, gb_error *err) {
  gb_graph *g = r->plan->request.graph;
  const gb_memcheck_watch *watch = &g->plans->memcheck;
  gb_context_unlock(g);
  const bool outermost = gb_busy_begin();
  const gb_status rc = run_steps(r, outermost, err);
  gb_busy_end(outermost);
  if (watch->at_step != NULL) watch->at_step(NULL);
  gb_context_lock(g);
  return rc;
}

static gb_status execute (gb_run *r, void *arena, bool store, gb_error *err) {
  gb_status rc = gb_run_commit(r, arena, err);
  if (rc == GB_OK && arena == NULL) gb_memcheck_begin(r, &r->lane[0]);
  if (rc == GB_OK) rc = run_unlocked(r, err);
  if (r->stats.windows == 0 && r->choice.place->grains != NULL) r->stats.windows = 1;
  gb_memcheck_end(r, &r->lane[0]);
  gb_lanes_end(r);
  gb_abroad_end(r);
  if (rc == GB_OK && store) store_values(r);
  measure(r);
  return rc;
}

static void record (const gb_run *r, bool ran) {
  gb_plan *p = r->plan;
  p->runs.ran = ran;
  p->runs.stats = r->stats;
  for (int i = 0; i < r->nlanes; i++) p->runs.measured[i] = r->lane[i].measured;
  for (int i = 1; i < p->prog->low->ndevices; i++) p->runs.measured[i] = r->abroad[i].measured;
}

gb_status gb_run_execute (gb_run *r, void *arena, bool store, gb_error *err) {
  const double begun = gb_clock();
  gb_timed_open(r);
  const gb_status rc = execute(r, arena, store, err);
  r->stats.seconds = gb_clock() - begun;
  gb_timed_close(r);
  record(r, rc == GB_OK);
  gb_measure_count(r->plan->request.graph, &r->stats, !r->within);
  return rc;
}

static gb_status run_and_store (gb_run *r, gb_error *err) {
  gb_choice_look_up(&r->choice);
  GB_TRY(gb_choose(&r->choice, err));
  gb_run_free_arena(r);
  gb_tell_stored(&r->choice);
  return gb_run_execute(r, NULL, true, err);
}

gb_status gb_plan_run (gb_plan *p, gb_error *err) {
  gb_run *r;
  GB_TRY(gb_run_open(p, &r, err));
  const gb_status rc = run_and_store(r, err);
  gb_run_free_arena(r);
  gb_run_close(r);
  return rc;
}
