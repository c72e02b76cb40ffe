/* frame.c - the right-hand side in, the loop, the solution and its record out. */
#include "solve/frame/frame.h"

#include <float.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/plain.h"

#define WORTHLESS 1e3 /* a guess that leaves more than this times |b| is far worse than 0 */

const char *gb_solve_reason_text (gb_solve_reason r) {
  static const char *const names[] = {"converged", "max_iter", "indefinite", "singular", "stagnated",
                                      "diverged",  "overflow", "underflow",  "nan"};
  return names[r];
}

/* -- what an interrupt ends */

static _Thread_local gb_solve_info cut;
static _Thread_local const char *cut_method; /* NULL: none */

static void keep_interrupted (const gb_solve_info *info, const char *method) {
  const gb_curve *curve = &info->curve;
  cut = *info;
  cut.converged = false;
  cut.residual = curve->count > 0 ? curve->residual[curve->count - 1] : 1;
  cut_method = method;
}

const gb_solve_info *gb_solve_take_interrupted (const char **method) {
  *method = cut_method;
  cut_method = NULL;
  return *method != NULL ? &cut : NULL;
}

/* -- for loops */

void gb_system_shares (const gb_system *s, gb_panel v, double *share) {
  gb_panel_dot(v, v, NULL, share);
  for (size_t c = 0; c < s->r; c++)
    share[c] = s->length[c] == 0 && share[c] == 0 ? 0 : sqrt(share[c]) / s->length[c];
}

gb_status gb_system_residual (gb_system *s, gb_error *err) {
  GB_TRY(gb_product_run(s->a, s->x, s->res, err));
  gb_panel_subtract(s->b, s->res, s->res);
  gb_system_shares(s, s->res, s->left);
  gb_stage_at(GB_STAGE_SOLVE, s->info->iterations, gb_system_worst(s));
  return GB_OK;
}

double gb_system_worst (const gb_system *s) {
  double worst = 0;
  for (size_t c = 0; c < s->r; c++)
    if (!(s->left[c] <= worst)) worst = s->left[c];
  return worst;
}

void gb_curve_note (gb_curve *curve, int steps, double residual) {
  gb_stage_at(GB_STAGE_SOLVE, steps, residual);
  if (curve->every == 0) curve->every = 1;
  if (curve->count == GB_CURVE) {
    for (int i = 0; i < GB_CURVE / 2; i++) curve->residual[i] = curve->residual[2 * i + 1];
    curve->count = GB_CURVE / 2;
    curve->every *= 2;
  }
  if (steps == (curve->count + 1) * curve->every) curve->residual[curve->count++] = (float)residual;
}

void gb_system_report (gb_system *s) {
  gb_solve_info *info = s->info;
  for (size_t c = 0; c < s->r; c++) {
    double *of = c == 0 ? &info->residual_first : &info->residual_rest;
    *of = gb_worse(*of, s->left[c]);
    if (s->left[c] <= info->residual || isnan(info->residual)) continue;
    info->residual = s->left[c];
    info->column = c;
  }
  info->converged = info->residual <= s->o->tol;
  if (info->converged) info->reason = GB_SOLVE_CONVERGED;
  else if (!isfinite(info->residual)) info->reason = GB_SOLVE_NAN;
}

/* |A x| / |x| of column c, with A x in 'spare'; NaN where that is not known. */
static double stretch (const gb_system *s, size_t c) {
  const double xx = gb_panel_sum_squares(gb_panel_column(s->x, c), 0),
               yy = gb_panel_sum_squares(gb_panel_column(s->spare, c), 0);
  return xx >= DBL_MIN && isfinite(xx) && isfinite(yy) ? sqrt(yy / xx) : NAN;
}

void gb_system_condition (gb_system *s, double largest, double smallest) {
  gb_panel_subtract(s->b, s->res, s->spare);
  for (size_t c = 0; c < s->r; c++) {
    const double met = stretch(s, c);
    largest = fmax(largest, met);
    smallest = fmin(smallest, met);
  }
  smallest = fmax(smallest, largest * (s->a->dtype == GB_F64 ? DBL_EPSILON : FLT_EPSILON));
  s->info->condition = smallest > 0 && isfinite(largest) ? largest / smallest : 0;
}

/* -- checks */

static gb_status check_options (const gb_solve_method *method, const gb_solve_options *o, gb_error *err) {
  const struct {
    bool given;
    unsigned option;
    const char *name;
  } special[] = {{o->precond != NULL, GB_TAKES_PRECOND, "precond"},
                 {o->mixed, GB_TAKES_MIXED, "mixed"},
                 {o->goal.prior != NULL, GB_TAKES_GOAL, "goal"}};
  if (!(o->tol > 0 && o->tol < 1))
    return gb_fail(err, GB_EOPTION,
                   "tol: expected a number between 0 and 1, got %g: x = 0 has a residual of 1",
                   gb_plain(o->tol));
  if (o->max_iter < 0) return gb_fail(err, GB_EOPTION, "max_iter: expected at least 0, got %d", o->max_iter);
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (special[i].given && (method->takes & special[i].option) == 0)
      return gb_fail(err, GB_EOPTION, "%s: %s cannot use it", special[i].name, method->name);
  return GB_OK;
}

