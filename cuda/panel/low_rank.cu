/* low_rank.cu - a low-rank matrix plus noise, by Woodbury's formula, and samples through its root. All sums
** are the chains of cpu/panel/low_rank.c: of a block of rows, then of the blocks; or of the rows of L'. */
#include "cuda/draw.cuh"
#include "cuda/panel/view.cuh"

#include <math.h>
#include <string.h>

#define ROWS GB_PANEL_BLOCK
#define WIDTH GB_PANEL_WIDTH

struct low_rank {
  size_t n, rank;
  double noise;
  const double *scale, *lt, *c, *d;
  double *work; /* (rank, WIDTH) */
};

static low_rank of_host (const gb_low_rank *p) {
  low_rank q = {p->n,
                p->rank,
                p->noise,
                (const double *)p->scale,
                (const double *)p->lt,
                (const double *)p->c,
                (const double *)p->d,
                (double *)p->work};
  return q;
}

static GB_DEVICE double scale_of (const low_rank &p, size_t i) { return p.scale != NULL ? p.scale[i] : 1; }

/* -- P^-1 = S (I - L C^-1 L') S / noise, for up to WIDTH columns */

/* part (blocks, rank, WIDTH) = L' S in, a chain a block of rows; 'first' is the first row of the view. */
static __global__ void project_blocks (low_rank p, gb_cuda_view in, size_t first, double *part) {
  __shared__ double v[ROWS][WIDTH];
  const size_t i0 = (size_t)blockIdx.x * ROWS, left = in.n - i0, rows = left < ROWS ? left : ROWS;
  for (size_t e = threadIdx.x; e < rows * WIDTH; e += blockDim.x) {
    const size_t i = i0 + e / WIDTH, c = e % WIDTH;
    v[e / WIDTH][c] = c < in.r ? scale_of(p, first + i) * *gb_cuda_entry(in, i, c) : 0;
  }
  __syncthreads();
  for (size_t e = threadIdx.x; e < p.rank * WIDTH; e += blockDim.x) {
    const double *l = p.lt + e / WIDTH * p.n + first + i0;
    double s = 0;
    for (size_t i = 0; i < rows; i++) s += l[i] * v[i][e % WIDTH];
    part[(size_t)blockIdx.x * p.rank * WIDTH + e] = s;
  }
}

static __global__ void add_blocks (low_rank p, size_t blocks, bool begins, const double *part) {
  const size_t e = gb_cuda_thread(), size = p.rank * WIDTH;
  if (e >= size) return;
  double s = begins ? 0 : p.work[e];
  for (size_t b = 0; b < blocks; b++) s += part[b * size + e];
  p.work[e] = s;
}

/* work = C^-1 work. Entries that wait for a known one leave it at once: each has its terms in the same
** order. */
static __global__ void solve_small (low_rank p) {
  const size_t k = p.rank;
  double *x = p.work;
  for (size_t m = 0; m < k; m++) {
    if (threadIdx.x < WIDTH) x[m * WIDTH + threadIdx.x] /= p.c[m * k + m];
    __syncthreads();
    for (size_t e = (m + 1) * WIDTH + threadIdx.x; e < k * WIDTH; e += blockDim.x)
      x[e] -= p.c[e / WIDTH * k + m] * x[m * WIDTH + e % WIDTH];
    __syncthreads();
  }
  for (size_t i = k; i-- > 0;) {
    if (threadIdx.x < WIDTH) x[i * WIDTH + threadIdx.x] /= p.c[i * k + i];
    __syncthreads();
    for (size_t e = threadIdx.x; e < i * WIDTH; e += blockDim.x)
      x[e] -= p.c[i * k + e / WIDTH] * x[i * WIDTH + e % WIDTH];
    __syncthreads();
  }
}

/* out = S (S in - L work) / noise */
static __global__ void subtract_rows (low_rank p, gb_cuda_view in, gb_cuda_view out, size_t first) {
  const size_t t = gb_cuda_thread(), i = t / in.r, c = t % in.r;
  if (i >= in.n) return;
  const double scale = scale_of(p, first + i);
  double s = 0;
  for (size_t m = 0; m < p.rank; m++) s += p.lt[m * p.n + first + i] * p.work[m * WIDTH + c];
  *gb_cuda_entry(out, i, c) = scale * ((scale * *gb_cuda_entry(in, i, c) - s) / p.noise);
}

static gb_panel columns_of (gb_panel x, size_t k0, size_t w) {
  x.r = w;
  if (x.column != NULL) x.column += k0;
  else x.at = gb_panel_address(x.at, k0);
  return x;
}

static size_t least (size_t a, size_t b) { return a < b ? a : b; }

/* Rows whose sums of blocks, and lists, fit the room. */
static size_t rows_at_once (const low_rank &p, const gb_panel &x) {
  const size_t blocks = gb_cuda_room(x) / 4 / ((p.rank + 1) * WIDTH * sizeof(double));
  return least((blocks > 0 ? blocks : 1) * ROWS, gb_cuda_rows_at_once(x));
}

