/* terminal.h - gibbous on a pseudo-terminal: keys go in, what the user sees comes out. A text that does not come in time fails
** the test. */
#ifndef GB_SUPPORT_SHELL_TERMINAL_H
#define GB_SUPPORT_SHELL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct terminal {
  pid_t pid;
  int fd;
  size_t n;
  char text[1 << 16]; /* all that was printed, without escape sequences */
  size_t seen;        /* up to here it has been expected already */
  bool red;           /* some of it was */
} terminal;

extern char terminal_home[64]; /* HOME and XDG_STATE_HOME of the test */

void terminal_make_home (void);    /* names it, before the tests */
int terminal_remove_home (int rc); /* after them; returns rc, or 1 */

/* env: "NAME=value" or NULL. code: NULL starts the prompt, else what -e runs. */
void terminal_start_with (terminal *t, unsigned short columns, const char *env, const char *code);
void terminal_start_in (terminal *t, unsigned short columns, const char *env);
void terminal_start (terminal *t); /* the prompt, in 100 columns */

void terminal_type (terminal *t, const char *keys);

/* Reads the output within 'seconds'; false at the end of the terminal. */
bool terminal_read (terminal *t, double seconds);
/* Waits for 'want' after what was expected before; gives the seconds it took. */
double terminal_expect (terminal *t, const char *want);
/* Does 'want' come within 'seconds'? */
bool terminal_comes (terminal *t, const char *want, double seconds);

/* Ctrl-C at a line, again where it is not answered: a terminal that gets one throws away what is printed
** just then, which may be the answer. */
void terminal_interrupt_line (terminal *t);

int terminal_finish (
    terminal *t); /* waits for the end: its exit status, 128 and the signal if one ended it */
void terminal_leave (terminal *t); /* Ctrl-D, which counts only once the prompt is there */

#endif
