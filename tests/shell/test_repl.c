/* test_repl.c - the prompt on a pseudo-terminal: editing, completion, paste, history, and Ctrl-C against
** the clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE 10.0 /* seconds until an expected text counts as missing */
/* seconds for an answer to Ctrl-C; 0.1 is meant, the rest is for a busy machine */
#define LATENCY 0.5

typedef struct terminal {
  pid_t pid;
  int fd;
  size_t n;
  char text[1 << 16]; /* all that was printed */
  size_t seen;        /* up to here it has been expected already */
  bool red;           /* some of it was */
} terminal;

static char state[64]; /* XDG_STATE_HOME of the test */

/* env: "NAME=value" or NULL. code: NULL starts the prompt, else what -e runs. */
static void start_with (terminal *t, unsigned short columns, const char *env, const char *code) {
  struct winsize size = {.ws_row = 24, .ws_col = columns};
  *t = (terminal){.fd = -1};
  t->pid = forkpty(&t->fd, NULL, NULL, &size);
  if (t->pid == 0) {
    setenv("TERM", "xterm", 1);
    setenv("XDG_STATE_HOME", state, 1);
    setenv("HOME", state, 1);
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    if (env != NULL) putenv(strdup(env));
    if (code == NULL) execl(GIBBOUS_BINARY, "gibbous", (char *)NULL);
    else execl(GIBBOUS_BINARY, "gibbous", "-e", code, (char *)NULL);
    _exit(127);
  }
  assert_true(t->pid > 0);
}

static void start_in (terminal *t, unsigned short columns, const char *env) {
  start_with(t, columns, env, NULL);
}

static void start (terminal *t) { start_in(t, 100, NULL); }

static void type_keys (terminal *t, const char *keys) {
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

/* Reads the output within 'seconds'; false at the end of the terminal. */
static bool read_some (terminal *t, double seconds) {
  struct pollfd p = {.fd = t->fd, .events = POLLIN};
  if (poll(&p, 1, (int)(seconds * 1e3)) <= 0) return true;
  const ssize_t n = read(t->fd, t->text + t->n, sizeof t->text - 1 - t->n);
  if (n <= 0) return false;
  t->red = t->red || memmem(t->text + t->n, (size_t)n, "\033[31m", 5) != NULL;
  t->n += plain(t->text + t->n, (size_t)n);
  t->text[t->n] = '\0';
  return true;
}

/* Waits for 'want' after what was expected before; gives the seconds it took. */
static double expect (terminal *t, const char *want) {
  const double begin = gb_clock();
  for (;;) {
    const char *found = strstr(t->text + t->seen, want);
    if (found != NULL) {
      t->seen = (size_t)(found - t->text) + strlen(want);
      return gb_clock() - begin;
    }
    if (gb_clock() - begin > PATIENCE) fail_msg("'%s' did not come; after it: '%s'", want, t->text + t->seen);
    if (!read_some(t, 0.05)) fail_msg("the prompt ended before '%s': '%s'", want, t->text + t->seen);
  }
}

static bool comes (terminal *t, const char *want, double seconds) {
  const double begin = gb_clock();
  while (strstr(t->text + t->seen, want) == NULL) {
    if (gb_clock() - begin > seconds) return false;
    read_some(t, 0.05);
  }
  return true;
}

/* Ctrl-C at a line, again where it is not answered: a terminal that gets one throws away what is printed
** just then, which may be the answer. */
static void interrupt_line (terminal *t) {
  bool answered = false;
  for (int turn = 0; turn < 5 && !answered; turn++) {
    type_keys(t, "\003");
    answered = comes(t, "^C", 1);
  }
  expect(t, "^C");
}

static int finish (terminal *t) {
  int status = 0;
  const double begin = gb_clock();
  while (waitpid(t->pid, &status, WNOHANG) == 0) {
    read_some(t, 0.01);
    if (gb_clock() - begin > PATIENCE) {
      kill(t->pid, SIGKILL);
      fail_msg("the prompt did not end");
    }
  }
  close(t->fd);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Ctrl-D counts only once the prompt is there. */
static void leave (terminal *t) {
  expect(t, "> ");
  for (double quiet = gb_clock(); gb_clock() - quiet < 0.1;) read_some(t, 0.05);
  type_keys(t, "\004");
  assert_int_equal(finish(t), 0);
}

static void a_line_is_edited_and_run (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "1000 + 33\033[D\033[D2\r"); /* two steps left, insert: 1000 + 233 */
  expect(&t, "\n1233");
  leave(&t);
}

static void tab_completes_names_of_the_library_and_methods (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "gb.linsp\t(0, 1, 77).shape\r");
  expect(&t, "\n77");
  type_keys(&t, "x = gb.ones(21)\r");
  expect(&t, "> ");
  type_keys(&t, "x:logsu\t().shape, 'done'\r");
  expect(&t, "\n()\t\"done\"");
  type_keys(&t, "strin\t.form\t('%d!', 987)\r");
  expect(&t, "\n\"987!\"");
  type_keys(&t, "m = gb.gp.exact{ker\t = gb.kernels.rb\t{}, noise = 0.1}\r");
  expect(&t, "> ");
  type_keys(&t, "#m:predict(x:unsqu\t(2)).mean + 400\r");
  expect(&t, "\n421");
  type_keys(&t, "#io.open('/proc/self/statu\t'):read() > 3 and 'a ' .. 'file'\r");
  expect(&t, "\n\"a file\"");
  type_keys(&t, "(function()\r");
  expect(&t, ">> ");
  type_keys(&t, "local z = x:exp()\r");
  expect(&t, ">> ");
  type_keys(&t, "return #z:logsumex\t(1):unsqueeze(1) + 550 end)()\r");
  expect(&t, "\n551");
  type_keys(&t, "x:log\t\t"); /* several: listed */
  expect(&t, "log_ndtr");
  interrupt_line(&t);
  leave(&t);
}

