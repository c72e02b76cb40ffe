/* compile.c - compiles a fold program for the tile interpreter: loop levels, lifetimes, registers, layout.
**
** An instruction runs at the level of its dependence: ONE once an item, LANE once a lane block, TILE once a
** chunk, FULL once a tile. A loop is one unit and runs at the join of what is inside it. FULL values share
** registers by lifetime; all others are small and have separate places. */
#include <string.h>
#include <unistd.h>

#include "cpu/fold/fold.h"

#define L1_BYTES (24 * 1024) /* budget of the registers of a tile run */
#define ONCE_BYTES (64 * 1024)
#define L2_BYTES (256 * 1024)

typedef struct build {
  gb_xprog *p;
  const gb_fold *f;
  gb_form *level;    /* by instruction */
  int *end, *around; /* LOOP: its ENDLOOP; any: the LOOP around it, -1 = none */
  bool *gone;        /* instructions that are part of another or need no code */
  gb_span *spans;    /* by value, for one trial */
  int regs;
  bool temp[3], mask;
} build;

static size_t most_packs (const gb_fold *f) {
  size_t n = 0;
  for (int i = 0; i < f->nins; i++) {
    switch (f->ins[i].kind) {
      case GB_INS_LOAD: n += 1; break;
      case GB_INS_SQDIST: n += 3; break;
      case GB_INS_DOT:
      case GB_INS_EMIT: n += 2; break;
      default: break;
    }
  }
  return n;
}

/* Bound on the links of chains: an instruction needs a read, its step and a write; an accumulator also a
** fill. Between two chains there is an instruction without links, which leaves room for their ends. */
static int most_links (const gb_fold *f) {
  int n = 2;
  for (int i = 0; i < f->nins; i++) n += f->ins[i].kind == GB_INS_ACC ? 4 : 3;
  return n;
}

/* A bound for any program that 'f' may become. */
static gb_xcounts most (const gb_fold *f) {
  const size_t nins = (size_t)f->nins, nval = (size_t)f->nvalues;
  return (gb_xcounts){.ops = nins,
                      .packs = most_packs(f),
                      .outs = (size_t)f->nouts,
                      .links = (size_t)most_links(f),
                      .values = nval,
                      .bound = nval,
                      .chains = nins};
}

/* Those that a launch fits to its part, and those that no part changes. */
char *gb_exec_lay_fitted (gb_xprog *p, const gb_xcounts *n, char *at) {
  p->op = gb_carve(&at, n->ops, sizeof *p->op);
  p->pack = gb_carve(&at, n->packs, sizeof *p->pack);
  p->out = gb_carve(&at, n->outs, sizeof *p->out);
  p->link = gb_carve(&at, n->links, sizeof *p->link);
  return at;
}
char *gb_exec_lay_constant (gb_xprog *p, const gb_xcounts *n, char *at) {
  p->value = gb_carve(&at, n->values, sizeof *p->value);
  p->bound = gb_carve(&at, n->bound, sizeof *p->bound);
  p->chain = gb_carve(&at, n->chains, sizeof *p->chain);
  return at;
}

static char *lay_build (build *b, const gb_fold *f, char *at) {
  const size_t nins = (size_t)f->nins;
  b->spans = gb_carve(&at, (size_t)f->nvalues, sizeof *b->spans);
  b->level = gb_carve(&at, nins, sizeof *b->level);
  b->end = gb_carve(&at, nins, sizeof *b->end);
  b->around = gb_carve(&at, nins, sizeof *b->around);
  b->gone = gb_carve(&at, nins, sizeof *b->gone);
  return at;
}

static char *lay_room (gb_xprog *p, build *b, const gb_fold *f, char *at) {
  const gb_xcounts n = most(f);
  return lay_build(b, f, gb_exec_lay_constant(p, &n, gb_exec_lay_fitted(p, &n, at)));
}

size_t gb_exec_room (const gb_fold *f) {
  static char origin[1];
  gb_xprog p;
  build b;
  return (size_t)(lay_room(&p, &b, f, origin) - origin);
}

static bool has_dst (const gb_ins *i) {
  return i->kind != GB_INS_LOOP && i->kind != GB_INS_ENDLOOP && i->kind != GB_INS_EMIT;
}

static gb_form form_of (const gb_xprog *p, int v) { return v < 0 ? GB_FORM_ONE : p->value[v].form; }

