/* logbook.c - the history file of the user: where it is, and what is said when it fails. */
#include "shell/logbook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/lgb.h"

#define HISTORY_META "gibbous.history"

static void make_parents (char *path) {
  for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
}

/* Leaves "" where there is none. */
static void find_file (char *to, size_t size) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  int n = 0;
  if (state != NULL && state[0] == '/') n = snprintf(to, size, "%s/gibbous/history", state);
  else if (home != NULL) n = snprintf(to, size, "%s/.local/state/gibbous/history", home);
  if (n <= 0 || (size_t)n >= size) *to = '\0';
}

static void say (const char *what, const char *why) {
  fprintf(stderr, "gibbous: history: %s: %s\n", what, why);
}

void gb_logbook_open (gb_logbook *b, void (*take)(void *ud, const char *text), void *ud) {
  gb_history h;
  gb_error err;
  find_file(b->file, sizeof b->file);
  if (b->file[0] == '\0') return;
  make_parents(b->file);
  if (access(b->file, F_OK) != 0) return; /* the first session */
  if (gb_history_read(b->file, &h, &err) != GB_OK) {
    say("earlier entries are not there", err.text);
    return;
  }
  for (size_t i = 0; i < h.n; i++) take(ud, h.entry[i].text);
  if (h.damaged > 0)
    fprintf(stderr, "gibbous: history: %zu damaged line%s of %s left out\n", h.damaged,
            h.damaged == 1 ? "" : "s", b->file);
  gb_history_clear(&h);
}

/* A full disk loses history, not the session. */
static void give_up (gb_logbook *b, const char *what, const gb_error *err) {
  say(what, err->text);
  b->file[0] = '\0';
}

bool gb_logbook_begin (gb_logbook *b, const char *text) {
  gb_error err;
  const char *unfit = gb_history_unfit(text);
  b->id[0] = '\0';
  if (unfit != NULL) {
    if (!b->told_unfit) say("this entry is not kept", unfit);
    b->told_unfit = true;
    return false;
  }
  if (b->file[0] == '\0' || gb_history_begin(b->file, text, b->id, &err) == GB_OK) return true;
  b->id[0] = '\0';
  give_up(b, "this entry and later ones are not kept", &err);
  return true;
}

void gb_logbook_finish (gb_logbook *b, double seconds, gb_history_end end) {
  gb_error err;
  if (b->file[0] == '\0' || b->id[0] == '\0') return;
  if (gb_history_finish(b->file, b->id, seconds, end, &err) != GB_OK)
    give_up(b, "how this entry ended is not kept, nor are later ones", &err);
  b->id[0] = '\0';
}

/* -- for :history */

static int history_gc (lua_State *L) {
  gb_history_clear(luaL_checkudata(L, 1, HISTORY_META));
  return 0;
}

/* Pushes an empty history that is cleared with its userdata. */
static gb_history *new_history (lua_State *L) {
  static const luaL_Reg events[] = {{"__close", history_gc}, {"__gc", history_gc}, {NULL, NULL}};
  gb_history *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (gb_history){0};
  if (luaL_getmetatable(L, HISTORY_META) == LUA_TNIL) {
    lua_pop(L, 1);
    lgb_newmeta(L, HISTORY_META, events);
  }
  lua_setmetatable(L, -2);
  return h;
}

static void push_entry (lua_State *L, const gb_history_entry *e) {
  static const char *const ends[] = {NULL, "ok", "error", "interrupted"};
  lua_createtable(L, 0, 5);
  lua_pushstring(L, e->text);
  lua_setfield(L, -2, "text");
  if (*e->directory != '\0') {
    lua_pushstring(L, e->directory);
    lua_setfield(L, -2, "directory");
  }
  if (e->began > 0) {
    lua_pushnumber(L, e->began);
    lua_setfield(L, -2, "began");
  }
  if (e->end == GB_END_UNKNOWN) return;
  lua_pushnumber(L, e->seconds);
  lua_setfield(L, -2, "seconds");
  lua_pushstring(L, ends[e->end]);
  lua_setfield(L, -2, "ended");
}

int lgb_history (lua_State *L) {
  char file[4096];
  gb_error err;
  gb_history *h = new_history(L);
  lua_toclose(L, -1);
  find_file(file, sizeof file);
  if (*file != '\0' && access(file, F_OK) == 0) lgb_result(L, gb_history_read(file, h, &err), &err);
  lua_createtable(L, (int)h->n, 0);
  for (size_t i = 0; i < h->n; i++) {
    push_entry(L, &h->entry[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(L, (lua_Integer)h->damaged);
  return 2;
}
