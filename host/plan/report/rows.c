/* rows.c - a plan as rows: what exists before it, what it makes, from when to when, and where. */
#include <limits.h>
#include <stdlib.h>

#include "plan/choose/text.h"
#include "plan/price/profile.h"
#include "program/appendable.h"

const char *gb_row_class_name (gb_row_class c) {
  static const char *const names[] = {"input", "output", "cache", "temp", "workspace", "state"};
  return names[c];
}

/* time as users count it */

static bool number_steps (gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  p->number = malloc(((size_t)pl->nplaces + 1) * sizeof *p->number);
  p->what = malloc(((size_t)pl->nrun + 1) * sizeof *p->what);
  if (p->number == NULL || p->what == NULL) return false;
  int n = 0;
  for (int t = 0; t < pl->nplaces; t++) {
    p->number[t] = n;
    if (pl->runs[pl->order[t]]) p->what[n++] = p->prog->low->step[pl->order[t]].what;
  }
  p->number[pl->nplaces] = n;
  return true;
}

/* Of an interval of places: what begins where nothing runs begins with the next step, and ends with the
** one before. */
static int first_step (const gb_plan *p, int place) { return p->number[place]; }
static int last_step (const gb_plan *p, int place) { return p->number[place + 1] - 1; }

/* rows */

static const char *device_name (const gb_plan *p, int number) {
  return number == 0 ? "" : gb_graph_device(p->request.graph, number)->name;
}

/* By buffer. */
typedef struct uses {
  int first, last; /* places of the steps that read it, -1: none does */
  int from;        /* what it overwrites, -1: nothing */
} uses;

static uses *find_uses (const gb_plan *p) {
  const gb_lowered *low = p->prog->low;
  const gb_placement *pl = p->choice.place;
  uses *u = malloc(((size_t)low->nbufs + 1) * sizeof *u);
  if (u == NULL) return NULL;
  for (int b = 0; b < low->nbufs; b++) u[b] = (uses){-1, -1, -1};
  for (int b = 0; b < low->nbufs; b++)
    if (pl->into[b] >= 0) u[pl->into[b]].from = b;
  for (int t = 0; t < pl->nplaces; t++) {
    const gb_step *st = &low->step[pl->order[t]];
    for (int i = 0; pl->runs[pl->order[t]] && i < st->nin; i++) {
      uses *each = &u[st->in[i]];
      if (each->first < 0) each->first = t;
      each->last = t;
    }
  }
  return u;
}

static gb_plan_row row_of_buffer (const gb_plan *p, int place, int b, int from) {
  static const gb_row_class cls[] = {[GB_HOME_NONE] = GB_ROW_TEMP,
                                     [GB_HOME_VALUE] = GB_ROW_INPUT,
                                     [GB_HOME_ARENA] = GB_ROW_TEMP,
                                     [GB_HOME_OUTPUT] = GB_ROW_OUTPUT,
                                     [GB_HOME_CACHE] = GB_ROW_CACHE};
  const gb_placement *pl = p->choice.place;
  const gb_buf *buf = &p->prog->low->buf[b];
  const gb_life *life = &pl->life[b];
  const bool arena = pl->write[b] == GB_HOME_ARENA, window = pl->compact[b] && gb_window_count(p) > 0;
  return (gb_plan_row){.what = gb_what(p, b),
                       .where = gb_plan_where(p, b),
                       .was = from >= 0 ? gb_what(p, from) : "",
                       .cls = cls[pl->write[b]],
                       .device = device_name(p, buf->device),
                       .dtype = buf->dtype,
                       .shape = buf->shape,
                       .packed = pl->packed[b],
                       .window = window ? pl->chunk : 0,
                       .axis = window ? pl->tiling->dim[b] : 0,
                       .bytes = gb_planned_bytes(p, b),
                       .offset = arena ? life->offset : SIZE_MAX,
                       .step = first_step(p, place),
                       .first = first_step(p, life->first),
                       .last = arena ? last_step(p, life->last) : pl->nrun - 1,
                       .turn = {0, INT_MAX}};
}

static gb_plan_row row_of_workspace (const gb_plan *p, int place, gb_row_class cls, const gb_life *life) {
  const gb_step *st = &p->prog->low->step[p->choice.place->order[place]];
  return (gb_plan_row){.what = cls == GB_ROW_STATE ? "running totals" : "scratch",
                       .where = gb_plan_where(p, st->out[0]),
                       .was = "",
                       .device = device_name(p, st->device),
                       .cls = cls,
                       .bytes = life->bytes,
                       .offset = life->offset,
                       .step = first_step(p, place),
                       .first = first_step(p, life->first),
                       .last = last_step(p, life->last),
                       .turn = {0, INT_MAX}};
}

/* What an existing value has in memory: axes along which it is repeated count once. */
static size_t bytes_of_value (const gb_buf *buf) {
  gb_shape s = buf->shape;
  for (int k = 0; k < s.ndim; k++)
    if (buf->cls == GB_BUF_LEAF && buf->stride[k] == 0) s.dim[k] = 1;
  return gb_shape_bytes(&s, buf->dtype);
}

static size_t bytes_of_input (const gb_plan *p, const gb_buf *buf) {
  const gb_node *n = p->request.node[buf->source];
  return (n->flags & GB_NODE_GROWN) != 0 ? gb_appendable_bytes(&n->out[0].tensor) : bytes_of_value(buf);
}

