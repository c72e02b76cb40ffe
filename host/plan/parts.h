/* parts.h - what the files of this layer share: programs, plans, and the caches of a graph. */
#ifndef GB_PLAN_PARTS_H
#define GB_PLAN_PARTS_H

#include "plan/choose/partition.h"
#include "plan/place/place.h"
#include "plan/plan.h"
#include "plan/tile/nest.h"
#include "plan/tile/split.h"

#define GB_PROGRAMS 256 /* structures a graph remembers */
#define GB_PLACEMENTS 8 /* placements a program remembers */
#define GB_AXES 8       /* axes that a program tries to cut */
#define GB_TILINGS 24   /* the same, from whichever leaf on, where it has few steps */

/* Filled when memory is short. */
typedef struct gb_axes_found {
  gb_tiling *tiling[GB_TILINGS];
  int n;
  bool looked;
} gb_axes_found;

/* A lowered graph with its placements: one for every graph of its structure, run by 'threads' threads. */
typedef struct gb_lowered_plan {
  int refs, threads;
  uint64_t structure;
  size_t nnodes, nouts;
  gb_lowered *low;
  size_t *scratch;                           /* [steps] bytes */
  uint64_t *arithmetic;                      /* [buffers] signatures of signature.c */
  int widest_in, widest_out, most_constants; /* of one step */
  struct {
    uint64_t key;
    gb_placement *place;
  } placed[GB_PLACEMENTS];
  int next_place;
  gb_tiling *batch;         /* the axis that leaves name: its sums run in grains, cut or not; or NULL */
  gb_axes_found bits, math; /* axes found by looking, cut where no bit changes, and anywhere */
  gb_axes_found sums;       /* as bits; more of it can run on other devices, none of it in less memory */
  gb_packed_factor *packed_factor; /* factors that can be packed */
  int npacked_factors;
  gb_nest *nest;     /* staged values inside their readers, or NULL */
  uint64_t used;     /* stamp of the last use */
  gb_ledger *ledger; /* of the books that have its bytes */
  size_t booked;
} gb_lowered_plan;

/* A value that its node may lose: dropped when memory is short, least recently used first. */
typedef struct gb_cached {
  gb_node *node; /* counted */
  int output;
  uint64_t used;
} gb_cached;

typedef struct gb_plan_cache {
  gb_lowered_plan *program[GB_PROGRAMS];
  int nprograms;
  gb_cached *cached;
  size_t ncached, room;
  uint64_t clock;
  gb_ledger *ledger;          /* asks it to give up programs */
  struct gb_measure *measure; /* NULL until something is measured */
} gb_plan_cache;

struct gb_plan {
  gb_graph *graph;
  gb_lowered_plan *prog;
  size_t booked; /* bytes of its tables in the ledger's books */
  size_t nnodes, nouts;
  gb_node **node;          /* [nnodes] canonical order; counted */
  gb_node **out;           /* [nouts] as requested; counted */
  gb_plan_options options; /* budget 0 = what the ledger has */
  gb_placement *place;     /* of the last choice; counted */
  gb_plan_report report;   /* of the choice that gb_plan_new made, as is what follows up to 'ran' */
  gb_placement *planned;   /* counted */
  gb_plan_row *row;
  int *number;        /* [places + 1] steps that run before a place: users count these */
  const char **what;  /* [steps that run] */
  gb_candidate taken; /* of the last choice: what tells it from others */
  gb_candidate *candidate;
  size_t ncandidates, candidate_room;
  bool ran;
  size_t nbound;
  gb_node **bound;             /* leaves of the last run with other values: borrowed, for comparison */
  int *binding;                /* [buffers] index into them, -1 = the node's own value */
  gb_window_fold (*window)[2]; /* [steps] room for folds cut down, along one axis or two; NULL until one is */
  gb_block arena;              /* kept between runs with rebound leaves */
  gb_run_stats stats;
  gb_partition *partition; /* what other devices do; NULL: one device plans and runs alone */
  gb_device *on;           /* the device whose steps run now */
  bool watched;            /* the run in progress, by memcheck.c */
  /* [buffers] of the run in progress */
  bool *want, *have, *keep; /* as in gb_demand */
  bool *depends;            /* it depends on a bound leaf */
  gb_tensor *value;         /* counted for the time of a run */
  const void **read;
  void **write;
  /* operands of the step in progress */
  const void **in;
  void **to;
  gb_number *constant;
  gb_tensor *handed; /* the same as a registered op sees them ... */
  gb_storage **lent; /* ... and records for those that lie in the arena: NULL until a run needs them */
};

