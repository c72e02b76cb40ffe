/* picture.h - figures as SVG, PNG and PDF, and as pixels for terminals that show them. */
#ifndef GB_PLOT_PICTURE_PICTURE_H
#define GB_PLOT_PICTURE_PICTURE_H

#include "plot/figure.h"

/* Format by the ending of the path: .svg .png .pdf. 'made' says how the figure was made and becomes metadata of
** the file; "": none. The file is written whole or not at all. Errors: EIO, ENOMEM, EINTR, EOPTION (another
** ending). */
gb_status gb_figure_save (const gb_figure *f, const char *path, double width, double height, const char *made,
                          gb_error *err);

typedef enum gb_graphics { GB_GRAPHICS_KITTY, GB_GRAPHICS_SIXEL } gb_graphics;

/* The bytes that make a terminal show the figure, malloc'ed; width and height in pixels. Errors: ENOMEM, EINTR. */
gb_status gb_figure_inline (const gb_figure *f, gb_graphics how, int width, int height, char **bytes,
                            size_t *length, gb_error *err);

#endif
