/* internal.h - what the files of lowering share.
**
** structure.c  the canonical order and the structural hash
** decide.c     which values are stored and which live inside a consumer's tiles
** index.c      how the indices of a view's input follow from the view's
** draft.c      values that must exist become drafts of steps, in dependency order
** emit.c       a draft's roots become instructions, operands and outputs
** emit_ops.c   the instruction of one node: fronts, inner reductions, generators
** twin.c       nodes that are each other's transpose
** merge.c      drafts that share a tile value become one traversal
** roles.c      axes that are one in memory, programs that mirror themselves
** lower.c      from drafts to steps
** identity.c, dump.c   a program up to renaming; a program as text */
#ifndef GB_LOWER_INTERNAL_H
#define GB_LOWER_INTERNAL_H

#include "base/grow.h"
#include "lower/lower.h"

/* The index of one dimension as an affine function of the domain's axes. */
typedef struct gb_ix {
  ptrdiff_t off;
  ptrdiff_t coef[GB_FOLD_AXES];
} gb_ix;

typedef struct gb_map {
  gb_ix dim[GB_MAXDIM];
} gb_map;

/* What is known of a node before any program is written; a function of the graph alone. */
typedef struct gb_decision {
  bool stored;      /* computed by a step of its own wherever it is needed; else inlined into its consumers */
  bool staged;      /* stored, but to consumers a value that streams: it may exist a window at a time */
  bool on_staged;   /* such a value is among what it is made of */
  bool on_repeated; /* an inlined reduction whose result is spread is among what it is made of */
  bool asked;       /* a requested output */
  unsigned reduced_above; /* dimensions that some chain of MAP and VIEW consumers ends up reducing */
  double visited;         /* elements that consumers look at, counted once a consumer */
  /* most reads of elements by one consumer, over maps and views up to what is computed once an element */
  double read;
  int nsources; /* distinct stored values it is made of, up to GB_SOURCES; -1: more */
  size_t source[4];
  double source_numel; /* their elements together */
  double widest;       /* most elements of a stored value or generated vector that it is made of */
} gb_decision;
#define GB_SOURCES 4
#define GB_SPLITS 4

typedef enum gb_form_of_root {
  GB_ROOT_STORE,
  GB_ROOT_REDUCE,
  GB_ROOT_MATMUL,
  GB_ROOT_DIFFMV
} gb_form_of_root;

/* One result of a fold. */
typedef struct gb_root {
  gb_node *node;
  gb_form_of_root form;
  gb_map out;                     /* index of each dimension of the result */
  gb_map in;                      /* REDUCE: of each dimension of the input */
  gb_ix inner;                    /* MATMUL, DIFFMV: the contracted index */
  gb_axes kept, reduced, columns; /* columns: right-hand sides or features, a subset of kept */
  int buf[2];                     /* where the outputs go, -1 = not wanted */
} gb_root;

/* A step before its program: a fold with its roots, or an opaque call. */
typedef struct gb_draft {
  gb_node *opaque; /* NULL: a fold */
  int naxes;
  size_t extent[GB_FOLD_AXES];
  gb_axes columns;
  gb_root *root;
  int nroots;
  int *in, nin; /* buffers read */
  /* loops of inlined sums that are two loops each */
  struct gb_split {
    gb_node *node;
    int dim;
    size_t inner;
  } split[GB_SPLITS];
  int nsplits;
  struct gb_shared {
    gb_node *node;
    gb_map map;
  } * shared; /* values that vary along two axes or more */
  int nshared;
  size_t in_room, shared_room;
  struct gb_emitter *written; /* its program, owned; NULL where other roots have joined it */
  int merged_into;            /* -1, or the draft that does this one's work */
} gb_draft;

typedef struct gb_lower_state {
  gb_graph *graph;
  gb_node *const *order; /* borrowed */
  size_t count;
  gb_decision *decision; /* by n->index */
  const bool *inlined;   /* [count] products that are not staged; NULL: all may be */
  int *buf_of;           /* [count * GB_MAX_OUTPUTS] buffer, -1 = none yet */
  gb_buf *buf;
  int nbufs;
  gb_draft *draft;
  int ndrafts;
  size_t buf_room, draft_room;
  int depth;   /* of nested requests */
  bool sealed; /* steps are being written from counts already taken: no more drafts, no more buffers */
  gb_error *err;
} gb_lower_state;

