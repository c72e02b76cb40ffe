/* batch_hint.c - gb.lazy: which axis of the data a plan may cut when memory is short. */
#include "lua/lgb.h"

static bool ends_in_options (lua_State *L, int n) { return n > 0 && lua_type(L, n) == LUA_TTABLE; }

/* The leaf that carries the hint: x itself, or a leaf of its value. Pushes the handle to give back. */
static gb_node *push_leaf (lua_State *L, lgb_session *s, int arg) {
  gb_node *x = lgb_checknode(L, arg);
  if (x->op == GB_OP_LEAF) {
    lua_pushvalue(L, arg);
    return x;
  }
  if ((x->flags & GB_NODE_NEEDS_GRAD) != 0)
    lgb_fail(L, GB_EOPTION,
             "lazy: data expected, got a tensor that depends on a parameter or a gradient leaf: x:detach() "
             "is its values as data");
  const gb_tensor *value = lgb_value(L, s, x);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_node_leaf(s->graph, value, 0, x->name, &y->node, &err), &err);
  return y->node;
}

static lua_Integer axis_of (const gb_node *x, lua_Integer batch) {
  return batch < 0 ? batch + gb_node_shape(x)->ndim + 1 : batch;
}

/* lazy(x, y, ..., {batch = 1}): the same tensors, whose axis 'batch' is the one to cut */
static int lazy (lua_State *L) {
  static const char *const names[] = {"batch", NULL};
  lgb_session *s = lgb_enter(L);
  int n = lua_gettop(L);
  lua_Integer batch = 1;
  if (ends_in_options(L, n)) {
    lgb_checkoptions(L, n, names);
    batch = lgb_optinteger(L, n, "batch", 1);
    n--;
  }
  lgb_argcheck(L, n > 0, 1, "a tensor expected");
  luaL_checkstack(L, n + LUA_MINSTACK, "lazy");
  size_t extent = 0;
  gb_node *first = NULL;
  for (int i = 1; i <= n; i++) {
    if (lua_type(L, i) == LUA_TNUMBER) {
      lua_pushvalue(L, i);
      continue;
    }
    gb_node *x = push_leaf(L, s, i);
    const gb_shape *shape = gb_node_shape(x);
    const lua_Integer axis = axis_of(x, batch);
    if (axis < 1 || axis > shape->ndim) {
      char text[GB_NODE_TEXT];
      lgb_fail(L, GB_EINDEX, "lazy: option 'batch' = %d is not an axis of %s: axes count from 1", (int)batch,
               gb_node_text(x, text));
    }
    if (first != NULL && shape->dim[axis - 1] != extent) {
      char a[GB_NODE_TEXT], b[GB_NODE_TEXT];
      lgb_fail(L, GB_ESHAPE, "lazy: one batch expected along axis %d, got %s and %s", (int)batch,
               gb_node_text(first, a), gb_node_text(x, b));
    }
    if (first == NULL) first = x, extent = shape->dim[axis - 1];
  }
  for (int i = -n; i < 0; i++) { /* nothing is named where one of them is wrong */
    gb_node *x = lgb_tonode(L, lua_gettop(L) + 1 + i);
    if (x != NULL) x->batch = (int)axis_of(x, batch);
  }
  return n;
}

const luaL_Reg lgb_lazy_functions[] = {{"lazy", lazy}, {NULL, NULL}};
