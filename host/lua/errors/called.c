/* called.c - what the script calls a tensor: the variable that holds it, of the nearest frame outside the library. Errors
** alone ask. The core does, in the middle of its work, so nothing here allocates, collects or raises. */
#include <stdio.h>
#include <string.h>

#include "lua/lgb.h"

enum { SLOTS = 12, DEEP = 2, FRAMES = 8 };

/* Does the metatable of the table at 'index' say that the table stands for a tensor? */
static bool stands_for_tensor (lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  bool found = false;
  for (lua_pushnil(L); !found && lua_next(L, -2); lua_pop(L, 1))
    found = lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "__tensor") == 0;
  lua_pop(L, found ? 2 : 1);
  return found;
}

static bool is_node (lua_State *L, int index, const gb_node *n) {
  if (lua_type(L, index) != LUA_TUSERDATA || lua_rawlen(L, index) != sizeof(lgb_tensor)) return false;
  return ((const lgb_tensor *)lua_touserdata(L, index))->node == n;
}

/* Is the value on top the tensor, or a parameter that has it? Parameters keep it in a table of theirs. */
static bool holds (lua_State *L, const gb_node *n, int depth) {
  if (is_node(L, -1, n)) return true;
  if (depth == 0 || lua_type(L, -1) != LUA_TTABLE) return false;
  if (depth == DEEP && !stands_for_tensor(L, -1)) return false;
  bool found = false;
  for (lua_pushnil(L); !found && lua_next(L, -2); lua_pop(L, 1)) found = holds(L, n, depth - 1);
  if (found) lua_pop(L, 1);
  return found;
}

/* A name that a reader of the script knows: not Lua's "(temporary)", nor the prompt's last result. */
static bool is_name (const char *name) { return *name != '(' && *name != '_' && *name != '\0'; }

/* The key of the table on top that holds the tensor, the first of several by name; NULL: none does. */
static const char *key_of (lua_State *L, const gb_node *n) {
  const char *best = NULL;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const char *key = lua_tostring(L, -2);
    if (!is_name(key) || (best != NULL && strcmp(key, best) >= 0)) continue;
    if (holds(L, n, DEEP)) best = key;
  }
  return best;
}

/* The variable on top: does it, or a field of it, hold the tensor? Pops it. */
static bool tell (lua_State *L, const char *name, const gb_node *n, char *buf, size_t size) {
  const char *key = NULL;
  const bool is = holds(L, n, DEEP);
  if (!is && lua_type(L, -1) == LUA_TTABLE && !stands_for_tensor(L, -1)) key = key_of(L, n);
  if (is) snprintf(buf, size, "%s", name);
  if (key != NULL) snprintf(buf, size, "%s.%s", name, key);
  lua_pop(L, 1);
  return is || key != NULL;
}

/* A local of the inner block hides one of the outer: the last one is told. */
static bool in_locals (lua_State *L, const lua_Debug *ar, const gb_node *n, char *buf, size_t size) {
  bool found = false;
  const char *name;
  for (int i = 1; (name = lua_getlocal(L, ar, i)) != NULL; i++) {
    if (is_name(name)) found |= tell(L, name, n, buf, size);
    else lua_pop(L, 1);
  }
  return found;
}

/* The function on top. Its _ENV has the globals that it sees. */
static bool in_upvalues (lua_State *L, const gb_node *n, char *buf, size_t size) {
  const char *name;
  bool found = false;
  for (int i = 1; !found && (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
    if (is_name(name)) found = tell(L, name, n, buf, size);
    else lua_pop(L, 1);
  }
  return found;
}

static bool in_globals (lua_State *L, const gb_node *n, char *buf, size_t size) {
  const char *name, *key = NULL;
  for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
    if (strcmp(name, "_ENV") == 0 && lua_type(L, -1) == LUA_TTABLE) key = key_of(L, n);
    lua_pop(L, 1);
  }
  if (key != NULL) snprintf(buf, size, "%s", key);
  return key != NULL;
}

/* The frame's function is on top. */
static bool in_frame (lua_State *L, const lua_Debug *ar, const gb_node *n, char *buf, size_t size) {
  return in_locals(L, ar, n, buf, size) || in_upvalues(L, n, buf, size) || in_globals(L, n, buf, size);
}

/* The caller's callers too: a tail call has no frame, and a function may compute what it was given. */
bool lgb_called (void *ud, const gb_node *n, char *buf, size_t size) {
  lua_State *L = ((lgb_session *)ud)->L;
  lua_Debug ar;
  if (!lua_checkstack(L, SLOTS)) return false;
  bool found = false;
  for (int level = 0, frames = 0; !found && frames < FRAMES && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (!lgb_is_script(&ar)) continue;
    frames++;
    lua_getinfo(L, "f", &ar);
    found = in_frame(L, &ar, n, buf, size);
    lua_pop(L, 1);
  }
  return found;
}

/* core.told(x): "30x2 (X, script.lua:12)": its shape, the variable that holds it, the line that made it. A number has neither. */
int lgb_core_told (lua_State *L) {
  lgb_session_of(L);
  const gb_node *x = lgb_checknode(L, 1);
  char text[GB_NODE_TEXT], shape[GB_SHAPE_TEXT];
  const bool is_number = x->op == GB_OP_CONST && *x->name == '\0';
  lua_pushstring(L, is_number ? gb_shape_text(gb_node_shape(x), shape) : gb_node_text(x, text));
  return 1;
}
