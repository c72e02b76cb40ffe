/* colour.c - colours and line breaks of what the interpreter itself writes: errors, times, headers of tensors. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shell/host.h"

static bool is_set (const char *name) {
  const char *v = getenv(name);
  return v != NULL && *v != '\0';
}

/* The choice goes into the environment, where the library's figures and programs that a script starts find it. */
bool lgb_choose_colour (const char *when) {
  if (strcmp(when, "never") == 0) return setenv("NO_COLOR", "1", 1) == 0;
  if (strcmp(when, "always") == 0) return unsetenv("NO_COLOR") == 0 && setenv("CLICOLOR_FORCE", "1", 1) == 0;
  return strcmp(when, "auto") == 0;
}

bool lgb_is_coloured (FILE *f) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0) return true;
  const char *term = getenv("TERM");
  return (term == NULL || strcmp(term, "dumb") != 0) && isatty(fileno(f)) == 1;
}

void lgb_put_coloured (FILE *f, const char *colour, const char *text, size_t n) {
  const bool coloured = n > 0 && lgb_is_coloured(f);
  if (coloured) fputs(colour, f);
  fwrite(text, 1, n, f);
  if (coloured) fputs("\033[0m", f);
}

/* The columns of the window behind a file; SIZE_MAX: there is none, or one too narrow for words. */
static size_t columns_of (FILE *f) {
  enum { LEAST = 20 };
  struct winsize w;
  const bool known = isatty(fileno(f)) == 1 && ioctl(fileno(f), TIOCGWINSZ, &w) == 0;
  return known && w.ws_col >= LEAST ? w.ws_col : SIZE_MAX;
}

/* The column after n bytes that begin in column 'at': a character is one wide, a tab ends at a multiple of 8. */
static size_t column_after (size_t at, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\t') at += 8 - at % 8;
    else at += ((unsigned char)text[i] & 0xC0) != 0x80;
  }
  return at;
}

/* The blanks and the word at 'at', of which n bytes are left. */
static size_t piece (const char *at, size_t n, size_t *blanks) {
  size_t size = 0;
  while (size < n && (at[size] == ' ' || at[size] == '\t')) size++;
  *blanks = size;
  while (size < n && strchr(" \t\n", at[size]) == NULL) size++;
  return size;
}

/* Breaks lines that are wider than the window between words, not within them; what follows a break is indented.
** 'column': where the text begins. */
static void put_wrapped (FILE *f, const char *text, size_t n, size_t column) {
  static const char indent[] = "  ";
  const size_t wide = columns_of(f);
  for (size_t i = 0, blanks; i < n;) {
    const size_t size = piece(text + i, n - i, &blanks);
    const size_t after = column_after(column, text + i, size);
    const size_t skip = column > 0 && blanks > 0 && after > wide ? blanks : 0;
    if (skip > 0) fprintf(f, "\n%s", indent);
    fwrite(text + i + skip, 1, size - skip, f);
    column = skip > 0 ? column_after(sizeof indent - 1, text + i + skip, size - skip) : after;
    i += size;
    if (i < n && text[i] == '\n') {
      fputc(text[i++], f);
      column = 0;
    }
  }
}

void lgb_put_error (FILE *f, const char *who, const char *text) {
  const char *below = strstr(text, "\nstack traceback:");
  const size_t n = below != NULL ? (size_t)(below - text) : strlen(text);
  const bool coloured = lgb_is_coloured(f);
  fputs(who, f);
  if (coloured && n > 0) fputs(LGB_RED, f);
  put_wrapped(f, text, n, strlen(who));
  if (coloured && n > 0) fputs("\033[0m", f);
  if (coloured && below != NULL) fputs(LGB_FAINT, f);
  put_wrapped(f, text + n, strlen(text + n), 0);
  if (coloured && below != NULL) fputs("\033[0m", f);
  fputc('\n', f);
  fflush(f);
}
