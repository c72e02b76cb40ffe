/* legend.c - what the marks mean: swatches that look like their marks, where they cover least of the data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "plot/picture/marks.h"

enum { LINE_HEIGHT = 16, PAD = 6, SWATCH = 20, GAP = 6, MOST_ROWS = 40, WIDEST = 200, AROUND = 80 };

static bool has_entry (const gb_mark *m) {
  return m->label[0] != '\0' && m->kind != GB_MARK_TEXT && m->kind != GB_MARK_HEATMAP;
}

static size_t entries (const gb_panel *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->nmarks; i++) n += has_entry(&p->marks[i]);
  return n;
}

/* Rows that a panel has room for; the last one says how many more there are, if any are. */
static size_t most_rows (const gb_page *page) {
  return (size_t)fmax(fmin((page->panel - AROUND) / LINE_HEIGHT, MOST_ROWS), 1);
}

static size_t shown_entries (const gb_page *page, const gb_panel *p) {
  const size_t all = entries(p), most = most_rows(page);
  return all <= most ? all : most - 1;
}

void gb_legend_size (gb_page *page, const gb_panel *p, double *width, double *height) {
  const size_t all = entries(p), shown = shown_entries(page, p);
  size_t seen = 0;
  double widest = 50; /* "and 99 more" */
  *width = *height = 0;
  if (all == 0 || p->legend == GB_LEGEND_OFF) return;
  if (shown == all) widest = 0;
  for (size_t i = 0; i < p->nmarks && seen < shown; i++) {
    if (!has_entry(&p->marks[i])) continue;
    widest = fmax(widest, gb_page_text_width(page, p->marks[i].label, GB_LEGEND_SIZE, false));
    seen++;
  }
  *width = fmin(widest, WIDEST) + SWATCH + GAP + 2 * PAD;
  *height = LINE_HEIGHT * (double)(shown + (shown < all)) + 2 * PAD - 4;
}

/* -- where data lies: a coarse map of the panel, of which a legend should cover little */

enum { WIDE = 64, HIGH = 48, FILL = 1, DATA = 4 };

typedef struct cover {
  unsigned char at[HIGH][WIDE];
} cover;

static void stain (cover *o, double x, double y, unsigned char weight) {
  if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
  unsigned char *cell = &o->at[(int)fmin(y * HIGH, HIGH - 1)][(int)fmin(x * WIDE, WIDE - 1)];
  if (*cell < weight) *cell = weight;
}

static void stain_line (cover *o, double x0, double y0, double x1, double y1, unsigned char weight) {
  const double reach = fmax(fabs(x1 - x0) * WIDE, fabs(y1 - y0) * HIGH);
  if (!isfinite(reach)) return;
  const int steps = (int)fmin(2 * reach + 1, 4 * WIDE);
  for (int i = 0; i <= steps; i++) stain(o, x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, weight);
}

static void stain_mark (cover *o, const gb_canvas *c, const gb_mark *m) {
  const gb_scale *sx = &c->x, *sy = &c->y;
  double lastx = NAN, lasty = NAN;
  for (size_t i = 0; m->kind != GB_MARK_HEATMAP && i < m->n && !gb_interrupted(); i++) {
    const double x = gb_scale_at(sx, m->x[i]), y = gb_scale_at(sy, m->y[i]);
    switch (m->kind) {
      case GB_MARK_LINE: stain_line(o, lastx, lasty, x, y, DATA); break;
      case GB_MARK_BAND: stain_line(o, x, y, x, gb_scale_at(sy, m->hi[i]), FILL); break;
      case GB_MARK_ERRORS: stain_line(o, x, y, x, gb_scale_at(sy, m->hi[i]), DATA); break;
      case GB_MARK_COLUMNS: {
        const double from = gb_scale_at(sx, m->x[i] - m->extent / 2),
                     to = gb_scale_at(sx, m->x[i] + m->extent / 2);
        for (int k = 0; k <= 8; k++) {
          const double at = from + (to - from) * k / 8;
          stain_line(o, at, sy->log ? 0 : fmin(fmax(gb_scale_at(sy, 0), 0), 1), at, y, DATA);
        }
        break;
      }
      case GB_MARK_BARS:
        stain_line(o, sx->log ? 0 : fmin(fmax(gb_scale_at(sx, 0), 0), 1), y, x, y, DATA);
        break;
      default: break;
    }
    if (m->kind == GB_MARK_LINE || m->kind == GB_MARK_SCATTER) stain(o, x, y, DATA);
    if (m->kind == GB_MARK_TEXT)
      for (double dx = -0.08; dx <= 0.08; dx += 0.01) stain(o, x + dx, y, DATA);
    lastx = x;
    lasty = y;
  }
  if (m->kind == GB_MARK_HLINE) stain_line(o, 0, gb_scale_at(sy, m->y[0]), 1, gb_scale_at(sy, m->y[0]), FILL);
  if (m->kind == GB_MARK_VLINE) stain_line(o, gb_scale_at(sx, m->x[0]), 0, gb_scale_at(sx, m->x[0]), 1, FILL);
}

/* What a box would cover: all of it, and cells of lines and dots. */
static int covered (const cover *o, const gb_canvas *c, const double at[2], double width, double height,
                    int *data) {
  const double w = c->right - c->left, h = c->bottom - c->top;
  int sum = 0;
  *data = 0;
  for (int r = 0; r < HIGH; r++)
    for (int q = 0; q < WIDE; q++) {
      const double px = c->left + (q + 0.5) / WIDE * w, py = c->bottom - (r + 0.5) / HIGH * h;
      if (!(px > at[0] && px < at[0] + width && py > at[1] && py < at[1] + height)) continue;
      sum += o->at[r][q];
      *data += o->at[r][q] == DATA;
    }
  return sum;
}

