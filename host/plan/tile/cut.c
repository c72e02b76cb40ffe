/* cut.c - which axis of a step is which dimension of its buffers, and steps cut down to a window of it. */
#include "plan/tile/cut.h"

#include <stdlib.h>

#include "graph/call.h"

/* strides and dimensions */

typedef struct span {
  ptrdiff_t low, high;
} span; /* smallest and largest element offset */

/* Elements between two steps of the next dimension above 'dim' in memory; PTRDIFF_MAX: there is none. */
static ptrdiff_t above (const gb_buf *b, int dim) {
  ptrdiff_t least = PTRDIFF_MAX;
  for (int k = 0; k < b->shape.ndim; k++)
    if (k != dim && b->shape.dim[k] > 1 && b->stride[k] > b->stride[dim] && b->stride[k] < least)
      least = b->stride[k];
  return least;
}

/* Whether an access moves dimension 'dim' by the cut axis alone: every other axis stays below one index of
** it, or moves by whole multiples of what lies above it; and index 0 of the axis is index 0 of the
** dimension. */
static bool moves_alone (const gb_fold *f, const ptrdiff_t *stride, ptrdiff_t offset, const gb_buf *b,
                         int dim, const gb_cut *c) {
  const ptrdiff_t one = b->stride[dim], up = above(b, dim);
  if (one <= 0 || stride[c->axis] <= 0 || stride[c->axis] * (ptrdiff_t)c->factor != one) return false;
  if (up != PTRDIFF_MAX && up / one < (ptrdiff_t)b->shape.dim[dim]) return false;
  if (c->joined > 0 && (up == PTRDIFF_MAX || stride[c->joined - 1] % up != 0)) return false;
  span below = {0, stride[c->axis] * (ptrdiff_t)(c->factor - 1)};
  for (int a = 0; a < f->naxes; a++) {
    const ptrdiff_t s = stride[a], last = (ptrdiff_t)f->axis[a].extent - 1;
    if (a == c->axis || s == 0 || last < 1) continue;
    if (up != PTRDIFF_MAX && s % up == 0) continue;
    if (s > 0) below.high += s * last;
    else below.low += s * last;
  }
  if (offset < 0) return false;
  const ptrdiff_t rest = up == PTRDIFF_MAX ? offset : offset % up;
  return rest + below.low >= 0 && rest + below.high < one;
}

/* Right-hand sides of a product: each column of the result is a sum of its own. */
static bool is_columns (const gb_fold *f, int a) {
  bool columns = false;
  for (int i = 0; i < f->nouts; i++) {
    if (f->out[i].axis == a && f->out[i].kind != GB_OUT_CONTRACT) return false;
    columns |= f->out[i].axis == a;
  }
  for (int i = 0; i < f->nins; i++)
    if (f->ins[i].axis == a) return false;
  return columns;
}

bool gb_cut_walks (const gb_fold *f, int a) { return f->axis[a].role != GB_AXIS_INNER || is_columns(f, a); }

/* The axis may be walked as two: no number is made of its index, and sums over it run in grains, if there
** are any. */
static bool may_part (const gb_fold *f, int axis, size_t grain) {
  for (int i = 0; grain == 0 && i < f->nouts; i++)
    if (f->out[i].reduced >> axis & 1) return false;
  for (int i = 0; i < f->nins; i++)
    if (f->ins[i].kind == GB_INS_IOTA && f->ins[i].axis == axis) return false;
  return true;
}

/* The axis that is joined to 'axis' in front of its last n indices (lower/roles.c): it has one index left,
** and its strides are still those of n indices of the other. 1 + that axis; 0: there is no such axis. */
static int joined_before (const gb_fold *f, const ptrdiff_t *stride, int axis, size_t n, size_t grain) {
  for (int a = 0; a < f->naxes && may_part(f, axis, grain); a++) {
    bool ok = a != axis && f->axis[a].extent == 1 && f->axis[a].role == GB_AXIS_OUTER;
    ok = ok && stride[a] == (ptrdiff_t)n * stride[axis];
    for (int i = 0; ok && i < f->noperands; i++)
      ok = f->operand[i].stride[a] == (ptrdiff_t)n * f->operand[i].stride[axis];
    for (int i = 0; ok && i < f->nouts; i++)
      ok = f->out[i].stride[a] == (ptrdiff_t)n * f->out[i].stride[axis];
    if (ok) return a + 1;
  }
  return 0;
}

