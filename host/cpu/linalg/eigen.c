/* eigen.c - eigenvalues of symmetric matrices and singular values, by LAPACK's divide and conquer.
**
** The library call cannot be divided: an interrupt is handled when it returns. Cost: about 9 n^3 and 6 n m^2
** + 20 m^3 flops. Workspaces have the size that LAPACK reports, at most 2^31 - 1 numbers, and are zeroed, so
** earlier contents cannot affect a result. */
#include <string.h>

#include "base/interrupt.h"
#include "cpu/linalg/opaque.h"

/* Largest order whose workspace of about 4 n^2 numbers LAPACK's 32-bit integers can count. */
#define LARGEST 23000

static gb_status check_order (const gb_opaque_call *c, const char *what, size_t n) {
  if (n <= LARGEST) return GB_OK;
  return gb_fail(c->err, GB_EOPTION, "%s: order %zu exceeds %d, the most that 32-bit LAPACK can do", what, n,
                 LARGEST);
}

static gb_status outcome (const gb_opaque_call *c, const char *what, int info) {
  if (gb_interrupted()) return gb_fail(c->err, GB_EINTR, "interrupted");
  if (info != 0) return gb_fail(c->err, GB_ENOTCONV, "%s: did not converge (%d)", what, info);
  return GB_OK;
}

size_t gb_cpu_eigh_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  const size_t n = o->in_shape[0].dim[0];
  return n == 0 || n > LARGEST ? 0 : gb_lapack_eigh_bytes(o->in_dtype[0], n);
}

gb_status gb_cpu_eigh (const gb_opaque_call *c) {
  const size_t n = c->o->in_shape[0].dim[0];
  const gb_dtype t = c->o->in_dtype[0];
  if (n == 0) return GB_OK;
  GB_TRY(check_order(c, "eigh", n));
  const gb_tiles a = gb_tiles_of(t, false, n, n, c->in[0]);
  GB_TRY(gb_check_lower(c->pool, &a, 0, c->err));
  memcpy(c->out[1], c->in[0], n * n * gb_dtype_size(t));
  memset(c->scratch, 0, gb_lapack_eigh_bytes(t, n));
  GB_TRY(outcome(c, "eigh", gb_lapack_eigh(t, n, c->out[1], c->out[0], c->scratch)));
  GB_TRY(gb_check_result(c, "eigh: an eigenvalue", n, 1, c->out[0]));
  return gb_transpose_square(c->pool, t, n, c->out[1], c->err);
}

/* Copies of the matrix and of the right vectors, transposed as LAPACK returns them, precede its workspace. */
typedef struct svd_sizes {
  size_t n, m, k, matrix, vectors;
} svd_sizes;

static svd_sizes sizes_of (const gb_opaque *o) {
  const size_t n = o->in_shape[0].dim[0], m = o->in_shape[0].dim[1], k = n < m ? n : m;
  const size_t size = gb_dtype_size(o->in_dtype[0]);
  return (svd_sizes){n, m, k, gb_align64(n * m * size), gb_align64(k * m * size)};
}

size_t gb_cpu_svd_scratch (const gb_pool *pool, const gb_opaque *o) {
  (void)pool;
  const svd_sizes s = sizes_of(o);
  if (s.k == 0 || s.k > LARGEST) return 0;
  return s.matrix + s.vectors + gb_lapack_svd_bytes(o->in_dtype[0], s.n, s.m);
}

gb_status gb_cpu_svd (const gb_opaque_call *c) {
  const svd_sizes s = sizes_of(c->o);
  const gb_dtype t = c->o->in_dtype[0];
  if (s.k == 0) return GB_OK;
  GB_TRY(check_order(c, "svd", s.k));
  GB_TRY(gb_check_finite(c->pool, t, s.n, s.m, c->in[0], c->err));
  char *a = c->scratch, *vt = a + s.matrix;
  memcpy(a, c->in[0], s.n * s.m * gb_dtype_size(t));
  memset(vt + s.vectors, 0, gb_lapack_svd_bytes(t, s.n, s.m));
  GB_TRY(outcome(c, "svd", gb_lapack_svd(t, s.n, s.m, a, c->out[0], c->out[1], vt, vt + s.vectors)));
  GB_TRY(gb_check_result(c, "svd: a singular value", s.k, 1, c->out[1]));
  return gb_transpose_copy(c->pool, t, s.k, s.m, vt, s.m, c->out[2], s.k, c->err);
}
