/* qr.c - thin QR by blocked Householder reflections, with a positive diagonal of R.
**
** Panels of PANEL columns are factored by the recursive scheme, mostly matrix products. Each gives reflectors
** V (stored transposed: a reflector is a row) and a triangle T with Q_panel = I - V T V'. The update of the
** other columns, and later the columns of Q, are computed in tiles of columns, one a task. Source: Elmroth &
** Gustavson (2000), Applying recursion to serial and parallel QR factorization. Cost: 4 n m^2 - 4 m^3 / 3
** flops; V is a copy of the matrix. */
#include <string.h>

#include "cpu/linalg/opaque.h"

#define PANEL 64
#define TILE GB_BLOCK /* columns of a task */
#define CHUNK 1024    /* rows between two polls */

typedef struct house {
  gb_dtype dtype;
  size_t n, m, size;
  char *q, *r;   /* (n, m): A, then Q;  (m, m) */
  char *v;       /* (m, n): reflector c is row c, zero before entry c, 1 there */
  char *t;       /* (panels, PANEL, PANEL) */
  char *work;    /* (threads, 2, PANEL, TILE) */
  size_t p0, np; /* the panel in progress: first column, columns */
  bool forming;  /* applies Q_panel, not its transpose */
} house;

#define WORK (2 * PANEL * TILE)

static size_t v_bytes (const gb_opaque *o) {
  return gb_align64(o->in_shape[0].dim[0] * o->in_shape[0].dim[1] * gb_dtype_size(o->in_dtype[0]));
}

static size_t t_bytes (const gb_opaque *o) {
  return gb_blocks(o->in_shape[0].dim[1], PANEL) * PANEL * PANEL * gb_dtype_size(o->in_dtype[0]);
}

size_t gb_cpu_qr_scratch (const gb_pool *pool, const gb_opaque *o) {
  if (o->in_shape[0].dim[1] == 0) return 0;
  return v_bytes(o) + t_bytes(o) + (size_t)gb_pool_threads(pool) * WORK * gb_dtype_size(o->in_dtype[0]);
}

/* Addresses in the panel in progress: reflector j from its first row on, and entry (i, j) of its T. */
static char *reflector (const house *h, size_t j) { return h->v + ((h->p0 + j) * h->n + h->p0) * h->size; }
static char *triangle (const house *h, size_t i, size_t j) {
  return h->t + (h->p0 * PANEL + i * PANEL + j) * h->size;
}

static char *r_entry (const house *h, size_t i, size_t j) { return h->r + (i * h->m + j) * h->size; }

/* Column j of the panel becomes a reflector; the entries on and above its diagonal move to R. */
static void reflect (house *h, size_t j) {
  char *x = reflector(h, j);
  const size_t column = h->p0 + j;
  gb_lapack_larfg(h->dtype, h->n - column, x + j * h->size, triangle(h, j, j));
  for (size_t i = 0; i <= j; i++) {
    memcpy(r_entry(h, h->p0 + i, column), x + i * h->size, h->size);
    gb_element_set(x, i, h->dtype, i == j);
  }
}

/* Factors columns j0 .. j0+w-1 of the panel, given with all earlier reflections applied. */
static void factor_columns (house *h, gb_tasks *s, size_t j0, size_t w) {
  if (w == 1) {
    reflect(h, j0);
    return;
  }
  const size_t w1 = w / 2, w2 = w - w1, j1 = j0 + w1, rows = h->n - h->p0;
  char *z = h->work, *tz = z + PANEL * PANEL * h->size;
  factor_columns(h, s, j0, w1);
  gb_blas_gemm(h->dtype, false, true, w1, w2, rows, 1, reflector(h, j0), h->n, reflector(h, j1), h->n, 0, z,
               PANEL);
  gb_blas_gemm(h->dtype, true, false, w1, w2, w1, 1, triangle(h, j0, j0), PANEL, z, PANEL, 0, tz, PANEL);
  for (size_t i = 0; i < rows; i += CHUNK) {
    if (!gb_tasks_poll(s)) return;
    gb_blas_gemm(h->dtype, true, false, w2, rows - i < CHUNK ? rows - i : CHUNK, w1, -1, tz, PANEL,
                 reflector(h, j0) + i * h->size, h->n, 1, reflector(h, j1) + i * h->size, h->n);
  }
  factor_columns(h, s, j1, w2);
  if (!gb_tasks_poll(s)) return;
  gb_blas_gemm(h->dtype, false, true, w1, w2, rows, 1, reflector(h, j0), h->n, reflector(h, j1), h->n, 0, z,
               PANEL);
  gb_blas_gemm(h->dtype, false, false, w1, w2, w1, 1, triangle(h, j0, j0), PANEL, z, PANEL, 0, tz, PANEL);
  gb_blas_gemm(h->dtype, false, false, w1, w2, w2, -1, tz, PANEL, triangle(h, j1, j1), PANEL, 0,
               triangle(h, j0, j1), PANEL);
}

static void factor_panel (void *ud, gb_tasks *s, size_t task, int thread) {
  (void)task, (void)thread;
  house *h = ud;
  factor_columns(h, s, 0, h->np);
}

