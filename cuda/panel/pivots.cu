/* pivots.cu - partial Cholesky factors: which points may be next, and rows that are eliminated in pieces. */
#include "cuda/panel/view.cuh"

#include <math.h>
#include <string.h>

#define LONG GB_PANEL_LONG

/* -- turns: computed there, ranked on the host while they arrive */

static __global__ void turns (size_t n, const double *left, const double *lot, double *turn) {
  const size_t i = gb_cuda_thread();
  if (i < n) turn[i] = !(left[i] > 0) ? (double)INFINITY : lot != NULL ? lot[i] / left[i] : -left[i];
}

struct ranking {
  size_t at, most, count; /* 'at': number of the next turn */
  size_t *index;
  double *turn;
};

static void rank_turns (void *ud, const void *piece, size_t bytes) {
  ranking *r = (ranking *)ud;
  const double *turn = (const double *)piece;
  for (size_t e = 0; e < bytes / sizeof *turn; e++, r->at++) {
    const double t = turn[e];
    if (t == INFINITY || (r->count == r->most && t >= r->turn[r->count - 1])) continue;
    size_t j = r->count < r->most ? r->count++ : r->most - 1;
    for (; j > 0 && r->turn[j - 1] > t; j--) r->turn[j] = r->turn[j - 1], r->index[j] = r->index[j - 1];
    r->turn[j] = t, r->index[j] = r->at;
  }
}

size_t gb_cuda_panel_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn) {
  const size_t some = gb_cuda_room(left) / 2 / sizeof(double);
  const double *lots = (const double *)lot.at;
  ranking r = {0, most, 0, index, turn};
  for (size_t i0 = 0; most > 0 && i0 < left.n; i0 += some) {
    const size_t n = left.n - i0 < some ? left.n - i0 : some;
    gb_cuda_work w = gb_cuda_work_begin(left.device);
    double *t = (double *)gb_cuda_work_take(&w, n * sizeof *t);
    if (w.gpu == NULL) break;
    GB_LAUNCH(turns, gb_cuda_groups(n, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, n,
              (const double *)left.at + i0, lots != NULL ? lots + i0 : NULL, t);
    gb_cuda_work_launched(&w, "turns");
    gb_cuda_work_look(&w, t, n * sizeof *t, rank_turns, &r);
  }
  return r.count;
}

/* -- elimination: a thread block a piece of the rows, a thread the same entries of all of them */

struct elimination {
  size_t rank, rows, n, stride;
  double *lt, *left, *lot;
  const double *factors, *among, *root, *step;
  const size_t *pivot;
  double *sums;
};

/* Earlier blocks leave entry 'at' of the rows of this one. */
static GB_DEVICE void leave_earlier (const elimination &e, size_t at) {
  double s[GB_PIVOTS];
  for (int r = 0; r < GB_PIVOTS; r++) s[r] = 0;
  for (size_t m = 0; m < e.rank; m++) {
    const double l = e.lt[m * e.stride + at];
    for (size_t r = 0; r < e.rows; r++) s[r] += e.factors[m * e.rows + r] * l;
  }
  for (size_t r = 0; r < e.rows; r++) e.lt[(e.rank + r) * e.stride + at] -= s[r];
}

/* Entry 'at' of row r, of which earlier blocks are eliminated; what is left of it, in '*left', and its
** lot. */
static GB_DEVICE void eliminate_entry (const elimination &e, size_t r, size_t at, double *left) {
  double *row = e.lt + (e.rank + r) * e.stride + at, v = *row;
  for (size_t m = 0; m < r; m++) v -= e.among[m * GB_PIVOTS + r] * e.lt[(e.rank + m) * e.stride + at];
  if (e.lot != NULL) e.lot[at] = fmax(e.lot[at] - *left * e.step[r], 0.0);
  v = *left == 0 ? 0 : v / e.root[r];
  const double rest = *left - v * v;
  *left = rest < 0 && isfinite(v) ? 0 : rest;
  if (at == e.pivot[r]) v = e.root[r], *left = 0;
  *row = v;
}

static __global__ void eliminate_piece (elimination e) {
  __shared__ double left[LONG];
  const size_t i0 = (size_t)blockIdx.x * LONG, rest = e.n - i0, len = rest < LONG ? rest : LONG;
  for (size_t i = threadIdx.x; i < len; i += blockDim.x) {
    left[i] = e.left[i0 + i];
    if (e.rank > 0) leave_earlier(e, i0 + i);
  }
  for (size_t r = 0; r < e.rows; r++) {
    for (size_t i = threadIdx.x; i < len; i += blockDim.x) eliminate_entry(e, r, i0 + i, &left[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
      double sum = 0;
      for (size_t i = 0; i < len; i++) sum += left[i];
      e.sums[(size_t)blockIdx.x * GB_PIVOTS + r] = sum;
    }
    __syncthreads();
  }
  for (size_t i = threadIdx.x; i < len; i += blockDim.x) e.left[i0 + i] = left[i];
}

struct left_over {
  double *left;
  size_t rows, at;
};

static void add_left (void *ud, const void *piece, size_t bytes) {
  left_over *t = (left_over *)ud;
  const double *sum = (const double *)piece;
  for (size_t e = 0; e < bytes / sizeof *sum; e++, t->at++)
    if (t->at % GB_PIVOTS < t->rows) t->left[t->at % GB_PIVOTS] += sum[e];
}

gb_status gb_cuda_panel_eliminate (const gb_elimination *of, double *left, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(of->lt.device);
  const size_t pieces = gb_cuda_groups(of->lt.r, LONG), rows = of->rows, rank = of->rank;
  if (rank * rows * sizeof(double) > gpu->room_bytes / 2)
    return gb_fail(err, GB_ENOMEM, "a partial factor of rank %zu is too large for one GPU", rank);
  gb_cuda_work w = gb_cuda_work_begin(of->lt.device);
  elimination e = {rank,
                   rows,
                   of->lt.r,
                   of->lt.stride,
                   (double *)of->lt.at,
                   (double *)of->left.at,
                   (double *)of->lot.at,
                   NULL,
                   NULL,
                   NULL,
                   NULL,
                   NULL,
                   (double *)of->sums};
  e.factors =
      (const double *)gb_cuda_work_put(&w, rank > 0 ? of->factors : NULL, rank * rows * sizeof(double));
  e.among = (const double *)gb_cuda_work_put(&w, of->among, rows * GB_PIVOTS * sizeof(double));
  e.root = (const double *)gb_cuda_work_put(&w, of->root, rows * sizeof(double));
  e.step = (const double *)gb_cuda_work_put(&w, of->step, rows * sizeof(double));
  e.pivot = (const size_t *)gb_cuda_work_put(&w, of->pivot, rows * sizeof(size_t));
  left_over total = {left, rows, 0};
  memset(left, 0, rows * sizeof *left);
  if (w.gpu != NULL && pieces > 0 && rows > 0) {
    GB_LAUNCH(eliminate_piece, (unsigned)pieces, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, e);
    gb_cuda_work_launched(&w, "eliminate_piece");
    gb_cuda_work_look(&w, of->sums, pieces * GB_PIVOTS * sizeof(double), add_left, &total);
  }
  return gb_cuda_enter(gpu, err);
}
