/* small.cu - dense algebra of matrices of order GB_CUDA_SMALL at most: a thread block a matrix, or some columns of
** its right-hand sides, however many there are. An entry
** is one chain in ascending order of what is subtracted, so its bits depend neither on the batch nor on the grid. */
#include "cuda/dense/launch.cuh"

#include <float.h>

enum { MOST = GB_CUDA_SMALL, COLUMNS = 16, CHUNK = GB_CUDA_SMALL_COLUMNS, THREADS = 128 };

/* Where the matrix and the right-hand sides of slice k begin. */
static GB_DEVICE void find (const gb_cuda_batch *b, size_t k, size_t *x, size_t *y) {
  *x = *y = 0;
  for (int axis = b->axes - 1; axis >= 0; axis--) {
    const size_t at = k % b->extent[axis];
    *x += at * b->x[axis];
    *y += at * b->y[axis];
    k /= b->extent[axis];
  }
}

/* L of the lower triangle in 'l', its diagonal apart. The number of columns done: less than n where a pivot is not positive. */
template <class T> static GB_DEVICE size_t factor (T (*l)[MOST + 1], T *diagonal, size_t n) {
  for (size_t j = 0; j < n; j++) {
    const T pivot = l[j][j];
    if (!(pivot > 0)) return j;
    const T root = sqrt(pivot);
    if (threadIdx.x == 0) diagonal[j] = root;
    for (size_t i = j + 1 + threadIdx.x; i < n; i += THREADS) l[i][j] /= root;
    __syncthreads();
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) {
      const size_t i = e / n, c = e % n;
      if (c > j && c <= i) l[i][c] = fma(-l[i][j], l[c][j], l[i][c]);
    }
    __syncthreads();
  }
  return n;
}

/* A matrix that fails stays as it is, also in place. */
template <class T> static __global__ void factors (GB_PARAMETER gb_cuda_small p) {
  __shared__ T l[MOST][MOST + 1], diagonal[MOST];
  __shared__ int infinite;
  const size_t n = p.n;
  for (size_t k = blockIdx.x; k < p.batch.count; k += gridDim.x) {
    const T *a = (const T *)p.a + k * n * n;
    T *out = (T *)p.out + k * n * n;
    if (threadIdx.x == 0) infinite = 0;
    __syncthreads();
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) {
      const size_t i = e / n, j = e % n;
      if (j > i) continue;
      if (!isfinite(a[e])) infinite = 1, gb_cuda_note_first(p.found, GB_CUDA_MATRIX, k * n * n + e);
      l[i][j] = i == j ? a[e] + (T)p.jitter : a[e];
    }
    __syncthreads();
    const bool skipped = infinite != 0;
    const size_t done = skipped ? 0 : factor(l, diagonal, n);
    if (!skipped && done < n && threadIdx.x == 0) gb_cuda_note_first(p.found, GB_CUDA_PIVOT, k * n + done);
    for (size_t e = threadIdx.x; done == n && e < n * n; e += THREADS) {
      const size_t i = e / n, j = e % n;
      out[e] = j < i ? l[i][j] : j == i ? diagonal[i] : 0;
    }
    __syncthreads();
  }
}

/* x = op(m)^-1 x. 'forward': op(m) is lower. */
template <class T>
static GB_DEVICE void substitute (const T (*m)[MOST + 1], T (*x)[COLUMNS], size_t n, bool trans,
                                  bool forward) {
  for (size_t step = 0; step < n; step++) {
    const size_t j = forward ? step : n - 1 - step;
    if (threadIdx.x < COLUMNS) x[j][threadIdx.x] /= m[j][j];
    __syncthreads();
    for (size_t e = threadIdx.x; e < n * COLUMNS; e += THREADS) {
      const size_t i = e / COLUMNS, c = e % COLUMNS;
      if (forward ? i > j : i < j) x[i][c] = fma(-(trans ? m[j][i] : m[i][j]), x[j][c], x[i][c]);
    }
    __syncthreads();
  }
}

/* Rows that make the matrix singular: 0 on the diagonal, or columns of R that depend on those before. */
template <class T> static GB_DEVICE void judge (const gb_cuda_small *p, const T (*m)[MOST + 1], size_t k) {
  for (size_t j = threadIdx.x; j < p->n; j += THREADS) {
    double length = 0;
    for (size_t i = 0; p->least > 0 && i <= j; i++) length = hypot(length, (double)m[i][j]);
    if (p->least > 0 ? fabs((double)m[j][j]) <= p->least * length : m[j][j] == 0)
      gb_cuda_note_first(p->found, GB_CUDA_PIVOT, k * p->n + j);
  }
}

