/* run.c - commit and execution: every byte of a run is bound before its first step, and no step allocates. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "plan/parts.h"

static alignas(64) char nothing[64]; /* where buffers of no bytes lie */

/* binding: what exists before the run */

gb_status gb_plan_unbound (const gb_node *n, gb_error *err) {
  char text[GB_NODE_TEXT];
  if ((n->flags & GB_NODE_LENT) != 0)
    return gb_fail(err, GB_ECLOSED, "%s was lent for the time of a call, which is over",
                   gb_node_text(n, text));
  if ((n->flags & GB_NODE_TRACED) != 0)
    return gb_fail(err, GB_EOPTION, "%s is observed inside a trace, where it stands for one slice",
                   gb_node_text(n, text));
  if ((n->flags & GB_NODE_PROMISE) != 0)
    return gb_fail(err, GB_EOPTION,
                   "%s is not computed yet, and cannot be where it is looked at: eval() it before",
                   gb_node_text(n, text));
  return gb_fail(err, GB_EOPTION, "%s has no value: gb.empty gives a shape to plan with",
                 gb_node_text(n, text));
}

static gb_status bind_value (gb_plan *p, int b, gb_error *err) {
  const gb_buf *buf = &p->prog->low->buf[b];
  gb_tensor *t = &p->value[b];
  if (t->storage == NULL) *t = gb_tensor_ref(&gb_plan_value(p, b)->tensor);
  if (t->storage == NULL) return gb_plan_unbound(p->node[buf->source], err);
  if (buf->cls != GB_BUF_LEAF && t->storage->block.purpose == GB_MEM_CACHE)
    gb_cache_touch(p->graph, p->node[buf->source], buf->output);
  p->read[b] = gb_tensor_data(t);
  return GB_OK;
}

/* What running steps read, and wanted leaves and values. */
static gb_status bind_values (gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++)
    if (p->place->read[b] == GB_HOME_VALUE) GB_TRY(bind_value(p, b, err));
  for (int i = 0; i < low->nouts; i++)
    if (p->want[low->out[i]] && p->place->write[low->out[i]] != GB_HOME_OUTPUT)
      GB_TRY(bind_value(p, low->out[i], err));
  return GB_OK;
}

/* committing: what the run makes */

static bool has_storage (const gb_plan *p, int b) {
  return p->place->write[b] == GB_HOME_OUTPUT || p->place->write[b] == GB_HOME_CACHE;
}

static gb_status new_storage (gb_plan *p, int b, gb_error *err) {
  const gb_buf *buf = &p->prog->low->buf[b];
  const gb_purpose purpose = p->place->write[b] == GB_HOME_CACHE ? GB_MEM_CACHE : GB_MEM_TENSOR;
  return gb_tensor_new(&p->graph->device->ledger, buf->dtype, &buf->shape, purpose, gb_plan_where(p, b),
                       gb_plan_name(p, b), &p->value[b], err);
}

static bool wants_arena (const gb_plan *p, const void *given) {
  return given == NULL && (p->arena.data == NULL || p->arena.bytes < p->place->arena);
}

static gb_status commit_arena (gb_plan *p, gb_error *err) {
  gb_ledger *l = &p->graph->device->ledger;
  if (!wants_arena(p, NULL)) return GB_OK;
  gb_ledger_free(l, &p->arena);
  if (p->place->arena == 0) return GB_OK;
  return gb_ledger_alloc(l, GB_MEM_ARENA, p->place->arena, "", "arena", &p->arena, err);
}

/* Makes room for the whole run at once: after this only the system can refuse. */
static gb_status reserve (gb_plan *p, const void *arena, gb_error *err) {
  const gb_ledger *l = &p->graph->device->ledger;
  size_t bytes = wants_arena(p, arena) ? p->place->arena : 0;
  for (int b = 0; b < p->place->nbufs; b++)
    if (has_storage(p, b) && p->value[b].storage == NULL)
      bytes = gb_add_sizes(bytes, p->prog->low->buf[b].bytes);
  p->stats.predicted = bytes;
  if (gb_make_room(p->graph, bytes)) return GB_OK;
  char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  gb_fail(err, GB_ENOMEM, "the %s that the plan counts on are not free: %s in use, limit %s",
          gb_bytes_text(bytes, need), gb_bytes_text(l->used, used), gb_bytes_text(l->limit, limit));
  if (err != NULL) err->need = bytes, err->have = l->limit > l->used ? l->limit - l->used : 0;
  return GB_ENOMEM;
}

