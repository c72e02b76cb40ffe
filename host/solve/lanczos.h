/* lanczos.h - Lanczos tridiagonalisation, Gauss quadrature from its matrix, and log det by random probes.
** Source: Golub & Meurant (2010), Matrices, Moments and Quadrature with Applications; Ubaru, Chen & Saad
** (2017), Fast estimation of tr(f(A)) via stochastic Lanczos quadrature. */
#ifndef GB_SOLVE_LANCZOS_H
#define GB_SOLVE_LANCZOS_H

#include "solve/cg.h"

/* Eigenvalues of the symmetric tridiagonal matrix with diagonal d (t) and off-diagonal e (t - 1; room for
** t), and the squares w (t) of the first components of its unit eigenvectors: nodes and weights of Gauss
** quadrature. Overwrites d by the values, in no order, and e. Returns false where an eigenvalue does not
** converge. */
bool gb_tridiagonal_quadrature (size_t t, double *d, double *e, double *w);

/* Column c of a trace with r columns: its Lanczos matrix; d, e have room for steps[c]. Returns its order. */
size_t gb_trace_tridiagonal (const gb_cg_trace *trace, size_t r, size_t c, double *d, double *e);

/* Ratio of the extreme eigenvalues of column c's matrix: a lower bound of the condition number; 0 without
** steps. */
double gb_trace_condition (const gb_cg_trace *trace, size_t r, size_t c);

/* e1' log(T) e1 for column c; 0 without steps. Errors: ENOTCONV; ENOTPD where T has an eigenvalue not
** above 0. */
gb_status gb_trace_log (const gb_cg_trace *trace, size_t r, size_t c, double *out, gb_error *err);

typedef struct gb_logdet_options {
  gb_cg_options cg;
  size_t probes; /* at least 2: their spread is the error estimate */
  uint64_t seed;
  bool exact; /* gb_marginal_run: all n unit vectors in their place */
} gb_logdet_options;

/* The error is near Student's t of probes - 1 degrees, times standard_error. */
typedef struct gb_logdet_info {
  double value, standard_error;
  double truncation; /* how much the last fifth of the steps changed 'value' */
  gb_cg_info cg;
} gb_logdet_info;

/* log det A by probes: unit vectors, uniform in the metric of the preconditioner. Deterministic by seed.
** Errors: those of gb_solve_cg; ENOTPD. Not converged solves are reported in info->cg. */
gb_status gb_logdet_slq (gb_node *a, const gb_logdet_options *o, gb_logdet_info *info, gb_error *err);

/* The estimate from a trace with r columns, of which 'probes' from 'first' on began with probes sampled
** from P. */
gb_status gb_probes_logdet (const gb_precond *p, const gb_cg_trace *trace, size_t n, size_t r, size_t first,
                            size_t probes, gb_logdet_info *info, gb_error *err);

/* The t that Student's distribution exceeds with probability (1 - level) / 2: half of an interval of that
** level, in standard errors. Source: Hill (1970), Algorithm 396: Student's t-quantiles. degrees >= 1, 0 <
** level < 1. */
double gb_student_quantile (double degrees, double level);

typedef struct gb_lanczos_info {
  int steps;       /* fewer than asked where an invariant subspace was found */
  double residual; /* the last off-diagonal entry: |A Q - Q T| */
} gb_lanczos_info;

/* Q (n, t) with orthonormal columns, the first along q (n), and T (t, t) = Q' A Q tridiagonal; t <= steps.
** Orthogonal to rounding: each vector is orthogonalised twice against all before. Cost: t products with A,
** 4 n t^2 flops, n (t + 3) doubles. Errors: ESHAPE, EOPTION (q = 0), ENAN, EINTR, ENOMEM. */
gb_status gb_lanczos (gb_node *a, gb_node *q, size_t steps, gb_node **basis, gb_node **t,
                      gb_lanczos_info *info, gb_error *err);

#endif
