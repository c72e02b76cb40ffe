/* place.h - lifetimes and homes of the buffers of a lowered graph: pure functions of sizes, no memory is
** touched. */
#ifndef GB_PLAN_PLACE_PLACE_H
#define GB_PLAN_PLACE_PLACE_H

#include <stdbool.h>

#include "lower/kernels.h"
#include "lower/lower.h"
#include "plan/place/nest.h"
#include "plan/place/pack.h"
#include "plan/tile/axes.h"
#include "plan/tile/packed_factor.h"

typedef enum gb_home {
  GB_HOME_NONE,  /* no running step touches it */
  GB_HOME_VALUE, /* a leaf, or a node's value that exists already */
  GB_HOME_ARENA,
  GB_HOME_OUTPUT, /* storage of its own, handed to a requested node */
  GB_HOME_CACHE,  /* storage of its own, kept by its node until memory is short */
  GB_HOME_SHARED  /* where the result of its last reader will be, which works in place */
} gb_home;

/* What a run takes of a device beside the graph's own. Nothing is cached there. */
typedef struct gb_abroad {
  size_t arena, outputs, peak; /* bytes; peak = arena + outputs */
  size_t bound;                /* of the arena: bytes that live at once, at most */
} gb_abroad;

/* The places of the steps within a loop over the windows; none: last = first - 1. */
typedef struct gb_loop {
  int first, last;
} gb_loop;

/* Time is counted in places of the order in which steps run; those within a loop run once a window of its
** axis. A step has a place in each loop that it runs in. */
typedef struct gb_placement {
  int refs;
  int nbufs, nsteps;
  bool *runs;        /* [nsteps] its results are needed and do not exist */
  int nplaces;       /* at least one a step */
  int nrun;          /* places of steps that run */
  int *order;        /* [nplaces] the step at each place */
  int *place;        /* [nsteps] its first one */
  gb_tiling *tiling; /* counted; the steps within it run once a window; NULL: nothing is cut */
  /* counted; sums over its axis run in pieces of its grain, cut or not; NULL: no such sums */
  gb_tiling *grains;
  /* indices of a window, a multiple of the tiling's unit; the last may have fewer; 0: the steps within run
  ** on other devices only */
  size_t chunk;
  const gb_nest *nest; /* of the program; NULL: no step is inside another. Never together with a tiling */
  size_t rows;         /* nest: indices of a window, where units and extents allow */
  gb_nest_room *room;  /* [nodes of the nest] */
  size_t lo, hi;       /* the part of the axis that runs here: all of it but where devices share it */
  int nloops;          /* 0: nothing is cut */
  gb_loop *loop;       /* [nloops] */
  unsigned *loops;     /* [nsteps] bit k: it runs in loop k */
  unsigned char *read; /* [nbufs] gb_home: where readers find it */
  /* [nbufs] gb_home: where its step writes it; a step with several results may have to write one that
  ** exists: it goes to the arena, and nobody reads it there */
  unsigned char *write;
  int *into;        /* [nbufs] SHARED: the buffer whose place it takes; else -1 */
  bool *compact;    /* [nbufs] only a window of it exists at a time */
  bool *sent;       /* [nbufs] on another device than the first: copied there from its last place */
  bool *packed;     /* [nbufs] it is a packed triangle */
  gb_life *life;    /* [nbufs] places; the offset counts where 'write' is the arena */
  gb_life *scratch; /* [nplaces] */
  gb_life *state;   /* [nsteps] totals that a fold keeps from window to window */
  gb_life *within;  /* [nsteps] at the program's home: of registered ops */
  /* On the graph's own device: bytes; peak = arena + outputs + caches; SIZE_MAX: past counting */
  size_t arena, outputs, caches, peak;
  size_t arena_bound;                 /* the most arena bytes live in one step */
  gb_abroad abroad[GB_GRAPH_DEVICES]; /* by number of the device, from 1; offsets count in its own arena */
} gb_placement;

/* What is asked of a lowered graph, by buffer: it is wanted as a result; its value exists; it may be kept
** as a cache (else it is a temporary). */
typedef struct gb_demand {
  const bool *want, *have, *keep;
} gb_demand;

