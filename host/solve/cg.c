/* cg.c - the loop and its workspace. */
#include "solve/cg.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/plain.h"
#include "iterate/boundary.h"
#include "solve/lanczos.h"
#include "solve/system.h"

#define CHECK 50          /* steps between residuals computed from A */
#define CHECK_MIXED 15    /* the same where products are of f32 */
#define PATIENCE 8        /* such checks without a residual halved */
#define RESOLVED 1e-13    /* relative: what the sums of an energy resolve */
#define ROUNDED 4.0       /* times n u r'r / noise: how far rounding may take r' P^-1 r from what it is */
#define LEAST_SHARE 1e-15 /* of a prior: less may be missing of any variance */
#define LONG_WAY 4.0      /* square of the factor by which a residual that counts as progress falls */

const char *gb_cg_reason_text (gb_cg_reason r) {
  static const char *const names[] = {"converged", "max_iter",  "indefinite", "stagnated",
                                      "overflow",  "underflow", "nan"};
  return names[r];
}

char *gb_cg_text (const gb_cg_info *info, const gb_cg_options *o, char buf[GB_CG_TEXT]) {
  const size_t c = info->column + 1;
  switch (info->reason) {
    case GB_CG_CONVERGED: buf[0] = '\0'; break;
    case GB_CG_MAX_ITER:
      if (o->goal.prior != NULL) {
        snprintf(
            buf, GB_CG_TEXT,
            "variance %zu is known to %.2g of itself after %d steps, expected %.2g: raise max_iter, or use a "
            "preconditioner of higher rank",
            c, gb_plain(info->missing), info->iterations, o->tol);
        break;
      }
      snprintf(buf, GB_CG_TEXT,
               "column %zu has residual %.2g after %d steps, expected %.2g: raise max_iter, or use a "
               "preconditioner of higher rank",
               c, gb_plain(info->residual), info->iterations, o->tol);
      break;
    case GB_CG_INDEFINITE:
      snprintf(
          buf, GB_CG_TEXT,
          "the matrix is not positive definite: column %zu met the curvature %.3g, so that an eigenvalue "
          "is no larger; add noise, or use minres",
          c, gb_plain(info->curvature));
      break;
    case GB_CG_STAGNATED:
      snprintf(
          buf, GB_CG_TEXT,
          "column %zu has residual %.2g and more steps do not halve it: rounding allows no less; use f64, "
          "or more noise",
          c, gb_plain(info->residual));
      break;
    case GB_CG_OVERFLOW:
      snprintf(buf, GB_CG_TEXT,
               "the solution of column %zu is larger than its dtype holds: scale the right-hand side", c);
      break;
    case GB_CG_UNDERFLOW:
      snprintf(buf, GB_CG_TEXT,
               "the solution of column %zu is smaller than its dtype holds: scale the right-hand side", c);
      break;
    case GB_CG_NAN:
      snprintf(
          buf, GB_CG_TEXT,
          "column %zu is not finite: there is a NaN or an infinity in the matrix or in the right-hand side",
          c);
      break;
  }
  return buf;
}

/* -- state */

typedef enum column_state { RUNNING, RESTING, INDEFINITE, BROKEN, STUCK } column_state;

