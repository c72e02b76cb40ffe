/* grad.c - gradients of solves, never unrolled: in b by another solve, in A by a contraction over its
** elements. */
#include <stdlib.h>
#include <string.h>

#include "graph/formula.h"
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

/* -- formulas */

/* What a call gave, held by the formula; NULL after a failure. */
static gb_node *held (gb_formula *f, gb_status st, gb_node *n) {
  if (st == GB_OK) return gb_formula_hold(f, n);
  f->status = st;
  return NULL;
}

static gb_node *placeholder (gb_formula *f, const gb_node *like, const char *name) {
  gb_node *p = NULL;
  if (f->status != GB_OK) return NULL;
  const gb_status st = gb_node_placeholder(f->g, gb_node_shape(like), gb_node_dtype(like), name, &p, f->err);
  return held(f, st, p);
}

static gb_node *number (gb_formula *f, gb_node *v, size_t at) { /* entry 'at' of a vector, 0-d */
  return gb_ex_squeeze(f, gb_ex_slice(f, v, 0, at, 1, 1), 0);
}

/* Entries 'from' .. of the vector 'all', as a tensor of a shape and type. */
static gb_node *part (gb_formula *f, gb_node *all, size_t from, gb_shape s, gb_dtype t) {
  return gb_ex_cast(f, gb_ex_reshape(f, gb_ex_slice(f, all, 0, from, 1, gb_shape_numel(&s)), &s), t);
}

/* -- the matrix */

/* d sum(c * (A d)) by each input of the boundary that needs it, lazy. It is taken over the op's placeholders
** and only then put over the inputs: an input that is a function of another must not pass its part on. */
static void contract (gb_formula *f, const gb_solver_op *op, const gb_node *y, gb_node *c, gb_node *d,
                      const bool *need, gb_node **in_bar) {
  const size_t n = op->planned.hole.n;
  if (f->status != GB_OK) return;
  gb_node **from = calloc(4 * n + 4, sizeof *from), **to = from + n + 2, **xs = to + n + 2, **slope = xs + n;
  if (from == NULL) {
    f->status = gb_fail(f->err, GB_ENOMEM, "no memory for a gradient");
    return;
  }
  gb_node *left = placeholder(f, c, "cotangent"), *right = placeholder(f, d, "solution"),
          *form = gb_ex_reduce(f, GB_OP_SUM, gb_ex_mul(f, left, gb_ex_matmul(f, gb_solver_matrix(op), right)),
                               3, false);
  size_t wanted = 0;
  for (size_t i = 0; i < n; i++) {
    from[i] = op->planned.hole.in[i], to[i] = y->in[i];
    if (need[i] && gb_dtype_is_float(gb_node_dtype(y->in[i]))) xs[wanted++] = from[i];
  }
  from[n] = left, from[n + 1] = right, to[n] = c, to[n + 1] = d;
  if (f->status == GB_OK && wanted > 0) f->status = gb_grad(form, NULL, wanted, xs, true, slope, f->err);
  for (size_t i = 0, k = 0; f->status == GB_OK && k < wanted; i++) {
    if (from[i] != xs[k]) continue;
    gb_node *bar = NULL;
    f->status = gb_substitute(slope[k++], n + 2, from, to, &bar, f->err);
    if (f->status == GB_OK) in_bar[i] = bar;
  }
  for (size_t k = 0; k < wanted; k++) gb_node_unref(slope[k]);
  free(from);
}

static gb_node *as_columns (gb_formula *f, gb_node *x) { /* (n) or (n, r) as (n, r) */
  return x != NULL && gb_node_shape(x)->ndim == 1 ? gb_ex_unsqueeze(f, x, 1) : x;
}

static gb_status end (gb_formula *f) {
  const gb_status st = f->status;
  gb_formula_clear(f);
  return st;
}

