/* trace.h - what the coefficients of conjugate gradients tell about the matrix: they are the entries of a
** Lanczos matrix T, whose eigenvalues lie between those of the preconditioned A.
** Source: Golub & Meurant (2010), Matrices, Moments and Quadrature with Applications. */
#ifndef GB_SOLVE_FRAME_TRACE_H
#define GB_SOLVE_FRAME_TRACE_H

#include <stdbool.h>

#include "base/status.h"

/* Coefficients of r columns: those of column c's step j at [j * r + c], for steps[c] steps. */
typedef struct gb_trace {
  size_t r;
  int max_steps;
  int *steps;           /* (r) */
  double *alpha, *beta; /* (max_steps, r) */
} gb_trace;

/* Memory of a trace of a solve of at most max_iter steps, and a trace without steps in it. Only the first
** 1,000 steps are kept: they are a Lanczos matrix too. */
size_t gb_trace_bytes (int max_iter, size_t r);
gb_trace gb_trace_bind (int max_iter, size_t r, void *memory);

/* Eigenvalues of the symmetric tridiagonal matrix with diagonal d (t) and off-diagonal e (t - 1; room for
** t), and the squares w (t) of the first components of its unit eigenvectors: nodes and weights of Gauss
** quadrature. Overwrites d by the values, in no order, and e. Returns false where an eigenvalue does not
** converge. */
bool gb_tridiagonal_quadrature (size_t t, double *d, double *e, double *w);

/* T of column c; d, e have room for steps[c]. Returns its order. */
size_t gb_trace_tridiagonal (const gb_trace *trace, size_t c, double *d, double *e);

/* The extreme eigenvalues of column c's T, whose ratio is a lower bound of the condition number; 0 without steps. */
void gb_trace_extremes (const gb_trace *trace, size_t c, double *smallest, double *largest);

/* e1' log(T) e1 for column c; 0 without steps. Errors: ENOTCONV; ENOTPD where T has an eigenvalue <= 0. */
gb_status gb_trace_log (const gb_trace *trace, size_t c, double *out, gb_error *err);

#endif
