/* stage.c - what Lua says of the progress of its own work, where 'gibbous attach' finds it: core.step_*, core.said. */
#include <string.h>

#include "base/interrupt.h"
#include "lua/lgb.h"

#define WIDTH 160

static char said[LGB_SAID][WIDTH]; /* a ring */
static unsigned nsaid;

const char *lgb_said (int i) {
  if (nsaid < LGB_SAID) return (unsigned)i < nsaid ? said[i] : NULL;
  return said[(nsaid + (unsigned)i) % LGB_SAID];
}

/* core.said(text): a line of progress */
static int step_said (lua_State *L) {
  const char *text = lgb_checkstring(L, 1);
  char *to = said[nsaid % LGB_SAID];
  strncpy(to, text, WIDTH - 1);
  nsaid++;
  return 0;
}

/* core.fit_begin(most), core.fit_at(step, value), core.fit_end() */
static int fit_begin (lua_State *L) {
  gb_stage_begin(GB_STAGE_FIT, "fit", "value", (long)lgb_checkinteger(L, 1));
  return 0;
}

static int fit_at (lua_State *L) {
  gb_stage_at(GB_STAGE_FIT, (long)lgb_checkinteger(L, 1), lgb_checknumber(L, 2));
  return 0;
}

static int fit_end (lua_State *L) {
  (void)L;
  gb_stage_end(GB_STAGE_FIT);
  return 0;
}

const luaL_Reg lgb_stage_functions[] = {
    {"fit_at", fit_at}, {"fit_begin", fit_begin}, {"fit_end", fit_end}, {"said", step_said}, {NULL, NULL}};
