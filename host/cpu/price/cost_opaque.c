/* cost_opaque.c - what an opaque op does: floating point operations of tile algorithms over canonical
** blocks, or bytes. */
#include <math.h>

#include "cpu/price/cost.h"
#include "program/slices.h"

#define BLOCK 256.0 /* side of a canonical block */

typedef struct sizes {
  double n, m, k, batch; /* of a product; of a matrix (n, m); k right-hand sides */
  double read, write;    /* bytes */
} sizes;

static double dim (const gb_shape *s, int back) {
  return s->ndim < back ? 1 : (double)s->dim[s->ndim - back];
}

static double numel (const gb_shape *s) {
  double n = 1;
  for (int a = 0; a < s->ndim; a++) n *= (double)s->dim[a];
  return n;
}

static sizes sizes_of (const gb_opaque *o) {
  sizes z = {.n = dim(&o->in_shape[0], 2), .m = dim(&o->in_shape[0], 1), .k = 1, .batch = 1};
  if (o->nin > 1) z.k = dim(&o->in_shape[1], o->in_shape[1].ndim > 1 ? 1 : 0);
  for (int i = 0; i < o->nin && i < 4; i++)
    z.read += numel(&o->in_shape[i]) * (double)gb_dtype_size(o->in_dtype[i]);
  for (int i = 0; i < o->nout; i++)
    z.write += numel(&o->out_shape[i]) * (double)gb_dtype_size(o->out_dtype[i]);
  if (o->op == GB_OP_CAT) z.read = z.write; /* more inputs than have a shape here */
  return z;
}

static double move (const gb_cpu_profile *r, int threads, const sizes *z) {
  return gb_cost_bytes(r, threads, z->read) + gb_cost_write(r, threads, z->write) +
         gb_cost_map(r, threads, z->write);
}

/* Flop/s with so many columns, between what was measured with 16 and with a whole block. */
static double rate_at (double columns, double few, double full) {
  const double at = fmin(1, fmax(0, log2(fmax(columns, 1) / 16) / 4));
  return 1 / ((1 - at) / few + at / full);
}

/* Seconds of a (n, k) times b (k, m): arithmetic and the packing of the larger; of one column its reading
** alone. */
static double product (const gb_cpu_profile *r, const gb_type_profile *t, double size, int threads, double n,
                       double m, double k) {
  const double few = fmin(n, m), matrix = fmax(n, m) * k * size;
  const double flops = 2 * n * m * k / rate_at(few, t->gemm_16, t->gemm);
  const double bytes = fmax(gb_cost_bytes(r, threads, matrix), matrix / t->gemv);
  return few < 2 ? bytes : flops + bytes;
}

/* Diagonal blocks, blocks below them, and everything else as products; a column waits for its diagonal. */
static double cholesky (const gb_cpu_profile *r, const gb_type_profile *t, int threads, double n) {
  const double b = fmin(n, BLOCK), blocks = ceil(n / BLOCK);
  const double diagonal = n * b * b / 3 / t->potrf, panel = n * (n - b) / 2 * b / t->trsm;
  const double rest = fmax(0, n * n * n / 3 - n * b * b / 3 - n * (n - b) / 2 * b) / t->gemm;
  const double chain = blocks * (b * b * b / 3 / t->potrf + (blocks > 1 ? b * b * b / t->trsm : 0));
  return fmax(chain, (diagonal + panel + rest) / gb_cost_speed(r, threads, blocks * (blocks + 1) / 2));
}

/* One pass of substitution over k right-hand sides. */
static double substitution (const gb_cpu_profile *r, const gb_type_profile *t, double size, int threads,
                            double n, double k) {
  const double b = fmin(n, BLOCK), width = fmin(k, BLOCK);
  const double narrow = n * n / 2 * size / t->gemv * ceil(k / BLOCK);
  const double flops = n * b * k / rate_at(k, t->trsm_16, t->trsm) +
                       fmax(0, n * (n - b)) * k / rate_at(k, t->gemm_16, t->gemm);
  const double tasks = ceil(n / BLOCK) * ceil(k / BLOCK);
  const double alone = width < 2 ? narrow : narrow + flops;
  return fmax(alone / gb_cost_speed(r, threads, tasks), gb_cost_bytes(r, threads, n * n / 2 * size));
}

