/* totals.c - what goes by clusters, not by points: centres are packed, sums of threads become one, and whatever the fit does to each. */
#include "cpu/cluster/pass.h"

#define RUN ((size_t)8192) /* elements of a task */

/* -- centres */

/* Centres of a task: whole groups of them. */
static size_t centres_of_run (size_t d) {
  const size_t groups = RUN / (GB_CENTRES * d);
  return GB_CENTRES * (groups > 0 ? groups : 1);
}

static void pack_task (void *ud, gb_tasks *s, size_t run, int thread) {
  const pass *p = ud;
  const size_t some = centres_of_run(p->d), first = run * some, left = p->k - first;
  (void)s, (void)thread;
  p->isa->group_centres(left < some ? left : some, p->d, p->centre + first * p->d,
                        p->centres + first * (p->d + 1) * p->size);
}

gb_status gb_pack_centres (const gb_device *dev, pass *p, gb_error *err) {
  const size_t some = centres_of_run(p->d);
  gb_pool *pool = gb_pool_for(dev->pool, 4 * (double)p->k * (double)p->d);
  return gb_tasks_run(pool, (p->k + some - 1) / some, pack_task, p, err);
}

/* -- sums */

typedef struct totals {
  size_t n, workers;
  const int64_t *sums;
  int64_t *out;
} totals;

static void gather_task (void *ud, gb_tasks *s, size_t run, int thread) {
  const totals *t = ud;
  const size_t from = run * RUN, to = from + RUN < t->n ? from + RUN : t->n;
  (void)s, (void)thread;
  for (size_t w = 0; w < t->workers; w++)
    for (size_t i = from; i < to; i++) t->out[i] += t->sums[w * t->n + i];
}

gb_status gb_gather_sums (gb_device *dev, size_t k, size_t d, const int64_t *sums, int64_t *out,
                          gb_error *err) {
  totals t = {k * (d + 1), workers(dev), sums, out};
  gb_pool *pool = gb_pool_for(dev->pool, (double)t.n * (double)t.workers);
  return gb_tasks_run(pool, (t.n + RUN - 1) / RUN, gather_task, &t, err);
}

/* -- each */

typedef struct parts {
  size_t n, threads;
  void (*part)(void *ud, size_t i);
  void *ud;
} parts;

static void take_parts (void *ud, int thread) {
  const parts *p = ud;
  for (size_t i = (size_t)thread; i < p->n; i += p->threads) p->part(p->ud, i);
}

void gb_each_part (gb_device *dev, size_t n, double work, void (*part)(void *ud, size_t i), void *ud) {
  gb_pool *pool = gb_pool_for(dev->pool, work);
  parts p = {n, (size_t)gb_pool_threads(pool), part, ud};
  if (pool == NULL) take_parts(&p, 0);
  else gb_pool_run(pool, take_parts, &p);
}
