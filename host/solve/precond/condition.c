/* condition.c - the norm of the matrix by a fold, that of its inverse from the factor. */
#include "solve/precond/condition.h"

#include <math.h>

#include "iterate/values.h"
#include "iterate/work.h"
#include "plan/plan.h"

/* max_j sum_i |a_ij| */
static gb_status norm1 (gb_node *a, double *out, gb_error *err) {
  gb_node *abs = NULL, *sums = NULL, *top = NULL;
  gb_status st = gb_map1(GB_OP_ABS, a, &abs, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_SUM, abs, 2, false, &sums, err);
  if (st == GB_OK) st = gb_reduce(GB_OP_MAX, sums, 0, false, &top, err);
  if (st == GB_OK) st = gb_node_doubles(top, out, err);
  gb_node *const made[] = {abs, sums, top};
  for (int i = 0; i < 3; i++) gb_node_unref(made[i]);
  return st;
}

static gb_status reciprocal (gb_node *l, double norm, double *out, gb_error *err) {
  const size_t n = gb_node_shape(l)->dim[0];
  const bool f32 = gb_node_dtype(l) == GB_F32;
  gb_device *dev = gb_graph_device(l->graph, l->device);
  gb_work work;
  GB_TRY(gb_eval(l->graph, 1, &l, err));
  const gb_tensor *value = &l->out[0].tensor;
  if (!gb_tensor_is_contiguous(value)) return gb_fail(err, GB_EOPTION, "condition: the factor is a view");
  GB_TRY(gb_work_new(dev, gb_panel_rcond_bytes(dev, f32, n), 0, "condition", &work, err));
  const gb_status st = gb_panel_rcond(dev, f32, n, gb_tensor_data(value), norm, work.at.entries, out, err);
  gb_work_free(&work);
  return st;
}

gb_status gb_factor_condition (gb_node *a, gb_node *l, double *out, gb_error *err) {
  const gb_shape *s = gb_node_shape(l);
  double norm, rcond = 0;
  if (s->ndim != 2 || s->dim[0] != s->dim[1] || !gb_shape_equal(s, gb_node_shape(a)))
    return gb_fail(err, GB_ESHAPE, "condition: expected a square matrix and its factor");
  if (gb_node_dtype(l) != GB_F64 && gb_node_dtype(l) != GB_F32)
    return gb_fail(err, GB_EDTYPE, "condition: expected f64 or f32, got %s", gb_dtype_name(gb_node_dtype(l)));
  *out = 1;
  if (s->dim[0] == 0) return GB_OK;
  GB_TRY(norm1(a, &norm, err));
  GB_TRY(reciprocal(l, norm, &rcond, err));
  *out = rcond > 0 ? fmax(1 / rcond, 1) : rcond == 0 ? INFINITY : rcond;
  return GB_OK;
}
