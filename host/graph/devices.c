/* devices.c - the devices of a graph, and values that go from one to another.
**
** Each edge of a graph joins nodes of one device, but for the input of a MOVE. So everything that is built
** across devices ends here. */
#include <stdlib.h>

#include "graph/build.h"
#include "graph/call.h"

gb_status gb_graph_add_device (gb_graph *g, gb_device *dev, int *number, gb_error *err) {
  *number = 0;
  if (dev == g->device) return GB_OK;
  for (int i = 0; i < g->nmore; i++)
    if (g->more[i] == dev) *number = i + 1;
  if (*number != 0) return GB_OK;
  if (g->nmore == GB_GRAPH_DEVICES - 1)
    return gb_fail(err, GB_EOPTION, "values can lie on %d devices, and '%s' is one more", GB_GRAPH_DEVICES,
                   dev->name);
  g->more[g->nmore++] = dev;
  *number = g->nmore;
  return GB_OK;
}

static int swapped (int number, int with) { return number == 0 ? with : number == with ? 0 : number; }

static void renumber (gb_node *n, int with) {
  n->device = swapped(n->device, with);
  if (n->op == GB_OP_MOVE) n->attr.i[0] = swapped((int)n->attr.i[0], with);
}

gb_status gb_graph_change_device (gb_graph *g, gb_device *dev, gb_error *err) {
  gb_device *before = g->device;
  int number;
  size_t bytes = 0;
  GB_TRY(gb_graph_add_device(g, dev, &number, err));
  if (number == 0) return GB_OK;
  for (size_t i = 0; i < g->nbuckets; i++)
    for (const gb_node *n = g->bucket[i]; n != NULL; n = n->chain) bytes += gb_node_bytes(n);
  GB_TRY(gb_ledger_book(&dev->ledger, bytes, "the nodes of the graph", err));
  gb_ledger_unbook(&before->ledger, bytes);
  for (size_t i = 0; i < g->nbuckets; i++)
    for (gb_node *n = g->bucket[i]; n != NULL; n = n->chain) renumber(n, number);
  g->device = dev;
  g->more[number - 1] = before;
  g->generators_on = 0;
  g->changes++;
  return GB_OK;
}

bool gb_on_one_device (int nin, gb_node *const *in) {
  for (int i = 1; i < nin; i++)
    if (in[i]->device != in[0]->device) return false;
  return true;
}

gb_status gb_node_at_home (const gb_node *n, const char *who, gb_error *err) {
  const char *home = n->graph->device->name;
  char text[GB_NODE_TEXT];
  if (n->device == 0) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "%s: this runs on %s, and %s lies on %s: move it first, x:to '%s'", who,
                 home, gb_node_text(n, text), gb_node_device(n)->name, home);
}

/* what follows its readers */

enum { DEEPEST = 8 };

static bool is_number (const gb_node *n) {
  return n->op == GB_OP_CONST || n->op == GB_OP_RANGE || n->op == GB_OP_EYE;
}

/* Made of numbers, ranges, identities and values without axes: no tensor that a script placed. */
static bool follows_to (const gb_node *n, int depth) {
  const gb_kind kind = gb_ops[n->op].kind;
  if (gb_node_shape(n)->ndim == 0) return true;
  if ((n->flags & GB_NODE_HELD) != 0 || n->ndropped > 0) return false;
  if (n->nin == 0) return is_number(n);
  if (depth == 0 || (kind != GB_KIND_MAP && kind != GB_KIND_VIEW)) return false;
  for (int i = 0; i < n->nin; i++)
    if (!follows_to(n->in[i], depth - 1)) return false;
  return true;
}

bool gb_follows (const gb_node *n) { return follows_to(n, DEEPEST); }

/* Its bits are the same on every device. */
static bool is_arithmetic (gb_op op) {
  return op == GB_OP_ADD || op == GB_OP_SUB || op == GB_OP_MUL || op == GB_OP_DIV || op == GB_OP_NEG;
}

