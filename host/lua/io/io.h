/* io.h - what the bindings of files share. */
#ifndef GB_LUA_IO_IO_H
#define GB_LUA_IO_IO_H

#include "lua/lgb.h"

/* Wraps the value in the holder on top, leaving a tensor there. */
void lgb_push_leaf (lua_State *L, lgb_session *s, gb_tensor *held, const char *name);

#endif