static void project (const low_rank &p, const gb_panel &in) {
  const size_t some = rows_at_once(p, in);
  for (size_t i0 = 0; i0 < in.n; i0 += some) {
    const size_t n = least(in.n - i0, some), blocks = gb_cuda_groups(n, ROWS);
    gb_cuda_work w = gb_cuda_work_begin(in.device);
    const gb_cuda_view v = gb_cuda_work_view(&w, in, i0, n);
    double *part = (double *)gb_cuda_work_take(&w, blocks * p.rank * WIDTH * sizeof *part);
    if (w.gpu == NULL) return;
    GB_LAUNCH(project_blocks, (unsigned)blocks, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, p, v, i0, part);
    gb_cuda_work_launched(&w, "project_blocks");
    GB_LAUNCH(add_blocks, gb_cuda_groups(p.rank * WIDTH, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, p, blocks, i0 == 0, part);
    gb_cuda_work_launched(&w, "add_blocks");
  }
}

static void subtract (const low_rank &p, const gb_panel &in, const gb_panel &out) {
  const size_t some = least(rows_at_once(p, in), rows_at_once(p, out));
  for (size_t i0 = 0; i0 < in.n; i0 += some) {
    const size_t n = least(in.n - i0, some);
    gb_cuda_work w = gb_cuda_work_begin(in.device);
    const gb_cuda_view a = gb_cuda_work_view(&w, in, i0, n), b = gb_cuda_work_view(&w, out, i0, n);
    if (w.gpu == NULL) return;
    GB_LAUNCH(subtract_rows, gb_cuda_groups(n * in.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, p, a, b, i0);
    gb_cuda_work_launched(&w, "subtract_rows");
  }
}

static void solve_columns (const low_rank &p, const gb_panel &in, const gb_panel &out) {
  if (p.rank > 0) {
    project(p, in);
    gb_cuda_work w = gb_cuda_work_begin(in.device);
    if (w.gpu == NULL) return;
    GB_LAUNCH(solve_small, 1, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, p);
    gb_cuda_work_launched(&w, "solve_small");
  }
  subtract(p, in, out);
}

static __global__ void divide_rows (const double *d, gb_cuda_view in, gb_cuda_view out, size_t first) {
  const size_t t = gb_cuda_thread(), i = t / in.r, k = t % in.r;
  if (i < in.n) *gb_cuda_entry(out, i, k) = *gb_cuda_entry(in, i, k) / d[first + i];
}

static void divide (const low_rank &p, const gb_panel &in, const gb_panel &out) {
  const size_t some = least(gb_cuda_rows_at_once(in), gb_cuda_rows_at_once(out));
  for (size_t i0 = 0; i0 < in.n; i0 += some) {
    const size_t n = least(in.n - i0, some);
    gb_cuda_work w = gb_cuda_work_begin(in.device);
    const gb_cuda_view a = gb_cuda_work_view(&w, in, i0, n), b = gb_cuda_work_view(&w, out, i0, n);
    if (w.gpu == NULL) return;
    GB_LAUNCH(divide_rows, gb_cuda_groups(n * in.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, p.d, a, b, i0);
    gb_cuda_work_launched(&w, "divide_rows");
  }
}

void gb_cuda_panel_solve (const gb_low_rank *of, gb_panel x, gb_panel y) {
  const low_rank p = of_host(of);
  if (x.n == 0 || x.r == 0) return;
  if (p.lt == NULL && p.d == NULL) gb_cuda_panel_copy(x, y);
  else if (p.lt == NULL) divide(p, x, y);
  else
    for (size_t k0 = 0; k0 < x.r; k0 += WIDTH) {
      const size_t w = least(x.r - k0, WIDTH);
      solve_columns(p, columns_of(x, k0, w), columns_of(y, k0, w));
    }
}

/* -- sampling */

static __global__ void draw_factors (low_rank p, uint64_t seed, size_t c0, size_t n, double *f) {
  const size_t e = gb_cuda_thread();
  if (e < p.rank * WIDTH) f[e] = gb_draw_normal(seed, c0 + e % WIDTH, n + e / WIDTH);
}

struct sampling {
  low_rank p;
  uint64_t seed;
  size_t c0, first;
  const double *f; /* (rank, WIDTH) */
  gb_cuda_view out;
};

static __global__ void sample_rows (sampling q) {
  const size_t t = gb_cuda_thread(), i = t / q.out.r, c = t % q.out.r, place = q.first + i;
  if (i >= q.out.n) return;
  double s = 0;
  for (size_t m = 0; m < q.p.rank; m++) s += q.f[m * WIDTH + c] * q.p.lt[m * q.p.n + place];
  const double root = q.p.lt != NULL ? sqrt(q.p.noise) : 1;
  double z = root * gb_draw_normal(q.seed, q.c0 + c, place);
  if (q.p.d != NULL) z *= sqrt(q.p.d[place]);
  *gb_cuda_entry(q.out, i, c) = (z + s) / (q.p.lt != NULL ? scale_of(q.p, place) : 1);
}

/* If the room cannot hold the factors, nothing is computed, and gb_cuda_work_take has noted the failure. */
static void sample_columns (const low_rank &p, uint64_t seed, size_t c0, const gb_panel &x) {
  const size_t some = gb_cuda_rows_at_once(x);
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = least(x.n - i0, some);
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    sampling q = {p, seed, c0, i0, NULL, gb_cuda_work_view(&w, x, i0, n)};
    double *f = (double *)gb_cuda_work_take(&w, (p.rank + 1) * WIDTH * sizeof *f);
    if (w.gpu == NULL) return;
    if (p.rank > 0)
      GB_LAUNCH(draw_factors, gb_cuda_groups(p.rank * WIDTH, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
                w.gpu->stream, p, seed, c0, x.n, f);
    gb_cuda_work_launched(&w, "draw_factors");
    q.f = f;
    if (w.gpu == NULL) return;
    GB_LAUNCH(sample_rows, gb_cuda_groups(n * x.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, q);
    gb_cuda_work_launched(&w, "sample_rows");
  }
}

void gb_cuda_panel_sample (const gb_low_rank *of, uint64_t seed, size_t first, gb_panel x) {
  const low_rank p = of_host(of);
  for (size_t c0 = first; x.n > 0 && c0 < x.r; c0 += WIDTH)
    sample_columns(p, seed, c0, columns_of(x, c0, least(x.r - c0, WIDTH)));
}
