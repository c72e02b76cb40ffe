/* func.c - functions of tensors written in Lua as ops of the graph; gb.func is in Lua.
**
** The core calls them through the registry of graph/call.h: 'run' between two steps of a plan, 'grad' and
** 'batch' while a graph is built. Every call is protected; an error becomes ECALLBACK, the core unwinds,
** and lgb_raise raises the same object again. Inside 'run' all memory is the scratch of the step
** (device/ledger.h): evaluating there plans within what the function declared, and the arguments are lent:
** their leaves lose their values when it is over. */
#include <stdlib.h>
#include <string.h>

#include "iterate/planned_op.h"
#include "lua/lgb.h"

#define LGB_FUNC "gibbous.function"
#define OVERHEAD 4096 /* scratch beside the bytes declared: blocks that live there are rounded up */
#define BYTES(attr) ((attr).i[1])

/* Lives as long as its entry in the registry. Its callbacks are a table {run, grad, bytes} in the Lua
** registry. A callback that refers to a result of its own function keeps both alive until the state
** closes. */
typedef struct func {
  lgb_session *session;
  lua_State *main;
  int callbacks; /* LUA_NOREF: none yet */
  char name[64];
} func;

typedef struct func_box { /* the userdata: a count on the entry */
  int number;             /* -1: empty */
} func_box;

static void func_release (void *ud) {
  func *f = ud;
  /* the main thread is in a C function whenever this can run */
  luaL_unref(f->main, LUA_REGISTRYINDEX, f->callbacks);
  free(f);
}

/* -- calling from the core */

/* One call. The protected parts take it as a light userdata. */
typedef struct visit {
  const func *f;
  gb_graph *graph;
  int nin;
  const gb_tensor *in; /* run */
  gb_tensor *out;
  size_t declared;
  gb_node *y, *const *node, *const *out_bar; /* grad; batch: node */
  const bool *need;
  gb_node **in_bar;
  gb_attr *attr;         /* batch, resize */
  const gb_shape *shape; /* resize */
} visit;

/* Calls 'body' with the visit, protected, as if outside the core. */
static gb_status call_lua (visit *v, lua_CFunction body, gb_error *err) {
  lgb_session *s = v->f->session;
  lua_State *L = s->L;
  const bool busy = s->busy;
  const char *where = s->graph->where;
  const int tracing = s->graph->tracing;
  if (!lua_checkstack(L, LUA_MINSTACK)) return gb_fail(err, GB_ENOMEM, "no stack to call %s", v->f->name);
  if (s->calls++ == 0) s->calls_from = s->graph->next_serial;
  s->busy = false;
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, v);
  const int rc = lua_pcall(L, 1, 0, 0);
  s->L = L;
  s->busy = busy;
  s->graph->where = where;
  s->graph->tracing = tracing;
  s->calls--;
  if (rc == LUA_OK) return GB_OK;
  lgb_keep_error(L);
  return gb_fail(err, GB_ECALLBACK, "%s raised an error", v->f->name);
}

static lua_Integer integer_field (lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  const lua_Integer i = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return i;
}

/* A refusal inside a function is about what the function declared. */
static void explain_refusal (lua_State *L, const visit *v) {
  char declared[GB_BYTES_TEXT], asked[GB_BYTES_TEXT];
  const lua_Integer held = (lua_Integer)v->declared - integer_field(L, "have"),
                    need = held + integer_field(L, "need");
  lua_getfield(L, 1, "message");
  const char *why = lua_tostring(L, -1);
  lua_pushfstring(L, "%s declares %s for its own work, which asks for %s: %s", v->f->name,
                  gb_bytes_text(v->declared, declared), gb_bytes_text((size_t)need, asked),
                  why != NULL ? why : "");
  lua_setfield(L, 1, "message");
  lua_pushinteger(L, need);
  lua_setfield(L, 1, "need");
  lua_pushinteger(L, (lua_Integer)v->declared);
  lua_setfield(L, 1, "have");
  lua_pushstring(L, gb_status_code(GB_EREFUSED));
  lua_setfield(L, 1, "code");
  lua_pushstring(L, v->f->name);
  lua_setfield(L, 1, "func");
  lua_settop(L, 1);
}

