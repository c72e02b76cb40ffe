/* grad.c - gradients and vmap: both only build graphs. */
#include <string.h>

#include "lua/lgb.h"

/* x:requires_grad(): a new leaf with x's value, which gradients stop at */
static int m_requires_grad (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  if (lua_isboolean(L, 2) && !lua_toboolean(L, 2))
    return lgb_fail(L, GB_EOPTION, "requires_grad: tensors never change: x:detach() is x without gradients");
  if (!gb_dtype_is_float(gb_node_dtype(x)))
    return lgb_fail(L, GB_EDTYPE, "requires_grad: a float tensor expected, got %s",
                    gb_dtype_name(gb_node_dtype(x)));
  const gb_tensor *value = lgb_value(L, s, x);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_leaf(s->graph, value, GB_NODE_GRAD, x->name, &y->node, &err), &err);
}

/* -- grad */

/* The xs of a gradient call: nodes in the order of the table's walk, and where their gradients go. */
typedef struct targets {
  size_t n;
  gb_node **node, **bar;
  lgb_tensor **result; /* empty handles anchored in the result */
} targets;

static size_t count_entries (lua_State *L, int arg) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) n++;
  return n;
}

static gb_node *target_on_top (lua_State *L) {
  gb_node *x = lgb_tonode(L, lua_gettop(L));
  if (x == NULL)
    lgb_fail(L, GB_EOPTION, "grad: tensors expected to differentiate by, got %s", luaL_typename(L, -1));
  return x;
}

/* Pushes scratch, a table of anchors, and the result: a tensor, or a table with the same keys. */
static targets checktargets (lua_State *L, int arg) {
  const bool single = lgb_tonode(L, arg) != NULL;
  if (!single) lgb_checktype(L, arg, LUA_TTABLE);
  targets g = {.n = single ? 1 : count_entries(L, arg)};
  luaL_checkstack(L, 12, "grad");
  g.node = lgb_scratch(L, g.n, sizeof *g.node);
  g.bar = lgb_scratch(L, g.n, sizeof *g.bar);
  g.result = lgb_scratch(L, g.n, sizeof *g.result);
  if (single) {
    g.node[0] = lgb_tonode(L, arg);
    g.result[0] = lgb_newtensor(L);
    return g;
  }
  lua_createtable(L, (int)g.n, 0); /* anchors: params give tensors that live only here */
  const int anchors = lua_gettop(L);
  lua_createtable(L, 0, (int)g.n);
  const int result = lua_gettop(L);
  size_t i = 0;
  for (lua_pushnil(L); lua_next(L, arg) && i < g.n; i++) {
    g.node[i] = target_on_top(L);
    lua_rawseti(L, anchors, (lua_Integer)i + 1);
    lua_pushvalue(L, -1);
    g.result[i] = lgb_newtensor(L);
    lua_rawset(L, result);
  }
  lua_settop(L, result);
  return g;
}

/* grad(y, xs, {cotangent, unused = "error"}): dy/dx with the keys of xs */
static int grad_grad (lua_State *L) {
  static const char *const names[] = {"cotangent", "unused", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 4);
  gb_node *y = lgb_checknode(L, 1);
  lgb_checkoptions(L, 3, names);
  const char *unused = lgb_optstring(L, 3, "unused", "error");
  const bool zero = unused[0] == 'z';
  if (strcmp(unused, zero ? "zero" : "error") != 0)
    return lgb_fail(L, GB_EOPTION, "grad: option 'unused' must be 'error' or 'zero', got '%s'", unused);
  gb_node *cotangent = NULL;
  if (lgb_option(L, 3, "cotangent")) {
    lua_replace(L, 4);
    cotangent = lgb_checkoperand(L, 4, y);
  }
  const targets g = checktargets(L, 2);
  const int result = lua_gettop(L);
  gb_error err;
  y = *lgb_redeemed(L, s, 1, &y, GB_WALK_ALL, true);
  gb_node **xs = lgb_redeemed(L, s, g.n, g.node, GB_WALK_ALL, true);
  const gb_status st = gb_grad(y, cotangent, g.n, xs, zero, g.bar, &err);
  if (st == GB_OK)
    for (size_t i = 0; i < g.n; i++) g.result[i]->node = g.bar[i];
  lua_settop(L, result);
  return lgb_result(L, st, &err);
}

