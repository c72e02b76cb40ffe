/* dense.cu - small dense matrices. Factors and triangular solves are one thread block's work, column by
** column: their orders are a few hundreds. */
#include "cuda/panel/view.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 512, SIDE = 16 };

/* -- factors */

struct factor_state {
  unsigned long long minor; /* order of the first one that is not positive, or 0 */
};

/* Left-looking: each entry of a column is one chain. */
static __global__ void factor (double *a, size_t n, size_t stride, factor_state *state) {
  __shared__ double pivot;
  for (size_t j = 0; j < n; j++) {
    const double *row_j = a + j * stride;
    for (size_t i = j + threadIdx.x; i < n; i += blockDim.x) {
      double *row = a + i * stride, s = row[j];
      for (size_t m = 0; m < j; m++) s -= row[m] * row_j[m];
      row[j] = s;
      if (i == j) pivot = s;
    }
    __syncthreads();
    const double p = pivot;
    if (p <= 0) { /* the same in all threads */
      if (threadIdx.x == 0) state->minor = j + 1;
      break;
    }
    const double root = sqrt(p);
    for (size_t i = j + threadIdx.x; i < n; i += blockDim.x)
      a[i * stride + j] = i == j ? root : a[i * stride + j] / root;
    __syncthreads();
  }
}

gb_status gb_cuda_panel_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err) {
  factor_state state = {0};
  gb_cuda_work w = gb_cuda_work_begin(a.device);
  factor_state *there = (factor_state *)gb_cuda_work_put(&w, &state, sizeof state);
  if (w.gpu != NULL && a.n > 0) {
    GB_LAUNCH(factor, 1, THREADS, 0, w.gpu->stream, (double *)a.at, a.n, a.stride, there);
    gb_cuda_work_launched(&w, "factor");
    gb_cuda_work_get(&w, &state, there, sizeof state);
  }
  *minor = (size_t)state.minor;
  size_t column;
  *finite = gb_cuda_panel_finite(gb_panel_diagonal(a, a.n), false, &column);
  return gb_cuda_enter(gb_cuda_of(a.device), err);
}

/* A tile of c = shift I + lt lt', its lower triangle; lt (k, n). Chains of 2048 entries, then these in
** order. */
static __global__ void gram_tile (gb_cuda_view lt, double shift, gb_cuda_view c) {
  __shared__ double left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
  const size_t tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  const size_t i = (size_t)blockIdx.y * SIDE + ty, k = (size_t)blockIdx.x * SIDE + tx,
               k_row = (size_t)blockIdx.x * SIDE + ty;
  double total = 0, chain = 0;
  for (size_t t0 = 0; t0 < lt.r; t0 += SIDE) {
    const size_t t = t0 + tx;
    left[ty][tx] = i < c.n && t < lt.r ? lt.at[i * lt.stride + t] : 0;
    right[ty][tx] = k_row < c.n && t < lt.r ? lt.at[k_row * lt.stride + t] : 0;
    __syncthreads();
    for (size_t m = 0; m < SIDE; m++) chain += left[ty][m] * right[tx][m];
    if (t0 % 2048 == 2048 - SIDE) total += chain, chain = 0;
    __syncthreads();
  }
  total += chain;
  if (i < c.n && k < c.n) c.at[i * c.stride + k] = k > i ? 0 : k == i ? total + shift : total;
}

gb_status gb_cuda_panel_gram (gb_panel lt, double shift, gb_panel c, gb_error *err) {
  gb_cuda_work w = gb_cuda_work_begin(c.device);
  const gb_cuda_view a = gb_cuda_work_view(&w, lt, 0, lt.n), out = gb_cuda_work_view(&w, c, 0, c.n);
  const unsigned tiles = gb_cuda_groups(c.n, SIDE);
  if (w.gpu != NULL && c.n > 0) {
    GB_LAUNCH(gram_tile, dim3(tiles, tiles), SIDE * SIDE, 0, w.gpu->stream, a, shift, out);
    gb_cuda_work_launched(&w, "gram_tile");
  }
  return gb_cuda_enter(gb_cuda_of(c.device), err);
}

/* -- triangles. A thread block a column of x: an entry that is known leaves the others at once. */

