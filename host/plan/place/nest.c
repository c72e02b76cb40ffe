/* nest.c - along which axes steps can make their staged operands window by window. */
#include "plan/place/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plan/place/place.h"

enum { MOST_NODES = 200 };

typedef struct finder {
  const gb_lowered *low;
  int *maker;   /* [nbufs] -1: a leaf */
  bool *staged; /* [nbufs] still taken to be made inside all its readers */
  gb_nest *nest;
  size_t room;
  int culprit; /* the smallest value that could not be made, -1: none yet */
  bool failed; /* no memory */
} finder;

/* Accesses */

/* The index of a dimension of a contiguous buffer as a function of the axes. */
typedef struct index_of {
  ptrdiff_t off, coef[GB_FOLD_AXES];
} index_of;

/* False: the address does not fall apart into indices that stay inside their dimensions. */
static bool take_apart (const gb_fold *f, const gb_operand *o, const gb_buf *b, index_of dim[GB_MAXDIM]) {
  ptrdiff_t off = o->offset, stride[GB_FOLD_AXES];
  memcpy(stride, o->stride, sizeof stride);
  for (int k = 0; k < b->shape.ndim; k++) {
    const ptrdiff_t one = b->stride[k];
    dim[k] = (index_of){0};
    if (b->shape.dim[k] < 2 || one == 0) continue;
    dim[k].off = off / one;
    off %= one;
    ptrdiff_t least = dim[k].off, most = least;
    for (int a = 0; a < f->naxes; a++) {
      dim[k].coef[a] = stride[a] / one;
      stride[a] %= one;
      const ptrdiff_t reach = dim[k].coef[a] * ((ptrdiff_t)f->axis[a].extent - 1);
      *(reach < 0 ? &least : &most) += reach;
    }
    if (least < 0 || most >= (ptrdiff_t)b->shape.dim[k]) return false;
  }
  for (int a = 0; a < f->naxes; a++)
    if (stride[a] != 0 && f->axis[a].extent > 1) return false;
  return off == 0;
}

/* What index i of axis 'a' looks at: i * step + low .. i * step + high. */
static void spread (const gb_fold *f, const index_of *x, int a, gb_nest_read *r) {
  r->step = x->coef[a];
  r->low = r->high = x->off;
  for (int other = 0; other < f->naxes; other++) {
    const ptrdiff_t reach = other == a ? 0 : x->coef[other] * ((ptrdiff_t)f->axis[other].extent - 1);
    *(reach < 0 ? &r->low : &r->high) += reach;
  }
}

/* How operand o moves along a cut; false: not at all, or one index already needs more than half of the
** dimension. */
static bool moved_by (const gb_fold *f, const gb_operand *o, const gb_buf *b, const gb_cut *c, size_t extent,
                      gb_nest_read *r) {
  index_of dim[GB_MAXDIM];
  r->dim = gb_cut_dim_of(f, o->stride, o->offset, b, c, extent);
  r->step = 1;
  r->low = r->high = 0;
  if (r->dim >= 0) return true;
  if (c->factor != 1 || c->joined > 0 || !take_apart(f, o, b, dim)) return false;
  for (int k = 0; k < b->shape.ndim; k++) {
    if (dim[k].coef[c->axis] == 0) continue;
    r->dim = k;
    spread(f, &dim[k], c->axis, r);
    return 2 * (r->high - r->low + 1) <= (ptrdiff_t)b->shape.dim[k];
  }
  return false;
}

/* All accesses of step s to buffer b along a cut. */
static bool reads_along (const finder *f, int s, const gb_cut *c, size_t extent, int b, gb_nest_read *out) {
  const gb_step *st = &f->low->step[s];
  bool found = false;
  for (int i = 0; i < st->fold.noperands; i++) {
    const gb_operand *o = &st->fold.operand[i];
    gb_nest_read r;
    if (o->slot < 0 || st->in[o->slot] != b) continue;
    if (!moved_by(&st->fold, o, &f->low->buf[b], c, extent, &r)) return false;
    if (found && (r.dim != out->dim || r.step != out->step)) return false;
    if (found && out->low < r.low) r.low = out->low;
    if (found && out->high > r.high) r.high = out->high;
    *out = r;
    found = true;
  }
  out->buf = b;
  return found;
}

