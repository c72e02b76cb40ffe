/* io.h - what the bindings of files share. */
#ifndef GB_LUA_IO_IO_H
#define GB_LUA_IO_IO_H

#include "io/text/csv.h"
#include "lua/lgb.h"

/* Wraps the value in the holder on top, leaving a tensor there. */
void lgb_push_leaf (lua_State *L, lgb_session *s, gb_tensor *held, const char *name);

/* Pushes an empty frame, which the collector clears. */
gb_frame *lgb_newframe (lua_State *L);

/* The frame on top, as a table: {rows = n, frame = userdata, notes = {...}, columns...}; of columns left out only the names. */
void lgb_push_columns (lua_State *L, lgb_session *s);

/* Pushes the value of a JSON text; null is nil. 'what' begins messages. */
void lgb_push_json (lua_State *L, lgb_session *s, const char *text, size_t n, const char *what);

#endif