/* Arrays over (n, r), over columns (r), or over the live columns: those that run, by their place in 'col'. */
typedef struct cg {
  gb_cg_matrix *m;
  gb_product *by; /* for directions: A, or A in f32 */
  const gb_cg_options *o;
  gb_cg_trace *trace;
  size_t n, r;
  gb_panel b, x, res; /* the caller's: right-hand side, solution, residual; (n, r) */
  gb_panel z, p, ap;  /* (n, r); (n, width), live columns first, zeros behind */
  void *sums;
  /* columns; bound: the square of tol |b|; last: least recomputed rr */
  double *rr, *bound, *last, *curvature;
  double *energy;         /* columns: least of x' A x - 2 b' x at a check */
  double *form, *missing; /* columns, with a goal: 2 b' x - x' A x, and how much too small it is at most */
  double *left, *left_bound, *last_left; /* columns, by_noise: r' P^-1 r, and as bound and last are of rr */
  double *rz, *factor, *out, *at_x;      /* live columns */
  size_t *col, *at;                      /* live columns, ascending; which of them stay */
  size_t live, width;
  unsigned char *state, *calm; /* columns: column_state; checks since a residual was halved */
  /* columns: the next direction is the first; one was: the coefficients are not b's any more */
  bool *fresh, *begun_anew;
  int iterations;
  bool too_narrow;
  bool by_noise; /* points have noises of their own */
} cg;

static size_t entries (size_t n, size_t r) { return (3 * n * r + gb_panel_sums(n, r)) * sizeof(double); }
static size_t numbers (size_t r) { return 14 * r * sizeof(double) + 2 * r * sizeof(size_t) + 4 * r; }

size_t gb_cg_workspace (size_t n, size_t r) { return entries(n, r) + numbers(r); }

static void bind (cg *s, gb_room work) {
  const size_t nr = s->n * s->r, r = s->r;
  gb_panel *const panels[] = {&s->z, &s->p, &s->ap};
  for (size_t i = 0; i < 3; i++)
    *panels[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * nr), s->n, r);
  s->sums = gb_panel_address(work.entries, 3 * nr);
  double *w = work.numbers;
  s->rr = w, s->bound = w + r, s->last = w + 2 * r, s->curvature = w + 3 * r;
  s->rz = w + 4 * r, s->factor = w + 5 * r, s->out = w + 6 * r;
  s->energy = w + 7 * r, s->at_x = w + 8 * r;
  s->form = w + 9 * r, s->missing = w + 10 * r;
  s->left = w + 11 * r, s->left_bound = w + 12 * r, s->last_left = w + 13 * r;
  s->col = (size_t *)(w + 14 * r), s->at = s->col + r;
  s->state = (unsigned char *)(s->at + r);
  s->calm = s->state + r;
  memset(s->state, RUNNING, r);
  s->fresh = (bool *)(s->calm + r);
  s->begun_anew = s->fresh + r;
  memset(s->calm, 0, 3 * r);
}

/* Live columns: of the loop's panels, where they come first, and of the caller's. */
static gb_panel own (const cg *s, gb_panel v) {
  return (gb_panel){.device = v.device, .at = v.at, .n = s->n, .r = s->live, .stride = s->width};
}
static gb_panel own_wide (const cg *s, gb_panel v) { return gb_panel_of(v.device, v.at, s->n, s->width); }
static gb_panel theirs (const cg *s, gb_panel v) {
  return gb_panel_columns(v, s->live, s->live < s->r ? s->col : NULL);
}

static double tol_of (const cg *s, size_t c) { return c > 0 && s->o->rest > 0 ? s->o->rest : s->o->tol; }

/* The width at which A is multiplied with 'live' columns: r, halved as often as they fit. */
static size_t rung (size_t r, size_t live) {
  while (r > 1 && (r + 1) / 2 >= live) r = (r + 1) / 2;
  return r;
}

static gb_status multiply (cg *s, gb_product *by, gb_panel x, gb_panel y, gb_error *err) {
  if (by->r != s->width) GB_TRY(gb_product_resize(by, s->width, err));
  return gb_product_run(by, own_wide(s, x), own_wide(s, y), err);
}

/* Live are the columns in any of the states. */
static void enlist (cg *s, unsigned states) {
  s->live = 0;
  for (size_t c = 0; c < s->r; c++)
    if ((states >> s->state[c] & 1) != 0) s->col[s->live++] = c;
  s->width = rung(s->r, s->live);
}

