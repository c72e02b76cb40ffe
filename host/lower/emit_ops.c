/* emit_ops.c - the instructions of one inlined node. */
#include <string.h>

#include "lower/internal.h"

gb_monoid gb_monoid_of (gb_op op) {
  switch (op) {
    case GB_OP_PROD: return GB_PROD;
    case GB_OP_MIN: return GB_MINIMUM;
    case GB_OP_MAX: return GB_MAXIMUM;
    case GB_OP_LOGSUMEXP: return GB_LSE;
    case GB_OP_ARGMIN: return GB_ARGMINIMUM;
    case GB_OP_ARGMAX: return GB_ARGMAXIMUM;
    case GB_OP_ANY: return GB_ANYTRUE;
    case GB_OP_ALL: return GB_ALLTRUE;
    case GB_OP_KMIN: return GB_KSMALLEST;
    default: return GB_SUM;
  }
}

static const gb_ins blank = {.dst = -1, .a = -1, .b = -1, .c = -1, .x = -1, .y = -1, .w = -1, .axis = -1};

/* Ends the loop over 'axis', whose body gave 'v', with an accumulator. */
static int close_with_sum (gb_emitter *e, gb_monoid monoid, int axis, int v) {
  gb_ins acc = blank;
  acc.kind = GB_INS_ACC;
  acc.monoid = monoid;
  acc.a = v;
  const gb_axes deps = e->deps[v] & ~((gb_axes)1 << axis);
  const int sum = gb_emit_acc(e, acc, deps);
  return sum >= 0 && gb_emit_close(e, deps) ? sum : -1;
}

/* Generators */

static int emit_const (gb_emitter *e, gb_node *n) {
  int x = 0;
  while (x < e->nconstants && e->constant[x] != n->index) x++;
  if (x == e->nconstants) {
    if (!gb_grow(&e->constant, x, &e->constant_room, sizeof *e->constant)) {
      e->rc = gb_fail(e->s->err, GB_ENOMEM, "no memory to write a program");
      return -1;
    }
    e->constant[e->nconstants++] = n->index;
  }
  gb_ins ins = blank;
  ins.kind = GB_INS_BIND;
  ins.x = x;
  return gb_emit_ins(e, ins, 0);
}

/* start + step * index of a RANGE, rounded as when it is stored, whatever views it is seen through. */
static int emit_index (gb_emitter *e, const gb_ix *ix, const gb_attr *range) {
  const gb_map m = {.dim = {*ix}};
  gb_ins ins = blank;
  ins.kind = GB_INS_IOTA;
  ins.f = range->f[1];
  ins.g = range->f[0];
  ins.step = range->i[1];
  ins.start = range->i[0];
  if ((ins.x = gb_emit_strided(e, -1, &m, 1, (ptrdiff_t[]){1})) < 0) return -1;
  return gb_emit_ins(e, ins, e->operand[ins.x].deps);
}

/* Indices are compared; where the compute type does not tell them all apart, their difference is. */
static int emit_eye (gb_emitter *e, const gb_node *n, const gb_map *m) {
  const gb_shape *s = gb_node_shape(n);
  const gb_ix *row = &m->dim[s->ndim - 2], *column = &m->dim[s->ndim - 1];
  const size_t longest = s->dim[s->ndim - 1] > s->dim[s->ndim - 2] ? s->dim[s->ndim - 1]
                                                                   : s->dim[s->ndim - 2];
  gb_ix zero = {0}, difference = *row;
  const bool exact = e->compute != GB_F32 || longest <= (size_t)1 << 24;
  difference.off -= column->off;
  for (int a = 0; a < GB_FOLD_AXES; a++) difference.coef[a] -= column->coef[a];
  const gb_attr plain = {.i = {0, 1}, .f = {0, 1}};
  const int i = emit_index(e, exact ? row : &difference, &plain);
  const int j = i < 0 ? -1 : emit_index(e, exact ? column : &zero, &plain);
  return j < 0 ? -1 : gb_emit_map(e, GB_OP_EQ, i, j, -1);
}

