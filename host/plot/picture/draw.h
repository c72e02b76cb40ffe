/* draw.h - a whole figure on a page. */
#ifndef GB_PLOT_PICTURE_DRAW_H
#define GB_PLOT_PICTURE_DRAW_H

#include "plot/picture/canvas.h"

/* False: no memory. Ends early after Ctrl-C. */
bool gb_draw_figure (gb_page *page, const gb_figure *f, double width, double height);

#endif
