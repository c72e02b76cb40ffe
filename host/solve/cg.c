/* cg.c - the recurrence. For each column, with P the preconditioner and R the residual:
**
**   alpha = R'z / p'Ap     x += alpha p     R -= alpha A p     z = P^-1 R
**   beta = R'z / (R'z of the last step)                        p = z + beta p */
#include "solve/cg.h"

#include <string.h>

#include "base/interrupt.h"
#include "solve/frame/refine.h"

typedef struct cg {
  gb_refinement q;
  gb_trace *trace;     /* NULL after the first cycle: only its steps belong to b */
  gb_panel p;          /* (n, width): directions; A p is q.ax */
  double *rz, *factor; /* (live): R'z; alpha or beta */
  double *curvature;   /* (r): of the columns that are INDEFINITE */
  bool *restarted;     /* (r): alpha and beta no longer belong to b's Krylov space */
} cg;

/* -- memory */

typedef struct request {
  gb_trace *trace; /* of the caller; NULL: the loop keeps one */
  int max_iter;
} request;

static size_t trace_bytes (const request *q, size_t r) {
  return q->trace == NULL ? gb_trace_bytes(q->max_iter, r) : 0;
}

static gb_work_bytes room (size_t n, size_t r, const void *ud) {
  return (gb_work_bytes){(2 * n * r + gb_panel_sums(n, r)) * sizeof(double),
                         3 * r * sizeof(double) + gb_refine_numbers(r) + trace_bytes(ud, r) +
                             gb_refine_flags(r) + r};
}

/* own: the trace where the caller has none. */
static void bind (cg *s, gb_system *system, gb_room w, const request *q, gb_trace *own) {
  const size_t n = system->n, r = system->r;
  const gb_panel ax = gb_panel_of(w.device, gb_panel_address(w.entries, n * r), n, r);
  double *d = w.numbers;
  char *numbers = (char *)(d + 3 * r), *trace = numbers + gb_refine_numbers(r),
       *flags = trace + trace_bytes(q, r);
  if (q->trace == NULL) *own = gb_trace_bind(q->max_iter, r, trace);
  s->trace = q->trace != NULL ? q->trace : own;
  memset(s->trace->steps, 0, r * sizeof *s->trace->steps);
  s->p = gb_panel_of(w.device, w.entries, n, r);
  s->rz = d, s->factor = d + r, s->curvature = d + 2 * r;
  for (size_t c = 0; c < r; c++) s->curvature[c] = 0;
  gb_refine_init(&s->q, system, ax, gb_panel_address(w.entries, 2 * n * r), numbers, flags);
  s->restarted = (bool *)(flags + gb_refine_flags(r));
  memset(s->restarted, 0, r);
}

static gb_panel own (const cg *s, gb_panel v) { return gb_active_own(&s->q.at, v); }
static gb_panel listed (const cg *s, gb_panel v) { return gb_active_of_all(&s->q.at, v); }

/* -- a step */

static void drop (cg *s) {
  const gb_panel panels[] = {s->p, s->q.ax};
  double *const arrays[] = {s->rz, s->factor};
  gb_active_drop(&s->q.at, 2, panels, 2, arrays);
}

/* alpha; columns that cannot step leave. */
static void measure_step (cg *s) {
  gb_refinement *q = &s->q;
  gb_panel_dot(own(s, s->p), own(s, q->ax), q->sums, s->factor);
  for (size_t k = 0; k < q->at.live; k++) {
    const size_t c = q->at.column[k];
    const double curvature = s->factor[k];
    if (!isfinite(curvature)) q->at.state[c] = GB_COLUMN_BROKEN;
    else if (!(curvature > 0 && s->rz[k] > 0)) {
      const gb_panel p = gb_panel_column(own(s, s->p), k);
      double square;
      q->at.state[c] = GB_COLUMN_INDEFINITE;
      gb_panel_dot(p, p, q->sums, &square);
      s->curvature[c] = square > 0 ? curvature / square : 0;
    }
    s->factor[k] = s->rz[k] / curvature;
  }
  drop(s);
}

static void note_alpha (const cg *s, int step) {
  gb_trace *t = s->trace;
  for (size_t k = 0; t != NULL && step < t->max_steps && k < s->q.at.live; k++) {
    const size_t c = s->q.at.column[k], at = (size_t)step * t->r + c;
    if (s->restarted[c]) continue;
    t->alpha[at] = s->factor[k];
    t->beta[at] = 0;
    t->steps[c] = step + 1;
  }
}

