/* blas.h - the allowed interface to BLAS and LAPACK: single-threaded, row-major, both float types, no hidden
** memory.
**
** All matrices are row-major with a leading dimension. Sizes of one call stay below 2^31. Column-major
** routines of LAPACK are called on the transposed problem, which has the same memory. */
#ifndef GB_CPU_LINALG_BLAS_H
#define GB_CPU_LINALG_BLAS_H

#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"
#include "program/packed.h"

typedef enum gb_uplo { GB_LOWER, GB_UPPER } gb_uplo;

/* Restricts BLAS to one thread and maps its packing buffers, one for each pool thread, if memory is
** available. Errors: EINTERNAL if BLAS keeps using threads. */
gb_status gb_blas_start (gb_pool *pool, gb_error *err);

/* Must precede other calls: without buffers BLAS would wait for ever. Errors: ENOMEM. */
gb_status gb_blas_ready (gb_error *err);

const char *gb_blas_identity (void); /* one line: library, version, the kernels it chose */

/* c (m, n) = beta c + alpha op(a) (m, k) op(b) (k, n); the inner dimension in chunks of GB_BLOCK,
** ascending. */
void gb_blas_gemm (gb_dtype t, bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const void *a,
                   size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc);

/* Lower triangle of c (n, n) += alpha a a', a (n, k); 'ta': += alpha a' a, a (k, n). k <= GB_BLOCK. */
void gb_blas_syrk_lower (gb_dtype t, bool ta, size_t n, size_t k, double alpha, const void *a, size_t lda,
                         void *c, size_t ldc);

/* b (m, n) = op(a)^-1 b, a (m, m) triangular; 'unit': its diagonal is taken as ones. */
void gb_blas_trsm_left (gb_dtype t, gb_uplo uplo, bool ta, bool unit, size_t m, size_t n, const void *a,
                        size_t lda, void *b, size_t ldb);

/* b (m, n) = b op(a)^-1, a (n, n) triangular. */
void gb_blas_trsm_right (gb_dtype t, gb_uplo uplo, bool ta, bool unit, size_t m, size_t n, const void *a,
                         size_t lda, void *b, size_t ldb);

/* b (m, n) = a' b, a (m, m) lower triangular. */
void gb_blas_trmm_left_trans (gb_dtype t, size_t m, size_t n, const void *a, size_t lda, void *b, size_t ldb);

/* Lower Cholesky factor in place of the lower triangle; the upper one is not touched. Returns 0, or the
** order of the first leading minor that is not positive. */
size_t gb_lapack_potrf (gb_dtype t, size_t n, void *a, size_t lda);

/* Inverse of the lower triangle, in place. The diagonal has no zeros. */
void gb_lapack_trtri (gb_dtype t, size_t n, void *a, size_t lda);

/* a = l' l for the lower triangle l, in place. */
void gb_lapack_lauum (gb_dtype t, size_t n, void *a, size_t lda);

/* 1 / (|A|_1 |A^-1|_1), estimated in O(n^2) from the lower factor l of A and 'norm' = |A|_1; work:
** gb_lapack_pocon_bytes. The second norm is estimated from below. Source: Higham (1988), FORTRAN codes for
** estimating the one-norm of a matrix. */
size_t gb_lapack_pocon_bytes (gb_dtype t, size_t n);
double gb_lapack_pocon (gb_dtype t, size_t n, const void *l, size_t ld, double norm, void *work);

/* LU with partial pivoting of the COLUMN-major a (m, n), m >= n: pivot[j] = row swapped with row j, from 0.
** Returns 0, or 1 + the first column whose pivot is exactly zero; the factorisation is complete in either
** case. */
size_t gb_lapack_getrf (gb_dtype t, size_t m, size_t n, void *a, size_t lda, int *pivot);

/* The reflection I - tau v v' that takes x (n) to (beta, 0, ...): x becomes beta, then v without its
** leading 1. */
void gb_lapack_larfg (gb_dtype t, size_t n, void *x, void *tau);

/* Workspace of eigh and svd, in bytes, from LAPACK itself. */
size_t gb_lapack_eigh_bytes (gb_dtype t, size_t n);
size_t gb_lapack_svd_bytes (gb_dtype t, size_t n, size_t m);

/* a (n, n), lower triangle read: overwritten by eigenvectors in its ROWS; values ascending. Returns
** LAPACK's info. */
int gb_lapack_eigh (gb_dtype t, size_t n, void *a, void *values, void *work);

/* a (n, m) is destroyed; u (n, k), s (k) descending, vt (k, m), k = min(n, m). Returns LAPACK's info. */
int gb_lapack_svd (gb_dtype t, size_t n, size_t m, void *a, void *u, void *s, void *vt, void *work);

#endif
