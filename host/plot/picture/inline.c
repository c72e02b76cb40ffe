/* inline.c - figures as bytes that a terminal shows: kitty's graphics protocol, and sixels. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "plot/picture/draw.h"
#include "plot/picture/picture.h"

enum { POINTS_WIDE = 720 }; /* a picture has its usual proportions of text, whatever its pixels */

static cairo_surface_t *pixels_of (const gb_figure *f, int width, int height) {
  cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  gb_page page = {.cr = cairo_create(s)};
  const double scale = width / (double)POINTS_WIDE;
  cairo_scale(page.cr, scale, scale);
  const bool drawn = gb_draw_figure(&page, f, width / scale, height / scale) &&
                     cairo_status(page.cr) == CAIRO_STATUS_SUCCESS;
  cairo_destroy(page.cr);
  if (drawn) return s;
  cairo_surface_destroy(s);
  return NULL;
}

/* -- kitty: a PNG in base64, in pieces of 4096 characters */

static cairo_status_t to_memory (void *ud, const unsigned char *p, unsigned n) {
  return fwrite(p, 1, n, ud) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void put_base64 (FILE *out, const unsigned char *p, size_t n) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    const unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                       (i + 2 < n ? p[i + 2] : 0);
    fputc(digit[v >> 18], out);
    fputc(digit[v >> 12 & 63], out);
    fputc(i + 1 < n ? digit[v >> 6 & 63] : '=', out);
    fputc(i + 2 < n ? digit[v & 63] : '=', out);
  }
}

static bool write_kitty (FILE *out, cairo_surface_t *s) {
  enum { PIECE = 3072 };
  char *png = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&png, &length);
  if (memory == NULL) return false;
  const bool whole = cairo_surface_write_to_png_stream(s, to_memory, memory) == CAIRO_STATUS_SUCCESS;
  if (fclose(memory) != 0 || !whole) {
    free(png);
    return false;
  }
  for (size_t at = 0; at < length; at += PIECE) {
    const size_t n = length - at < PIECE ? length - at : PIECE;
    fprintf(out, "\033_G%sm=%d;", at == 0 ? "f=100,a=T,q=2," : "", at + n < length);
    put_base64(out, (const unsigned char *)png + at, n);
    fputs("\033\\", out);
  }
  fputc('\n', out);
  free(png);
  return true;
}

/* -- sixels: six rows at a time, a colour at a time, of a cube of 6 x 6 x 6 colours */

enum { LEVELS = 6, COLOURS = LEVELS * LEVELS * LEVELS, BAND = 6 };

static int colour_of (uint32_t rgb) {
  const unsigned r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;
  return (int)(((r * 5 + 127) / 255 * LEVELS + (g * 5 + 127) / 255) * LEVELS + (b * 5 + 127) / 255);
}

static void put_run (FILE *out, int bits, int n) {
  if (n > 3) fprintf(out, "!%d%c", n, 63 + bits);
  else
    while (n-- > 0) fputc(63 + bits, out);
}

/* The rows of 'band' as indices; then each colour that is there. */
static void put_band (FILE *out, const unsigned char *index, int width, int rows, const bool *there) {
  for (int k = 0; k < COLOURS; k++) {
    if (!there[k]) continue;
    int last = -1, run = 0;
    fprintf(out, "#%d", k);
    for (int x = 0; x < width; x++) {
      int bits = 0;
      for (int r = 0; r < rows; r++) bits |= (index[r * width + x] == k) << r;
      if (bits != last && run > 0) put_run(out, last, run);
      run = bits == last ? run + 1 : 1;
      last = bits;
    }
    if (last > 0) put_run(out, last, run);
    fputc('$', out);
  }
  fputc('-', out);
}

static bool write_sixel (FILE *out, cairo_surface_t *s) {
  const int width = cairo_image_surface_get_width(s), height = cairo_image_surface_get_height(s),
            stride = cairo_image_surface_get_stride(s);
  const unsigned char *data = cairo_image_surface_get_data(s);
  unsigned char *index = malloc((size_t)width * BAND);
  if (index == NULL) return false;
  fprintf(out, "\033Pq\"1;1;%d;%d", width, height);
  for (int k = 0; k < COLOURS; k++)
    fprintf(out, "#%d;2;%d;%d;%d", k, k / LEVELS / LEVELS * 20, k / LEVELS % LEVELS * 20, k % LEVELS * 20);
  for (int top = 0; top < height && !gb_interrupted(); top += BAND) {
    const int rows = height - top < BAND ? height - top : BAND;
    bool there[COLOURS] = {false};
    for (int r = 0; r < rows; r++)
      for (int x = 0; x < width; x++) {
        uint32_t rgb;
        memcpy(&rgb, data + (size_t)(top + r) * (size_t)stride + 4 * (size_t)x, sizeof rgb);
        const int k = colour_of(rgb);
        index[r * width + x] = (unsigned char)k;
        there[k] = true;
      }
    put_band(out, index, width, rows, there);
  }
  fputs("\033\\\n", out);
  free(index);
  return true;
}

gb_status gb_figure_inline (const gb_figure *f, gb_graphics how, int width, int height, char **bytes,
                            size_t *length, gb_error *err) {
  cairo_surface_t *s = pixels_of(f, width, height);
  *bytes = NULL;
  FILE *out = s == NULL ? NULL : open_memstream(bytes, length);
  bool good = out != NULL && (how == GB_GRAPHICS_KITTY ? write_kitty(out, s) : write_sixel(out, s));
  if (out != NULL && fclose(out) != 0) good = false;
  if (s != NULL) cairo_surface_destroy(s);
  if (good && !gb_interrupted()) return GB_OK;
  free(*bytes);
  *bytes = NULL;
  return good ? gb_fail(err, GB_EINTR, "interrupted")
              : gb_fail(err, GB_ENOMEM, "no memory to draw the figure");
}