bool gb_cut_axis_of (const gb_fold *f, const ptrdiff_t *stride, ptrdiff_t offset, const gb_buf *b, int dim,
                     size_t grain, gb_cut *c) {
  const size_t extent = b->shape.dim[dim];
  for (int a = 0; a < f->naxes; a++) {
    const size_t n = f->axis[a].extent;
    if (!gb_cut_walks(f, a) || n < 2 || extent == 0 || n % extent != 0) continue;
    if (stride[a] <= 0 || b->stride[dim] <= 0 || b->stride[dim] % stride[a] != 0) continue;
    gb_cut along = {.axis = a, .factor = (size_t)(b->stride[dim] / stride[a])};
    if (along.factor > n / extent || n / extent % along.factor != 0) continue;
    if (along.factor < n / extent &&
        (along.joined = joined_before(f, stride, a, extent * along.factor, grain)) == 0)
      continue;
    if (!moves_alone(f, stride, offset, b, dim, &along)) continue;
    *c = along;
    return true;
  }
  return false;
}

int gb_cut_dim_of (const gb_fold *f, const ptrdiff_t *stride, ptrdiff_t offset, const gb_buf *b,
                   const gb_cut *c, size_t extent) {
  for (int k = 0; k < b->shape.ndim; k++)
    if (b->shape.dim[k] == extent && moves_alone(f, stride, offset, b, k, c)) return k;
  return -1;
}

/* units */

static size_t lowest_bit (size_t n) { return n & (~n + 1); }

/* Multiples of 'chain' indices of the fold's axis, in indices of the cut one. */
static size_t unit_of (size_t chain, size_t factor) {
  const size_t shared = lowest_bit(factor);
  return shared >= chain ? 1 : chain / shared;
}

/* OUTER axes that the output reduces and that turn outside 'axis': the parts of it would not be in order. */
static bool turns_inside (const gb_fold *f, const gb_out *o, int axis) {
  for (int a = 0; a < f->naxes; a++) {
    if (a == axis || !(o->reduced >> a & 1) || f->axis[a].extent < 2) continue;
    if (f->axis[a].role == GB_AXIS_OUTER && (f->axis[axis].role != GB_AXIS_OUTER || a < axis)) return true;
  }
  return false;
}

/* A position among what is reduced is not the position in a part of it. */
static bool gives_positions (const gb_out *o) {
  return o->kind == GB_OUT_REDUCE && (o->monoid == GB_ARGMINIMUM || o->monoid == GB_ARGMAXIMUM);
}

/* Numbers made from the index itself must come out the same from a shifted one. */
static bool shifts_exactly (const gb_fold *f, int axis) {
  for (int i = 0; i < f->nins; i++) {
    const gb_ins *n = &f->ins[i];
    if (n->kind == GB_INS_IOTA && n->axis == axis &&
        (n->f != (double)(int64_t)n->f || n->g != (double)(int64_t)n->g))
      return false;
  }
  return true;
}

static bool keeps_smallest (const gb_out *o) { return o->kind == GB_OUT_REDUCE && o->monoid == GB_KSMALLEST; }

bool gb_cut_fold_unit (const gb_fold *f, gb_cut *c, size_t grain) {
  for (int i = 0; i < f->nouts; i++)
    if (keeps_smallest(&f->out[i])) return false; /* two results of one address */
  return gb_cut_whole_unit(f, c, grain);
}

bool gb_cut_whole_unit (const gb_fold *f, gb_cut *c, size_t grain) {
  if (f->symmetric || !shifts_exactly(f, c->axis)) return false;
  c->unit = grain == 0 ? 1 : grain;
  c->reduces = false;
  for (int i = 0; i < f->nouts; i++) {
    const gb_out *o = &f->out[i];
    if (!(o->reduced >> c->axis & 1)) continue;
    if (gives_positions(o) || keeps_smallest(o)) return false;
    c->reduces = true;
    if (grain != 0) continue;
    const size_t chain = turns_inside(f, o, c->axis) ? 0 : f->axis[c->axis].chain;
    if (chain == 0) return false;
    if (unit_of(chain, c->factor) > c->unit) c->unit = unit_of(chain, c->factor);
  }
  return true;
}

/* opaque ops: cut_<name> is the rule of that name in program/ops.def */

