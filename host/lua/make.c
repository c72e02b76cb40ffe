/* make.c - makers: gb.tensor from Lua tables, constants, ranges, random numbers. All but gb.tensor are
** lazy. */
#include <math.h>
#include <stdio.h>

#include "base/plain.h"
#include "lua/lgb.h"

static const char *const make_options[] = {"device", "dtype", NULL};
static const char *const random_options[] = {"device", "dtype", "seed", NULL};

static bool is_dtype_given (lua_State *L, int options) {
  if (options == 0 || !lgb_option(L, options, "dtype")) return false;
  lua_pop(L, 1);
  return true;
}

/* 'what' is a float because nothing was said: then nothing is rounded in silence. */
static int refuse_inexact (lua_State *L, lua_Integer v, const char *what) {
  return lgb_fail(L, GB_EDTYPE,
                  "%s: f64 does not hold %lld: {dtype = \"i64\"} keeps it, {dtype = \"f64\"} rounds it", what,
                  (long long)v);
}

static void check_exact (lua_State *L, int arg, int options, const char *what) {
  if (!is_dtype_given(L, options) && !lgb_is_exact(L, arg)) refuse_inexact(L, lua_tointeger(L, arg), what);
}

/* -- gb.tensor */

/* The shape read down the first elements of nested lists; the leaves' kind decides the default type. */
static gb_shape shape_of_lists (lua_State *L, int arg, bool *booleans) {
  gb_shape s = {.ndim = 0};
  lua_pushvalue(L, arg);
  while (lua_istable(L, -1) && lgb_tonode(L, lua_gettop(L)) == NULL) {
    if (s.ndim == GB_MAXDIM) lgb_fail(L, GB_ESHAPE, "lists are nested more than %d deep", GB_MAXDIM);
    s.dim[s.ndim++] = (size_t)lua_rawlen(L, -1);
    if (lua_rawlen(L, -1) == 0) break;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  }
  *booleans = lua_isboolean(L, -1);
  lua_pop(L, 1);
  return s;
}

typedef struct filler {
  gb_tensor *out;
  size_t at;              /* next element */
  bool is_free;           /* nobody asked for this type */
  size_t path[GB_MAXDIM]; /* where the walk is, from 1, for messages */
} filler;

