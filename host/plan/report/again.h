/* again.h - what the loops of a plan compute again rather than keep (again.c). */
#ifndef GB_PLAN_REPORT_AGAIN_H
#define GB_PLAN_REPORT_AGAIN_H

#include <stdio.h>

#include "plan/choose/plan_internal.h"

/* All of it: steps that run again, each counted as often; floating point operations of the plan with every step
** once, and of what runs again. */
typedef struct gb_repeats {
  int steps;
  double once, again;
} gb_repeats;
gb_repeats gb_plan_repeats (const gb_plan *p);

/* A step that several loops run: its first place, its first result, how often again and the operations of that;
** bytes of its results whole, and what is held of them at a time. */
typedef struct gb_repeat {
  int place, buf, times;
  double flops;
  size_t whole, held;
} gb_repeat;
/* The next one after r->place, in the order of steps; -1: the first. */
bool gb_next_repeat (const gb_plan *p, gb_repeat *r);

/* Their part of a report; nothing where no step runs again. */
void gb_repeats_explain (const gb_plan *p, FILE *f);

#endif
