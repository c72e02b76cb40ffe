/* cg.c - the loop, its workspace, and the gradient of a solution. */
#include "solve/cg.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "solve/columns.h"
#include "solve/lanczos.h"

const char *gb_cg_reason_text (gb_cg_reason r) {
  static const char *const names[] = {"converged", "max_iter", "indefinite", "stagnated", "nan"};
  return names[r];
}

typedef enum column_state { RUNNING, RESTING, INDEFINITE, BROKEN } column_state;

/* State of one run. Arrays named in lower case over (n, r) or over (r). */
typedef struct cg {
  gb_product *a;
  const gb_cg_options *o;
  gb_cg_trace *trace;
  size_t n, r;
  const double *b;
  double *x, *res;                 /* the caller's: solution, residual */
  double *z, *p, *ap;              /* (n, r) */
  double *rz, *curvature, *factor, *rr, *bound;   /* (r); bound: the square of tol |b| */
  unsigned char *state;            /* (r): column_state */
  int iterations;
} cg;

static size_t workspace_bytes (size_t n, size_t r) { return (3 * n * r + 5 * r) * sizeof(double) + r; }

static void bind (cg *s, double *w) {
  const size_t nr = s->n * s->r;
  s->z = w, s->p = w + nr, s->ap = w + 2 * nr;
  w += 3 * nr;
  s->rz = w, s->curvature = w + s->r, s->factor = w + 2 * s->r, s->rr = w + 3 * s->r, s->bound = w + 4 * s->r;
  s->state = (unsigned char *)(w + 5 * s->r);
  memset(s->state, RUNNING, s->r);
}

static bool any_running (const cg *s) {
  for (size_t c = 0; c < s->r; c++)
    if (s->state[c] == RUNNING) return true;
  return false;
}

/* rr and who goes on. A column of zeros is solved by x = 0 and never starts. */
static void measure (cg *s) {
  gb_columns_dot(s->n, s->r, s->res, s->res, s->rr);
  for (size_t c = 0; c < s->r; c++) {
    if (s->state[c] != RUNNING) continue;
    if (!isfinite(s->rr[c])) s->state[c] = BROKEN;
    else if (s->rr[c] <= s->bound[c]) s->state[c] = RESTING;
  }
}

/* residual = b - A x, with x rounded to A's dtype; who rested must show it again. */
static gb_status recompute (cg *s, gb_error *err) {
  GB_TRY(gb_product_run(s->a, s->x, s->ap, err));
  for (size_t i = 0; i < s->n * s->r; i++) s->res[i] = s->b[i] - s->ap[i];
  for (size_t c = 0; c < s->r; c++)
    if (s->state[c] == RESTING) s->state[c] = RUNNING;
  measure(s);
  return GB_OK;
}

/* Sets to zero what columns that do not run hold in v: a factor of 0 would not, where they hold NaN. */
static void still (const cg *s, double *v) {
  for (size_t i = 0; i < s->n; i++)
    for (size_t c = 0; c < s->r; c++)
      if (s->state[c] != RUNNING) v[i * s->r + c] = 0;
}

/* The step along p. */
static void advance (cg *s) {
  gb_columns_dot(s->n, s->r, s->p, s->ap, s->curvature);
  for (size_t c = 0; c < s->r; c++) {
    if (s->state[c] == RUNNING && !isfinite(s->curvature[c])) s->state[c] = BROKEN;
    if (s->state[c] == RUNNING && !(s->curvature[c] > 0 && s->rz[c] > 0)) s->state[c] = INDEFINITE;
    s->factor[c] = s->state[c] == RUNNING ? s->rz[c] / s->curvature[c] : 0;
  }
  still(s, s->p);
  still(s, s->ap);
  gb_columns_axpy(s->n, s->r, s->factor, s->p, s->x);
  for (size_t c = 0; c < s->r; c++) s->factor[c] = -s->factor[c];
  gb_columns_axpy(s->n, s->r, s->factor, s->ap, s->res);
}

/* The next directions, conjugate to the last. */
static void turn (cg *s, int step) {
  gb_precond_apply(s->o->precond, s->n, s->r, s->res, s->z);
  memcpy(s->curvature, s->rz, s->r * sizeof *s->rz);       /* the last r . z */
  gb_columns_dot(s->n, s->r, s->res, s->z, s->rz);
  for (size_t c = 0; c < s->r; c++) {
    const double alpha = -s->factor[c];
    s->factor[c] = s->state[c] == RUNNING ? s->rz[c] / s->curvature[c] : 0;
    if (s->trace == NULL || step >= s->trace->max_steps || !(alpha > 0)) continue;
    s->trace->alpha[(size_t)step * s->r + c] = alpha;
    s->trace->beta[(size_t)step * s->r + c] = s->factor[c];
    s->trace->steps[c] = step + 1;
  }
  gb_columns_xpay(s->n, s->r, s->factor, s->z, s->p);
  still(s, s->p);
}

