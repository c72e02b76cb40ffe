/* chunkload.c - only text chunks. Crafted precompiled chunks can crash any Lua, so they are neither loaded
** nor produced. */
#include <string.h>

#include <lualib.h>

#include "shell/host.h"

/* A mode that admits text becomes "t"; any other mode admits nothing. */
static void restrict_mode (lua_State *L, int arg) {
  const char *mode = luaL_optstring(L, arg, "t");
  lua_pushstring(L, strchr(mode, 't') != NULL ? "t" : "");
  lua_replace(L, arg);
}

/* Calls the original function, upvalue 1, with all arguments, the mode at 'arg' restricted. */
static int call_restricted (lua_State *L, int arg) {
  if (lua_gettop(L) < arg) lua_settop(L, arg);
  restrict_mode(L, arg);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int text_load (lua_State *L) { return call_restricted(L, 3); }
static int text_loadfile (lua_State *L) { return call_restricted(L, 2); }

static int finish_dofile (lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  return lua_gettop(L) - 1;
}

static int text_dofile (lua_State *L) {
  const char *name = luaL_optstring(L, 1, NULL);
  lua_settop(L, 1);
  if (luaL_loadfilex(L, name, "t") != LUA_OK) return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, finish_dofile);
  return finish_dofile(L, 0, 0);
}

/* The searcher for Lua files. upvalue 1: package */
static int search_file (lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_getfield(L, lua_upvalueindex(1), "searchpath");
  lua_pushvalue(L, 1);
  if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING)
    return luaL_error(L, "'package.path' must be a string");
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) return 1; /* why not */
  lua_pop(L, 1);
  const char *file = lua_tostring(L, -1);
  if (luaL_loadfilex(L, file, "t") != LUA_OK)
    return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, file, lua_tostring(L, -1));
  lua_pushvalue(L, -2);
  return 2;
}

static void wrap (lua_State *L, const char *name, lua_CFunction f) {
  lua_getglobal(L, name);
  lua_pushcclosure(L, f, 1);
  lua_setglobal(L, name);
}

void lgb_text_only (lua_State *L) {
  wrap(L, "load", text_load);
  wrap(L, "loadfile", text_loadfile);
  wrap(L, "dofile", text_dofile);
  lua_getglobal(L, LUA_STRLIBNAME);
  lua_pushnil(L);
  lua_setfield(L, -2, "dump");
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, search_file, 1);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 3);
}
