/* choose.h - which candidate runs: a placement for the values that exist, within a budget. */
#ifndef GB_PLAN_CHOOSE_CHOOSE_H
#define GB_PLAN_CHOOSE_CHOOSE_H

#include "plan/choose/partition.h"
#include "plan/plan.h"

/* A plan makes one to report; each run makes its own, since values come and go between runs. */
typedef struct gb_choice {
  const gb_plan *plan;
  bool *want, *have, *keep; /* [buffers] as in gb_demand */
  size_t arena;             /* bytes in use that would serve this run too: the arena of an earlier one */
  gb_placement *place;      /* on the first device; counted; NULL: nothing is chosen */
  gb_candidate taken;       /* what tells it from others */
  gb_partition *partition;  /* what other devices do; counted; NULL: nothing */
} gb_choice;

/* Errors: ENOMEM; clearing is safe then. */
gb_status gb_choice_init (gb_choice *c, const gb_plan *p, gb_error *err);
void gb_choice_clear (gb_choice *c);
/* Fills want, have and keep: what was asked for, and the values that nodes have. */
void gb_choice_look_up (gb_choice *c);

/* Chooses the placement for want, have and keep: with caches kept, with caches as temporaries, with
** existing caches dropped, then window by window of some axis; the first that fits. Errors: EREFUSED,
** ENOMEM. */
gb_status gb_choose (gb_choice *c, gb_error *err);
/* Whose sums run in pieces where windows are those of c, or of nothing: NULL. */
gb_tiling *gb_plan_grains (const gb_plan *p, gb_tiling *c);
/* How steps run where memory does not matter: whole, in grains where leaves name a batch. */
gb_status gb_choose_whole (gb_choice *c, gb_error *err);
/* The least that any candidate needs; p remembers the candidates. */
gb_status gb_plan_find_minimum (gb_plan *p, size_t *minimum, gb_error *err);

/* Where a device that runs a step has no prices, that device, and nothing has predicted seconds; else NULL. */
const gb_device *gb_plan_unpriced (const gb_plan *p);
bool gb_plan_is_timed (const gb_plan *p); /* each of them has figures, and they are known */

size_t gb_choice_pinned (const gb_choice *c); /* bytes held beside the plan, caches apart */
size_t gb_choice_budget (const gb_choice *c);
/* Buffer b has a value that its node may lose. */
bool gb_choice_may_drop (const gb_choice *c, int b);
/* Bytes of values that the placement counts on and that would make room if they went. */
size_t gb_choice_held (const gb_choice *c, const gb_placement *place);

/* candidates.c. Remembers a candidate that was weighed; without memory it is left out. 'place': what it is
** like. */
void gb_plan_note_candidate (gb_plan *p, const gb_candidate *o, const gb_placement *place);
/* Once a placement is chosen: says of each candidate whether it fits, and which it was. */
void gb_plan_judge_candidates (gb_plan *p);

/* refuse.c. Fills 'err' with what it would take and the ways out; returns EREFUSED. */
gb_status gb_choice_refuse (const gb_choice *c, const gb_placement *place, size_t need, size_t have,
                            size_t minimum, gb_error *err);

/* A device beside the first has no room for the least that any candidate needs there; returns EREFUSED. */
gb_status gb_choice_refuse_abroad (const gb_choice *c, int device, size_t need, gb_error *err);

#endif
