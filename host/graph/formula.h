/* formula.h - writing formulas over nodes: a list of any length that owns every intermediate node, and one
** sticky status: for the canonicaliser and for gradient rules, those of registered ops too.
**
** Every gb_ex_* takes borrowed nodes and returns a node the list owns, or NULL once anything has failed
** (NULL inputs give NULL), so that a formula is written without a check between its terms. gb_formula_take
** ends it. Nodes are built by gb_node_build directly: dtypes must agree already. */
#ifndef GB_GRAPH_FORMULA_H
#define GB_GRAPH_FORMULA_H

#include "graph/build.h"

#define GB_FORMULA_INLINE 24

typedef struct gb_formula {
  gb_graph *g;
  gb_error *err;
  gb_status status; /* of the first failure */
  int n, cap;
  gb_node **held; /* 'first' until it is full */
  gb_node *first[GB_FORMULA_INLINE];
} gb_formula;

void gb_formula_init (gb_formula *e, gb_graph *g, gb_error *err);
gb_node *gb_formula_hold (gb_formula *e, gb_node *n); /* takes over one count */
void gb_formula_clear (gb_formula *e);                /* releases everything held */
/* Counts 'n' into '*out' (NULL after a failure), clears, and returns the status. */
gb_status gb_formula_take (gb_formula *e, gb_node *n, gb_node **out);

gb_node *gb_ex_op (gb_formula *e, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                   const gb_shape *shape, gb_dtype dtype);
gb_node *gb_ex_map1 (gb_formula *e, gb_op op, gb_node *a);
gb_node *gb_ex_map2 (gb_formula *e, gb_op op, gb_node *a, gb_node *b);
gb_node *gb_ex_meet (gb_formula *e, gb_op op, gb_node *a, gb_node *b); /* gb_map2: dtypes are adopted */
gb_node *gb_ex_where (gb_formula *e, gb_node *c, gb_node *a, gb_node *b);
gb_node *gb_ex_const (gb_formula *e, double v, gb_dtype t);
gb_node *gb_ex_like (gb_formula *e, double v, const gb_node *a); /* 0-d constant of a's dtype */
gb_node *gb_ex_fill (gb_formula *e, double v, const gb_node *a); /* constant of a's dtype and shape */
gb_node *gb_ex_scale (gb_formula *e, gb_node *a, double factor);
gb_node *gb_ex_shift (gb_formula *e, gb_node *a, double by);
gb_node *gb_ex_unsqueeze (gb_formula *e, gb_node *a, int axis);
gb_node *gb_ex_squeeze (gb_formula *e, gb_node *a, int axis);
gb_node *gb_ex_expand (gb_formula *e, gb_node *a, const gb_shape *s);
gb_node *gb_ex_reshape (gb_formula *e, gb_node *a, const gb_shape *s);
gb_node *gb_ex_permute (gb_formula *e, gb_node *a, const int *axes);
gb_node *gb_ex_swap (gb_formula *e, gb_node *a); /* transpose of the last two axes */
/* (..., n, r) as the columns (n, ... r), and back for the axes 'lead' in front of r columns. */
gb_node *gb_ex_as_columns (gb_formula *e, gb_node *b);
gb_node *gb_ex_from_columns (gb_formula *e, gb_node *c, const gb_shape *lead, size_t r);
gb_node *gb_ex_slice (gb_formula *e, gb_node *a, int axis, size_t start, ptrdiff_t step, size_t extent);
/* mask 0: a itself */
gb_node *gb_ex_reduce (gb_formula *e, gb_op op, gb_node *a, unsigned mask, bool keepdim);
gb_node *gb_ex_matmul (gb_formula *e, gb_node *a, gb_node *b);
gb_node *gb_ex_pick (gb_formula *e, gb_node *a, int output);
gb_node *gb_ex_cast (gb_formula *e, gb_node *a, gb_dtype t);
gb_node *gb_ex_move (gb_formula *e, gb_node *a, int device);

/* start, start + step, ... as a vector of 'n' */
gb_node *gb_ex_range (gb_formula *e, int64_t start, int64_t step, size_t n, gb_dtype t);
/* a vector along an axis of a value with ndim axes */
gb_node *gb_ex_along (gb_formula *e, gb_node *v, int axis, int ndim);
/* (k) bool: which of k values of a PUT along an axis of extent n remain; joined.c */
gb_node *gb_ex_put_wins (gb_formula *e, gb_node *at, size_t n);

static inline gb_node *gb_ex_add (gb_formula *e, gb_node *a, gb_node *b) {
  return gb_ex_map2(e, GB_OP_ADD, a, b);
}
static inline gb_node *gb_ex_sub (gb_formula *e, gb_node *a, gb_node *b) {
  return gb_ex_map2(e, GB_OP_SUB, a, b);
}
static inline gb_node *gb_ex_mul (gb_formula *e, gb_node *a, gb_node *b) {
  return gb_ex_map2(e, GB_OP_MUL, a, b);
}
static inline gb_node *gb_ex_div (gb_formula *e, gb_node *a, gb_node *b) {
  return gb_ex_map2(e, GB_OP_DIV, a, b);
}
static inline gb_node *gb_ex_neg (gb_formula *e, gb_node *a) { return gb_ex_map1(e, GB_OP_NEG, a); }
static inline gb_node *gb_ex_square (gb_formula *e, gb_node *a) { return gb_ex_map1(e, GB_OP_SQUARE, a); }

#endif
