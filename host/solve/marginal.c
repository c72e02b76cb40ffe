/* marginal.c - one joint solve of b and the probes.
**
** d(b' A^-1 b) = 2 alpha' db - alpha' dA alpha and d(log det A) = tr(A^-1 dA) = E u' dA w for u = A^-1 z,
** w = P^-1 z and probes z of covariance P. So the gradient is that of 2 sum(alpha * b) + sum(C * (A D))
** with D = [alpha, w_1, ...] and C = [-alpha, u_1 / probes, ...]. */
#include "solve/marginal.h"

#include <math.h>

#include "iterate/panel.h"

size_t gb_marginal_columns (const gb_logdet_options *o, size_t n) { return 1 + (o->exact ? n : o->probes); }

size_t gb_marginal_workspace (const gb_logdet_options *o, size_t n) {
  const size_t r = gb_marginal_columns(o, n);
  return (2 * n * r + r + gb_cg_scratch(r) + gb_panel_sums(n, r)) * sizeof(double) +
         gb_cg_trace_bytes(&o->cg, r);
}

/* Scales the probes in columns 1 .. to z' P^-1 z = n: directions keep their law and lengths lose their
** spread. 'w' gets P^-1 of all columns. */
static void normalise (const gb_precond *p, gb_pool *pool, size_t n, size_t r, double *b, double *w,
                       double *norm, double *sums) {
  gb_precond_apply(p, n, r, b, w);
  gb_panel_dot(pool, n, r, (gb_panel){b, r, NULL}, (gb_panel){w, r, NULL}, sums, norm);
  for (size_t c = 0; c < r; c++) norm[c] = c == 0 ? 1 : sqrt((double)n / norm[c]);
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) {
      b[i * r + c] *= norm[c];
      w[i * r + c] *= norm[c];
    }
}

static void take_probes (const gb_logdet_options *o, gb_pool *pool, size_t n, size_t r, double *rhs) {
  if (!o->exact) {
    gb_precond_sample(o->cg.precond, pool, o->seed, n, r, 1, rhs);
    return;
  }
  for (size_t i = 0; i < n; i++)
    for (size_t c = 1; c < r; c++) rhs[i * r + c] = i + 1 == c;
}

/* alpha, C and D from x = A^-1 [b, z] in C's place and w = P^-1 [., z] in D's. */
static void constants (size_t n, size_t r, double *out) {
  double *alpha = out + gb_marginal_alpha(r), *c = out + gb_marginal_c(n, r), *d = out + gb_marginal_d(n, r);
  for (size_t i = 0; i < n; i++) {
    alpha[i] = d[i * r] = c[i * r];
    c[i * r] = -c[i * r];
    for (size_t k = 1; k < r; k++) c[i * r + k] /= (double)(r - 1);
  }
  for (size_t k = 0; k < r; k++) out[gb_marginal_e() + k] = k == 0;
}

static gb_status run_in (gb_cg_matrix *m, const double *b, const gb_logdet_options *o, double *memory,
                         double *out, gb_logdet_info *info, gb_error *err) {
  const size_t n = m->a.n, r = m->a.r, nr = n * r;
  gb_pool *pool = m->a.graph->device->pool;
  double *rhs = memory, *residual = memory + nr, *small = memory + 2 * nr, *scratch = small + r,
         *sums = scratch + gb_cg_scratch(r), *x = out + gb_marginal_c(n, r), *w = out + gb_marginal_d(n, r);
  gb_cg_trace trace = gb_cg_trace_bind(&o->cg, r, sums + gb_panel_sums(n, r));
  take_probes(o, pool, n, r, rhs);
  for (size_t i = 0; i < n; i++) rhs[i * r] = b[i];
  normalise(o->cg.precond, pool, n, r, rhs, w, small, sums);
  GB_TRY(gb_cg_scaled(m, &o->cg, rhs, false, x, residual, &trace, scratch, &info->cg, err));
  if (info->cg.too_narrow) { /* the quadrature needs the steps that solved it */
    gb_cg_options full = o->cg;
    full.mixed = false;
    GB_TRY(gb_cg_scaled(m, &full, rhs, false, x, residual, &trace, scratch, &info->cg, err));
  }
  GB_TRY(gb_probes_logdet(o->cg.precond, &trace, n, r, 1, r - 1, info, err));
  if (o->exact) info->standard_error = 0;
  for (size_t i = 0; i < n; i++) residual[i * r] += rhs[i * r];
  gb_panel_dot(pool, n, 1, (gb_panel){x, r, NULL}, (gb_panel){residual, r, NULL}, sums, small);
  out[GB_MARGINAL_INV_QUAD] = small[0]; /* x' b + x' (b - A x): the error is quadratic in the residual */
  out[GB_MARGINAL_LOGDET] = info->value;
  out[GB_MARGINAL_ERROR] = info->standard_error;
  out[GB_MARGINAL_ERROR + 1] = 0;
  constants(n, r, out);
  return GB_OK;
}

gb_status gb_marginal_run (gb_cg_matrix *m, const double *b, const gb_logdet_options *o, double *out,
                           gb_logdet_info *info, gb_error *err) {
  gb_logdet_options own = *o;
  if (o->exact) own.cg.precond = NULL; /* unit vectors in the metric of I */
  *info = (gb_logdet_info){0};
  const size_t bytes = gb_marginal_workspace(&own, m->a.n);
  gb_ledger *ledger = &m->a.graph->device->ledger;
  gb_block memory = {0};
  GB_TRY(gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, bytes, "", "marginal likelihood", &memory, err));
  const gb_status st = run_in(m, b, &own, memory.data, out, info, err);
  info->cg.bytes += bytes;
  gb_ledger_free(ledger, &memory);
  return st;
}
