/* nodes.c - solves by conjugate gradients as nodes of the graph, for the Lua library; gb.solvers is in Lua. */
#include <string.h>

#include "graph/call.h"
#include "iterate/boundary.h"
#include "lua/solve/record.h"
#include "solve/op/solver.h"

#define LGB_SOLVER_OPS "gibbous.solver_ops"
#define KEPT 8

/* -- ops that stay */

/* The last few ops live on without nodes, so that a step of an optimiser finds that of the step before. */
typedef struct kept {
  int number[KEPT];
  int next;
} kept;

static int kept_gc (lua_State *L) {
  kept *k = luaL_checkudata(L, 1, LGB_SOLVER_OPS);
  for (int i = 0; i < KEPT; i++) {
    if (k->number[i] >= 0) gb_call_unref(k->number[i]);
    k->number[i] = -1;
  }
  return 0;
}

static kept *push_kept (lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, LGB_SOLVER_OPS ".kept") == LUA_TUSERDATA)
    return lua_touserdata(L, -1);
  lua_pop(L, 1);
  kept *k = lua_newuserdatauv(L, sizeof *k, 0);
  *k = (kept){0};
  for (int i = 0; i < KEPT; i++) k->number[i] = -1;
  static const luaL_Reg events[] = {{"__gc", kept_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_SOLVER_OPS, events); /* there is one such value in a state */
  lua_pop(L, 1);
  lgb_setmeta(L, LGB_SOLVER_OPS);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, LGB_SOLVER_OPS ".kept");
  return k;
}

static void keep_op (lua_State *L, const gb_node *n) {
  kept *k = push_kept(L);
  const int number = (int)n->attr.i[0];
  bool known = n->op != GB_OP_CALL;
  for (int i = 0; i < KEPT; i++) known |= k->number[i] == number;
  if (!known) {
    const int old = k->number[k->next];
    gb_call_ref(number);
    k->number[k->next] = number;
    k->next = (k->next + 1) % KEPT;
    if (old >= 0) gb_call_unref(old);
  }
  lua_pop(L, 1);
}

/* -- options */

/* The noise, a number or a tensor of one; the stack keeps it alive. */
static gb_node *check_noise (lua_State *L, lgb_session *s, int arg) {
  if (!lgb_option(L, arg, "noise")) return NULL;
  if (lua_type(L, -1) != LUA_TNUMBER) return lgb_checknode(L, lua_gettop(L));
  lgb_tensor *t = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_node_const(s->graph, lua_tonumber(L, -2), GB_F64, &t->node, &err), &err);
  lua_remove(L, -2);
  return t->node;
}

static gb_precond_spec check_precond (lua_State *L, int arg) {
  const char *kind = lgb_optstring(L, arg, "precond", "none");
  const lua_Integer rank = lgb_optinteger(L, arg, "rank", 0);
  gb_precond_spec p = {.rank = (size_t)rank, .tol = lgb_optnumber(L, arg, "precond_tol", 0)};
  p.seed = (uint64_t)lgb_optinteger(L, arg, "precond_seed", 0);
  if (strcmp(kind, "pivoted_cholesky") == 0) p.kind = GB_PRECOND_PIVOTED_CHOLESKY;
  else if (strcmp(kind, "nystrom") == 0) p.kind = GB_PRECOND_NYSTROM;
  else if (strcmp(kind, "jacobi") == 0) p.kind = GB_PRECOND_JACOBI;
  else if (strcmp(kind, "none") != 0) lgb_fail(L, GB_EOPTION, "precond: unknown kind '%s'", kind);
  if (gb_precond_low_rank(&p) && rank < 1) lgb_fail(L, GB_EOPTION, "rank: expected 1 or more");
  return p;
}

static gb_solver_options check_solver (lua_State *L, int arg) {
  gb_solver_options o = {.run = {.solve = lgb_checksolve(L, arg)}, .precond = check_precond(L, arg)};
  const lua_Integer probes = lgb_optinteger(L, arg, "probes", 16);
  if (probes < 2) lgb_fail(L, GB_EOPTION, "probes: expected at least 2, got %lld", (long long)probes);
  o.run.probes = (size_t)probes;
  o.run.seed = (uint64_t)lgb_optinteger(L, arg, "seed", 0);
  o.run.exact = lgb_optbool(L, arg, "exact", false);
  return o;
}

