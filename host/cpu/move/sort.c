/* sort.c - sorting, the k largest or smallest, and running sums along an axis. Lanes of the axis are
** tasks.
**
** Radix sort on keys whose unsigned order is the requested one: stable, linear time. NaN has the last key in
** either direction; -0 and 0 have one key.
**
** The k best are the first k of that order, found without sorting the rest: candidates are appended to a
** list; a full list is sorted and cut to its first k, and its last key is the bar for later entries. */
#include <string.h>

#include "cpu/linalg/opaque.h"

typedef struct item {
  uint64_t key;
  size_t position;
} item;

/* A tensor seen as (outer, n, inner), n the extent of the axis. */
typedef struct lanes {
  size_t outer, n, inner;
} lanes;

static lanes lanes_of (const gb_shape *s, int64_t axis) {
  lanes l = {1, s->dim[axis], 1};
  for (int i = 0; i < axis; i++) l.outer *= s->dim[i];
  for (int i = (int)axis + 1; i < s->ndim; i++) l.inner *= s->dim[i];
  return l;
}

typedef struct sort_job {
  gb_dtype dtype;
  lanes l;
  size_t k; /* entries kept */
  bool descending;
  const char *in;
  char *values;
  gb_dtype position_dtype; /* I64 or I32 */
  char *positions;
  size_t room;   /* items of a list */
  item *scratch; /* (threads, 2, room) */
} sort_job;

static size_t room_to_sort (const gb_opaque *o) { return o->in_shape[0].dim[o->attr.i[0]]; }

/* Twice the entries kept, so the cost of cutting the list is small per entry. */
static size_t room_for_best (const gb_opaque *o) {
  const size_t n = room_to_sort(o), k = o->out_shape[0].dim[o->attr.i[0]], more = k < 16 ? 16 : k;
  return n - k < more ? n : k + more;
}

/* Any thread may take a task; a single task runs on the first thread. */
static size_t items_bytes (const gb_pool *pool, const lanes *l, size_t room) {
  const size_t count = l->outer * l->inner, threads = count > 1 ? (size_t)gb_pool_threads(pool) : count;
  return threads * 2 * room * sizeof(item);
}

size_t gb_cpu_sort_scratch (const gb_pool *pool, const gb_opaque *o) {
  const lanes l = lanes_of(&o->in_shape[0], o->attr.i[0]);
  return items_bytes(pool, &l, room_to_sort(o));
}

size_t gb_cpu_topk_scratch (const gb_pool *pool, const gb_opaque *o) {
  const lanes l = lanes_of(&o->in_shape[0], o->attr.i[0]);
  return items_bytes(pool, &l, room_for_best(o));
}

static uint64_t key_of_f64 (double v, bool descending) {
  if (v != v) return UINT64_MAX;
  v += 0.0; /* -0 becomes 0 */
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  bits ^= bits >> 63 ? UINT64_MAX : 1ull << 63;
  return descending ? ~bits : bits;
}

/* Entry i of a lane whose entries are 'stride' apart. */
static uint64_t key_at (const sort_job *q, const char *lane, size_t i, size_t stride) {
  if (q->dtype != GB_I64) /* f64 holds every i32 */
    return key_of_f64(gb_element_get(lane, i * stride, q->dtype), q->descending);
  const uint64_t key = (uint64_t)((const int64_t *)(const void *)lane)[i * stride] ^ 1ull << 63;
  return q->descending ? ~key : key;
}

enum { POLL = 1 << 18 }; /* items between two looks at the interrupt flag */

/* The end of the next run of items from i, below n; i itself where the work is to end. */
static size_t run_end (gb_tasks *s, size_t i, size_t n) {
  if (n <= POLL) return n;
  if (!gb_tasks_poll(s)) return i;
  return n - i < POLL ? n : i + POLL;
}

static void make_keys (gb_tasks *s, const sort_job *q, const char *lane, item *to) {
  for (size_t i = 0, end; (end = run_end(s, i, q->l.n)) > i;)
    for (; i < end; i++) to[i] = (item){key_at(q, lane, i, q->l.inner), i};
}

