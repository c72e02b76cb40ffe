/* map.c - elementwise work: methods by op, arithmetic events, comparisons, clamp, softmax, where, maximum,
** minimum. */
#include "lua/lgb.h"

/* The op of a function registered by op is its upvalue. */
static gb_op op_of (lua_State *L) { return (gb_op)lua_tointeger(L, lua_upvalueindex(1)); }

static void set_op (lua_State *L, const char *name, gb_op op, lua_CFunction f) {
  lua_pushinteger(L, op);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, name);
}

static int map1 (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_map1(op_of(L), x, &y->node, &err), &err);
}

static int apply_map2 (lua_State *L, gb_op op) {
  gb_node *x, *y;
  lgb_enter(L);
  lua_settop(L, 2);
  lgb_checkpair(L, 1, 2, &x, &y);
  const bool divides = op == GB_OP_IDIV || op == GB_OP_MOD;
  if (divides && y->op == GB_OP_CONST && gb_dtype_is_whole(gb_node_dtype(y)) && y->attr.i[0] == 0)
    return lgb_fail(L, GB_EOPTION, "%s: integers divided by the number 0", gb_ops[op].name);
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_map2(op, x, y, &z->node, &err), &err);
}

/* a ~ b: exclusive or of masks; where they are numbers, bits are not what is meant. */
static int map_xor (lua_State *L) {
  gb_node *x, *y;
  lgb_enter(L);
  lua_settop(L, 2);
  lgb_checkpair(L, 1, 2, &x, &y);
  if (gb_node_dtype(x) != GB_BOOL || gb_node_dtype(y) != GB_BOOL)
    return lgb_fail(L, GB_EDTYPE, "x ~ y is exclusive or of bool, got %s and %s",
                    gb_dtype_name(gb_node_dtype(x)), gb_dtype_name(gb_node_dtype(y)));
  return apply_map2(L, GB_OP_NE);
}

static int map2 (lua_State *L) { return apply_map2(L, op_of(L)); }
static int map_maximum (lua_State *L) { return apply_map2(L, GB_OP_MAXIMUM); }
static int map_minimum (lua_State *L) { return apply_map2(L, GB_OP_MINIMUM); }

/* gb.where(c, a, b): a where c holds, else b */
static int map_where (lua_State *L) {
  gb_node *a, *b;
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *c = lgb_checkoperand(L, 1, NULL);
  lgb_checkpair(L, 2, 3, &a, &b);
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_map3(GB_OP_WHERE, c, a, b, &z->node, &err), &err);
}

/* x:clamp(lo, hi): either may be nil */
static int m_clamp (lua_State *L) {
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *x = lgb_checknode(L, 1);
  lgb_argcheck(L, !lua_isnil(L, 2) || !lua_isnil(L, 3), 2, "a bound expected");
  for (int i = 2; i <= 3; i++)
    if (lua_type(L, i) == LUA_TNUMBER && lua_tonumber(L, i) != lua_tonumber(L, i))
      return lgb_fail(L, GB_EOPTION, "clamp: a bound is NaN");
  gb_node *lo = lua_isnil(L, 2) ? NULL : lgb_checkoperand(L, 2, x);
  gb_node *hi = lua_isnil(L, 3) ? NULL : lgb_checkoperand(L, 3, x);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_clamp(x, lo, hi, &y->node, &err), &err);
}

/* x:softmax(d), x:log_softmax(d) */
static int m_softmax (lua_State *L) { return lgb_apply_along(L, gb_softmax, 0); }
static int m_log_softmax (lua_State *L) { return lgb_apply_along(L, gb_log_softmax, 0); }

const luaL_Reg lgb_map_methods[] = {
    {"clamp", m_clamp}, {"log_softmax", m_log_softmax}, {"softmax", m_softmax}, {NULL, NULL}};

void lgb_map_register (lua_State *L) {
  for (int op = 0; op < GB_NOPS; op++)
    if (gb_op_has((gb_op)op, GB_TRAIT_METHOD))
      set_op(L, gb_ops[op].name, (gb_op)op, gb_ops[op].inputs == 1 ? map1 : map2);
}

void lgb_operators (lua_State *L) {
  set_op(L, "__add", GB_OP_ADD, map2);
  set_op(L, "__band", GB_OP_AND, map2);
  set_op(L, "__bnot", GB_OP_NOT, map1);
  set_op(L, "__bor", GB_OP_OR, map2);
  set_op(L, "__bxor", GB_OP_NE, map_xor);
  set_op(L, "__div", GB_OP_DIV, map2);
  set_op(L, "__idiv", GB_OP_IDIV, map2);
  set_op(L, "__mod", GB_OP_MOD, map2);
  set_op(L, "__mul", GB_OP_MUL, map2);
  set_op(L, "__pow", GB_OP_POW, map2);
  set_op(L, "__sub", GB_OP_SUB, map2);
  set_op(L, "__unm", GB_OP_NEG, map1);
}

const luaL_Reg lgb_map_functions[] = {
    {"maximum", map_maximum}, {"minimum", map_minimum}, {"where", map_where}, {NULL, NULL}};
