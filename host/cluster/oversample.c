/* oversample.c - k-means||: rounds in which each point is drawn by itself, in proportion to its potential, ROUNDS of them, about
** OVERSAMPLING k points in each and no more; then k-means++ over what was drawn, each candidate with the weight of the points that are
** nearest to it. Of more points the least lots count. Passes over the points: one of 2 k centres a round, or two. A point's lot depends on
** the seed, the round and the point's number alone. Source: Bahmani, Moseley, Vattani, Kumar & Vassilvitskii (2012), Scalable k-means++.
**
** The candidates lie at home: where the first device is another one, its home makes the passes over them.
**
** Ranks exchange the total potential (place), lots (merge), rows of candidates (exchange) and their weights (sum); all have all candidates
** and choose alike. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/kmeans_fit.h"

enum { ROUNDS = 5, OVERSAMPLING = 2, FIRST_STREAM = 16 }; /* streams of the seed: FIRST_STREAM + round */

size_t gb_kmeans_drawn_at_most (const gb_kmeans_options *o) { return OVERSAMPLING * o->k; }

size_t gb_kmeans_lots (const gb_kmeans_options *o) {
  return o->start == GB_KMEANS_PARALLEL ? gb_kmeans_drawn_at_most(o) : o->k;
}

/* -- memory */

static void *take (char *room, size_t *at, size_t bytes) {
  void *from = room == NULL ? NULL : room + *at;
  *at += (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
  return from;
}

static size_t lay_out (const gb_kmeans_options *o, const gb_kmeans_piece *first, char *room,
                       gb_kmeans_candidates *c) {
  const gb_dtype compute = gb_points_compute(first->x.dtype);
  const size_t most = 1 + ROUNDS * gb_kmeans_drawn_at_most(o), size = gb_dtype_size(compute), d = first->x.d;
  const gb_device *home = gb_kmeans_home(first->device);
  size_t bytes = 0;
  c->most = most;
  c->row = take(room, &bytes, most * d * size);
  c->weight = take(room, &bytes, most * sizeof(double));
  c->tally = take(room, &bytes, (most + 1) * sizeof(int64_t));
  c->near = take(room, &bytes, most * size);
  c->block = take(room, &bytes, (most + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK * sizeof(int64_t));
  c->no_shift = take(room, &bytes, d * sizeof(double));
  if (home != first->device) c->scratch = take(room, &bytes, gb_kmeans_scratch_bytes(o, home, compute, d));
  return bytes;
}

size_t gb_kmeans_candidates_bytes (const gb_kmeans_options *o, const gb_kmeans_piece *first) {
  gb_kmeans_candidates c = {0};
  return o->start == GB_KMEANS_PARALLEL ? lay_out(o, first, NULL, &c) : 0;
}

gb_kmeans_candidates gb_kmeans_candidates_in (const gb_kmeans_options *o, const gb_kmeans_piece *first,
                                              void *room) {
  gb_kmeans_candidates c = {0};
  if (o->start == GB_KMEANS_PARALLEL) lay_out(o, first, room, &c);
  return c;
}

/* -- candidates */

typedef struct sampling {
  gb_kmeans_run *r;
  gb_kmeans_candidates *c;
  double scale;
  int64_t total; /* potential of the points of all ranks */
} sampling;

static size_t blocks_of (const gb_points *x) { return (x->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK; }

/* n rows of r->next become candidates. */
static gb_status add_candidates (sampling *s, size_t n, gb_error *err) {
  gb_kmeans_run *r = s->r;
  gb_kmeans_candidates *c = s->c;
  const gb_centres centres = gb_kmeans_centres(r, r->next, n);
  int64_t own = 0, before;
  gb_status st = GB_OK;
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = GB_KMEANS_PASS(p,
                        gb_kmeans_ops(p)->nearer(p->device, &x, &centres, s->scale, (int32_t)c->have,
                                                 c->have == 0, p->near, p->label, p->block, p->scratch, err));
    for (size_t b = 0; st == GB_OK && b < blocks_of(p->x); b++) own += p->block[b];
  }
  for (size_t i = 0; i < n * r->d; i++) {
    if (r->compute == GB_F64) ((double *)c->row)[c->have * r->d + i] = r->next[i];
    else ((float *)c->row)[c->have * r->d + i] = (float)r->next[i];
  }
  c->have += n;
  return gb_comm_place(r->o->comm, own, &before, &s->total, st, err);
}

/* -- rounds */

/* The least lots so far. */
typedef struct least_lots {
  size_t most, have;
  gb_far_point *heap;
} least_lots;

static void keep_lot (void *ud, gb_far_point p) {
  least_lots *l = ud;
  gb_kmeans_keep_lot(p, l->most, l->heap, &l->have);
}

static gb_status draw_own (const sampling *s, size_t round, size_t most, size_t *have, gb_error *err) {
  const gb_kmeans_run *r = s->r;
  const double share = (double)most / (double)s->total;
  least_lots l = {.most = most, .heap = r->far};
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    const gb_stream stream = {r->o->seed, FIRST_STREAM + round, p->first};
    GB_TRY(gb_device_checked(
        p->device,
        gb_kmeans_ops(p)->lots(p->device, p->x, s->scale, p->near, &stream, share, keep_lot, &l, err), err));
  }
  *have = l.have;
  return GB_OK;
}

static int by_row (const void *a, const void *b) {
  const size_t i = ((const gb_far_point *)a)->row, j = ((const gb_far_point *)b)->row;
  return (i > j) - (i < j);
}

/* Those of the n points, by row, that lie in a piece, as rows of r->next; the others stay. */
static gb_status read_piece (const gb_kmeans_run *r, const gb_kmeans_part *p, const gb_points *x,
                             const gb_far_point *point, size_t n, gb_error *err) {
  for (size_t j = 0; j < n; j++) {
    if (point[j].row < p->first || point[j].row - p->first >= x->n) continue;
    GB_TRY(gb_kmeans_ops(p)->read(p->device, x, r->shift, point[j].row - p->first, r->next + j * r->d, err));
  }
  return GB_OK;
}

static gb_status read_points (const gb_kmeans_run *r, const gb_far_point *point, size_t n, gb_error *err) {
  memset(r->next, 0, n * r->d * sizeof *r->next);
  for (size_t i = 0, j = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    while (j < n && point[j].row < p->first) j++;
    if (j < n && point[j].row - p->first < p->x->n)
      GB_TRY(GB_KMEANS_PASS(p, read_piece(r, p, &x, point, n, err)));
  }
  return GB_OK;
}

/* The points of a round, at most k at a time. */
static gb_status draw_round (sampling *s, size_t round, gb_error *err) {
  gb_kmeans_run *r = s->r;
  const size_t most = gb_kmeans_drawn_at_most(r->o);
  size_t have;
  GB_TRY(gb_kmeans_merge(r, most, gb_kmeans_keep_lot, &have, draw_own(s, round, most, &have, err), err));
  qsort(r->far, have, sizeof *r->far, by_row);
  for (size_t i = 0, n; i < have; i += n) {
    n = have - i < r->k ? have - i : r->k;
    GB_TRY(gb_kmeans_exchange(r, n, r->next, read_points(r, r->far + i, n, err), err));
    GB_TRY(add_candidates(s, n, err));
  }
  return GB_OK;
}

/* -- the choice of k */

/* Weighs each candidate by the points nearest to it. One that equals an earlier candidate has no nearest points and is removed. */
static gb_status weigh (sampling *s, gb_error *err) {
  gb_kmeans_run *r = s->r;
  gb_kmeans_candidates *c = s->c;
  gb_status st = GB_OK;
  memset(c->tally, 0, c->have * sizeof *c->tally);
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = gb_device_checked(
        p->device, gb_kmeans_ops(p)->tally(p->device, p->x, p->label, r->q.weight, c->have, c->tally, err),
        err);
  }
  GB_TRY(gb_comm_sum(r->o->comm, c->tally, c->have, st, err));
  const size_t bytes = r->d * gb_dtype_size(r->compute), all = c->have;
  c->have = 0;
  for (size_t j = 0; j < all; j++) {
    if (c->tally[j] == 0) continue;
    c->weight[c->have] = (double)c->tally[j] / r->q.weight;
    memmove((char *)c->row + c->have++ * bytes, (char *)c->row + j * bytes, bytes);
  }
  return GB_OK;
}

