/* low_rank.c - a low-rank matrix plus noise, by Woodbury's formula, and samples through its root. Blocks of
** rows, and rows of L', are tasks. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/panel/panel.h"

#define ROWS GB_PANEL_BLOCK /* rows of a block, and of one chain of a sum */
#define WIDTH GB_PANEL_WIDTH
#define DEEP 8  /* rows of L', or of the result, that are computed together */
#define PART 32 /* rows of L' of a task */

/* Loops over WIDTH columns at once, vectorised for the machine at hand; products and sums are rounded
** apart, so that the bits are the same on all. */
#if defined(__x86_64__) && defined(__linux__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

/* Columns k0 .. k0 + w - 1 of 'in' and 'out'. */
typedef struct application {
  const gb_low_rank *p;
  size_t k0, w;
  gb_panel in, out;
} application;

static double entry (const application *q, size_t i, size_t c) {
  return *gb_panel_entry(&q->in, i, q->k0 + c);
}

static double scale_of (const gb_low_rank *p, size_t i) {
  return p->scale != NULL ? ((const double *)p->scale)[i] : 1;
}

/* x (DEEP, WIDTH) += DEEP rows of L' (., n) times v (rows, WIDTH). */
VECTORISED
static void project_tile (size_t n, size_t rows, const double *restrict l, const double *restrict v,
                          double *restrict x) {
  double sum[DEEP][WIDTH] = {{0}};
  for (size_t i = 0; i < rows; i++)
    for (size_t m = 0; m < DEEP; m++)
      for (size_t c = 0; c < WIDTH; c++) sum[m][c] += l[m * n + i] * v[i * WIDTH + c];
  for (size_t m = 0; m < DEEP; m++)
    for (size_t c = 0; c < WIDTH; c++) x[m * WIDTH + c] += sum[m][c];
}

static void project_row (size_t rows, const double *restrict l, const double *restrict v,
                         double *restrict x) {
  double sum[WIDTH] = {0};
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) sum[c] += l[i] * v[i * WIDTH + c];
  for (size_t c = 0; c < WIDTH; c++) x[c] += sum[c];
}

/* A few rows of work (rank, WIDTH) = L' in: one chain a block of rows. */
static void project_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const application *q = ud;
  const gb_low_rank *p = q->p;
  const size_t m0 = task * PART, m1 = m0 + gb_extent(p->rank, m0, PART);
  double v[ROWS * WIDTH];
  (void)s, (void)thread;
  memset((double *)p->work + m0 * WIDTH, 0, (m1 - m0) * WIDTH * sizeof *v);
  memset(v, 0, sizeof v);
  for (size_t i0 = 0; i0 < p->n; i0 += ROWS) {
    const size_t rows = gb_extent(p->n, i0, ROWS);
    for (size_t i = 0; i < rows; i++)
      for (size_t c = 0; c < q->w; c++) v[i * WIDTH + c] = scale_of(p, i0 + i) * entry(q, i0 + i, c);
    size_t m = m0;
    for (; m + DEEP <= m1; m += DEEP)
      project_tile(p->n, rows, (const double *)p->lt + m * p->n + i0, v, (double *)p->work + m * WIDTH);
    for (; m < m1; m++)
      project_row(rows, (const double *)p->lt + m * p->n + i0, v, (double *)p->work + m * WIDTH);
  }
}

/* sum (rows, WIDTH) += DEEP rows of L' (., n), transposed, times x (DEEP, WIDTH). */
VECTORISED
static void expand_tile (size_t n, size_t rows, const double *restrict l, const double *restrict x,
                         double *restrict sum) {
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) {
      double s = sum[i * WIDTH + c];
      for (size_t m = 0; m < DEEP; m++) s += l[m * n + i] * x[m * WIDTH + c];
      sum[i * WIDTH + c] = s;
    }
}

static void expand_row (size_t rows, const double *restrict l, const double *restrict x,
                        double *restrict sum) {
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < WIDTH; c++) sum[i * WIDTH + c] += l[i] * x[c];
}

/* A block of rows of L work, (ROWS, WIDTH): one chain an element. */
static void expand_block (const gb_low_rank *p, size_t i0, const double *work, double *sum) {
  const size_t rows = gb_extent(p->n, i0, ROWS);
  size_t m = 0;
  memset(sum, 0, rows * WIDTH * sizeof *sum);
  for (; m + DEEP <= p->rank; m += DEEP)
    expand_tile(p->n, rows, (const double *)p->lt + m * p->n + i0, work + m * WIDTH, sum);
  for (; m < p->rank; m++) expand_row(rows, (const double *)p->lt + m * p->n + i0, work + m * WIDTH, sum);
}

