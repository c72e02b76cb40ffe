/* exec_chain.c - consecutive instructions of a tile as a chain of steps (isa.h): planned once a fold, bound to
** addresses once a tile.
**
** The running value is in registers. A value read when it no longer runs has a slot of its own or, if it is read
** after the chain, its tile register. Only whole blocks of lanes run as chains; in a ragged one every instruction
** goes over the tile by itself. Planned twice: the first pass finds what is read from memory, the second writes
** the links. */
#include <assert.h>
#include <string.h>

#include "cpu/exec.h"

enum { MOST_COLUMNS = 4 };                /* more right-hand sides are better served from a tile, in blocks */

typedef struct plan {
  gb_xprog *p;
  const gb_xop *op;                       /* of level FULL */
  int first, end;                         /* the chain */
  int now;                                /* value in registers, -1 = none */
  int deferred;                           /* operation that the next join does, -1 = none */
  int loop;                               /* axis of the loop around, -1 = none */
  bool writing, fits;
  int nlinks, spare, nslots;              /* spare: first of a list of free slots, through slot_next */
  int slot_next[GB_MOST_SLOTS];
  gb_xlink nowhere, *front;               /* front: the link just written, if it is one */
} plan;

/* -- what a chain can hold ------------------------------------------------------------------------------- */

static gb_form form_of (const gb_xprog *p, int v) { return v < 0 ? GB_FORM_ONE : p->value[v].form; }

static bool is_item (const gb_xprog *p, int v) { return v < 0 || p->value[v].level == GB_FORM_ONE; }

static bool has_sink (const gb_xprog *p, const gb_xout *x) {
  const gb_out *o = x->o;
  gb_monoid m = gb_exec_monoid(x);
  if (x->slots != 1) return false;
  switch (x->how) {
    case GB_HOW_CONTRACT: return x->cols <= MOST_COLUMNS;
    case GB_HOW_DIFF: return true;
    case GB_HOW_STORE: return o->dtype == p->compute && o->stride[p->lane] == 1 && o->stride[p->tile] >= 0;
    case GB_HOW_CHAIN:
      if (x->reach == GB_REACH_ALL) return m == GB_SUM;
      return x->reach != GB_REACH_KEEP && (m == GB_SUM || m == GB_PROD || m == GB_MINIMUM || m == GB_MAXIMUM);
    default: return false;
  }
}

static bool is_in (const gb_xprog *p, const gb_xop *op) {
  const gb_ins *i = op->ins;
  switch (op->kind) {
    case GB_INS_MAP: return true;
    case GB_INS_SQDIST: case GB_INS_DOT: case GB_X_FRONT: return op->px >= 0;
    case GB_INS_LOAD: return op->px >= 0;
    case GB_INS_RADIAL:
      return form_of(p, i->a) == op->form && is_item(p, i->b) && (i->profile != GB_RQ || is_item(p, i->c));
    case GB_INS_ACC:
      return i->monoid == GB_SUM || i->monoid == GB_PROD || i->monoid == GB_MINIMUM || i->monoid == GB_MAXIMUM;
    case GB_INS_EMIT: return has_sink(p, &p->out[i->x]);
    default: return false;
  }
}

/* Past the operation at 'n', a loop being one, or 'n' where it cannot be in a chain. */
static int past (const gb_xprog *p, const gb_xop *op, int n) {
  if (op[n].kind != GB_INS_LOOP) return is_in(p, &op[n]) ? n + 1 : n;
  for (int m = n + 1; m < op[n].jump; m++)
    if (op[m].kind == GB_INS_EMIT || !is_in(p, &op[m])) return n;      /* nor loops in loops */
  return op[n].jump + 1;
}

static bool has_dst (const gb_xop *op) {
  return op->kind != GB_INS_LOOP && op->kind != GB_INS_ENDLOOP && op->kind != GB_INS_EMIT;
}

static bool reads (const gb_xop *op, int v) {
  const gb_ins *i = op->ins;
  if (op->kind == GB_INS_LOOP || op->kind == GB_INS_ENDLOOP) return false;
  if (i->a == v) return true;
  return op->kind != GB_INS_EMIT && op->kind != GB_INS_ACC && (i->b == v || i->c == v);
}

