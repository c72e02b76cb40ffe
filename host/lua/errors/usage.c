/* usage.c - errors of arguments: what was expected, the script's line, and how the function is called. They are
** strings, as those of Lua's own functions. */
#include <stdio.h>
#include <string.h>

#include "lua/lgb.h"

#define DOCUMENTS "gibbous.meta." /* modules that are the documentation */

/* The call forms are those of the documentation: lines "function gb.cat(list, d) end". */
static const char *const owners[] = {"gb.", "gb.linalg.", "tensor:", "plan:", "gb.memory."};
enum { METHODS = 2 }; /* the first owner of methods */

/* Pushes the call "x:sum(d, o)" that the documentation declares as "function tensor:sum(d, o)". False if it declares no such
** function, or no more of its arguments than "...". */
static bool push_form (lua_State *L, const char *owner, const char *name) {
  char head[96];
  const int n = snprintf(head, sizeof head, "\nfunction %s%s(", owner, name);
  if (n >= (int)sizeof head) return false;
  const char *at = lgb_embed_find(DOCUMENTS, head);
  if (at == NULL) return false;
  const char *arguments = at + n, *end = strchr(arguments, ')');
  if (end == NULL || strncmp(arguments, "...)", 4) == 0) return false;
  lua_pushlstring(L, arguments, (size_t)(end - arguments));
  lua_pushfstring(L, "%s%s(%s)", strcmp(owner, "tensor:") == 0 ? "x:" : owner, name, lua_tostring(L, -1));
  lua_remove(L, -2);
  return true;
}

/* Pushes "; x:sum(d, o)", or "" where no form of the running function is known. */
static const char *push_usage (lua_State *L, const char *name, bool is_method) {
  const int count = (int)(sizeof owners / sizeof owners[0]);
  luaL_checkstack(L, 8, "an error message");
  for (int i = 0; i < count; i++) {
    if (!push_form(L, owners[(i + (is_method ? METHODS : 0)) % count], name)) continue;
    lua_pushfstring(L, "; %s", lua_tostring(L, -1));
    lua_remove(L, -2);
    return lua_tostring(L, -1);
  }
  return lua_pushliteral(L, "");
}

int lgb_argerror (lua_State *L, int arg, const char *what) {
  lua_Debug ar = {.namewhat = ""};
  if (lua_getstack(L, 0, &ar)) lua_getinfo(L, "n", &ar);
  const bool is_method = strcmp(ar.namewhat, "method") == 0;
  const char *name = lgb_function_name(L);
  const char *usage = push_usage(L, name, is_method);
  const char *line = lgb_where(L, lgb_session_of(L));
  if (is_method && --arg == 0)
    return luaL_error(L, "%s%scalling '%s' on bad self (%s)%s", line, *line ? ": " : "", name, what, usage);
  lua_pushfstring(L, "%s%sbad argument #%d to '%s' (%s)%s", line, *line ? ": " : "", arg, name, what, usage);
  return lua_error(L);
}

/* What Lua's functions say they got; the advice that the name of tensors carries is for numbers only. */
int lgb_typeerror (lua_State *L, int arg, const char *expected) {
  const char *got = luaL_typename(L, arg);
  if (luaL_getmetafield(L, arg, "__name") == LUA_TSTRING) got = lua_tostring(L, -1);
  const size_t whole = strlen(got), name = strcspn(got, ";");
  lua_pushlstring(L, got, strcmp(expected, "number") == 0 ? whole : name);
  return lgb_argerror(L, arg, lua_pushfstring(L, "%s expected, got %s", expected, lua_tostring(L, -1)));
}

void lgb_argcheck (lua_State *L, bool holds, int arg, const char *what) {
  if (!holds) lgb_argerror(L, arg, what);
}

void lgb_checktype (lua_State *L, int arg, int type) {
  if (lua_type(L, arg) != type) lgb_typeerror(L, arg, lua_typename(L, type));
}

/* Digits in a string are no number, unlike in Lua's own functions: "10" < "9" and "1" == 1 are traps. */
lua_Number lgb_checknumber (lua_State *L, int arg) {
  lgb_checktype(L, arg, LUA_TNUMBER);
  return lua_tonumber(L, arg);
}

lua_Integer lgb_checkinteger (lua_State *L, int arg) {
  int is_integer;
  lgb_checktype(L, arg, LUA_TNUMBER);
  const lua_Integer v = lua_tointegerx(L, arg, &is_integer);
  if (is_integer) return v;
  return lgb_argerror(L, arg, lua_pushfstring(L, "a whole number expected, got %s", lgb_shown(L, arg)));
}

lua_Number lgb_numberor (lua_State *L, int arg, lua_Number def) {
  return lua_isnoneornil(L, arg) ? def : lgb_checknumber(L, arg);
}

lua_Integer lgb_integeror (lua_State *L, int arg, lua_Integer def) {
  return lua_isnoneornil(L, arg) ? def : lgb_checkinteger(L, arg);
}

const char *lgb_checkstring (lua_State *L, int arg) {
  const char *s = lua_tostring(L, arg);
  if (s == NULL) lgb_typeerror(L, arg, lua_typename(L, LUA_TSTRING));
  return s;
}
