/* chain.c - runs of tile instructions as chains of steps (isa.h), the running value in registers: planned
** once a fold, given slots once a thread, bound to addresses once a tile.
**
** Only whole blocks of lanes run as chains; in a ragged one every instruction goes over the tile by itself
** (interpret.c). chain_plan.c turns instructions into links, chain_super.c several of them into one. */
#include <string.h>

#include "cpu/fold/chain.h"

/* Maximal runs of level FULL; a single step gains nothing. A chain contains a loop whole or not at all. */
void gb_exec_plan_chains (gb_xprog *p) {
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  int n = p->ncode[GB_FORM_FULL];
  if (gb_cpu_fold_no_templates || p->compute == GB_I64 || p->strip || p->lane < 0 || p->fused) return;
  for (int first = 0, end; first < n; first = end) {
    int steps = 0, past;
    for (end = first; end < n && (past = gb_chain_past(p, op, end)) > end; end = past) steps++;
    if (steps >= 2) gb_chain_plan(p, op, first, end);
    if (end == first) end = op[first].kind == GB_INS_LOOP ? op[first].jump + 1 : first + 1;
  }
}

/* -- a part of the fold */

static size_t row_of (const gb_xprog *p, gb_source from, int number) {
  const gb_xpack *k = &p->pack[number];
  if (from == GB_FROM_OPERAND) return (size_t)p->f->operand[number].stride[p->tile];
  if (from == GB_FROM_OUT) return (size_t)p->f->out[number].stride[p->tile];
  return k->layout == GB_PACK_ROWS ? k->row : k->layout == GB_PACK_COLS;
}

void gb_exec_fit_links (gb_xprog *p) {
  for (int n = 0; n < p->nlinks; n++) {
    gb_xlink *l = &p->link[n];
    for (int k = 0; k < 4; k++) {
      const gb_source from = l->from[k];
      if (from != GB_FROM_PACK && from != GB_FROM_OPERAND && from != GB_FROM_OUT) continue;
      l->link.arg[k].row = row_of(p, from, l->number[k]) * p->size;
      if (from == GB_FROM_PACK && l->loop >= 0)
        l->link.arg[k].again = p->pack[l->number[k]].step[l->loop] * p->size;
    }
  }
}

/* -- a thread */

static gb_link *links_of (const gb_xthread *t) { return (gb_link *)(t->ws + t->p->links); }

static bool has_constants (const gb_link *l) {
  return l->kind >= GB_LINK_RADIAL && l->kind <= GB_LINK_RADIAL_WITH;
}

/* Fills the fields of links that stay fixed for the thread. Constants match b and alpha from the start, also
** if these are 0. */
void gb_exec_begin_chains (gb_xthread *t) {
  const gb_xprog *p = t->p;
  for (int n = 0; n < p->nlinks; n++) {
    gb_link *l = &links_of(t)[n];
    *l = p->link[n].link;
    for (int k = 0; k < 4; k++)
      if (p->link[n].from[k] == GB_FROM_SLOT)
        l->arg[k].at = t->ws + p->slots + (size_t)p->link[n].number[k] * GB_CHAIN_ROWS * GB_TI * p->size;
    p->k->link_step(l);
    if (has_constants(l)) p->k->link_constants(l);
  }
}

static char *out_at (const gb_xthread *t, const gb_xout *x) {
  const gb_out *o = x->o;
  ptrdiff_t at = o->offset + (ptrdiff_t)(t->lane0 + (size_t)t->block * GB_TI) +
                 (ptrdiff_t)t->tile0 * o->stride[t->p->tile];
  for (int a = 0; a < t->p->f->naxes; a++) at += (ptrdiff_t)t->idx[a] * o->stride[a];
  return (char *)t->outbase[o->slot] + at * (ptrdiff_t)t->p->size;
}

static char *address (gb_xthread *t, gb_source source, int n) {
  const gb_xprog *p = t->p;
  switch (source) {
    case GB_FROM_VALUE: return t->ptr[n];
    case GB_FROM_PACK: return (char *)gb_exec_pack_at(t, n);
    case GB_FROM_OPERAND:
      return (char *)gb_exec_operand_at(t, n, t->lane0 + (size_t)t->block * GB_TI, t->tile0);
    case GB_FROM_ROWS: return gb_exec_row_state(t, &p->out[n], p->out[n].chain);
    case GB_FROM_COLUMNS: return gb_exec_column_chain(t, &p->out[n], p->out[n].chain, 0);
    case GB_FROM_MIRROR: return gb_exec_column_chain(t, &p->out[n], p->out[n].mirror, 0);
    case GB_FROM_LANES: return t->ws + p->out[n].groups;
    default: return out_at(t, &p->out[n]);
  }
}

/* Sets the addresses of the current tile, and the constants of profiles whose numbers have changed. */
static void bind (gb_xthread *t, const gb_xlink *x, gb_link *l) {
  for (int k = 0; k < 4; k++)
    if (x->from[k] > GB_FROM_SLOT) l->arg[k].at = address(t, x->from[k], x->number[k]);
  if (!has_constants(l)) return;
  const double b[2] = {gb_exec_scalar(t, x->b[0]), gb_exec_scalar(t, x->b[1])},
               alpha = gb_exec_scalar(t, x->c);
  if (memcmp(b, l->b, sizeof b) == 0 && memcmp(&alpha, &l->alpha, sizeof alpha) == 0) return;
  memcpy(l->b, b, sizeof b);
  l->alpha = alpha;
  t->p->k->link_constants(l);
}

bool gb_exec_chain_runs (const gb_xthread *t) { return t->valid == GB_TI; }

/* 'nj' rows of the current block. Outputs that reduce both axes get groups of GB_TJ rows, each absorbed
** separately. */
void gb_exec_run_chain (gb_xthread *t, const gb_xchain *c) {
  enum { GROUPS = GB_CANON / GB_TJ };
  const gb_xprog *p = t->p;
  const int number = (int)(c - p->chain) + 1;
  gb_link *l = links_of(t) + c->link;
  for (int n = 0; n < c->nlinks; n++) bind(t, &p->link[c->link + n], &l[n]);
  for (int o = 0; o < p->f->nouts && c->by_row; o++)
    if (p->out[o].grouped == number) memset(t->ws + p->out[o].groups, 0, GROUPS * GB_LANES * p->size);
  p->k->chain(l, t->nj, t->mirrored, c->by_row);
  for (int o = 0; o < p->f->nouts && c->by_row; o++) {
    gb_xout *x = &p->out[o];
    size_t groups = (size_t)(t->nj + GB_TJ - 1) / GB_TJ;
    if (x->grouped == number) gb_exec_absorb_groups(t, x, t->ws + x->groups, groups);
  }
}
