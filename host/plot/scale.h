/* scale.h - from values to places along an axis. */
#ifndef GB_PLOT_SCALE_H
#define GB_PLOT_SCALE_H

#include "plot/figure.h"

typedef struct gb_scale {
  double lo, hi; /* finite, lo < hi; log: 0 < lo */
  bool log;
} gb_scale;

/* The scales of a panel: its limits, or the range of the finite values with a margin; of shared axes, of all
** panels that share them. On a logarithmic axis only values above 0 count. */
void gb_panel_scales (const gb_figure *f, size_t panel, gb_scale *x, gb_scale *y);

/* 0 at lo, 1 at hi; not finite where the value is not, or not above 0 on a logarithmic axis. */
double gb_scale_at (const gb_scale *s, double value);

/* Finite values that a logarithmic axis cannot show; is there no value at all to show? */
size_t gb_panel_hidden (const gb_panel *p);
bool gb_panel_is_empty (const gb_panel *p);

#endif
