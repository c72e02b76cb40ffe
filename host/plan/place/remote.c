/* remote.c - which copies a part of a loop needs on another device, and where everything lies there. */
#include "plan/place/remote.h"

#include <stdlib.h>
#include <string.h>

/* layouts */

/* Elements that dimensions of smaller stride than 'dim' span; with 'windows' false where they reach past
** it. */
static void lay_window (const gb_buf *b, int dim, gb_window_layout *l) {
  const size_t step = (size_t)b->stride[dim];
  l->step = step;
  l->extent = b->shape.dim[dim];
  l->tail = l->outer = 1;
  l->windows = l->low == 0 && b->stride[dim] > 0;
  for (int k = 0; l->windows && k < b->shape.ndim; k++) {
    const size_t last = b->shape.dim[k] - 1, stride = (size_t)b->stride[k];
    if (k == dim || last == 0 || stride == 0) continue;
    if (stride < step) l->tail += stride * last;
    else if (stride % (step * l->extent) == 0) l->outer += stride / (step * l->extent) * last;
    else l->windows = false;
  }
  l->windows = l->windows && l->tail <= step;
}

gb_window_layout gb_window_layout_of (const gb_buf *b, int dim) {
  gb_window_layout l = {.width = gb_dtype_size(b->dtype)};
  ptrdiff_t high = 0;
  for (int k = 0; k < b->shape.ndim; k++) {
    if (b->shape.dim[k] == 0) return l;
    const ptrdiff_t reach = b->stride[k] * (ptrdiff_t)(b->shape.dim[k] - 1);
    if (reach < 0) l.low += reach;
    else high += reach;
  }
  l.span = (size_t)(high - l.low) + 1;
  if (dim >= 0) lay_window(b, dim, &l);
  return l;
}

static size_t run_of (const gb_window_layout *l, size_t n) {
  return ((n - 1) * l->step + l->tail) * l->width;
}

size_t gb_window_layout_bytes (const gb_window_layout *l, size_t n) {
  return n == 0 ? 0 : (l->outer - 1) * n * l->step * l->width + run_of(l, n);
}

gb_status gb_window_layout_take (const gb_window_layout *l, gb_memory *from, const void *whole, gb_memory *to,
                                 void *part, size_t lo, size_t n, gb_error *err) {
  for (size_t j = 0; j < l->outer; j++)
    GB_TRY(gb_memory_across(to, (char *)part + j * n * l->step * l->width, from,
                            (const char *)whole + (j * l->extent + lo) * l->step * l->width, run_of(l, n),
                            err));
  return GB_OK;
}

gb_status gb_window_layout_give (const gb_window_layout *l, gb_memory *to, void *whole, gb_memory *from,
                                 const void *part, size_t lo, size_t n, gb_error *err) {
  for (size_t j = 0; j < l->outer; j++)
    GB_TRY(gb_memory_across(to, (char *)whole + (j * l->extent + lo) * l->step * l->width, from,
                            (const char *)part + j * n * l->step * l->width, run_of(l, n), err));
  return GB_OK;
}

/* what is there */

typedef struct mover {
  const gb_lowered *low;
  const gb_placement *home;
  const gb_tiling *c;
  gb_placement *p;
  gb_window_layout *layout; /* [buffers] */
  bool *made;               /* [buffers] by a step that runs here */
} mover;

/* Every access of the fold to its operand 'slot' moves the dimension by the cut axis alone. */
static bool fold_reads_windows (const mover *m, const gb_step *st, const gb_cut *c, int slot) {
  const int b = st->in[slot];
  for (int i = 0; i < st->fold.noperands; i++) {
    const gb_operand *o = &st->fold.operand[i];
    gb_cut own;
    if (o->slot != slot) continue;
    if (!gb_cut_axis_of(&st->fold, o->stride, o->offset, &m->low->buf[b], m->c->dim[b], m->c->grain, &own) ||
        !gb_cut_same(&own, c))
      return false;
  }
  return true;
}

