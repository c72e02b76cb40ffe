/* lower.c - from requested nodes to steps in an order that can run. */
#include "lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/call.h"
#include "lower/internal.h"
#include "program/schedule.h"

/* Folds */

static void *copy (const void *from, int n, int extra, size_t size) {
  void *to = calloc((size_t)(n + extra) + 1, size);
  if (to != NULL && n > 0) memcpy(to, from, (size_t)n * size);
  return to;
}

/* The first instruction of a kind; 'dst' >= 0: the one that computes this value. */
static const gb_ins *find_ins (const gb_fold *f, gb_ins_kind kind, int dst) {
  for (int i = 0; i < f->nins; i++)
    if (f->ins[i].kind == kind && (dst < 0 || f->ins[i].dst == dst)) return &f->ins[i];
  return NULL;
}

/* A fold is named after its first profile and the front below that, else after its first front; other
** fronts, such as the products of cotangents in a merged traversal, have features of their own. */
static const char *name_fold (const gb_fold *f, size_t *features) {
  static const char *const names[GB_NPROFILES] = {"rbf", "matern12", "matern32", "matern52",
                                                  "rational quadratic"};
  const gb_ins *radial = find_ins(f, GB_INS_RADIAL, -1);
  const int below = radial != NULL ? radial->a : -1;
  const gb_ins *distance = find_ins(f, GB_INS_SQDIST, below), *dot = find_ins(f, GB_INS_DOT, below);
  const gb_ins *front = distance != NULL ? distance : dot;
  *features = front != NULL ? f->axis[front->axis].extent : 0;
  if (radial != NULL) return names[radial->profile];
  return distance != NULL ? "squared distance" : dot != NULL ? "dot" : "elementwise";
}

/* Right-hand sides of the widest contraction. */
static size_t count_columns (const gb_fold *f) {
  size_t most = 1;
  for (int i = 0; i < f->nouts; i++) {
    const gb_out *o = &f->out[i];
    if (o->kind == GB_OUT_CONTRACT && o->axis >= 0 && f->axis[o->axis].extent > most)
      most = f->axis[o->axis].extent;
  }
  return most;
}

static char *describe_fold (const gb_fold *f, const gb_draft *d) {
  char text[160];
  size_t features;
  bool reduces = false;
  for (int i = 0; i < f->nouts; i++) reduces |= f->out[i].reduced != 0;
  const char *what = name_fold(f, &features);
  const size_t columns = count_columns(f);
  int used = snprintf(text, sizeof text, "%s %s", reduces ? "fold" : "map", what);
  if (features > 0) used += snprintf(text + used, sizeof text - (size_t)used, " d=%zu", features);
  if (columns > 1) used += snprintf(text + used, sizeof text - (size_t)used, " r=%zu", columns);
  if (f->symmetric) used += snprintf(text + used, sizeof text - (size_t)used, " symmetric");
  if (d->nroots > 1) used += snprintf(text + used, sizeof text - (size_t)used, ", %d results", d->nroots);
  const char *name = d->root->node->name;
  if (*name != '\0') snprintf(text + used, sizeof text - (size_t)used, ": %s", name);
  return strdup(text);
}

static gb_fold_axis axis_of (const gb_emitter *e, const gb_schedule *s, int a) {
  const bool inside = (e->features | e->d->columns | e->inner) >> a & 1;
  return (gb_fold_axis){.extent = e->extent[a],
                        .role = a == s->lane   ? GB_AXIS_LANE
                                : a == s->tile ? GB_AXIS_TILE
                                : inside       ? GB_AXIS_INNER
                                               : GB_AXIS_OUTER,
                        .chain = s->chain[a]};
}

/* The program as it has been written so far, for the device to schedule. */
static void schedule (const gb_emitter *e, gb_schedule *out) {
  gb_fold f = {.compute = e->compute,
               .naxes = e->naxes,
               .noperands = e->noperands,
               .nins = e->scope[0].n,
               .nouts = e->nouts,
               .nvalues = e->nvalues,
               .nconstants = e->nconstants,
               .operand = e->operand,
               .ins = e->scope[0].ins,
               .out = e->out};
  for (int a = 0; a < e->naxes; a++) f.axis[a] = axis_of(e, &(gb_schedule){.lane = -1, .tile = -1}, a);
  gb_schedule_of(gb_graph_device(e->s->graph, e->d->root->node->device), &f, out);
}