gb_shape gb_opaque_operand (const gb_opaque *o, int slot) {
  if (slot < GB_CUT_SLOTS) return o->in_shape[slot];
  gb_shape s = o->in_shape[0]; /* CAT */
  s.dim[o->attr.i[0]] = o->extent[slot];
  return s;
}

size_t gb_elements_apart (const gb_shape *s, int dim) {
  size_t n = 1;
  for (int k = dim + 1; k < s->ndim; k++) n *= s->dim[k];
  return n;
}

bool gb_takes_strides (const gb_opaque *o, int slot, int dim) {
  const gb_shape *s = slot < 0 ? &o->out_shape[0] : &o->in_shape[slot];
  return o->op == GB_OP_GEMM && dim >= s->ndim - 2;
}

static gb_cut mapped (size_t unit) {
  return (gb_cut){.cut = true,
                  .factor = 1,
                  .in_dim = {-1, -1, -1, -1},
                  .rest_dim = -1,
                  .out_dim = {-1, -1, -1},
                  .unit = unit};
}

/* (..., n, k) x (..., k, m): rows of the first, columns of the second, the inner axis of both, batch axes. */
static bool cut_gemm (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  const int nd = o->in_shape[slot].ndim, other = o->in_shape[1 - slot].ndim, out = o->out_shape[0].ndim;
  const int back = nd - dim; /* 1: last */
  *c = mapped(grain == 0 ? o->unit : grain);
  c->axis = 3;
  c->in_dim[slot] = dim;
  if (back > 2) {
    c->unit = 1;
    if (back > out) return false;
    c->out_dim[0] = out - back;
    if (back <= other && o->in_shape[1 - slot].dim[other - back] > 1) c->in_dim[1 - slot] = other - back;
    return true;
  }
  const bool inner = slot == 0 ? back == 1 : back == 2;
  c->axis = inner ? 2 : slot;
  if (inner) {
    c->in_dim[1 - slot] = other - (slot == 0 ? 2 : 1);
    c->reduces = true;
  } else c->out_dim[0] = out - back;
  return true;
}

/* Matrices of a batch: axes of the results in front of what one matrix gives, and of the operands in front of their last two,
** aligned at the right. */
static bool along_batch (const gb_opaque *o, int slot, int dim, gb_cut *c) {
  int lead = 0;
  for (int i = 0; i < o->nin; i++)
    if (o->in_shape[i].ndim - 2 > lead) lead = o->in_shape[i].ndim - 2;
  const int back = o->in_shape[slot].ndim - 2 - dim; /* 1: the last one in front */
  const size_t extent = o->in_shape[slot].dim[dim];
  *c = mapped(1);
  if (back < 1 || o->out_shape[0].dim[lead - back] != extent) return false;
  for (int i = 0; i < o->nin; i++) {
    const int own = o->in_shape[i].ndim - 2 - back;
    if (own >= 0 && (i == slot || o->in_shape[i].dim[own] == extent)) c->in_dim[i] = own;
  }
  for (int k = 0; k < o->nout; k++) c->out_dim[k] = lead - back;
  return true;
}

static bool cut_batch (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)grain;
  return along_batch(o, slot, dim, c);
}

/* Right-hand sides: the columns of operand 1; or the systems of a batch. */
static bool cut_columns (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)grain;
  const int last = o->in_shape[1].ndim - 1;
  if (slot != 1 || last < 1 || dim != last) return along_batch(o, slot, dim, c);
  *c = mapped(o->unit);
  c->in_dim[1] = last;
  c->out_dim[0] = o->out_shape[0].ndim - 1;
  return true;
}

/* Every axis but attr.i[0] is a map of operand 0 and of all results. */
static bool cut_beside (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)grain;
  *c = mapped(1);
  if (slot != 0 || dim == (int)o->attr.i[0]) return false;
  c->in_dim[0] = dim;
  for (int k = 0; k < o->nout; k++) c->out_dim[k] = dim;
  return true;
}

static bool cut_index (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  const int axis = (int)o->attr.i[0];
  if (slot == 1) { /* positions: entries of the result along the axis */
    *c = mapped(1);
    c->in_dim[1] = 0;
    c->out_dim[0] = axis;
    return o->in_shape[1].ndim == 1;
  }
  return cut_beside(o, slot, dim, grain, c);
}

