/* partition.c - which device gets which range of the axis. */
#include "plan/choose/partition.h"

#include <stdlib.h>

#include "base/hash.h"
#include "plan/choose/text.h"
#include "plan/choose/water_fill.h"
#include "plan/structure/supports.h"

/* the devices */

static gb_status add_member (gb_plan *p, gb_team *team, const gb_plan_on *on, gb_error *err) {
  const double speed = on->speed > 0 ? on->speed : 1;
  gb_member *first = &team->member[0];
  for (int i = 0; i < team->n; i++)
    if (team->member[i].device == on->device && team->member[i].takes_part)
      return gb_fail(err, GB_EDEVICE, "device %s is listed twice", on->device->name);
  if (on->device == first->device) {
    first->takes_part = true;
    first->speed = speed;
    if (on->budget != 0) p->request.options.budget = on->budget;
    return GB_OK;
  }
  GB_TRY(gb_lowered_supported(p->request.graph, on->device, p->prog->low, err));
  if (team->n == GB_DEVICES) return gb_fail(err, GB_EDEVICE, "a plan has at most %d devices", GB_DEVICES);
  team->member[team->n++] =
      (gb_member){.device = on->device, .speed = speed, .budget = on->budget, .takes_part = true};
  return GB_OK;
}

/* A growing factor is no array that could be copied. */
static bool has_grown (const gb_lowered *low) {
  for (int s = 0; s < low->nsteps; s++)
    if (!low->step[s].is_fold && low->step[s].opaque.grown) return true;
  return false;
}

gb_status gb_team_new (gb_plan *p, int n, const gb_plan_on *on, gb_error *err) {
  gb_device *home = gb_plan_home(p);
  if (n == 0) return GB_OK;
  if (n == 1 && on[0].device == home) {
    if (on[0].budget != 0) p->request.options.budget = on[0].budget;
    return GB_OK;
  }
  if (p->request.options.forbid & GB_ALLOW_CUT)
    return gb_fail(err, GB_EOPTION, "several devices share an axis by cutting it: allow = {'cut'}");
  if (has_grown(p->prog->low))
    return gb_fail(
        err, GB_EDEVICE,
        "a factor that grows stays on its device: make the model again from all its data to share the work");
  if (!gb_device_has_parts(home)) return gb_fail(err, GB_EDEVICE, "this device cannot run a part of a plan");
  gb_team *team = p->request.team = calloc(1, sizeof *team);
  if (team == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  *team = (gb_team){.n = 1, .member = {{.device = home, .speed = 1}}};
  for (int i = 0; i < n; i++) GB_TRY(add_member(p, team, &on[i], err));
  return GB_OK;
}

void gb_partition_unref (gb_partition *p) {
  if (p == NULL || --p->refs > 0) return;
  for (int i = 0; i < p->n; i++) gb_remote_clear(&p->part[i].remote);
  gb_placement_unref(p->home);
  free(p);
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
    if (gb_is_within(c, s)) work += points_of(low, &low->step[s]);
  return work;
}

/* The batch that leaves name, or the axis with the most work within. */
static gb_status find_axis (const gb_plan *p, gb_tiling **out, gb_error *err) {
  gb_lowered_plan *prog = p->prog;
  double most = 0;
  *out = prog->batch_cuts.n > 0 && prog->batch_cuts.tiling[0]->nloops == 1 ? prog->batch_cuts.tiling[0]
                                                                           : NULL;
  if (*out != NULL) return GB_OK;
  for (int sums = 0; sums <= 1; sums++) {
    const gb_axes_found *found;
    GB_TRY(gb_lowered_plan_find_tilings(prog, p->request.options.math, sums, &found, err));
    for (int i = 0; i < found->n; i++) {
      const double work = work_within(prog->low, found->tiling[i]);
      if (work > most) most = work, *out = found->tiling[i];
    }
  }
  if (*out != NULL) return GB_OK;
  return gb_fail(err, GB_EREFUSED,
                 "no axis can be shared between devices: every axis of the data is summed in one piece; "
                 "gb.lazy names the axis of a batch, whose sums then run in parts");
}

/* trials */

/* A way to run, as far as it has been thought out. */
typedef struct trial {
  const gb_choice *x;
  const gb_team *team;
  gb_partition *made; /* what place_ranges fills; NULL: nothing is kept */
  gb_tiling *c;
  gb_demand d;
  gb_placement *home;                       /* the first device with nothing of the axis */
  size_t units;                             /* of the axis */
  size_t cap[GB_DEVICES], need[GB_DEVICES]; /* units; bytes of the smallest window */
} trial;

static size_t budget_of (const gb_choice *x, int i) {
  const gb_member *m = &x->plan->request.team->member[i];
  if (i == 0) return gb_choice_budget(x);
  return m->budget != 0 ? m->budget : gb_ledger_room(&m->device->ledger);
}

static int threads_of (const gb_choice *x, int i) {
  return gb_pool_threads(x->plan->request.team->member[i].device->pool);
}

/* Steps are sized by the device that runs them. */
static gb_split_job job_of (const trial *t, int i) {
  const gb_lowered_plan *prog = t->x->plan->prog;
  return (gb_split_job){.kernels = gb_lowered_plan_kernels(prog, t->team->member[i].device),
                        .low = prog->low,
                        .scratch = i == 0 ? prog->scratch : NULL};
}

/* Values of steps with one result serve the plan; of others a sibling might have to be computed again. */
static void find_values (const gb_choice *x, bool pinned_only, bool *have) {
  const gb_lowered *low = x->plan->prog->low;
  for (int b = 0; b < low->nbufs; b++) have[b] = x->have[b] && !(pinned_only && gb_choice_may_drop(x, b));
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; low->step[s].nout > 1 && i < low->step[s].nout; i++) have[low->step[s].out[i]] = false;
}

