/* alloc_guard.h - every allocator of the process is watched: between the first step of a plan and the end of
** the last, a call on any thread, from any library, ends the process with the name of the step. alloc_guard.c
** replaces malloc: it is linked only into programs that name it, not into a library. */
#ifndef GB_TESTS_ALLOC_GUARD_H
#define GB_TESTS_ALLOC_GUARD_H

#include <stdatomic.h>
#include <stdlib.h> /* defines __GLIBC__ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define ALLOC_GUARDED 0 /* sanitizers replace the allocators */
#else
#define ALLOC_GUARDED 1
#endif

extern atomic_long guarded_calls; /* calls of malloc, to check that the guard is in place */

/* Where it holds, a call is no concern of the guard; NULL: everywhere. Of the thread that allocates. */
extern int (*guard_exempt)(void);

/* For at_step of gb_plan_memcheck; NULL disarms the guard. */
void guard_step (const char *what);

#endif