static gb_form form_of_ins (const gb_xprog *p, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_LOAD:
    case GB_INS_RAND: return gb_exec_form(p, i->x);
    case GB_INS_SQDIST:
    case GB_INS_DOT: return gb_exec_form(p, i->x) | gb_exec_form(p, i->y) | gb_exec_form(p, i->w);
    case GB_INS_IOTA:
      if (i->axis < 0) return gb_exec_form(p, i->x);
      if (i->axis == p->lane) return p->strip ? GB_FORM_FULL : GB_FORM_LANE;
      return i->axis == p->tile ? GB_FORM_TILE : GB_FORM_ONE;
    case GB_INS_MAP:
    case GB_INS_RADIAL: return form_of(p, i->a) | form_of(p, i->b) | form_of(p, i->c);
    case GB_INS_ACC:
    case GB_INS_EMIT: return form_of(p, i->a);
    default: return GB_FORM_ONE;
  }
}

/* Forms of values, matching of loops, definitions. A value is read after it is written, so one pass
** suffices. */
static gb_status scan (build *b, gb_error *err) {
  const gb_fold *f = b->f;
  int open[GB_FOLD_AXES], depth = 0;
  for (int v = 0; v < f->nvalues; v++)
    b->p->value[v] = (gb_xvalue){.def = -1, .last = -1, .pack = -1, .reg = -1};
  for (int n = 0; n < f->nins; n++) {
    const gb_ins *i = &f->ins[n];
    b->gone[n] = false;
    if (i->kind == GB_INS_ENDLOOP) b->end[open[--depth]] = n;
    b->end[n] = n;
    b->around[n] = depth > 0 ? open[depth - 1] : -1;
    if (i->kind == GB_INS_LOOP) {
      if (depth == GB_FOLD_AXES) return gb_fail(err, GB_EINTERNAL, "fold: loops nest deeper than axes");
      open[depth++] = n;
    }
    if (i->kind == GB_INS_ACC &&
        (i->monoid == GB_ARGMINIMUM || i->monoid == GB_ARGMAXIMUM || i->monoid == GB_KSMALLEST))
      return gb_fail(err, GB_EINTERNAL, "fold: an accumulator cannot hold a position");
    if (!has_dst(i)) continue;
    gb_xvalue *v = &b->p->value[i->dst];
    v->form = form_of_ins(b->p, i);
    v->def = i->kind == GB_INS_ACC ? open[depth - 1] : n;
    v->last = n;
  }
  return GB_OK;
}

static gb_form level_of (const gb_xprog *p, int v) { return v < 0 ? GB_FORM_ONE : p->value[v].level; }

/* An argument may come from a loop that runs at a level above its form. */
static gb_form level_of_args (const gb_xprog *p, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_MAP:
    case GB_INS_RADIAL: return level_of(p, i->a) | level_of(p, i->b) | level_of(p, i->c);
    case GB_INS_ACC: return level_of(p, i->a);
    default: return GB_FORM_ONE;
  }
}

/* A constant runs at level ONE even inside a loop; any other instruction inside a loop runs at the loop's
** level. */
static void levels (build *b) {
  const gb_fold *f = b->f;
  for (int n = 0; n < f->nins; n++) {
    int end = f->ins[n].kind == GB_INS_LOOP ? b->end[n] : n;
    gb_form l = GB_FORM_ONE;
    for (int m = n; m <= end; m++) {
      l |= form_of_ins(b->p, &f->ins[m]) | level_of_args(b->p, &f->ins[m]);
      if (f->ins[m].kind == GB_INS_EMIT) l = GB_FORM_FULL;
    }
    for (int m = n; m <= end; m++) {
      const gb_ins *i = &f->ins[m];
      b->level[m] = i->kind == GB_INS_CONST || i->kind == GB_INS_BIND ? GB_FORM_ONE : l;
      if (has_dst(i)) b->p->value[i->dst].level = b->level[m];
    }
    n = end;
  }
}

/* A read at 'n' of a value defined before a loop around 'n' keeps it alive to the end of that loop. */
static void read_at (build *b, int v, int n) {
  if (v < 0) return;
  gb_xvalue *x = &b->p->value[v];
  int last = n;
  for (int l = b->around[n]; l >= 0; l = b->around[l])
    if (x->def < l) last = b->end[l];
  if (last > x->last) x->last = last;
  x->uses++;
}

