/* terminal.c - gibbous on a pseudo-terminal. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/shell/terminal.h"

#define PATIENCE 10.0 /* seconds until an expected text counts as missing */

char terminal_home[64];

void terminal_start_with (terminal *t, unsigned short columns, const char *env, const char *code) {
  struct winsize size = {.ws_row = 24, .ws_col = columns};
  *t = (terminal){.fd = -1};
  t->pid = forkpty(&t->fd, NULL, NULL, &size);
  if (t->pid == 0) {
    setenv("TERM", "xterm", 1);
    setenv("XDG_STATE_HOME", terminal_home, 1);
    setenv("HOME", terminal_home, 1);
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    if (env != NULL) putenv(strdup(env));
    if (code == NULL) execl(GIBBOUS_BINARY, "gibbous", (char *)NULL);
    else execl(GIBBOUS_BINARY, "gibbous", "-e", code, (char *)NULL);
    _exit(127);
  }
  assert_true(t->pid > 0);
}

void terminal_start_in (terminal *t, unsigned short columns, const char *env) {
  terminal_start_with(t, columns, env, NULL);
}

void terminal_start (terminal *t) { terminal_start_in(t, 100, NULL); }

void terminal_type (terminal *t, const char *keys) {
  assert_int_equal(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Drops escape sequences: what the user sees stays. */
static size_t plain (char *s, size_t n) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (s[i] != '\033') {
      if (s[i] != '\r') s[k++] = s[i];
      continue;
    }
    if (i + 1 < n && s[i + 1] == '[') i++;
    while (i + 1 < n && !((s[i + 1] >= 'A' && s[i + 1] <= 'Z') || (s[i + 1] >= 'a' && s[i + 1] <= 'z'))) i++;
    i++;
  }
  return k;
}

bool terminal_read (terminal *t, double seconds) {
  struct pollfd p = {.fd = t->fd, .events = POLLIN};
  if (poll(&p, 1, (int)(seconds * 1e3)) <= 0) return true;
  const ssize_t n = read(t->fd, t->text + t->n, sizeof t->text - 1 - t->n);
  if (n <= 0) return false;
  t->red = t->red || memmem(t->text + t->n, (size_t)n, "\033[31m", 5) != NULL;
  t->n += plain(t->text + t->n, (size_t)n);
  t->text[t->n] = '\0';
  return true;
}

double terminal_expect (terminal *t, const char *want) {
  const double begin = gb_clock();
  for (;;) {
    const char *found = strstr(t->text + t->seen, want);
    if (found != NULL) {
      t->seen = (size_t)(found - t->text) + strlen(want);
      return gb_clock() - begin;
    }
    if (gb_clock() - begin > PATIENCE) fail_msg("'%s' did not come; after it: '%s'", want, t->text + t->seen);
    if (!terminal_read(t, 0.05)) fail_msg("the prompt ended before '%s': '%s'", want, t->text + t->seen);
  }
}

bool terminal_comes (terminal *t, const char *want, double seconds) {
  const double begin = gb_clock();
  while (strstr(t->text + t->seen, want) == NULL) {
    if (gb_clock() - begin > seconds) return false;
    terminal_read(t, 0.05);
  }
  return true;
}

void terminal_interrupt_line (terminal *t) {
  bool answered = false;
  for (int turn = 0; turn < 5 && !answered; turn++) {
    terminal_type(t, "\003");
    answered = terminal_comes(t, "^C", 1);
  }
  terminal_expect(t, "^C");
}

int terminal_finish (terminal *t) {
  int status = 0;
  const double begin = gb_clock();
  while (waitpid(t->pid, &status, WNOHANG) == 0) {
    terminal_read(t, 0.01);
    if (gb_clock() - begin > PATIENCE) {
      kill(t->pid, SIGKILL);
      fail_msg("the prompt did not end");
    }
  }
  close(t->fd);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void terminal_leave (terminal *t) {
  terminal_expect(t, "> ");
  for (double quiet = gb_clock(); gb_clock() - quiet < 0.1;) terminal_read(t, 0.05);
  terminal_type(t, "\004");
  assert_int_equal(terminal_finish(t), 0);
}

void terminal_make_home (void) {
  snprintf(terminal_home, sizeof terminal_home, "/tmp/gibbous-test-%d", (int)getpid());
}

int terminal_remove_home (int rc) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", terminal_home);
  return system(command) == 0 ? rc : 1;
}
