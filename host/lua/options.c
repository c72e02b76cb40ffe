/* options.c - option tables of the functions written in C: every key is known, a mistake names the nearest
** right key. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/registry.h"
#include "lua/lgb.h"

/* A table with string keys only. A param is a table too, but a tensor first. */
bool lgb_isoptions (lua_State *L, int arg) {
  if (lua_type(L, arg) != LUA_TTABLE || lua_rawlen(L, arg) != 0) return false;
  if (luaL_getmetafield(L, arg, "__tensor") == LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

/* Pushes the key under which the table on top holds the function below it; else leaves nothing. */
static bool find_function (lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || !lua_rawequal(L, -1, -4)) continue;
    lua_pop(L, 1);
    return true;
  }
  return false;
}

const char *lgb_shown (lua_State *L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER && lua_tonumber(L, index) != lua_tonumber(L, index))
    return lua_pushstring(L, "nan");
  return luaL_tolstring(L, index, NULL);
}

/* The name of the running function as called, or, where the call had no name (pcall, gb[name](...)), as
** registered. Anchored. */
const char *lgb_function_name (lua_State *L) {
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar)) return "?";
  lua_getinfo(L, "nf", &ar);
  if (ar.name != NULL && *ar.name != '?') return ar.name;
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "gibbous.core");
  lua_remove(L, -2);
  if (lua_istable(L, -1) && find_function(L)) return lua_tostring(L, -1);
  if (lua_istable(L, -1) && lua_getfield(L, -1, "methods") == LUA_TTABLE) {
    lua_remove(L, -2);
    if (find_function(L)) return lua_tostring(L, -1);
  }
  return "?";
}

/* "dtype, device, seed", on the stack */
static const char *push_names (lua_State *L, const char *const *names) {
  lua_pushstring(L, *names);
  while (*++names != NULL) {
    lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), *names);
    lua_remove(L, -2);
  }
  return lua_tostring(L, -1);
}

void lgb_checkoptions (lua_State *L, int arg, const char *const *names) {
  if (lua_isnoneornil(L, arg)) return;
  if (!lgb_isoptions(L, arg)) {
    lgb_typeerror(L, arg, lua_pushfstring(L, "option table {%s = ...}", *names));
    return;
  }
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      lgb_fail(L, GB_EOPTION, "%s: option names are strings, got a %s key", lgb_function_name(L),
               luaL_typename(L, -2));
    const char *key = lua_tostring(L, -2);
    const char *const *known = names;
    while (*known != NULL && strcmp(*known, key) != 0) known++;
    if (*known != NULL) continue;
    char near[64];
    const char *list = push_names(L, names);
    if (strcmp(key, "axis") == 0 || strcmp(key, "dim") == 0)
      lgb_fail(L, GB_EOPTION, "%s: unknown option '%s': the dimension is an argument, %s(1); known: %s",
               lgb_function_name(L), key, lgb_function_name(L), list);
    if (lgb_nearest(key, names, near, sizeof near))
      lgb_fail(L, GB_EOPTION, "%s: unknown option '%s', did you mean '%s'? known: %s", lgb_function_name(L),
               key, near, list);
    lgb_fail(L, GB_EOPTION, "%s: unknown option '%s'; known: %s", lgb_function_name(L), key, list);
  }
}

