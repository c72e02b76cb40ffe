/* boundary.c - cutting an expression below its large values, and building it again over others. */
#include "iterate/boundary.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tensor/host.h"

static size_t numel (const gb_node *n) { return gb_shape_numel(gb_node_shape(n)); }

/* A product with few more elements than its operands is computed once and stored: to multiply with its
** factors would cost more. */
static bool is_dear (const gb_node *n) {
  return n->op == GB_OP_MATMUL && numel(n) <= 2 * (numel(n->in[0]) + numel(n->in[1]));
}

static bool is_generated (const gb_node *n) { return gb_ops[n->op].kind == GB_KIND_GEN; }

/* Does this node belong to the boundary of a matrix with 'large' elements? */
static bool begins (const gb_node *n, size_t large) {
  const gb_kind kind = gb_ops[n->op].kind;
  return n->nin == 0 || kind == GB_KIND_OPAQUE || n->op == GB_OP_PICK || numel(n) < large || is_dear(n);
}

/* Splits the graph below the roots: the boundary in b->in, the nodes above it in 'between', inputs first. */
static gb_status walk (size_t nroots, gb_node *const *roots, gb_boundary *b, gb_node ***between,
                       size_t *count, gb_error *err) {
  gb_node **order;
  size_t all, large = SIZE_MAX, inner = 0;
  GB_TRY(gb_graph_order(roots[0]->graph, nroots, roots, GB_WALK_ALL, &order, &all, err));
  bool *reached = calloc(all + 1, sizeof *reached);
  gb_node **in = calloc(all + 1, sizeof *in);
  gb_status st = reached != NULL && in != NULL ? GB_OK
                                               : gb_fail(err, GB_ENOMEM, "no memory to walk %zu nodes", all);
  for (size_t i = 0; i < nroots; i++)
    if (numel(roots[i]) < large) large = numel(roots[i]);
  for (size_t i = 0; st == GB_OK && i < nroots; i++) reached[roots[i]->index] = true;
  *b = (gb_boundary){.in = in};
  for (size_t i = all; st == GB_OK && i-- > 0;) /* users first */
    for (int k = 0; reached[i] && !begins(order[i], large) && k < order[i]->nin; k++)
      reached[order[i]->in[k]->index] = true;
  for (size_t i = 0; st == GB_OK && i < all; i++) {
    if (!reached[i]) continue;
    if (begins(order[i], large) && !(is_generated(order[i]) && order[i]->ndropped == 0))
      in[b->n++] = gb_node_ref(order[i]);
    else order[inner++] = order[i];
  }
  free(reached);
  *between = order;
  *count = inner;
  if (st == GB_OK) return GB_OK;
  free(order);
  free(in);
  *b = (gb_boundary){0};
  return st;
}

void gb_boundary_clear (gb_boundary *b) {
  for (size_t i = 0; i < b->n; i++) gb_node_unref(b->in[i]);
  free(b->in);
  *b = (gb_boundary){0};
}

static int by_age (const void *a, const void *b) {
  const uint64_t x = (*(gb_node *const *)a)->serial, y = (*(gb_node *const *)b)->serial;
  return (x > y) - (x < y);
}

gb_status gb_boundary_find (size_t nroots, gb_node *const *roots, gb_boundary *b, gb_error *err) {
  gb_node **between;
  size_t count;
  GB_TRY(walk(nroots, roots, b, &between, &count, err));
  free(between);
  qsort(b->in, b->n, sizeof *b->in, by_age);
  return GB_OK;
}

/* -- building again */

typedef struct building {
  const gb_boundary *b;
  gb_node *const *to;
  gb_dtype from, dtype;
  gb_node **between, **now; /* now: counted */
  size_t count;
} building;

static gb_node *replaced (const building *w, const gb_node *n) {
  for (size_t i = 0; i < w->b->n; i++)
    if (w->b->in[i] == n) return w->to[i];
  for (size_t i = 0; i < w->count; i++)
    if (w->between[i] == n) return w->now[i];
  return NULL;
}

