/* cairo.c - figures as SVG, PNG and PDF. */
#include "plot/figure.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/interrupt.h"
#include "base/outfile.h"
#include "plot/dense.h"

typedef struct colour {
  double r, g, b;
} colour;

/* Distinguishable in the common forms of colour blindness. Source: Okabe & Ito (2008). */
static const colour palette[] = {
    {0.00, 0.45, 0.70}, {0.84, 0.37, 0.00}, {0.00, 0.62, 0.45}, {0.80, 0.47, 0.65},
    {0.90, 0.62, 0.00}, {0.34, 0.71, 0.91}, {0.35, 0.35, 0.35},
};
enum { NPALETTE = sizeof palette / sizeof palette[0] };
static const colour ink = {0.15, 0.15, 0.18}, faint = {0.88, 0.88, 0.90};

enum {
  PIECE = 2048,      /* points that are drawn between two polls for Ctrl-C */
  VECTORS = 500000,  /* most points of lines written as vectors: cairo writes them at the end in one call */
  STROKES = 20000,   /* most points drawn as strokes in a PNG: crossing strokes are slow */
  FINE = 4,          /* pixels (and columns of a line) per typographic point of a rasterised series */
  MOST_PIXELS = 8192 /* limit of the longer side of such an image */
};

typedef struct canvas {
  cairo_t *cr;
  double left, top, right, bottom; /* edges of the plotting area */
  gb_range x, y;
} canvas;

static double px (const canvas *c, double x) {
  return c->left + (x - c->x.lo) / (c->x.hi - c->x.lo) * (c->right - c->left);
}
static double py (const canvas *c, double y) {
  return c->bottom - (y - c->y.lo) / (c->y.hi - c->y.lo) * (c->bottom - c->top);
}

static void use (const canvas *c, colour k, double alpha) {
  cairo_set_source_rgba(c->cr, k.r, k.g, k.b, alpha);
}

/* Text anchored at a fraction of its own size: (0, 0) left top, (0.5, 1) centre bottom. */
static void text (const canvas *c, const char *s, double x, double y, double ax, double ay) {
  cairo_text_extents_t e;
  cairo_text_extents(c->cr, s, &e);
  cairo_move_to(c->cr, x - ax * e.width - e.x_bearing, y - ay * e.height - e.y_bearing);
  cairo_show_text(c->cr, s);
}

/* Ticks whose texts would touch the one before are left out. */
static void draw_yaxis (const canvas *c, const gb_figure *f) {
  enum { LINE = 12 };
  char buf[32];
  double t, last = INFINITY, edge = 1e-9 * c->y.step;
  const char *label;
  for (size_t i = 0; (label = gb_figure_ytick(f, &c->y, i, &t, buf)) != NULL; i++) {
    if (!(t >= c->y.lo - edge && t <= c->y.hi + edge) || fabs(last - py(c, t)) < LINE) continue;
    use(c, faint, 1);
    cairo_move_to(c->cr, c->left, py(c, t));
    cairo_line_to(c->cr, c->right, py(c, t));
    cairo_stroke(c->cr);
    use(c, ink, 1);
    text(c, label, c->left - 6, py(c, t), 1, 0.5);
    last = py(c, t);
  }
}

static void draw_axes (const canvas *c, const gb_figure *f) {
  char label[32];
  cairo_set_line_width(c->cr, 1);
  cairo_set_font_size(c->cr, 11);
  for (double t = gb_range_first_tick(&c->x); t <= c->x.hi; t += c->x.step) {
    use(c, faint, 1);
    cairo_move_to(c->cr, px(c, t), c->top);
    cairo_line_to(c->cr, px(c, t), c->bottom);
    cairo_stroke(c->cr);
    use(c, ink, 1);
    gb_range_label(&c->x, t, label);
    text(c, label, px(c, t), c->bottom + 6, 0.5, 0);
  }
  draw_yaxis(c, f);
}

