/* test_history.c - the history file of the prompt, on a pseudo-terminal. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/shell/terminal.h"

static void history_survives_a_killed_session (void **unused) {
  (void)unused;
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "7000 + 77\r");
  terminal_expect(&t, "\n7077");
  terminal_type(&t, "do\r");
  terminal_expect(&t, ">> ");
  terminal_type(&t, "print(80 .. 81) end\r");
  terminal_expect(&t, "\n8081");
  kill(t.pid, SIGKILL);
  assert_int_equal(terminal_finish(&t), 128 + SIGKILL);
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "\033[A\033[A\r");
  terminal_expect(&t, "\n7077");
  terminal_type(&t, "\033[A\033[A\r"); /* the entry of two lines, now last but one */
  terminal_expect(&t, "\n8081");
  terminal_leave(&t);
}

static void a_damaged_history_is_said_and_left_out (void **unused) {
  (void)unused;
  char path[128];
  snprintf(path, sizeof path, "%s/gibbous/history", terminal_home);
  FILE *f = fopen(path, "wb"); /* the sessions before made its folder */
  assert_non_null(f);
  fputs("3000 + 33\n\033[31mred\n\377\376\n", f);
  fclose(f);
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "history: 2 damaged lines of ");
  terminal_expect(&t, "> ");
  terminal_type(&t, "\033[A\r");
  terminal_expect(&t, "\n3033");
  terminal_leave(&t);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  terminal_start(&t);
  terminal_expect(&t, "history: earlier entries are not there: ");
  terminal_expect(&t, "> ");
  terminal_type(&t, "4000 + 44\r");
  terminal_expect(&t, "history: this entry and later ones are not kept: ");
  terminal_expect(&t, "\n4044");
  terminal_leave(&t);
  assert_int_equal(rmdir(path), 0);
}

static void the_history_knows_how_entries_ended (void **unused) {
  (void)unused;
  char path[128];
  snprintf(path, sizeof path, "%s/gibbous/history", terminal_home);
  unlink(path);
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "5000 + 55\r");
  terminal_expect(&t, "\n5055");
  terminal_expect(&t, "> ");
  terminal_type(&t, "error 'this'\r");
  terminal_expect(&t, "stdin:1: this");
  terminal_expect(&t, "> ");
  terminal_type(&t, "print 'on' while true do end\r");
  terminal_expect(&t, "\non");
  terminal_type(&t, "\003");
  terminal_expect(&t, "interrupted");
  terminal_expect(&t, "> ");
  terminal_type(&t, "print 'off' while true do end\r");
  terminal_expect(&t, "\noff");
  kill(t.pid, SIGKILL);
  assert_int_equal(terminal_finish(&t), 128 + SIGKILL);
  terminal_start_in(&t, 150, NULL);
  terminal_expect(&t, "> ");
  terminal_type(&t, ":history\r");
  terminal_expect(&t, "typed ");
  terminal_expect(&t, "  ok ");
  terminal_expect(&t, "  5000 + 55\n");
  terminal_expect(&t, "  error ");
  terminal_expect(&t, "  error 'this'\n");
  terminal_expect(&t, "  interrupted  ");
  terminal_expect(&t, "  print 'on' while true do end\n");
  terminal_expect(&t, "  print 'off' while true do end\n");
  terminal_leave(&t);
  assert_null(strstr(t.text + t.seen, ":history")); /* not itself */
}

/* It is neither drawn nor kept; the file may have such a line all the same. */
static void a_huge_line_is_never_drawn_whole (void **unused) {
  (void)unused;
  enum { HUGE = 200000 };
  char path[128], *huge = calloc(HUGE + 1, 1);
  snprintf(path, sizeof path, "%s/gibbous/history", terminal_home);
  FILE *f = fopen(path, "wb");
  assert_true(huge != NULL && f != NULL);
  memset(huge, 'z', HUGE);
  fprintf(f, "6000 + 66\n%s\nnul", huge);
  fputc('\0', f);
  fputs("nul\n\\@1.5-2\t/tmp\thalf a l", f);
  fclose(f);
  free(huge);
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "history: 3 damaged lines of ");
  terminal_expect(&t, "> ");
  terminal_type(&t, "\033[A\r");
  terminal_expect(&t, "\n6066");
  terminal_expect(&t, "> ");
  terminal_type(&t, ":history\r");
  terminal_expect(&t, "  6000 + 66\n");
  terminal_expect(&t, "2 damaged lines left out"); /* what was typed since has ended the half line */
  terminal_leave(&t);
  assert_null(strstr(t.text, "zzzzzzzz"));
}

static void what_is_too_long_to_recall_is_said (void **unused) {
  (void)unused;
  char line[502];
  memset(line, 'y', 500);
  strcpy(line + 500, "\r");
  terminal t;
  terminal_start(&t);
  terminal_expect(&t, "> ");
  terminal_type(&t, "8000 + 88\r");
  terminal_expect(&t, "\n8088");
  terminal_expect(&t, "> ");
  terminal_type(&t, "\033[200~--[[");
  for (int i = 0; i < 34; i++) {
    terminal_type(&t, line);
    terminal_read(&t, 0);
  }
  terminal_type(&t, "]] print(9000 + 99)\033[201~\r");
  terminal_expect(&t, "history: this entry is not kept: it is longer than 16 KiB");
  terminal_expect(&t, "\n9099");
  terminal_type(&t, "\033[A\r");
  terminal_expect(&t, "\n8088");
  terminal_leave(&t);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(history_survives_a_killed_session),
      cmocka_unit_test(a_damaged_history_is_said_and_left_out),
      cmocka_unit_test(the_history_knows_how_entries_ended),
      cmocka_unit_test(a_huge_line_is_never_drawn_whole),
      cmocka_unit_test(what_is_too_long_to_recall_is_said),
  };
  terminal_make_home();
  return terminal_remove_home(cmocka_run_group_tests(tests, NULL, NULL));
}
