/* reduce.c - reductions over dimensions, running sums, sorting. One result each; sort and topk give
** values, positions. */
#include "lua/lgb.h"

typedef struct reduction {
  gb_node *x;
  unsigned axes; /* bit mask; 0 = every dimension */
  bool keepdim;
  int options; /* stack index of the option table */
} reduction;

static unsigned add_axis (lua_State *L, int arg, const gb_node *x, unsigned axes) {
  const int axis = lgb_checkaxis(L, arg, x, 0);
  if (axes & 1u << axis) lgb_fail(L, GB_EINDEX, "dimension %d is given twice", axis + 1);
  return axes | 1u << axis;
}

/* x:op([dim or {dims}] [, options]); an empty table is no options. */
static reduction checkreduction (lua_State *L, const char *const *names) {
  lgb_enter(L);
  lua_settop(L, 3);
  if (lua_isnil(L, 3) && lgb_isoptions(L, 2)) {
    lua_pushnil(L);
    lua_insert(L, 2);
    lua_settop(L, 3);
  }
  reduction r = {.x = lgb_checknode(L, 1), .options = 3};
  lgb_checkoptions(L, 3, names);
  r.keepdim = lgb_optbool(L, 3, "keepdim", false);
  if (lua_istable(L, 2)) {
    const lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, 2, i);
      r.axes = add_axis(L, lua_gettop(L), r.x, r.axes);
      lua_pop(L, 1);
    }
  } else if (!lua_isnil(L, 2)) {
    r.axes = add_axis(L, 2, r.x, 0);
  }
  return r;
}

/* Of positions along 'extent' entries: i64, or i32 where the options at 'arg' say so. */
static gb_dtype positions_dtype (lua_State *L, int arg, size_t extent, const char *what) {
  const gb_dtype t = lgb_optdtype(L, arg, GB_I64);
  if (!gb_dtype_is_whole(t))
    lgb_fail(L, GB_EDTYPE, "%s: positions are of i64 or i32, got %s", what, gb_dtype_name(t));
  if (t == GB_I32 && extent > INT32_MAX)
    lgb_fail(L, GB_EDTYPE, "%s: positions up to %zu do not fit i32: {dtype = 'i64'}, the default, holds them",
             what, extent);
  return t;
}

static const char *const plain_options[] = {"keepdim", NULL};

static size_t reduced_extent (const reduction *r) {
  const gb_shape *s = gb_node_shape(r->x);
  size_t n = 1;
  for (int i = 0; i < s->ndim; i++)
    if (r->axes == 0 || r->axes >> i & 1u) n *= s->dim[i];
  return n;
}

/* x:argmax([d], {dtype = "i64"}); upvalue 1: op */
static int position (lua_State *L) {
  static const char *const names[] = {"dtype", "keepdim", NULL};
  const gb_op op = (gb_op)lua_tointeger(L, lua_upvalueindex(1));
  const reduction r = checkreduction(L, names);
  const gb_dtype t = positions_dtype(L, r.options, reduced_extent(&r), gb_ops[op].name);
  lgb_tensor *at = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_reduce(op, r.x, r.axes, r.keepdim, &at->node, &err), &err);
  if (t == GB_I64) return 1;
  lgb_tensor *y = lgb_newtensor(L);
  return lgb_result(
      L, gb_node_build(at->node->graph, GB_OP_CAST, 1, &at->node, NULL, NULL, t, &y->node, &err), &err);
}

/* upvalue 1: op */
static int reduce (lua_State *L) {
  const reduction r = checkreduction(L, plain_options);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(
      L, gb_reduce((gb_op)lua_tointeger(L, lua_upvalueindex(1)), r.x, r.axes, r.keepdim, &y->node, &err),
      &err);
}

static int m_mean (lua_State *L) {
  const reduction r = checkreduction(L, plain_options);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_mean(r.x, r.axes, r.keepdim, &y->node, &err), &err);
}

static const char *const var_options[] = {"ddof", "keepdim", NULL};

typedef gb_status spread (gb_node *x, unsigned axes, bool keepdim, double ddof, gb_node **out, gb_error *err);

static int apply_spread (lua_State *L, spread *f) {
  const reduction r = checkreduction(L, var_options);
  const double ddof = lgb_optnumber(L, r.options, "ddof", 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, f(r.x, r.axes, r.keepdim, ddof, &y->node, &err), &err);
}

/* x:var([d], {ddof = 1}), x:std([d], {ddof = 1}) */
static int m_var (lua_State *L) { return apply_spread(L, gb_var); }
static int m_std (lua_State *L) { return apply_spread(L, gb_std); }

static const char *const norm_options[] = {"keepdim", "p", NULL};

