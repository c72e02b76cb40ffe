/* ranks.c - the ranks that this process belongs to, for the Lua library. */
#include <string.h>

#include "cluster/world.h"
#include "lua/cluster/problem.h"

static gb_comm *world (lua_State *L) {
  gb_comm *c;
  gb_error err;
  lgb_result(L, gb_world(&c, &err), &err);
  return c;
}

gb_comm *lgb_checkranks (lua_State *L, int arg) {
  return lgb_optbool(L, arg, "ranks", false) ? world(L) : NULL;
}

/* core.ranks(): the number of this rank, from 0; how many there are; messages that it has sent, and their bytes */
static int ranks (lua_State *L) {
  const gb_comm *c = world(L);
  lua_pushinteger(L, (lua_Integer)gb_comm_rank(c));
  lua_pushinteger(L, (lua_Integer)gb_comm_ranks(c));
  lua_pushinteger(L, c == NULL ? 0 : (lua_Integer)c->messages);
  lua_pushinteger(L, c == NULL ? 0 : (lua_Integer)c->sent);
  return 4;
}

/* core.ranks_check(): raises where the library of ranks cannot be opened */
static int ranks_check (lua_State *L) {
  gb_error err;
  lgb_result(L, gb_world_check(&err), &err);
  return 0;
}

/* What an error object, or whatever was raised, says. */
static gb_status status_of (lua_State *L, int arg, gb_error *err) {
  gb_status st = GB_ECALLBACK;
  const char *code = NULL, *message;
  if (lua_istable(L, arg)) {
    lua_getfield(L, arg, "code");
    lua_getfield(L, arg, "message");
    code = lua_tostring(L, -2);
  }
  message = code != NULL ? lua_tostring(L, -1) : luaL_tolstring(L, arg, NULL);
  for (int i = GB_OK + 1; code != NULL && i < GB_NSTATUS; i++)
    if (strcmp(code, gb_status_code((gb_status)i)) == 0) st = (gb_status)i;
  return gb_fail(err, st, "%s", message != NULL ? message : "error");
}

/* core.ranks_agree(error): all ranks call it, with what was raised at this one or nil; where any says something, it raises what the
** lowest of them says. */
static int ranks_agree (lua_State *L) {
  gb_error err = {.text = ""};
  lua_settop(L, 1);
  gb_comm *c = world(L);
  if (c == NULL) return lua_isnil(L, 1) ? 0 : lua_error(L);
  lgb_result(L, gb_comm_agree(c, lua_isnil(L, 1) ? GB_OK : status_of(L, 1, &err), &err), &err);
  return 0;
}

const luaL_Reg lgb_ranks_functions[] = {
    {"ranks", ranks}, {"ranks_agree", ranks_agree}, {"ranks_check", ranks_check}, {NULL, NULL}};
