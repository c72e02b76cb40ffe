/* packed_factor.c - finding triangles, and the fold of one tile. */
#include "plan/tile/packed_factor.h"

#include <stdlib.h>

#include "program/packed.h"

static size_t order_of (const gb_lowered *low, const gb_packed_factor *t) {
  return low->buf[t->matrix].shape.dim[0];
}

/* The op reads its first operand as a lower factor, which may be packed, and b nowhere else. */
static bool takes_packed (const gb_step *st, int b) {
  if (st->is_fold || st->in[0] != b) return false;
  for (int i = 1; i < st->nin; i++)
    if (st->in[i] == b) return false;
  return st->opaque.in_shape[0].ndim == 2 &&
         gb_op_reads_lower(st->opaque.op, &st->opaque.attr, GB_TRAIT_PACK);
}

static bool reads (const gb_step *st, int b) {
  for (int i = 0; i < st->nin; i++)
    if (st->in[i] == b) return true;
  return false;
}

/* All readers of K and L agree; neither was asked for. */
static bool readers_agree (const gb_lowered *low, const gb_packed_factor *t) {
  if (low->buf[t->matrix].cls == GB_BUF_OUTPUT || low->buf[t->result].cls == GB_BUF_OUTPUT) return false;
  for (int s = 0; s < low->nsteps; s++) {
    if (reads(&low->step[s], t->matrix) && s != t->factor) return false;
    if (reads(&low->step[s], t->result) && !takes_packed(&low->step[s], t->result)) return false;
  }
  return true;
}

/* A fold that does nothing but store K, with an axis of its own for rows and for columns. */
static bool stores_alone (const gb_lowered *low, gb_packed_factor *t) {
  const gb_step *st = &low->step[t->store];
  const gb_buf *k = &low->buf[t->matrix];
  if (!st->is_fold || st->nout != 1 || st->fold.nouts != 1 || st->fold.out[0].kind != GB_OUT_STORE)
    return false;
  const gb_out *o = &st->fold.out[0];
  if (k->shape.ndim != 2 || k->shape.dim[0] < 2) return false;
  if (!gb_cut_axis_of(&st->fold, o->stride, o->offset, k, 0, 0, &t->rows)) return false;
  if (!gb_cut_axis_of(&st->fold, o->stride, o->offset, k, 1, 0, &t->cols)) return false;
  t->rows.cut = t->cols.cut = true;
  return t->rows.axis != t->cols.axis && t->rows.factor == 1 && t->cols.factor == 1 &&
         gb_cut_fold_unit(&st->fold, &t->rows, 0) && gb_cut_fold_unit(&st->fold, &t->cols, 0);
}

static int maker_of (const gb_lowered *low, int b) {
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; i < low->step[s].nout; i++)
      if (low->step[s].out[i] == b) return s;
  return -1;
}

gb_status gb_find_triangles (const gb_lowered *low, gb_packed_factor **out, int *count, gb_error *err) {
  gb_packed_factor *all = calloc((size_t)low->nsteps + 1, sizeof *all);
  if (all == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  *count = 0;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    if (st->is_fold || st->opaque.op != GB_OP_CHOLESKY || !gb_packs_blocks(st->opaque.unit)) continue;
    if (st->opaque.in_shape[0].ndim != 2) continue;
    gb_packed_factor t = {.side = st->opaque.unit, .factor = s, .matrix = st->in[0], .result = st->out[0]};
    t.store = maker_of(low, t.matrix);
    if (t.store >= 0 && readers_agree(low, &t) && stores_alone(low, &t)) all[(*count)++] = t;
  }
  *out = all;
  return GB_OK;
}

const gb_fold *gb_window_of_tile (gb_window_fold w[2], const gb_lowered *low, const gb_packed_factor *t,
                                  size_t i, size_t j) {
  const gb_step *st = &low->step[t->store];
  const size_t n = order_of(low, t), side = t->side, rows = gb_block_extent(n, side, i),
               cols = gb_block_extent(n, side, j);
  gb_step part = *st;
  gb_window_of_fold(&w[0], low, st, &t->rows, (gb_window){i * side, rows, i * side, rows, n}, NULL, NULL);
  part.fold = w[0].fold;
  gb_window_of_fold(&w[1], low, &part, &t->cols, (gb_window){j * side, cols, j * side, cols, n}, NULL, NULL);
  gb_out *o = &w[1].out[0];
  o->offset = (ptrdiff_t)gb_packed_tile(n, i, j);
  o->stride[t->rows.axis] = (ptrdiff_t)cols;
  o->stride[t->cols.axis] = 1;
  return &w[1].fold;
}

size_t gb_tile_scratch (gb_kernels *k, const gb_packed_factor *t) {
  const gb_lowered *low = gb_kernels_lowered(k);
  const gb_fold *f = &low->step[t->store].fold;
  const size_t last = gb_blocks(order_of(low, t), t->side) - 1;
  const size_t at[3][2] = {{0, 0}, {last, 0}, {last, last}};
  gb_window_fold w[2] = {{{0}, NULL, NULL, NULL}, {{0}, NULL, NULL, NULL}};
  size_t most = SIZE_MAX;
  if (gb_window_room(&w[0], f) && gb_window_room(&w[1], f)) {
    most = 0;
    for (int i = 0; i < 3; i++) {
      const size_t bytes = gb_kernels_scratch(k, t->store, gb_window_of_tile(w, low, t, at[i][0], at[i][1]));
      if (bytes > most) most = bytes;
    }
  }
  gb_window_free(&w[0]);
  gb_window_free(&w[1]);
  return most;
}
