/* blas.c - the calls behind blas.h. Each branch of a dtype is one library call. */
#include "cpu/linalg/blas.h"

#include <cblas.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu/isa/isa.h"
#include "cpu/linalg/lapack.h"

/* Declared here: the standard BLAS header of another vendor lacks them. */
extern void openblas_set_num_threads (int threads);
extern int openblas_get_num_threads (void);
extern int openblas_get_parallel (void);
extern char *openblas_get_config (void);
extern int blas_thread_shutdown_ (void) __attribute__((weak)); /* builds without threads lack it */
void *blas_memory_alloc (int position);
void blas_memory_free (void *p);

/* Packing buffers. The pool of the library's build without threads may lend one buffer to two callers, and
** retries for ever if the system refuses memory. The linker resolves the two functions below before the
** library's own. A call takes one buffer. */
#define MOST_BUFFERS 64
#define SPARE_BYTES ((size_t)16 << 20) /* memory left to other processes */
#ifdef __x86_64__
#define BUFFER_BYTES ((size_t)128 << 20) /* the library's BUFFER_SIZE */
#else
#define BUFFER_BYTES ((size_t)256 << 20)
#endif
#define BUFFER_END 65536 /* kernels read past the end */

static struct {
  void *data;
  atomic_bool lent;
} buffers[MOST_BUFFERS];
static atomic_int wanted, mapped; /* numbers of buffers: one for each thread that may call */
static atomic_flag mapping = ATOMIC_FLAG_INIT;
static atomic_uint loans;