static bool take_program (gb_emitter *e, const gb_schedule *s, gb_fold *f) {
  f->compute = e->compute;
  f->naxes = e->naxes;
  f->noperands = e->noperands;
  f->nins = e->scope[0].n;
  f->nouts = e->nouts;
  f->nvalues = e->nvalues;
  f->nconstants = e->nconstants;
  f->operand = copy(e->operand, e->noperands, e->nouts, sizeof *e->operand);
  f->ins = copy(e->scope[0].ins, f->nins, 0, sizeof *f->ins);
  f->out = copy(e->out, e->nouts, 0, sizeof *e->out);
  for (int a = 0; a < e->naxes; a++) f->axis[a] = axis_of(e, s, a);
  return f->operand != NULL && f->ins != NULL && f->out != NULL;
}

static bool take_lists (const gb_emitter *e, gb_step *st) {
  st->nin = e->nslots;
  st->nout = e->nout_slots;
  st->nconstants = e->nconstants;
  st->in = copy(e->slot, e->nslots, 0, sizeof *e->slot);
  st->out = copy(e->out_slot, e->nout_slots, 0, sizeof *e->out_slot);
  st->constant = copy(e->constant, e->nconstants, 0, sizeof *e->constant);
  st->full_numel = e->full_numel < (double)(SIZE_MAX / 2) ? (size_t)e->full_numel : SIZE_MAX;
  st->full_where = e->full != NULL ? e->full->where : "";
  return st->in != NULL && st->out != NULL && st->constant != NULL;
}

/* Only what is never stored counts as streamed: a region whose largest value is also its result hides
** nothing. */
static void drop_visible (const gb_draft *d, gb_step *st) {
  for (int i = 0; i < d->nroots; i++)
    if (gb_shape_numel(gb_node_shape(d->root[i].node)) >= st->full_numel) st->full_numel = 0;
  if (st->full_numel == 0) st->full_where = "";
}

/* The program that the draft has, which was written before its results had buffers; or a new one. */
static gb_status write_program (gb_lower_state *s, gb_draft *d, gb_emitter *e) {
  if (d->written == NULL) {
    gb_emitter_init(e, s, d, 0);
    return gb_emit_draft(e);
  }
  *e = *d->written;
  free(d->written);
  d->written = NULL;
  e->d = d; /* drafts have moved since */
  gb_emit_number_outputs(e);
  return GB_OK;
}

static gb_status take_step (gb_emitter *e, const gb_schedule *how, gb_step *st) {
  gb_lower_state *s = e->s;
  st->is_fold = true;
  if (take_program(e, how, &st->fold) && take_lists(e, st)) {
    if (how->symmetric) gb_mark_symmetric(e, how->lane, how->tile, &st->fold);
    st->fold.identity = gb_fold_identity(&st->fold);
    drop_visible(e->d, st);
    st->what = describe_fold(&st->fold, e->d);
  }
  return st->what != NULL ? GB_OK : gb_fail(s->err, GB_ENOMEM, "no memory for a program");
}

/* Where loops run inside tiles the program is written again, with what is common outside of them. */
static gb_status write_fold (gb_lower_state *s, gb_draft *d, gb_step *st) {
  gb_emitter e;
  gb_schedule how = {0};
  gb_status rc = write_program(s, d, &e);
  if (rc == GB_OK) {
    gb_join_axes(&e);
    schedule(&e, &how);
    if (how.inner != 0) {
      gb_emitter_clear(&e);
      gb_emitter_init(&e, s, d, how.inner);
      rc = gb_emit_draft(&e);
    }
  }
  if (rc == GB_OK) rc = take_step(&e, &how, st);
  gb_emitter_clear(&e);
  return rc;
}

/* Opaque calls */

