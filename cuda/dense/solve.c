/* solve.c - triangular systems, and systems in a Cholesky factor. */
#include <float.h>

#include "cuda/dense/kernels.h"
#include "cuda/dense/opaque.h"
#include "cuda/dense/triangle.h"

/* A row-major X is X' to a library that reads columns, and op(A) X = B is X' op(A)' = B'. */
static gb_status solve_panel (const gb_cuda_call *c, const gb_cuda_triangle *t, void *x, size_t r,
                              size_t ldx) {
  const gb_cuda_libraries *l = c->lib;
  const cublasFillMode_t fill = t->upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const cublasOperation_t op = t->trans ? CUBLAS_OP_T : CUBLAS_OP_N;
  const double one = 1;
  const float one_f = 1;
  gb_error *err = c->err;
  if (gb_cuda_is_f32(c))
    GB_CUDA_BLAS(l->blas->cublasStrsm_v2(l->blas_handle, CUBLAS_SIDE_RIGHT, fill, op, CUBLAS_DIAG_NON_UNIT,
                                         (int)r, (int)t->n, &one_f, t->a, (int)t->lda, x, (int)ldx));
  else
    GB_CUDA_BLAS(l->blas->cublasDtrsm_v2(l->blas_handle, CUBLAS_SIDE_RIGHT, fill, op, CUBLAS_DIAG_NON_UNIT,
                                         (int)r, (int)t->n, &one, t->a, (int)t->lda, x, (int)ldx));
  return GB_OK;
}

gb_status gb_cuda_solve_triangle (const gb_cuda_call *c, const gb_cuda_triangle *t, void *x, size_t r,
                                  size_t ldx) {
  const size_t size = gb_dtype_size(c->o->in_dtype[0]);
  for (size_t j = 0; t->n > 0 && j < gb_blocks(r, GB_CUDA_DENSE_BLOCK); j++)
    GB_TRY(solve_panel(c, t, (char *)x + j * GB_CUDA_DENSE_BLOCK * size,
                       gb_block_extent(r, GB_CUDA_DENSE_BLOCK, j), ldx));
  return GB_OK;
}

/* The system of the op, with x a copy of b; what is not finite in b is found. */
typedef struct linear_system {
  gb_cuda_triangle a;
  void *x;
  size_t r;
} linear_system;

static gb_status system_of (const gb_cuda_call *c, void *x, linear_system *s) {
  const size_t n = c->o->in_shape[0].dim[0], r = gb_cuda_columns(&c->o->in_shape[1]);
  gb_error *err = c->err;
  *s = (linear_system){{.a = c->in[0], .n = n, .lda = n}, x, r};
  GB_CUDA_TRY(
      gb_cuda_check(gb_cuda_is_f32(c), c->in[1], n, r, false, GB_CUDA_RIGHT, c->found, c->gpu->stream));
  if (x != c->in[1] && n * r > 0)
    GB_CUDA_TRY(cudaMemcpyAsync(x, c->in[1], n * r * gb_dtype_size(c->o->in_dtype[0]),
                                cudaMemcpyDeviceToDevice, c->gpu->stream));
  return GB_OK;
}

/* ENAN where finite inputs have a result (n, m) that is not. Of others, the result is what it is. */
static gb_status finish (const gb_cuda_call *c, const void *result, size_t n, size_t m,
                         gb_cuda_found *found) {
  const bool f32 = gb_cuda_is_f32(c);
  const gb_shape *s = &c->o->in_shape[0];
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_check(f32, result, n, m, false, GB_CUDA_RESULT, c->found, c->gpu->stream));
  GB_CUDA_TRY(
      gb_cuda_check(f32, c->in[0], s->dim[0], s->dim[1], false, GB_CUDA_MATRIX, c->found, c->gpu->stream));
  return gb_cuda_read_found(c, found);
}

static gb_status judge (const gb_cuda_call *c, const gb_cuda_found *found, const char *what) {
  const bool inputs = found->first[GB_CUDA_RIGHT] == GB_CUDA_NONE &&
                      found->first[GB_CUDA_MATRIX] == GB_CUDA_NONE;
  return inputs && found->first[GB_CUDA_RESULT] != GB_CUDA_NONE ? gb_cuda_overflows(c, what) : GB_OK;
}

static gb_status singular (const gb_cuda_call *c, size_t row, size_t n) {
  return gb_fail(c->err, GB_ENOTPD,
                 "triangular_solve: the matrix is singular: row %zu of %zu has 0 on the diagonal", row, n);
}

static gb_status dependent (const gb_cuda_call *c, size_t column, size_t rank, size_t n) {
  return gb_fail(c->err, GB_ENOTPD,
                 "lstsq: the matrix has rank %zu, of %zu columns: column %zu is made of those before it; "
                 "leave it out, or add a ridge",
                 rank, n, column);
}

gb_status gb_cuda_trisolve (const gb_cuda_call *c) {
  const bool f32 = gb_cuda_is_f32(c), lstsq = c->o->attr.i[2] != 0;
  linear_system s;
  gb_cuda_found found;
  gb_error *err = c->err;
  GB_TRY(system_of(c, c->out[0], &s));
  s.a.upper = c->o->attr.i[0] != 0;
  s.a.trans = c->o->attr.i[1] != 0;
  if (lstsq)
    GB_CUDA_TRY(gb_cuda_check_rank(f32, s.a.a, s.a.n, (size_t)c->o->attr.i[2], c->found, c->gpu->stream));
  else GB_CUDA_TRY(gb_cuda_check_diagonal(f32, s.a.a, s.a.n, false, c->found, c->gpu->stream));
  GB_TRY(gb_cuda_solve_triangle(c, &s.a, s.x, s.r, s.r));
  GB_TRY(finish(c, s.x, s.a.n, s.r, &found));
  const size_t pivot = (size_t)found.first[GB_CUDA_PIVOT] + 1;
  if (found.first[GB_CUDA_PIVOT] != GB_CUDA_NONE)
    return lstsq ? dependent(c, pivot, s.a.n - (size_t)found.count, s.a.n) : singular(c, pivot, s.a.n);
  return judge(c, &found, lstsq ? "lstsq: the solution" : "triangular_solve: the solution");
}

