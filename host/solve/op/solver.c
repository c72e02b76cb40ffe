/* solver.c - the ops: how one is found or made, what it takes, how it runs. */
#include "solve/op/solver.h"

#include <stdlib.h>
#include <string.h>

#include "graph/call.h"
#include "iterate/boundary.h"
#include "solve/op/op.h"
#include "tensor/host.h"

#define OVERHEAD 16384 /* of the blocks that lie in lent memory: 64 bytes each, and their rounding */

void (*gb_solver_missed)(const char *where, const gb_solver_report *report);
static gb_solver_op *live; /* all ops there are */

/* -- running */

/* The arguments of a run as nodes that lose their values when it is over. */
typedef struct arguments {
  gb_node **leaf; /* of all inputs */
  gb_node *a, *k;
} arguments;

static void take_back (arguments *q, int n) {
  gb_node_unref(q->a);
  gb_node_unref(q->k);
  for (int i = 0; q->leaf != NULL && i < n; i++) {
    if (q->leaf[i] != NULL) gb_tensor_clear(&q->leaf[i]->out[0].tensor);
    gb_node_unref(q->leaf[i]);
  }
  free(q->leaf);
}

static gb_status lend (const gb_solver_op *op, gb_graph *g, int nin, const gb_tensor *in, arguments *q,
                       gb_error *err) {
  gb_node *roots[2] = {op->a, op->k}, *out[2] = {NULL};
  const gb_boundary b = {op->nholes, op->hole};
  *q = (arguments){.leaf = calloc((size_t)nin + 1, sizeof(gb_node *))};
  if (q->leaf == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the arguments of a solver");
  for (int i = 0; i < nin; i++) GB_TRY(gb_node_leaf(g, &in[i], GB_NODE_LENT, "", &q->leaf[i], err));
  GB_TRY(gb_boundary_rebuild(&b, q->leaf, gb_node_dtype(op->a), op->k != NULL ? 2 : 1, roots, out, err));
  q->a = out[0];
  q->k = out[1];
  return GB_OK;
}

/* The noise of a leaf; the numbers of 'each' hold its values (n) where there are several. */
static gb_status read_noise (gb_node *leaf, gb_noise *out, gb_work *each, gb_error *err) {
  const gb_shape *s = gb_node_shape(leaf);
  if (s->ndim == 0) {
    gb_read_doubles(leaf->graph->device, &leaf->out[0].tensor, &out->level, 1);
    return GB_OK;
  }
  GB_TRY(gb_work_new(leaf->graph->device, 0, s->dim[0] * sizeof(double), "noise", each, err));
  out->each = each->at.numbers;
  return gb_node_doubles(leaf, each->at.numbers, err);
}

static gb_status run_solve (gb_solver_op *op, const arguments *q, const gb_cg_options *o,
                            const gb_tensor *out, gb_cg_info *info, gb_error *err) {
  gb_node *x;
  gb_cg_options own = *o;
  own.x0 = op->has_x0 ? q->leaf[gb_solver_input_x0(op)] : NULL;
  GB_TRY(gb_solve_cg(q->a, q->leaf[gb_solver_input_b(op)], &own, &x, info, err));
  const gb_status st = gb_tensor_copy(out, &x->out[0].tensor, err);
  gb_node_unref(x);
  return st;
}

static gb_status run_marginal (gb_solver_op *op, const arguments *q, const gb_logdet_options *o,
                               const gb_tensor *out, gb_logdet_info *info, gb_error *err) {
  gb_cg_matrix m;
  gb_work b;
  gb_device *dev = q->a->graph->device;
  const size_t n = gb_node_shape(q->a)->dim[0];
  GB_TRY(gb_cg_matrix_init(&m, q->a, gb_marginal_columns(o, n), &o->cg, err));
  gb_status st = gb_work_new(dev, n * sizeof(double), 0, "right-hand side", &b, err);
  if (st == GB_OK) st = gb_node_entries(q->leaf[gb_solver_input_b(op)], b.at.entries, err);
  if (st == GB_OK)
    st = gb_marginal_run(&m, gb_panel_of(dev, b.at.entries, n, 1), o, gb_tensor_data(out), info, err);
  gb_work_free(&b);
  gb_cg_matrix_clear(&m);
  return st;
}

static gb_status run_with (gb_solver_op *op, const arguments *q, const gb_tensor *out,
                           gb_solver_report *report, gb_error *err) {
  gb_precond p;
  gb_logdet_options o = op->o.run;
  gb_noise noise = {0};
  gb_work each = {0};
  const gb_precond_spec none = {0},
                        *spec = op->kind == GB_SOLVER_MARGINAL && o.exact ? &none : &op->o.precond;
  gb_status st = op->has_noise ? read_noise(q->leaf[op->nholes], &noise, &each, err) : GB_OK;
  if (st == GB_OK) st = gb_precond_make(&p, spec, q->a, q->k, noise, err);
  gb_work_free(&each);
  if (st != GB_OK) return st;
  gb_cache_drop(q->a->graph, SIZE_MAX);
  o.cg.precond = spec->kind == GB_PRECOND_NONE ? NULL : &p;
  st = op->kind == GB_SOLVER_MARGINAL ? run_marginal(op, q, &o, out, &report->info, err)
                                      : run_solve(op, q, &o.cg, out, &report->info.cg, err);
  gb_precond_clear(&p);
  return st;
}

static void remember (gb_solver_op *op, uint64_t serial, const gb_solver_report *r) {
  for (int i = 0; i < GB_SOLVER_REPORTS; i++)
    if (op->serial[i] == serial) op->serial[i] = UINT64_MAX;
  op->serial[op->reports % GB_SOLVER_REPORTS] = serial;
  op->report[op->reports++ % GB_SOLVER_REPORTS] = *r;
}

/* All that it allocates lies in the scratch. */
static gb_status solver_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                             void *scratch, gb_error *err) {
  gb_solver_op *op = ud;
  gb_ledger outer;
  arguments q;
  const char *where = g->where;
  const int tracing = g->tracing;
  const uint64_t serial = g->calling;
  const char *line = g->calling_where;
  gb_solver_report report = {.o = op->o, .marginal = op->kind == GB_SOLVER_MARGINAL};
  g->tracing = 0;
  gb_ledger_lend(&g->device->ledger, &outer, scratch, op->bytes, op->bytes);
  gb_status st = lend(op, g, o->nin, in, &q, err);
  if (st == GB_OK) st = run_with(op, &q, out, &report, err);
  take_back(&q, o->nin);
  gb_cache_drop(g, SIZE_MAX);
  gb_ledger_return(&g->device->ledger);
  g->tracing = tracing;
  g->where = where;
  if (st == GB_OK) remember(op, serial, &report);
  if (st == GB_OK && op->kind == GB_SOLVER_SOLVE && !report.info.cg.converged && gb_solver_missed != NULL)
    gb_solver_missed(line, &report);
  return st;
}

