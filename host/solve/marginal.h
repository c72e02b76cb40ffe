/* marginal.h - the two terms of a Gaussian marginal likelihood, b' A^-1 b and log det A, without a
** factorisation, and a lazy scalar with their gradient.
** Source: Gardner, Pleiss, Bindel, Weinberger & Wilson (2018), GPyTorch: Blackbox matrix-matrix Gaussian
** process inference. Cost: one run of conjugate gradients with 1 + probes columns, and one product with A
** and its gradient. */
#ifndef GB_SOLVE_MARGINAL_H
#define GB_SOLVE_MARGINAL_H

#include "solve/lanczos.h"

typedef struct gb_marginal {
  double inv_quad;                 /* b' A^-1 b, its error quadratic in the residual */
  gb_logdet_info logdet;           /* with logdet.cg the report of the joint run */
  gb_node *alpha;                  /* leaf (n): A^-1 b; counted */
  gb_node *surrogate; /* lazy scalar, counted: its gradient in A and b is that of inv_quad + log det A; its
                                      value is not */
} gb_marginal;

/* a (n, n) symmetric positive definite, b (n). Deterministic by seed. Errors: as gb_logdet_slq. On failure
** '*m' is clear. */
gb_status gb_marginal_cg (gb_node *a, gb_node *b, const gb_logdet_options *o, gb_marginal *m, gb_error *err);
void gb_marginal_clear (gb_marginal *m);          /* idempotent */

#endif
