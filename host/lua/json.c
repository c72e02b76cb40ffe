/* json.c - plain Lua data as JSON text and back, for what is kept beside tensors in files. Numbers come
** back with the same bits: integers as integers, floats with the fewest digits that do; NaN and infinities
** have no JSON and are refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "io/json.h"
#include "lua/lgb.h"

#define LGB_JSON "gibbous.json"
#define MAX_DEPTH 100 /* of tables within tables */

/* A counted JSON value on the stack, so that an error in between leaks nothing. */
static json_t **new_holder (lua_State *L) {
  json_t **h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = NULL;
  lgb_setmeta(L, LGB_JSON);
  return h;
}

static int holder_gc (lua_State *L) {
  json_t **h = luaL_checkudata(L, 1, LGB_JSON);
  json_decref(*h);
  *h = NULL;
  return 0;
}

static json_t *made (lua_State *L, json_t *v) {
  if (v == NULL) lgb_fail(L, GB_ENOMEM, "no memory for JSON");
  return v;
}

static json_t *encode (lua_State *L, int at, int depth);

/* Takes the count of 'value' whether it succeeds or not. */
static void append (lua_State *L, json_t *list, json_t *value) {
  if (json_array_append_new(list, value) != 0) lgb_fail(L, GB_ENOMEM, "no memory for JSON");
}

static json_t *encode_list (lua_State *L, int at, int depth) {
  json_t **h = new_holder(L);
  json_t *list = *h = made(L, json_array());
  const lua_Integer n = (lua_Integer)lua_rawlen(L, at);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, at, i);
    append(L, list, encode(L, lua_gettop(L), depth + 1));
    lua_pop(L, 1);
  }
  *h = NULL;
  lua_pop(L, 1);
  return list;
}

static json_t *encode_object (lua_State *L, int at, int depth) {
  json_t **h = new_holder(L);
  json_t *object = *h = made(L, json_object());
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      lgb_fail(L, GB_EOPTION, "JSON: keys must be strings, got %s", luaL_typename(L, -2));
    size_t length;
    const char *key = lua_tolstring(L, -2, &length);
    json_t *value = encode(L, lua_gettop(L), depth + 1);
    if (json_object_setn_new(object, key, length, value) != 0)
      lgb_fail(L, GB_EOPTION, "JSON: a key is not UTF-8");
  }
  *h = NULL;
  lua_pop(L, 1);
  return object;
}

static json_t *encode_number (lua_State *L, int at) {
  if (lua_isinteger(L, at)) return made(L, json_integer(lua_tointeger(L, at)));
  const double v = lua_tonumber(L, at);
  if (!isfinite(v)) lgb_fail(L, GB_EOPTION, "JSON: a finite number expected, got %f", gb_plain(v));
  return made(L, json_real(v));
}

static json_t *encode_string (lua_State *L, int at) {
  size_t n;
  const char *s = lua_tolstring(L, at, &n);
  json_t *v = json_stringn(s, n);
  if (v == NULL) lgb_fail(L, GB_EOPTION, "JSON: a string is not UTF-8");
  return v;
}

/* A new value that the caller counts. Tables with an array part are lists, all others objects. */
static json_t *encode (lua_State *L, int at, int depth) {
  if (depth > MAX_DEPTH) lgb_fail(L, GB_EOPTION, "JSON: tables are nested more than %d deep", MAX_DEPTH);
  luaL_checkstack(L, 8, "JSON");
  switch (lua_type(L, at)) {
    case LUA_TNUMBER: return encode_number(L, at);
    case LUA_TSTRING: return encode_string(L, at);
    case LUA_TBOOLEAN: return made(L, json_boolean(lua_toboolean(L, at)));
    case LUA_TTABLE: return lua_rawlen(L, at) > 0 ? encode_list(L, at, depth) : encode_object(L, at, depth);
    default: lgb_fail(L, GB_EOPTION, "JSON: %s has no JSON", luaL_typename(L, at)); return NULL;
  }
}

/* Writes the float that is the n bytes at s to 'out' with fewer digits, where they are read back as the same
** bits and as a float: returns how many bytes, 0 where there are none. A locale with another decimal point
** keeps all digits, for strtod stops before the end. */
static size_t shorter (const char *s, size_t n, char out[40]) {
  char *end;
  const double v = strtod(s, &end);
  if (end != s + n) return 0;
  for (int digits = 15; digits <= 16; digits++) {
    size_t m = (size_t)snprintf(out, 40, "%.*g", digits, v);
    if (strtod(out, NULL) != v) continue;
    if (strpbrk(out, ".e") == NULL) m = (size_t)snprintf(out, 40, "%.*g.0", digits, v);
    return m < n ? m : 0;
  }
  return 0;
}

