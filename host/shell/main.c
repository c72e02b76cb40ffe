/* main.c - the interpreter: a drop-in for 'lua' with the Gibbous library inside, the prompt, and a few
** sub-commands. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "lua/lgb.h"
#include "shell/host.h"

#define PROGRAM "gibbous"
#define COLOUR "--color="

static int command_status; /* what a command asks for, 0: nothing */

static const char *const commands[] = {"attach",   "completion", "data",  "doctor",  "env",
                                       "example",  "help",       "man",   "new",     "reference",
                                       "selftest", "stubs",      "sweep", "version", NULL};

/* Of an option that is wrong: what is wrong with it. */
static void say_bad (const char *bad) {
  static const char *const longer[] = {"--color", "--help", "--version", NULL};
  char near[16], name[16];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(bad, "="), bad);
  if (bad[1] == 'e' || bad[1] == 'l') fprintf(stderr, PROGRAM ": '%s' needs argument\n", bad);
  else if (strcmp(name, "--color") == 0)
    fprintf(stderr, PROGRAM ": %s: auto, always or never is meant\n", bad);
  else if (bad[1] == '-' && lgb_nearest(name, longer, near, sizeof near))
    fprintf(stderr, PROGRAM ": unrecognized option '%s', did you mean '%s'?\n", bad, near);
  else fprintf(stderr, PROGRAM ": unrecognized option '%s'\n", bad);
}

static void usage (const char *bad) {
  if (bad != NULL) say_bad(bad);
  fputs("usage: " PROGRAM " [options] [script [args]]\n"
        "       " PROGRAM " run script [args] | new NAME | example [NAME] | sweep VERB script\n"
        "       " PROGRAM " help [topic] | doctor | selftest | env | version\n"
        "       " PROGRAM " stubs DIR | reference OUT.html | man | completion SHELL\n"
        "       " PROGRAM " attach [PID] [--json]\n"
        "       " PROGRAM " data VERB [NAME..]\n"
        "  -e stat   execute string 'stat'\n"
        "  -i        enter interactive mode after executing 'script'\n"
        "  -l mod    require library 'mod' into global 'mod'\n"
        "  -l g=mod  require library 'mod' into global 'g'\n"
        "  -v        show version information\n"
        "  -h        show this text\n"
        "  -E        ignore environment variables\n"
        "  -W        turn warnings on\n"
        "  --color=auto|always|never\n"
        "            colours of errors and values: at a terminal, always, never\n"
        "  --        stop handling options\n"
        "  -         stop handling options and execute stdin\n",
        bad != NULL ? stderr : stdout);
}

typedef struct command_line {
  int script; /* index of the script, argc when there is none */
  bool execute, interactive, version, ignore_environment, usage;
  const char *bad; /* the option that is wrong, NULL if none */
} command_line;

/* Reads options up to the script; changes nothing but the choice of colours. */
static command_line parse (int argc, char **argv, int first) {
  command_line c = {.script = argc};
  for (int i = first; i < argc; i++) {
    const char *a = argv[i];
    if (a[0] != '-' || a[1] == '\0') return c.script = i, c;
    const bool alone = a[2] == '\0';
    if (a[1] == '-' && alone) return c.script = i + 1 < argc ? i + 1 : argc, c;
    if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) return c.usage = true, c;
    if (strncmp(a, COLOUR, sizeof COLOUR - 1) == 0) {
      if (!lgb_choose_colour(a + sizeof COLOUR - 1)) return c.bad = a, c;
    } else if (a[1] == '-' && strcmp(a, "--version") == 0) c.version = true;
    else if (a[1] == 'E' && alone) c.ignore_environment = true;
    else if (a[1] == 'i' && alone) c.interactive = c.version = true;
    else if (a[1] == 'v' && alone) c.version = true;
    else if (a[1] == 'W' && alone) continue;
    else if (a[1] == 'e' || a[1] == 'l') {
      if (a[1] == 'e') c.execute = true;
      if (alone && (++i >= argc || argv[i][0] == '-')) return c.bad = a, c;
    } else return c.bad = a, c;
  }
  return c;
}

