/* pass.h - what passes over points on the CPU share: blocks of points are tasks of the pool's threads, each with a reader and counts of
** its own. */
#ifndef GB_CPU_CLUSTER_PASS_H
#define GB_CPU_CLUSTER_PASS_H

#include <math.h>
#include <string.h>

#include "base/tasks.h"
#include "cpu/cluster/points.h"

/* What a thread of a pass counts. */
typedef struct count {
  size_t moved;
  double weight;
  bool bad;
  gb_two_sums spread;
  int64_t total[GB_CLUSTER_SEEDS];
} count;

/* A pass: its arguments, and where the parts of its scratch lie. */
typedef struct pass {
  const gb_points *x;
  size_t k, d, size;
  const gb_isa_kernels *isa;
  char *shift, *centres, *threads; /* shared: (d), (k, d + 1) at most; then rooms of the threads */
  size_t room;                     /* bytes of one */
  gb_quanta q;
  double scale;
  int32_t *label;
  int64_t *sums, *block;
  const double *centre;
  char *near;
  bool first;
  size_t task; /* points of one, where that is no block */
} pass;

static inline size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

static inline size_t room_bytes (gb_dtype compute, size_t d) {
  return rounded(sizeof(count)) + 2 * rounded(d * gb_dtype_size(compute)) +
         gb_point_reader_bytes(compute, d) + rounded(GB_TI * gb_dtype_size(compute));
}

static inline size_t workers (const gb_device *dev) { return (size_t)gb_pool_threads(dev->pool); }

static inline void put (const pass *p, void *at, size_t i, double v) {
  if (p->size == sizeof(double)) ((double *)at)[i] = v;
  else ((float *)at)[i] = (float)v;
}

static inline double get (const pass *p, const void *at, size_t i) {
  return p->size == sizeof(double) ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

/* totals.c; p->centre to p->centres */
gb_status gb_pack_centres (const gb_device *dev, pass *p, gb_error *err);
gb_status gb_gather_sums (gb_device *dev, size_t k, size_t d, const int64_t *sums, int64_t *out,
                          gb_error *err);
void gb_each_part (gb_device *dev, size_t n, double work, void (*part)(void *ud, size_t i), void *ud);

/* c NULL: centres and shift are not read. */
static inline pass open_pass (const gb_device *dev, const gb_points *x, const gb_centres *c, void *scratch) {
  const gb_dtype compute = gb_points_compute(x->dtype);
  const size_t size = gb_dtype_size(compute), k = c == NULL ? 0 : c->k;
  pass p = {.x = x,
            .k = k,
            .d = x->d,
            .size = size,
            .isa = compute == GB_F64 ? &gb_isa_active->f64 : &gb_isa_active->f32,
            .shift = scratch,
            .centres = (char *)scratch + rounded(x->d * size),
            .room = room_bytes(compute, x->d)};
  p.threads = p.centres + rounded(k * (x->d + 1) * size);
  for (size_t t = 0; t < x->d; t++) put(&p, p.shift, t, c == NULL ? 0 : c->shift[t]);
  for (size_t t = 0; t < workers(dev); t++) memset(p.threads + t * p.room, 0, sizeof(count));
  return p;
}

static inline count *count_of (const pass *p, size_t thread) {
  return (count *)(p->threads + thread * p->room);
}
static inline char *bounds_of (const pass *p, size_t thread) {
  return p->threads + thread * p->room + rounded(sizeof(count));
}
static inline char *most_of (const pass *p, size_t thread) {
  return bounds_of(p, thread) + rounded(p->d * p->size);
}
static inline gb_point_reader reader_of (const pass *p, size_t thread) {
  return gb_point_reader_in(p->x, p->k, p->shift, most_of(p, thread) + rounded(p->d * p->size));
}

/* (lanes) of T, for distances: behind the counts of the thread. */
static inline char *distances_of (const pass *p, size_t thread) {
  return p->threads + (thread + 1) * p->room - rounded(GB_TI * p->size);
}

static inline double weight_of (const gb_points *x, size_t i) { return x->weight == NULL ? 1 : x->weight[i]; }

static inline int64_t quanta_of (double v) { return (int64_t)llrint(v); }

/* -- blocks */

static inline size_t blocks (const gb_points *x) { return (x->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK; }

static inline size_t end_of (const gb_points *x, size_t block) {
  const size_t end = (block + 1) * GB_CLUSTER_BLOCK;
  return end < x->n ? end : x->n;
}

/* A reader of the points of one block, which no tile leaves. */
static inline gb_point_reader block_reader (const pass *p, size_t thread, size_t block) {
  gb_point_reader r = reader_of(p, thread);
  r.end = end_of(p->x, block);
  return r;
}

static inline int64_t potential (const pass *p, size_t i, double near) {
  return quanta_of(weight_of(p->x, i) * near * p->scale);
}

/* -- labels */

/* Those 'which' of rows go to the labels 'to' of all rows; the first row is number 'first' of the points. */
static inline void move_points (const pass *p, const gb_point_rows *rows, size_t first, size_t n,
                                const int32_t *which, const int32_t *to, int64_t *sums) {
  const gb_moves m = {.d = p->d,
                      .n = n,
                      .x = rows->at,
                      .shift = p->shift,
                      .step = rows->step,
                      .weight = p->x->weight == NULL ? NULL : p->x->weight + first,
                      .quanta = p->q,
                      .sums = sums,
                      .row = which,
                      .to = to,
                      .label = p->label + first};
  p->isa->move(&m);
}

static inline void move_point (const pass *p, const void *x, size_t row, int32_t to, int64_t *sums) {
  move_points(p, &(gb_point_rows){x, 0, 1}, row, 1, &(int32_t){0}, &to, sums);
}

#endif
