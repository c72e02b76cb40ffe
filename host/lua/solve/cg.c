/* cg.c - conjugate gradients for the Lua library, at once and as nodes of the graph; gb.solvers is in Lua. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "graph/call.h"
#include "iterate/boundary.h"
#include "lua/solve/precond.h"
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

/* {tol, rest, max_iter, mixed} */
static gb_cg_options check_cg (lua_State *L, int arg) {
  gb_cg_options o = GB_CG_DEFAULTS;
  o.tol = lgb_optnumber(L, arg, "tol", o.tol);
  o.rest = lgb_optnumber(L, arg, "rest", 0);
  o.max_iter = (int)lgb_optinteger(L, arg, "max_iter", o.max_iter);
  o.mixed = lgb_optbool(L, arg, "mixed", false);
  return o;
}

/* The tensor of an option, NULL where there is none; the option table keeps it alive. */
static gb_node *check_tensor (lua_State *L, int arg, const char *name) {
  if (!lgb_option(L, arg, name)) return NULL;
  gb_node *n = lgb_checknode(L, lua_gettop(L));
  lua_pop(L, 1);
  return n;
}

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
  else if (strcmp(kind, "none") != 0) lgb_fail(L, GB_EOPTION, "precond: '%s' is not known here", kind);
  if (gb_precond_low_rank(&p) && rank < 1) lgb_fail(L, GB_EOPTION, "rank: expected 1 or more");
  return p;
}

static gb_solver_options check_solver (lua_State *L, int arg) {
  gb_solver_options o = {.run = {.cg = check_cg(L, arg)}, .precond = check_precond(L, arg)};
  const lua_Integer probes = lgb_optinteger(L, arg, "probes", 16);
  if (probes < 2) lgb_fail(L, GB_EOPTION, "probes: expected at least 2, got %lld", (long long)probes);
  o.run.probes = (size_t)probes;
  o.run.seed = (uint64_t)lgb_optinteger(L, arg, "seed", 0);
  o.run.exact = lgb_optbool(L, arg, "exact", false);
  return o;
}

static const char *const solver_names[] = {
    "exact", "k",    "max_iter", "mixed", "noise", "precond", "precond_seed", "precond_tol", "probes",
    "rank",  "rest", "seed",     "tol",   "x0",    NULL};

/* -- reports */

static void set_number (lua_State *L, const char *name, double v) {
  lua_pushnumber(L, gb_plain(v));
  lua_setfield(L, -2, name);
}

static void push_info (lua_State *L, const gb_cg_info *info, const gb_cg_options *o) {
  char text[GB_CG_TEXT];
  lua_createtable(L, 0, 12);
  lua_pushboolean(L, info->converged);
  lua_setfield(L, -2, "converged");
  lua_pushstring(L, gb_cg_reason_text(info->reason));
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, gb_cg_text(info, o, text));
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, info->iterations);
  lua_setfield(L, -2, "iterations");
  lua_pushinteger(L, (lua_Integer)info->bytes);
  lua_setfield(L, -2, "bytes");
  set_number(L, "residual", info->residual);
  set_number(L, "condition", info->condition);
  set_number(L, "jitter", 0);
  set_number(L, "seconds", info->seconds);
}

/* -- solves that missed */

#define LINES 64 /* that are remembered, so that a loop says it once */

/* Says once a script line that a solve of it missed its tolerance. Lines are interned: their addresses
** tell them apart. */
static void say_missed (const char *where, const char *how, int steps, double residual, const char *message) {
  static const char *told[LINES];
  static size_t next;
  for (size_t i = 0; i < LINES; i++)
    if (told[i] == where && where[0] != '\0') return;
  told[next++ % LINES] = where;
  fprintf(stderr,
          "gibbous: %s%sa solve missed its tolerance: %s after %d steps, relative residual %.2g%s%s\n", where,
          where[0] != '\0' ? ": " : "", how, steps, gb_plain(residual), message[0] != '\0' ? "; " : "",
          message);
}

static void solve_missed (const char *where, const gb_solver_report *r) {
  char text[GB_CG_TEXT];
  const gb_cg_info *info = &r->info.cg;
  say_missed(where, gb_cg_reason_text(info->reason), info->iterations, info->residual,
             gb_cg_text(info, &r->o.run.cg, text));
}

/* core.solve_missed(info): says the same of a solve that Lua ran, by its record */
static int cg_missed (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 1);
  lua_getfield(L, 1, "reason");
  lua_getfield(L, 1, "iterations");
  lua_getfield(L, 1, "residual");
  lua_getfield(L, 1, "message");
  say_missed(s->graph->where, luaL_checkstring(L, 2), (int)luaL_checkinteger(L, 3), luaL_checknumber(L, 4),
             luaL_optstring(L, 5, ""));
  return 0;
}

/* core.solver_report(x): what a lazy solve says when it has run, else nil */
static int cg_report (lua_State *L) {
  lgb_enter(L);
  const gb_node *x = lgb_checknode(L, 1);
  const gb_solver_report *r = gb_solver_report_of(x),
                         none = {.o = {.run.cg = GB_CG_DEFAULTS}, .info.cg = {.converged = true}};
  if (r == NULL && gb_shape_numel(gb_node_shape(x)) == 0) r = &none;
  if (r == NULL) return 0;
  push_info(L, &r->info.cg, &r->o.run.cg);
  if (!r->marginal) return 1;
  set_number(L, "residual_y", r->info.cg.first);
  set_number(L, "residual_probes", r->info.cg.others);
  set_number(L, "logdet", r->info.value);
  set_number(L, "standard_error", r->info.standard_error);
  return 1;
}