static void a_window_of_one_column_is_enough (void **unused) {
  (void)unused;
  terminal t;
  start_in(&t, 1, NULL);
  expect(&t, "> ");
  type_keys(&t, "x = gb.linsp\t(0, 1, 3)\r");
  expect(&t, "> ");
  type_keys(&t, "x\r");
  expect(&t, "\ntensor 3 f64");
  expect(&t, "> ");
  type_keys(&t, "for i in gb.progress(3, 'loop') do end 40 + 7\r"); /* does not compile, is reported */
  expect(&t, "near '40'");
  type_keys(&t, "for i in gb.progress(3, 'loop') do end\r");
  expect(&t, "> ");
  type_keys(&t, "x:log\t\t");
  expect(&t, "\nlog_ndtr\n");
  interrupt_line(&t);
  leave(&t);
}

static void what_is_typed_is_kept_in_a_locale_of_ascii (void **unused) {
  (void)unused;
  terminal t;
  start_in(&t, 100, "LC_ALL=C");
  expect(&t, "> ");
  type_keys(&t, "x = '\303\244\342\202\254'\r");
  expect(&t, "> ");
  type_keys(&t, "#x + 400\r");
  expect(&t, "\n405");
  leave(&t);
}

static void errors_are_red_at_a_terminal (void **unused) {
  (void)unused;
  static const char *const env[] = {"LANG=C", "NO_COLOR=1", "TERM=dumb"};
  for (int i = 0; i < 3; i++) {
    terminal t;
    start_in(&t, 100, env[i]);
    expect(&t, "> ");
    type_keys(&t, "error 'x'\r");
    expect(&t, "stack traceback:");
    assert_int_equal(t.red, i == 0);
    leave(&t);
  }
}

static void errors_are_broken_between_words (void **unused) {
  (void)unused;
  static const char typed[] = "error(('word '):rep(12) .. '\\nnext', 0)";
  terminal t;
  start_in(&t, 40, NULL);
  expect(&t, "> ");
  type_keys(&t, typed);
  type_keys(&t, "\r");
  expect(&t, "\nword word word word word word word word\n  word word word word ");
  expect(&t, "\nnext\nstack traceback:\n");
  leave(&t);
  start_in(&t, 70, NULL);
  expect(&t, "> ");
  type_keys(&t, typed);
  type_keys(&t, "\r");
  expect(&t, "\nword word word word word word word word word word word word ");
  expect(&t, "\nnext\n");
  leave(&t);
  start_with(&t, 30, NULL, "error('a first second third', 0)");
  expect(&t, "gibbous: a first second third\n");
  assert_int_equal(finish(&t), 1);
  start_with(&t, 28, NULL, "error('a first second third', 0)");
  expect(&t, "gibbous: a first second\n  third\n");
  assert_int_equal(finish(&t), 1);
}

