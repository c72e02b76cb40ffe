/* call.c - running Lua code under the eyes of the user: tracebacks and Ctrl-C.
** The signal handler sets the core's flag and a hook; whichever notices first raises. A third Ctrl-C within
** two seconds ends the process at once. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/host.h"
#include "lua/lgb.h"

static lua_State *watched;              /* the main state; set once, before the handler */
static volatile sig_atomic_t running;   /* depth of calls in progress */
static bool interrupted;

static void stop_hook (lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  if (gb_interrupted()) lgb_raise_interrupted(L);         /* else the core has answered already */
}

/* lua_sethook is safe in a signal handler: Lua's own interpreter relies on it. */
static void on_sigint (int signal_number) {
  static time_t first;
  static int count;
  (void)signal_number;
  const time_t now = time(NULL);
  count = now - first <= 2 ? count + 1 : 1;
  if (count == 1) first = now;
  if (running > 0 && count >= 3) _exit(130);
  gb_interrupt_raise();
  if (running > 0)
    lua_sethook(watched, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void install (void (*handler)(int), struct sigaction *old) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;          /* no SA_RESTART: a read at the prompt returns */
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, old);
}

void lgb_watch_interrupts (lua_State *L) {
  watched = L;
  install(on_sigint, NULL);
}

static void note_interrupt (lua_State *L) {
  if (luaL_getmetafield(L, 1, "__name") == LUA_TNIL) return;
  const bool ours = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), LGB_ERROR) == 0;
  lua_pop(L, 1);
  if (!ours) return;
  lua_getfield(L, 1, "code");
  interrupted = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), gb_status_code(GB_EINTR)) == 0;
  lua_pop(L, 1);
}

/* Strings and our own error objects get a traceback; other objects with a text speak for themselves. */
static int handle_message (lua_State *L) {
  const char *text = lua_tostring(L, 1);
  note_interrupt(L);
  if (text == NULL) {
    if (!luaL_callmeta(L, 1, "__tostring") || lua_type(L, -1) != LUA_TSTRING) {
      lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
      text = lua_tostring(L, -1);
    } else {
      text = lua_tostring(L, -1);
      if (luaL_getmetafield(L, 1, "__name") != LUA_TSTRING || strcmp(lua_tostring(L, -1), LGB_ERROR) != 0) {
        lua_pushstring(L, text);
        return 1;
      }
    }
  }
  if (lua_istable(L, 1) && lua_getfield(L, 1, "traceback") == LUA_TSTRING) {   /* it passed through the core */
    lua_pushfstring(L, "%s\n%s", text, lua_tostring(L, -1));
    return 1;
  }
  luaL_traceback(L, L, text, 1);
  return 1;
}

int lgb_call (lua_State *L, int nargs, int nresults) {
  struct sigaction old;
  const int base = lua_gettop(L) - nargs;
  lua_pushcfunction(L, handle_message);
  lua_insert(L, base);
  watched = L;
  interrupted = false;
  gb_interrupt_clear();
  install(on_sigint, &old);
  running++;
  const int rc = lua_pcall(L, nargs, nresults, base);
  running--;
  sigaction(SIGINT, &old, NULL);
  if (lua_gethook(L) == stop_hook) lua_sethook(L, NULL, 0, 0);
  gb_interrupt_clear();
  lua_remove(L, base);
  return rc;
}

bool lgb_was_interrupted (void) { return interrupted; }
