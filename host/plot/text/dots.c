/* dots.c - marks as braille dots and shades. */
#include "plot/text/dots.h"

#include <math.h>

#include "base/interrupt.h"
#include "plot/palette.h"

double gb_area_x (const gb_plot_area *a, double x) { return gb_scale_at(&a->x, x) * (2 * a->w - 1); }
double gb_area_y (const gb_plot_area *a, double y) { return (1 - gb_scale_at(&a->y, y)) * (4 * a->h - 1); }

static gb_cell *cell_at (const gb_plot_area *a, int column, int row) {
  if (column < 0 || row < 0 || column >= a->w || row >= a->h) return NULL;
  return gb_screen_cell(a->screen, a->left + column, a->top + row);
}

/* Dot (px, py), py downwards, in a picture of 2w x 4h dots. */
static void dot (const gb_plot_area *a, double x, double y, int colour) {
  static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (!(x >= -0.5 && y >= -0.5 && x < 2 * a->w && y < 4 * a->h)) return;
  const int px = (int)lround(x), py = (int)lround(y);
  gb_cell *c = cell_at(a, px / 2, py / 4);
  if (c == NULL) return;
  c->dots |= bit[py % 4][px % 2];
  c->colour = colour;
}

typedef struct pen {
  const gb_plot_area *area;
  int colour;
  gb_dash dash;
  size_t drawn; /* dots so far, for the dashes */
} pen;

static bool is_down (const pen *p) {
  switch (p->dash) {
    case GB_DASH_DASHED: return p->drawn % 7 < 4;
    case GB_DASH_DOTTED: return p->drawn % 3 < 1;
    case GB_DASH_DASHDOT: return p->drawn % 9 < 4 || p->drawn % 9 == 6;
    default: return true;
  }
}

/* The part of the segment that lies in the area, as fractions of it; false: none. */
static bool clip (double from, double to, double most, double *lo, double *hi) {
  const double d = to - from;
  if (d == 0) return from >= -0.5 && from <= most;
  const double a = (-0.5 - from) / d, b = (most - from) / d;
  *lo = fmax(*lo, fmin(a, b));
  *hi = fmin(*hi, fmax(a, b));
  return *lo <= *hi;
}

static void segment (pen *p, double x0, double y0, double x1, double y1) {
  double lo = 0, hi = 1;
  if (!isfinite(x0 + y0 + x1 + y1)) return;
  if (!clip(x0, x1, 2 * p->area->w - 0.5, &lo, &hi) || !clip(y0, y1, 4 * p->area->h - 0.5, &lo, &hi)) return;
  const double dx = x1 - x0, dy = y1 - y0, reach = (hi - lo) * fmax(fabs(dx), fabs(dy));
  const int steps = (int)fmin(fmax(ceil(reach), 1), 4096);
  for (int i = 0; i <= steps; i++, p->drawn++) {
    const double t = lo + (hi - lo) * i / steps;
    if (is_down(p)) dot(p->area, x0 + dx * t, y0 + dy * t, p->colour);
  }
}

static void draw_line (pen *p, const gb_mark *m) {
  double lastx = NAN, lasty = NAN;
  for (size_t i = 0; i < m->n && !gb_interrupted(); i++) {
    const double x = gb_area_x(p->area, m->x[i]), y = gb_area_y(p->area, m->y[i]);
    if (isfinite(lastx + lasty)) segment(p, lastx, lasty, x, y);
    else dot(p->area, x, y, p->colour);
    lastx = x;
    lasty = y;
  }
}

/* Cells that a line crosses keep its colour. */
static void shade (const gb_plot_area *a, const gb_mark *m, unsigned char depth, int colour) {
  for (size_t i = 0; i + 1 < m->n && !gb_interrupted(); i++) {
    const double x0 = gb_area_x(a, m->x[i]), x1 = gb_area_x(a, m->x[i + 1]), low = gb_area_y(a, m->y[i]),
                 top = gb_area_y(a, m->hi[i]);
    if (!isfinite(x0 + x1 + low + top)) continue;
    const double first = fmax(floor(fmin(x0, x1) / 2), 0), last = fmin(floor(fmax(x0, x1) / 2), a->w - 1);
    const double up = fmax(floor(top / 4), 0), down = fmin(floor(low / 4), a->h - 1);
    for (double c = first; c <= last; c++)
      for (double r = up; r <= down; r++) {
        gb_cell *cell = cell_at(a, (int)c, (int)r);
        if (cell == NULL || cell->shade >= depth) continue;
        cell->shade = depth;
        if (cell->dots == 0 && cell->character == 0) cell->colour = colour;
      }
  }
}

/* The first cell whose centre, 'half' of its 'size' dots on, is not before the dot 'at'; 0 to 'most'. */
static int first_cell (double at, double half, double size, int most) {
  const double first = ceil((at - half) / size);
  return !(first > 0) ? 0 : first < most ? (int)first : most;
}

