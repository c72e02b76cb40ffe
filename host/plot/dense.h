/* dense.h - series with more points than a picture resolves: thinning to the points that give the same
** picture, and rasterised marks. */
#ifndef GB_PLOT_DENSE_H
#define GB_PLOT_DENSE_H

#include "plot/scale.h"

/* Thins a line or a band to 'columns' columns of equal width over the range x. Of consecutive finite points
** within a column the first, the last, and the lowest and highest of each edge are kept, in order; of points
** that are not finite one per gap. 'out' always has its own arrays; the caller frees it by gb_mark_drop.
** Ends early after Ctrl-C. False: no memory; 'out' is empty. Source: Jugel, Jerzak, Hackenbroich & Markl
** (2014), M4: a visualization-oriented time series data aggregation. */
bool gb_mark_thin (const gb_mark *s, const gb_scale *x, size_t columns, gb_mark *out);
void gb_mark_drop (gb_mark *thinned);

/* A mask of opacities; row 0 at the top. The caller owns 'at'. */
typedef struct gb_mask {
  unsigned char *at; /* (height, stride) */
  size_t width, height, stride;
  unsigned char ink; /* opacity of a mark, above 0: one over another covers what was seen through it */
} gb_mask;

/* Marks in pixel coordinates, clipped to the mask. All arguments are finite. */
void gb_mask_dot (gb_mask *m, double x, double y, double radius);
/* with flat ends */
void gb_mask_segment (gb_mask *m, double x0, double y0, double x1, double y1, double width);

#endif
