/* run.h - one execution of a plan.
**
** A run has a lane for each device: memory there, and the placement that is executed in it. The first lane
** is the graph's own device. Lanes run one after the other, because totals go from each to the next.
** Everything that a run needs is bound before its first step; steps allocate nothing. */
#ifndef GB_PLAN_RUN_RUN_H
#define GB_PLAN_RUN_RUN_H

#include "plan/choose/plan_internal.h"
#include "plan/run/trace.h"
#include "plan/tile/cut.h"

/* What a run has on a device of the graph beside the first: memory for the steps that run there. */
typedef struct gb_abroad_arena {
  gb_block own;
  char *at;
  bool begun;         /* its ledger counts the peak of this run */
  size_t start, peak; /* bytes of its ledger when the run began */
  size_t measured;    /* most bytes that the run took of its ledger */
} gb_abroad_arena;

/* What memcheck.c keeps of a lane that it watches; memory of its own, outside every account. */
typedef struct gb_watch {
  unsigned char poison;
  unsigned char *before; /* the arena as it was before the step */
  unsigned char *seen;   /* bytes of a memory that the host cannot read, copied to look at; else NULL */
  size_t *spare; /* [steps] bytes at the end of the step's scratch that no window so far has touched */
} gb_watch;

typedef struct gb_lane {
  gb_device *device;
  const gb_kernels *kernels; /* NULL: this device has no part in any run of the plan */
  const gb_placement *place; /* of the run's choice; NULL: this device has no part in the run */
  int now;                   /* the place that is running */
  gb_block own;      /* memory that the run took; of the first lane: kept between runs with bound leaves */
  void *arena;       /* in use: its own, or the caller's */
  const void **read; /* [buffers] addresses on this device */
  void **write;
  /* operands of the step in progress */
  const void **in;
  void **to;
  gb_number *constant;
  gb_window_fold (*window)[2]; /* [steps] room for folds cut down, along one axis or two; NULL until one is */
  gb_watch *watch;             /* NULL: not watched */
  bool begun;                  /* its ledger counts the peak of this run */
  size_t start, peak;          /* bytes of its ledger when the run began */
  size_t measured;             /* most bytes that the run took of its ledger */
} gb_lane;

struct gb_run {
  gb_plan *plan;
  bool within; /* a registered op began it */
  gb_choice choice;
  size_t nbound;
  gb_node **bound;   /* leaves with other values: borrowed, for comparison */
  int *binding;      /* [buffers] index into them, -1: the node's own value; NULL: none is bound */
  bool *depends;     /* [buffers] it depends on a bound leaf */
  gb_tensor *value;  /* [buffers] counted for the time of the run */
  gb_tensor *handed; /* operands of a registered op as it sees them ... */
  gb_storage **lent; /* ... and records for those that lie in the arena; NULL until a step needs them */
  gb_run_stats stats;
  gb_timed *timed;                          /* NULL: its steps are not timed */
  const char *path;                         /* of the last fold that was launched (gb_fold_stats) */
  gb_watch watch[2];                        /* of the first lane, and of the other one that runs */
  gb_abroad_arena abroad[GB_GRAPH_DEVICES]; /* by number of the device, from 1 */
  int nlanes;
  gb_lane lane[];
};

/* run.c. Takes the spare run of the plan, or makes one, and the lock of the graph's context; its lanes are not
** placed yet. Closing drops its values and gives the lock back; the plan may keep it as its spare. Errors:
** ENOMEM. */
gb_status gb_run_open (gb_plan *p, gb_run **out, gb_error *err);
void gb_run_close (gb_run *r);
void gb_run_free (gb_run *r);
/* Runs the placement of r->choice. Values of bound leaves and of outputs that the caller owns are in
** r->value already. Values go to the nodes where 'store'; they stay in r->value until gb_run_close.
** 'arena': the caller's, or NULL. */
gb_status gb_run_execute (gb_run *r, void *arena, bool store, gb_error *err);

/* commit.c: all memory of a run. Errors: ENOMEM; EOPTION, a leaf without a value. */
gb_status gb_run_commit (gb_run *r, void *arena, gb_error *err);
void gb_run_free_arena (gb_run *r);
gb_status gb_plan_unbound (const gb_node *n, gb_error *err); /* says why leaf n has no value; EOPTION */

/* step.c. The step at a place of the lane's order, for one window where 'at' is not NULL. Errors: EINTR, those
** of the device and of registered ops, with the name and line of the step. */
gb_status gb_run_step (gb_run *r, gb_lane *l, int place, const gb_window *at, gb_error *err);
/* The signature of buffer b in this run. */
uint64_t gb_run_signature (const gb_run *r, int b);
void gb_run_set_value (gb_run *r, int b); /* the buffer's node, which has none, gets its value */

/* call.c: registered ops. */
gb_status gb_run_call (gb_run *r, gb_lane *l, const gb_step *st, const gb_opaque *o, void *scratch,
                       gb_error *err);

/* abroad.c: devices of the graph beside the first, where steps of the first lane run. Begin takes their arenas:
** ENOMEM naming the device. */
gb_status gb_abroad_begin (gb_run *r, gb_error *err);
void gb_abroad_end (gb_run *r);
char *gb_step_arena (const gb_run *r, const gb_lane *l, int s); /* where step s of the lane has its memory */
/* The values of a MOVE, or of a window of it: from the device of its input to its own. Errors: EDEVICE. */
gb_status gb_run_move (gb_run *r, const gb_step *st, const gb_opaque *o, const void *from, void *to,
                       gb_error *err);

/* lanes.c: lanes of other devices than the first. Begin takes their memory: ENOMEM naming the device. Run
** executes their parts of the loop, when the first lane has done its own. */
gb_status gb_lanes_begin (gb_run *r, gb_error *err);
gb_status gb_lanes_run (gb_run *r, gb_error *err);
void gb_lanes_end (gb_run *r);
/* The device has less room than 'bytes', which the plan counts on: ENOMEM, naming it. */
gb_status gb_run_no_room (const gb_device *dev, size_t bytes, gb_error *err);

/* memcheck.c: watches a lane where gb_plan_memcheck says so and nothing else is watched. */
bool gb_memcheck_begin (gb_run *r, gb_lane *l);
void gb_memcheck_end (gb_run *r, gb_lane *l); /* does nothing where the lane is not watched */
void gb_memcheck_before (const gb_lane *l);
void gb_memcheck_after (const gb_run *r, const gb_lane *l, int place,
                        const gb_window *at); /* at NULL: whole */
/* A node of the nest ran; what it made was read; the outermost reader is done. */
void gb_memcheck_node (const gb_run *r, const gb_lane *l, int step, const gb_nest_room *room);
void gb_memcheck_consumed (const gb_lane *l, int k);
void gb_memcheck_nest (const gb_run *r, const gb_lane *l, int step, int place);
void gb_memcheck_copied (const gb_run *r, const gb_lane *l, int b); /* all of buffer b was copied to here */
void gb_memcheck_sent (const gb_lane *l, int b); /* it was copied from here and is not read again */

/* report/stored.c: of the choice that is about to run. */
void gb_tell_stored (const gb_choice *c);

#endif