static const char *path_text (lua_State *L, const filler *f, int depth) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i <= depth; i++) {
    char one[32];
    lua_Unsigned at = f->path[i];
    snprintf(one, sizeof one, "[%llu]", (unsigned long long)at);
    luaL_addstring(&b, one);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static void fill_whole (lua_State *L, filler *f, int depth) {
  int whole;
  void *to = gb_host_elements(f->out);
  const lua_Integer v = lua_tointegerx(L, -1, &whole);
  if (!whole) {
    const char *got = lgb_shown(L, -1);
    lgb_fail(L, GB_EDTYPE, "element %s is not a whole number, as %s holds, but %s: without dtype it is kept",
             path_text(L, f, depth - 1), gb_dtype_name(f->out->dtype), got);
  }
  if (f->out->dtype == GB_I64) ((int64_t *)to)[f->at++] = v;
  else if (v == gb_i64_to_i32(v)) ((int32_t *)to)[f->at++] = gb_i64_to_i32(v);
  else
    lgb_fail(L, GB_EDTYPE, "element %s, %lld, is out of range, expected an i32 of -2^31 .. 2^31 - 1",
             path_text(L, f, depth - 1), (long long)v);
}

static void fill_element (lua_State *L, filler *f, int depth) {
  const bool want_boolean = f->out->dtype == GB_BOOL;
  const int type = lua_type(L, -1);
  if (type == LUA_TBOOLEAN && want_boolean) {
    gb_element_set(gb_host_elements(f->out), f->at++, GB_BOOL, lua_toboolean(L, -1));
  } else if (type == LUA_TNUMBER && gb_dtype_is_whole(f->out->dtype)) {
    fill_whole(L, f, depth);
  } else if (type == LUA_TNUMBER && !want_boolean) {
    if (f->is_free && !lgb_is_exact(L, -1)) {
      const lua_Integer v = lua_tointeger(L, -1);
      refuse_inexact(L, v,
                     depth == 0 ? "gb.tensor" : lua_pushfstring(L, "element %s", path_text(L, f, depth - 1)));
    }
    gb_element_set(gb_host_elements(f->out), f->at++, f->out->dtype, lua_tonumber(L, -1));
  } else if (lgb_tonode(L, lua_gettop(L)) != NULL) {
    lgb_fail(L, GB_EDTYPE, "element %s is a tensor: join tensors with gb.stack or gb.cat",
             path_text(L, f, depth - 1));
  } else {
    const char *got = luaL_typename(L, -1);
    lgb_fail(L, type == LUA_TTABLE ? GB_ESHAPE : GB_EDTYPE, "element %s must be a %s, got %s%s",
             path_text(L, f, depth - 1), want_boolean ? "boolean" : "number", got,
             type == LUA_TNIL ? "; a list has no holes: 0 / 0 is a value that is missing" : "");
  }
}

/* The list or element on top of the stack; its nesting is bounded by the shape. */
static void fill (lua_State *L, filler *f, int depth) {
  const gb_shape *s = &f->out->shape;
  if (depth == s->ndim) {
    fill_element(L, f, depth);
    return;
  }
  if (!lua_istable(L, -1)) {
    const char *got = luaL_typename(L, -1);
    lgb_fail(L, GB_ESHAPE, "ragged list: row %s is a %s, a list of %zu expected", path_text(L, f, depth - 1),
             got, s->dim[depth]);
  }
  const size_t n = (size_t)lua_rawlen(L, -1);
  if (n != s->dim[depth])
    lgb_fail(L, GB_ESHAPE, "ragged list: row %s has %zu element%s, %zu expected", path_text(L, f, depth - 1),
             n, lgb_plural(n), s->dim[depth]);
  for (size_t i = 0; i < n; i++) {
    f->path[depth] = i + 1;
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    fill(L, f, depth + 1);
    lua_pop(L, 1);
  }
}

static int tensor_of_tensor (lua_State *L, gb_node *x, gb_dtype t, int device) {
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  if (gb_node_dtype(x) == t) y->node = gb_node_ref(x);
  else lgb_result(L, gb_node_build(x->graph, GB_OP_CAST, 1, &x, NULL, NULL, t, &y->node, &err), &err);
  return lgb_pushmoved(L, y->node, device);
}

/* gb.tensor(t, {dtype, device}): t is a number, a boolean, nested lists, or a tensor */
static int make_tensor (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  lgb_checkoptions(L, 2, make_options);
  gb_node *x = lgb_tonode(L, 1);
  const int device = lgb_optdevice(L, 2, x != NULL ? x->device : 0);
  if (x != NULL) return tensor_of_tensor(L, x, lgb_optdtype(L, 2, gb_node_dtype(x)), device);
  const int type = lua_type(L, 1);
  if (type != LUA_TTABLE && type != LUA_TNUMBER && type != LUA_TBOOLEAN)
    return lgb_typeerror(L, 1, "number or list");
  luaL_checkstack(L, 4 * GB_MAXDIM, "nested lists");
  bool booleans;
  const gb_shape shape = shape_of_lists(L, 1, &booleans);
  const gb_dtype t = lgb_optdtype(L, 2, booleans ? GB_BOOL : s->dtype);
  gb_tensor *holder = lgb_newholder(L);
  gb_error err;
  lgb_charge(L, s, gb_shape_bytes(&shape, t));
  lgb_result(L, gb_tensor_new(&s->home->ledger, t, &shape, GB_MEM_TENSOR, s->graph->where, "", holder, &err),
             &err);
  filler f = {.out = holder, .is_free = !is_dtype_given(L, 2)};
  lua_pushvalue(L, 1);
  fill(L, &f, 0);
  lgb_tensor *y = lgb_newtensor(L);
  lgb_result(L, lgb_leaf(s, device, holder, NULL, &y->node, &err), &err);
  return 1;
}

/* -- constants and ranges */

/* Shape from the arguments first..., with a trailing option table taken off. Sets *options to its index, 0
** = none. */
static gb_shape checkmaker (lua_State *L, int first, const char *const *names, int *options) {
  int last = lua_gettop(L);
  *options = 0;
  if (last >= first && lgb_isoptions(L, last) && !(last == first && lua_isnil(L, last))) {
    lua_pushnil(L);
    const bool empty = lua_next(L, last) == 0;
    if (!empty) lua_pop(L, 2);
    if (!empty || last > first) *options = last--; /* a lone {} is the shape of one element */
  }
  if (*options != 0) {
    lgb_checkoptions(L, *options, names);
    lgb_optdevice(L, *options, 0);
  }
  const gb_shape s = lgb_checkshape(L, first, last);
  for (int i = 0; i < s.ndim; i++)
    if (s.dim[i] == SIZE_MAX)
      lgb_fail(L, GB_ESHAPE, "%s: bad extent -1: extents are whole numbers, 0 or more", lgb_function_name(L));
  return s;
}

static gb_dtype maker_dtype (lua_State *L, int options, gb_dtype def) {
  return options != 0 ? lgb_optdtype(L, options, def) : def;
}

/* The number or boolean at 'arg', everywhere. */
static int push_full (lua_State *L, const gb_shape *shape, int arg, gb_dtype t) {
  gb_error err;
  gb_node *one = lgb_pushnumber(L, arg, t);
  if (shape->ndim == 0) return 1;
  lgb_tensor *y = lgb_newtensor(L);
  return lgb_result(L, gb_expand(one, shape, &y->node, &err), &err);
}

/* gb.zeros and gb.ones */
static int make_all (lua_State *L, lua_Integer v) {
  lgb_session *s = lgb_enter(L);
  int o;
  const gb_shape shape = checkmaker(L, 1, make_options, &o);
  lua_pushinteger(L, v);
  return push_full(L, &shape, lua_gettop(L), maker_dtype(L, o, s->dtype));
}

/* gb.zeros(n, m, ..., {dtype, device}) */
static int make_zeros (lua_State *L) { return make_all(L, 0); }

/* gb.ones(n, m, ..., {dtype, device}) */
static int make_ones (lua_State *L) { return make_all(L, 1); }

/* gb.full({n, m}, v, {dtype, device}) */
static int make_full (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  lgb_checktype(L, 1, LUA_TTABLE);
  const int type = lua_type(L, 2);
  if (type != LUA_TNUMBER && type != LUA_TBOOLEAN) return lgb_typeerror(L, 2, "number or boolean");
  lgb_checkoptions(L, 3, make_options);
  lgb_optdevice(L, 3, 0);
  const gb_dtype t = lgb_optdtype(L, 3, type == LUA_TBOOLEAN ? GB_BOOL : s->dtype);
  check_exact(L, 2, 3, "gb.full");
  const gb_shape shape = lgb_checkshape(L, 1, 1);
  return push_full(L, &shape, 2, t);
}

/* gb.empty(n, m, ..., {dtype, device}): a shape without a value, for plans */
static int make_empty (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  int o;
  const gb_shape shape = checkmaker(L, 1, make_options, &o);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(
      L, gb_node_placeholder(s->graph, &shape, maker_dtype(L, o, s->dtype), NULL, &y->node, &err), &err);
}

static size_t checkcount (lua_State *L, int arg) {
  const lua_Integer n = lgb_checkinteger(L, arg);
  if (n < 0 || n > (lua_Integer)PTRDIFF_MAX / 8)
    lgb_fail(L, GB_ESHAPE, "%s: bad extent %lld: extents are whole numbers, 0 or more", lgb_function_name(L),
             (long long)n);
  return (size_t)n;
}

static int push_given (lua_State *L, lgb_session *s, gb_op op, const gb_attr *attr, const gb_shape *shape,
                       gb_dtype t) {
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_build(s->graph, op, 0, NULL, attr, shape, t, &y->node, &err), &err);
}