/* A legend never reaches out of its panel, unless it is beside it. */
bool gb_legend_place (const gb_canvas *c, const gb_panel *p, double width, double height, double *x,
                      double *y) {
  enum { MARGIN = 7, TOLERATED = 2 };
  const double l = c->left + MARGIN, r = c->right - MARGIN - width, t = c->top + MARGIN,
               b = c->bottom - MARGIN - height, mx = (l + r) / 2, my = (t + b) / 2;
  const double at[][2] = {{l, t}, {r, t}, {l, b}, {r, b}, {mx, t}, {mx, b}, {r, my}, {l, my}};
  const bool small = r >= l && b >= t;
  if (p->legend == GB_LEGEND_OUTSIDE) return false;
  if (p->legend != GB_LEGEND_AUTO) {
    *x = at[p->legend - GB_LEGEND_TOP_LEFT][0];
    *y = at[p->legend - GB_LEGEND_TOP_LEFT][1];
    return true;
  }
  if (!small) return false;
  static const cover none;
  cover o = none;
  for (size_t i = 0; i < p->nmarks; i++) stain_mark(&o, c, &p->marks[i]);
  int least = -1, hit = 0;
  for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
    int data;
    const int sum = covered(&o, c, at[k], width, height, &data);
    if (least >= 0 && sum >= least) continue;
    least = sum;
    hit = data;
    *x = at[k][0];
    *y = at[k][1];
  }
  return hit <= TOLERATED;
}

/* A band over others looks as dark as all of them. */
static double swatch_alpha (const gb_panel *p, size_t i) {
  double clear = 1 - gb_mark_alpha(p, i);
  for (size_t k = 0; k < i && p->marks[i].kind == GB_MARK_BAND; k++)
    if (p->marks[k].kind == GB_MARK_BAND && gb_mark_colour(p, k) == gb_mark_colour(p, i))
      clear *= 1 - gb_mark_alpha(p, k);
  return 1 - clear;
}

static void draw_swatch (const gb_canvas *c, const gb_panel *p, size_t i, double x, double y) {
  const gb_mark *m = &p->marks[i];
  const gb_rgb k = gb_rgb_of(gb_mark_colour(p, i));
  const double width = fmin(gb_line_width(m), 4);
  gb_canvas_use(c, k, swatch_alpha(p, i));
  if (m->kind == GB_MARK_BAND || m->kind == GB_MARK_BARS || m->kind == GB_MARK_COLUMNS) {
    cairo_rectangle(c->cr, x, y - 5, SWATCH, 10);
    cairo_fill(c->cr);
    return;
  }
  if (m->kind != GB_MARK_SCATTER) {
    const bool upright = m->kind == GB_MARK_ERRORS || m->kind == GB_MARK_VLINE;
    cairo_set_line_width(c->cr, width);
    gb_set_dash(c->cr, gb_mark_dash(p, i), width);
    cairo_move_to(c->cr, upright ? x + SWATCH / 2 : x, upright ? y - 6 : y);
    cairo_line_to(c->cr, upright ? x + SWATCH / 2 : x + SWATCH, upright ? y + 6 : y);
    cairo_stroke(c->cr);
    cairo_set_dash(c->cr, NULL, 0, 0);
  }
  if (m->kind != GB_MARK_SCATTER && !(m->kind == GB_MARK_LINE && m->style.marker >= 0)) return;
  gb_draw_marker(c->cr, m->style.marker, x + SWATCH / 2, y, fmin(fmax(gb_dot_radius(m), 2.4), 5));
  if (gb_marker_is_open(m->style.marker)) {
    cairo_set_line_width(c->cr, 1.3);
    cairo_stroke(c->cr);
  } else cairo_fill(c->cr);
}

void gb_draw_legend (const gb_canvas *c, const gb_panel *p, double x, double y) {
  double width, height;
  size_t rows = 0;
  gb_legend_size(c->page, p, &width, &height);
  if (width <= 0) return;
  cairo_rectangle(c->cr, x, y, width, height);
  cairo_set_source_rgba(c->cr, 1, 1, 1, 0.85);
  cairo_fill_preserve(c->cr);
  gb_canvas_use(c, gb_faint, 1);
  cairo_set_line_width(c->cr, 1);
  cairo_stroke(c->cr);
  const size_t all = entries(p), shown = shown_entries(c->page, p);
  for (size_t i = 0; i < p->nmarks && rows < shown; i++) {
    if (!has_entry(&p->marks[i])) continue;
    const double at = y + PAD - 2 + LINE_HEIGHT * ((double)rows++ + 0.5);
    draw_swatch(c, p, i, x + PAD, at);
    gb_page_text_within(c->page, p->marks[i].label, x + PAD + SWATCH + GAP, at, 0, 0.5, WIDEST,
                        (gb_font){.size = GB_LEGEND_SIZE, .colour = gb_ink});
  }
  if (shown == all) return;
  char text[40];
  snprintf(text, sizeof text, "and %zu more", all - shown);
  gb_page_text(c->page, text, x + PAD, y + PAD - 2 + LINE_HEIGHT * ((double)rows + 0.5), 0, 0.5,
               (gb_font){.size = GB_LEGEND_SIZE, .colour = gb_soft});
}
