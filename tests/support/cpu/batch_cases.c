/* batch_cases.c - batches for tests of dense algebra. */
#include "support/cpu/batch_cases.h"

#include "program/slices.h"

const gb_op batch_ops[BATCH_OPS] = {GB_OP_CHOLESKY,   GB_OP_CHOL_INVERSE, GB_OP_LOGDET,    GB_OP_QR,
                                    GB_OP_EIGH,       GB_OP_SVD,          GB_OP_LU_LOGDET, GB_OP_TRISOLVE,
                                    GB_OP_SOLVE_CHOL, GB_OP_INV_QUAD,     GB_OP_LU_SOLVE};

bool batch_has_right (gb_op op) {
  return op == GB_OP_TRISOLVE || op == GB_OP_SOLVE_CHOL || op == GB_OP_INV_QUAD || op == GB_OP_LU_SOLVE;
}

/* The leading axes of the result and 'ndim' axes of its own. */
static void add_out (op_case *c, int i, const gb_shape *lead, int ndim, size_t n, size_t m) {
  gb_shape s = *lead;
  if (ndim > 0) s.dim[s.ndim++] = n;
  if (ndim > 1) s.dim[s.ndim++] = m;
  op_out(c, i, c->o.in_dtype[0], s);
}

static void add_outs (op_case *c, const gb_shape *lead, size_t n, size_t m, size_t r) {
  const size_t k = n < m ? n : m;
  switch (c->o.op) {
    case GB_OP_CHOLESKY:
    case GB_OP_CHOL_INVERSE: add_out(c, 0, lead, 2, n, n); return;
    case GB_OP_LOGDET:
    case GB_OP_LU_LOGDET:
    case GB_OP_INV_QUAD: add_out(c, 0, lead, 0, 0, 0); return;
    case GB_OP_QR: add_out(c, 0, lead, 2, n, m), add_out(c, 1, lead, 2, m, m); return;
    case GB_OP_EIGH: add_out(c, 0, lead, 1, n, 0), add_out(c, 1, lead, 2, n, n); return;
    case GB_OP_SVD:
      add_out(c, 0, lead, 2, n, k), add_out(c, 1, lead, 1, k, 0), add_out(c, 2, lead, 2, m, k);
      return;
    default: add_out(c, 0, lead, 2, n, r);
  }
}

static gb_shape with_matrix (const gb_shape *lead, size_t n, size_t m) {
  gb_shape s = *lead;
  s.dim[s.ndim++] = n;
  s.dim[s.ndim++] = m;
  return s;
}

double *batch_matrices (size_t count, size_t n, size_t m) {
  double *a = random_normal(count * n * m, 3);
  for (size_t k = 0; k < count && n == m; k++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        double *x = a + k * n * n;
        x[j * n + i] = x[i * n + j];
        if (i == j) x[i * n + i] = 3 * (double)n + fabs(x[i * n + i]);
      }
  return a;
}

op_case batch_new (const batch_case *q, const void *a, const void *b) {
  op_case c = op_new(q->op);
  op_in(&c, q->dtype, with_matrix(&q->a, q->n, q->m), a);
  if (batch_has_right(q->op)) op_in(&c, q->dtype, with_matrix(&q->b, q->n, q->r), b);
  add_outs(&c, &q->lead, q->n, q->m, q->r);
  return c;
}

op_case slice_new (const batch_case *q, const void *a, const void *b, size_t k) {
  const gb_shape none = {0}, sa = with_matrix(&q->a, q->n, q->m), sb = with_matrix(&q->b, q->n, q->r);
  const size_t size = gb_dtype_size(q->dtype);
  op_case c = op_new(q->op);
  op_in(&c, q->dtype, shape2(q->n, q->m),
        (const char *)a + gb_matrix_at(&q->lead, &sa, k) * q->n * q->m * size);
  if (batch_has_right(q->op))
    op_in(&c, q->dtype, shape2(q->n, q->r),
          (const char *)b + gb_matrix_at(&q->lead, &sb, k) * q->n * q->r * size);
  add_outs(&c, &none, q->n, q->m, q->r);
  return c;
}

void batch_with_numbers (const batch_case *q,
                         void (*check)(const batch_case *q, const void *a, const void *b)) {
  const size_t na = gb_shape_numel(&q->a), nb = gb_shape_numel(&q->b);
  double *wide = batch_matrices(na, q->n, q->m), *right = random_normal(nb * q->n * q->r + 1, 9);
  void *a = converted(wide, na * q->n * q->m, q->dtype), *b = converted(right, nb * q->n * q->r, q->dtype);
  check(q, a, b);
  free(wide), free(right), free(a), free(b);
}
