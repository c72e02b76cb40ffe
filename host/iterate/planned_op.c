/* planned_op.c - runs in lent memory, and the list of ops by structure. */
#include "iterate/planned_op.h"

#include <stdlib.h>

/* Bytes beside those of a run: what each block in lent memory is rounded up by. */
#define OVERHEAD 16384

/* -- one run */

void gb_planned_begin (gb_planned_run *q, gb_graph *g, void *scratch, size_t extent, size_t limit,
                       size_t home_bytes) {
  q->graph = g;
  q->where = g->where;
  q->tracing = g->tracing;
  g->tracing = 0;
  gb_ledger_lend(&g->device->ledger, &q->outer, scratch, extent, limit);
  q->home_bytes = g->calling_home != NULL ? home_bytes : 0;
  if (q->home_bytes > 0)
    gb_ledger_lend(&g->device->home->ledger, &q->outer_home, g->calling_home, home_bytes, home_bytes);
}

void gb_planned_end (gb_planned_run *q) {
  if (q->home_bytes > 0) gb_ledger_return(&q->graph->device->home->ledger);
  gb_ledger_return(&q->graph->device->ledger);
  q->graph->tracing = q->tracing;
  q->graph->where = q->where;
}

gb_status gb_planned_lend (gb_graph *g, const gb_tensor *in, const char *name, gb_node **leaf,
                           gb_error *err) {
  return gb_node_leaf(g, in, GB_NODE_LENT, name, leaf, err);
}

void gb_planned_take_back (gb_node *leaf) {
  if (leaf != NULL) gb_tensor_clear(&leaf->out[0].tensor);
  gb_node_unref(leaf);
}

/* -- arguments */

static void clear (gb_planned_args *q, int n) {
  for (size_t i = 0; i < GB_PLANNED_ROOTS; i++) gb_node_unref(q->root[i]);
  for (int i = 0; q->leaf != NULL && i < n; i++) gb_planned_take_back(q->leaf[i]);
  free(q->leaf);
}

static gb_status bind (const gb_planned_op *op, int nin, const gb_tensor *in, gb_planned_args *q,
                       gb_error *err) {
  *q = (gb_planned_args){.leaf = calloc((size_t)nin + 1, sizeof(gb_node *))};
  if (q->leaf == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the arguments of %s", op->kind->name);
  for (int i = 0; i < nin; i++) GB_TRY(gb_planned_lend(op->graph, &in[i], "", &q->leaf[i], err));
  return gb_boundary_rebuild(&op->hole, q->leaf, gb_node_dtype(op->root[0]), op->nroots, op->root, q->root,
                             err);
}

static gb_status planned_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                              void *scratch, gb_error *err) {
  gb_planned_op *op = ud;
  const uint64_t serial = g->calling;
  const char *line = g->calling_where;
  gb_planned_run run;
  gb_planned_args q;
  gb_planned_begin(&run, g, scratch, op->bytes, op->bytes, op->home_bytes);
  gb_status st = bind(op, o->nin, in, &q, err);
  if (st == GB_OK) st = op->kind->run(op, &q, out, err);
  clear(&q, o->nin);
  gb_cache_drop(g, SIZE_MAX);
  gb_planned_end(&run);
  if (st != GB_OK) return st;
  for (int i = 0; i < GB_PLANNED_REPORTS; i++)
    if (op->serial[i] == serial) op->serial[i] = UINT64_MAX;
  const size_t slot = op->reports++ % GB_PLANNED_REPORTS;
  op->serial[slot] = serial;
  op->kind->ran(op, slot, line);
  return GB_OK;
}

static size_t planned_scratch (void *ud, const gb_opaque *o) {
  (void)o;
  return ((const gb_planned_op *)ud)->bytes;
}

static size_t planned_home (void *ud, const gb_opaque *o) {
  (void)o;
  return ((const gb_planned_op *)ud)->home_bytes;
}

const gb_planned_op *gb_planned_report (const gb_node *x, size_t *slot) {
  for (const gb_planned_op *op = x->graph->planned; x->op == GB_OP_CALL && op != NULL; op = op->next) {
    if (op->number != (int)x->attr.i[0]) continue;
    const uint64_t serials[] = {x->serial, x->out[0].made_by};
    for (size_t k = 0; k < 2; k++)
      for (*slot = 0; *slot < GB_PLANNED_REPORTS && serials[k] != 0; ++*slot)
        if (op->serial[*slot] == serials[k]) return op;
  }
  return NULL;
}

/* -- finding and making */

