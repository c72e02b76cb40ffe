/* choose.c - which candidate runs: the first that fits, in an order that does not know the budget. */
#include "plan/choose/choose.h"

#include <stdlib.h>

#include "base/hash.h"
#include "plan/choose/plan_internal.h"
#include "plan/place/orders.h"
#include "plan/place/split.h"
#include "plan/price/step_cost.h"
#include "plan/structure/cache.h"

/* placements */

/* A candidate: windows of 'chunk' of an axis, or of nothing; in the order that needs least. */
typedef struct variant {
  gb_tiling *tiling;
  size_t chunk;
  bool reordered, packed; /* packed: triangular factors in half a square */
  size_t rows;            /* staged values inside their readers, so many indices at a time; 0: whole */
} variant;

/* Whose sums run in pieces: of a tiling that needs it for its windows, or of the batch that leaves name. */
gb_tiling *gb_plan_grains (const gb_plan *p, gb_tiling *c) {
  if (c != NULL && c->grain != 0 && c->grains == NULL) return c;
  return p->request.options.math ? NULL : p->prog->batch;
}

static gb_status make_placement (const gb_plan *p, gb_demand d, const variant *c, gb_placement **out,
                                 gb_error *err) {
  const gb_split_job job = {p->prog->kernels[0], p->prog->low, p->prog->scratch, p->prog->packed_factor,
                            p->prog->npacked_factors};
  const gb_form_of_run form = {.tiling = c->tiling,
                               .grains = gb_plan_grains(p, c->tiling),
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

static gb_status find_placement (const gb_plan *p, gb_demand d, const variant *c, gb_placement **out,
                                 gb_error *err) {
  gb_lowered_plan *prog = p->prog;
  const size_t n = (size_t)prog->low->nbufs;
  uint64_t key = gb_hash_bytes(gb_hash_bytes(gb_hash_bytes(1, d.want, n), d.have, n), d.keep, n);
  key = gb_hash_u64(gb_hash_u64(gb_hash_u64(key, (uint64_t)(uintptr_t)c->tiling), c->chunk),
                    (uint64_t)p->request.options.math << 2 | (uint64_t)c->reordered << 1 | c->packed);
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
  const gb_status rc = gb_lowered_plan_book(prog, &gb_plan_home(p)->ledger, err);
  if (rc != GB_OK) gb_placement_unref(*out);
  return rc;
}

/* candidates */

typedef struct candidate {
  gb_placement *place; /* counted */
  size_t held, need;   /* need = peak + held */
  bool pinned_only;    /* it recomputes existing caches */
  double seconds;      /* predicted; 0 where nobody compared */
  int short_of;        /* number of a device beside the first that has no room for it, 0: none */
  size_t over;         /* bytes that are missing there */
  variant how;
} candidate;

static void weigh (const gb_choice *x, candidate *c) {
  c->held = gb_choice_held(x, c->place);
  c->need = gb_add_sizes(c->place->peak, c->held);
}

static void drop_candidate (candidate *c) {
  gb_placement_unref(c->place);
  *c = (candidate){0};
}

/* A walk over the candidates, family by family; each family begins with what runs fastest. */
typedef struct walk {
  const gb_choice *x;
  const gb_plan *p; /* x->plan */
  size_t budget;
  bool all;                          /* none is taken, all are weighed */
  bool timed;                        /* families are compared by time; else the first that fits is taken */
  gb_prices price[GB_GRAPH_DEVICES]; /* by number of the device */
  candidate first, last, chosen;     /* first: the preferred one; last: the one of least need so far */
  size_t least;
  int short_of; /* number of the device that some placement found too little room on, 0: none but the first */
  size_t short_need; /* the least that any of them needs there */
  gb_plan *noted;    /* remembers what was considered; NULL: nothing does */
  const bool *pinned, *none;
  bool *usable; /* pinned values that windows can be taken of */
} walk;

static void take_count (candidate *to, const candidate *c) {
  drop_candidate(to);
  *to = *c;
  to->place->refs++;
}

static const char *name_of (const gb_plan *p, int device) {
  return gb_graph_device(p->request.graph, device)->name;
}

static void note (const walk *w, const candidate *c) {
  gb_plan_note_candidate(w->noted,
                         &(gb_candidate){.short_of = c->short_of == 0 ? NULL : name_of(w->p, c->short_of),
                                         .over = c->over,
                                         .need = c->need,
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
static bool may_cut (const gb_plan *p) { return gb_device_has_parts(gb_plan_home(p)); }

/* The prices of each device that runs a step; the walk is timed where all have some. 'measure': those that are not
** known are measured. */
static gb_status find_prices (walk *w, bool measure, gb_error *err) {
  const gb_lowered_plan *prog = w->p->prog;
  w->timed = false;
  for (int s = 0; s < prog->low->nsteps; s++) {
    const int i = prog->low->step[s].device;
    gb_device *dev = gb_graph_device(w->p->request.graph, i);
    const gb_device_profile *figures = w->price[i].profile;
    if (figures == NULL && measure) GB_TRY(gb_device_profile_get(dev, &figures, err));
    if (figures == NULL && !measure) figures = gb_device_profile_known(dev);
    if (figures == NULL) return GB_OK;
    w->price[i] = (gb_prices){dev->ops->price, figures, prog->threads[i]};
  }
  w->timed = true;
  return GB_OK;
}

bool gb_plan_is_timed (const gb_plan *p) {
  walk w = {.p = p};
  return find_prices(&w, false, NULL) == GB_OK && w.timed;
}

const gb_device *gb_plan_unpriced (const gb_plan *p) {
  const gb_lowered *low = p->prog->low;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_device *dev = gb_graph_device(p->request.graph, low->step[s].device);
    if (dev->ops->price == NULL) return dev;
  }
  return NULL;
}

static double seconds_of (const walk *w, const gb_placement *place) {
  const gb_lowered_plan *prog = w->p->prog;
  return w->timed ? gb_place_seconds(w->price, prog->low, prog->packed_factor, prog->npacked_factors, place)
                  : 0;
}

static bool is_better (const candidate *c, const candidate *than) {
  if (than->place == NULL || c->seconds != than->seconds)
    return than->place == NULL || c->seconds < than->seconds;
  return c->need < than->need;
}

/* On the devices beside the first, whose ledgers are their budgets, the bytes that are missing; '*number' is of the
** device that they are missing on. */
static size_t missing_abroad (const gb_plan *p, const gb_placement *place, int *number) {
  for (int i = 1; i < p->prog->low->ndevices; i++) {
    const size_t room = gb_ledger_room(&gb_graph_device(p->request.graph, i)->ledger);
    if (place->abroad[i].peak <= room) continue;
    *number = i;
    return place->abroad[i].peak - room;
  }
  *number = 0;
  return 0;
}

/* Remembers the device that is short of the least. */
static void note_short (walk *w, const candidate *c) {
  const size_t need = c->place->abroad[c->short_of].peak;
  if (w->short_of != c->short_of || need < w->short_need) w->short_need = need;
  w->short_of = c->short_of;
}

/* Candidates that other devices have room for come before those that they have not. */
static bool needs_less (const walk *w, const candidate *c) {
  const bool there = c->short_of == 0, before = w->last.short_of == 0;
  return w->last.place == NULL || (there == before ? c->need < w->least : there);
}

/* Takes 'place' over. True: it fits. */
static bool consider (walk *w, const variant *how, gb_placement *place, bool pinned_only) {
  candidate c = {.place = place, .pinned_only = pinned_only, .how = *how};
  weigh(w->x, &c);
  c.over = missing_abroad(w->p, place, &c.short_of);
  if (w->first.place == NULL) take_count(&w->first, &c);
  if (needs_less(w, &c)) {
    take_count(&w->last, &c);
    w->least = c.need;
  }
  const bool fits = c.need <= w->budget && c.need != SIZE_MAX && !w->all && c.short_of == 0;
  if (c.short_of > 0 && c.need <= w->budget) note_short(w, &c);
  if (fits || (w->noted != NULL && may_cut(w->p))) c.seconds = seconds_of(w, place);
  if (w->noted != NULL) note(w, &c);
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
  GB_TRY(find_placement(w->p, (gb_demand){w->x->want, have, keep}, c, &place, err));
  *taken = consider(w, c, place, have != w->x->have);
  return GB_OK;
}

/* In program order, then in the order that needs least. */
static gb_status consider_in_orders (walk *w, variant c, const bool *have, bool *taken, gb_error *err) {
  GB_TRY(consider_variant(w, &c, have, w->none, taken, err));
  if (w->p->request.options.forbid & GB_ALLOW_ORDER) return GB_OK;
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
  if (!gb_is_short(w->p->prog->low) && c->nloops == 1)
    GB_TRY(consider_variant(w, &all, w->usable, w->none, &taken, err));
  for (; chunk >= c->unit && chunk > 0 && !taken; chunk /= 2) {
    const variant how = {.tiling = c, .chunk = chunk, .packed = packed};
    if (gb_is_short(w->p->prog->low) || chunk == c->unit)
      GB_TRY(consider_in_orders(w, how, w->usable, &taken, err));
    else GB_TRY(consider_variant(w, &how, w->usable, w->none, &taken, err));
  }
  return GB_OK;
}

static gb_status consider_all_windows (walk *w, bool packed, gb_error *err) {
  gb_lowered_plan *prog = w->p->prog;
  const gb_axes_found *found;
  if (!may_cut(w->p)) return GB_OK;
  const bool repeat = !(w->p->request.options.forbid & GB_ALLOW_RECOMPUTE);
  for (int i = 0; i < prog->batch_cuts.n; i++)
    if (repeat || prog->batch_cuts.tiling[i]->nloops == 1)
      GB_TRY(consider_windows(w, prog->batch_cuts.tiling[i], packed, err));
  GB_TRY(gb_lowered_plan_find_tilings(prog, w->p->request.options.math, false, &found, err));
  for (int i = 0; i < found->n; i++) GB_TRY(consider_windows(w, found->tiling[i], packed, err));
  if (!repeat) return GB_OK;
  GB_TRY(gb_lowered_plan_find_chains(prog, w->p->request.options.math, &found, err));
  for (int i = 0; i < found->n; i++) GB_TRY(consider_windows(w, found->tiling[i], packed, err));
  return GB_OK;
}

/* Every step whole: with caches kept; with caches as temporaries; with the existing ones dropped as well;
** in another order. The first that fits computes least. */
static gb_status consider_whole (walk *w, bool *taken, gb_error *err) {
  const gb_choice *x = w->x;
  const variant c = {0};
  if (!(w->p->request.options.forbid & GB_ALLOW_CACHE))
    GB_TRY(consider_variant(w, &c, x->have, x->keep, taken, err));
  GB_TRY(consider_variant(w, &c, x->have, w->none, taken, err));
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
  const gb_plan *p = w->p;
  const unsigned forbid = p->request.options.forbid;
  const bool pack = p->prog->npacked_factors > 0 && !(forbid & GB_ALLOW_PACK);
  const bool cut = !(forbid & GB_ALLOW_CUT);
  bool taken = false;
  GB_TRY(consider_whole(w, &taken, err));
  if (taken) return GB_OK;
  if (!w->all) GB_TRY(find_prices(w, true, err));
  if (pack) GB_TRY(consider_packed(w, err));
  if (cut) GB_TRY(consider_nest(w, err));
  if (cut) GB_TRY(consider_all_windows(w, false, err));
  if (cut && pack) GB_TRY(consider_all_windows(w, true, err));
  return GB_OK;
}

/* The candidate of least peak. */
static void take_least (walk *w) { take_count(&w->chosen, &w->last); }

static gb_status run_walk (walk *w, gb_error *err) {
  const gb_choice *x = w->x;
  const int nb = w->p->prog->low->nbufs;
  const bool least = w->p->request.options.least;
  bool *none = calloc(3 * (size_t)nb + 1, sizeof *none), *pinned = none + nb;
  if (none == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  for (int b = 0; b < nb; b++) pinned[b] = x->have[b] && !gb_choice_may_drop(x, b);
  w->none = none;
  w->pinned = pinned;
  w->usable = pinned + nb;
  w->all |= least;
  const gb_status rc = walk_candidates(w, err);
  if (rc == GB_OK && least && w->least <= w->budget && w->last.short_of == 0) take_least(w);
  free(none);
  return rc;
}

static void end_walk (walk *w) {
  drop_candidate(&w->first);
  drop_candidate(&w->last);
  drop_candidate(&w->chosen);
}

/* Lets the owner of the ledger collect, which may drop values that the plan meant to read. */
static bool collect (gb_choice *x, size_t bytes) {
  const gb_plan *p = x->plan;
  gb_ledger *l = &gb_plan_home(p)->ledger;
  if (p->request.options.budget != 0 || l->reclaim == NULL) return false;
  l->reclaim(l->reclaim_ud, bytes);
  for (int b = 0; b < p->prog->low->nbufs; b++) x->have[b] = x->have[b] && gb_plan_has_value(p, b);
  return true;
}

static void take_chosen (gb_choice *x, const walk *w) {
  x->place = w->chosen.place;
  x->place->refs++;
  x->taken = (gb_candidate){.need = w->chosen.need,
                            .held = w->chosen.held,
                            .tiling = w->chosen.how.tiling,
                            .chunk = w->chosen.how.chunk,
                            .packed = w->chosen.how.packed,
                            .reordered = w->chosen.how.reordered,
                            .rows = w->chosen.how.rows};
  for (int b = 0; w->chosen.pinned_only && b < w->p->prog->low->nbufs; b++)
    x->have[b] = x->have[b] && !gb_choice_may_drop(x, b); /* it recomputes what may have to be dropped */
}

static gb_status choose_partition (gb_choice *x, gb_error *err) {
  const gb_status rc = gb_partition_choose(x, err);
  return rc == GB_EREFUSED && collect(x, SIZE_MAX) ? gb_partition_choose(x, err) : rc;
}

static gb_status choose_candidate (gb_choice *x, gb_error *err) {
  walk w = {.x = x, .p = x->plan, .budget = gb_choice_budget(x)};
  gb_status rc = run_walk(&w, err);
  if (rc == GB_OK && w.chosen.place == NULL && collect(x, w.least)) {
    end_walk(&w);
    w = (walk){.x = x, .p = x->plan, .budget = gb_choice_budget(x)};
    rc = run_walk(&w, err);
  }
  if (rc == GB_OK && w.chosen.place == NULL && w.short_of > 0)
    rc = gb_choice_refuse_abroad(x, w.short_of, w.short_need, err);
  else if (rc == GB_OK && w.chosen.place == NULL)
    rc = gb_choice_refuse(x, w.last.place, w.first.need, gb_choice_budget(x), w.least, err);
  if (rc == GB_OK) take_chosen(x, &w);
  end_walk(&w);
  return rc;
}

static void forget_place (gb_choice *x) {
  gb_lowered_plan_follow_threads(x->plan->prog, x->plan->request.graph);
  gb_placement_unref(x->place);
  x->place = NULL;
}

gb_status gb_choose (gb_choice *x, gb_error *err) {
  forget_place(x);
  return x->plan->request.team != NULL ? choose_partition(x, err) : choose_candidate(x, err);
}

gb_status gb_choose_whole (gb_choice *x, gb_error *err) {
  const variant whole = {0};
  forget_place(x);
  gb_partition_unref(x->partition);
  x->partition = NULL;
  return find_placement(x->plan, (gb_demand){x->want, x->have, x->keep}, &whole, &x->place, err);
}

gb_status gb_plan_find_minimum (gb_plan *p, size_t *minimum, gb_error *err) {
  gb_choice *x = &p->choice;
  walk w = {.x = x, .p = p, .all = true, .noted = p};
  GB_TRY(find_prices(&w, false, err));
  gb_lowered_plan_follow_threads(p->prog, p->request.graph);
  if (p->request.team != NULL) return gb_partition_minimum(x, minimum, err);
  const gb_status rc = run_walk(&w, err);
  *minimum = w.least;
  end_walk(&w);
  return rc;
}
