/* system.c - the frame round a solver's loop: checks, workspace, the right-hand side in, the solution out. */
#include "solve/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/plain.h"
#include "iterate/columns.h"

const char *gb_solve_reason_text (gb_solve_reason r) {
  static const char *const names[] = {"converged", "max_iter", "indefinite", "singular", "stagnated",
                                      "diverged",  "overflow", "underflow",  "nan"};
  return names[r];
}

void gb_system_shares (const gb_system *s, const double *v, double *share) {
  gb_columns_dot(s->n, s->r, v, v, share);
  for (size_t c = 0; c < s->r; c++)
    share[c] = s->length[c] == 0 && share[c] == 0 ? 0 : sqrt(share[c]) / s->length[c];
}

gb_status gb_system_residual (gb_system *s, gb_error *err) {
  GB_TRY(gb_product_run(s->a, s->x, s->res, err));
  for (size_t i = 0; i < s->n * s->r; i++) s->res[i] = s->b[i] - s->res[i];
  gb_system_shares(s, s->res, s->left);
  return GB_OK;
}

double gb_system_worst (const gb_system *s) {
  double worst = 0;
  for (size_t c = 0; c < s->r; c++)
    if (!(s->left[c] <= worst)) worst = s->left[c];
  return worst;
}

/* |A x| / |x| of column c; NaN where that is not known. */
static double stretch (const gb_system *s, size_t c) {
  double xx = 0, yy = 0;
  for (size_t i = c; i < s->n * s->r; i += s->r) {
    const double y = s->b[i] - s->res[i];
    xx += s->x[i] * s->x[i];
    yy += y * y;
  }
  return xx >= DBL_MIN && isfinite(xx) && isfinite(yy) ? sqrt(yy / xx) : NAN;
}

void gb_system_condition (gb_system *s, double largest, double smallest) {
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
    for (size_t i = c; i < s->n * s->r; i += s->r) {
      s->x[i] = 0;
      s->res[i] = s->b[i];
    }
  }
  gb_system_shares(s, s->res, s->left);
}

static gb_status start (gb_system *s, gb_node *b, int *exponent, gb_error *err) {
  GB_TRY(gb_node_doubles(b, s->b, err));
  /* lengths of very small or large columns are what they are */
  gb_columns_exponents(s->n, s->r, s->b, exponent);
  gb_columns_scale(s->n, s->r, exponent, -1, s->b);
  gb_columns_dot(s->n, s->r, s->b, s->b, s->length);
  for (size_t c = 0; c < s->r; c++) s->length[c] = sqrt(s->length[c]);
  if (s->o->x0 != NULL) {
    GB_TRY(gb_node_doubles(s->o->x0, s->x, err));
    gb_columns_scale(s->n, s->r, exponent, -1, s->x);
    GB_TRY(gb_system_residual(s, err));
    drop_worthless(s);
    return GB_OK;
  }
  memset(s->x, 0, s->n * s->r * sizeof *s->x);
  memcpy(s->res, s->b, s->n * s->r * sizeof *s->b);
  gb_system_shares(s, s->res, s->left);
  return GB_OK;
}

/* The report, and x at the size of b. What a tiny x loses there counts: the residual is that of what is
** returned. */
static gb_status finish (gb_system *s, const int *exponent, gb_error *err) {
  gb_solve_info *info = s->info;
  size_t column;
  info->residual = gb_system_worst(s);
  info->converged = info->residual <= s->o->tol;
  if (info->converged) info->reason = GB_SOLVE_CONVERGED;
  else if (!isfinite(info->residual)) info->reason = GB_SOLVE_NAN;
  const double lost = gb_columns_lost(s->n, s->r, exponent, s->x, s->a->dtype, &column);
  if (lost > 0) {
    gb_columns_keep(s->n, s->r, exponent, s->a->dtype, s->x);
    GB_TRY(gb_system_residual(s, err));
    info->residual = fmax(lost, gb_system_worst(s));
    if (info->converged && !(info->residual <= s->o->tol)) {
      info->converged = false;
      info->reason = GB_SOLVE_UNDERFLOW;
    }
  }
  gb_columns_scale(s->n, s->r, exponent, 1, s->x);
  if (!info->converged || gb_columns_finite(s->n, s->r, s->x, s->a->dtype, &column)) return GB_OK;
  info->converged = false;
  info->reason = GB_SOLVE_OVERFLOW;
  return GB_OK;
}

gb_status gb_system_solve (gb_node *a, gb_node *b, const gb_solve_options *o, const char *name,
                           gb_solve_bytes *bytes, gb_solve_loop *loop, const void *ud, gb_node **x,
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
  gb_ledger *ledger = &b->graph->device->ledger;
  gb_block memory = {0};
  info->bytes = (4 * nr + 3 * r) * sizeof(double) + bytes(n, r, ud);
  gb_status st = gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, info->bytes, "", name, &memory, err);
  if (st == GB_OK) {
    double *w = memory.data;
    gb_system s = {a, &p, o, n, r, w, w + nr, w + 2 * nr, w + 4 * nr, w + 4 * nr + r, w + 3 * nr, info};
    int *exponent = (int *)(void *)(w + 4 * nr + 2 * r);
    st = start(&s, b, exponent, err);
    if (st == GB_OK) st = loop(&s, w + 4 * nr + 3 * r, ud, err);
    if (st == GB_OK) st = finish(&s, exponent, err);
    if (st == GB_OK) st = gb_leaf_doubles(b->graph, shape, p.dtype, s.x, "", x, err);
  }
  info->seconds = gb_clock() - started;
  gb_ledger_free(ledger, &memory);
  gb_product_clear(&p);
  return st;
}
