/* settings.c - gb.config, gb.devices, gb.version, gb.seed, gb.clock, gb.type. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/registry.h"
#include "lua/lgb.h"

/* Classes that a device may have, and those that are thought of (docs/guide/cuda.md). */
static const char *const arithmetics[] = {"exact", "unit", NULL};
static const char *const later[] = {"auto", "mma", NULL};

static const char *found (const char *const *names, const char *name) {
  while (*names != NULL && strcmp(*names, name) != 0) names++;
  return *names;
}

/* Of the devices that are open; else what those will have that are opened later. */
static const char *arithmetic_of (const lgb_session *s) {
  const char *own = gb_device_arithmetic(s->device);
  for (int i = 0; i < s->nopened && *own == '\0'; i++) own = gb_device_arithmetic(s->opened[i]);
  if (*own != '\0') return own;
  if (s->arithmetic != NULL) return s->arithmetic;
  const char *asked = getenv("GIBBOUS_CUDA_ARITHMETIC");
  return asked != NULL && found(arithmetics, asked) != NULL ? found(arithmetics, asked) : "unit";
}

void lgb_set_arithmetic (gb_device *dev, const char *name) {
  gb_error err;
  (void)gb_device_set_arithmetic(dev, name, &err); /* a device without classes has what it has */
}

/* A value is that of its expression: equal ones are merged, so a device computes in one class only. */
static void check_unused (lua_State *L, const gb_device *dev, const char *name) {
  const char *own = gb_device_arithmetic(dev);
  if (dev->compiled > 0 && *own != '\0' && strcmp(own, name) != 0)
    lgb_fail(
        L, GB_EOPTION,
        "config: %s has computed in arithmetic '%s' already: choose '%s' before, or for the whole script by "
        "GIBBOUS_CUDA_ARITHMETIC=%s",
        dev->name, own, name, name);
}

static void check_all_unused (lua_State *L, const lgb_session *s, const char *name) {
  for (const gb_device *dev = s->device; dev != NULL; dev = dev->next) check_unused(L, dev, name);
  for (int i = 0; i < s->nopened; i++) check_unused(L, s->opened[i], name);
}

static void set_arithmetics (lgb_session *s, const char *name) {
  s->arithmetic = name;
  lgb_set_arithmetic(s->device, name);
  for (int i = 0; i < s->nopened; i++) lgb_set_arithmetic(s->opened[i], name);
}

static const char *check_arithmetic (lua_State *L, const lgb_session *s) {
  const char *name = lgb_optstring(L, 1, "arithmetic", arithmetic_of(s));
  if (found(later, name) != NULL)
    lgb_fail(L, GB_EOPTION, "config: arithmetic '%s' is not in this version: choose 'unit' or 'exact'", name);
  if (found(arithmetics, name) == NULL)
    lgb_fail(L, GB_EOPTION, "config: option 'arithmetic' must be 'unit' or 'exact', got '%s'", name);
  check_all_unused(L, s, name);
  return found(arithmetics, name);
}

static void set_setting (lua_State *L, lgb_session *s, const char *key) {
  if (strcmp(key, "dtype") == 0) lua_pushstring(L, gb_dtype_name(s->dtype));
  else if (strcmp(key, "arithmetic") == 0) lua_pushstring(L, arithmetic_of(s));
  else if (strcmp(key, "device") == 0) lua_pushstring(L, s->device->name);
  else if (strcmp(key, "threads") == 0) lua_pushinteger(L, gb_pool_threads(s->device->pool));
  else if (strcmp(key, "devices") == 0) lua_pushinteger(L, s->devices);
  else if (strcmp(key, "digits") == 0) lua_pushinteger(L, s->digits);
  else lua_pushinteger(L, s->edge);
  lua_setfield(L, -2, key);
}

static int checkrange (lua_State *L, int arg, const char *key, int low, int high) {
  const lua_Integer v = lgb_optinteger(L, arg, key, low);
  if (v < low || v > high)
    return lgb_fail(L, GB_EOPTION, "config: option '%s' must be in %d..%d, got %lld", key, low, high,
                    (long long)v);
  return (int)v;
}

