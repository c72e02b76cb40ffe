/* alternating_projections.c - each step updates the residual of all rows; the true one is computed every few
** epochs. */
#include "solve/alternating_projections.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "iterate/rows.h"

#define CHECK_EVERY 20 /* epochs */
#define STUCK 2        /* checks in a row that show no gain */
#define DIVERGED 1e3   /* growth of the residual at which the solve ends */
#define POWER_STEPS 10

typedef struct projections {
  gb_system *s;
  size_t b, blocks; /* rows of a block; blocks */
  gb_rows *rows;
  gb_panel factor;       /* (b, b): memory of one factor, or the first of 'blocks' where all are kept */
  gb_panel last;         /* factor of the last step, of the rows 'at'; address NULL before the first step */
  unsigned char *known;  /* (blocks): is its factor computed? NULL: factors are not kept */
  gb_panel step, change; /* (b, r); (n, r) */
  double *share;         /* (r) */
  size_t *at;            /* (b) */
} projections;

/* Blocks of equal size b <= block, and how many factors are held at once. */
typedef struct division {
  size_t b, blocks, factors;
} division;

static division divide (size_t n, const gb_alternating_projections_options *o) {
  const size_t m = (n - 1) / o->block + 1, b = (n - 1) / m + 1;
  return (division){b, m, m * b * b * sizeof(double) <= o->keep ? m : 1};
}

static gb_work_bytes room (size_t n, size_t r, const void *ud) {
  const division d = divide(n, ud);
  return (gb_work_bytes){(d.factors * d.b * d.b + d.b * r) * sizeof(double),
                         r * sizeof(double) + d.b * sizeof(size_t) + d.blocks};
}

static projections bind (gb_system *s, const gb_alternating_projections_options *o, gb_rows *rows,
                         gb_room w) {
  const division d = divide(s->n, o);
  projections p = {.s = s, .b = d.b, .blocks = d.blocks, .rows = rows, .change = s->spare};
  p.factor = gb_panel_of(w.device, w.entries, d.b, d.b);
  p.step = gb_panel_of(w.device, gb_panel_address(w.entries, d.factors * d.b * d.b), d.b, s->r);
  p.share = w.numbers;
  p.at = (size_t *)(void *)(p.share + s->r);
  p.known = d.factors == d.blocks ? (unsigned char *)(p.at + d.b) : NULL;
  if (p.known != NULL) memset(p.known, 0, d.blocks);
  return p;
}

/* Row i of block k. Where m does not divide n, the last rows of some blocks wrap round to rows of others. */
static size_t row_of (const projections *p, size_t k, size_t i) { return (k + i * p->blocks) % p->s->n; }

static gb_status choose (projections *p, size_t k, gb_error *err) {
  for (size_t i = 0; i < p->b; i++) p->at[i] = row_of(p, k, i);
  return gb_rows_choose(p->rows, p->at, err);
}

/* The factor of A[at, at]. Returns GB_ENOTPD, without a text, where that is not positive definite. */
static gb_status factor_of (projections *p, size_t k, gb_panel *out, gb_error *err) {
  size_t minor;
  bool finite;
  *out = p->factor;
  if (p->known != NULL) out->at = gb_panel_address(out->at, k * p->b * p->b);
  if (p->known != NULL && p->known[k]) return GB_OK;
  GB_TRY(gb_rows_block(p->rows, *out, err));
  GB_TRY(gb_panel_potrf(*out, &minor, &finite, err));
  if (minor != 0 || !finite) return GB_ENOTPD;
  if (p->known != NULL) p->known[k] = 1;
  return GB_OK;
}

/* x[at] += A[at, at]^-1 res[at], and res -= A[:, at] of that. */
static gb_status project (projections *p, gb_error *err) {
  gb_system *s = p->s;
  gb_panel l;
  /* the block with the largest residual; columns count relative to their right-hand sides */
  const size_t k = gb_panel_worst_interleaved(s->res, p->blocks, s->length);
  GB_TRY(choose(p, k, err));
  p->last.at = NULL;
  GB_TRY(factor_of(p, k, &l, err));
  p->last = l;
  gb_panel_copy(gb_panel_rows(s->res, p->b, p->at), p->step);
  gb_panel_trsm(l, false, p->step);
  gb_panel_trsm(l, true, p->step);
  GB_TRY(gb_rows_columns(p->rows, p->step, p->change, err));
  gb_panel_axpy(NULL, p->step, gb_panel_rows(s->x, p->b, p->at));
  gb_panel_subtract(s->res, p->change, s->res);
  return GB_OK;
}

static double worst_share (const projections *p) {
  double worst = 0;
  gb_system_shares(p->s, p->s->res, p->share);
  for (size_t c = 0; c < p->s->r; c++)
    if (!(p->share[c] <= worst)) worst = p->share[c];
  return worst;
}

/* One epoch, or less where it converges. A block that is not positive definite ends it, with '*reason'. */
static gb_status epoch (projections *p, gb_solve_reason *reason, gb_error *err) {
  for (size_t k = 0; k < p->blocks && worst_share(p) > p->s->o->tol; k++) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    const gb_status st = project(p, err);
    if (st == GB_ENOTPD) {
      *reason = GB_SOLVE_INDEFINITE;
      return GB_OK;
    }
    if (st != GB_OK) return st;
  }
  return GB_OK;
}

