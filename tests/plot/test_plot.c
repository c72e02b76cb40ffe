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

#include "plot/contour.h"
#include "plot/dense.h"
#include "plot/picture/picture.h"
#include "plot/text/terminal.h"
#include "plot/ticks.h"

static gb_figure figure (void) {
  gb_figure f;
  gb_error err;
  assert_int_equal(gb_figure_init(&f, 1, 1, &err), GB_OK);
  return f;
}

static void add_labelled (gb_figure *f, gb_mark_kind kind, size_t n, size_t rows, const double *x,
                          const double *y, const double *hi, char *label) {
  gb_error err;
  const gb_mark m = {.kind = kind,
                     .n = n,
                     .rows = rows,
                     .x = (double *)(uintptr_t)x,
                     .y = (double *)(uintptr_t)y,
                     .hi = (double *)(uintptr_t)hi,
                     .extent = 1,
                     .low = NAN,
                     .high = NAN,
                     .label = label,
                     .style = GB_STYLE_BY_ORDER};
  assert_int_equal(gb_panel_add(&f->panels[0], &m, &err), GB_OK);
}

static void add (gb_figure *f, gb_mark_kind kind, size_t n, const double *x, const double *y,
                 const double *hi) {
  char label[] = "s";
  add_labelled(f, kind, n, 0, x, y, hi, label);
}

static void ranges_leave_out_what_is_not_finite (void **state) {
  (void)state;
  gb_figure f = figure();
  add(&f, GB_MARK_LINE, 4, (double[]){0, 1, 2, 3}, (double[]){NAN, 10, INFINITY, 20}, NULL);
  gb_scale x, y;
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(y.lo < 10 && y.lo > 9 && y.hi > 20 && y.hi < 21);
  gb_figure_clear(&f);
}

static void empty_and_constant_series_still_have_a_range (void **state) {
  (void)state;
  gb_figure f = figure();
  gb_scale x, y;
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(x.lo < x.hi && y.lo < y.hi);
  add(&f, GB_MARK_SCATTER, 2, (double[]){5, 5}, (double[]){0, 0}, NULL);
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(x.lo < 5 && x.hi > 5 && y.lo < 0 && y.hi > 0);
  gb_figure_clear(&f);
}

static double length_of (void *ud, const char *text) {
  (void)ud;
  return (double)strlen(text);
}

/* Ticks of an axis 'length' characters long. */
static gb_ticks ticks_of (gb_scale s, double length) {
  const gb_axis a = {.lo = NAN, .hi = NAN};
  const gb_ruler r = {
      .length = length, .gap = 1, .before = 4, .after = 4, .most = 9, .ascii = true, .extent = length_of};
  gb_ticks t;
  gb_ticks_fit(&a, &s, &r, &t);
  return t;
}

/* The number that a label stands for, with the power and the offset of the note. */
static double value_of (const gb_ticks *t, size_t i) {
  const char *at = t->note;
  double power = 1, offset = 0;
  if (*at == 'x') power = strtod(at + 1, (char **)(uintptr_t)&at);
  while (*at == ' ') at++;
  if (*at == '+' || *at == '-') offset = (*at == '-' ? -1 : 1) * strtod(at + 1, NULL);
  return strtod(gb_tick_label(&t->tick[i]), NULL) * power + offset;
}

/* Ranges of every size and place: each label is the value of its tick, no two are the same or touch, and where there is room
** there are two at least. */
static void labels_say_where_their_ticks_stand (void **state) {
  (void)state;
  static const double lo[] = {0, 1, -1, 0.1, 1e6, -1e6, 1e-9, 299.5, 1e15, -3e300, 12345.678, 2e-300},
                      span[] = {1, 4, 0.3, 1e-6, 1e6, 7e-9, 12, 1e3, 3e15, 6e300, 0.25, 5e-300};
  for (size_t i = 0; i < sizeof lo / sizeof lo[0]; i++)
    for (size_t k = 0; k < sizeof span / sizeof span[0]; k++)
      for (double length = 10; length < 200; length *= 1.3) {
        const gb_scale s = {lo[i], lo[i] + span[k], false};
        if (!(s.hi - s.lo > 1e-13 * fmax(fabs(s.lo), fabs(s.hi)))) continue;
        const gb_ticks t = ticks_of(s, length);
        assert_true(t.n >= (length > 30 ? 2u : 0u));
        for (size_t q = 0; q < t.n; q++) {
          assert_true(t.tick[q].at >= s.lo - 1e-9 * span[k] && t.tick[q].at <= s.hi + 1e-9 * span[k]);
          assert_true(fabs(value_of(&t, q) - t.tick[q].at) <= 1e-9 * (s.hi - s.lo) + 1e-15 * fabs(s.lo));
          if (q == 0) continue;
          const double apart = gb_scale_at(&s, t.tick[q].at) - gb_scale_at(&s, t.tick[q - 1].at);
          const double both =
              (double)(strlen(gb_tick_label(&t.tick[q])) + strlen(gb_tick_label(&t.tick[q - 1])));
          assert_true(apart * length >= both / 2 + 1 - 1e-9);
          assert_string_not_equal(gb_tick_label(&t.tick[q]), gb_tick_label(&t.tick[q - 1]));
        }
      }
}