/* From the residual in 'res' until no column goes on. */
static gb_status cycle (cg *s, gb_error *err) {
  gb_precond_apply(s->o->precond, s->n, s->r, s->res, s->p);
  gb_columns_dot(s->n, s->r, s->res, s->p, s->rz);
  still(s, s->p);
  for (int step = 0; any_running(s) && s->iterations < s->o->max_iter; step++, s->iterations++) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    GB_TRY(gb_product_run(s->a, s->p, s->ap, err));
    advance(s);
    measure(s);
    turn(s, step);
  }
  return GB_OK;
}

/* Largest |b - A x| / |b|, over all columns or those that run; NaN wins. */
static double worst (const cg *s, bool running) {
  double largest = 0;
  for (size_t c = 0; c < s->r; c++) {
    if (running && s->state[c] != RUNNING) continue;
    const double ratio = s->bound[c] > 0 ? sqrt(s->rr[c] / s->bound[c]) * s->o->tol
                         : s->rr[c] > 0  ? INFINITY
                                         : 0;
    if (!(ratio <= largest)) largest = ratio;
  }
  return largest;
}

/* What became of the worst column. */
static gb_cg_reason verdict (const cg *s) {
  gb_cg_reason reason = GB_CG_CONVERGED;
  for (size_t c = 0; c < s->r; c++) {
    if (s->rr[c] <= s->bound[c]) continue;
    if (s->state[c] == BROKEN || !isfinite(s->rr[c])) return GB_CG_NAN;
    if (s->state[c] == INDEFINITE) reason = GB_CG_INDEFINITE;
    else if (reason != GB_CG_INDEFINITE)
      reason = s->iterations >= s->o->max_iter ? GB_CG_MAX_ITER : GB_CG_STAGNATED;
  }
  return reason;
}

/* Cycles until the recomputed residual is small enough or nothing more can be done. */
static gb_status iterate (cg *s, gb_error *err) {
  double before = INFINITY;
  measure(s);
  while (any_running(s) && s->iterations < s->o->max_iter) {
    const double now = worst(s, true);
    if (!(now <= before / 2)) break;
    before = now;
    GB_TRY(cycle(s, err));
    s->trace = NULL;               /* only the first cycle's steps belong to b */
    GB_TRY(recompute(s, err));
  }
  return GB_OK;
}

gb_status gb_cg_columns (gb_product *a, const gb_cg_options *o, const double *b, bool guess, double *x,
                         double *residual, gb_cg_trace *trace, gb_cg_info *info, gb_error *err) {
  if (!(o->tol > 0)) return gb_fail(err, GB_EOPTION, "tol: expected a positive number, got %g", o->tol);
  const double started = gb_clock();
  cg s = {.a = a, .o = o, .trace = trace, .n = a->n, .r = a->r, .b = b, .x = x, .res = residual};
  gb_ledger *ledger = &a->graph->backend->ledger;
  void *work;
  *info = (gb_cg_info){.bytes = workspace_bytes(s.n, s.r)};
  GB_TRY(gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, info->bytes, "", "conjugate gradients", &work, err));
  bind(&s, work);
  gb_columns_dot(s.n, s.r, b, b, s.bound);
  for (size_t c = 0; c < s.r; c++) s.bound[c] *= o->tol * o->tol;
  if (trace != NULL) memset(trace->steps, 0, s.r * sizeof *trace->steps);
  gb_status st = GB_OK;
  if (guess) st = recompute(&s, err);
  else {
    memset(x, 0, s.n * s.r * sizeof *x);
    memcpy(residual, b, s.n * s.r * sizeof *b);
  }
  if (st == GB_OK) st = iterate(&s, err);
  if (st == GB_OK) {
    info->reason = verdict(&s);
    info->residual = worst(&s, false);
  }
  info->converged = st == GB_OK && info->reason == GB_CG_CONVERGED;
  info->iterations = s.iterations;
  info->seconds = gb_clock() - started;
  gb_ledger_free(ledger, work);
  if (st == GB_OK && trace != NULL && s.r > 0) info->condition = gb_trace_condition(trace, s.r, 0);
  return st;
}

/* ---- solutions as leaves ---- */

/* Steps whose coefficients are kept: the tridiagonal matrix of the first ones is a Lanczos matrix all the
** same. */
#define TRACED 1000

size_t gb_cg_trace_bytes (const gb_cg_options *o, size_t r) {
  const size_t steps = (size_t)(o->max_iter < TRACED ? o->max_iter : TRACED);
  return steps * r * 2 * sizeof(double) + r * sizeof(int);
}

gb_cg_trace gb_cg_trace_bind (const gb_cg_options *o, size_t r, void *memory) {
  const int steps = o->max_iter < TRACED ? o->max_iter : TRACED;
  double *d = memory;
  return (gb_cg_trace){steps, (int *)(d + 2 * (size_t)steps * r), d, d + (size_t)steps * r};
}

