/* promise.c - tensors that stand for expressions which a Lua function builds when they are looked at.
**
** Such a tensor is a leaf of the graph (gb_node_promise). Whatever evaluates or differentiates calls the
** function first, which may compute, and puts what it gives in the leaf's place; a plan that is only made
** asks another function what it will cost. */
#include <stdlib.h>

#include "graph/grad/grad.h"
#include "lua/lgb.h"

static const char promises_key = 'p'; /* its address is the registry key: a table of {keep, cost} by serial */

/* A node is released wherever its last count goes, in finalizers too: an entry that exists is set, which
** takes no memory. The main thread is in a C function whenever this can run. */
static void broken (void *ud, uint64_t serial) {
  const lgb_session *s = ud;
  lua_State *L = s->main;
  if (s->state_gone || !lua_checkstack(L, 2)) return;
  const int top = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &promises_key) == LUA_TTABLE) {
    const bool known = lua_rawgeti(L, -1, (lua_Integer)serial) != LUA_TNIL;
    lua_pop(L, 1);
    lua_pushnil(L);
    if (known) lua_rawseti(L, -2, (lua_Integer)serial);
  }
  lua_settop(L, top);
}

static void push_promises (lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &promises_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &promises_key);
}

/* Pushes the function of a promise that is not kept yet. */
static void push_function (lua_State *L, const gb_node *promise, const char *name) {
  push_promises(L);
  if (lua_rawgeti(L, -1, (lua_Integer)promise->serial) != LUA_TTABLE)
    lgb_fail(L, GB_EINTERNAL, "a promise has lost its function");
  lua_getfield(L, -1, name);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Calls its function, which may compute and raise. */
static void keep (lua_State *L, lgb_session *s, gb_node *promise) {
  const int top = lua_gettop(L);
  const char *where = s->graph->where;
  gb_error err;
  push_function(L, promise, "keep");
  lua_call(L, 0, 1);
  gb_node *y = lgb_checknode(L, top + 1);
  s->graph->where = where;
  if (gb_node_kept(promise) == NULL) { /* the function may have looked at it */
    lgb_result(L, gb_node_keep(promise, y, &err), &err);
    push_promises(L);
    lua_pushnil(L);
    lua_rawseti(L, -2, (lua_Integer)promise->serial);
  }
  lua_settop(L, top);
}

/* The first promise below the nodes that is not kept, or NULL. */
static gb_node *find_open (lua_State *L, size_t n, gb_node *const *nodes, gb_walk walk) {
  gb_node **order, *found = NULL;
  size_t count;
  gb_error err;
  lgb_result(L, gb_graph_order(nodes[0]->graph, n, nodes, walk, &order, &count, &err), &err);
  for (size_t i = 0; i < count && found == NULL; i++)
    if ((order[i]->flags & GB_NODE_PROMISE) != 0 && gb_node_kept(order[i]) == NULL) found = order[i];
  free(order);
  return found;
}

static void redeem (lua_State *L, lgb_tensor *t, gb_node *n) {
  gb_node *now;
  gb_error err;
  lgb_result(L, gb_redeem(n, &now, &err), &err);
  gb_node_unref(t->node);
  t->node = now;
}

gb_node **lgb_redeemed (lua_State *L, lgb_session *s, size_t n, gb_node *const *nodes, gb_walk walk,
                        bool keeping) {
  gb_node **now = lgb_scratch(L, n + 1, sizeof *now);
  for (size_t i = 0; i < n; i++) now[i] = nodes[i];
  lua_newtable(L); /* handles */
  if (n == 0 || s->graph->npromises == 0) return now;
  const int handles = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "promises");
  for (size_t i = 0; i < n; i++) {
    lgb_tensor *t = lgb_newtensor(L);
    redeem(L, t, nodes[i]);
    now[i] = t->node;
    lua_rawseti(L, handles, (lua_Integer)i + 1);
  }
  for (gb_node *open; keeping && (open = find_open(L, n, now, walk)) != NULL;) {
    keep(L, s, open);
    for (size_t i = 0; i < n; i++) {
      lua_rawgeti(L, handles, (lua_Integer)i + 1);
      lgb_tensor *t = lua_touserdata(L, -1);
      redeem(L, t, t->node);
      now[i] = t->node;
      lua_pop(L, 1);
    }
  }
  return now;
}