/* The terminal is asked what it shows, and answers in the middle of the keys, or not at all. */
static void keys_typed_while_the_terminal_is_asked_stay (void **unused) {
  (void)unused;
  static const char *const typed[] = {"80 + 8\r", "80\033[?62;1c + 8\r",
                                      "80\033_Gi=31;EINVAL\033\\ +\033[?62c 8\r"};
  for (int i = 0; i < 3; i++) {
    terminal t;
    start_in(&t, 100, "GIBBOUS_GRAPHICS=");
    expect(&t, "> ");
    type_keys(&t, "gb.plot.figure{}:line(gb.ones(3), gb.ones(3)):show()\r");
    expect(&t, "f=24;AAAA");
    type_keys(&t, typed[i]);
    expect(&t, "\n88");
    leave(&t);
  }
}

static void ctrl_c_clears_the_line_and_the_unfinished_entry (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "error 'never'");
  interrupt_line(&t);
  type_keys(&t, "for i = 1, 3 do\r");
  expect(&t, ">> ");
  interrupt_line(&t);
  type_keys(&t, "600 + 66\r");
  expect(&t, "\n666");
  leave(&t);
  assert_null(strstr(t.text, "stdin:1: never"));
}

static void ctrl_c_within_a_paste_drops_all_of_it (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "\033[200~y = 1\rerror 'never'"); /* its end does not come */
  for (double begin = gb_clock(); gb_clock() - begin < 0.5;)
    read_some(&t, 0.1); /* Ctrl-C would drop it unread */
  interrupt_line(&t);
  type_keys(&t, "700 + 77\r");
  expect(&t, "\n777");
  leave(&t);
}

static void ctrl_d_while_an_entry_runs_spoils_no_key_after_it (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "print 'go' t = gb.clock() while gb.clock() - t < 0.5 do end\r");
  expect(&t, "\ngo");
  type_keys(&t, "\004");
  expect(&t, " s]\n");
  leave(&t);
}

/* Runs a command that would take minutes, and breaks it off. */
static void interrupt (const char *command) {
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, command);
  type_keys(&t, "\r");
  const double begin = gb_clock();
  while (gb_clock() - begin < 1.0) assert_true(read_some(&t, 0.1));
  assert_null(strstr(t.text, "interrupted"));
  t.seen = t.n;
  type_keys(&t, "\003");
  const double seconds = expect(&t, "interrupted");
  print_message("    answered after %.0f ms\n", 1e3 * seconds);
  if (!(seconds <= LATENCY)) fail_msg("Ctrl-C was answered after %.0f ms", 1e3 * seconds);
  expect(&t, "> ");
  type_keys(&t, "gb.linspace(0, 1, 5):sum():item() + 40\r");
  expect(&t, "\n42.5");
  leave(&t);
}

static void ctrl_c_stops_a_lua_loop (void **unused) {
  (void)unused;
  interrupt("while true do end");
}

static void ctrl_c_stops_a_fold (void **unused) {
  (void)unused;
  interrupt("x = gb.linspace(0, 1, 2000000) y = (x:unsqueeze(2) - x:unsqueeze(1)):abs():sum():item()");
}

static void ctrl_c_stops_a_factorisation (void **unused) {
  (void)unused;
  interrupt("a = gb.rand(16000, 2, {seed = 1}) y = gb.linalg.cholesky(a:matmul(a:t()) + gb.eye(16000) * "
            "9):sum():item()");
}

static void a_paste_of_several_lines_is_one_entry (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(
      &t, "\033[200~local total = 0\rfor i = 1, 4 do\r  total = total + i * 100\rend\rprint(total)\033[201~");
  expect(&t, ">> ");
  type_keys(&t, "\r");
  expect(&t, "\n1000");
  leave(&t);
}

static void history_survives_a_killed_session (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "7000 + 77\r");
  expect(&t, "\n7077");
  type_keys(&t, "do\r");
  expect(&t, ">> ");
  type_keys(&t, "print(80 .. 81) end\r");
  expect(&t, "\n8081");
  kill(t.pid, SIGKILL);
  assert_int_equal(finish(&t), 128 + SIGKILL);
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "\033[A\033[A\r");
  expect(&t, "\n7077");
  type_keys(&t, "\033[A\033[A\r"); /* the entry of two lines, now last but one */
  expect(&t, "\n8081");
  leave(&t);
}

