/* grad.c - gradients of solves, never unrolled: in b by another solve, in A by a contraction over its
** elements. */
#include <stdlib.h>
#include <string.h>

#include "graph/grad/grad.h"
#include "iterate/boundary.h"
#include "solve/op/op.h"
#include "tensor/host.h"

/* The first numbers as a separate node: a gradient of them never asks for one of the constants behind them. */
gb_status gb_solver_run_head (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                              void *scratch, gb_error *err) {
  (void)ud, (void)g, (void)scratch;
  gb_tensor head = in[o->nin - 1];
  head.shape.dim[0] = GB_MARGINAL_HEAD;
  return gb_tensor_copy(out, &head, err);
}

/* -- writing formulas */

/* A list that owns what is made on the way; one sticky status. */
typedef struct formula {
  gb_status st;
  gb_error *err;
  gb_node *held[32];
  int n;
} formula;

static gb_node *keep (formula *f, gb_status st, gb_node *n) {
  if (st != GB_OK) {
    f->st = st;
    return NULL;
  }
  return f->held[f->n++] = n;
}

/* MADE(f, gb_map2, GB_OP_MUL, a, b): the node, held; NULL after a failure */
#define MADE(f, call, ...)                                                                                   \
  ({                                                                                                         \
    gb_node *made_ = NULL;                                                                                   \
    gb_status st_ = (f)->st == GB_OK ? call(__VA_ARGS__, &made_, (f)->err) : (f)->st;                        \
    keep(f, st_, made_);                                                                                     \
  })

static gb_status finish (formula *f) {
  while (f->n > 0) gb_node_unref(f->held[--f->n]);
  return f->st;
}

static gb_status cast (gb_node *a, gb_dtype t, gb_node **out, gb_error *err) {
  if (gb_node_dtype(a) == t) {
    *out = gb_node_ref(a);
    return GB_OK;
  }
  return gb_node_build(a->graph, GB_OP_CAST, 1, &a, NULL, NULL, t, out, err);
}

/* Entries 'from' .. of the vector 'all', as a tensor of a shape and type. */
static gb_node *part (formula *f, gb_node *all, size_t from, gb_shape s, gb_dtype t) {
  gb_node *slice = MADE(f, gb_slice, all, 0, from, 1, gb_shape_numel(&s));
  gb_node *shaped = MADE(f, gb_reshape, slice, &s);
  return MADE(f, cast, shaped, t);
}

/* -- the matrix */

