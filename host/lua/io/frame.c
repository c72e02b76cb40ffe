/* frame.c - delimited text to columns and back: the C half of frames. */
#include <limits.h>
#include <string.h>

#include "base/interrupt.h"
#include "lua/io/io.h"

#define LGB_FRAME "gibbous.csv"

static int frame_gc (lua_State *L) {
  gb_frame_clear(luaL_checkudata(L, 1, LGB_FRAME));
  return 0;
}

static void set_integer (lua_State *L, const char *key, size_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

static void push_values (lua_State *L, lgb_session *s, gb_column *c) {
  lgb_charge(L, s, c->value.storage->block.bytes);
  gb_tensor *held = lgb_newholder(L);
  *held = c->value; /* with its count */
  c->value = (gb_tensor){0};
  lgb_push_leaf(L, s, held, c->name);
}

/* {name, value = tensor [, date = true]}, or {name, odd = cells that are no numbers, line = of the first, sample = its
** text, comma = are they numbers with a decimal comma, words = is this a column of text}; of words and dates 'bytes' of text */
static void push_column (lua_State *L, lgb_session *s, gb_column *c) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, c->name);
  lua_setfield(L, -2, "name");
  if (c->text.storage != NULL) set_integer(L, "bytes", c->text.shape.dim[0]);
  if (c->kind == GB_COLUMN_VALUES || c->kind == GB_COLUMN_DATE) {
    push_values(L, s, c);
    lua_setfield(L, -2, "value");
    lua_pushboolean(L, c->kind == GB_COLUMN_DATE);
    lua_setfield(L, -2, "date");
    return;
  }
  if (c->kind == GB_COLUMN_LEFT) return;
  set_integer(L, "odd", c->nodd);
  set_integer(L, "line", c->odd_line);
  lua_pushstring(L, c->odd);
  lua_setfield(L, -2, "sample");
  lua_pushboolean(L, c->comma);
  lua_setfield(L, -2, "comma");
  lua_pushboolean(L, c->kind == GB_COLUMN_TEXT);
  lua_setfield(L, -2, "words");
}

static void push_notes (lua_State *L, const char *notes) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (const char *end; (end = strchr(notes, '\n')) != NULL; notes = end + 1) {
    lua_pushlstring(L, notes, (size_t)(end - notes));
    lua_rawseti(L, -2, ++n);
  }
}

/* One character of an option, 0 where it is not given. */
static char optcharacter (lua_State *L, int arg, const char *name) {
  const char *s = lgb_optstring(L, arg, name, "");
  if (*s != '\0' && s[1] != '\0') lgb_fail(L, GB_EOPTION, "%s: one character expected, got '%s'", name, s);
  return *s;
}

/* The list of names and numbers in an option; its strings stay there. NULL: it is not given. */
static const gb_csv_choice *get_choice (lua_State *L, const char *option, size_t *n) {
  *n = 0;
  lua_getfield(L, 2, option);
  if (!lua_istable(L, -1)) return NULL;
  *n = lua_rawlen(L, -1);
  gb_csv_choice *list = lgb_scratch(L, *n + 1, sizeof *list);
  for (size_t i = 0; i < *n; i++) {
    lua_getfield(L, 2, option);
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    const bool is_number = lua_isinteger(L, -1);
    list[i] = is_number ? (gb_csv_choice){.number = (size_t)lua_tointeger(L, -1)}
                        : (gb_csv_choice){.name = lgb_checkstring(L, -1)};
    lua_pop(L, 2);
  }
  return list;
}

gb_frame *lgb_newframe (lua_State *L) {
  gb_frame *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (gb_frame){0};
  lgb_setmeta(L, LGB_FRAME);
  return f;
}

