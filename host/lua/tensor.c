/* tensor.c - the tensor handle: lifetime, argument checks, fields, indexing.
** A tensor is an immutable value: facts are fields, work is methods, and assignment is an error that says
** so. */
#include <string.h>

#include "lua/lgb.h"

/* x:close(), __close and __gc: idempotent, cannot fail on its own type */
static int m_close (lua_State *L) {
  lgb_tensor *t = luaL_checkudata(L, 1, LGB_TENSOR);
  gb_node *node = t->node;
  lgb_session *s = t->session;
  t->node = NULL;
  t->session = NULL;
  if (s == NULL) return 0;
  lgb_unref(s, node);
  lgb_session_release(s);
  return 0;
}

static int holder_gc (lua_State *L) {
  gb_tensor_clear(luaL_checkudata(L, 1, LGB_HOLDER));
  return 0;
}

/* A holder is emptied by its binding in the normal case; it counts on the storage, whose ledger the
** session keeps. */
gb_tensor *lgb_newholder (lua_State *L) {
  gb_tensor *t = lua_newuserdatauv(L, sizeof *t, 1);
  *t = (gb_tensor){0};
  lgb_setmeta(L, LGB_HOLDER);
  return t;
}

static int fail_closed (lua_State *L) {
  return lgb_fail(L, GB_ECLOSED,
                  "closed tensor: x:close(), the end of its <close> variable or of a gb.func released it; "
                  "use it before, or leave it to the collector, as models need their data");
}

gb_node *lgb_tonode (lua_State *L, int arg) {
  lgb_tensor *t = luaL_testudata(L, arg, LGB_TENSOR);
  if (t == NULL) {
    const int type = lua_type(L, arg);
    if ((type != LUA_TTABLE && type != LUA_TUSERDATA) || luaL_getmetafield(L, arg, "__tensor") == LUA_TNIL)
      return NULL;
    lua_pushvalue(L, arg);
    lua_call(L, 1, 1);
    t = luaL_testudata(L, -1, LGB_TENSOR);
    if (t == NULL) luaL_error(L, "'__tensor' must return a tensor, got %s", luaL_typename(L, -1));
    lua_replace(L, arg);
  }
  if (t->node == NULL) fail_closed(L);
  return t->node;
}

gb_node *lgb_checknode (lua_State *L, int arg) {
  gb_node *n = lgb_tonode(L, arg);
  if (n == NULL) lgb_typeerror(L, arg, "tensor");
  return n;
}

gb_node *lgb_pushnumber (lua_State *L, int arg, gb_dtype t) {
  gb_graph *g = lgb_session_of(L)->graph;
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  int whole;
  const lua_Integer i = lua_tointegerx(L, arg, &whole);
  if (t == GB_I64 && whole) lgb_result(L, gb_node_integer(g, i, &y->node, &err), &err);
  else {
    const double v = lua_isboolean(L, arg) ? lua_toboolean(L, arg) : lua_tonumber(L, arg);
    lgb_result(L, gb_node_const(g, v, t, &y->node, &err), &err);
  }
  return y->node;
}

/* The type a bare Lua number takes beside 'other': whole numbers go with positions, all numbers with
** floats. Ops that keep i32 adopt it from i64. */
static gb_dtype number_dtype (lua_State *L, int arg, const gb_node *other) {
  if (other == NULL) return lgb_session_of(L)->dtype;
  const gb_dtype t = gb_node_dtype(other);
  if (gb_dtype_is_float(t)) return t;
  int whole;
  lua_tointegerx(L, arg, &whole);
  return gb_dtype_is_whole(t) && whole ? GB_I64 : lgb_session_of(L)->dtype;
}

bool lgb_is_exact (lua_State *L, int arg) {
  if (!lua_isinteger(L, arg)) return true;
  const lua_Integer i = lua_tointeger(L, arg);
  const double v = (double)i;
  return v < 0x1p63 && (lua_Integer)v == i;
}

/* No tensor says what type the number at 'arg' has: it is a float, and not rounded in silence. */
static void check_alone (lua_State *L, int arg) {
  const long long v = lua_tointeger(L, arg);
  if (!lgb_is_exact(L, arg))
    lgb_fail(L, GB_EDTYPE, "f64 does not hold %lld: gb.tensor(%lld, {dtype = \"i64\"}) keeps it", v, v);
}

