/* meta.c - metatables of the library's values, and the values that a closing state would leave open. */
#include <string.h>

#include "lua/lgb.h"

#define PREFIX "gibbous."

void lgb_newmeta (lua_State *L, const char *key, const luaL_Reg *events) {
  luaL_newmetatable(L, key);
  luaL_setfuncs(L, events, 0);
  lua_pushstring(L, key + sizeof PREFIX - 1);
  lua_setfield(L, -2, "__metatable");
}

static const char late_key = 'l'; /* its address is the registry key */

/* Pushes the table whose weak keys are what finalizers made. */
static void push_late (lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &late_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &late_key);
}

void lgb_setmeta (lua_State *L, const char *key) {
  luaL_setmetatable(L, key);
  if (!lgb_in_finalizer(L)) return;
  push_late(L);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void lgb_close_late (lua_State *L) {
  push_late(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (luaL_getmetafield(L, -2, "__gc") == LUA_TNIL) continue;
    lua_pushvalue(L, -3);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
