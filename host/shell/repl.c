/* repl.c - the prompt: reads an entry until it is a complete chunk, runs it, prints the results. Errors and
** Ctrl-C end the entry, not the session. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "lua/lgb.h"
#include "shell/editor.h"
#include "shell/host.h"
#include "shell/logbook.h"

#define SLOW 0.05 /* seconds from which the cost of an entry is shown */

/* True if the chunk, message on top, was refused only because it is incomplete. */
static bool is_incomplete (lua_State *L, int status) {
  if (status != LUA_ERRSYNTAX) return false;
  size_t n;
  const char *message = lua_tolstring(L, -1, &n);
  return n >= 5 && strcmp(message + n - 5, "<eof>") == 0;
}

/* Pushes the chunk 'before' .. text, or a message. */
static int load_text (lua_State *L, const char *text, const char *before) {
  const char *s = lua_pushfstring(L, "%s%s", before, text);
  const int status = luaL_loadbufferx(L, s, strlen(s), "=stdin", "t");
  lua_remove(L, -2);
  return status;
}

/* Makes the chunk on top, "return expression", one that returns nil first: it makes no tail call then, so errors find
** the entry's line. Chunks without a value stay as they are. */
static bool pad_values (lua_State *L, const char *expression) {
  const bool padded = load_text(L, expression, "return nil,") == LUA_OK;
  lua_remove(L, padded ? -2 : -1);
  return padded;
}

/* The text at 'entry' as a chunk, an expression if it can be ("=1 + 1" must be one), else statements.
** Leaves the chunk, or a message, on top. 'padded': its first value is to be dropped. */
static int load_entry (lua_State *L, int entry, bool *incomplete, bool *padded) {
  const char *text = lua_tostring(L, entry);
  const bool expression = text[0] == '=';
  int status = load_text(L, text + expression, "return ");
  *padded = status == LUA_OK && pad_values(L, text + expression);
  if (status == LUA_OK) return status;
  *incomplete = is_incomplete(L, status);
  if (expression) return status;
  lua_settop(L, entry);
  status = load_text(L, text, "");
  *incomplete = status != LUA_OK && (*incomplete || is_incomplete(L, status));
  return status;
}

static int push_prompt (lua_State *L) {
  luaL_tolstring(L, lua_upvalueindex(1), NULL);
  return 1;
}

static void report_error (lua_State *L);

int lgb_raw_global (lua_State *L, const char *name) {
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  const int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  return type;
}

/* Like gb_editor_read. The prompt is the global 'name', or 'usual' if that is nil or cannot be converted to a
** string. */
static gb_line read_line (gb_editor *e, lua_State *L, const char *name, const char *usual,
                          const char *before) {
  const int base = lua_gettop(L);
  if (lgb_raw_global(L, name) != LUA_TNIL) {
    lua_pushcclosure(L, push_prompt, 1);
    if (lgb_call(L, 0, 1) == LUA_OK) usual = lua_tostring(L, -1);
    else report_error(L);
  }
  const gb_line line = gb_editor_read(e, L, usual, before);
  if (line == GB_LINE_READ && lua_gettop(L) > base + 1) lua_replace(L, base + 1);
  lua_settop(L, line == GB_LINE_READ ? base + 1 : base);
  return line;
}

/* Reads more lines while the text at 'entry' is incomplete. Leaves the whole text there and the result of
** load_entry on top, of which 'padded' tells. */
static gb_line read_chunk (gb_editor *e, lua_State *L, int entry, int *status, bool *padded) {
  for (;;) {
    bool incomplete = false;
    *status = load_entry(L, entry, &incomplete, padded);
    if (!incomplete) return GB_LINE_READ;
    lua_pushvalue(L, entry);
    lua_pushliteral(L, "\n");
    const gb_line line = read_line(e, L, "_PROMPT2", ">> ", lua_tostring(L, entry));
    if (line == GB_LINE_END) { /* report it as it stands */
      lua_pop(L, 2);
      return GB_LINE_READ;
    }
    if (line != GB_LINE_READ) return line;
    lua_concat(L, 3);
    lua_replace(L, entry);
    lua_settop(L, entry);
  }
}

static void report_error (lua_State *L) {
  fflush(stdout);
  lgb_put_error(stderr, "", luaL_tolstring(L, -1, NULL));
  lua_pop(L, 2);
}

static bool is_silenced (const char *text) {
  size_t n = strlen(text);
  while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL) n--;
  return n > 0 && text[n - 1] == ';';
}

/* Tells the session of the entry at 'entry' and its values above. */
static void remember_results (lua_State *L, int entry) {
  const int n = lua_gettop(L) - entry;
  luaL_checkstack(L, n + LUA_MINSTACK, "too many results to keep");
  if (!lgb_push_side(L, "entered")) return;
  for (int i = 0; i <= n; i++) lua_pushvalue(L, entry + i);
  if (lgb_call(L, n + 1, 0) != LUA_OK) report_error(L);
}

/* Tells the session that an entry will run. */
static void announce (lua_State *L) {
  if (lgb_push_side(L, "typed") && lgb_call(L, 0, 0) != LUA_OK) report_error(L);
}

/* Reports what a call that failed has raised, and says how the entry ended. */
static gb_history_end failed (lua_State *L) {
  const gb_history_end end = lgb_was_interrupted() ? GB_END_INTERRUPTED : GB_END_ERROR;
  report_error(L);
  return end;
}

