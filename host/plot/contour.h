/* contour.h - lines of equal value in a grid. */
#ifndef GB_PLOT_CONTOUR_H
#define GB_PLOT_CONTOUR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct gb_contour {
  double *x, *y; /* pairs of points, each pair followed by a NaN */
  size_t n;
} gb_contour;

/* Segments where the values (rows, columns), linear along the edges of the cells, equal 'level'. x and y are the
** {first, last} centres. A cell with a value that is not finite has none. The caller frees by
** gb_contour_clear. Errors: ENOMEM. */
gb_status gb_contour_make (const double *values, size_t rows, size_t columns, const double x[2],
                           const double y[2], double level, gb_contour *out, gb_error *err);
void gb_contour_clear (gb_contour *c);

#endif