static void *map_bytes (size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Maps buffers until there are n; none if all of them and 'spare' bytes are not available. */
static bool map_buffers (int n, size_t spare) {
  if (n > MOST_BUFFERS) n = MOST_BUFFERS;
  while (atomic_flag_test_and_set(&mapping)) sched_yield();
  const int have = atomic_load(&mapped);
  const size_t all = n > have ? (size_t)(n - have) * (BUFFER_BYTES + BUFFER_END) + spare : 0;
  void *room = all > 0 ? map_bytes(all) : NULL;
  if (room != NULL) munmap(room, all);
  for (int i = have;
       room != NULL && i < n && (buffers[i].data = map_bytes(BUFFER_BYTES + BUFFER_END)) != NULL; i++)
    atomic_store(&mapped, i + 1);
  atomic_flag_clear(&mapping);
  return atomic_load(&mapped) >= n;
}

void *blas_memory_alloc (int position) {
  (void)position;
  atomic_fetch_add_explicit(&loans, 1, memory_order_relaxed);
  for (;;) {
    const int n = atomic_load(&mapped);
    for (int i = 0; i < n; i++)
      if (!atomic_exchange(&buffers[i].lent, true)) return buffers[i].data;
    if (n < MOST_BUFFERS && map_buffers(n + 1, 0)) continue;
    if (n == 0) { /* a call that gb_blas_ready did not precede */
      fputs("gibbous: no memory for a buffer of BLAS\n", stderr);
      abort();
    }
    sched_yield(); /* more callers than threads: wait for a buffer */
  }
}

void blas_memory_free (void *p) {
  for (int i = 0; i < atomic_load(&mapped); i++)
    if (buffers[i].data == p) atomic_store(&buffers[i].lent, false);
}

/* True if the library uses these functions. It does not if another module of the process loaded it first. */
static bool lends_buffers (void) {
  const int one = 1;
  const unsigned before = atomic_load(&loans);
  double x = 1;
  int info;
  dpotrf_("U", &one, &x, &one, &info, 1);
  return atomic_load(&loans) != before;
}

gb_status gb_blas_start (gb_pool *pool, gb_error *err) {
  openblas_set_num_threads(1);
  if (blas_thread_shutdown_ != NULL) blas_thread_shutdown_();
  const int got = openblas_get_num_threads();
  if (got != 1) return gb_fail(err, GB_EINTERNAL, "blas runs %d threads of its own, expected 1", got);
  atomic_store(&wanted, gb_pool_threads(pool));
  if (map_buffers(atomic_load(&wanted), SPARE_BYTES) && openblas_get_parallel() == 0 && !lends_buffers())
    return gb_fail(err, GB_EINTERNAL,
                   "another module has loaded a BLAS that is not safe between threads; load gibbous first");
  return GB_OK;
}

gb_status gb_blas_ready (gb_error *err) {
  const int n = atomic_load(&wanted), mib = (int)(BUFFER_BYTES >> 20);
  if (map_buffers(n, SPARE_BYTES)) return GB_OK;
  return gb_fail(err, GB_ENOMEM,
                 "BLAS needs %d MiB of address space, %d MiB a thread, and the system refuses it; raise the "
                 "limit of the process (ulimit -v, ulimit -d), or use fewer threads (gb.config{threads = 1})",
                 n * mib, mib);
}

const char *gb_blas_identity (void) { return openblas_get_config(); }

static CBLAS_TRANSPOSE trans (bool t) { return t ? CblasTrans : CblasNoTrans; }
static CBLAS_UPLO uplo_of (gb_uplo u) { return u == GB_LOWER ? CblasLower : CblasUpper; }
static CBLAS_DIAG diag_of (bool unit) { return unit ? CblasUnit : CblasNonUnit; }

static const void *at (gb_dtype t, const void *p, size_t index) {
  return (const char *)p + index * (t == GB_F64 ? sizeof(double) : sizeof(float));
}

/* y (m) = beta y + alpha a (m, k) x, 'ta' as for gemm; one chunk. */
static void gemv (gb_dtype t, bool ta, size_t m, size_t k, double alpha, const void *a, size_t lda,
                  const void *x, size_t incx, double beta, void *y, size_t incy) {
  const int rows = (int)(ta ? k : m), cols = (int)(ta ? m : k);
  if (t == GB_F64)
    cblas_dgemv(CblasRowMajor, trans(ta), rows, cols, alpha, a, (int)lda, x, (int)incx, beta, y, (int)incy);
  else
    cblas_sgemv(CblasRowMajor, trans(ta), rows, cols, (float)alpha, a, (int)lda, x, (int)incx, (float)beta, y,
                (int)incy);
}

/* c = beta c + alpha op(a) op(b) by our kernels. */
static void small_product (gb_dtype t, bool ta, bool tb, size_t m, size_t n, size_t k, double alpha,
                           const void *a, size_t lda, const void *b, size_t ldb, double beta, void *c,
                           size_t ldc) {
  const gb_isa_kernels *kernels = t == GB_F64 ? &gb_isa_active->f64 : &gb_isa_active->f32;
  kernels->product(m, n, k, alpha, a, ta ? 1 : lda, ta ? lda : 1, b, tb ? 1 : ldb, tb ? ldb : 1, beta, c,
                   ldc);
}

/* On some processors the library's kernels for small products allocate: products of up to so many
** multiply-adds are computed here. */
static bool is_small (double m, double n, double k) { return m * n * k <= 1e6; }

static void gemm_chunk (gb_dtype t, bool ta, bool tb, size_t m, size_t n, size_t k, double alpha,
                        const void *a, size_t lda, const void *b, size_t ldb, double beta, void *c,
                        size_t ldc) {
  if (n == 1) gemv(t, ta, m, k, alpha, a, lda, b, tb ? 1 : ldb, beta, c, ldc);
  else if (m == 1) gemv(t, !tb, n, k, alpha, b, ldb, a, ta ? lda : 1, beta, c, 1);
  else if (is_small((double)m, (double)n, (double)k))
    small_product(t, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else if (t == GB_F64)
    cblas_dgemm(CblasRowMajor, trans(ta), trans(tb), (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb,
                beta, c, (int)ldc);
  else
    cblas_sgemm(CblasRowMajor, trans(ta), trans(tb), (int)m, (int)n, (int)k, (float)alpha, a, (int)lda, b,
                (int)ldb, (float)beta, c, (int)ldc);
}

/* Products inside the library's LAPACK come here too: the linker resolves these before its own. A
** column-major product is a row-major one of the transposed factors in the other order. */
static bool transposed (const char *t) { return *t != 'N' && *t != 'n'; }

void dgemm_ (const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
             const int *ldc, size_t la, size_t lb) {
  (void)la, (void)lb;
  if (*m <= 0 || *n <= 0) return;
  if (gb_isa_active != NULL && is_small(*m, *n, *k))
    small_product(GB_F64, transposed(tb), transposed(ta), (size_t)*n, (size_t)*m, (size_t)*k, *alpha, b,
                  (size_t)*ldb, a, (size_t)*lda, *beta, c, (size_t)*ldc);
  else
    cblas_dgemm(CblasColMajor, trans(transposed(ta)), trans(transposed(tb)), *m, *n, *k, *alpha, a, *lda, b,
                *ldb, *beta, c, *ldc);
}

void sgemm_ (const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
             const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
             const int *ldc, size_t la, size_t lb) {
  (void)la, (void)lb;
  if (*m <= 0 || *n <= 0) return;
  if (gb_isa_active != NULL && is_small(*m, *n, *k))
    small_product(GB_F32, transposed(tb), transposed(ta), (size_t)*n, (size_t)*m, (size_t)*k, (double)*alpha,
                  b, (size_t)*ldb, a, (size_t)*lda, (double)*beta, c, (size_t)*ldc);
  else
    cblas_sgemm(CblasColMajor, trans(transposed(ta)), trans(transposed(tb)), *m, *n, *k, *alpha, a, *lda, b,
                *ldb, *beta, c, *ldc);
}

void gb_blas_gemm (gb_dtype t, bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const void *a,
                   size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) small_product(t, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); /* beta c */
  for (size_t k0 = 0; k0 < k; k0 += GB_BLOCK) {
    const size_t nk = k - k0 < GB_BLOCK ? k - k0 : GB_BLOCK;
    gemm_chunk(t, ta, tb, m, n, nk, alpha, at(t, a, ta ? k0 * lda : k0), lda, at(t, b, tb ? k0 : k0 * ldb),
               ldb, k0 == 0 ? beta : 1.0, c, ldc);
  }
}

void gb_blas_syrk_lower (gb_dtype t, bool ta, size_t n, size_t k, double alpha, const void *a, size_t lda,
                         void *c, size_t ldc) {
  if (n == 0 || k == 0) return;
  if (t == GB_F64)
    cblas_dsyrk(CblasRowMajor, CblasLower, trans(ta), (int)n, (int)k, alpha, a, (int)lda, 1.0, c, (int)ldc);
  else
    cblas_ssyrk(CblasRowMajor, CblasLower, trans(ta), (int)n, (int)k, (float)alpha, a, (int)lda, 1.0f, c,
                (int)ldc);
}

static void trsm (gb_dtype t, CBLAS_SIDE side, gb_uplo uplo, bool ta, bool unit, size_t m, size_t n,
                  const void *a, size_t lda, void *b, size_t ldb) {
  if (m == 0 || n == 0) return;
  const bool column = side == CblasLeft && n == 1, row = side == CblasRight && m == 1;
  if (column || row) { /* x op(a)^-1 = (op(a)'^-1 x')' */
    const int order = (int)(row ? n : m), step = row ? 1 : (int)ldb;
    if (t == GB_F64)
      cblas_dtrsv(CblasRowMajor, uplo_of(uplo), trans(ta != row), diag_of(unit), order, a, (int)lda, b, step);
    else
      cblas_strsv(CblasRowMajor, uplo_of(uplo), trans(ta != row), diag_of(unit), order, a, (int)lda, b, step);
  } else if (t == GB_F64)
    cblas_dtrsm(CblasRowMajor, side, uplo_of(uplo), trans(ta), diag_of(unit), (int)m, (int)n, 1.0, a,
                (int)lda, b, (int)ldb);
  else
    cblas_strsm(CblasRowMajor, side, uplo_of(uplo), trans(ta), diag_of(unit), (int)m, (int)n, 1.0f, a,
                (int)lda, b, (int)ldb);
}

void gb_blas_trsm_left (gb_dtype t, gb_uplo uplo, bool ta, bool unit, size_t m, size_t n, const void *a,
                        size_t lda, void *b, size_t ldb) {
  trsm(t, CblasLeft, uplo, ta, unit, m, n, a, lda, b, ldb);
}

void gb_blas_trsm_right (gb_dtype t, gb_uplo uplo, bool ta, bool unit, size_t m, size_t n, const void *a,
                         size_t lda, void *b, size_t ldb) {
  trsm(t, CblasRight, uplo, ta, unit, m, n, a, lda, b, ldb);
}

void gb_blas_trmm_left_trans (gb_dtype t, size_t m, size_t n, const void *a, size_t lda, void *b,
                              size_t ldb) {
  if (m == 0 || n == 0) return;
  if (t == GB_F64)
    cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0, a,
                (int)lda, b, (int)ldb);
  else
    cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0f, a,
                (int)lda, b, (int)ldb);
}