/* Live columns that no longer run leave. */
static void drop (cg *s) {
  size_t stay = 0;
  for (size_t k = 0; k < s->live; k++)
    if (s->state[s->col[k]] == RUNNING) s->at[stay++] = k;
  if (stay == s->live) return;
  const size_t width = rung(s->r, stay);
  gb_panel_compact(own_wide(s, s->p), width, stay, s->at);
  gb_panel_compact(own_wide(s, s->ap), width, stay, s->at);
  for (size_t k = 0; k < stay; k++) {
    s->col[k] = s->col[s->at[k]];
    s->rz[k] = s->rz[s->at[k]];
    s->factor[k] = s->factor[s->at[k]];
  }
  s->live = stay;
  s->width = width;
}

/* -- a cycle */

static bool has_goal (const cg *s) { return s->o->goal.prior != NULL; }

static double variance (const cg *s, size_t c) { return fmax(s->o->goal.prior[c] - s->form[c], 0); }

/* What is missing of a form, as a share of the variance, as far as that can be known. */
static double share (const cg *s, size_t c) {
  return s->missing[c] == 0
             ? 0
             : s->missing[c] / fmax(variance(s, c), LEAST_SHARE / s->o->tol * s->o->goal.prior[c]);
}

static bool arrived (const cg *s, size_t c) {
  if (!isfinite(s->rr[c])) return false;
  if (has_goal(s)) return share(s, c) <= s->o->tol;
  return s->rr[c] <= s->bound[c] && (!s->by_noise || s->left[c] <= s->left_bound[c]);
}

/* rr, or what is missing, is there: who goes on? A column of zeros is solved by x = 0 and never starts. */
static void judge (cg *s, size_t c) {
  if (s->state[c] != RUNNING) return;
  if (!isfinite(s->rr[c])) s->state[c] = BROKEN;
  else if (arrived(s, c)) s->state[c] = RESTING;
}

/* R' A^-1 R of a column is at most this: R' R over the least noise, or R' P^-1 R, and what rounding may
** have taken from it. */
static double most_missing (const cg *s, size_t c, double rz) {
  const gb_precond *p = s->o->precond;
  const double least = s->o->goal.least, plain = s->rr[c] / least;
  if (p == NULL || p->form.lt == NULL) return plain;
  const double rounded = ROUNDED * (double)s->n * DBL_EPSILON * s->rr[c] / p->least;
  return fmin(plain, (fmax(rz, 0) + rounded) * fmax(p->least / least, 1));
}

/* With rr and r' P^-1 r of the live columns: by the goal, or by the noises of points. */
static void judge_by_metric (cg *s, const double *rz) {
  for (size_t k = 0; (has_goal(s) || s->by_noise) && k < s->live; k++) {
    const size_t c = s->col[k];
    if (has_goal(s)) s->missing[c] = most_missing(s, c, rz[k]);
    if (s->by_noise) s->left[c] = rz[k] > 0 || s->rr[c] == 0 ? rz[k] : INFINITY;
    judge(s, c);
  }
}

/* residual = b - A x of the live columns, with x rounded to A's dtype; and rr. */
static gb_status recompute (cg *s, gb_error *err) {
  gb_panel_fill(own_wide(s, s->z), 0);
  gb_panel_copy(theirs(s, s->x), own(s, s->z));
  GB_TRY(multiply(s, &s->m->a, s->z, s->ap, err));
  gb_panel_copy(own(s, s->z), theirs(s, s->x));
  gb_panel_subtract(theirs(s, s->b), own(s, s->ap), theirs(s, s->res));
  gb_panel_dot(theirs(s, s->res), theirs(s, s->res), s->sums, s->out);
  for (size_t k = 0; k < s->live; k++) s->rr[s->col[k]] = s->out[k];
  return GB_OK;
}