static void print_version (void) {
  printf(PROGRAM " %s  (%s)\n" LUA_COPYRIGHT "\n", GIBBOUS_VERSION, LUA_RELEASE);
  fflush(stdout);
}

static int report (lua_State *L, int status) {
  if (status == LUA_OK) return status;
  const char *message = lua_tostring(L, -1);
  lgb_put_error(stderr, PROGRAM ": ", message != NULL ? message : "(error message not a string)");
  lua_pop(L, 1);
  return status;
}

static int run_loaded (lua_State *L, int status, int nargs, int nresults) {
  return report(L, status == LUA_OK ? lgb_call(L, nargs, nresults) : status);
}

static int run_string (lua_State *L, const char *text, const char *chunk) {
  return run_loaded(L, luaL_loadbufferx(L, text, strlen(text), chunk, "t"), 0, 0);
}

static int run_file (lua_State *L, const char *name) {
  return run_loaded(L, luaL_loadfilex(L, name, "t"), 0, 0);
}

/* -l mod, -l g=mod */
static int run_library (lua_State *L, const char *spec) {
  const char *equals = strchr(spec, '=');
  const char *module = equals != NULL ? equals + 1 : spec;
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  const int status = report(L, lgb_call(L, 1, 1));
  if (status != LUA_OK) return status;
  if (equals != NULL) lua_pushlstring(L, spec, (size_t)(equals - spec));
  else lua_pushlstring(L, module, strcspn(module, "-")); /* the name without a version suffix */
  lua_insert(L, -2);
  lua_pushglobaltable(L);
  lua_insert(L, -3);
  lua_settable(L, -3);
  lua_pop(L, 1);
  return LUA_OK;
}

static int run_options (lua_State *L, char **argv, int first, int script) {
  for (int i = first; i < script; i++) {
    const char kind = argv[i][0] == '-' ? argv[i][1] : '\0';
    if (kind == 'W') lua_warning(L, "@on", 0);
    if (kind != 'e' && kind != 'l') continue;
    const char *value = argv[i][2] != '\0' ? argv[i] + 2 : argv[++i];
    const int status = kind == 'e' ? run_string(L, value, "=(command line)") : run_library(L, value);
    if (status != LUA_OK) return status;
  }
  return LUA_OK;
}

