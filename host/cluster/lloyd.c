/* lloyd.c - iterations of k-means: labels, sums, centres. */
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "cluster/kmeans_fit.h"

static gb_status gather_all (gb_kmeans_run *r, gb_error *err) {
  memset(r->sum, 0, r->k * (r->d + 1) * sizeof *r->sum);
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    bool again = false; /* a part of a device whose sums are in already */
    for (size_t j = 0; j < i; j++) again |= r->part[j].sums == p->sums;
    if (!again)
      GB_TRY(gb_device_checked(p->device,
                               gb_kmeans_ops(p)->gather(p->device, r->k, r->d, p->sums, r->sum, err), err));
  }
  return GB_OK;
}

/* Labels by the centres and their sums, of the points of all ranks: one message. */
static gb_status assign_and_gather (gb_kmeans_run *r, size_t *moved, gb_error *err) {
  gb_status st = gb_kmeans_assign_all(r, moved, err);
  if (st == GB_OK) st = gather_all(r, err);
  return gb_kmeans_total(r, r->k, moved, st, err);
}

static int64_t *sum_of (const gb_kmeans_run *r, size_t j) { return r->sum + j * (r->d + 1); }

/* -- clusters by parts, of which each has a sum of its own: neither they nor the total depend on the threads */

enum { PARTS = 64 };

typedef struct clusters {
  gb_kmeans_run *r;
  double (*term)(gb_kmeans_run *r, size_t j);
  double sum[PARTS];
} clusters;

static void add_part (void *ud, size_t part) {
  clusters *c = ud;
  c->sum[part] = 0;
  for (size_t j = c->r->k * part / PARTS; j < c->r->k * (part + 1) / PARTS; j++)
    c->sum[part] += c->term(c->r, j);
}

/* The sum of a term of each cluster. */
static double add_clusters (gb_kmeans_run *r, double (*term)(gb_kmeans_run *r, size_t j)) {
  clusters c = {.r = r, .term = term};
  gb_device *home = gb_kmeans_home(r->part->device);
  double total = 0;
  home->ops->cluster->each(home, PARTS, 4 * (double)r->k * (double)r->d, add_part, &c);
  for (size_t i = 0; i < PARTS; i++) total += c.sum[i];
  return total;
}

/* -- inertia */

/* The sums of c s and of c^2, each by two sums, of every other coordinate. */
static void cross_and_square (size_t d, const double *c, const int64_t *s, double *cross, double *square) {
  double a[2] = {0, 0}, b[2] = {0, 0};
  for (size_t t = 0; t + 2 <= d; t += 2)
    for (size_t i = 0; i < 2; i++) {
      a[i] += c[t + i] * (double)s[t + i];
      b[i] += c[t + i] * c[t + i];
    }
  if (d % 2 == 1) a[0] += c[d - 1] * (double)s[d - 1], b[0] += c[d - 1] * c[d - 1];
  *cross = a[0] + a[1];
  *square = b[0] + b[1];
}

/* Of a cluster: the sum of w |x - c|^2 less that of w |x|^2. */
static double inertia_term (gb_kmeans_run *r, size_t j) {
  const int64_t *s = sum_of(r, j);
  double cross, square;
  cross_and_square(r->d, r->centre + j * r->d, s, &cross, &square);
  return (double)s[r->d] / r->q.weight * square - 2 * cross / r->q.point;
}

/* By the parallel axis theorem, from sums alone: rounding aside the inertia of the labels at the centres. */
static double inertia_from_sums (gb_kmeans_run *r) {
  return fmax(r->apart + add_clusters(r, inertia_term), 0);
}

/* -- clusters without points */

static size_t count_empty (const gb_kmeans_run *r) {
  size_t empty = 0;
  for (size_t j = 0; j < r->k; j++) empty += sum_of(r, j)[r->d] == 0;
  return empty;
}

/* The farthest points of this rank. */
static gb_status find_farthest (gb_kmeans_run *r, size_t most, size_t *have, gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, r->centre, r->k);
  *have = 0;
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    GB_TRY(GB_KMEANS_PASS(p, gb_kmeans_ops(p)->farthest(p->device, &x, &c, p->label, p->first, most, r->far,
                                                        have, p->scratch, err)));
  }
  return GB_OK;
}

