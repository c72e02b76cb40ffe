/* refine.c - true residuals, which columns have stagnated, and which start another cycle. */
#include "solve/frame/refine.h"

#include <math.h>
#include <string.h>

#define CHECK 50          /* steps between residuals computed from A */
#define CHECK_MIXED 15    /* the same where products are in f32 */
#define PATIENCE 8        /* checks without a residual halved */
#define RESOLVED 1e-13    /* relative: what the sums of an energy resolve */
#define HALVED_SQUARE 4.0 /* squares of residuals: the factor of a residual that is halved */

/* -- state */

size_t gb_refine_numbers (size_t r) {
  return (gb_stop_numbers(r) + 5 * r) * sizeof(double) + 2 * r * sizeof(size_t);
}
size_t gb_refine_flags (size_t r) { return 3 * r; }

void gb_refine_init (gb_refinement *q, gb_system *s, gb_panel ax, void *sums, void *numbers, void *flags) {
  const size_t r = s->r;
  *q = (gb_refinement){.s = s, .ax = ax, .sums = sums};
  double *w = numbers;
  gb_stop_init(&q->stop, s->o, s->b, s->res, s->spare, sums, w);
  w += gb_stop_numbers(r);
  q->best = w, q->best_weighted = w + r, q->energy = w + 2 * r, q->xb = w + 3 * r, q->xr = w + 4 * r;
  q->at = gb_active_bind(s->n, r, (size_t *)(void *)(w + 5 * r), flags);
  q->waited = q->at.state + r;
  q->restart = (bool *)(q->waited + r);
  memset(q->waited, 0, 2 * r);
  for (size_t c = 0; c < r; c++) {
    q->best[c] = q->stop.square[c];
    q->best_weighted[c] = q->energy[c] = INFINITY;
  }
  q->by = s->o->mixed && s->m->low.plan != NULL ? &s->m->low : &s->m->a;
}

static bool is_low (const gb_refinement *q) { return q->by != &q->s->m->a; }

int gb_refine_interval (const gb_refinement *q) { return is_low(q) ? CHECK_MIXED : CHECK; }

double gb_refine_worst (const gb_refinement *q) {
  double most = 0;
  for (size_t c = 0; c < q->s->r; c++) most = fmax(most, gb_stop_residual(&q->stop, c));
  return most;
}

static gb_panel listed (const gb_refinement *q, gb_panel v) { return gb_active_of_all(&q->at, v); }

/* -- convergence */

void gb_refine_test (gb_refinement *q, size_t c) {
  unsigned char *state = &q->at.state[c];
  if (*state != GB_COLUMN_ACTIVE) return;
  if (!isfinite(q->stop.square[c])) *state = GB_COLUMN_BROKEN;
  else if (gb_stop_reached(&q->stop, c)) *state = GB_COLUMN_CONVERGED;
}

void gb_refine_test_measured (gb_refinement *q, const double *rz) {
  for (size_t k = 0; gb_stop_measures(&q->stop) && k < q->at.live; k++) {
    const size_t c = q->at.column[k];
    gb_stop_measured(&q->stop, c, rz[k]);
    gb_refine_test(q, c);
  }
}

/* -- true residuals */

/* res = b - A x of the listed columns, with x rounded to A's dtype; and its squares. */
static gb_status recompute (gb_refinement *q, gb_error *err) {
  gb_system *s = q->s;
  const gb_active *at = &q->at;
  gb_panel_fill(gb_active_own_wide(at, s->spare), 0);
  gb_panel_copy(listed(q, s->x), gb_active_own(at, s->spare));
  GB_TRY(gb_active_multiply(at, &s->m->a, s->spare, q->ax, err));
  gb_panel_copy(gb_active_own(at, s->spare), listed(q, s->x));
  gb_panel_subtract(listed(q, s->b), gb_active_own(at, q->ax), listed(q, s->res));
  gb_panel_dot(listed(q, s->res), listed(q, s->res), q->sums, q->xb);
  for (size_t k = 0; k < at->live; k++) q->stop.square[at->column[k]] = q->xb[k];
  return GB_OK;
}

