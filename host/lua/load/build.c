/* build.c - how this program was made, and of what: the commit of its source, the kind of build, the compiler, the versions of
** the libraries that it is linked with, and the parts that are built only where they can be. */
#include <cairo.h>
#include <jansson.h>
#include <nettle/version.h>
#include <sleef.h>
#include <sqlite3.h>
#include <zlib.h>

#include <lauxlib.h>

#include "commit.h"
#include "device/registry.h"
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

/* Of the library that runs, where it says so; of its headers, where it does not: nettle, SLEEF and libedit. BLAS is a fact of the
** device (core.devices). */
int lgb_libraries (lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  const struct {
    const char *name, *version;
  } rows[] = {{"cairo", cairo_version_string()},
              {"jansson", jansson_version_str()},
              {"libedit", GIBBOUS_LIBEDIT},
              {"nettle", lua_pushfstring(L, "%d.%d", nettle_version_major(), nettle_version_minor())},
              {"sleef", lua_pushfstring(L, "%d.%d.%d", SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR,
                                        SLEEF_VERSION_PATCHLEVEL)},
              {"sqlite", sqlite3_libversion()},
              {"zlib", zlibVersion()}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    lua_pushstring(L, rows[i].version);
    lua_setfield(L, 1, rows[i].name);
  }
  lua_settop(L, 1);
  return 1;
}

int lgb_parts (lua_State *L) {
  static const char *const kinds[] = {"cuda", "mpi"};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    lua_pushboolean(L, gb_library_exists(kinds[i]));
    lua_setfield(L, -2, kinds[i]);
  }
  return 1;
}
