/* precond.c - low-rank factors (partial.c) with Woodbury's formula, noises of the points by scaling, and the
** diagonal. After an interrupt the result is invalid: callers poll for it. */
#include "solve/precond/precond.h"

#include <float.h>
#include <math.h>

#include "base/plain.h"
#include "iterate/values.h"
#include "iterate/work.h"
#include "plan/plan.h"
#include "solve/precond/partial.h"

#define LEAST 1e-12 /* of the mean of the diagonal: the noise of a point without one */
/* Of the mean of what a factor leaves of the diagonal: noise far below it must not count by itself. */
#define MEASURE 0.03

static gb_status take (gb_precond *p, size_t count, void **out, gb_error *err) {
  gb_block *b = &p->block[p->nblocks++];
  GB_TRY(gb_ledger_alloc(&p->device->ledger, GB_MEM_WORKSPACE, count * sizeof(double), "", "preconditioner",
                         b, err));
  *out = b->data;
  return GB_OK;
}

void gb_precond_clear (gb_precond *p) {
  for (int i = 0; i < p->nblocks; i++) gb_ledger_free(&p->device->ledger, &p->block[i]);
  *p = (gb_precond){0};
}

static gb_status start (gb_precond *p, gb_node *a, gb_error *err) {
  const gb_shape *s = gb_node_shape(a);
  char text[GB_NODE_TEXT];
  *p = (gb_precond){.device = a->graph->device, .form.n = s->dim[0]};
  if (s->ndim == 2 && s->dim[0] == s->dim[1]) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "expected a square matrix, got %s", gb_node_text(a, text));
}

/* n entries of the preconditioner as a column, and L' as a panel. */
static gb_panel column_of (const gb_precond *p, void *at) { return gb_panel_of(p->device, at, p->form.n, 1); }
static gb_panel factor_of (const gb_precond *p) {
  return gb_panel_of(p->device, p->form.lt, p->form.rank, p->form.n);
}

/* -- low rank */

/* C = noise I + L' L, then its factor; log det P = (n - rank) log noise + log det C - log det S^2. */
static gb_status low_rank_end (gb_precond *p, gb_error *err) {
  const size_t n = p->form.n, k = p->form.rank;
  const gb_panel c = gb_panel_of(p->device, p->form.c, k, k);
  size_t minor;
  bool finite;
  GB_TRY(gb_panel_gram(factor_of(p), p->form.noise, c, err));
  GB_TRY(gb_panel_potrf(c, &minor, &finite, err));
  if (minor != 0)
    return gb_fail(err, GB_ENOTPD, "preconditioner: noise %g is too small for rank %zu", gb_plain(p->least),
                   k);
  p->logdet = gb_panel_sum_logs(gb_panel_diagonal(c, k), 2, (double)(n - k) * log(p->form.noise));
  if (p->form.scale != NULL) p->logdet = gb_panel_sum_logs(column_of(p, p->form.scale), -2, p->logdet);
  return GB_OK;
}

static gb_status check_noise (double v, gb_error *err) {
  if (!isfinite(v)) return gb_fail(err, GB_ENAN, "noise: expected finite variances, got %g", gb_plain(v));
  return v >= 0 ? GB_OK
                : gb_fail(err, GB_EOPTION, "noise: expected variances of 0 or more, got %g", gb_plain(v));
}

static gb_status check_noises (const gb_precond *p, gb_noise noise, gb_error *err) {
  for (size_t i = 0; noise.each != NULL && i < p->form.n; i++) GB_TRY(check_noise(noise.each[i], err));
  if (noise.each != NULL) return GB_OK;
  GB_TRY(check_noise(noise.level, err));
  if (noise.level > 0) return GB_OK;
  return gb_fail(
      err, GB_EOPTION,
      "noise: a low-rank preconditioner needs a noise above 0; without noise use gb.precond.jacobi{}");
}

static gb_status low_rank_begin (gb_precond *p, gb_node *k, gb_noise noise, size_t *rank, gb_error *err) {
  GB_TRY(start(p, k, err));
  GB_TRY(check_noises(p, noise, err));
  p->form.noise = p->least = noise.each == NULL ? noise.level : 1;
  if (*rank > p->form.n) *rank = p->form.n;
  if (noise.each != NULL) GB_TRY(take(p, p->form.n, &p->form.scale, err));
  GB_TRY(take(p, *rank * p->form.n, &p->form.lt, err));
  GB_TRY(take(p, *rank * *rank, &p->form.c, err));
  return take(p, *rank * GB_PANEL_WIDTH, &p->form.work, err);
}

/* Rows of L' of a factor of K become those of S K S, S = diag(noise + left)^-1/2, where 'left' is a share, by
** MEASURE, of what L leaves of K, and positive. */
static gb_status scale_rows (gb_precond *p, gb_node *k, const double *noise, gb_error *err) {
  const gb_panel scale = column_of(p, p->form.scale);
  GB_TRY(gb_partial_diagonal(k, p->form.scale, err));
  const double sum = gb_panel_sum(scale), share = fmax(MEASURE * p->trace_left, LEAST),
               left = fmax(share * sum / (double)p->form.n, DBL_MIN);
  p->least = INFINITY;
  for (size_t i = 0; i < p->form.n; i++) p->least = fmin(p->least, noise[i] + left);
  gb_panel_write(scale, noise);
  gb_panel_inverse_root(scale, left);
  gb_panel_multiply(scale, factor_of(p));
  return GB_OK;
}

