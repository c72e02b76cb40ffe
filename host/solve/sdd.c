/* sdd.c - batches, the descent and its average. The frame's x is the average. */
#include "solve/sdd.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/plain.h"
#include "base/rng.h"
#include "iterate/columns.h"
#include "iterate/rows.h"
#include "solve/lanczos.h"

#define CHECK_EVERY 10 /* passes over the rows between looks at the residual */
#define LANCZOS_STEPS 10
#define AVERAGED 100 /* the average is over about max_iter / 100 steps */
#define HOPELESS 1e3 /* growth of the residual at which it is given up */

typedef struct sdd {
  gb_system *s;
  const gb_sdd_options *o;
  gb_rows rows;
  size_t b;
  double step, weight;            /* of a gradient; of the new iterate in the average */
  double *now, *velocity, *ahead; /* (n, r): iterate; its last move; where the gradient is taken */
  double *gradient;               /* (b, r) */
  double *alpha, *beta;           /* (LANCZOS_STEPS, r): a Lanczos matrix a column */
  size_t *order;                  /* (n): rows, shuffled */
  size_t next, shuffles;          /* first unused place of 'order' */
} sdd;

static size_t workspace (size_t n, size_t r, const void *ud) {
  const gb_sdd_options *o = ud;
  return (2 * n * r + (o->batch < n ? o->batch : n) * r + 2 * LANCZOS_STEPS * r) * sizeof(double) +
         n * sizeof(size_t);
}

static void bind (sdd *d, gb_system *s, const gb_sdd_options *o, double *w) {
  const size_t nr = s->n * s->r;
  *d = (sdd){.s = s,
             .o = o,
             .b = o->batch < s->n ? o->batch : s->n,
             .now = w,
             .velocity = w + nr,
             .ahead = s->spare,
             .gradient = w + 2 * nr,
             .next = s->n};
  d->alpha = d->gradient + d->b * s->r;
  d->beta = d->alpha + LANCZOS_STEPS * s->r;
  d->order = (size_t *)(void *)(d->beta + LANCZOS_STEPS * s->r);
  for (size_t i = 0; i < s->n; i++) d->order[i] = i;
  d->weight = fmin(1, (double)AVERAGED / fmax(o->solve.max_iter, 1));
}

/* -- eigenvalues and the step size */

/* v = w / |w| column by column, with the lengths; a column without one stays 0. */
static void normalise (size_t n, size_t r, const double *w, double *length, double *v) {
  gb_columns_dot(n, r, w, w, length);
  for (size_t c = 0; c < r; c++) length[c] = sqrt(length[c]);
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < r; c++) v[i * r + c] = length[c] > 0 ? w[i * r + c] / length[c] : 0;
}

/* Alpha and beta of all columns, from random ones; the iterate and its velocity serve as vectors. */
static gb_status lanczos (sdd *d, gb_error *err) {
  const size_t n = d->s->n, r = d->s->r;
  double *v = d->ahead, *av = d->now, *before = d->velocity;
  for (size_t c = 0; c < r; c++)
    for (size_t i = 0; i < n; i++) av[i * r + c] = gb_rand_normal(d->o->seed, UINT64_MAX - c, i);
  normalise(n, r, av, d->beta, v);
  memset(before, 0, n * r * sizeof *before);
  for (int k = 0; k < LANCZOS_STEPS; k++) {
    const double *last = d->beta + (k > 0 ? k - 1 : 0) * (int)r;
    double *alpha = d->alpha + k * (int)r, *beta = d->beta + k * (int)r;
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    GB_TRY(gb_product_run(d->s->a, v, av, err));
    gb_columns_dot(n, r, v, av, alpha);
    for (size_t i = 0; i < n; i++)
      for (size_t c = 0; c < r; c++) av[i * r + c] -= alpha[c] * v[i * r + c] + last[c] * before[i * r + c];
    memcpy(before, v, n * r * sizeof *v);
    normalise(n, r, av, beta, v);
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
  gb_node *a = gb_attached(d->s->matrix);
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

/* The next b rows of a random order, a new one where too few are left. */
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

static gb_status descend (sdd *d, gb_error *err) {
  const size_t n = d->s->n, r = d->s->r, *rows = batch(d);
  const double m = d->o->momentum, scale = d->step * (double)n / (double)d->b;
  for (size_t i = 0; i < n * r; i++) d->ahead[i] = d->now[i] + m * d->velocity[i];
  gb_rows_choose(&d->rows, rows);
  GB_TRY(gb_rows_times(&d->rows, d->ahead, d->gradient, err));
  for (size_t i = 0; i < n * r; i++) d->velocity[i] *= m;
  for (size_t i = 0; i < d->b; i++)
    for (size_t c = 0; c < r; c++)
      d->velocity[rows[i] * r + c] -= scale * (d->gradient[i * r + c] - d->s->b[rows[i] * r + c]);
  for (size_t i = 0; i < n * r; i++) {
    d->now[i] += d->velocity[i];
    d->s->x[i] += d->weight * (d->now[i] - d->s->x[i]);
  }
  return GB_OK;
}

static gb_status iterate (sdd *d, gb_error *err) {
  gb_system *s = d->s;
  memcpy(d->now, s->x, s->n * s->r * sizeof *s->x);
  memset(d->velocity, 0, s->n * s->r * sizeof *s->x);
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
    else if (now > HOPELESS * fmax(first, 1)) info->reason = GB_SOLVE_DIVERGED;
    else if (now > s->o->tol && info->iterations >= s->o->max_iter) info->reason = GB_SOLVE_MAX_ITER;
  }
  return GB_OK;
}

typedef struct request {
  const gb_sdd_options *o;
  double *step;
} request;

static size_t request_bytes (size_t n, size_t r, const void *ud) {
  return workspace(n, r, ((const request *)ud)->o);
}

static gb_status loop (gb_system *s, void *memory, const void *ud, gb_error *err) {
  const request *q = ud;
  sdd d;
  bind(&d, s, q->o, memory);
  if (!isfinite(gb_system_worst(s)) || gb_system_worst(s) <= s->o->tol) return iterate(&d, err);
  double largest, smallest;
  GB_TRY(lanczos(&d, err));
  extremes(&d, &largest, &smallest);
  GB_TRY(choose_step(&d, largest, err));
  *q->step = d.step;
  GB_TRY(gb_rows_init(&d.rows, s->matrix, s->r, d.b, err));
  s->info->bytes += (s->n + d.b) * (s->r + 1) * sizeof(double);
  const gb_status st = iterate(&d, err);
  gb_rows_clear(&d.rows);
  if (st == GB_OK) gb_system_condition(s, largest, smallest);
  return st;
}

gb_status gb_solve_sdd (gb_node *a, gb_node *b, const gb_sdd_options *o, gb_node **x, double *step,
                        gb_solve_info *info, gb_error *err) {
  *step = o->step;
  if (o->batch == 0) return gb_fail(err, GB_EOPTION, "batch: expected at least 1, got 0");
  if (!(o->momentum >= 0 && o->momentum < 1))
    return gb_fail(err, GB_EOPTION, "momentum: expected a number from 0 to below 1, got %g",
                   gb_plain(o->momentum));
  if (!(o->step >= 0))
    return gb_fail(err, GB_EOPTION, "step: expected a positive number, got %g", gb_plain(o->step));
  return gb_system_solve(a, b, &o->solve, "stochastic dual descent", request_bytes, loop, &(request){o, step},
                         x, info, err);
}
