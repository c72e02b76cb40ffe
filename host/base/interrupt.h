/* interrupt.h - what signal handlers and long loops share.
**
** The one flag that a SIGINT handler sets and long loops poll. Every tile, every solver iteration and every library call
** ends with a poll; Ctrl-C is answered within 100 ms.
**
** How far long work of this thread is: which step of a fit, a solve, a clustering. Written at each step, read by a
** handler on the same thread (shell/state.c). */
#ifndef GB_BASE_INTERRUPT_H
#define GB_BASE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool gb_interrupt_flag, gb_interrupt_deferred;
extern atomic_uint
    gb_interrupt_count; /* number of times the flag was raised; clearing the flag does not reset it */

/* Safe in a signal handler. */
static inline void gb_interrupt_raise (void) {
  atomic_fetch_add_explicit(&gb_interrupt_count, 1, memory_order_relaxed);
  atomic_store_explicit(&gb_interrupt_flag, true, memory_order_relaxed);
}
static inline void gb_interrupt_clear (void) {
  atomic_store_explicit(&gb_interrupt_flag, false, memory_order_relaxed);
}
static inline bool gb_interrupt_is_deferred (void) {
  return atomic_load_explicit(&gb_interrupt_deferred, memory_order_relaxed);
}
/* Was the flag raised? While interrupts are deferred nobody sees it. */
static inline bool gb_interrupted (void) {
  return atomic_load_explicit(&gb_interrupt_flag, memory_order_relaxed) && !gb_interrupt_is_deferred();
}

/* Ctrl-C, SIGTERM and SIGUSR1 to this thread wait from now on, for what must be done whole, and a flag that is up already is seen by
** nobody; false: all of them come. Gives whether they have waited before. Other threads of this program block these signals. */
bool gb_interrupt_defer (bool on);

/* What has waited, and the flag, are forgotten. */
void gb_interrupt_forget (void);

typedef enum gb_stage_kind { GB_STAGE_FIT, GB_STAGE_SOLVE, GB_STAGE_KMEANS, GB_NSTAGES } gb_stage_kind;

typedef struct gb_stage {
  bool active;
  const char *what; /* "conjugate gradients"; a literal */
  const char *of;   /* what 'value' is, "relative residual"; a literal */
  long done, most;  /* steps */
  double value;
} gb_stage;

/* Work of a kind begins; gb_stage_at: it is there; gb_stage_end: it is over. */
void gb_stage_begin (gb_stage_kind kind, const char *what, const char *of, long most);
void gb_stage_at (gb_stage_kind kind, long done, double value);
void gb_stage_end (gb_stage_kind kind);

/* Safe in a signal handler. */
gb_stage gb_stage_look (gb_stage_kind kind);

#endif
