/* move.c - ops that move elements: joining, taking and replacing entries at positions, and conversion of
** dtypes. */
#include <string.h>

#include "cpu/linalg/opaque.h"

#define CHUNK ((size_t)1 << 20) /* bytes per copying task */
#define COUNT ((size_t)1 << 16) /* elements per converting task, entries per gathering task */

/* A tensor seen as (outer, n, inner bytes), n the extent of the axis. */
typedef struct slabs {
  size_t outer, n, bytes;
} slabs;

static slabs slabs_of (const gb_shape *s, int64_t axis, gb_dtype t) {
  slabs l = {1, s->dim[axis], gb_dtype_size(t)};
  for (int i = 0; i < axis; i++) l.outer *= s->dim[i];
  for (int i = (int)axis + 1; i < s->ndim; i++) l.bytes *= s->dim[i];
  return l;
}

/* Copies 'rows' runs of 'bytes', which lie 'bytes' apart in src and 'stride' apart in dst. */
typedef struct copy_job {
  size_t rows, bytes, stride, pieces; /* pieces: tasks a row, where a row is longer than a chunk */
  const char *src;
  char *dst;
} copy_job;

static void copy_piece (void *ud, gb_tasks *s, size_t task, int thread) {
  const copy_job *q = ud;
  (void)s, (void)thread;
  if (q->pieces > 1) {
    const size_t row = task / q->pieces, piece = task % q->pieces;
    memcpy(q->dst + row * q->stride + piece * CHUNK, q->src + row * q->bytes + piece * CHUNK,
           gb_block_extent(q->bytes, CHUNK, piece));
    return;
  }
  const size_t some = CHUNK / q->bytes;
  for (size_t row = task * some; row < task * some + gb_block_extent(q->rows, some, task); row++)
    memcpy(q->dst + row * q->stride, q->src + row * q->bytes, q->bytes);
}

static gb_status copy_rows (const gb_opaque_call *c, size_t rows, size_t bytes, size_t stride,
                            const void *src, void *dst) {
  if (rows == 0 || bytes == 0) return GB_OK;
  copy_job q = {rows, bytes, stride, gb_blocks(bytes, CHUNK), src, dst};
  const size_t count = q.pieces > 1 ? rows * q.pieces : gb_blocks(rows, CHUNK / bytes);
  return gb_tasks_run(c->pool, count, copy_piece, &q, c->err);
}

gb_status gb_cpu_cat (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  const slabs out = slabs_of(&o->out_shape[0], o->attr.i[0], o->out_dtype[0]);
  size_t at = 0;
  for (int i = 0; i < o->nin; i++) {
    const size_t n = o->extent != NULL ? o->extent[i] : o->in_shape[i].dim[o->attr.i[0]];
    GB_TRY(copy_rows(c, out.outer, n * out.bytes, out.n * out.bytes, c->in[i],
                     (char *)c->out[0] + at * out.bytes));
    at += n;
  }
  return GB_OK;
}

/* Whole numbers from 1, of i64 or i32. */
typedef struct positions {
  const void *at;
  gb_dtype dtype;
} positions;

static positions positions_of (const gb_opaque_call *c) { return (positions){c->in[1], c->o->in_dtype[1]}; }

static int64_t position_at (const positions *p, size_t i) {
  return p->dtype == GB_I32 ? ((const int32_t *)p->at)[i] : ((const int64_t *)p->at)[i];
}

static gb_status check_positions (const gb_opaque_call *c, size_t n) {
  const positions p = positions_of(c);
  const size_t count = c->o->in_shape[1].dim[0];
  for (size_t i = 0; i < count; i++) {
    const int64_t at = position_at(&p, i);
    if (at < 1 || (uint64_t)at > n)
      return gb_fail(c->err, GB_EINDEX, "%s: position %lld (entry %zu) is outside 1 .. %zu",
                     gb_ops[c->o->op].name, (long long)at, i + 1, n);
  }
  return GB_OK;
}

