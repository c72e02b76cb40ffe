/* block.c - products of panels with each other and with small matrices: blocks of rows are tasks. */
#include <string.h>

#include "cpu/panel/panel.h"

#define BLOCK GB_PANEL_BLOCK

/* Loops over the columns of a row, vectorised for the machine at hand; products and sums are rounded apart,
** so that the bits are the same on all. */
#if defined(__x86_64__) && defined(__linux__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

typedef struct job {
  const double *m;
  size_t to;
  double *sums;
  gb_panel x, y;
} job;

/* out (w) += x m for a row x (a) and m (a, w). */
VECTORISED
static void add_row (size_t a, size_t w, const double *restrict x, const double *restrict m,
                     double *restrict out) {
  for (size_t j = 0; j < a; j++)
    for (size_t k = 0; k < w; k++) out[k] += x[j] * m[j * w + k];
}

/* sum (a, b) += x' y over rows of strides p and q. */
VECTORISED
static void add_products (size_t rows, size_t a, size_t b, const double *restrict x, size_t p,
                          const double *restrict y, size_t q, double *restrict sum) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < a; j++)
      for (size_t k = 0; k < b; k++) sum[j * b + k] += x[i * p + j] * y[i * q + k];
}

static bool lies_plain (const gb_panel *x) { return x->column == NULL && x->row == NULL; }

static void cross_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  const size_t i0 = task * BLOCK, rows = gb_extent(j->x.n, i0, BLOCK), a = j->x.r, b = j->y.r;
  double *sum = j->sums + task * a * b;
  (void)s, (void)thread;
  memset(sum, 0, a * b * sizeof *sum);
  if (lies_plain(&j->x) && lies_plain(&j->y)) {
    add_products(rows, a, b, gb_panel_row(&j->x, i0), j->x.stride, gb_panel_row(&j->y, i0), j->y.stride, sum);
    return;
  }
  for (size_t i = i0; i < i0 + rows; i++)
    for (size_t m = 0; m < a; m++)
      for (size_t k = 0; k < b; k++)
        sum[m * b + k] += *gb_panel_entry(&j->x, i, m) * *gb_panel_entry(&j->y, i, k);
}

void gb_cpu_cross (gb_panel x, gb_panel y, void *sums, double *out) {
  const size_t blocks = gb_blocks_of(x.n, BLOCK), w = x.r * y.r;
  job j = {.x = x, .y = y, .sums = sums};
  gb_tasks_run(x.device->pool, blocks, cross_task, &j, NULL);
  memset(out, 0, w * sizeof *out);
  for (size_t t = 0; t < blocks; t++)
    for (size_t k = 0; k < w; k++) out[k] += j.sums[t * w + k];
}

static void mix_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  const size_t i0 = task * BLOCK, i1 = i0 + gb_extent(j->x.n, i0, BLOCK), a = j->x.r, b = j->y.r;
  (void)s, (void)thread;
  for (size_t i = i0; i < i1; i++) {
    if (j->x.column == NULL && j->y.column == NULL) {
      add_row(a, b, gb_panel_row(&j->x, i), j->m, gb_panel_row(&j->y, i));
      continue;
    }
    for (size_t m = 0; m < a; m++)
      for (size_t k = 0; k < b; k++)
        *gb_panel_entry(&j->y, i, k) += *gb_panel_entry(&j->x, i, m) * j->m[m * b + k];
  }
}

void gb_cpu_mix (gb_panel x, const double *m, gb_panel y) {
  job j = {.x = x, .y = y, .m = m};
  gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), mix_task, &j, NULL);
}

static void turn_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  const size_t i0 = task * BLOCK, i1 = i0 + gb_extent(j->x.n, i0, BLOCK), a = j->x.r;
  double *row = j->sums + task * a;
  (void)s, (void)thread;
  for (size_t i = i0; i < i1; i++) {
    for (size_t k = 0; k < a; k++) row[k] = *gb_panel_entry(&j->x, i, k);
    for (size_t k = 0; k < j->to; k++) *gb_panel_entry(&j->x, i, k) = 0;
    if (j->x.column == NULL) {
      add_row(a, j->to, row, j->m, gb_panel_row(&j->x, i));
      continue;
    }
    for (size_t m = 0; m < a; m++)
      for (size_t k = 0; k < j->to; k++) *gb_panel_entry(&j->x, i, k) += row[m] * j->m[m * j->to + k];
  }
}

void gb_cpu_turn (const double *m, size_t to, void *sums, gb_panel x) {
  job j = {.x = x, .m = m, .to = to, .sums = sums};
  gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), turn_task, &j, NULL);
}