static void lifetimes (build *b) {
  for (int n = 0; n < b->f->nins; n++) {
    const gb_ins *i = &b->f->ins[n];
    if (i->kind == GB_INS_LOOP || i->kind == GB_INS_ENDLOOP) continue;
    read_at(b, i->a, n);
    if (i->kind == GB_INS_ACC || i->kind == GB_INS_EMIT) continue;
    read_at(b, i->b, n);
    read_at(b, i->c, n);
  }
}

/* True for distances or products of LANE points with TILE points (in a strip: with one point), which have
** kernels. */
static bool is_front (const build *b, const gb_ins *i) {
  const gb_xprog *p = b->p;
  if (i->kind != GB_INS_SQDIST && i->kind != GB_INS_DOT) return false;
  gb_form x = gb_exec_form(p, i->x), y = gb_exec_form(p, i->y);
  if ((x | y) != GB_FORM_FULL || gb_exec_form(p, i->w) != GB_FORM_ONE) return false;
  return p->strip ? x != y : x != GB_FORM_FULL && y != GB_FORM_FULL;
}

/* A SQDIST read only by one plain RADIAL, both outside loops, becomes one pass. Returns the SQDIST, or
** NULL. */
static const gb_ins *front_of (const build *b, const gb_ins *i, int n) {
  if (gb_cpu_fold_no_templates || i->kind != GB_INS_RADIAL || i->order != 0 || i->dalpha != 0) return NULL;
  const gb_xvalue *a = &b->p->value[i->a];
  const gb_ins *s = &b->f->ins[a->def];
  if (s->kind != GB_INS_SQDIST || s->w >= 0 || a->uses != 1 || b->around[n] >= 0 || b->around[a->def] >= 0)
    return NULL;
  if (form_of(b->p, i->b) != GB_FORM_ONE || form_of(b->p, i->c) != GB_FORM_ONE) return NULL;
  return is_front(b, s) ? s : NULL;
}

/* Marks instructions that need no code: loads that are packs, and the SQDIST of a fused RADIAL. */
static void drop_codeless (build *b) {
  gb_xprog *p = b->p;
  for (int n = 0; n < b->f->nins; n++) {
    const gb_ins *i = &b->f->ins[n];
    if (i->kind == GB_INS_LOAD && b->around[n] < 0 && b->level[n] != GB_FORM_FULL) {
      gb_pack_layout l = b->level[n] == GB_FORM_ONE    ? GB_PACK_ONE
                         : b->level[n] == GB_FORM_LANE ? GB_PACK_LANES
                                                       : GB_PACK_COLS;
      p->value[i->dst].pack = gb_exec_pack_of(p, i->x, l, -1, false);
      b->gone[n] = true;
    }
    const gb_ins *s = front_of(b, i, n);
    if (s != NULL) b->gone[s - b->f->ins] = true;
  }
}

static void take_register (build *b, int *spare, int *nspare, int v) {
  gb_xvalue *x = &b->p->value[v];
  if (x->level != GB_FORM_FULL || x->form != GB_FORM_FULL) return;
  x->reg = *nspare > 0 ? spare[--*nspare] : b->regs++;
}

static void drop_register (build *b, int *spare, int *nspare, int v, int n) {
  if (v < 0 || b->p->value[v].reg < 0 || b->p->value[v].last != n) return;
  for (int s = 0; s < *nspare; s++)
    if (spare[s] == b->p->value[v].reg) return; /* read twice by this instruction */
  spare[(*nspare)++] = b->p->value[v].reg;
}

/* Accumulators live from their LOOP, other values from their instruction; a register is free after the last
** read. A destination is never an argument. 'spare' holds nvalues numbers. */
static void registers (build *b, int *spare) {
  const gb_fold *f = b->f;
  int nspare = 0;
  for (int n = 0; n < f->nins; n++) {
    const gb_ins *i = &f->ins[n];
    if (b->gone[n]) continue;
    if (i->kind == GB_INS_LOOP) {
      for (int m = n + 1; m < b->end[n]; m++)
        if (f->ins[m].kind == GB_INS_ACC && b->around[m] == n)
          take_register(b, spare, &nspare, f->ins[m].dst);
    } else if (i->kind == GB_INS_ENDLOOP) {
      for (int v = 0; v < f->nvalues; v++) drop_register(b, spare, &nspare, v, n);
    } else {
      if (has_dst(i) && i->kind != GB_INS_ACC) take_register(b, spare, &nspare, i->dst);
      drop_register(b, spare, &nspare, i->a, n);
      if (i->kind != GB_INS_ACC && i->kind != GB_INS_EMIT) {
        drop_register(b, spare, &nspare, i->b, n);
        drop_register(b, spare, &nspare, i->c, n);
      }
      if (has_dst(i)) drop_register(b, spare, &nspare, i->dst, n);
    }
  }
}