gb_status gb_cuda_solve_chol (const gb_cuda_call *c) {
  linear_system s;
  gb_cuda_found found;
  GB_TRY(system_of(c, c->out[0], &s));
  GB_TRY(gb_cuda_solve_triangle(c, &s.a, s.x, s.r, s.r));
  s.a.trans = true;
  GB_TRY(gb_cuda_solve_triangle(c, &s.a, s.x, s.r, s.r));
  GB_TRY(finish(c, s.x, s.a.n, s.r, &found));
  return judge(c, &found, "solve: the solution");
}

static size_t right_count (const gb_opaque *o) {
  return o->in_shape[0].dim[0] * gb_cuda_columns(&o->in_shape[1]);
}

size_t gb_cuda_inv_quad_scratch (const gb_device *dev, const gb_opaque *o) {
  (void)dev;
  return gb_cuda_numbers(o, right_count(o)) + gb_blocks(right_count(o), GB_BLOCK) * sizeof(double);
}

/* |L^-1 b|^2: never negative, and half the work of a solve. */
gb_status gb_cuda_inv_quad (const gb_cuda_call *c) {
  const size_t count = right_count(c->o);
  double *sums = (double *)(void *)(c->scratch + gb_cuda_numbers(c->o, count));
  linear_system s;
  gb_cuda_found found;
  gb_error *err = c->err;
  GB_TRY(system_of(c, c->scratch, &s));
  GB_TRY(gb_cuda_solve_triangle(c, &s.a, s.x, s.r, s.r));
  GB_CUDA_TRY(gb_cuda_sum_squares(gb_cuda_is_f32(c), s.x, count, sums, c->out[0], c->gpu->stream));
  GB_TRY(finish(c, c->out[0], 1, 1, &found));
  return judge(c, &found, "inv_quad: b' A^-1 b");
}

gb_status gb_cuda_logdets (const gb_cuda_call *c, const gb_slices *s) {
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_sum_logs(gb_cuda_is_f32(c), c->in[0], s->one.in_shape[0].dim[0], s->count, 2, false,
                               NULL, c->out[0], c->gpu->stream));
  return GB_OK;
}

/* -- small matrices */

/* Column j of R of slice k depends on those before: how many do. */
static gb_status small_dependent (const gb_cuda_call *c, const gb_slices *s, size_t k, size_t j) {
  const size_t n = s->one.in_shape[0].dim[0];
  const void *a = (const char *)c->in[0] + gb_slice_of_input(s, 0, k);
  gb_cuda_found found;
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_check_rank(gb_cuda_is_f32(c), a, n, (size_t)c->o->attr.i[2], c->found, c->gpu->stream));
  GB_TRY(gb_cuda_read_found(c, &found));
  return dependent(c, j + 1, n - (size_t)found.count, n);
}

/* The first slice that failed; of one that is singular it does not matter that its result is not finite. */
static gb_status small_systems (const gb_cuda_call *c, const gb_slices *s, const gb_cuda_small *p,
                                const char *what) {
  gb_cuda_found found;
  gb_error *err = c->err;
  GB_CUDA_TRY(gb_cuda_small_systems(gb_cuda_is_f32(c), p, c->gpu->stream));
  GB_TRY(gb_cuda_read_found(c, &found));
  const uint64_t pivot = found.first[GB_CUDA_PIVOT], result = found.first[GB_CUDA_RESULT];
  if (pivot == GB_CUDA_NONE && result == GB_CUDA_NONE) return GB_OK;
  if (pivot == GB_CUDA_NONE || result < pivot / p->n)
    return gb_slice_failed(s, (size_t)result, gb_cuda_overflows(c, what), err);
  const size_t k = (size_t)(pivot / p->n), j = (size_t)(pivot % p->n);
  const gb_status st = p->least > 0 ? small_dependent(c, s, k, j) : singular(c, j + 1, p->n);
  return gb_slice_failed(s, k, st, err);
}

gb_status gb_cuda_small_trisolve (const gb_cuda_call *c, const gb_slices *s) {
  const int64_t *attr = c->o->attr.i;
  gb_cuda_small p = gb_cuda_small_of(c, s);
  p.upper = attr[0] != 0;
  p.trans = attr[1] != 0;
  p.judged = true;
  if (attr[2] != 0) p.least = (double)attr[2] * (gb_cuda_is_f32(c) ? (double)FLT_EPSILON : DBL_EPSILON);
  return small_systems(c, s, &p, attr[2] != 0 ? "lstsq: the solution" : "triangular_solve: the solution");
}

gb_status gb_cuda_small_solve_chol (const gb_cuda_call *c, const gb_slices *s) {
  gb_cuda_small p = gb_cuda_small_of(c, s);
  p.both = true;
  return small_systems(c, s, &p, "solve: the solution");
}

gb_status gb_cuda_small_inv_quad (const gb_cuda_call *c, const gb_slices *s) {
  gb_cuda_small p = gb_cuda_small_of(c, s);
  p.squares = true;
  return small_systems(c, s, &p, "inv_quad: b' A^-1 b");
}
