/* call.c - registered ops: they see tensors, and may keep counts on their inputs. */
#include <stdlib.h>
#include <string.h>

#include "plan/run/run.h"
#include "plan/structure/cache.h"

/* Takes back the storage record of an arena buffer. Where the callee kept a count the bytes move out of
** the arena, past the limit if need be: they are live whatever the limit says. False: there was no memory,
** the arena must not be freed. */
static bool unwrap (gb_storage *st, gb_ledger *l, gb_storage **lent) {
  if (st->refs > 1) {
    const gb_block lent_to_it = st->block;
    if (!gb_ledger_force(l, GB_MEM_TENSOR, lent_to_it.bytes, "", "", &st->block)) return false;
    if (gb_memory_copy(l->memory, st->block.data, lent_to_it.data, lent_to_it.bytes, NULL) != GB_OK)
      return false;
    st->refs--;
    return true;
  }
  gb_storage_drop_mirror(st);
  *lent = st;
  return true;
}

/* The arena stays live for good, and the run takes another one. */
static void leave_arena (gb_lane *l) {
  gb_block *left = l->own.data == NULL ? NULL : malloc(sizeof *left);
  if (left != NULL) gb_ledger_move(&l->device->ledger, left, &l->own);
}

/* The record is the callee's for as long as it counts it; one that an earlier call kept is replaced. */
static gb_status wrap (gb_lane *l, gb_dtype t, const gb_shape *shape, void *data, gb_storage **lent,
                       gb_tensor *out, gb_error *err) {
  gb_storage *st = *lent != NULL ? *lent : malloc(sizeof *st);
  if (st == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a storage record");
  *lent = NULL;
  *st = (gb_storage){
      .refs = 1, .block = {.data = data, .bytes = gb_shape_bytes(shape, t)}, .ledger = &l->device->ledger};
  *out = (gb_tensor){.storage = st, .dtype = t};
  return GB_OK;
}

static bool is_temporary (const gb_lane *l, int b, bool input) {
  const int home = input ? l->place->read[b] : l->place->write[b];
  return home == GB_HOME_ARENA || home == GB_HOME_SHARED;
}

/* Buffer b as the op sees it, the window at l->in or l->to where there is one: contiguous, in whatever
** shape it lies. */
static gb_status hand (gb_run *r, gb_lane *l, int b, bool input, const gb_shape *shape, const void *data,
                       gb_storage **lent, gb_tensor *t, gb_error *err) {
  const gb_dtype dtype = r->plan->prog->low->buf[b].dtype;
  if (is_temporary(l, b, input)) GB_TRY(wrap(l, dtype, shape, (void *)(uintptr_t)data, lent, t, err));
  else {
    *t = gb_tensor_ref(&r->value[b]);
    t->offset += (size_t)((const char *)data - (const char *)gb_tensor_data(t)) / gb_dtype_size(t->dtype);
  }
  t->shape = *shape;
  gb_strides_of(shape, t->stride);
  return GB_OK;
}

static gb_status hand_all (gb_run *r, gb_lane *l, const gb_step *st, const gb_opaque *o, gb_error *err) {
  const gb_node *call = r->plan->request.node[st->call_source];
  const int n = st->nin + st->nout;
  const bool window = o != &st->opaque;
  memset(r->handed, 0, (size_t)n * sizeof *r->handed);
  for (int i = 0; i < n; i++) {
    const int k = i - st->nin;
    const gb_shape *shape = k >= 0 ? &o->out_shape[k] : window ? &o->in_shape[i] : gb_node_shape(call->in[i]);
    GB_TRY(hand(r, l, k >= 0 ? st->out[k] : st->in[i], k < 0, shape, k >= 0 ? l->to[k] : l->in[i],
                &r->lent[i], &r->handed[i], err));
  }
  return GB_OK;
}

static void take_back (gb_run *r, gb_lane *l, const gb_step *st) {
  for (int i = 0; i < st->nin + st->nout; i++) {
    const int b = i < st->nin ? st->in[i] : st->out[i - st->nin];
    gb_tensor *t = &r->handed[i];
    if (t->storage == NULL) continue;
    if (!is_temporary(l, b, i < st->nin)) gb_tensor_clear(t);
    else if (!unwrap(t->storage, &l->device->ledger, &r->lent[i])) leave_arena(l);
  }
}

/* What the placement has at home for plans within the op. */
static void *memory_at_home (const gb_run *r, const gb_lane *l, const gb_step *st) {
  const gb_lowered *low = r->plan->prog->low;
  const gb_life *within = &l->place->within[st - low->step];
  return within->bytes > 0 ? r->abroad[low->home].at + within->offset : NULL;
}

static gb_status call_op (gb_run *r, gb_lane *l, const gb_step *st, const gb_opaque *o, void *scratch,
                          gb_error *err) {
  gb_graph *g = r->plan->request.graph;
  const gb_node *node = r->plan->request.node[st->call_source];
  const gb_call *call = gb_call_get((int)o->attr.i[0]);
  if (call == NULL) return gb_fail(err, GB_EINTERNAL, "op %d is not registered", (int)o->attr.i[0]);
  gb_status rc = hand_all(r, l, st, o, err);
  g->calling = node->serial;
  g->calling_where = node->where;
  g->calling_home = memory_at_home(r, l, st);
  g->plans->calls++;
  if (rc == GB_OK) rc = call->run(call->ud, g, o, r->handed, r->handed + st->nin, scratch, err);
  g->plans->calls--;
  take_back(r, l, st);
  return rc;
}

/* One op of a graph at a time: it may build nodes, evaluate and allocate. */
gb_status gb_run_call (gb_run *r, gb_lane *l, const gb_step *st, const gb_opaque *o, void *scratch,
                       gb_error *err) {
  gb_graph *g = r->plan->request.graph;
  gb_context_lock(g);
  const gb_status rc = call_op(r, l, st, o, scratch, err);
  gb_context_unlock(g);
  return rc;
}
