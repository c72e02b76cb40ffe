/* plan.c - opening a structure, choosing among placements by the budget, and the report. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/parts.h"

/* opening */

static void max_int (int *a, int b) {
  if (b > *a) *a = b;
}

static gb_status new_program (gb_graph *g, uint64_t structure, size_t nnodes, size_t nouts,
                              gb_node *const *outs, gb_program **out, gb_error *err) {
  gb_program *p = calloc(1, sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  *p = (gb_program){.refs = 1, .threads = gb_pool_threads(g->backend->pool), .structure = structure,
                    .nnodes = nnodes, .nouts = nouts};
  gb_status rc = gb_lower(g, nouts, outs, &p->low, err);
  if (rc == GB_OK) {
    p->scratch = calloc((size_t)p->low->nsteps + 1, sizeof *p->scratch);
    p->arithmetic = calloc((size_t)p->low->nbufs + 1, sizeof *p->arithmetic);
    if (p->scratch == NULL || p->arithmetic == NULL)
      rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->low->nsteps);
    else rc = gb_sign_buffers(p->low, p->arithmetic, err);
  }
  if (rc != GB_OK) {
    if (p->low != NULL) gb_program_unref(p);
    else free(p);
    return rc;
  }
  for (int s = 0; s < p->low->nsteps; s++) {
    const gb_step *st = &p->low->step[s];
    p->scratch[s] = gb_step_scratch(g->backend, st);
    max_int(&p->widest_in, st->nin);
    max_int(&p->widest_out, st->nout);
    max_int(&p->most_constants, st->nconstants);
  }
  *out = p;
  return GB_OK;
}

static gb_status find_program (gb_graph *g, uint64_t structure, size_t nnodes, size_t nouts,
                               gb_node *const *outs, gb_program **out, gb_error *err) {
  gb_plan_cache *c = gb_caches(g, err);
  if (c == NULL) return GB_ENOMEM;
  gb_program *p = gb_program_find(c, structure, nnodes, nouts, gb_pool_threads(g->backend->pool));
  if (p != NULL) p->refs++;
  else {
    GB_TRY(new_program(g, structure, nnodes, nouts, outs, &p, err));
    gb_program_add(c, p);
  }
  *out = p;
  return GB_OK;
}

static bool alloc_tables (gb_plan *p) {
  const size_t nb = (size_t)p->prog->low->nbufs + 1;
  p->want = calloc(nb, sizeof *p->want);
  p->have = calloc(nb, sizeof *p->have);
  p->keep = calloc(nb, sizeof *p->keep);
  p->depends = calloc(nb, sizeof *p->depends);
  p->value = calloc(nb, sizeof *p->value);
  p->read = calloc(nb, sizeof *p->read);
  p->write = calloc(nb, sizeof *p->write);
  p->in = calloc((size_t)p->prog->widest_in + 1, sizeof *p->in);
  p->to = calloc((size_t)p->prog->widest_out + 1, sizeof *p->to);
  p->constant = calloc((size_t)p->prog->most_constants + 1, sizeof *p->constant);
  return p->want != NULL && p->have != NULL && p->keep != NULL && p->depends != NULL && p->value != NULL &&
         p->read != NULL && p->write != NULL && p->in != NULL && p->to != NULL && p->constant != NULL;
}

