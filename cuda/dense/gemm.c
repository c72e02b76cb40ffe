/* gemm.c - products of stored matrices by cuBLAS. A row-major matrix is the transposed one to a library that
** reads columns, so the operands change places. Each call is of one canonical block of the result and one of
** the inner axis, ascending: its bits do not depend on the windows of a plan. */
#include "cuda/dense/call.h"
#include "cuda/dense/kernels.h"
#include "cuda/dense/opaque.h"

/* Of a batch, matrices of at most so many rows, columns and inner indices are multiplied all at once. */
#define SMALL 256

typedef struct product {
  const gb_cuda_call *call;
  bool f32, batched;
  size_t size, n, m, k, block[3], row[3], matrix[3];
  gb_cuda_batch batch;
} product;

/* Batch axes align at the right and broadcast. */
static void find_batch (product *p) {
  const gb_opaque *o = p->call->o;
  const gb_shape *out = &o->out_shape[0];
  size_t step[2] = {p->matrix[0], p->matrix[1]};
  p->batch = (gb_cuda_batch){.axes = out->ndim - 2, .count = 1, .z = p->matrix[2]};
  for (int back = 3; back <= out->ndim; back++) {
    const int axis = out->ndim - back;
    p->batch.extent[axis] = out->dim[axis];
    p->batch.count *= out->dim[axis];
    for (int i = 0; i < 2; i++) {
      const gb_shape *s = &o->in_shape[i];
      const size_t have = back <= s->ndim ? s->dim[s->ndim - back] : 1;
      (i == 0 ? p->batch.x : p->batch.y)[axis] = have == 1 ? 0 : step[i];
      step[i] *= have;
    }
  }
}

static product product_of (const gb_cuda_call *c) {
  const gb_opaque *o = c->o;
  const gb_shape *a = &o->in_shape[0], *out = &o->out_shape[0];
  product p = {.call = c,
               .f32 = gb_cuda_is_f32(c),
               .batched = out->ndim > 2,
               .size = gb_dtype_size(o->in_dtype[0]),
               .n = out->dim[out->ndim - 2],
               .m = out->dim[out->ndim - 1],
               .k = a->dim[a->ndim - 1]};
  const size_t row[3] = {p.k, p.m, p.m}, rows[3] = {p.n, p.k, p.n};
  for (int i = 0; i < 3; i++) {
    p.block[i] = o->block[i] == 0 ? GB_CUDA_DENSE_BLOCK : o->block[i];
    p.row[i] = o->row[i] == 0 ? row[i] : o->row[i];
    p.matrix[i] = o->matrix[i] == 0 ? p.row[i] * rows[i] : o->matrix[i];
  }
  find_batch(&p);
  return p;
}

/* A block of the result, of all matrices: where it begins, and its extents. */
typedef struct tile {
  size_t i, j, n, m;
} tile;

static gb_status multiply_small (const product *p, tile t) {
  gb_error *err = p->call->err;
  const gb_cuda_product q = {(const char *)p->call->in[0] + t.i * p->row[0] * p->size,
                             (const char *)p->call->in[1] + t.j * p->size,
                             (char *)p->call->out[0] + (t.i * p->row[2] + t.j) * p->size,
                             t.n,
                             t.m,
                             p->k,
                             {p->row[0], p->row[1], p->row[2]},
                             p->call->o->continues,
                             p->batch};
  GB_CUDA_TRY(gb_cuda_small_products(p->f32, &q, p->call->gpu->stream));
  return GB_OK;
}

static gb_status multiply (const product *p, size_t n, size_t m, size_t k, const void *x, const void *y,
                           bool adds, void *z) {
  const gb_cuda_libraries *l = p->call->lib;
  const cudaDataType t = gb_cuda_type(p->f32);
  const double one = 1, to = adds;
  const float one_f = 1, to_f = adds;
  gb_error *err = p->call->err;
  GB_CUDA_BLAS(l->blas->cublasGemmEx(l->blas_handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)m, (int)n, (int)k,
                                     p->f32 ? (const void *)&one_f : &one, y, t, (int)p->row[1], x, t,
                                     (int)p->row[0], p->f32 ? (const void *)&to_f : &to, z, t, (int)p->row[2],
                                     p->f32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
  return GB_OK;
}

/* Of matrix b alone. */
static gb_status multiply_large (const product *p, tile t, size_t b) {
  size_t x = t.i * p->row[0], y = t.j, rest = b;
  for (int axis = p->batch.axes - 1; axis >= 0; axis--) {
    x += rest % p->batch.extent[axis] * p->batch.x[axis];
    y += rest % p->batch.extent[axis] * p->batch.y[axis];
    rest /= p->batch.extent[axis];
  }
  char *z = (char *)p->call->out[0] + (b * p->matrix[2] + t.i * p->row[2] + t.j) * p->size;
  for (size_t k0 = 0; k0 < p->k; k0 += p->block[2])
    GB_TRY(multiply(p, t.n, t.m, gb_block_extent(p->k, p->block[2], k0 / p->block[2]),
                    (const char *)p->call->in[0] + (x + k0) * p->size,
                    (const char *)p->call->in[1] + (y + k0 * p->row[1]) * p->size,
                    k0 > 0 || p->call->o->continues, z));
  return GB_OK;
}

static gb_status multiply_tile (const product *p, tile t) {
  const bool small = t.n <= SMALL && t.m <= SMALL && p->k <= SMALL && p->k <= p->block[2];
  if (p->k == 0 || (p->batched && small)) return multiply_small(p, t);
  for (size_t b = 0; b < p->batch.count; b++) GB_TRY(multiply_large(p, t, b));
  return GB_OK;
}

gb_status gb_cuda_gemm (const gb_cuda_call *c) {
  const product p = product_of(c);
  for (size_t i = 0; i < gb_blocks(p.n, p.block[0]); i++)
    for (size_t j = 0; j < gb_blocks(p.m, p.block[1]); j++)
      GB_TRY(multiply_tile(&p, (tile){i * p.block[0], j * p.block[1], gb_block_extent(p.n, p.block[0], i),
                                      gb_block_extent(p.m, p.block[1], j)}));
  return GB_OK;
}