/* A block of rows of out = S (S in - L work) / noise. */
static void subtract_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const application *q = ud;
  const gb_low_rank *p = q->p;
  const size_t i0 = task * ROWS, rows = gb_extent(p->n, i0, ROWS);
  double sum[ROWS * WIDTH];
  (void)s, (void)thread;
  expand_block(p, i0, p->work, sum);
  for (size_t i = 0; i < rows; i++) {
    const double scale = scale_of(p, i0 + i);
    for (size_t c = 0; c < q->w; c++)
      *gb_panel_entry(&q->out, i0 + i, q->k0 + c) =
          scale * ((scale * entry(q, i0 + i, c) - sum[i * WIDTH + c]) / p->noise);
  }
}

/* work = C^-1 work, column by column in step. */
VECTORISED
static void solve_small (size_t k, const double *restrict l, double *restrict x) {
  for (size_t i = 0; i < k; i++) {
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] -= l[i * k + m] * x[m * WIDTH + c];
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= l[i * k + i];
  }
  for (size_t i = k; i-- > 0;) {
    for (size_t c = 0; c < WIDTH; c++) x[i * WIDTH + c] /= l[i * k + i];
    for (size_t m = 0; m < i; m++)
      for (size_t c = 0; c < WIDTH; c++) x[m * WIDTH + c] -= l[i * k + m] * x[i * WIDTH + c];
  }
}

/* P^-1 = S (I - L C^-1 L') S / noise */
static void solve_low_rank (const gb_low_rank *p, size_t w, gb_panel in, gb_panel out) {
  for (size_t k0 = 0; k0 < w; k0 += WIDTH) {
    application q = {p, k0, gb_extent(w, k0, WIDTH), in, out};
    gb_tasks_run(in.device->pool, gb_blocks_of(p->rank, PART), project_rows, &q, NULL);
    solve_small(p->rank, p->c, p->work);
    gb_tasks_run(in.device->pool, gb_blocks_of(p->n, ROWS), subtract_rows, &q, NULL);
  }
}

typedef struct division {
  const double *d;
  gb_panel in, out;
} division;

static void divide_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const division *q = ud;
  const size_t i0 = task * ROWS, i1 = i0 + gb_extent(q->in.n, i0, ROWS);
  (void)s, (void)thread;
  for (size_t i = i0; i < i1; i++)
    for (size_t k = 0; k < q->in.r; k++)
      *gb_panel_entry(&q->out, i, k) = *gb_panel_entry(&q->in, i, k) / q->d[i];
}

void gb_cpu_low_rank_solve (const gb_low_rank *p, gb_panel x, gb_panel y) {
  if (p->lt != NULL) solve_low_rank(p, x.r, x, y);
  else if (p->d != NULL) {
    division q = {p->d, x, y};
    gb_tasks_run(x.device->pool, gb_blocks_of(x.n, ROWS), divide_rows, &q, NULL);
  } else gb_cpu_copy(x, y);
}

/* -- sampling */

typedef struct sampling {
  const gb_low_rank *p;
  uint64_t seed;
  size_t first;
  gb_panel out;
} sampling;

/* A block of rows: the normals of column c are elements 0 .. n - 1 of stream c, its factors what follows. */
static void sample_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const sampling *q = ud;
  const gb_low_rank *p = q->p;
  const size_t n = q->out.n, i0 = task * ROWS, rows = gb_extent(n, i0, ROWS);
  const double root = p->lt != NULL ? sqrt(p->noise) : 1, *lt = p->lt, *d = p->d;
  (void)s, (void)thread;
  for (size_t c0 = q->first; c0 < q->out.r; c0 += WIDTH) {
    const size_t w = gb_extent(q->out.r, c0, WIDTH);
    double sum[ROWS * WIDTH] = {0};
    for (size_t m = 0; m < p->rank; m++)
      for (size_t c = 0; c < w; c++) {
        const double f = gb_rand_normal(q->seed, c0 + c, n + m);
        for (size_t i = 0; i < rows; i++) sum[i * WIDTH + c] += f * lt[m * n + i0 + i];
      }
    for (size_t i = 0; i < rows; i++)
      for (size_t c = 0; c < w; c++) {
        double z = root * gb_rand_normal(q->seed, c0 + c, i0 + i);
        if (d != NULL) z *= sqrt(d[i0 + i]);
        *gb_panel_entry(&q->out, i0 + i, c0 + c) = (z + sum[i * WIDTH + c]) /
                                                   (lt != NULL ? scale_of(p, i0 + i) : 1);
      }
  }
}

void gb_cpu_low_rank_sample (const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x) {
  sampling q = {p, seed, first, x};
  gb_tasks_run(x.device->pool, gb_blocks_of(x.n, ROWS), sample_rows, &q, NULL);
}
