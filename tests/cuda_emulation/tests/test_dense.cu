/* test_dense.cu - the emulated cuBLAS and cuSOLVER: values against plain loops, and what a GPU does and LAPACK does not:
** NaN without a failure, workspaces that are queried, large enough and destroyed, work in a stream's order, scalars of
** the device. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cusolverDn.h>
#include <math.h>

#include "cuda_emulation/tests/test.h"

#define assert_good(call) assert_int_equal((call), 0)

static cublasHandle_t blas;
static cusolverDnHandle_t solver;
static cusolverDnParams_t params;

static int open_libraries (void **) {
  assert_good(cublasCreate(&blas));
  assert_good(cusolverDnCreate(&solver));
  assert_good(cusolverDnCreateParams(&params));
  return 0;
}
static int close_libraries (void **) {
  assert_good(cublasDestroy(blas));
  assert_good(cusolverDnDestroy(solver));
  assert_good(cusolverDnDestroyParams(params));
  assert_int_equal(emu_pieces(), 0);
  return 0;
}

typedef std::vector<double> values;
static double entry (int i, int j) { return (i * 7 + j * 13) % 11 - 5 + (i == j ? 20 : 0); }
static values matrix (int m, int n) {
  values a((size_t)m * n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) a[i + (size_t)j * m] = entry(i, j);
  return a;
}
static values symmetric (int n) {
  values a((size_t)n * n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) a[i + (size_t)j * n] = entry(i, j) + entry(j, i) + (i == j ? 100 : 0);
  return a;
}
static bool near (double a, double b, double tolerance) { return fabs(a - b) <= tolerance * (1 + fabs(b)); }
/* a (m x k) b (k x n), transposed where asked. */
static values times (const values &a, bool ta, const values &b, bool tb, int m, int n, int k) {
  values c((size_t)m * n, 0.0);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++)
      for (int p = 0; p < k; p++)
        c[i + (size_t)j * m] += (ta ? a[p + (size_t)i * k] : a[i + (size_t)p * m]) *
                                (tb ? b[j + (size_t)p * n] : b[p + (size_t)j * k]);
  return c;
}
static void assert_near (const values &got, const values &expected, double tolerance) {
  assert_int_equal(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); i++)
    if (!near(got[i], expected[i], tolerance)) fail_msg("%zu: %.17g, expected %.17g", i, got[i], expected[i]);
}