static void insertion_sort (item *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const item x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* One pass over byte 'byte' of the keys; false where they all share it or an interrupt ends the pass: then
** 'from' still holds all items. */
static bool radix_pass (gb_tasks *s, const item *from, item *to, size_t n, int byte) {
  size_t start[256] = {0}, sum = 0, i = 0, end;
  while ((end = run_end(s, i, n)) > i)
    for (; i < end; i++) start[from[i].key >> 8 * byte & 0xff]++;
  if (i < n || start[from[0].key >> 8 * byte & 0xff] == n) return false;
  for (int b = 0; b < 256; b++) {
    const size_t count = start[b];
    start[b] = sum;
    sum += count;
  }
  i = 0;
  while ((end = run_end(s, i, n)) > i)
    for (; i < end; i++) to[start[from[i].key >> 8 * byte & 0xff]++] = from[i];
  return i == n;
}

/* Sorts n items, stably, with 'other' as scratch. Returns the array that holds the result. */
static item *sort_items (gb_tasks *s, item *a, item *other, size_t n) {
  if (n <= 64) insertion_sort(a, n);
  else
    for (int byte = 0; byte < 8 && gb_tasks_poll(s); byte++)
      if (radix_pass(s, a, other, n, byte)) {
        item *const t = a;
        a = other;
        other = t;
      }
  return a;
}

/* Stores the first k sorted items in lane 'task' of the results. */
static void store_items (gb_tasks *s, const sort_job *q, size_t task, const char *lane, const item *a) {
  const size_t inner = q->l.inner, outer = task / inner, c = task % inner, size = gb_dtype_size(q->dtype);
  for (size_t i = 0; i < q->k; i++) {
    if (i % POLL == POLL - 1 && !gb_tasks_poll(s)) return;
    const size_t to = (outer * q->k + i) * inner + c;
    memcpy(q->values + to * size, lane + a[i].position * inner * size, size);
    if (q->position_dtype == GB_I32) ((int32_t *)(void *)q->positions)[to] = (int32_t)(a[i].position + 1);
    else ((int64_t *)(void *)q->positions)[to] = (int64_t)a[i].position + 1;
  }
}

static const char *lane_of (const sort_job *q, size_t task) {
  const size_t inner = q->l.inner;
  return q->in + (task / inner * q->l.n * inner + task % inner) * gb_dtype_size(q->dtype);
}

static void sort_lane (void *ud, gb_tasks *s, size_t task, int thread) {
  const sort_job *q = ud;
  const char *lane = lane_of(q, task);
  item *a = q->scratch + (size_t)thread * 2 * q->room;
  if (q->l.n == 0) return;
  make_keys(s, q, lane, a);
  if (q->l.n > POLL && !gb_tasks_poll(s)) return; /* then not every item has a position */
  store_items(s, q, task, lane, sort_items(s, a, a + q->room, q->l.n));
}

/* -- the k best */

#define STRETCH 256 /* entries of a lane examined together */

/* Candidates for the k best: the first k of all earlier entries, then new ones in the order of their
** positions. */
typedef struct candidates {
  item *list, *other;
  size_t k, room, count;
  uint64_t bar; /* once 'barred': keys below it may enter */
  bool barred;
} candidates;

static void cut_candidates (gb_tasks *s, candidates *c) {
  item *const sorted = sort_items(s, c->list, c->other, c->count);
  if (sorted != c->list) c->other = c->list, c->list = sorted;
  c->count = c->k;
  c->bar = c->list[c->k - 1].key;
  c->barred = true;
}

static void offer (gb_tasks *s, candidates *c, uint64_t key, size_t position) {
  if (c->barred && key >= c->bar) return;
  c->list[c->count++] = (item){key, position};
  if (c->count == c->room) cut_candidates(s, c);
}

/* The first of n entries from i on that is above, or below, 'bar'; n if none is. */
#define FIRST_PAST(NAME, T)                                                                                  \
  static size_t NAME(const T *x, size_t i, size_t n, T bar, bool above) {                                    \
    enum { RUN = 32 };                                                                                       \
    for (; i + RUN <= n; i += RUN) {                                                                         \
      int past = 0;                                                                                          \
      if (above)                                                                                             \
        for (size_t c = 0; c < RUN; c++) past |= x[i + c] > bar;                                             \
      else                                                                                                   \
        for (size_t c = 0; c < RUN; c++) past |= x[i + c] < bar;                                             \
      if (past) break;                                                                                       \
    }                                                                                                        \
    while (i < n && !(above ? x[i] > bar : x[i] < bar)) i++;                                                 \
    return i;                                                                                                \
  }
FIRST_PAST(first_past_f64, double)
FIRST_PAST(first_past_f32, float)
FIRST_PAST(first_past_i64, int64_t)
FIRST_PAST(first_past_i32, int32_t)

/* The first of n entries from i that passes the bar. NaN, the last key, passes no bar except its own. */
static size_t first_of (const sort_job *q, const candidates *c, const char *x, size_t i, size_t n,
                        const char *lane) {
  const void *bar = lane + c->list[c->k - 1].position * q->l.inner * gb_dtype_size(q->dtype);
  if (!c->barred || c->bar == UINT64_MAX) return i;
  switch (q->dtype) {
    case GB_F64:
      return first_past_f64((const double *)(const void *)x, i, n, *(const double *)bar, q->descending);
    case GB_F32:
      return first_past_f32((const float *)(const void *)x, i, n, *(const float *)bar, q->descending);
    case GB_I64:
      return first_past_i64((const int64_t *)(const void *)x, i, n, *(const int64_t *)bar, q->descending);
    case GB_I32:
      return first_past_i32((const int32_t *)(const void *)x, i, n, *(const int32_t *)bar, q->descending);
    default: return i;
  }
}

/* Entries 'step' apart, side by side. */
static void copy_stretch (size_t size, const char *from, size_t step, char *to, size_t n) {
  /* constant sizes compile to moves */
  if (size == 8)
    for (size_t i = 0; i < n; i++) memcpy(to + i * 8, from + i * step * 8, 8);
  else if (size == 4)
    for (size_t i = 0; i < n; i++) memcpy(to + i * 4, from + i * step * 4, 4);
  else
    for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + i * step * size, size);
}

