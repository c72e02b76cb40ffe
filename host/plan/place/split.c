/* split.c - what a step is, and what it needs, in the parts in which it runs. */
#include "plan/place/split.h"

static size_t larger (size_t a, size_t b) { return a > b ? a : b; }

/* pieces */

static gb_pieces pieces_of (size_t extent, size_t piece) {
  gb_pieces all = {.extent = extent};
  if (piece == 0 || extent == 0) return all;
  if (extent >= piece) all.size[all.n] = piece, all.count[all.n++] = extent / piece;
  if (extent % piece != 0) all.size[all.n] = extent % piece, all.count[all.n++] = 1;
  return all;
}

static const gb_pieces uncut = {.n = 1, .size = {1, 0}, .count = {1, 0}, .extent = 1};

gb_pieces gb_loop_pieces (const gb_placement *p, const gb_step *st, int s) {
  if (!gb_is_within(p->tiling, s)) return uncut;
  const bool grained = st->is_fold && gb_same_axis(p->tiling, p->grains) && gb_sums_in_grains(p, s);
  return pieces_of(p->hi - p->lo, grained && p->grains->grain < p->chunk ? p->grains->grain : p->chunk);
}

gb_pieces gb_grain_pieces (const gb_placement *p, int s) {
  const bool looped = gb_same_axis(p->tiling, p->grains) && gb_is_within(p->tiling, s);
  return !gb_sums_in_grains(p, s) || looped ? uncut : pieces_of(p->grains->extent, p->grains->grain);
}

/* steps cut down */

const gb_fold *gb_fold_of_part (gb_window_fold w[2], const gb_lowered *low, const gb_placement *p, int s,
                                const gb_window *grain, const gb_window *window) {
  gb_step part = low->step[s];
  const gb_fold *f = &low->step[s].fold;
  if (grain != NULL) {
    gb_window_of_fold(&w[0], low, &part, &p->grains->cut[s], *grain, NULL, NULL);
    f = &w[0].fold;
    part.fold = w[0].fold;
  }
  if (window != NULL) {
    gb_window_of_fold(&w[1], low, &part, &p->tiling->cut[s], *window, p->compact, p->tiling->dim);
    f = &w[1].fold;
  }
  return f;
}

gb_opaque gb_opaque_of_part (const gb_lowered *low, const gb_placement *p, int s, const gb_window *window) {
  const gb_step *st = &low->step[s];
  gb_opaque o = st->opaque;
  o.packed = st->nin > 0 && p->packed[st->in[0]];
  if (gb_is_within(p->grains, s) && !(window != NULL && gb_same_axis(p->tiling, p->grains))) {
    const size_t all = p->grains->extent;
    gb_window_of_opaque(&o, &p->grains->cut[s], (gb_window){0, all, 0, all, all}, NULL);
  }
  if (window == NULL) return o;
  bool compact[GB_CUT_SLOTS + GB_MAX_OUTPUTS];
  for (int i = 0; i < st->nin && i < GB_CUT_SLOTS; i++) compact[i] = p->compact[st->in[i]];
  for (int k = 0; k < st->nout && st->nin <= GB_CUT_SLOTS; k++) compact[st->nin + k] = p->compact[st->out[k]];
  gb_window_of_opaque(&o, &p->tiling->cut[s], *window, st->nin <= GB_CUT_SLOTS ? compact : NULL);
  return o;
}

/* what they need */

