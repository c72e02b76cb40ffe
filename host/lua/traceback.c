/* traceback.c - the stack as text, with frames of the library as one line: a user sees the script. */
#include <stdlib.h>
#include <string.h>

#include "lua/lgb.h"

enum { INNER = 20, OUTER = 12 }; /* frames at either end of a deep stack that are looked at */

typedef enum kind { SCRIPT, LIBRARY, NATIVE } kind;

static kind kind_of (const lua_Debug *ar) {
  if (strcmp(ar->what, "C") == 0) return NATIVE;
  return strncmp(ar->source, LGB_CHUNK, sizeof LGB_CHUNK - 1) == 0 ? LIBRARY : SCRIPT;
}

static bool frame (lua_State *co, int level, lua_Debug *ar) {
  return lua_getstack(co, level, ar) && lua_getinfo(co, "Slnt", ar);
}

/* A C function belongs to the library where its nearest caller in Lua does, one of the next few. */
static bool is_folded (lua_State *co, int level) {
  lua_Debug ar;
  for (int end = level + 8; level < end && frame(co, level, &ar); level++)
    if (kind_of(&ar) != NATIVE) return kind_of(&ar) == LIBRARY;
  return false;
}

static void add_frame (lua_State *L, luaL_Buffer *b, const lua_Debug *ar) {
  if (ar->currentline > 0) lua_pushfstring(L, "\n\t%s:%d: in ", ar->short_src, ar->currentline);
  else lua_pushfstring(L, "\n\t%s: in ", ar->short_src);
  luaL_addvalue(b);
  if (strcmp(ar->what, "main") == 0) lua_pushliteral(L, "main chunk");
  else if (*ar->namewhat != '\0') lua_pushfstring(L, "%s '%s'", ar->namewhat, ar->name);
  else if (strcmp(ar->what, "C") == 0) lua_pushliteral(L, "?");
  else lua_pushfstring(L, "function <%s:%d>", ar->short_src, ar->linedefined);
  luaL_addvalue(b);
  if (ar->istailcall) luaL_addstring(b, "\n\t(...tail calls...)");
}

static void add_fold (lua_State *L, luaL_Buffer *b, int folded) {
  if (folded == 0) return;
  lua_pushfstring(L, "\n\t... %d frame%s of the library", folded, folded == 1 ? "" : "s");
  luaL_addvalue(b);
}

static bool whole_wanted (void) {
  const char *v = getenv("GIBBOUS_TRACE");
  return v != NULL && strcmp(v, "full") == 0;
}

/* Number of frames. Finding a frame takes time in proportion to its level, so none is looked at in between. */
static int depth_of (lua_State *co) {
  lua_Debug ar;
  int low = 0, high = 1;
  while (lua_getstack(co, high, &ar)) low = high, high *= 2;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (lua_getstack(co, middle, &ar)) low = middle;
    else high = middle;
  }
  return low + 1;
}

void lgb_push_traceback (lua_State *L, const char *text, int level) {
  if (whole_wanted()) {
    luaL_traceback(L, L, text, level);
    return;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  if (text != NULL) lua_pushfstring(L, "%s\n", text), luaL_addvalue(&b);
  luaL_addstring(&b, "stack traceback:");
  const int depth = depth_of(L);
  int folded = 0;
  lua_Debug ar;
  for (int at = level; at < depth && frame(L, at, &ar); at++) {
    const int skipped = at == level + INNER ? depth - at - OUTER : 0;
    if (skipped <= 0 && is_folded(L, at)) {
      folded++;
      continue;
    }
    add_fold(L, &b, folded);
    folded = 0;
    if (skipped > 0) {
      lua_pushfstring(L, "\n\t...\t(skipping %d levels)", skipped);
      luaL_addvalue(&b);
      at += skipped - 1;
    } else {
      add_frame(L, &b, &ar);
    }
  }
  add_fold(L, &b, folded);
  luaL_pushresult(&b);
}
