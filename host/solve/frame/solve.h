/* solve.h - what all iterative solvers of A X = B share in their interface: options, reasons, record.
**
** A is a lazy matrix (n, n) and is only multiplied; b (n) or (n, r); columns are solved together. Not
** converging is not an error: the record says so, with the reason. */
#ifndef GB_SOLVE_FRAME_SOLVE_H
#define GB_SOLVE_FRAME_SOLVE_H

#include "solve/precond/precond.h"

typedef enum gb_solve_reason {
  GB_SOLVE_CONVERGED,
  GB_SOLVE_MAX_ITER,
  GB_SOLVE_INDEFINITE, /* A, a diagonal block of it, or the preconditioner is not positive definite */
  /* b is not in the range of A as far as the dtype can tell: x is a least-squares solution */
  GB_SOLVE_SINGULAR,
  GB_SOLVE_STAGNATED, /* further steps do not lower the true residual: the dtype allows no more */
  GB_SOLVE_DIVERGED,  /* the residual grows */
  GB_SOLVE_OVERFLOW,  /* x is not finite in its dtype, at the size of b */
  GB_SOLVE_UNDERFLOW, /* x is too small for its dtype, at the size of b */
  GB_SOLVE_NAN        /* A, b or a product of them is not finite */
} gb_solve_reason;

const char *gb_solve_reason_text (gb_solve_reason r); /* "converged", "max_iter", ... */

/* Stop by variances instead of residuals: column c converges when the variance prior[c] - b' A^-1 b is known
** to 'tol' of itself. With the residual R, the form 2 b'x - x'Ax is below b' A^-1 b by R' A^-1 R, which is
** at most R'R / least, or R' P^-1 R for a preconditioner P = L L' + noise I below A. */
typedef struct gb_variance_goal {
  const double *prior;      /* (r), on the host; NULL: stop by residuals */
  double least;             /* > 0: A - least I is positive semidefinite */
  double *quad_form;        /* (r), out: 2 b'x - x'Ax of the returned x */
  double *quad_error_bound; /* (r), out: upper bound of R' A^-1 R */
} gb_variance_goal;

typedef struct gb_solve_options {
  double tol; /* |b - A x| <= tol |b| for every column; in (0, 1) */
  int max_iter;
  const gb_precond *precond; /* NULL = none */
  gb_node *x0; /* first guess, of b's shape; NULL = 0, as in columns where it is far worse than 0 */
  bool mixed;  /* products in f32, residuals and the result in f64, whatever the dtype of A */
  gb_variance_goal goal;
} gb_solve_options;

#define GB_SOLVE_DEFAULTS                                                                                    \
  { .tol = 1e-6, .max_iter = 1000 }

/* How a solve came down, in bounded memory: residual[i] is the largest relative one after (i + 1) * every steps, as the
** recursion has it. 'every' doubles where the curve is full. */
#define GB_CURVE 64
typedef struct gb_curve {
  int count, every;
  float residual[GB_CURVE];
} gb_curve;

/* Residuals are |b - A x| / |b|, 0 / 0 being 0, computed from A and the returned x, rounded to its dtype. */
typedef struct gb_solve_info {
  bool converged;
  gb_solve_reason reason; /* of the worst column */
  size_t column;          /* that column, from 0 */
  int iterations;
  double tol;            /* of the options */
  double residual;       /* largest over the columns */
  double residual_first; /* of the first column */
  double residual_rest;  /* largest over all other columns */
  double condition;      /* of A, or of the preconditioned matrix, estimated from below; 0 = not known */
  double smallest,
      largest;    /* eigenvalues of A that conjugate gradients without a preconditioner met; 0 = not known */
  gb_curve curve; /* of conjugate gradients and minimal residuals; empty for others */
  double variance_error; /* with a goal: the largest quad_error_bound as a share of its variance */
  double curvature; /* INDEFINITE: p'Ap / p'p, an upper bound of the smallest eigenvalue; 0 = not known */
  bool f32_insufficient; /* mixed: f32 left columns to f64, whose steps the trace does not hold */
  double seconds;
  size_t bytes; /* workspace */
} gb_solve_info;

/* The record of the solve of this thread that GB_EINTR ended, and the name of its method; NULL, and once it has been
** taken. 'residual' is the last that the curve has. */
const gb_solve_info *gb_solve_take_interrupted (const char **method);

#endif
