/* precond.h - preconditioners as values of the Lua library. */
#ifndef GB_LUA_SOLVE_PRECOND_H
#define GB_LUA_SOLVE_PRECOND_H

#include "lua/lgb.h"
#include "solve/precond/precond.h"

const gb_precond *lgb_checkprecond (lua_State *L, int arg);

#endif