/* core.hold(x, value): x, whose value is known: nothing computes it, and gradients pass through it */
static int grad_hold (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *like = lgb_checknode(L, 1), *known = lgb_checknode(L, 2);
  like = *lgb_redeemed(L, s, 1, &like, GB_WALK_ALL, true);
  const gb_tensor *value = lgb_value(L, s, known);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_hold(like, value, 0, &y->node, &err), &err);
}

/* core.substitute(y, from, to): y over to[i] in the place of the placeholders from[i] of gb.empty */
static int grad_substitute (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *y = lgb_checknode(L, 1);
  lgb_checktype(L, 2, LUA_TTABLE);
  lgb_checktype(L, 3, LUA_TTABLE);
  const size_t n = lua_rawlen(L, 2);
  if (lua_rawlen(L, 3) != n)
    return lgb_fail(L, GB_EOPTION, "substitute: as many tensors expected as there are placeholders");
  gb_node **pair[2] = {lgb_scratch(L, n + 1, sizeof **pair), lgb_scratch(L, n + 1, sizeof **pair)};
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < n; i++) {
      lua_rawgeti(L, 2 + side, (lua_Integer)i + 1);
      pair[side][i] = lgb_checknode(L, lua_gettop(L)); /* the table keeps it */
      lua_pop(L, 1);
    }
  }
  y = *lgb_redeemed(L, s, 1, &y, GB_WALK_ALL, true);
  lgb_tensor *out = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_substitute(y, n, pair[0], pair[1], &out->node, &err), &err);
}

/* -- vmap */

typedef struct mapping {
  size_t n;
  gb_node **slice, **full;
  int *axis;
  size_t extent;
} mapping;

/* Replaces argument 'arg' by a placeholder for one slice along 'axis' of it, on its device; the whole stays in
** 'anchors'. */
static void map_argument (lua_State *L, lgb_session *s, mapping *m, int arg, int axis, int anchors) {
  gb_node *x = lgb_checknode(L, arg);
  const gb_shape *full = gb_node_shape(x);
  if (m->n > 0 && full->dim[axis] != m->extent)
    lgb_fail(L, GB_ESHAPE, "vmap: argument %d has %zu slices, %zu expected", arg, full->dim[axis], m->extent);
  m->extent = full->dim[axis];
  gb_tensor slice = {.dtype = gb_node_dtype(x), .shape.ndim = full->ndim - 1};
  for (int a = 0, k = 0; a < full->ndim; a++)
    if (a != axis) slice.shape.dim[k++] = full->dim[a];
  gb_strides_of(&slice.shape, slice.stride);
  lua_pushvalue(L, arg);
  lua_rawseti(L, anchors, (lua_Integer)m->n * 2 + 1);
  lgb_tensor *t = lgb_newtensor(L);
  gb_error err;
  const int before = gb_graph_build_on(s->graph, x->device);
  const gb_status st = gb_node_leaf(s->graph, &slice, GB_NODE_TRACED, NULL, &t->node, &err);
  gb_graph_build_on(s->graph, before);
  lgb_result(L, st, &err);
  lua_pushvalue(L, -1);
  lua_rawseti(L, anchors, (lua_Integer)m->n * 2 + 2);
  lua_replace(L, arg);
  m->slice[m->n] = t->node;
  m->full[m->n] = x;
  m->axis[m->n++] = axis;
}

/* The axis to map argument 'arg' along; -1: not mapped. upvalue 2: a position or a list of positions and
** false. */
static int mapped_axis (lua_State *L, int arg) {
  if (lua_istable(L, lua_upvalueindex(2))) lua_rawgeti(L, lua_upvalueindex(2), arg);
  else lua_pushvalue(L, lua_upvalueindex(2));
  int axis = -1;
  if (lua_toboolean(L, -1)) axis = lgb_checkaxis(L, lua_gettop(L), lgb_checknode(L, arg), 0);
  lua_pop(L, 1);
  return axis;
}

/* The message handler of mapped functions: an error object keeps the levels below, which are left before it is raised
** again. */
static int keep_traceback (lua_State *L) {
  if (lua_istable(L, 1)) lgb_wrap_error(L, GB_ECALLBACK, "vmap");
  return 1;
}

