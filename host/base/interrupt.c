/* interrupt.c - the flag itself, and its count; what defers it; how far work is, one record a kind. */
#define _GNU_SOURCE
#include "base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

atomic_bool gb_interrupt_flag, gb_interrupt_deferred;
atomic_uint gb_interrupt_count;

static sigset_t asks_for_the_end (void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  return set;
}

bool gb_interrupt_defer (bool on) {
  const sigset_t asks = asks_for_the_end();
  const bool before = atomic_exchange(&gb_interrupt_deferred, on);
  pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &asks, NULL);
  return before;
}

void gb_interrupt_forget (void) {
  const sigset_t asks = asks_for_the_end();
  while (sigtimedwait(&asks, NULL, &(struct timespec){0, 0}) > 0) continue;
  gb_interrupt_clear();
}

/* 'active' is written last: a handler sees whole records. */
static _Thread_local gb_stage stage[GB_NSTAGES];

void gb_stage_begin (gb_stage_kind kind, const char *what, const char *of, long most) {
  stage[kind] = (gb_stage){.what = what, .of = of, .most = most};
  atomic_signal_fence(memory_order_release);
  stage[kind].active = true;
}

void gb_stage_at (gb_stage_kind kind, long done, double value) {
  stage[kind].done = done;
  stage[kind].value = value;
}

void gb_stage_end (gb_stage_kind kind) { stage[kind].active = false; }

gb_stage gb_stage_look (gb_stage_kind kind) { return stage[kind]; }
