/* plan_tasks.h - small versions of user tasks: kernel products, Gram matrices, the objective of an exact
** Gaussian process and its gradient, predictions, nearest neighbours, a network, a covariance of three
** outputs. A task creates its leaves and returns its outputs. */
#ifndef GB_TESTS_PLAN_TASKS_H
#define GB_TESTS_PLAN_TASKS_H

#include "support/plan/eval_fixture.h"

#define TASK_RESULTS 8

typedef struct task {
  const char *name;
  /* n: size of the data; returns the number of results */
  size_t (*make)(size_t n, gb_node *out[TASK_RESULTS]);
} task;

extern const task tasks[];
extern const size_t ntasks;

#endif
