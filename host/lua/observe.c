/* observe.c - where lazy values become numbers: eval, item, totable, comparisons, conversion. */
#include <math.h>
#include <string.h>

#include "base/plain.h"
#include "lua/lgb.h"

/* -- evaluation */

static size_t bytes_missing (size_t n, gb_node *const *nodes) {
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t one =
        gb_node_has_value(nodes[i]) ? 0 : gb_shape_bytes(gb_node_shape(nodes[i]), gb_node_dtype(nodes[i]));
    if (__builtin_add_overflow(bytes, one, &bytes)) return SIZE_MAX;
  }
  return bytes;
}

static void evaluate (lua_State *L, lgb_session *s, size_t n, gb_node *const *nodes) {
  const size_t bytes = bytes_missing(n, nodes);
  if (bytes > 0) lgb_charge(L, s, bytes);
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_eval(s->graph, n, nodes, &err)), &err);
}

void lgb_eval (lua_State *L, lgb_session *s, size_t n, gb_node *const *nodes) {
  const int top = lua_gettop(L);
  gb_node *const *now = s->graph->npromises > 0 ? lgb_redeemed(L, s, n, nodes, GB_WALK_READ, true) : nodes;
  evaluate(L, s, n, now);
  for (size_t i = 0; i < n; i++)
    if (now[i] != nodes[i]) gb_node_take_values(nodes[i], now[i]);
  lua_settop(L, top);
}

const gb_tensor *lgb_value (lua_State *L, lgb_session *s, gb_node *n) {
  if (!gb_node_has_value(n)) lgb_eval(L, s, 1, &n);
  return &n->out[0].tensor;
}

gb_tensor lgb_host_value (lua_State *L, lgb_session *s, gb_node *n) {
  gb_tensor host;
  gb_error err;
  lgb_result(L, gb_host_of(lgb_value(L, s, n), &host, &err), &err);
  return host;
}

gb_status lgb_leaf (lgb_session *s, int device, gb_tensor *held, const char *name, gb_node **out,
                    gb_error *err) {
  gb_status st = gb_tensor_move(&gb_graph_device(s->graph, device)->ledger, held, err);
  if (st == GB_OK) st = gb_node_leaf(s->graph, held, 0, name, out, err);
  gb_tensor_clear(held);
  return st;
}

/* Nodes found in nested tables. 'anchor' is the stack index of a list that keeps alive what params gave. */
typedef struct gathering {
  gb_node **node; /* NULL: only count */
  size_t count;
  int anchor;
} gathering;

#define MOST_NESTED 32

static void gather (lua_State *L, int arg, gathering *g, int depth) {
  luaL_checkstack(L, 4, "nested lists");
  lua_pushvalue(L, arg);
  gb_node *n = lgb_tonode(L, lua_gettop(L));
  if (n != NULL) {
    if (g->node != NULL) {
      g->node[g->count] = n;
      lua_rawseti(L, g->anchor, (lua_Integer)g->count + 1);
    } else {
      lua_pop(L, 1);
    }
    g->count++;
    return;
  }
  if (!lua_istable(L, -1))
    lgb_fail(L, GB_EOPTION, "eval: tensors or tables of tensors expected, got %s", luaL_typename(L, -1));
  if (depth == MOST_NESTED) lgb_fail(L, GB_EOPTION, "eval: tables are nested more than %d deep", MOST_NESTED);
  const int table = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) gather(L, lua_gettop(L), g, depth + 1);
  lua_pop(L, 1);
}

/* A function that the core calls leaves the history of what was there before to who is using it. */
void lgb_drop_history (const lgb_session *s, gb_node *x) {
  if (s->calls == 0 || x->serial >= s->calls_from) gb_node_drop_inputs(x);
}

/* gb.eval(a, b, {list}, ...): one joint traversal; history goes unless a gradient may need it; gives its
** arguments back */
static int observe_eval (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const int nargs = lua_gettop(L);
  lua_newtable(L);
  gathering g = {.anchor = nargs + 1};
  for (int i = 1; i <= nargs; i++) gather(L, i, &g, 0);
  gb_node **nodes = lgb_scratch(L, g.count, sizeof *nodes);
  g = (gathering){.node = nodes, .anchor = nargs + 1};
  for (int i = 1; i <= nargs; i++) gather(L, i, &g, 0);
  lgb_eval(L, s, g.count, nodes);
  for (size_t i = 0; i < g.count; i++) lgb_drop_history(s, nodes[i]);
  lua_settop(L, nargs);
  return nargs;
}

