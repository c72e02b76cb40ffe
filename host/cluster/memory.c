/* memory.c - the memory of a fit: one block on the host, and one on each device. */
#include "cluster/kmeans_fit.h"

static size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

static size_t blocks_of (const gb_points *x) { return (x->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK; }

static size_t sums_bytes (const gb_device *dev, size_t k, size_t d) {
  return rounded(dev->ops->cluster->workers(dev) * k * (d + 1) * sizeof(int64_t));
}

size_t gb_kmeans_scratch_bytes (const gb_kmeans_options *o, const gb_device *dev, gb_dtype compute,
                                size_t d) {
  const size_t most = o->k > GB_CLUSTER_SEEDS ? o->k : GB_CLUSTER_SEEDS;
  return rounded(dev->ops->cluster->scratch(dev, compute, most, d));
}

/* Parts of the host's block, in order. */
typedef struct layout {
  size_t parts, shift, centre, next, sum, far, all, least, move, order, candidate, many, block, bytes;
} layout;

static size_t take (size_t *at, size_t bytes) {
  const size_t from = *at;
  *at += rounded(bytes);
  return from;
}

static layout lay_out (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece) {
  const size_t d = piece->x.d, number = sizeof(double);
  layout l = {0};
  size_t blocks = 0;
  for (size_t i = 0; i < npieces; i++) blocks += blocks_of(&piece[i].x);
  l.parts = take(&l.bytes, npieces * sizeof(gb_kmeans_part));
  l.shift = take(&l.bytes, d * number);
  l.centre = take(&l.bytes, o->k * d * number);
  l.next = take(&l.bytes, o->k * d * number);
  l.sum = take(&l.bytes, (o->k * (d + 1) + 2) * sizeof(int64_t));
  l.far = take(&l.bytes, (gb_kmeans_lots(o) + 1) * sizeof(gb_far_point));
  l.all = take(&l.bytes, o->comm == NULL ? 0 : (gb_kmeans_lots(o) + 1) * sizeof(gb_far_point));
  l.least = take(&l.bytes, 2 * (d + 1) * number);
  l.move = take(&l.bytes, o->bounded ? o->k * sizeof(float) : 0);
  l.order = take(&l.bytes, o->bounded ? o->k * sizeof(int32_t) : 0);
  l.candidate = take(&l.bytes, gb_kmeans_seed_bytes(o, d));
  l.many = take(&l.bytes, gb_kmeans_candidates_bytes(o, piece));
  l.block = take(&l.bytes, gb_kmeans_has_potentials(o) ? blocks * sizeof(int64_t) : 0);
  return l;
}

/* What seeding takes of a piece; iterations have their bounds there afterwards. */
static size_t near_bytes (const gb_kmeans_options *o, const gb_points *x) {
  return gb_kmeans_has_potentials(o) ? rounded(gb_kmeans_near_bytes(x)) : 0;
}
size_t gb_kmeans_row_bytes (const gb_kmeans_options *o, const gb_points *x) {
  const size_t near = near_bytes(o, x), bounds = rounded(gb_kmeans_bounds_bytes(o, x));
  return near > bounds ? near : bounds;
}

gb_kmeans_bytes gb_kmeans_bytes_of (const gb_kmeans_options *o, size_t npieces,
                                    const gb_kmeans_piece *piece) {
  const gb_device *dev = piece->device;
  gb_kmeans_bytes b = {.home = lay_out(o, npieces, piece).bytes};
  b.candidates = gb_kmeans_candidates_bytes(o, piece);
  b.sums = sums_bytes(dev, o->k, piece->x.d);
  for (size_t i = 0; i < npieces; i++) {
    if (piece[i].device != dev) continue;
    b.seeds += near_bytes(o, &piece[i].x);
    b.bounds += gb_kmeans_row_bytes(o, &piece[i].x) - near_bytes(o, &piece[i].x);
    const size_t bytes = gb_kmeans_scratch_bytes(o, dev, gb_points_compute(piece[i].x.dtype), piece[i].x.d);
    if (bytes > b.scratch) b.scratch = bytes;
  }
  b.device = b.sums + b.seeds + b.bounds + b.scratch;
  return b;
}

void gb_kmeans_release (gb_kmeans_store *s, gb_device *first) {
  for (size_t i = 0; i < s->ndevices; i++) gb_ledger_free(&s->device[i]->ledger, &s->of[i]);
  gb_ledger_free(&gb_kmeans_home(first)->ledger, &s->host);
}

static gb_status serve_device (gb_kmeans_store *s, const gb_kmeans_options *o, gb_kmeans_run *r,
                               const gb_kmeans_piece *piece, size_t from, gb_error *err) {
  gb_device *dev = piece[from].device;
  if (s->ndevices == GB_DEVICES) return gb_fail(err, GB_EOPTION, "k-means: more than %d devices", GB_DEVICES);
  const size_t bytes = gb_kmeans_bytes_of(o, r->nparts - from, piece + from).device;
  gb_block *b = &s->of[s->ndevices];
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, bytes, "", "k-means", b, err));
  s->device[s->ndevices++] = dev;
  char *at = b->data;
  int64_t *sums = (int64_t *)(void *)at;
  at += sums_bytes(dev, r->k, r->d);
  for (size_t i = from; i < r->nparts; i++) {
    if (piece[i].device != dev) continue;
    r->part[i].sums = sums;
    r->part[i].near = at;
    r->part[i].bounds = (gb_bounds){(float *)(void *)at, (float *)(void *)at + piece[i].x.n};
    at += gb_kmeans_row_bytes(o, &piece[i].x);
  }
  for (size_t i = from; i < r->nparts; i++)
    if (piece[i].device == dev) r->part[i].scratch = at;
  return GB_OK;
}

