/* plot.c - figures: the C half of gb.plot. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/lgb.h"
#include "plot/figure.h"

#define LGB_FIGURE "gibbous.figure"

static gb_figure *check (lua_State *L) { return luaL_checkudata(L, 1, LGB_FIGURE); }

static int figure_gc (lua_State *L) {
  gb_figure_clear(check(L));
  return 0;
}

/* core.figure(title, xlabel, ylabel) */
static int figure_new (lua_State *L) {
  const char *text[3];
  for (int i = 0; i < 3; i++) text[i] = luaL_optstring(L, i + 1, "");
  gb_figure *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (gb_figure){0};
  lgb_setmeta(L, LGB_FIGURE);
  gb_error err;
  lgb_result(L, gb_figure_set_text(&f->title, text[0], &err), &err);
  lgb_result(L, gb_figure_set_text(&f->xlabel, text[1], &err), &err);
  lgb_result(L, gb_figure_set_text(&f->ylabel, text[2], &err), &err);
  return 1;
}

/* The values of the tensor at 'arg' as doubles, in collectable memory that is pushed; NULL where it is
** nil. */
static const double *values (lua_State *L, lgb_session *s, int arg, size_t *n) {
  if (lua_isnoneornil(L, arg)) return NULL;
  gb_node *x = lgb_checknode(L, arg);
  const gb_tensor host = lgb_host_value(L, s, x), *t = &host;
  *n = gb_shape_numel(&t->shape);
  double *v = lgb_scratch(L, *n + 1, sizeof *v);
  size_t index[GB_MAXDIM] = {0};
  for (size_t e = 0; e < *n; e++) {
    if (e % 65536 == 0 && gb_interrupted()) lgb_fail(L, GB_EINTR, "interrupted");
    v[e] = gb_tensor_at(t, index);
    for (int i = t->shape.ndim - 1; i >= 0; i--) {
      if (++index[i] < t->shape.dim[i]) break;
      index[i] = 0;
    }
  }
  return v;
}

static int series_colour (lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) return -1;
  const lua_Integer c = lgb_checkinteger(L, arg);
  lgb_argcheck(L, c >= 1 && c <= 64, arg, "colours are numbered from 1");
  return (int)c - 1;
}

/* core.figure_ticks(f, at, names): lists of numbers and strings, of a figure that has none */
static int figure_ticks (lua_State *L) {
  lgb_enter(L);
  gb_figure *f = check(L);
  lgb_checktype(L, 2, LUA_TTABLE);
  lgb_checktype(L, 3, LUA_TTABLE);
  lgb_argcheck(L, f->tick_at == NULL, 1, "the figure has ticks");
  const size_t n = lua_rawlen(L, 3);
  lgb_argcheck(L, n <= 100000 && lua_rawlen(L, 2) == n, 2, "as many heights as names expected");
  double *at = lgb_scratch(L, n + 1, sizeof *at);
  const char **names = lgb_scratch(L, n + 1, sizeof *names);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    lua_rawgeti(L, 3, (lua_Integer)i + 1);
    lgb_argcheck(L, lua_type(L, -2) == LUA_TNUMBER, 2, "numbers expected");
    lgb_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 3, "strings expected");
    at[i] = lua_tonumber(L, -2);
    names[i] = lua_tostring(L, -1); /* which the table keeps */
    lua_pop(L, 2);
  }
  gb_error err;
  lgb_result(L, gb_figure_set_yticks(f, n, at, names, &err), &err);
  return 0;
}

/* core.figure_add(f, kind, x, y, hi, label, colour): kind "line" "scatter" "band" "bars" */
static int figure_add (lua_State *L) {
  static const char *const kinds[] = {"line", "scatter", "band", "bars", NULL};
  static const gb_series_kind kind_of[] = {GB_SERIES_LINE, GB_SERIES_SCATTER, GB_SERIES_BAND, GB_SERIES_BARS};
  lgb_session *s = lgb_enter(L);
  gb_figure *f = check(L);
  const int name = luaL_checkoption(L, 2, NULL, kinds);
  const gb_series_kind kind = kind_of[name];
  const char *label = luaL_optstring(L, 6, "");
  const int colour = series_colour(L, 7);
  lua_settop(L, 7);
  size_t n = 0, ny = 0, nhi = 0;
  const double *x = values(L, s, 3, &n), *y = values(L, s, 4, &ny), *hi = values(L, s, 5, &nhi);
  if (x == NULL || y == NULL || (kind == GB_SERIES_BAND && hi == NULL))
    return luaL_error(L, "series without values");
  if (ny != n || (hi != NULL && nhi != n))
    return lgb_fail(L, GB_ESHAPE, "%s: x has %zu values, y %zu", kinds[name], n, ny != n ? ny : nhi);
  gb_error err;
  lgb_result(L, gb_figure_add(f, kind, n, 0, x, y, hi, label, colour, &err), &err);
  return 0;
}

