/* partition.c - which device gets which range of the axis. */
#include "plan/choose/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/choose/water_fill.h"
#include "plan/report/text.h"

/* opening */

static gb_status add_share (gb_plan *p, const gb_plan_on *on, gb_error *err) {
  gb_partition *all = p->partition;
  const double speed = on->speed > 0 ? on->speed : 1;
  gb_partition_part *s = on->device == p->graph->device ? &all->share[0] : &all->share[all->n];
  for (int i = 0; i < all->n; i++)
    if (all->share[i].device == on->device && all->share[i].takes_part)
      return gb_fail(err, GB_EDEVICE, "device %s is listed twice", on->device->name);
  if (s == &all->share[0]) {
    s->takes_part = true;
    s->speed = speed;
    if (on->budget != 0) p->options.budget = on->budget;
    return GB_OK;
  }
  if (all->n == GB_DEVICES) return gb_fail(err, GB_EDEVICE, "a plan has at most %d devices", GB_DEVICES);
  const size_t nb = (size_t)p->prog->low->nbufs + 1;
  *s = (gb_partition_part){.device = on->device,
                           .speed = speed,
                           .budget = on->budget,
                           .takes_part = true,
                           .read = calloc(nb, sizeof *s->read),
                           .write = calloc(nb, sizeof *s->write)};
  all->n++;
  return s->read != NULL && s->write != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for a plan");
}

/* A growing factor is no array that could be copied. */
static bool has_grown (const gb_lowered *low) {
  for (int s = 0; s < low->nsteps; s++)
    if (!low->step[s].is_fold && low->step[s].opaque.grown) return true;
  return false;
}

/* The first device alone plans as ever. */
gb_status gb_partition_new (gb_plan *p, int n, const gb_plan_on *on, gb_error *err) {
  if (n == 0) return GB_OK;
  if (n == 1 && on[0].device == p->graph->device) {
    if (on[0].budget != 0) p->options.budget = on[0].budget;
    return GB_OK;
  }
  if (p->options.forbid & GB_ALLOW_CUT)
    return gb_fail(err, GB_EOPTION, "several devices share an axis by cutting it: allow = {'cut'}");
  if (has_grown(p->prog->low))
    return gb_fail(err, GB_EDEVICE,
                   "a growing factor stays on its device; that of a model made anew can be shared");
  if (p->graph->device->ops->fold_part == NULL)
    return gb_fail(err, GB_EDEVICE, "this device cannot run a part of a plan");
  p->partition = calloc(1, sizeof *p->partition);
  if (p->partition == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  p->partition->n = 1;
  p->partition->share[0] = (gb_partition_part){.device = p->graph->device, .speed = 1};
  for (int i = 0; i < n; i++) GB_TRY(add_share(p, &on[i], err));
  return GB_OK;
}

void gb_partition_free (gb_plan *p) {
  gb_partition *all = p->partition;
  if (all == NULL) return;
  for (int i = 0; i < all->n; i++) {
    gb_partition_part *s = &all->share[i];
    gb_remote_clear(&s->remote);
    free(s->read);
    free(s->write);
    if (all->report != NULL) free(all->report[i].copy);
  }
  free(all->report);
  free(all);
  p->partition = NULL;
}

/* the axis */

static double points_of (const gb_lowered *low, const gb_step *st) {
  double points = 1;
  if (st->is_fold) {
    for (int a = 0; a < st->fold.naxes; a++) points *= (double)st->fold.axis[a].extent;
    return points * st->fold.nins;
  }
  for (int i = 0; i < st->nin; i++) points += (double)gb_shape_numel(&low->buf[st->in[i]].shape);
  if (st->opaque.op != GB_OP_GEMM) return points;
  const gb_shape *a = &st->opaque.in_shape[0];
  return (double)gb_shape_numel(&st->opaque.out_shape[0]) * (double)a->dim[a->ndim - 1];
}

static double work_within (const gb_lowered *low, const gb_tiling *c) {
  double work = 0;
  for (int s = 0; s < low->nsteps; s++)
    if (c->when[s] == GB_WITHIN) work += points_of(low, &low->step[s]);
  return work;
}

/* The batch that leaves name, or the axis with the most work within. */
static gb_status find_axis (gb_plan *p, gb_tiling **out, gb_error *err) {
  gb_lowered_plan *prog = p->prog;
  double most = 0;
  *out = prog->batch;
  if (prog->batch != NULL) return GB_OK;
  for (int sums = 0; sums <= 1; sums++) {
    const gb_axes_found *found;
    GB_TRY(gb_lowered_plan_find_tilings(prog, p->options.math, sums, &found, err));
    for (int i = 0; i < found->n; i++) {
      const double work = work_within(prog->low, found->tiling[i]);
      if (work > most) most = work, *out = found->tiling[i];
    }
  }
  if (*out != NULL) return GB_OK;
  return gb_fail(
      err, GB_EREFUSED,
      "no axis can be shared between devices: none of the data has one of which a part gives the bits of the "
      "whole; gb.lazy names the axis of a batch, whose sums then run in parts");
}

/* trials */

/* A way to run, as far as it has been thought out. */
typedef struct trial {
  gb_plan *p;
  gb_tiling *c;
  gb_split_job job;
  gb_demand d;
  gb_placement *home;                       /* the first device with nothing of the axis */
  size_t units;                             /* of the axis */
  size_t cap[GB_DEVICES], need[GB_DEVICES]; /* units; bytes of the smallest window */
} trial;

static size_t budget_of (const gb_plan *p, int i) {
  const gb_partition_part *s = &p->partition->share[i];
  const gb_ledger *l = &s->device->ledger;
  if (i == 0) return gb_plan_budget(p);
  return s->budget != 0 ? s->budget : gb_ledger_room(l);
}

/* Values of steps with one result serve the plan; of others a sibling might have to be computed again. */
static void find_values (const gb_plan *p, bool pinned_only, bool *have) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++) have[b] = p->have[b] && !(pinned_only && gb_plan_droppable(p, b));
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; low->step[s].nout > 1 && i < low->step[s].nout; i++) have[low->step[s].out[i]] = false;
}

