/* op.h - an op that solves, as its two files share it; private to solve/op.
**
** Its inputs: the boundary of A (and of k) in the order of the holes, the noise where there is one, b, x0
** where there is one; of a HEAD, last, the result of the MARGINAL beside it. */
#ifndef GB_SOLVE_SOLVER_OP_H
#define GB_SOLVE_SOLVER_OP_H

#include "iterate/planned_op.h"
#include "solve/op/solver.h"

/* HEAD: the first numbers of a MARGINAL, and their gradient. */
typedef enum gb_solver_kind { GB_SOLVER_SOLVE, GB_SOLVER_MARGINAL, GB_SOLVER_HEAD } gb_solver_kind;

typedef struct gb_solver_op {
  gb_planned_op planned; /* roots: A, and k where the preconditioner needs it */
  gb_solver_kind kind;
  bool has_noise, each, has_x0; /* each: the noise is (n), else 0-d */
  size_t r;                     /* columns */
  gb_solver_options o;
  gb_solver_report latest, report[GB_PLANNED_REPORTS];
} gb_solver_op;

static inline gb_node *gb_solver_matrix (const gb_solver_op *op) { return op->planned.root[0]; }
static inline gb_node *gb_solver_kernel (const gb_solver_op *op) { return op->planned.root[1]; } /* or NULL */
static inline size_t gb_solver_input_b (const gb_solver_op *op) { return op->planned.hole.n + op->has_noise; }
static inline size_t gb_solver_input_x0 (const gb_solver_op *op) { return gb_solver_input_b(op) + 1; }

/* grad.c */
gb_status gb_solver_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                          gb_error *err);
gb_status gb_solver_run_head (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                              void *scratch, gb_error *err);

#endif
