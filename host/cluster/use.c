/* use.c - centres that are known: labels, inertia and sums of points, some thousand points at a time.
**
** Two walks over the points: the first finds what cannot be used and how far coordinates reach, from which the quanta of sums
** follow; the second assigns. So bits depend on no piece and no thread. */
#include <math.h>
#include <string.h>

#include "cluster/kmeans_fit.h"

enum { AT_ONCE = 64 * GB_CLUSTER_BLOCK };

/* What one device holds for a walk, in one block. */
typedef struct room {
  gb_device *device;
  gb_block held;
  int32_t *label; /* (AT_ONCE) */
  int64_t *sums;  /* (workers, k, d + 1); NULL: not wanted */
  void *scratch;
} room;

/* Arrays of a walk, in one block on the host. */
typedef struct walk {
  const gb_kmeans_model *m;
  const gb_kmeans_use *use;
  size_t d, first, n; /* points of the ranks before this one, and of all */
  gb_dtype compute;
  gb_block held;
  bool unit;
  double *least, *most, *centre; /* (d), (d) and room for two, (k, d): numbers of T less the shift */
  double heaviest, square;       /* weight; of the longest distance from a point to a centre */
  int32_t *label;                /* (AT_ONCE), of a device whose memory the host does not read */
  int64_t *sum;                  /* (k, d + 1) and room for one; NULL: not wanted */
  size_t nrooms;
  room room[GB_DEVICES];
  gb_quanta q;
  double scale;
  gb_two_sums spread;
  bool again; /* for the inertia alone */
} walk;

