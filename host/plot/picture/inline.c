/* inline.c - figures as bytes that a terminal shows: kitty's graphics protocol, and sixels. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "plot/picture/draw.h"
#include "plot/picture/picture.h"
#include "plot/picture/png.h"

/* A picture has its usual proportions of text, whatever its pixels. */
static double scale_of (int width) { return width / 720.0; }

/* -- kitty: a PNG in base64, in pieces of 4096 characters */

static bool to_memory (void *ud, const void *p, size_t n) { return fwrite(p, 1, n, ud) == n; }

static bool take_row (void *ud, const uint32_t *pixels) { return gb_png_row(ud, pixels); }

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

/* The whole picture as a PNG, malloc'ed. */
static bool make_png (const gb_figure *f, int width, int height, char **bytes, size_t *length) {
  FILE *memory = open_memstream(bytes, length);
  gb_png png;
  if (memory == NULL) return false;
  bool good = gb_png_open(&png, (size_t)width, (size_t)height, false, "", to_memory, memory) &&
              gb_draw_pixels(f, width, height, scale_of(width), take_row, &png);
  good = good && gb_png_finish(&png);
  gb_png_close(&png);
  return fclose(memory) == 0 && good;
}

static bool write_kitty (FILE *out, const gb_figure *f, int width, int height) {
  enum { PIECE = 3072 };
  char *png = NULL;
  size_t length = 0;
  if (!make_png(f, width, height, &png, &length)) {
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

typedef struct sixels {
  FILE *out;
  unsigned char *index; /* (BAND, width): colours of the rows that are not written yet */
  int width, rows;
  bool there[COLOURS];
} sixels;

static void flush_band (sixels *s) {
  if (s->rows > 0) put_band(s->out, s->index, s->width, s->rows, s->there);
  s->rows = 0;
  memset(s->there, 0, sizeof s->there);
}

static bool take_sixels (void *ud, const uint32_t *pixels) {
  sixels *s = ud;
  for (int x = 0; x < s->width; x++) {
    const int k = colour_of(pixels[x]);
    s->index[s->rows * s->width + x] = (unsigned char)k;
    s->there[k] = true;
  }
  if (++s->rows == BAND) flush_band(s);
  return true;
}

static bool write_sixel (FILE *out, const gb_figure *f, int width, int height) {
  sixels s = {.out = out, .index = malloc((size_t)width * BAND), .width = width};
  if (s.index == NULL) return false;
  fprintf(out, "\033Pq\"1;1;%d;%d", width, height);
  for (int k = 0; k < COLOURS; k++)
    fprintf(out, "#%d;2;%d;%d;%d", k, k / LEVELS / LEVELS * 20, k / LEVELS % LEVELS * 20, k % LEVELS * 20);
  const bool good = gb_draw_pixels(f, width, height, scale_of(width), take_sixels, &s);
  flush_band(&s);
  fputs("\033\\\n", out);
  free(s.index);
  return good;
}

gb_status gb_figure_inline (const gb_figure *f, gb_graphics how, int width, int height, char **bytes,
                            size_t *length, gb_error *err) {
  *bytes = NULL;
  FILE *out = open_memstream(bytes, length);
  bool good = out != NULL && (how == GB_GRAPHICS_KITTY ? write_kitty : write_sixel)(out, f, width, height);
  if (out != NULL && fclose(out) != 0) good = false;
  const bool interrupted = gb_interrupted();
  if (good && !interrupted) return GB_OK;
  free(*bytes);
  *bytes = NULL;
  return interrupted ? gb_fail(err, GB_EINTR, "interrupted")
                     : gb_fail(err, GB_ENOMEM, "no memory to draw the figure");
}