/* The op cuts its operand 'slot' along the dimension that is the axis; not where it sees the buffer in
** another shape. */
static bool opaque_reads_windows (const mover *m, const gb_step *st, const gb_cut *c, int slot) {
  const int b = st->in[slot];
  return slot < GB_CUT_SLOTS && c->in_dim[slot] == m->c->dim[b] &&
         gb_shape_equal(&st->opaque.in_shape[slot], &m->low->buf[b].shape);
}

/* All that is read of b in a window of the axis is that window of b. */
static bool is_read_in_windows (const mover *m, int b) {
  for (int s = 0; s < m->low->nsteps; s++) {
    const gb_step *st = &m->low->step[s];
    const gb_cut *c = &m->c->cut[s];
    for (int i = 0; m->p->runs[s] && i < st->nin; i++) {
      if (st->in[i] != b) continue;
      if (!(st->is_fold ? fold_reads_windows(m, st, c, i) : opaque_reads_windows(m, st, c, i))) return false;
    }
  }
  return true;
}

static void live_through (const mover *m, int b) {
  m->p->life[b].first = m->p->loop->first;
  m->p->life[b].last = m->p->loop->last;
}

static void put_in_arena (const mover *m, int b, size_t bytes) {
  m->p->write[b] = m->p->read[b] = GB_HOME_ARENA;
  m->p->life[b].bytes = bytes;
}

/* A result that is accumulated: folds keep totals and need it for the end of the axis only, products add
** to it. */
static void place_late (const mover *m, const gb_step *st, int b) {
  const bool kept = !st->is_fold || m->p->hi == m->c->extent;
  put_in_arena(m, b, kept ? m->low->buf[b].bytes : 0);
  live_through(m, b);
}

static void place_made (const mover *m, const gb_step *st, int b) {
  m->layout[b] = gb_window_layout_of(&m->low->buf[b], m->c->dim[b]);
  if (m->c->dim[b] < 0) {
    place_late(m, st, b);
    return;
  }
  m->p->compact[b] = true;
  put_in_arena(m, b, m->low->buf[b].bytes / m->c->extent * m->p->chunk);
}

static void place_read (const mover *m, int b) {
  const gb_window_layout l = m->layout[b] = gb_window_layout_of(&m->low->buf[b], m->c->dim[b]);
  const bool windows = m->c->dim[b] >= 0 && l.windows && is_read_in_windows(m, b);
  m->p->compact[b] = windows;
  put_in_arena(m, b, windows ? gb_window_layout_bytes(&l, m->p->chunk) : l.span * l.width);
  if (!windows) live_through(m, b);
}

static void touch (gb_life *l, int place) {
  if (place < l->first) l->first = place;
  if (place > l->last) l->last = place;
}

static void place_buffers (const mover *m) {
  gb_placement *p = m->p;
  for (int b = 0; b < p->nbufs; b++) p->into[b] = -1, p->life[b] = (gb_life){.first = p->nplaces, .last = -1};
  for (int s = 0; s < p->nsteps; s++)
    for (int i = 0; p->runs[s] && i < m->low->step[s].nout; i++) {
      m->made[m->low->step[s].out[i]] = true;
      place_made(m, &m->low->step[s], m->low->step[s].out[i]);
    }
  for (int s = 0; s < p->nsteps; s++)
    for (int i = 0; p->runs[s] && i < m->low->step[s].nin; i++) {
      const int b = m->low->step[s].in[i];
      if (!m->made[b] && p->write[b] == GB_HOME_NONE) place_read(m, b);
    }
  for (int t = 0; t < p->nplaces; t++) {
    const gb_step *st = &m->low->step[p->order[t]];
    if (!p->runs[p->order[t]]) continue;
    for (int i = 0; i < st->nin; i++) touch(&p->life[st->in[i]], t);
    for (int i = 0; i < st->nout; i++) touch(&p->life[st->out[i]], t);
  }
}

static void place_workspaces (const gb_split_job *job, gb_placement *p) {
  for (int t = 0; t < p->nplaces; t++) {
    const int s = p->order[t];
    p->scratch[t] = (gb_life){.first = t, .last = t};
    p->state[s] = (gb_life){.first = p->loop->first, .last = p->loop->last};
    if (p->runs[s]) gb_split_workspace(job, p, s, &p->scratch[t].bytes, &p->state[s].bytes);
  }
}