/* A bar covers the cells whose centres it covers; each is of the last bar there. Where the axis is logarithmic
** it begins at its end. */
static void draw_bars (const gb_plot_area *a, const gb_mark *m, int colour) {
  const bool flat = m->kind == GB_MARK_BARS;
  const double x_origin = a->x.log ? a->x.lo : 0, y_origin = a->y.log ? a->y.lo : 0, half = m->extent / 2;
  for (size_t i = 0; i < m->n; i++) {
    if (!isfinite(m->x[i]) || !isfinite(m->y[i])) continue;
    const double x0 = flat ? fmin(m->x[i], x_origin) : m->x[i] - half,
                 x1 = flat ? fmax(m->x[i], x_origin) : m->x[i] + half,
                 y0 = flat ? m->y[i] - half : fmin(m->y[i], y_origin),
                 y1 = flat ? m->y[i] + half : fmax(m->y[i], y_origin);
    const int from = first_cell(gb_area_x(a, x0), 0.5, 2, a->w),
              to = first_cell(gb_area_x(a, x1), 0.5, 2, a->w);
    const int top = first_cell(gb_area_y(a, y1), 1.5, 4, a->h),
              low = first_cell(gb_area_y(a, y0), 1.5, 4, a->h);
    for (int r = top; r < low; r++)
      for (int c = from; c < to; c++) {
        gb_cell *cell = cell_at(a, c, r);
        if (cell == NULL) continue;
        cell->shade = 2;
        cell->colour = colour;
      }
  }
}

static int mapped_colour (double t) {
  const gb_rgb k = gb_colour_map(t);
  return GB_COLOUR_RGB | (int)lround(255 * k.r) << 16 | (int)lround(255 * k.g) << 8 | (int)lround(255 * k.b);
}

/* The cell of n between 'first' and 'last' that contains v; n where none does. */
static size_t index_at (double v, double first, double last, size_t n) {
  const double step = n > 1 ? (last - first) / (double)(n - 1) : 1, at = floor((v - first) / step + 0.5);
  return at >= 0 && at < (double)n ? (size_t)at : n;
}

static double value_at (const gb_scale *s, double fraction) {
  if (!s->log) return s->lo + fraction * (s->hi - s->lo);
  return s->lo * pow(s->hi / s->lo, fraction);
}

static void draw_heatmap (const gb_plot_area *a, const gb_mark *m) {
  double lo, hi;
  if (!gb_mark_levels(m, &lo, &hi)) return;
  for (int r = 0; r < a->h; r++)
    for (int c = 0; c < a->w; c++) {
      const double x = value_at(&a->x, (c + 0.5) / a->w), y = value_at(&a->y, 1 - (r + 0.5) / a->h);
      const size_t q = index_at(x, m->x[0], m->x[1], m->n), p = index_at(y, m->y[0], m->y[1], m->rows);
      gb_cell *cell = cell_at(a, c, r);
      if (cell == NULL || q == m->n || p == m->rows || !isfinite(m->hi[p * m->n + q])) continue;
      const double v = m->hi[p * m->n + q], t = hi > lo ? fmin(fmax((v - lo) / (hi - lo), 0), 1) : 0.5;
      cell->shade = a->colour ? 4 : (unsigned char)(1 + lround(3 * t));
      cell->colour = mapped_colour(t);
    }
}

static void draw_text (const gb_plot_area *a, const gb_mark *m, int colour) {
  const double x = gb_area_x(a, m->x[0]) / 2, y = gb_area_y(a, m->y[0]) / 4;
  if (!(x >= 0 && x <= a->w && y >= 0 && y <= a->h)) return;
  const int n = gb_text_columns(m->label), from = (int)lround(x - n / 2.0),
            most = a->w - n < 0 ? 0 : a->w - n;
  gb_screen_put(a->screen,
                a->left + (from < 0      ? 0
                           : from > most ? most
                                         : from),
                a->top + (int)y, m->label, colour);
}

static void draw_mark (const gb_plot_area *a, const gb_panel *p, size_t i) {
  const gb_mark *m = &p->marks[i];
  pen with = {.area = a, .colour = gb_mark_colour(p, i), .dash = gb_mark_dash(p, i)};
  switch (m->kind) {
    case GB_MARK_HEATMAP: draw_heatmap(a, m); break;
    case GB_MARK_BAND:
      shade(a, m, (unsigned char)(gb_mark_nesting(p, i) < 2 ? 1 + gb_mark_nesting(p, i) : 3), with.colour);
      break;
    case GB_MARK_BARS:
    case GB_MARK_COLUMNS: draw_bars(a, m, with.colour); break;
    case GB_MARK_LINE: draw_line(&with, m); break;
    case GB_MARK_SCATTER:
      for (size_t k = 0; k < m->n; k++) dot(a, gb_area_x(a, m->x[k]), gb_area_y(a, m->y[k]), with.colour);
      break;
    case GB_MARK_ERRORS:
      for (size_t k = 0; k < m->n; k++) {
        const double x = gb_area_x(a, m->x[k]);
        segment(&with, x, gb_area_y(a, m->y[k]), x, gb_area_y(a, m->hi[k]));
      }
      break;
    case GB_MARK_TEXT: draw_text(a, m, with.colour); break;
    case GB_MARK_HLINE: segment(&with, 0, gb_area_y(a, m->y[0]), 2 * a->w - 1, gb_area_y(a, m->y[0])); break;
    case GB_MARK_VLINE: segment(&with, gb_area_x(a, m->x[0]), 0, gb_area_x(a, m->x[0]), 4 * a->h - 1); break;
    default: break;
  }
}

void gb_area_draw (const gb_plot_area *a, const gb_panel *p) {
  for (size_t i = 0; i < p->nmarks; i++) draw_mark(a, p, i);
}
