/* marginal.c - one joint solve of b and the probes.
**
** d(b' A^-1 b) = 2 alpha' db - alpha' dA alpha and d(log det A) = tr(A^-1 dA) = E u' dA w for u = A^-1 z,
** w = P^-1 z and probes z of covariance P. So the gradient is that of 2 sum(alpha * b) + sum(C * (A D))
** with D = [alpha, w_1, ...] and C = [-alpha, u_1 / probes, ...]. */
#include "solve/logdet/marginal.h"

#include <math.h>

#include "base/interrupt.h"
#include "iterate/work.h"

size_t gb_marginal_columns (const gb_logdet_options *o, size_t n) { return 1 + (o->exact ? n : o->probes); }

static size_t entries (size_t n, size_t r) { return (2 * n * r + gb_panel_sums(n, r)) * sizeof(double); }
static bool in_block (const gb_logdet_options *o, size_t n, size_t r) {
  return !o->exact && gb_block_cg_pays(n, r);
}

/* Of one trace: a block that fails is followed by its columns one by one. */
static size_t numbers (const gb_logdet_options *o, size_t n, size_t r) {
  const size_t columns = gb_trace_bytes(o->solve.max_iter, r),
               block = in_block(o, n, r) ? gb_block_trace_bytes(o->solve.max_iter, r) : 0;
  return r * sizeof(double) + (columns > block ? columns : block);
}

gb_work_bytes gb_marginal_bytes (const gb_logdet_options *o, size_t n) {
  const size_t r = gb_marginal_columns(o, n);
  gb_work_bytes w = gb_cg_panels_bytes(n, r);
  if (in_block(o, n, r)) {
    const gb_work_bytes block = gb_block_cg_bytes(n, r);
    if (block.entries > w.entries) w.entries = block.entries;
    if (block.numbers > w.numbers) w.numbers = block.numbers;
  }
  return (gb_work_bytes){entries(n, r) + w.entries, numbers(o, n, r) + w.numbers};
}

/* Panels (n, r), where 'all' is the result; column 0 belongs to b, the others to probes. */
typedef struct marginal {
  size_t n, r;
  gb_panel rhs, residual; /* residual: b - A x */
  gb_panel x, w;          /* A^-1 [b, z] in C's place; P^-1 [., z] in D's */
  void *sums, *all;
  double *norm; /* (r) */
} marginal;

static gb_panel part_of (const marginal *q, size_t at, size_t n, size_t r) {
  return gb_panel_of(q->x.device, gb_panel_address(q->all, at), n, r);
}

/* Scales the probes, columns 1 .., to z' P^-1 z = n: their directions keep their law and the spread of
** lengths does not add to the variance. w = P^-1 of all columns. */
static void normalise (const gb_precond *p, const marginal *q) {
  double *norm = q->norm;
  gb_precond_apply(p, q->rhs, q->w);
  gb_panel_dot(q->rhs, q->w, q->sums, norm);
  for (size_t c = 0; c < q->r; c++) norm[c] = c == 0 ? 1 : sqrt((double)q->n / norm[c]);
  gb_panel_scale(norm, q->rhs);
  gb_panel_scale(norm, q->w);
}

static void take_probes (const gb_logdet_options *o, gb_panel rhs) {
  if (!o->exact) {
    gb_precond_sample(o->solve.precond, o->seed, 1, rhs);
    return;
  }
  gb_panel unit = rhs; /* of all columns but the first */
  unit.at = gb_panel_address(rhs.at, 1);
  gb_panel_fill(rhs, 0);
  gb_panel_fill(gb_panel_diagonal(unit, rhs.n), 1);
}

/* Writes alpha, C, D and e of the result, in place of x and w. */
static void constants (const marginal *q) {
  const double minus = -1;
  double *probes = q->norm;
  const gb_panel first = gb_panel_column(q->x, 0);
  gb_panel_copy(first, part_of(q, gb_marginal_alpha(q->r), q->n, 1));
  gb_panel_copy(first, gb_panel_column(q->w, 0));
  gb_panel_scale(&minus, first);
  gb_panel others = q->x;
  others.at = gb_panel_address(others.at, 1);
  others.r = q->r - 1;
  for (size_t k = 0; k < others.r; k++) probes[k] = (double)others.r;
  gb_panel_divide(probes, others, others);
  gb_panel_fill(part_of(q, gb_marginal_e(), 1, q->r), 0);
  gb_panel_fill(part_of(q, gb_marginal_e(), 1, 1), 1);
}