/* x' A x - 2 b' x = -x' (b + r) of the live columns: what every step makes smaller, but for rounding. True
** where it did not. */
static bool rises (cg *s, size_t k, const double *xb, const double *xr) {
  const size_t c = s->col[k];
  const double energy = -(xb[k] + xr[k]), before = s->energy[c];
  s->energy[c] = fmin(before, energy);
  s->form[c] = -energy;
  return energy > before + RESOLVED * fabs(before);
}

static void measure_energy (cg *s, double *xb, double *xr) {
  gb_panel_dot(theirs(s, s->x), theirs(s, s->b), s->sums, xb);
  gb_panel_dot(theirs(s, s->x), theirs(s, s->res), s->sums, xr);
}

/* Where the recursion says less than half of the truth, its directions are conjugate to nothing: the
** column begins anew, or has stagnated where the truth is no longer halved. Otherwise a plateau is no end:
** after PATIENCE checks on one the column has stagnated if its energy rises. Products in f32 give up at
** the first rise, and at the end of the patience. */
static gb_status check (cg *s, gb_error *err) {
  for (size_t k = 0; k < s->live; k++) s->factor[k] = s->rr[s->col[k]];
  GB_TRY(recompute(s, err));
  measure_energy(s, s->out, s->at_x);
  for (size_t k = 0; k < s->live; k++) {
    const size_t c = s->col[k];
    const bool up = rises(s, k, s->out, s->at_x);
    const double truth = s->rr[c];
    const bool halved = truth * LONG_WAY <= s->last[c], lied = truth > LONG_WAY * s->factor[k];
    s->calm[c] = halved ? 0 : s->calm[c] + 1;
    const bool patient = s->calm[c] < PATIENCE, low = s->by != &s->m->a;
    if (!arrived(s, c) && !halved && (lied || (low ? up || !patient : up && !patient))) s->state[c] = STUCK;
    if (lied) s->fresh[c] = true;
    if (halved || !(truth >= s->last[c])) s->last[c] = truth;
  }
  return GB_OK;
}

/* The length of the step along p; columns that cannot step leave. */
static void measure (cg *s) {
  gb_panel_dot(own(s, s->p), own(s, s->ap), s->sums, s->factor);
  for (size_t k = 0; k < s->live; k++) {
    const size_t c = s->col[k];
    const double curvature = s->factor[k];
    if (!isfinite(curvature)) s->state[c] = BROKEN;
    else if (!(curvature > 0 && s->rz[k] > 0)) {
      const gb_panel p = gb_panel_column(own(s, s->p), k);
      s->state[c] = INDEFINITE;
      gb_panel_dot(p, p, s->sums, s->out);
      s->curvature[c] = s->out[0] > 0 ? curvature / s->out[0] : 0;
    }
    s->factor[k] = s->rz[k] / curvature;
  }
  drop(s);
}

static void note_alpha (const cg *s, int step) {
  for (size_t k = 0; s->trace != NULL && step < s->trace->max_steps && k < s->live; k++) {
    const size_t c = s->col[k], at = (size_t)step * s->r + c;
    if (s->begun_anew[c]) continue;
    s->trace->alpha[at] = s->factor[k];
    s->trace->beta[at] = 0;
    s->trace->steps[c] = step + 1;
  }
}

/* The next directions, conjugate to the last. */
static void turn (cg *s, int step) {
  gb_precond_apply(s->o->precond, theirs(s, s->res), own(s, s->z));
  gb_panel_dot(theirs(s, s->res), own(s, s->z), s->sums, s->out);
  for (size_t k = 0; k < s->live; k++) {
    const size_t c = s->col[k];
    s->begun_anew[c] |= s->fresh[c];
    s->factor[k] = s->fresh[c] ? 0 : s->out[k] / s->rz[k];
    s->rz[k] = s->out[k];
    s->fresh[c] = false;
    if (s->trace != NULL && step < s->trace->max_steps && !s->begun_anew[c])
      s->trace->beta[(size_t)step * s->r + c] = s->factor[k];
  }
  gb_panel_xpay(s->factor, own(s, s->z), own(s, s->p));
}