/* The first device with [0, hi) of the axis in windows of 'chunk'. */
static gb_status place_home (const trial *t, size_t hi, size_t chunk, gb_placement **out, size_t *need,
                             gb_error *err) {
  const gb_form_of_run form = {.tiling = t->c,
                               .grains = t->c->grain != 0 ? t->c : NULL,
                               .chunk = chunk,
                               .hi = hi,
                               .workspace = gb_split_workspace,
                               .ud = &t->job};
  GB_TRY(gb_place(t->job.low, t->d, &form, out, err));
  *need = gb_add_sizes((*out)->peak, gb_plan_held(t->p, *out));
  return GB_OK;
}

/* Bytes that device i needs for [lo, hi); 'keep' NULL, or where its placement goes. */
static gb_status place_on (const trial *t, int i, size_t lo, size_t hi, size_t chunk, gb_placement **keep,
                           size_t *need, gb_error *err) {
  gb_partition_part *s = &t->p->partition->share[i];
  gb_placement *home = NULL;
  gb_remote remote = {0};
  if (i == 0) GB_TRY(place_home(t, hi, chunk, &home, need, err));
  else {
    GB_TRY(gb_place_away(&t->job, t->home, lo, hi, chunk, &remote, err));
    *need = remote.place->peak;
  }
  const bool fits = *need <= budget_of(t->p, i) && *need != SIZE_MAX;
  if (keep != NULL && fits && i == 0) *keep = home;
  else gb_placement_unref(home);
  if (keep != NULL && fits && i > 0) s->remote = remote;
  else gb_remote_clear(&remote);
  return GB_OK;
}

/* Does a range of so many units, the last of the axis, fit in windows of 'chunk'? */
static gb_status try_units (trial *t, int i, size_t units, size_t chunk, bool *fits, size_t *need,
                            gb_error *err) {
  const size_t extent = t->c->extent, n = units >= t->units ? extent : units * t->c->unit;
  const size_t lo = i == 0 ? 0 : extent - n;
  GB_TRY(place_on(t, i, lo, lo + n, chunk == 0 || chunk > n ? n : chunk, NULL, need, err));
  *fits = *need <= budget_of(t->p, i) && *need != SIZE_MAX;
  return GB_OK;
}

/* The largest range that fits in one window. */
static gb_status cap_whole (trial *t, int i, gb_error *err) {
  size_t low = 0, high = t->units + 1, need;
  for (size_t mid = t->units; high - low > 1; mid = low + (high - low) / 2) {
    bool fits;
    GB_TRY(try_units(t, i, mid, 0, &fits, &need, err));
    if (fits) low = mid;
    else high = mid;
  }
  t->cap[i] = low;
  return GB_OK;
}

