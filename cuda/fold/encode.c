/* encode.c - outputs to walks, the instructions that a walk needs, the level at which each runs, registers. */
#include "cuda/fold/encode.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Dependence of a value on LANE and TILE, and the level of an instruction: 1 = LANE, 2 = TILE. */
typedef unsigned char form;

typedef struct encoder {
  const gb_fold *f;
  int lane, tile;    /* -1 = none */
  unsigned outer;    /* axes */
  form *value;       /* by value: its form */
  int *around, *end; /* by instruction: the LOOP around it, -1 = none; of a LOOP its ENDLOOP */
  unsigned *loops;   /* by output: axes of the loops around its EMIT */
  bool *needed;      /* by instruction, of the walk in hand */
  form *level;       /* by instruction */
  int *last;         /* by value: the last instruction that reads it */
  int *reg;          /* by value; -1 = none */
  void *memory;
} encoder;

static unsigned bit (int axis) { return axis < 0 ? 0 : 1u << axis; }

static gb_status open_encoder (encoder *e, const gb_fold *f, gb_error *err) {
  const size_t nins = (size_t)f->nins + 1, nval = (size_t)f->nvalues + 1, nout = (size_t)f->nouts + 1;
  const size_t ints = 2 * nins + 2 * nval, words = nout;
  char *at = calloc(1, ints * sizeof(int) + words * sizeof(unsigned) + 2 * nins + nval);
  *e = (encoder){.f = f, .lane = -1, .tile = -1, .memory = at};
  if (at == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  e->around = (int *)at;
  e->end = e->around + nins;
  e->last = e->end + nins;
  e->reg = e->last + nval;
  e->loops = (unsigned *)(e->reg + nval);
  e->value = (form *)(e->loops + nout);
  e->level = e->value + nval;
  e->needed = (bool *)(e->level + nins);
  for (int a = 0; a < f->naxes; a++) {
    if (f->axis[a].role == GB_AXIS_LANE) e->lane = a;
    if (f->axis[a].role == GB_AXIS_TILE) e->tile = a;
    if (f->axis[a].role == GB_AXIS_OUTER) e->outer |= bit(a);
  }
  return GB_OK;
}

static form form_of_operand (const encoder *e, int operand) {
  if (operand < 0) return 0;
  const ptrdiff_t *stride = e->f->operand[operand].stride;
  return (form)((e->lane >= 0 && stride[e->lane] != 0 ? 1 : 0) |
                (e->tile >= 0 && stride[e->tile] != 0 ? 2 : 0));
}

static form form_of_value (const encoder *e, int v) { return v < 0 ? 0 : e->value[v]; }

static form form_of (const encoder *e, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_LOAD:
    case GB_INS_RAND: return form_of_operand(e, i->x);
    case GB_INS_SQDIST:
    case GB_INS_DOT: return form_of_operand(e, i->x) | form_of_operand(e, i->y) | form_of_operand(e, i->w);
    case GB_INS_IOTA:
      if (i->axis < 0) return form_of_operand(e, i->x);
      return i->axis == e->lane ? 1 : i->axis == e->tile ? 2 : 0;
    case GB_INS_MAP:
    case GB_INS_RADIAL: return form_of_value(e, i->a) | form_of_value(e, i->b) | form_of_value(e, i->c);
    case GB_INS_ACC:
    case GB_INS_EMIT: return form_of_value(e, i->a);
    default: return 0;
  }
}

static bool has_dst (const gb_ins *i) {
  return i->kind != GB_INS_LOOP && i->kind != GB_INS_ENDLOOP && i->kind != GB_INS_EMIT;
}

/* Forms of values, matching of loops, the loops around emissions. */
static gb_status scan (encoder *e, gb_error *err) {
  int open[GB_FOLD_AXES], depth = 0;
  for (int n = 0; n < e->f->nins; n++) {
    const gb_ins *i = &e->f->ins[n];
    if (i->kind == GB_INS_ENDLOOP) e->end[open[--depth]] = n;
    e->around[n] = depth > 0 ? open[depth - 1] : -1;
    if (i->kind == GB_INS_LOOP) {
      if (depth == GB_FOLD_AXES) return gb_fail(err, GB_EINTERNAL, "fold: loops nest deeper than axes");
      open[depth++] = n;
    }
    if (i->kind == GB_INS_EMIT)
      for (int d = 0; d < depth; d++) e->loops[i->x] |= bit(e->f->ins[open[d]].axis);
    if (has_dst(i)) e->value[i->dst] = form_of(e, i);
  }
  return GB_OK;
}