static bool cut_cat (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)slot, (void)grain;
  if (dim == (int)o->attr.i[0]) return false;
  *c = mapped(1);
  for (int i = 0; i < o->nin && i < GB_CUT_SLOTS; i++) c->in_dim[i] = dim;
  c->rest_dim = c->out_dim[0] = dim;
  return true;
}

/* Entries that are added, or compared, are taken in their order: any window of them continues. Of entries that are put, the last of
** equal positions remains. */
static bool cut_put (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  const int axis = (int)o->attr.i[0];
  *c = mapped(1);
  if (slot == 1 || dim == axis) {
    if (!gb_op_joins_entries(o->op) || slot == 0) return false;
    c->unit = grain == 0 ? 1 : grain;
    c->in_dim[1] = 0, c->in_dim[2] = axis, c->reduces = true;
    return true;
  }
  c->in_dim[0] = c->in_dim[2] = c->out_dim[0] = dim;
  return true;
}

/* Slices along an axis that the function maps, of everything that it takes. What it computes with has the
** bits of the whole only from blocks of products on. */
static bool cut_call (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)grain;
  const gb_call *call = gb_call_get((int)o->attr.i[0]);
  const size_t extent = o->in_shape[slot].dim[dim];
  *c = mapped(o->unit);
  if (call == NULL || !(call->map_axes >> dim & 1) || o->nin > GB_CUT_SLOTS) return false;
  for (int i = 0; i < o->nin; i++) {
    if (dim >= o->in_shape[i].ndim || o->in_shape[i].dim[dim] != extent) return false;
    c->in_dim[i] = dim;
  }
  for (int k = 0; k < o->nout; k++) {
    if (dim >= o->out_shape[k].ndim || o->out_shape[k].dim[dim] != extent) return false;
    c->out_dim[k] = dim;
  }
  return true;
}

static bool cut_map (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)slot, (void)grain;
  *c = mapped(1);
  c->in_dim[0] = c->out_dim[0] = dim;
  return !o->grown;
}

static bool cut_whole (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  (void)o, (void)slot, (void)dim, (void)grain, (void)c;
  return false;
}

bool gb_cut_opaque (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c) {
  static bool (*const rules[GB_NOPS])(const gb_opaque *, int, int, size_t, gb_cut *) = {
#define X(id, name, nin, kind, shape, grad, vmap, cut, ...) cut_##cut,
#include "program/ops.def"
#undef X
  };
  return rules[o->op](o, slot, dim, grain, c);
}

/* windows */

bool gb_window_room (gb_window_fold *w, const gb_fold *f) {
  w->operand = calloc((size_t)f->noperands + 1, sizeof *w->operand);
  w->ins = calloc((size_t)f->nins + 1, sizeof *w->ins);
  w->out = calloc((size_t)f->nouts + 1, sizeof *w->out);
  return w->operand != NULL && w->ins != NULL && w->out != NULL;
}

void gb_window_free (gb_window_fold *w) {
  free(w->operand);
  free(w->ins);
  free(w->out);
}

typedef struct window_job {
  const gb_lowered *low;
  const gb_step *st;
  const gb_cut *c;
  gb_window at;
  const bool *compact;
  const int *dim;
} window_job;

/* Strides above the cut dimension shrink with it. */
static void shrink (const window_job *j, int b, ptrdiff_t *stride, ptrdiff_t *offset) {
  const gb_buf *buf = &j->low->buf[b];
  const ptrdiff_t up = buf->stride[j->dim[b]] * (ptrdiff_t)j->at.extent,
                  now = buf->stride[j->dim[b]] * (ptrdiff_t)j->at.held;
  for (int a = 0; a < j->st->fold.naxes; a++)
    if (stride[a] % up == 0) stride[a] = stride[a] / up * now;
  *offset = *offset / up * now + *offset % up;
}

/* buffer -1: an index without memory. */
static void move (const window_job *j, int buffer, ptrdiff_t *stride, ptrdiff_t *offset) {
  const bool compact = buffer >= 0 && j->compact != NULL && j->compact[buffer];
  if (compact) shrink(j, buffer, stride, offset);
  *offset += (ptrdiff_t)((compact ? j->at.lo - j->at.base : j->at.lo) * j->c->factor) * stride[j->c->axis];
}

