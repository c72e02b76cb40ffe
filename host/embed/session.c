/* session.c - sessions, leaves, values and plans of the public interface. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "device/registry.h"
#include "embed/embed.h"

/* device[i] has number i in the graph; 'home', the CPU that other devices need, may be one of them. */
struct gb_session {
  gb_device *home, *device[GB_GRAPH_DEVICES];
  char kind[GB_GRAPH_DEVICES][40];
  int ndevices;
  gb_graph *graph;
};

const char *gibbous_version (void) { return GIBBOUS_VERSION; }

const char *gibbous_status_text (gb_status st) {
  return st >= 0 && st < GB_NSTATUS ? gb_status_text(st) : "unknown status";
}

void gibbous_interrupt (bool on) {
  if (on) gb_interrupt_raise();
  else gb_interrupt_clear();
}

/* -- opening and closing */

/* Values that can be computed again go when an allocation does not fit. */
static void reclaim (void *ud, size_t bytes) { gb_cache_drop(((gb_session *)ud)->graph, bytes); }

/* The next device of the session: its home, or one that the registry opens. limit: 0 = what it has. */
static gb_status add_device (gb_session *s, const char *kind, size_t limit, gb_error *err) {
  gb_device *dev = s->home;
  if (s->ndevices == GB_GRAPH_DEVICES)
    return gb_fail(err, GB_EOPTION, "a session has at most %d devices", GB_GRAPH_DEVICES);
  if (!gb_device_same_name(s->home->name, kind)) GB_TRY(gb_device_open(kind, s->home, limit, &dev, err));
  else if (limit != 0) dev->ledger.limit = limit;
  dev->ledger.reclaim = reclaim;
  dev->ledger.reclaim_ud = s;
  strcpy(s->kind[s->ndevices], kind); /* names of devices that open are short */
  s->device[s->ndevices++] = dev;
  return GB_OK;
}

static void release (gb_session *s) {
  if (s->graph != NULL) gb_graph_free(s->graph);
  for (int i = 0; i < s->ndevices; i++)
    if (s->device[i] != s->home) gb_device_free(s->device[i]);
  gb_device_free(s->home);
  free(s);
}

