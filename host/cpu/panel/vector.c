/* vector.c - elementwise work on panels: blocks of rows are tasks, all columns of a row go together. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/panel/panel.h"

#define BLOCK GB_PANEL_BLOCK

typedef struct job {
  size_t n, w;
  bool plain; /* no panel has a list of columns */
  const double *f, *g;
  double value;
  gb_panel a, b, c;
} job;

static void run (gb_task *task, job *j) {
  j->n = j->a.n, j->w = j->a.r;
  if (j->b.at == NULL) j->b = j->a;
  if (j->c.at == NULL) j->c = j->a;
  j->plain = j->a.column == NULL && j->b.column == NULL && j->c.column == NULL;
  gb_tasks_run(j->a.device->pool, gb_blocks_of(j->n, BLOCK), task, j, NULL);
}

/* A task that does 'work' with the entries *x, *y, *z of panels a, b, c at row i and column k. */
#define ELEMENTWISE(name, work)                                                                              \
  static void name(void *ud, gb_tasks *s, size_t task, int thread) {                                         \
    const job *j = ud;                                                                                       \
    const size_t end = task * BLOCK + gb_extent(j->n, task * BLOCK, BLOCK);                                  \
    (void)s, (void)thread;                                                                                   \
    for (size_t i = task * BLOCK; i < end; i++) {                                                            \
      double *a = gb_panel_row(&j->a, i), *b = gb_panel_row(&j->b, i), *c = gb_panel_row(&j->c, i);          \
      if (j->plain)                                                                                          \
        for (size_t k = 0; k < j->w; k++) {                                                                  \
          double *x = a + k, *y = b + k, *z = c + k;                                                         \
          (void)x, (void)y, (void)z;                                                                         \
          work;                                                                                              \
        }                                                                                                    \
      else                                                                                                   \
        for (size_t k = 0; k < j->w; k++) {                                                                  \
          double *x = a + gb_panel_place(&j->a, k), *y = b + gb_panel_place(&j->b, k),                       \
                 *z = c + gb_panel_place(&j->c, k);                                                          \
          (void)x, (void)y, (void)z;                                                                         \
          work;                                                                                              \
        }                                                                                                    \
    }                                                                                                        \
  }

ELEMENTWISE(fill_task, *x = j->value)
ELEMENTWISE(copy_task, *y = *x)
ELEMENTWISE(subtract_task, *z = *x - *y)
ELEMENTWISE(add_task, *y += *x)
ELEMENTWISE(axpy_task, *y += j->f[k] * *x)
ELEMENTWISE(xpay_task, *y = *x + j->f[k] * *y)
ELEMENTWISE(scale_task, *x *= j->f[k])
ELEMENTWISE(divide_task, *y = j->f[k] > 0 ? *x / j->f[k] : 0)
ELEMENTWISE(blend_task, *y += j->value * (*x - *y))
ELEMENTWISE(combine_task, *y = j->f[k] * *y + j->g[k] * *x)
ELEMENTWISE(recur_task, *z -= j->f[k] * *x + j->g[k] * *y)
ELEMENTWISE(multiply_task, *x *= j->g[k])
ELEMENTWISE(inverse_root_task, *x = 1 / sqrt(*x + j->value))

void gb_cpu_fill (gb_panel x, double value) { run(fill_task, &(job){.a = x, .value = value}); }
void gb_cpu_copy (gb_panel x, gb_panel y) { run(copy_task, &(job){.a = x, .b = y}); }
void gb_cpu_subtract (gb_panel b, gb_panel x, gb_panel y) {
  run(subtract_task, &(job){.a = b, .b = x, .c = y});
}
void gb_cpu_axpy (const double *f, gb_panel x, gb_panel y) {
  run(f != NULL ? axpy_task : add_task, &(job){.a = x, .b = y, .f = f});
}
void gb_cpu_xpay (const double *f, gb_panel x, gb_panel y) { run(xpay_task, &(job){.a = x, .b = y, .f = f}); }
void gb_cpu_scale (const double *f, gb_panel x) { run(scale_task, &(job){.a = x, .f = f}); }
void gb_cpu_divide (const double *f, gb_panel x, gb_panel y) {
  run(divide_task, &(job){.a = x, .b = y, .f = f});
}
void gb_cpu_blend (double f, gb_panel x, gb_panel y) { run(blend_task, &(job){.a = x, .b = y, .value = f}); }
void gb_cpu_combine (const double *a, gb_panel y, const double *b, gb_panel x) {
  run(combine_task, &(job){.a = x, .b = y, .f = a, .g = b});
}
void gb_cpu_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y) {
  run(recur_task, &(job){.a = x, .b = z, .c = y, .f = a, .g = b});
}
void gb_cpu_multiply (gb_panel d, gb_panel x) { run(multiply_task, &(job){.a = x, .g = d.at}); }
void gb_cpu_inverse_root (gb_panel x, double shift) {
  run(inverse_root_task, &(job){.a = x, .value = shift});
}

