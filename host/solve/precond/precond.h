/* precond.h - preconditioners for A = K + D, D the noise: P near A with a cheap inverse, determinant and
** root. Source: Gardner, Pleiss, Bindel, Weinberger & Wilson (2018), GPyTorch: Blackbox matrix-matrix
** Gaussian process inference; Harbrecht, Peters & Schneider (2012), On the low-rank approximation by the
** pivoted Cholesky decomposition. */
#ifndef GB_SOLVE_PRECOND_PRECOND_H
#define GB_SOLVE_PRECOND_PRECOND_H

#include "device/panel.h"
#include "graph/build.h"
#include "iterate/work.h"

/* Noise variances: 'level' for all points, or each[i] (n, on the host) for point i where that is not NULL. */
typedef struct gb_noise {
  double level;
  const double *each;
} gb_noise;

static inline gb_noise gb_noise_level (double level) { return (gb_noise){.level = level}; }

typedef struct gb_precond {
  gb_device *device;
  gb_low_rank form;  /* form.scale: P is of noises of the points, and form.noise is 1 */
  double least;      /* low rank: the least of what P adds to the factor's product */
  double logdet;     /* log det P */
  double trace_left; /* trace(K - L L') / trace(K) */
  gb_block block[4]; /* of the arrays: a preconditioner stays where it was made */
  int nblocks;
} gb_precond;

/* P = L L' + noise I with L the partial Cholesky factor of K (n, n), pivoted on the largest diagonal entry
** left; stops early where less than 'tol' of the trace is left. Needs the diagonal and 'rank' rows of K,
** never K. One noise > 0. With a noise for each point, 0 or more, P = L L' + D + c I, c 0.03 of the mean
** of what L leaves of the diagonal: that bounds what points that are nearly exact add to the condition,
** where D alone is worse than its mean once D spans more magnitudes than L resolves. Cost: rank rows of K
** and n rank^2 flops; n rank doubles. Errors: EOPTION, ESHAPE, ENOMEM, ENAN, ENOTPD (negative diagonal, or
** noise so small that the inner system is singular), EINTR. On failure '*p' is clear. */
gb_status gb_precond_pivoted_cholesky (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                                       gb_error *err);

/* P = K_s (K_ss)^-1 K_s' + noise I, the Nystrom approximation from 'rank' points s, each drawn in
** proportion to what those before leave of the diagonal of K, until less than 'tol' of it is left; the
** draws depend on the seed alone. Near the best approximation of its rank in expectation, where the
** largest diagonal entry may be an outlier's. The same rows of K, costs and errors as above. Source: Chen,
** Epperly, Tropp & Webber (2025), Randomly pivoted Cholesky. */
gb_status gb_precond_nystrom (gb_precond *p, gb_node *k, gb_noise noise, size_t rank, double tol,
                              uint64_t seed, gb_error *err);

/* P = |diag(A)|, 1 where that is 0 or not finite: the solver that multiplies with A finds what is wrong with
** it. */
gb_status gb_precond_jacobi (gb_precond *p, gb_node *a, gb_error *err);

void gb_precond_clear (gb_precond *p); /* idempotent */

/* The preconditioner that a solver makes, as a value: gb_precond is of one matrix. */
typedef enum gb_precond_kind {
  GB_PRECOND_NONE,
  GB_PRECOND_JACOBI,
  GB_PRECOND_PIVOTED_CHOLESKY,
  GB_PRECOND_NYSTROM
} gb_precond_kind;
typedef struct gb_precond_spec {
  gb_precond_kind kind;
  size_t rank;   /* of the low-rank ones */
  double tol;    /* share of the trace at which the low-rank ones stop */
  uint64_t seed; /* NYSTROM */
} gb_precond_spec;

/* Needs k and the noise, where A = K + D. */
static inline bool gb_precond_low_rank (const gb_precond_spec *s) {
  return s->kind == GB_PRECOND_PIVOTED_CHOLESKY || s->kind == GB_PRECOND_NYSTROM;
}

/* The preconditioner of A = K + D. '*p' is clear where the kind is NONE. Errors: as those of the kinds. */
gb_status gb_precond_make (gb_precond *p, const gb_precond_spec *spec, gb_node *a, gb_node *k, gb_noise noise,
                           gb_error *err);

/* Bytes that gb_precond_make holds in the end, on the device, and takes on the way beyond them; k may be over
** placeholders. each: with noises of the points. */
gb_status gb_precond_bytes (const gb_precond_spec *spec, gb_node *a, gb_node *k, bool each, size_t *held,
                            gb_work_bytes *more, gb_error *err);

/* out = P^-1 in; a NULL 'p' is the identity. */
void gb_precond_apply (const gb_precond *p, gb_panel in, gb_panel out);

/* The same of the values of b (n) or (n, r), as an f64 leaf of its shape. Evaluates b. */
gb_status gb_precond_apply_node (const gb_precond *p, gb_node *b, gb_node **out, gb_error *err);

/* Columns 'first' .. of out become samples with covariance P: column c the standard normals of stream c of
** 'seed', through a root of P. */
void gb_precond_sample (const gb_precond *p, uint64_t seed, size_t first, gb_panel out);

#endif
