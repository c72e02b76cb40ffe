/* test_interrupts.c - Ctrl-C on a pseudo-terminal, against the clock. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/shell/terminal.h"

/* seconds for an answer to Ctrl-C; 0.1 is meant, the rest is for a busy machine */
#define LATENCY 0.5

static void ctrl_c_clears_the_line_and_the_unfinished_entry (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "error 'never'");
  terminal_interrupt_line(&t);
  terminal_type(&t, "for i = 1, 3 do\r");
  terminal_expect(&t, ">> ");
  terminal_interrupt_line(&t);
  terminal_type(&t, "600 + 66\r");
  terminal_expect(&t, "\n666");
  terminal_leave(&t);
  assert_null(strstr(t.text, "stdin:1: never"));
}

static void ctrl_c_within_a_paste_drops_all_of_it (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "\033[200~y = 1\rerror 'never'"); /* its end does not come */
  for (double begin = gb_clock(); gb_clock() - begin < 0.5;)
    terminal_read(&t, 0.1); /* Ctrl-C would drop it unread */
  terminal_interrupt_line(&t);
  terminal_type(&t, "700 + 77\r");
  terminal_expect(&t, "\n777");
  terminal_leave(&t);
}

/* Runs a command that would take minutes, and breaks it off. */
static void interrupt (const char *command) {
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, command);
  terminal_type(&t, "\r");
  const double begin = gb_clock();
  while (gb_clock() - begin < 1.0) assert_true(terminal_read(&t, 0.1));
  assert_null(strstr(t.text, "interrupted"));
  t.seen = t.n;
  terminal_type(&t, "\003");
  const double seconds = terminal_expect(&t, "interrupted");
  print_message("    answered after %.0f ms\n", 1e3 * seconds);
  if (!(seconds <= LATENCY)) fail_msg("Ctrl-C was answered after %.0f ms", 1e3 * seconds);
  terminal_expect(&t, "> ");
  terminal_type(&t, "gb.linspace(0, 1, 5):sum():item() + 40\r");
  terminal_expect(&t, "\n42.5");
  terminal_leave(&t);
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

static void two_ctrl_c_end_what_catches_them (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "while true do if not pcall(function() print 'round' while true do end end) then print "
                    "'caught' end end\r");
  terminal_expect(&t, "\nround");
  terminal_type(&t, "\003");
  terminal_expect(&t, "caught");
  terminal_type(&t, "\003");
  terminal_expect(&t, "once more ends the session");
  terminal_expect(&t, "interrupted");
  terminal_expect(&t, "> ");
  terminal_type(&t, "2000 + 22\r");
  terminal_expect(&t, "\n2022");
  terminal_leave(&t);
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
    terminal_start_with(&t, 100, NULL, scripts[i]);
    terminal_expect(&t, "go");
    terminal_type(&t, "\003");
    terminal_expect(&t, "caught");
    terminal_type(&t, "\003");
    terminal_expect(&t, "once more ends the session");
    assert_int_equal(terminal_finish(&t), 130);
  }
}

static void one_ctrl_c_ends_a_script_with_130 (void **unused) {
  (void)unused;
  static const char *const scripts[] = {"io.write 'go\\n' while true do end",
                                        "require 'gibbous' io.write 'go\\n' while true do end"};
  for (int i = 0; i < 2; i++) {
    terminal t;
    terminal_start_with(&t, 100, NULL, scripts[i]);
    terminal_expect(&t, "go");
    terminal_type(&t, "\003");
    terminal_expect(&t, "interrupted");
    assert_int_equal(terminal_finish(&t), 130);
  }
}

static void three_ctrl_c_end_what_does_not_answer (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "print 'go' string.find(string.rep('a', 1000000), '.-b')\r");
  terminal_expect(&t, "\ngo");
  for (double begin = gb_clock(); gb_clock() - begin < 0.5;) terminal_read(&t, 0.1);
  for (int i = 0; i < 3; i++) {
    if (i == 2) terminal_expect(&t, "once more ends the session");
    terminal_type(&t, "\003");
    usleep(100 * 1000);
  }
  assert_int_equal(terminal_finish(&t), 130);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ctrl_c_clears_the_line_and_the_unfinished_entry),
      cmocka_unit_test(ctrl_c_within_a_paste_drops_all_of_it),
      cmocka_unit_test(ctrl_c_stops_a_lua_loop),
      cmocka_unit_test(ctrl_c_stops_a_fold),
      cmocka_unit_test(ctrl_c_stops_a_factorisation),
      cmocka_unit_test(two_ctrl_c_end_what_catches_them),
      cmocka_unit_test(two_ctrl_c_end_a_script_with_130),
      cmocka_unit_test(one_ctrl_c_ends_a_script_with_130),
      cmocka_unit_test(three_ctrl_c_end_what_does_not_answer),
  };
  terminal_make_home();
  return terminal_remove_home(cmocka_run_group_tests(tests, NULL, NULL));
}