/* Both kinds are symmetric in x and y, bit for bit. */
static void front_packs (build *b, gb_xop *op, const gb_ins *i) {
  gb_xprog *p = b->p;
  bool swap = gb_exec_form(p, i->x) == (p->strip ? GB_FORM_ONE : GB_FORM_TILE);
  op->px = gb_exec_pack_of(p, swap ? i->y : i->x, GB_PACK_LANES, i->axis, false);
  op->py = gb_exec_pack_of(p, swap ? i->x : i->y, GB_PACK_ROWS, i->axis, false);
  if (i->w >= 0) op->pw = gb_exec_pack_of(p, i->w, GB_PACK_ONE, i->axis, false);
}

static void load_pack (build *b, gb_xop *op, const gb_ins *i) {
  static const gb_pack_layout layout[] = {GB_PACK_ONE, GB_PACK_LANES, GB_PACK_COLS};
  if (op->form != GB_FORM_FULL) op->px = gb_exec_pack_of(b->p, i->x, layout[op->form], -1, false);
}

static void encode (build *b, gb_xop *op, int n) {
  const gb_ins *i = &b->f->ins[n];
  *op = (gb_xop){.kind = (int)i->kind, .ins = i, .px = -1, .py = -1, .pw = -1, .jump = -1, .redirect = -1};
  op->form = has_dst(i) ? b->p->value[i->dst].form : GB_FORM_ONE;
  if (i->kind == GB_INS_LOAD) load_pack(b, op, i);
  if (is_front(b, i)) front_packs(b, op, i);
  op->front = front_of(b, i, n);
  if (op->front != NULL) {
    op->kind = GB_X_FRONT;
    front_packs(b, op, op->front);
  }
}

/* Four lists, by level, each in the order of the program. */
static void encode_all (build *b) {
  gb_xprog *p = b->p;
  int at = 0;
  for (int l = GB_FORM_ONE; l <= GB_FORM_FULL; l++) {
    int open[GB_FOLD_AXES], depth = 0;
    p->code[l] = at;
    for (int n = 0; n < b->f->nins; n++) {
      if (b->gone[n] || (int)b->level[n] != l) continue;
      encode(b, &p->op[at], n);
      if (p->op[at].kind == GB_INS_LOOP) open[depth++] = at - p->code[l];
      if (p->op[at].kind == GB_INS_ENDLOOP) {
        p->op[at].jump = open[--depth];
        p->op[p->code[l] + open[depth]].jump = at - p->code[l];
      }
      at++;
    }
    p->ncode[l] = at - p->code[l];
  }
}

static gb_status outputs (build *b, gb_error *err) {
  gb_xprog *p = b->p;
  for (int o = 0; o < b->f->nouts; o++) p->out[o].o = NULL;
  for (int n = 0; n < b->f->nins; n++) {
    const gb_ins *i = &b->f->ins[n];
    if (i->kind == GB_INS_ACC && i->monoid == GB_LSE) b->temp[1] = b->temp[2] = true;
    if (i->kind != GB_INS_EMIT) continue;
    gb_axes loops = 0;
    for (int l = b->around[n]; l >= 0; l = b->around[l]) loops |= (gb_axes)1 << b->f->ins[l].axis;
    GB_TRY(gb_exec_place_out(p, i->x, loops, err));
    const gb_xout *x = &p->out[i->x];
    bool product = x->how == GB_HOW_PRODUCT;
    b->temp[0] |= form_of(p, i->a) != GB_FORM_FULL;
    b->temp[1] |= product || (x->how == GB_HOW_LSE && (x->reach == GB_REACH_ALL || p->strip));
    b->temp[2] |= product;
    b->mask |= x->reach == GB_REACH_COL || x->reach == GB_REACH_ALL;
  }
  for (int o = 0; o < b->f->nouts; o++)
    if (p->out[o].o == NULL) return gb_fail(err, GB_EINTERNAL, "fold: output %d is never emitted", o);
  return GB_OK;
}

