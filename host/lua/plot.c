/* plot.c - figures: the C half of gb.plot. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "lua/lgb.h"
#include "plot/contour.h"
#include "plot/figure.h"
#include "plot/picture/picture.h"
#include "plot/text/terminal.h"

#define LGB_FIGURE "gibbous.figure"

enum {
  MOST_SIDE = 8, /* rows, and columns, of panels */
  LEAST_COLUMNS = 20,
  LEAST_ROWS = 8,
  MOST_CELLS = 1000 /* of a figure as text, each way */
};

static gb_figure *check (lua_State *L) { return luaL_checkudata(L, 1, LGB_FIGURE); }

static gb_panel *check_panel (lua_State *L) {
  gb_figure *f = check(L);
  const lua_Integer k = lgb_checkinteger(L, 2);
  lgb_argcheck(L, k >= 1 && (size_t)k <= f->rows * f->columns, 2, "no such panel");
  return &f->panels[k - 1];
}

static int figure_gc (lua_State *L) {
  gb_figure_clear(check(L));
  return 0;
}

/* core.figure(rows, columns, title, share_x, share_y) */
static int figure_new (lua_State *L) {
  const lua_Integer rows = lgb_integeror(L, 1, 1), columns = lgb_integeror(L, 2, 1);
  lgb_argcheck(L, rows >= 1 && rows <= MOST_SIDE, 1, "1 to 8 rows");
  lgb_argcheck(L, columns >= 1 && columns <= MOST_SIDE, 2, "1 to 8 columns");
  const char *title = luaL_optstring(L, 3, "");
  gb_figure *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (gb_figure){0};
  lgb_setmeta(L, LGB_FIGURE);
  gb_error err;
  lgb_result(L, gb_figure_init(f, (size_t)rows, (size_t)columns, &err), &err);
  lgb_result(L, gb_figure_set_text(&f->title, title, &err), &err);
  f->share_x = lua_toboolean(L, 4);
  f->share_y = lua_toboolean(L, 5);
  return 1;
}

/* -- fields of tables of options, which Lua has checked */

static double number_field (lua_State *L, int arg, const char *name, double absent) {
  const double v = lua_getfield(L, arg, name) == LUA_TNUMBER ? lua_tonumber(L, -1) : absent;
  lua_pop(L, 1);
  return v;
}

/* A whole number from lo to hi; raises on another number. */
static int whole_field (lua_State *L, int arg, const char *name, int absent, int lo, int hi) {
  const double v = number_field(L, arg, name, absent);
  if (v == absent) return absent;
  if (!(v >= lo && v <= hi && v == floor(v))) return luaL_error(L, "%s: no such value", name);
  return (int)v;
}

