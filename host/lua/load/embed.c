/* embed.c - finds the modules of the Lua library: built in, or under $GIBBOUS_LUA_DIR while developing. */
#include "lua/load/embed.h"

#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "lua/lgb.h"

static const gb_embedded *find_embedded (const gb_embedded *e, const char *module) {
  while (e->module != NULL && strcmp(e->module, module) != 0) e++;
  return e->module != NULL ? e : NULL;
}

static bool is_ours (const char *module) {
  return strcmp(module, "gibbous") == 0 || strncmp(module, "gibbous.", 8) == 0;
}

/* Reads files with Lua's own io library, so that nothing is left open whatever raises. Pushes the text, or
** nothing. */
static bool push_file (lua_State *L, const char *path) {
  const int top = lua_gettop(L);
  luaL_requiref(L, LUA_IOLIBNAME, luaopen_io, 0);
  lua_getfield(L, -1, "open");
  lua_pushstring(L, path);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    lua_settop(L, top);
    return false;
  }
  const int file = lua_gettop(L);
  lua_getfield(L, file, "read");
  lua_pushvalue(L, file);
  lua_pushliteral(L, "a");
  lua_call(L, 2, 1);
  lua_getfield(L, file, "close");
  lua_pushvalue(L, file);
  lua_call(L, 1, 0);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return lua_isstring(L, -1);
}

/* The text of a module under the override directory: pushes text and chunk name, or nothing. */
static bool push_override (lua_State *L, const char *module) {
  static const char *const forms[] = {"%s.lua", "%s/init.lua"};
  const char *dir = getenv("GIBBOUS_LUA_DIR");
  if (dir == NULL) return false;
  const int top = lua_gettop(L);
  const char *base = luaL_gsub(L, module, ".", "/");
  for (int i = 0; i < 2; i++) {
    const char *file = lua_pushfstring(L, forms[i], base);
    if (push_file(L, lua_pushfstring(L, "%s/%s", dir, file))) {
      lua_replace(L, top + 1);
      lua_pushfstring(L, "=%s", file);
      lua_replace(L, top + 2);
      lua_settop(L, top + 2);
      return true;
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return false;
}

/* Pushes the module's text and chunk name. False: not a module of the library. */
static bool push_source (lua_State *L, const char *module) {
  if (!is_ours(module)) return false;
  if (push_override(L, module)) return true;
  const gb_embedded *e = find_embedded(gb_embedded_modules, module);
  if (e == NULL) return false;
  lua_pushlstring(L, e->text, e->bytes);
  lua_pushstring(L, e->chunk);
  return true;
}

/* A searcher of require. */
static int search (lua_State *L) {
  const char *module = luaL_checkstring(L, 1);
  if (!is_ours(module)) return 0;
  if (!push_source(L, module)) {
    lua_pushfstring(L, "no module '%s' in the Gibbous library", module);
    return 1;
  }
  size_t bytes;
  const char *text = lua_tolstring(L, -2, &bytes), *chunk = lua_tostring(L, -1);
  if (luaL_loadbufferx(L, text, bytes, chunk, "t") != LUA_OK) return lua_error(L);
  lua_pushstring(L, chunk + 1);
  return 2;
}

void lgb_embed_searcher (lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, LUA_LOADLIBNAME);
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_getfield(L, -1, "searchers");
  luaL_checktype(L, -1, LUA_TTABLE);
  for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i >= 2; i--) { /* second, after package.preload */
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, search);
  lua_rawseti(L, -2, 2);
  lua_getfield(L, -2, "preload");
  lua_pushcfunction(L, luaopen_gibbous_core);
  lua_setfield(L, -2, "gibbous.core");
  lua_pop(L, 4);
}

int lgb_embed_source (lua_State *L) {
  if (push_source(L, luaL_checkstring(L, 1))) lua_pop(L, 1);
  else lua_pushnil(L);
  return 1;
}

const char *lgb_embed_find (const char *names, const char *text) {
  const char *at = NULL;
  for (const gb_embedded *e = gb_embedded_modules; at == NULL && e->module != NULL; e++)
    if (strncmp(e->module, names, strlen(names)) == 0) at = strstr(e->text, text);
  return at;
}

static int list (lua_State *L, const gb_embedded *from) {
  lua_newtable(L);
  for (const gb_embedded *e = from; e->module != NULL; e++) {
    lua_pushstring(L, e->module);
    lua_rawseti(L, -2, e - from + 1);
  }
  return 1;
}

int lgb_embed_modules (lua_State *L) { return list(L, gb_embedded_modules); }

int lgb_embed_texts (lua_State *L) { return list(L, gb_embedded_texts); }

int lgb_embed_text (lua_State *L) {
  const gb_embedded *e = find_embedded(gb_embedded_texts, luaL_checkstring(L, 1));
  const char *dir = getenv("GIBBOUS_LUA_DIR");
  if (e == NULL) lua_pushnil(L);
  else if (dir == NULL || !push_file(L, lua_pushfstring(L, "%s/%s", dir, e->module)))
    lua_pushlstring(L, e->text, e->bytes);
  return 1;
}

/* For a stock Lua: the same library, without the interpreter's extras. */
int lgb_open_library (lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  if (lua_getfield(L, -1, "gibbous.core") == LUA_TNIL) lgb_embed_searcher(L);
  lua_pop(L, 2);
  if (!push_source(L, "gibbous")) return luaL_error(L, "the Gibbous library is not built in");
  size_t bytes;
  const char *text = lua_tolstring(L, -2, &bytes);
  if (luaL_loadbufferx(L, text, bytes, lua_tostring(L, -1), "t") != LUA_OK) return lua_error(L);
  lua_pushliteral(L, "gibbous");
  lua_call(L, 1, 1);
  return 1;
}
