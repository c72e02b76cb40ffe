/* values.c - conversions between tensors, panels and the host. */
#include "iterate/values.h"

#include "plan/plan.h"
#include "tensor/host.h"

#define AT_ONCE 512 /* entries converted together on the host */

gb_status gb_read_doubles (gb_device *dev, const gb_tensor *t, double *out, size_t n, gb_error *err) {
  char some[AT_ONCE * sizeof(double)]; /* as large as any type */
  const size_t size = gb_dtype_size(t->dtype);
  for (size_t i = 0; i < n; i += AT_ONCE) {
    const size_t m = n - i < AT_ONCE ? n - i : AT_ONCE;
    const void *from = (const char *)gb_tensor_data(t) + i * size;
    GB_TRY(gb_memory_download(&dev->memory, some, from, m * size, err));
    for (size_t k = 0; k < m; k++) out[i + k] = gb_element_get(some, k, t->dtype);
  }
  return GB_OK;
}

/* The values of an evaluated node as contiguous doubles. */
static gb_status widened (gb_node *n, gb_tensor *out, gb_error *err) {
  GB_TRY(gb_eval(n->graph, 1, &n, err));
  const gb_tensor *t = &n->out[0].tensor;
  GB_TRY(gb_tensor_new(&n->graph->device->ledger, GB_F64, &t->shape, GB_MEM_WORKSPACE, "", "", out, err));
  const gb_status st = gb_tensor_copy(out, t, err);
  if (st != GB_OK) gb_tensor_clear(out);
  return st;
}

gb_status gb_node_entries (gb_node *n, void *to, gb_error *err) {
  gb_device *dev = n->graph->device;
  gb_tensor wide;
  GB_TRY(widened(n, &wide, err));
  const size_t count = gb_shape_numel(&wide.shape);
  const gb_status st = gb_panel_load(gb_panel_of(dev, to, count, 1), gb_tensor_data(&wide), false, 1, err);
  gb_tensor_clear(&wide);
  return st;
}

gb_status gb_node_doubles (gb_node *n, double *out, gb_error *err) {
  gb_tensor wide;
  GB_TRY(widened(n, &wide, err));
  const gb_status st = gb_read_doubles(n->graph->device, &wide, out, gb_shape_numel(&wide.shape), err);
  gb_tensor_clear(&wide);
  return st;
}

gb_status gb_leaf_entries (gb_graph *g, const gb_shape *s, gb_dtype t, void *from, const char *name,
                           gb_node **out, gb_error *err) {
  gb_tensor x;
  GB_TRY(gb_tensor_new(&g->device->ledger, t, s, GB_MEM_TENSOR, g->where, name, &x, err));
  const gb_panel entries = gb_panel_of(g->device, from, gb_shape_numel(s), 1);
  gb_status st = gb_panel_store(entries, gb_tensor_data(&x), t == GB_F32, 1, false, err);
  if (st == GB_OK) st = gb_node_leaf(g, &x, 0, name, out, err);
  gb_tensor_clear(&x);
  return st;
}

gb_status gb_leaf_doubles (gb_graph *g, const gb_shape *s, gb_dtype t, const double *values, const char *name,
                           gb_node **out, gb_error *err) {
  gb_tensor x;
  GB_TRY(gb_tensor_new(&g->device->ledger, t, s, GB_MEM_TENSOR, g->where, name, &x, err));
  const size_t count = gb_shape_numel(s), size = gb_dtype_size(t);
  double some[AT_ONCE]; /* as large as any type */
  gb_status st = GB_OK;
  for (size_t i = 0; st == GB_OK && i < count; i += AT_ONCE) {
    const size_t n = count - i < AT_ONCE ? count - i : AT_ONCE;
    for (size_t k = 0; k < n; k++) gb_element_set(some, k, t, values[i + k]);
    st = gb_memory_upload(&g->device->memory, (char *)gb_tensor_data(&x) + i * size, some, n * size, err);
  }
  if (st == GB_OK) st = gb_node_leaf(g, &x, 0, name, out, err);
  gb_tensor_clear(&x);
  return st;
}