void lgb_push_columns (lua_State *L, lgb_session *s) {
  gb_frame *f = luaL_checkudata(L, -1, LGB_FRAME);
  lua_createtable(L, (int)f->ncols, 3);
  set_integer(L, "rows", f->nrows);
  push_notes(L, f->notes);
  lua_setfield(L, -2, "notes");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "frame");
  for (size_t k = 0; k < f->ncols; k++) {
    push_column(L, s, &f->column[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
}

/* core.csv_read(path, {skip, delimiter, decimal, na, has_names, max_ratio, columns, text}) -> the columns, as lgb_push_columns has
** them */
static int csv_read (lua_State *L) {
  static const char *const names[] = {"skip",      "delimiter", "decimal", "na", "has_names",
                                      "max_ratio", "columns",   "text",    NULL};
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  lgb_checkoptions(L, 2, names);
  gb_csv_options o = {.skip = (size_t)lgb_optinteger(L, 2, "skip", 0),
                      .delimiter = optcharacter(L, 2, "delimiter"),
                      .decimal = optcharacter(L, 2, "decimal"),
                      .na = lgb_optstring(L, 2, "na", NULL),
                      .has_names = lgb_optbool(L, 2, "has_names", false),
                      .max_ratio = lgb_optnumber(L, 2, "max_ratio", 0),
                      .pool = s->home->pool};
  o.chosen = get_choice(L, "columns", &o.nchosen);
  o.text = get_choice(L, "text", &o.ntext);
  gb_frame *f = lgb_newframe(L);
  gb_error err;
  lgb_result(L, gb_csv_read(&s->home->ledger, path, s->where, &o, f, &err), &err);
  lgb_push_columns(L, s);
  return 1;
}

/* The column of text k of the frame at 'arg'. */
static const gb_column *check_text (lua_State *L, int arg, lua_Integer k, size_t *rows) {
  const gb_frame *f = luaL_checkudata(L, arg, LGB_FRAME);
  lgb_argcheck(L, k >= 1 && (size_t)k <= f->ncols && f->column[k - 1].text.storage != NULL, arg,
               "no column of text");
  *rows = f->nrows;
  return &f->column[k - 1];
}

/* core.csv_text(frame, k [, most]) -> the cells of a column of text, no more than the first 'most' */
static int csv_text (lua_State *L) {
  size_t rows;
  const gb_column *c = check_text(L, 1, lgb_checkinteger(L, 2), &rows);
  const lua_Integer most = luaL_optinteger(L, 3, LUA_MAXINTEGER);
  if (most < 0 || (lua_Unsigned)most < rows) rows = most < 0 ? 0 : (size_t)most;
  const char *at = gb_host_elements(&c->text);
  lua_createtable(L, rows < INT_MAX ? (int)rows : 0, 0);
  for (size_t i = 0; i < rows; i++, at += strlen(at) + 1) {
    if (i % 65536 == 0 && gb_interrupted()) return lgb_fail(L, GB_EINTR, "interrupted");
    lua_pushstring(L, at);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* The strings of the list on top, one after the other, each ended by NUL. The scratch memory stays below the list. */
static const char *joined_strings (lua_State *L, size_t *rows) {
  const lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  const int list = lua_gettop(L);
  size_t bytes = 0, length;
  for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i);
    if (lua_type(L, -1) != LUA_TSTRING) lgb_fail(L, GB_EOPTION, "a list of strings expected");
    const char *s = lua_tolstring(L, -1, &length);
    if (strlen(s) != length) lgb_fail(L, GB_EOPTION, "entry %d holds a NUL", (int)i);
    bytes += length + 1;
  }
  char *text = lgb_scratch(L, bytes + 1, 1), *at = text;
  lua_insert(L, list);
  for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list + 1, i);
    const char *s = lua_tolstring(L, -1, &length);
    memcpy(at, s, length + 1);
    at += length + 1;
  }
  *rows = (size_t)n;
  return text;
}