static size_t solver_scratch (void *ud, const gb_opaque *o) {
  (void)o;
  return ((const gb_solver_op *)ud)->bytes;
}

const gb_solver_report *gb_solver_report_of (const gb_node *x) {
  for (const gb_solver_op *op = live; x->op == GB_OP_CALL && op != NULL; op = op->next) {
    if (op->number != (int)x->attr.i[0]) continue;
    const uint64_t serials[] = {x->serial, x->out[0].made_by};
    for (size_t k = 0; k < 2; k++)
      for (int i = 0; i < GB_SOLVER_REPORTS && serials[k] != 0; i++)
        if (op->serial[i] == serials[k]) return &op->report[i];
  }
  return NULL;
}

/* -- finding and making */

static void solver_release (void *ud) {
  gb_solver_op *op = ud;
  for (gb_solver_op **p = &live; *p != NULL; p = &(*p)->next)
    if (*p == op) {
      *p = op->next;
      break;
    }
  gb_node_unref(op->a);
  gb_node_unref(op->k);
  for (size_t i = 0; i < op->nholes; i++) gb_node_unref(op->hole[i]);
  free(op->hole);
  free(op);
}

static bool same_options (const gb_solver_options *x, const gb_solver_options *y) {
  const gb_cg_options *a = &x->run.cg, *b = &y->run.cg;
  return a->tol == b->tol && a->rest == b->rest && a->max_iter == b->max_iter && a->mixed == b->mixed &&
         x->run.probes == y->run.probes && x->run.seed == y->run.seed && x->run.exact == y->run.exact &&
         x->precond.kind == y->precond.kind && x->precond.rank == y->precond.rank &&
         x->precond.tol == y->precond.tol && x->precond.seed == y->precond.seed;
}

/* What one asks for. */
typedef struct request {
  gb_solver_kind kind;
  gb_node *a, *k;
  bool has_noise, each, has_x0;
  size_t r;
  const gb_solver_options *o;
  gb_boundary b;
} request;

