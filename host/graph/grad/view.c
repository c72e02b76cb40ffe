/* view.c - cotangents through views, joins and positions: every rule returns entries to their source
** positions. */
#include "graph/grad/rules.h"

#define BEGIN                                                                                                \
  gb_formula e;                                                                                              \
  gb_formula_init(&e, y->graph, err);                                                                        \
  gb_node *x = y->in[0], *g = out_bar[0];                                                                    \
  const gb_shape *xs = gb_node_shape(x);                                                                     \
  (void)need, (void)x, (void)g, (void)xs

#define RULE(suffix)                                                                                         \
  gb_status gb_grad_##suffix(gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,        \
                             gb_error *err)

RULE(reshape) {
  BEGIN;
  return gb_formula_take(&e, gb_ex_reshape(&e, g, xs), in_bar);
}

RULE(unsqueeze) {
  BEGIN;
  return gb_formula_take(&e, gb_ex_squeeze(&e, g, (int)y->attr.i[0]), in_bar);
}

RULE(squeeze) {
  BEGIN;
  return gb_formula_take(&e, gb_ex_unsqueeze(&e, g, (int)y->attr.i[0]), in_bar);
}

RULE(permute) {
  BEGIN;
  int back[GB_MAXDIM];
  for (int i = 0; i < xs->ndim; i++) back[y->attr.i[i]] = i;
  return gb_formula_take(&e, gb_ex_permute(&e, g, back), in_bar);
}

RULE(expand) {
  BEGIN;
  return gb_formula_take(&e, gb_ex_unbroadcast(&e, g, xs), in_bar);
}

/* Zeros with x's shape except extent 'extent' along 'axis'. */
static gb_node *zeros_along (gb_formula *e, const gb_node *x, int axis, size_t extent) {
  gb_shape s = *gb_node_shape(x);
  s.dim[axis] = extent;
  return gb_ex_expand(e, gb_ex_like(e, 0, x), &s);
}

/* One entry along the axis: g at index 'at', else 0. Streams; nothing is stored. */
static gb_node *place_one (gb_formula *e, gb_node *x, gb_node *g, int axis, int64_t at) {
  const gb_shape *s = gb_node_shape(x);
  gb_node *index = gb_ex_range(e, 0, 1, s->dim[axis], GB_I64);
  for (int i = 0; i < s->ndim; i++)
    if (i != axis) index = gb_ex_unsqueeze(e, index, i);
  gb_node *here = gb_ex_map2(e, GB_OP_EQ, index, gb_ex_const(e, (double)at, GB_I64));
  return gb_ex_where(e, here, g, gb_ex_like(e, 0, g));
}

/* A run with step 1 or -1 between zeros. */
static gb_node *place_run (gb_formula *e, gb_node *x, gb_node *g, int axis, int64_t start, int64_t step) {
  const size_t n = gb_node_shape(x)->dim[axis], k = gb_node_shape(g)->dim[axis];
  if (step < 0) g = gb_ex_slice(e, g, axis, k - 1, -1, k);
  const size_t before = (size_t)(step < 0 ? start - (int64_t)k + 1 : start), after = n - before - k;
  gb_node *part[3];
  int parts = 0;
  if (before) part[parts++] = zeros_along(e, x, axis, before);
  part[parts++] = g;
  if (after) part[parts++] = zeros_along(e, x, axis, after);
  return parts == 1 ? g
                    : gb_ex_op(e, GB_OP_CAT, parts, part, &(gb_attr){.i = {axis}}, NULL, gb_node_dtype(x));
}

RULE(slice) {
  BEGIN;
  const int axis = (int)y->attr.i[0];
  const int64_t start = y->attr.i[1], step = y->attr.i[2], extent = y->attr.i[3];
  gb_node *bar;
  if (extent == 0) {
    bar = gb_ex_fill(&e, 0, x);
  } else if (extent == 1) {
    bar = place_one(&e, x, g, axis, start);
  } else if (step == 1 || step == -1) {
    bar = place_run(&e, x, g, axis, start, step);
  } else {
    gb_node *at = gb_ex_range(&e, start + 1, step, (size_t)extent, GB_I64);
    bar = gb_ex_op(&e, GB_OP_PUT, 3, (gb_node *[]){gb_ex_fill(&e, 0, x), at, g}, &(gb_attr){.i = {axis}},
                   NULL, GB_F64);
  }
  return gb_formula_take(&e, bar, in_bar);
}

RULE(diagonal) {
  BEGIN;
  const int r = xs->ndim;
  const size_t n = xs->dim[r - 2], m = xs->dim[r - 1];
  gb_node *line = gb_ex_unsqueeze(&e, g, n <= m ? r - 1 : r - 2),
          *eye = gb_ex_eye(&e, n, m, gb_node_dtype(x));
  for (int i = 2; i < r; i++) eye = gb_ex_unsqueeze(&e, eye, 0);
  return gb_formula_take(&e, gb_ex_mul(&e, eye, line), in_bar);
}

RULE(cat) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  const int axis = (int)y->attr.i[0];
  size_t at = 0;
  for (int i = 0; i < y->nin; i++) {
    const size_t k = gb_node_shape(y->in[i])->dim[axis];
    if (need[i]) gb_bar_put(&e, gb_ex_slice(&e, out_bar[0], axis, at, 1, k), in_bar, i);
    at += k;
  }
  return gb_bar_finish(&e, y->nin, in_bar);
}

/* -- positions */