/* core.figure_heatmap(f, values (rows, n), x0, x1, y0, y1) */
static int figure_heatmap (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_figure *f = check(L);
  const gb_shape shape = *gb_node_shape(lgb_checknode(L, 2));
  lgb_argcheck(L, shape.ndim == 2 && shape.dim[0] > 0 && shape.dim[1] > 0, 2, "a matrix expected");
  const double x[2] = {lgb_checknumber(L, 3), lgb_checknumber(L, 4)},
               y[2] = {lgb_checknumber(L, 5), lgb_checknumber(L, 6)};
  size_t n;
  const double *v = values(L, s, 2, &n);
  gb_error err;
  lgb_result(L, gb_figure_add(f, GB_SERIES_HEATMAP, shape.dim[1], shape.dim[0], x, y, v, "", -1, &err), &err);
  return 0;
}

/* core.figure_save(f, path, width, height), in points */
static int figure_save (lua_State *L) {
  lgb_enter(L);
  gb_figure *f = check(L);
  gb_error err;
  lgb_result(L, gb_figure_save(f, lgb_checkstring(L, 2), lgb_checknumber(L, 3), lgb_checknumber(L, 4), &err),
             &err);
  return 0;
}

/* Moves a malloc'ed string into Lua without losing it where Lua has no memory. */
static int push_owned (lua_State *L) {
  lua_pushstring(L, lua_touserdata(L, 1));
  return 1;
}

/* core.figure_text(f, columns, rows, colour) */
static int figure_text (lua_State *L) {
  gb_figure *f = check(L);
  const int columns = (int)lgb_checkinteger(L, 2), rows = (int)lgb_checkinteger(L, 3);
  lgb_argcheck(L, columns >= 20 && columns <= 1000, 2, "20 to 1000 columns");
  lgb_argcheck(L, rows >= 8 && rows <= 1000, 3, "8 to 1000 rows");
  lua_pushcfunction(L, push_owned);
  char *text = gb_figure_text(f, columns, rows, lua_toboolean(L, 4));
  if (text == NULL) return lgb_fail(L, GB_ENOMEM, "no memory to draw the figure");
  lua_pushlightuserdata(L, text);
  const int rc = lua_pcall(L, 1, 1, 0);
  free(text);
  return rc == LUA_OK ? 1 : lua_error(L);
}

/* core.terminal() -> columns, rows, is stdout a terminal */
static int terminal (lua_State *L) {
  struct winsize w = {0};
  const bool tty = isatty(1) == 1;
  int columns = 100, rows = 30;
  if (tty && ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40) columns = w.ws_col < 140 ? w.ws_col : 140;
  if (tty && w.ws_row >= 20) rows = w.ws_row - 2 < 40 ? w.ws_row - 2 : 40;
  lua_pushinteger(L, columns);
  lua_pushinteger(L, rows);
  lua_pushboolean(L, tty);
  return 3;
}

static int isatty_fd (lua_State *L) {
  lua_pushboolean(L, isatty((int)lgb_checkinteger(L, 1)) == 1);
  return 1;
}

const luaL_Reg lgb_plot_functions[] = {
    {"figure", figure_new},       {"figure_add", figure_add},   {"figure_heatmap", figure_heatmap},
    {"figure_save", figure_save}, {"figure_text", figure_text}, {"figure_ticks", figure_ticks},
    {"isatty", isatty_fd},        {"terminal", terminal},       {NULL, NULL}};

void lgb_plot_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", figure_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_FIGURE, events);
  lua_pop(L, 1);
}
