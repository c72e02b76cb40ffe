/* guard.c - the guard: a fork that holds one end of a pipe and nothing else of its owner. */
#define _GNU_SOURCE /* pipe2 */
#include "system/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Groups that one guard knows at once; more than any machine runs trials. */
#define MOST 4096

static int32_t known[MOST];
static size_t nknown;

/* A positive word is a group that is entered, a negative one a group that is left. A word is written as a whole. */
static void note (int32_t word) {
  size_t i = 0;
  while (i < nknown && known[i] != (word < 0 ? -word : word)) i++;
  if (word > 0 && i == nknown && nknown < MOST) known[nknown++] = word;
  else if (word < 0 && i < nknown) known[i] = known[--nknown];
}

static void close_from (unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
  const long most = sysconf(_SC_OPEN_MAX);
  for (long fd = first; fd < (most > 0 ? most : 1024); fd++) close((int)fd);
}

/* The life of a guard: only what may be called between fork and exec. Locks and files of the owner are closed, and a session of its
** own keeps it from signals to the owner's group. */
static void watch (int end) {
  int32_t word;
  ssize_t n;
  setsid();
  prctl(PR_SET_NAME, "gibbous-guard");
  dup2(end, 0);
  close_from(1);
  if (chdir("/") != 0) return;
  while ((n = read(0, &word, sizeof word)) == (ssize_t)sizeof word || (n < 0 && errno == EINTR))
    if (n > 0) note(word);
  for (size_t i = 0; i < nknown; i++) kill(-known[i], SIGKILL);
}

gb_status gb_guard_start (gb_guard *guard, gb_error *err) {
  int ends[2];
  *guard = (gb_guard){.pipe = -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return gb_fail(err, GB_EIO, "cannot make a pipe to a guard of processes: %s", strerror(errno));
  sigset_t all, before; /* the guard answers to no signal */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int cause = errno;
  if (pid == 0) {
    watch(ends[0]);
    _exit(0);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(ends[0]);
  if (pid > 0) {
    *guard = (gb_guard){.pid = pid, .pipe = ends[1]};
    return GB_OK;
  }
  close(ends[1]);
  return gb_fail(err, GB_EIO, "cannot start a guard of processes: %s", strerror(cause));
}

/* Where the guard was killed nobody hears it, and that is no reason to end. */
static void tell (int pipe, int32_t word) {
  struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
  sigaction(SIGPIPE, &ignored, &before);
  while (write(pipe, &word, sizeof word) < 0 && errno == EINTR) continue;
  sigaction(SIGPIPE, &before, NULL);
}

void gb_guard_enter (void) {
  tell(GB_GUARD_DESCRIPTOR, (int32_t)getpgrp());
  close(GB_GUARD_DESCRIPTOR);
}

void gb_guard_leave (const gb_guard *guard, pid_t group) {
  if (guard->pipe >= 0) tell(guard->pipe, -(int32_t)group);
}

void gb_guard_close (gb_guard *guard) {
  if (guard->pipe >= 0) close(guard->pipe);
  if (guard->pid > 0)
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) continue;
  *guard = (gb_guard){.pipe = -1};
}
