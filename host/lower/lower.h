/* lower.h - from graph to steps: which values exist at all, and the fold programs and opaque calls that
** compute them.
**
** Lowering fixes the arithmetic. It depends on graph, shapes, dtypes and policy only; never on budget,
** threads, free memory, the number of right-hand sides run together, or what has been observed before.
**
** The result holds no node: sources are positions in the canonical order of the graph, so that a lowered
** program serves every graph of the same structure (an optimiser step never lowers again). */
#ifndef GB_LOWER_LOWER_H
#define GB_LOWER_LOWER_H

#include "graph/node.h"

typedef enum gb_buf_class { GB_BUF_LEAF, GB_BUF_OUTPUT, GB_BUF_CACHE, GB_BUF_TEMP } gb_buf_class;

/* A value that exists in memory. Leaves keep their own strides; all others are contiguous row-major. */
typedef struct gb_buf {
  gb_buf_class cls;
  size_t source; /* position in the canonical order (gb_structure) */
  int output;    /* which output of that node */
  int device;    /* that it lies on (gb_graph_device) */
  gb_dtype dtype;
  gb_shape shape;
  ptrdiff_t stride[GB_MAXDIM];
  size_t bytes; /* of the contiguous form; leaves: 0 */
  bool staged;  /* made by a fold for folds alone, which can make it a window at a time (plan/place/nest.h) */
  bool
      elsewhere; /* on another device than its node's value, for which it never stands in (plan/structure/home.c) */
  const char *where, *name; /* provenance, interned */
  double recompute_s;       /* CACHE: seconds it took, set by execution */
} gb_buf;

typedef struct gb_step {
  bool is_fold;
  int device;   /* that runs it and holds its scratch and its results; of a MOVE the one that values go to */
  int asked;    /* the device of its nodes; another one than 'device' where that one does not run it: */
  gb_lack lack; /* why not */
  bool
      added; /* a MOVE for the sake of such a step (plan/structure/home.c); attr.i[1]: elements from the input's
                ** first one to the first one that is copied */
  gb_fold fold;       /* is_fold; operand slots index 'in', out slots index 'out' */
  gb_opaque opaque;   /* else */
  size_t call_source; /* opaque CALL: position of its node */
  int nin, nout, nconstants;
  int *in, *out;          /* buffer numbers */
  size_t *constant;       /* positions of the CONST nodes whose numbers BIND reads */
  size_t full_numel;      /* largest value of the region that is never stored, in elements; 0 = none */
  const char *full_where; /* its provenance */
  const char *what;       /* short text for reports: "fold rbf d=3 r=1: z", "cholesky" */
} gb_step;

/* It runs on the CPU, since the device of its nodes does not run it. */
static inline bool gb_step_is_home (const gb_step *st) { return st->asked != st->device; }

typedef struct gb_lowered {
  uint64_t structure; /* hash of the graph's structure */
  size_t nnodes;      /* length of the canonical order */
  int nbufs, nsteps, nouts;
  int ndevices; /* 1 + the highest number of a device */
  int home;     /* where registered ops have memory beside that of device 0; 0: they have none */
  gb_buf *buf;
  gb_step *step; /* in execution order */
  int *out;      /* buffer of each requested output; leaves may be outputs */
} gb_lowered;

/* The canonical order of a graph: topological, fixed by structure; node->index is the position until the graph
** is walked again. 'structure' hashes op, attr (constants' values excluded), shapes, dtypes, strides of
** leaves, and the sharing pattern. */
typedef struct gb_order {
  gb_node **node; /* borrowed nodes, from gb_graph_order */
  size_t count;
  uint64_t structure;
} gb_order;

/* Fills '*o'. o->node not NULL: the graph's last walk, by GB_WALK_READ from 'outs', which is not repeated.
** Errors: ENOMEM; o->node is then NULL. */
gb_status gb_structure (gb_graph *g, size_t nouts, gb_node *const *outs, gb_order *o, gb_error *err);

/* Errors: ENOMEM; ESHAPE never (checked at construction); EREFUSED for a region that cannot stream and is
** named. */
gb_status gb_lower (gb_graph *g, size_t nouts, gb_node *const *outs, gb_lowered **out, gb_error *err);
/* The same of a graph whose order is known. 'inlined' [o->count]: products that are inlined where they are
** read, not staged; NULL: none. */
gb_status gb_lower_ordered (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                            const bool *inlined, gb_lowered **out, gb_error *err);
void gb_lowered_free (gb_lowered *l);

/* Human-readable program, for tests, explain and debugging. Returns malloc'ed text. */
char *gb_fold_dump (const gb_fold *f);
uint64_t gb_fold_identity (const gb_fold *f);

#endif
