/* step.c - one step on one lane: whole, a window of the loop, the tiles of a packed matrix, or a nest of
** steps that make each other's operands. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "plan/run/run.h"
#include "plan/structure/cache.h"

static const gb_lowered *low_of (const gb_run *r) { return r->plan->prog->low; }

/* A bound number in the compute type; a bool goes with any. */
static gb_number number_of (const gb_node *n, gb_dtype compute) {
  if (compute != GB_I64) return (gb_number){.f = n->attr.f[0]};
  return (gb_number){.i = gb_dtype_is_whole(gb_node_dtype(n)) ? n->attr.i[0] : (int64_t)n->attr.f[0]};
}

/* Addresses and numbers of step s. */
static void take_operands (gb_run *r, gb_lane *l, int s) {
  const gb_step *st = &low_of(r)->step[s];
  for (int i = 0; i < st->nin; i++) l->in[i] = l->read[st->in[i]];
  for (int i = 0; i < st->nout; i++) l->to[i] = l->write[st->out[i]];
  for (int i = 0; i < st->nconstants; i++)
    l->constant[i] = number_of(r->plan->request.node[st->constant[i]], st->fold.compute);
}

static const gb_life *scratch_of (const gb_lane *l) { return &l->place->scratch[l->now]; }

/* The fold of step s or a part of it, on the operands at hand. */
static gb_status launch (gb_run *r, gb_lane *l, int s, const gb_fold *part, const gb_carry *carry,
                         const gb_life *scratch, gb_error *err) {
  gb_fold_stats stats = {0};
  const gb_fold_args args = {.part = part,
                             .operand = l->in,
                             .out = l->to,
                             .constant = l->constant,
                             .carry = carry,
                             .scratch = gb_step_arena(r, l, s) + scratch->offset,
                             .stats = &stats};
  GB_TRY(gb_device_launch(gb_kernels_step_device(l->kernels, s), gb_kernels_find(l->kernels, s, part), &args,
                          err));
  r->stats.pairs += stats.pairs;
  r->path = stats.path;
  return GB_OK;
}

/* One part of a fold: a window of the loop, a piece of its grains, both, or all of it. */
static gb_status run_fold_part (gb_run *r, gb_lane *l, int s, const gb_window *grain, const gb_window *window,
                                gb_error *err) {
  const gb_placement *pl = l->place;
  const gb_window *sum = gb_sums_in_grains(pl, s) && grain != NULL      ? grain
                         : window != NULL && pl->tiling->cut[s].reduces ? window
                                                                        : NULL;
  const gb_fold *f = gb_fold_of_part(l->window[s], low_of(r), pl, s, grain, window);
  gb_carry carry = {.state = gb_step_arena(r, l, s) + pl->state[s].offset};
  if (sum != NULL) carry.first = sum->lo == 0, carry.last = sum->lo + sum->n == sum->extent;
  return launch(r, l, s, f, sum == NULL ? NULL : &carry, scratch_of(l), err);
}

/* A fold, or a window of it, with its sums over a batch in pieces. What a piece of a window reads of a
** compact buffer lies at the piece's place in the window. */
static gb_status run_fold_parts (gb_run *r, gb_lane *l, int s, const gb_window *at, gb_error *err) {
  const gb_placement *pl = l->place;
  const bool sums = gb_sums_in_grains(pl, s), same = at != NULL && gb_same_axis(pl->tiling, pl->grains);
  const size_t lo = same ? at->lo : 0, end = same ? at->lo + at->n : sums ? pl->grains->extent : 1;
  if (!sums) GB_TRY(run_fold_part(r, l, s, NULL, at, err));
  for (size_t from = lo; sums && from < end; from += pl->grains->grain) {
    const size_t n = end - from < pl->grains->grain ? end - from : pl->grains->grain;
    gb_window piece = {from, n, from, n, pl->grains->extent};
    if (same) piece.base = at->base, piece.held = at->held;
    GB_TRY(run_fold_part(r, l, s, same ? NULL : &piece, same ? &piece : at, err));
  }
  r->stats.folds++;
  return GB_OK;
}

