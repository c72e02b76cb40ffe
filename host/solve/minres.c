/* minres.c - the Lanczos recurrence, its rotations, and the states of columns. */
#include "solve/minres.h"

#include <float.h>
#include <math.h>

#include "base/interrupt.h"

#define CHECK_EVERY 50
#define DRIFT 2.0 /* true residual over the recurrence's: beyond this a column restarts */

typedef enum state { STARTING, RUNNING, CONVERGED, DONE, STALLED, SINGULAR, INDEFINITE, BROKEN } state;

/* The scalars of one column, under the names of Paige & Saunders. */
typedef struct column {
  state state;
  double alpha, beta, before; /* beta of this step and of the last */
  double c, s, dbar, eps, phibar;
  double delta, gamma;      /* of the next direction */
  double norm;              /* lower bound of |A| */
  double largest, smallest; /* gamma over all steps */
  double started;           /* relative residual when the column last started */
} column;

typedef struct minres {
  gb_system *s;
  size_t n, r;
  gb_panel z1, z2, v, av;  /* Lanczos vectors before the preconditioner, P^-1 z2, A v; (n, r) */
  gb_panel w, w1, w2;      /* directions: the next, the last, the one before; (n, r) */
  gb_panel res;            /* the recurrence's residual, (n, r) */
  double *f, *g;           /* (r): factors of a pass */
  column *at;              /* (r) */
  size_t *moving, nmoving; /* columns that make this step */
} minres;

static gb_work_bytes room (size_t n, size_t r, const void *ud) {
  (void)ud;
  return (gb_work_bytes){7 * n * r * sizeof(double),
                         r * (2 * sizeof(double) + sizeof(column) + sizeof(size_t))};
}

static minres bind (gb_system *s, gb_room w) {
  const size_t r = s->r;
  minres m = {.s = s, .n = s->n, .r = r, .res = s->spare, .f = w.numbers};
  gb_panel *const panels[] = {&m.z1, &m.z2, &m.v, &m.av, &m.w, &m.w1, &m.w2};
  for (size_t i = 0; i < 7; i++) {
    *panels[i] = gb_panel_of(w.device, gb_panel_address(w.entries, i * s->n * r), s->n, r);
    gb_panel_fill(*panels[i], 0);
  }
  m.g = m.f + r;
  m.at = (column *)(void *)(m.g + r);
  m.moving = (size_t *)(void *)(m.at + r);
  for (size_t c = 0; c < r; c++) m.at[c] = (column){.state = STARTING, .smallest = INFINITY};
  return m;
}

static bool any (const minres *m, state t) {
  for (size_t c = 0; c < m->r; c++)
    if (m->at[c].state == t) return true;
  return false;
}

/* Clears the columns of v that do not run: a factor of 0 would keep a NaN. */
static void clear_idle (const minres *m, gb_panel v) {
  for (size_t c = 0; c < m->r; c++)
    if (m->at[c].state != RUNNING) gb_panel_fill(gb_panel_column(v, c), 0);
}

/* v = P^-1 z2; squares: lengths of z2 in that metric. */
static void precondition (minres *m, double *squares) {
  gb_precond_apply(m->s->o->precond, m->z2, m->v);
  gb_panel_dot(m->z2, m->v, NULL, squares);
}

/* Starts the columns that are STARTING, from their true residual. */
static void start (minres *m) {
  for (size_t c = 0; c < m->r; c++) {
    if (m->at[c].state != STARTING) continue;
    const gb_panel from = gb_panel_column(m->s->res, c);
    gb_panel_copy(from, gb_panel_column(m->z2, c));
    gb_panel_copy(from, gb_panel_column(m->res, c));
    const gb_panel zeros[] = {m->z1, m->w1, m->w2};
    for (int i = 0; i < 3; i++) gb_panel_fill(gb_panel_column(zeros[i], c), 0);
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

/* One Lanczos step: z1 and z2 advance, w becomes this step's vector, v becomes P^-1 z2, f the squares of the
** next beta. */
static gb_status lanczos (minres *m, gb_error *err) {
  clear_idle(m, m->v);
  for (size_t c = 0; c < m->r; c++) m->f[c] = m->at[c].state == RUNNING ? 1 / m->at[c].beta : 0;
  gb_panel_scale(m->f, m->v);
  GB_TRY(gb_product_run(m->s->a, m->v, m->av, err));
  gb_panel_dot(m->v, m->av, NULL, m->f);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state == RUNNING && !isfinite(m->f[c])) q->state = BROKEN;
    q->alpha = m->f[c];
    m->f[c] = q->state == RUNNING ? -q->alpha / q->beta : 0;
    m->g[c] = q->state == RUNNING && q->before > 0 ? -q->beta / q->before : 0;
  }
  const gb_panel vectors[] = {m->av, m->z1, m->z2};
  for (int k = 0; k < 3; k++) clear_idle(m, vectors[k]);
  gb_panel_axpy(m->g, m->z1, m->av);
  gb_panel_axpy(m->f, m->z2, m->av);
  gb_panel next = m->z1;
  m->z1 = m->z2, m->z2 = m->av, m->av = next;
  next = m->w, m->w = m->v, m->v = next;
  precondition(m, m->f);
  return GB_OK;
}

