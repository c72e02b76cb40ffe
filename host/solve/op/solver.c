/* solver.c - ops that solve: how they run, what they allocate, which requests share one. */
#include "solve/op/solver.h"

#include "iterate/work.h"
#include "solve/op/op.h"
#include "tensor/host.h"

/* -- running */

/* The noise that a leaf holds: one number, or (n) of them, which lie in 'each'. */
static gb_status read_noise (gb_node *leaf, gb_noise *out, gb_work *each, gb_error *err) {
  const gb_shape *s = gb_node_shape(leaf);
  if (s->ndim == 0) return gb_read_doubles(leaf->graph->device, &leaf->out[0].tensor, &out->level, 1, err);
  GB_TRY(gb_work_new(leaf->graph->device, 0, s->dim[0] * sizeof(double), "noise", each, err));
  out->each = each->at.numbers;
  return gb_node_doubles(leaf, each->at.numbers, err);
}

static gb_status run_solve (gb_solver_op *op, const gb_planned_args *q, const gb_solve_options *o,
                            const gb_tensor *out, gb_solve_info *info, gb_error *err) {
  gb_node *x;
  gb_solve_options own = *o;
  own.x0 = op->has_x0 ? q->leaf[gb_solver_input_x0(op)] : NULL;
  GB_TRY(gb_solve_cg(q->root[0], q->leaf[gb_solver_input_b(op)], &own, &x, info, err));
  const gb_status st = gb_tensor_copy(out, &x->out[0].tensor, err);
  gb_node_unref(x);
  return st;
}

static gb_status run_marginal (gb_solver_op *op, const gb_planned_args *q, const gb_logdet_options *o,
                               const gb_tensor *out, gb_logdet_info *info, gb_error *err) {
  gb_solve_matrix m;
  gb_work b;
  gb_device *dev = q->root[0]->graph->device;
  const size_t n = gb_node_shape(q->root[0])->dim[0];
  GB_TRY(gb_solve_matrix_init(&m, q->root[0], gb_marginal_columns(o, n), o->solve.mixed, err));
  gb_status st = gb_work_new(dev, n * sizeof(double), 0, "right-hand side", &b, err);
  if (st == GB_OK) st = gb_node_entries(q->leaf[gb_solver_input_b(op)], b.at.entries, err);
  if (st == GB_OK)
    st = gb_marginal_run(&m, gb_panel_of(dev, b.at.entries, n, 1), o, gb_tensor_data(out), info, err);
  gb_work_free(&b);
  gb_solve_matrix_clear(&m);
  return st;
}

static gb_status run_with (gb_solver_op *op, const gb_planned_args *q, const gb_tensor *out,
                           gb_solver_report *report, gb_error *err) {
  gb_precond p;
  gb_logdet_options o = op->o.run;
  gb_noise noise = {0};
  gb_work each = {0};
  const gb_precond_spec none = {0},
                        *spec = op->kind == GB_SOLVER_MARGINAL && o.exact ? &none : &op->o.precond;
  gb_status st = op->has_noise ? read_noise(q->leaf[op->planned.hole.n], &noise, &each, err) : GB_OK;
  if (st == GB_OK) st = gb_precond_make(&p, spec, q->root[0], q->root[1], noise, err);
  gb_work_free(&each);
  if (st != GB_OK) return st;
  gb_cache_drop(q->root[0]->graph, SIZE_MAX);
  o.solve.precond = spec->kind == GB_PRECOND_NONE ? NULL : &p;
  st = op->kind == GB_SOLVER_MARGINAL ? run_marginal(op, q, &o, out, &report->info, err)
                                      : run_solve(op, q, &o.solve, out, &report->info.solve, err);
  gb_precond_clear(&p);
  return st;
}

static gb_status solver_run (gb_planned_op *planned, const gb_planned_args *q, const gb_tensor *out,
                             gb_error *err) {
  gb_solver_op *op = (gb_solver_op *)planned;
  op->latest = (gb_solver_report){.o = op->o, .marginal = op->kind == GB_SOLVER_MARGINAL};
  return run_with(op, q, out, &op->latest, err);
}

static void solver_ran (gb_planned_op *planned, size_t slot, const char *where) {
  gb_solver_op *op = (gb_solver_op *)planned;
  op->report[slot] = op->latest;
  if (op->kind == GB_SOLVER_SOLVE && !op->latest.info.solve.converged && op->o.missed != NULL)
    op->o.missed(op->o.ud, where, &op->report[slot]);
}

const gb_solver_report *gb_solver_report_of (const gb_node *x) {
  size_t slot;
  const gb_planned_op *op = gb_planned_report(x, &slot);
  return op != NULL ? &((const gb_solver_op *)op)->report[slot] : NULL;
}

/* -- finding and making */

static bool same_options (const gb_solver_options *x, const gb_solver_options *y) {
  const gb_solve_options *a = &x->run.solve, *b = &y->run.solve;
  return a->tol == b->tol && a->max_iter == b->max_iter && a->mixed == b->mixed &&
         x->run.probes == y->run.probes && x->run.seed == y->run.seed && x->run.exact == y->run.exact &&
         x->precond.kind == y->precond.kind && x->precond.rank == y->precond.rank &&
         x->precond.tol == y->precond.tol && x->precond.seed == y->precond.seed;
}