/* The element's row-major position is its counter, so any tile of a random tensor can be drawn again. */
static int emit_random (gb_emitter *e, const gb_node *n, const gb_map *m) {
  ptrdiff_t stride[GB_MAXDIM];
  gb_strides_of(gb_node_shape(n), stride);
  gb_ins ins = blank;
  ins.kind = GB_INS_RAND;
  ins.profile = n->op == GB_OP_RANDN ? (gb_profile)1 : (gb_profile)0;
  if ((ins.x = gb_emit_strided(e, -1, m, gb_node_shape(n)->ndim, stride)) < 0) return -1;
  if (n->op == GB_OP_RAND) ins.f = gb_dtype_below_one(gb_node_dtype(n));
  ins.seed[0] = (uint64_t)n->attr.i[0];
  ins.seed[1] = (uint64_t)n->attr.i[1];
  return gb_emit_ins(e, ins, e->operand[ins.x].deps);
}

/* Fronts */

/* Both sides may vary along batch axes; beyond them they must not share one. */
static bool sides_are_apart (const gb_ix *i, const gb_ix *j) { return (gb_ix_deps(i) & gb_ix_deps(j)) == 0; }

static gb_map point_map (const gb_map *m, const gb_shape *of, const gb_shape *points, const gb_ix *row,
                         const gb_ix *feature) {
  gb_map out = gb_map_broadcast(m, of, points);
  out.dim[points->ndim - 2] = points->dim[points->ndim - 2] == 1 ? (gb_ix){0} : *row;
  out.dim[points->ndim - 1] = *feature;
  return out;
}

/* sum_k w_k (x_k - y_k)^2 where both sides vary along the same axis: a plain loop. */
static int emit_paired (gb_emitter *e, gb_node *n, const gb_map *mx, const gb_map *my, const gb_map *mw,
                        int axis) {
  gb_emit_open(e, axis);
  const int x = gb_emit_value(e, n->in[0], mx), y = x < 0 ? -1 : gb_emit_value(e, n->in[1], my);
  const int d = y < 0 ? -1 : gb_emit_map(e, GB_OP_SUB, x, y, -1);
  int t = d < 0 ? -1 : gb_emit_map(e, GB_OP_SQUARE, d, -1, -1);
  if (t >= 0 && n->nin > 2) {
    const int w = gb_emit_value(e, n->in[2], mw);
    t = w < 0 ? -1 : gb_emit_map(e, GB_OP_MUL, w, t, -1);
  }
  return t < 0 ? -1 : close_with_sum(e, GB_SUM, axis, t);
}

static int emit_sqdist (gb_emitter *e, gb_node *n, const gb_map *m) {
  const gb_shape *s = gb_node_shape(n), *sx = gb_node_shape(n->in[0]), *sy = gb_node_shape(n->in[1]);
  const gb_ix *i = &m->dim[s->ndim - 2], *j = &m->dim[s->ndim - 1];
  const bool apart = sides_are_apart(i, j);
  const int axis = gb_emit_axis(e, sx->dim[sx->ndim - 1], 0);
  if (axis < 0) return -1;
  const gb_ix feature = gb_ix_axis(axis);
  const gb_map mx = point_map(m, s, sx, i, &feature), my = point_map(m, s, sy, j, &feature),
               mw = {.dim = {feature}};
  if (!apart) return emit_paired(e, n, &mx, &my, &mw, axis);
  gb_ins ins = blank;
  ins.kind = GB_INS_SQDIST;
  ins.axis = axis;
  if ((ins.x = gb_emit_stored(e, n->in[0], &mx)) < 0 || (ins.y = gb_emit_stored(e, n->in[1], &my)) < 0)
    return -1;
  if (n->nin > 2 && (ins.w = gb_emit_stored(e, n->in[2], &mw)) < 0) return -1;
  const gb_axes deps = (e->operand[ins.x].deps | e->operand[ins.y].deps) & ~((gb_axes)1 << axis);
  return gb_emit_ins(e, ins, deps);
}

/* Inner reductions */