/* gb.eye(n, {dtype, device}) */
static int make_eye (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  const size_t n = checkcount(L, 1);
  lgb_checkoptions(L, 2, make_options);
  lgb_optdevice(L, 2, 0);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_eye(s->graph, n, lgb_optdtype(L, 2, s->dtype), &y->node, &err), &err);
}

static int push_range (lua_State *L, lgb_session *s, double from, double step, size_t n, gb_dtype t) {
  const gb_attr attr = {.f = {from, step}};
  const gb_shape shape = gb_shape_of(1, &n);
  return push_given(L, s, GB_OP_RANGE, &attr, &shape, t);
}

static lua_Integer checkwhole (lua_State *L, int arg, gb_dtype t, const char *what) {
  int whole;
  const lua_Integer v = lua_tointegerx(L, arg, &whole);
  if (!whole)
    lgb_fail(L, GB_EDTYPE, "%s: whole numbers expected for %s, got %s", what, gb_dtype_name(t),
             lgb_shown(L, arg));
  return v;
}

/* All elements lie between the first and the last. */
static void check_ends (lua_State *L, lua_Integer first, lua_Integer last, gb_dtype t, const char *what) {
  const lua_Integer v = first == gb_i64_to_i32(first) ? last : first;
  if (t == GB_I32 && v != gb_i64_to_i32(v))
    lgb_fail(L, GB_EDTYPE, "%s: %lld is out of range, expected an i32 of -2^31 .. 2^31 - 1", what,
             (long long)v);
}

