/* place.c - interprets dependences: assigns operands to packs and outputs to kinds of accumulation. */
#include "cpu/fold/fold.h"

static gb_axes bit (int axis) { return axis < 0 ? 0 : (gb_axes)1 << axis; }

static gb_axes varies (const gb_xprog *p, int operand) {
  gb_axes s = 0;
  for (int a = 0; a < p->f->naxes; a++)
    if (p->f->operand[operand].stride[a] != 0) s |= bit(a);
  return s;
}

/* In a strip the lanes fill whole tiles, so a value that varies along LANE is FULL. */
gb_form gb_exec_form (const gb_xprog *p, int operand) {
  if (operand < 0) return GB_FORM_ONE;
  gb_axes s = varies(p, operand);
  gb_form form = GB_FORM_ONE;
  if (s & bit(p->lane)) form |= p->strip ? GB_FORM_FULL : GB_FORM_LANE;
  if (s & bit(p->tile)) form |= GB_FORM_TILE;
  return form;
}

static gb_axes inner_axes (const gb_xprog *p) {
  gb_axes s = 0;
  for (int a = 0; a < p->f->naxes; a++)
    if (p->f->axis[a].role == GB_AXIS_INNER) s |= bit(a);
  return s;
}

/* Elements of one combination of the 'inner' axes, and the step of the feature axis. */
static size_t unit_of (gb_xpack *k) {
  if (k->axis >= 0) k->step[k->axis] = k->layout == GB_PACK_LANES ? GB_TI : 1;
  switch (k->layout) {
    case GB_PACK_ONE: return k->width;
    case GB_PACK_LANES: return k->width * GB_TI;
    case GB_PACK_ROWS: return k->width * GB_CANON;
    default: return GB_CANON;
  }
}

static bool is_looped (const gb_fold *f, int axis) {
  for (int n = 0; n < f->nins; n++)
    if (f->ins[n].kind == GB_INS_LOOP && f->ins[n].axis == axis) return true;
  return false;
}

/* True if both address the same elements, one along axis 'a', the other along 'b': several fronts and
** differences read the same points under different axes. No other axis inside a tile and no loop may move
** them. */
static bool same_points (const gb_xprog *p, int operand, int a, int other, int b) {
  const gb_operand *x = &p->f->operand[operand], *y = &p->f->operand[other];
  if (x->slot != y->slot || x->dtype != y->dtype || x->offset != y->offset || a < 0 || b < 0) return false;
  if (a != b && (is_looped(p->f, a) || is_looped(p->f, b))) return false;
  if (p->f->axis[a].extent != p->f->axis[b].extent || x->stride[a] != y->stride[b]) return false;
  for (int q = 0; q < p->f->naxes; q++) {
    if (p->f->axis[q].role == GB_AXIS_INNER) {
      if ((q != a && x->stride[q] != 0) || (q != b && y->stride[q] != 0)) return false;
    } else if (x->stride[q] != y->stride[q]) return false;
  }
  return true;
}

int gb_exec_pack_of (gb_xprog *p, int operand, gb_pack_layout layout, int axis, bool zero) {
  gb_axes inner = varies(p, operand) & inner_axes(p);
  for (int q = 0; q < p->npacks; q++) {
    const gb_xpack *k = &p->pack[q];
    if (k->layout == layout && k->zero == zero && same_points(p, operand, axis, k->operand, k->axis))
      return q;
  }
  if (axis < 0 && inner && (layout == GB_PACK_ONE || layout == GB_PACK_LANES))
    axis = 31 - __builtin_clz(inner); /* so that a load in a loop shares the pack of a front */
  for (int q = 0; q < p->npacks; q++) {
    const gb_xpack *k = &p->pack[q];
    if (k->operand == operand && k->layout == layout && k->axis == axis && k->zero == zero) return q;
  }
  gb_xpack *k = &p->pack[p->npacks];
  *k = (gb_xpack){.operand = operand, .axis = axis, .layout = layout, .zero = zero};
  k->inner = inner & ~bit(axis);
  k->width = axis < 0 ? 1 : p->f->axis[axis].extent;
  k->count = 1;
  size_t unit = unit_of(k);
  for (gb_axes s = k->inner; s;) {
    int a = 31 - __builtin_clz(s);
    s &= ~bit(a);
    k->step[a] = k->count * unit;
    k->count *= p->f->axis[a].extent;
  }
  k->block = k->count * unit;
  k->row = k->width;
  return p->npacks++;
}

/* True for ROW and COL contractions that have kernels: the operand does not vary along axes that the output
** keeps. */
static gb_how how_contract (gb_xprog *p, gb_xout *x) {
  const gb_out *o = x->o;
  int rows = o->x, lanes = o->x;
  if (p->f->symmetric) {
    lanes = o->y;
    if (gb_exec_form(p, o->x) == GB_FORM_LANE) rows = o->y, lanes = o->x;
  }
  bool row = x->reach == GB_REACH_ROW && !(gb_exec_form(p, rows) & GB_FORM_LANE);
  bool col = x->reach == GB_REACH_COL && (p->strip || !(gb_exec_form(p, lanes) & GB_FORM_TILE));
  if (!row && !col) return GB_HOW_PRODUCT;
  if (row) x->px = gb_exec_pack_of(p, rows, GB_PACK_ROWS, o->axis, false);
  if (col || (p->f->symmetric && lanes >= 0)) x->py = gb_exec_pack_of(p, lanes, GB_PACK_LANES, o->axis, true);
  return GB_HOW_CONTRACT;
}