static bool flag_field (lua_State *L, int arg, const char *name) {
  lua_getfield(L, arg, name);
  const bool v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

static void text_field (lua_State *L, int arg, const char *name, char **slot) {
  gb_error err;
  if (lua_getfield(L, arg, name) == LUA_TSTRING)
    lgb_result(L, gb_figure_set_text(slot, lua_tostring(L, -1), &err), &err);
  lua_pop(L, 1);
}

/* core.figure_axes(f, panel, o): o.title, xlabel, ylabel; xlog, ylog, equal, bare, no_grid; xlo, xhi, ylo, yhi;
** legend, a number. Flags that are absent are off; what else is absent stays as it is. */
static int figure_axes (lua_State *L) {
  gb_panel *p = check_panel(L);
  lgb_checktype(L, 3, LUA_TTABLE);
  text_field(L, 3, "title", &p->title);
  text_field(L, 3, "xlabel", &p->x.label);
  text_field(L, 3, "ylabel", &p->y.label);
  p->x.log = flag_field(L, 3, "xlog");
  p->y.log = flag_field(L, 3, "ylog");
  p->equal = flag_field(L, 3, "equal");
  p->bare = flag_field(L, 3, "bare");
  p->no_grid = flag_field(L, 3, "no_grid");
  p->x.lo = number_field(L, 3, "xlo", p->x.lo);
  p->x.hi = number_field(L, 3, "xhi", p->x.hi);
  p->y.lo = number_field(L, 3, "ylo", p->y.lo);
  p->y.hi = number_field(L, 3, "yhi", p->y.hi);
  p->legend = (gb_legend)whole_field(L, 3, "legend", (int)p->legend, 0, GB_LEGEND_OFF);
  return 0;
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

/* core.figure_ticks(f, panel, axis, at, names): lists of numbers and strings */
static int figure_ticks (lua_State *L) {
  static const char *const axes[] = {"x", "y", NULL};
  lgb_enter(L);
  gb_panel *p = check_panel(L);
  gb_axis *a = luaL_checkoption(L, 3, NULL, axes) == 0 ? &p->x : &p->y;
  lgb_checktype(L, 4, LUA_TTABLE);
  lgb_checktype(L, 5, LUA_TTABLE);
  const size_t n = lua_rawlen(L, 5);
  lgb_argcheck(L, n <= 100000 && lua_rawlen(L, 4) == n, 4, "as many places as names expected");
  double *at = lgb_scratch(L, n + 1, sizeof *at);
  const char **names = lgb_scratch(L, n + 1, sizeof *names);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i + 1);
    lua_rawgeti(L, 5, (lua_Integer)i + 1);
    lgb_argcheck(L, lua_type(L, -2) == LUA_TNUMBER, 4, "numbers expected");
    lgb_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 5, "strings expected");
    at[i] = lua_tonumber(L, -2);
    names[i] = lua_tostring(L, -1); /* which the table keeps */
    lua_pop(L, 2);
  }
  gb_error err;
  lgb_result(L, gb_axis_set_ticks(a, n, at, names, &err), &err);
  return 0;
}

/* What the table at 'arg' says of a mark: label; colour, dash, marker as numbers; width, size, alpha; extent, low,
** high. The label is anchored by the table. */
static gb_mark mark_of (lua_State *L, int arg, gb_mark_kind kind) {
  gb_mark m = {.kind = kind, .style = GB_STYLE_BY_ORDER, .low = NAN, .high = NAN, .extent = 1};
  if (lua_isnoneornil(L, arg)) return m;
  lgb_checktype(L, arg, LUA_TTABLE);
  m.style.colour = whole_field(L, arg, "colour", -1, 0, 2 * GB_COLOUR_RGB - 1);
  m.style.dash = whole_field(L, arg, "dash", -1, 0, GB_NDASHES - 1);
  m.style.marker = whole_field(L, arg, "marker", -1, 0, GB_MARKER_CROSS);
  m.style.width = number_field(L, arg, "width", 0);
  m.style.size = number_field(L, arg, "size", 0);
  m.style.alpha = number_field(L, arg, "alpha", 0);
  m.extent = number_field(L, arg, "extent", 1);
  m.low = number_field(L, arg, "low", NAN);
  m.high = number_field(L, arg, "high", NAN);
  if (lua_getfield(L, arg, "label") == LUA_TSTRING) m.label = (char *)(uintptr_t)lua_tostring(L, -1);
  lua_pop(L, 1);
  return m;
}

static void add (lua_State *L, gb_panel *p, const gb_mark *m) {
  gb_error err;
  lgb_result(L, gb_panel_add(p, m, &err), &err);
}

/* core.figure_add(f, panel, kind, x, y, hi, style) */
static int figure_add (lua_State *L) {
  static const char *const kinds[] = {"line", "scatter", "band", "bars", "columns", "errors", NULL};
  static const gb_mark_kind kind_of[] = {GB_MARK_LINE, GB_MARK_SCATTER, GB_MARK_BAND,
                                         GB_MARK_BARS, GB_MARK_COLUMNS, GB_MARK_ERRORS};
  lgb_session *s = lgb_enter(L);
  gb_panel *p = check_panel(L);
  const int name = luaL_checkoption(L, 3, NULL, kinds);
  gb_mark m = mark_of(L, 7, kind_of[name]);
  lua_settop(L, 7);
  size_t ny = 0, nhi = 0;
  const double *x = values(L, s, 4, &m.n), *y = values(L, s, 5, &ny), *hi = values(L, s, 6, &nhi);
  if (x == NULL || y == NULL || (gb_mark_is_area(&m) && hi == NULL))
    return luaL_error(L, "a mark without values");
  if (ny != m.n || (hi != NULL && nhi != m.n))
    return lgb_fail(L, GB_ESHAPE, "%s: x has %zu values, y %zu", kinds[name], m.n, ny != m.n ? ny : nhi);
  m.x = (double *)(uintptr_t)x, m.y = (double *)(uintptr_t)y, m.hi = (double *)(uintptr_t)hi;
  add(L, p, &m);
  return 0;
}