static int range_is_too_long (lua_State *L) { return lgb_fail(L, GB_ESHAPE, "range: too many elements"); }

/* No sum below leaves i64: the last element lies between a and b. */
static int push_whole_range (lua_State *L, lgb_session *s, lua_Integer a, lua_Integer b, lua_Integer step,
                             gb_dtype t) {
  const gb_attr attr = {.i = {a, step}};
  const bool rises = step > 0;
  const lua_Unsigned span = rises ? (lua_Unsigned)b - (lua_Unsigned)a : (lua_Unsigned)a - (lua_Unsigned)b;
  const lua_Unsigned steps = span / (rises ? (lua_Unsigned)step : 0 - (lua_Unsigned)step);
  if (rises ? a > b : a < b) return push_given(L, s, GB_OP_RANGE, &attr, &(gb_shape){.ndim = 1}, t);
  if (steps >= (lua_Unsigned)1 << 48) return range_is_too_long(L);
  check_ends(L, a, (lua_Integer)((lua_Unsigned)a + steps * (lua_Unsigned)step), t, "range");
  const gb_shape shape = gb_shape_of(1, (size_t[]){(size_t)steps + 1});
  return push_given(L, s, GB_OP_RANGE, &attr, &shape, t);
}

/* gb.range(a, b, step, {dtype}): a, a + step, ... up to b, which is included when it is hit within
** rounding */
static int make_range (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 4);
  if (lgb_isoptions(L, 3) && lua_isnil(L, 4)) {
    lua_pushnil(L);
    lua_insert(L, 3);
    lua_settop(L, 4);
  }
  const double a = lgb_checknumber(L, 1), b = lgb_checknumber(L, 2), step = lgb_numberor(L, 3, 1);
  lgb_checkoptions(L, 4, make_options);
  lgb_optdevice(L, 4, 0);
  if (!(step != 0) || !isfinite(a) || !isfinite(b) || !isfinite(step))
    return lgb_fail(L, GB_EOPTION, "range: finite bounds and a step other than 0 expected");
  const gb_dtype t = lgb_optdtype(L, 4, s->dtype);
  for (int i = 1; i <= 3; i++) check_exact(L, i, 4, "range");
  if (gb_dtype_is_whole(t)) {
    const lua_Integer by = lua_isnil(L, 3) ? 1 : checkwhole(L, 3, t, "range");
    return push_whole_range(L, s, checkwhole(L, 1, t, "range"), checkwhole(L, 2, t, "range"), by, t);
  }
  const double steps = floor((b - a) / step + 1e-9);
  if (steps >= 0x1p48) return range_is_too_long(L);
  return push_range(L, s, a, step, steps < 0 ? 0 : (size_t)steps + 1, t);
}

/* The points between a and b where b - a overflows: twice those between a/2 and b/2, none of which rounding
** takes beyond an end. */
static int push_wide_linspace (lua_State *L, lgb_session *s, double a, double b, size_t n, gb_dtype t) {
  const gb_attr attr = {.f = {a / 2, (b / 2 - a / 2) / (double)(n - 1)}};
  const gb_shape shape = gb_shape_of(1, &n);
  lgb_tensor *low = lgb_newtensor(L), *high = lgb_newtensor(L), *half = lgb_newtensor(L);
  lgb_tensor *inside = lgb_newtensor(L), *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_node_const(s->graph, fmin(a, b) / 2, t, &low->node, &err), &err);
  lgb_result(L, gb_node_const(s->graph, fmax(a, b) / 2, t, &high->node, &err), &err);
  lgb_result(L, gb_node_build(s->graph, GB_OP_RANGE, 0, NULL, &attr, &shape, t, &half->node, &err), &err);
  lgb_result(L, gb_clamp(half->node, low->node, high->node, &inside->node, &err), &err);
  return lgb_result(L, gb_scale(inside->node, 2, &y->node, &err), &err);
}

