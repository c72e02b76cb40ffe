/* node.c - nodes, the cons table that makes equal expressions one node, and iterative release.
**
** The table holds no counts: a node leaves it when its last count goes. A key is op, attributes, shape, dtype
** and the serials of the inputs; serials are never reused, so a key can only be met again while its inputs
** live. A node without its history is never returned by a look-up: an expression must not depend on which
** values exist. It is built again, with its inputs, and takes over the value. Leaves are keyed by the view of
** their storage, which they hold a count on. Parameters, gradient leaves, placeholders, traced slices, lent
** and held values are in the table under keys that no look-up uses. */
#include "graph/node.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/plain.h"
#include "graph/call.h"
#include "graph/intern.h"
#include "graph/simplify.h"

#define UNMERGED                                                                                             \
  (GB_NODE_PARAM | GB_NODE_GRAD | GB_NODE_PLACEHOLDER | GB_NODE_TRACED | GB_NODE_LENT | GB_NODE_HELD |       \
   GB_NODE_PROMISE | GB_NODE_MEASURED)

_Static_assert(sizeof(gb_node *) == sizeof(uint64_t), "a dropped input's serial is kept in its slot");

gb_status gb_graph_new (gb_device *dev, gb_graph **out, gb_error *err) {
  gb_graph *g = malloc(sizeof *g);
  if (g == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a graph");
  *g = (gb_graph){.device = dev, .nbuckets = 1024, .next_serial = 1, .where = ""};
  g->bucket = calloc(g->nbuckets, sizeof *g->bucket);
  g->interned = gb_interned_new();
  if (g->bucket == NULL || g->interned == NULL) {
    gb_graph_free(g);
    return gb_fail(err, GB_ENOMEM, "no memory for a graph");
  }
  *out = g;
  return GB_OK;
}

void gb_graph_free (gb_graph *g) {
  if (g == NULL) return;
  if (g->free_plans != NULL) g->free_plans(g->plans);
  assert(g->nnodes == 0);
  gb_interned_free(g->interned);
  free(g->bucket);
  free(g);
}

const char *gb_graph_intern (gb_graph *g, const char *text) { return gb_interned_get(g->interned, text); }

void gb_node_set_name (gb_node *n, const char *name) {
  if (*n->name == '\0') n->name = gb_graph_intern(n->graph, name);
}

char *gb_node_text (const gb_node *n, char buf[GB_NODE_TEXT]) {
  const gb_graph *g = n->graph;
  char shape[GB_SHAPE_TEXT];
  if (n->op == GB_OP_CONST &&
      *n->name == '\0') { /* a number is one node for all script lines, so it has no line */
    if (gb_dtype_is_whole(gb_node_dtype(n))) snprintf(buf, GB_NODE_TEXT, "the number %" PRId64, n->attr.i[0]);
    else snprintf(buf, GB_NODE_TEXT, "the number %.17g", gb_plain(n->attr.f[0]));
    return buf;
  }
  char called[48] = "";
  if (g->called != NULL && !g->called(g->called_ud, n, called, sizeof called)) called[0] = '\0';
  const bool both = *called != '\0' && *n->where != '\0', any = *called != '\0' || *n->where != '\0';
  snprintf(buf, GB_NODE_TEXT, "%.60s%s%s%s%s%s%.80s%s", n->name, *n->name ? " " : "",
           gb_shape_text(gb_node_shape(n), shape), any ? " (" : "", called, both ? ", " : "", n->where,
           any ? ")" : "");
  return buf;
}

/* -- the cons table */

static void table_grow (gb_graph *g) {
  const size_t n = 2 * g->nbuckets;
  gb_node **bucket = calloc(n, sizeof *bucket);
  if (bucket == NULL) return; /* longer chains are slower but correct */
  for (size_t i = 0; i < g->nbuckets; i++)
    for (gb_node *c = g->bucket[i], *next; c != NULL; c = next) {
      next = c->chain;
      c->chain = bucket[c->hash & (n - 1)];
      bucket[c->hash & (n - 1)] = c;
    }
  free(g->bucket);
  g->bucket = bucket;
  g->nbuckets = n;
}

static void table_insert (gb_graph *g, gb_node *n) {
  if (g->nnodes >= g->nbuckets) table_grow(g);
  gb_node **b = &g->bucket[n->hash & (g->nbuckets - 1)];
  n->chain = *b;
  *b = n;
  g->nnodes++;
}

static void table_remove (gb_graph *g, gb_node *n) {
  gb_node **p = &g->bucket[n->hash & (g->nbuckets - 1)];
  while (*p != n) p = &(*p)->chain;
  *p = n->chain;
  g->nnodes--;
}

static uint64_t hash_key (gb_op op, int nin, gb_node *const *in, const gb_attr *attr, const gb_value *v) {
  uint64_t h = gb_hash_bytes((uint64_t)op, attr, sizeof *attr);
  h = gb_hash_u64(h, (uint64_t)v->dtype);
  h = gb_hash_u64(h, (uint64_t)v->shape.ndim);
  for (int i = 0; i < v->shape.ndim; i++) h = gb_hash_u64(h, v->shape.dim[i]);
  for (int i = 0; i < nin; i++) h = gb_hash_u64(h, in[i]->serial);
  return h;
}

/* Of nodes without inputs the device is part of what they are; all others have that of their inputs. */
static uint64_t hash_place (uint64_t h, const gb_graph *g, int nin) {
  return nin > 0 || g->generators_on == 0 ? h : gb_hash_u64(h, (uint64_t)g->generators_on);
}

static int device_of (const gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr) {
  if (op == GB_OP_MOVE) return (int)attr->i[0];
  return nin > 0 ? in[0]->device : g->generators_on;
}

static uint64_t input_serial (const gb_node *n, int i) {
  if (n->ndropped == 0) return n->in[i]->serial;
  uint64_t serial;
  memcpy(&serial, &n->in[i], sizeof serial);
  return serial;
}

static bool same_key (const gb_node *n, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                      const gb_value *v) {
  if ((n->flags & UNMERGED) != 0) return false;
  if (n->op != op || n->nin + n->ndropped != nin || n->out->dtype != v->dtype) return false;
  if (nin == 0 && n->device != n->graph->generators_on) return false;
  if (memcmp(&n->attr, attr, sizeof *attr) != 0 || !gb_shape_equal(&n->out->shape, &v->shape)) return false;
  for (int i = 0; i < nin; i++)
    if (input_serial(n, i) != in[i]->serial) return false;
  return true;
}

static bool has_ended (const gb_node *n) { return n->ndropped > 0 || (n->flags & GB_NODE_ENDED) != 0; }

/* If NULL is returned, '*ended' is an equal node whose history has ended, or NULL. */
static gb_node *table_find (gb_graph *g, uint64_t hash, gb_op op, int nin, gb_node *const *in,
                            const gb_attr *attr, const gb_value *v, gb_node **ended) {
  *ended = NULL;
  for (gb_node *n = g->bucket[hash & (g->nbuckets - 1)]; n != NULL; n = n->chain) {
    if (n->hash != hash || n->serial < g->measured_from || !same_key(n, op, nin, in, attr, v)) continue;
    if (!has_ended(n)) return n;
    *ended = n;
  }
  return NULL;
}

/* Leaves and numbers are not results. */
static bool is_result (const gb_node *n) {
  return n->op != GB_OP_LEAF && n->op != GB_OP_CONST && gb_node_has_value(n);
}

void gb_graph_end_measured (gb_graph *g, uint64_t from) {
  for (size_t i = 0; i < g->nbuckets; i++)
    for (gb_node *n = g->bucket[i]; n != NULL; n = n->chain)
      if (n->serial >= from && is_result(n)) n->flags |= GB_NODE_MEASURED;
}

/* -- making and releasing */

static size_t node_size (int nin, int nout) {
  return sizeof(gb_node) + (size_t)nout * sizeof(gb_value) + (size_t)nin * sizeof(gb_node *);
}

/* A node with one count, not yet in the table and without its inputs. Errors: ENOMEM. */
static gb_status node_alloc (gb_graph *g, gb_op op, int nin, int nout, gb_node **out, gb_error *err) {
  GB_TRY(gb_ledger_book(&g->device->ledger, node_size(nin, nout), "a node of the graph", err));
  gb_node *n = *out = calloc(1, node_size(nin, nout));
  if (n == NULL) {
    gb_ledger_unbook(&g->device->ledger, node_size(nin, nout));
    return gb_fail(err, GB_ENOMEM, "no memory for a node of the graph (%zu nodes)", g->nnodes);
  }
  n->refs = 1;
  n->op = op;
  n->nin = nin;
  n->nout = nout;
  n->graph = g;
  n->serial = g->next_serial++;
  n->where = g->where;
  n->name = "";
  n->out = (gb_value *)(n + 1);
  n->in = (gb_node **)(n->out + nout);
  return GB_OK;
}

/* Inputs that n holds a count of. A promise that was kept holds its expression in the slot of a first
** input, though nin is 0. */
static int counted_inputs (const gb_node *n) {
  return (n->flags & GB_NODE_PROMISE) != 0 && n->in[0] != NULL ? 1 : n->nin;
}

static int room_for_inputs (const gb_node *n) {
  return (n->flags & GB_NODE_PROMISE) != 0 ? 1 : n->nin + n->ndropped;
}

size_t gb_node_bytes (const gb_node *n) { return node_size(room_for_inputs(n), n->nout); }

static void forget_promise (gb_node *n) {
  gb_graph *g = n->graph;
  g->npromises--;
  if (n->in[0] == NULL && g->broken != NULL) g->broken(g->broken_ud, n->serial);
}

/* Releases the nodes linked from 'dead' by 'chain', which have left the table, and all nodes that only they
** held. */
static void release (gb_node *dead) {
  while (dead != NULL) {
    gb_node *n = dead;
    dead = n->chain;
    for (int i = 0; i < counted_inputs(n); i++) {
      gb_node *in = n->in[i];
      if (--in->refs > 0) continue;
      assert(in->refs == 0);
      table_remove(in->graph, in);
      in->chain = dead;
      dead = in;
    }
    for (int i = 0; i < n->nout; i++) gb_tensor_clear(&n->out[i].tensor);
    if (n->op == GB_OP_CALL) gb_call_unref((int)n->attr.i[0]);
    if ((n->flags & GB_NODE_LENT) != 0) n->graph->nlent--;
    if ((n->flags & GB_NODE_PROMISE) != 0) forget_promise(n);
    gb_ledger_unbook(&n->graph->device->ledger, gb_node_bytes(n));
    free(n);
  }
}

void gb_node_unref (gb_node *n) {
  if (n == NULL || --n->refs > 0) return;
  assert(n->refs == 0);
  table_remove(n->graph, n);
  n->chain = NULL;
  release(n);
}

static bool has_all_values (const gb_node *n) {
  for (int i = 0; i < n->nout; i++)
    if (n->out[i].tensor.storage == NULL) return false;
  return true;
}

static void drop_inputs (gb_node *n) {
  gb_node *dead = NULL;
  for (int i = 0; i < n->nin; i++) {
    gb_node *in = n->in[i];
    memcpy(&n->in[i], &in->serial, sizeof in->serial);
    if (--in->refs > 0) continue;
    table_remove(in->graph, in);
    in->chain = dead;
    dead = in;
  }
  n->ndropped = n->nin;
  n->nin = 0;
  n->depth = 0;
  release(dead);
}

void gb_node_drop_inputs (gb_node *n) {
  if (n->serial < n->graph->measured_from) return;
  if ((n->flags & GB_NODE_NEEDS_GRAD) != 0 || !has_all_values(n)) return;
  if (n->nin > 0) drop_inputs(n);
  else if (gb_op_has(n->op, GB_TRAIT_RANDOM)) n->flags |= GB_NODE_ENDED;
}

/* Inputs first; 'gone' marks nodes that can no longer be computed. */
static void end_at_values (gb_node *const *order, size_t count, bool *gone) {
  for (size_t i = 0; i < count; i++) gb_node_ref(order[i]);
  for (size_t i = 0; i < count; i++) {
    gb_node *n = order[i];
    gone[i] = (n->flags & GB_NODE_LENT) != 0 && !gb_node_has_value(n);
    for (int k = 0; k < n->nin; k++) gone[i] |= gone[n->in[k]->index];
    if (!gone[i] || n->nin == 0 || !has_all_values(n)) continue;
    drop_inputs(n);
    gone[i] = false;
  }
  for (size_t i = 0; i < count; i++) gb_node_unref(order[i]);
}

gb_status gb_graph_end_lent (gb_graph *g, size_t nroots, gb_node *const *roots, gb_error *err) {
  gb_node **order;
  size_t count;
  if (g->nlent == 0) return GB_OK;
  GB_TRY(gb_graph_order(g, nroots, roots, GB_WALK_ALL, &order, &count, err));
  bool *gone = calloc(count + 1, sizeof *gone);
  const gb_status rc = gone != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to walk %zu nodes", count);
  if (rc == GB_OK) end_at_values(order, count, gone);
  free(order);
  free(gone);
  return rc;
}

static unsigned inherited_flags (gb_op op, int nin, gb_node *const *in, const gb_value *v) {
  if (op == GB_OP_CONST) return GB_NODE_WEAK;
  bool needs_grad = false, weak = nin > 0;
  for (int i = 0; i < nin; i++) {
    needs_grad |= (in[i]->flags & GB_NODE_NEEDS_GRAD) != 0;
    weak &= (in[i]->flags & GB_NODE_WEAK) != 0;
  }
  const bool is_float = gb_dtype_is_float(v->dtype);
  needs_grad &= op != GB_OP_DETACH && is_float;
  weak &= op != GB_OP_CAST && is_float && (v->shape.ndim == 0 || needs_grad);
  return (needs_grad ? GB_NODE_NEEDS_GRAD : 0u) | (weak ? GB_NODE_WEAK : 0u);
}

static int depth_of (int nin, gb_node *const *in) {
  int depth = -1;
  for (int i = 0; i < nin; i++) {
    const int d = gb_node_has_value(in[i]) ? 0 : in[i]->depth;
    if (d > depth) depth = d;
  }
  return depth + 1;
}

static gb_status make (gb_graph *g, uint64_t hash, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                       const gb_value *v, gb_node **out, gb_error *err) {
  gb_node *n;
  GB_TRY(node_alloc(g, op, nin, gb_ops[op].outputs, &n, err));
  n->hash = hash;
  n->attr = *attr;
  n->flags = inherited_flags(op, nin, in, v);
  n->depth = depth_of(nin, in);
  n->device = device_of(g, op, nin, in, attr);
  for (int i = 0; i < nin; i++) n->in[i] = gb_node_ref(in[i]);
  for (int i = 0; i < n->nout; i++) n->out[i] = v[i];
  if (op == GB_OP_CALL) gb_call_ref((int)attr->i[0]);
  if (gb_symmetric_infer(n)) n->flags |= GB_NODE_SYMMETRIC;
  if (gb_joined_infer(n)) n->flags |= GB_NODE_JOINED;
  table_insert(g, n);
  *out = n;
  return GB_OK;
}

/* A growing factor is not an array: only ops on a lower factor take it. */
static gb_status check_grown (gb_op op, int nin, gb_node *const *in, const gb_attr *a, gb_error *err) {
  for (int i = gb_op_reads_lower(op, a, GB_TRAIT_GROW) ? 1 : 0; i < nin; i++)
    if ((in[i]->flags & GB_NODE_GROWN) != 0)
      return gb_fail(err, GB_EOPTION, "%s: a growing factor can only be solved with", gb_ops[op].name);
  return GB_OK;
}

/* The canonical form of a node, NULL: itself. Numbers that the rules make lie where the node does: else a rule that
** looks for what it has made would not find it. A form may have lost its inputs, and their device with them: then it
** is moved there. */
static gb_status canonical (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                            const gb_value *v, gb_node **out, gb_error *err) {
  const int device = device_of(g, op, nin, in, attr), before = gb_graph_build_on(g, device);
  *out = NULL;
  gb_status st = gb_simplify(g, op, in, attr, v, out, err);
  if (st == GB_OK && *out == NULL) st = gb_canon(g, op, nin, in, attr, out, err);
  gb_graph_build_on(g, before);
  if (st != GB_OK || *out == NULL || (*out)->device == device) return st;
  gb_node *form = *out;
  *out = NULL;
  st = gb_move(form, device, out, err);
  gb_node_unref(form);
  return st;
}

/* Its inputs lie where it runs: together, and those of registered ops on the graph's own device. */
static bool is_in_place (gb_op op, int nin, gb_node *const *in) {
  return gb_on_one_device(nin, in) && (op != GB_OP_CALL || nin == 0 || in[0]->device == 0);
}

gb_status gb_node_build (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr,
                         const gb_shape *shape, gb_dtype dtype, gb_node **out, gb_error *err) {
  gb_attr a = {0};
  if (attr != NULL) a = *attr;
  if (!is_in_place(op, nin, in)) return gb_build_across(g, op, nin, in, attr, shape, dtype, out, err);
  if (gb_is_widened(op, nin, in)) return gb_build_widened(g, op, nin, in, attr, out, err);
  GB_TRY(check_grown(op, nin, in, &a, err));
  gb_value v[GB_MAX_OUTPUTS] = {0};
  GB_TRY(gb_shape_infer(op, nin, in, &a, shape, dtype, v, err));
  const uint64_t hash = hash_place(hash_key(op, nin, in, &a, v), g, nin);
  /* Random nodes of a trace are not merged with earlier ones: vmap distinguishes them by serial. */
  gb_node *ended = NULL, *found = NULL;
  if (g->tracing == 0 || !gb_op_has(op, GB_TRAIT_RANDOM))
    found = table_find(g, hash, op, nin, in, &a, v, &ended);
  if (found != NULL) {
    *out = gb_node_ref(found);
    return GB_OK;
  }
  GB_TRY(canonical(g, op, nin, in, &a, v, out, err));
  if (*out != NULL) return GB_OK;
  GB_TRY(make(g, hash, op, nin, in, &a, v, out, err));
  if (ended != NULL) gb_node_take_values(*out, ended);
  return GB_OK;
}

/* -- leaves */

static uint64_t hash_leaf (const gb_tensor *t) {
  uint64_t h = gb_hash_u64((uint64_t)GB_OP_LEAF, (uint64_t)(uintptr_t)t->storage);
  h = gb_hash_u64(h, t->offset);
  h = gb_hash_u64(h, (uint64_t)t->dtype);
  for (int i = 0; i < t->shape.ndim; i++) {
    h = gb_hash_u64(h, t->shape.dim[i]);
    h = gb_hash_u64(h, (uint64_t)t->stride[i]);
  }
  return h;
}

static bool same_leaf (const gb_node *n, const gb_tensor *t) {
  const gb_tensor *v = &n->out->tensor;
  if (n->op != GB_OP_LEAF || (n->flags & UNMERGED) != 0) return false;
  if (v->storage != t->storage || v->offset != t->offset || v->dtype != t->dtype) return false;
  if (!gb_shape_equal(&v->shape, &t->shape)) return false;
  for (int i = 0; i < t->shape.ndim; i++)
    if (v->stride[i] != t->stride[i]) return false;
  return true;
}

int gb_graph_device_of (const gb_graph *g, const gb_tensor *t) {
  for (int i = 0; i < g->nmore; i++)
    if (&g->more[i]->ledger == t->storage->ledger) return i + 1;
  return 0;
}

static unsigned leaf_flags (const gb_tensor *value, unsigned flags) {
  unsigned f = flags & (UNMERGED | GB_NODE_GROWN);
  if (value->storage == NULL && (f & GB_NODE_TRACED) == 0) f |= GB_NODE_PLACEHOLDER;
  if ((f & (GB_NODE_PARAM | GB_NODE_GRAD)) != 0) f |= GB_NODE_NEEDS_GRAD;
  if ((f & GB_NODE_PARAM) != 0) f |= GB_NODE_WEAK;
  return f;
}

gb_status gb_node_leaf (gb_graph *g, const gb_tensor *value, unsigned flags, const char *name, gb_node **out,
                        gb_error *err) {
  const unsigned f = leaf_flags(value, flags);
  size_t numel;
  char text[GB_SHAPE_TEXT];
  if ((f & GB_NODE_NEEDS_GRAD) != 0 && !gb_dtype_is_float(value->dtype))
    return gb_fail(err, GB_EDTYPE, "gradients need a float tensor, got %s", gb_dtype_name(value->dtype));
  if (!gb_shape_numel_checked(&value->shape, &numel))
    return gb_fail(err, GB_ESHAPE, "size overflows: %s", gb_shape_text(&value->shape, text));
  uint64_t hash = (f & UNMERGED) != 0 ? gb_hash_u64(GB_OP_LEAF, g->next_serial) : hash_leaf(value);
  if ((f & UNMERGED) == 0)
    for (gb_node *n = g->bucket[hash & (g->nbuckets - 1)]; n != NULL; n = n->chain)
      if (n->hash == hash && same_leaf(n, value)) {
        gb_node_set_name(n, name);
        *out = gb_node_ref(n);
        return GB_OK;
      }
  gb_node *n;
  GB_TRY(node_alloc(g, GB_OP_LEAF, 0, 1, &n, err));
  n->hash = hash;
  n->flags = f;
  if ((f & GB_NODE_LENT) != 0) g->nlent++;
  n->device = value->storage == NULL ? g->generators_on : gb_graph_device_of(g, value);
  n->out[0] = (gb_value){.dtype = value->dtype, .shape = value->shape, .tensor = gb_tensor_ref(value)};
  gb_node_set_name(n, name);
  table_insert(g, n);
  *out = n;
  return GB_OK;
}

static gb_status held (gb_op op, const gb_attr *attr, int nin, gb_node *const *in, const gb_tensor *value,
                       unsigned flags, gb_node *like, gb_node **out, gb_error *err) {
  gb_graph *g = like->graph;
  gb_node *n;
  GB_TRY(node_alloc(g, op, nin, 1, &n, err));
  n->hash = gb_hash_u64((uint64_t)op, n->serial);
  n->attr = *attr;
  n->name = like->name;
  n->device = like->device;
  n->flags = (like->flags & (GB_NODE_NEEDS_GRAD | GB_NODE_SYMMETRIC)) | (flags & GB_NODE_GROWN) |
             GB_NODE_HELD;
  for (int i = 0; i < nin; i++) n->in[i] = gb_node_ref(in[i]);
  n->out[0] = (gb_value){.dtype = value->dtype, .shape = value->shape, .tensor = gb_tensor_ref(value)};
  if (op == GB_OP_CALL) gb_call_ref((int)attr->i[0]);
  table_insert(g, n);
  *out = n;
  return GB_OK;
}

gb_status gb_node_hold (gb_node *like, const gb_tensor *value, unsigned flags, gb_node **out, gb_error *err) {
  gb_graph *g = like->graph;
  char text[GB_NODE_TEXT], other[GB_SHAPE_TEXT];
  if (!gb_shape_equal(gb_node_shape(like), &value->shape))
    return gb_fail(err, GB_ESHAPE, "hold: shapes differ: %s, %s", gb_node_text(like, text),
                   gb_shape_text(&value->shape, other));
  if (gb_node_dtype(like) != value->dtype)
    return gb_fail(err, GB_EDTYPE, "hold: expected %s, got %s", gb_dtype_name(gb_node_dtype(like)),
                   gb_dtype_name(value->dtype));
  if ((like->flags & GB_NODE_NEEDS_GRAD) == 0)
    return gb_node_leaf(g, value, flags & GB_NODE_GROWN, like->name, out, err);
  if (like->nin == 0) {
    *out = gb_node_ref(like);
    return GB_OK;
  }
  if (gb_ops[like->op].kind == GB_KIND_OPAQUE && like->nout == 1)
    return held(like->op, &like->attr, like->nin, like->in, value, flags, like, out, err);
  gb_node *in[] = {NULL, like, NULL}; /* WITH_SLOPE is opaque to the canonicaliser */
  gb_status st = gb_node_leaf(g, value, 0, like->name, &in[0], err);
  if (st == GB_OK) st = gb_node_const(g, 1, value->dtype, &in[2], err);
  if (st == GB_OK) st = held(GB_OP_WITH_SLOPE, &(gb_attr){0}, 3, in, value, flags, like, out, err);
  gb_node_unref(in[0]);
  gb_node_unref(in[2]);
  return st;
}

gb_status gb_node_promise (gb_graph *g, const gb_shape *s, gb_dtype t, gb_node **out, gb_error *err) {
  gb_node *n;
  GB_TRY(node_alloc(g, GB_OP_LEAF, 1, 1, &n, err));
  n->nin = 0;
  n->hash = gb_hash_u64(GB_OP_LEAF, n->serial);
  n->flags = GB_NODE_PROMISE | GB_NODE_PLACEHOLDER | (gb_dtype_is_float(t) ? GB_NODE_NEEDS_GRAD : 0u);
  n->out[0] = (gb_value){.dtype = t, .shape = *s, .tensor = {.dtype = t, .shape = *s}};
  table_insert(g, n);
  g->npromises++;
  *out = n;
  return GB_OK;
}

static bool stays (const gb_tensor *t) {
  return t->storage != NULL && t->storage->block.purpose != GB_MEM_CACHE;
}

void gb_node_take_values (gb_node *n, const gb_node *from) {
  for (int i = 0; n->nout == from->nout && i < n->nout; i++) {
    if (n->out[i].tensor.storage != NULL || !stays(&from->out[i].tensor)) continue;
    n->out[i].tensor = gb_tensor_ref(&from->out[i].tensor);
    n->out[i].arithmetic = from->out[i].arithmetic;
    n->out[i].made_by = from->out[i].made_by != 0 ? from->out[i].made_by : from->serial;
    if (i == 0) n->depth = 0;
  }
}

gb_node *gb_node_kept (const gb_node *promise) { return promise->in[0]; }

gb_status gb_node_keep (gb_node *promise, gb_node *y, gb_error *err) {
  char want[GB_SHAPE_TEXT], got[GB_SHAPE_TEXT];
  if (!gb_shape_equal(gb_node_shape(promise), gb_node_shape(y)))
    return gb_fail(err, GB_ESHAPE, "promise: expected shape %s, got %s",
                   gb_shape_text(gb_node_shape(promise), want), gb_shape_text(gb_node_shape(y), got));
  if (gb_node_dtype(promise) != gb_node_dtype(y))
    return gb_fail(err, GB_EDTYPE, "promise: expected %s, got %s", gb_dtype_name(gb_node_dtype(promise)),
                   gb_dtype_name(gb_node_dtype(y)));
  assert(promise->in[0] == NULL);
  promise->in[0] = gb_node_ref(y);
  return GB_OK;
}

gb_status gb_node_hold_again (const gb_node *n, gb_node *const *in, gb_node **out, gb_error *err) {
  return held(n->op, &n->attr, n->nin, in, &n->out[0].tensor, n->flags & GB_NODE_GROWN, (gb_node *)n, out,
              err);
}

gb_status gb_node_placeholder (gb_graph *g, const gb_shape *s, gb_dtype t, const char *name, gb_node **out,
                               gb_error *err) {
  const gb_tensor empty = {.dtype = t, .shape = *s};
  return gb_node_leaf(g, &empty, GB_NODE_PLACEHOLDER, name, out, err);
}

static gb_status whole (gb_graph *g, int64_t v, gb_dtype t, gb_node **out, gb_error *err) {
  const gb_attr a = {.i = {v}, .f = {(double)v}};
  return gb_node_build(g, GB_OP_CONST, 0, NULL, &a, NULL, t, out, err);
}

gb_status gb_node_integer (gb_graph *g, int64_t v, gb_node **out, gb_error *err) {
  return whole(g, v, GB_I64, out, err);
}

static gb_status whole_of (gb_graph *g, double v, gb_dtype t, gb_node **out, gb_error *err) {
  const double end = t == GB_I32 ? 0x1p31 : 0x1p63;
  const char *name = gb_dtype_name(t);
  if (v != trunc(v))
    return gb_fail(err, GB_EDTYPE, "%.17g is not an integer, expected %s", gb_plain(v), name);
  if (!(v >= -end && v < end))
    return gb_fail(err, GB_EDTYPE, "%.17g is out of range, expected an %s of -2^%d .. 2^%d - 1", v, name,
                   ilogb(end), ilogb(end));
  return whole(g, (int64_t)v, t, out, err);
}

gb_status gb_node_const_as (const gb_node *n, gb_dtype t, gb_node **out, gb_error *err) {
  const bool exact = gb_node_dtype(n) == GB_I64 && t == GB_I64;
  return exact ? gb_node_integer(n->graph, n->attr.i[0], out, err)
               : gb_node_const(n->graph, n->attr.f[0], t, out, err);
}

/* The number is rounded to the type, so that equal elements are equal nodes. */
gb_status gb_node_const (gb_graph *g, double v, gb_dtype t, gb_node **out, gb_error *err) {
  uint64_t element = 0;
  gb_attr a = {0};
  if (gb_dtype_is_whole(t)) return whole_of(g, v, t, out, err);
  gb_element_set(&element, 0, t, v);
  a.f[0] = gb_element_get(&element, 0, t);
  return gb_node_build(g, GB_OP_CONST, 0, NULL, &a, NULL, t, out, err);
}
