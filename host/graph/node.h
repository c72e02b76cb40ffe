/* node.h - the lazy, hash-consed expression graph.
**
** A node is immutable once built, except for its memoised value. Shapes and dtypes are checked when it is
** built; values are computed when observed (plan/plan.h). Nodes are counted; a graph belongs to one thread.
** All walks and releases are iterative: an expression a million nodes deep neither overflows a stack nor
** leaks. */
#ifndef GB_GRAPH_NODE_H
#define GB_GRAPH_NODE_H

#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"
#include "tensor/tensor.h"

typedef struct gb_node gb_node;
typedef struct gb_graph gb_graph;

enum {
  GB_NODE_PARAM = 1,       /* leaf: a version of a parameter; never merged */
  GB_NODE_GRAD = 2,        /* leaf made by requires_grad; never merged */
  GB_NODE_NEEDS_GRAD = 4,  /* a PARAM or GRAD leaf is below (or it is one) */
  GB_NODE_PLACEHOLDER = 8, /* leaf without a value: gb.empty, solver states; bound when a plan runs */
  GB_NODE_TRACED = 16,     /* leaf standing for one slice inside vmap: observing it is an error */
  GB_NODE_SYMMETRIC = 32,  /* square in the last two axes and symmetric by structure, up to rounding */
  GB_NODE_WEAK =
      64, /* a number, a parameter, or an expression of these alone: adopts the dtype of the other operand */
  /* PARAM leaf whose parameter has a newer version: values that depend on it are not cached */
  GB_NODE_STALE = 128,
  GB_NODE_LENT = 256, /* leaf whose value is taken back at the end of a call; never merged */
  /* its value, of a leaf or held, is a factor that grows (program/appendable.h): input 0 of lower
  ** triangular ops only */
  GB_NODE_GROWN = 512,
  /* its value was given by gb_node_hold: a leaf to evaluation, its op to gradients; never merged */
  GB_NODE_HELD = 1024,
  /* leaf that stands for an expression which is built when it is observed (gb_node_promise); never merged */
  GB_NODE_PROMISE = 2048,
  /* random, and only its value exists (gb_node_drop_inputs): a leaf to evaluation */
  GB_NODE_ENDED = 4096,
  /* a CAT or PUT of values that stream, or an expression of one by elementwise ops and views */
  GB_NODE_JOINED = 8192,
  /* computed during a measurement that has ended: never merged with later nodes */
  GB_NODE_MEASURED = 16384
};

typedef struct gb_value { /* one output of a node */
  gb_dtype dtype;
  gb_shape shape;
  gb_tensor tensor;    /* storage NULL = not computed */
  uint64_t arithmetic; /* signature of the arithmetic that computed the value (plan/) */
  uint64_t made_by;    /* serial of the equal node that computed this value; 0: this node */
} gb_value;

struct gb_node {
  int refs;
  gb_op op;
  unsigned flags;
  int nin, nout;
  int batch;  /* LEAF: 1 + the axis that gb_lazy named as the one to cut; 0: none. Not part of identity */
  int depth;  /* 1 + the deepest unevaluated input; 0 for leaves and evaluated nodes */
  int device; /* number of the device of its values (gb_graph_device) and, but for MOVE, of its inputs */
  uint64_t serial; /* unique in the graph, never reused, ascending: inputs are older than users */
  uint64_t hash;   /* of op, attr, shape, dtype and inputs' serials */
  gb_graph *graph;
  gb_attr attr;
  const char *where; /* interned "script.lua:12" of the first line that built it; "" unknown */
  const char *name;  /* interned variable or parameter name, "" none; the first given stays */
  gb_node *chain;    /* cons table bucket */
  uint64_t mark;     /* for the walk in progress: equals gb_graph.walk when visited */
  size_t index;      /* scratch of the walk in progress */
  int ndropped;      /* inputs released by gb_node_drop_inputs: 'in' then holds their serials, as bits */
  gb_value *out;     /* nout of them */
  gb_node **in;      /* nin of them, counted; 'out' and 'in' lie in the node's own block */
};

