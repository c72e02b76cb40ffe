/* frame.h - the frame round a solver's loop, the same for all of them: checks, scaling, memory, right-hand
** sides in, solutions out, and the record.
**
** A method brings the loop and says what workspace it needs and which options it takes. While it runs,
** columns are multiplied by powers of two so that b's are of size 1: squares of numbers below 1e-154, or above
** 1e154, would under- or overflow. So a column's bits are those of size 1, scaled. */
#ifndef GB_SOLVE_FRAME_FRAME_H
#define GB_SOLVE_FRAME_FRAME_H

#include <math.h>

#include "iterate/work.h"
#include "solve/frame/matrix.h"
#include "solve/frame/solve.h"

/* A system that is being solved. Panels are (n, r) without lists, arrays (r). */
typedef struct gb_system {
  gb_solve_matrix *m;
  gb_product *a; /* m->a */
  const gb_solve_options *o;
  size_t n, r;
  gb_panel b, x, res; /* scaled; res = b - A x as of the last gb_system_residual; x starts as the guess */
  gb_panel spare;     /* free for the loop between calls */
  double *length;     /* |b| */
  double *left;       /* |res| / |b|, infinite where b = 0 and res is not */
  gb_solve_info *info;
} gb_system;

/* -- methods */

/* Options beside tol, max_iter and x0. */
enum { GB_TAKES_PRECOND = 1, GB_TAKES_MIXED = 2, GB_TAKES_GOAL = 4 };

typedef struct gb_solve_method {
  const char *name; /* "conjugate gradients" */
  unsigned takes;
  gb_work_bytes (*room)(size_t n, size_t r, const void *ud); /* of the loop's own workspace */
  /* Starts with res and left those of x0 and leaves both as they are for its x; counts info->iterations and
  ** writes the record of its columns, by gb_system_report where its rule is the residual. 'work' is of the
  ** size that 'room' says. Errors: EINTR, ENOMEM, and those of products. */
  gb_status (*loop)(gb_system *s, gb_room work, const void *ud, gb_error *err);
} gb_solve_method;

/* -- for loops */

/* res = b - A x with x rounded to A's dtype, and what is left of each column. One product. */
gb_status gb_system_residual (gb_system *s, gb_error *err);

/* Length of each column of v (n, r), as a share of b's, into 'share' (r). */
void gb_system_shares (const gb_system *s, gb_panel v, double *share);

double gb_system_worst (const gb_system *s); /* the largest of 'left'; NaN wins */

/* The record by 'left': converged where all columns are within tol; else the loop's reason, or NAN. */
/* Notes the largest relative residual after so many steps in the curve of the record. */
void gb_curve_note (gb_curve *curve, int steps, double residual);

void gb_system_report (gb_system *s);

/* Says how far apart the moduli of A's eigenvalues are at least, from values between the extreme ones that
** the loop has met and from |A x| / |x| of each column, which for general b is near the smallest. After
** gb_system_residual; uses 'spare'. Never beyond 1 / u. */
void gb_system_condition (gb_system *s, double largest, double smallest);

static inline double gb_worse (double a, double b) { return b <= a || isnan(a) ? a : b; } /* NaN wins */

/* -- solves */

/* Do b (n) or (n, r) and 'o' fit A and the method? Errors: ESHAPE, EDTYPE, EOPTION. */
gb_status gb_frame_check (const gb_solve_method *method, gb_node *a, gb_node *b, const gb_solve_options *o,
                          gb_error *err);

/* x: counted, a leaf of b's shape and dtype, f64 where o->mixed. Nothing to solve (n = 0 or r = 0) is solved.
** Errors: as gb_frame_check; EREFUSED, ENOMEM, EINTR. */
gb_status gb_frame_solve (const gb_solve_method *method, const void *ud, gb_node *a, gb_node *b,
                          const gb_solve_options *o, gb_node **x, gb_solve_info *info, gb_error *err);

/* The same on panels (n, r) of the caller: x holds the first guess where 'guess', and gets the solution; res
** gets b - A x, recomputed. b is scaled meanwhile. m is planned for r columns. */
gb_status gb_frame_run (const gb_solve_method *method, const void *ud, gb_solve_matrix *m,
                        const gb_solve_options *o, gb_panel b, bool guess, gb_panel x, gb_panel res,
                        gb_solve_info *info, gb_error *err);

/* Bytes of workspace of gb_frame_run. */
gb_work_bytes gb_frame_bytes (const gb_solve_method *method, const void *ud, size_t n, size_t r);

#endif
