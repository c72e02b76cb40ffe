/* database.c - SQLite for sweeps and queries: core.database(path, mode). A statement is one string with '?' for values; some that
** ended are kept by their string, the user value, and run again. Waits for other writers, for half a minute at most, and polls Ctrl-C
** while it works or waits. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "io/table/table.h"
#include "lua/io/io.h"

#define LGB_DATABASE "gibbous.database"
#define LGB_STATEMENT "gibbous.statement"
#define LGB_TABLE "gibbous.table"
#define LGB_IMAGE "gibbous.image"
#define PATIENCE 30.0                       /* seconds */
#define MOST_KEPT 64                        /* statements */
#define MOST_IMAGE ((sqlite3_int64)1 << 40) /* bytes to which a database of an image may grow */

typedef struct database {
  sqlite3 *handle; /* NULL: closed */
  int kept;        /* statements in the user value: none of them is running */
} database;

static database *check_open (lua_State *L) {
  database *d = luaL_checkudata(L, 1, LGB_DATABASE);
  if (d->handle == NULL) lgb_fail(L, GB_ECLOSED, "the database is closed");
  return d;
}

static gb_status status_of (int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return GB_EFORMAT;
    case SQLITE_NOMEM: return GB_ENOMEM;
    case SQLITE_INTERRUPT: return GB_EINTR;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: return GB_EOPTION;
    default: return GB_EIO;
  }
}

/* Raises what SQLite says; sql: may be NULL. A wait for another connection that Ctrl-C ended is an interruption. */
static int fail (lua_State *L, sqlite3 *handle, int code, const char *sql) {
  const bool given_up = (code & 0xff) == SQLITE_BUSY && gb_interrupted();
  const gb_status st = given_up ? GB_EINTR : status_of(code);
  const char *path = handle == NULL ? NULL : sqlite3_db_filename(handle, "main");
  const char *text = handle == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
  if (st == GB_EINTR) return lgb_fail(L, st, "interrupted");
  return lgb_fail(L, st, "%s: %s%s%s", path == NULL || *path == '\0' ? "the database" : path, text,
                  sql == NULL ? "" : "; in: ", sql == NULL ? "" : sql);
}

static int poll_flag (void *ud) {
  (void)ud;
  return gb_interrupted();
}

/* Another connection writes: sleeps, longer from time to time. 0 ends the wait. */
static int wait_turn (void *ud, int tries) {
  (void)ud;
  const double step = tries < 10 ? 1e-3 : 2e-2,
               waited = tries < 10 ? tries * 1e-3 : 1e-2 + (tries - 10) * 2e-2;
  if (gb_interrupted() || waited > PATIENCE) return 0;
  nanosleep(&(struct timespec){.tv_nsec = (long)(step * 1e9)}, NULL);
  return 1;
}

/* Pushes the address of a file that nobody writes, as SQLite takes it. */
static const char *push_address (lua_State *L, const char *path) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "file:");
  for (const char *p = path; *p != '\0'; p++) {
    char code[4];
    if (strchr("%?#", *p) == NULL) luaL_addchar(&b, *p);
    else luaL_addlstring(&b, code, (size_t)snprintf(code, sizeof code, "%%%02X", (unsigned char)*p));
  }
  luaL_addstring(&b, "?immutable=1");
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Pushes a database that is closed, with no statements. */
static database *push_database (lua_State *L) {
  database *d = lua_newuserdatauv(L, sizeof *d, 1);
  *d = (database){.handle = NULL};
  lgb_setmeta(L, LGB_DATABASE);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  return d;
}

/* Opens the database on top of the stack. */
static void open_handle (lua_State *L, database *d, const char *path, int flags) {
  const int code = sqlite3_open_v2(path, &d->handle, flags | SQLITE_OPEN_EXRESCODE, NULL);
  if (code != SQLITE_OK) {
    lua_pushfstring(L, "%s: %s", path, d->handle == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(d->handle));
    sqlite3_close_v2(d->handle);
    d->handle = NULL;
    lgb_fail(L, status_of(code), "%s", lua_tostring(L, -1));
  }
  sqlite3_progress_handler(d->handle, 1000, poll_flag, NULL);
  sqlite3_busy_handler(d->handle, wait_turn, NULL);
}

