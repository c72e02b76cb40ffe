/* minibatch.c - k-means by mini-batches. */
#include <math.h>

#include "base/interrupt.h"
#include "cluster/kmeans_fit.h"

/* What a fit holds beside its result, in one block. */
typedef struct work {
  const gb_kmeans_options *o;
  size_t npieces, n, d;
  const gb_kmeans_piece *piece;
  gb_kmeans_piece *batch; /* (npieces): the parts of one */
  double *count, *sum;    /* (k), (k, d + 1) */
  double *mean;           /* (d) */
  double rounding;        /* half a unit in the last place of T */
  gb_kmeans_result *out;
} work;

typedef struct layout {
  size_t batch, count, sum, mean, bytes;
} layout;

static size_t take (size_t *at, size_t bytes) {
  const size_t from = *at;
  *at += (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
  return from;
}

static layout lay_out (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece) {
  layout l = {0};
  l.batch = take(&l.bytes, npieces * sizeof(gb_kmeans_piece));
  l.count = take(&l.bytes, o->k * sizeof(double));
  l.sum = take(&l.bytes, o->k * (piece->x.d + 1) * sizeof(double));
  l.mean = take(&l.bytes, piece->x.d * sizeof(double));
  return l;
}

/* The parts of the points first .. first + GB_KMEANS_BATCH - 1 that there are: how many. */
static size_t cut_batch (const work *w, size_t first) {
  size_t parts = 0, before = 0;
  for (size_t i = 0; i < w->npieces && before < first + GB_KMEANS_BATCH; before += w->piece[i++].x.n) {
    const gb_kmeans_piece *p = &w->piece[i];
    const size_t from = first > before ? first - before : 0;
    size_t to = first + GB_KMEANS_BATCH - before;
    if (to > p->x.n) to = p->x.n;
    if (from >= to) continue;
    gb_kmeans_piece *part = &w->batch[parts++];
    *part = *p;
    part->x.n = to - from;
    part->skip = from;
    if (p->source == NULL) part->x.at = gb_kmeans_row(&p->x, from);
    if (p->x.weight != NULL) part->x.weight = part->weight = p->x.weight + from;
  }
  return parts;
}

static gb_kmeans_model model_of (const work *w) {
  return (gb_kmeans_model){.k = w->o->k, .shift = w->out->shift, .centre = w->out->centre};
}

/* The centre of 'count' times itself and a batch's sum, of 'weight'; of unit vectors its direction, if it has one. */
static void move_centre (const work *w, double count, const double *sum, double weight, double *c) {
  const double *shift = w->out->shift;
  for (size_t t = 0; t < w->d; t++) w->mean[t] = (count * (c[t] - shift[t]) + sum[t]) / (count + weight);
  if (w->piece->x.unit && !gb_kmeans_make_unit(w->d, shift, 4 * sqrt((double)w->d) * w->rounding, w->mean))
    return;
  for (size_t t = 0; t < w->d; t++) c[t] = shift[t] + w->mean[t];
}

static gb_status take_batch (work *w, size_t first, double *inertia, gb_error *err) {
  const gb_kmeans_model m = model_of(w);
  double apart = 0;
  const gb_kmeans_use use = {.inertia = &apart, .sum = w->sum};
  GB_TRY(gb_kmeans_apply(&m, cut_batch(w, first), w->batch, &use, err));
  *inertia += apart;
  for (size_t j = 0; j < m.k; j++) {
    const double *s = w->sum + j * (w->d + 1), weight = s[w->d];
    if (weight > 0) move_centre(w, w->count[j], s, weight, w->out->centre + j * w->d);
    w->count[j] += weight;
  }
  return GB_OK;
}

static gb_status iterate (work *w, gb_error *err) {
  gb_kmeans_result *out = w->out;
  out->converged = false;
  out->iterations = out->empty = 0;
  while (out->iterations < w->o->max_iter && !out->converged) {
    const double before = out->iterations == 0 ? 0 : out->history[out->iterations - 1];
    double inertia = 0;
    for (size_t first = 0; first < w->n; first += GB_KMEANS_BATCH)
      GB_TRY(take_batch(w, first, &inertia, err));
    out->change = before - inertia;
    out->converged = out->iterations > 0 && out->change <= w->o->tol * before;
    out->history[out->iterations++] = inertia;
    gb_stage_at(GB_STAGE_KMEANS, (long)out->iterations, inertia);
  }
  const gb_kmeans_model m = model_of(w);
  const gb_kmeans_use use = {.inertia = &out->inertia, .kept = out->label[0], .sum = w->sum};
  GB_TRY(gb_kmeans_apply(&m, w->npieces, w->piece, &use, err));
  for (size_t j = 0; j < m.k; j++) out->empty += w->sum[j * (w->d + 1) + w->d] == 0;
  return GB_OK;
}

size_t gb_kmeans_minibatch_bytes (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece) {
  const gb_kmeans_bytes b = gb_kmeans_bytes_of(o, npieces, piece);
  const gb_kmeans_model m = {.k = o->k};
  const size_t use = gb_kmeans_use_bytes(&m, true, npieces, piece), fit = b.device + b.home;
  return lay_out(o, npieces, piece).bytes + (use > fit ? use : fit);
}

gb_status gb_kmeans_minibatch (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece,
                               gb_kmeans_result *out, gb_error *err) {
  const layout l = lay_out(o, npieces, piece);
  gb_ledger *ledger = &piece->device->ledger;
  gb_kmeans_options start = *o;
  gb_block room = {0};
  start.max_iter = 0;
  if (o->comm != NULL)
    return gb_comm_agree(
        o->comm,
        gb_fail(err, GB_EOPTION, "k-means: mini-batches are of one rank: Lloyd's iterations go over several"),
        err);
  GB_TRY(gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, l.bytes, "", "k-means", &room, err));
  char *at = room.data;
  work w = {.o = o, .npieces = npieces, .d = piece->x.d, .piece = piece, .out = out};
  w.batch = (gb_kmeans_piece *)(void *)(at + l.batch);
  w.count = (double *)(void *)(at + l.count);
  w.sum = (double *)(void *)(at + l.sum);
  w.mean = (double *)(void *)(at + l.mean);
  w.rounding = gb_points_compute(piece->x.dtype) == GB_F64 ? 0x1p-53 : 0x1p-24;
  for (size_t j = 0; j < o->k; j++) w.count[j] = 0;
  for (size_t i = 0; i < npieces; i++) w.n += piece[i].x.n;
  gb_status st = gb_kmeans_fit(&start, npieces, piece, out, err);
  if (st == GB_OK) st = iterate(&w, err);
  gb_ledger_free(ledger, &room);
  return st;
}
