/* cluster.c - passes over points on the CPU. */
#include "cpu/cluster/pass.h"

#define TASKS 16 /* of a thread, where points are assigned */

static size_t scratch_bytes (const gb_device *dev, gb_dtype compute, size_t k, size_t d) {
  const size_t size = gb_dtype_size(compute);
  return rounded(d * size) + rounded(k * (d + 1) * size) + workers(dev) * room_bytes(compute, d);
}

static gb_status run_tasks (gb_device *dev, pass *p, size_t n, gb_task *task, gb_error *err) {
  const double work = (double)p->x->n * (double)p->d * (double)(p->k + 1);
  return gb_tasks_run(gb_pool_for(dev->pool, work), n, task, p, err);
}

/* A task for each block of points. */
static gb_status run (gb_device *dev, pass *p, gb_task *task, gb_error *err) {
  return run_tasks(dev, p, blocks(p->x), task, err);
}

/* -- range */

static void range_task (void *ud, gb_tasks *s, size_t block, int thread) {
  const pass *p = ud;
  (void)s;
  count *c = count_of(p, (size_t)thread);
  const gb_point_reader r = block_reader(p, (size_t)thread, block);
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i += r.lanes) {
    const gb_point_rows rows = gb_read_points(&r, i);
    c->bad |= !p->isa->bounds(rows.n, p->d, rows.at, rows.step, bounds_of(p, (size_t)thread),
                              most_of(p, (size_t)thread));
  }
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i++) {
    const double w = weight_of(p->x, i);
    c->bad |= !(w >= 0 && w < INFINITY);
    c->weight = fmax(c->weight, w);
  }
}

/* SIZE_MAX: nothing is wrong with the point. */
static size_t bad_column (const pass *p, size_t row, const void *point) {
  const gb_points *x = p->x;
  const double weight = weight_of(x, row);
  for (size_t t = 0; t < p->d; t++)
    if (!isfinite(x->unit ? gb_coordinate(x, row, t) : get(p, point, t))) return t;
  if (!(weight >= 0 && weight < INFINITY)) return p->d;
  return isfinite(get(p, point, 0)) ? SIZE_MAX : p->d + 1;
}

/* By rows, and within one by columns. */
static gb_bad_point first_bad (const pass *p) {
  gb_point_reader r = reader_of(p, 0);
  for (size_t i = 0; i < p->x->n; i += r.lanes) {
    const gb_point_rows rows = gb_read_points(&r, i);
    for (size_t n = 0; n < rows.n; n++) {
      const size_t column = bad_column(p, i + n, gb_point_of(&r, &rows, n));
      if (column != SIZE_MAX) return (gb_bad_point){i + n, column};
    }
  }
  return (gb_bad_point){SIZE_MAX, 0};
}

static gb_status range (gb_device *dev, const gb_points *x, double *least, double *most, double *weight,
                        gb_bad_point *bad, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, NULL, scratch);
  bool any = false;
  for (size_t w = 0; w < workers(dev); w++)
    for (size_t t = 0; t < x->d; t++)
      put(&p, bounds_of(&p, w), t, INFINITY), put(&p, most_of(&p, w), t, -INFINITY);
  GB_TRY(run(dev, &p, range_task, err));
  for (size_t w = 0; w < workers(dev); w++) {
    any |= count_of(&p, w)->bad;
    *weight = fmax(*weight, count_of(&p, w)->weight);
    for (size_t t = 0; t < x->d; t++) {
      least[t] = fmin(least[t], get(&p, bounds_of(&p, w), t));
      most[t] = fmax(most[t], get(&p, most_of(&p, w), t));
    }
  }
  *bad = any ? first_bad(&p) : (gb_bad_point){SIZE_MAX, 0};
  return GB_OK;
}

/* -- assign */

/* Labels of the points of some tiles; those that change move from one sum to another. */
static void take_labels (const pass *p, const gb_point_reader *r, const gb_point_rows *rows, size_t tiles,
                         size_t first, const int32_t *label, int64_t *sums, size_t *moved) {
  int32_t changed[GB_MOST_LANES + GB_SPARE];
  for (size_t t = 0; t < tiles; t++, first += r->lanes, label += r->lanes) {
    const size_t n = gb_isa_active->differing(rows[t].n, label, p->label + first, changed);
    if (n > 0 && sums == NULL) memcpy(p->label + first, label, rows[t].n * sizeof *label);
    else if (n > 0) move_points(p, &rows[t], first, n, changed, label, sums);
    *moved += n;
  }
}

