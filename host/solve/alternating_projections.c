/* alternating_projections.c - the residual of all rows is updated at each step; the true one is computed
** every few epochs. */
#include "solve/alternating_projections.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/rng.h"
#include "cpu/linalg/blas.h"
#include "iterate/columns.h"
#include "iterate/rows.h"

#define CHECK_EVERY 20 /* epochs */
#define STUCK 2        /* checks in a row that show no gain */
#define HOPELESS 1e3   /* growth of the residual at which it is given up */
#define POWER_STEPS 10

typedef struct projections {
  gb_system *s;
  size_t b, blocks; /* rows of a block; blocks */
  gb_rows *rows;
  double *factor; /* (b, b), or (blocks, b, b) where all are kept */
  /* the factor in use, of the rows 'at'; NULL before the first and where there was none */
  const double *last;
  unsigned char *known;  /* (blocks): its factor is there; NULL: none is kept */
  double *step, *change; /* (b, r); (n, r) */
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

static size_t workspace (size_t n, size_t r, const void *ud) {
  const division d = divide(n, ud);
  return (d.factors * d.b * d.b + d.b * r + r) * sizeof(double) + d.b * sizeof(size_t) + d.blocks;
}

static projections bind (gb_system *s, const gb_alternating_projections_options *o, gb_rows *rows,
                         double *w) {
  const division d = divide(s->n, o);
  projections p = {.s = s, .b = d.b, .blocks = d.blocks, .rows = rows, .factor = w, .change = s->spare};
  p.step = w + d.factors * d.b * d.b;
  p.share = p.step + d.b * s->r;
  p.at = (size_t *)(void *)(p.share + s->r);
  p.known = d.factors == d.blocks ? (unsigned char *)(p.at + d.b) : NULL;
  if (p.known != NULL) memset(p.known, 0, d.blocks);
  return p;
}

/* Rows of block k: every m-th from k on; where n is no multiple of m, some go on at the first rows, which
** are of others. */
static size_t row_of (const projections *p, size_t k, size_t i) { return (k + i * p->blocks) % p->s->n; }

static void choose (projections *p, size_t k) {
  for (size_t i = 0; i < p->b; i++) p->at[i] = row_of(p, k, i);
  gb_rows_choose(p->rows, p->at);
}

/* The block with most of the residual, each column as a share of its right-hand side; the first of equals. */
static size_t worst_block (const projections *p) {
  const gb_system *s = p->s;
  size_t best = 0;
  double most = -1;
  for (size_t k = 0; k < p->blocks; k++) {
    double sum = 0;
    for (size_t i = 0; i < p->b; i++) {
      const double *row = s->res + row_of(p, k, i) * s->r;
      for (size_t c = 0; c < s->r; c++)
        if (s->length[c] > 0) sum += (row[c] / s->length[c]) * (row[c] / s->length[c]);
    }
    if (sum > most) most = sum, best = k;
  }
  return best;
}

/* The factor of A[at, at]; GB_ENOTPD where there is none. */
static gb_status factor_of (projections *p, size_t k, double **out, gb_error *err) {
  *out = p->factor + (p->known != NULL ? k * p->b * p->b : 0);
  if (p->known != NULL && p->known[k]) return GB_OK;
  GB_TRY(gb_rows_block(p->rows, *out, err));
  const size_t minor = gb_lapack_potrf(GB_F64, p->b, *out, p->b);
  for (size_t i = 0; i < p->b; i++)
    if (minor != 0 || !isfinite((*out)[i * p->b + i])) return GB_ENOTPD;
  if (p->known != NULL) p->known[k] = 1;
  return GB_OK;
}

/* x[at] += A[at, at]^-1 res[at], and res -= A[:, at] of that. */
static gb_status project (projections *p, gb_error *err) {
  gb_system *s = p->s;
  const size_t k = worst_block(p), r = s->r;
  double *l;
  choose(p, k);
  p->last = NULL;
  GB_TRY(factor_of(p, k, &l, err));
  p->last = l;
  for (size_t i = 0; i < p->b; i++) memcpy(p->step + i * r, s->res + p->at[i] * r, r * sizeof *p->step);
  gb_blas_trsm_left(GB_F64, GB_LOWER, false, false, p->b, r, l, p->b, p->step, r);
  gb_blas_trsm_left(GB_F64, GB_LOWER, true, false, p->b, r, l, p->b, p->step, r);
  GB_TRY(gb_rows_columns(p->rows, p->step, p->change, err));
  for (size_t i = 0; i < p->b; i++)
    for (size_t c = 0; c < r; c++) s->x[p->at[i] * r + c] += p->step[i * r + c];
  for (size_t i = 0; i < s->n * r; i++) s->res[i] -= p->change[i];
  return GB_OK;
}

static double worst_share (const projections *p) {
  double worst = 0;
  gb_system_shares(p->s, p->s->res, p->share);
  for (size_t c = 0; c < p->s->r; c++)
    if (!(p->share[c] <= worst)) worst = p->share[c];
  return worst;
}

/* One epoch, or less where it converges. A block without a factor ends it: '*reason' says so. */
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
  GB_TRY(gb_blas_ready(err));
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
    else if (now > HOPELESS * fmax(first, 1)) info->reason = GB_SOLVE_DIVERGED;
    else if (now < before) stuck = 0;
    else if (++stuck == STUCK) info->reason = GB_SOLVE_STAGNATED;
    before = now;
  }
  return GB_OK;
}

