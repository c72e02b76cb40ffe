/* test_repl.c - the prompt on a pseudo-terminal: editing, completion, paste, errors, and what slow entries show. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/shell/terminal.h"

static void a_line_is_edited_and_run (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "1000 + 33\033[D\033[D2\r"); /* two steps left, insert: 1000 + 233 */
  terminal_expect(&t, "\n1233");
  terminal_leave(&t);
}

static void tab_completes_names_of_the_library_and_methods (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "gb.linsp\t(0, 1, 77).shape\r");
  terminal_expect(&t, "\n77");
  terminal_type(&t, "x = gb.ones(21)\r");
  terminal_expect(&t, "> ");
  terminal_type(&t, "x:logsu\t().shape, 'done'\r");
  terminal_expect(&t, "\n()\t\"done\"");
  terminal_type(&t, "strin\t.form\t('%d!', 987)\r");
  terminal_expect(&t, "\n\"987!\"");
  terminal_type(&t, "m = gb.gp.exact{ker\t = gb.kernels.rb\t{}, noise = 0.1}\r");
  terminal_expect(&t, "> ");
  terminal_type(&t, "#m:predict(x:unsqu\t(2)).mean + 400\r");
  terminal_expect(&t, "\n421");
  terminal_type(&t, "#io.open('/proc/self/statu\t'):read() > 3 and 'a ' .. 'file'\r");
  terminal_expect(&t, "\n\"a file\"");
  terminal_type(&t, "(function()\r");
  terminal_expect(&t, ">> ");
  terminal_type(&t, "local z = x:exp()\r");
  terminal_expect(&t, ">> ");
  terminal_type(&t, "return #z:logsumex\t(1):unsqueeze(1) + 550 end)()\r");
  terminal_expect(&t, "\n551");
  terminal_type(&t, "x:log\t\t"); /* several: listed */
  terminal_expect(&t, "log_ndtr");
  terminal_interrupt_line(&t);
  terminal_leave(&t);
}

static void a_window_of_one_column_is_enough (void **unused) {
  (void)unused;
  terminal t;
  terminal_start_in(&t, 1, NULL);
  terminal_expect(&t, "> ");
  terminal_type(&t, "x = gb.linsp\t(0, 1, 3)\r");
  terminal_expect(&t, "> ");
  terminal_type(&t, "x\r");
  terminal_expect(&t, "\ntensor 3 f64");
  terminal_expect(&t, "> ");
  terminal_type(&t, "for i in gb.progress(3, 'loop') do end 40 + 7\r"); /* does not compile, is reported */
  terminal_expect(&t, "near '40'");
  terminal_type(&t, "for i in gb.progress(3, 'loop') do end\r");
  terminal_expect(&t, "> ");
  terminal_type(&t, "x:log\t\t");
  terminal_expect(&t, "\nlog_ndtr\n");
  terminal_interrupt_line(&t);
  terminal_leave(&t);
}

static void what_is_typed_is_kept_in_a_locale_of_ascii (void **unused) {
  (void)unused;
  terminal t;
  terminal_start_in(&t, 100, "LC_ALL=C");
  terminal_expect(&t, "> ");
  terminal_type(&t, "x = '\303\244\342\202\254'\r");
  terminal_expect(&t, "> ");
  terminal_type(&t, "#x + 400\r");
  terminal_expect(&t, "\n405");
  terminal_leave(&t);
}

static void errors_are_red_at_a_terminal (void **unused) {
  (void)unused;
  static const char *const env[] = {"LANG=C", "NO_COLOR=1", "TERM=dumb"};
  for (int i = 0; i < 3; i++) {
    terminal t;
    terminal_start_in(&t, 100, env[i]);
    terminal_expect(&t, "> ");
    terminal_type(&t, "error 'x'\r");
    terminal_expect(&t, "stack traceback:");
    assert_int_equal(t.red, i == 0);
    terminal_leave(&t);
  }
}

