/* state.c - SIGUSR1: the process writes down where it is, for 'gibbous attach', and goes on. Nothing is done before the
** signal comes.
**
** The handler runs on the main thread. While that is inside the core, its Lua stack stands still and is written at once;
** otherwise it is written by a hook, at the next instruction of Lua. Everything here is safe in a signal handler: no
** memory is allocated and no lock is taken; numbers that are not whole are written as the bits of a double. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/lgb.h"
#include "plan/run/busy.h"
#include "shell/host.h"

#define MOST_FRAMES 40

static char directory[LGB_STATE_PATH / 2] = "/tmp"; /* of state files */
static pthread_t main_thread;

/* -- text */

typedef struct text {
  char at[16384];
  size_t n;
} text;

static void put (text *t, const char *s) {
  while (*s != '\0' && t->n < sizeof t->at) t->at[t->n++] = *s == '\n' || *s == '\t' ? ' ' : *s, s++;
}

static void put_char (text *t, char c) {
  if (t->n < sizeof t->at) t->at[t->n++] = c;
}

static void put_number (text *t, uint64_t v, unsigned base) {
  char digits[24];
  size_t n = 0;
  do digits[n++] = "0123456789abcdef"[v % base];
  while ((v /= base) > 0);
  while (n > 0) put_char(t, digits[--n]);
}

static void put_count (text *t, long v) {
  put_char(t, '\t');
  put_number(t, v > 0 ? (uint64_t)v : 0, 10);
}

static void put_double (text *t, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_char(t, '\t');
  put_number(t, bits, 16);
}

static void put_field (text *t, const char *s) {
  put_char(t, '\t');
  put(t, s);
}

/* -- what there is to say */

static void put_busy (text *t) {
  const gb_busy b = gb_busy_peek();
  if (b.what == NULL || *b.what == '\0') return;
  put(t, "busy");
  put_field(t, b.what);
  put_field(t, b.where);
  put_count(t, (long)b.done);
  put_count(t, (long)b.total);
  put_double(t, b.seconds);
  put_char(t, '\n');
}

static void put_steps (text *t) {
  for (int kind = 0; kind < GB_NSTAGES; kind++) {
    const gb_stage s = gb_stage_look((gb_stage_kind)kind);
    if (!s.active) continue;
    put(t, "step");
    put_field(t, s.what);
    put_field(t, s.of);
    put_count(t, s.done);
    put_count(t, s.most);
    put_double(t, s.value);
    put_char(t, '\n');
  }
}

/* While the ledger is lent, the account as it was before. */
static void put_memory (text *t, const gb_device *d) {
  const gb_ledger *l = &d->ledger;
  while (l->outer != NULL) l = l->outer;
  put(t, "memory");
  put_field(t, d->name);
  put_count(t, (long)l->used);
  put_count(t, (long)l->peak);
  put_count(t, (long)l->limit);
  put_char(t, '\n');
}

static void put_said (text *t) {
  for (int i = 0; i < LGB_SAID; i++) {
    const char *said = lgb_said(i);
    if (said == NULL) continue;
    put(t, "said");
    put_field(t, said);
    put_char(t, '\n');
  }
}

static void put_stack (text *t, lua_State *L) {
  lua_Debug ar;
  put(t, "stack");
  put_char(t, '\n');
  for (int level = 0; level < MOST_FRAMES && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sln", &ar);
    if (ar.currentline < 0) continue;
    put(t, "frame");
    put_field(t, ar.short_src);
    put_count(t, ar.currentline);
    put_field(t, ar.name != NULL ? ar.name : "");
    put_char(t, '\n');
  }
}

/* -- the file */

/* "DIRECTORY/gibbous-PID.state" and an ending. */
static void path_of (char *out, const char *in, uint64_t pid, const char *ending) {
  text t = {.n = 0};
  put(&t, in);
  put(&t, "/gibbous-");
  put_number(&t, pid, 10);
  put(&t, ".state");
  put(&t, ending);
  memcpy(out, t.at, t.n);
  out[t.n] = '\0';
}

void lgb_state_path (char out[LGB_STATE_PATH], const char *in, long pid) {
  path_of(out, in, (uint64_t)pid, "");
}

/* A new file of mode 0600, in place of any other; never through a link. */
static bool write_in (const char *in, const text *t) {
  char path[LGB_STATE_PATH], part[LGB_STATE_PATH];
  path_of(path, in, (uint64_t)getpid(), "");
  path_of(part, in, (uint64_t)getpid(), "~");
  unlink(part);
  const int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = write(fd, t->at, t->n) == (ssize_t)t->n;
  close(fd);
  return whole && rename(part, path) == 0;
}

/* stack: whose to write, NULL: none now */
static void write_state (lua_State *stack) {
  static text t; /* one thread writes, and the signal is blocked in its handler */
  const lgb_session *s = lgb_live_session();
  t.n = 0;
  put(&t, "gibbous state 1");
  put_char(&t, '\n');
  put_busy(&t);
  put_steps(&t);
  if (s != NULL) put_memory(&t, s->device);
  for (int i = 0; s != NULL && i < s->nopened; i++)
    if (s->opened[i] != s->device) put_memory(&t, s->opened[i]);
  put_said(&t);
  if (stack != NULL) put_stack(&t, stack);
  put(&t, "end");
  if (!write_in(directory, &t)) write_in("/tmp", &t);
}

/* -- the signal */

static lua_Hook hook_before;
static int mask_before, count_before;

static void write_in_hook (lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, hook_before, mask_before, count_before);
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &only, &before);
  write_state(L);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_ask (int signal_number) {
  if (!pthread_equal(pthread_self(), main_thread)) {
    pthread_kill(main_thread, signal_number);
    return;
  }
  const lgb_session *s = lgb_live_session();
  if (s != NULL && s->busy) {
    write_state(s->L);
    return;
  }
  write_state(NULL);
  lua_State *L = lgb_running();
  if (L == NULL || lua_gethook(L) == write_in_hook) return;
  hook_before = lua_gethook(L), mask_before = lua_gethookmask(L), count_before = lua_gethookcount(L);
  lua_sethook(L, write_in_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void lgb_answer_attach (void) {
  struct sigaction action, now;
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != NULL && runtime[0] == '/' && strlen(runtime) < sizeof directory) strcpy(directory, runtime);
  main_thread = pthread_self();
  if (sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_handler != SIG_DFL) return;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_ask;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
}