RULE(index) {
  BEGIN;
  gb_node *in[] = {gb_ex_fill(&e, 0, x), y->in[1], g};
  return gb_formula_take(&e, gb_ex_op(&e, GB_OP_INDEX_ADD, 3, in, &y->attr, NULL, gb_node_dtype(x)), in_bar);
}

static gb_node *gather (gb_formula *e, gb_node *y, gb_node *g) {
  return gb_ex_op(e, GB_OP_INDEX, 2, (gb_node *[]){g, y->in[1]}, &y->attr, NULL, gb_node_dtype(g));
}

/* Of equal positions the last wins. */
RULE(put) {
  BEGIN;
  const int axis = (int)y->attr.i[0];
  gb_node *in[] = {g, y->in[1], need[0] ? gb_ex_fill(&e, 0, y->in[2]) : NULL};
  if (need[0]) gb_bar_put(&e, gb_ex_op(&e, GB_OP_PUT, 3, in, &y->attr, NULL, gb_node_dtype(g)), in_bar, 0);
  if (need[2]) {
    gb_node *wins = gb_ex_along(&e, gb_ex_put_wins(&e, y->in[1], xs->dim[axis]), axis, xs->ndim);
    gb_bar_put(&e, gb_ex_where(&e, wins, gather(&e, y, g), gb_ex_like(&e, 0, g)), in_bar, 2);
  }
  return gb_bar_finish(&e, 3, in_bar);
}

RULE(index_add) {
  BEGIN;
  if (need[0]) gb_bar_put(&e, g, in_bar, 0);
  if (need[2]) gb_bar_put(&e, gather(&e, y, g), in_bar, 2);
  return gb_bar_finish(&e, 3, in_bar);
}

/* x or y: what attains the result, and has not another's gradient. A NaN equals nothing. */
RULE(index_best) {
  BEGIN;
  gb_node *zero = gb_ex_like(&e, 0, x), *one = gb_ex_like(&e, 1, x);
  gb_node *is_x = gb_ex_map2(&e, GB_OP_EQ, x, y),
          *is_y = gb_ex_map2(&e, GB_OP_EQ, y->in[2], gather(&e, y, y));
  gb_node *in[] = {gb_ex_where(&e, is_x, one, gb_ex_fill(&e, 0, x)), y->in[1],
                   gb_ex_where(&e, is_y, one, gb_ex_fill(&e, 0, y->in[2]))};
  gb_node *ties = gb_ex_op(&e, GB_OP_INDEX_ADD, 3, in, &y->attr, NULL, gb_node_dtype(x));
  gb_node *share = gb_ex_div(&e, g, ties);
  if (need[0]) gb_bar_put(&e, gb_ex_where(&e, is_x, share, zero), in_bar, 0);
  if (need[2]) gb_bar_put(&e, gb_ex_where(&e, is_y, gather(&e, y, share), zero), in_bar, 2);
  return gb_bar_finish(&e, 3, in_bar);
}

/* Cotangents of sorted values return to the original positions; of KMIN there may be more than values. The sorted axis is
** moved last and everything flattened, so that each row's positions become positions in one vector. */
RULE(sort) {
  BEGIN;
  if (!g) return GB_OK;
  const int r = xs->ndim, axis = y->op == GB_OP_KMIN ? r - 1 : (int)y->attr.i[0];
  const size_t n = xs->dim[axis], wide = gb_node_shape(g)->dim[axis], k = wide < n ? wide : n,
               rows = n ? gb_shape_numel(xs) / n : 0;
  int last[GB_MAXDIM], back[GB_MAXDIM];
  for (int i = 0; i < r; i++) last[i] = i < axis ? i : i < r - 1 ? i + 1 : axis;
  for (int i = 0; i < r; i++) back[last[i]] = i;
  gb_shape moved = *xs;
  for (int i = 0; i < r; i++) moved.dim[i] = xs->dim[last[i]];
  const gb_shape flat = gb_shape_of(1, (size_t[]){rows * k}), grid = gb_shape_of(2, (size_t[]){rows, k});
  const gb_shape whole = gb_shape_of(1, (size_t[]){rows * n});
  gb_node *at = gb_ex_pick(&e, y, 1);
  if (k < wide) at = gb_ex_slice(&e, at, axis, 0, 1, k), g = gb_ex_slice(&e, g, axis, 0, 1, k);
  at = gb_ex_reshape(&e, gb_ex_permute(&e, at, last), &grid);
  at = gb_ex_add(&e, at, gb_ex_unsqueeze(&e, gb_ex_range(&e, 0, (int64_t)n, rows, GB_I64), 1));
  gb_node *values = gb_ex_reshape(&e, gb_ex_permute(&e, g, last), &flat);
  gb_node *in[] = {gb_ex_expand(&e, gb_ex_like(&e, 0, g), &whole), gb_ex_reshape(&e, at, &flat), values};
  gb_node *bar = gb_ex_op(&e, GB_OP_INDEX_ADD, 3, in, NULL, NULL, gb_node_dtype(g));
  return gb_formula_take(&e, gb_ex_permute(&e, gb_ex_reshape(&e, bar, &moved), back), in_bar);
}

RULE(cumsum) {
  BEGIN;
  const gb_attr other_way = {.i = {y->attr.i[0], !y->attr.i[1]}};
  return gb_formula_take(&e, gb_ex_op(&e, GB_OP_CUMSUM, 1, &g, &other_way, NULL, gb_node_dtype(g)), in_bar);
}
