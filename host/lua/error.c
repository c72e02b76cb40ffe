/* error.c - error objects {code, message, line, need, have, minimum, order, options}, and the only places
** that raise them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "lua/lgb.h"

static void set_number (lua_State *L, const char *key, uint64_t v, bool is_known) {
  if (!is_known) return;
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

/* The ways out as a list, where there are any. */
static void set_options (lua_State *L, const char *options) {
  if (*options == '\0') return;
  lua_newtable(L);
  lua_Integer n = 0;
  for (const char *end = strchr(options, '\n'); end != NULL; options = end + 1, end = strchr(options, '\n')) {
    lua_pushlstring(L, options, (size_t)(end - options));
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "options");
}

/* Pushes an error object for the line that called. */
static void push_error (lua_State *L, const char *code, const char *message) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  lua_pushstring(L, message);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, lgb_where(L, lgb_session_of(L)));
  lua_setfield(L, -2, "line");
  lgb_setmeta(L, LGB_ERROR);
}

/* Failures of the surroundings begin with what kind they are; the others say it themselves. */
static bool wants_prefix (gb_status code, const char *text) {
  if (code != GB_ENOMEM && code != GB_EDEVICE && code != GB_EINTERNAL && code != GB_EREFUSED) return false;
  return strncmp(text, gb_status_text(code), strlen(gb_status_text(code))) != 0;
}

/* its address is the registry key of an error that passes through the core */
static const char kept_key = 'e';

/* the key exists: no memory needed */
void lgb_keep_error (lua_State *L) { lua_rawsetp(L, LUA_REGISTRYINDEX, &kept_key); }

/* Pushes what lgb_keep_error kept. False: nothing. */
static bool take_error (lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kept_key) == LUA_TBOOLEAN) return false;
  lua_pushboolean(L, 0);
  lgb_keep_error(L);
  return true;
}

void lgb_wrap_error (lua_State *L, gb_status code, const char *who) {
  const int type = lua_type(L, -1);
  if (type != LUA_TTABLE && type != LUA_TUSERDATA) {
    push_error(L, gb_status_code(code), lua_pushfstring(L, "%s: %s", who, luaL_tolstring(L, -1, NULL)));
    lua_replace(L, -4);
    lua_pop(L, 2);
  }
  if (luaL_getmetafield(L, -1, "__name") == LUA_TNIL) return;
  const bool ours = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), LGB_ERROR) == 0;
  lua_pop(L, 1);
  if (!ours || lua_getfield(L, -1, "traceback") != LUA_TNIL) {
    if (ours) lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  lgb_traceback(L, NULL, 1);
  lua_setfield(L, -2, "traceback");
}

static const char not_pd_hint[] =
    "more noise, or jitter on the diagonal, mends a covariance that rounding spoiled; "
    "gb.linalg.lstsq and gb.linalg.eigh take other matrices";

int lgb_raise (lua_State *L, gb_status code, const gb_error *err) {
  if (code == GB_ECALLBACK && take_error(L)) return lua_error(L);
  if (code == GB_EINTR) gb_interrupt_clear(); /* answered: the next command starts afresh */
  const char *text = err->text[0] != '\0' ? err->text : gb_status_text(code);
  if (wants_prefix(code, text)) text = lua_pushfstring(L, "%s: %s", gb_status_text(code), text);
  if (code == GB_ENOTPD && err->order > 0) text = lua_pushfstring(L, "%s; %s", text, not_pd_hint);
  push_error(L, gb_status_code(code), text);
  set_number(L, "need", err->need, err->need > 0);
  set_number(L, "have", err->have, err->need > 0);
  set_number(L, "minimum", err->minimum, err->minimum > 0);
  set_number(L, "order", err->order, err->order > 0);
  set_options(L, err->options);
  if (code == GB_EINTR && lgb_push_interrupted_solve(L)) lua_setfield(L, -2, "solve");
  return lua_error(L);
}

int lgb_fail (lua_State *L, gb_status code, const char *fmt, ...) {
  gb_error err = {.text = ""};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(err.text, sizeof err.text, fmt, ap);
  va_end(ap);
  return lgb_raise(L, code, &err);
}

/* its address is the registry key of the last text that told of Ctrl-C */
static const char interrupt_key = 'i';

/* Works before the library is loaded, too. */
int lgb_raise_interrupted (lua_State *L) {
  gb_interrupt_clear();
  if (lgb_has_session(L)) return lgb_fail(L, GB_EINTR, "interrupted");
  luaL_where(L, 0); /* within a hook: the function that it was called for */
  lua_pushliteral(L, "interrupted");
  lua_concat(L, 2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &interrupt_key);
  return lua_error(L);
}

bool lgb_is_interrupt_text (lua_State *L, int arg) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &interrupt_key);
  const bool is = lua_rawequal(L, arg, -1);
  lua_pop(L, 1);
  return is;
}

