/* interpret.c - runs the compiled instructions of one level on the current item, lane block, chunk or
** tile. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/fold/fold.h"

static void put (gb_dtype type, void *p, size_t i, double v) {
  if (type == GB_F32) ((float *)p)[i] = (float)v;
  else if (type == GB_F64) ((double *)p)[i] = v;
  else ((int64_t *)p)[i] = (int64_t)v;
}

static double get (gb_dtype type, const void *p, size_t i) {
  if (type == GB_F32) return (double)((const float *)p)[i];
  if (type == GB_F64) return ((const double *)p)[i];
  return (double)((const int64_t *)p)[i];
}

double gb_exec_scalar (const gb_xthread *t, int value) {
  return value < 0 ? 0 : get(t->p->compute, t->ptr[value], 0);
}

/* Addresses that move with the lane block (level LANE) or the tile (level TILE); for ONE: the packs of the
** item. */
void gb_exec_bind (gb_xthread *t, gb_form level) {
  const gb_xprog *p = t->p;
  if (level == GB_FORM_ONE) {
    for (int v = 0; v < p->f->nvalues; v++)
      if (p->value[v].level == GB_FORM_ONE && p->value[v].pack >= 0)
        t->ptr[v] = (void *)gb_exec_pack_at(t, p->value[v].pack);
    return;
  }
  const int *list = p->bound + (level == GB_FORM_TILE ? p->nbound[GB_FORM_LANE] : 0);
  size_t past = level == GB_FORM_LANE ? (size_t)t->block * GB_TI : t->tile0 - t->chunk0;
  for (int q = 0; q < p->nbound[level]; q++) {
    const gb_xvalue *x = &p->value[list[q]];
    if (x->pack >= 0) t->ptr[list[q]] = (void *)gb_exec_pack_at(t, x->pack);
    else if ((gb_form)x->form == level) t->ptr[list[q]] = t->ws + x->at + past * p->size;
  }
}

/* Rows and lanes of a form at the current tile, and the domain indices of an element; lanes past the edge
** repeat the last. */
static size_t rows_of (const gb_xthread *t, gb_form form) { return form & GB_FORM_TILE ? (size_t)t->nj : 1; }
static size_t lanes_of (gb_form form) { return form & GB_FORM_LANE ? GB_TI : 1; }

static size_t lane_of (const gb_xthread *t, size_t row, size_t i) {
  size_t at = (size_t)t->block * GB_TI + i + (t->p->strip ? row * GB_TI : 0);
  return t->lane0 + (at < t->lanes ? at : t->lanes - 1);
}

static size_t tile_of (const gb_xthread *t, size_t row) { return t->p->strip ? 0 : t->tile0 + row; }

static void put_number (gb_dtype compute, void *dst, size_t k, gb_number v) {
  if (compute == GB_I64) ((int64_t *)dst)[k] = v.i;
  else put(compute, dst, k, v.f);
}

/* The value of IOTA at an index; integers wrap around. */
static void put_index (gb_dtype compute, void *dst, size_t k, const gb_ins *i, int64_t at) {
  if (compute == GB_I64)
    ((int64_t *)dst)[k] = (int64_t)((uint64_t)at * (uint64_t)i->step + (uint64_t)i->start);
  else put(compute, dst, k, (double)at * i->f + i->g);
}

/* Element numbers of an operand as numbers. */
static void run_positions (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  void *dst = t->ptr[i->dst];
  size_t lanes = lanes_of(op->form), rows = rows_of(t, op->form);
  const ptrdiff_t step = p->lane < 0 ? 0 : p->f->operand[i->x].stride[p->lane];
  for (size_t j = 0; j < rows; j++) {
    size_t first = lane_of(t, j, 0);
    ptrdiff_t at = gb_exec_operand_index(t, i->x, first, tile_of(t, j));
    for (size_t l = 0; l < lanes; l++)
      put_index(p->compute, dst, j * lanes + l, i, at + (ptrdiff_t)(lane_of(t, j, l) - first) * step);
  }
}

static void run_iota (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  if (i->axis < 0) {
    run_positions(t, op);
    return;
  }
  void *dst = t->ptr[i->dst];
  size_t lanes = lanes_of(op->form), rows = rows_of(t, op->form);
  for (size_t j = 0; j < rows; j++)
    for (size_t l = 0; l < lanes; l++) {
      size_t at = i->axis == p->lane   ? lane_of(t, j, l)
                  : i->axis == p->tile ? tile_of(t, j)
                                       : t->idx[i->axis];
      put_index(p->compute, dst, j * lanes + l, i, (int64_t)at);
    }
}