/* -- outputs */

static int reach_of (const encoder *e, const gb_out *o) {
  const int tile = (o->reduced & bit(e->tile)) != 0, lane = (o->reduced & bit(e->lane)) != 0;
  return lane && tile ? GB_CUDA_ALL : lane ? GB_CUDA_COL : tile ? GB_CUDA_ROW : GB_CUDA_KEEP;
}

/* Contractions whose operand does not vary along axes that the output keeps are chains of fused multiply-adds. */
static gb_cuda_how how_contract (const encoder *e, const gb_out *o, int reach, gb_cuda_out *out) {
  int rows = o->x, lanes = o->x;
  if (e->f->symmetric) {
    lanes = o->y;
    if (form_of_operand(e, o->x) == 1) rows = o->y, lanes = o->x;
  }
  out->rows = rows;
  out->lanes = lanes;
  if (reach == GB_CUDA_ROW && !(form_of_operand(e, rows) & 1)) return GB_CUDA_CONTRACT;
  if (reach == GB_CUDA_COL && !(form_of_operand(e, lanes) & 2)) return GB_CUDA_CONTRACT;
  return GB_CUDA_PRODUCT;
}

static gb_cuda_how how_diff (const encoder *e, const gb_out *o, int reach, gb_cuda_out *out) {
  if (e->tile < 0 || e->f->compute == GB_I64 || (reach != GB_CUDA_ROW && reach != GB_CUDA_COL))
    return GB_CUDA_PRODUCT;
  int lanes = reach == GB_CUDA_ROW ? o->x : o->y, rows = reach == GB_CUDA_ROW ? o->y : o->x;
  if (e->f->symmetric && form_of_operand(e, lanes) == 2) {
    const int other = lanes;
    lanes = rows;
    rows = other;
  }
  if ((form_of_operand(e, lanes) & 2) || (form_of_operand(e, rows) & 1)) return GB_CUDA_PRODUCT;
  out->rows = rows;
  out->lanes = lanes;
  return GB_CUDA_DIFF;
}

static gb_cuda_how how_of (const encoder *e, const gb_out *o, int reach, gb_cuda_out *out) {
  switch (o->kind) {
    case GB_OUT_STORE: return GB_CUDA_STORE;
    case GB_OUT_CONTRACT: return how_contract(e, o, reach, out);
    case GB_OUT_DIFF: return how_diff(e, o, reach, out);
    default: break;
  }
  switch (o->monoid) {
    case GB_LSE: return GB_CUDA_LSE;
    case GB_ARGMINIMUM:
    case GB_ARGMAXIMUM:
    case GB_KSMALLEST: return GB_CUDA_SELECT;
    default: return GB_CUDA_CHAIN;
  }
}

static bool is_list (gb_monoid m) { return m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM || m == GB_KSMALLEST; }

static int words_of (gb_cuda_how how, const gb_out *o) {
  if (how == GB_CUDA_STORE) return 0;
  if (how == GB_CUDA_LSE) return 2;
  return how != GB_CUDA_SELECT ? 1 : o->monoid == GB_KSMALLEST ? 2 * o->k : 2;
}

static gb_cuda_out describe (const encoder *e, int number) {
  const gb_out *o = &e->f->out[number];
  const int reach = reach_of(e, o);
  gb_cuda_out out = {.kind = (int)o->kind,
                     .monoid = (int)o->monoid,
                     .x = o->x,
                     .y = o->y,
                     .axis = o->axis,
                     .k = o->k,
                     .rows = -1,
                     .lanes = -1};
  const gb_cuda_how how = how_of(e, o, reach, &out);
  const bool aside = o->axis >= 0 && how == GB_CUDA_PRODUCT;
  out.how = (int)how;
  out.slotted = e->loops[number] | (aside ? bit(o->axis) : 0);
  out.cols = o->axis < 0 || aside ? 1 : (int)e->f->axis[o->axis].extent;
  out.words = words_of(how, o);
  out.slots = 1;
  for (int a = e->f->naxes - 1; a >= 0; a--) {
    if (!(out.slotted & bit(a))) continue;
    out.mul[a] = out.slots;
    out.slots *= (int)e->f->axis[a].extent;
  }
  return out;
}

