/* sdd.c - batches, the descent, and the average of its iterates, which is the frame's x. */
#include "solve/sdd.h"

#include <math.h>

#include "base/interrupt.h"
#include "base/plain.h"
#include "base/rng.h"
#include "iterate/rows.h"
#include "solve/frame/trace.h"

#define CHECK_EVERY 10 /* passes over the rows between computed residuals */
#define LANCZOS_STEPS 10
#define AVERAGED 100 /* the average is over about max_iter / 100 steps */
#define DIVERGED 1e3 /* growth of the residual at which the solve ends */

typedef struct sdd {
  gb_system *s;
  const gb_sdd_options *o;
  gb_rows rows;
  size_t b;
  double step, weight;           /* factor of a gradient; weight of the new iterate in the average */
  gb_panel now, velocity, ahead; /* (n, r): iterate; its last change; point of the gradient */
  gb_panel gradient;             /* (b, r) */
  double *alpha, *beta;          /* (LANCZOS_STEPS, r): a Lanczos matrix a column */
  size_t *order;                 /* (n): rows, shuffled */
  size_t next, shuffles;         /* first unused place of 'order' */
} sdd;

typedef struct request {
  const gb_sdd_options *o;
  double *step;
} request;

static gb_work_bytes room (size_t n, size_t r, const void *ud) {
  const gb_sdd_options *o = ((const request *)ud)->o;
  const size_t b = o->batch < n ? o->batch : n;
  return (gb_work_bytes){(2 * n * r + b * r) * sizeof(double),
                         2 * LANCZOS_STEPS * r * sizeof(double) + n * sizeof(size_t)};
}

static void bind (sdd *d, gb_system *s, const gb_sdd_options *o, gb_room w) {
  const size_t n = s->n, r = s->r;
  *d = (sdd){.s = s,
             .o = o,
             .b = o->batch < n ? o->batch : n,
             .now = gb_panel_of(w.device, w.entries, n, r),
             .velocity = gb_panel_of(w.device, gb_panel_address(w.entries, n * r), n, r),
             .ahead = s->spare,
             .alpha = w.numbers,
             .next = n};
  d->gradient = gb_panel_of(w.device, gb_panel_address(w.entries, 2 * n * r), d->b, r);
  d->beta = d->alpha + LANCZOS_STEPS * r;
  d->order = (size_t *)(void *)(d->beta + LANCZOS_STEPS * r);
  for (size_t i = 0; i < n; i++) d->order[i] = i;
  d->weight = fmin(1, (double)AVERAGED / fmax(o->solve.max_iter, 1));
}

/* -- eigenvalues and the step size */

/* v = w / |w| in each column, and the lengths; a column of zeros stays 0. */
static void normalise (gb_panel w, double *length, gb_panel v) {
  gb_panel_dot(w, w, NULL, length);
  for (size_t c = 0; c < w.r; c++) length[c] = sqrt(length[c]);
  gb_panel_divide(length, w, v);
}

/* Alpha and beta of all columns, from random vectors; the panels of the descent are not in use yet. */
static gb_status lanczos (sdd *d, gb_error *err) {
  const size_t r = d->s->r;
  const gb_panel v = d->ahead, av = d->now, before = d->velocity;
  gb_panel_normals(av, d->o->seed, UINT64_MAX);
  normalise(av, d->beta, v);
  gb_panel_fill(before, 0);
  for (size_t k = 0; k < LANCZOS_STEPS; k++) {
    const double *last = d->beta + (k > 0 ? k - 1 : 0) * r;
    double *alpha = d->alpha + k * r, *beta = d->beta + k * r;
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    GB_TRY(gb_product_run(d->s->a, v, av, err));
    gb_panel_dot(v, av, NULL, alpha);
    gb_panel_recur(alpha, v, last, before, av);
    gb_panel_copy(v, before);
    normalise(av, beta, v);
  }
  return GB_OK;
}

/* The extreme eigenvalues of the Lanczos matrices, which lie between A's. */
static void extremes (const sdd *d, double *largest, double *smallest) {
  const size_t r = d->s->r;
  *largest = 0;
  *smallest = INFINITY;
  for (size_t c = 0; c < r; c++) {
    double value[LANCZOS_STEPS], off[LANCZOS_STEPS], weight[LANCZOS_STEPS];
    size_t t = 0;
    do {
      value[t] = d->alpha[t * r + c];
      off[t] = d->beta[t * r + c];
    } while (++t < LANCZOS_STEPS && off[t - 1] > 0);
    if (!gb_tridiagonal_quadrature(t, value, off, weight)) continue;
    for (size_t k = 0; k < t; k++) {
      *largest = fmax(*largest, value[k]);
      *smallest = fmin(*smallest, value[k]);
    }
  }
}

static gb_status largest_diagonal (sdd *d, double *out, gb_error *err) {
  gb_node *diagonal = NULL, *top = NULL;
  const gb_attr attr = {0};
  gb_node *a = gb_attached(d->s->a->a);
  gb_status st = gb_node_build(a->graph, GB_OP_DIAGONAL, 1, &a, &attr, NULL, d->s->a->dtype, &diagonal, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_MAX, diagonal, 0, false, &top, err);
  if (st == GB_OK) st = gb_node_doubles(top, out, err);
  gb_node_unref(diagonal);
  gb_node_unref(top);
  return st;
}