static void labels_have_the_digits_they_need (void **state) {
  (void)state;
  gb_ticks t = ticks_of((gb_scale){0, 1, false}, 60);
  assert_string_equal(gb_tick_label(&t.tick[1]), "0.2");
  assert_string_equal(t.note, "");
  t = ticks_of((gb_scale){1e6 + 1e-6, 1e6 + 5e-6, false}, 60);
  assert_string_equal(gb_tick_label(&t.tick[0]), "1.0");
  assert_string_equal(t.note, "x1e-6 + 1000000");
  t = ticks_of((gb_scale){0, 5e7, false}, 60);
  assert_string_equal(gb_tick_label(&t.tick[t.n - 1]), "5");
  assert_string_equal(t.note, "x1e7");
}

static void logarithmic_ticks_are_decades_that_fit (void **state) {
  (void)state;
  for (int decades = 1; decades < 300; decades = decades * 3 / 2 + 1)
    for (double length = 20; length < 160; length *= 1.5) {
      const gb_scale s = {1e-9, 1e-9 * pow(10, decades), true};
      const gb_ticks t = ticks_of(s, length);
      assert_true(t.n >= 2 || length < 30);
      for (size_t q = 0; q < t.n; q++) assert_true(fabs(value_of(&t, q) / t.tick[q].at - 1) < 1e-9);
    }
  const gb_ticks plain = ticks_of((gb_scale){0.09, 1100, true}, 60);
  assert_int_equal(plain.n, 5);
  assert_string_equal(gb_tick_label(&plain.tick[0]), "0.1");
  assert_string_equal(gb_tick_label(&plain.tick[4]), "1000");
  assert_true(plain.nminor > 30);
  assert_true(isnan(gb_scale_at(&(gb_scale){1, 10, true}, -1)) &&
              isnan(gb_scale_at(&(gb_scale){1, 10, true}, 0)));
}

static void values_that_a_log_axis_cannot_show_are_counted (void **state) {
  (void)state;
  gb_figure f = figure();
  gb_scale x, y;
  f.panels[0].y.log = true;
  add(&f, GB_MARK_LINE, 5, (double[]){0, 1, 2, 3, 4}, (double[]){-1, 0, NAN, 10, 1000}, NULL);
  assert_int_equal(gb_panel_hidden(&f.panels[0]), 2);
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(y.lo > 5 && y.lo <= 10 && y.hi >= 1000 && y.hi < 2000);
  char *text = gb_figure_text(&f, 70, 20, false, true);
  assert_non_null(strstr(text, "2 values <= 0 not on the log axis"));
  free(text);
  gb_figure_clear(&f);
}

static void limits_win_and_shared_axes_are_one (void **state) {
  (void)state;
  gb_figure f;
  gb_error err;
  gb_scale x, y, x2, y2;
  assert_int_equal(gb_figure_init(&f, 2, 1, &err), GB_OK);
  f.share_x = true;
  add(&f, GB_MARK_LINE, 2, (double[]){0, 3}, (double[]){5, 6}, NULL);
  f.panels[1].y.lo = -7;
  gb_panel_scales(&f, 0, &x, &y);
  gb_panel_scales(&f, 1, &x2, &y2);
  assert_true(x.lo == x2.lo && x.hi == x2.hi && x.lo < 0 && x.hi > 3);
  assert_true(y.lo > 4.9 && y2.lo == -7 && y2.hi > -7);
  f.panels[0].x.lo = 0.25, f.panels[0].x.hi = 0.5;
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(x.lo == 0.25 && x.hi == 0.5);
  gb_figure_clear(&f);
}

