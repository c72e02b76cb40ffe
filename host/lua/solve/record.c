/* record.c - options read from a table, records written to one. */
#include "lua/solve/record.h"

#include <stdio.h>

#include "base/plain.h"
#include "lua/solve/precond.h"

gb_node *lgb_opttensor (lua_State *L, int arg, const char *name) {
  if (!lgb_option(L, arg, name)) return NULL;
  gb_node *n = lgb_checknode(L, lua_gettop(L));
  lua_pop(L, 1);
  return n;
}

gb_solve_options lgb_checksolve (lua_State *L, int arg) {
  gb_solve_options o = GB_SOLVE_DEFAULTS;
  o.tol = lgb_optnumber(L, arg, "tol", o.tol);
  o.max_iter = (int)lgb_optinteger(L, arg, "max_iter", o.max_iter);
  o.mixed = lgb_optbool(L, arg, "mixed", false);
  return o;
}

gb_solve_options lgb_checksolve_now (lua_State *L, int arg) {
  gb_solve_options o = lgb_checksolve(L, arg);
  o.x0 = lgb_opttensor(L, arg, "x0");
  if (lgb_option(L, arg, "precond")) {
    o.precond = lgb_checkprecond(L, -1);
    lua_pop(L, 1);
  }
  return o;
}

void lgb_setnumber (lua_State *L, const char *name, double v) {
  lua_pushnumber(L, gb_plain(v));
  lua_setfield(L, -2, name);
}

/* {every, residuals} */
static void push_curve (lua_State *L, const gb_curve *curve) {
  lua_createtable(L, curve->count, 1);
  lua_pushinteger(L, curve->every);
  lua_setfield(L, -2, "every");
  for (int i = 0; i < curve->count; i++) {
    lua_pushnumber(L, gb_plain(curve->residual[i]));
    lua_rawseti(L, -2, i + 1);
  }
}

void lgb_pushsolve (lua_State *L, const gb_solve_info *info, const char *message) {
  lua_createtable(L, 0, 16);
  lua_pushboolean(L, info->converged);
  lua_setfield(L, -2, "converged");
  lua_pushstring(L, gb_solve_reason_text(info->reason));
  lua_setfield(L, -2, "reason");
  if (message != NULL) {
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
  }
  lua_pushinteger(L, info->iterations);
  lua_setfield(L, -2, "iterations");
  lua_pushinteger(L, (lua_Integer)info->bytes);
  lua_setfield(L, -2, "bytes");
  lgb_setnumber(L, "residual", info->residual);
  lgb_setnumber(L, "condition", info->condition);
  if (info->tol > 0) lgb_setnumber(L, "tol", info->tol);
  if (info->curve.count > 0) {
    push_curve(L, &info->curve);
    lua_setfield(L, -2, "curve");
  }
  if (info->largest > 0) {
    lgb_setnumber(L, "smallest_eigenvalue", info->smallest);
    lgb_setnumber(L, "largest_eigenvalue", info->largest);
  }
  lgb_setnumber(L, "jitter", 0);
  lgb_setnumber(L, "seconds", info->seconds);
}

bool lgb_push_interrupted_solve (lua_State *L) {
  const char *method;
  const gb_solve_info *info = gb_solve_take_interrupted(&method);
  if (info == NULL) return false;
  lgb_pushsolve(L, info, NULL);
  lua_pushliteral(L, "interrupted");
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, method);
  lua_setfield(L, -2, "solver");
  return true;
}

void lgb_say_missed (lgb_session *s, const char *where, const char *how, int steps, double residual,
                     const char *message) {
  for (size_t i = 0; i < LGB_TOLD; i++)
    if (s->told[i] == where && where[0] != '\0') return;
  s->told[s->next_told++ % LGB_TOLD] = where;
  fprintf(stderr,
          "gibbous: %s%sa solve missed its tolerance: %s after %d step%s, relative residual %.2g%s%s\n",
          where, where[0] != '\0' ? ": " : "", how, steps, lgb_plural((uint64_t)steps), gb_plain(residual),
          message[0] != '\0' ? "; " : "", message);
}