static gb_status iterate (projections *p, gb_error *err) {
  gb_system *s = p->s;
  gb_solve_info *info = s->info;
  const double first = gb_system_worst(s);
  double before = INFINITY;
  int stuck = 0;
  info->reason = isfinite(first) ? GB_SOLVE_CONVERGED : GB_SOLVE_NAN;
  while (info->reason == GB_SOLVE_CONVERGED && gb_system_worst(s) > s->o->tol) {
    if (info->iterations >= s->o->max_iter) info->reason = GB_SOLVE_MAX_ITER;
    for (int k = 0;
         k < CHECK_EVERY && info->iterations < s->o->max_iter && info->reason == GB_SOLVE_CONVERGED; k++) {
      if (!(worst_share(p) > s->o->tol)) break;
      GB_TRY(epoch(p, &info->reason, err));
      info->iterations++;
    }
    GB_TRY(gb_system_residual(s, err));
    const double now = gb_system_worst(s);
    if (info->reason != GB_SOLVE_CONVERGED || now <= s->o->tol) break;
    if (!isfinite(now)) info->reason = GB_SOLVE_NAN;
    else if (now > DIVERGED * fmax(first, 1)) info->reason = GB_SOLVE_DIVERGED;
    else if (now < before) stuck = 0;
    else if (++stuck == STUCK) info->reason = GB_SOLVE_STAGNATED;
    before = now;
  }
  return GB_OK;
}

/* -- condition */

static double normalise (gb_panel v) {
  double length;
  gb_panel_dot(v, v, NULL, &length);
  length = sqrt(length);
  gb_panel_divide(&length, v, v);
  return length;
}

/* A lower bound of the largest eigenvalue of B = L L', or of its inverse; v (b, 1): its vector, of length
** 1. */
static double power (gb_panel l, bool inverse, gb_panel v) {
  double length = 0;
  gb_panel_normals(v, 0, inverse);
  normalise(v);
  for (int k = 0; k < POWER_STEPS; k++) {
    if (!inverse) gb_panel_times_gram(l, v);
    for (int t = 0; inverse && t < 2; t++) gb_panel_trsm(l, t == 1, v);
    length = normalise(v);
  }
  return length;
}

/* Raises '*largest' to |u| and |A u| / |u| for u = A[:, at] v, v (b, 1) of length 1: both are at most A's
** largest eigenvalue, and near it where B is like A. One epoch. */
static gb_status extend (projections *p, gb_panel v, double *largest, gb_error *err) {
  double yy = 0;
  gb_panel_fill(p->step, 0);
  gb_panel_copy(v, gb_panel_column(p->step, 0));
  GB_TRY(gb_rows_columns(p->rows, p->step, p->change, err));
  const double uu = gb_panel_sum_squares(gb_panel_column(p->change, 0), 0);
  for (size_t k = 0; k < p->blocks; k++) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    GB_TRY(choose(p, k, err));
    GB_TRY(gb_rows_times(p->rows, p->change, p->step, err));
    gb_panel y = gb_panel_column(p->step, 0);
    y.n = (p->s->n - 1 - k) / p->blocks + 1; /* rows of this block alone */
    yy = gb_panel_sum_squares(y, yy);
  }
  *largest = fmax(*largest, fmax(sqrt(uu), uu > 0 ? sqrt(yy / uu) : 0));
  return GB_OK;
}

/* From the block of the last step: its eigenvalues lie between A's. */
static gb_status estimate_condition (projections *p, gb_error *err) {
  if (p->last.at == NULL) return GB_OK;
  const gb_panel v = gb_panel_of(p->change.device, p->change.at, p->b, 1);
  const double smallest = 1 / power(p->last, true, v);
  double largest = power(p->last, false, v);
  if (p->blocks > 1) GB_TRY(extend(p, v, &largest, err));
  gb_system_condition(p->s, largest, smallest);
  return GB_OK;
}

static gb_status loop (gb_system *s, gb_room work, const void *ud, gb_error *err) {
  const gb_alternating_projections_options *o = ud;
  gb_rows rows;
  projections p = bind(s, o, &rows, work);
  GB_TRY(gb_rows_init(&rows, s->a->a, s->r, p.b, err));
  s->info->bytes += (s->n + p.b) * (s->r + 1) * sizeof(double);
  gb_status st = iterate(&p, err);
  if (st == GB_OK) gb_system_report(s);
  if (st == GB_OK) st = estimate_condition(&p, err);
  gb_rows_clear(&rows);
  return st;
}

static const gb_solve_method method = {.name = "alternating projections", .room = room, .loop = loop};

gb_status gb_solve_alternating_projections (gb_node *a, gb_node *b,
                                            const gb_alternating_projections_options *o, gb_node **x,
                                            gb_solve_info *info, gb_error *err) {
  if (o->block == 0) return gb_fail(err, GB_EOPTION, "block: expected at least 1, got 0");
  return gb_frame_solve(&method, o, a, b, &o->solve, x, info, err);
}