/* Address of the window within what exists whole; a compact buffer is the window. */
static const void *shifted (const gb_run *r, const gb_lane *l, const void *base, int b, const gb_shape *shape,
                            int dim, gb_window at) {
  if (dim < 0 || l->place->compact[b]) return base;
  return (const char *)base + gb_elements_apart(shape, dim) * at.lo * gb_dtype_size(low_of(r)->buf[b].dtype);
}

static gb_status run_opaque_window (gb_run *r, gb_lane *l, int s, gb_window at, gb_error *err) {
  const gb_step *st = &low_of(r)->step[s];
  const gb_cut *c = &l->place->tiling->cut[s];
  const gb_opaque o = gb_opaque_of_part(low_of(r), l->place, s, &at);
  for (int i = 0; i < st->nin; i++) {
    const gb_shape shape = gb_opaque_operand(&st->opaque, i);
    l->in[i] = shifted(r, l, l->in[i], st->in[i], &shape, gb_cut_operand(c, i), at);
  }
  for (int k = 0; k < st->nout; k++)
    l->to[k] =
        (void *)(uintptr_t)shifted(r, l, l->to[k], st->out[k], &st->opaque.out_shape[k], c->out_dim[k], at);
  void *scratch = gb_step_arena(r, l, s) + scratch_of(l)->offset;
  r->stats.opaques++;
  if (o.op == GB_OP_MOVE) return gb_run_move(r, st, &o, l->in[0], l->to[0], err);
  if (o.op == GB_OP_CALL) return gb_run_call(r, l, st, &o, scratch, err);
  return gb_device_opaque(gb_kernels_step_device(l->kernels, s), &o, l->in, l->to, scratch, err);
}

/* The lower tiles of a matrix, each a fold of its own. */
static gb_status run_fold_tiles (gb_run *r, gb_lane *l, const gb_packed_factor *t, gb_error *err) {
  const size_t blocks = gb_blocks(low_of(r)->buf[t->matrix].shape.dim[0], t->side);
  for (size_t i = 0; i < blocks; i++)
    for (size_t j = 0; j <= i; j++) {
      const gb_fold *f = gb_window_of_tile(l->window[t->store], low_of(r), t, i, j);
      GB_TRY(launch(r, l, t->store, f, NULL, scratch_of(l), err));
    }
  r->stats.folds++;
  return GB_OK;
}

static gb_status run_node (gb_run *r, gb_lane *l, int k, gb_range asked, gb_error *err);

static gb_status run_reads (gb_run *r, gb_lane *l, int k, int from, int to, gb_range window, gb_error *err) {
  const gb_nest_node *n = &l->place->nest->node[k];
  for (int i = from; i < to; i++)
    if (l->place->compact[n->read[i].buf])
      GB_TRY(run_node(r, l, n->read[i].node, gb_nest_needs(&n->read[i], window), err));
  return GB_OK;
}

/* What a node makes and holds lies where the placement says; readers find windows where their nodes hold
** them. */
static gb_nest_room bind_node (gb_run *r, gb_lane *l, int k) {
  const gb_placement *pl = l->place;
  const gb_nest_node *n = &pl->nest->node[k];
  gb_nest_room room = pl->room[k];
  take_operands(r, l, n->step);
  if (n->made.cut) l->to[0] = gb_step_arena(r, l, n->step) + room.result.offset;
  else room.scratch = *scratch_of(l), room.state = pl->state[n->step];
  for (int i = 0; i < n->nreads; i++) {
    const gb_step *st = &low_of(r)->step[n->step];
    for (int q = 0; q < st->nin; q++)
      if (st->in[q] == n->read[i].buf && pl->compact[st->in[q]])
        l->in[q] = gb_step_arena(r, l, n->step) + pl->room[n->read[i].node].result.offset;
  }
  return room;
}

