/* slots.c - the instructions that a generated kernel issues a pair, by instruction of the fold. For products of kernels,
** LSE and ARG* they are within 3 % of what a disassembler counts in the loops for sm_90 (the table of docs/guide/cuda.md,
** which tests/cuda/price/test_price.c has); other ops are estimates. Every instruction of a thread takes a slot, those of f64 have
** units of their own. */
#include <math.h>
#include <string.h>

#include "cuda/emit/wave_room.h"
#include "cuda/fold/program.h"
#include "cuda/price/profile.h"

typedef struct pricing {
  const gb_fold *f;
  gb_axes lane, tile;
  double lanes, rows, outer;
  bool unit, f64;
  double slots, special, doubles; /* of one pair */
  double outputs;                 /* of 'slots', or of 'doubles': what outputs take */
  double chains;                  /* of an element */
  bool wave;                      /* a symmetric program whose pairs are evaluated once */
  double side;                    /* of one index of LANE or TILE */
} pricing;

static double extent (const gb_fold *f, int axis) { return axis < 0 ? 1 : (double)f->axis[axis].extent; }

static pricing pricing_of (const gb_fold *f, const char *arithmetic) {
  pricing p = {.f = f, .lanes = 1, .rows = 1, .outer = 1, .f64 = f->compute == GB_F64};
  p.unit = f->compute == GB_F32 && strcmp(arithmetic, "unit") == 0;
  for (int a = 0; a < f->naxes; a++) {
    if (f->axis[a].role == GB_AXIS_LANE) p.lane = 1u << a, p.lanes = extent(f, a);
    if (f->axis[a].role == GB_AXIS_TILE) p.tile = 1u << a, p.rows = extent(f, a);
    if (f->axis[a].role == GB_AXIS_OUTER) p.outer *= extent(f, a);
  }
  return p;
}

/* -- instructions */

typedef struct price {
  double slots, special, doubles; /* doubles: of 'slots', where the program is of f64 */
} price;

static price plain (double n) { return (price){n, 0, n}; }

static price of_map (gb_op op) {
  switch (op) {
    case GB_OP_DIV:
    case GB_OP_RECIP:
    case GB_OP_SQRT:
    case GB_OP_RSQRT:
    case GB_OP_IDIV: return plain(9);
    case GB_OP_EXP:
    case GB_OP_EXPM1: return plain(14);
    case GB_OP_LOG:
    case GB_OP_LOG1P:
    case GB_OP_TANH:
    case GB_OP_SIGMOID: return plain(22);
    case GB_OP_SIN:
    case GB_OP_COS:
    case GB_OP_TAN:
    case GB_OP_ERF:
    case GB_OP_NDTR: return plain(30);
    case GB_OP_POW:
    case GB_OP_LGAMMA:
    case GB_OP_LOG_NDTR:
    case GB_OP_SOFTPLUS: return plain(60);
    case GB_OP_DETACH:
    case GB_OP_WITH_SLOPE: return plain(0);
    default: return plain(1);
  }
}

/* 2^x: a product and the unit's result; or clamps, five products and the exponent. */
static price of_exp2 (const pricing *p) {
  return p->unit ? (price){2, 1, 0} : p->f64 ? (price){24.5, 0, 16} : plain(13.1);
}
/* sqrt z, and the clamp before it. */
static price of_root (const pricing *p) { return p->unit ? (price){2, 1, 0} : plain(16); }

static price of_radial (const pricing *p, const gb_ins *i) {
  price e = of_exp2(p), r = of_root(p);
  double more = 2.0 * i->order;
  if (i->profile == GB_RBF) return (price){e.slots + more, e.special, e.doubles + more};
  if (i->profile == GB_RQ) return plain(40 + more + (i->dalpha ? 30 : 0));
  more += i->profile == GB_M32 ? 3 : i->profile == GB_M52 ? 5 : 0;
  return (price){e.slots + r.slots + more, e.special + r.special, e.doubles + r.doubles + more};
}

/* A difference and a product each feature. */
static price of_front (const gb_ins *i, double features) {
  return plain((i->kind == GB_INS_DOT ? 1 : i->w >= 0 ? 3 : 2) * features);
}

