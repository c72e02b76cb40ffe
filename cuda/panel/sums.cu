/* sums.cu - sums over the rows of panels: a block of threads makes the products of a block of rows together,
** and one thread a column adds them in the order of the rows. Sums of blocks are added on the host, in their
** order. */
#include "cuda/panel/view.cuh"

#include <math.h>
#include <string.h>

#define BLOCK GB_PANEL_BLOCK
enum { WIDTH = 16 }; /* columns of a thread block */

/* -- dot products */

struct step_job {
  gb_cuda_view p, q, x, y;
  const double *f;
  double *sums; /* (blocks, columns) */
};

static GB_DEVICE void add_chains (double (*product)[WIDTH], size_t rows, size_t k0, size_t columns,
                                  double *sums) {
  const size_t k = k0 + threadIdx.x;
  if (threadIdx.x >= WIDTH || k >= columns) return;
  double s = 0;
  for (size_t i = 0; i < rows; i++) s += product[i][threadIdx.x];
  sums[blockIdx.x * columns + k] = s;
}

static GB_DEVICE size_t rows_of_block (size_t n) {
  const size_t left = n - (size_t)blockIdx.x * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

static __global__ void dot_blocks (gb_cuda_view x, gb_cuda_view y, double *sums) {
  __shared__ double product[BLOCK][WIDTH];
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x, k0 = (size_t)blockIdx.y * WIDTH;
  if (i < x.n)
    for (size_t k = k0; k < x.r && k < k0 + WIDTH; k++)
      product[threadIdx.x][k - k0] = *gb_cuda_entry(x, i, k) * *gb_cuda_entry(y, i, k);
  __syncthreads();
  add_chains(product, rows_of_block(x.n), k0, x.r, sums);
}

static __global__ void step_blocks (step_job j) {
  __shared__ double product[BLOCK][WIDTH];
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x, k0 = (size_t)blockIdx.y * WIDTH;
  if (i < j.p.n)
    for (size_t k = k0; k < j.p.r && k < k0 + WIDTH; k++) {
      *gb_cuda_entry(j.x, i, k) += j.f[k] * *gb_cuda_entry(j.p, i, k);
      double *at = gb_cuda_entry(j.y, i, k);
      const double r = *at - j.f[k] * *gb_cuda_entry(j.q, i, k);
      *at = r;
      product[threadIdx.x][k - k0] = r * r;
    }
  __syncthreads();
  add_chains(product, rows_of_block(j.p.n), k0, j.p.r, j.sums);
}

struct totals {
  double *out;
  size_t w, at; /* columns; number of the next sum */
};

static void add_sums (void *ud, const void *piece, size_t bytes) {
  totals *t = (totals *)ud;
  const double *sums = (const double *)piece;
  for (size_t e = 0; e < bytes / sizeof *sums; e++, t->at++) t->out[t->at % t->w] += sums[e];
}

/* The sums of so many blocks, in order. */
static void add_totals (gb_cuda_work *w, const double *sums, size_t blocks, size_t columns, double *out) {
  totals t = {out, columns, 0};
  gb_cuda_work_look(w, sums, blocks * columns * sizeof *sums, add_sums, &t);
}

static size_t least (size_t a, size_t b) { return a < b ? a : b; }

/* Rows of one launch, whole blocks of them: lists and, without memory for them, sums of blocks take room. */
static size_t rows_at_once (const gb_panel &x, bool listed, bool in_room) {
  size_t rows = x.n;
  if (listed) rows = least(rows, gb_cuda_listed_rows(x));
  if (in_room) rows = least(rows, gb_cuda_room(x) / 4 / (x.r * sizeof(double)) * BLOCK);
  return rows;
}

static dim3 grid_of (size_t rows, size_t columns) {
  return dim3(gb_cuda_groups(rows, BLOCK), gb_cuda_groups(columns, WIDTH));
}

void gb_cuda_panel_dot (gb_panel x, gb_panel y, void *sums, double *out) {
  const size_t some = x.r == 0 ? 1 : rows_at_once(x, x.row != NULL || y.row != NULL, sums == NULL);
  memset(out, 0, x.r * sizeof *out);
  for (size_t i0 = 0; x.r > 0 && i0 < x.n; i0 += some) {
    const size_t n = least(x.n - i0, some), blocks = gb_cuda_groups(n, BLOCK);
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const gb_cuda_view a = gb_cuda_work_view(&w, x, i0, n), b = gb_cuda_work_view(&w, y, i0, n);
    double *to = sums != NULL ? (double *)sums + i0 / BLOCK * x.r
                              : (double *)gb_cuda_work_take(&w, blocks * x.r * sizeof *out);
    if (w.gpu != NULL) {
      GB_LAUNCH(dot_blocks, grid_of(n, x.r), BLOCK, 0, w.gpu->stream, a, b, to);
      gb_cuda_work_launched(&w, "dot_blocks");
    }
    add_totals(&w, to, blocks, x.r, out);
    gb_cuda_work_spoil(w, out, x.r);
  }
}

void gb_cuda_panel_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums,
                         double *out) {
  const bool listed = p.row != NULL || q.row != NULL || x.row != NULL || r.row != NULL;
  const size_t some = p.r == 0 ? 1 : rows_at_once(p, listed, false);
  memset(out, 0, p.r * sizeof *out);
  for (size_t i0 = 0; p.r > 0 && i0 < p.n; i0 += some) {
    const size_t n = least(p.n - i0, some);
    gb_cuda_work w = gb_cuda_work_begin(p.device);
    step_job j;
    j.p = gb_cuda_work_view(&w, p, i0, n);
    j.q = gb_cuda_work_view(&w, q, i0, n);
    j.x = gb_cuda_work_view(&w, x, i0, n);
    j.y = gb_cuda_work_view(&w, r, i0, n);
    j.f = (const double *)gb_cuda_work_put(&w, f, p.r * sizeof *f);
    j.sums = (double *)sums + i0 / BLOCK * p.r;
    if (w.gpu != NULL) {
      GB_LAUNCH(step_blocks, grid_of(n, p.r), BLOCK, 0, w.gpu->stream, j);
      gb_cuda_work_launched(&w, "step_blocks");
    }
    add_totals(&w, j.sums, gb_cuda_groups(n, BLOCK), p.r, out);
    gb_cuda_work_spoil(w, out, p.r);
  }
}

