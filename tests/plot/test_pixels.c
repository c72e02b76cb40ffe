/* test_pixels.c - pictures as pixels: strips, PNG, opacity, Ctrl-C. */
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

#include "base/interrupt.h"
#include "plot/dense.h"
#include "plot/picture/draw.h"
#include "plot/picture/picture.h"
#include "plot/picture/png.h"

/* Two dots of opacity a leave 1 - (1 - a)^2. */
static void faint_dots_add_up (void **state) {
  (void)state;
  unsigned char at[25] = {0};
  gb_mask m = {at, 5, 5, 5, 51};
  gb_mask_dot(&m, 2.5, 2.5, 1);
  assert_int_equal(at[12], 51);
  gb_mask_dot(&m, 2.5, 2.5, 1);
  assert_in_range(at[12], 91, 93);
  assert_int_equal(at[0], 0);
}

typedef struct pixels {
  uint32_t *at;
  int width, rows, most; /* rows so far; Ctrl-C after 'most' */
} pixels;

static bool take_pixels (void *ud, const uint32_t *row) {
  pixels *p = ud;
  memcpy(p->at + (size_t)p->rows++ * (size_t)p->width, row, (size_t)p->width * sizeof *row);
  if (p->rows == p->most) gb_interrupt_raise();
  return true;
}

/* Lines, dots and areas of few and of many points, in two panels. */
static gb_figure crowded (void) {
  enum { N = 30000 };
  double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *hi = malloc(N * sizeof *hi);
  for (int i = 0; i < N; i++) x[i] = cos(i * 0.7), y[i] = sin(i * 1.1), hi[i] = y[i] + 0.1;
  gb_figure f;
  gb_error err;
  assert_int_equal(gb_figure_init(&f, 2, 1, &err), GB_OK);
  for (int k = 0; k < 2; k++)
    for (int kind = GB_MARK_LINE; kind <= GB_MARK_ERRORS; kind++) {
      if (kind == GB_MARK_HEATMAP) continue;
      const gb_mark m = {.kind = (gb_mark_kind)kind,
                         .n = k == 0 ? 40 : N,
                         .x = x,
                         .y = y,
                         .hi = hi,
                         .extent = 0.01,
                         .label = "m",
                         .style = GB_STYLE_BY_ORDER};
      assert_int_equal(gb_panel_add(&f.panels[k], &m, &err), GB_OK);
    }
  free(x);
  free(y);
  free(hi);
  return f;
}

/* A picture that is drawn in strips is the one drawn at once, but for the rims of strokes: which of them are one path
** depends on the strip. */
static void strips_join (void **state) {
  (void)state;
  enum { W = 1500, H = 2200, FINE = 2 };
  gb_figure f = crowded();
  pixels p = {.at = malloc((size_t)W * H * 4), .width = W};
  assert_true(gb_draw_pixels(&f, W, H, FINE, take_pixels, &p));
  assert_int_equal(p.rows, H);
  cairo_surface_t *whole = cairo_image_surface_create(CAIRO_FORMAT_RGB24, W, H);
  gb_page page = {.cr = cairo_create(whole)};
  cairo_scale(page.cr, FINE, FINE);
  assert_true(gb_draw_figure(&page, &f, (double)W / FINE, (double)H / FINE));
  cairo_destroy(page.cr);
  cairo_surface_flush(whole);
  size_t differ = 0, much = 0;
  for (int r = 0; r < H; r++) {
    const uint32_t *row =
        (const void *)(cairo_image_surface_get_data(whole) + r * cairo_image_surface_get_stride(whole));
    for (int i = 0; i < W; i++)
      for (int k = 0; k < 24; k += 8) {
        const int by = abs((int)(row[i] >> k & 255) - (int)(p.at[(size_t)r * W + (size_t)i] >> k & 255));
        differ += by > 3, much += by > 40;
      }
  }
  assert_in_range(differ, 0, W * H / 1000);
  assert_int_equal(much, 0);
  cairo_surface_destroy(whole);
  free(p.at);
  gb_figure_clear(&f);
}

static void ctrl_c_leaves_no_file (void **state) {
  (void)state;
  enum { W = 300, H = 200 };
  static const char *const ends[] = {"svg", "png", "pdf"};
  gb_figure f = crowded();
  gb_error err;
  pixels p = {.at = malloc((size_t)W * H * 4), .width = W, .most = 50};
  assert_false(gb_draw_pixels(&f, W, H, 1, take_pixels, &p));
  assert_int_equal(p.rows, 50);
  for (int i = 0; i < 3; i++) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.%s", (int)getpid(), ends[i]);
    assert_int_equal(gb_figure_save(&f, path, 300, 200, "", &err), GB_EINTR);
    assert_int_equal(access(path, F_OK), -1);
  }
  gb_interrupt_clear();
  free(p.at);
  gb_figure_clear(&f);
}

static bool put_bytes (void *ud, const void *p, size_t n) { return fwrite(p, 1, n, ud) == n; }

/* What is written is what is read, with opacity and without. */
static void pngs_hold_their_pixels (void **state) {
  (void)state;
  enum { W = 37, H = 9 };
  uint32_t rows[H][W];
  for (int alpha = 0; alpha <= 1; alpha++) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/gibbous-plot-%d.png", (int)getpid());
    FILE *out = fopen(path, "wb");
    gb_png png;
    assert_true(gb_png_open(&png, W, H, alpha, "made \"so\"", put_bytes, out));
    for (uint32_t r = 0; r < H; r++) {
      for (uint32_t i = 0; i < W; i++)
        rows[r][i] = 0xff000000u | (i * r * 9 & 255) << 16 | (i * 7) << 8 | r % 3 * 100;
      if (alpha) rows[r][3] = 0, rows[r][4] = 0x80402010;
      assert_true(gb_png_row(&png, rows[r]));
    }
    assert_true(gb_png_finish(&png));
    fclose(out);
    cairo_surface_t *in = cairo_image_surface_create_from_png(path);
    unlink(path);
    assert_int_equal(cairo_surface_status(in), CAIRO_STATUS_SUCCESS);
    assert_int_equal(cairo_image_surface_get_height(in), H);
    for (int r = 0; r < H; r++) {
      const uint32_t *row =
          (const void *)(cairo_image_surface_get_data(in) + r * cairo_image_surface_get_stride(in));
      for (int i = 0; i < W; i++) assert_int_equal(row[i] | (alpha ? 0 : 0xff000000u), rows[r][i]);
    }
    cairo_surface_destroy(in);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faint_dots_add_up),
      cmocka_unit_test(strips_join),
      cmocka_unit_test(ctrl_c_leaves_no_file),
      cmocka_unit_test(pngs_hold_their_pixels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