/* copies */

static void add_copy (gb_remote *a, gb_copy_kind kind, int buf, int step, int place,
                      const gb_window_layout *l) {
  if (kind == GB_COPY_BACK || kind == GB_COPY_RESULT) a->place->sent[buf] = true;
  a->copy[a->ncopies++] = (gb_copy){kind, buf, step, place, l == NULL ? (gb_window_layout){0} : *l};
}

static void copy_results (const mover *m, int t, gb_remote *a) {
  const gb_placement *p = m->p;
  const int s = p->order[t];
  const gb_step *st = &m->low->step[s];
  if (p->lo > 0 && p->state[s].bytes > 0) add_copy(a, GB_COPY_TOTAL, -1, s, t, NULL);
  for (int i = 0; i < st->nout; i++) {
    const int b = st->out[i];
    const gb_window_layout *l = &m->layout[b];
    if (p->compact[b]) {
      if (!m->home->compact[b]) add_copy(a, GB_COPY_BACK, b, s, t, l);
      continue;
    }
    if (p->lo > 0 && !st->is_fold) add_copy(a, GB_COPY_RUNNING, b, s, t, l);
    if (p->hi == m->c->extent) add_copy(a, GB_COPY_RESULT, b, s, t, l);
  }
}

static gb_status find_copies (const mover *m, gb_remote *a, gb_error *err) {
  const gb_placement *p = m->p;
  size_t most = 1;
  for (int s = 0; s < p->nsteps; s++) most += 1 + 2 * (size_t)m->low->step[s].nout;
  a->copy = calloc(most + (size_t)p->nbufs, sizeof *a->copy);
  if (a->copy == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->nsteps);
  for (int b = 0; b < p->nbufs; b++)
    if (p->write[b] == GB_HOME_ARENA && !m->made[b])
      add_copy(a, p->compact[b] ? GB_COPY_WINDOW : GB_COPY_WHOLE, b, -1, p->life[b].first, &m->layout[b]);
  for (int t = 0; t < p->nplaces; t++)
    if (p->runs[p->order[t]]) copy_results(m, t, a);
  return GB_OK;
}

static gb_status place_part (const gb_split_job *job, const mover *m, gb_remote *out, gb_error *err) {
  gb_placement *p = m->p;
  for (int s = 0; s < p->nsteps; s++) {
    p->runs[s] = m->home->runs[s] && gb_is_within(m->c, s);
    p->loops[s] = gb_is_within(m->c, s); /* tilings that devices share have one loop */
  }
  if (!gb_placement_order(p, m->home->order))
    return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->nsteps);
  place_buffers(m);
  place_workspaces(job, p);
  GB_TRY(gb_placement_pack(m->low, p, err));
  p->peak = p->arena;
  return find_copies(m, out, err);
}

gb_status gb_place_away (const gb_split_job *job, const gb_placement *home, size_t lo, size_t hi,
                         size_t chunk, gb_remote *out, gb_error *err) {
  const size_t nb = (size_t)job->low->nbufs + 1;
  mover m = {.low = job->low,
             .home = home,
             .c = home->tiling,
             .p = gb_placement_new(job->low, home->tiling, home->grains, chunk),
             .layout = calloc(nb, sizeof *m.layout),
             .made = calloc(nb, sizeof *m.made)};
  gb_status rc = GB_OK;
  *out = (gb_remote){.place = m.p};
  if (m.p == NULL || m.layout == NULL || m.made == NULL)
    rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", job->low->nsteps);
  else {
    m.p->lo = lo;
    m.p->hi = hi;
    rc = place_part(job, &m, out, err);
  }
  free(m.layout);
  free(m.made);
  if (rc != GB_OK) gb_remote_clear(out);
  return rc;
}

void gb_remote_clear (gb_remote *a) {
  gb_placement_unref(a->place);
  free(a->copy);
  *a = (gb_remote){0};
}
