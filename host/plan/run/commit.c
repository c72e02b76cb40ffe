/* commit.c - every byte of a run, bound before its first step. */
#include <stdalign.h>
#include <stdlib.h>

#include "plan/run/run.h"
#include "plan/structure/cache.h"

gb_status gb_plan_unbound (const gb_node *n, gb_error *err) {
  char text[GB_NODE_TEXT];
  if ((n->flags & GB_NODE_LENT) != 0)
    return gb_fail(err, GB_ECLOSED, "%s was an argument of a gb.func call that has ended",
                   gb_node_text(n, text));
  if ((n->flags & GB_NODE_TRACED) != 0)
    return gb_fail(err, GB_EOPTION,
                   "%s has no value inside gb.vmap or a kernel function, where it stands for any slice",
                   gb_node_text(n, text));
  if ((n->flags & GB_NODE_PROMISE) != 0)
    return gb_fail(err, GB_EOPTION,
                   "%s is not computed yet, and cannot be where it is looked at: eval() it before",
                   gb_node_text(n, text));
  return gb_fail(err, GB_EOPTION, "%s has no value: gb.empty makes a shape for plans only",
                 gb_node_text(n, text));
}

static gb_status bind_value (gb_run *r, int b, gb_error *err) {
  const gb_plan *p = r->plan;
  const gb_buf *buf = &p->prog->low->buf[b];
  gb_tensor *t = &r->value[b];
  if (t->storage == NULL) *t = gb_tensor_ref(&gb_plan_value(p, b)->tensor);
  if (t->storage == NULL) return gb_plan_unbound(gb_plan_node(p, b), err);
  if (buf->cls != GB_BUF_LEAF && t->storage->block.purpose == GB_MEM_CACHE)
    gb_cache_touch(p->request.graph, gb_plan_node(p, b), buf->output);
  if (t->storage->refresh != NULL) GB_TRY(t->storage->refresh(t->storage, err));
  r->lane[0].read[b] = gb_tensor_data(t);
  return GB_OK;
}

/* What running steps read, and wanted leaves and values. */
static gb_status bind_values (gb_run *r, gb_error *err) {
  const gb_lowered *low = r->plan->prog->low;
  const gb_placement *pl = r->choice.place;
  for (int b = 0; b < low->nbufs; b++)
    if (pl->read[b] == GB_HOME_VALUE) GB_TRY(bind_value(r, b, err));
  for (int i = 0; i < low->nouts; i++)
    if (r->choice.want[low->out[i]] && pl->write[low->out[i]] != GB_HOME_OUTPUT)
      GB_TRY(bind_value(r, low->out[i], err));
  return GB_OK;
}

/* what the run makes */

static gb_ledger *ledger_of (const gb_run *r) { return &r->lane[0].device->ledger; }

static bool has_storage (const gb_placement *pl, int b) {
  return pl->write[b] == GB_HOME_OUTPUT || pl->write[b] == GB_HOME_CACHE;
}

static gb_status new_storage (gb_run *r, int b, gb_error *err) {
  const gb_plan *p = r->plan;
  const gb_buf *buf = &p->prog->low->buf[b];
  const gb_purpose purpose = r->choice.place->write[b] == GB_HOME_CACHE ? GB_MEM_CACHE : GB_MEM_TENSOR;
  gb_ledger *l = &gb_graph_device(p->request.graph, buf->device)->ledger;
  return gb_tensor_new(l, buf->dtype, &buf->shape, purpose, gb_plan_where(p, b), gb_plan_name(p, b),
                       &r->value[b], err);
}

static bool wants_arena (const gb_run *r, const void *given) {
  const gb_block *own = &r->lane[0].own;
  return given == NULL && (own->data == NULL || own->bytes < r->choice.place->arena);
}

void gb_run_free_arena (gb_run *r) { gb_ledger_free(ledger_of(r), &r->lane[0].own); }

static gb_status commit_arena (gb_run *r, gb_error *err) {
  const size_t bytes = r->choice.place->arena;
  if (!wants_arena(r, NULL)) return GB_OK;
  gb_run_free_arena(r);
  if (bytes == 0) return GB_OK;
  return gb_ledger_alloc(ledger_of(r), GB_MEM_ARENA, bytes, "", "arena", &r->lane[0].own, err);
}

/* Makes room for the whole run at once: after this only the system can refuse. */
static gb_status reserve (gb_run *r, const void *arena, gb_error *err) {
  const gb_ledger *l = ledger_of(r);
  const gb_placement *pl = r->choice.place;
  size_t bytes = wants_arena(r, arena) ? pl->arena : 0;
  for (int b = 0; b < pl->nbufs; b++)
    if (has_storage(pl, b) && r->value[b].storage == NULL && r->plan->prog->low->buf[b].device == 0)
      bytes = gb_add_sizes(bytes, r->plan->prog->low->buf[b].bytes);
  r->stats.predicted = bytes;
  if (gb_make_room(r->plan->request.graph, bytes)) return GB_OK;
  char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  gb_fail(err, GB_ENOMEM, "the %s that the plan counts on are not free: %s in use, limit %s",
          gb_bytes_text(bytes, need), gb_bytes_text(l->used, used), gb_bytes_text(l->limit, limit));
  if (err != NULL) err->need = bytes, err->have = l->limit > l->used ? l->limit - l->used : 0;
  return GB_ENOMEM;
}