/* IOTA of a window that begins 'by' indices further on. */
static void shift_index (gb_ins *iota, size_t by) {
  iota->g += (double)by * iota->f;
  iota->start = (int64_t)((uint64_t)iota->start + (uint64_t)by * (uint64_t)iota->step);
}

static gb_axes walked_deps (gb_axes deps, const gb_cut *c) {
  return c->joined > 0 && (deps >> c->axis & 1) ? deps | (gb_axes)1 << (c->joined - 1) : deps;
}

void gb_window_of_fold (gb_window_fold *w, const gb_lowered *low, const gb_step *st, const gb_cut *c,
                        gb_window at, const bool *compact, const int *dim) {
  const gb_fold *f = &st->fold;
  const window_job j = {low, st, c, at, compact, dim};
  const size_t shift = at.lo * c->factor;
  w->fold = *f;
  w->fold.operand = w->operand;
  w->fold.ins = w->ins;
  w->fold.out = w->out;
  if (c->joined > 0) w->fold.axis[c->joined - 1].extent = f->axis[c->axis].extent / (at.extent * c->factor);
  w->fold.axis[c->axis].extent = at.n * c->factor;
  w->fold.carried = f->carried | (c->reduces ? (gb_axes)1 << c->axis : 0);
  for (int i = 0; i < f->noperands; i++) {
    w->operand[i] = f->operand[i];
    w->operand[i].deps = walked_deps(f->operand[i].deps, c);
  }
  for (int i = 0; i < f->nins; i++) w->ins[i] = f->ins[i];
  for (int i = 0; i < f->nins; i++) w->ins[i].deps = walked_deps(f->ins[i].deps, c);
  for (int i = 0; i < f->nouts; i++) {
    w->out[i] = f->out[i];
    w->out[i].reduced = walked_deps(f->out[i].reduced, c);
  }
  for (int i = 0; i < f->noperands; i++)
    move(&j, f->operand[i].slot < 0 ? -1 : st->in[f->operand[i].slot], w->operand[i].stride,
         &w->operand[i].offset);
  for (int i = 0; i < f->nins; i++)
    if (f->ins[i].kind == GB_INS_IOTA && f->ins[i].axis == c->axis) shift_index(&w->ins[i], shift);
  for (int i = 0; i < f->nouts; i++)
    if (!(f->out[i].reduced >> c->axis & 1))
      move(&j, st->out[f->out[i].slot], w->out[i].stride, &w->out[i].offset);
}

static void lie_in_whole (gb_opaque *o, int at, const gb_shape *s) {
  o->row[at] = s->dim[s->ndim - 1];
  o->matrix[at] = o->row[at] * s->dim[s->ndim - 2];
}

/* Which matrices of the batch these are. */
static void note_matrices (gb_opaque *o, const gb_cut *c, gb_window at) {
  const int dim = c->in_dim[0];
  if (!gb_op_has(o->op, GB_TRAIT_DENSE) || o->op == GB_OP_GEMM || dim < 0 || dim >= o->in_shape[0].ndim - 2)
    return;
  o->from[dim] = at.lo;
  o->whole[dim] = at.extent;
}

void gb_window_of_opaque (gb_opaque *o, const gb_cut *c, gb_window at, const bool *compact) {
  note_matrices(o, c, at);
  for (int i = 0; i < o->nin && i < GB_CUT_SLOTS; i++) {
    if (c->in_dim[i] < 0) continue;
    if (compact != NULL && !compact[i] && gb_takes_strides(o, i, c->in_dim[i]))
      lie_in_whole(o, i, &o->in_shape[i]);
    o->in_shape[i].dim[c->in_dim[i]] = at.n;
  }
  for (int k = 0; k < o->nout; k++) {
    if (c->out_dim[k] < 0) continue;
    if (compact != NULL && !compact[o->nin + k] && gb_takes_strides(o, -1, c->out_dim[k]))
      lie_in_whole(o, 2, &o->out_shape[k]);
    o->out_shape[k].dim[c->out_dim[k]] = at.n;
  }
  if (o->op == GB_OP_GEMM && c->axis < 3 && o->block[c->axis] == 0) o->block[c->axis] = c->unit;
  o->continues |= c->reduces && at.lo > 0;
  const gb_call *call = o->op == GB_OP_CALL ? gb_call_get((int)o->attr.i[0]) : NULL;
  if (call != NULL && call->resize != NULL) call->resize(call->ud, o);
}