/* -- the instructions of a walk */

static bool emits (const gb_cuda_walk *w, const gb_ins *i) {
  for (int k = 0; k < w->nouts; k++)
    if (i->kind == GB_INS_EMIT && w->number[k] == i->x) return true;
  return false;
}

static void need_value (bool *needed, int v) {
  if (v >= 0) needed[v] = true;
}

/* Values are defined before they are read, so one pass from the end suffices. 'last' serves as the set of needed values
** until registers are given. */
static void mark_needed (encoder *e, const gb_cuda_walk *w) {
  bool *wanted = (bool *)e->last;
  memset(wanted, 0, (size_t)e->f->nvalues * sizeof(int));
  memset(e->needed, 0, (size_t)e->f->nins);
  for (int n = e->f->nins - 1; n >= 0; n--) {
    const gb_ins *i = &e->f->ins[n];
    e->needed[n] |= emits(w, i) || (has_dst(i) && wanted[i->dst]);
    if (!e->needed[n] || i->kind == GB_INS_LOOP || i->kind == GB_INS_ENDLOOP) continue;
    need_value(wanted, i->a);
    if (i->kind == GB_INS_MAP || i->kind == GB_INS_RADIAL) need_value(wanted, i->b), need_value(wanted, i->c);
    for (int l = e->around[n]; l >= 0; l = e->around[l]) e->needed[l] = e->needed[e->end[l]] = true;
  }
}

static form level_of_value (const encoder *e, int v) {
  return v < 0 || e->reg[v] < 0 ? 0 : e->level[e->reg[v]];
}

static form level_of_args (const encoder *e, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_MAP:
    case GB_INS_RADIAL: return level_of_value(e, i->a) | level_of_value(e, i->b) | level_of_value(e, i->c);
    case GB_INS_ACC: return level_of_value(e, i->a);
    default: return 0;
  }
}

/* A loop is one unit, and runs at the join of what is inside it; constants run once wherever they stand. */
static void find_levels (encoder *e) {
  const gb_fold *f = e->f;
  for (int v = 0; v < f->nvalues; v++) e->reg[v] = -1; /* the instruction that defines it, of those before */
  for (int n = 0; n < f->nins; n++) {
    const int end = f->ins[n].kind == GB_INS_LOOP ? e->end[n] : n;
    form l = 0;
    for (int m = n; m <= end; m++) {
      const gb_ins *i = &f->ins[m];
      if (!e->needed[m]) continue;
      l |= form_of(e, i) | level_of_args(e, i);
      if (i->kind == GB_INS_EMIT) l = 3;
    }
    for (int m = n; m <= end; m++) {
      const gb_ins *i = &f->ins[m];
      e->level[m] = i->kind == GB_INS_CONST || i->kind == GB_INS_BIND ? 0 : l;
      if (has_dst(i)) e->reg[i->dst] = m;
    }
    n = end;
  }
}

/* -- registers: those of level FULL are free after their last reader, all others are kept */

/* A loop reads until it ends what was defined before it; 'reg' is still the defining instruction. */
static void read_at (encoder *e, int v, int n) {
  if (v < 0) return;
  for (int l = e->around[n]; l >= 0; l = e->around[l])
    if (e->reg[v] < l) n = e->end[l];
  if (n > e->last[v]) e->last[v] = n;
}

static void find_lifetimes (encoder *e) {
  for (int v = 0; v < e->f->nvalues; v++) e->last[v] = -1;
  for (int n = 0; n < e->f->nins; n++) {
    const gb_ins *i = &e->f->ins[n];
    if (!e->needed[n] || i->kind == GB_INS_LOOP || i->kind == GB_INS_ENDLOOP) continue;
    read_at(e, i->a, n);
    if (i->kind == GB_INS_ACC) read_at(e, i->dst, n);
    if (i->kind == GB_INS_MAP || i->kind == GB_INS_RADIAL) read_at(e, i->b, n), read_at(e, i->c, n);
  }
}

