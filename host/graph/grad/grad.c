/* grad.c - reverse mode: cotangents flow from younger nodes to older ones, one rule a node. A cotangent lies on
** the device of its node, also where it is made of numbers alone.
**
** Nodes are visited in descending order of serial: inputs are older than users. An interior node may be among
** the xs, but only a node that the canonicaliser kept is below y. */
#include <stdlib.h>

#include "graph/grad/rules.h"
#include "graph/grad/sorted.h"

typedef struct tape {
  gb_graph *g;
  gb_error *err;
  gb_sorted below;                 /* y and all nodes below it */
  bool *wanted;                    /* is one of the xs */
  bool *matters;                   /* depends on one of the xs through differentiable ops */
  gb_node *(*bar)[GB_MAX_OUTPUTS]; /* counted; NULL = zero */
} tape;

static size_t place (const tape *t, const gb_node *n) { return gb_sorted_find(&t->below, n); }

static gb_grad_rule *rule_of (gb_op op) {
  static gb_grad_rule *const rules[GB_NOPS] = {
#define X(id, name, nin, kind, shape, grad, ...) gb_grad_##grad,
#include "program/ops.def"
#undef X
  };
  return rules[op];
}

/* No cotangent passes. */
static bool flat (gb_op op) { return rule_of(op) == gb_grad_none; }

static void tape_clear (tape *t) {
  for (size_t i = 0; t->bar && i < t->below.count; i++)
    for (int o = 0; o < GB_MAX_OUTPUTS; o++) gb_node_unref(t->bar[i][o]);
  gb_sorted_clear(&t->below);
  free(t->wanted);
  free(t->matters);
  free(t->bar);
}

/* The matrix whose factor n reads, if its cotangent may go there directly because the factor is not among the
** xs. */
static gb_node *factored (const tape *t, const gb_node *n) {
  if (!gb_op_has(n->op, GB_TRAIT_FACTOR) || n->nin == 0) return NULL;
  const gb_node *l = n->in[0];
  if (l->op != GB_OP_CHOLESKY || l->nin == 0 || t->wanted[place(t, l)]) return NULL;
  return l->in[0];
}

/* The node that receives the cotangent of input i. */
static gb_node *receiver (const tape *t, const gb_node *n, int i) {
  gb_node *matrix = i == 0 ? factored(t, n) : NULL;
  return matrix ? matrix : n->in[i];
}

static gb_status tape_new (tape *t, gb_node *y, size_t n, gb_node *const *xs, gb_error *err) {
  *t = (tape){.g = y->graph, .err = err};
  GB_TRY(gb_sorted_below(t->g, 1, &y, &t->below, err));
  t->wanted = calloc(t->below.count, sizeof *t->wanted);
  t->matters = calloc(t->below.count, sizeof *t->matters);
  t->bar = calloc(t->below.count, sizeof *t->bar);
  if (!t->wanted || !t->matters || !t->bar)
    return gb_fail(err, GB_ENOMEM, "no memory for a gradient through %zu nodes", t->below.count);
  for (size_t i = 0; i < n; i++) {
    const size_t at = place(t, xs[i]);
    if (at < t->below.count) t->wanted[at] = true;
  }
  for (size_t i = 0; i < t->below.count; i++) {
    const gb_node *v = t->below.node[i];
    t->matters[i] = t->wanted[i];
    for (int k = 0; k < v->nin && !t->matters[i] && !flat(v->op); k++)
      t->matters[i] = t->matters[place(t, receiver(t, v, k))];
  }
  return GB_OK;
}

/* Takes over the count of 'bar'. */
static gb_status accumulate (tape *t, gb_node *to, int output, gb_node *bar) {
  gb_node **slot = &t->bar[place(t, to)][output], *both;
  if (!*slot) {
    *slot = bar;
    return GB_OK;
  }
  const gb_status st = gb_map2(GB_OP_ADD, *slot, bar, &both, t->err);
  gb_node_unref(bar);
  if (st != GB_OK) return st;
  gb_node_unref(*slot);
  *slot = both;
  return GB_OK;
}

static gb_status push (tape *t, gb_node *n, gb_node *const *out_bar) {
  if (n->op == GB_OP_PICK) return accumulate(t, n->in[0], (int)n->attr.i[0], gb_node_ref(out_bar[0]));
  bool few[8], *need = n->nin <= 8 ? few : malloc((size_t)n->nin * sizeof *need);
  gb_node *fewer[8] = {0}, **in_bar = n->nin <= 8 ? fewer : calloc((size_t)n->nin, sizeof *in_bar);
  gb_status st = GB_OK;
  if (!need || !in_bar)
    st = gb_fail(t->err, GB_ENOMEM, "no memory for the gradient of %s", gb_ops[n->op].name);
  for (int i = 0; st == GB_OK && i < n->nin; i++) need[i] = t->matters[place(t, receiver(t, n, i))];
  const int before = gb_graph_build_on(t->g, n->device);
  if (st == GB_OK)
    st = (factored(t, n) ? gb_grad_through_factor : rule_of(n->op))(n, out_bar, need, in_bar, t->err);
  gb_graph_build_on(t->g, before);
  for (int i = 0; st == GB_OK && i < n->nin; i++) {
    if (!in_bar[i]) continue;
    gb_node *bar = in_bar[i];
    in_bar[i] = NULL;
    if (need[i]) st = accumulate(t, receiver(t, n, i), 0, bar);
    else gb_node_unref(bar);
  }
  for (int i = 0; in_bar && i < n->nin; i++) gb_node_unref(in_bar[i]);
  if (need != few) free(need);
  if (in_bar != fewer) free(in_bar);
  return st;
}