static price of_ins (const pricing *p, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_LOAD: return plain(2);
    case GB_INS_IOTA: return plain(2);
    case GB_INS_RAND: return plain(70);
    case GB_INS_MAP: return of_map(i->op);
    case GB_INS_SQDIST:
    case GB_INS_DOT: return of_front(i, extent(p->f, i->axis));
    case GB_INS_RADIAL: return of_radial(p, i);
    case GB_INS_ACC: return plain(1);
    default: return plain(0);
  }
}

/* Of LSE: the maximum of a group, an exponential and a sum. Of a list: two comparisons and two choices, or a comparison with the
** last of the least few and what a part of the elements takes that are among them. */
static price of_reduction (const pricing *p, const gb_out *o) {
  switch (o->monoid) {
    case GB_LSE: return p->f64 ? (price){34, 0, 20} : (price){14.7, 1, 0};
    case GB_ARGMINIMUM:
    case GB_ARGMAXIMUM: return p->f64 ? (price){4, 0, 2} : plain(4);
    case GB_KSMALLEST: return plain(2 + 5.0 * o->k);
    default: return plain(1);
  }
}

static price of_emit (const pricing *p, const gb_out *o) {
  const double columns = extent(p->f, o->axis);
  switch (o->kind) {
    case GB_OUT_STORE: return plain(3);
    case GB_OUT_CONTRACT: return plain(columns);
    case GB_OUT_DIFF: return plain(2 * columns);
    default: return of_reduction(p, o);
  }
}

/* -- a program */

/* Values of one side are computed once a row or a column of a thread block, or by every pair where they are in both. */
static void add (pricing *p, gb_axes deps, double times, price x) {
  if ((deps & p->lane) != 0 && (p->tile == 0 || (deps & p->tile) != 0)) {
    p->slots += times * (p->f64 ? x.slots - x.doubles : x.slots);
    p->doubles += p->f64 ? times * x.doubles : 0;
    p->special += times * x.special;
  } else p->side += times * x.slots;
}

/* Of a pair: the reads of what passes, 16 bytes at once, and the loop over it, which all indices that a thread holds
** share. They are 8, or fewer where features and columns need the registers. */
static double overhead (const gb_fold *f, bool f64) {
  double passing = 0;
  for (int n = 0; n < f->nins; n++)
    if (f->ins[n].kind == GB_INS_SQDIST || f->ins[n].kind == GB_INS_DOT) passing += extent(f, f->ins[n].axis);
  for (int o = 0; o < f->nouts; o++)
    if (f->out[o].kind == GB_OUT_CONTRACT || f->out[o].kind == GB_OUT_DIFF)
      passing += extent(f, f->out[o].axis);
  const double held = passing <= 12 ? 8 : passing <= 40 ? 4 : 2;
  return (ceil(passing / (f64 ? 2 : 4)) + 1.6) / held;
}

/* Elements of the operands that vary along one side alone, at one of its indices. */
static double words_of_side (const gb_fold *f, gb_axes side, gb_axes other) {
  double words = 0;
  for (int o = 0; o < f->noperands; o++) {
    double of = 1;
    gb_axes axes = 0;
    for (int a = 0; a < f->naxes; a++) {
      if (f->operand[o].stride[a] == 0) continue;
      axes |= 1u << a;
      if (f->axis[a].role == GB_AXIS_INNER) of *= extent(f, a);
    }
    if ((axes & side) != 0 && (axes & other) == 0) words += of;
  }
  return words;
}

/* A symmetric program of sums over TILE alone is a wave (emit/wave_room.h) where one fits: its outputs take an element twice,
** and each column's chains pass through shared memory. */
static void add_overhead (pricing *p) {
  const gb_fold *f = p->f;
  const int size = p->f64 ? 8 : 4, vector = 16 / size;
  gb_wave w;
  p->wave = f->symmetric;
  for (int o = 0; o < f->nouts; o++)
    p->wave &= f->out[o].kind != GB_OUT_STORE && (f->out[o].reduced & (p->lane | p->tile)) == p->tile;
  const double row = words_of_side(f, p->tile, p->lane), held = words_of_side(f, p->lane, p->tile);
  p->wave &= p->chains < 256 && row < 256 && held < 256 &&
             gb_wave_fits(&w, (int)p->chains, (int)held, vector * (int)ceil(row / vector), size,
                          p->slots + p->doubles - p->outputs);
  if (!p->wave) {
    p->slots += overhead(f, p->f64);
    return;
  }
  *(p->f64 ? &p->doubles : &p->slots) += p->outputs;
  p->slots += (ceil(row / vector) + 2 * p->chains + 1.75) / w.batch;
}

