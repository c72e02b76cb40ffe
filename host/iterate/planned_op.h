/* planned_op.h - ops that run under a plan and evaluate further plans, within the scratch that they declared.
**
** During a run the scratch is the device's memory (device/ledger.h), and inputs are leaves that lose their
** values at its end; then the state of the graph is as before (statistics: plan/run/call.c). An op over a
** lazy matrix is registered once for each structure in a graph: its inputs are the boundary of the matrix,
** and a later matrix of the same structure shares it. */
#ifndef GB_ITERATE_PLANNED_OP_H
#define GB_ITERATE_PLANNED_OP_H

#include "graph/call.h"
#include "iterate/boundary.h"
#include "plan/plan.h"

/* -- one run */

typedef struct gb_planned_run {
  gb_graph *graph;
  gb_ledger outer, outer_home;
  size_t home_bytes;
  const char *where;
  int tracing;
} gb_planned_run;

/* Until gb_planned_end, allocations on the graph's device come from 'scratch' of 'extent' bytes and may not exceed
** 'limit'; those at its home come from the 'home_bytes' that the op declared, where it did. Nests. */
void gb_planned_begin (gb_planned_run *q, gb_graph *g, void *scratch, size_t extent, size_t limit,
                       size_t home_bytes);
void gb_planned_end (gb_planned_run *q);

/* A counted leaf with the values of an argument. gb_planned_take_back ends it: nodes that were built on it
** can no longer be computed; NULL is allowed. */
gb_status gb_planned_lend (gb_graph *g, const gb_tensor *in, const char *name, gb_node **leaf, gb_error *err);
void gb_planned_take_back (gb_node *leaf);

/* -- ops over a boundary */

#define GB_PLANNED_ROOTS 2
#define GB_PLANNED_REPORTS 64

typedef struct gb_planned_op gb_planned_op;

/* The arguments of a run: a leaf for each input, those of the boundary first, and the roots over them. */
typedef struct gb_planned_args {
  gb_node **leaf, *root[GB_PLANNED_ROOTS];
} gb_planned_args;

/* A kind of op. */
typedef struct gb_planned_kind {
  const char *name;
  size_t size; /* of the op, which begins with a gb_planned_op */
  /* Does 'op', of this kind and graph, match the request 'ask'? Roots are compared by the caller. */
  bool (*same)(const gb_planned_op *op, const void *ask);
  /* Sets the fields behind 'planned', op->bytes to what a run allocates, and op->home_bytes. */
  gb_status (*init)(gb_planned_op *op, const void *ask, gb_error *err);
  /* One run, over leaves and roots. A kind that needs neither has 'bare' instead, the registry's form
  ** (graph/call.h). */
  gb_status (*run)(gb_planned_op *op, const gb_planned_args *q, const gb_tensor *out, gb_error *err);
  gb_status (*bare)(void *op, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                    void *scratch, gb_error *err);
  /* Called after a run that succeeded: keeps its report in slot 0 .. GB_PLANNED_REPORTS - 1. where: the
  ** script line that built the node. */
  void (*ran)(gb_planned_op *op, size_t slot, const char *where);
  gb_status (*grad)(void *op, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                    gb_error *err);
} gb_planned_kind;

struct gb_planned_op {
  gb_planned_op *next;
  const gb_planned_kind *kind;
  gb_graph *graph;
  int number;       /* in the registry */
  gb_boundary hole; /* placeholders for the boundary of the roots */
  size_t nroots;
  gb_node *root[GB_PLANNED_ROOTS];     /* over them; counted */
  size_t bytes;                        /* scratch */
  size_t home_bytes;                   /* as gb_call has them */
  uint64_t serial[GB_PLANNED_REPORTS]; /* of the nodes that ran last; UINT64_MAX: none */
  size_t reports;
};

/* The op of a kind over roots with the boundary b, counted; made where none matches. Errors: ENOMEM, and
** those of 'init'. */
gb_status gb_planned_find (const gb_planned_kind *kind, size_t nroots, gb_node *const *roots,
                           const gb_boundary *b, const void *ask, gb_planned_op **out, gb_error *err);

/* The node of an op over its boundary b and further inputs, of which NULL ones are left out. Drops the count
** of the op. */
gb_status gb_planned_apply (gb_planned_op *op, const gb_boundary *b, int more, gb_node *const *extra,
                            const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err);

/* The op of a node, and the slot of the node's last run; NULL where it did not run, or GB_PLANNED_REPORTS
** other nodes of its op ran since. */
const gb_planned_op *gb_planned_report (const gb_node *x, size_t *slot);

#endif
