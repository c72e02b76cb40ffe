/* marks.c - lines, dots, error bars and text; which marks have too many points for paths. */
#include "plot/picture/marks.h"

#include <math.h>

#include "base/interrupt.h"
#include "plot/dense.h"

enum {
  PIECE = 2048,  /* points of one path */
  MARKERS = 256, /* markers of one path */
  VECTORS =
      60000, /* most points of lines that a page has as vectors: cairo writes them at the end in one call */
  STROKES = 20000 /* most points drawn as strokes in a PNG: crossing strokes are slow */
};

double gb_line_width (const gb_mark *m) {
  const bool thin = m->kind == GB_MARK_HLINE || m->kind == GB_MARK_VLINE || m->kind == GB_MARK_ERRORS;
  return m->style.width > 0 ? m->style.width : thin ? 1.1 : 1.6;
}

double gb_dot_radius (const gb_mark *m) {
  if (m->style.size > 0) return m->style.size / 2;
  return m->style.marker > 0 ? 3 : m->n > 300 && m->kind == GB_MARK_SCATTER ? 1.4 : 2.4;
}

void gb_set_dash (cairo_t *cr, gb_dash dash, double width) {
  static const double pattern[GB_NDASHES][4] = {{0}, {4, 2.4}, {1, 1.8}, {5, 2, 1, 2}};
  static const int parts[GB_NDASHES] = {0, 2, 2, 4};
  double scaled[4];
  for (int i = 0; i < 4; i++) scaled[i] = pattern[dash][i] * fmax(width, 1);
  cairo_set_dash(cr, scaled, parts[dash], 0);
}

bool gb_marker_is_open (int marker) { return marker == GB_MARKER_PLUS || marker == GB_MARKER_CROSS; }

static void two_strokes (cairo_t *cr, double x, double y, double ax, double ay) {
  cairo_move_to(cr, x - ax, y - ay);
  cairo_line_to(cr, x + ax, y + ay);
  cairo_move_to(cr, x - ay, y + ax);
  cairo_line_to(cr, x + ay, y - ax);
}

void gb_draw_marker (cairo_t *cr, int marker, double x, double y, double r) {
  cairo_new_sub_path(cr);
  switch (marker) {
    case GB_MARKER_SQUARE: cairo_rectangle(cr, x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r); return;
    case GB_MARKER_TRIANGLE:
      cairo_move_to(cr, x, y - 1.2 * r);
      cairo_line_to(cr, x + 1.1 * r, y + 0.8 * r);
      cairo_line_to(cr, x - 1.1 * r, y + 0.8 * r);
      break;
    case GB_MARKER_DIAMOND:
      cairo_move_to(cr, x, y - 1.25 * r);
      cairo_line_to(cr, x + 1.25 * r, y);
      cairo_line_to(cr, x, y + 1.25 * r);
      cairo_line_to(cr, x - 1.25 * r, y);
      break;
    case GB_MARKER_PLUS: two_strokes(cr, x, y, 1.1 * r, 0); return;
    case GB_MARKER_CROSS: two_strokes(cr, x, y, 0.85 * r, 0.85 * r); return;
    default: cairo_arc(cr, x, y, r, 0, 2 * M_PI); return;
  }
  cairo_close_path(cr);
}

/* Paths of markers are filled, or stroked where they are open. */
static void finish_markers (const gb_canvas *c, int marker) {
  if (!gb_marker_is_open(marker)) {
    cairo_fill(c->cr);
    return;
  }
  cairo_set_line_width(c->cr, 1.3);
  cairo_stroke(c->cr);
}

/* Where an opacity is given, each marker covers those below it. */
static void draw_markers (const gb_canvas *c, const gb_mark *m) {
  const double r = gb_dot_radius(m);
  const bool each = m->style.alpha > 0 && m->style.alpha < 1;
  size_t held = 0; /* markers in the path */
  for (size_t i = 0; i < m->n && !gb_interrupted(); i++) {
    const double x = gb_canvas_x(c, m->x[i]), y = gb_canvas_y(c, m->y[i]);
    if (!isfinite(x) || !gb_canvas_shows(c, y, y, 2 * r)) continue;
    gb_draw_marker(c->cr, m->style.marker, x, y, r);
    if (++held < (each ? 1 : MARKERS)) continue;
    finish_markers(c, m->style.marker);
    held = 0;
  }
  finish_markers(c, m->style.marker);
}

static bool is_there (const gb_canvas *c, const gb_mark *m, size_t i) {
  return i < m->n && isfinite(gb_canvas_x(c, m->x[i])) && isfinite(gb_canvas_y(c, m->y[i]));
}

/* A line is interrupted at values that are not finite; a point without neighbours is a dot as wide as the line. */
static void draw_line (const gb_canvas *c, const gb_mark *m, gb_dash dash) {
  bool pen = false;
  cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_BEVEL);
  cairo_set_line_cap(c->cr,
                     dash == GB_DASH_SOLID && m->n < PIECE ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
  for (size_t i = 0; i < m->n && !gb_interrupted(); i++) {
    const double x = gb_canvas_x(c, m->x[i]), y = gb_canvas_y(c, m->y[i]);
    const bool good = is_there(c, m, i);
    if (good && !pen) cairo_move_to(c->cr, x, y);
    if (good && (pen || !is_there(c, m, i + 1))) cairo_line_to(c->cr, x, y);
    pen = good;
    if (!good || i % PIECE != PIECE - 1) continue;
    cairo_stroke(c->cr);
    cairo_move_to(c->cr, x, y);
  }
  cairo_stroke(c->cr);
  cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_BUTT);
}