static void add_output (pricing *p, double times, const gb_out *o) {
  const price x = of_emit(p, o);
  add(p, p->lane | p->tile, times, x);
  p->outputs += times * x.slots;
  p->chains += times * (o->kind == GB_OUT_REDUCE ? 1 : extent(p->f, o->axis));
}

static void add_all (pricing *p) {
  double times[GB_FOLD_AXES + 1] = {1};
  int depth = 0;
  for (int n = 0; n < p->f->nins; n++) {
    const gb_ins *i = &p->f->ins[n];
    if (i->kind == GB_INS_LOOP && depth < GB_FOLD_AXES)
      times[depth + 1] = times[depth] * extent(p->f, i->axis), depth++;
    else if (i->kind == GB_INS_ENDLOOP && depth > 0) depth--;
    else if (i->kind == GB_INS_EMIT) add_output(p, times[depth], &p->f->out[i->x]);
    else add(p, i->deps, times[depth], of_ins(p, i));
  }
  add_overhead(p);
}

/* Outputs that reduce the same axes are one walk. */
static int count_walks (const gb_fold *f) {
  int n = 0;
  for (int o = 0; o < f->nouts; o++) {
    bool again = false;
    for (int q = 0; q < o; q++) again |= f->out[q].reduced == f->out[o].reduced;
    n += !again;
  }
  return n > 0 ? n : 1;
}

/* Chains are a kernel, and totals and results another one; stored elements need no more than one. A symmetric walk that is no
** wave takes what is left of the diagonal by columns. */
static double count_launches (const pricing *p) {
  bool sums = false;
  for (int o = 0; o < p->f->nouts; o++) sums |= p->f->out[o].kind != GB_OUT_STORE;
  return count_walks(p->f) * (sums ? p->f->symmetric && !p->wave ? 3 : 2 : 1);
}

static double bytes_of (const gb_fold *f, const ptrdiff_t *stride, gb_dtype t) {
  double count = 1;
  for (int a = 0; a < f->naxes; a++)
    if (stride[a] != 0) count *= extent(f, a);
  return count * (double)gb_dtype_size(t);
}

/* Operands and results once, and chains written and read: eight bytes a row and 256 columns. */
static double memory (const pricing *p) {
  const gb_fold *f = p->f;
  double bytes = 0;
  for (int x = 0; x < f->noperands; x++) bytes += bytes_of(f, f->operand[x].stride, f->operand[x].dtype);
  for (int o = 0; o < f->nouts; o++) {
    bytes += bytes_of(f, f->out[o].stride, f->out[o].dtype);
    if ((f->out[o].reduced & (p->lane | p->tile)) != 0)
      bytes += 16 * p->outer * p->lanes * ceil(p->rows / GB_CANON) * extent(f, f->out[o].axis);
  }
  return bytes;
}

static double whole (double n, double of) { return of * ceil(n / of); }

/* Thread blocks of a walk and their pairs. One with a few rows, or a chunk with a few columns, takes as long as a whole one.
** Those of a wave are the squares of super-tiles on the diagonal and above it. */
static double blocks_of (const pricing *p, double *pairs) {
  const double rows = p->rows < GB_CANON ? p->rows : whole(p->rows, GB_CANON),
               supers = ceil(p->lanes / GB_CUDA_ROWS);
  if (p->wave) {
    *pairs = GB_CUDA_ROWS * fmin(rows, GB_SUPER);
    return p->outer * supers * (supers + 1) / 2;
  }
  *pairs = GB_CUDA_ROWS * fmin(rows, GB_CANON);
  return count_walks(p->f) * p->outer * supers * ceil(rows / GB_CANON);
}

gb_cuda_work gb_cuda_work_of (const gb_fold *f, const char *arithmetic) {
  pricing p = pricing_of(f, arithmetic);
  add_all(&p);
  double each;
  const double blocks = blocks_of(&p, &each), pairs = blocks * each;
  const double sides = blocks * (GB_CUDA_ROWS + each / GB_CUDA_ROWS);
  return (gb_cuda_work){.slots = pairs * p.slots + sides * p.side,
                        .special = pairs * p.special,
                        .f64 = pairs * p.doubles,
                        .bytes = memory(&p),
                        .launches = count_launches(&p),
                        .blocks = blocks};
}
