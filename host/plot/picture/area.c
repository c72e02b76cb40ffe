/* area.c - bands, bars and heat maps: polygons, cut into pieces where cairo needs them short. */
#include <math.h>

#include "base/interrupt.h"
#include "plot/picture/marks.h"

enum { PIECE = 1024 }; /* corners of a polygon in an image */

bool gb_canvas_is_image (const gb_canvas *c) {
  return cairo_surface_get_type(cairo_get_target(c->cr)) == CAIRO_SURFACE_TYPE_IMAGE;
}

static bool band_good (const gb_canvas *c, const gb_mark *m, size_t i) {
  return isfinite(gb_scale_at(&c->x, m->x[i])) && isfinite(gb_scale_at(&c->y, m->y[i])) &&
         isfinite(gb_scale_at(&c->y, m->hi[i]));
}

/* One polygon for each finite run; runs of more than 'piece' points become several polygons that share their
** ends. */
static void fill_band (const gb_canvas *c, const gb_mark *m, size_t piece) {
  for (size_t from = 0, to; from < m->n && !gb_interrupted(); from = to) {
    for (; from < m->n && !band_good(c, m, from); from++) {}
    for (to = from; to < m->n && to - from < piece && band_good(c, m, to); to++)
      cairo_line_to(c->cr, gb_canvas_x(c, m->x[to]), gb_canvas_y(c, m->hi[to]));
    for (size_t i = to; i-- > from;) cairo_line_to(c->cr, gb_canvas_x(c, m->x[i]), gb_canvas_y(c, m->y[i]));
    cairo_close_path(c->cr);
    cairo_fill(c->cr);
    if (to < m->n && band_good(c, m, to) && to - from > 1) to--;
  }
}

/* The time of a polygon in an image grows with the square of its points. Pieces are accumulated in a mask, so
** pixels that two pieces share are neither darker nor lighter. */
static void fill_in_pieces (const gb_canvas *c, const gb_mark *m, gb_rgb k, double alpha,
                            void (*fill)(const gb_canvas *, const gb_mark *, size_t piece)) {
  gb_canvas_use(c, k, alpha);
  if (!gb_canvas_is_image(c) || m->n <= PIECE) {
    fill(c, m, m->n);
    return;
  }
  cairo_push_group_with_content(c->cr, CAIRO_CONTENT_ALPHA);
  cairo_set_operator(c->cr, CAIRO_OPERATOR_ADD);
  cairo_set_source_rgba(c->cr, 0, 0, 0, 1);
  fill(c, m, PIECE);
  cairo_pattern_t *mask = cairo_pop_group(c->cr);
  gb_canvas_use(c, k, alpha);
  cairo_mask(c->cr, mask);
  cairo_pattern_destroy(mask);
}

void gb_draw_band (const gb_canvas *c, const gb_mark *m, gb_rgb k, double alpha) {
  fill_in_pieces(c, m, k, alpha, fill_band);
}

/* -- bars: 'across' counts along the axis that the bars stand on, 'length' along the other */

static double across (const gb_mark *m, size_t i) { return m->kind == GB_MARK_BARS ? m->y[i] : m->x[i]; }
static double length (const gb_mark *m, size_t i) { return m->kind == GB_MARK_BARS ? m->x[i] : m->y[i]; }

/* On a logarithmic axis bars begin at its end. */
static void corner (const gb_canvas *c, const gb_mark *m, double at, double reach) {
  const bool flat = m->kind == GB_MARK_BARS;
  const gb_scale *s = flat ? &c->x : &c->y;
  const double end = s->log && !(reach > 0) ? s->lo : reach;
  if (flat) cairo_line_to(c->cr, gb_canvas_x(c, end), gb_canvas_y(c, at));
  else cairo_line_to(c->cr, gb_canvas_x(c, at), gb_canvas_y(c, end));
}

static bool bar_good (const gb_mark *m, size_t i) { return isfinite(m->x[i]) && isfinite(m->y[i]); }

