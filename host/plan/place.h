/* place.h - lifetimes and homes of the buffers of a lowered graph: pure functions of sizes, no memory is
** touched. */
#ifndef GB_PLAN_PLACE_H
#define GB_PLAN_PLACE_H

#include <stdbool.h>

#include "fold/lower.h"
#include "plan/pack.h"

typedef enum gb_home {
  GB_HOME_NONE,              /* no running step touches it */
  GB_HOME_VALUE,             /* a leaf, or a node's value that exists already */
  GB_HOME_ARENA,
  GB_HOME_OUTPUT,            /* storage of its own, handed to a requested node */
  GB_HOME_CACHE,             /* storage of its own, kept by its node until memory is short */
  GB_HOME_SHARED             /* where the result of its last reader will be, which works in place */
} gb_home;

typedef struct gb_placement {
  int refs;
  int nbufs, nsteps, nrun;   /* steps that run: those whose results are needed and do not exist */
  bool *runs;                /* [nsteps] */
  unsigned char *read;       /* [nbufs] gb_home: where readers find it */
  unsigned char *write; /* [nbufs] gb_home: where its step writes it; a step with several results may have to
                                write one that exists: it goes to the arena, and nobody reads it there */
  int *into;                 /* [nbufs] SHARED: the buffer whose place it takes; else -1 */
  gb_life *life;             /* [nbufs] steps; the offset counts where 'write' is the arena */
  gb_life *scratch;          /* [nsteps] */
  size_t arena, outputs, caches, peak;   /* bytes; peak = arena + outputs + caches; SIZE_MAX: past counting */
  size_t arena_bound;        /* the most arena bytes live in one step */
} gb_placement;

/* What is asked of a lowered graph, by buffer: it is wanted as a result; its value exists; it may be kept
** as a cache (else it is a temporary). */
typedef struct gb_demand { const bool *want, *have, *keep; } gb_demand;

/* 'scratch[s]': bytes of step s. Depends on nothing else, so candidates do not depend on the budget.
** Errors: ENOMEM. */
gb_status gb_place (const gb_lowered *low, gb_demand d, const size_t *scratch, gb_placement **out,
                    gb_error *err);
/* Where buffer b is written once sharing is seen through: never SHARED. */
gb_home gb_placement_home (const gb_placement *p, int b);
void gb_placement_unref (gb_placement *p);   /* NULL is fine */

/* Bytes the backend's fold, opaque op or registered call asks for in step 's'. */
size_t gb_step_scratch (const gb_backend *be, const gb_step *s);

#endif
