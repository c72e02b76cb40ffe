/* minres.c - the Lanczos recurrence, its rotations, and who goes on. */
#include "solve/minres.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "iterate/columns.h"

#define CHECK_EVERY 50
#define DRIFT 2.0 /* true residual over the recurrence's: beyond this a column starts again */

typedef enum state { STARTING, RUNNING, RESTING, DONE, STALLED, SINGULAR, INDEFINITE, BROKEN } state;

/* The scalars of one column, under the names of Paige & Saunders. */
typedef struct column {
  state state;
  double alpha, beta, before; /* beta of this step and of the last */
  double c, s, dbar, eps, phibar;
  double delta, last_eps, gamma; /* of the direction in the making */
  double norm;                   /* of A, from below */
  double largest, smallest;      /* gamma over all steps */
  double started;                /* share of b left when the column last started */
} column;

typedef struct minres {
  gb_system *s;
  size_t n, r;
  double *z1, *z2, *v, *av; /* Lanczos vectors before the preconditioner, P^-1 z2, A v; (n, r) */
  double *w, *w1, *w2;      /* directions: the next, the last, the one before; (n, r) */
  double *res;              /* the recurrence's residual, (n, r) */
  double *f, *g;            /* (r): factors of a pass */
  column *at;               /* (r) */
} minres;

static size_t workspace (size_t n, size_t r, const void *ud) {
  (void)ud;
  return (7 * n * r + 2 * r) * sizeof(double) + r * sizeof(column);
}

static minres bind (gb_system *s, double *w) {
  const size_t nr = s->n * s->r;
  minres m = {s,
              s->n,
              s->r,
              w,
              w + nr,
              w + 2 * nr,
              w + 3 * nr,
              w + 4 * nr,
              w + 5 * nr,
              w + 6 * nr,
              s->spare,
              w + 7 * nr,
              w + 7 * nr + s->r,
              (column *)(void *)(w + 7 * nr + 2 * s->r)};
  memset(w, 0, 7 * nr * sizeof *w);
  for (size_t c = 0; c < m.r; c++) m.at[c] = (column){.state = STARTING, .smallest = INFINITY};
  return m;
}

static bool any (const minres *m, state t) {
  for (size_t c = 0; c < m->r; c++)
    if (m->at[c].state == t) return true;
  return false;
}

/* Sets to zero what columns that do not run hold in v: a factor of 0 would not, where they hold NaN. */
static void still (const minres *m, double *v) {
  for (size_t c = 0; c < m->r; c++)
    if (m->at[c].state != RUNNING)
      for (size_t i = c; i < m->n * m->r; i += m->r) v[i] = 0;
}

/* v = P^-1 z2; squares: lengths of z2 in that metric. */
static void precondition (minres *m, double *squares) {
  gb_precond_apply(m->s->o->precond, m->n, m->r, m->z2, m->v);
  gb_columns_dot(m->n, m->r, m->z2, m->v, squares);
}

/* Columns that start do so from their true residual. */
static void start (minres *m) {
  for (size_t c = 0; c < m->r; c++) {
    if (m->at[c].state != STARTING) continue;
    for (size_t i = c; i < m->n * m->r; i += m->r) {
      m->z2[i] = m->res[i] = m->s->res[i];
      m->z1[i] = m->w1[i] = m->w2[i] = 0;
    }
  }
  precondition(m, m->f);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state != STARTING) continue;
    q->started = m->s->left[c];
    q->beta = q->phibar = sqrt(m->f[c]);
    q->c = -1, q->s = q->dbar = q->eps = q->before = 0;
    q->state = m->f[c] > 0 && isfinite(m->f[c]) ? RUNNING : m->f[c] <= 0 ? INDEFINITE : BROKEN;
  }
}

/* z1, z2 move on; w is this step's Lanczos vector and v becomes P^-1 z2. Squares of the next beta in f. */
static gb_status lanczos (minres *m, gb_error *err) {
  still(m, m->v);
  for (size_t c = 0; c < m->r; c++) m->f[c] = m->at[c].state == RUNNING ? 1 / m->at[c].beta : 0;
  for (size_t i = 0; i < m->n; i++)
    for (size_t c = 0; c < m->r; c++) m->v[i * m->r + c] *= m->f[c];
  GB_TRY(gb_product_run(m->s->a, m->v, m->av, err));
  gb_columns_dot(m->n, m->r, m->v, m->av, m->f);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state == RUNNING && !isfinite(m->f[c])) q->state = BROKEN;
    q->alpha = m->f[c];
    m->f[c] = q->state == RUNNING ? -q->alpha / q->beta : 0;
    m->g[c] = q->state == RUNNING && q->before > 0 ? -q->beta / q->before : 0;
  }
  double *const vectors[] = {m->av, m->z1, m->z2};
  for (int k = 0; k < 3; k++) still(m, vectors[k]);
  gb_columns_axpy(m->n, m->r, m->g, m->z1, m->av);
  gb_columns_axpy(m->n, m->r, m->f, m->z2, m->av);
  double *next = m->z1;
  m->z1 = m->z2, m->z2 = m->av, m->av = next;
  next = m->w, m->w = m->v, m->v = next;
  precondition(m, m->f);
  return GB_OK;
}

