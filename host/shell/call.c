/* call.c - running Lua code for the user: tracebacks and Ctrl-C. The signal handler sets the core's flag and
** a hook; the first of the two that is polled raises. A second Ctrl-C within two seconds of one that the
** script caught passes through every protected call up to the command; a third ends the process at once.
** While interrupts are deferred (base/interrupt.h) the hook raises nothing, and stays for what follows. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/lgb.h"
#include "shell/host.h"

static lua_State *volatile watched;   /* the coroutine that runs; set before the handler */
static volatile sig_atomic_t running; /* depth of calls in progress */
/* number of Ctrl-C in this command, each within two seconds of the previous one */
static volatile sig_atomic_t presses;
static volatile sig_atomic_t unwinding; /* every instruction of the command raises, until it is over */
static bool interrupted;
static gb_status failure; /* of the last error of the library, GB_OK: another error */

/* While unwinding, the hook stays set: an error that a protected call catches is raised again after it. C
** functions are called without the hook, so that they can release what they own. */
static void stop_hook (lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (gb_interrupt_is_deferred()) return;
  if (unwinding) lua_sethook(L, stop_hook, LUA_MASKCOUNT, 1);
  else lua_sethook(L, NULL, 0, 0);
  if (unwinding || gb_interrupted()) lgb_raise_interrupted(L); /* otherwise the core has raised already */
}

static void warn_of_the_end (void) {
  static const char text[] = "\nCtrl-C once more ends the session\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return; /* stderr is closed */
}

/* lua_sethook is safe in a signal handler: Lua's own interpreter relies on it. */
static void arm (void) {
  if (running > 0)
    lua_sethook(watched, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* A Ctrl-C that the previous coroutine did not poll applies to this one too. */
lua_State *lgb_now_runs (lua_State *co) {
  lua_State *before = watched;
  watched = co;
  if (unwinding || gb_interrupted()) arm();
  return before;
}

static void on_sigint (int signal_number) {
  static time_t last;
  (void)signal_number;
  const time_t now = time(NULL);
  presses = now - last <= 2 ? presses + 1 : 1;
  last = now;
  if (running > 0 && presses >= 3) _exit(LGB_EXIT_INTERRUPTED);
  if (running > 0 && presses == 2) {
    unwinding = !gb_interrupted(); /* the first one was raised, but the command continues */
    warn_of_the_end();
  }
  gb_interrupt_raise();
  arm();
}

/* Outside of calls: while the process starts or ends. One that has answered a Ctrl-C is ending already: another does not keep it from
** writing what it has. */
static void on_sigint_outside (int signal_number) {
  static volatile sig_atomic_t late;
  (void)signal_number;
  if (atomic_load(&gb_interrupt_count) == 0 || ++late > 1) _exit(LGB_EXIT_INTERRUPTED);
}

void lgb_end_by_interrupts (void) {
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
    return; /* of a job in the background */
  memset(&action, 0, sizeof action);
  action.sa_handler = on_sigint_outside;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

static void install (void (*handler)(int), struct sigaction *old) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler; /* no SA_RESTART: a read at the prompt returns */
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGUSR1); /* both handlers set hooks */
  sigaction(SIGINT, &action, old);
}

void lgb_watch_interrupts (lua_State *L) {
  watched = L;
  install(on_sigint, NULL);
}

/* Notes what the error at 1 is. That of Ctrl-C is an object of the library or, before it is loaded, a string. */
static void note_error (lua_State *L) {
  failure = GB_OK;
  if (lua_type(L, 1) == LUA_TSTRING) {
    interrupted = lgb_is_interrupt_text(L, 1);
    return;
  }
  if (luaL_getmetafield(L, 1, "__name") == LUA_TNIL) return;
  const bool ours = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), LGB_ERROR) == 0;
  lua_pop(L, 1);
  if (!ours) return;
  lua_getfield(L, 1, "code");
  for (int st = 0; st < GB_NSTATUS && lua_type(L, -1) == LUA_TSTRING; st++)
    if (strcmp(lua_tostring(L, -1), gb_status_code((gb_status)st)) == 0) failure = (gb_status)st;
  interrupted = failure == GB_EINTR;
  lua_pop(L, 1);
}

/* Does a function of the user's run? Without one, a traceback would be of the prompt itself. */
static bool runs_script (lua_State *L) {
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what != 'C' && strncmp(ar.source, LGB_CHUNK, sizeof LGB_CHUNK - 1) != 0) return true;
  }
  return false;
}

/* Strings and the library's error objects get a traceback; other objects with a __tostring are printed as
** they are. */
static int handle_message (lua_State *L) {
  const char *text = lua_tostring(L, 1);
  note_error(L);
  if (lgb_push_side(L, "failed")) { /* the prompt looks at the stack while it is there */
    lua_pushvalue(L, 1);
    lua_pcall(L, 1, 0, 0);
    lua_settop(L, 1);
  }
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
  if (lua_istable(L, 1) && lua_getfield(L, 1, "traceback") == LUA_TSTRING) { /* of its origin in the core */
    lua_pushfstring(L, "%s\n%s", text, lua_tostring(L, -1));
    return 1;
  }
  if (strstr(text, "a nil value (global 'gb')") != NULL)
    text = lua_pushfstring(L, "%s; a script begins with: local gb = require \"gibbous\"", text);
  if (runs_script(L)) lgb_traceback(L, text, 1);
  else lua_pushstring(L, text);
  return 1;
}

int lgb_call (lua_State *L, int nargs, int nresults) {
  struct sigaction old;
  const int base = lua_gettop(L) - nargs;
  lua_pushcfunction(L, handle_message);
  lua_insert(L, base);
  lua_State *before = watched;
  watched = L;
  interrupted = false;
  if (running == 0) presses = 0;
  gb_interrupt_clear();
  install(on_sigint, &old);
  running++;
  const int rc = lua_pcall(L, nargs, nresults, base);
  if (--running == 0) unwinding = 0;
  sigaction(SIGINT, &old, NULL);
  if (before != NULL) watched = before;
  if (lua_gethook(L) == stop_hook) lua_sethook(L, NULL, 0, 0);
  gb_interrupt_clear();
  lua_remove(L, base);
  return rc;
}

lua_State *lgb_running (void) { return running > 0 ? watched : NULL; }

bool lgb_was_interrupted (void) { return interrupted; }

int lgb_failure_status (void) {
  if (interrupted) return LGB_EXIT_INTERRUPTED;
  switch (failure) {
    case GB_ENOTPD:
    case GB_ENOTCONV:
    case GB_ENAN: return LGB_EXIT_NUMERICAL;
    case GB_ENOMEM:
    case GB_EREFUSED: return LGB_EXIT_MEMORY;
    default: return 1;
  }
}
