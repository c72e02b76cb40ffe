/* panel.c - loops over rows, all columns of a row together. */
#include "iterate/panel.h"

#include <string.h>

#include "base/tasks.h"

#define BLOCK GB_PANEL_BLOCK
#define WIDTH 32 /* columns whose sums are kept at hand */

static size_t blocks (size_t n) { return (n + BLOCK - 1) / BLOCK; }

size_t gb_panel_sums (size_t n, size_t w) { return blocks(n) * w; }

typedef struct job {
  size_t n, w;
  const double *f;
  gb_panel a, b, c, d;
  double *sums;
} job;

static size_t place (const gb_panel *m, size_t i, size_t k) {
  return i * m->stride + (m->at != NULL ? m->at[k] : k);
}

static void run (gb_pool *pool, gb_task *task, job *j) { gb_tasks_run(pool, blocks(j->n), task, j, NULL); }

/* The sums of the blocks, in order. */
static void total (const job *j, double *out) {
  memset(out, 0, j->w * sizeof *out);
  for (size_t b = 0; b < blocks(j->n); b++)
    for (size_t k = 0; k < j->w; k++) out[k] += j->sums[b * j->w + k];
}

static size_t end_of (const job *j, size_t task) {
  return j->n - task * BLOCK < BLOCK ? j->n : (task + 1) * BLOCK;
}

static void dot_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s, (void)thread;
  for (size_t k0 = 0; k0 < j->w; k0 += WIDTH) {
    const size_t w = j->w - k0 < WIDTH ? j->w - k0 : WIDTH;
    double sum[WIDTH] = {0};
    for (size_t i = task * BLOCK; i < end_of(j, task); i++)
      for (size_t k = 0; k < w; k++)
        sum[k] += j->a.v[place(&j->a, i, k0 + k)] * j->b.v[place(&j->b, i, k0 + k)];
    memcpy(j->sums + task * j->w + k0, sum, w * sizeof *sum);
  }
}

void gb_panel_dot (gb_pool *pool, size_t n, size_t w, gb_panel x, gb_panel y, double *sums, double *out) {
  job j = {.n = n, .w = w, .a = x, .b = y, .sums = sums};
  run(pool, dot_task, &j);
  total(&j, out);
}

static void step_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s, (void)thread;
  for (size_t k0 = 0; k0 < j->w; k0 += WIDTH) {
    const size_t w = j->w - k0 < WIDTH ? j->w - k0 : WIDTH;
    double sum[WIDTH] = {0};
    for (size_t i = task * BLOCK; i < end_of(j, task); i++)
      for (size_t k = 0; k < w; k++) {
        const double f = j->f[k0 + k];
        double *r = &j->d.v[place(&j->d, i, k0 + k)];
        j->c.v[place(&j->c, i, k0 + k)] += f * j->a.v[place(&j->a, i, k0 + k)];
        *r -= f * j->b.v[place(&j->b, i, k0 + k)];
        sum[k] += *r * *r;
      }
    memcpy(j->sums + task * j->w + k0, sum, w * sizeof *sum);
  }
}

void gb_panel_step (gb_pool *pool, size_t n, size_t w, const double *f, gb_panel p, gb_panel q, gb_panel x,
                    gb_panel r, double *sums, double *out) {
  job j = {.n = n, .w = w, .f = f, .a = p, .b = q, .c = x, .d = r, .sums = sums};
  run(pool, step_task, &j);
  total(&j, out);
}

static void turn_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s, (void)thread;
  for (size_t i = task * BLOCK; i < end_of(j, task); i++)
    for (size_t k = 0; k < j->w; k++) {
      double *p = &j->b.v[place(&j->b, i, k)];
      *p = j->a.v[place(&j->a, i, k)] + j->f[k] * *p;
    }
}

void gb_panel_turn (gb_pool *pool, size_t n, size_t w, const double *f, gb_panel z, gb_panel p) {
  job j = {.n = n, .w = w, .f = f, .a = z, .b = p};
  run(pool, turn_task, &j);
}

static void copy_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s, (void)thread;
  for (size_t i = task * BLOCK; i < end_of(j, task); i++)
    for (size_t k = 0; k < j->w; k++) {
      const double x = j->a.v[place(&j->a, i, k)];
      j->b.v[place(&j->b, i, k)] = j->c.v != NULL ? j->c.v[place(&j->c, i, k)] - x : x;
    }
}

void gb_panel_copy (gb_pool *pool, size_t n, size_t w, gb_panel x, gb_panel y) {
  job j = {.n = n, .w = w, .a = x, .b = y};
  run(pool, copy_task, &j);
}

void gb_panel_subtract (gb_pool *pool, size_t n, size_t w, gb_panel b, gb_panel x, gb_panel y) {
  job j = {.n = n, .w = w, .a = x, .b = y, .c = b};
  run(pool, copy_task, &j);
}

void gb_panel_compact (size_t n, double *v, size_t from, size_t to, size_t w, const size_t *at) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < w; k++) v[i * to + k] = v[i * from + at[k]];
    for (size_t k = w; k < to; k++) v[i * to + k] = 0;
  }
}
