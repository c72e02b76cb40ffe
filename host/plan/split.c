/* split.c - what a step needs when it runs window by window. */
#include "plan/split.h"

static size_t larger (size_t a, size_t b) { return a > b ? a : b; }

/* The windows of all sizes that occur: the first, and the last where it is smaller. */
static int sizes_of (const gb_placement *p, int s, size_t size[2]) {
  const size_t piece = gb_piece_of(p, s), extent = p->hi - p->lo;
  if (p->chunk == 0 || extent == 0) return 0;
  size[0] = piece < extent ? piece : extent;
  size[1] = extent % piece;
  return size[1] != 0 && size[1] != size[0] ? 2 : 1;
}

static gb_window at_start (const gb_placement *p, size_t n) { return (gb_window){0, n, 0, n, p->cutting->extent}; }

static void fold_workspace (const gb_split_job *j, const gb_placement *p, int s, size_t *scratch, size_t *state) {
  const gb_step *st = &j->low->step[s];
  const gb_cut *c = &p->cutting->cut[s];
  gb_window_fold w = {0};
  size_t size[2];
  *scratch = *state = SIZE_MAX;
  if (gb_window_room(&w, &st->fold)) {
    const int n = sizes_of(p, s, size);
    *scratch = *state = 0;
    for (int i = 0; i < n; i++) {
      gb_window_of_fold(&w, j->low, st, c, at_start(p, size[i]), p->compact, p->cutting->dim);
      *scratch = larger(*scratch, j->be->ops->fold_scratch(j->be, &w.fold));
      if (c->reduces) *state = larger(*state, j->be->ops->fold_state(j->be, &w.fold));
    }
  }
  gb_window_free(&w);
}

gb_opaque gb_opaque_in (const gb_placement *p, const gb_step *st) {
  gb_opaque o = st->opaque;
  o.packed = st->nin > 0 && p->packed[st->in[0]];
  return o;
}

static size_t opaque_scratch (const gb_split_job *j, const gb_placement *p, int s) {
  const gb_step *st = &j->low->step[s];
  if (st->opaque.op == GB_OP_CALL || st->nin == 0 || !p->packed[st->in[0]]) return j->scratch[s];
  const gb_opaque o = gb_opaque_in(p, st);
  return j->be->ops->opaque_scratch(j->be, &o);
}

static void opaque_workspace (const gb_split_job *j, const gb_placement *p, int s, size_t *scratch) {
  size_t size[2];
  const int n = sizes_of(p, s, size);
  *scratch = 0;
  for (int i = 0; i < n; i++) {
    gb_opaque o = gb_window_of_opaque(&j->low->step[s], &p->cutting->cut[s], at_start(p, size[i]));
    o.packed = p->packed[j->low->step[s].in[0]];
    *scratch = larger(*scratch, j->be->ops->opaque_scratch(j->be, &o));
  }
}

void gb_split_workspace (const void *job, const gb_placement *p, int s, size_t *scratch, size_t *state) {
  const gb_split_job *j = job;
  const gb_step *st = &j->low->step[s];
  const gb_triangle *t = gb_packed_store(p, j->triangle, j->ntriangles, s);
  *state = 0;
  if (gb_step_is_idle(j->low, st)) *scratch = 0;
  else if (p->cutting != NULL && p->cutting->when[s] == GB_WITHIN) {
    if (st->is_fold) fold_workspace(j, p, s, scratch, state);
    else opaque_workspace(j, p, s, scratch);
  } else if (t != NULL) *scratch = gb_tile_scratch(j->be, j->low, t);
  else *scratch = st->is_fold ? j->scratch[s] : opaque_scratch(j, p, s);
}
