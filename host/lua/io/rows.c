/* rows.c - files of rows to columns: JSON. */
#include "io/table/json_table.h"
#include "lua/io/io.h"

#define LGB_TEXT "gibbous.json_text"

static int text_gc (lua_State *L) {
  gb_json_text_clear(luaL_checkudata(L, 1, LGB_TEXT));
  return 0;
}

/* core.json_lines(path) -> the columns of JSON lines, as lgb_push_columns has them */
static int json_lines (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  gb_frame *f = lgb_newframe(L);
  gb_error err;
  lgb_result(L, gb_json_lines(&s->home->ledger, path, s->where, f, &err), &err);
  lgb_push_columns(L, s);
  return 1;
}

/* core.json_read(path) -> true and the columns of a table, or false and any other value */
static int json_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  gb_json_text *text = lua_newuserdatauv(L, sizeof *text, 0);
  *text = (gb_json_text){0};
  lgb_setmeta(L, LGB_TEXT);
  gb_frame *f = lgb_newframe(L);
  bool is_table;
  gb_error err;
  lgb_result(L, gb_json_text_read(&s->home->ledger, path, s->where, text, &err), &err);
  lgb_result(L, gb_json_table(text, f, &is_table, &err), &err);
  if (!is_table) lgb_push_json(L, s, text->bytes.data, text->n, path);
  gb_json_text_clear(text);
  if (is_table) lgb_push_columns(L, s);
  lua_pushboolean(L, is_table);
  lua_insert(L, -2);
  return 2;
}

const luaL_Reg lgb_rows_functions[] = {{"json_lines", json_lines}, {"json_read", json_read}, {NULL, NULL}};

void lgb_rows_meta (lua_State *L) {
  static const luaL_Reg text[] = {{"__gc", text_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_TEXT, text);
  lua_pop(L, 1);
}