static gb_status rebuild (building *w, size_t at, gb_error *err) {
  gb_node *n = w->between[at], *few[8], **in = n->nin <= 8 ? few : malloc((size_t)n->nin * sizeof *in);
  if (in == NULL) return gb_fail(err, GB_ENOMEM, "no memory to rebuild %s", gb_ops[n->op].name);
  const gb_dtype t = gb_node_dtype(n) == w->from ? w->dtype : gb_node_dtype(n);
  const char *here = n->graph->where;
  bool known = true;
  for (int i = 0; i < n->nin; i++) known &= (in[i] = replaced(w, n->in[i])) != NULL;
  n->graph->where = n->where;
  const gb_status st = !known ? gb_fail(err, GB_EINTERNAL, "%s lies beyond the boundary", gb_ops[n->op].name)
                       : n->op == GB_OP_CONST ? gb_node_const_as(n, t, &w->now[at], err)
                                              : gb_node_build(n->graph, n->op, n->nin, in, &n->attr,
                                                              gb_node_shape(n), t, &w->now[at], err);
  n->graph->where = here;
  if (in != few) free(in);
  return st;
}

gb_status gb_boundary_rebuild (const gb_boundary *b, gb_node *const *to, gb_dtype dtype, size_t nroots,
                               gb_node *const *roots, gb_node **out, gb_error *err) {
  gb_boundary same;
  building w = {.b = b, .to = to, .from = gb_node_dtype(roots[0]), .dtype = dtype};
  GB_TRY(walk(nroots, roots, &same, &w.between, &w.count, err));
  gb_boundary_clear(&same);
  w.now = calloc(w.count + 1, sizeof *w.now);
  gb_status st = w.now != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to rebuild %zu nodes", w.count);
  for (size_t i = 0; st == GB_OK && i < w.count; i++) st = rebuild(&w, i, err);
  for (size_t i = 0; st == GB_OK && i < nroots; i++) out[i] = gb_node_ref(replaced(&w, roots[i]));
  for (size_t i = 0; w.now != NULL && i < w.count; i++) gb_node_unref(w.now[i]);
  free(w.now);
  free(w.between);
  return st;
}

bool gb_is_streamed (gb_node *a) {
  gb_boundary b;
  size_t values = 0;
  if (gb_boundary_find(1, &a, &b, NULL) != GB_OK) return false;
  for (size_t i = 0; i < b.n; i++) values += numel(b.in[i]);
  gb_boundary_clear(&b);
  return values < numel(a) / 2;
}

/* -- in another type */

static gb_status converted (gb_node *n, gb_dtype from, gb_dtype to, gb_node **out, gb_error *err) {
  if (gb_node_dtype(n) != from) {
    *out = gb_node_ref(n);
    return GB_OK;
  }
  gb_tensor t;
  GB_TRY(gb_tensor_new(&n->graph->device->ledger, to, gb_node_shape(n), GB_MEM_WORKSPACE, "",
                       "boundary in f32", &t, err));
  gb_status st = gb_tensor_copy(&t, &n->out[0].tensor, err);
  if (st == GB_OK) st = gb_node_leaf(n->graph, &t, 0, n->name, out, err);
  gb_tensor_clear(&t);
  return st;
}

gb_status gb_retype (gb_node *a, gb_dtype t, gb_node **out, gb_error *err) {
  gb_boundary b;
  *out = NULL;
  GB_TRY(gb_boundary_find(1, &a, &b, err));
  gb_node **to = calloc(b.n + 1, sizeof *to);
  gb_status st = to != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for %zu values", b.n);
  if (st == GB_OK && b.n > 0) st = gb_eval(a->graph, b.n, b.in, err);
  for (size_t i = 0; st == GB_OK && i < b.n; i++) st = converted(b.in[i], gb_node_dtype(a), t, &to[i], err);
  if (st == GB_OK) st = gb_boundary_rebuild(&b, to, t, 1, &a, out, err);
  for (size_t i = 0; to != NULL && i < b.n; i++) gb_node_unref(to[i]);
  free(to);
  gb_boundary_clear(&b);
  return st;
}
