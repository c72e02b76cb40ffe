/* exec_lse.c - log of a sum of exponentials: running maximum and sum of exp(t - maximum), a pair a chain.
**
** Infinities: while the maximum is infinite the exponents are taken as they are, so that exp(-inf) adds
** nothing and +inf shows in the maximum; a NaN shows in the maximum and stays. Chains advance by a fixed
** number of rows, whatever the tile. */
#include <math.h>
#include <string.h>

#include "cpu/exec.h"

static const gb_arg none = {NULL, GB_FORM_ONE};

/* dst = x, with 0 for infinities. */
static void finite_or_zero (gb_dtype compute, void *dst, const void *src, size_t n) {
  if (compute == GB_F32) {
    const float *s = src;
    for (size_t i = 0; i < n; i++) ((float *)dst)[i] = isinf(s[i]) ? 0 : s[i];
  } else {
    const double *s = src;
    for (size_t i = 0; i < n; i++) ((double *)dst)[i] = isinf(s[i]) ? 0 : s[i];
  }
}

/* s = s * exp(old - shift) */
static void rescale (const gb_isa_kernels *k, gb_form form, int nj, void *s, const void *old, gb_arg shift,
                     void *room) {
  gb_arg r = {room, form};
  k->map(GB_OP_SUB, form, nj, room, (gb_arg){old, form}, shift, none);
  k->map(GB_OP_EXP, form, nj, room, r, none, none);
  k->map(GB_OP_MUL, form, nj, s, (gb_arg){s, form}, r, none);
}

/* GB_TJ rows at a time into a maximum and a sum a lane. */
static void by_rows (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  const gb_xprog *p = t->p;
  size_t width = GB_TI * p->size;
  char *m = gb_exec_row_state(t, x, x->chain) + slot * width, *s = gb_exec_row_state(t, x, x->chain2) + slot * width;
  char *now = t->ws + p->small, *shift = now + width, *room = shift + width, *e = t->ws + p->temp[1];
  for (int j = 0; j < t->nj; j += GB_TJ) {
    int n = t->nj - j < GB_TJ ? t->nj - j : GB_TJ;
    const char *rows = tile + (size_t)j * width;
    memcpy(now, m, width);
    p->k->reduce_row(GB_MAXIMUM, n, rows, now);
    finite_or_zero(p->compute, shift, now, GB_TI);
    rescale(p->k, GB_FORM_LANE, 1, s, m, (gb_arg){shift, GB_FORM_LANE}, room);
    p->k->map(GB_OP_SUB, GB_FORM_FULL, n, e, (gb_arg){rows, GB_FORM_FULL}, (gb_arg){shift, GB_FORM_LANE},
              none);
    p->k->map(GB_OP_EXP, GB_FORM_FULL, n, e, (gb_arg){e, GB_FORM_FULL}, none, none);
    p->k->reduce_row(GB_SUM, n, e, s);
    memcpy(m, now, width);
  }
}

/* A maximum and a sum a virtual lane of each row; GB_LANES lanes of all rows at a time, seen as a narrower
** tile. */
static void by_columns (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  const gb_xprog *p = t->p;
  size_t width = GB_LANES * p->size, at = (slot * GB_CANON + (t->tile0 - t->chunk0)) * width;
  size_t rows = ((size_t)t->nj + 3) / 4 * 4;
  char *m = t->ws + x->chain + at, *s = t->ws + x->chain2 + at;
  char *part = t->ws + p->temp[1], *now = part + rows * width, *shift = now + rows * width,
       *room = shift + rows * width;
  int n = (int)(rows * GB_LANES / GB_TI);
  const gb_arg by = {shift, GB_FORM_FULL}, v = {part, GB_FORM_FULL};
  for (size_t q = 0; q < GB_TI / GB_LANES; q++) {
    for (size_t j = 0; j < (size_t)t->nj; j++) memcpy(part + j * width, tile + (j * 4 + q) * width, width);
    gb_exec_fill(p->compute, part + (size_t)t->nj * width, (rows - (size_t)t->nj) * GB_LANES, GB_LSE);
    p->k->map(GB_OP_MAXIMUM, GB_FORM_FULL, n, now, v, (gb_arg){m, GB_FORM_FULL}, none);
    finite_or_zero(p->compute, shift, now, rows * GB_LANES);
    rescale(p->k, GB_FORM_FULL, n, s, m, by, room);
    p->k->map(GB_OP_SUB, GB_FORM_FULL, n, part, v, by, none);
    p->k->map(GB_OP_EXP, GB_FORM_FULL, n, part, v, none, none);
    p->k->map(GB_OP_ADD, GB_FORM_FULL, n, s, (gb_arg){s, GB_FORM_FULL}, v, none);
    memcpy(m, now, rows * width);
  }
}

/* 'step' rows at a time into one pair, by the virtual lanes. */
static void by_groups (gb_xthread *t, gb_xout *x, const char *tile, int step, gb_word *part, size_t stride) {
  const gb_xprog *p = t->p;
  size_t width = GB_TI * p->size;
  char *e = t->ws + p->temp[1];
  tile = gb_exec_masked(t, tile, t->nj, GB_LSE);
  for (int j = 0; j < t->nj; j += step, part += stride) {
    _Alignas(64) double lanes[GB_LANES], shift[1];
    int n = t->nj - j < step ? t->nj - j : step;
    gb_word w[2];
    gb_exec_fill(p->compute, lanes, GB_LANES, GB_MAXIMUM);
    p->k->reduce_all(GB_MAXIMUM, n, tile + (size_t)j * width, lanes);
    w[0] = gb_exec_fold_lanes(p->compute, GB_MAXIMUM, lanes);
    double by = isinf(w[0].f) ? 0 : w[0].f;
    gb_exec_store_run(shift, p->compute, 1, &by, GB_F64, 1, 1);
    p->k->map(GB_OP_SUB, GB_FORM_FULL, n, e, (gb_arg){tile + (size_t)j * width, GB_FORM_FULL},
              (gb_arg){shift, GB_FORM_ONE}, none);
    p->k->map(GB_OP_EXP, GB_FORM_FULL, n, e, (gb_arg){e, GB_FORM_FULL}, none, none);
    gb_exec_fill(p->compute, lanes, GB_LANES, GB_SUM);
    p->k->reduce_all(GB_SUM, n, e, lanes);
    w[1] = gb_exec_fold_lanes(p->compute, GB_SUM, lanes);
    gb_exec_absorb(p, x, part, w);
  }
}

void gb_exec_lse (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  gb_word *part = gb_exec_part(t, x);
  if (x->reach == GB_REACH_ROW) by_rows(t, x, slot, tile);
  else if (x->reach == GB_REACH_ALL)
    by_groups(t, x, tile, GB_TJ, part + ((size_t)t->block * x->slots + slot) * 2, 0);
  else if (t->p->strip)
    by_groups(t, x, tile, GB_BLOCKS, part + (gb_exec_super(t, 0) * x->slots + slot) * 2, x->slots * 2);
  else by_columns(t, x, slot, gb_exec_masked(t, tile, t->nj, GB_LSE));
}
