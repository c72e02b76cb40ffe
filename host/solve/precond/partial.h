/* partial.h - partial Cholesky factors of a kernel matrix that is not stored. */
#ifndef GB_SOLVE_PRECOND_PARTIAL_H
#define GB_SOLVE_PRECOND_PARTIAL_H

#include "graph/build.h"
#include "iterate/work.h"

/* Which points become pivots: those with the largest diagonal entry left, or, drawn, each with a
** probability in proportion to what those before leave of its diagonal entry; the draws depend on the seed
** alone. */
typedef struct gb_pivoting {
  bool drawn;
  uint64_t seed;
} gb_pivoting;

/* Rows of L' (rank, n) with L L' near K (n, n): column j of L is column pivot j of K with what earlier
** ones explain eliminated. Ends at 'most' rows, or where 'tol' of the trace or less is left; '*rank' is
** how many there are, '*trace_left' the share of the trace that is. Needs the diagonal and rank rows of K,
** never K. lt: an address of the device, room for (most, n); pivot: room for the points that are pivots, in
** order (most), or NULL. Cost: n rank^2 multiply-adds. Errors: ENAN, ENOTPD (a negative diagonal entry),
** ENOMEM, EINTR. Source: Harbrecht, Peters & Schneider (2012), On the low-rank approximation by the pivoted
** Cholesky decomposition; Chen, Epperly, Tropp & Webber (2025), Randomly pivoted Cholesky. */
gb_status gb_partial_cholesky (gb_node *k, gb_pivoting how, size_t most, double tol, void *lt, size_t *pivot,
                               size_t *rank, double *trace_left, gb_error *err);

/* The pivots alone, of a square matrix; the factor is workspace, most n numbers. Errors: ESHAPE as well. */
gb_status gb_partial_pivots (gb_node *k, gb_pivoting how, size_t most, double tol, size_t *pivot,
                             size_t *rank, double *trace_left, gb_error *err);

/* Bytes that it takes beside lt and the diagonal's and rows' own. */
gb_work_bytes gb_partial_bytes (size_t n, size_t most);

/* The diagonal of a matrix (n), as doubles at an address of the device. */
gb_status gb_partial_diagonal (gb_node *k, void *out, gb_error *err);

#endif
