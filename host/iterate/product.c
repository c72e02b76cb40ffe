/* product.c - binding columns to a planned product. */
#include "iterate/product.h"

#define PANEL 16 /* columns that BLAS computes together, at most */

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

/* Is a step of the plan a product by BLAS? */
static bool multiplies (const gb_plan *plan) {
  const gb_lowered *low = gb_plan_lowered(plan);
  for (int s = 0; s < low->nsteps; s++)
    if (!low->step[s].is_fold && low->step[s].opaque.op == GB_OP_GEMM) return true;
  return false;
}

static void forget_plan (gb_product *p) {
  gb_tensor_clear(&p->in);
  if (p->plan != NULL) gb_plan_free(p->plan);
  gb_node_unref(p->y);
  gb_node_unref(p->x);
  p->plan = NULL;
  p->x = p->y = NULL;
}

static gb_status plan_width (gb_product *p, size_t width, gb_error *err) {
  forget_plan(p);
  p->width = width;
  const gb_shape s = gb_shape_of(2, (size_t[]){p->n, width});
  GB_TRY(gb_node_placeholder(p->graph, &s, p->dtype, "columns", &p->x, err));
  GB_TRY(gb_matmul(p->a, p->x, &p->y, err));
  return gb_plan_new(p->graph, 1, &p->y, &(gb_plan_options){.at_home = true}, &p->plan, err);
}

gb_status gb_product_resize (gb_product *p, size_t r, gb_error *err) {
  p->r = r;
  gb_status st = plan_width(p, r, err);
  const size_t whole = (r + PANEL - 1) / PANEL * PANEL;
  if (st == GB_OK && r != whole && multiplies(p->plan)) st = plan_width(p, whole, err);
  const gb_shape s = gb_shape_of(2, (size_t[]){p->n, p->width});
  if (st == GB_OK)
    st = gb_tensor_new(&p->graph->device->ledger, p->dtype, &s, GB_MEM_WORKSPACE, "", "columns of a solver",
                       &p->in, err);
  if (st != GB_OK) gb_product_clear(p);
  return st;
}

gb_node *gb_attached (gb_node *a) {
  while (a->op == GB_OP_DETACH && a->nin == 1 && !gb_node_has_value(a)) a = a->in[0];
  return a;
}

gb_status gb_product_init (gb_product *p, gb_node *a, size_t r, gb_error *err) {
  a = gb_attached(a);
  *p = (gb_product){0};
  GB_TRY(check_matrix(a, err));
  *p = (gb_product){
      .graph = a->graph, .a = gb_node_ref(a), .n = gb_node_shape(a)->dim[0], .dtype = gb_node_dtype(a)};
  return gb_product_resize(p, r, err);
}

void gb_product_clear (gb_product *p) {
  forget_plan(p);
  gb_node_unref(p->a);
  *p = (gb_product){0};
}

size_t gb_product_bytes (const gb_product *p) {
  gb_plan_report r;
  if (p->plan == NULL) return 0;
  gb_plan_report_get(p->plan, &r);
  return r.peak + p->n * p->width * gb_dtype_size(p->dtype);
}

gb_status gb_product_run (gb_product *p, gb_panel x, gb_panel y, gb_error *err) {
  const bool f32 = p->dtype == GB_F32;
  gb_tensor out = {0};
  GB_TRY(gb_panel_store(x, gb_tensor_data(&p->in), f32, p->width, true, err));
  GB_TRY(gb_plan_run_with(p->plan, 1, &p->x, &p->in, &out, err));
  const gb_status st = gb_panel_load(y, gb_tensor_data(&out), f32, p->width, err);
  gb_tensor_clear(&out);
  return st;
}
