/* kmeans.c - a fit: what is known of the points, start, iterations. */
#include "cluster/kmeans.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "cluster/kmeans_fit.h"

double gb_kmeans_scale (double count, double most) {
  int e;
  if (!(count * most > 0)) return 1;
  frexp(count * most, &e); /* count * most < 2^e */
  return ldexp(1, 61 - e);
}

/* Of coordinates: their squares, and those of differences as small as roundings of T, are numbers of T. */
typedef struct range {
  double least, most;
} range;

static range range_of (gb_dtype compute, size_t d) {
  return compute == GB_F64 ? (range){0x1p-400, 0x1p400} : (range){0x1p-50, 0x1p61 / sqrt((double)d)};
}

gb_status gb_kmeans_check_range (gb_dtype compute, size_t d, double reach, double heaviest, gb_error *err) {
  const range of = range_of(compute, d), weight = {0x1p-100, 0x1p100};
  const bool single = compute != GB_F64;
  if (reach > of.most)
    return gb_fail(
        err, GB_ENAN,
        "k-means: coordinates lie up to %.3g from their middle, and at most %.3g is possible in %s: "
        "divide all by one number%s",
        reach, of.most, single ? "f32" : "f64", single ? ", or give f64" : "");
  if (reach > 0 && reach < of.least)
    return gb_fail(err, GB_ENAN,
                   "k-means: coordinates lie within %.3g of their middle, and at least %.3g is needed in %s: "
                   "multiply all by one number%s",
                   reach, of.least, single ? "f32" : "f64", single ? ", or give f64" : "");
  if (heaviest > weight.most || (heaviest > 0 && heaviest < weight.least))
    return gb_fail(err, GB_ENAN,
                   "k-means: the greatest weight is %.3g, and must be in %.3g..%.3g: "
                   "divide all by it, which changes no label",
                   heaviest, weight.least, weight.most);
  return GB_OK;
}

double gb_kmeans_sum_of (const gb_two_sums *sum, double scale) {
  return (double)(((long double)sum->high + (long double)sum->low * 0x1p-30L) / (long double)scale);
}

/* Each term is rounded to 2^-30 quanta. Terms are not negative, so that none is larger than their sum. */
bool gb_kmeans_finer (const gb_two_sums *sum, size_t n, double *scale) {
  const double quanta = fmax(0, gb_kmeans_sum_of(sum, 1)), spare = (double)n * 0x1p-30;
  const double finer = gb_kmeans_scale(1, (quanta + spare) / *scale);
  if (quanta >= spare * 0x1p45 || !(finer > 4 * *scale && finer < 0x1p1000)) return false;
  *scale = finer;
  return true;
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

/* A pass that only starts something on a device looks for no Ctrl-C: so each is looked for before. */
gb_status gb_kmeans_open (const gb_kmeans_piece *p, gb_points *x, gb_error *err) {
  if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  *x = p->x;
  if (p->source == NULL) return GB_OK;
  GB_TRY(p->source->open(p->source->ud, p->number, &x->at, err));
  x->at = gb_kmeans_row(x, p->skip);
  return GB_OK;
}

gb_status gb_kmeans_open_row (const gb_kmeans_piece *p, size_t row, gb_points *x, gb_error *err) {
  if (p->source == NULL || p->source->row == NULL) {
    GB_TRY(gb_kmeans_open(p, x, err));
    x->at = gb_kmeans_row(x, row);
  } else {
    *x = p->x;
    x->row = (ptrdiff_t)x->d, x->column = 1;
    GB_TRY(p->source->row(p->source->ud, p->number, p->skip + row, &x->at, err));
  }
  x->n = 1;
  if (x->weight != NULL) x->weight += row;
  return GB_OK;
}

void gb_kmeans_close (const gb_kmeans_piece *p) {
  if (p->source != NULL) p->source->close(p->source->ud, p->number);
}

gb_status gb_kmeans_refuse (const gb_bad_point *bad, size_t first, size_t d, gb_error *err) {
  const size_t row = first + bad->row + 1;
  if (bad->column == d)
    return gb_fail(err, GB_ENAN, "k-means: the weight of point %zu is negative or not finite", row);
  if (bad->column == d + 1)
    return gb_fail(err, GB_ENAN, "k-means: the point in row %zu has length 0, and no direction", row);
  return gb_fail(err, GB_ENAN, "k-means: the point in row %zu is not finite in column %zu", row,
                 bad->column + 1);
}

static gb_status survey_own (gb_kmeans_run *r, gb_error *err) {
  for (size_t t = 0; t < r->d; t++) r->least[t] = INFINITY, r->most[t] = -INFINITY;
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    gb_bad_point bad = {SIZE_MAX, 0};
    GB_TRY(GB_KMEANS_PASS(
        p, gb_kmeans_ops(p)->range(p->device, &x, r->least, r->most, &r->heaviest, &bad, p->scratch, err)));
    if (bad.row != SIZE_MAX) return gb_kmeans_refuse(&bad, p->first, r->d, err);
    r->weighted |= p->x->weight != NULL;
  }
  return GB_OK;
}

