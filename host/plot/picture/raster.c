/* raster.c - marks that would take cairo too long as paths, as images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "plot/dense.h"
#include "plot/picture/marks.h"
#include "plot/picture/png.h"

enum {
  MOST_SIDE = 8192,      /* pixels of the longer side of an image */
  MOST_OF_SVG = 4 << 20, /* pixels of an image in an SVG */
  MOST_OF_PDF = 3 << 19, /* in a PDF, where cairo compresses them at the end in one call */
  MARGIN = 8             /* rows beyond those that are drawn, which filters read */
};

bool gb_mark_is_strokes (const gb_mark *m) { return m->kind == GB_MARK_LINE || m->kind == GB_MARK_SCATTER; }

typedef struct raster {
  double fine;            /* pixels per point */
  int top, width, height; /* row of the panel's image that the image begins with; pixels */
} raster;

static cairo_surface_type_t type_of (const gb_canvas *c) {
  return cairo_surface_get_type(cairo_get_target(c->cr));
}

static raster raster_of (const gb_canvas *c) {
  const double w = c->right - c->left, h = c->bottom - c->top;
  const double most = type_of(c) == CAIRO_SURFACE_TYPE_PDF ? MOST_OF_PDF : MOST_OF_SVG;
  double fine = fmin(GB_FINE, MOST_SIDE / fmax(w, h));
  if (!gb_canvas_is_image(c)) fine = fmin(fine, sqrt(most / (w * h)));
  const double rows = ceil(h * fine), first = fmax(floor((c->first - c->top) * fine) - MARGIN, 0),
               last = fmin(ceil((c->last - c->top) * fine) + MARGIN, rows);
  return (raster){fine, (int)first, (int)fmax(ceil(w * fine), 1), (int)fmax(last - first, 1)};
}

/* Lines and dots in time proportional to the pixels; cairo's strokes are much slower if many cross. */
static void cover (const gb_canvas *c, const raster *r, const gb_mark *m, gb_mask *mask) {
  const double width = gb_line_width(m) * r->fine;
  double lastx = NAN, lasty = NAN; /* previous point of a line */
  for (size_t i = 0; i < m->n && !gb_interrupted(); i++) {
    const double x = (gb_canvas_x(c, m->x[i]) - c->left) * r->fine,
                 y = (gb_canvas_y(c, m->y[i]) - c->top) * r->fine - r->top;
    const bool there = isfinite(x) && isfinite(y), line = m->kind == GB_MARK_LINE;
    if (there && !line) gb_mask_dot(mask, x, y, gb_dot_radius(m) * r->fine);
    if (there && line && isfinite(lastx)) {
      gb_mask_segment(mask, lastx, lasty, x, y, width);
      gb_mask_dot(mask, x, y, width / 2);
    }
    lastx = there ? x : NAN;
    lasty = y;
  }
}

/* Paints a mask of lines or dots. Dots cover each other by their opacity, a line does not cover itself. */
static void paint_strokes (const gb_canvas *on, const gb_canvas *c, const raster *r, const gb_mark *m,
                           gb_rgb k, double alpha) {
  cairo_surface_t *marks = cairo_image_surface_create(CAIRO_FORMAT_A8, r->width, r->height);
  const bool dots = m->kind == GB_MARK_SCATTER;
  if (cairo_surface_status(marks) == CAIRO_STATUS_SUCCESS) {
    cairo_surface_flush(marks);
    cover(c, r, m,
          &(gb_mask){.at = cairo_image_surface_get_data(marks),
                     .width = (size_t)r->width,
                     .height = (size_t)r->height,
                     .stride = (size_t)cairo_image_surface_get_stride(marks),
                     .ink = dots ? (unsigned char)fmax(round(255 * alpha), 1) : 255});
    cairo_surface_mark_dirty(marks);
  }
  gb_canvas_use(on, k, dots ? 1 : alpha);
  cairo_mask_surface(on->cr, marks, 0, 0);
  cairo_surface_destroy(marks);
}

typedef struct bytes {
  unsigned char *at;
  size_t n, room;
} bytes;

static bool keep (void *ud, const void *p, size_t n) {
  bytes *b = ud;
  if (b->n + n > b->room) {
    const size_t room = 2 * (b->n + n);
    unsigned char *more = realloc(b->at, room);
    if (more == NULL) return false;
    b->at = more;
    b->room = room;
  }
  if (n > 0) memcpy(b->at + b->n, p, n);
  b->n += n;
  return true;
}

/* An SVG takes the image as these bytes, which cairo would otherwise make in one call. Without memory it does. */
static void attach_png (cairo_surface_t *image) {
  const size_t width = (size_t)cairo_image_surface_get_width(image),
               height = (size_t)cairo_image_surface_get_height(image),
               stride = (size_t)cairo_image_surface_get_stride(image);
  bytes b = {0};
  gb_png png;
  cairo_surface_flush(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  bool good = gb_png_open(&png, width, height, true, "", keep, &b);
  for (size_t r = 0; good && r < height; r++)
    good = !gb_interrupted() && gb_png_row(&png, (const uint32_t *)(const void *)(data + r * stride));
  good = good && gb_png_finish(&png);
  gb_png_close(&png);
  if (good &&
      cairo_surface_set_mime_data(image, CAIRO_MIME_TYPE_PNG, b.at, b.n, free, b.at) == CAIRO_STATUS_SUCCESS)
    return;
  free(b.at);
}

/* Pages without pixels take marks as images. */
static void draw_through_image (const gb_canvas *c, const raster *r, const gb_panel *p, size_t i,
                                const gb_mark *m) {
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, r->width, r->height);
  gb_canvas on = *c;
  on.cr = cairo_create(image);
  if (gb_mark_is_strokes(m))
    paint_strokes(&on, c, r, m, gb_rgb_of(gb_mark_colour(p, i)), gb_mark_alpha(p, i));
  else {
    cairo_scale(on.cr, r->fine, r->fine);
    cairo_translate(on.cr, -c->left, -c->top - r->top / r->fine);
    gb_draw_mark(&on, p, i, m);
  }
  cairo_destroy(on.cr);
  if (type_of(c) == CAIRO_SURFACE_TYPE_SVG) attach_png(image);
  if (!gb_interrupted()) {
    cairo_set_source_surface(c->cr, image, 0, 0);
    cairo_paint(c->cr);
  }
  cairo_surface_destroy(image);
}

void gb_draw_raster (const gb_canvas *c, const gb_panel *p, size_t i, const gb_mark *m) {
  const raster r = raster_of(c);
  cairo_save(c->cr);
  cairo_translate(c->cr, c->left, c->top + r.top / r.fine);
  cairo_scale(c->cr, 1 / r.fine, 1 / r.fine);
  if (!gb_canvas_is_image(c)) draw_through_image(c, &r, p, i, m);
  else paint_strokes(c, c, &r, m, gb_rgb_of(gb_mark_colour(p, i)), gb_mark_alpha(p, i));
  cairo_restore(c->cr);
}
