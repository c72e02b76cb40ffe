/* save.c - figures as files. Text of an SVG, and how a figure was made, are added to what cairo writes. */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/interrupt.h"
#include "base/outfile.h"
#include "plot/picture/draw.h"
#include "plot/picture/picture.h"
#include "plot/picture/png.h"

typedef enum format { SVG, PDF, PNG, NFORMATS } format;

static const char svg_end[] = "</svg>\n";
enum { SVG_END = sizeof svg_end - 1 };

typedef struct sink {
  gb_outfile file;
  format as;
  const char *made;
  char tail[SVG_END]; /* SVG: the last bytes, which follow later */
  size_t held;
  gb_error *err;
  gb_status st;
} sink;

static void put (sink *s, const void *p, size_t n) {
  if (s->st == GB_OK) s->st = gb_outfile_write(&s->file, p, n, s->err);
}

/* -- SVG: the last bytes wait for what is added before them */

static void take_svg (sink *s, const unsigned char *p, size_t n) {
  const size_t out = s->held + n > SVG_END ? s->held + n - SVG_END : 0; /* bytes that can go */
  const size_t old = out < s->held ? out : s->held;
  put(s, s->tail, old);
  memmove(s->tail, s->tail + old, s->held - old);
  s->held -= old;
  put(s, p, out - old);
  memcpy(s->tail + s->held, p + (out - old), n - (out - old));
  s->held += n - (out - old);
}

static void finish_svg (sink *s, gb_page *page) {
  if (s->made[0] != '\0') {
    gb_page_print(page, "<metadata>");
    gb_page_escape(page, s->made);
    gb_page_print(page, "</metadata>\n");
  }
  if (page->svg != NULL) put(s, page->svg, page->length);
  put(s, s->tail, s->held);
}

/* An error ends what cairo does at the end of a document. */
static cairo_status_t take (void *ud, const unsigned char *p, unsigned n) {
  sink *s = ud;
  if (s->st == GB_OK && gb_interrupted()) s->st = gb_fail(s->err, GB_EINTR, "interrupted");
  if (s->as == SVG) take_svg(s, p, n);
  else put(s, p, n);
  return s->st == GB_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static format format_of (const char *path) {
  const char *end = strrchr(path, '.');
  static const char *const endings[NFORMATS] = {".svg", ".pdf", ".png"};
  for (int i = 0; end != NULL && i < NFORMATS; i++)
    if (strcasecmp(end, endings[i]) == 0) return (format)i;
  return NFORMATS;
}

static cairo_surface_t *surface_of (double width, double height, sink *to) {
  if (to->as == SVG) return cairo_svg_surface_create_for_stream(take, to, width, height);
  cairo_surface_t *s = cairo_pdf_surface_create_for_stream(take, to, width, height);
  if (to->made[0] != '\0') cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_SUBJECT, to->made);
  return s;
}

/* On return the surface is destroyed and has written its last byte. After Ctrl-C nothing but this is done. */
static cairo_status_t write_document (const gb_figure *f, double width, double height, sink *to) {
  cairo_surface_t *s = surface_of(width, height, to);
  gb_page page = {.cr = cairo_create(s), .gathers = to->as == SVG};
  const bool drawn = gb_draw_figure(&page, f, width, height);
  cairo_status_t rc = drawn ? cairo_status(page.cr) : CAIRO_STATUS_NO_MEMORY;
  cairo_destroy(page.cr);
  cairo_surface_finish(s);
  if (rc == CAIRO_STATUS_SUCCESS) rc = cairo_surface_status(s);
  cairo_surface_destroy(s);
  if (to->as == SVG && rc == CAIRO_STATUS_SUCCESS) finish_svg(to, &page);
  if (page.no_memory) rc = CAIRO_STATUS_NO_MEMORY;
  free(page.svg);
  return rc;
}

/* -- pixels, two a point each way */

static bool take_png (void *ud, const void *p, size_t n) {
  sink *s = ud;
  put(s, p, n);
  return s->st == GB_OK;
}

static bool take_row (void *ud, const uint32_t *pixels) { return gb_png_row(ud, pixels); }

static cairo_status_t write_pixels (const gb_figure *f, double width, double height, sink *to) {
  enum { FINE = 2 };
  const int w = (int)(FINE * width), h = (int)(FINE * height);
  gb_png png;
  bool good = gb_png_open(&png, (size_t)w, (size_t)h, false, to->made, take_png, to) &&
              gb_draw_pixels(f, w, h, FINE, take_row, &png);
  good = good && gb_png_finish(&png);
  gb_png_close(&png);
  return good ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

gb_status gb_figure_save (const gb_figure *f, const char *path, double width, double height, const char *made,
                          gb_error *err) {
  sink to = {.err = err, .as = format_of(path), .made = made == NULL ? "" : made};
  if (to.as == NFORMATS)
    return gb_fail(err, GB_EOPTION, "cannot tell the format of '%s': expected .svg, .png or .pdf", path);
  GB_TRY(gb_outfile_open(path, &to.file, err));
  const cairo_status_t rc = (to.as == PNG ? write_pixels : write_document)(f, width, height, &to);
  if (to.st == GB_OK && gb_interrupted()) to.st = gb_fail(err, GB_EINTR, "interrupted");
  if (to.st == GB_OK && rc != CAIRO_STATUS_SUCCESS)
    to.st = gb_fail(err, rc == CAIRO_STATUS_NO_MEMORY ? GB_ENOMEM : GB_EIO, "cannot write '%s': %s", path,
                    cairo_status_to_string(rc));
  if (to.st == GB_OK) return gb_outfile_commit(&to.file, err);
  gb_outfile_abandon(&to.file);
  return to.st;
}
