/* run_fixture.h - plans that are made, run and held to the bytes that they promised on each device. */
#ifndef GB_TESTS_RUN_FIXTURE_H
#define GB_TESTS_RUN_FIXTURE_H

#include "support/plan/eval_fixture.h"

/* What the runs of a test came to. */
typedef struct tally {
  int runs, refused, windows; /* windows: runs with some */
  int devices, at_home;       /* runs on several devices; steps that ran at home */
  size_t moved;               /* bytes */
} tally;

/* Nothing is cached afterwards. Errors: those of gb_plan_new. */
gb_status run (gb_node *y, size_t budget, gb_tensor *out, tally *t);

/* Smaller and smaller limits of 'dev', or budgets where it is the graph's own, until the plan is refused: 'check' gets
** each result, and clears it. */
void shrink_on (gb_device *dev, gb_node *y, void (*check)(void *ud, gb_tensor *got), void *ud, tally *t);

/* Small expressions of random ops over three inputs, which 'input' makes; a function of the seed. */
gb_node *random_expression_of (uint64_t seed, gb_node *(*input)(void *ud), void *ud);

/* -- a device that lacks ops */

extern gb_device *home; /* of the device under test: the CPU that it has, or a simulated one of its own */

#define PICKY_REASON "it was told not to"

/* eval_begin and inputs_begin, on a device that lacks nothing yet. */
void picky_begin (int threads, gb_dtype t);
void picky_end (void);
void picky_lacks (gb_op op);
int picky_draw_lacks (uint64_t seed); /* a few ops, many, or every one: how many */

#endif
