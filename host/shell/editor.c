/* editor.c - libedit with its own history file, completion, bracketed paste and Ctrl-C. */
#include "shell/editor.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <lauxlib.h>

#include "base/interrupt.h"
#include "lua/lgb.h"
#include "shell/host.h"
#include "shell/logbook.h"

#define EDITOR_META "gibbous.editor"
#define REMEMBERED 2000

struct gb_editor {
  lua_State *L; /* of the read in progress: completion runs on it */
  EditLine *el; /* NULL: not a terminal */
  History *history;
  const char *prompt, *before;
  /* malloc'ed: pasted lines to be joined with the edited one */
  char *pasted;
  bool interrupted, has_paused;
  gb_logbook logbook;
};

/* -- history */

static void enter (void *ud, const char *entry) {
  HistEvent ev;
  history(ud, &ev, H_ENTER, entry);
}

void gb_editor_remember (gb_editor *e, const char *entry) {
  if (e->el != NULL && gb_logbook_begin(&e->logbook, entry)) enter(e->history, entry);
}

void gb_editor_ended (gb_editor *e, double seconds, gb_history_end end) {
  if (e->el != NULL) gb_logbook_finish(&e->logbook, seconds, end);
}

/* -- keys */

static gb_editor *editor_of (EditLine *el) {
  void *e = NULL;
  el_get(el, EL_CLIENTDATA, &e);
  return e;
}

static char *prompt_text (EditLine *el) {
  return (char *)(uintptr_t)editor_of(el)->prompt; /* libedit does not write to it */
}

enum { GLANCE_MS = 50 };

/* Lets the prompt's side prepare, once, as soon as nothing is typed. */
static void use_pause (gb_editor *e) {
  if (e->has_paused) return;
  e->has_paused = true;
  const int top = lua_gettop(e->L);
  if (lgb_push_side(e->L, "idle")) (void)lua_pcall(e->L, 0, 0, 0);
  lua_settop(e->L, top);
}

/* One byte; -1 on Ctrl-C or an error, 0 at the end. The flag is also polled between waits, since a signal
** that arrives while the line is drawn interrupts no wait. NUL is left out: the terminal gives it for a Ctrl-D typed
** while an entry ran, and libedit would insert the next key as it is. */
static int read_byte (EditLine *el, unsigned char *byte) {
  for (;;) {
    if (gb_interrupted()) {
      editor_of(el)->interrupted = true;
      return -1;
    }
    if (lgb_take_key(byte)) return 1;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    const int ready = poll(&p, 1, editor_of(el)->has_paused ? GLANCE_MS : 0);
    if (ready > 0) {
      const ssize_t n = read(STDIN_FILENO, byte, 1);
      if (n == 1 && *byte == '\0') continue;
      if (n >= 0) return (int)n;
    }
    if (ready == 0) {
      use_pause(editor_of(el));
      continue;
    }
    if (errno != EINTR) return -1;
    if (!gb_interrupted()) el_resize(el); /* SIGWINCH */
  }
}

/* EL_GETCFN: one character in the user's encoding. */
static int read_character (EditLine *el, wchar_t *out) {
  mbstate_t state;
  memset(&state, 0, sizeof state);
  for (;;) {
    unsigned char byte;
    const int rc = read_byte(el, &byte);
    if (rc != 1) return rc;
    const size_t n = mbrtowc(out, (const char *)&byte, 1, &state);
    if (n == (size_t)-2) continue;
    if (n == (size_t)-1) { /* not text: hand it over as it is */
      *out = byte;
      memset(&state, 0, sizeof state);
    }
    return 1;
  }
}