static gb_status sweep (tape *t) {
  for (size_t i = t->below.count; i-- > 0;) {
    gb_node *n = t->below.node[i];
    bool reached = false, below = false;
    for (int o = 0; o < GB_MAX_OUTPUTS; o++) reached |= t->bar[i][o] != NULL;
    for (int k = 0; k < n->nin && reached && !flat(n->op); k++)
      below |= t->matters[place(t, receiver(t, n, k))];
    if (below) GB_TRY(push(t, n, t->bar[i]));
    for (int o = 0; o < GB_MAX_OUTPUTS && !t->wanted[i]; o++) {
      gb_node_unref(t->bar[i][o]);
      t->bar[i][o] = NULL;
    }
  }
  return GB_OK;
}

/* v everywhere, of x's shape and dtype and on its device. */
static gb_status fill (gb_node *x, double v, gb_node **out, gb_error *err) {
  const int before = gb_graph_build_on(x->graph, x->device);
  gb_formula e;
  gb_formula_init(&e, x->graph, err);
  const gb_status st = gb_formula_take(&e, gb_ex_fill(&e, v, x), out);
  gb_graph_build_on(x->graph, before);
  return st;
}

static gb_status answer (tape *t, gb_node *x, bool unused_zero, gb_node **out) {
  const size_t at = place(t, x);
  if (at < t->below.count && t->bar[at][0]) {
    *out = gb_node_ref(t->bar[at][0]);
    return GB_OK;
  }
  char text[GB_NODE_TEXT];
  if (!unused_zero)
    return gb_fail(t->err, GB_EOPTION,
                   "grad: the result does not depend on the tensor %s; unused = \"zero\" gives zeros for it",
                   gb_node_text(x, text));
  return fill(x, 0, out, t->err);
}

static gb_status seed (gb_node *y, gb_node *cotangent, gb_node **out, gb_error *err) {
  const gb_shape *s = gb_node_shape(y);
  char text[GB_NODE_TEXT], other[GB_NODE_TEXT];
  if (!gb_dtype_is_float(gb_node_dtype(y)))
    return gb_fail(err, GB_EDTYPE, "grad: expected a float result, got %s", gb_dtype_name(gb_node_dtype(y)));
  if (!cotangent) {
    if (gb_shape_numel(s) != 1)
      return gb_fail(err, GB_ESHAPE, "grad: expected a result of one element or a cotangent: %s",
                     gb_node_text(y, text));
    return fill(y, 1, out, err);
  }
  if (!gb_shape_equal(gb_node_shape(cotangent), s))
    return gb_fail(err, GB_ESHAPE, "grad: expected a cotangent of the result's shape: %s, %s",
                   gb_node_text(y, text), gb_node_text(cotangent, other));
  if (gb_node_dtype(cotangent) != gb_node_dtype(y))
    return gb_fail(err, GB_EDTYPE, "grad: expected a cotangent of %s, got %s",
                   gb_dtype_name(gb_node_dtype(y)), gb_dtype_name(gb_node_dtype(cotangent)));
  if (cotangent->device != y->device && !gb_follows(cotangent))
    return gb_fail(err, GB_EDEVICE,
                   "grad: the result lies on %s, and the cotangent on %s: move it, c:to '%s'",
                   gb_node_device(y)->name, gb_node_device(cotangent)->name, gb_node_device(y)->name);
  return gb_move(cotangent, y->device, out, err);
}

gb_status gb_grad (gb_node *y, gb_node *cotangent, size_t n, gb_node *const *xs, bool unused_zero,
                   gb_node **out, gb_error *err) {
  gb_node *y_bar;
  tape t = {0};
  GB_TRY(seed(y, cotangent, &y_bar, err));
  gb_status st = tape_new(&t, y, n, xs, err);
  if (st == GB_OK) st = accumulate(&t, y, 0, y_bar);
  else gb_node_unref(y_bar);
  if (st == GB_OK) st = sweep(&t);
  size_t done = 0;
  for (; st == GB_OK && done < n; done += st == GB_OK) st = answer(&t, xs[done], unused_zero, &out[done]);
  while (st != GB_OK && done > 0) gb_node_unref(out[--done]);
  tape_clear(&t);
  return st;
}
