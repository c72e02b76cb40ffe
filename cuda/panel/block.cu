/* block.cu - products of panels with each other and with small matrices, tile by tile: a thread has four
** entries of a tile, each a chain in the order of cpu/panel/block.c; products and sums are rounded apart. */
#include "cuda/panel/view.cuh"

#include <string.h>

#define BLOCK GB_PANEL_BLOCK
enum { SIDE = 16, TILE = 2 * SIDE, THREADS = SIDE * SIDE };

/* -- a tile */

/* Factors of a tile: entry (i, k) is the sum over m of left[m][i] * right[m][k]. */
struct factors {
  double left[TILE][TILE + 1], right[TILE][TILE + 1];
};

/* What a thread has of it: entries (ty + a SIDE, tx + b SIDE). */
struct entries {
  double at[2][2];
};

/* Of 'left' terms, as many as a tile has. */
static GB_DEVICE void add_products (const factors &f, size_t left, entries &s) {
  const unsigned tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  const size_t count = left < TILE ? left : (size_t)TILE;
  for (size_t m = 0; m < count; m++)
    for (int a = 0; a < 2; a++)
      for (int b = 0; b < 2; b++) s.at[a][b] += f.left[m][ty + a * SIDE] * f.right[m][tx + b * SIDE];
}

static GB_DEVICE double value_at (const gb_cuda_view &v, size_t i, size_t k) {
  return i < v.n && k < v.r ? *gb_cuda_entry(v, i, k) : 0;
}

/* -- x' y: a thread block has a block of rows and a tile of the columns of x and y */

static __global__ void cross_blocks (gb_cuda_view x, gb_cuda_view y, double *sums) {
  __shared__ factors f;
  const size_t i0 = (size_t)blockIdx.x * BLOCK, left = x.n - i0, rows = left < BLOCK ? left : BLOCK,
               j0 = (size_t)blockIdx.y * TILE, k0 = (size_t)blockIdx.z * TILE;
  entries s = {{{0, 0}, {0, 0}}};
  for (size_t m0 = 0; m0 < rows; m0 += TILE) {
    for (size_t e = threadIdx.x; e < TILE * TILE; e += THREADS) {
      const size_t m = e / TILE, c = e % TILE;
      f.left[m][c] = value_at(x, i0 + m0 + m, j0 + c);
      f.right[m][c] = value_at(y, i0 + m0 + m, k0 + c);
    }
    __syncthreads();
    add_products(f, rows - m0, s);
    __syncthreads();
  }
  double *out = sums + blockIdx.x * x.r * y.r;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      const size_t j = j0 + threadIdx.x / SIDE + a * SIDE, k = k0 + threadIdx.x % SIDE + b * SIDE;
      if (j < x.r && k < y.r) out[j * y.r + k] = s.at[a][b];
    }
}

/* The first of so many rows of sums becomes the sum of all, in their order. */
static __global__ void add_up (double *sums, size_t blocks, size_t width) {
  const size_t e = gb_cuda_thread();
  if (e >= width) return;
  double s = 0;
  for (size_t b = 0; b < blocks; b++) s += sums[b * width + e];
  sums[e] = s;
}

static size_t least (size_t a, size_t b) { return a < b ? a : b; }

static size_t rows_at_once (const gb_panel &x, const gb_panel &y) {
  return x.row != NULL || y.row != NULL ? gb_cuda_listed_rows(x) : x.n;
}

static void cross_part (gb_cuda_work *w, const gb_panel &x, const gb_panel &y, size_t i0, size_t n,
                        double *sums) {
  const gb_cuda_view a = gb_cuda_work_view(w, x, i0, n), b = gb_cuda_work_view(w, y, i0, n);
  if (w->gpu == NULL) return;
  GB_LAUNCH(cross_blocks,
            dim3(gb_cuda_groups(n, BLOCK), gb_cuda_groups(x.r, TILE), gb_cuda_groups(y.r, TILE)), THREADS, 0,
            w->gpu->stream, a, b, sums);
  gb_cuda_work_launched(w, "cross_blocks");
}

