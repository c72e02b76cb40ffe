/* shape.c - views and joins: reshape, permute, slice, select, index, put, cat, stack. Positions count from
** 1, negative from the end; ranges include both ends. */
#include <string.h>

#include "lua/lgb.h"

/* x:reshape(...): one extent may be -1, found from the others */
static int m_reshape (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  gb_shape s = lgb_checkshape(L, 2, lua_gettop(L));
  int open = -1;
  size_t rest = 1;
  for (int i = 0; i < s.ndim; i++) {
    if (s.dim[i] != SIZE_MAX) {
      if (__builtin_mul_overflow(rest, s.dim[i], &rest))
        return lgb_fail(L, GB_ESHAPE, "reshape: the size overflows");
    } else if (open >= 0) {
      return lgb_fail(L, GB_ESHAPE, "reshape: only one extent can be -1");
    } else {
      open = i;
    }
  }
  const size_t numel = gb_shape_numel(gb_node_shape(x));
  if (open >= 0) {
    if (rest == 0 || numel % rest != 0)
      return lgb_fail(L, GB_ESHAPE, "reshape: %zu element%s not divide into rows of %zu", numel,
                      numel == 1 ? " does" : "s do", rest);
    s.dim[open] = numel / rest;
  }
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_reshape(x, &s, &y->node, &err), &err);
}

/* x:permute(...): every dimension once */
static int m_permute (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const int ndim = gb_node_shape(x)->ndim;
  if (lua_istable(L, 2)) {
    lua_settop(L, 2);
    const int n = (int)lua_rawlen(L, 2);
    luaL_checkstack(L, n, "permute");
    for (int i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
    lua_remove(L, 2);
  }
  if (lua_gettop(L) - 1 != ndim)
    return lgb_fail(
        L, GB_ESHAPE,
        "permute: %d dimension%s given for a tensor with %d: each is named once, in the new order",
        lua_gettop(L) - 1, lgb_plural((uint64_t)(lua_gettop(L) - 1)), ndim);
  int axes[GB_MAXDIM];
  unsigned seen = 0;
  for (int i = 0; i < ndim; i++) {
    axes[i] = lgb_checkaxis(L, i + 2, x, 0);
    if (seen & 1u << axes[i])
      return lgb_fail(L, GB_ESHAPE, "permute: dimension %d is given twice", axes[i] + 1);
    seen |= 1u << axes[i];
  }
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_permute(x, axes, &y->node, &err), &err);
}

/* x:t(): the last two dimensions exchanged */
static int m_t (lua_State *L) { return lgb_apply1(L, gb_transpose); }

/* x:unsqueeze(d): a new dimension of extent 1 at d; x:squeeze(d): drops one */
static int m_unsqueeze (lua_State *L) { return lgb_apply_along(L, gb_unsqueeze, 1); }
static int m_squeeze (lua_State *L) { return lgb_apply_along(L, gb_squeeze, 0); }

/* x:expand(...): extents of 1 grow, -1 keeps one */
static int m_expand (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  gb_shape s = lgb_checkshape(L, 2, lua_gettop(L));
  const gb_shape *old = gb_node_shape(x);
  for (int i = 0; i < s.ndim; i++) {
    if (s.dim[i] != SIZE_MAX) continue;
    const int from = i - (s.ndim - old->ndim);
    if (from < 0) return lgb_fail(L, GB_ESHAPE, "expand: a new dimension cannot be -1");
    s.dim[i] = old->dim[from];
  }
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_expand(x, &s, &y->node, &err), &err);
}

/* x:tile(...): repeats along each dimension */
static int m_tile (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const gb_shape times = lgb_checkshape(L, 2, lua_gettop(L));
  for (int i = 0; i < times.ndim; i++)
    if (times.dim[i] == SIZE_MAX) return lgb_fail(L, GB_ESHAPE, "tile: bad count -1");
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_tile(x, times.ndim, times.dim, &y->node, &err), &err);
}

/* x:flip(d) */
static int m_flip (lua_State *L) { return lgb_apply_along(L, gb_flip, 0); }