static bool given (lua_State *L, int arg, const char *key) {
  if (!lgb_option(L, arg, key)) return false;
  lua_pop(L, 1);
  return true;
}

/* Devices that work with the host's threads get its new ones: the old ones are gone. */
static void share_threads (const lgb_session *s, const gb_pool *before) {
  for (int i = 0; i < s->nopened; i++)
    for (gb_device *dev = s->opened[i]; dev != NULL; dev = dev->next)
      if (dev->pool == before) dev->pool = s->home->pool;
}

static gb_status set_threads (lgb_session *s, int threads, gb_error *err) {
  const gb_pool *before = s->home->pool;
  GB_TRY(gb_device_set_threads(s->device, threads, err));
  share_threads(s, before);
  return GB_OK;
}

/* Everything is checked before anything is set. */
static void apply (lua_State *L, lgb_session *s) {
  const gb_dtype t = lgb_optdtype(L, 1, s->dtype);
  if (t != GB_F64 && t != GB_F32)
    lgb_fail(L, GB_EOPTION, "config: the default dtype is f64 or f32, got %s", gb_dtype_name(t));
  const char *device = lgb_optstring(L, 1, "device", s->device->name);
  gb_device *asked = lgb_checkdevice(L, s, device);
  const int devices = given(L, 1, "devices") ? checkrange(L, 1, "devices", 1, GB_DEVICES) : 0;
  const int digits = given(L, 1, "digits") ? checkrange(L, 1, "digits", 1, 17) : s->digits;
  const int edge = given(L, 1, "edge") ? checkrange(L, 1, "edge", 1, 100) : s->edge;
  const char *arithmetic = given(L, 1, "arithmetic") ? check_arithmetic(L, s) : NULL;
  const int threads = given(L, 1, "threads") ? checkrange(L, 1, "threads", 1, 1024) : 0;
  gb_error err;
  lgb_result(L, lgb_set_device(s, asked, &err), &err);
  if (threads > 0) lgb_result(L, set_threads(s, threads, &err), &err);
  if (devices > 0) lgb_result(L, lgb_set_devices(s, devices, &err), &err);
  if (arithmetic != NULL) set_arithmetics(s, arithmetic);
  s->dtype = t;
  s->digits = digits;
  s->edge = edge;
}

/* gb.config{arithmetic, dtype, device, devices, threads, digits, edge}: gives the previous values of what it sets, all
** without an argument */
static int settings_config (lua_State *L) {
  static const char *const names[] = {"arithmetic", "device", "devices", "digits",
                                      "dtype",      "edge",   "threads", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 1);
  lgb_checkoptions(L, 1, names);
  lua_createtable(L, 0, 7);
  for (const char *const *key = names; *key != NULL; key++)
    if (lua_isnil(L, 1) || given(L, 1, *key)) set_setting(L, s, *key);
  if (!lua_isnil(L, 1)) apply(L, s);
  return 1;
}

static void push_device (lua_State *L, const gb_device *dev) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, dev->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, gb_device_isa(dev));
  lua_setfield(L, -2, "isa");
  lua_pushstring(L, gb_device_library(dev));
  lua_setfield(L, -2, "blas");
  if (*gb_device_arithmetic(dev) != '\0') {
    lua_pushstring(L, gb_device_arithmetic(dev));
    lua_setfield(L, -2, "arithmetic");
  }
  lua_pushinteger(L, gb_pool_threads(dev->pool));
  lua_setfield(L, -2, "threads");
  lua_pushinteger(L, (lua_Integer)dev->ledger.limit);
  lua_setfield(L, -2, "memory");
  lua_pushinteger(L, (lua_Integer)dev->ledger.limit);
  lua_setfield(L, -2, "limit");
  lua_pushinteger(L, (lua_Integer)dev->ledger.used);
  lua_setfield(L, -2, "used");
  if (dev->memory.ops->mapped != NULL) {
    lua_pushinteger(L, (lua_Integer)dev->memory.ops->mapped(&dev->memory));
    lua_setfield(L, -2, "mapped");
  }
  lua_pushstring(L, dev->lost[0] == '\0' ? "ready" : "lost");
  lua_setfield(L, -2, "state");
  if (gb_device_kernels(dev) != NULL) {
    lua_pushstring(L, gb_device_kernels(dev));
    lua_setfield(L, -2, "kernels");
  }
  if (dev->lost[0] == '\0') return;
  lua_pushstring(L, dev->lost);
  lua_setfield(L, -2, "why");
}