/* Is 'op' what is asked for, over its own placeholders? */
static bool fits (const gb_solver_op *op, const request *q) {
  if (op->graph != q->a->graph || op->kind != q->kind || op->nholes != q->b.n ||
      op->has_noise != q->has_noise || op->each != q->each || op->has_x0 != q->has_x0 || op->r != q->r ||
      (op->k != NULL) != (q->k != NULL) || !same_options(&op->o, q->o))
    return false;
  for (size_t i = 0; i < q->b.n; i++)
    if (gb_node_dtype(op->hole[i]) != gb_node_dtype(q->b.in[i]) ||
        !gb_shape_equal(gb_node_shape(op->hole[i]), gb_node_shape(q->b.in[i])))
      return false;
  gb_node *roots[2] = {q->a, q->k}, *out[2] = {NULL};
  if (gb_boundary_rebuild(&q->b, op->hole, gb_node_dtype(q->a), q->k != NULL ? 2 : 1, roots, out, NULL) !=
      GB_OK)
    return false;
  const bool same = out[0] == op->a && out[1] == op->k;
  gb_node_unref(out[0]);
  gb_node_unref(out[1]);
  return same;
}

/* The bytes of its work: the preconditioner, and the larger of making it and of what follows. */
static gb_status measure (gb_solver_op *op, gb_error *err) {
  gb_cg_matrix m;
  const gb_precond_spec none = {0},
                        *spec = op->kind == GB_SOLVER_MARGINAL && op->o.run.exact ? &none : &op->o.precond;
  size_t held, making;
  GB_TRY(gb_precond_bytes(spec, op->a, op->k, op->each, &held, &making, err));
  const size_t n = gb_node_shape(op->a)->dim[0], r = op->r, columns = n * r * sizeof(double);
  if (op->each) making += n * sizeof(double);
  size_t work = gb_cg_workspace(n, r);
  if (n > 0 && r > 0) {
    gb_cg_options plain = op->o.run.cg;
    plain.mixed = false; /* placeholders have no values to convert */
    GB_TRY(gb_cg_matrix_init(&m, op->a, r, &plain, err));
    size_t most = 0;
    const gb_status st = gb_cg_matrix_most(&m, &most, err);
    gb_cg_matrix_clear(&m);
    if (st != GB_OK) return st;
    work += most * (op->o.run.cg.mixed ? 3 : 1); /* the other type may be twice as wide */
  }
  for (size_t i = 0; op->o.run.cg.mixed && i < op->nholes; i++)
    work += gb_shape_bytes(gb_node_shape(op->hole[i]), GB_F64) + 128;
  if (op->kind == GB_SOLVER_MARGINAL) work += gb_marginal_workspace(&op->o.run, n) + 2 * n * sizeof(double);
  else /* b, x, residual, what is copied, and the result */
    work += 5 * columns + gb_cg_scratch(r) * sizeof(double) + gb_cg_trace_bytes(&op->o.run.cg, r);
  op->bytes = (held + (making > work ? making : work) + OVERHEAD + 63) / 64 * 64;
  return GB_OK;
}

