/* totals.c - the accumulators of an item: initialised, and chains folded into totals. None of them is
** shared. */
#include <math.h>
#include <string.h>

#include "cpu/fold/fold.h"

/* -- items */

size_t gb_exec_outer (const gb_xthread *t, const gb_xout *x) {
  size_t o = 0;
  for (int a = 0; a < t->p->f->naxes; a++) o += t->idx[a] * x->omul[a];
  return o;
}

size_t gb_exec_blocks (const gb_xthread *t) { return (t->lanes + GB_TI - 1) / GB_TI; }
size_t gb_exec_lanes (const gb_xthread *t, size_t block) {
  size_t rest = t->lanes - block * GB_TI;
  return rest < GB_TI ? rest : GB_TI;
}

gb_word *gb_exec_part (const gb_xthread *t, const gb_xout *x) { return (gb_word *)(t->ws + x->part); }

/* Rows that continue totals over OUTER axes: between the total and the item's part. */
void gb_exec_exchange_rows (gb_xthread *t, gb_xout *x, bool back) {
  const gb_xprog *p = t->p;
  size_t n = x->slots * x->cols, w = x->words;
  for (size_t b = 0; b < gb_exec_blocks(t); b++)
    for (size_t c = 0; c < n; c++) {
      gb_word *part = gb_exec_part(t, x) + (b * n + c) * GB_TI * w;
      gb_word *total = x->total + ((gb_exec_outer(t, x) * n + c) * p->nlane + t->lane0 + b * GB_TI) * w;
      if (back) memcpy(total, part, gb_exec_lanes(t, b) * w * sizeof *total);
      else memcpy(part, total, gb_exec_lanes(t, b) * w * sizeof *total);
    }
}

gb_word *gb_exec_kept_parts (const gb_xthread *t, const gb_xout *x) {
  const gb_fold *f = t->p->f;
  const size_t each = x->slots * x->words, blocks = (t->p->nlane + GB_TI - 1) / GB_TI;
  size_t outer = 0; /* each combination has parts of its own, whether or not the output keeps it */
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role == GB_AXIS_OUTER) outer = outer * f->axis[a].extent + t->idx[a];
  return x->total + (outer * blocks + t->lane0 / GB_TI) * each;
}

static void begin_all (gb_xthread *t, gb_xout *x) {
  const size_t each = x->slots * x->words;
  if (x->nparts == 0) gb_exec_identity(t->p, x, gb_exec_part(t, x), each * GB_BLOCKS);
  else memcpy(gb_exec_part(t, x), gb_exec_kept_parts(t, x), each * gb_exec_blocks(t) * sizeof(gb_word));
}

void gb_exec_begin_item (gb_xthread *t) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    size_t per = x->slots * x->cols * x->words;
    if (x->reach == GB_REACH_ROW) {
      gb_exec_identity(p, x, gb_exec_part(t, x), per * GB_TI * gb_exec_blocks(t));
      if (x->outer && !p->f->symmetric) gb_exec_exchange_rows(t, x, false);
    } else if (x->reach == GB_REACH_ALL) begin_all(t, x);
    else if (x->reach == GB_REACH_COL && p->strip)
      gb_exec_identity(p, x, gb_exec_part(t, x), per * ((t->item_lanes + GB_SUPER - 1) / GB_SUPER));
  }
}

void gb_exec_begin_rows (gb_xthread *t) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    if (x->reach != GB_REACH_ROW) continue;
    if (x->how == GB_HOW_SELECT) {
      gb_exec_select_begin(t, x);
      continue;
    }
    size_t n = x->slots * x->cols * GB_TI;
    gb_exec_fill(p->compute, gb_exec_row_state(t, x, x->chain), n, gb_exec_monoid(x));
    if (x->how == GB_HOW_LSE) gb_exec_fill(p->compute, gb_exec_row_state(t, x, x->chain2), n, GB_SUM);
  }
}

void gb_exec_begin_columns (gb_xthread *t, size_t from, size_t n) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    size_t group = x->cols * GB_LANES;
    bool row = x->reach == GB_REACH_ROW && p->f->symmetric;
    if (!row && (x->reach != GB_REACH_COL || p->strip)) continue;
    for (size_t s = 0; s < x->slots; s++) {
      size_t first = s * GB_CANON + from, at = first * group * p->size;
      if (x->how == GB_HOW_SELECT)
        gb_exec_identity(p, x, (gb_word *)(t->ws + x->chain) + first * x->words, n * x->words);
      else gb_exec_fill(p->compute, t->ws + (row ? x->mirror : x->chain) + at, n * group, gb_exec_monoid(x));
      if (x->how == GB_HOW_LSE) gb_exec_fill(p->compute, t->ws + x->chain2 + at, n * group, GB_SUM);
    }
  }
}

