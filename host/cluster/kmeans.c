/* kmeans.c - a fit: what is known of the points, memory, start, iterations. */
#include "cluster/kmeans.h"

#include <math.h>
#include <string.h>

#include "cluster/kmeans_fit.h"

double gb_kmeans_scale (double count, double most) {
  int e;
  if (!(count * most > 0)) return 1;
  frexp(count * most, &e); /* count * most < 2^e */
  return ldexp(1, 61 - e);
}

/* The greatest distance of a coordinate from the shift. */
static double reach_of (const gb_kmeans_run *r) {
  double most = 0;
  for (size_t t = 0; t < r->d; t++)
    most = fmax(most, fmax(r->most[t] - r->shift[t], r->shift[t] - r->least[t]));
  return most;
}

double gb_kmeans_diameter (const gb_kmeans_run *r) {
  double sum = 0;
  for (size_t t = 0; t < r->d; t++) sum += (r->most[t] - r->least[t]) * (r->most[t] - r->least[t]);
  return 1.01 * sum; /* sums in T are rounded */
}

/* -- what is known of the points */

gb_status gb_kmeans_open (const gb_kmeans_piece *p, gb_points *x, gb_error *err) {
  *x = p->x;
  if (p->source == NULL) return GB_OK;
  GB_TRY(p->source->open(p->source->ud, p->number, &x->at, err));
  x->at = gb_kmeans_row(x, p->skip);
  return GB_OK;
}

void gb_kmeans_close (const gb_kmeans_piece *p) {
  if (p->source != NULL) p->source->close(p->source->ud, p->number);
}

gb_status gb_kmeans_refuse (const gb_bad_point *bad, size_t first, size_t d, gb_error *err) {
  const size_t row = first + bad->row + 1;
  if (bad->column == d)
    return gb_fail(err, GB_ENAN, "k-means: the weight of point %zu is negative or not finite", row);
  return gb_fail(err, GB_ENAN, "k-means: the point in row %zu is not finite in column %zu", row,
                 bad->column + 1);
}

static gb_status survey (gb_kmeans_run *r, gb_error *err) {
  for (size_t t = 0; t < r->d; t++) r->least[t] = INFINITY, r->most[t] = -INFINITY;
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    gb_bad_point bad = {SIZE_MAX, 0};
    GB_TRY(GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->range(p->device, &x, r->least, r->most, &r->heaviest, &bad, p->scratch, err)));
    if (bad.row != SIZE_MAX) return gb_kmeans_refuse(&bad, p->first, r->d, err);
  }
  return r->heaviest > 0 ? GB_OK : gb_fail(err, GB_EOPTION, "k-means: all weights are 0");
}

static void set_quanta (gb_kmeans_run *r) {
  bool weighted = false;
  for (size_t i = 0; i < r->nparts; i++) weighted |= r->part[i].x->weight != NULL;
  r->q.point = gb_kmeans_scale((double)r->n, r->heaviest * reach_of(r));
  r->q.weight = weighted ? gb_kmeans_scale((double)r->n, r->heaviest) : 1;
}

static gb_status clear (gb_kmeans_run *r, gb_error *err) {
  for (size_t i = 0; i < r->nparts; i++) {
    gb_kmeans_part *p = &r->part[i];
    const size_t bytes = gb_kmeans_ops(p)->workers(p->device) * r->k * (r->d + 1) * sizeof(int64_t);
    GB_TRY(gb_memory_fill(&p->device->memory, p->label, 0xff, p->x->n * sizeof(int32_t), err));
    GB_TRY(gb_memory_fill(&p->device->memory, p->sums, 0, bytes, err));
  }
  return GB_OK;
}

gb_status gb_kmeans_spread (const gb_kmeans_run *r, const double *centre, size_t k, double *out,
                            gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, centre, k);
  const double scale = gb_kmeans_scale((double)r->n, 4 * r->heaviest * gb_kmeans_diameter(r));
  gb_two_sums sum = {0};
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    GB_TRY(GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->spread(p->device, &x, &c, p->label, scale, &sum, p->scratch, err)));
  }
  *out = (double)(((long double)sum.high + (long double)sum.low * 0x1p-30L) / (long double)scale);
  return GB_OK;
}

