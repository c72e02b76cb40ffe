/* cost.c - what a fold does: its instructions by the level they run at, its outputs, and the bytes it
** moves. */
#include "cpu/price/cost.h"

#include <math.h>

#define NEAR_BYTES 262144.0 /* what the figures near, middle and far were measured with */
#define MIDDLE_BYTES 8388608.0
#define FAR_BYTES 67108864.0
#define FRESH_BYTES 33554432.0 /* results from here on are mapped anew */
#define ALONE 1e5              /* instructions below which one thread runs a fold */
#define MOST_CHAINED 4         /* columns that need no tile */

/* -- threads and memory */

/* A figure of one thread and of all, in between. */
static double between (const gb_cpu_profile *r, int threads, double one, double all) {
  if (threads <= 1 || r->threads <= 1) return one;
  return one + (all - one) * fmin(1, (threads - 1) / (r->threads - 1));
}

double gb_cost_speed (const gb_cpu_profile *r, int threads, double tasks) {
  if (threads <= 1 || tasks <= 1) return 1;
  const double used = fmin(threads, tasks),
               each = r->threads > 1 ? (r->device.scaling - 1) / (r->threads - 1) : 1;
  return fmax(1, (1 + (used - 1) * fmax(0, each)) * tasks / used / ceil(tasks / used));
}

/* Seconds a byte at 'bytes' between two sizes where it is known. */
static double slope (double bytes, double from, double to, double near, double far) {
  const double at = fmin(1, fmax(0, log(fmax(bytes, 1) / from) / log(to / from)));
  return (1 - at) / near + at / far;
}

/* Bytes a second where so many are touched: of the cache that holds them, and in between. */
static double rate_of (const gb_cpu_profile *r, int threads, double bytes, double one, double all) {
  const double far = between(r, threads, one, all), middle = fmax(far, r->middle),
               near = fmax(middle, r->near);
  return 1 / (bytes < MIDDLE_BYTES ? slope(bytes, NEAR_BYTES, MIDDLE_BYTES, near, middle)
                                   : slope(bytes, MIDDLE_BYTES, FAR_BYTES, middle, far));
}

double gb_cost_bytes (const gb_cpu_profile *r, int threads, double bytes) {
  return bytes / rate_of(r, threads, bytes, r->read, r->read_all);
}

double gb_cost_write (const gb_cpu_profile *r, int threads, double bytes) {
  return bytes / rate_of(r, threads, bytes, r->write, r->write_all);
}

double gb_cost_map (const gb_cpu_profile *r, int threads, double bytes) {
  return bytes < FRESH_BYTES ? 0 : bytes / between(r, threads, r->fresh, r->fresh_all);
}

/* -- the domain */

typedef struct domain {
  const gb_cpu_profile *r;
  const gb_type_profile *t;
  const gb_fold *f;
  gb_axes lane, tile;                /* bits; 0 = none */
  double lanes, rows, outer, supers; /* lanes rounded up to whole blocks */
  double full, mirrored; /* (LANE, TILE) points of one outer index visited; how many of them twice over */
  double compute;        /* seconds of one thread so far */
} domain;

static gb_axes bit (int axis) { return axis < 0 ? 0 : (gb_axes)1 << axis; }
static double extent (const gb_fold *f, int axis) { return axis < 0 ? 1 : (double)f->axis[axis].extent; }

static domain domain_of (const gb_cpu_profile *r, const gb_fold *f) {
  domain d = {.r = r, .t = gb_cost_type(r, f->compute), .f = f, .lanes = 1, .rows = 1, .outer = 1};
  for (int a = 0; a < f->naxes; a++) {
    if (f->axis[a].role == GB_AXIS_LANE) d.lane = bit(a), d.lanes = extent(f, a);
    if (f->axis[a].role == GB_AXIS_TILE) d.tile = bit(a), d.rows = extent(f, a);
    if (f->axis[a].role == GB_AXIS_OUTER) d.outer *= extent(f, a);
  }
  d.lanes = GB_TI * ceil(d.lanes / GB_TI);
  d.supers = ceil(d.lanes / GB_SUPER);
  d.full = f->symmetric ? (d.lanes * d.lanes + d.lanes * GB_TI) / 2 : d.lanes * d.rows;
  d.mirrored = f->symmetric ? d.full - fmin(d.full, d.lanes * GB_TI) : 0;
  return d;
}

