/* plan.h - what will exist, when, and where: the immutable answer to "can this run, and in how many
** bytes". */
#ifndef GB_PLAN_PLAN_H
#define GB_PLAN_PLAN_H

#include "graph/call.h"
#include "lower/lower.h"

typedef struct gb_plan gb_plan;

/* A device that takes part: the graph's own, or any other that is open. Running totals pass between devices as they
** are, so those of a reduced axis share its work only where their kernels keep the same totals. */
typedef struct gb_plan_on {
  gb_device *device;
  size_t budget; /* 0 = as below, or what its ledger has */
  double speed;  /* relative to the others; 0 = 1 */
} gb_plan_on;

/* What a plan may do beside running every step whole, in program order. All of it keeps every bit. */
enum {
  GB_ALLOW_CACHE = 1,      /* keep values for later plans */
  GB_ALLOW_ORDER = 2,      /* run steps in another order */
  GB_ALLOW_PACK = 4,       /* triangular factors in half a square */
  GB_ALLOW_CUT = 8,        /* window by window of an axis */
  GB_ALLOW_RECOMPUTE = 16, /* several times over the windows, with values computed again */
  GB_ALLOW_ALL = 31
};

typedef struct gb_plan_options {
  size_t budget;   /* bytes for arena + outputs + caches; 0 = ledger limit - pinned */
  unsigned forbid; /* GB_ALLOW_* that it may not */
  bool least;      /* of the candidates the one of least peak, not the fastest that fits */
  bool math;       /* sums may run in other pieces where that is faster or smaller: equal up to rounding */
  bool
      at_home; /* everything of it lies on the graph's own device: registered ops plan within bytes of that */
  int ndevices; /* 0: the graph's own device alone */
  /* [ndevices]; the graph's own plans and holds the results even where it is not listed */
  const gb_plan_on *on;
} gb_plan_options;

/* What a row of the report stands for. INPUT: it exists already, and is pinned or a cache; STATE: totals
** that a step keeps from window to window; the others are made by the run. */
typedef enum gb_row_class {
  GB_ROW_INPUT,
  GB_ROW_OUTPUT,
  GB_ROW_CACHE,
  GB_ROW_TEMP,
  GB_ROW_WORKSPACE,
  GB_ROW_STATE
} gb_row_class;
const char *gb_row_class_name (gb_row_class c);

/* One buffer as planned. */
typedef struct gb_plan_row {
  const char *what;  /* "z", "cholesky", "scratch" */
  const char *where; /* script line */
  const char *was;   /* what it overwrites, "" where it overwrites nothing */
  gb_row_class cls;
  gb_dtype dtype; /* WORKSPACE and STATE have neither dtype nor shape */
  gb_shape shape;
  const char *device; /* whose memory it is, "" = the graph's own */
  bool packed;        /* the lower triangle only */
  size_t window;      /* indices of dimension 'axis' that exist at a time, 0: all of it */
  int axis;
  size_t bytes, offset; /* offset: in the arena; all others: SIZE_MAX */
  int step;             /* that makes it, -1: INPUT */
  int first, last;      /* steps, from 0 in the order in which they run */
  int turn[2]; /* of the nest that runs in its step, the first and the last one; all: 0 and INT_MAX */
} gb_plan_row;

/* One candidate that was weighed: what it takes, and whether the budget allows it. */
typedef struct gb_candidate {
  char name[128];    /* "windows of 64 of 1000 along axis 1 of x" */
  size_t need, held; /* bytes; 'held' of them are existing caches that it reads */
  double seconds;    /* predicted; 0: not known */
  bool fits, chosen;
  const char *short_of;           /* a device beside the first that has too little room for it, NULL: none */
  size_t over;                    /* by so much */
  const struct gb_tiling *tiling; /* of which it runs windows, NULL: whole */
  size_t chunk;                   /* indices of a window, 0: whole */
  int again;                      /* steps that run again, in a later loop over the windows */
  bool packed, reordered;         /* factors as triangles; steps in the order that needs least */
  size_t rows; /* indices of staged values that exist at a time, inside the steps that read them; 0: all */
} gb_candidate;

typedef struct gb_plan_report {
  size_t budget; /* when it was planned */
  size_t peak;   /* arena + outputs + caches */
  size_t arena, outputs, caches, lower_bound;
  size_t held;       /* existing caches that the run reads: they count against the budget */
  size_t minimum;    /* smallest budget that works (caches counted as zero) */
  bool least, timed; /* the candidate of least need is chosen; candidates have predicted seconds */
  int nsteps, nrows, ncandidates;
  int again;                     /* of the steps: run again, in a later loop over the windows */
  const gb_plan_row *row;        /* inputs first, then in the order of steps */
  const gb_candidate *candidate; /* in order of preference */
  const char *const *step;       /* [nsteps] what they are */
} gb_plan_report;

