/* move.c - opaque ops that move elements on a GPU. Their bits are those of the CPU. */
#include "cuda/dense/call.h"
#include "cuda/move/kernels.h"

static gb_cuda_slabs slabs_of (const gb_shape *s, int64_t axis, gb_dtype t) {
  gb_cuda_slabs l = {.outer = 1, .n = s->dim[axis], .inner = 1, .dtype = (int)t, .size = gb_dtype_size(t)};
  for (int i = 0; i < axis; i++) l.outer *= s->dim[i];
  for (int i = (int)axis + 1; i < s->ndim; i++) l.inner *= s->dim[i];
  return l;
}

gb_status gb_cuda_cast (const gb_cuda_call *c) {
  const gb_opaque *o = c->o;
  const size_t count = gb_shape_numel(&o->in_shape[0]), bytes = count * gb_dtype_size(o->in_dtype[0]);
  gb_error *err = c->err;
  if (o->in_dtype[0] != o->out_dtype[0])
    GB_CUDA_TRY(gb_cuda_convert((int)o->in_dtype[0], (int)o->out_dtype[0], count, c->in[0], c->out[0],
                                c->gpu->stream));
  else if (bytes > 0)
    GB_CUDA_TRY(cudaMemcpyAsync(c->out[0], c->in[0], bytes, cudaMemcpyDeviceToDevice, c->gpu->stream));
  return GB_OK;
}

gb_status gb_cuda_cat (const gb_cuda_call *c) {
  const gb_opaque *o = c->o;
  const gb_cuda_slabs out = slabs_of(&o->out_shape[0], o->attr.i[0], o->out_dtype[0]);
  const size_t run = out.inner * out.size;
  size_t at = 0;
  gb_error *err = c->err;
  for (int i = 0; i < o->nin; i++) {
    const size_t n = o->extent != NULL ? o->extent[i] : o->in_shape[i].dim[o->attr.i[0]];
    GB_CUDA_TRY(gb_cuda_copy_runs(c->in[i], (char *)c->out[0] + at * run, out.outer, n * run, out.n * run,
                                  c->gpu->stream));
    at += n;
  }
  return GB_OK;
}

gb_status gb_cuda_cumsum (const gb_cuda_call *c) {
  const gb_opaque *o = c->o;
  const gb_cuda_slabs x = slabs_of(&o->in_shape[0], o->attr.i[0], o->in_dtype[0]);
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_running_sums(&x, o->attr.i[1] != 0, c->in[0], c->out[0], c->gpu->stream));
  return GB_OK;
}

/* -- positions */

static gb_cuda_slabs positions_of (const gb_cuda_call *c) {
  const gb_opaque *o = c->o;
  gb_cuda_slabs x = slabs_of(&o->in_shape[0], o->attr.i[0], o->in_dtype[0]);
  x.count = o->in_shape[1].dim[0];
  x.position = c->in[1];
  x.positions = (int)o->in_dtype[1];
  return x;
}

/* Waits for the check that was started before the work itself. */
static gb_status judge (const gb_cuda_call *c, const gb_cuda_slabs *x) {
  const gb_dtype t = (gb_dtype)x->positions;
  const size_t size = gb_dtype_size(t);
  gb_cuda_found found;
  union {
    int64_t wide;
    int32_t narrow;
  } position;
  GB_TRY(gb_cuda_read_found(c, &found));
  const size_t at = (size_t)found.first[GB_CUDA_PIVOT];
  if (found.first[GB_CUDA_PIVOT] == GB_CUDA_NONE) return GB_OK;
  GB_TRY(gb_cuda_download(c->gpu, &position, (const char *)x->position + at * size, size, c->err));
  return gb_fail(c->err, GB_EINDEX, "%s: position %lld (entry %zu) is outside 1 .. %zu",
                 gb_ops[c->o->op].name, (long long)(t == GB_I32 ? position.narrow : position.wide), at + 1,
                 x->n);
}

gb_status gb_cuda_index (const gb_cuda_call *c) {
  const gb_cuda_slabs x = positions_of(c);
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_check_positions(&x, c->found, c->gpu->stream));
  GB_CUDA_TRY(gb_cuda_take(&x, c->in[0], c->out[0], c->gpu->stream));
  return judge(c, &x);
}

static gb_status change (const gb_cuda_call *c, gb_cuda_join join) {
  const gb_cuda_slabs x = positions_of(c);
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_check_positions(&x, c->found, c->gpu->stream));
  const void *from = c->o->continues ? c->out[0] : c->in[0];
  GB_CUDA_TRY(gb_cuda_put_at(&x, from, c->in[2], (int)join, c->out[0], c->gpu->stream));
  return judge(c, &x);
}

gb_status gb_cuda_put (const gb_cuda_call *c) { return change(c, GB_CUDA_REPLACE); }
gb_status gb_cuda_index_add (const gb_cuda_call *c) { return change(c, GB_CUDA_ADD); }
gb_status gb_cuda_index_max (const gb_cuda_call *c) { return change(c, GB_CUDA_LARGEST); }
gb_status gb_cuda_index_min (const gb_cuda_call *c) { return change(c, GB_CUDA_SMALLEST); }
