/* precond_parts.h - what the low-rank preconditioners P = L L' + noise I are built with. Private to solve/. */
#ifndef GB_SOLVE_PRECOND_PARTS_H
#define GB_SOLVE_PRECOND_PARTS_H

#include "solve/precond.h"

/* 'count' doubles of the preconditioner's ledger. */
gb_status gb_precond_take (const gb_precond *p, size_t count, double **out, gb_error *err);

/* Room for L' of 'rank' rows, at most n. On failure the caller clears. Errors: ESHAPE, EOPTION, ENOMEM. */
gb_status gb_precond_low_rank_begin (gb_precond *p, gb_node *k, double noise, size_t *rank, gb_error *err);

/* From L' of p->rank rows: C = noise I + L' L, its factor, and log det P = (n - rank) log noise + log det C. */
gb_status gb_precond_low_rank_end (gb_precond *p, gb_error *err);

gb_status gb_precond_diagonal (gb_node *k, double *out, gb_error *err);

/* The diagonal of a kernel matrix (n), finite and not negative, and its sum. */
gb_status gb_precond_kernel_diagonal (const gb_precond *p, gb_node *k, double *d, double *trace, gb_error *err);

#endif
