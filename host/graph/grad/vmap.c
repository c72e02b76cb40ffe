/* vmap.c - an expression traced on one slice, rebuilt for all slices: values that depend on a slice gain a
** leading axis. */
#include <stdlib.h>

#include "graph/grad/grad.h"
#include "graph/grad/sorted.h"
#include "graph/grad/vmap_rules.h"

typedef struct mapping {
  gb_graph *g;
  gb_error *err;
  size_t size;
  gb_sorted s;
  gb_node **at; /* the batched nodes, counted; NULL = does not vary over slices */
} mapping;

static void mapping_clear (mapping *m) {
  for (size_t p = 0; m->at && p < m->s.count; p++) gb_node_unref(m->at[p]);
  free(m->at);
  gb_sorted_clear(&m->s);
}

static gb_node *mapped_of (const mapping *m, const gb_node *n) { return m->at[gb_sorted_find(&m->s, n)]; }

static gb_node *slice_of (gb_formula *e, gb_node *whole, size_t i) {
  return gb_ex_squeeze(e, gb_ex_slice(e, whole, 0, i, 1, 1), 0);
}

/* Slice by slice. 'in' as in gb_batch. */
static gb_status loop (mapping *m, const gb_batch *b, gb_node **to, gb_error *err) {
  gb_node **each = calloc(m->size + 1, sizeof *each), **in = malloc((size_t)b->n->nin * sizeof *in);
  gb_status st = each && in ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for %zu slices", m->size);
  if (st == GB_OK && m->size == 0)
    st = gb_fail(err, GB_ESHAPE, "vmap: %s has no batched form and there are no slices",
                 gb_ops[b->n->op].name);
  for (size_t i = 0; st == GB_OK && i < m->size; i++) {
    gb_formula e;
    gb_formula_init(&e, m->g, err);
    for (int k = 0; k < b->n->nin; k++) in[k] = b->mapped[k] ? slice_of(&e, b->in[k], i) : b->in[k];
    gb_node *one =
        gb_ex_op(&e, b->n->op, b->n->nin, in, &b->n->attr, gb_node_shape(b->n), gb_node_dtype(b->n));
    st = gb_formula_take(&e, one, &each[i]);
  }
  free(in);
  if (st == GB_OK) {
    gb_formula e;
    gb_formula_init(&e, m->g, err);
    st = gb_formula_take(&e, gb_ex_stack(&e, m->size, each), to);
  }
  for (size_t i = 0; each && i < m->size; i++) gb_node_unref(each[i]);
  free(each);
  return st;
}

static gb_status map_inputs (mapping *m, gb_node *n, gb_node **in, bool *mapped, gb_node **to) {
  bool any = false;
  for (int i = 0; i < n->nin; i++) {
    gb_node *from = mapped_of(m, n->in[i]);
    mapped[i] = from != NULL;
    in[i] = mapped[i] ? from : n->in[i];
    any |= mapped[i];
  }
  if (!any) return GB_OK;
  const gb_batch b = {m->size, n, in, mapped};
  gb_formula e;
  gb_formula_init(&e, m->g, m->err);
  GB_TRY(gb_formula_take(&e, gb_vmap_node(&e, &b), to));
  return *to ? GB_OK : loop(m, &b, to, m->err);
}

static gb_status map_node (mapping *m, gb_node *n, gb_node **to) {
  if (n->nin == 0) return GB_OK;
  gb_node *few[8], **in = n->nin <= 8 ? few : malloc((size_t)n->nin * sizeof *in);
  bool fewer[8], *mapped = n->nin <= 8 ? fewer : malloc((size_t)n->nin * sizeof *mapped);
  const gb_status st = in && mapped ? map_inputs(m, n, in, mapped, to)
                                    : gb_fail(m->err, GB_ENOMEM, "no memory to map %s", gb_ops[n->op].name);
  if (in != few) free(in);
  if (mapped != fewer) free(mapped);
  return st;
}