/* -- rows */

static void flush_pairs (gb_xthread *t, gb_xout *x, gb_word *part, size_t n) {
  const gb_xprog *p = t->p;
  const char *m = gb_exec_row_state(t, x, x->chain), *s = gb_exec_row_state(t, x, x->chain2);
  for (size_t i = 0; i < n; i++) {
    gb_word w[2];
    if (p->compute == GB_F32) {
      w[0].f = (double)((const float *)m)[i];
      w[1].f = (double)((const float *)s)[i];
    } else {
      w[0].f = ((const double *)m)[i];
      w[1].f = ((const double *)s)[i];
    }
    gb_exec_absorb(p, x, part + 2 * i, w);
  }
}

/* The row chains of a block, over one chunk, into the totals of the item. */
void gb_exec_flush_rows (gb_xthread *t) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    if (x->reach != GB_REACH_ROW) continue;
    size_t n = x->slots * x->cols * GB_TI;
    void *chain = gb_exec_row_state(t, x, x->chain);
    gb_word *part = gb_exec_part(t, x) + (size_t)t->block * n * x->words;
    if (x->how == GB_HOW_LSE) flush_pairs(t, x, part, n);
    else if (x->how == GB_HOW_SELECT) gb_exec_select_flush(t, x);
    else if (gb_exec_monoid(x) == GB_SUM && p->compute == GB_F32) p->isa->flush_f32(n, chain, &part->f);
    else if (gb_exec_monoid(x) == GB_SUM && p->compute == GB_F64) p->isa->flush_f64(n, chain, &part->f);
    else gb_exec_absorb_chains(p, x, part, chain, n);
  }
}

/* -- columns */

static void fold_pair (const gb_xprog *p, char *m, char *s) {
  const gb_dtype compute = p->compute;
  const gb_arg none = {NULL, GB_FORM_ONE};
  gb_word w[2] = {{-INFINITY}, {0}};
  for (size_t l = 0; l < GB_LANES; l++) {
    double v = compute == GB_F32 ? (double)((float *)m)[l] : ((double *)m)[l];
    if (v > w[0].f || v != v) w[0].f = v;
  }
  double shift = isinf(w[0].f) ? 0 : w[0].f, e[GB_LANES];
  for (size_t l = 0; l < GB_LANES; l++)
    e[l] = (compute == GB_F32 ? (double)((float *)m)[l] : ((double *)m)[l]) - shift;
  p->isa->f64.map(GB_OP_EXP, GB_FORM_TILE, GB_LANES, e, (gb_arg){e, GB_FORM_TILE}, none, none);
  for (size_t l = 0; l < GB_LANES; l++)
    e[l] *= compute == GB_F32 ? (double)((float *)s)[l] : ((double *)s)[l];
  w[1] = gb_exec_fold_lanes(GB_F64, GB_SUM, e);
  memcpy(m, w, sizeof w);
}

static void fold_one (gb_xthread *t, gb_xout *x, size_t chain, size_t from, size_t rows) {
  const gb_xprog *p = t->p;
  size_t group = GB_LANES * p->size, n = rows * x->cols;
  for (size_t s = 0; s < x->slots; s++) {
    char *lanes = t->ws + chain + (s * GB_CANON + from) * x->cols * group;
    if (x->how != GB_HOW_LSE && gb_exec_monoid(x) == GB_SUM && p->compute == GB_F32) {
      p->isa->fold_f32(n, (float *)lanes);
      continue;
    }
    for (size_t c = 0; c < n; c++, lanes += group) {
      if (x->how == GB_HOW_LSE) fold_pair(p, lanes, lanes - chain + x->chain2);
      else {
        gb_word w = gb_exec_fold_lanes(p->compute, gb_exec_monoid(x), lanes);
        memcpy(lanes, &w, sizeof w);
      }
    }
  }
}

/* The virtual lanes of each column into one total at their own start. */
void gb_exec_fold_columns (gb_xthread *t, size_t from, size_t n) {
  const gb_xprog *p = t->p;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    if (x->reach == GB_REACH_COL && x->how != GB_HOW_SELECT) fold_one(t, x, x->chain, from, n);
    if (x->reach == GB_REACH_ROW && p->f->symmetric) fold_one(t, x, x->mirror, from, n);
  }
}
