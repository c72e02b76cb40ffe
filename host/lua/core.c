/* core.c - the C module 'gibbous.core': every public function written in C, and what the Lua library needs
** besides. To add a file of bindings: list its functions (and its metatables) here and declare them in
** lgb.h. */

#include "base/outfile.h"
#include "lua/lgb.h"
#include "plan/price/profile.h"

/* core.as_tensor(v): v as a tensor; nil if v is not a tensor */
static int core_as_tensor (lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  if (lgb_tonode(L, 1) == NULL) lua_pushnil(L);
  return 1;
}

/* core.leaf(x, "param" or "grad", name [, replaced]): a fresh leaf of x's value, never merged with
** another; of the leaf that it replaces nothing stays cached */
static int core_leaf (lua_State *L) {
  static const char *const kinds[] = {"grad", "param", NULL};
  static const unsigned flags[] = {GB_NODE_GRAD, GB_NODE_PARAM};
  lgb_session *s = lgb_enter(L);
  gb_node *x = lgb_checknode(L, 1);
  const unsigned flag = flags[luaL_checkoption(L, 2, "param", kinds)];
  const char *name = luaL_optstring(L, 3, NULL);
  const gb_tensor *value = lgb_value(L, s, x);
  gb_node *replaced = lua_isnoneornil(L, 4) ? NULL : lgb_checknode(L, 4);
  if (replaced != NULL) replaced->flags |= GB_NODE_STALE;
  if (flag == GB_NODE_PARAM) gb_cache_sweep(s->graph);
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  return lgb_result(L, gb_node_leaf(s->graph, value, flag, name, &y->node, &err), &err);
}

/* core.name(x, name): names a tensor in plans and messages, unless it has a name; gives x */
static int core_name (lua_State *L) {
  gb_node *x = lgb_checknode(L, 1);
  gb_node_set_name(x, lgb_checkstring(L, 2));
  lua_settop(L, 1);
  return 1;
}

/* core.made(x) -> the script line that made the tensor, "" if unknown, and the bytes of its value, 0 without one */
static int core_made (lua_State *L) {
  const gb_node *x = lgb_checknode(L, 1);
  const size_t numel = gb_shape_numel(gb_node_shape(x));
  lua_pushstring(L, x->where);
  lua_pushinteger(L, gb_node_has_value(x) ? (lua_Integer)(numel * gb_dtype_size(gb_node_dtype(x))) : 0);
  return 2;
}

/* core.fixed_rates(on): predicted times of an imaginary machine, for texts that must not change */
static int core_fixed_rates (lua_State *L) {
  gb_device_profile_choose_fixed(lgb_enter(L)->device, lua_toboolean(L, 1));
  return 0;
}

/* core.symmetric(x): is x symmetric by structure? */
static int core_symmetric (lua_State *L) {
  lua_pushboolean(L, (lgb_checknode(L, 1)->flags & GB_NODE_SYMMETRIC) != 0);
  return 1;
}

/* core.known(x): does x have its value already? */
static int core_known (lua_State *L) {
  lua_pushboolean(L, gb_node_has_value(lgb_checknode(L, 1)));
  return 1;
}

static void set_figure (void *ud, const char *name, double *value) {
  lua_State *L = ud;
  lua_pushnumber(L, *value);
  lua_setfield(L, -2, name);
}

/* core.figures(device): what its prices come from, by name; nil: it has none. Measures it where that was not done. */
static int core_figures (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_device *dev = lgb_checkdevice(L, s, lgb_checkstring(L, 1));
  const gb_device_profile *figures;
  gb_error err;
  if (dev->ops->price == NULL) return 0;
  lgb_result(L, LGB_CORE(s, gb_device_profile_get(dev, &figures, &err)), &err);
  lua_newtable(L);
  dev->ops->price->walk((gb_device_profile *)(uintptr_t)figures, set_figure, L);
  return 1;
}

/* core.know_rates(): the machine is measured if it was not before, which is said, so that plans have
** seconds */
static int core_know_rates (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const gb_device_profile *rates;
  gb_error err;
  lgb_result(L, LGB_CORE(s, gb_device_profile_get(s->device, &rates, &err)), &err);
  return 0;
}

/* core.tracing(): is a function being traced, whose arguments stand for slices? */
static int core_tracing (lua_State *L) {
  lua_pushboolean(L, lgb_enter(L)->graph->tracing > 0);
  return 1;
}

/* core.line(): "script.lua:12" of the nearest caller outside the library */
static int core_line (lua_State *L) {
  lua_pushstring(L, lgb_where(L, lgb_session_of(L)));
  return 1;
}

/* core.nearest(name, list): the most similar string of the list, nil if none is near */
static int core_nearest (lua_State *L) {
  const char *name = lgb_checkstring(L, 1);
  lgb_checktype(L, 2, LUA_TTABLE);
  const size_t n = (size_t)lua_rawlen(L, 2);
  const char **names = lgb_scratch(L, n + 1, sizeof *names);
  size_t count = 0;
  for (size_t i = 1; i <= n; i++) {
    if (lua_rawgeti(L, 2, (lua_Integer)i) == LUA_TSTRING) names[count++] = lua_tostring(L, -1);
    lua_pop(L, 1); /* the list keeps it alive */
  }
  char best[64];
  if (lgb_nearest(name, names, best, sizeof best)) lua_pushstring(L, best);
  else lua_pushnil(L);
  return 1;
}

/* core.live(): bytes and blocks in the ledger, nodes in the graph */
static int core_live (lua_State *L) {
  const lgb_session *s = lgb_session_of(L);
  lua_pushinteger(L, (lua_Integer)s->device->ledger.used);
  lua_pushinteger(L, (lua_Integer)s->device->ledger.blocks);
  lua_pushinteger(L, (lua_Integer)s->graph->nnodes);
  return 3;
}

