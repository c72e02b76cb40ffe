/* signals.c - what a long command is told while it runs: signals that ask it to end, keys, the time of day. */
#define _GNU_SOURCE

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/lgb.h"

static atomic_int told; /* the last signal; 0: none yet */

static void on_signal (int number) {
  atomic_store(&told, number);
  gb_interrupt_raise();
}

/* core.heed(): from now on SIGTERM and SIGUSR1 interrupt what runs, as Ctrl-C does, in place of ending the process */
static int heed (lua_State *L) {
  (void)L;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  return 0;
}

/* core.heeded(): "term" or "usr1", which came last; nil where none has */
static int heeded (lua_State *L) {
  const int number = atomic_load(&told);
  if (number == 0) return 0;
  lua_pushstring(L, number == SIGTERM ? "term" : "usr1");
  return 1;
}

/* core.defer(true): Ctrl-C, SIGTERM and SIGUSR1 wait from now on, for what must be done whole. core.defer(false [, forget]): they come
** again; forget: but for those that have waited. */
static int defer (lua_State *L) {
  const bool on = lua_toboolean(L, 1);
  if (lua_toboolean(L, 2)) gb_interrupt_forget();
  gb_interrupt_defer(on);
  return 0;
}

/* core.interruptible(f, ...): the results of f(...), within which signals come although core.defer has them wait. One that f takes for
** its own (a fit that keeps its best point) is raised after it all the same. */
static int interruptible (lua_State *L) {
  lgb_checktype(L, 1, LUA_TFUNCTION);
  const unsigned before = atomic_load(&gb_interrupt_count);
  const bool deferred = gb_interrupt_defer(false);
  const int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  gb_interrupt_defer(deferred);
  if (rc != LUA_OK) return lua_error(L);
  if (atomic_load(&gb_interrupt_count) != before) return lgb_raise_interrupted(L);
  return lua_gettop(L);
}

/* Waits for input, less where a signal comes. Is there some? */
static bool input_within (double seconds) {
  struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
  return poll(&p, 1, (int)(seconds * 1e3)) == 1 && (p.revents & POLLIN) != 0;
}

/* core.key(seconds): the character of a key that is pressed within that time, nil where none is. Without a terminal it waits. */
static int key (lua_State *L) {
  const double seconds = luaL_checknumber(L, 1);
  struct termios before, raw;
  char c = 0;
  ssize_t n = 0;
  if (!(seconds >= 0 && seconds <= 10)) return lgb_argerror(L, 1, "0 to 10 seconds expected");
  if (tcgetattr(STDIN_FILENO, &before) != 0) {
    poll(NULL, 0, (int)(seconds * 1e3));
  } else {
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C is a signal */
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    if (input_within(seconds)) n = read(STDIN_FILENO, &c, 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
  }
  if (gb_interrupted()) return lgb_fail(L, GB_EINTR, "interrupted");
  if (n != 1) return 0;
  lua_pushlstring(L, &c, 1);
  return 1;
}

/* core.now(): seconds since 1970, with fractions */
static int now (lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  lua_pushnumber(L, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
  return 1;
}

const luaL_Reg lgb_signals_functions[] = {
    {"defer", defer}, {"heed", heed}, {"heeded", heeded}, {"interruptible", interruptible},
    {"key", key},     {"now", now},   {NULL, NULL}};