/* plan.c. Opens the plan of a structure without choosing or allocating tensors. Errors: as gb_lower;
** ENOMEM. */
gb_status gb_plan_open (gb_graph *g, size_t nouts, gb_node *const *outs, gb_plan **out, gb_error *err);
size_t gb_plan_pinned (const gb_plan *p); /* bytes held beside the plan, caches apart */
size_t gb_plan_budget (const gb_plan *p);
/* Before any placement is chosen: scratch goes with the number of threads, which may have changed since
** the program was written. */
void gb_plan_follow_threads (gb_plan *p);
/* How steps run where memory is no matter: whole, in grains where leaves name a batch. */
gb_status gb_plan_find_whole (gb_plan *p, gb_demand d, gb_placement **out, gb_error *err);
/* Fills want, have and keep for the values that exist now, and chooses. */
gb_status gb_plan_refresh (gb_plan *p, gb_error *err);

/* run.c. Runs p->place; values of leaves that are bound otherwise and of outputs that the caller owns are
** in p->value already. Values go to the nodes where 'store'. The values of this run stay in p->value until
** gb_plan_clear. */
gb_status gb_plan_execute (gb_plan *p, void *arena, bool store, gb_error *err);
/* The step at a place of p->place, on the device p->on; for one window where 'at' says so. */
gb_status gb_plan_run_place (gb_plan *p, int place, const gb_window *at, void *arena, gb_error *err);
void gb_plan_clear (gb_plan *p);
void gb_tell_stored (const gb_plan *p); /* stored.c; of the choice that is about to run */
gb_status gb_plan_unbound (const gb_node *n, gb_error *err); /* says why leaf n has no value; EOPTION */

/* cache.c: the value is a cache, only its node counts it, and dropping it makes room in the account in
** force. */
bool gb_cache_holds (const gb_value *v);

static inline gb_value *gb_plan_value (const gb_plan *p, int b) {
  const gb_buf *buf = &p->prog->low->buf[b];
  return &p->node[buf->source]->out[buf->output];
}

/* The buffer's node has its value, and by the same arithmetic. */
static inline bool gb_plan_has_value (const gb_plan *p, int b) {
  const gb_value *v = gb_plan_value(p, b);
  return p->prog->low->buf[b].cls != GB_BUF_LEAF && v->tensor.storage != NULL &&
         v->arithmetic == p->prog->arithmetic[b];
}

/* A value that its node may lose. */
static inline bool gb_plan_droppable (const gb_plan *p, int b) {
  return p->prog->low->buf[b].cls != GB_BUF_LEAF && p->have[b] && gb_cache_holds(gb_plan_value(p, b));
}

/* Provenance in the graph at hand: the lowered form may have been made from another one. */
static inline const char *gb_plan_where (const gb_plan *p, int b) {
  return p->node[p->prog->low->buf[b].source]->where;
}
static inline const char *gb_plan_name (const gb_plan *p, int b) {
  return p->node[p->prog->low->buf[b].source]->name;
}

/* choose.c. Chooses the placement for p->want, p->have and p->keep: with caches kept, with caches as
** temporaries, with existing caches dropped, then window by window of some axis; the first that fits.
** Errors: EREFUSED, ENOMEM. */
gb_status gb_plan_choose (gb_plan *p, gb_error *err);
/* Bytes of values that the placement counts on and that would make room if they went. */
size_t gb_plan_held (const gb_plan *p, const gb_placement *place);
/* The least that any candidate needs; notes what is considered on the way. */
gb_status gb_plan_find_minimum (gb_plan *p, size_t *minimum, gb_error *err);
/* The axes that a program can be cut along. */
gb_status gb_lowered_plan_find_batch (gb_lowered_plan *prog, gb_node *const *node, gb_error *err);
gb_status gb_lowered_plan_find_tilings (gb_lowered_plan *prog, bool math, bool sums,
                                        const gb_axes_found **out, gb_error *err);

