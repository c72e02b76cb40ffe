/* tasks.h - numbered tasks handed to the pool's threads in order, with waiting on progress counters.
**
** Tasks are numbered so that each depends on earlier ones only: a task that a thread waits for is running or
** done. The result of a task never depends on the thread that runs it. */
#ifndef GB_BASE_TASKS_H
#define GB_BASE_TASKS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/pool.h"

typedef struct gb_tasks {
  size_t count;
  atomic_size_t next;
  atomic_bool interrupted, stopped;
  void (*task)(void *ud, struct gb_tasks *s, size_t task, int thread);
  void *ud;
} gb_tasks;

typedef void gb_task (void *ud, gb_tasks *s, size_t task, int thread);

/* Runs tasks 0 .. count-1; 'thread' is below the pool's number of threads. A task that sets 'stopped' ends
** the run early, with GB_OK; 'ud' holds the reason. Errors: EINTR. */
gb_status gb_tasks_run (gb_pool *pool, size_t count, gb_task *task, void *ud, gb_error *err);

/* The pool for tasks with this many multiply-adds in total: NULL if waking its threads would take as long as
** the work. */
#define GB_FEW_MULTIPLY_ADDS 5e5
static inline gb_pool *gb_pool_for (gb_pool *pool, double multiply_adds) {
  return multiply_adds < GB_FEW_MULTIPLY_ADDS ? NULL : pool;
}

/* False if the run ends early: a stop or an interrupt. */
bool gb_tasks_poll (gb_tasks *s);

/* Waits until *counter >= value; false as for gb_tasks_poll. */
bool gb_tasks_wait (gb_tasks *s, const atomic_uint *counter, size_t value);

/* Publishes the writes of the task (release). */
static inline void gb_tasks_done (atomic_uint *counter, size_t value) {
  atomic_store_explicit(counter, (unsigned)value, memory_order_release);
}

#endif