static gb_status survey (gb_kmeans_run *r, gb_error *err) {
  GB_TRY(gb_kmeans_reach(r->o->comm, r->d, r->least, &r->heaviest, &r->weighted, survey_own(r, err), err));
  return r->heaviest > 0 ? GB_OK : gb_fail(err, GB_EOPTION, "k-means: all weights are 0");
}

static void set_quanta (gb_kmeans_run *r) {
  r->q.point = gb_kmeans_scale((double)r->n, r->heaviest * reach_of(r));
  r->q.weight = r->weighted ? gb_kmeans_scale((double)r->n, r->heaviest) : 1;
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

static gb_status spread_by (const gb_kmeans_run *r, const gb_centres *c, double scale, gb_two_sums *sum,
                            gb_error *err) {
  gb_status st = GB_OK;
  *sum = (gb_two_sums){0};
  for (size_t i = 0; st == GB_OK && i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    st = GB_KMEANS_PASS(p, gb_kmeans_ops(p)->spread(p->device, &x, c, p->label, scale, sum, p->scratch, err));
  }
  return gb_kmeans_total_spread(r->o->comm, sum, st, err);
}

gb_status gb_kmeans_spread (const gb_kmeans_run *r, const double *centre, size_t k, double *out,
                            gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, centre, k);
  double scale = gb_kmeans_scale((double)r->n, 4 * r->heaviest * gb_kmeans_diameter(r));
  gb_two_sums sum;
  GB_TRY(spread_by(r, &c, scale, &sum, err));
  for (int i = 0; i < GB_KMEANS_FINER && gb_kmeans_finer(&sum, r->n, &scale); i++)
    GB_TRY(spread_by(r, &c, scale, &sum, err));
  *out = gb_kmeans_sum_of(&sum, scale);
  return GB_OK;
}

/* The sum of this rank's points as one cluster at the first centre. */
static gb_status sum_points (gb_kmeans_run *r, gb_error *err) {
  const size_t k = r->k;
  const gb_centres one = gb_kmeans_centres(r, r->centre, 1);
  size_t moved = 0;
  gb_status st = clear(r, err);
  r->k = 1;
  memset(r->sum, 0, (r->d + 1) * sizeof *r->sum);
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
  return st;
}