/* The first device with [0, hi) of the axis in windows of 'chunk'. */
static gb_status place_home (const trial *t, size_t hi, size_t chunk, gb_placement **out, size_t *need,
                             gb_error *err) {
  const gb_split_job job = job_of(t, 0);
  const gb_form_of_run form = {.tiling = t->c,
                               .grains = gb_plan_grains(t->x->plan, t->c),
                               .chunk = chunk,
                               .hi = hi,
                               .workspace = gb_split_workspace,
                               .ud = &job};
  GB_TRY(gb_place(job.low, t->d, &form, out, err));
  *need = gb_add_sizes((*out)->peak, gb_choice_held(t->x, *out));
  return GB_OK;
}

/* Bytes that device i needs for [lo, hi); 'keep' NULL, or where its placement goes. */
static gb_status place_on (const trial *t, int i, size_t lo, size_t hi, size_t chunk, gb_placement **keep,
                           size_t *need, gb_error *err) {
  gb_placement *home = NULL;
  gb_remote remote = {0};
  if (i == 0) GB_TRY(place_home(t, hi, chunk, &home, need, err));
  else {
    const gb_split_job job = job_of(t, i);
    GB_TRY(gb_place_away(&job, t->home, lo, hi, chunk, &remote, err));
    *need = remote.place->peak;
  }
  const bool fits = *need <= budget_of(t->x, i) && *need != SIZE_MAX;
  if (keep != NULL && fits && i == 0) *keep = home;
  else gb_placement_unref(home);
  if (keep != NULL && fits && i > 0) t->made->part[i].remote = remote;
  else gb_remote_clear(&remote);
  return GB_OK;
}

/* Does a range of so many units, the last of the axis, fit in windows of 'chunk'? */
static gb_status try_units (trial *t, int i, size_t units, size_t chunk, bool *fits, size_t *need,
                            gb_error *err) {
  const size_t extent = t->c->extent, n = units >= t->units ? extent : units * t->c->unit;
  const size_t lo = i == 0 ? 0 : extent - n;
  GB_TRY(place_on(t, i, lo, lo + n, chunk == 0 || chunk > n ? n : chunk, NULL, need, err));
  *fits = *need <= budget_of(t->x, i) && *need != SIZE_MAX;
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
  *sum = 0;
  for (int i = 0; i < t->team->n; i++) {
    t->cap[i] = 0;
    if (!t->team->member[i].takes_part) continue;
    GB_TRY(windows ? cap_windows(t, i, err) : cap_whole(t, i, err));
    *sum = gb_add_sizes(*sum, t->cap[i]);
  }
  return GB_OK;
}

