/* marginal.h - the two terms of a Gaussian marginal likelihood, b' A^-1 b and log det A, without a
** factorisation, and what their gradient needs.
** Source: Gardner, Pleiss, Bindel, Weinberger & Wilson (2018), GPyTorch: Blackbox matrix-matrix Gaussian
** process inference. Cost: one run of conjugate gradients with 1 + probes columns. */
#ifndef GB_SOLVE_LOGDET_MARGINAL_H
#define GB_SOLVE_LOGDET_MARGINAL_H

#include "solve/logdet/logdet.h"

/* Offsets in the result, doubles. With them d(inv_quad) = 2 sum(alpha * db) + e-part and d(log
** det) = the rest of sum(C * (dA D)): column 0 of C and D, where e is 1, belongs to inv_quad, the others,
** where it is 0, to log det A. */
enum { GB_MARGINAL_INV_QUAD, GB_MARGINAL_LOGDET, GB_MARGINAL_ERROR, GB_MARGINAL_HEAD = 4 };
static inline size_t gb_marginal_e (void) { return GB_MARGINAL_HEAD; }                       /* (r) */
static inline size_t gb_marginal_alpha (size_t r) { return gb_marginal_e() + r; }            /* (n): A^-1 b */
static inline size_t gb_marginal_c (size_t n, size_t r) { return gb_marginal_alpha(r) + n; } /* (n, r) */
static inline size_t gb_marginal_d (size_t n, size_t r) { return gb_marginal_c(n, r) + n * r; } /* (n, r) */
static inline size_t gb_marginal_size (size_t n, size_t r) { return gb_marginal_d(n, r) + n * r; }

/* Columns: b and the probes. Exact: a probe for each unit vector. */
size_t gb_marginal_columns (const gb_logdet_options *o, size_t n);

gb_work_bytes gb_marginal_bytes (const gb_logdet_options *o, size_t n); /* of workspace, beside m */

/* m (n, n) symmetric positive definite, planned for gb_marginal_columns; b (n, 1); out: address of
** gb_marginal_size doubles of the device. Deterministic by seed. info->solve is the record of the solve.
** Errors: as gb_logdet_slq. */
gb_status gb_marginal_run (gb_solve_matrix *m, gb_panel b, const gb_logdet_options *o, void *out,
                           gb_logdet_info *info, gb_error *err);

#endif