/* One copy between devices, with all its repetitions. */
typedef struct gb_plan_copy {
  const char *what, *where; /* name of the value, script line */
  const char *from, *to;
  size_t bytes, times;
} gb_plan_copy;

/* One device of a plan over several: of those that share its work, or of those that its values lie on. */
typedef struct gb_plan_device {
  const char *name;
  int number;                 /* of the ledger that measures it (gb_plan_measured_on) */
  size_t budget, peak, arena; /* bytes on this device; the first device's peak is that of the plan */
  size_t lo, hi, chunk;       /* range of the axis, and its windows; lo = hi: nothing */
  size_t extent;              /* of the axis */
  int ncopies;
  gb_plan_copy *copy; /* to this device, and from it to the first */
} gb_plan_device;

/* The devices of a plan, the first one first; 0: everything of it lies on one. */
int gb_plan_devices (const gb_plan *p, const gb_plan_device **out);
/* As gb_run_stats.measured, by the ledger of the i-th of them. */
size_t gb_plan_measured_on (const gb_plan *p, int i);

/* Plans the joint evaluation of 'outs'. Errors: EREFUSED with need, have, minimum and the largest values
** by line; EDEVICE, it is to be at home and is not. */
gb_status gb_plan_new (gb_graph *g, size_t nouts, gb_node *const *outs, const gb_plan_options *o,
                       gb_plan **out, gb_error *err);
void gb_plan_free (gb_plan *p);
/* The most bytes that a plan since the last call takes at the home of the graph's device, for steps that the
** device lacks; 'now' is where counting goes on. */
size_t gb_plan_swap_home_peak (gb_graph *g, size_t now);
void gb_plan_report_get (const gb_plan *p, gb_plan_report *r);
const gb_node *gb_plan_out (const gb_plan *p, size_t i); /* of 'outs', as they were planned */
const gb_lowered *gb_plan_lowered (const gb_plan *p);
char *gb_plan_explain (const gb_plan *p);  /* one readable screen; malloc'ed */
char *gb_plan_programs (const gb_plan *p); /* each step's fold program as text; malloc'ed */
char *gb_plan_json (const gb_plan *p);     /* the same as data; malloc'ed */
char *gb_plan_svg (const gb_plan *p);      /* a drawing of memory over time; malloc'ed */

/* Runs on the graph it was made from and stores the values in the requested nodes. Rebinding: leaf[i] (a
** node of the plan's graph, a leaf or placeholder) takes value[i] of the same shape, dtype and contiguity;
** then values go to out[i] instead of the nodes, counted; the arena is kept until the plan is freed, so a
** loop allocates its outputs only. Errors: EINTR, ENOMEM (the ledger moved since), ENOTPD, ECALLBACK. */
/* The device that was the graph's when the plan was made, where another one is now: such a plan is neither run nor
** reported. NULL: it is current. */
const gb_device *gb_plan_outdated (const gb_plan *p);
gb_status gb_plan_run (gb_plan *p, gb_error *err);
gb_status gb_plan_run_with (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            gb_tensor *out, gb_error *err);
bool gb_plan_has_leaf (const gb_plan *p, const gb_node *leaf); /* false: binding it would change nothing */

/* As gb_plan_run_with inside a registered op, which may not allocate: every buffer comes from the caller.
** Nothing is cached. 'values': values that nodes have are read, n = 0; else everything is computed from
** the leaves. out[i]: contiguous, storage set. 'arena': gb_plan_arena bytes, 64-byte aligned. */
gb_status gb_plan_run_into (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            const gb_tensor *out, bool values, void *arena, gb_error *err);
gb_status gb_plan_arena (gb_plan *p, bool values, size_t *bytes, gb_error *err);

/* Last run, measured: high-water bytes of ledger above its level before the run; fold statistics summed. */
typedef struct gb_run_stats {
  size_t predicted; /* bytes the placement said this run would take of the ledger */
  size_t measured;
  double seconds;
  uint64_t pairs;
  int folds, opaques; /* a step that ran window by window counts once a window */
  size_t moved;       /* bytes that MOVEs took to other devices */
  int windows;        /* of the cut axis; 0: nothing was cut; 1: a named batch ran whole */
} gb_run_stats;
void gb_plan_stats (const gb_plan *p, gb_run_stats *s);

