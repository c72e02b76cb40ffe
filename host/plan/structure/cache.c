/* cache.c - what a graph remembers between plans: lowered programs by structure, and values that may be
** dropped. */
#include "plan/structure/cache.h"

#include <stdlib.h>

#include "base/grow.h"

/* programs */

/* Gives up the program that no plan has and that was used least recently. */
static bool shed_program (void *cache) {
  gb_plan_context *c = cache;
  int at = -1;
  for (int i = 0; i < c->nprograms; i++)
    if (c->program[i]->refs == 1 && (at < 0 || c->program[i]->used < c->program[at]->used)) at = i;
  if (at < 0) return false;
  gb_lowered_plan_unref(c->program[at]);
  c->program[at] = c->program[--c->nprograms];
  return true;
}

gb_lowered_plan *gb_lowered_plan_find (gb_plan_context *c, uint64_t structure, size_t nnodes, size_t nouts,
                                       const gb_graph *g) {
  for (int i = 0; i < c->nprograms; i++) {
    gb_lowered_plan *p = c->program[i];
    if (p->structure != structure || p->nnodes != nnodes || p->nouts != nouts) continue;
    if (!gb_lowered_plan_has_threads(p, g)) continue;
    p->used = ++c->clock;
    return p;
  }
  return NULL;
}

void gb_lowered_plan_add (gb_plan_context *c, gb_lowered_plan *p) {
  int at = c->nprograms;
  if (at < GB_PROGRAMS) c->nprograms++;
  else {
    at = 0;
    for (int i = 1; i < GB_PROGRAMS; i++)
      if (c->program[i]->used < c->program[at]->used) at = i;
    gb_lowered_plan_unref(c->program[at]);
  }
  c->program[at] = p;
  p->used = ++c->clock;
  p->refs++;
}

/* values */

static gb_ledger *ledger_of (gb_graph *g) { return &g->device->ledger; }

bool gb_cache_holds (const gb_value *v) {
  const gb_storage *st = v->tensor.storage;
  return st != NULL && st->refs == 1 && st->block.purpose == GB_MEM_CACHE &&
         gb_ledger_owns(st->ledger, &st->block);
}

static gb_cached *find (gb_graph *g, const gb_node *n, int output) {
  gb_plan_context *c = g->plans;
  for (size_t i = 0; c != NULL && i < c->ncached; i++)
    if (c->cached[i].node == n && c->cached[i].output == output) return &c->cached[i];
  return NULL;
}

static void forget (gb_plan_context *c, gb_cached *e) {
  gb_node *n = e->node;
  *e = c->cached[--c->ncached];
  gb_node_unref(n);
}

static void drop (gb_plan_context *c, gb_cached *e) {
  gb_tensor_clear(&e->node->out[e->output].tensor);
  forget(c, e);
}

void gb_cache_add (gb_graph *g, gb_node *n, int output) {
  gb_plan_context *c = g->plans;
  if (!gb_grow(&c->cached, c->ncached, &c->room, sizeof *c->cached)) {
    gb_tensor_clear(&n->out[output].tensor);
    return;
  }
  c->cached[c->ncached++] = (gb_cached){.node = gb_node_ref(n), .output = output, .used = ++c->clock};
}

bool gb_cache_reserve (gb_graph *g, size_t more) {
  gb_plan_context *c = g->plans;
  while (c->room < c->ncached + more)
    if (!gb_grow(&c->cached, c->room, &c->room, sizeof *c->cached)) return false;
  return true;
}

void gb_cache_touch (gb_graph *g, const gb_node *n, int output) {
  gb_cached *e = find(g, n, output);
  if (e != NULL) e->used = ++g->plans->clock;
}

void gb_cache_forget (gb_graph *g, gb_node *n, int output) {
  gb_cached *e = find(g, n, output);
  if (e != NULL) forget(g->plans, e);
}

void gb_cache_pin (gb_graph *g, gb_node *n, int output) {
  gb_cached *e = find(g, n, output);
  if (e == NULL) return;
  gb_ledger_retag(ledger_of(g), &n->out[output].tensor.storage->block, GB_MEM_TENSOR);
  forget(g->plans, e);
}

/* A leaf that only cached expressions hold, or a held value, can never be named again, so what depends on it
** is never found again; unless the cached node itself, or something above it, is still held from outside.
** What depends on a replaced version of a parameter goes in any case: only a handle to the past could ask for
** it, and it can be computed again. */
typedef struct reach {
  size_t edges; /* counts that come from within the cached expressions */
  bool held, lost, stale;
} reach;

static void mark_reach (gb_plan_context *c, gb_node **order, size_t count, reach *r) {
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < order[i]->nin; k++) r[order[i]->in[k]->index].edges++;
  for (size_t i = 0; i < c->ncached; i++) r[c->cached[i].node->index].edges++;
  for (size_t i = count; i-- > 0;) { /* users first */
    const gb_node *n = order[i];
    if ((size_t)n->refs > r[i].edges) r[i].held = true;
    for (int k = 0; r[i].held && k < n->nin; k++) r[n->in[k]->index].held = true;
  }
  for (size_t i = 0; i < count; i++) { /* inputs first */
    const gb_node *n = order[i];
    if (gb_node_reads(n) == 0) r[i].lost = !r[i].held && gb_ops[n->op].kind != GB_KIND_GEN;
    r[i].stale = (n->flags & GB_NODE_STALE) != 0;
    for (int k = 0; k < gb_node_reads(n); k++) {
      r[i].lost |= r[n->in[k]->index].lost;
      r[i].stale |= r[n->in[k]->index].stale;
    }
  }
}