/* The mean of all points as one cluster around 'shift', which then becomes the mean; and their variance. */
static gb_status centre_points (gb_kmeans_run *r, gb_error *err) {
  const size_t k = r->k;
  const gb_centres one = gb_kmeans_centres(r, r->centre, 1);
  size_t moved = 0;
  for (size_t t = 0; t < r->d; t++)
    r->shift[t] = gb_kmeans_round(r, r->least[t] / 2 + r->most[t] / 2), r->centre[t] = 0;
  set_quanta(r);
  GB_TRY(clear(r, err));
  r->k = 1;
  memset(r->sum, 0, (r->d + 1) * sizeof *r->sum);
  gb_status st = GB_OK;
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->assign(p->device, &x, &one, r->q, p->label, p->sums, &moved, p->scratch, err));
    bool again = false;
    for (size_t j = i + 1; j < r->nparts; j++) again |= r->part[j].sums == p->sums;
    if (st == GB_OK && !again)
      st = gb_device_checked(p->device, gb_kmeans_ops(p)->gather(p->device, 1, r->d, p->sums, r->sum, err),
                             err);
  }
  r->k = k;
  GB_TRY(st);
  const double weight = (double)r->sum[r->d] / r->q.weight;
  for (size_t t = 0; t < r->d; t++)
    r->shift[t] = gb_kmeans_round(r, r->shift[t] + (double)r->sum[t] / r->q.point / weight);
  GB_TRY(gb_kmeans_spread(r, r->centre, 1, &r->apart, err));
  r->variance = r->apart / weight / (double)r->d;
  set_quanta(r);
  return clear(r, err);
}

/* -- memory */

static size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

static size_t blocks_of (const gb_points *x) { return (x->n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK; }

static size_t sums_bytes (const gb_device *dev, size_t k, size_t d) {
  return rounded(dev->ops->cluster->workers(dev) * k * (d + 1) * sizeof(int64_t));
}

static size_t scratch_bytes (const gb_kmeans_options *o, const gb_kmeans_piece *p) {
  const size_t most = o->k > GB_CLUSTER_SEEDS ? o->k : GB_CLUSTER_SEEDS;
  return rounded(p->device->ops->cluster->scratch(p->device, gb_points_compute(p->x.dtype), most, p->x.d));
}

/* Parts of the host's block, in order. */
typedef struct layout {
  size_t parts, shift, centre, next, sum, far, least, most, candidate, block, bytes;
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
  l.sum = take(&l.bytes, o->k * (d + 1) * sizeof(int64_t));
  l.far = take(&l.bytes, o->k * sizeof(gb_far_point));
  l.least = take(&l.bytes, d * number);
  l.most = take(&l.bytes, d * number);
  l.candidate = take(&l.bytes, gb_kmeans_seed_bytes(o, d));
  l.block = take(&l.bytes, o->start == GB_KMEANS_PLUS_PLUS ? blocks * sizeof(int64_t) : 0);
  return l;
}

gb_kmeans_bytes gb_kmeans_bytes_of (const gb_kmeans_options *o, size_t npieces,
                                    const gb_kmeans_piece *piece) {
  const gb_device *dev = piece->device;
  gb_kmeans_bytes b = {.home = lay_out(o, npieces, piece).bytes};
  b.sums = sums_bytes(dev, o->k, piece->x.d);
  for (size_t i = 0; i < npieces; i++) {
    if (piece[i].device != dev) continue;
    if (o->start == GB_KMEANS_PLUS_PLUS) b.seeds += rounded(gb_kmeans_near_bytes(&piece[i].x));
    const size_t bytes = scratch_bytes(o, &piece[i]);
    if (bytes > b.scratch) b.scratch = bytes;
  }
  b.device = b.sums + b.seeds + b.scratch;
  return b;
}

static gb_ledger *home_of (gb_device *dev) { return dev->home == NULL ? &dev->ledger : &dev->home->ledger; }

/* Blocks of a fit: of the host, and for each device. */
typedef struct store {
  gb_block host, of[GB_DEVICES];
  gb_device *device[GB_DEVICES];
  size_t ndevices;
} store;

static void release (store *s, gb_device *first) {
  for (size_t i = 0; i < s->ndevices; i++) gb_ledger_free(&s->device[i]->ledger, &s->of[i]);
  gb_ledger_free(home_of(first), &s->host);
}

static gb_status serve_device (store *s, const gb_kmeans_options *o, gb_kmeans_run *r,
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
    if (o->start == GB_KMEANS_PLUS_PLUS) at += rounded(gb_kmeans_near_bytes(&piece[i].x));
  }
  for (size_t i = from; i < r->nparts; i++)
    if (piece[i].device == dev) r->part[i].scratch = at;
  return GB_OK;
}