/* {cuda = {count, why}}: the devices of a kind that can be opened, or the reason that none can. */
static void push_kinds (lua_State *L) {
  gb_error err;
  int count = 0;
  const gb_status st = gb_device_count("cuda", &count, &err);
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, st == GB_OK ? count : 0);
  lua_setfield(L, -2, "count");
  if (st != GB_OK) {
    lua_pushstring(L, err.text);
    lua_setfield(L, -2, "why");
  }
  lua_setfield(L, -2, "cuda");
}

static int add_device (lua_State *L, const gb_device *dev, int n) {
  push_device(L, dev);
  lua_rawseti(L, -2, n);
  return n + 1;
}

/* gb.devices(): {{name, isa, threads, limit, used, mapped, state, kernels}, kinds}; 'memory' is the limit too;
** 'mapped': bytes of a GPU that are held, whole pages; 'kernels': what it has compiled. The session's own first, its
** simulated ones, the host's, and those that a script has named. */
static int settings_devices (lua_State *L) {
  const lgb_session *s = lgb_session_of(L);
  const gb_device *dev = s->device;
  lua_createtable(L, s->devices, 0);
  int n = 1;
  for (int i = 0; i < s->devices; i++, dev = dev->next) n = add_device(L, dev, n);
  if (s->home != s->device) n = add_device(L, s->home, n);
  for (int i = 0; i < s->nopened; i++) n = add_device(L, s->opened[i], n);
  push_kinds(L);
  lua_setfield(L, -2, "kinds");
  return 1;
}

/* gb.seed(n, made): random tensors made from here on are functions of n and of their order, counted from 'made' */
static int settings_seed (lua_State *L) {
  gb_graph *g = lgb_enter(L)->graph;
  const lua_Integer n = lgb_checkinteger(L, 1), made = lua_isnoneornil(L, 2) ? 0 : lgb_checkinteger(L, 2);
  lgb_argcheck(L, made >= 0, 2, "a number of random tensors, 0 or more, expected");
  g->seed = (uint64_t)n;
  g->next_stream = (uint64_t)made;
  return 0;
}

/* core.seeded(): the n of gb.seed, and how many random tensors without a seed of their own were made since */
static int settings_seeded (lua_State *L) {
  const gb_graph *g = lgb_enter(L)->graph;
  lua_pushinteger(L, (lua_Integer)g->seed);
  lua_pushinteger(L, (lua_Integer)g->next_stream);
  return 2;
}

/* gb.clock(): monotonic seconds */
static int settings_clock (lua_State *L) {
  lua_pushnumber(L, gb_clock());
  return 1;
}

/* gb.type(v): "tensor", "param", "kernel", ..., else Lua's type. Behind a semicolon a name says more to
** who reads errors. */
static int settings_type (lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__name") != LUA_TSTRING) {
    lua_pushstring(L, luaL_typename(L, 1));
    return 1;
  }
  const char *name = lua_tostring(L, -1);
  if (strncmp(name, "gibbous.", 8) == 0) lua_pushlstring(L, name + 8, strcspn(name + 8, ";"));
  else lua_pushstring(L, luaL_typename(L, 1));
  return 1;
}

const luaL_Reg lgb_settings_functions[] = {{"clock", settings_clock},
                                           {"config", settings_config},
                                           {"devices", settings_devices},
                                           {"seed", settings_seed},
                                           {"seeded", settings_seeded},
                                           {"type", settings_type},
                                           {NULL, NULL}};
