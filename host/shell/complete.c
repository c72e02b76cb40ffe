/* complete.c - completion at the prompt: globals, keywords, fields along a path, tensor methods, parts of the
** library. Tables are read raw, so completing never runs user code; a part of gb is loaded only if its full
** name was typed. */
#include <ctype.h>
#include <string.h>

#include "lua/lgb.h"
#include "shell/host.h"

/* Stack: 1 text before the cursor, 2 set of names found so far. */
#define FOUND 2

static void add (lua_State *L, const char *name, const char *prefix) {
  if (strncmp(name, prefix, strlen(prefix)) != 0 || name[0] == '\0') return;
  if (name[0] == '_' && prefix[0] != '_')
    return; /* private names and metamethods only if the prefix starts with _ */
  lua_pushboolean(L, 1);
  lua_setfield(L, FOUND, name);
}

static void add_keys (lua_State *L, int table, const char *prefix) {
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING) add(L, lua_tostring(L, -2), prefix);
}

static void add_list (lua_State *L, const char *const *names, const char *prefix) {
  for (; *names != NULL; names++) add(L, *names, prefix);
}

/* Names that a value offers by its metatable: a '__names' function, or what '__index' leads to. */
static void add_meta (lua_State *L, int value, const char *prefix, int depth) {
  luaL_checkstack(L, 8, "completion");
  if (depth > 8 || !lua_getmetatable(L, value)) return;
  const int meta = lua_gettop(L);
  lua_pushliteral(L, "__names");
  if (lua_rawget(L, meta) == LUA_TFUNCTION) {
    if (lua_pcall(L, 0, 1, 0) == LUA_OK && lua_istable(L, -1))
      for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
        add(L, lua_tostring(L, -1), prefix);
        lua_pop(L, 1);
      }
  }
  lua_settop(L, meta);
  lua_pushliteral(L, "__index");
  if (lua_rawget(L, meta) == LUA_TTABLE) {
    add_keys(L, lua_gettop(L), prefix);
    add_meta(L, lua_gettop(L), prefix, depth + 1);
  }
  lua_settop(L, meta - 1);
}

/* Pushes core.methods; false if the library is not loaded. */
static bool push_methods (lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "gibbous.core") == LUA_TTABLE && lua_getfield(L, -1, "methods") == LUA_TTABLE)
    return true;
  return false;
}

static void add_fields (lua_State *L, int value, const char *prefix) {
  static const char *const facts[] = {"device", "dtype", "ndim", "numel", "shape", NULL};
  if (lua_istable(L, value)) add_keys(L, value, prefix);
  if (luaL_testudata(L, value, LGB_TENSOR) != NULL) {
    add_list(L, facts, prefix);
    if (push_methods(L)) add_keys(L, lua_gettop(L), prefix);
    lua_settop(L, value);
  } else {
    add_meta(L, value, prefix, 0);
  }
}

/* True if 'key', on top, is among the names of a '__names' function. Such fields are created on demand. */
static bool is_listed (lua_State *L, int value, const char *key) {
  bool listed = false;
  const int top = lua_gettop(L);
  if (luaL_getmetafield(L, value, "__names") == LUA_TFUNCTION && lua_pcall(L, 0, 1, 0) == LUA_OK &&
      lua_istable(L, -1))
    for (lua_Integer i = 1; !listed && lua_rawgeti(L, top + 1, i) == LUA_TSTRING; i++) {
      listed = strcmp(lua_tostring(L, -1), key) == 0;
      lua_pop(L, 1);
    }
  lua_settop(L, top);
  return listed;
}

/* Replaces the value on top by its field 'key', or by nil if reading the field would run user code. */
static void step_into (lua_State *L, const char *key) {
  const int value = lua_gettop(L);
  if (!lua_istable(L, value)) {
    lua_pushnil(L);
  } else {
    lua_pushstring(L, key);
    if (lua_rawget(L, value) == LUA_TNIL) {
      if (is_listed(L, value, key)) {
        lua_getfield(L, value, key);
      } else if (luaL_getmetafield(L, value, "__index") == LUA_TTABLE) {
        lua_pushstring(L, key);
        lua_rawget(L, -2);
      } else {
        lua_pushnil(L);
      }
    }
  }
  lua_replace(L, value);
  lua_settop(L, value);
}

static bool in_path (char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':'; }

/* Pushes the sorted names as a list. */
static void push_sorted (lua_State *L) {
  lua_newtable(L);
  const int list = lua_gettop(L);
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, FOUND); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++n);
  }
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "table");
  lua_getfield(L, -1, "sort");
  lua_pushvalue(L, list);
  lua_call(L, 1, 0);
  lua_settop(L, list);
}

int lgb_complete (lua_State *L) {
  static const char *const keywords[] = {
      "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "goto",  "if", "in",
      "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while", NULL};
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  lua_settop(L, 1);
  lua_newtable(L);
  size_t start = n;
  while (start > 0 && in_path(text[start - 1])) start--;
  const char *word = text + start;
  lua_pushglobaltable(L);
  bool deep = false;
  for (size_t length; length = strcspn(word, ".:"), word[length] != '\0'; word += length + 1) {
    lua_pushlstring(L, word, length);
    lua_insert(L, -2);
    step_into(L, lua_tostring(L, -2));
    lua_remove(L, -2);
    deep = true;
  }
  if (!lua_isnil(L, -1)) add_fields(L, lua_gettop(L), word);
  if (!deep) add_list(L, keywords, word);
  push_sorted(L);
  lua_pushinteger(L, (lua_Integer)strlen(word));
  return 2;
}
