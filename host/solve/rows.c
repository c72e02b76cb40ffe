/* rows.c - taking entries along an axis of an expression, and the three products made of it. */
#include "solve/rows.h"

#include <string.h>

#include "graph/grad.h"
#include "solve/product.h"

/* ---- taking rows of an expression ---- */

#define DEEPEST 64                 /* expressions deeper than this are stored below */

static gb_status take (gb_node *x, int axis, gb_node *at, int depth, gb_node **out, gb_error *err);

/* The op again over inputs, each taken along its own axis, or as it is where that is -1. */
static gb_status again (gb_node *x, const int *axis, gb_node *at, const gb_attr *attr, const gb_shape *shape, int depth,
                        gb_node **out, gb_error *err) {
  gb_node *in[8];
  int made = 0;
  gb_status st = GB_OK;
  for (; st == GB_OK && made < x->nin; made++) {
    if (axis[made] >= 0) st = take(x->in[made], axis[made], at, depth + 1, &in[made], err);
    else in[made] = gb_node_ref(x->in[made]);
    if (st != GB_OK) break;
  }
  if (st == GB_OK) st = gb_node_build(x->graph, x->op, x->nin, in, attr, shape, gb_node_dtype(x), out, err);
  for (int i = 0; i < made; i++) gb_node_unref(in[i]);
  return st;
}

/* Where axis 'axis' of a broadcast result lies in an input, -1: it is broadcast there. */
static int aligned (const gb_node *x, int axis, const gb_node *in) {
  const int a = axis - (gb_node_shape(x)->ndim - gb_node_shape(in)->ndim);
  return a < 0 ? -1 : a;          /* an extent of 1 is taken as it is */
}

/* [row = column] of a unit matrix, some rows (or columns) of it. */
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

/* The axis of the only input of a view, -1 where it is not one axis. */
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

/* Axes of the inputs of an op that can be taken apart along 'axis'; false: it cannot. */
static bool inwards (const gb_node *x, int axis, int *of) {
  const gb_kind kind = gb_ops[x->op].kind;
  const int ndim = gb_node_shape(x)->ndim;
  if (x->nin == 0 || x->nin > 8 || gb_node_has_value(x)) return false;
  for (int i = 0; i < x->nin; i++) of[i] = -1;
  if (kind == GB_KIND_MAP || x->op == GB_OP_CAST) {
    for (int i = 0; i < x->nin; i++) of[i] = aligned(x, axis, x->in[i]);
    return true;
  }
  if (x->op == GB_OP_MATMUL || x->op == GB_OP_SQDIST) {
    const bool points = x->op == GB_OP_SQDIST;
    if (ndim != 2 || gb_node_shape(x->in[0])->ndim != 2 || gb_node_shape(x->in[1])->ndim != 2) return false;
    of[axis] = axis == 0 || points ? 0 : 1;
    return true;
  }
  if (x->op == GB_OP_SUM || x->op == GB_OP_PROD || x->op == GB_OP_MIN || x->op == GB_OP_MAX || x->op == GB_OP_LOGSUMEXP) {
    of[0] = before_reduction(x, axis);
    return of[0] >= 0;
  }
  if (kind == GB_KIND_VIEW) {
    of[0] = before_view(x, axis);
    return of[0] >= 0 || x->op == GB_OP_EXPAND;
  }
  return false;
}

static gb_status take (gb_node *x, int axis, gb_node *at, int depth, gb_node **out, gb_error *err) {
  int of[8];
  gb_shape shape = *gb_node_shape(x);
  if (shape.dim[axis] == 1) {      /* position 1 */
    *out = gb_node_ref(x);
    return GB_OK;
  }
  if (x->op == GB_OP_EYE && shape.ndim == 2) return take_unit(x, axis, at, out, err);
  if (depth < DEEPEST && inwards(x, axis, of)) {
    shape.dim[axis] = gb_node_shape(at)->dim[0];
    return again(x, of, at, &x->attr, &shape, depth, out, err);
  }
  gb_node *const in[] = {x, at};
  const gb_attr attr = {.i = {axis}};
  return gb_node_build(x->graph, GB_OP_INDEX, 2, in, &attr, NULL, gb_node_dtype(x), out, err);
}

gb_status gb_take_along (gb_node *x, int axis, gb_node *at, gb_node **out, gb_error *err) {
  return take(x, axis, at, 0, out, err);
}

/* ---- products ---- */

/* A[:, at] v as the adjoint of A[at, :] x, which is linear in x. */
static gb_status build (gb_rows *p, gb_node *a, gb_error *err) {
  gb_node *y = NULL, *some = NULL;
  gb_status st = gb_matmul(a, p->x, &y, err);
  if (st == GB_OK) st = gb_take_along(y, 0, p->at, &p->ax, err);
  if (st == GB_OK) st = gb_grad(p->ax, p->v, 1, &p->x, false, &p->av, err);
  if (st == GB_OK) st = gb_take_along(a, 0, p->at, &some, err);
  if (st == GB_OK) st = gb_take_along(some, 1, p->at, &p->block, err);
  if (st == GB_OK) st = gb_plan_new(p->graph, 1, &p->ax, NULL, &p->by_row, err);
  if (st == GB_OK) st = gb_plan_new(p->graph, 1, &p->av, NULL, &p->by_column, err);
  if (st == GB_OK) st = gb_plan_new(p->graph, 1, &p->block, NULL, &p->by_block, err);
  gb_node_unref(y);
  gb_node_unref(some);
  return st;
}

