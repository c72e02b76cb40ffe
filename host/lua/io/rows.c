/* rows.c - files of rows to columns: JSON; and an entry in the ledger for lists of cells. */
#include "io/table/json_table.h"
#include "lua/io/io.h"

#define LGB_ACCOUNT "gibbous.account"
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

static int account_close (lua_State *L) {
  gb_tensor_clear(luaL_checkudata(L, 1, LGB_ACCOUNT));
  return 0;
}

/* core.account(bytes) -> an entry in the ledger for so many bytes of lists, until it is closed or collected */
static int account (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const lua_Integer bytes = luaL_checkinteger(L, 1);
  lgb_argcheck(L, bytes >= 0, 1, "a number of bytes expected");
  const gb_shape shape = gb_shape_of(1, (size_t[]){(size_t)bytes});
  gb_tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = (gb_tensor){0};
  lgb_setmeta(L, LGB_ACCOUNT);
  gb_error err;
  lgb_result(L,
             gb_tensor_new(&s->home->ledger, GB_BOOL, &shape, GB_MEM_WORKSPACE, s->where, "lists", t, &err),
             &err);
  return 1;
}

const luaL_Reg lgb_rows_functions[] = {
    {"account", account}, {"json_lines", json_lines}, {"json_read", json_read}, {NULL, NULL}};

void lgb_rows_meta (lua_State *L) {
  static const luaL_Reg text[] = {{"__gc", text_gc}, {NULL, NULL}},
                        events[] = {{"__gc", account_close}, {"__close", account_close}, {NULL, NULL}};
  lgb_newmeta(L, LGB_TEXT, text);
  lgb_newmeta(L, LGB_ACCOUNT, events);
  lua_pop(L, 2);
}