static void release (void *ud) {
  gb_planned_op *op = ud;
  for (gb_planned_op **p = &op->graph->planned; *p != NULL; p = &(*p)->next)
    if (*p == op) {
      *p = op->next;
      break;
    }
  for (size_t i = 0; i < op->nroots; i++) gb_node_unref(op->root[i]);
  gb_boundary_clear(&op->hole);
  free(op);
}

/* Does 'op' match: are the requested roots, rebuilt over its placeholders, its own? */
static bool fits (const gb_planned_op *op, const gb_planned_kind *kind, size_t nroots, gb_node *const *roots,
                  const gb_boundary *b, const void *ask) {
  if (op->kind != kind || op->hole.n != b->n || op->nroots != nroots || !kind->same(op, ask)) return false;
  for (size_t i = 0; i < b->n; i++)
    if (gb_node_dtype(op->hole.in[i]) != gb_node_dtype(b->in[i]) ||
        !gb_shape_equal(gb_node_shape(op->hole.in[i]), gb_node_shape(b->in[i])))
      return false;
  gb_node *out[GB_PLANNED_ROOTS] = {NULL};
  if (gb_boundary_rebuild(b, op->hole.in, gb_node_dtype(roots[0]), nroots, roots, out, NULL) != GB_OK)
    return false;
  bool same = true;
  for (size_t i = 0; i < nroots; i++) {
    same &= out[i] == op->root[i];
    gb_node_unref(out[i]);
  }
  return same;
}

static gb_status make_holes (gb_planned_op *op, const gb_boundary *b, gb_error *err) {
  op->hole.in = calloc(b->n + 1, sizeof *op->hole.in);
  if (op->hole.in == NULL) return gb_fail(err, GB_ENOMEM, "no memory for %s", op->kind->name);
  for (; op->hole.n < b->n; op->hole.n++) {
    const gb_node *in = b->in[op->hole.n];
    GB_TRY(gb_node_placeholder(op->graph, gb_node_shape(in), gb_node_dtype(in), in->name,
                               &op->hole.in[op->hole.n], err));
  }
  return GB_OK;
}

static gb_status enter (gb_planned_op *op, gb_error *err) {
  const gb_planned_kind *kind = op->kind;
  op->number = gb_call_register(&(gb_call){.name = kind->name,
                                           .scratch_bytes = planned_scratch,
                                           .home_bytes = planned_home,
                                           .run = kind->bare != NULL ? kind->bare : planned_run,
                                           .grad = kind->grad,
                                           .release = release,
                                           .keeps = true,
                                           .ud = op});
  return op->number >= 0 ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for %s", kind->name);
}

static size_t whole (size_t bytes) { return (bytes + OVERHEAD + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

static gb_status make (const gb_planned_kind *kind, size_t nroots, gb_node *const *roots,
                       const gb_boundary *b, const void *ask, gb_planned_op **out, gb_error *err) {
  gb_planned_op *op = calloc(1, kind->size);
  if (op == NULL) return gb_fail(err, GB_ENOMEM, "no memory for %s", kind->name);
  op->kind = kind;
  op->graph = roots[0]->graph;
  op->nroots = nroots;
  op->number = -1;
  for (int i = 0; i < GB_PLANNED_REPORTS; i++) op->serial[i] = UINT64_MAX;
  gb_status st = make_holes(op, b, err);
  if (st == GB_OK)
    st = gb_boundary_rebuild(b, op->hole.in, gb_node_dtype(roots[0]), nroots, roots, op->root, err);
  if (st == GB_OK) st = kind->init(op, ask, err);
  if (kind->run != NULL) op->bytes = whole(op->bytes);
  if (kind->run != NULL && op->home_bytes > 0) op->home_bytes = whole(op->home_bytes);
  if (st == GB_OK) st = enter(op, err);
  op->next = op->graph->planned;
  op->graph->planned = op;
  if (st != GB_OK) release(op);
  else *out = op;
  return st;
}

gb_status gb_planned_find (const gb_planned_kind *kind, size_t nroots, gb_node *const *roots,
                           const gb_boundary *b, const void *ask, gb_planned_op **out, gb_error *err) {
  for (gb_planned_op *op = roots[0]->graph->planned; op != NULL; op = op->next)
    if (fits(op, kind, nroots, roots, b, ask)) {
      gb_call_ref(op->number);
      *out = op;
      return GB_OK;
    }
  return make(kind, nroots, roots, b, ask, out, err);
}

gb_status gb_planned_apply (gb_planned_op *op, const gb_boundary *b, int more, gb_node *const *extra,
                            const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err) {
  gb_node **in = calloc(b->n + (size_t)more + 1, sizeof *in);
  gb_status st = in != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for %s", op->kind->name);
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
