/* test_plot.c - ticks, ranges and gaps of figures, and that files come out whole. */
#include <cairo.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plot/dense.h"
#include "plot/figure.h"

static void add (gb_figure *f, gb_series_kind kind, size_t n, const double *x, const double *y,
                 const double *hi) {
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
  for (const char *c = text; *c != '\0'; c++)
    dots += (unsigned char)c[0] == 0xE2 && (unsigned char)c[1] >= 0xA0 && (unsigned char)c[1] <= 0xA3;
  assert_in_range(dots, 10, 60);
  free(text);
  gb_figure_clear(&f);
}

static void files_come_out_whole_and_odd_endings_are_refused (void **state) {
  (void)state;
  static const struct {
    const char *end, *lead;
  } kind[] = {{"svg", "<?xml"}, {"png", "\x89PNG"}, {"pdf", "%PDF"}};
  gb_figure f = {0};
  gb_error err;
  const double x[] = {0, 1, 2}, lo[] = {0, NAN, 1}, hi[] = {1, 2, 3};
  add(&f, GB_SERIES_BAND, 3, x, lo, hi);
  assert_int_equal(
      gb_figure_add(&f, GB_SERIES_HEATMAP, 3, 1, (double[]){0, 2}, (double[]){0, 0}, hi, "", -1, &err),
      GB_OK);
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

/* Saves a figure: how often 'word' is in the file, and its length. */
static int saved (gb_figure *f, const char *end, const char *word, long *bytes) {
  char path[64];
  gb_error err;
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.%s", (int)getpid(), end);
  assert_int_equal(gb_figure_save(f, path, 300, 200, &err), GB_OK);
  FILE *in = fopen(path, "rb");
  fseek(in, 0, SEEK_END);
  *bytes = ftell(in);
  rewind(in);
  char *text = calloc(1, (size_t)*bytes + 1);
  assert_int_equal(fread(text, 1, (size_t)*bytes, in), *bytes);
  fclose(in);
  unlink(path);
  int found = 0;
  for (long i = 0; i + (long)strlen(word) <= *bytes; i++) found += memcmp(text + i, word, strlen(word)) == 0;
  free(text);
  return found;
}

/* A line and a band keep few points a column; what crosses the picture to and fro, and dots, are pixels
** where they are many. */
static void many_points_are_fewer_or_pixels_in_files_of_vectors (void **state) {
  (void)state;
  enum { N = 260000 };
  double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *hi = malloc(N * sizeof *hi),
         *fold = malloc(N * sizeof *fold);
  for (int i = 0; i < N; i++) x[i] = i, y[i] = sin(i * 0.37), hi[i] = y[i] + 1, fold[i] = cos(i * 0.07);
  for (int kind = GB_SERIES_LINE; kind <= GB_SERIES_BAND; kind++)
    for (int folded = 0; folded <= (kind != GB_SERIES_BAND); folded++) {
      gb_figure f = {0};
      long bytes;
      const int images = kind == GB_SERIES_SCATTER || folded;
      add(&f, (gb_series_kind)kind, 100, folded ? fold : x, y, hi);
      assert_int_equal(saved(&f, "svg", "<image", &bytes), 0);
      add(&f, (gb_series_kind)kind, N, folded ? fold : x, y, hi);
      assert_int_equal(saved(&f, "svg", "<image", &bytes), images);
      assert_in_range(bytes, 10000, 900000);
      assert_in_range(saved(&f, "pdf", "/Image", &bytes), images, 9 * images);
      gb_figure_clear(&f);
    }
  free(x);
  free(y);
  free(hi);
  free(fold);
}

/* Many series share the limit on strokes: forty lines of 2000 points are vectors, like one of 2000. */
static void many_lines_are_vectors (void **state) {
  (void)state;
  enum { N = 2000, LINES = 40 };
  double x[N], y[N];
  long bytes;
  gb_figure f = {0};
  for (int i = 0; i < N; i++) x[i] = i, y[i] = sin(i * 0.37);
  for (int k = 0; k < LINES; k++) add(&f, GB_SERIES_LINE, N, x, y, NULL);
  assert_int_equal(saved(&f, "svg", "<image", &bytes), 0);
  gb_figure_clear(&f);
}

static void thinning_keeps_extremes_gaps_and_order (void **state) {
  (void)state;
  enum { N = 100000, COLUMNS = 50 };
  double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  for (int i = 0; i < N; i++) x[i] = (double)i / N, y[i] = sin(i * 0.37);
  y[7000] = 9, y[7001] = -9;
  for (int i = 50000; i < 50100; i++) y[i] = NAN;
  gb_series s = {.kind = GB_SERIES_LINE, .n = N, .x = x, .y = y}, out;
  assert_true(gb_series_thin(&s, &(gb_range){.lo = 0, .hi = 1}, COLUMNS, &out));
  assert_in_range(out.n, 2 * COLUMNS, 4 * COLUMNS + 5);
  int highest = 0, lowest = 0, gaps = 0;
  for (size_t i = 0; i < out.n; i++) {
    assert_true(i == 0 || out.x[i] > out.x[i - 1]);
    highest += out.y[i] == 9;
    lowest += out.y[i] == -9;
    gaps += isnan(out.y[i]);
  }
  assert_int_equal(highest, 1);
  assert_int_equal(lowest, 1);
  assert_int_equal(gaps, 1);
  assert_true(out.x[0] == x[0] && out.x[out.n - 1] == x[N - 1]);
  gb_series_drop(&out);
  free(x);
  free(y);
}

static size_t covered (const gb_mask *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->height * m->width; i++) n += m->at[i] != 0;
  return n;
}