static gb_status write_opaque (gb_lower_state *s, const gb_draft *d, gb_step *st) {
  const gb_node *n = d->opaque;
  gb_opaque *o = &st->opaque;
  o->op = n->op == GB_OP_MATMUL ? GB_OP_GEMM : n->op;
  o->attr = n->attr;
  o->nin = n->nin;
  o->nout = n->nout;
  const gb_device *dev = gb_graph_device(s->graph, n->device);
  o->unit = dev->ops != NULL ? dev->ops->block : 0;
  if (o->unit == 0) o->unit = GB_BLOCK;
  o->grown = n->nin > 0 && (n->in[0]->flags & GB_NODE_GROWN) != 0;
  size_t *extent = NULL;
  for (int i = 0; i < n->nin && i < 4; i++) {
    o->in_dtype[i] = gb_node_dtype(n->in[i]);
    o->in_shape[i] = *gb_node_shape(n->in[i]);
  }
  for (int k = 0; k < n->nout; k++) {
    o->out_dtype[k] = n->out[k].dtype;
    o->out_shape[k] = n->out[k].shape;
  }
  if (n->op == GB_OP_CAT) {
    extent = calloc((size_t)n->nin + 1, sizeof *extent);
    for (int i = 0; extent != NULL && i < n->nin; i++) extent[i] = gb_node_shape(n->in[i])->dim[n->attr.i[0]];
    o->extent = extent;
  }
  st->call_source = n->index;
  st->nin = d->nin;
  st->nout = n->nout;
  st->in = copy(d->in, d->nin, 0, sizeof *d->in);
  st->out = calloc((size_t)n->nout + 1, sizeof *st->out);
  st->full_where = "";
  for (int k = 0; st->out != NULL && k < n->nout; k++)
    st->out[k] = s->buf_of[n->index * GB_MAX_OUTPUTS + (size_t)k];
  const gb_call *call = o->op == GB_OP_CALL && !*n->name ? gb_call_get((int)n->attr.i[0]) : NULL;
  const char *name = call != NULL ? call->name : n->name;
  char text[160];
  snprintf(text, sizeof text, "%s%s%s", gb_ops[o->op].name, *name ? ": " : "", name);
  st->what = strdup(text);
  if (st->in != NULL && st->out != NULL && st->what != NULL && (n->op != GB_OP_CAT || extent != NULL))
    return GB_OK;
  return gb_fail(s->err, GB_ENOMEM, "no memory for a step");
}

/* Order */

/* Position of each surviving draft, dependencies first, otherwise as asked for. */
static gb_status sort_drafts (const gb_lower_state *s, int *order, int *count) {
  int *maker = malloc(((size_t)s->nbufs + 1) * sizeof *maker);
  bool *done = calloc((size_t)s->ndrafts + 1, sizeof *done);
  *count = 0;
  if (maker != NULL && done != NULL) {
    gb_find_makers(s, maker);
    for (bool moved = true; moved;) {
      moved = false;
      for (int d = 0; d < s->ndrafts; d++) {
        const gb_draft *dr = &s->draft[d];
        bool ready = !done[d] && dr->merged_into < 0;
        for (int i = 0; ready && i < dr->nin; i++) ready = maker[dr->in[i]] < 0 || done[maker[dr->in[i]]];
        if (!ready) continue;
        done[d] = moved = true;
        order[(*count)++] = d;
      }
    }
  }
  const bool ok = maker != NULL && done != NULL;
  free(maker);
  free(done);
  return ok ? GB_OK : gb_fail(s->err, GB_ENOMEM, "no memory to order %d steps", s->ndrafts);
}

static gb_status write_steps (gb_lower_state *s, gb_lowered *low) {
  int *order = malloc(((size_t)s->ndrafts + 1) * sizeof *order), count = 0;
  if (order == NULL) return gb_fail(s->err, GB_ENOMEM, "no memory to order %d steps", s->ndrafts);
  gb_status rc = sort_drafts(s, order, &count);
  s->sealed = true;
  low->step = calloc((size_t)count + 1, sizeof *low->step);
  if (rc == GB_OK && low->step == NULL) rc = gb_fail(s->err, GB_ENOMEM, "no memory for %d steps", count);
  for (int i = 0; rc == GB_OK && i < count; i++) {
    gb_draft *d = &s->draft[order[i]];
    gb_step *st = &low->step[low->nsteps++];
    rc = d->opaque != NULL ? write_opaque(s, d, st) : write_fold(s, d, st);
    st->device = st->asked = d->opaque != NULL ? d->opaque->device : d->root->node->device;
  }
  free(order);
  return rc;
}

