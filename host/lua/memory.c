/* memory.c - gb.memory: the limit, and who holds what. */
#include <string.h>

#include "lua/lgb.h"

#define REPORT_META "gibbous.memory_report"
#define LARGEST 10

static void may_set (lua_State *L, const lgb_session *s) {
  if (s->calls > 0)
    lgb_fail(L, GB_EOPTION, "the memory limit cannot be set inside a function that a plan calls");
}

/* The value at 'index', a limit that the memory of the device can keep. */
static size_t check_limit (lua_State *L, int index, const gb_device *dev) {
  const size_t size = lgb_tobytes(L, index, "memory limit"), most = gb_memory_capacity(&dev->memory);
  char has[GB_BYTES_TEXT], got[GB_BYTES_TEXT];
  if (size > most)
    lgb_fail(L, GB_EOPTION, "memory limit: %s has %s (%zu bytes), got %s", dev->name,
             gb_bytes_text(most, has), most, gb_bytes_text(size, got));
  return size;
}

/* limit{name = size, ...}: of each device; a table of the previous ones. All are checked before one is set. */
static int memory_limits (lua_State *L, lgb_session *s) {
  lua_settop(L, 1);
  may_set(L, s);
  lua_newtable(L);
  for (int set = 0; set < 2; set++)
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING)
        return lgb_fail(L, GB_EOPTION,
                        "memory limit: expected {name of a device = size}, got a key of type %s",
                        luaL_typename(L, -2));
      gb_device *dev = lgb_checkdevice(L, s, lua_tostring(L, -2));
      gb_ledger *l = &dev->ledger;
      const size_t size = check_limit(L, lua_gettop(L), dev);
      if (!set) continue;
      lua_pushvalue(L, -2);
      lua_pushinteger(L, (lua_Integer)l->limit);
      lua_rawset(L, 2);
      l->limit = size;
    }
  return 1;
}

/* limit([size], {device}): sets the limit in bytes and gives the previous one */
static int memory_limit (lua_State *L) {
  static const char *const names[] = {"device", NULL};
  lgb_session *s = lgb_enter(L);
  if (lua_istable(L, 1)) return memory_limits(L, s);
  lua_settop(L, 2);
  lgb_checkoptions(L, 2, names);
  gb_device *dev = lgb_checkdevice(L, s, lgb_optstring(L, 2, "device", s->device->name));
  gb_ledger *l = &dev->ledger;
  const size_t previous = l->limit;
  if (!lua_isnil(L, 1)) may_set(L, s);
  if (!lua_isnil(L, 1)) l->limit = check_limit(L, 1, dev);
  lua_pushinteger(L, (lua_Integer)previous);
  return 1;
}

static void set_bytes (lua_State *L, const char *key, size_t bytes) {
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_setfield(L, -2, key);
}

/* Copies the largest blocks in descending order: a collection may free them while they are pushed. */
static int find_largest (const gb_ledger *l, gb_block top[LARGEST]) {
  int n = 0;
  for (const gb_block *b = l->live; b != NULL; b = b->next) {
    if (n == LARGEST && b->bytes <= top[n - 1].bytes) continue;
    int at = n < LARGEST ? n++ : LARGEST - 1;
    for (; at > 0 && top[at - 1].bytes < b->bytes; at--) top[at] = top[at - 1];
    top[at] = *b;
  }
  return n;
}

static void push_holders (lua_State *L, const gb_ledger *l) {
  gb_block top[LARGEST];
  const int n = find_largest(l, top);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    set_bytes(L, "bytes", top[i].bytes);
    lua_pushstring(L, gb_purpose_name(top[i].purpose));
    lua_setfield(L, -2, "purpose");
    lua_pushstring(L, top[i].where != NULL ? top[i].where : "");
    lua_setfield(L, -2, "line");
    lua_pushstring(L, top[i].name != NULL ? top[i].name : "");
    lua_setfield(L, -2, "name");
    lua_rawseti(L, -2, i + 1);
  }
}