/* core.figure_at(f, panel, kind, x, y, style): kind "text" at (x, y), "hline" at y, "vline" at x */
static int figure_at (lua_State *L) {
  static const char *const kinds[] = {"text", "hline", "vline", NULL};
  static const gb_mark_kind kind_of[] = {GB_MARK_TEXT, GB_MARK_HLINE, GB_MARK_VLINE};
  lgb_enter(L);
  gb_panel *p = check_panel(L);
  gb_mark m = mark_of(L, 6, kind_of[luaL_checkoption(L, 3, NULL, kinds)]);
  double x = lgb_checknumber(L, 4), y = lgb_checknumber(L, 5);
  m.n = 1, m.x = &x, m.y = &y;
  add(L, p, &m);
  return 0;
}

typedef struct grid {
  const double *v;
  size_t rows, columns;
  double x[2], y[2];
} grid;

/* values (rows, n), x0, x1, y0, y1 from argument 3 on */
static grid check_grid (lua_State *L, lgb_session *s) {
  const gb_shape shape = *gb_node_shape(lgb_checknode(L, 3));
  lgb_argcheck(L, shape.ndim == 2 && shape.dim[0] > 0 && shape.dim[1] > 0, 3, "a matrix expected");
  grid g = {.rows = shape.dim[0],
            .columns = shape.dim[1],
            .x = {lgb_checknumber(L, 4), lgb_checknumber(L, 5)},
            .y = {lgb_checknumber(L, 6), lgb_checknumber(L, 7)}};
  size_t n;
  g.v = values(L, s, 3, &n);
  return g;
}

/* core.figure_heatmap(f, panel, values (rows, n), x0, x1, y0, y1, style) */
static int figure_heatmap (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_panel *p = check_panel(L);
  lua_settop(L, 8);
  gb_mark m = mark_of(L, 8, GB_MARK_HEATMAP);
  grid g = check_grid(L, s);
  m.n = g.columns, m.rows = g.rows, m.x = g.x, m.y = g.y, m.hi = (double *)(uintptr_t)g.v;
  add(L, p, &m);
  return 0;
}

/* core.figure_contour(f, panel, values (rows, n), x0, x1, y0, y1, level, style) -> a point of the line; nothing:
** there is no line */
static int figure_contour (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_panel *p = check_panel(L);
  const double level = lgb_checknumber(L, 8);
  lua_settop(L, 9);
  gb_mark m = mark_of(L, 9, GB_MARK_LINE);
  const grid g = check_grid(L, s);
  gb_contour c;
  gb_error err;
  lgb_result(L, gb_contour_make(g.v, g.rows, g.columns, g.x, g.y, level, &c, &err), &err);
  m.n = c.n, m.x = c.x, m.y = c.y;
  const gb_status st = c.n > 0 ? gb_panel_add(p, &m, &err) : GB_OK;
  const size_t middle = c.n / 6 * 3; /* the first point of a segment */
  const double x = c.n > 0 ? c.x[middle] : 0, y = c.n > 0 ? c.y[middle] : 0;
  gb_contour_clear(&c);
  lgb_result(L, st, &err);
  if (m.n == 0) return 0;
  lua_pushnumber(L, x);
  lua_pushnumber(L, y);
  return 2;
}

/* core.figure_origin() -> the script line that called the library, the seed of random tensors */
static int figure_origin (lua_State *L) {
  lgb_session *s = lgb_session_of(L);
  lua_pushstring(L, lgb_where(L, s));
  lua_pushinteger(L, (lua_Integer)s->graph->seed);
  return 2;
}

