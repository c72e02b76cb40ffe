/* chain.h - a chain of steps (isa.h) while it is planned; private to chain*.c.
**
** Every operation of the chain is turned into links in the order of the program. The running value is in
** registers; a value that is read after it has left the registers is kept in a slot or, if it is read after
** the chain, in its tile register. There are two passes: the first finds the values that are read from memory
** (gb_xvalue.again), the second writes and places the links. Both take linear time. */
#ifndef GB_CPU_FOLD_CHAIN_H
#define GB_CPU_FOLD_CHAIN_H

#include "cpu/fold/fold.h"

typedef struct gb_xchainer {
  gb_xprog *p;
  const gb_xop *op;          /* of level FULL */
  int first, end;            /* the operations of the chain */
  int now;                   /* value in registers, -1 = none */
  int deferred;              /* operation that the next step includes, -1 = none */
  int loop;                  /* axis of the enclosing loop, -1 = none */
  bool writing, fits;        /* in the second pass; the chain can be planned so far */
  int nlinks, nslots, spare; /* spare: first of a list of free slots, through slot_next, -1 = none */
  int slot_next[GB_MOST_SLOTS];
  int slot_value[GB_MOST_SLOTS]; /* the last value to take the slot */
  gb_xlink nowhere, *front;      /* nowhere: links of the first pass; front: the last link, if it is one */
} gb_xchainer;

static inline gb_form gb_chain_form (const gb_xchainer *c, int v) {
  return v < 0 ? GB_FORM_ONE : c->p->value[v].form;
}
static inline bool gb_chain_is_map (const gb_xop *op, gb_op which) {
  return op->kind == GB_INS_MAP && op->ins->op == which;
}
/* True if 'v' is computed by an operation of the chain. */
static inline bool gb_chain_makes (const gb_xchainer *c, int v) {
  const int n = c->p->value[v].made;
  return n >= c->first && n < c->end && c->op[n].ins->dst == v;
}

/* chain_plan.c. past: the index after the operation at 'n' (a loop counts as one), or 'n' if a chain cannot
** contain it. plan: operations [first, end), which a chain can contain; adds no chain if they do not fit.
** define: 'v' becomes the running value. */
int gb_chain_past (const gb_xprog *p, const gb_xop *op, int n);
void gb_chain_plan (gb_xprog *p, const gb_xop *op, int first, int end);
void gb_chain_define (gb_xchainer *c, int v);

/* chain_link.c. A link may be filled until the next is added. run_value: makes 'v' the running value, read
** from memory if necessary. keep: stores the running value 'v' if it is read again. drop_slot: 'reader' has
** read 'v'. */
gb_xlink *gb_chain_link (gb_xchainer *c, gb_link_kind kind);
void gb_chain_place (gb_xlink *l, int arg, gb_source source, int n, gb_form form, size_t row);
void gb_chain_place_pack (gb_xlink *l, int arg, int pack, gb_form form);
void gb_chain_place_operand (gb_xlink *l, int arg, int operand);
void gb_chain_place_value (gb_xchainer *c, gb_xlink *l, int arg, int v);
gb_xlink *gb_chain_sink (gb_xchainer *c, gb_link_kind kind, const gb_xout *x, int arg, gb_source source);
void gb_chain_add_front (gb_xchainer *c, const gb_xop *op);
void gb_chain_run_value (gb_xchainer *c, int v);
void gb_chain_take_slot (gb_xchainer *c, int v);
void gb_chain_drop_slot (gb_xchainer *c, int v, const gb_ins *reader);
void gb_chain_keep (gb_xchainer *c, int v);

/* chain_super.c. add: returns true if it added a step. is_elsewhere, is_deferred: another step includes
** operation 'n'. */
bool gb_chain_is_elsewhere (const gb_xchainer *c, int n);
bool gb_chain_is_deferred (const gb_xchainer *c, int n);
bool gb_chain_add_join (gb_xchainer *c, int n);
bool gb_chain_add_with (gb_xchainer *c, const gb_ins *i);
bool gb_chain_add_shifted (gb_xchainer *c, int n);
bool gb_chain_add_product (gb_xchainer *c, const gb_ins *i);
bool gb_chain_add_both_sides (gb_xchainer *c, gb_xout *x, int v);

#endif
