/* linalg.c - gb.linalg and products. One factorisation per matrix is shared by all that needs it. */
#include "lua/lgb.h"

/* x:matmul(y) */
static int m_matmul (lua_State *L) { return lgb_apply2(L, gb_matmul); }

/* gb.einsum("ij,jk->ik", x, y, ...) */
static int linalg_einsum (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *spec = lgb_checkstring(L, 1);
  const int n = lua_gettop(L) - 1;
  gb_node **in = lgb_scratch(L, (size_t)n, sizeof *in);
  for (int i = 0; i < n; i++) in[i] = lgb_checknode(L, i + 2);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_einsum(s->graph, spec, n, in, &y->node, &err), &err);
}

/* cholesky(A, {jitter = 0}): lower L with L L' = A + jitter I */
static int linalg_cholesky (lua_State *L) {
  static const char *const names[] = {"jitter", NULL};
  lgb_enter(L);
  lua_settop(L, 2);
  gb_node *a = lgb_checknode(L, 1);
  lgb_checkoptions(L, 2, names);
  const double jitter = lgb_optnumber(L, 2, "jitter", 0);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_cholesky(a, jitter, &y->node, &err), &err);
}

static int linalg_diag (lua_State *L) { return lgb_apply1(L, gb_diag); }
static int linalg_inv_quad (lua_State *L) { return lgb_apply2(L, gb_inv_quad); }
static int linalg_logdet (lua_State *L) { return lgb_apply1(L, gb_logdet); }
static int linalg_lstsq (lua_State *L) { return lgb_apply2(L, gb_lstsq); }
static int linalg_solve (lua_State *L) { return lgb_apply2(L, gb_solve); }

/* triangular_solve(L, b, {upper = false, transposed = false}); L may be a growing factor, which is lower */
static int linalg_triangular_solve (lua_State *L) {
  static const char *const names[] = {"transposed", "upper", NULL};
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *l = lgb_tofactor(L, 1);
  if (l == NULL) l = lgb_checknode(L, 1);
  gb_node *b = lgb_checknode(L, 2);
  lgb_checkoptions(L, 3, names);
  const bool upper = lgb_optbool(L, 3, "upper", false), transposed = lgb_optbool(L, 3, "transposed", false);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_triangular_solve(l, b, upper, transposed, &y->node, &err), &err);
}

/* A factorisation with several outputs. */
static int factors (lua_State *L, gb_op op) {
  lgb_session *s = lgb_enter(L);
  gb_node *a = lgb_checknode(L, 1);
  gb_error err;
  lgb_tensor *all = lgb_newtensor(L);
  lgb_result(L, gb_node_build(s->graph, op, 1, &a, NULL, NULL, GB_F64, &all->node, &err), &err);
  for (int i = 0; i < gb_ops[op].outputs; i++) {
    lgb_tensor *y = lgb_newtensor(L);
    lgb_result(L, gb_pick(all->node, i, &y->node, &err), &err);
  }
  return gb_ops[op].outputs;
}

static int linalg_eigh (lua_State *L) { return factors(L, GB_OP_EIGH); } /* values, vectors */
static int linalg_qr (lua_State *L) { return factors(L, GB_OP_QR); }     /* Q, R */
static int linalg_svd (lua_State *L) { return factors(L, GB_OP_SVD); }   /* U, s, V */

/* -- forms the kernels are made of */

/* core.sqdist(x, y, w or nil): sum_k w_k (x_ik - y_jk)^2 */
static int core_sqdist (lua_State *L) {
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *x = lgb_checknode(L, 1), *y = lgb_checknode(L, 2);
  gb_node *w = lua_isnil(L, 3) ? NULL : lgb_checkoperand(L, 3, x);
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_sqdist(x, y, w, &z->node, &err), &err);
}

/* core.radial(profile, s, c, alpha or nil): the profile at u = c s */
static int core_radial (lua_State *L) {
  static const char *const names[] = {"rbf", "m12", "m32", "m52", "rq", NULL};
  lgb_enter(L);
  lua_settop(L, 4);
  const gb_profile p = (gb_profile)luaL_checkoption(L, 1, NULL, names);
  gb_node *s = lgb_checknode(L, 2);
  gb_node *c = lgb_checkoperand(L, 3, s);
  gb_node *alpha = lua_isnil(L, 4) ? NULL : lgb_checkoperand(L, 4, s);
  lgb_argcheck(L, (alpha != NULL) == (p == GB_RQ), 4, "alpha goes with profile 'rq', and only with it");
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_radial(p, s, c, alpha, &z->node, &err), &err);
}

/* core.with_slope(y, x, slope): y, whose gradient goes to x by way of the slope */
static int core_with_slope (lua_State *L) {
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *y = lgb_checknode(L, 1), *x = lgb_checknode(L, 2), *slope = lgb_checknode(L, 3);
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_map3(GB_OP_WITH_SLOPE, y, x, slope, &z->node, &err), &err);
}

const luaL_Reg lgb_linalg_methods[] = {{"matmul", m_matmul}, {NULL, NULL}};

const luaL_Reg lgb_linalg_functions[] = {{"cholesky", linalg_cholesky},
                                         {"diag", linalg_diag},
                                         {"eigh", linalg_eigh},
                                         {"inv_quad", linalg_inv_quad},
                                         {"logdet", linalg_logdet},
                                         {"lstsq", linalg_lstsq},
                                         {"qr", linalg_qr},
                                         {"solve", linalg_solve},
                                         {"svd", linalg_svd},
                                         {"triangular_solve", linalg_triangular_solve},
                                         {NULL, NULL}};

const luaL_Reg lgb_product_functions[] = {{"einsum", linalg_einsum}, {NULL, NULL}};
const luaL_Reg lgb_kernel_functions[] = {
    {"radial", core_radial}, {"sqdist", core_sqdist}, {"with_slope", core_with_slope}, {NULL, NULL}};