/* A strip's last elementwise step may write the output directly if no conversion is needed. */
static void redirect (build *b) {
  gb_xprog *p = b->p;
  if (!p->strip || p->lane < 0) return;
  for (int n = 0; n < b->f->nins; n++) {
    const gb_ins *i = &b->f->ins[n];
    if (i->kind != GB_INS_EMIT || b->around[n] >= 0) continue;
    const gb_xout *x = &p->out[i->x];
    const gb_xvalue *v = &p->value[i->a];
    if (x->how != GB_HOW_STORE || x->o->dtype != p->compute || x->o->stride[p->lane] != 1) continue;
    if (v->form != GB_FORM_FULL || b->around[v->def] >= 0) continue;
    for (int q = p->code[GB_FORM_FULL]; q < p->code[GB_FORM_FULL] + p->ncode[GB_FORM_FULL]; q++)
      if (p->op[q].ins == &b->f->ins[v->def] &&
          (p->op[q].kind == GB_INS_MAP || p->op[q].kind == GB_INS_RADIAL) && p->op[q].redirect < 0)
        p->op[q].redirect = i->x;
  }
}

/* FULL level: one fused profile handed to one row output of one column. */
static bool is_fused (const gb_xprog *p) {
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  if (gb_cpu_fold_no_templates || p->ncode[GB_FORM_FULL] != 2 || p->f->nouts != 1) return false;
  if (op[0].kind != GB_X_FRONT || op[1].kind != GB_INS_EMIT || op[1].ins->a != op[0].ins->dst) return false;
  const gb_xout *x = &p->out[0];
  if (x->reach != GB_REACH_ROW || x->slots != 1 || x->cols != 1) return false;
  return x->how == GB_HOW_CONTRACT || (x->how == GB_HOW_CHAIN && x->o->monoid == GB_SUM);
}

/* FULL level: elements of the compute type, adjacent along the rows, handed to one row reduction of
** floats. */
static bool is_turned (const gb_xprog *p) {
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  if (gb_cpu_fold_no_templates || p->ncode[GB_FORM_FULL] != 2 || p->f->nouts != 1 || p->compute == GB_I64)
    return false;
  if (p->strip || op[0].kind != GB_INS_LOAD || op[1].kind != GB_INS_EMIT || op[1].ins->a != op[0].ins->dst)
    return false;
  const gb_operand *o = &p->f->operand[op[0].ins->x];
  const gb_xout *x = &p->out[0];
  if (op[0].form != GB_FORM_FULL || o->dtype != p->compute || o->stride[p->tile] != 1 ||
      o->stride[p->lane] == 1)
    return false;
  const gb_monoid m = x->o->monoid;
  return x->reach == GB_REACH_ROW && x->how == GB_HOW_CHAIN && x->slots == 1 && !p->f->symmetric &&
         (m == GB_SUM || m == GB_PROD || m == GB_MINIMUM || m == GB_MAXIMUM);
}

static void bind_lists (build *b) {
  gb_xprog *p = b->p;
  int at = 0;
  for (int l = GB_FORM_LANE; l <= GB_FORM_TILE; l++) {
    for (int v = 0; v < b->f->nvalues; v++)
      if ((int)p->value[v].level == l) p->bound[at++] = v;
    p->nbound[l] = at - (l == GB_FORM_TILE ? p->nbound[GB_FORM_LANE] : 0);
  }
}

static void lay_values (build *b, size_t *used) {
  gb_xprog *p = b->p;
  size_t tile = (size_t)p->rows * GB_TI * p->size, first = *used;
  for (int r = 0; r < b->regs; r++) gb_take(used, tile);
  for (int v = 0; v < b->f->nvalues; v++) {
    gb_xvalue *x = &p->value[v];
    static const size_t narrow[] = {GB_LANES, GB_TI, GB_CANON};
    if (x->reg >= 0) x->at = first + (size_t)x->reg * tile;
    else if (x->def < 0 || b->gone[x->def] || b->f->ins[x->def].kind == GB_INS_LOAD) x->at = 0;
    else if (x->level == GB_FORM_LANE) x->at = gb_take(used, GB_SUPER * p->size);
    else if (x->form != GB_FORM_FULL) x->at = gb_take(used, narrow[x->form] * p->size);
  }
}

