/* save.c - figures as files. Text of an SVG, and how a figure was made, are added to what cairo writes. */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/interrupt.h"
#include "base/outfile.h"
#include "plot/picture/draw.h"
#include "plot/picture/picture.h"

typedef enum format { SVG, PDF, PNG, NFORMATS } format;

static const char svg_end[] = "</svg>\n";
enum { SVG_END = sizeof svg_end - 1, PNG_LEAD = 33 /* the signature and the first chunk */ };

typedef struct sink {
  gb_outfile file;
  format as;
  const char *made;
  size_t seen;        /* bytes that cairo has written */
  char tail[SVG_END]; /* SVG: the last bytes, which follow later */
  size_t held;
  gb_error *err;
  gb_status st;
} sink;

static void put (sink *s, const void *p, size_t n) {
  if (s->st == GB_OK) s->st = gb_outfile_write(&s->file, p, n, s->err);
}

/* -- PNG: a chunk of text after the first */

static void put_u32 (unsigned char *p, size_t v) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static void put_png_text (sink *s) {
  static const char lead[] =
      "iTXtDescription\0\0\0\0"; /* not compressed, no language, no translated keyword */
  const size_t head = sizeof lead, text = strlen(s->made); /* with the NUL that ends the last field */
  unsigned char number[4];
  put_u32(number, head - 4 + text);
  put(s, number, 4);
  put(s, lead, head);
  put(s, s->made, text);
  uLong sum = crc32(0, (const Bytef *)lead, (uInt)head);
  put_u32(number, crc32(sum, (const Bytef *)s->made, (uInt)text));
  put(s, number, 4);
}

static void take_png (sink *s, const unsigned char *p, size_t n) {
  const size_t lead = s->seen < PNG_LEAD ? PNG_LEAD - s->seen : 0, first = lead < n ? lead : n;
  put(s, p, first);
  s->seen += n;
  if (lead > 0 && first == lead && s->made[0] != '\0') put_png_text(s);
  put(s, p + first, n - first);
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

static cairo_status_t take (void *ud, const unsigned char *p, unsigned n) {
  sink *s = ud;
  if (s->as == SVG) take_svg(s, p, n);
  else if (s->as == PNG) take_png(s, p, n);
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

static cairo_surface_t *surface_of (format as, double width, double height, sink *to) {
  if (as == SVG) return cairo_svg_surface_create_for_stream(take, to, width, height);
  if (as == PNG) return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(2 * width), (int)(2 * height));
  cairo_surface_t *s = cairo_pdf_surface_create_for_stream(take, to, width, height);
  if (to->made[0] != '\0') cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_SUBJECT, to->made);
  return s;
}

/* All bytes go through 'to'. On return the surface is destroyed and has written its last byte. */
static cairo_status_t render (const gb_figure *f, double width, double height, sink *to) {
  const format as = to->as;
  cairo_surface_t *s = surface_of(as, width, height, to);
  gb_page page = {.cr = cairo_create(s), .gathers = as == SVG};
  if (as == PNG) cairo_scale(page.cr, 2, 2);
  const bool drawn = gb_draw_figure(&page, f, width, height);
  cairo_status_t rc = drawn ? cairo_status(page.cr) : CAIRO_STATUS_NO_MEMORY;
  cairo_destroy(page.cr);
  if (as == PNG && rc == CAIRO_STATUS_SUCCESS) rc = cairo_surface_write_to_png_stream(s, take, to);
  cairo_surface_finish(s);
  if (rc == CAIRO_STATUS_SUCCESS) rc = cairo_surface_status(s);
  cairo_surface_destroy(s);
  if (as == SVG && rc == CAIRO_STATUS_SUCCESS) finish_svg(to, &page);
  if (page.no_memory) rc = CAIRO_STATUS_NO_MEMORY;
  free(page.svg);
  return rc;
}

gb_status gb_figure_save (const gb_figure *f, const char *path, double width, double height, const char *made,
                          gb_error *err) {
  sink to = {.err = err, .as = format_of(path), .made = made == NULL ? "" : made};
  if (to.as == NFORMATS)
    return gb_fail(err, GB_EOPTION, "cannot tell the format of '%s': expected .svg, .png or .pdf", path);
  GB_TRY(gb_outfile_open(path, &to.file, err));
  const cairo_status_t rc = render(f, width, height, &to);
  if (to.st == GB_OK && gb_interrupted()) to.st = gb_fail(err, GB_EINTR, "interrupted");
  if (to.st == GB_OK && rc != CAIRO_STATUS_SUCCESS)
    to.st = gb_fail(err, rc == CAIRO_STATUS_NO_MEMORY ? GB_ENOMEM : GB_EIO, "cannot write '%s': %s", path,
                    cairo_status_to_string(rc));
  if (to.st == GB_OK) return gb_outfile_commit(&to.file, err);
  gb_outfile_abandon(&to.file);
  return to.st;
}