/* u = A^-1 x_bar; where x_bar is b, or b with columns weighted, that is x, or x weighted. */
static gb_node *solve_for (gb_formula *f, const gb_solver_op *op, gb_node *const *matrix, gb_node *noise,
                           gb_node *g, gb_node *rhs, gb_node *x) {
  if (f->status != GB_OK) return NULL;
  gb_node *weight = gb_column_weight(g, rhs), *u = NULL;
  if (weight != NULL) return gb_ex_mul(f, x, weight);
  if (g == rhs) return x;
  const gb_status st = gb_solver_solve(matrix[0], g, NULL, matrix[1], noise, &op->o, &u, f->err);
  return gb_ex_cast(f, held(f, st, u), gb_node_dtype(gb_solver_matrix(op)));
}

static gb_status grad_solve (const gb_solver_op *op, gb_node *y, gb_node *x_bar, const bool *need,
                             gb_node **in_bar, gb_error *err) {
  gb_formula f;
  const gb_planned_op *p = &op->planned;
  gb_node *matrix[GB_PLANNED_ROOTS] = {NULL};
  bool leaves = false;
  GB_TRY(gb_boundary_rebuild(&p->hole, y->in, gb_node_dtype(p->root[0]), p->nroots, p->root, matrix, err));
  gb_formula_init(&f, p->graph, err);
  for (size_t i = 0; i < p->nroots; i++) gb_formula_hold(&f, matrix[i]);
  const gb_dtype t = gb_node_dtype(gb_solver_matrix(op));
  const size_t at = gb_solver_input_b(op);
  gb_node *noise = op->has_noise ? y->in[p->hole.n] : NULL, *x = gb_ex_cast(&f, y, t),
          *u = solve_for(&f, op, matrix, noise, gb_ex_cast(&f, x_bar, t), y->in[at], x);
  for (size_t i = 0; i < p->hole.n; i++) leaves |= need[i];
  if (leaves) {
    gb_node *c = as_columns(&f, gb_ex_neg(&f, u)), *d = as_columns(&f, x);
    contract(&f, op, y, c, d, need, in_bar);
  }
  if (f.status == GB_OK && need[at]) in_bar[at] = gb_node_ref(u);
  return end(&f);
}

/* Columns of C and D belong to inv_quad where e is 1, and to log det where it is 0: each is weighted by the
** cotangent of its own. */
static gb_status grad_head (const gb_solver_op *op, gb_node *y, gb_node *head_bar, const bool *need,
                            gb_node **in_bar, gb_error *err) {
  gb_formula f;
  gb_formula_init(&f, op->planned.graph, err);
  gb_node *all = y->in[y->nin - 1];
  const gb_dtype t = gb_node_dtype(gb_solver_matrix(op));
  const size_t n = gb_node_shape(gb_solver_matrix(op))->dim[0], r = op->r, at = gb_solver_input_b(op);
  const gb_shape row = gb_shape_of(1, &r), column = gb_shape_of(1, &n),
                 block = gb_shape_of(2, (size_t[]){n, r});
  gb_node *quad = number(&f, head_bar, GB_MARGINAL_INV_QUAD), *log = number(&f, head_bar, GB_MARGINAL_LOGDET),
          *e = part(&f, all, gb_marginal_e(), row, GB_F64),
          *weight = gb_ex_cast(&f, gb_ex_add(&f, gb_ex_mul(&f, e, gb_ex_sub(&f, quad, log)), log), t),
          *c = part(&f, all, gb_marginal_c(n, r), block, t),
          *d = part(&f, all, gb_marginal_d(n, r), block, t);
  contract(&f, op, y, gb_ex_mul(&f, c, weight), d, need, in_bar);
  if (f.status == GB_OK && need[at]) {
    gb_node *alpha = part(&f, all, gb_marginal_alpha(r), column, t),
            *bar = gb_ex_mul(&f, alpha, gb_ex_cast(&f, gb_ex_scale(&f, quad, 2), t));
    if (f.status == GB_OK) in_bar[at] = gb_node_ref(bar);
  }
  return end(&f);
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
