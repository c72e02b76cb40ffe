/* accumulate.c - a tile value into the chains of an output, or into its memory. */
#include <math.h>
#include <string.h>

#include "cpu/fold/fold.h"

#define FILL(T, v)                                                                                           \
  do {                                                                                                       \
    T *q = p;                                                                                                \
    for (size_t i = 0; i < n; i++) q[i] = (v);                                                               \
  } while (0)

/* The identity of the monoid; LSE takes that of its running maximum. */
void gb_exec_fill (gb_dtype compute, void *p, size_t n, gb_monoid m) {
  bool low = m == GB_MAXIMUM || m == GB_LSE, high = m == GB_MINIMUM, one = m == GB_PROD || m == GB_ALLTRUE;
  if (!low && !high && !one) memset(p, 0, n * (compute == GB_F32 ? 4 : 8));
  else if (compute == GB_F32) FILL(float, one ? 1 : low ? -INFINITY : INFINITY);
  else if (compute == GB_F64) FILL(double, one ? 1 : low ? -INFINITY : INFINITY);
  else FILL(int64_t, one ? 1 : low ? INT64_MIN : INT64_MAX);
}

static char *row_of (const gb_xthread *t, const void *tile, size_t j) {
  return (char *)tile + j * GB_TI * t->p->size;
}

/* The valid lanes of row 'j'. */
static size_t valid_of (const gb_xthread *t, size_t j) {
  if (!t->p->strip) return (size_t)t->valid;
  size_t rest = t->lanes - j * GB_TI;
  return rest < GB_TI ? rest : GB_TI;
}

static bool ragged (const gb_xthread *t) { return t->p->strip ? t->lanes % GB_TI != 0 : t->valid < GB_TI; }

/* The tile with the identity in invalid lanes. */
const void *gb_exec_masked (gb_xthread *t, const void *tile, int nj, gb_monoid m) {
  if (!ragged(t)) return tile;
  char *dst = t->ws + t->p->mask;
  memcpy(dst, tile, (size_t)nj * GB_TI * t->p->size);
  for (size_t j = 0; j < (size_t)nj; j++) {
    size_t valid = valid_of(t, j);
    if (valid < GB_TI) gb_exec_fill(t->p->compute, row_of(t, dst, j) + valid * t->p->size, GB_TI - valid, m);
  }
  return dst;
}

static const void *full (gb_xthread *t, int value) {
  const gb_xprog *p = t->p;
  gb_form form = p->value[value].form;
  const char *src = t->ptr[value];
  if (form == GB_FORM_FULL) return src;
  char *dst = t->ws + p->temp[0];
  for (size_t j = 0; j < (size_t)t->nj; j++) {
    if (form == GB_FORM_LANE) memcpy(row_of(t, dst, j), src, GB_TI * p->size);
    else
      gb_exec_load_run(p->compute, row_of(t, dst, j), src + (form == GB_FORM_TILE ? j * p->size : 0),
                       p->compute, 0, GB_TI);
  }
  return dst;
}

/* -- stores */

static void store (gb_xthread *t, const gb_xout *x, const void *tile) {
  const gb_xprog *p = t->p;
  const gb_out *o = x->o;
  ptrdiff_t size = (ptrdiff_t)gb_dtype_size(o->dtype), at = o->offset;
  ptrdiff_t lane = p->lane < 0 ? 0 : o->stride[p->lane], down = p->tile < 0 ? 0 : o->stride[p->tile];
  for (int a = 0; a < p->f->naxes; a++) at += (ptrdiff_t)t->idx[a] * o->stride[a];
  at += (ptrdiff_t)(t->lane0 + (size_t)t->block * GB_TI) * lane + (ptrdiff_t)t->tile0 * down;
  char *dst = (char *)t->outbase[o->slot] + at * size;
  if (dst == tile) return; /* written in place */
  if (p->strip) gb_exec_store_run(dst, o->dtype, lane, tile, p->compute, 1, t->lanes);
  else if (lane == 1 || down != 1)
    for (size_t j = 0; j < (size_t)t->nj; j++)
      gb_exec_store_run(dst + (ptrdiff_t)j * down * size, o->dtype, lane, row_of(t, tile, j), p->compute, 1,
                        (size_t)t->valid);
  else if (o->dtype == p->compute)
    gb_exec_transpose(t, (size_t)t->valid, (size_t)t->nj, tile, GB_TI, dst, lane);
  else
    for (size_t i = 0; i < (size_t)t->valid; i++)
      gb_exec_store_run(dst + (ptrdiff_t)i * lane * size, o->dtype, 1, (const char *)tile + i * p->size,
                        p->compute, GB_TI, (size_t)t->nj);
}

/* -- chains */

char *gb_exec_column_chain (const gb_xthread *t, const gb_xout *x, size_t base, size_t slot) {
  size_t row = slot * GB_CANON + (t->tile0 - t->chunk0);
  return t->ws + base + row * x->cols * GB_LANES * t->p->size;
}

static char *row_chain (const gb_xthread *t, const gb_xout *x, size_t slot) {
  return gb_exec_row_state(t, x, x->chain) + slot * x->cols * GB_TI * t->p->size;
}