static gb_status choose_step (sdd *d, double eigenvalue, gb_error *err) {
  double diagonal = 0;
  d->step = d->o->step;
  if (d->step > 0) return GB_OK;
  GB_TRY(largest_diagonal(d, &diagonal, err));
  d->step = fmin(1 / eigenvalue, (1 - d->o->momentum) * (double)d->b / ((double)d->s->n * diagonal));
  return GB_OK;
}

/* -- descent */

/* The next b rows of a random order; shuffles again where fewer are left. */
static const size_t *batch (sdd *d) {
  const size_t n = d->s->n;
  if (n - d->next < d->b) {
    for (size_t i = n; i-- > 1;) {
      const size_t j = (size_t)(gb_rand_uniform(d->o->seed, d->shuffles, i) * (double)(i + 1)),
                   row = d->order[i];
      d->order[i] = d->order[j];
      d->order[j] = row;
    }
    d->shuffles++;
    d->next = 0;
  }
  d->next += d->b;
  return d->order + d->next - d->b;
}

/* The factor f for each column, in memory of Lanczos coefficients that are no longer needed. */
static const double *all_columns (sdd *d, double f) {
  for (size_t c = 0; c < d->s->r; c++) d->alpha[c] = f;
  return d->alpha;
}

static gb_status descend (sdd *d, gb_error *err) {
  const size_t *rows = batch(d);
  const double m = d->o->momentum, scale = d->step * (double)d->s->n / (double)d->b;
  gb_panel_copy(d->velocity, d->ahead);
  gb_panel_xpay(all_columns(d, m), d->now, d->ahead);
  GB_TRY(gb_rows_choose(&d->rows, rows, err));
  GB_TRY(gb_rows_times(&d->rows, d->ahead, d->gradient, err));
  gb_panel_subtract(d->gradient, gb_panel_rows(d->s->b, d->b, rows), d->gradient);
  gb_panel_scale(d->alpha, d->velocity);
  gb_panel_axpy(all_columns(d, -scale), d->gradient, gb_panel_rows(d->velocity, d->b, rows));
  gb_panel_axpy(NULL, d->velocity, d->now);
  gb_panel_blend(d->weight, d->now, d->s->x);
  return GB_OK;
}

static gb_status iterate (sdd *d, gb_error *err) {
  gb_system *s = d->s;
  gb_panel_copy(s->x, d->now);
  gb_panel_fill(d->velocity, 0);
  gb_solve_info *info = s->info;
  const double first = gb_system_worst(s);
  const int every = (int)fmin(CHECK_EVERY * ceil((double)s->n / (double)d->b), 1e9);
  info->reason = isfinite(first) ? GB_SOLVE_CONVERGED : GB_SOLVE_NAN;
  while (info->reason == GB_SOLVE_CONVERGED && gb_system_worst(s) > s->o->tol) {
    for (int k = 0; k < every && info->iterations < s->o->max_iter; k++, info->iterations++) {
      if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
      GB_TRY(descend(d, err));
    }
    GB_TRY(gb_system_residual(s, err));
    const double now = gb_system_worst(s);
    if (!isfinite(now)) info->reason = GB_SOLVE_NAN;
    else if (now > DIVERGED * fmax(first, 1)) info->reason = GB_SOLVE_DIVERGED;
    else if (now > s->o->tol && info->iterations >= s->o->max_iter) info->reason = GB_SOLVE_MAX_ITER;
  }
  gb_system_report(s);
  return GB_OK;
}

static gb_status loop (gb_system *s, gb_room work, const void *ud, gb_error *err) {
  const request *q = ud;
  sdd d;
  bind(&d, s, q->o, work);
  if (!isfinite(gb_system_worst(s)) || gb_system_worst(s) <= s->o->tol) return iterate(&d, err);
  double largest, smallest;
  GB_TRY(lanczos(&d, err));
  extremes(&d, &largest, &smallest);
  GB_TRY(choose_step(&d, largest, err));
  *q->step = d.step;
  GB_TRY(gb_rows_init(&d.rows, s->a->a, s->r, d.b, err));
  s->info->bytes += (s->n + d.b) * (s->r + 1) * sizeof(double);
  const gb_status st = iterate(&d, err);
  gb_rows_clear(&d.rows);
  if (st == GB_OK) gb_system_condition(s, largest, smallest);
  return st;
}

static const gb_solve_method method = {.name = "stochastic dual descent", .room = room, .loop = loop};

gb_status gb_solve_sdd (gb_node *a, gb_node *b, const gb_sdd_options *o, gb_node **x, double *step,
                        gb_solve_info *info, gb_error *err) {
  *step = o->step;
  if (o->batch == 0) return gb_fail(err, GB_EOPTION, "batch: expected at least 1, got 0");
  if (!(o->momentum >= 0 && o->momentum < 1))
    return gb_fail(err, GB_EOPTION, "momentum: expected a number from 0 to below 1, got %g",
                   gb_plain(o->momentum));
  if (!(o->step >= 0))
    return gb_fail(err, GB_EOPTION, "step: expected a positive number, got %g", gb_plain(o->step));
  return gb_frame_solve(&method, &(request){o, step}, a, b, &o->solve, x, info, err);
}
