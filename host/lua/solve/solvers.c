/* solvers.c - solvers other than conjugate gradients for the Lua library; gb.solvers is in Lua. */
#include "base/plain.h"
#include "lua/solve/precond.h"
#include "solve/alternating_projections.h"
#include "solve/lanczos.h"
#include "solve/minres.h"
#include "solve/precond/condition.h"
#include "solve/sdd.h"

static void push_info (lua_State *L, const gb_solve_info *info) {
  lua_createtable(L, 0, 8);
  lua_pushboolean(L, info->converged);
  lua_setfield(L, -2, "converged");
  lua_pushstring(L, gb_solve_reason_text(info->reason));
  lua_setfield(L, -2, "reason");
  lua_pushinteger(L, info->iterations);
  lua_setfield(L, -2, "iterations");
  lua_pushnumber(L, gb_plain(info->residual));
  lua_setfield(L, -2, "residual");
  lua_pushnumber(L, gb_plain(info->condition));
  lua_setfield(L, -2, "condition");
  lua_pushnumber(L, 0);
  lua_setfield(L, -2, "jitter");
  lua_pushnumber(L, info->seconds);
  lua_setfield(L, -2, "seconds");
  lua_pushinteger(L, (lua_Integer)info->bytes);
  lua_setfield(L, -2, "bytes");
}

/* The option table at 'arg' keeps precond and x0 alive. */
static gb_solve_options check_options (lua_State *L, int arg) {
  gb_solve_options o = GB_SOLVE_DEFAULTS;
  o.tol = lgb_optnumber(L, arg, "tol", o.tol);
  o.max_iter = (int)lgb_optinteger(L, arg, "max_iter", o.max_iter);
  if (lgb_option(L, arg, "precond")) {
    o.precond = lgb_checkprecond(L, -1);
    lua_pop(L, 1);
  }
  if (lgb_option(L, arg, "x0")) {
    o.x0 = lgb_checknode(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  return o;
}

/* core.minres(A, b, {tol, max_iter, precond, x0}) -> x, info */
static int solvers_minres (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "tol", "x0", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checkcomputable(L, 1), *b = lgb_checkcomputable(L, 2);
  lgb_checkoptions(L, 3, names);
  const gb_solve_options o = check_options(L, 3);
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solve_minres(a, b, &o, &x->node, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &info);
  return 2;
}

/* core.projections(A, b, {tol, max_iter, x0, block, keep}) -> x, info */
static int solvers_projections (lua_State *L) {
  static const char *const names[] = {"block", "keep", "max_iter", "tol", "x0", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checkcomputable(L, 1), *b = lgb_checkcomputable(L, 2);
  lgb_checkoptions(L, 3, names);
  const gb_alternating_projections_options o = {.solve = check_options(L, 3),
                                                .block = (size_t)lgb_optinteger(L, 3, "block", 1000),
                                                .keep = (size_t)lgb_optinteger(L, 3, "keep", 0)};
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solve_projections(a, b, &o, &x->node, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &info);
  return 2;
}

/* core.sdd(A, b, {tol, max_iter, x0, batch, momentum, step, seed}) -> x, info with the step used */
static int solvers_sdd (lua_State *L) {
  static const char *const names[] = {"batch", "max_iter", "momentum", "seed", "step", "tol", "x0", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checkcomputable(L, 1), *b = lgb_checkcomputable(L, 2);
  lgb_checkoptions(L, 3, names);
  const gb_sdd_options o = {.solve = check_options(L, 3),
                            .batch = (size_t)lgb_optinteger(L, 3, "batch", 512),
                            .momentum = lgb_optnumber(L, 3, "momentum", 0.9),
                            .step = lgb_optnumber(L, 3, "step", 0),
                            .seed = (uint64_t)lgb_optinteger(L, 3, "seed", 0)};
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  double step;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solve_sdd(a, b, &o, &x->node, &step, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &info);
  lua_pushnumber(L, step);
  lua_setfield(L, -2, "step");
  return 2;
}

/* core.lanczos(A, q, steps) -> Q (n, t), T (t, t), {steps, residual} */
static int solvers_lanczos (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checkcomputable(L, 1), *q = lgb_checkcomputable(L, 2);
  const lua_Integer steps = luaL_checkinteger(L, 3);
  luaL_argcheck(L, steps >= 1, 3, "1 step or more expected");
  lgb_tensor *basis = lgb_newtensor(L), *t = lgb_newtensor(L);
  gb_lanczos_info info;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_lanczos(a, q, (size_t)steps, &basis->node, &t->node, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, info.steps);
  lua_setfield(L, -2, "steps");
  lua_pushnumber(L, gb_plain(info.residual));
  lua_setfield(L, -2, "residual");
  return 3;
}

/* core.logdet_slq(A, {tol, max_iter, precond, probes, seed}) -> info of the solves, with value,
** standard_error, truncation */
static int solvers_logdet (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "probes", "seed", "tol", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  gb_node *a = lgb_checkcomputable(L, 1);
  lgb_checkoptions(L, 2, names);
  const gb_solve_options o = check_options(L, 2);
  const gb_logdet_options slq = {.cg = {.tol = o.tol, .max_iter = o.max_iter, .precond = o.precond},
                                 .probes = (size_t)lgb_optinteger(L, 2, "probes", 32),
                                 .seed = (uint64_t)lgb_optinteger(L, 2, "seed", 0)};
  gb_logdet_info info;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_logdet_slq(a, &slq, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &(gb_solve_info){info.cg.converged, GB_SOLVE_CONVERGED, info.cg.iterations, info.cg.residual,
                                info.cg.condition, info.cg.seconds, info.cg.bytes});
  lua_pushstring(L, gb_cg_reason_text(info.cg.reason));
  lua_setfield(L, -2, "reason");
  lua_pushnumber(L, gb_plain(info.value));
  lua_setfield(L, -2, "value");
  lua_pushnumber(L, gb_plain(info.standard_error));
  lua_setfield(L, -2, "standard_error");
  lua_pushnumber(L, gb_plain(info.truncation));
  lua_setfield(L, -2, "truncation");
  return 1;
}

/* core.factor_condition(A, L) -> |A| |A^-1| in the 1-norm, an estimate */
static int solvers_condition (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checkcomputable(L, 1), *l = lgb_checkcomputable(L, 2);
  double condition = 0;
  gb_error err;
  s->busy = true;
  const gb_status st = gb_factor_condition(a, l, &condition, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  lua_pushnumber(L, gb_plain(condition));
  return 1;
}

/* core.solve_chol(L, b) -> (L L')^-1 b, lazy; L a tensor or a growing factor; its gradient goes straight
** to the matrix that L is a factor of */
static int solvers_solve_chol (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *l = lgb_tofactor(L, 1), *in[] = {l != NULL ? l : lgb_checknode(L, 1), lgb_checknode(L, 2)};
  lgb_tensor *x = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(s->graph, GB_OP_SOLVE_CHOL, 2, in, NULL, NULL, GB_F64, &x->node, &err),
                    &err);
}

const luaL_Reg lgb_solvers_functions[] = {
    {"factor_condition", solvers_condition}, {"lanczos", solvers_lanczos},
    {"logdet_slq", solvers_logdet},          {"minres", solvers_minres},
    {"projections", solvers_projections},    {"sdd", solvers_sdd},
    {"solve_chol", solvers_solve_chol},      {NULL, NULL}};
