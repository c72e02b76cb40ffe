/* op.h - the vocabulary shared by the graph and the devices: ops, profiles, monoids, attributes. */
#ifndef GB_PROGRAM_OP_H
#define GB_PROGRAM_OP_H

#include "tensor/tensor.h"

#define X(id, ...) GB_OP_##id,
typedef enum gb_op {
#include "program/ops.def"
  GB_NOPS
} gb_op;
#undef X

typedef enum gb_kind {
  GB_KIND_LEAF,
  GB_KIND_GEN,
  GB_KIND_MAP,
  GB_KIND_VIEW,
  GB_KIND_REDUCE,
  GB_KIND_FOLD,
  GB_KIND_OPAQUE
} gb_kind;

/* ops.def says what each means. */
typedef enum gb_trait {
  GB_TRAIT_METHOD = 1 << 0,
  GB_TRAIT_RANDOM = 1 << 1,
  GB_TRAIT_KEEP = 1 << 2,
  GB_TRAIT_PARTS = 1 << 3,
  GB_TRAIT_DENSE = 1 << 4,
  GB_TRAIT_DIRECT = 1 << 5,
  GB_TRAIT_FACTOR = 1 << 6,
  GB_TRAIT_PACK = 1 << 7,
  GB_TRAIT_GROW = 1 << 8
} gb_trait;

typedef struct gb_op_info {
  const char *id;   /* "EXP" */
  const char *name; /* "exp" */
  int inputs;       /* -1 = any */
  gb_kind kind;
  int inplace;     /* the input in whose memory output 0 may be written; -1 = none */
  unsigned traits; /* of gb_trait */
  int outputs;
  const char *doc;
} gb_op_info;

extern const gb_op_info gb_ops[GB_NOPS];

static inline bool gb_op_has (gb_op op, gb_trait t) { return (gb_ops[op].traits & t) != 0; }

/* Profiles of RADIAL as functions of u = c s >= 0 (c = 1 / lengthscale^2, s = squared distance):
**   RBF   exp(-u / 2)
**   M12   exp(-sqrt u)
**   M32   (1 + sqrt(3u)) exp(-sqrt(3u))
**   M52   (1 + sqrt(5u) + 5u/3) exp(-sqrt(5u))
**   RQ    (1 + u / (2 alpha))^-alpha
** Order 1 is d/du, order 2 its second derivative; M12 at u = 0 has derivative 0 by convention.
** attr.i[2] = 1 is d/dalpha (RQ only). Source: Rasmussen & Williams (2006), section 4.2. */
typedef enum gb_profile { GB_RBF, GB_M12, GB_M32, GB_M52, GB_RQ, GB_NPROFILES } gb_profile;

typedef enum gb_monoid {
  GB_SUM,
  GB_PROD,
  GB_MINIMUM,
  GB_MAXIMUM,
  GB_LSE,
  GB_ARGMINIMUM,
  GB_ARGMAXIMUM,
  GB_ANYTRUE,
  GB_ALLTRUE,
  GB_KSMALLEST,
  GB_NMONOIDS
} gb_monoid;

/* Compared and hashed bitwise; unused entries are 0. Meaning per op: see ops.def. */
typedef struct gb_attr {
  int64_t i[GB_MAXDIM + 2];
  double f[2];
} gb_attr;

#define GB_MAX_OUTPUTS 3

/* Whether y joins what lies at its positions, entry by entry: any window of the entries continues. */
static inline bool gb_op_joins_entries (gb_op op) {
  return op == GB_OP_INDEX_ADD || op == GB_OP_INDEX_MAX || op == GB_OP_INDEX_MIN;
}

/* Whether input 0 is a lower triangle that may have the layout of 't', PACK or GROW. */
static inline bool gb_op_reads_lower (gb_op op, const gb_attr *attr, gb_trait t) {
  return gb_op_has(op, t) && !(op == GB_OP_TRISOLVE && attr->i[0] != 0);
}

#endif
