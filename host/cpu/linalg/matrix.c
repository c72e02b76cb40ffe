/* matrix.c - passes over memory: the check for finite entries, copies, transposes, mirroring; blocks are
** tasks. */
#include <string.h>

#include "base/plain.h"
#include "cpu/linalg/opaque.h"

#define SIDE 64 /* a block and its transpose fit in L1 together */
#define ROWS 64

typedef struct scan {
  const gb_tiles *a;
  size_t from;            /* first row */
  bool lower;             /* the triangle only */
  _Atomic uint64_t first; /* row * columns + column of the first bad entry; UINT64_MAX = none */
} scan;

/* Tests the bits: an exponent of all ones means infinite or NaN. */
static size_t first_bad_f64 (const uint64_t *p, size_t n) {
  const uint64_t mask = 0x7ffull << 52;
  uint64_t bad = 0;
  for (size_t i = 0; i < n; i++) bad |= (p[i] & mask) == mask;
  if (!bad) return n;
  size_t i = 0;
  while ((p[i] & mask) != mask) i++;
  return i;
}

static size_t first_bad_f32 (const uint32_t *p, size_t n) {
  const uint32_t mask = 0xffu << 23;
  uint32_t bad = 0;
  for (size_t i = 0; i < n; i++) bad |= (p[i] & mask) == mask;
  if (!bad) return n;
  size_t i = 0;
  while ((p[i] & mask) != mask) i++;
  return i;
}

/* Column of the first bad entry of row i, or 'm' if the first m are finite. */
static size_t first_bad (const gb_tiles *a, size_t i, size_t m) {
  for (size_t j = 0, run; j < m; j += run) {
    const void *p = gb_tiles_entry(a, i, j, &run);
    if (run > m - j) run = m - j;
    const size_t k = a->dtype == GB_F64 ? first_bad_f64(p, run) : first_bad_f32(p, run);
    if (k < run) return j + k;
  }
  return m;
}

static void scan_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  scan *q = ud;
  (void)s, (void)thread;
  const size_t first = q->from + task * ROWS;
  for (size_t i = first; i < first + gb_block_extent(q->a->n - q->from, ROWS, task); i++) {
    const size_t m = q->lower ? i + 1 : q->a->m, j = first_bad(q->a, i, m);
    if (j == m) continue;
    const uint64_t at = i * q->a->m + j;
    uint64_t seen = atomic_load(&q->first);
    while (at < seen && !atomic_compare_exchange_weak(&q->first, &seen, at)) continue;
    return;
  }
}

static gb_status check (gb_pool *pool, const gb_tiles *a, bool lower, size_t from, gb_error *err) {
  scan q = {.a = a, .from = from, .lower = lower, .first = UINT64_MAX};
  GB_TRY(gb_tasks_run(pool, gb_blocks(a->n - from, ROWS), scan_rows, &q, err));
  const uint64_t at = atomic_load(&q.first);
  if (at == UINT64_MAX) return GB_OK;
  const size_t i = (size_t)at / a->m, j = (size_t)at % a->m;
  size_t run;
  return gb_fail(err, GB_ENAN, "expected finite entries, got %g in row %zu, column %zu",
                 gb_plain(gb_element_get(gb_tiles_entry(a, i, j, &run), 0, a->dtype)), i + 1, j + 1);
}

gb_status gb_check_finite (gb_pool *pool, gb_dtype t, size_t n, size_t m, const void *a, gb_error *err) {
  const gb_tiles all = gb_tiles_of(t, false, n, m, a);
  return check(pool, &all, false, 0, err);
}

gb_status gb_check_lower (gb_pool *pool, const gb_tiles *a, size_t have, gb_error *err) {
  return check(pool, a, true, have, err);
}

#define CHUNK ((size_t)1 << 20) /* bytes of a task that copies */

typedef struct copy {
  size_t bytes;
  const char *src;
  char *dst;
} copy;

static void copy_chunk (void *ud, gb_tasks *s, size_t task, int thread) {
  const copy *q = ud;
  (void)s, (void)thread;
  const size_t bytes = gb_block_extent(q->bytes, CHUNK, task);
  if (q->src == NULL) memset(q->dst + task * CHUNK, 0, bytes);
  else memcpy(q->dst + task * CHUNK, q->src + task * CHUNK, bytes);
}

