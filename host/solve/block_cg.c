/* block_cg.c - the recurrence. With P the preconditioner, residuals R = Q C and Q' P^-1 Q = I:
**
**   a = (S' A S)^-1       X += S a C       Q - A S a = Q_new z, Q_new orthonormal again
**   C = z C                                S = P^-1 Q_new + S z'
**
** Directions that depend on the others leave the block; their part of R, which rounding made, is lost to the recursion and
** found by the next true residual. */
#include "solve/block_cg.h"

#include <string.h>

#include "base/interrupt.h"
#include "solve/cg.h"
#include "solve/frame/refine.h"
#include "solve/frame/small.h"

#define INDEPENDENT 1e-13 /* share of a square beyond the other directions */
#define ROWS_PER_COLUMN 128
#define PARTS 16
#define EXTREMES 256 /* steps of a trace that is asked for extreme eigenvalues alone */

typedef struct block {
  gb_refinement q;
  gb_block_trace *trace;         /* NULL after the first cycle or a restart */
  gb_panel basis, solved, s, as; /* (n, width): Q, P^-1 Q, S, A S */
  size_t parts;                  /* of the only right-hand side; 0: the columns are right-hand sides */
  size_t width, live, rank;      /* columns of the panels; right-hand sides of the cycle; columns of Q */
  double *c;                     /* (rank, live) */
  double *energy;                /* (rank, rank): S' A S of the step */
  double *change;                /* a of a step, then z */
  double *gram, *turn, *product, *spare; /* (width, width): work */
  int due;                               /* steps of the cycle before the next true residual */
  double *left, *rz;                     /* (width): work */
  double *curvature;                     /* (width): zeros, not known */
  size_t *of;                            /* (width) */
} block;

bool gb_block_cg_pays (size_t n, size_t r) { return n / ROWS_PER_COLUMN >= r; }

bool gb_block_cg_failed (const gb_solve_info *info) {
  return info->reason == GB_SOLVE_INDEFINITE || info->reason == GB_SOLVE_NAN;
}

size_t gb_spread_parts (size_t n) { return gb_block_cg_pays(n, PARTS) ? PARTS : 1; }

/* -- memory */

typedef struct request {
  gb_block_trace *trace; /* of the caller; NULL: the loop keeps one */
  size_t parts;
  int max_iter;
} request;

#define SMALL 7 /* (w, w) matrices */
#define ARRAYS 3
#define PANELS 4

/* Columns of the loop's panels at most. */
static size_t widest (const request *q, size_t r) { return q->parts > r ? q->parts : r; }

static size_t trace_bytes (const request *q, size_t w) {
  return q->trace == NULL ? gb_block_trace_bytes(q->max_iter, w) : 0;
}

static gb_work_bytes room (size_t n, size_t r, const void *ud) {
  const request *q = ud;
  const size_t w = widest(q, r);
  return (gb_work_bytes){(PANELS * n * w + gb_panel_sums(n, w * w)) * sizeof(double),
                         (SMALL * w * w + ARRAYS * w) * sizeof(double) + w * sizeof(size_t) +
                             trace_bytes(q, w) + gb_refine_numbers(r) + gb_refine_flags(r)};
}

/* own: the trace where the caller has none. */
static void bind (block *s, gb_system *system, gb_room work, const request *q, gb_block_trace *own) {
  const size_t n = system->n, w = widest(q, system->r);
  double *d = work.numbers,
         **matrix[SMALL] = {&s->c, &s->energy, &s->change, &s->gram, &s->turn, &s->product, &s->spare},
         **array[ARRAYS] = {&s->left, &s->rz, &s->curvature};
  gb_panel *panel[PANELS] = {&s->basis, &s->solved, &s->s, &s->as};
  *s = (block){.parts = q->parts};
  for (size_t i = 0; i < SMALL; i++, d += w * w) *matrix[i] = d;
  for (size_t i = 0; i < ARRAYS; i++, d += w) *array[i] = d;
  s->of = (size_t *)(void *)d;
  memset(s->curvature, 0, w * sizeof *s->curvature);
  for (size_t i = 0; i < PANELS; i++)
    *panel[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * n * w), n, w);
  char *trace = (char *)(s->of + w), *numbers = trace + trace_bytes(q, w);
  if (q->trace == NULL) *own = gb_block_trace_bind(q->max_iter, w, trace);
  s->trace = q->trace != NULL ? q->trace : own;
  s->trace->steps = 0;
  gb_refine_init(&s->q, system, s->as, gb_panel_address(work.entries, PANELS * n * w), numbers,
                 numbers + gb_refine_numbers(system->r));
}

