/* marks.h - the marks of a panel, its legend, and where the panels of a figure lie. */
#ifndef GB_PLOT_PICTURE_MARKS_H
#define GB_PLOT_PICTURE_MARKS_H

#include "plot/picture/canvas.h"
#include "plot/ticks.h"

/* All marks of a panel in order; bands below. The caller has clipped to the panel. */
void gb_draw_marks (const gb_canvas *c, const gb_panel *p);
/* One mark with cairo, in this colour. */
void gb_draw_mark (const gb_canvas *c, const gb_panel *p, size_t i, const gb_mark *m);

/* A mark of many points as an image (raster.c), GB_FINE pixels a point where that is not too large. */
enum { GB_FINE = 4 };
void gb_draw_raster (const gb_canvas *c, const gb_panel *p, size_t i, const gb_mark *m);
bool gb_mark_is_strokes (const gb_mark *m); /* lines and dots */

/* Polygons in pieces (area.c). */
void gb_draw_band (const gb_canvas *c, const gb_mark *m, gb_rgb k, double alpha);
void gb_draw_bars (const gb_canvas *c, const gb_mark *m, gb_rgb k, double alpha);
void gb_draw_heatmap (const gb_canvas *c, const gb_mark *m);
bool gb_canvas_is_image (const gb_canvas *c);

void gb_draw_marker (cairo_t *cr, int marker, double x, double y, double radius); /* adds to the path */
bool gb_marker_is_open (int marker);                                              /* stroked, not filled */
void gb_set_dash (cairo_t *cr, gb_dash dash, double width);
double gb_line_width (const gb_mark *m);
double gb_dot_radius (const gb_mark *m);

/* Legends (legend.c). Size of the box, 0 x 0 where there is none. */
void gb_legend_size (gb_page *page, const gb_panel *p, double *width, double *height);
/* Its place on the canvas, left top; false: it would cover lines or dots everywhere. */
bool gb_legend_place (const gb_canvas *c, const gb_panel *p, double width, double height, double *x,
                      double *y);
void gb_draw_legend (const gb_canvas *c, const gb_panel *p, double x, double y);

/* A panel with what surrounds it (layout.c). */
typedef struct gb_frame {
  gb_canvas canvas;
  gb_ticks xticks, yticks, vticks; /* v: of the colour bar */
  const gb_mark *mapped;           /* the heat map with a colour bar; NULL: none */
  gb_scale v;
  bool xlabels, ylabels;          /* shared axes have labels at one panel */
  double tick_width, value_width; /* of the widest labels */
  double legend_width, legend_height, legend_x, legend_y;
  double cell_left, cell_top, cell_right, cell_bottom;
} gb_frame;

/* Lays out all panels; 'frames' has one for each. */
void gb_layout (gb_page *page, const gb_figure *f, double width, double height, gb_frame *frames);

/* Axes, ticks and titles of a frame (axes.c): below the marks, and above them. */
void gb_draw_grid (const gb_frame *f, const gb_panel *p);
void gb_draw_axes (const gb_frame *f, const gb_panel *p);

enum { GB_TICK_SIZE = 11, GB_LABEL_SIZE = 12, GB_TITLE_SIZE = 14, GB_LEGEND_SIZE = 11 };

#endif