/* The solutions and log det A. What a block cannot solve is left to conjugate gradients of each column, which also say why. */
static gb_status solve (gb_solve_matrix *m, const gb_logdet_options *o, const marginal *q, void *memory,
                        gb_logdet_info *info, gb_error *err) {
  const size_t n = q->n, r = q->r;
  if (in_block(o, n, r)) {
    gb_block_trace trace = gb_block_trace_bind(o->solve.max_iter, r, memory);
    GB_TRY(gb_block_cg_panels(m, &o->solve, q->rhs, q->x, q->residual, &trace, &info->solve, err));
    if (!gb_block_cg_failed(&info->solve))
      return gb_block_logdet(o->solve.precond, &trace, n, 1, r - 1, q->norm, info, err);
  }
  gb_trace trace = gb_trace_bind(o->solve.max_iter, r, memory);
  GB_TRY(gb_cg_panels(m, &o->solve, q->rhs, q->x, q->residual, &trace, &info->solve, err));
  return gb_probes_logdet(o->solve.precond, &trace, n, 1, r - 1, info, err);
}

static gb_status run_in (gb_solve_matrix *m, gb_panel b, const gb_logdet_options *o, gb_room work, void *out,
                         gb_logdet_info *info, gb_error *err) {
  const size_t n = m->a.n, r = m->a.r, nr = n * r;
  marginal q = {.n = n, .r = r, .all = out, .norm = work.numbers};
  q.rhs = gb_panel_of(work.device, work.entries, n, r);
  q.residual = gb_panel_of(work.device, gb_panel_address(work.entries, nr), n, r);
  q.sums = gb_panel_address(work.entries, 2 * nr);
  q.x = gb_panel_of(work.device, gb_panel_address(out, gb_marginal_c(n, r)), n, r);
  q.w = gb_panel_of(work.device, gb_panel_address(out, gb_marginal_d(n, r)), n, r);
  take_probes(o, q.rhs);
  gb_panel_copy(b, gb_panel_column(q.rhs, 0));
  normalise(o->solve.precond, &q);
  GB_TRY(solve(m, o, &q, q.norm + r, info, err));
  if (o->exact) info->standard_error = 0;
  const gb_panel left = gb_panel_column(q.residual, 0);
  double head[GB_MARGINAL_HEAD] = {
      [GB_MARGINAL_LOGDET] = info->value, [GB_MARGINAL_ERROR] = info->standard_error};
  /* x' b + x' (b - A x): the error is quadratic in the residual */
  gb_panel_axpy(NULL, gb_panel_column(q.rhs, 0), left);
  gb_panel_dot(gb_panel_column(q.x, 0), left, q.sums, &head[GB_MARGINAL_INV_QUAD]);
  gb_panel_write(part_of(&q, 0, GB_MARGINAL_HEAD, 1), head);
  constants(&q);
  return gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK; /* work may have been cut short */
}

gb_status gb_marginal_run (gb_solve_matrix *m, gb_panel b, const gb_logdet_options *o, void *out,
                           gb_logdet_info *info, gb_error *err) {
  gb_logdet_options own = *o;
  if (o->exact) own.solve.precond = NULL; /* unit vectors in the metric of I */
  *info = (gb_logdet_info){0};
  const size_t n = m->a.n, r = gb_marginal_columns(&own, n);
  gb_work work;
  GB_TRY(gb_work_new(b.device, entries(n, r), numbers(&own, n, r), "marginal likelihood", &work, err));
  const gb_status st = run_in(m, b, &own, work.at, out, info, err);
  info->solve.bytes += entries(n, r) + numbers(&own, n, r);
  gb_work_free(&work);
  return st;
}
