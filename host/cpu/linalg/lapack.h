/* lapack.h - the Fortran entry points of LAPACK that blas.c calls. Lengths of character arguments come after
** all other arguments, as Fortran compilers pass them. */
#ifndef GB_CPU_LINALG_LAPACK_H
#define GB_CPU_LINALG_LAPACK_H

#include <stddef.h>

#define GB_LAPACK(P, T)                                                                                      \
  void P##potrf_(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);                   \
  void P##trtri_(const char *uplo, const char *diag, const int *n, T *a, const int *lda, int *info, size_t,  \
                 size_t);                                                                                    \
  void P##lauum_(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);                   \
  void P##getrf_(const int *m, const int *n, T *a, const int *lda, int *pivot, int *info);                   \
  void P##larfg_(const int *n, T *alpha, T *x, const int *incx, T *tau);                                     \
  void P##pocon_(const char *uplo, const int *n, const T *a, const int *lda, const T *norm, T *rcond,        \
                 T *work, int *iwork, int *info, size_t);                                                    \
  void P##syevd_(const char *job, const char *uplo, const int *n, T *a, const int *lda, T *values, T *work,  \
                 const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);                \
  void P##gesdd_(const char *job, const int *m, const int *n, T *a, const int *lda, T *s, T *u,              \
                 const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, int *iwork, int *info,   \
                 size_t);                                                                                    \
  void P##gemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const T *alpha,    \
                const T *a, const int *lda, const T *b, const int *ldb, const T *beta, T *c, const int *ldc, \
                size_t, size_t);

GB_LAPACK(s, float)
GB_LAPACK(d, double)
#undef GB_LAPACK

#endif
