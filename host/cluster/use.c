/* use.c - centres that are known: labels, inertia and sums of points, some thousand points at a time.
**
** Two walks over the points: the first finds what cannot be used and how far coordinates reach, from which the quanta of sums
** follow; the second assigns. So bits depend on no piece and no thread. */
#include <math.h>
#include <string.h>

#include "cluster/kmeans_fit.h"

enum { AT_ONCE = 64 * GB_CLUSTER_BLOCK };

/* Arrays of a walk, in one block. */
typedef struct walk {
  const gb_kmeans_model *m;
  const gb_kmeans_use *use;
  size_t d, first, n; /* points of the ranks before this one, and of all */
  gb_device *device;
  gb_dtype compute;
  bool unit;
  double *least, *most, *centre; /* (d), (d) and room for two, (k, d): numbers of T less the shift */
  double heaviest, square;       /* weight; of the longest distance from a point to a centre */
  int32_t *label;                /* (AT_ONCE) */
  int64_t *sums, *sum;           /* (workers, k, d + 1), (k, d + 1) and room for one; NULL: not wanted */
  void *scratch;
  gb_quanta q;
  double scale;
  gb_two_sums spread;
} walk;

typedef struct layout {
  size_t least, centre, label, sums, sum, scratch, bytes;
} layout;