/* -- one chain over all rows: on the host, which adds faster than one thread of a GPU */

template <class F> static double chain_over (const gb_panel &x, double start, F next) {
  double some[1024];
  gb_panel part = gb_panel_column(x, 0);
  if (x.row == NULL && x.stride == 1) { /* as it lies */
    struct along {
      double sum;
      F *next;
    } a = {start, &next};
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const auto look = [] (void *ud, const void *piece, size_t bytes) {
      along *l = (along *)ud;
      for (size_t e = 0; e < bytes / sizeof(double); e++)
        l->sum = (*l->next)(l->sum, ((const double *)piece)[e]);
    };
    gb_cuda_work_look(&w, part.at, x.n * sizeof(double), look, &a);
    return w.gpu != NULL ? a.sum : NAN;
  }
  for (size_t i0 = 0; i0 < x.n; i0 += 1024) {
    part.n = least(x.n - i0, 1024);
    if (x.row != NULL) part.row = x.row + i0;
    gb_cuda_panel_read(part, some);
    for (size_t i = 0; i < part.n; i++) start = next(start, some[i]);
    if (x.row == NULL) part.at = gb_panel_address(part.at, 1024 * x.stride);
  }
  return start;
}

double gb_cuda_panel_sum (gb_panel x) {
  return chain_over(x, 0, [] (double s, double v) { return s + v; });
}
double gb_cuda_panel_sum_squares (gb_panel x, double start) {
  return chain_over(x, start, [] (double s, double v) { return s + v * v; });
}
double gb_cuda_panel_sum_logs (gb_panel x, double factor, double start) {
  return chain_over(x, start, [factor] (double s, double v) { return s + factor * log(v); });
}

/* -- the worst of m interleaved parts: a thread a part */

static __global__ void part_sums (gb_cuda_view x, size_t m, size_t rows, const double *length, double *out) {
  const size_t k = gb_cuda_thread();
  if (k >= m) return;
  double sum = 0;
  for (size_t i = 0; i < rows; i++) {
    const double *row = gb_cuda_row(x, (k + i * m) % x.n);
    for (size_t c = 0; c < x.r; c++)
      if (length[c] > 0) sum += (row[c] / length[c]) * (row[c] / length[c]);
  }
  out[k] = sum;
}

struct worst {
  size_t at, best;
  double most;
};

static void look_for_worst (void *ud, const void *piece, size_t bytes) {
  worst *w = (worst *)ud;
  const double *sum = (const double *)piece;
  for (size_t e = 0; e < bytes / sizeof *sum; e++, w->at++)
    if (sum[e] > w->most) w->most = sum[e], w->best = w->at;
}

/* Sums of parts are in the room: as many as fit there are made at once. */
size_t gb_cuda_panel_worst_interleaved (gb_panel x, size_t m, const double *length) {
  worst found = {0, 0, -1};
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const gb_cuda_view v = gb_cuda_work_view(&w, x, 0, x.n);
  const double *lengths = (const double *)gb_cuda_work_put(&w, length, x.r * sizeof *length);
  double *sums = (double *)gb_cuda_work_take(&w, m * sizeof *sums);
  if (w.gpu == NULL || m == 0) return 0;
  GB_LAUNCH(part_sums, gb_cuda_groups(m, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, v,
            m, (x.n + m - 1) / m, lengths, sums);
  gb_cuda_work_launched(&w, "part_sums");
  gb_cuda_work_look(&w, sums, m * sizeof *sums, look_for_worst, &found);
  return found.best;
}
