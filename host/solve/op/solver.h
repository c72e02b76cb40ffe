/* solver.h - iterative solves as nodes of the graph: lazy, planned to the byte, differentiable.
**
** A solve is a registered op (graph/call.h) over the boundary of its matrix (boundary.h), which is never
** stored. Its scratch is the workspace for all its columns and steps, the preconditioner, and the peak of
** one product. Its gradient is the implicit one: b_bar = A^-1 x_bar is another solve, and A_bar = -b_bar
** x' reaches the boundary as a streamed contraction. Solves of one structure share an op, so that
** the steps of an optimiser are planned once. */
#ifndef GB_SOLVE_SOLVER_H
#define GB_SOLVE_SOLVER_H

#include "solve/logdet/marginal.h"

typedef struct gb_solver_report gb_solver_report;
typedef void gb_solver_missed (void *ud, const char *where, const gb_solver_report *report);

typedef struct gb_solver_options {
  gb_logdet_options run; /* solve.precond and solve.x0 are not read: see 'precond' and gb_solver_solve */
  gb_precond_spec precond;
  /* called after each solve that missed its tolerance, those of gradients too, with the script line that built
  ** it; NULL = not */
  gb_solver_missed *missed;
  void *ud;
} gb_solver_options;

/* The report of a solve that has run. */
struct gb_solver_report {
  gb_logdet_info info; /* of a solve: info.solve */
  gb_solver_options o;
  bool marginal;
};

/* x = A^-1 b, lazy, of b's shape, (n) or (n, r), and dtype; f64 where mixed. k (n, n) and noise, 0-d or
** (n), on its diagonal: A = k + noise, for the preconditioner; NULL where it needs none. x0: first guess,
** or NULL. Errors: ESHAPE, EDTYPE, EOPTION, EREFUSED, ENOMEM; when evaluated those of gb_solve_cg. Not
** converging is not an error: it stands in the report. */
gb_status gb_solver_solve (gb_node *a, gb_node *b, gb_node *x0, gb_node *k, gb_node *noise,
                           const gb_solver_options *o, gb_node **x, gb_error *err);

/* For b (n): *head (4) f64: inv_quad, log det, its standard error, 0, differentiable in A and b; *all:
** f64, as marginal.h says, a constant to gradients. Errors: as above. */
gb_status gb_solver_marginal (gb_node *a, gb_node *b, gb_node *k, gb_node *noise, const gb_solver_options *o,
                              gb_node **head, gb_node **all, gb_error *err);

/* The report of x or *all once it has run; NULL before, or where 64 others of its op ran since. Valid
** until the next run. */
const gb_solver_report *gb_solver_report_of (const gb_node *x);

#endif
