/* palette.h - colours of marks, and the map from values to colours. */
#ifndef GB_PLOT_PALETTE_H
#define GB_PLOT_PALETTE_H

typedef struct gb_rgb {
  double r, g, b; /* 0 to 1 */
} gb_rgb;

enum { GB_NPALETTE = 8 };

gb_rgb gb_rgb_of (int colour);   /* of a style: an index, or GB_COLOUR_RGB | 0xrrggbb */
gb_rgb gb_colour_map (double t); /* 0 dark to 1 light; its lightness rises evenly */

#endif