/* How often a value of this dependence set is computed, loops over INNER axes aside. Values of one side
** are computed for every block of lanes, or for every super-tile. */
static double points (const domain *d, gb_axes deps) {
  const bool lane = (deps & d->lane) != 0, tile = (deps & d->tile) != 0;
  const double each = lane && tile ? d->full : lane ? d->lanes : tile ? d->rows * d->supers : 1;
  return d->outer * each;
}

/* -- instructions */

/* The instruction that makes value v. */
static const gb_ins *maker (const domain *d, int v) {
  for (int n = 0; v >= 0 && n < d->f->nins; n++)
    if (d->f->ins[n].dst == v) return &d->f->ins[n];
  return NULL;
}

static bool is_plain_front (const domain *d, const gb_ins *front) {
  return front != NULL && front->kind == GB_INS_SQDIST && front->w < 0 && (front->deps & d->lane) != 0 &&
         (front->deps & d->tile) != 0;
}

/* Whether i is a plain profile of a distance, computed with it in one pass. */
static bool is_fused_radial (const domain *d, const gb_ins *i) {
  return i->kind == GB_INS_RADIAL && i->order == 0 && i->dalpha == 0 && is_plain_front(d, maker(d, i->a));
}

static double front_cost (const domain *d, const gb_ins *front, const gb_ins *profile, double columns) {
  return d->t->fused[profile->profile] +
         1 / gb_cpu_profile_bound(d->r, d->f->compute, extent(d->f, front->axis), columns);
}

static int readers (const domain *d, int v) {
  int count = 0;
  for (int n = 0; n < d->f->nins; n++) {
    const gb_ins *i = &d->f->ins[n];
    count += (i->a == v) + (i->b == v) + (i->c == v);
  }
  return count;
}

/* Whether the only reader of this distance computes it in its own pass. */
static bool has_fused_reader (const domain *d, const gb_ins *front) {
  for (int n = 0; n < d->f->nins; n++)
    if (d->f->ins[n].a == front->dst && is_fused_radial(d, &d->f->ins[n])) return readers(d, front->dst) == 1;
  return false;
}

static bool is_free (gb_ins_kind kind) { return kind == GB_INS_CONST || kind == GB_INS_BIND; }

static double cost_of_load (const domain *d, const gb_ins *i) {
  if ((i->deps & d->lane) == 0) return 0;
  if (d->tile == 0) return d->t->strip_load;
  if ((i->deps & d->tile) == 0) return 0;
  return d->f->operand[i->x].stride[__builtin_ctz(d->lane)] == 1 ? d->t->load : d->t->load_across;
}

static double cost_of_ins (const domain *d, const gb_ins *i) {
  const gb_type_profile *t = d->t;
  const double pass = d->tile == 0 ? t->pass : 0, n = extent(d->f, i->axis);
  switch (i->kind) {
    case GB_INS_LOAD: return cost_of_load(d, i);
    case GB_INS_IOTA: return t->map[GB_OP_ADD] + pass;
    case GB_INS_RAND: return i->profile == 0 ? t->rand : t->randn;
    case GB_INS_MAP: return t->map[i->op] + pass;
    case GB_INS_SQDIST:
      return t->sqdist + n * (t->sqdist_feature + (i->w >= 0 ? t->map[GB_OP_MUL] / 2 : 0)) + pass;
    case GB_INS_DOT: return t->dot + n * t->dot_feature + pass;
    case GB_INS_RADIAL:
      if (is_fused_radial(d, i) && readers(d, i->a) == 1) return front_cost(d, maker(d, i->a), i, 0);
      return (i->dalpha ? t->radial_alpha : t->radial[i->profile][i->order]) + pass;
    case GB_INS_ACC: return (i->monoid < GB_LSE ? t->map[GB_OP_ADD] : t->reduce[i->monoid]) + pass;
    default: return 0;
  }
}

