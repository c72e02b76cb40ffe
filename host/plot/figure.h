/* figure.h - a figure is a display list: panels in rows and columns, each with two axes and a list of marks.
** The renderers of pictures and of text draw the same list. */
#ifndef GB_PLOT_FIGURE_H
#define GB_PLOT_FIGURE_H

#include <stdbool.h>

#include "base/status.h"

typedef enum gb_mark_kind {
  GB_MARK_LINE,
  GB_MARK_SCATTER,
  GB_MARK_BAND,
  GB_MARK_HEATMAP,
  GB_MARK_BARS,    /* horizontal, from 0 to x around the height y */
  GB_MARK_COLUMNS, /* vertical, from 0 to y around x */
  GB_MARK_ERRORS,  /* vertical, with caps */
  GB_MARK_TEXT,    /* at one point */
  GB_MARK_HLINE,   /* across the panel at y[0] */
  GB_MARK_VLINE,   /* across the panel at x[0] */
  GB_NMARK_KINDS
} gb_mark_kind;

typedef enum gb_dash { GB_DASH_SOLID, GB_DASH_DASHED, GB_DASH_DOTTED, GB_DASH_DASHDOT, GB_NDASHES } gb_dash;

typedef enum gb_marker {
  GB_MARKER_CIRCLE,
  GB_MARKER_SQUARE,
  GB_MARKER_TRIANGLE,
  GB_MARKER_DIAMOND,
  GB_MARKER_PLUS,
  GB_MARKER_CROSS
} gb_marker;

typedef struct gb_style {
  int colour;   /* index into the palette, or GB_COLOUR_RGB | 0xrrggbb; -1: by order */
  int dash;     /* gb_dash; -1: by order */
  int marker;   /* gb_marker; -1: dots of a scatter, none on a line */
  double width; /* of lines, in points; 0: by the kind */
  double size;  /* diameter of markers, height of text, in points; 0: by the kind */
  double alpha; /* 0 < alpha <= 1; 0: by the kind */
} gb_style;

enum { GB_COLOUR_RGB = 1 << 24 };
#define GB_STYLE_BY_ORDER ((gb_style){.colour = -1, .dash = -1, .marker = -1})

typedef struct gb_mark {
  gb_mark_kind kind;
  size_t n;    /* points; HEATMAP: columns */
  size_t rows; /* HEATMAP: rows, row 0 at the bottom */
  double *x,
      *y;     /* (n); BAND, ERRORS: y is the lower bound; HEATMAP: x and y are {first, last} cell centres */
  double *hi; /* BAND, ERRORS: (n) upper bound; HEATMAP: (rows, n) values */
  double extent;    /* BARS, COLUMNS: thickness, in units of the axis */
  double low, high; /* HEATMAP: values of the ends of the colour map; NAN: by the values */
  char *label;      /* "" = not in the legend; HEATMAP: beside the colour bar; TEXT: what is written */
  gb_style style;
} gb_mark;

typedef struct gb_axis {
  bool log;
  double lo, hi; /* limits; NAN: by the values */
  char *label;
  size_t nticks; /* by name; 0: round numbers */
  double *tick_at;
  char **tick_name;
} gb_axis;

typedef enum gb_legend {
  GB_LEGEND_AUTO, /* where it covers least of the data; beside the panel where it would cover some everywhere */
  GB_LEGEND_TOP_LEFT,
  GB_LEGEND_TOP_RIGHT,
  GB_LEGEND_BOTTOM_LEFT,
  GB_LEGEND_BOTTOM_RIGHT,
  GB_LEGEND_OUTSIDE,
  GB_LEGEND_OFF
} gb_legend;

typedef struct gb_panel {
  gb_axis x, y;
  char *title;
  gb_legend legend;
  bool equal;         /* one unit of x is as long as one of y */
  bool no_grid, bare; /* bare: a heat map without its colour bar */
  size_t nmarks, room;
  gb_mark *marks;
} gb_panel;

typedef struct gb_figure {
  char *title; /* above all panels */
  size_t rows, columns;
  bool share_x, share_y; /* panels of a column have one x, panels of a row one y */
  gb_panel *panels;      /* (rows, columns) */
} gb_figure;

/* An empty figure. Errors: ENOMEM; it is clear then. */
gb_status gb_figure_init (gb_figure *f, size_t rows, size_t columns, gb_error *err);
void gb_figure_clear (gb_figure *f);

/* Takes copies; of texts, with a replacement character for what is not UTF-8. Values that are not finite appear as gaps. Errors: ENOMEM. */
gb_status gb_figure_set_text (char **slot, const char *text, gb_error *err);
/* 'like' has everything but the arrays and the label. Its x, y, hi are copied where they are not NULL. */
gb_status gb_panel_add (gb_panel *p, const gb_mark *like, gb_error *err);
/* n names at these places in place of numbers, and of names that were set before. */
gb_status gb_axis_set_ticks (gb_axis *a, size_t n, const double *at, const char *const *names, gb_error *err);

bool gb_mark_is_area (
    const gb_mark *m); /* drawn below lines and dots: takes the colour of the mark that follows */
/* Colour as in a style, never -1; dash; opacity: a band within a band of its colour is darker. */
int gb_mark_colour (const gb_panel *p, size_t i);
gb_dash gb_mark_dash (const gb_panel *p, size_t i);
double gb_mark_alpha (const gb_panel *p, size_t i);
size_t gb_mark_nesting (const gb_panel *p, size_t i); /* bands of the same colour before band i */

/* The extreme finite values of a heat map, or its 'low' and 'high'; false: there is none. */
bool gb_mark_levels (const gb_mark *m, double *low, double *high);

#endif
