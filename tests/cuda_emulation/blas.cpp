/* blas.cpp - the part of cuBLAS that a device of Gibbous calls, over the host's BLAS. Both are column-major, so arguments
** pass through. A scalar is read at the call where the handle says that scalars are the host's, and when the work runs
** where they are the device's. The workspace of a handle is destroyed by each call. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "lapack.h"
#include "library.h"

struct cublasContext : emu::library_handle {
  cublasPointerMode_t scalars = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  void *workspace = nullptr;
  size_t workspace_bytes = 0;
};

namespace emu {

void library_work (const library_handle &h, const char *name, double operations, std::function<void()> body) {
  if (h.device != current_device())
    stop("%s: its handle is of device %d, not %d", name, h.device, current_device());
  enqueue(stream_of(h.queue), task::kernel, name, 5e-6 + operations * 1e-13, std::move(body));
}

static std::set<cublasHandle_t> handles;

static cublasStatus_t blas_status (cudaError_t e) {
  switch (e) {
    case cudaSuccess: return CUBLAS_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation: return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: return CUBLAS_STATUS_NOT_INITIALIZED;
    default: return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}
#define BLAS_CALL(h, name)                                                                                   \
  emu::call here(name);                                                                                      \
  if (here.error != cudaSuccess) return emu::blas_status(here.error);                                        \
  if (emu::handles.count(h) == 0) return CUBLAS_STATUS_NOT_INITIALIZED

static char letter (cublasOperation_t t) { return t == CUBLAS_OP_N ? 'N' : 'T'; }
static char letter (cublasFillMode_t u) { return u == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
static char letter (cublasSideMode_t s) { return s == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
static char letter (cublasDiagType_t d) { return d == CUBLAS_DIAG_UNIT ? 'U' : 'N'; }
static bool fits (int ld, int rows) { return ld >= (rows > 1 ? rows : 1); }

/* A scalar of a call. */
template <class T> struct scalar {
  const T *at;
  bool of_host;
  T value;
  scalar(cublasHandle_t h, const T *p)
      : at(p), of_host(h->scalars == CUBLAS_POINTER_MODE_HOST), value(of_host ? *p : T()) {}
  T get () const { return of_host ? value : *at; }
};

static cublasStatus_t run (cublasHandle_t h, const char *name, double operations,
                           std::function<void()> body) {
  void *workspace = h->workspace;
  const size_t bytes = h->workspace_bytes;
  library_work(*h, name, operations, [=] {
    destroy(workspace, bytes);
    body();
  });
  return CUBLAS_STATUS_SUCCESS;
}

/* -- products */

template <class T> struct product {
  cublasOperation_t ta, tb;
  int m, n, k;
  const T *a;
  int lda;
  const T *b;
  int ldb;
  T *c;
  int ldc;
  long long stride_a, stride_b, stride_c;
  int count;
};

