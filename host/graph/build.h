/* build.h - short constructors and the composite ops, over gb_node_build. All borrow inputs and return a
** counted node. Axes count from 0, negative from the end. */
#ifndef GB_GRAPH_BUILD_H
#define GB_GRAPH_BUILD_H

#include "graph/node.h"

/* out[i] = in[i], counted, brought to one dtype: GB_NODE_WEAK nodes adopt the dtype of the first that is not.
** Numbers are rebuilt in that dtype, those of i64 beside i32; parameters and expressions of them are cast. If this
** is impossible the inputs are returned unchanged, so that the op's shape rule reports them. Errors: EDTYPE: a
** number that is not an i64 or i32. */
gb_status gb_adopt (int n, gb_node *const *in, gb_node **out, gb_error *err);

gb_status gb_map1 (gb_op op, gb_node *a, gb_node **out, gb_error *err);
/* Broadcasts; a 0-d CONST or parameter adopts the float dtype of the other side. */
gb_status gb_map2 (gb_op op, gb_node *a, gb_node *b, gb_node **out, gb_error *err);
gb_status gb_map3 (gb_op op, gb_node *a, gb_node *b, gb_node *c, gb_node **out, gb_error *err);
gb_status gb_scale (gb_node *a, double factor, gb_node **out, gb_error *err);

gb_status gb_reshape (gb_node *a, const gb_shape *s, gb_node **out, gb_error *err);
gb_status gb_permute (gb_node *a, const int *axes, gb_node **out, gb_error *err);
gb_status gb_transpose (gb_node *a, gb_node **out, gb_error *err); /* last two axes */
gb_status gb_unsqueeze (gb_node *a, int axis, gb_node **out, gb_error *err);
gb_status gb_squeeze (gb_node *a, int axis, gb_node **out, gb_error *err);
gb_status gb_expand (gb_node *a, const gb_shape *s, gb_node **out, gb_error *err);
gb_status gb_slice (gb_node *a, int axis, size_t start, ptrdiff_t step, size_t extent, gb_node **out,
                    gb_error *err);
gb_status gb_select (gb_node *a, int axis, size_t at, gb_node **out, gb_error *err); /* slice and squeeze */
gb_status gb_flip (gb_node *a, int axis, gb_node **out, gb_error *err);
gb_status gb_tile (gb_node *a, int ndim, const size_t *times, gb_node **out, gb_error *err);
gb_status gb_cat (int n, gb_node *const *a, int axis, gb_node **out, gb_error *err);
gb_status gb_stack (int n, gb_node *const *a, int axis, gb_node **out, gb_error *err);

/* 'axes' is a bit mask, 0 = all axes. keepdim puts extents of 1 back. */
gb_status gb_reduce (gb_op op, gb_node *a, unsigned axes, bool keepdim, gb_node **out, gb_error *err);
gb_status gb_mean (gb_node *a, unsigned axes, bool keepdim, gb_node **out, gb_error *err);
gb_status gb_var (gb_node *a, unsigned axes, bool keepdim, double ddof, gb_node **out, gb_error *err);
gb_status gb_std (gb_node *a, unsigned axes, bool keepdim, double ddof, gb_node **out, gb_error *err);
gb_status gb_norm (gb_node *a, unsigned axes, bool keepdim, double p, gb_node **out, gb_error *err);
gb_status gb_softmax (gb_node *a, int axis, gb_node **out, gb_error *err);
gb_status gb_log_softmax (gb_node *a, int axis, gb_node **out, gb_error *err);
/* lo, hi may be NULL */
gb_status gb_clamp (gb_node *a, gb_node *lo, gb_node *hi, gb_node **out, gb_error *err);

/* vectors allowed on either side */
gb_status gb_matmul (gb_node *a, gb_node *b, gb_node **out, gb_error *err);
gb_status gb_einsum (gb_graph *g, const char *spec, int n, gb_node *const *in, gb_node **out, gb_error *err);
gb_status gb_eye (gb_graph *g, size_t n, gb_dtype t, gb_node **out, gb_error *err);
gb_status gb_pick (gb_node *a, int output, gb_node **out, gb_error *err);
/* Output 0: values, 1: positions of i64 or i32. */
gb_status gb_topk (gb_node *a, int axis, size_t k, bool largest, gb_dtype positions, int output,
                   gb_node **out, gb_error *err);
gb_status gb_sqdist (gb_node *x, gb_node *y, gb_node *w, gb_node **out, gb_error *err); /* w may be NULL */
/* profile at u = c s; alpha NULL but for RQ. */
gb_status gb_radial (gb_profile p, gb_node *s, gb_node *c, gb_node *alpha, gb_node **out, gb_error *err);

/* linear algebra composites: one factorisation per matrix, shared by consing. A matrix that is symmetric by
** structure is factored by Cholesky, any other by LU. A_sym: the caller promises that A is positive definite
** (inv_quad, models). With L = CHOLESKY(A): solve is SOLVE_CHOL(L, b), logdet is LOGDET(L), inv_quad is
** INV_QUAD(L, b), never chains of TRISOLVE: their gradients go straight to A (g A^-1, -g alpha alpha'), not
** through the factor.
**
** Axes in front of the last two of A are a batch; those of b broadcast with them. b is
**   (n)           one vector, for every A
**   (..., n)      where A is (..., n, n) with the same axes in front: a vector for each
**   (..., n, r)   else: columns of matrices. One A with many b is one solve of all their columns. */
gb_status gb_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err);
gb_status gb_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed, gb_node **out,
                               gb_error *err);
gb_status gb_solve (gb_node *a, gb_node *b, gb_node **out, gb_error *err);
gb_status gb_logdet (gb_node *a, gb_node **out, gb_error *err);
gb_status gb_inv_quad (gb_node *a, gb_node *b, gb_node **out, gb_error *err); /* sum b' A^-1 b */
gb_status gb_lstsq (gb_node *a, gb_node *b, gb_node **out, gb_error *err);
/* (L L')^-1 b */
gb_status gb_solve_factored (gb_node *l, gb_node *b, gb_node **out, gb_error *err);
gb_status gb_diag (gb_node *v, gb_node **out, gb_error *err); /* (..., n) -> (..., n, n), lazy */

#endif