/* k-means++ over the candidates as points, by every rank for itself. */
static gb_status choose (const sampling *s, gb_error *err) {
  gb_kmeans_run *r = s->r;
  const gb_kmeans_candidates *c = s->c;
  gb_kmeans_options o = *r->o;
  o.comm = NULL;
  gb_kmeans_piece piece = {.device = gb_kmeans_home(r->part->device), .weight = c->weight};
  piece.x = (gb_points){.at = c->row,
                        .dtype = r->compute,
                        .row = (ptrdiff_t)r->d,
                        .column = 1,
                        .n = c->have,
                        .d = r->d,
                        .weight = c->weight};
  gb_kmeans_part part = {.device = piece.device,
                         .piece = &piece,
                         .x = &piece.x,
                         .weight = c->weight,
                         .scratch = c->scratch == NULL ? r->part->scratch : c->scratch,
                         .near = c->near,
                         .block = c->block};
  gb_kmeans_run over = *r;
  over.o = &o;
  over.part = &part, over.nparts = 1;
  over.n = over.mine = c->have, over.first = 0;
  over.shift = c->no_shift;
  over.heaviest = 0;
  for (size_t t = 0; t < r->d; t++) c->no_shift[t] = 0;
  for (size_t j = 0; j < c->have; j++) over.heaviest = fmax(over.heaviest, c->weight[j]);
  return gb_kmeans_plus_plus(&over, 1, err);
}

/* Too few to choose from: k-means++ adds points to them. */
static gb_status take_all (const sampling *s, gb_error *err) {
  gb_kmeans_run *r = s->r;
  for (size_t i = 0; i < s->c->have * r->d; i++)
    r->centre[i] = r->compute == GB_F64 ? ((double *)s->c->row)[i] : (double)((float *)s->c->row)[i];
  return gb_kmeans_plus_plus_from(r, s->c->have, err);
}

static gb_status forget_labels (const gb_kmeans_run *r, gb_error *err) {
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    GB_TRY(gb_memory_fill(&p->device->memory, p->label, 0xff, p->x->n * sizeof(int32_t), err));
  }
  return GB_OK;
}

gb_status gb_kmeans_oversample (gb_kmeans_run *r, gb_error *err) {
  sampling s = {
      .r = r, .c = &r->many, .scale = gb_kmeans_scale((double)r->n, r->heaviest * gb_kmeans_diameter(r))};
  GB_TRY(gb_kmeans_draw_first(r, r->next, err));
  GB_TRY(add_candidates(&s, 1, err));
  for (size_t round = 0; round < ROUNDS && s.total > 0; round++) GB_TRY(draw_round(&s, round, err));
  GB_TRY(weigh(&s, err));
  if (s.c->have > r->k) GB_TRY(choose(&s, err));
  else GB_TRY(take_all(&s, err));
  return gb_comm_agree(r->o->comm, forget_labels(r, err), err);
}