static size_t common_prefix (lua_State *L, int list, lua_Integer n) {
  size_t common = SIZE_MAX;
  lua_rawgeti(L, list, 1);
  const char *first = lua_tostring(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    const char *name = lua_tostring(L, -1);
    size_t k = 0;
    while (first[k] != '\0' && first[k] == name[k]) k++;
    if (k < common) common = k;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return common;
}

static size_t columns (void) {
  struct winsize w;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

/* Prints the names in columns below the line, then redraws the line. */
static void show_candidates (lua_State *L, int list, lua_Integer n) {
  enum { MOST = 200 };
  const size_t wide = columns();
  size_t widest = 1;
  for (lua_Integer i = 1; i <= n && i <= MOST; i++) {
    lua_rawgeti(L, list, i);
    if (lua_rawlen(L, -1) > widest) widest = (size_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  const lua_Integer fit = (lua_Integer)((wide + 2) / (widest + 2)), per_line = fit > 0 ? fit : 1;
  for (lua_Integer i = 1; i <= n && i <= MOST; i++) {
    lua_rawgeti(L, list, i);
    const int pad = i % per_line == 0 || i == n ? 0 : (int)widest;
    printf("%s%-*s", (i - 1) % per_line == 0 ? "\n" : "  ", pad, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  if (n > MOST) printf("\n... %lld more", (long long)(n - MOST));
  printf("\n");
  fflush(stdout);
}

/* A Ctrl-C during the look-up of names may be consumed by the interrupted code; it ends the line too. */
static unsigned char complete_key (EditLine *el, int ch) {
  (void)ch;
  const unsigned before = atomic_load(&gb_interrupt_count);
  const bool pending = gb_interrupted();
  lua_State *L = editor_of(el)->L;
  const int top = lua_gettop(L);
  const LineInfo *line = el_line(el);
  unsigned char rc = CC_REFRESH_BEEP;
  const bool loaded = lgb_push_side(L, "complete");
  lua_pushstring(L, editor_of(el)->before);
  if (*editor_of(el)->before != '\0') lua_pushliteral(L, "\n");
  else lua_pushliteral(L, "");
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  lua_concat(L, 3);
  if (loaded && lua_pcall(L, 1, 2, 0) == LUA_OK) {
    const lua_Integer n = (lua_Integer)lua_rawlen(L, top + 1);
    const size_t typed = (size_t)lua_tointeger(L, top + 2);
    const size_t common = n > 0 ? common_prefix(L, top + 1, n) : 0;
    if (n > 0 && common > typed) {
      lua_rawgeti(L, top + 1, 1);
      el_insertstr(el, lua_pushlstring(L, lua_tostring(L, -1) + typed, common - typed));
      rc = CC_REFRESH;
    } else if (n > 1) {
      show_candidates(L, top + 1, n);
      rc = CC_REDISPLAY;
    }
  }
  lua_settop(L, top);
  if (pending || atomic_load(&gb_interrupt_count) != before) gb_interrupt_raise();
  return rc;
}

/* -- paste */

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

/* The text up to the end mark, malloc'ed; NULL if there is no end mark. Carriage returns become newlines. */
static char *read_paste (EditLine *el) {
  const size_t mark = strlen(PASTE_END);
  size_t n = 0, room = 1 << 12;
  char *text = malloc(room);
  while (text != NULL && (n < mark || memcmp(text + n - mark, PASTE_END, mark) != 0)) {
    unsigned char byte;
    if (n + 1 >= room) {
      char *more = realloc(text, room *= 2);
      if (more == NULL) break;
      text = more;
    }
    if (read_byte(el, &byte) != 1) break;
    text[n++] = byte == '\r' ? '\n' : (char)byte;
  }
  if (text == NULL) return NULL;
  if (n >= mark && memcmp(text + n - mark, PASTE_END, mark) == 0) n -= mark;
  text[n] = '\0';
  return text;
}

/* A single line is inserted. Of several lines all but the last are kept aside, and the last is edited on a
** separate line. */
static unsigned char paste_key (EditLine *el, int ch) {
  (void)ch;
  gb_editor *e = editor_of(el);
  char *text = read_paste(el);
  if (text == NULL || e->interrupted) { /* of what Ctrl-C ended nothing may reach the next line */
    free(text);
    return CC_ERROR;
  }
  char *last = strrchr(text, '\n');
  if (last == NULL) {
    el_insertstr(el, text);
    free(text);
    return CC_REFRESH;
  }
  const LineInfo *line = el_line(el);
  el_cursor(el, (int)(line->lastchar - line->cursor));
  el_insertstr(el, "\n"); /* as Enter does */
  el_push(el, last + 1);
  *last = '\0';
  free(e->pasted);
  e->pasted = text;
  return CC_NEWLINE;
}

/* -- life */

static void on_resize (int signal_number) { (void)signal_number; }

/* Numbers stay in the C locale. One that knows only ASCII would drop what else is typed: its terminal is most likely
** one of UTF-8. */
static void choose_locale (void) {
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0) setlocale(LC_CTYPE, "C.UTF-8");
}

static void start_terminal (gb_editor *e) {
  choose_locale();
  e->el = el_init("gibbous", stdin, stdout, stderr);
  e->history = history_init();
  if (e->el == NULL || e->history == NULL) return;
  HistEvent ev;
  history(e->history, &ev, H_SETSIZE, REMEMBERED);
  history(e->history, &ev, H_SETUNIQUE, 1);
  el_set(e->el, EL_CLIENTDATA, e);
  el_set(e->el, EL_PROMPT, prompt_text);
  el_set(e->el, EL_EDITOR, "emacs");
  el_set(e->el, EL_HIST, history, e->history);
  el_set(e->el, EL_GETCFN, read_character);
  /* el_set leaks copies of them */
  el_wset(e->el, EL_ADDFN, L"gibbous-complete", L"complete a name", complete_key);
  el_wset(e->el, EL_ADDFN, L"gibbous-paste", L"insert a paste as one", paste_key);
  el_set(e->el, EL_BIND, "\t", "gibbous-complete", NULL);
  el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_source(e->el, NULL);
  el_set(e->el, EL_BIND, PASTE_BEGIN, "gibbous-paste", NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_resize;
  sigaction(SIGWINCH, &action, NULL);
  gb_logbook_open(&e->logbook, enter, e->history);
}

static int editor_gc (lua_State *L) {
  gb_editor *e = luaL_checkudata(L, 1, EDITOR_META);
  if (e->el != NULL) el_end(e->el);
  if (e->history != NULL) history_end(e->history);
  free(e->pasted);
  e->el = NULL;
  e->history = NULL;
  e->pasted = NULL;
  return 0;
}

gb_editor *gb_editor_push (lua_State *L) {
  gb_editor *e = lua_newuserdatauv(L, sizeof *e, 0);
  memset(e, 0, sizeof *e);
  static const luaL_Reg events[] = {{"__gc", editor_gc}, {NULL, NULL}};
  lgb_newmeta(L, EDITOR_META, events); /* there is one editor in a state */
  lua_setmetatable(L, -2);
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) start_terminal(e);
  return e;
}

bool gb_editor_is_terminal (const gb_editor *e) { return e->el != NULL; }

/* -- reading */

static gb_line read_plain (lua_State *L, const char *prompt) {
  fputs(prompt, stdout);
  fflush(stdout);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  int c = EOF, count = 0;
  while ((c = getc(stdin)) != EOF && c != '\n') {
    luaL_addchar(&b, (char)c);
    count++;
  }
  luaL_pushresult(&b);
  if (c != EOF || count > 0) return GB_LINE_READ;
  lua_pop(L, 1);
  if (!gb_interrupted()) return GB_LINE_END;
  clearerr(stdin);
  return GB_LINE_INTERRUPTED;
}

static gb_line read_edited (gb_editor *e, lua_State *L) {
  int n = 0;
  const char *line = el_gets(e->el, &n);
  if (e->interrupted) return GB_LINE_INTERRUPTED;
  if (line == NULL || n <= 0) return GB_LINE_END;
  if (line[n - 1] == '\n') n--;
  lua_pushlstring(L, line, (size_t)n);
  return GB_LINE_READ;
}

/* The edited line was ended by a paste of several lines: prints them, continues reading the last, and joins
** all on the stack. */
static gb_line finish_paste (gb_editor *e, lua_State *L) {
  gb_line rc = GB_LINE_READ;
  while (rc == GB_LINE_READ && e->pasted != NULL) {
    printf("%s\n", e->pasted);
    lua_pushstring(L, e->pasted);
    free(e->pasted);
    e->pasted = NULL;
    lua_pushliteral(L, "\n");
    e->prompt = ">> ";
    rc = read_edited(e, L);
    if (rc == GB_LINE_READ) lua_concat(L, 4);
    else lua_pop(L, 3);
  }
  return rc;
}

gb_line gb_editor_read (gb_editor *e, lua_State *L, const char *prompt, const char *before) {
  e->L = L;
  e->prompt = prompt;
  e->before = before;
  e->interrupted = false;
  gb_interrupt_clear();
  if (e->el == NULL) return read_plain(L, prompt);
  fputs(PASTE_ON, stdout);
  gb_line rc = read_edited(e, L);
  if (rc == GB_LINE_READ) rc = finish_paste(e, L);
  fputs(PASTE_OFF, stdout);
  if (rc == GB_LINE_INTERRUPTED) fputs("^C\n", stdout);
  fflush(stdout);
  free(e->pasted);
  e->pasted = NULL;
  gb_interrupt_clear();
  return rc;
}
