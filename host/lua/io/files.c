/* files.c - what gb.data asks of files whatever they hold: are they there, how do they begin, a digest of what was read. */
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/infile.h"
#include "base/interrupt.h"
#include "lua/io/io.h"

#define LGB_GLOB "gibbous.glob"

/* core.file_exists(path): is anything there? */
static int file_exists (lua_State *L) {
  struct stat st;
  lua_pushboolean(L, stat(lgb_checkstring(L, 1), &st) == 0);
  return 1;
}

/* core.file_stamp(path): a text that changes when the file is written; nil: nothing is there */
static int file_stamp (lua_State *L) {
  struct stat st;
  char text[128];
  if (stat(lgb_checkstring(L, 1), &st) != 0) return 0;
  snprintf(text, sizeof text, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_size,
           (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  lua_pushstring(L, text);
  return 1;
}

/* core.file_lead(path): the first bytes of a plain file, 4096 at most */
static int file_lead (lua_State *L) {
  lgb_enter(L);
  char lead[4096];
  size_t got = 0;
  gb_infile f;
  gb_error err;
  lgb_result(L, gb_infile_open(lgb_checkstring(L, 1), &f, &err), &err);
  const gb_status st = gb_infile_read(&f, lead, sizeof lead, &got, &err);
  gb_infile_close(&f);
  lgb_result(L, st, &err);
  lua_pushlstring(L, lead, got);
  return 1;
}

static gb_status fold_run (void *ud, const void *p, size_t bytes) {
  uint64_t *h = ud;
  *h = gb_hash_bytes(*h, p, bytes);
  return gb_interrupted() ? GB_EINTR : GB_OK;
}

/* core.digest(list): 16 hexadecimal digits of what the strings and tensors of a list hold: type, shape and
** bits, in order */
static int digest (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lgb_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  uint64_t h = 0;
  const lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  for (lua_Integer i = 1; i <= n; i++, lua_settop(L, 1)) {
    if (lua_rawgeti(L, 1, i) == LUA_TSTRING) {
      size_t length;
      const char *text = lua_tolstring(L, 2, &length);
      h = gb_hash_bytes(gb_hash_u64(h, GB_NDTYPES), text, length);
      continue;
    }
    const gb_tensor host = lgb_host_value(L, s, lgb_checknode(L, 2)), *t = &host;
    h = gb_hash_u64(h, t->dtype);
    for (int k = 0; k < t->shape.ndim; k++) h = gb_hash_u64(h, t->shape.dim[k]);
    h = gb_hash_u64(h, (uint64_t)t->shape.ndim);
    if (gb_tensor_visit(t, fold_run, &h) != GB_OK) return lgb_fail(L, GB_EINTR, "interrupted");
  }
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
  lua_pushstring(L, text);
  return 1;
}

static int glob_gc (lua_State *L) {
  glob_t *g = luaL_checkudata(L, 1, LGB_GLOB);
  globfree(g);
  *g = (glob_t){0};
  return 0;
}

/* core.glob(pattern): the paths that match, sorted */
static int paths (lua_State *L) {
  const char *pattern = lgb_checkstring(L, 1);
  glob_t *g = lua_newuserdatauv(L, sizeof *g, 0);
  *g = (glob_t){0};
  lgb_setmeta(L, LGB_GLOB);
  if (glob(pattern, 0, NULL, g) == GLOB_NOSPACE)
    return lgb_fail(L, GB_ENOMEM, "no memory to list '%s'", pattern);
  lua_createtable(L, (int)g->gl_pathc, 0);
  for (size_t i = 0; i < g->gl_pathc; i++) {
    lua_pushstring(L, g->gl_pathv[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

const luaL_Reg lgb_files_functions[] = {{"digest", digest},       {"file_exists", file_exists},
                                        {"file_lead", file_lead}, {"file_stamp", file_stamp},
                                        {"glob", paths},          {NULL, NULL}};

void lgb_files_meta (lua_State *L) {
  static const luaL_Reg glob[] = {{"__gc", glob_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_GLOB, glob);
  lua_pop(L, 1);
}
