/* candidates.c - the names that could continue a line: what they have in common, and the list of them. */
#include "shell/candidates.h"

#include <stdio.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "shell/host.h"

/* The length of what all n names of the list begin with. */
static size_t common_prefix (lua_State *L, int list, lua_Integer n) {
  size_t common = SIZE_MAX;
  lua_rawgeti(L, list, 1);
  const char *first = lua_tostring(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    const char *name = lua_tostring(L, -1);
    size_t k = 0;
    while (first[k] != '\0' && first[k] == name[k]) k++;
    if (k < common) common = k;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return common;
}

/* Prints the names in columns below the line. */
static void show_candidates (lua_State *L, int list, lua_Integer n) {
  enum { MOST = 200 };
  const size_t window = lgb_columns(STDOUT_FILENO), wide = window > 0 ? window : 80;
  size_t widest = 1;
  for (lua_Integer i = 1; i <= n && i <= MOST; i++) {
    lua_rawgeti(L, list, i);
    if (lua_rawlen(L, -1) > widest) widest = (size_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  const lua_Integer fit = (lua_Integer)((wide + 2) / (widest + 2)), per_line = fit > 0 ? fit : 1;
  for (lua_Integer i = 1; i <= n && i <= MOST; i++) {
    lua_rawgeti(L, list, i);
    const int pad = i % per_line == 0 || i == n ? 0 : (int)widest;
    printf("%s%-*s", (i - 1) % per_line == 0 ? "\n" : "  ", pad, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  if (n > MOST) printf("\n... %lld more", (long long)(n - MOST));
  printf("\n");
  fflush(stdout);
}

/* Calls complete(text) of the prompt's side: the names at 'list', and how much of each is typed; false: none are known. */
static bool look_up (lua_State *L, const char *before, const char *line, size_t size) {
  if (!lgb_push_side(L, "complete")) return false;
  lua_pushstring(L, before);
  lua_pushstring(L, *before != '\0' ? "\n" : "");
  lua_pushlstring(L, line, size);
  lua_concat(L, 3);
  return lua_pcall(L, 1, 2, 0) == LUA_OK && lua_rawlen(L, -2) > 0;
}

gb_completion gb_complete (lua_State *L, const char *before, const char *line, size_t size) {
  const int list = lua_gettop(L) + 1;
  gb_completion out = {NULL, false};
  if (!look_up(L, before, line, size)) return out;
  const lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  const size_t typed = (size_t)lua_tointeger(L, list + 1), common = common_prefix(L, list, n);
  if (common > typed) {
    lua_rawgeti(L, list, 1);
    out.rest = lua_pushlstring(L, lua_tostring(L, -1) + typed, common - typed);
  } else if (n > 1) {
    show_candidates(L, list, n);
    out.shown = true;
  }
  return out;
}