/* Beside floats a number is a float; a whole one that f64 would round is refused: the script meant
** another. */
static void check_beside_floats (lua_State *L, int arg) {
  if (lgb_is_exact(L, arg)) return;
  const long long v = lua_tointeger(L, arg);
  lgb_fail(L, GB_EDTYPE, "f64 does not hold %lld: write %lld.0 for the nearest number that it holds", v, v);
}

gb_node *lgb_checkoperand (lua_State *L, int arg, const gb_node *other) {
  gb_node *n = lgb_tonode(L, arg);
  if (n != NULL) return n;
  const int type = lua_type(L, arg);
  if (type != LUA_TNUMBER && type != LUA_TBOOLEAN) lgb_typeerror(L, arg, "tensor or number");
  if (other == NULL) check_alone(L, arg);
  const gb_dtype t = type == LUA_TBOOLEAN ? GB_BOOL : number_dtype(L, arg, other);
  if (other != NULL && gb_dtype_is_float(t)) check_beside_floats(L, arg);
  gb_node *y = lgb_pushnumber(L, arg, t);
  lua_replace(L, arg);
  return y;
}

void lgb_checkpair (lua_State *L, int a, int b, gb_node **x, gb_node **y) {
  const gb_node *first = lgb_tonode(L, a), *second = lgb_tonode(L, b);
  if (first == NULL && second == NULL) check_alone(L, b);
  *x = lgb_checkoperand(L, a, second);
  *y = lgb_checkoperand(L, b, first != NULL ? first : *x);
}

int lgb_checkaxis (lua_State *L, int arg, const gb_node *x, int extra) {
  const int n = gb_node_shape(x)->ndim + extra;
  if (lua_isnoneornil(L, arg) && n > 0)
    lgb_argerror(L, arg,
                 lua_pushfstring(L, "a dimension expected, 1 to %d, or -1 for the last; got no value", n));
  const lua_Integer d = lgb_checkinteger(L, arg);
  if (d >= 1 && d <= n) return (int)d - 1;
  if (d <= -1 && d >= -n) return (int)d + n;
  const int has = gb_node_shape(x)->ndim;
  if (n == 0)
    return lgb_fail(L, GB_EINDEX, "%s: a tensor of one element has no dimensions", lgb_function_name(L));
  return lgb_fail(L, GB_EINDEX,
                  "%s: dimension %lld of a tensor with %d dimension%s: 1 to %d, or -1 for the last",
                  lgb_function_name(L), (long long)d, has, lgb_plural((uint64_t)has), n);
}

size_t lgb_checkposition (lua_State *L, int arg, size_t extent, const char *what) {
  const lua_Integer i = lgb_checkinteger(L, arg), n = (lua_Integer)extent;
  if (i >= 1 && i <= n) return (size_t)i - 1;
  if (i <= -1 && i >= -n) return (size_t)(i + n);
  return (size_t)lgb_fail(L, GB_EINDEX, "%s %lld is out of range 1..%lld", what, (long long)i, (long long)n);
}

static size_t checkextent (lua_State *L, int index, int arg) {
  int whole;
  const lua_Integer n = lua_tointegerx(L, index, &whole);
  if (!whole || lua_type(L, index) != LUA_TNUMBER) {
    if (lua_type(L, index) == LUA_TSTRING)
      return (size_t)lgb_argerror(
          L, arg, "extent expected, got string; options come last, in a table: {dtype = \"f32\"}");
    if (lua_type(L, index) != LUA_TNUMBER) return (size_t)lgb_typeerror(L, arg, "extent");
    return (size_t)lgb_fail(L, GB_ESHAPE, "%s: an extent must be a whole number, got %s",
                            lgb_function_name(L), lgb_shown(L, index));
  }
  if (n < -1 || n > (lua_Integer)PTRDIFF_MAX / 8)
    return (size_t)lgb_fail(L, GB_ESHAPE, "%s: bad extent %lld: extents are whole numbers, 0 or more",
                            lgb_function_name(L), (long long)n);
  return (size_t)n; /* -1 becomes SIZE_MAX: inferred or kept, where that has a meaning */
}

void lgb_refuse_library (lua_State *L, int arg) {
  luaL_checkstack(L, 4, "arguments");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "gibbous");
  const bool is = lua_rawequal(L, -1, arg);
  lua_pop(L, 2);
  if (!is) return;
  const char *name = lgb_function_name(L);
  lgb_fail(L, GB_EOPTION,
           "%s: the first argument is the library: call the function with a dot, not a colon: gb.%s(...)",
           name, name);
}