bool lgb_option (lua_State *L, int arg, const char *name) {
  if (!lua_istable(L, arg)) return false;
  if (lua_getfield(L, arg, name) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

static int wrong_type (lua_State *L, const char *name, const char *expected) {
  return lgb_fail(L, GB_EOPTION, "%s: option '%s' must be %s, got %s", lgb_function_name(L), name, expected,
                  luaL_typename(L, -1));
}

/* True: pushed a value of that type. */
static bool typed_option (lua_State *L, int arg, const char *name, int type, const char *expected) {
  if (!lgb_option(L, arg, name)) return false;
  if (lua_type(L, -1) != type) wrong_type(L, name, expected);
  return true;
}

double lgb_optnumber (lua_State *L, int arg, const char *name, double def) {
  if (!typed_option(L, arg, name, LUA_TNUMBER, "a number")) return def;
  const double v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

lua_Integer lgb_optinteger (lua_State *L, int arg, const char *name, lua_Integer def) {
  if (!typed_option(L, arg, name, LUA_TNUMBER, "an integer")) return def;
  int whole;
  const lua_Integer v = lua_tointegerx(L, -1, &whole);
  if (!whole) wrong_type(L, name, "an integer");
  lua_pop(L, 1);
  return v;
}

bool lgb_optbool (lua_State *L, int arg, const char *name, bool def) {
  if (!typed_option(L, arg, name, LUA_TBOOLEAN, "a boolean")) return def;
  const bool v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

/* The string stays alive in the option table. */
const char *lgb_optstring (lua_State *L, int arg, const char *name, const char *def) {
  if (!typed_option(L, arg, name, LUA_TSTRING, "a string")) return def;
  const char *v = lua_tostring(L, -1);
  lua_pop(L, 1);
  return v;
}

gb_dtype lgb_checkdtype (lua_State *L, const char *name) {
  gb_dtype t;
  if (gb_dtype_parse(name, &t)) return t;
  return (gb_dtype)lgb_fail(L, GB_EOPTION,
                            "unknown dtype '%s' (f64, f32, f16, bf16, i64, i32 or bool expected)", name);
}

gb_dtype lgb_optdtype (lua_State *L, int arg, gb_dtype def) {
  const char *name = lgb_optstring(L, arg, "dtype", NULL);
  return name != NULL ? lgb_checkdtype(L, name) : def;
}

/* "cpu:3" is the third of the session's own devices, "cpu:1" or "cpu" the first. 0: it is not spelled so. */
static int own_number (const lgb_session *s, const char *name) {
  const size_t n = strlen(s->device->name);
  if (gb_device_same_name(s->device->name, name)) return 1;
  if (strncmp(name, s->device->name, n) != 0) return 0;
  char *end;
  const long number = name[n] == ':' && isdigit((unsigned char)name[n + 1]) ? strtol(name + n + 1, &end, 10)
                                                                            : 0;
  return number > 0 && number <= GB_DEVICES && *end == '\0' ? (int)number : 0;
}

/* One that is open: the session's own, with its simulated ones, the host's, those that the script has named. */
static gb_device *open_device (const lgb_session *s, const char *name) {
  const int number = own_number(s, name);
  gb_device *dev = s->device;
  if (number > s->devices) return NULL;
  for (int i = 1; i < number; i++) dev = dev->next;
  if (number > 0) return dev;
  if (gb_device_same_name(s->home->name, name)) return s->home;
  for (int i = 0; i < s->nopened; i++)
    if (gb_device_same_name(s->opened[i]->name, name)) return s->opened[i];
  return NULL;
}

enum { MOST_NAMED = GB_GRAPH_DEVICES + 2 };

/* The names of the open devices, but for simulated ones, NULL at the end. */
static void list_names (const lgb_session *s, const char *names[MOST_NAMED + 1]) {
  int n = 0;
  names[n++] = s->device->name;
  if (s->home != s->device && strcmp(s->home->name, s->device->name) != 0) names[n++] = s->home->name;
  for (int i = 0; i < s->nopened; i++) names[n++] = s->opened[i]->name;
  names[n] = NULL;
}

/* Pushes "there is no device 'x' (cpu to cpu:4, far expected)". */
static const char *push_unknown (lua_State *L, const lgb_session *s, const char *name) {
  const char *names[MOST_NAMED + 1];
  list_names(s, names);
  lua_pushfstring(L, "there is no device '%s' (%s", name, names[0]);
  if (s->devices > 1) lua_pushfstring(L, " to %s:%d", names[0], s->devices);
  else lua_pushliteral(L, "");
  lua_concat(L, 2);
  for (int i = 1; names[i] != NULL; i++) {
    lua_pushfstring(L, ", %s", names[i]);
    lua_concat(L, 2);
  }
  lua_pushliteral(L, " expected)");
  lua_concat(L, 2);
  return lua_tostring(L, -1);
}

enum { MOST_NAME = 64 };

/* "CUDA", "cuda 1", "cpu2" and "gpu:0" are near to names of devices: letters of a kind, then perhaps a number. False: it
** is a name, or near to none. */
static bool respelled (const lgb_session *s, const char *name, char near[MOST_NAME]) {
  char kind[MOST_NAME];
  const char *names[MOST_NAMED + 1];
  size_t n = 0;
  for (; isalpha((unsigned char)name[n]) && n < sizeof kind - 8; n++)
    kind[n] = (char)tolower((unsigned char)name[n]);
  kind[n] = '\0';
  if (strcmp(kind, "gpu") == 0) strcpy(kind, "cuda");
  const char *digits = name + n + strspn(name + n, " :_-");
  const size_t count = strspn(digits, "0123456789");
  bool known = strcmp(kind, "cuda") == 0;
  list_names(s, names);
  for (int i = 0; !known && names[i] != NULL; i++)
    known = strncmp(names[i], kind, strlen(kind)) == 0 && strchr(":", names[i][strlen(kind)]) != NULL;
  if (n == 0 || !known || count > 3 || digits[count] != '\0') return false;
  snprintf(near, MOST_NAME, "%s%s%s", kind, count > 0 ? ":" : "", digits);
  return strcmp(near, name) != 0;
}

bool lgb_means_device (const lgb_session *s, const char *name) {
  char near[MOST_NAME];
  return respelled(s, name, near);
}

static gb_device *refuse_device (lua_State *L, const lgb_session *s, const char *name, const char *why) {
  const char *names[MOST_NAMED + 1], *text = push_unknown(L, s, name);
  char near[MOST_NAME];
  list_names(s, names);
  if (own_number(s, name) > s->devices)
    lgb_fail(L, GB_EDEVICE, "%s; gb.config{devices = %d} makes it, simulated", text, own_number(s, name));
  if (respelled(s, name, near) || lgb_nearest(name, names, near, sizeof near))
    lgb_fail(L, GB_EDEVICE, why != NULL ? "%s, did you mean '%s'? %s" : "%s, did you mean '%s'?", text, near,
             why);
  lgb_fail(L, GB_EDEVICE, why != NULL ? "%s: %s" : "%s", text, why);
  return NULL;
}

/* "cpu:2" of "cpu". The number behind another kind is that of a device to open. */
static bool is_simulated (const gb_device *first, const char *name) {
  const size_t n = strlen(first->name);
  return strncmp(name, first->name, n) == 0 && name[n] == ':';
}

gb_device *lgb_checkdevice (lua_State *L, lgb_session *s, const char *name) {
  gb_device *dev = open_device(s, name);
  if (dev != NULL) return dev;
  if (is_simulated(s->device, name) || is_simulated(s->home, name)) return refuse_device(L, s, name, NULL);
  gb_error err;
  return lgb_open_device(s, name, &dev, &err) == GB_OK ? dev : refuse_device(L, s, name, err.text);
}

int lgb_devicenumber (lua_State *L, lgb_session *s, const char *name) {
  gb_error err;
  int number = 0;
  lgb_result(L, gb_graph_add_device(s->graph, lgb_checkdevice(L, s, name), &number, &err), &err);
  return number;
}

int lgb_optdevice (lua_State *L, int arg, int def) {
  lgb_session *s = lgb_session_of(L);
  const char *name = lgb_optstring(L, arg, "device", NULL);
  return s->graph->generators_on = name == NULL ? def : lgb_devicenumber(L, s, name);
}

/* Bytes from a number or from text such as "1.5 GiB", "200MB". */
size_t lgb_tobytes (lua_State *L, int index, const char *what) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {
      {"", 1},      {"B", 1},        {"KB", 1e3},        {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
  double bytes = -1;
  if (lua_type(L, index) == LUA_TNUMBER) {
    bytes = lua_tonumber(L, index);
  } else if (lua_type(L, index) == LUA_TSTRING) {
    char number[32], unit[8] = "";
    const char *text = lua_tostring(L, index);
    int used = 0;
    if (sscanf(text, " %31[0-9.eE+-]%n %7[A-Za-z]%n", number, &used, unit, &used) >= 1 &&
        text[used + (int)strspn(text + used, " ")] == '\0' && lua_stringtonumber(L, number) != 0) {
      const double v = lua_tonumber(L, -1);
      lua_pop(L, 1);
      for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].unit) == 0) bytes = v * units[i].bytes;
    }
  } else {
    lgb_fail(L, GB_EOPTION, "%s must be bytes or text such as \"1 GiB\", got %s", what,
             luaL_typename(L, index));
  }
  if (!(bytes >= 0 && bytes < 0x1p62))
    lgb_fail(L, GB_EOPTION, "%s must be bytes or text such as \"1 GiB\", got %s", what, lgb_shown(L, index));
  return (size_t)bytes;
}