/* Requests */

static gb_status request (gb_lower_state *s, size_t nouts, gb_node *const *outs, gb_lowered *low) {
  low->out = calloc(nouts + 1, sizeof *low->out);
  if (low->out == NULL) return gb_fail(s->err, GB_ENOMEM, "no memory for %zu results", nouts);
  /* Stored values in order first, so that requests do not nest deeply. */
  gb_status rc = GB_OK;
  for (size_t i = 0; rc == GB_OK && i < s->count; i++)
    if (s->decision[i].stored && !gb_is_leaf(s->order[i])) gb_need(s, s->order[i], 0, &rc);
  for (size_t i = 0; rc == GB_OK && i < nouts; i++) low->out[low->nouts++] = gb_need(s, outs[i], 0, &rc);
  return rc;
}

static void mark_outputs (gb_lowered *low) {
  for (int i = 0; i < low->nouts; i++)
    if (low->buf[low->out[i]].cls != GB_BUF_LEAF) low->buf[low->out[i]].cls = GB_BUF_OUTPUT;
}

static void count_devices (gb_lowered *low) {
  low->ndevices = 1;
  for (int b = 0; b < low->nbufs; b++)
    if (low->buf[b].device >= low->ndevices) low->ndevices = low->buf[b].device + 1;
}

static void clear_state (gb_lower_state *s) {
  for (int i = 0; i < s->ndrafts; i++) gb_draft_clear(&s->draft[i]);
  free(s->draft);
  free(s->decision);
  free(s->buf_of);
}

static gb_status find_buffers (gb_lower_state *s) {
  const size_t n = s->count * GB_MAX_OUTPUTS;
  s->buf_of = malloc((n + 1) * sizeof *s->buf_of);
  if (s->buf_of == NULL) return gb_fail(s->err, GB_ENOMEM, "no memory to lower %zu nodes", s->count);
  for (size_t i = 0; i < n; i++) s->buf_of[i] = -1;
  return GB_OK;
}

gb_status gb_lower (gb_graph *g, size_t nouts, gb_node *const *outs, gb_lowered **out, gb_error *err) {
  gb_order o = {0};
  GB_TRY(gb_structure(g, nouts, outs, &o, err));
  const gb_status rc = gb_lower_ordered(g, &o, nouts, outs, NULL, out, err);
  free(o.node);
  return rc;
}

gb_status gb_lower_ordered (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                            const bool *inlined, gb_lowered **out, gb_error *err) {
  gb_lower_state s = {.graph = g, .order = o->node, .count = o->count, .inlined = inlined, .err = err};
  gb_lowered *low = calloc(1, sizeof *low);
  if (low == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  gb_status rc = gb_decide(&s, nouts, outs);
  if (rc == GB_OK) rc = find_buffers(&s);
  if (rc == GB_OK) rc = request(&s, nouts, outs, low);
  if (rc == GB_OK) rc = gb_merge_drafts(&s);
  if (rc == GB_OK) rc = write_steps(&s, low);
  low->structure = o->structure;
  low->nnodes = s.count;
  low->buf = s.buf;
  low->nbufs = s.nbufs;
  clear_state(&s);
  if (rc != GB_OK) {
    gb_lowered_free(low);
    return rc;
  }
  mark_outputs(low);
  count_devices(low);
  *out = low;
  return GB_OK;
}

void gb_lowered_free (gb_lowered *l) {
  if (l == NULL) return;
  for (int i = 0; i < l->nsteps; i++) {
    gb_step *st = &l->step[i];
    free(st->fold.operand);
    free(st->fold.ins);
    free(st->fold.out);
    free((void *)(uintptr_t)st->opaque.extent);
    free(st->in);
    free(st->out);
    free(st->constant);
    free((void *)(uintptr_t)st->what);
  }
  free(l->step);
  free(l->buf);
  free(l->out);
  free(l);
}