/* out[0] under short names. */
static inline const gb_shape *gb_node_shape (const gb_node *n) { return &n->out[0].shape; }
static inline gb_dtype gb_node_dtype (const gb_node *n) { return n->out[0].dtype; }
static inline bool gb_node_has_value (const gb_node *n) { return n->out[0].tensor.storage != NULL; }

#define GB_GRAPH_DEVICES 8

struct gb_graph {
  gb_device *device; /* device 0: of every leaf that a script makes */
  /* further devices, whose values are made by MOVE: numbers 1 .. ndevices; borrowed */
  gb_device *more[GB_GRAPH_DEVICES - 1];
  int nmore;
  unsigned changes;  /* how often device 0 became another one (gb_graph_change_device) */
  int generators_on; /* device of nodes without inputs that are built now */
  gb_node **bucket;  /* cons table, power of two */
  size_t nbuckets, nnodes;
  uint64_t next_serial;
  uint64_t walk;              /* stamp of the last walk; bump before marking */
  uint64_t seed, next_stream; /* gb.seed: streams of RAND nodes are numbered from 0 after each seed */
  const char *where;          /* provenance given to nodes built now; interned; never NULL */
  struct gb_interned *interned;
  struct gb_plan_context *plans; /* owned by plan/ */
  void (*free_plans)(struct gb_plan_context *);
  struct gb_planned_op *planned; /* its ops that run under a plan: iterate/planned_op.h */
  int tracing;                   /* > 0 inside vmap or a traced kernel */
  /* > 0 during a measurement (plan/run/measure.c): older nodes are not found, and keep their inputs */
  uint64_t measured_from;
  size_t nlent;     /* number of LENT leaves */
  size_t npromises; /* number of PROMISE leaves */
  void (*broken)(void *ud,
                 uint64_t serial); /* called when a promise is released that was never kept; must not raise */
  void *broken_ud;
  /* Writes what the script calls a node, for errors; false: nothing. Must neither raise nor allocate. */
  bool (*called)(void *ud, const gb_node *n, char *buf, size_t size);
  void *called_ud;
  uint64_t calling; /* serial of the CALL that is running, and the line that built it */
  const char *calling_where;
  void *calling_home; /* its memory at the home of the graph's device, NULL: none (gb_call.home_bytes) */
};

gb_status gb_graph_new (gb_device *dev, gb_graph **out, gb_error *err);
void gb_graph_free (gb_graph *g);                            /* all nodes must have been released */
const char *gb_graph_intern (gb_graph *g, const char *text); /* "" for NULL and without memory */

static inline gb_node *gb_node_ref (gb_node *n) {
  n->refs++;
  return n;
}
void gb_node_unref (gb_node *n); /* NULL is fine; iterative */

static inline gb_device *gb_graph_device (const gb_graph *g, int number) {
  return number == 0 ? g->device : g->more[number - 1];
}
/* Nodes without inputs, such as numbers, are built on that device from here on; returns the one before. */
static inline int gb_graph_build_on (gb_graph *g, int device) {
  const int before = g->generators_on;
  g->generators_on = device;
  return before;
}

static inline const gb_device *gb_node_device (const gb_node *n) {
  return gb_graph_device(n->graph, n->device);
}

/* Gives up the inputs of a node that has all its values, unless NEEDS_GRAD: nin becomes 0. The node stays in
** the cons table under its old key: the same expression built again over the same inputs becomes a new node
** with these inputs and the value. The dropped node has only its value, which must not be evicted. */
void gb_node_drop_inputs (gb_node *n);

/* Below the roots, nodes that have a value and depend on a lent leaf whose value is taken back lose their
** inputs, also where a gradient could ask for them, since it could not pass. Errors: ENOMEM. */
gb_status gb_graph_end_lent (gb_graph *g, size_t nroots, gb_node *const *roots, gb_error *err);

