/* figure.h - a figure is a list of series and labels; renderers draw the same list to a file or to the
** terminal. */
#ifndef GB_PLOT_FIGURE_H
#define GB_PLOT_FIGURE_H

#include <stdbool.h>

#include "base/status.h"

typedef enum gb_series_kind {
  GB_SERIES_LINE,
  GB_SERIES_SCATTER,
  GB_SERIES_BAND,
  GB_SERIES_HEATMAP,
  GB_SERIES_BARS /* horizontal, one unit high */
} gb_series_kind;

typedef struct gb_series {
  gb_series_kind kind;
  size_t n;    /* points; HEATMAP: columns */
  size_t rows; /* HEATMAP: rows, row 0 at the bottom */
  double *x,
      *y;      /* (n); BAND: y is the lower bound; HEATMAP: x and y are {first, last} cell centres; BARS: from
                    0 to x around the height y */
  double *hi;  /* BAND: (n) upper bound; HEATMAP: (rows, n) values */
  char *label; /* "" = not in the legend */
  int colour;  /* index into the palette; -1 = by order */
} gb_series;

typedef struct gb_figure {
  char *title, *xlabel, *ylabel;
  size_t nseries, room;
  gb_series *series;
  size_t nticks; /* of the vertical axis by name; 0: round numbers */
  double *tick_at;
  char **tick_name;
} gb_figure;

void gb_figure_clear (gb_figure *f);

/* Takes copies. Values that are not finite appear as gaps. Errors: ENOMEM. */
gb_status gb_figure_set_text (char **slot, const char *text, gb_error *err);
gb_status gb_figure_add (gb_figure *f, gb_series_kind kind, size_t n, size_t rows, const double *x,
                         const double *y, const double *hi, const char *label, int colour, gb_error *err);
/* n names at these heights in place of numbers, where there were none yet. */
gb_status gb_figure_set_yticks (gb_figure *f, size_t n, const double *at, const char *const *names,
                                gb_error *err);

/* Ranges of the finite values, and round tick positions inside them. */
typedef struct gb_range {
  double lo, hi; /* lo < hi always */
  double step;   /* between ticks: 1, 2, 2.5 or 5 times a power of ten */
} gb_range;

void gb_figure_ranges (const gb_figure *f, gb_range *x, gb_range *y);
double gb_range_first_tick (const gb_range *s);
void gb_range_label (const gb_range *s, double tick, char buf[32]);
/* Tick i of the vertical axis, from 0: its height and its text, which may be in buf. NULL: there are no more. */
const char *gb_figure_ytick (const gb_figure *f, const gb_range *y, size_t i, double *at, char buf[32]);
int gb_series_colour (const gb_figure *f, size_t i);

/* Format by the ending of the path: .svg .png .pdf. The file is written whole or not at all. Errors: EIO,
** ENOMEM, EINTR, EOPTION (another ending). */
gb_status gb_figure_save (const gb_figure *f, const char *path, double width, double height, gb_error *err);

/* Unicode text of at most columns x rows cells (braille dots), with axes; colour: ANSI colours. malloc'ed;
** NULL: no memory. */
char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour);

#endif