static gb_status make_holes (gb_solver_op *op, const request *q, gb_error *err) {
  op->hole = calloc(q->b.n + 1, sizeof *op->hole);
  if (op->hole == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a solver");
  for (; op->nholes < q->b.n; op->nholes++) {
    const gb_node *in = q->b.in[op->nholes];
    GB_TRY(gb_node_placeholder(op->graph, gb_node_shape(in), gb_node_dtype(in), in->name,
                               &op->hole[op->nholes], err));
  }
  return GB_OK;
}

static gb_status make_op (const request *q, gb_solver_op **out, gb_error *err) {
  gb_node *roots[2] = {q->a, q->k}, *built[2] = {NULL};
  gb_solver_op *op = calloc(1, sizeof *op);
  if (op == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a solver");
  *op = (gb_solver_op){.graph = q->a->graph,
                       .kind = q->kind,
                       .o = *q->o,
                       .has_noise = q->has_noise,
                       .each = q->each,
                       .has_x0 = q->has_x0,
                       .r = q->r,
                       .number = -1};
  for (int i = 0; i < GB_SOLVER_REPORTS; i++) op->serial[i] = UINT64_MAX;
  gb_status st = make_holes(op, q, err);
  if (st == GB_OK)
    st = gb_boundary_rebuild(&q->b, op->hole, gb_node_dtype(q->a), q->k != NULL ? 2 : 1, roots, built, err);
  op->a = built[0];
  op->k = built[1];
  if (st == GB_OK && op->kind != GB_SOLVER_HEAD) st = measure(op, err);
  if (st == GB_OK) {
    op->number =
        gb_call_register(&(gb_call){.name = gb_solver_name(op->kind),
                                    .scratch_bytes = solver_scratch,
                                    .run = op->kind == GB_SOLVER_HEAD ? gb_solver_run_head : solver_run,
                                    .grad = gb_solver_grad,
                                    .release = solver_release,
                                    .keeps = true,
                                    .ud = op});
    if (op->number < 0) st = gb_fail(err, GB_ENOMEM, "no memory for a solver");
  }
  op->next = live;
  live = op;
  if (st != GB_OK) solver_release(op);
  else *out = op;
  return st;
}

/* An op that does it, counted. */
static gb_status find_op (request *q, gb_solver_op **out, gb_error *err) {
  for (gb_solver_op *op = live; op != NULL; op = op->next)
    if (fits(op, q)) {
      gb_call_ref(op->number);
      *out = op;
      return GB_OK;
    }
  return make_op(q, out, err);
}

/* -- nodes */

/* The node of an op over the boundary and further inputs. Releases the op. */
static gb_status apply (gb_solver_op *op, const gb_boundary *b, int more, gb_node *const *extra,
                        const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err) {
  gb_node **in = calloc(b->n + (size_t)more + 1, sizeof *in);
  gb_status st = in != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for a solver");
  int n = 0;
  for (size_t i = 0; in != NULL && i < b->n; i++) in[n++] = b->in[i];
  for (int i = 0; in != NULL && i < more; i++)
    if (extra[i] != NULL) in[n++] = extra[i];
  if (st == GB_OK)
    st = gb_node_build(op->graph, GB_OP_CALL, n, in, &(gb_attr){.i = {op->number}}, s, t, out, err);
  free(in);
  gb_call_unref(op->number);
  return st;
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
  gb_cg_options own = o->run.cg;
  own.x0 = x0;
  GB_TRY(gb_cg_check(a, b, "right-hand side", &own, err));
  if (gb_precond_low_rank(&o->precond) && (k == NULL || noise == NULL))
    return gb_fail(err, GB_EOPTION, "pivoted Cholesky needs the kernel and the noise of the matrix");
  const gb_shape *s = gb_node_shape(b), *levels = noise != NULL ? gb_node_shape(noise) : NULL;
  if (levels != NULL && !(levels->ndim == 0 || (levels->ndim == 1 && levels->dim[0] == s->dim[0])))
    return gb_fail(err, GB_ESHAPE, "noise: expected one number, or one for each row of the matrix");
  const bool needs = gb_precond_low_rank(&o->precond);
  *q = (request){.kind = kind,
                 .a = a,
                 .k = needs ? k : NULL,
                 .has_noise = needs,
                 .each = needs && levels->ndim == 1,
                 .has_x0 = x0 != NULL,
                 .r = s->ndim == 1 ? 1 : s->dim[1],
                 .o = o};
  gb_node *roots[2] = {a, q->k};
  return gb_boundary_find(q->k != NULL ? 2 : 1, roots, &q->b, err);
}

gb_status gb_solver_solve (gb_node *a, gb_node *b, gb_node *x0, gb_node *k, gb_node *noise,
                           const gb_solver_options *o, gb_node **x, gb_error *err) {
  request q;
  gb_solver_op *op;
  gb_node *sigma;
  GB_TRY(ask(GB_SOLVER_SOLVE, a, b, x0, k, noise, o, &q, err));
  gb_status st = as_noise(q.has_noise ? noise : NULL, &sigma, err);
  if (st == GB_OK) st = find_op(&q, &op, err);
  if (st == GB_OK)
    st = apply(op, &q.b, 3, (gb_node *const[]){sigma, b, x0}, gb_node_shape(b),
               o->run.cg.mixed ? GB_F64 : gb_node_dtype(b), x, err);
  gb_node_unref(sigma);
  gb_boundary_clear(&q.b);
  return st;
}

gb_status gb_solver_marginal (gb_node *a, gb_node *b, gb_node *k, gb_node *noise, const gb_solver_options *o,
                              gb_node **head, gb_node **all, gb_error *err) {
  request q;
  gb_solver_op *op;
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
  if (st == GB_OK) st = find_op(&q, &op, err);
  if (st == GB_OK) st = apply(op, &q.b, 2, (gb_node *const[]){sigma, b}, &whole, GB_F64, all, err);
  q.kind = GB_SOLVER_HEAD;
  if (st == GB_OK) st = find_op(&q, &op, err);
  if (st == GB_OK) st = apply(op, &q.b, 3, (gb_node *const[]){sigma, b, *all}, &few, GB_F64, head, err);
  if (st != GB_OK) gb_node_unref(*all), *all = NULL;
  gb_node_unref(sigma);
  gb_boundary_clear(&q.b);
  return st;
}