/* The sum of what the threads have, by a tree. */
static GB_DEVICE double total (double *part, double mine) {
  part[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  return part[0];
}

enum { MATRIX, RIGHT, RESULT, FLAGS };

template <class T> static __global__ void systems (GB_PARAMETER gb_cuda_small p) {
  __shared__ T m[MOST][MOST + 1], x[MOST][COLUMNS];
  __shared__ double part[THREADS];
  __shared__ int infinite[FLAGS];
  const size_t n = p.n, r = p.r, chunks = (r + CHUNK - 1) / CHUNK, parts = chunks > 0 ? chunks : 1;
  for (size_t item = blockIdx.x; item < p.batch.count * parts; item += gridDim.x) {
    const size_t k = item / parts, first = item % parts * CHUNK, end = first + CHUNK < r ? first + CHUNK : r;
    size_t at_a, at_b;
    find(&p.batch, k, &at_a, &at_b);
    const T *a = (const T *)p.a + at_a, *b = (const T *)p.b + at_b;
    double sum = 0;
    if (threadIdx.x < FLAGS) infinite[threadIdx.x] = 0;
    __syncthreads();
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) {
      m[e / n][e % n] = a[e];
      if (!isfinite(a[e])) infinite[MATRIX] = 1;
    }
    __syncthreads();
    if (p.judged && first == 0) judge(&p, m, k);
    for (size_t c0 = first; c0 < end; c0 += COLUMNS) {
      for (size_t e = threadIdx.x; e < n * COLUMNS; e += THREADS) {
        const size_t i = e / COLUMNS, c = c0 + e % COLUMNS;
        const T v = c < r ? b[i * r + c] : 0;
        x[i][e % COLUMNS] = v;
        if (!isfinite(v)) infinite[RIGHT] = 1;
      }
      __syncthreads();
      substitute(m, x, n, p.trans, p.upper == p.trans);
      if (p.both) substitute(m, x, n, true, false);
      for (size_t e = threadIdx.x; e < n * COLUMNS; e += THREADS) {
        const size_t i = e / COLUMNS, c = c0 + e % COLUMNS;
        const T v = x[i][e % COLUMNS];
        if (c >= r) continue;
        if (p.squares) sum += (double)v * (double)v;
        else ((T *)p.out)[(k * n + i) * r + c] = v;
        if (!isfinite(v)) infinite[RESULT] = 1;
      }
      __syncthreads();
    }
    if (p.squares) {
      const T value = (T)total(part, sum);
      if (threadIdx.x == 0) ((T *)p.out)[k] = value, infinite[RESULT] = !isfinite(value);
      __syncthreads();
    }
    if (threadIdx.x == 0 && infinite[RESULT] && !infinite[MATRIX] && !infinite[RIGHT])
      gb_cuda_note_first(p.found, GB_CUDA_RESULT, k);
    __syncthreads();
  }
}

/* (L L')^-1 = X' X, X = L^-1. */
template <class T> static __global__ void inverses (GB_PARAMETER gb_cuda_small p) {
  __shared__ T m[MOST][MOST + 1], x[MOST][COLUMNS], all[MOST][MOST + 1];
  const size_t n = p.n;
  for (size_t k = blockIdx.x; k < p.batch.count; k += gridDim.x) {
    const T *a = (const T *)p.a + k * n * n;
    T *out = (T *)p.out + k * n * n;
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) m[e / n][e % n] = a[e];
    for (size_t c0 = 0; c0 < n; c0 += COLUMNS) {
      for (size_t e = threadIdx.x; e < n * COLUMNS; e += THREADS)
        x[e / COLUMNS][e % COLUMNS] = e / COLUMNS == c0 + e % COLUMNS;
      __syncthreads();
      substitute(m, x, n, false, true);
      for (size_t e = threadIdx.x; e < n * COLUMNS; e += THREADS)
        if (c0 + e % COLUMNS < n) all[e / COLUMNS][c0 + e % COLUMNS] = x[e / COLUMNS][e % COLUMNS];
      __syncthreads();
    }
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) {
      const size_t i = e / n, j = e % n;
      T sum = 0;
      for (size_t q = i; j <= i && q < n; q++) sum = fma(all[q][i], all[q][j], sum);
      if (j <= i) out[i * n + j] = out[j * n + i] = sum;
    }
    __syncthreads();
  }
}

/* 'items' thread blocks have work. */
#define OVER(kernel, items)                                                                                  \
  do {                                                                                                       \
    const size_t all = (items);                                                                              \
    const unsigned grid = (unsigned)(all < 65536 ? all : 65536);                                             \
    if (grid == 0) return cudaSuccess;                                                                       \
    if (f32) GB_LAUNCH((kernel<float>), grid, (unsigned)THREADS, 0, s, *p);                                  \
    else GB_LAUNCH((kernel<double>), grid, (unsigned)THREADS, 0, s, *p);                                     \
    return cudaGetLastError();                                                                               \
  } while (0)

extern "C" cudaError_t gb_cuda_small_factors (bool f32, const gb_cuda_small *p, cudaStream_t s) {
  OVER(factors, p->batch.count);
}
extern "C" cudaError_t gb_cuda_small_systems (bool f32, const gb_cuda_small *p, cudaStream_t s) {
  OVER(systems, p->batch.count * (p->r > CHUNK ? (p->r + CHUNK - 1) / CHUNK : 1));
}
extern "C" cudaError_t gb_cuda_small_inverses (bool f32, const gb_cuda_small *p, cudaStream_t s) {
  OVER(inverses, p->batch.count);
}
