/* draw.h - a whole figure on a page, or as pixels. */
#ifndef GB_PLOT_PICTURE_DRAW_H
#define GB_PLOT_PICTURE_DRAW_H

#include <stdint.h>

#include "plot/picture/canvas.h"

/* False: no memory. Ends early after Ctrl-C. */
bool gb_draw_figure (gb_page *page, const gb_figure *f, double width, double height);

/* Takes the next row of pixels 0x00rrggbb from the top; false: no more are wanted. */
typedef bool gb_row_take (void *ud, const uint32_t *pixels);

/* The figure as width x height pixels, 'scale' of them a point. Rows are drawn in strips of bounded size, since
** one call of cairo cannot be interrupted. False: no memory, Ctrl-C, or 'take' said so. */
bool gb_draw_pixels (const gb_figure *f, int width, int height, double scale, gb_row_take *take, void *ud);

#endif