/* x:eval(): computes x now and lets its history go, unless a gradient may need it; gives x */
static int m_eval (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 1);
  gb_node *x = lgb_checknode(L, 1);
  lgb_eval(L, s, 1, &x);
  lgb_drop_history(s, x);
  return 1;
}

/* -- numbers */

void lgb_pushelement (lua_State *L, const gb_tensor *t, const size_t *index) {
  if (gb_dtype_is_whole(t->dtype)) {
    lua_pushinteger(L, gb_tensor_integer_at(t, index));
  } else if (t->dtype == GB_BOOL) {
    lua_pushboolean(L, gb_tensor_at(t, index) != 0);
  } else {
    const double v = gb_tensor_at(t, index);
    lua_pushnumber(L, gb_plain(v));
  }
}

/* x:item(): the number of a tensor of one element */
static int m_item (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  char text[GB_NODE_TEXT];
  if (gb_shape_numel(gb_node_shape(x)) != 1)
    return lgb_fail(L, GB_ESHAPE, "item: one element expected, got shape %s: x:totable() gives all of them",
                    gb_node_text(x, text));
  const size_t origin[GB_MAXDIM] = {0};
  const gb_tensor t = lgb_host_value(L, s, x);
  lgb_pushelement(L, &t, origin);
  return 1;
}

static void push_rows (lua_State *L, const gb_tensor *t, size_t *index, int axis) {
  if (axis == t->shape.ndim) {
    lgb_pushelement(L, t, index);
    return;
  }
  const size_t n = t->shape.dim[axis];
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (index[axis] = 0; index[axis] < n; index[axis]++) {
    push_rows(L, t, index, axis + 1);
    lua_rawseti(L, -2, (lua_Integer)index[axis] + 1);
  }
}

/* x:totable(): nested lists; a number for a tensor without dimensions */
static int m_totable (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const gb_tensor t = lgb_host_value(L, s, x);
  luaL_checkstack(L, 2 * GB_MAXDIM, "totable");
  size_t index[GB_MAXDIM] = {0};
  push_rows(L, &t, index, 0);
  return 1;
}

/* -- comparisons */

/* Pushes op(x, y). */
static gb_node *push_map2 (lua_State *L, gb_op op, gb_node *x, gb_node *y) {
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_map2(op, x, y, &z->node, &err), &err);
  return z->node;
}

static gb_node *push_map1 (lua_State *L, gb_op op, gb_node *x) {
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_map1(op, x, &z->node, &err), &err);
  return z->node;
}

static gb_node *push_number (lua_State *L, double v, const gb_node *beside) {
  lua_pushnumber(L, v);
  return lgb_checkoperand(L, lua_gettop(L), beside);
}

static int push_all (lua_State *L, lgb_session *s, gb_node *holds) {
  lgb_tensor *z = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_reduce(GB_OP_ALL, holds, 0, false, &z->node, &err), &err);
  const size_t origin[GB_MAXDIM] = {0};
  const gb_tensor t = lgb_host_value(L, s, z->node);
  lua_pushboolean(L, gb_tensor_at(&t, origin) != 0);
  return 1;
}

/* Errors name the comparison, not the ops that it is made of. */
static void check_together (lua_State *L, const char *who, gb_node *x, gb_node *y) {
  int device;
  gb_error err;
  lgb_result(L, gb_find_device(who, 2, (gb_node *[]){x, y}, &device, &err), &err);
}

/* x:equal(y): the same shape, type and elements; NaN equals nothing */
static int m_equal (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1), *y = lgb_checknode(L, 2);
  if (gb_node_dtype(x) != gb_node_dtype(y) || !gb_shape_equal(gb_node_shape(x), gb_node_shape(y))) {
    lua_pushboolean(L, false);
    return 1;
  }
  check_together(L, "equal", x, y);
  return push_all(L, s, push_map2(L, GB_OP_EQ, x, y));
}