static gb_status placeholders (gb_rows *p, gb_error *err) {
  const gb_shape at = gb_shape_of(1, (size_t[]){p->b}), wide = gb_shape_of(2, (size_t[]){p->n, p->r}),
                 narrow = gb_shape_of(2, (size_t[]){p->b, p->r});
  gb_ledger *l = &p->graph->backend->ledger;
  GB_TRY(gb_node_placeholder(p->graph, &at, GB_I64, "rows", &p->at, err));
  GB_TRY(gb_node_placeholder(p->graph, &narrow, p->dtype, "columns", &p->v, err));
  GB_TRY(gb_tensor_new(l, GB_I64, &at, GB_MEM_WORKSPACE, "", "rows of a solver", &p->positions, err));
  GB_TRY(gb_tensor_new(l, p->dtype, &wide, GB_MEM_WORKSPACE, "", "columns of a solver", &p->wide, err));
  GB_TRY(gb_tensor_new(l, p->dtype, &narrow, GB_MEM_WORKSPACE, "", "columns of a solver", &p->narrow, err));
  return gb_node_leaf(p->graph, &p->wide, GB_NODE_GRAD, "columns", &p->x, err);
}

gb_status gb_rows_init (gb_rows *p, gb_node *a, size_t r, size_t b, gb_error *err) {
  a = gb_attached(a);
  *p = (gb_rows){.graph = a->graph, .dtype = gb_node_dtype(a), .n = gb_node_shape(a)->dim[0], .r = r, .b = b};
  gb_status st = placeholders(p, err);
  if (st == GB_OK) st = build(p, a, err);
  if (st != GB_OK) gb_rows_clear(p);
  return st;
}

void gb_rows_clear (gb_rows *p) {
  gb_plan *const plans[] = {p->by_row, p->by_column, p->by_block};
  for (int i = 0; i < 3; i++)
    if (plans[i] != NULL) gb_plan_free(plans[i]);
  gb_node *const nodes[] = {p->ax, p->av, p->block, p->at, p->x, p->v};
  for (int i = 0; i < 6; i++) gb_node_unref(nodes[i]);
  gb_tensor_clear(&p->positions);
  gb_tensor_clear(&p->wide);
  gb_tensor_clear(&p->narrow);
  *p = (gb_rows){0};
}

void gb_rows_choose (gb_rows *p, const size_t *rows) {
  int64_t *at = gb_tensor_data(&p->positions);
  for (size_t i = 0; i < p->b; i++) at[i] = (int64_t)rows[i] + 1;
}

/* Runs a plan over some of the placeholders. */
static gb_status run (gb_rows *p, gb_plan *plan, size_t numel, double *y, gb_error *err) {
  gb_node *const all[] = {p->at, p->x, p->v};
  const gb_tensor values[] = {p->positions, p->wide, p->narrow};
  gb_node *leaf[3];
  gb_tensor value[3], out = {0};
  size_t n = 0;
  for (int i = 0; i < 3; i++)
    if (gb_plan_has_leaf(plan, all[i])) leaf[n] = all[i], value[n++] = values[i];
  GB_TRY(gb_plan_run_with(plan, n, leaf, value, &out, err));
  for (size_t i = 0; i < numel; i++)
    y[i] = p->dtype == GB_F64 ? ((const double *)gb_tensor_data(&out))[i] : (double)((const float *)gb_tensor_data(&out))[i];
  gb_tensor_clear(&out);
  return GB_OK;
}

static void put (gb_tensor *t, gb_dtype dtype, size_t numel, const double *x) {
  if (dtype == GB_F64) memcpy(gb_tensor_data(t), x, numel * sizeof *x);
  else for (size_t i = 0; i < numel; i++) ((float *)gb_tensor_data(t))[i] = (float)x[i];
}

gb_status gb_rows_times (gb_rows *p, const double *x, double *y, gb_error *err) {
  put(&p->wide, p->dtype, p->n * p->r, x);
  return run(p, p->by_row, p->b * p->r, y, err);
}

gb_status gb_rows_columns (gb_rows *p, double *v, double *y, gb_error *err) {
  put(&p->narrow, p->dtype, p->b * p->r, v);
  if (p->dtype != GB_F64)
    for (size_t i = 0; i < p->b * p->r; i++) v[i] = (double)(float)v[i];
  return run(p, p->by_column, p->n * p->r, y, err);
}

gb_status gb_rows_block (gb_rows *p, double *out, gb_error *err) { return run(p, p->by_block, p->b * p->b, out, err); }