/* Random numbers at the element numbers that an operand gives; lanes past the last repeat it. */
static void run_rand (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  char *dst = t->ptr[i->dst];
  const size_t lanes = lanes_of(op->form), rows = rows_of(t, op->form);
  const ptrdiff_t step = p->lane < 0 ? 0 : p->f->operand[i->x].stride[p->lane];
  for (size_t j = 0; j < rows; j++, dst += lanes * p->size) {
    const size_t from = lane_of(t, j, 0), there = lane_of(t, j, lanes - 1) - from + 1;
    const ptrdiff_t first = gb_exec_operand_index(t, i->x, from, tile_of(t, j));
    p->k->draw(i->profile != 0, i->f, i->seed, (uint64_t)first, (uint64_t)step, there, dst);
    for (size_t l = there; l < lanes; l++) memcpy(dst + l * p->size, dst + (there - 1) * p->size, p->size);
  }
}

/* One element along the feature axis, in the compute type, with the roundings of the kernels. */
#define ALONG(T, FMA)                                                                                        \
  do {                                                                                                       \
    T s = 0, x, y, w = 1;                                                                                    \
    for (size_t k = 0; k < n; k++) {                                                                         \
      t->idx[i->axis] = k;                                                                                   \
      gb_exec_load_run(type, &x, gb_exec_operand_at(t, i->x, lane, tile), dx, 1, 1);                         \
      gb_exec_load_run(type, &y, gb_exec_operand_at(t, i->y, lane, tile), dy, 1, 1);                         \
      if (i->w >= 0)                                                                                         \
        gb_exec_load_run(type, &w, gb_exec_operand_at(t, i->w, lane, tile), t->p->f->operand[i->w].dtype, 1, \
                         1);                                                                                 \
      s = i->kind == GB_INS_DOT ? FMA(x, y, s) : FMA(w * (x - y), x - y, s);                                 \
    }                                                                                                        \
    ((T *)dst)[e] = s;                                                                                       \
  } while (0)
#define FMA_I64(a, b, c) ((a) * (b) + (c))

static void along (gb_xthread *t, const gb_ins *i, size_t lane, size_t tile, void *dst, size_t e) {
  gb_dtype type = t->p->compute, dx = t->p->f->operand[i->x].dtype, dy = t->p->f->operand[i->y].dtype;
  size_t n = t->p->f->axis[i->axis].extent;
  if (type == GB_F32) ALONG(float, fmaf);
  else if (type == GB_F64) ALONG(double, fma);
  else ALONG(int64_t, FMA_I64);
  t->idx[i->axis] = 0;
}

static void run_direct (gb_xthread *t, const gb_xop *op) {
  size_t lanes = lanes_of(op->form), rows = rows_of(t, op->form);
  for (size_t j = 0; j < rows; j++)
    for (size_t l = 0; l < lanes; l++)
      along(t, op->ins, lane_of(t, j, l), tile_of(t, j), t->ptr[op->ins->dst], j * lanes + l);
}

/* 'n' rows of one lane block. */
static void front_rows (gb_xthread *t, const gb_xop *op, int n, void *dst) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->kind == GB_X_FRONT ? op->front : op->ins;
  const void *xs = gb_exec_pack_at(t, op->px), *y = gb_exec_pack_at(t, op->py);
  size_t d = p->f->axis[i->axis].extent, step = p->pack[op->py].row;
  if (op->kind == GB_X_FRONT)
    p->k->sqdist_radial(op->ins->profile, n, d, xs, y, step, gb_exec_scalar(t, op->ins->b),
                        gb_exec_scalar(t, op->ins->c), dst);
  else if (i->kind == GB_INS_DOT) p->k->dot(n, d, xs, y, step, dst);
  else p->k->sqdist(n, d, xs, y, step, op->pw < 0 ? NULL : gb_exec_pack_at(t, op->pw), dst);
}

static void run_front (gb_xthread *t, const gb_xop *op) {
  char *dst = t->ptr[op->ins->dst];
  if (op->px < 0) run_direct(t, op);
  else if (!t->p->strip) front_rows(t, op, t->nj, dst);
  else {
    for (t->block = 0; t->block < t->nj; t->block++)
      front_rows(t, op, 1, dst + (size_t)t->block * GB_TI * t->p->size);
    t->block = 0;
  }
}

static gb_arg arg_of (const gb_xthread *t, int v) {
  return v < 0 ? (gb_arg){NULL, GB_FORM_ONE} : (gb_arg){t->ptr[v], t->p->value[v].form};
}

static size_t count_of (const gb_xthread *t, gb_form form) {
  size_t n = rows_of(t, form) * lanes_of(form);
  return (n + GB_LANES - 1) / GB_LANES * GB_LANES;
}

