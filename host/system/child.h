/* child.h - processes that this one starts and waits for. A child has its own process group, an empty input, and a file for what it
** prints; it ends with its parent if it calls gb_child_bind, and what it started does too where it has a guard (guard.h). */
#ifndef GB_SYSTEM_CHILD_H
#define GB_SYSTEM_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "system/guard.h"

typedef struct gb_child {
  pid_t pid;             /* 0: never started, or reaped */
  int handle;            /* the descriptor of the process, readable once it has ended; -1: closed */
  const gb_guard *guard; /* of its group; NULL: none. It outlives the child */
} gb_child;

/* How a child ended, and what it took. */
typedef struct gb_child_end {
  int exit;            /* the exit status; -1 where a signal ended it */
  int signal;          /* 0: none */
  uint64_t peak;       /* bytes: the greatest resident size */
  double user, system; /* processor seconds */
} gb_child_end;

/* argv[0] is looked for in PATH; env: what the environment has besides, "NAME=value"; out: the file that output and errors are appended
** to (made with mode 0666 less the umask), NULL: those of this process; guard: it may call gb_guard_enter, NULL: it has none. Lists end
** with NULL. Errors: EIO. */
gb_status gb_child_start (const char *const *argv, const char *const *env, const char *out,
                          const gb_guard *guard, gb_child *child, gb_error *err);

/* Waits until one of n children has ended, for 'seconds' at most (negative: for ever), of no child a quarter of a second at most. 'which' is its number, n
** where time ran out. A child that was reaped is passed over. Errors: EINTR (Ctrl-C), EIO. */
gb_status gb_child_wait (gb_child *const *child, size_t n, double seconds, size_t *which, gb_error *err);

/* How a child that has ended did; the child is reaped. Errors: EIO. */
gb_status gb_child_reap (gb_child *child, gb_child_end *end, gb_error *err);

/* Sends a signal to the child's process group; nothing where it was reaped. */
void gb_child_signal (const gb_child *child, int signal);

/* Kills the group, and reaps the child: idempotent; {.handle = -1} is fine. */
void gb_child_close (gb_child *child);

/* This process ends (SIGKILL) when the process 'parent' that started it ends. It leaves no core file. False: 'parent' is not its parent, or
** not any more: it should end now. */
bool gb_child_bind (pid_t parent);

/* The time when a running process started, in ticks since the system did; 0 where there is no such process, or it
** has ended. With the number of the
** process it names a process for good. */
uint64_t gb_process_started (pid_t pid);

#endif