/* Nodes */

static int add_node (finder *f, const gb_nest_node *n) {
  if (f->nest->nnodes >= MOST_NODES) return -1;
  if (!gb_grow(&f->nest->node, f->nest->nnodes, &f->room, sizeof *f->nest->node)) {
    f->failed = true;
    return -1;
  }
  f->nest->node[f->nest->nnodes] = *n;
  return f->nest->nnodes++;
}

static void drop_nodes (finder *f, int from) {
  while (f->nest->nnodes > from) free(f->nest->node[--f->nest->nnodes].read);
}

static int make_node (finder *f, int s, const gb_cut *made, int dim);

/* The node that makes what r says of a staged value; -1: no windows can make it. */
static int make_read (finder *f, const gb_nest_read *r) {
  const gb_buf *b = &f->low->buf[r->buf];
  const int s = f->maker[r->buf];
  const gb_fold *p = &f->low->step[s].fold;
  gb_cut c;
  if (!gb_cut_axis_of(p, p->out[0].stride, p->out[0].offset, b, r->dim, 0, &c)) return -1;
  c.cut = true;
  if (!gb_cut_fold_unit(p, &c, 0) || c.reduces) return -1;
  return make_node(f, s, &c, r->dim);
}

static void blame (finder *f, int b) {
  if (f->culprit < 0 || f->low->buf[b].bytes < f->low->buf[f->culprit].bytes) f->culprit = b;
}

/* Adds to n what 'c' moves of the step's staged operands that n does not read yet; false where that is not
** all and 'all' are wanted, with nothing added. */
static bool add_reads (finder *f, gb_nest_node *n, const gb_cut *c, size_t extent, bool all) {
  const gb_step *st = &f->low->step[n->step];
  const int before = n->nreads, nodes = f->nest->nnodes;
  for (int i = 0; i < st->nin; i++) {
    gb_nest_read r;
    bool done = !f->staged[st->in[i]];
    for (int k = 0; k < n->nreads; k++) done |= n->read[k].buf == st->in[i];
    if (done) continue;
    const bool along = reads_along(f, n->step, c, extent, st->in[i], &r);
    r.node = along ? make_read(f, &r) : -1;
    if (r.node >= 0) n->read[n->nreads++] = r;
    else if (all) {
      blame(f, st->in[i]);
      drop_nodes(f, nodes);
      n->nreads = before;
      return false;
    }
  }
  return true;
}

static int count_staged (const finder *f, int s) {
  const gb_step *st = &f->low->step[s];
  int n = 0;
  for (int i = 0; i < st->nin; i++) n += f->staged[st->in[i]];
  return n;
}

/* OUTER axes that some result reduces with the cut one and that turn outside it: each index of theirs is a
** turn of its own, where all results are totals over all of it. */
static gb_axes turns_of (const gb_fold *p, int axis, size_t *nturns) {
  gb_axes turns = 0;
  *nturns = 1;
  for (int a = 0; a < p->naxes; a++) {
    bool all = true;
    for (int i = 0; i < p->nouts; i++) all &= (p->out[i].reduced >> a & 1) && (p->out[i].reduced >> axis & 1);
    const bool outside = p->axis[axis].role != GB_AXIS_OUTER || a < axis;
    for (int i = 0; i < p->nins; i++) all &= p->ins[i].kind != GB_INS_IOTA || p->ins[i].axis != a;
    if (a == axis || p->axis[a].role != GB_AXIS_OUTER || p->axis[a].extent < 2 || !all || !outside) continue;
    turns |= (gb_axes)1 << a;
    *nturns *= p->axis[a].extent;
  }
  return turns;
}