static gb_status run_node_part (gb_run *r, gb_lane *l, int k, gb_nest_part at, gb_error *err) {
  const gb_nest_node *n = &l->place->nest->node[k];
  const gb_nest_room room = bind_node(r, l, k);
  const gb_fold *f = gb_nest_fold(l->window[n->step], low_of(r), l->place->nest, l->place->compact, k, at);
  const gb_carry carry = {.state = gb_step_arena(r, l, n->step) + room.state.offset,
                          .first = at.own.lo == 0 && at.turn == 0,
                          .last = at.own.lo + at.own.n == n->extent && at.turn + 1 == n->nturns};
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  if (l->watch != NULL) gb_memcheck_before(l);
  GB_TRY(launch(r, l, n->step, f, n->own.reduces ? &carry : NULL, &room.scratch, err));
  if (l->watch != NULL && low_of(r)->step[n->step].device == 0) gb_memcheck_node(r, l, n->step, &room);
  r->stats.folds++;
  return GB_OK;
}

static void end_reads (const gb_lane *l, int k, int from) {
  const gb_nest_node *n = &l->place->nest->node[k];
  for (int i = from; l->watch != NULL && i < n->nreads; i++)
    if (l->place->compact[n->read[i].buf]) gb_memcheck_consumed(l, n->read[i].node);
}

/* The range of its result that is asked for, in windows of its own. */
static gb_status run_node (gb_run *r, gb_lane *l, int k, gb_range asked, gb_error *err) {
  const gb_nest_node *n = &l->place->nest->node[k];
  const size_t rows = gb_nest_window(n, l->place->rows);
  GB_TRY(run_reads(r, l, k, 0, n->nbefore, asked, err));
  if (!n->own.cut) GB_TRY(run_node_part(r, l, k, (gb_nest_part){.asked = asked}, err));
  for (size_t turn = 0; n->own.cut && turn < n->nturns; turn++)
    for (size_t lo = 0; lo < n->extent; lo += rows) {
      const gb_range own = {lo, n->extent - lo < rows ? n->extent - lo : rows};
      GB_TRY(run_reads(r, l, k, n->nbefore, n->nreads, own, err));
      GB_TRY(run_node_part(r, l, k, (gb_nest_part){asked, own, turn}, err));
      end_reads(l, k, n->nbefore);
      if (!n->made.cut) r->stats.windows++;
    }
  end_reads(l, k, 0);
  return GB_OK;
}

static gb_status run_step (gb_run *r, gb_lane *l, int s, const gb_window *at, gb_error *err) {
  const gb_packed_factor *packed_factor =
      gb_packed_store(l->place, r->plan->prog->packed_factor, r->plan->prog->npacked_factors, s);
  const gb_step *st = &low_of(r)->step[s];
  void *scratch = gb_step_arena(r, l, s) + scratch_of(l)->offset;
  if (gb_step_is_idle(low_of(r), st)) return GB_OK;
  take_operands(r, l, s);
  if (at != NULL)
    return st->is_fold ? run_fold_parts(r, l, s, at, err) : run_opaque_window(r, l, s, *at, err);
  if (packed_factor != NULL) return run_fold_tiles(r, l, packed_factor, err);
  if (st->is_fold && gb_sums_in_grains(l->place, s)) return run_fold_parts(r, l, s, NULL, err);
  if (st->is_fold) {
    r->stats.folds++;
    return launch(r, l, s, &st->fold, NULL, scratch_of(l), err);
  }
  r->stats.opaques++;
  if (st->opaque.op == GB_OP_CALL) return gb_run_call(r, l, st, &st->opaque, scratch, err);
  if (st->opaque.op == GB_OP_MOVE) return gb_run_move(r, st, &st->opaque, l->in[0], l->to[0], err);
  const gb_opaque o = gb_opaque_of_part(low_of(r), l->place, s, NULL);
  return gb_device_opaque(gb_kernels_step_device(l->kernels, s), &o, l->in, l->to, scratch, err);
}

/* Says what failed by its name, where it has one, and which line of the script asked for it, unless the
** text does. */
static void add_line (const gb_plan *p, int s, gb_status rc, gb_error *err) {
  if (err == NULL || rc == GB_EINTR || rc == GB_ECALLBACK) return;
  const int b = p->prog->low->step[s].out[0];
  const char *where = gb_plan_where(p, b), *name = gb_plan_name(p, b);
  const size_t used = strlen(err->text), room = sizeof err->text - used;
  if (*where == '\0' || strstr(err->text, where) != NULL) return;
  char more[sizeof err->text];
  const int n = snprintf(more, sizeof more, " (%s%s%s)", name, *name != '\0' ? ", " : "", where);
  if (n > 0 && (size_t)n < room) memcpy(err->text + used, more, (size_t)n + 1);
}