static bool is_refusal (lua_State *L) {
  if (!lua_istable(L, 1) || !lua_getmetatable(L, 1)) return false;
  luaL_getmetatable(L, LGB_ERROR);
  const bool ours = lua_rawequal(L, -1, -2);
  lua_settop(L, 1);
  if (!ours) return false;
  lua_getfield(L, 1, "code");
  lua_getfield(L, 1, "func");
  const char *code = lua_tostring(L, 2);
  const bool is =
      code != NULL && lua_isnil(L, 3) &&
      (strcmp(code, gb_status_code(GB_EREFUSED)) == 0 || strcmp(code, gb_status_code(GB_ENOMEM)) == 0);
  lua_settop(L, 1);
  return is;
}

/* The message handler. upvalue 1: the visit */
static int note_error (lua_State *L) {
  const visit *v = lua_touserdata(L, lua_upvalueindex(1));
  if (v->out != NULL && is_refusal(L)) explain_refusal(L, v);
  lgb_wrap_error(L, GB_ECALLBACK, v->f->name);
  return 1;
}

/* Calls 'part' with the visit and the 'nargs' values on top, which it pops. Where it failed what it
** raised, as noted, is left. */
static void call_noting (lua_State *L, visit *v, lua_CFunction part, int nargs, bool *failed) {
  const int base = lua_gettop(L) - nargs + 1;
  lua_pushlightuserdata(L, v);
  lua_pushcclosure(L, note_error, 1);
  lua_insert(L, base);
  lua_pushcfunction(L, part);
  lua_insert(L, base + 1);
  lua_pushlightuserdata(L, v);
  lua_insert(L, base + 2);
  *failed = lua_pcall(L, nargs + 1, 0, base) != LUA_OK;
  lua_remove(L, base);
}

static void push_callback (lua_State *L, const func *f, const char *name) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->callbacks);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

static lgb_tensor *push_node (lua_State *L, gb_node *n) {
  lgb_tensor *t = lgb_newtensor(L);
  t->node = gb_node_ref(n);
  return t;
}

/* -- forward */

/* The result into its buffer, everything on the way in lent memory. */
static gb_status evaluate_into (const visit *v, gb_node *y, gb_error *err) {
  gb_ledger *l = &v->graph->device->ledger;
  if (gb_node_has_value(y)) { return gb_tensor_copy(v->out, &y->out[0].tensor, err); }
  const size_t bytes = gb_shape_bytes(&v->out->shape, v->out->dtype), room = gb_ledger_room(l);
  const gb_plan_options o = {.budget = room + bytes + 1,
                             .at_home = true}; /* 0 would mean: whatever there is */
  gb_plan *p;
  gb_status st = gb_plan_new(v->graph, 1, &y, &o, &p, err);
  if (st == GB_EREFUSED && err->need > bytes) err->need -= bytes, err->have = room;
  GB_TRY(st);
  size_t size = 0;
  gb_block arena = {0};
  st = gb_plan_arena(p, true, &size, err);
  if (st == GB_OK) st = gb_ledger_alloc(l, GB_MEM_ARENA, size, "", "arena of a function", &arena, err);
  if (st == GB_OK) st = gb_plan_run_into(p, 0, NULL, NULL, v->out, true, arena.data, err);
  gb_ledger_free(l, &arena);
  gb_plan_free(p);
  return st;
}