/* A request for an op. */
typedef struct request {
  gb_solver_kind kind;
  gb_node *root[GB_PLANNED_ROOTS];
  size_t nroots;
  bool has_noise, each, has_x0;
  size_t r;
  const gb_solver_options *o;
  gb_boundary b;
} request;

static bool solver_same (const gb_planned_op *planned, const void *ask) {
  const gb_solver_op *op = (const gb_solver_op *)planned;
  const request *q = ask;
  return op->has_noise == q->has_noise && op->each == q->each && op->has_x0 == q->has_x0 && op->r == q->r &&
         same_options(&op->o, q->o);
}

/* Bytes of products with the matrix. */
static gb_status measure_products (const gb_solver_op *op, size_t n, size_t *bytes, gb_error *err) {
  gb_solve_matrix m;
  size_t most = 0;
  *bytes = 0;
  if (n == 0 || op->r == 0) return GB_OK;
  /* not mixed: placeholders have no values to convert */
  GB_TRY(gb_solve_matrix_init(&m, gb_solver_matrix(op), op->r, false, err));
  const gb_status st = gb_solve_matrix_peak(&m, &most, err);
  gb_solve_matrix_clear(&m);
  *bytes = most * (op->o.run.solve.mixed ? 3 : 1); /* the other type may be twice as wide */
  return st;
}

/* Bytes of making the preconditioner, and of the solve with it; '*held': of the preconditioner. */
static gb_status measure (gb_solver_op *op, size_t *held, gb_work_bytes *making, gb_work_bytes *work,
                          gb_error *err) {
  const gb_precond_spec none = {0},
                        *spec = op->kind == GB_SOLVER_MARGINAL && op->o.run.exact ? &none : &op->o.precond;
  const size_t n = gb_node_shape(gb_solver_matrix(op))->dim[0];
  size_t products;
  GB_TRY(gb_precond_bytes(spec, gb_solver_matrix(op), gb_solver_kernel(op), op->each, held, making, err));
  if (op->each) making->numbers += n * sizeof(double);
  GB_TRY(measure_products(op, n, &products, err));
  for (size_t i = 0; op->o.run.solve.mixed && i < op->planned.hole.n; i++)
    products += gb_shape_bytes(gb_node_shape(op->planned.hole.in[i]), GB_F64) + 128;
  const bool marginal = op->kind == GB_SOLVER_MARGINAL;
  *work = marginal ? gb_marginal_bytes(&op->o.run, n) : gb_cg_bytes(&op->o.run.solve, n, op->r);
  /* b's copy, and the result of a solve */
  work->entries += products + (marginal ? 2 * n : 2 * n * op->r) * sizeof(double);
  return GB_OK;
}

static size_t most_of (size_t a, size_t b) { return a > b ? a : b; }

/* Plans take memory at the device's home for steps that the device lacks; numbers lie there where the device has no
** memory of the host. */
static gb_status count_bytes (gb_solver_op *op, gb_error *err) {
  gb_graph *g = op->planned.graph;
  const bool apart = g->device->memory.home != NULL;
  gb_work_bytes making = {0}, work = {0};
  size_t held = 0;
  const size_t outer = gb_plan_swap_home_peak(g, 0);
  const gb_status st = measure(op, &held, &making, &work, err);
  const size_t plans = gb_plan_swap_home_peak(g, outer) * (op->o.run.solve.mixed ? 2 : 1);
  op->planned.home_bytes = plans + (apart ? most_of(making.numbers, work.numbers) : 0);
  if (!apart) making.entries += making.numbers, work.entries += work.numbers;
  op->planned.bytes = held + most_of(making.entries, work.entries);
  return st;
}

static gb_status solver_init (gb_planned_op *planned, const void *ask, gb_error *err) {
  gb_solver_op *op = (gb_solver_op *)planned;
  const request *q = ask;
  op->kind = q->kind;
  op->o = *q->o;
  op->has_noise = q->has_noise;
  op->each = q->each;
  op->has_x0 = q->has_x0;
  op->r = q->r;
  return op->kind == GB_SOLVER_HEAD ? GB_OK : count_bytes(op, err);
}

static const gb_planned_kind kinds[] = {
    [GB_SOLVER_SOLVE] = {.name = "conjugate gradients",
                         .size = sizeof(gb_solver_op),
                         .same = solver_same,
                         .init = solver_init,
                         .run = solver_run,
                         .ran = solver_ran,
                         .grad = gb_solver_grad},
    [GB_SOLVER_MARGINAL] = {.name = "marginal likelihood",
                            .size = sizeof(gb_solver_op),
                            .same = solver_same,
                            .init = solver_init,
                            .run = solver_run,
                            .ran = solver_ran,
                            .grad = gb_solver_grad},
    [GB_SOLVER_HEAD] = {.name = "head of a marginal likelihood",
                        .size = sizeof(gb_solver_op),
                        .same = solver_same,
                        .init = solver_init,
                        .bare = gb_solver_run_head,
                        .grad = gb_solver_grad},
};