static __global__ void solve_lower (const double *l, size_t n, size_t stride, gb_cuda_view x) {
  double *v = x.at + blockIdx.x;
  for (size_t m = 0; m < n; m++) {
    if (threadIdx.x == 0) v[m * x.stride] /= l[m * stride + m];
    __syncthreads();
    const double known = v[m * x.stride];
    for (size_t i = m + 1 + threadIdx.x; i < n; i += blockDim.x) v[i * x.stride] -= l[i * stride + m] * known;
    __syncthreads();
  }
}

static __global__ void solve_upper (const double *l, size_t n, size_t stride, gb_cuda_view x) {
  double *v = x.at + blockIdx.x;
  for (size_t m = n; m-- > 0;) {
    if (threadIdx.x == 0) v[m * x.stride] /= l[m * stride + m];
    __syncthreads();
    const double known = v[m * x.stride];
    for (size_t i = threadIdx.x; i < m; i += blockDim.x) v[i * x.stride] -= l[m * stride + i] * known;
    __syncthreads();
  }
}

void gb_cuda_panel_trsm (gb_panel l, bool transposed, gb_panel x) {
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const gb_cuda_view v = gb_cuda_work_view(&w, x, 0, x.n);
  if (w.gpu == NULL || x.r == 0 || l.n == 0) return;
  if (transposed)
    GB_LAUNCH(solve_upper, (unsigned)x.r, THREADS, 0, w.gpu->stream, (const double *)l.at, l.n, l.stride, v);
  else
    GB_LAUNCH(solve_lower, (unsigned)x.r, THREADS, 0, w.gpu->stream, (const double *)l.at, l.n, l.stride, v);
  gb_cuda_work_launched(&w, "solve_lower");
}

/* y = L' x and x = L y, a thread an entry: the chains of cpu/panel/dense.c. */
static __global__ void times_upper (const double *l, size_t n, size_t stride, const double *x, double *y) {
  const size_t j = gb_cuda_thread();
  if (j >= n) return;
  double s = l[j * stride + j] * x[j];
  for (size_t i = j + 1; i < n; i++) s += l[i * stride + j] * x[i];
  y[j] = s;
}
static __global__ void times_lower (const double *l, size_t n, size_t stride, const double *y, double *x) {
  const size_t i = gb_cuda_thread();
  if (i >= n) return;
  double t = 0;
  for (size_t j = 0; j <= i; j++) t += l[i * stride + j] * y[j];
  x[i] = t;
}

void gb_cuda_panel_times_gram (gb_panel l, gb_panel x) {
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  double *y = (double *)gb_cuda_work_take(&w, l.n * sizeof *y);
  const unsigned groups = gb_cuda_groups(l.n, GB_CUDA_PANEL_THREADS);
  if (w.gpu == NULL || l.n == 0) return;
  GB_LAUNCH(times_upper, groups, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, (const double *)l.at, l.n, l.stride,
            (const double *)x.at, y);
  gb_cuda_work_launched(&w, "times_upper");
  GB_LAUNCH(times_lower, groups, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, (const double *)l.at, l.n, l.stride,
            y, (double *)x.at);
  gb_cuda_work_launched(&w, "times_lower");
}

/* -- condition: Higham's estimate of |A^-1|_1 (ACM TOMS 14, 1988), for the symmetric A = L L' */

/* v = A^-1 v: rows of L are read along, forwards for L and backwards for L'. */
template <class T> static __global__ void solve_factor (const T *l, size_t n, double *v) {
  __shared__ double part[THREADS];
  for (size_t i = 0; i < n; i++) {
    const T *row = l + i * n;
    double s = 0;
    for (size_t j = threadIdx.x; j < i; j += THREADS) s += (double)row[j] * v[j];
    part[threadIdx.x] = s;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) v[i] = (v[i] - part[0]) / (double)row[i];
    __syncthreads();
  }
  for (size_t i = n; i-- > 0;) {
    const T *row = l + i * n;
    if (threadIdx.x == 0) v[i] /= (double)row[i];
    __syncthreads();
    const double known = v[i];
    for (size_t j = threadIdx.x; j < i; j += THREADS) v[j] -= (double)row[j] * known;
    __syncthreads();
  }
}

