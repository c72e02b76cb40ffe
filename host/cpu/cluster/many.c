/* many.c - seeds by the thousand: the nearest of them, points drawn in proportion to their potentials, the weight that seeds stand for. */
#include "base/rng.h"
#include "cpu/cluster/pass.h"

typedef struct many {
  pass p;
  int32_t number; /* of the first centre */
} many;

static void nearer_task (void *ud, gb_tasks *s, size_t block, int thread) {
  const many *m = ud;
  const pass *p = &m->p;
  (void)s;
  const gb_point_reader r = block_reader(p, (size_t)thread, block);
  gb_point_rows rows[GB_NEAREST_TILES];
  int32_t label[GB_NEAREST_TILES * GB_MOST_LANES];
  gb_next_bytes next;
  int64_t sum = 0;
  for (size_t first = block * GB_CLUSTER_BLOCK, tiles; first < r.end; first += tiles * r.lanes) {
    tiles = gb_read_tiles(&r, first, rows, &next);
    p->isa->nearest(p->k, p->d, tiles, r.tile, p->centres, next, label);
    for (size_t t = 0; t < tiles; t++)
      for (size_t n = 0; n < rows[t].n; n++) {
        const size_t i = first + t * r.lanes + n;
        const int32_t at = label[t * r.lanes + n];
        put(p, distances_of(p, (size_t)thread), 0,
            p->isa->square_apart(p->d, gb_point_of(&r, &rows[t], n), p->shift,
                                 p->centre + (size_t)at * p->d));
        const double got = get(p, distances_of(p, (size_t)thread), 0);
        if (p->first || got < get(p, p->near, i)) put(p, p->near, i, got), p->label[i] = m->number + at;
        sum += potential(p, i, get(p, p->near, i));
      }
  }
  p->block[block] = sum;
}

gb_status gb_come_nearer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                          int32_t first, bool fresh, void *near, int32_t *label, int64_t *block,
                          void *scratch, gb_error *err) {
  many m = {.p = open_pass(dev, x, c, scratch), .number = first};
  m.p.scale = scale, m.p.first = fresh, m.p.near = near, m.p.label = label, m.p.block = block,
  m.p.centre = c->centre;
  m.p.isa->group_centres(c->k, x->d, c->centre, m.p.centres);
  return gb_tasks_run(gb_pool_for(dev->pool, (double)x->n * (double)x->d * (double)(c->k + 1)), blocks(x),
                      nearer_task, &m, err);
}

gb_status gb_draw_lots (gb_device *dev, const gb_points *x, double scale, const void *near,
                        const gb_stream *s, double share, gb_take_point *take, void *ud, gb_error *err) {
  const pass p = {.x = x, .size = gb_dtype_size(gb_points_compute(x->dtype)), .scale = scale};
  (void)dev, (void)err;
  for (size_t i = 0; i < x->n; i++) {
    const int64_t q = potential(&p, i, get(&p, near, i));
    if (q <= 0) continue;
    const double lot = gb_rand_uniform(s->seed, s->stream, s->base + i) / (share * (double)q);
    if (lot < 1) take(ud, (gb_far_point){s->base + i, lot});
  }
  return GB_OK;
}

gb_status gb_tally_labels (gb_device *dev, const gb_points *x, const int32_t *label, double scale, size_t n,
                           int64_t *out, gb_error *err) {
  (void)dev, (void)n, (void)err;
  for (size_t i = 0; i < x->n; i++) out[label[i]] += quanta_of(weight_of(x, i) * scale);
  return GB_OK;
}