gb_status gibbous_open (const gb_session_options *o, gb_session **out, gb_error *err) {
  static const gb_session_options plain;
  if (err == NULL) return GB_EOPTION;
  if (out == NULL) return gb_fail(err, GB_EOPTION, "open: no place for the session (NULL)");
  *out = NULL;
  if (o == NULL) o = &plain;
  gb_session *s = calloc(1, sizeof *s);
  if (s == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a session");
  const char *kind = o->device != NULL ? o->device : "";
  const size_t available = gb_memory_available();
  gb_status st = gb_device_cpu_new(o->threads != 0 ? o->threads : 1, available, &s->home, err);
  if (st == GB_OK) st = add_device(s, *kind != '\0' ? kind : s->home->name, o->limit, err);
  if (st == GB_OK) st = gb_graph_new(s->device[0], &s->graph, err);
  if (st != GB_OK) release(s);
  else *out = s;
  return st;
}

gb_status gibbous_close (gb_session *s, gb_error *err) {
  if (s == NULL) return GB_OK;
  gb_cache_drop(s->graph, SIZE_MAX);
  if (s->graph->nnodes > 0)
    return gb_fail(err, GB_EOPTION, "close: %zu nodes of the session are still held", s->graph->nnodes);
  release(s);
  return GB_OK;
}

gb_device *gb_embed_device (const gb_session *s) { return s->device[0]; }
gb_device *gb_embed_home (const gb_session *s) { return s->home; }
gb_graph *gb_embed_graph (const gb_session *s) { return s->graph; }

gb_status gb_embed_check_session (const char *what, const gb_session *s, const void *out, gb_error *err) {
  if (err == NULL) return GB_EOPTION;
  if (s == NULL) return gb_fail(err, GB_EOPTION, "%s: the session is NULL", what);
  return out != NULL ? GB_OK : gb_fail(err, GB_EOPTION, "%s: no place for the result (NULL)", what);
}

gb_status gibbous_device (gb_session *s, const char *kind, size_t limit, int *number, gb_error *err) {
  GB_TRY(gb_embed_check_session("device", s, number, err));
  if (kind == NULL) return gb_fail(err, GB_EOPTION, "device: the kind is NULL");
  for (int i = 0; i < s->ndevices; i++)
    if (gb_device_same_name(s->kind[i], kind)) {
      *number = i;
      return GB_OK;
    }
  GB_TRY(add_device(s, kind, limit, err));
  return gb_graph_add_device(s->graph, s->device[s->ndevices - 1], number, err);
}

gb_status gibbous_memory (gb_session *s, int device, gb_memory_use *out, gb_error *err) {
  GB_TRY(gb_embed_check_session("memory", s, out, err));
  if (device < 0 || device >= s->ndevices)
    return gb_fail(err, GB_EOPTION, "memory: there is no device %d, the session has %d", device, s->ndevices);
  const gb_ledger *l = &s->device[device]->ledger;
  *out = (gb_memory_use){.limit = l->limit, .used = l->used, .peak = l->peak};
  return GB_OK;
}

void gibbous_at (gb_session *s, const char *where) {
  if (s != NULL) s->graph->where = gb_graph_intern(s->graph, where);
}

/* -- leaves and nodes */

static gb_status leaf (gb_session *s, gb_dtype t, const gb_shape *shape, const void *data, unsigned flags,
                       const char *name, gb_node **out, gb_error *err) {
  const char *what = (flags & GB_NODE_GRAD) != 0 ? "variable" : "tensor";
  gb_shape exact;
  gb_tensor held, writable;
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_session(what, s, out, err));
  GB_TRY(gb_embed_shape(what, shape, &exact, err));
  if ((unsigned)t >= GB_NDTYPES) return gb_fail(err, GB_EDTYPE, "%s: unknown dtype %d", what, (int)t);
  if (data == NULL && gb_shape_numel(&exact) > 0)
    return gb_fail(err, GB_EOPTION, "%s: the data is NULL", what);
  gb_ledger *l = &s->device[0]->ledger;
  const char *kept = gb_graph_intern(s->graph, name);
  GB_TRY(gb_tensor_new(l, t, &exact, GB_MEM_TENSOR, s->graph->where, kept, &held, err));
  gb_status st = gb_host_stage(&held, &writable, err);
  if (st == GB_OK && data != NULL) memcpy(gb_host_elements(&writable), data, gb_shape_bytes(&exact, t));
  if (st == GB_OK) st = gb_host_flush(&held, err);
  if (st == GB_OK) st = gb_node_leaf(s->graph, &held, flags, name, out, err);
  gb_tensor_clear(&held);
  return st;
}

gb_status gibbous_tensor (gb_session *s, gb_dtype t, const gb_shape *shape, const void *data,
                          const char *name, gb_node **out, gb_error *err) {
  return leaf(s, t, shape, data, 0, name, out, err);
}

gb_status gibbous_variable (gb_session *s, gb_dtype t, const gb_shape *shape, const void *data,
                            const char *name, gb_node **out, gb_error *err) {
  return leaf(s, t, shape, data, GB_NODE_GRAD, name, out, err);
}

gb_status gibbous_number (gb_session *s, double v, gb_node **out, gb_error *err) {
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_session("number", s, out, err));
  return gb_node_const(s->graph, v, GB_F64, out, err);
}

gb_status gibbous_eye (gb_session *s, size_t n, gb_dtype t, gb_node **out, gb_error *err) {
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_session("eye", s, out, err));
  if ((unsigned)t >= GB_NDTYPES) return gb_fail(err, GB_EDTYPE, "eye: unknown dtype %d", (int)t);
  return gb_eye(s->graph, n, t, out, err);
}

gb_node *gibbous_ref (gb_node *x) { return x != NULL ? gb_node_ref(x) : NULL; }
void gibbous_unref (gb_node *x) { gb_node_unref(x); }
gb_shape gibbous_shape (const gb_node *x) { return x != NULL ? *gb_node_shape(x) : (gb_shape){0}; }
gb_dtype gibbous_dtype (const gb_node *x) { return x != NULL ? gb_node_dtype(x) : GB_NDTYPES; }