/* An end of a range as a position from 1; 'low'..'high' are allowed, so that a range can be empty. */
static lua_Integer range_end (lua_State *L, int arg, lua_Integer def, lua_Integer n, lua_Integer low,
                              lua_Integer high) {
  const lua_Integer given = lgb_integeror(L, arg, def);
  const lua_Integer i = given < 0 ? given + n + 1 : given;
  if (i < low || i > high)
    return lgb_fail(L, GB_EINDEX, "slice: position %lld is out of range 1..%lld", (long long)given,
                    (long long)n);
  return i;
}

/* Whole steps down that fit; the size of the least integer is no integer. */
static lua_Integer descents (lua_Integer span, lua_Integer step) {
  return (lua_Integer)((lua_Unsigned)span / (0 - (lua_Unsigned)step));
}

/* x:slice(d, i, j, step): positions i, i + step, ... up to j; j = i - 1 gives none */
static int m_slice (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, 0);
  const lua_Integer n = (lua_Integer)gb_node_shape(x)->dim[axis], step = lgb_integeror(L, 5, 1);
  if (step == 0) return lgb_fail(L, GB_EINDEX, "slice: step 0");
  const lua_Integer i = range_end(L, 3, step > 0 ? 1 : n, n, step > 0 ? 1 : 0, step > 0 ? n + 1 : n);
  const lua_Integer j = range_end(L, 4, step > 0 ? n : 1, n, step > 0 ? 0 : 1, step > 0 ? n : n + 1);
  const lua_Integer extent = step > 0 ? (j < i ? 0 : (j - i) / step + 1)
                                      : (j > i ? 0 : descents(i - j, step) + 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(
      L, gb_slice(x, axis, extent == 0 ? 0 : (size_t)i - 1, (ptrdiff_t)step, (size_t)extent, &y->node, &err),
      &err);
}

/* x:select(d, i): one position, the dimension dropped */
static int m_select (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, 0);
  const size_t at = lgb_checkposition(L, 3, gb_node_shape(x)->dim[axis], "position");
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_select(x, axis, at, &y->node, &err), &err);
}

/* x:diagonal(): x[i][i] of the last two dimensions */
static int m_diagonal (lua_State *L) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(x->graph, GB_OP_DIAGONAL, 1, &x, NULL, NULL, GB_F64, &y->node, &err),
                    &err);
}

/* -- positions */

/* Replaces 'arg' by the i64 tensor of 'holder', positions from 1, on a device of the graph. */
static gb_node *leaf_of_positions (lua_State *L, lgb_session *s, int arg, gb_tensor *holder, int device) {
  lgb_tensor *leaf = lgb_newtensor(L), *t = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, lgb_leaf(s, 0, holder, NULL, &leaf->node, &err), &err);
  lgb_result(L, gb_move(leaf->node, device, &t->node, &err), &err);
  lua_replace(L, arg);
  return t->node;
}

static gb_tensor *new_positions (lua_State *L, lgb_session *s, size_t count) {
  gb_tensor *holder = lgb_newholder(L);
  gb_error err;
  const gb_shape shape = gb_shape_of(1, &count);
  lgb_charge(L, s, count * sizeof(int64_t));
  lgb_result(
      L, gb_tensor_new(&s->home->ledger, GB_I64, &shape, GB_MEM_TENSOR, s->graph->where, "", holder, &err),
      &err);
  return holder;
}

static gb_node *positions_of_mask (lua_State *L, lgb_session *s, int arg, gb_node *mask, size_t extent) {
  const gb_shape *shape = gb_node_shape(mask);
  char text[GB_NODE_TEXT];
  if (shape->ndim != 1 || shape->dim[0] != extent)
    lgb_fail(L, GB_ESHAPE, "a mask of shape %s for a dimension of extent %zu", gb_node_text(mask, text),
             extent);
  const gb_tensor host = lgb_host_value(L, s, mask), *v = &host;
  size_t count = 0;
  for (size_t i = 0; i < extent; i++) count += gb_tensor_at(v, &i) != 0;
  gb_tensor *holder = new_positions(L, s, count);
  int64_t *out = gb_host_elements(holder);
  for (size_t i = 0; i < extent; i++)
    if (gb_tensor_at(v, &i) != 0) *out++ = (int64_t)i + 1;
  return leaf_of_positions(L, s, arg, holder, mask->device);
}

