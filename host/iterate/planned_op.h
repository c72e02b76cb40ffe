/* planned_op.h - ops that run under a plan: between two of its steps they evaluate further plans, within the
** scratch that they declared.
**
** A run lends them its scratch as if it were the device's memory (device/ledger.h) and its inputs as leaves
** that lose their values when it is over; what the run changed of the graph's state is put back (statistics:
** plan/run/call.c). An op over a lazy matrix is registered once for a structure of a graph: its inputs are the boundary of the
** matrix, and a later matrix of the same structure finds it. */
#ifndef GB_ITERATE_PLANNED_OP_H
#define GB_ITERATE_PLANNED_OP_H

#include "graph/call.h"
#include "iterate/boundary.h"
#include "plan/plan.h"

/* -- one run */

typedef struct gb_planned_run {
  gb_graph *graph;
  gb_ledger outer;
  const char *where;
  int tracing;
} gb_planned_run;

/* From here to gb_planned_end all that is allocated lies in 'scratch', 'extent' bytes, and is no more than
** 'limit'. Nests. */
void gb_planned_begin (gb_planned_run *q, gb_graph *g, void *scratch, size_t extent, size_t limit);
void gb_planned_end (gb_planned_run *q);

/* A leaf with the values of an argument, counted; and its end: nodes that were built on it can no longer be
** computed. NULL is fine. */
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
  /* Is 'op', of this kind and graph, what 'ask' is for, beside its roots? */
  bool (*same)(const gb_planned_op *op, const void *ask);
  /* Sets the rest of the op, and in 'bytes' what a run allocates. */
  gb_status (*init)(gb_planned_op *op, const void *ask, gb_error *err);
  /* A run with leaves and roots; or, where it needs neither, 'bare', that of the registry (graph/call.h). */
  gb_status (*run)(gb_planned_op *op, const gb_planned_args *q, const gb_tensor *out, gb_error *err);
  gb_status (*bare)(void *op, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                    void *scratch, gb_error *err);
  /* A run succeeded: its report is to be kept in this slot of GB_PLANNED_REPORTS. 'where': the line of the
  ** script that built the node. */
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
  uint64_t serial[GB_PLANNED_REPORTS]; /* of the nodes that ran last; UINT64_MAX: none */
  size_t reports;
};

/* The op of a kind over roots with the boundary b, found or made, counted. Errors: ENOMEM, and those of
** 'init'. */
gb_status gb_planned_find (const gb_planned_kind *kind, size_t nroots, gb_node *const *roots,
                           const gb_boundary *b, const void *ask, gb_planned_op **out, gb_error *err);

/* The node of an op over its boundary b and further inputs, of which NULL ones are left out. Drops the count
** of the op. */
gb_status gb_planned_apply (gb_planned_op *op, const gb_boundary *b, int more, gb_node *const *extra,
                            const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err);

/* The op of a node, and the slot of its last run; NULL where it did not run, or too many others did since. */
const gb_planned_op *gb_planned_report (const gb_node *x, size_t *slot);

#endif