/* Reduces 'body', written inside loops over the axes still to open, outermost first. */
static int emit_loops (gb_emitter *e, gb_monoid monoid, const int *axis, int naxes, gb_node *a,
                       const gb_map *ma, gb_node *b, const gb_map *mb) {
  if (naxes == 0) {
    const int x = gb_emit_value(e, a, ma);
    if (b == NULL || x < 0) return x;
    const int y = gb_emit_value(e, b, mb);
    return y < 0 ? -1 : gb_emit_map(e, GB_OP_MUL, x, y, -1);
  }
  gb_emit_open(e, axis[0]);
  const int v = emit_loops(e, monoid, axis + 1, naxes - 1, a, ma, b, mb);
  return v < 0 ? -1 : close_with_sum(e, monoid, axis[0], v);
}

/* Loop axes for dimension 'dim' that n sums over: one, or two where a reshape below needs it in two. */
static bool add_loops (gb_emitter *e, gb_node *n, int dim, size_t extent, int *axis, int *naxes, gb_ix *ix) {
  size_t inner = extent;
  for (int k = 0; k < e->d->nsplits; k++)
    if (e->d->split[k].node == n && e->d->split[k].dim == dim) inner = e->d->split[k].inner;
  *ix = (gb_ix){0};
  for (int part = inner == extent; part < 2; part++) {
    gb_axes taken = 0;
    for (int k = 0; k < *naxes; k++) taken |= (gb_axes)1 << axis[k];
    const int a = gb_emit_axis(e, part == 0 ? extent / inner : inner, taken);
    if (a < 0) return false;
    e->loop_of[a].node = inner == extent ? n : NULL;
    e->loop_of[a].dim = dim;
    ix->coef[a] = part == 0 ? (ptrdiff_t)inner : 1;
    axis[(*naxes)++] = a;
  }
  return true;
}

static int emit_reduction (gb_emitter *e, gb_node *n, const gb_map *m) {
  gb_node *in = n->in[0];
  const gb_shape *s = gb_node_shape(in);
  gb_map below = {0};
  int axis[2 * GB_MAXDIM], naxes = 0;
  for (int i = 0, o = 0; i < s->ndim; i++) {
    if (!((unsigned)n->attr.i[0] >> i & 1)) below.dim[i] = m->dim[o++];
    else if (s->dim[i] != 1 && !add_loops(e, n, i, s->dim[i], axis, &naxes, &below.dim[i])) return -1;
  }
  return emit_loops(e, gb_monoid_of(n->op), axis, naxes, in, &below, NULL, NULL);
}

/* A product of two matrices inside a tile: a dot front where both are stored, else a loop. */
static int emit_product (gb_emitter *e, gb_node *n, const gb_map *m) {
  const gb_shape *s = gb_node_shape(n), *sa = gb_node_shape(n->in[0]), *sb = gb_node_shape(n->in[1]);
  const gb_ix *i = &m->dim[s->ndim - 2], *j = &m->dim[s->ndim - 1];
  const bool front = !gb_streams(e->s, n->in[0]) && !gb_streams(e->s, n->in[1]) && sides_are_apart(i, j);
  const size_t extent = sa->dim[sa->ndim - 1];
  int axis[2] = {-1, -1}, naxes = 0;
  gb_ix k;
  if (!front && !add_loops(e, n, sa->ndim - 1, extent, axis, &naxes, &k)) return -1;
  if (front) {
    if ((axis[0] = gb_emit_axis(e, extent, 0)) < 0) return -1;
    k = gb_ix_axis(axis[0]);
  }
  gb_map ma = gb_map_broadcast(m, s, sa), mb = gb_map_broadcast(m, s, sb);
  ma.dim[sa->ndim - 2] = *i;
  ma.dim[sa->ndim - 1] = mb.dim[sb->ndim - 2] = k;
  mb.dim[sb->ndim - 1] = *j;
  if (!front) return emit_loops(e, GB_SUM, axis, naxes, n->in[0], &ma, n->in[1], &mb);
  gb_ins ins = blank;
  ins.kind = GB_INS_DOT;
  ins.axis = axis[0];
  if ((ins.x = gb_emit_stored(e, n->in[0], &ma)) < 0 || (ins.y = gb_emit_stored(e, n->in[1], &mb)) < 0)
    return -1;
  return gb_emit_ins(e, ins, (e->operand[ins.x].deps | e->operand[ins.y].deps) & ~((gb_axes)1 << axis[0]));
}

