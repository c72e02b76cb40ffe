/* sdd.h - stochastic dual descent for A X = B, A lazy, symmetric positive definite: gradient steps on random
** coordinates of the dual quadratic, with momentum, and the geometric average of the iterates as the result.
** Source: Lin, Padhy, Antoran and others (2024), Stochastic gradient descent for Gaussian processes done
** right. Cost of a step: batch n pairs; of a check of the residual, n^2; before the first step, 10 n^2.
** Memory: (3 n + 2 batch + 20) r values beside the frame's.
**
** Ten Lanczos steps from random columns estimate the largest eigenvalue of A, and bound the condition from
** below. The default step size is the smaller of 1 / (largest eigenvalue) and (1 - momentum) batch / (n
** largest diagonal entry): larger ones do not damp the noise of sampling. Batches depend on the seed
** alone; all columns share them. */
#ifndef GB_SOLVE_SDD_H
#define GB_SOLVE_SDD_H

#include "solve/frame/frame.h"

typedef struct gb_sdd_options {
  gb_solve_options solve; /* max_iter: steps */
  size_t batch;           /* rows of a step, at least 1 */
  double momentum;        /* in [0, 1) */
  double step;            /* 0 = the default */
  uint64_t seed;
} gb_sdd_options;

gb_status gb_solve_sdd (gb_node *a, gb_node *b, const gb_sdd_options *o, gb_node **x, double *step,
                        gb_solve_info *info, gb_error *err);

#endif
