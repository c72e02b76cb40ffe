/* pivots.c - partial Cholesky factors: which points may be next, and rows that are eliminated in pieces. */
#include <math.h>

#include "cpu/linalg/blas.h"
#include "cpu/panel/panel.h"

#define LONG GB_PANEL_LONG

static double turn_of (double left, const double *lot, size_t i) {
  if (!(left > 0)) return INFINITY;
  return lot != NULL ? lot[i] / left : -left;
}

size_t gb_cpu_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn) {
  const double *l = left.at;
  size_t count = 0;
  for (size_t i = 0; i < left.n; i++) {
    const double t = turn_of(l[i], lot.at, i);
    if (t == INFINITY || (count == most && t >= turn[count - 1])) continue;
    size_t j = count < most ? count++ : most - 1;
    for (; j > 0 && turn[j - 1] > t; j--) turn[j] = turn[j - 1], index[j] = index[j - 1];
    turn[j] = t, index[j] = i;
  }
  return count;
}

/* What is left of an entry beside the square of v; not finite where v is not. */
static double less_square (double left, double v) {
  const double rest = left - v * v;
  return rest < 0 && isfinite(v) ? 0 : rest;
}

/* Row r of the block over entries i0 .. i0 + len - 1, of which earlier blocks are eliminated; what is left
** of entries and lots. */
static double eliminate_row (const gb_elimination *e, size_t r, size_t i0, size_t len) {
  double *row = gb_panel_row(&e->lt, e->rank + r) + i0, *left = (double *)e->left.at + i0, sum = 0;
  for (size_t m = 0; m < r; m++) {
    const double *earlier = gb_panel_row(&e->lt, e->rank + m) + i0, f = e->among[m * GB_PIVOTS + r];
    for (size_t i = 0; i < len; i++) row[i] -= f * earlier[i];
  }
  if (e->lot.at != NULL) {
    double *lot = (double *)e->lot.at + i0;
    for (size_t i = 0; i < len; i++) lot[i] = fmax(lot[i] - left[i] * e->step[r], 0);
  }
  for (size_t i = 0; i < len; i++) {
    row[i] = left[i] == 0 ? 0 : row[i] / e->root[r];
    left[i] = less_square(left[i], row[i]);
  }
  if (e->pivot[r] - i0 < len) {
    row[e->pivot[r] - i0] = e->root[r];
    left[e->pivot[r] - i0] = 0;
  }
  for (size_t i = 0; i < len; i++) sum += left[i];
  return sum;
}

static void eliminate_piece (void *ud, gb_tasks *s, size_t task, int thread) {
  const gb_elimination *e = ud;
  const size_t i0 = task * LONG, len = gb_extent(e->lt.r, i0, LONG), n = e->lt.stride;
  double *lt = (double *)e->lt.at + i0, *sums = e->sums;
  (void)s, (void)thread;
  if (e->rank > 0)
    gb_blas_gemm(GB_F64, true, false, e->rows, len, e->rank, -1, e->factors, e->rows, lt, n, 1,
                 lt + e->rank * n, n);
  for (size_t r = 0; r < e->rows; r++) sums[task * GB_PIVOTS + r] = eliminate_row(e, r, i0, len);
}

gb_status gb_cpu_eliminate (const gb_elimination *e, double *left, gb_error *err) {
  const size_t pieces = gb_blocks_of(e->lt.r, LONG);
  const double work = (double)e->lt.r * (double)e->rows * (double)(e->rank + e->rows), *sums = e->sums;
  GB_TRY(gb_blas_ready(err));
  GB_TRY(gb_tasks_run(gb_pool_for(e->lt.device->pool, work), pieces, eliminate_piece, (void *)(uintptr_t)e,
                      err));
  for (size_t r = 0; r < e->rows; r++) {
    left[r] = 0;
    for (size_t task = 0; task < pieces; task++) left[r] += sums[task * GB_PIVOTS + r];
  }
  return GB_OK;
}
