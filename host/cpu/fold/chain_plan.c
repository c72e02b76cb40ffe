/* chain_plan.c - operations of level FULL into the links of a chain: which operations a chain can contain;
** elementwise steps, fronts, profiles, loops, outputs. */
#include "cpu/fold/chain.h"

enum { MOST_COLUMNS = 4 }; /* more right-hand sides are faster from a tile, in blocks */

/* -- what a chain can hold */

/* True for monoids that a step supports. */
static bool is_stepped (gb_monoid m) {
  return m == GB_SUM || m == GB_PROD || m == GB_MINIMUM || m == GB_MAXIMUM;
}

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
      return x->reach != GB_REACH_KEEP && is_stepped(m);
    default: return false;
  }
}

static bool is_item (const gb_xprog *p, int v) { return v < 0 || p->value[v].level == GB_FORM_ONE; }

/* True if elements of the compute type are adjacent along the lanes: steps then read them in place. */
static bool is_read_in_place (const gb_xprog *p, const gb_xop *op) {
  const gb_operand *o = &p->f->operand[op->ins->x];
  return op->px < 0 && o->dtype == p->compute && o->stride[p->lane] == 1 && o->stride[p->tile] > 0;
}

static bool is_in (const gb_xprog *p, const gb_xop *op) {
  const gb_ins *i = op->ins;
  switch (op->kind) {
    case GB_INS_MAP: return true;
    case GB_INS_LOAD: return op->px >= 0 || is_read_in_place(p, op);
    case GB_INS_SQDIST:
    case GB_INS_DOT:
    case GB_X_FRONT: return op->px >= 0;
    case GB_INS_RADIAL:
      return p->value[i->a].form == op->form && is_item(p, i->b) && (i->profile != GB_RQ || is_item(p, i->c));
    case GB_INS_ACC: return is_stepped(i->monoid);
    case GB_INS_EMIT: return has_sink(p, &p->out[i->x]);
    default: return false;
  }
}

int gb_chain_past (const gb_xprog *p, const gb_xop *op, int n) {
  if (op[n].kind != GB_INS_LOOP) return is_in(p, &op[n]) ? n + 1 : n;
  for (int m = n + 1; m < op[n].jump; m++) /* no nested loops, and no operands in place */
    if (op[m].kind == GB_INS_EMIT || (op[m].kind == GB_INS_LOAD && op[m].px < 0) || !is_in(p, &op[m]))
      return n;
  return op[n].jump + 1;
}

/* -- elementwise operations, fronts, profiles */

static bool has_step (gb_op op) {
  switch (op) {
#define STEP1(OP, ...) case GB_OP_##OP:
#define STEP2 STEP1
#define STEP2_BACK STEP1
#define STEP3 STEP1
#include "cpu/isa/chain_ops.def"
    return true;
    default: return false;
  }
}

/* True for an op of one LANE and one TILE value, both computed outside the chain. */
static bool add_outer_map (gb_xchainer *c, gb_op op, int a, int b) {
  bool back = gb_chain_form(c, a) == GB_FORM_TILE;
  int lane = back ? b : a, tile = back ? a : b;
  if (op != GB_OP_ADD && op != GB_OP_SUB && op != GB_OP_MUL) return false;
  if (gb_chain_form(c, lane) != GB_FORM_LANE || gb_chain_form(c, tile) != GB_FORM_TILE) return false;
  if (c->p->value[lane].where == GB_IN_SLOT || c->p->value[tile].where == GB_IN_SLOT) return false;
  gb_xlink *l = gb_chain_link(c, GB_LINK_MAP_OUTER);
  l->link.op = op;
  l->link.back = back;
  gb_chain_place_value(c, l, 0, lane);
  gb_chain_place_value(c, l, 1, tile);
  return true;
}

static void add_map (gb_xchainer *c, gb_op op, int a, int b) {
  if (gb_ops[op].inputs == 1) {
    gb_chain_run_value(c, a);
    gb_chain_link(c, GB_LINK_MAP)->link.op = op;
    return;
  }
  bool back = c->now == b && c->now != a;
  if (c->now != a && c->now != b && add_outer_map(c, op, a, b)) return;
  if (!back) gb_chain_run_value(c, a);
  gb_xlink *l = gb_chain_link(c, back ? GB_LINK_MAP_BACK : GB_LINK_MAP);
  l->link.op = op;
  gb_chain_place_value(c, l, 0, back ? a : b);
}