/* -- links ----------------------------------------------------------------------------------------------- */

static gb_xlink *link_of (plan *c, gb_link_kind kind) {
  gb_xprog *p = c->p;
  if (p->nlinks + c->nlinks == p->most_links) c->fits = false;
  gb_xlink *l = c->writing && c->fits ? &p->link[p->nlinks + c->nlinks] : &c->nowhere;
  c->nlinks += c->fits;
  *l = (gb_xlink){.link.kind = kind, .b = {-1, -1}, .c = -1};
  c->front = NULL;
  return l;
}

static void place (gb_xlink *l, int arg, gb_source source, int n, gb_form form, size_t row) {
  l->from[arg] = source;
  l->number[arg] = n;
  l->link.arg[arg] = (gb_place){.row = row, .form = form};
}

static void place_pack (const plan *c, gb_xlink *l, int arg, int pack, gb_form form) {
  const gb_xpack *k = &c->p->pack[pack];
  size_t row = k->layout == GB_PACK_ROWS ? k->row : k->layout == GB_PACK_COLS;
  place(l, arg, GB_FROM_PACK, pack, form == GB_FORM_ONE ? GB_FORM_TILE : form, row * c->p->size);
  if (c->loop >= 0) l->link.arg[arg].again = k->step[c->loop] * c->p->size;
}

/* Value 'v' in memory. */
static void place_value (plan *c, gb_xlink *l, int arg, int v) {
  gb_xvalue *x = &c->p->value[v];
  gb_form form = x->form == GB_FORM_ONE ? GB_FORM_TILE : x->form;
  size_t row = form == GB_FORM_FULL ? GB_TI : x->form == GB_FORM_TILE;
  x->again = true;
  assert(!c->writing || x->where != GB_IN_SLOT || x->slot >= 0);
  if (x->where == GB_IN_SLOT) place(l, arg, GB_FROM_SLOT, x->slot, GB_FORM_FULL, 0);
  else if (x->where == GB_IN_PACK) place_pack(c, l, arg, x->slot, form);
  else place(l, arg, GB_FROM_VALUE, v, form, row * c->p->size);
}

/* Makes 'v' the running value. */
static void run_value (plan *c, int v) {
  if (c->now != v) place_value(c, link_of(c, GB_LINK_READ), 0, v);
  c->now = v;
}

static void take_slot (plan *c, gb_xvalue *x) {
  if (c->spare < 0) {
    if (c->nslots == GB_MOST_SLOTS) {
      c->fits = false;
      return;
    }
    x->slot = c->nslots++;
  } else {
    x->slot = c->spare;
    c->spare = c->slot_next[x->slot];
  }
}

/* After its last reader. */
static void drop_slot (plan *c, int v, const gb_ins *reader) {
  if (v < 0) return;
  gb_xvalue *x = &c->p->value[v];
  if (x->where != GB_IN_SLOT || x->slot < 0 || x->last > reader - c->p->f->ins) return;
  c->slot_next[x->slot] = c->spare;
  c->spare = x->slot;
  x->slot = -1;
}

/* 'v' is the running value; kept in memory where it is read again. */
static void keep (plan *c, int v) {
  gb_xvalue *x = &c->p->value[v];
  if (!x->again) return;
  bool loops = x->slot >= 0;              /* an accumulator has had its place since its loop began */
  if (x->where == GB_IN_SLOT && !loops) take_slot(c, x);
  if (!c->fits) return;
  if (c->front != NULL && c->front->link.kind == GB_LINK_SQDIST && x->where == GB_IN_SLOT) place_value(c, c->front, 3, v);
  else place_value(c, link_of(c, GB_LINK_WRITE), 0, v);
}

/* -- operations ------------------------------------------------------------------------------------------ */

static bool has_step (gb_op op) {
  switch (op) {
    case GB_OP_NEG: case GB_OP_ABS: case GB_OP_SQUARE: case GB_OP_RECIP: case GB_OP_SQRT: case GB_OP_RSQRT:
    case GB_OP_RELU: case GB_OP_EXP: case GB_OP_ADD: case GB_OP_MUL: case GB_OP_SUB: case GB_OP_DIV: case GB_OP_MINIMUM:
    case GB_OP_MAXIMUM: return true;
    default: return false;
  }
}