/* ranges */

/* Places device i for its range, in one window or in windows of powers of two, large ones first. */
static gb_status place_range (trial *t, int i, size_t lo, size_t hi, gb_placement **home, bool *fits,
                              gb_error *err) {
  gb_partition_part *s = &t->made->part[i];
  size_t need, power = t->c->unit;
  while (power < hi - lo) power *= 2;
  *fits = false;
  for (size_t chunk = hi - lo;; chunk = power) {
    GB_TRY(place_on(t, i, lo, hi, chunk, home, &need, err));
    *fits = need <= budget_of(t->x, i) && need != SIZE_MAX;
    s->chunk = chunk;
    if (*fits || power <= t->c->unit) break;
    power /= 2;
  }
  s->lo = lo;
  s->hi = hi;
  return GB_OK;
}

static void clear_ranges (gb_partition *made) {
  for (int i = 0; i < made->n; i++) {
    gb_remote_clear(&made->part[i].remote);
    made->part[i] = (gb_partition_part){0};
  }
}

/* Every device placed for its share; 'home' NULL where some range did not fit after all, and its cap is
** lowered. */
static gb_status place_ranges (trial *t, const size_t *share, gb_placement **home, gb_error *err) {
  const int n = t->team->n;
  size_t lo = 0;
  bool fits = true;
  gb_status rc = GB_OK;
  clear_ranges(t->made);
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
  clear_ranges(t->made);
  return rc;
}

/* 'home' NULL: the caps do not hold the axis. */
static gb_status fill (trial *t, gb_placement **home, gb_error *err) {
  size_t share[GB_DEVICES];
  double speed[GB_DEVICES];
  for (int i = 0; i < t->team->n; i++) speed[i] = t->team->member[i].speed;
  *home = NULL;
  while (*home == NULL && gb_water_fill(t->units, t->team->n, t->cap, speed, share))
    GB_TRY(place_ranges(t, share, home, err));
  return GB_OK;
}

/* refusing */

static size_t lacks (const trial *t, int i) {
  const size_t have = budget_of(t->x, i);
  return t->need[i] > have ? t->need[i] - have : 0;
}

/* Names the device that is short of the least. */
static gb_status refuse (const trial *t, gb_error *err) {
  const gb_member *member = t->team->member;
  const size_t remote = gb_add_sizes(t->home->peak, gb_choice_held(t->x, t->home));
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT];
  int worst = -1;
  size_t need = remote, have = budget_of(t->x, 0);
  if (remote <= have)
    for (int i = 0; i < t->team->n; i++)
      if (member[i].takes_part && (worst < 0 || lacks(t, i) < lacks(t, worst))) worst = i;
  if (worst >= 0) need = t->need[worst], have = budget_of(t->x, worst);
  if (worst < 0)
    gb_fail(err, GB_EREFUSED,
            "device %s needs %s, has %s, even where other devices run all of the axis of %zu",
            member[0].device->name, gb_size_text(need, a), gb_bytes_text(have, b), t->c->extent);
  else
    gb_fail(err, GB_EREFUSED, "device %s needs %s, has %s, for the smallest window, %zu of %zu%s",
            member[worst].device->name, gb_size_text(need, a), gb_bytes_text(have, b), t->c->unit,
            t->c->extent, t->team->n > 1 ? ", and no other device can run it" : "");
  if (err != NULL) err->need = need, err->have = have, err->minimum = 0;
  return GB_EREFUSED;
}

/* choosing */

static bool runs_within (const gb_placement *home) {
  for (int s = 0; s < home->nsteps; s++)
    if (home->runs[s] && gb_is_within(home->tiling, s)) return true;
  return false;
}