static gb_status step (cg *s, int number, gb_error *err) {
  const int every = s->by == &s->m->a ? CHECK : CHECK_MIXED;
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  GB_TRY(multiply(s, s->by, s->p, s->ap, err));
  measure(s);
  gb_panel_step(s->factor, own(s, s->p), own(s, s->ap), theirs(s, s->x), theirs(s, s->res), s->sums, s->out);
  note_alpha(s, number);
  for (size_t k = 0; k < s->live; k++) {
    s->rr[s->col[k]] = s->out[k];
    s->form[s->col[k]] += s->factor[k] * s->rz[k];
  }
  if ((number + 1) % every == 0 && s->live > 0) GB_TRY(check(s, err));
  for (size_t k = 0; k < s->live; k++) judge(s, s->col[k]);
  drop(s);
  turn(s, number);
  judge_by_metric(s, s->rz);
  drop(s);
  return GB_OK;
}

/* From the residual in 'res' until no column goes on. */
static gb_status cycle (cg *s, gb_error *err) {
  gb_panel_fill(own_wide(s, s->p), 0);
  gb_precond_apply(s->o->precond, theirs(s, s->res), own(s, s->p));
  gb_panel_dot(theirs(s, s->res), own(s, s->p), s->sums, s->rz);
  judge_by_metric(s, s->rz);
  drop(s);
  for (int number = 0; s->live > 0 && s->iterations < s->o->max_iter; number++) {
    GB_TRY(step(s, number, err));
    s->iterations++;
  }
  return GB_OK;
}

/* -- cycles */

/* x = 0 where the residual of x is longer than 'times' b, or not known; squares. */
static void doubt (cg *s, size_t c, double times) {
  const double length = s->bound[c] / (tol_of(s, c) * tol_of(s, c));
  if (s->rr[c] <= times * length) return;
  gb_panel_fill(gb_panel_column(s->x, c), 0);
  gb_panel_copy(gb_panel_column(s->b, c), gb_panel_column(s->res, c));
  s->rr[c] = length;
  s->energy[c] = s->form[c] = 0;
}

/* What products in f32 could not solve is left to A, from zero where they led away. */
static void leave_to_f64 (cg *s, size_t c) {
  s->state[c] = RUNNING;
  s->calm[c] = 0;
  doubt(s, c, 1);
}

/* The forms and what is missing of them, and what is left by the noises, from residuals computed from A. */
static void settle (cg *s) {
  if (!has_goal(s) && !s->by_noise) return;
  if (has_goal(s)) measure_energy(s, s->out, s->at_x);
  for (size_t k = 0; has_goal(s) && k < s->live; k++) s->form[s->col[k]] = s->out[k] + s->at_x[k];
  gb_precond_apply(s->o->precond, theirs(s, s->res), own(s, s->z));
  gb_panel_dot(theirs(s, s->res), own(s, s->z), s->sums, s->out);
  judge_by_metric(s, s->out);
}

/* After a cycle: the residuals of all columns, and who starts again. */
static gb_status verify (cg *s, gb_error *err) {
  const bool low = s->by != &s->m->a;
  enlist(s, ~0u);
  GB_TRY(recompute(s, err));
  settle(s);
  for (size_t c = 0; c < s->r; c++) {
    const bool halved = s->rr[c] * LONG_WAY <= s->last[c] ||
                        (s->by_noise && s->left[c] * LONG_WAY < s->last_left[c]);
    if (arrived(s, c)) s->state[c] = RESTING;
    else if (low) {
      leave_to_f64(s, c);
      s->too_narrow = true;
    } else if (s->state[c] == RESTING || s->state[c] == STUCK) s->state[c] = halved ? RUNNING : STUCK;
    s->last[c] = low ? s->rr[c] : fmin(s->last[c], s->rr[c]);
    s->last_left[c] = low ? s->left[c] : fmin(s->last_left[c], s->left[c]);
    s->fresh[c] = false;
  }
  return GB_OK;
}

