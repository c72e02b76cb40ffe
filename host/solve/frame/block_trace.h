/* block_trace.h - what the coefficients of block conjugate gradients tell about the matrix: they are the blocks of a
** block Lanczos matrix T, whose eigenvalues lie between those of the preconditioned A.
**
** For orthonormal blocks Q_0, Q_1, ... that begin with right-hand sides Q_0 C, T = Q' A Q in the metric of the
** preconditioner, and C' f(T)_00 C is the block Gauss quadrature of their forms with f(A). With a_j the matrices of
** steps and z_j those of the new blocks, T = L D L' for L of unit blocks on the diagonal and -z_j below it, D of the
** inverses of a_j. Source: O'Leary (1980), The block conjugate gradient algorithm and related methods; Golub & Meurant
** (2010), Matrices, Moments and Quadrature with Applications. */
#ifndef GB_SOLVE_FRAME_BLOCK_TRACE_H
#define GB_SOLVE_FRAME_BLOCK_TRACE_H

#include "base/status.h"

typedef struct gb_block_trace {
  size_t r; /* right-hand sides: the first block has no more columns */
  int max_steps, steps;
  size_t *rank;     /* (max_steps): columns of block j */
  double *first;    /* (rank[0], r): C */
  double *step;     /* a_j, (rank[j], rank[j]) at j r r, as all of these */
  double *diagonal; /* T_jj */
  double *below;    /* T_j,j-1 (rank[j], rank[j-1]) */
  double *work;     /* gb_block_trace_work numbers of readers, (5 r r) */
} gb_block_trace;

/* Memory of a trace of a solve of at most max_iter steps, and a trace without steps in it. Only the first steps are
** kept, 16384 columns of T: they are a Lanczos matrix too. */
size_t gb_block_trace_bytes (int max_iter, size_t r);
gb_block_trace gb_block_trace_bind (int max_iter, size_t r, void *memory);

/* The extreme eigenvalues of T, from within; 0 without steps. */
void gb_block_trace_extremes (const gb_block_trace *t, double *smallest, double *largest);

/* out[c] = C' log(T)_00 C / C' C for each column c of C, from the first 'steps' steps; 0 without steps. The error of the
** quadrature is below 1e-9 and rounding. NaN where T has an eigenvalue that is not positive. */
void gb_block_trace_log (const gb_block_trace *t, int steps, double *out);

#endif