/* '*home' NULL: nothing fits. */
static gb_status try_tiers (trial *t, gb_placement **home, gb_error *err) {
  *home = NULL;
  if (gb_add_sizes(t->home->peak, gb_choice_held(t->x, t->home)) > budget_of(t->x, 0)) return GB_OK;
  if (!runs_within(t->home)) {
    clear_ranges(t->made);
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

static gb_status begin_trial (const gb_choice *x, bool *have, const bool *none, bool pinned_only, trial *t,
                              gb_error *err) {
  size_t need;
  *t = (trial){.x = x, .team = x->plan->request.team, .d = {x->want, have, none}};
  GB_TRY(find_axis(x->plan, &t->c, err));
  for (int i = 1; i < t->team->n; i++)
    GB_TRY(
        gb_lowered_plan_compile(x->plan->prog, x->plan->request.graph, t->team->member[i].device, t->c, err));
  find_values(x, pinned_only, have);
  t->units = (t->c->extent + t->c->unit - 1) / t->c->unit;
  return place_home(t, 0, 0, &t->home, &need, err);
}

/* With the values that exist; else with those that may have to be dropped computed again. */
static gb_status choose (const gb_choice *x, bool *have, const bool *none, gb_partition *made,
                         gb_error *err) {
  gb_status rc = GB_OK;
  for (int pinned_only = 0; pinned_only <= 1 && rc == GB_OK && made->home == NULL; pinned_only++) {
    trial t;
    rc = begin_trial(x, have, none, pinned_only, &t, err);
    t.made = made;
    if (rc == GB_OK) rc = try_tiers(&t, &made->home, err);
    if (rc == GB_OK && made->home == NULL && pinned_only) rc = refuse(&t, err);
    gb_placement_unref(t.home);
  }
  return rc;
}

static uint64_t key_of (const gb_choice *x) {
  const gb_lowered_plan *prog = x->plan->prog;
  const size_t n = (size_t)prog->low->nbufs;
  uint64_t key = gb_hash_bytes(gb_hash_bytes(1, x->want, n), x->have, n);
  for (size_t b = 0; b < n; b++) key = gb_hash_u64(key, gb_choice_may_drop(x, (int)b));
  for (int i = 0; i < x->plan->request.team->n; i++)
    key = gb_hash_u64(gb_hash_u64(key, budget_of(x, i)), (uint64_t)threads_of(x, i));
  return key;
}

static gb_status find_partition (const gb_choice *x, gb_partition *made, gb_error *err) {
  const size_t nb = (size_t)x->plan->prog->low->nbufs;
  bool *have = calloc(2 * nb + 1, sizeof *have);
  if (have == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  const gb_status rc = choose(x, have, have + nb, made, err);
  for (int i = 0; i < made->n; i++) made->part[i].threads = threads_of(x, i);
  free(have);
  return rc;
}

static bool has_key (const gb_partition *p, uint64_t key) { return p != NULL && p->key == key; }

/* The ranges of the run before, or those that the plan reports, serve again where nothing has changed. */
gb_status gb_partition_choose (gb_choice *x, gb_error *err) {
  const uint64_t key = key_of(x);
  gb_partition *reported = x->plan->choice.partition, *made = NULL;
  if (has_key(x->partition, key)) made = x->partition;
  else if (has_key(reported, key)) made = reported;
  if (made != NULL) made->refs++;
  else {
    made = calloc(1, sizeof *made);
    if (made == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
    *made = (gb_partition){.refs = 1, .key = key, .n = x->plan->request.team->n};
    const gb_status rc = find_partition(x, made, err);
    if (rc != GB_OK) {
      gb_partition_unref(made);
      return rc;
    }
  }
  gb_partition_unref(x->partition);
  x->partition = made;
  x->place = made->home;
  x->place->refs++;
  return GB_OK;
}

gb_status gb_partition_minimum (gb_choice *x, size_t *minimum, gb_error *err) {
  const size_t nb = (size_t)x->plan->prog->low->nbufs;
  bool *have = calloc(2 * nb + 1, sizeof *have);
  trial t = {0};
  if (have == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  const gb_status rc = begin_trial(x, have, have + nb, true, &t, err);
  if (rc == GB_OK) *minimum = t.home->peak;
  gb_placement_unref(t.home);
  free(have);
  return rc;
}