/* d sum(c * (A d)) by each input of the boundary that needs it, lazy: taken over the op's placeholders, so
** that an input that is made of another does not pass it on, and then put over what they stand for. */
static gb_status contract (const gb_solver_op *op, const gb_node *y, gb_node *c, gb_node *d, const bool *need,
                           gb_node **in_bar, gb_error *err) {
  formula f = {.err = err};
  const size_t n = op->planned.hole.n;
  gb_node **from = calloc(3 * n + 6, sizeof *from), **to = from + n + 2, **xs = to + n + 2, *bar = NULL;
  if (from == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a gradient");
  gb_node *left = MADE(&f, gb_node_placeholder, op->planned.graph, gb_node_shape(c), gb_node_dtype(c),
                       "cotangent"),
          *right = MADE(&f, gb_node_placeholder, op->planned.graph, gb_node_shape(d), gb_node_dtype(d),
                        "solution"),
          *ad = MADE(&f, gb_matmul, gb_solver_matrix(op), right),
          *cad = MADE(&f, gb_map2, GB_OP_MUL, left, ad),
          *form = MADE(&f, gb_reduce, GB_OP_SUM, cad, 0, false);
  for (size_t i = 0; i < n; i++) from[i] = op->planned.hole.in[i], to[i] = y->in[i];
  from[n] = left, from[n + 1] = right, to[n] = c, to[n + 1] = d;
  size_t wanted = 0;
  for (size_t i = 0; i < n; i++)
    if (need[i] && gb_dtype_is_float(gb_node_dtype(y->in[i]))) xs[wanted++] = op->planned.hole.in[i];
  gb_node **slope = calloc(wanted + 1, sizeof *slope);
  if (slope == NULL) f.st = gb_fail(err, GB_ENOMEM, "no memory for a gradient");
  if (f.st == GB_OK && wanted > 0) f.st = gb_grad(form, NULL, wanted, xs, true, slope, err);
  for (size_t i = 0, k = 0; f.st == GB_OK && i < n; i++) {
    if (!need[i] || !gb_dtype_is_float(gb_node_dtype(y->in[i]))) continue;
    f.st = gb_substitute(slope[k++], n + 2, from, to, &bar, err);
    if (f.st == GB_OK) in_bar[i] = bar;
  }
  for (size_t k = 0; slope != NULL && k < wanted; k++) gb_node_unref(slope[k]);
  free(slope);
  free(from);
  return finish(&f);
}

/* (n) or (n, r) as (n, r). */
static gb_status as_columns (gb_node *x, gb_node **out, gb_error *err) {
  if (gb_node_shape(x)->ndim == 1) return gb_unsqueeze(x, 1, out, err);
  *out = gb_node_ref(x);
  return GB_OK;
}

static gb_status grad_solve (const gb_solver_op *op, gb_node *y, gb_node *x_bar, const bool *need,
                             gb_node **in_bar, gb_error *err) {
  formula f = {.err = err};
  const gb_planned_op *p = &op->planned;
  gb_node *matrix[GB_PLANNED_ROOTS] = {NULL};
  bool leaves = false;
  GB_TRY(gb_boundary_rebuild(&p->hole, y->in, gb_node_dtype(p->root[0]), p->nroots, p->root, matrix, err));
  keep(&f, GB_OK, matrix[0]);
  if (matrix[1] != NULL) keep(&f, GB_OK, matrix[1]);
  const gb_dtype t = gb_node_dtype(gb_solver_matrix(op));
  const size_t at = gb_solver_input_b(op);
  gb_node *noise = op->has_noise ? y->in[op->planned.hole.n] : NULL, *rhs = y->in[at],
          *x = MADE(&f, cast, y, t), *g = MADE(&f, cast, x_bar, t),
          *weight = f.st == GB_OK ? gb_column_weight(g, rhs) : NULL, *u;
  if (weight != NULL) u = MADE(&f, gb_map2, GB_OP_MUL, x, weight);
  else if (g == rhs) u = x;
  else {
    gb_node *solved = MADE(&f, gb_solver_solve, matrix[0], g, NULL, matrix[1], noise, &op->o);
    u = MADE(&f, cast, solved, t);
  }
  for (size_t i = 0; i < op->planned.hole.n; i++) leaves |= need[i];
  if (f.st == GB_OK && leaves) {
    gb_node *minus = MADE(&f, gb_map1, GB_OP_NEG, u), *c = MADE(&f, as_columns, minus),
            *d = MADE(&f, as_columns, x);
    if (f.st == GB_OK) f.st = contract(op, y, c, d, need, in_bar, err);
  }
  if (f.st == GB_OK && need[at]) in_bar[at] = gb_node_ref(u);
  return finish(&f);
}

/* Column c of C and D counts with the cotangent of inv_quad where e is 1, with that of log det where it is
** 0. */
static gb_status grad_head (const gb_solver_op *op, gb_node *y, gb_node *head_bar, const bool *need,
                            gb_node **in_bar, gb_error *err) {
  formula f = {.err = err};
  gb_node *all = y->in[y->nin - 1];
  const gb_dtype t = gb_node_dtype(gb_solver_matrix(op));
  const size_t n = gb_node_shape(gb_solver_matrix(op))->dim[0], r = op->r;
  const gb_shape row = gb_shape_of(1, &r), column = gb_shape_of(1, &n),
                 block = gb_shape_of(2, (size_t[]){n, r});
  gb_node *quad = MADE(&f, gb_select, head_bar, 0, GB_MARGINAL_INV_QUAD),
          *log = MADE(&f, gb_select, head_bar, 0, GB_MARGINAL_LOGDET),
          *e = part(&f, all, gb_marginal_e(), row, GB_F64), *apart = MADE(&f, gb_map2, GB_OP_SUB, quad, log),
          *picked = MADE(&f, gb_map2, GB_OP_MUL, e, apart), *wide = MADE(&f, gb_map2, GB_OP_ADD, picked, log),
          *weight = MADE(&f, cast, wide, t), *c = part(&f, all, gb_marginal_c(n, r), block, t),
          *d = part(&f, all, gb_marginal_d(n, r), block, t),
          *weighted = MADE(&f, gb_map2, GB_OP_MUL, c, weight);
  if (f.st == GB_OK) f.st = contract(op, y, weighted, d, need, in_bar, err);
  const size_t at = gb_solver_input_b(op);
  if (f.st == GB_OK && need[at]) {
    gb_node *alpha = part(&f, all, gb_marginal_alpha(r), column, t), *factor = MADE(&f, gb_scale, quad, 2),
            *cast_factor = MADE(&f, cast, factor, t), *bar = MADE(&f, gb_map2, GB_OP_MUL, alpha, cast_factor);
    if (f.st == GB_OK) in_bar[at] = gb_node_ref(bar);
  }
  return finish(&f);
}

gb_status gb_solver_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                          gb_error *err) {
  const gb_solver_op *op = ud;
  switch (op->kind) {
    case GB_SOLVER_SOLVE: return grad_solve(op, y, out_bar[0], need, in_bar, err);
    case GB_SOLVER_HEAD: return grad_head(op, y, out_bar[0], need, in_bar, err);
    case GB_SOLVER_MARGINAL: break;
  }
  return gb_fail(err, GB_EOPTION,
                 "grad: a marginal likelihood by conjugate gradients has no second derivatives");
}