int lgb_result (lua_State *L, gb_status st, const gb_error *err) {
  return st == GB_OK ? 1 : lgb_raise(L, st, err);
}

/* core.error(code, message [, fields]) -> an error object, not raised */
int lgb_core_error (lua_State *L) {
  const char *code = lgb_checkstring(L, 1);
  const char *message = lgb_checkstring(L, 2);
  push_error(L, code, message);
  if (!lua_istable(L, 3)) return 1;
  for (lua_pushnil(L); lua_next(L, 3);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2); /* error, key, key, value */
    lua_rawset(L, -4);
  }
  return 1;
}

/* core.raise(code, message [, fields]): the line is that of the nearest caller outside the library */
int lgb_core_raise (lua_State *L) {
  lgb_core_error(L);
  return lua_error(L);
}

static int error_tostring (lua_State *L) {
  lgb_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "line");
  lua_getfield(L, 1, "message");
  const char *line = lua_tostring(L, -2), *message = lua_tostring(L, -1);
  if (message == NULL) message = "error";
  if (line == NULL || line[0] == '\0') lua_pushstring(L, message);
  else lua_pushfstring(L, "%s: %s", line, message);
  return 1;
}

int lgb_concat (lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

void lgb_error_meta (lua_State *L) {
  static const luaL_Reg meta[] = {{"__concat", lgb_concat}, {"__tostring", error_tostring}, {NULL, NULL}};
  lua_pushboolean(L, 0);
  lgb_keep_error(L);
  lgb_newmeta(L, LGB_ERROR, meta);
  lua_pop(L, 1);
}

/* -- tracebacks */

static bool is_library (lua_State *L, int level) {
  lua_Debug ar;
  if (!lua_getstack(L, level, &ar)) return false;
  lua_getinfo(L, "S", &ar);
  if (*ar.what == 'C') return lua_getstack(L, level + 1, &ar) && is_library(L, level + 1);
  return strncmp(ar.source, LGB_CHUNK, sizeof LGB_CHUNK - 1) == 0;
}

static void add_folded (luaL_Buffer *b, int calls) {
  if (calls == 0) return;
  lua_pushfstring(b->L, calls == 1 ? "\n\t(%d call within the library)" : "\n\t(%d calls within the library)",
                  calls);
  luaL_addvalue(b);
}

/* Every line of Lua's traceback but the first is a level, the remark that levels are skipped, or that tail calls have
** replaced others, which belongs to the level above. */
void lgb_traceback (lua_State *L, const char *text, int level) {
  luaL_traceback(L, L, text, level);
  if (getenv("GIBBOUS_LUA_DIR") != NULL) return; /* who works on the library sees it */
  const char *line = strstr(lua_tostring(L, -1), "\nstack traceback:");
  if (line == NULL) line = lua_tostring(L, -1);
  const char *at = strchr(line + 1, '\n');
  const int whole = lua_gettop(L);
  int folded = 0;
  bool library = false;
  luaL_Buffer b;
  luaL_checkstack(L, 16, "a traceback");
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, lua_tostring(L, whole),
                  at != NULL ? (size_t)(at - lua_tostring(L, whole)) : lua_rawlen(L, whole));
  while (at != NULL) {
    const char *end = strchr(at + 1, '\n');
    const size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
    int skipped;
    const bool is_skip = sscanf(at, "\n\t...\t(skipping %d levels)", &skipped) == 1;
    if (is_skip) level += skipped;
    else if (strncmp(at, "\n\t(...tail calls...)", n) != 0) {
      library = is_library(L, level++);
      folded += library;
    }
    if (is_skip || !library) {
      add_folded(&b, folded);
      folded = 0;
      luaL_addlstring(&b, at, n);
    }
    at = end;
  }
  add_folded(&b, folded);
  luaL_pushresult(&b);
  lua_remove(L, whole);
}

/* Edit distance of two short names; anything longer than the row counts as far. */
static size_t edit_distance (const char *a, const char *b) {
  enum { MOST = 48 };
  const size_t na = strlen(a), nb = strlen(b);
  if (na > MOST || nb > MOST) return MOST;
  size_t row[MOST + 1];
  for (size_t j = 0; j <= nb; j++) row[j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      const size_t gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      row[j] = change < gap ? change : gap;
    }
  }
  return row[nb];
}

bool lgb_nearest (const char *name, const char *const *names, char *best, size_t size) {
  const size_t length = strlen(name), third = length / 3;
  /* one beyond the distance that is still near */
  size_t nearest = (length <= 3 ? 1 : third > 2 ? third : 2) + 1;
  bool found = false;
  for (; *names != NULL; names++) {
    const size_t d = edit_distance(name, *names);
    if (d >= nearest) continue;
    nearest = d;
    found = true;
    snprintf(best, size, "%s", *names);
  }
  return found;
}
