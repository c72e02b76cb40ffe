/* lapack.h - BLAS and LAPACK of the host by value, for both types: what blas.cpp and solver.cpp compute with. */
#pragma once
#include <stddef.h>

#include <vector>

/* A routine of both types under one name: its parameters as Fortran has them, and the same by value. */
#define EMU_ROUTINE(name, FORTRAN, VALUES, ...)                                                              \
  extern "C" void s##name##_ FORTRAN(float);                                                                 \
  extern "C" void d##name##_ FORTRAN(double);                                                                \
  namespace emu {                                                                                            \
  inline void name VALUES (float) { s##name##_(__VA_ARGS__); }                                               \
  inline void name VALUES (double) { d##name##_(__VA_ARGS__); }                                              \
  }
typedef const char *emu_text;
typedef const int *emu_number;

#define F(T)                                                                                                 \
  (emu_text, emu_text, emu_number, emu_number, emu_number, const T *, const T *, emu_number, const T *,      \
   emu_number, const T *, T *, emu_number)
#define V(T)                                                                                                 \
  (char ta, char tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c,   \
   int ldc)
EMU_ROUTINE(gemm, F, V, &ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc)
#undef F
#undef V
#define F(T)                                                                                                 \
  (emu_text, emu_number, emu_number, const T *, const T *, emu_number, const T *, emu_number, const T *,     \
   T *, emu_number)
#define V(T)                                                                                                 \
  (char ta, int m, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy)
EMU_ROUTINE(gemv, F, V, &ta, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy)
#undef F
#undef V
#define F(T)                                                                                                 \
  (emu_text, emu_text, emu_text, emu_text, emu_number, emu_number, const T *, const T *, emu_number, T *,    \
   emu_number)
#define V(T)                                                                                                 \
  (char side, char uplo, char ta, char diag, int m, int n, T alpha, const T *a, int lda, T *b, int ldb)
EMU_ROUTINE(trsm, F, V, &side, &uplo, &ta, &diag, &m, &n, &alpha, a, &lda, b, &ldb)
#undef F
#undef V
#define F(T)                                                                                                 \
  (emu_text, emu_text, emu_number, emu_number, const T *, const T *, emu_number, const T *, T *, emu_number)
#define V(T) (char uplo, char ta, int n, int k, T alpha, const T *a, int lda, T beta, T *c, int ldc)
EMU_ROUTINE(syrk, F, V, &uplo, &ta, &n, &k, &alpha, a, &lda, &beta, c, &ldc)
#undef F
#undef V
#define F(T) (emu_text, emu_number, T *, emu_number, int *)
#define V(T) (char uplo, int n, T *a, int lda, int *info)
EMU_ROUTINE(potrf, F, V, &uplo, &n, a, &lda, info)
#undef F
#undef V
#define F(T) (emu_text, emu_number, emu_number, const T *, emu_number, T *, emu_number, int *)
#define V(T) (char uplo, int n, int nrhs, const T *a, int lda, T *b, int ldb, int *info)
EMU_ROUTINE(potrs, F, V, &uplo, &n, &nrhs, a, &lda, b, &ldb, info)
#undef F
#undef V
#define F(T) (emu_number, emu_number, T *, emu_number, int *, int *)
#define V(T) (int m, int n, T *a, int lda, int *pivots, int *info)
EMU_ROUTINE(getrf, F, V, &m, &n, a, &lda, pivots, info)
#undef F
#undef V
#define F(T) (emu_text, emu_number, emu_number, const T *, emu_number, const int *, T *, emu_number, int *)
#define V(T) (char ta, int n, int nrhs, const T *a, int lda, const int *pivots, T *b, int ldb, int *info)
EMU_ROUTINE(getrs, F, V, &ta, &n, &nrhs, a, &lda, pivots, b, &ldb, info)
#undef F
#undef V
#define F(T) (emu_number, emu_number, T *, emu_number, T *, T *, emu_number, int *)
#define V(T) (int m, int n, T *a, int lda, T *tau, T *work, int lwork, int *info)
EMU_ROUTINE(geqrf, F, V, &m, &n, a, &lda, tau, work, &lwork, info)
#undef F
#undef V
#define F(T) (emu_number, emu_number, emu_number, T *, emu_number, const T *, T *, emu_number, int *)
#define V(T) (int m, int n, int k, T *a, int lda, const T *tau, T *work, int lwork, int *info)
EMU_ROUTINE(orgqr, F, V, &m, &n, &k, a, &lda, tau, work, &lwork, info)
#undef F
#undef V
#define F(T)                                                                                                 \
  (emu_text, emu_text, emu_number, emu_number, emu_number, const T *, emu_number, const T *, T *,            \
   emu_number, T *, emu_number, int *)
#define V(T)                                                                                                 \
  (char side, char ta, int m, int n, int k, const T *a, int lda, const T *tau, T *c, int ldc, T *work,       \
   int lwork, int *info)
EMU_ROUTINE(ormqr, F, V, &side, &ta, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, info)
#undef F
#undef V
#define F(T) (emu_text, emu_text, emu_number, T *, emu_number, T *, T *, emu_number, int *, emu_number, int *)
#define V(T)                                                                                                 \
  (char jobz, char uplo, int n, T *a, int lda, T *w, T *work, int lwork, int *iwork, int liwork, int *info)
EMU_ROUTINE(syevd, F, V, &jobz, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork, info)
#undef F
#undef V
#define F(T)                                                                                                 \
  (emu_text, emu_text, emu_number, emu_number, T *, emu_number, T *, T *, emu_number, T *, emu_number, T *,  \
   emu_number, int *)
#define V(T)                                                                                                 \
  (char jobu, char jobvt, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, int ldvt, T *work,        \
   int lwork, int *info)
EMU_ROUTINE(gesvd, F, V, &jobu, &jobvt, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, info)
#undef F
#undef V
