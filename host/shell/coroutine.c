/* coroutine.c - Ctrl-C in coroutines and in handlers of xpcall. A hook belongs to one coroutine, so the
** signal handler must know which one runs. Lua calls no hook within a hook, so the handler of xpcall for an
** error of the hook is called after the hook has returned. */
#include <string.h>

#include <lualib.h>

#include "shell/host.h"

/* -- coroutines */

/* Prefixes a string with its position, as Lua does for errors of C functions. */
static int raise_from (lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* Moves 'nargs' arguments from the stack and resumes 'co'. Returns the number of results on the stack; -1:
** one error. */
static int resumed (lua_State *L, lua_State *co, int nargs) {
  int n = 0;
  if (!lua_checkstack(co, nargs)) return lua_pushliteral(L, "too many arguments to resume"), -1;
  lua_xmove(L, co, nargs);
  lua_State *before = lgb_now_runs(co);
  const int status = lua_resume(co, L, nargs, &n);
  lgb_now_runs(before);
  if (status != LUA_OK && status != LUA_YIELD) return lua_xmove(co, L, 1), -1;
  if (lua_checkstack(L, n + 1)) return lua_xmove(co, L, n), n;
  lua_pop(co, n);
  return lua_pushliteral(L, "too many results to resume"), -1;
}

static lua_State *check_coroutine (lua_State *L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  return lua_tothread(L, 1);
}

static int thread_resume (lua_State *L) {
  const int n = resumed(L, check_coroutine(L), lua_gettop(L) - 1), given = n < 0 ? 1 : n;
  lua_pushboolean(L, n >= 0);
  lua_insert(L, -1 - given);
  return given + 1;
}

/* upvalue 1: the coroutine. An error closes it. */
static int wrapped_run (lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  const int n = resumed(L, co, lua_gettop(L));
  if (n >= 0) return n;
  const int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) { /* it ended with the error, which closing may replace */
    lua_xmove(L, co, 1);
    lua_State *before = lgb_now_runs(co);
    lua_resetthread(co);
    lgb_now_runs(before);
    lua_xmove(co, L, 1);
  }
  return raise_from(L);
}

static int thread_wrap (lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped_run, 1);
  return 1;
}

/* coroutine.close, which runs pending __close methods. upvalue 1: the original */
static int thread_close (lua_State *L) {
  lua_State *co = check_coroutine(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_State *before = lgb_now_runs(co);
  const int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  lgb_now_runs(before);
  return status == LUA_OK ? lua_gettop(L) : raise_from(L);
}

/* -- xpcall */

/* True if the calling function handles an error raised by the hook. */
static int in_hook (lua_State *L) {
  lua_Debug ar;
  lua_pushboolean(L, lua_getstack(L, 1, &ar) && lua_getinfo(L, "n", &ar) && strcmp(ar.namewhat, "hook") == 0);
  return 1;
}

/* Upvalue 1 of xpcall: a handler. For an error of the hook it marks the call, which runs the script's handler
** later; otherwise it tail-calls the script's handler, so stack levels are unchanged. */
static const char make_handler[] = "local in_hook = ... "
                                   "return function(h, call) return function(...) if in_hook() then "
                                   "call.late = h return ... end return h(...) end end";

static int after_late_handler (lua_State *L, int status, lua_KContext below) {
  (void)status;
  lua_pushboolean(L, false);
  lua_insert(L, -2);
  return lua_gettop(L) - (int)below;
}

/* Stack: call, handler, true, results; or call, handler, ..., the error. */
static int finish_xpcall (lua_State *L, int status, lua_KContext context) {
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 2;
  if (lua_getfield(L, 1, "late") == LUA_TNIL) {
    lua_pushboolean(L, false);
    lua_replace(L, -2);
    lua_insert(L, -2);
    return 2;
  }
  lua_insert(L, -2);
  const int below = lua_gettop(L) - 2;
  lua_callk(L, 1, 1, below, after_late_handler);
  return after_late_handler(L, LUA_OK, below);
}

static int host_xpcall (lua_State *L) {
  const int nargs = lua_gettop(L) - 2;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_newtable(L);
  if (!lua_iscfunction(L, 2)) { /* C functions are short and need no delay */
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    lua_call(L, 2, 1); /* f h args call handler */
    lua_replace(L, 2); /* f handler args call */
  }
  lua_pushboolean(L, true);
  lua_pushvalue(L, 1); /* f handler args call true f */
  lua_rotate(L, 3, 2); /* f handler true f args call */
  lua_replace(L, 1);   /* call handler true f args */
  return finish_xpcall(L, lua_pcallk(L, nargs, LUA_MULTRET, 2, 0, finish_xpcall), 0);
}

void lgb_interruptible (lua_State *L) {
  static const luaL_Reg functions[] = {{"resume", thread_resume}, {"wrap", thread_wrap}, {NULL, NULL}};
  lua_getglobal(L, LUA_COLIBNAME);
  luaL_setfuncs(L, functions, 0);
  lua_getfield(L, -1, "close");
  lua_pushcclosure(L, thread_close, 1);
  lua_setfield(L, -2, "close");
  lua_pop(L, 1);
  if (luaL_loadbufferx(L, make_handler, sizeof make_handler - 1, "=xpcall", "t") != LUA_OK) lua_error(L);
  lua_pushcfunction(L, in_hook);
  lua_call(L, 1, 1);
  lua_pushcclosure(L, host_xpcall, 1);
  lua_setglobal(L, "xpcall");
}