/* The mean of all points as one cluster around 'shift', which then becomes the mean; and their variance. */
static gb_status centre_points (gb_kmeans_run *r, gb_error *err) {
  size_t moved = 0;
  for (size_t t = 0; t < r->d; t++)
    r->shift[t] = gb_kmeans_round(r, r->least[t] / 2 + r->most[t] / 2), r->centre[t] = 0;
  GB_TRY(gb_kmeans_check_range(r->compute, r->d, reach_of(r), r->heaviest, err));
  set_quanta(r);
  GB_TRY(gb_kmeans_total(r, 1, &moved, sum_points(r, err), err));
  const double weight = (double)r->sum[r->d] / r->q.weight;
  for (size_t t = 0; t < r->d; t++)
    r->shift[t] = gb_kmeans_round(r, r->shift[t] + (double)r->sum[t] / r->q.point / weight);
  GB_TRY(gb_kmeans_spread(r, r->centre, 1, &r->apart, err));
  r->variance = r->apart / weight / (double)r->d;
  set_quanta(r);
  return gb_comm_agree(r->o->comm, clear(r, err), err);
}

/* -- a fit */

static gb_status check (const gb_kmeans_run *r, const gb_kmeans_piece *piece, gb_error *err) {
  for (size_t i = 0; i < r->nparts; i++)
    if (piece[i].device->ops->cluster == NULL)
      return gb_fail(err, GB_EOPTION, "k-means: device %s has no passes over points", piece[i].device->name);
  for (size_t i = 0; r->o->bounded && i < r->nparts; i++)
    if (piece[i].device->ops->cluster->assign_bounded == NULL)
      return gb_fail(
          err, GB_EOPTION,
          "k-means: device %s keeps no bounds of distances: algorithm = 'lloyd' gives the same result",
          piece[i].device->name);
  for (size_t i = 0; r->o->start == GB_KMEANS_PARALLEL && i < r->nparts; i++)
    if (piece[i].device->ops->cluster->nearer == NULL)
      return gb_fail(err, GB_EOPTION,
                     "k-means: device %s draws no many seeds at once: init = 'k-means++' takes its place",
                     piece[i].device->name);
  if (r->k < 1 || r->k > GB_CLUSTER_MOST)
    return gb_fail(err, GB_EOPTION, "k-means: k must be in 1..%zu, got %zu", GB_CLUSTER_MOST, r->k);
  if (r->d < 1) return gb_fail(err, GB_ESHAPE, "k-means: points without columns");
  return gb_kmeans_check_unit(r->nparts, piece, err);
}

/* The first message is an agreement: a rank whose caller failed before it came here can take part in that one. */
static gb_status meet (gb_kmeans_run *r, const gb_kmeans_piece *piece, gb_error *err) {
  const gb_kmeans_options *o = r->o;
  const gb_kmeans_problem mine = {.d = r->d,
                                  .compute = r->compute,
                                  .k = o->k,
                                  .start = o->start,
                                  .unit = piece->x.unit,
                                  .max_iter = o->max_iter,
                                  .seed = o->seed,
                                  .runs = o->runs,
                                  .tol = o->tol};
  int64_t before, total;
  GB_TRY(gb_comm_agree(o->comm, check(r, piece, err), err));
  GB_TRY(
      gb_comm_place(o->comm, (int64_t)r->mine, &before, &total, gb_kmeans_compare(o->comm, &mine, err), err));
  r->first = (size_t)before, r->n = (size_t)total;
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
  gb_kmeans_store s = {0};
  for (size_t i = 0; i < npieces; i++) r.mine += piece[i].x.n;
  GB_TRY(meet(&r, piece, err));
  gb_status st = gb_comm_agree(o->comm, gb_kmeans_furnish(&r, &s, piece, err), err);
  if (st == GB_OK) st = survey(&r, err);
  if (st == GB_OK) st = centre_points(&r, err);
  gb_stage_begin(GB_STAGE_KMEANS, "k-means", "inertia", (long)o->max_iter);
  if (st == GB_OK) st = gb_kmeans_seed(&r, err);
  if (st == GB_OK) st = gb_kmeans_iterate(&r, err);
  gb_stage_end(GB_STAGE_KMEANS);
  if (st == GB_OK) publish(&r);
  gb_kmeans_release(&s, piece->device);
  return st;
}