/* Nodes with serial >= 'from' and a value become MEASURED: the same expression built again is a new node. */
void gb_graph_end_measured (gb_graph *g, uint64_t from);

/* Gives a node its name unless it has one. 'name' is copied. */
void gb_node_set_name (gb_node *n, const char *name);

/* "500x3 (X_train, script.lua:14)", as far as known; a leaf with a name has it before its shape. Returns 'buf'. */
#define GB_NODE_TEXT 256
char *gb_node_text (const gb_node *n, char buf[GB_NODE_TEXT]);

/* Builds op(in...) with attr, or returns the existing equal node that has its inputs, or the canonicaliser's
** equal form (canon.h). Inputs are borrowed; the result is counted. 'shape'/'dtype' only for ops with shape
** rule 'given' or 'reshape', 'expand', 'cast'; else NULL/ignored. Errors: ESHAPE and EDTYPE name both shapes,
** the inputs' names and lines. */
gb_status gb_node_build (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                         const gb_shape *shape, gb_dtype dtype, gb_node **out, gb_error *err);

/* Leaves. 'value' is borrowed and counted; NULL storage makes a placeholder. Identified by storage, view
** and dtype, unless flags say PARAM or GRAD. */
gb_status gb_node_leaf (gb_graph *g, const gb_tensor *value, unsigned flags, const char *name, gb_node **out,
                        gb_error *err);
gb_status gb_node_const (gb_graph *g, double v, gb_dtype t, gb_node **out, gb_error *err);
gb_status gb_node_integer (gb_graph *g, int64_t v, gb_node **out, gb_error *err); /* CONST of i64 */
/* a CONST in another dtype */
gb_status gb_node_const_as (const gb_node *number, gb_dtype t, gb_node **out, gb_error *err);
gb_status gb_node_placeholder (gb_graph *g, const gb_shape *s, gb_dtype t, const char *name, gb_node **out,
                               gb_error *err);

/* 'like' with a known value: 'value', borrowed and counted, of its shape and dtype. Evaluation neither
** computes it again nor walks below it; gradients pass through it as through 'like'. Of an opaque op it is a
** node of the same op and inputs, so that gradient rules find the value too; of another 'like' with a slope
** of 1. If no gradient can ask for 'like' it is a leaf. flags: GROWN or 0. Errors: ESHAPE, EDTYPE, ENOMEM. */
gb_status gb_node_hold (gb_node *like, const gb_tensor *value, unsigned flags, gb_node **out, gb_error *err);
/* The held node n over other inputs, which have the same values. */
gb_status gb_node_hold_again (const gb_node *n, gb_node *const *in, gb_node **out, gb_error *err);

/* A leaf of this shape and dtype that stands for an expression not built yet: gradients may pass through it,
** but nothing can be computed from it before it is kept. */
gb_status gb_node_promise (gb_graph *g, const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err);
/* 'promise' stands for y from now on; y is counted, has its shape and dtype, and does not depend on it.
** Errors: ESHAPE, EDTYPE. */
gb_status gb_node_keep (gb_node *promise, gb_node *y, gb_error *err);
gb_node *gb_node_kept (const gb_node *promise); /* its expression, borrowed; NULL: not kept yet */

/* Gives n, which has no values, those of another node with the same outputs. They must be pinned, not
** caches. */
void gb_node_take_values (gb_node *n, const gb_node *from);

/* devices.c */