static void errors_are_broken_between_words (void **unused) {
  (void)unused;
  static const char typed[] = "error(('word '):rep(12) .. '\\nnext', 0)";
  terminal t;
  terminal_start_in(&t, 40, NULL);
  terminal_expect(&t, "> ");
  terminal_type(&t, typed);
  terminal_type(&t, "\r");
  terminal_expect(&t, "\nword word word word word word word word\n  word word word word ");
  terminal_expect(&t, "\nnext\nstack traceback:\n");
  terminal_leave(&t);
  terminal_start_in(&t, 70, NULL);
  terminal_expect(&t, "> ");
  terminal_type(&t, typed);
  terminal_type(&t, "\r");
  terminal_expect(&t, "\nword word word word word word word word word word word word ");
  terminal_expect(&t, "\nnext\n");
  terminal_leave(&t);
  terminal_start_with(&t, 30, NULL, "error('a first second third', 0)");
  terminal_expect(&t, "gibbous: a first second third\n");
  assert_int_equal(terminal_finish(&t), 1);
  terminal_start_with(&t, 28, NULL, "error('a first second third', 0)");
  terminal_expect(&t, "gibbous: a first second\n  third\n");
  assert_int_equal(terminal_finish(&t), 1);
}

/* The terminal is asked what it shows, and answers in the middle of the keys, or not at all. */
static void keys_typed_while_the_terminal_is_asked_stay (void **unused) {
  (void)unused;
  static const char *const typed[] = {"80 + 8\r", "80\033[?62;1c + 8\r",
                                      "80\033_Gi=31;EINVAL\033\\ +\033[?62c 8\r"};
  for (int i = 0; i < 3; i++) {
    terminal t;
    terminal_start_in(&t, 100, "GIBBOUS_GRAPHICS=");
    terminal_expect(&t, "> ");
    terminal_type(&t, "gb.plot.figure{}:line(gb.ones(3), gb.ones(3)):show()\r");
    terminal_expect(&t, "f=24;AAAA");
    terminal_type(&t, typed[i]);
    terminal_expect(&t, "\n88");
    terminal_leave(&t);
  }
}

static void ctrl_d_while_an_entry_runs_spoils_no_key_after_it (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "print 'go' t = gb.clock() while gb.clock() - t < 0.5 do end\r");
  terminal_expect(&t, "\ngo");
  terminal_type(&t, "\004");
  terminal_expect(&t, " s]\n");
  terminal_leave(&t);
}

static void a_paste_of_several_lines_is_one_entry (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(
      &t, "\033[200~local total = 0\rfor i = 1, 4 do\r  total = total + i * 100\rend\rprint(total)\033[201~");
  terminal_expect(&t, ">> ");
  terminal_type(&t, "\r");
  terminal_expect(&t, "\n1000");
  terminal_leave(&t);
}

static void slow_commands_show_their_time (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "function wait() local t = gb.clock() while gb.clock() - t < 0.1 do end end wait()\r");
  terminal_expect(&t, "[0.1");
  terminal_expect(&t, " s]");
  terminal_type(&t, "x = gb.ones(131072):eval() + 0 wait()\r"); /* 1 MiB, and what a run works with */
  terminal_expect(&t, " s  peak 1.0");
  terminal_type(&t, "y = gb.ones(393216):eval() + 0 wait()\r"); /* beside what is there */
  terminal_expect(&t, " s  peak 3.0");
  terminal_type(&t, "x, y = nil collectgarbage() collectgarbage()\r");
  terminal_type(
      &t, "(wait() or 700) + gb.memory.report().peak // 1048576\r"); /* of the session, not of the entry */
  terminal_expect(&t, "\n704");
  terminal_expect(&t, " s]\n");
  terminal_leave(&t);
}

static void slow_commands_show_the_time_of_a_device (void **unused) {
  (void)unused;
  terminal t;
  setenv("GIBBOUS_DEVICE_PATH", GIBBOUS_FAR, 1);
  terminal_start_in(&t, 100, "GIBBOUS_DEVICE=far");
  unsetenv("GIBBOUS_DEVICE_PATH");
  terminal_expect(&t, "> ");
  terminal_type(&t, "function wait() local t = gb.clock() while gb.clock() - t < 0.1 do end end wait()\r");
  terminal_expect(&t, " s]\n");
  terminal_type(&t, "x = gb.ones(131072):eval() + 0 wait()\r");
  terminal_expect(&t, " s  far ");
  terminal_expect(&t, " s  peak 1.");
  terminal_leave(&t);
}