static void multiply_x (gb_refinement *q) {
  gb_panel_dot(listed(q, q->s->x), listed(q, q->s->b), q->sums, q->xb);
  gb_panel_dot(listed(q, q->s->x), listed(q, q->s->res), q->sums, q->xr);
}

/* True where the energy x'Ax - 2b'x = -x'(b + R) rises, which every exact step lowers. */
static bool energy_rises (gb_refinement *q, size_t k) {
  const size_t c = q->at.column[k];
  const double energy = -(q->xb[k] + q->xr[k]), before = q->energy[c];
  q->energy[c] = fmin(before, energy);
  if (gb_stop_has_goal(&q->stop)) q->s->o->goal.quad_form[c] = -energy;
  return energy > before + RESOLVED * fabs(before);
}

/* If the recursion's residual is below half the true one, its directions have lost conjugacy: the column
** restarts, or has stagnated if the true residual was not halved either. A plateau alone is not stagnation:
** after PATIENCE checks on one the column has stagnated if its energy rises. Products in f32 give up at the
** first rise, and when the patience ends. */
gb_status gb_refine_check (gb_refinement *q, double *recursed, gb_error *err) {
  for (size_t k = 0; k < q->at.live; k++) recursed[k] = q->stop.square[q->at.column[k]];
  GB_TRY(recompute(q, err));
  multiply_x(q);
  for (size_t k = 0; k < q->at.live; k++) {
    const size_t c = q->at.column[k];
    const bool rises = energy_rises(q, k);
    const double truth = q->stop.square[c];
    const bool halved = truth * HALVED_SQUARE <= q->best[c], drifted = truth > HALVED_SQUARE * recursed[k];
    q->waited[c] = halved ? 0 : q->waited[c] + 1;
    const bool patient = q->waited[c] < PATIENCE,
               hopeless = is_low(q) ? rises || !patient : rises && !patient;
    if (!gb_stop_reached(&q->stop, c) && !halved && (drifted || hopeless))
      q->at.state[c] = GB_COLUMN_STAGNATED;
    if (drifted) q->restart[c] = true;
    if (halved || !(truth >= q->best[c])) q->best[c] = truth;
  }
  return GB_OK;
}

/* -- cycles */

/* What products in f32 could not solve is left to f64, from zero where they led away from the solution. */
static void leave_to_f64 (gb_refinement *q, size_t c) {
  const gb_system *s = q->s;
  const double length = gb_stop_length_square(&q->stop, c);
  q->f32_insufficient = true;
  q->at.state[c] = GB_COLUMN_ACTIVE;
  q->waited[c] = 0;
  if (q->stop.square[c] <= length) return;
  gb_panel_fill(gb_panel_column(s->x, c), 0);
  gb_panel_copy(gb_panel_column(s->b, c), gb_panel_column(s->res, c));
  q->stop.square[c] = length;
  q->energy[c] = 0;
  if (gb_stop_has_goal(&q->stop)) s->o->goal.quad_form[c] = 0;
}

/* The measures of all rules from true residuals. */
static void finalise (gb_refinement *q) {
  if (!gb_stop_measures(&q->stop)) return;
  if (gb_stop_has_goal(&q->stop)) {
    multiply_x(q);
    for (size_t k = 0; k < q->at.live; k++) q->s->o->goal.quad_form[q->at.column[k]] = q->xb[k] + q->xr[k];
  }
  const gb_panel z = gb_active_own(&q->at, q->s->spare);
  gb_precond_apply(q->s->o->precond, listed(q, q->s->res), z);
  gb_panel_dot(listed(q, q->s->res), z, q->sums, q->xb);
  gb_refine_test_measured(q, q->xb);
}

