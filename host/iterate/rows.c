/* rows.c - the three products with some rows of a matrix. */
#include "iterate/rows.h"

#include "graph/canon/gather.h"
#include "graph/grad/grad.h"
#include "iterate/product.h"

#define AT_ONCE 256 /* positions uploaded together */

/* -- products */

/* A[:, at] v as the adjoint of A[at, :] x, which is linear in x. */
static gb_status build (gb_rows *p, gb_node *a, gb_error *err) {
  gb_node *y = NULL, *some = NULL;
  gb_status st = gb_matmul(a, p->x, &y, err);
  if (st == GB_OK) st = gb_take_along(y, 0, p->at, &p->ax, err);
  if (st == GB_OK) st = gb_grad(p->ax, p->v, 1, &p->x, false, &p->av, err);
  if (st == GB_OK) st = gb_take_along(a, 0, p->at, &some, err);
  if (st == GB_OK) st = gb_take_along(some, 1, p->at, &p->block, err);
  if (st == GB_OK)
    st = gb_plan_new(p->graph, 1, &p->ax, &(gb_plan_options){.at_home = true}, &p->by_row, err);
  if (st == GB_OK)
    st = gb_plan_new(p->graph, 1, &p->av, &(gb_plan_options){.at_home = true}, &p->by_column, err);
  if (st == GB_OK)
    st = gb_plan_new(p->graph, 1, &p->block, &(gb_plan_options){.at_home = true}, &p->by_block, err);
  gb_node_unref(y);
  gb_node_unref(some);
  return st;
}

static gb_status placeholders (gb_rows *p, gb_error *err) {
  const gb_shape at = gb_shape_of(1, (size_t[]){p->b}), wide = gb_shape_of(2, (size_t[]){p->n, p->r}),
                 narrow = gb_shape_of(2, (size_t[]){p->b, p->r});
  gb_ledger *l = &p->graph->device->ledger;
  GB_TRY(gb_node_placeholder(p->graph, &at, GB_I64, "rows", &p->at, err));
  GB_TRY(gb_node_placeholder(p->graph, &narrow, p->dtype, "columns", &p->v, err));
  GB_TRY(gb_tensor_new(l, GB_I64, &at, GB_MEM_WORKSPACE, "", "rows of a solver", &p->positions, err));
  GB_TRY(gb_tensor_new(l, p->dtype, &wide, GB_MEM_WORKSPACE, "", "columns of a solver", &p->wide, err));
  GB_TRY(gb_tensor_new(l, p->dtype, &narrow, GB_MEM_WORKSPACE, "", "columns of a solver", &p->narrow, err));
  return gb_node_leaf(p->graph, &p->wide, GB_NODE_GRAD, "columns", &p->x, err);
}

gb_status gb_rows_init (gb_rows *p, gb_node *a, size_t r, size_t b, gb_error *err) {
  a = gb_attached(a);
  *p = (gb_rows){.graph = a->graph, .dtype = gb_node_dtype(a), .n = gb_node_shape(a)->dim[0], .r = r, .b = b};
  gb_status st = placeholders(p, err);
  if (st == GB_OK) st = build(p, a, err);
  if (st != GB_OK) gb_rows_clear(p);
  return st;
}

void gb_rows_clear (gb_rows *p) {
  gb_plan *const plans[] = {p->by_row, p->by_column, p->by_block};
  for (int i = 0; i < 3; i++)
    if (plans[i] != NULL) gb_plan_free(plans[i]);
  gb_node *const nodes[] = {p->ax, p->av, p->block, p->at, p->x, p->v};
  for (int i = 0; i < 6; i++) gb_node_unref(nodes[i]);
  gb_tensor_clear(&p->positions);
  gb_tensor_clear(&p->wide);
  gb_tensor_clear(&p->narrow);
  *p = (gb_rows){0};
}

gb_status gb_rows_choose (gb_rows *p, const size_t *rows, gb_error *err) {
  int64_t some[AT_ONCE];
  char *to = gb_tensor_data(&p->positions);
  for (size_t i = 0; i < p->b; i += AT_ONCE) {
    const size_t n = p->b - i < AT_ONCE ? p->b - i : AT_ONCE;
    for (size_t k = 0; k < n; k++) some[k] = (int64_t)rows[i + k] + 1;
    GB_TRY(gb_memory_upload(&p->graph->device->memory, to + i * sizeof *some, some, n * sizeof *some, err));
  }
  return GB_OK;
}

/* Runs a plan; binds only the placeholders that it reads. */
static gb_status run (gb_rows *p, gb_plan *plan, gb_panel y, gb_error *err) {
  gb_node *const all[] = {p->at, p->x, p->v};
  const gb_tensor values[] = {p->positions, p->wide, p->narrow};
  gb_node *leaf[3];
  gb_tensor value[3], out = {0};
  size_t n = 0;
  for (int i = 0; i < 3; i++)
    if (gb_plan_has_leaf(plan, all[i])) leaf[n] = all[i], value[n++] = values[i];
  GB_TRY(gb_plan_run_with(plan, n, leaf, value, &out, err));
  const gb_status st = gb_panel_load(y, gb_tensor_data(&out), p->dtype == GB_F32, y.r, err);
  gb_tensor_clear(&out);
  return st;
}

gb_status gb_rows_times (gb_rows *p, gb_panel x, gb_panel y, gb_error *err) {
  GB_TRY(gb_panel_store(x, gb_tensor_data(&p->wide), p->dtype == GB_F32, x.r, false, err));
  return run(p, p->by_row, y, err);
}

gb_status gb_rows_columns (gb_rows *p, gb_panel v, gb_panel y, gb_error *err) {
  GB_TRY(gb_panel_store(v, gb_tensor_data(&p->narrow), p->dtype == GB_F32, v.r, true, err));
  return run(p, p->by_column, y, err);
}

gb_status gb_rows_block (gb_rows *p, gb_panel out, gb_error *err) { return run(p, p->by_block, out, err); }
