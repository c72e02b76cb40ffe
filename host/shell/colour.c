/* colour.c - colours of what the interpreter itself writes: errors, times, headers of tensors. */
#include <stdlib.h>
#include <string.h>
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

void lgb_put_error (FILE *f, const char *text) {
  const char *below = strstr(text, "\nstack traceback:");
  const size_t n = below != NULL ? (size_t)(below - text) : strlen(text);
  lgb_put_coloured(f, LGB_RED, text, n);
  lgb_put_coloured(f, LGB_FAINT, text + n, strlen(text + n));
  fputc('\n', f);
  fflush(f);
}