/* The global 'arg': the script at 0, its arguments from 1, earlier words at negative positions. */
static void set_arg (lua_State *L, int argc, char **argv, int script) {
  if (script == argc) script = 0;
  lua_createtable(L, argc > script ? argc - script - 1 : 0, script + 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* Pushes the contents of 'arg' at this time: -e and -l may have changed it. */
static int push_arguments (lua_State *L) {
  if (lua_getglobal(L, "arg") != LUA_TTABLE) luaL_error(L, "'arg' is not a table");
  const int table = lua_gettop(L), n = (int)luaL_len(L, table);
  luaL_checkstack(L, n + LUA_MINSTACK, "too many arguments to script");
  for (int i = 1; i <= n; i++) lua_rawgeti(L, table, i);
  lua_remove(L, table);
  return n;
}

/* The message on top is that a file cannot be opened: was a command meant? */
static void suggest_command (lua_State *L, const char *name) {
  char near[16];
  if (!lgb_nearest(name, commands, near, sizeof near)) return;
  lua_pushfstring(L, "%s; did you mean the command '%s %s'? %s help lists them", lua_tostring(L, -1), PROGRAM,
                  near, PROGRAM);
  lua_replace(L, -2);
}

static int run_script (lua_State *L, char **argv, int script) {
  const char *name = argv[script];
  const bool from_stdin = strcmp(name, "-") == 0 && strcmp(argv[script - 1], "--") != 0;
  int status = luaL_loadfilex(L, from_stdin ? NULL : name, "t");
  if (status == LUA_ERRFILE && script == 1) suggest_command(L, name);
  return run_loaded(L, status, status == LUA_OK ? push_arguments(L) : 0, LUA_MULTRET);
}

static int run_init (lua_State *L) {
  static const char *const names[] = {"LUA_INIT_5_4", "LUA_INIT"};
  for (int i = 0; i < 2; i++) {
    const char *init = getenv(names[i]);
    if (init == NULL) continue;
    return init[0] == '@' ? run_file(L, init + 1)
                          : run_string(L, init, i == 0 ? "=LUA_INIT_5_4" : "=LUA_INIT");
  }
  return LUA_OK;
}

/* -- sub-commands */

static bool is_command (const char *word) {
  for (const char *const *c = commands; *c != NULL; c++)
    if (strcmp(word, *c) == 0) return true;
  return false;
}

/* 'words' are the command's name and what follows it. The library's function returns true if all is well, or
** the status to exit with. */
static int run_command (lua_State *L, int count, char **words) {
  if (strcmp(words[0], "help") == 0 && count == 1) return usage(NULL), LUA_OK;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "gibbous.commands");
  const int status = report(L, lgb_call(L, 1, 1));
  if (status != LUA_OK) return status;
  luaL_checkstack(L, count, "too many words");
  for (int i = 0; i < count; i++) lua_pushstring(L, words[i]);
  if (report(L, lgb_call(L, count, 1)) != LUA_OK) return LUA_ERRRUN;
  if (lua_isinteger(L, -1)) {
    command_status = (int)lua_tointeger(L, -1);
    return LUA_ERRRUN;
  }
  return lua_toboolean(L, -1) ? LUA_OK : LUA_ERRRUN;
}

/* A command is done when what it printed has gone out. */
static int written (int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fputs(PROGRAM ": the output could not be written\n", stderr);
  return LUA_ERRRUN;
}

/* -- all of it, in protected mode */

static void open_libraries (lua_State *L, bool ignore_environment) {
  if (ignore_environment) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  luaL_openlibs(L);
  lua_getglobal(L, "print");
  lua_setfield(L, LUA_REGISTRYINDEX, LGB_PRINT);
  lgb_text_only(L);
  lgb_interruptible(L);
  lgb_embed_searcher(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, lgb_open_process);
  lua_setfield(L, -2, "gibbous.process");
  lua_pop(L, 1);
}

static int run_all (lua_State *L, int argc, char **argv) {
  const bool run = argc > 1 && strcmp(argv[1], "run") == 0;
  const int first = run ? 2 : 1;
  const command_line c = parse(argc, argv, first);
  if (c.usage) return usage(NULL), LUA_OK;
  if (c.bad != NULL) return usage(c.bad), LUA_ERRRUN;
  if (run && c.script == argc)
    return fputs(PROGRAM ": run needs a script: " PROGRAM " run script [args]\n", stderr), LUA_ERRRUN;
  if (c.version) print_version();
  open_libraries(L, c.ignore_environment);
  set_arg(L, argc, argv, c.script);
  lua_gc(L, LUA_GCRESTART);
  lua_gc(L, LUA_GCINC, 0, 0, 0); /* charging the collector for tensors needs incremental mode */
  if (!c.ignore_environment && run_init(L) != LUA_OK) return LUA_ERRRUN;
  if (c.script == 1 && c.script < argc && is_command(argv[1]))
    return written(run_command(L, argc - 1, argv + 1));
  if (run_options(L, argv, first, c.script) != LUA_OK) return LUA_ERRRUN;
  if (c.script < argc && run_script(L, argv, c.script) != LUA_OK) return LUA_ERRRUN;
  if (c.interactive) return lgb_repl(L), LUA_OK;
  if (c.script < argc || c.execute || c.version) return LUA_OK;
  if (isatty(STDIN_FILENO)) return lgb_repl(L), LUA_OK;
  return run_file(L, NULL);
}

static int protected_main (lua_State *L) {
  const int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_checkversion(L);
  lua_gc(L, LUA_GCSTOP); /* while the libraries are opened */
  lua_pushboolean(L, run_all(L, argc, argv) == LUA_OK);
  return 1;
}

int main (int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs(PROGRAM ": cannot create state: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
  lgb_end_by_interrupts();
  lgb_answer_attach();
  lgb_start_ticker();
  lua_pushcfunction(L, protected_main);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  const int status = report(L, lua_pcall(L, 2, 1, 0));
  const bool ok = status == LUA_OK && lua_toboolean(L, -1);
  lua_close(L);
  if (ok) return EXIT_SUCCESS;
  return command_status != 0 ? command_status : lgb_failure_status();
}