/* core.figure_save(f, path, width, height, made), in points */
static int figure_save (lua_State *L) {
  lgb_enter(L);
  gb_figure *f = check(L);
  gb_error err;
  lgb_result(L,
             gb_figure_save(f, lgb_checkstring(L, 2), lgb_checknumber(L, 3), lgb_checknumber(L, 4),
                            luaL_optstring(L, 5, ""), &err),
             &err);
  return 0;
}

typedef struct owned {
  char *at;
  size_t n;
} owned;

/* Moves malloc'ed bytes into Lua without losing them where Lua has no memory. */
static int push_owned (lua_State *L) {
  const owned *o = lua_touserdata(L, 1);
  lua_pushlstring(L, o->at, o->n);
  return 1;
}

static int give_owned (lua_State *L, char *at, size_t n) {
  owned o = {at, n};
  lua_pushlightuserdata(L, &o);
  const int rc = lua_pcall(L, 1, 1, 0);
  free(at);
  return rc == LUA_OK ? 1 : lua_error(L);
}

/* core.figure_text(f, columns, rows, colour, ascii) */
static int figure_text (lua_State *L) {
  gb_figure *f = check(L);
  const int columns = (int)lgb_checkinteger(L, 2), rows = (int)lgb_checkinteger(L, 3);
  lgb_argcheck(L, columns >= LEAST_COLUMNS && columns <= MOST_CELLS, 2, "20 to 1000 columns");
  lgb_argcheck(L, rows >= LEAST_ROWS && rows <= MOST_CELLS, 3, "8 to 1000 rows");
  lua_pushcfunction(L, push_owned);
  char *text = gb_figure_text(f, columns, rows, lua_toboolean(L, 4), lua_toboolean(L, 5));
  if (text == NULL) return lgb_fail(L, GB_ENOMEM, "no memory to draw the figure");
  return give_owned(L, text, strlen(text));
}

/* core.figure_inline(f, how, width, height): bytes that a terminal shows; how: "kitty" "sixel"; in pixels */
static int figure_inline (lua_State *L) {
  static const char *const names[] = {"kitty", "sixel", NULL};
  gb_figure *f = check(L);
  const int how = luaL_checkoption(L, 2, NULL, names);
  const int width = (int)lgb_checkinteger(L, 3), height = (int)lgb_checkinteger(L, 4);
  lgb_argcheck(L, width >= 100 && width <= 8192, 3, "100 to 8192 pixels");
  lgb_argcheck(L, height >= 100 && height <= 8192, 4, "100 to 8192 pixels");
  lua_pushcfunction(L, push_owned);
  char *bytes;
  size_t n;
  gb_error err;
  lgb_result(
      L,
      gb_figure_inline(f, how == 0 ? GB_GRAPHICS_KITTY : GB_GRAPHICS_SIXEL, width, height, &bytes, &n, &err),
      &err);
  return give_owned(L, bytes, n);
}