static gb_status check_sides (gb_node *a, gb_node *b, const char *what, gb_error *err) {
  char left[GB_NODE_TEXT], right[GB_NODE_TEXT];
  const gb_shape *s = gb_node_shape(b);
  if ((s->ndim != 1 && s->ndim != 2) || gb_node_shape(a)->ndim != 2 || s->dim[0] != gb_node_shape(a)->dim[0])
    return gb_fail(err, GB_ESHAPE, "%s does not fit the matrix: %s, %s", what, gb_node_text(a, left),
                   gb_node_text(b, right));
  if (gb_node_dtype(a) != gb_node_dtype(b))
    return gb_fail(err, GB_EDTYPE, "dtypes differ: %s and %s", gb_dtype_name(gb_node_dtype(a)),
                   gb_dtype_name(gb_node_dtype(b)));
  return GB_OK;
}

/* b, x and residual in 'memory' (3, n, r), then the trace. */
static gb_status solve_in (gb_product *a, gb_node *b, const gb_cg_options *o, double *memory, gb_node **x,
                           gb_cg_info *info, gb_error *err) {
  const size_t nr = a->n * a->r;
  double *rhs = memory, *solution = memory + nr, *residual = memory + 2 * nr;
  gb_cg_trace trace = gb_cg_trace_bind(o, a->r, memory + 3 * nr);
  GB_TRY(gb_node_doubles(b, rhs, err));
  if (o->x0 != NULL) GB_TRY(gb_node_doubles(o->x0, solution, err));
  GB_TRY(gb_cg_columns(a, o, rhs, o->x0 != NULL, solution, residual, &trace, info, err));
  return gb_leaf_doubles(b->graph, gb_node_shape(b), gb_node_dtype(b), solution, "", x, err);
}

gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_cg_options *o, gb_node **x, gb_cg_info *info,
                       gb_error *err) {
  GB_TRY(check_sides(a, b, "right-hand side", err));
  if (o->x0 != NULL && !gb_shape_equal(gb_node_shape(o->x0), gb_node_shape(b)))
    return gb_fail(err, GB_ESHAPE, "x0: expected the shape of the right-hand side");
  if (o->max_iter < 0) return gb_fail(err, GB_EOPTION, "max_iter: expected at least 0, got %d", o->max_iter);
  const gb_shape *s = gb_node_shape(b);
  const size_t r = s->ndim == 1 ? 1 : s->dim[1];
  if (s->dim[0] == 0 || r == 0) {
    *info = (gb_cg_info){.converged = true};
    return gb_leaf_doubles(b->graph, s, gb_node_dtype(b), NULL, "", x, err);
  }
  gb_product p;
  GB_TRY(gb_product_init(&p, a, r, err));
  gb_ledger *ledger = &b->graph->backend->ledger;
  const size_t bytes = 3 * p.n * r * sizeof(double) + gb_cg_trace_bytes(o, r);
  void *memory = NULL;
  gb_status st = gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, bytes, "", "conjugate gradients", &memory, err);
  if (st == GB_OK) st = solve_in(&p, b, o, memory, x, info, err);
  info->bytes += bytes;
  gb_ledger_free(ledger, memory);
  gb_product_clear(&p);
  return st;
}

/* Columns as a matrix, borrowed or made. */
static gb_status as_matrix (gb_node *v, gb_node **out, gb_error *err) {
  if (gb_node_shape(v)->ndim == 1) return gb_unsqueeze(v, 1, out, err);
  *out = gb_node_ref(v);
  return GB_OK;
}

gb_status gb_residual_form (gb_node *a, gb_node *b, gb_node *x, gb_node *u, gb_node **out, gb_error *err) {
  gb_node *xm = NULL, *bm = NULL, *um = NULL, *ax = NULL, *r = NULL, *ur = NULL;
  gb_status st = as_matrix(x, &xm, err);
  if (st == GB_OK) st = as_matrix(b, &bm, err);
  if (st == GB_OK) st = as_matrix(u, &um, err);
  if (st == GB_OK) st = gb_matmul(a, xm, &ax, err);
  if (st == GB_OK) st = gb_map2(GB_OP_SUB, bm, ax, &r, err);
  if (st == GB_OK) st = gb_map2(GB_OP_MUL, um, r, &ur, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_SUM, ur, 0, false, out, err);
  gb_node *const made[] = {xm, bm, um, ax, r, ur};
  for (int i = 0; i < 6; i++) gb_node_unref(made[i]);
  return st;
}

gb_status gb_solve_cg_grad (gb_node *a, gb_node *b, gb_node *x, gb_node *g, const gb_cg_options *o,
                            gb_node **surrogate, gb_cg_info *info, gb_error *err) {
  gb_node *u;
  gb_cg_options plain = *o;
  plain.x0 = NULL;
  GB_TRY(check_sides(a, x, "solution", err));
  GB_TRY(gb_solve_cg(a, g, &plain, &u, info, err));
  const gb_status st = gb_residual_form(a, b, x, u, surrogate, err);
  gb_node_unref(u);
  return st;
}
