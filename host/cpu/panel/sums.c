/* sums.c - sums over the rows of panels. */
#include <math.h>
#include <string.h>

#include "cpu/panel/panel.h"

#define BLOCK GB_PANEL_BLOCK
#define WIDTH 32 /* columns whose sums are kept at hand */

typedef struct job {
  const double *f;
  gb_panel p, q, x, y;
  double *sums;
} job;

static bool is_plain (const gb_panel *a, const gb_panel *b) { return a->column == NULL && b->column == NULL; }

/* sum[k]: the chain of column k0 + k of x and y in one block of rows. */
static void dot_block (const gb_panel *x, const gb_panel *y, size_t block, size_t k0, size_t w, double *sum) {
  const size_t i0 = block * BLOCK, i1 = i0 + gb_extent(x->n, i0, BLOCK);
  double s[WIDTH] = {0};
  for (size_t i = i0; i < i1; i++) {
    const double *a = gb_panel_row(x, i), *b = gb_panel_row(y, i);
    if (is_plain(x, y))
      for (size_t k = 0; k < w; k++) s[k] += a[k0 + k] * b[k0 + k];
    else
      for (size_t k = 0; k < w; k++) s[k] += a[gb_panel_place(x, k0 + k)] * b[gb_panel_place(y, k0 + k)];
  }
  memcpy(sum, s, w * sizeof *s);
}

static void dot_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s, (void)thread;
  for (size_t k0 = 0; k0 < j->x.r; k0 += WIDTH)
    dot_block(&j->x, &j->y, task, k0, gb_extent(j->x.r, k0, WIDTH), j->sums + task * j->x.r + k0);
}

/* The sums of the blocks, in order. */
static void total (const job *j, double *out) {
  const size_t w = j->x.r;
  memset(out, 0, w * sizeof *out);
  for (size_t b = 0; b < gb_blocks_of(j->x.n, BLOCK); b++)
    for (size_t k = 0; k < w; k++) out[k] += j->sums[b * w + k];
}

void gb_cpu_dot (gb_panel x, gb_panel y, void *sums, double *out) {
  job j = {.x = x, .y = y, .sums = sums};
  if (sums != NULL) {
    gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), dot_task, &j, NULL);
    total(&j, out);
    return;
  }
  memset(out, 0, x.r * sizeof *out);
  for (size_t b = 0; b < gb_blocks_of(x.n, BLOCK); b++)
    for (size_t k0 = 0; k0 < x.r; k0 += WIDTH) {
      const size_t w = gb_extent(x.r, k0, WIDTH);
      double sum[WIDTH];
      dot_block(&x, &y, b, k0, w, sum);
      for (size_t k = 0; k < w; k++) out[k0 + k] += sum[k];
    }
}

static void step_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  const size_t i0 = task * BLOCK, i1 = i0 + gb_extent(j->x.n, i0, BLOCK);
  const bool plain = is_plain(&j->p, &j->q) && is_plain(&j->x, &j->y);
  (void)s, (void)thread;
  for (size_t k0 = 0; k0 < j->x.r; k0 += WIDTH) {
    const size_t w = gb_extent(j->x.r, k0, WIDTH);
    double sum[WIDTH] = {0};
    for (size_t i = i0; i < i1; i++) {
      const double *f = j->f + k0, *p = gb_panel_row(&j->p, i), *q = gb_panel_row(&j->q, i);
      double *x = gb_panel_row(&j->x, i), *y = gb_panel_row(&j->y, i);
      if (plain)
        for (size_t k = 0; k < w; k++) {
          x[k0 + k] += f[k] * p[k0 + k];
          const double r = y[k0 + k] - f[k] * q[k0 + k];
          y[k0 + k] = r;
          sum[k] += r * r;
        }
      else
        for (size_t k = 0; k < w; k++) {
          double *r = y + gb_panel_place(&j->y, k0 + k);
          x[gb_panel_place(&j->x, k0 + k)] += f[k] * p[gb_panel_place(&j->p, k0 + k)];
          *r -= f[k] * q[gb_panel_place(&j->q, k0 + k)];
          sum[k] += *r * *r;
        }
    }
    memcpy(j->sums + task * j->x.r + k0, sum, w * sizeof *sum);
  }
}

void gb_cpu_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums, double *out) {
  job j = {.f = f, .p = p, .q = q, .x = x, .y = r, .sums = sums};
  gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), step_task, &j, NULL);
  total(&j, out);
}

/* -- one chain over all rows */

double gb_cpu_sum (gb_panel x) {
  double sum = 0;
  for (size_t i = 0; i < x.n; i++) sum += *gb_panel_entry(&x, i, 0);
  return sum;
}

double gb_cpu_sum_squares (gb_panel x, double start) {
  for (size_t i = 0; i < x.n; i++) {
    const double v = *gb_panel_entry(&x, i, 0);
    start += v * v;
  }
  return start;
}

double gb_cpu_sum_logs (gb_panel x, double factor, double start) {
  for (size_t i = 0; i < x.n; i++) start += factor * log(*gb_panel_entry(&x, i, 0));
  return start;
}

size_t gb_cpu_worst_interleaved (gb_panel x, size_t m, const double *length) {
  const size_t rows = gb_blocks_of(x.n, m);
  size_t best = 0;
  double most = -1;
  for (size_t k = 0; k < m; k++) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
      const double *row = gb_panel_row(&x, (k + i * m) % x.n);
      for (size_t c = 0; c < x.r; c++)
        if (length[c] > 0) sum += (row[c] / length[c]) * (row[c] / length[c]);
    }
    if (sum > most) most = sum, best = k;
  }
  return best;
}
