/* solve.c - preconditioners for the Lua library; gb.precond is in Lua. */
#include "lua/precond.h"

#define LGB_PRECOND "gibbous.preconditioner"

typedef struct precond_box {
  gb_precond p;
  lgb_session *session;                 /* NULL: closed */
} precond_box;

const gb_precond *lgb_checkprecond (lua_State *L, int arg) {
  return &((precond_box *)luaL_checkudata(L, arg, LGB_PRECOND))->p;
}

static int precond_gc (lua_State *L) {
  precond_box *box = luaL_checkudata(L, 1, LGB_PRECOND);
  lgb_session *s = box->session;
  box->session = NULL;
  gb_precond_clear(&box->p);
  if (s != NULL) lgb_session_release(s);
  return 0;
}

static precond_box *newprecond (lua_State *L, lgb_session *s) {
  precond_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (precond_box){.session = s};
  s->handles++;
  luaL_setmetatable(L, LGB_PRECOND);
  return box;
}

/* core.pivoted_cholesky(K, noise, rank, tol) -> preconditioner of K + noise I, its rank, the share of the trace left out */
static int solve_pivoted_cholesky (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *k = lgb_checknode(L, 1);
  const double noise = luaL_checknumber(L, 2);
  const lua_Integer rank = luaL_checkinteger(L, 3);
  const double tol = luaL_optnumber(L, 4, 0);
  luaL_argcheck(L, rank >= 1, 3, "a rank of 1 or more expected");
  precond_box *box = newprecond(L, s);
  gb_error err;
  s->busy = true;
  const gb_status st = gb_precond_pivoted_cholesky(&box->p, k, noise, (size_t)rank, tol, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  lua_pushinteger(L, (lua_Integer)box->p.rank);
  lua_pushnumber(L, box->p.trace_left);
  return 3;
}

/* core.jacobi(A) -> preconditioner diag(A) */
static int solve_jacobi (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checknode(L, 1);
  precond_box *box = newprecond(L, s);
  gb_error err;
  s->busy = true;
  const gb_status st = gb_precond_jacobi(&box->p, a, &err);
  s->busy = false;
  return lgb_result(L, st, &err);
}

void lgb_solve_meta (lua_State *L) {
  luaL_newmetatable(L, LGB_PRECOND);
  lua_pushcfunction(L, precond_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

const luaL_Reg lgb_solve_functions[] = {
    {"jacobi", solve_jacobi}, {"pivoted_cholesky", solve_pivoted_cholesky}, {NULL, NULL}};