/* The number of a device of the graph, which it gets here if it is a new one. Errors: EOPTION past
** GB_GRAPH_DEVICES. */
gb_status gb_graph_add_device (gb_graph *g, gb_device *dev, int *number, gb_error *err);
/* Makes 'dev' device 0; what was it gets the number that 'dev' had. Values stay where they are. Nothing is running, and
** nothing is cached (gb_plans_change_device). Nodes from before are not merged with equal ones from after it where their
** devices are part of them. Errors: as gb_graph_add_device; ENOMEM where the account of 'dev' has no room for the nodes. */
gb_status gb_graph_change_device (gb_graph *g, gb_device *dev, gb_error *err);
/* The number of the device that a tensor with a storage lies on; 0 for a device that the graph does not know. */
int gb_graph_device_of (const gb_graph *g, const gb_tensor *t);
/* a, or its values on another device. Numbers, ranges, identities, and views, sums and products of them and of values
** without axes are built there again; anything else is copied by a MOVE. */
gb_status gb_move (gb_node *a, int device, gb_node **out, gb_error *err);
/* Errors: EDEVICE, "who: this runs on cpu, and ...", for a node of another device than the graph's own. */
gb_status gb_node_at_home (const gb_node *n, const char *who, gb_error *err);
/* Goes with its readers: a value without axes, or an expression of numbers by elementwise ops and views. */
bool gb_follows (const gb_node *n);
/* The device of the inputs that do not follow others; where all do, that of the first that somebody placed: numbers
** lie on device 0 unless a script says otherwise. Errors: EDEVICE, they lie on several, which 'who' cannot take. */
gb_status gb_find_device (const char *who, int nin, gb_node *const *in, int *device, gb_error *err);
/* True: the inputs lie on one device. */
size_t gb_node_bytes (const gb_node *n); /* that are booked for it */
bool gb_on_one_device (int nin, gb_node *const *in);
/* gb_node_build of inputs that lie on several: those without axes, and those that gb_move builds again, follow
** the others. Errors: EDEVICE where two others differ. */
gb_status gb_build_across (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                           const gb_shape *shape, gb_dtype dtype, gb_node **out, gb_error *err);

/* shape_rules.c: fills n->out[].shape/dtype and nout from op, attr, inputs. */
gb_status gb_shape_infer (gb_op op, int nin, gb_node *const *in, gb_attr *attr, const gb_shape *given,
                          gb_dtype dtype, gb_value out[GB_MAX_OUTPUTS], gb_error *err);

bool gb_op_is_integral (gb_op op); /* an elementwise op or a running sum that whole numbers have, too */

/* widen.c: ops that compute take i32 as i64, also beside i64; ops that move elements keep i32. */
enum { GB_WIDENED = 3 };                                    /* most inputs of an op that computes */
bool gb_widens_input (gb_op op, int input);                 /* of i32 */
bool gb_is_widened (gb_op op, int nin, gb_node *const *in); /* an input is of i32, and widened */
/* gb_node_build with these inputs cast to i64. */
gb_status gb_build_widened (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                            gb_node **out, gb_error *err);
/* A number or a range of i32 as one of i64; NULL: another node, which a CAST widens. */
gb_status gb_widen (gb_node *x, gb_node **out, gb_error *err);

/* canon.c: the pure canonicaliser. *out = a counted, equal, more canonical node, or NULL: build it as it
** is. */
gb_status gb_canon (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr, gb_node **out,
                    gb_error *err);

/* Topological order of what is below the roots, inputs first. Caller frees '*order' with free(). Nodes are
** borrowed. n->index = position; undefined for inputs that the walk omits. */
typedef enum gb_walk {
  GB_WALK_ALL,    /* everything, also inputs that only gradients read */
  GB_WALK_READ,   /* inputs that values depend on (gb_node_reads) */
  GB_WALK_UNKNOWN /* of these, nodes that are not below an existing value */
} gb_walk;
gb_status gb_graph_order (gb_graph *g, size_t nroots, gb_node *const *roots, gb_walk walk, gb_node ***order,
                          size_t *count, gb_error *err);

/* The number of leading inputs that the value of a node depends on; the others serve gradients alone. 0 for a
** held value. */
static inline int gb_node_reads (const gb_node *n) {
  if ((n->flags & GB_NODE_HELD) != 0) return 0;
  return n->op == GB_OP_WITH_SLOPE && n->nin > 0 ? 1 : n->nin;
}

#endif
