/* cache.h - what a graph remembers between plans: lowered plans by structure, values that may be dropped,
** and the records of runs. */
#ifndef GB_PLAN_STRUCTURE_CACHE_H
#define GB_PLAN_STRUCTURE_CACHE_H

#include <pthread.h>

#include "plan/plan.h"
#include "plan/structure/lowered_plan.h"

#define GB_PROGRAMS 256 /* structures a graph remembers */

typedef struct gb_measure gb_measure;

/* A value that its node may lose: dropped when memory is short, least recently used first. */
typedef struct gb_cached {
  gb_node *node; /* counted */
  int output;
  uint64_t used;
} gb_cached;

typedef struct gb_plan_context {
  gb_lowered_plan *program[GB_PROGRAMS];
  int nprograms;
  gb_cached *cached;
  size_t ncached, room;
  uint64_t clock;
  gb_ledger *ledger;   /* asks it to give up programs */
  gb_measure *measure; /* NULL until something is measured */
  gb_run_stats last_eval, measured;
  gb_memcheck_watch memcheck;
  gb_trace *traces;                   /* that are open, the newest first */
  double traced;                      /* seconds of all steps that were timed */
  void (*announce)(const char *text); /* gb_stored_announce */
  /* A graph belongs to one thread, but for runs of its plans with bound leaves: they hold this lock while they
  ** begin and end and while a registered op runs, not while steps run. Recursive: ops run plans. */
  pthread_mutex_t lock;
  int calls;        /* registered ops that run; what is run meanwhile is within a run */
  size_t home_peak; /* as gb_plan_swap_home_peak has it */
} gb_plan_context;

/* Of the graph; made on first use. NULL: no memory. */
gb_plan_context *gb_context (gb_graph *g, gb_error *err);
/* A graph with a plan has a context. */
static inline void gb_context_lock (gb_graph *g) { pthread_mutex_lock(&g->plans->lock); }
static inline void gb_context_unlock (gb_graph *g) { pthread_mutex_unlock(&g->plans->lock); }

/* lowered plans */
gb_lowered_plan *gb_lowered_plan_find (gb_plan_context *c, uint64_t structure, size_t nnodes, size_t nouts,
                                       const gb_graph *g);
void gb_lowered_plan_add (gb_plan_context *c, gb_lowered_plan *p); /* takes a count of its own */

/* values */

/* The value is a cache, only its node counts it, and dropping it makes room in the account in force. */
bool gb_cache_holds (const gb_value *v);
/* The value of n's output is now a cache. Without memory for the entry it is simply dropped. */
void gb_cache_add (gb_graph *g, gb_node *n, int output);
bool gb_cache_reserve (gb_graph *g, size_t more); /* so that as many gb_cache_add allocate nothing */
void gb_cache_touch (gb_graph *g, const gb_node *n, int output);
/* It is no longer a cache, if it was one; the value stays. */
void gb_cache_forget (gb_graph *g, gb_node *n, int output);
void gb_cache_pin (gb_graph *g, gb_node *n, int output); /* it was asked for: no longer droppable */
/* Makes 'bytes' allocatable: drops caches, then lets the owner of the ledger collect. False: there is no
** room. */
bool gb_make_room (gb_graph *g, size_t bytes);

/* measure.c */
void gb_measure_note (gb_graph *g, gb_node *n, int output);
void gb_measure_count (gb_graph *g, const gb_run_stats *s, bool outermost);
void gb_measure_free (gb_measure *m);

#endif
