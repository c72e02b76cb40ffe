/* module.c - the entry point of gibbous.so, for a stock lua5.4. */
#include "lua/lgb.h"

__attribute__((visibility("default"))) int luaopen_gibbous (lua_State *L);

int luaopen_gibbous (lua_State *L) { return lgb_open_library(L); }