gb_status gb_frame_check (const gb_solve_method *method, gb_node *a, gb_node *b, const gb_solve_options *o,
                          gb_error *err) {
  char left[GB_NODE_TEXT], right[GB_NODE_TEXT];
  const gb_shape *s = gb_node_shape(b);
  if ((s->ndim != 1 && s->ndim != 2) || gb_node_shape(a)->ndim != 2 || s->dim[0] != gb_node_shape(a)->dim[0])
    return gb_fail(err, GB_ESHAPE, "right-hand side does not fit the matrix: %s, %s", gb_node_text(a, left),
                   gb_node_text(b, right));
  if (gb_node_dtype(a) != gb_node_dtype(b))
    return gb_fail(err, GB_EDTYPE, "dtypes differ: %s and %s", gb_dtype_name(gb_node_dtype(a)),
                   gb_dtype_name(gb_node_dtype(b)));
  if (o->x0 != NULL && !gb_shape_equal(gb_node_shape(o->x0), s))
    return gb_fail(err, GB_ESHAPE, "x0: expected the shape of the right-hand side");
  return check_options(method, o, err);
}

/* -- the start */

static gb_status interrupted (gb_error *err) { /* where panel operations may have been cut short */
  return gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK;
}

/* x = 0 in columns of a guess that is far worse, or not finite. */
static void drop_worthless (gb_system *s) {
  for (size_t c = 0; c < s->r; c++) {
    if (s->left[c] <= WORTHLESS) continue;
    gb_panel_fill(gb_panel_column(s->x, c), 0);
    gb_panel_copy(gb_panel_column(s->b, c), gb_panel_column(s->res, c));
  }
  gb_system_shares(s, s->res, s->left);
}

static gb_status start (gb_system *s, bool guess, const int *exponent, gb_error *err) {
  gb_panel_shift(s->b, exponent, -1);
  gb_panel_dot(s->b, s->b, NULL, s->length);
  for (size_t c = 0; c < s->r; c++) s->length[c] = sqrt(s->length[c]);
  if (guess) {
    gb_panel_shift(s->x, exponent, -1);
    GB_TRY(gb_system_residual(s, err));
    drop_worthless(s);
    return GB_OK;
  }
  gb_panel_fill(s->x, 0);
  gb_panel_copy(s->b, s->res);
  gb_system_shares(s, s->res, s->left);
  return GB_OK;
}

/* -- the end */

static bool within_tol (const gb_system *s) {
  for (size_t c = 0; c < s->r; c++)
    if (!(s->left[c] <= s->o->tol)) return false;
  return true;
}

/* What a tiny x loses at the size of b counts: the record is that of what is returned. */
static gb_status count_lost (gb_system *s, const int *exponent, gb_error *err) {
  gb_solve_info *info = s->info;
  const bool f32 = !s->o->mixed && s->a->dtype == GB_F32;
  size_t column = 0;
  const double lost = gb_panel_lost(s->x, exponent, f32, &column);
  if (!(lost > 0)) return GB_OK;
  gb_panel_keep(s->x, exponent, f32);
  GB_TRY(gb_system_residual(s, err));
  info->residual = gb_worse(info->residual, fmax(lost, gb_system_worst(s)));
  if (!info->converged || (lost <= s->o->tol && (s->o->goal.prior != NULL || within_tol(s)))) return GB_OK;
  info->converged = false;
  info->reason = GB_SOLVE_UNDERFLOW;
  info->column = column;
  return GB_OK;
}

static void unscale (gb_system *s, const int *exponent) {
  const gb_panel columns[] = {s->b, s->x, s->res};
  const gb_variance_goal *goal = &s->o->goal;
  gb_solve_info *info = s->info;
  for (int k = 0; k < 3; k++) gb_panel_shift(columns[k], exponent, 1);
  for (size_t c = 0; goal->prior != NULL && c < s->r; c++) {
    goal->quad_form[c] = ldexp(goal->quad_form[c], 2 * exponent[c]);
    goal->quad_error_bound[c] = ldexp(goal->quad_error_bound[c], 2 * exponent[c]);
  }
  if (!info->converged || gb_panel_finite(s->x, !s->o->mixed && s->a->dtype == GB_F32, &info->column)) return;
  info->converged = false;
  info->reason = GB_SOLVE_OVERFLOW;
}

/* -- panels */

/* Entries of 'spare' and the loop's own; numbers: length, left, exponents, the scaled priors of a method that
** takes a goal, and the loop's own. */
gb_work_bytes gb_frame_bytes (const gb_solve_method *method, const void *ud, size_t n, size_t r) {
  const gb_work_bytes own = method->room(n, r, ud);
  const size_t arrays = (method->takes & GB_TAKES_GOAL) != 0 ? 4 : 3;
  return (gb_work_bytes){n * r * sizeof(double) + own.entries, arrays * r * sizeof(double) + own.numbers};
}