gb_node *lgb_checkcomputable (lua_State *L, int arg) {
  gb_node *n = lgb_checknode(L, arg);
  lgb_session *s = lgb_session_of(L);
  if (s->graph->npromises == 0) return n;
  lgb_redeemed(L, s, 1, &n, GB_WALK_READ, true);
  /* nil: the last promise was collected on the way, and n stands for itself */
  if (lua_rawgeti(L, -1, 1) != LUA_TNIL) lua_replace(L, arg);
  else lua_pop(L, 1);
  lua_pop(L, 2);
  return lgb_checknode(L, arg);
}

gb_node *lgb_checkathome (lua_State *L, int arg) {
  gb_node *n = lgb_checkcomputable(L, arg);
  gb_error err;
  lgb_result(L, gb_node_at_home(n, "solve", &err), &err);
  return n;
}

void lgb_pushpromised (lua_State *L, size_t n, gb_node *const *nodes) {
  lua_newtable(L);
  if (n == 0 || nodes[0]->graph->npromises == 0) return;
  gb_node **order;
  size_t count;
  gb_error err;
  lgb_result(L, gb_graph_order(nodes[0]->graph, n, nodes, GB_WALK_READ, &order, &count, &err), &err);
  size_t open = 0;
  for (size_t i = 0; i < count; i++)
    if ((order[i]->flags & GB_NODE_PROMISE) != 0 && gb_node_kept(order[i]) == NULL)
      order[open++] = gb_node_ref(order[i]);
  /* where it raises, counts stay: better than nodes in use that are gone */
  gb_node **held = lgb_scratch(L, open + 1, sizeof *held);
  for (size_t i = 0; i < open; i++) held[i] = order[i];
  free(order);
  for (size_t i = 0; i < open; i++) {
    lua_createtable(L, 0, 2);
    lgb_newtensor(L)->node = held[i];
    lua_setfield(L, -2, "tensor");
    push_function(L, held[i], "cost");
    lua_setfield(L, -2, "cost");
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  lua_pop(L, 1);
}

/* core.promise(shape, dtype, keep, cost): a tensor that stands for what keep() gives, which is called when
** it is looked at. cost(): what that will take, as gb.plan says it. Neither refers to the tensor, which
** would last as long as they do. */
static int promise_new (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_shape shape = lgb_checkshape(L, 1, 1);
  const gb_dtype dtype = lgb_checkdtype(L, lgb_checkstring(L, 2));
  lgb_checktype(L, 3, LUA_TFUNCTION);
  lgb_checktype(L, 4, LUA_TFUNCTION);
  lua_settop(L, 4);
  lgb_tensor *t = lgb_newtensor(L);
  push_promises(L);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, 3);
  lua_setfield(L, -2, "keep");
  lua_pushvalue(L, 4);
  lua_setfield(L, -2, "cost");
  gb_error err;
  s->graph->broken = broken;
  s->graph->broken_ud = s;
  const gb_status st = gb_node_promise(s->graph, &shape, dtype, &t->node, &err);
  if (st != GB_OK) return lgb_raise(L, st, &err);
  lua_rawseti(L, -2, (lua_Integer)t->node->serial);
  lua_settop(L, 5);
  return 1;
}

/* core.is_promise(x): does nobody know yet what x stands for? */
static int promise_open (lua_State *L) {
  const gb_node *n = lgb_checknode(L, 1);
  lua_pushboolean(L, (n->flags & GB_NODE_PROMISE) != 0 && gb_node_kept(n) == NULL);
  return 1;
}

const luaL_Reg lgb_promise_functions[] = {
    {"is_promise", promise_open}, {"promise", promise_new}, {NULL, NULL}};