static double factorisation (const gb_cpu_profile *r, const gb_type_profile *t, int threads, double n) {
  const double b = fmin(n, BLOCK), all = 2 * n * n * n / 3, panels = fmin(all, n * n * b);
  return panels / t->lu + (all - panels) / t->gemm / gb_cost_speed(r, threads, ceil(n / BLOCK));
}

static double decomposition (const gb_cpu_profile *r, const gb_type_profile *t, int threads, gb_op op,
                             double n, double m) {
  const double least = fmin(n, m);
  switch (op) {
    case GB_OP_QR: {
      const double panels = 4 * n * m * fmin(m, BLOCK / 4), all = 4 * n * m * m;
      return fmin(panels, all) / 2 / t->qr +
             fmax(0, all - panels) / t->gemm / gb_cost_speed(r, threads, ceil(m / BLOCK));
    }
    case GB_OP_EIGH: return 9 * n * n * n / t->eigh;
    default: return 20 * n * m * least / t->svd;
  }
}

static double algebra (const gb_cpu_profile *r, int threads, const gb_opaque *o, const sizes *z) {
  const gb_type_profile *t = gb_cost_type(r, o->in_dtype[0]);
  const double size = (double)gb_dtype_size(o->in_dtype[0]), n = z->n;
  switch (o->op) {
    case GB_OP_GEMM: {
      const double rows = dim(&o->out_shape[0], 2), cols = dim(&o->out_shape[0], 1),
                   batch = numel(&o->out_shape[0]) / fmax(1, rows * cols);
      const double tasks = batch * ceil(rows / BLOCK) * ceil(cols / BLOCK);
      return batch * product(r, t, size, 1, rows, cols, z->m) / gb_cost_speed(r, threads, tasks);
    }
    case GB_OP_CHOLESKY: return cholesky(r, t, threads, n) + move(r, threads, z);
    case GB_OP_TRISOLVE:
    case GB_OP_INV_QUAD: return substitution(r, t, size, threads, n, z->k);
    case GB_OP_SOLVE_CHOL: return 2 * substitution(r, t, size, threads, n, z->k);
    case GB_OP_CHOL_INVERSE: return 2 * cholesky(r, t, threads, n) + move(r, threads, z);
    case GB_OP_LU_SOLVE:
      return factorisation(r, t, threads, n) + 2 * substitution(r, t, size, threads, n, z->k);
    case GB_OP_LU_LOGDET: return factorisation(r, t, threads, n);
    default: return decomposition(r, t, threads, o->op, n, z->m);
  }
}

/* Small ones side by side, each by one thread; large ones one after the other. */
static double slices (const gb_cpu_profile *r, int threads, const gb_opaque *o) {
  const gb_slices s = gb_slices_of(o);
  const double count = fmax(1, (double)s.count);
  if (!gb_slice_is_small(&s.one)) return count * gb_cost_opaque(r, threads, &s.one);
  return count * gb_cost_opaque(r, 1, &s.one) / gb_cost_speed(r, threads, count);
}

double gb_cost_opaque (const gb_cpu_profile *r, int threads, const gb_opaque *o) {
  if (gb_has_slices(o)) return slices(r, threads, o);
  const sizes z = sizes_of(o);
  const gb_type_profile *t = gb_cost_type(r, o->nin > 0 ? o->in_dtype[0] : o->out_dtype[0]);
  const double in = o->nin > 0 ? numel(&o->in_shape[0]) : 0, out = numel(&o->out_shape[0]);
  switch (o->op) {
    case GB_OP_SORT:
    case GB_OP_TOPK: return move(r, 1, &z) + in * log2(fmax(2, in)) * t->sort;
    case GB_OP_SOBOL:
    case GB_OP_RANDPERM: return move(r, 1, &z) + out * t->rand;
    case GB_OP_CUMSUM: return move(r, 1, &z) + in * t->reduce_all;
    case GB_OP_LOGDET: return gb_cost_bytes(r, 1, 64 * z.n) + z.n * t->map[GB_OP_LOG];
    case GB_OP_GEMM:
    case GB_OP_CHOLESKY:
    case GB_OP_TRISOLVE:
    case GB_OP_CHOL_INVERSE:
    case GB_OP_INV_QUAD:
    case GB_OP_SOLVE_CHOL:
    case GB_OP_QR:
    case GB_OP_EIGH:
    case GB_OP_SVD:
    case GB_OP_LU_SOLVE:
    case GB_OP_LU_LOGDET: return algebra(r, threads, o, &z);
    default: return move(r, threads, &z);
  }
}