gb_status gb_plan_open (gb_graph *g, size_t nouts, gb_node *const *outs, gb_plan **out, gb_error *err) {
  gb_plan *p = calloc(1, sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  p->graph = g;
  uint64_t structure = 0;
  gb_status rc = gb_structure(g, nouts, outs, &p->node, &p->nnodes, &structure, err);
  if (rc != GB_OK) p->nnodes = 0;
  for (size_t i = 0; i < p->nnodes; i++) gb_node_ref(p->node[i]);
  if (rc == GB_OK) {
    p->out = calloc(nouts + 1, sizeof *p->out);
    if (p->out == NULL) rc = gb_fail(err, GB_ENOMEM, "no memory for a plan");
  }
  for (size_t i = 0; rc == GB_OK && i < nouts; i++) p->out[p->nouts++] = gb_node_ref(outs[i]);
  if (rc == GB_OK) rc = find_program(g, structure, p->nnodes, nouts, outs, &p->prog, err);
  if (rc == GB_OK && !alloc_tables(p)) rc = gb_fail(err, GB_ENOMEM, "no memory for a plan");
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

void gb_plan_free (gb_plan *p) {
  if (p == NULL) return;
  gb_ledger_free(&p->graph->backend->ledger, p->arena);
  gb_placement_unref(p->place);
  gb_program_unref(p->prog);
  for (size_t i = 0; i < p->nouts; i++) gb_node_unref(p->out[i]);
  for (size_t i = 0; i < p->nnodes; i++) gb_node_unref(p->node[i]);
  free(p->node);
  free(p->out);
  free(p->row);
  free(p->bound);
  free(p->binding);
  free(p->want);
  free(p->have);
  free(p->keep);
  free(p->depends);
  free(p->value);
  free(p->read);
  free(p->write);
  free(p->in);
  free(p->to);
  free(p->constant);
  free(p);
}

/* choosing */

typedef struct candidate {
  gb_placement *place;       /* counted */
  size_t held, need;         /* need = peak + held */
} candidate;

gb_status gb_plan_find_placement (gb_program *prog, gb_demand d, gb_placement **out, gb_error *err) {
  const size_t n = (size_t)prog->low->nbufs;
  const uint64_t key = gb_hash_bytes(gb_hash_bytes(gb_hash_bytes(1, d.want, n), d.have, n), d.keep, n);
  for (int i = 0; i < GB_PLACEMENTS; i++)
    if (prog->placed[i].place != NULL && prog->placed[i].key == key) {
      *out = prog->placed[i].place;
      (*out)->refs++;
      return GB_OK;
    }
  GB_TRY(gb_place(prog->low, d, prog->scratch, out, err));
  const int at = prog->next_place++ % GB_PLACEMENTS;
  gb_placement_unref(prog->placed[at].place);
  prog->placed[at].key = key;
  prog->placed[at].place = *out;
  (*out)->refs++;
  return GB_OK;
}

static bool droppable (const gb_plan *p, int b) {
  return p->prog->low->buf[b].cls != GB_BUF_LEAF && p->have[b] && gb_cache_holds(gb_plan_value(p, b));
}

static gb_status try_candidate (gb_plan *p, const bool *have, const bool *keep, candidate *c, gb_error *err) {
  GB_TRY(gb_plan_find_placement(p->prog, (gb_demand){p->want, have, keep}, &c->place, err));
  c->held = 0;
  for (int b = 0; b < p->prog->low->nbufs; b++)
    if (c->place->read[b] == GB_HOME_VALUE && droppable(p, b))
      c->held = gb_add_sizes(c->held, p->prog->low->buf[b].bytes);
  c->need = gb_add_sizes(c->place->peak, c->held);
  return GB_OK;
}

static void drop_candidates (candidate c[3]) {
  for (int i = 0; i < 3; i++) {
    gb_placement_unref(c[i].place);
    c[i] = (candidate){0};
  }
}

/* In order of preference: with caches kept; with caches as temporaries; with the existing ones dropped as
** well. None depends on the budget, so that a larger budget never chooses a worse one. */
static gb_status list_candidates (gb_plan *p, candidate c[3], gb_error *err) {
  const int nb = p->prog->low->nbufs;
  bool *none = calloc(2 * (size_t)nb + 1, sizeof *none), *pinned = none + nb;
  if (none == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  for (int b = 0; b < nb; b++) pinned[b] = p->have[b] && !droppable(p, b);
  gb_status rc = try_candidate(p, p->have, p->keep, &c[0], err);
  if (rc == GB_OK) rc = try_candidate(p, p->have, none, &c[1], err);
  if (rc == GB_OK) rc = try_candidate(p, pinned, none, &c[2], err);
  free(none);
  return rc;
}

size_t gb_plan_budget (const gb_plan *p) {
  if (p->budget != 0) return p->budget;
  const gb_ledger *l = &p->graph->backend->ledger;
  const size_t pinned = l->used - l->by_purpose[GB_MEM_CACHE];
  return l->limit > pinned ? l->limit - pinned : 0;
}

static bool fits (const candidate *c, size_t budget) {
  return c->place != NULL && c->need <= budget && c->need != SIZE_MAX;
}

/* The chosen one, NULL: none fits; then '*c' is filled whole. The first is tried alone, since it nearly
** always fits. */
static gb_status choose_among (gb_plan *p, candidate c[3], const candidate **chosen, gb_error *err) {
  const size_t budget = gb_plan_budget(p);
  *chosen = NULL;
  GB_TRY(try_candidate(p, p->have, p->keep, &c[0], err));
  if (fits(&c[0], budget)) *chosen = &c[0];
  if (*chosen != NULL) return GB_OK;
  drop_candidates(c);
  GB_TRY(list_candidates(p, c, err));
  for (int i = 0; i < 3 && *chosen == NULL; i++)
    if (fits(&c[i], budget)) *chosen = &c[i];
  return GB_OK;
}

static size_t least_need (const candidate c[3]) {
  size_t least = SIZE_MAX;
  for (int i = 0; i < 3; i++)
    if (c[i].place != NULL && c[i].need < least) least = c[i].need;
  return least;
}

/* Lets the owner of the ledger collect, which may drop values that the plan meant to read. */
static bool collect (gb_plan *p, size_t bytes) {
  gb_ledger *l = &p->graph->backend->ledger;
  if (p->budget != 0 || l->reclaim == NULL) return false;
  l->reclaim(l->reclaim_ud, bytes);
  for (int b = 0; b < p->prog->low->nbufs; b++) p->have[b] = p->have[b] && gb_plan_has_value(p, b);
  return true;
}

void gb_plan_follow_threads (gb_plan *p) {
  gb_program *prog = p->prog;
  const int threads = gb_pool_threads(p->graph->backend->pool);
  if (prog->threads == threads) return;
  prog->threads = threads;
  for (int s = 0; s < prog->low->nsteps; s++)
    prog->scratch[s] = gb_step_scratch(p->graph->backend, &prog->low->step[s]);
  for (int i = 0; i < GB_PLACEMENTS; i++) {
    gb_placement_unref(prog->placed[i].place);
    prog->placed[i].place = NULL;
  }
}

gb_status gb_plan_choose (gb_plan *p, gb_error *err) {
  candidate c[3] = {{0}};
  const candidate *chosen;
  gb_plan_follow_threads(p);
  gb_placement_unref(p->place);
  p->place = NULL;
  gb_status rc = choose_among(p, c, &chosen, err);
  if (rc == GB_OK && chosen == NULL && collect(p, least_need(c))) {
    drop_candidates(c);
    rc = choose_among(p, c, &chosen, err);
  }
  if (rc == GB_OK && chosen == NULL)
    rc = gb_plan_refuse(p, c[2].place, c[0].need, gb_plan_budget(p), least_need(c), err);
  if (rc == GB_OK) {
    p->place = chosen->place;
    p->place->refs++;
    for (int b = 0; chosen == &c[2] && b < p->prog->low->nbufs; b++)
      p->have[b] = p->have[b] && !droppable(p, b);         /* it recomputes what may have to be dropped */
  }
  drop_candidates(c);
  return rc;
}

static void look_up_values (gb_plan *p) {
  for (int b = 0; b < p->prog->low->nbufs; b++) {
    p->want[b] = false;
    p->have[b] = gb_plan_has_value(p, b);
    p->keep[b] = true;
  }
  for (size_t i = 0; i < p->nouts; i++)
    if (!gb_node_has_value(p->out[i])) p->want[p->prog->low->out[i]] = true;
}

gb_status gb_plan_refresh (gb_plan *p, gb_error *err) {
  look_up_values(p);
  return gb_plan_choose(p, err);
}

/* reporting */

static gb_plan_row row_of (const gb_plan *p, int b) {
  static const gb_buf_class cls[] = {[GB_HOME_NONE] = GB_BUF_TEMP, [GB_HOME_VALUE] = GB_BUF_LEAF,
                                     [GB_HOME_ARENA] = GB_BUF_TEMP, [GB_HOME_OUTPUT] = GB_BUF_OUTPUT,
                                     [GB_HOME_CACHE] = GB_BUF_CACHE};
  const gb_lowered *low = p->prog->low;
  const gb_life *life = &p->place->life[b];
  const gb_home home = p->place->write[b];
  const bool arena = home == GB_HOME_ARENA;
  const char *name = gb_plan_name(p, b);
  return (gb_plan_row){.what = *name ? name : gb_ops[p->node[low->buf[b].source]->op].name,
                       .where = gb_plan_where(p, b),
                       .cls = cls[home],
                       .bytes = low->buf[b].bytes,
                       .offset = arena ? life->offset : SIZE_MAX,
                       .first = life->first,
                       .last = arena ? life->last : low->nsteps - 1};
}

static gb_status fill_rows (gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  const gb_placement *pl = p->place;
  size_t most = (size_t)low->nsteps + 1;
  for (int s = 0; s < low->nsteps; s++) most += (size_t)low->step[s].nout;
  p->row = calloc(most, sizeof *p->row);
  if (p->row == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a report");
  gb_plan_row *r = p->row;
  for (int s = 0; s < low->nsteps; s++) {
    if (!pl->runs[s]) continue;
    for (int i = 0; i < low->step[s].nout; i++)
      if (pl->write[low->step[s].out[i]] != GB_HOME_SHARED) *r++ = row_of(p, low->step[s].out[i]);
    if (pl->scratch[s].bytes > 0)
      *r++ = (gb_plan_row){.what = "scratch",
                           .where = gb_plan_where(p, low->step[s].out[0]),
                           .cls = GB_BUF_TEMP,
                           .bytes = pl->scratch[s].bytes,
                           .offset = pl->scratch[s].offset,
                           .first = s,
                           .last = s};
  }
  const size_t minimum = p->report.minimum;
  p->report =
      (gb_plan_report){.peak = pl->peak,
                       .arena = pl->arena,
                       .outputs = pl->outputs,
                       .caches = pl->caches,
                       .lower_bound = gb_add_sizes(pl->arena_bound, gb_add_sizes(pl->outputs, pl->caches)),
                       .minimum = minimum,
                       .nsteps = pl->nrun,
                       .nrows = (int)(r - p->row),
                       .row = p->row};
  return GB_OK;
}

static gb_status find_minimum (gb_plan *p, gb_error *err) {
  candidate c[3] = {{0}};
  const gb_status rc = list_candidates(p, c, err);
  p->report.minimum = least_need(c);
  drop_candidates(c);
  return rc;
}

gb_status gb_plan_new (gb_graph *g, size_t nouts, gb_node *const *outs, const gb_plan_options *o,
                       gb_plan **out, gb_error *err) {
  gb_plan *p;
  gb_cache_sweep(g);
  GB_TRY(gb_plan_open(g, nouts, outs, &p, err));
  p->budget = o != NULL ? o->budget : 0;
  look_up_values(p);
  gb_status rc = find_minimum(p, err);
  if (rc == GB_OK) rc = gb_plan_choose(p, err);
  if (rc == GB_OK) rc = fill_rows(p, err);
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

void gb_plan_report_get (const gb_plan *p, gb_plan_report *r) { *r = p->report; }
const gb_lowered *gb_plan_lowered (const gb_plan *p) { return p->prog->low; }
void gb_plan_stats (const gb_plan *p, gb_run_stats *s) { *s = p->stats; }