static void best_of_lane (void *ud, gb_tasks *s, size_t task, int thread) {
  const sort_job *q = ud;
  const size_t size = gb_dtype_size(q->dtype);
  const char *lane = lane_of(q, task);
  item *list = q->scratch + (size_t)thread * 2 * q->room;
  candidates c = {.list = list, .other = list + q->room, .k = q->k, .room = q->room};
  _Alignas(64) char copy[STRETCH * 8];
  for (size_t from = 0; from < q->l.n && q->k > 0; from += STRETCH) {
    const size_t n = q->l.n - from < STRETCH ? q->l.n - from : STRETCH;
    const char *x = lane + from * q->l.inner * size;
    if (from % (64 * STRETCH) == 0 && !gb_tasks_poll(s)) return;
    if (q->l.inner > 1) {
      copy_stretch(size, x, q->l.inner, copy, n);
      x = copy;
    }
    for (size_t i = first_of(q, &c, x, 0, n, lane); i < n; i = first_of(q, &c, x, i + 1, n, lane))
      offer(s, &c, key_at(q, x, i, 1), from + i);
  }
  store_items(s, q, task, lane, sort_items(s, c.list, c.other, c.count));
}

static gb_status order_lanes (const gb_opaque_call *c, size_t room, bool descending, gb_task *task) {
  const gb_opaque *o = c->o;
  sort_job q = {.dtype = o->in_dtype[0],
                .l = lanes_of(&o->in_shape[0], o->attr.i[0]),
                .descending = descending,
                .k = o->out_shape[0].dim[o->attr.i[0]],
                .room = room,
                .in = c->in[0],
                .values = c->out[0],
                .position_dtype = o->out_dtype[1],
                .positions = c->out[1],
                .scratch = c->scratch};
  memset(q.scratch, 0,
         items_bytes(c->pool, &q.l, room)); /* all of the declared scratch, also parts that no task uses */
  return gb_tasks_run(c->pool, q.l.outer * q.l.inner, task, &q, c->err);
}

gb_status gb_cpu_sort (const gb_opaque_call *c) {
  return order_lanes(c, room_to_sort(c->o), c->o->attr.i[1] != 0, sort_lane);
}

gb_status gb_cpu_topk (const gb_opaque_call *c) {
  return order_lanes(c, room_for_best(c->o), c->o->attr.i[2] != 0, best_of_lane);
}

#define WIDTH 64     /* adjacent lanes that run together */
#define LENGTH 16384 /* steps between two polls */

typedef struct cumsum_job {
  gb_dtype dtype;
  lanes l;
  bool backwards;
  const void *in;
  void *out;
} cumsum_job;

/* Steps from .. to-1 of 'width' lanes; element i of lane c is at first + i * inner + c. Floats add in f64. */
#define RUN(T, A)                                                                                            \
  for (size_t step = from; step < to; step++) {                                                              \
    const size_t i = first + (q->backwards ? q->l.n - 1 - step : step) * q->l.inner;                         \
    for (size_t c = 0; c < width; c++) {                                                                     \
      acc.A[c] += ((const T *)q->in)[i + c];                                                                 \
      ((T *)q->out)[i + c] = (T)acc.A[c];                                                                    \
    }                                                                                                        \
  }

static void sum_lanes (void *ud, gb_tasks *s, size_t task, int thread) {
  const cumsum_job *q = ud;
  (void)thread;
  const size_t groups = gb_blocks(q->l.inner, WIDTH), group = task % groups;
  const size_t first = task / groups * q->l.n * q->l.inner + group * WIDTH;
  const size_t width = gb_block_extent(q->l.inner, WIDTH, group);
  union {
    double f[WIDTH];
    uint64_t u[WIDTH];
  } acc;
  memset(&acc, 0, sizeof acc);
  for (size_t from = 0; from < q->l.n && gb_tasks_poll(s); from += LENGTH) {
    const size_t to = q->l.n - from < LENGTH ? q->l.n : from + LENGTH;
    if (q->dtype == GB_F64) {
      RUN(double, f)
    } else if (q->dtype == GB_F32) {
      RUN(float, f)
    } else if (q->dtype == GB_I64) {
      RUN(uint64_t, u)
    } else
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
  cumsum_job q = {.dtype = o->in_dtype[0],
                  .l = lanes_of(&o->in_shape[0], o->attr.i[0]),
                  .backwards = o->attr.i[1] != 0,
                  .in = c->in[0],
                  .out = c->out[0]};
  return gb_tasks_run(c->pool, q.l.outer * gb_blocks(q.l.inner, WIDTH), sum_lanes, &q, c->err);
}