/* -- nodes */

/* The node of a requested op, over its boundary and further inputs. */
static gb_status node_of (const request *q, int more, gb_node *const *extra, const gb_shape *s, gb_dtype t,
                          gb_node **out, gb_error *err) {
  gb_planned_op *op;
  GB_TRY(gb_planned_find(&kinds[q->kind], q->nroots, q->root, &q->b, q, &op, err));
  return gb_planned_apply(op, &q->b, more, extra, s, t, out, err);
}

/* 'noise' as an f64 node, counted; NULL for NULL. */
static gb_status as_noise (gb_node *noise, gb_node **out, gb_error *err) {
  *out = NULL;
  if (noise == NULL) return GB_OK;
  if (gb_node_dtype(noise) == GB_F64) *out = gb_node_ref(noise);
  else GB_TRY(gb_node_build(noise->graph, GB_OP_CAST, 1, &noise, NULL, NULL, GB_F64, out, err));
  return GB_OK;
}

static gb_status ask (gb_solver_kind kind, gb_node *a, gb_node *b, gb_node *x0, gb_node *k, gb_node *noise,
                      const gb_solver_options *o, request *q, gb_error *err) {
  gb_solve_options own = o->run.solve;
  own.x0 = x0;
  GB_TRY(gb_cg_check(a, b, &own, err));
  if (gb_precond_low_rank(&o->precond) && (k == NULL || noise == NULL))
    return gb_fail(err, GB_EOPTION, "pivoted Cholesky needs the kernel and the noise of the matrix");
  const gb_shape *s = gb_node_shape(b), *levels = noise != NULL ? gb_node_shape(noise) : NULL;
  if (levels != NULL && !(levels->ndim == 0 || (levels->ndim == 1 && levels->dim[0] == s->dim[0])))
    return gb_fail(err, GB_ESHAPE, "noise: expected one number, or one for each row of the matrix");
  const bool needs = gb_precond_low_rank(&o->precond);
  *q = (request){.kind = kind,
                 .root = {a, needs ? k : NULL},
                 .nroots = needs ? 2 : 1,
                 .has_noise = needs,
                 .each = needs && levels->ndim == 1,
                 .has_x0 = x0 != NULL,
                 .r = s->ndim == 1 ? 1 : s->dim[1],
                 .o = o};
  return gb_boundary_find(q->nroots, q->root, &q->b, err);
}

gb_status gb_solver_solve (gb_node *a, gb_node *b, gb_node *x0, gb_node *k, gb_node *noise,
                           const gb_solver_options *o, gb_node **x, gb_error *err) {
  request q;
  gb_node *sigma;
  GB_TRY(ask(GB_SOLVER_SOLVE, a, b, x0, k, noise, o, &q, err));
  gb_status st = as_noise(q.has_noise ? noise : NULL, &sigma, err);
  if (st == GB_OK)
    st = node_of(&q, 3, (gb_node *const[]){sigma, b, x0}, gb_node_shape(b),
                 o->run.solve.mixed ? GB_F64 : gb_node_dtype(b), x, err);
  gb_node_unref(sigma);
  gb_boundary_clear(&q.b);
  return st;
}

gb_status gb_solver_marginal (gb_node *a, gb_node *b, gb_node *k, gb_node *noise, const gb_solver_options *o,
                              gb_node **head, gb_node **all, gb_error *err) {
  request q;
  gb_node *sigma;
  const gb_shape *s = gb_node_shape(b);
  if (s->ndim != 1 || s->dim[0] == 0)
    return gb_fail(err, GB_ESHAPE, "expected a right-hand side (n), n at least 1");
  if (!o->run.exact && o->run.probes < 2)
    return gb_fail(err, GB_EOPTION, "probes: expected at least 2, got %zu", o->run.probes);
  GB_TRY(ask(GB_SOLVER_MARGINAL, a, b, NULL, k, noise, o, &q, err));
  q.r = gb_marginal_columns(&o->run, s->dim[0]);
  const gb_shape whole = gb_shape_of(1, (size_t[]){gb_marginal_size(s->dim[0], q.r)}),
                 few = gb_shape_of(1, (size_t[]){GB_MARGINAL_HEAD});
  gb_status st = as_noise(q.has_noise ? noise : NULL, &sigma, err);
  *all = NULL;
  if (st == GB_OK) st = node_of(&q, 2, (gb_node *const[]){sigma, b}, &whole, GB_F64, all, err);
  q.kind = GB_SOLVER_HEAD;
  if (st == GB_OK) st = node_of(&q, 3, (gb_node *const[]){sigma, b, *all}, &few, GB_F64, head, err);
  if (st != GB_OK) gb_node_unref(*all), *all = NULL;
  gb_node_unref(sigma);
  gb_boundary_clear(&q.b);
  return st;
}