/* x:allclose(y, {rtol = 1e-5, atol = 1e-8}): |x - y| <= atol + rtol |y| everywhere; NaN is close to
** nothing */
static int m_allclose (lua_State *L) {
  static const char *const names[] = {"atol", "rtol", NULL};
  gb_node *x, *y;
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  lgb_checknode(L, 1);
  lgb_checkpair(L, 1, 2, &x, &y);
  lgb_checkoptions(L, 3, names);
  check_together(L, "allclose", x, y);
  const double rtol = lgb_optnumber(L, 3, "rtol", 1e-5), atol = lgb_optnumber(L, 3, "atol", 1e-8);
  gb_node *gap = push_map1(L, GB_OP_ABS, push_map2(L, GB_OP_SUB, x, y));
  gb_node *size = push_map1(L, GB_OP_ABS, y);
  gb_node *slack = push_map2(L, GB_OP_MUL, size, push_number(L, rtol, size));
  gb_node *bound = push_map2(L, GB_OP_ADD, slack, push_number(L, atol, slack));
  gb_node *near = push_map2(L, GB_OP_LE, gap, bound);
  return push_all(L, s, push_map2(L, GB_OP_OR, near, push_map2(L, GB_OP_EQ, x, y))); /* equal infinities */
}

int lgb_pushmoved (lua_State *L, gb_node *x, int device) {
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_move(x, device, &y->node, &err), &err);
}

/* What x:to is asked for: x:to 'f32', x:to 'cuda', or x:to{dtype, device}. */
typedef struct target {
  gb_dtype dtype;
  int device;
} target;

/* "f31" may be meant for a dtype: kinds of devices have no digits, but behind a colon. */
static bool is_sized (const char *name) {
  return name[strcspn(name, ":0123456789")] != '\0' && strchr(name, ':') == NULL;
}

/* What other libraries call types; no device is called so. */
static bool is_numeric_type (const char *name) {
  static const char *const types[] = {"bfloat", "boolean", "double", "float", "half",
                                      "int",    "integer", "long",   "single"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(name, types[i]) == 0) return true;
  return false;
}

static target checktarget (lua_State *L, lgb_session *s, const gb_node *x) {
  static const char *const names[] = {"device", "dtype", NULL};
  target to = {gb_node_dtype(x), x->device};
  if (lua_type(L, 2) == LUA_TSTRING) {
    const char *name = lua_tostring(L, 2);
    if (is_numeric_type(name)) lgb_checkdtype(L, name);
    if (is_sized(name) && !lgb_means_device(s, name)) to.dtype = lgb_checkdtype(L, name);
    else if (!gb_dtype_parse(name, &to.dtype)) to.device = lgb_devicenumber(L, s, name);
    return to;
  }
  if (!lua_istable(L, 2)) lgb_typeerror(L, 2, "a dtype, a device or a table of them");
  lgb_checkoptions(L, 2, names);
  const char *device = lgb_optstring(L, 2, "device", NULL);
  if (device != NULL) to.device = lgb_devicenumber(L, s, device);
  to.dtype = lgb_optdtype(L, 2, to.dtype);
  return to;
}

/* x:to("cuda", "f32"): the second would be ignored. */
static void check_alone (lua_State *L) {
  gb_dtype t;
  if (lua_isnoneornil(L, 3)) return;
  const char *first = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
  const char *second = lua_type(L, 3) == LUA_TSTRING ? lua_tostring(L, 3) : NULL;
  const bool both = first != NULL && second != NULL;
  if (both && gb_dtype_parse(second, &t) && !gb_dtype_parse(first, &t))
    lgb_fail(L, GB_EOPTION, "to: one argument expected, got two: x:to{dtype = \"%s\", device = \"%s\"}",
             second, first);
  if (both && gb_dtype_parse(first, &t) && !gb_dtype_parse(second, &t))
    lgb_fail(L, GB_EOPTION, "to: one argument expected, got two: x:to{dtype = \"%s\", device = \"%s\"}",
             first, second);
  lgb_fail(L, GB_EOPTION, "to: one argument expected, got more: x:to{dtype = \"f32\", device = \"cuda\"}");
}

/* x:to(dtype), x:to(device), x:to{dtype, device} */
static int m_to (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  check_alone(L);
  const target to = checktarget(L, s, x);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  if (to.dtype == gb_node_dtype(x)) y->node = gb_node_ref(x);
  else lgb_result(L, gb_node_build(x->graph, GB_OP_CAST, 1, &x, NULL, NULL, to.dtype, &y->node, &err), &err);
  return to.device == x->device ? 1 : lgb_pushmoved(L, y->node, to.device);
}

const luaL_Reg lgb_observe_methods[] = {
    {"allclose", m_allclose}, {"equal", m_equal}, {"eval", m_eval}, {"item", m_item}, {"to", m_to},
    {"totable", m_totable},   {NULL, NULL}};

const luaL_Reg lgb_observe_functions[] = {{"eval", observe_eval}, {NULL, NULL}};