/* The next rotation of each column that runs, from the squares in f. Where A res = 0 already, which is
** |res| times hypot(gbar, dbar), no x has a smaller residual. */
static void rotate (minres *m) {
  const double u = 100 * (m->s->a->dtype == GB_F64 ? DBL_EPSILON : FLT_EPSILON);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state != RUNNING) continue;
    if (!isfinite(m->f[c]) || m->f[c] < 0) {
      q->state = isfinite(m->f[c]) ? INDEFINITE : BROKEN;
      continue;
    }
    q->before = q->beta;
    q->beta = sqrt(m->f[c]);
    q->last_eps = q->eps;
    q->delta = q->c * q->dbar + q->s * q->alpha;
    const double gbar = q->s * q->dbar - q->c * q->alpha;
    q->eps = q->s * q->beta;
    q->dbar = -q->c * q->beta;
    q->norm = fmax(q->norm, hypot(q->alpha, q->beta));
    q->gamma = hypot(gbar, q->beta);
    if (hypot(gbar, q->dbar) <= u * q->norm) {
      q->state = SINGULAR;
      continue;
    }
    q->c = gbar / q->gamma;
    q->s = q->beta / q->gamma;
    q->largest = fmax(q->largest, q->gamma);
    q->smallest = fmin(q->smallest, q->gamma);
  }
}

/* w = (w - last_eps w2 - delta w1) / gamma, x += c phibar w, res = s^2 res - phibar c z2 / beta. */
static void advance (minres *m) {
  still(m, m->w);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state != RUNNING) continue;
    const double phi = q->c * q->phibar, s2 = q->s * q->s;
    q->phibar *= q->s;
    const double along = q->beta > 0 ? -q->phibar * q->c / q->beta : 0;
    for (size_t i = c; i < m->n * m->r; i += m->r) {
      m->w[i] = (m->w[i] - q->last_eps * m->w2[i] - q->delta * m->w1[i]) / q->gamma;
      m->s->x[i] += phi * m->w[i];
      m->res[i] = s2 * m->res[i] + along * m->z2[i];
    }
  }
  double *next = m->w2;
  m->w2 = m->w1, m->w1 = m->w, m->w = next;
}

/* Who says that it has converged. */
static void measure (minres *m) {
  gb_system_shares(m->s, m->res, m->f);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state == RUNNING && (m->f[c] <= m->s->o->tol || q->beta == 0)) q->state = RESTING;
  }
}

/* True residuals: who rests must show it, who runs must not have drifted. */
static gb_status verify (minres *m, gb_error *err) {
  gb_system_shares(m->s, m->res, m->g);
  GB_TRY(gb_system_residual(m->s, err));
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    const double left = m->s->left[c];
    if (q->state == RESTING && left <= m->s->o->tol) q->state = DONE;
    else if (q->state == RESTING || (q->state == RUNNING && !(left <= DRIFT * m->g[c])))
      q->state = !isfinite(left) ? BROKEN : left <= q->started / 2 ? STARTING : STALLED;
  }
  return GB_OK;
}

/* What became of the worst column, and how far apart the singular values are that were met. */
static void report (const minres *m, bool out_of_steps) {
  static const gb_solve_reason why[] = {[STALLED] = GB_SOLVE_STAGNATED,
                                        [SINGULAR] = GB_SOLVE_SINGULAR,
                                        [INDEFINITE] = GB_SOLVE_INDEFINITE,
                                        [BROKEN] = GB_SOLVE_NAN};
  gb_solve_info *info = m->s->info;
  info->reason = out_of_steps ? GB_SOLVE_MAX_ITER : GB_SOLVE_CONVERGED;
  for (size_t c = 0; c < m->r; c++) {
    const column *q = &m->at[c];
    if (q->largest > 0) info->condition = fmax(info->condition, q->largest / q->smallest);
    if (q->state >= STALLED && why[q->state] > info->reason) info->reason = why[q->state];
  }
}

static gb_status loop (gb_system *s, void *memory, const void *ud, gb_error *err) {
  (void)ud;
  minres m = bind(s, memory);
  for (size_t c = 0; c < m.r; c++)
    if (s->left[c] <= s->o->tol) m.at[c].state = DONE;
    else if (!isfinite(s->left[c])) m.at[c].state = BROKEN;
  int k = 0;
  bool moved = false;
  for (;; k++) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    if (k > 0 && moved && (k % CHECK_EVERY == 0 || !any(&m, RUNNING))) {
      GB_TRY(verify(&m, err));
      moved = false;
    }
    if (any(&m, STARTING)) start(&m);
    if (!any(&m, RUNNING) || k >= s->o->max_iter) break;
    GB_TRY(lanczos(&m, err));
    rotate(&m);
    advance(&m);
    measure(&m);
    moved = true;
  }
  if (moved) GB_TRY(gb_system_residual(s, err));
  s->info->iterations = k;
  report(&m, any(&m, RUNNING));
  return GB_OK;
}

gb_status gb_solve_minres (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err) {
  return gb_system_solve(a, b, o, "minimal residuals", workspace, loop, NULL, x, info, err);
}
