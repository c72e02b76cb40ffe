/* test_plot.c - ticks, ranges and gaps of figures, and that files come out whole. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plot/figure.h"

static void add (gb_figure *f, gb_series_kind kind, size_t n, const double *x, const double *y, const double *hi) {
  gb_error err;
  assert_int_equal(gb_figure_add(f, kind, n, 0, x, y, hi, "s", -1, &err), GB_OK);
}

static void ranges_leave_out_what_is_not_finite (void **state) {
  (void)state;
  gb_figure f = {0};
  add(&f, GB_SERIES_LINE, 4, (double[]){0, 1, 2, 3}, (double[]){NAN, 10, INFINITY, 20}, NULL);
  gb_range x, y;
  gb_figure_ranges(&f, &x, &y);
  assert_true(y.lo < 10 && y.lo > 9 && y.hi > 20 && y.hi < 21);
  gb_figure_clear(&f);
}

static void empty_and_constant_series_still_have_a_range (void **state) {
  (void)state;
  gb_figure f = {0};
  gb_range x, y;
  gb_figure_ranges(&f, &x, &y);
  assert_true(x.lo < x.hi && y.lo < y.hi && y.step > 0);
  add(&f, GB_SERIES_SCATTER, 2, (double[]){5, 5}, (double[]){0, 0}, NULL);
  gb_figure_ranges(&f, &x, &y);
  assert_true(x.lo < 5 && x.hi > 5 && y.lo < 0 && y.hi > 0);
  gb_figure_clear(&f);
}

static void labels_have_the_digits_their_step_needs (void **state) {
  (void)state;
  char s[32];
  gb_range_label(&(gb_range){0, 1, 0.25}, 0.75, s);
  assert_string_equal(s, "0.75");
  gb_range_label(&(gb_range){300, 450, 25}, 325, s);
  assert_string_equal(s, "325");
}

static void a_line_is_drawn_in_dots_with_its_gap (void **state) {
  (void)state;
  gb_figure f = {0};
  add(&f, GB_SERIES_LINE, 5, (double[]){0, 1, 2, 3, 4}, (double[]){0, 1, NAN, 3, 4}, NULL);
  char *text = gb_figure_text(&f, 60, 20, false);
  assert_non_null(text);
  assert_non_null(strstr(text, "\u2514"));
  size_t dots = 0;
  for (const char *c = text; *c != '\0'; c++) dots += (unsigned char)c[0] == 0xE2 && (unsigned char)c[1] >= 0xA0 && (unsigned char)c[1] <= 0xA3;
  assert_in_range(dots, 10, 60);
  free(text);
  gb_figure_clear(&f);
}

static void files_come_out_whole_and_odd_endings_are_refused (void **state) {
  (void)state;
  static const struct { const char *end, *lead; } kind[] = {{"svg", "<?xml"}, {"png", "\x89PNG"}, {"pdf", "%PDF"}};
  gb_figure f = {0};
  gb_error err;
  const double x[] = {0, 1, 2}, lo[] = {0, NAN, 1}, hi[] = {1, 2, 3};
  add(&f, GB_SERIES_BAND, 3, x, lo, hi);
  assert_int_equal(gb_figure_add(&f, GB_SERIES_HEATMAP, 3, 1, (double[]){0, 2}, (double[]){0, 0}, hi, "", -1, &err), GB_OK);
  for (int i = 0; i < 3; i++) {
    char path[64], lead[8] = "";
    snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.%s", (int)getpid(), kind[i].end);
    assert_int_equal(gb_figure_save(&f, path, 300, 200, &err), GB_OK);
    FILE *in = fopen(path, "rb");
    assert_int_equal(fread(lead, 1, 7, in), 7);
    fclose(in);
    unlink(path);
    assert_memory_equal(lead, kind[i].lead, strlen(kind[i].lead));
  }
  assert_int_equal(gb_figure_save(&f, "figure.xyz", 300, 200, &err), GB_EOPTION);
  assert_int_equal(gb_figure_save(&f, "/nonexistent/f.svg", 300, 200, &err), GB_EIO);
  gb_figure_clear(&f);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranges_leave_out_what_is_not_finite),
      cmocka_unit_test(empty_and_constant_series_still_have_a_range),
      cmocka_unit_test(labels_have_the_digits_their_step_needs),
      cmocka_unit_test(a_line_is_drawn_in_dots_with_its_gap),
      cmocka_unit_test(files_come_out_whole_and_odd_endings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
