/* chain_link.c - links of a chain: locations of their arguments, and slots of values that are read again. */
#include <assert.h>

#include "cpu/fold/chain.h"

/* -- links and places */

/* The table has room for any program. If it were full, the chain would not fit and its operations would run
** one by one. */
gb_xlink *gb_chain_link (gb_xchainer *c, gb_link_kind kind) {
  gb_xprog *p = c->p;
  if (p->nlinks + c->nlinks == p->most_links) c->fits = false;
  gb_xlink *l = c->writing && c->fits ? &p->link[p->nlinks + c->nlinks] : &c->nowhere;
  c->nlinks += c->fits;
  *l = (gb_xlink){.link.kind = kind, .b = {-1, -1}, .c = -1, .loop = c->loop};
  c->front = NULL;
  return l;
}

void gb_chain_place (gb_xlink *l, int arg, gb_source source, int n, gb_form form, size_t row) {
  l->from[arg] = source;
  l->number[arg] = n;
  l->link.arg[arg] = (gb_link_place){.row = row, .form = form};
}

/* Rows of packs, operands and outputs are those of the part that runs (gb_exec_fit_links). */
void gb_chain_place_pack (gb_xlink *l, int arg, int pack, gb_form form) {
  gb_chain_place(l, arg, GB_FROM_PACK, pack, form == GB_FORM_ONE ? GB_FORM_TILE : form, 0);
}

/* A tile of an operand, read in place. */
void gb_chain_place_operand (gb_xlink *l, int arg, int operand) {
  gb_chain_place(l, arg, GB_FROM_OPERAND, operand, GB_FORM_FULL, 0);
}

/* Value 'v' in memory. */
void gb_chain_place_value (gb_xchainer *c, gb_xlink *l, int arg, int v) {
  gb_xvalue *x = &c->p->value[v];
  gb_form form = x->form == GB_FORM_ONE ? GB_FORM_TILE : x->form;
  size_t row = form == GB_FORM_FULL ? GB_TI : x->form == GB_FORM_TILE;
  x->again = true;
  assert(!c->writing || x->where != GB_IN_SLOT || x->slot >= 0);
  if (x->where == GB_IN_SLOT) gb_chain_place(l, arg, GB_FROM_SLOT, x->slot, GB_FORM_FULL, 0);
  else if (x->where == GB_IN_PACK) gb_chain_place_pack(l, arg, x->slot, form);
  else if (x->where == GB_IN_OPERAND) gb_chain_place_operand(l, arg, x->slot);
  else gb_chain_place(l, arg, GB_FROM_VALUE, v, form, row * c->p->size);
}

void gb_chain_add_front (gb_xchainer *c, const gb_xop *op) {
  const gb_ins *i = op->front != NULL ? op->front : op->ins;
  gb_link_kind kind = i->kind == GB_INS_DOT ? GB_LINK_DOT : op->pw >= 0 ? GB_LINK_SQDIST_BY : GB_LINK_SQDIST;
  gb_xlink *l = gb_chain_link(c, kind);
  l->link.n = c->p->f->axis[i->axis].extent;
  gb_chain_place_pack(l, 0, op->px, GB_FORM_LANE);
  gb_chain_place_pack(l, 1, op->py, GB_FORM_TILE);
  if (op->pw >= 0) gb_chain_place_pack(l, 2, op->pw, GB_FORM_ONE);
  c->front = l;
}

/* A step that hands the running value to 'x', whose chains or memory are argument 'arg'. */
gb_xlink *gb_chain_sink (gb_xchainer *c, gb_link_kind kind, const gb_xout *x, int arg, gb_source source) {
  gb_xlink *l = gb_chain_link(c, kind);
  bool columns = source == GB_FROM_COLUMNS || source == GB_FROM_MIRROR;
  l->link.n = x->cols;
  l->link.monoid = gb_exec_monoid(x);
  l->link.mirror = source == GB_FROM_MIRROR;
  gb_chain_place(l, arg, source, (int)(x - c->p->out), GB_FORM_FULL,
                 columns ? x->cols * GB_LANES * c->p->size : 0);
  return l;
}

void gb_chain_run_value (gb_xchainer *c, int v) {
  if (c->now != v) gb_chain_place_value(c, gb_chain_link(c, GB_LINK_READ), 0, v);
  c->now = v;
}

/* -- slots */

void gb_chain_take_slot (gb_xchainer *c, int v) {
  gb_xvalue *x = &c->p->value[v];
  if (c->spare >= 0) {
    x->slot = c->spare;
    c->spare = c->slot_next[x->slot];
  } else if (c->nslots < GB_MOST_SLOTS) x->slot = c->nslots++;
  else c->fits = false;
  if (c->fits) c->slot_value[x->slot] = v;
}

/* A slot is free after its last reader. */
void gb_chain_drop_slot (gb_xchainer *c, int v, const gb_ins *reader) {
  if (v < 0) return;
  gb_xvalue *x = &c->p->value[v];
  if (x->where != GB_IN_SLOT || x->slot < 0 || x->last > reader - c->p->f->ins) return;
  c->slot_next[x->slot] = c->spare;
  c->spare = x->slot;
  x->slot = -1;
}

void gb_chain_keep (gb_xchainer *c, int v) {
  gb_xvalue *x = &c->p->value[v];
  if (!x->again) return;
  bool loops = x->slot >= 0; /* an accumulator has a slot since the start of its loop */
  if (x->where == GB_IN_SLOT && !loops) gb_chain_take_slot(c, v);
  if (!c->fits) return;
  bool of_front = c->front != NULL && c->front->link.kind == GB_LINK_SQDIST && x->where == GB_IN_SLOT;
  if (of_front) gb_chain_place_value(c, c->front, 3, v);
  else gb_chain_place_value(c, gb_chain_link(c, GB_LINK_WRITE), 0, v);
}
