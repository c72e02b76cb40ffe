/* bounded.c - the nearest centres of those points whose label their bounds leave a choice.
**
** Centres are packed in the order in which they moved, the farthest first. A point that was 'lower' apart at least from all centres but
** its own is compared only to those that moved so far that they can be nearer than its own: the first ones, often few. */
#include "cpu/cluster/pass.h"

_Static_assert(GB_CLUSTER_BLOCK <= GB_SCREEN, "a block is screened at once");

enum {
  TOGETHER = 16, /* blocks of a task at most: their points share tiles */
  QUEUES = 7     /* of points that wait to be compared to the first k / 64 centres, k / 32, .. k */
};

typedef struct bounded {
  pass p;
  const gb_drift *drift;
  gb_bounds bounds;
  gb_screen screen;
  gb_margins margins;
  size_t first[QUEUES]; /* centres that the points of a queue are compared to */
  float rest[QUEUES];   /* the greatest move of the others */
  size_t together;      /* blocks a task */
  bool worth;           /* to compute one distance first: all of them cost more by far */
} bounded;

/* Points that wait for a full tile. */
typedef struct queue {
  size_t n, point[GB_TI];
} queue;

/* A thread at its task. */
typedef struct worker {
  const bounded *b;
  gb_point_reader r;
  size_t thread;
  size_t tried,
      gained; /* points of which the distance was computed first, and those that it spared most others */
  queue queue[QUEUES];
} worker;

/* -- what bounds tell */

static float lowered (float lower, float by) { return (lower - by) * (1 - 0x1p-22f) - 0x1p-100f; }

/* The least bound, rounded up, that tells a point at most so far from its centre that another centre is farther. */
static double least_told (const bounded *b, double upper) {
  return sqrt(upper * (upper + b->screen.linear) + b->screen.constant) * (1 + 0x1p-20) + 0x1p-60;
}

/* Where all but the own centre were 'lower' apart, the queue whose centres alone can be nearer than the own one; -1: none can. */
static int queue_of (const bounded *b, float lower, double upper, int32_t own) {
  const double least = least_told(b, upper);
  int q = QUEUES - 1;
  if (!(lower > 0)) return q;
  while (q > 0 && (double)lowered(lower, b->rest[q - 1]) > least) q--;
  const float most = own == b->screen.farthest ? b->screen.next : b->screen.most;
  return q == 0 && (double)lowered(lower, most) > least ? -1 : q;
}

static bool is_compared (const bounded *b, size_t q, int32_t label) {
  if (q == QUEUES - 1) return true;
  const int32_t last = b->drift->order[b->first[q] - 1];
  const float *move = b->drift->move;
  return move[label] > move[last] || (move[label] == move[last] && label <= last);
}

/* -- tiles of points that wait */

/* Point 'row', at x, is number i of a tile of queue q. False: the label stays open, because its own centre was not among the centres
** compared and the bounds do not decide. */
static bool take (worker *w, const gb_two_nearest *near, size_t i, const void *x, size_t row, size_t q) {
  const bounded *b = w->b;
  const pass *p = &b->p;
  float *upper = &b->bounds.upper[row], *lower = &b->bounds.lower[row];
  const int32_t own = p->label[row], label = near->label[i];
  const float rest = q == QUEUES - 1 ? INFINITY : lowered(*lower, b->rest[q]);
  if (!is_compared(b, q, own)) {
    if (!((double)near->first[i] > least_told(b, (double)*upper))) return false;
    *lower = fminf(near->first[i], rest);
    return true;
  }
  *upper = near->upper[i];
  *lower = q == QUEUES - 1 ? near->lower[i] : fminf(near->lower[i], rest);
  if (label == own) return true;
  move_point(p, x, row, label, p->sums + w->thread * p->k * (p->d + 1));
  count_of(p, w->thread)->moved++;
  return true;
}

static void wait (worker *w, size_t q, size_t row);

static void settle (worker *w, size_t q) {
  const bounded *b = w->b;
  const queue now = w->queue[q];
  gb_two_nearest near;
  w->queue[q].n = 0;
  if (now.n == 0) return;
  for (size_t i = 0; i < w->r.lanes; i++) gb_put_point(&w->r, now.point[i < now.n ? i : now.n - 1], i);
  gb_turn_rows(&w->r);
  b->p.isa->nearest_two(b->first[q], b->p.d, w->r.tile, b->p.centres, b->drift->order, &b->margins, &near);
  bool told[GB_TI];
  for (size_t i = 0; i < now.n; i++)
    told[i] = take(w, &near, i, (const char *)w->r.rows + i * b->p.d * b->p.size, now.point[i], q);
  for (size_t i = 0; i < now.n; i++)
    if (!told[i]) wait(w, QUEUES - 1, now.point[i]);
}

static void wait (worker *w, size_t q, size_t row) {
  queue *to = &w->queue[q];
  to->point[to->n++] = row;
  if (to->n == w->r.lanes) settle(w, q);
}