static void draw_labels (const canvas *c, const gb_figure *f, double height) {
  use(c, ink, 1);
  cairo_set_font_size(c->cr, 12);
  if (f->xlabel != NULL) text(c, f->xlabel, (c->left + c->right) / 2, height - 8, 0.5, 1);
  if (f->ylabel != NULL && f->ylabel[0] != '\0') {
    cairo_save(c->cr);
    cairo_translate(c->cr, 8, (c->top + c->bottom) / 2);
    cairo_rotate(c->cr, -M_PI / 2);
    text(c, f->ylabel, 0, 0, 0.5, 0);
    cairo_restore(c->cr);
  }
  cairo_select_font_face(c->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
  cairo_set_font_size(c->cr, 14);
  if (f->title != NULL) text(c, f->title, (c->left + c->right) / 2, 10, 0.5, 0);
  cairo_select_font_face(c->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
}

static const double line_width = 1.6, scatter_alpha = 0.85;
static double dot_radius (const gb_series *s) { return s->n > 300 ? 1.4 : 2.4; }

/* A line is interrupted at values that are not finite. */
static void draw_line (const canvas *c, const gb_series *s, colour k) {
  bool pen = false;
  use(c, k, 1);
  cairo_set_line_width(c->cr, line_width);
  for (size_t i = 0; i < s->n && !gb_interrupted(); i++) {
    const bool good = isfinite(s->x[i]) && isfinite(s->y[i]);
    if (good && pen) cairo_line_to(c->cr, px(c, s->x[i]), py(c, s->y[i]));
    else if (good) cairo_move_to(c->cr, px(c, s->x[i]), py(c, s->y[i]));
    pen = good;
    if (!good || i % PIECE != PIECE - 1) continue;
    cairo_stroke(c->cr);
    cairo_move_to(c->cr, px(c, s->x[i]), py(c, s->y[i]));
  }
  cairo_stroke(c->cr);
}

static void draw_scatter (const canvas *c, const gb_series *s, colour k) {
  const double r = dot_radius(s);
  use(c, k, scatter_alpha);
  for (size_t i = 0; i < s->n; i++) {
    if (!isfinite(s->x[i]) || !isfinite(s->y[i])) continue;
    cairo_new_sub_path(c->cr);
    cairo_arc(c->cr, px(c, s->x[i]), py(c, s->y[i]), r, 0, 2 * M_PI);
    if (i % PIECE == PIECE - 1) cairo_fill(c->cr);
    if (gb_interrupted()) return;
  }
  cairo_fill(c->cr);
}

static bool band_good (const gb_series *s, size_t i) {
  return isfinite(s->x[i]) && isfinite(s->y[i]) && isfinite(s->hi[i]);
}

/* One polygon for each finite run; runs of more than 'piece' points become several polygons that share their
** ends. */
static void fill_band (const canvas *c, const gb_series *s, size_t piece) {
  for (size_t from = 0, to; from < s->n && !gb_interrupted(); from = to) {
    for (; from < s->n && !band_good(s, from); from++) {}
    for (to = from; to < s->n && to - from < piece && band_good(s, to); to++)
      cairo_line_to(c->cr, px(c, s->x[to]), py(c, s->hi[to]));
    for (size_t i = to; i-- > from;) cairo_line_to(c->cr, px(c, s->x[i]), py(c, s->y[i]));
    cairo_close_path(c->cr);
    cairo_fill(c->cr);
    if (to < s->n && band_good(s, to)) to--;
  }
}

static bool is_image (const canvas *c) {
  return cairo_surface_get_type(cairo_get_target(c->cr)) == CAIRO_SURFACE_TYPE_IMAGE;
}

/* The time of a polygon in an image grows with the square of its points. Pieces are accumulated in a mask, so
** pixels that two pieces share are neither darker nor lighter. */
static void fill_in_pieces (const canvas *c, const gb_series *s, colour k, double alpha,
                            void (*fill)(const canvas *, const gb_series *, size_t piece)) {
  use(c, k, alpha);
  if (!is_image(c) || s->n <= PIECE) {
    fill(c, s, s->n);
    return;
  }
  cairo_push_group_with_content(c->cr, CAIRO_CONTENT_ALPHA);
  cairo_set_operator(c->cr, CAIRO_OPERATOR_ADD);
  cairo_set_source_rgba(c->cr, 0, 0, 0, 1);
  fill(c, s, PIECE);
  cairo_pattern_t *mask = cairo_pop_group(c->cr);
  use(c, k, alpha);
  cairo_mask(c->cr, mask);
  cairo_pattern_destroy(mask);
}

static void draw_heatmap (const canvas *c, const gb_series *s) {
  double lo = INFINITY, hi = -INFINITY;
  for (size_t i = 0; i < s->n * s->rows; i++)
    if (isfinite(s->hi[i])) lo = fmin(lo, s->hi[i]), hi = fmax(hi, s->hi[i]);
  const double dx = s->n > 1 ? (s->x[1] - s->x[0]) / (double)(s->n - 1) : 1;
  const double dy = s->rows > 1 ? (s->y[1] - s->y[0]) / (double)(s->rows - 1) : 1;
  for (size_t r = 0; r < s->rows; r++)
    for (size_t q = 0; q < s->n && !gb_interrupted(); q++) {
      const double v = s->hi[r * s->n + q], t = hi > lo ? (v - lo) / (hi - lo) : 0.5;
      if (!isfinite(v)) continue;
      cairo_set_source_rgb(c->cr, 0.99 - 0.93 * t, 0.97 - 0.72 * t, 0.90 - 0.42 * t);
      const double x0 = px(c, s->x[0] + ((double)q - 0.5) * dx), x1 = px(c, s->x[0] + ((double)q + 0.5) * dx);
      const double y0 = py(c, s->y[0] + ((double)r + 0.5) * dy), y1 = py(c, s->y[0] + ((double)r - 0.5) * dy);
      cairo_rectangle(c->cr, x0, y0, x1 - x0 + 0.3, y1 - y0 + 0.3);
      cairo_fill(c->cr);
    }
}

static bool bar_good (const gb_series *s, size_t i) { return isfinite(s->x[i]) && isfinite(s->y[i]); }

/* Is bar i + 1 next to bar i, below it (down = 1) or above (-1)? */
static bool is_followed (const gb_series *s, size_t i, double down) {
  return i + 1 < s->n && bar_good(s, i + 1) && fabs(s->y[i] - down - s->y[i + 1]) < 1e-6;
}

/* One polygon for each run of bars that touch, of 'piece' bars at most. */
static void fill_bars (const canvas *c, const gb_series *s, size_t piece) {
  for (size_t from = 0, i = 0; i < s->n && !gb_interrupted(); from = ++i) {
    if (!bar_good(s, i)) continue;
    const double down = is_followed(s, i, -1) ? -1 : 1, half = down / 2;
    cairo_move_to(c->cr, px(c, 0), py(c, s->y[i] + half));
    for (bool more = true; more; i += more) {
      cairo_line_to(c->cr, px(c, s->x[i]), py(c, s->y[i] + half));
      cairo_line_to(c->cr, px(c, s->x[i]), py(c, s->y[i] - half));
      more = is_followed(s, i, down) && i + 1 - from < piece;
    }
    cairo_line_to(c->cr, px(c, 0), py(c, s->y[i] - half));
    cairo_close_path(c->cr);
    cairo_fill(c->cr);
  }
}

static colour colour_of (const gb_figure *f, size_t i) { return palette[gb_series_colour(f, i) % NPALETTE]; }

static void draw_series (const canvas *c, const gb_series *s, colour k) {
  switch (s->kind) {
    case GB_SERIES_LINE: draw_line(c, s, k); break;
    case GB_SERIES_SCATTER: draw_scatter(c, s, k); break;
    case GB_SERIES_BAND: fill_in_pieces(c, s, k, 0.22, fill_band); break;
    case GB_SERIES_HEATMAP: draw_heatmap(c, s); break;
    case GB_SERIES_BARS: fill_in_pieces(c, s, k, 1, fill_bars); break;
  }
}

/* -- series that would take cairo too long: rasterised here */

static double fineness (const canvas *c) {
  return fmin(FINE, MOST_PIXELS / fmax(c->right - c->left, c->bottom - c->top));
}

/* Lines and dots in time proportional to the pixels; cairo's strokes are much slower if many cross. */
static void cover (const canvas *c, const gb_series *s, gb_mask *m) {
  const double fine = fineness(c);
  double lastx = NAN, lasty = NAN; /* previous point of a line */
  for (size_t i = 0; i < s->n && !gb_interrupted(); i++) {
    const double x = (px(c, s->x[i]) - c->left) * fine, y = (py(c, s->y[i]) - c->top) * fine;
    const bool there = isfinite(x) && isfinite(y), line = s->kind == GB_SERIES_LINE;
    if (there && !line) gb_mask_dot(m, x, y, dot_radius(s) * fine);
    if (there && line && isfinite(lastx)) {
      gb_mask_segment(m, lastx, lasty, x, y, line_width * fine);
      gb_mask_dot(m, x, y, line_width * fine / 2);
    }
    lastx = there ? x : NAN;
    lasty = y;
  }
}

static void paint_marks (const canvas *on, const canvas *c, const gb_series *s, colour k, int width,
                         int height) {
  cairo_surface_t *marks = cairo_image_surface_create(CAIRO_FORMAT_A8, width, height);
  if (cairo_surface_status(marks) == CAIRO_STATUS_SUCCESS) {
    cairo_surface_flush(marks);
    cover(c, s,
          &(gb_mask){cairo_image_surface_get_data(marks), (size_t)width, (size_t)height,
                     (size_t)cairo_image_surface_get_stride(marks)});
    cairo_surface_mark_dirty(marks);
  }
  use(on, k, s->kind == GB_SERIES_SCATTER ? scatter_alpha : 1);
  cairo_mask_surface(on->cr, marks, 0, 0);
  cairo_surface_destroy(marks);
}

static void draw_as_image (const canvas *c, const gb_series *s, colour k) {
  const double fine = fineness(c);
  const int width = (int)ceil((c->right - c->left) * fine), height = (int)ceil((c->bottom - c->top) * fine);
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
  canvas on = *c;
  on.cr = cairo_create(image);
  if (s->kind == GB_SERIES_LINE || s->kind == GB_SERIES_SCATTER) paint_marks(&on, c, s, k, width, height);
  else {
    cairo_scale(on.cr, fine, fine);
    cairo_translate(on.cr, -c->left, -c->top);
    draw_series(&on, s, k);
  }
  cairo_destroy(on.cr);
  cairo_save(c->cr);
  cairo_translate(c->cr, c->left, c->top);
  cairo_scale(c->cr, 1 / fine, 1 / fine);
  cairo_set_source_surface(c->cr, image, 0, 0);
  cairo_paint(c->cr);
  cairo_restore(c->cr);
  cairo_surface_destroy(image);
}

/* Cost of a series relative to a line with as many points. */
static size_t effort (const gb_series *s) {
  static const size_t a_point[] = {[GB_SERIES_LINE] = 1,
                                   [GB_SERIES_SCATTER] = 8,
                                   [GB_SERIES_BAND] = 2,
                                   [GB_SERIES_HEATMAP] = 8,
                                   [GB_SERIES_BARS] = 4};
  return a_point[s->kind] * s->n * (s->kind == GB_SERIES_HEATMAP ? s->rows : 1);
}

/* Everything but lines and dots is drawn by cairo in either case. */
static bool is_too_much (const canvas *c, const gb_series *s, size_t nseries) {
  if (!is_image(c)) return effort(s) > VECTORS / nseries;
  return (s->kind == GB_SERIES_LINE || s->kind == GB_SERIES_SCATTER) && effort(s) > STROKES / nseries;
}

static void draw_all_series (const canvas *c, const gb_figure *f) {
  const size_t columns = (size_t)ceil((c->right - c->left) * FINE);
  for (size_t i = 0; i < f->nseries; i++) {
    const gb_series *s = &f->series[i];
    gb_series thinned = {0};
    const bool thins = s->kind == GB_SERIES_LINE || s->kind == GB_SERIES_BAND;
    if (thins && gb_series_thin(s, &c->x, columns, &thinned))
      s = &thinned; /* otherwise all points are drawn */
    if (is_too_much(c, s, f->nseries)) draw_as_image(c, s, colour_of(f, i));
    else draw_series(c, s, colour_of(f, i));
    gb_series_drop(&thinned);
  }
}

static void draw_legend (const canvas *c, const gb_figure *f) {
  double y = c->top + 14;
  cairo_set_font_size(c->cr, 11);
  for (size_t i = 0; i < f->nseries; i++) {
    const gb_series *s = &f->series[i];
    if (s->label[0] == '\0') continue;
    const colour k = colour_of(f, i);
    const double x = c->left + 12;
    use(c, k, s->kind == GB_SERIES_BAND ? 0.22 : 1);
    if (s->kind == GB_SERIES_SCATTER) cairo_arc(c->cr, x + 9, y, 2.6, 0, 2 * M_PI);
    else
      cairo_rectangle(c->cr, x, y - (s->kind == GB_SERIES_LINE ? 1 : 5), 18,
                      s->kind == GB_SERIES_LINE ? 2 : 10);
    cairo_fill(c->cr);
    use(c, ink, 1);
    text(c, s->label, x + 24, y, 0, 0.5);
    y += 17;
  }
}

static void draw (cairo_t *cr, const gb_figure *f, double width, double height) {
  canvas c = {.cr = cr, .left = 66, .top = 34, .right = width - 18, .bottom = height - 46};
  gb_figure_ranges(f, &c.x, &c.y);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  draw_axes(&c, f);
  cairo_save(cr);
  cairo_rectangle(cr, c.left, c.top, c.right - c.left, c.bottom - c.top);
  cairo_clip(cr);
  draw_all_series(&c, f);
  cairo_restore(cr);
  use(&c, ink, 1);
  cairo_set_line_width(cr, 1);
  cairo_rectangle(cr, c.left, c.top, c.right - c.left, c.bottom - c.top);
  cairo_stroke(cr);
  draw_legend(&c, f);
  draw_labels(&c, f, height);
}

typedef struct sink {
  gb_outfile file;
  gb_error *err;
  gb_status st;
} sink;

static cairo_status_t take (void *ud, const unsigned char *p, unsigned n) {
  sink *s = ud;
  if (s->st == GB_OK) s->st = gb_outfile_write(&s->file, p, n, s->err);
  return s->st == GB_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

typedef enum format { SVG, PDF, PNG, NFORMATS } format;

static format format_of (const char *path) {
  const char *end = strrchr(path, '.');
  static const char *const endings[NFORMATS] = {".svg", ".pdf", ".png"};
  for (int i = 0; end != NULL && i < NFORMATS; i++)
    if (strcasecmp(end, endings[i]) == 0) return (format)i;
  return NFORMATS;
}

/* All bytes go through 'to'. On return the surface is destroyed and has written its last byte. */
static cairo_status_t render (const gb_figure *f, format as, double width, double height, sink *to) {
  cairo_surface_t *s =
      as == SVG   ? cairo_svg_surface_create_for_stream(take, to, width, height)
      : as == PDF ? cairo_pdf_surface_create_for_stream(take, to, width, height)
                  : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(2 * width), (int)(2 * height));
  cairo_t *cr = cairo_create(s);
  if (as == PNG) cairo_scale(cr, 2, 2);
  draw(cr, f, width, height);
  cairo_status_t rc = cairo_status(cr);
  cairo_destroy(cr);
  if (as == PNG && rc == CAIRO_STATUS_SUCCESS) rc = cairo_surface_write_to_png_stream(s, take, to);
  cairo_surface_finish(s);
  if (rc == CAIRO_STATUS_SUCCESS) rc = cairo_surface_status(s);
  cairo_surface_destroy(s);
  return rc;
}

gb_status gb_figure_save (const gb_figure *f, const char *path, double width, double height, gb_error *err) {
  const format as = format_of(path);
  if (as == NFORMATS)
    return gb_fail(err, GB_EOPTION, "cannot tell the format of '%s': expected .svg, .png or .pdf", path);
  sink to = {.err = err};
  GB_TRY(gb_outfile_open(path, &to.file, err));
  const cairo_status_t rc = render(f, as, width, height, &to);
  if (to.st == GB_OK && gb_interrupted()) to.st = gb_fail(err, GB_EINTR, "interrupted");
  if (to.st == GB_OK && rc != CAIRO_STATUS_SUCCESS)
    to.st = gb_fail(err, rc == CAIRO_STATUS_NO_MEMORY ? GB_ENOMEM : GB_EIO, "cannot write '%s': %s", path,
                    cairo_status_to_string(rc));
  if (to.st == GB_OK) return gb_outfile_commit(&to.file, err);
  gb_outfile_abandon(&to.file);
  return to.st;
}
