/* marginal.c - one joint solve of b and the probes; the gradient as sum(C * (A D)) with constant C and D.
**
** d(b' A^-1 b) = 2 alpha' db - alpha' dA alpha and d(log det A) = tr(A^-1 dA) = E u' dA w for u = A^-1 z,
** w = P^-1 z and probes z of covariance P. So the surrogate is 2 sum(alpha * b) + sum(C * (A D)) with D =
** [alpha, w_1, ...] and C = [-alpha, u_1 / probes, ...]. */
#include "solve/marginal.h"

#include <math.h>

#include "solve/columns.h"

void gb_marginal_clear (gb_marginal *m) {
  gb_node_unref(m->alpha);
  gb_node_unref(m->surrogate);
  *m = (gb_marginal){0};
}

/* Scales the probes in columns 1 .. to z' P^-1 z = n: directions keep their law and lengths lose their
** spread. 'w' gets P^-1 of all columns. */
static void normalise (const gb_precond *p, size_t n, size_t r, double *b, double *w, double *norm) {
  gb_precond_apply(p, n, r, b, w);
  gb_columns_dot(n, r, b, w, norm);
  for (size_t c = 0; c < r; c++) norm[c] = c == 0 ? 1 : sqrt((double)n / norm[c]);
  for (size_t i = 0; i < n * r; i++) {
    b[i] *= norm[i % r];
    w[i] *= norm[i % r];
  }
}

/* C in 'x' and D in 'w', in place. */
static void constants (size_t n, size_t r, double *x, double *w) {
  for (size_t i = 0; i < n; i++) {
    w[i * r] = x[i * r];
    x[i * r] = -x[i * r];
    for (size_t c = 1; c < r; c++) x[i * r + c] /= (double)(r - 1);
  }
}

static gb_status build_surrogate (gb_node *a, gb_node *b, gb_node *alpha, gb_node *c, gb_node *d,
                                  gb_node **out, gb_error *err) {
  gb_node *ad = NULL, *cad = NULL, *trace = NULL, *ab = NULL, *dot = NULL, *twice = NULL;
  gb_status st = gb_matmul(a, d, &ad, err);
  if (st == GB_OK) st = gb_map2(GB_OP_MUL, c, ad, &cad, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_SUM, cad, 0, false, &trace, err);
  if (st == GB_OK) st = gb_map2(GB_OP_MUL, alpha, b, &ab, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_SUM, ab, 0, false, &dot, err);
  if (st == GB_OK) st = gb_scale(dot, 2, &twice, err);
  if (st == GB_OK) st = gb_map2(GB_OP_ADD, trace, twice, out, err);
  gb_node *const made[] = {ad, cad, trace, ab, dot, twice};
  for (int i = 0; i < 6; i++) gb_node_unref(made[i]);
  return st;
}

/* From x = A^-1 [b, z] and w = P^-1 [., z]; 'spare' (n). */
static gb_status results (gb_node *a, gb_node *b, size_t n, size_t r, double *x, double *w, double *spare,
                          gb_marginal *m, gb_error *err) {
  gb_graph *g = a->graph;
  gb_node *c = NULL, *d = NULL;
  const gb_shape s = gb_shape_of(2, (size_t[]){n, r});
  const gb_dtype t = gb_node_dtype(a);
  for (size_t i = 0; i < n; i++) spare[i] = x[i * r];
  constants(n, r, x, w);
  gb_status st = gb_leaf_doubles(g, gb_node_shape(b), t, spare, "alpha", &m->alpha, err);
  if (st == GB_OK) st = gb_leaf_doubles(g, &s, t, x, "", &c, err);
  if (st == GB_OK) st = gb_leaf_doubles(g, &s, t, w, "", &d, err);
  if (st == GB_OK) st = build_surrogate(a, b, m->alpha, c, d, &m->surrogate, err);
  gb_node_unref(c);
  gb_node_unref(d);
  return st;
}

static gb_status marginal_in (gb_product *p, gb_node *a, gb_node *b, const gb_logdet_options *o,
                              double *memory, gb_marginal *m, gb_error *err) {
  const size_t n = p->n, r = p->r, nr = n * r;
  double *rhs = memory, *x = memory + nr, *residual = memory + 2 * nr, *w = memory + 3 * nr,
         *small = memory + 4 * nr;
  gb_cg_trace trace = gb_cg_trace_bind(&o->cg, r, small + r);
  GB_TRY(gb_node_doubles(b, residual, err));
  for (size_t c = 1; c < r; c++) gb_precond_sample(o->cg.precond, o->seed, n, r, c, rhs);
  for (size_t i = 0; i < n; i++) rhs[i * r] = residual[i];
  normalise(o->cg.precond, n, r, rhs, w, small);
  GB_TRY(gb_cg_columns(p, &o->cg, rhs, false, x, residual, &trace, &m->logdet.cg, err));
  GB_TRY(gb_probes_logdet(o->cg.precond, &trace, n, r, 1, r - 1, &m->logdet, err));
  for (size_t i = 0; i < nr; i++) residual[i] += rhs[i];
  gb_columns_dot(n, r, x, residual, small);        /* x' b + x' (b - A x) */
  m->inv_quad = small[0];
  return results(a, b, n, r, x, w, residual, m, err);
}

gb_status gb_marginal_cg (gb_node *a, gb_node *b, const gb_logdet_options *o, gb_marginal *m, gb_error *err) {
  gb_product p;
  *m = (gb_marginal){0};
  if (o->probes < 2) return gb_fail(err, GB_EOPTION, "probes: expected at least 2, got %zu", o->probes);
  GB_TRY(gb_product_init(&p, a, 1 + o->probes, err));
  gb_ledger *ledger = &a->graph->backend->ledger;
  const size_t bytes = (4 * p.n * p.r + p.r) * sizeof(double) + gb_cg_trace_bytes(&o->cg, p.r);
  void *memory = NULL;
  gb_status st = GB_OK;
  if (gb_node_shape(b)->ndim != 1 || gb_node_shape(b)->dim[0] != p.n || p.n == 0)
    st = gb_fail(err, GB_ESHAPE, "expected a right-hand side of %zu entries, at least 1", p.n);
  if (st == GB_OK && gb_node_dtype(b) != p.dtype)
    st = gb_fail(err, GB_EDTYPE, "dtypes differ: %s and %s", gb_dtype_name(p.dtype),
                 gb_dtype_name(gb_node_dtype(b)));
  if (st == GB_OK)
    st = gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, bytes, "", "marginal likelihood", &memory, err);
  if (st == GB_OK) st = marginal_in(&p, a, b, o, memory, m, err);
  m->logdet.cg.bytes += bytes;
  gb_ledger_free(ledger, memory);
  gb_product_clear(&p);
  if (st != GB_OK) gb_marginal_clear(m);
  return st;
}