static size_t take (size_t *at, size_t bytes) {
  const size_t from = *at;
  *at += (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
  return from;
}

static size_t label_bytes (size_t npieces, const gb_kmeans_piece *piece) {
  size_t most = 0;
  for (size_t i = 0; i < npieces; i++) most = piece[i].x.n > most ? piece[i].x.n : most;
  return (most < AT_ONCE ? most : AT_ONCE) * sizeof(int32_t);
}

typedef struct room_layout {
  size_t label, sums, scratch, bytes;
} room_layout;

static room_layout lay_out_room (const gb_kmeans_model *m, bool sums, const gb_device *dev, gb_dtype compute,
                                 size_t d, size_t labels) {
  const gb_cluster_ops *ops = dev->ops->cluster;
  room_layout l = {0};
  l.label = take(&l.bytes, labels);
  l.sums = take(&l.bytes, sums ? ops->workers(dev) * m->k * (d + 1) * sizeof(int64_t) : 0);
  l.scratch = take(&l.bytes, ops->scratch(dev, compute, m->k, d));
  return l;
}

typedef struct layout {
  size_t least, centre, label, sum, bytes;
} layout;

static layout lay_out (const gb_kmeans_model *m, bool sums, size_t npieces, const gb_kmeans_piece *piece) {
  const size_t d = piece->x.d, number = sizeof(double);
  layout l = {0};
  bool far = false;
  for (size_t i = 0; i < npieces; i++) far |= !gb_memory_is_host(&piece[i].device->memory);
  l.least = take(&l.bytes, 2 * (d + 1) * number);
  l.centre = take(&l.bytes, m->k * d * number);
  l.label = take(&l.bytes, far ? label_bytes(npieces, piece) : 0);
  l.sum = take(&l.bytes, sums ? (m->k * (d + 1) + 1) * sizeof(int64_t) : 0);
  return l;
}

size_t gb_kmeans_use_room (const gb_kmeans_model *m, bool sums, const gb_device *dev, gb_dtype compute,
                           size_t d, size_t n) {
  const size_t labels = (n < AT_ONCE ? n : AT_ONCE) * sizeof(int32_t);
  return lay_out_room(m, sums, dev, compute, d, labels).bytes;
}

size_t gb_kmeans_use_bytes (const gb_kmeans_model *m, bool sums, size_t npieces,
                            const gb_kmeans_piece *piece) {
  const gb_points *x = &piece->x;
  return lay_out(m, sums, npieces, piece).bytes +
         lay_out_room(m, sums, piece->device, gb_points_compute(x->dtype), x->d, label_bytes(npieces, piece))
             .bytes;
}

static double rounded (const walk *w, double v) { return w->compute == GB_F64 ? v : (double)(float)v; }

static room *room_of (walk *w, const gb_device *dev) {
  size_t i = 0;
  while (i < w->nrooms && w->room[i].device != dev) i++;
  return &w->room[i];
}

/* What this rank's points are between. */
static gb_status survey_own (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  size_t first = w->first;
  for (size_t t = 0; t < w->d; t++) w->least[t] = INFINITY, w->most[t] = -INFINITY;
  for (size_t i = 0; i < npieces; first += piece[i++].x.n) {
    gb_bad_point bad = {SIZE_MAX, 0};
    gb_device *dev = piece[i].device;
    GB_TRY(GB_KMEANS_OPENED(&piece[i], dev->ops->cluster->range(dev, &x, w->least, w->most, &w->heaviest,
                                                                &bad, room_of(w, dev)->scratch, err)));
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
  GB_TRY(gb_kmeans_check_range(w->compute, w->d, reach, w->heaviest, err));
  w->q.point = gb_kmeans_scale((double)w->n, w->heaviest * reach * 1.01);
  w->q.weight = gb_kmeans_scale((double)w->n, w->heaviest);
  w->scale = gb_kmeans_scale((double)w->n, 4 * w->heaviest * w->square);
  return GB_OK;
}

/* The labels of a room where the host reads them. */
static gb_status labels_of (walk *w, const room *r, size_t n, const int32_t **label, gb_error *err) {
  const bool near = gb_memory_is_host(&r->device->memory);
  *label = near ? r->label : w->label;
  return near ? GB_OK : gb_memory_download(&r->device->memory, w->label, r->label, n * sizeof *r->label, err);
}

/* Some points, those from 'first' of all on. */
static gb_status assign_some (walk *w, const room *r, const gb_points *x, size_t first, gb_error *err) {
  const gb_cluster_ops *ops = r->device->ops->cluster;
  const gb_centres c = {.k = w->m->k, .shift = w->m->shift, .centre = w->centre};
  const int32_t *label;
  size_t moved = 0;
  GB_TRY(gb_memory_fill(&r->device->memory, r->label, 0xff, x->n * sizeof *r->label, err));
  GB_TRY(ops->assign(r->device, x, &c, w->q, r->label, w->again ? NULL : r->sums, &moved, r->scratch, err));
  if (w->use->inertia != NULL)
    GB_TRY(ops->spread(r->device, x, &c, r->label, w->scale, &w->spread, r->scratch, err));
  if (w->again || (w->use->label == NULL && w->use->kept == NULL)) return GB_OK;
  GB_TRY(labels_of(w, r, x->n, &label, err));
  for (size_t i = 0; w->use->label != NULL && i < x->n; i++) w->use->label[first + i] = label[i] + 1;
  if (w->use->kept != NULL) memcpy(w->use->kept + first, label, x->n * sizeof *label);
  return GB_OK;
}

static gb_status assign_piece (walk *w, const room *r, gb_points x, size_t first, gb_error *err) {
  const size_t n = x.n;
  for (size_t i = 0; i < n; i += AT_ONCE) {
    x.n = n - i < AT_ONCE ? n - i : AT_ONCE;
    GB_TRY(assign_some(w, r, &x, first + i, err));
    x.at = gb_kmeans_row(&x, AT_ONCE);
    if (x.weight != NULL) x.weight += AT_ONCE;
  }
  return GB_OK;
}

static gb_status assign_all (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  size_t first = 0;
  for (size_t i = 0; i < npieces; first += piece[i++].x.n)
    GB_TRY(GB_KMEANS_OPENED(&piece[i], assign_piece(w, room_of(w, piece[i].device), x, first, err)));
  return GB_OK;
}

static gb_status walk_over (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  w->spread = (gb_two_sums){0};
  return gb_kmeans_total_spread(w->use->comm, &w->spread, assign_all(w, npieces, piece, err), err);
}

static gb_status publish (walk *w, gb_error *err) {
  const size_t width = w->d + 1;
  gb_status st = GB_OK;
  if (w->use->inertia != NULL) *w->use->inertia = gb_kmeans_sum_of(&w->spread, w->scale);
  if (w->sum == NULL) return GB_OK;
  memset(w->sum, 0, w->m->k * width * sizeof *w->sum);
  for (size_t i = 0; st == GB_OK && i < w->nrooms; i++) {
    const room *r = &w->room[i];
    st = gb_device_checked(
        r->device, r->device->ops->cluster->gather(r->device, w->m->k, w->d, r->sums, w->sum, err), err);
  }
  GB_TRY(gb_comm_sum(w->use->comm, w->sum, w->m->k * width, st, err));
  for (size_t i = 0; i < w->m->k * width; i++)
    w->use->sum[i] = (double)w->sum[i] / (i % width == w->d ? w->q.weight : w->q.point);
  return GB_OK;
}

static gb_status furnish (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  const layout l = lay_out(w->m, w->use->sum != NULL, npieces, piece);
  gb_device *first = piece->device, *home = first->home == NULL ? first : first->home;
  GB_TRY(gb_ledger_alloc(&home->ledger, GB_MEM_WORKSPACE, l.bytes, "", "k-means", &w->held, err));
  char *at = w->held.data;
  w->least = (double *)(void *)(at + l.least);
  w->most = w->least + w->d;
  w->centre = (double *)(void *)(at + l.centre);
  w->label = (int32_t *)(void *)(at + l.label);
  w->sum = w->use->sum != NULL ? (int64_t *)(void *)(at + l.sum) : NULL;
  for (size_t i = 0; i < w->m->k * w->d; i++)
    w->centre[i] = rounded(w, w->m->centre[i] - w->m->shift[i % w->d]);
  return GB_OK;
}

static gb_status furnish_room (walk *w, gb_device *dev, size_t labels, gb_error *err) {
  const bool sums = w->use->sum != NULL;
  if (w->nrooms == GB_DEVICES) return gb_fail(err, GB_EOPTION, "k-means: more than %d devices", GB_DEVICES);
  room *r = &w->room[w->nrooms];
  const room_layout l = lay_out_room(w->m, sums, dev, w->compute, w->d, labels);
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, l.bytes, "", "k-means", &r->held, err));
  char *at = r->held.data;
  r->device = dev;
  w->nrooms++;
  r->label = (int32_t *)(void *)(at + l.label);
  r->sums = sums ? (int64_t *)(void *)(at + l.sums) : NULL;
  r->scratch = at + l.scratch;
  return sums ? gb_memory_fill(&dev->memory, r->sums, 0, l.scratch - l.sums, err) : GB_OK;
}

