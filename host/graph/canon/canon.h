/* canon.h - the parts of the canonicaliser; private to graph/.
**
** A rule looks at an op about to be built and returns a more canonical, equal node, or NULL for "build it as
** it is". Rules are pure functions of structure, look a bounded number of nodes deep, and never change which
** finite inputs give NaN or infinity (x * 0 stays, x / x stays); they may change rounding. They return nodes
** built through gb_node_build, so a rule only needs to handle canonical inputs. */
#ifndef GB_GRAPH_CANON_CANON_H
#define GB_GRAPH_CANON_CANON_H

#include "graph/formula.h"

typedef struct gb_pending_op {
  gb_op op;
  int nin;
  gb_node *const *in;
  const gb_attr *attr;
} gb_pending_op;

/* scalar.c: products of powers. c * prod atom[i]^power[i], atoms in canonical order, powers never 0. */
#define GB_MONO_ATOMS 8
typedef struct gb_mono {
  double c;
  int n;
  gb_node *atom[GB_MONO_ATOMS]; /* borrowed from the node taken apart, or held by the expression */
  int power[GB_MONO_ATOMS];
} gb_mono;

/* Its elements are never negative, whatever its inputs are: as far as a few levels show. */
bool gb_is_nonnegative (const gb_node *n);

/* A factor common to a whole operand: a scalar times a vector along the operand's last axis. */
typedef struct gb_factor {
  gb_mono scalar, vector;
} gb_factor;

gb_factor gb_factor_one (void);
/* f *= n^power; false (f unusable) if an atom would meet its own reciprocal or the factor grows too long. */
bool gb_factor_mul (gb_formula *e, gb_factor *f, gb_node *n, int power);
bool gb_factor_join (gb_factor *f, const gb_factor *by, int power);
bool gb_factor_is_one (const gb_factor *f);
bool gb_factor_equal (const gb_factor *a, const gb_factor *b); /* constants to 4 ulp */
bool gb_mono_is_one (const gb_mono *m);
bool gb_mono_same_atoms (const gb_mono *a, const gb_mono *b);
bool gb_mono_nonnegative (const gb_mono *m);
gb_node *gb_mono_build (gb_formula *e, const gb_mono *m,
                        gb_dtype t); /* the normal form; the empty product is CONST 1 */

bool gb_is_const (const gb_node *n, double v); /* CONST v of any dtype */
/* True if 'n' is op(...) and still has its inputs. */
static inline bool gb_is_op (const gb_node *n, gb_op op) { return n->op == op && n->nin > 0; }
bool gb_is_scalar (const gb_node *n);                       /* 0-d float */
bool gb_node_precedes (const gb_node *a, const gb_node *b); /* order of commuting inputs */

/* points.c: from broadcast differences to rows of points. */
/* Splits 'x' into core * factor, core of x's shape; vectors along the last axis count as factors only if
** 'features'. */
gb_node *gb_points_peel (gb_formula *e, gb_node *x, bool features, gb_factor *f);
/* P and Q, broadcast against each other, as an outer form with feature axis k (-1: none): one varies along
** 'row' and not 'col', the other the reverse, both along k. False if they have no such form. row < col. */
typedef struct gb_pairing {
  int ndim, row, col, k;
  bool swapped; /* Q has the row axis */
  bool exact;   /* no role was given to an axis of extent 1 along which neither varies */
} gb_pairing;
bool gb_points_pair (const gb_node *p, const gb_node *q, int k, gb_pairing *out);
/* (batch..., points, features) from an operand of the pairing that lacks axis 'lacks' and runs along axis
** 'has'. */
gb_node *gb_points_of (gb_formula *e, gb_node *p, const gb_pairing *pair, int has, int lacks);
/* Restores the order of axes that the broadcast value without k had, for a (batch..., row, col) value. */
gb_node *gb_points_restore (gb_formula *e, gb_node *value, const gb_pairing *pair);

/* sqdist.c */
gb_node *gb_canon_sqdist (gb_formula *e, const gb_pending_op *d);      /* SQDIST itself */
gb_node *gb_canon_sum_squares (gb_formula *e, const gb_pending_op *d); /* SUM of a squared difference */
gb_node *gb_canon_square (gb_formula *e,
                          const gb_pending_op *d); /* SQUARE of a difference of one feature, or of a root */
gb_node *gb_canon_rescale (gb_formula *e, const gb_pending_op *d); /* MUL, DIV, NEG of a scaled SQDIST */
gb_node *gb_canon_radial (gb_formula *e, const gb_pending_op *d);  /* EXP and RADIAL */
/* For SQDIST or MUL(SQDIST, scalar): the SQDIST, with its factor multiplied into m; else NULL. */
gb_node *gb_sqdist_of (gb_formula *e, gb_node *n, gb_factor *f);
/* f |x - y|^2: the vector becomes the weights. */
gb_node *gb_sqdist_scaled (gb_formula *e, gb_node *x, gb_node *y, const gb_factor *f);

/* sum.c: sums of terms that complete a square. */
gb_node *gb_canon_terms (gb_formula *e, const gb_pending_op *d); /* ADD, SUB */

/* contract.c */
gb_node *gb_canon_matmul (gb_formula *e, const gb_pending_op *d);
gb_node *gb_canon_sum_products (gb_formula *e, const gb_pending_op *d); /* SUM of a broadcast product */
gb_node *gb_canon_diffmv (gb_formula *e, const gb_pending_op *d);
gb_node *gb_canon_permute (gb_formula *e, const gb_pending_op *d);

/* joined.c: joined values and puts that stream */
#define GB_CAT_PARTS 16
gb_node *gb_canon_put (gb_formula *e, const gb_pending_op *d);            /* PUT */
gb_node *gb_canon_joined_product (gb_formula *e, const gb_pending_op *d); /* MATMUL */
/* SUM, PROD, MIN, MAX, LOGSUMEXP, ANY, ALL, ARGMIN, ARGMAX */
gb_node *gb_canon_joined_reduction (gb_formula *e, const gb_pending_op *d);

/* scale.c: SUM, DIFFMV, MATMUL whose first input is a tile times a scalar */
gb_node *gb_canon_scale_out (gb_formula *e, const gb_pending_op *d);

/* map.c */
/* identities, constants, order of inputs */
gb_node *gb_canon_algebra (gb_formula *e, const gb_pending_op *d);
/* unsqueeze and expand out of elementwise ops */
gb_node *gb_canon_lift (gb_formula *e, const gb_pending_op *d);
gb_node *gb_canon_sum_expanded (gb_formula *e, const gb_pending_op *d);
gb_node *gb_canon_reduce_units (gb_formula *e, const gb_pending_op *d);

#endif
