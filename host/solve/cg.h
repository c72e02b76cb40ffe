/* cg.h - conjugate gradients for A X = B with a lazy symmetric positive definite A, many columns at once.
** Source: Saad (2003), Iterative Methods for Sparse Linear Systems, algorithm 9.1.
** Cost: one product with A, 3 vector passes and one preconditioner a step; 6 n r doubles of workspace.
**
** Columns stop one by one, also where one breaks down; what a column does never depends on the others.
** When the recursion says that all have converged, the residual is computed anew from A; where it is not
** small enough the iteration restarts from it. Only recomputed residuals are reported. */
#ifndef GB_SOLVE_CG_H
#define GB_SOLVE_CG_H

#include "solve/precond.h"
#include "solve/product.h"

typedef enum gb_cg_reason {
  GB_CG_CONVERGED,
  GB_CG_MAX_ITER,
  GB_CG_INDEFINITE,                /* p' A p <= 0: A, or the preconditioner, is not positive definite */
  GB_CG_STAGNATED,                 /* restarting no longer halves the residual: the dtype allows no more */
  GB_CG_NAN                        /* a product with A is not finite */
} gb_cg_reason;

const char *gb_cg_reason_text (gb_cg_reason r);   /* "converged", "max_iter", ... */

typedef struct gb_cg_options {
  double tol;                      /* |b - A x| <= tol |b|, for every column */
  int max_iter;                    /* steps over all restarts */
  const gb_precond *precond;       /* NULL = none */
  gb_node *x0;                     /* first guess, of b's shape; NULL = 0 */
} gb_cg_options;

#define GB_CG_DEFAULTS {.tol = 1e-6, .max_iter = 1000}

typedef struct gb_cg_info {
  bool converged;
  gb_cg_reason reason;
  int iterations;
  double residual;  /* largest |b - A x| / |b| over the columns, recomputed from the returned x */
  double condition; /* of the preconditioned matrix, estimated from below by the first column's steps */
  double seconds;
  size_t bytes;                    /* workspace */
} gb_cg_info;

/* Not converging is not an error: it stands in '*info'. x: counted, a leaf of b's shape and dtype; b (n)
** or (n, r). Errors: ESHAPE, EDTYPE, EOPTION, EREFUSED, ENOMEM, EINTR. */
gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_cg_options *o, gb_node **x, gb_cg_info *info,
                       gb_error *err);

/* sum(u * (b - A x)), lazy; b, x, u (n) or (n, r). */
gb_status gb_residual_form (gb_node *a, gb_node *b, gb_node *x, gb_node *u, gb_node **out, gb_error *err);

/* For a solution x of A x = b and a cotangent g of x: a lazy scalar whose gradient in A and b is that of
** <g, x>. With u = A^-1 g, found by another solve, it is sum(u * (b - A x)), u and x constant. */
gb_status gb_solve_cg_grad (gb_node *a, gb_node *b, gb_node *x, gb_node *g, const gb_cg_options *o,
                            gb_node **surrogate, gb_cg_info *info, gb_error *err);

/* The coefficients of a run's first cycle: for column c, steps[c] of them, entry j at [j * r + c]. */
typedef struct gb_cg_trace {
  int max_steps;
  int *steps;                      /* (r) */
  double *alpha, *beta;            /* (max_steps, r) */
} gb_cg_trace;

/* Memory of a trace, and a trace in it. */
size_t gb_cg_trace_bytes (const gb_cg_options *o, size_t r);
gb_cg_trace gb_cg_trace_bind (const gb_cg_options *o, size_t r, void *memory);

/* The loop beneath: b, x, residual (n, r) doubles, rows of columns; x is the first guess where 'guess',
** and the result. 'residual' gets b - A x, recomputed. 'trace' may be NULL: then no condition. */
gb_status gb_cg_columns (gb_product *a, const gb_cg_options *o, const double *b, bool guess, double *x,
                         double *residual, gb_cg_trace *trace, gb_cg_info *info, gb_error *err);

#endif