static void colours_and_dashes_follow_the_order (void **state) {
  (void)state;
  gb_figure f = figure();
  const gb_panel *p = &f.panels[0];
  const double v[] = {0, 1};
  for (int i = 0; i < 10; i++) add(&f, GB_MARK_LINE, 2, v, v, NULL);
  assert_int_equal(gb_mark_colour(p, 1), 1);
  assert_int_equal(gb_mark_dash(p, 7), GB_DASH_SOLID);
  assert_int_equal(gb_mark_colour(p, 8), 0);
  assert_int_equal(gb_mark_dash(p, 8), GB_DASH_DASHED);
  gb_figure_clear(&f);
  f = figure();
  p = &f.panels[0];
  for (int i = 0; i < 2; i++) add(&f, GB_MARK_BAND, 2, v, v, v);
  add(&f, GB_MARK_LINE, 2, v, v, NULL);
  add(&f, GB_MARK_BAND, 2, v, v, v);
  assert_true(gb_mark_colour(p, 0) == 0 && gb_mark_colour(p, 1) == 0 && gb_mark_colour(p, 2) == 0);
  assert_true(gb_mark_alpha(p, 1) > gb_mark_alpha(p, 0) + 0.1);
  assert_true(gb_mark_colour(p, 3) == 1 && gb_mark_alpha(p, 3) == gb_mark_alpha(p, 0));
  gb_figure_clear(&f);
}

/* The circle x^2 + y^2 = 4 on a grid; a saddle has two pieces; NaN has none. */
static void contours_lie_where_the_value_is (void **state) {
  (void)state;
  enum { N = 41 };
  static double v[N * N];
  gb_contour c;
  gb_error err;
  for (int r = 0; r < N; r++)
    for (int q = 0; q < N; q++) v[r * N + q] = hypot((q - 20) * 0.25, (r - 20) * 0.25);
  assert_int_equal(gb_contour_make(v, N, N, (double[]){-5, 5}, (double[]){-5, 5}, 2, &c, &err), GB_OK);
  assert_true(c.n > 90);
  double length = 0;
  for (size_t i = 0; i + 2 < c.n + 1; i += 3) {
    assert_true(fabs(hypot(c.x[i], c.y[i]) - 2) < 0.02 && isnan(c.x[i + 2]));
    length += hypot(c.x[i] - c.x[i + 1], c.y[i] - c.y[i + 1]);
  }
  assert_true(fabs(length - 4 * M_PI) < 0.1);
  gb_contour_clear(&c);
  const double saddle[] = {1, 0, 0, 1}, hole[] = {1, 0, NAN, 1}, at[] = {0, 1};
  assert_int_equal(gb_contour_make(saddle, 2, 2, at, at, 0.4, &c, &err), GB_OK);
  assert_int_equal(c.n, 6);
  assert_true(fabs(c.x[0]) + fabs(c.y[0] - 0.6) < 1e-9 && fabs(c.x[3] - 0.6) + fabs(c.y[3]) < 1e-9);
  gb_contour_clear(&c);
  assert_int_equal(gb_contour_make(saddle, 2, 2, at, at, 0.6, &c, &err), GB_OK);
  assert_true(c.n == 6 && fabs(c.x[0] + c.y[0] - 0.4) < 1e-9 && fabs(c.x[1] + c.y[1] - 0.4) < 1e-9);
  gb_contour_clear(&c);
  assert_int_equal(gb_contour_make(hole, 2, 2, at, at, 0.4, &c, &err), GB_OK);
  assert_int_equal(c.n, 0);
  gb_contour_clear(&c);
}

/* The column of the first character of 'word' in its line; -1: it is not there. */
static int column_in (const char *line, const char *word) {
  const char *at = strstr(line, word), *end = strchr(line, '\n');
  return at == NULL || (end != NULL && at > end) ? -1 : (int)(at - line);
}