static gb_status iterate (cg *s, gb_error *err) {
  for (size_t c = 0; c < s->r; c++) judge(s, c);
  for (enlist(s, 1u << RUNNING); s->live > 0 && s->iterations < s->o->max_iter; enlist(s, 1u << RUNNING)) {
    GB_TRY(cycle(s, err));
    s->trace = NULL; /* only the first cycle's steps belong to b */
    GB_TRY(verify(s, err));
    s->by = &s->m->a;
  }
  return GB_OK;
}

/* The root of a square over that of b, from its bound. */
static double over (double square, double bound) {
  return bound > 0 ? sqrt(square / bound) : square > 0 || isnan(square) ? INFINITY : 0;
}

static double relative (const cg *s, size_t c) {
  const double plain = over(s->rr[c], s->bound[c]),
               left = s->by_noise && !has_goal(s) ? over(s->left[c], s->left_bound[c]) : 0;
  return (isnan(plain) || plain >= left ? plain : left) * tol_of(s, c);
}

static gb_cg_reason reason_of (const cg *s, size_t c) {
  if (arrived(s, c)) return GB_CG_CONVERGED;
  if (s->state[c] == BROKEN || !isfinite(s->rr[c])) return GB_CG_NAN;
  if (s->state[c] == INDEFINITE) return GB_CG_INDEFINITE;
  return s->state[c] == STUCK ? GB_CG_STAGNATED : GB_CG_MAX_ITER;
}

static double worse (double a, double b) { return isnan(a) || b <= a ? a : b; }

/* NaN wins, then the gravest reason, then the largest residual, or share missing of a variance; that of a
** NaN is not known. */
static void report (const cg *s, gb_cg_info *info) {
  static const int weight[] = {
      [GB_CG_CONVERGED] = 0, [GB_CG_STAGNATED] = 1, [GB_CG_MAX_ITER] = 2, [GB_CG_INDEFINITE] = 3,
      [GB_CG_OVERFLOW] = 4,  [GB_CG_UNDERFLOW] = 4, [GB_CG_NAN] = 5};
  double worst = -1;
  for (size_t c = 0; c < s->r; c++) {
    const double ratio = relative(s, c);
    const gb_cg_reason reason = reason_of(s, c);
    double *of = c == 0 ? &info->first : &info->others;
    *of = worse(*of, ratio);
    info->residual = worse(info->residual, ratio);
    if (has_goal(s)) {
      s->o->goal.form[c] = s->form[c], s->o->goal.missing[c] = s->missing[c];
      info->missing = fmax(info->missing, share(s, c));
    }
    const double left = has_goal(s) ? share(s, c) : ratio;
    if (weight[reason] < weight[info->reason] || (weight[reason] == weight[info->reason] && left <= worst))
      continue;
    info->reason = reason;
    info->column = c;
    info->curvature = s->curvature[c];
    worst = left;
  }
  info->converged = info->reason == GB_CG_CONVERGED;
  info->iterations = s->iterations;
  info->too_narrow = s->too_narrow;
}

static void begin (cg *s, const gb_cg_options *o) {
  s->by_noise = o->precond != NULL && o->precond->form.scale != NULL;
  gb_panel_dot(s->b, s->b, s->sums, s->bound);
  if (s->by_noise) {
    gb_precond_apply(o->precond, s->b, s->z);
    gb_panel_dot(s->b, s->z, s->sums, s->left_bound);
  }
  for (size_t c = 0; c < s->r; c++) {
    s->left[c] = s->last_left[c] = INFINITY;
    s->left_bound[c] = s->by_noise ? s->left_bound[c] * tol_of(s, c) * tol_of(s, c) : 0;
    s->rr[c] = s->last[c] = s->bound[c];
    s->bound[c] *= tol_of(s, c) * tol_of(s, c);
    s->curvature[c] = 0;
    s->energy[c] = INFINITY;
    s->form[c] = 0;
    s->missing[c] = INFINITY;
  }
  s->by = o->mixed && s->m->low.plan != NULL ? &s->m->low : &s->m->a;
}