template <class T> static cublasStatus_t check_product (const char *name, const product<T> &p) {
  const int rows_a = p.ta == CUBLAS_OP_N ? p.m : p.k, columns_a = p.ta == CUBLAS_OP_N ? p.k : p.m;
  const int rows_b = p.tb == CUBLAS_OP_N ? p.k : p.n, columns_b = p.tb == CUBLAS_OP_N ? p.n : p.k;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.count < 0 || !fits(p.lda, rows_a) || !fits(p.ldb, rows_b) ||
      !fits(p.ldc, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < p.count; i++) {
    must_be_on_device(name, "A", p.a + i * p.stride_a, matrix_bytes(rows_a, columns_a, p.lda, sizeof(T)));
    must_be_on_device(name, "B", p.b + i * p.stride_b, matrix_bytes(rows_b, columns_b, p.ldb, sizeof(T)));
    must_be_on_device(name, "C", p.c + i * p.stride_c, matrix_bytes(p.m, p.n, p.ldc, sizeof(T)));
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
static cublasStatus_t multiply (cublasHandle_t h, const char *name, const product<T> &p, const T *alpha,
                                const T *beta) {
  const cublasStatus_t s = check_product(name, p);
  if (s != CUBLAS_STATUS_SUCCESS) return s;
  const scalar<T> al(h, alpha), be(h, beta);
  return run(h, name, 2.0 * p.m * p.n * p.k * p.count, [=] {
    for (int i = 0; i < p.count; i++)
      gemm(letter(p.ta), letter(p.tb), p.m, p.n, p.k, al.get(), p.a + i * p.stride_a, p.lda,
           p.b + i * p.stride_b, p.ldb, be.get(), p.c + i * p.stride_c, p.ldc);
  });
}

/* 16-bit operands with sums in f32: exact products, so f32 copies give what the device may. */
static float widen (__half v) { return __half2float(v); }
static float widen (__nv_bfloat16 v) { return __bfloat162float(v); }
static void narrow (float v, __half *out) { *out = __float2half_rn(v); }
static void narrow (float v, __nv_bfloat16 *out) { *out = __float2bfloat16_rn(v); }

template <class T> static std::vector<float> widened (const T *a, int rows, int columns, int ld) {
  std::vector<float> out((size_t)rows * (size_t)columns + 1);
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) out[i + (size_t)j * rows] = widen(a[i + (size_t)j * ld]);
  return out;
}

template <class T> static void multiply_wide (const product<T> &p, int which, float alpha, float beta) {
  const int rows_a = p.ta == CUBLAS_OP_N ? p.m : p.k, columns_a = p.ta == CUBLAS_OP_N ? p.k : p.m;
  const int rows_b = p.tb == CUBLAS_OP_N ? p.k : p.n, columns_b = p.tb == CUBLAS_OP_N ? p.n : p.k;
  T *to = p.c + which * p.stride_c;
  const std::vector<float> a = widened(p.a + which * p.stride_a, rows_a, columns_a, p.lda);
  const std::vector<float> b = widened(p.b + which * p.stride_b, rows_b, columns_b, p.ldb);
  std::vector<float> c((size_t)p.m * p.n + 1);
  if (beta != 0) c = widened(to, p.m, p.n, p.ldc);
  gemm(letter(p.ta), letter(p.tb), p.m, p.n, p.k, alpha, a.data(), rows_a > 1 ? rows_a : 1, b.data(),
       rows_b > 1 ? rows_b : 1, beta, c.data(), p.m > 1 ? p.m : 1);
  for (int j = 0; j < p.n; j++)
    for (int i = 0; i < p.m; i++) narrow(c[i + (size_t)j * p.m], &to[i + (size_t)j * p.ldc]);
}

template <class T>
static cublasStatus_t multiply_half (cublasHandle_t h, const char *name, const product<T> &p,
                                     const float *alpha, const float *beta) {
  const cublasStatus_t s = check_product(name, p);
  if (s != CUBLAS_STATUS_SUCCESS) return s;
  const scalar<float> al(h, alpha), be(h, beta);
  return run(h, name, 2.0 * p.m * p.n * p.k * p.count, [=] {
    for (int i = 0; i < p.count; i++) multiply_wide(p, i, al.get(), be.get());
  });
}

struct any_product { /* cublasGemm...Ex: types at run time */
  cublasOperation_t ta, tb;
  int m, n, k;
  const void *a;
  cudaDataType type_a;
  int lda;
  const void *b;
  cudaDataType type_b;
  int ldb;
  void *c;
  cudaDataType type_c;
  int ldc;
  long long stride_a, stride_b, stride_c;
  int count;
  template <class T> product<T> of () const {
    return {ta,  tb,     m,   n,        k,        (const T *)a, lda,  (const T *)b,
            ldb, (T *)c, ldc, stride_a, stride_b, stride_c,     count};
  }
};
static cublasStatus_t multiply_any (cublasHandle_t h, const char *name, const any_product &p,
                                    const void *alpha, const void *beta, cublasComputeType_t compute) {
  if (p.type_a != p.type_b || p.type_a != p.type_c) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool single = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  const bool twice = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  const float *al = (const float *)alpha, *be = (const float *)beta;
  if (p.type_a == CUDA_R_64F && twice)
    return multiply(h, name, p.of<double>(), (const double *)alpha, (const double *)beta);
  if (p.type_a == CUDA_R_32F && single) return multiply(h, name, p.of<float>(), al, be);
  if (p.type_a == CUDA_R_16F && single) return multiply_half(h, name, p.of<__half>(), al, be);
  if (p.type_a == CUDA_R_16BF && single) return multiply_half(h, name, p.of<__nv_bfloat16>(), al, be);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

template <class T>
static cublasStatus_t multiply_vector (cublasHandle_t h, const char *name, cublasOperation_t t, int m, int n,
                                       const T *alpha, const T *a, int lda, const T *x, int incx,
                                       const T *beta, T *y, int incy) {
  if (m < 0 || n < 0 || !fits(lda, m) || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(m, n, lda, sizeof(T)));
  must_be_on_device(name, "x", x, matrix_bytes(1, t == CUBLAS_OP_N ? n : m, abs(incx), sizeof(T)));
  must_be_on_device(name, "y", y, matrix_bytes(1, t == CUBLAS_OP_N ? m : n, abs(incy), sizeof(T)));
  const scalar<T> al(h, alpha), be(h, beta);
  return run(h, name, 2.0 * m * n,
             [=] { gemv(letter(t), m, n, al.get(), a, lda, x, incx, be.get(), y, incy); });
}

/* -- triangles */

struct triangle {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasOperation_t t;
  cublasDiagType_t diag;
  int m, n;
  int order () const { return side == CUBLAS_SIDE_LEFT ? m : n; }
};
template <class T>
static cublasStatus_t solve (cublasHandle_t h, const char *name, const triangle &w, const T *alpha,
                             const T *a, int lda, T *b, int ldb) {
  if (w.m < 0 || w.n < 0 || !fits(lda, w.order()) || !fits(ldb, w.m)) return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(w.order(), w.order(), lda, sizeof(T)));
  must_be_on_device(name, "B", b, matrix_bytes(w.m, w.n, ldb, sizeof(T)));
  const scalar<T> al(h, alpha);
  return run(h, name, (double)w.order() * w.m * w.n, [=] {
    trsm(letter(w.side), letter(w.uplo), letter(w.t), letter(w.diag), w.m, w.n, al.get(), a, lda, b, ldb);
  });
}
template <class T>
static cublasStatus_t solve_each (cublasHandle_t h, const char *name, const triangle &w, const T *alpha,
                                  const T *const a[], int lda, T *const b[], int ldb, int count) {
  if (w.m < 0 || w.n < 0 || count < 0 || !fits(lda, w.order()) || !fits(ldb, w.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device(name, "the table of A", a, (size_t)count * sizeof *a);
  must_be_on_device(name, "the table of B", b, (size_t)count * sizeof *b);
  const scalar<T> al(h, alpha);
  return run(h, name, (double)w.order() * w.m * w.n * count, [=] {
    for (int i = 0; i < count; i++)
      trsm(letter(w.side), letter(w.uplo), letter(w.t), letter(w.diag), w.m, w.n, al.get(), a[i], lda, b[i],
           ldb);
  });
}
template <class T>
static cublasStatus_t square (cublasHandle_t h, const char *name, cublasFillMode_t uplo, cublasOperation_t t,
                              int n, int k, const T *alpha, const T *a, int lda, const T *beta, T *c,
                              int ldc) {
  const int rows = t == CUBLAS_OP_N ? n : k, columns = t == CUBLAS_OP_N ? k : n;
  if (n < 0 || k < 0 || !fits(lda, rows) || !fits(ldc, n)) return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device(name, "A", a, matrix_bytes(rows, columns, lda, sizeof(T)));
  must_be_on_device(name, "C", c, matrix_bytes(n, n, ldc, sizeof(T)));
  const scalar<T> al(h, alpha), be(h, beta);
  return run(h, name, (double)n * n * k,
             [=] { syrk(letter(uplo), letter(t), n, k, al.get(), a, lda, be.get(), c, ldc); });
}

template <class T>
static cublasStatus_t add (cublasHandle_t h, const char *name, cublasOperation_t ta, cublasOperation_t tb,
                           int m, int n, const T *alpha, const T *a, int lda, const T *beta, const T *b,
                           int ldb, T *c, int ldc) {
  if (m < 0 || n < 0 || !fits(ldc, m)) return CUBLAS_STATUS_INVALID_VALUE;
  const scalar<T> al(h, alpha), be(h, beta);
  must_be_on_device(name, "C", c, matrix_bytes(m, n, ldc, sizeof(T)));
  return run(h, name, 2.0 * m * n, [=] {
    const T x = al.get(), y = be.get(); /* of a factor 0 the matrix is not read */
    for (int j = 0; j < n; j++)
      for (int i = 0; i < m; i++) {
        const T left = x == 0 ? T(0)
                              : x * (ta == CUBLAS_OP_N ? a[i + (size_t)j * lda] : a[j + (size_t)i * lda]);
        const T right = y == 0 ? T(0)
                               : y * (tb == CUBLAS_OP_N ? b[i + (size_t)j * ldb] : b[j + (size_t)i * ldb]);
        c[i + (size_t)j * ldc] = left + right;
      }
  });
}

template <class T>
static cublasStatus_t factor_each (cublasHandle_t h, const char *name, int m, int n, T *const a[], int lda,
                                   T *const tau[], int *info, int count) {
  *info = m < 0           ? -1
          : n < 0         ? -2
          : !fits(lda, m) ? -4
          : count < 0     ? -7
                          : 0; /* of the host, and of arguments alone */
  if (*info != 0) return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device(name, "the table of A", a, (size_t)count * sizeof *a);
  must_be_on_device(name, "the table of tau", tau, (size_t)count * sizeof *tau);
  return run(h, name, 2.0 * m * n * n * count, [=] {
    std::vector<T> work((size_t)(n > 0 ? n : 1) * 32);
    int ignored;
    for (int i = 0; i < count; i++) geqrf(m, n, a[i], lda, tau[i], work.data(), (int)work.size(), &ignored);
  });
}

/* -- vectors */

template <class T>
static cublasStatus_t reduce (cublasHandle_t h, const char *name, int n, const T *x, int incx, const T *y,
                              int incy, T *out, bool root) {
  must_be_on_device(name, "x", x, matrix_bytes(1, n, abs(incx), sizeof(T)));
  must_be_on_device(name, "y", y, matrix_bytes(1, n, abs(incy), sizeof(T)));
  const bool of_host = h->scalars == CUBLAS_POINTER_MODE_HOST;
  auto found = std::make_shared<T>();
  run(h, name, 2.0 * n, [=] {
    double sum = 0; /* wider than the device's: the bits of a library are not promised */
    for (int i = 0; i < n; i++) sum += (double)x[(size_t)i * incx] * y[(size_t)i * incy];
    *found = (T)(root ? sqrt(sum) : sum);
    if (!of_host) *out = *found;
  });
  if (!of_host) return CUBLAS_STATUS_SUCCESS;
  const cublasStatus_t s = blas_status(wait_for(stream_of(h->queue)->last));
  *out = *found;
  return s;
}
template <class T>
static cublasStatus_t change_vector (cublasHandle_t h, const char *name, int n, const T *alpha, const T *x,
                                     int incx, T *y, int incy) {
  must_be_on_device(name, "x", x, x == nullptr ? 0 : matrix_bytes(1, n, abs(incx), sizeof(T)));
  must_be_on_device(name, "y", y, matrix_bytes(1, n, abs(incy), sizeof(T)));
  const scalar<T> al(h, alpha);
  return run(h, name, 2.0 * n, [=] { /* without x: y times alpha */
                                     const T by = al.get();
                                     for (int i = 0; i < n; i++) {
                                       T &to = y[(size_t)i * incy];
                                       to = x == nullptr ? by * to : by * x[(size_t)i * incx] + to;
                                     }
  });
}

}   // namespace emu

using namespace emu;
extern "C" {

/* -- handles */

cublasStatus_t cublasCreate_v2 (cublasHandle_t *out) {
  call here("cublasCreate");
  if (here.error != cudaSuccess) return blas_status(here.error);
  *out = new cublasContext;
  (*out)->device = current_device();
  handles.insert(*out);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2 (cublasHandle_t h) {
  BLAS_CALL(h, "cublasDestroy");
  run_all(h->device);
  handles.erase(h);
  delete h;
  return CUBLAS_STATUS_SUCCESS;
}
/* Another stream: the workspace is the library's own again. */
cublasStatus_t cublasSetStream_v2 (cublasHandle_t h, cudaStream_t stream) {
  BLAS_CALL(h, "cublasSetStream");
  h->queue = stream;
  h->workspace = nullptr;
  h->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2 (cublasHandle_t h, cudaStream_t *out) {
  BLAS_CALL(h, "cublasGetStream");
  *out = h->queue;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2 (cublasHandle_t h, void *at, size_t bytes) {
  BLAS_CALL(h, "cublasSetWorkspace");
  if ((uintptr_t)at % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  must_be_on_device("cublasSetWorkspace", "the workspace", at, bytes);
  h->workspace = at;
  h->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2 (cublasHandle_t h, cublasPointerMode_t mode) {
  BLAS_CALL(h, "cublasSetPointerMode");
  h->scalars = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2 (cublasHandle_t h, cublasPointerMode_t *out) {
  BLAS_CALL(h, "cublasGetPointerMode");
  *out = h->scalars;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode (cublasHandle_t h, cublasMath_t mode) {
  BLAS_CALL(h, "cublasSetMathMode");
  h->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode (cublasHandle_t h, cublasMath_t *out) {
  BLAS_CALL(h, "cublasGetMathMode");
  *out = h->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetAtomicsMode (cublasHandle_t h, cublasAtomicsMode_t mode) {
  BLAS_CALL(h, "cublasSetAtomicsMode");
  h->atomics = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2 (cublasHandle_t, int *out) {
  *out = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
const char *cublasGetStatusString (cublasStatus_t s) {
  switch (s) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an invalid numerical value was used as an argument";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality is not supported";
    default: return "the function failed to launch on the GPU";
  }
}

/* -- types at run time */

cublasStatus_t cublasGemmEx (cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                             int k, const void *alpha, const void *a, cudaDataType type_a, int lda,
                             const void *b, cudaDataType type_b, int ldb, const void *beta, void *c,
                             cudaDataType type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  BLAS_CALL(h, "cublasGemmEx");
  const any_product p = {ta, tb, m, n, k, a, type_a, lda, b, type_b, ldb, c, type_c, ldc, 0, 0, 0, 1};
  return multiply_any(h, "cublasGemmEx", p, alpha, beta, compute);
}
cublasStatus_t cublasGemmStridedBatchedEx (cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                                           int m, int n, int k, const void *alpha, const void *a,
                                           cudaDataType type_a, int lda, long long stride_a, const void *b,
                                           cudaDataType type_b, int ldb, long long stride_b, const void *beta,
                                           void *c, cudaDataType type_c, int ldc, long long stride_c,
                                           int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  BLAS_CALL(h, "cublasGemmStridedBatchedEx");
  const any_product p = {ta,     tb,  m, n,      k,   a,        type_a,   lda,      b,
                         type_b, ldb, c, type_c, ldc, stride_a, stride_b, stride_c, count};
  return multiply_any(h, "cublasGemmStridedBatchedEx", p, alpha, beta, compute);
}

/* -- one entry point a type */

#define BOTH(X) X(S, float) X(D, double)
#define GEMM(L, T)                                                                                           \
  cublasStatus_t cublas##L##gemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,     \
                                    int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb,  \
                                    const T *beta, T *c, int ldc) {                                          \
    BLAS_CALL(h, "cublas" #L "gemm");                                                                        \
    const product<T> p = {ta, tb, m, n, k, a, lda, b, ldb, c, ldc, 0, 0, 0, 1};                              \
    return multiply(h, "cublas" #L "gemm", p, alpha, beta);                                                  \
  }                                                                                                          \
  cublasStatus_t cublas##L##gemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
                                               int m, int n, int k, const T *alpha, const T *a, int lda,     \
                                               long long sa, const T *b, int ldb, long long sb,              \
                                               const T *beta, T *c, int ldc, long long sc, int count) {      \
    BLAS_CALL(h, "cublas" #L "gemmStridedBatched");                                                          \
    const product<T> p = {ta, tb, m, n, k, a, lda, b, ldb, c, ldc, sa, sb, sc, count};                       \
    return multiply(h, "cublas" #L "gemmStridedBatched", p, alpha, beta);                                    \
  }                                                                                                          \
  cublasStatus_t cublas##L##gemv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, const T *alpha,     \
                                    const T *a, int lda, const T *x, int incx, const T *beta, T *y,          \
                                    int incy) {                                                              \
    BLAS_CALL(h, "cublas" #L "gemv");                                                                        \
    return multiply_vector(h, "cublas" #L "gemv", t, m, n, alpha, a, lda, x, incx, beta, y, incy);           \
  }
BOTH(GEMM)

#define TRIANGLES(L, T)                                                                                      \
  cublasStatus_t cublas##L##trsm_v2(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,          \
                                    cublasOperation_t t, cublasDiagType_t diag, int m, int n,                \
                                    const T *alpha, const T *a, int lda, T *b, int ldb) {                    \
    BLAS_CALL(h, "cublas" #L "trsm");                                                                        \
    return solve(h, "cublas" #L "trsm", {side, uplo, t, diag, m, n}, alpha, a, lda, b, ldb);                 \
  }                                                                                                          \
  cublasStatus_t cublas##L##trsmBatched(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,      \
                                        cublasOperation_t t, cublasDiagType_t diag, int m, int n,            \
                                        const T *alpha, const T *const a[], int lda, T *const b[], int ldb,  \
                                        int count) {                                                         \
    BLAS_CALL(h, "cublas" #L "trsmBatched");                                                                 \
    return solve_each(h, "cublas" #L "trsmBatched", {side, uplo, t, diag, m, n}, alpha, a, lda, b, ldb,      \
                      count);                                                                                \
  }                                                                                                          \
  cublasStatus_t cublas##L##syrk_v2(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t t, int n,     \
                                    int k, const T *alpha, const T *a, int lda, const T *beta, T *c,         \
                                    int ldc) {                                                               \
    BLAS_CALL(h, "cublas" #L "syrk");                                                                        \
    return square(h, "cublas" #L "syrk", uplo, t, n, k, alpha, a, lda, beta, c, ldc);                        \
  }                                                                                                          \
  cublasStatus_t cublas##L##geam(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, \
                                 const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb,    \
                                 T *c, int ldc) {                                                            \
    BLAS_CALL(h, "cublas" #L "geam");                                                                        \
    return add(h, "cublas" #L "geam", ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                    \
  }                                                                                                          \
  cublasStatus_t cublas##L##geqrfBatched(cublasHandle_t h, int m, int n, T *const a[], int lda,              \
                                         T *const tau[], int *info, int count) {                             \
    BLAS_CALL(h, "cublas" #L "geqrfBatched");                                                                \
    return factor_each(h, "cublas" #L "geqrfBatched", m, n, a, lda, tau, info, count);                       \
  }
BOTH(TRIANGLES)

#define VECTORS(L, T)                                                                                        \
  cublasStatus_t cublas##L##dot_v2(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy,      \
                                   T *out) {                                                                 \
    BLAS_CALL(h, "cublas" #L "dot");                                                                         \
    return reduce(h, "cublas" #L "dot", n, x, incx, y, incy, out, false);                                    \
  }                                                                                                          \
  cublasStatus_t cublas##L##nrm2_v2(cublasHandle_t h, int n, const T *x, int incx, T *out) {                 \
    BLAS_CALL(h, "cublas" #L "nrm2");                                                                        \
    return reduce(h, "cublas" #L "nrm2", n, x, incx, x, incx, out, true);                                    \
  }                                                                                                          \
  cublasStatus_t cublas##L##axpy_v2(cublasHandle_t h, int n, const T *alpha, const T *x, int incx, T *y,     \
                                    int incy) {                                                              \
    BLAS_CALL(h, "cublas" #L "axpy");                                                                        \
    return change_vector(h, "cublas" #L "axpy", n, alpha, x, incx, y, incy);                                 \
  }                                                                                                          \
  cublasStatus_t cublas##L##scal_v2(cublasHandle_t h, int n, const T *alpha, T *x, int incx) {               \
    BLAS_CALL(h, "cublas" #L "scal");                                                                        \
    return change_vector<T>(h, "cublas" #L "scal", n, alpha, nullptr, 1, x, incx);                           \
  }
BOTH(VECTORS)
}