/* FULL level: one fused profile handed on, once, to right-hand sides. */
static bool is_profile_of_many (const gb_xprog *p) {
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  if (p->fused || p->nchains > 0 || p->ncode[GB_FORM_FULL] != 2) return false;
  return op[0].kind == GB_X_FRONT && op[1].kind == GB_INS_EMIT && p->out[op[1].ins->x].how == GB_HOW_CONTRACT;
}

/* As many rows as fit: FULL values in L1, or in L2 if there is one value that is written and read once, in
** order; in a strip, the lane packs of its blocks in L2. */
static int rows_of (const build *b) {
  const gb_xprog *p = b->p;
  size_t full = (size_t)b->regs + b->temp[0] + b->temp[1] + b->temp[2] + b->mask, lanes = 0;
  const size_t room = is_profile_of_many(p) ? ONCE_BYTES : L1_BYTES;
  size_t rows = room / ((full ? full : 1) * GB_TI * p->size);
  for (int q = 0; q < p->npacks && p->strip; q++)
    if (p->pack[q].layout == GB_PACK_LANES) lanes += p->pack[q].block * p->size;
  if (lanes > 0 && L2_BYTES / lanes < rows) rows = L2_BYTES / lanes;
  rows = rows / GB_TJ * GB_TJ;
  return (int)(rows < GB_TJ ? GB_TJ : rows > GB_CANON ? GB_CANON : rows);
}

/* As many rows as keep their column chains in two thirds of L1 while the lane blocks pass. Affects neither
** bits nor memory. */
static size_t sweep_of (const gb_xprog *p) {
  size_t bytes = gb_exec_row_of_columns(p), rows = GB_CANON;
  long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  size_t room = l1 >= 16 * 1024 ? (size_t)l1 / 3 * 2 : 20 * 1024;
  while (!p->strip && rows > GB_TI && rows * bytes > room) rows /= 2;
  return rows;
}

/* The bytes of a thread's workspace that every part of the fold has. */
static void lay_fixed (build *b) {
  gb_xprog *p = b->p;
  size_t used = 0;
  p->rows = rows_of(b);
  p->sweep = sweep_of(p);
  size_t tile = (size_t)p->rows * GB_TI * p->size;
  p->pointers = gb_take(&used, (size_t)b->f->nvalues * sizeof(void *));
  p->bases = gb_take(&used, (size_t)p->npacks * sizeof(char *));
  lay_values(b, &used);
  for (int q = 0; q < 3; q++) p->temp[q] = b->temp[q] ? gb_take(&used, tile) : 0;
  p->mask = b->mask ? gb_take(&used, tile) : 0;
  p->links = gb_take(&used, (size_t)p->nlinks * sizeof(gb_link));
  p->slots = gb_take(&used, (size_t)p->nslots * GB_CHAIN_ROWS * GB_TI * p->size);
  p->ones = p->fused ? gb_take(&used, GB_TI * p->size) : 0;
  p->small = gb_take(&used, 4 * GB_CANON * 8);
  gb_exec_lay_hulls(p, &used, b->spans);
  p->fixed = used;
}

gb_status gb_exec_compile (const gb_fold *f, void *room, gb_xprog *p, gb_error *err) {
  build b = {.p = p, .f = f};
  *p = (gb_xprog){.f = f, .compute = f->compute, .size = f->compute == GB_F32 ? 4 : 8};
  lay_room(p, &b, f, room);
  p->most_links = most_links(f);
  gb_exec_domain(p, f);
  GB_TRY(scan(&b, err));
  levels(&b);
  lifetimes(&b);
  for (int n = 0; n < f->nins; n++)
    p->pairs |= has_dst(&f->ins[n]) && form_of_ins(p, &f->ins[n]) == GB_FORM_FULL;
  p->pairs &= !p->strip;
  drop_codeless(&b);
  registers(&b, p->bound);
  encode_all(&b);
  GB_TRY(outputs(&b, err));
  redirect(&b);
  p->fused = is_fused(p);
  p->turned = is_turned(p);
  gb_exec_plan_chains(p);
  bind_lists(&b);
  lay_fixed(&b);
  return GB_OK;
}
