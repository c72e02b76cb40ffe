/* cost.c - seconds of a step: of what a GPU does at once, the slowest part. */
#include <math.h>

#include "cuda/dense/opaque.h"
#include "cuda/price/profile.h"
#include "program/slices.h"

/* -- folds */

static double most (double a, double b) { return a > b ? a : b; }

/* Thread blocks are equal pieces of work, and multiprocessors take them in turns: the last turn may be half empty. */
static double turns (const gb_cuda_profile *p, double blocks) {
  const double all = blocks / p->multiprocessors;
  return all <= 0 ? 1 : ceil(all) / all;
}

double gb_cuda_cost_fold (const gb_cuda_profile *p, const gb_fold *f, double fraction) {
  const gb_cuda_work w = gb_cuda_work_of(f, "unit");
  const double arithmetic = most(most(w.slots / p->issue, w.special / p->special), w.f64 / p->fma64);
  const double work = most(arithmetic * turns(p, w.blocks * fraction), w.bytes / p->read);
  return work * fraction + w.launches * p->launch_s + p->step_s;
}

/* -- opaque ops */

static double dim (const gb_shape *s, int back) {
  return s->ndim < back ? 1 : (double)s->dim[s->ndim - back];
}

static double numel (const gb_shape *s) {
  double n = 1;
  for (int a = 0; a < s->ndim; a++) n *= (double)s->dim[a];
  return n;
}

double gb_cuda_beyond (gb_cuda_dense d, double seconds, double gemm, double ratio) {
  static const double share[GB_CUDA_DENSE] = {
      [GB_CUDA_TIME_GEMM] = 1, /* multiplications, of those of a product */
      [GB_CUDA_TIME_POTRF] = 1. / 6, [GB_CUDA_TIME_TRSM] = 1. / 2,  [GB_CUDA_TIME_GEQRF] = 2. / 3,
      [GB_CUDA_TIME_GETRF] = 1. / 3, [GB_CUDA_TIME_SYEVD] = 9. / 2, [GB_CUDA_TIME_GESVD] = 11};
  const double cubic = d == GB_CUDA_TIME_GEMM ? seconds : fmin(seconds, share[d] * gemm);
  return (seconds - cubic) * ratio + cubic * ratio * ratio * ratio;
}

/* Seconds at an order: between those measured, and beyond them. */
static double at_order (const double (*table)[GB_CUDA_ORDERS], gb_cuda_dense d, double n) {
  enum { LAST = GB_CUDA_ORDERS - 1 };
  const double at = log2(fmax(n, 1) / GB_CUDA_LEAST_ORDER), *seconds = table[d];
  if (at <= 0) return seconds[0];
  if (at >= LAST) return gb_cuda_beyond(d, seconds[LAST], table[GB_CUDA_TIME_GEMM][LAST], exp2(at - LAST));
  const int i = (int)at;
  return seconds[i] * pow(seconds[i + 1] / seconds[i], at - i);
}

/* A product of rows, columns and inner indices takes what the cube of the same size takes. */
static double product (const double (*table)[GB_CUDA_ORDERS], gb_cuda_dense d, double n, double m, double k) {
  return at_order(table, d, cbrt(n * m * k));
}

typedef struct sizes {
  double n, m, k; /* of the first input (n, m); k right-hand sides */
  double batch, bytes;
} sizes;

static sizes sizes_of (const gb_opaque *o) {
  sizes z = {.n = dim(&o->in_shape[0], 2), .m = dim(&o->in_shape[0], 1), .k = 1, .batch = 1};
  if (o->nin > 1 && o->in_shape[1].ndim > 1) z.k = dim(&o->in_shape[1], 1);
  if (o->nin > 0) z.batch = numel(&o->in_shape[0]) / fmax(1, z.n * z.m);
  if (gb_has_slices(o)) z.batch = (double)gb_slices_of(o).count;
  for (int i = 0; i < o->nin && i < 4; i++)
    z.bytes += numel(&o->in_shape[i]) * (double)gb_dtype_size(o->in_dtype[i]);
  for (int i = 0; i < o->nout; i++)
    z.bytes += numel(&o->out_shape[i]) * (double)gb_dtype_size(o->out_dtype[i]);
  return z;
}

static double algebra (const gb_cuda_profile *p, const gb_opaque *o, const sizes *z) {
  const double(*t)[GB_CUDA_ORDERS] = p->dense[o->in_dtype[0] == GB_F32];
  const double solve = product(t, GB_CUDA_TIME_TRSM, z->n, z->n, z->k);
  switch (o->op) {
    case GB_OP_GEMM:
      return product(t, GB_CUDA_TIME_GEMM, dim(&o->out_shape[0], 2), dim(&o->out_shape[0], 1), z->m);
    case GB_OP_CHOLESKY: return at_order(t, GB_CUDA_TIME_POTRF, z->n);
    case GB_OP_TRISOLVE:
    case GB_OP_INV_QUAD: return solve;
    case GB_OP_SOLVE_CHOL: return 2 * solve;
    case GB_OP_CHOL_INVERSE:
      return at_order(t, GB_CUDA_TIME_TRSM, z->n) + at_order(t, GB_CUDA_TIME_GEMM, z->n);
    case GB_OP_LU_SOLVE: return at_order(t, GB_CUDA_TIME_GETRF, z->n) + 2 * solve;
    case GB_OP_LU_LOGDET: return at_order(t, GB_CUDA_TIME_GETRF, z->n);
    case GB_OP_QR: return product(t, GB_CUDA_TIME_GEQRF, z->n, z->m, z->m);
    case GB_OP_EIGH: return at_order(t, GB_CUDA_TIME_SYEVD, z->n);
    case GB_OP_SVD: return product(t, GB_CUDA_TIME_GESVD, z->n, z->m, fmin(z->n, z->m));
    default: return 0;
  }
}

/* Matrices that take their time one after the other. Of those that are computed at once a multiprocessor has room for several. */
static double in_turn (const gb_cuda_profile *p, const gb_opaque *o, double batch) {
  const double beside = 8 * p->multiprocessors;
  return gb_has_slices(o) && gb_cuda_slices_at_once(o) ? ceil(batch / beside) : batch;
}

double gb_cuda_cost_opaque (const gb_cuda_profile *p, const gb_opaque *o, double fraction) {
  const sizes z = sizes_of(o);
  if (o->op == GB_OP_MOVE) return p->copy_s + fraction * z.bytes / 2 / fmin(p->up, p->down);
  const double work = in_turn(p, o, z.batch) * algebra(p, o, &z) + z.bytes / fmin(p->read, p->write);
  return fraction * work + 2 * p->launch_s + p->step_s;
}