/* From the first step that reads it to the last. */
static gb_plan_row row_of_input (const gb_plan *p, int b, const uses *u) {
  const gb_buf *buf = &p->prog->low->buf[b];
  return (gb_plan_row){.what = gb_what(p, b),
                       .where = gb_plan_where(p, b),
                       .was = "",
                       .cls = GB_ROW_INPUT,
                       .device = device_name(p, buf->device),
                       .dtype = buf->dtype,
                       .shape = buf->shape,
                       .bytes = bytes_of_input(p, buf),
                       .offset = SIZE_MAX,
                       .step = -1,
                       .first = first_step(p, u->first),
                       .last = last_step(p, u->last)};
}

static void only_turns (gb_plan_row *r, int first, int last) {
  r->turn[0] = first;
  r->turn[1] = last;
}

static gb_plan_row *add_rows_of_node (const gb_plan *p, int k, gb_plan_row *r) {
  const gb_placement *pl = p->choice.place;
  const gb_nest_room *room = &pl->room[k];
  const gb_nest_node *n = &pl->nest->node[k];
  const int place = pl->place[n->step];
  *r = row_of_buffer(p, place, p->prog->low->step[n->step].out[0], -1);
  r->window = gb_nest_held(pl->nest, k, pl->rows);
  r->axis = n->dim;
  r->bytes = room->result.bytes;
  r->offset = room->result.offset;
  r->first = first_step(p, room->result.first);
  r->last = last_step(p, room->result.last);
  only_turns(r++, gb_nest_from(pl, k), room->end);
  if (room->scratch.bytes > 0) {
    *r = row_of_workspace(p, place, GB_ROW_WORKSPACE, &room->scratch);
    only_turns(r++, room->turn, room->turn);
  }
  if (room->state.bytes > 0) {
    *r = row_of_workspace(p, place, GB_ROW_STATE, &room->state);
    only_turns(r++, room->begin, room->turn);
  }
  return r;
}

static gb_plan_row *add_rows_of_step (const gb_plan *p, int place, const uses *u, gb_plan_row *r) {
  const gb_placement *pl = p->choice.place;
  const int s = pl->order[place];
  const gb_step *st = &p->prog->low->step[s];
  if (!pl->runs[s] || gb_runs_inside(p->prog->low, pl, s)) return r;
  for (int k = 0; gb_nest_at(pl, s) >= 0 && k < pl->nest->nnodes; k++)
    if (pl->room[k].result.first == place && pl->nest->node[k].made.cut) r = add_rows_of_node(p, k, r);
  const bool first = pl->place[s] == place;
  for (int i = 0; first && i < st->nout; i++)
    if (pl->write[st->out[i]] != GB_HOME_SHARED)
      *r++ = row_of_buffer(p, place, st->out[i], u[st->out[i]].from);
  if (pl->scratch[place].bytes > 0) {
    *r = row_of_workspace(p, place, GB_ROW_WORKSPACE, &pl->scratch[place]);
    if (gb_nest_at(pl, s) >= 0)
      only_turns(r, pl->room[gb_nest_at(pl, s)].turn, pl->room[gb_nest_at(pl, s)].turn);
    r++;
  }
  if (first && pl->state[s].bytes > 0) *r++ = row_of_workspace(p, place, GB_ROW_STATE, &pl->state[s]);
  if (first && pl->within[s].bytes > 0) {
    *r = row_of_workspace(p, place, GB_ROW_WORKSPACE, &pl->within[s]);
    r++->device = device_name(p, p->prog->low->home);
  }
  return r;
}

gb_status gb_plan_fill_report (gb_plan *p, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  const gb_placement *pl = p->choice.place;
  size_t most = (size_t)low->nbufs + 2 * (size_t)low->nsteps + (size_t)pl->nplaces + 1;
  for (int s = 0; s < low->nsteps; s++) most += (size_t)low->step[s].nout;
  if (pl->nest != NULL) most += 3 * (size_t)pl->nest->nnodes;
  p->row = calloc(most, sizeof *p->row);
  uses *u = find_uses(p);
  if (p->row == NULL || u == NULL || !number_steps(p)) {
    free(u);
    return gb_fail(err, GB_ENOMEM, "no memory for a report");
  }
  gb_plan_row *r = p->row;
  for (int b = 0; b < low->nbufs; b++)
    if (u[b].first >= 0 && pl->read[b] == GB_HOME_VALUE) *r++ = row_of_input(p, b, &u[b]);
  for (int t = 0; t < pl->nplaces; t++) r = add_rows_of_step(p, t, u, r);
  free(u);
  gb_plan_judge_candidates(p);
  p->report =
      (gb_plan_report){.budget = gb_choice_budget(&p->choice),
                       .peak = pl->peak,
                       .arena = pl->arena,
                       .outputs = pl->outputs,
                       .caches = pl->caches,
                       .held = p->choice.taken.held,
                       .lower_bound = gb_add_sizes(pl->arena_bound, gb_add_sizes(pl->outputs, pl->caches)),
                       .minimum = p->report.minimum,
                       .least = p->request.options.least,
                       .timed = gb_plan_is_timed(p),
                       .nsteps = pl->nrun,
                       .again = gb_placement_again(pl),
                       .nrows = (int)(r - p->row),
                       .ncandidates = (int)p->ncandidates,
                       .row = p->row,
                       .candidate = p->candidate,
                       .step = p->what};
  return GB_OK;
}
