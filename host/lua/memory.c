/* memory.c - gb.memory: the limit, and who holds what. */
#include "lua/lgb.h"

#define REPORT_META "gibbous.memory_report"
#define LARGEST 10

/* limit([size], {device}): sets the limit in bytes and gives the previous one */
static int memory_limit (lua_State *L) {
  static const char *const names[] = {"device", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  lgb_checkoptions(L, 2, names);
  lgb_optdevice(L, 2);
  gb_ledger *l = &s->backend->ledger;
  const size_t previous = l->limit;
  if (!lua_isnil(L, 1) && s->calls > 0)
    return lgb_fail(L, GB_EOPTION, "the memory limit cannot be set inside a function that a plan calls");
  if (!lua_isnil(L, 1)) l->limit = lgb_tobytes(L, 1, "memory limit");
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

/* ---- the report as text -------------------------------------------------------------------------------- */

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

/* "memory  used 3 MiB  peak 5 MiB  limit 6 GiB", then what it is, then the largest holders */
static int report_tostring (lua_State *L) {
  static const char *const first[] = {"used", "peak", "limit", "lua"};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "holders");
  const lua_Integer n = lua_istable(L, 2) ? (lua_Integer)lua_rawlen(L, 2) : 0;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "memory");
  for (int i = 0; i < 4; i++) {
    luaL_addstring(&b, "  ");
    add_amount(L, &b, 1, first[i]);
  }
  for (int p = 0; p < GB_NPURPOSES; p++) {
    luaL_addstring(&b, p == 0 ? "\n  " : "  ");
    add_amount(L, &b, 1, gb_purpose_name((gb_purpose)p));
  }
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

/* report(): {limit, used, peak, tensor, cache, arena, workspace, blocks, allocations, lua, holders} in
** bytes */
static int memory_report (lua_State *L) {
  const gb_ledger *l = &lgb_session_of(L)->backend->ledger;
  lua_createtable(L, 0, 12);
  set_bytes(L, "limit", l->limit);
  set_bytes(L, "used", l->used);
  set_bytes(L, "peak", l->peak);
  set_bytes(L, "blocks", l->blocks);
  set_bytes(L, "allocations", l->allocations);
  for (int p = 0; p < GB_NPURPOSES; p++) set_bytes(L, gb_purpose_name((gb_purpose)p), l->by_purpose[p]);
  set_bytes(L, "lua", (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB));
  push_holders(L, l);
  lua_setfield(L, -2, "holders");
  if (luaL_newmetatable(L, REPORT_META)) {
    lua_pushcfunction(L, report_tostring);
    lua_setfield(L, -2, "__tostring");
  }
  lua_setmetatable(L, -2);
  return 1;
}

/* room(): bytes that can still be had, counting values that can be computed again as free */
static int memory_room (lua_State *L) {
  const gb_ledger *l = &lgb_session_of(L)->backend->ledger;
  const size_t held = l->used - l->by_purpose[GB_MEM_CACHE];
  lua_pushinteger(L, l->limit > held ? (lua_Integer)(l->limit - held) : 0);
  return 1;
}

const luaL_Reg lgb_memory_functions[] = {
    {"limit", memory_limit}, {"report", memory_report}, {"room", memory_room}, {NULL, NULL}};
