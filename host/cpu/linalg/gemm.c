/* gemm.c - products of stored matrices: tiles of the output, each a sum over chunks of the inner axis in
** order. */
#include "cpu/linalg/opaque.h"
#include "program/slices.h"

typedef struct product {
  const gb_opaque_call *call;
  gb_dtype dtype;
  size_t n, m, k;           /* (n, k) x (k, m) */
  gb_shape lead;            /* batch axes of the result */
  size_t block[3];          /* rows and columns of a tile, inner indices of one call */
  size_t rows, cols;        /* tiles of one output matrix */
  size_t row[3], matrix[3]; /* elements from row to row, from matrix to matrix: x, y, z */
} product;

static void product_tile (void *ud, gb_tasks *s, size_t task, int thread) {
  const product *p = ud;
  const gb_opaque *o = p->call->o;
  (void)thread;
  const size_t b = task / (p->rows * p->cols), tile = task % (p->rows * p->cols);
  const size_t i = tile / p->cols, j = tile % p->cols, size = gb_dtype_size(p->dtype);
  const char *x = (const char *)p->call->in[0] +
                  (gb_matrix_at(&p->lead, &o->in_shape[0], b) * p->matrix[0] + i * p->block[0] * p->row[0]) *
                      size;
  const char *y = (const char *)p->call->in[1] +
                  (gb_matrix_at(&p->lead, &o->in_shape[1], b) * p->matrix[1] + j * p->block[1]) * size;
  char *z = (char *)p->call->out[0] +
            (b * p->matrix[2] + i * p->block[0] * p->row[2] + j * p->block[1]) * size;
  const size_t ni = gb_block_extent(p->n, p->block[0], i), nj = gb_block_extent(p->m, p->block[1], j);
  size_t k0 = 0;
  do { /* a product over an empty inner axis is zero */
    const size_t nk = p->k - k0 < p->block[2] ? p->k - k0 : p->block[2];
    gb_blas_gemm(p->dtype, false, false, ni, nj, nk, 1.0, x + k0 * size, p->row[0], y + k0 * p->row[1] * size,
                 p->row[1], k0 == 0 && !o->continues ? 0.0 : 1.0, z, p->row[2]);
    k0 += p->block[2];
  } while (k0 < p->k && gb_tasks_poll(s));
}

static void find_strides (product *p) {
  const size_t row[3] = {p->k, p->m, p->m}, rows[3] = {p->n, p->k, p->n};
  for (int i = 0; i < 3; i++) {
    p->row[i] = p->call->o->row[i] == 0 ? row[i] : p->call->o->row[i];
    p->matrix[i] = p->call->o->matrix[i] == 0 ? p->row[i] * rows[i] : p->call->o->matrix[i];
  }
}

gb_status gb_cpu_gemm (const gb_opaque_call *c) {
  const gb_shape *a = &c->o->in_shape[0], *out = &c->o->out_shape[0];
  product p = {.call = c, .dtype = c->o->out_dtype[0]};
  p.n = out->dim[out->ndim - 2];
  p.m = out->dim[out->ndim - 1];
  p.k = a->dim[a->ndim - 1];
  for (int i = 0; i < 3; i++) p.block[i] = c->o->block[i] == 0 ? GB_BLOCK : c->o->block[i];
  find_strides(&p);
  p.rows = gb_blocks(p.n, p.block[0]);
  p.cols = gb_blocks(p.m, p.block[1]);
  p.lead = gb_shape_of(out->ndim - 2, out->dim);
  return gb_tasks_run(c->pool, gb_shape_numel(&p.lead) * p.rows * p.cols, product_tile, &p, c->err);
}