/* Values of a plan that may sum in other pieces never stand in for those of one that may not. */
uint64_t gb_run_signature (const gb_run *r, int b) {
  const uint64_t made = r->plan->prog->arithmetic[b];
  return r->plan->request.options.math ? ~made : made;
}

void gb_run_set_value (gb_run *r, int b) {
  gb_value *v = gb_plan_value(r->plan, b);
  gb_node *n = gb_plan_node(r->plan, b);
  gb_measure_note(r->plan->request.graph, n, low_of(r)->buf[b].output);
  v->tensor = gb_tensor_ref(&r->value[b]);
  v->arithmetic = gb_run_signature(r, b);
  n->depth = 0;
}

/* A finished cache value outlives a failure of a later step. */
static void keep_cache (gb_run *r, int b, double seconds) {
  const gb_plan *p = r->plan;
  gb_graph *g = p->request.graph;
  gb_context_lock(g);
  if (gb_plan_value(p, b)->tensor.storage == NULL) {
    gb_run_set_value(r, b);
    p->prog->low->buf[b].recompute_s = seconds;
    gb_cache_add(g, gb_plan_node(p, b), p->prog->low->buf[b].output);
  }
  gb_context_unlock(g);
}

static void keep_caches (gb_run *r, const gb_lane *l, int s, double seconds) {
  const gb_step *st = &low_of(r)->step[s];
  for (int i = 0; i < st->nout; i++)
    if (l->place->write[st->out[i]] == GB_HOME_CACHE) keep_cache(r, st->out[i], seconds);
}

static gb_status run_checked_step (gb_run *r, gb_lane *l, int place, const gb_window *at, gb_error *err) {
  const int s = l->place->order[place];
  const int node = gb_nest_at(l->place, s);
  if (node >= 0) {
    GB_TRY(run_node(r, l, node, (gb_range){0, 0}, err));
    if (l->watch != NULL && low_of(r)->step[s].device == 0) gb_memcheck_nest(r, l, s, place);
    return GB_OK;
  }
  if (l->watch == NULL || low_of(r)->step[s].device != 0) return run_step(r, l, s, at, err);
  gb_memcheck_before(l);
  GB_TRY(run_step(r, l, s, at, err));
  gb_memcheck_after(r, l, place, at);
  return GB_OK;
}

/* The device of step s has the threads that its scratch was planned for. */
static bool has_planned_threads (const gb_run *r, const gb_lane *l, int s) {
  const gb_lowered_plan *prog = r->plan->prog;
  const int number = prog->low->step[s].device, part = (int)(l - r->lane);
  const gb_device *dev = number == 0 ? l->device : gb_graph_device(r->plan->request.graph, number);
  const int planned = part == 0 ? prog->threads[number] : r->choice.partition->part[part].threads;
  return gb_pool_threads(dev->pool) == planned;
}

gb_status gb_run_step (gb_run *r, gb_lane *l, int place, const gb_window *at, gb_error *err) {
  const gb_lowered_plan *prog = r->plan->prog;
  const int s = l->place->order[place];
  l->now = place;
  if (!l->place->runs[s] || gb_runs_inside(prog->low, l->place, s)) return GB_OK;
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  if (!has_planned_threads(r, l, s))
    return gb_fail(err, GB_EOPTION, "the number of threads was changed while a plan ran");
  const gb_memcheck_watch *watch = &r->plan->request.graph->plans->memcheck;
  if (watch->at_step != NULL) watch->at_step(prog->low->step[s].what);
  if (r->timed != NULL) GB_TRY(gb_timed_begin(r, l, s, err));
  const double start = gb_clock();
  const gb_status rc = run_checked_step(r, l, place, at, err);
  if (r->timed != NULL) gb_timed_end(r, l, s, at, rc);
  if (rc != GB_OK) {
    add_line(r->plan, s, rc, err);
    return rc;
  }
  if (at == NULL || at->lo + at->n == at->extent) keep_caches(r, l, s, gb_clock() - start);
  return GB_OK;
}