/* A row-major lower triangle is a column-major upper one of the transposed matrix. */
size_t gb_lapack_potrf (gb_dtype t, size_t n, void *a, size_t lda) {
  const int order = (int)n, ld = (int)lda;
  int info = 0;
  if (t == GB_F64) dpotrf_("U", &order, a, &ld, &info, 1);
  else spotrf_("U", &order, a, &ld, &info, 1);
  return (size_t)info;
}

void gb_lapack_trtri (gb_dtype t, size_t n, void *a, size_t lda) {
  const int order = (int)n, ld = (int)lda;
  int info = 0;
  if (t == GB_F64) dtrtri_("U", "N", &order, a, &ld, &info, 1, 1);
  else strtri_("U", "N", &order, a, &ld, &info, 1, 1);
}

void gb_lapack_lauum (gb_dtype t, size_t n, void *a, size_t lda) {
  const int order = (int)n, ld = (int)lda;
  int info = 0;
  if (t == GB_F64) dlauum_("U", &order, a, &ld, &info, 1);
  else slauum_("U", &order, a, &ld, &info, 1);
}

size_t gb_lapack_getrf (gb_dtype t, size_t m, size_t n, void *a, size_t lda, int *pivot) {
  const int rows = (int)m, columns = (int)n, ld = (int)lda;
  int info = 0;
  if (t == GB_F64) dgetrf_(&rows, &columns, a, &ld, pivot, &info);
  else sgetrf_(&rows, &columns, a, &ld, pivot, &info);
  for (size_t j = 0; j < n; j++) pivot[j]--;
  return (size_t)info;
}