static int64_t list_position (lua_State *L, lua_Integer at, size_t extent) {
  int whole;
  const lua_Integer i = lua_tointegerx(L, -1, &whole), n = (lua_Integer)extent;
  if (!whole || lua_type(L, -1) != LUA_TNUMBER)
    return lgb_fail(L, GB_EINDEX, "positions must be whole numbers, got %s at %lld", luaL_typename(L, -1),
                    (long long)at);
  if (i == 0 || i > n || i < -n)
    return lgb_fail(L, GB_EINDEX, "position %lld is out of range 1..%lld", (long long)i, (long long)n);
  return i > 0 ? i : i + n + 1;
}

static gb_node *positions_of_list (lua_State *L, lgb_session *s, int arg, const gb_node *x, int axis) {
  const size_t extent = gb_node_shape(x)->dim[axis];
  const lua_Integer n = (lua_Integer)lua_rawlen(L, arg);
  lua_rawgeti(L, arg, 1);
  const bool mask = lua_isboolean(L, -1);
  lua_pop(L, 1);
  if (mask && (size_t)n != extent)
    lgb_fail(L, GB_ESHAPE, "a mask of %lld value%s for a dimension of extent %zu", (long long)n,
             lgb_plural((uint64_t)n), extent);
  size_t count = mask ? 0 : (size_t)n;
  for (lua_Integer i = 1; mask && i <= n; i++) {
    if (lua_rawgeti(L, arg, i) != LUA_TBOOLEAN)
      lgb_fail(L, GB_EINDEX, "a mask holds booleans only, got %s at %lld", luaL_typename(L, -1),
               (long long)i);
    count += (size_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  gb_tensor *holder = new_positions(L, s, count);
  int64_t *out = gb_host_elements(holder);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, arg, i);
    if (!mask) *out++ = list_position(L, i, extent);
    else if (lua_toboolean(L, -1)) *out++ = i;
    lua_pop(L, 1);
  }
  return leaf_of_positions(L, s, arg, holder, x->device);
}

/* Positions along 'axis' of x: a tensor of i64 or i32, a bool tensor, or, on the device of x, a list or one number. */
static gb_node *checkpositions (lua_State *L, lgb_session *s, int arg, const gb_node *x, int axis) {
  const size_t extent = gb_node_shape(x)->dim[axis];
  gb_node *idx = lgb_tonode(L, arg);
  if (idx != NULL && gb_node_dtype(idx) == GB_BOOL) return positions_of_mask(L, s, arg, idx, extent);
  if (idx != NULL && !gb_dtype_is_whole(gb_node_dtype(idx)))
    lgb_fail(L, GB_EDTYPE, "positions must be i64, i32 or bool, got %s (use idx:to{dtype = 'i64'})",
             gb_dtype_name(gb_node_dtype(idx)));
  if (idx != NULL) return idx;
  if (lua_type(L, arg) == LUA_TNUMBER) {
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, arg);
    lua_rawseti(L, -2, 1);
    lua_replace(L, arg);
  }
  if (!lua_istable(L, arg)) lgb_typeerror(L, arg, "positions");
  return positions_of_list(L, s, arg, x, axis);
}

/* x:index(d, idx or mask) */
static int m_index (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, 0);
  gb_node *in[2] = {x, checkpositions(L, s, 3, x, axis)};
  const gb_attr attr = {.i = {axis}};
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(s->graph, GB_OP_INDEX, 2, in, &attr, NULL, GB_F64, &y->node, &err),
                    &err);
}