/* At every width, the middle of each label of the lower axis is the column of its tick; no line is longer. */
static void labels_stand_at_their_ticks_in_a_terminal (void **state) {
  (void)state;
  gb_figure f = figure();
  add(&f, GB_MARK_LINE, 2, (double[]){1, 5}, (double[]){1, 5}, NULL);
  for (int columns = 20; columns <= 200; columns++) {
    char *text = gb_figure_text(&f, columns, 12, false, true);
    char *axis = strstr(text, "+-");
    assert_non_null(axis);
    while (axis > text && axis[-1] != '\n') axis--;
    const char *labels = strchr(axis, '\n') + 1;
    int ticks = 0, named = 0, corner = column_in(axis, "+");
    for (int i = corner + 1; axis[i] != '\n'; i++) ticks += axis[i] == '+';
    for (const char *at = labels; *at != '\n';) {
      if (*at == ' ') {
        at++;
        continue;
      }
      const size_t n = strcspn(at, " \n");
      assert_int_equal(axis[at - labels + ((int)n - 1) / 2], '+');
      at += n;
      named++;
    }
    assert_int_equal(ticks, named);
    assert_true(ticks >= 2);
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
      assert_true(strcspn(line, "\n") <= (size_t)columns);
    free(text);
  }
  gb_figure_clear(&f);
}

/* Panels with everything around them, in a terminal that is too small for them: panels come below each other. */
static void many_panels_fit_any_terminal (void **state) {
  (void)state;
  const double v[] = {1, 2, 3};
  for (size_t rows = 1; rows <= 8; rows += 7)
    for (size_t columns = 1; columns <= 8; columns++) {
      gb_figure f;
      gb_error err;
      assert_int_equal(gb_figure_init(&f, rows, columns, &err), GB_OK);
      for (size_t k = 0; k < rows * columns; k++) {
        gb_panel *p = &f.panels[k];
        assert_int_equal(gb_figure_set_text(&p->title, "title", &err), GB_OK);
        assert_int_equal(gb_figure_set_text(&p->x.label, "x", &err), GB_OK);
        p->x.log = true;
        for (int kind = 0; kind < GB_NMARK_KINDS; kind++) {
          const gb_mark m = {.kind = (gb_mark_kind)kind,
                             .n = 3,
                             .rows = 1,
                             .x = (double *)(uintptr_t)v,
                             .hi = (double *)(uintptr_t)v,
                             .y = (double *)(uintptr_t)v,
                             .extent = 1,
                             .label = (char[]){"a label"},
                             .style = GB_STYLE_BY_ORDER};
          assert_int_equal(gb_panel_add(p, &m, &err), GB_OK);
        }
      }
      for (int width = 20; width < 200; width += 30) {
        char *text = gb_figure_text(&f, width, 8, true, false);
        assert_non_null(text);
        const size_t across = (size_t)width / columns < 16 ? 1 : columns;
        size_t lines = 0, titles = 0;
        for (const char *c = text; *c != '\0'; c++) lines += *c == '\n';
        for (const char *c = text; (c = strstr(c, "title")) != NULL; c++) titles++;
        assert_int_equal(lines, 8 * rows * columns / across);
        assert_int_equal(titles, rows * columns);
        free(text);
      }
      gb_figure_clear(&f);
    }
}

/* A band has its colour beside the line in it, whose cells keep theirs, and in the legend. */
static void bands_have_their_colour_in_text (void **state) {
  (void)state;
  gb_figure f = figure();
  gb_error err;
  const double x[] = {0, 4}, low[] = {0, 0}, high[] = {4, 4}, middle[] = {2, 2};
  gb_mark band = {.kind = GB_MARK_BAND,
                  .n = 2,
                  .x = (double *)(uintptr_t)x,
                  .y = (double *)(uintptr_t)low,
                  .hi = (double *)(uintptr_t)high,
                  .label = (char[]){"area"},
                  .style = GB_STYLE_BY_ORDER};
  gb_mark line = {.kind = GB_MARK_LINE,
                  .n = 2,
                  .x = (double *)(uintptr_t)x,
                  .y = (double *)(uintptr_t)middle,
                  .label = (char[]){""},
                  .style = GB_STYLE_BY_ORDER};
  band.style.colour = 2, line.style.colour = 4;
  assert_int_equal(gb_panel_add(&f.panels[0], &line, &err), GB_OK);
  assert_int_equal(gb_panel_add(&f.panels[0], &band, &err), GB_OK);
  char *text = gb_figure_text(&f, 40, 16, true, true);
  assert_non_null(strstr(text, "\033[32m::::"));
  assert_non_null(strstr(text, "\033[32m:\033[0m area"));
  const char *crossed = strstr(text, "\033[31m");
  assert_non_null(crossed);
  assert_true(strcspn(crossed + 5, "\033\n") > 20); /* not its ends alone, which the band does not reach */
  free(text);
  gb_figure_clear(&f);
}