void gb_cuda_panel_cross (gb_panel x, gb_panel y, void *sums, double *out) {
  const size_t width = x.r * y.r, some = rows_at_once(x, y);
  double *at = (double *)sums;
  memset(out, 0, width * sizeof *out);
  if (width == 0 || x.n == 0) return;
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  for (size_t i0 = 0; w.gpu != NULL && i0 < x.n; i0 += some) {
    w.used = 0;
    cross_part(&w, x, y, i0, least(x.n - i0, some), at + i0 / BLOCK * width);
  }
  if (w.gpu != NULL) {
    GB_LAUNCH(add_up, gb_cuda_groups(width, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0, w.gpu->stream,
              at, (size_t)gb_cuda_groups(x.n, BLOCK), width);
    gb_cuda_work_launched(&w, "add_up");
  }
  gb_cuda_work_get(&w, out, at, width * sizeof *out);
  gb_cuda_work_spoil(w, out, width);
}

/* -- y = x m, or y += x m: a thread block has a tile of y */

struct product {
  gb_cuda_view x, m, y; /* m: so many rows, for the columns of x from 'first' */
  size_t first;
  bool begins; /* sums begin with 0, not with the entry of y */
};

static __global__ void multiply_tile (product p) {
  __shared__ factors f;
  const size_t i0 = (size_t)blockIdx.x * TILE, k0 = (size_t)blockIdx.y * TILE, i = i0 + threadIdx.x / SIDE,
               k = k0 + threadIdx.x % SIDE;
  entries s;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) s.at[a][b] = p.begins ? 0 : value_at(p.y, i + a * SIDE, k + b * SIDE);
  for (size_t m0 = 0; m0 < p.m.n; m0 += TILE) {
    for (size_t e = threadIdx.x; e < TILE * TILE; e += THREADS) {
      const size_t row = e / TILE, c = e % TILE;
      f.left[c][row] = value_at(p.x, i0 + row, p.first + m0 + c);
      f.right[row][c] = value_at(p.m, m0 + row, k0 + c);
    }
    __syncthreads();
    add_products(f, p.m.n - m0, s);
    __syncthreads();
  }
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++)
      if (i + a * SIDE < p.y.n && k + b * SIDE < p.y.r)
        *gb_cuda_entry(p.y, i + a * SIDE, k + b * SIDE) = s.at[a][b];
}

/* A matrix of the host: in the room while all parts of a panel are multiplied, or some rows at a time where
** it takes more than a quarter of the room. */
struct matrix {
  const double *at;
  size_t rows, columns, some;
  const double *there; /* all of it in the room, or NULL */
};

static matrix matrix_of (gb_cuda_work *w, const gb_panel &x, const double *m, size_t columns) {
  const size_t fit = gb_cuda_room(x) / 4 / (columns * sizeof *m), some = least(fit > 0 ? fit : 1, x.r);
  matrix a = {m, x.r, columns, some, NULL};
  if (some == x.r) a.there = (const double *)gb_cuda_work_put(w, m, x.r * columns * sizeof *m);
  return a;
}

static void multiply_part (gb_cuda_work *w, const gb_cuda_view &x, const matrix &m, const gb_cuda_view &y,
                           bool begins) {
  const size_t used = w->used;
  for (size_t j0 = 0; j0 < m.rows; j0 += m.some, w->used = used) {
    const size_t rows = least(m.rows - j0, m.some), bytes = rows * m.columns * sizeof *m.at;
    const double *there = m.there;
    if (there == NULL) there = (const double *)gb_cuda_work_put(w, m.at + j0 * m.columns, bytes);
    if (w->gpu == NULL) return;
    const product p = {
        x, {(double *)there, rows, m.columns, m.columns, NULL, NULL}, y, j0, begins && j0 == 0};
    GB_LAUNCH(multiply_tile, dim3(gb_cuda_groups(y.n, TILE), gb_cuda_groups(y.r, TILE)), THREADS, 0,
              w->gpu->stream, p);
    gb_cuda_work_launched(w, "multiply_tile");
  }
}

void gb_cuda_panel_mix (gb_panel x, const double *m, gb_panel y) {
  const size_t some = rows_at_once(x, y);
  if (x.n == 0 || x.r == 0 || y.r == 0) return;
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const matrix a = matrix_of(&w, x, m, y.r);
  const size_t used = w.used;
  for (size_t i0 = 0; w.gpu != NULL && i0 < x.n; i0 += some) {
    const size_t n = least(x.n - i0, some);
    w.used = used;
    const gb_cuda_view from = gb_cuda_work_view(&w, x, i0, n), to = gb_cuda_work_view(&w, y, i0, n);
    multiply_part(&w, from, a, to, false);
  }
}

/* Rows are multiplied from a copy in the room: no memory of the caller is needed. */
void gb_cuda_panel_turn (const double *m, size_t to, void *sums, gb_panel x) {
  gb_panel y = x;
  y.r = to;
  (void)sums;
  if (x.n == 0 || to == 0) return;
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const matrix a = matrix_of(&w, x, m, to);
  const size_t used = w.used, some = gb_cuda_gathered_rows(x);
  for (size_t i0 = 0; w.gpu != NULL && i0 < x.n; i0 += some) {
    const size_t n = least(x.n - i0, some);
    w.used = used;
    const gb_cuda_view rows = {gb_cuda_work_gather(&w, x, i0, n), n, x.r, x.r, NULL, NULL};
    multiply_part(&w, rows, a, gb_cuda_work_view(&w, y, i0, n), true);
  }
}