static void absorb_lanes (gb_xthread *t, gb_xout *x, gb_word *into, const void *lanes) {
  gb_word w = gb_exec_fold_lanes(t->p->compute, gb_exec_monoid(x), lanes);
  gb_exec_absorb(t->p, x, into, &w);
}

/* One total for each GB_TI x GB_TJ tile; a mirrored tile, always a SUM, counts twice. */
static void absorb_tile (gb_xthread *t, gb_xout *x, gb_word *part, const void *lanes) {
  absorb_lanes(t, x, part, lanes);
  if (t->mirrored) absorb_lanes(t, x, part, lanes);
}

void gb_exec_absorb_groups (gb_xthread *t, gb_xout *x, void *lanes, size_t groups) {
  const gb_xprog *p = t->p;
  const size_t step = GB_LANES * p->size;
  gb_word *part = gb_exec_part(t, x) + (size_t)t->block * x->slots;
  if (p->compute == GB_F32) p->isa->fold_f32(groups, lanes);
  for (size_t g = 0; g < groups; g++) {
    gb_word w;
    if (p->compute == GB_F32) memcpy(&w, (const char *)lanes + g * step, sizeof w);
    else w = gb_exec_fold_lanes(p->compute, GB_SUM, (const char *)lanes + g * step);
    part->f += w.f;
    if (t->mirrored) part->f += w.f;
  }
}

static void chain_all (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  gb_monoid m = gb_exec_monoid(x);
  gb_word *part = gb_exec_part(t, x) + (size_t)t->block * x->slots + slot;
  tile = gb_exec_masked(t, tile, t->nj, m);
  for (int j = 0; j < t->nj; j += GB_TJ) {
    _Alignas(64) double lanes[GB_LANES];
    gb_exec_fill(p->compute, lanes, GB_LANES, m);
    p->k->reduce_all(m, t->nj - j < GB_TJ ? t->nj - j : GB_TJ, row_of(t, tile, (size_t)j), lanes);
    if (x->how == GB_HOW_CHAIN) absorb_tile(t, x, part, lanes);
    else absorb_lanes(t, x, part, lanes);
  }
}

/* A strip holds whole super-tiles: one partial total for each. */
static void chain_strip (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  gb_monoid m = gb_exec_monoid(x);
  tile = gb_exec_masked(t, tile, t->nj, m);
  for (int j = 0; j < t->nj; j += GB_BLOCKS) {
    _Alignas(64) double lanes[GB_LANES];
    gb_word *part = gb_exec_part(t, x) + gb_exec_super(t, (size_t)j) * x->slots + slot;
    gb_exec_fill(p->compute, lanes, GB_LANES, m);
    p->k->reduce_all(m, t->nj - j < GB_BLOCKS ? t->nj - j : GB_BLOCKS, row_of(t, tile, (size_t)j), lanes);
    absorb_lanes(t, x, part, lanes);
  }
}

/* An output that reduces OUTER axes only: every element is a separate total. */
static void chain_keep (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  size_t outer = 0;
  int64_t position = 1;
  for (int a = 0; a < p->f->naxes; a++) {
    outer += t->idx[a] * x->omul[a];
    position += (int64_t)(t->idx[a] * x->pmul[a]);
  }
  for (size_t j = 0; j < (size_t)t->nj; j++) {
    size_t valid = valid_of(t, j), row = p->strip ? 0 : t->tile0 + j;
    size_t lane = t->lane0 + (p->strip ? j : (size_t)t->block) * GB_TI;
    gb_word *total = x->total + (((outer * x->slots + slot) * p->ntile + row) * p->nlane + lane) * x->words;
    for (size_t i = 0; i < valid; i++, total += x->words)
      gb_exec_absorb_value(p, x, total, row_of(t, tile, j), i, position);
  }
}

static void chain (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_isa_kernels *k = t->p->k;
  gb_monoid m = gb_exec_monoid(x);
  switch (x->reach) {
    case GB_REACH_ROW:
      k->reduce_row(m, t->nj, tile, row_chain(t, x, slot));
      if (t->mirrored) k->reduce_col(m, t->nj, tile, gb_exec_column_chain(t, x, x->mirror, slot));
      break;
    case GB_REACH_COL:
      if (t->p->strip) chain_strip(t, x, slot, tile);
      else
        k->reduce_col(m, t->nj, gb_exec_masked(t, tile, t->nj, m),
                      gb_exec_column_chain(t, x, x->chain, slot));
      break;
    case GB_REACH_ALL: chain_all(t, x, slot, tile); break;
    default: chain_keep(t, x, slot, tile);
  }
}

/* -- right-hand sides and differences */