static void give_registers (encoder *e, gb_cuda_walk *w) {
  const gb_fold *f = e->f;
  find_lifetimes(e);
  for (int v = 0; v < f->nvalues; v++) e->reg[v] = -1;
  int *busy =
      calloc((size_t)f->nvalues + 1, sizeof *busy); /* by register: the instruction after which it is free */
  for (int n = 0; busy != NULL && n < f->nins; n++) {
    const gb_ins *i = &f->ins[n];
    if (!e->needed[n] || !has_dst(i) || e->reg[i->dst] >= 0) continue;
    const bool reusable = e->level[n] == 3 && e->around[n] < 0;
    int r = 0;
    while (r < w->nregs && !(reusable && busy[r] < n)) r++;
    if (r == w->nregs) w->nregs++;
    busy[r] = reusable ? e->last[i->dst] : f->nins;
    e->reg[i->dst] = r;
  }
  if (busy == NULL) w->nregs = -1;
  free(busy);
}

static int reg_of (const encoder *e, int v) { return v < 0 ? -1 : e->reg[v]; }

static int output_of (const gb_cuda_walk *w, int number) {
  for (int k = 0; k < w->nouts; k++)
    if (w->number[k] == number) return k;
  return -1;
}

static gb_cuda_ins translate (const encoder *e, const gb_cuda_walk *w, const gb_ins *i) {
  gb_cuda_ins to = {.kind = (int)i->kind,
                    .op = (int)i->op,
                    .profile = (int)i->profile,
                    .order = i->order,
                    .dalpha = i->dalpha,
                    .monoid = (int)i->monoid,
                    .dst = -1,
                    .a = -1,
                    .b = -1,
                    .c = -1,
                    .x = i->x,
                    .y = i->y,
                    .w = i->w,
                    .axis = i->axis,
                    .jump = -1};
  if (has_dst(i)) to.dst = e->reg[i->dst];
  if (i->kind == GB_INS_MAP || i->kind == GB_INS_RADIAL) {
    to.a = reg_of(e, i->a);
    to.b = reg_of(e, i->b);
    to.c = reg_of(e, i->c);
  }
  if (i->kind == GB_INS_ACC || i->kind == GB_INS_EMIT) to.a = reg_of(e, i->a);
  if (i->kind == GB_INS_EMIT) to.x = output_of(w, i->x);
  if (i->kind == GB_INS_RADIAL) {
    to.plain = form_of_value(e, i->a) == form_of(e, i) && form_of_value(e, i->b) == 0;
    to.varying = i->c >= 0 && i->profile == GB_RQ && form_of_value(e, i->c) != 0;
  }
  return to;
}

static void list_levels (const encoder *e, gb_cuda_walk *w) {
  for (int l = 0; l < GB_CUDA_LEVELS; l++) {
    int open[GB_FOLD_AXES], depth = 0;
    w->code[l] = w->nins;
    for (int n = 0; n < e->f->nins; n++) {
      if (!e->needed[n] || (int)e->level[n] != l) continue;
      const int at = w->nins++ - w->code[l];
      gb_cuda_ins *to = &w->ins[w->code[l] + at];
      *to = translate(e, w, &e->f->ins[n]);
      w->from[w->code[l] + at] = n;
      if (to->kind == GB_INS_LOOP) open[depth++] = at;
      if (to->kind != GB_INS_ENDLOOP) continue;
      to->jump = open[--depth];
      w->ins[w->code[l] + to->jump].jump = at;
    }
    w->ncode[l] = w->nins - w->code[l];
  }
}

/* Registers of chains, and of the elements that LSE takes at once. */
static void place_chains (const encoder *e, gb_cuda_walk *w) {
  static const int at_once[] = {[GB_CUDA_ROW] = GB_TJ, [GB_CUDA_COL] = GB_CUDA_BATCH, [GB_CUDA_ALL] = GB_TJ};
  const int held = w->reach == GB_CUDA_KEEP                 ? 0
                   : w->reach == GB_CUDA_COL && e->tile < 0 ? GB_SUPER / GB_LANES
                                                            : at_once[w->reach];
  for (int k = 0; k < w->nouts; k++) {
    gb_cuda_out *o = &w->out[k];
    o->first = w->words;
    w->words += (size_t)o->slots * (size_t)o->cols * (size_t)o->words;
    if (o->how == GB_CUDA_STORE || o->how == GB_CUDA_SELECT || w->reach == GB_CUDA_KEEP) continue;
    o->acc = w->nregs;
    w->nregs += o->slots * o->cols * o->words;
    o->held = w->nregs;
    if (o->how == GB_CUDA_LSE) w->nregs += o->slots * held;
  }
}

