/* canvas.h - a page in typographic points that cairo draws; text is gathered where the format has its own. */
#ifndef GB_PLOT_PICTURE_CANVAS_H
#define GB_PLOT_PICTURE_CANVAS_H

#include <cairo.h>

#include "plot/palette.h"
#include "plot/scale.h"

typedef struct gb_page {
  cairo_t *cr;
  bool gathers;   /* text is written to 'svg' in place of outlines */
  bool no_memory; /* some text was lost */
  double panel;   /* height of a panel with all that surrounds it */
  char *svg;      /* malloc'ed <text> elements */
  size_t length, room;
} gb_page;

/* A panel on the page. */
typedef struct gb_canvas {
  gb_page *page;
  cairo_t *cr;                     /* the page's, or that of an image of marks */
  double left, top, right, bottom; /* edges of the plotting area */
  double first, last;              /* rows of the page that are drawn now, within top to bottom */
  size_t panels;                   /* of the page */
  gb_scale x, y;
} gb_canvas;

static const gb_rgb gb_ink = {0.15, 0.15, 0.18}, gb_faint = {0.88, 0.88, 0.90}, gb_soft = {0.45, 0.45, 0.48};

typedef struct gb_font {
  double size;
  bool bold, upwards; /* upwards: turned to the left */
  gb_rgb colour;
  bool halo; /* white around the letters */
} gb_font;

double gb_canvas_x (const gb_canvas *c, double x);
double gb_canvas_y (const gb_canvas *c, double y);
/* Do finite places from y 'high' to 'low' on the page, or 'beyond' them, lie in the rows that are drawn? */
bool gb_canvas_shows (const gb_canvas *c, double high, double low, double beyond);
void gb_canvas_use (const gb_canvas *c, gb_rgb k, double alpha);

/* Text anchored at a fraction of its size: (0, 0) left top, (0.5, 1) centre bottom. */
void gb_page_text (gb_page *p, const char *s, double x, double y, double ax, double ay, gb_font font);
/* The same, with an ellipsis in place of what is wider than 'most' points. */
void gb_page_text_within (gb_page *p, const char *s, double x, double y, double ax, double ay, double most,
                          gb_font font);
double gb_page_text_width (gb_page *p, const char *s, double size, bool bold);

/* Adds text with &, < and > escaped, or formatted as it is. */
void gb_page_escape (gb_page *p, const char *s);
void gb_page_print (gb_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