/* An output that reduces LANE, and TILE in windows, adds what lanes have to its total when the last window is over: there is
** one turn. */
static bool ends_with_turns (const gb_fold *p, int axis) {
  for (int i = 0; i < p->nouts; i++)
    for (int a = 0; a < p->naxes; a++)
      if (p->axis[axis].role == GB_AXIS_TILE && p->axis[a].role == GB_AXIS_LANE &&
          (p->out[i].reduced >> axis & 1) && (p->out[i].reduced >> a & 1))
        return true;
  return false;
}

/* Describes the windows of n along an axis. Returns false if n cannot be made in windows of it. */
static bool cut_own (gb_nest_node *n, const gb_fold *p, gb_cut *c) {
  gb_fold turn = *p;
  n->turns = turns_of(p, c->axis, &n->nturns);
  if (n->nturns > 1 && ends_with_turns(p, c->axis)) return false;
  for (int a = 0; a < p->naxes; a++)
    if (n->turns >> a & 1) turn.axis[a].extent = 1;
  return n->made.cut ? gb_cut_fold_unit(&turn, c, 0) : gb_cut_whole_unit(&turn, c, 0);
}

/* Windows of an axis that the results keep may be as small as one index: these first. */
static bool add_own (finder *f, gb_nest_node *n) {
  const gb_fold *p = &f->low->step[n->step].fold;
  for (int reduces = 0; reduces < 2; reduces++)
    for (int a = 0; a < p->naxes; a++) {
      gb_cut c = {.cut = true, .axis = a, .factor = 1};
      if (!gb_cut_walks(p, a) || p->axis[a].extent < 2 || (n->made.cut && n->made.axis == a)) continue;
      if (!cut_own(n, p, &c) || c.reduces != (reduces == 1) || c.unit >= p->axis[a].extent) continue;
      if (!add_reads(f, n, &c, p->axis[a].extent, true)) continue;
      n->own = c;
      n->extent = p->axis[a].extent;
      if (n->extent > f->nest->widest) f->nest->widest = n->extent;
      return true;
    }
  return false;
}

/* Axes of a map may have been joined to one: then its windows are those of a dimension of an operand. */
static bool add_joined (finder *f, gb_nest_node *n) {
  const gb_step *st = &f->low->step[n->step];
  for (int i = 0; i < st->fold.noperands; i++) {
    const gb_operand *o = &st->fold.operand[i];
    const int b = o->slot < 0 ? -1 : st->in[o->slot];
    for (int k = 0; b >= 0 && f->staged[b] && k < f->low->buf[b].shape.ndim; k++) {
      gb_cut c;
      if (f->low->buf[b].shape.dim[k] < 2) continue;
      if (!gb_cut_axis_of(&st->fold, o->stride, o->offset, &f->low->buf[b], k, 0, &c)) continue;
      if (c.factor < 2 || c.joined > 0 || (n->made.cut && n->made.axis == c.axis)) continue;
      c.cut = true;
      if (!cut_own(n, &st->fold, &c) || !add_reads(f, n, &c, f->low->buf[b].shape.dim[k], true)) continue;
      n->own = c;
      n->extent = f->low->buf[b].shape.dim[k];
      if (n->extent > f->nest->widest) f->nest->widest = n->extent;
      return true;
    }
  }
  return false;
}

/* made NULL: the outermost reader. */
static int make_node (finder *f, int s, const gb_cut *made, int dim) {
  const int from = f->nest->nnodes, all = count_staged(f, s);
  gb_nest_node n = {.step = s, .dim = dim, .read = calloc((size_t)all + 1, sizeof *n.read)};
  int k = -1;
  if (n.read == NULL) f->failed = true;
  else {
    if (made != NULL) {
      n.made = *made;
      add_reads(f, &n, made, f->low->buf[f->low->step[s].out[0]].shape.dim[dim], false);
      n.nbefore = n.nreads;
    }
    if (n.nreads == all || add_own(f, &n) || add_joined(f, &n)) k = add_node(f, &n);
  }
  if (k >= 0) return k;
  free(n.read);
  drop_nodes(f, from);
  return -1;
}

