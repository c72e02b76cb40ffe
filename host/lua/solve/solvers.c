/* solvers.c - solves at once, for the Lua library; gb.solvers is in Lua. */
#include "base/plain.h"
#include "iterate/values.h"
#include "lua/solve/record.h"
#include "solve/alternating_projections.h"
#include "solve/block_cg.h"
#include "solve/cg.h"
#include "solve/minres.h"
#include "solve/sdd.h"

/* The matrix and the right-hand side, arguments 1 and 2; the options, argument 3, may have these names. */
typedef struct problem {
  lgb_session *session;
  gb_node *a, *b;
} problem;

static problem check_problem (lua_State *L, const char *const *names) {
  problem p = {.session = lgb_enter(L)};
  lua_settop(L, 3);
  p.a = lgb_checkathome(L, 1), p.b = lgb_checkathome(L, 2);
  lgb_checkoptions(L, 3, names);
  return p;
}

/* -- conjugate gradients */

/* The goal of variances: 'prior', a tensor with a number for each of r columns, and 'least'. values: memory of
** its arrays, (3, r). */
static gb_variance_goal check_goal (lua_State *L, lgb_session *s, int arg, size_t r, double *values) {
  gb_node *prior = lgb_opttensor(L, arg, "prior");
  const double least = lgb_optnumber(L, arg, "least", 0);
  if (gb_shape_numel(gb_node_shape(prior)) != r)
    lgb_fail(L, GB_ESHAPE, "prior: expected %zu numbers, one a column", r);
  if (!(least > 0)) lgb_fail(L, GB_EOPTION, "least: expected a positive number");
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_node_doubles(prior, values, &err)), &err);
  for (size_t c = 0; c < r; c++) values[r + c] = values[2 * r + c] = 0;
  return (gb_variance_goal){
      .prior = values, .least = least, .quad_form = values + r, .quad_error_bound = values + 2 * r};
}

/* Pushes the forms and the bounds of their errors, tensors (r) of f64. */
static void push_forms (lua_State *L, lgb_session *s, const gb_variance_goal *goal, size_t r) {
  const double *const parts[] = {goal->quad_form, goal->quad_error_bound};
  const gb_shape row = gb_shape_of(1, &r);
  for (int i = 0; i < 2; i++) {
    lgb_tensor *t = lgb_newtensor(L);
    gb_error err;
    lgb_result(L, gb_leaf_doubles(s->graph, &row, GB_F64, parts[i], "", &t->node, &err), &err);
  }
}

/* core.cg(A, b, {tol, max_iter, mixed, precond, x0, prior, least, spread}) -> x, info, and with a prior forms,
** missing. spread: one right-hand side alone is solved by its parts (solve/block_cg.h). */
static int solvers_cg (lua_State *L) {
  static const char *const names[] = {"least",  "max_iter", "mixed", "precond", "prior",
                                      "spread", "tol",      "x0",    NULL};
  const problem p = check_problem(L, names);
  gb_solve_options o = lgb_checksolve_now(L, 3);
  const gb_shape *shape = gb_node_shape(p.b);
  const size_t r = shape->ndim == 2 ? shape->dim[1] : 1;
  const bool spread = lgb_optbool(L, 3, "spread", false);
  const bool goal = lgb_option(L, 3, "prior");
  if (goal) {
    lua_pop(L, 1);
    o.goal = check_goal(L, p.session, 3, r, lua_newuserdatauv(L, (3 * r + 1) * sizeof(double), 0));
  }
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info = {0};
  gb_error err;
  lgb_result(
      L, LGB_CORE(p.session, (spread ? gb_solve_spread : gb_solve_cg)(p.a, p.b, &o, &x->node, &info, &err)),
      &err);
  char text[GB_CG_MESSAGE];
  lgb_pushsolve(L, &info, gb_cg_message(&info, &o, text));
  if (!goal) return 2;
  lgb_setnumber(L, "missing", info.variance_error);
  push_forms(L, p.session, &o.goal, r);
  return 4;
}