static bool calls (const gb_run *r) {
  const gb_placement *pl = r->choice.place;
  const gb_step *st = r->plan->prog->low->step;
  for (int s = 0; s < pl->nsteps; s++)
    if (pl->runs[s] && !st[s].is_fold && st[s].opaque.op == GB_OP_CALL) return true;
  return false;
}

/* Records, not bytes of tensors: entries for the caches, storages that registered ops see. */
static gb_status reserve_records (gb_run *r, gb_error *err) {
  const gb_lowered_plan *prog = r->plan->prog;
  const gb_placement *pl = r->choice.place;
  size_t caches = 0;
  bool ok = true;
  for (int b = 0; b < pl->nbufs; b++) caches += pl->write[b] == GB_HOME_CACHE;
  for (int i = 0; calls(r) && ok && i < prog->widest_in + prog->widest_out; i++) {
    if (r->lent[i] == NULL) r->lent[i] = malloc(sizeof *r->lent[i]);
    ok = r->lent[i] != NULL;
  }
  ok = ok && gb_cache_reserve(r->plan->request.graph, caches);
  return ok ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for the records of a run");
}

/* Room for folds cut down to a window or a tile. */
static gb_status make_windows (const gb_lowered_plan *prog, gb_lane *l, gb_error *err) {
  const gb_lowered *low = prog->low;
  const gb_placement *pl = l->place;
  bool ok = true;
  for (int s = 0; ok && s < low->nsteps; s++) {
    const bool tiles = gb_packed_store(pl, prog->packed_factor, prog->npacked_factors, s) != NULL;
    const bool nested = pl->nest != NULL && (pl->nest->inside[s] || pl->nest->root[s] >= 0);
    const bool parts = nested || gb_is_within(pl->tiling, s) || gb_sums_in_grains(pl, s);
    if (!low->step[s].is_fold || !(tiles || parts)) continue;
    if (l->window == NULL) l->window = calloc((size_t)low->nsteps + 1, sizeof *l->window);
    ok = l->window != NULL;
    for (int k = 0; ok && k < 2; k++)
      if (l->window[s][k].operand == NULL) ok = gb_window_room(&l->window[s][k], &low->step[s].fold);
  }
  return ok ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to cut a plan of %d steps", low->nsteps);
}

static alignas(64) char nothing[64]; /* where buffers of no bytes lie */

static char *arena_of (const gb_run *r, int b) {
  const int device = r->plan->prog->low->buf[b].device;
  return device == 0 ? r->lane[0].arena : r->abroad[device].at;
}

static void find_addresses (gb_run *r) {
  gb_lane *l = &r->lane[0];
  const gb_placement *pl = l->place;
  for (int b = 0; b < pl->nbufs; b++) {
    if (pl->write[b] == GB_HOME_NONE) continue;
    int at = b;
    while (pl->into[at] >= 0) at = pl->into[at];
    l->write[b] = has_storage(pl, at) ? gb_tensor_data(&r->value[at]) : arena_of(r, at) + pl->life[at].offset;
    if (pl->read[b] != GB_HOME_VALUE) l->read[b] = l->write[b];
  }
}

static gb_status take_memory (gb_run *r, void *arena, gb_error *err) {
  gb_lane *home = &r->lane[0];
  const gb_placement *pl = r->choice.place;
  GB_TRY(reserve_records(r, err));
  GB_TRY(gb_abroad_begin(r, err));
  for (int b = 0; b < pl->nbufs; b++)
    if (has_storage(pl, b) && r->value[b].storage == NULL) GB_TRY(new_storage(r, b, err));
  if (arena == NULL) GB_TRY(commit_arena(r, err));
  home->arena = arena != NULL ? arena : home->own.data != NULL ? home->own.data : nothing;
  find_addresses(r);
  return gb_lanes_begin(r, err);
}

static gb_status make_all_windows (gb_run *r, gb_error *err) {
  for (int i = 0; i < r->nlanes; i++)
    if (r->lane[i].place != NULL) GB_TRY(make_windows(r->plan->prog, &r->lane[i], err));
  return GB_OK;
}

/* Lanes take their places; the peak of the ledger is counted from where the run takes its first byte. */
gb_status gb_run_commit (gb_run *r, void *arena, gb_error *err) {
  gb_lane *home = &r->lane[0];
  gb_ledger *l = ledger_of(r);
  home->place = r->choice.place;
  for (int i = 1; i < r->nlanes; i++)
    r->lane[i].place = r->choice.partition == NULL ? NULL : r->choice.partition->part[i].remote.place;
  for (int i = 0; i < r->nlanes; i++)
    r->lane[i].kernels = gb_lowered_plan_kernels(r->plan->prog, r->lane[i].device);
  GB_TRY(make_all_windows(r, err));
  GB_TRY(bind_values(r, err));
  GB_TRY(reserve(r, arena, err));
  home->peak = l->peak;
  l->peak = home->start = l->used;
  home->begun = true;
  return take_memory(r, arena, err);
}
