/* expr.h - several builds in a row: the first failure sticks, temporaries are released together; private to graph/.
**
** Between gb_expr_begin and gb_expr_end nodes are borrowed from the expression; NULL goes in and comes out after a failure. */
#ifndef GB_GRAPH_EXPR_H
#define GB_GRAPH_EXPR_H

#include "graph/build.h"

#define GB_EXPR_MAX 64

typedef struct gb_expr {
  gb_graph *g;
  gb_error *err;
  gb_status status;
  int n;
  gb_node *held[GB_EXPR_MAX];
} gb_expr;

static inline gb_expr gb_expr_begin (gb_graph *g, gb_error *err) { return (gb_expr){.g = g, .err = err}; }

/* Hands the expression the node just built into '*n' with outcome 'st': n = gb_expr_keep(&e, gb_build(.., &n, err), &n). */
gb_node *gb_expr_keep (gb_expr *e, gb_status st, gb_node *const *n);

gb_node *gb_expr_number (gb_expr *e, double v, gb_dtype t);
gb_node *gb_expr_map1 (gb_expr *e, gb_op op, gb_node *a);
gb_node *gb_expr_map2 (gb_expr *e, gb_op op, gb_node *a, gb_node *b);
gb_node *gb_expr_with (gb_expr *e, gb_op op, gb_node *a, double number);   /* op(a, number) */
gb_node *gb_expr_reduce (gb_expr *e, gb_op op, gb_node *a, unsigned axes, bool keepdim);
gb_node *gb_expr_unsqueeze (gb_expr *e, gb_node *a, int axis);
gb_node *gb_expr_squeeze (gb_expr *e, gb_node *a, int axis);

/* Releases what was held; *out = result, counted, where nothing failed. */
gb_status gb_expr_end (gb_expr *e, gb_node *result, gb_node **out);

#endif
