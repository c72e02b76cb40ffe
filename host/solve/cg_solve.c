/* cg_solve.c - columns of any size, solutions as leaves, and the form whose gradient is that of a
** solution. */
#include "solve/cg.h"

#include <math.h>

#include "base/plain.h"

/* Steps whose coefficients are kept: the tridiagonal matrix of the first ones is a Lanczos matrix all the
** same. */
#define TRACED 1000

static size_t traced (const gb_cg_options *o) {
  return (size_t)(o->max_iter < TRACED ? o->max_iter : TRACED);
}

size_t gb_cg_trace_bytes (const gb_cg_options *o, size_t r) {
  return traced(o) * r * 2 * sizeof(double) + r * sizeof(int);
}

gb_cg_trace gb_cg_trace_bind (const gb_cg_options *o, size_t r, void *memory) {
  const size_t steps = traced(o);
  double *d = memory;
  return (gb_cg_trace){(int)steps, (int *)(d + 2 * steps * r), d, d + steps * r};
}

gb_status gb_cg_check (gb_node *a, gb_node *b, const char *what, const gb_cg_options *o, gb_error *err) {
  char left[GB_NODE_TEXT], right[GB_NODE_TEXT];
  const gb_shape *s = gb_node_shape(b);
  if ((s->ndim != 1 && s->ndim != 2) || gb_node_shape(a)->ndim != 2 || s->dim[0] != gb_node_shape(a)->dim[0])
    return gb_fail(err, GB_ESHAPE, "%s does not fit the matrix: %s, %s", what, gb_node_text(a, left),
                   gb_node_text(b, right));
  if (gb_node_dtype(a) != gb_node_dtype(b))
    return gb_fail(err, GB_EDTYPE, "dtypes differ: %s and %s", gb_dtype_name(gb_node_dtype(a)),
                   gb_dtype_name(gb_node_dtype(b)));
  if (!(o->tol > 0 && o->tol < 1) || !(o->rest >= 0 && o->rest < 1))
    return gb_fail(err, GB_EOPTION,
                   "tol: expected a number between 0 and 1, got %g: x = 0 has a residual of 1",
                   gb_plain(o->tol > 0 && o->tol < 1 ? o->rest : o->tol));
  if (o->max_iter < 0) return gb_fail(err, GB_EOPTION, "max_iter: expected at least 0, got %d", o->max_iter);
  if (o->x0 != NULL && !gb_shape_equal(gb_node_shape(o->x0), s))
    return gb_fail(err, GB_ESHAPE, "x0: expected the shape of the right-hand side");
  return GB_OK;
}

/* -- columns of any size */

gb_status gb_cg_scaled (gb_cg_matrix *m, const gb_cg_options *o, gb_panel b, bool guess, gb_panel x,
                        gb_panel residual, gb_cg_trace *trace, double *scratch, gb_cg_info *info,
                        gb_error *err) {
  const size_t r = m->a.r;
  const gb_cg_goal *goal = &o->goal;
  int *exponent = (int *)(void *)(scratch + r);
  gb_cg_options own = *o;
  gb_panel_exponents(b, exponent);
  gb_panel_shift(b, exponent, -1);
  if (guess) gb_panel_shift(x, exponent, -1);
  if (goal->prior != NULL) {
    own.goal.prior = scratch;
    for (size_t c = 0; c < r; c++) scratch[c] = ldexp(goal->prior[c], -2 * exponent[c]);
  }
  GB_TRY(gb_cg_columns(m, &own, b, guess, x, residual, trace, info, err));
  size_t column = 0;
  const double lost = gb_panel_lost(x, exponent, !o->mixed && m->a.dtype == GB_F32, &column);
  if (info->converged && lost > (column > 0 && o->rest > 0 ? o->rest : o->tol)) {
    info->converged = false;
    info->reason = GB_CG_UNDERFLOW;
    info->column = column;
  }
  if (lost > info->residual) info->residual = lost;
  const gb_panel columns[] = {b, x, residual};
  for (int k = 0; k < 3; k++) gb_panel_shift(columns[k], exponent, 1);
  for (size_t c = 0; goal->prior != NULL && c < r; c++) {
    goal->form[c] = ldexp(goal->form[c], 2 * exponent[c]);
    goal->missing[c] = ldexp(goal->missing[c], 2 * exponent[c]);
  }
  return GB_OK;
}

