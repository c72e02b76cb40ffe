/* trace.h - what the steps of runs took: a run times its steps while a trace of its graph is open (gb_trace_begin),
** and hands them to every open trace when it ends. */
#ifndef GB_PLAN_RUN_TRACE_H
#define GB_PLAN_RUN_TRACE_H

#include "plan/place/split.h"
#include "plan/price/step_cost.h"
#include "plan/structure/cache.h"
#include "program/work.h"

/* One step, or a window of it, as it ran. */
typedef struct gb_timed_step {
  const char *op, *where, *device, *carrier, *kernel;
  double from, to;     /* seconds of gb_clock; on a device with a clock by that one */
  double self;         /* of these, those that no step of a run within it took */
  double bytes, flops; /* as gb_work */
  double predicted;    /* seconds; NaN: the figures of its device are not known */
  double bound;        /* as gb_price_ops.bound; NaN: not known */
  int step;            /* of its plan */
  size_t held;         /* bytes that its run had of the ledger of its device at its end */
  int depth;           /* registered ops that ran around it */
} gb_timed_step;

/* trace.c. Under the lock of the graph's context. */
void gb_trace_add (gb_plan_context *c, const gb_timed_step *step);
void gb_trace_miss (gb_plan_context *c); /* a step ran whose times its device does not tell */

/* timed.c: the steps of one run, which are timed where r->timed is set. */
typedef struct gb_run gb_run;
typedef struct gb_lane gb_lane;
typedef struct gb_timed gb_timed;

/* Sets r->timed where a trace is open. Without memory the run is not timed. */
void gb_timed_open (gb_run *r);
/* Around a step, or a window of it; 'st': how the step ended. Errors: EDEVICE. */
gb_status gb_timed_begin (gb_run *r, const gb_lane *l, int s, gb_error *err);
void gb_timed_end (gb_run *r, const gb_lane *l, int s, const gb_window *at, gb_status st);
/* Hands the steps to the open traces, and clears r->timed. NULL is fine. */
void gb_timed_close (gb_run *r);

#endif
