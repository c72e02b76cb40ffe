/* cull.c - tile culling: for a covariance with compact support, a tile of distant points adds 0.
**
** Before a tile of a fold that only sums, its instructions are run once in interval arithmetic: distances and
** products from the bounding boxes of the points, everything else by rules that widen by more than an op may
** round. If every value handed to an output is proven to be 0, and its factors to be finite, the tile is
** skipped, and the sums keep their bits. Values that are not finite or have no rule prove nothing: such tiles
** are visited.
**
** Used only for programs in which a large distance makes all emitted values 0 by a rule that can do so (max,
** where, ...). */
#include <float.h>
#include <math.h>

#include "cpu/fold/fold.h"

enum { SEGMENT = GB_TI, SEGMENTS = GB_CANON / SEGMENT };

/* All values v have lo <= v <= hi; bounds that are not finite allow anything, NaN too. */
typedef gb_span span;

static const span anything = {-INFINITY, INFINITY}, nothing = {INFINITY, -INFINITY};

static bool is_finite (span s) { return s.lo > -INFINITY && s.hi < INFINITY; }
static bool is_zero (span s) { return s.lo == 0 && s.hi == 0; }
static span hull (span a, span b) { return (span){fmin(a.lo, b.lo), fmax(a.hi, b.hi)}; }

