/* place.c - folders, locks and digests of files: the C half of what sweeps keep on disk. */
#include "system/place.h"

#include <unistd.h>

#include "lua/lgb.h"
#include "system/digest.h"

#define LGB_LOCK "gibbous.lock"

/* core.sha256(text): 64 hexadecimal digits */
static int sha256 (lua_State *L) {
  size_t n;
  char out[GB_DIGEST];
  lgb_checkstring(L, 1);
  const char *text = lua_tolstring(L, 1, &n);
  gb_digest_text(text, n, out);
  lua_pushstring(L, out);
  return 1;
}

/* core.sha256_file(path) */
static int sha256_file (lua_State *L) {
  char out[GB_DIGEST];
  gb_error err;
  lgb_result(L, gb_digest_file(lgb_checkstring(L, 1), out, &err), &err);
  lua_pushstring(L, out);
  return 1;
}

/* core.make_folder(path): with those above it */
static int make_folder (lua_State *L) {
  gb_error err;
  lgb_result(L, gb_folder_make(lgb_checkstring(L, 1), &err), &err);
  return 0;
}

/* core.is_remote(path): does it lie on a file system of the network? */
static int is_remote (lua_State *L) {
  lua_pushboolean(L, gb_place_is_remote(lgb_checkstring(L, 1)));
  return 1;
}

/* core.claim(path, text): makes a file that is not there; false where another process has */
static int claim (lua_State *L) {
  size_t n;
  bool won;
  gb_error err;
  const char *path = lgb_checkstring(L, 1);
  lgb_checkstring(L, 2);
  const char *text = lua_tolstring(L, 2, &n);
  lgb_result(L, gb_claim_make(path, text, n, &won, &err), &err);
  lua_pushboolean(L, won);
  return 1;
}

/* core.append(path, text [, durable]): all of the text at the end of a file that only this process writes, or none; durable: it is on
** the disk then */
static int append (lua_State *L) {
  size_t n;
  gb_error err;
  const char *path = lgb_checkstring(L, 1);
  lgb_checkstring(L, 2);
  const char *text = lua_tolstring(L, 2, &n);
  lgb_result(L, gb_journal_append(path, text, n, lua_toboolean(L, 3), &err), &err);
  return 0;
}

/* core.cut(path, bytes): leaves the first bytes of a file */
static int cut (lua_State *L) {
  gb_error err;
  const lua_Integer bytes = lgb_checkinteger(L, 2);
  if (bytes < 0)
    return lgb_fail(L, GB_EOPTION, "a file is cut to 0 bytes or more, got %lld", (long long)bytes);
  lgb_result(L, gb_file_cut(lgb_checkstring(L, 1), (uint64_t)bytes, &err), &err);
  return 0;
}

static int lock_close (lua_State *L) {
  int *fd = luaL_checkudata(L, 1, LGB_LOCK);
  if (*fd >= 0) close(*fd);
  *fd = -1;
  return 0;
}

/* core.lock(path): the lock of a file until it is closed, nil where another process has it */
static int lock (lua_State *L) {
  const char *path = lgb_checkstring(L, 1);
  int *fd = lua_newuserdatauv(L, sizeof *fd, 0);
  *fd = -1;
  lgb_setmeta(L, LGB_LOCK);
  gb_error err;
  lgb_result(L, gb_lock_take(path, fd, &err), &err);
  return *fd < 0 ? 0 : 1;
}

const luaL_Reg lgb_place_functions[] = {{"append", append}, {"claim", claim},
                                        {"cut", cut},       {"is_remote", is_remote},

                                        {"lock", lock},     {"make_folder", make_folder},
                                        {"sha256", sha256}, {"sha256_file", sha256_file},
                                        {NULL, NULL}};

void lgb_place_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", lock_close}, {"__close", lock_close}, {NULL, NULL}},
                        methods[] = {{"close", lock_close}, {NULL, NULL}};
  lgb_newmeta(L, LGB_LOCK, events);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