/* -- condition */

/* v = L L' v, in place. */
static void times_block (const double *l, size_t b, double *v) {
  for (size_t i = 0; i < b; i++) {
    const double t = v[i];
    for (size_t j = 0; j < i; j++) v[j] += l[i * b + j] * t;
    v[i] = l[i * b + i] * t;
  }
  for (size_t i = b; i-- > 0;) {
    double t = 0;
    for (size_t j = 0; j <= i; j++) t += l[i * b + j] * v[j];
    v[i] = t;
  }
}

static double normalise (size_t b, double *v) {
  double length;
  gb_columns_dot(b, 1, v, v, &length);
  length = sqrt(length);
  for (size_t i = 0; i < b; i++) v[i] = length > 0 ? v[i] / length : 0;
  return length;
}

/* The largest eigenvalue of B = L L', or of its inverse, from below; v (b) gets the vector, of length 1. */
static double power (const double *l, size_t b, bool inverse, double *v) {
  double length = 0;
  for (size_t i = 0; i < b; i++) v[i] = gb_rand_normal(0, inverse, i);
  normalise(b, v);
  for (int k = 0; k < POWER_STEPS; k++) {
    if (!inverse) times_block(l, b, v);
    for (int t = 0; inverse && t < 2; t++)
      gb_blas_trsm_left(GB_F64, GB_LOWER, t == 1, false, b, 1, l, b, v, 1);
    length = normalise(b, v);
  }
  return length;
}

/* |u| and |A u| / |u| for u = A[:, at] v with v (b) of length 1 in 'step': values up to A's largest
** eigenvalue, near it where B is like A. One epoch. */
static gb_status extend (projections *p, double *largest, gb_error *err) {
  const gb_system *s = p->s;
  double uu = 0, yy = 0;
  for (size_t i = p->b; i-- > 0;) {
    const double v = p->step[i];
    memset(p->step + i * s->r, 0, s->r * sizeof v);
    p->step[i * s->r] = v;
  }
  GB_TRY(gb_rows_columns(p->rows, p->step, p->change, err));
  for (size_t i = 0; i < s->n; i++) uu += p->change[i * s->r] * p->change[i * s->r];
  for (size_t k = 0; k < p->blocks; k++) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    choose(p, k);
    GB_TRY(gb_rows_times(p->rows, p->change, p->step, err));
    for (size_t i = 0; i < p->b && k + i * p->blocks < s->n; i++) yy += p->step[i * s->r] * p->step[i * s->r];
  }
  *largest = fmax(*largest, fmax(sqrt(uu), uu > 0 ? sqrt(yy / uu) : 0));
  return GB_OK;
}

/* From the block that was projected on last: its eigenvalues lie between A's. */
static gb_status estimate_condition (projections *p, gb_error *err) {
  if (p->last == NULL) return GB_OK;
  const double smallest = 1 / power(p->last, p->b, true, p->step);
  double largest = power(p->last, p->b, false, p->step);
  if (p->blocks > 1) GB_TRY(extend(p, &largest, err));
  gb_system_condition(p->s, largest, smallest);
  return GB_OK;
}

static gb_status loop (gb_system *s, void *memory, const void *ud, gb_error *err) {
  const gb_alternating_projections_options *o = ud;
  gb_rows rows;
  projections p = bind(s, o, &rows, memory);
  GB_TRY(gb_rows_init(&rows, s->matrix, s->r, p.b, err));
  s->info->bytes += (s->n + p.b) * (s->r + 1) * sizeof(double);
  gb_status st = iterate(&p, err);
  if (st == GB_OK) st = estimate_condition(&p, err);
  gb_rows_clear(&rows);
  return st;
}

gb_status gb_solve_projections (gb_node *a, gb_node *b, const gb_alternating_projections_options *o,
                                gb_node **x, gb_solve_info *info, gb_error *err) {
  if (o->block == 0) return gb_fail(err, GB_EOPTION, "block: expected at least 1, got 0");
  return gb_system_solve(a, b, &o->solve, "alternating projections", workspace, loop, o, x, info, err);
}