/* "[1.2 s  cuda:0 0.9 s  peak 12 MiB]": the wall's seconds, those of a device, the bytes held beyond those before */
static void show_cost (double seconds, const lgb_cost *c) {
  char text[128], bytes[GB_BYTES_TEXT];
  int n = snprintf(text, sizeof text, "[%.3g s", seconds);
  if (c->device > 0)
    n += snprintf(text + n, sizeof text - (size_t)n, "  %.40s %.3g s", c->device_name, c->device);
  if (c->peak > 0)
    n += snprintf(text + n, sizeof text - (size_t)n, "  peak %s", gb_bytes_text(c->peak, bytes));
  n += snprintf(text + n, sizeof text - (size_t)n, "]");
  lgb_put_coloured(stdout, LGB_FAINT, text, (size_t)n);
  putchar('\n');
}

/* Runs the chunk on top; the entry's text is at 'entry'. */
static gb_history_end run_chunk (lua_State *L, int entry, bool padded) {
  const bool silent = is_silenced(lua_tostring(L, entry));
  announce(L);
  if (lgb_call(L, 0, LUA_MULTRET) != LUA_OK) return failed(L);
  if (padded) lua_remove(L, entry + 1);
  remember_results(L, entry);
  const int n = lua_gettop(L) - entry;
  if (n == 0 || silent) return GB_END_OK;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_pushcfunction(L, lgb_print_values);
  lua_insert(L, entry + 1);
  return lgb_call(L, n, 0) == LUA_OK ? GB_END_OK : failed(L);
}

/* ":name ...". "::" begins a label. */
static bool is_command (const char *text) { return text[0] == ':' && text[1] != ':'; }

/* stays: false if the session ends. */
static gb_history_end run_command (lua_State *L, int entry, bool *stays) {
  *stays = true;
  announce(L);
  if (!lgb_push_side(L, "command")) {
    fputs("commands need the library, which did not load\n", stderr);
    return GB_END_ERROR;
  }
  lua_pushvalue(L, entry);
  if (lgb_call(L, 1, 1) != LUA_OK) return failed(L);
  fflush(stdout);
  *stays = lua_toboolean(L, -1);
  return GB_END_OK;
}

/* "?name": prints the documentation. */
static bool is_help (const char *text) { return text[0] == '?'; }

static gb_history_end show_help (lua_State *L, const char *text) {
  lgb_raw_global(L, "require");
  lua_pushliteral(L, "gibbous.commands.help");
  if (lgb_call(L, 1, 1) != LUA_OK) return failed(L);
  lua_pushstring(L, text + 1);
  if (lgb_call(L, 1, 1) != LUA_OK) return failed(L);
  printf("%s\n", luaL_tolstring(L, -1, NULL));
  lua_pop(L, 2);
  return GB_END_OK;
}

/* The line at 'entry' is the first of a chunk: reads the others, and runs it. */
static void one_chunk (gb_editor *e, lua_State *L, int entry) {
  int status;
  bool padded;
  if (read_chunk(e, L, entry, &status, &padded) != GB_LINE_READ) return;
  const char *text = lua_tostring(L, entry);
  const bool has_text = text[strspn(text, " \t\n")] != '\0';
  if (has_text) gb_editor_remember(e, text);
  const double start = gb_clock();
  gb_history_end end = GB_END_ERROR;
  lgb_cost_begin(L);
  if (status == LUA_OK) end = run_chunk(L, entry, padded);
  else report_error(L);
  const lgb_cost cost = lgb_cost_end(L);
  const double seconds = gb_clock() - start;
  if (has_text) gb_editor_ended(e, seconds, end);
  if (end == GB_END_OK && seconds > SLOW && gb_editor_is_terminal(e)) show_cost(seconds, &cost);
}

/* Reads and runs one entry; false at the end of the input. */
static bool one_entry (gb_editor *e, lua_State *L) {
  const int base = lua_gettop(L), entry = base + 1;
  const gb_line line = read_line(e, L, "_PROMPT", "> ", "");
  if (line != GB_LINE_READ) return line == GB_LINE_INTERRUPTED;
  const char *text = lua_tostring(L, entry);
  bool stays = true;
  if (is_command(text) || is_help(text)) {
    gb_editor_remember(e, text);
    const double start = gb_clock();
    const gb_history_end end = is_help(text) ? show_help(L, text) : run_command(L, entry, &stays);
    gb_editor_ended(e, gb_clock() - start, end);
  } else {
    one_chunk(e, L, entry);
  }
  lua_settop(L, base);
  return stays;
}

/* print(...): as the values of an entry; history(): see logbook.h */
static const luaL_Reg for_the_side[] = {{"print", lgb_print_values}, {"history", lgb_history}, {NULL, NULL}};

/* Sets the global 'gb'; if the library does not load, the prompt is a plain Lua. */
static void preload (lua_State *L) {
  lgb_raw_global(L, "require");
  lua_pushliteral(L, "gibbous");
  if (lgb_call(L, 1, 1) == LUA_OK) lua_setglobal(L, "gb");
  else report_error(L);
  lgb_raw_global(L, "require");
  lua_pushliteral(L, "gibbous.text.inspect");
  if (lgb_call(L, 1, 0) != LUA_OK) report_error(L);
  if (!lgb_start_side(L, for_the_side)) report_error(L);
}

void lgb_repl (lua_State *L) {
  const int base = lua_gettop(L);
  preload(L);
  gb_editor *e = gb_editor_push(L);
  if (gb_editor_is_terminal(e))
    printf("gibbous %s on %s   ?name explains, Tab completes, Ctrl-D leaves\n", GIBBOUS_VERSION, LUA_RELEASE);
  lgb_watch_interrupts(L);
  while (one_entry(e, L)) {}
  if (gb_editor_is_terminal(e)) putchar('\n');
  fflush(stdout);
  lua_settop(L, base);
}