static void deliver (lua_State *L, const visit *v) {
  char got[GB_SHAPE_TEXT], want[GB_SHAPE_TEXT];
  gb_node *y = lgb_tonode(L, lua_gettop(L));
  if (y == NULL)
    lgb_fail(L, GB_ECALLBACK, "%s: forward must give a tensor, got %s", v->f->name, luaL_typename(L, -1));
  if (!gb_shape_equal(gb_node_shape(y), &v->out->shape))
    lgb_fail(L, GB_ESHAPE, "%s: forward gave shape %s, its shape says %s", v->f->name,
             gb_shape_text(gb_node_shape(y), got), gb_shape_text(&v->out->shape, want));
  if (gb_node_dtype(y) != v->out->dtype)
    lgb_fail(L, GB_EDTYPE, "%s: forward gave %s, %s was announced", v->f->name,
             gb_dtype_name(gb_node_dtype(y)), gb_dtype_name(v->out->dtype));
  lgb_session *s = v->f->session;
  gb_error err;
  lgb_result(L, LGB_CORE(s, evaluate_into(v, y, &err)), &err);
}

/* (visit, handles) */
static int run_part (lua_State *L) {
  const visit *v = lua_touserdata(L, 1);
  luaL_checkstack(L, v->nin + LUA_MINSTACK, "arguments");
  push_callback(L, v->f, "run");
  for (int i = 1; i <= v->nin; i++) lua_rawgeti(L, 2, i);
  lua_call(L, v->nin, 1);
  lgb_enter(L);
  deliver(L, v);
  return 0;
}

/* Takes back what was lent: the handles are closed, and what was built on them has nothing to be computed
** from. */
static void take_back (lua_State *L, int handles, int n) {
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, handles, i);
    lgb_tensor *t = lua_touserdata(L, -1);
    gb_node *leaf = t->node;
    t->node = NULL;
    gb_planned_take_back(leaf);
    lua_pop(L, 1);
  }
}

/* (visit) */
static int run_body (lua_State *L) {
  visit *v = lua_touserdata(L, 1);
  char name[96];
  bool failed;
  gb_error err;
  lua_createtable(L, v->nin, 0);
  for (int i = 0; i < v->nin; i++) {
    snprintf(name, sizeof name, "argument %d of %s", i + 1, v->f->name);
    lgb_tensor *t = lgb_newtensor(L);
    lua_rawseti(L, 2, i + 1);
    const gb_status st = gb_planned_lend(v->graph, &v->in[i], name, &t->node, &err);
    if (st != GB_OK) {
      take_back(L, 2, i + 1);
      return lgb_raise(L, st, &err);
    }
  }
  lua_pushvalue(L, 2);
  call_noting(L, v, run_part, 1, &failed);
  take_back(L, 2, v->nin);
  return failed ? lua_error(L) : 0;
}

/* Frees what the function evaluated and no longer needs: the rest outlives it. */
static void drop_unused (lua_State *L, gb_graph *g) {
  const gb_ledger *l = &g->device->ledger;
  if (l->live != NULL) gb_cache_drop(g, SIZE_MAX);
  if (l->live != NULL && l->reclaim != NULL) {
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT);
  }
}

static gb_status func_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                           void *scratch, gb_error *err) {
  const func *f = ud;
  visit v = {.f = f, .graph = g, .nin = o->nin, .in = in, .out = out, .declared = (size_t)BYTES(o->attr)};
  gb_planned_run run;
  gb_planned_begin(&run, g, scratch, v.declared + OVERHEAD, v.declared, 0);
  const gb_status st = call_lua(&v, run_body, err);
  drop_unused(f->session->L, g);
  gb_planned_end(&run);
  return st;
}

/* (visit): the callback takes shapes and gives bytes */
static int resize_part (lua_State *L) {
  const visit *v = lua_touserdata(L, 1);
  luaL_checkstack(L, v->nin + LUA_MINSTACK, "arguments");
  push_callback(L, v->f, "bytes");
  for (int i = 0; i < v->nin; i++) lgb_pushshape(L, &v->shape[i]);
  lua_call(L, v->nin, 1);
  BYTES(*v->attr) = lgb_checkinteger(L, -1);
  return 0;
}