/* (1 + u / (2 alpha))^-alpha and its derivatives where alpha varies by element. */
static double rational_quadratic (const gb_ins *i, double u, double alpha) {
  double z = u / (2 * alpha), l = log1p(z), n = alpha + i->order, f = exp(-n * l),
         rate = n * z / (alpha * (1 + z)) - l;
  if (i->order == 1) f *= -0.5;
  if (i->order == 2) {
    f *= (alpha + 1) / (4 * alpha);
    rate += 1 / (alpha + 1) - 1 / alpha;
  }
  return i->dalpha ? f * rate : f;
}

static void run_varying_alpha (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  void *dst = t->ptr[i->dst];
  gb_form form = p->value[i->c].form;
  size_t lanes = lanes_of(op->form), rows = rows_of(t, op->form);
  for (size_t j = 0; j < rows; j++)
    for (size_t l = 0; l < lanes; l++) {
      size_t at = (form & GB_FORM_TILE ? j * lanes_of(form) : 0) + (form & GB_FORM_LANE ? l : 0),
             e = j * lanes + l;
      put(p->compute, dst, e,
          rational_quadratic(i, get(p->compute, dst, e), get(p->compute, t->ptr[i->c], at)));
    }
}

/* c and alpha are numbers in usual programs; if c varies, u = c * s is an ordinary product. */
static void run_radial (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  const gb_xvalue *v = p->value;
  bool plain = v[i->a].form == op->form && v[i->b].form == GB_FORM_ONE;
  bool alpha = i->c < 0 || v[i->c].form == GB_FORM_ONE || i->profile != GB_RQ;
  void *dst = t->ptr[i->dst];
  const void *a = t->ptr[i->a];
  double c = gb_exec_scalar(t, i->b);
  _Alignas(64) double one[GB_LANES] = {0};
  if (!plain || !alpha) {
    p->k->map(GB_OP_MUL, op->form, t->nj, dst, arg_of(t, i->b), arg_of(t, i->a), (gb_arg){NULL, GB_FORM_ONE});
    a = dst;
    c = 1;
  }
  if (!alpha) run_varying_alpha(t, op);
  else if (op->form == GB_FORM_ONE) {
    memcpy(one, a, p->size);
    p->k->radial(i->profile, i->order, i->dalpha, GB_LANES, one, c, gb_exec_scalar(t, i->c), one);
    memcpy(dst, one, p->size);
  } else
    p->k->radial(i->profile, i->order, i->dalpha, count_of(t, op->form), a, c, gb_exec_scalar(t, i->c), dst);
}

/* log(e^a + e^b) by elementwise ops; equal infinities are kept. */
static void acc_lse (gb_xthread *t, const gb_xop *op) {
  const gb_isa_kernels *k = t->p->k;
  gb_form form = op->form;
  const gb_arg none = {NULL, GB_FORM_ONE};
  gb_arg dst = arg_of(t, op->ins->dst), a = arg_of(t, op->ins->a);
  char *u = t->ws + t->p->temp[1], *w = t->ws + t->p->temp[2];
  _Alignas(64) double ln2[1];
  put(t->p->compute, ln2, 0, M_LN2);
  gb_arg hi = {w, form}, lo = {u, form};
  k->map(GB_OP_MAXIMUM, form, t->nj, w, dst, a, none);
  k->map(GB_OP_MINIMUM, form, t->nj, u, dst, a, none);
  k->map(GB_OP_EQ, form, t->nj, (void *)dst.p, lo, hi, none);
  k->map(GB_OP_SUB, form, t->nj, u, lo, hi, none);
  k->map(GB_OP_EXP, form, t->nj, u, lo, none, none);
  k->map(GB_OP_LOG1P, form, t->nj, u, lo, none, none);
  k->map(GB_OP_WHERE, form, t->nj, u, dst, (gb_arg){ln2, GB_FORM_ONE}, lo);
  k->map(GB_OP_ADD, form, t->nj, (void *)dst.p, lo, hi, none);
}

static void run_acc (gb_xthread *t, const gb_xop *op) {
  static const gb_op by[GB_NMONOIDS] = {
      [GB_SUM] = GB_OP_ADD,         [GB_PROD] = GB_OP_MUL,   [GB_MINIMUM] = GB_OP_MINIMUM,
      [GB_MAXIMUM] = GB_OP_MAXIMUM, [GB_ANYTRUE] = GB_OP_OR, [GB_ALLTRUE] = GB_OP_AND};
  const gb_ins *i = op->ins;
  if (i->monoid == GB_LSE) acc_lse(t, op);
  else
    t->p->k->map(by[i->monoid], op->form, t->nj, t->ptr[i->dst], arg_of(t, i->dst), arg_of(t, i->a),
                 (gb_arg){NULL, GB_FORM_ONE});
}

