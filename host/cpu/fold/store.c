/* store.c - adds totals of items to totals of outputs, and stores those. Shared totals are accessed in
** flush_columns and end_item only, which threads enter in the order of items. */
#include <math.h>
#include <string.h>

#include "cpu/fold/fold.h"

/* -- outputs */

/* Address of an output element at the current OUTER indices. */
static char *out_at (const gb_xthread *t, const gb_xout *x, size_t slot, size_t col, size_t lane,
                     size_t tile) {
  const gb_xprog *p = t->p;
  const gb_out *o = x->o;
  ptrdiff_t at = o->offset;
  for (int a = 0; a < p->f->naxes; a++) {
    size_t i = t->idx[a];
    if (x->inner >> a & 1) i = slot / x->mul[a] % p->f->axis[a].extent;
    else if (a == o->axis) i = col;
    else if (a == p->lane) i = x->reach == GB_REACH_KEEP || x->reach == GB_REACH_ROW ? lane : 0;
    else if (a == p->tile) i = x->reach == GB_REACH_KEEP || x->reach == GB_REACH_COL ? tile : 0;
    else if (o->reduced >> a & 1) i = 0;
    at += (ptrdiff_t)i * o->stride[a];
  }
  return (char *)t->outbase[o->slot] + at * (ptrdiff_t)gb_dtype_size(o->dtype);
}

static void store_select (const gb_xthread *t, const gb_xout *x, char *dst, ptrdiff_t stride,
                          const gb_word *w, size_t step, size_t n) {
  const gb_out *o = x->o;
  ptrdiff_t size = (ptrdiff_t)gb_dtype_size(o->dtype);
  bool many = o->monoid == GB_KSMALLEST, whole = t->p->compute == GB_I64;
  for (size_t i = 0; i < n; i++, dst += stride * size, w += step)
    for (size_t k = 0; k < x->words; k += 2) {
      char *at = dst + (ptrdiff_t)(k / 2) * (many ? o->kstride : 0) * size;
      double v = w[k + 1].i == 0 ? INFINITY : gb_exec_key_value(w[k].i);
      int64_t key = w[k + 1].i == 0 ? INT64_MAX : w[k].i;
      if (!many) gb_exec_store_run(at, o->dtype, 1, &w[k + 1].i, GB_I64, 1, 1);
      else if (whole) gb_exec_store_run(at, o->dtype, 1, &key, GB_I64, 1, 1);
      else gb_exec_store_run(at, o->dtype, 1, &v, GB_F64, 1, 1);
      if (many && o->slot2 >= 0)
        ((int64_t *)t->outbase[o->slot2])[(at - (char *)t->outbase[o->slot]) / size] = w[k + 1].i;
    }
}

/* 'n' totals, 'step' words apart, to elements 'stride' apart. */
static void store_span (const gb_xthread *t, const gb_xout *x, char *dst, ptrdiff_t stride, const gb_word *w,
                        size_t step, size_t n) {
  gb_dtype to = x->o->dtype, from = t->p->compute == GB_I64 ? GB_I64 : GB_F64;
  ptrdiff_t size = (ptrdiff_t)gb_dtype_size(to);
  if (x->how == GB_HOW_SELECT) store_select(t, x, dst, stride, w, step, n);
  else if (x->how != GB_HOW_LSE) gb_exec_store_run(dst, to, stride, w, from, (ptrdiff_t)step, n);
  else
    for (size_t i = 0; i < n; i++, w += step) {
      double v = w[1].f == 0 || isinf(w[0].f) ? w[0].f : w[0].f + log(w[1].f);
      gb_exec_store_run(dst + (ptrdiff_t)i * stride * size, to, stride, &v, GB_F64, 1, 1);
    }
}

static ptrdiff_t stride_along (const gb_xout *x, int axis) { return axis < 0 ? 0 : x->o->stride[axis]; }

static void store_rows (gb_xthread *t, gb_xout *x) {
  size_t n = x->slots * x->cols;
  for (size_t b = 0; b < gb_exec_blocks(t); b++)
    for (size_t c = 0; c < n; c++)
      store_span(t, x, out_at(t, x, c / x->cols, c % x->cols, t->lane0 + b * GB_TI, 0),
                 stride_along(x, t->p->lane), gb_exec_part(t, x) + (b * n + c) * GB_TI * x->words, x->words,
                 gb_exec_lanes(t, b));
}