static gb_status furnish_rooms (walk *w, size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  const size_t labels = label_bytes(npieces, piece);
  for (size_t i = 0; i < npieces; i++)
    if (room_of(w, piece[i].device) == &w->room[w->nrooms])
      GB_TRY(furnish_room(w, piece[i].device, labels, err));
  return GB_OK;
}

static void release (walk *w, gb_device *first) {
  for (size_t i = 0; i < w->nrooms; i++) gb_ledger_free(&w->room[i].device->ledger, &w->room[i].held);
  gb_ledger_free(first->home == NULL ? &first->ledger : &first->home->ledger, &w->held);
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
  walk w = {.m = m,
            .use = use,
            .d = piece->x.d,
            .compute = gb_points_compute(piece->x.dtype),
            .unit = piece->x.unit};
  int64_t mine = 0;
  for (size_t i = 0; i < npieces; i++) mine += (int64_t)piece[i].x.n;
  gb_status st = gb_kmeans_check_unit(npieces, piece, err);
  if (st == GB_OK) st = furnish(&w, npieces, piece, err);
  if (st == GB_OK) st = furnish_rooms(&w, npieces, piece, err);
  st = meet(&w, mine, st, err);
  if (st == GB_OK) st = survey(&w, npieces, piece, err);
  if (st == GB_OK) st = walk_over(&w, npieces, piece, err);
  for (int i = 0; st == GB_OK && use->inertia != NULL && i < GB_KMEANS_FINER; i++) {
    if (!gb_kmeans_finer(&w.spread, w.n, &w.scale)) break;
    w.again = true;
    st = walk_over(&w, npieces, piece, err);
  }
  if (st == GB_OK) st = publish(&w, err);
  release(&w, piece->device);
  return st;
}
