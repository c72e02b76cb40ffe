/* stopping.c - the three rules. */
#include "solve/frame/stopping.h"

#include <float.h>
#include <math.h>

#define ROUNDED 4.0       /* times n u R'R / noise: how far rounding may take R' P^-1 R from its value */
#define LEAST_SHARE 1e-15 /* of a prior: an error of any variance below this counts as none */

bool gb_stop_has_goal (const gb_stop *s) { return s->o->goal.prior != NULL; }

bool gb_stop_measures (const gb_stop *s) { return s->weighted || gb_stop_has_goal(s); }

double gb_stop_length_square (const gb_stop *s, size_t c) { return s->bound[c] / (s->o->tol * s->o->tol); }

/* -- residuals */

/* The root of a square over that of b, from its bound. */
static double over (double square, double bound) {
  return bound > 0 ? sqrt(square / bound) : square > 0 || isnan(square) ? INFINITY : 0;
}

double gb_stop_residual (const gb_stop *s, size_t c) {
  const double plain = over(s->square[c], s->bound[c]),
               weighted = s->weighted && !gb_stop_has_goal(s)
                              ? over(s->weighted_square[c], s->weighted_bound[c])
                              : 0;
  return (isnan(plain) || plain >= weighted ? plain : weighted) * s->o->tol;
}

static bool residual_reached (const gb_stop *s, size_t c) { return s->square[c] <= s->bound[c]; }

static bool weighted_reached (const gb_stop *s, size_t c) {
  return s->square[c] <= s->bound[c] && s->weighted_square[c] <= s->weighted_bound[c];
}

/* -- variances */

double gb_stop_variance_error (const gb_stop *s, size_t c) {
  const gb_variance_goal *g = &s->o->goal;
  const double variance = fmax(g->prior[c] - g->quad_form[c], 0);
  return g->quad_error_bound[c] == 0
             ? 0
             : g->quad_error_bound[c] / fmax(variance, LEAST_SHARE / s->o->tol * g->prior[c]);
}

static bool variance_reached (const gb_stop *s, size_t c) {
  return gb_stop_variance_error(s, c) <= s->o->tol;
}

/* R' A^-1 R of a column is at most this: R'R over the least noise, or R' P^-1 R and what rounding may have
** taken from it. */
static double quad_error_bound (const gb_stop *s, size_t c, double rz) {
  const gb_precond *p = s->o->precond;
  const double least = s->o->goal.least, plain = s->square[c] / least;
  if (p == NULL || p->form.lt == NULL) return plain;
  const double rounded = ROUNDED * (double)s->n * DBL_EPSILON * s->square[c] / p->least;
  return fmin(plain, (fmax(rz, 0) + rounded) * fmax(p->least / least, 1));
}

/* -- of all rules */

static const gb_stop_rule by_residual = {residual_reached, gb_stop_residual},
                          by_weighted_residual = {weighted_reached, gb_stop_residual},
                          by_variance = {variance_reached, gb_stop_variance_error};

bool gb_stop_reached (const gb_stop *s, size_t c) { return isfinite(s->square[c]) && s->rule->reached(s, c); }

void gb_stop_measured (const gb_stop *s, size_t c, double rz) {
  if (gb_stop_has_goal(s)) s->o->goal.quad_error_bound[c] = quad_error_bound(s, c, rz);
  if (s->weighted) s->weighted_square[c] = rz > 0 || s->square[c] == 0 ? rz : INFINITY;
}

void gb_stop_init (gb_stop *s, const gb_solve_options *o, gb_panel b, gb_panel res, gb_panel work, void *sums,
                   double *numbers) {
  const size_t r = b.r;
  *s = (gb_stop){.o = o, .n = b.n, .r = r, .square = numbers, .bound = numbers + r};
  s->weighted_square = numbers + 2 * r;
  s->weighted_bound = numbers + 3 * r;
  s->weighted = o->precond != NULL && o->precond->form.scale != NULL;
  s->rule = gb_stop_has_goal(s) ? &by_variance : s->weighted ? &by_weighted_residual : &by_residual;
  gb_panel_dot(res, res, sums, s->square);
  gb_panel_dot(b, b, sums, s->bound);
  if (s->weighted) {
    gb_precond_apply(o->precond, b, work);
    gb_panel_dot(b, work, sums, s->weighted_bound);
  }
  for (size_t c = 0; c < r; c++) {
    s->weighted_square[c] = INFINITY;
    s->weighted_bound[c] = s->weighted ? s->weighted_bound[c] * o->tol * o->tol : 0;
    s->bound[c] *= o->tol * o->tol;
    if (gb_stop_has_goal(s)) o->goal.quad_form[c] = 0, o->goal.quad_error_bound[c] = INFINITY;
  }
}