/* Runs of upright bars cross the rows that are drawn, wherever these are. */
static bool bar_shows (const gb_canvas *c, const gb_mark *m, size_t i) {
  const double high = gb_canvas_y(c, m->y[i] + m->extent / 2), low = gb_canvas_y(c, m->y[i] - m->extent / 2);
  return m->kind != GB_MARK_BARS || !isfinite(high + low) || gb_canvas_shows(c, high, low, 1);
}

/* Is bar i + 1 next to bar i, one thickness on (down = -1) or back (1)? */
static bool is_followed (const gb_mark *m, size_t i, double down) {
  return i + 1 < m->n && bar_good(m, i + 1) &&
         fabs(across(m, i) - down * m->extent - across(m, i + 1)) < 1e-6 * m->extent;
}

/* One polygon for each run of bars that touch, of 'piece' bars at most. */
static void fill_bars (const gb_canvas *c, const gb_mark *m, size_t piece) {
  for (size_t from = 0, i = 0; i < m->n && !gb_interrupted(); from = ++i) {
    if (!bar_good(m, i) || !bar_shows(c, m, i)) continue;
    const double down = is_followed(m, i, -1) ? -1 : 1, half = down * m->extent / 2;
    corner(c, m, across(m, i) + half, 0);
    for (bool more = true; more; i += more) {
      corner(c, m, across(m, i) + half, length(m, i));
      corner(c, m, across(m, i) - half, length(m, i));
      more = is_followed(m, i, down) && i + 1 - from < piece;
    }
    corner(c, m, across(m, i) - half, 0);
    cairo_close_path(c->cr);
    cairo_fill(c->cr);
  }
}

void gb_draw_bars (const gb_canvas *c, const gb_mark *m, gb_rgb k, double alpha) {
  fill_in_pieces(c, m, k, alpha, fill_bars);
}

/* Edges of cells; what lies below a logarithmic axis ends where that begins. */
static double edge_x (const gb_canvas *c, double x) {
  return c->x.log && !(x > 0) ? c->left : gb_canvas_x(c, x);
}
static double edge_y (const gb_canvas *c, double y) {
  return c->y.log && !(y > 0) ? c->bottom : gb_canvas_y(c, y);
}

/* Cells that are not finite stay white. In pixels, edges between cells are sharp: two smooth ones would let the page
** through. */
void gb_draw_heatmap (const gb_canvas *c, const gb_mark *m) {
  double lo, hi;
  if (!gb_mark_levels(m, &lo, &hi)) return;
  if (gb_canvas_is_image(c)) cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE);
  const double dx = m->n > 1 ? (m->x[1] - m->x[0]) / (double)(m->n - 1) : 1;
  const double dy = m->rows > 1 ? (m->y[1] - m->y[0]) / (double)(m->rows - 1) : 1;
  for (size_t r = 0; r < m->rows && !gb_interrupted(); r++) {
    const double high = edge_y(c, m->y[0] + ((double)r + 0.5) * dy),
                 low = edge_y(c, m->y[0] + ((double)r - 0.5) * dy);
    if (!gb_canvas_shows(c, high, low, 1)) continue;
    for (size_t q = 0; q < m->n; q++) {
      const double v = m->hi[r * m->n + q], t = hi > lo ? (v - lo) / (hi - lo) : 0.5;
      if (!isfinite(v)) continue;
      gb_canvas_use(c, gb_colour_map(t), 1);
      const double x0 = edge_x(c, m->x[0] + ((double)q - 0.5) * dx),
                   x1 = edge_x(c, m->x[0] + ((double)q + 0.5) * dx);
      if (!isfinite(x0 + x1)) continue;
      cairo_rectangle(c->cr, x0, high, x1 - x0 + 0.3, low - high + 0.3); /* no seams */
      cairo_fill(c->cr);
    }
  }
  cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
}
