/* dense.h - series of more points than a picture shows: the points that make the same picture, and marks
** as pixels. */
#ifndef GB_PLOT_DENSE_H
#define GB_PLOT_DENSE_H

#include "plot/figure.h"

/* A line or a band without the points that 'columns' columns of equal width over the range x do not show.
** Of finite points that follow each other within a column stay the first, the last, and the lowest and
** highest of each edge, in their order; of the others one a gap. 'out' has arrays of its own, also where
** nothing is left out; the caller frees it by gb_series_drop. Ends early after a Ctrl-C. False: no memory,
** and 'out' is empty. Source: Jugel, Jerzak, Hackenbroich & Markl (2014), M4: a visualization-oriented
** time series data aggregation. */
bool gb_series_thin (const gb_series *s, const gb_range *x, size_t columns, gb_series *out);
void gb_series_drop (gb_series *thinned);

/* Pixels that are covered (255) or not (0); row 0 at the top. The caller owns 'at'. */
typedef struct gb_mask {
  unsigned char *at; /* (height, stride) */
  size_t width, height, stride;
} gb_mask;

/* Marks in pixels, wherever they lie; what is outside of the mask is left out. All arguments are finite. */
void gb_mask_dot (gb_mask *m, double x, double y, double radius);
/* with flat ends */
void gb_mask_segment (gb_mask *m, double x0, double y0, double x1, double y1, double width);

#endif
