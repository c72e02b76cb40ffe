/* elkan.c - iterations that compute no distance which bounds tell. A point keeps its label where what it is at most apart from its
** centre is less than what it is at least apart from any other, by more than the sums that compare them can err: so labels are those
** of Lloyd's iterations, ties and all. Two bounds a point: Hamerly (2010), Making k-means even faster; the idea is of Elkan (2003),
** Using the triangle inequality to accelerate k-means. */
#include <math.h>

#include "cluster/kmeans_fit.h"

size_t gb_kmeans_bounds_bytes (const gb_kmeans_options *o, const gb_points *x) {
  return o->bounded ? 2 * x->n * sizeof(float) : 0;
}

/* The square root, rounded up to a float; 'd' squares were added. */
static float root_above (double square, size_t d) {
  const double root = sqrt(square * (1 + (double)(d + 8) * 0x1p-52));
  return root > 0 ? nextafterf((float)root, INFINITY) : 0;
}

/* The greatest move first; of equal ones the centre of the least number. */
static bool comes_before (const float *move, int32_t a, int32_t b) {
  return move[a] > move[b] || (move[a] == move[b] && a < b);
}

static void sift (const float *move, int32_t *heap, size_t n, size_t i) {
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && comes_before(move, heap[child], heap[child + 1])) child++;
    if (!comes_before(move, heap[i], heap[child])) return;
    const int32_t number = heap[i];
    heap[i] = heap[child];
    heap[child] = number;
  }
}

static void sort (const float *move, int32_t *order, size_t k) {
  for (size_t j = 0; j < k; j++) order[j] = (int32_t)j;
  for (size_t i = k / 2; i-- > 0;) sift(move, order, k, i);
  for (size_t n = k; n-- > 1;) {
    const int32_t last = order[0];
    order[0] = order[n];
    order[n] = last;
    sift(move, order, n, 0);
  }
}

static gb_drift drift_of (gb_kmeans_run *r, const double *before) {
  gb_drift drift = {.move = r->move, .order = r->order};
  for (size_t j = 0; j < r->k; j++) {
    double moved = 0, square = 0;
    for (size_t t = j * r->d; t < (j + 1) * r->d; t++) {
      const double gap = r->centre[t] - before[t];
      moved += gap * gap;
      square += r->centre[t] * r->centre[t];
    }
    drift.reach = fmax(drift.reach, square * (1 + (double)(r->d + 8) * 0x1p-52));
    r->move[j] = root_above(moved, r->d);
  }
  sort(r->move, r->order, r->k);
  return drift;
}

gb_status gb_kmeans_assign_bounded (gb_kmeans_run *r, const double *before, size_t *moved, gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, r->centre, r->k);
  const gb_drift drift = drift_of(r, before);
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    GB_TRY(GB_KMEANS_PASS(p, gb_kmeans_ops(p)->assign_bounded(p->device, &x, &c, &drift, r->q, p->label,
                                                              p->bounds, p->sums, moved, p->scratch, err)));
  }
  return GB_OK;
}

gb_status gb_kmeans_forget_bounds (gb_kmeans_run *r, gb_error *err) {
  for (size_t i = 0; i < r->nparts; i++) {
    const gb_kmeans_part *p = &r->part[i];
    GB_TRY(gb_memory_fill(&p->device->memory, p->bounds.upper, 0xff, 2 * p->x->n * sizeof(float),
                          err)); /* NaN */
  }
  return GB_OK;
}

gb_status gb_kmeans_forget_point (const gb_kmeans_part *p, size_t row, gb_error *err) {
  return gb_memory_fill(&p->device->memory, p->bounds.lower + row, 0xff, sizeof(float), err);
}
