/* accumulate_lse.c - log of a sum of exponentials: each chain is a pair (lse.inc): the running maximum, and
** the sum of exp(t - maximum). */
#include <math.h>

#include "cpu/fold/fold.h"

static const gb_arg none = {NULL, GB_FORM_ONE};

/* One maximum and one sum per lane. */
static void by_rows (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  const size_t at = slot * GB_TI * t->p->size;
  t->p->k->lse_row(t->nj, tile, gb_exec_row_state(t, x, x->chain) + at,
                   gb_exec_row_state(t, x, x->chain2) + at);
}

/* One maximum and one sum per virtual lane of each row. */
static void by_columns (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  t->p->k->lse_col(t->nj, tile, gb_exec_column_chain(t, x, x->chain, slot),
                   gb_exec_column_chain(t, x, x->chain2, slot));
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