/* Widens by 'ulps' roundings; beyond the largest number of the type the span allows anything. */
static span widened (const gb_xprog *p, span s, double ulps) {
  const double e = ulps * (p->compute == GB_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
  const double most = p->compute == GB_F32 ? (double)FLT_MAX : DBL_MAX;
  s.lo -= fabs(s.lo) * e;
  s.hi += fabs(s.hi) * e;
  return s.lo >= -most && s.hi <= most ? s : anything;
}

/* -- rules */

static span times (span a, span b) {
  if (!is_finite(a) || !is_finite(b)) return anything;
  if (is_zero(a) || is_zero(b)) return (span){0, 0};
  const double q[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  return (span){fmin(fmin(q[0], q[1]), fmin(q[2], q[3])), fmax(fmax(q[0], q[1]), fmax(q[2], q[3]))};
}

static span inverse (span a) {
  return is_finite(a) && (a.lo > 0 || a.hi < 0) ? (span){1 / a.hi, 1 / a.lo} : anything;
}

static span magnitude (span a) {
  const double far = fmax(fabs(a.lo), fabs(a.hi));
  return (span){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, far};
}

/* a^b for a >= 0 and a number b > 0; for a = 0, any such b. */
static span power (span a, span b) {
  if (!is_finite(a) || !is_finite(b) || !(a.lo >= 0) || !(b.lo > 0)) return anything;
  if (is_zero(a)) return a;
  return b.lo == b.hi ? (span){pow(a.lo, b.lo), pow(a.hi, b.lo)} : anything;
}

/* 1 if the comparison holds for all values, 0 if for none. 'below': a < b or a <= b. */
static span compared (span a, span b, bool strict) {
  if (!is_finite(a) || !is_finite(b)) return anything;
  if (a.hi < b.lo || (!strict && a.hi <= b.lo)) return (span){1, 1};
  if (a.lo > b.hi || (strict && a.lo >= b.hi)) return (span){0, 0};
  return (span){0, 1};
}

static span chosen (span condition, span yes, span no) {
  if (!is_finite(condition)) return anything;
  if (is_zero(condition)) return no;
  if (condition.lo > 0 || condition.hi < 0) return yes;
  return is_finite(yes) && is_finite(no) ? hull(yes, no) : anything;
}

static span mapped (gb_op op, span a, span b, span c) {
  if (op == GB_OP_WHERE) return chosen(a, b, c); /* the branch not taken may be anything */
  if (!is_finite(a)) return anything;
  switch (op) {
    case GB_OP_NEG: return (span){-a.hi, -a.lo};
    case GB_OP_DETACH: return a;
    case GB_OP_ABS: return magnitude(a);
    case GB_OP_SQUARE: a = magnitude(a); return (span){a.lo * a.lo, a.hi * a.hi};
    case GB_OP_SQRT: return a.lo >= 0 ? (span){sqrt(a.lo), sqrt(a.hi)} : anything;
    case GB_OP_RSQRT: return a.lo > 0 ? (span){1 / sqrt(a.hi), 1 / sqrt(a.lo)} : anything;
    case GB_OP_RECIP: return inverse(a);
    case GB_OP_EXP: return (span){exp(a.lo), exp(a.hi)};
    case GB_OP_RELU: return (span){fmax(a.lo, 0), fmax(a.hi, 0)};
    case GB_OP_SIGN: return (span){a.lo > 0 ? 1 : a.lo < 0 ? -1 : 0, a.hi > 0 ? 1 : a.hi < 0 ? -1 : 0};
    case GB_OP_SIN:
    case GB_OP_COS:
    case GB_OP_TANH: return (span){-1, 1};
    default: break;
  }
  if (!is_finite(b)) return anything;
  switch (op) {
    case GB_OP_ADD: return (span){a.lo + b.lo, a.hi + b.hi};
    case GB_OP_SUB: return (span){a.lo - b.hi, a.hi - b.lo};
    case GB_OP_MUL: return times(a, b);
    case GB_OP_DIV: return times(a, inverse(b));
    case GB_OP_POW: return power(a, b);
    case GB_OP_MAXIMUM: return (span){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
    case GB_OP_MINIMUM: return (span){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
    case GB_OP_LT: return compared(a, b, true);
    case GB_OP_LE: return compared(a, b, false);
    case GB_OP_GT: return compared(b, a, true);
    case GB_OP_GE: return compared(b, a, false);
    case GB_OP_EQ: return a.hi < b.lo || b.hi < a.lo ? (span){0, 0} : (span){0, 1};
    case GB_OP_NE: return a.hi < b.lo || b.hi < a.lo ? (span){1, 1} : (span){0, 1};
    default: return anything;
  }
}

/* Profiles decrease from 1. Derivatives are not bounded, except where they have reached 0. */
static span profiled (const gb_ins *i, span u) {
  if (i->dalpha || !is_finite(u) || !(u.lo >= 0)) return anything;
  if (i->profile != GB_RQ && u.lo > 1e7) return (span){0, 0}; /* exp(-sqrt(1e7)) is 0 in f64 */
  return i->order == 0 ? (span){0, 1} : anything;
}

/* -- boxes of what is loaded or computed below tiles */

static double element (const gb_xprog *p, const void *at, size_t i) {
  return p->compute == GB_F32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
}

/* The span of n elements, 'step' apart; a NaN allows anything. */
static span box_of (const gb_xprog *p, const void *at, size_t n, size_t step) {
  span s = nothing;
  for (size_t i = 0; i < n; i++) {
    const double v = element(p, at, i * step);
    if (!(fabs(v) < INFINITY)) return anything;
    s.lo = v < s.lo ? v : s.lo;
    s.hi = v > s.hi ? v : s.hi;
  }
  return s;
}

/* Number of boxes: one for each combination of inner indices and feature. */
static size_t boxes_of (const gb_xpack *k) { return k->count * k->width; }
static bool per_row (const gb_xpack *k) { return k->layout == GB_PACK_ROWS || k->layout == GB_PACK_COLS; }
static size_t places_of (const gb_xpack *k) {
  return k->layout == GB_PACK_LANES ? GB_BLOCKS : per_row(k) ? SEGMENTS : 1;
}

static span *table (const gb_xthread *t, size_t at) { return (span *)(t->ws + at); }

static void box_lanes (const gb_xthread *t, const gb_xpack *k, int pack) {
  const gb_xprog *p = t->p;
  span *to = table(t, k->box);
  for (size_t b = 0; b < gb_exec_blocks(t); b++)
    for (size_t q = 0; q < boxes_of(k); q++)
      *to++ = box_of(p, t->base[pack] + (b * k->block + q * GB_TI) * p->size, GB_TI, 1);
}

static void box_rows (const gb_xthread *t, const gb_xpack *k, int pack) {
  const gb_xprog *p = t->p;
  span *to = table(t, k->box);
  const size_t row = k->layout == GB_PACK_COLS ? 1 : k->row;
  for (size_t s = 0; s < SEGMENTS; s++)
    for (size_t c = 0; c < k->count; c++)
      for (size_t q = 0; q < k->width; q++, to++) {
        const size_t from = s * SEGMENT, rows = t->chunk_rows > from ? t->chunk_rows - from : 0;
        const char *at = t->base[pack] + (c * k->width * GB_CANON + from * row + q) * p->size;
        const bool apart = k->direct && k->count > 1; /* inner indices of an operand lie elsewhere */
        *to = apart ? anything : box_of(p, at, rows < SEGMENT ? rows : SEGMENT, row);
      }
}

static void box_one (const gb_xthread *t, const gb_xpack *k, int pack) {
  for (size_t q = 0; q < boxes_of(k); q++)
    table(t, k->box)[q] = box_of(t->p, t->base[pack] + q * t->p->size, 1, 1);
}

static bool is_boxed (const gb_xvalue *x, gb_form level) {
  return x->level == level && x->form == level && x->pack < 0;
}

void gb_exec_hull_lanes (gb_xthread *t) {
  const gb_xprog *p = t->p;
  if (!p->reaches) return;
  for (int q = 0; q < p->npacks; q++) {
    if (p->pack[q].layout == GB_PACK_LANES) box_lanes(t, &p->pack[q], q);
    if (p->pack[q].layout == GB_PACK_ONE) box_one(t, &p->pack[q], q);
  }
  for (int v = 0; v < p->f->nvalues; v++) {
    const gb_xvalue *x = &p->value[v];
    for (size_t b = 0; is_boxed(x, GB_FORM_LANE) && b < gb_exec_blocks(t); b++)
      table(t, x->box)[b] = box_of(p, t->ws + x->at + b * GB_TI * p->size, GB_TI, 1);
  }
}

void gb_exec_hull_rows (gb_xthread *t) {
  const gb_xprog *p = t->p;
  if (!p->reaches) return;
  for (int q = 0; q < p->npacks; q++)
    if (per_row(&p->pack[q])) box_rows(t, &p->pack[q], q);
  for (int v = 0; v < p->f->nvalues; v++) {
    const gb_xvalue *x = &p->value[v];
    for (size_t s = 0; is_boxed(x, GB_FORM_TILE) && s < SEGMENTS; s++) {
      const size_t from = s * SEGMENT, rows = t->chunk_rows > from ? t->chunk_rows - from : 0;
      table(t, x->box)[s] = box_of(p, t->ws + x->at + from * p->size, rows < SEGMENT ? rows : SEGMENT, 1);
    }
  }
}

/* -- a tile */

/* The current lane block and segments [from, to) of the chunk. */
typedef struct tile {
  const gb_xthread *t;
  size_t from, to;
} tile;

/* Box q of a pack. */
static span pack_box (const tile *a, const gb_xpack *k, size_t q) {
  const span *s = table(a->t, k->box);
  if (k->layout == GB_PACK_LANES) return s[(size_t)a->t->block * boxes_of(k) + q];
  if (!per_row(k)) return s[q];
  span all = nothing;
  for (size_t g = a->from; g < a->to; g++) all = hull(all, s[g * boxes_of(k) + q]);
  return all;
}

/* The hull of all boxes of a pack: what a loop may read. */
static span pack_hull (const tile *a, int pack) {
  if (pack < 0) return anything;
  const gb_xpack *k = &a->t->p->pack[pack];
  span all = nothing;
  for (size_t q = 0; q < boxes_of(k); q++) all = hull(all, pack_box(a, k, q));
  return all;
}

static span value_of (const tile *a, int v) {
  const gb_xthread *t = a->t;
  const gb_xvalue *x = &t->p->value[v < 0 ? 0 : v];
  if (v < 0) return (span){0, 0};
  if (x->level == GB_FORM_FULL) return table(t, t->p->spans)[v];
  if (x->pack >= 0) return pack_hull(a, x->pack);
  if (x->level == GB_FORM_ONE && x->form == GB_FORM_ONE) {
    const double s = gb_exec_scalar(t, v);
    return fabs(s) < INFINITY ? (span){s, s} : anything;
  }
  if (is_boxed(x, GB_FORM_LANE)) return table(t, x->box)[t->block];
  if (!is_boxed(x, GB_FORM_TILE)) return anything;
  span all = nothing;
  for (size_t g = a->from; g < a->to; g++) all = hull(all, table(t, x->box)[g]);
  return all;
}

/* A distance or a product, feature by feature; both packs lie along the same features. */
static span front_of (const tile *a, const gb_xop *op, const gb_ins *i) {
  const gb_xprog *p = a->t->p;
  if (op->px < 0 || op->py < 0) return anything;
  const gb_xpack *x = &p->pack[op->px], *y = &p->pack[op->py], *w = op->pw < 0 ? NULL : &p->pack[op->pw];
  if (x->count > 1 || y->count > 1 || x->width != y->width || (w != NULL && boxes_of(w) != x->width))
    return anything;
  span sum = {0, 0};
  double mass = 0; /* sum of magnitudes: the rounding of the sum is proportional to it */
  for (size_t k = 0; k < x->width; k++) {
    const span l = pack_box(a, x, k), r = pack_box(a, y, k);
    span term = i->kind == GB_INS_DOT ? times(l, r) : mapped(GB_OP_SQUARE, mapped(GB_OP_SUB, l, r, r), r, r);
    if (w != NULL) term = times(term, pack_box(a, w, k));
    sum = mapped(GB_OP_ADD, sum, term, term);
    mass += fmax(fabs(term.lo), fabs(term.hi));
  }
  if (!is_finite(sum)) return anything;
  const double slack = (3 + (double)x->width) * (p->compute == GB_F32 ? (double)FLT_EPSILON : DBL_EPSILON) *
                       (sum.lo >= 0 ? 0 : mass);
  sum = (span){sum.lo - slack, sum.hi + slack};
  return widened(p, sum, 3 + (double)x->width);
}

static void set (const tile *a, int dst, span s, double ulps) {
  table(a->t, a->t->p->spans)[dst] = is_finite(s) ? widened(a->t->p, s, ulps) : anything;
}

/* True if every term of the sums is 0. */
static bool adds_nothing (const tile *a, int out, int value) {
  const gb_xout *x = &a->t->p->out[out];
  if (!is_zero(value_of(a, value))) return false;
  return (x->px < 0 || is_finite(pack_hull(a, x->px))) && (x->py < 0 || is_finite(pack_hull(a, x->py)));
}

static bool is_empty (const tile *a) {
  const gb_xprog *p = a->t->p;
  const gb_xop *op = p->op + p->code[GB_FORM_FULL];
  for (int n = 0; n < p->ncode[GB_FORM_FULL]; n++, op++) {
    const gb_ins *i = op->ins;
    switch (op->kind) {
      case GB_INS_MAP:
        set(a, i->dst, mapped(i->op, value_of(a, i->a), value_of(a, i->b), value_of(a, i->c)), 8);
        break;
      case GB_INS_LOAD: set(a, i->dst, pack_hull(a, op->px), 0); break;
      case GB_INS_SQDIST:
      case GB_INS_DOT: set(a, i->dst, front_of(a, op, i), 0); break;
      case GB_INS_RADIAL: set(a, i->dst, profiled(i, times(value_of(a, i->a), value_of(a, i->b))), 0); break;
      case GB_X_FRONT:
        set(a, i->dst, profiled(i, times(front_of(a, op, op->front), value_of(a, i->b))), 0);
        break;
      case GB_INS_EMIT:
        if (!adds_nothing(a, i->x, i->a)) return false;
        break;
      case GB_INS_LOOP:
      case GB_INS_ENDLOOP: break;
      default: set(a, i->dst, anything, 0);
    }
  }
  return true;
}

bool gb_exec_culled (const gb_xthread *t, size_t from, size_t to) {
  const size_t first = (from - t->chunk0) / SEGMENT, last = (to - 1 - t->chunk0) / SEGMENT;
  return is_empty(&(tile){t, first, last + 1});
}

/* -- which programs */

static bool can_vanish (gb_op op) {
  return op == GB_OP_RELU || op == GB_OP_MAXIMUM || op == GB_OP_MINIMUM || op == GB_OP_WHERE;
}

/* A number known when the fold runs. */
static bool is_bound (const gb_xprog *p, int v) {
  return v >= 0 && p->f->ins[p->value[v].def].kind == GB_INS_BIND;
}

/* Pairs of points far apart and in opposite directions, everything else between 1 / 2 and 1: true if all
** emitted values vanish. A bound number is taken as 0 if it may replace a value. */
static bool vanishes (const gb_xprog *p, span *s) {
  bool bounded = false;
  for (int v = 0; v < p->f->nvalues; v++) s[v] = (span){0.5, 1};
  for (int n = 0; n < p->f->nins; n++) {
    const gb_ins *i = &p->f->ins[n];
    if (i->kind != GB_INS_MAP || !can_vanish(i->op)) continue;
    if (is_bound(p, i->b)) s[i->b] = (span){0, 0};
    if (is_bound(p, i->c)) s[i->c] = (span){0, 0};
  }
  for (int n = 0; n < p->f->nins; n++) {
    const gb_ins *i = &p->f->ins[n];
    const span a = i->a < 0 ? nothing : s[i->a], b = i->b < 0 ? nothing : s[i->b],
               c = i->c < 0 ? nothing : s[i->c];
    switch (i->kind) {
      case GB_INS_SQDIST: s[i->dst] = (span){1e6, 1e6}; break;
      case GB_INS_DOT: s[i->dst] = (span){-1e6, -1e6}; break;
      case GB_INS_CONST: s[i->dst] = (span){i->f, i->f}; break;
      case GB_INS_RADIAL: s[i->dst] = (span){0.5, 1}; break; /* a profile alone does not count */
      case GB_INS_MAP:
        s[i->dst] = mapped(i->op, a, b, c);
        bounded |= can_vanish(i->op);
        break;
      case GB_INS_ACC: s[i->dst] = anything; break;
      case GB_INS_EMIT:
        if (!is_zero(a)) return false;
        break;
      default: break;
    }
  }
  return bounded;
}

/* True if the program has only sums over tiles of floating values, none of a row or lane alone. */
static bool only_sums (const gb_xprog *p) {
  if (p->strip || p->compute == GB_I64 || p->f->nouts == 0) return false;
  for (int o = 0; o < p->f->nouts; o++) {
    const gb_xout *x = &p->out[o];
    if (x->reach == GB_REACH_KEEP || gb_exec_monoid(x) != GB_SUM) return false;
  }
  for (int n = 0; n < p->f->nins; n++)
    if (p->f->ins[n].kind == GB_INS_EMIT && p->value[p->f->ins[n].a].level != GB_FORM_FULL) return false;
  return true;
}

void gb_exec_lay_hulls (gb_xprog *p, size_t *used, span *scratch) {
  p->reaches = only_sums(p) && vanishes(p, scratch);
  if (!p->reaches) return;
  p->spans = gb_take(used, (size_t)p->f->nvalues * sizeof(span));
  for (int q = 0; q < p->npacks; q++)
    p->pack[q].box = gb_take(used, places_of(&p->pack[q]) * boxes_of(&p->pack[q]) * sizeof(span));
  for (int v = 0; v < p->f->nvalues; v++) {
    gb_xvalue *x = &p->value[v];
    if (is_boxed(x, GB_FORM_LANE)) x->box = gb_take(used, GB_BLOCKS * sizeof(span));
    if (is_boxed(x, GB_FORM_TILE)) x->box = gb_take(used, SEGMENTS * sizeof(span));
  }
}
