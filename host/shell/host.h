/* host.h - the interpreter around the bindings: protected calls, interrupts, text-only loading, the
** prompt. */
#ifndef GB_SHELL_HOST_H
#define GB_SHELL_HOST_H

#include <stdbool.h>
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>

/* call.c */
/* As lua_pcall, with tracebacks, and with Ctrl-C raising "interrupted" in the running code or core. */
int lgb_call (lua_State *L, int nargs, int nresults);
bool lgb_was_interrupted (void); /* did the last failed lgb_call end by Ctrl-C? */
/* Statuses of the program, besides 0, 1 (an error) and 2 (a script's or command's words are wrong). */
enum { LGB_EXIT_NUMERICAL = 4, LGB_EXIT_MEMORY = 5, LGB_EXIT_INTERRUPTED = 130 };
int lgb_failure_status (void);            /* the one for how the last failed lgb_call ended */
void lgb_end_by_interrupts (void);        /* Ctrl-C outside of calls ends the process with that status */
void lgb_watch_interrupts (lua_State *L); /* installs the handler: Ctrl-C is handled also between calls */
lua_State *lgb_running (void);            /* the coroutine that runs; NULL: none */
/* Ctrl-C is raised in this coroutine from now on; returns the previous one */
lua_State *lgb_now_runs (lua_State *co);

/* colour.c */
#define LGB_RED "\033[31m"
#define LGB_FAINT "\033[2m"
bool lgb_choose_colour (const char *when); /* "auto", "always", "never"; false: none of them */
bool lgb_is_coloured (FILE *f);            /* a terminal, unless NO_COLOR or CLICOLOR_FORCE say otherwise */
void lgb_put_coloured (FILE *f, const char *colour, const char *text, size_t n);
/* Who says it ("gibbous: "), a message, its traceback fainter, and a newline. At a terminal, long lines are broken between
** words. */
void lgb_put_error (FILE *f, const char *who, const char *text);

/* coroutine.c */
/* Makes coroutine.resume, close and wrap, and handlers of xpcall, interruptible. A handler of xpcall for a
** Ctrl-C is called after the stopped function has been left. */
void lgb_interruptible (lua_State *L);

/* chunkload.c */
/* load, loadfile, dofile and require refuse precompiled chunks */
void lgb_text_only (lua_State *L);

/* repl.c */
void lgb_repl (lua_State *L);

/* Pushes a global as it is stored, and gives its type: the script's rule for names that do not exist may raise. */
int lgb_raw_global (lua_State *L, const char *name);

/* values.c */
#define LGB_PRINT "gibbous.print" /* registry: the original function print */
/* Prints each argument, or calls the script's own print. A Lua C function, so that a failing __tostring raises an ordinary
** error. */
int lgb_print_values (lua_State *L);

/* ticker.c */
/* Says at a terminal what the core is at, once that takes longer than half a second. A thread, until the end. */
void lgb_start_ticker (void);

/* state.c: answers of a running process to 'gibbous attach' */
#define LGB_STATE_PATH 512
void lgb_answer_attach (void); /* from now on, where SIGUSR1 is free */
/* The file in directory 'in', of fewer than half as many bytes, that process 'pid' writes its state to. */
void lgb_state_path (char out[LGB_STATE_PATH], const char *in, long pid);

/* process.c: the module gibbous.process */
int lgb_open_process (lua_State *L);

/* side.c: lualib/gibbous/prompt/ */
/* Loads it and begins a session, to which it gives these functions. If it does not load, the prompt does without. Pushes
** nothing, or the error: false. */
bool lgb_start_side (lua_State *L, const luaL_Reg *functions);
/* Pushes its function 'name'; false, nothing pushed: there is none. */
bool lgb_push_side (lua_State *L, const char *name);

#endif
