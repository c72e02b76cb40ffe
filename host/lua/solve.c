/* solve.c - iterative solvers and preconditioners for the Lua library; gb.solvers and gb.precond are in Lua. */
#include "lua/lgb.h"
#include "solve/marginal.h"

#define LGB_PRECOND "gibbous.preconditioner"

typedef struct precond_box {
  gb_precond p;
  lgb_session *session;                 /* NULL: closed */
} precond_box;

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

/* {tol, max_iter, precond, x0} */
static gb_cg_options check_cg_options (lua_State *L, int arg) {
  gb_cg_options o = GB_CG_DEFAULTS;
  o.tol = lgb_optnumber(L, arg, "tol", o.tol);
  o.max_iter = (int)lgb_optinteger(L, arg, "max_iter", o.max_iter);
  if (lgb_option(L, arg, "precond")) {              /* the option table keeps it, and x0, alive */
    o.precond = &((precond_box *)luaL_checkudata(L, -1, LGB_PRECOND))->p;
    lua_pop(L, 1);
  }
  if (lgb_option(L, arg, "x0")) {
    o.x0 = lgb_checknode(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  return o;
}

static void push_info (lua_State *L, const gb_cg_info *info) {
  lua_createtable(L, 0, 7);
  lua_pushboolean(L, info->converged);
  lua_setfield(L, -2, "converged");
  lua_pushstring(L, gb_cg_reason_text(info->reason));
  lua_setfield(L, -2, "reason");
  lua_pushinteger(L, info->iterations);
  lua_setfield(L, -2, "iterations");
  lua_pushnumber(L, info->residual);
  lua_setfield(L, -2, "residual");
  lua_pushnumber(L, info->condition);
  lua_setfield(L, -2, "condition");
  lua_pushnumber(L, info->seconds);
  lua_setfield(L, -2, "seconds");
  lua_pushinteger(L, (lua_Integer)info->bytes);
  lua_setfield(L, -2, "bytes");
}

/* core.cg(A, b, {tol, max_iter, precond, x0}) -> x, info */
static int solve_cg (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "tol", "x0", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, names);
  const gb_cg_options o = check_cg_options(L, 3);
  lgb_tensor *x = lgb_newtensor(L);
  gb_cg_info info = {0};
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solve_cg(a, b, &o, &x->node, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &info);
  return 2;
}

/* core.marginal(A, b, {tol, max_iter, precond, probes, seed}) -> {inv_quad, logdet, standard_error, alpha, surrogate, cg} */
static int solve_marginal (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "probes", "seed", "tol", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, names);
  const lua_Integer probes = lgb_optinteger(L, 3, "probes", 16);
  if (probes < 2) return lgb_fail(L, GB_EOPTION, "probes: expected at least 2, got %lld", (long long)probes);
  const gb_logdet_options o = {.cg = check_cg_options(L, 3), .probes = (size_t)probes,
                               .seed = (uint64_t)lgb_optinteger(L, 3, "seed", 0)};
  lgb_tensor *alpha = lgb_newtensor(L), *surrogate = lgb_newtensor(L);
  gb_marginal m;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_marginal_cg(a, b, &o, &m, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  alpha->node = m.alpha;
  surrogate->node = m.surrogate;
  lua_createtable(L, 0, 6);
  lua_insert(L, -3);
  lua_setfield(L, -3, "surrogate");
  lua_setfield(L, -2, "alpha");
  lua_pushnumber(L, m.inv_quad);
  lua_setfield(L, -2, "inv_quad");
  lua_pushnumber(L, m.logdet.value);
  lua_setfield(L, -2, "logdet");
  lua_pushnumber(L, m.logdet.standard_error);
  lua_setfield(L, -2, "standard_error");
  push_info(L, &m.logdet.cg);
  lua_setfield(L, -2, "cg");
  return 1;
}

void lgb_solve_meta (lua_State *L) {
  luaL_newmetatable(L, LGB_PRECOND);
  lua_pushcfunction(L, precond_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

const luaL_Reg lgb_solve_functions[] = {
    {"cg", solve_cg}, {"jacobi", solve_jacobi}, {"marginal", solve_marginal}, {"pivoted_cholesky", solve_pivoted_cholesky},
    {NULL, NULL}};
