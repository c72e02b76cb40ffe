/* stopping.h - when a column has converged: three rules.
**
** residual  |R| <= tol |b|.
** weighted  also R' P^-1 R <= tol^2 b' P^-1 b, where the preconditioner knows that points have noises of
**           their own: a residual that is small beside b may be large at a point of little noise.
** variance  the goal of the options (solve/frame/solve.h).
**
** All are kept as squares, which conjugate gradients have at hand. */
#ifndef GB_SOLVE_FRAME_STOPPING_H
#define GB_SOLVE_FRAME_STOPPING_H

#include "solve/frame/solve.h"

typedef struct gb_stop gb_stop;
typedef struct gb_stop_rule {
  bool (*reached)(const gb_stop *s, size_t c); /* for a finite residual */
  double (*left)(const gb_stop *s, size_t c);  /* of what 'tol' bounds, as the record says it */
} gb_stop_rule;

struct gb_stop {
  const gb_stop_rule *rule;
  const gb_solve_options *o;
  size_t n, r;
  bool weighted;                            /* the preconditioner knows noises of points */
  double *square, *bound;                   /* (r): R'R, and tol^2 b'b */
  double *weighted_square, *weighted_bound; /* (r): R' P^-1 R, and tol^2 b' P^-1 b */
};

/* Doubles of the arrays. */
static inline size_t gb_stop_numbers (size_t r) { return 4 * r; }

/* The rule that the options ask for, the bounds of b and the squares of the residual, both (n, r). 'work' (n,
** r) is overwritten; sums: gb_panel_sums. */
void gb_stop_init (gb_stop *s, const gb_solve_options *o, gb_panel b, gb_panel res, gb_panel work, void *sums,
                   double *numbers);

bool gb_stop_reached (const gb_stop *s, size_t c);

/* Does the rule want R' P^-1 R, which gb_stop_measured takes for column c? */
bool gb_stop_measures (const gb_stop *s);
void gb_stop_measured (const gb_stop *s, size_t c, double rz);

bool gb_stop_has_goal (const gb_stop *s);
/* b'b of column c, from its bound. */
double gb_stop_length_square (const gb_stop *s, size_t c);
double gb_stop_residual (const gb_stop *s, size_t c); /* relative, the larger of both where weighted */
/* With a goal: the bound of the form's error as a share of the variance. */
double gb_stop_variance_error (const gb_stop *s, size_t c);

#endif
