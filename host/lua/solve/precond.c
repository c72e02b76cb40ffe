/* precond.c - preconditioners for the Lua library; gb.precond is in Lua. */
#include "lua/solve/precond.h"
#include "iterate/values.h"
#include "solve/precond/partial.h"

#define LGB_PRECOND "gibbous.preconditioner"

typedef struct precond_box {
  gb_precond p;
  lgb_session *session; /* NULL: closed */
} precond_box;

const gb_precond *lgb_checkprecond (lua_State *L, int arg) {
  const precond_box *box = luaL_checkudata(L, arg, LGB_PRECOND);
  if (box->session != NULL && box->p.device != box->session->device)
    lgb_fail(L, GB_EDEVICE, "this preconditioner lies on %s, and solvers work on %s: make it there",
             box->p.device->name, box->session->device->name);
  return &box->p;
}

static int precond_gc (lua_State *L) {
  precond_box *box = luaL_checkudata(L, 1, LGB_PRECOND);
  lgb_session *s = box->session;
  box->session = NULL;
  gb_precond_clear(&box->p);
  if (s != NULL) lgb_session_release(s);
  return 0;
}

/* Within a function that the core calls, it may be the one that the core works with: the collector releases it later. */
static int precond_close (lua_State *L) {
  const precond_box *box = luaL_checkudata(L, 1, LGB_PRECOND);
  return box->session != NULL && box->session->calls > 0 ? 0 : precond_gc(L);
}

static precond_box *newprecond (lua_State *L, lgb_session *s) {
  precond_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (precond_box){.session = s};
  s->handles++;
  lgb_setmeta(L, LGB_PRECOND);
  return box;
}

/* Noise variances, a number or a tensor (n); the stack keeps their values. */
static gb_noise check_noise (lua_State *L, lgb_session *s, int arg, const gb_node *k) {
  if (lua_type(L, arg) == LUA_TNUMBER) return gb_noise_level(lua_tonumber(L, arg));
  gb_node *t = lgb_checknode(L, arg);
  const gb_shape *shape = gb_node_shape(t), *of = gb_node_shape(k);
  if (shape->ndim != 1 || of->ndim == 0 || shape->dim[0] != of->dim[0])
    lgb_fail(L, GB_ESHAPE, "noise: expected a number, or one for each row of the matrix");
  double *each = lua_newuserdatauv(L, (shape->dim[0] + 1) * sizeof *each, 0);
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_node_doubles(t, each, &err)), &err);
  return (gb_noise){.each = each};
}

/* core.pivoted_cholesky(K, noise, rank, tol) -> preconditioner of K + noise I, or of a noise for each
** point, its rank, the share of the trace left out */
static int solve_pivoted_cholesky (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 5);
  gb_node *k = lgb_checkathome(L, 1);
  const gb_noise noise = check_noise(L, s, 2, k);
  const lua_Integer rank = lgb_checkinteger(L, 3);
  const double tol = lgb_numberor(L, 4, 0);
  lgb_argcheck(L, rank >= 1, 3, "a rank of 1 or more expected");
  precond_box *box = newprecond(L, s);
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_precond_pivoted_cholesky(&box->p, k, noise, (size_t)rank, tol, &err)), &err);
  lua_pushinteger(L, (lua_Integer)box->p.form.rank);
  lua_pushnumber(L, box->p.trace_left);
  return 3;
}

/* core.nystrom(K, noise, rank, seed, tol) -> the same */
static int solve_nystrom (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 5);
  gb_node *k = lgb_checkathome(L, 1);
  const gb_noise noise = check_noise(L, s, 2, k);
  const lua_Integer rank = lgb_checkinteger(L, 3), seed = lgb_integeror(L, 4, 0);
  const double tol = lgb_numberor(L, 5, 0);
  lgb_argcheck(L, rank >= 1, 3, "a rank of 1 or more expected");
  precond_box *box = newprecond(L, s);
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_precond_nystrom(&box->p, k, noise, (size_t)rank, tol, (uint64_t)seed, &err)),
             &err);
  lua_pushinteger(L, (lua_Integer)box->p.form.rank);
  lua_pushnumber(L, box->p.trace_left);
  return 3;
}

/* core.pivots(K, most, tol) -> list of the rows of K (n, n) that pivoted Cholesky takes, at most 'most', until
** 'tol' of the trace is left; the share of the trace left */
static int solve_pivots (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *k = lgb_checkathome(L, 1);
  const lua_Integer most = lgb_checkinteger(L, 2);
  const double tol = lgb_numberor(L, 3, 0);
  const gb_shape *shape = gb_node_shape(k);
  lgb_argcheck(L, most >= 0 && (size_t)most <= (shape->ndim > 0 ? shape->dim[0] : 0), 2,
               "a number of rows of the matrix expected");
  size_t *pivot = lgb_scratch(L, (size_t)most + 1, sizeof *pivot), rank = 0;
  double left = 0;
  gb_error err;
  lgb_result(
      L, LGB_CORE(s, gb_partial_pivots(k, (gb_pivoting){0}, (size_t)most, tol, pivot, &rank, &left, &err)),
      &err);
  lua_createtable(L, (int)rank, 0);
  for (size_t i = 0; i < rank; i++) {
    lua_pushinteger(L, (lua_Integer)pivot[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushnumber(L, left);
  return 2;
}

/* core.precond_apply(P, b) -> P^-1 b as f64, b (n) or (n, r) */
static int solve_precond_apply (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_precond *p = lgb_checkprecond(L, 1);
  gb_node *b = lgb_checkathome(L, 2);
  const gb_shape *shape = gb_node_shape(b);
  if (shape->ndim < 1 || shape->ndim > 2 || shape->dim[0] != p->form.n)
    return lgb_fail(L, GB_ESHAPE, "precond_apply: expected (%zu) or (%zu, r)", p->form.n, p->form.n);
  lgb_tensor *x = lgb_newtensor(L);
  gb_error err;
  const gb_status st = LGB_CORE(s, gb_precond_apply_node(p, b, &x->node, &err));
  return lgb_result(L, st, &err);
}

/* core.precond_logdet(P) -> log det P */
static int solve_precond_logdet (lua_State *L) {
  lua_pushnumber(L, lgb_checkprecond(L, 1)->logdet);
  return 1;
}

/* core.jacobi(A) -> preconditioner diag(A) */
static int solve_jacobi (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checkathome(L, 1);
  precond_box *box = newprecond(L, s);
  gb_error err;
  const gb_status st = LGB_CORE(s, gb_precond_jacobi(&box->p, a, &err));
  return lgb_result(L, st, &err);
}

void lgb_solve_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__close", precond_close}, {"__gc", precond_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_PRECOND, events);
  lua_pop(L, 1);
}

const luaL_Reg lgb_solve_functions[] = {{"jacobi", solve_jacobi},
                                        {"nystrom", solve_nystrom},
                                        {"pivoted_cholesky", solve_pivoted_cholesky},
                                        {"pivots", solve_pivots},
                                        {"precond_apply", solve_precond_apply},
                                        {"precond_logdet", solve_precond_logdet},
                                        {NULL, NULL}};