/* Rows [row, row + n) of a COL output's totals. */
static void store_columns (gb_xthread *t, gb_xout *x, size_t outer, size_t row, size_t n) {
  const gb_xprog *p = t->p;
  for (size_t c = 0; c < x->slots * x->cols; c++) {
    size_t s = c / x->cols, r = c % x->cols;
    const gb_word *w = x->total + (((outer * x->slots + s) * p->ntile + row) * x->cols + r) * x->words;
    store_span(t, x, out_at(t, x, s, r, 0, row), stride_along(x, p->tile), w, x->cols * x->words, n);
  }
}

static void store_slots (gb_xthread *t, gb_xout *x, size_t outer) {
  for (size_t s = 0; s < x->slots; s++)
    store_span(t, x, out_at(t, x, s, 0, 0, 0), 0, x->total + x->nparts + (outer * x->slots + s) * x->words,
               x->words, 1);
}

static void reset (gb_xthread *t, gb_xout *x, size_t at, size_t n) {
  gb_exec_identity(t->p, x, x->total + at * x->words, n * x->words);
}

/* -- columns, at the end of a chunk */

/* Folded chains, one at the start of each group, into n totals. */
static void absorb_folded (const gb_xprog *p, const gb_xout *x, gb_word *total, const char *chain, size_t n) {
  size_t group = GB_LANES * p->size;
  bool sum = x->how != GB_HOW_LSE && gb_exec_monoid(x) == GB_SUM && p->compute != GB_I64;
  for (size_t c = 0; c < n; c++, total += x->words) {
    gb_word w[2];
    memcpy(w, chain + c * group, sizeof w);
    if (sum) total->f += w->f;
    else gb_exec_absorb(p, x, total, w);
  }
}

static void flush_column (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  size_t outer = gb_exec_outer(t, x), n = t->chunk_rows * x->cols;
  for (size_t s = 0; s < x->slots; s++) {
    size_t first = s * GB_CANON * x->cols;
    gb_word *total = x->total + ((outer * x->slots + s) * p->ntile + t->chunk0) * x->cols * x->words;
    if (x->how != GB_HOW_SELECT) absorb_folded(p, x, total, t->ws + x->chain + first * GB_LANES * p->size, n);
    else
      for (size_t c = 0; c < n; c++)
        gb_exec_absorb(p, x, total + c * x->words,
                       (const gb_word *)(t->ws + x->chain) + (first + c) * x->words);
  }
  if (!t->last || x->outer) return;
  store_columns(t, x, 0, t->chunk0, t->chunk_rows);
  for (size_t s = 0; s < x->slots; s++) reset(t, x, (s * p->ntile + t->chunk0) * x->cols, n);
}

/* Mirrored lanes into their totals; those of the item's own rows are then complete and move out of the
** shared array. */
static void flush_mirror (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  size_t n = t->chunk_rows * x->cols;
  bool own = t->chunk0 >= t->lane0 && t->chunk0 < t->lane0 + GB_SUPER;
  for (size_t s = 0; s < x->slots; s++) {
    gb_word *across = x->across + (s * p->ntile + t->chunk0) * x->cols;
    const char *chain = t->ws + x->mirror + s * GB_CANON * x->cols * GB_LANES * p->size;
    absorb_folded(p, x, across, chain, n);
    if (!own) continue;
    memcpy((gb_word *)(t->ws + x->moved) + (s * GB_SUPER + t->chunk0 - t->lane0) * x->cols, across,
           n * sizeof *across);
    gb_exec_identity(p, x, across, n);
  }
}

void gb_exec_flush_columns (gb_xthread *t) {
  for (int o = 0; o < t->p->f->nouts; o++) {
    gb_xout *x = &t->p->out[o];
    if (x->reach == GB_REACH_COL) flush_column(t, x);
    if (x->reach == GB_REACH_ROW && t->p->f->symmetric) flush_mirror(t, x);
  }
}

/* -- the end of an item */

static void end_strip (gb_xthread *t, gb_xout *x) {
  size_t n = x->slots * x->cols, supers = (t->item_lanes + GB_SUPER - 1) / GB_SUPER;
  gb_word *total = x->total + gb_exec_outer(t, x) * n * x->words;
  for (size_t q = 0; q < supers; q++)
    for (size_t c = 0; c < n; c++)
      gb_exec_absorb(t->p, x, total + c * x->words, gb_exec_part(t, x) + (q * n + c) * x->words);
  if (!t->last || x->outer) return;
  store_columns(t, x, 0, 0, 1);
  reset(t, x, 0, n);
}

