/* values.c - the values of an entry as the prompt displays them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "shell/host.h"

/* True if the script has replaced print. */
static bool prints_itself (lua_State *L) {
  lgb_raw_global(L, "print");
  lua_getfield(L, LUA_REGISTRYINDEX, LGB_PRINT);
  const bool own = !lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return own;
}

static int call_print (lua_State *L) {
  lgb_raw_global(L, "print");
  lua_insert(L, 1);
  if (lua_pcall(L, lua_gettop(L) - 1, 0, 0) == LUA_OK) return 0;
  fflush(stdout);
  fprintf(stderr, "error calling 'print' (%s)\n", luaL_tolstring(L, -1, NULL));
  return 0;
}

/* A value as the prompt displays it, on top: by gibbous.text.inspect at 'inspect', 0: as tostring does. */
static void push_displayed (lua_State *L, int value, int inspect) {
  if (inspect == 0) {
    luaL_tolstring(L, value, NULL);
    return;
  }
  const size_t columns = lgb_columns(STDOUT_FILENO);
  lua_pushvalue(L, inspect);
  lua_pushvalue(L, value);
  if (columns > 0) lua_pushinteger(L, (lua_Integer)columns);
  else lua_pushnil(L);
  lua_call(L, 2, 1);
  luaL_tolstring(L, -1, NULL);
}

/* The texts at 1..n: on a line of their own each, or all in one. The header of a tensor is faint. */
static void put_texts (lua_State *L, int n, bool one_line) {
  for (int i = 1; i <= n; i++) {
    size_t size;
    const char *text = lua_tolstring(L, i, &size), *below = strchr(text, '\n');
    const size_t header = strncmp(text, "tensor ", 7) == 0 && below != NULL ? (size_t)(below - text) : 0;
    lgb_put_coloured(stdout, LGB_FAINT, text, header);
    fwrite(text + header, 1, size - header, stdout);
    fputs(i == n || !one_line ? "\n" : "\t", stdout);
  }
  fflush(stdout);
}

int lgb_print_values (lua_State *L) {
  if (prints_itself(L)) return call_print(L);
  const int n = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  const bool pretty = lua_getfield(L, -1, "gibbous.text.inspect") == LUA_TFUNCTION;
  const int inspect = lua_gettop(L);
  bool one_line = true;
  for (int i = 1; i <= n; i++) {
    push_displayed(L, i, pretty ? inspect : 0);
    lua_replace(L, i);
    lua_settop(L, inspect);
    one_line = one_line && strchr(lua_tostring(L, i), '\n') == NULL;
  }
  put_texts(L, n, one_line);
  return 0;
}