/* Elementwise */

static int emit_inputs (gb_emitter *e, gb_node *n, const gb_map *m, int v[3]) {
  v[0] = v[1] = v[2] = -1;
  for (int i = 0; i < n->nin; i++) {
    const gb_map below = gb_map_broadcast(m, gb_node_shape(n), gb_node_shape(n->in[i]));
    if ((v[i] = gb_emit_value(e, n->in[i], &below)) < 0) return -1;
  }
  return 0;
}

static int emit_radial (gb_emitter *e, gb_node *n, const gb_map *m) {
  int v[3];
  if (emit_inputs(e, n, m, v) < 0) return -1;
  gb_ins ins = blank;
  ins.kind = GB_INS_RADIAL;
  ins.profile = (gb_profile)n->attr.i[0];
  ins.order = (int)n->attr.i[1];
  ins.dalpha = (int)n->attr.i[2];
  ins.a = v[0];
  ins.b = v[1];
  ins.c = v[2];
  return gb_emit_ins(e, ins, e->deps[v[0]] | e->deps[v[1]] | (v[2] < 0 ? 0 : e->deps[v[2]]));
}

static int emit_elementwise (gb_emitter *e, gb_node *n, const gb_map *m) {
  int v[3];
  if (n->op == GB_OP_RADIAL) return emit_radial(e, n, m);
  return emit_inputs(e, n, m, v) < 0 ? -1 : gb_emit_map(e, n->op, v[0], v[1], v[2]);
}

static bool may_split (const gb_emitter *e, int axis) {
  if (axis < 0 || e->naxes == GB_FOLD_AXES || e->d->nroots > 1) return false;
  if (axis >= e->d->naxes) return e->loop_of[axis].node != NULL && e->d->nsplits < GB_SPLITS;
  return e->d->naxes < GB_FOLD_AXES - 2 && (e->d->columns >> axis & 1) == 0;
}

static int emit_view (gb_emitter *e, gb_node *n, const gb_map *m) {
  gb_map below;
  int axis;
  size_t inner;
  if (gb_map_through_view(n, m, e->extent, &below, &axis, &inner)) return gb_emit_value(e, n->in[0], &below);
  if (may_split(e, axis)) {
    e->split_axis = axis;
    e->split_inner = inner;
    return -1;
  }
  /* Not affine: what it looks at is stored in row-major order, where any shape of as many elements is
  ** affine. */
  const int buf = gb_need_contiguous(e->s, n->in[0], &e->rc);
  ptrdiff_t stride[GB_MAXDIM];
  gb_strides_of(gb_node_shape(n), stride);
  const int operand = buf < 0 ? -1 : gb_emit_strided(e, buf, m, gb_node_shape(n)->ndim, stride);
  return operand < 0 ? -1 : gb_emit_load(e, operand);
}

static int emit_handed_on (gb_emitter *e, gb_node *n, const gb_map *m) {
  const gb_map below = gb_map_broadcast(m, gb_node_shape(n), gb_node_shape(n->in[0]));
  return gb_emit_value(e, n->in[0], &below);
}

int gb_emit_body (gb_emitter *e, gb_node *n, const gb_map *m) {
  if (gb_hands_on(n)) return emit_handed_on(e, n, m);
  switch (gb_ops[n->op].kind) {
    case GB_KIND_GEN:
      switch (n->op) {
        case GB_OP_CONST: return emit_const(e, n);
        case GB_OP_RANGE: return emit_index(e, &m->dim[0], &n->attr);
        case GB_OP_EYE: return emit_eye(e, n, m);
        default: return emit_random(e, n, m);
      }
    case GB_KIND_MAP: return emit_elementwise(e, n, m);
    case GB_KIND_VIEW: return emit_view(e, n, m);
    case GB_KIND_REDUCE: return emit_reduction(e, n, m);
    case GB_KIND_OPAQUE: return gb_emit_load(e, gb_emit_staged(e, n->in[0], m)); /* CAST */
    default: return n->op == GB_OP_SQDIST ? emit_sqdist(e, n, m) : emit_product(e, n, m);
  }
}