/* core.spread_parts(n) -> right-hand sides that a spread solve of n rows has in the place of one */
static int solvers_spread_parts (lua_State *L) {
  const lua_Integer n = luaL_checkinteger(L, 1);
  lua_pushinteger(L, (lua_Integer)gb_spread_parts(n > 0 ? (size_t)n : 0));
  return 1;
}

/* -- the others */

/* core.minres(A, b, {tol, max_iter, precond, x0}) -> x, info */
static int solvers_minres (lua_State *L) {
  static const char *const names[] = {"max_iter", "precond", "tol", "x0", NULL};
  const problem p = check_problem(L, names);
  const gb_solve_options o = lgb_checksolve_now(L, 3);
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  gb_error err;
  lgb_result(L, LGB_CORE(p.session, gb_solve_minres(p.a, p.b, &o, &x->node, &info, &err)), &err);
  lgb_pushsolve(L, &info, NULL);
  return 2;
}

/* core.alternating_projections(A, b, {tol, max_iter, x0, block, keep}) -> x, info */
static int solvers_alternating_projections (lua_State *L) {
  static const char *const names[] = {"block", "keep", "max_iter", "tol", "x0", NULL};
  const problem p = check_problem(L, names);
  const gb_alternating_projections_options o = {.solve = lgb_checksolve_now(L, 3),
                                                .block = (size_t)lgb_optinteger(L, 3, "block", 1000),
                                                .keep = (size_t)lgb_optinteger(L, 3, "keep", 0)};
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  gb_error err;
  lgb_result(L, LGB_CORE(p.session, gb_solve_alternating_projections(p.a, p.b, &o, &x->node, &info, &err)),
             &err);
  lgb_pushsolve(L, &info, NULL);
  return 2;
}

/* core.sdd(A, b, {tol, max_iter, x0, batch, momentum, step, seed}) -> x, info with the step used */
static int solvers_sdd (lua_State *L) {
  static const char *const names[] = {"batch", "max_iter", "momentum", "seed", "step", "tol", "x0", NULL};
  const problem p = check_problem(L, names);
  const gb_sdd_options o = {.solve = lgb_checksolve_now(L, 3),
                            .batch = (size_t)lgb_optinteger(L, 3, "batch", 512),
                            .momentum = lgb_optnumber(L, 3, "momentum", 0.9),
                            .step = lgb_optnumber(L, 3, "step", 0),
                            .seed = (uint64_t)lgb_optinteger(L, 3, "seed", 0)};
  lgb_tensor *x = lgb_newtensor(L);
  gb_solve_info info;
  double step;
  gb_error err;
  lgb_result(L, LGB_CORE(p.session, gb_solve_sdd(p.a, p.b, &o, &x->node, &step, &info, &err)), &err);
  lgb_pushsolve(L, &info, NULL);
  lgb_setnumber(L, "step", step);
  return 2;
}

/* core.solve_chol(L, b) -> (L L')^-1 b, lazy; L a tensor or a growing factor; its gradient goes straight
** to the matrix that L is a factor of */
static int solvers_solve_chol (lua_State *L) {
  lgb_enter(L);
  gb_node *l = lgb_tofactor(L, 1), *b = lgb_checknode(L, 2);
  if (l == NULL) l = lgb_checknode(L, 1);
  lgb_tensor *x = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_solve_factored(l, b, &x->node, &err), &err);
}

const luaL_Reg lgb_solvers_functions[] = {{"alternating_projections", solvers_alternating_projections},
                                          {"cg", solvers_cg},
                                          {"minres", solvers_minres},
                                          {"sdd", solvers_sdd},
                                          {"solve_chol", solvers_solve_chol},
                                          {"spread_parts", solvers_spread_parts},
                                          {NULL, NULL}};
