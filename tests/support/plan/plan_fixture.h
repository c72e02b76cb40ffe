/* plan_fixture.h - plans without folds: a lowering in which every node is a step and every value is stored,
** and a device that runs such steps naively. It replaces lower/ and cpu/, so that a test covers the plan
** alone: lifetimes, caches, budgets, failures. A node named "cache" becomes a droppable value. */
#ifndef GB_TESTS_PLAN_FIXTURE_H
#define GB_TESTS_PLAN_FIXTURE_H

#include <math.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "plan/plan.h"
#include "support/graph/graph_fixture.h"

/* Faults of the device, and its counters. */
typedef struct naive_device {
  int fail_at; /* step number from 0 that fails; -1 = none */
  int interrupt_at;
  int overrun; /* bytes written past the first result */
  size_t skip; /* bytes left unwritten at the end of each result */
  int steps;   /* run since reset */
  int lowerings;
} naive_device;

extern naive_device naive;

void plan_begin (size_t limit);
void plan_end (void);

/* A data leaf, no gradient. */
gb_node *data_leaf (size_t n);
gb_node *named (gb_node *n, const char *name);
double at (const gb_node *n, size_t i);

#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != GB_OK) fail_msg("%s: %s", #call, fx.err.text);                                             \
  } while (0)

#endif