static size_t take (size_t *at, size_t bytes) {
  const size_t from = *at;
  *at += (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
  return from;
}

static layout lay_out (const gb_kmeans_model *m, bool sums, size_t npieces, const gb_kmeans_piece *piece) {
  const gb_cluster_ops *ops = piece->device->ops->cluster;
  const size_t d = piece->x.d, number = sizeof(double), sum = m->k * (d + 1) * sizeof(int64_t);
  layout l = {0};
  size_t most = 0;
  for (size_t i = 0; i < npieces; i++) most = piece[i].x.n > most ? piece[i].x.n : most;
  l.least = take(&l.bytes, 2 * (d + 1) * number);
  l.centre = take(&l.bytes, m->k * d * number);
  l.label = take(&l.bytes, (most < AT_ONCE ? most : AT_ONCE) * sizeof(int32_t));
  l.sums = take(&l.bytes, sums ? ops->workers(piece->device) * sum : 0);
  l.sum = take(&l.bytes, sums ? sum + sizeof(int64_t) : 0);
  l.scratch = take(&l.bytes, ops->scratch(piece->device, gb_points_compute(piece->x.dtype), m->k, d));
  return l;
}

size_t gb_kmeans_use_bytes (const gb_kmeans_model *m, bool sums, size_t npieces,
                            const gb_kmeans_piece *piece) {
  return lay_out(m, sums, npieces, piece).bytes;
}

static double rounded (const walk *w, double v) { return w->compute == GB_F64 ? v : (double)(float)v; }

/* What this rank's points are between. */
static gb_status survey_own (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  const gb_cluster_ops *ops = w->device->ops->cluster;
  size_t first = w->first;
  for (size_t t = 0; t < w->d; t++) w->least[t] = INFINITY, w->most[t] = -INFINITY;
  for (size_t i = 0; i < npieces; first += piece[i++].x.n) {
    gb_bad_point bad = {SIZE_MAX, 0};
    GB_TRY(GB_KMEANS_OPENED(
        &piece[i], ops->range(w->device, &x, w->least, w->most, &w->heaviest, &bad, w->scratch, err)));
    if (bad.row != SIZE_MAX) return gb_kmeans_refuse(&bad, first, w->d, err);
  }
  return GB_OK;
}

/* What the points and the centres are between, and what the quanta may be. */
static gb_status survey (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  double reach = 0;
  bool weighted = false;
  GB_TRY(gb_kmeans_reach(w->use->comm, w->d, w->least, &w->heaviest, &weighted,
                         survey_own(w, npieces, piece, err), err));
  for (size_t t = 0; t < w->d; t++) {
    double least = w->least[t] - w->m->shift[t], most = w->most[t] - w->m->shift[t];
    reach = fmax(reach, fmax(most, -least));
    for (size_t j = 0; j < w->m->k; j++) {
      least = fmin(least, w->centre[j * w->d + t]);
      most = fmax(most, w->centre[j * w->d + t]);
    }
    w->square += (most - least) * (most - least);
  }
  w->q.point = gb_kmeans_scale((double)w->n, w->heaviest * reach * 1.01);
  w->q.weight = gb_kmeans_scale((double)w->n, w->heaviest);
  w->scale = gb_kmeans_scale((double)w->n, 4 * w->heaviest * w->square);
  return GB_OK;
}

/* Some points, those from 'first' of all on. */
static gb_status assign_some (walk *w, const gb_points *x, size_t first, gb_error *err) {
  const gb_cluster_ops *ops = w->device->ops->cluster;
  const gb_centres c = {.k = w->m->k, .shift = w->m->shift, .centre = w->centre};
  size_t moved = 0;
  memset(w->label, 0xff, x->n * sizeof *w->label);
  GB_TRY(ops->assign(w->device, x, &c, w->q, w->label, w->sums, &moved, w->scratch, err));
  if (w->use->inertia != NULL)
    GB_TRY(ops->spread(w->device, x, &c, w->label, w->scale, &w->spread, w->scratch, err));
  for (size_t i = 0; w->use->label != NULL && i < x->n; i++) w->use->label[first + i] = w->label[i] + 1;
  if (w->use->kept != NULL) memcpy(w->use->kept + first, w->label, x->n * sizeof *w->label);
  return GB_OK;
}

static gb_status assign_piece (walk *w, gb_points x, size_t first, gb_error *err) {
  const size_t n = x.n;
  for (size_t i = 0; i < n; i += AT_ONCE) {
    x.n = n - i < AT_ONCE ? n - i : AT_ONCE;
    GB_TRY(assign_some(w, &x, first + i, err));
    x.at = gb_kmeans_row(&x, AT_ONCE);
    if (x.weight != NULL) x.weight += AT_ONCE;
  }
  return GB_OK;
}

static gb_status assign_all (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  size_t first = 0;
  for (size_t i = 0; i < npieces; first += piece[i++].x.n)
    GB_TRY(GB_KMEANS_OPENED(&piece[i], assign_piece(w, x, first, err)));
  return GB_OK;
}

static gb_status publish (walk *w, gb_status st, gb_error *err) {
  const size_t width = w->d + 1;
  GB_TRY(gb_kmeans_total_spread(w->use->comm, &w->spread, st, err));
  if (w->use->inertia != NULL) {
    const long double sum = (long double)w->spread.high + (long double)w->spread.low * 0x1p-30L;
    *w->use->inertia = (double)(sum / (long double)w->scale);
  }
  if (w->sum == NULL) return GB_OK;
  memset(w->sum, 0, w->m->k * width * sizeof *w->sum);
  st = w->device->ops->cluster->gather(w->device, w->m->k, w->d, w->sums, w->sum, err);
  GB_TRY(gb_comm_sum(w->use->comm, w->sum, w->m->k * width, st, err));
  for (size_t i = 0; i < w->m->k * width; i++)
    w->use->sum[i] = (double)w->sum[i] / (i % width == w->d ? w->q.weight : w->q.point);
  return GB_OK;
}

static void furnish (walk *w, const layout *l, char *at) {
  const bool sums = w->use->sum != NULL;
  w->least = (double *)(void *)(at + l->least);
  w->most = w->least + w->d;
  w->centre = (double *)(void *)(at + l->centre);
  w->label = (int32_t *)(void *)(at + l->label);
  w->sums = sums ? (int64_t *)(void *)(at + l->sums) : NULL;
  w->sum = sums ? (int64_t *)(void *)(at + l->sum) : NULL;
  w->scratch = at + l->scratch;
  if (sums) memset(w->sums, 0, l->sum - l->sums);
  for (size_t i = 0; i < w->m->k * w->d; i++)
    w->centre[i] = rounded(w, w->m->centre[i] - w->m->shift[i % w->d]);
}

/* The ranks have the same centres, and know how many points there are. */
static gb_status meet (walk *w, int64_t mine, gb_status st, gb_error *err) {
  gb_comm *c = w->use->comm;
  const gb_kmeans_problem problem = {.d = w->d, .compute = w->compute, .k = w->m->k, .unit = w->unit};
  int64_t before, total;
  GB_TRY(gb_comm_agree(c, st, err));
  GB_TRY(gb_comm_place(c, mine, &before, &total, gb_kmeans_compare(c, &problem, err), err));
  w->first = (size_t)before, w->n = (size_t)total;
  return GB_OK;
}

gb_status gb_kmeans_apply (const gb_kmeans_model *m, size_t npieces, const gb_kmeans_piece *piece,
                           const gb_kmeans_use *use, gb_error *err) {
  const layout l = lay_out(m, use->sum != NULL, npieces, piece);
  walk w = {.m = m,
            .use = use,
            .d = piece->x.d,
            .device = piece->device,
            .compute = gb_points_compute(piece->x.dtype),
            .unit = piece->x.unit};
  gb_block room = {0};
  int64_t mine = 0;
  for (size_t i = 0; i < npieces; i++) mine += (int64_t)piece[i].x.n;
  gb_status st = gb_kmeans_check_unit(npieces, piece, err);
  if (st == GB_OK)
    st = gb_ledger_alloc(&w.device->ledger, GB_MEM_WORKSPACE, l.bytes, "", "k-means", &room, err);
  if (st == GB_OK) furnish(&w, &l, room.data);
  st = meet(&w, mine, st, err);
  if (st == GB_OK) st = survey(&w, npieces, piece, err);
  if (st == GB_OK) st = publish(&w, assign_all(&w, npieces, piece, err), err);
  gb_ledger_free(&w.device->ledger, &room);
  return st;
}