/* A mark covers as many pixels as its area, in every direction, and none outside. */
static void marks_cover_their_area (void **state) {
  (void)state;
  enum { SIDE = 200 };
  static unsigned char at[SIDE * SIDE];
  gb_mask m = {at, SIDE, SIDE, SIDE};
  for (int k = 0; k < 16; k++) {
    const double angle = k * 0.4 + 0.05;
    memset(at, 0, sizeof at);
    gb_mask_segment(&m, 100.3, 99.8, 100.3 + 80 * cos(angle), 99.8 + 80 * sin(angle), 6);
    assert_true(fabs((double)covered(&m) - 480) <= 24);
  }
  memset(at, 0, sizeof at);
  gb_mask_dot(&m, 100.3, 99.8, 20);
  assert_true(fabs((double)covered(&m) - M_PI * 400) <= 15);
  memset(at, 0, sizeof at);
  gb_mask_dot(&m, -20.5, 100, 20);
  gb_mask_segment(&m, 1e300, 300, -1e300, 300, 6);
  gb_mask_segment(&m, 50, 50, 50, 50, 6);
  assert_int_equal(covered(&m), 0);
  gb_mask_segment(&m, -1e6, 100, 1e6, 100, 4);
  assert_int_equal(covered(&m), 4 * SIDE);
}

/* Row 'row' of the image of a band of n points between 1 and 2. */
static void row_of_band (int n, int row, uint32_t out[600]) {
  double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y),
         *hi = malloc((size_t)n * sizeof *hi);
  for (int i = 0; i < n; i++) x[i] = (double)i / (n - 1), y[i] = 1, hi[i] = 2;
  gb_figure f = {0};
  gb_error err;
  char path[64];
  add(&f, GB_SERIES_BAND, (size_t)n, x, y, hi);
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.png", (int)getpid());
  assert_int_equal(gb_figure_save(&f, path, 300, 200, &err), GB_OK);
  cairo_surface_t *s = cairo_image_surface_create_from_png(path);
  unlink(path);
  assert_int_equal(cairo_image_surface_get_width(s), 600);
  memcpy(out, cairo_image_surface_get_data(s) + row * cairo_image_surface_get_stride(s), 600 * sizeof *out);
  cairo_surface_destroy(s);
  gb_figure_clear(&f);
  free(x);
  free(y);
  free(hi);
}

static void a_band_of_many_points_looks_like_one_of_few (void **state) {
  (void)state;
  uint32_t few[600], many[600];
  row_of_band(2, 170, few);
  row_of_band(20000, 170, many);
  assert_true((few[250] & 0xffffff) != 0xffffff);
  for (int i = 0; i < 600; i++)
    for (int shift = 0; shift < 24; shift += 8)
      assert_true(abs((int)(few[i] >> shift & 255) - (int)(many[i] >> shift & 255)) <= 2);
}

static size_t occurrences (const char *text, const char *word) {
  size_t n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
  return n;
}

