/* append.c - Cholesky factors that grow, for the Lua library: core.factor. Versions are values. */
#include <string.h>

#include "lua/lgb.h"
#include "solve/append.h"

#define LGB_FACTOR "gibbous.factor"

typedef struct factor_box {
  gb_node *leaf; /* NULL: closed */
  lgb_session *session;
} factor_box;

static int factor_close (lua_State *L) {
  factor_box *box = luaL_checkudata(L, 1, LGB_FACTOR);
  gb_node *leaf = box->leaf;
  lgb_session *s = box->session;
  box->leaf = NULL;
  box->session = NULL;
  if (s == NULL) return 0;
  lgb_unref(s, leaf);
  lgb_session_release(s);
  return 0;
}

gb_node *lgb_tofactor (lua_State *L, int arg) {
  const factor_box *box = luaL_testudata(L, arg, LGB_FACTOR);
  if (box == NULL) return NULL;
  if (box->leaf == NULL) lgb_fail(L, GB_ECLOSED, "closed factor");
  return box->leaf;
}

static gb_node *checkfactor (lua_State *L, int arg) {
  gb_node *l = lgb_tofactor(L, arg);
  if (l == NULL) lgb_typeerror(L, arg, "factor");
  return l;
}

static factor_box *newfactor (lua_State *L, lgb_session *s) {
  factor_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (factor_box){.session = s};
  s->handles++;
  lgb_setmeta(L, LGB_FACTOR);
  return box;
}

/* A finished version into its box. */
static int deliver (lua_State *L, gb_status st, factor_box *box, gb_tensor *v, gb_error *err) {
  lgb_session *s = box->session;
  size_t bytes = 0;
  if (st == GB_OK) {
    bytes = gb_appendable_bytes(v);
    st = gb_node_leaf(s->graph, v, GB_NODE_GROWN, "factor", &box->leaf, err);
    gb_tensor_clear(v);
  }
  s->busy = false;
  lgb_result(L, st, err);
  lgb_charge(L, s, bytes / gb_blocks(gb_node_shape(box->leaf)->dim[0] + 1, GB_BLOCK));
  return 1;
}

/* core.factor(L): the lower factor L (n, n) as one that can grow; core.factor(nil, C): the factor of C */
static int factor_new (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const bool dense = !lua_isnoneornil(L, 1);
  gb_node *x = lgb_checkcomputable(L, dense ? 1 : 2);
  factor_box *box = newfactor(L, s);
  gb_tensor v = {0};
  gb_error err;
  lgb_core_begins(s, L);
  const gb_status st = dense ? gb_factor_of(x, &v, &err) : gb_factor_append(s->graph, &v, NULL, x, &v, &err);
  return deliver(L, st, box, &v, &err);
}

/* f:append(B, C): the factor of [[A, B'], [B, C]], B (k, n), C (k, k); f stays the factor of A */
static int factor_append (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_node *l = checkfactor(L, 1);
  gb_node *b = lgb_checkcomputable(L, 2), *c = lgb_checkcomputable(L, 3);
  factor_box *box = newfactor(L, s);
  gb_tensor v = {0};
  gb_error err;
  lgb_core_begins(s, L);
  const gb_status st = gb_factor_append(s->graph, &l->out[0].tensor, b, c, &v, &err);
  return deliver(L, st, box, &v, &err);
}

/* f:extend(w, r): L^-1 b, of which the first #w entries are w and the last of b are r */
static int factor_extend (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_node *l = checkfactor(L, 1);
  gb_node *w = lgb_checkcomputable(L, 2), *r = lgb_checkcomputable(L, 3);
  gb_tensor *v = lgb_newholder(L);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_core_begins(s, L);
  gb_status st = gb_factor_extend(s->graph, &l->out[0].tensor, w, r, v, &err);
  if (st == GB_OK) st = gb_node_leaf(s->graph, v, 0, "", &y->node, &err);
  s->busy = false;
  gb_tensor_clear(v);
  return lgb_result(L, st, &err);
}

static int triangular (lua_State *L, bool transposed) {
  lgb_enter(L);
  gb_node *l = checkfactor(L, 1), *b = lgb_checknode(L, 2);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_triangular_solve(l, b, false, transposed, &y->node, &err), &err);
}

