/* precond.h - preconditioners for A = K + noise I: P near A with a cheap inverse, determinant and root.
** Source: Gardner, Pleiss, Bindel, Weinberger & Wilson (2018), GPyTorch: Blackbox matrix-matrix
** Gaussian process inference; Harbrecht, Peters & Schneider (2012), On the low-rank approximation by the
** pivoted Cholesky decomposition. */
#ifndef GB_SOLVE_PRECOND_H
#define GB_SOLVE_PRECOND_H

#include "graph/build.h"

typedef struct gb_precond {
  gb_ledger *ledger;
  gb_pool *pool;
  size_t n, rank;                  /* rank 0: P = diag(d), or I where d is NULL */
  double noise;                    /* rank > 0: P = L L' + noise I */
  double *lt;                      /* (rank, n): L' */
  double *c;                       /* (rank, rank): lower Cholesky factor of noise I + L' L */
  double *d;                       /* (n) */
  double *work;                    /* (rank, 16): coefficients of some columns */
  double logdet;                   /* log det P */
  double trace_left;               /* trace(K - L L') / trace(K) */
} gb_precond;

/* P = L L' + noise I with L the partial Cholesky factor of K (n, n), pivoted on the largest diagonal entry
** left; stops early where less than 'tol' of the trace is left. Needs the diagonal and 'rank' rows of K,
** never K. noise > 0. Cost: rank rows of K and n rank^2 flops; n rank doubles. Errors: EOPTION, ESHAPE,
** ENOMEM, ENAN, ENOTPD (negative diagonal, or noise so small that the inner system is singular), EINTR. On
** failure '*p' is clear. */
gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, double noise, size_t rank, double tol,
                                       gb_error *err);

/* P = diag(A). Errors: as above; ENOTPD names a diagonal entry that is not positive. */
gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err);

void gb_precond_clear (gb_precond *p);                    /* idempotent */

/* out = P^-1 in, both (n, r). A NULL 'p' is the identity. */
void gb_precond_apply (const gb_precond *p, size_t n, size_t r, const double *in, double *out);

/* Column c of out (n, r) = a sample with covariance P: standard normals of (seed, c) through a root of P. */
void gb_precond_sample (const gb_precond *p, uint64_t seed, size_t n, size_t r, size_t c, double *out);

#endif