static void add_where (gb_xchainer *c, const gb_ins *i) {
  const int v[3] = {i->a, i->b, i->c};
  const int which = c->now == i->a ? 0 : c->now == i->b ? 1 : c->now == i->c ? 2 : 0;
  gb_chain_run_value(c, v[which]);
  gb_xlink *l = gb_chain_link(c, GB_LINK_WHERE);
  l->link.which = which;
  gb_chain_place_value(c, l, 0, v[which == 0 ? 1 : 0]);
  gb_chain_place_value(c, l, 1, v[which == 2 ? 1 : 2]);
}

/* Reads and writes memory: its result has a slot even if it is not read again. */
static void add_call (gb_xchainer *c, const gb_ins *i) {
  const int v[3] = {i->a, i->b, i->c};
  gb_xlink *l = gb_chain_link(c, GB_LINK_CALL);
  l->link.op = i->op;
  for (int k = 0; k < gb_ops[i->op].inputs; k++) gb_chain_place_value(c, l, k, v[k]);
  if (c->p->value[i->dst].where == GB_IN_SLOT) gb_chain_take_slot(c, i->dst);
  if (c->fits) gb_chain_place_value(c, l, 3, i->dst);
  c->now = i->dst;
}

static void add_radial (gb_xchainer *c, const gb_ins *i) {
  gb_xlink *l = gb_chain_link(c, GB_LINK_RADIAL);
  l->link.profile = i->profile;
  l->link.order = i->order;
  l->link.dalpha = i->dalpha;
  l->b[0] = i->b;
  l->c = i->c;
}

/* -- loops */

/* Accumulators have their slots from here on. */
static void add_loop (gb_xchainer *c, int n) {
  static const double identity[GB_NMONOIDS] = {
      [GB_PROD] = 1, [GB_MINIMUM] = __builtin_inf(), [GB_MAXIMUM] = -__builtin_inf()};
  const gb_xop *op = &c->op[n];
  for (int m = n + 1; m < op->jump; m++) {
    if (c->op[m].kind != GB_INS_ACC) continue;
    const int v = c->op[m].ins->dst;
    if (c->p->value[v].where == GB_IN_SLOT) gb_chain_take_slot(c, v);
    gb_xlink *l = gb_chain_link(c, GB_LINK_FILL);
    l->link.fill = identity[c->op[m].ins->monoid];
    if (c->fits) gb_chain_place_value(c, l, 0, v);
  }
  gb_xlink *l = gb_chain_link(c, GB_LINK_LOOP);
  c->loop = op->ins->axis;
  l->link.n = c->p->f->axis[c->loop].extent;
  c->now = -1;
}

/* Jumps of both ends; slots read only in the loop are freed. */
static void end_loop (gb_xchainer *c, const gb_ins *i) {
  gb_xlink *l = gb_chain_link(c, GB_LINK_AGAIN), *begin = l;
  l->link.n = c->p->f->axis[c->loop].extent;
  for (ptrdiff_t back = 1; c->writing && c->fits; back++)
    if ((--begin)->link.kind == GB_LINK_LOOP) {
      begin->link.jump = back + 1;
      l->link.jump = 1 - back;
      break;
    }
  c->loop = c->now = -1;
  for (int s = 0; s < c->nslots; s++)
    if (c->p->value[c->slot_value[s]].slot == s) gb_chain_drop_slot(c, c->slot_value[s], i);
}

/* dst = combine(dst, a) */
static void add_acc (gb_xchainer *c, const gb_ins *i) {
  static const gb_op by[GB_NMONOIDS] = {[GB_SUM] = GB_OP_ADD,
                                        [GB_PROD] = GB_OP_MUL,
                                        [GB_MINIMUM] = GB_OP_MINIMUM,
                                        [GB_MAXIMUM] = GB_OP_MAXIMUM};
  if (c->p->value[i->dst].where == GB_IN_SLOT) {
    gb_chain_run_value(c, i->a);
    gb_xlink *l = gb_chain_link(c, GB_LINK_ACCUMULATE);
    l->link.monoid = i->monoid;
    gb_chain_place_value(c, l, 0, i->dst);
    return;
  }
  add_map(c, by[i->monoid], i->dst, i->a);
  c->now = i->dst;
  gb_chain_keep(c, i->dst);
}

/* -- outputs */