/* What the instructions of the loop that begins at n depend on together. */
static gb_axes loop_deps (const gb_fold *f, int n) {
  gb_axes deps = 0;
  int depth = 0;
  do {
    const gb_ins *i = &f->ins[n];
    if (i->kind == GB_INS_LOOP) depth++;
    else if (i->kind == GB_INS_ENDLOOP) depth--;
    else deps |= i->deps;
  } while (++n < f->nins && depth > 0);
  return deps;
}

/* -- outputs */

/* Seconds a value that is handed to the output, and a mirrored value more. */
static double cost_of_sink (const domain *d, const gb_out *o, bool mirror) {
  const gb_type_profile *t = d->t;
  const bool strip = d->tile == 0, lane = (o->reduced & d->lane) != 0 || mirror,
             tile = (o->reduced & d->tile) != 0;
  const double columns = extent(d->f, o->axis),
               kept = columns > MOST_CHAINED ? t->contract_many + columns * t->column_many : 0;
  if (!lane && !tile) return strip ? t->strip_store : t->store;
  if (o->kind == GB_OUT_DIFF) return columns * (lane ? t->diff_col : t->diff_row);
  if (o->kind == GB_OUT_CONTRACT && lane && tile && !mirror)
    return columns * (t->map[GB_OP_MUL] + t->reduce_all + t->pass);
  if (o->kind == GB_OUT_CONTRACT && lane) return t->contract_col + columns * t->column_col;
  if (o->kind == GB_OUT_CONTRACT)
    return fmax(kept, t->contract_row + fmin(columns, MOST_CHAINED) * t->column_row);
  const double sum = !lane ? 0 : tile && !mirror ? t->reduce_all : t->reduce_col;
  return lane ? sum + (o->monoid < GB_LSE ? 0 : t->reduce[o->monoid]) : t->reduce[o->monoid];
}

static void add_emit (domain *d, const gb_ins *i, double times) {
  const gb_out *o = &d->f->out[i->x];
  const double visited = d->outer * d->full * times;
  d->compute += visited * cost_of_sink(d, o, false);
  if (d->mirrored > 0) d->compute += d->outer * d->mirrored * times * cost_of_sink(d, o, true);
}

/* A profile of a plain distance handed to one row sum: a template runs it. */
static const gb_ins *fused_profile (const domain *d) {
  const gb_ins *front = NULL, *profile = NULL;
  const gb_out *o = &d->f->out[0];
  for (int n = 0; n < d->f->nins; n++) {
    const gb_ins *i = &d->f->ins[n];
    if ((i->deps & d->lane) == 0 || (i->deps & d->tile) == 0 || i->kind == GB_INS_EMIT) continue;
    if (i->kind == GB_INS_SQDIST && front == NULL && i->w < 0) front = i;
    else if (i->kind == GB_INS_RADIAL && front != NULL && profile == NULL && i->a == front->dst) profile = i;
    else return NULL;
  }
  if (profile == NULL || profile->order != 0 || profile->dalpha != 0 || d->f->nouts != 1 || d->tile == 0)
    return NULL;
  const bool sum = (o->kind == GB_OUT_REDUCE || o->kind == GB_OUT_CONTRACT) && o->monoid == GB_SUM;
  return sum && (o->reduced & d->tile) && !(o->reduced & d->lane) && extent(d->f, o->axis) == 1 ? profile
                                                                                                : NULL;
}

static void add_fused (domain *d, const gb_ins *profile) {
  const double each = front_cost(d, maker(d, profile->a), profile, 1);
  d->compute += d->outer * d->full * each * (d->f->symmetric ? d->t->fused_symmetric : 1);
}