static const char *const solver_names[] = {
    "exact",       "k",      "max_iter", "mixed", "noise", "precond", "precond_seed",
    "precond_tol", "probes", "rank",     "seed",  "tol",   "x0",      NULL};

/* -- reports */

static void solve_missed (void *session, const char *where, const gb_solver_report *r) {
  char text[GB_CG_MESSAGE];
  const gb_solve_info *info = &r->info.solve;
  lgb_say_missed(session, where, gb_solve_reason_text(info->reason), info->iterations, info->residual,
                 gb_cg_message(info, &r->o.run.solve, text));
}

/* core.solve_missed(info): says the same of a solve that Lua ran, by its record */
static int nodes_missed (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 1);
  lua_getfield(L, 1, "reason");
  lua_getfield(L, 1, "iterations");
  lua_getfield(L, 1, "residual");
  lua_getfield(L, 1, "message");
  lgb_say_missed(s, s->graph->where, lgb_checkstring(L, 2), (int)lgb_checkinteger(L, 3),
                 lgb_checknumber(L, 4), luaL_optstring(L, 5, ""));
  return 0;
}

/* core.solver_report(x): what a lazy solve says when it has run, else nil */
static int nodes_report (lua_State *L) {
  lgb_enter(L);
  char text[GB_CG_MESSAGE];
  const gb_node *x = lgb_checknode(L, 1);
  const gb_solver_report *r = gb_solver_report_of(x),
                         none = {.o = {.run.solve = GB_SOLVE_DEFAULTS}, .info.solve = {.converged = true}};
  if (r == NULL && gb_shape_numel(gb_node_shape(x)) == 0) r = &none;
  if (r == NULL) return 0;
  lgb_pushsolve(L, &r->info.solve, gb_cg_message(&r->info.solve, &r->o.run.solve, text));
  if (!r->marginal) return 1;
  lgb_setnumber(L, "residual_y", r->info.solve.residual_first);
  lgb_setnumber(L, "residual_probes", r->info.solve.residual_rest);
  lgb_setnumber(L, "logdet", r->info.value);
  lgb_setnumber(L, "standard_error", r->info.standard_error);
  return 1;
}

/* core.is_streamed(A): no part of what A is made of has half as many values as A */
static int nodes_is_streamed (lua_State *L) {
  lgb_enter(L);
  lua_pushboolean(L, gb_is_streamed(lgb_checknode(L, 1)));
  return 1;
}

/* -- solves */

/* core.solver(A, b, {tol, max_iter, mixed, precond, rank, precond_tol, k, noise, x0}) -> lazy x */
static int nodes_solver (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, solver_names);
  gb_solver_options o = check_solver(L, 3);
  o.missed = solve_missed, o.ud = s;
  gb_node *x0 = lgb_opttensor(L, 3, "x0"), *k = lgb_opttensor(L, 3, "k"), *noise = check_noise(L, s, 3);
  lgb_tensor *x = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_solver_solve(a, b, x0, k, noise, &o, &x->node, &err)), &err);
  keep_op(L, x->node);
  return 1;
}

/* core.marginal(A, b, {..., probes, seed, exact}) -> lazy (4): inv_quad, log det, its standard error, 0;
** and all it computes */
static int nodes_marginal (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, solver_names);
  const gb_solver_options o = check_solver(L, 3);
  gb_node *k = lgb_opttensor(L, 3, "k"), *noise = check_noise(L, s, 3);
  lgb_tensor *head = lgb_newtensor(L), *all = lgb_newtensor(L);
  gb_error err;
  const gb_status st = LGB_CORE(s, gb_solver_marginal(a, b, k, noise, &o, &head->node, &all->node, &err));
  if (st != GB_OK) return lgb_raise(L, st, &err);
  keep_op(L, head->node);
  keep_op(L, all->node);
  return 2;
}

const luaL_Reg lgb_solve_nodes_functions[] = {
    {"is_streamed", nodes_is_streamed}, {"marginal", nodes_marginal},    {"solve_missed", nodes_missed},
    {"solver", nodes_solver},           {"solver_report", nodes_report}, {NULL, NULL}};
