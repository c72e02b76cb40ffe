/* screen.c - cells of text, and how they are written. */
#define _GNU_SOURCE
#include "plot/text/screen.h"

#include <stdio.h>
#include <stdlib.h>

#include "plot/figure.h"

bool gb_screen_open (gb_screen *s, int w, int h) {
  *s = (gb_screen){w, h, calloc((size_t)w * (size_t)h, sizeof *s->at)};
  for (int i = 0; s->at != NULL && i < w * h; i++) s->at[i].colour = -1;
  return s->at != NULL;
}

void gb_screen_close (gb_screen *s) {
  free(s->at);
  *s = (gb_screen){0};
}

gb_cell *gb_screen_cell (const gb_screen *s, int column, int row) {
  return column < 0 || row < 0 || column >= s->w || row >= s->h ? NULL : &s->at[row * s->w + column];
}

/* The next character of UTF-8; a byte that begins none is a replacement character. */
static uint32_t next (const char **text) {
  const unsigned char *p = (const unsigned char *)*text;
  const int more = *p < 0x80 ? 0 : *p >= 0xF0 && *p < 0xF8 ? 3 : *p >= 0xE0 ? 2 : *p >= 0xC0 ? 1 : -1;
  uint32_t c = more <= 0 ? *p : *p & (0x3Fu >> more);
  *text += 1;
  for (int i = 1; i <= more; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0xFFFD;
    c = c << 6 | (p[i] & 0x3F);
    *text += 1;
  }
  return more < 0 || *p >= 0xF8 ? 0xFFFD : c < 0x20 ? ' ' : c;
}

/* Columns of a character: 0 for one that combines with the one before it, 2 for wide ones, by the main blocks of
** Unicode's East Asian Width. The C library's answer would depend on the locale. */
static int width_of (uint32_t c) {
  static const struct {
    uint32_t from, to;
    int width;
  } block[] = {{0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x064B, 0x065F, 0},
               {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},
               {0x2060, 0x2064, 0},   {0x20D0, 0x20FF, 0},   {0x2E80, 0x303E, 2},   {0x3041, 0x4DBF, 2},
               {0x4E00, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},
               {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF01, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
               {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}};
  for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
    if (c >= block[i].from && c <= block[i].to) return block[i].width;
  return 1;
}

int gb_text_columns (const char *text) {
  int n = 0;
  while (*text != '\0') n += width_of(next(&text));
  return n;
}

/* A wide character takes two cells; one that combines goes with the cell before, which has room for one. Returns the
** columns that it takes. */
static int place (gb_screen *s, int column, int row, uint32_t c, int colour) {
  const int width = width_of(c);
  gb_cell *cell = gb_screen_cell(s, width == 0 ? column - 1 : column, row);
  if (cell != NULL && width == 0 && cell->character != 0) cell->combined = c;
  if (cell == NULL || width == 0) return width;
  *cell = (gb_cell){.character = c, .colour = colour};
  cell = gb_screen_cell(s, column + 1, row);
  if (width == 2 && cell != NULL) *cell = (gb_cell){.character = GB_CELL_TAKEN, .colour = colour};
  return width;
}

void gb_screen_put (gb_screen *s, int column, int row, const char *text, int colour) {
  while (*text != '\0') column += place(s, column, row, next(&text), colour);
}

void gb_screen_clip (gb_screen *s, int column, int row, const char *text, int most) {
  const int room = gb_text_columns(text) > most ? most - 1 : most;
  int used = 0;
  while (*text != '\0') {
    const uint32_t c = next(&text);
    if (used + width_of(c) > room) break;
    used += place(s, column + used, row, c, -1);
  }
  if (room < most && most > 0) (void)place(s, column + used, row, 0x2026, -1);
}

/* -- writing */

static void put_character (FILE *out, uint32_t c) {
  if (c < 0x80) fputc((int)c, out);
  else if (c < 0x800) fprintf(out, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3f)));
  else if (c < 0x10000)
    fprintf(out, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
  else
    fprintf(out, "%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)),
            (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
}

static uint32_t plain (uint32_t c) {
  switch (c) {
    case 0x2502:
    case 0x2524: return '|';
    case 0x2500: return '-';
    case 0x252C:
    case 0x2514: return '+';
    case 0x2501: return '-';
    case 0x2022:
    case 0x00D7: return c == 0x2022 ? '*' : 'x';
    case 0x2026: return '.';
    case 0x2264: return '<';
    default: return c < 0x80 ? c : '?';
  }
}

static uint32_t character_of (const gb_cell *c, bool ascii) {
  static const uint32_t shades[] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
  static const char flat[] = {' ', ':', '=', '%', '#'};
  const unsigned shade = c->shade > 4 ? 4 : c->shade;
  if (c->character != 0) return ascii ? plain(c->character) : c->character;
  if (c->dots == 0) return ascii ? (uint32_t)flat[shade] : shades[shade];
  if (!ascii) return 0x2800u | c->dots;
  const bool high = c->dots & 0x1B, low = c->dots & 0xE4; /* of the upper and of the lower two rows of dots */
  return high && low ? '*' : high ? '\'' : '.';
}

/* Colours of the palette by the terminal's own names, others by the nearest of its 216. */
static void put_colour (FILE *out, int colour) {
  static const int ansi[] = {34, 33, 32, 35, 31, 36, 90, 37};
  if (colour < GB_COLOUR_RGB) {
    fprintf(out, "\033[%dm", ansi[colour % 8]);
    return;
  }
  const int r = colour >> 16 & 255, g = colour >> 8 & 255, b = colour & 255;
  fprintf(out, "\033[38;5;%dm",
          16 + 36 * ((r * 5 + 127) / 255) + 6 * ((g * 5 + 127) / 255) + (b * 5 + 127) / 255);
}

static void put_line (FILE *out, const gb_screen *s, int row, bool colour, bool ascii) {
  const gb_cell *at = &s->at[row * s->w];
  int end = s->w, now = -1;
  while (end > 0 && character_of(&at[end - 1], ascii) == ' ') end--;
  for (int i = 0; i < end; i++) {
    if (!ascii && at[i].character == GB_CELL_TAKEN) continue;
    const int wanted = colour ? at[i].colour : -1;
    if (wanted != now) {
      if (now >= 0) fputs("\033[0m", out);
      if (wanted >= 0) put_colour(out, wanted);
      now = wanted;
    }
    put_character(out, character_of(&at[i], ascii));
    if (!ascii && at[i].combined != 0) put_character(out, at[i].combined);
  }
  if (now >= 0) fputs("\033[0m", out);
  fputc('\n', out);
}

char *gb_screen_text (const gb_screen *s, bool colour, bool ascii) {
  char *text = NULL;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  if (out == NULL) return NULL;
  for (int r = 0; r < s->h; r++) put_line(out, s, r, colour, ascii);
  const bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}