/* Numbers, views and sums and products of them have the same bits on every device: they are built again where they
** are read, with nothing to copy but values without axes, so that an identity times a variance is streamed there.
** Random values are copied: their logarithms are the device's. */
static bool is_rebuilt (const gb_node *n) {
  if ((n->flags & GB_NODE_HELD) != 0 || n->ndropped > 0) return false;
  if (n->nin == 0) return is_number(n);
  if (gb_ops[n->op].kind == GB_KIND_VIEW) return n->nin == 1 && gb_follows(n);
  return is_arithmetic(n->op) && gb_node_shape(n)->ndim > 0 && gb_follows(n);
}

static gb_status rebuild (gb_node *a, int device, gb_node **out, gb_error *err) {
  gb_graph *g = a->graph;
  gb_node *in[2] = {NULL, NULL};
  gb_status st = GB_OK;
  for (int i = 0; st == GB_OK && i < a->nin; i++) st = gb_move(a->in[i], device, &in[i], err);
  const int before = gb_graph_build_on(g, device);
  if (st == GB_OK)
    st = gb_node_build(g, a->op, a->nin, in, &a->attr, gb_node_shape(a), gb_node_dtype(a), out, err);
  gb_graph_build_on(g, before);
  for (int i = 0; i < 2; i++) gb_node_unref(in[i]);
  return st;
}

gb_status gb_move (gb_node *a, int device, gb_node **out, gb_error *err) {
  while (a->op == GB_OP_MOVE && a->nin == 1 && a->device != device) a = a->in[0];
  if (a->device == device) {
    *out = gb_node_ref(a);
    return GB_OK;
  }
  if (is_rebuilt(a)) return rebuild(a, device, out, err);
  return gb_node_build(a->graph, GB_OP_MOVE, 1, &a, &(gb_attr){.i = {device}}, NULL, GB_F64, out, err);
}

/* inputs of several devices */

static gb_status refuse (const char *who, const gb_node *a, const gb_node *b, gb_error *err) {
  char first[GB_NODE_TEXT], second[GB_NODE_TEXT];
  const char *where = gb_node_device(a)->name;
  return gb_fail(err, GB_EDEVICE, "%s: %s lies on %s, %s on %s: move one of them first, y:to '%s'", who,
                 gb_node_text(a, first), where, gb_node_text(b, second), gb_node_device(b)->name, where);
}

/* Registered ops get tensors of the graph's own device. */
static gb_status check_call (const gb_attr *attr, int nin, gb_node *const *in, gb_error *err) {
  const gb_call *c = gb_call_get((int)attr->i[0]);
  for (int i = 0; i < nin; i++)
    if (!gb_follows(in[i])) GB_TRY(gb_node_at_home(in[i], c == NULL ? "a registered op" : c->name, err));
  return GB_OK;
}

gb_status gb_find_device (const char *who, int nin, gb_node *const *in, int *device, gb_error *err) {
  const gb_node *fixed = NULL;
  *device = 0;
  for (int i = 0; i < nin; i++) {
    if (*device == 0) *device = in[i]->device;
    if (gb_follows(in[i])) continue;
    if (fixed != NULL && in[i]->device != fixed->device) return refuse(who, fixed, in[i], err);
    if (fixed == NULL) fixed = in[i];
  }
  if (fixed != NULL) *device = fixed->device;
  return GB_OK;
}

gb_status gb_build_across (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                           const gb_shape *shape, gb_dtype dtype, gb_node **out, gb_error *err) {
  int device = 0, n = 0;
  if (op == GB_OP_CALL) GB_TRY(check_call(attr, nin, in, err));
  else GB_TRY(gb_find_device(gb_ops[op].name, nin, in, &device, err));
  gb_node **moved = malloc((size_t)nin * sizeof *moved);
  gb_status st = moved != NULL ? GB_OK
                               : gb_fail(err, GB_ENOMEM, "no memory for the inputs of %s", gb_ops[op].name);
  for (; st == GB_OK && n < nin; n++) {
    st = gb_move(in[n], device, &moved[n], err);
    if (st != GB_OK) break;
  }
  if (st == GB_OK) st = gb_node_build(g, op, nin, moved, attr, shape, dtype, out, err);
  while (n > 0) gb_node_unref(moved[--n]);
  free(moved);
  return st;
}