static bool calls (const gb_plan *p) {
  for (int s = 0; s < p->place->nsteps; s++)
    if (p->place->runs[s] && !p->prog->low->step[s].is_fold && p->prog->low->step[s].opaque.op == GB_OP_CALL)
      return true;
  return false;
}

/* Records, not bytes of tensors: entries for the caches, storages that registered ops see. */
static gb_status reserve_records (gb_plan *p, gb_error *err) {
  size_t caches = 0;
  bool ok = true;
  for (int b = 0; b < p->place->nbufs; b++) caches += p->place->write[b] == GB_HOME_CACHE;
  for (int i = 0; calls(p) && ok && i < p->prog->widest_in + p->prog->widest_out; i++) {
    if (p->lent[i] == NULL) p->lent[i] = malloc(sizeof *p->lent[i]);
    ok = p->lent[i] != NULL;
  }
  ok = ok && gb_cache_reserve(p->graph, caches);
  return ok ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for the records of a run");
}

static gb_status commit (gb_plan *p, void **arena, gb_error *err) {
  const gb_placement *pl = p->place;
  GB_TRY(reserve_records(p, err));
  for (int b = 0; b < pl->nbufs; b++)
    if (has_storage(p, b) && p->value[b].storage == NULL) GB_TRY(new_storage(p, b, err));
  if (*arena == NULL) {
    GB_TRY(commit_arena(p, err));
    *arena = p->arena.data != NULL ? p->arena.data : nothing;
  }
  for (int b = 0; b < pl->nbufs; b++) {
    if (pl->write[b] == GB_HOME_NONE) continue;
    int at = b;
    while (pl->into[at] >= 0) at = pl->into[at];
    p->write[b] = has_storage(p, at) ? gb_tensor_data(&p->value[at]) : (char *)*arena + pl->life[at].offset;
    if (pl->read[b] != GB_HOME_VALUE) p->read[b] = p->write[b];
  }
  return GB_OK;
}

/* Room for folds cut down to a window or a tile: execution itself allocates nothing. */
static gb_status make_windows (gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  bool ok = true;
  for (int s = 0; ok && s < low->nsteps; s++) {
    const bool tiles = gb_packed_store(p->place, p->prog->packed_factor, p->prog->npacked_factors, s) != NULL;
    const bool nested = p->place->nest != NULL && (p->place->nest->inside[s] || p->place->nest->root[s] >= 0);
    const bool parts = nested || gb_is_within(p->place->tiling, s) || gb_sums_in_grains(p->place, s);
    if (!low->step[s].is_fold || !(tiles || parts)) continue;
    if (p->window == NULL) p->window = calloc((size_t)low->nsteps + 1, sizeof *p->window);
    ok = p->window != NULL;
    for (int k = 0; ok && k < 2; k++)
      if (p->window[s][k].operand == NULL) ok = gb_window_room(&p->window[s][k], &low->step[s].fold);
  }
  return ok ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to cut a plan of %d steps", low->nsteps);
}

/* registered ops: they see tensors, and may keep counts on their inputs */

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
  *lent = st;
  return true;
}

/* The arena stays live for good, and the plan takes another one. */
static void leave_arena (gb_plan *p) {
  gb_block *left = p->arena.data == NULL ? NULL : malloc(sizeof *left);
  if (left != NULL) gb_ledger_move(&p->graph->device->ledger, left, &p->arena);
}