/* Strips read and write contiguous aligned memory in place; the register is then unused. */
static bool in_place (const gb_xthread *t, const void *at) {
  return t->lanes == (size_t)t->nj * GB_TI && ((uintptr_t)at & 63) == 0;
}

static void run_load (gb_xthread *t, const gb_xop *op) {
  const gb_xprog *p = t->p;
  const gb_ins *i = op->ins;
  if (op->px >= 0) {
    t->ptr[i->dst] = (void *)gb_exec_pack_at(t, op->px);
    return;
  }
  const gb_operand *o = &p->f->operand[i->x];
  if (p->strip && o->dtype == p->compute && o->stride[p->lane] == 1) {
    const char *at = gb_exec_operand_at(t, i->x, t->lane0, 0);
    if (in_place(t, at)) {
      t->ptr[i->dst] = (void *)at;
      return;
    }
  }
  t->ptr[i->dst] = t->ws + p->value[i->dst].at;
  gb_exec_load(t, i->x, op->form, t->ptr[i->dst]);
}

static void redirect (gb_xthread *t, const gb_xop *op) {
  const gb_out *o = t->p->out[op->redirect].o;
  ptrdiff_t at = o->offset + (ptrdiff_t)t->lane0;
  for (int a = 0; a < t->p->f->naxes; a++) at += (ptrdiff_t)t->idx[a] * o->stride[a];
  char *dst = (char *)t->outbase[o->slot] + at * (ptrdiff_t)t->p->size;
  t->ptr[op->ins->dst] = in_place(t, dst) ? dst : t->ws + t->p->value[op->ins->dst].at;
}

/* Starts the loop at 'pc': accumulators of this loop, not of loops inside it, to their identities. Returns
** the next pc: the loop's end if its extent is 0. */
static int begin_loop (gb_xthread *t, const gb_xop *op, int pc) {
  const gb_xprog *p = t->p;
  for (int q = pc + 1; q < op[pc].jump; q++) {
    if (op[q].kind == GB_INS_LOOP) q = op[q].jump;
    else if (op[q].kind == GB_INS_ACC)
      gb_exec_fill(p->compute, t->ptr[op[q].ins->dst], rows_of(t, op[q].form) * lanes_of(op[q].form),
                   op[q].ins->monoid);
  }
  t->idx[op[pc].ins->axis] = 0;
  return p->f->axis[op[pc].ins->axis].extent > 0 ? pc : op[pc].jump;
}

void gb_exec_run (gb_xthread *t, gb_form level) {
  const gb_xprog *p = t->p;
  const gb_xop *op = p->op + p->code[level];
  const gb_xchain *chain = p->chain, *none = p->chain + p->nchains;
  if (level != GB_FORM_FULL || !gb_exec_chain_runs(t)) chain = none;
  for (int pc = 0; pc < p->ncode[level]; pc++) {
    if (chain < none && pc == chain->first) {
      gb_exec_run_chain(t, chain);
      pc = chain++->end - 1;
      continue;
    }
    const gb_xop *o = &op[pc];
    const gb_ins *i = o->ins;
    switch (o->kind) {
      case GB_INS_MAP:
        if (o->redirect >= 0) redirect(t, o);
        p->k->map(i->op, o->form, t->nj, t->ptr[i->dst], arg_of(t, i->a), arg_of(t, i->b), arg_of(t, i->c));
        break;
      case GB_INS_RADIAL:
        if (o->redirect >= 0) redirect(t, o);
        run_radial(t, o);
        break;
      case GB_INS_LOAD: run_load(t, o); break;
      case GB_INS_CONST: put(p->compute, t->ptr[i->dst], 0, i->f); break;
      case GB_INS_BIND: put_number(p->compute, t->ptr[i->dst], 0, t->constant[i->x]); break;
      case GB_INS_IOTA: run_iota(t, o); break;
      case GB_INS_RAND: run_rand(t, o); break;
      case GB_INS_SQDIST:
      case GB_INS_DOT:
      case GB_X_FRONT: run_front(t, o); break;
      case GB_INS_ACC: run_acc(t, o); break;
      case GB_INS_EMIT: gb_exec_accumulate(t, i->x, i->a); break;
      case GB_INS_LOOP: pc = begin_loop(t, op, pc); break;
      case GB_INS_ENDLOOP: {
        int axis = op[o->jump].ins->axis;
        if (++t->idx[axis] < p->f->axis[axis].extent) pc = o->jump;
        else t->idx[axis] = 0;
        break;
      }
      default: break;
    }
  }
}