/* The next rotation of each running column, from the squares in f; f then gets -eps of the last step for the
** columns that move. |A res| is |res| hypot(gbar, dbar): where that is 0, no x has a smaller residual. */
static void rotate (minres *m) {
  const double u = 100 * (m->s->a->dtype == GB_F64 ? DBL_EPSILON : FLT_EPSILON);
  m->nmoving = 0;
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state != RUNNING) continue;
    if (!isfinite(m->f[c]) || m->f[c] < 0) {
      q->state = isfinite(m->f[c]) ? INDEFINITE : BROKEN;
      continue;
    }
    const double last_eps = q->eps, gbar = q->s * q->dbar - q->c * q->alpha;
    q->before = q->beta;
    q->beta = sqrt(m->f[c]);
    q->delta = q->c * q->dbar + q->s * q->alpha;
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
    m->f[m->nmoving] = -last_eps;
    m->moving[m->nmoving++] = c;
  }
}

static gb_panel moving (const minres *m, gb_panel x) { return gb_panel_columns(x, m->nmoving, m->moving); }

/* w = (w - eps w2 - delta w1) / gamma, x += c phibar w, res = s^2 res - phibar c z2 / beta. */
static void advance (minres *m) {
  const gb_panel w = moving(m, m->w);
  column *q = m->at;
  gb_panel_axpy(m->f, moving(m, m->w2), w);
  for (size_t k = 0; k < m->nmoving; k++) m->f[k] = -q[m->moving[k]].delta, m->g[k] = q[m->moving[k]].gamma;
  gb_panel_axpy(m->f, moving(m, m->w1), w);
  gb_panel_divide(m->g, w, w);
  for (size_t k = 0; k < m->nmoving; k++) m->f[k] = q[m->moving[k]].c * q[m->moving[k]].phibar;
  gb_panel_axpy(m->f, w, moving(m, m->s->x));
  for (size_t k = 0; k < m->nmoving; k++) {
    column *at = &q[m->moving[k]];
    at->phibar *= at->s;
    m->f[k] = at->s * at->s;
    m->g[k] = at->beta > 0 ? -at->phibar * at->c / at->beta : 0;
  }
  gb_panel_combine(m->f, moving(m, m->res), m->g, moving(m, m->z2));
  const gb_panel next = m->w2;
  m->w2 = m->w1, m->w1 = m->w, m->w = next;
}

/* A column has converged by the recurrence; the true residual confirms it later, in verify. */
static void measure (minres *m) {
  gb_system_shares(m->s, m->res, m->f);
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    if (q->state == RUNNING && (m->f[c] <= m->s->o->tol || q->beta == 0)) q->state = CONVERGED;
  }
}

/* Recomputes residuals: converged columns must confirm, running ones must not have drifted. */
static gb_status verify (minres *m, gb_error *err) {
  gb_system_shares(m->s, m->res, m->g);
  GB_TRY(gb_system_residual(m->s, err));
  for (size_t c = 0; c < m->r; c++) {
    column *q = &m->at[c];
    const double left = m->s->left[c];
    if (q->state == CONVERGED && left <= m->s->o->tol) q->state = DONE;
    else if (q->state == CONVERGED || (q->state == RUNNING && !(left <= DRIFT * m->g[c])))
      q->state = !isfinite(left) ? BROKEN : left <= q->started / 2 ? STARTING : STALLED;
  }
  return GB_OK;
}

/* The reason of the worst column, and the ratio of the extreme singular values that were met. */
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

/* The largest residual of all columns, as the recursions have them. */
static double worst (const minres *m) {
  double most = 0;
  for (size_t c = 0; c < m->r; c++) most = fmax(most, fabs(m->g[c]));
  return most;
}

static gb_status loop (gb_system *s, gb_room work, const void *ud, gb_error *err) {
  (void)ud;
  minres m = bind(s, work);
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
    s->info->iterations = k + 1;
    gb_curve_note(&s->info->curve, k + 1, worst(&m));
  }
  if (moved) GB_TRY(gb_system_residual(s, err));
  s->info->iterations = k;
  report(&m, any(&m, RUNNING));
  gb_system_report(s);
  return GB_OK;
}

static const gb_solve_method method = {
    .name = "minimal residuals", .takes = GB_TAKES_PRECOND, .room = room, .loop = loop};

gb_status gb_solve_minres (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err) {
  return gb_frame_solve(&method, NULL, a, b, o, x, info, err);
}
