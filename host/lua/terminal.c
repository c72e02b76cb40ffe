/* terminal.c - what is known of the terminal: its window, the graphics that it shows, keys that came with its answers. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "plot/text/terminal.h"

size_t lgb_columns (int fd) {
  struct winsize w;
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

/* core.columns(fd): the width of the terminal behind a file descriptor; nil if it is not a terminal, or gives no width */
static int terminal_columns (lua_State *L) {
  const size_t columns = lgb_columns((int)lgb_checkinteger(L, 1));
  if (columns > 0) lua_pushinteger(L, (lua_Integer)columns);
  else lua_pushnil(L);
  return 1;
}

/* core.terminal() -> columns and rows of a figure as text, is stdout a terminal, its width in pixels (0: it does not say) */
static int terminal (lua_State *L) {
  struct winsize w = {0};
  const bool tty = isatty(1) == 1;
  int columns = 100, rows = 30;
  if (tty && ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
    columns = w.ws_col < GB_LEAST_COLUMNS ? GB_LEAST_COLUMNS : w.ws_col < 200 ? w.ws_col : 200;
  if (tty && w.ws_row > 0)
    rows = w.ws_row < GB_LEAST_ROWS + 2 ? GB_LEAST_ROWS : w.ws_row < 42 ? w.ws_row - 2 : 40;
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

/* Keys that came with an answer: a queue of those that are not read yet. Main thread only. */
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

/* Keeps what is outside the answers: it was typed. */
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

const luaL_Reg lgb_terminal_functions[] = {{"columns", terminal_columns},
                                           {"isatty", isatty_fd},
                                           {"terminal", terminal},
                                           {"terminal_graphics", terminal_graphics},
                                           {NULL, NULL}};