/* The function that vmap returns. upvalues: f, axes, same randomness */
static int call_mapped (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const int nargs = lua_gettop(L);
  luaL_checkstack(L, nargs + LUA_MINSTACK, "vmap");
  lua_newtable(L);
  mapping m = {.slice = lgb_scratch(L, (size_t)nargs, sizeof *m.slice),
               .full = lgb_scratch(L, (size_t)nargs, sizeof *m.full),
               .axis = lgb_scratch(L, (size_t)nargs, sizeof *m.axis)};
  for (int i = 1; i <= nargs; i++) {
    const int axis = mapped_axis(L, i);
    if (axis >= 0) map_argument(L, s, &m, i, axis, nargs + 1);
  }
  if (m.n == 0) return lgb_fail(L, GB_EOPTION, "vmap: no argument is mapped");
  lua_pushcfunction(L, keep_traceback);
  const int base = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int i = 1; i <= nargs; i++) lua_pushvalue(L, i);
  s->graph->tracing++;
  const int rc = lua_pcall(L, nargs, LUA_MULTRET, base);
  s->graph->tracing--;
  if (rc != LUA_OK) return lua_error(L);
  const int nouts = lua_gettop(L) - base;
  if (nouts == 0) return lgb_fail(L, GB_EOPTION, "vmap: the function must return tensors, got nothing");
  luaL_checkstack(L, nouts + LUA_MINSTACK, "vmap");
  gb_node **outs = lgb_scratch(L, (size_t)nouts, sizeof *outs),
          **mapped = lgb_scratch(L, (size_t)nouts, sizeof *mapped);
  lgb_tensor **result = lgb_scratch(L, (size_t)nouts, sizeof *result);
  for (int i = 0; i < nouts; i++) {
    outs[i] = lgb_tonode(L, base + 1 + i);
    if (outs[i] == NULL)
      return lgb_fail(L, GB_EOPTION, "vmap: the function must return tensors, got %s",
                      luaL_typename(L, base + 1 + i));
  }
  for (int i = 0; i < nouts; i++) result[i] = lgb_newtensor(L);
  gb_error err;
  lgb_enter(L);
  const gb_status st = gb_vmap(m.n, m.slice, m.full, m.axis, lua_toboolean(L, lua_upvalueindex(3)),
                               (size_t)nouts, outs, mapped, &err);
  if (st != GB_OK) return lgb_raise(L, st, &err);
  for (int i = 0; i < nouts; i++) result[i]->node = mapped[i];
  return nouts;
}

/* gb.vmap(f, {1, false}, {randomness = "independent"}): f over slices; f is traced once */
static int grad_vmap (lua_State *L) {
  static const char *const names[] = {"randomness", NULL};
  lua_settop(L, 3);
  lgb_refuse_library(L, 1);
  luaL_argexpected(L, lua_isfunction(L, 1) || luaL_getmetafield(L, 1, "__call") != LUA_TNIL, 1, "function");
  lua_settop(L, 3);
  if (lua_isnil(L, 2)) {
    lua_pushinteger(L, 1);
    lua_replace(L, 2);
  }
  luaL_argexpected(L, lua_istable(L, 2) || lua_isinteger(L, 2), 2, "dimension or list of dimensions");
  lgb_checkoptions(L, 3, names);
  const char *randomness = lgb_optstring(L, 3, "randomness", "independent");
  const bool same = strcmp(randomness, "same") == 0;
  if (!same && strcmp(randomness, "independent") != 0)
    return lgb_fail(L, GB_EOPTION, "vmap: option 'randomness' must be 'independent' or 'same', got '%s'",
                    randomness);
  lua_settop(L, 2);
  lua_pushboolean(L, same);
  lua_pushcclosure(L, call_mapped, 3);
  return 1;
}

const luaL_Reg lgb_grad_methods[] = {{"requires_grad", m_requires_grad}, {NULL, NULL}};
const luaL_Reg lgb_grad_functions[] = {{"grad", grad_grad},
                                       {"hold", grad_hold},
                                       {"substitute", grad_substitute},
                                       {"vmap", grad_vmap},
                                       {NULL, NULL}};