static gb_status low_rank (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                           gb_pivoting how, gb_error *err) {
  gb_status st = low_rank_begin(p, k, noise, &rank, err);
  if (st == GB_OK)
    st = gb_partial_cholesky(k, how, rank, tol, p->form.lt, NULL, &p->form.rank, &p->trace_left, err);
  if (st == GB_OK && p->form.scale != NULL) st = scale_rows(p, k, noise.each, err);
  if (st == GB_OK) st = low_rank_end(p, err);
  if (st != GB_OK) gb_precond_clear(p);
  return st;
}

gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                                       gb_error *err) {
  return low_rank(p, k, noise, rank, tol, (gb_pivoting){0}, err);
}

gb_status gb_precond_nystrom (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                              uint64_t seed, gb_error *err) {
  return low_rank(p, k, noise, rank, tol, (gb_pivoting){.drawn = true, .seed = seed}, err);
}

gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err) {
  GB_TRY(start(p, a, err));
  gb_status st = take(p, p->form.n, &p->form.d, err);
  if (st == GB_OK) st = gb_partial_diagonal(a, p->form.d, err);
  if (st == GB_OK) {
    gb_panel_moduli(column_of(p, p->form.d));
    p->logdet = gb_panel_sum_logs(column_of(p, p->form.d), 1, 0);
  } else gb_precond_clear(p);
  return st;
}

/* -- by description */

gb_status gb_precond_make (gb_precond *p, const gb_precond_spec *spec, gb_node *a, gb_node *k, gb_noise noise,
                           gb_error *err) {
  *p = (gb_precond){0};
  switch (spec->kind) {
    case GB_PRECOND_NONE: return GB_OK;
    case GB_PRECOND_JACOBI: return gb_precond_jacobi(p, a, err);
    case GB_PRECOND_PIVOTED_CHOLESKY:
      return gb_precond_pivoted_cholesky(p, k, noise, spec->rank, spec->tol, err);
    case GB_PRECOND_NYSTROM: return gb_precond_nystrom(p, k, noise, spec->rank, spec->tol, spec->seed, err);
  }
  return gb_fail(err, GB_EINTERNAL, "unknown preconditioner %d", (int)spec->kind);
}

/* Peak bytes of evaluating a node, its value as doubles included. Takes over its count. */
static gb_status peak_of (gb_node *n, size_t *most, gb_error *err) {
  gb_plan *plan;
  gb_plan_report r;
  const gb_status st = gb_plan_new(n->graph, 1, &n, &(gb_plan_options){.at_home = true}, &plan, err);
  if (st == GB_OK) {
    gb_plan_report_get(plan, &r);
    gb_plan_free(plan);
    const size_t bytes = r.peak + gb_shape_numel(gb_node_shape(n)) * sizeof(double);
    if (bytes > *most) *most = bytes;
  }
  gb_node_unref(n);
  return st;
}

gb_status gb_precond_bytes (const gb_precond_spec *spec, gb_node *a, gb_node *k, bool each, size_t *held,
                            gb_work_bytes *more, gb_error *err) {
  const size_t n = gb_node_shape(a)->dim[0], rank = spec->rank < n ? spec->rank : n;
  *held = 0;
  *more = (gb_work_bytes){0};
  if (spec->kind == GB_PRECOND_NONE || n == 0) return GB_OK;
  const bool low_rank = gb_precond_low_rank(spec);
  gb_node *m = low_rank ? k : a, *part;
  GB_TRY(gb_node_build(m->graph, GB_OP_DIAGONAL, 1, &m, &(gb_attr){0}, NULL, gb_node_dtype(m), &part, err));
  GB_TRY(peak_of(part, &more->entries, err));
  *held = n * sizeof(double);
  if (!low_rank) return GB_OK;
  GB_TRY(gb_select(m, 0, 0, &part, err));
  GB_TRY(peak_of(part, &more->entries, err));
  const gb_work_bytes w = gb_partial_bytes(n, rank);
  more->entries += w.entries;
  more->numbers = w.numbers;
  *held = ((each ? n : 0) + rank * n + rank * rank + rank * GB_PANEL_WIDTH) * sizeof(double);
  return GB_OK;
}

/* -- applying */

void gb_precond_apply (const gb_precond *p, gb_panel in, gb_panel out) {
  if (p != NULL) gb_panel_solve(&p->form, in, out);
  else gb_panel_copy(in, out);
}

gb_status gb_precond_apply_node (const gb_precond *p, gb_node *b, gb_node **out, gb_error *err) {
  const size_t n = gb_node_shape(b)->dim[0], count = gb_shape_numel(gb_node_shape(b)),
               r = n > 0 ? count / n : 0;
  gb_work work;
  GB_TRY(gb_work_new(p->device, 2 * count * sizeof(double), 0, "preconditioner", &work, err));
  void *y = gb_panel_address(work.at.entries, count);
  gb_status st = gb_node_entries(b, work.at.entries, err);
  if (st == GB_OK) {
    gb_precond_apply(p, gb_panel_of(p->device, work.at.entries, n, r), gb_panel_of(p->device, y, n, r));
    st = gb_leaf_entries(b->graph, gb_node_shape(b), GB_F64, y, "", out, err);
  }
  gb_work_free(&work);
  return st;
}

void gb_precond_sample (const gb_precond *p, uint64_t seed, size_t first, gb_panel out) {
  gb_panel_sample(p != NULL ? &p->form : &(gb_low_rank){0}, seed, first, out);
}
