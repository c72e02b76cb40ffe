/* ranks.c - what several ranks do together, in whole numbers, bits and exact comparisons. */
#include <math.h>
#include <string.h>

#include "cluster/kmeans_fit.h"

/* -- what must be alike */

gb_status gb_kmeans_compare (gb_comm *c, const gb_kmeans_problem *mine, gb_error *err) {
  gb_kmeans_problem first = *mine;
  GB_TRY(gb_comm_broadcast(c, 0, &first, sizeof first, err));
  if (mine->d != first.d)
    return gb_fail(err, GB_ESHAPE, "k-means: points of %zu columns, those of rank 0 have %zu",
                   (size_t)mine->d, (size_t)first.d);
  if (mine->compute != first.compute)
    return gb_fail(err, GB_EDTYPE, "k-means: points that are computed in %s, those of rank 0 in %s",
                   gb_dtype_name((gb_dtype)mine->compute), gb_dtype_name((gb_dtype)first.compute));
  const struct {
    const char *name;
    bool differs;
  } option[] = {{"k", mine->k != first.k},
                {"init", mine->start != first.start},
                {"spherical", mine->unit != first.unit},
                {"max_iter", mine->max_iter != first.max_iter},
                {"seed", mine->seed != first.seed},
                {"tol", mine->tol != first.tol},
                {"n_init", mine->runs != first.runs}};
  for (size_t i = 0; i < sizeof option / sizeof *option; i++)
    if (option[i].differs)
      return gb_fail(err, GB_EOPTION, "k-means: option '%s' differs from that of rank 0", option[i].name);
  return GB_OK;
}

/* -- points */

gb_status gb_kmeans_reach (gb_comm *c, size_t d, double *reach, double *heaviest, bool *weighted,
                           gb_status st, gb_error *err) {
  GB_TRY(gb_comm_agree(c, st, err));
  for (size_t t = 0; t < d; t++) reach[t] = -reach[t];
  reach[2 * d] = *heaviest;
  reach[2 * d + 1] = *weighted;
  GB_TRY(gb_comm_greatest(c, reach, 2 * d + 2, err));
  for (size_t t = 0; t < d; t++) reach[t] = 0 - reach[t];
  for (size_t t = 0; t < 2 * d; t++) reach[t] += 0.0; /* no zero has a sign */
  *heaviest = reach[2 * d];
  *weighted = reach[2 * d + 1] > 0;
  return GB_OK;
}

const gb_kmeans_part *gb_kmeans_part_of (const gb_kmeans_run *r, size_t row) {
  size_t i = 0;
  if (row < r->first || row - r->first >= r->mine) return NULL;
  while (i + 1 < r->nparts && row >= r->part[i + 1].first) i++;
  return &r->part[i];
}

/* -- sums */

gb_status gb_kmeans_total (gb_kmeans_run *r, size_t k, size_t *moved, gb_status st, gb_error *err) {
  const size_t n = k * (r->d + 1);
  r->sum[n] = (int64_t)*moved;
  GB_TRY(gb_comm_sum(r->o->comm, r->sum, n + 1, st, err));
  *moved = (size_t)r->sum[n];
  return GB_OK;
}

gb_status gb_kmeans_total_spread (gb_comm *c, gb_two_sums *sum, gb_status st, gb_error *err) {
  int64_t v[3] = {sum->high, sum->low};
  GB_TRY(gb_comm_sum(c, v, 2, st, err));
  *sum = (gb_two_sums){v[0], v[1]};
  return GB_OK;
}

gb_status gb_kmeans_exchange (gb_kmeans_run *r, size_t n, double *rows, gb_status st, gb_error *err) {
  if (r->o->comm == NULL) return st;
  memcpy(r->sum, rows, n * r->d * sizeof *rows); /* bits: the others add zeros to them */
  GB_TRY(gb_comm_sum(r->o->comm, r->sum, n * r->d, st, err));
  memcpy(rows, r->sum, n * r->d * sizeof *rows);
  return GB_OK;
}

/* -- lists */

/* From rank to rank: each adds its own points to the list of those before it. */
gb_status gb_kmeans_merge (gb_kmeans_run *r, size_t most, gb_kmeans_keep *keep, size_t *have, gb_status st,
                           gb_error *err) {
  gb_comm *c = r->o->comm;
  GB_TRY(gb_comm_agree(c, st, err));
  if (c == NULL) return GB_OK;
  gb_far_point *count = r->all - 1; /* travels with the list */
  *count = (gb_far_point){0, 0};
  for (size_t rank = 0; rank < c->ranks; rank++) {
    if (rank == c->rank)
      for (size_t i = 0; i < *have; i++) keep(r->far[i], most, r->all, &count->row);
    GB_TRY(gb_comm_broadcast(c, rank, count, (most + 1) * sizeof *count, err));
  }
  *have = count->row;
  gb_far_point *own = r->far;
  r->far = r->all;
  r->all = own;
  return GB_OK;
}