static void two_ctrl_c_end_what_catches_them (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "while true do if not pcall(function() print 'round' while true do end end) then print "
                "'caught' end end\r");
  expect(&t, "\nround");
  type_keys(&t, "\003");
  expect(&t, "caught");
  type_keys(&t, "\003");
  expect(&t, "once more ends the session");
  expect(&t, "interrupted");
  expect(&t, "> ");
  type_keys(&t, "2000 + 22\r");
  expect(&t, "\n2022");
  leave(&t);
}

/* Whatever the script catches them with, and whether it has the library or not. */
static void two_ctrl_c_end_a_script_with_130 (void **unused) {
  (void)unused;
  static const char *const scripts[] = {
      "while true do pcall(function() io.write 'go\\n' while true do end end) io.write 'caught\\n' end",
      "require 'gibbous' while true do pcall(function() io.write 'go\\n' while true do end end) io.write "
      "'caught\\n' end",
      "while true do xpcall(function() io.write 'go\\n' while true do end end, print) io.write 'caught\\n' "
      "end",
      "coroutine.wrap(function() while true do pcall(function() io.write 'go\\n' while true do end end) "
      "io.write 'caught\\n' end end)()"};
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    terminal t;
    start_with(&t, 100, NULL, scripts[i]);
    expect(&t, "go");
    type_keys(&t, "\003");
    expect(&t, "caught");
    type_keys(&t, "\003");
    expect(&t, "once more ends the session");
    assert_int_equal(finish(&t), 130);
  }
}

static void one_ctrl_c_ends_a_script_with_130 (void **unused) {
  (void)unused;
  static const char *const scripts[] = {"io.write 'go\\n' while true do end",
                                        "require 'gibbous' io.write 'go\\n' while true do end"};
  for (int i = 0; i < 2; i++) {
    terminal t;
    start_with(&t, 100, NULL, scripts[i]);
    expect(&t, "go");
    type_keys(&t, "\003");
    expect(&t, "interrupted");
    assert_int_equal(finish(&t), 130);
  }
}

static void a_damaged_history_is_said_and_left_out (void **unused) {
  (void)unused;
  char path[128];
  snprintf(path, sizeof path, "%s/gibbous/history", state);
  FILE *f = fopen(path, "wb"); /* the sessions before made its folder */
  assert_non_null(f);
  fputs("3000 + 33\n\033[31mred\n\377\376\n", f);
  fclose(f);
  terminal t;
  start(&t);
  expect(&t, "history: 2 damaged lines of ");
  expect(&t, "> ");
  type_keys(&t, "\033[A\r");
  expect(&t, "\n3033");
  leave(&t);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  start(&t);
  expect(&t, "history: earlier entries are not there: ");
  expect(&t, "> ");
  type_keys(&t, "4000 + 44\r");
  expect(&t, "history: this entry and later ones are not kept: ");
  expect(&t, "\n4044");
  leave(&t);
  assert_int_equal(rmdir(path), 0);
}

static void the_history_knows_how_entries_ended (void **unused) {
  (void)unused;
  char path[128];
  snprintf(path, sizeof path, "%s/gibbous/history", state);
  unlink(path);
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "5000 + 55\r");
  expect(&t, "\n5055");
  expect(&t, "> ");
  type_keys(&t, "error 'this'\r");
  expect(&t, "stdin:1: this");
  expect(&t, "> ");
  type_keys(&t, "print 'on' while true do end\r");
  expect(&t, "\non");
  type_keys(&t, "\003");
  expect(&t, "interrupted");
  expect(&t, "> ");
  type_keys(&t, "print 'off' while true do end\r");
  expect(&t, "\noff");
  kill(t.pid, SIGKILL);
  assert_int_equal(finish(&t), 128 + SIGKILL);
  start_in(&t, 150, NULL);
  expect(&t, "> ");
  type_keys(&t, ":history\r");
  expect(&t, "typed ");
  expect(&t, "  ok ");
  expect(&t, "  5000 + 55\n");
  expect(&t, "  error ");
  expect(&t, "  error 'this'\n");
  expect(&t, "  interrupted  ");
  expect(&t, "  print 'on' while true do end\n");
  expect(&t, "  print 'off' while true do end\n");
  leave(&t);
  assert_null(strstr(t.text + t.seen, ":history")); /* not itself */
}