/* The nest */

void gb_nest_free (gb_nest *n, int nsteps) {
  (void)nsteps;
  if (n == NULL) return;
  for (int k = 0; k < n->nnodes; k++) free(n->node[k].read);
  free(n->node);
  free(n->root);
  free(n->inside);
  free(n);
}

static bool is_staged (const finder *f, int b) {
  const gb_buf *buf = &f->low->buf[b];
  const gb_step *st = f->maker[b] < 0 ? NULL : &f->low->step[f->maker[b]];
  return buf->staged && buf->bytes > 0 && buf->cls == GB_BUF_TEMP && st != NULL && st->is_fold &&
         st->nout == 1 && st->fold.nouts == 1;
}

/* Every step that reads staged values, and is not inside others, becomes a root. A value that some reader
** cannot make is taken for stored, and all begins again: true. */
static bool find_roots (finder *f) {
  drop_nodes(f, 0);
  f->nest->widest = 0;
  for (int s = 0; s < f->low->nsteps; s++) {
    const gb_step *st = &f->low->step[s];
    f->nest->root[s] = -1;
    f->nest->inside[s] = st->is_fold && st->nout == 1 && f->staged[st->out[0]];
  }
  for (int s = 0; s < f->low->nsteps && !f->failed; s++) {
    const gb_step *st = &f->low->step[s];
    f->culprit = -1;
    if (f->nest->inside[s] || count_staged(f, s) == 0 || gb_step_is_idle(f->low, st)) continue;
    if (st->is_fold && (f->nest->root[s] = make_node(f, s, NULL, -1)) >= 0) continue;
    for (int i = 0; f->culprit < 0; i++)
      if (f->staged[st->in[i]]) f->culprit = st->in[i];
    f->staged[f->culprit] = false;
    return true;
  }
  return false;
}

gb_status gb_find_nest (const gb_lowered *low, gb_nest **out, gb_error *err) {
  const size_t ns = (size_t)low->nsteps + 1, nb = (size_t)low->nbufs + 1;
  finder f = {.low = low,
              .maker = malloc(nb * sizeof *f.maker),
              .staged = calloc(nb, sizeof *f.staged),
              .nest = calloc(1, sizeof *f.nest)};
  *out = NULL;
  if (f.nest != NULL) {
    f.nest->root = calloc(ns, sizeof *f.nest->root);
    f.nest->inside = calloc(ns, sizeof *f.nest->inside);
  }
  f.failed = f.maker == NULL || f.staged == NULL || f.nest == NULL || f.nest->root == NULL ||
             f.nest->inside == NULL;
  if (!f.failed) {
    for (int b = 0; b < low->nbufs; b++) f.maker[b] = -1;
    for (int s = 0; s < low->nsteps; s++)
      for (int k = 0; k < low->step[s].nout; k++) f.maker[low->step[s].out[k]] = s;
    for (int b = 0; b < low->nbufs; b++) f.staged[b] = is_staged(&f, b);
    while (find_roots(&f)) {}
  }
  free(f.maker);
  free(f.staged);
  if (!f.failed && f.nest->widest > 0) *out = f.nest;
  else gb_nest_free(f.nest, low->nsteps);
  return f.failed ? gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps) : GB_OK;
}

/* Windows */

size_t gb_nest_window (const gb_nest_node *n, size_t rows) {
  if (!n->own.cut) return 0;
  if (rows < n->own.unit) rows = n->own.unit;
  return rows < n->extent ? rows : n->extent;
}

gb_range gb_nest_needs (const gb_nest_read *r, gb_range window) {
  const ptrdiff_t first = (ptrdiff_t)window.lo, last = first + (ptrdiff_t)window.n - 1;
  const ptrdiff_t lo = (r->step < 0 ? last : first) * r->step + r->low,
                  hi = (r->step < 0 ? first : last) * r->step + r->high;
  return (gb_range){(size_t)lo, (size_t)(hi - lo + 1)};
}

