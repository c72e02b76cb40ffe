/* terminal.c - figures as text: two by four braille dots a cell, axes and ticks around them. */
#define _GNU_SOURCE
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cell {
  unsigned char dots;  /* braille bits */
  unsigned char shade; /* inside a band */
  signed char colour;  /* of the last dot or bar; -1 none */
} cell;

typedef struct grid {
  int w, h; /* cells */
  cell *at;
  gb_range x, y;
} grid;

/* Dot (px, py), py downwards, in a picture of 2w x 4h dots. */
static void dot (grid *g, int px, int py, int colour) {
  static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (px < 0 || py < 0 || px >= 2 * g->w || py >= 4 * g->h) return;
  cell *c = &g->at[py / 4 * g->w + px / 2];
  c->dots |= bit[py % 4][px % 2];
  c->colour = (signed char)colour;
}

static double gx (const grid *g, double x) { return (x - g->x.lo) / (g->x.hi - g->x.lo) * (2 * g->w - 1); }
static double gy (const grid *g, double y) { return (g->y.hi - y) / (g->y.hi - g->y.lo) * (4 * g->h - 1); }

static void segment (grid *g, double x0, double y0, double x1, double y1, int colour) {
  const double steps = fmax(1, ceil(fmax(fabs(x1 - x0), fabs(y1 - y0))));
  if (!(steps < 1e5)) return;
  for (double t = 0; t <= steps; t++)
    dot(g, (int)lround(x0 + (x1 - x0) * t / steps), (int)lround(y0 + (y1 - y0) * t / steps), colour);
}

static void draw_line (grid *g, const gb_series *s, const double *y, int colour) {
  for (size_t i = 0; i < s->n; i++) {
    if (!isfinite(s->x[i]) || !isfinite(y[i])) continue;
    const double px = gx(g, s->x[i]), py = gy(g, y[i]);
    const bool joined = i > 0 && isfinite(s->x[i - 1]) && isfinite(y[i - 1]);
    if (joined) segment(g, gx(g, s->x[i - 1]), gy(g, y[i - 1]), px, py, colour);
    else dot(g, (int)lround(px), (int)lround(py), colour);
  }
}

static void shade (grid *g, const gb_series *s) {
  for (size_t i = 0; i + 1 < s->n; i++) {
    if (!isfinite(s->x[i] + s->x[i + 1] + s->y[i] + s->hi[i])) continue;
    const int from = (int)(gx(g, fmin(s->x[i], s->x[i + 1])) / 2),
              to = (int)(gx(g, fmax(s->x[i], s->x[i + 1])) / 2);
    const int top = (int)(gy(g, s->hi[i]) / 4), low = (int)(gy(g, s->y[i]) / 4);
    for (int c = from < 0 ? 0 : from; c <= to && c < g->w; c++)
      for (int r = top < 0 ? 0 : top; r <= low && r < g->h; r++) g->at[r * g->w + c].shade = 1;
  }
}

/* The first cell whose centre, 'half' of its 'size' dots on, is not before the dot 'at'; 0 to 'most'. */
static int first_cell (double at, double half, double size, int most) {
  const double first = ceil((at - half) / size);
  return !(first > 0) ? 0 : first < most ? (int)first : most;
}

/* A bar covers the cells whose centres it covers; each is of the last bar there. */
static void draw_bars (grid *g, const gb_series *s, int colour) {
  for (size_t i = 0; i < s->n; i++) {
    if (!isfinite(s->x[i]) || !isfinite(s->y[i])) continue;
    const int from = first_cell(gx(g, fmin(s->x[i], 0)), 0.5, 2, g->w),
              to = first_cell(gx(g, fmax(s->x[i], 0)), 0.5, 2, g->w);
    const int top = first_cell(gy(g, s->y[i] + 0.5), 1.5, 4, g->h),
              low = first_cell(gy(g, s->y[i] - 0.5), 1.5, 4, g->h);
    for (int r = top; r < low; r++)
      for (int c = from; c < to; c++) {
        g->at[r * g->w + c].shade = 2;
        g->at[r * g->w + c].colour = (signed char)colour;
      }
  }
}

static void draw_heatmap (grid *g, const gb_series *s) {
  double lo = INFINITY, hi = -INFINITY;
  for (size_t i = 0; i < s->n * s->rows; i++)
    if (isfinite(s->hi[i])) lo = fmin(lo, s->hi[i]), hi = fmax(hi, s->hi[i]);
  for (int r = 0; r < g->h; r++)
    for (int c = 0; c < g->w; c++) {
      const size_t q = (size_t)((double)c / g->w * (double)s->n),
                   p = (size_t)((double)(g->h - 1 - r) / g->h * (double)s->rows);
      const double v = s->hi[p * s->n + q];
      if (isfinite(v) && hi > lo)
        g->at[r * g->w + c].shade = (unsigned char)(1 + 3 * (v - lo) / (hi - lo) + 0.5);
    }
}

