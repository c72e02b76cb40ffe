/* dots.h - marks as braille dots and shades: two by four dots a cell. */
#ifndef GB_PLOT_TEXT_DOTS_H
#define GB_PLOT_TEXT_DOTS_H

#include "plot/scale.h"
#include "plot/text/screen.h"

/* A plotting area on a screen. */
typedef struct gb_plot_area {
  gb_screen *screen;
  int left, top, w, h; /* cells */
  gb_scale x, y;
  bool colour; /* values of heat maps are colours, not shades */
} gb_plot_area;

/* Places in dots from the left top of the area; not finite where the value cannot be shown. */
double gb_area_x (const gb_plot_area *a, double x);
double gb_area_y (const gb_plot_area *a, double y);

void gb_area_draw (const gb_plot_area *a, const gb_panel *p);

#endif
