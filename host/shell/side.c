/* side.c - the prompt's side in Lua: what follows an entry, commands, completion. */
#include "shell/host.h"

#define SIDE "gibbous.prompt.side" /* registry: the module's table */

bool lgb_start_side (lua_State *L, const luaL_Reg *functions) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "gibbous.prompt");
  if (lgb_call(L, 1, 1) != LUA_OK) return false;
  if (lua_istable(L, -1) && lua_getfield(L, -1, "start") == LUA_TFUNCTION) {
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    if (lgb_call(L, 1, 0) != LUA_OK) return lua_remove(L, -2), false;
  }
  lua_setfield(L, LUA_REGISTRYINDEX, SIDE);
  return true;
}

bool lgb_push_side (lua_State *L, const char *name) {
  const int top = lua_gettop(L);
  if (lua_getfield(L, LUA_REGISTRYINDEX, SIDE) == LUA_TTABLE && lua_getfield(L, -1, name) == LUA_TFUNCTION) {
    lua_remove(L, top + 1);
    return true;
  }
  lua_settop(L, top);
  return false;
}