/* core.fail_after(n [, device]): the n-th allocation from now (from 0) and all later ones fail; -1: never again. For
** tests. */
static int core_fail_after (lua_State *L) {
  const lua_Integer n = lgb_checkinteger(L, 1);
  lgb_session *s = lgb_session_of(L);
  const char *name = luaL_optstring(L, 2, NULL);
  gb_ledger *l = &(name == NULL ? s->device : lgb_checkdevice(L, s, name))->ledger;
  l->fail_after = n < 0 ? -1 : (long)(l->allocations + (size_t)n);
  return 0;
}

/* core.drop_caches(): lets go of every value that can be computed again; gives the bytes freed */
static int core_drop_caches (lua_State *L) {
  lua_pushinteger(L, (lua_Integer)gb_cache_drop(lgb_session_of(L)->graph, SIZE_MAX));
  return 1;
}

/* core.last_run(): what the last evaluation did */
static int core_last_run (lua_State *L) {
  const gb_run_stats s = gb_last_eval(lgb_enter(L)->graph);
  return lgb_pushstats(L, &s);
}

/* core.text_write(path, text): a file that holds the text, whole or not at all; refused where something other
** than a plain file is there */
static int core_text_write (lua_State *L) {
  const char *path = lgb_checkstring(L, 1);
  size_t n;
  const char *text = luaL_checklstring(L, 2, &n);
  gb_error err;
  const gb_status st = gb_outfile_put(path, text, n, &err);
  return st == GB_OK ? 0 : lgb_raise(L, st, &err);
}

/* core.traceback(text, level): Lua's traceback with the calls within the library folded */
static int core_traceback (lua_State *L) {
  lgb_traceback(L, luaL_optstring(L, 1, NULL), (int)luaL_optinteger(L, 2, 1));
  return 1;
}

static const luaL_Reg internal_functions[] = {{"as_tensor", core_as_tensor},
                                              {"drop_caches", core_drop_caches},
                                              {"error", lgb_core_error},
                                              {"fail_after", core_fail_after},
                                              {"figures", core_figures},
                                              {"fixed_rates", core_fixed_rates},
                                              {"know_rates", core_know_rates},
                                              {"known", core_known},
                                              {"last_run", core_last_run},
                                              {"leaf", core_leaf},
                                              {"line", core_line},
                                              {"live", core_live},
                                              {"made", core_made},
                                              {"libraries", lgb_libraries},
                                              {"modules", lgb_embed_modules},
                                              {"parts", lgb_parts},
                                              {"name", core_name},
                                              {"nearest", core_nearest},
                                              {"raise", lgb_core_raise},
                                              {"source", lgb_embed_source},
                                              {"symmetric", core_symmetric},
                                              {"told", lgb_core_told},
                                              {"traceback", core_traceback},
                                              {"tracing", core_tracing},
                                              {"text", lgb_embed_text},
                                              {"text_write", core_text_write},
                                              {"texts", lgb_embed_texts},
                                              {NULL, NULL}};

static void set_library (lua_State *L, const char *name, const luaL_Reg *functions) {
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  lua_setfield(L, -2, name);
}

/* core.operators: the arithmetic events, for values of the library that stand for tensors. */
static void set_operators (lua_State *L) {
  lua_newtable(L);
  lgb_operators(L);
  lua_setfield(L, -2, "operators");
}

int luaopen_gibbous_core (lua_State *L) {
  static const luaL_Reg *const lists[] = {
      lgb_bench_functions,    lgb_estimates_functions,   lgb_func_functions,     lgb_grad_functions,
      lgb_arrays_functions,   lgb_files_functions,       lgb_frame_functions,    lgb_json_functions,
      lgb_rows_functions,     lgb_kernel_functions,      lgb_lazy_functions,     lgb_make_functions,
      lgb_map_functions,      lgb_observe_functions,     lgb_plan_functions,     lgb_plot_functions,
      lgb_product_functions,  lgb_promise_functions,     lgb_settings_functions, lgb_shape_functions,
      lgb_solve_functions,    lgb_solve_nodes_functions, lgb_solvers_functions,  lgb_stage_functions,
      lgb_terminal_functions, lgb_trace_functions,       lgb_factor_functions,   lgb_cluster_functions,
      lgb_ranks_functions,    lgb_child_functions,       lgb_database_functions, lgb_place_functions,
      lgb_signals_functions,  internal_functions};
  luaL_checkversion(L);
  lgb_open_session(L);
  lgb_error_meta(L);
  lgb_func_meta(L);
  lgb_plan_meta(L);
  lgb_bench_meta(L);
  lgb_trace_meta(L);
  lgb_arrays_meta(L);
  lgb_files_meta(L);
  lgb_frame_meta(L);
  lgb_rows_meta(L);
  lgb_child_meta(L);
  lgb_database_meta(L);
  lgb_place_meta(L);
  lgb_json_meta(L);
  lgb_plot_meta(L);
  lgb_solve_meta(L);
  lgb_factor_meta(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) luaL_setfuncs(L, lists[i], 0);
  set_library(L, "linalg", lgb_linalg_functions);
  set_library(L, "memory", lgb_memory_functions);
  set_operators(L);
  lgb_tensor_meta(L);
  lua_setfield(L, -2, "methods");
  lua_pushliteral(L, GIBBOUS_VERSION);
  lua_setfield(L, -2, "version");
  lgb_push_build(L);
  lua_setfield(L, -2, "build");
  return 1;
}