/* The next directions, conjugate to the last, or the first of a column that restarts. */
static void update_direction (cg *s, int step) {
  gb_refinement *q = &s->q;
  const gb_panel z = own(s, q->s->spare);
  gb_precond_apply(q->s->o->precond, listed(s, q->s->res), z);
  gb_panel_dot(listed(s, q->s->res), z, q->sums, q->xb);
  for (size_t k = 0; k < q->at.live; k++) {
    const size_t c = q->at.column[k];
    s->restarted[c] |= q->restart[c];
    s->factor[k] = q->restart[c] ? 0 : q->xb[k] / s->rz[k];
    s->rz[k] = q->xb[k];
    q->restart[c] = false;
    if (s->trace != NULL && step < s->trace->max_steps && !s->restarted[c])
      s->trace->beta[(size_t)step * s->trace->r + c] = s->factor[k];
  }
  gb_panel_xpay(s->factor, z, own(s, s->p));
}

static gb_status take_step (cg *s, int number, gb_error *err) {
  gb_refinement *q = &s->q;
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  GB_TRY(gb_active_multiply(&q->at, q->by, s->p, q->ax, err));
  measure_step(s);
  gb_panel_step(s->factor, own(s, s->p), own(s, q->ax), listed(s, q->s->x), listed(s, q->s->res), q->sums,
                q->xb);
  note_alpha(s, number);
  for (size_t k = 0; k < q->at.live; k++) {
    const size_t c = q->at.column[k];
    q->stop.square[c] = q->xb[k];
    if (gb_stop_has_goal(&q->stop)) q->s->o->goal.quad_form[c] += s->factor[k] * s->rz[k];
  }
  if ((number + 1) % gb_refine_interval(q) == 0 && q->at.live > 0) GB_TRY(gb_refine_check(q, s->factor, err));
  for (size_t k = 0; k < q->at.live; k++) gb_refine_test(q, q->at.column[k]);
  drop(s);
  update_direction(s, number);
  gb_refine_test_measured(q, s->rz);
  drop(s);
  return GB_OK;
}

/* -- the loop */

static gb_status cycle (gb_refinement *q, void *ud, gb_error *err) {
  cg *s = ud;
  gb_panel_fill(gb_active_own_wide(&q->at, s->p), 0);
  gb_precond_apply(q->s->o->precond, listed(s, q->s->res), own(s, s->p));
  gb_panel_dot(listed(s, q->s->res), own(s, s->p), q->sums, s->rz);
  gb_refine_test_measured(q, s->rz);
  drop(s);
  for (int number = 0; q->at.live > 0 && q->s->info->iterations < q->s->o->max_iter; number++) {
    GB_TRY(take_step(s, number, err));
    q->s->info->iterations++;
    gb_curve_note(&q->s->info->curve, q->s->info->iterations, gb_refine_worst(q));
  }
  s->trace = NULL;
  return GB_OK;
}

static gb_status loop (gb_system *system, gb_room work, const void *ud, gb_error *err) {
  cg s;
  gb_trace own_trace;
  bind(&s, system, work, ud, &own_trace);
  const gb_trace *trace = s.trace;
  GB_TRY(gb_refine(&s.q, cycle, &s, err));
  gb_refine_report(&s.q, s.curvature);
  gb_solve_info *info = system->info;
  double smallest, largest;
  gb_trace_extremes(trace, 0, &smallest, &largest);
  info->condition = largest > 0 ? largest / smallest : 0;
  if (system->o->precond == NULL) info->smallest = smallest, info->largest = largest;
  return GB_OK;
}

static const gb_solve_method method = {.name = "conjugate gradients",
                                       .takes = GB_TAKES_PRECOND | GB_TAKES_MIXED | GB_TAKES_GOAL,
                                       .room = room,
                                       .loop = loop};

gb_status gb_cg_check (gb_node *a, gb_node *b, const gb_solve_options *o, gb_error *err) {
  return gb_frame_check(&method, a, b, o, err);
}

gb_status gb_solve_cg (gb_node *a, gb_node *b, const gb_solve_options *o, gb_node **x, gb_solve_info *info,
                       gb_error *err) {
  return gb_frame_solve(&method, &(request){NULL, o->max_iter}, a, b, o, x, info, err);
}

gb_status gb_cg_panels (gb_solve_matrix *m, const gb_solve_options *o, gb_panel b, gb_panel x,
                        gb_panel residual, gb_trace *trace, gb_solve_info *info, gb_error *err) {
  const request q = {.trace = trace};
  GB_TRY(gb_frame_run(&method, &q, m, o, b, false, x, residual, info, err));
  if (!info->f32_insufficient) return GB_OK;
  gb_solve_options full = *o;
  full.mixed = false;
  return gb_frame_run(&method, &q, m, &full, b, false, x, residual, info, err);
}

gb_work_bytes gb_cg_panels_bytes (size_t n, size_t r) {
  return gb_frame_bytes(&method, &(request){.trace = &(gb_trace){0}}, n, r);
}

gb_work_bytes gb_cg_bytes (const gb_solve_options *o, size_t n, size_t r) {
  const gb_work_bytes w = gb_frame_bytes(&method, &(request){NULL, o->max_iter}, n, r);
  return (gb_work_bytes){3 * n * r * sizeof(double) + w.entries, w.numbers};
}
