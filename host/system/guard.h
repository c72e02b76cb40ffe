/* guard.h - a process that outlives its owner and then ends what that left behind: the process groups of its children, with all that
** they have started. A child enters its group before it starts anything, so nothing escapes but what leaves the group (setsid). The
** owner may end in any way, also by SIGKILL: the end of a pipe tells. */
#ifndef GB_SYSTEM_GUARD_H
#define GB_SYSTEM_GUARD_H

#include <sys/types.h>

#include "base/status.h"

/* The descriptor that a guarded child has until gb_guard_enter. */
#define GB_GUARD_DESCRIPTOR 3

typedef struct gb_guard {
  pid_t pid; /* of the guard; 0: closed */
  int pipe;  /* its writing end; -1: closed */
} gb_guard;

/* A guard of this process. Errors: EIO. */
gb_status gb_guard_start (gb_guard *guard, gb_error *err);

/* In a guarded child: its group, which has its number, is in the guard's hands. */
void gb_guard_enter (void);

/* The group of a child is over; called before the child is reaped, for its number may be another's then. */
void gb_guard_leave (const gb_guard *guard, pid_t group);

/* Ends the guard, and with it the groups that it has: idempotent. */
void gb_guard_close (gb_guard *guard);

#endif