void gb_cpu_moduli (gb_panel x) {
  for (size_t i = 0; i < x.n; i++) {
    double *v = gb_panel_entry(&x, i, 0);
    const double size = fabs(*v);
    *v = size > 0 && isfinite(size) ? size : 1;
  }
}

void gb_cpu_normals (gb_panel x, uint64_t seed, uint64_t stream) {
  for (size_t k = 0; k < x.r; k++)
    for (size_t i = 0; i < x.n; i++) *gb_panel_entry(&x, i, k) = gb_rand_normal(seed, stream - k, i);
}

void gb_cpu_exponentials (gb_panel x, uint64_t seed) {
  for (size_t i = 0; i < x.n; i++) *gb_panel_entry(&x, i, 0) = -log(gb_rand_uniform(seed, 0, i));
}

void gb_cpu_compact (gb_panel x, size_t to, size_t w, const size_t *at) {
  double *v = x.at;
  for (size_t i = 0; i < x.n; i++) {
    for (size_t k = 0; k < w; k++) v[i * to + k] = v[i * x.r + at[k]];
    for (size_t k = w; k < to; k++) v[i * to + k] = 0;
  }
}

/* -- in and out */

void gb_cpu_read (gb_panel x, double *out) {
  for (size_t i = 0; i < x.n; i++)
    for (size_t k = 0; k < x.r; k++) out[i * x.r + k] = *gb_panel_entry(&x, i, k);
}

void gb_cpu_write (gb_panel x, const double *values) {
  for (size_t i = 0; i < x.n; i++)
    for (size_t k = 0; k < x.r; k++) *gb_panel_entry(&x, i, k) = values[i * x.r + k];
}

/* Between a panel and rows of another type. */
typedef struct passage {
  gb_panel x;
  void *rows;
  size_t stride;
  bool f32, round;
} passage;

static void load_block (void *ud, gb_tasks *s, size_t task, int thread) {
  const passage *j = ud;
  const size_t i0 = task * BLOCK, i1 = i0 + gb_extent(j->x.n, i0, BLOCK);
  (void)s, (void)thread;
  for (size_t i = i0; i < i1; i++) {
    double *x = gb_panel_row(&j->x, i);
    const float *narrow = (const float *)j->rows + i * j->stride;
    if (j->f32)
      for (size_t k = 0; k < j->x.r; k++) x[k] = (double)narrow[k];
    else memcpy(x, (const double *)j->rows + i * j->stride, j->x.r * sizeof *x);
  }
}

static void store_block (void *ud, gb_tasks *s, size_t task, int thread) {
  const passage *j = ud;
  const size_t i0 = task * BLOCK, i1 = i0 + gb_extent(j->x.n, i0, BLOCK), r = j->x.r;
  (void)s, (void)thread;
  for (size_t i = i0; i < i1; i++) {
    double *x = gb_panel_row(&j->x, i);
    if (!j->f32) {
      double *wide = (double *)j->rows + i * j->stride;
      memcpy(wide, x, r * sizeof *x);
      for (size_t k = r; j->round && k < j->stride; k++) wide[k] = 0;
      continue;
    }
    float *narrow = (float *)j->rows + i * j->stride;
    for (size_t k = 0; k < r; k++) narrow[k] = (float)x[k];
    for (size_t k = 0; j->round && k < r; k++) x[k] = (double)narrow[k];
    for (size_t k = r; j->round && k < j->stride; k++) narrow[k] = 0;
  }
}

gb_status gb_cpu_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err) {
  passage j = {.x = x, .rows = (void *)(uintptr_t)from, .stride = stride, .f32 = f32};
  return gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), load_block, &j, err);
}

gb_status gb_cpu_store (gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err) {
  passage j = {.x = x, .rows = to, .stride = stride, .f32 = f32, .round = round};
  return gb_tasks_run(x.device->pool, gb_blocks_of(x.n, BLOCK), store_block, &j, err);
}