/* It is neither drawn nor kept; the file may have such a line all the same. */
static void a_huge_line_is_never_drawn_whole (void **unused) {
  (void)unused;
  enum { HUGE = 200000 };
  char path[128], *huge = calloc(HUGE + 1, 1);
  snprintf(path, sizeof path, "%s/gibbous/history", state);
  FILE *f = fopen(path, "wb");
  assert_true(huge != NULL && f != NULL);
  memset(huge, 'z', HUGE);
  fprintf(f, "6000 + 66\n%s\nnul", huge);
  fputc('\0', f);
  fputs("nul\n\\@1.5-2\t/tmp\thalf a l", f);
  fclose(f);
  free(huge);
  terminal t;
  start(&t);
  expect(&t, "history: 3 damaged lines of ");
  expect(&t, "> ");
  type_keys(&t, "\033[A\r");
  expect(&t, "\n6066");
  expect(&t, "> ");
  type_keys(&t, ":history\r");
  expect(&t, "  6000 + 66\n");
  expect(&t, "2 damaged lines left out"); /* what was typed since has ended the half line */
  leave(&t);
  assert_null(strstr(t.text, "zzzzzzzz"));
}

static void what_is_too_long_to_recall_is_said (void **unused) {
  (void)unused;
  char line[502];
  memset(line, 'y', 500);
  strcpy(line + 500, "\r");
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "8000 + 88\r");
  expect(&t, "\n8088");
  expect(&t, "> ");
  type_keys(&t, "\033[200~--[[");
  for (int i = 0; i < 34; i++) {
    type_keys(&t, line);
    read_some(&t, 0);
  }
  type_keys(&t, "]] print(9000 + 99)\033[201~\r");
  expect(&t, "history: this entry is not kept: it is longer than 16 KiB");
  expect(&t, "\n9099");
  type_keys(&t, "\033[A\r");
  expect(&t, "\n8088");
  leave(&t);
}

static void three_ctrl_c_end_what_does_not_answer (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "print 'go' string.find(string.rep('a', 1000000), '.-b')\r");
  expect(&t, "\ngo");
  for (double begin = gb_clock(); gb_clock() - begin < 0.5;) read_some(&t, 0.1);
  for (int i = 0; i < 3; i++) {
    if (i == 2) expect(&t, "once more ends the session");
    type_keys(&t, "\003");
    usleep(100 * 1000);
  }
  assert_int_equal(finish(&t), 130);
}

static void slow_commands_show_their_time (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "function wait() local t = gb.clock() while gb.clock() - t < 0.1 do end end wait()\r");
  expect(&t, "[0.1");
  expect(&t, " s]");
  type_keys(&t, "x = gb.ones(131072):eval() + 0 wait()\r"); /* 1 MiB, and what a run works with */
  expect(&t, " s  peak 1.0");
  type_keys(&t, "y = gb.ones(393216):eval() + 0 wait()\r"); /* beside what is there */
  expect(&t, " s  peak 3.0");
  type_keys(&t, "x, y = nil collectgarbage() collectgarbage()\r");
  type_keys(&t,
            "(wait() or 700) + gb.memory.report().peak // 1048576\r"); /* of the session, not of the entry */
  expect(&t, "\n704");
  expect(&t, " s]\n");
  leave(&t);
}

static void slow_commands_show_the_time_of_a_device (void **unused) {
  (void)unused;
  terminal t;
  setenv("GIBBOUS_DEVICE_PATH", GIBBOUS_FAR, 1);
  start_in(&t, 100, "GIBBOUS_DEVICE=far");
  unsetenv("GIBBOUS_DEVICE_PATH");
  expect(&t, "> ");
  type_keys(&t, "function wait() local t = gb.clock() while gb.clock() - t < 0.1 do end end wait()\r");
  expect(&t, " s]\n");
  type_keys(&t, "x = gb.ones(131072):eval() + 0 wait()\r");
  expect(&t, " s  far ");
  expect(&t, " s  peak 1.");
  leave(&t);
}

/* Loops within loops share a line of the terminal; what the outermost reached stays. */
static void progress_is_shown (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "function wait() local t = gb.clock() + 0.05 while gb.clock() < t do end end\n");
  type_keys(&t, "for i in gb.progress(2, 'outer') do for j in gb.progress(5, 'inner') do wait() end end\n");
  expect(&t, "1/2");
  expect(&t, "inner");
  expect(&t, "/5");
  expect(&t, "outer 2/2 in ");
  expect(&t, "> ");
  type_keys(&t, "for i in gb.progress(1000, 'long') do wait() end\n");
  expect(&t, "/1000  ");
  type_keys(&t, "\003");
  expect(&t, "/1000 in ");
  expect(&t, "interrupted");
  leave(&t);
}

