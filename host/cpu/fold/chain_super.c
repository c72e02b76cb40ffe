/* chain_super.c - steps that do the work of several operations of a chain: products of one element a side,
** two profiles joined, profiles joined with the running value, shifted reciprocals and roots, both sides
** of a difference.
**
** An operation is omitted only if the step of its one reader, in the chain and outside loops, does its work,
** with the bits of the separate operations. */
#include "cpu/fold/chain.h"

/* The operation of the chain, outside loops, whose result 'v' has one reader; -1 = none. */
static int maker (const gb_xchainer *c, int v) {
  if (v < 0 || c->loop >= 0 || !gb_chain_makes(c, v)) return -1;
  return c->p->value[v].uses == 1 ? c->p->value[v].made : -1;
}

/* The only reader of the result of operation 'n'; -1 = none in the chain outside loops. */
static int reader (const gb_xchainer *c, int n) {
  const int v = c->op[n].ins->dst;
  return maker(c, v) == n ? c->p->value[v].reader : -1;
}

static bool is_number (const gb_xchainer *c, int v) {
  return v < 0 || (c->p->value[v].level == GB_FORM_ONE && c->p->value[v].form == GB_FORM_ONE);
}

static bool is_join_op (const gb_xop *op) {
  return gb_chain_is_map(op, GB_OP_ADD) || gb_chain_is_map(op, GB_OP_MUL);
}

/* -- products of one LANE and one TILE element */

/* True for such a product whose reader multiplies it by another value. */
static bool is_outer (const gb_xchainer *c, int n) {
  const gb_xop *op = &c->op[n];
  if (op->kind != GB_INS_DOT || c->p->f->axis[op->ins->axis].extent != 1) return false;
  int m = reader(c, n);
  return m >= 0 && gb_chain_is_map(&c->op[m], GB_OP_MUL) && c->op[m].ins->a != c->op[m].ins->b;
}

bool gb_chain_add_product (gb_xchainer *c, const gb_ins *i) {
  int a = maker(c, i->a), b = maker(c, i->b);
  bool first = a >= 0 && is_outer(c, a), second = b >= 0 && is_outer(c, b);
  if (!first && !second) return false;
  const gb_xop *outer = &c->op[first ? a : b];
  if (first && second) gb_chain_add_front(c, &c->op[b]);
  else gb_chain_run_value(c, first ? i->b : i->a);
  gb_xlink *l = gb_chain_link(c, GB_LINK_MUL_DOT);
  gb_chain_place_pack(l, 0, outer->px, GB_FORM_LANE);
  gb_chain_place_pack(l, 1, outer->py, GB_FORM_TILE);
  return true;
}

/* -- profiles joined by a sum or a product */

/* One side of a join: a profile, times a number or not. Numbers of the operations; number of the scaling
** value; -1 = none. */
typedef struct half {
  int radial, scale, number;
} half;

static bool is_half (const gb_xchainer *c, int v, half *h) {
  int m = maker(c, v);
  *h = (half){.radial = m, .scale = -1, .number = -1};
  if (m >= 0 && gb_chain_is_map(&c->op[m], GB_OP_MUL)) {
    const gb_ins *i = c->op[m].ins;
    bool first = is_number(c, i->a);
    h->scale = m;
    h->number = first ? i->a : i->b;
    if (!is_number(c, h->number)) return false;
    h->radial = maker(c, first ? i->b : i->a);
  }
  if (h->radial < 0 || c->op[h->radial].kind != GB_INS_RADIAL) return false;
  const gb_ins *r = c->op[h->radial].ins;
  return r->order == 0 && r->dalpha == 0 && r->profile != GB_RQ;
}

/* Operation 'n' joins two profiles of one distance, in ascending order. */
static bool is_join (const gb_xchainer *c, int n, half h[2]) {
  const gb_xop *op = &c->op[n];
  if (!is_join_op(op)) return false;
  if (!is_half(c, op->ins->a, &h[0]) || !is_half(c, op->ins->b, &h[1])) return false;
  const gb_ins *r = c->op[h[0].radial].ins, *r2 = c->op[h[1].radial].ins;
  if (op->ins->op == GB_OP_MUL && (h[0].number >= 0 || h[1].number >= 0)) return false;
  if (r->a != r2->a || r == r2 || c->p->value[op->ins->dst].crosses) return false;
  if (r->profile > r2->profile) {
    half t = h[0];
    h[0] = h[1];
    h[1] = t;
  }
  return true;
}

/* The join that contains operation 'n': itself, or a join that reads it directly or through a multiplication
** by a number; -1 = none. */
static int join_of (const gb_xchainer *c, int n, half h[2]) {
  if (is_join(c, n, h)) return n;
  if (c->op[n].kind != GB_INS_RADIAL && !gb_chain_is_map(&c->op[n], GB_OP_MUL)) return -1;
  for (int m = reader(c, n), hops = 0; m >= 0 && hops < 2; m = reader(c, m), hops++) {
    if (!is_join(c, m, h)) continue;
    for (int k = 0; k < 2; k++)
      if (h[k].radial == n || h[k].scale == n) return m;
  }
  return -1;
}

