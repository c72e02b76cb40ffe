/* sizes.cu - largest entries, what a type holds of them, and what is not finite: results that no order
** changes. */
#include "cuda/panel/view.cuh"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 1024, WIDTH = 32 }; /* rows and columns of a thread block */

static GB_DEVICE double loss (double v, int exponent, bool f32) {
  const double there = ldexp(v, exponent);
  if (fabs(there) >= (f32 ? (double)FLT_MIN : DBL_MIN)) return fabs(v - v);
  return fabs(v - ldexp(f32 ? (double)(float)there : there, -exponent));
}

/* Of each column of a part of the rows: the largest entry and, with exponents, the largest loss. A thread
** block has WIDTH columns and as many rows at a time as it has threads for. */
static __global__ void column_maxima (gb_cuda_view x, const int *exponent, bool f32, double *most,
                                      double *lost) {
  __shared__ double largest[2][GB_CUDA_PANEL_THREADS];
  const size_t lane = threadIdx.x % WIDTH, k = (size_t)blockIdx.y * WIDTH + lane;
  const size_t i0 = (size_t)blockIdx.x * ROWS, i1 = i0 + ROWS < x.n ? i0 + ROWS : x.n;
  double m = 0, l = 0;
  for (size_t i = i0 + threadIdx.x / WIDTH; k < x.r && i < i1; i += GB_CUDA_PANEL_THREADS / WIDTH) {
    const double v = *gb_cuda_entry(x, i, k);
    m = fmax(m, fabs(v));
    if (exponent != NULL) l = fmax(l, loss(v, exponent[k], f32));
  }
  largest[0][threadIdx.x] = m;
  largest[1][threadIdx.x] = l;
  __syncthreads();
  if (threadIdx.x >= WIDTH || k >= x.r) return;
  for (size_t t = lane; t < GB_CUDA_PANEL_THREADS; t += WIDTH) {
    m = fmax(m, largest[0][t]);
    l = fmax(l, largest[1][t]);
  }
  most[blockIdx.x * x.r + k] = m;
  lost[blockIdx.x * x.r + k] = l;
}

/* The maxima over parts, in the first part's place. */
static __global__ void join_maxima (size_t parts, size_t columns, double *most, double *lost) {
  const size_t k = gb_cuda_thread();
  if (k >= columns) return;
  for (size_t p = 1; p < parts; p++) {
    most[k] = fmax(most[k], most[p * columns + k]);
    lost[k] = fmax(lost[k], lost[p * columns + k]);
  }
}

/* Columns k0 .. k0 + w - 1 of a panel, by their list or place. */
static gb_panel columns_of (gb_panel x, size_t k0, size_t w) {
  x.r = w;
  if (x.column != NULL) x.column += k0;
  else x.at = gb_panel_address(x.at, k0);
  return x;
}

enum { AT_ONCE = 256 }; /* columns whose maxima come to the host together */

/* Largest entries and losses of up to AT_ONCE columns; false where the GPU gives none. */
static bool maxima (gb_panel x, const int *exponent, bool f32, double *most, double *lost) {
  const size_t room = gb_cuda_room(x) / 4 / (2 * x.r * sizeof(double)) * ROWS;
  size_t some = gb_cuda_rows_at_once(x);
  if (some > room) some = room;
  memset(most, 0, x.r * sizeof *most);
  memset(lost, 0, x.r * sizeof *lost);
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    double here[2][AT_ONCE];
    const size_t n = x.n - i0 < some ? x.n - i0 : some, parts = gb_cuda_groups(n, ROWS);
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const gb_cuda_view v = gb_cuda_work_view(&w, x, i0, n);
    const int *e = (const int *)gb_cuda_work_put(&w, exponent, x.r * sizeof *e);
    double *m = (double *)gb_cuda_work_take(&w, parts * x.r * sizeof *m),
           *l = (double *)gb_cuda_work_take(&w, parts * x.r * sizeof *l);
    if (w.gpu == NULL) return false;
    GB_LAUNCH(column_maxima, dim3(gb_cuda_groups(n, ROWS), gb_cuda_groups(x.r, WIDTH)), GB_CUDA_PANEL_THREADS,
              0, w.gpu->stream, v, e, f32, m, l);
    gb_cuda_work_launched(&w, "column_maxima");
    if (w.gpu == NULL) return false;
    GB_LAUNCH(join_maxima, gb_cuda_groups(x.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, parts, x.r, m, l);
    gb_cuda_work_launched(&w, "join_maxima");
    gb_cuda_work_get(&w, here[0], m, x.r * sizeof *m);
    gb_cuda_work_get(&w, here[1], l, x.r * sizeof *l);
    if (w.gpu == NULL) return false;
    for (size_t k = 0; k < x.r; k++) {
      most[k] = fmax(most[k], here[0][k]);
      lost[k] = fmax(lost[k], here[1][k]);
    }
  }
  return true;
}