static int factor_half_solve (lua_State *L) { return triangular(L, false); } /* L^-1 b, lazy */
static int factor_back_solve (lua_State *L) { return triangular(L, true); }  /* L^-T b, lazy */

/* f:logdet(): log det(L L'), lazy */
static int factor_logdet (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *l = checkfactor(L, 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(s->graph, GB_OP_LOGDET, 1, &l, NULL, NULL, GB_F64, &y->node, &err),
                    &err);
}

/* f:solve(b): (L L')^-1 b, lazy */
static int factor_solve (lua_State *L) {
  lgb_enter(L);
  gb_node *l = checkfactor(L, 1), *b = lgb_checknode(L, 2);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_solve_factored(l, b, &y->node, &err), &err);
}

/* f:dense(): L (n, n) with zeros above its diagonal */
static int factor_dense (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_node *l = checkfactor(L, 1);
  gb_tensor *v = lgb_newholder(L);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  gb_status st = gb_factor_dense(s->graph, &l->out[0].tensor, v, &err);
  if (st == GB_OK) st = gb_node_leaf(s->graph, v, 0, "", &y->node, &err);
  gb_tensor_clear(v);
  return lgb_result(L, st, &err);
}

/* f:hold(x): f as the value of x, a factor of the same order, through which gradients pass (gb_node_hold) */
static int factor_hold (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *l = checkfactor(L, 1), *like = lgb_checkcomputable(L, 2);
  factor_box *box = newfactor(L, s);
  gb_error err;
  return lgb_result(L, gb_node_hold(like, &l->out[0].tensor, GB_NODE_GROWN, &box->leaf, &err), &err);
}

static int factor_length (lua_State *L) {
  lua_pushinteger(L, (lua_Integer)gb_node_shape(checkfactor(L, 1))->dim[0]);
  return 1;
}

static const luaL_Reg methods[] = {{"append", factor_append}, {"back_solve", factor_back_solve},
                                   {"close", factor_close},   {"dense", factor_dense},
                                   {"extend", factor_extend}, {"half_solve", factor_half_solve},
                                   {"hold", factor_hold},     {"logdet", factor_logdet},
                                   {"solve", factor_solve},   {NULL, NULL}};

/* Facts: n, dtype; capacity, rows there is room for; bytes, shared with other versions or not. upvalue 1:
** the methods */
static int factor_index (lua_State *L) {
  const char *key = lgb_checkstring(L, 2);
  if (lua_getfield(L, lua_upvalueindex(1), key) != LUA_TNIL) return 1;
  const gb_tensor *v = &checkfactor(L, 1)->out[0].tensor;
  if (strcmp(key, "n") == 0) lua_pushinteger(L, (lua_Integer)v->shape.dim[0]);
  else if (strcmp(key, "capacity") == 0) lua_pushinteger(L, (lua_Integer)gb_appendable_capacity(v));
  else if (strcmp(key, "bytes") == 0) lua_pushinteger(L, (lua_Integer)gb_appendable_bytes(v));
  else if (strcmp(key, "dtype") == 0) lua_pushstring(L, gb_dtype_name(v->dtype));
  else lua_pushnil(L);
  return 1;
}

static int factor_tostring (lua_State *L) {
  const factor_box *box = luaL_checkudata(L, 1, LGB_FACTOR);
  if (box->leaf == NULL) {
    lua_pushstring(L, "closed factor");
    return 1;
  }
  char bytes[GB_BYTES_TEXT];
  const gb_tensor *v = &box->leaf->out[0].tensor;
  lua_pushfstring(L, "factor of order %I %s, %s", (lua_Integer)v->shape.dim[0], gb_dtype_name(v->dtype),
                  gb_bytes_text(gb_appendable_bytes(v), bytes));
  return 1;
}

void lgb_factor_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__close", factor_close},
                                    {"__gc", factor_close},
                                    {"__len", factor_length},
                                    {"__tostring", factor_tostring},
                                    {NULL, NULL}};
  lgb_newmeta(L, LGB_FACTOR, events);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, factor_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

const luaL_Reg lgb_factor_functions[] = {{"factor", factor_new}, {NULL, NULL}};