static void contract_row (gb_xchainer *c, const gb_xout *x) {
  gb_chain_place_pack(gb_chain_sink(c, GB_LINK_CONTRACT_ROW, x, 1, GB_FROM_ROWS), 0, x->px, GB_FORM_TILE);
}
static void contract_col (gb_xchainer *c, const gb_xout *x, gb_source source) {
  gb_chain_place_pack(gb_chain_sink(c, GB_LINK_CONTRACT_COL, x, 1, source), 0, x->py, GB_FORM_LANE);
}

static void diff (gb_xchainer *c, const gb_xout *x, gb_link_kind kind, gb_source source) {
  gb_xlink *l = gb_chain_sink(c, kind, x, 2, source);
  gb_chain_place_pack(l, 0, x->py, GB_FORM_LANE);
  gb_chain_place_pack(l, 1, x->px, GB_FORM_TILE);
}

/* Value 'v' to output 'o', unless it is there already. */
static void add_emit (gb_xchainer *c, int o, int v) {
  gb_xout *x = &c->p->out[o];
  const bool row = x->reach == GB_REACH_ROW, col = !row || c->p->f->symmetric;
  const gb_source columns = row ? GB_FROM_MIRROR : GB_FROM_COLUMNS;
  if (x->entered) return;
  x->entered = true;
  gb_chain_run_value(c, v);
  switch (x->how) {
    case GB_HOW_STORE: gb_chain_sink(c, GB_LINK_PUT, x, 0, GB_FROM_OUT); break;
    case GB_HOW_CONTRACT:
      if (row) contract_row(c, x);
      if (col) contract_col(c, x, columns);
      break;
    case GB_HOW_DIFF:
      if (gb_chain_add_both_sides(c, x, v)) break;
      if (row) diff(c, x, GB_LINK_DIFF_ROW, GB_FROM_ROWS);
      if (col) diff(c, x, GB_LINK_DIFF_COL, columns);
      break;
    default:
      if (x->reach == GB_REACH_ALL) {
        x->grouped = c->p->nchains + 1;
        gb_chain_sink(c, GB_LINK_REDUCE_ALL, x, 1, GB_FROM_LANES);
        break;
      }
      if (row) gb_chain_sink(c, GB_LINK_REDUCE_ROW, x, 1, GB_FROM_ROWS);
      if (col) gb_chain_sink(c, GB_LINK_REDUCE_COL, x, 1, columns);
  }
}

/* All outputs of the value, wherever they stand in the chain, take it at once. */
void gb_chain_define (gb_xchainer *c, int v) {
  c->now = v;
  gb_chain_keep(c, v);
  for (int o = c->p->value[v].sink; o >= 0 && c->loop < 0; o = c->p->out[o].next) add_emit(c, o, v);
}

/* -- a chain */

/* Packs and operands are read in place; a value that is read after the chain is written to its register. */
static void add_load (gb_xchainer *c, const gb_ins *i) {
  if (!c->p->value[i->dst].crosses || c->p->value[i->dst].where != GB_IN_REGISTER) return;
  gb_chain_place_operand(gb_chain_link(c, GB_LINK_READ), 0, i->x);
  gb_chain_define(c, i->dst);
}

static bool has_dst (const gb_xop *op) {
  return op->kind != GB_INS_LOOP && op->kind != GB_INS_ENDLOOP && op->kind != GB_INS_EMIT;
}

static void add_elementwise (gb_xchainer *c, int n) {
  const gb_ins *i = c->op[n].ins;
  if (!has_step(i->op)) add_call(c, i);
  else if (i->op == GB_OP_WHERE) add_where(c, i);
  else if (!gb_chain_add_with(c, i) && !gb_chain_add_shifted(c, n) &&
           !(i->op == GB_OP_MUL && gb_chain_add_product(c, i)))
    add_map(c, i->op, i->a, i->b);
}

static void add (gb_xchainer *c, int n) {
  const gb_xop *op = &c->op[n];
  const gb_ins *i = op->ins;
  if (gb_chain_is_elsewhere(c, n) || gb_chain_add_join(c, n)) return;
  if (gb_chain_is_deferred(c, n)) c->deferred = n;
  if (c->deferred == n) return;
  switch (op->kind) {
    case GB_INS_LOAD: add_load(c, i); return;
    case GB_INS_LOOP: add_loop(c, n); return;
    case GB_INS_ENDLOOP: end_loop(c, i); return;
    case GB_INS_EMIT: add_emit(c, i->x, i->a); break;
    case GB_INS_ACC: add_acc(c, i); break;
    case GB_INS_MAP: add_elementwise(c, n); break;
    case GB_INS_RADIAL:
      gb_chain_run_value(c, i->a);
      add_radial(c, i);
      break;
    default:
      gb_chain_add_front(c, op);
      if (op->front != NULL) add_radial(c, i);
  }
  bool placed = op->kind == GB_INS_ACC || (op->kind == GB_INS_MAP && !has_step(i->op));
  if (has_dst(op) && !placed) gb_chain_define(c, i->dst);
  gb_chain_drop_slot(c, i->a, i);
  if (op->kind == GB_INS_MAP) gb_chain_drop_slot(c, i->b, i), gb_chain_drop_slot(c, i->c, i);
}