/* A program being written. Instructions go to the outermost open loop that they depend on. */
typedef struct gb_scope {
  int axis;
  unsigned serial; /* tells this opening of a loop from others at the same depth */
  gb_ins *ins;
  int n;
  size_t room;
} gb_scope;

typedef struct gb_known { /* a value and where it is valid */
  gb_node *node;
  gb_map map;
  int value, level;
  unsigned serial;
  int before; /* 1 + the last of its bucket before it, or 0 */
} gb_known;

enum { GB_KNOWN_BUCKETS = 512 }; /* by gb_twin_key of the node */

typedef struct gb_emitter {
  gb_lower_state *s;
  gb_draft *d;
  gb_dtype compute;
  gb_axes inner;    /* domain axes that are loops inside tiles */
  gb_axes features; /* axes of fronts and inner reductions, added while emitting */
  /* whose sum an axis loops over; NULL: nobody's alone */
  struct {
    gb_node *node;
    int dim;
  } loop_of[GB_FOLD_AXES];
  int naxes;
  size_t extent[GB_FOLD_AXES];
  gb_scope scope[GB_FOLD_AXES + 1];
  int depth;  /* innermost open scope */
  int nested; /* values being written inside one another */
  unsigned serial;
  gb_operand *operand;
  int noperands;
  gb_axes *deps; /* by value number */
  int nvalues;
  gb_known *known;
  int nknown, bucket[GB_KNOWN_BUCKETS]; /* 1 + the last of each bucket, or 0 */
  gb_out *out;
  int nouts;
  int *slot; /* buffer of each operand slot */
  int nslots;
  int *out_slot; /* buffer of each output slot */
  int nout_slots;
  size_t *constant; /* positions of CONST nodes */
  int nconstants;
  size_t operand_room, deps_room, known_room, out_room, slot_room, out_slot_room, constant_room;
  double full_numel; /* largest inlined value and where it was written */
  gb_node *full;
  int split_axis; /* a reshape needs this axis as two: [split_outer][rest]; -1 = none */
  size_t split_inner;
  gb_status rc;
} gb_emitter;

/* index.c */
gb_ix gb_ix_axis (int axis);
gb_axes gb_ix_deps (const gb_ix *ix);
gb_axes gb_map_deps (const gb_map *m, int ndim);
/* MAP: the input's indices */
gb_map gb_map_broadcast (const gb_map *m, const gb_shape *of, const gb_shape *input);
/* Indices of the input of view n. False: a reshape that is not affine; then *axis >= 0 names an axis that,
** split with *inner as the extent of the faster part, makes it so, or *axis = -1. */
bool gb_map_through_view (const gb_node *n, const gb_map *m, const size_t *extent, gb_map *out, int *axis,
                          size_t *inner);

/* twin.c */
bool gb_is_twin (const gb_node *a, const gb_node *b);
uintptr_t gb_twin_key (const gb_node *n);             /* the same for twins; others may have it, too */
gb_map gb_map_transposed (const gb_map *m, int ndim); /* the last two dimensions exchanged */