/* Instructions of a loop run where the whole of it does, as often as it turns. */
static void add_instructions (domain *d) {
  double times[GB_FOLD_AXES + 1] = {1};
  gb_axes deps[GB_FOLD_AXES + 1] = {0};
  int depth = 0;
  for (int n = 0; n < d->f->nins; n++) {
    const gb_ins *i = &d->f->ins[n];
    if (i->kind == GB_INS_LOOP && depth < GB_FOLD_AXES) {
      times[depth + 1] = times[depth] * extent(d->f, i->axis);
      deps[depth + 1] = deps[depth] | loop_deps(d->f, n);
      depth++;
    } else if (i->kind == GB_INS_ENDLOOP && depth > 0) {
      d->compute += times[depth] * points(d, deps[depth]) * d->t->turn;
      depth--;
    } else if (i->kind == GB_INS_EMIT) add_emit(d, i, times[depth]);
    else if (i->kind == GB_INS_SQDIST && has_fused_reader(d, i)) continue;
    else if (!is_free(i->kind))
      d->compute += times[depth] * points(d, i->deps | deps[depth]) * cost_of_ins(d, i);
  }
}

/* -- bytes */

/* Elements that lie along 'axes'; those far apart bring a cache line each. */
static double bytes_of (const gb_fold *f, gb_axes axes, const ptrdiff_t *stride, gb_dtype dtype) {
  const double size = (double)gb_dtype_size(dtype);
  double count = 1, least = INFINITY;
  for (int a = 0; a < f->naxes; a++) {
    if ((axes >> a & 1) == 0 || f->axis[a].extent == 1) continue;
    count *= extent(f, a);
    least = fmin(least, fabs((double)stride[a]));
  }
  return count * size * (isinf(least) ? 1 : fmin(fmax(1, least), 64 / size));
}

/* Seconds that overlap with arithmetic; '*mapping': that do not. */
static double cost_of_memory (const domain *d, int threads, double *mapping) {
  const gb_fold *f = d->f;
  double read = 0, seconds = 0;
  *mapping = 0;
  for (int x = 0; x < f->noperands; x++) {
    gb_axes axes = 0;
    for (int a = 0; a < f->naxes; a++)
      if (f->operand[x].stride[a] != 0) axes |= bit(a);
    bool again = false; /* other operands of one buffer bring nothing new */
    for (int y = 0; y < x; y++) again |= f->operand[y].slot == f->operand[x].slot;
    if (!again) read += bytes_of(f, axes, f->operand[x].stride, f->operand[x].dtype);
  }
  for (int o = 0; o < f->nouts; o++) {
    gb_axes axes = 0;
    for (int a = 0; a < f->naxes; a++)
      if (f->out[o].stride[a] != 0) axes |= bit(a);
    const double bytes = bytes_of(f, axes, f->out[o].stride, f->out[o].dtype);
    seconds += gb_cost_write(d->r, threads, bytes);
    *mapping += gb_cost_map(d->r, threads, bytes);
  }
  return seconds + gb_cost_bytes(d->r, threads, read);
}

/* -- steps */

/* Parts that threads may take: super-tiles, or less where outputs share nothing. */
static double tasks_of (const domain *d) {
  bool shared = d->f->symmetric;
  for (int o = 0; o < d->f->nouts; o++) shared |= (d->f->out[o].reduced & d->lane) != 0;
  const double supers = d->supers * d->outer, blocks = d->lanes / GB_TI * d->outer;
  return shared ? supers : fmax(supers, fmin(blocks, 8));
}

double gb_cost_fold (const gb_cpu_profile *r, int threads, const gb_fold *f) {
  domain d = domain_of(r, f);
  const gb_ins *fused = fused_profile(&d);
  if (fused != NULL) add_fused(&d, fused);
  else add_instructions(&d);
  if (d.outer * d.full * (f->nins + 1) < ALONE) threads = 1;
  double mapping;
  const double compute = d.compute / gb_cost_speed(r, threads, tasks_of(&d)),
               memory = cost_of_memory(&d, threads, &mapping);
  return fmax(compute, memory) + mapping + (threads > 1 ? r->wake_s : 0);
}
