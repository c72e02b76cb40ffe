/* place.c - which steps run, from when to when their buffers live, and where. */
#include "plan/place/place.h"

#include <stdlib.h>

#include "graph/call.h"

bool gb_step_is_idle (const gb_lowered *low, const gb_step *s) {
  for (int i = 0; i < s->nout; i++)
    if (low->buf[s->out[i]].bytes > 0) return false;
  return true;
}

size_t gb_opaque_bytes (const gb_device *dev, const gb_opaque *o) {
  if (o->op == GB_OP_MOVE) return 0;
  if (o->op != GB_OP_CALL) return gb_device_opaque_scratch(dev, o);
  const gb_call *c = gb_call_get((int)o->attr.i[0]);
  return c == NULL || c->scratch_bytes == NULL ? 0 : c->scratch_bytes(c->ud, o);
}

size_t gb_step_home_bytes (const gb_step *s) {
  const gb_call *c = s->is_fold || s->opaque.op != GB_OP_CALL ? NULL : gb_call_get((int)s->opaque.attr.i[0]);
  return c == NULL || c->home_bytes == NULL ? 0 : c->home_bytes(c->ud, &s->opaque);
}

size_t gb_step_scratch (gb_kernels *k, int s) {
  const gb_lowered *low = gb_kernels_lowered(k);
  const gb_step *st = &low->step[s];
  if (gb_step_is_idle(low, st)) return 0;
  return st->is_fold ? gb_kernels_scratch(k, s, &st->fold)
                     : gb_opaque_bytes(gb_kernels_step_device(k, s), &st->opaque);
}

gb_status gb_step_contract (const gb_step *s, gb_error *err) {
  const gb_call *c = s->is_fold || s->opaque.op != GB_OP_CALL ? NULL : gb_call_get((int)s->opaque.attr.i[0]);
  if (c == NULL || c->scratch_bytes != NULL) return GB_OK;
  return gb_fail(
      err, GB_EREFUSED,
      "%s does not declare its bytes, so it cannot be planned: add bytes = the memory that it takes "
      "beyond arguments and result",
      c->name);
}

static bool exists (const gb_lowered *low, gb_demand d, int b) {
  return low->buf[b].cls == GB_BUF_LEAF || d.have[b];
}

/* A step runs where one of its results is needed and does not exist; then its operands are needed. */
static void mark_steps (const gb_lowered *low, gb_demand d, bool *need, gb_placement *p) {
  for (int b = 0; b < low->nbufs; b++) need[b] = d.want[b];
  for (int s = low->nsteps - 1; s >= 0; s--) {
    const gb_step *st = &low->step[s];
    for (int i = 0; i < st->nout; i++)
      if (need[st->out[i]] && !exists(low, d, st->out[i])) p->runs[s] = true;
    if (!p->runs[s]) continue;
    for (int i = 0; i < st->nin; i++) need[st->in[i]] = true;
  }
}

static gb_home home_of (const gb_lowered *low, gb_demand d, const bool *need, int b) {
  if (exists(low, d, b) || !need[b]) return GB_HOME_ARENA;
  if (d.want[b]) return GB_HOME_OUTPUT;
  return low->buf[b].cls == GB_BUF_CACHE && low->buf[b].device == 0 && d.keep[b] ? GB_HOME_CACHE
                                                                                 : GB_HOME_ARENA;
}

static void touch (gb_life *l, int place) {
  if (place < l->first) l->first = place;
  if (place > l->last) l->last = place;
}

/* What lives longer than a window and is touched within a loop lives through all of it. */
static void touch_buffer (gb_placement *p, int b, int place) {
  const int k = gb_loop_at(p, place);
  touch(&p->life[b], place);
  if (k < 0 || p->compact[b]) return;
  touch(&p->life[b], p->loop[k].last);
  if (p->life[b].first > p->loop[k].first) touch(&p->life[b], p->loop[k].first);
}