void gb_cuda_panel_exponents (gb_panel x, int *exponent) {
  double most[AT_ONCE], lost[AT_ONCE];
  for (size_t k0 = 0; k0 < x.r; k0 += AT_ONCE) {
    const size_t w = x.r - k0 < AT_ONCE ? x.r - k0 : (size_t)AT_ONCE;
    const bool known = maxima(columns_of(x, k0, w), NULL, false, most, lost);
    for (size_t k = 0; k < w; k++)
      exponent[k0 + k] = known && most[k] > 0 && isfinite(most[k]) ? ilogb(most[k]) : 0;
  }
}

double gb_cuda_panel_lost (gb_panel x, const int *exponent, bool f32, size_t *column) {
  double most[AT_ONCE], lost[AT_ONCE], worst = 0;
  for (size_t k0 = 0; k0 < x.r; k0 += AT_ONCE) {
    const size_t w = x.r - k0 < AT_ONCE ? x.r - k0 : (size_t)AT_ONCE;
    if (!maxima(columns_of(x, k0, w), exponent + k0, f32, most, lost)) return worst;
    for (size_t k = 0; k < w; k++) {
      if (!(lost[k] > worst * most[k])) continue;
      worst = lost[k] / most[k];
      *column = k0 + k;
    }
  }
  return worst;
}

/* -- the first entry, row by row, that is not as it should be */

static __global__ void first_not_finite (gb_cuda_view x, bool f32, unsigned long long before,
                                         unsigned long long *first) {
  const size_t t = gb_cuda_thread();
  if (t >= x.n * x.r) return;
  const double v = *gb_cuda_entry(x, t / x.r, t % x.r);
  if (!(f32 ? isfinite((float)v) : isfinite(v))) atomicMin(first, before + (unsigned long long)t);
}

static __global__ void first_not_positive (gb_cuda_view x, unsigned long long before,
                                           unsigned long long *first) {
  const size_t t = gb_cuda_thread();
  if (t >= x.n) return;
  const double v = *gb_cuda_entry(x, t, 0);
  if (!(isfinite(v) && v >= 0)) atomicMin(first, before + (unsigned long long)t);
}

/* Its number among the entries, or n r where all are well; 'finite': what is asked. */
static size_t first_bad (const gb_panel &x, bool finite, bool f32) {
  const size_t some = gb_cuda_rows_at_once(x), none = x.n * x.r;
  for (size_t i0 = 0; none > 0 && i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    unsigned long long found = none;
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const gb_cuda_view v = gb_cuda_work_view(&w, x, i0, n);
    unsigned long long *first = (unsigned long long *)gb_cuda_work_put(&w, &found, sizeof found);
    if (w.gpu == NULL) return none;
    const unsigned groups = gb_cuda_groups(n * x.r, GB_CUDA_PANEL_THREADS);
    if (finite)
      GB_LAUNCH(first_not_finite, groups, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, v, f32, i0 * x.r, first);
    else GB_LAUNCH(first_not_positive, groups, GB_CUDA_PANEL_THREADS, 0, w.gpu->stream, v, i0, first);
    gb_cuda_work_launched(&w, "first_bad");
    gb_cuda_work_get(&w, &found, first, sizeof found);
    if (w.gpu != NULL && found < none) return (size_t)found;
  }
  return none;
}

bool gb_cuda_panel_finite (gb_panel x, bool f32, size_t *column) {
  const size_t first = first_bad(x, true, f32);
  if (first == x.n * x.r) return true;
  *column = first % x.r;
  return false;
}

size_t gb_cuda_panel_first_invalid (gb_panel x) { return first_bad(gb_panel_column(x, 0), false, false); }