static void end_all (gb_xthread *t, gb_xout *x) {
  gb_word *total = x->total + x->nparts + gb_exec_outer(t, x) * x->slots * x->words;
  if (x->nparts > 0 && !t->p->last) {
    memcpy(gb_exec_kept_parts(t, x), gb_exec_part(t, x),
           gb_exec_blocks(t) * x->slots * x->words * sizeof(gb_word));
    return;
  }
  for (size_t b = 0; b < gb_exec_blocks(t); b++)
    for (size_t s = 0; s < x->slots; s++)
      gb_exec_absorb(t->p, x, total + s * x->words, gb_exec_part(t, x) + (b * x->slots + s) * x->words);
  if (!t->last || x->outer) return;
  store_slots(t, x, 0);
  reset(t, x, 0, x->slots);
}

/* The mirrored totals come first. */
static void join_mirror (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  const gb_word *moved = (const gb_word *)(t->ws + x->moved);
  for (size_t s = 0; s < x->slots; s++)
    for (size_t r = 0; r < x->cols; r++)
      for (size_t i = 0; i < t->lanes; i++) {
        gb_word *part = gb_exec_part(t, x) + ((i / GB_TI * x->slots + s) * x->cols + r) * GB_TI + i % GB_TI;
        gb_word w = moved[(s * GB_SUPER + i) * x->cols + r];
        gb_exec_absorb(p, x, &w, part);
        *part = w;
      }
}

static void add_rows (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  size_t n = x->slots * x->cols;
  for (size_t c = 0; c < n; c++)
    for (size_t i = 0; i < t->lanes; i++) {
      gb_word *total = x->total + (gb_exec_outer(t, x) * n + c) * p->nlane + t->lane0 + i;
      gb_exec_absorb(p, x, total, gb_exec_part(t, x) + (i / GB_TI * n + c) * GB_TI + i % GB_TI);
    }
}

static void end_row (gb_xthread *t, gb_xout *x) {
  if (t->p->f->symmetric) join_mirror(t, x);
  if (!x->outer) store_rows(t, x);
  else if (t->p->f->symmetric) add_rows(t, x);
  else gb_exec_exchange_rows(t, x, true);
}

void gb_exec_end_item (gb_xthread *t) {
  for (int o = 0; o < t->p->f->nouts; o++) {
    gb_xout *x = &t->p->out[o];
    if (x->reach == GB_REACH_ROW) end_row(t, x);
    else if (x->reach == GB_REACH_ALL) end_all(t, x);
    else if (x->reach == GB_REACH_COL && t->p->strip) end_strip(t, x);
  }
}

/* -- the end of the fold */

static void store_outer (gb_xthread *t, gb_xout *x, size_t outer) {
  const gb_xprog *p = t->p;
  size_t n = x->slots * x->cols;
  ptrdiff_t lane = stride_along(x, p->lane);
  switch (x->reach) {
    case GB_REACH_COL: store_columns(t, x, outer, 0, p->ntile); break;
    case GB_REACH_ALL: store_slots(t, x, outer); break;
    case GB_REACH_ROW:
      for (size_t c = 0; c < n; c++)
        store_span(t, x, out_at(t, x, c / x->cols, c % x->cols, 0, 0), lane,
                   x->total + (outer * n + c) * p->nlane * x->words, x->words, p->nlane);
      break;
    default:
      for (size_t c = 0; c < n * p->ntile; c++)
        store_span(t, x, out_at(t, x, c / p->ntile, 0, 0, c % p->ntile), lane,
                   x->total + (outer * n * p->ntile + c) * p->nlane * x->words, x->words, p->nlane);
  }
}

void gb_exec_store_totals (gb_xthread *t, bool last) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    if (!x->outer || (x->carried && !last)) continue;
    for (size_t q = 0; q < x->nouter; q++) {
      for (int a = 0; a < p->f->naxes; a++)
        t->idx[a] = x->omul[a] ? q / x->omul[a] % p->f->axis[a].extent : 0;
      store_outer(t, x, q);
    }
  }
}