/* Of a LANE and a TILE value, neither of them made here. */
static bool add_outer_map (plan *c, gb_op op, int a, int b) {
  bool back = form_of(c->p, a) == GB_FORM_TILE;
  int lane = back ? b : a, tile = back ? a : b;
  if (op != GB_OP_ADD && op != GB_OP_SUB && op != GB_OP_MUL) return false;
  if (form_of(c->p, lane) != GB_FORM_LANE || form_of(c->p, tile) != GB_FORM_TILE) return false;
  if (c->p->value[lane].where == GB_IN_SLOT || c->p->value[tile].where == GB_IN_SLOT) return false;
  gb_xlink *l = link_of(c, GB_LINK_MAP_OUTER);
  l->link.op = op;
  l->link.back = back;
  place_value(c, l, 0, lane);
  place_value(c, l, 1, tile);
  return true;
}

static void add_map (plan *c, gb_op op, int a, int b) {
  if (gb_ops[op].inputs == 1) {
    run_value(c, a);
    link_of(c, GB_LINK_MAP)->link.op = op;
    return;
  }
  bool back = c->now == b && c->now != a;
  if (c->now != a && c->now != b && add_outer_map(c, op, a, b)) return;
  if (!back) run_value(c, a);
  gb_xlink *l = link_of(c, back ? GB_LINK_MAP_BACK : GB_LINK_MAP);
  l->link.op = op;
  place_value(c, l, 0, back ? a : b);
}

static void add_call (plan *c, const gb_ins *i) {
  const int v[3] = {i->a, i->b, i->c};
  gb_xvalue *x = &c->p->value[i->dst];
  gb_xlink *l = link_of(c, GB_LINK_CALL);
  l->link.op = i->op;
  for (int k = 0; k < gb_ops[i->op].inputs; k++) place_value(c, l, k, v[k]);
  if (x->where == GB_IN_SLOT) take_slot(c, x);
  if (c->fits) place_value(c, l, 3, i->dst);
  c->now = i->dst;
}

static void add_front (plan *c, const gb_xop *op) {
  const gb_ins *i = op->front != NULL ? op->front : op->ins;
  gb_link_kind kind = i->kind == GB_INS_DOT ? GB_LINK_DOT : op->pw >= 0 ? GB_LINK_SQDIST_BY : GB_LINK_SQDIST;
  gb_xlink *l = link_of(c, kind);
  l->link.n = c->p->f->axis[i->axis].extent;
  place_pack(c, l, 0, op->px, GB_FORM_LANE);
  place_pack(c, l, 1, op->py, GB_FORM_TILE);
  if (op->pw >= 0) place_pack(c, l, 2, op->pw, GB_FORM_ONE);
  c->front = l;
}

static void add_radial (plan *c, const gb_ins *i) {
  gb_xlink *l = link_of(c, GB_LINK_RADIAL);
  l->link.profile = i->profile;
  l->link.order = i->order;
  l->link.dalpha = i->dalpha;
  l->b[0] = i->b;
  l->c = i->c;
}

static void add_loop (plan *c, int n) {
  const gb_xop *op = &c->op[n];
  for (int m = n + 1; m < op->jump; m++) {
    if (c->op[m].kind != GB_INS_ACC) continue;
    static const double identity[GB_NMONOIDS] = {
      [GB_PROD] = 1, [GB_MINIMUM] = __builtin_inf(), [GB_MAXIMUM] = -__builtin_inf()};
    gb_xvalue *x = &c->p->value[c->op[m].ins->dst];
    if (x->where == GB_IN_SLOT) take_slot(c, x);
    gb_xlink *l = link_of(c, GB_LINK_FILL);
    l->link.fill = identity[c->op[m].ins->monoid];
    if (c->fits) place_value(c, l, 0, c->op[m].ins->dst);
  }
  gb_xlink *l = link_of(c, GB_LINK_LOOP);
  c->loop = op->ins->axis;
  l->link.n = c->p->f->axis[c->loop].extent;
  c->now = -1;
}

