/* build.c - how this program was made: the commit of its source, the kind of build, the compiler. */
#include <lauxlib.h>

#include "commit.h"
#include "lua/lgb.h"

void lgb_push_build (lua_State *L) {
  static const char *const facts[][2] = {
      {"commit", GIBBOUS_COMMIT}, {"kind", GIBBOUS_BUILD_KIND}, {"compiler", GIBBOUS_COMPILER}};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    lua_pushstring(L, facts[i][1]);
    lua_setfield(L, -2, facts[i][0]);
  }
}