/* Bytes of the JSON string at s, with its quotes. */
static size_t quoted_length (const char *s) {
  size_t n = 1;
  while (s[n] != '"') n += s[n] == '\\' ? 2 : 1;
  return n + 1;
}

/* Floats of a JSON text get the fewest digits that are read back as the same bits. The text gets no longer. */
static void shorten (char *text) {
  char *to = text, number[40];
  for (const char *s = text; *s != '\0';) {
    size_t n = 1, m = 0;
    if (*s == '"') n = quoted_length(s);
    else if (*s == '-' || (*s >= '0' && *s <= '9')) {
      n = strspn(s, "+-.0123456789e");
      if (strcspn(s, ".e") < n) m = shorter(s, n, number);
    }
    if (m > 0) memcpy(to, number, m);
    else memmove(to, s, n);
    to += m > 0 ? m : n;
    s += n;
  }
  *to = '\0';
}

/* core.json_encode(v): text, keys sorted */
int lgb_json_encode (lua_State *L) {
  luaL_checkany(L, 1);
  json_t **h = new_holder(L);
  json_t *v = encode(L, 1, 0);
  *h = v;
  char **text = lgb_newtext(L);
  *text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
  if (*text == NULL) return lgb_fail(L, GB_ENOMEM, "no memory for JSON");
  shorten(*text);
  lua_pushstring(L, *text);
  return 1;
}

static void decode (lua_State *L, const json_t *v) {
  luaL_checkstack(L, 8, "JSON");
  switch (json_typeof(v)) {
    case JSON_OBJECT: {
      const char *key;
      json_t *one;
      lua_createtable(L, 0, (int)json_object_size(v));
      json_object_foreach((json_t *)v, key, one) {
        decode(L, one);
        lua_setfield(L, -2, key);
      }
      break;
    }
    case JSON_ARRAY:
      lua_createtable(L, (int)json_array_size(v), 0);
      for (size_t i = 0; i < json_array_size(v); i++) {
        decode(L, json_array_get(v, i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
      }
      break;
    case JSON_STRING: lua_pushlstring(L, json_string_value(v), json_string_length(v)); break;
    case JSON_INTEGER: lua_pushinteger(L, json_integer_value(v)); break;
    case JSON_REAL: lua_pushnumber(L, json_real_value(v)); break;
    case JSON_TRUE: lua_pushboolean(L, 1); break;
    case JSON_FALSE: lua_pushboolean(L, 0); break;
    case JSON_NULL: lua_pushnil(L); break;
  }
}

/* Is any list or object nested deeper than MAX_DEPTH? */
static bool too_deep (const json_t *v, int depth) {
  if (depth > MAX_DEPTH) return true;
  const char *key;
  json_t *one;
  json_object_foreach((json_t *)v, key, one) if (too_deep(one, depth + 1)) return true;
  for (size_t i = 0; i < json_array_size(v); i++)
    if (too_deep(json_array_get(v, i), depth + 1)) return true;
  return false;
}

void lgb_push_json (lua_State *L, lgb_session *s, const char *text, size_t n, const char *what) {
  gb_tensor *account = lgb_newholder(L); /* what the values take until they are Lua's */
  const gb_shape bytes = gb_shape_of(1, (size_t[]){gb_json_bytes(n)});
  gb_error err;
  lgb_result(L,
             gb_tensor_new(&s->home->ledger, GB_BOOL, &bytes, GB_MEM_WORKSPACE, s->where, "", account, &err),
             &err);
  json_t **h = new_holder(L);
  lgb_result(L, gb_json_parse(text, n, what, h, &err), &err);
  if (too_deep(*h, 0)) lgb_fail(L, GB_EFORMAT, "%s: JSON is nested more than %d deep", what, MAX_DEPTH);
  decode(L, *h);
  gb_tensor_clear(account);
  json_decref(*h);
  *h = NULL;
}

/* core.json_decode(text): the value; null is nil. A key that is there twice is an error. */
static int json_decode (lua_State *L) {
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  lgb_push_json(L, lgb_enter(L), text, n, "text");
  return 1;
}

const luaL_Reg lgb_json_functions[] = {
    {"json_decode", json_decode}, {"json_encode", lgb_json_encode}, {NULL, NULL}};

void lgb_json_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", holder_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_JSON, events);
  lua_pop(L, 1);
}
