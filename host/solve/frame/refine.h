/* refine.h - iterative refinement: cycles of an inner iteration, each from the true residual that the last has
** left. In mixed precision the first cycle multiplies with A in f32, and A in f64 solves what that leaves.
** Source: Clark, Babich, Barros, Brower & Rebbi (2010), Solving lattice QCD systems of equations using mixed
** precision solvers on GPUs.
**
** The inner iteration moves the columns listed in 'at', keeps stop.square of each as its recursion has it,
** and asks gb_refine_check every gb_refine_interval steps whether that is still the true residual. */
#ifndef GB_SOLVE_FRAME_REFINE_H
#define GB_SOLVE_FRAME_REFINE_H

#include "solve/frame/active.h"
#include "solve/frame/frame.h"
#include "solve/frame/stopping.h"

typedef struct gb_refinement {
  gb_system *s;
  gb_stop stop;
  gb_active at;
  gb_product *by;               /* of this cycle */
  gb_panel ax;                  /* (n, width), work of the loop, as s->spare is */
  void *sums;                   /* gb_panel_sums(n, r) */
  double *best, *best_weighted; /* (r): least squares of true residuals */
  double *energy;               /* (r): least x'Ax - 2b'x at a check */
  double *xb, *xr;              /* (live): work */
  unsigned char *waited;        /* (r): checks since the true residual was last halved */
  bool *restart;                /* (r), out: the next direction must not be conjugate to the last */
  bool f32_insufficient;
} gb_refinement;

/* Bytes of the numbers and of the flags; those of the stop rule and of the list are among them. */
size_t gb_refine_numbers (size_t r);
size_t gb_refine_flags (size_t r);
/* Of a system at its start: res is the residual of x. */
void gb_refine_init (gb_refinement *q, gb_system *s, gb_panel ax, void *sums, void *numbers, void *flags);

/* One cycle: from the residuals in s->res until no column is active, or max_iter; counts s->info->iterations. */
typedef gb_status gb_inner_cycle (gb_refinement *q, void *ud, gb_error *err);
gb_status gb_refine (gb_refinement *q, gb_inner_cycle *cycle, void *ud, gb_error *err);

/* An active column whose rule is reached has converged; one whose residual is not finite is broken. */
void gb_refine_test (gb_refinement *q, size_t c);
/* The same of the listed columns by rules that need R' P^-1 R: rz (live). */
void gb_refine_test_measured (gb_refinement *q, const double *rz);

/* The largest relative residual of all columns; a column that has left has its last. */
double gb_refine_worst (const gb_refinement *q);

int gb_refine_interval (const gb_refinement *q); /* steps between checks */
/* Recomputes residuals of the listed columns: some are to restart, or have stagnated. recursed (live): work. */
gb_status gb_refine_check (gb_refinement *q, double *recursed, gb_error *err);

/* Writes the record. curvature (r): of columns that are INDEFINITE. */
void gb_refine_report (const gb_refinement *q, const double *curvature);

#endif