void gb_cache_sweep (gb_graph *g) {
  gb_plan_context *c = g->plans;
  if (c == NULL || c->ncached == 0) return;
  gb_node **root = calloc(c->ncached, sizeof *root), **order = NULL;
  size_t count = 0;
  reach *r = NULL;
  for (size_t i = 0; root != NULL && i < c->ncached; i++) root[i] = c->cached[i].node;
  if (root != NULL && gb_graph_order(g, c->ncached, root, GB_WALK_ALL, &order, &count, NULL) == GB_OK)
    r = calloc(count, sizeof *r);
  if (r != NULL) {
    mark_reach(c, order, count, r);
    for (size_t i = c->ncached; i-- > 0;) { /* 'index' of a node that is still cached is still valid */
      const reach *e = &r[c->cached[i].node->index];
      if ((e->lost && !e->held) || e->stale) drop(c, &c->cached[i]);
    }
  }
  free(root);
  free(order);
  free(r);
}

size_t gb_cache_drop (gb_graph *g, size_t bytes) {
  gb_ledger *l = ledger_of(g);
  const size_t before = l->used;
  gb_cache_sweep(g);
  gb_plan_context *c = g->plans;
  while (c != NULL && before - l->used < bytes) {
    gb_cached *oldest = NULL;
    for (size_t i = 0; i < c->ncached; i++) {
      gb_cached *e = &c->cached[i];
      if (gb_cache_holds(&e->node->out[e->output]) && (oldest == NULL || e->used < oldest->used)) oldest = e;
    }
    if (oldest == NULL) break;
    drop(c, oldest);
  }
  return before - l->used;
}

/* Do so many bytes fit, without the programs that no plan has if need be? */
static bool fits (gb_graph *g, size_t bytes) {
  const gb_ledger *l = ledger_of(g);
  while (bytes > gb_ledger_room(l) && gb_ledger_charged(l) > 0 && g->plans != NULL && shed_program(g->plans))
    continue;
  return bytes <= gb_ledger_room(l);
}

bool gb_make_room (gb_graph *g, size_t bytes) {
  gb_ledger *l = ledger_of(g);
  if (fits(g, bytes)) return true;
  if (bytes <= l->limit) gb_cache_drop(g, bytes - gb_ledger_room(l));
  if (bytes <= gb_ledger_room(l)) return true;
  if (l->reclaim != NULL) l->reclaim(l->reclaim_ud, bytes);
  return fits(g, bytes);
}

size_t gb_plan_room (const gb_graph *g, size_t held) {
  gb_ledger without = g->device->ledger;
  for (int i = 0; g->plans != NULL && i < g->plans->nprograms; i++) {
    const gb_lowered_plan *p = g->plans->program[i];
    if (p->refs == 1) without.books -= p->booked < without.books ? p->booked : without.books;
  }
  return gb_ledger_beside(&without, held);
}

/* the whole */

static void forget_all (gb_plan_context *c) {
  while (c->ncached > 0) drop(c, &c->cached[c->ncached - 1]);
  gb_measure_free(c->measure);
  c->measure = NULL;
  while (c->nprograms > 0) gb_lowered_plan_unref(c->program[--c->nprograms]);
  c->ledger->shed = NULL;
}

static void serve (gb_plan_context *c, gb_ledger *l) {
  c->ledger = l;
  l->shed = shed_program;
  l->shed_ud = c;
}

gb_status gb_plans_change_device (gb_graph *g, gb_device *dev, gb_error *err) {
  gb_plan_context *c = gb_context(g, err);
  if (c == NULL) return GB_ENOMEM;
  if (dev == g->device) return GB_OK;
  if (c->calls > 0 || g->tracing > 0 || c->traces != NULL)
    return gb_fail(err, GB_EOPTION, "the session's device cannot change %s",
                   c->calls > 0     ? "within a function that an evaluation calls"
                   : g->tracing > 0 ? "within gb.vmap or a function of a kernel"
                                    : "while steps are timed");
  forget_all(c);
  const gb_status st = gb_graph_change_device(g, dev, err);
  serve(c, ledger_of(g));
  return st;
}

static void free_caches (gb_plan_context *c) {
  if (c == NULL) return;
  forget_all(c);
  pthread_mutex_destroy(&c->lock);
  free(c->cached);
  free(c);
}

static gb_plan_context *new_context (gb_ledger *l) {
  pthread_mutexattr_t recursive;
  gb_plan_context *c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&c->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  serve(c, l);
  return c;
}

gb_plan_context *gb_context (gb_graph *g, gb_error *err) {
  if (g->plans != NULL) return g->plans;
  g->plans = new_context(ledger_of(g));
  g->free_plans = free_caches;
  if (g->plans == NULL) gb_fail(err, GB_ENOMEM, "no memory for the plans of a graph");
  return g->plans;
}

gb_memcheck_watch *gb_plan_memcheck (gb_graph *g) {
  gb_plan_context *c = gb_context(g, NULL);
  return c == NULL ? NULL : &c->memcheck;
}

gb_run_stats gb_last_eval (const gb_graph *g) {
  return g->plans == NULL ? (gb_run_stats){0} : g->plans->last_eval;
}

gb_run_stats gb_measured (const gb_graph *g) {
  return g->plans == NULL ? (gb_run_stats){0} : g->plans->measured;
}
