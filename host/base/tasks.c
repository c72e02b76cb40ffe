/* tasks.c - a shared counter of tasks, and waiting by spinning, then yielding. */
#include "base/tasks.h"

#include <sched.h>

#include "base/interrupt.h"

bool gb_tasks_poll (gb_tasks *s) {
  if (gb_interrupted()) atomic_store_explicit(&s->interrupted, true, memory_order_relaxed);
  return !atomic_load_explicit(&s->interrupted, memory_order_relaxed) &&
         !atomic_load_explicit(&s->stopped, memory_order_relaxed);
}

bool gb_tasks_wait (gb_tasks *s, const atomic_uint *counter, size_t value) {
  for (unsigned spins = 0; atomic_load_explicit(counter, memory_order_acquire) < value; spins++) {
    if (!gb_tasks_poll(s)) return false;
    if (spins >= 64) sched_yield();
  }
  return true;
}

static void draw (void *ud, int thread) {
  gb_tasks *s = ud;
  for (;;) {
    const size_t t = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
    if (t >= s->count || !gb_tasks_poll(s)) return;
    s->task(s->ud, s, t, thread);
  }
}

gb_status gb_tasks_run (gb_pool *pool, size_t count, gb_task *task, void *ud, gb_error *err) {
  gb_tasks s = {.count = count, .task = task, .ud = ud};
  gb_pool_run(count > 1 ? pool : NULL, draw, &s);
  if (atomic_load(&s.interrupted)) return gb_fail(err, GB_EINTR, "interrupted");
  return GB_OK;
}