/* gb.linspace(a, b, n, {dtype}): n evenly spaced points, both ends included */
static int make_linspace (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 4);
  const double a = lgb_checknumber(L, 1), b = lgb_checknumber(L, 2);
  const size_t n = checkcount(L, 3);
  lgb_checkoptions(L, 4, make_options);
  lgb_optdevice(L, 4, 0);
  const gb_dtype t = lgb_optdtype(L, 4, s->dtype);
  if (!isfinite(a) || !isfinite(b))
    return lgb_fail(L, GB_EOPTION, "linspace: finite bounds expected, got %g and %g", gb_plain(a),
                    gb_plain(b));
  for (int i = 1; i <= 2; i++) check_exact(L, i, 4, "linspace");
  if (n > 1 && !gb_dtype_is_whole(t) && isinf(b - a)) return push_wide_linspace(L, s, a, b, n, t);
  const double step = n > 1 ? (b - a) / (double)(n - 1) : 0;
  if (gb_dtype_is_whole(t)) {
    const lua_Integer first = checkwhole(L, 1, t, "linspace");
    const gb_attr attr = {.i = {first, (int64_t)step}};
    if (step != trunc(step) || fabs(step) >= 0x1p53)
      return lgb_fail(L, GB_EDTYPE, "linspace: a step of %.17g does not give whole numbers, expected %s",
                      gb_plain(step), gb_dtype_name(t));
    if (n > 0) check_ends(L, first, n > 1 ? gb_f64_to_i64(b) : first, t, "linspace");
    return push_given(L, s, GB_OP_RANGE, &attr, &(gb_shape){.ndim = 1, .dim = {n}}, t);
  }
  return push_range(L, s, a, step, n, t);
}

/* -- random numbers */

/* {seed, stream}: a seed of one's own starts its own stream, else the next one of gb.seed. */
static gb_attr next_stream (lua_State *L, lgb_session *s, int options) {
  if (options != 0 && lgb_option(L, options, "seed")) {
    lua_pop(L, 1);
    return (gb_attr){.i = {lgb_optinteger(L, options, "seed", 0), 0}};
  }
  return (gb_attr){.i = {(int64_t)s->graph->seed, (int64_t)s->graph->next_stream++}};
}

static gb_dtype random_dtype (lua_State *L, lgb_session *s, int options) {
  const gb_dtype t = maker_dtype(L, options, s->dtype);
  if (!gb_dtype_is_float(t)) lgb_fail(L, GB_EDTYPE, "random numbers are floats, got %s", gb_dtype_name(t));
  return t;
}

static int push_random (lua_State *L, gb_op op) {
  lgb_session *s = lgb_enter(L);
  int o;
  const gb_shape shape = checkmaker(L, 1, random_options, &o);
  const gb_dtype t = random_dtype(L, s, o);
  const gb_attr attr = next_stream(L, s, o);
  return push_given(L, s, op, &attr, &shape, t);
}

/* gb.rand(n, m, ..., {dtype, seed}): uniform in (0, 1) */
static int make_rand (lua_State *L) { return push_random(L, GB_OP_RAND); }

/* gb.randn(n, m, ..., {dtype, seed}): standard normal */
static int make_randn (lua_State *L) { return push_random(L, GB_OP_RANDN); }

/* gb.randperm(n, {seed}): the positions 1 .. n in random order, i64 */
static int make_randperm (lua_State *L) {
  static const char *const names[] = {"device", "seed", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  const size_t n = checkcount(L, 1);
  lgb_checkoptions(L, 2, names);
  lgb_optdevice(L, 2, 0);
  const gb_shape shape = gb_shape_of(1, &n);
  const gb_attr attr = next_stream(L, s, lua_isnil(L, 2) ? 0 : 2);
  return push_given(L, s, GB_OP_RANDPERM, &attr, &shape, GB_I64);
}

/* gb.sobol(n, d, {seed, dtype}): n points of a digitally shifted Sobol sequence */
static int make_sobol (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 3);
  const size_t dim[2] = {checkcount(L, 1), checkcount(L, 2)};
  lgb_checkoptions(L, 3, random_options);
  lgb_optdevice(L, 3, 0);
  const gb_shape shape = gb_shape_of(2, dim);
  const int o = lua_isnil(L, 3) ? 0 : 3;
  const gb_dtype t = random_dtype(L, s, o);
  const gb_attr attr = next_stream(L, s, o);
  return push_given(L, s, GB_OP_SOBOL, &attr, &shape, t);
}

const luaL_Reg lgb_make_functions[] = {
    {"empty", make_empty}, {"eye", make_eye},     {"full", make_full},     {"linspace", make_linspace},
    {"ones", make_ones},   {"rand", make_rand},   {"randn", make_randn},   {"randperm", make_randperm},
    {"range", make_range}, {"sobol", make_sobol}, {"tensor", make_tensor}, {"zeros", make_zeros},
    {NULL, NULL}};