static void find_homes (const gb_lowered *low, gb_demand d, const bool *need, gb_placement *p) {
  for (int s = 0; s < low->nsteps; s++) {
    if (!p->runs[s]) continue;
    const gb_step *st = &low->step[s];
    for (int i = 0; i < st->nout; i++) {
      const int b = st->out[i];
      p->write[b] = (unsigned char)home_of(low, d, need, b);
      p->read[b] = exists(low, d, b) ? GB_HOME_VALUE : p->write[b];
      p->life[b].bytes = low->buf[b].bytes;
    }
    for (int i = 0; i < st->nin; i++)
      if (exists(low, d, st->in[i])) p->read[st->in[i]] = GB_HOME_VALUE;
  }
}

/* The loops of each step, and of each buffer those that read it. Windows of what is made again are made in all of them. */
static void find_loops (const gb_lowered *low, const bool *need, gb_placement *p, unsigned *asked) {
  if (p->tiling != NULL) gb_find_loops(low, p->tiling, p->runs, need, p->loops, asked);
}

/* Arena buffers made within each loop that reads them of which nothing that runs once needs the whole. */
static void find_compact (const gb_lowered *low, gb_placement *p, const unsigned *asked) {
  const gb_tiling *c = p->tiling;
  for (int s = 0; c != NULL && s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    for (int i = 0; p->runs[s] && gb_is_within(c, s) && i < st->nout; i++) {
      const int b = st->out[i];
      p->compact[b] = c->dim[b] >= 0 && p->write[b] == GB_HOME_ARENA && p->read[b] == GB_HOME_ARENA &&
                      (asked[b] & ~p->loops[s]) == 0;
    }
  }
  for (int s = 0; c != NULL && s < low->nsteps; s++)
    for (int i = 0; p->runs[s] && !gb_is_within(c, s) && i < low->step[s].nin; i++)
      p->compact[low->step[s].in[i]] = false;
  for (int b = 0; c != NULL && b < low->nbufs; b++)
    if (p->compact[b]) p->life[b].bytes = low->buf[b].bytes / c->extent * p->chunk;
}

/* Staged values that do not exist and that nobody asked for take no bytes of their own: nodes hold windows
** of them. */
static void find_inside (const gb_lowered *low, gb_placement *p) {
  for (int k = 0; p->nest != NULL && k < p->nest->nnodes; k++) {
    const gb_nest_node *n = &p->nest->node[k];
    const int b = low->step[n->step].out[0];
    if (!n->made.cut || !p->runs[n->step] || p->write[b] != GB_HOME_ARENA || p->read[b] != GB_HOME_ARENA)
      continue;
    p->compact[b] = true;
    p->life[b].bytes = 0;
  }
}

bool gb_runs_inside (const gb_lowered *low, const gb_placement *p, int s) {
  return p->nest != NULL && p->nest->inside[s] && p->compact[low->step[s].out[0]];
}

int gb_nest_at (const gb_placement *p, int s) {
  const int k = p->nest == NULL ? -1 : p->nest->root[s];
  for (int i = 0; k >= 0 && i < p->nest->node[k].nreads; i++)
    if (p->compact[p->nest->node[k].read[i].buf]) return k;
  return -1;
}

static bool is_temporary (const gb_placement *p, int b) {
  return p->write[b] == GB_HOME_ARENA && p->read[b] == GB_HOME_ARENA && !p->compact[b];
}

/* Triangles of which nothing exists yet and nothing is to be kept. */
static void find_packed (const gb_lowered *low, const gb_form_of_run *form, gb_placement *p) {
  for (int i = 0; i < form->npacked_factors; i++) {
    const gb_packed_factor *t = &form->packed_factor[i];
    if (gb_is_within(p->tiling, t->store) || gb_sums_in_grains(p, t->store)) continue;
    if (!p->runs[t->store] || !p->runs[t->factor] || !is_temporary(p, t->matrix) ||
        !is_temporary(p, t->result))
      continue;
    const gb_buf *k = &low->buf[t->matrix];
    p->packed[t->matrix] = p->packed[t->result] = true;
    p->life[t->matrix].bytes = p->life[t->result].bytes = gb_packed_bytes(k->shape.dim[0], k->dtype);
  }
}

const gb_packed_factor *gb_packed_store (const gb_placement *p, const gb_packed_factor *t, int n, int s) {
  for (int i = 0; i < n; i++)
    if (t[i].store == s && p->packed[t[i].matrix]) return &t[i];
  return NULL;
}