/* -- walks */

static bool joins (const encoder *e, const gb_cuda_walk *w, int number) {
  const gb_out *o = &e->f->out[number];
  return w->reach == reach_of(e, o) && w->axes == o->reduced && w->lists == is_list(o->monoid);
}

static gb_status begin_walk (const encoder *e, gb_cuda_walk *w, int number, gb_error *err) {
  const gb_out *o = &e->f->out[number];
  const size_t nins = (size_t)e->f->nins + 1, nouts = (size_t)e->f->nouts;
  *w = (gb_cuda_walk){.reach = reach_of(e, o),
                      .axes = o->reduced,
                      .reduced = o->reduced & e->outer,
                      .lists = is_list(o->monoid)};
  w->ins = calloc(nins, sizeof *w->ins);
  w->from = calloc(nins, sizeof *w->from);
  w->out = calloc(nouts, sizeof *w->out);
  w->number = calloc(nouts, sizeof *w->number);
  return w->ins != NULL && w->from != NULL && w->out != NULL && w->number != NULL
             ? GB_OK
             : gb_fail(err, GB_ENOMEM, "no memory for a program");
}

static gb_status add_output (const encoder *e, gb_cuda_walk *walks, int *n, int number, gb_error *err) {
  int k = 0;
  while (k < *n && !joins(e, &walks[k], number)) k++;
  if (k == *n) {
    ++*n;
    GB_TRY(begin_walk(e, &walks[k], number, err));
  }
  gb_cuda_walk *w = &walks[k];
  w->stores |= e->f->out[number].kind == GB_OUT_STORE;
  w->number[w->nouts] = number;
  w->out[w->nouts++] = describe(e, number);
  return GB_OK;
}

static gb_status finish_walk (encoder *e, gb_cuda_walk *w, gb_error *err) {
  mark_needed(e, w);
  find_levels(e);
  give_registers(e, w);
  if (w->nregs < 0) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  list_levels(e, w);
  place_chains(e, w);
  return GB_OK;
}

static gb_status encode (encoder *e, gb_cuda_walk *walks, int *n, gb_error *err) {
  GB_TRY(scan(e, err));
  for (int o = 0; o < e->f->nouts; o++) GB_TRY(add_output(e, walks, n, o, err));
  for (int k = 0; k < *n; k++) GB_TRY(finish_walk(e, &walks[k], err));
  return GB_OK;
}

gb_status gb_cuda_encode (const gb_fold *f, gb_cuda_walk **walks, int *nwalks, gb_error *err) {
  encoder e;
  *nwalks = 0;
  *walks = calloc((size_t)f->nouts + 1, sizeof **walks);
  if (*walks == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  gb_status st = open_encoder(&e, f, err);
  if (st == GB_OK) st = encode(&e, *walks, nwalks, err);
  free(e.memory);
  if (st != GB_OK) gb_cuda_walks_free(*walks, *nwalks);
  return st;
}

void gb_cuda_walks_free (gb_cuda_walk *walks, int nwalks) {
  for (int k = 0; k < nwalks; k++) {
    free(walks[k].ins);
    free(walks[k].from);
    free(walks[k].out);
    free(walks[k].number);
  }
  free(walks);
}

gb_cuda_places gb_cuda_places_of (const gb_fold *f, const gb_cuda_walk *w) {
  const int strides = f->naxes * (int)sizeof(int64_t);
  gb_cuda_places at = {.out = (int)offsetof(gb_cuda_out, stride) + strides,
                       .operand = (int)offsetof(gb_cuda_operand, stride) + strides};
  at.operands = w->nouts * at.out;
  at.constants = at.operands + f->noperands * at.operand;
  at.ins = at.constants + f->nconstants * (int)sizeof(gb_number);
  at.end = at.ins + w->nins * (int)sizeof(gb_cuda_ins);
  return at;
}
