/* vector.cu - elementwise work on panels, a thread an entry. */
#include "cuda/draw.cuh"
#include "cuda/panel/view.cuh"

#include <float.h>
#include <math.h>
#include <string.h>

extern "C" {
#include "base/rng.h"
}

enum work_kind {
  FILL,
  COPY,
  SUBTRACT,
  ADD,
  AXPY,
  XPAY,
  SCALE,
  DIVIDE,
  BLEND,
  COMBINE,
  RECUR,
  MULTIPLY,
  INVERSE_ROOT,
  MODULI,
  NORMALS,
  SHIFT,
  KEEP
};

struct job {
  work_kind kind;
  gb_cuda_view a, b, c;
  const double *f, *g;
  const int *exponent;
  int sign;
  bool f32;
  double value;
  uint64_t seed, stream;
  size_t first; /* number of the first row in the whole panel */
};

/* What is left of an entry that falls below the normal numbers, back at the size it had. */
static GB_DEVICE double kept (double v, int exponent, bool f32) {
  const double there = ldexp(v, exponent);
  if (fabs(there) >= (f32 ? (double)FLT_MIN : DBL_MIN)) return v;
  return ldexp(f32 ? (double)(float)there : there, -exponent);
}

static GB_DEVICE double modulus (double v) {
  const double size = fabs(v);
  return size > 0 && isfinite(size) ? size : 1;
}

/* As cpu/panel/vector.c: *x, *y, *z are the entries of panels a, b, c; products and sums are rounded
** apart. */
static GB_DEVICE void do_entry (const job &j, size_t i, size_t k, double *x, double *y, double *z) {
  switch (j.kind) {
    case FILL: *x = j.value; break;
    case COPY: *y = *x; break;
    case SUBTRACT: *z = *x - *y; break;
    case ADD: *y += *x; break;
    case AXPY: *y += j.f[k] * *x; break;
    case XPAY: *y = *x + j.f[k] * *y; break;
    case SCALE: *x *= j.f[k]; break;
    case DIVIDE: *y = j.f[k] > 0 ? *x / j.f[k] : 0; break;
    case BLEND: *y += j.value * (*x - *y); break;
    case COMBINE: *y = j.f[k] * *y + j.g[k] * *x; break;
    case RECUR: *z -= j.f[k] * *x + j.g[k] * *y; break;
    case MULTIPLY: *x *= j.g[k]; break;
    case INVERSE_ROOT: *x = 1 / sqrt(*x + j.value); break;
    case MODULI: *x = modulus(*x); break;
    case NORMALS: *x = gb_draw_normal(j.seed, j.stream - k, j.first + i); break;
    case SHIFT:
      if (j.exponent[k] != 0) *x = ldexp(*x, j.sign * j.exponent[k]);
      break;
    case KEEP: *x = kept(*x, j.exponent[k], j.f32); break;
  }
}

static __global__ void elementwise (job j) {
  const size_t t = gb_cuda_thread(), i = t / j.a.r, k = t % j.a.r;
  if (i >= j.a.n) return;
  do_entry(j, i, k, gb_cuda_entry(j.a, i, k), gb_cuda_entry(j.b, i, k), gb_cuda_entry(j.c, i, k));
}

/* What of the host an operation needs: two rows of factors, or exponents. */
struct lists {
  const double *f, *g;
  const int *exponent;
};