/* Entries at positions of an axis, and the operation on them. */
typedef struct at_job {
  gb_dtype dtype;
  slabs x;      /* the tensor that positions refer to */
  size_t count; /* positions */
  positions position;
  const char *src;
  char *dst;
} at_job;

/* Counted from 0. */
static size_t entry_at (const at_job *q, size_t i) { return (size_t)position_at(&q->position, i) - 1; }

static void copy_entry (char *to, const char *from, size_t bytes) {
  if (bytes == 8) memcpy(to, from, 8); /* constant sizes compile to a move */
  else if (bytes == 4) memcpy(to, from, 4);
  else memcpy(to, from, bytes);
}

static void take_entries (void *ud, gb_tasks *s, size_t task, int thread) {
  const at_job *q = ud;
  (void)thread;
  const size_t groups = gb_blocks(q->count, COUNT), outer = task / groups, group = task % groups;
  for (size_t i = group * COUNT; i < group * COUNT + gb_block_extent(q->count, COUNT, group); i++) {
    if (i % 64 == 0 && !gb_tasks_poll(s)) return;
    copy_entry(q->dst + (outer * q->count + i) * q->x.bytes,
               q->src + (outer * q->x.n + entry_at(q, i)) * q->x.bytes, q->x.bytes);
  }
}

gb_status gb_cpu_index (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  at_job q = {.x = slabs_of(&o->in_shape[0], o->attr.i[0], o->in_dtype[0]),
              .count = o->in_shape[1].dim[0],
              .position = positions_of(c),
              .src = c->in[0],
              .dst = c->out[0]};
  GB_TRY(check_positions(c, q.x.n));
  return gb_tasks_run(c->pool, q.x.outer * gb_blocks(q.count, COUNT), take_entries, &q, c->err);
}

/* In ascending order, so the last of equal positions remains. */
static void put_entries (void *ud, gb_tasks *s, size_t task, int thread) {
  const at_job *q = ud;
  (void)thread;
  for (size_t i = 0; i < q->count; i++) {
    if (i % 64 == 0 && !gb_tasks_poll(s)) return;
    copy_entry(q->dst + (task * q->x.n + entry_at(q, i)) * q->x.bytes,
               q->src + (task * q->count + i) * q->x.bytes, q->x.bytes);
  }
}

static void add_entry (gb_dtype t, char *to, const char *from, size_t bytes) {
  const size_t n = bytes / gb_dtype_size(t);
  for (size_t i = 0; i < n; i++) switch (t) {
      case GB_F64: ((double *)(void *)to)[i] += ((const double *)(const void *)from)[i]; break;
      case GB_F32: ((float *)(void *)to)[i] += ((const float *)(const void *)from)[i]; break;
      case GB_I64: ((uint64_t *)(void *)to)[i] += ((const uint64_t *)(const void *)from)[i]; break;
      default: gb_element_set(to, i, t, gb_element_get(to, i, t) + gb_element_get(from, i, t)); break;
    }
}

static void add_entries (void *ud, gb_tasks *s, size_t task, int thread) {
  const at_job *q = ud;
  (void)thread;
  for (size_t i = 0; i < q->count; i++) {
    if (i % 64 == 0 && !gb_tasks_poll(s)) return;
    add_entry(q->dtype, q->dst + (task * q->x.n + entry_at(q, i)) * q->x.bytes,
              q->src + (task * q->count + i) * q->x.bytes, q->x.bytes);
  }
}

/* Of a = to[i] and b = from[i] the larger or the smaller; a of equals, and b where it is a NaN. */
#define KEEP_BEST(T)                                                                                         \
  {                                                                                                          \
    T *const a = (T *)(void *)to;                                                                            \
    const T *const b = (const T *)(const void *)from;                                                        \
    if (largest)                                                                                             \
      for (size_t i = 0; i < n; i++) a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];                       \
    else                                                                                                     \
      for (size_t i = 0; i < n; i++) a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];                       \
  }                                                                                                          \
  break