/* Any figure at any size keeps to it, with as many lines as asked for. */
static void text_keeps_to_its_size (void **state) {
  (void)state;
  gb_figure f = figure();
  gb_error err;
  assert_int_equal(
      gb_figure_set_text(&f.panels[0].title, "a title that is longer than a narrow terminal is wide", &err),
      GB_OK);
  assert_int_equal(gb_figure_set_text(&f.panels[0].y.label, "level", &err), GB_OK);
  add(&f, GB_MARK_LINE, 2, (double[]){1e6, 1e6 + 1e-6}, (double[]){-1e-300, 1e300}, NULL);
  for (int columns = 20; columns <= 200; columns += 7)
    for (int rows = 8; rows <= 40; rows += 4) {
      char *text = gb_figure_text(&f, columns, rows, false, true);
      int lines = 0;
      for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1, lines++)
        assert_true(strcspn(line, "\n") <= (size_t)columns);
      assert_int_equal(lines, rows);
      for (const char *c = text; *c != '\0'; c++) assert_true((unsigned char)*c < 0x80);
      free(text);
    }
  gb_figure_clear(&f);
}

static void a_line_is_drawn_in_dots_with_its_gap (void **state) {
  (void)state;
  gb_figure f = figure();
  add(&f, GB_MARK_LINE, 5, (double[]){0, 1, 2, 3, 4}, (double[]){0, 1, NAN, 3, 4}, NULL);
  char *text = gb_figure_text(&f, 60, 20, false, false);
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
  gb_figure f = figure();
  gb_error err;
  const double x[] = {0, 1, 2}, lo[] = {0, NAN, 1}, hi[] = {1, 2, 3};
  add(&f, GB_MARK_BAND, 3, x, lo, hi);
  add_labelled(&f, GB_MARK_HEATMAP, 3, 1, (double[]){0, 2}, (double[]){0, 0}, hi, NULL);
  for (int i = 0; i < 3; i++) {
    char path[64], lead[8] = "";
    snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.%s", (int)getpid(), kind[i].end);
    assert_int_equal(gb_figure_save(&f, path, 300, 200, "", &err), GB_OK);
    FILE *in = fopen(path, "rb");
    assert_int_equal(fread(lead, 1, 7, in), 7);
    fclose(in);
    unlink(path);
    assert_memory_equal(lead, kind[i].lead, strlen(kind[i].lead));
  }
  assert_int_equal(gb_figure_save(&f, "figure.xyz", 300, 200, "", &err), GB_EOPTION);
  assert_int_equal(gb_figure_save(&f, "/no/such/folder/f.svg", 300, 200, "", &err), GB_EIO);
  gb_figure_clear(&f);
}