/* Of one centre alone nothing is computed. */
static size_t find_labels (const pass *p, const gb_point_reader *r, size_t first, gb_point_rows *rows,
                           int32_t *label) {
  gb_next_bytes next;
  if (p->k == 1) {
    *rows = gb_read_points(r, first);
    memset(label, 0, rows->n * sizeof *label);
    return 1;
  }
  const size_t tiles = gb_read_tiles(r, first, rows, &next);
  p->isa->nearest(p->k, p->d, tiles, r->tile, p->centres, next, label);
  return tiles;
}

/* Points of a task: whole groups of tiles, of a block at most, and few where there are few points, so that all threads have a share. */
static size_t rows_of_task (const gb_device *dev, const pass *p) {
  const size_t group = GB_NEAREST_TILES * p->isa->cluster_lanes;
  const size_t groups = p->x->n / (group * workers(dev) * TASKS), most = GB_CLUSTER_BLOCK / group;
  return group * (groups < 1 ? 1 : groups < most ? groups : most);
}

static void assign_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const pass *p = ud;
  (void)s;
  gb_point_reader r = reader_of(p, (size_t)thread);
  const size_t first = task * p->task;
  int64_t *sums = p->sums == NULL ? NULL : p->sums + (size_t)thread * p->k * (p->d + 1);
  gb_point_rows rows[GB_NEAREST_TILES];
  int32_t label[GB_NEAREST_TILES * GB_MOST_LANES];
  if (first + p->task < r.end) r.end = first + p->task;
  for (size_t i = first, tiles; i < r.end; i += tiles * r.lanes) {
    tiles = find_labels(p, &r, i, rows, label);
    take_labels(p, &r, rows, tiles, i, label, sums, &count_of(p, (size_t)thread)->moved);
  }
}

static gb_status assign (gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, int32_t *label,
                         int64_t *sums, size_t *moved, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, c, scratch);
  p.q = q, p.label = label, p.sums = sums, p.centre = c->centre;
  p.task = rows_of_task(dev, &p);
  GB_TRY(gb_pack_centres(dev, &p, err));
  GB_TRY(run_tasks(dev, &p, (x->n + p.task - 1) / p.task, assign_task, err));
  for (size_t w = 0; w < workers(dev); w++) *moved += count_of(&p, w)->moved;
  return GB_OK;
}

/* -- spread */

static void spread_task (void *ud, gb_tasks *s, size_t block, int thread) {
  const pass *p = ud;
  (void)s;
  const gb_point_reader r = block_reader(p, (size_t)thread, block);
  double apart[GB_MOST_LANES] __attribute__((aligned(64)));
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i += r.lanes) {
    const gb_point_rows rows = gb_read_points(&r, i);
    p->isa->squares(rows.n, p->d, rows.at, rows.step, p->shift, p->centre, p->label + i, apart);
    if (p->x->weight != NULL)
      for (size_t n = 0; n < rows.n; n++) apart[n] *= p->x->weight[i + n];
    gb_isa_active->add_twice(rows.n, apart, p->scale, &count_of(p, (size_t)thread)->spread);
  }
}

static gb_status spread (gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                         double scale, gb_two_sums *out, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, c, scratch);
  p.centre = c->centre, p.scale = scale;
  p.label = (int32_t *)label; /* which is only read */
  GB_TRY(run(dev, &p, spread_task, err));
  for (size_t w = 0; w < workers(dev); w++) {
    out->high += count_of(&p, w)->spread.high;
    out->low += count_of(&p, w)->spread.low;
  }
  return GB_OK;
}

/* -- single points */

/* The point as T lies where it becomes doubles, the last one first. */
static gb_status read_point (gb_device *dev, const gb_points *x, const double *shift, size_t row, double *out,
                             gb_error *err) {
  const bool wide = gb_points_compute(x->dtype) == GB_F64;
  (void)dev, (void)err;
  gb_copy_point(x, row, out);
  for (size_t t = x->d; t-- > 0;) {
    float v;
    memcpy(&v, (const char *)out + t * sizeof v, sizeof v);
    out[t] = wide ? out[t] - shift[t] : (double)(v - (float)shift[t]);
  }
  return GB_OK;
}

static gb_status farthest (gb_device *dev, const gb_points *x, const gb_centres *c, const int32_t *label,
                           size_t first, size_t most, gb_far_point *far, size_t *have, void *scratch,
                           gb_error *err) {
  const pass p = open_pass(dev, x, c, scratch);
  const gb_point_reader r = reader_of(&p, 0);
  (void)err;
  for (size_t i = 0; i < x->n; i += r.lanes) {
    const gb_point_rows rows = gb_read_points(&r, i);
    for (size_t n = 0; n < rows.n; n++) {
      const double *centre = c->centre + (size_t)label[i + n] * p.d;
      const double apart = p.isa->square_apart(p.d, gb_point_of(&r, &rows, n), p.shift, centre);
      if (weight_of(x, i + n) > 0) gb_keep_far((gb_far_point){first + i + n, apart}, most, far, have);
    }
  }
  return GB_OK;
}