/* candidates.c. Remembers a candidate that was weighed; without memory it is left out. 'place': what it is
** like. */
void gb_plan_note_candidate (gb_plan *p, const gb_candidate *o, const gb_placement *place);
/* Once a placement is chosen: says of each candidate whether it fits, and which it was. */
void gb_plan_judge_candidates (gb_plan *p);

/* rows.c. Fills p->report and p->row from the placement that was chosen. */
gb_status gb_plan_fill_report (gb_plan *p, gb_error *err);

/* signature.c */
gb_status gb_buffer_signatures (const gb_lowered *low, const gb_tiling *batch, uint64_t *made, gb_error *err);

/* refuse.c. Fills 'err' with what it would take and the ways out; returns EREFUSED. */
gb_status gb_plan_refuse (const gb_plan *p, const gb_placement *place, size_t need, size_t have,
                          size_t minimum, gb_error *err);

/* cache.c */
gb_plan_cache *gb_caches (gb_graph *g, gb_error *err); /* made on first use; NULL: no memory */

/* measure.c */
typedef struct gb_measure gb_measure;
void gb_measure_note (gb_graph *g, gb_node *n, int output);
void gb_measure_count (const gb_run_stats *s, bool outermost);
void gb_measure_free (gb_measure *m);
gb_lowered_plan *gb_lowered_plan_find (gb_plan_cache *c, uint64_t structure, size_t nnodes, size_t nouts,
                                       int threads);
void gb_lowered_plan_add (gb_plan_cache *c, gb_lowered_plan *p); /* takes a count of its own */
/* after each change of its size */
gb_status gb_lowered_plan_book (gb_lowered_plan *p, gb_ledger *l, gb_error *err);
void gb_lowered_plan_unref (gb_lowered_plan *p);
/* The value of n's output is now a cache. Without memory for the entry it is simply dropped. */
void gb_cache_add (gb_graph *g, gb_node *n, int output);
bool gb_cache_reserve (gb_graph *g, size_t more); /* so that as many gb_cache_add allocate nothing */
void gb_cache_touch (gb_graph *g, const gb_node *n, int output);
/* no longer a cache, if it was one; the value stays */
void gb_cache_forget (gb_graph *g, gb_node *n, int output);
void gb_cache_pin (gb_graph *g, gb_node *n, int output); /* it was asked for: no longer droppable */
/* Makes 'bytes' allocatable: drops caches, then lets the owner of the ledger collect. False: there is no
** room. */
bool gb_make_room (gb_graph *g, size_t bytes);

/* memcheck.c: watches a run whose arena is the plan's own, where gb_plan_memcheck.on. False: this one is
** not watched. */
bool gb_memcheck_begin (const gb_plan *p, void *arena);
void gb_memcheck_before (const gb_plan *p, const void *arena);
/* at NULL: it ran once */
void gb_memcheck_after (const gb_plan *p, int place, const gb_window *at, void *arena);
/* a node of the nest ran */
void gb_memcheck_node (const gb_plan *p, int step, const gb_nest_room *room, void *arena);
void gb_memcheck_consumed (const gb_plan *p, int k, void *arena);           /* what it made was read */
void gb_memcheck_nest (const gb_plan *p, int step, int place, void *arena); /* the outermost reader is done */
void gb_memcheck_end (void);
void gb_memcheck_copied (const gb_plan *p, int b); /* all of buffer b was copied to where it lies now */
/* What the watch keeps of the device that it looks at: another one is watched in between. */
typedef struct gb_memcheck_memory {
  unsigned char *before;
  size_t *spare;
} gb_memcheck_memory;
void gb_memcheck_exchange (gb_memcheck_memory *m);

#endif