/* What fewer rows take; where the function cannot say, what all of them do. */
static void func_resize (void *ud, gb_opaque *o) {
  gb_error err;
  visit v = {.f = ud, .nin = o->nin, .shape = o->in_shape, .attr = &o->attr};
  v.graph = v.f->session->graph;
  (void)call_lua(&v, resize_part, &err);
}

static size_t func_scratch (void *ud, const gb_opaque *o) {
  (void)ud;
  return (size_t)BYTES(o->attr) + OVERHEAD;
}

/* -- backward and batches */

static gb_node *check_cotangent (lua_State *L, const visit *v, int i, int arg) {
  char got[GB_SHAPE_TEXT], want[GB_SHAPE_TEXT];
  const gb_node *x = v->y->in[i];
  gb_node *g = lgb_tonode(L, arg);
  if (g == NULL)
    lgb_fail(L, GB_ECALLBACK, "%s: backward must give a tensor or nil for argument %d, got %s", v->f->name,
             i + 1, luaL_typename(L, arg));
  if (!gb_shape_equal(gb_node_shape(g), gb_node_shape(x)))
    lgb_fail(L, GB_ESHAPE, "%s: backward gave shape %s for argument %d, which has shape %s", v->f->name,
             gb_shape_text(gb_node_shape(g), got), i + 1, gb_shape_text(gb_node_shape(x), want));
  if (gb_node_dtype(g) != gb_node_dtype(x))
    lgb_fail(L, GB_EDTYPE, "%s: backward gave %s for argument %d, which is %s", v->f->name,
             gb_dtype_name(gb_node_dtype(g)), i + 1, gb_dtype_name(gb_node_dtype(x)));
  return g;
}

/* (visit): the callback takes the cotangent and the arguments */
static int grad_part (lua_State *L) {
  const visit *v = lua_touserdata(L, 1);
  luaL_checkstack(L, 2 * v->nin + LUA_MINSTACK, "arguments");
  push_callback(L, v->f, "grad");
  push_node(L, v->out_bar[0]);
  for (int i = 0; i < v->nin; i++) push_node(L, v->y->in[i]);
  lua_call(L, v->nin + 1, v->nin);
  for (int i = 0; i < v->nin; i++)
    if (v->need[i] && !lua_isnil(L, 2 + i)) check_cotangent(L, v, i, 2 + i);
  for (int i = 0; i < v->nin; i++) /* nothing raises any more */
    if (v->need[i] && !lua_isnil(L, 2 + i))
      v->in_bar[i] = gb_node_ref(((lgb_tensor *)lua_touserdata(L, 2 + i))->node);
  return 0;
}

/* (visit): the callback takes shapes and gives bytes */
static int batch_part (lua_State *L) {
  const visit *v = lua_touserdata(L, 1);
  luaL_checkstack(L, v->nin + LUA_MINSTACK, "arguments");
  push_callback(L, v->f, "bytes");
  if (lua_isnil(L, -1)) return 0; /* it declares none */
  for (int i = 0; i < v->nin; i++) lgb_pushshape(L, gb_node_shape(v->node[i]));
  lua_call(L, v->nin, 1);
  BYTES(*v->attr) = lgb_checkinteger(L, -1);
  return 0;
}

static int noted (lua_State *L, lua_CFunction part) {
  bool failed;
  call_noting(L, lua_touserdata(L, 1), part, 0, &failed);
  return failed ? lua_error(L) : 0;
}

static int grad_body (lua_State *L) { return noted(L, grad_part); }
static int batch_body (lua_State *L) { return noted(L, batch_part); }

static gb_status func_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                            gb_error *err) {
  visit v = {
      .f = ud, .graph = y->graph, .nin = y->nin, .y = y, .out_bar = out_bar, .need = need, .in_bar = in_bar};
  return call_lua(&v, grad_body, err);
}