static void join_best (gb_dtype t, char *to, const char *from, size_t bytes, bool largest) {
  const size_t n = bytes / gb_dtype_size(t);
  switch (t) {
    case GB_F64: KEEP_BEST(double);
    case GB_F32: KEEP_BEST(float);
    case GB_I64: KEEP_BEST(int64_t);
    default:
      for (size_t i = 0, size = gb_dtype_size(t); i < n; i++) {
        const double a = gb_element_get(to, i, t), b = gb_element_get(from, i, t);
        if ((largest ? b > a : b < a) || b != b) memcpy(to + i * size, from + i * size, size);
      }
  }
}

static void join_entries (const at_job *q, gb_tasks *s, size_t task, bool largest) {
  for (size_t i = 0; i < q->count; i++) {
    if (i % 64 == 0 && !gb_tasks_poll(s)) return;
    join_best(q->dtype, q->dst + (task * q->x.n + entry_at(q, i)) * q->x.bytes,
              q->src + (task * q->count + i) * q->x.bytes, q->x.bytes, largest);
  }
}

static void keep_largest (void *ud, gb_tasks *s, size_t task, int thread) {
  (void)thread;
  join_entries(ud, s, task, true);
}

static void keep_smallest (void *ud, gb_tasks *s, size_t task, int thread) {
  (void)thread;
  join_entries(ud, s, task, false);
}

/* A copy of x on which 'job' works, one task for each outer index. */
static gb_status change_entries (const gb_opaque_call *c, gb_task *job) {
  const gb_opaque *o = c->o;
  at_job q = {.dtype = o->in_dtype[0],
              .x = slabs_of(&o->in_shape[0], o->attr.i[0], o->in_dtype[0]),
              .count = o->in_shape[1].dim[0],
              .position = positions_of(c),
              .src = c->in[2],
              .dst = c->out[0]};
  GB_TRY(check_positions(c, q.x.n));
  if (!o->continues)
    GB_TRY(gb_copy_bytes(c->pool, q.x.outer * q.x.n * q.x.bytes, c->in[0], c->out[0], c->err));
  return gb_tasks_run(c->pool, q.x.outer, job, &q, c->err);
}

gb_status gb_cpu_put (const gb_opaque_call *c) { return change_entries(c, put_entries); }
gb_status gb_cpu_index_add (const gb_opaque_call *c) { return change_entries(c, add_entries); }
gb_status gb_cpu_index_max (const gb_opaque_call *c) { return change_entries(c, keep_largest); }
gb_status gb_cpu_index_min (const gb_opaque_call *c) { return change_entries(c, keep_smallest); }

typedef struct cast_job {
  gb_dtype from, to;
  size_t count;
  const void *src;
  void *dst;
} cast_job;

static void cast_some (void *ud, gb_tasks *s, size_t task, int thread) {
  const cast_job *q = ud;
  (void)s, (void)thread;
  const size_t first = task * COUNT, last = first + gb_block_extent(q->count, COUNT, task);
  if (q->from == GB_F32 && q->to == GB_F64)
    for (size_t i = first; i < last; i++) ((double *)q->dst)[i] = (double)((const float *)q->src)[i];
  else if (q->from == GB_F64 && q->to == GB_F32)
    for (size_t i = first; i < last; i++) ((float *)q->dst)[i] = (float)((const double *)q->src)[i];
  else if (q->from == GB_I64 && q->to == GB_F32) /* not through f64, which would round twice */
    for (size_t i = first; i < last; i++) ((float *)q->dst)[i] = (float)((const int64_t *)q->src)[i];
  else
    for (size_t i = first; i < last; i++)
      gb_element_set(q->dst, i, q->to, gb_element_get(q->src, i, q->from));
}

gb_status gb_cpu_cast (const gb_opaque_call *c) {
  const gb_opaque *o = c->o;
  cast_job q = {o->in_dtype[0], o->out_dtype[0], gb_shape_numel(&o->in_shape[0]), c->in[0], c->out[0]};
  if (q.from == q.to)
    return gb_copy_bytes(c->pool, q.count * gb_dtype_size(q.to), c->in[0], c->out[0], c->err);
  return gb_tasks_run(c->pool, gb_blocks(q.count, COUNT), cast_some, &q, c->err);
}
