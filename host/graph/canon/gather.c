/* gather.c - a part of an expression along an axis, computed from parts of its inputs. */
#include "graph/canon/gather.h"

#include <math.h>

enum {
  DEEPEST = 64,
  MOST = 256
}; /* deeper expressions, or those of more nodes, are gathered from as a whole */

typedef enum part {
  POSITIONS, /* at positions 'at' */
  RUN,       /* 'extent' entries from 'start' */
  ALL
} part;

/* One gather, with the results for nodes already visited: an expression is a graph, not a tree. */
typedef struct gather {
  part part;
  gb_node *at;
  gb_node *joint, *instead; /* a PUT along the axis and its replacement; NULL: none */
  size_t start, extent;
  bool counts;               /* count the elements that would be gathered from; build nothing */
  double elements, gathered; /* elements of the sources now, and after the gather */
  gb_node *found;            /* when counting: the first CAT or PUT found along the axis */
  struct {
    gb_node *x, *out;
    int axis;
  } taken[MOST];
  int n;
  gb_error *err;
} gather;

static gb_status take (gather *g, gb_node *x, int axis, int depth, gb_node **out);

/* Rebuilds the op over inputs, each gathered along its own axis; -1: unchanged. */
static gb_status again (gather *g, gb_node *x, const int *axis, const gb_shape *shape, int depth,
                        gb_node **out) {
  gb_node *in[8] = {NULL};
  int made = 0;
  gb_status st = GB_OK;
  for (; st == GB_OK && made < x->nin; made++) {
    if (axis[made] >= 0) st = take(g, x->in[made], axis[made], depth + 1, &in[made]);
    else in[made] = gb_node_ref(x->in[made]);
    if (st != GB_OK) break;
  }
  if (st == GB_OK && g->counts) *out = gb_node_ref(x);
  else if (st == GB_OK)
    st = gb_node_build(x->graph, x->op, x->nin, in, &x->attr, shape, gb_node_dtype(x), out, g->err);
  for (int i = 0; i < made; i++) gb_node_unref(in[i]);
  return st;
}

/* The axis of an input that is axis 'axis' of the broadcast result; -1: the input is broadcast along it. */
static int aligned (const gb_node *x, int axis, const gb_node *in) {
  const int a = axis - (gb_node_shape(x)->ndim - gb_node_shape(in)->ndim);
  return a < 0 ? -1 : a; /* an axis of extent 1 stays unchanged */
}

/* Some rows (or columns) of a unit matrix: [row = column]. */
static gb_status take_unit (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err) {
  gb_node *range = NULL, *left = NULL, *right = NULL, *same = NULL, *one = NULL, *zero = NULL;
  const gb_shape s = gb_shape_of(1, (size_t[]){gb_node_shape(x)->dim[1 - axis]});
  const gb_attr attr = {.i = {1, 1}, .f = {1, 1}};
  gb_status st = gb_node_build(x->graph, GB_OP_RANGE, 0, NULL, &attr, &s, GB_I64, &range, err);
  if (st == GB_OK) st = gb_unsqueeze(at, 1 - axis, &left, err);
  if (st == GB_OK) st = gb_unsqueeze(range, axis, &right, err);
  if (st == GB_OK) st = gb_map2(GB_OP_EQ, left, right, &same, err);
  if (st == GB_OK) st = gb_node_const(x->graph, 1, gb_node_dtype(x), &one, err);
  if (st == GB_OK) st = gb_node_const(x->graph, 0, gb_node_dtype(x), &zero, err);
  if (st == GB_OK) st = gb_map3(GB_OP_WHERE, same, one, zero, out, err);
  gb_node *const made[] = {range, left, right, same, one, zero};
  for (int i = 0; i < 6; i++) gb_node_unref(made[i]);
  return st;
}

/* The axis of a reduction's input that is axis 'axis' of its result. */
static int before_reduction (const gb_node *x, int axis) {
  const uint64_t mask = (uint64_t)x->attr.i[0];
  for (int a = 0, seen = 0; a < gb_node_shape(x->in[0])->ndim; a++)
    if (!(mask >> a & 1) && seen++ == axis) return a;
  return -1;
}