/* -- solutions as leaves */

/* Entries of b, x and residual; numbers of scratch and the trace. */
static gb_status solve_in (gb_cg_matrix *m, gb_node *b, const gb_cg_options *o, gb_room work, gb_node **x,
                           gb_cg_info *info, gb_error *err) {
  const size_t n = m->a.n, r = m->a.r;
  double *scratch = work.numbers;
  gb_panel panel[3];
  for (size_t i = 0; i < 3; i++)
    panel[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * n * r), n, r);
  gb_cg_trace trace = gb_cg_trace_bind(o, r, scratch + gb_cg_scratch(r));
  GB_TRY(gb_node_entries(b, panel[0].at, err));
  if (o->x0 != NULL) GB_TRY(gb_node_entries(o->x0, panel[1].at, err));
  GB_TRY(gb_cg_scaled(m, o, panel[0], o->x0 != NULL, panel[1], panel[2], &trace, scratch, info, err));
  const gb_dtype dtype = o->mixed ? GB_F64 : gb_node_dtype(b);
  if (info->converged && !gb_panel_finite(panel[1], dtype == GB_F32, &info->column)) {
    info->converged = false;
    info->reason = GB_CG_OVERFLOW;
  }
  return gb_leaf_entries(b->graph, gb_node_shape(b), dtype, panel[1].at, "", x, err);
}

gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_cg_options *o, gb_node **x, gb_cg_info *info,
                       gb_error *err) {
  GB_TRY(gb_cg_check(a, b, "right-hand side", o, err));
  const gb_shape *s = gb_node_shape(b);
  const size_t r = s->ndim == 1 ? 1 : s->dim[1];
  if (s->dim[0] == 0 || r == 0) {
    *info = (gb_cg_info){.converged = true};
    return gb_leaf_doubles(b->graph, s, gb_node_dtype(b), NULL, "", x, err);
  }
  gb_cg_matrix m;
  gb_work work;
  GB_TRY(gb_cg_matrix_init(&m, a, r, o, err));
  const size_t entries = 3 * m.a.n * r * sizeof(double),
               numbers = gb_cg_scratch(r) * sizeof(double) + gb_cg_trace_bytes(o, r);
  gb_status st = gb_work_new(b->graph->device, entries, numbers, "conjugate gradients", &work, err);
  if (st == GB_OK) st = solve_in(&m, b, o, work.at, x, info, err);
  info->bytes += entries + numbers;
  gb_work_free(&work);
  gb_cg_matrix_clear(&m);
  return st;
}

/* Columns as a matrix, borrowed or made. */
static gb_status as_matrix (gb_node *v, gb_node **out, gb_error *err) {
  if (gb_node_shape(v)->ndim == 1) return gb_unsqueeze(v, 1, out, err);
  *out = gb_node_ref(v);
  return GB_OK;
}

gb_status gb_residual_form (gb_node *a, gb_node *b, gb_node *x, gb_node *u, gb_node **out, gb_error *err) {
  gb_node *xm = NULL, *bm = NULL, *um = NULL, *ax = NULL, *r = NULL, *ur = NULL;
  gb_status st = as_matrix(x, &xm, err);
  if (st == GB_OK) st = as_matrix(b, &bm, err);
  if (st == GB_OK) st = as_matrix(u, &um, err);
  if (st == GB_OK) st = gb_matmul(a, xm, &ax, err);
  if (st == GB_OK) st = gb_map2(GB_OP_SUB, bm, ax, &r, err);
  if (st == GB_OK) st = gb_map2(GB_OP_MUL, um, r, &ur, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_SUM, ur, 0, false, out, err);
  gb_node *const made[] = {xm, bm, um, ax, r, ur};
  for (int i = 0; i < 6; i++) gb_node_unref(made[i]);
  return st;
}