static gb_status func_batch (void *ud, int nin, gb_node *const *in, const gb_shape *shape, gb_attr *attr,
                             gb_error *err) {
  (void)shape;
  visit v = {.f = ud, .graph = in[0]->graph, .nin = nin, .node = in, .attr = attr};
  return call_lua(&v, batch_body, err);
}

/* -- for the Lua library */

static int box_gc (lua_State *L) {
  func_box *box = luaL_checkudata(L, 1, LGB_FUNC);
  const int number = box->number;
  box->number = -1;
  if (number >= 0) gb_call_unref(number);
  return 0;
}

static lua_State *main_thread (lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

/* core.func(name, {run, grad, bytes}, batched, map_axes) -> an op for core.call. Without 'bytes' no plan
** takes it. */
static int func_new (lua_State *L) {
  const char *name = lgb_checkstring(L, 1);
  lgb_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 4);
  func_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->number = -1;
  lgb_setmeta(L, LGB_FUNC);
  const bool differentiable = lua_getfield(L, 2, "grad") != LUA_TNIL,
             planned = lua_getfield(L, 2, "bytes") != LUA_TNIL;
  const unsigned map_axes = (unsigned)lgb_integeror(L, 4, 0);
  lua_pushvalue(L, 2);
  const int callbacks = luaL_ref(L, LUA_REGISTRYINDEX);
  func *f = malloc(sizeof *f);
  gb_call c = {.scratch_bytes = planned ? func_scratch : NULL,
               .run = func_run,
               .grad = differentiable ? func_grad : NULL,
               .batch = lua_toboolean(L, 3) ? func_batch : NULL,
               .release = func_release,
               .map_axes = map_axes,
               .resize = planned && map_axes != 0 ? func_resize : NULL,
               .ud = f};
  if (f != NULL) {
    *f = (func){.session = lgb_session_of(L), .main = main_thread(L), .callbacks = callbacks};
    snprintf(f->name, sizeof f->name, "%s", name);
    c.name = f->name;
    box->number = gb_call_register(&c);
  }
  if (box->number < 0) {
    luaL_unref(L, LUA_REGISTRYINDEX, callbacks);
    free(f);
    return lgb_fail(L, GB_ENOMEM, "no memory for a function");
  }
  lua_settop(L, 5);
  return 1;
}

/* core.call(op, {tensors}, shape, dtype, bytes): the op's lazy result */
static int func_call (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const func_box *box = luaL_checkudata(L, 1, LGB_FUNC);
  lua_settop(L, 5);
  const gb_shape shape = lgb_checkshape(L, 3, 3);
  const gb_dtype t = lgb_checkdtype(L, lgb_checkstring(L, 4));
  const gb_attr attr = {.i = {box->number, lgb_checkinteger(L, 5)}};
  size_t n;
  gb_node **in = lgb_checklist(L, 2, &n);
  lgb_argcheck(L, n > 0 && n <= INT32_MAX, 2, "at least one tensor expected");
  gb_node **same = lgb_scratch(L, n, sizeof *same);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, gb_adopt((int)n, in, same, &err), &err);
  const gb_status st = gb_node_build(s->graph, GB_OP_CALL, (int)n, same, &attr, &shape, t, &y->node, &err);
  for (size_t i = 0; i < n; i++) gb_node_unref(same[i]);
  return lgb_result(L, st, &err);
}

/* core.bytes(size, what): a number of bytes from a number or "1 MiB" */
static int func_bytes (lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lgb_tobytes(L, 1, lgb_checkstring(L, 2)));
  return 1;
}

void lgb_func_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", box_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_FUNC, events);
  lua_pop(L, 1);
}

const luaL_Reg lgb_func_functions[] = {
    {"bytes", func_bytes}, {"call", func_call}, {"func", func_new}, {NULL, NULL}};
