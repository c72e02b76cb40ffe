/* system.h - what the iterative solvers of A X = B share: options, report, the dense columns and the frame
** round a loop. A is lazy and only multiplied; columns are rows of r doubles. Residuals that are reported
** are recomputed from A and from the solution as it is returned, rounded to A's dtype. */
#ifndef GB_SOLVE_SYSTEM_H
#define GB_SOLVE_SYSTEM_H

#include "iterate/product.h"
#include "iterate/work.h"
#include "solve/precond/precond.h"

typedef enum gb_solve_reason {
  GB_SOLVE_CONVERGED,
  GB_SOLVE_MAX_ITER,
  GB_SOLVE_INDEFINITE, /* the preconditioner, or a diagonal block of A, is not positive definite */
  /* b is not in the range of A as far as the dtype can tell: x is a least-squares solution */
  GB_SOLVE_SINGULAR,
  GB_SOLVE_STAGNATED, /* going on no longer lowers the true residual: the dtype allows no more */
  GB_SOLVE_DIVERGED,  /* the residual grows */
  GB_SOLVE_OVERFLOW,  /* x is not finite in its dtype, at the size of b */
  GB_SOLVE_UNDERFLOW, /* x is too small for its dtype, at the size of b */
  GB_SOLVE_NAN        /* A, or b, is not finite */
} gb_solve_reason;

const char *gb_solve_reason_text (gb_solve_reason r); /* "converged", "max_iter", ... */

typedef struct gb_solve_options {
  double tol; /* |b - A x| <= tol |b| for every column; in (0, 1) */
  int max_iter;
  const gb_precond *precond; /* NULL = none */
  gb_node *x0; /* first guess, of b's shape; NULL = 0, as in columns where it is worse than 0 by far */
} gb_solve_options;

#define GB_WORTHLESS 1e3 /* a guess that leaves more than this times |b| is a worse one than 0 */

#define GB_SOLVE_DEFAULTS                                                                                    \
  { .tol = 1e-6, .max_iter = 1000 }

typedef struct gb_solve_info {
  bool converged;
  gb_solve_reason reason; /* of the worst column */
  int iterations;
  double residual;  /* largest |b - A x| / |b| over the columns; 0 / 0 is 0 */
  double condition; /* of A (minres: preconditioned), estimated from below; 0 = not known */
  double seconds;
  size_t bytes; /* workspace */
} gb_solve_info;

/* A system that is being solved. Panels are (n, r) without lists, arrays (r). */
typedef struct gb_system {
  gb_node *matrix;
  gb_product *a;
  const gb_solve_options *o;
  size_t n, r;
  /* columns times powers of two, so that b's are of size 1; res = b - A x as of the last
  ** gb_system_residual; x starts as the guess */
  gb_panel b, x, res;
  gb_panel spare; /* free for the loop between calls */
  double *length; /* |b| */
  double *left;   /* |res| / |b|, infinite where b = 0 and res is not */
  gb_solve_info *info;
} gb_system;

/* res = b - A x with x rounded to A's dtype, and what is left of each column. One product. */
gb_status gb_system_residual (gb_system *s, gb_error *err);

/* Length of each column of v (n, r), as a share of b's, into 'share' (r). */
void gb_system_shares (const gb_system *s, gb_panel v, double *share);

double gb_system_worst (const gb_system *s); /* the largest of 'left'; NaN wins */

/* Says how far apart the moduli of A's eigenvalues are at least, from values between the extreme ones that
** the loop has met and from |A x| / |x| of each column, which for general b is near the smallest. After
** gb_system_residual; uses 'spare'. Never beyond 1 / u. */
void gb_system_condition (gb_system *s, double largest, double smallest);

/* Bytes of a loop's own workspace: entries of panels, and numbers of the host. */
typedef struct gb_solve_room {
  size_t entries, numbers;
} gb_solve_room;

/* Runs the loop on columns of b (n) or (n, r), whose res and left are those of x0. The loop leaves both as
** they are for its x, and says reason and iterations; converged, residual, seconds and bytes are the
** frame's affair. 'work' is of the size that 'room' says. x: counted, a leaf of b's shape and dtype. Not
** converging is not an error. Nothing to solve (n = 0 or r = 0) is solved. Errors: ESHAPE, EDTYPE,
** EOPTION, EREFUSED, ENOMEM, EINTR. */
typedef gb_solve_room gb_solve_rooms (size_t n, size_t r, const void *ud);
typedef gb_status gb_solve_loop (gb_system *s, gb_room work, const void *ud, gb_error *err);
gb_status gb_system_solve (gb_node *a, gb_node *b, const gb_solve_options *o, const char *name,
                           gb_solve_rooms *room, gb_solve_loop *loop, const void *ud, gb_node **x,
                           gb_solve_info *info, gb_error *err);

#endif