static void end_loop (plan *c, const gb_ins *i) {
  gb_xlink *l = link_of(c, GB_LINK_AGAIN), *begin = l;
  l->link.n = c->p->f->axis[c->loop].extent;
  for (ptrdiff_t back = 1; c->writing && c->fits; back++)
    if ((--begin)->link.kind == GB_LINK_LOOP) {
      begin->link.jump = back + 1;
      l->link.jump = 1 - back;
      break;
    }
  c->loop = c->now = -1;
  for (int v = 0; v < c->p->f->nvalues; v++)
    if (c->p->value[v].def >= c->op[c->first].ins - c->p->f->ins) drop_slot(c, v, i);
}

/* dst = combine(dst, a) */
static void add_acc (plan *c, const gb_ins *i) {
  static const gb_op by[GB_NMONOIDS] = {[GB_SUM] = GB_OP_ADD, [GB_PROD] = GB_OP_MUL,
                                        [GB_MINIMUM] = GB_OP_MINIMUM, [GB_MAXIMUM] = GB_OP_MAXIMUM};
  if (c->p->value[i->dst].where == GB_IN_SLOT) {
    run_value(c, i->a);
    gb_xlink *l = link_of(c, GB_LINK_ACCUMULATE);
    l->link.monoid = i->monoid;
    place_value(c, l, 0, i->dst);
    return;
  }
  add_map(c, by[i->monoid], i->dst, i->a);
  c->now = i->dst;
  keep(c, i->dst);
}

/* -- sinks ----------------------------------------------------------------------------------------------- */

static gb_xlink *sink (plan *c, gb_link_kind kind, const gb_xout *x, int arg, gb_source source) {
  gb_xlink *l = link_of(c, kind);
  size_t lanes = x->cols * GB_LANES * c->p->size;
  l->link.n = x->cols;
  l->link.monoid = gb_exec_monoid(x);
  l->link.mirror = source == GB_FROM_MIRROR;
  place(l, arg, source, (int)(x - c->p->out), GB_FORM_FULL,
        source == GB_FROM_COLUMNS || source == GB_FROM_MIRROR ? lanes : 0);
  return l;
}

static void contract_row (plan *c, const gb_xout *x) {
  place_pack(c, sink(c, GB_LINK_CONTRACT_ROW, x, 1, GB_FROM_ROWS), 0, x->px, GB_FORM_TILE);
}
static void contract_col (plan *c, const gb_xout *x, gb_source source) {
  place_pack(c, sink(c, GB_LINK_CONTRACT_COL, x, 1, source), 0, x->py, GB_FORM_LANE);
}

static void diff (plan *c, const gb_xout *x, gb_link_kind kind, gb_source source) {
  gb_xlink *l = sink(c, kind, x, 2, source);
  place_pack(c, l, 0, x->py, GB_FORM_LANE);
  place_pack(c, l, 1, x->px, GB_FORM_TILE);
}

/* The other half of the gradients of a distance: the same value, points and features, the other side. */
static gb_xout *other_side (const plan *c, const gb_ins *i, const gb_xout *x) {
  if (c->p->f->symmetric) return NULL;
  for (int m = c->first; m < c->end; m++) {
    if (c->op[m].kind != GB_INS_EMIT || c->op[m].ins->a != i->a) continue;
    gb_xout *y = &c->p->out[c->op[m].ins->x];
    bool same = y->px == x->px && y->py == x->py && !y->entered;
    if (same && y->how == GB_HOW_DIFF && y->reach != x->reach) return y;
  }
  return NULL;
}

static void diff_both (plan *c, const gb_xout *row, const gb_xout *col) {
  gb_xlink *l = sink(c, GB_LINK_DIFF_BOTH, row, 2, GB_FROM_ROWS);
  place_pack(c, l, 0, row->py, GB_FORM_LANE);
  place_pack(c, l, 1, row->px, GB_FORM_TILE);
  place(l, 3, GB_FROM_COLUMNS, (int)(col - c->p->out), GB_FORM_FULL, col->cols * GB_LANES * c->p->size);
}