/* All of the axis where the smallest window fits. */
static gb_status cap_windows (trial *t, int i, gb_error *err) {
  bool fits;
  GB_TRY(try_units(t, i, t->units, t->c->unit, &fits, &t->need[i], err));
  t->cap[i] = fits ? t->units : 0;
  return GB_OK;
}

static gb_status find_caps (trial *t, bool windows, size_t *sum, gb_error *err) {
  const gb_partition *all = t->p->partition;
  *sum = 0;
  for (int i = 0; i < all->n; i++) {
    t->cap[i] = 0;
    if (!all->share[i].takes_part) continue;
    GB_TRY(windows ? cap_windows(t, i, err) : cap_whole(t, i, err));
    *sum = gb_add_sizes(*sum, t->cap[i]);
  }
  return GB_OK;
}

/* ranges */

/* Places device i for its range, in one window or in windows of powers of two, large ones first. */
static gb_status place_range (trial *t, int i, size_t lo, size_t hi, gb_placement **home, bool *fits,
                              gb_error *err) {
  gb_partition_part *s = &t->p->partition->share[i];
  size_t need, power = t->c->unit;
  while (power < hi - lo) power *= 2;
  *fits = false;
  for (size_t chunk = hi - lo;; chunk = power) {
    GB_TRY(place_on(t, i, lo, hi, chunk, home, &need, err));
    *fits = need <= budget_of(t->p, i) && need != SIZE_MAX;
    s->chunk = chunk;
    if (*fits || power <= t->c->unit) break;
    power /= 2;
  }
  s->lo = lo;
  s->hi = hi;
  return GB_OK;
}

static void clear_ranges (gb_plan *p) {
  for (int i = 0; i < p->partition->n; i++) {
    gb_partition_part *s = &p->partition->share[i];
    gb_remote_clear(&s->remote);
    s->lo = s->hi = s->chunk = 0;
  }
}

/* Every device placed for its share; 'home' NULL where some range did not fit after all, and its cap is
** lowered. */
static gb_status place_ranges (trial *t, const size_t *share, gb_placement **home, gb_error *err) {
  gb_plan *p = t->p;
  const int n = p->partition->n;
  size_t lo = 0;
  bool fits = true;
  gb_status rc = GB_OK;
  clear_ranges(p);
  *home = NULL;
  for (int i = 0; rc == GB_OK && fits && i < n; i++) {
    const size_t rest = t->c->extent - lo, asked = share[i] * t->c->unit,
                 hi = lo + (asked < rest ? asked : rest);
    if (hi == lo) continue;
    rc = place_range(t, i, lo, hi, home, &fits, err);
    if (!fits) t->cap[i] = share[i] / 2;
    lo = hi;
  }
  if (rc == GB_OK && fits && *home == NULL) {
    *home = t->home;
    t->home->refs++;
  }
  if (rc == GB_OK && fits) return GB_OK;
  gb_placement_unref(*home);
  *home = NULL;
  clear_ranges(p);
  return rc;
}

/* 'home' NULL: the caps do not hold the axis. */
static gb_status fill (trial *t, gb_placement **home, gb_error *err) {
  const gb_partition *all = t->p->partition;
  size_t share[GB_DEVICES];
  double speed[GB_DEVICES];
  for (int i = 0; i < all->n; i++) speed[i] = all->share[i].speed;
  *home = NULL;
  while (*home == NULL && gb_water_fill(t->units, all->n, t->cap, speed, share))
    GB_TRY(place_ranges(t, share, home, err));
  return GB_OK;
}

/* refusing */

static size_t lacks (const trial *t, int i) {
  const size_t have = budget_of(t->p, i);
  return t->need[i] > have ? t->need[i] - have : 0;
}

/* Names the device that is short of the least. */
static gb_status refuse (const trial *t, gb_error *err) {
  const gb_plan *p = t->p;
  const size_t remote = gb_add_sizes(t->home->peak, gb_plan_held(p, t->home));
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT];
  int worst = -1;
  size_t need = remote, have = budget_of(p, 0);
  if (remote <= have)
    for (int i = 0; i < p->partition->n; i++)
      if (p->partition->share[i].takes_part && (worst < 0 || lacks(t, i) < lacks(t, worst))) worst = i;
  if (worst >= 0) need = t->need[worst], have = budget_of(p, worst);
  if (worst < 0)
    gb_fail(err, GB_EREFUSED,
            "device %s needs %s, has %s, even where other devices run all of the axis of %zu",
            p->partition->share[0].device->name, gb_size_text(need, a), gb_bytes_text(have, b), t->c->extent);
  else
    gb_fail(err, GB_EREFUSED, "device %s needs %s, has %s, for the smallest window, %zu of %zu%s",
            p->partition->share[worst].device->name, gb_size_text(need, a), gb_bytes_text(have, b),
            t->c->unit, t->c->extent, p->partition->n > 1 ? ", and no other device can run it" : "");
  if (err != NULL) err->need = need, err->have = have, err->minimum = 0;
  return GB_EREFUSED;
}