/* core.is_streamed(A): no part of what A is made of has half as many values as A */
static int cg_is_streamed (lua_State *L) {
  lgb_enter(L);
  lua_pushboolean(L, gb_is_streamed(lgb_checknode(L, 1)));
  return 1;
}

/* core.student_quantile(degrees, level): half of a two-sided interval, in standard errors */
static int cg_student (lua_State *L) {
  const double degrees = luaL_checknumber(L, 1), level = luaL_checknumber(L, 2);
  luaL_argcheck(L, degrees >= 1, 1, "1 degree of freedom or more expected");
  luaL_argcheck(L, level > 0 && level < 1, 2, "a level between 0 and 1 expected");
  lua_pushnumber(L, gb_student_quantile(degrees, level));
  return 1;
}

/* -- solves */

/* The goal of variances: 'prior', a tensor with a number for each of r columns, and 'least'. 'values', (3,
** r), is what it uses. */
static gb_cg_goal check_goal (lua_State *L, lgb_session *s, int arg, size_t r, double *values) {
  gb_node *prior = check_tensor(L, arg, "prior");
  const double least = lgb_optnumber(L, arg, "least", 0);
  if (gb_shape_numel(gb_node_shape(prior)) != r)
    lgb_fail(L, GB_ESHAPE, "prior: expected %zu numbers, one a column", r);
  if (!(least > 0)) lgb_fail(L, GB_EOPTION, "least: expected a positive number");
  gb_error err;
  s->busy = true;
  const gb_status st = gb_node_doubles(prior, values, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  for (size_t c = 0; c < r; c++) values[r + c] = values[2 * r + c] = 0;
  return (gb_cg_goal){.prior = values, .least = least, .form = values + r, .missing = values + 2 * r};
}

/* Pushes the forms and what is missing of them, tensors (r) of f64. */
static void push_forms (lua_State *L, lgb_session *s, const gb_cg_goal *goal, size_t r) {
  const double *const parts[] = {goal->form, goal->missing};
  const gb_shape row = gb_shape_of(1, &r);
  for (int i = 0; i < 2; i++) {
    lgb_tensor *t = lgb_newtensor(L);
    gb_error err;
    lgb_result(L, gb_leaf_doubles(s->graph, &row, GB_F64, parts[i], "", &t->node, &err), &err);
  }
}

/* core.cg(A, b, {tol, max_iter, mixed, precond, x0, prior, least}) -> x, info, and with a prior forms,
** missing; computed at once, 'precond' made before */
static int cg_now (lua_State *L) {
  static const char *const names[] = {"least", "max_iter", "mixed", "precond", "prior", "tol", "x0", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checkcomputable(L, 1), *b = lgb_checkcomputable(L, 2);
  lgb_checkoptions(L, 3, names);
  gb_cg_options o = check_cg(L, 3);
  o.x0 = check_tensor(L, 3, "x0");
  if (lgb_option(L, 3, "precond")) {
    o.precond = lgb_checkprecond(L, -1);
    lua_pop(L, 1);
  }
  const gb_shape *shape = gb_node_shape(b);
  const size_t r = shape->ndim == 2 ? shape->dim[1] : 1;
  const bool goal = lgb_option(L, 3, "prior");
  if (goal) {
    lua_pop(L, 1);
    o.goal = check_goal(L, s, 3, r, lua_newuserdatauv(L, (3 * r + 1) * sizeof(double), 0));
  }
  lgb_tensor *x = lgb_newtensor(L);
  gb_cg_info info = {0};
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solve_cg(a, b, &o, &x->node, &info, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  push_info(L, &info, &o);
  if (!goal) return 2;
  set_number(L, "missing", info.missing);
  push_forms(L, s, &o.goal, r);
  return 4;
}

/* core.solver(A, b, {tol, max_iter, mixed, precond, rank, precond_tol, k, noise, x0}) -> lazy x */
static int cg_solver (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, solver_names);
  const gb_solver_options o = check_solver(L, 3);
  gb_node *x0 = check_tensor(L, 3, "x0"), *k = check_tensor(L, 3, "k"), *noise = check_noise(L, s, 3);
  gb_solver_missed = solve_missed;
  lgb_tensor *x = lgb_newtensor(L);
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solver_solve(a, b, x0, k, noise, &o, &x->node, &err);
  s->busy = false;
  lgb_result(L, st, &err);
  keep_op(L, x->node);
  return 1;
}

/* core.marginal(A, b, {..., probes, seed, exact}) -> lazy (4): inv_quad, log det, its standard error, 0;
** and all it computes */
static int cg_marginal (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *a = lgb_checknode(L, 1), *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, solver_names);
  const gb_solver_options o = check_solver(L, 3);
  gb_node *k = check_tensor(L, 3, "k"), *noise = check_noise(L, s, 3);
  lgb_tensor *head = lgb_newtensor(L), *all = lgb_newtensor(L);
  gb_error err;
  s->busy = true;
  const gb_status st = gb_solver_marginal(a, b, k, noise, &o, &head->node, &all->node, &err);
  s->busy = false;
  if (st != GB_OK) return lgb_raise(L, st, &err);
  keep_op(L, head->node);
  keep_op(L, all->node);
  return 2;
}

const luaL_Reg lgb_cg_functions[] = {{"cg", cg_now},
                                     {"is_streamed", cg_is_streamed},
                                     {"marginal", cg_marginal},
                                     {"solve_missed", cg_missed},
                                     {"solver", cg_solver},
                                     {"solver_report", cg_report},
                                     {"student_quantile", cg_student},
                                     {NULL, NULL}};
