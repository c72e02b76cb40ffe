/* plan.c - opening a structure, and planning it. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/parts.h"

/* opening */

static void max_int (int *a, int b) {
  if (b > *a) *a = b;
}

enum { FEW = 1 << 22 }; /* elements: a staged product of so many may exist whole */

/* Returns the source of the innermost large staged product that cannot be made in windows, or -1. */
static int find_uncut (const gb_lowered *low, const gb_nest *nest, gb_node *const *node,
                       const bool *inlined) {
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    const gb_buf *b = &low->buf[st->out[0]];
    const bool product = node[b->source]->op == GB_OP_MATMUL && !inlined[b->source];
    if (b->staged && b->cls == GB_BUF_TEMP && product && gb_shape_numel(&b->shape) > FEW &&
        (nest == NULL || !nest->inside[s]))
      return (int)b->source;
  }
  return -1;
}

/* Lowers, with products staged but for large ones that would exist whole: those are inlined where that can
** be lowered. A function of the graph alone. */
static gb_status lower (gb_graph *g, size_t nouts, gb_node *const *outs, size_t nnodes, gb_node *const *node,
                        gb_lowered_plan *p, gb_error *err) {
  bool *inlined = calloc(nnodes + 1, sizeof *inlined);
  if (inlined == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  gb_status rc = gb_lower(g, nouts, outs, &p->low, err);
  if (rc == GB_OK) rc = gb_find_nest(p->low, &p->nest, err);
  for (int at; rc == GB_OK && (at = find_uncut(p->low, p->nest, node, inlined)) >= 0;) {
    gb_lowered *low;
    gb_error refused;
    inlined[at] = true;
    const gb_status tried = gb_lower_inlined(g, nouts, outs, inlined, &low, &refused);
    if (tried == GB_EREFUSED) break;
    if (tried != GB_OK) {
      *err = refused;
      rc = tried;
      break;
    }
    gb_nest_free(p->nest, p->low->nsteps);
    gb_lowered_free(p->low);
    p->low = low;
    rc = gb_find_nest(p->low, &p->nest, err);
  }
  free(inlined);
  return rc;
}

static gb_status new_program (gb_graph *g, uint64_t structure, size_t nnodes, gb_node *const *node,
                              size_t nouts, gb_node *const *outs, gb_lowered_plan **out, gb_error *err) {
  gb_lowered_plan *p = calloc(1, sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  *p = (gb_lowered_plan){.refs = 1,
                         .threads = gb_pool_threads(g->device->pool),
                         .structure = structure,
                         .nnodes = nnodes,
                         .nouts = nouts};
  gb_status rc = lower(g, nouts, outs, nnodes, node, p, err);
  if (rc == GB_OK) {
    p->scratch = calloc((size_t)p->low->nsteps + 1, sizeof *p->scratch);
    p->arithmetic = calloc((size_t)p->low->nbufs + 1, sizeof *p->arithmetic);
    if (p->scratch == NULL || p->arithmetic == NULL)
      rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->low->nsteps);
    else rc = gb_lowered_plan_find_batch(p, node, err);
    if (rc == GB_OK) rc = gb_find_triangles(p->low, &p->packed_factor, &p->npacked_factors, err);
    if (rc == GB_OK) rc = gb_buffer_signatures(p->low, p->batch, p->arithmetic, err);
  }
  if (rc != GB_OK) {
    if (p->low != NULL) gb_lowered_plan_unref(p);
    else free(p);
    return rc;
  }
  for (int s = 0; s < p->low->nsteps; s++) {
    const gb_step *st = &p->low->step[s];
    if (rc == GB_OK) rc = gb_step_contract(st, err);
    p->scratch[s] = gb_step_scratch(g->device, p->low, st);
    max_int(&p->widest_in, st->nin);
    max_int(&p->widest_out, st->nout);
    max_int(&p->most_constants, st->nconstants);
  }
  if (rc == GB_OK) *out = p;
  else gb_lowered_plan_unref(p);
  return rc;
}

static gb_status find_program (gb_graph *g, uint64_t structure, size_t nnodes, gb_node *const *node,
                               size_t nouts, gb_node *const *outs, gb_lowered_plan **out, gb_error *err) {
  gb_plan_cache *c = gb_caches(g, err);
  if (c == NULL) return GB_ENOMEM;
  gb_lowered_plan *p = gb_lowered_plan_find(c, structure, nnodes, nouts, gb_pool_threads(g->device->pool));
  if (p != NULL) p->refs++;
  else {
    GB_TRY(new_program(g, structure, nnodes, node, nouts, outs, &p, err));
    gb_lowered_plan_add(c, p);
  }
  *out = p;
  return gb_lowered_plan_book(p, &g->device->ledger, err);
}

static gb_status book_tables (gb_plan *p, gb_error *err) {
  const size_t nb = (size_t)p->prog->low->nbufs;
  const size_t bytes = sizeof *p + p->nnodes * sizeof *p->node +
                       nb * (4 * sizeof *p->want + sizeof *p->value + 2 * sizeof(void *));
  GB_TRY(gb_ledger_book(&p->graph->device->ledger, bytes, "a plan", err));
  p->booked = bytes;
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
  const size_t widest = (size_t)(p->prog->widest_in + p->prog->widest_out) + 1;
  p->handed = calloc(widest, sizeof *p->handed);
  p->lent = calloc(widest, sizeof *p->lent);
  return p->handed != NULL && p->lent != NULL && p->want != NULL && p->have != NULL && p->keep != NULL &&
         p->depends != NULL && p->value != NULL && p->read != NULL && p->write != NULL && p->in != NULL &&
         p->to != NULL && p->constant != NULL;
}

gb_status gb_plan_open (gb_graph *g, size_t nouts, gb_node *const *outs, gb_plan **out, gb_error *err) {
  gb_plan *p = calloc(1, sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  p->graph = g;
  uint64_t structure = 0;
  gb_status rc = gb_graph_end_lent(g, nouts, outs, err);
  if (rc == GB_OK) rc = gb_structure(g, nouts, outs, &p->node, &p->nnodes, &structure, err);
  if (rc != GB_OK) p->nnodes = 0;
  for (size_t i = 0; i < p->nnodes; i++) gb_node_ref(p->node[i]);
  if (rc == GB_OK) {
    p->out = calloc(nouts + 1, sizeof *p->out);
    if (p->out == NULL) rc = gb_fail(err, GB_ENOMEM, "no memory for a plan");
  }
  for (size_t i = 0; rc == GB_OK && i < nouts; i++) p->out[p->nouts++] = gb_node_ref(outs[i]);
  if (rc == GB_OK) rc = find_program(g, structure, p->nnodes, p->node, nouts, outs, &p->prog, err);
  if (rc == GB_OK && !alloc_tables(p)) rc = gb_fail(err, GB_ENOMEM, "no memory for a plan");
  if (rc == GB_OK) rc = book_tables(p, err);
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

void gb_plan_free (gb_plan *p) {
  if (p == NULL) return;
  gb_ledger_free(&p->graph->device->ledger, &p->arena);
  gb_ledger_unbook(&p->graph->device->ledger, p->booked);
  gb_placement_unref(p->place);
  gb_partition_free(p);
  gb_placement_unref(p->planned);
  for (int i = 0; p->lent != NULL && i < p->prog->widest_in + p->prog->widest_out; i++) free(p->lent[i]);
  for (size_t i = 0; i < p->nouts; i++) gb_node_unref(p->out[i]);
  for (size_t i = 0; i < p->nnodes; i++) gb_node_unref(p->node[i]);
  for (int s = 0; p->window != NULL && s < p->prog->low->nsteps; s++) {
    gb_window_free(&p->window[s][0]);
    gb_window_free(&p->window[s][1]);
  }
  free(p->window);
  gb_lowered_plan_unref(p->prog);
  free(p->node);
  free(p->out);
  free(p->row);
  free(p->number);
  free(p->what);
  free(p->candidate);
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
  free(p->handed);
  free(p->lent);
  free(p);
}

static void look_up_values (gb_plan *p) {
  for (int b = 0; b < p->prog->low->nbufs; b++) {
    p->want[b] = false;
    p->have[b] = gb_plan_has_value(p, b);
    p->keep[b] = true;
  }
  for (size_t i = 0; i < p->nouts; i++) /* a cache that is asked for must not give way to the rest */
    if (!gb_node_has_value(p->out[i]) || gb_cache_holds(&p->out[i]->out[0]))
      p->want[p->prog->low->out[i]] = true;
}

gb_status gb_plan_refresh (gb_plan *p, gb_error *err) {
  look_up_values(p);
  return gb_plan_choose(p, err);
}

gb_status gb_plan_new (gb_graph *g, size_t nouts, gb_node *const *outs, const gb_plan_options *o,
                       gb_plan **out, gb_error *err) {
  gb_plan *p;
  gb_cache_sweep(g);
  GB_TRY(gb_plan_open(g, nouts, outs, &p, err));
  if (o != NULL) p->options = *o;
  p->options.on = NULL; /* the caller's */
  look_up_values(p);
  gb_status rc = o == NULL ? GB_OK : gb_partition_new(p, o->ndevices, o->on, err);
  if (rc == GB_OK) rc = gb_plan_choose(p, err);
  look_up_values(p); /* what the choice means to drop is still there to be weighed */
  if (rc == GB_OK) rc = gb_plan_find_minimum(p, &p->report.minimum, err);
  if (rc == GB_OK) rc = gb_plan_fill_report(p, err);
  if (rc == GB_OK) rc = gb_partition_report(p, err);
  if (rc == GB_OK) *out = p;
  else gb_plan_free(p);
  return rc;
}

const gb_node *gb_plan_out (const gb_plan *p, size_t i) { return p->out[i]; }
void gb_plan_report_get (const gb_plan *p, gb_plan_report *r) { *r = p->report; }
const gb_lowered *gb_plan_lowered (const gb_plan *p) { return p->prog->low; }
void gb_plan_stats (const gb_plan *p, gb_run_stats *s) { *s = p->stats; }