/* The item on top, of a list of columns: a vector of 'rows' elements, {frame, k}, or a list of strings. What stands for
** it stays in the list at 2 or below it. */
static gb_csv_column list_column (lua_State *L, lgb_session *s, size_t *rows, bool first, gb_tensor *held) {
  gb_csv_column c = {0};
  size_t n;
  if (lua_istable(L, -1)) {
    const bool is_read = lua_rawgeti(L, -1, 1) == LUA_TUSERDATA;
    lua_pop(L, 1);
    if (is_read) {
      lua_rawgeti(L, -1, 2);
      const lua_Integer k = lgb_checkinteger(L, -1);
      lua_rawgeti(L, -2, 1);
      c.text = gb_host_elements(&check_text(L, lua_gettop(L), k, &n)->text);
      lua_pop(L, 2);
    } else c.text = joined_strings(L, &n);
  } else {
    *held = *lgb_value(L, s, lgb_checknode(L, lua_gettop(L)));
    c.value = held;
    lgb_argcheck(L, held->shape.ndim == 1, 2, "vectors expected");
    n = c.value->shape.dim[0];
  }
  lgb_argcheck(L, first || n == *rows, 2, "columns of one length expected");
  *rows = n;
  return c;
}

/* Pushes what columns of text are read as that are not read as text, by number: "dates", "numbers or truth values", "a mistake". */
static void push_kinds (lua_State *L, size_t rows, size_t cols, const gb_csv_column *column) {
  static const char *const words[] = {[GB_COLUMN_VALUES] = "numbers or truth values",
                                      [GB_COLUMN_MIXED] = "a mistake",
                                      [GB_COLUMN_DATE] = "dates"};
  lua_newtable(L);
  for (size_t k = 0; rows > 0 && k < cols; k++) {
    const gb_column_kind kind = column[k].value != NULL ? GB_COLUMN_TEXT
                                                        : gb_csv_kind_of_text(column[k].text, rows);
    if (kind == GB_COLUMN_TEXT) continue;
    lua_pushstring(L, words[kind]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
}

/* core.csv_write(path, x (n, d) or (n), {names}), or in place of x a list of vectors, {frame, k} and lists of strings. Gives what columns
** of text are read as that are not read as text, by number. */
static int csv_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  const bool is_list = lua_type(L, 2) == LUA_TTABLE && lua_getmetatable(L, 2) == 0;
  size_t rows = 1, cols = 1;
  const gb_tensor *t = NULL;
  if (is_list) cols = lua_rawlen(L, 2);
  else {
    t = lgb_value(L, s, lgb_checknode(L, 2));
    lgb_argcheck(L, t->shape.ndim <= 2, 2, "a vector or matrix expected");
    rows = t->shape.ndim == 0 ? 1 : t->shape.dim[0];
    cols = t->shape.ndim < 2 ? 1 : t->shape.dim[1];
  }
  gb_csv_column *column = lgb_scratch(L, cols + 1, sizeof *column);
  gb_tensor *held = lgb_scratch(L, cols + 1, sizeof *held);
  for (size_t k = 0; k < cols; k++) {
    column[k] = (gb_csv_column){.value = t, .index = k};
    if (!is_list) continue;
    luaL_checkstack(L, 8, "too many columns");
    lua_rawgeti(L, 2, (lua_Integer)k + 1);
    column[k] = list_column(L, s, &rows, k == 0, &held[k]);
    lua_pop(L, 1);
  }
  const bool named = lua_istable(L, 3);
  for (size_t k = 0; named && k < cols; k++) {
    lua_rawgeti(L, 3, (lua_Integer)k + 1);
    column[k].name = lgb_checkstring(L, -1); /* the string stays in the list */
    lua_pop(L, 1);
  }
  gb_error err;
  lgb_result(L, gb_csv_write(path, rows, cols, column, named, &err), &err);
  push_kinds(L, rows, cols, column);
  return 1;
}

const luaL_Reg lgb_frame_functions[] = {
    {"csv_read", csv_read}, {"csv_text", csv_text}, {"csv_write", csv_write}, {NULL, NULL}};

void lgb_frame_meta (lua_State *L) {
  static const luaL_Reg frame[] = {{"__gc", frame_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_FRAME, frame);
  lua_pop(L, 1);
}
