/* choose.c - which candidate runs: the first that fits, in an order that does not know the budget. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/parts.h"
#include "plan/place/orders.h"
#include "plan/price/step_cost.h"

/* axes */

/* The leaves that name an axis of the same extent as the first that does. */
gb_status gb_lowered_plan_find_batch (gb_lowered_plan *prog, gb_node *const *node, gb_error *err) {
  const gb_lowered *low = prog->low;
  int *seed = malloc(((size_t)low->nbufs + 1) * sizeof *seed);
  size_t extent = 0;
  if (seed == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  for (int b = 0; b < low->nbufs; b++) {
    const gb_node *n = node[low->buf[b].source];
    seed[b] = low->buf[b].cls == GB_BUF_LEAF ? n->batch - 1 : -1;
    if (seed[b] < 0) continue;
    if (extent == 0) extent = low->buf[b].shape.dim[seed[b]];
    if (low->buf[b].shape.dim[seed[b]] != extent) seed[b] = -1;
  }
  const gb_status rc =
      extent > 1 ? gb_cut_along(low, seed, (gb_cut_rules){.grain = gb_grain(extent)}, &prog->batch, err)
                 : GB_OK;
  free(seed);
  return rc;
}

static bool is_small (const gb_lowered *low) { return low->nsteps <= GB_ORDER_EXACT; }

static bool is_known_axis (const gb_axes_found *found, int b, int dim) {
  for (int i = 0; i < found->n; i++)
    if (found->tiling[i]->dim[b] == dim) return true;
  return false;
}

static bool is_known (const gb_axes_found *found, const gb_tiling *c) {
  for (int i = 0; i < found->n; i++) {
    const gb_tiling *f = found->tiling[i];
    if (f->unit == c->unit && memcmp(f->when, c->when, (size_t)c->nsteps) == 0 &&
        memcmp(f->dim, c->dim, (size_t)c->nbufs * sizeof *c->dim) == 0)
      return true;
  }
  return false;
}

/* An axis that a tiling has already may be cut from another leaf on, in fewer steps: of few steps that is
** tried too. */
static gb_status look_along (const gb_lowered *low, int b, int dim, int *seed, bool math, gb_cut_rules rules,
                             gb_axes_found *found, gb_error *err) {
  const size_t extent = low->buf[b].shape.dim[dim];
  gb_tiling *c = NULL;
  if (found->n == (is_small(low) ? GB_TILINGS : GB_AXES) || extent < 2) return GB_OK;
  if (!is_small(low) && is_known_axis(found, b, dim)) return GB_OK;
  seed[b] = dim;
  if (math) rules.grain = gb_grain(extent);
  const gb_status rc = gb_cut_along(low, seed, rules, &c, err);
  seed[b] = -1;
  if (c != NULL && c->unit < c->extent && !is_known(found, c)) found->tiling[found->n++] = c;
  else gb_tiling_unref(c);
  return rc;
}

/* One axis of one leaf after the other, each as far as it gives something new. */
gb_status gb_lowered_plan_find_tilings (gb_lowered_plan *prog, bool math, bool sums,
                                        const gb_axes_found **out, gb_error *err) {
  const gb_lowered *low = prog->low;
  gb_axes_found *found = sums ? &prog->sums : math ? &prog->math : &prog->bits;
  *out = found;
  if (found->looked) return GB_OK;
  int *seed = malloc(((size_t)low->nbufs + 1) * sizeof *seed);
  if (seed == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  for (int b = 0; b < low->nbufs; b++) seed[b] = -1;
  const gb_cut_rules rules = {.grains = math ? NULL : prog->batch, .sums = sums};
  gb_status rc = GB_OK;
  for (int b = 0; b < low->nbufs; b++)
    for (int k = 0; rc == GB_OK && low->buf[b].cls == GB_BUF_LEAF && k < low->buf[b].shape.ndim; k++)
      rc = look_along(low, b, k, seed, math, rules, found, err);
  free(seed);
  found->looked = rc == GB_OK;
  return rc;
}

/* placements */

/* A candidate: windows of 'chunk' of an axis, or of nothing; in the order that needs least. */
typedef struct variant {
  gb_tiling *tiling;
  size_t chunk;
  bool reordered, packed; /* packed: triangular factors in half a square */
  size_t rows;            /* staged values inside their readers, so many indices at a time; 0: whole */
} variant;

/* Whose sums run in pieces: of a tiling that needs it for its windows, or of the batch that leaves name. */
static gb_tiling *grains_of (const gb_plan *p, const variant *c) {
  if (c->tiling != NULL && c->tiling->grain != 0) return c->tiling;
  return p->options.math ? NULL : p->prog->batch;
}

static gb_status make_placement (gb_plan *p, gb_demand d, const variant *c, gb_placement **out,
                                 gb_error *err) {
  const gb_split_job job = {p->graph->device, p->prog->low, p->prog->scratch, p->prog->packed_factor,
                            p->prog->npacked_factors};
  const gb_form_of_run form = {.tiling = c->tiling,
                               .grains = grains_of(p, c),
                               .chunk = c->chunk,
                               .packed_factor = p->prog->packed_factor,
                               .nest = c->rows > 0 ? p->prog->nest : NULL,
                               .rows = c->rows,
                               .npacked_factors = c->packed ? p->prog->npacked_factors : 0,
                               .workspace = gb_split_workspace,
                               .inside = gb_nest_workspace,
                               .ud = &job};
  gb_placement *plain;
  GB_TRY(gb_place(p->prog->low, d, &form, &plain, err));
  if (!c->reordered) {
    *out = plain;
    return GB_OK;
  }
  const gb_status rc = gb_place_in_order(p->prog->low, d, &form, plain, out, err);
  gb_placement_unref(plain);
  return rc;
}

static gb_status find_placement (gb_plan *p, gb_demand d, const variant *c, gb_placement **out,
                                 gb_error *err) {
  gb_lowered_plan *prog = p->prog;
  const size_t n = (size_t)prog->low->nbufs;
  uint64_t key = gb_hash_bytes(gb_hash_bytes(gb_hash_bytes(1, d.want, n), d.have, n), d.keep, n);
  key = gb_hash_u64(gb_hash_u64(gb_hash_u64(key, (uint64_t)(uintptr_t)c->tiling), c->chunk),
                    (uint64_t)p->options.math << 2 | (uint64_t)c->reordered << 1 | c->packed);
  key = gb_hash_u64(key, c->rows);
  for (int i = 0; i < GB_PLACEMENTS; i++)
    if (prog->placed[i].place != NULL && prog->placed[i].key == key) {
      *out = prog->placed[i].place;
      (*out)->refs++;
      return GB_OK;
    }
  GB_TRY(make_placement(p, d, c, out, err));
  const int at = prog->next_place++ % GB_PLACEMENTS;
  gb_placement_unref(prog->placed[at].place);
  prog->placed[at].key = key;
  prog->placed[at].place = *out;
  (*out)->refs++;
  const gb_status rc = gb_lowered_plan_book(prog, &p->graph->device->ledger, err);
  if (rc != GB_OK) gb_placement_unref(*out);
  return rc;
}

gb_status gb_plan_find_whole (gb_plan *p, gb_demand d, gb_placement **out, gb_error *err) {
  const variant c = {0};
  return find_placement(p, d, &c, out, err);
}

/* candidates */

typedef struct candidate {
  gb_placement *place; /* counted */
  size_t held, need;   /* need = peak + held */
  bool pinned_only;    /* it recomputes existing caches */
  double seconds;      /* predicted; 0 where nobody compared */
  variant how;
} candidate;

size_t gb_plan_held (const gb_plan *p, const gb_placement *place) {
  size_t held = 0;
  for (int b = 0; b < p->prog->low->nbufs; b++)
    if ((place->read[b] == GB_HOME_VALUE || (p->want[b] && place->write[b] != GB_HOME_OUTPUT)) &&
        gb_plan_droppable(p, b)) /* read by a step, or asked for as it is */
      held = gb_add_sizes(held, p->prog->low->buf[b].bytes);
  return held;
}

static void weigh (const gb_plan *p, candidate *c) {
  c->held = gb_plan_held(p, c->place);
  c->need = gb_add_sizes(c->place->peak, c->held);
}

static void drop_candidate (candidate *c) {
  gb_placement_unref(c->place);
  *c = (candidate){0};
}

size_t gb_plan_pinned (const gb_plan *p) {
  const gb_ledger *l = &p->graph->device->ledger;
  /* from an earlier run: it serves this one too */
  const size_t own = p->arena.data != NULL && gb_ledger_owns(l, &p->arena) ? p->arena.bytes : 0;
  return l->used - l->by_purpose[GB_MEM_CACHE] - own;
}

size_t gb_plan_budget (const gb_plan *p) {
  return p->options.budget != 0 ? p->options.budget : gb_plan_room(p->graph, gb_plan_pinned(p));
}

/* A walk over the candidates, family by family; each family begins with what runs fastest. */
typedef struct walk {
  gb_plan *p;
  size_t budget;
  bool all;                       /* none is taken, all are weighed */
  const gb_device_profile *rates; /* families are compared by time; NULL: the first that fits is taken */
  candidate first, last, chosen;  /* first: the preferred one; last: the one of least need so far */
  size_t least;
  bool noted; /* the plan remembers what was considered */
  const bool *pinned, *none;
  bool *usable; /* pinned values that windows can be taken of */
} walk;

static void take_count (candidate *to, const candidate *c) {
  drop_candidate(to);
  *to = *c;
  to->place->refs++;
}

static void note (const walk *w, const candidate *c) {
  gb_plan_note_candidate(w->p,
                         &(gb_candidate){.need = c->need,
                                         .held = c->held,
                                         .seconds = c->seconds,
                                         .tiling = c->how.tiling,
                                         .chunk = c->how.chunk,
                                         .packed = c->how.packed,
                                         .reordered = c->how.reordered,
                                         .rows = c->how.rows},
                         c->place);
}

/* The device can run parts of a fold. */
static bool may_cut (const gb_plan *p) { return p->graph->device->ops->fold_part != NULL; }

static double seconds_of (const walk *w, const gb_placement *place) {
  const gb_lowered_plan *prog = w->p->prog;
  return w->rates == NULL ? 0
                          : gb_place_seconds(w->rates, prog->threads, prog->low, prog->packed_factor,
                                             prog->npacked_factors, place);
}

static bool is_better (const candidate *c, const candidate *than) {
  if (than->place == NULL || c->seconds != than->seconds)
    return than->place == NULL || c->seconds < than->seconds;
  return c->need < than->need;
}

/* Takes 'place' over. True: it fits. */
static bool consider (walk *w, const variant *how, gb_placement *place, bool pinned_only) {
  candidate c = {.place = place, .pinned_only = pinned_only, .how = *how};
  weigh(w->p, &c);
  if (w->first.place == NULL) take_count(&w->first, &c);
  if (w->last.place == NULL || c.need < w->least) {
    take_count(&w->last, &c);
    w->least = c.need;
  }
  const bool fits = c.need <= w->budget && c.need != SIZE_MAX && !w->all;
  if (fits || (w->noted && may_cut(w->p))) c.seconds = seconds_of(w, place);
  if (w->noted) note(w, &c);
  if (fits) {
    if (is_better(&c, &w->chosen)) take_count(&w->chosen, &c);
  }
  drop_candidate(&c);
  return fits;
}

static gb_status consider_variant (walk *w, const variant *c, const bool *have, const bool *keep, bool *taken,
                                   gb_error *err) {
  gb_placement *place;
  if (*taken) return GB_OK;
  GB_TRY(find_placement(w->p, (gb_demand){w->p->want, have, keep}, c, &place, err));
  *taken = consider(w, c, place, have != w->p->have);
  return GB_OK;
}

/* In program order, then in the order that needs least. */
static gb_status consider_in_orders (walk *w, variant c, const bool *have, bool *taken, gb_error *err) {
  GB_TRY(consider_variant(w, &c, have, w->none, taken, err));
  if (w->p->options.forbid & GB_ALLOW_ORDER) return GB_OK;
  c.reordered = true;
  return consider_variant(w, &c, have, w->none, taken, err);
}

/* Windows of powers of two, large ones first: fewer of them run faster, in any order of the steps. Of many
** steps only the smallest windows are reordered, and one window of all is considered for its order: what
** makes values, what uses them up, the rest. */
static gb_status consider_windows (walk *w, gb_tiling *c, bool packed, gb_error *err) {
  const variant all = {.tiling = c, .chunk = c->extent, .reordered = true, .packed = packed};
  bool taken = false;
  size_t chunk = c->unit;
  for (int b = 0; b < c->nbufs; b++) w->usable[b] = w->pinned[b] && !c->scattered[b];
  while (chunk * 2 < c->extent) chunk *= 2;
  if (!is_small(w->p->prog->low)) GB_TRY(consider_variant(w, &all, w->usable, w->none, &taken, err));
  for (; chunk >= c->unit && chunk > 0 && !taken; chunk /= 2) {
    const variant how = {.tiling = c, .chunk = chunk, .packed = packed};
    if (is_small(w->p->prog->low) || chunk == c->unit)
      GB_TRY(consider_in_orders(w, how, w->usable, &taken, err));
    else GB_TRY(consider_variant(w, &how, w->usable, w->none, &taken, err));
  }
  return GB_OK;
}

static gb_status consider_all_windows (walk *w, bool packed, gb_error *err) {
  gb_lowered_plan *prog = w->p->prog;
  const gb_axes_found *found;
  if (!may_cut(w->p)) return GB_OK;
  if (prog->batch != NULL) GB_TRY(consider_windows(w, prog->batch, packed, err));
  GB_TRY(gb_lowered_plan_find_tilings(prog, w->p->options.math, false, &found, err));
  for (int i = 0; i < found->n; i++) GB_TRY(consider_windows(w, found->tiling[i], packed, err));
  return GB_OK;
}

/* Every step whole: with caches kept; with caches as temporaries; with the existing ones dropped as well;
** in another order. The first that fits computes least. */
static gb_status consider_whole (walk *w, bool *taken, gb_error *err) {
  const gb_plan *p = w->p;
  const variant c = {0};
  if (!(p->options.forbid & GB_ALLOW_CACHE)) GB_TRY(consider_variant(w, &c, p->have, p->keep, taken, err));
  GB_TRY(consider_variant(w, &c, p->have, w->none, taken, err));
  return consider_in_orders(w, c, w->pinned, taken, err);
}

/* Staged values a window at a time inside their readers, large windows first. */
static gb_status consider_nest (walk *w, gb_error *err) {
  const gb_nest *nest = w->p->prog->nest;
  bool taken = false;
  size_t rows = 1;
  if (nest == NULL || w->p->prog->batch != NULL || !may_cut(w->p)) return GB_OK;
  while (rows * 2 < nest->widest) rows *= 2;
  for (; rows > 0 && !taken; rows /= 2)
    GB_TRY(consider_variant(w, &(variant){.rows = rows}, w->pinned, w->none, &taken, err));
  return GB_OK;
}

static gb_status consider_packed (walk *w, gb_error *err) {
  bool taken = false;
  const variant c = {.packed = true};
  return consider_in_orders(w, c, w->pinned, &taken, err);
}

/* What saves memory at the cost of time, in families compared by predicted time. No candidate depends on
** the budget, so that a larger budget never chooses a slower one; but where the whole fits it is taken
** without a comparison, even if packed triangles, of which half a matrix is computed, would be predicted
** to be a little faster. */
static gb_status walk_candidates (walk *w, gb_error *err) {
  gb_plan *p = w->p;
  const bool pack = p->prog->npacked_factors > 0 && !(p->options.forbid & GB_ALLOW_PACK);
  const bool cut = !(p->options.forbid & GB_ALLOW_CUT);
  bool taken = false;
  GB_TRY(consider_whole(w, &taken, err));
  if (taken) return GB_OK;
  if (!w->all) GB_TRY(gb_device_profile_get(p->graph->device, &w->rates, err));
  if (pack) GB_TRY(consider_packed(w, err));
  if (cut) GB_TRY(consider_nest(w, err));
  if (cut) GB_TRY(consider_all_windows(w, false, err));
  if (cut && pack) GB_TRY(consider_all_windows(w, true, err));
  return GB_OK;
}

/* The candidate of least peak. */
static void take_least (walk *w) { take_count(&w->chosen, &w->last); }

static gb_status run_walk (walk *w, gb_error *err) {
  const gb_plan *p = w->p;
  const int nb = p->prog->low->nbufs;
  bool *none = calloc(3 * (size_t)nb + 1, sizeof *none), *pinned = none + nb;
  if (none == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  for (int b = 0; b < nb; b++) pinned[b] = p->have[b] && !gb_plan_droppable(p, b);
  w->none = none;
  w->pinned = pinned;
  w->usable = pinned + nb;
  w->all |= p->options.least;
  const gb_status rc = walk_candidates(w, err);
  if (rc == GB_OK && p->options.least && w->least <= w->budget) take_least(w);
  free(none);
  return rc;
}

static void end_walk (walk *w) {
  drop_candidate(&w->first);
  drop_candidate(&w->last);
  drop_candidate(&w->chosen);
}

/* Lets the owner of the ledger collect, which may drop values that the plan meant to read. */
static bool collect (gb_plan *p, size_t bytes) {
  gb_ledger *l = &p->graph->device->ledger;
  if (p->options.budget != 0 || l->reclaim == NULL) return false;
  l->reclaim(l->reclaim_ud, bytes);
  for (int b = 0; b < p->prog->low->nbufs; b++) p->have[b] = p->have[b] && gb_plan_has_value(p, b);
  return true;
}

void gb_plan_follow_threads (gb_plan *p) {
  gb_lowered_plan *prog = p->prog;
  const int threads = gb_pool_threads(p->graph->device->pool);
  if (prog->threads == threads) return;
  prog->threads = threads;
  for (int s = 0; s < prog->low->nsteps; s++)
    prog->scratch[s] = gb_step_scratch(p->graph->device, prog->low, &prog->low->step[s]);
  for (int i = 0; i < GB_PLACEMENTS; i++) {
    gb_placement_unref(prog->placed[i].place);
    prog->placed[i].place = NULL;
  }
}

static void take_chosen (gb_plan *p, const walk *w) {
  p->place = w->chosen.place;
  p->place->refs++;
  p->taken = (gb_candidate){.need = w->chosen.need,
                            .held = w->chosen.held,
                            .tiling = w->chosen.how.tiling,
                            .chunk = w->chosen.how.chunk,
                            .packed = w->chosen.how.packed,
                            .reordered = w->chosen.how.reordered,
                            .rows = w->chosen.how.rows};
  for (int b = 0; w->chosen.pinned_only && b < p->prog->low->nbufs; b++)
    p->have[b] = p->have[b] && !gb_plan_droppable(p, b); /* it recomputes what may have to be dropped */
}

static gb_status choose_shares (gb_plan *p, gb_error *err) {
  const gb_status rc = gb_partition_choose(p, err);
  return rc == GB_EREFUSED && collect(p, SIZE_MAX) ? gb_partition_choose(p, err) : rc;
}

gb_status gb_plan_choose (gb_plan *p, gb_error *err) {
  gb_plan_follow_threads(p);
  if (p->partition != NULL) return choose_shares(p, err);
  gb_placement_unref(p->place);
  p->place = NULL;
  walk w = {.p = p, .budget = gb_plan_budget(p)};
  gb_status rc = run_walk(&w, err);
  if (rc == GB_OK && w.chosen.place == NULL && collect(p, w.least)) {
    end_walk(&w);
    w = (walk){.p = p, .budget = gb_plan_budget(p)};
    rc = run_walk(&w, err);
  }
  if (rc == GB_OK && w.chosen.place == NULL)
    rc = gb_plan_refuse(p, w.last.place, w.first.need, gb_plan_budget(p), w.least, err);
  if (rc == GB_OK) take_chosen(p, &w);
  end_walk(&w);
  return rc;
}

gb_status gb_plan_find_minimum (gb_plan *p, size_t *minimum, gb_error *err) {
  walk w = {.p = p, .all = true, .noted = true, .rates = gb_device_profile_known(p->graph->device)};
  gb_plan_follow_threads(p);
  if (p->partition != NULL) return gb_partition_minimum(p, minimum, err);
  const gb_status rc = run_walk(&w, err);
  *minimum = w.least;
  end_walk(&w);
  return rc;
}