/* decide.c */
gb_status gb_decide (gb_lower_state *s, size_t nouts, gb_node *const *outs);
bool gb_is_leaf (const gb_node *n);
/* Has the value of its first input and computes nothing (gb_node_reads): a cast of i32 to i64, too, for both are
** computed in i64. */
static inline bool gb_hands_on (const gb_node *n) {
  if (n->op == GB_OP_CAST)
    return n->nin == 1 && gb_node_dtype(n) == GB_I64 && gb_node_dtype(n->in[0]) == GB_I32;
  return n->op == GB_OP_DETACH || n->op == GB_OP_WITH_SLOPE;
}
bool gb_streams (const gb_lower_state *s, const gb_node *n); /* far more elements than what it is made of */
/* CAST: reads its input, as it is stored or, of i32 to i64, computed, in the result's type */
bool gb_is_inlined_cast (const gb_lower_state *s, const gb_node *n);
bool gb_matmul_is_fold (const gb_lower_state *s, const gb_node *n);
bool gb_both_stream (const gb_lower_state *s, const gb_node *n); /* MATMUL: the operands */
/* MATMUL: the operand that is a tile value while the other one, stored, holds right-hand sides; where both
** stream the smaller one is stored, by a step of its own. -1: the tile value is the product of one element
** of each. */
int gb_tile_side (const gb_lower_state *s, const gb_node *n);

/* draft.c: makes sure the value exists; its buffer, or -1 with s->err filled and *rc set. */
int gb_need (gb_lower_state *s, gb_node *n, int output, gb_status *rc);
int gb_need_contiguous (gb_lower_state *s, gb_node *n, gb_status *rc); /* its elements in row-major order */
/* [nbufs]: the draft that computes each buffer, -1 = none */
void gb_find_makers (const gb_lower_state *s, int *maker);
void gb_draft_clear (gb_draft *d);
void gb_draft_forget (gb_draft *d); /* what is written is no longer its program */

/* emit.c */
gb_dtype gb_class_of (const gb_node *n);      /* the compute type of a value; GB_BOOL: it goes with any */
gb_dtype gb_compute_type (const gb_draft *d); /* GB_BOOL: it goes with any */
void gb_emitter_init (gb_emitter *e, gb_lower_state *s, gb_draft *d, gb_axes inner);
void gb_emitter_clear (gb_emitter *e);
gb_status gb_emit_draft (gb_emitter *e);
/* Of a draft of one root: until its buffers have numbers, they are numbered so. */
static inline int gb_unnumbered (int k) { return -1 - k; }
void gb_emit_number_outputs (gb_emitter *e);
int gb_emit_value (gb_emitter *e, gb_node *n, const gb_map *m); /* a value number, or -1 and e->rc */
int gb_emit_ins (gb_emitter *e, gb_ins ins, gb_axes deps);
int gb_emit_map (gb_emitter *e, gb_op op, int a, int b, int c);
bool gb_emit_open (gb_emitter *e, int axis);
bool gb_emit_close (gb_emitter *e, gb_axes result_deps);
/* for features or a loop; not one of 'taken' */
int gb_emit_axis (gb_emitter *e, size_t extent, gb_axes taken);
int gb_emit_acc (gb_emitter *e, gb_ins ins, gb_axes deps); /* an ACC, in the innermost open loop */
int gb_emit_load (gb_emitter *e, int operand);             /* operand -1: -1 */
/* buf -1: an index without memory. */
int gb_emit_strided (gb_emitter *e, int buf, const gb_map *m, int ndim, const ptrdiff_t *stride);
/* The operand of a value that is stored, or is made so. */
int gb_emit_stored (gb_emitter *e, gb_node *n, const gb_map *m);
/* the same; one that streams may exist a window at a time */
int gb_emit_staged (gb_emitter *e, gb_node *n, const gb_map *m);
/* sum_j a_ij b_j with b varying along the reduced axis only: which input of the product b is, and the
** indices of both; else -1. */
int gb_weight_of_sum (const gb_emitter *e, const gb_root *r, gb_map *weight, gb_map *value);
bool gb_emit_resolve (gb_emitter *e, gb_node **n, int *output, gb_map *m);
void gb_emit_full (gb_emitter *e, gb_node *n);

/* emit_ops.c: the value of an inlined node, whatever decide.c says of it. */
int gb_emit_body (gb_emitter *e, gb_node *n, const gb_map *m);
gb_monoid gb_monoid_of (gb_op op);

/* merge.c, roles.c */
gb_status gb_merge_drafts (gb_lower_state *s);
void gb_join_axes (gb_emitter *e);
void gb_mark_symmetric (gb_emitter *e, int lane, int tile, gb_fold *f);

#endif