/* core.terminal() -> columns and rows of a figure as text, is stdout a terminal, its width in pixels (0: it does not say) */
static int terminal (lua_State *L) {
  struct winsize w = {0};
  const bool tty = isatty(1) == 1;
  int columns = 100, rows = 30;
  if (tty && ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
    columns = w.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : w.ws_col < 200 ? w.ws_col : 200;
  if (tty && w.ws_row > 0) rows = w.ws_row < LEAST_ROWS + 2 ? LEAST_ROWS : w.ws_row < 42 ? w.ws_row - 2 : 40;
  lua_pushinteger(L, columns);
  lua_pushinteger(L, rows);
  lua_pushboolean(L, tty);
  lua_pushinteger(L, tty ? w.ws_xpixel : 0);
  return 4;
}

/* Does the answer list sixels, attribute 4, among the attributes of the terminal: ESC [ ? 62 ; 4 c? */
static bool lists_sixel (const char *answer) {
  const char *at = strstr(answer, "\033[?");
  if (at == NULL) return false;
  for (at += 3; *at != '\0' && *at != 'c';) {
    char *end;
    if (strtol(at, &end, 10) == 4 && end > at) return true;
    at = *end == ';' ? end + 1 : end + (end == at);
  }
  return false;
}

/* Keys that came with an answer: a queue of what nobody has read yet. Main thread only. */
static char typed[4096];
static size_t first_typed, last_typed;

/* What has no room is lost. */
static void keep_key (char key) {
  if (last_typed < sizeof typed) typed[last_typed++] = key;
}

bool lgb_take_key (unsigned char *key) {
  if (first_typed == last_typed) return false;
  *key = (unsigned char)typed[first_typed++];
  if (first_typed == last_typed) first_typed = last_typed = 0;
  return true;
}

/* The end of the answer that begins at 'at', of a text that a NUL ends; NULL: none begins here. One that is cut off ends
** with the text. */
static const char *end_of_answer (const char *at) {
  static const struct { const char *begin, *end; } form[] = {{"\033_G", "\033\\"}, {"\033[?", "c"}};
  for (int i = 0; i < 2; i++) {
    if (strncmp(at, form[i].begin, 3) != 0) continue;
    const char *end = strstr(at + 3, form[i].end);
    return end != NULL ? end + strlen(form[i].end) : at + strlen(at);
  }
  return NULL;
}

/* Whatever came that is no answer was typed. */
static void keep_keys (const char *text) {
  while (*text != '\0') {
    const char *end = end_of_answer(text);
    if (end == NULL) keep_key(*text++);
    else text = end;
  }
}

/* Asks for kitty's graphics and for the attributes, which every terminal answers last. */
static void ask (char *answer, size_t room) {
  enum { PATIENCE = 150 }; /* ms */
  static const char question[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c";
  struct termios before, raw;
  size_t n = 0;
  if (tcgetattr(0, &before) != 0) return;
  raw = before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 0;
  if (tcsetattr(0, TCSANOW, &raw) != 0) return;
  bool whole = write(1, question, sizeof question - 1) != (ssize_t)(sizeof question - 1);
  while (!whole && n + 1 < room && poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, PATIENCE) == 1) {
    const ssize_t got = read(0, answer + n, room - 1 - n);
    if (got <= 0) break;
    n += (size_t)got;
    answer[n] = '\0';
    const char *attributes = strstr(answer, "\033[?");
    whole = attributes != NULL && strchr(attributes, 'c') != NULL;
  }
  tcsetattr(0, TCSANOW, &before);
}

/* core.terminal_graphics() -> "kitty", "sixel" or nil: what the terminal says that it can. Waits 0.15 s at most. */
static int terminal_graphics (lua_State *L) {
  char answer[4096] = "";
  if (isatty(0) == 1 && isatty(1) == 1) ask(answer, sizeof answer);
  keep_keys(answer);
  if (strstr(answer, "_Gi=31;OK") != NULL) lua_pushliteral(L, "kitty");
  else if (lists_sixel(answer)) lua_pushliteral(L, "sixel");
  else lua_pushnil(L);
  return 1;
}

static int isatty_fd (lua_State *L) {
  lua_pushboolean(L, isatty((int)lgb_checkinteger(L, 1)) == 1);
  return 1;
}

const luaL_Reg lgb_plot_functions[] = {{"figure", figure_new},
                                       {"figure_add", figure_add},
                                       {"figure_at", figure_at},
                                       {"figure_axes", figure_axes},
                                       {"figure_contour", figure_contour},
                                       {"figure_heatmap", figure_heatmap},
                                       {"figure_inline", figure_inline},
                                       {"figure_origin", figure_origin},
                                       {"figure_save", figure_save},
                                       {"figure_text", figure_text},
                                       {"figure_ticks", figure_ticks},
                                       {"isatty", isatty_fd},
                                       {"terminal", terminal},
                                       {"terminal_graphics", terminal_graphics},
                                       {NULL, NULL}};

void lgb_plot_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", figure_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_FIGURE, events);
  lua_pop(L, 1);
}