/* A list of extents has the keys 1 .. n and stands alone. */
static void check_list (lua_State *L, int arg, int last) {
  const lua_Unsigned n = lua_rawlen(L, arg);
  lgb_refuse_library(L, arg);
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && (lua_Unsigned)lua_tointeger(L, -2) <= n)
      continue;
    lgb_fail(L, GB_EOPTION, "a shape is a list of extents, got a table with the key '%s'; options come last",
             luaL_tolstring(L, -2, NULL));
  }
  if (last > arg)
    lgb_fail(L, GB_ESHAPE, "a list of extents is the whole shape, got %s behind it", lgb_shown(L, arg + 1));
}

gb_shape lgb_checkshape (lua_State *L, int first, int last) {
  gb_shape s = {.ndim = 0};
  if (first <= last && lua_istable(L, first)) {
    const lua_Unsigned n = lua_rawlen(L, first);
    check_list(L, first, last);
    if (n > GB_MAXDIM)
      lgb_fail(L, GB_ESHAPE, "%llu dimensions, at most %d are possible", (unsigned long long)n, GB_MAXDIM);
    for (lua_Unsigned i = 1; i <= n; i++) {
      lua_rawgeti(L, first, (lua_Integer)i);
      s.dim[s.ndim++] = checkextent(L, -1, first);
      lua_pop(L, 1);
    }
    return s;
  }
  if (last - first + 1 > GB_MAXDIM)
    lgb_fail(L, GB_ESHAPE, "%d dimensions, at most %d are possible", last - first + 1, GB_MAXDIM);
  for (int i = first; i <= last; i++) s.dim[s.ndim++] = checkextent(L, i, i);
  return s;
}

gb_node **lgb_checklist (lua_State *L, int arg, size_t *n) {
  if (!lua_istable(L, arg)) lgb_typeerror(L, arg, "list of tensors");
  *n = (size_t)lua_rawlen(L, arg);
  lua_createtable(L, (int)*n, 0);
  gb_node **nodes = lgb_scratch(L, *n, sizeof *nodes);
  for (size_t i = 0; i < *n; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) == LUA_TNIL) lgb_argerror(L, arg, "list with a hole");
    nodes[i] = lgb_tonode(L, lua_gettop(L));
    if (nodes[i] == NULL) {
      const char *what =
          lua_pushfstring(L, "tensor expected at position %d, got %s", (int)i + 1, luaL_typename(L, -1));
      lgb_argerror(L, arg, what);
    }
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  return nodes;
}

/* -- shapes as Lua values: a list that prints and compares */

#define SHAPE_META "gibbous.shape"

void lgb_pushshape (lua_State *L, const gb_shape *s) {
  lua_createtable(L, s->ndim, 0);
  for (int i = 0; i < s->ndim; i++) {
    lua_pushinteger(L, (lua_Integer)s->dim[i]);
    lua_rawseti(L, -2, i + 1);
  }
  luaL_setmetatable(L, SHAPE_META);
}

static int shape_tostring (lua_State *L) {
  lgb_checktype(L, 1, LUA_TTABLE);
  const lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (n == 0) lua_pushliteral(L, "()");
  luaL_Buffer b;
  if (n > 0) luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, 'x');
    lua_rawgeti(L, 1, i);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    luaL_addvalue(&b);
  }
  if (n > 0) luaL_pushresult(&b);
  return 1;
}