/* choosing */

static bool runs_within (const gb_placement *home) {
  for (int s = 0; s < home->nsteps; s++)
    if (home->runs[s] && home->tiling->when[s] == GB_WITHIN) return true;
  return false;
}

/* '*home' NULL: nothing fits. */
static gb_status try_tiers (trial *t, gb_placement **home, gb_error *err) {
  *home = NULL;
  if (gb_add_sizes(t->home->peak, gb_plan_held(t->p, t->home)) > budget_of(t->p, 0)) return GB_OK;
  if (!runs_within(t->home)) {
    clear_ranges(t->p);
    *home = t->home;
    t->home->refs++;
    return GB_OK;
  }
  for (int windows = 0; windows <= 1 && *home == NULL; windows++) {
    size_t sum;
    GB_TRY(find_caps(t, windows, &sum, err));
    if (sum >= t->units) GB_TRY(fill(t, home, err));
  }
  return GB_OK;
}

static gb_status begin_trial (gb_plan *p, bool *have, const bool *none, bool pinned_only, trial *t,
                              gb_error *err) {
  size_t need;
  *t = (trial){.p = p, .d = {p->want, have, none}};
  t->job = (gb_split_job){.dev = p->graph->device, .low = p->prog->low, .scratch = p->prog->scratch};
  GB_TRY(find_axis(p, &t->c, err));
  find_values(p, pinned_only, have);
  t->units = (t->c->extent + t->c->unit - 1) / t->c->unit;
  return place_home(t, 0, 0, &t->home, &need, err);
}

/* With the values that exist; else with those that may have to be dropped computed again. */
static gb_status choose (gb_plan *p, bool *have, const bool *none, gb_placement **home, gb_error *err) {
  gb_status rc = GB_OK;
  *home = NULL;
  for (int pinned_only = 0; pinned_only <= 1 && rc == GB_OK && *home == NULL; pinned_only++) {
    trial t;
    rc = begin_trial(p, have, none, pinned_only, &t, err);
    if (rc == GB_OK) rc = try_tiers(&t, home, err);
    if (rc == GB_OK && *home == NULL && pinned_only) rc = refuse(&t, err);
    gb_placement_unref(t.home);
  }
  return rc;
}

static uint64_t key_of (const gb_plan *p) {
  const size_t n = (size_t)p->prog->low->nbufs;
  uint64_t key = gb_hash_bytes(gb_hash_bytes((uint64_t)p->prog->threads, p->want, n), p->have, n);
  for (size_t b = 0; b < n; b++) key = gb_hash_u64(key, gb_plan_droppable(p, (int)b));
  for (int i = 0; i < p->partition->n; i++) key = gb_hash_u64(key, budget_of(p, i));
  return key;
}

gb_status gb_partition_choose (gb_plan *p, gb_error *err) {
  gb_partition *all = p->partition;
  const size_t nb = (size_t)p->prog->low->nbufs;
  const uint64_t key = key_of(p);
  if (all->chosen && all->key == key) return GB_OK;
  gb_placement_unref(p->place);
  p->place = NULL;
  all->chosen = false;
  bool *have = calloc(2 * nb + 1, sizeof *have);
  if (have == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  const gb_status rc = choose(p, have, have + nb, &p->place, err);
  free(have);
  all->chosen = rc == GB_OK;
  all->key = key;
  return rc;
}

gb_status gb_partition_minimum (gb_plan *p, size_t *minimum, gb_error *err) {
  const size_t nb = (size_t)p->prog->low->nbufs;
  bool *have = calloc(2 * nb + 1, sizeof *have);
  trial t = {0};
  if (have == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  const gb_status rc = begin_trial(p, have, have + nb, true, &t, err);
  if (rc == GB_OK) *minimum = t.home->peak;
  gb_placement_unref(t.home);
  free(have);
  return rc;
}