static void touch_step (const gb_lowered *low, gb_demand d, gb_placement *p, int s, int place) {
  const gb_step *st = &low->step[s];
  for (int i = 0; i < st->nout; i++) touch_buffer(p, st->out[i], place);
  for (int i = 0; i < st->nin; i++)
    if (!exists(low, d, st->in[i])) touch_buffer(p, st->in[i], place);
}

/* Everything that node k and what is inside it touch lives where the outermost reader runs. Nodes inside
** it run one after the other, 'turn' counts them; what one of them holds lives until its reader has run.
** Returns the turn of k. */
static int touch_node (const gb_lowered *low, gb_demand d, gb_placement *p, int k, int place, int turn) {
  const gb_nest_node *n = &p->nest->node[k];
  const int begin = turn;
  touch_step(low, d, p, n->step, place);
  for (int i = 0; i < n->nreads; i++)
    if (p->compact[n->read[i].buf]) turn = touch_node(low, d, p, n->read[i].node, place, turn) + 1;
  const gb_life life = {.first = place, .last = place};
  p->room[k] = (gb_nest_room){
      .result = life, .scratch = life, .state = life, .begin = begin, .turn = turn, .end = turn};
  for (int i = 0; i < n->nreads; i++)
    if (p->compact[n->read[i].buf]) p->room[n->read[i].node].end = turn;
  return turn;
}

static void find_lives (const gb_lowered *low, gb_demand d, const gb_form_of_run *form, gb_placement *p) {
  for (int b = 0; b < low->nbufs; b++) p->life[b].first = p->nplaces, p->life[b].last = -1;
  find_inside(low, p);
  find_packed(low, form, p);
  for (int t = 0; t < p->nplaces; t++) {
    const int s = p->order[t];
    if (!p->runs[s] || gb_runs_inside(low, p, s)) continue;
    if (gb_nest_at(p, s) >= 0) touch_node(low, d, p, gb_nest_at(p, s), t, 0);
    else touch_step(low, d, p, s, t);
  }
}

/* in place */

int gb_overwritten (const gb_step *st) { return st->is_fold ? -1 : gb_ops[st->opaque.op].inplace; }

/* A temporary that nobody reads after place t, and its step only as operand k; not one that the next
** window needs. */
static bool is_free_after (const gb_lowered *low, const gb_placement *p, int t, int k) {
  const gb_step *st = &low->step[p->order[t]];
  const int b = st->in[k];
  if (gb_loop_at(p, t) >= 0 && !(p->compact[b] && p->compact[st->out[0]])) return false;
  if (__builtin_popcount(p->loops[p->order[t]]) > 1)
    return false; /* others may read it where the step runs first */
  for (int i = 0; i < st->nin; i++)
    if (i != k && st->in[i] == b) return false;
  return p->write[b] == GB_HOME_ARENA && p->read[b] == GB_HOME_ARENA && p->life[b].last == t;
}

/* The result then lives from where the operand began. Later steps first, so that a chain ends up in one
** place. */
static void share_places (const gb_lowered *low, gb_placement *p) {
  for (int b = 0; b < low->nbufs; b++) p->into[b] = -1;
  for (int t = p->nplaces - 1; t >= 0; t--) {
    const gb_step *st = &low->step[p->order[t]];
    const int k = p->runs[p->order[t]] ? gb_overwritten(st) : -1;
    if (k < 0 || !is_free_after(low, p, t, k)) continue;
    const int from = st->in[k], to = st->out[0];
    if (low->buf[from].bytes != low->buf[to].bytes || p->read[to] == GB_HOME_VALUE) continue;
    p->into[from] = to;
    p->write[from] = p->read[from] = GB_HOME_SHARED;
    for (int root = to; root >= 0; root = p->into[root])
      if (p->life[from].first < p->life[root].first) p->life[root].first = p->life[from].first;
  }
}

gb_home gb_placement_home (const gb_placement *p, int b) {
  while (p->write[b] == GB_HOME_SHARED) b = p->into[b];
  return (gb_home)p->write[b];
}