/* The location of the result of operation 'n': its register if it is read after the chain. */
static void begin_value (gb_xchainer *c, int n, bool writing) {
  const gb_xprog *p = c->p;
  const gb_xop *op = &c->op[n];
  gb_xvalue *x = &p->value[op->ins->dst];
  x->slot = x->sink = x->reader = -1;
  x->made = n;
  if (!writing) x->again = false;
  x->crosses = false;
  x->where = GB_IN_SLOT;
  if (op->kind == GB_INS_LOAD && op->px >= 0) {
    x->where = GB_IN_PACK;
    x->slot = op->px;
  } else if (c->end < p->ncode[GB_FORM_FULL] && x->last >= c->op[c->end].ins - p->f->ins) {
    x->where = GB_IN_REGISTER;
    x->again = x->crosses = true;
    c->fits &= x->form == GB_FORM_FULL;
  } else if (op->kind == GB_INS_LOAD) {
    x->where = GB_IN_OPERAND;
    x->slot = op->ins->x;
  }
}

/* Operation 'n', outside loops, reads 'v'. */
static void begin_reader (gb_xchainer *c, int n, int v) {
  if (v >= 0 && gb_chain_makes(c, v)) c->p->value[v].reader = n;
}

/* The outputs of each value in the order of the program. */
static void begin_sinks (gb_xchainer *c) {
  gb_xprog *p = c->p;
  for (int n = c->first; n < c->end; n++)
    if (c->op[n].kind == GB_INS_EMIT) p->value[c->op[n].ins->a].sink = -1;
  for (int n = c->end - 1; n >= c->first; n--) {
    if (c->op[n].kind != GB_INS_EMIT) continue;
    gb_xvalue *x = &p->value[c->op[n].ins->a];
    gb_xout *out = &p->out[c->op[n].ins->x];
    out->entered = false;
    out->next = x->sink;
    x->sink = c->op[n].ins->x;
  }
}

/* Resets the records of values and outputs before a pass. */
static void begin (gb_xchainer *c, bool writing) {
  for (int n = c->first; n < c->end; n++)
    if (has_dst(&c->op[n])) begin_value(c, n, writing);
  for (int n = c->first; n < c->end; n++) {
    const gb_ins *i = c->op[n].ins;
    if (c->op[n].kind == GB_INS_LOOP) n = c->op[n].jump;
    else {
      begin_reader(c, n, i->a);
      if (c->op[n].kind != GB_INS_EMIT) begin_reader(c, n, i->b), begin_reader(c, n, i->c);
    }
  }
  begin_sinks(c);
  c->now = c->loop = c->spare = c->deferred = -1;
  c->nlinks = c->nslots = 0;
  c->writing = writing;
}

void gb_chain_plan (gb_xprog *p, const gb_xop *op, int first, int end) {
  gb_xchainer c = {.p = p, .op = op, .first = first, .end = end, .fits = true};
  const int number = p->nchains + 1; /* the numbering of gb_xout.grouped */
  bool grouped = false;
  for (int pass = 0; pass < 2 && c.fits; pass++) {
    begin(&c, pass == 1);
    for (int n = first; n < end && c.fits; n++) add(&c, n);
    gb_chain_link(&c, GB_LINK_END);
  }
  for (int o = 0; o < p->f->nouts; o++) {
    if (p->out[o].grouped != number) continue;
    grouped = true;
    if (!c.fits) p->out[o].grouped = 0;
  }
  if (!c.fits) return;
  p->chain[p->nchains++] =
      (gb_xchain){.first = first, .end = end, .link = p->nlinks, .nlinks = c.nlinks, .by_row = grouped};
  p->whole = first == 0 && end == p->ncode[GB_FORM_FULL];
  p->nlinks += c.nlinks;
  if (c.nslots > p->nslots) p->nslots = c.nslots;
}
