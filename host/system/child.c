/* child.c - children by posix_spawn, watched by their process descriptors. */
#include "system/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"

extern char **environ;

static size_t length (const char *const *list) {
  size_t n = 0;
  while (list[n] != NULL) n++;
  return n;
}

static bool same_name (const char *a, const char *b) {
  const size_t n = strcspn(a, "=");
  return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The environment of this process, where 'more' does not say otherwise, and 'more'. NULL: no memory. */
static const char **merged (const char *const *more) {
  const size_t own = length((const char *const *)environ), added = length(more);
  const char **all = malloc((own + added + 1) * sizeof *all);
  if (all == NULL) return NULL;
  size_t n = 0;
  for (size_t i = 0; i < own; i++) {
    size_t k = 0;
    while (k < added && !same_name(more[k], environ[i])) k++;
    if (k == added) all[n++] = environ[i];
  }
  memcpy(all + n, more, (added + 1) * sizeof *all);
  return all;
}

/* Own group; no signal ignored or blocked. */
static int set_attributes (posix_spawnattr_t *a) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  const short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  int bad = posix_spawnattr_setflags(a, flags);
  if (bad == 0) bad = posix_spawnattr_setpgroup(a, 0);
  if (bad == 0) bad = posix_spawnattr_setsigdefault(a, &all);
  if (bad == 0) bad = posix_spawnattr_setsigmask(a, &none);
  return bad;
}

static int set_files (posix_spawn_file_actions_t *f, const char *out, const gb_guard *guard) {
  int bad = posix_spawn_file_actions_addopen(f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (bad == 0 && guard != NULL) bad = posix_spawn_file_actions_adddup2(f, guard->pipe, GB_GUARD_DESCRIPTOR);
  if (bad != 0 || out == NULL) return bad;
  bad = posix_spawn_file_actions_addopen(f, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_APPEND, 0666);
  return bad != 0 ? bad : posix_spawn_file_actions_adddup2(f, STDOUT_FILENO, STDERR_FILENO);
}

static int spawn (const char *const *argv, const char *const *env, const char *out, const gb_guard *guard,
                  pid_t *pid) {
  posix_spawnattr_t a;
  posix_spawn_file_actions_t f;
  int bad = posix_spawnattr_init(&a);
  if (bad != 0) return bad;
  if ((bad = posix_spawn_file_actions_init(&f)) == 0) {
    const char **all = merged(env);
    bad = all == NULL ? ENOMEM : set_attributes(&a);
    if (bad == 0) bad = set_files(&f, out, guard);
    if (bad == 0)
      bad = posix_spawnp(pid, argv[0], &f, &a, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)all);
    free(all);
    posix_spawn_file_actions_destroy(&f);
  }
  posix_spawnattr_destroy(&a);
  return bad;
}

gb_status gb_child_start (const char *const *argv, const char *const *env, const char *out,
                          const gb_guard *guard, gb_child *child, gb_error *err) {
  *child = (gb_child){.handle = -1, .guard = guard};
  const int bad = spawn(argv, env, out, guard, &child->pid);
  if (bad != 0) {
    child->pid = 0;
    return gb_fail(err, GB_EIO, "cannot start '%s': %s", argv[0], strerror(bad));
  }
  child->handle = (int)syscall(SYS_pidfd_open, child->pid, 0);
  if (child->handle >= 0) return GB_OK;
  const int cause = errno;
  gb_child_close(child);
  return gb_fail(err, GB_EIO, "cannot watch '%s': %s", argv[0], strerror(cause));
}

#define MOST_WITHOUT 0.25 /* seconds of a wait for no child */

/* Milliseconds of one wait: short enough that Ctrl-C by a handler that restarts calls is seen. */
static int slice (double deadline) {
  const double left = (deadline - gb_clock()) * 1e3;
  return left <= 0 ? 0 : left < 50 ? (int)left + 1 : 50;
}

gb_status gb_child_wait (gb_child *const *child, size_t n, double seconds, size_t *which, gb_error *err) {
  const double most = n > 0 ? 1e300 : MOST_WITHOUT; /* for ever, for children */
  double left = seconds >= 0 ? seconds : 0;
  if (seconds < 0 && n > 0) left = most;
  const double deadline = gb_clock() + (left < most ? left : most);
  struct pollfd *fds = calloc(n + 1, sizeof *fds);
  if (fds == NULL) return gb_fail(err, GB_ENOMEM, "no memory to wait for %zu processes", n);
  for (size_t i = 0; i < n; i++) fds[i] = (struct pollfd){.fd = child[i]->handle, .events = POLLIN};
  gb_status st = GB_OK;
  *which = n;
  for (;;) {
    const int ready = poll(fds, n, slice(deadline));
    if (ready < 0 && errno != EINTR)
      st = gb_fail(err, GB_EIO, "cannot wait for a process: %s", strerror(errno));
    else if (gb_interrupted()) st = gb_fail(err, GB_EINTR, "interrupted");
    if (ready > 0)
      for (*which = 0; fds[*which].revents == 0;) ++*which;
    if (st != GB_OK || ready > 0 || gb_clock() >= deadline) break;
  }
  free(fds);
  return st;
}

static double seconds_of (struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

static void forget (gb_child *child) {
  if (child->handle >= 0) close(child->handle);
  *child = (gb_child){.handle = -1};
}

gb_status gb_child_reap (gb_child *child, gb_child_end *end, gb_error *err) {
  struct rusage used;
  int status;
  pid_t got;
  if (child->guard != NULL) gb_guard_leave(child->guard, child->pid);
  while ((got = wait4(child->pid, &status, 0, &used)) < 0 && errno == EINTR) continue;
  const int cause = errno;
  forget(child);
  if (got < 0) return gb_fail(err, GB_EIO, "cannot tell how a process ended: %s", strerror(cause));
  *end = (gb_child_end){.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                        .peak = (uint64_t)used.ru_maxrss * 1024,
                        .user = seconds_of(used.ru_utime),
                        .system = seconds_of(used.ru_stime)};
  return GB_OK;
}

void gb_child_signal (const gb_child *child, int signal) {
  if (child->pid > 0) kill(-child->pid, signal);
}

void gb_child_close (gb_child *child) {
  gb_child_signal(child, SIGKILL);
  gb_child_end end;
  if (child->pid > 0) gb_child_reap(child, &end, NULL);
  forget(child);
}

bool gb_child_bind (pid_t parent) {
  if (getppid() != parent) return false;
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent; /* it may have ended before the line above */
}

/* The twenty-second word of /proc/PID/stat; the second is a name in brackets that may hold anything, the third the state. */
uint64_t gb_process_started (pid_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE *f = fopen(path, "re");
  if (f == NULL) return 0;
  const size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = '\0';
  const char *at = strrchr(text, ')');
  if (at == NULL || at[1] == '\0' || strchr("ZXx", at[2]) != NULL)
    return 0; /* it has ended, and nobody asked how */
  for (int word = 2; at != NULL && word < 22; word++) at = strchr(at + 1, ' ');
  return at == NULL ? 0 : strtoull(at, NULL, 10);
}