/* Of the nodes that are reached from outermost readers: theirs are those of their steps. */
static void find_rooms (const gb_lowered *low, const gb_form_of_run *form, gb_placement *p) {
  for (int k = 0; p->nest != NULL && k < p->nest->nnodes; k++) {
    const gb_nest_node *n = &p->nest->node[k];
    gb_nest_room *r = &p->room[k];
    if (r->result.first < 0 || !n->made.cut) continue;
    const gb_buf *b = &low->buf[low->step[n->step].out[0]];
    r->result.bytes = b->bytes / b->shape.dim[n->dim] * gb_nest_held(p->nest, k, p->rows);
    form->inside(form->ud, p, k, &r->scratch.bytes, &r->state.bytes);
  }
}

static void find_workspaces (const gb_lowered *low, const gb_form_of_run *form, gb_placement *p) {
  for (int t = 0; t < p->nplaces; t++) {
    const int s = p->order[t], k = gb_loop_at(p, t);
    p->scratch[t] = (gb_life){.first = t, .last = t};
    if (p->place[s] < t) { /* a step that runs again keeps no totals, and nothing at home */
      p->scratch[t].bytes = p->scratch[p->place[s]].bytes;
      continue;
    }
    const bool reduces = k >= 0 && p->tiling->cut[s].reduces;
    p->state[s] = (gb_life){.first = reduces ? p->loop[k].first : t, .last = reduces ? p->loop[k].last : t};
    p->within[s] = (gb_life){.first = t, .last = t};
    if (p->runs[s] && low->home > 0) p->within[s].bytes = gb_step_home_bytes(&low->step[s]);
    if (p->runs[s] && !gb_runs_inside(low, p, s))
      form->workspace(form->ud, p, s, &p->scratch[t].bytes, &p->state[s].bytes);
  }
  find_rooms(low, form, p);
}

/* Time for packing: a place with a nest is as many moments as nodes run there. moment[t]: the first one of
** place t. */
static int count_moments (const gb_placement *p, int *moment) {
  int all = 0;
  for (int t = 0; t < p->nplaces; t++) {
    const int k = p->runs[p->order[t]] ? gb_nest_at(p, p->order[t]) : -1;
    moment[t] = all;
    all += k < 0 ? 1 : p->room[k].turn + 1;
  }
  moment[p->nplaces] = all;
  return all;
}

typedef struct gathered {
  const gb_lowered *low;
  int device; /* whose intervals they are */
  const int *moment;
  gb_life *life; /* in moments */
  gb_life **own;
  size_t n;
} gathered;

static gb_life *add_life (gathered *g, gb_life *own) {
  gb_life *l = &g->life[g->n];
  if (own->bytes == 0) return NULL;
  *l = *own;
  l->first = g->moment[own->first];
  l->last = g->moment[own->last + 1] - 1;
  g->own[g->n++] = own;
  return l;
}

/* Only in these turns of the nest at its place. */
static void add_turns (gathered *g, gb_life *own, int first, int last) {
  gb_life *l = add_life(g, own);
  if (l == NULL) return;
  l->first = g->moment[own->first] + first;
  l->last = g->moment[own->first] + last;
}

/* Every interval of a device's arena. Scratch of an outermost reader is free while what is inside it runs. */
static void gather (gb_placement *p, gathered *g) {
  for (int b = 0; b < p->nbufs; b++)
    if (p->write[b] == GB_HOME_ARENA && g->low->buf[b].device == g->device) add_life(g, &p->life[b]);
  for (int t = 0; t < p->nplaces; t++) {
    const int s = p->order[t];
    if (g->low->home == g->device && p->place[s] == t) add_life(g, &p->within[s]);
    if (g->low->step[s].device != g->device) continue;
    const int k = p->runs[s] ? gb_nest_at(p, s) : -1;
    if (k < 0) add_life(g, &p->scratch[t]);
    else add_turns(g, &p->scratch[t], p->room[k].turn, p->room[k].turn);
    if (p->place[s] == t) add_life(g, &p->state[s]);
  }
  for (int k = 0; p->nest != NULL && k < p->nest->nnodes; k++) {
    gb_nest_room *r = &p->room[k];
    if (r->result.first < 0 || g->low->step[p->nest->node[k].step].device != g->device) continue;
    add_turns(g, &r->result, gb_nest_from(p, k), r->end);
    add_turns(g, &r->scratch, r->turn, r->turn);
    add_turns(g, &r->state, r->begin, r->turn);
  }
}

