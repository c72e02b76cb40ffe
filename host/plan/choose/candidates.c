/* candidates.c - the candidates that a planner weighed, by name, and what it would choose among them. */
#include "base/grow.h"
#include "plan/choose/text.h"

static bool is_whole (const gb_candidate *o) { return o->tiling == NULL && !o->packed && o->rows == 0; }

static const gb_candidate *find_whole (const gb_plan *p, bool held) {
  for (size_t i = 0; i < p->ncandidates; i++)
    if (is_whole(&p->candidate[i]) && (!held || p->candidate[i].held > 0)) return &p->candidate[i];
  return NULL;
}

/* Whole runs come in the order: caches kept, caches as temporaries, existing caches dropped, in another
** order; of those that need as much as another only the first is there. */
static void name_offer (const gb_plan *p, gb_candidate *o, const gb_placement *place) {
  gb_form_text(p, place, o->name);
  o->again = gb_placement_again(place);
  if (!is_whole(o) || o->reordered) return;
  const char *how = place->caches > 0 ? ", caches kept" : "";
  if (find_whole(p, false) != NULL) how = ", caches as temporaries";
  if (o->held == 0 && find_whole(p, true) != NULL) how = ", existing caches dropped";
  gb_append(o->name, sizeof o->name, "%s", how);
}

static bool allows (const gb_candidate *o, size_t budget) {
  return o->need <= budget && o->need != SIZE_MAX && o->short_of == NULL;
}

static bool is_same_form (const gb_candidate *a, const gb_candidate *b) {
  return a->tiling == b->tiling && a->chunk == b->chunk && a->packed == b->packed && a->rows == b->rows;
}

/* All of the axis is one window: nothing is cut. */
static void tell_form (gb_candidate *o) {
  if (o->tiling != NULL && o->chunk < o->tiling->extent) return;
  o->tiling = NULL;
  o->chunk = 0;
}

void gb_plan_note_candidate (gb_plan *p, const gb_candidate *candidate, const gb_placement *place) {
  gb_candidate o = *candidate;
  tell_form(&o);
  for (size_t i = 0; i < p->ncandidates; i++)
    if (p->candidate[i].need == o.need && p->candidate[i].short_of == o.short_of &&
        is_same_form(&p->candidate[i], &o))
      return;
  if (!gb_grow(&p->candidate, p->ncandidates, &p->candidate_room, sizeof *p->candidate)) return;
  name_offer(p, &o, place);
  p->candidate[p->ncandidates++] = o;
}

void gb_plan_judge_candidates (gb_plan *p) {
  const size_t budget = gb_choice_budget(&p->choice);
  bool found = false;
  tell_form(&p->choice.taken);
  for (size_t i = 0; i < p->ncandidates; i++) {
    gb_candidate *o = &p->candidate[i];
    o->fits = allows(o, budget);
    o->chosen = !found && o->fits && o->need == p->choice.taken.need && is_same_form(o, &p->choice.taken);
    found |= o->chosen;
  }
}

/* what would be chosen */

static bool is_faster (const gb_candidate *o, const gb_candidate *than) {
  return o->seconds != than->seconds ? o->seconds < than->seconds : o->need < than->need;
}

static const gb_candidate *least_offer (const gb_plan_report *r) {
  const gb_candidate *least = NULL;
  for (int i = 0; i < r->ncandidates; i++)
    if (least == NULL || r->candidate[i].need < least->need) least = &r->candidate[i];
  return least;
}

/* The first of the family of candidate 'at' that fits: windows of one axis come large ones first. */
static bool leads_family (const gb_plan_report *r, int at, size_t budget) {
  const gb_candidate *o = &r->candidate[at];
  for (int i = 0; i < at; i++)
    if (r->candidate[i].tiling == o->tiling && r->candidate[i].packed == o->packed &&
        (r->candidate[i].rows > 0) == (o->rows > 0) && allows(&r->candidate[i], budget))
      return false;
  return allows(o, budget);
}

/* The first whole run that fits; else the fastest of those that lead their families. */
const gb_candidate *gb_offer_at (const gb_plan_report *r, size_t budget) {
  const gb_candidate *best = NULL, *least = least_offer(r);
  if (r->least) return least != NULL && allows(least, budget) ? least : NULL;
  for (int i = 0; i < r->ncandidates; i++) {
    if (is_whole(&r->candidate[i]) && allows(&r->candidate[i], budget)) return &r->candidate[i];
    if (leads_family(r, i, budget) && (best == NULL || is_faster(&r->candidate[i], best)))
      best = &r->candidate[i];
  }
  return best;
}

/* The smallest power of two from 'bytes' on; 0: there is none. */
static size_t power_from (size_t bytes) {
  size_t b = 1;
  while (b != 0 && b < bytes) b *= 2;
  return b;
}

bool gb_sweep_next (const gb_plan_report *r, size_t *budget) {
  const size_t first = power_from(r->minimum),
               ample = r->ncandidates > 0 ? power_from(r->candidate[0].need) : first;
  const size_t next = *budget == 0 ? first : *budget * 2;
  if (!r->timed || next == 0 || r->ncandidates == 0 || (ample != 0 && next > ample)) return false;
  *budget = next;
  return true;
}
