/* canvas.c - places and text on a page. */
#include "plot/picture/canvas.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/utf8.h"

double gb_canvas_x (const gb_canvas *c, double x) {
  return c->left + gb_scale_at(&c->x, x) * (c->right - c->left);
}

double gb_canvas_y (const gb_canvas *c, double y) {
  return c->bottom - gb_scale_at(&c->y, y) * (c->bottom - c->top);
}

bool gb_canvas_shows (const gb_canvas *c, double high, double low, double beyond) {
  return isfinite(high + low) && low + beyond >= c->first && high - beyond <= c->last;
}

void gb_canvas_use (const gb_canvas *c, gb_rgb k, double alpha) {
  cairo_set_source_rgba(c->cr, k.r, k.g, k.b, alpha);
}

static void set_font (gb_page *p, double size, bool bold) {
  cairo_select_font_face(p->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(p->cr, size);
}

double gb_page_text_width (gb_page *p, const char *s, double size, bool bold) {
  cairo_text_extents_t e;
  set_font(p, size, bold);
  cairo_text_extents(p->cr, s, &e);
  return e.x_advance;
}

void gb_page_print (gb_page *p, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const int n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0 || p->no_memory) return;
  if (p->length + (size_t)n + 1 > p->room) {
    const size_t room = 2 * (p->length + (size_t)n + 1);
    char *more = realloc(p->svg, room);
    if (more == NULL) {
      p->no_memory = true;
      return;
    }
    p->svg = more;
    p->room = room;
  }
  va_start(args, fmt);
  vsnprintf(p->svg + p->length, p->room - p->length, fmt, args);
  va_end(args);
  p->length += (size_t)n;
}

void gb_page_escape (gb_page *p, const char *s) {
  for (size_t n; *s != '\0'; s += n > 0 ? n : 1) {
    const unsigned char c = (unsigned char)*s;
    n = gb_utf8_length(s);
    if (n == 0) gb_page_print(p, GB_UTF8_REPLACEMENT);
    else if (n > 1) gb_page_print(p, "%.*s", (int)n, s);
    else if (c == '&') gb_page_print(p, "&amp;");
    else if (c == '<') gb_page_print(p, "&lt;");
    else if (c == '>') gb_page_print(p, "&gt;");
    else gb_page_print(p, "%c", c < 0x20 && c != '\n' && c != '\t' ? ' ' : c); /* no other control is XML */
  }
}

/* Heights of capitals and of descents of common sans-serif faces, as shares of the size. */
static const double capital = 0.73, descent = 0.21;

static void gather (gb_page *p, const char *s, double x, double baseline, double ax, gb_font f) {
  const char *anchor = ax < 0.25 ? "start" : ax > 0.75 ? "end" : "middle";
  gb_page_print(p,
                "<text x=\"%.2f\" y=\"%.2f\" font-family=\"sans-serif\" font-size=\"%g\" text-anchor=\"%s\"",
                x, baseline, f.size, anchor);
  if (f.bold) gb_page_print(p, " font-weight=\"bold\"");
  if (f.upwards) gb_page_print(p, " transform=\"rotate(-90 %.2f %.2f)\"", x, baseline);
  if (f.halo) gb_page_print(p, " stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"");
  gb_page_print(p, " fill=\"#%02x%02x%02x\">", (unsigned)lround(255 * f.colour.r),
                (unsigned)lround(255 * f.colour.g), (unsigned)lround(255 * f.colour.b));
  gb_page_escape(p, s);
  gb_page_print(p, "</text>\n");
}

void gb_page_text (gb_page *p, const char *s, double x, double y, double ax, double ay, gb_font f) {
  if (s == NULL || s[0] == '\0') return;
  const double below = ay < 0.25 ? capital : ay > 0.75 ? -descent : capital / 2;
  if (p->gathers) {
    gather(p, s, f.upwards ? x + below * f.size : x, f.upwards ? y : y + below * f.size, ax, f);
    return;
  }
  const double width = gb_page_text_width(p, s, f.size, f.bold);
  cairo_save(p->cr);
  cairo_set_source_rgb(p->cr, f.colour.r, f.colour.g, f.colour.b);
  cairo_translate(p->cr, x, y);
  if (f.upwards) cairo_rotate(p->cr, -M_PI / 2);
  if (f.halo) {
    cairo_move_to(p->cr, -ax * width, below * f.size);
    cairo_text_path(p->cr, s);
    cairo_set_source_rgb(p->cr, 1, 1, 1);
    cairo_set_line_width(p->cr, 3);
    cairo_set_line_join(p->cr, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(p->cr);
    cairo_set_source_rgb(p->cr, f.colour.r, f.colour.g, f.colour.b);
  }
  cairo_move_to(p->cr, -ax * width, below * f.size);
  cairo_show_text(p->cr, s);
  cairo_restore(p->cr);
}

/* The longest beginning of whole characters, of 'n' bytes at most. */
static size_t whole (const char *s, size_t n) {
  while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) n--;
  return n;
}

void gb_page_text_within (gb_page *p, const char *s, double x, double y, double ax, double ay, double most,
                          gb_font f) {
  enum { LONGEST = 400 };
  char cut[LONGEST + 4];
  if (s == NULL || gb_page_text_width(p, s, f.size, f.bold) <= most) {
    gb_page_text(p, s, x, y, ax, ay, f);
    return;
  }
  size_t fits = 0, over = strlen(s) < LONGEST
                              ? strlen(s)
                              : LONGEST; /* bytes that fit with the ellipsis, and that do not */
  while (over - fits > 1) {
    const size_t middle = (fits + over) / 2, n = whole(s, middle);
    snprintf(cut, sizeof cut, "%.*s\u2026", (int)n, s);
    if (gb_page_text_width(p, cut, f.size, f.bold) <= most) fits = middle;
    else over = middle;
  }
  snprintf(cut, sizeof cut, "%.*s\u2026", (int)whole(s, fits), s);
  gb_page_text(p, cut, x, y, ax, ay, f);
}