static void draw_errors (const gb_canvas *c, const gb_mark *m) {
  enum { CAP = 3 };
  size_t held = 0;
  for (size_t i = 0; i < m->n && !gb_interrupted(); i++) {
    const double x = gb_canvas_x(c, m->x[i]), low = gb_canvas_y(c, m->y[i]), high = gb_canvas_y(c, m->hi[i]);
    if (!isfinite(x) || !gb_canvas_shows(c, high, low, CAP)) continue;
    if (++held % PIECE == 0) cairo_stroke(c->cr);
    cairo_move_to(c->cr, x, low);
    cairo_line_to(c->cr, x, high);
    cairo_move_to(c->cr, x - CAP, low);
    cairo_line_to(c->cr, x + CAP, low);
    cairo_move_to(c->cr, x - CAP, high);
    cairo_line_to(c->cr, x + CAP, high);
  }
  cairo_stroke(c->cr);
}

static void draw_across (const gb_canvas *c, const gb_mark *m) {
  const double x = gb_canvas_x(c, m->x[0]), y = gb_canvas_y(c, m->y[0]);
  const bool flat = m->kind == GB_MARK_HLINE;
  if (!isfinite(flat ? y : x)) return;
  cairo_move_to(c->cr, flat ? c->left : x, flat ? y : c->bottom);
  cairo_line_to(c->cr, flat ? c->right : x, flat ? y : c->top);
  cairo_stroke(c->cr);
}

static void draw_text (const gb_canvas *c, const gb_mark *m, gb_rgb k) {
  const double x = gb_canvas_x(c, m->x[0]), y = gb_canvas_y(c, m->y[0]);
  const bool inside = x >= c->left && x <= c->right && y >= c->top && y <= c->bottom;
  const gb_font font = {.size = m->style.size > 0 ? m->style.size : GB_TICK_SIZE, .colour = k, .halo = true};
  if (inside)
    gb_page_text(c->page, m->label, x, y, x > c->right - 40 ? 1 : x < c->left + 40 ? 0 : 0.5, 0.5, font);
}

void gb_draw_mark (const gb_canvas *c, const gb_panel *p, size_t i, const gb_mark *m) {
  const gb_rgb k = gb_rgb_of(gb_mark_colour(p, i));
  const double alpha = gb_mark_alpha(p, i), width = gb_line_width(m);
  gb_canvas_use(c, k, alpha);
  cairo_set_line_width(c->cr, width);
  gb_set_dash(c->cr, gb_mark_dash(p, i), width);
  switch (m->kind) {
    case GB_MARK_LINE: draw_line(c, m, gb_mark_dash(p, i)); break;
    case GB_MARK_BAND: gb_draw_band(c, m, k, alpha); break;
    case GB_MARK_HEATMAP: gb_draw_heatmap(c, m); break;
    case GB_MARK_BARS:
    case GB_MARK_COLUMNS: gb_draw_bars(c, m, k, alpha); break;
    case GB_MARK_ERRORS: draw_errors(c, m); break;
    case GB_MARK_TEXT: draw_text(c, m, k); break;
    case GB_MARK_HLINE:
    case GB_MARK_VLINE: draw_across(c, m); break;
    default: break;
  }
  cairo_set_dash(c->cr, NULL, 0, 0);
  if (m->kind == GB_MARK_SCATTER || (m->kind == GB_MARK_LINE && m->style.marker >= 0)) draw_markers(c, m);
}

/* Cost of a mark relative to a line with as many points. */
static size_t effort (const gb_mark *m) {
  static const size_t a_point[GB_NMARK_KINDS] = {
      [GB_MARK_LINE] = 1,  [GB_MARK_SCATTER] = 8, [GB_MARK_BAND] = 2,   [GB_MARK_HEATMAP] = 8,
      [GB_MARK_BARS] = 4,  [GB_MARK_COLUMNS] = 4, [GB_MARK_ERRORS] = 6, [GB_MARK_TEXT] = 1,
      [GB_MARK_HLINE] = 1, [GB_MARK_VLINE] = 1};
  const size_t marked = m->kind == GB_MARK_LINE && m->style.marker >= 0 ? 8 : 1;
  return a_point[m->kind] * marked * m->n * (m->kind == GB_MARK_HEATMAP ? m->rows : 1);
}

/* Marks of a panel that are vectors all or, where they are too many, as far as their even share goes. In a picture of
** pixels everything but lines and dots is drawn by cairo. */
static bool is_too_much (const gb_canvas *c, const gb_panel *p, const gb_mark *m, size_t all) {
  if (m->kind == GB_MARK_TEXT) return false;
  if (gb_canvas_is_image(c)) return gb_mark_is_strokes(m) && effort(m) > STROKES / p->nmarks;
  if (m->kind == GB_MARK_HEATMAP) return true; /* viewers show seams between rectangles */
  return all > VECTORS / c->panels && effort(m) > VECTORS / c->panels / p->nmarks;
}

void gb_draw_marks (const gb_canvas *c, const gb_panel *p) {
  const size_t columns = (size_t)ceil((c->right - c->left) * GB_FINE);
  size_t all = 0;
  for (size_t i = 0; i < p->nmarks; i++) all += effort(&p->marks[i]);
  for (size_t i = 0; i < p->nmarks; i++) {
    const gb_mark *m = &p->marks[i];
    gb_mark thinned = {0};
    const bool thins = (m->kind == GB_MARK_LINE && m->style.marker < 0) || m->kind == GB_MARK_BAND;
    if (thins && gb_mark_thin(m, &c->x, columns, &thinned)) m = &thinned; /* otherwise all points are drawn */
    if (is_too_much(c, p, m, all)) gb_draw_raster(c, p, i, m);
    else gb_draw_mark(c, p, i, m);
    gb_mark_drop(&thinned);
  }
}