/* -- values */

gb_status gibbous_eval (int n, gb_node *const *nodes, gb_error *err) {
  GB_TRY(gb_embed_check_inputs("eval", n, nodes, err));
  if (n == 0) return GB_OK;
  GB_TRY(gb_eval(nodes[0]->graph, (size_t)n, nodes, err));
  for (int i = 0; i < n; i++) gb_node_drop_inputs(nodes[i]);
  return GB_OK;
}

typedef struct sink {
  char *to;
  gb_dtype from, dtype;
} sink;

static gb_status take (void *ud, const void *p, size_t bytes) {
  sink *k = ud;
  const size_t n = bytes / gb_dtype_size(k->from);
  if (k->from == k->dtype) memcpy(k->to, p, bytes);
  else
    for (size_t i = 0; i < n; i++) gb_element_set(k->to, i, k->dtype, gb_element_get(p, i, k->from));
  k->to += n * gb_dtype_size(k->dtype);
  return GB_OK;
}

gb_status gibbous_read (gb_node *x, gb_dtype t, void *to, size_t count, gb_error *err) {
  GB_TRY(gb_embed_check_inputs("read", 1, &x, err));
  const size_t have = gb_shape_numel(gb_node_shape(x));
  char text[GB_NODE_TEXT];
  if (t != GB_F64 && t != gb_node_dtype(x))
    return gb_fail(err, GB_EDTYPE, "read: f64 or %s expected", gb_dtype_name(gb_node_dtype(x)));
  if (count != have)
    return gb_fail(err, GB_ESHAPE, "read: %zu elements asked for: %s", count, gb_node_text(x, text));
  if (to == NULL && count > 0) return gb_fail(err, GB_EOPTION, "read: no place for the elements (NULL)");
  if (!gb_node_has_value(x)) GB_TRY(gb_eval(x->graph, 1, &x, err));
  gb_tensor host;
  GB_TRY(gb_host_of(&x->out[0].tensor, &host, err));
  return gb_tensor_visit(&host, take, &(sink){.to = to, .from = host.dtype, .dtype = t});
}

/* -- plans */

gb_status gibbous_plan (int n, gb_node *const *nodes, size_t budget, gb_plan **out, gb_error *err) {
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_inputs("plan", n, nodes, err));
  if (n == 0 || out == NULL)
    return gb_fail(err, GB_EOPTION, "plan: no %s", n == 0 ? "nodes" : "place for it (NULL)");
  return gb_plan_new(nodes[0]->graph, (size_t)n, nodes, &(gb_plan_options){.budget = budget}, out, err);
}

static gb_status check_plan (const char *what, const gb_plan *p, const void *out, gb_error *err) {
  if (err == NULL) return GB_EOPTION;
  if (p == NULL) return gb_fail(err, GB_EOPTION, "%s: the plan is NULL", what);
  return out != NULL ? GB_OK : gb_fail(err, GB_EOPTION, "%s: no place for the result (NULL)", what);
}

gb_status gibbous_plan_report (const gb_plan *p, gb_plan_summary *out, gb_error *err) {
  gb_plan_report r;
  gb_run_stats last;
  GB_TRY(check_plan("plan_report", p, out, err));
  gb_plan_report_get(p, &r);
  gb_plan_stats(p, &last);
  *out = (gb_plan_summary){r.peak, r.minimum, last.predicted, last.measured};
  return GB_OK;
}

gb_status gibbous_plan_explain (const gb_plan *p, char **text, gb_error *err) {
  GB_TRY(check_plan("plan_explain", p, text, err));
  *text = gb_plan_explain(p);
  return *text != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for the text of a plan");
}

gb_status gibbous_plan_run (gb_plan *p, gb_error *err) {
  GB_TRY(check_plan("plan_run", p, p, err));
  return gb_plan_run(p, err);
}

void gibbous_plan_free (gb_plan *p) { gb_plan_free(p); }