/* The first columns of a panel of the loop. */
static gb_panel own (const block *s, gb_panel v, size_t columns) {
  return (gb_panel){.device = v.device, .at = v.at, .n = v.n, .r = columns, .stride = s->width};
}
static gb_panel basis_of (const block *s) { return own(s, s->basis, s->rank); }
static gb_panel solved (const block *s) { return own(s, s->solved, s->rank); }
static gb_panel directions (const block *s) { return own(s, s->s, s->rank); }
static gb_panel images (const block *s) { return own(s, s->as, s->rank); }

/* -- an orthonormal basis */

/* Q = Q_new z: one pass. z (new rank, rank) to 'z'. */
static void orthonormalise_once (block *s, double *z) {
  gb_panel_cross(basis_of(s), solved(s), s->q.sums, s->gram);
  const size_t p = gb_small_basis(s->rank, s->gram, INDEPENDENT, z, s->turn, s->left, s->of);
  gb_panel_turn(s->turn, p, s->q.sums, basis_of(s));
  gb_panel_turn(s->turn, p, s->q.sums, solved(s));
  s->rank = p;
}

/* The same twice, since one pass leaves what rounding made of nearly dependent directions; z to 'change'. */
static void orthonormalise (block *s) {
  const size_t before = s->rank;
  gb_precond_apply(s->q.s->o->precond, basis_of(s), solved(s));
  orthonormalise_once(s, s->product);
  const size_t once = s->rank;
  orthonormalise_once(s, s->spare);
  gb_small_product(s->rank, once, before, s->spare, s->product, s->change);
}

/* Part t of the residual to column t: so many rows of it, 0 elsewhere. */
static void spread_parts (const block *s) {
  const gb_panel from = s->q.s->res, to = basis_of(s);
  gb_panel_fill(to, 0);
  for (size_t t = 0; t < s->parts; t++) {
    const size_t i0 = t * from.n / s->parts;
    gb_panel rows = from, place = gb_panel_column(to, t);
    rows.n = place.n = (t + 1) * from.n / s->parts - i0;
    rows.at = gb_panel_address(rows.at, i0 * rows.stride);
    place.at = gb_panel_address(place.at, i0 * place.stride);
    gb_panel_copy(rows, place);
  }
}

/* C of the residuals: z, or the sum of its columns where these are parts. */
static void take_coefficients (block *s) {
  if (s->parts == 0) {
    memcpy(s->c, s->change, s->rank * s->live * sizeof *s->c);
    return;
  }
  for (size_t i = 0; i < s->rank; i++) {
    s->c[i] = 0;
    for (size_t t = 0; t < s->parts; t++) s->c[i] += s->change[i * s->parts + t];
  }
}

/* From the residuals of the listed columns: Q, C and S. */
static void begin (block *s) {
  s->rank = s->parts > 0 ? s->parts : s->live;
  if (s->parts > 0) spread_parts(s);
  else gb_panel_copy(gb_active_of_all(&s->q.at, s->q.s->res), basis_of(s));
  orthonormalise(s);
  take_coefficients(s);
  gb_panel_fill(own(s, s->s, s->width), 0);
  gb_panel_copy(solved(s), directions(s));
}

/* -- the trace */

static bool traces (const block *s) { return s->trace != NULL && s->trace->steps < s->trace->max_steps; }

/* C of all right-hand sides: 0 of those that were solved from the start. */
static void note_first (const block *s) {
  const size_t r = s->trace->r;
  memset(s->trace->first, 0, s->rank * r * sizeof *s->c);
  for (size_t i = 0; i < s->rank; i++)
    for (size_t k = 0; k < s->live; k++) s->trace->first[i * r + s->q.at.column[k]] = s->c[i * s->live + k];
  memset(s->trace->diagonal, 0, s->rank * s->rank * sizeof *s->c);
}

/* a_j, and S' A S as a part of T_jj, of which note_basis wrote the rest. */
static void note_step (const block *s) {
  if (!traces(s)) return;
  gb_block_trace *t = s->trace;
  const size_t p = s->rank, at = (size_t)t->steps * t->r * t->r;
  if (t->steps == 0) note_first(s);
  t->rank[t->steps] = p;
  memcpy(t->step + at, s->change, p * p * sizeof *s->c);
  for (size_t i = 0; i < p * p; i++) t->diagonal[at + i] += s->energy[i];
  t->steps++;
}