/* Values that their nodes may lose. Both are called by the owner of the ledger's reclaim hook, and when a
** parameter is set: gb_cache_drop frees what can never be found again and then, least recently used first,
** up to 'bytes'; it returns the bytes freed. */
void gb_cache_sweep (gb_graph *g);
size_t gb_cache_drop (gb_graph *g, size_t bytes);

/* Makes 'dev' device 0 of the graph (gb_graph_change_device). What the graph remembers goes: plans and values that can be
** computed again. Plans that are held are outdated. Errors: EOPTION while a registered op runs or steps are timed; as
** gb_graph_change_device. */
gb_status gb_plans_change_device (gb_graph *g, gb_device *dev, gb_error *err);

/* Bytes that can be had beside 'held' bytes of tensors: plans that are only remembered are given up first. */
size_t gb_plan_room (const gb_graph *g, size_t held);

/* Tests: watches runs of a graph. Where 'on', the arena is filled with 'poison' and checked after each step: nothing
** but the step's results and scratch may have changed. */
typedef struct gb_memcheck_watch {
  bool on, busy; /* busy: a run is being watched */
  unsigned char poison;
  size_t high_water;     /* highest arena byte that changed, plus one, over the runs since it was zeroed */
  size_t strays;         /* bytes changed that no running step owned */
  size_t unwritten;      /* most bytes at the end of one result that its step left as they were */
  size_t unused_scratch; /* the same of one step's scratch */
  char first[160];       /* the first step with strays or with 64 or more unwritten bytes, and where */
  void (*at_step)(const char *what); /* called before each step, and with NULL after the last: 'on' or not */
} gb_memcheck_watch;
gb_memcheck_watch *gb_plan_memcheck (gb_graph *g); /* of the graph; NULL: no memory */

/* Plans (or finds the cached plan of the same structure), runs, memoises. Nodes that have values cost
** nothing. The bits of a result depend on what is asked for together and on nothing that was observed
** before, as long as the expression, its history included, has no more than 1,000 nodes. Nodes keep their
** inputs: see gb_node_drop_inputs. */
gb_status gb_eval (gb_graph *g, size_t n, gb_node *const *nodes, gb_error *err);
/* Of the last gb_eval that no registered op began: for reports and tests. */
gb_run_stats gb_last_eval (const gb_graph *g);

/* Measurements (measure.c) nest; gb_measured says what runs of the graph did since the outermost one began,
** 'measured' being the largest. Seconds of a run within a run count once. Errors: ENOMEM. */
gb_status gb_measure_begin (gb_graph *g, gb_error *err);
void gb_measure_end (gb_graph *g);
gb_run_stats gb_measured (const gb_graph *g);

/* Traces (run/trace.c): what the steps of all runs of the graph took while one is open. They nest, and may end in
** any order; a graph that no trace is open on times nothing. */
typedef struct gb_trace gb_trace;
/* Steps of one op at one script line, on one device, by one carrier of its arithmetic: the instruction set of a
** CPU; "interpreter", "template", "compiled" or "library" of a device with a clock of its own; "host": a registered
** op; "copy": values that are moved. */
typedef struct gb_trace_row {
  const char *where, *op, *device, *carrier;
  const char *kernel; /* that ran a fold (gb_fold_stats.path), else "" */
  uint64_t calls;     /* windows count one each */
  double seconds;     /* without those of steps of runs within it; */
  double total;       /* with them */
  double bytes, flops;
  double predicted, bound; /* seconds; NaN: not known */
  char *text;              /* what the others point into */
} gb_trace_row;
/* One step, in the order in which runs ended; seconds of gb_clock. */
typedef struct gb_trace_event {
  size_t row;
  double from, to;
  int step;    /* of its plan, from 0 */
  size_t held; /* bytes that its run had of the ledger of its device at its end */
  int depth;   /* registered ops that ran around it */
} gb_trace_event;
typedef struct gb_trace_view {
  const gb_trace_row *row;
  size_t nrows;
  const gb_trace_event *event;
  size_t nevents, dropped; /* dropped: steps that no event stands for */
  size_t missed;           /* steps whose times their device did not tell: in no row */
  double began;
} gb_trace_view;
/* Errors: ENOMEM. */
gb_status gb_trace_begin (gb_graph *g, gb_trace **out, gb_error *err);
void gb_trace_end (gb_graph *g, gb_trace *t); /* NULL is fine */
gb_trace_view gb_trace_read (const gb_trace *t);

/* 'say' is called once, before a run that stores a value of 64 MiB or more, 16 times what it is made of,
** for an op that takes all of it although much of the kind streams. NULL: nothing is. Errors: ENOMEM. */
gb_status gb_stored_announce (gb_graph *g, void (*say)(const char *text), gb_error *err);

#endif