/* C -= V op(T) V' C for one tile C of columns, rows p0 .. n-1. */
static void apply_panel (void *ud, gb_tasks *s, size_t task, int thread) {
  const house *h = ud;
  const size_t first = h->forming ? h->p0 : h->p0 + h->np, j0 = first + task * TILE;
  const size_t nc = gb_block_extent(h->m - first, TILE, task), rows = h->n - h->p0;
  char *w = h->work + (size_t)thread * WORK * h->size, *tw = w + PANEL * TILE * h->size;
  char *c = h->q + (h->p0 * h->m + j0) * h->size;
  for (size_t i = 0; i < rows; i += CHUNK) {
    if (!gb_tasks_poll(s)) return;
    gb_blas_gemm(h->dtype, false, false, h->np, nc, rows - i < CHUNK ? rows - i : CHUNK, 1,
                 reflector(h, 0) + i * h->size, h->n, c + i * h->m * h->size, h->m, i == 0 ? 0 : 1, w, TILE);
  }
  gb_blas_gemm(h->dtype, !h->forming, false, h->np, nc, h->np, 1, triangle(h, 0, 0), PANEL, w, TILE, 0, tw,
               TILE);
  for (size_t i = 0; i < rows; i += CHUNK) {
    if (!gb_tasks_poll(s)) return;
    gb_blas_gemm(h->dtype, true, false, rows - i < CHUNK ? rows - i : CHUNK, nc, h->np, -1,
                 reflector(h, 0) + i * h->size, h->n, tw, TILE, 1, c + i * h->m * h->size, h->m);
  }
}

static gb_status factor (const gb_opaque_call *c, house *h) {
  for (h->p0 = 0; h->p0 < h->m; h->p0 += PANEL) {
    h->np = h->m - h->p0 < PANEL ? h->m - h->p0 : PANEL;
    const size_t p1 = h->p0 + h->np;
    GB_TRY(gb_transpose_copy(c->pool, h->dtype, h->n - h->p0, h->np, h->q + (h->p0 * h->m + h->p0) * h->size,
                             h->m, reflector(h, 0), h->n, c->err));
    GB_TRY(gb_tasks_run(NULL, 1, factor_panel, h, c->err));
    GB_TRY(gb_tasks_run(c->pool, gb_blocks(h->m - p1, TILE), apply_panel, h, c->err));
    for (size_t i = h->p0; i < p1; i++)
      memcpy(r_entry(h, i, p1), h->q + (i * h->m + p1) * h->size, (h->m - p1) * h->size);
  }
  return GB_OK;
}

static double diagonal (const house *h, size_t j) { return gb_element_get(h->r, j * h->m + j, h->dtype); }

/* Q D from the reflections of [D; 0], D = +-1 making the diagonal of D R positive. */
static gb_status form (const gb_opaque_call *c, house *h) {
  GB_TRY(gb_zero_bytes(c->pool, h->n * h->m * h->size, h->q, c->err));
  for (size_t j = 0; j < h->m; j++) gb_element_set(h->q, j * h->m + j, h->dtype, diagonal(h, j) < 0 ? -1 : 1);
  h->forming = true;
  for (size_t panel = gb_blocks(h->m, PANEL); panel-- > 0;) {
    h->p0 = panel * PANEL;
    h->np = h->m - h->p0 < PANEL ? h->m - h->p0 : PANEL;
    GB_TRY(gb_tasks_run(c->pool, gb_blocks(h->m - h->p0, TILE), apply_panel, h, c->err));
  }
  return GB_OK;
}

/* Row j of D R. */
static void sign_row (void *ud, gb_tasks *s, size_t j, int thread) {
  const house *h = ud;
  (void)s, (void)thread;
  if (!(diagonal(h, j) < 0)) return;
  for (size_t k = j; k < h->m; k++)
    gb_element_set(h->r, j * h->m + k, h->dtype, -gb_element_get(h->r, j * h->m + k, h->dtype));
}

gb_status gb_cpu_qr (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  house h = {.dtype = o->in_dtype[0],
             .n = o->in_shape[0].dim[0],
             .m = o->in_shape[0].dim[1],
             .q = c->out[0],
             .r = c->out[1],
             .v = c->scratch};
  if (h.m == 0) return GB_OK;
  h.size = gb_dtype_size(h.dtype);
  h.t = h.v + v_bytes(o);
  h.work = h.t + t_bytes(o);
  GB_TRY(gb_check_finite(c->pool, h.dtype, h.n, h.m, c->in[0], c->err));
  GB_TRY(gb_copy_bytes(c->pool, h.n * h.m * h.size, c->in[0], h.q, c->err));
  const int exponent = gb_far_exponent(h.dtype, h.n * h.m, h.q);
  gb_scale_by_power(h.dtype, h.n * h.m, -exponent, h.q);
  GB_TRY(gb_zero_bytes(c->pool, h.m * h.m * h.size, h.r, c->err));
  memset(h.t, 0, t_bytes(o));
  memset(h.work, 0, (size_t)gb_pool_threads(c->pool) * WORK * h.size);
  GB_TRY(factor(c, &h));
  GB_TRY(form(c, &h));
  GB_TRY(gb_tasks_run(c->pool, h.m, sign_row, &h, c->err));
  gb_scale_by_power(h.dtype, h.m * h.m, exponent, h.r);
  return gb_check_result(c, "qr: R", h.m, h.m, h.r);
}
