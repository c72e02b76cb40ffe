/* estimates.c - Lanczos matrices, log determinants and condition numbers for the Lua library. */
#include "base/plain.h"
#include "lua/solve/record.h"
#include "solve/lanczos.h"
#include "solve/logdet/logdet.h"
#include "solve/precond/condition.h"

/* core.lanczos(A, q, steps) -> Q (n, t), T (t, t), {steps, residual} */
static int estimates_lanczos (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checkathome(L, 1), *q = lgb_checkathome(L, 2);
  const lua_Integer steps = lgb_checkinteger(L, 3);
  lgb_argcheck(L, steps >= 1, 3, "1 step or more expected");
  lgb_tensor *basis = lgb_newtensor(L), *t = lgb_newtensor(L);
  gb_lanczos_info info;
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_lanczos(a, q, (size_t)steps, &basis->node, &t->node, &info, &err)), &err);
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, info.steps);
  lua_setfield(L, -2, "steps");
  lua_pushnumber(L, gb_plain(info.residual));
  lua_setfield(L, -2, "residual");
  return 3;
}

/* core.logdet_slq(A, {tol, max_iter, precond, probes, seed}) -> info of the solves, with value,
** standard_error, truncation */
static int estimates_logdet (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "probes", "seed", "tol", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  gb_node *a = lgb_checkathome(L, 1);
  lgb_checkoptions(L, 2, names);
  const gb_logdet_options slq = {.solve = lgb_checksolve_now(L, 2),
                                 .probes = (size_t)lgb_optinteger(L, 2, "probes", 32),
                                 .seed = (uint64_t)lgb_optinteger(L, 2, "seed", 0)};
  gb_logdet_info info;
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_logdet_slq(a, &slq, &info, &err)), &err);
  lgb_pushsolve(L, &info.solve, NULL);
  lgb_setnumber(L, "value", info.value);
  lgb_setnumber(L, "standard_error", info.standard_error);
  lgb_setnumber(L, "truncation", info.truncation);
  return 1;
}

/* core.factor_condition(A, L) -> |A| |A^-1| in the 1-norm, an estimate */
static int estimates_condition (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checkcomputable(L, 1), *l = lgb_checkcomputable(L, 2);
  double condition = 0;
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_factor_condition(a, l, &condition, &err)), &err);
  lua_pushnumber(L, gb_plain(condition));
  return 1;
}

/* core.student_quantile(degrees, level): half of a two-sided interval, in standard errors */
static int estimates_student (lua_State *L) {
  const double degrees = lgb_checknumber(L, 1), level = lgb_checknumber(L, 2);
  lgb_argcheck(L, degrees >= 1, 1, "1 degree of freedom or more expected");
  lgb_argcheck(L, level > 0 && level < 1, 2, "a level between 0 and 1 expected");
  lua_pushnumber(L, gb_student_quantile(degrees, level));
  return 1;
}

const luaL_Reg lgb_estimates_functions[] = {{"factor_condition", estimates_condition},
                                            {"lanczos", estimates_lanczos},
                                            {"logdet_slq", estimates_logdet},
                                            {"student_quantile", estimates_student},
                                            {NULL, NULL}};