static int shape_eq (lua_State *L) {
  bool equal = lua_istable(L, 1) && lua_istable(L, 2) && lua_rawlen(L, 1) == lua_rawlen(L, 2);
  for (lua_Integer i = 1; equal && i <= (lua_Integer)lua_rawlen(L, 1); i++) {
    lua_rawgeti(L, 1, i);
    lua_rawgeti(L, 2, i);
    equal = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  lua_pushboolean(L, equal);
  return 1;
}

/* Negative positions count from the end. */
static int shape_index (lua_State *L) {
  lgb_checktype(L, 1, LUA_TTABLE);
  const lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (lua_isinteger(L, 2) && lua_tointeger(L, 2) < 0) {
    lua_rawgeti(L, 1, lua_tointeger(L, 2) + n + 1);
    return 1;
  }
  return 0;
}

/* -- fields and positions */

static const struct hint {
  const char *name, *hint;
} hints[] = {{"T", "use x:t()"},
             {"add", "use x + y"},
             {"all_close", "use x:allclose(y)"},
             {"append", "tensors never change: use gb.cat({x, y}, d)"},
             {"astype", "use x:to{dtype = ...}"},
             {"backward", "use gb.grad(y, xs)"},
             {"cat", "use gb.cat({x, y}, d)"},
             {"clone", "tensors never change: no copy is needed"},
             {"cholesky", "use gb.linalg.cholesky(A)"},
             {"copy", "tensors never change: no copy is needed"},
             {"contiguous", "layout is the planner's affair: leave it out"},
             {"cpu", "use x:to{device = 'cpu'}"},
             {"cuda", "use x:to{device = 'cuda'}"},
             {"data", "use x:totable() for its numbers, x:detach() without gradients"},
             {"dim", "use x.ndim"},
             {"div", "use x / y"},
             {"dot", "use x:matmul(y)"},
             {"double", "use x:to{dtype = 'f64'}"},
             {"eigh", "use gb.linalg.eigh(A)"},
             {"fill", "use gb.full(shape, v)"},
             {"flatten", "use x:reshape(-1)"},
             {"float", "use x:to{dtype = 'f32'}"},
             {"grad", "gradients are values: use gb.grad(y, xs)"},
             {"half", "use x:to{dtype = 'f16'}"},
             {"inv", "use gb.linalg.solve(A, b)"},
             {"inverse", "use gb.linalg.solve(A, b)"},
             {"length", "use #x"},
             {"logdet", "use gb.linalg.logdet(A)"},
             {"masked_select", "use x:index(d, mask)"},
             {"mm", "use x:matmul(y)"},
             {"mul", "use x * y"},
             {"mv", "use x:matmul(y)"},
             {"narrow", "use x:slice(d, first, last)"},
             {"numpy", "use x:totable()"},
             {"pow", "use x ^ y"},
             {"power", "use x ^ y"},
             {"qr", "use gb.linalg.qr(A)"},
             {"repeat_", "use x:tile(...)"},
             {"size", "use x.shape"},
             {"solve", "use gb.linalg.solve(A, b)"},
             {"square", "use x^2"},
             {"stack", "use gb.stack({x, y}, d)"},
             {"sub", "use x - y"},
             {"svd", "use gb.linalg.svd(A)"},
             {"tolist", "use x:totable()"},
             {"transpose", "use x:t() or x:permute(...)"},
             {"type", "use x.dtype"},
             {"view", "use x:reshape(...)"},
             {"zero_", "tensors never change: make a new one"}};

static const char *hint_for (const char *key) {
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
    if (strcmp(hints[i].name, key) == 0) return hints[i].hint;
  return NULL;
}

static int unknown_field (lua_State *L, const char *key) {
  const char *hint = hint_for(key);
  if (hint != NULL) return lgb_fail(L, GB_EINDEX, "a tensor has no field '%s': %s", key, hint);
  const char **names = lgb_scratch(L, 256, sizeof *names); /* the keys live in the methods table */
  size_t n = 0;
  for (lua_pushnil(L); n < 250 && lua_next(L, lua_upvalueindex(1)); lua_pop(L, 1))
    names[n++] = lua_tostring(L, -2);
  static const char *const facts[] = {"shape", "ndim", "numel", "dtype", "device"};
  for (size_t i = 0; i < 5; i++) names[n++] = facts[i];
  char near[64];
  if (lgb_nearest(key, names, near, sizeof near))
    return lgb_fail(L, GB_EINDEX, "a tensor has no field '%s', did you mean '%s'?", key, near);
  return lgb_fail(L, GB_EINDEX, "a tensor has no field '%s'; at the prompt, x: and Tab list what it has",
                  key);
}

static int push_fact (lua_State *L, const gb_node *n, const char *key) {
  if (strcmp(key, "shape") == 0) lgb_pushshape(L, gb_node_shape(n));
  else if (strcmp(key, "ndim") == 0) lua_pushinteger(L, gb_node_shape(n)->ndim);
  else if (strcmp(key, "numel") == 0) lua_pushinteger(L, (lua_Integer)gb_shape_numel(gb_node_shape(n)));
  else if (strcmp(key, "dtype") == 0) lua_pushstring(L, gb_dtype_name(gb_node_dtype(n)));
  else if (strcmp(key, "device") == 0) lua_pushstring(L, gb_node_device(n)->name);
  else return unknown_field(L, key);
  return 1;
}

/* x[i]: a lazy view; nil one past the end, so that ipairs ends */
static int push_element (lua_State *L, gb_node *x) {
  const gb_shape *shape = gb_node_shape(x);
  if (shape->ndim == 0)
    return lgb_fail(L, GB_EINDEX, "a tensor of one element has no positions, use x:item()");
  const lua_Integer n = (lua_Integer)shape->dim[0];
  if (lua_tointeger(L, 2) == n + 1) {
    lua_pushnil(L);
    return 1;
  }
  const size_t at = lgb_checkposition(L, 2, (size_t)n, "position");
  lgb_enter(L);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_select(x, 0, at, &y->node, &err), &err);
}