static void add_emit (plan *c, const gb_ins *i) {
  gb_xout *x = &c->p->out[i->x], *other;
  bool row = x->reach == GB_REACH_ROW, mirrored = row && c->p->f->symmetric;
  if (x->entered) return;
  x->entered = true;
  run_value(c, i->a);
  switch (x->how) {
    case GB_HOW_STORE:
      sink(c, GB_LINK_PUT, x, 0, GB_FROM_OUT)->link.arg[0].row = (size_t)x->o->stride[c->p->tile] * c->p->size;
      break;
    case GB_HOW_CONTRACT:
      if (row) contract_row(c, x);
      if (!row || mirrored) contract_col(c, x, row ? GB_FROM_MIRROR : GB_FROM_COLUMNS);
      break;
    case GB_HOW_DIFF:
      if ((other = other_side(c, i, x)) != NULL) {
        other->entered = true;
        diff_both(c, row ? x : other, row ? other : x);
        break;
      }
      if (row) diff(c, x, GB_LINK_DIFF_ROW, GB_FROM_ROWS);
      if (!row || mirrored) diff(c, x, GB_LINK_DIFF_COL, row ? GB_FROM_MIRROR : GB_FROM_COLUMNS);
      break;
    default:
      if (x->reach == GB_REACH_ALL) {
        x->grouped = c->p->nchains + 1;
        sink(c, GB_LINK_REDUCE_ALL, x, 1, GB_FROM_LANES);
        break;
      }
      if (row) sink(c, GB_LINK_REDUCE_ROW, x, 1, GB_FROM_ROWS);
      if (!row || mirrored) sink(c, GB_LINK_REDUCE_COL, x, 1, row ? GB_FROM_MIRROR : GB_FROM_COLUMNS);
  }
}

/* 'v' has become the running value, of operation 'n': its sinks, wherever in the chain they are, take it at once. */
static void define (plan *c, int n, int v) {
  c->now = v;
  keep(c, v);
  for (int m = n + 1; m < c->end && c->loop < 0; m++)
    if (c->op[m].kind == GB_INS_EMIT && c->op[m].ins->a == v) add_emit(c, c->op[m].ins);
}

/* -- steps that do the work of several operations -------------------------------------------------------- */

/* The operation of the chain, outside loops, that makes 'v' for one reader only; -1 = none. */
static int maker (const plan *c, int v) {
  if (v < 0 || c->loop >= 0) return -1;
  const gb_xvalue *x = &c->p->value[v];
  bool here = x->made >= c->first && x->made < c->end && c->op[x->made].ins->dst == v;
  return here && x->uses == 1 ? x->made : -1;
}

/* The only reader of what operation 'n' makes; -1 = none in the chain outside loops. */
static int reader (const plan *c, int n) {
  const int v = c->op[n].ins->dst;
  if (maker(c, v) != n) return -1;
  for (int m = n + 1; m < c->end; m++) {
    if (c->op[m].kind == GB_INS_LOOP) m = c->op[m].jump;
    else if (reads(&c->op[m], v)) return m;
  }
  return -1;
}

static bool is_map (const gb_xop *op, gb_op which) { return op->kind == GB_INS_MAP && op->ins->op == which; }

static bool is_number (const plan *c, int v) { return is_item(c->p, v) && form_of(c->p, v) == GB_FORM_ONE; }

/* A product of one LANE and one TILE element that a multiplication takes. */
static bool is_outer (const plan *c, int n) {
  const gb_xop *op = &c->op[n];
  if (op->kind != GB_INS_DOT || c->p->f->axis[op->ins->axis].extent != 1) return false;
  int m = reader(c, n);
  return m >= 0 && is_map(&c->op[m], GB_OP_MUL) && c->op[m].ins->a != c->op[m].ins->b;
}

static bool add_product (plan *c, const gb_ins *i) {
  int a = maker(c, i->a), b = maker(c, i->b);
  bool first = a >= 0 && is_outer(c, a);
  if (!first && (b < 0 || !is_outer(c, b))) return false;
  const gb_xop *outer = &c->op[first ? a : b];
  const int other = first ? i->b : i->a;
  if (first && b >= 0 && is_outer(c, b)) add_front(c, &c->op[b]);
  else run_value(c, other);
  gb_xlink *l = link_of(c, GB_LINK_MUL_DOT);
  place_pack(c, l, 0, outer->px, GB_FORM_LANE);
  place_pack(c, l, 1, outer->py, GB_FORM_TILE);
  return true;
}

