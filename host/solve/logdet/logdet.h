/* logdet.h - log det A by random probes and the Lanczos matrices of conjugate gradients.
** Source: Golub & Meurant (2010), Matrices, Moments and Quadrature with Applications; Ubaru, Chen & Saad
** (2017), Fast estimation of tr(f(A)) via stochastic Lanczos quadrature. */
#ifndef GB_SOLVE_LOGDET_LOGDET_H
#define GB_SOLVE_LOGDET_LOGDET_H

#include "solve/block_cg.h"
#include "solve/cg.h"

typedef struct gb_logdet_options {
  gb_solve_options solve;
  size_t probes; /* at least 2: their spread is the error estimate */
  uint64_t seed;
  bool exact; /* gb_marginal_run: all n unit vectors instead of probes */
} gb_logdet_options;

/* (value - log det A) / standard_error is near Student's t with probes - 1 degrees of freedom. */
typedef struct gb_logdet_info {
  double value, standard_error;
  double truncation; /* how much the last fifth of the steps changed 'value' */
  gb_solve_info solve;
} gb_logdet_info;

/* log det A by probes: unit vectors, uniform in the metric of the preconditioner. Deterministic by seed.
** Errors: those of gb_solve_cg; ENOTPD. Not converged solves are reported in info->solve. */
gb_status gb_logdet_slq (gb_node *a, const gb_logdet_options *o, gb_logdet_info *info, gb_error *err);

/* The estimate for A (n, n) from a trace whose columns first .. first + probes - 1 began with probes sampled
** from P. */
gb_status gb_probes_logdet (const gb_precond *p, const gb_trace *trace, size_t n, size_t first, size_t probes,
                            gb_logdet_info *info, gb_error *err);

/* The same from the trace of a block of right-hand sides, of which first .. first + probes - 1 are the probes. Errors:
** ENOTPD. */
gb_status gb_block_logdet (const gb_precond *p, const gb_block_trace *trace, size_t n, size_t first,
                           size_t probes, double *work, gb_logdet_info *info, gb_error *err);

/* The quantile t that Student's distribution exceeds with probability (1 - level) / 2: the half-width of
** an interval of that level, in standard errors. Source: Hill (1970), Algorithm 396: Student's
** t-quantiles. degrees >= 1, 0 < level < 1. */
double gb_student_quantile (double degrees, double level);

#endif