/* T_j,j-1 = -z (S' A S), and z (S' A S) z' as a part of T_jj; before: columns of the last block. */
static void note_basis (const block *s, size_t before) {
  if (!traces(s)) return;
  const size_t p = s->rank, at = (size_t)s->trace->steps * s->trace->r * s->trace->r;
  double *below = s->trace->below + at;
  gb_small_product(p, before, before, s->change, s->energy, below);
  gb_small_transpose(p, before, s->change, s->turn);
  gb_small_product(p, before, p, below, s->turn, s->trace->diagonal + at);
  for (size_t i = 0; i < p * before; i++) below[i] = -below[i];
}

/* -- a step */

/* The squares of the residuals Q C, before Q is orthonormal. */
static void measure_residuals (block *s) {
  const size_t p = s->rank, r = s->live;
  gb_panel_cross(basis_of(s), basis_of(s), s->q.sums, s->gram);
  gb_small_product(p, p, r, s->gram, s->c, s->product);
  for (size_t k = 0; k < r; k++) {
    double sum = 0;
    for (size_t i = 0; i < p; i++) sum += s->c[i * r + k] * s->product[i * r + k];
    s->q.stop.square[s->q.at.column[k]] = sum < 0 ? 0 : sum;
  }
}

static void end_all (block *s, gb_column_state state) {
  for (size_t k = 0; k < s->live; k++) s->q.at.state[s->q.at.column[k]] = (unsigned char)state;
}

/* S' A S to 'energy', a to 'change'. Returns false where it is not positive definite; then the cycle has ended. */
static bool invert_energy (block *s) {
  const size_t p = s->rank;
  double *e = s->energy, pivot;
  gb_panel_cross(directions(s), images(s), s->q.sums, e);
  for (size_t i = 0; i < p; i++)
    for (size_t j = 0; j < i; j++) e[i * p + j] = e[j * p + i] = (e[i * p + j] + e[j * p + i]) / 2;
  memcpy(s->product, e, p * p * sizeof *e);
  if (gb_small_inverse(p, s->product, s->change, &pivot)) return true;
  end_all(s, isfinite(pivot) ? GB_COLUMN_INDEFINITE : GB_COLUMN_BROKEN);
  return false;
}

/* X += S a C, and Q -= A S a. */
static void advance (block *s) {
  const size_t p = s->rank, r = s->live;
  const gb_panel x = gb_active_of_all(&s->q.at, s->q.s->x);
  gb_small_product(p, p, r, s->change, s->c, s->product);
  gb_panel_mix(directions(s), s->product, x);
  for (size_t i = 0; i < p * p; i++) s->product[i] = -s->change[i];
  gb_panel_mix(images(s), s->product, basis_of(s));
}

/* Asks for the true residuals, and whether the block is to begin again from them, which loses the space that it has: so
** the steps to the next check double. */
static gb_status check (block *s, bool *again, gb_error *err) {
  s->due *= 2;
  GB_TRY(gb_refine_check(&s->q, s->rz, err));
  for (size_t k = 0; k < s->live; k++) {
    bool *restart = &s->q.restart[s->q.at.column[k]];
    *again |= *restart;
    *restart = false;
  }
  return GB_OK;
}

static bool is_active (const block *s) {
  for (size_t k = 0; k < s->live; k++)
    if (s->q.at.state[s->q.at.column[k]] == GB_COLUMN_ACTIVE) return true;
  return false;
}

/* Tests all columns, also those that had converged: each step of the block changes their residuals, too. */
static void test (block *s) {
  gb_refinement *q = &s->q;
  for (size_t k = 0; k < s->live; k++) {
    unsigned char *state = &q->at.state[q->at.column[k]];
    if (*state == GB_COLUMN_CONVERGED) *state = GB_COLUMN_ACTIVE;
    s->rz[k] = 0;
    for (size_t i = 0; i < s->rank; i++) s->rz[k] += s->c[i * s->live + k] * s->c[i * s->live + k];
  }
  if (gb_stop_measures(&q->stop)) gb_refine_test_measured(q, s->rz);
  else
    for (size_t k = 0; k < s->live; k++) gb_refine_test(q, q->at.column[k]);
}

/* Q, C and S of the next step. */
static void renew (block *s) {
  const size_t before = s->rank, r = s->live;
  orthonormalise(s);
  note_basis(s, before);
  gb_small_product(s->rank, before, r, s->change, s->c, s->product);
  memcpy(s->c, s->product, s->rank * r * sizeof *s->c);
  gb_small_transpose(s->rank, before, s->change, s->turn);
  gb_panel_turn(s->turn, s->rank, s->q.sums, own(s, s->s, before));
  gb_panel_axpy(NULL, solved(s), directions(s));
}