static gb_status pack_device (gb_placement *p, gathered *g, int moments, gb_error *err) {
  size_t *arena = g->device == 0 ? &p->arena : &p->abroad[g->device].arena, bound;
  g->n = 0;
  gather(p, g);
  GB_TRY(gb_pack(g->n, g->life, moments, arena, &bound, err));
  *(g->device == 0 ? &p->arena_bound : &p->abroad[g->device].bound) = bound;
  for (size_t i = 0; i < g->n; i++) g->own[i]->offset = g->life[i].offset;
  return GB_OK;
}

/* Arena buffers, scratch and states, packed together, those of each device for themselves. */
gb_status gb_placement_pack (const gb_lowered *low, gb_placement *p, gb_error *err) {
  const size_t inside = p->nest == NULL ? 0 : 3 * (size_t)p->nest->nnodes;
  const size_t most = (size_t)p->nbufs + 2 * (size_t)p->nsteps + (size_t)p->nplaces + inside + 1;
  int *moment = calloc((size_t)p->nplaces + 1, sizeof *moment);
  gathered g = {
      .low = low, .moment = moment, .life = calloc(most, sizeof *g.life), .own = calloc(most, sizeof *g.own)};
  gb_status rc = GB_OK;
  if (moment == NULL || g.life == NULL || g.own == NULL)
    rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->nsteps);
  else {
    const int moments = count_moments(p, moment);
    for (; rc == GB_OK && g.device < low->ndevices; g.device++) rc = pack_device(p, &g, moments, err);
  }
  free(moment);
  free(g.life);
  free(g.own);
  if (rc != GB_OK) return rc;
  for (int b = p->nbufs - 1; b >= 0; b--)
    for (int root = p->into[b]; root >= 0; root = p->into[root]) p->life[b].offset = p->life[root].offset;
  return GB_OK;
}

static bool holds (const gb_life *l, int place, int turn, int first, int last) {
  return l->bytes > 0 && l->first == place && turn >= first && turn <= last;
}

size_t gb_nest_bytes (const gb_placement *p, int place) {
  const int s = p->order[place], root = p->runs[s] ? gb_nest_at(p, s) : -1;
  size_t most = 0;
  for (int turn = 0; root >= 0 && turn <= p->room[root].turn; turn++) {
    size_t held = turn == p->room[root].turn ? gb_round_size(p->scratch[place].bytes) : 0;
    for (int k = 0; k < p->nest->nnodes; k++) {
      const gb_nest_room *r = &p->room[k];
      if (holds(&r->result, place, turn, gb_nest_from(p, k), r->end))
        held = gb_add_sizes(held, gb_round_size(r->result.bytes));
      if (holds(&r->scratch, place, turn, r->turn, r->turn))
        held = gb_add_sizes(held, gb_round_size(r->scratch.bytes));
      if (holds(&r->state, place, turn, r->begin, r->turn))
        held = gb_add_sizes(held, gb_round_size(r->state.bytes));
    }
    if (held > most) most = held;
  }
  return most;
}

/* For reports: a staged value is the largest window of it. */
static void show_rooms (const gb_lowered *low, gb_placement *p) {
  for (int k = 0; p->nest != NULL && k < p->nest->nnodes; k++) {
    const gb_nest_room *r = &p->room[k];
    const int b = low->step[p->nest->node[k].step].out[0];
    if (p->compact[b] && r->result.bytes > p->life[b].bytes) p->life[b] = r->result;
  }
}

static void add_storages (const gb_lowered *low, gb_placement *p) {
  for (int b = 0; b < low->nbufs; b++) {
    const int device = low->buf[b].device;
    size_t *outputs = device == 0 ? &p->outputs : &p->abroad[device].outputs;
    if (p->write[b] == GB_HOME_OUTPUT) *outputs = gb_add_sizes(*outputs, low->buf[b].bytes);
    if (p->write[b] == GB_HOME_CACHE) p->caches = gb_add_sizes(p->caches, low->buf[b].bytes);
  }
  p->peak = gb_add_sizes(p->arena, gb_add_sizes(p->outputs, p->caches));
  for (int i = 1; i < low->ndevices; i++)
    p->abroad[i].peak = gb_add_sizes(p->abroad[i].arena, p->abroad[i].outputs);
}