/* What is put into x: a number of i64 becomes one of x's i32. */
static gb_node *as_stored (lua_State *L, gb_node *x, gb_node *y) {
  gb_error err;
  if (gb_node_dtype(x) != GB_I32 || gb_node_dtype(y) != GB_I64 || y->op != GB_OP_CONST) return y;
  lgb_tensor *own = lgb_newtensor(L);
  lgb_result(L, gb_node_const_as(y, GB_I32, &own->node, &err), &err);
  return own->node;
}

/* PUT, INDEX_ADD, INDEX_MAX or INDEX_MIN at positions of a dimension */
static int change_entries (lua_State *L, gb_op op) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 4);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, 0);
  gb_node *idx = checkpositions(L, s, 3, x, axis);
  gb_node *y = lgb_checkoperand(L, 4, x);
  if (op == GB_OP_PUT) y = as_stored(L, x, y);
  gb_error err;
  /* a number, or anything that broadcasts, fills the positions */
  gb_shape want = *gb_node_shape(x);
  want.dim[axis] = gb_node_shape(idx)->ndim == 1 ? gb_node_shape(idx)->dim[0] : 1;
  lgb_tensor *full = lgb_newtensor(L);
  lgb_result(L, gb_expand(y, &want, &full->node, &err), &err);
  gb_node *in[3] = {x, idx, full->node};
  const gb_attr attr = {.i = {axis}};
  lgb_tensor *z = lgb_newtensor(L);
  return lgb_result(L, gb_node_build(s->graph, op, 3, in, &attr, NULL, GB_F64, &z->node, &err), &err);
}

/* x:put(d, idx or mask, y): x with those positions replaced */
static int m_put (lua_State *L) { return change_entries(L, GB_OP_PUT); }

/* x:index_add(d, idx or mask, y): x with y added there, in the order of idx */
static int m_index_add (lua_State *L) { return change_entries(L, GB_OP_INDEX_ADD); }

/* x:index_max(d, idx or mask, y), x:index_min(...): x with the larger, or smaller, of itself and y there */
static int m_index_max (lua_State *L) { return change_entries(L, GB_OP_INDEX_MAX); }
static int m_index_min (lua_State *L) { return change_entries(L, GB_OP_INDEX_MIN); }

/* -- joins */

static gb_node **checkjoin (lua_State *L, size_t *n) {
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_pushinteger(L, 1);
    lua_replace(L, 2);
  }
  gb_node **nodes = lgb_checklist(L, 1, n);
  lgb_argcheck(L, *n > 0, 1, "at least one tensor expected");
  return nodes;
}

/* gb.cat({...}, d): joined along d (1) */
static int shape_cat (lua_State *L) {
  lgb_enter(L);
  size_t n;
  gb_node **nodes = checkjoin(L, &n);
  const int axis = lgb_checkaxis(L, 2, nodes[0], 0);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_cat((int)n, nodes, axis, &y->node, &err), &err);
}

/* gb.stack({...}, d): joined along a new dimension at d (1) */
static int shape_stack (lua_State *L) {
  lgb_enter(L);
  size_t n;
  gb_node **nodes = checkjoin(L, &n);
  const int axis = lgb_checkaxis(L, 2, nodes[0], 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_stack((int)n, nodes, axis, &y->node, &err), &err);
}

const luaL_Reg lgb_shape_methods[] = {{"diagonal", m_diagonal},
                                      {"expand", m_expand},
                                      {"flip", m_flip},
                                      {"index", m_index},
                                      {"index_add", m_index_add},
                                      {"index_max", m_index_max},
                                      {"index_min", m_index_min},
                                      {"permute", m_permute},
                                      {"put", m_put},
                                      {"reshape", m_reshape},
                                      {"select", m_select},
                                      {"slice", m_slice},
                                      {"squeeze", m_squeeze},
                                      {"t", m_t},
                                      {"tile", m_tile},
                                      {"unsqueeze", m_unsqueeze},
                                      {NULL, NULL}};

const luaL_Reg lgb_shape_functions[] = {{"cat", shape_cat}, {"stack", shape_stack}, {NULL, NULL}};