/* What the one reader of node k asks for by windows of 'rows', or by what is left of them. */
static size_t asked_of (const gb_nest *n, int k, size_t rows, bool rest) {
  for (int r = k + 1; r < n->nnodes; r++)
    for (int i = 0; i < n->node[r].nreads; i++) {
      if (n->node[r].read[i].node != k) continue;
      size_t window = gb_nest_window(&n->node[r], rows);
      if (i < n->node[r].nbefore) window = asked_of(n, r, rows, rest);
      else if (rest) window = n->node[r].extent % window;
      return window == 0 ? 0 : gb_nest_needs(&n->node[r].read[i], (gb_range){0, window}).n;
    }
  return 0;
}

size_t gb_nest_held (const gb_nest *n, int k, size_t rows) { return asked_of(n, k, rows, false); }
size_t gb_nest_rest (const gb_nest *n, int k, size_t rows) { return asked_of(n, k, rows, true); }

static void shrink (const gb_buf *b, int dim, gb_range held, ptrdiff_t *stride, ptrdiff_t *offset) {
  const ptrdiff_t one = b->stride[dim], up = one * (ptrdiff_t)b->shape.dim[dim],
                  now = one * (ptrdiff_t)held.n;
  *offset -= (ptrdiff_t)held.lo * one;
  *offset = *offset / up * now + *offset % up;
  for (int a = 0; a < GB_FOLD_AXES; a++) stride[a] = stride[a] / up * now + stride[a] % up;
}

static void cut_down (gb_window_fold *w, const gb_lowered *low, const gb_step *st, const gb_cut *c,
                      gb_range at, size_t extent) {
  gb_window_of_fold(w, low, st, c, (gb_window){at.lo, at.n, 0, extent, extent}, NULL, NULL);
}

/* One index of each axis that turns outside the windows. */
static void take_turn (gb_window_fold *w, const gb_nest_node *n, size_t turn) {
  if (!n->own.cut || n->turns == 0) return;
  if (n->own.reduces) w->fold.carried |= n->turns;
  for (int a = w->fold.naxes - 1; a >= 0; a--) {
    if (!(n->turns >> a & 1)) continue;
    const ptrdiff_t index = (ptrdiff_t)(turn % w->fold.axis[a].extent);
    turn /= w->fold.axis[a].extent;
    w->fold.axis[a].extent = 1;
    for (int o = 0; o < w->fold.noperands; o++) w->operand[o].offset += index * w->operand[o].stride[a];
  }
}

const gb_fold *gb_nest_fold (gb_window_fold w[2], const gb_lowered *low, const gb_nest *n,
                             const bool *compact, int k, gb_nest_part at) {
  const gb_nest_node *node = &n->node[k];
  gb_step part = low->step[node->step];
  const gb_step *st = &low->step[node->step];
  if (node->made.cut) {
    cut_down(&w[0], low, &part, &node->made, at.asked, low->buf[st->out[0]].shape.dim[node->dim]);
    part.fold = w[0].fold;
    shrink(&low->buf[st->out[0]], node->dim, at.asked, w[0].out[0].stride, &w[0].out[0].offset);
  }
  gb_window_fold *last = &w[0];
  if (node->own.cut) {
    last = &w[1];
    cut_down(last, low, &part, &node->own, at.own, node->extent);
  }
  for (int i = 0; i < node->nreads; i++) {
    const gb_nest_read *r = &node->read[i];
    const gb_range held = gb_nest_needs(r, i < node->nbefore ? at.asked : at.own);
    if (!compact[r->buf]) continue; /* it exists already */
    for (int o = 0; o < last->fold.noperands; o++)
      if (last->fold.operand[o].slot >= 0 && st->in[last->fold.operand[o].slot] == r->buf)
        shrink(&low->buf[r->buf], r->dim, held, last->operand[o].stride, &last->operand[o].offset);
  }
  take_turn(last, node, at.turn);
  return &last->fold;
}