static gb_how how_diff (gb_xprog *p, gb_xout *x) {
  const gb_out *o = x->o;
  if (p->strip || p->compute == GB_I64 || (x->reach != GB_REACH_ROW && x->reach != GB_REACH_COL))
    return GB_HOW_PRODUCT;
  int lanes = x->reach == GB_REACH_ROW ? o->x : o->y, rows = x->reach == GB_REACH_ROW ? o->y : o->x;
  if (p->f->symmetric && gb_exec_form(p, lanes) == GB_FORM_TILE) {
    int s = lanes;
    lanes = rows;
    rows = s;
  }
  if ((gb_exec_form(p, lanes) & GB_FORM_TILE) || (gb_exec_form(p, rows) & GB_FORM_LANE))
    return GB_HOW_PRODUCT;
  x->px = gb_exec_pack_of(p, rows, GB_PACK_ROWS, o->axis, false);
  x->py = gb_exec_pack_of(p, lanes, GB_PACK_LANES, o->axis, false);
  return GB_HOW_DIFF;
}

static gb_how how_of (gb_xprog *p, gb_xout *x) {
  switch (x->o->kind) {
    case GB_OUT_STORE: return GB_HOW_STORE;
    case GB_OUT_CONTRACT: return how_contract(p, x);
    case GB_OUT_DIFF: return how_diff(p, x);
    default: break;
  }
  switch (x->o->monoid) {
    case GB_LSE: return GB_HOW_LSE;
    case GB_ARGMINIMUM:
    case GB_ARGMAXIMUM:
    case GB_KSMALLEST: return GB_HOW_SELECT;
    default: return GB_HOW_CHAIN;
  }
}

static size_t words_of (const gb_xout *x) {
  if (x->how == GB_HOW_LSE) return 2;
  if (x->how != GB_HOW_SELECT) return 1;
  return x->o->monoid == GB_KSMALLEST ? 2 * (size_t)x->o->k : 2;
}

/* Row-major multipliers of the axes in 's'. Returns the number of combinations. */
size_t gb_exec_combinations (const gb_fold *f, gb_axes s, size_t mul[GB_FOLD_AXES]) {
  size_t n = 1;
  for (int a = f->naxes - 1; a >= 0; a--) {
    if (!(s & bit(a))) continue;
    mul[a] = n;
    n *= f->axis[a].extent;
  }
  return n;
}

static bool symmetric_fits (const gb_xout *x) {
  if (gb_exec_monoid(x) != GB_SUM || (x->reach == GB_REACH_ALL && x->o->kind == GB_OUT_DIFF)) return false;
  return x->reach == GB_REACH_ALL ||
         (x->reach == GB_REACH_ROW && x->how != GB_HOW_PRODUCT && x->how != GB_HOW_STORE);
}

gb_status gb_exec_place_out (gb_xprog *p, int n, gb_axes loops, gb_error *err) {
  const gb_fold *f = p->f;
  gb_xout *x = &p->out[n];
  if (x->o != NULL) return gb_fail(err, GB_EINTERNAL, "fold: output %d is emitted twice", n);
  *x = (gb_xout){.o = &f->out[n], .px = -1, .py = -1};
  const gb_out *o = x->o;
  x->reach = (o->reduced & bit(p->tile) ? 1 : 0) | (o->reduced & bit(p->lane) ? 2 : 0);
  if (o->kind == GB_OUT_STORE && o->reduced)
    return gb_fail(err, GB_EINTERNAL, "fold: output %d stores and reduces", n);
  x->how = how_of(p, x);
  bool aside = o->axis >= 0 && x->how == GB_HOW_PRODUCT;
  x->inner = loops | (aside ? bit(o->axis) : 0);
  x->cols = o->axis < 0 || aside ? 1 : f->axis[o->axis].extent;
  x->slots = gb_exec_combinations(f, x->inner, x->mul);
  x->words = words_of(x);
  if (f->symmetric && !symmetric_fits(x))
    return gb_fail(err, GB_EINTERNAL, "fold: output %d of a symmetric program is not a mirrored sum", n);
  return GB_OK;
}

/* Bytes of the column chains of one row of a tile. */
size_t gb_exec_row_of_columns (const gb_xprog *p) {
  size_t bytes = 0;
  for (int o = 0; o < p->f->nouts; o++) {
    const gb_xout *x = &p->out[o];
    if (x->reach == GB_REACH_COL || (x->reach == GB_REACH_ROW && p->f->symmetric))
      bytes += x->slots * x->cols * GB_LANES * p->size * (x->how == GB_HOW_LSE ? 2 : 1);
  }
  return bytes;
}
