/* op.h - an op that solves, as its two files share it; private to solve/op.
**
** Its inputs: the boundary of A (and of k) in the order of 'hole', the noise where there is one, b, x0
** where there is one; of a HEAD, last, the result of the MARGINAL beside it. */
#ifndef GB_SOLVE_SOLVER_OP_H
#define GB_SOLVE_SOLVER_OP_H

#include "graph/call.h"
#include "solve/op/solver.h"

/* HEAD: the first numbers of a MARGINAL, and their gradient. */
typedef enum gb_solver_kind { GB_SOLVER_SOLVE, GB_SOLVER_MARGINAL, GB_SOLVER_HEAD } gb_solver_kind;

#define GB_SOLVER_REPORTS 64

typedef struct gb_solver_op {
  struct gb_solver_op *next;
  gb_graph *graph;
  gb_solver_kind kind;
  int number; /* in the registry */
  size_t nholes;
  gb_node **hole;               /* placeholders for the boundary; counted */
  gb_node *a, *k;               /* over them; counted; k NULL: not needed */
  bool has_noise, each, has_x0; /* each: the noise is (n), else 0-d */
  size_t r;                     /* columns */
  gb_solver_options o;
  size_t bytes;                       /* scratch */
  uint64_t serial[GB_SOLVER_REPORTS]; /* of the nodes that ran last; UINT64_MAX: none */
  gb_solver_report report[GB_SOLVER_REPORTS];
  size_t reports;
} gb_solver_op;

static inline size_t gb_solver_input_b (const gb_solver_op *op) { return op->nholes + op->has_noise; }
static inline size_t gb_solver_input_x0 (const gb_solver_op *op) { return gb_solver_input_b(op) + 1; }

const char *gb_solver_name (gb_solver_kind kind);

/* grad.c */
gb_status gb_solver_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                          gb_error *err);
gb_status gb_solver_run_head (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                              void *scratch, gb_error *err);

#endif
