/* order.c - sorting, the k largest or smallest, and running sums along an axis. Lanes of the axis are tasks.
**
** Sorting is by radix on keys whose unsigned order is the wanted one, so it is stable and takes linear
** time; NaN has the last key in either direction, and -0 and 0 have one key. */
#include <string.h>

#include "cpu/opaque.h"

typedef struct item { uint64_t key; size_t position; } item;

/* A tensor seen as (outer, n, inner), n the extent of the axis. */
typedef struct lanes { size_t outer, n, inner; } lanes;

static lanes lanes_of (const gb_shape *s, int64_t axis) {
  lanes l = {1, s->dim[axis], 1};
  for (int i = 0; i < axis; i++) l.outer *= s->dim[i];
  for (int i = (int)axis + 1; i < s->ndim; i++) l.inner *= s->dim[i];
  return l;
}

typedef struct sort_job {
  gb_dtype dtype;
  lanes l;
  size_t k;                        /* entries kept */
  bool descending;
  const char *in;
  char *values;
  int64_t *positions;
  item *scratch;                   /* (threads, 2, n) */
} sort_job;

/* Any thread may draw a task, but a single task runs on the first. */
static size_t items_bytes (gb_pool *pool, const lanes *l) {
  const size_t count = l->outer * l->inner, threads = count > 1 ? (size_t)gb_pool_threads(pool) : count;
  return threads * 2 * l->n * sizeof(item);
}

size_t gb_cpu_sort_scratch (const gb_backend *be, const gb_opaque *o) {
  const lanes l = lanes_of(&o->in_shape[0], o->attr.i[0]);
  return items_bytes(be->pool, &l);
}

static uint64_t key_of_f64 (double v, bool descending) {
  if (v != v) return UINT64_MAX;
  v += 0.0;                        /* -0 becomes 0 */
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  bits ^= bits >> 63 ? UINT64_MAX : 1ull << 63;
  return descending ? ~bits : bits;
}

static void make_keys (const sort_job *q, const char *lane, item *to) {
  const size_t stride = q->l.inner;
  if (q->dtype == GB_I64)
    for (size_t i = 0; i < q->l.n; i++) {
      const uint64_t key = (uint64_t)((const int64_t *)(const void *)lane)[i * stride] ^ 1ull << 63;
      to[i] = (item){q->descending ? ~key : key, i};
    }
  else
    for (size_t i = 0; i < q->l.n; i++)
      to[i] = (item){key_of_f64(gb_element_get(lane, i * stride, q->dtype), q->descending), i};
}

static void insertion_sort (item *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const item x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* One pass over byte 'byte' of the keys; false where they all share it and nothing moves. */
static bool radix_pass (const item *from, item *to, size_t n, int byte) {
  size_t start[256] = {0}, sum = 0;
  for (size_t i = 0; i < n; i++) start[from[i].key >> 8 * byte & 0xff]++;
  if (start[from[0].key >> 8 * byte & 0xff] == n) return false;
  for (int b = 0; b < 256; b++) {
    const size_t count = start[b];
    start[b] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) to[start[from[i].key >> 8 * byte & 0xff]++] = from[i];
  return true;
}

static void sort_lane (void *ud, gb_tasks *s, size_t task, int thread) {
  const sort_job *q = ud;
  const size_t n = q->l.n, inner = q->l.inner, size = gb_dtype_size(q->dtype);
  const size_t outer = task / inner, c = task % inner;
  const char *lane = q->in + (outer * n * inner + c) * size;
  item *a = q->scratch + (size_t)thread * 2 * n, *b = a + n;
  if (n == 0) return;
  make_keys(q, lane, a);
  if (n <= 64) insertion_sort(a, n);
  else
    for (int byte = 0; byte < 8 && gb_tasks_poll(s); byte++)
      if (radix_pass(a, b, n, byte)) {
        item *const t = a;
        a = b;
        b = t;
      }
  for (size_t i = 0; i < q->k; i++) {
    const size_t to = (outer * q->k + i) * inner + c;
    memcpy(q->values + to * size, lane + a[i].position * inner * size, size);
    q->positions[to] = (int64_t)a[i].position + 1;
  }
}

static gb_status sort (const gb_opaque_call *c, bool descending) {
  const gb_opaque *o = c->o;
  sort_job q = {.dtype = o->in_dtype[0],
                .l = lanes_of(&o->in_shape[0], o->attr.i[0]),
                .descending = descending,
                .k = o->out_shape[0].dim[o->attr.i[0]],
                .in = c->in[0],
                .values = c->out[0],
                .positions = c->out[1],
                .scratch = c->scratch};
  memset(q.scratch, 0, items_bytes(c->pool, &q.l));      /* all of it is this op's, whoever draws the tasks */
  return gb_tasks_run(c->pool, q.l.outer * q.l.inner, sort_lane, &q, c->err);
}

gb_status gb_cpu_sort (const gb_opaque_call *c) { return sort(c, c->o->attr.i[1] != 0); }
gb_status gb_cpu_topk (const gb_opaque_call *c) { return sort(c, c->o->attr.i[2] != 0); }

#define WIDTH 64                   /* lanes that run together, side by side in memory */
#define LENGTH 16384               /* steps between two polls */

typedef struct cumsum_job {
  gb_dtype dtype;
  lanes l;
  bool backwards;
  const void *in;
  void *out;
} cumsum_job;

/* Steps from .. to-1 of 'width' lanes; element i of lane c is at first + i * inner + c. Floats add in f64. */
#define RUN(T, A)                                                                    \
  for (size_t step = from; step < to; step++) {                                      \
    const size_t i = first + (q->backwards ? q->l.n - 1 - step : step) * q->l.inner; \
    for (size_t c = 0; c < width; c++) {                                             \
      acc.A[c] += ((const T *)q->in)[i + c];                                         \
      ((T *)q->out)[i + c] = (T)acc.A[c];                                            \
    }                                                                                \
  }

static void sum_lanes (void *ud, gb_tasks *s, size_t task, int thread) {
  const cumsum_job *q = ud;
  (void)thread;
  const size_t groups = gb_blocks(q->l.inner, WIDTH), group = task % groups;
  const size_t first = task / groups * q->l.n * q->l.inner + group * WIDTH;
  const size_t width = gb_block_extent(q->l.inner, WIDTH, group);
  union { double f[WIDTH]; uint64_t u[WIDTH]; } acc;
  memset(&acc, 0, sizeof acc);
  for (size_t from = 0; from < q->l.n && gb_tasks_poll(s); from += LENGTH) {
    const size_t to = q->l.n - from < LENGTH ? q->l.n : from + LENGTH;
    if (q->dtype == GB_F64) { RUN(double, f) }
    else if (q->dtype == GB_F32) { RUN(float, f) }
    else if (q->dtype == GB_I64) { RUN(uint64_t, u) }
    else
      for (size_t step = from; step < to; step++) {
        const size_t i = first + (q->backwards ? q->l.n - 1 - step : step) * q->l.inner;
        for (size_t c = 0; c < width; c++) {
          acc.f[c] += gb_element_get(q->in, i + c, q->dtype);
          gb_element_set(q->out, i + c, q->dtype, acc.f[c]);
        }
      }
  }
}

gb_status gb_cpu_cumsum (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  cumsum_job q = {.dtype = o->in_dtype[0], .l = lanes_of(&o->in_shape[0], o->attr.i[0]),
                  .backwards = o->attr.i[1] != 0, .in = c->in[0], .out = c->out[0]};
  return gb_tasks_run(c->pool, q.l.outer * gb_blocks(q.l.inner, WIDTH), sum_lanes, &q, c->err);
}