/* core.database(path [, "read"|"write"|"create"|"frozen"]): the connection. "create" makes a file that is missing; "frozen" reads one that
** nobody writes, where nothing can be written beside it. */
static int open_database (lua_State *L) {
  static const char *const modes[] = {"create", "read", "write", "frozen", NULL};
  static const int flags[] = {SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SQLITE_OPEN_READONLY,
                              SQLITE_OPEN_READWRITE, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
  const char *path = lgb_checkstring(L, 1);
  const int mode = luaL_checkoption(L, 2, "create", modes);
  if (mode == 3) path = push_address(L, path);
  open_handle(L, push_database(L), path, flags[mode]);
  return 1;
}

/* core.database_image(bytes): a database in memory, of what db:image() gave; the bytes are taken for whole */
static int open_image (lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  database *d = push_database(L);
  open_handle(L, d, ":memory:", SQLITE_OPEN_READWRITE);
  sqlite3_int64 most = MOST_IMAGE;
  unsigned char *copy = sqlite3_malloc64(n + 1); /* of 0 bytes it would be NULL */
  if (copy == NULL) return fail(L, NULL, SQLITE_NOMEM, NULL);
  memcpy(copy, bytes, n);
  const int code = sqlite3_deserialize(d->handle, "main", copy, (sqlite3_int64)n, (sqlite3_int64)n,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (code != SQLITE_OK) return fail(L, d->handle, code, NULL); /* the copy is freed in any case */
  sqlite3_file_control(d->handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &most);
  return 1;
}

static int image_gc (lua_State *L) {
  unsigned char **image = luaL_checkudata(L, 1, LGB_IMAGE);
  sqlite3_free(*image);
  *image = NULL;
  return 0;
}

/* db:image(): the bytes of the file that the database is, or would be */
static int image (lua_State *L) {
  database *d = check_open(L);
  unsigned char **bytes = lua_newuserdatauv(L, sizeof *bytes, 0);
  *bytes = NULL;
  lgb_setmeta(L, LGB_IMAGE);
  sqlite3_int64 n = 0;
  *bytes = sqlite3_serialize(d->handle, "main", &n, 0);
  if (*bytes == NULL) return fail(L, NULL, SQLITE_NOMEM, NULL);
  lua_pushlstring(L, (const char *)*bytes, (size_t)n);
  sqlite3_free(*bytes);
  *bytes = NULL;
  return 1;
}

static void finalize (sqlite3_stmt **s) {
  sqlite3_finalize(*s);
  *s = NULL;
}

static int close_database (lua_State *L) {
  database *d = luaL_checkudata(L, 1, LGB_DATABASE);
  lua_getiuservalue(L, 1, 1);
  if (d->kept > 0)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) finalize(lua_touserdata(L, -1));
  d->kept = 0;
  sqlite3_close_v2(d->handle); /* waits for statements that are still held */
  d->handle = NULL;
  return 0;
}

static int statement_gc (lua_State *L) {
  finalize(luaL_checkudata(L, 1, LGB_STATEMENT));
  return 0;
}

static int bind_value (lua_State *L, sqlite3_stmt *s, int place, int arg) {
  size_t n;
  const char *text;
  switch (lua_type(L, arg)) {
    case LUA_TNONE:
    case LUA_TNIL: return sqlite3_bind_null(s, place);
    case LUA_TBOOLEAN: return sqlite3_bind_int(s, place, lua_toboolean(L, arg));
    case LUA_TNUMBER:
      return lua_isinteger(L, arg) ? sqlite3_bind_int64(s, place, lua_tointeger(L, arg))
                                   : sqlite3_bind_double(s, place, lua_tonumber(L, arg));
    case LUA_TSTRING:
      text = lua_tolstring(L, arg, &n);
      return sqlite3_bind_text64(s, place, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
    default: return lgb_typeerror(L, arg, "number, string, boolean or nil");
  }
}

/* Pushes a kept statement of the string at 2, which is kept no more; else pushes nothing and gives NULL. */
static sqlite3_stmt *take_kept (lua_State *L, database *d) {
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  sqlite3_stmt **s = lua_rawget(L, -2) == LUA_TUSERDATA ? lua_touserdata(L, -1) : NULL;
  if (s == NULL) {
    lua_pop(L, 2);
    return NULL;
  }
  lua_pushvalue(L, 2);
  lua_pushnil(L);
  lua_rawset(L, -4);
  d->kept--;
  lua_remove(L, -2);
  return *s;
}

/* Pushes a new statement of the string at 2. */
static sqlite3_stmt *new_statement (lua_State *L, database *d) {
  size_t n;
  const char *sql = lua_tolstring(L, 2, &n), *rest = NULL;
  sqlite3_stmt **s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = NULL;
  lgb_setmeta(L, LGB_STATEMENT);
  const int code = sqlite3_prepare_v2(d->handle, sql, (int)n + 1, s, &rest);
  if (code != SQLITE_OK) fail(L, d->handle, code, sql);
  if (*s == NULL) lgb_fail(L, GB_EOPTION, "a database got no statement");
  if (rest[strspn(rest, " \t\r\n;")] != '\0')
    lgb_fail(L, GB_EOPTION, "a database takes one statement at a time; behind it is: %s", rest);
  return *s;
}

/* Pushes the statement of argument 2 with the values behind it. */
static sqlite3_stmt *prepare (lua_State *L, database *d) {
  const char *sql = lgb_checkstring(L, 2);
  const int nargs = lua_gettop(L) - 2;
  sqlite3_stmt *s = take_kept(L, d);
  if (s == NULL) s = new_statement(L, d);
  if (sqlite3_bind_parameter_count(s) != nargs)
    lgb_fail(L, GB_EOPTION, "a statement with %d '?' got %d values; in: %s", sqlite3_bind_parameter_count(s),
             nargs, sql);
  for (int i = 1; i <= nargs; i++) {
    const int code = bind_value(L, s, i, i + 2);
    if (code != SQLITE_OK) fail(L, d->handle, code, sql);
  }
  return s;
}

/* Is there a row? Raises on errors. */
static bool step (lua_State *L, sqlite3 *handle, sqlite3_stmt *s) {
  const int code = sqlite3_step(s);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(L, handle, code, sqlite3_sql(s));
  return code == SQLITE_ROW;
}

/* Ends the statement on top of the stack, so that locks go now and not with the garbage. It is kept where there is room. */
static void end_statement (lua_State *L, database *d) {
  sqlite3_stmt **s = lua_touserdata(L, -1);
  sqlite3_reset(*s);
  sqlite3_clear_bindings(*s);
  if (d->kept < MOST_KEPT) {
    lua_getiuservalue(L, 1, 1);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
      lua_pushvalue(L, 2);
      lua_pushvalue(L, -4);
      lua_rawset(L, -4);
      d->kept++;
      s = NULL;
    }
    lua_pop(L, 2);
  }
  if (s != NULL) finalize(s);
  lua_pop(L, 1);
}

/* db:run(sql, ...): rows that a statement without a result changed */
static int run (lua_State *L) {
  database *d = check_open(L);
  sqlite3_stmt *s = prepare(L, d);
  while (step(L, d->handle, s)) continue;
  end_statement(L, d);
  lua_pushinteger(L, sqlite3_changes(d->handle));
  return 1;
}

static void push_value (lua_State *L, sqlite3_stmt *s, int k) {
  switch (sqlite3_column_type(s, k)) {
    case SQLITE_INTEGER: lua_pushinteger(L, sqlite3_column_int64(s, k)); break;
    case SQLITE_FLOAT: lua_pushnumber(L, sqlite3_column_double(s, k)); break;
    case SQLITE_NULL: lua_pushnil(L); break;
    default: {
      const char *text = sqlite3_column_blob(s, k);
      lua_pushlstring(L, text == NULL ? "" : text, (size_t)sqlite3_column_bytes(s, k));
    }
  }
}

/* db:rows(sql, ...): a list of tables, values by the name of the column; NULL is nil */
static int rows (lua_State *L) {
  database *d = check_open(L);
  sqlite3_stmt *s = prepare(L, d);
  const int at = lua_gettop(L);
  lua_newtable(L);
  for (lua_Integer i = 1; step(L, d->handle, s); i++) {
    const int n = sqlite3_column_count(
        s); /* behind the step: a kept statement is prepared again where tables have changed */
    lua_createtable(L, 0, n);
    for (int k = 0; k < n; k++) {
      push_value(L, s, k);
      lua_setfield(L, -2, sqlite3_column_name(s, k));
    }
    lua_rawseti(L, -2, i);
  }
  lua_pushvalue(L, at);
  end_statement(L, d);
  return 1;
}

static int table_gc (lua_State *L) {
  gb_table_close(luaL_checkudata(L, 1, LGB_TABLE));
  return 0;
}

/* Text has no NUL, so neither has a blob. */
static gb_status put_value (gb_table *t, sqlite3_stmt *s, int column, size_t row, gb_error *err) {
  const size_t k = (size_t)column;
  switch (sqlite3_column_type(s, column)) {
    case SQLITE_NULL: return GB_OK;
    case SQLITE_INTEGER:
      return gb_table_put_integer(t, k, row, row + 1, sqlite3_column_int64(s, column), err);
    case SQLITE_FLOAT: return gb_table_put_real(t, k, row, row + 1, sqlite3_column_double(s, column), err);
    default: {
      const char *text = sqlite3_column_blob(s, column);
      return gb_table_put_text(t, k, row, row + 1, text == NULL ? "" : text,
                               (size_t)sqlite3_column_bytes(s, column), err);
    }
  }
}

/* db:columns(sql, ...): the columns of a query, as lgb_push_columns has them */
static int columns (lua_State *L) {
  lgb_session *session = lgb_enter(L);
  database *d = check_open(L);
  const char *path = sqlite3_db_filename(d->handle, "main");
  sqlite3_stmt *s = prepare(L, d);
  const int at = lua_gettop(L);
  bool more = step(L, d->handle, s);
  const int n = sqlite3_column_count(s); /* behind the step, as in rows */
  gb_table *t = lua_newuserdatauv(L, sizeof *t, 0);
  gb_table_open(&session->home->ledger, path == NULL ? "" : path, session->where, false, t);
  lgb_setmeta(L, LGB_TABLE);
  gb_frame *f = lgb_newframe(L);
  gb_error err;
  size_t rows = 0, k;
  for (int i = 0; i < n; i++) lgb_result(L, gb_table_add(t, sqlite3_column_name(s, i), &k, &err), &err);
  for (; more; more = step(L, d->handle, s), rows++)
    for (int i = 0; i < n; i++) lgb_result(L, put_value(t, s, i, rows, &err), &err);
  lgb_result(L, gb_table_finish(t, rows, f, &err), &err);
  lgb_push_columns(L, session);
  lua_pushvalue(L, at);
  end_statement(L, d);
  return 1;
}

const luaL_Reg lgb_database_functions[] = {
    {"database", open_database}, {"database_image", open_image}, {NULL, NULL}};

void lgb_database_meta (lua_State *L) {
  static const luaL_Reg statement[] = {{"__gc", statement_gc}, {NULL, NULL}},
                        table[] = {{"__gc", table_gc}, {NULL, NULL}},
                        picture[] = {{"__gc", image_gc}, {NULL, NULL}},
                        events[] = {{"__gc", close_database}, {"__close", close_database}, {NULL, NULL}},
                        methods[] = {{"close", close_database},
                                     {"columns", columns},
                                     {"image", image},
                                     {"rows", rows},
                                     {"run", run},
                                     {NULL, NULL}};
  lgb_newmeta(L, LGB_STATEMENT, statement);
  lgb_newmeta(L, LGB_TABLE, table);
  lgb_newmeta(L, LGB_IMAGE, picture);
  lgb_newmeta(L, LGB_DATABASE, events);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 4);
}