/* Two bars of opposite sign from the bottom left to the top right; the names of their heights replace numbers. */
static void bars_begin_at_zero_and_have_names (void **state) {
  (void)state;
  gb_figure f = {0};
  gb_error err;
  add(&f, GB_SERIES_BARS, 3, (double[]){-1, NAN, 3}, (double[]){1, 2, 3}, NULL);
  gb_range x, y;
  gb_figure_ranges(&f, &x, &y);
  assert_true(x.lo < -1 && x.hi > 3 && y.lo < 0.5 && y.lo > 0.2 && y.hi > 3.5 && y.hi < 3.8);
  assert_int_equal(
      gb_figure_set_yticks(&f, 3, (double[]){1, 3, 9}, (const char *[]){"low", "high", "out"}, &err), GB_OK);
  double at;
  char buf[32];
  assert_string_equal(gb_figure_ytick(&f, &y, 1, &at, buf), "high");
  assert_true(at == 3 && gb_figure_ytick(&f, &y, 3, &at, buf) == NULL);
  char *text = gb_figure_text(&f, 91, 35, false);
  assert_non_null(text);
  char *low = strstr(text, "low\u2524"), *high = strstr(text, "high\u2524");
  assert_true(high != NULL && low != NULL && high < low && strstr(text, "out") == NULL);
  /* of 30 rows a bar has 9, of 80 columns the upper one has 58 and the lower one 19 */
  assert_in_range(occurrences(text, "\u2592"), 8 * 57 + 8 * 18, 10 * 59 + 10 * 20);
  assert_in_range(occurrences(low, "\u2592"), 3 * 18, 6 * 20);
  free(text);
  gb_figure_clear(&f);
  gb_figure one = {0};
  add(&one, GB_SERIES_BARS, 1, (double[]){2}, (double[]){7}, NULL);
  gb_figure_ranges(&one, &x, &y);
  assert_true(x.lo < 0 && y.lo < 6.5 && y.hi > 7.5 && y.hi < 8);
  gb_figure_clear(&one);
}

/* Column 'column' of the image of n bars of length 1. */
static void column_of_bars (int n, bool down, int column, uint32_t out[400]) {
  double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
  for (int i = 0; i < n; i++) x[i] = 1, y[i] = down ? n - i : i;
  gb_figure f = {0};
  gb_error err;
  char path[64];
  add(&f, GB_SERIES_BARS, (size_t)n, x, y, NULL);
  free(f.series[0].label);
  f.series[0].label = strdup("");
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.png", (int)getpid());
  assert_int_equal(gb_figure_save(&f, path, 300, 200, &err), GB_OK);
  cairo_surface_t *s = cairo_image_surface_create_from_png(path);
  unlink(path);
  assert_int_equal(cairo_image_surface_get_height(s), 400);
  for (int i = 0; i < 400; i++)
    memcpy(&out[i], cairo_image_surface_get_data(s) + i * cairo_image_surface_get_stride(s) + 4 * column, 4);
  cairo_surface_destroy(s);
  gb_figure_clear(&f);
  free(x);
  free(y);
}

/* Whether bars are thinner than a pixel or not, upwards or downwards, there is no seam between them. */
static void bars_that_touch_are_one_area (void **state) {
  (void)state;
  uint32_t one[400], many[400];
  column_of_bars(1, false, 300, one);
  for (int n = 7; n < 20000; n = n * 13 + 1)
    for (int down = 0; down < 2; down++) {
      column_of_bars(n, down, 300, many);
      for (int i = 0; i < 400; i++) {
        const bool inside = i > 90 && i < 285;
        for (int shift = 0; shift < 24 && inside; shift += 8) {
          assert_true(one[i] == one[150] && one[i] != one[20]);
          assert_true(abs((int)(one[i] >> shift & 255) - (int)(many[i] >> shift & 255)) <= 1);
        }
      }
    }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranges_leave_out_what_is_not_finite),
      cmocka_unit_test(empty_and_constant_series_still_have_a_range),
      cmocka_unit_test(labels_have_the_digits_their_step_needs),
      cmocka_unit_test(a_line_is_drawn_in_dots_with_its_gap),
      cmocka_unit_test(many_points_are_fewer_or_pixels_in_files_of_vectors),
      cmocka_unit_test(many_lines_are_vectors),
      cmocka_unit_test(thinning_keeps_extremes_gaps_and_order),
      cmocka_unit_test(marks_cover_their_area),
      cmocka_unit_test(a_band_of_many_points_looks_like_one_of_few),
      cmocka_unit_test(bars_begin_at_zero_and_have_names),
      cmocka_unit_test(bars_that_touch_are_one_area),
      cmocka_unit_test(files_come_out_whole_and_odd_endings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