gb_status gb_copy_bytes (gb_pool *pool, size_t bytes, const void *src, void *dst, gb_error *err) {
  copy q = {bytes, src, dst};
  return gb_tasks_run(pool, gb_blocks(bytes, CHUNK), copy_chunk, &q, err);
}

gb_status gb_zero_bytes (gb_pool *pool, size_t bytes, void *dst, gb_error *err) {
  return gb_copy_bytes(pool, bytes, NULL, dst, err);
}

typedef struct turn {
  gb_dtype dtype;
  size_t n, m, lds, ldd;
  const char *src;
  char *dst;
} turn;

static void turn_block (gb_dtype t, size_t n, size_t m, const void *src, size_t lds, void *dst, size_t ldd) {
  if (t == GB_F64) {
    const double *restrict s = src;
    double *restrict d = dst;
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < n; i++) d[j * ldd + i] = s[i * lds + j];
  } else {
    const float *restrict s = src;
    float *restrict d = dst;
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < n; i++) d[j * ldd + i] = s[i * lds + j];
  }
}

static void turn_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const turn *q = ud;
  (void)s, (void)thread;
  const size_t size = gb_dtype_size(q->dtype), ni = gb_block_extent(q->n, SIDE, task);
  for (size_t j = 0; j < gb_blocks(q->m, SIDE); j++)
    turn_block(q->dtype, ni, gb_block_extent(q->m, SIDE, j), q->src + (task * q->lds + j) * SIDE * size,
               q->lds, q->dst + (j * q->ldd + task) * SIDE * size, q->ldd);
}

gb_status gb_transpose_copy (gb_pool *pool, gb_dtype t, size_t n, size_t m, const void *src, size_t lds,
                             void *dst, size_t ldd, gb_error *err) {
  turn q = {.dtype = t, .n = n, .m = m, .lds = lds, .ldd = ldd, .src = src, .dst = dst};
  return gb_tasks_run(pool, gb_blocks(n, SIDE), turn_rows, &q, err);
}

static void swap_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const turn *q = ud;
  (void)s, (void)thread;
  const size_t size = gb_dtype_size(q->dtype), ni = gb_block_extent(q->n, SIDE, task), n = q->n;
  double buffer[SIDE * SIDE];
  for (size_t j = 0; j <= task; j++) {
    char *lower = q->dst + (task * n + j) * SIDE * size, *upper = q->dst + (j * n + task) * SIDE * size;
    const size_t nj = gb_block_extent(n, SIDE, j);
    turn_block(q->dtype, ni, nj, lower, n, buffer, SIDE);
    if (j < task) turn_block(q->dtype, nj, ni, upper, n, lower, n);
    for (size_t r = 0; r < nj; r++) memcpy(upper + r * n * size, (char *)buffer + r * SIDE * size, ni * size);
  }
}

gb_status gb_transpose_square (gb_pool *pool, gb_dtype t, size_t n, void *a, gb_error *err) {
  turn q = {.dtype = t, .n = n, .dst = a};
  return gb_tasks_run(pool, gb_blocks(n, SIDE), swap_rows, &q, err);
}

static void mirror_rows (void *ud, gb_tasks *s, size_t task, int thread) {
  const turn *q = ud;
  (void)s, (void)thread;
  const size_t size = gb_dtype_size(q->dtype), ni = gb_block_extent(q->n, SIDE, task), n = q->n;
  for (size_t j = 0; j < task; j++)
    turn_block(q->dtype, ni, SIDE, q->dst + (task * n + j) * SIDE * size, n,
               q->dst + (j * n + task) * SIDE * size, n);
  for (size_t i = task * SIDE; i < task * SIDE + ni; i++) /* the diagonal block, entry by entry */
    for (size_t j = task * SIDE; j < i; j++)
      memcpy(q->dst + (j * n + i) * size, q->dst + (i * n + j) * size, size);
}

gb_status gb_mirror_lower (gb_pool *pool, gb_dtype t, size_t n, void *a, gb_error *err) {
  turn q = {.dtype = t, .n = n, .dst = a};
  return gb_tasks_run(pool, gb_blocks(n, SIDE), mirror_rows, &q, err);
}
