/* record.h - options and records of solves, the same for all solvers of the Lua library. */
#ifndef GB_LUA_SOLVE_RECORD_H
#define GB_LUA_SOLVE_RECORD_H

#include "lua/lgb.h"
#include "solve/frame/solve.h"

/* {tol, max_iter, mixed}: of solves that are nodes, which make their preconditioner. */
gb_solve_options lgb_checksolve (lua_State *L, int arg);
/* Also {precond, x0}, which the option table keeps alive: of solves at once. */
gb_solve_options lgb_checksolve_now (lua_State *L, int arg);

/* The tensor of an option; NULL if the option is not given. The option table keeps it alive. */
gb_node *lgb_opttensor (lua_State *L, int arg, const char *name);

/* Pushes a record {converged, reason, message, iterations, residual, condition, jitter, seconds, bytes};
** message: a sentence on what would help, or NULL. */
void lgb_pushsolve (lua_State *L, const gb_solve_info *info, const char *message);
void lgb_setnumber (lua_State *L, const char *name, double v); /* a field of the record on top */

/* Says once a script line on stderr that a solve of it missed its tolerance. 'where' is interned: its address
** tells lines apart. */
void lgb_say_missed (lgb_session *s, const char *where, const char *how, int steps, double residual,
                     const char *message);

#endif
