/* system.c - the frame round a solver's loop: checks, workspace, the right-hand side in, the solution out. */
#include "solve/system.h"

#include <float.h>
#include <math.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/plain.h"

const char *gb_solve_reason_text (gb_solve_reason r) {
  static const char *const names[] = {"converged", "max_iter", "indefinite", "singular", "stagnated",
                                      "diverged",  "overflow", "underflow",  "nan"};
  return names[r];
}

void gb_system_shares (const gb_system *s, gb_panel v, double *share) {
  gb_panel_dot(v, v, NULL, share);
  for (size_t c = 0; c < s->r; c++)
    share[c] = s->length[c] == 0 && share[c] == 0 ? 0 : sqrt(share[c]) / s->length[c];
}

gb_status gb_system_residual (gb_system *s, gb_error *err) {
  GB_TRY(gb_product_run(s->a, s->x, s->res, err));
  gb_panel_subtract(s->b, s->res, s->res);
  gb_system_shares(s, s->res, s->left);
  return GB_OK;
}

double gb_system_worst (const gb_system *s) {
  double worst = 0;
  for (size_t c = 0; c < s->r; c++)
    if (!(s->left[c] <= worst)) worst = s->left[c];
  return worst;
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

static gb_status check (gb_node *a, gb_node *b, const gb_solve_options *o, gb_error *err) {
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
  if (!(o->tol > 0 && o->tol < 1))
    return gb_fail(err, GB_EOPTION, "tol: expected a number between 0 and 1, got %g", gb_plain(o->tol));
  if (o->max_iter < 0) return gb_fail(err, GB_EOPTION, "max_iter: expected at least 0, got %d", o->max_iter);
  return GB_OK;
}

/* x = 0 in columns of a guess that is far from everything, or not finite. */
static void drop_worthless (gb_system *s) {
  for (size_t c = 0; c < s->r; c++) {
    if (s->left[c] <= GB_WORTHLESS) continue;
    gb_panel_fill(gb_panel_column(s->x, c), 0);
    gb_panel_copy(gb_panel_column(s->b, c), gb_panel_column(s->res, c));
  }
  gb_system_shares(s, s->res, s->left);
}

static gb_status start (gb_system *s, gb_node *b, int *exponent, gb_error *err) {
  GB_TRY(gb_node_entries(b, s->b.at, err));
  /* lengths of very small or large columns are what they are */
  gb_panel_exponents(s->b, exponent);
  gb_panel_shift(s->b, exponent, -1);
  gb_panel_dot(s->b, s->b, NULL, s->length);
  for (size_t c = 0; c < s->r; c++) s->length[c] = sqrt(s->length[c]);
  if (s->o->x0 != NULL) {
    GB_TRY(gb_node_entries(s->o->x0, s->x.at, err));
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

/* The report, and x at the size of b. What a tiny x loses there counts: the residual is that of what is
** returned. */
static gb_status finish (gb_system *s, const int *exponent, gb_error *err) {
  gb_solve_info *info = s->info;
  const bool f32 = s->a->dtype == GB_F32;
  size_t column;
  info->residual = gb_system_worst(s);
  info->converged = info->residual <= s->o->tol;
  if (info->converged) info->reason = GB_SOLVE_CONVERGED;
  else if (!isfinite(info->residual)) info->reason = GB_SOLVE_NAN;
  const double lost = gb_panel_lost(s->x, exponent, f32, &column);
  if (lost > 0) {
    gb_panel_keep(s->x, exponent, f32);
    GB_TRY(gb_system_residual(s, err));
    info->residual = fmax(lost, gb_system_worst(s));
    if (info->converged && !(info->residual <= s->o->tol)) {
      info->converged = false;
      info->reason = GB_SOLVE_UNDERFLOW;
    }
  }
  gb_panel_shift(s->x, exponent, 1);
  if (!info->converged || gb_panel_finite(s->x, f32, &column)) return GB_OK;
  info->converged = false;
  info->reason = GB_SOLVE_OVERFLOW;
  return GB_OK;
}

/* Panels of 4 n r entries and the loop's own, 3 r numbers and the loop's own. */
static gb_status solve_in (gb_system *s, gb_room work, gb_node *b, gb_solve_loop *loop, const void *ud,
                           gb_error *err) {
  const size_t nr = s->n * s->r;
  gb_panel *const panels[] = {&s->b, &s->x, &s->res, &s->spare};
  for (size_t i = 0; i < 4; i++)
    *panels[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * nr), s->n, s->r);
  s->length = work.numbers;
  s->left = s->length + s->r;
  int *exponent = (int *)(void *)(s->left + s->r);
  const gb_room own = {work.device, gb_panel_address(work.entries, 4 * nr), s->length + 3 * s->r};
  GB_TRY(start(s, b, exponent, err));
  GB_TRY(loop(s, own, ud, err));
  GB_TRY(finish(s, exponent, err));
  return gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK; /* work may have been cut short */
}

gb_status gb_system_solve (gb_node *a, gb_node *b, const gb_solve_options *o, const char *name,
                           gb_solve_rooms *room, gb_solve_loop *loop, const void *ud, gb_node **x,
                           gb_solve_info *info, gb_error *err) {
  const double started = gb_clock();
  *info = (gb_solve_info){0};
  GB_TRY(check(a, b, o, err));
  const gb_shape *shape = gb_node_shape(b);
  const size_t n = shape->dim[0], r = shape->ndim == 1 ? 1 : shape->dim[1], nr = n * r;
  if (nr == 0) {
    info->converged = true;
    return gb_leaf_doubles(b->graph, shape, gb_node_dtype(b), NULL, "", x, err);
  }
  gb_product p;
  GB_TRY(gb_product_init(&p, a, r, err));
  const gb_solve_room own = room(n, r, ud);
  const size_t entries = 4 * nr * sizeof(double) + own.entries,
               numbers = 3 * r * sizeof(double) + own.numbers;
  info->bytes = entries + numbers;
  gb_work work;
  gb_status st = gb_work_new(b->graph->device, entries, numbers, name, &work, err);
  gb_system s = {.matrix = a, .a = &p, .o = o, .n = n, .r = r, .info = info};
  if (st == GB_OK) st = solve_in(&s, work.at, b, loop, ud, err);
  if (st == GB_OK) st = gb_leaf_entries(b->graph, shape, p.dtype, s.x.at, "", x, err);
  info->seconds = gb_clock() - started;
  gb_work_free(&work);
  gb_product_clear(&p);
  return st;
}