/* Random nodes of the trace itself have serials above those of the slices. */
static gb_status map_random (mapping *m, size_t n, gb_node *const *slices) {
  uint64_t youngest = 0;
  for (size_t i = 0; i < n; i++)
    if (slices[i]->serial > youngest) youngest = slices[i]->serial;
  for (size_t p = 0; p < m->s.count; p++) {
    gb_node *r = m->s.node[p];
    if (!gb_op_has(r->op, GB_TRAIT_RANDOM) || r->serial < youngest || m->at[p]) continue;
    gb_formula e;
    gb_formula_init(&e, m->g, m->err);
    const int before = gb_graph_build_on(m->g, r->device);
    const gb_status st = gb_formula_take(&e, gb_vmap_random(&e, r, m->size), &m->at[p]);
    gb_graph_build_on(m->g, before);
    if (st != GB_OK) return st;
  }
  return GB_OK;
}

/* Replaces slices[i] by full[i] with its mapped axis in front. */
static gb_status bind (mapping *m, size_t n, gb_node *const *slices, gb_node *const *full, const int *axis) {
  for (size_t i = 0; i < n; i++) {
    const size_t p = gb_sorted_find(&m->s, slices[i]);
    const gb_shape *s = gb_node_shape(full[i]);
    char text[GB_NODE_TEXT];
    if (axis[i] < 0 || axis[i] >= s->ndim)
      return gb_fail(m->err, GB_EINDEX, "vmap: no axis %d: %s", axis[i] + 1, gb_node_text(full[i], text));
    if (s->dim[axis[i]] != m->size)
      return gb_fail(m->err, GB_ESHAPE, "vmap: expected %zu slices along axis %d: %s", m->size, axis[i] + 1,
                     gb_node_text(full[i], text));
    if (p == m->s.count || m->at[p]) continue;
    int axes[GB_MAXDIM] = {axis[i]};
    for (int k = 0; k < s->ndim - 1; k++) axes[k + 1] = k < axis[i] ? k : k + 1;
    GB_TRY(gb_permute(full[i], axes, &m->at[p], m->err));
  }
  return GB_OK;
}

static gb_status answer (mapping *m, gb_node *out, gb_node **mapped) {
  gb_node *whole = mapped_of(m, out);
  gb_formula e;
  gb_formula_init(&e, m->g, m->err);
  return gb_formula_take(&e, whole ? whole : gb_ex_repeat(&e, out, m->size), mapped);
}

gb_status gb_vmap (size_t n, gb_node *const *slices, gb_node *const *full, const int *axis, bool same_random,
                   size_t nouts, gb_node *const *outs, gb_node **mapped, gb_error *err) {
  if (n == 0) return gb_fail(err, GB_EOPTION, "vmap: expected one mapped argument or more");
  mapping m = {.g = slices[0]->graph, .err = err};
  const gb_shape *s = gb_node_shape(full[0]);
  if (axis[0] >= 0 && axis[0] < s->ndim) m.size = s->dim[axis[0]];
  GB_TRY(gb_sorted_below(m.g, nouts, outs, &m.s, err));
  m.at = calloc(m.s.count, sizeof *m.at);
  gb_status st = m.at ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to map %zu nodes", m.s.count);
  if (st == GB_OK) st = bind(&m, n, slices, full, axis);
  if (st == GB_OK && !same_random) st = map_random(&m, n, slices);
  const char *here = m.g->where;
  const int before = m.g->generators_on;
  for (size_t p = 0; st == GB_OK && p < m.s.count; p++) {
    if (m.at[p]) continue;
    m.g->where = m.s.node[p]->where;
    gb_graph_build_on(m.g, m.s.node[p]->device);
    st = map_node(&m, m.s.node[p], &m.at[p]);
  }
  m.g->where = here;
  gb_graph_build_on(m.g, before);
  size_t done = 0;
  for (; st == GB_OK && done < nouts; done += st == GB_OK) st = answer(&m, outs[done], &mapped[done]);
  while (st != GB_OK && done > 0) gb_node_unref(mapped[--done]);
  mapping_clear(&m);
  return st;
}
