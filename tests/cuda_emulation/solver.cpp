/* solver.cpp - the part of cuSOLVER that a device of Gibbous calls, over the host's LAPACK. What differs from LAPACK is
** what differs on a GPU: a NaN is no failure (info is 0 and NaN comes out), signs of eigenvectors and singular vectors are
** others, what a workspace holds is destroyed, and a workspace that is too small is refused.
**
** Workspaces, in bytes, of elements of e bytes: Cholesky e (64 n + 1024), LU e (64 n + 1024), QR e (32 n + 1024),
** eigenvalues e (2 n^2 + 64 n + 1024) and 16 n + 256 of the host, SVD e (4 n^2 + m n + 1024) and 8 n + 128 of the host. */
#include <cusolverDn.h>

#include "lapack.h"
#include "library.h"

struct cusolverDnContext : emu::library_handle {
  cusolverDeterministicMode_t mode = CUSOLVER_DETERMINISTIC_RESULTS;
};
struct cusolverDnParams {
  int unused;
};
struct syevjInfo {
  int sorted;
};

namespace emu {

static std::set<cusolverDnHandle_t> handles;

static cusolverStatus_t solver_status (cudaError_t e) {
  switch (e) {
    case cudaSuccess: return CUSOLVER_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation: return CUSOLVER_STATUS_ALLOC_FAILED;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: return CUSOLVER_STATUS_NOT_INITIALIZED;
    default: return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}
#define SOLVER_CALL(h, name)                                                                                 \
  static const char *const function = name;                                                                  \
  emu::call here(function);                                                                                  \
  if (here.error != cudaSuccess) return emu::solver_status(here.error);                                      \
  if (emu::handles.count(h) == 0) return CUSOLVER_STATUS_NOT_INITIALIZED

static char letter (cublasOperation_t t) { return t == CUBLAS_OP_N ? 'N' : 'T'; }
static char letter (cublasFillMode_t u) { return u == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
static char letter (cublasSideMode_t s) { return s == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
static char letter (cusolverEigMode_t v) { return v == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N'; }
static bool fits (int64_t ld, int64_t rows) { return ld >= (rows > 1 ? rows : 1) && ld <= INT32_MAX; }
static bool sized (int64_t n) { return n >= 0 && n <= INT32_MAX; }

struct room { /* of a call: on the device and on the host */
  void *far;
  size_t far_bytes;
  void *near;
  size_t near_bytes;
};
static size_t cholesky_bytes (int64_t n, size_t e) { return e * (size_t)(64 * n + 1024); }
static size_t qr_bytes (int64_t n, size_t e) { return e * (size_t)(32 * n + 1024); }
static size_t eigen_bytes (int64_t n, size_t e) { return e * (size_t)(2 * n * n + 64 * n + 1024); }
static size_t eigen_near_bytes (int64_t n) { return (size_t)(16 * n + 256); }
static size_t svd_bytes (int64_t m, int64_t n, size_t e) { return e * (size_t)(4 * n * n + m * n + 1024); }
static size_t svd_near_bytes (int64_t n) { return (size_t)(8 * n + 128); }

static bool enough (const char *name, const room &r, size_t far_bytes, size_t near_bytes) {
  if (r.far_bytes < far_bytes || r.near_bytes < near_bytes) return false;
  if ((far_bytes > 0 && r.far == nullptr) || (near_bytes > 0 && r.near == nullptr)) return false;
  must_be_on_device(name, "the workspace", r.far, r.far_bytes);
  return true;
}

static void run (cusolverDnHandle_t h, const char *name, double operations, const room &r, int *info,
                 std::function<int()> body) {
  must_be_on_device(name, "info", info, sizeof *info);
  library_work(*h, name, operations, [=] {
    destroy(r.far, r.far_bytes);
    destroy(r.near, r.near_bytes);
    const int found = body();
    *info = found;
  });
}

/* -- types at run time: 'use' is called with a value of the type */

template <class F> static cusolverStatus_t by_type (cudaDataType type, cudaDataType compute, F use) {
  if (type == CUDA_R_32F && compute == CUDA_R_32F) return use(float());
  if (type == CUDA_R_64F && compute == CUDA_R_64F) return use(double());
  return CUSOLVER_STATUS_NOT_SUPPORTED;
}

/* -- Cholesky */

/* As a GPU's: it stops at a pivot that is not positive, and a NaN is none of those. */
template <class T> static int factor_nan (char uplo, int n, T *a, int lda) {
  for (int j = 0; j < n; j++) {
    auto at = [=] (int i, int k) -> T & {
      return uplo == 'L' ? a[i + (size_t)k * lda] : a[k + (size_t)i * lda];
    };
    T pivot = at(j, j);
    for (int k = 0; k < j; k++) pivot -= at(j, k) * at(j, k);
    if (pivot <= 0) return j + 1;
    at(j, j) = (T)sqrt(pivot);
    for (int i = j + 1; i < n; i++) {
      T sum = at(i, j);
      for (int k = 0; k < j; k++) sum -= at(i, k) * at(j, k);
      at(i, j) = sum / at(j, j);
    }
  }
  return 0;
}
template <class T> static bool finite_triangle (char uplo, int n, const T *a, int lda) {
  for (int j = 0; j < n; j++)
    for (int i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? n : j + 1); i++)
      if (!isfinite(a[i + (size_t)j * lda])) return false;
  return true;
}
template <class T> static int factor (char uplo, int n, T *a, int lda) {
  if (!finite_triangle(uplo, n, a, lda)) return factor_nan(uplo, n, a, lda);
  int info = 0;
  potrf(uplo, n, a, lda, &info);
  return info;
}
template <class T>
static cusolverStatus_t cholesky (cusolverDnHandle_t h, const char *name, cublasFillMode_t uplo, int64_t n,
                                  T *a, int64_t lda, const room &r, int *info) {
  if (!sized(n) || !fits(lda, n) || !enough(name, r, cholesky_bytes(n, sizeof(T)), 0))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(n, n, lda, sizeof(T)));
  run(h, name, (double)n * n * n / 3, r, info, [=] { return factor(letter(uplo), (int)n, a, (int)lda); });
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
static cusolverStatus_t cholesky_solve (cusolverDnHandle_t h, const char *name, cublasFillMode_t uplo,
                                        int64_t n, int64_t nrhs, const T *a, int64_t lda, T *b, int64_t ldb,
                                        int *info) {
  if (!sized(n) || !sized(nrhs) || !fits(lda, n) || !fits(ldb, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(n, n, lda, sizeof(T)));
  must_be_on_device(name, "B", b, matrix_bytes(n, nrhs, ldb, sizeof(T)));
  run(h, name, 2.0 * n * n * nrhs, {}, info, [=] {
    int found = 0;
    potrs(letter(uplo), (int)n, (int)nrhs, a, (int)lda, b, (int)ldb, &found);
    return found;
  });
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
static cusolverStatus_t cholesky_each (cusolverDnHandle_t h, const char *name, cublasFillMode_t uplo, int n,
                                       T *a[], int lda, int *infos, int count) {
  if (n < 0 || count < 0 || !fits(lda, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "the table of A", a, (size_t)count * sizeof *a);
  must_be_on_device(name, "the infos", infos, (size_t)count * sizeof *infos);
  if (count == 0) return CUSOLVER_STATUS_SUCCESS;
  run(h, name, (double)count * n * n * n / 3, {}, infos, [=] {
    for (int i = 0; i < count; i++) infos[i] = factor(letter(uplo), n, a[i], lda);
    return infos[0];
  });
  return CUSOLVER_STATUS_SUCCESS;
}

/* -- LU */

template <class T>
static cusolverStatus_t lu (cusolverDnHandle_t h, const char *name, int64_t m, int64_t n, T *a, int64_t lda,
                            int64_t *pivots, const room &r, int *info) {
  if (!sized(m) || !sized(n) || !fits(lda, m) || !enough(name, r, cholesky_bytes(n, sizeof(T)), 0))
    return CUSOLVER_STATUS_INVALID_VALUE;
  if (pivots == nullptr) stop("%s: a factorisation without pivots is not emulated", name);
  const int64_t steps = m < n ? m : n;
  must_be_on_device(name, "A", a, matrix_bytes(m, n, lda, sizeof(T)));
  must_be_on_device(name, "the pivots", pivots, (size_t)steps * sizeof *pivots);
  run(h, name, 2.0 / 3 * m * n * steps, r, info, [=] {
    std::vector<int> found((size_t)steps + 1, 1);
    int failed = 0;
    const bool finite = all_finite(a, m, n, lda);
    getrf((int)m, (int)n, a, (int)lda, found.data(), &failed);
    for (int64_t i = 0; i < steps; i++)
      pivots[i] = found[(size_t)i] >= 1 && found[(size_t)i] <= m ? found[(size_t)i] : i + 1;
    return finite ? failed : 0;
  });
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
static cusolverStatus_t lu_solve (cusolverDnHandle_t h, const char *name, cublasOperation_t t, int64_t n,
                                  int64_t nrhs, const T *a, int64_t lda, const int64_t *pivots, T *b,
                                  int64_t ldb, int *info) {
  if (!sized(n) || !sized(nrhs) || !fits(lda, n) || !fits(ldb, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(n, n, lda, sizeof(T)));
  must_be_on_device(name, "B", b, matrix_bytes(n, nrhs, ldb, sizeof(T)));
  must_be_on_device(name, "the pivots", pivots, (size_t)n * sizeof *pivots);
  run(h, name, 2.0 * n * n * nrhs, {}, info, [=] {
    const std::vector<int> narrow(pivots, pivots + n);
    int failed = 0;
    getrs(letter(t), (int)n, (int)nrhs, a, (int)lda, narrow.data(), b, (int)ldb, &failed);
    return failed;
  });
  return CUSOLVER_STATUS_SUCCESS;
}

/* -- QR */

template <class T>
static cusolverStatus_t qr (cusolverDnHandle_t h, const char *name, int64_t m, int64_t n, T *a, int64_t lda,
                            T *tau, const room &r, int *info) {
  if (!sized(m) || !sized(n) || !fits(lda, m) || !enough(name, r, qr_bytes(n, sizeof(T)), 0))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(m, n, lda, sizeof(T)));
  must_be_on_device(name, "tau", tau, (size_t)(m < n ? m : n) * sizeof *tau);
  run(h, name, 2.0 * m * n * n, r, info, [=] {
    std::vector<T> work((size_t)(32 * n + 32));
    int failed = 0;
    geqrf((int)m, (int)n, a, (int)lda, tau, work.data(), (int)work.size(), &failed);
    return failed;
  });
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
static cusolverStatus_t make_q (cusolverDnHandle_t h, const char *name, int m, int n, int k, T *a, int lda,
                                const T *tau, const room &r, int *info) {
  if (n < 0 || m < n || k < 0 || k > n || !fits(lda, m) || !enough(name, r, qr_bytes(n, sizeof(T)), 0))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(m, n, lda, sizeof(T)));
  must_be_on_device(name, "tau", tau, (size_t)k * sizeof *tau);
  run(h, name, 2.0 * m * n * k, r, info, [=] {
    std::vector<T> work((size_t)(32 * n + 32));
    int failed = 0;
    orgqr(m, n, k, a, lda, tau, work.data(), (int)work.size(), &failed);
    return failed;
  });
  return CUSOLVER_STATUS_SUCCESS;
}
struct reflections { /* what ormqr applies, and to what */
  cublasSideMode_t side;
  cublasOperation_t t;
  int m, n, k;
};
template <class T>
static cusolverStatus_t apply_q (cusolverDnHandle_t h, const char *name, const reflections &q, const T *a,
                                 int lda, const T *tau, T *c, int ldc, const room &r, int *info) {
  const int order = q.side == CUBLAS_SIDE_LEFT ? q.m : q.n, other = q.side == CUBLAS_SIDE_LEFT ? q.n : q.m;
  if (q.m < 0 || q.n < 0 || q.k < 0 || q.k > order || !fits(lda, order) || !fits(ldc, q.m) ||
      !enough(name, r, qr_bytes(other, sizeof(T)), 0))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(order, q.k, lda, sizeof(T)));
  must_be_on_device(name, "tau", tau, (size_t)q.k * sizeof *tau);
  must_be_on_device(name, "C", c, matrix_bytes(q.m, q.n, ldc, sizeof(T)));
  run(h, name, 4.0 * q.m * q.n * q.k, r, info, [=] {
    std::vector<T> work((size_t)(32 * other + 8192));
    int failed = 0;
    ormqr(letter(q.side), letter(q.t), q.m, q.n, q.k, a, lda, tau, c, ldc, work.data(), (int)work.size(),
          &failed);
    return failed;
  });
  return CUSOLVER_STATUS_SUCCESS;
}

/* -- eigenvalues, singular values */

/* Another sign for each odd vector: what depends on LAPACK's signs shows. */
template <class T> static void turn_column (T *v, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) v[i * step] = -v[i * step];
}

template <class T> static int eigen_of (char job, char uplo, int n, T *a, int lda, T *w) {
  if (!finite_triangle(uplo, n, a, lda)) {
    fill_nan(w, n, 1, n);
    if (job == 'V') fill_nan(a, n, n, lda);
    return 0;
  }
  std::vector<T> work((size_t)(2 * (int64_t)n * n + 64 * n + 64));
  std::vector<int> integers((size_t)(8 * n + 8));
  int failed = 0;
  syevd(job, uplo, n, a, lda, w, work.data(), (int)work.size(), integers.data(), (int)integers.size(),
        &failed);
  for (int j = 1; job == 'V' && j < n; j += 2) turn_column(a + (size_t)j * lda, n, 1);
  return failed;
}
template <class T>
static cusolverStatus_t eigen (cusolverDnHandle_t h, const char *name, cusolverEigMode_t job,
                               cublasFillMode_t uplo, int64_t n, T *a, int64_t lda, T *w, const room &r,
                               int *info) {
  if (!sized(n) || !fits(lda, n) || !enough(name, r, eigen_bytes(n, sizeof(T)), eigen_near_bytes(n)))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(n, n, lda, sizeof(T)));
  must_be_on_device(name, "W", w, (size_t)n * sizeof *w);
  run(h, name, 9.0 * n * n * n, r, info,
      [=] { return eigen_of(letter(job), letter(uplo), (int)n, a, (int)lda, w); });
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
static cusolverStatus_t eigen_each (cusolverDnHandle_t h, const char *name, cusolverEigMode_t job,
                                    cublasFillMode_t uplo, int n, T *a, int lda, T *w, const room &r,
                                    int *infos, int count) {
  const size_t need = eigen_bytes(n, sizeof(T)) * (size_t)(count > 0 ? count : 0);
  if (n < 0 || count < 0 || !fits(lda, n) || !enough(name, r, need, 0)) return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(n, (int64_t)n * count, lda, sizeof(T)));
  must_be_on_device(name, "W", w, (size_t)n * count * sizeof *w);
  must_be_on_device(name, "the infos", infos, (size_t)count * sizeof *infos);
  if (count == 0) return CUSOLVER_STATUS_SUCCESS;
  run(h, name, 9.0 * count * n * n * n, r, infos, [=] {
    for (int i = 0; i < count; i++)
      infos[i] = eigen_of(letter(job), letter(uplo), n, a + (size_t)i * n * lda, lda, w + (size_t)i * n);
    return infos[0];
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class T> struct svd_of {
  char jobu, jobvt;
  int m, n;
  T *a;
  int lda;
  T *s, *u;
  int ldu;
  T *vt;
  int ldvt;
  int columns_u () const { return jobu == 'A' ? m : jobu == 'S' ? n : 0; }
  int rows_vt () const { return jobvt == 'A' || jobvt == 'S' ? n : 0; }

  int compute () const {
    if (!all_finite(a, m, n, lda)) {
      fill_nan(s, n, 1, n);
      fill_nan(u, columns_u() > 0 ? m : 0, columns_u(), ldu);
      fill_nan(vt, rows_vt(), n, ldvt);
      return 0;
    }
    std::vector<T> work((size_t)(5 * n * 64 + 8 * m + 256));
    int failed = 0;
    gesvd(jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work.data(), (int)work.size(), &failed);
    for (int j = 1; j < n && columns_u() > 0 && rows_vt() > 0; j += 2) {
      turn_column(u + (size_t)j * ldu, m, 1);
      turn_column(vt + j, n, ldvt);
    }
    if (jobu != 'O' && jobvt != 'O') fill_nan(a, m, n, lda); /* what is left there is nobody's business */
    return failed;
  }
};
template <class T>
static cusolverStatus_t svd (cusolverDnHandle_t h, const char *name, const svd_of<T> &v, const room &r,
                             int *info) {
  if (v.n < 0 || v.m < v.n || !fits(v.lda, v.m) || (v.columns_u() > 0 && !fits(v.ldu, v.m)) ||
      (v.rows_vt() > 0 && !fits(v.ldvt, v.n)) ||
      !enough(name, r, svd_bytes(v.m, v.n, sizeof(T)), svd_near_bytes(v.n)))
    return CUSOLVER_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", v.a, matrix_bytes(v.m, v.n, v.lda, sizeof(T)));
  must_be_on_device(name, "S", v.s, (size_t)v.n * sizeof(T));
  must_be_on_device(name, "U", v.u, matrix_bytes(v.m, v.columns_u(), v.ldu, sizeof(T)));
  must_be_on_device(name, "VT", v.vt, matrix_bytes(v.rows_vt(), v.n, v.ldvt, sizeof(T)));
  run(h, name, 20.0 * v.m * v.n * v.n, r, info, [=] { return v.compute(); });
  return CUSOLVER_STATUS_SUCCESS;
}

}   // namespace emu

using namespace emu;
extern "C" {

/* -- handles */

cusolverStatus_t cusolverDnCreate (cusolverDnHandle_t *out) {
  call here("cusolverDnCreate");
  if (here.error != cudaSuccess) return solver_status(here.error);
  *out = new cusolverDnContext;
  (*out)->device = current_device();
  handles.insert(*out);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy (cusolverDnHandle_t h) {
  SOLVER_CALL(h, "cusolverDnDestroy");
  run_all(h->device);
  handles.erase(h);
  delete h;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream (cusolverDnHandle_t h, cudaStream_t stream) {
  SOLVER_CALL(h, "cusolverDnSetStream");
  h->queue = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream (cusolverDnHandle_t h, cudaStream_t *out) {
  SOLVER_CALL(h, "cusolverDnGetStream");
  *out = h->queue;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetDeterministicMode (cusolverDnHandle_t h, cusolverDeterministicMode_t mode) {
  SOLVER_CALL(h, "cusolverDnSetDeterministicMode");
  h->mode = mode;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetDeterministicMode (cusolverDnHandle_t h, cusolverDeterministicMode_t *out) {
  SOLVER_CALL(h, "cusolverDnGetDeterministicMode");
  *out = h->mode;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams (cusolverDnParams_t *out) {
  call here("cusolverDnCreateParams");
  if (here.error != cudaSuccess) return solver_status(here.error);
  *out = new cusolverDnParams{0};
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroyParams (cusolverDnParams_t p) {
  delete p;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetAdvOptions (cusolverDnParams_t, cusolverDnFunction_t, cusolverAlgMode_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetVersion (int *out) {
  *out = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}

/* -- the 64-bit interface */

cusolverStatus_t cusolverDnXpotrf_bufferSize (cusolverDnHandle_t h, cusolverDnParams_t, cublasFillMode_t,
                                              int64_t n, cudaDataType type, const void *, int64_t lda,
                                              cudaDataType compute, size_t *far_bytes, size_t *near_bytes) {
  SOLVER_CALL(h, "cusolverDnXpotrf_bufferSize");
  if (!sized(n) || !fits(lda, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  *near_bytes = 0;
  return by_type(type, compute, [&] (auto t) {
    *far_bytes = cholesky_bytes(n, sizeof t);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnXpotrf (cusolverDnHandle_t h, cusolverDnParams_t, cublasFillMode_t uplo, int64_t n,
                                   cudaDataType type, void *a, int64_t lda, cudaDataType compute, void *far,
                                   size_t far_bytes, void *near, size_t near_bytes, int *info) {
  SOLVER_CALL(h, "cusolverDnXpotrf");
  return by_type(type, compute, [=] (auto t) {
    return cholesky(h, function, uplo, n, (decltype(t) *)a, lda, {far, far_bytes, near, near_bytes}, info);
  });
}
cusolverStatus_t cusolverDnXpotrs (cusolverDnHandle_t h, cusolverDnParams_t, cublasFillMode_t uplo, int64_t n,
                                   int64_t nrhs, cudaDataType type, const void *a, int64_t lda,
                                   cudaDataType type_b, void *b, int64_t ldb, int *info) {
  SOLVER_CALL(h, "cusolverDnXpotrs");
  return by_type(type, type_b, [=] (auto t) {
    return cholesky_solve(h, function, uplo, n, nrhs, (const decltype(t) *)a, lda, (decltype(t) *)b, ldb,
                          info);
  });
}
cusolverStatus_t cusolverDnXgetrf_bufferSize (cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                              cudaDataType type, const void *, int64_t lda,
                                              cudaDataType compute, size_t *far_bytes, size_t *near_bytes) {
  SOLVER_CALL(h, "cusolverDnXgetrf_bufferSize");
  if (!sized(m) || !sized(n) || !fits(lda, m)) return CUSOLVER_STATUS_INVALID_VALUE;
  *near_bytes = 0;
  return by_type(type, compute, [&] (auto t) {
    *far_bytes = cholesky_bytes(n, sizeof t);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnXgetrf (cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                   cudaDataType type, void *a, int64_t lda, int64_t *pivots,
                                   cudaDataType compute, void *far, size_t far_bytes, void *near,
                                   size_t near_bytes, int *info) {
  SOLVER_CALL(h, "cusolverDnXgetrf");
  return by_type(type, compute, [=] (auto t) {
    return lu(h, function, m, n, (decltype(t) *)a, lda, pivots, {far, far_bytes, near, near_bytes}, info);
  });
}
cusolverStatus_t cusolverDnXgetrs (cusolverDnHandle_t h, cusolverDnParams_t, cublasOperation_t op, int64_t n,
                                   int64_t nrhs, cudaDataType type, const void *a, int64_t lda,
                                   const int64_t *pivots, cudaDataType type_b, void *b, int64_t ldb,
                                   int *info) {
  SOLVER_CALL(h, "cusolverDnXgetrs");
  return by_type(type, type_b, [=] (auto t) {
    return lu_solve(h, function, op, n, nrhs, (const decltype(t) *)a, lda, pivots, (decltype(t) *)b, ldb,
                    info);
  });
}
cusolverStatus_t cusolverDnXgeqrf_bufferSize (cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                              cudaDataType type, const void *, int64_t lda, cudaDataType,
                                              const void *, cudaDataType compute, size_t *far_bytes,
                                              size_t *near_bytes) {
  SOLVER_CALL(h, "cusolverDnXgeqrf_bufferSize");
  if (!sized(m) || !sized(n) || !fits(lda, m)) return CUSOLVER_STATUS_INVALID_VALUE;
  *near_bytes = 0;
  return by_type(type, compute, [&] (auto t) {
    *far_bytes = qr_bytes(n, sizeof t);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnXgeqrf (cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                   cudaDataType type, void *a, int64_t lda, cudaDataType, void *tau,
                                   cudaDataType compute, void *far, size_t far_bytes, void *near,
                                   size_t near_bytes, int *info) {
  SOLVER_CALL(h, "cusolverDnXgeqrf");
  return by_type(type, compute, [=] (auto t) {
    return qr(h, function, m, n, (decltype(t) *)a, lda, (decltype(t) *)tau,
              {far, far_bytes, near, near_bytes}, info);
  });
}
cusolverStatus_t cusolverDnXsyevd_bufferSize (cusolverDnHandle_t h, cusolverDnParams_t, cusolverEigMode_t,
                                              cublasFillMode_t, int64_t n, cudaDataType type, const void *,
                                              int64_t lda, cudaDataType, const void *, cudaDataType compute,
                                              size_t *far_bytes, size_t *near_bytes) {
  SOLVER_CALL(h, "cusolverDnXsyevd_bufferSize");
  if (!sized(n) || !fits(lda, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  *near_bytes = eigen_near_bytes(n);
  return by_type(type, compute, [&] (auto t) {
    *far_bytes = eigen_bytes(n, sizeof t);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnXsyevd (cusolverDnHandle_t h, cusolverDnParams_t, cusolverEigMode_t job,
                                   cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a, int64_t lda,
                                   cudaDataType, void *w, cudaDataType compute, void *far, size_t far_bytes,
                                   void *near, size_t near_bytes, int *info) {
  SOLVER_CALL(h, "cusolverDnXsyevd");
  return by_type(type, compute, [=] (auto t) {
    return eigen(h, function, job, uplo, n, (decltype(t) *)a, lda, (decltype(t) *)w,
                 {far, far_bytes, near, near_bytes}, info);
  });
}
cusolverStatus_t cusolverDnXgesvd_bufferSize (cusolverDnHandle_t h, cusolverDnParams_t, signed char,
                                              signed char, int64_t m, int64_t n, cudaDataType type,
                                              const void *, int64_t lda, cudaDataType, const void *,
                                              cudaDataType, const void *, int64_t, cudaDataType, const void *,
                                              int64_t, cudaDataType compute, size_t *far_bytes,
                                              size_t *near_bytes) {
  SOLVER_CALL(h, "cusolverDnXgesvd_bufferSize");
  if (!sized(m) || !sized(n) || m < n || !fits(lda, m)) return CUSOLVER_STATUS_INVALID_VALUE;
  *near_bytes = svd_near_bytes(n);
  return by_type(type, compute, [&] (auto t) {
    *far_bytes = svd_bytes(m, n, sizeof t);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnXgesvd (cusolverDnHandle_t h, cusolverDnParams_t, signed char jobu,
                                   signed char jobvt, int64_t m, int64_t n, cudaDataType type, void *a,
                                   int64_t lda, cudaDataType, void *s, cudaDataType, void *u, int64_t ldu,
                                   cudaDataType, void *vt, int64_t ldvt, cudaDataType compute, void *far,
                                   size_t far_bytes, void *near, size_t near_bytes, int *info) {
  SOLVER_CALL(h, "cusolverDnXgesvd");
  if (!sized(m) || !sized(n)) return CUSOLVER_STATUS_INVALID_VALUE;
  return by_type(type, compute, [=] (auto t) {
    typedef decltype(t) T;
    const svd_of<T> v = {(char)jobu, (char)jobvt, (int)m,   (int)n,  (T *)a,   (int)lda,
                         (T *)s,     (T *)u,      (int)ldu, (T *)vt, (int)ldvt};
    return svd(h, function, v, {far, far_bytes, near, near_bytes}, info);
  });
}

/* -- one entry point a type: workspaces are counted in elements */

#define BOTH(X) X(S, float) X(D, double)
#define ROOM(work, count, T)                                                                                 \
  { (work), (size_t)(count) * sizeof(T), nullptr, 0 }
#define CHOLESKY(L, T)                                                                                       \
  cusolverStatus_t cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t, int n, T *,       \
                                                   int lda, int *out) {                                      \
    SOLVER_CALL(h, "cusolverDn" #L "potrf_bufferSize");                                                      \
    if (n < 0 || !fits(lda, n)) return CUSOLVER_STATUS_INVALID_VALUE;                                        \
    *out = (int)(cholesky_bytes(n, sizeof(T)) / sizeof(T));                                                  \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda,   \
                                        T *work, int count, int *info) {                                     \
    SOLVER_CALL(h, "cusolverDn" #L "potrf");                                                                 \
    return cholesky(h, function, uplo, n, a, lda, ROOM(work, count, T), info);                               \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##potrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int nrhs,        \
                                        const T *a, int lda, T *b, int ldb, int *info) {                     \
    SOLVER_CALL(h, "cusolverDn" #L "potrs");                                                                 \
    return cholesky_solve(h, function, uplo, n, nrhs, a, lda, b, ldb, info);                                 \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##potrfBatched(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a[],   \
                                               int lda, int *infos, int count) {                             \
    SOLVER_CALL(h, "cusolverDn" #L "potrfBatched");                                                          \
    return cholesky_each(h, function, uplo, n, a, lda, infos, count);                                        \
  }
BOTH(CHOLESKY)

#define ORTHOGONAL(L, T)                                                                                     \
  cusolverStatus_t cusolverDn##L##orgqr_bufferSize(cusolverDnHandle_t h, int m, int n, int k, const T *,     \
                                                   int lda, const T *, int *out) {                           \
    SOLVER_CALL(h, "cusolverDn" #L "orgqr_bufferSize");                                                      \
    if (n < 0 || m < n || k < 0 || k > n || !fits(lda, m)) return CUSOLVER_STATUS_INVALID_VALUE;             \
    *out = (int)(qr_bytes(n, sizeof(T)) / sizeof(T));                                                        \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##orgqr(cusolverDnHandle_t h, int m, int n, int k, T *a, int lda,            \
                                        const T *tau, T *work, int count, int *info) {                       \
    SOLVER_CALL(h, "cusolverDn" #L "orgqr");                                                                 \
    return make_q(h, function, m, n, k, a, lda, tau, ROOM(work, count, T), info);                            \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##ormqr_bufferSize(cusolverDnHandle_t h, cublasSideMode_t side,              \
                                                   cublasOperation_t, int m, int n, int, const T *, int,     \
                                                   const T *, const T *, int, int *out) {                    \
    SOLVER_CALL(h, "cusolverDn" #L "ormqr_bufferSize");                                                      \
    if (m < 0 || n < 0) return CUSOLVER_STATUS_INVALID_VALUE;                                                \
    *out = (int)(qr_bytes(side == CUBLAS_SIDE_LEFT ? n : m, sizeof(T)) / sizeof(T));                         \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##ormqr(cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t t,    \
                                        int m, int n, int k, const T *a, int lda, const T *tau, T *c,        \
                                        int ldc, T *work, int count, int *info) {                            \
    SOLVER_CALL(h, "cusolverDn" #L "ormqr");                                                                 \
    return apply_q(h, function, {side, t, m, n, k}, a, lda, tau, c, ldc, ROOM(work, count, T), info);        \
  }
BOTH(ORTHOGONAL)

#define SMALL_EIGEN(L, T)                                                                                    \
  cusolverStatus_t cusolverDn##L##syevjBatched_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t,           \
                                                          cublasFillMode_t, int n, const T *, int lda,       \
                                                          const T *, int *out, syevjInfo_t, int count) {     \
    SOLVER_CALL(h, "cusolverDn" #L "syevjBatched_bufferSize");                                               \
    if (n < 0 || count < 0 || !fits(lda, n)) return CUSOLVER_STATUS_INVALID_VALUE;                           \
    *out = (int)(eigen_bytes(n, sizeof(T)) / sizeof(T)) * count;                                             \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##L##syevjBatched(cusolverDnHandle_t h, cusolverEigMode_t job,                  \
                                               cublasFillMode_t uplo, int n, T *a, int lda, T *w, T *work,   \
                                               int room_count, int *infos, syevjInfo_t, int count) {         \
    SOLVER_CALL(h, "cusolverDn" #L "syevjBatched");                                                          \
    return eigen_each(h, function, job, uplo, n, a, lda, w, ROOM(work, room_count, T), infos, count);        \
  }
BOTH(SMALL_EIGEN)

cusolverStatus_t cusolverDnCreateSyevjInfo (syevjInfo_t *out) {
  *out = new syevjInfo{1};
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroySyevjInfo (syevjInfo_t p) {
  delete p;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXsyevjSetTolerance (syevjInfo_t, double) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps (syevjInfo_t, int) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnXsyevjSetSortEig (syevjInfo_t p, int sorted) {
  p->sorted = sorted;
  return CUSOLVER_STATUS_SUCCESS;
}
}