/* Loops within loops share a line of the terminal; what the outermost reached stays. */
static void progress_is_shown (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "function wait() local t = gb.clock() + 0.05 while gb.clock() < t do end end\n");
  terminal_type(&t,
                "for i in gb.progress(2, 'outer') do for j in gb.progress(5, 'inner') do wait() end end\n");
  terminal_expect(&t, "1/2");
  terminal_expect(&t, "inner");
  terminal_expect(&t, "/5");
  terminal_expect(&t, "outer 2/2 in ");
  terminal_expect(&t, "> ");
  terminal_type(&t, "for i in gb.progress(1000, 'long') do wait() end\n");
  terminal_expect(&t, "/1000  ");
  terminal_type(&t, "\003");
  terminal_expect(&t, "/1000 in ");
  terminal_expect(&t, "interrupted");
  terminal_leave(&t);
}

/* A fold of minutes, ended by Ctrl-C. */
static void a_long_step_is_said (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t,
                "x = gb.linspace(0, 1, 2000000) y = (x:unsqueeze(2) - x:unsqueeze(1)):abs():sum():item()\r");
  terminal_expect(&t, "\n");
  terminal_expect(&t, "(stdin:1)  ");
  terminal_expect(&t, " s");
  terminal_type(&t, "\003");
  terminal_expect(&t, "interrupted");
  terminal_leave(&t);
}

/* Enter runs each step as the prompt would, and what they made stays. */
static void the_tour_runs_its_steps (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, ":tour\r");
  for (int step = 1; step <= 10; step++) {
    char heading[16];
    snprintf(heading, sizeof heading, "\n%d of 10  ", step);
    terminal_expect(&t, heading);
    terminal_expect(&t, "\nEnter runs it, q ends: ");
    terminal_type(&t, "\r");
    if (step == 1) terminal_expect(&t, "\ntensor 40 f64");
    if (step == 3) terminal_expect(&t, "converged");
    if (step == 9) terminal_expect(&t, "did you mean 'noise'?");
    if (step == 10) terminal_expect(&t, "\ngb.gp.exact(o)");
  }
  terminal_expect(&t, "that was the tour");
  terminal_expect(&t, "> ");
  terminal_type(&t, "#x + #m:predict(x).mean\r");
  terminal_expect(&t, "\n80");
  terminal_leave(&t);
}

static void the_tour_ends_by_q_and_by_ctrl_c (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, ":tour\r");
  terminal_expect(&t, "q ends: ");
  terminal_type(&t, "q\r");
  terminal_expect(&t, "the tour ends here");
  terminal_expect(&t, "> ");
  terminal_type(&t, ":tour\r");
  terminal_expect(&t, "q ends: ");
  terminal_interrupt_line(&t);
  terminal_expect(&t, "interrupted");
  terminal_expect(&t, "> ");
  terminal_type(&t, "x, 40 + 2\r"); /* no step ran */
  terminal_expect(&t, "\nnil\t42");
  terminal_leave(&t);
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
      cmocka_unit_test(ctrl_d_while_an_entry_runs_spoils_no_key_after_it),
      cmocka_unit_test(a_paste_of_several_lines_is_one_entry),
      cmocka_unit_test(slow_commands_show_their_time),
      cmocka_unit_test(slow_commands_show_the_time_of_a_device),
      cmocka_unit_test(progress_is_shown),
      cmocka_unit_test(a_long_step_is_said),
      cmocka_unit_test(the_tour_runs_its_steps),
      cmocka_unit_test(the_tour_ends_by_q_and_by_ctrl_c),
  };
  terminal_make_home();
  return terminal_remove_home(cmocka_run_group_tests(tests, NULL, NULL));
}