/* x:norm([d], {p = 2}) */
static int m_norm (lua_State *L) {
  const reduction r = checkreduction(L, norm_options);
  const double p = lgb_optnumber(L, r.options, "p", 2);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_norm(r.x, r.axes, r.keepdim, p, &y->node, &err), &err);
}

/* x:any([d]), x:all([d]): without a dimension a Lua boolean. upvalue 1: op */
static int any_all (lua_State *L) {
  const reduction r = checkreduction(L, plain_options);
  const bool whole = lua_isnil(L, 2) && !r.keepdim;
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L,
             gb_reduce((gb_op)lua_tointeger(L, lua_upvalueindex(1)), r.x, r.axes, r.keepdim, &y->node, &err),
             &err);
  if (!whole) return 1;
  const size_t origin[GB_MAXDIM] = {0};
  const gb_tensor t = lgb_host_value(L, lgb_session_of(L), y->node);
  lua_pushboolean(L, gb_tensor_at(&t, origin) != 0);
  return 1;
}

/* Builds a node with an axis in attr.i[0] and pushes its outputs as tensors. */
static int push_outputs (lua_State *L, gb_op op, gb_node *x, const gb_attr *attr, int outputs) {
  gb_error err;
  lgb_tensor *all = lgb_newtensor(L);
  lgb_result(L, gb_node_build(x->graph, op, 1, &x, attr, NULL, GB_F64, &all->node, &err), &err);
  for (int i = 0; i < outputs; i++) {
    lgb_tensor *y = lgb_newtensor(L);
    lgb_result(L, gb_pick(all->node, i, &y->node, &err), &err);
  }
  return outputs;
}

/* x:cumsum(d) */
static int m_cumsum (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const gb_attr attr = {.i = {lgb_checkaxis(L, 2, x, 0)}};
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(x->graph, GB_OP_CUMSUM, 1, &x, &attr, NULL, GB_F64, &y->node, &err),
                    &err);
}

/* x:sort(d, {descending = false, dtype = "i64"}) -> values, positions of that type */
static int m_sort (lua_State *L) {
  static const char *const names[] = {"descending", "dtype", NULL};
  lgb_enter(L);
  lua_settop(L, 3);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, 0);
  lgb_checkoptions(L, 3, names);
  const gb_dtype t = positions_dtype(L, 3, gb_node_shape(x)->dim[axis], "sort");
  const gb_attr attr = {.i = {axis, lgb_optbool(L, 3, "descending", false), t == GB_I32}};
  return push_outputs(L, GB_OP_SORT, x, &attr, 2);
}

/* x:topk(k, d, {largest = true, dtype = "i64"}) -> values, positions of that type */
static int m_topk (lua_State *L) {
  static const char *const names[] = {"dtype", "largest", NULL};
  lgb_enter(L);
  lua_settop(L, 4);
  gb_node *x = lgb_checknode(L, 1);
  const lua_Integer k = lgb_checkinteger(L, 2);
  const int axis = lgb_checkaxis(L, 3, x, 0);
  lgb_checkoptions(L, 4, names);
  const size_t extent = gb_node_shape(x)->dim[axis];
  if (k < 0 || (size_t)k > extent)
    return lgb_fail(L, GB_EINDEX, "topk: k = %lld of %zu value%s along dimension %d: 0 to %zu are possible",
                    (long long)k, extent, lgb_plural(extent), axis + 1, extent);
  const bool largest = lgb_optbool(L, 4, "largest", true);
  const gb_dtype t = positions_dtype(L, 4, extent, "topk");
  gb_error err;
  for (int i = 0; i < 2; i++) {
    lgb_tensor *y = lgb_newtensor(L);
    lgb_result(L, gb_topk(x, axis, (size_t)k, largest, t, i, &y->node, &err), &err);
  }
  return 2;
}

const luaL_Reg lgb_reduce_methods[] = {{"cumsum", m_cumsum}, {"mean", m_mean}, {"norm", m_norm},
                                       {"sort", m_sort},     {"std", m_std},   {"topk", m_topk},
                                       {"var", m_var},       {NULL, NULL}};

static lua_CFunction method_of (gb_op op) {
  switch (op) {
    case GB_OP_ALL:
    case GB_OP_ANY: return any_all;
    case GB_OP_ARGMAX:
    case GB_OP_ARGMIN: return position;
    default: return reduce;
  }
}

void lgb_reduce_register (lua_State *L) {
  static const gb_op ops[] = {GB_OP_ARGMAX, GB_OP_ARGMIN, GB_OP_LOGSUMEXP, GB_OP_MAX, GB_OP_MIN,
                              GB_OP_PROD,   GB_OP_SUM,    GB_OP_ALL,       GB_OP_ANY};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    lua_pushinteger(L, ops[i]);
    lua_pushcclosure(L, method_of(ops[i]), 1);
    lua_setfield(L, -2, gb_ops[ops[i]].name);
  }
}