gb_status gb_kmeans_furnish (gb_kmeans_run *r, gb_kmeans_store *s, const gb_kmeans_piece *piece,
                             gb_error *err) {
  const layout l = lay_out(r->o, r->nparts, piece);
  GB_TRY(gb_ledger_alloc(&gb_kmeans_home(piece->device)->ledger, GB_MEM_WORKSPACE, l.bytes, "", "k-means",
                         &s->host, err));
  char *at = s->host.data;
  r->part = (gb_kmeans_part *)(void *)(at + l.parts);
  r->shift = (double *)(void *)(at + l.shift);
  r->centre = (double *)(void *)(at + l.centre);
  r->next = (double *)(void *)(at + l.next);
  r->sum = (int64_t *)(void *)(at + l.sum);
  r->far = (gb_far_point *)(void *)(at + l.far) + 1;
  r->all = (gb_far_point *)(void *)(at + l.all) + 1;
  r->least = (double *)(void *)(at + l.least);
  r->most = r->least + r->d;
  r->move = (float *)(void *)(at + l.move);
  r->order = (int32_t *)(void *)(at + l.order);
  r->candidate = (double *)(void *)(at + l.candidate);
  r->many = gb_kmeans_candidates_in(r->o, piece, at + l.many);
  int64_t *block = (int64_t *)(void *)(at + l.block);
  size_t first = r->first;
  for (size_t i = 0; i < r->nparts; i++) {
    r->part[i] = (gb_kmeans_part){.device = piece[i].device,
                                  .piece = &piece[i],
                                  .x = &piece[i].x,
                                  .weight = piece[i].weight,
                                  .first = first,
                                  .label = r->out->label[i],
                                  .block = block};
    first += piece[i].x.n;
    block += blocks_of(&piece[i].x);
  }
  for (size_t i = 0; i < r->nparts; i++)
    if (r->part[i].sums == NULL) GB_TRY(serve_device(s, r->o, r, piece, i, err));
  return GB_OK;
}