/* upvalue 1: methods */
static int tensor_index (lua_State *L) {
  lgb_tensor *t = luaL_checkudata(L, 1, LGB_TENSOR);
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    if (t->node == NULL) return fail_closed(L);
    return push_fact(L, t->node, lua_tostring(L, 2));
  }
  if (t->node == NULL) return fail_closed(L);
  int whole;
  lua_tointegerx(L, 2, &whole);
  if (whole) return push_element(L, t->node);
  return lgb_fail(
      L, GB_EINDEX,
      "a tensor is indexed by a position or a name, got %s%s (use x:index(d, idx) for lists and masks)",
      lua_type(L, 2) == LUA_TNUMBER ? "the number " : "",
      lua_type(L, 2) == LUA_TNUMBER ? lgb_shown(L, 2) : luaL_typename(L, 2));
}

static int tensor_newindex (lua_State *L) {
  luaL_checkudata(L, 1, LGB_TENSOR);
  return lgb_fail(L, GB_EINDEX, "tensors never change: use y = x:put(d, idx, v)");
}

static int tensor_len (lua_State *L) {
  const gb_node *x = lgb_checknode(L, 1);
  if (gb_node_shape(x)->ndim == 0) return lgb_fail(L, GB_EINDEX, "a tensor of one element has no length");
  lua_pushinteger(L, (lua_Integer)gb_node_shape(x)->dim[0]);
  return 1;
}

static int tensor_order (lua_State *L) {
  return lgb_fail(L, GB_EOPTION,
                  "tensors have no order: use x:lt(y), x:le(y) for elements, x:item() for numbers");
}

static int tensor_call (lua_State *L) {
  return lgb_fail(L, GB_EOPTION,
                  "a tensor is no function and cannot be called: x[i] is a row, x:sum() calls a method");
}

static int tensor_pairs (lua_State *L) {
  return lgb_fail(L, GB_EOPTION, "a tensor is no table: for i, row in ipairs(x), or pairs(x:totable())");
}

static int tensor_concat (lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* Pushes the table of methods. The events are shared with params through core.operators. */
void lgb_tensor_meta (lua_State *L) {
  static const luaL_Reg meta[] = {{"__call", tensor_call},
                                  {"__close", m_close},
                                  {"__concat", tensor_concat},
                                  {"__gc", m_close},
                                  {"__le", tensor_order},
                                  {"__len", tensor_len},
                                  {"__lt", tensor_order},
                                  {"__newindex", tensor_newindex},
                                  {"__pairs", tensor_pairs},
                                  {"__tostring", lgb_tensor_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg holder[] = {{"__gc", holder_gc}, {NULL, NULL}};
  static const luaL_Reg shape[] = {{"__concat", lgb_concat},
                                   {"__eq", shape_eq},
                                   {"__index", shape_index},
                                   {"__tostring", shape_tostring},
                                   {NULL, NULL}};
  lgb_newmeta(L, LGB_HOLDER, holder);
  lgb_newmeta(L, SHAPE_META, shape);
  lua_pop(L, 2);
  lua_newtable(L); /* methods */
  lua_pushcfunction(L, m_close);
  lua_setfield(L, -2, "close");
  luaL_setfuncs(L, lgb_grad_methods, 0);
  luaL_setfuncs(L, lgb_linalg_methods, 0);
  luaL_setfuncs(L, lgb_map_methods, 0);
  luaL_setfuncs(L, lgb_observe_methods, 0);
  luaL_setfuncs(L, lgb_reduce_methods, 0);
  luaL_setfuncs(L, lgb_shape_methods, 0);
  lgb_map_register(L);
  lgb_reduce_register(L);
  lgb_newmeta(L, LGB_TENSOR, meta);
  lgb_operators(L);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, tensor_index, 1);
  lua_setfield(L, -2, "__index");
  /* what Lua's own functions say they got */
  lua_pushliteral(L, "gibbous.tensor; x:item() is the number of one element");
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}