/* A profile, times a number or not: one of two that a sum or product joins. */
typedef struct half { int radial, scale, number; } half;   /* operations; the value of the number, -1 = none */

static bool is_half (const plan *c, int v, half *h) {
  int m = maker(c, v);
  *h = (half){.radial = m, .scale = -1, .number = -1};
  if (m >= 0 && is_map(&c->op[m], GB_OP_MUL)) {
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
static bool is_join (const plan *c, int n, half h[2]) {
  const gb_xop *op = &c->op[n];
  if (!is_map(op, GB_OP_ADD) && !is_map(op, GB_OP_MUL)) return false;
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

/* The join that does operation 'n', itself or one that reads it, at once or through a multiplication by a number;
** -1 = none. */
static int join_of (const plan *c, int n, half h[2]) {
  if (is_join(c, n, h)) return n;
  if (c->op[n].kind != GB_INS_RADIAL && !is_map(&c->op[n], GB_OP_MUL)) return -1;
  for (int m = reader(c, n), hops = 0; m >= 0 && hops < 2; m = reader(c, m), hops++) {
    if (!is_join(c, m, h)) continue;
    for (int k = 0; k < 2; k++)
      if (h[k].radial == n || h[k].scale == n) return m;
  }
  return -1;
}

/* A join is done where its later profile stands, while the distance is sure to be there. Returns whether operation 'n'
** belongs to one. */
static bool add_join (plan *c, int n) {
  half h[2];
  const int m = join_of(c, n, h);
  if (m < 0) return false;
  if (n != (h[0].radial > h[1].radial ? h[0].radial : h[1].radial)) return true;
  const gb_ins *r[2] = {c->op[h[0].radial].ins, c->op[h[1].radial].ins};
  run_value(c, r[0]->a);
  gb_xlink *l = link_of(c, GB_LINK_RADIAL_PAIR);
  l->link.op = c->op[m].ins->op;
  l->link.profile = r[0]->profile;
  l->link.second = r[1]->profile;
  l->link.scaled = h[0].number >= 0 || h[1].number >= 0;
  for (int k = 0; k < 2; k++) {
    l->b[k] = r[k]->b;
    if (h[k].number >= 0) place_value(c, l, k, h[k].number);
  }
  define(c, m, c->op[m].ins->dst);
  drop_slot(c, r[0]->a, c->op[n].ins);
  return true;
}

/* A profile that the very next operation joins with the running value. */
static bool is_deferred (const plan *c, int n) {
  const gb_ins *i = c->op[n].ins;
  half h;
  if (c->op[n].kind != GB_INS_RADIAL || c->now < 0 || c->now == i->a || reader(c, n) != n + 1) return false;
  const gb_xop *join = &c->op[n + 1];
  const int other = join->ins->a == i->dst ? join->ins->b : join->ins->a;
  return (is_map(join, GB_OP_ADD) || is_map(join, GB_OP_MUL)) && other == c->now && is_half(c, i->dst, &h);
}

static bool add_with (plan *c, const gb_ins *i) {
  if (c->deferred < 0) return false;
  const gb_ins *r = c->op[c->deferred].ins;
  gb_xlink *l = link_of(c, GB_LINK_RADIAL_WITH);
  l->link.op = i->op;
  l->link.profile = r->profile;
  l->b[0] = r->b;
  place_value(c, l, 0, r->a);
  drop_slot(c, r->a, r);
  c->deferred = -1;
  return true;
}

/* A value plus a number, of which the next operation takes the reciprocal or a root. */
static bool is_shift (const plan *c, int n) {
  const gb_ins *i = c->op[n].ins;
  if (!is_map(&c->op[n], GB_OP_ADD) || is_number(c, i->a) == is_number(c, i->b)) return false;
  if (n + 1 >= c->end || reader(c, n) != n + 1) return false;
  const gb_xop *next = &c->op[n + 1];
  return is_map(next, GB_OP_RECIP) || is_map(next, GB_OP_SQRT) || is_map(next, GB_OP_RSQRT);
}

static bool add_shifted (plan *c, int n) {
  if (n == c->first || !is_shift(c, n - 1)) return false;
  const gb_ins *i = c->op[n - 1].ins;
  const bool first = is_number(c, i->a);
  run_value(c, first ? i->b : i->a);
  gb_xlink *l = link_of(c, GB_LINK_MAP_SHIFTED);
  l->link.op = c->op[n].ins->op;
  place_value(c, l, 0, first ? i->a : i->b);
  drop_slot(c, first ? i->b : i->a, i);
  return true;
}

static bool is_done_elsewhere (const plan *c, int n) { return is_outer(c, n) || is_shift(c, n); }

/* -- a chain --------------------------------------------------------------------------------------------- */

static void add_elementwise (plan *c, int n) {
  const gb_ins *i = c->op[n].ins;
  if (!has_step(i->op)) add_call(c, i);
  else if (!add_with(c, i) && !add_shifted(c, n) && !(i->op == GB_OP_MUL && add_product(c, i)))
    add_map(c, i->op, i->a, i->b);
}

static void add (plan *c, int n) {
  const gb_xop *op = &c->op[n];
  const gb_ins *i = op->ins;
  if (is_done_elsewhere(c, n) || add_join(c, n)) return;
  if (is_deferred(c, n)) c->deferred = n;
  if (c->deferred == n) return;
  switch (op->kind) {
    case GB_INS_LOAD: return;             /* a pack */
    case GB_INS_LOOP: add_loop(c, n); return;
    case GB_INS_ENDLOOP: end_loop(c, i); return;
    case GB_INS_EMIT: add_emit(c, i); break;
    case GB_INS_ACC: add_acc(c, i); break;
    case GB_INS_MAP: add_elementwise(c, n); break;
    case GB_INS_RADIAL:
      run_value(c, i->a);
      add_radial(c, i);
      break;
    default:
      add_front(c, op);
      if (op->front != NULL) add_radial(c, i);
  }
  bool placed = op->kind == GB_INS_ACC || (op->kind == GB_INS_MAP && !has_step(i->op));
  if (has_dst(op) && !placed) define(c, n, i->dst);
  drop_slot(c, i->a, i);
  if (op->kind == GB_INS_MAP) drop_slot(c, i->b, i), drop_slot(c, i->c, i);
}

/* Where the values of the chain are, if anywhere: those read after it in their registers. */
static void begin (plan *c, bool writing) {
  gb_xprog *p = c->p;
  for (int n = c->first; n < c->end; n++) {
    const gb_xop *op = &c->op[n];
    if (op->kind == GB_INS_EMIT) p->out[op->ins->x].entered = false;
    if (!has_dst(op)) continue;
    gb_xvalue *x = &p->value[op->ins->dst];
    x->slot = -1;
    x->made = n;
    if (!writing) x->again = false;
    if (op->kind == GB_INS_LOAD) {
      x->where = GB_IN_PACK;
      x->slot = op->px;
      continue;
    }
    x->where = GB_IN_SLOT;
    x->crosses = false;
    for (int m = c->end; m < p->ncode[GB_FORM_FULL]; m++)
      if (reads(&c->op[m], op->ins->dst)) {
        x->where = GB_IN_REGISTER;
        x->again = x->crosses = true;
        c->fits &= x->form == GB_FORM_FULL;
      }
  }
  c->now = c->loop = c->spare = c->deferred = -1;
  c->nlinks = c->nslots = 0;
  c->writing = writing;
}

static void plan_chain (gb_xprog *p, const gb_xop *op, int first, int end) {
  plan c = {.p = p, .op = op, .first = first, .end = end, .fits = true};
  for (int pass = 0; pass < 2 && c.fits; pass++) {
    begin(&c, pass == 1);
    for (int n = first; n < end && c.fits; n++) add(&c, n);
    link_of(&c, GB_LINK_END);
  }
  for (int o = 0; o < p->f->nouts && !c.fits; o++)
    if (p->out[o].grouped == p->nchains + 1) p->out[o].grouped = 0;
  if (!c.fits) return;
  p->chain[p->nchains] = (gb_xchain){.first = first, .end = end, .link = p->nlinks, .nlinks = c.nlinks};
  for (int o = 0; o < p->f->nouts; o++)
    p->chain[p->nchains].by_row |= p->out[o].grouped == p->nchains + 1;
  p->whole = first == 0 && end == p->ncode[GB_FORM_FULL];
  p->nchains++;
  p->nlinks += c.nlinks;
  if (c.nslots > p->nslots) p->nslots = c.nslots;
}

/* Maximal runs of level FULL; alone, a step gains nothing. A loop is in a chain whole or not at all. */
void gb_exec_plan_chains (gb_xprog *p) {
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  int n = p->ncode[GB_FORM_FULL];
  if (gb_cpu_fold_no_templates || p->compute == GB_I64 || p->strip || p->lane < 0 || p->fused) return;
  for (int first = 0, end; first < n; first = end) {
    int steps = 0;
    for (end = first; end < n && past(p, op, end) > end; end = past(p, op, end)) steps++;
    if (steps >= 2) plan_chain(p, op, first, end);
    if (end == first) end = op[first].kind == GB_INS_LOOP ? op[first].jump + 1 : first + 1;
  }
}

/* -- a thread -------------------------------------------------------------------------------------------- */

static gb_link *links_of (const gb_xthread *t) { return (gb_link *)(t->ws + t->p->links); }

void gb_exec_begin_chains (gb_xthread *t) {
  const gb_xprog *p = t->p;
  for (int n = 0; n < p->nlinks; n++) {
    gb_link *l = &links_of(t)[n];
    *l = p->link[n].link;
    for (int k = 0; k < 4; k++)
      if (p->link[n].from[k] == GB_FROM_SLOT)
        l->arg[k].at = t->ws + p->slots + (size_t)p->link[n].number[k] * GB_CHAIN_ROWS * GB_TI * p->size;
    p->k->link_step(l);
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
    case GB_FROM_ROWS: return gb_exec_row_state(t, &p->out[n], p->out[n].chain);
    case GB_FROM_COLUMNS: return gb_exec_column_chain(t, &p->out[n], p->out[n].chain, 0);
    case GB_FROM_MIRROR: return gb_exec_column_chain(t, &p->out[n], p->out[n].mirror, 0);
    case GB_FROM_LANES: return t->ws + p->out[n].groups;
    default: return out_at(t, &p->out[n]);
  }
}

static void bind (gb_xthread *t, const gb_xlink *x, gb_link *l) {
  for (int k = 0; k < 4; k++)
    if (x->from[k] > GB_FROM_SLOT) l->arg[k].at = address(t, x->from[k], x->number[k]);
  if (l->kind < GB_LINK_RADIAL || l->kind > GB_LINK_RADIAL_WITH) return;
  const double b[2] = {gb_exec_scalar(t, x->b[0]), gb_exec_scalar(t, x->b[1])}, alpha = gb_exec_scalar(t, x->c);
  if (memcmp(b, l->b, sizeof b) == 0 && memcmp(&alpha, &l->alpha, sizeof alpha) == 0) return;
  memcpy(l->b, b, sizeof b);
  l->alpha = alpha;
  t->p->k->link_constants(l);
}

bool gb_exec_chain_runs (const gb_xthread *t) { return t->valid == GB_TI; }

void gb_exec_run_chain (gb_xthread *t, const gb_xchain *c) {
  const gb_xprog *p = t->p;
  gb_link *l = links_of(t) + c->link;
  for (int n = 0; n < c->nlinks; n++) bind(t, &p->link[c->link + n], &l[n]);
  for (int o = 0; o < p->f->nouts && c->by_row; o++)
    if (p->out[o].grouped == c - p->chain + 1) memset(t->ws + p->out[o].groups, 0, GB_CANON / GB_TJ * GB_LANES * p->size);
  p->k->chain(l, t->nj, t->mirrored, c->by_row);
  for (int o = 0; o < p->f->nouts && c->by_row; o++)
    if (p->out[o].grouped == c - p->chain + 1)
      gb_exec_absorb_groups(t, &p->out[o], t->ws + p->out[o].groups, (size_t)(t->nj + GB_TJ - 1) / GB_TJ);
}