/* All points of a block, where they lie. */
static void settle_block (worker *w, size_t block) {
  const bounded *b = w->b;
  gb_point_reader r = w->r;
  gb_two_nearest near;
  r.end = end_of(b->p.x, block);
  for (size_t i = block * GB_CLUSTER_BLOCK; i < r.end; i += r.lanes) {
    const gb_point_rows rows = gb_read_tile(&r, i);
    b->p.isa->nearest_two(b->p.k, b->p.d, r.tile, b->p.centres, b->drift->order, &b->margins, &near);
    for (size_t n = 0; n < rows.n; n++) take(w, &near, n, gb_point_of(&r, &rows, n), i + n, QUEUES - 1);
  }
}

/* -- blocks */

/* One distance first: of few points it spares nothing while centres still move far. */
static void look_at (worker *w, size_t row) {
  const bounded *b = w->b;
  const int32_t own = b->p.label[row];
  float *lower = &b->bounds.lower[row];
  const void *x = gb_point_at(&w->r, row);
  const double square = b->p.isa->square_apart(b->p.d, x, b->p.shift, b->p.centre + (size_t)own * b->p.d);
  const double upper = sqrt(square) * (1 + 0x1p-20) + 0x1p-100;
  const int q = queue_of(b, *lower, upper, own);
  b->bounds.upper[row] = (float)(upper * (1 + 0x1p-22));
  w->tried++;
  w->gained += q < QUEUES - 1;
  if (q >= 0) wait(w, (size_t)q, row);
  else *lower = lowered(*lower, own == b->screen.farthest ? b->screen.next : b->screen.most);
}

static void bounded_task (void *ud, gb_tasks *s, size_t task, int thread) {
  const bounded *b = ud;
  const gb_points *x = b->p.x;
  (void)s;
  worker w = {.b = b, .r = reader_of(&b->p, (size_t)thread), .thread = (size_t)thread};
  const size_t last = (task + 1) * b->together, all = blocks(x);
  uint16_t open[GB_CLUSTER_BLOCK];
  for (size_t block = task * b->together; block < last && block < all; block++) {
    const size_t first = block * GB_CLUSTER_BLOCK, n = end_of(x, block) - first;
    const size_t found = gb_isa_active->screen(&b->screen, n, b->p.label + first, b->bounds.upper + first,
                                               b->bounds.lower + first, open);
    const bool look = b->worth && b->p.label[first] >= 0 && (w.tried < 256 || 4 * w.gained >= w.tried);
    if (!look && 2 * found >= n) settle_block(&w, block);
    else
      for (size_t o = 0; o < found; o++) {
        if (look) look_at(&w, first + open[o]);
        else wait(&w, QUEUES - 1, first + open[o]);
      }
  }
  for (size_t q = 0; q < QUEUES; q++) settle(&w, q);
}

/* -- the pass */

static void set_queues (bounded *b) {
  for (size_t q = 0; q < QUEUES; q++) {
    const size_t n = ((b->p.k >> (QUEUES - 1 - q)) + GB_CENTRES - 1) / GB_CENTRES * GB_CENTRES;
    b->first[q] = q == QUEUES - 1 || n > b->p.k ? b->p.k : n > 0 ? n : GB_CENTRES;
    b->rest[q] = b->first[q] < b->p.k ? b->drift->move[b->drift->order[b->first[q]]] : 0;
  }
}

/* By order, whole groups at a time, by way of the memory of a tile. */
static void pack_centres (const bounded *b) {
  const pass *p = &b->p;
  double *some = reader_of(p, 0).tile;
  for (size_t j = 0; j < p->k; j += GB_CENTRES) {
    const size_t n = p->k - j < GB_CENTRES ? p->k - j : GB_CENTRES;
    for (size_t i = 0; i < n; i++)
      memcpy(some + i * p->d, p->centre + (size_t)b->drift->order[j + i] * p->d, p->d * sizeof *some);
    p->isa->group_centres(n, p->d, some, p->centres + j * (p->d + 1) * p->size);
  }
}

gb_status gb_assign_bounded (gb_device *dev, const gb_points *x, const gb_centres *c, const gb_drift *drift,
                             gb_quanta q, int32_t *label, gb_bounds bounds, int64_t *sums, size_t *moved,
                             void *scratch, gb_error *err) {
  bounded b = {.p = open_pass(dev, x, c, scratch), .drift = drift, .bounds = bounds};
  const double n = (double)x->n, d = (double)x->d, k = (double)c->k;
  const size_t share = blocks(x) / (4 * workers(dev));
  b.p.q = q, b.p.label = label, b.p.sums = sums, b.p.centre = c->centre;
  b.worth = k * (d + 4) >= 4096;
  b.together = share < 1 ? 1 : share < TOGETHER ? share : TOGETHER;
  b.margins = gb_margins_of(drift, gb_points_compute(x->dtype), x->d);
  b.screen = gb_screen_of(drift, gb_points_compute(x->dtype), c->k, x->d);
  set_queues(&b);
  pack_centres(&b);
  GB_TRY(gb_tasks_run(gb_pool_for(dev->pool, n * d * (k + 1)), (blocks(x) + b.together - 1) / b.together,
                      bounded_task, &b, err));
  for (size_t w = 0; w < workers(dev); w++) *moved += count_of(&b.p, w)->moved;
  return GB_OK;
}