/* A block without directions whose columns have not converged: P is not positive definite, or what it was given is not
** finite. */
static void end_empty (block *s) {
  double sum = 0;
  for (size_t k = 0; k < s->live; k++) sum += s->q.stop.square[s->q.at.column[k]];
  end_all(s, isfinite(sum) ? GB_COLUMN_INDEFINITE : GB_COLUMN_BROKEN);
}

/* A S. */
static gb_status multiply (block *s, gb_error *err) {
  gb_product *by = s->q.by;
  if (by->r != s->width) GB_TRY(gb_product_resize(by, s->width, err));
  return gb_product_run(by, own(s, s->s, s->width), own(s, s->as, s->width), err);
}

static gb_status take_step (block *s, int number, gb_error *err) {
  gb_refinement *q = &s->q;
  bool again = false;
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  GB_TRY(multiply(s, err));
  if (!invert_energy(s)) return GB_OK;
  note_step(s);
  advance(s);
  measure_residuals(s);
  if (number + 1 == s->due) GB_TRY(check(s, &again, err));
  if (again) {
    s->trace = NULL;
    begin(s);
  } else if (gb_stop_measures(&q->stop)) renew(s);
  test(s);
  if (!again && !gb_stop_measures(&q->stop) && is_active(s)) renew(s);
  if (is_active(s) && s->rank == 0) end_empty(s);
  return GB_OK;
}

/* -- the loop */

static gb_status cycle (gb_refinement *q, void *ud, gb_error *err) {
  block *s = ud;
  gb_solve_info *info = q->s->info;
  s->live = q->at.live;
  s->width = s->parts > 0 ? s->parts : q->at.width;
  s->due = gb_refine_interval(q);
  begin(s);
  if (s->rank == 0) end_empty(s);
  for (int number = 0; is_active(s) && info->iterations < q->s->o->max_iter; number++) {
    GB_TRY(take_step(s, number, err));
    info->iterations++;
    gb_curve_note(&info->curve, info->iterations, gb_refine_worst(q));
  }
  s->trace = NULL;
  return GB_OK;
}

static gb_status loop (gb_system *system, gb_room work, const void *ud, gb_error *err) {
  gb_solve_info *info = system->info;
  gb_block_trace own_trace;
  block s;
  bind(&s, system, work, ud, &own_trace);
  const gb_block_trace *trace = s.trace;
  GB_TRY(gb_refine(&s.q, cycle, &s, err));
  gb_refine_report(&s.q, s.curvature);
  double smallest, largest;
  gb_block_trace_extremes(trace, &smallest, &largest);
  info->condition = largest > 0 ? largest / smallest : 0;
  if (system->o->precond == NULL) info->smallest = smallest, info->largest = largest;
  return GB_OK;
}

static const gb_solve_method method = {.name = "block conjugate gradients",
                                       .takes = GB_TAKES_PRECOND | GB_TAKES_MIXED,
                                       .room = room,
                                       .loop = loop};

gb_status gb_block_cg_panels (gb_solve_matrix *m, const gb_solve_options *o, gb_panel b, gb_panel x,
                              gb_panel residual, gb_block_trace *trace, gb_solve_info *info, gb_error *err) {
  const request q = {.trace = trace};
  GB_TRY(gb_frame_run(&method, &q, m, o, b, false, x, residual, info, err));
  if (!info->f32_insufficient) return GB_OK;
  gb_solve_options full = *o;
  full.mixed = false;
  return gb_frame_run(&method, &q, m, &full, b, false, x, residual, info, err);
}

gb_work_bytes gb_block_cg_bytes (size_t n, size_t r) {
  return gb_frame_bytes(&method, &(request){.trace = &(gb_block_trace){0}}, n, r);
}

gb_status gb_solve_spread (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x,
                           gb_solve_info *info, gb_error *err) {
  const gb_shape *shape = gb_node_shape(b);
  const size_t r = shape->ndim == 2 ? shape->dim[1] : 1, parts = gb_spread_parts(shape->dim[0]);
  if (r != 1 || parts == 1 || o->goal.prior != NULL) return gb_solve_cg(a, b, o, x, info, err);
  const request q = {.parts = parts, .max_iter = o->max_iter < EXTREMES ? o->max_iter : EXTREMES};
  GB_TRY(gb_frame_solve(&method, &q, a, b, o, x, info, err));
  if (!gb_block_cg_failed(info)) return GB_OK;
  gb_node_unref(*x);
  *x = NULL;
  return gb_solve_cg(a, b, o, x, info, err);
}