static gb_status relabel (gb_device *dev, const gb_points *x, const gb_centres *c, gb_quanta q, size_t row,
                          int32_t to, int32_t *label, int64_t *sums, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, c, scratch);
  const gb_point_reader r = reader_of(&p, 0);
  const gb_point_rows rows = gb_read_points(&r, row);
  (void)err;
  p.q = q, p.label = label;
  move_point(&p, gb_point_of(&r, &rows, 0), row, to, sums);
  return GB_OK;
}

/* -- seeds */

/* The seeds as rows of T. */
static void put_seeds (pass *p, const gb_centres *c) {
  for (size_t i = 0; i < c->k * p->d; i++) put(p, p->centres, i, c->centre[i]);
}

static void closer_task (void *ud, gb_tasks *s, size_t block, int thread) {
  const pass *p = ud;
  (void)s;
  const gb_point_reader r = block_reader(p, (size_t)thread, block);
  char *apart = distances_of(p, (size_t)thread);
  int64_t sum = 0;
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i += r.lanes) {
    const gb_point_rows rows = gb_read_tile(&r, i);
    if (p->k > 0) p->isa->apart(p->d, r.tile, p->centres, apart);
    for (size_t n = 0; n < rows.n; n++) {
      const double got = p->k > 0 ? get(p, apart, n) : 1;
      if (p->first || got < get(p, p->near, i + n)) put(p, p->near, i + n, got);
      sum += potential(p, i + n, get(p, p->near, i + n));
    }
  }
  p->block[block] = sum;
}

static gb_status closer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale, bool first,
                         void *near, int64_t *block, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, c, scratch);
  p.scale = scale, p.first = first, p.near = near, p.block = block;
  put_seeds(&p, c);
  return run(dev, &p, closer_task, err);
}

static void potentials_task (void *ud, gb_tasks *s, size_t block, int thread) {
  const pass *p = ud;
  (void)s;
  const gb_point_reader r = block_reader(p, (size_t)thread, block);
  char *apart = distances_of(p, (size_t)thread);
  int64_t *total = count_of(p, (size_t)thread)->total;
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i += r.lanes) {
    const gb_point_rows rows = gb_read_tile(&r, i);
    for (size_t j = 0; j < p->k; j++) {
      p->isa->apart(p->d, r.tile, p->centres + j * p->d * p->size, apart);
      for (size_t n = 0; n < rows.n; n++)
        total[j] += potential(p, i + n, fmin(get(p, apart, n), get(p, p->near, i + n)));
    }
  }
}

static gb_status potentials (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                             const void *near, int64_t *total, void *scratch, gb_error *err) {
  pass p = open_pass(dev, x, c, scratch);
  p.scale = scale;
  p.near = (char *)near; /* which is only read */
  put_seeds(&p, c);
  GB_TRY(run(dev, &p, potentials_task, err));
  for (size_t w = 0; w < workers(dev); w++)
    for (size_t j = 0; j < c->k; j++) total[j] += count_of(&p, w)->total[j];
  return GB_OK;
}

static gb_status pick (gb_device *dev, const gb_points *x, size_t block, double scale, const void *near,
                       int64_t target, size_t *row, gb_error *err) {
  const pass p = {.x = x, .size = gb_dtype_size(gb_points_compute(x->dtype)), .scale = scale};
  int64_t sum = 0;
  (void)dev, (void)err;
  for (size_t i = block * GB_CLUSTER_BLOCK; i < end_of(x, block); i++) {
    const int64_t q = potential(&p, i, get(&p, near, i));
    if (q > 0) *row = i;
    if ((sum += q) > target) break;
  }
  return GB_OK;
}

const gb_cluster_ops gb_cpu_cluster_ops = {.unit_rows = true,
                                           .workers = workers,
                                           .scratch = scratch_bytes,
                                           .range = range,
                                           .assign = assign,
                                           .assign_bounded = gb_assign_bounded,
                                           .gather = gb_gather_sums,
                                           .each = gb_each_part,
                                           .spread = spread,
                                           .closer = closer,
                                           .potentials = potentials,
                                           .pick = pick,
                                           .read = read_point,
                                           .farthest = farthest,
                                           .relabel = relabel,
                                           .nearer = gb_come_nearer,
                                           .lots = gb_draw_lots,
                                           .tally = gb_tally_labels};