/* After a cycle: true residuals of all columns, and which of them start another. */
static gb_status verify (gb_refinement *q, gb_error *err) {
  const gb_stop *t = &q->stop;
  const bool low = is_low(q);
  gb_active_list(&q->at, ~0u);
  GB_TRY(recompute(q, err));
  finalise(q);
  for (size_t c = 0; c < q->s->r; c++) {
    unsigned char *state = &q->at.state[c];
    const bool halved = t->square[c] * HALVED_SQUARE <= q->best[c] ||
                        (t->weighted && t->weighted_square[c] * HALVED_SQUARE < q->best_weighted[c]);
    if (gb_stop_reached(t, c)) *state = GB_COLUMN_CONVERGED;
    else if (low) leave_to_f64(q, c);
    else if (*state == GB_COLUMN_CONVERGED || *state == GB_COLUMN_STAGNATED)
      *state = halved ? GB_COLUMN_ACTIVE : GB_COLUMN_STAGNATED;
    q->best[c] = low ? t->square[c] : fmin(q->best[c], t->square[c]);
    q->best_weighted[c] = low ? t->weighted_square[c] : fmin(q->best_weighted[c], t->weighted_square[c]);
    q->restart[c] = false;
  }
  return GB_OK;
}

static bool lists_active (gb_refinement *q) {
  gb_active_list(&q->at, 1u << GB_COLUMN_ACTIVE);
  return q->at.live > 0;
}

gb_status gb_refine (gb_refinement *q, gb_inner_cycle *cycle, void *ud, gb_error *err) {
  gb_product *a = &q->s->m->a;
  for (size_t c = 0; c < q->s->r; c++) gb_refine_test(q, c);
  while (lists_active(q) && q->s->info->iterations < q->s->o->max_iter) {
    GB_TRY(cycle(q, ud, err));
    GB_TRY(verify(q, err));
    q->by = a;
  }
  return a->r == q->s->r ? GB_OK : gb_product_resize(a, q->s->r, err);
}

/* -- the record */

static gb_solve_reason reason_of (const gb_refinement *q, size_t c) {
  if (gb_stop_reached(&q->stop, c)) return GB_SOLVE_CONVERGED;
  if (q->at.state[c] == GB_COLUMN_BROKEN || !isfinite(q->stop.square[c])) return GB_SOLVE_NAN;
  if (q->at.state[c] == GB_COLUMN_INDEFINITE) return GB_SOLVE_INDEFINITE;
  return q->at.state[c] == GB_COLUMN_STAGNATED ? GB_SOLVE_STAGNATED : GB_SOLVE_MAX_ITER;
}

/* The column of the gravest reason, and among equals the one with most left. */
void gb_refine_report (const gb_refinement *q, const double *curvature) {
  static const int gravity[] = {[GB_SOLVE_CONVERGED] = 0,
                                [GB_SOLVE_STAGNATED] = 1,
                                [GB_SOLVE_MAX_ITER] = 2,
                                [GB_SOLVE_INDEFINITE] = 3,
                                [GB_SOLVE_NAN] = 4};
  gb_solve_info *info = q->s->info;
  double most = -1;
  for (size_t c = 0; c < q->s->r; c++) {
    const double ratio = gb_stop_residual(&q->stop, c), left = q->stop.rule->left(&q->stop, c);
    const gb_solve_reason reason = reason_of(q, c);
    double *of = c == 0 ? &info->residual_first : &info->residual_rest;
    *of = gb_worse(*of, ratio);
    info->residual = gb_worse(info->residual, ratio);
    if (gb_stop_has_goal(&q->stop)) info->variance_error = fmax(info->variance_error, left);
    if (gravity[reason] < gravity[info->reason] || (gravity[reason] == gravity[info->reason] && left <= most))
      continue;
    info->reason = reason;
    info->column = c;
    info->curvature = curvature[c];
    most = left;
  }
  info->converged = info->reason == GB_SOLVE_CONVERGED;
  info->f32_insufficient = q->f32_insufficient;
}