static void draw (grid *g, const gb_figure *f) {
  for (size_t i = 0; i < f->nseries; i++) {
    const gb_series *s = &f->series[i];
    const int colour = gb_series_colour(f, i) % 6;
    if (s->kind == GB_SERIES_HEATMAP) draw_heatmap(g, s);
    if (s->kind == GB_SERIES_BAND) shade(g, s);
    if (s->kind == GB_SERIES_BARS) draw_bars(g, s, colour);
    if (s->kind == GB_SERIES_LINE) draw_line(g, s, s->y, colour);
    if (s->kind == GB_SERIES_SCATTER)
      for (size_t k = 0; k < s->n; k++)
        if (isfinite(s->x[k]) && isfinite(s->y[k]))
          dot(g, (int)lround(gx(g, s->x[k])), (int)lround(gy(g, s->y[k])), colour);
  }
}

static void print_cell (FILE *out, const cell *c, bool colour) {
  static const int ansi[] = {34, 33, 32, 35, 31, 36};
  static const char *const blocks[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
  if (colour && c->colour >= 0) fprintf(out, "\033[%dm", ansi[(int)c->colour]);
  if (c->dots == 0) fputs(blocks[c->shade > 4 ? 4 : c->shade], out);
  else fprintf(out, "%c%c%c", 0xE2, 0xA0 | c->dots >> 6, 0x80 | (c->dots & 0x3f));
  if (colour && c->colour >= 0) fputs("\033[0m", out);
}

/* The text of the first tick in this row, or NULL. */
static const char *tick_in_row (const grid *g, const gb_figure *f, int row, char buf[32]) {
  double t;
  const char *text;
  for (size_t i = 0; (text = gb_figure_ytick(f, &g->y, i, &t, buf)) != NULL; i++)
    if ((int)floor(gy(g, t) / 4) == row) return text;
  return NULL;
}

static void print_x_axis (FILE *out, const grid *g, int margin) {
  char *labels = malloc((size_t)(g->w + 40));
  if (labels == NULL) return;
  memset(labels, ' ', (size_t)(g->w + 40));
  fprintf(out, "%*s\u2514", margin, "");
  int end = 0, column = 0;
  for (double t = gb_range_first_tick(&g->x); t <= g->x.hi; t += g->x.step) {
    const int at = (int)(gx(g, t) / 2);
    char text[32];
    gb_range_label(&g->x, t, text);
    const int length = (int)strlen(text), from = at - length / 2 < end ? end : at - length / 2;
    if (at < g->w && from + length < g->w + 8) {
      memcpy(labels + from, text, (size_t)length);
      end = from + length + 1;
      for (; column < at; column++) fputs("\u2500", out);
      fputs("\u252c", out);
      column++;
    }
  }
  for (; column < g->w; column++) fputs("\u2500", out);
  labels[end] = '\0';
  fprintf(out, "\n%*s %s\n", margin, "", labels);
  free(labels);
}

static void print_legend (FILE *out, const gb_figure *f, bool colour) {
  static const char *const sign[] = {"\u2501", "\u2022", "\u2591", "\u2593", "\u2592"};
  static const int ansi[] = {34, 33, 32, 35, 31, 36};
  bool any = false;
  for (size_t i = 0; i < f->nseries; i++) {
    if (f->series[i].label[0] == '\0') continue;
    fputs(any ? "   " : "  ", out);
    if (colour) fprintf(out, "\033[%dm", ansi[gb_series_colour(f, i) % 6]);
    fputs(sign[f->series[i].kind], out);
    if (colour) fputs("\033[0m", out);
    fprintf(out, " %s", f->series[i].label);
    any = true;
  }
  if (any) fputc('\n', out);
}

char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour) {
  enum { MARGIN = 9 };
  grid g = {.w = columns - MARGIN - 2 < 16 ? 16 : columns - MARGIN - 2, .h = rows - 5 < 4 ? 4 : rows - 5};
  g.at = calloc((size_t)(g.w * g.h), sizeof *g.at);
  char *text = NULL;
  size_t length;
  FILE *out = g.at == NULL ? NULL : open_memstream(&text, &length);
  if (out == NULL) {
    free(g.at);
    return NULL;
  }
  for (int i = 0; i < g.w * g.h; i++) g.at[i].colour = -1;
  gb_figure_ranges(f, &g.x, &g.y);
  draw(&g, f);
  if (f->title != NULL && f->title[0] != '\0') fprintf(out, "%*s%s\n", MARGIN + 1, "", f->title);
  if (f->ylabel != NULL && f->ylabel[0] != '\0') fprintf(out, "  %s\n", f->ylabel);
  for (int r = 0; r < g.h; r++) {
    char buf[32];
    const char *label = tick_in_row(&g, f, r, buf);
    fprintf(out, "%*.*s%s", MARGIN, MARGIN, label != NULL ? label : "", label != NULL ? "\u2524" : "\u2502");
    for (int c = 0; c < g.w; c++) print_cell(out, &g.at[r * g.w + c], colour);
    fputc('\n', out);
  }
  print_x_axis(out, &g, MARGIN);
  if (f->xlabel != NULL && f->xlabel[0] != '\0')
    fprintf(out, "%*s%s\n", MARGIN + 1 + (g.w - (int)strlen(f->xlabel)) / 2, "", f->xlabel);
  print_legend(out, f, colour);
  free(g.at);
  if (fclose(out) != 0) {
    free(text);
    return NULL;
  }
  return text;
}
