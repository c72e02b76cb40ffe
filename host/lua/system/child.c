/* child.c - processes that a script starts: core.child, core.wait, and what this process knows of itself. */
#define _GNU_SOURCE /* sigabbrev_np */
#include "system/child.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lua/lgb.h"

#define LGB_CHILD "gibbous.child"
#define LGB_GUARD "gibbous.guard"

static gb_child *check_child (lua_State *L, int arg) { return luaL_checkudata(L, arg, LGB_CHILD); }

/* A list of strings as C has it, ended by NULL; pushes its memory. nil: no strings. The strings live as long as the list does. */
static const char **check_strings (lua_State *L, int arg) {
  if (!lua_isnoneornil(L, arg)) lgb_checktype(L, arg, LUA_TTABLE);
  const size_t n = lua_isnoneornil(L, arg) ? 0 : (size_t)lua_rawlen(L, arg);
  const char **list = lgb_scratch(L, n + 1, sizeof *list);
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
      lgb_argerror(L, arg, "a list of strings expected");
    list[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  return list;
}

static gb_guard *check_guard (lua_State *L, int arg) {
  gb_guard *g = luaL_checkudata(L, arg, LGB_GUARD);
  if (g->pid == 0) lgb_fail(L, GB_ECLOSED, "the guard was closed");
  return g;
}

/* core.guard(): a process that ends the groups of children that entered it when this process ends, in whatever way, or closes it */
static int start_guard (lua_State *L) {
  gb_guard *g = lua_newuserdatauv(L, sizeof *g, 0);
  *g = (gb_guard){.pipe = -1};
  lgb_setmeta(L, LGB_GUARD);
  gb_error err;
  return lgb_result(L, gb_guard_start(g, &err), &err);
}

static int close_guard (lua_State *L) {
  gb_guard_close(luaL_checkudata(L, 1, LGB_GUARD));
  return 0;
}

/* core.child(argv, env, out, guard): a process that was started, with the environment of this one and the strings "NAME=value" of the
** list env (or nil); what it prints goes to the end of the file out (or nil: where this process prints). It is killed when the value
** goes. With a guard, which the child keeps alive, it may enter that by core.bind. */
static int start (lua_State *L) {
  lgb_checktype(L, 1, LUA_TTABLE);
  const char *out = luaL_optstring(L, 3, NULL);
  const gb_guard *guard = lua_isnoneornil(L, 4) ? NULL : check_guard(L, 4);
  lua_settop(L, 4);
  const char **argv = check_strings(L, 1), **env = check_strings(L, 2);
  if (argv[0] == NULL) return lgb_argerror(L, 1, "the name of a program expected");
  gb_child *c = lua_newuserdatauv(L, sizeof *c, 1);
  *c = (gb_child){.handle = -1};
  lgb_setmeta(L, LGB_CHILD);
  lua_pushvalue(L, 4);
  lua_setiuservalue(L, -2, 1);
  gb_error err;
  return lgb_result(L, gb_child_start(argv, env, out, guard, c, &err), &err);
}

static int close_child (lua_State *L) {
  gb_child_close(check_child(L, 1));
  return 0;
}

/* child:pid(), nil once it was reaped */
static int child_pid (lua_State *L) {
  const gb_child *c = check_child(L, 1);
  if (c->pid == 0) return 0;
  lua_pushinteger(L, c->pid);
  return 1;
}

/* child:signal("term"|"int"|"kill"|"usr1") */
static int send_signal (lua_State *L) {
  static const char *const names[] = {"int", "kill", "term", "usr1", NULL};
  static const int numbers[] = {SIGINT, SIGKILL, SIGTERM, SIGUSR1};
  gb_child_signal(check_child(L, 1), numbers[luaL_checkoption(L, 2, NULL, names)]);
  return 0;
}

static void set_number (lua_State *L, const char *name, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, -2, name);
}

/* child:reap(): {exit = status or nil, signal = name or nil, peak = bytes, user = s, system = s}; waits for the end */
static int reap (lua_State *L) {
  gb_child *c = check_child(L, 1);
  gb_child_end end;
  gb_error err;
  if (c->pid == 0) return lgb_fail(L, GB_ECLOSED, "the process was reaped");
  lgb_result(L, gb_child_reap(c, &end, &err), &err);
  lua_createtable(L, 0, 4);
  if (end.signal != 0) {
    const char *name = sigabbrev_np(end.signal);
    lua_pushstring(L, name == NULL ? "unknown" : name);
    lua_setfield(L, -2, "signal");
  } else {
    lua_pushinteger(L, end.exit);
    lua_setfield(L, -2, "exit");
  }
  lua_pushinteger(L, (lua_Integer)end.peak);
  lua_setfield(L, -2, "peak");
  set_number(L, "user", end.user);
  set_number(L, "system", end.system);
  return 1;
}

/* core.wait(children [, seconds]): the position of one that has ended, nil where time ran out */
static int wait_any (lua_State *L) {
  lgb_checktype(L, 1, LUA_TTABLE);
  const double seconds = luaL_optnumber(L, 2, -1);
  const size_t n = (size_t)lua_rawlen(L, 1);
  gb_child **list = lgb_scratch(L, n + 1, sizeof *list);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    list[i] = check_child(L, -1);
    lua_pop(L, 1); /* the list keeps it alive */
  }
  size_t which;
  gb_error err;
  lgb_result(L, gb_child_wait(list, n, seconds, &which, &err), &err);
  if (which == n) return 0;
  lua_pushinteger(L, (lua_Integer)which + 1);
  return 1;
}

/* core.bind(parent [, guarded]): this process ends with the process of that number, which started it, and leaves no core file; guarded:
** and so does what it starts. False where that is not its parent, or not any more. */
static int bind (lua_State *L) {
  const bool guarded = lua_toboolean(L, 2), bound = gb_child_bind((pid_t)lgb_checkinteger(L, 1));
  if (bound && guarded) gb_guard_enter();
  lua_pushboolean(L, bound);
  return 1;
}

/* core.process([pid]): its number, the time it started (in ticks since the system did), the name of the host. nil: no such process */
static int process (lua_State *L) {
  const lua_Integer pid = luaL_optinteger(L, 1, getpid());
  const uint64_t started = gb_process_started((pid_t)pid);
  char host[256] = "";
  if (started == 0) return 0;
  gethostname(host, sizeof host - 1);
  lua_pushinteger(L, pid);
  lua_pushinteger(L, (lua_Integer)started);
  lua_pushstring(L, host);
  return 3;
}

const luaL_Reg lgb_child_functions[] = {{"bind", bind},       {"child", start},   {"guard", start_guard},
                                        {"process", process}, {"wait", wait_any}, {NULL, NULL}};

void lgb_child_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", close_child}, {"__close", close_child}, {NULL, NULL}},
                        methods[] = {{"close", close_child},
                                     {"pid", child_pid},
                                     {"reap", reap},
                                     {"signal", send_signal},
                                     {NULL, NULL}};
  static const luaL_Reg guard_events[] = {{"__gc", close_guard}, {"__close", close_guard}, {NULL, NULL}};
  lgb_newmeta(L, LGB_CHILD, events);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lgb_newmeta(L, LGB_GUARD, guard_events);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_guard);
  lua_setfield(L, -2, "close");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