static void run (job j, const gb_panel &a, const gb_panel &b, const gb_panel &c, lists of_host) {
  size_t some = gb_cuda_rows_at_once(a);
  if (a.n == 0 || a.r == 0) return;
  if (b.row != NULL || c.row != NULL) some = gb_cuda_listed_rows(a);
  for (size_t i0 = 0; i0 < a.n; i0 += some) {
    const size_t n = a.n - i0 < some ? a.n - i0 : some;
    gb_cuda_work w = gb_cuda_work_begin(a.device);
    if (w.gpu == NULL) return;
    j.a = gb_cuda_work_view(&w, a, i0, n);
    j.b = gb_cuda_work_view(&w, b, i0, n);
    j.c = gb_cuda_work_view(&w, c, i0, n);
    if (of_host.f != NULL) j.f = (const double *)gb_cuda_work_put(&w, of_host.f, a.r * sizeof(double));
    if (of_host.g != NULL) j.g = (const double *)gb_cuda_work_put(&w, of_host.g, a.r * sizeof(double));
    j.exponent = (const int *)gb_cuda_work_put(&w, of_host.exponent, a.r * sizeof(int));
    j.first = i0;
    if (w.gpu == NULL) return;
    GB_LAUNCH(elementwise, gb_cuda_groups(n * a.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, j);
    gb_cuda_work_launched(&w, "elementwise");
  }
}

static job job_of (work_kind kind) {
  job j;
  memset(&j, 0, sizeof j);
  j.kind = kind;
  return j;
}

static job job_with (work_kind kind, double value) {
  job j = job_of(kind);
  j.value = value;
  return j;
}

void gb_cuda_panel_fill (gb_panel x, double value) { run(job_with(FILL, value), x, x, x, {}); }
void gb_cuda_panel_copy (gb_panel x, gb_panel y) { run(job_of(COPY), x, y, x, {}); }
void gb_cuda_panel_subtract (gb_panel b, gb_panel x, gb_panel y) { run(job_of(SUBTRACT), b, x, y, {}); }
void gb_cuda_panel_axpy (const double *f, gb_panel x, gb_panel y) {
  run(job_of(f != NULL ? AXPY : ADD), x, y, x, {f, NULL, NULL});
}
void gb_cuda_panel_xpay (const double *f, gb_panel x, gb_panel y) {
  run(job_of(XPAY), x, y, x, {f, NULL, NULL});
}
void gb_cuda_panel_scale (const double *f, gb_panel x) { run(job_of(SCALE), x, x, x, {f, NULL, NULL}); }
void gb_cuda_panel_divide (const double *f, gb_panel x, gb_panel y) {
  run(job_of(DIVIDE), x, y, x, {f, NULL, NULL});
}
void gb_cuda_panel_blend (double f, gb_panel x, gb_panel y) { run(job_with(BLEND, f), x, y, x, {}); }
void gb_cuda_panel_combine (const double *a, gb_panel y, const double *b, gb_panel x) {
  run(job_of(COMBINE), x, y, x, {a, b, NULL});
}
void gb_cuda_panel_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y) {
  run(job_of(RECUR), x, z, y, {a, b, NULL});
}
void gb_cuda_panel_multiply (gb_panel d, gb_panel x) {
  job j = job_of(MULTIPLY);
  j.g = (const double *)d.at;
  run(j, x, x, x, {});
}
void gb_cuda_panel_inverse_root (gb_panel x, double shift) {
  run(job_with(INVERSE_ROOT, shift), x, x, x, {});
}
void gb_cuda_panel_moduli (gb_panel x) {
  x = gb_panel_column(x, 0);
  run(job_of(MODULI), x, x, x, {});
}
void gb_cuda_panel_normals (gb_panel x, uint64_t seed, uint64_t stream) {
  job j = job_of(NORMALS);
  j.seed = seed;
  j.stream = stream;
  run(j, x, x, x, {});
}
void gb_cuda_panel_shift (gb_panel x, const int *exponent, int sign) {
  job j = job_of(SHIFT);
  j.sign = sign;
  run(j, x, x, x, {NULL, NULL, exponent});
}
void gb_cuda_panel_keep (gb_panel x, const int *exponent, bool f32) {
  job j = job_of(KEEP);
  j.f32 = f32;
  run(j, x, x, x, {NULL, NULL, exponent});
}

/* -- between a panel and dense rows of its own width: of the host, through the room */

static __global__ void gather (gb_cuda_view x, double *dense) {
  const size_t t = gb_cuda_thread();
  if (t < x.n * x.r) dense[t] = *gb_cuda_entry(x, t / x.r, t % x.r);
}
static __global__ void scatter (gb_cuda_view x, const double *dense) {
  const size_t t = gb_cuda_thread();
  if (t < x.n * x.r) *gb_cuda_entry(x, t / x.r, t % x.r) = dense[t];
}

/* Lists take the other half of the room. */
size_t gb_cuda_gathered_rows (const gb_panel &x) {
  const size_t rows = gb_cuda_room(x) / 2 / (x.r * sizeof(double)), some = gb_cuda_rows_at_once(x);
  return rows == 0 ? 1 : rows < some ? rows : some;
}

double *gb_cuda_work_gather (gb_cuda_work *w, const gb_panel &x, size_t i0, size_t n) {
  const gb_cuda_view v = gb_cuda_work_view(w, x, i0, n);
  double *dense = (double *)gb_cuda_work_take(w, n * x.r * sizeof(double));
  if (dense == NULL) return NULL;
  GB_LAUNCH(gather, gb_cuda_groups(n * x.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0, w->gpu->stream,
            v, dense);
  gb_cuda_work_launched(w, "gather");
  return dense;
}

static bool read_part (const gb_panel &x, size_t i0, size_t n, double *out) {
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const double *dense = gb_cuda_work_gather(&w, x, i0, n);
  gb_cuda_work_get(&w, out, dense, n * x.r * sizeof(double));
  return w.gpu != NULL;
}

/* A GPU that is lost gives no values. */
void gb_cuda_panel_read (gb_panel x, double *out) {
  if (x.n == 0 || x.r == 0) return;
  const size_t some = gb_cuda_gathered_rows(x);
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    if (read_part(x, i0, n, out + i0 * x.r)) continue;
    for (size_t e = 0; e < n * x.r; e++) out[i0 * x.r + e] = NAN;
  }
}

