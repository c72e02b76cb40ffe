/* test_busy.c - what is said of the step that the core is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/run/busy.h"

static gb_busy last;
static int drawn, cleared;

static void draw (const gb_busy *b) {
  last = *b;
  drawn++;
}
static void clear (void) { cleared++; }

static void only_the_outermost_run_is_said_and_taken_away_at_its_end (void **unused) {
  (void)unused;
  gb_busy_look(0, draw, clear);
  assert_int_equal(drawn, 0);
  assert_true(gb_busy_begin());
  gb_busy_look(0, draw, clear);
  assert_int_equal(drawn, 0); /* no step yet */
  gb_busy_step("eigh", "a.lua:3", 1, 4);
  assert_false(gb_busy_begin());
  gb_busy_look(0, draw, clear);
  assert_int_equal(drawn, 1);
  assert_string_equal(last.what, "eigh");
  assert_string_equal(last.where, "a.lua:3");
  assert_int_equal(last.done, 1);
  assert_int_equal(last.total, 4);
  assert_true(last.seconds >= 0);
  gb_busy_look(1e9, draw, clear);
  assert_int_equal(drawn, 1); /* not for that long */
  gb_busy_end(false);
  assert_int_equal(cleared, 0);
  gb_busy_end(true);
  assert_int_equal(cleared, 1);
  gb_busy_look(0, draw, clear);
  assert_int_equal(drawn, 1);
}

static void a_step_is_forgotten_while_another_run_goes_on (void **unused) {
  (void)unused;
  const int before = drawn;
  assert_true(gb_busy_begin());
  gb_busy_step("svd", "", 0, 1);
  assert_false(gb_busy_begin()); /* of another thread */
  gb_busy_end(true);
  gb_busy_look(0, draw, clear);
  assert_int_equal(drawn, before);
  gb_busy_end(false);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_the_outermost_run_is_said_and_taken_away_at_its_end),
      cmocka_unit_test(a_step_is_forgotten_while_another_run_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
