/* interrupt.h - the one flag that a SIGINT handler sets and long loops poll. Every tile, every solver
** iteration and every library call ends with a poll; Ctrl-C is answered within 100 ms. */
#ifndef GB_BASE_INTERRUPT_H
#define GB_BASE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool gb_interrupt_flag;
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
static inline bool gb_interrupted (void) {
  return atomic_load_explicit(&gb_interrupt_flag, memory_order_relaxed);
}

#endif