static void write_part (const gb_panel &x, size_t i0, size_t n, const double *values) {
  gb_cuda_work w = gb_cuda_work_begin(x.device);
  const gb_cuda_view v = gb_cuda_work_view(&w, x, i0, n);
  const double *dense = (const double *)gb_cuda_work_put(&w, values, n * x.r * sizeof(double));
  if (dense == NULL) return;
  GB_LAUNCH(scatter, gb_cuda_groups(n * x.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0, w.gpu->stream,
            v, dense);
  gb_cuda_work_launched(&w, "scatter");
}

void gb_cuda_panel_write (gb_panel x, const double *values) {
  if (x.n == 0 || x.r == 0) return;
  const size_t some = gb_cuda_gathered_rows(x);
  for (size_t i0 = 0; i0 < x.n; i0 += some)
    write_part(x, i0, x.n - i0 < some ? x.n - i0 : some, values + i0 * x.r);
}

/* The host's logarithms: those of a GPU have other bits. */
void gb_cuda_panel_exponentials (gb_panel x, uint64_t seed) {
  const size_t some = 1024;
  double lots[1024];
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    for (size_t i = 0; i < n; i++) lots[i] = -log(gb_rand_uniform(seed, 0, i0 + i));
    gb_panel part = gb_panel_column(x, 0);
    if (x.row != NULL) part = gb_panel_rows(part, n, x.row + i0);
    else part.at = gb_panel_address(part.at, i0 * x.stride), part.n = n;
    gb_cuda_panel_write(part, lots);
  }
}

static __global__ void spread (size_t n, size_t to, size_t w, const double *dense, double *out) {
  const size_t t = gb_cuda_thread(), i = t / to, k = t % to;
  if (i < n) out[t] = k < w ? dense[i * w + k] : 0;
}

/* Part by part through the room: rows of a part end before those of later parts begin, since they get
** narrower. */
void gb_cuda_panel_compact (gb_panel x, size_t to, size_t w, const size_t *at) {
  if (x.n == 0 || to == 0) return;
  const gb_panel source = gb_panel_columns(x, w, at);
  const size_t some = w > 0 ? gb_cuda_gathered_rows(source) : x.n;
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    gb_cuda_work work = gb_cuda_work_begin(x.device);
    const double *dense = w > 0 ? gb_cuda_work_gather(&work, source, i0, n) : NULL;
    if (work.gpu == NULL) return;
    GB_LAUNCH(spread, gb_cuda_groups(n * to, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              work.gpu->stream, n, to, w, dense, (double *)x.at + i0 * to);
    gb_cuda_work_launched(&work, "spread");
  }
}

/* -- between a panel and rows of a tensor */

template <class T> static __global__ void load (gb_cuda_view x, const T *rows, size_t stride) {
  const size_t t = gb_cuda_thread(), i = t / x.r, k = t % x.r;
  if (i < x.n) gb_cuda_row(x, i)[k] = (double)rows[i * stride + k];
}

template <class T>
static __global__ void store (gb_cuda_view x, T *rows, size_t stride, size_t width, bool round) {
  const size_t t = gb_cuda_thread(), i = t / width, k = t % width;
  if (i >= x.n) return;
  if (k >= x.r) {
    rows[i * stride + k] = 0;
    return;
  }
  double *v = gb_cuda_row(x, i) + k;
  const T there = (T)*v;
  rows[i * stride + k] = there;
  if (round) *v = (double)there;
}

template <class T> static void load_rows (const gb_panel &x, const T *from, size_t stride) {
  const size_t some = gb_cuda_rows_at_once(x);
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const gb_cuda_view v = gb_cuda_work_view(&w, x, i0, n);
    if (w.gpu == NULL) return;
    GB_LAUNCH((load<T>), gb_cuda_groups(n * x.r, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, v, from + i0 * stride, stride);
    gb_cuda_work_launched(&w, "load");
  }
}

template <class T> static void store_rows (const gb_panel &x, T *to, size_t stride, bool round) {
  const size_t some = gb_cuda_rows_at_once(x), width = round && stride > x.r ? stride : x.r;
  for (size_t i0 = 0; i0 < x.n; i0 += some) {
    const size_t n = x.n - i0 < some ? x.n - i0 : some;
    gb_cuda_work w = gb_cuda_work_begin(x.device);
    const gb_cuda_view v = gb_cuda_work_view(&w, x, i0, n);
    if (w.gpu == NULL) return;
    GB_LAUNCH((store<T>), gb_cuda_groups(n * width, GB_CUDA_PANEL_THREADS), GB_CUDA_PANEL_THREADS, 0,
              w.gpu->stream, v, to + i0 * stride, stride, width, round);
    gb_cuda_work_launched(&w, "store");
  }
}

gb_status gb_cuda_panel_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err) {
  if (x.n > 0 && x.r > 0 && f32) load_rows(x, (const float *)from, stride);
  else if (x.n > 0 && x.r > 0) load_rows(x, (const double *)from, stride);
  return gb_cuda_enter(gb_cuda_of(x.device), err);
}

gb_status gb_cuda_panel_store (gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err) {
  if (x.n > 0 && (x.r > 0 || round) && f32) store_rows(x, (float *)to, stride, round);
  else if (x.n > 0 && (x.r > 0 || round)) store_rows(x, (double *)to, stride, round);
  return gb_cuda_enter(gb_cuda_of(x.device), err);
}
