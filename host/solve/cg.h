/* cg.h - conjugate gradients for A X = B with a lazy symmetric positive definite A, many columns at once.
** Source: Saad (2003), Iterative Methods for Sparse Linear Systems, algorithm 9.1; of products in f32 with
** residuals in f64: Clark, Babich, Barros, Brower & Rebbi (2010), Solving lattice QCD systems of equations
** using mixed precision solvers on GPUs. Cost: one product with A, 4 vector passes and one preconditioner
** a step; 3 n r doubles of workspace.
**
** Columns stop one by one, also where one breaks down, and then cost nothing more: the others move
** together in the same buffers, and A is multiplied with r, r / 2, r / 4 ... columns. What a column does
** never depends on the others. Every 50 steps the residual is computed anew from A and replaces that of
** the recursion; a column whose recursion goes on while its residual does not has stagnated. When all have
** converged by the recursion, it is computed again; where it is not small enough the iteration restarts
** from it. Only recomputed residuals are reported. Where points have noises of their own, a small residual
** is large at a point of little noise: with a preconditioner that knows them a residual r of b is the
** larger of |r| / |b| and the root of r' P^-1 r / b' P^-1 b. */
#ifndef GB_SOLVE_CG_H
#define GB_SOLVE_CG_H

#include "iterate/product.h"
#include "iterate/work.h"
#include "solve/precond/precond.h"

typedef enum gb_cg_reason {
  GB_CG_CONVERGED,
  GB_CG_MAX_ITER,
  GB_CG_INDEFINITE, /* p' A p <= 0: A, or the preconditioner, is not positive definite */
  GB_CG_STAGNATED,  /* more steps do not halve the residual: the dtype allows no more */
  GB_CG_OVERFLOW,   /* the solution is not finite in its dtype, at the size of b */
  GB_CG_UNDERFLOW,  /* the solution is too small for its dtype, at the size of b */
  GB_CG_NAN         /* a product with A is not finite */
} gb_cg_reason;

const char *gb_cg_reason_text (gb_cg_reason r); /* "converged", "max_iter", ... */

/* The other goal, of variances prior - b' A^-1 b: a column rests when this is known to 'tol' of itself.
** With the residual R the form 2 b'x - x'Ax is too small by R' A^-1 R, which is at most R' R / least, or
** R' P^-1 R where P = L L' + noise I is below A. */
typedef struct gb_cg_goal {
  const double *prior;    /* (r), or NULL */
  double least;           /* > 0: A - least I is positive semidefinite */
  double *form, *missing; /* (r), out: the forms of the returned x, and how much too small they are at most */
} gb_cg_goal;

typedef struct gb_cg_options {
  double tol;                /* |b - A x| <= tol |b|, for every column; below 1 */
  double rest;               /* the same for all columns but the first; 0 = tol */
  int max_iter;              /* steps over all restarts */
  bool mixed;                /* products in f32, residuals and the result in f64, whichever of them A is */
  const gb_precond *precond; /* NULL = none */
  gb_node *x0;               /* first guess, of b's shape; NULL = 0 */
  gb_cg_goal goal;           /* instead of 'tol' on residuals, where it has a prior */
} gb_cg_options;

#define GB_CG_DEFAULTS                                                                                       \
  { .tol = 1e-6, .max_iter = 1000 }

typedef struct gb_cg_info {
  bool converged;
  gb_cg_reason reason;
  int iterations;
  double residual;      /* largest |b - A x| / |b| over the columns, recomputed from the returned x */
  double first, others; /* the same of the first column, and of all others */
  double condition;     /* of the preconditioned matrix, estimated from below by the first column's steps */
  double missing;       /* with a goal: the largest R' A^-1 R, by its bound, over the variance; of numbers */
  double curvature;     /* INDEFINITE: p' A p / p' p, an upper bound of the smallest eigenvalue */
  size_t column;        /* that the reason speaks of, from 0 */
  bool too_narrow;      /* mixed: f32 left columns to f64, and the trace is not theirs */
  double seconds;
  size_t bytes; /* workspace */
} gb_cg_info;