/* How the steps are to run. */
typedef struct gb_form_of_run {
  gb_tiling *tiling; /* NULL: every step once */
  gb_tiling *grains; /* as in gb_placement */
  size_t chunk;
  const gb_nest *nest; /* NULL: none; staged values that exist or are wanted are never made by windows */
  size_t rows;
  const int *order;                      /* [steps] a topological order; NULL: the program's */
  const gb_packed_factor *packed_factor; /* to be packed where requests and existing values allow */
  int npacked_factors;
  /* Bytes that step s needs while it runs, and from window to window (0 where it is not within). */
  void (*workspace)(const void *ud, const gb_placement *p, int s, size_t *scratch, size_t *state);
  void (*inside)(const void *ud, const gb_placement *p, int node, size_t *scratch, size_t *state);
  const void *ud;
  size_t hi; /* only [0, hi) of the axis runs here; 0: all of it */
} gb_form_of_run;

/* Step s accumulates over the axis of the grains, piece by piece. */
static inline bool gb_sums_in_grains (const gb_placement *p, int s) {
  return gb_is_within(p->grains, s) && p->grains->cut[s].reduces;
}

/* As gb_tiling.phase, of the first loop that step s does run in. */
static inline int gb_first_phase (const gb_placement *p, int s) {
  if (p->tiling == NULL) return 0;
  return p->loops[s] != 0 ? 2 * __builtin_ctz(p->loops[s]) + 1 : p->tiling->phase[s];
}
/* How often step s runs over its axis after the first loop that it runs in. */
static inline int gb_loops_again (const gb_placement *p, int s) {
  return p->loops[s] == 0 ? 0 : __builtin_popcount(p->loops[s]) - 1;
}
/* The steps that run again, each counted as often. */
int gb_placement_again (const gb_placement *p);
/* The loop that the place is in, -1: none. */
int gb_loop_at (const gb_placement *p, int place);
/* The same loop runs at both places, or none between the same two loops. */
bool gb_same_part (const gb_placement *p, int place, int other);

/* Depends on its arguments alone: no candidate depends on the budget. Errors: ENOMEM. */
gb_status gb_place (const gb_lowered *low, gb_demand d, const gb_form_of_run *form, gb_placement **out,
                    gb_error *err);
/* The operand whose place the step's result may take, -1: none. */
int gb_overwritten (const gb_step *st);
/* The triangle whose matrix step s stores packed, NULL: none. */
const gb_packed_factor *gb_packed_store (const gb_placement *p, const gb_packed_factor *t, int n, int s);
/* Where buffer b is written once sharing is seen through: never SHARED. */
gb_home gb_placement_home (const gb_placement *p, int b);
void gb_placement_unref (gb_placement *p); /* NULL is fine */

/* The node of step s, which makes operands inside it; -1: it makes none. */
int gb_nest_at (const gb_placement *p, int s);
/* The first turn of the result of node k: what runs inside it writes parts of it, where it has windows of
** its own. */
static inline int gb_nest_from (const gb_placement *p, int k) {
  return p->nest->node[k].own.cut ? p->room[k].begin : p->room[k].turn;
}
/* The most that the nodes at a place hold at once, scratch of the outermost reader included; 0: no nest
** runs there. */
size_t gb_nest_bytes (const gb_placement *p, int place);
/* Step s is run by the loops of others only. */
bool gb_runs_inside (const gb_lowered *low, const gb_placement *p, int s);

/* What gb_place is made of, for placements on other devices (remote.h): an empty one, NULL: no memory; the
** places of its steps, of which 'runs' and 'loops' say what has some, false: no memory; and its arena packed. */
gb_placement *gb_placement_new (const gb_lowered *low, gb_tiling *tiling, gb_tiling *grains, size_t chunk);
bool gb_placement_order (gb_placement *p, const int *order); /* [steps] topological; NULL: the program's */
gb_status gb_placement_pack (const gb_lowered *low, gb_placement *p, gb_error *err);

/* All its results are empty: it is not run. */
bool gb_step_is_idle (const gb_lowered *low, const gb_step *s);
/* Bytes that the device's kernel, opaque op or registered call asks for in step 's'; an idle one asks for
** none. */
size_t gb_step_scratch (gb_kernels *k, int s);
size_t gb_opaque_bytes (const gb_device *dev, const gb_opaque *o);
/* Bytes at home of a registered op; 0 for other steps. */
size_t gb_step_home_bytes (const gb_step *s);
/* EREFUSED: the step is a registered op that does not say what it takes. */
gb_status gb_step_contract (const gb_step *s, gb_error *err);

#endif
