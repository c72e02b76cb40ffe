/* cg_message.c - how a solve by conjugate gradients ended, in words. */
#include <stdio.h>

#include "base/plain.h"
#include "solve/cg.h"

char *gb_cg_message (const gb_solve_info *info, const gb_solve_options *o, char buf[GB_CG_MESSAGE]) {
  const size_t c = info->column + 1;
  switch (info->reason) {
    case GB_SOLVE_SINGULAR: /* not of this method */
    case GB_SOLVE_DIVERGED:
    case GB_SOLVE_CONVERGED: buf[0] = '\0'; break;
    case GB_SOLVE_MAX_ITER:
      if (o->goal.prior != NULL) {
        snprintf(buf, GB_CG_MESSAGE,
                 "variance %zu has a relative error of %.2g after %d steps, expected %.2g: raise max_iter, "
                 "or use a "
                 "preconditioner of higher rank",
                 c, gb_plain(info->variance_error), info->iterations, o->tol);
        break;
      }
      snprintf(buf, GB_CG_MESSAGE,
               "column %zu has residual %.2g after %d steps, expected %.2g: raise max_iter, or use a "
               "preconditioner of higher rank",
               c, gb_plain(info->residual), info->iterations, o->tol);
      break;
    case GB_SOLVE_INDEFINITE:
      snprintf(buf, GB_CG_MESSAGE,
               "the matrix is not positive definite: column %zu met the curvature %.3g, so the smallest "
               "eigenvalue "
               "is at most that; add noise, or use minres",
               c, gb_plain(info->curvature));
      break;
    case GB_SOLVE_STAGNATED:
      snprintf(buf, GB_CG_MESSAGE,
               "column %zu has residual %.2g and more steps do not halve it: this is the limit of rounding; "
               "use f64, "
               "or more noise",
               c, gb_plain(info->residual));
      break;
    case GB_SOLVE_OVERFLOW:
      snprintf(buf, GB_CG_MESSAGE,
               "the solution of column %zu is larger than its dtype holds: scale the right-hand side", c);
      break;
    case GB_SOLVE_UNDERFLOW:
      snprintf(buf, GB_CG_MESSAGE,
               "the solution of column %zu is smaller than its dtype holds: scale the right-hand side", c);
      break;
    case GB_SOLVE_NAN:
      snprintf(
          buf, GB_CG_MESSAGE,
          "column %zu is not finite: there is a NaN or an infinity in the matrix or in the right-hand side",
          c);
      break;
  }
  return buf;
}