static void fold_workspace (const gb_split_job *j, const gb_placement *p, int s, size_t *scratch,
                            size_t *state) {
  const gb_step *st = &j->low->step[s];
  const bool looped = gb_is_within(p->tiling, s), grained = gb_sums_in_grains(p, s);
  const bool carries = grained || (looped && p->tiling->cut[s].reduces);
  const gb_pieces windows = gb_loop_pieces(p, st, s), grains = gb_grain_pieces(p, s);
  gb_window_fold w[2] = {{{0}, NULL, NULL, NULL}, {{0}, NULL, NULL, NULL}};
  *scratch = *state = SIZE_MAX;
  if (gb_window_room(&w[0], &st->fold) && gb_window_room(&w[1], &st->fold)) {
    *scratch = *state = 0;
    for (int i = 0; i < windows.n * grains.n; i++) {
      const size_t n = windows.size[i % windows.n], g = grains.size[i / windows.n];
      const gb_window window = {0, n, 0, n, looped ? p->tiling->extent : 1},
                      grain = {0, g, 0, g, grains.extent};
      const gb_fold *f = gb_fold_of_part(
          w, j->low, p, s, grained && !(looped && gb_same_axis(p->tiling, p->grains)) ? &grain : NULL,
          looped ? &window : NULL);
      *scratch = larger(*scratch, gb_kernels_scratch(j->kernels, s, f));
      if (carries) *state = larger(*state, gb_kernels_state(j->kernels, s, f));
    }
  }
  gb_window_free(&w[0]);
  gb_window_free(&w[1]);
}

static void opaque_workspace (const gb_split_job *j, const gb_placement *p, int s, size_t *scratch) {
  const gb_step *st = &j->low->step[s];
  const bool looped = gb_is_within(p->tiling, s);
  const gb_pieces windows = gb_loop_pieces(p, st, s);
  *scratch = 0;
  for (int i = 0; i < windows.n; i++) {
    const size_t n = windows.size[i];
    const gb_window window = {0, n, 0, n, looped ? p->tiling->extent : 1};
    const gb_opaque o = gb_opaque_of_part(j->low, p, s, looped ? &window : NULL);
    *scratch = larger(*scratch, gb_opaque_bytes(gb_kernels_step_device(j->kernels, s), &o));
  }
}

/* Of a node of the nest: of all ranges and windows that occur. */
void gb_nest_workspace (const void *job, const gb_placement *p, int k, size_t *scratch, size_t *state) {
  const gb_split_job *j = job;
  const gb_nest_node *n = &p->nest->node[k];
  const size_t window = gb_nest_window(n, p->rows);
  const size_t asked[2] = {gb_nest_held(p->nest, k, p->rows), gb_nest_rest(p->nest, k, p->rows)};
  const size_t own[2] = {window, window == 0 ? 0 : n->extent % window};
  gb_window_fold w[2] = {{{0}, NULL, NULL, NULL}, {{0}, NULL, NULL, NULL}};
  *scratch = *state = 0;
  if (!gb_window_room(&w[0], &j->low->step[n->step].fold) ||
      !gb_window_room(&w[1], &j->low->step[n->step].fold))
    *scratch = SIZE_MAX;
  for (int i = 0; i < 4 && *scratch != SIZE_MAX; i++) {
    if ((i & 1 && asked[1] == 0) || (i & 2 && own[1] == 0)) continue;
    const gb_fold *f = gb_nest_fold(w, j->low, p->nest, p->compact, k,
                                    (gb_nest_part){{0, asked[i & 1]}, {0, own[i >> 1]}, 0});
    *scratch = larger(*scratch, gb_kernels_scratch(j->kernels, n->step, f));
    if (n->own.reduces) *state = larger(*state, gb_kernels_state(j->kernels, n->step, f));
  }
  gb_window_free(&w[0]);
  gb_window_free(&w[1]);
}

void gb_split_workspace (const void *job, const gb_placement *p, int s, size_t *scratch, size_t *state) {
  const gb_split_job *j = job;
  const gb_step *st = &j->low->step[s];
  const gb_packed_factor *t = gb_packed_store(p, j->packed_factor, j->npacked_factors, s);
  const bool parts = gb_is_within(p->tiling, s) || gb_is_within(p->grains, s);
  *state = 0;
  if (gb_step_is_idle(j->low, st)) *scratch = 0;
  else if (gb_nest_at(p, s) >= 0) gb_nest_workspace(job, p, gb_nest_at(p, s), scratch, state);
  else if (t != NULL) *scratch = gb_tile_scratch(j->kernels, t);
  else if (st->is_fold && parts) fold_workspace(j, p, s, scratch, state);
  else if (!st->is_fold && (parts || (st->nin > 0 && p->packed[st->in[0]])))
    opaque_workspace(j, p, s, scratch);
  else *scratch = j->scratch != NULL ? j->scratch[s] : gb_step_scratch(j->kernels, s);
}