/* One sentence: what happened, to which column, and what would help. Returns 'buf'. */
#define GB_CG_TEXT 240
char *gb_cg_text (const gb_cg_info *info, const gb_cg_options *o, char buf[GB_CG_TEXT]);

/* Not converging is not an error: it stands in '*info'. x: counted, a leaf of b's shape and dtype, but f64
** where o->mixed; b (n) or (n, r). Errors: ESHAPE, EDTYPE, EOPTION, EREFUSED, ENOMEM, EINTR. */
gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_cg_options *o, gb_node **x, gb_cg_info *info,
                       gb_error *err);

/* Do b (n) or (n, r) and 'o' fit A? 'what': b's name. Errors: ESHAPE, EDTYPE, EOPTION. */
gb_status gb_cg_check (gb_node *a, gb_node *b, const char *what, const gb_cg_options *o, gb_error *err);

/* sum(u * (b - A x)), lazy; b, x, u (n) or (n, r). */
gb_status gb_residual_form (gb_node *a, gb_node *b, gb_node *x, gb_node *u, gb_node **out, gb_error *err);

/* The coefficients of a run's first cycle: for column c, steps[c] of them, entry j at [j * r + c]. */
typedef struct gb_cg_trace {
  int max_steps;
  int *steps;           /* (r) */
  double *alpha, *beta; /* (max_steps, r) */
} gb_cg_trace;

/* Memory of a trace, and a trace in it. */
size_t gb_cg_trace_bytes (const gb_cg_options *o, size_t r);
gb_cg_trace gb_cg_trace_bind (const gb_cg_options *o, size_t r, void *memory);

/* The matrix as the loop multiplies with it. Where o->mixed, 'a' is A in f64 and 'low' A in f32, else
** 'low' is clear. */
typedef struct gb_cg_matrix {
  gb_product a, low;
} gb_cg_matrix;

/* Errors: ESHAPE, EDTYPE, EREFUSED, ENOMEM. On failure '*m' is clear. */
gb_status gb_cg_matrix_init (gb_cg_matrix *m, gb_node *a, size_t r, const gb_cg_options *o, gb_error *err);
void gb_cg_matrix_clear (gb_cg_matrix *m); /* idempotent */
size_t gb_cg_matrix_bytes (const gb_cg_matrix *m);
/* The most that any width takes at which columns are multiplied while others are done: fewer columns may
** need more. Leaves the smallest width. Errors: as init. */
gb_status gb_cg_matrix_most (gb_cg_matrix *m, size_t *bytes, gb_error *err);

/* Bytes that gb_cg_columns takes. */
size_t gb_cg_workspace (size_t n, size_t r);

/* The loop beneath: b, x, residual (n, r) without lists; x is the first guess where 'guess', but for columns
** of it that are not finite or leave more than GB_WORTHLESS |b|, and the result. 'residual' gets b - A x,
** recomputed. 'trace' may be NULL: then no condition. */
gb_status gb_cg_columns (gb_cg_matrix *m, const gb_cg_options *o, gb_panel b, bool guess, gb_panel x,
                         gb_panel residual, gb_cg_trace *trace, gb_cg_info *info, gb_error *err);

/* The same for columns of any size: squares of numbers below 1e-154, or above 1e154, under- or overflow.
** Columns, guess and goal are scaled by powers of two on entry, and all that comes back by the inverse; so a
** column's bits are those of size 1, scaled. 'b' is changed meanwhile; 'scratch': gb_cg_scratch doubles of
** the host. */
static inline size_t gb_cg_scratch (size_t r) { return 2 * r; }
gb_status gb_cg_scaled (gb_cg_matrix *m, const gb_cg_options *o, gb_panel b, bool guess, gb_panel x,
                        gb_panel residual, gb_cg_trace *trace, double *scratch, gb_cg_info *info,
                        gb_error *err);

#endif