struct estimate {
  gb_device *device;
  bool f32;
  size_t n;
  const void *l;
  double *there, *v; /* a vector on the GPU, and on the host */
  signed char *sign;
};

/* v = A^-1 v; false where the GPU fails. */
static bool apply (const estimate *e) {
  gb_cuda_work w = gb_cuda_work_begin(e->device);
  gb_cuda_work_send(&w, e->there, e->v, e->n * sizeof *e->v);
  if (w.gpu == NULL) return false;
  if (e->f32)
    GB_LAUNCH((solve_factor<float>), 1, THREADS, 0, w.gpu->stream, (const float *)e->l, e->n, e->there);
  else GB_LAUNCH((solve_factor<double>), 1, THREADS, 0, w.gpu->stream, (const double *)e->l, e->n, e->there);
  gb_cuda_work_launched(&w, "solve_factor");
  gb_cuda_work_get(&w, e->v, e->there, e->n * sizeof *e->v);
  return w.gpu != NULL;
}

static double sum_of_sizes (const estimate *e) {
  double s = 0;
  for (size_t i = 0; i < e->n; i++) s += fabs(e->v[i]);
  return s;
}

/* v becomes its signs; true where they are those of the last time. */
static bool take_signs (const estimate *e) {
  bool same = true;
  for (size_t i = 0; i < e->n; i++) {
    const signed char s = e->v[i] >= 0 ? 1 : -1;
    same &= s == e->sign[i];
    e->sign[i] = s;
    e->v[i] = s;
  }
  return same;
}

static size_t largest (const estimate *e) {
  size_t best = 0;
  for (size_t i = 1; i < e->n; i++)
    if (fabs(e->v[i]) > fabs(e->v[best])) best = i;
  return best;
}

static void unit (const estimate *e, size_t j) {
  memset(e->v, 0, e->n * sizeof *e->v);
  e->v[j] = 1;
}

/* From column to column while the sum of one grows. */
static double climb (const estimate *e) {
  const size_t n = e->n;
  for (size_t i = 0; i < n; i++) e->v[i] = 1 / (double)n;
  if (!apply(e)) return NAN;
  double most = sum_of_sizes(e);
  take_signs(e);
  if (!apply(e)) return NAN;
  size_t j = largest(e);
  for (int turn = 2; turn <= 5; turn++) {
    unit(e, j);
    if (!apply(e)) return NAN;
    const double sum = sum_of_sizes(e);
    const bool grows = sum > most, same = take_signs(e);
    if (grows) most = sum;
    if (same || !grows || !apply(e)) break;
    const size_t last = j;
    j = largest(e);
    if (fabs(e->v[last]) == fabs(e->v[j])) break;
  }
  return most;
}

/* The other estimate, for matrices that deceive the first. */
static double zigzag (const estimate *e) {
  for (size_t i = 0; i < e->n; i++) e->v[i] = (i % 2 == 0 ? 1 : -1) * (1 + (double)i / (double)(e->n - 1));
  return apply(e) ? 2 * sum_of_sizes(e) / (3 * (double)e->n) : NAN;
}

static double inverse_norm (const estimate *e) {
  if (e->n == 1) {
    unit(e, 0);
    return apply(e) ? fabs(e->v[0]) : NAN;
  }
  const double most = climb(e), other = zigzag(e);
  return other > most ? other : most;
}

size_t gb_cuda_panel_rcond_bytes (const gb_device *dev, bool f32, size_t n) {
  (void)dev, (void)f32;
  return n * sizeof(double);
}

gb_status gb_cuda_panel_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work,
                               double *out, gb_error *err) {
  *out = n == 0 ? 1 : 0;
  if (n == 0 || norm == 0) return GB_OK;
  estimate e = {
      dev, f32, n, l, (double *)work, (double *)malloc(n * sizeof(double)), (signed char *)calloc(n, 1)};
  if (e.v != NULL && e.sign != NULL) *out = 1 / inverse_norm(&e) / norm;
  const bool room = e.v != NULL && e.sign != NULL;
  free(e.v);
  free(e.sign);
  if (!room) return gb_fail(err, GB_ENOMEM, "no memory for a condition number of order %zu", n);
  return gb_cuda_enter(gb_cuda_of(dev), err);
}