/* The corresponding axis of a view's input; -1 if it is not one axis. */
static int before_view (const gb_node *x, int axis) {
  const int at = (int)x->attr.i[0];
  switch (x->op) {
    case GB_OP_UNSQUEEZE: return axis == at ? -1 : axis - (axis > at);
    case GB_OP_SQUEEZE: return axis + (axis >= at);
    case GB_OP_PERMUTE: return (int)x->attr.i[axis];
    case GB_OP_SLICE: return axis == at ? -1 : axis;
    case GB_OP_EXPAND: return aligned(x, axis, x->in[0]);
    default: return -1;
  }
}

/* The axes of the inputs along which an op separates when its result is gathered along 'axis'; false: it does
** not. 'sums': also reductions and contractions. */
static bool inwards (const gb_node *x, int axis, bool sums, int *of) {
  const gb_kind kind = gb_ops[x->op].kind;
  const int ndim = gb_node_shape(x)->ndim;
  if (x->nin == 0 || x->nin > 8 || (x->flags & GB_NODE_HELD) != 0) return false;
  for (int i = 0; i < x->nin; i++) of[i] = -1;
  if (kind == GB_KIND_MAP || x->op == GB_OP_CAST) {
    for (int i = 0; i < x->nin; i++) of[i] = aligned(x, axis, x->in[i]);
    return true;
  }
  if (x->op == GB_OP_CAT || x->op == GB_OP_PUT) {
    for (int i = 0; i < x->nin; i++) of[i] = x->op == GB_OP_PUT && i == 1 ? -1 : axis;
    return axis != (int)x->attr.i[0];
  }
  if (kind == GB_KIND_VIEW) {
    of[0] = before_view(x, axis);
    return of[0] >= 0 || x->op == GB_OP_EXPAND;
  }
  if (!sums) return false;
  if (x->op == GB_OP_MATMUL || x->op == GB_OP_SQDIST) {
    const bool points = x->op == GB_OP_SQDIST;
    if (ndim != 2 || gb_node_shape(x->in[0])->ndim != 2 || gb_node_shape(x->in[1])->ndim != 2) return false;
    of[axis] = axis == 0 || points ? 0 : 1;
    return true;
  }
  if (x->op == GB_OP_SUM || x->op == GB_OP_PROD || x->op == GB_OP_MIN || x->op == GB_OP_MAX ||
      x->op == GB_OP_LOGSUMEXP) {
    of[0] = before_reduction(x, axis);
    return of[0] >= 0;
  }
  return false;
}

static size_t extent_of (const gather *g, size_t whole) {
  return g->part == RUN ? g->extent : g->part == POSITIONS ? gb_node_shape(g->at)->dim[0] : whole;
}

static gb_status take_from (gather *g, gb_node *x, int axis, gb_node **out) {
  gb_node *const in[] = {x, g->at};
  const gb_attr attr = {.i = {axis}};
  const size_t extent = gb_node_shape(x)->dim[axis];
  if (!g->counts && g->part == POSITIONS)
    return gb_node_build(x->graph, GB_OP_INDEX, 2, in, &attr, NULL, gb_node_dtype(x), out, g->err);
  if (!g->counts && g->part == RUN) return gb_slice(x, axis, g->start, 1, g->extent, out, g->err);
  g->elements += (double)gb_shape_numel(gb_node_shape(x));
  if (extent > 0) g->gathered += (double)(gb_shape_numel(gb_node_shape(x)) / extent * extent_of(g, extent));
  *out = gb_node_ref(x);
  return GB_OK;
}

/* From CAT or PUT along the axis itself. */
static gb_status take_joined (gather *g, gb_node *x, int axis, gb_node **out) {
  if (g->counts && g->found == NULL) g->found = x;
  if (!g->counts && x == g->joint) {
    *out = gb_node_ref(g->instead);
    return GB_OK;
  }
  size_t start = 0;
  for (int i = 0; !g->counts && g->part == RUN && x->op == GB_OP_CAT && i < x->nin; i++) {
    const size_t extent = gb_node_shape(x->in[i])->dim[axis];
    if (start == g->start && extent == g->extent) {
      *out = gb_node_ref(x->in[i]);
      return GB_OK;
    }
    start += extent;
  }
  return take_from(g, x, axis, out);
}