/* x is the first guess, and 'res' its residual. */
static gb_status take_guess (cg *s, gb_error *err) {
  enlist(s, ~0u);
  GB_TRY(recompute(s, err));
  for (size_t c = 0; c < s->r; c++) {
    doubt(s, c, GB_WORTHLESS * GB_WORTHLESS);
    s->last[c] = s->rr[c];
  }
  return GB_OK;
}

gb_status gb_cg_columns (gb_cg_matrix *m, const gb_cg_options *o, gb_panel b, bool guess, gb_panel x,
                         gb_panel residual, gb_cg_trace *trace, gb_cg_info *info, gb_error *err) {
  const double started = gb_clock();
  cg s = {.m = m, .o = o, .trace = trace, .n = m->a.n, .r = m->a.r, .b = b, .x = x, .res = residual};
  gb_work work;
  *info = (gb_cg_info){.bytes = gb_cg_workspace(s.n, s.r)};
  GB_TRY(gb_work_new(b.device, entries(s.n, s.r), numbers(s.r), "conjugate gradients", &work, err));
  bind(&s, work.at);
  begin(&s, o);
  if (trace != NULL) memset(trace->steps, 0, s.r * sizeof *trace->steps);
  gb_status st = GB_OK;
  if (guess) st = take_guess(&s, err);
  else {
    gb_panel_fill(x, 0);
    gb_panel_copy(b, residual);
  }
  if (st == GB_OK) st = iterate(&s, err);
  if (st == GB_OK && gb_interrupted()) st = gb_fail(err, GB_EINTR, "interrupted"); /* sums are cut short */
  if (st == GB_OK) report(&s, info);
  gb_work_free(&work);
  if (st == GB_OK && trace != NULL && s.r > 0) info->condition = gb_trace_condition(trace, s.r, 0);
  if (st == GB_OK && m->a.r != s.r) st = gb_product_resize(&m->a, s.r, err);
  info->seconds = gb_clock() - started;
  return st;
}

/* -- the matrix */

gb_status gb_cg_matrix_init (gb_cg_matrix *m, gb_node *a, size_t r, const gb_cg_options *o, gb_error *err) {
  *m = (gb_cg_matrix){0};
  if (!o->mixed) return gb_product_init(&m->a, a, r, err);
  gb_node *other = NULL;
  const bool narrow = gb_node_dtype(a) == GB_F32;
  GB_TRY(gb_retype(a, narrow ? GB_F64 : GB_F32, &other, err));
  gb_status st = gb_product_init(&m->a, narrow ? other : a, r, err);
  if (st == GB_OK) st = gb_product_init(&m->low, narrow ? a : other, r, err);
  gb_node_unref(other);
  if (st != GB_OK) gb_cg_matrix_clear(m);
  return st;
}

void gb_cg_matrix_clear (gb_cg_matrix *m) {
  gb_product_clear(&m->low);
  gb_product_clear(&m->a);
}

size_t gb_cg_matrix_bytes (const gb_cg_matrix *m) {
  return gb_product_bytes(&m->a) + gb_product_bytes(&m->low);
}

gb_status gb_cg_matrix_most (gb_cg_matrix *m, size_t *bytes, gb_error *err) {
  *bytes = gb_cg_matrix_bytes(m);
  for (size_t r = m->a.r; r > 1;) {
    r = (r + 1) / 2;
    GB_TRY(gb_product_resize(&m->a, r, err));
    if (m->low.plan != NULL) GB_TRY(gb_product_resize(&m->low, r, err));
    const size_t now = gb_cg_matrix_bytes(m);
    if (now > *bytes) *bytes = now;
  }
  return GB_OK;
}