/* Clusters without points get those of the list, as far as this rank has them; '*used': how many of the list. */
static gb_status relabel_farthest (gb_kmeans_run *r, size_t have, size_t *used, gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, r->centre, r->k);
  *used = 0;
  for (size_t j = 0; j < r->k && *used < have && r->far[*used].apart > 0; j++) {
    if (sum_of(r, j)[r->d] != 0) continue;
    const size_t row = r->far[(*used)++].row;
    const gb_kmeans_part *p = gb_kmeans_part_of(r, row);
    if (p == NULL) continue;
    int32_t *label = p->label + (row - p->first);
    GB_TRY(GB_KMEANS_ROW(
        p, row - p->first,
        gb_kmeans_ops(p)->relabel(p->device, &x, &c, r->q, 0, (int32_t)j, label, p->sums, p->scratch, err)));
    if (r->o->bounded) GB_TRY(gb_kmeans_forget_point(p, row - p->first, err));
  }
  return GB_OK;
}

/* Each takes one of the points that are farthest from their centres, as long as these are apart from them at all: 'filled'. */
static gb_status fill_empty (gb_kmeans_run *r, size_t empty, bool *filled, gb_error *err) {
  size_t have, used, moved = 0;
  *filled = false;
  if (empty == 0) return GB_OK;
  GB_TRY(gb_kmeans_merge(r, empty, gb_keep_far, &have, find_farthest(r, empty, &have, err), err));
  if (have == 0 || !(r->far->apart > 0)) return GB_OK;
  *filled = true;
  gb_status st = relabel_farthest(r, have, &used, err);
  if (st == GB_OK) st = gather_all(r, err);
  return gb_kmeans_total(r, r->k, &moved, st, err);
}

/* -- centres */

/* The mean of a cluster's points, or its direction, to 'out'; the centre that it had, 'kept', if the cluster has no points or no
** direction. */
static void centre_of (const gb_kmeans_run *r, size_t j, const double *kept, double *out) {
  const size_t d = r->d;
  const int64_t *s = sum_of(r, j);
  const double weight = (double)s[d] / r->q.weight,
               quantum = 1 / r->q.point; /* a power of 2, as q.point is */
  memcpy(out, kept, d * sizeof *out);
  if (s[d] == 0) return;
  for (size_t t = 0; t < d; t++) out[t] = (double)s[t] * quantum / weight;
  if (r->part->x->unit) {
    const double least = gb_kmeans_no_length(d, r->compute, r->q.point, weight, r->heaviest);
    if (!gb_kmeans_make_unit(d, r->shift, least, out)) memcpy(out, kept, d * sizeof *out);
  }
  for (size_t t = 0; t < d; t++) out[t] = gb_kmeans_coordinate(r, t, out[t]);
}

/* Moves a centre, and gives the squared length of the move. */
static double move_centre (gb_kmeans_run *r, size_t j) {
  const double *kept = r->centre + j * r->d;
  double *out = r->next + j * r->d, square = 0;
  centre_of(r, j, kept, out);
  for (size_t t = 0; t < r->d; t++) square += (out[t] - kept[t]) * (out[t] - kept[t]);
  return square;
}

/* Means of the sums, or their directions; a cluster without points, or without a direction, keeps its centre. Gives the sum of squared
** moves. */
static double move_centres (gb_kmeans_run *r) {
  const double change = add_clusters(r, move_centre);
  double *old = r->centre;
  r->centre = r->next;
  r->next = old;
  return change;
}

gb_status gb_kmeans_iterate (gb_kmeans_run *r, gb_error *err) {
  gb_kmeans_result *out = r->out;
  size_t moved = 1;
  double change = INFINITY;
  bool filled = false;
  out->converged = false;
  out->iterations = 0;
  if (r->o->bounded) GB_TRY(gb_kmeans_forget_bounds(r, err));
  while (out->iterations < r->o->max_iter && !out->converged) {
    GB_TRY(assign_and_gather(r, &moved, err));
    out->history[out->iterations++] = inertia_from_sums(r);
    gb_stage_at(GB_STAGE_KMEANS, (long)out->iterations, out->history[out->iterations - 1]);
    GB_TRY(fill_empty(r, count_empty(r), &filled, err));
    change = move_centres(r);
    out->converged = moved == 0 || change <= r->o->tol * r->variance;
  }
  out->change = change;
  if (change > 0 || filled) GB_TRY(assign_and_gather(r, &moved, err)); /* labels of the last centres */
  out->empty = count_empty(r);
  return gb_kmeans_spread(r, r->centre, r->k, &out->inertia, err);
}
