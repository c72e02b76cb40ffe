/* plan_internal.h - a plan as the files of this room see it.
**
** Three objects: a request (who asks for what), a plan (what was decided when it was made), and a run
** (run/run.h), which decides again for the values that exist when it begins. A plan is constant once
** gb_plan_new has returned, but for the record of its runs. */
#ifndef GB_PLAN_CHOOSE_PLAN_INTERNAL_H
#define GB_PLAN_CHOOSE_PLAN_INTERNAL_H

#include "plan/choose/choose.h"
#include "plan/plan.h"
#include "plan/structure/lowered_plan.h"

typedef struct gb_run gb_run;

typedef struct gb_request {
  gb_graph *graph;
  size_t nnodes, nouts;
  gb_node **node;          /* [nnodes] canonical order; counted */
  gb_node **out;           /* [nouts] as requested; counted */
  gb_plan_options options; /* budget 0: what the ledger has; 'on': see 'team' */
  gb_team *team;           /* devices that share the work; NULL: the graph's own device alone */
} gb_request;

struct gb_plan {
  gb_request request;
  gb_device *home; /* device 0 of the graph, and how often that had changed, when the plan was made */
  unsigned changes;
  gb_lowered_plan *prog; /* counted */
  size_t booked;         /* bytes of its tables in the ledger's books */
  gb_choice choice;      /* that gb_plan_new made; the report and what follows describe it */
  gb_plan_report report;
  gb_plan_row *row;
  int *number;       /* [places + 1] steps that run before a place: users count these */
  const char **what; /* [steps that run] */
  gb_candidate *candidate;
  size_t ncandidates, candidate_room;
  gb_plan_device *device; /* [ndevices] */
  int ndevices;
  struct {         /* its runs; a thread that changes it holds the lock of the graph's context */
    gb_run *spare; /* one that is over: the next run takes it and allocates nothing */
    bool ran;
    gb_run_stats stats;          /* of the last run */
    size_t measured[GB_DEVICES]; /* bytes, by the ledger of each device of the report */
  } runs;
};

/* plan.c. Opens the plan of a structure without choosing or allocating tensors. Errors: as gb_lower;
** ENOMEM. */
gb_status gb_plan_open (gb_graph *g, size_t nouts, gb_node *const *outs, gb_plan **out, gb_error *err);
/* The same, with the order of the last walk where there is one (gb_structure); it is taken over. */
gb_status gb_plan_open_ordered (gb_graph *g, gb_order *known, size_t nouts, gb_node *const *outs,
                                gb_plan **out, gb_error *err);

static inline gb_device *gb_plan_home (const gb_plan *p) { return p->home; }

static inline gb_node *gb_plan_node (const gb_plan *p, int b) {
  return p->request.node[p->prog->low->buf[b].source];
}

static inline gb_value *gb_plan_value (const gb_plan *p, int b) {
  return &gb_plan_node(p, b)->out[p->prog->low->buf[b].output];
}

/* The buffer's node has its value, where the buffer lies and by the same arithmetic. */
static inline bool gb_plan_has_value (const gb_plan *p, int b) {
  const gb_value *v = gb_plan_value(p, b);
  const gb_buf *buf = &p->prog->low->buf[b];
  return buf->cls != GB_BUF_LEAF && !buf->elsewhere && v->tensor.storage != NULL &&
         v->arithmetic == p->prog->arithmetic[b];
}

/* Provenance in the graph at hand: the lowered form may have been made from another one. */
static inline const char *gb_plan_where (const gb_plan *p, int b) { return gb_plan_node(p, b)->where; }
static inline const char *gb_plan_name (const gb_plan *p, int b) { return gb_plan_node(p, b)->name; }

/* report/rows.c, report/partition.c. Fill the report from the placement that was chosen. Errors: ENOMEM. */
gb_status gb_plan_fill_report (gb_plan *p, gb_error *err);
gb_status gb_plan_fill_devices (gb_plan *p, gb_error *err);

#endif