static gb_status take_new (gather *g, gb_node *x, int axis, int depth, gb_node **out) {
  int of[8];
  gb_shape shape = *gb_node_shape(x);
  if (g->part == POSITIONS && x->op == GB_OP_EYE && shape.ndim == 2) {
    if (!g->counts) return take_unit(x, axis, g->at, out, g->err);
    *out = gb_node_ref(x);
    return GB_OK;
  }
  if (gb_is_joined(x) && (int)x->attr.i[0] == axis) return take_joined(g, x, axis, out);
  if (depth >= DEEPEST || !inwards(x, axis, g->part == POSITIONS && g->joint == NULL, of))
    return take_from(g, x, axis, out);
  shape.dim[axis] = extent_of(g, shape.dim[axis]);
  return again(g, x, of, &shape, depth, out);
}

static gb_status take (gather *g, gb_node *x, int axis, int depth, gb_node **out) {
  if (gb_node_shape(x)->dim[axis] == 1) { /* position 1 */
    *out = gb_node_ref(x);
    return GB_OK;
  }
  for (int i = 0; i < g->n; i++)
    if (g->taken[i].x == x && g->taken[i].axis == axis) {
      *out = gb_node_ref(g->taken[i].out);
      return GB_OK;
    }
  if (g->n == MOST) return take_from(g, x, axis, out);
  GB_TRY(take_new(g, x, axis, depth, out));
  if (g->n == MOST) return GB_OK;
  g->taken[g->n].x = x;
  g->taken[g->n].axis = axis;
  g->taken[g->n++].out = gb_node_ref(*out);
  return GB_OK;
}

static gb_status run (gather *g, gb_node *x, int axis, gb_node **out) {
  const gb_status st = take(g, x, axis, 0, out);
  for (int i = 0; i < g->n; i++) gb_node_unref(g->taken[i].out);
  return st;
}

gb_status gb_take_along (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err) {
  return run(&(gather){.at = at, .err = err}, x, axis, out);
}

static gb_node *in_formula (gb_formula *e, gather *g, gb_node *x, int axis) {
  gb_node *out = NULL;
  if (e->status != GB_OK) return NULL;
  g->err = e->err;
  e->status = run(g, x, axis, &out);
  return e->status == GB_OK ? gb_formula_hold(e, out) : NULL;
}

gb_node *gb_ex_take_run (gb_formula *e, gb_node *x, int axis, size_t start, size_t extent) {
  return in_formula(e, &(gather){.part = RUN, .start = start, .extent = extent}, x, axis);
}

gb_node *gb_ex_take_at (gb_formula *e, gb_node *x, int axis, gb_node *at) {
  return at ? in_formula(e, &(gather){.at = at}, x, axis) : NULL;
}

gb_node *gb_ex_take_put (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead) {
  return instead ? in_formula(e, &(gather){.at = put->in[1], .joint = put, .instead = instead}, x, axis)
                 : NULL;
}

gb_node *gb_ex_instead (gb_formula *e, gb_node *x, int axis, gb_node *put, gb_node *instead) {
  return instead ? in_formula(e, &(gather){.part = ALL, .joint = put, .instead = instead}, x, axis) : NULL;
}

gb_node *gb_joint_along (gb_formula *e, gb_node *x, int axis) {
  gather g = {.part = ALL, .counts = true};
  in_formula(e, &g, x, axis);
  return g.found;
}

double gb_gathered_elements (gb_formula *e, gb_node *x, int axis, gb_node *at) {
  gather g = {.at = at, .counts = true};
  return at && in_formula(e, &g, x, axis) ? g.gathered : INFINITY;
}

gb_node *gb_canon_gather (gb_formula *e, const gb_pending_op *d) {
  gb_node *x = d->in[0], *at = d->in[1];
  const int axis = (int)d->attr->i[0];
  gather g = {.at = at, .counts = true};
  if (e->status != GB_OK || gb_node_shape(at)->ndim != 1 ||
      gb_node_shape(at)->dim[0] > gb_node_shape(x)->dim[axis])
    return NULL;
  if (gb_node_shape(at)->dim[0] == 0) return NULL;
  if (!in_formula(e, &g, x, axis)) return NULL;
  if (!(g.elements > 0) || !(2 * g.elements < (double)gb_shape_numel(gb_node_shape(x)))) return NULL;
  return gb_ex_take_at(e, x, axis, at);
}