static void contract_strip (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  char *lanes = t->ws + x->chain;
  tile = gb_exec_masked(t, tile, t->nj, GB_SUM);
  for (int j = 0; j < t->nj; j += GB_BLOCKS) {
    int end = t->nj - j < GB_BLOCKS ? t->nj : j + GB_BLOCKS;
    gb_word *part = gb_exec_part(t, x) + (gb_exec_super(t, (size_t)j) * x->slots + slot) * x->cols;
    memset(lanes, 0, x->cols * GB_LANES * p->size);
    for (t->block = j; t->block < end; t->block++)
      p->k->contract_col(1, x->cols, row_of(t, tile, (size_t)t->block), gb_exec_pack_at(t, x->py), lanes);
    for (size_t r = 0; r < x->cols; r++) absorb_lanes(t, x, part + r, lanes + r * GB_LANES * p->size);
  }
  t->block = 0;
}

static void contract (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_isa_kernels *k = t->p->k;
  if (x->reach == GB_REACH_COL) {
    if (t->p->strip) contract_strip(t, x, slot, tile);
    else
      k->contract_col(t->nj, x->cols, gb_exec_masked(t, tile, t->nj, GB_SUM), gb_exec_pack_at(t, x->py),
                      gb_exec_column_chain(t, x, x->chain, slot));
    return;
  }
  k->contract_row(t->nj, x->cols, tile, gb_exec_pack_at(t, x->px), t->p->pack[x->px].row,
                  row_chain(t, x, slot));
  if (t->mirrored)
    k->contract_col(t->nj, x->cols, tile, gb_exec_pack_at(t, x->py),
                    gb_exec_column_chain(t, x, x->mirror, slot));
}

static void diff (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_isa_kernels *k = t->p->k;
  const void *xs = gb_exec_pack_at(t, x->py), *y = gb_exec_pack_at(t, x->px);
  size_t step = t->p->pack[x->px].row;
  if (x->reach == GB_REACH_COL)
    k->diff_col(t->nj, x->cols, gb_exec_masked(t, tile, t->nj, GB_SUM), xs, y, step,
                gb_exec_column_chain(t, x, x->chain, slot));
  else {
    k->diff_row(t->nj, x->cols, tile, xs, y, step, row_chain(t, x, slot));
    if (t->mirrored)
      k->diff_col(t->nj, x->cols, tile, xs, y, step, gb_exec_column_chain(t, x, x->mirror, slot));
  }
}

static gb_arg operand (gb_xthread *t, int number, int which) {
  const gb_xprog *p = t->p;
  gb_form form = gb_exec_form(p, number);
  char *at = form == GB_FORM_FULL ? t->ws + p->temp[1 + which]
                                  : t->ws + p->small + (size_t)which * GB_CANON * 8;
  gb_exec_load(t, number, form, at);
  return (gb_arg){at, form};
}

/* For contractions without a kernel: the product as a separate tile, then a plain sum. */
static void product_with (gb_xthread *t, gb_xout *x, const void *tile, int first, int second) {
  const gb_xprog *p = t->p;
  const gb_arg none = {NULL, GB_FORM_ONE};
  char *dst = t->ws + p->temp[1];
  gb_arg v = operand(t, first, 0);
  if (second >= 0) {
    gb_arg w = operand(t, second, 1);
    gb_form form = v.form | w.form;
    char *at = form == GB_FORM_FULL ? dst : t->ws + p->small + 2 * GB_CANON * 8;
    p->k->map(GB_OP_SUB, form, t->nj, at, v, w, none);
    v = (gb_arg){at, form};
  }
  p->k->map(GB_OP_MUL, GB_FORM_FULL, t->nj, dst, (gb_arg){tile, GB_FORM_FULL}, v, none);
  chain(t, x, gb_exec_slot(t, x), dst);
}

static void product (gb_xthread *t, gb_xout *x, const void *tile) {
  const gb_out *o = x->o;
  bool is_diff = o->kind == GB_OUT_DIFF;
  size_t n = o->axis < 0 ? 1 : t->p->f->axis[o->axis].extent;
  for (size_t q = 0; q < n; q++) {
    if (o->axis >= 0) t->idx[o->axis] = q;
    product_with(t, x, tile, o->x, is_diff ? o->y : -1);
    if (t->mirrored && x->reach == GB_REACH_ALL) product_with(t, x, tile, o->y >= 0 ? o->y : o->x, -1);
  }
  if (o->axis >= 0) t->idx[o->axis] = 0;
}

void gb_exec_accumulate (gb_xthread *t, int out, int value) {
  gb_xout *x = &t->p->out[out];
  const void *tile = full(t, value);
  size_t slot = gb_exec_slot(t, x);
  switch (x->how) {
    case GB_HOW_STORE: store(t, x, tile); break;
    case GB_HOW_CHAIN: chain(t, x, slot, tile); break;
    case GB_HOW_CONTRACT: contract(t, x, slot, tile); break;
    case GB_HOW_DIFF: diff(t, x, slot, tile); break;
    case GB_HOW_PRODUCT: product(t, x, tile); break;
    case GB_HOW_LSE:
      x->reach == GB_REACH_KEEP ? chain_keep(t, x, slot, tile) : gb_exec_lse(t, x, slot, tile);
      break;
    case GB_HOW_SELECT:
      x->reach == GB_REACH_KEEP ? chain_keep(t, x, slot, tile) : gb_exec_select(t, x, slot, tile);
      break;
  }
}