void gb_lapack_larfg (gb_dtype t, size_t n, void *x, void *tau) {
  const int length = (int)n, one = 1;
  if (t == GB_F64) dlarfg_(&length, x, (double *)x + 1, &one, tau);
  else slarfg_(&length, x, (float *)x + 1, &one, tau);
}

static size_t align64 (size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t gb_lapack_pocon_bytes (gb_dtype t, size_t n) {
  return align64(3 * n * gb_dtype_size(t)) + n * sizeof(int);
}

double gb_lapack_pocon (gb_dtype t, size_t n, const void *l, size_t ld, double norm, void *work) {
  const int order = (int)n, lda = (int)ld;
  int *iwork = (int *)(void *)((char *)work + align64(3 * n * gb_dtype_size(t))), info = 0;
  const float short_norm = (float)norm;
  double wide = 0;
  float narrow = 0;
  if (t == GB_F64) dpocon_("U", &order, l, &lda, &norm, &wide, work, iwork, &info, 1);
  else spocon_("U", &order, l, &lda, &short_norm, &narrow, work, iwork, &info, 1);
  return t == GB_F64 ? wide : (double)narrow;
}

/* An answer to a workspace query, which a float may have rounded down. */
static size_t query (gb_dtype t, const void *answer, size_t least) {
  const size_t q = t == GB_F64 ? (size_t) * (const double *)answer : (size_t) * (const float *)answer;
  const size_t up = t == GB_F64 ? q : q + (q >> 22);
  return up > least ? up : least;
}

typedef struct work_sizes {
  size_t work, iwork;
} work_sizes;

/* lwork and liwork -1: only the first elements of the workspaces are written, their sizes. */
static int eigh_call (gb_dtype t, size_t n, void *a, void *values, void *work, int lwork, int *iwork,
                      int liwork) {
  const int order = (int)n;
  int info = 0;
  if (t == GB_F64) dsyevd_("V", "U", &order, a, &order, values, work, &lwork, iwork, &liwork, &info, 1, 1);
  else ssyevd_("V", "U", &order, a, &order, values, work, &lwork, iwork, &liwork, &info, 1, 1);
  return info;
}

static work_sizes eigh_sizes (gb_dtype t, size_t n) {
  double answer = 0;
  int iwork = 0;
  eigh_call(t, n, NULL, NULL, &answer, -1, &iwork, -1);
  const size_t least = 3 + 5 * n;
  return (work_sizes){query(t, &answer, 1 + 6 * n + 2 * n * n),
                      (size_t)iwork > least ? (size_t)iwork : least};
}

size_t gb_lapack_eigh_bytes (gb_dtype t, size_t n) {
  const work_sizes s = eigh_sizes(t, n);
  return align64(s.work * gb_dtype_size(t)) + align64(s.iwork * sizeof(int));
}

int gb_lapack_eigh (gb_dtype t, size_t n, void *a, void *values, void *work) {
  const work_sizes s = eigh_sizes(t, n);
  int *iwork = (int *)(void *)((char *)work + align64(s.work * gb_dtype_size(t)));
  return eigh_call(t, n, a, values, work, (int)s.work, iwork, (int)s.iwork);
}

/* The row-major (n, m) is a column-major (m, n): its left vectors are our right ones. */
static int svd_call (gb_dtype t, size_t n, size_t m, void *a, void *u, void *s, void *vt, void *work,
                     int lwork, int *iwork) {
  const int rows = (int)m, columns = (int)n, k = (int)(n < m ? n : m);
  int info = 0;
  if (t == GB_F64)
    dgesdd_("S", &rows, &columns, a, &rows, s, vt, &rows, u, &k, work, &lwork, iwork, &info, 1);
  else sgesdd_("S", &rows, &columns, a, &rows, s, vt, &rows, u, &k, work, &lwork, iwork, &info, 1);
  return info;
}

static work_sizes svd_sizes (gb_dtype t, size_t n, size_t m) {
  double answer = 0;
  const size_t k = n < m ? n : m;
  svd_call(t, n, m, NULL, NULL, NULL, NULL, &answer, -1, NULL);
  return (work_sizes){query(t, &answer, 4 * k * k + 7 * k), 8 * k};
}

size_t gb_lapack_svd_bytes (gb_dtype t, size_t n, size_t m) {
  const work_sizes s = svd_sizes(t, n, m);
  return align64(s.work * gb_dtype_size(t)) + align64(s.iwork * sizeof(int));
}

int gb_lapack_svd (gb_dtype t, size_t n, size_t m, void *a, void *u, void *s, void *vt, void *work) {
  const work_sizes w = svd_sizes(t, n, m);
  int *iwork = (int *)(void *)((char *)work + align64(w.work * gb_dtype_size(t)));
  return svd_call(t, n, m, a, u, s, vt, work, (int)w.work, iwork);
}
