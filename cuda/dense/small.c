/* small.c - batches of small matrices, as the kernels of small.cu take them. */
#include "cuda/dense/call.h"

/* The columns of a solve may be cut, so their number decides nothing; a quadratic form has all of them in one thread block. */
bool gb_cuda_is_small (const gb_opaque *one) {
  return one->in_shape[0].dim[0] <= GB_CUDA_SMALL &&
         (one->op != GB_OP_INV_QUAD || gb_cuda_columns(&one->in_shape[1]) <= GB_CUDA_SMALL_COLUMNS);
}

static gb_cuda_batch batch_of (const gb_slices *s) {
  gb_cuda_batch b = {.axes = s->lead.ndim, .count = s->count};
  size_t step[2] = {gb_shape_numel(&s->one.in_shape[0]), gb_shape_numel(&s->one.in_shape[1])};
  for (int axis = s->lead.ndim - 1; axis >= 0; axis--) {
    b.extent[axis] = s->lead.dim[axis];
    for (int i = 0; i < s->one.nin; i++) {
      const gb_shape *in = &s->all->in_shape[i];
      const int own = axis - s->lead.ndim + in->ndim - 2;
      const size_t have = own >= 0 ? in->dim[own] : 1;
      (i == 0 ? b.x : b.y)[axis] = have == 1 ? 0 : step[i];
      step[i] *= have;
    }
  }
  return b;
}

gb_cuda_small gb_cuda_small_of (const gb_cuda_call *c, const gb_slices *s) {
  return (gb_cuda_small){.a = c->in[0],
                         .b = s->one.nin > 1 ? c->in[1] : NULL,
                         .out = c->out[0],
                         .n = s->one.in_shape[0].dim[0],
                         .r = s->one.nin > 1 ? gb_cuda_columns(&s->one.in_shape[1]) : 0,
                         .batch = batch_of(s),
                         .found = c->found};
}
