/* panel.h - dense columns, row-major doubles with a stride: the vector operations of the solvers. Blocks
** of 256 rows are tasks; sums are one chain a column in each block and then over the blocks in order. So a
** column's result depends neither on the others, nor on where it stands, nor on threads. */
#ifndef GB_SOLVE_PANEL_H
#define GB_SOLVE_PANEL_H

#include <stddef.h>

#include "base/pool.h"

#define GB_PANEL_BLOCK 256 /* rows of a task */

/* 'w' columns of a matrix of n rows: column k is v[i * stride + (at ? at[k] : k)]. */
typedef struct gb_panel {
  double *v;
  size_t stride;
  const size_t *at;
} gb_panel;

/* Room for the sums of the blocks of w columns: doubles. */
size_t gb_panel_sums (size_t n, size_t w);

/* out[k] = sum over rows of x_k y_k. 'sums': gb_panel_sums. */
void gb_panel_dot (gb_pool *pool, size_t n, size_t w, gb_panel x, gb_panel y, double *sums, double *out);

/* x_k += f[k] p_k; r_k -= f[k] q_k; out[k] = r_k . r_k */
void gb_panel_step (gb_pool *pool, size_t n, size_t w, const double *f, gb_panel p, gb_panel q, gb_panel x,
                    gb_panel r, double *sums, double *out);

/* p_k = z_k + f[k] p_k */
void gb_panel_turn (gb_pool *pool, size_t n, size_t w, const double *f, gb_panel z, gb_panel p);

/* y_k = x_k, and y_k = b_k - x_k */
void gb_panel_copy (gb_pool *pool, size_t n, size_t w, gb_panel x, gb_panel y);
void gb_panel_subtract (gb_pool *pool, size_t n, size_t w, gb_panel b, gb_panel x, gb_panel y);

/* In place: columns at[0 .. w) of v (n, from) become the first of v (n, to), w <= to <= from; the rest of
** it is 0. 'at' ascends. */
void gb_panel_compact (size_t n, double *v, size_t from, size_t to, size_t w, const size_t *at);

#endif
