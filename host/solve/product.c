/* product.c - binding columns to a planned product. */
#include "solve/product.h"

#include <string.h>

static gb_status check_matrix (gb_node *a, gb_error *err) {
  char text[GB_NODE_TEXT];
  const gb_shape *s = gb_node_shape(a);
  if (s->ndim != 2 || s->dim[0] != s->dim[1])
    return gb_fail(err, GB_ESHAPE, "expected a square matrix, got %s", gb_node_text(a, text));
  if (gb_node_dtype(a) != GB_F64 && gb_node_dtype(a) != GB_F32)
    return gb_fail(err, GB_EDTYPE, "expected a matrix of f64 or f32, got %s",
                   gb_dtype_name(gb_node_dtype(a)));
  return GB_OK;
}

gb_status gb_product_init (gb_product *p, gb_node *a, size_t r, gb_error *err) {
  *p = (gb_product){.graph = a->graph, .r = r};
  GB_TRY(check_matrix(a, err));
  p->n = gb_node_shape(a)->dim[0];
  p->dtype = gb_node_dtype(a);
  const gb_shape s = gb_shape_of(2, (size_t[]){p->n, r});
  gb_status st = gb_node_placeholder(p->graph, &s, p->dtype, "columns", &p->x, err);
  if (st == GB_OK) st = gb_matmul(a, p->x, &p->y, err);
  if (st == GB_OK) st = gb_plan_new(p->graph, 1, &p->y, NULL, &p->plan, err);
  if (st == GB_OK)
    st = gb_tensor_new(&p->graph->backend->ledger, p->dtype, &s, GB_MEM_WORKSPACE, "", "columns of a solver",
                       &p->in, err);
  if (st != GB_OK) gb_product_clear(p);
  return st;
}

void gb_product_clear (gb_product *p) {
  gb_tensor_clear(&p->in);
  if (p->plan != NULL) gb_plan_free(p->plan);
  gb_node_unref(p->y);
  gb_node_unref(p->x);
  *p = (gb_product){0};
}

static void round_into (gb_dtype t, size_t count, double *x, void *to) {
  if (t == GB_F64) {
    memcpy(to, x, count * sizeof *x);
    return;
  }
  float *f = to;
  for (size_t i = 0; i < count; i++) {
    f[i] = (float)x[i];
    x[i] = (double)f[i];
  }
}

static void widen (gb_dtype t, size_t count, const void *from, double *y) {
  if (t == GB_F64) memcpy(y, from, count * sizeof *y);
  else for (size_t i = 0; i < count; i++) y[i] = (double)((const float *)from)[i];
}

gb_status gb_product_run (gb_product *p, double *x, double *y, gb_error *err) {
  gb_tensor out = {0};
  round_into(p->dtype, p->n * p->r, x, gb_tensor_data(&p->in));
  GB_TRY(gb_plan_run_with(p->plan, 1, &p->x, &p->in, &out, err));
  widen(p->dtype, p->n * p->r, gb_tensor_data(&out), y);
  gb_tensor_clear(&out);
  return GB_OK;
}

gb_status gb_node_doubles (gb_node *n, double *out, gb_error *err) {
  GB_TRY(gb_eval(n->graph, 1, &n, err));
  const gb_tensor *t = &n->out[0].tensor;
  gb_tensor wide;
  GB_TRY(gb_tensor_new(&n->graph->backend->ledger, GB_F64, &t->shape, GB_MEM_WORKSPACE, "", "", &wide, err));
  gb_tensor_copy(&wide, t);
  memcpy(out, gb_tensor_data(&wide), gb_shape_numel(&t->shape) * sizeof *out);
  gb_tensor_clear(&wide);
  return GB_OK;
}

gb_status gb_leaf_doubles (gb_graph *g, const gb_shape *s, gb_dtype t, const double *values, const char *name,
                           gb_node **out, gb_error *err) {
  gb_tensor x;
  GB_TRY(gb_tensor_new(&g->backend->ledger, t, s, GB_MEM_TENSOR, g->where, name, &x, err));
  const size_t count = gb_shape_numel(s);
  for (size_t i = 0; i < count; i++) gb_element_set(gb_tensor_data(&x), i, t, values[i]);
  const gb_status st = gb_node_leaf(g, &x, 0, name, out, err);
  gb_tensor_clear(&x);
  return st;
}
