/* apply.c - bindings that are one call of the core with one result. */
#include "lua/lgb.h"

int lgb_apply1 (lua_State *L, lgb_unary *f) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, f(x, &y->node, &err), &err);
}

int lgb_apply2 (lua_State *L, lgb_binary *f) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1), *y = lgb_checknode(L, 2);
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, f(x, y, &z->node, &err), &err);
}

int lgb_apply_along (lua_State *L, lgb_along *f, int extra) {
  lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const int axis = lgb_checkaxis(L, 2, x, extra);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, f(x, axis, &y->node, &err), &err);
}