static void add_device (lua_State *L, const gb_device *dev) {
  lua_createtable(L, 0, 4);
  lua_pushstring(L, dev->name);
  lua_setfield(L, -2, "name");
  set_bytes(L, "limit", dev->ledger.limit);
  set_bytes(L, "used", dev->ledger.used);
  set_bytes(L, "peak", dev->ledger.peak);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* The simulated devices, and those that a script has named. */
static void push_others (lua_State *L, const lgb_session *s) {
  const gb_device *dev = s->device;
  lua_createtable(L, s->devices - 1 + s->nopened, 0);
  for (int i = 1; i < s->devices; i++) {
    dev = dev->next;
    add_device(L, dev);
  }
  for (int i = 0; i < s->nopened; i++) add_device(L, s->opened[i]);
}

/* -- the report as text */

static size_t field_bytes (lua_State *L, int table, const char *key) {
  lua_getfield(L, table, key);
  const size_t v = (size_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return v;
}

static void add_amount (lua_State *L, luaL_Buffer *b, int table, const char *key) {
  char text[GB_BYTES_TEXT];
  const size_t bytes = field_bytes(L, table, key);
  luaL_addstring(b, key);
  luaL_addchar(b, ' ');
  luaL_addstring(b, gb_bytes_text(bytes, text));
}

/* A line for each: "cpu:2  used 0 B  peak 1 MiB  limit 2 GiB". */
static void add_others (lua_State *L, luaL_Buffer *b, int report) {
  static const char *const keys[] = {"used", "peak", "limit"};
  const int top = lua_gettop(L);
  lua_getfield(L, report, "devices");
  const lua_Integer n = lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
  lua_settop(L, top);
  for (lua_Integer i = 1; i <= n; i++) {
    char text[3][GB_BYTES_TEXT];
    lua_getfield(L, report, "devices");
    lua_rawgeti(L, -1, i);
    for (int k = 0; k < 3; k++) gb_bytes_text(field_bytes(L, lua_gettop(L), keys[k]), text[k]);
    lua_getfield(L, -1, "name");
    lua_pushfstring(L, "\n  %s  used %s  peak %s  limit %s", lua_tostring(L, -1), text[0], text[1], text[2]);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    luaL_addvalue(b);
  }
}

/* "memory  used 3 MiB  peak 5 MiB  limit 6 GiB  graph 40 KiB  lua 1 MiB", then what it is, then the
** largest holders */
static int report_tostring (lua_State *L) {
  static const char *const first[] = {"used", "peak", "limit", "graph", "lua"};
  lgb_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "holders");
  const lua_Integer n = lua_istable(L, 2) ? (lua_Integer)lua_rawlen(L, 2) : 0;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "memory");
  for (int i = 0; i < 5; i++) {
    luaL_addstring(&b, "  ");
    add_amount(L, &b, 1, first[i]);
  }
  if (field_bytes(L, 1, "mapped") > 0) {
    luaL_addstring(&b, "  ");
    add_amount(L, &b, 1, "mapped");
  }
  for (int p = 0; p < GB_NPURPOSES; p++) {
    luaL_addstring(&b, p == 0 ? "\n  " : "  ");
    add_amount(L, &b, 1, gb_purpose_name((gb_purpose)p));
  }
  add_others(L, &b, 1);
  for (lua_Integer i = 1; i <= n; i++) {
    char bytes[GB_BYTES_TEXT];
    lua_rawgeti(L, 2, i);
    const int holder = lua_gettop(L);
    gb_bytes_text(field_bytes(L, holder, "bytes"), bytes);
    lua_getfield(L, holder, "purpose");
    lua_getfield(L, holder, "name");
    lua_getfield(L, holder, "line");
    lua_pushfstring(L, "\n  %s  %s %s  %s", bytes, luaL_tolstring(L, holder + 1, NULL),
                    luaL_tolstring(L, holder + 2, NULL), luaL_tolstring(L, holder + 3, NULL));
    lua_replace(L, holder);
    lua_settop(L, holder);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return 1;
}

/* -- what an entry of the prompt takes */

/* The account's peak since the start, whether an entry counts its own meanwhile or not. */
static size_t peak_of (const lgb_session *s) {
  const gb_ledger *l = &s->device->ledger;
  return l == s->counted && l->base == NULL && s->peak > l->peak ? s->peak : l->peak;
}

void lgb_cost_begin (lua_State *L) {
  if (!lgb_has_session(L)) return;
  lgb_session *s = lgb_session_of(L);
  gb_ledger *l = &s->device->ledger;
  s->counted = l;
  s->peak = l->peak;
  s->start = l->peak = l->used;
  s->timed = NULL;
  if (s->device != s->home && gb_trace_begin(s->graph, &s->timed, NULL) != GB_OK) s->timed = NULL;
}

/* Of steps within others the outer ones' seconds are without theirs. */
static double seconds_on (const gb_trace *t, const char *device) {
  const gb_trace_view v = gb_trace_read(t);
  double sum = 0;
  for (size_t i = 0; i < v.nrows; i++)
    if (strcmp(v.row[i].device, device) == 0) sum += v.row[i].seconds;
  return sum;
}

lgb_cost lgb_cost_end (lua_State *L) {
  lgb_cost c = {0};
  lgb_session *s = lgb_has_session(L) ? lgb_session_of(L) : NULL;
  if (s == NULL || s->counted == NULL) return c;
  c.peak = s->counted->peak - s->start;
  c.device_name = s->device->name;
  if (s->timed != NULL) c.device = seconds_on(s->timed, s->device->name);
  if (s->peak > s->counted->peak) s->counted->peak = s->peak;
  gb_trace_end(s->graph, s->timed);
  s->counted = NULL;
  s->timed = NULL;
  return c;
}

/* report(): {limit, used, peak, tensor, cache, arena, workspace, graph, mapped, blocks, allocations, lua,
** holders, devices} in bytes; mapped: of files that tensors lie in */
static int memory_report (lua_State *L) {
  const gb_ledger *l = &lgb_session_of(L)->device->ledger;
  lua_createtable(L, 0, 15);
  set_bytes(L, "limit", l->limit);
  set_bytes(L, "used", l->used);
  set_bytes(L, "peak", peak_of(lgb_session_of(L)));
  set_bytes(L, "graph", l->books);
  set_bytes(L, "mapped", lgb_session_of(L)->home->ledger.mapped);
  set_bytes(L, "blocks", l->blocks);
  set_bytes(L, "allocations", l->allocations);
  for (int p = 0; p < GB_NPURPOSES; p++) set_bytes(L, gb_purpose_name((gb_purpose)p), l->by_purpose[p]);
  set_bytes(L, "lua", (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB));
  push_holders(L, l);
  lua_setfield(L, -2, "holders");
  push_others(L, lgb_session_of(L));
  lua_setfield(L, -2, "devices");
  if (luaL_getmetatable(L, REPORT_META) == LUA_TNIL) {
    static const luaL_Reg events[] = {{"__tostring", report_tostring}, {NULL, NULL}};
    lua_pop(L, 1);
    lgb_newmeta(L, REPORT_META, events);
  }
  lua_setmetatable(L, -2);
  return 1;
}

/* room([device]): bytes that can still be had, counting values that can be computed again as free */
static int memory_room (lua_State *L) {
  lgb_session *s = lgb_session_of(L);
  const char *name = luaL_optstring(L, 1, NULL);
  const gb_device *dev = name == NULL ? s->graph->device : lgb_checkdevice(L, s, name);
  const gb_ledger *l = &dev->ledger;
  const size_t held = l->used - l->by_purpose[GB_MEM_CACHE];
  lua_pushinteger(
      L, (lua_Integer)(dev == s->graph->device ? gb_plan_room(s->graph, held) : gb_ledger_beside(l, held)));
  return 1;
}

const luaL_Reg lgb_memory_functions[] = {
    {"limit", memory_limit}, {"report", memory_report}, {"room", memory_room}, {NULL, NULL}};