/* A fold of minutes, ended by Ctrl-C. */
static void a_long_step_is_said (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, "x = gb.linspace(0, 1, 2000000) y = (x:unsqueeze(2) - x:unsqueeze(1)):abs():sum():item()\r");
  expect(&t, "\n");
  expect(&t, "(stdin:1)  ");
  expect(&t, " s");
  type_keys(&t, "\003");
  expect(&t, "interrupted");
  leave(&t);
}

/* Enter runs each step as the prompt would, and what they made stays. */
static void the_tour_runs_its_steps (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, ":tour\r");
  for (int step = 1; step <= 10; step++) {
    char heading[16];
    snprintf(heading, sizeof heading, "\n%d of 10  ", step);
    expect(&t, heading);
    expect(&t, "\nEnter runs it, q ends: ");
    type_keys(&t, "\r");
    if (step == 1) expect(&t, "\ntensor 40 f64");
    if (step == 3) expect(&t, "converged");
    if (step == 9) expect(&t, "did you mean 'noise'?");
    if (step == 10) expect(&t, "\ngb.gp.exact(o)");
  }
  expect(&t, "that was the tour");
  expect(&t, "> ");
  type_keys(&t, "#x + #m:predict(x).mean\r");
  expect(&t, "\n80");
  leave(&t);
}

static void the_tour_ends_by_q_and_by_ctrl_c (void **unused) {
  (void)unused;
  terminal t;
  start(&t);
  expect(&t, "> ");
  type_keys(&t, ":tour\r");
  expect(&t, "q ends: ");
  type_keys(&t, "q\r");
  expect(&t, "the tour ends here");
  expect(&t, "> ");
  type_keys(&t, ":tour\r");
  expect(&t, "q ends: ");
  interrupt_line(&t);
  expect(&t, "interrupted");
  expect(&t, "> ");
  type_keys(&t, "x, 40 + 2\r"); /* no step ran */
  expect(&t, "\nnil\t42");
  leave(&t);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_edited_and_run),
      cmocka_unit_test(tab_completes_names_of_the_library_and_methods),
      cmocka_unit_test(a_window_of_one_column_is_enough),
      cmocka_unit_test(what_is_typed_is_kept_in_a_locale_of_ascii),
      cmocka_unit_test(errors_are_red_at_a_terminal),
      cmocka_unit_test(errors_are_broken_between_words),
      cmocka_unit_test(keys_typed_while_the_terminal_is_asked_stay),
      cmocka_unit_test(ctrl_c_clears_the_line_and_the_unfinished_entry),
      cmocka_unit_test(ctrl_c_within_a_paste_drops_all_of_it),
      cmocka_unit_test(ctrl_d_while_an_entry_runs_spoils_no_key_after_it),
      cmocka_unit_test(ctrl_c_stops_a_lua_loop),
      cmocka_unit_test(ctrl_c_stops_a_fold),
      cmocka_unit_test(ctrl_c_stops_a_factorisation),
      cmocka_unit_test(a_paste_of_several_lines_is_one_entry),
      cmocka_unit_test(history_survives_a_killed_session),
      cmocka_unit_test(two_ctrl_c_end_what_catches_them),
      cmocka_unit_test(one_ctrl_c_ends_a_script_with_130),
      cmocka_unit_test(two_ctrl_c_end_a_script_with_130),
      cmocka_unit_test(a_damaged_history_is_said_and_left_out),
      cmocka_unit_test(the_history_knows_how_entries_ended),
      cmocka_unit_test(a_huge_line_is_never_drawn_whole),
      cmocka_unit_test(what_is_too_long_to_recall_is_said),
      cmocka_unit_test(three_ctrl_c_end_what_does_not_answer),
      cmocka_unit_test(slow_commands_show_their_time),
      cmocka_unit_test(slow_commands_show_the_time_of_a_device),
      cmocka_unit_test(progress_is_shown),
      cmocka_unit_test(a_long_step_is_said),
      cmocka_unit_test(the_tour_runs_its_steps),
      cmocka_unit_test(the_tour_ends_by_q_and_by_ctrl_c),
  };
  snprintf(state, sizeof state, "/tmp/gibbous-test-%d", (int)getpid());
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", state);
  return system(command) == 0 ? rc : 1;
}