static gb_status run_in (gb_system *s, gb_room work, const gb_solve_method *method, const void *ud,
                         bool guess, gb_error *err) {
  const size_t r = s->r;
  const gb_solve_options *given = s->o;
  gb_solve_options scaled = *given;
  s->spare = gb_panel_of(work.device, work.entries, s->n, r);
  s->length = work.numbers;
  s->left = s->length + r;
  int *exponent = (int *)(void *)(s->left + r);
  double *prior = s->left + 2 * r, *own = (method->takes & GB_TAKES_GOAL) != 0 ? prior + r : prior;
  gb_panel_exponents(s->b, exponent);
  if (given->goal.prior != NULL) {
    for (size_t c = 0; c < r; c++) prior[c] = ldexp(given->goal.prior[c], -2 * exponent[c]);
    scaled.goal.prior = prior;
  }
  s->o = &scaled;
  gb_status st = start(s, guess, exponent, err);
  const gb_room rest = {work.device, gb_panel_address(work.entries, s->n * r), own};
  if (st == GB_OK) st = method->loop(s, rest, ud, err);
  if (st == GB_OK) st = count_lost(s, exponent, err);
  if (st == GB_OK) unscale(s, exponent);
  s->o = given;
  return st == GB_OK ? interrupted(err) : st;
}

gb_status gb_frame_run (const gb_solve_method *method, const void *ud, gb_solve_matrix *m,
                        const gb_solve_options *o, gb_panel b, bool guess, gb_panel x, gb_panel res,
                        gb_solve_info *info, gb_error *err) {
  const double started = gb_clock();
  gb_system s = {.m = m, .a = &m->a, .o = o, .n = b.n, .r = b.r, .b = b, .x = x, .res = res, .info = info};
  const gb_work_bytes w = gb_frame_bytes(method, ud, s.n, s.r);
  gb_work work;
  *info = (gb_solve_info){.tol = o->tol, .bytes = w.entries + w.numbers};
  GB_TRY(gb_work_new(b.device, w.entries, w.numbers, method->name, &work, err));
  gb_stage_begin(GB_STAGE_SOLVE, method->name, "relative residual", o->max_iter);
  const gb_status st = run_in(&s, work.at, method, ud, guess, err);
  gb_stage_end(GB_STAGE_SOLVE);
  info->seconds = gb_clock() - started;
  if (st == GB_EINTR) keep_interrupted(info, method->name);
  gb_work_free(&work);
  return st;
}

/* -- nodes */

/* Entries of b, x and the residual. */
static gb_status solve_in (const gb_solve_method *method, const void *ud, gb_solve_matrix *m, gb_node *b,
                           const gb_solve_options *o, gb_room work, gb_node **x, gb_solve_info *info,
                           gb_error *err) {
  const size_t n = m->a.n, r = m->a.r;
  gb_panel panel[3];
  for (size_t i = 0; i < 3; i++)
    panel[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * n * r), n, r);
  GB_TRY(gb_node_entries(b, panel[0].at, err));
  if (o->x0 != NULL) GB_TRY(gb_node_entries(o->x0, panel[1].at, err));
  GB_TRY(gb_frame_run(method, ud, m, o, panel[0], o->x0 != NULL, panel[1], panel[2], info, err));
  const gb_dtype dtype = o->mixed ? GB_F64 : m->a.dtype;
  return gb_leaf_entries(b->graph, gb_node_shape(b), dtype, panel[1].at, "", x, err);
}

gb_status gb_frame_solve (const gb_solve_method *method, const void *ud, gb_node *a, gb_node *b,
                          const gb_solve_options *o, gb_node **x, gb_solve_info *info, gb_error *err) {
  const double started = gb_clock();
  *info = (gb_solve_info){0};
  GB_TRY(gb_frame_check(method, a, b, o, err));
  const gb_shape *shape = gb_node_shape(b);
  const size_t n = shape->dim[0], r = shape->ndim == 1 ? 1 : shape->dim[1];
  const size_t entries = 3 * n * r * sizeof(double);
  if (n * r == 0) {
    info->converged = true;
    return gb_leaf_doubles(b->graph, shape, gb_node_dtype(b), NULL, "", x, err);
  }
  gb_solve_matrix m;
  gb_work work;
  GB_TRY(gb_solve_matrix_init(&m, a, r, o->mixed, err));
  gb_status st = gb_work_new(b->graph->device, entries, 0, method->name, &work, err);
  if (st == GB_OK) st = solve_in(method, ud, &m, b, o, work.at, x, info, err);
  info->bytes += entries;
  info->seconds = gb_clock() - started;
  gb_work_free(&work);
  gb_solve_matrix_clear(&m);
  return st;
}