static gb_status furnish (gb_kmeans_run *r, store *s, const gb_kmeans_piece *piece, gb_error *err) {
  const layout l = lay_out(r->o, r->nparts, piece);
  GB_TRY(gb_ledger_alloc(home_of(piece->device), GB_MEM_WORKSPACE, l.bytes, "", "k-means", &s->host, err));
  char *at = s->host.data;
  r->part = (gb_kmeans_part *)(void *)(at + l.parts);
  r->shift = (double *)(void *)(at + l.shift);
  r->centre = (double *)(void *)(at + l.centre);
  r->next = (double *)(void *)(at + l.next);
  r->sum = (int64_t *)(void *)(at + l.sum);
  r->far = (gb_far_point *)(void *)(at + l.far);
  r->least = (double *)(void *)(at + l.least);
  r->most = (double *)(void *)(at + l.most);
  r->candidate = (double *)(void *)(at + l.candidate);
  int64_t *block = (int64_t *)(void *)(at + l.block);
  size_t first = 0;
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

/* -- a fit */

static gb_status check (const gb_kmeans_run *r, const gb_kmeans_piece *piece, gb_error *err) {
  for (size_t i = 0; i < r->nparts; i++)
    if (piece[i].device->ops->cluster == NULL)
      return gb_fail(err, GB_EOPTION, "k-means: device %s has no passes over points", piece[i].device->name);
  if (r->k < 1 || r->k > GB_CLUSTER_MOST)
    return gb_fail(err, GB_EOPTION, "k-means: k must be in 1..%zu, got %zu", GB_CLUSTER_MOST, r->k);
  if (r->d < 1) return gb_fail(err, GB_ESHAPE, "k-means: points without columns");
  if (r->n < r->k) return gb_fail(err, GB_ESHAPE, "k-means: %zu points cannot be %zu clusters", r->n, r->k);
  return GB_OK;
}

static void publish (const gb_kmeans_run *r) {
  if (r->out->shift != NULL) memcpy(r->out->shift, r->shift, r->d * sizeof *r->shift);
  for (size_t j = 0; j < r->k; j++)
    for (size_t t = 0; t < r->d; t++) r->out->centre[j * r->d + t] = r->centre[j * r->d + t] + r->shift[t];
}

gb_status gb_kmeans_fit (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece,
                         gb_kmeans_result *out, gb_error *err) {
  gb_kmeans_run r = {.o = o,
                     .out = out,
                     .k = o->k,
                     .d = piece->x.d,
                     .nparts = npieces,
                     .compute = gb_points_compute(piece->x.dtype)};
  store s = {0};
  for (size_t i = 0; i < npieces; i++) r.n += piece[i].x.n;
  GB_TRY(check(&r, piece, err));
  gb_status st = furnish(&r, &s, piece, err);
  if (st == GB_OK) st = survey(&r, err);
  if (st == GB_OK) st = centre_points(&r, err);
  if (st == GB_OK) st = gb_kmeans_seed(&r, err);
  if (st == GB_OK) st = gb_kmeans_iterate(&r, err);
  if (st == GB_OK) publish(&r);
  release(&s, piece->device);
  return st;
}