/* The record is the callee's for as long as it counts it; one that an earlier call kept is made anew. */
static gb_status wrap (const gb_plan *p, int b, const gb_shape *shape, void *data, gb_storage **lent,
                       gb_tensor *out, gb_error *err) {
  const gb_dtype t = p->prog->low->buf[b].dtype;
  gb_storage *st = *lent != NULL ? *lent : malloc(sizeof *st);
  if (st == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a storage record");
  *lent = NULL;
  *st = (gb_storage){.refs = 1,
                     .block = {.data = data, .bytes = gb_shape_bytes(shape, t)},
                     .ledger = &p->graph->device->ledger};
  *out = (gb_tensor){.storage = st, .dtype = t};
  return GB_OK;
}

static bool is_temporary (const gb_plan *p, int b, bool input) {
  const int home = input ? p->place->read[b] : p->place->write[b];
  return home == GB_HOME_ARENA || home == GB_HOME_SHARED;
}

/* Buffer b as the op sees it, the window at p->in or p->to where there is one: contiguous, in whatever
** shape it lies. */
static gb_status hand (gb_plan *p, int b, bool input, const gb_shape *shape, const void *data,
                       gb_storage **lent, gb_tensor *t, gb_error *err) {
  if (is_temporary(p, b, input)) GB_TRY(wrap(p, b, shape, (void *)(uintptr_t)data, lent, t, err));
  else {
    *t = gb_tensor_ref(&p->value[b]);
    t->offset += (size_t)((const char *)data - (const char *)gb_tensor_data(t)) / gb_dtype_size(t->dtype);
  }
  t->shape = *shape;
  gb_strides_of(shape, t->stride);
  return GB_OK;
}

static gb_status run_call (gb_plan *p, const gb_step *st, const gb_opaque *o, void *scratch, gb_error *err) {
  const gb_call *call = gb_call_get((int)o->attr.i[0]);
  if (call == NULL) return gb_fail(err, GB_EINTERNAL, "op %d is not registered", (int)o->attr.i[0]);
  const int n = st->nin + st->nout;
  const bool window = o != &st->opaque;
  gb_tensor *t = p->handed;
  gb_status rc = GB_OK;
  memset(t, 0, (size_t)n * sizeof *t);
  for (int i = 0; rc == GB_OK && i < n; i++) {
    const int k = i - st->nin;
    const gb_shape *shape = k >= 0   ? &o->out_shape[k]
                            : window ? &o->in_shape[i]
                                     : gb_node_shape(p->node[st->call_source]->in[i]);
    rc = hand(p, k >= 0 ? st->out[k] : st->in[i], k < 0, shape, k >= 0 ? p->to[k] : p->in[i], &p->lent[i],
              &t[i], err);
  }
  p->graph->calling = p->node[st->call_source]->serial;
  p->graph->calling_where = p->node[st->call_source]->where;
  if (rc == GB_OK) rc = call->run(call->ud, p->graph, o, t, t + st->nin, scratch, err);
  for (int i = 0; i < n; i++) {
    const int b = i < st->nin ? st->in[i] : st->out[i - st->nin];
    if (t[i].storage == NULL) continue;
    if (!is_temporary(p, b, i < st->nin)) gb_tensor_clear(&t[i]);
    else if (!unwrap(t[i].storage, &p->graph->device->ledger, &p->lent[i])) leave_arena(p);
  }
  return rc;
}

/* executing */

/* A bound number in the compute type; a bool goes with any. */
static gb_number number_of (const gb_node *n, gb_dtype compute) {
  if (compute != GB_I64) return (gb_number){.f = n->attr.f[0]};
  return (gb_number){.i = gb_node_dtype(n) == GB_I64 ? n->attr.i[0] : (int64_t)n->attr.f[0]};
}

/* Addresses and numbers of step s. */
static void take_operands (gb_plan *p, int s) {
  const gb_step *st = &p->prog->low->step[s];
  for (int i = 0; i < st->nin; i++) p->in[i] = p->read[st->in[i]];
  for (int i = 0; i < st->nout; i++) p->to[i] = p->write[st->out[i]];
  for (int i = 0; i < st->nconstants; i++)
    p->constant[i] = number_of(p->node[st->constant[i]], st->fold.compute);
}

/* One part of a fold: a window of the loop, a piece of its grains, both, or all of it. */
static gb_status run_fold_part (gb_plan *p, int s, const gb_window *grain, const gb_window *window,
                                void *arena, gb_error *err) {
  const gb_placement *pl = p->place;
  const gb_window *sum = gb_sums_in_grains(pl, s) && grain != NULL      ? grain
                         : window != NULL && pl->tiling->cut[s].reduces ? window
                                                                        : NULL;
  const gb_fold *f = gb_fold_of_part(p->window[s], p->prog->low, pl, s, grain, window);
  gb_carry carry = {.state = (char *)arena + pl->state[s].offset};
  gb_fold_stats stats = {0};
  if (sum != NULL) carry.first = sum->lo == 0, carry.last = sum->lo + sum->n == sum->extent;
  GB_TRY(p->on->ops->fold_part(p->on, f, p->in, p->to, p->constant, sum == NULL ? NULL : &carry,
                               (char *)arena + pl->scratch[s].offset, &stats, err));
  p->stats.pairs += stats.pairs;
  return GB_OK;
}

/* A fold, or a window of it, with its sums over a batch in pieces. What a piece of a window reads of a
** compact buffer lies at the piece's place in the window. */
static gb_status run_fold_parts (gb_plan *p, int s, const gb_window *at, void *arena, gb_error *err) {
  const gb_placement *pl = p->place;
  const bool sums = gb_sums_in_grains(pl, s), same = at != NULL && pl->tiling == pl->grains;
  const size_t lo = same ? at->lo : 0, end = same ? at->lo + at->n : sums ? pl->grains->extent : 1;
  if (!sums) GB_TRY(run_fold_part(p, s, NULL, at, arena, err));
  for (size_t from = lo; sums && from < end; from += pl->grains->grain) {
    const size_t n = end - from < pl->grains->grain ? end - from : pl->grains->grain;
    gb_window piece = {from, n, from, n, pl->grains->extent};
    if (same) piece.base = at->base, piece.held = at->held;
    GB_TRY(run_fold_part(p, s, same ? NULL : &piece, same ? &piece : at, arena, err));
  }
  p->stats.folds++;
  return GB_OK;
}

/* Address of the window within what exists whole; a compact buffer is the window. */
static const void *shifted (const gb_plan *p, const void *base, int b, const gb_shape *shape, int dim,
                            gb_window at) {
  if (dim < 0 || p->place->compact[b]) return base;
  return (const char *)base +
         gb_elements_apart(shape, dim) * at.lo * gb_dtype_size(p->prog->low->buf[b].dtype);
}

static gb_status run_opaque_window (gb_plan *p, int s, gb_window at, void *arena, gb_error *err) {
  const gb_step *st = &p->prog->low->step[s];
  const gb_cut *c = &p->place->tiling->cut[s];
  const gb_opaque o = gb_opaque_of_part(p->prog->low, p->place, s, &at);
  for (int i = 0; i < st->nin; i++) {
    const gb_shape shape = gb_opaque_operand(&st->opaque, i);
    p->in[i] = shifted(p, p->in[i], st->in[i], &shape, gb_cut_operand(c, i), at);
  }
  for (int k = 0; k < st->nout; k++)
    p->to[k] =
        (void *)(uintptr_t)shifted(p, p->to[k], st->out[k], &st->opaque.out_shape[k], c->out_dim[k], at);
  void *scratch = (char *)arena + p->place->scratch[s].offset;
  p->stats.opaques++;
  if (o.op == GB_OP_CALL) return run_call(p, st, &o, scratch, err);
  return p->on->ops->opaque(p->on, &o, p->in, p->to, scratch, err);
}

/* The lower tiles of a matrix, each a fold of its own. */
static gb_status run_fold_tiles (gb_plan *p, const gb_packed_factor *t, void *arena, gb_error *err) {
  gb_device *dev = p->graph->device;
  const size_t blocks = gb_blocks(p->prog->low->buf[t->matrix].shape.dim[0], GB_BLOCK);
  gb_fold_stats stats = {0};
  for (size_t i = 0; i < blocks; i++)
    for (size_t j = 0; j <= i; j++) {
      const gb_fold *f = gb_window_of_tile(p->window[t->store], p->prog->low, t, i, j);
      GB_TRY(dev->ops->fold(dev, f, p->in, p->to, p->constant,
                            (char *)arena + p->place->scratch[t->store].offset, &stats, err));
      p->stats.pairs += stats.pairs;
    }
  p->stats.folds++;
  return GB_OK;
}

static gb_status run_node (gb_plan *p, int k, gb_range asked, void *arena, gb_error *err);

static gb_status run_reads (gb_plan *p, int k, int from, int to, gb_range window, void *arena,
                            gb_error *err) {
  const gb_nest_node *n = &p->place->nest->node[k];
  for (int i = from; i < to; i++)
    if (p->place->compact[n->read[i].buf])
      GB_TRY(run_node(p, n->read[i].node, gb_nest_needs(&n->read[i], window), arena, err));
  return GB_OK;
}

/* What a node makes and holds lies where the placement says; readers find windows where their nodes hold
** them. */
static gb_nest_room bind_node (gb_plan *p, int k, const void *arena) {
  const gb_placement *pl = p->place;
  const gb_nest_node *n = &pl->nest->node[k];
  gb_nest_room room = pl->room[k];
  take_operands(p, n->step);
  if (n->made.cut) p->to[0] = (char *)(uintptr_t)arena + room.result.offset;
  else room.scratch = pl->scratch[n->step], room.state = pl->state[n->step];
  for (int i = 0; i < n->nreads; i++) {
    const gb_step *st = &p->prog->low->step[n->step];
    for (int q = 0; q < st->nin; q++)
      if (st->in[q] == n->read[i].buf && pl->compact[st->in[q]])
        p->in[q] = (const char *)arena + pl->room[n->read[i].node].result.offset;
  }
  return room;
}

static gb_status run_node_part (gb_plan *p, int k, gb_nest_part at, void *arena, gb_error *err) {
  const gb_nest_node *n = &p->place->nest->node[k];
  gb_fold_stats stats = {0};
  const gb_nest_room room = bind_node(p, k, arena);
  const gb_fold *f = gb_nest_fold(p->window[n->step], p->prog->low, p->place->nest, p->place->compact, k, at);
  const gb_carry carry = {.state = (char *)arena + room.state.offset,
                          .first = at.own.lo == 0 && at.turn == 0,
                          .last = at.own.lo + at.own.n == n->extent && at.turn + 1 == n->nturns};
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  if (p->watched) gb_memcheck_before(p, arena);
  GB_TRY(p->on->ops->fold_part(p->on, f, p->in, p->to, p->constant, n->own.reduces ? &carry : NULL,
                               (char *)arena + room.scratch.offset, &stats, err));
  if (p->watched) gb_memcheck_node(p, n->step, &room, arena);
  p->stats.pairs += stats.pairs;
  p->stats.folds++;
  return GB_OK;
}

static void end_reads (gb_plan *p, int k, int from, void *arena) {
  const gb_nest_node *n = &p->place->nest->node[k];
  for (int i = from; p->watched && i < n->nreads; i++)
    if (p->place->compact[n->read[i].buf]) gb_memcheck_consumed(p, n->read[i].node, arena);
}

/* The range of its result that is asked for, in windows of its own. */
static gb_status run_node (gb_plan *p, int k, gb_range asked, void *arena, gb_error *err) {
  const gb_nest_node *n = &p->place->nest->node[k];
  const size_t rows = gb_nest_window(n, p->place->rows);
  GB_TRY(run_reads(p, k, 0, n->nbefore, asked, arena, err));
  if (!n->own.cut) GB_TRY(run_node_part(p, k, (gb_nest_part){.asked = asked}, arena, err));
  for (size_t turn = 0; n->own.cut && turn < n->nturns; turn++)
    for (size_t lo = 0; lo < n->extent; lo += rows) {
      const gb_range own = {lo, n->extent - lo < rows ? n->extent - lo : rows};
      GB_TRY(run_reads(p, k, n->nbefore, n->nreads, own, arena, err));
      GB_TRY(run_node_part(p, k, (gb_nest_part){asked, own, turn}, arena, err));
      end_reads(p, k, n->nbefore, arena);
      if (!n->made.cut) p->stats.windows++;
    }
  end_reads(p, k, 0, arena);
  return GB_OK;
}

static gb_status run_step (gb_plan *p, int s, const gb_window *at, void *arena, gb_error *err) {
  const gb_packed_factor *packed_factor =
      gb_packed_store(p->place, p->prog->packed_factor, p->prog->npacked_factors, s);
  const gb_step *st = &p->prog->low->step[s];
  gb_device *dev = p->on;
  void *scratch = (char *)arena + p->place->scratch[s].offset;
  if (gb_step_is_idle(p->prog->low, st)) return GB_OK;
  take_operands(p, s);
  if (at != NULL)
    return st->is_fold ? run_fold_parts(p, s, at, arena, err) : run_opaque_window(p, s, *at, arena, err);
  if (packed_factor != NULL) return run_fold_tiles(p, packed_factor, arena, err);
  if (st->is_fold && gb_sums_in_grains(p->place, s)) return run_fold_parts(p, s, NULL, arena, err);
  if (st->is_fold) {
    gb_fold_stats stats = {0};
    GB_TRY(dev->ops->fold(dev, &st->fold, p->in, p->to, p->constant, scratch, &stats, err));
    p->stats.folds++;
    p->stats.pairs += stats.pairs;
    return GB_OK;
  }
  p->stats.opaques++;
  if (st->opaque.op == GB_OP_CALL) return run_call(p, st, &st->opaque, scratch, err);
  const gb_opaque o = gb_opaque_of_part(p->prog->low, p->place, s, NULL);
  return dev->ops->opaque(dev, &o, p->in, p->to, scratch, err);
}

/* Says what failed by its name, where it has one, and which line of the script asked for it, unless the
** text does. */
static void add_line (const gb_plan *p, int s, gb_status rc, gb_error *err) {
  if (err == NULL || rc == GB_EINTR || rc == GB_ECALLBACK) return;
  const int b = p->prog->low->step[s].out[0];
  const char *where = gb_plan_where(p, b), *name = p->node[p->prog->low->buf[b].source]->name;
  const size_t used = strlen(err->text), room = sizeof err->text - used;
  if (*where == '\0' || strstr(err->text, where) != NULL) return;
  char more[sizeof err->text];
  const int n = snprintf(more, sizeof more, " (%s%s%s)", name, *name != '\0' ? ", " : "", where);
  if (n > 0 && (size_t)n < room) memcpy(err->text + used, more, (size_t)n + 1);
}

/* Values of a plan that may sum in other pieces never stand in for those of one that may not. */
static uint64_t signature (const gb_plan *p, int b) {
  const uint64_t made = p->prog->arithmetic[b];
  return p->options.math ? ~made : made;
}

static void set_value (gb_plan *p, int b) {
  gb_value *v = gb_plan_value(p, b);
  gb_measure_note(p->graph, p->node[p->prog->low->buf[b].source], p->prog->low->buf[b].output);
  v->tensor = gb_tensor_ref(&p->value[b]);
  v->arithmetic = signature(p, b);
  p->node[p->prog->low->buf[b].source]->depth = 0;
}

/* A finished cache value outlives a failure of a later step. */
static void keep_caches (gb_plan *p, int s, double seconds) {
  const gb_step *st = &p->prog->low->step[s];
  for (int i = 0; i < st->nout; i++) {
    const int b = st->out[i];
    gb_value *v = gb_plan_value(p, b);
    if (p->place->write[b] != GB_HOME_CACHE || v->tensor.storage != NULL) continue;
    set_value(p, b);
    p->prog->low->buf[b].recompute_s = seconds;
    gb_cache_add(p->graph, p->node[p->prog->low->buf[b].source], p->prog->low->buf[b].output);
  }
}

static gb_status run_checked_step (gb_plan *p, int place, const gb_window *at, void *arena, gb_error *err) {
  const int s = p->place->order[place];
  const int node = gb_nest_at(p->place, s);
  if (node >= 0) {
    GB_TRY(run_node(p, node, (gb_range){0, 0}, arena, err));
    if (p->watched) gb_memcheck_nest(p, s, place, arena);
    return GB_OK;
  }
  if (!p->watched) return run_step(p, s, at, arena, err);
  gb_memcheck_before(p, arena);
  GB_TRY(run_step(p, s, at, arena, err));
  gb_memcheck_after(p, place, at, arena);
  return GB_OK;
}

/* The step at a place, for one window where 'at' says so. */
gb_status gb_plan_run_place (gb_plan *p, int place, const gb_window *at, void *arena, gb_error *err) {
  const gb_device *dev = p->on;
  const int s = p->place->order[place];
  if (!p->place->runs[s] || gb_runs_inside(p->prog->low, p->place, s)) return GB_OK;
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  if (gb_pool_threads(dev->pool) != p->prog->threads) /* scratch was planned for so many */
    return gb_fail(err, GB_EOPTION, "the number of threads was changed while a plan ran");
  if (gb_plan_memcheck.at_step != NULL) gb_plan_memcheck.at_step(p->prog->low->step[s].what);
  const double start = gb_clock();
  const gb_status rc = run_checked_step(p, place, at, arena, err);
  if (rc != GB_OK) {
    add_line(p, s, rc, err);
    return rc;
  }
  if (at == NULL || at->lo + at->n == at->extent) keep_caches(p, s, gb_clock() - start);
  return GB_OK;
}

static gb_status run_loop (gb_plan *p, void *arena, gb_error *err) {
  const gb_placement *pl = p->place;
  for (size_t lo = pl->lo; pl->chunk > 0 && lo < pl->hi; lo += pl->chunk) {
    const gb_window at = gb_window_at(pl, lo);
    for (int t = pl->loop_first; t <= pl->loop_last; t++) GB_TRY(gb_plan_run_place(p, t, &at, arena, err));
    p->stats.windows++;
  }
  return GB_OK;
}

static gb_status run_steps (gb_plan *p, void *arena, gb_error *err) {
  const gb_device *dev = p->graph->device;
  const gb_placement *pl = p->place;
  for (int t = 0; t < pl->nsteps; t++) {
    if (t == pl->loop_first) {
      GB_TRY(run_loop(p, arena, err));
      GB_TRY(gb_partition_run(p, arena, err));
      t = pl->loop_last;
    } else GB_TRY(gb_plan_run_place(p, t, NULL, arena, err));
  }
  return dev->ops->sync == NULL ? GB_OK : dev->ops->sync(p->graph->device, err);
}

/* A requested node that is not the source of its buffer (an output picked from several, a view of a leaf)
** shares it. What had a value keeps it, and is no longer droppable; a cache that was made anew is
** replaced. */
static void store_values (gb_plan *p) {
  const gb_lowered *low = p->prog->low;
  for (int i = 0; i < low->nouts; i++) {
    const int b = low->out[i];
    const gb_buf *buf = &low->buf[b];
    gb_node *source = p->node[buf->source], *out = p->out[i];
    gb_value *v = gb_plan_value(p, b);
    if (p->place->write[b] == GB_HOME_OUTPUT && (v->tensor.storage == NULL || gb_cache_holds(v))) {
      gb_tensor_clear(&v->tensor);
      set_value(p, b);
    }
    gb_cache_pin(p->graph, source, buf->output);
    if (gb_node_has_value(out)) continue;
    gb_measure_note(p->graph, out, 0);
    out->out[0].tensor = gb_tensor_ref(&p->value[b]);
    out->out[0].arithmetic = signature(p, b);
    out->depth = 0;
  }
}

static gb_status execute (gb_plan *p, void *arena, bool store, gb_error *err) {
  gb_ledger *l = &p->graph->device->ledger;
  const double begun = gb_clock();
  p->stats = (gb_run_stats){0};
  p->on = p->graph->device;
  GB_TRY(make_windows(p, err));
  GB_TRY(bind_values(p, err));
  GB_TRY(reserve(p, arena, err));
  const size_t peak = l->peak, start = l->used;
  l->peak = start;
  const bool own = arena == NULL;
  gb_status rc = commit(p, &arena, err);
  if (rc == GB_OK) rc = gb_partition_begin(p, err);
  p->watched = rc == GB_OK && own && gb_memcheck_begin(p, arena);
  if (rc == GB_OK) rc = run_steps(p, arena, err);
  if (p->stats.windows == 0 && p->place->grains != NULL) p->stats.windows = 1;
  if (gb_plan_memcheck.at_step != NULL) gb_plan_memcheck.at_step(NULL);
  if (p->watched) gb_memcheck_end();
  gb_partition_end(p);
  if (rc == GB_OK && store) store_values(p);
  p->stats.measured = l->peak - start;
  p->ran = rc == GB_OK;
  p->stats.seconds = gb_clock() - begun;
  if (l->peak < peak) l->peak = peak;
  return rc;
}

gb_status gb_plan_execute (gb_plan *p, void *arena, bool store, gb_error *err) {
  static int depth; /* registered ops run plans of their own */
  depth++;
  const gb_status rc = execute(p, arena, store, err);
  gb_measure_count(&p->stats, --depth == 0);
  return rc;
}

void gb_plan_clear (gb_plan *p) {
  for (int b = 0; b < p->prog->low->nbufs; b++) gb_tensor_clear(&p->value[b]);
}

static void free_arena (gb_plan *p) { gb_ledger_free(&p->graph->device->ledger, &p->arena); }

gb_status gb_plan_run (gb_plan *p, gb_error *err) {
  GB_TRY(gb_plan_refresh(p, err));
  free_arena(p);
  gb_tell_stored(p);
  const gb_status rc = gb_plan_execute(p, NULL, true, err);
  gb_plan_clear(p);
  free_arena(p);
  return rc;
}