static void products_equal_loops (void **) {
  const int m = 5, n = 7, k = 6;
  for (int which = 0; which < 4; which++) {
    const bool ta = which & 1, tb = which & 2;
    const values a = ta ? matrix(k, m) : matrix(m, k), b = tb ? matrix(n, k) : matrix(k, n);
    double *da = on_device(a), *db = on_device(b), *dc = on_device(values((size_t)m * n, NAN));
    const double one = 1, none = 0;
    assert_good(cublasGemmEx(blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k,
                             &one, da, CUDA_R_64F, ta ? k : m, db, CUDA_R_64F, tb ? n : k, &none, dc,
                             CUDA_R_64F, m, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
    assert_near(from_device(dc, (size_t)m * n), times(a, ta, b, tb, m, n, k), 1e-15);
    for (double *p : {da, db, dc}) assert_done(cudaFree(p));
  }
}

static void halves_are_summed_in_floats (void **) {
  const int n = 4;
  std::vector<__half> a(n * n), c(n * n);
  std::vector<__nv_bfloat16> b(n * n), e(n * n);
  for (int i = 0; i < n * n; i++)
    a[i] = __float2half(0.5f * (float)i), b[i] = __float2bfloat16(0.5f * (float)i);
  const float one = 1, none = 0;
  __half *da = on_device(a), *dc = on_device(c);
  assert_good(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, CUDA_R_16F, n, da, CUDA_R_16F,
                           n, &none, dc, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  __nv_bfloat16 *db = on_device(b), *de = on_device(e);
  assert_good(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, db, CUDA_R_16BF, n, db, CUDA_R_16BF,
                           n, &none, de, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  c = from_device(dc, n * n);
  e = from_device(de, n * n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      float sum = 0;
      for (int p = 0; p < n; p++) sum += 0.25f * (float)((i + p * n) * (p + j * n));
      assert_true(__half2float(c[i + j * n]) == __half2float(__float2half(sum)));
      assert_true(__bfloat162float(e[i + j * n]) == __bfloat162float(__float2bfloat16(sum)));
    }
  assert_int_equal(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, CUDA_R_16F, n, da,
                                CUDA_R_32F, n, &none, dc, CUDA_R_16F, n, CUBLAS_COMPUTE_32F,
                                CUBLAS_GEMM_DEFAULT),
                   CUBLAS_STATUS_NOT_SUPPORTED);
  assert_done(cudaFree(da));
  assert_done(cudaFree(db));
  assert_done(cudaFree(dc));
  assert_done(cudaFree(de));
}

static void triangles_and_squares_equal_loops (void **) {
  const int n = 9, r = 4;
  values l = symmetric(n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) l[i + (size_t)j * n] = 0;
  const values x = matrix(n, r);
  double *dl = on_device(l), *db = on_device(times(l, false, x, false, n, r, n)),
         *ds = on_device(values((size_t)n * n, 0.0));
  const double one = 1, none = 0;
  assert_good(cublasDtrsm(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                          n, r, &one, dl, n, db, n));
  assert_near(from_device(db, (size_t)n * r), x, 1e-12);
  assert_good(cublasDsyrk(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, r, &one, db, n, &none, ds, n));
  const values s = from_device(ds, (size_t)n * n), full = times(x, false, x, true, n, n, r);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      assert_true(near(s[i + (size_t)j * n], i >= j ? full[i + (size_t)j * n] : 0, 1e-12));
  for (double *p : {dl, db, ds}) assert_done(cudaFree(p));
}

static void scalars_are_the_host_s_or_the_device_s (void **) {
  double *x = on_device(values(8, 3.0)), *alpha = on_device(values(1, 2.0)), *out = on_device(values(1, 0.0));
  double host = 0;
  assert_good(cublasDnrm2(blas, 8, x, 1, &host));
  assert_true(near(host, sqrt(72), 1e-15));
  assert_good(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  assert_good(cublasDscal(blas, 8, alpha, x, 1));
  assert_good(cublasDdot(blas, 8, x, 1, x, 1, out));
  assert_true(from_device(out, 1)[0] == 288);
  assert_good(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
  const outcome o =
      in_child([=] { cublasDscal(blas, 8, alpha, x, 1); }); /* a scalar of the device, read by the host */
  assert_non_null(strstr(o.said.c_str(), "host code touches"));
  for (double *p : {x, alpha, out}) assert_done(cudaFree(p));
}

/* -- factorisations */

struct rooms {
  size_t far_bytes, near_bytes;
  void *far = nullptr, *near = nullptr;
  int *info;
  void take (void) {
    if (far_bytes > 0) assert_done(cudaMalloc(&far, far_bytes));
    near = malloc(near_bytes + 1);
    info = on_device(std::vector<int>(1, -99));
  }
  int give (void) {
    const int found = from_device(info, 1)[0];
    if (far != nullptr) { /* what was in it is destroyed */
      const std::vector<unsigned char> left = from_device((unsigned char *)far, 64);
      for (unsigned char c : left) assert_int_equal(c, 0xFF);
      assert_done(cudaFree(far));
    }
    assert_done(cudaFree(info));
    free(near);
    far = near = nullptr;
    return found;
  }
};

static int factor (double *a, int n, bool short_room) {
  rooms r;
  assert_good(cusolverDnXpotrf_bufferSize(solver, params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, a, n,
                                          CUDA_R_64F, &r.far_bytes, &r.near_bytes));
  r.take();
  if (short_room) {
    assert_int_equal(cusolverDnXpotrf(solver, params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, a, n, CUDA_R_64F,
                                      r.far, r.far_bytes - 1, r.near, r.near_bytes, r.info),
                     CUSOLVER_STATUS_INVALID_VALUE);
    return r.give();
  }
  assert_done(cudaMemset(r.far, 1, r.far_bytes));
  assert_good(cusolverDnXpotrf(solver, params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, a, n, CUDA_R_64F, r.far,
                               r.far_bytes, r.near, r.near_bytes, r.info));
  return r.give();
}

static void cholesky_factors_and_says_where_it_failed (void **) {
  const int n = 12;
  const values a = symmetric(n);
  double *d = on_device(a);
  assert_int_equal(factor(d, n, true), -99);
  assert_int_equal(factor(d, n, false), 0);
  values l = from_device(d, (size_t)n * n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) l[i + (size_t)j * n] = 0;
  assert_near(times(l, false, l, true, n, n, n), a, 1e-12);
  values bad = a;
  bad[5 + 5 * n] = -1;
  assert_done(cudaMemcpy(d, bad.data(), bad.size() * 8, cudaMemcpyHostToDevice));
  assert_int_equal(factor(d, n, false), 6);
  bad[5 + 5 * n] = NAN; /* a NaN is no failure */
  assert_done(cudaMemcpy(d, bad.data(), bad.size() * 8, cudaMemcpyHostToDevice));
  assert_int_equal(factor(d, n, false), 0);
  l = from_device(d, (size_t)n * n);
  assert_true(isnan(l[5 + 5 * n]) && isnan(l[11 + 11 * n]) && isfinite(l[4 + 4 * n]));
  assert_done(cudaFree(d));
}

static void lu_solves (void **) {
  const int n = 8, m = 3;
  const values a = matrix(n, n), x = matrix(n, m);
  double *da = on_device(a), *db = on_device(times(a, false, x, false, n, m, n));
  int64_t *pivots = on_device(std::vector<int64_t>(n));
  rooms r;
  assert_good(cusolverDnXgetrf_bufferSize(solver, params, n, n, CUDA_R_64F, da, n, CUDA_R_64F, &r.far_bytes,
                                          &r.near_bytes));
  r.take();
  assert_good(cusolverDnXgetrf(solver, params, n, n, CUDA_R_64F, da, n, pivots, CUDA_R_64F, r.far,
                               r.far_bytes, r.near, r.near_bytes, r.info));
  assert_good(cusolverDnXgetrs(solver, params, CUBLAS_OP_N, n, m, CUDA_R_64F, da, n, pivots, CUDA_R_64F, db,
                               n, r.info));
  assert_int_equal(r.give(), 0);
  assert_near(from_device(db, (size_t)n * m), x, 1e-12);
  for (void *p : {(void *)da, (void *)db, (void *)pivots}) assert_done(cudaFree(p));
}

static void qr_has_orthogonal_columns (void **) {
  const int m = 10, n = 4;
  const values a = matrix(m, n);
  double *d = on_device(a), *tau = on_device(values(n));
  rooms r;
  assert_good(cusolverDnXgeqrf_bufferSize(solver, params, m, n, CUDA_R_64F, d, m, CUDA_R_64F, tau, CUDA_R_64F,
                                          &r.far_bytes, &r.near_bytes));
  r.take();
  assert_good(cusolverDnXgeqrf(solver, params, m, n, CUDA_R_64F, d, m, CUDA_R_64F, tau, CUDA_R_64F, r.far,
                               r.far_bytes, r.near, r.near_bytes, r.info));
  assert_int_equal(r.give(), 0);
  values upper = from_device(d, (size_t)m * n), square((size_t)n * n, 0.0);
  for (int j = 0; j < n; j++)
    for (int i = 0; i <= j; i++) square[i + (size_t)j * n] = upper[i + (size_t)j * m];
  int count;
  assert_good(cusolverDnDorgqr_bufferSize(solver, m, n, n, d, m, tau, &count));
  r.far_bytes = (size_t)count * 8;
  r.take();
  assert_good(cusolverDnDorgqr(solver, m, n, n, d, m, tau, (double *)r.far, count, r.info));
  assert_int_equal(r.give(), 0);
  const values q = from_device(d, (size_t)m * n);
  assert_near(times(q, false, square, false, m, n, n), a, 1e-12);
  values one((size_t)n * n, 0.0);
  for (int i = 0; i < n; i++) one[i + (size_t)i * n] = 1;
  assert_near(times(q, true, q, false, n, n, m), one, 1e-12);
  assert_done(cudaFree(d));
  assert_done(cudaFree(tau));
}

static void eigenvalues_and_vectors_belong_together (void **) {
  const int n = 7;
  const values a = symmetric(n);
  double *d = on_device(a), *w = on_device(values(n));
  for (int bad = 0; bad < 2; bad++) {
    rooms r;
    if (bad) assert_done(cudaMemcpy(d, values(n * n, NAN).data(), n * n * 8, cudaMemcpyHostToDevice));
    assert_good(cusolverDnXsyevd_bufferSize(solver, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                            n, CUDA_R_64F, d, n, CUDA_R_64F, w, CUDA_R_64F, &r.far_bytes,
                                            &r.near_bytes));
    assert_true(r.near_bytes > 0);
    r.take();
    assert_good(cusolverDnXsyevd(solver, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n,
                                 CUDA_R_64F, d, n, CUDA_R_64F, w, CUDA_R_64F, r.far, r.far_bytes, r.near,
                                 r.near_bytes, r.info));
    assert_int_equal(r.give(), 0);
    const values v = from_device(d, (size_t)n * n), e = from_device(w, n);
    if (bad) {
      for (double x : v) assert_true(isnan(x));
      for (double x : e) assert_true(isnan(x));
      continue;
    }
    const values av = times(a, false, v, false, n, n, n);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        assert_true(near(av[i + (size_t)j * n], e[j] * v[i + (size_t)j * n], 1e-11));
  }
  assert_done(cudaFree(d));
  assert_done(cudaFree(w));
}

static void singular_values_rebuild_the_matrix (void **) {
  const int m = 9, n = 5;
  const values a = matrix(m, n);
  double *d = on_device(a), *s = on_device(values(n)), *u = on_device(values((size_t)m * n)),
         *vt = on_device(values((size_t)n * n));
  rooms r;
  assert_int_equal(cusolverDnXgesvd_bufferSize(solver, params, 'S', 'S', n, m, CUDA_R_64F, d, n, CUDA_R_64F,
                                               s, CUDA_R_64F, u, n, CUDA_R_64F, vt, n, CUDA_R_64F,
                                               &r.far_bytes, &r.near_bytes),
                   CUSOLVER_STATUS_INVALID_VALUE); /* fewer rows than columns */
  assert_good(cusolverDnXgesvd_bufferSize(solver, params, 'S', 'S', m, n, CUDA_R_64F, d, m, CUDA_R_64F, s,
                                          CUDA_R_64F, u, m, CUDA_R_64F, vt, n, CUDA_R_64F, &r.far_bytes,
                                          &r.near_bytes));
  r.take();
  assert_good(cusolverDnXgesvd(solver, params, 'S', 'S', m, n, CUDA_R_64F, d, m, CUDA_R_64F, s, CUDA_R_64F, u,
                               m, CUDA_R_64F, vt, n, CUDA_R_64F, r.far, r.far_bytes, r.near, r.near_bytes,
                               r.info));
  assert_int_equal(r.give(), 0);
  values scaled = from_device(u, (size_t)m * n);
  const values sigma = from_device(s, n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) scaled[i + (size_t)j * m] *= sigma[j];
  assert_near(times(scaled, false, from_device(vt, (size_t)n * n), false, m, n, n), a, 1e-12);
  assert_true(isnan(from_device(d, 1)[0])); /* the matrix is gone */
  for (double *p : {d, s, u, vt}) assert_done(cudaFree(p));
}

static void small_ones_go_in_batches (void **) {
  const int n = 4, count = 3;
  std::vector<double *> tables;
  values all;
  for (int i = 0; i < count; i++) {
    values a = symmetric(n);
    if (i == 1) a[0] = -5;
    all.insert(all.end(), a.begin(), a.end());
  }
  double *d = on_device(all);
  for (int i = 0; i < count; i++) tables.push_back(d + i * n * n);
  double **table = on_device(tables);
  int *infos = on_device(std::vector<int>(count, -9));
  assert_good(cusolverDnDpotrfBatched(solver, CUBLAS_FILL_MODE_LOWER, n, table, n, infos, count));
  assert_true(from_device(infos, count) == std::vector<int>({0, 1, 0}));
  const double one = 1;
  double *b = on_device(values((size_t)n * count, 1.0));
  std::vector<double *> sides;
  for (int i = 0; i < count; i++) sides.push_back(b + i * n);
  double **side = on_device(sides);
  assert_good(cublasDtrsmBatched(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                 CUBLAS_DIAG_NON_UNIT, n, 1, &one, table, n, side, n, count));
  assert_true(near(from_device(b, 1)[0], 1 / sqrt(symmetric(n)[0]), 1e-14));
  for (void *p : {(void *)d, (void *)table, (void *)infos, (void *)b, (void *)side}) assert_done(cudaFree(p));
}

/* -- order, addresses, failures */

static void libraries_work_in_their_stream (void **) {
  cudaStream_t s;
  double *x = on_device(values(8, 1.0)), *pinned;
  const double two = 2;
  assert_done(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  assert_done(cudaMallocHost(&pinned, 64));
  assert_good(cublasSetStream(blas, s));
  assert_true(emu_set("SCHEDULE", "lazy"));
  assert_good(cublasDscal(blas, 8, &two, x, 1));
  assert_done(cudaMemcpy(pinned, x, 64,
                         cudaMemcpyDeviceToHost)); /* of the default stream, which does not wait for s */
  assert_true(pinned[0] == 1);
  assert_done(cudaMemcpyAsync(pinned, x, 64, cudaMemcpyDeviceToHost, s));
  assert_done(cudaStreamSynchronize(s));
  assert_true(pinned[0] == 2);
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_good(cublasSetStream(blas, nullptr));
  assert_done(cudaStreamDestroy(s));
  assert_done(cudaFreeHost(pinned));
  assert_done(cudaFree(x));
}

static void the_workspace_of_products_is_destroyed (void **) {
  double *x = on_device(values(4, 1.0));
  unsigned char *room;
  const double two = 2;
  assert_done(cudaMalloc(&room, 4096));
  assert_done(cudaMemset(room, 1, 4096));
  assert_good(cublasSetWorkspace(blas, room, 4096));
  assert_good(cublasDscal(blas, 4, &two, x, 1));
  for (unsigned char c : from_device(room, 4096)) assert_int_equal(c, 0xFF);
  assert_good(cublasSetStream(blas, nullptr)); /* the library's own again */
  assert_done(cudaFree(room));
  assert_done(cudaFree(x));
}

static void addresses_that_leave_a_device_stop (void **) {
  const double one = 1;
  assert_stopped("cublasDscal: y (64 bytes) leaves memory of a device", [=] {
    double here[8];
    cublasDscal(blas, 8, &one, here, 1);
  });
  assert_stopped("cusolverDnXpotrs: A", [=] {
    double *d = on_device(values(16, 1.0));
    cusolverDnXpotrs(solver, params, CUBLAS_FILL_MODE_LOWER, 5, 1, CUDA_R_64F, d, 5, CUDA_R_64F, d, 5,
                     (int *)d);
  });
}

static void failures_that_are_asked_for_happen (void **) {
  const double one = 1;
  double *x = on_device(values(4, 1.0));
  emu_begin();
  assert_true(emu_set("FAIL", "cublasDscal@2=700000"));
  assert_good(cublasDscal(blas, 4, &one, x, 1));
  assert_int_equal(cublasDscal(blas, 4, &one, x, 1), CUBLAS_STATUS_EXECUTION_FAILED);
  assert_true(emu_set("FAIL", "cublasCreate@1=2,cusolverDnXgetrf_bufferSize@1=2"));
  cublasHandle_t h;
  size_t far, near;
  assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_ALLOC_FAILED);
  assert_int_equal(
      cusolverDnXgetrf_bufferSize(solver, params, 4, 4, CUDA_R_64F, x, 4, CUDA_R_64F, &far, &near),
      CUSOLVER_STATUS_ALLOC_FAILED);
  assert_true(emu_set("FAIL", nullptr));
  assert_done(cudaFree(x));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_equal_loops),
      cmocka_unit_test(halves_are_summed_in_floats),
      cmocka_unit_test(triangles_and_squares_equal_loops),
      cmocka_unit_test(scalars_are_the_host_s_or_the_device_s),
      cmocka_unit_test(cholesky_factors_and_says_where_it_failed),
      cmocka_unit_test(lu_solves),
      cmocka_unit_test(qr_has_orthogonal_columns),
      cmocka_unit_test(eigenvalues_and_vectors_belong_together),
      cmocka_unit_test(singular_values_rebuild_the_matrix),
      cmocka_unit_test(small_ones_go_in_batches),
      cmocka_unit_test(libraries_work_in_their_stream),
      cmocka_unit_test(the_workspace_of_products_is_destroyed),
      cmocka_unit_test(addresses_that_leave_a_device_stop),
      cmocka_unit_test(failures_that_are_asked_for_happen),
  };
  return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