gb_placement *gb_placement_new (const gb_lowered *low, gb_tiling *tiling, gb_tiling *grains, size_t chunk) {
  const size_t nb = (size_t)low->nbufs + 1, ns = (size_t)low->nsteps + 1;
  const int nloops = tiling == NULL ? 0 : tiling->nloops;
  gb_placement *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  *p = (gb_placement){.refs = 1,
                      .tiling = tiling,
                      .grains = grains,
                      .chunk = chunk,
                      .hi = tiling == NULL ? 0 : tiling->extent,
                      .nbufs = low->nbufs,
                      .nsteps = low->nsteps,
                      .nloops = nloops,
                      .loop = calloc((size_t)nloops + 1, sizeof *p->loop),
                      .loops = calloc(ns, sizeof *p->loops),
                      .runs = calloc(ns, sizeof *p->runs),
                      .place = calloc(ns, sizeof *p->place),
                      .compact = calloc(nb, sizeof *p->compact),
                      .sent = calloc(nb, sizeof *p->sent),
                      .packed = calloc(nb, sizeof *p->packed),
                      .state = calloc(ns, sizeof *p->state),
                      .within = calloc(ns, sizeof *p->within),
                      .read = calloc(nb, 1),
                      .write = calloc(nb, 1),
                      .into = calloc(nb, sizeof *p->into),
                      .life = calloc(nb, sizeof *p->life)};
  if (tiling != NULL) tiling->refs++;
  if (grains != NULL) grains->refs++;
  if (p->runs != NULL && p->place != NULL && p->loop != NULL && p->loops != NULL && p->compact != NULL &&
      p->packed != NULL && p->sent != NULL && p->state != NULL && p->within != NULL && p->read != NULL &&
      p->write != NULL && p->into != NULL && p->life != NULL)
    return p;
  gb_placement_unref(p);
  return NULL;
}

static bool take_nest (gb_placement *p, const gb_form_of_run *form) {
  if (form->nest == NULL) return true;
  p->room = calloc((size_t)form->nest->nnodes + 1, sizeof *p->room);
  if (p->room == NULL) return false;
  for (int k = 0; k < form->nest->nnodes; k++) p->room[k].result.first = -1;
  p->nest = form->nest;
  p->rows = form->rows;
  return true;
}

/* Which steps run, in which loops, and what exists in windows; then when. False: no memory. */
static bool find_steps (const gb_lowered *low, gb_demand d, const gb_form_of_run *form, gb_placement *p) {
  bool *need = calloc((size_t)low->nbufs + 1, sizeof *need);
  unsigned *asked = calloc((size_t)low->nbufs + 1, sizeof *asked);
  const bool ok = need != NULL && asked != NULL && take_nest(p, form);
  if (ok) {
    mark_steps(low, d, need, p);
    find_homes(low, d, need, p);
    find_loops(low, need, p, asked);
    find_compact(low, p, asked);
  }
  free(need);
  free(asked);
  return ok && gb_placement_order(p, form->order);
}

gb_status gb_place (const gb_lowered *low, gb_demand d, const gb_form_of_run *form, gb_placement **out,
                    gb_error *err) {
  gb_placement *p = gb_placement_new(low, form->tiling, form->grains, form->chunk);
  gb_status rc = GB_OK;
  if (p != NULL && form->hi != 0) p->hi = form->hi;
  if (p == NULL || !find_steps(low, d, form, p))
    rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  else {
    find_lives(low, d, form, p);
    find_workspaces(low, form, p);
    share_places(low, p);
    rc = gb_placement_pack(low, p, err);
  }
  if (rc == GB_OK) {
    add_storages(low, p);
    show_rooms(low, p);
    *out = p;
  } else gb_placement_unref(p);
  return rc;
}

void gb_placement_unref (gb_placement *p) {
  if (p == NULL || --p->refs > 0) return;
  gb_tiling_unref(p->tiling);
  gb_tiling_unref(p->grains);
  free(p->runs);
  free(p->order);
  free(p->place);
  free(p->loop);
  free(p->loops);
  free(p->compact);
  free(p->sent);
  free(p->packed);
  free(p->state);
  free(p->read);
  free(p->write);
  free(p->into);
  free(p->life);
  free(p->scratch);
  free(p->within);
  free(p->room);
  free(p);
}