/* A join runs at the position of its later profile, where the distance is still available. Returns true if
** operation 'n' belongs to a join. */
bool gb_chain_add_join (gb_xchainer *c, int n) {
  half h[2];
  const int m = join_of(c, n, h);
  if (m < 0) return false;
  if (n != (h[0].radial > h[1].radial ? h[0].radial : h[1].radial)) return true;
  const gb_ins *r[2] = {c->op[h[0].radial].ins, c->op[h[1].radial].ins};
  gb_chain_run_value(c, r[0]->a);
  gb_xlink *l = gb_chain_link(c, GB_LINK_RADIAL_PAIR);
  l->link.op = c->op[m].ins->op;
  l->link.profile = r[0]->profile;
  l->link.second = r[1]->profile;
  l->link.scaled = h[0].number >= 0 || h[1].number >= 0;
  for (int k = 0; k < 2; k++) {
    l->b[k] = r[k]->b;
    if (h[k].number >= 0) gb_chain_place_value(c, l, k, h[k].number);
  }
  gb_chain_define(c, c->op[m].ins->dst);
  gb_chain_drop_slot(c, r[0]->a, c->op[n].ins);
  return true;
}

/* A profile that the very next operation joins with the running value. */
bool gb_chain_is_deferred (const gb_xchainer *c, int n) {
  const gb_ins *i = c->op[n].ins;
  half h;
  if (c->op[n].kind != GB_INS_RADIAL || c->now < 0 || c->now == i->a || reader(c, n) != n + 1) return false;
  if (gb_chain_form(c, i->a) != GB_FORM_FULL) return false; /* this one is read row by row */
  const gb_xop *join = &c->op[n + 1];
  const int other = join->ins->a == i->dst ? join->ins->b : join->ins->a;
  return is_join_op(join) && other == c->now && is_half(c, i->dst, &h);
}

bool gb_chain_add_with (gb_xchainer *c, const gb_ins *i) {
  if (c->deferred < 0) return false;
  const gb_ins *r = c->op[c->deferred].ins;
  gb_xlink *l = gb_chain_link(c, GB_LINK_RADIAL_WITH);
  l->link.op = i->op;
  l->link.profile = r->profile;
  l->b[0] = r->b;
  gb_chain_place_value(c, l, 0, r->a);
  gb_chain_drop_slot(c, r->a, r);
  c->deferred = -1;
  return true;
}

/* -- shifted reciprocals and roots */

/* A value plus a number, of which the next operation takes the reciprocal or a root. */
static bool is_shift (const gb_xchainer *c, int n) {
  const gb_ins *i = c->op[n].ins;
  if (!gb_chain_is_map(&c->op[n], GB_OP_ADD) || is_number(c, i->a) == is_number(c, i->b)) return false;
  if (reader(c, n) != n + 1) return false;
  const gb_xop *next = &c->op[n + 1];
  return gb_chain_is_map(next, GB_OP_RECIP) || gb_chain_is_map(next, GB_OP_SQRT) ||
         gb_chain_is_map(next, GB_OP_RSQRT);
}

bool gb_chain_add_shifted (gb_xchainer *c, int n) {
  if (n == c->first || !is_shift(c, n - 1)) return false;
  const gb_ins *i = c->op[n - 1].ins;
  const bool first = is_number(c, i->a);
  gb_chain_run_value(c, first ? i->b : i->a);
  gb_xlink *l = gb_chain_link(c, GB_LINK_MAP_SHIFTED);
  l->link.op = c->op[n].ins->op;
  gb_chain_place_value(c, l, 0, first ? i->a : i->b);
  gb_chain_drop_slot(c, first ? i->b : i->a, i);
  return true;
}

bool gb_chain_is_elsewhere (const gb_xchainer *c, int n) { return is_outer(c, n) || is_shift(c, n); }

/* -- both sides of a difference */

/* The other half of the gradients of a distance: the same value, points and features, the other side. */
static gb_xout *other_side (const gb_xchainer *c, const gb_xout *x, int v) {
  if (c->p->f->symmetric) return NULL;
  for (int o = c->p->value[v].sink; o >= 0; o = c->p->out[o].next) {
    gb_xout *y = &c->p->out[o];
    bool same = y->px == x->px && y->py == x->py && !y->entered;
    if (same && y->how == GB_HOW_DIFF && y->reach != x->reach) return y;
  }
  return NULL;
}

/* 'v', the running value, into 'x' and the other side of it. */
bool gb_chain_add_both_sides (gb_xchainer *c, gb_xout *x, int v) {
  gb_xout *other = other_side(c, x, v);
  if (other == NULL) return false;
  other->entered = true;
  const gb_xout *row = x->reach == GB_REACH_ROW ? x : other, *col = row == x ? other : x;
  gb_xlink *l = gb_chain_sink(c, GB_LINK_DIFF_BOTH, row, 2, GB_FROM_ROWS);
  gb_chain_place_pack(l, 0, row->py, GB_FORM_LANE);
  gb_chain_place_pack(l, 1, row->px, GB_FORM_TILE);
  gb_chain_place(l, 3, GB_FROM_COLUMNS, (int)(col - c->p->out), GB_FORM_FULL,
                 col->cols * GB_LANES * c->p->size);
  return true;
}