/* Saves a figure: how often 'word' is in the file, and its length. */
static int saved (gb_figure *f, const char *end, const char *word, long *bytes) {
  char path[64];
  gb_error err;
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.%s", (int)getpid(), end);
  assert_int_equal(gb_figure_save(f, path, 300, 200, "", &err), GB_OK);
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
  for (int kind = GB_MARK_LINE; kind <= GB_MARK_BAND; kind++)
    for (int folded = 0; folded <= (kind != GB_MARK_BAND); folded++) {
      gb_figure f = figure();
      long bytes;
      const int images = kind == GB_MARK_SCATTER || folded;
      add(&f, (gb_mark_kind)kind, 100, folded ? fold : x, y, hi);
      assert_int_equal(saved(&f, "svg", "<image", &bytes), 0);
      add(&f, (gb_mark_kind)kind, N, folded ? fold : x, y, hi);
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

/* Many series share the limit on strokes: forty lines of 1400 points are vectors, like one of 1400. */
static void many_lines_are_vectors (void **state) {
  (void)state;
  enum { N = 1400, LINES = 40 };
  double x[N], y[N];
  long bytes;
  gb_figure f = figure();
  for (int i = 0; i < N; i++) x[i] = i, y[i] = sin(i * 0.37);
  for (int k = 0; k < LINES; k++) add(&f, GB_MARK_LINE, N, x, y, NULL);
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
  gb_mark s = {.kind = GB_MARK_LINE, .n = N, .x = x, .y = y}, out;
  assert_true(gb_mark_thin(&s, &(gb_scale){.lo = 0, .hi = 1}, COLUMNS, &out));
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
  gb_mark_drop(&out);
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
  gb_mask m = {at, SIDE, SIDE, SIDE, 255};
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
  gb_figure f = figure();
  gb_error err;
  char path[64];
  add(&f, GB_MARK_BAND, (size_t)n, x, y, hi);
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.png", (int)getpid());
  assert_int_equal(gb_figure_save(&f, path, 300, 200, "", &err), GB_OK);
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
  gb_figure f = figure();
  gb_error err;
  add(&f, GB_MARK_BARS, 3, (double[]){-1, NAN, 3}, (double[]){1, 2, 3}, NULL);
  gb_scale x, y;
  gb_panel_scales(&f, 0, &x, &y);
  assert_true(x.lo < -1 && x.hi > 3 && y.lo < 0.5 && y.lo > 0.2 && y.hi > 3.5 && y.hi < 3.8);
  assert_int_equal(
      gb_axis_set_ticks(&f.panels[0].y, 3, (double[]){1, 3, 9}, (const char *[]){"low", "high", "out"}, &err),
      GB_OK);
  char *text = gb_figure_text(&f, 87, 33, false, false);
  assert_non_null(text);
  char *low = strstr(text, "low\u2524"), *high = strstr(text, "high\u2524");
  assert_true(high != NULL && low != NULL && high < low && strstr(text, "out") == NULL);
  /* of 30 rows a bar has 9, of 80 columns the upper one has 58 and the lower one 19 */
  assert_in_range(occurrences(text, "\u2592"), 8 * 57 + 8 * 18, 10 * 59 + 10 * 20);
  assert_in_range(occurrences(low, "\u2592"), 3 * 18, 6 * 20);
  free(text);
  gb_figure_clear(&f);
  gb_figure one = figure();
  add(&one, GB_MARK_BARS, 1, (double[]){2}, (double[]){7}, NULL);
  gb_panel_scales(&one, 0, &x, &y);
  assert_true(x.lo == 0 && y.lo < 6.5 && y.hi > 7.5 && y.hi < 8);
  gb_figure_clear(&one);
}

/* Column 'column' of the image of n bars of length 1. */
static void column_of_bars (int n, bool down, int column, uint32_t out[400]) {
  double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
  for (int i = 0; i < n; i++) x[i] = 1, y[i] = down ? n - i : i;
  gb_figure f = figure();
  gb_error err;
  char path[64];
  add_labelled(&f, GB_MARK_BARS, (size_t)n, 0, x, y, NULL, NULL);
  snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.png", (int)getpid());
  assert_int_equal(gb_figure_save(&f, path, 300, 200, "", &err), GB_OK);
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
      cmocka_unit_test(labels_say_where_their_ticks_stand),
      cmocka_unit_test(labels_have_the_digits_they_need),
      cmocka_unit_test(logarithmic_ticks_are_decades_that_fit),
      cmocka_unit_test(values_that_a_log_axis_cannot_show_are_counted),
      cmocka_unit_test(limits_win_and_shared_axes_are_one),
      cmocka_unit_test(colours_and_dashes_follow_the_order),
      cmocka_unit_test(contours_lie_where_the_value_is),
      cmocka_unit_test(labels_stand_at_their_ticks_in_a_terminal),
      cmocka_unit_test(text_keeps_to_its_size),
      cmocka_unit_test(many_panels_fit_any_terminal),
      cmocka_unit_test(a_line_is_drawn_in_dots_with_its_gap),
      cmocka_unit_test(many_points_are_fewer_or_pixels_in_files_of_vectors),
      cmocka_unit_test(many_lines_are_vectors),
      cmocka_unit_test(thinning_keeps_extremes_gaps_and_order),
      cmocka_unit_test(marks_cover_their_area),
      cmocka_unit_test(bands_have_their_colour_in_text),
      cmocka_unit_test(a_band_of_many_points_looks_like_one_of_few),
      cmocka_unit_test(bars_begin_at_zero_and_have_names),
      cmocka_unit_test(bars_that_touch_are_one_area),
      cmocka_unit_test(files_come_out_whole_and_odd_endings_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
